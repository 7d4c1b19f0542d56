//! Proofs about all leaves, executed: the constraints of the circuits of [`Scheme::Complete`] as code.

use evergrove_primitives::Digest;
use evergrove_verifier::tree::{leaf_digest, node_digest, null_digests, root_of_path};
use evergrove_verifier::{NodeKind, Scheme, Statement};

use super::{NativeBackend, Reader, Violation, text};
use crate::{BackendError, BucketWitness, LeafWitness, NodeProof};

impl NativeBackend {
    /// The statement of a block of these leaves, climbed to `height`: they are all leaves of the node. Without leaves
    /// it is the first block.
    ///
    /// # Errors
    /// The constraint that does not hold.
    pub fn filled_statement(&self, height: u8, leaves: &[LeafWitness]) -> Result<Statement, Violation> {
        let block_height = self.spec.capacity.ilog2() as u8;
        let first = leaves.first().map_or(0, |leaf| leaf.index);
        let height = self.height(height.into())?;
        if height < block_height {
            return Err(Violation::BelowBlock { height, block: block_height });
        }
        if self.spec.choice.scheme == Scheme::Tree && height > block_height {
            return Err(Violation::Climb { block: block_height, height });
        }
        if let Some(w) = leaves.windows(2).find(|w| w[0].index >= w[1].index) {
            return Err(Violation::Order { index: w[0].index, next: w[1].index });
        }
        let number = first >> block_height;
        if first >> self.spec.class.height_max() != 0 {
            return Err(Violation::Index { index: first, height: self.spec.class.height_max() });
        }
        if let Some(leaf) = leaves.iter().find(|l| l.index >> block_height != number) {
            return Err(Violation::OtherBlock { index: leaf.index, number, block: block_height });
        }
        let nulls = null_digests(height);
        let mut level: Vec<(u64, Digest)> = leaves.iter().map(|l| (l.index, leaf_digest(l.index, &l.value))).collect();
        for null in &nulls[..usize::from(block_height)] {
            let mut above = Vec::with_capacity(level.len() / 2 + 1);
            for group in level.chunk_by(|a, b| a.0 >> 1 == b.0 >> 1) {
                let side = |right| group.iter().find(|n| n.0 & 1 == right).map_or(null, |n| &n.1);
                above.push((group[0].0 >> 1, node_digest(side(0), side(1))));
            }
            level = above;
        }
        let digest = level.first().map_or(nulls[usize::from(block_height)], |node| node.1);
        let start = number << block_height;
        let siblings = &nulls[usize::from(block_height)..usize::from(height)];
        let root = root_of_path(digest, start >> block_height, siblings);
        Ok(Statement { root, canonical: Digest::ZERO, height, base: start >> height << height })
    }

    /// A climb from `level` passes only over empty subtrees.
    pub(super) fn check_empty(&self, level: u8, siblings: &[Digest]) -> Result<(), Violation> {
        let nulls = null_digests(self.spec.class.height_max());
        let found = (level..).zip(siblings).find(|(l, s)| nulls.get(usize::from(*l)) != Some(*s));
        found.map_or(Ok(()), |(l, _)| Err(Violation::Occupied { height: l }))
    }

    pub(super) fn prove_filled(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError> {
        let asked = &witness.statement;
        let made = self.filled_statement(asked.height, &witness.leaves)?;
        let mut bytes = vec![made.height];
        bytes.extend_from_slice(&(witness.leaves.len() as u32).to_le_bytes());
        for leaf in &witness.leaves {
            bytes.extend_from_slice(&leaf.index.to_le_bytes());
            bytes.extend_from_slice(&Digest(leaf.value).to_bytes());
        }
        self.proof(NodeKind::Bucket, made, asked, bytes)
    }

    pub(super) fn block_of(&self, r: &mut Reader<'_>) -> Result<Statement, String> {
        let height = r.u8()?;
        let count = u32::from_le_bytes(r.array()?);
        if r.0.len() as u64 != u64::from(count) * 40 {
            return Err(format!("{} bytes for {count} leaves", r.0.len()));
        }
        let leaf = |r: &mut Reader<'_>| {
            let (index, Digest(value)) = (r.u64()?, r.digest()?);
            Ok(LeafWitness { index, value, siblings: Vec::new(), opening: Vec::new() })
        };
        let leaves = (0..count).map(|_| leaf(r)).collect::<Result<Vec<_>, String>>()?;
        self.filled_statement(height, &leaves).map_err(text)
    }
}
