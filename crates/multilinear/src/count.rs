//! The work of a proof's steps, counted from shapes.
//!
//! A product of two elements of K counts as D² products of F, for the degree D of K, and a product of one of F and one
//! of K counts as D: as many as the kernels compute. Bytes are the least number that must be read and written if every
//! array of a step goes through memory once. A round of a SumCheck may bind the variable of the round before in the
//! pass that sums its message.

use core::iter::Sum;
use core::ops::{Add, AddAssign};

use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::BLOCK;

/// Bytes of an element of F.
pub(crate) const ELEMENT: u64 = 8;

/// Products, bytes and rounds of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Products of two elements of F.
    pub products: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Messages of SumChecks. The work after each of them needs a challenge that depends on it.
    pub rounds: u64,
}

impl Count {
    /// `products` products of K, and `elements` elements of K that are read or written.
    pub(crate) fn of<K: Extension>(products: u64, elements: u64) -> Self {
        let degree = K::DEGREE as u64;
        Self { products: products * degree * degree, bytes: ELEMENT * degree * elements, rounds: 0 }
    }

    /// SumChecks side by side, each of the product of two tables of `len` elements of K, for some rounds.
    pub(crate) fn sum_rounds<K: Extension>(sums: usize, len: usize, rounds: usize) -> Self {
        // The places of a table that go in all rounds.
        let gone = sums as u64 * (len - (len >> rounds)) as u64;
        // Three products for each pair of places, and two to bind a variable of both tables. For each place that goes,
        // two places of both tables are read and one is written.
        Self { rounds: rounds as u64, ..Self::of::<K>(5 * gone, 6 * gone) }
    }

    /// The rows of a matrix over F, each a sum with weights of K, and their weights in as many sums.
    pub(crate) fn fold<K: Extension>(rows: usize, columns: usize, sums: usize) -> Self {
        let (rows, columns, sums) = (rows as u64, columns as u64, sums as u64);
        let folded = Self { products: K::DEGREE as u64 * rows * columns, bytes: ELEMENT * rows * columns, rounds: 0 };
        folded + Self::of::<K>(sums * rows, 2 * rows)
    }

    /// Values of a table of K outside the domain, and their weights.
    pub(crate) fn samples<K: Extension>(samples: usize, len: usize) -> Self {
        Self::of::<K>(2 * (samples * len) as u64, if samples > 0 { 2 * len as u64 } else { 0 })
    }

    /// The weights of queries, added to `len` weights.
    pub(crate) fn queries<K: Extension>(queries: usize, len: usize) -> Self {
        let products = (queries * len * K::DEGREE) as u64;
        Self { products, ..Self::of::<K>(0, 2 * len as u64) }
    }

    /// Sums of the chunks of a stack of F, with `sums` sets of weights.
    pub(crate) fn chunk_sums<K: Extension>(sums: usize, elements: usize) -> Self {
        let products = (sums * elements * K::DEGREE) as u64;
        let read = Self { products, bytes: ELEMENT * elements as u64, rounds: 0 };
        read + Self::of::<K>(0, (sums * elements / BLOCK) as u64)
    }
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            products: self.products + other.products,
            bytes: self.bytes + other.bytes,
            rounds: self.rounds + other.rounds,
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
