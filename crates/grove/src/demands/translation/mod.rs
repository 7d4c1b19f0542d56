//! The demands of the circuits of digest translation, in trees of height 8 with buckets of two slots.
//!
//! The strongest lies state something false: the test opens C with all hashes that it knows, and computes K natively.
//! The circuits of merges publish the statements of both children too, and verify none.

mod argued;
mod bucket;
mod merge;
mod openzeppelin;

use evergrove_multilinear::circuit::{Builder, Witness as Columns};
use evergrove_multilinear::recursion::Children;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::demands::{Lie, Report, Subject, integer};
use evergrove_verifier::Statement;
use evergrove_verifier::keccak_tree::{self, KeccakDigest, from_elements, to_elements};
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tree::{Value, leaf_digest, node_digest, null_digest, null_digests};

use super::batches::{self, Known, chained, parameters, published, unused, value, with_paths_of};
use crate::circuit::{CircuitSet, Merge, Size};
use crate::translation::{self, KeccakTree, Side, bucket_data, merge_data};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

const SIZE: Size = Size { height_max: 8, capacity: 2 };
/// The height of a bucket.
const HEIGHT: u8 = 1;
/// The first position of the honest bucket.
const BASE: u64 = 20;
/// The place of the bits of a bucket's number in its free data, and the place behind them.
const NUMBER: usize = 2 * WORD;
const SLOTS: usize = NUMBER + (SIZE.height_max - HEIGHT) as usize;
/// Words of a statement with its digest.
const WORDS: usize = 6;

/// What a circuit states.
struct Stated {
    root: Digest,
    height: u64,
    base: u64,
    /// `None` if the halves are not numbers of 32 bits.
    keccak: Option<KeccakDigest>,
}

impl Stated {
    fn new(words: &[[Goldilocks; WORD]]) -> Self {
        let [height, base] = [2, 3].map(|i| words[i][0].as_u64());
        Self { root: Digest(words[0]), height, base, keccak: from_elements(words[4..].as_flattened()) }
    }
    /// True if the tree has a node of this height at this position.
    fn is_node(&self) -> bool {
        self.height <= SIZE.height_max.into()
            && self.base < 1 << SIZE.height_max
            && self.base.is_multiple_of(1 << self.height)
    }
    /// The values of the slots of a bucket.
    fn slots(&self, known: &Known) -> Option<[Option<Value>; SIZE.capacity]> {
        if self.height != u64::from(HEIGHT) || !self.is_node() {
            return None;
        }
        let mut slots = [None; SIZE.capacity];
        for (position, value) in known.leaves_below(&self.root, HEIGHT, self.base >> HEIGHT)? {
            slots[(position - self.base) as usize] = Some(value);
        }
        Some(slots)
    }
}

/// The circuits of a tree.
fn circuit_set(of: &KeccakTree) -> CircuitSet<'_> {
    CircuitSet { translation: Some(of), ..CircuitSet::of_batches(SIZE) }
}

/// C of the node above two leaves.
fn root_of(leaves: [Digest; 2]) -> Digest {
    node_digest(&leaves[0], &leaves[1])
}

/// The statement about a bucket.
fn statement(root: Digest, base: u64) -> Statement {
    Statement { root, canonical: Digest::ZERO, height: HEIGHT, base }
}

/// Compares the report of a circuit with its snapshot.
fn judge(name: &str, report: &Report) {
    insta::assert_snapshot!(name, report.text());
    report.check();
}
