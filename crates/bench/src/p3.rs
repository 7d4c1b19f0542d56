//! Trees by Plonky3, for comparison of speed alone: its Poseidon has another matrix and other constants, its Keccak no padding.
//!
//! Plonky3 chooses its vectors when it is compiled: with default flags it has those of SSE2, or none.

use std::time::Instant;

use anyhow::ensure;
use evergrove_primitives::Goldilocks;
use p3_field::Field;
use p3_goldilocks::Goldilocks as P3Goldilocks;
use p3_goldilocks::poseidon1::{Poseidon1Goldilocks, default_goldilocks_poseidon1_12};
use p3_keccak::{KeccakF, VECTOR_LEN};
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTree;
use p3_symmetric::{CompressionFunctionFromHasher, PaddingFreeSponge, TruncatedPermutation};

type Permutation = Poseidon1Goldilocks<12>;
type Packing = <P3Goldilocks as Field>::Packing;
type PoseidonTree = MerkleTree<P3Goldilocks, P3Goldilocks, RowMajorMatrix<P3Goldilocks>, 2, 4>;

type KeccakSponge = PaddingFreeSponge<KeccakF, 25, 17, 4>;
type KeccakTree = MerkleTree<u64, u64, RowMajorMatrix<u64>, 2, 4>;

/// Seconds of the Poseidon tree over `rows` of `width` elements. Plonky3 takes its matrix by value: making it is not counted.
pub(crate) fn poseidon_tree(rows: &[Goldilocks], width: usize) -> anyhow::Result<f64> {
    let permutation = default_goldilocks_poseidon1_12();
    let sponge = PaddingFreeSponge::<Permutation, 12, 8, 4>::new(permutation.clone());
    let compression = TruncatedPermutation::<Permutation, 2, 4, 12>::new(permutation);
    let values = rows.iter().map(|x| P3Goldilocks::new(x.as_u64())).collect();
    let matrix = RowMajorMatrix::new(values, width);
    let start = Instant::now();
    let tree = PoseidonTree::new::<Packing, Packing, _, _>(&sponge, &compression, vec![matrix]);
    let seconds = start.elapsed().as_secs_f64();
    let root: [P3Goldilocks; 4] = tree.root().into();
    ensure!(root != [P3Goldilocks::new(0); 4], "the tree of p3 has no root");
    Ok(seconds)
}

/// Seconds of the Keccak tree over leaves of 64 bytes, likewise.
pub(crate) fn keccak_tree(leaves: &[u8]) -> anyhow::Result<f64> {
    let sponge = KeccakSponge::new(KeccakF);
    let compression = CompressionFunctionFromHasher::<KeccakSponge, 2, 4>::new(sponge);
    let words = leaves.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let matrix = RowMajorMatrix::new(words, 8);
    let start = Instant::now();
    let tree = KeccakTree::new::<[u64; VECTOR_LEN], [u64; VECTOR_LEN], _, _>(&sponge, &compression, vec![matrix]);
    let seconds = start.elapsed().as_secs_f64();
    let root: [u64; 4] = tree.root().into();
    ensure!(root != [0; 4], "the tree of p3 has no root");
    Ok(seconds)
}
