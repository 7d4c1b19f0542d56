//! The prover's side of what [`Reader`](super::Reader) reads.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::poseidon::WIDTH;
use evergrove_primitives::hash::poseidon::lanes::permute_many;
use rayon::prelude::*;

use super::transcript::{Transcript, Word, half};
use crate::tables::WORD;
use crate::tables::permutation::RATE;

/// A proof in the making, and its transcript.
#[derive(Clone, Debug)]
pub struct Writer<K> {
    proof: Vec<Goldilocks>,
    transcript: Transcript<K>,
}

impl<K: Extension> Writer<K> {
    /// An empty proof, whose transcript begins with `tag`.
    pub fn new(tag: Goldilocks) -> Self {
        Self { proof: Vec::new(), transcript: Transcript::new(tag) }
    }
    /// The proof.
    pub fn finish(self) -> Vec<Goldilocks> {
        self.proof
    }
    /// Takes words that both sides know into the transcript.
    pub fn observe(&mut self, words: &[[Goldilocks; WORD]]) {
        self.transcript.observe(words);
    }
    /// Takes elements that both sides know into the transcript.
    pub fn observe_elements(&mut self, elements: &[K]) {
        self.transcript.observe_elements(elements);
    }
    /// A message.
    pub fn send(&mut self, elements: &[K]) {
        for block in elements.chunks(2 * Transcript::<K>::HALF) {
            let mut words = [Word::default(); 2];
            for (word, part) in words.iter_mut().zip(block.chunks(Transcript::<K>::HALF)) {
                *word = half(part);
                self.proof.extend(*word);
            }
            self.transcript.absorb(words[0], words[1]);
        }
    }
    /// A message of words: the cap of a tree.
    pub fn send_words(&mut self, words: &[[Goldilocks; WORD]]) {
        self.proof.extend(words.iter().flatten());
        self.transcript.observe(words);
    }
    /// Data that is not taken in: leaves and siblings, which hang on a cap.
    pub fn data(&mut self, elements: &[Goldilocks]) {
        self.proof.extend_from_slice(elements);
    }
    /// A challenge.
    pub fn challenge(&mut self) -> K {
        self.transcript.challenge()
    }
    /// Indices of queries.
    pub fn indices(&mut self, count: usize, width: usize) -> Vec<u64> {
        self.transcript.indices(count, width)
    }
    /// A proof of work: the least number whose digest has `bits` zero bits, found on all threads.
    pub fn work(&mut self, bits: usize) {
        const BATCH: u64 = 256;
        let h = self.transcript.state();
        let batch = |first: u64| -> Option<u64> {
            let mut states = [[Goldilocks::ZERO; WIDTH]; BATCH as usize];
            for (state, nonce) in states.iter_mut().zip(first..) {
                state[0] = Goldilocks::new(nonce);
                state[RATE..].copy_from_slice(&h);
            }
            permute_many(&mut states);
            let found = |state: &[Goldilocks; WIDTH]| state[WORD - 1].as_u64().trailing_zeros() >= bits as u32;
            states.iter().zip(first..).find(|(state, _)| found(state)).map(|(_, nonce)| nonce)
        };
        // A few batches for each thread at a time: the first number found is the least.
        let width = 4 * rayon::current_num_threads() as u64;
        let nonce = (0..)
            .find_map(|round: u64| (0..width).into_par_iter().find_map_first(|i| batch((round * width + i) * BATCH)))
            .expect("one of many numbers");
        self.send(&[K::from_u64(nonce)]);
    }
}
