//! The 64 bits of an element of F, each a column.
//!
//! Below 2^32 - 1 an element x has two splits, those of x and x + p. A row therefore has a mode:
//! - *indices*: bits 0 to n - 1, 21 to 20 + n and 42 to 41 + n are three wires, numbers below 2^n. For challenges, where the second split
//!   only lets a prover choose between two challenges for one limb in 2^32;
//! - *zeros*: bits from one position up to another are 0. With bits 63 to N zero, N at most 63, this is a range check, and the split
//!   is unique; with the lowest ones zero, a proof of work.
//!
//! | fixed | |
//! |---|---|
//! | one for each width of indices | 1 in rows of this mode |
//! | one for each range of zeros | 1 in rows of this mode |
//! | then | number of the element; uses of the three indices |

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use evergrove_primitives::Goldilocks;

use super::{Port, Row, defined, padded, used};
use crate::algebra::Algebra;

/// Committed columns.
pub const COLUMNS: usize = 64;
/// Ports: the element, three indices.
pub const PORTS: usize = 4;
/// Bits between indices.
pub const CHUNK: usize = 21;
/// Indices of an element.
pub const INDICES: usize = 3;

/// The modes of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    widths: Vec<usize>,
    zeros: Vec<Range<usize>>,
}

impl Parameters {
    /// Indices of these many bits, and rows whose bits in these ranges are 0.
    ///
    /// # Panics
    /// If a width is above 21 or a range is empty or ends above 64.
    pub fn new(mut widths: Vec<usize>, zeros: Vec<Range<usize>>) -> Self {
        widths.sort_unstable();
        widths.dedup();
        assert!(widths.iter().all(|&n| n <= CHUNK), "indices of at most {CHUNK} bits");
        assert!(zeros.iter().all(|range| range.start < range.end && range.end <= COLUMNS), "ranges of 64 bits");
        Self { widths, zeros }
    }
    /// Fixed columns.
    pub fn fixed(&self) -> usize {
        self.numbers() + PORTS
    }
    /// The widths of indices and the ranges of zeros.
    pub fn modes(&self) -> (&[usize], &[Range<usize>]) {
        (&self.widths, &self.zeros)
    }
    /// The fixed column of rows with indices of `width` bits.
    pub fn width_mode(&self, width: usize) -> Option<usize> {
        self.widths.iter().position(|&n| n == width)
    }
    /// The fixed column of rows with these zeros.
    pub fn zeros_mode(&self, zeros: &Range<usize>) -> Option<usize> {
        Some(self.widths.len() + self.zeros.iter().position(|range| range == zeros)?)
    }
    /// The fixed column of the element's number; the uses of the indices follow.
    pub fn numbers(&self) -> usize {
        self.widths.len() + self.zeros.len()
    }

    /// The index that a row of these fixed columns has in these bits.
    pub fn index(&self, fixed: &[Goldilocks], bits: &[Goldilocks]) -> Goldilocks {
        let modes = fixed.iter().zip(&self.widths).filter(|(mode, _)| **mode == Goldilocks::ONE);
        let power = |j: usize| Goldilocks::new(1 << j);
        modes.map(|(_, &width)| (0..width).map(|j| bits[j] * power(j)).sum::<Goldilocks>()).sum()
    }

    pub(super) fn constraints<A: Algebra>(&self, f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
        for bit in row.columns {
            out.push(f.boolean(*bit));
        }
        for (mode, range) in row.fixed[self.widths.len()..].iter().zip(&self.zeros) {
            // A sum of bits is below p, hence 0 only where all of them are.
            let ones = vec![Goldilocks::ONE; range.len()];
            let sum = f.dot(&ones, &row.columns[range.clone()]);
            out.push(f.mul(*mode, sum));
        }
    }

    pub(super) fn ports_on<A: Algebra>(&self, f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
        let numbers = self.numbers();
        let power = |j: usize| Goldilocks::new(1 << j);
        let powers: Vec<_> = (0..COLUMNS).map(power).collect();
        let element = f.dot(&powers, row.columns);
        let word = padded(f, &[element]);
        out.push(used(f, row.fixed[numbers], word));
        for i in 0..INDICES {
            let bits = &row.columns[i * CHUNK..(i + 1) * CHUNK];
            let mut index = f.zero();
            let (mut low, mut from) = (f.zero(), 0);
            for (mode, &to) in self.widths.iter().enumerate() {
                let part = f.dot(&powers[from..to], &bits[from..to]);
                low = f.add(low, part);
                index = f.mul_add(row.fixed[mode], low, index);
                from = to;
            }
            let word = padded(f, &[index]);
            out.push(defined(f, row, 1 + i, row.fixed[numbers + 1 + i], word));
        }
    }
}
