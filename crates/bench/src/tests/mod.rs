//! Compares transforms and commitments with Plonky2's completely: values, leaves, cap and openings.
//!
//! These tests are not in `tests/`, because cargo would then build the whole program, and the generics of the peers
//! take minutes.

mod tries;
mod whir;

use std::sync::Arc;

use evergrove_kernels::ntt::columns::{Order, gather, scatter_on};
use evergrove_kernels::ntt::{Forward, Inverse, Lde, ZERO_ROW, groups};
use evergrove_kernels::oracle::{Domain, Keep, Workspace};
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::polynomial::{PolynomialCoeffs, PolynomialValues};
use plonky2::field::types::{Field, PrimeField64};
use plonky2::fri::oracle::PolynomialBatch;
use plonky2::hash::hash_types::HashOut;
use plonky2::plonk::config::PoseidonGoldilocksConfig;
use plonky2::util::timing::TimingTree;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Batch = PolynomialBatch<GoldilocksField, PoseidonGoldilocksConfig, 2>;

/// Random elements; one in four is an edge case.
fn columns(count: usize, n: usize) -> Vec<Vec<Goldilocks>> {
    let mut rng = ChaCha8Rng::seed_from_u64((count * n) as u64);
    let edges = [0, 1, 0xffff_ffff, Goldilocks::ORDER - 1];
    let mut element = || match rng.gen_range(0..4) {
        0 => Goldilocks::new(edges[rng.gen_range(0..4)]),
        _ => Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER)),
    };
    (0..count).map(|_| (0..n).map(|_| element()).collect()).collect()
}

fn theirs(column: &[Goldilocks]) -> Vec<GoldilocksField> {
    column.iter().map(|x| GoldilocksField::from_canonical_u64(x.as_u64())).collect()
}

fn our(column: &[GoldilocksField]) -> Vec<Goldilocks> {
    column.iter().map(|x| Goldilocks::reduce(x.to_canonical_u64())).collect()
}

fn digest(hash: &HashOut<GoldilocksField>) -> Digest {
    Digest(our(&hash.elements).try_into().unwrap())
}

#[test]
fn roots_and_shift_are_plonky2s() {
    for log in 0..=32 {
        let root = GoldilocksField::primitive_root_of_unity(log as usize).to_canonical_u64();
        assert_eq!(Goldilocks::root_of_unity(log).unwrap().as_u64(), root);
    }
    assert_eq!(Goldilocks::GENERATOR.as_u64(), GoldilocksField::coset_shift().to_canonical_u64());
}

#[test]
fn transforms_are_plonky2s() {
    for log in [0, 1, 2, 5, 8, 11, 14] {
        let n = 1usize << log;
        let columns = columns(9, n);
        let mut rows = vec![ZERO_ROW; groups(9) * n];
        let mut found = columns.clone();
        for shift in [Goldilocks::ONE, Goldilocks::GENERATOR, Goldilocks::new(7)] {
            let their_shift = GoldilocksField::from_canonical_u64(shift.as_u64());
            let (forward, inverse) =
                (Forward::on(Isa::detect(), log, shift).unwrap(), Inverse::on(Isa::detect(), log, shift).unwrap());
            gather(&columns, Order::Natural, &mut rows).unwrap();
            rows.chunks_mut(n).for_each(|group| forward.transform_in_place(group).unwrap());
            scatter_on(Isa::detect(), &rows, Order::BitReversed, &mut found).unwrap();
            for (column, found) in columns.iter().zip(&found) {
                let expected = PolynomialCoeffs::new(theirs(column)).coset_fft(their_shift);
                assert!(our(&expected.values) == *found, "coset_fft 2^{log}");
            }
            gather(&columns, Order::BitReversed, &mut rows).unwrap();
            rows.chunks_mut(n).for_each(|group| inverse.transform_in_place(group).unwrap());
            scatter_on(Isa::detect(), &rows, Order::Natural, &mut found).unwrap();
            for (column, found) in columns.iter().zip(&found) {
                let expected = PolynomialValues::new(theirs(column)).coset_ifft(their_shift);
                assert!(our(&expected.coeffs) == *found, "coset_ifft 2^{log}");
            }
        }
    }
}

#[test]
fn extensions_are_plonky2s() {
    for (log, rate_bits) in [(0, 3), (4, 1), (9, 3), (12, 2)] {
        let n = 1usize << log;
        let columns = columns(3, n);
        let lde = Lde::on(Isa::detect(), log, rate_bits, Goldilocks::GENERATOR).unwrap();
        let mut rows = vec![ZERO_ROW; n];
        gather(&columns, Order::Natural, &mut rows).unwrap();
        let mut values = vec![ZERO_ROW; lde.extended_size()];
        lde.extend(&rows, &mut values).unwrap();
        let mut found = vec![vec![Goldilocks::ZERO; lde.extended_size()]; 3];
        scatter_on(Isa::detect(), &values, Order::BitReversed, &mut found).unwrap();
        for (column, found) in columns.iter().zip(&found) {
            let padded = PolynomialCoeffs::new(theirs(column)).lde(rate_bits as usize);
            assert!(our(&padded.coset_fft(GoldilocksField::coset_shift()).values) == *found, "2^{log}");
        }
    }
}

#[test]
fn commitments_are_plonky2s() {
    for (log, count, rate_bits, cap_height) in
        [(1, 2, 3, 0), (3, 4, 1, 4), (5, 8, 3, 2), (6, 20, 3, 4), (8, 130, 2, 4), (9, 135, 3, 4), (10, 136, 3, 0)]
    {
        let columns = columns(count, 1 << log);
        let values = columns.iter().map(|c| PolynomialValues::new(theirs(c))).collect();
        let batch = Batch::from_values(values, rate_bits, false, cap_height, &mut TimingTree::default(), None);
        let domain = Arc::new(Domain::on(Isa::detect(), log, rate_bits as u32).unwrap());
        for keep in [Keep::Coefficients, Keep::Values] {
            let oracle = Workspace::new(domain.clone(), count, cap_height as u32, keep)
                .unwrap()
                .commit_values(&columns)
                .unwrap();
            let what = format!("2^{log} rows of {count}, rate 2^{rate_bits}, {keep:?}");
            let cap: Vec<Digest> = batch.merkle_tree.cap.0.iter().map(digest).collect();
            assert_eq!(oracle.cap(), cap, "{what}");
            let mut coefficients = columns.clone();
            scatter_on(Isa::detect(), oracle.coefficients(), Order::Natural, &mut coefficients).unwrap();
            for (found, expected) in coefficients.iter().zip(&batch.polynomials) {
                assert!(*found == our(&expected.coeffs), "{what}");
            }
            let leaves = batch.merkle_tree.leaves.len();
            for leaf in [0, 1, leaves / 3, leaves / 2, leaves - 1] {
                let mut row = vec![Goldilocks::ZERO; count];
                oracle.row(leaf, &mut row).unwrap();
                assert_eq!(row, our(&batch.merkle_tree.leaves[leaf]), "{what}: leaf {leaf}");
                let siblings: Vec<Digest> = batch.merkle_tree.prove(leaf).siblings.iter().map(digest).collect();
                assert_eq!(oracle.path(leaf).unwrap().collect::<Vec<_>>(), siblings, "{what}: leaf {leaf}");
            }
            for (index, step) in [(0, 1), (1, 1), (leaves / 8, 3)] {
                let mut row = vec![Goldilocks::ZERO; count];
                oracle.row(domain.leaf(index * step), &mut row).unwrap();
                assert_eq!(row, our(batch.get_lde_values(index, step)), "{what}: point {index} by {step}");
            }
        }
    }
}
