//! The hash of proofs: the compression of two words into a digest, on Poseidon.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::Digest;
use evergrove_primitives::hash::poseidon::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH, permute, two_to_one};

/// S-boxes of a permutation.
pub const SBOXES: usize = 2 * HALF_FULL_ROUNDS * WIDTH + PARTIAL_ROUNDS;
/// Words of the result that a digest has.
pub const OUTPUTS: usize = 4;

/// f(m; h): the first words of the permutation of a state.
pub fn digest(mut state: [Goldilocks; WIDTH]) -> [Goldilocks; OUTPUTS] {
    permute(&mut state);
    core::array::from_fn(|i| state[i])
}

/// The state of f(m; h) before the permutation.
pub fn join(m: [[Goldilocks; OUTPUTS]; 2], h: [Goldilocks; OUTPUTS]) -> [Goldilocks; WIDTH] {
    let mut state = [Goldilocks::ZERO; WIDTH];
    for (to, word) in state.chunks_exact_mut(OUTPUTS).zip([m[0], m[1], h]) {
        to.copy_from_slice(&word);
    }
    state
}

/// Hashes many chains side by side. `next` is given a chain's number, its steps so far and their digest, which is
/// `starts` at first. It returns the state to hash in the next step, or that the chain has ended. `permute` permutes
/// the states of a step.
pub fn chains(
    starts: Vec<[Goldilocks; OUTPUTS]>,
    mut next: impl FnMut(usize, usize, &[Goldilocks; OUTPUTS]) -> Option<[Goldilocks; WIDTH]>,
    permute: impl Fn(&mut [[Goldilocks; WIDTH]]),
) {
    let mut heads: Vec<(usize, [Goldilocks; OUTPUTS])> = starts.into_iter().enumerate().collect();
    for step in 0.. {
        let mut states = Vec::with_capacity(heads.len());
        heads.retain(|(chain, head)| {
            let state = next(*chain, step, head);
            states.extend(state);
            state.is_some()
        });
        if states.is_empty() {
            return;
        }
        permute(&mut states);
        for ((_, head), state) in heads.iter_mut().zip(&states) {
            *head = core::array::from_fn(|i| state[i]);
        }
    }
}

/// The digest of an inner node of a Merkle tree.
pub fn node([left, right]: [[Goldilocks; OUTPUTS]; 2]) -> [Goldilocks; OUTPUTS] {
    two_to_one(&Digest(left), &Digest(right)).0
}
