//! The circuits of digest translation for rows of ABI words: all slots below a node, and OpenZeppelin's tree over them.
//!
//! **Public inputs** are those of [`translation`](crate::translation): (C, 0, h, b), then K as two words of halves. A
//! row is its ABI words as halves of 32 bits, eight per word
//! ([`word_elements`](evergrove_verifier::abi::word_elements)). The value of its slot is the hash of these halves by
//! the schema's rule.
//!
//! **The bucket** is satisfiable for exactly these statements: b is a multiple of 2^k below 2^H; C is the Poseidon
//! digest of the node of height k above position b, for 2^k slots, each of them empty or the value of a row whose words
//! are values of their types; at least one slot is a row; and K is the root of OpenZeppelin's tree over the same slots
//! ([`openzeppelin`]).
//!
//! **The merge** is satisfiable for exactly these statements: 1 <= h <= H, b is a multiple of 2^h below 2^H, C = f(C_L,
//! C_R; 0); for each side there is a proof of (C_i, 0, h - 1, b_i) and K_i by a circuit of the key, or C_i is the
//! digest of an empty subtree of height h - 1; at least one side has a proof; and K is the hash of both K_i, the lower
//! one first, or the K_i of the only side that has a proof.
//!
//! **Digests that may be missing.** An `OptionalDigest` is two words and a bit. The words count only where the bit is
//! 1: each use of the words is a tuple on the bus whose count is the bit, or a product of bits with it. Where the bit
//! is 0 the words may have any value, so every value can be a digest. The bit of a published digest is 1.

use evergrove_commit::schema::row_tag;
use evergrove_commit::{BackendError, BucketWitness, LeafWitness};
use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Word};
use evergrove_multilinear::circuit::{Arithmetic, BLOCK_HALVES, Builder, Hint};
use evergrove_multilinear::recursion::{Children, Modes};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::poseidon::hash_tagged;
use evergrove_verifier::Statement;
use evergrove_verifier::abi::{AbiType, AbiWord, WORD_BYTES, WORD_HALVES, Width};
use evergrove_verifier::argument::Parameters;
use evergrove_verifier::keccak_tree::{DIGEST_HALVES, KeccakDigest, from_elements, to_elements};
use evergrove_verifier::openzeppelin;
use evergrove_verifier::tables::{WORD, bits};
use evergrove_verifier::tree::{LEAF_TAG, Value, null_digest};

use crate::application::word;
use crate::circuit::{Size, free};
use crate::translation::{Leaves, MAX_HALF, Weights, begin, equal};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// The greatest number of columns of a row.
pub const MAX_COLUMNS: usize = 16;

/// Bits per half.
const HALF_BITS: usize = 32;
/// Bytes per half.
const HALF_BYTES: usize = 4;
/// Pairs of halves per block of Keccak.
const BLOCK_PAIRS: usize = BLOCK_HALVES / 2;

/// The columns of bits from n up, which are 0 in a number below 2^n.
fn from(n: usize) -> core::ops::Range<usize> {
    n..bits::COLUMNS
}

/// The modes of the rows of the table of bits.
pub(crate) fn modes(size: Size, types: &[AbiType]) -> Modes {
    let ranges = types.iter().flat_map(|&kind| room(kind)).map(from);
    let zeros = [size.zeros(), from(HALF_BITS)].into_iter().chain(ranges).collect();
    Modes { widths: vec![8], zeros, other: None }
}

/// Widths in bits of the numbers that [`canonical`] bounds.
fn room(kind: AbiType) -> Vec<usize> {
    let bits = match kind {
        AbiType::Address | AbiType::Bool => vec![],
        AbiType::Uint(width) => vec![HALF_BITS - 8 * leading(width).1],
        AbiType::Bytes(width) => vec![8 * (width.bytes() % HALF_BYTES)],
        AbiType::Int(width) => vec![7, HALF_BITS - 8 * (leading(width).1 + 1)],
    };
    bits.into_iter().filter(|&bits| bits > 0).collect()
}

/// Bytes before those of a number of this width: whole halves, then bytes of the next half.
fn leading(width: Width) -> (usize, usize) {
    let bytes = WORD_BYTES - width.bytes();
    (bytes / HALF_BYTES, bytes % HALF_BYTES)
}

/// A digest of the tree if the bit is 1. If the bit is 0, the words mean nothing and may have any value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionalDigest {
    pub(crate) there: Bool,
    pub(crate) words: [Word; 2],
}

