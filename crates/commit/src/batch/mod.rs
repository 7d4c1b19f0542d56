//! Batches: which proofs show that a set of slots is in a vector.
//!
//! **The structure A_I** of a batch I (paper, Fig. 3) is a compressed trie over I cut into buckets of at most m leaves.
//! Let `top` and `base` be the height and first position of a subtree, and I its members there:
//!
//! - at most m members are one *bucket*: each leaf climbs its own path to (`top`, `base`);
//! - more members are one *merge*: they part at the highest bit in which the first and the last differ. The two
//!   children are the structures of the two halves with that bit as `top`, and the merge climbs from above them to
//!   (`top`, `base`).
//!
//! The whole batch has `top` = H and `base` = 0. A proof is made only where two sides of together more than m members
//! meet, about |I| / m proofs, and a lone sibling needs neither a bucket nor a merge: it is climbed. The structure is a
//! function of (I, H, m) alone, so after any sequence of updates it equals the one made from scratch. [`worst_case`]
//! bounds the proofs that one change makes again.
//!
//! **The paper's structure**, for comparison, is the second variant of [`Structure`]: T_I' of its section 3.3, a proof
//! for every node with members from blocks of 2^q slots up. Over all slots there are both shapes. Plans, updates and
//! witnesses work the same way for all.

mod cost;
mod levels;
mod plan;
mod update;
mod witness;

use std::sync::Arc;

use evergrove_primitives::Digest;
use evergrove_verifier::tree::{node_digest, split_level};
use evergrove_verifier::{NodeKind, Scheme, Statement};

pub use cost::{Change, Cost, worst_case};
pub use plan::{Input, Plan, Step};

use crate::hashing::canonical_digest;
use crate::{Store, StoreError, Vector};

/// A batch could not be built, changed or proven.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The list of indices is empty.
    #[error("the batch is empty: name at least one slot")]
    Empty,
    /// An index is repeated.
    #[error("index {0} is named twice: a batch is a set, name it once")]
    Duplicate(u64),
    /// The slot does not exist.
    #[error("index {index} is out of range: a vector of height {height} has slots 0 to {}; correct it or grow the vector", (1u64 << height) - 1)]
    OutOfRange {
        /// The index.
        index: u64,
        /// The vector's height.
        height: u8,
    },
    /// A slot of the batch holds no value.
    #[error("slot {0} is empty and cannot be in a batch: give it a value, or remove it from the batch first")]
    EmptySlot(u64),
    /// A joining index is already in the batch.
    #[error("index {0} is in the batch already: leave it out of those that join")]
    AlreadyMember(u64),
    /// A leaving index is not in the batch.
    #[error("index {0} is not in the batch: leave it out of those that leave")]
    NotMember(u64),
    /// The vector is not the one over which the batch was built.
    #[error(
        "the subtree of height {height} at {base} has root {found} in the vector and {expected} in the batch: update the batch to the vector's epoch first"
    )]
    Stale {
        /// Height of the subtree.
        height: u8,
        /// First position of the subtree.
        base: u64,
        /// Its root in the batch.
        expected: Digest,
        /// Its root in the vector.
        found: Digest,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The proofs that a batch consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Ours: a compressed trie cut into buckets of at most `capacity` leaves.
    Compressed {
        /// m.
        capacity: usize,
    },
    /// The paper's T_I' (sections 3.3, 3.6 and 3.7): a proof for every node with members, from blocks of 2^`block_height`
    /// adjacent slots up to the root.
    Levels {
        /// q. A vector of a lower height is one block.
        block_height: u8,
    },
    /// All filled slots: the compressed trie over the blocks of 2^`block_height` adjacent slots that are not empty. A
    /// vector of a lower height counts as grown to it ([`Commitment::grown`](evergrove_verifier::Commitment::grown)).
    /// Statements have no canonical digest.
    Complete {
        /// k.
        block_height: u8,
    },
    /// All filled slots: a proof for every node that is not empty, from blocks of 2^`block_height` slots up. Otherwise
    /// like [`Self::Complete`].
    Tree {
        /// k.
        block_height: u8,
    },
}

