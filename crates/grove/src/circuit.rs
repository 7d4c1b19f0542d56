//! The two circuits: bucket and merge.
//!
//! **Public inputs** of both are four words: C, d, the height h and the first position b of a node.
//!
//! **The bucket** holds for exactly these: at least one leaf (index, value), at most m of them, with rising indices, lie at their indices below the
//! node (C, h, b), and d is the root of a binary hash tree whose leaves are exactly theirs, each once. The shape of that tree is
//! free: whoever verifies recomputes d.
//!
//! **The merge** holds for exactly these: there are proofs by one of the two circuits of the key, about siblings (C_L, d_L, h', b') and (C_R, d_R, h', b' + 2^h'), whose
//! parent lies below the node (C, h, b), and d = f(d_L, d_R; 0).
//!
//! **Positions.** A node of height h is the q-th of its height, b = q 2^h. Flags, 1 on the levels below h, that never rise give h, 2^h and 2^(H - h), for H the height
//! of the class; q and 2^(H - h) - 1 - q are below 2^H by their bits, so that 0 <= q < 2^(H - h), and nothing wraps.
//!
//! **Paths** are rows of the permutation's table that the leaves share: what hangs on the root (h, q, C) is a node of the tree at its
//! place, whatever the prover fills in (see [`permutation`](evergrove_multilinear::tables::permutation)). Levels fall by one from
//! row to row and numbers double, from q below 2^(H - h): they are those of nodes, without a wrap. So a leaf's index is below 2^H, and
//! siblings are siblings because their parent is hashed here and is at its place.
//!
//! **d** is a multiset: active leaves and hashes are given, both halves of each active hash and d are taken. Counts are bits, so that each word is given as
//! often as it is taken. From d down, every word that is taken is a leaf or the hash of two words that are taken in turn; a hash that d does not lead to
//! would lie on a cycle of hashes.

use evergrove_multilinear::circuit::Builder;
use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Word};
use evergrove_multilinear::recursion::Children;
use evergrove_multilinear::tables::{Table, WORD, bits};
use evergrove_multilinear::verifier::Parameters;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_proof::Statement;
use evergrove_proof::tree::LEAF_TAG;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
const TWO: Goldilocks = Goldilocks::new(2);

/// What rows of free words are hashed from: nothing uses their digests.
const FREE_TAG: Goldilocks = Goldilocks::new(0x6672_6565);
/// What inner nodes are hashed from.
const NODE_TAG: Goldilocks = ZERO;

/// What the circuits depend on beside their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// H: positions are below 2^H.
    pub height_max: u8,
    /// m, the greatest number of leaves of a bucket.
    pub capacity: usize,
}

impl Size {
    /// Bits that a number below 2^H does not have.
    pub fn zeros(self) -> core::ops::Range<usize> {
        self.height_max.into()..bits::COLUMNS
    }
    /// The most nodes that lie on the paths of a bucket's leaves.
    fn nodes(self) -> usize {
        (0..u32::from(self.height_max)).map(|level| self.capacity.min(1 << level)).sum()
    }
}

/// The bucket.
///
/// # Panics
/// Unless the parameters have rows of bits for [`Size::zeros`].
pub fn bucket<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let [root, canonical] = free(b);
    let [key, numbers] = free(b);
    let index = b.limb(numbers, 0);
    let node = Node::new(b, index, size);
    let tree = b.tree(root, node.height, node.index);
    let set = b.set();
    let (zero, one) = (b.zero(), b.one());
    let yes = b.boolean(one);
    let (leaf_tag, node_tag) = (b.tag(LEAF_TAG), b.tag(NODE_TAG));

    let mut previous: Option<(Bool, Base)> = None;
    for _ in 0..size.capacity {
        // (index, value) and three zeros.
        let (leaf, [first, second]) = b.hash_free(leaf_tag);
        b.no_limbs(second, 1..4);
        let index = b.limb(first, 0);
        let active = match previous {
            // An empty bucket would prove nothing about any C: the first slot is active.
            None => b.node(tree, leaf.digest(), zero, index, Some(yes)),
            Some((before, lower)) => {
                // Active slots are the first ones, and index - lower - 1 is in [0, 2^H): both indices are below 2^H.
                let active = b.node(tree, leaf.digest(), zero, index, None);
                implies(b, active, before);
                let above = b.combine_base([ZERO, ONE, -ONE], index, zero, lower);
                let gap = b.combine_base([ONE, -ONE, ZERO], active.into(), above, zero);
                b.zeros(gap, size.zeros());
                active
            }
        };
        b.give(set, leaf.digest(), Some(active));
        previous = Some((active, index));
    }
    for _ in 1..size.capacity {
        let (hash, [left, right]) = b.hash_free(node_tag);
        let active = b.take(set, left, None);
        b.take(set, right, Some(active));
        b.give(set, hash.digest(), Some(active));
    }
    b.take(set, canonical, Some(yes));
    b.paths(size.nodes());
    let statement = [root, canonical, word(node.height), word(node.base)];
    Children::new(b, parameters, key).publish(statement.to_vec());
    builder
}

