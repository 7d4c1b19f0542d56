//! The circuits of digest translation: all slots below a node, and the Keccak tree over them.
//!
//! **Public inputs** of both circuits are (C, 0, h, b) as in batches, then K: two words of four halves of 32 bits each.
//!
//! **The bucket** is satisfiable for exactly these statements: b is a multiple of 2^k below 2^H, and C and K are the
//! Poseidon digest and the Keccak digest of the node of height k above position b, for the same 2^k slots, each of them
//! empty or a value of four canonical words. The bit of a slot selects which node of height 0 the slot uses at its
//! position: its leaf, or the digest of an empty slot. The Keccak message of a slot is three words of halves: (index,
//! value, 1, 0), or those of an empty slot.
//!
//! **The merge** is satisfiable for exactly these statements: 1 <= h <= H, b is a multiple of 2^h below 2^H, C = f(C_L,
//! C_R; 0), K = Keccak-256(K_L, K_R), and for each side, at b and at b + 2^(h - 1), there is a proof of (C_i, 0, h - 1,
//! b_i) and K_i by a circuit of the key, or C_i and K_i are both the digests of an empty subtree of height h - 1. One
//! bit per side chooses both digests. For an empty child the circuit verifies any proof and ignores its statement.

use std::collections::BTreeSet;

use evergrove_commit::BucketWitness;
use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Word};
use evergrove_multilinear::circuit::{BLOCK_WORDS, Builder, PADDING_END};
use evergrove_multilinear::recursion::{Children, Modes};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::Statement;
use evergrove_verifier::abi::AbiType;
use evergrove_verifier::argument::Parameters;
use evergrove_verifier::keccak_tree::{self, KeccakDigest, NULL_MESSAGE};
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tree::{LEAF_TAG, Value, leaf_digest, node_digest, null_digest, null_digests};

use crate::application::word;
use crate::circuit::{Merge, NODE_TAG, Node, Size, free};
use crate::openzeppelin::{self, OptionalDigest};
use crate::witness;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// The largest half.
pub(crate) const MAX_HALF: Goldilocks = Goldilocks::new((1 << 32) - 1);
/// Words of a slot's Keccak message.
const SLOT_WORDS: usize = 3;

/// The Keccak tree that a digest translation is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeccakTree {
    /// The tree over positions and values: [`keccak_tree`].
    Values,
    /// OpenZeppelin's tree over rows of these types: [`openzeppelin`](evergrove_verifier::openzeppelin).
    OpenZeppelin(Vec<AbiType>),
}

impl KeccakTree {
    /// The modes of the rows of the table of bits.
    pub(crate) fn modes(&self, size: Size) -> Modes {
        match self {
            Self::Values => Modes { zeros: vec![size.zeros()], ..Modes::default() },
            Self::OpenZeppelin(types) => openzeppelin::modes(size, types),
        }
    }
    /// The bucket.
    pub(crate) fn bucket<K: Extension>(&self, parameters: &Parameters<K>, size: Size) -> Builder<K> {
        match self {
            Self::Values => bucket(parameters, size),
            Self::OpenZeppelin(types) => openzeppelin::bucket(parameters, size, types),
        }
    }
}

/// 1 and X, the weights that pack two elements of F into one of K, and both times 2^32.
#[derive(Clone, Copy)]
pub(crate) struct Weights {
    zero: Element,
    units: [Element; 2],
    high: [Element; 2],
}

