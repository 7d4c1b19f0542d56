//! The parts of circuits of applications: sponges, limbs, choices, equal limbs.

use evergrove_multilinear::circuit::{Arithmetic, Builder, Circuit, Fault};
use evergrove_multilinear::poseidon;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Goldilocks, Quadratic};
use evergrove_primitives::hash::poseidon::{WIDTH, hash_tagged, permute};
use evergrove_verifier::poseidon::{OUTPUTS, SBOXES};
use evergrove_verifier::tables::{Table, tuple};

use crate::circuit::tables;
use crate::common::Elements;

const TAG: Goldilocks = Goldilocks::new(77);

/// Something of everything. Returns the free data.
pub(crate) fn application<K: Extension>(builder: &mut Builder<K>, elements: &mut Elements) -> Vec<Goldilocks> {
    let b: &mut dyn Arithmetic = builder;
    let (digest, words) = b.sponge(TAG, 13);
    let any = b.any();
    let one = b.one();
    let yes = b.boolean(one);
    // Any choice of the prover's at all: of half an element, below 2^62.
    let half = b.any_of(&[any], |x| Goldilocks::new(x[0].as_u64() >> 1));
    let low = b.bit_of(&[any], |x| Goldilocks::new(x[0].as_u64() & 1));
    b.check([Goldilocks::ZERO, Goldilocks::new(2), Goldilocks::ONE], half, half, low.into(), any);
    b.limbs(half);
    b.equal_limbs(yes, &[(digest, 0), (words[0], 3)], &[(digest, 0), (words[0], 3)]);
    let mut free = elements.bases(13);
    free.push(Goldilocks::new(elements.base().as_u64() >> 1));
    free
}

fn sponges<K: Extension>() {
    let mut elements = Elements::new(31);
    for n in 1..=20 {
        let mut builder = Builder::<K>::new(tables());
        let (digest, words) = builder.sponge(TAG, n);
        assert_eq!(words.len(), n.div_ceil(4));
        let data = elements.bases(n);
        // The digest and the elements, as constants.
        let expected = hash_tagged(&data, TAG).0.map(|x| builder.constant(x));
        for (i, expected) in expected.into_iter().enumerate() {
            let limb = builder.limb(digest, i);
            builder.equal(limb, expected);
        }
        for (i, x) in data.iter().enumerate() {
            let (limb, x) = (builder.limb(words[i / 4], i % 4), builder.constant(*x));
            builder.equal(limb, x);
        }
        let circuit = builder.finish();
        // A step alone is a hash.
        let table = if n > 8 { Table::Sponge } else { Table::Permutation };
        let mut free = data;
        free.resize(n.max(8), Goldilocks::ZERO);
        let witness = circuit.witness(&free).unwrap();
        assert_eq!(witness.faults(&circuit), [], "{n}");
        // Other elements absorbed instead of zeros or of the state before.
        let last = n.div_ceil(8) - 1;
        for word in (n - 8 * last)..8 {
            let mut witness = witness.clone();
            let row = witness.row_mut(circuit.tables(), table, last);
            row[word] += Goldilocks::ONE;
            let (width, outputs) = (row.len(), if n > 8 { WIDTH } else { OUTPUTS });
            poseidon::fill(row, width, outputs);
            let faults = witness.faults(&circuit);
            assert!(!faults.is_empty(), "{n} {word}");
            assert!(
                faults
                    .iter()
                    .all(|fault| !matches!(fault, Fault::Constraint { table: faulty, .. } if *faulty == table))
            );
        }
        // Any column of any row.
        for row in 0..=last {
            let outputs = if n > 8 { WIDTH } else { OUTPUTS };
            for column in (0..SBOXES).step_by(7).chain(SBOXES..SBOXES + outputs) {
                let mut witness = witness.clone();
                witness.row_mut(circuit.tables(), table, row)[column] += Goldilocks::ONE;
                assert!(!witness.faults(&circuit).is_empty(), "{n} {row} {column}");
            }
        }
    }
}

