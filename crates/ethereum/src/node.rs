//! A node of a trie, decoded strictly: the meaning of a node is a function of its bytes.

use std::sync::Arc;

use evergrove_verifier::ethereum::rlp::{self, Item, Reader, RlpError};
use evergrove_verifier::ethereum::{Hash, NODE_MAX};

/// Nibbles of the longest key.
pub(crate) const NIBBLES_MAX: usize = 64;
/// The reference to a node of at least this length is its hash; a shorter node is in its parent's bytes.
pub(crate) const HASHED_FROM: usize = 32;

/// The kind of keys of a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Digests of 32 bytes. Only leaves can be shorter than 32 bytes: other embedded nodes are refused.
    Hashed,
    /// 1 to 32 bytes; no key is the beginning of another.
    Index,
}

/// The child below an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    Empty,
    Hash(Hash),
    /// An embedded node, or one that has no hash yet.
    Node(Arc<Node>),
}

/// Paths are nibbles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Leaf { path: Vec<u8>, value: Vec<u8> },
    Extension { path: Vec<u8>, child: Child },
    Branch(Box<[Child; 16]>),
}

/// Why bytes are not a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeFault {
    /// The bytes are not RLP.
    #[error(transparent)]
    Rlp(#[from] RlpError),
    /// They are longer than [`NODE_MAX`].
    #[error("a node has at most {NODE_MAX} bytes, got {0}")]
    Long(usize),
    /// A number of items other than 2 and 17.
    #[error("a node has 2 or 17 items, got {0}")]
    Items(usize),
    /// A path that begins with a nibble above 3, or whose second nibble is not 0 where it pads.
    #[error("a path begins with a nibble of 0 to 3 and, where that is even, a nibble of 0: got byte {0:#04x}")]
    Path(u8),
    /// A path of more than 64 nibbles.
    #[error("a path has at most 64 nibbles, got {0}")]
    PathLength(usize),
    /// An extension without nibbles.
    #[error("an extension needs at least one nibble")]
    EmptyPath,
    /// A reference that is neither empty nor a hash of 32 bytes nor a node of at most 31 bytes.
    #[error("a reference has 0 or 32 bytes or is a node of at most 31, got {0} bytes")]
    Reference(usize),
    /// An embedded branch or extension in a trie of hashed keys.
    #[error("embedded node of {0} bytes: in a trie of hashed keys only leaves are that short")]
    Embedded(usize),
    /// A branch with fewer than two children.
    #[error("a branch needs two children, got {0}")]
    Children(usize),
    /// A branch with a value.
    #[error("a branch of this trie has no value, got {0} bytes")]
    BranchValue(usize),
    /// A leaf without a value.
    #[error("a leaf needs a value")]
    EmptyValue,
    /// A node shorter than 32 bytes that is referred to by its hash.
    #[error("a node of {0} bytes is part of its parent and has no hash there")]
    Short(usize),
    /// An extension above something other than a branch.
    #[error("an extension leads to a branch only")]
    ExtensionChild,
}

impl Node {
    /// The node with these bytes. Nested nodes fit into 31 bytes, which bounds the recursion.
    pub(crate) fn decode(bytes: &[u8], keys: Keys) -> Result<Self, NodeFault> {
        if bytes.len() > NODE_MAX {
            return Err(NodeFault::Long(bytes.len()));
        }
        let mut outer = Reader::new(bytes);
        let items = outer.list()?;
        outer.end()?;
        Self::from_items(items, keys)
    }

    fn from_items(mut items: Reader<'_>, keys: Keys) -> Result<Self, NodeFault> {
        let (mut rest, mut count) = (items, 0);
        while !rest.is_empty() {
            rest.item()?;
            count += 1;
        }
        match count {
            2 => {
                let (path, leaf) = path(items.string(1, NODE_MAX)?)?;
                if leaf {
                    let value = items.string(0, NODE_MAX)?.to_vec();
                    return if value.is_empty() { Err(NodeFault::EmptyValue) } else { Ok(Self::Leaf { path, value }) };
                }
                if path.is_empty() {
                    return Err(NodeFault::EmptyPath);
                }
                match child(&mut items, keys)? {
                    Child::Empty => Err(NodeFault::Reference(0)),
                    Child::Node(node) if !matches!(*node, Self::Branch(_)) => Err(NodeFault::ExtensionChild),
                    child => Ok(Self::Extension { path, child }),
                }
            }
            17 => {
                let mut children = Box::new([const { Child::Empty }; 16]);
                for slot in children.iter_mut() {
                    *slot = child(&mut items, keys)?;
                }
                let value = items.string(0, NODE_MAX)?.len();
                if value > 0 {
                    return Err(NodeFault::BranchValue(value));
                }
                match children.iter().filter(|c| **c != Child::Empty).count() {
                    few @ 0..=1 => Err(NodeFault::Children(few)),
                    _ => Ok(Self::Branch(children)),
                }
            }
            _ => Err(NodeFault::Items(count)),
        }
    }