impl Weights {
    pub(crate) fn new<K: Extension>(b: &mut Builder<K>) -> Self {
        let mut weight = |i: usize, x: u64| {
            let mut coefficients = vec![ZERO; K::DEGREE];
            coefficients[i] = Goldilocks::new(x);
            b.element(K::from_coefficients(&coefficients).expect("as many coefficients"))
        };
        let units = [weight(0, 1), weight(1, 1)];
        let high = [weight(0, 1 << 32), weight(1, 1 << 32)];
        Self { zero: weight(0, 0), units, high }
    }
    /// X.
    pub(crate) fn x(&self) -> Element {
        self.units[1]
    }
    /// Limbs i and i + 1 of a word, packed into one element of K.
    pub(crate) fn pair<K: Extension>(&self, b: &mut Builder<K>, word: Word, i: usize) -> Element {
        let mut weights = [self.zero; WORD];
        weights[i..i + 2].copy_from_slice(&self.units);
        b.dot(self.zero, &[word], &weights)
    }
    /// Both pairs of limbs of each word.
    fn pairs<K: Extension>(&self, b: &mut Builder<K>, words: &[Word]) -> Vec<Element> {
        words.iter().flat_map(|&word| [0, 2].map(|i| self.pair(b, word, i))).collect()
    }
}

/// Packs two elements of F into one of K.
pub(crate) fn packed<K: Extension>(x: [Goldilocks; 2]) -> K {
    let mut coefficients = vec![ZERO; K::DEGREE];
    coefficients[..2].copy_from_slice(&x);
    K::from_coefficients(&coefficients).expect("as many coefficients")
}

/// Demands left = right.
#[track_caller]
pub(crate) fn equal<K: Extension>(b: &mut Builder<K>, left: Element, right: Element) {
    let zero = b.zero().into();
    b.check([ZERO, ONE, ZERO], left, zero, zero, right);
}

/// Demands x = 0 where the bit is 0.
#[track_caller]
fn only_if<K: Extension>(b: &mut Builder<K>, bit: Base, x: Element) {
    let zero = b.zero().into();
    b.check([ONE, -ONE, ZERO], x, bit.into(), zero, zero);
}

/// Demands result = low + bit (high - low).
#[track_caller]
fn choose<K: Extension>(b: &mut Builder<K>, bit: Base, [low, high]: [Element; 2], result: Element) {
    let zero = b.zero().into();
    let difference = b.combine([ZERO, ONE, -ONE], high, zero, low);
    b.check([ONE, ZERO, ONE], difference, bit.into(), low, result);
}

/// Keccak-256 of up to eight words. The words include their padding, except its last bit.
fn keccak<K: Extension>(b: &mut Builder<K>, words: &[Word]) -> [Word; 2] {
    let end = b.word([ZERO, Goldilocks::new(PADDING_END), ZERO, ZERO]);
    let mut block = [b.word([ZERO; WORD]); BLOCK_WORDS];
    block[..words.len()].copy_from_slice(words);
    block[BLOCK_WORDS - 1] = end;
    b.keccak_blocks(&[block])
}

/// Keccak-256 of two digests.
fn keccak_node<K: Extension>(b: &mut Builder<K>, [left, right]: [[Word; 2]; 2]) -> [Word; 2] {
    let padding = b.word([ONE, ZERO, ZERO, ZERO]);
    keccak(b, &[left[0], left[1], right[0], right[1], padding])
}

/// A digest as two words of four halves each.
pub(crate) fn halves(digest: &KeccakDigest) -> [[Goldilocks; WORD]; 2] {
    let elements = keccak_tree::to_elements(digest);
    core::array::from_fn(|i| core::array::from_fn(|j| elements[WORD * i + j]))
}

/// Demands that the 64-bit number of two halves be below p: if the high half is the largest one, the low half is 0.
fn canonical<K: Extension>(b: &mut Builder<K>, [low, high]: [Base; 2], max: Base) {
    let (zero, one) = (b.zero(), b.one());
    let inverse = b.any_of(&[high], |x| (MAX_HALF - x[0]).inverse().unwrap_or_default());
    let distance = b.combine_base([ZERO, -ONE, ONE], high, zero, max);
    let is_max = b.combine_base([-ONE, ZERO, ONE], distance, inverse, one);
    b.check([ONE, ZERO, ZERO], low.into(), is_max.into(), zero.into(), zero.into());
}

