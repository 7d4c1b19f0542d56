//! Transforms of groups of eight columns compared with those of single columns, on every instruction set.

use evergrove_kernels::ntt::columns::{Order, gather_on, scatter_on};
use evergrove_kernels::ntt::{CACHED, Forward, Inverse, Lde, NttError, Row, ZERO_ROW, columns, groups, reference};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::{Isa, LANES, available};
use proptest::prelude::*;

const EDGES: [u64; 8] =
    [0, 1, 0xffff_ffff, 1 << 32, (1 << 52) - 1, 1 << 52, 0xffff_ffff_0000_0000, Goldilocks::ORDER - 1];

/// Elements that look random, with edges among them.
fn column(seed: usize, n: usize) -> Vec<Goldilocks> {
    let element = |i: usize| {
        let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
            ^ (seed as u64).wrapping_mul(0x1234_5678_9abc_def1);
        let x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        if x.is_multiple_of(5) { Goldilocks::new(EDGES[(x >> 60) as usize % 8]) } else { Goldilocks::reduce(x) }
    };
    (0..n).map(element).collect()
}

fn interleave(columns: &[Vec<Goldilocks>]) -> Vec<Row> {
    (0..columns[0].len()).map(|k| core::array::from_fn(|c| columns[c][k])).collect()
}

fn reverse(k: usize, n: usize) -> usize {
    if n == 1 { 0 } else { k.reverse_bits() >> (usize::BITS - n.ilog2()) }
}

fn bit_reversed<T: Copy>(x: &[T]) -> Vec<T> {
    (0..x.len()).map(|k| x[reverse(k, x.len())]).collect()
}

#[test]
fn the_reference_is_the_definition() {
    for log in 0..7 {
        let coefficients = column(3, 1 << log);
        for shift in [Goldilocks::ONE, Goldilocks::GENERATOR] {
            let values = reference::evaluate(&coefficients, shift);
            let root = Goldilocks::root_of_unity(log).unwrap();
            for (k, value) in values.iter().enumerate() {
                assert_eq!(*value, reference::value(&coefficients, shift * root.pow(k as u64)), "2^{log}, {k}");
            }
            assert_eq!(reference::interpolate(&values, shift), coefficients);
        }
    }
}

/// All lengths up to four levels above the cache; the columns of the largest are few since the reference is slow.
#[test]
fn transforms_are_those_of_columns() {
    for log in 0..=CACHED.ilog2() + 4 {
        let n = 1 << log;
        let shift = if log % 3 == 0 { Goldilocks::ONE } else { Goldilocks::GENERATOR.pow(log as u64) };
        let coefficients: Vec<_> = (0..LANES).map(|c| column(c, n)).collect();
        let values: Vec<_> = coefficients.iter().map(|c| bit_reversed(&reference::evaluate(c, shift))).collect();
        let (coefficients, values) = (interleave(&coefficients), interleave(&values));
        for isa in available() {
            let forward = Forward::on(isa, log, shift).unwrap();
            let inverse = Inverse::on(isa, log, shift).unwrap();
            assert_eq!(forward.log_size(), log);
            let mut rows = vec![ZERO_ROW; n];
            forward.transform(&coefficients, &mut rows).unwrap();
            assert!(rows == values, "forward 2^{log} on {isa}");
            inverse.transform_in_place(&mut rows).unwrap();
            assert!(rows == coefficients, "inverse 2^{log} on {isa}");
            forward.transform_in_place(&mut rows).unwrap();
            assert!(rows == values, "forward in place 2^{log} on {isa}");
        }
    }
}

#[test]
fn extensions_are_those_of_padded_polynomials() {
    for (log, rate_bits, count) in [(0, 0, 1), (0, 3, 2), (1, 1, 9), (4, 3, 17), (5, 0, 8), (9, 3, 3), (13, 1, 8)] {
        let n = 1 << log;
        let shift = Goldilocks::GENERATOR;
        let coefficients: Vec<_> = (0..count).map(|c| column(c, n)).collect();
        let expected: Vec<_> = coefficients.iter().map(|c| reference::extend(c, rate_bits, shift)).collect();
        for isa in available() {
            let lde = Lde::on(isa, log, rate_bits, shift).unwrap();
            assert_eq!((lde.size(), lde.extended_size(), lde.rate_bits()), (n, n << rate_bits, rate_bits));
            let mut rows = vec![ZERO_ROW; groups(count) * n];
            gather_on(isa, &coefficients, Order::Natural, &mut rows).unwrap();
            let mut values = vec![ZERO_ROW; groups(count) * lde.extended_size()];
            lde.extend(&rows, &mut values).unwrap();
            let mut found = vec![vec![Goldilocks::ZERO; lde.extended_size()]; count];
            scatter_on(isa, &values, Order::BitReversed, &mut found).unwrap();
            assert!(found == expected, "2^{log} by 2^{rate_bits} on {isa}");
            let mut found = vec![vec![Goldilocks::ZERO; lde.extended_size()]; count];
            scatter_on(isa, &values, Order::Natural, &mut found).unwrap();
            assert!(found[0] == bit_reversed(&expected[0]), "2^{log} by 2^{rate_bits} on {isa}");
            for row in [0, lde.extended_size() / 3, lde.extended_size() - 1] {
                let point = lde.point(row).unwrap();
                assert_eq!(found[0][row], reference::value(&coefficients[0], point));
            }
            assert_eq!(lde.point(lde.extended_size()), None);
        }
    }
}

