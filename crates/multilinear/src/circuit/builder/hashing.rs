//! Rows of hashes: chains, blocks of a transcript, leaves of a tree with a cap, and sponges.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::permutation::RATE;
use evergrove_verifier::tables::{Table, WORD, sponge};

use super::{Builder, LEVELS, Tree};
use crate::circuit::wires::{Base, Bool, Chain, Element, Index, Wire, Word};
use crate::circuit::{Arithmetic, End, Permutation, Sponge};

/// Half of a permutation's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Wires: a word, or one or two elements of K.
    Use(Wire, Option<Wire>),
    /// The prover's choice, which defines wires.
    Free,
    /// A node of a cap: its index in the cap of a tree.
    Node {
        /// The tree.
        tree: usize,
        /// Which node.
        index: usize,
    },
}

/// A sponge between two steps.
struct Steps {
    capacity: Wire,
    /// Its last row.
    previous: Option<u32>,
}

impl Steps {
    /// The first word of the state.
    fn digest(&self) -> Word {
        Word(Wire { port: (sponge::PORTS / 2) as u8, ..self.capacity })
    }
}

impl<K: Extension> Builder<K> {
    /// The beginning of a hash: (tag, 0, 0, 0).
    pub fn tag(&mut self, tag: Goldilocks) -> Chain {
        Chain(self.constant(tag).0)
    }

    /// f(m; h).
    pub fn hash(&mut self, h: Chain, m: [Word; 2]) -> Chain {
        self.permutation(h, m.map(|word| Half::Use(word.0, None)), false, End::Nothing)
    }
    /// Either of two hashes, to continue hashing: the first if the bit is 1. The prover chooses the word, which is
    /// demanded to be that of the selected hash.
    #[track_caller]
    pub fn either(&mut self, word: Word, bit: Bool, first: Chain, second: Chain) -> Chain {
        let not = Arithmetic::not(self, bit);
        for (bit, chain) in [(bit, first), (not, second)] {
            let set = self.set();
            self.give(set, word, Some(bit));
            self.take(set, chain.digest(), Some(bit));
        }
        Chain(word.0)
    }
    /// Makes the digest of a hash of words the digest of the public inputs.
    ///
    /// # Panics
    /// If the circuit already has one, or the hash is not one of words, or is a leaf's. Also in a circuit about proofs:
    /// there, [`Children::publish`](crate::recursion::Children::publish) does it, so that no claim is dropped.
    pub fn publish(&mut self, hash: Chain) {
        assert!(self.verifies.is_none(), "a circuit about proofs publishes through its children");
        self.publish_claims(hash);
    }
    /// The same in a circuit about proofs, whose public inputs end with the claim to which its children's claims were
    /// reduced.
    pub(crate) fn publish_claims(&mut self, hash: Chain) {
        assert!(!self.public, "a circuit has one digest of public inputs");
        self.public = true;
        let row = self.rows.permutations.get_mut(hash.0.row as usize).filter(|_| hash.0.table == Table::Permutation);
        let Some(Permutation::Hash { field: false, end: end @ End::Nothing, .. }) = row else {
            panic!("the digest of a hash of words")
        };
        *end = End::Public;
    }
    /// f(m; h) for words that the prover chooses.
    pub fn hash_free(&mut self, h: Chain) -> (Chain, [Word; 2]) {
        let chain = self.permutation(h, [Half::Free; 2], false, End::Nothing);
        (chain, [1, 2].map(|port| Word(Wire { port, ..chain.0 })))
    }
    /// f(m; h) for existing elements of K, at most as many as fit ([`Builder::elements_of_block`]), followed by zeros.
    ///
    /// # Panics
    /// If there are more elements.
    pub fn hash_elements(&mut self, h: Chain, elements: &[Element]) -> Chain {
        let (count, half) = (self.elements_of_block(), self.elements_of_block() / 2);
        assert!(elements.len() <= count, "{} elements: a block takes {count}", elements.len());
        let zero = self.zero().0;
        let at = |i: usize| elements.get(i).map_or(zero, |x| x.0);
        let halves = [0, half].map(|first| Half::Use(at(first), (half == 2).then(|| at(first + 1))));
        self.permutation(h, halves, true, End::Nothing)
    }
    /// f(m; h) for elements of K that the prover chooses, in the first half or in both, followed by zeros.
    ///
    /// # Panics
    /// Unless there are as many elements as fit one or two halves.
    pub fn hash_free_elements(&mut self, h: Chain, count: usize) -> (Chain, Vec<Element>) {
        let half = self.elements_of_block() / 2;
        assert!(count == half || count == 2 * half, "{count} elements: a half of a block takes {half}");
        let zero = self.zero().0;
        let second = if count == half { Half::Use(zero, (half == 2).then_some(zero)) } else { Half::Free };
        let chain = self.permutation(h, [Half::Free, second], true, End::Nothing);
        let ports: &[u8] = if half == 2 { &[1, 3, 2, 4] } else { &[1, 2] };
        let elements = ports[..count].iter().map(|&port| Element(Wire { port, ..chain.0 })).collect();
        (chain, elements)
    }
    /// Elements of K in a block of eight elements of F: two in each half for K of degree two, otherwise one.
    pub fn elements_of_block(&self) -> usize {
        if K::DEGREE == 2 { 4 } else { 2 }
    }
    /// The elements of K at the beginning of a digest, as challenges: two for K of degree two, otherwise one.
    pub fn challenges(&self, chain: Chain) -> Vec<Element> {
        assert_eq!(chain.0.table, Table::Permutation, "a challenge comes from a hash");
        let ports: &[u8] = if K::DEGREE == 2 { &[6, 7] } else { &[6] };
        ports.iter().map(|&port| Element(Wire { port, ..chain.0 })).collect()
    }

