//! Paths from edges to keys. Each node on them is found, hashed and parsed once.

use std::collections::HashMap;

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_verifier::ethereum::rlp::{Item, Reader, RlpError, RlpFault};
use evergrove_verifier::ethereum::{EMPTY_ROOT, Hash};

use super::super::gadgets::NIBBLES;
use super::{Child, End, Link, Node, Number, Own, PieceError, invalid, padded};

/// The nodes that were found so far, by their hashes.
pub(super) struct Walks<'a> {
    pub(super) nodes: &'a dyn Fn(&Hash) -> Option<&'a [u8]>,
    pub(super) stream: Vec<u8>,
    pub(super) goes_on: Vec<bool>,
    pub(super) messages: HashMap<Hash, (usize, usize)>,
    pub(super) branches: Vec<Node>,
    pub(super) paths: Vec<Node>,
    /// The slot of the node at each edge.
    pub(super) known: HashMap<(Number, u8), Number>,
}

/// The contents of a node, with addresses.
enum Parsed {
    Branch(Box<[Child; 16]>),
    Path { leaf: bool, nibbles: Vec<u8>, behind: usize, value: usize, length: usize, child: Child },
}

impl<'a> Walks<'a> {
    pub(super) fn new(nodes: &'a dyn Fn(&Hash) -> Option<&'a [u8]>) -> Self {
        Self {
            nodes,
            stream: Vec::new(),
            goes_on: Vec::new(),
            messages: HashMap::new(),
            branches: Vec::new(),
            paths: Vec::new(),
            known: HashMap::new(),
        }
    }
    fn bytes(&self, from: usize, length: usize) -> &[u8] {
        &self.stream[from..from + length]
    }
    /// The value at the end of a path.
    pub(super) fn value(&self, end: &End) -> Option<&[u8]> {
        match end {
            End::Present { value, length, .. } => Some(self.bytes(*value, *length)),
            _ => None,
        }
    }
    /// The address of the message with this hash, the number of the block behind its last one, and its length.
    fn message(&mut self, hash: &Hash) -> Result<(usize, usize, usize), PieceError> {
        let bytes = (self.nodes)(hash).ok_or_else(|| PieceError::Missing(Box::new(*hash)))?;
        if let Some(&(start, end)) = self.messages.get(hash) {
            return Ok((start, end, bytes.len()));
        }
        if keccak_256(bytes) != *hash {
            return Err(PieceError::Node(Box::new(*hash), "it has another hash".into()));
        }
        let start = self.stream.len();
        self.stream.extend(padded(bytes));
        let end = self.stream.len() / RATE_BYTES;
        self.goes_on.extend((start / RATE_BYTES..end).map(|block| block > start / RATE_BYTES));
        self.messages.insert(*hash, (start, end));
        Ok((start, end, bytes.len()))
    }
    fn parse(&self, start: usize, length: usize) -> Result<Parsed, RlpError> {
        let node = self.bytes(start, length);
        let at = |rest: &[u8]| start + length - rest.len();
        let mut items = Reader::new(node).list()?;
        let mut count = items;
        let mut all = 0;
        while !count.is_empty() {
            count.item()?;
            all += 1;
        }
        let child = |items: &mut Reader<'_>| {
            let begin = items.rest();
            Ok(match items.item()? {
                Item::String([]) => Child::Empty,
                Item::String(hash) => Child::Hash(
                    hash.try_into()
                        .map_err(|_| items.error(RlpFault::Length { least: 32, most: 32, found: hash.len() }))?,
                ),
                Item::List(_) => Child::Embedded(at(begin), begin.len() - items.rest().len()),
            })
        };
        if all == 17 {
            let mut children = Box::new([Child::Empty; 16]);
            for own in children.iter_mut() {
                *own = child(&mut items)?;
            }
            return Ok(Parsed::Branch(children));
        }
        let path = items.string(1, 33)?;
        let (leaf, odd) = (path[0] >> 4 & 2 != 0, path[0] >> 4 & 1 != 0);
        let mut nibbles: Vec<u8> = path.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
        nibbles.drain(..if odd { 1 } else { 2 });
        let behind = at(items.rest());
        let (child, value, length) = if leaf {
            let value = items.string(1, usize::MAX)?;
            (Child::Empty, at(items.rest()) - value.len(), value.len())
        } else {
            (child(&mut items)?, behind, 0)
        };
        Ok(Parsed::Path { leaf, nibbles, behind, value, length, child })
    }

    /// Walks down from a link, along a key.
    pub(super) fn walk(&mut self, link: Link, key: &[u8]) -> Result<End, PieceError> {
        self.go(link, key, false)
    }
    /// Walks down from a link to a place.
    pub(super) fn walk_to(&mut self, link: Link, place: &[u8]) -> Result<End, PieceError> {
        self.go(link, place, true)
    }
    fn go(&mut self, mut link: Link, key: &[u8], to_place: bool) -> Result<End, PieceError> {
        let mut hash = [0; 32];
        loop {
            let place = link.place();
            let depth = place.len();
            if to_place && depth == key.len() {
                return Ok(End::There(link));
            }
            let (start, end, length) = match link.child {
                Child::Empty => return Ok(End::Nothing(link)),
                Child::Hash(EMPTY_ROOT) => return Ok(End::Nothing(link)),
                Child::Hash(own) => {
                    hash = own;
                    self.message(&own)?
                }
                Child::Embedded(start, length) => (start, 0, length),
            };
            let Link { trie, root, .. } = link;
            let node = |leaf| Node { link: link.clone(), start, end, leaf };
            let slot = (link.from, link.nibble);
            let known = self.known.get(&slot).copied();
            match self.parse(start, length).map_err(|e| invalid(&hash, e))? {
                Parsed::Branch(_) | Parsed::Path { leaf: false, .. } if matches!(link.child, Child::Embedded(..)) => {
                    let what = "it contains a branch or an extension, which no circuit reads";
                    return Err(PieceError::Node(Box::new(hash), what.into()));
                }
                Parsed::Branch(children) => {
                    let number = known.unwrap_or(Number::Branch(self.branches.len()));
                    if known.is_none() {
                        self.branches.push(node(false));
                    }
                    self.known.insert(slot, number);
                    let nibble = *key.get(depth).ok_or_else(|| short(&hash))?;
                    link = Link {
                        from: number,
                        nibble,
                        depth: depth as i64,
                        trie,
                        root,
                        prefix: place,
                        child: children[usize::from(nibble)],
                        extension: false,
                    };
                }
                Parsed::Path { leaf, nibbles, behind, value, length, child } => {
                    let number = known.unwrap_or(Number::Path(self.paths.len()));
                    if known.is_none() {
                        self.paths.push(node(leaf));
                    }
                    self.known.insert(slot, number);
                    let Number::Path(path) = number else { return Err(short(&hash)) };
                    let end = [&place[..], &nibbles].concat();
                    if end.len() as u64 > NIBBLES || !leaf && nibbles.is_empty() {
                        return Err(short(&hash));
                    }
                    // A key that ends within a path does not belong to this trie. That does not make it absent.
                    if !to_place && end.len() > key.len() && end.starts_with(key) {
                        return Err(short(&hash));
                    }
                    if !key.starts_with(&end) {
                        let own = Own { depth, trie, root, prefix: place, end, behind };
                        return Ok(End::Other { path, own });
                    }
                    if leaf {
                        return Ok(End::Present { path, item: behind, value, length });
                    }
                    link = Link {
                        from: number,
                        nibble: 0,
                        depth: end.len() as i64 - 1,
                        trie,
                        root,
                        prefix: end,
                        child,
                        extension: true,
                    };
                }
            }
        }
    }
}

fn short(hash: &Hash) -> PieceError {
    PieceError::Node(Box::new(*hash), "its path does not fit the keys of its trie".into())
}
