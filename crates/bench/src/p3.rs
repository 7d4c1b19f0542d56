//! Trees and low-degree extensions with Plonky3. Its trees compare speed only: its Poseidon has another matrix and
//! other constants, and its Keccak has no padding.
//!
//! Plonky3 chooses its vector instructions at compile time. With default flags it has SSE2 or none.

use std::time::Instant;

use anyhow::{Context, ensure};
use evergrove_primitives::Goldilocks;
use p3_dft::TwoAdicSubgroupDft;
use p3_field::{Field, PrimeField64, TwoAdicField};
use p3_goldilocks::Goldilocks as P3Goldilocks;
use p3_goldilocks::poseidon1::{Poseidon1Goldilocks, default_goldilocks_poseidon1_12};
use p3_keccak::{KeccakF, VECTOR_LEN};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTree;
use p3_symmetric::{CompressionFunctionFromHasher, PaddingFreeSponge, TruncatedPermutation};

type Permutation = Poseidon1Goldilocks<12>;
type Packing = <P3Goldilocks as Field>::Packing;
type PoseidonTree = MerkleTree<P3Goldilocks, P3Goldilocks, RowMajorMatrix<P3Goldilocks>, 2, 4>;

type KeccakSponge = PaddingFreeSponge<KeccakF, 25, 17, 4>;
type KeccakTree = MerkleTree<u64, u64, RowMajorMatrix<u64>, 2, 4>;

/// Seconds of the Poseidon tree over `rows` of `width` elements. Plonky3 takes its matrix by value; copying it is not
/// counted.
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

/// Seconds of the Keccak tree over leaves of 64 bytes. As above, copying the matrix is not counted.
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

/// The input of a low-degree extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The coefficients, as for our code and Plonky2, padded with zeros before the clock starts.
    Coefficients,
    /// The values on the subgroup. This takes one more inverse transform, but no multiplications of zeros.
    Values,
}

/// The low-degree extension of columns on a coset, by one of Plonky3's transforms.
pub(crate) struct Extension<D> {
    dft: D,
    from: From,
    matrix: RowMajorMatrix<P3Goldilocks>,
    rate_bits: usize,
    /// Plonky3's row is this number times our row, since its root of unity is another power.
    step: usize,
}

impl<D: TwoAdicSubgroupDft<P3Goldilocks>> Extension<D> {
    pub(crate) fn new(dft: D, from: From, columns: &[Vec<Goldilocks>], rate_bits: u32) -> anyhow::Result<Self> {
        let (n, rate_bits) = (columns[0].len(), rate_bits as usize);
        let rows = (0..n).flat_map(|i| columns.iter().map(move |column| P3Goldilocks::new(column[i].as_u64())));
        let mut values: Vec<P3Goldilocks> = rows.collect();
        let matrix = match from {
            From::Coefficients => {
                values.resize(values.len() << rate_bits, P3Goldilocks::new(0));
                RowMajorMatrix::new(values, columns.len())
            }
            From::Values => dft.dft_batch(RowMajorMatrix::new(values, columns.len())).to_row_major_matrix(),
        };
        let log = n.ilog2() as usize + rate_bits;
        Ok(Self { dft, from, matrix, rate_bits, step: logarithm(log).context("two roots of the same order")? })
    }

    /// Returns the seconds, and the values at (column, row), where rows count powers of our root of unity. Plonky3
    /// takes its matrix by value; copying it is not counted.
    pub(crate) fn run(&self, samples: &[(usize, usize)]) -> (f64, Vec<Goldilocks>) {
        let (matrix, shift) = (self.matrix.clone(), P3Goldilocks::new(Goldilocks::GENERATOR.as_u64()));
        let start = Instant::now();
        let values = match self.from {
            From::Coefficients => self.dft.coset_dft_batch(matrix, shift),
            From::Values => self.dft.coset_lde_batch(matrix, self.rate_bits, shift),
        };
        let seconds = start.elapsed().as_secs_f64();
        let value = |(column, row): &(usize, usize)| {
            let row = row.wrapping_mul(self.step) % values.height();
            Goldilocks::reduce(values.get(row, *column).expect("a row of the matrix").as_canonical_u64())
        };
        (seconds, samples.iter().map(value).collect())
    }
}

/// The exponent e for which w^e is our root of unity of order 2^`log`, where w is Plonky3's root of the same order.
fn logarithm(log: usize) -> Option<usize> {
    let root = Goldilocks::reduce(P3Goldilocks::two_adic_generator(log).as_canonical_u64());
    let ours = Goldilocks::root_of_unity(log as u32)?;
    // Finds the bits from the lowest one: the remainder to the power 2^(log - 1 - bit) is 1 or -1.
    let inverse = root.inverse()?;
    let (mut rest, mut exponent) = (ours, 0);
    for bit in 0..log {
        if rest.pow(1 << (log - 1 - bit)) != Goldilocks::ONE {
            rest *= inverse.pow(1 << bit);
            exponent |= 1 << bit;
        }
    }
    (rest == Goldilocks::ONE).then_some(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_roots_are_powers_of_plonky3s() {
        for log in [0, 1, 4, 19, 32] {
            let root = Goldilocks::reduce(P3Goldilocks::two_adic_generator(log).as_canonical_u64());
            let exponent = logarithm(log).unwrap() as u64;
            assert_eq!(root.pow(exponent), Goldilocks::root_of_unity(log as u32).unwrap());
        }
    }
}
