//! Slots of one contract as rows of a table: proofs that two digests are about the same slots.
//!
//! **Public inputs** are five words: d of claims, d of rows, the contract's address (four elements, then the fifth),
//! and n.
//!
//! **The circuit** is satisfiable for exactly these statements: n is at least 1, and there are n slots of the contract.
//! d of claims is the root of a binary hash tree whose leaves are the leaf digests of the claims about these slots,
//! each once, and of at most one claim about the account itself. d of rows is the root of a binary hash tree whose
//! leaves are those of the table's rows at the positions 0 to n - 1, each once; the row at position i is the
//! [`row`](StorageTable::rows) of slot i.
//!
//! The circuit shows this under the condition that the elements of claims are words of 32 bits. A proof about the state
//! shows that condition for the same d.
//!
//! **A slot** computes both leaf digests from its own elements: it reads slot and value from the row, and puts their
//! words into the claim. Bits say which slots are used, the first ones, and which are zero slots. The claim about a
//! zero slot has no value, and another tag.
//!
//! **Numbers.** A value is units * 10^d + rest, with units below 2^63 and rest below 10^d. Units have three limbs of 21
//! bits, and 10^d times each power of 2^21 is a sequence of words of 32 bits, so the product is four sums of at most 62
//! bits each. Each sum is a word of the value, plus 2^32 times a carry below 2^31, which is added to the next sum.
//!
//! **Byte order.** In claims the words of a slot start at the least significant end. In rows the bytes of its number
//! start with the most significant one. Each word is split into four bytes, and the sum of these bytes in reverse order
//! is the row's half.
//!
//! `docs/math/ethereum.md` has the statement and the proof.

mod proof;
mod table;

use evergrove_commit::schema::row_tag;
use evergrove_multilinear::circuit::wires::{Base, Bool, Chain, Element, Set, Word};
use evergrove_multilinear::circuit::{Arithmetic, Builder};
use evergrove_multilinear::recursion::Modes;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::{WORD, bits};
use evergrove_verifier::tree::LEAF_TAG;

use crate::application::word;
use crate::circuit::{NODE_TAG, free, implies};
use crate::mpt::same_word;
use crate::openzeppelin::bytes;
use crate::translation::{Weights, equal, packed};

pub use proof::{Reshape, ReshapeError, ReshapeProver, ReshapeVerifier};
pub use table::{StorageTable, TableError};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// log2 of the numbers of slots that circuits have room for. The fixed columns for 2^13 slots would have more elements
/// than a key can have.
pub const HEIGHTS: [u8; 3] = [8, 10, 12];
/// The most slots of a table.
pub const SLOTS_MAX: usize = 1 << HEIGHTS[HEIGHTS.len() - 1];
/// The greatest number of decimals of a unit: 10^18 is below 2^60.
pub const DECIMALS_MAX: u8 = 18;

/// Elements of a row: the halves of the slot, units, rest.
const ROW_ELEMENTS: usize = SLOT_WORDS + 2;
/// Words of 32 bits of a slot, or of a value.
const SLOT_WORDS: usize = 8;
/// Steps of the leaf digest of an account.
const ACCOUNT_STEPS: usize = 4;
/// Width of a rest in bits: 10^18 is below 2^60.
const REST_BITS: usize = 60;
/// Width of a carry in bits.
const CARRY_BITS: usize = 31;
/// The number of words in which a value may be nonzero.
const VALUE_WORDS: usize = 4;

/// The parameters of a circuit: log2 of the slots that it has room for, at most the last of [`HEIGHTS`], and d for
/// units of 10^d, at most [`DECIMALS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    height: u8,
    decimals: u8,
}

impl Size {
    /// The size with room for 2^`height` slots; `None` if circuits have less room, or if `decimals` is above
    /// [`DECIMALS_MAX`].
    pub fn new(height: u8, decimals: u8) -> Option<Self> {
        (height <= HEIGHTS[HEIGHTS.len() - 1] && decimals <= DECIMALS_MAX).then_some(Self { height, decimals })
    }
    /// The smallest size with room for `slots` slots; `None` if no circuit has room for them, or if `decimals`
    /// is above [`DECIMALS_MAX`].
    pub fn of(slots: usize, decimals: u8) -> Option<Self> {
        let height = HEIGHTS.into_iter().find(|height| slots <= 1 << height)?;
        Self::new(height, decimals).filter(|_| slots > 0)
    }
    /// log2 of the slots that the circuit has room for.
    pub fn height(self) -> u8 {
        self.height
    }
    /// d: a unit is 10^d.
    pub fn decimals(self) -> u8 {
        self.decimals
    }
    /// The number of slots that the circuit has room for.
    pub fn room(self) -> usize {
        1 << self.height
    }
    /// 10^d.
    pub fn unit(self) -> u64 {
        10_u64.pow(self.decimals.into())
    }
    /// The words of 10^d times 2^0, 2^21 and 2^42.
    fn weights(self) -> [[u64; VALUE_WORDS]; bits::INDICES] {
        core::array::from_fn(|i| {
            let product = u128::from(self.unit()) << (bits::CHUNK * i);
            core::array::from_fn(|j| (product >> (32 * j)) as u64 & 0xffff_ffff)
        })
    }
}

