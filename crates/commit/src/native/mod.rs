//! A backend that proves by showing everything and verifies by executing it again.
//!
//! For tests and teaching. Its proofs are as large as the witness, hide nothing and need no keys, but make the
//! statements of the circuits and refuse whatever the circuits refuse. It refuses a little more: the shape of a
//! bucket's canonical digest is free in the circuit and canonical here, and a wrap here has at least height 1. A
//! bucket's proof is its leaves with their paths. A merge's proof is its children's proofs and the siblings of its
//! climb. A wrap's proof is its child.

mod complete;
mod levels;
mod violation;

pub use violation::{Violation, check_statement};

use evergrove_primitives::Digest;
use evergrove_verifier::tree::{Value, canonical_digest, leaf_digest, node_digest, root_of_path};
use evergrove_verifier::{HeightClass, NodeKind, Profile, Scheme, Statement};

use crate::{
    BackendChoice, BackendError, BackendSpec, BucketWitness, LeafWitness, MergeWitness, NodeProof, RecursionBackend,
    Witness,
};

/// The native re-execution backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeBackend {
    spec: BackendSpec,
}

impl NativeBackend {
    /// The name of this backend.
    pub const NAME: &str = "native";
    /// The version of its proofs.
    pub const VERSION: u32 = 1;

    /// The backend that replaces the circuits of this profile and class, with their capacity, and their wrap if they
    /// have one.
    pub fn new(profile: Profile, class: HeightClass) -> Self {
        let (capacity, wraps) = (profile.bucket_capacity(class), profile.wrap().is_some());
        let choice = BackendChoice::new(Self::NAME, profile);
        Self { spec: BackendSpec { choice, version: Self::VERSION, class, capacity, wraps } }
    }

    /// The backend that replaces the circuits of the paper's scheme, with blocks of 2^`block_height` slots. Like those
    /// circuits, it accepts any base of a node.
    ///
    /// # Panics
    /// If `block_height` is above 20.
    pub fn of_paper(profile: Profile, class: HeightClass, block_height: u8) -> Self {
        Self::of_blocks(Scheme::RecklePaper, profile, class, block_height)
    }

    /// The backend that replaces the circuits of [`Scheme::Complete`] with blocks of 2^`block_height` slots, without an
    /// application.
    ///
    /// # Panics
    /// If `block_height` is above 20.
    pub fn complete(profile: Profile, class: HeightClass, block_height: u8) -> Self {
        Self::of_blocks(Scheme::Complete, profile, class, block_height)
    }

    /// The backend that replaces the circuits of [`Scheme::Tree`] with blocks of 2^`block_height` slots, without an
    /// application.
    ///
    /// # Panics
    /// If `block_height` is above 20.
    pub fn tree(profile: Profile, class: HeightClass, block_height: u8) -> Self {
        Self::of_blocks(Scheme::Tree, profile, class, block_height)
    }

    fn of_blocks(scheme: Scheme, profile: Profile, class: HeightClass, block_height: u8) -> Self {
        assert!(block_height <= 20, "blocks of 2^{block_height} slots");
        let mut native = Self::new(profile, class).with_capacity(1 << block_height);
        native.spec.choice.scheme = scheme;
        native
    }

