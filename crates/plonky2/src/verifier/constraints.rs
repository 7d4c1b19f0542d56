//! The constraints at zeta.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::wire::Openings;
use plonky2::field::types::Field;
use plonky2::gates::gate::GateRef;
use plonky2::hash::hash_types::HashOut;
use plonky2::plonk::vars::EvaluationVars;

use super::check::{E, SnarkError, number, scale};
use crate::circuit::{D, F, to_plonky};
use crate::convert::to_ext;
use crate::keys::CommonData;
use crate::prover::{Selector, Unsupported, selectors};

/// The challenges that the constraints are combined by, and the point.
pub(super) struct Challenges<'a> {
    pub(super) betas: &'a [Goldilocks],
    pub(super) gammas: &'a [Goldilocks],
    pub(super) alphas: &'a [Goldilocks],
    pub(super) zeta: E,
}

/// The constraints of a circuit.
pub(super) struct Constraints {
    gates: Vec<(GateRef<F, D>, Selector)>,
    /// Constants that are selectors: the first ones.
    selectors: usize,
    /// k_j of routed wire j.
    k_is: Vec<F>,
    /// Routed wires that share a partial product; also the chunks of a quotient.
    chunk: usize,
    partial_products: usize,
    degree_bits: usize,
}

impl Constraints {
    pub(super) fn new(common: &CommonData) -> Result<Self, Unsupported> {
        Ok(Self {
            gates: common.gates.iter().cloned().zip(selectors(common)?).collect(),
            selectors: common.selectors_info.num_selectors(),
            k_is: common.k_is[..common.config.num_routed_wires].to_vec(),
            chunk: common.quotient_degree_factor,
            partial_products: common.num_partial_products,
            degree_bits: common.degree_bits(),
        })
    }

    /// For every alpha, the combination of all constraints at zeta is Z_H(zeta) times that of the quotient's chunks.
    pub(super) fn check(
        &self,
        openings: &Openings,
        challenges: &Challenges<'_>,
        public_inputs_hash: &HashOut<F>,
    ) -> Result<(), SnarkError> {
        let [constants, sigmas, wires, zs, zs_next, partial_products, quotients] =
            openings.groups().map(|group| group.iter().map(to_ext).collect::<Vec<E>>());
        let zeta = challenges.zeta;
        let power = zeta.exp_power_of_2(self.degree_bits);
        let vanishing = power - E::ONE;
        let lagrange = match zeta == E::ONE {
            true => E::ONE,
            false => vanishing / (scale(zeta - E::ONE, number(1 << self.degree_bits))),
        };
        let mut terms: Vec<E> = zs.iter().map(|z| lagrange * (*z - E::ONE)).collect();
        for (c, (beta, gamma)) in challenges.betas.iter().zip(challenges.gammas).enumerate() {
            let (beta, gamma) = (to_plonky(*beta), E::from(to_plonky(*gamma)));
            let point = scale(zeta, beta);
            let partials = &partial_products[c * self.partial_products..][..self.partial_products];
            let mut left = zs[c];
            let chunks = wires[..self.k_is.len()].chunks(self.chunk).zip(sigmas.chunks(self.chunk));
            for (((wires, sigmas), k_is), right) in
                chunks.zip(self.k_is.chunks(self.chunk)).zip(partials.iter().chain([&zs_next[c]]))
            {
                let mut products = [left, *right];
                for ((wire, sigma), k) in wires.iter().zip(sigmas).zip(k_is) {
                    let wire = *wire + gamma;
                    products[0] *= wire + scale(point, *k);
                    products[1] *= wire + scale(*sigma, beta);
                }
                terms.push(products[0] - products[1]);
                left = *right;
            }
        }
        let gates = self.gates(&constants, &wires, public_inputs_hash);
        for (challenge, alpha) in challenges.alphas.iter().enumerate() {
            let alpha = to_plonky(*alpha);
            let combine = |terms: &[E], last: E| terms.iter().rev().fold(last, |sum, x| scale(sum, alpha) + *x);
            let left = combine(&terms, combine(&gates, E::ZERO));
            let chunks = &quotients[challenge * self.chunk..][..self.chunk];
            let right = chunks.iter().rev().fold(E::ZERO, |sum, x| sum * power + *x);
            if left != vanishing * right {
                return Err(SnarkError::Constraints { challenge });
            }
        }
        Ok(())
    }

    /// The constraints of all gates, each times its filter, added up place by place.
    fn gates(&self, constants: &[E], wires: &[E], public_inputs_hash: &HashOut<F>) -> Vec<E> {
        let (selectors, local_constants) = constants.split_at(self.selectors);
        let mut sums: Vec<E> = Vec::new();
        for (gate, Selector { constant, others }) in &self.gates {
            let filter = others
                .iter()
                .fold(E::ONE, |product, other| product * (E::from(to_plonky(*other)) - selectors[*constant]));
            let vars = EvaluationVars { local_constants, local_wires: wires, public_inputs_hash };
            for (i, x) in gate.0.eval_unfiltered(vars).into_iter().enumerate() {
                match sums.get_mut(i) {
                    Some(sum) => *sum += filter * x,
                    None => sums.push(filter * x),
                }
            }
        }
        sums
    }
}
