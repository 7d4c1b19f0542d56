//! The prover's side of the data that [`Reader`](evergrove_verifier::argument::Reader) reads.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::poseidon::WIDTH;
use evergrove_primitives::hash::poseidon::lanes::permute_many;
use rayon::prelude::*;

use evergrove_verifier::argument::transcript::{Transcript, Word, blocks, element_blocks};
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tables::permutation::RATE;

/// A single deviation of a prover. For tests of verifiers: everything else is honest, given what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Adds to an element of the proof when it is sent. A proof of work is then sought for the unchanged element.
    Sends {
        /// The element's number.
        element: usize,
        /// The addend.
        by: Goldilocks,
    },
    /// Does not absorb a block, absorbs another one, or absorbs it after the next one.
    Absorbs {
        /// The block's number: eight elements that are observed or sent.
        block: usize,
        /// The treatment of the block.
        how: Absorbed,
    },
}

/// The treatment of a block that a transcript should absorb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absorbed {
    /// It is left out.
    Never,
    /// The next block comes first.
    Later,
    /// Its first element is larger by one.
    Changed,
}

/// An unfinished proof, and its transcript.
#[derive(Clone, Debug)]
pub struct Writer<K> {
    proof: Vec<Goldilocks>,
    transcript: Transcript<K>,
    deviation: Option<Deviation>,
    /// Absorbed blocks.
    blocks: usize,
    /// The block that comes after the next one.
    late: Option<[Word; 2]>,
}

impl<K: Extension> Writer<K> {
    /// An empty proof, whose transcript begins with `tag`.
    pub fn new(tag: Goldilocks) -> Self {
        Self { proof: Vec::new(), transcript: Transcript::new(tag), deviation: None, blocks: 0, late: None }
    }
    /// An empty proof of a prover that deviates.
    pub fn deviating(tag: Goldilocks, deviation: Deviation) -> Self {
        Self { deviation: Some(deviation), ..Self::new(tag) }
    }
    /// The proof.
    pub fn finish(self) -> Vec<Goldilocks> {
        self.proof
    }
    /// Absorbs words that both sides know into the transcript.
    pub fn observe(&mut self, words: &[[Goldilocks; WORD]]) {
        blocks(words).for_each(|block| self.absorb(block));
    }
    /// Absorbs elements that both sides know into the transcript.
    pub fn observe_elements(&mut self, elements: &[K]) {
        element_blocks(elements).for_each(|block| self.absorb(block));
    }
    /// A message.
    pub fn send(&mut self, elements: &[K]) {
        for (block, elements) in element_blocks(elements).zip(elements.chunks(2 * Transcript::<K>::HALF)) {
            let words = elements.len().div_ceil(Transcript::<K>::HALF);
            self.send_block(block, words);
        }
    }
    /// A message of words: the cap of a tree.
    pub fn send_words(&mut self, words: &[[Goldilocks; WORD]]) {
        for (block, words) in blocks(words).zip(words.chunks(2)) {
            self.send_block(block, words.len());
        }
    }
    /// Data that is not absorbed: leaves and siblings, which hang on a cap.
    pub fn data(&mut self, elements: &[Goldilocks]) {
        let first = self.proof.len();
        self.proof.extend_from_slice(elements);
        self.deviate_from(first);
    }
    /// Sends the first words of a block, and absorbs it.
    fn send_block(&mut self, block: [Word; 2], words: usize) {
        let first = self.proof.len();
        self.proof.extend(block[..words].as_flattened());
        self.deviate_from(first);
        let mut sent = [Word::default(); 2];
        sent.as_flattened_mut()[..words * WORD].copy_from_slice(&self.proof[first..]);
        self.absorb(sent);
    }
    /// Changes the deviating element, if its number is at least `first`.
    fn deviate_from(&mut self, first: usize) {
        if let Some(Deviation::Sends { element, by }) = self.deviation
            && element >= first
            && let Some(sent) = self.proof.get_mut(element)
        {
            *sent += by;
        }
    }
    fn absorb(&mut self, mut block: [Word; 2]) {
        let number = self.blocks;
        self.blocks += 1;
        if let Some(Deviation::Absorbs { block: wanted, how }) = self.deviation
            && wanted == number
        {
            match how {
                Absorbed::Never => return,
                Absorbed::Later => {
                    self.late = Some(block);
                    return;
                }
                Absorbed::Changed => block[0][0] += Goldilocks::ONE,
            }
        }
        for [left, right] in [Some(block), self.late.take()].into_iter().flatten() {
            self.transcript.absorb(left, right);
        }
    }
    /// A challenge.
    pub fn challenge(&mut self) -> K {
        self.transcript.challenge()
    }
    /// Indices of queries.
    pub fn indices(&mut self, count: usize, width: usize) -> Vec<u64> {
        self.transcript.indices(count, width)
    }
    /// A proof of work: the least number whose digest has `bits` zero bits, found on all threads. Returns how many
    /// numbers had to be tried.
    pub fn work(&mut self, bits: usize) -> u64 {
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
        nonce + 1
    }
}
