//! Zerocheck over a table: sum over the rows x of eq(w, x) G(x) = claim, for G of degree seven in the columns.
//!
//! **Rows** come in blocks of [`BLOCK`], and a table is not padded to a power of two: eq is summed over the active blocks only. A row's
//! number is 9 bits within its block, then the block's number.
//!
//! **Rounds.** The variables within a block are bound first, from the highest to the lowest, then those of the block's number, from the
//! lowest to the highest ([`Shape::order`]). While variables within a block are left, eq is a product and the factor of the
//! round's own variable is not sent (Gruen, ePrint 2024/108): the message is c_1, ..., c_7 of a polynomial of degree 7, and
//! (1 - w) s(0) + w s(1) = claim gives c_0 = claim - w (c_1 + ... + c_7). Summed over the active blocks only, eq does not
//! factor: the whole polynomial is sent, c_1, ..., c_8, and s(0) + s(1) = claim gives c_0. The only division is by 2.
//!
//! **Powers.** [`PowerSum`] is G = sum of mu_j (column_j + shift_j)^7 + a linear part. On the line a + d X the coefficient of X^k in
//! its seventh power is binomial(7, k) a^(7-k) d^k, and all of them are products of one of mu a^3, mu a^2 d, mu a d^2, mu d^3 with one
//! of a^4 and d^4: ten products a column in place of some thirty for the values at seven points.

mod prover;
pub mod reference;

use evergrove_kernels::sumcheck::{TranscriptError, VerifierTranscript};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Field;
use evergrove_primitives::field::extension::Extension;

pub(crate) use prover::{base_powers, powers, with_binomials};
pub use prover::{prove, prove_on};

/// log2 of the rows of a block.
pub const BLOCK_LOG: usize = 9;
/// Rows of a block.
pub const BLOCK: usize = 1 << BLOCK_LOG;
/// Degree of G in a column.
pub const DEGREE: usize = 7;
/// Blocks that a table may have.
pub const MAX_BLOCKS: usize = 1 << 20;

/// How many rows a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    blocks: usize,
}

/// A number of rows that no table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a table of {rows} rows: a multiple of {BLOCK} is needed, at least one block and at most {MAX_BLOCKS}")]
pub struct ShapeError {
    /// The rows.
    pub rows: usize,
}

impl Shape {
    /// For a table of `rows` rows, a multiple of [`BLOCK`].
    pub fn new(rows: usize) -> Result<Self, ShapeError> {
        let blocks = rows / BLOCK;
        if rows.is_multiple_of(BLOCK) && (1..=MAX_BLOCKS).contains(&blocks) {
            Ok(Self { blocks })
        } else {
            Err(ShapeError { rows })
        }
    }
    /// Rows.
    pub fn rows(self) -> usize {
        self.blocks * BLOCK
    }
    /// Blocks.
    pub fn blocks(self) -> usize {
        self.blocks
    }
    /// Variables of the block's number.
    pub fn block_variables(self) -> usize {
        self.blocks.next_power_of_two().ilog2() as usize
    }
    /// Variables of the row's number.
    pub fn variables(self) -> usize {
        BLOCK_LOG + self.block_variables()
    }
    /// The variables in the order of the rounds.
    pub fn order(self) -> impl Iterator<Item = usize> {
        (0..BLOCK_LOG).rev().chain(BLOCK_LOG..self.variables())
    }
    /// The sum over the active blocks of eq(point, block): how much of a column's value at `point` a constant is worth.
    ///
    /// # Panics
    /// Unless the point has [`Shape::variables`] coordinates.
    pub fn activity<K: Field>(self, point: &[K]) -> K {
        self.over_blocks(point, |_| K::ONE)
    }
    /// The sum over the active blocks of eq(w, block) eq(point, block): the weight at the end of the rounds, from which the
    /// factors of variables within a block have been taken out.
    ///
    /// # Panics
    /// Unless both points have [`Shape::variables`] coordinates.
    pub fn weight<K: Field>(self, w: &[K], point: &[K]) -> K {
        assert_eq!(w.len(), self.variables(), "a coordinate for each variable");
        self.over_blocks(point, |block| eq_of_index(&w[BLOCK_LOG..], block))
    }