/// The bucket of [`KeccakTree::Values`].
fn bucket<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let k = size.block_height();
    let [root, key] = free(b);
    let (zero, one) = (b.zero(), b.one());
    let weights = Weights::new(b);
    // The node's number, its first position, and that position with its bytes in reverse order, as two halves.
    let (mut number, mut start, mut reversed) = (zero, zero, [zero; 2]);
    for i in k..size.height_max {
        let bit: Base = b.bit().into();
        let mut add = |power: u8, sum: &mut Base| {
            *sum = b.combine_base([ZERO, Goldilocks::new(1 << power), ONE], bit, zero, *sum);
        };
        add(i - k, &mut number);
        add(i, &mut start);
        let t = i % 32;
        add(8 * (3 - t / 8) + t % 8, &mut reversed[usize::from(i < 32)]);
    }
    let height = b.constant(Goldilocks::new(k.into()));
    let tree = b.tree(root, height, number);
    let x = weights.units[1];
    let index_halves = b.combine([ONE, ZERO, ONE], reversed[1].into(), x, reversed[0].into());
    let null_half = u32::from_le_bytes(*NULL_MESSAGE.first_chunk().expect("four bytes"));
    let null_halves = b.element(packed([Goldilocks::new(null_half.into()), ONE]));
    let empty = b.word(null_digest(0).0);
    let tag = b.tag(LEAF_TAG);
    let mut messages = Vec::with_capacity(SLOT_WORDS * size.capacity);
    while messages.len() < SLOT_WORDS * size.capacity {
        messages.extend(free(b));
    }
    let max = b.constant(MAX_HALF);
    let mut level = Vec::with_capacity(size.capacity);
    for (place, message) in messages.as_chunks::<SLOT_WORDS>().0.iter().take(size.capacity).enumerate() {
        // (index, value), then three zeros.
        let (leaf, [first, second]) = b.hash_free(tag);
        b.no_limbs(second, 1..WORD);
        let index = b.combine_base([ZERO, ONE, Goldilocks::new(place as u64)], start, zero, one);
        let active: Base = b.node(tree, leaf.digest(), zero, index, None).into();
        let not = b.combine_base([ZERO, -ONE, ONE], active, zero, one);
        let not: Bool = b.boolean(not);
        b.node(tree, empty, zero, index, Some(not));

        // The leaf's elements packed two by two must equal those of the message's halves.
        let &[w1, w2, w3] = message;
        let Weights { zero: z, units: [unit, x], high: [high, high_x] } = weights;
        let values = [weights.pair(b, first, 0), weights.pair(b, first, 2), weights.pair(b, second, 0)];
        let from_halves = [
            b.dot(index.into(), &[w1], &[z, z, x, high_x]),
            b.dot(z, &[w2], &[unit, high, x, high_x]),
            b.dot(z, &[w3], &[unit, high, z, z]),
        ];
        for (value, from_halves) in values.into_iter().zip(from_halves) {
            equal(b, value, from_halves);
        }
        // A slot without a leaf has the value 0.
        let value = b.combine([ZERO, ONE, -ONE], values[0], z, index.into());
        for value in [value, values[1], values[2]] {
            only_if(b, active, value);
        }
        for (word, low) in [(w1, 2), (w2, 0), (w2, 2), (w3, 0)] {
            let halves = [b.limb(word, low), b.limb(word, low + 1)];
            canonical(b, halves, max);
        }
        // The halves of the index and the padding, or those of an empty slot.
        let shift = Goldilocks::new((place as u64) << 24);
        let own = b.combine([ZERO, shift, ONE], x, z, index_halves);
        let given = weights.pair(b, w1, 0);
        choose(b, active, [null_halves, own], given);
        let padding = weights.pair(b, w3, 2);
        equal(b, padding, active.into());
        level.push(keccak(b, message));
    }
    b.paths(size.capacity - 1);
    while level.len() > 1 {
        level = level.as_chunks::<2>().0.iter().map(|&pair| keccak_node(b, pair)).collect();
    }
    let none = b.word([ZERO; WORD]);
    let statement = [&[root, none, word(height), word(start)], &level[0][..]].concat();
    Children::new(b, parameters, key).publish(statement);
    builder
}

