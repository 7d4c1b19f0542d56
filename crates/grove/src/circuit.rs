//! The two circuits: bucket and merge.
//!
//! **Public inputs** of both circuits are four words: C, d, the height h and the first position b of a node.
//!
//! **The bucket** is satisfiable for exactly these statements: between 1 and m leaves (index, value) with strictly
//! rising indices lie at their indices below the node (C, h, b), and d is the root of a binary hash tree whose leaves
//! are exactly these leaves, each once. The shape of that tree is free: the verifier recomputes d.
//!
//! **The merge** is satisfiable for exactly these statements: there are proofs, each by one of the two circuits of the
//! key, about siblings (C_L, d_L, h', b') and (C_R, d_R, h', b' + 2^h'); their parent lies below the node (C, h, b);
//! and d = f(d_L, d_R; 0).
//!
//! **Positions.** A node of height h has a number q among the nodes of its height, and b = q 2^h. Flags that are 1 on
//! the levels below h, and never rise, give h, 2^h and 2^(H - h), where H is the greatest height of the class. By their
//! bits, q and 2^(H - h) - 1 - q are below 2^H. Therefore 0 <= q < 2^(H - h), and nothing wraps.
//!
//! **Paths** are rows of the permutation's table that the leaves share. Whatever the prover fills in, everything that
//! hangs on the root (h, q, C) is a node of the tree at its place (see
//! [`permutation`](evergrove_verifier::tables::permutation)). From row to row levels fall by one and numbers double,
//! starting from q < 2^(H - h), so the numbers are those of nodes and do not wrap. Therefore a leaf's index is below
//! 2^H, and two children are siblings because their parent is hashed here and is at its place.
//!
//! **d** is checked with a multiset. Active leaves and active hashes are given to it; both halves of each active hash,
//! and d, are taken from it. Counts are bits, so each word is given as often as it is taken. From d down, every word
//! that is taken is a leaf or the hash of two words that are taken in turn. A hash that d does not lead to would lie on
//! a cycle of hashes.

use evergrove_multilinear::circuit::Builder;
use evergrove_multilinear::circuit::wires::{Base, Bool, Word};
use evergrove_multilinear::recursion::{Children, Modes};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::argument::Parameters;
use evergrove_verifier::tables::{Table, WORD, bits};
use evergrove_verifier::tree::LEAF_TAG;

use crate::application::{Circuits, Slot, digest_of, word};
use crate::translation::KeccakTree;
use crate::{block, translation};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
const TWO: Goldilocks = Goldilocks::new(2);

/// The tag of hashes whose only purpose is to hold free words; their digests are unused.
const FREE_TAG: Goldilocks = Goldilocks::new(0x6672_6565);
/// The tag of inner nodes.
pub(crate) const NODE_TAG: Goldilocks = ZERO;

/// The size of the circuits: what they depend on in addition to their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// H: positions are below 2^H.
    pub height_max: u8,
    /// m, the greatest number of leaves of a bucket; for complete batches the slots of a block, a power of two.
    pub capacity: usize,
}

/// The circuits of batches, or of an application over them.
#[derive(Clone, Copy)]
pub struct CircuitSet<'a> {
    /// Their size.
    pub size: Size,
    /// The application, with the number of elements of its outputs.
    pub app: Option<(&'a dyn Circuits, usize)>,
    /// True if buckets are blocks with all their leaves.
    pub complete: bool,
    /// The tree of digest translation: buckets are then all slots below a node, and every other field but `size` is
    /// ignored.
    pub translation: Option<&'a KeccakTree>,
}

