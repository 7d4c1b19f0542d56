//! Lists of edges, and parts of lists.

use evergrove_multilinear::circuit::wires::{Base, Bool, Word};
use evergrove_multilinear::circuit::{Arithmetic, Builder};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::poseidon;
use evergrove_primitives::{Digest, Goldilocks};

use super::gadgets::same_word;
use super::{Edge, LIST_TAG};
use crate::circuit::free;

/// The most nodes of a list that a join may pass through to reach the edges that it leaves out.
pub(super) const PART_NODES: usize = 256;

/// The digest of the list of two lists.
pub(super) fn list_of(left: &Digest, right: &Digest) -> Digest {
    poseidon::compress(left, right, LIST_TAG)
}

/// A list of edges: the tree that its digest is the root of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) digest: Digest,
    node: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Edge(Edge),
    Two(Box<[List; 2]>),
}

/// Combines the members pairwise, in their order, with at most one of them combined with a pair.
pub(super) fn balanced<T: Clone>(members: &[T], pair: &mut impl FnMut(&T, &T) -> T) -> T {
    let [member] = members else {
        let half = members.len() / 2;
        let (left, right) = members.split_at(half.next_multiple_of(2).min(members.len() - 1));
        let (left, right) = (balanced(left, pair), balanced(right, pair));
        return pair(&left, &right);
    };
    member.clone()
}

impl List {
    fn edge(edge: &Edge) -> Self {
        Self { digest: edge.list(), node: Node::Edge(edge.clone()) }
    }
    fn two(left: Self, right: Self) -> Self {
        Self { digest: list_of(&left.digest, &right.digest), node: Node::Two(Box::new([left, right])) }
    }
    /// The list that a piece with these roots shows.
    ///
    /// # Panics
    /// If `edges` is empty.
    pub(super) fn of_edges(edges: &[Edge]) -> Self {
        let edges: Vec<Self> = edges.iter().map(Self::edge).collect();
        Self::of_lists(&edges)
    }
    /// The list that proofs joined beside each other show.
    ///
    /// # Panics
    /// If `lists` is empty.
    pub(super) fn of_lists(lists: &[Self]) -> Self {
        balanced(lists, &mut |left, right| Self::two(left.clone(), right.clone()))
    }
    /// Its edges, from left to right.
    pub(super) fn edges(&self) -> Vec<&Edge> {
        match &self.node {
            Node::Edge(edge) => vec![edge],
            Node::Two(two) => two.iter().flat_map(Self::edges).collect(),
        }
    }
    /// The operands of all its hashes.
    pub(super) fn pairs(&self) -> Vec<[Digest; 2]> {
        let Node::Two(two) = &self.node else { return Vec::new() };
        let mut pairs: Vec<_> = two.iter().flat_map(Self::pairs).collect();
        pairs.push([two[0].digest, two[1].digest]);
        pairs
    }
    /// The list of the edges that `keep` accepts, if there are any, and the steps that show that it is a part of this
    /// list.
    pub(super) fn part(&self, keep: &dyn Fn(&Edge) -> bool) -> Option<(Self, Sublist)> {
        let mut part = Sublist::default();
        let (list, _) = self.kept(keep, &mut part.steps)?;
        Some((list, part))
    }
    /// The part of this list that is kept, and the number of the step that shows it. A list that is kept whole needs no
    /// step.
    fn kept(&self, keep: &dyn Fn(&Edge) -> bool, steps: &mut Vec<Step>) -> Option<(Self, Option<usize>)> {
        let two = match &self.node {
            Node::Edge(edge) => return keep(edge).then(|| (self.clone(), None)),
            Node::Two(two) => two,
        };
        let [left, right] = two.each_ref().map(|list| list.kept(keep, steps));
        let all = |kept: &Option<(Self, Option<usize>)>| matches!(kept, Some((_, None)));
        if all(&left) && all(&right) {
            return Some((self.clone(), None));
        }
        let sides = [(&two[0], &left), (&two[1], &right)].map(|(list, kept)| {
            let of = kept.as_ref().map_or(list.digest, |(kept, _)| kept.digest);
            Side { list: list.digest, part: of, step: kept.as_ref().and_then(|(_, step)| *step) }
        });
        let only = [right.is_none(), left.is_none()];
        let list = match (left, right) {
            (Some((left, _)), Some((right, _))) => Self::two(left, right),
            (Some((list, _)), None) | (None, Some((list, _))) => list,
            (None, None) => return None,
        };
        steps.push(Step { sides, only, part: list.digest });
        Some((list, Some(steps.len() - 1)))
    }
}

