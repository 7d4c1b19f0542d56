//! How many proofs a batch takes, and how many a change makes again.

use evergrove_verifier::NodeKind;

use super::{Batch, Node, Structure};

/// Number of proofs of a structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bucket proofs.
    pub buckets: usize,
    /// Merge proofs.
    pub merges: usize,
    /// Wraps, 0 or 1.
    pub wraps: usize,
    /// Proofs on the longest chain from a bucket to the final proof: the number of rounds with unlimited workers.
    pub depth: usize,
}

impl Cost {
    /// All proofs.
    pub fn total(&self) -> usize {
        self.buckets + self.merges + self.wraps
    }
}

fn depth(node: &Node) -> usize {
    1 + node.children().map(|n| depth(n)).max().unwrap_or(0)
}

impl Structure {
    /// The most proofs that one change makes again in a vector of height `height`. For our structure it is
    /// [`worst_case`]. For the paper's structure and for a tree of all slots it is one block and the H - q levels above
    /// it, whatever the change. For the compressed trie of all slots it is that of blocks instead of leaves, since a
    /// change may fill a block or leave it empty.
    pub fn worst_case(self, height: u8, change: Change, wraps: bool) -> usize {
        match self {
            Self::Compressed { capacity } => worst_case(height, capacity, change, wraps),
            Self::Levels { block_height } | Self::Tree { block_height } => {
                usize::from(height.saturating_sub(block_height)) + 1 + usize::from(wraps)
            }
            Self::Complete { block_height } => worst_case(height.saturating_sub(block_height), 1, Change::Join, wraps),
        }
    }
}

impl Batch {
    /// Proofs of the whole batch from scratch; `wraps` is the backend's.
    pub fn cost(&self, wraps: bool) -> Cost {
        let (mut buckets, mut merges) = (0, 0);
        self.root.post_order(&mut |node| match node.kind() {
            NodeKind::Bucket => buckets += 1,
            _ => merges += 1,
        });
        Cost { buckets, merges, wraps: wraps.into(), depth: depth(&self.root) + usize::from(wraps) }
    }
}

/// A change of one position, by its effect on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The slot gets another value, is filled or is emptied, and membership stays: (a), (b) and (e) of section 1.1 of the
    /// paper.
    Value,
    /// The index joins the batch: (c), also together with a new value.
    Join,
    /// The index leaves the batch: (d), also together with a new value or the emptying of the slot.
    Leave,
}

/// The most proofs that one change makes again in a vector of height `height` with buckets of `capacity` leaves. Exact:
/// some batch attains it.
///
/// Every new proof except one belongs to a node whose subtree has the changed position p, because any other node has
/// the same members, the same digests and the same range as before. These nodes lie on one path. The merges of a path
/// have strictly decreasing child heights b, each with more than m = `capacity` members in 2^(b+1) slots, so floor(log2
/// m) <= b <= H - 1. There are at most M = H - floor(log2 m) merges (none when that is not positive), then one bucket.
/// The exception is a join that makes a new merge: a full bucket splits in two, or a subtree that used to climb through
/// p's range now ends beside it; the side without p is new as well. After a leave, p's own slot holds no member; when
/// m + 1 is a power of two the lowest of the M merges would need it. Hence
///
/// | change | proofs, before a wrap |
/// |---|---|
/// | [`Change::Value`] | M + 1 |
/// | [`Change::Join`] | M + 2, and 1 where M = 0 |
/// | [`Change::Leave`] | M + 1; M where m + 1 is a power of two, but at least 1 |
///
/// The worst batches are chains of lone leaves (one member beside each node of p's path) above m + 1 members in one
/// corner; for members spread at random, replace M by about log2(|I| / m). k changes of one epoch make at most the sum
/// of their bounds, with one wrap, and fewer as they share the merges above them. Growth by one level makes one proof
/// again, the top merge or the only bucket, and the wrap.
///
/// # Panics
/// If `capacity` is 0.
pub fn worst_case(height: u8, capacity: usize, change: Change, wraps: bool) -> usize {
    let merges = usize::from(height).saturating_sub(capacity.ilog2() as usize);
    let nodes = match change {
        Change::Join if merges > 0 => merges + 2,
        Change::Leave if merges > 0 && (capacity + 1).is_power_of_two() => merges,
        _ => merges + 1,
    };
    nodes + usize::from(wraps)
}
