//! The Merkle paths of a proof.
//!
//! The indices of queries alone determine which elements of a proof are leaves and siblings. So a reader collects these
//! elements first, and hashes all paths at the end: those of all openings together, level by level, as many at a time
//! as fit in vectors.

use alloc::vec;
use alloc::vec::Vec;

use alloc::collections::BTreeMap;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::lanes::permute_many;

use super::transcript::{Word, blocks, word};
use crate::poseidon::{chains, join};

/// The trees of a proof, and the leaves that were opened in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    trees: Vec<Tree>,
    openings: Vec<Opening>,
    /// By tree, level and index of a node: the first opening whose path goes through one of its children.
    nodes: BTreeMap<(usize, usize, u64), usize>,
}

#[derive(Clone, Debug)]
struct Tree {
    depth: usize,
    cap: Vec<Word>,
}

#[derive(Clone, Debug)]
struct Opening {
    tree: usize,
    tag: Goldilocks,
    index: u64,
    leaf: Vec<Word>,
    /// From the leaf up to the cap or to a node on an earlier path.
    siblings: Vec<Word>,
    /// The opening of the earlier path.
    joins: Option<usize>,
}

impl Opening {
    /// Whether the path is the right child of its parent at a level.
    fn is_right(&self, level: usize) -> bool {
        self.index >> level & 1 == 1
    }
}

impl Paths {
    /// Adds a tree of 2^`depth` leaves with this cap: its number.
    pub(super) fn add_tree(&mut self, depth: usize, cap: Vec<Word>) -> usize {
        self.trees.push(Tree { depth, cap });
        self.trees.len() - 1
    }

    /// Adds an opened leaf. `take` reads those siblings that are not on an earlier path.
    pub(super) fn open(
        &mut self,
        tree: usize,
        tag: Goldilocks,
        index: u64,
        leaf: Vec<Word>,
        mut take: impl FnMut() -> Word,
    ) {
        let Tree { depth, cap } = &self.trees[tree];
        let levels = depth - cap.len().ilog2() as usize;
        let number = self.openings.len();
        let mut opening = Opening { tree, tag, index, leaf, siblings: Vec::new(), joins: None };
        for level in 0..levels {
            let earlier = *self.nodes.entry((tree, level, index >> (level + 1))).or_insert(number);
            if earlier != number {
                opening.joins = Some(earlier);
                break;
            }
            opening.siblings.push(take());
        }
        self.openings.push(opening);
    }

    /// How many leaves were opened.
    pub(super) fn openings(&self) -> usize {
        self.openings.len()
    }

    /// The openings whose path does not lead to the cap of its tree, or to the node where it joins an earlier one.
    pub(super) fn wrong(&self) -> Vec<usize> {
        let digests = self.digests();
        let is_wrong = |(number, opening): &(usize, &Opening)| {
            let level = opening.siblings.len();
            let expected = match opening.joins {
                None => self.trees[opening.tree].cap[(opening.index >> level) as usize],
                Some(earlier) if self.openings[earlier].is_right(level) == opening.is_right(level) => {
                    digests[earlier][level]
                }
                Some(earlier) => self.openings[earlier].siblings[level],
            };
            digests[*number][level] != expected
        };
        self.openings.iter().enumerate().filter(is_wrong).map(|(number, _)| number).collect()
    }

    /// The digests on the path of each opening, starting with its leaf's.
    fn digests(&self) -> Vec<Vec<Word>> {
        let tags = self.openings.iter().map(|opening| word(opening.tag)).collect();
        let mut paths: Vec<Vec<Word>> = vec![Vec::new(); self.openings.len()];
        let next = |number: usize, step: usize, head: &Word| {
            let opening = &self.openings[number];
            if let Some(m) = opening.leaf.get(2 * step..).and_then(|rest| blocks(rest).next()) {
                return Some(join(m, *head));
            }
            let path = &mut paths[number];
            let level = path.len();
            path.push(*head);
            let sibling = *opening.siblings.get(level)?;
            let children = if opening.is_right(level) { [sibling, *head] } else { [*head, sibling] };
            Some(join(children, Word::default()))
        };
        chains(tags, next, permute_many);
        paths
    }
}
