//! The proofs of a batch as a tree, for display.

use evergrove_commit::batch::{Batch, Node};
use evergrove_verifier::{NodeKind, Statement};

use super::{Prover, batch_error, proof_key};
use crate::Error;
use crate::store::Epoch;

/// The proofs of a batch at one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofTree {
    /// The epoch.
    pub epoch: Epoch,
    /// Number of proofs of the whole batch, including the wrap. They are numbered 0 to `total` - 1.
    pub total: usize,
    /// The proofs nearest to the root, in ascending order of their numbers: children before parents, left before right.
    pub nodes: Vec<TreeNode>,
}

/// One proof of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Its number, which is that of its task in the graph of [`Prover::prove`].
    pub number: usize,
    /// The proof that has it as an input. `None` for the final proof.
    pub parent: Option<usize>,
    /// Distance to the final proof, which has depth 0.
    pub depth: u32,
    /// Its circuit.
    pub kind: NodeKind,
    /// Height of its subtree.
    pub height: u8,
    /// First position of its subtree.
    pub base: u64,
    /// Number of members below it.
    pub members: usize,
    /// True if it is stored, or if a stored proof makes it unnecessary.
    pub is_stored: bool,
}

impl Prover<'_> {
    /// The proofs of a batch at the current epoch or at `epoch`, at most `at_most`: those nearest to the root. Proves
    /// nothing. The members are always the current ones.
    ///
    /// Takes O(members) hashes. Looks up the objects of those proofs whose parent is not stored.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::UnknownBackend`], [`Error::UnknownEpoch`]; [`Error::EmptySlot`] if a member had
    /// no row in `epoch`; errors of reading the store.
    pub fn tree(&self, name: &str, epoch: Option<u64>, at_most: usize) -> Result<ProofTree, Error> {
        let (view, record, members) = self.store.view_of(name, epoch)?;
        let spec = self.spec_of(&record, name, view.commitment())?;
        let batch = Batch::build_as(&view.vector()?, &members, spec.structure());
        let batch = batch.map_err(batch_error(self.store.dir(), name))?;
        let mut all = Vec::new();
        add(batch.root(), u32::from(spec.wraps), &mut all);
        if spec.wraps {
            let (root, number) = (all.len() - 1, all.len());
            all[root].0.parent = Some(number);
            let (last, statement) = all[root];
            let wrap = TreeNode { number, parent: None, depth: 0, kind: NodeKind::Wrap, ..last };
            all.push((wrap, statement));
        }
        let total = all.len();
        if total > at_most {
            all.sort_by_key(|(node, _)| (node.depth, node.number));
            all.truncate(at_most);
            all.sort_by_key(|(node, _)| node.number);
        }
        // Parents have greater numbers than their children, so they come first here.
        let mut stored = std::collections::HashSet::new();
        for (node, statement) in all.iter_mut().rev() {
            let above = node.parent.is_some_and(|parent| stored.contains(&parent));
            node.is_stored = above || self.store.objects().exists(&proof_key(&spec, node.kind, statement))?;
            if node.is_stored {
                stored.insert(node.number);
            }
        }
        let nodes = all.into_iter().map(|(node, _)| node).collect();
        Ok(ProofTree { epoch: *view.epoch(), total, nodes })
    }
}

/// Appends the nodes below `node`, then `node`: children first, as plans number them.
fn add(node: &Node, depth: u32, out: &mut Vec<(TreeNode, Statement)>) {
    let mut children = [None; 2];
    for (child, place) in node.children().zip(&mut children) {
        add(child, depth + 1, out);
        *place = Some(out.len() - 1);
    }
    let number = out.len();
    children.into_iter().flatten().for_each(|child| out[child].0.parent = Some(number));
    let shown = TreeNode {
        number,
        parent: None,
        depth,
        kind: node.kind(),
        height: node.statement.height,
        base: node.statement.base,
        members: node.count,
        is_stored: false,
    };
    out.push((shown, node.statement));
}