impl Structure {
    /// The structure of the batches of a scheme whose buckets hold `capacity` leaves, or have as many slots.
    pub fn of(scheme: Scheme, capacity: usize) -> Self {
        let block_height = capacity.max(1).ilog2() as u8;
        match scheme {
            Scheme::Evergrove | Scheme::Selected => Self::Compressed { capacity },
            Scheme::RecklePaper => Self::Levels { block_height },
            Scheme::Complete => Self::Complete { block_height },
            Scheme::Tree => Self::Tree { block_height },
        }
    }

    /// True where the members are the filled slots.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Complete { .. } | Self::Tree { .. })
    }

    /// The greatest number of leaves under one proof without children: m, 2^q or 2^k.
    pub fn capacity(self) -> usize {
        match self {
            Self::Compressed { capacity } => capacity,
            Self::Levels { block_height } | Self::Complete { block_height } | Self::Tree { block_height } => {
                1 << block_height
            }
        }
    }
}

/// The parts of a node of a batch structure. [`Structure::Compressed`] has buckets and merges, [`Structure::Levels`]
/// blocks and levels, [`Structure::Complete`] filled blocks and merges, [`Structure::Tree`] filled blocks and levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeShape {
    /// 1 to m members, ascending.
    Bucket(Vec<u64>),
    /// Two sides of equal height, together more than m members.
    Merge {
        /// The members below the left child of the node at which they part.
        left: Arc<Node>,
        /// The members below the right child.
        right: Arc<Node>,
    },
    /// Members among the 2^height adjacent slots of a block, ascending.
    Block(Vec<u64>),
    /// All filled slots of a block, ascending; they are those of the node.
    Filled(Vec<u64>),
    /// The left and right child that have members: one or both.
    Level([Option<Arc<Node>>; 2]),
}

/// A node of a batch structure: one proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The statement of its proof.
    pub statement: Statement,
    /// Bucket or merge.
    pub shape: NodeShape,
    /// Members below it.
    pub count: usize,
}

impl Node {
    /// The circuit of its proof.
    pub fn kind(&self) -> NodeKind {
        match self.shape {
            NodeShape::Bucket(_) | NodeShape::Block(_) | NodeShape::Filled(_) => NodeKind::Bucket,
            NodeShape::Merge { .. } | NodeShape::Level(_) => NodeKind::Merge,
        }
    }

    /// The children, left first: none for a bucket or block, two for a merge, one or two for a level.
    pub fn children(&self) -> impl Iterator<Item = &Arc<Node>> {
        let pair = match &self.shape {
            NodeShape::Bucket(_) | NodeShape::Block(_) | NodeShape::Filled(_) => [None, None],
            NodeShape::Merge { left, right } => [Some(left), Some(right)],
            NodeShape::Level([left, right]) => [left.as_ref(), right.as_ref()],
        };
        pair.into_iter().flatten()
    }

    /// Appends the members below, ascending.
    pub fn members(&self, out: &mut Vec<u64>) {
        match &self.shape {
            NodeShape::Bucket(indices) | NodeShape::Block(indices) | NodeShape::Filled(indices) => {
                out.extend_from_slice(indices)
            }
            NodeShape::Merge { .. } | NodeShape::Level(_) => self.children().for_each(|c| c.members(out)),
        }
    }

    /// Calls `visit` for every node below and for this one, children first.
    fn post_order<'a>(self: &'a Arc<Self>, visit: &mut impl FnMut(&'a Arc<Node>)) {
        self.children().for_each(|c| c.post_order(visit));
        visit(self);
    }
}

/// The structure A_I of a batch over one epoch of a vector. Cheap to clone; an update shares the unchanged parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    root: Arc<Node>,
    height: u8,
    structure: Structure,
}