/// The merge of the tree `of`.
pub(crate) fn merge<K: Extension>(parameters: &Parameters<K>, size: Size, of: &KeccakTree) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let Merge { key, circuits, children: statements, own } = relation(b, size, of);
    let mut children = Children::new(b, parameters, key);
    for (circuit, statement) in circuits.into_iter().zip(&statements) {
        children.child(circuit, statement);
    }
    children.publish(own);
    builder
}

/// The merge of the tree `of` without the proofs of its children.
pub(crate) fn relation<K: Extension>(b: &mut Builder<K>, size: Size, of: &KeccakTree) -> Merge {
    let [key, numbers] = free(b);
    let index = b.limb(numbers, 0);
    let node = Node::new(b, index, size);
    let (zero, one) = (b.zero(), b.one());
    let weights = Weights::new(b);
    // The height is at least 1: a merge has children.
    equal(b, Base::from(node.flags[0]).into(), one.into());
    let flag = |l: usize| node.flags.get(l).map_or(zero, |&flag| flag.into());
    let at_child: Vec<Base> =
        (0..node.flags.len()).map(|l| b.combine_base([ZERO, ONE, -ONE], flag(l), zero, flag(l + 1))).collect();
    let mut child_size = zero;
    for (l, &at) in at_child.iter().enumerate() {
        child_size = b.combine_base([ZERO, Goldilocks::new(1 << l), ONE], at, zero, child_size);
    }
    let child_height = b.combine_base([ZERO, ONE, -ONE], node.height, zero, one);

    // The digests of an empty child at its height, packed two elements at a time.
    let poseidon = null_digests(size.height_max);
    let keccaks: Vec<KeccakDigest> = keccak_tree::null_digests(size.height_max).collect();
    // An empty child has no Keccak digest in OpenZeppelin's tree.
    let values = *of == KeccakTree::Values;
    let of_height = |l: usize| match values {
        true => [&[poseidon[l].0][..], &halves(&keccaks[l])].concat(),
        false => vec![poseidon[l].0],
    };
    let mut nulls = vec![weights.zero; if values { 2 * (1 + 2) } else { 2 }];
    for (l, &at) in at_child.iter().enumerate() {
        for (null, pair) in nulls.iter_mut().zip(of_height(l).as_flattened().as_chunks::<2>().0) {
            let pair = b.element(packed(*pair));
            *null = b.combine([ONE, ZERO, ONE], pair, at.into(), *null);
        }
    }

    let tag = b.tag(NODE_TAG);
    let (root, roots) = b.hash_free(tag);
    let sides = values.then(|| [free(b), free(b)]);
    let stated_roots = free(b);
    let stated = [free(b), free(b)];
    let places = free(b);
    let circuits = [b.bit(), b.bit()];
    let empty: [Bool; 2] = core::array::from_fn(|_| b.bit());
    let (mut children, mut digests) = (Vec::with_capacity(2), Vec::with_capacity(2));
    for i in 0..2 {
        let (height, base) = (b.limb(places[i], 0), b.limb(places[i], 1));
        let nothing: Base = empty[i].into();
        let there = b.combine_base([ZERO, -ONE, ONE], nothing, zero, one);
        let position = if i == 0 { node.base } else { b.combine_base([ZERO, ONE, ONE], node.base, zero, child_size) };
        for (found, expected) in [(height, child_height), (base, position)] {
            let difference = b.combine_base([ZERO, ONE, -ONE], found, zero, expected);
            let here = b.combine_base([ONE, ZERO, ZERO], difference, there, zero);
            equal(b, here.into(), zero.into());
        }
        let (mut found, mut used) = (vec![stated_roots[i]], vec![roots[i]]);
        match sides {
            Some(sides) => {
                found.extend(stated[i]);
                used.extend(sides[i]);
            }
            None => digests.push(OptionalDigest { there: b.boolean(there), words: stated[i] }),
        }
        let [found, used] = [found, used].map(|words| weights.pairs(b, &words));
        for ((found, &null), used) in found.into_iter().zip(&nulls).zip(used) {
            choose(b, nothing, [found, null], used);
        }
        children.push((height, base));
    }
    let own = match sides {
        Some(sides) => keccak_node(b, sides),
        None => {
            let OptionalDigest { there, words } = openzeppelin::parent(b, weights.x(), [digests[0], digests[1]]);
            equal(b, Base::from(there).into(), one.into());
            words
        }
    };
    let none = b.word([ZERO; WORD]);
    let statement = |i: usize| {
        let (height, base) = children[i];
        vec![stated_roots[i], none, word(height), word(base), stated[i][0], stated[i][1]]
    };
    Merge {
        key,
        circuits,
        children: [statement(0), statement(1)],
        own: [&[root.digest(), none, word(node.height), word(node.base)], &own[..]].concat(),
    }
}