    fn over_blocks<K: Field>(self, point: &[K], f: impl Fn(usize) -> K) -> K {
        assert_eq!(point.len(), self.variables(), "a coordinate for each variable");
        (0..self.blocks).map(|block| eq_of_index(&point[BLOCK_LOG..], block) * f(block)).sum()
    }
}

/// eq(point, index): the product of the coordinates where the index has a bit, and of 1 - coordinate elsewhere.
fn eq_of_index<K: Field>(point: &[K], index: usize) -> K {
    point.iter().enumerate().map(|(i, &r)| if index >> i & 1 == 1 { r } else { K::ONE - r }).product()
}

/// Columns that a sum may have: [`FieldLanes::TERMS`](evergrove_primitives::field::FieldLanes::TERMS) less one for the linear part.
pub const MAX_COLUMNS: usize = 127;

/// G(x) = linear(x) + sum of weights\[j\] (columns\[j\](x) + shifts\[j\])^7.
#[derive(Clone, Copy, Debug)]
pub struct PowerSum<'a, K> {
    /// Columns of values, one for each row; at most [`MAX_COLUMNS`].
    pub columns: &'a [&'a [Goldilocks]],
    /// One for each column.
    pub shifts: &'a [Goldilocks],
    /// One for each column.
    pub weights: &'a [K],
    /// The coefficients of the linear part, the first ones of all rows, then the second ones, and so on.
    pub linear: &'a [Goldilocks],
}

/// A proof that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct VerifyError(#[from] pub TranscriptError);

/// What is left when the rounds are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End<K> {
    /// The point: its coordinate i is that of variable i, whatever the order of the rounds.
    pub point: Vec<K>,
    /// What the weight at the point times G must be.
    pub claim: K,
}

/// The message of a round: coefficients without the constant one.
fn message_len(variable: usize) -> usize {
    if variable < BLOCK_LOG { DEGREE } else { DEGREE + 1 }
}

/// The value at `challenge` of a round's polynomial, from the claim and the coefficients but the constant one.
fn next_claim<K: Field>(claim: K, variable: usize, w: K, message: &[K], challenge: K) -> K {
    let step: K = message.iter().copied().sum();
    let constant = if variable < BLOCK_LOG { claim - w * step } else { (claim - step) * K::half() };
    message.iter().rev().fold(K::ZERO, |value, &c| (value + c) * challenge) + constant
}

/// Checks the rounds over `claim` = sum of eq(w, x) G(x): some ten multiplications a round. Any messages of the right lengths come to some
/// end; only the caller's check of it accepts or refuses.
///
/// The caller checks that G at the point, times [`Shape::weight`], is the claim at the end. The transcript must have taken in, before
/// this call, whatever the statement rests on: the shape, which is the statement's and not the prover's, the commitment to the columns
/// before the weights of G and w are drawn, and the claim where it is not 0.
///
/// # Panics
/// Unless w has [`Shape::variables`] coordinates.
pub fn verify<K: Extension>(
    shape: Shape,
    w: &[K],
    mut claim: K,
    transcript: &mut impl VerifierTranscript<K>,
) -> Result<End<K>, VerifyError> {
    assert_eq!(w.len(), shape.variables(), "a coordinate for each variable");
    let mut point = vec![K::ZERO; shape.variables()];
    let mut message = [K::ZERO; DEGREE + 1];
    for variable in shape.order() {
        let message = &mut message[..message_len(variable)];
        transcript.receive(message)?;
        let challenge = transcript.challenge();
        claim = next_claim(claim, variable, w[variable], message, challenge);
        point[variable] = challenge;
    }
    Ok(End { point, claim })
}