    /// The same with buckets of at most `capacity` leaves.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn with_capacity(mut self, capacity: usize) -> Self {
        assert!(capacity > 0, "a bucket holds at least one leaf");
        self.spec.capacity = capacity;
        self
    }

    /// The statement that these bytes prove. `depth` is the number of merges that may still nest: a merge is higher
    /// than its children, so H_max bounds it, and the recursion.
    fn execute(&self, kind: NodeKind, bytes: &[u8], depth: u8) -> Result<Statement, String> {
        let mut r = Reader(bytes);
        let statement = match kind {
            NodeKind::Bucket if self.spec.choice.scheme == Scheme::RecklePaper => self.block(&mut r),
            NodeKind::Merge if self.has_levels() => self.level(&mut r, depth),
            NodeKind::Bucket if self.spec.choice.scheme.is_complete() => self.block_of(&mut r),
            NodeKind::Bucket => self.bucket_statement(&r.leaves(self.spec.capacity)?).map_err(text),
            NodeKind::Merge => {
                let depth = depth.checked_sub(1).ok_or("merges nest deeper than the tree is high")?;
                let [left, right] =
                    [r.child()?, r.child()?].map(|(kind, bytes)| self.execute_child(kind, bytes, depth));
                let count = r.u8()?;
                self.merge_statement(&left?, &right?, &r.digests(count.into())?).map_err(text)
            }
            NodeKind::Wrap => {
                let (kind, bytes) = r.child()?;
                self.wrap_statement(&self.execute_child(kind, bytes, depth)?).map_err(text)
            }
        }?;
        if !r.0.is_empty() {
            return Err(format!("{} bytes follow the proof", r.0.len()));
        }
        Ok(statement)
    }

    /// True where the nodes above blocks are levels, not merges.
    fn has_levels(&self) -> bool {
        matches!(self.spec.choice.scheme, Scheme::RecklePaper | Scheme::Tree)
    }

    fn execute_child(&self, kind: NodeKind, bytes: &[u8], depth: u8) -> Result<Statement, String> {
        check_child(kind)?;
        self.execute(kind, bytes, depth)
    }

    /// The statement of a bucket of these leaves: executes every constraint of the bucket circuit.
    ///
    /// # Errors
    /// The constraint that does not hold.
    pub fn bucket_statement(&self, leaves: &[LeafWitness]) -> Result<Statement, Violation> {
        let first = leaves.first().ok_or(Violation::NoLeaf)?;
        if leaves.len() > self.spec.capacity {
            return Err(Violation::Capacity { found: leaves.len(), capacity: self.spec.capacity });
        }
        if let Some(w) = leaves.windows(2).find(|w| w[0].index >= w[1].index) {
            return Err(Violation::Order { index: w[0].index, next: w[1].index });
        }
        let height = first.siblings.len();
        let height = self.height(height)?;
        let base = first.index >> height << height;
        let mut root = None;
        let mut digests = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let index = leaf.index;
            if index >> self.spec.class.height_max() != 0 {
                return Err(Violation::Index { index, height: self.spec.class.height_max() });
            }
            if leaf.siblings.len() != usize::from(height) {
                return Err(Violation::Path { levels: leaf.siblings.len(), height });
            }
            if index >> height << height != base {
                return Err(Violation::Outside { index, height, base });
            }
            let digest = leaf_digest(index, &leaf.value);
            let top = root_of_path(digest, index, &leaf.siblings);
            if *root.get_or_insert(top) != top {
                return Err(Violation::Root { index });
            }
            digests.push((index, digest));
        }
        let root = root.ok_or(Violation::NoLeaf)?;
        Ok(Statement { root, canonical: canonical_digest(&digests), height, base })
    }

    /// The statement of a merge of two children of these statements: executes every constraint of the merge circuit.
    ///
    /// # Errors
    /// The constraint that does not hold.
    pub fn merge_statement(
        &self,
        left: &Statement,
        right: &Statement,
        siblings: &[Digest],
    ) -> Result<Statement, Violation> {
        let below = left.height;
        if right.height != below {
            return Err(Violation::Heights { left: below, right: right.height });
        }
        if below >= self.spec.class.height_max() {
            return Err(Violation::TooHigh { height: below });
        }
        if left.base >> below & 1 != 0 || right.base != left.base | 1 << below {
            return Err(Violation::Siblings { height: below, left: left.base, right: right.base });
        }
        let height = self.height(usize::from(below) + 1 + siblings.len())?;
        let canonical = if self.spec.choice.scheme == Scheme::Complete {
            self.check_empty(below + 1, siblings)?;
            Digest::ZERO
        } else {
            node_digest(&left.canonical, &right.canonical)
        };
        Ok(Statement {
            root: root_of_path(node_digest(&left.root, &right.root), left.base >> (below + 1), siblings),
            canonical,
            height,
            base: left.base >> height << height,
        })
    }

    /// The statement of a wrap of a child of this statement.
    ///
    /// # Errors
    /// If the child does not state a whole vector, or the backend does not wrap.
    pub fn wrap_statement(&self, child: &Statement) -> Result<Statement, Violation> {
        if !self.spec.wraps {
            return Err(Violation::NoWrap);
        }
        if child.base != 0 || child.height == 0 {
            return Err(Violation::Part { height: child.height, base: child.base });
        }
        Ok(*child)
    }

    fn height(&self, height: usize) -> Result<u8, Violation> {
        let max = self.spec.class.height_max();
        u8::try_from(height).ok().filter(|h| *h <= max).ok_or(Violation::Height { height, max })
    }

    fn proof(
        &self,
        kind: NodeKind,
        made: Statement,
        asked: &Statement,
        bytes: Vec<u8>,
    ) -> Result<NodeProof, BackendError> {
        if made != *asked {
            return Err(BackendError::Witness(format!("it shows {made:?}, not {asked:?}")));
        }
        Ok(NodeProof { kind, statement: made, output: Vec::new(), bytes })
    }

    fn check(&self, child: &NodeProof) -> Result<(), BackendError> {
        check_child(child.kind).map_err(BackendError::Witness)?;
        self.verify(child)
    }
}