    /// Absorbs the 2^`cap` digests of a tree's cap, which the prover chooses, into a hash. The tree has 2^`depth`
    /// leaves.
    ///
    /// # Panics
    /// Unless 1 <= `cap` <= `depth` < 20.
    pub fn hash_cap(&mut self, mut h: Chain, depth: usize, cap: usize) -> (Chain, usize) {
        assert!((1..=depth).contains(&cap) && depth < LEVELS.ilog2() as usize, "a cap within the tree");
        let tree = self.new_tree(depth, cap);
        for index in (0..1 << cap).step_by(2) {
            let halves = [index, index + 1].map(|index| Half::Node { tree, index });
            h = self.permutation(h, halves, false, End::Nothing);
        }
        (h, tree)
    }
    /// The words of the leaf at an index of a tree, hashed from `tag`.
    ///
    /// # Panics
    /// Unless there is an even number of words, at least two, and the index has the tree's depth.
    pub fn open(&mut self, tree: usize, tag: Goldilocks, index: Index, words: usize) -> Vec<Word> {
        assert!(words >= 2 && words.is_multiple_of(2), "{words} words of a leaf: whole blocks are needed");
        let Tree { depth, cap, .. } = self.trees[tree];
        assert_eq!(index.width, depth, "an index of the tree");
        let mut h = self.tag(tag);
        let mut leaf = Vec::with_capacity(words);
        for block in 1..=words / 2 {
            let end = if block == words / 2 { End::Leaf { index: index.wire, tree } } else { End::Part };
            h = self.permutation(h, [Half::Free; 2], false, end);
            leaf.extend([1, 2].map(|port| Word(Wire { port, ..h.0 })));
        }
        self.rows.permutations.extend((cap..depth).map(|_| Permutation::Node));
        leaf
    }

