//! A verifier that reads a proof.

use core::fmt;

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::Machine;
use super::paths::Paths;
use super::transcript::{Transcript, Word};
use crate::algebra::combine;
use crate::tables::{WORD, query};

/// Why a proof is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The proof ends too early or too late.
    Length {
        /// Elements of the proof.
        given: usize,
        /// Elements that the verifier reads.
        taken: usize,
    },
    /// An element that fills a word is not 0.
    Padding {
        /// Its number.
        element: usize,
    },
    /// An equation does not hold.
    Equation(usize),
    /// A path does not lead to its cap, or to a node on an earlier path.
    Path(usize),
    /// A proof of work is missing.
    Work(usize),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { given, taken } => write!(f, "the proof has {given} elements: {taken} are needed"),
            Self::Padding { element } => write!(f, "element {element} of the proof fills a word and is not 0"),
            Self::Equation(x) => write!(f, "equation {x} of the verifier does not hold"),
            Self::Path(x) => write!(f, "opening {x} does not lead to the cap of its tree"),
            Self::Work(x) => write!(f, "the proof of work of round {x} is missing"),
        }
    }
}

impl core::error::Error for Refusal {}

/// The [`Machine`] that reads a proof: elements of F in the order in which they are needed.
#[derive(Clone, Debug)]
pub struct Reader<'a, K> {
    proof: &'a [Goldilocks],
    taken: usize,
    transcript: Transcript<K>,
    paths: Paths,
    rounds: usize,
    /// Both sides of each equation.
    equations: Vec<(K, K)>,
    /// The numbers of items that were read whole before the proof ended too early: equations, other refusals, openings.
    ended: Option<[usize; 3]>,
    /// Refusals other than equations and paths.
    refusals: Vec<Refusal>,
}

impl<'a, K: Extension> Reader<'a, K> {
    /// A reader at the beginning of a proof.
    pub fn new(proof: &'a [Goldilocks]) -> Self {
        Self {
            proof,
            taken: 0,
            transcript: Transcript::new(Goldilocks::ZERO),
            paths: Paths::default(),
            rounds: 0,
            equations: Vec::new(),
            ended: None,
            refusals: Vec::new(),
        }
    }
    /// Accepts if everything that was read holds, and nothing is left.
    ///
    /// # Errors
    /// Returns one refusal. The number of siblings in a false proof follows from indices, which a false transcript
    /// changes. So the length is the reason only if everything that was read whole holds.
    pub fn finish(self) -> Result<(), Refusal> {
        let [equations, refusals, openings] = self.ended.unwrap_or_else(|| self.whole());
        if let Some(i) = self.equations[..equations].iter().position(|(a, b)| a != b) {
            return Err(Refusal::Equation(i));
        }
        if let Some(&refusal) = self.refusals[..refusals].first() {
            return Err(refusal);
        }
        if let Some(i) = self.paths.wrong().into_iter().find(|&i| i < openings) {
            return Err(Refusal::Path(i));
        }
        self.length().map_or(Ok(()), Err)
    }
    fn length(&self) -> Option<Refusal> {
        let (given, taken) = (self.proof.len(), self.taken);
        (given != taken).then_some(Refusal::Length { given, taken })
    }
    fn whole(&self) -> [usize; 3] {
        [self.equations.len(), self.refusals.len(), self.paths.openings()]
    }
    /// All refusals. Hashes all paths.
    pub fn refusals(&self) -> impl Iterator<Item = Refusal> {
        let equations = self.equations.iter().enumerate().filter(|(_, (a, b))| a != b);
        let paths = self.paths.wrong().into_iter().map(Refusal::Path);
        let others = self.refusals.iter().copied().chain(paths);
        self.length().into_iter().chain(others).chain(equations.map(|(i, _)| Refusal::Equation(i)))
    }
    /// Elements that were read.
    pub fn taken(&self) -> usize {
        self.taken
    }
    /// Both sides of each equation so far, for comparison with a circuit.
    pub fn equations(&self) -> &[(K, K)] {
        &self.equations
    }

