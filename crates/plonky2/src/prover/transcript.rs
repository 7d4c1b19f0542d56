//! The transcript: plonky2's `Challenger`, whose state the grinding needs to see.

use evergrove_primitives::hash::poseidon::{self, RATE, WIDTH};
use evergrove_primitives::lanes::{Isa, LANES, dispatch_on};
use evergrove_primitives::{Digest, Goldilocks};
use plonky2::field::extension::FieldExtension;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::fri::{FriConfig, FriParams};
use rayon::prelude::*;

use super::{E, F};
use crate::circuit::{from_plonky, to_plonky};

/// Candidates of a task of the grinding.
const TASK: u64 = 32 * LANES as u64;
/// Tasks that start together: no more than these are done in vain.
const TASKS: u64 = 64;

/// A duplex sponge that overwrites.
#[derive(Default)]
pub(crate) struct Transcript {
    state: [Goldilocks; WIDTH],
    /// Observed words that are not yet absorbed, fewer than [`RATE`].
    input: Vec<Goldilocks>,
    /// The number of words of the state that have not been output.
    unread: usize,
}

impl Transcript {
    pub(crate) fn observe(&mut self, x: Goldilocks) {
        self.unread = 0;
        self.input.push(x);
        if self.input.len() == RATE {
            self.duplex();
        }
    }

    pub(crate) fn observe_base(&mut self, elements: &[F]) {
        for x in elements {
            self.observe(from_plonky(*x));
        }
    }

    pub(super) fn observe_extension(&mut self, elements: &[E]) {
        for x in elements {
            self.observe_base(&<E as FieldExtension<2>>::to_basefield_array(x));
        }
    }

    pub(crate) fn observe_cap(&mut self, cap: &[Digest]) {
        for x in cap.iter().flat_map(|d| d.0) {
            self.observe(x);
        }
    }

    /// The configuration of FRI.
    pub(super) fn observe_config(&mut self, config: &FriConfig) {
        self.observe_base(&[
            number(config.rate_bits),
            number(config.cap_height),
            F::from_canonical_u32(config.proof_of_work_bits),
        ]);
        self.observe_base(&config.reduction_strategy.serialize::<F>());
        self.observe_base(&[number(config.num_query_rounds)]);
    }

    /// The parameters of FRI.
    pub(crate) fn observe_params(&mut self, params: &FriParams) {
        self.observe_config(&params.config);
        self.observe_base(&[F::from_bool(params.hiding), number(params.degree_bits)]);
        for bits in &params.reduction_arity_bits {
            self.observe_base(&[number(*bits)]);
        }
    }

    pub(crate) fn challenge(&mut self) -> Goldilocks {
        if !self.input.is_empty() || self.unread == 0 {
            self.duplex();
        }
        self.unread -= 1;
        self.state[self.unread]
    }

    pub(crate) fn challenges(&mut self, n: usize) -> Vec<Goldilocks> {
        (0..n).map(|_| self.challenge()).collect()
    }

    pub(crate) fn extension_challenge(&mut self) -> E {
        let [a, b] = [self.challenge(), self.challenge()];
        <E as FieldExtension<2>>::from_basefield_array([to_plonky(a), to_plonky(b)])
    }

    fn duplex(&mut self) {
        self.state[..self.input.len()].copy_from_slice(&self.input);
        self.input.clear();
        poseidon::permute(&mut self.state);
        self.unread = RATE;
    }

    /// The least number that makes the next challenge begin with `bits` zero bits if it is observed now; `None` if
    /// there is none.
    /// Observes it. 2^`bits` permutations on average.
    pub(super) fn grind(&mut self, isa: Isa, bits: u32) -> Option<F> {
        let mut start = self.state;
        start[..self.input.len()].copy_from_slice(&self.input);
        let position = self.input.len();
        let least = |first: u64| {
            let mut states = [start; TASK as usize];
            for (state, nonce) in states.iter_mut().zip(first..) {
                state[position] = Goldilocks::reduce(nonce);
            }
            dispatch_on(isa, poseidon::lanes::Permute(&mut states));
            let found = states.iter().position(|s| s[RATE - 1].as_u64().leading_zeros() >= bits)?;
            Some(first + found as u64)
        };
        let nonce = (0..Goldilocks::ORDER / (TASK * TASKS))
            .find_map(|round| (0..TASKS).into_par_iter().find_map_first(|task| least((round * TASKS + task) * TASK)))?;
        self.observe(Goldilocks::reduce(nonce));
        let response = self.challenge();
        debug_assert!(response.as_u64().leading_zeros() >= bits);
        Some(F::from_canonical_u64(nonce))
    }

    /// `n` queries among 2^`bits` points.
    pub(crate) fn queries(&mut self, n: usize, bits: usize) -> Vec<usize> {
        let mask = (1 << bits) - 1;
        (0..n).map(|_| to_plonky(self.challenge()).to_canonical_u64() as usize & mask).collect()
    }
}

fn number(x: usize) -> F {
    F::from_canonical_usize(x)
}
