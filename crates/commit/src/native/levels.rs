//! The paper's scheme and the tree over all leaves, executed: the constraints of their circuits as code.

use evergrove_primitives::Digest;
use evergrove_verifier::tree::{canonical_digest, node_digest, null_digests};
use evergrove_verifier::{NodeKind, Scheme, Statement};

use super::{NativeBackend, Reader, Violation, push_child, text};
use crate::{BackendError, BlockWitness, LevelWitness, NodeProof};

impl NativeBackend {
    /// The statement of a block of these slots, with base 0: its circuit does not know its position.
    ///
    /// # Errors
    /// The constraint that does not hold.
    pub fn block_statement(&self, leaves: &[Digest], members: &[bool]) -> Result<Statement, Violation> {
        let slots = leaves.len();
        if !slots.is_power_of_two() || slots > self.spec.capacity || members.len() != slots {
            return Err(Violation::Slots { leaves: slots, flags: members.len(), capacity: self.spec.capacity });
        }
        if !members.contains(&true) {
            return Err(Violation::NoMember);
        }
        let height = slots.ilog2() as u8;
        let mut level = leaves.to_vec();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| node_digest(&pair[0], &pair[1])).collect();
        }
        let chosen: Vec<(u64, Digest)> =
            (0..).zip(leaves).zip(members).filter(|(_, member)| **member).map(|((i, d), _)| (i, *d)).collect();
        Ok(Statement { root: level[0], canonical: canonical_digest(&chosen), height, base: 0 })
    }

    /// The statement of a level above children of these statements. `children` are those with members. The base is 0 in
    /// the paper's scheme, whose circuits have no base.
    ///
    /// # Errors
    /// The constraint that does not hold.
    pub fn level_statement(
        &self,
        children: [Option<&Statement>; 2],
        witness: &LevelWitness,
    ) -> Result<Statement, Violation> {
        let height = match children {
            [Some(l), Some(r)] if l.height != r.height => {
                return Err(Violation::Heights { left: l.height, right: r.height });
            }
            [Some(c), _] | [None, Some(c)] => c.height + 1,
            [None, None] => return Err(Violation::NoChild),
        };
        if height <= self.spec.capacity.ilog2() as u8 || height > self.spec.class.height_max() {
            let (low, high) = (self.spec.capacity.ilog2() + 1, self.spec.class.height_max());
            return Err(Violation::Level { height, low, high });
        }
        for (k, child) in children.into_iter().enumerate() {
            let (root, canonical) = (witness.roots[k], witness.canonicals[k]);
            if child.map(|c| c.canonical) != canonical || child.is_some_and(|c| c.root != root) {
                return Err(Violation::Stated { child: k, stated: child.copied().map(Box::new), root, canonical });
            }
        }
        let root = node_digest(&witness.roots[0], &witness.roots[1]);
        if self.spec.choice.scheme == Scheme::Tree {
            let base = self.parent_of(children, &witness.roots, height)?;
            return Ok(Statement { root, canonical: Digest::ZERO, height, base });
        }
        let canonical = match witness.canonicals {
            [Some(l), Some(r)] => node_digest(&l, &r),
            [d, None] | [None, d] => d.unwrap_or(Digest::ZERO),
        };
        Ok(Statement { root, canonical, height, base: 0 })
    }

    /// The base of the node above these children; children without a statement are empty.
    fn parent_of(&self, children: [Option<&Statement>; 2], roots: &[Digest; 2], height: u8) -> Result<u64, Violation> {
        let (mut base, null) = (None, null_digests(height)[usize::from(height) - 1]);
        for (k, (child, root)) in children.into_iter().zip(roots).enumerate() {
            let Some(child) = child else {
                if *root != null {
                    return Err(Violation::NotEmpty { child: k, height: height - 1 });
                }
                continue;
            };
            let above = child.base >> height << height;
            if child.base != above | (k as u64) << (height - 1) || *base.get_or_insert(above) != above {
                return Err(Violation::OtherChild { height: height - 1, base: child.base, child: k });
            }
        }
        base.ok_or(Violation::NoChild)
    }

    fn made(
        &self,
        kind: NodeKind,
        made: Statement,
        asked: &Statement,
        bytes: Vec<u8>,
    ) -> Result<NodeProof, BackendError> {
        self.proof(kind, Statement { base: asked.base, ..made }, asked, bytes)
    }

    pub(super) fn prove_paper_block(&self, witness: &BlockWitness) -> Result<NodeProof, BackendError> {
        let made = self.block_statement(&witness.leaves, &witness.members)?;
        let mut bytes = vec![made.height];
        for (leaf, member) in witness.leaves.iter().zip(&witness.members) {
            bytes.push((*member).into());
            bytes.extend_from_slice(&leaf.to_bytes());
        }
        self.made(NodeKind::Bucket, made, &witness.statement, bytes)
    }

    pub(super) fn prove_node(
        &self,
        children: [Option<&NodeProof>; 2],
        witness: &LevelWitness,
    ) -> Result<NodeProof, BackendError> {
        children.into_iter().flatten().try_for_each(|c| self.check(c))?;
        let made = self.level_statement(children.map(|c| c.map(|c| &c.statement)), witness)?;
        let mut bytes = Vec::new();
        for (child, root) in children.into_iter().zip(&witness.roots) {
            bytes.push(child.is_some().into());
            match child {
                Some(child) => push_child(&mut bytes, child),
                None => bytes.extend_from_slice(&root.to_bytes()),
            }
        }
        match self.spec.choice.scheme {
            Scheme::Tree => self.proof(NodeKind::Merge, made, &witness.statement, bytes),
            _ => self.made(NodeKind::Merge, made, &witness.statement, bytes),
        }
    }

    pub(super) fn block(&self, r: &mut Reader<'_>) -> Result<Statement, String> {
        let height = r.u8()?;
        let slots =
            1usize.checked_shl(height.into()).filter(|n| *n <= self.spec.capacity).ok_or("the block is too high")?;
        let (mut leaves, mut members) = (Vec::with_capacity(slots), Vec::with_capacity(slots));
        for _ in 0..slots {
            members.push(flag(r)?);
            leaves.push(r.digest()?);
        }
        self.block_statement(&leaves, &members).map_err(text)
    }

    pub(super) fn level(&self, r: &mut Reader<'_>, depth: u8) -> Result<Statement, String> {
        let depth = depth.checked_sub(1).ok_or("levels nest deeper than the tree is high")?;
        let (mut roots, mut statements) = ([Digest::ZERO; 2], [None; 2]);
        for (root, statement) in roots.iter_mut().zip(&mut statements) {
            if flag(r)? {
                let (kind, bytes) = r.child()?;
                let child = self.execute_child(kind, bytes, depth)?;
                (*root, *statement) = (child.root, Some(child));
            } else {
                *root = r.digest()?;
            }
        }
        let canonicals = statements.map(|s| s.map(|s: Statement| s.canonical));
        let statement = Statement { root: Digest::ZERO, canonical: Digest::ZERO, height: 0, base: 0 };
        let witness = LevelWitness { statement, roots, canonicals };
        self.level_statement(statements.each_ref().map(Option::as_ref), &witness).map_err(text)
    }
}

fn flag(r: &mut Reader<'_>) -> Result<bool, String> {
    match r.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        x => Err(format!("{x} is not a flag")),
    }
}