    fn take(&mut self, out: &mut [Goldilocks]) {
        take(self.proof, &mut self.taken, out);
        self.note_end(self.whole());
    }
    /// Records what was whole before something was read, unless the proof had ended before.
    fn note_end(&mut self, whole: [usize; 3]) {
        if self.taken > self.proof.len() {
            self.ended.get_or_insert(whole);
        }
    }
}

/// The next elements of a proof; zeros after its end.
fn take(proof: &[Goldilocks], taken: &mut usize, out: &mut [Goldilocks]) {
    for x in out {
        *x = proof.get(*taken).copied().unwrap_or(Goldilocks::ZERO);
        *taken += 1;
    }
}

impl<K: Extension> Machine for Reader<'_, K> {
    type Field = K;
    type Element = K;
    type Word = Word;
    type Index = u64;
    type Bit = bool;

    fn constant(&mut self, x: K) -> K {
        x
    }
    fn combine(&mut self, q: [Goldilocks; 3], a: K, b: K, c: K) -> K {
        combine(q, a, b, c)
    }
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[K]) -> K {
        coefficients.iter().zip(values).map(|(&k, &v)| v * k).sum()
    }
    fn weigh(&mut self, words: &[Word], weights: &[K]) -> K {
        words.iter().flatten().zip(weights).map(|(&x, &w)| w * x).sum()
    }
    fn word(&mut self, word: Word) -> Word {
        word
    }
    fn elements(&mut self, word: Word) -> [K; WORD] {
        word.map(K::from)
    }
    fn bit(&mut self, bit: bool) -> K {
        if bit { K::ONE } else { K::ZERO }
    }
    fn assert_equal(&mut self, a: K, b: K) {
        self.equations.push((a, b));
    }

    fn begin(&mut self, tag: Goldilocks) {
        self.transcript = Transcript::new(tag);
    }
    fn digest(&self) -> Word {
        self.transcript.state()
    }
    fn observe(&mut self, words: &[Word]) {
        self.transcript.observe(words);
    }
    fn observe_elements(&mut self, elements: &[K]) {
        self.transcript.observe_elements(elements);
    }
    fn receive(&mut self, count: usize) -> Vec<K> {
        let half = Transcript::<K>::HALF;
        let mut elements = Vec::with_capacity(count + half);
        let mut padded = None;
        while elements.len() < count {
            let mut words = [Word::default(); 2];
            for word in words.iter_mut().take((count - elements.len()).div_ceil(half)) {
                self.take(word);
                let parts = word.chunks_exact(K::DEGREE);
                if parts.remainder().iter().any(|x| *x != Goldilocks::ZERO) {
                    padded = padded.or(Some(Refusal::Padding { element: self.taken - 1 }));
                }
                elements.extend(parts.filter_map(K::from_coefficients));
            }
            self.transcript.absorb(words[0], words[1]);
        }
        self.refusals.extend(padded);
        for padding in elements.split_off(count) {
            self.assert_equal(padding, K::ZERO);
        }
        elements
    }
    fn challenge(&mut self) -> K {
        self.transcript.challenge()
    }
    fn receive_cap(&mut self, depth: usize, cap: usize) -> usize {
        let mut digests = vec![Word::default(); 1 << cap];
        for word in &mut digests {
            self.take(word);
        }
        self.transcript.observe(&digests);
        self.paths.add_tree(depth, digests)
    }
    fn grind(&mut self, bits: usize) {
        self.receive(1);
        if !self.transcript.has_work(bits) {
            self.refusals.push(Refusal::Work(self.rounds));
        }
        self.rounds += 1;
    }
    fn indices(&mut self, count: usize, width: usize) -> Vec<u64> {
        self.transcript.indices(count, width)
    }
    fn open(&mut self, tree: usize, tag: Goldilocks, index: u64, words: usize) -> Vec<Word> {
        let mut opened = vec![Word::default(); words];
        for word in &mut opened {
            self.take(word);
        }
        let whole = self.whole();
        let Self { proof, taken, paths, .. } = self;
        paths.open(tree, tag, index, opened.clone(), || {
            let mut word = Word::default();
            take(proof, taken, &mut word);
            word
        });
        self.note_end(whole);
        opened
    }
    fn query(&mut self, index: u64, r: &[K]) -> K {
        query::weight(index, r)
    }
}