/// Values of an extension of 2^`log` coefficients at some of its points, compared with the definition: every
/// coefficient affects each of them.
fn check_points(isa: Isa, log: u32, rate_bits: u32) {
    let n = 1 << log;
    let columns: Vec<_> = (0..3).map(|c| column(c, n)).collect();
    let lde = Lde::on(isa, log, rate_bits, Goldilocks::GENERATOR).unwrap();
    let mut rows = vec![ZERO_ROW; n];
    gather_on(isa, &columns, Order::Natural, &mut rows).unwrap();
    let mut values = vec![ZERO_ROW; lde.extended_size()];
    lde.extend(&rows, &mut values).unwrap();
    let size = lde.extended_size();
    let edges = [0, 1, n - 1, n, size - 1];
    let random = (1..4_usize).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % size);
    for row in edges.into_iter().map(|row| row % size).chain(random) {
        let point = lde.point(row).unwrap();
        for (c, column) in columns.iter().enumerate() {
            assert_eq!(values[row][c], reference::value(column, point), "2^{log} by 2^{rate_bits} on {isa}: row {row}");
        }
        assert_eq!(values[row][3..], [Goldilocks::ZERO; 5]);
    }
    drop(values);
    let inverse = Inverse::on(isa, log, Goldilocks::GENERATOR).unwrap();
    let forward = Forward::on(isa, log, Goldilocks::GENERATOR).unwrap();
    let mut back = vec![ZERO_ROW; n];
    forward.transform(&rows, &mut back).unwrap();
    inverse.transform_in_place(&mut back).unwrap();
    assert!(back == rows, "2^{log} on {isa}");
}

#[test]
fn large_extensions_have_the_values_of_their_polynomials() {
    for isa in available() {
        check_points(isa, 18, 0);
    }
    check_points(Isa::detect(), 19, 1);
    check_points(Isa::detect(), 20, 1);
}

#[test]
#[ignore = "isa: half a minute and 2 GiB, 2^22 coefficients on every instruction set"]
fn the_largest_extensions_have_the_values_of_their_polynomials() {
    for isa in available() {
        check_points(isa, 21, 2);
        check_points(isa, 22, 1);
    }
}

