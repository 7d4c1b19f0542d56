//! The shared part of the three verifiers: the rounds and the final evaluation. Scalar, without threads or panics.

use super::Order;
use super::polynomial::VirtualPolynomial;
use super::round::{Weight, evaluate};
use super::transcript::{TranscriptError, VerifierTranscript};
use evergrove_primitives::field::Field;

/// The result of a verifier: values of the multilinear polynomials at one point, which must be checked against their
/// commitments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluations<F> {
    /// The point: its coordinate i is that of x_i, for every order of binding.
    pub point: Vec<F>,
    /// f_i(point) for each table i.
    pub values: Vec<F>,
}

/// A proof that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The proof cannot be read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// The final values do not match the rounds: a message of the prover or the claim is wrong.
    #[error("the evaluations at the end do not match the claim after {rounds} rounds")]
    FinalEvaluation {
        /// Rounds.
        rounds: usize,
    },
    /// The number of coordinates of the point differs from the number of variables.
    #[error("a point of {found} coordinates for a polynomial in {expected} variables")]
    Point {
        /// Coordinates that were given.
        found: usize,
        /// Variables.
        expected: usize,
    },
}

/// Runs the rounds over `claim` = sum over x of weight(x) f(x), and checks the final evaluations.
///
/// n d multiplications for the rounds, and those of f once. With `point` the weight is eq(point, x), otherwise 1.
pub(super) fn verify<F: Field, T: VerifierTranscript<F>>(
    polynomial: &VirtualPolynomial<F>,
    point: Option<&[F]>,
    order: Order,
    claim: F,
    transcript: &mut T,
) -> Result<Evaluations<F>, VerifyError> {
    let variables = polynomial.variables();
    if let Some(point) = point
        && point.len() != variables
    {
        return Err(VerifyError::Point { found: point.len(), expected: variables });
    }
    let mut claim = claim;
    let mut challenges = vec![F::ZERO; variables];
    let mut message = vec![F::ZERO; polynomial.degree()];
    for variable in order.variables(variables) {
        transcript.receive(&mut message)?;
        let weight = point.map_or(Weight::Uniform, |point| Weight::Eq(point[variable]));
        let constant = weight.constant(claim, &message);
        let challenge = transcript.challenge();
        claim = evaluate(constant, &message, challenge);
        challenges[variable] = challenge;
    }
    let mut values = vec![F::ZERO; polynomial.tables()];
    transcript.receive(&mut values)?;
    if polynomial.combine(&values) != claim {
        return Err(VerifyError::FinalEvaluation { rounds: variables });
    }
    Ok(Evaluations { point: challenges, values })
}