impl Batch {
    /// The structure of the slots `indices` (in any order) of `vector`, in buckets of at most `capacity` leaves. Reads the
    /// path of each member once; takes |I| - 1 permutations, on all cores.
    ///
    /// # Errors
    /// [`BatchError::Empty`], [`BatchError::Duplicate`], [`BatchError::OutOfRange`], [`BatchError::EmptySlot`], and the
    /// errors of the store.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn build<S: Store>(vector: &Vector<S>, indices: &[u64], capacity: usize) -> Result<Self, BatchError> {
        Self::build_as(vector, indices, Structure::Compressed { capacity })
    }

    /// [`Self::build`] for any structure. Structures over all rows have every filled slot and ignore `indices`; for an
    /// empty vector they are the first block and the nodes above it.
    ///
    /// # Errors
    /// The errors of [`Self::build`].
    ///
    /// # Panics
    /// If the capacity is 0 or the height of blocks above 40.
    pub fn build_as<S: Store>(vector: &Vector<S>, indices: &[u64], structure: Structure) -> Result<Self, BatchError> {
        let indices = match structure.is_complete() {
            true => vector.occupied().collect::<Result<_, _>>()?,
            false => sorted(indices)?,
        };
        let height = vector.height();
        match indices.last() {
            None if !structure.is_complete() => return Err(BatchError::Empty),
            last => last.map_or(Ok(()), |last| in_range(*last, height))?,
        }
        let root = match structure {
            Structure::Compressed { capacity } => {
                assert!(capacity > 0, "a bucket holds at least one leaf");
                Builder::new(vector, structure).build(&indices, height, 0)?
            }
            Structure::Complete { block_height } => {
                Builder::new(vector, structure).build(&indices, height.max(block_height), 0)?
            }
            Structure::Levels { block_height } => {
                levels::Builder::new(vector, block_height).build(&indices, height, 0)?
            }
            Structure::Tree { block_height } => {
                levels::Builder::of_all(vector, block_height).build(&indices, height.max(block_height), 0)?
            }
        };
        Ok(Self { root, height, structure })
    }

    /// The node whose proof is that of the whole batch, before a wrap.
    pub fn root(&self) -> &Arc<Node> {
        &self.root
    }

    /// The statement of the proof of the whole batch.
    pub fn statement(&self) -> &Statement {
        &self.root.statement
    }

    /// Height of the vector.
    pub fn height(&self) -> u8 {
        self.height
    }

    /// The proofs that the batch consists of.
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        self.root.count
    }

    /// The members, ascending.
    pub fn indices(&self) -> Vec<u64> {
        let mut out = Vec::with_capacity(self.count());
        self.root.members(&mut out);
        out
    }

    /// True when `index` is a member. O(depth + log m).
    pub fn contains(&self, index: u64) -> bool {
        let mut node = &self.root;
        loop {
            match &node.shape {
                NodeShape::Bucket(indices) | NodeShape::Block(indices) | NodeShape::Filled(indices) => {
                    return indices.binary_search(&index).is_ok();
                }
                NodeShape::Merge { left, right } => node = if index < right.statement.base { left } else { right },
                NodeShape::Level(children) => {
                    let side = index >> (node.statement.height - 1) & 1;
                    match &children[side as usize] {
                        Some(child) => node = child,
                        None => return false,
                    }
                }
            }
        }
    }

    /// All nodes, children before parents, left before right.
    pub fn nodes(&self) -> Vec<&Arc<Node>> {
        let mut out = Vec::new();
        self.root.post_order(&mut |node| out.push(node));
        out
    }
}

/// The indices in ascending order, or the first repeated one.
fn sorted(indices: &[u64]) -> Result<Vec<u64>, BatchError> {
    let mut out = indices.to_vec();
    out.sort_unstable();
    match out.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(BatchError::Duplicate(w[0])),
        None => Ok(out),
    }
}