    /// Hashes elements that the prover chooses by Plonky2's sponge, with a tag. Returns the digest, and the words that
    /// hold the elements, four in each. Limbs of the last word after the last element belong to the sponge. The free
    /// data are the elements; up to eight elements are followed by zeros.
    ///
    /// # Panics
    /// If there are no elements.
    #[track_caller]
    pub fn sponge(&mut self, tag: Goldilocks, elements: usize) -> (Word, Vec<Word>) {
        assert!(elements > 0, "an element to absorb");
        if elements <= RATE {
            // A single step is a hash.
            let tag = self.tag(tag);
            let (digest, words) = self.hash_free(tag);
            for (half, word) in words.into_iter().enumerate() {
                let first = elements.saturating_sub(half * WORD).min(WORD);
                if first < WORD {
                    self.no_limbs(word, first..WORD);
                }
            }
            return (digest.digest(), words[..elements.div_ceil(WORD)].to_vec());
        }
        let mut steps = Steps { capacity: self.tag(tag).0, previous: None };
        let mut words = Vec::with_capacity(elements.div_ceil(WORD));
        let mut left = elements;
        while left > 0 {
            let absorbed = left.min(RATE);
            left -= absorbed;
            // Elements that are not overwritten stay: zeros in the first step.
            for (half, (word, before)) in self.sponge_step(&mut steps, absorbed).into_iter().enumerate() {
                let first = absorbed.saturating_sub(half * WORD).min(WORD);
                match before {
                    _ if first == WORD => {}
                    None => self.no_limbs(word, first..WORD),
                    Some(before) => self.same_limbs(word, before, first..WORD),
                }
                if first > 0 {
                    words.push(word);
                }
            }
        }
        (steps.digest(), words)
    }
    /// As [`Self::sponge`], for rows where the circuit depends neither on the number of elements nor on the tag. There
    /// are `steps` blocks of eight elements. Each bit of `used` stands for an element of the last block that may be
    /// left out: these are its last elements. The free data are all elements; those left out are 0 in the first block,
    /// and those of the state before in others.
    ///
    /// The bits must not be the prover's choice: nothing demands that they are bits.
    ///
    /// # Panics
    /// If there are no steps, or one bit for each element of a block.
    #[track_caller]
    pub fn sponge_of_some(&mut self, tag: Base, steps: usize, used: &[Base]) -> (Word, Vec<Word>) {
        assert!(steps > 0 && used.len() < RATE, "a last block with {} bits", used.len());
        let (digest, words, before) = if steps == 1 {
            let (digest, words) = self.hash_free(Chain(tag.0));
            (digest.digest(), words.to_vec(), [None; 2])
        } else {
            let mut state = Steps { capacity: tag.0, previous: None };
            let mut words = Vec::with_capacity(2 * steps);
            let mut before = [None; 2];
            for _ in 0..steps {
                let halves = self.sponge_step(&mut state, RATE);
                words.extend(halves.map(|(word, _)| word));
                before = halves.map(|(_, before)| before);
            }
            (state.digest(), words, before)
        };
        for (&used, i) in used.iter().zip(RATE - used.len()..) {
            let mut left_out = self.limb(words[2 * (steps - 1) + i / WORD], i % WORD);
            if let Some(before) = before[i / WORD] {
                let before = self.limb(before, i % WORD);
                left_out = Arithmetic::sub(self, left_out, before);
            }
            // (1 - used) left_out = 0.
            let zero = self.zero().into();
            self.check([-Goldilocks::ONE, Goldilocks::ONE, Goldilocks::ZERO], left_out.into(), used.into(), zero, zero);
        }
        (digest, words)
    }
    /// Absorbs elements into a sponge: returns the two words of the step, and the words that they replaced.
    fn sponge_step(&mut self, steps: &mut Steps, absorbed: usize) -> [(Word, Option<Word>); 2] {
        let Steps { capacity, previous } = *steps;
        self.rows.sponges.push(Sponge { capacity, previous, absorbed });
        let wire = self.done(Table::Sponge, 0);
        *steps = Steps { capacity: Wire { port: (sponge::PORTS - 1) as u8, ..wire }, previous: Some(wire.row) };
        [0, 1].map(|half| {
            let word = Word(Wire { port: half as u8, ..wire });
            let port = (sponge::PORTS / 2 + half) as u8;
            (word, previous.map(|row| Word(Wire { port, row, ..wire })))
        })
    }

    fn permutation(&mut self, h: Chain, halves: [Half; 2], field: bool, end: End) -> Chain {
        self.rows.permutations.push(Permutation::Hash { h: h.0, halves, field, end });
        Chain(self.done(Table::Permutation, 5))
    }
}

const _: () = assert!(RATE == 2 * WORD);
