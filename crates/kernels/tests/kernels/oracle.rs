//! Commitments in lanes compared with the definition, on every instruction set.

use std::sync::Arc;

use evergrove_kernels::merkle::MerkleError;
use evergrove_kernels::ntt::{NttError, Row, reference as ntt};
use evergrove_kernels::oracle::{Domain, Keep, Oracle, OracleError, Workspace, reference};
use evergrove_primitives::lanes::{Isa, available};
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;

use super::merkle::top;

const EDGES: [u64; 6] = [0, 1, 0xffff_ffff, 1 << 32, 1 << 52, Goldilocks::ORDER - 1];

fn column(seed: u64, n: usize) -> Vec<Goldilocks> {
    let element = |i: usize| {
        let x = (i as u64 + 7 * seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        if x.is_multiple_of(7) { Goldilocks::new(EDGES[(x >> 60) as usize % 6]) } else { Goldilocks::reduce(x) }
    };
    (0..n).map(element).collect()
}

/// Every part of an oracle compared with the reference.
fn check(oracle: &Oracle, expected: &reference::Commitment, keep: Keep, what: &str) {
    let (columns, n) = (oracle.columns(), oracle.domain().lde().size());
    assert_eq!(oracle.cap(), expected.levels.last().unwrap(), "{what}");
    assert_eq!(oracle.nodes(), expected.levels.concat(), "{what}");
    for (c, column) in expected.coefficients.iter().enumerate() {
        for (i, x) in column.iter().enumerate() {
            assert_eq!(oracle.coefficients()[c / 8 * n + i][c % 8], *x, "{what}: coefficient {i} of column {c}");
        }
    }
    let leaves = expected.leaves.len();
    assert_eq!(oracle.values().is_some(), keep == Keep::Values);
    if let Some(values) = oracle.values() {
        for (i, row) in expected.leaves.iter().enumerate() {
            for (c, x) in row.iter().enumerate() {
                assert_eq!(values[c / 8 * leaves + i][c % 8], *x, "{what}: row {i}, column {c}");
            }
        }
    }
    for leaf in [0, 1, leaves / 3, leaves - 1].into_iter().filter(|leaf| *leaf < leaves) {
        let mut row = vec![Goldilocks::ONE; columns];
        oracle.row(leaf, &mut row).unwrap();
        assert_eq!(row, expected.leaves[leaf], "{what}: row {leaf}");
        let siblings: Vec<Digest> = oracle.path(leaf).unwrap().collect();
        let (_, found) = top(oracle.shape(), leaf, &row, &siblings);
        assert_eq!(found, oracle.cap()[leaf >> siblings.len()], "{what}: path of {leaf}");
    }
}

fn run(isas: impl IntoIterator<Item = Isa>, log: u32, columns: usize, rate_bits: u32, cap_height: u32) {
    let values: Vec<_> = (0..columns).map(|c| column(c as u64, 1 << log)).collect();
    let mut expected = None;
    for isa in isas {
        let domain = Arc::new(Domain::on(isa, log, rate_bits).unwrap());
        let expected = expected.get_or_insert_with(|| reference::commit(&domain, &values, cap_height).unwrap());
        for keep in [Keep::Coefficients, Keep::Values] {
            let what = format!("2^{log} rows of {columns}, rate 2^{rate_bits}, cap {cap_height}, {keep:?} on {isa}");
            let workspace = Workspace::new(domain.clone(), columns, cap_height, keep).unwrap();
            assert_eq!(workspace.columns(), columns);
            let mut oracle = workspace.commit_values(&values).unwrap();
            check(&oracle, expected, keep, &what);
            for coset in (0..1 << rate_bits).rev() {
                let groups: Vec<&[Row]> = oracle.coset(coset).collect();
                for (c, i) in (0..columns).flat_map(|c| (0..1 << log).map(move |i| (c, i))) {
                    let expected = expected.leaves[(coset << log) + i][c];
                    assert_eq!(groups[c / 8][i][c % 8], expected, "{what}: coset {coset}");
                }
            }
            // The same buffers again, with something else in between.
            let other = oracle.into_workspace().commit_coefficients_observed(&values, &mut |_| ()).unwrap();
            assert!(columns == 0 || log == 0 || other.cap() != expected.levels.last().unwrap(), "{what}");
            let again =
                other.into_workspace().commit_coefficients_observed(&expected.coefficients, &mut |_| ()).unwrap();
            check(&again, expected, keep, &what);
        }
    }
}

#[test]
fn commitments_are_those_of_the_definition() {
    for (log, columns, rate_bits, cap_height) in [
        (0, 1, 0, 0),
        (0, 9, 3, 3),
        (1, 4, 1, 0),
        (3, 5, 3, 2),
        (5, 8, 1, 6),
        (6, 3, 3, 4),
        (7, 17, 3, 0),
        (9, 135, 1, 4),
    ] {
        run(available(), log, columns, rate_bits, cap_height);
    }
}

#[test]
fn a_commitment_above_the_cache() {
    run([Isa::detect()], 13, 11, 1, 4);
}

#[test]
#[ignore = "isa: seconds, matrices of up to 2^13 rows on every instruction set"]
fn large_commitments_are_those_of_the_definition() {
    for (log, columns, rate_bits, cap_height) in [(11, 135, 3, 4), (12, 20, 3, 4), (13, 11, 1, 4)] {
        run(available(), log, columns, rate_bits, cap_height);
    }
}

#[test]
fn points_are_those_of_leaves() {
    let domain = Domain::on(Isa::detect(), 4, 2).unwrap();
    let root = Goldilocks::root_of_unity(6).unwrap();
    for index in 0..64 {
        let point = domain.lde().point(domain.leaf(index)).unwrap();
        assert_eq!(point, Goldilocks::GENERATOR * root.pow(index as u64));
        assert_eq!(domain.leaf(index + 64), domain.leaf(index));
    }
}

#[test]
fn lanes_behind_the_last_column_do_not_count() {
    let domain = Arc::new(Domain::on(Isa::detect(), 4, 1).unwrap());
    let values: Vec<_> = (0..11).map(|c| column(c, 16)).collect();
    let expected = reference::commit(&domain, &values, 0).unwrap();
    let mut workspace = Workspace::new(domain, 11, 0, Keep::Values).unwrap();
    for (i, row) in workspace.coefficients_mut().iter_mut().enumerate() {
        let (group, i) = (i / 16, i % 16);
        *row = core::array::from_fn(|lane| {
            expected.coefficients.get(8 * group + lane).map_or(Goldilocks::GENERATOR, |column| column[i])
        });
    }
    assert_eq!(workspace.commit().nodes(), expected.levels.concat());
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(Domain::on(Isa::detect(), 30, 3).err(), Some(NttError::LogSize { log_size: 33 }));
    let domain = Arc::new(Domain::on(Isa::detect(), 3, 1).unwrap());
    let new = |columns, cap| Workspace::new(domain.clone(), columns, cap, Keep::Values);
    assert_eq!(new(0, 0).err(), Some(OracleError::Merkle(MerkleError::NoColumns)));
    let too_high = MerkleError::CapTooHigh { cap_height: 5, height: 4, rows: 16 };
    assert_eq!(new(2, 5).err(), Some(OracleError::Merkle(too_high)));
    let columns = vec![column(0, 8), column(1, 8)];
    let wrong = OracleError::Columns { found: 1, expected: 2 };
    assert_eq!(new(2, 0).unwrap().commit_values(&columns[..1]).err(), Some(wrong));
    let ragged = [column(0, 8), column(1, 7)];
    let wrong = OracleError::Rows { column: 1, found: 7, expected: 8 };
    assert_eq!(new(2, 0).unwrap().commit_values(&ragged).err(), Some(wrong));
    assert_eq!(new(2, 0).unwrap().commit_coefficients_observed(&ragged, &mut |_| ()).err(), Some(wrong));
    let oracle = new(2, 0).unwrap().commit_values(&columns).unwrap();
    let mut row = [Goldilocks::ZERO; 2];
    assert_eq!(oracle.row(16, &mut row), Err(OracleError::Leaf { leaf: 16, rows: 16 }));
    assert_eq!(oracle.row(usize::MAX, &mut row), Err(OracleError::Leaf { leaf: usize::MAX, rows: 16 }));
    assert_eq!(oracle.row(0, &mut row[..1]), Err(OracleError::Columns { found: 1, expected: 2 }));
    let wrong = OracleError::Merkle(MerkleError::LeafIndex { index: 16, rows: 16 });
    assert_eq!(oracle.path(16).err(), Some(wrong));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_shape(log in 0u32..6, columns in 1usize..30, rate_bits in 0u32..4, cap in 0u32..9) {
        run(available(), log, columns, rate_bits, cap.min(log + rate_bits));
    }

    #[test]
    fn rows_are_values_of_the_polynomials(log in 0u32..8, leaf in any::<prop::sample::Index>()) {
        let coefficients: Vec<_> = (0..3).map(|c| column(c, 1 << log)).collect();
        for isa in available() {
            let domain = Arc::new(Domain::on(isa, log, 2).unwrap());
            let leaf = leaf.index(domain.lde().extended_size());
            let point = domain.lde().point(leaf).unwrap();
            for keep in [Keep::Coefficients, Keep::Values] {
                let workspace = Workspace::new(domain.clone(), 3, 0, keep).unwrap();
                let oracle = workspace.commit_coefficients_observed(&coefficients, &mut |_| ()).unwrap();
                let mut row = [Goldilocks::ZERO; 3];
                oracle.row(leaf, &mut row).unwrap();
                prop_assert_eq!(row.to_vec(), coefficients.iter().map(|c| ntt::value(c, point)).collect::<Vec<_>>());
            }
        }
    }
}
