//! Claims about fixed columns, and their reduction to one claim.
//!
//! The fixed stacks of the two circuits of a key are one polynomial P with one variable more than a stack: the highest
//! variable selects the circuit. A proof comes with its own claim, <W, P> = v for the weights W that batched its
//! columns' values. A proof about proofs also has a claim P(z) = v among its public inputs. A challenge theta combines
//! them, and a SumCheck leaves one claim P(z) = v.

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::points::{Coordinates, horner, mul};
use super::rows;
use super::transcript::Word;
use super::{Machine, Parameters, bus, tags};

/// The claim that the values of the fixed columns at a point are those of a circuit of the key. The statement of a
/// proof is not verified before this claim is.
#[derive(Debug)]
#[must_use = "a proof is not verified before the claim about its fixed columns is"]
pub struct FixedClaim<E> {
    /// 0 or 1.
    pub circuit: E,
    /// The point of the rows.
    pub point: Coordinates<E>,
    /// The column weights are powers of eta.
    pub eta: E,
    /// The sum of all columns' values times these powers.
    pub value: E,
}

/// A claim about P.
#[derive(Debug)]
#[must_use = "a claim about fixed columns is to be checked, or handed on"]
pub enum Claim<E> {
    /// A proof's own claim.
    Fixed(FixedClaim<E>),
    /// P(point) = value.
    At {
        /// A coordinate for each variable.
        point: Vec<E>,
        /// The value.
        value: E,
    },
}

/// The claim P(point) = value that others were reduced to.
#[derive(Debug)]
#[must_use = "a claim about fixed columns is to be checked, or handed on"]
pub struct Reduced<E> {
    /// A coordinate for each variable.
    pub point: Vec<E>,
    /// The value.
    pub value: E,
}

/// The words that the transcript absorbs besides the key: the numbers of claims and of variables.
pub fn counts<K: Extension, E>(parameters: &Parameters<K>, claims: &[Claim<E>]) -> Word {
    let variables = parameters.layout().fixed().variables() + 1;
    [claims.len() as u64, variables as u64, 0, 0].map(Goldilocks::new)
}

/// The elements of claims that the transcript absorbs.
pub fn observe_claims<E: Copy>(claims: &[Claim<E>]) -> Vec<E> {
    let mut all = Vec::new();
    for claim in claims {
        match claim {
            Claim::Fixed(FixedClaim { circuit, point, eta, value }) => {
                all.push(*circuit);
                all.extend_from_slice(&point.r);
                all.extend([*eta, *value]);
            }
            Claim::At { point, value } => {
                all.extend_from_slice(point);
                all.push(*value);
            }
        }
    }
    all
}

/// One claim that holds if all of these claims hold, and otherwise fails, except with probability (claims + 2
/// variables) / |K|. It is a point and a value, which the prover sends.
///
/// theta is drawn after all claims are absorbed, in their order; each message is absorbed before its challenge.
///
/// # Panics
/// If a claim's point does not have a coordinate for each variable of P.
pub fn reduce<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    key: M::Word,
    claims: &[Claim<M::Element>],
) -> Reduced<M::Element> {
    m.begin(tags::CLAIMS);
    let counts = m.word(counts(parameters, claims));
    m.observe(&[key, counts]);
    let variables = parameters.layout().fixed().variables() + 1;
    for claim in claims {
        if let Claim::At { point, .. } = claim {
            assert_eq!(point.len(), variables, "a coordinate for each variable");
        }
    }
    m.observe_elements(&observe_claims(claims));
    let theta = m.challenge();

    let values: Vec<M::Element> = claims
        .iter()
        .map(|claim| match claim {
            Claim::Fixed(FixedClaim { value, .. }) | Claim::At { value, .. } => *value,
        })
        .collect();
    let mut claim = horner(m, &values, theta);
    let mut z = vec![claim; variables];
    for variable in (0..variables).rev() {
        let message = m.receive(2);
        let r = m.challenge();
        claim = bus::plain(m, claim, &message, r);
        z[variable] = r;
    }
    let value = m.receive(1)[0];
    let s = Coordinates::new(m, z);
    let weights: Vec<M::Element> = claims
        .iter()
        .map(|claim| match claim {
            Claim::Fixed(FixedClaim { circuit, point, eta, .. }) => {
                let low = Coordinates::new(m, s.r[..variables - 1].to_vec());
                let weight = rows::weight(m, parameters, point, false, *eta, &low);
                let which = s.eq(m, variables - 1, &[*circuit]);
                mul(m, weight, which)
            }
            Claim::At { point, .. } => s.eq(m, 0, point),
        })
        .collect();
    let weight = horner(m, &weights, theta);
    let product = mul(m, weight, value);
    m.assert_equal(product, claim);
    Reduced { point: s.r, value }
}
