//! The work of the steps of a proof, counted from shapes.
//!
//! Counts are those of the algorithms here, without the columns that fill up a group of eight. *Hashes* are
//! permutations of Poseidon. *Multiplications* are products of two field elements outside permutations; products by
//! powers of two are shifts and do not count. *Bytes* are the least number that must be read and written if every array
//! of the step goes through memory once.

use core::iter::Sum;
use core::ops::Add;

/// Bytes of an element.
const ELEMENT: u64 = 8;
/// Bytes of a digest.
const DIGEST: u64 = 32;
/// Elements that a permutation absorbs.
const RATE: u64 = 8;

/// The work of a step. A sum of steps has the sums of all fields, except rows and columns, which are those of its
/// largest step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Rows of the matrix that the step makes or reads.
    pub rows: u64,
    /// Its columns.
    pub columns: u64,
    /// Permutations of Poseidon.
    pub hashes: u64,
    /// Products of field elements outside permutations.
    pub multiplications: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Messages of a SumCheck. The work after each of them needs a challenge that depends on it.
    pub rounds: u64,
}

impl Work {
    /// A transform of polynomials with `rows` coefficients: one product for each element and each pass of up to four
    /// levels.
    pub fn transform(rows: usize, columns: usize) -> Self {
        let (rows, columns) = (rows as u64, columns as u64);
        let passes = u64::from(rows.max(2).ilog2().div_ceil(4));
        let (multiplications, bytes) = (rows * columns * passes, 2 * ELEMENT * rows * columns);
        Self { rows, columns, multiplications, bytes, ..Self::default() }
    }

    /// Leaves of a Merkle tree over rows: plonky2's `hash_or_noop`.
    pub fn leaves(rows: usize, columns: usize) -> Self {
        let (rows, columns) = (rows as u64, columns as u64);
        let hashes = if columns <= DIGEST / ELEMENT { 0 } else { rows * columns.div_ceil(RATE) };
        Self { rows, columns, hashes, bytes: (ELEMENT * columns + DIGEST) * rows, ..Self::default() }
    }

    /// The levels above `leaves` digests, up to a cap of `cap` digests.
    pub fn levels(leaves: usize, cap: usize) -> Self {
        let hashes = leaves.saturating_sub(cap) as u64;
        let columns = DIGEST / ELEMENT;
        Self { rows: leaves as u64, columns, hashes, bytes: 3 * DIGEST * hashes, ..Self::default() }
    }

    /// Products for every element of a matrix, which is read once, and `written` elements that are written.
    pub fn products(rows: usize, columns: usize, multiplications: u64, written: u64) -> Self {
        let (rows, columns) = (rows as u64, columns as u64);
        Self { rows, columns, multiplications, bytes: ELEMENT * (rows * columns + written), ..Self::default() }
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let largest = if other.rows * other.columns > self.rows * self.columns { other } else { self };
        Self {
            rows: largest.rows,
            columns: largest.columns,
            hashes: self.hashes + other.hashes,
            multiplications: self.multiplications + other.multiplications,
            bytes: self.bytes + other.bytes,
            rounds: self.rounds + other.rounds,
        }
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_those_of_the_shape() {
        // 2^16 rows of 135 wires: 17 permutations a leaf.
        assert_eq!(Work::leaves(1 << 16, 135).hashes, 17 << 16);
        assert_eq!((Work::leaves(64, 4).hashes, Work::leaves(64, 5).hashes), (0, 64));
        assert_eq!(Work::levels(1 << 16, 16).hashes, (1 << 16) - 16);
        assert_eq!(Work::levels(16, 16), Work { rows: 16, columns: 4, ..Work::default() });
    }

    #[test]
    fn sums_keep_the_largest_shape() {
        let [a, b] = [Work::transform(1 << 13, 135), Work::leaves(1 << 13, 20)];
        let sum = [b, a].into_iter().sum::<Work>();
        assert_eq!((sum.rows, sum.columns), (1 << 13, 135));
        assert_eq!((sum.hashes, sum.multiplications), (b.hashes, a.multiplications));
        assert_eq!(a.multiplications, (4 * 135) << 13);
        assert_eq!(sum.bytes, a.bytes + b.bytes);
    }
}