/// The modes of the rows of the table of bits.
pub fn modes() -> Modes {
    let from = |bits: usize| bits..bits::COLUMNS;
    Modes {
        widths: vec![bits::CHUNK, 8],
        zeros: vec![from(bits::INDICES * bits::CHUNK), from(REST_BITS), from(CARRY_BITS)],
        other: None,
    }
}

fn tag_of(tag: &[u8; 4]) -> Goldilocks {
    Goldilocks::new(u32::from_be_bytes(*tag).into())
}

/// The builder, with what all slots share.
struct Gadgets<'a, K> {
    b: &'a mut Builder<K>,
    zero: Base,
    one: Base,
    yes: Bool,
    /// X of K.
    x: Element,
    size: Size,
    /// The address: four elements in a word, then the fifth.
    address: (Word, Base),
    /// The multiset that compares the first words of all claims with the address.
    addresses: Set,
}

/// Adds the rows of the circuit. Returns the key and the public words. May be called once per circuit.
///
/// # Panics
/// Unless the builder's tables have the modes of [`modes`].
pub fn reshape<K: Extension>(b: &mut Builder<K>, size: Size) -> (Word, Vec<Word>) {
    let [of_claims, of_rows] = free(b);
    let [key, address] = free(b);
    let address = (address, b.any());
    let [claims, rows, addresses] = [(); 3].map(|()| b.set());
    let (zero, one) = (b.zero(), b.one());
    let yes = b.boolean(one);
    let x = Weights::new(b).x();
    let mut g = Gadgets { b, zero, one, yes, x, size, address, addresses };
    let (mut before, mut count) = (yes, zero);
    for position in 0..size.room() {
        let active = if position == 0 { yes } else { g.b.bit() };
        implies(g.b, active, before);
        g.slot(position as u64, active, [claims, rows]);
        count = g.b.add(count, active.into());
        before = active;
    }
    let own = g.b.bit();
    g.account(own, claims);
    // One hash less than leaves. The claims have one leaf more than the rows.
    for (set, root, hashes) in [(claims, of_claims, size.room()), (rows, of_rows, size.room() - 1)] {
        let tag = b.tag(NODE_TAG);
        for _ in 0..hashes {
            let (hash, [left, right]) = b.hash_free(tag);
            let active = b.take(set, left, None);
            b.take(set, right, Some(active));
            b.give(set, hash.digest(), Some(active));
        }
        b.take(set, root, Some(yes));
    }
    (key, vec![of_claims, of_rows, address.0, word(address.1), word(count)])
}

