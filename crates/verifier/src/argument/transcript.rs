//! The transcript of programs: see [`Machine`](super::Machine).

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::poseidon::WIDTH;

use crate::poseidon;
use crate::tables::permutation::RATE;
use crate::tables::{WORD, bits};

/// Four elements of F.
pub type Word = [Goldilocks; WORD];

/// A state, and its undrawn challenges.
#[derive(Clone, Debug)]
pub struct Transcript<K> {
    state: Word,
    left: Vec<K>,
}

impl<K: Extension> Transcript<K> {
    /// Elements of K in half a block.
    pub const HALF: usize = WORD / K::DEGREE;

    /// A transcript whose state is `tag`.
    pub fn new(tag: Goldilocks) -> Self {
        Self { state: word(tag), left: Vec::new() }
    }
    /// The digest of everything absorbed.
    pub fn state(&self) -> Word {
        self.state
    }
    /// Absorbs a block.
    pub fn absorb(&mut self, left: Word, right: Word) {
        self.state = hash([left, right], self.state);
        self.left = self.state.chunks_exact(K::DEGREE).filter_map(K::from_coefficients).collect();
    }
    /// Absorbs words.
    pub fn observe(&mut self, words: &[Word]) {
        blocks(words).for_each(|[left, right]| self.absorb(left, right));
    }
    /// Absorbs elements.
    pub fn observe_elements(&mut self, elements: &[K]) {
        element_blocks(elements).for_each(|[left, right]| self.absorb(left, right));
    }
    /// The next challenge.
    pub fn challenge(&mut self) -> K {
        if self.left.is_empty() {
            self.absorb(Word::default(), Word::default());
        }
        self.left.remove(0)
    }
    /// Whether a proof of work of this many bits was just absorbed.
    pub fn has_work(&self, bits: usize) -> bool {
        self.state[WORD - 1].as_u64().trailing_zeros() >= bits as u32
    }
    /// Indices of `width` bits each.
    pub fn indices(&mut self, count: usize, width: usize) -> Vec<u64> {
        let mut indices = Vec::with_capacity(count + WORD * bits::INDICES);
        let mut limbs = WORD - 1;
        while indices.len() < count {
            for limb in &self.state[..limbs] {
                let chunk = |i: usize| limb.as_u64() >> (i * bits::CHUNK) & ((1 << width) - 1);
                indices.extend((0..bits::INDICES).map(chunk));
            }
            if indices.len() < count {
                self.absorb(Word::default(), Word::default());
                limbs = WORD;
            }
        }
        indices.truncate(count);
        // No element is both an index and a challenge.
        self.left.clear();
        indices
    }
}

/// Blocks of two words, the last one filled up with zeros.
pub fn blocks(words: &[Word]) -> impl Iterator<Item = [Word; 2]> {
    words.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or_default()])
}

/// Blocks of elements, half of them in each word, filled up with zeros.
pub fn element_blocks<K: Extension>(elements: &[K]) -> impl Iterator<Item = [Word; 2]> {
    elements.chunks(2 * Transcript::<K>::HALF).map(|part| {
        let (left, right) = part.split_at(part.len().min(Transcript::<K>::HALF));
        [half(left), half(right)]
    })
}

/// f(m; h).
pub fn hash(m: [Word; 2], h: Word) -> Word {
    let mut state = [Goldilocks::ZERO; WIDTH];
    state[..WORD].copy_from_slice(&m[0]);
    state[WORD..RATE].copy_from_slice(&m[1]);
    state[RATE..].copy_from_slice(&h);
    poseidon::digest(state)
}

/// A leaf's digest: blocks of two words, hashed from `tag`; the last one is filled up with zeros.
pub fn leaf(tag: Goldilocks, words: &[Word]) -> Word {
    blocks(words).fold(word(tag), |h, m| hash(m, h))
}

/// An element of F as a word.
pub fn word(x: Goldilocks) -> Word {
    [x, Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO]
}

/// Elements of K, as many as fit, as a word.
pub fn half<K: Extension>(elements: &[K]) -> Word {
    let mut word = Word::default();
    for (to, x) in word.chunks_mut(K::DEGREE).zip(elements) {
        to.copy_from_slice(x.as_ref());
    }
    word
}
