//! The constraints at points of the extension field, by plonky2's arithmetic.
//!
//! `starky` evaluates all constraints at values that are drawn from the transcript before it combines them, and absorbs the
//! result.

use evergrove_primitives::Goldilocks;
use plonky2::field::types::Field;
use starky::constraint_consumer::ConstraintConsumer;
use starky::evaluation_frame::StarkEvaluationFrame;
use starky::stark::Stark;

use super::{Combination, StarkProver, Transcript};
use crate::circuit::to_plonky;
use crate::prover::E;
use crate::stark::{Air, AirStark, Frame};

/// Bits of the exponents to which the drawn values are raised: a drawn value serves as many columns as it has powers.
const EXPONENT_BITS: usize = 50;

/// All constraints at drawn values, combined by each of `alphas`.
pub(super) fn at_dummies<A: Air>(
    prover: &StarkProver<A>,
    combinations: &[Combination],
    public_inputs: &[Goldilocks],
    alphas: &[Goldilocks],
    transcript: &mut Transcript,
) -> Vec<E> {
    let [columns, sums, _] = prover.columns();
    let total = 2 * (columns + sums);
    let power = (A::DEGREE + 1).max(2);
    let powers = (EXPONENT_BITS / power.next_power_of_two().ilog2() as usize).saturating_sub(1).max(1);
    let drawn: Vec<E> = (0..total.div_ceil(powers)).map(|_| transcript.extension_challenge()).collect();
    let each = (powers + 1).min(total);
    let raised = |x: E| core::iter::successors(Some(x), |x| Some(x.exp_u64(power as u64))).take(each);
    let values: Vec<E> = drawn.into_iter().flat_map(raised).collect();
    let zeta = transcript.extension_challenge();

    let (local, rest) = values.split_at(columns);
    let (next, rest) = rest.split_at(columns);
    let (z, z_next) = rest.split_at(sums);
    let bits = prover.params.degree_bits;
    let n = E::from_canonical_usize(1 << bits);
    let root = E::primitive_root_of_unity(bits);
    let vanishing = zeta.exp_power_of_2(bits) - E::ONE;
    let mut consumer = ConstraintConsumer::new(
        alphas.iter().map(|x| to_plonky(*x).into()).collect(),
        zeta - root.inverse(),
        vanishing * (n * (zeta - E::ONE)).inverse(),
        vanishing * (n * (root * zeta - E::ONE)).inverse(),
    );
    let public_inputs: Vec<E> = public_inputs.iter().map(|x| to_plonky(*x).into()).collect();
    AirStark::<A>::default().eval_ext(&Frame::from_values(local, next, &public_inputs), &mut consumer);
    if let Some(exposed) = &prover.exposed {
        for (c, challenge) in combinations.iter().enumerate() {
            let [beta, gamma]: [E; 2] = [challenge.beta, challenge.gamma].map(|x| to_plonky(x).into());
            let combined = exposed.columns.iter().rev().fold(E::ZERO, |sum, k| sum * beta + local[*k]) + gamma;
            consumer.constraint_last_row(combined * z[c] - local[exposed.filter]);
            consumer.constraint_transition(combined * (z[c] - z_next[c]) - local[exposed.filter]);
        }
    }
    consumer.accumulators()
}