impl<K: Extension> Gadgets<'_, K> {
    /// Demands that a claim begin with the address: `first` is its first four elements, and `second` begins with the
    /// fifth.
    fn address(&mut self, first: Word, second: Word) {
        let (yes, set) = (self.yes, self.addresses);
        self.b.give(set, first, Some(yes));
        self.b.take(set, self.address.0, Some(yes));
        let last = self.b.limb(second, 0);
        equal(self.b, last.into(), self.address.1.into());
    }

    /// One slot, used or not: gives its leaf as a claim and its leaf as a row to the sets.
    fn slot(&mut self, position: u64, active: Bool, [claims, rows]: [Set; 2]) {
        let (zero, one, x) = (self.zero, self.one, self.x);
        // The row and its leaf: (index, value), then three zeros.
        let (value, cells) = self.b.sponge(row_tag(ROW_ELEMENTS), ROW_ELEMENTS);
        let leaf_tag = self.b.tag(LEAF_TAG);
        let (leaf, [first, second]) = self.b.hash_free(leaf_tag);
        let index = self.b.constant(Goldilocks::new(position));
        let [none, unit]: [Element; 2] = [zero.into(), one.into()];
        // The index and the first element of the value, then the next two.
        let pairs = [
            (index.into(), [unit, x, none, none], [x, none, none, none]),
            (none, [none, none, unit, x], [none, unit, x, none]),
        ];
        for (before, own, of_value) in pairs {
            let given = self.b.dot(none, &[first], &own);
            let due = self.b.dot(before, &[value], &of_value);
            equal(self.b, given, due);
        }
        let last = self.b.limb(value, WORD - 1);
        let yes = self.yes;
        same_word(self.b, yes, second, word(last));

        // The claim: address and slot, then the value.
        let is_zero = self.b.bit();
        let tag = self.b.any_of(&[is_zero.into()], |x| if x[0] == ONE { tag_of(b"ETHZ") } else { tag_of(b"ETHS") });
        let tags = [b"ETHZ", b"ETHS"].map(|tag| self.b.tag(tag_of(tag)));
        let start = self.b.either(word(tag), is_zero, tags[0], tags[1]);
        let (chain, [address, begin]) = self.b.hash_free(start);
        self.address(address, begin);
        let (of_zero, [middle, end]) = self.b.hash_free(chain);
        let words: Vec<(Word, usize)> =
            (1..WORD).map(|i| (begin, i)).chain((0..WORD).map(|i| (middle, i))).chain([(end, 0)]).collect();
        self.bytes(&words, &cells[..2]);
        let highest = self.value(is_zero, cells[2], end);
        let none = self.b.word([ZERO; WORD]);
        let of_value = self.b.hash(of_zero, [word(highest), none]);

        let not = self.b.not(is_zero);
        for (bit, chain) in [(is_zero, of_zero), (not, of_value)] {
            let bit = self.b.and(active, bit);
            self.b.give(claims, chain.digest(), Some(bit));
        }
        self.b.give(rows, leaf.digest(), Some(active));
    }

    /// Demands that the words of a number, the least significant first, consist of the bytes of a row's halves, which
    /// have the most significant byte first.
    fn bytes(&mut self, words: &[(Word, usize)], halves: &[Word]) {
        let zero = self.zero;
        let powers: [Goldilocks; 4] = core::array::from_fn(|i| Goldilocks::new(1 << (8 * i)));
        let weights: Vec<Element> = (0..4).map(|i| self.b.element(packed([powers[i], powers[3 - i]]))).collect();
        for (i, pair) in words.as_chunks::<2>().0.iter().enumerate() {
            let words = pair.map(|(word, limb)| self.b.limb(word, limb));
            let numbers = [bytes::<0>, bytes::<1>, bytes::<2>].map(|hint| self.b.numbers_of(8, &words, hint));
            for (j, (own, word)) in numbers.as_flattened().as_chunks::<4>().0.iter().zip(words).enumerate() {
                let at = SLOT_WORDS - 1 - (2 * i + j);
                let half = self.b.limb(halves[at / WORD], at % WORD);
                // The word, and X times the half.
                let mut sum: Element = zero.into();
                for (&byte, &weight) in own.iter().zip(&weights) {
                    sum = self.b.combine([ONE, ZERO, ONE], weight, byte.into(), sum);
                }
                let x = self.x;
                self.b.check([ONE, ZERO, ONE], x, half.into(), word.into(), sum);
            }
        }
    }

    /// Demands that the units and the rest, with which `numbers` begins, be those of a value. The last three elements
    /// of `low` are the value's three lowest words. Returns the fourth word. For a zero slot both numbers are 0.
    fn value(&mut self, is_zero: Bool, numbers: Word, low: Word) -> Base {
        let (zero, one, x) = (self.zero, self.one, self.x);
        let (units, rest) = (self.b.limb(numbers, 0), self.b.limb(numbers, 1));
        let limbs = self.b.limbs(units);
        self.b.zeros(rest, REST_BITS..bits::COLUMNS);
        let greatest = self.b.constant(Goldilocks::new(self.size.unit() - 1));
        let above = self.b.sub(greatest, rest);
        self.b.zeros(above, REST_BITS..bits::COLUMNS);
        let both = self.b.combine([ONE, ZERO, ONE], x, rest.into(), units.into());
        self.b.check([ONE, ZERO, ZERO], Base::from(is_zero).into(), both, zero.into(), zero.into());

        let weights = self.size.weights();
        let mut carry = rest;
        let words: [Base; VALUE_WORDS] = core::array::from_fn(|j| {
            let sum = limbs.iter().zip(weights).fold(carry, |sum, (&limb, weight)| match weight[j] {
                0 => sum,
                weight => self.b.scale_add(Goldilocks::new(weight), limb, sum),
            });
            if j == VALUE_WORDS - 1 {
                return sum;
            }
            carry = self.b.any_of(&[sum], |x| Goldilocks::new(x[0].as_u64() >> 32));
            self.b.zeros(carry, CARRY_BITS..bits::COLUMNS);
            self.b.combine_base([ZERO, -Goldilocks::new(1 << 32), ONE], carry, carry, sum)
        });
        let [first, second, third, fourth] = words;
        let due = self.b.combine([ONE, ZERO, ONE], x, second.into(), first.into());
        let given = self.b.dot(zero.into(), &[low], &[zero.into(), one.into(), x, zero.into()]);
        equal(self.b, given, due);
        let given = self.b.limb(low, 3);
        equal(self.b, given.into(), third.into());
        fourth
    }

    /// One slot for the claim about the account, used or not.
    fn account(&mut self, active: Bool, claims: Set) {
        let mut chain: Chain = self.b.tag(tag_of(b"ETHA"));
        for step in 0..ACCOUNT_STEPS {
            let (next, [first, second]) = self.b.hash_free(chain);
            if step == 0 {
                self.address(first, second);
            }
            chain = next;
        }
        self.b.give(claims, chain.digest(), Some(active));
    }
}
