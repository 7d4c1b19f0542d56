//! The interface for circuits of applications.
//!
//! A call through a trait object does not know the line of its caller. Methods that demand something therefore take the
//! [`Line`], and methods of `dyn Arithmetic` pass the line of their caller.

use std::panic::Location;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::wires::{Base, Bool, Point, Word};
use super::{Builder, Hint};
use evergrove_verifier::tables::addition::Chord;
use evergrove_verifier::tables::{bits, point};

/// A line of a circuit's code.
pub type Line = &'static Location<'static>;

/// Arithmetic in F: the part of [`Builder`] that does not depend on K, so applications can be trait objects.
pub trait Arithmetic {
    /// A constant.
    fn constant(&mut self, x: Goldilocks) -> Base;
    /// A constant word.
    fn word(&mut self, word: [Goldilocks; 4]) -> Word;
    /// q0 a b + q1 a + q2 c.
    fn combine(&mut self, q: [Goldilocks; 3], a: Base, b: Base, c: Base) -> Base;
    /// Demands q0 a b + q1 a + q2 c = d.
    fn check_at(&mut self, line: Line, q: [Goldilocks; 3], a: Base, b: Base, c: Base, d: Base);
    /// The element as a bit: demands that it is 0 or 1.
    fn boolean_at(&mut self, line: Line, x: Base) -> Bool;
    /// A bit of the prover's choice: see [`Builder::bit_of`].
    fn bit_of_at(&mut self, line: Line, of: &[Base], hint: Hint) -> Bool;
    /// An element of the prover's choice: see [`Builder::any_of`].
    fn any_of(&mut self, of: &[Base], hint: Hint) -> Base;
    /// An element of the prover's free data.
    fn any(&mut self) -> Base;
    /// Element `i` of a word.
    fn limb(&mut self, word: Word, i: usize) -> Base;
    /// Demands an element below 2^63, and returns its limbs of 21 bits: see [`Builder::limbs`].
    fn limbs_at(&mut self, line: Line, x: Base) -> [Base; bits::INDICES];
    /// Demands an element below 2^`bits`.
    ///
    /// # Panics
    /// Unless the tables have rows for it, and `bits` is at most 63.
    fn below_at(&mut self, line: Line, x: Base, bits: usize);
    /// Hashes elements of the prover's free data: see [`Builder::sponge`].
    fn sponge_at(&mut self, line: Line, tag: Goldilocks, elements: usize) -> (Word, Vec<Word>);
    /// Hashes a row whose number of elements the circuit does not fix: see [`Builder::sponge_of_some`].
    fn sponge_of_some_at(&mut self, line: Line, tag: Base, steps: usize, used: &[Base]) -> (Word, Vec<Word>);
    /// Demands, if the bit is 1, that limbs of words equal others: see [`Builder::equal_limbs`].
    fn equal_limbs_at(&mut self, line: Line, bit: Bool, left: &[(Word, usize)], right: &[(Word, usize)]);

    /// The point of numbers in words: see [`Builder::point`].
    fn point(&mut self, numbers: [Word; 4], active: Bool) -> Point;
    /// The point of numbers: see [`Builder::point_of`].
    fn point_of(&mut self, numbers: [Base; point::NUMBERS], active: Bool) -> Point;
    /// The sum of two points: see [`Builder::add_points`].
    fn add_points(&mut self, p: Point, q: Point, chord: Chord) -> Point;
    /// The sum of limbs of words times elements, four for each word: see [`Builder::dot_base`].
    fn dot_base(&mut self, words: &[Word], weights: &[Base]) -> Base;
    /// The sum of limbs of a word times constants.
    fn weighed(&mut self, word: Word, weights: [Goldilocks; 4]) -> Base;

    /// 0.
    fn zero(&mut self) -> Base {
        self.constant(Goldilocks::ZERO)
    }
    /// 1.
    fn one(&mut self) -> Base {
        self.constant(Goldilocks::ONE)
    }
    /// a + b.
    fn add(&mut self, a: Base, b: Base) -> Base {
        self.combine([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ONE], a, b, b)
    }
    /// a - b.
    fn sub(&mut self, a: Base, b: Base) -> Base {
        self.combine([Goldilocks::ZERO, Goldilocks::ONE, -Goldilocks::ONE], a, b, b)
    }
    /// a b.
    fn mul(&mut self, a: Base, b: Base) -> Base {
        self.combine([Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ZERO], a, b, b)
    }
    /// a b + c.
    fn mul_add(&mut self, a: Base, b: Base, c: Base) -> Base {
        self.combine([Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ONE], a, b, c)
    }
    /// k a + c.
    fn scale_add(&mut self, k: Goldilocks, a: Base, c: Base) -> Base {
        self.combine([Goldilocks::ZERO, k, Goldilocks::ONE], a, a, c)
    }
    /// a if the bit is 1, otherwise b.
    fn select(&mut self, bit: Bool, a: Base, b: Base) -> Base {
        let difference = self.sub(a, b);
        self.mul_add(difference, bit.into(), b)
    }
    /// Whether both of two bits are 1.
    fn and(&mut self, a: Bool, b: Bool) -> Bool {
        let product = self.mul(a.into(), b.into());
        product.bit()
    }
    /// Whether one of two bits is 1.
    fn or(&mut self, a: Bool, b: Bool) -> Bool {
        let (a, b): (Base, Base) = (a.into(), b.into());
        self.combine([-Goldilocks::ONE, Goldilocks::ONE, Goldilocks::ONE], a, b, b).bit()
    }
    /// 1 minus the bit.
    fn not(&mut self, a: Bool) -> Bool {
        let one = self.one();
        self.sub(one, a.into()).bit()
    }
}