#[test]
fn columns_of_many_pages_are_permuted() {
    let n = 1 << 17;
    let columns: Vec<_> = (0..3).map(|c| column(c, n)).collect();
    for isa in available() {
        let mut rows = vec![ZERO_ROW; n];
        gather_on(isa, &columns, Order::BitReversed, &mut rows).unwrap();
        for (k, row) in rows.iter().enumerate() {
            assert_eq!(row[..3], [0, 1, 2].map(|c: usize| columns[c][reverse(k, n)]), "row {k} on {isa}");
            assert_eq!(row[3..], [Goldilocks::ZERO; 5]);
        }
        let mut back = vec![vec![Goldilocks::ZERO; n]; 3];
        scatter_on(isa, &rows, Order::BitReversed, &mut back).unwrap();
        assert!(back == columns, "{isa}");
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let log = CACHED.ilog2() + 5;
    let coefficients = vec![core::array::from_fn(|c| column(c, 1)[0]); 1 << log];
    let forward = Forward::on(Isa::detect(), log, Goldilocks::GENERATOR).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut rows = vec![ZERO_ROW; 1 << log];
        pool.install(|| forward.transform(&coefficients, &mut rows)).unwrap();
        rows
    };
    assert!(run(1) == run(3));
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(Forward::on(Isa::detect(), 33, Goldilocks::ONE).err(), Some(NttError::LogSize { log_size: 33 }));
    assert_eq!(
        Inverse::on(Isa::detect(), u32::MAX, Goldilocks::ONE).err(),
        Some(NttError::LogSize { log_size: u32::MAX })
    );
    assert_eq!(Forward::on(Isa::detect(), 3, Goldilocks::ZERO).err(), Some(NttError::ZeroShift));
    assert_eq!(Lde::on(Isa::detect(), 3, 1, Goldilocks::ZERO).err(), Some(NttError::ZeroShift));
    assert_eq!(Lde::on(Isa::detect(), 30, 3, Goldilocks::ONE).err(), Some(NttError::LogSize { log_size: 33 }));
    assert_eq!(
        Lde::on(Isa::detect(), 1, u32::MAX, Goldilocks::ONE).err(),
        Some(NttError::LogSize { log_size: u32::MAX })
    );
    let rows = |buffer, found, expected| Err(NttError::Rows { buffer, found, expected });
    let forward = Forward::on(Isa::detect(), 3, Goldilocks::ONE).unwrap();
    let mut eight = [ZERO_ROW; 8];
    assert_eq!(forward.transform(&[ZERO_ROW; 7], &mut eight), rows("coefficients", 7, 8));
    assert_eq!(forward.transform(&[ZERO_ROW; 8], &mut eight[..7]), rows("values", 7, 8));
    assert_eq!(forward.transform_in_place(&mut []), rows("rows", 0, 8));
    assert_eq!(
        Inverse::on(Isa::detect(), 3, Goldilocks::ONE).unwrap().transform_in_place(&mut eight[1..]),
        rows("rows", 7, 8)
    );
    let lde = Lde::on(Isa::detect(), 3, 1, Goldilocks::ONE).unwrap();
    assert_eq!(lde.extend(&[ZERO_ROW; 12], &mut [ZERO_ROW; 24]), rows("coefficients", 12, 16));
    assert_eq!(lde.extend(&[ZERO_ROW; 16], &mut [ZERO_ROW; 24]), rows("values", 24, 32));
    assert_eq!(lde.extend(&[], &mut []), Ok(()));
    let ragged = [vec![Goldilocks::ONE; 8], vec![Goldilocks::ONE; 4]];
    let expected = Err(NttError::Column { column: 1, found: 4, expected: 8 });
    assert_eq!(columns::gather(&ragged, Order::Natural, &mut eight), expected);
    assert_eq!(scatter_on(Isa::detect(), &eight, Order::Natural, &mut ragged.clone()), expected);
    let six = [vec![Goldilocks::ONE; 6]];
    assert_eq!(columns::gather(&six, Order::Natural, &mut eight), Err(NttError::RowCount { rows: 6 }));
    assert_eq!(columns::gather(&ragged[..1], Order::Natural, &mut eight[..7]), rows("groups", 7, 8));
    assert_eq!(scatter_on(Isa::detect(), &eight[..7], Order::Natural, &mut ragged.clone()[..1]), rows("groups", 7, 8));
    assert_eq!(columns::gather::<Vec<_>>(&[], Order::Natural, &mut []), Ok(()));
    let message = NttError::LogSize { log_size: 33 }.to_string();
    assert!(message.contains("2^33") && message.contains("2^32"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn columns_come_back(log in 0u32..12, count in 1usize..20, reversed in any::<bool>()) {
        let order = if reversed { Order::BitReversed } else { Order::Natural };
        let n = 1 << log;
        let columns: Vec<_> = (0..count).map(|c| column(c, n)).collect();
        for isa in available() {
            let mut rows = vec![[Goldilocks::ONE; LANES]; groups(count) * n];
            gather_on(isa, &columns, order, &mut rows).unwrap();
            for (g, group) in rows.chunks(n).enumerate() {
                for (k, row) in group.iter().enumerate() {
                    let k = if reversed { reverse(k, n) } else { k };
                    let expected = core::array::from_fn(|c| columns.get(8 * g + c).map_or(Goldilocks::ZERO, |x| x[k]));
                    prop_assert_eq!(*row, expected);
                }
            }
            let mut back = vec![vec![Goldilocks::ZERO; n]; count];
            scatter_on(isa, &rows, order, &mut back).unwrap();
            prop_assert!(back == columns, "{} on {}", n, isa);
        }
    }

    #[test]
    fn any_eight_elements_and_shift(words in prop::collection::vec(prop::array::uniform8(any::<u64>()), 16), shift in 1u64..Goldilocks::ORDER) {
        let rows: Vec<Row> = words.into_iter().map(|row| row.map(Goldilocks::reduce)).collect();
        let shift = Goldilocks::new(shift);
        for isa in available() {
            let mut found = rows.clone();
            Forward::on(isa, 4, shift).unwrap().transform_in_place(&mut found).unwrap();
            for c in 0..LANES {
                let coefficients: Vec<_> = rows.iter().map(|row| row[c]).collect();
                let values: Vec<_> = found.iter().map(|row| row[c]).collect();
                prop_assert_eq!(values, bit_reversed(&reference::evaluate(&coefficients, shift)));
            }
            Inverse::on(isa, 4, shift).unwrap().transform_in_place(&mut found).unwrap();
            prop_assert_eq!(&found, &rows);
        }
    }
}