impl NativeBackend {
    fn prove_bucket(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError> {
        let made = self.bucket_statement(&witness.leaves)?;
        let mut bytes = (witness.leaves.len() as u32).to_le_bytes().to_vec();
        bytes.push(made.height);
        for leaf in &witness.leaves {
            bytes.extend_from_slice(&leaf.index.to_le_bytes());
            bytes.extend_from_slice(&Digest(leaf.value).to_bytes());
            leaf.siblings.iter().for_each(|d| bytes.extend_from_slice(&d.to_bytes()));
        }
        self.proof(NodeKind::Bucket, made, &witness.statement, bytes)
    }

    fn prove_merge(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<NodeProof, BackendError> {
        self.check(left)?;
        self.check(right)?;
        let made = self.merge_statement(&left.statement, &right.statement, &witness.siblings)?;
        let mut bytes = Vec::with_capacity(left.bytes.len() + right.bytes.len() + 32 * witness.siblings.len() + 19);
        push_child(&mut bytes, left);
        push_child(&mut bytes, right);
        bytes.push(witness.siblings.len() as u8);
        witness.siblings.iter().for_each(|d| bytes.extend_from_slice(&d.to_bytes()));
        self.proof(NodeKind::Merge, made, &witness.statement, bytes)
    }

    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        self.check(child)?;
        let made = self.wrap_statement(&child.statement)?;
        let mut bytes = Vec::with_capacity(child.bytes.len() + 9);
        push_child(&mut bytes, child);
        self.proof(NodeKind::Wrap, made, &child.statement, bytes)
    }
}

impl RecursionBackend for NativeBackend {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }

    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        match (witness, children, self.spec.choice.scheme) {
            (Witness::Bucket(w), [], Scheme::Evergrove | Scheme::Selected) => self.prove_bucket(w),
            (Witness::Bucket(w), [], Scheme::Complete | Scheme::Tree) => self.prove_filled(w),
            (Witness::Block(w), [], Scheme::RecklePaper) => self.prove_paper_block(w),
            (Witness::Merge(w), [left, right], _) if !self.has_levels() => self.prove_merge(left, right, w),
            (Witness::Level(w), _, _) if self.has_levels() => self.prove_node(w.children(children)?, w),
            (Witness::Wrap, [child], _) => self.prove_wrap(child),
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        let mut shown =
            self.execute(proof.kind, &proof.bytes, self.spec.class.height_max()).map_err(BackendError::Rejected)?;
        if self.spec.choice.scheme == Scheme::RecklePaper {
            shown.base = proof.statement.base;
        }
        if shown == proof.statement {
            Ok(())
        } else {
            Err(BackendError::Rejected(format!("it shows {shown:?}, not {:?}", proof.statement)))
        }
    }
}

fn check_child(kind: NodeKind) -> Result<(), String> {
    match kind {
        NodeKind::Bucket | NodeKind::Merge => Ok(()),
        NodeKind::Wrap => Err("a wrap cannot be a child".into()),
    }
}

/// A constraint that a proof breaks, in words.
fn text(violation: Violation) -> String {
    violation.to_string()
}

fn push_child(bytes: &mut Vec<u8>, child: &NodeProof) {
    bytes.push(child.kind.code());
    bytes.extend_from_slice(&(child.bytes.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&child.bytes);
}

/// Splits the bytes of a proof; every length is checked before anything is allocated.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let (head, rest) = self.0.split_at_checked(n).ok_or("the proof is truncated")?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (head, rest) = self.0.split_first_chunk().ok_or("the proof is truncated")?;
        self.0 = rest;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.array::<1>()?[0])
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn digest(&mut self) -> Result<Digest, String> {
        Digest::from_bytes(&self.array()?).map_err(|e| e.to_string())
    }

    fn digests(&mut self, count: usize) -> Result<Vec<Digest>, String> {
        if self.0.len() < 32 * count {
            return Err("the proof is truncated".into());
        }
        (0..count).map(|_| self.digest()).collect()
    }

    /// The leaves of a bucket; more than `capacity` leaves are refused before they are read.
    fn leaves(&mut self, capacity: usize) -> Result<Vec<LeafWitness>, String> {
        let count = u64::from(u32::from_le_bytes(self.array()?));
        if count > capacity as u64 {
            return Err(format!("{count} leaves in a bucket of {capacity}"));
        }
        let height = usize::from(self.u8()?);
        if self.0.len() as u64 != count * (40 + 32 * height as u64) {
            return Err(format!("{} bytes for {count} leaves of height {height}", self.0.len()));
        }
        (0..count)
            .map(|_| {
                let index = self.u64()?;
                let Digest(value): Digest = self.digest()?;
                let value: Value = value;
                Ok(LeafWitness { index, value, siblings: self.digests(height)?, opening: Vec::new() })
            })
            .collect()
    }

    fn child(&mut self) -> Result<(NodeKind, &'a [u8]), String> {
        let code = self.u8()?;
        let kind = NodeKind::from_code(code).ok_or_else(|| format!("unknown kind {code} of a child"))?;
        let length = usize::try_from(self.u64()?).map_err(|e| e.to_string())?;
        Ok((kind, self.take(length)?))
    }
}
