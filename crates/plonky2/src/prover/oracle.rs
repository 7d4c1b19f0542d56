//! Commitments in plonky2's form.

use evergrove_kernels::merkle::{self, Shape};
use evergrove_kernels::ntt::Row;
use evergrove_kernels::oracle::Oracle;
use evergrove_primitives::{Digest, Goldilocks};
use plonky2::hash::merkle_proofs::MerkleProof;
use plonky2::hash::merkle_tree::MerkleCap;

use super::F;
use crate::circuit::{Poseidon, to_hash, to_plonky};

pub(super) fn plonky_cap(cap: &[Digest]) -> MerkleCap<F, Poseidon> {
    MerkleCap(cap.iter().map(to_hash).collect())
}

/// The siblings on the way from a leaf to the cap.
pub(super) fn path(shape: &Shape, nodes: &[Digest], leaf: usize) -> MerkleProof<F, Poseidon> {
    let siblings = merkle::path(shape, nodes, leaf).expect("a leaf of this tree");
    MerkleProof { siblings: siblings.map(|d| to_hash(&d)).collect() }
}

/// A leaf with its path.
pub(super) fn open(oracle: &Oracle, leaf: usize) -> (Vec<F>, MerkleProof<F, Poseidon>) {
    let mut row = vec![Goldilocks::ZERO; oracle.columns()];
    oracle.row(leaf, &mut row).expect("a leaf of this oracle");
    (row.into_iter().map(to_plonky).collect(), path(oracle.shape(), oracle.nodes(), leaf))
}

/// The groups' values on one coset, each one's rows in bit-reversed order.
pub(super) fn coset(oracle: &Oracle, coset: usize) -> impl Iterator<Item = &[Row]> {
    let lde = oracle.domain().lde();
    let values = oracle.values().expect("the values are kept");
    values.chunks_exact(lde.extended_size()).map(move |group| &group[coset * lde.size()..][..lde.size()])
}
