//! The rounds from the prover's side, over the engine that holds the tables.

use super::engine::Engine;
use super::polynomial::VirtualPolynomial;
use super::round::{Interpolation, Other, Weight, evaluate};
use super::transcript::ProverTranscript;
use super::verifier::Evaluations;
use super::{Order, ProveError};
use evergrove_primitives::field::Field;

/// Where a round's polynomial is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// At a small number.
    At(u64),
    /// The coefficient of X^d, where d is the degree of the virtual polynomial.
    Infinity,
}

/// The prover's advance knowledge of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim<F> {
    /// Nothing: the first round costs one more sample.
    Unknown,
    /// The sum.
    Known(F),
    /// That f is 0 on the whole cube: the first round costs one sample less.
    Vanishing,
}

/// Runs the rounds and sends the final evaluations. Returns the claim too.
///
/// `announce` gets the claim before the first message is sent.
pub(super) fn prove<F: Field, T: ProverTranscript<F>>(
    polynomial: &VirtualPolynomial<F>,
    point: Option<&[F]>,
    order: Order,
    claim: Claim<F>,
    engine: &mut Engine<'_, F>,
    transcript: &mut T,
    announce: impl FnOnce(&mut T, F),
) -> Result<(F, Evaluations<F>), ProveError> {
    let (variables, degree) = (polynomial.variables(), polynomial.degree());
    let weight = |variable: usize| point.map_or(Weight::Uniform, |point| Weight::Eq(point[variable]));
    let interpolation = Interpolation::new(degree);
    let mut challenges = vec![F::ZERO; variables];
    let mut state = claim;
    let mut announce = Some(announce);
    let mut first = F::ZERO;
    let mut announced = |transcript: &mut T, claim: F| {
        if let Some(announce) = announce.take() {
            first = claim;
            announce(transcript, claim);
        }
    };
    let mut last = None;
    for variable in order.variables(variables) {
        let (coefficients, claim) =
            round(&interpolation, weight(variable), state, |samples| engine.round(last, samples));
        announced(transcript, claim);
        transcript.send(&coefficients[1..]);
        let challenge = transcript.challenge();
        state = Claim::Known(evaluate(coefficients[0], &coefficients[1..], challenge));
        challenges[variable] = challenge;
        last = Some(challenge);
    }
    let values = engine.finish(last);
    let value = polynomial.combine(&values);
    let claim = match state {
        Claim::Unknown => value,
        Claim::Known(claim) => claim,
        Claim::Vanishing => F::ZERO,
    };
    announced(transcript, claim);
    transcript.send(&values);
    if value != claim {
        return Err(ProveError::Claim { rounds: variables });
    }
    Ok((first, Evaluations { point: challenges, values }))
}

/// The coefficients of a round's polynomial, and its claim, from as few samples as the claim allows, d instead of
/// d + 1.
fn round<F: Field>(
    interpolation: &Interpolation<F>,
    weight: Weight<F>,
    claim: Claim<F>,
    sample: impl FnOnce(&[Sample]) -> Vec<F>,
) -> (Vec<F>, F) {
    let degree = interpolation.degree();
    let wide = (2..degree as u64).map(Sample::At);
    let samples = |ends: &[Sample]| ends.iter().copied().chain([Sample::Infinity]).chain(wide).collect::<Vec<_>>();
    let (zero, one) = (Sample::At(0), Sample::At(1));
    // The values at 0 and 1 and the claim, then the samples at infinity, 2, 3, ...
    let (at_zero, at_one, claim, rest) = match claim {
        Claim::Unknown => {
            let values = sample(&samples(&[zero, one]));
            (values[0], values[1], weight.sum(values[0], values[1]), values[2..].to_vec())
        }
        Claim::Vanishing => (F::ZERO, F::ZERO, F::ZERO, sample(&samples(&[]))),
        Claim::Known(claim) if degree == 1 => {
            let values = sample(&samples(&[]));
            let at_zero = weight.constant(claim, &values);
            (at_zero, at_zero + values[0], claim, values)
        }
        Claim::Known(claim) => match weight.other(claim) {
            Other::AtZero(at_zero) => {
                let values = sample(&samples(&[one]));
                (at_zero, values[0], claim, values[1..].to_vec())
            }
            Other::AtOne { scale, zero: weight, claim } => {
                let values = sample(&samples(&[zero]));
                (values[0], (claim - weight * values[0]) * scale, claim, values[1..].to_vec())
            }
        },
    };
    let mut values = vec![at_zero, at_one];
    values.extend_from_slice(&rest[1..]);
    values.truncate(degree);
    (interpolation.coefficients(&values, rest[0]), claim)
}