impl CircuitSet<'_> {
    /// The circuits of batches.
    pub fn of_batches(size: Size) -> Self {
        Self { size, app: None, complete: false, translation: None }
    }
    /// The modes of the rows of the table of bits.
    pub fn modes(&self) -> Modes {
        if let Some(tree) = self.translation {
            return tree.modes(self.size);
        }
        let zeros = vec![self.size.zeros()];
        match self.app {
            None => Modes { zeros, ..Modes::default() },
            Some((app, _)) => {
                let limbs = bits::INDICES * bits::CHUNK..bits::COLUMNS;
                let bounds = app.bounds().into_iter().map(|end| end..bits::COLUMNS).collect();
                let zeros = [zeros, vec![limbs], bounds].concat();
                Modes { widths: vec![bits::CHUNK], zeros, other: None }
            }
        }
    }
    /// The most nodes on the paths of a bucket's leaves.
    pub(crate) fn nodes(&self) -> usize {
        if self.complete { self.size.block_nodes() } else { self.size.nodes() }
    }
    /// The bucket, or the block of a complete batch.
    ///
    /// # Panics
    /// Unless the parameters have the modes of [`CircuitSet::modes`].
    pub fn bucket<K: Extension>(&self, parameters: &Parameters<K>) -> Builder<K> {
        if let Some(tree) = self.translation {
            return tree.bucket(parameters, self.size);
        }
        let mut builder = Builder::new(parameters.tables().clone());
        let b = &mut builder;
        let (key, mut statement, slots) = if self.complete { self.all_leaves(b) } else { self.chosen_leaves(b) };
        if let Some((app, output_len)) = self.app {
            let inputs: Vec<Base> = app.inputs().iter().map(|_| b.any()).collect();
            statement.push(digest_of(b, &inputs));
            let output = app.fold(b, &inputs, &slots);
            assert_eq!(output.len(), output_len, "elements of an output");
            statement.extend(output.into_iter().map(word));
        }
        Children::new(b, parameters, key).publish(statement);
        builder
    }
    /// The blocks of each table that both circuits need.
    pub fn blocks<K: Extension>(&self, parameters: &Parameters<K>) -> [usize; Table::ALL.len()] {
        let (bucket, merge) = rayon::join(|| self.bucket(parameters).blocks(), || self.merge(parameters).blocks());
        core::array::from_fn(|table| bucket[table].max(merge[table]))
    }
}

impl Size {
    /// The columns of bits that are 0 in a number below 2^H.
    pub fn zeros(self) -> core::ops::Range<usize> {
        self.height_max.into()..bits::COLUMNS
    }
    /// The most nodes on the paths of `capacity` leaves.
    fn nodes(self) -> usize {
        (0..u32::from(self.height_max)).map(|level| self.capacity.min(1 << level)).sum()
    }
}

/// The bucket.
///
/// # Panics
/// Unless the parameters have a mode for [`Size::zeros`].
pub fn bucket<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    CircuitSet::of_batches(size).bucket(parameters)
}

