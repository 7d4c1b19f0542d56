//! The interface under a verifier: a program that reads a proof, or a circuit that will read one.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use crate::algebra::Algebra;
use crate::tables::WORD;

/// The steps of a verifier.
///
/// The verifier is written once, against this trait. A machine never fails in between: it remembers refusals.
///
/// **Transcript.** A state of one digest, initialised with a constant. Eight elements of F are absorbed at a time, h :=
/// f(m; h); a message fills its last block with zeros. A challenge is the next element of K in h; when h has no unused
/// element, and before the first block, h := f(0; h). Elements of h that indices leave over are not drawn.
pub trait Machine {
    /// K.
    type Field: Extension;
    /// An element of K.
    type Element: Copy;
    /// Four elements of F.
    type Word: Copy;
    /// An index of a query.
    type Index: Copy;
    /// 0 or 1.
    type Bit: Copy;

    /// A constant of K.
    fn constant(&mut self, x: Self::Field) -> Self::Element;
    /// q0 a b + q1 a + q2 c.
    fn combine(&mut self, q: [Goldilocks; 3], a: Self::Element, b: Self::Element, c: Self::Element) -> Self::Element;
    /// The sum of coefficient times value.
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[Self::Element]) -> Self::Element;
    /// The sum of the words' elements times their weights, four for each word.
    fn weigh(&mut self, words: &[Self::Word], weights: &[Self::Element]) -> Self::Element;
    /// A constant word.
    fn word(&mut self, word: [Goldilocks; WORD]) -> Self::Word;
    /// The elements of a word.
    fn elements(&mut self, word: Self::Word) -> [Self::Element; WORD];
    /// A bit as an element.
    fn bit(&mut self, bit: Self::Bit) -> Self::Element;
    /// Demands a = b.
    fn assert_equal(&mut self, a: Self::Element, b: Self::Element);

    /// Starts a new transcript whose state is `tag`.
    fn begin(&mut self, tag: Goldilocks);
    /// The state of the transcript.
    fn digest(&self) -> Self::Word;
    /// Absorbs words that both sides know into the transcript.
    fn observe(&mut self, words: &[Self::Word]);
    /// Absorbs elements that both sides know into the transcript.
    fn observe_elements(&mut self, elements: &[Self::Element]);
    /// The next message of the proof, which the transcript absorbs.
    fn receive(&mut self, count: usize) -> Vec<Self::Element>;
    /// A challenge.
    fn challenge(&mut self) -> Self::Element;
    /// Reads the cap of 2^`cap` digests of a tree of 2^`depth` leaves from the proof, and absorbs it into the
    /// transcript. Returns the number of the tree.
    fn receive_cap(&mut self, depth: usize, cap: usize) -> usize;
    /// A proof of work: the transcript absorbs an element of the proof, and the lowest `bits` bits of the last element
    /// of h must then be 0.
    fn grind(&mut self, bits: usize);
    /// Indices of `width` bits each, from all elements of h except the last, and then from those of f(0; h), f(0; f(0;
    /// h)), ...: three from each element, from its bits starting at 0, 21 and 42.
    fn indices(&mut self, count: usize, width: usize) -> Vec<Self::Index>;
    /// The words of the leaf of a tree at an index, hashed from `tag`. Checks its path up to the cap or to a node on an
    /// earlier path.
    fn open(&mut self, tree: usize, tag: Goldilocks, index: Self::Index, words: usize) -> Vec<Self::Word>;
    /// The weight of a query: see [`query`](crate::tables::query).
    fn query(&mut self, index: Self::Index, r: &[Self::Element]) -> Self::Element;
}

/// A point on a machine: see [`Point`](crate::algebra::Point).
pub(super) struct At<'a, M: Machine> {
    pub machine: &'a mut M,
    pub activity: M::Element,
}

impl<M: Machine> Algebra for At<'_, M> {
    type V = M::Element;

    fn zero(&mut self) -> M::Element {
        self.machine.constant(<M::Field as evergrove_primitives::field::Field>::ZERO)
    }
    fn one(&mut self) -> M::Element {
        self.activity
    }
    fn combine(&mut self, q: [Goldilocks; 3], a: M::Element, b: M::Element, c: M::Element) -> M::Element {
        self.machine.combine(q, a, b, c)
    }
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[M::Element]) -> M::Element {
        self.machine.dot(coefficients, values)
    }
}