/// Circuits whose inputs include the number of elements hash like those of that number, and refuse other elements
/// absorbed instead of one that is left out.
fn sponges_of_some<K: Extension>() {
    let mut elements = Elements::new(32);
    for (steps, most) in [(1, 3), (2, 7), (3, 7)] {
        let mut builder = Builder::<K>::new(tables());
        let tag = builder.any();
        let used: Vec<_> = (0..most).map(|_| builder.any()).collect();
        let (digest, words) = builder.sponge_of_some(tag, steps, &used);
        assert_eq!(words.len(), 2 * steps);
        for i in 0..4 {
            let (limb, expected) = (builder.limb(digest, i), builder.any());
            builder.equal(limb, expected);
        }
        let circuit = builder.finish();
        let table = if steps > 1 { Table::Sponge } else { Table::Permutation };
        for n in [8 * steps - most, 8 * steps - 2, 8 * steps] {
            let data = elements.bases(n);
            let used = (8 * steps - most..8 * steps).map(|i| Goldilocks::new((i < n).into()));
            let mut free: Vec<_> = [TAG].into_iter().chain(used).chain(hash_tagged(&data, TAG).0).collect();
            // The digest is taken last.
            let digest = free.split_off(1 + most);
            let mut state = [Goldilocks::ZERO; WIDTH];
            state[8] = TAG;
            for step in 0..steps {
                let block = data.get(8 * step..).unwrap_or_default();
                let block = &block[..block.len().min(8)];
                state[..block.len()].copy_from_slice(block);
                free.extend_from_slice(&state[..8]);
                permute(&mut state);
            }
            free.extend(digest);
            let witness = circuit.witness(&free).unwrap();
            assert_eq!(witness.faults(&circuit), [], "{steps} {n}");
            for place in n..8 * steps {
                let mut witness = witness.clone();
                let row = witness.row_mut(circuit.tables(), table, steps - 1);
                row[place % 8] += Goldilocks::ONE;
                let (width, outputs) = (row.len(), if steps > 1 { WIDTH } else { OUTPUTS });
                poseidon::fill(row, width, outputs);
                assert!(!witness.faults(&circuit).is_empty(), "{steps} {n} {place}");
                // With the digest of the elements absorbed there.
                let mut free = free.clone();
                free[1 + most + place] += Goldilocks::ONE;
                let digest = state_of(&free[1 + most..1 + most + 8 * steps]);
                let end = free.len() - 4;
                free[end..].copy_from_slice(&digest[..4]);
                let faults = circuit.witness(&free).unwrap().faults(&circuit);
                // The sum that is not 0, and the 0 that it should be.
                let sums = faults.iter().filter(|fault| matches!(fault, Fault::Tuple { .. })).count();
                assert_eq!((sums, faults.len()), (2, 2), "{steps} {n} {place}");
            }
        }
    }
}

/// The state after blocks of eight elements.
fn state_of(blocks: &[Goldilocks]) -> [Goldilocks; WIDTH] {
    let mut state = [Goldilocks::ZERO; WIDTH];
    state[8] = TAG;
    for block in blocks.chunks(8) {
        state[..8].copy_from_slice(block);
        permute(&mut state);
    }
    state
}

#[test]
fn sponges_of_rows_of_any_length() {
    sponges_of_some::<Quadratic>();
    sponges_of_some::<Cubic>();
}

#[test]
fn sponges_are_those_of_rows() {
    sponges::<Quadratic>();
    sponges::<Cubic>();
}

fn faults<K: Extension>(circuit: &Circuit<K>, free: &[Goldilocks]) -> Vec<Fault> {
    circuit.witness(free).unwrap().faults(circuit)
}