impl CircuitSet<'_> {
    /// Chosen leaves below a node: the key, the words of the statement, the slots.
    fn chosen_leaves<K: Extension>(&self, b: &mut Builder<K>) -> (Word, Vec<Word>, Vec<Slot>) {
        let size = self.size;
        let [root, canonical] = free(b);
        let [key, numbers] = free(b);
        let index = b.limb(numbers, 0);
        let node = Node::new(b, index, size);
        let tree = b.tree(root, node.height, node.index);
        let set = b.set();
        let (zero, one) = (b.zero(), b.one());
        let yes = b.boolean(one);
        let (leaf_tag, node_tag) = (b.tag(LEAF_TAG), b.tag(NODE_TAG));

        let mut slots: Vec<Slot> = Vec::with_capacity(size.capacity);
        for _ in 0..size.capacity {
            // (index, value), then three zeros.
            let (leaf, [first, second]) = b.hash_free(leaf_tag);
            b.no_limbs(second, 1..4);
            let index = b.limb(first, 0);
            let active = match slots.last() {
                // An empty bucket would say nothing about C, so the first slot is active.
                None => b.node(tree, leaf.digest(), zero, index, Some(yes)),
                Some(&Slot { active: before, index: lower, .. }) => {
                    // Active slots come first.
                    let active = b.node(tree, leaf.digest(), zero, index, None);
                    implies(b, active, before);
                    rises(b, active, [lower, index], size);
                    active
                }
            };
            b.give(set, leaf.digest(), Some(active));
            slots.push(Slot { active, index, value: [(first, 1), (first, 2), (first, 3), (second, 0)] });
        }
        for _ in 1..size.capacity {
            let (hash, [left, right]) = b.hash_free(node_tag);
            let active = b.take(set, left, None);
            b.take(set, right, Some(active));
            b.give(set, hash.digest(), Some(active));
        }
        b.take(set, canonical, Some(yes));
        b.paths(size.nodes());
        (key, vec![root, canonical, word(node.height), word(node.base)], slots)
    }

    /// All leaves of a block below a node: the key, the words of the statement, the slots.
    pub(crate) fn all_leaves<K: Extension>(&self, b: &mut Builder<K>) -> (Word, Vec<Word>, Vec<Slot>) {
        let [root, key] = free(b);
        let [numbers, _] = free(b);
        let index = b.limb(numbers, 0);
        let node = Node::new(b, index, self.size);
        let tree = b.tree(root, node.height, node.index);
        let slots = block::slots(b, &node, tree, self.size);
        let none = b.word([ZERO; WORD]);
        (key, vec![root, none, word(node.height), word(node.base)], slots)
    }
}

/// The merge.
///
/// # Panics
/// Unless the parameters have a mode for [`Size::zeros`].
pub fn merge<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    CircuitSet::of_batches(size).merge(parameters)
}

impl CircuitSet<'_> {
    /// The merge.
    ///
    /// # Panics
    /// Unless the parameters have the modes of [`CircuitSet::modes`].
    pub fn merge<K: Extension>(&self, parameters: &Parameters<K>) -> Builder<K> {
        if let Some(tree) = self.translation {
            return translation::merge(parameters, self.size, tree);
        }
        let mut builder = Builder::new(parameters.tables().clone());
        let b = &mut builder;
        let Merge { key, circuits, children: statements, own } = self.relation(b);
        let mut children = Children::new(b, parameters, key);
        for (circuit, statement) in circuits.into_iter().zip(&statements) {
            children.child(circuit, statement);
        }
        children.publish(own);
        builder
    }

    /// The merge without the proofs of its children.
    pub(crate) fn relation<K: Extension>(&self, b: &mut Builder<K>) -> Merge {
        let size = self.size;
        let [root, key] = free(b);
        let [numbers, inputs] = free(b);
        let (index, parent_index) = (b.limb(numbers, 0), b.limb(numbers, 1));
        let node = Node::new(b, index, size);
        let node_tag = b.tag(NODE_TAG);
        let (parent, roots) = b.hash_free(node_tag);
        let (canonical, canonicals) = if self.complete {
            let none = b.word([ZERO; WORD]);
            (none, [none; 2])
        } else {
            let (canonical, canonicals) = b.hash_free(node_tag);
            (canonical.digest(), canonicals)
        };
        let circuits = [b.bit(), b.bit()];

        // The children are one level below their parent, and the parent is below the node.
        let (zero, one) = (b.zero(), b.one());
        let below = Height::new(b, size.height_max - 1);
        let tree = b.tree(root, node.height, node.index);
        let parent_height = b.combine_base([ZERO, ONE, ONE], below.height, zero, one);
        let yes = b.boolean(one);
        b.node(tree, parent.digest(), parent_height, parent_index, Some(yes));
        b.paths(size.height_max.into());
        let left = b.combine_base([TWO, ZERO, ZERO], parent_index, below.size, zero);
        let right = b.combine_base([ZERO, ONE, ONE], left, zero, below.size);

        if self.complete {
            block::nothing_beside(b, &node, tree, [parent_index, below.size], &below.flags);
        }
        // The digest of the inputs, then the output: of the left child, of the right child, of the merge.
        let mut said: [Vec<Word>; 3] = Default::default();
        if let Some((app, output_len)) = self.app {
            let [left, right] = [(); 2].map(|()| (0..output_len).map(|_| b.any()).collect::<Vec<Base>>());
            let output = app.reduce(b, &left, &right);
            assert_eq!(output.len(), output_len, "elements of an output");
            said =
                [left, right, output].map(|output| [inputs].into_iter().chain(output.into_iter().map(word)).collect());
        }
        let [of_left, of_right, own] = said;
        let child = |i: usize, base: Base, said: Vec<Word>| {
            [vec![roots[i], canonicals[i], word(below.height), word(base)], said].concat()
        };
        Merge {
            key,
            circuits,
            children: [child(0, left, of_left), child(1, right, of_right)],
            own: [vec![root, canonical, word(node.height), word(node.base)], own].concat(),
        }
    }
}

