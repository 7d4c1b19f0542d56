//! The tables that all commitments of one size share.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{GoldilocksLanes, Loose};
use evergrove_primitives::lanes::{Isa, Kernel, Lanes, dispatch_on};

use crate::ntt::{Inverse, Lde, NttError, Row, ZERO_ROW, reverse};

/// The group H of order 2^log_size and the coset that polynomials are extended to, with the tables of their transforms:
/// 2^log_size + 2^(log_size + rate_bits) words; and how the rows of extensions are hashed.
#[derive(Clone, Debug)]
pub struct Domain {
    isa: Isa,
    inverse: Inverse,
    lde: Lde,
    leaves: Leaves,
}

/// How a row is hashed to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    /// Plonky2's `hash_or_noop`.
    OrNoop,
    /// Block by block, each with the digest before it as capacity, from (tag, 0, 0, 0).
    Chain { tag: Goldilocks },
}

impl Domain {
    /// The extension of 2^`log_size` values by 2^`rate_bits`, to the coset of [`Goldilocks::GENERATOR`].
    ///
    /// # Panics
    /// When used on a CPU that lacks the instruction set.
    pub fn on(isa: Isa, log_size: u32, rate_bits: u32) -> Result<Self, NttError> {
        Self::with(isa, log_size, rate_bits, Goldilocks::GENERATOR, Leaves::OrNoop)
    }

    /// The extension to the group of order 2^(`log_size` + `rate_bits`) itself. Its rows are hashed in whole blocks of
    /// eight elements, each with the digest before it as capacity, from (`tag`, 0, 0, 0).
    pub fn chained(log_size: u32, rate_bits: u32, tag: Goldilocks) -> Result<Self, NttError> {
        Self::with(Isa::detect(), log_size, rate_bits, Goldilocks::ONE, Leaves::Chain { tag })
    }

    fn with(isa: Isa, log_size: u32, rate_bits: u32, shift: Goldilocks, leaves: Leaves) -> Result<Self, NttError> {
        let lde = Lde::on(isa, log_size, rate_bits, shift)?;
        Ok(Self { isa, inverse: Inverse::on(isa, log_size, Goldilocks::ONE)?, lde, leaves })
    }

    /// Interpolation on H.
    pub fn inverse(&self) -> &Inverse {
        &self.inverse
    }

    /// Evaluation on the coset.
    pub fn lde(&self) -> &Lde {
        &self.lde
    }

    /// The leaf with the values at the point `GENERATOR` w^`index`, w of order 2^(log_size + rate_bits): Plonky2's
    /// `get_lde_values(index, step)` is that of `index * step`. Indices are taken modulo the order.
    pub fn leaf(&self, index: usize) -> usize {
        let rows = self.lde.extended_size();
        reverse(index & (rows - 1), rows.ilog2())
    }

    pub(super) fn leaves(&self) -> Leaves {
        self.leaves
    }

    pub(super) fn isa(&self) -> Isa {
        self.isa
    }
}

/// Polynomials that are evaluated side by side, since the products of one chain depend on each other.
const CHAINS: usize = 4;

/// The values of a group of eight polynomials at a point, by Horner's rule: one product per coefficient.
pub(super) fn evaluate(isa: Isa, coefficients: &[Row], point: Goldilocks) -> Row {
    dispatch_on(isa, Evaluate { coefficients, point })
}

struct Evaluate<'a> {
    coefficients: &'a [Row],
    point: Goldilocks,
}

impl Kernel for Evaluate<'_> {
    type Output = Row;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Row {
        let f = GoldilocksLanes::new(lanes);
        let (chunks, rest) = self.coefficients.as_chunks::<CHAINS>();
        // f(X) = sum over i of X^i f_i(X^4), each f_i by its own chain.
        let square = self.point * self.point;
        let step = f.factor(f.splat(square * square));
        let mut sums = [Loose::from(f.load(&ZERO_ROW)); CHAINS];
        for rows in chunks.iter().rev() {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = f.add(f.mul_by(*sum, step), f.load(row));
            }
        }
        let point = f.factor(f.splat(self.point));
        let mut value = Loose::from(f.load(&ZERO_ROW));
        for sum in sums.into_iter().rev() {
            value = f.add(f.mul_by(value, point), f.reduce(sum));
        }
        // One or two coefficients fill no chunk; there are no others.
        for row in rest.iter().rev() {
            value = f.add(f.mul_by(value, point), f.load(row));
        }
        let mut row = ZERO_ROW;
        f.store(f.reduce(value), &mut row);
        row
    }
}