/// The node above two children: the hash of both, the lower one first; the only child; or no node.
///
/// For each of the two words of a digest, the set has two places for the operands of the hash and one place for the
/// node. With two children, the swap bit decides which of them is at which operand's place. An only child is at the
/// first place, and becomes the node.
pub(crate) fn parent<K: Extension>(
    b: &mut Builder<K>,
    x: Element,
    [left, right]: [OptionalDigest; 2],
) -> OptionalDigest {
    let zero = b.zero();
    let both = b.and(left.there, right.there);
    let there = b.or(left.there, right.there);
    let only = b.combine_base([ZERO, ONE, -ONE], there.into(), zero, both.into());
    let only = b.boolean(only);
    let operands = [free(b), free(b)];
    let words = free(b);
    let swap = b.bit();
    let other = b.not(swap);
    ordered(b, x, operands);
    let hash = b.keccak(operands.as_flattened(), 2 * DIGEST_HALVES);
    let set = b.set();
    for i in 0..2 {
        let [first, second, node] = [0, 2, 4].map(|place| b.constant(Goldilocks::new(place + i as u64)));
        for (child, swap) in [(left, swap), (right, other)] {
            let place = b.combine_base([ZERO, Goldilocks::new(2), ONE], swap.into(), zero, first);
            b.give_at(set, place, child.words[i], child.there);
        }
        b.take_at(set, first, operands[0][i], there);
        b.take_at(set, second, operands[1][i], both);
        b.give_at(set, node, hash[i], both);
        b.give_at(set, node, operands[0][i], only);
        b.take_at(set, node, words[i], there);
    }
    OptionalDigest { there, words }
}

/// Demands low <= high as numbers of 256 bits, given as words of halves below 2^32. A half is four bytes, the first of
/// them the least significant. `x` is X of K.
///
/// At most one flag is 1. The halves before the flag are equal; without a flag all halves are equal. At the flag, the
/// half of `low`, with its bytes reversed, is less than that of `high`.
fn ordered<K: Extension>(b: &mut Builder<K>, x: Element, [low, high]: [[Word; 2]; 2]) {
    let (zero, one) = (b.zero(), b.one());
    let flags: [Base; DIGEST_HALVES] = core::array::from_fn(|_| b.bit().into());
    // 1 for the halves before the flag, and 0 from the flag on; times X for every second half.
    let mut same = one;
    let weights = flags.iter().enumerate().map(|(i, &flag)| {
        same = b.combine_base([ZERO, ONE, -ONE], same, zero, flag);
        if i % 2 == 0 { same.into() } else { b.combine([ONE, ZERO, ZERO], same.into(), x, x) }
    });
    let weights: Vec<Element> = weights.collect();
    b.boolean(same);
    for (i, pair) in weights.as_chunks::<2>().0.iter().enumerate() {
        let mut weights = [zero.into(); WORD];
        weights[2 * (i % 2)..][..2].copy_from_slice(pair);
        let [low, high] = [low, high].map(|words| b.dot(zero.into(), &[words[i / 2]], &weights));
        equal(b, low, high);
    }
    // The halves at the flag, then their bytes: four of `low`, four of `high`, and one unused.
    let halves = [low, high].map(|words| b.dot_base(&words, &flags));
    let hints: [Hint; 3] = [bytes::<0>, bytes::<1>, bytes::<2>];
    let bytes = hints.map(|hint| b.numbers_of(8, &halves, hint));
    let reversed = [0, 1].map(|i| {
        let own = &bytes.as_flattened()[HALF_BYTES * i..][..HALF_BYTES];
        let mut sum = |shift: fn(usize) -> usize| {
            own.iter().enumerate().fold(zero, |sum, (j, &byte)| {
                b.combine_base([ZERO, Goldilocks::new(1 << (8 * shift(j))), ONE], byte, zero, sum)
            })
        };
        let (half, reversed) = (sum(|j| j), sum(|j| HALF_BYTES - 1 - j));
        equal(b, half.into(), halves[i].into());
        reversed
    });
    // The difference, minus 1 if a flag is set.
    let difference = b.combine_base([ZERO, ONE, -ONE], reversed[1], zero, reversed[0]);
    let flagged = b.combine_base([ZERO, -ONE, ONE], same, zero, one);
    let above = b.combine_base([ZERO, ONE, -ONE], difference, zero, flagged);
    b.zeros(above, from(HALF_BITS));
}

/// Bytes 3 I to 3 I + 2 of two halves, one every 21 bits.
pub(crate) fn bytes<const I: usize>(halves: &[Goldilocks]) -> Goldilocks {
    let all = halves[0].as_u64() & MAX_HALF.as_u64() | halves[1].as_u64() << HALF_BITS;
    let byte = |i: usize| all.checked_shr(8 * i as u32).unwrap_or(0) & 0xff;
    Goldilocks::new((0..3).map(|i| byte(3 * I + i) << (bits::CHUNK * i)).sum())
}