fn in_range(index: u64, height: u8) -> Result<(), BatchError> {
    if index >> height == 0 { Ok(()) } else { Err(BatchError::OutOfRange { index, height }) }
}

/// The node at which the members between `first < last` part: height and bases of the two children.
fn split_node(first: u64, last: u64) -> (u8, u64, u64) {
    let bit = split_level(first, last);
    let left = first >> bit << bit;
    (bit, left, left | 1 << bit)
}

/// The statement of the node (`top`, `base`) with the members `indices`, ascending, all read from their leaves.
fn statement_of<S: Store>(vector: &Vector<S>, indices: &[u64], top: u8, base: u64) -> Result<Statement, BatchError> {
    let mut reader = vector.reader();
    let leaves = indices
        .iter()
        .map(|i| match reader.node(0, *i)? {
            d if d == vector.nulls()[0] => Err(BatchError::EmptySlot(*i)),
            d => Ok((*i, d)),
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Statement { root: reader.node(top, base >> top)?, canonical: canonical_digest(&leaves), height: top, base })
}

/// The statement about all leaves of the node (`top`, `base`).
fn complete<S: Store>(vector: &Vector<S>, top: u8, base: u64) -> Result<Statement, StoreError> {
    Ok(Statement { root: vector.grown_node(top, base >> top)?, canonical: Digest::ZERO, height: top, base })
}

/// Makes nodes over a vector.
struct Builder<'a, S> {
    vector: &'a Vector<S>,
    structure: Structure,
    /// m of [`Structure::Compressed`].
    capacity: usize,
}

impl<'a, S: Store> Builder<'a, S> {
    fn new(vector: &'a Vector<S>, structure: Structure) -> Self {
        Self { vector, structure, capacity: structure.capacity() }
    }

    /// True when the members `indices`, ascending, are one bucket.
    fn is_bucket(&self, indices: &[u64]) -> bool {
        match self.structure {
            Structure::Complete { block_height } => {
                let [first, last] = [indices.first(), indices.last()].map(|i| i.map(|i| i >> block_height));
                first == last
            }
            _ => indices.len() <= self.capacity,
        }
    }

    /// The structure of `indices`, ascending, below (`top`, `base`).
    fn build(&self, indices: &[u64], top: u8, base: u64) -> Result<Arc<Node>, BatchError> {
        if self.is_bucket(indices) {
            return self.bucket(indices.to_vec(), top, base);
        }
        let (bit, left_base, right_base) = split_node(indices[0], indices[indices.len() - 1]);
        let (left, right) = indices.split_at(indices.partition_point(|i| *i < right_base));
        let (left, right) = rayon::join(|| self.build(left, bit, left_base), || self.build(right, bit, right_base));
        self.merge(left?, right?, top, base)
    }

    fn bucket(&self, indices: Vec<u64>, top: u8, base: u64) -> Result<Arc<Node>, BatchError> {
        let count = indices.len();
        let (statement, shape) = if self.structure.is_complete() {
            (complete(self.vector, top, base)?, NodeShape::Filled(indices))
        } else {
            (statement_of(self.vector, &indices, top, base)?, NodeShape::Bucket(indices))
        };
        Ok(Arc::new(Node { statement, count, shape }))
    }

    fn merge(&self, left: Arc<Node>, right: Arc<Node>, top: u8, base: u64) -> Result<Arc<Node>, BatchError> {
        let statement = match self.structure {
            Structure::Complete { .. } => complete(self.vector, top, base)?,
            _ => Statement {
                root: self.vector.node(top, base >> top)?,
                canonical: node_digest(&left.statement.canonical, &right.statement.canonical),
                height: top,
                base,
            },
        };
        Ok(Arc::new(Node { statement, count: left.count + right.count, shape: NodeShape::Merge { left, right } }))
    }
}