/// The values of all slots below a node.
pub fn slots(size: Size, witness: &BucketWitness) -> Vec<Option<Value>> {
    let mut slots = vec![None; size.capacity];
    for leaf in &witness.leaves {
        slots[(leaf.index % size.capacity as u64) as usize] = Some(leaf.value);
    }
    slots
}

/// The Keccak digest of the slots at positions from `base` up.
pub fn digest(base: u64, slots: &[Option<Value>]) -> KeccakDigest {
    keccak_tree::levels(base, slots)[slots.len().ilog2() as usize][0]
}

/// The first free data of buckets: C, the key's digest, the bits of the node's number.
pub(crate) fn begin(size: Size, key: [Goldilocks; WORD], statement: &Statement) -> Vec<Goldilocks> {
    let bits = (size.block_height()..size.height_max).map(|i| Goldilocks::new(statement.base >> i & 1));
    [statement.root.0, key].concat().into_iter().chain(bits).collect()
}

/// Free data of the bucket, up to the claim that it passes on.
pub fn bucket_data(
    size: Size,
    key: [Goldilocks; WORD],
    statement: &Statement,
    slots: &[Option<Value>],
) -> Vec<Goldilocks> {
    let base = statement.base;
    let mut free = begin(size, key, statement);
    let half = |x: u64| Goldilocks::new(x & MAX_HALF.as_u64());
    let messages = free.len();
    for (index, value) in (base..).zip(slots) {
        let (begin, padding) = match value {
            Some(_) => {
                let index = index.to_be_bytes();
                let half = |i: usize| u32::from_le_bytes(*index[4 * i..].first_chunk().expect("four bytes"));
                ([half(0), half(1)], ONE)
            }
            None => ([u32::from_le_bytes(*NULL_MESSAGE.first_chunk().expect("four bytes")), 1], ZERO),
        };
        free.extend(begin.map(|x| Goldilocks::new(x.into())));
        for word in value.unwrap_or_default() {
            free.extend([half(word.as_u64()), half(word.as_u64() >> 32)]);
        }
        free.extend([padding, ZERO]);
    }
    // The circuit takes free words in pairs.
    let end = messages + (free.len() - messages).next_multiple_of(2 * WORD);
    free.resize(end, ZERO);

    let mut leaves = Leaves::new(base, slots, &[]);
    for place in 0..slots.len() {
        leaves.write(&mut free, place);
    }
    free
}

/// The leaves of a bucket, and the Poseidon tree above them.
pub(crate) struct Leaves<'a> {
    base: u64,
    slots: &'a [Option<Value>],
    /// All levels except the root's.
    levels: Vec<Vec<Digest>>,
    /// Siblings on the path above the root.
    above: &'a [Digest],
    known: BTreeSet<(usize, u64)>,
}