/// Demands that the halves of a word be a value of the type: [`AbiType::is_canonical`]. The halves must be below 2^32.
fn canonical<K: Extension>(b: &mut Builder<K>, kind: AbiType, words: [Word; 2]) {
    let zero = b.zero();
    let half = |b: &mut Builder<K>, i: usize| b.limb(words[i / WORD], i % WORD);
    let nothing = |b: &mut Builder<K>, halves: core::ops::Range<usize>| {
        for (i, word) in words.into_iter().enumerate() {
            let limbs = halves.start.clamp(WORD * i, WORD * (i + 1))..halves.end.clamp(WORD * i, WORD * (i + 1));
            b.no_limbs(word, limbs.start - WORD * i..limbs.end - WORD * i);
        }
    };
    // x / 2^bits in F.
    let shifted = |b: &mut Builder<K>, x: Base, bits: usize| {
        let inverse = Goldilocks::new(1 << bits).inverse().expect("a power of two");
        b.combine_base([ZERO, inverse, ZERO], x, zero, zero)
    };
    match kind {
        AbiType::Address => nothing(b, 0..3),
        AbiType::Bool => {
            nothing(b, 0..WORD_HALVES - 1);
            let last = half(b, WORD_HALVES - 1);
            let byte = shifted(b, last, HALF_BITS - 8);
            b.boolean(byte);
        }
        AbiType::Uint(width) => {
            let (halves, bytes) = leading(width);
            nothing(b, 0..halves);
            if bytes > 0 {
                // The first bytes are the least significant ones of a half.
                let half = half(b, halves);
                let rest = shifted(b, half, 8 * bytes);
                b.zeros(rest, from(HALF_BITS - 8 * bytes));
            }
        }
        AbiType::Bytes(width) => {
            let (halves, bytes) = (width.bytes() / HALF_BYTES, width.bytes() % HALF_BYTES);
            if bytes > 0 {
                let half = half(b, halves);
                b.zeros(half, from(8 * bytes));
            }
            nothing(b, width.bytes().div_ceil(HALF_BYTES)..WORD_HALVES);
        }
        AbiType::Int(width) if width.bytes() == WORD_BYTES => {}
        AbiType::Int(width) => {
            let (halves, bytes) = leading(width);
            let own = half(b, halves);
            // Bytes of the sign, then 7 bits, then the sign bit, then the rest.
            let sign: Base = b.bit_of(&[own], [bit::<7>, bit::<15>, bit::<23>, bit::<31>][bytes]).into();
            let low = b.any_of(&[own], [seven::<0>, seven::<8>, seven::<16>, seven::<24>][bytes]);
            b.zeros(low, from(7));
            let power = Goldilocks::new(1 << (8 * bytes));
            let signs = Goldilocks::new((1 << (8 * bytes)) - 1 + (1 << (8 * bytes + 7)));
            let rest = b.combine_base([ZERO, -signs, ONE], sign, zero, own);
            let rest = b.combine_base([ZERO, -power, ONE], low, zero, rest);
            match HALF_BITS - 8 * (bytes + 1) {
                0 => equal(b, rest.into(), zero.into()),
                room => {
                    let rest = shifted(b, rest, 8 * (bytes + 1));
                    b.zeros(rest, from(room));
                }
            }
            for i in 0..halves {
                let half = half(b, i);
                b.check([ZERO, MAX_HALF, ZERO], sign.into(), zero.into(), zero.into(), half.into());
            }
        }
    }
}

/// Bit I of a half.
fn bit<const I: usize>(x: &[Goldilocks]) -> Goldilocks {
    Goldilocks::new(x[0].as_u64() >> I & 1)
}

/// The seven bits of a half from bit I up.
fn seven<const I: usize>(x: &[Goldilocks]) -> Goldilocks {
    Goldilocks::new(x[0].as_u64() >> I & 0x7f)
}

/// The words of Keccak's message, for a row of this many pairs of halves: for each word its first pair, and how many
/// pairs of the row it has. Padding may follow the pairs.
///
/// A block has 17 pairs, so the words of the second block start at the second pair of a word of the row.
fn words_of_message(pairs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..pairs).step_by(BLOCK_PAIRS).flat_map(move |first| {
        let end = pairs.min(first + BLOCK_PAIRS);
        (first..end).step_by(2).map(move |pair| (pair, (end - pair).min(2)))
    })
}