#[test]
fn limbs_are_those_of_numbers_below_2_63() {
    let mut builder = Builder::<Quadratic>::new(tables());
    let x = builder.any();
    let limbs = builder.limbs(x);
    let expected = [(); 3].map(|()| builder.any());
    for (limb, expected) in limbs.into_iter().zip(expected) {
        builder.equal(limb, expected);
    }
    let circuit = builder.finish();
    let data = |x: u64| [x, x & 0x1f_ffff, x >> 21 & 0x1f_ffff, x >> 42 & 0x1f_ffff].map(Goldilocks::reduce);
    for x in [0, 1, 0x1f_ffff, 1 << 21, 1 << 42, (1 << 63) - 1, 0x1234_5678_9abc_def0] {
        assert_eq!(faults(&circuit, &data(x)), [], "{x}");
    }
    for x in [1 << 63, u64::MAX - (1 << 32), Goldilocks::ORDER - 1] {
        assert!(!faults(&circuit, &data(x)).is_empty(), "{x}");
    }
    // The second split of a small number, x + p, has its highest bit.
    let right = circuit.witness(&data(5)).unwrap();
    let mut witness = right.clone();
    for (j, bit) in witness.row_mut(circuit.tables(), Table::Bits, 0).iter_mut().enumerate() {
        *bit = Goldilocks::new((5 + u128::from(Goldilocks::ORDER)) as u64 >> j & 1);
    }
    let zeros = |fault: &Fault| matches!(fault, Fault::Constraint { table: Table::Bits, row: 0, .. });
    assert!(witness.faults(&circuit).iter().any(zeros));
}

#[test]
fn limbs_are_equal_where_a_bit_says_so() {
    fn check<K: Extension>() {
        let mut builder = Builder::<K>::new(tables());
        let [first, second] = [builder.any(), builder.any()];
        let bit = builder.boolean(first);
        let _ = second;
        let (_, left) = builder.sponge(TAG, 8);
        let (_, right) = builder.sponge(TAG, 8);
        // Across words, and not all of them.
        builder.equal_limbs(
            bit,
            &[(left[0], 1), (left[0], 2), (left[0], 3), (left[1], 0)],
            &[(right[0], 0), (right[0], 1), (right[0], 2), (right[0], 3)],
        );
        let circuit = builder.finish();
        let data = Elements::new(9).bases(16);
        let mut equal = data.clone();
        equal[8..12].copy_from_slice(&data[1..5]);
        let with = |bit: u64, data: &[Goldilocks]| [&[Goldilocks::new(bit), Goldilocks::ZERO], data].concat();
        assert_eq!(faults(&circuit, &with(1, &equal)), []);
        assert_eq!(faults(&circuit, &with(0, &data)), []);
        for limb in 8..12 {
            let mut other = equal.clone();
            other[limb] += Goldilocks::ONE;
            assert_eq!(faults(&circuit, &with(0, &other)), []);
            assert!(!faults(&circuit, &with(1, &other)).is_empty(), "{limb}");
        }
        for limb in (12..16).chain([0, 5]) {
            let mut other = equal.clone();
            other[limb] += Goldilocks::ONE;
            assert_eq!(faults(&circuit, &with(1, &other)), [], "{limb}");
        }
    }
    check::<Quadratic>();
    check::<Cubic>();
}

/// A limb that is compared with two others must be both.
#[test]
fn a_limb_may_be_compared_twice() {
    let mut builder = Builder::<Quadratic>::new(tables());
    let one = builder.one();
    let yes = builder.boolean(one);
    let (_, left) = builder.sponge(TAG, 8);
    let (_, right) = builder.sponge(TAG, 8);
    builder.equal_limbs(yes, &[(left[0], 0), (left[0], 0)], &[(right[0], 0), (right[0], 1)]);
    let circuit = builder.finish();
    let data = |a: u64, b: u64| {
        let mut free = vec![Goldilocks::ZERO; 16];
        (free[0], free[8], free[9]) = (Goldilocks::new(7), Goldilocks::new(a), Goldilocks::new(b));
        free
    };
    assert_eq!(faults(&circuit, &data(7, 7)), []);
    for (a, b) in [(0, 7), (7, 0), (8, 7), (7, 8)] {
        assert!(!faults(&circuit, &data(a, b)).is_empty(), "{a} {b}");
    }
}

#[test]
fn choices_follow_from_what_is_there_and_bind_nothing() {
    let mut builder = Builder::<Quadratic>::new(tables());
    let free = application(&mut builder, &mut Elements::new(4));
    let circuit = builder.finish();
    let right = circuit.witness(&free).unwrap();
    assert_eq!(right.faults(&circuit), []);
    // The number, its half, its lowest bit.
    for row in 0..circuit.rows(Table::Tuple) {
        let mut witness = right.clone();
        witness.row_mut(circuit.tables(), Table::Tuple, row)[tuple::COUNT] += Goldilocks::ONE;
        assert!(!witness.faults(&circuit).is_empty(), "{row}");
    }
}