impl<'a> Leaves<'a> {
    pub(crate) fn new(base: u64, slots: &'a [Option<Value>], above: &'a [Digest]) -> Self {
        let null = null_digest(0);
        let leaf = |(index, value): (u64, &Option<Value>)| value.map_or(null, |value| leaf_digest(index, &value));
        let mut level = (base..).zip(slots).map(leaf).collect::<Vec<_>>();
        let mut levels = Vec::new();
        while level.len() > 1 {
            let above = level.chunks_exact(2).map(|pair| node_digest(&pair[0], &pair[1])).collect();
            levels.push(core::mem::replace(&mut level, above));
        }
        Self { base, slots, levels, above, known: BTreeSet::new() }
    }
    /// Writes the free data of a slot's leaf, its bit, and the siblings on its path that no earlier slot wrote.
    pub(crate) fn write(&mut self, free: &mut Vec<Goldilocks>, place: usize) {
        let (index, value) = (self.base + place as u64, self.slots[place]);
        free.push(Goldilocks::reduce(index));
        free.extend(value.unwrap_or_default());
        free.extend([ZERO; 3]);
        free.push(Goldilocks::new(value.is_some().into()));
        let siblings = self.levels.iter().enumerate().map(|(height, level)| level[(place >> height) ^ 1]);
        let siblings: Vec<Digest> = siblings.chain(self.above.iter().copied()).collect();
        witness::path(free, &mut self.known, index, &siblings);
    }
}

/// A child, as a merge's free data describes it.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The statement and output of the proof that is verified for this child.
    pub stated: (&'a Statement, &'a [Goldilocks]),
    /// True if that proof is a merge's.
    pub merge: bool,
    /// True if the child is empty: the verified proof is then not about this child.
    pub empty: bool,
}

/// Free data of the merge, up to that of its children, and K.
pub fn merge_data(
    size: Size,
    key: [Goldilocks; WORD],
    statement: &Statement,
    of: &KeccakTree,
    sides: [Side<'_>; 2],
) -> (Vec<Goldilocks>, Vec<Goldilocks>) {
    let height = statement.height;
    let number = |x: u64| Goldilocks::reduce(x);
    let below = usize::from(height.saturating_sub(1));
    let null = keccak_tree::null_digests(size.height_max).nth(below).expect("a height of the class");
    let (null_root, null) = (null_digests(size.height_max)[below], keccak_tree::to_elements(&null));
    let mut free = [key, [number(statement.base >> height), ZERO, ZERO, ZERO]].concat();
    free.extend((0..size.height_max).map(|level| Goldilocks::new((level < height).into())));
    let root = |side: &Side<'_>| if side.empty { null_root } else { side.stated.0.root };
    free.extend(sides.iter().flat_map(|side| root(side).0));
    let used = sides.map(|side| if side.empty { null.to_vec() } else { side.stated.1.to_vec() });
    if *of == KeccakTree::Values {
        free.extend(used.concat());
    }
    free.extend(sides.iter().flat_map(|side| side.stated.0.root.0));
    free.extend(sides.iter().flat_map(|side| side.stated.1.to_vec()));
    free.extend(sides.iter().flat_map(|side| {
        let Statement { height, base, .. } = *side.stated.0;
        [number(height.into()), number(base), ZERO, ZERO]
    }));
    free.extend(sides.iter().map(|side| Goldilocks::new(side.merge.into())));
    free.extend(sides.iter().map(|side| Goldilocks::new(side.empty.into())));
    // A verified child states a digest. Any other output makes the witness invalid anyway.
    let digest = match of {
        KeccakTree::Values => {
            let [left, right] = used.map(|used| keccak_tree::from_elements(&used));
            left.zip(right).map(|(left, right)| keccak_tree::node_digest(&left, &right))
        }
        KeccakTree::OpenZeppelin(_) => {
            let child = |side: &Side<'_>| keccak_tree::from_elements(side.stated.1).filter(|_| !side.empty);
            openzeppelin::parent_data(&mut free, [child(&sides[0]), child(&sides[1])])
        }
    };
    (free, keccak_tree::to_elements(&digest.unwrap_or_default()).to_vec())
}
