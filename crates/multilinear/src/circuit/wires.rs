//! Wires and their types.

use evergrove_verifier::tables::{Table, addition};

/// A word that a port of a row defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wire {
    pub(super) table: Table,
    pub(super) port: u8,
    pub(super) row: u32,
}

/// Four elements of F: a digest, values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub(super) Wire);

/// An element of K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element(pub(super) Wire);

/// An element of F. If a prover chooses it, constraints ensure this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base(pub(super) Wire);

/// 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bool(pub(super) Wire);

/// A number below 2^N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits<const N: usize>(pub(super) Wire);

/// A hash that began with a constant. Only such a hash may be continued: if the prover chose its beginning, it would
/// bind nothing, since the permutation can be inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain(pub(super) Wire);

/// An index of a query: a number below 2^width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    pub(super) wire: Wire,
    pub(super) width: usize,
}

/// A multiset of words: the wire of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set(pub(super) Wire);

/// Tuples (key, level, word) that some rows offer and others look up: their namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers(pub(super) evergrove_primitives::Goldilocks);

/// A point of BLS12-381 G1, or the identity: see [`addition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point(pub(super) [Wire; addition::WORDS]);

impl Point {
    /// The words of its limbs, starting with those of x.
    pub fn words(self) -> [Word; addition::WORDS] {
        self.0.map(Word)
    }
}

impl Chain {
    /// The digest, as an ordinary word.
    pub fn digest(self) -> Word {
        Word(self.0)
    }
}
impl From<Element> for Word {
    fn from(x: Element) -> Self {
        Self(x.0)
    }
}
impl From<Base> for Element {
    fn from(x: Base) -> Self {
        Self(x.0)
    }
}
impl From<Bool> for Base {
    fn from(x: Bool) -> Self {
        Self(x.0)
    }
}
impl<const N: usize> From<Bits<N>> for Base {
    fn from(x: Bits<N>) -> Self {
        Self(x.0)
    }
}