/// True for a word of the message that is also a word of the row.
fn is_of_row((pair, pairs): (usize, usize)) -> bool {
    pair.is_multiple_of(2) && pairs == 2
}

/// The row as words of Keccak's blocks.
fn message<K: Extension>(b: &mut Builder<K>, weights: &Weights, row: &[Word]) -> Vec<Word> {
    let words = words_of_message(2 * row.len());
    let message = words.map(|at @ (pair, pairs)| {
        if is_of_row(at) {
            return row[pair / 2];
        }
        let [word, _] = free(b);
        for i in 0..pairs {
            let given = weights.pair(b, word, 2 * i);
            let own = weights.pair(b, row[(pair + i) / 2], 2 * ((pair + i) % 2));
            equal(b, given, own);
        }
        word
    });
    message.collect()
}

/// The bucket.
pub(crate) fn bucket<K: Extension>(parameters: &Parameters<K>, size: Size, types: &[AbiType]) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let k = size.block_height();
    let [root, key] = free(b);
    let (zero, one) = (b.zero(), b.one());
    let weights = Weights::new(b);
    let number = (k..size.height_max).fold(zero, |sum, i| {
        let bit: Base = b.bit().into();
        b.combine_base([ZERO, Goldilocks::new(1 << (i - k)), ONE], bit, zero, sum)
    });
    let start = b.combine_base([ZERO, Goldilocks::new(1 << k), ZERO], number, zero, zero);
    let height = b.constant(Goldilocks::new(k.into()));
    let tree = b.tree(root, height, number);
    let empty = b.word(null_digest(0).0);
    let tag = b.tag(LEAF_TAG);
    let halves = WORD_HALVES * types.len();
    let mut level = Vec::with_capacity(size.capacity);
    for place in 0..size.capacity as u64 {
        let (digest, row) = b.sponge(row_tag(halves), halves);
        // (index, value), then three zeros.
        let (leaf, [first, second]) = b.hash_free(tag);
        b.no_limbs(second, 1..WORD);
        let index = b.limb(first, 0);
        b.check([ZERO, ONE, Goldilocks::new(place)], start.into(), zero.into(), one.into(), index.into());
        let active = b.node(tree, leaf.digest(), zero, index, None);
        let not = b.not(active);
        b.node(tree, empty, zero, index, Some(not));
        let value = [(first, 1), (first, 2), (first, 3), (second, 0)];
        b.equal_limbs(active, &value, &[0, 1, 2, 3].map(|i| (digest, i)));
        for (&kind, &words) in types.iter().zip(row.as_chunks().0) {
            canonical(b, kind, words);
        }
        let message = message(b, &weights, &row);
        let inner = b.keccak(&message, halves);
        let words = b.keccak(&inner, DIGEST_HALVES);
        level.push(OptionalDigest { there: active, words });
    }
    b.paths(size.capacity - 1);
    while level.len() > 1 {
        level = level.as_chunks().0.iter().map(|&pair| parent(b, weights.x(), pair)).collect();
    }
    let OptionalDigest { there, words } = level[0];
    equal(b, Base::from(there).into(), one.into());
    let none = b.word([ZERO; WORD]);
    Children::new(b, parameters, key).publish([&[root, none, word(height), word(start)], &words[..]].concat());
    builder
}

/// A row of a bucket: the value of its slot, and the halves of its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The slot's value.
    pub value: Value,
    /// Eight halves per column.
    pub halves: Vec<Goldilocks>,
}

/// The opening of a leaf is not the row of its slot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The opening does not have the form of a row.
    #[error("row {index} is not {expected} words of the ABI")]
    Words {
        /// The leaf's position.
        index: u64,
        /// The number of columns.
        expected: usize,
    },
    /// A word is not a value of its column's type.
    #[error("row {index} has a word that is not a value of type {kind}")]
    Type {
        /// The leaf's position.
        index: u64,
        /// The column's type.
        kind: AbiType,
    },
    /// The words do not hash to the leaf's value.
    #[error("row {index} does not hash to the slot's value")]
    Value {
        /// The leaf's position.
        index: u64,
    },
}

impl From<RowError> for BackendError {
    fn from(e: RowError) -> Self {
        Self::Witness(e.to_string())
    }
}