/// Shows that a list contains all edges of another one: the steps from below up to the list itself. Without steps both
/// lists are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sublist {
    steps: Vec<Step>,
}

/// Shows the part of a list of two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    sides: [Side; 2],
    /// True for the side whose part is the whole part.
    only: [bool; 2],
    part: Digest,
}

/// A list and its part: the whole list, or the part that a step shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    list: Digest,
    part: Digest,
    step: Option<usize>,
}

impl Sublist {
    /// True if the part is the whole list.
    pub(super) fn is_all(&self) -> bool {
        self.steps.is_empty()
    }
    /// True if a join has room for the steps.
    pub(super) fn fits(&self) -> bool {
        self.steps.len() <= PART_NODES
    }
    /// The free data of [`part`] in a join.
    pub(super) fn data(&self) -> Vec<Goldilocks> {
        let nothing = Side { list: Digest::ZERO, part: Digest::ZERO, step: None };
        let idle =
            Step { sides: [nothing.clone(), nothing], only: [false; 2], part: list_of(&Digest::ZERO, &Digest::ZERO) };
        let mut data = Vec::new();
        let number = |bit: bool| Goldilocks::new(bit.into());
        let at = |step: Option<usize>| Goldilocks::new(step.unwrap_or(0) as u64);
        for step in (0..PART_NODES).map(|i| self.steps.get(i).unwrap_or(&idle)) {
            let [left, right] = &step.sides;
            data.extend(
                [left.list, right.list, left.part, right.part, step.part, Digest::ZERO].iter().flat_map(|word| word.0),
            );
            data.extend(step.only.map(number));
            for side in &step.sides {
                data.extend([number(side.step.is_some()), at(side.step)]);
            }
        }
        data.push(at(self.steps.len().checked_sub(1)));
        data
    }
}

/// Demands, where the bit is 1, that `list` contain all edges of `of`: one step is about the two, and all steps are
/// true.
///
/// A step is about a list of two lists. It takes each side whole, or the part of it that another step shows. The part
/// is the list of both of these, or one of them alone. A list is not a hash of itself, so in the end steps rest on
/// edges.
pub(super) fn part<K: Extension>(b: &mut Builder<K>, list: Word, of: Word, bit: Bool) {
    let one = b.one();
    let tag = b.tag(LIST_TAG);
    let [lists, parts] = [b.offers(), b.offers()];
    let look_up = |b: &mut Builder<K>, number: Base, [list, part]: [Word; 2], bit: Bool| {
        b.look_up(lists, number, one, list, bit);
        b.look_up(parts, number, one, part, bit);
    };
    for i in 0..PART_NODES {
        let own = b.constant(Goldilocks::new(i as u64));
        let (whole, sides) = b.hash_free(tag);
        let (both, kept) = b.hash_free(tag);
        let [part, _] = free(b);
        let only = [b.bit(), b.bit()];
        for (bit, kept) in only.into_iter().zip(kept) {
            same_word(b, bit, part, kept);
        }
        let [left, right] = only.map(|bit| b.not(bit));
        let two = b.and(left, right);
        same_word(b, two, part, both.digest());
        for (side, kept) in sides.into_iter().zip(kept) {
            let (deeper, step) = (b.bit(), b.any());
            look_up(b, step, [side, kept], deeper);
            let all = b.not(deeper);
            same_word(b, all, side, kept);
        }
        b.offer(lists, own, one, whole.digest());
        b.offer(parts, own, one, part);
    }
    let step = b.any();
    look_up(b, step, [list, of], bit);
}

#[cfg(test)]
mod tests;