impl dyn Arithmetic + '_ {
    /// Demands q0 a b + q1 a + q2 c = d.
    #[track_caller]
    pub fn check(&mut self, q: [Goldilocks; 3], a: Base, b: Base, c: Base, d: Base) {
        self.check_at(Location::caller(), q, a, b, c, d);
    }
    /// Demands a = b.
    #[track_caller]
    pub fn equal(&mut self, a: Base, b: Base) {
        self.check([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ZERO], a, a, a, b);
    }
    /// The element as a bit: demands that it is 0 or 1.
    #[track_caller]
    pub fn boolean(&mut self, x: Base) -> Bool {
        self.boolean_at(Location::caller(), x)
    }
    /// A bit of the prover's choice: see [`Builder::bit_of`].
    #[track_caller]
    pub fn bit_of(&mut self, of: &[Base], hint: Hint) -> Bool {
        self.bit_of_at(Location::caller(), of, hint)
    }
    /// Demands an element below 2^63, and returns its limbs of 21 bits: see [`Builder::limbs`].
    #[track_caller]
    pub fn limbs(&mut self, x: Base) -> [Base; bits::INDICES] {
        self.limbs_at(Location::caller(), x)
    }
    /// Demands an element below 2^`bits`.
    ///
    /// # Panics
    /// Unless the tables have rows for it, and `bits` is at most 63.
    #[track_caller]
    pub fn below(&mut self, x: Base, bits: usize) {
        self.below_at(Location::caller(), x, bits);
    }
    /// Hashes elements of the prover's free data: see [`Builder::sponge`].
    ///
    /// # Panics
    /// If there are no elements.
    #[track_caller]
    pub fn sponge(&mut self, tag: Goldilocks, elements: usize) -> (Word, Vec<Word>) {
        self.sponge_at(Location::caller(), tag, elements)
    }
    /// Hashes a row whose number of elements the circuit does not fix: see [`Builder::sponge_of_some`].
    ///
    /// # Panics
    /// If there are no steps, or one bit for each element of a block.
    #[track_caller]
    pub fn sponge_of_some(&mut self, tag: Base, steps: usize, used: &[Base]) -> (Word, Vec<Word>) {
        self.sponge_of_some_at(Location::caller(), tag, steps, used)
    }
    /// Demands, if the bit is 1, that limbs of words equal others: see [`Builder::equal_limbs`].
    ///
    /// # Panics
    /// Unless both have equally many limbs.
    #[track_caller]
    pub fn equal_limbs(&mut self, bit: Bool, left: &[(Word, usize)], right: &[(Word, usize)]) {
        self.equal_limbs_at(Location::caller(), bit, left, right);
    }
}

impl Base {
    /// The element as a bit, for an element that is 0 or 1 because the operands of its row are bits.
    fn bit(self) -> Bool {
        Bool(self.0)
    }
}

impl<K: Extension> Arithmetic for Builder<K> {
    fn constant(&mut self, x: Goldilocks) -> Base {
        Self::constant(self, x)
    }
    fn word(&mut self, word: [Goldilocks; 4]) -> Word {
        Self::word(self, word)
    }
    fn combine(&mut self, q: [Goldilocks; 3], a: Base, b: Base, c: Base) -> Base {
        self.combine_base(q, a, b, c)
    }
    fn check_at(&mut self, line: Line, q: [Goldilocks; 3], a: Base, b: Base, c: Base, d: Base) {
        self.at(line, |own| own.check(q, a.into(), b.into(), c.into(), d.into()));
    }
    fn boolean_at(&mut self, line: Line, x: Base) -> Bool {
        self.at(line, |own| own.boolean(x))
    }
    fn bit_of_at(&mut self, line: Line, of: &[Base], hint: Hint) -> Bool {
        self.at(line, |own| own.bit_of(of, hint))
    }
    fn any_of(&mut self, of: &[Base], hint: Hint) -> Base {
        Self::any_of(self, of, hint)
    }
    fn any(&mut self) -> Base {
        Self::any(self)
    }
    fn limb(&mut self, word: Word, i: usize) -> Base {
        Self::limb(self, word, i)
    }
    fn limbs_at(&mut self, line: Line, x: Base) -> [Base; bits::INDICES] {
        self.at(line, |own| own.limbs(x))
    }
    fn below_at(&mut self, line: Line, x: Base, end: usize) {
        assert!(end < bits::COLUMNS, "a split into 64 bits is not unique");
        self.at(line, |own| own.zeros(x, end..bits::COLUMNS));
    }
    fn sponge_at(&mut self, line: Line, tag: Goldilocks, elements: usize) -> (Word, Vec<Word>) {
        self.at(line, |own| own.sponge(tag, elements))
    }
    fn sponge_of_some_at(&mut self, line: Line, tag: Base, steps: usize, used: &[Base]) -> (Word, Vec<Word>) {
        self.at(line, |own| own.sponge_of_some(tag, steps, used))
    }
    fn equal_limbs_at(&mut self, line: Line, bit: Bool, left: &[(Word, usize)], right: &[(Word, usize)]) {
        self.at(line, |own| own.equal_limbs(bit, left, right));
    }
    fn point(&mut self, numbers: [Word; 4], active: Bool) -> Point {
        Self::point(self, numbers, active)
    }
    fn point_of(&mut self, numbers: [Base; point::NUMBERS], active: Bool) -> Point {
        Self::point_of(self, numbers, active)
    }
    fn add_points(&mut self, p: Point, q: Point, chord: Chord) -> Point {
        Self::add_points(self, p, q, chord)
    }
    fn dot_base(&mut self, words: &[Word], weights: &[Base]) -> Base {
        Self::dot_base(self, words, weights)
    }
    fn weighed(&mut self, word: Word, weights: [Goldilocks; 4]) -> Base {
        Self::weighed(self, word, weights)
    }
}