impl Row {
    /// The row of these ABI words.
    pub fn new(words: &[AbiWord]) -> Self {
        let halves: Vec<Goldilocks> = words.iter().flat_map(to_elements).collect();
        Self { value: hash_tagged(&halves, row_tag(halves.len())).0, halves }
    }
    /// The row in a leaf's opening.
    ///
    /// # Errors
    /// If the opening does not hash to the leaf's value, or its words are not values of the types.
    pub fn of(leaf: &LeafWitness, types: &[AbiType]) -> Result<Self, RowError> {
        let index = leaf.index;
        let words: Option<Vec<AbiWord>> = leaf.opening.chunks(WORD_HALVES).map(from_elements).collect();
        let words = words.filter(|words| words.len() == types.len());
        let words = words.ok_or(RowError::Words { index, expected: types.len() })?;
        if let Some((kind, _)) = types.iter().zip(&words).find(|(kind, word)| !kind.is_canonical(word)) {
            return Err(RowError::Type { index, kind: *kind });
        }
        let row = Self::new(&words);
        if row.value != leaf.value {
            return Err(RowError::Value { index });
        }
        Ok(row)
    }
    /// The row's digest in OpenZeppelin's tree.
    fn leaf(&self) -> KeccakDigest {
        let words: Vec<AbiWord> =
            self.halves.chunks(WORD_HALVES).map(|x| from_elements(x).unwrap_or_default()).collect();
        openzeppelin::leaf_digest(&words)
    }
}

/// The rows of all slots below a node.
///
/// # Errors
/// The errors of [`Row::of`].
pub fn slots(size: Size, types: &[AbiType], witness: &BucketWitness) -> Result<Vec<Option<Row>>, RowError> {
    let mut slots = vec![None; size.capacity];
    for leaf in &witness.leaves {
        slots[(leaf.index % size.capacity as u64) as usize] = Some(Row::of(leaf, types)?);
    }
    Ok(slots)
}

/// The root of OpenZeppelin's tree over the slots; `None` if all slots are empty.
pub fn digest(slots: &[Option<Row>]) -> Option<KeccakDigest> {
    openzeppelin::root(&slots.iter().map(|row| row.as_ref().map(Row::leaf)).collect::<Vec<_>>())
}

/// Free data of the bucket for rows of this many columns, up to the claim that it passes on.
pub fn bucket_data(
    size: Size,
    columns: usize,
    key: [Goldilocks; WORD],
    statement: &Statement,
    slots: &[Option<Row>],
) -> Vec<Goldilocks> {
    let mut free = begin(size, key, statement);
    let values: Vec<Option<Value>> = slots.iter().map(|row| row.as_ref().map(|row| row.value)).collect();
    let mut leaves = Leaves::new(statement.base, &values, &[]);
    let nothing = vec![ZERO; WORD_HALVES * columns];
    for (place, row) in slots.iter().enumerate() {
        let halves = row.as_ref().map_or(&nothing, |row| &row.halves);
        free.extend_from_slice(halves);
        leaves.write(&mut free, place);
        let pairs = halves.len() / 2;
        for (pair, count) in words_of_message(pairs).filter(|&at| !is_of_row(at)) {
            let end = free.len() + 2 * WORD;
            free.extend_from_slice(&halves[2 * pair..2 * (pair + count)]);
            // The padding, if the message ends within a word.
            if count == 1 && pair + 1 == pairs && !pairs.is_multiple_of(BLOCK_PAIRS) {
                free.push(ONE);
            }
            free.resize(end, ZERO);
        }
    }
    let mut level: Vec<_> = slots.iter().map(|row| row.as_ref().map(Row::leaf)).collect();
    while level.len() > 1 {
        level = level.as_chunks().0.iter().map(|&pair| parent_data(&mut free, pair)).collect();
    }
    free
}

/// Appends the free data of the node above two children, and returns its digest.
pub(crate) fn parent_data(free: &mut Vec<Goldilocks>, children: [Option<KeccakDigest>; 2]) -> Option<KeccakDigest> {
    let node = openzeppelin::parent(children[0], children[1]);
    // An only child is compared with itself.
    let [left, right] = [children[0].or(children[1]), children[1].or(children[0])].map(Option::unwrap_or_default);
    let (low, high) = (left.min(right), left.max(right));
    let swap = if children[0].is_some() { left > right } else { children[1].is_some() };
    free.extend([low, high, node.unwrap_or_default()].iter().flat_map(to_elements));
    free.push(Goldilocks::new(swap.into()));
    let [low, high] = [low, high].map(|digest| to_elements(&digest));
    let first = (0..DIGEST_HALVES).find(|&i| low[i] != high[i]);
    free.extend((0..DIGEST_HALVES).map(|i| Goldilocks::new((Some(i) == first).into())));
    node
}

#[cfg(test)]
mod tests;