    /// The bytes of a node; `refer` appends the reference to a child.
    pub(crate) fn encode(&self, mut refer: impl FnMut(&Child, &mut Vec<u8>)) -> Vec<u8> {
        let mut items = Vec::with_capacity(17 * (HASHED_FROM + 1));
        match self {
            Self::Leaf { path, value } => {
                rlp::write_string(&mut items, &prefixed(path, true));
                rlp::write_string(&mut items, value);
            }
            Self::Extension { path, child } => {
                rlp::write_string(&mut items, &prefixed(path, false));
                refer(child, &mut items);
            }
            Self::Branch(children) => {
                children.iter().for_each(|child| refer(child, &mut items));
                items.push(rlp::EMPTY_STRING);
            }
        }
        rlp::list(&items)
    }
}

fn child(items: &mut Reader<'_>, keys: Keys) -> Result<Child, NodeFault> {
    let before = items.len();
    match items.item()? {
        Item::String([]) => Ok(Child::Empty),
        Item::String(hash) => match hash.try_into() {
            Ok(hash) => Ok(Child::Hash(hash)),
            Err(_) => Err(NodeFault::Reference(hash.len())),
        },
        Item::List(nested) => {
            let length = before - items.len();
            if length >= HASHED_FROM {
                return Err(NodeFault::Reference(length));
            }
            match Node::from_items(nested, keys)? {
                Node::Branch(_) | Node::Extension { .. } if keys == Keys::Hashed => Err(NodeFault::Embedded(length)),
                node => Ok(Child::Node(Arc::new(node))),
            }
        }
    }
}

/// The nibbles of bytes, the upper half of each byte first.
pub(crate) fn nibbles(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).collect()
}

/// A path without its prefix, and whether it is a leaf's.
fn path(bytes: &[u8]) -> Result<(Vec<u8>, bool), NodeFault> {
    let first = *bytes.first().ok_or(NodeFault::EmptyPath)?;
    let odd = first & 0x10 != 0;
    if first >= 0x40 || (!odd && first & 15 != 0) {
        return Err(NodeFault::Path(first));
    }
    let path = nibbles(bytes).split_off(if odd { 1 } else { 2 });
    if path.len() > NIBBLES_MAX { Err(NodeFault::PathLength(path.len())) } else { Ok((path, first & 0x20 != 0)) }
}

/// A path with its prefix (Yellow Paper, appendix C).
fn prefixed(path: &[u8], leaf: bool) -> Vec<u8> {
    let flag = if leaf { 0x20 } else { 0 };
    let (first, rest) = match path {
        [nibble, rest @ ..] if path.len() % 2 == 1 => (flag | 0x10 | nibble, rest),
        _ => (flag, path),
    };
    [first].into_iter().chain(rest.as_chunks::<2>().0.iter().map(|[a, b]| a << 4 | b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refer(child: &Child, out: &mut Vec<u8>) {
        match child {
            Child::Empty => out.push(rlp::EMPTY_STRING),
            Child::Hash(hash) => rlp::write_string(out, hash),
            Child::Node(node) => out.extend(node.encode(refer)),
        }
    }

    /// A leaf, an extension, and branches of hashes, of embedded leaves and of an embedded branch.
    fn samples() -> Vec<Vec<u8>> {
        let leaf = |path: &[u8], value: &[u8]| Node::Leaf { path: path.to_vec(), value: value.to_vec() };
        let child = |node: Node| Child::Node(Arc::new(node));
        let branch = |children: &[(usize, Child)]| {
            let mut all = Box::new([const { Child::Empty }; 16]);
            children.iter().for_each(|(i, child)| all[*i] = child.clone());
            Node::Branch(all)
        };
        let hash = Child::Hash([0xab; 32]);
        let small = branch(&[(1, child(leaf(&[2], &[3]))), (9, child(leaf(&[], &[0x81])))]);
        let nodes = [
            leaf(&[1, 2, 3], &[0x80; 60]),
            leaf(&[4, 4], &[0x7f]),
            Node::Extension { path: vec![5; 9], child: hash.clone() },
            Node::Extension { path: vec![5; 2], child: child(small.clone()) },
            branch(&core::array::from_fn::<_, 16, _>(|i| (i, hash.clone()))),
            branch(&[(0, hash.clone()), (3, child(leaf(&[7; 5], &[1]))), (15, hash)]),
            branch(&[(2, child(small)), (4, child(leaf(&[], &[9; 20])))]),
        ];
        nodes.iter().map(|node| node.encode(refer)).collect()
    }

    #[test]
    fn what_is_accepted_is_what_would_be_written() {
        let samples = samples();
        let (mut state, mut accepted) = (1u64, [0; 2]);
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % n
        };
        for case in 0..200_000 {
            let sample = &samples[case % samples.len()];
            let mut bytes = sample.clone();
            for _ in 0..random(3) {
                let at = random(bytes.len());
                match random(4) {
                    0 => bytes[at] = [0, 0x20, 0x80, 0x81, 0xa0, 0xb8, 0xc2, 0xf8][random(8)],
                    1 => bytes[at] = bytes[at].wrapping_add(1),
                    2 => bytes[at] ^= 1 << random(8),
                    _ => {
                        bytes.insert(at, random(256) as u8);
                        bytes.remove(random(bytes.len()));
                    }
                }
            }
            for keys in [Keys::Hashed, Keys::Index] {
                if let Ok(node) = Node::decode(&bytes, keys) {
                    assert_eq!(node.encode(refer), bytes, "case {case}, {keys:?}: {node:?}");
                    accepted[usize::from(bytes != *sample)] += 1;
                }
            }
        }
        assert!(accepted[0] > 50_000 && accepted[1] > 50_000, "{accepted:?}");
    }
}