/// The merge.
///
/// # Panics
/// Unless the parameters have rows of bits for [`Size::zeros`].
pub fn merge<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let [root, key] = free(b);
    let [numbers, _] = free(b);
    let (index, parent_index) = (b.limb(numbers, 0), b.limb(numbers, 1));
    let node = Node::new(b, index, size);
    let node_tag = b.tag(NODE_TAG);
    let (parent, roots) = b.hash_free(node_tag);
    let (canonical, canonicals) = b.hash_free(node_tag);
    let circuits = [b.bit(), b.bit()];

    // The children are one level below their parent, which is below the node.
    let (zero, one) = (b.zero(), b.one());
    let below = Height::new(b, size.height_max - 1);
    let tree = b.tree(root, node.height, node.index);
    let parent_height = b.combine_base([ZERO, ONE, ONE], below.height, zero, one);
    let yes = b.boolean(one);
    b.node(tree, parent.digest(), parent_height, parent_index, Some(yes));
    b.paths(size.height_max.into());
    let left = b.combine_base([TWO, ZERO, ZERO], parent_index, below.size, zero);
    let right = b.combine_base([ZERO, ONE, ONE], left, zero, below.size);

    let mut children = Children::new(b, parameters, key);
    for (i, base) in [left, right].into_iter().enumerate() {
        children.child(circuits[i], &[roots[i], canonicals[i], word(below.height), word(base)]);
    }
    children.publish(vec![root, canonical.digest(), word(node.height), word(node.base)]);
    builder
}

/// The blocks that both circuits need of each table.
pub fn blocks<K: Extension>(parameters: &Parameters<K>, size: Size) -> [usize; Table::ALL.len()] {
    let [bucket, merge] = [bucket(parameters, size).blocks(), merge(parameters, size).blocks()];
    core::array::from_fn(|table| bucket[table].max(merge[table]))
}

/// The words of a statement: the public inputs of both circuits.
pub fn information(statement: &Statement) -> Vec<[Goldilocks; WORD]> {
    let number = |x: u64| [Goldilocks::reduce(x), ZERO, ZERO, ZERO];
    let Statement { root, canonical, height, base } = statement;
    vec![root.0, canonical.0, number((*height).into()), number(*base)]
}

/// Two words of the prover's choice.
fn free<K: Extension>(b: &mut Builder<K>) -> [Word; 2] {
    let tag = b.tag(FREE_TAG);
    b.hash_free(tag).1
}

/// A number as a word of public inputs.
fn word(x: Base) -> Word {
    Element::from(x).into()
}

/// Demands a => c.
fn implies<K: Extension>(b: &mut Builder<K>, a: Bool, c: Bool) {
    let zero = b.zero();
    let [a, c]: [Base; 2] = [a.into(), c.into()];
    b.check([-ONE, ONE, ZERO], a.into(), c.into(), zero.into(), zero.into());
}

/// A height of the prover's choice, from 0 up.
struct Height {
    /// 1 on the levels below the height.
    flags: Vec<Bool>,
    height: Base,
    /// 2^height.
    size: Base,
}

impl Height {
    fn new<K: Extension>(b: &mut Builder<K>, most: u8) -> Self {
        let flags: Vec<Bool> = (0..most).map(|_| b.bit()).collect();
        for pair in flags.windows(2) {
            implies(b, pair[1], pair[0]);
        }
        let (zero, mut size) = (b.zero(), b.one());
        let mut height = zero;
        for &flag in &flags {
            height = b.combine_base([ZERO, ONE, ONE], height, zero, flag.into());
            // Times 1 + flag.
            size = b.combine_base([ONE, ONE, ZERO], size, flag.into(), zero);
        }
        Self { flags, height, size }
    }
}

/// The node that is proven about.
struct Node {
    height: Base,
    /// q.
    index: Base,
    /// q 2^h.
    base: Base,
}

impl Node {
    fn new<K: Extension>(b: &mut Builder<K>, index: Base, size: Size) -> Self {
        let Height { flags, height, size: leaves } = Height::new(b, size.height_max);
        let (zero, one) = (b.zero(), b.one());
        // 2^(H - h): times 2 - flag.
        let room = flags.iter().fold(one, |room, &flag| b.combine_base([-ONE, TWO, ZERO], room, flag.into(), zero));
        let last = b.combine_base([ZERO, ONE, -ONE], room, zero, one);
        let left = b.combine_base([ZERO, ONE, -ONE], last, zero, index);
        b.zeros(index, size.zeros());
        b.zeros(left, size.zeros());
        let base = b.combine_base([ONE, ZERO, ZERO], index, leaves, zero);
        Self { height, index, base }
    }
}
