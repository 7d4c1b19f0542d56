//! A verifier in a circuit.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::Builder;
use super::wires::{Base, Bool, Chain, Element, Index, Word};
use evergrove_verifier::argument::Machine;
use evergrove_verifier::tables::{WORD, bits};

/// The [`Machine`] whose steps are rows of a circuit.
#[derive(Debug)]
pub struct InCircuit<'a, K> {
    builder: &'a mut Builder<K>,
    state: Chain,
    /// Elements of K in the state that were not drawn.
    left: Vec<Element>,
}

impl<'a, K: Extension> InCircuit<'a, K> {
    /// A machine with a transcript that begins with `tag`.
    pub fn new(builder: &'a mut Builder<K>, tag: Goldilocks) -> Self {
        let state = builder.tag(tag);
        Self { builder, state, left: Vec::new() }
    }
    /// The circuit.
    pub fn builder(&mut self) -> &mut Builder<K> {
        self.builder
    }

    /// Makes the state of the transcript, which absorbed words last, the digest of the public inputs.
    ///
    /// # Panics
    /// If the circuit already has such a digest, or the state is not a hash of words.
    pub(crate) fn publish_claims(&mut self) {
        self.builder.publish_claims(self.state);
    }

    fn enter(&mut self, state: Chain) {
        self.state = state;
        self.left = self.builder.challenges(state);
    }
    fn squeeze(&mut self) {
        let zero = Word::from(Element::from(self.builder.zero()));
        let state = self.builder.hash(self.state, [zero; 2]);
        self.enter(state);
    }
}

impl<K: Extension> Machine for InCircuit<'_, K> {
    type Field = K;
    type Element = Element;
    type Word = Word;
    type Index = Index;
    type Bit = Bool;

    fn constant(&mut self, x: K) -> Element {
        self.builder.element(x)
    }
    fn combine(&mut self, q: [Goldilocks; 3], a: Element, b: Element, c: Element) -> Element {
        self.builder.combine(q, a, b, c)
    }
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[Element]) -> Element {
        let zero = self.builder.zero().into();
        let words: Vec<Word> = coefficients
            .chunks(WORD)
            .map(|part| {
                let mut word = [Goldilocks::ZERO; WORD];
                word[..part.len()].copy_from_slice(part);
                self.builder.word(word)
            })
            .collect();
        let mut weights = values.to_vec();
        weights.resize(WORD * words.len(), zero);
        self.builder.dot(zero, &words, &weights)
    }
    fn weigh(&mut self, words: &[Word], weights: &[Element]) -> Element {
        let zero = self.builder.zero().into();
        self.builder.dot(zero, words, weights)
    }
    fn word(&mut self, word: [Goldilocks; WORD]) -> Word {
        self.builder.word(word)
    }
    fn elements(&mut self, word: Word) -> [Element; WORD] {
        core::array::from_fn(|i| self.builder.limb(word, i).into())
    }
    fn bit(&mut self, bit: Bool) -> Element {
        Base::from(bit).into()
    }
    fn assert_equal(&mut self, a: Element, b: Element) {
        let zero = self.builder.zero().into();
        self.builder.check([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ZERO], a, zero, zero, b);
    }

    fn begin(&mut self, tag: Goldilocks) {
        self.state = self.builder.tag(tag);
        self.left.clear();
    }
    fn digest(&self) -> Word {
        self.state.digest()
    }
    fn observe_elements(&mut self, elements: &[Element]) {
        for block in elements.chunks(self.builder.elements_of_block()) {
            let state = self.builder.hash_elements(self.state, block);
            self.enter(state);
        }
    }
    fn observe(&mut self, words: &[Word]) {
        let zero = Word::from(Element::from(self.builder.zero()));
        for block in words.chunks(2) {
            let state = self.builder.hash(self.state, [block[0], block.get(1).copied().unwrap_or(zero)]);
            self.enter(state);
        }
    }
    fn receive(&mut self, count: usize) -> Vec<Element> {
        let block = self.builder.elements_of_block();
        let half = block / 2;
        let mut elements = Vec::with_capacity(count);
        while elements.len() < count {
            let free = (count - elements.len()).next_multiple_of(half).min(block);
            let (state, part) = self.builder.hash_free_elements(self.state, free);
            self.enter(state);
            elements.extend(part);
        }
        // The elements that fill the last half are zero.
        for padding in elements.split_off(count) {
            let zero = self.builder.zero().into();
            self.assert_equal(padding, zero);
        }
        elements
    }
    fn challenge(&mut self) -> Element {
        if self.left.is_empty() {
            self.squeeze();
        }
        self.left.remove(0)
    }
    fn receive_cap(&mut self, depth: usize, cap: usize) -> usize {
        let (state, tree) = self.builder.hash_cap(self.state, depth, cap);
        self.enter(state);
        tree
    }
    fn grind(&mut self, bits: usize) {
        self.receive(1);
        let last = self.builder.limb(self.state.digest(), WORD - 1);
        self.builder.zeros(last, 0..bits);
    }
    fn indices(&mut self, count: usize, width: usize) -> Vec<Index> {
        let mut indices = Vec::with_capacity(count + bits::INDICES);
        let mut limbs = WORD - 1;
        while indices.len() < count {
            for limb in 0..limbs {
                if indices.len() < count {
                    let element = self.builder.limb(self.state.digest(), limb);
                    indices.extend(self.builder.indices(element, width));
                }
            }
            if indices.len() < count {
                self.squeeze();
                limbs = WORD;
            }
        }
        indices.truncate(count);
        // No element is both an index and a challenge.
        self.left.clear();
        indices
    }
    fn open(&mut self, tree: usize, tag: Goldilocks, index: Index, words: usize) -> Vec<Word> {
        self.builder.open(tree, tag, index, words)
    }
    fn query(&mut self, index: Index, r: &[Element]) -> Element {
        self.builder.query(index, r)
    }
}