/// What a merge relates: statements of proofs by circuits of a key, and its own statement.
pub(crate) struct Merge {
    pub(crate) key: Word,
    /// For each child, true if it is a merge.
    pub(crate) circuits: [Bool; 2],
    pub(crate) children: [Vec<Word>; 2],
    pub(crate) own: Vec<Word>,
}

/// The blocks of each table that both circuits of batches need.
pub fn blocks<K: Extension>(parameters: &Parameters<K>, size: Size) -> [usize; Table::ALL.len()] {
    CircuitSet::of_batches(size).blocks(parameters)
}

/// Two words that the prover chooses.
pub(crate) fn free<K: Extension>(b: &mut Builder<K>) -> [Word; 2] {
    let tag = b.tag(FREE_TAG);
    b.hash_free(tag).1
}

/// Demands that a = 1 implies c = 1.
#[track_caller]
pub(crate) fn implies<K: Extension>(b: &mut Builder<K>, a: Bool, c: Bool) {
    let zero = b.zero();
    let [a, c]: [Base; 2] = [a.into(), c.into()];
    b.check([-ONE, ONE, ZERO], a.into(), c.into(), zero.into(), zero.into());
}

/// Demands, where the bit is 1, that index - lower - 1 is in [0, 2^H). Both indices are below 2^H.
pub(crate) fn rises<K: Extension>(b: &mut Builder<K>, active: Bool, [lower, index]: [Base; 2], size: Size) {
    let zero = b.zero();
    let above = b.combine_base([ZERO, ONE, -ONE], index, zero, lower);
    let gap = b.combine_base([ONE, -ONE, ZERO], active.into(), above, zero);
    b.zeros(gap, size.zeros());
}

/// A height from 0 to `most`, chosen by the prover.
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
            // Multiply by 1 + flag.
            size = b.combine_base([ONE, ONE, ZERO], size, flag.into(), zero);
        }
        Self { flags, height, size }
    }
}

/// The node that a proof is about.
pub(crate) struct Node {
    /// 1 on the levels below the height.
    pub(crate) flags: Vec<Bool>,
    pub(crate) height: Base,
    /// q, the number among the nodes of its height.
    index: Base,
    /// b = q 2^h.
    pub(crate) base: Base,
}

impl Node {
    pub(crate) fn new<K: Extension>(b: &mut Builder<K>, index: Base, size: Size) -> Self {
        let Height { flags, height, size: leaves } = Height::new(b, size.height_max);
        let (zero, one) = (b.zero(), b.one());
        // 2^(H - h): multiply by 2 - flag, starting from 1.
        let room = flags.iter().fold(one, |room, &flag| b.combine_base([-ONE, TWO, ZERO], room, flag.into(), zero));
        let last = b.combine_base([ZERO, ONE, -ONE], room, zero, one);
        let left = b.combine_base([ZERO, ONE, -ONE], last, zero, index);
        b.zeros(index, size.zeros());
        b.zeros(left, size.zeros());
        let base = b.combine_base([ONE, ZERO, ZERO], index, leaves, zero);
        Self { flags, height, index, base }
    }
}
