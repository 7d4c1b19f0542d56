//! A partially known trie.

use std::fmt::Write;
use std::sync::Arc;

use evergrove_verifier::ethereum::{EMPTY_ROOT, Hash, Hex, NODE_MAX, VALUE_MAX, rlp};

use crate::node::{Child, HASHED_FROM, Keys, Node, NodeFault, nibbles};
use crate::nodes::Nodes;

/// The answer of a trie for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The value.
    Present(Vec<u8>),
    /// No value, and the reason.
    Absent(Absence),
}

/// How a walk shows that a key is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// No child for the key's nibble at this depth; at depth 0 the whole trie is empty.
    Empty {
        /// Nibbles above.
        depth: usize,
    },
    /// The path of a leaf or an extension has another nibble than the key at this depth.
    Diverges {
        /// Nibbles above.
        depth: usize,
    },
}

/// A trie cannot answer, or cannot be changed. Prefixes are nibbles as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrieError {
    /// The root is not among the nodes.
    #[error("no node has the root hash {}: the nodes are of another block, or of another trie", Hex(.0))]
    Root(Hash),
    /// A node is not among the nodes.
    #[error("missing node {} below prefix 0x{prefix}: add the proof of a key with this prefix", Hex(.hash))]
    Missing {
        /// Its hash.
        hash: Hash,
        /// Its place.
        prefix: String,
    },
    /// A node cannot be decoded.
    #[error("invalid node {} below prefix 0x{prefix}: {fault}", Hex(.hash))]
    Node {
        /// Its hash.
        hash: Hash,
        /// Its place.
        prefix: String,
        /// The fault.
        fault: NodeFault,
    },
    /// A branch that loses a child merges with its last child, whose node is missing.
    #[error(
        "deleting a key leaves one child {} at prefix 0x{prefix}, and its node is missing: add the proof of a key with this prefix, or use debug_executionWitness",
        Hex(.hash)
    )]
    Sibling {
        /// The hash of the last child.
        hash: Hash,
        /// Its place.
        prefix: String,
    },
    /// The length of a key differs from that of the trie's keys.
    #[error("a key of this trie has {expected} bytes, got {found}")]
    Key {
        /// The expected length.
        expected: &'static str,
        /// Bytes of the key.
        found: usize,
    },
    /// The key ends inside a path, or a path at a leaf ends before the key does.
    #[error("a key of another length below prefix 0x{prefix}: one of two keys is the beginning of the other")]
    Length {
        /// The place.
        prefix: String,
    },
    /// A value to put has no bytes.
    #[error("a value needs at least one byte: delete the key instead")]
    EmptyValue,
    /// A value to put is longer than the room that a node has beside its key.
    #[error("a value at this key has at most {most} bytes, got {found}")]
    LongValue {
        /// [`VALUE_MAX`], or less if the key is longer than an index.
        most: usize,
        /// Bytes of the value.
        found: usize,
    },
    /// A change would make an embedded branch in a trie of hashed keys, which no lookup accepts.
    #[error(
        "a branch of {length} bytes at prefix 0x{prefix}: in a trie of hashed keys only leaves are that short, so these keys are not hashes"
    )]
    ShortBranch {
        /// Bytes of the branch.
        length: usize,
        /// The place where it would be.
        prefix: String,
    },
}

/// A Merkle Patricia trie (Yellow Paper, appendix D) over a set of nodes.
///
/// Lookups and changes cost O(depth), at most 64. A change makes new nodes on its way and leaves the old ones in the
/// set; an error leaves the trie unchanged. A clone shares the nodes that the trie began with, and copies every node
/// made since.
#[derive(Clone, Debug)]
pub struct Trie {
    keys: Keys,
    root: Child,
    /// The nodes that the trie began with, shared with other tries.
    nodes: Arc<Nodes>,
    /// Nodes made by changes.
    made: Nodes,
}

impl Trie {
    /// The trie with this root hash; nothing is decoded.
    pub fn new(root: &Hash, keys: Keys, nodes: Arc<Nodes>) -> Self {
        let root = if *root == EMPTY_ROOT { Child::Empty } else { Child::Hash(*root) };
        Self { keys, root, nodes, made: Nodes::default() }
    }

    /// The trie without keys.
    pub fn empty(keys: Keys) -> Self {
        Self::new(&EMPTY_ROOT, keys, Arc::default())
    }

    /// The trie with these values at rlp(0), rlp(1), ..: that of a block's transactions, receipts or withdrawals.
    ///
    /// # Errors
    /// When a value is empty or too long.
    pub fn indexed<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Result<Self, TrieError> {
        let mut trie = Self::empty(Keys::Index);
        for (index, value) in (0..).zip(values) {
            trie.put(&rlp::integer(index), Some(value.as_ref()))?;
        }
        Ok(trie)
    }

    /// The answer of the trie for a key. Two answers for one key and one root hash would be a collision of Keccak-256.
    ///
    /// # Errors
    /// When a node on the way is missing or invalid, or the key has the wrong length.
    pub fn get(&self, key: &[u8]) -> Result<Lookup, TrieError> {
        self.walk(key, |_, _| {})
    }

    /// The bytes of the nodes on the way to a key, the root's first, as `eth_getProof` lists them: embedded nodes are in their parents.
    ///
    /// # Errors
    /// As for [`Trie::get`].
    pub fn proof(&mut self, key: &[u8]) -> Result<Vec<&[u8]>, TrieError> {
        self.root();
        let mut nodes = Vec::new();
        self.walk(key, |_, bytes| nodes.push(bytes))?;
        Ok(nodes)
    }

    /// Puts a value at a key, or deletes the key.
    ///
    /// # Errors
    /// As for [`Trie::get`]; when a value is empty or too long; when a branch would be left with one child whose node
    /// is missing; when a branch would be too short for a trie of hashed keys.
    pub fn put(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), TrieError> {
        // In addition to the value, a leaf has three bytes before the value, three before everything, and two bytes and
        // the key's bytes for the path.
        let most = VALUE_MAX.min(NODE_MAX - 8 - key.len().min(32));
        let key = self.nibbles(key)?;
        match value {
            Some([]) => return Err(TrieError::EmptyValue),
            Some(value) if value.len() > most => return Err(TrieError::LongValue { most, found: value.len() }),
            Some(value) => self.root = self.inserted(&self.root, &key, 0, value)?,
            None => {
                if let Some(root) = self.deleted(&self.root, &key, 0)? {
                    self.root = root;
                }
            }
        }
        Ok(())
    }

    /// The root hash. Hashes the nodes that were changed since the last call.
    pub fn root(&mut self) -> Hash {
        match self.root.clone() {
            Child::Empty => EMPTY_ROOT,
            Child::Hash(hash) => hash,
            Child::Node(node) => {
                let bytes = self.sealed(&node);
                let hash = self.made.insert(bytes);
                self.root = Child::Hash(hash);
                hash
            }
        }
    }

    /// The state that [`Trie::go_back`] needs to undo later changes.
    pub(crate) fn mark(&self) -> Child {
        self.root.clone()
    }

    /// Undoes the changes since a mark. The nodes that they made stay in the set.
    pub(crate) fn go_back(&mut self, mark: Child) {
        self.root = mark;
    }

    /// Walks to a key and shows every hashed node on the way.
    pub(crate) fn walk<'a>(&'a self, key: &[u8], mut visit: impl FnMut(&Hash, &'a [u8])) -> Result<Lookup, TrieError> {
        let key = self.nibbles(key)?;
        let (mut depth, mut child) = (0, self.root.clone());
        loop {
            if let Child::Hash(hash) = &child {
                visit(hash, self.bytes(hash, &key[..depth])?);
            }
            let Some(node) = self.load(&child, &key[..depth])? else {
                return Ok(Lookup::Absent(Absence::Empty { depth: depth.saturating_sub(1) }));
            };
            let (path, rest) = match &*node {
                Node::Leaf { path, .. } | Node::Extension { path, .. } => (&path[..], &key[depth..]),
                Node::Branch(_) => (&[][..], &key[depth..]),
            };
            let common = common(path, rest);
            if common < path.len() && common < rest.len() {
                return Ok(Lookup::Absent(Absence::Diverges { depth: depth + common }));
            }
            match &*node {
                Node::Leaf { path, value } if path.len() == rest.len() => return Ok(Lookup::Present(value.clone())),
                Node::Extension { path, child: below } if path.len() < rest.len() => {
                    depth += path.len();
                    child = self.branch_below(below, &key[..depth])?;
                }
                Node::Branch(children) if !rest.is_empty() => {
                    child = children[usize::from(rest[0])].clone();
                    depth += 1;
                }
                _ => return Err(TrieError::Length { prefix: digits(&key[..depth]) }),
            }
        }
    }

    fn nibbles(&self, key: &[u8]) -> Result<Vec<u8>, TrieError> {
        let (fits, expected) = match self.keys {
            Keys::Hashed => (key.len() == 32, "32"),
            Keys::Index => ((1..=32).contains(&key.len()), "1 to 32"),
        };
        if fits { Ok(nibbles(key)) } else { Err(TrieError::Key { expected, found: key.len() }) }
    }

    fn bytes(&self, hash: &Hash, prefix: &[u8]) -> Result<&[u8], TrieError> {
        self.made.get(hash).or_else(|| self.nodes.get(hash)).ok_or_else(|| match prefix {
            [] => TrieError::Root(*hash),
            _ => TrieError::Missing { hash: *hash, prefix: digits(prefix) },
        })
    }

    /// The node of a child, or `None` if it is empty.
    fn load(&self, child: &Child, prefix: &[u8]) -> Result<Option<Arc<Node>>, TrieError> {
        let hash = match child {
            Child::Empty => return Ok(None),
            Child::Node(node) => return Ok(Some(node.clone())),
            Child::Hash(hash) => hash,
        };
        let bytes = self.bytes(hash, prefix)?;
        let node = match Node::decode(bytes, self.keys) {
            Ok(_) if bytes.len() < HASHED_FROM && !prefix.is_empty() => Err(NodeFault::Short(bytes.len())),
            decoded => decoded,
        };
        node.map(|node| Some(Arc::new(node))).map_err(|fault| node_error(hash, prefix, fault))
    }

    /// The child of an extension, unchanged: a branch. For embedded nodes, decoding has checked this.
    fn branch_below(&self, child: &Child, prefix: &[u8]) -> Result<Child, TrieError> {
        match (child, self.load(child, prefix)?.as_deref()) {
            (Child::Hash(hash), Some(Node::Leaf { .. } | Node::Extension { .. })) => {
                Err(node_error(hash, prefix, NodeFault::ExtensionChild))
            }
            _ => Ok(child.clone()),
        }
    }

    /// The child with the value at a key, of which `at` nibbles are above.
    fn inserted(&self, child: &Child, key: &[u8], at: usize, value: &[u8]) -> Result<Child, TrieError> {
        let leaf = |path: &[u8]| Node::Leaf { path: path.to_vec(), value: value.to_vec() };
        let rest = &key[at..];
        let length = || TrieError::Length { prefix: digits(&key[..at]) };
        let Some(node) = self.load(child, &key[..at])? else { return Ok(child_of(leaf(rest))) };
        let path = match &*node {
            Node::Branch(children) => {
                let nibble = usize::from(*rest.first().ok_or_else(length)?);
                let mut children = children.clone();
                children[nibble] = self.inserted(&children[nibble], key, at + 1, value)?;
                return self.branch(children, &key[..at]);
            }
            Node::Leaf { path, .. } if path == rest => return Ok(child_of(leaf(rest))),
            Node::Extension { path, child } if rest.starts_with(path) => {
                let at = at + path.len();
                let child = self.inserted(&self.branch_below(child, &key[..at])?, key, at, value)?;
                return Ok(child_of(Node::Extension { path: path.clone(), child }));
            }
            Node::Leaf { path, .. } | Node::Extension { path, .. } => path,
        };
        let common = common(path, rest);
        let (Some(&old), Some(&new)) = (path.get(common), rest.get(common)) else { return Err(length()) };
        let tail = path[common + 1..].to_vec();
        let mut children = Box::new([const { Child::Empty }; 16]);
        children[usize::from(old)] = match &*node {
            Node::Leaf { value, .. } => child_of(Node::Leaf { path: tail, value: value.clone() }),
            Node::Extension { child, .. } if tail.is_empty() => child.clone(),
            Node::Extension { child, .. } => child_of(Node::Extension { path: tail, child: child.clone() }),
            Node::Branch(_) => return Err(length()),
        };
        children[usize::from(new)] = child_of(leaf(&rest[common + 1..]));
        let branch = self.branch(children, &key[..at + common])?;
        let path = path[..common].to_vec();
        Ok(if path.is_empty() { branch } else { child_of(Node::Extension { path, child: branch }) })
    }

    /// A branch with these children, unless a lookup would refuse it.
    fn branch(&self, children: Box<[Child; 16]>, prefix: &[u8]) -> Result<Child, TrieError> {
        let node = Node::Branch(children);
        // Nearer to the root, the paths of leaves are too long for an embedded branch.
        if self.keys == Keys::Hashed && prefix.len() > 32 {
            let length = node.encode(refer_to_leaf).len();
            if length < HASHED_FROM {
                return Err(TrieError::ShortBranch { length, prefix: digits(prefix) });
            }
        }
        Ok(child_of(node))
    }

    /// The child without a key, or `None` if the key is absent.
    fn deleted(&self, child: &Child, key: &[u8], at: usize) -> Result<Option<Child>, TrieError> {
        let rest = &key[at..];
        let length = || TrieError::Length { prefix: digits(&key[..at]) };
        let Some(node) = self.load(child, &key[..at])? else { return Ok(None) };
        match &*node {
            Node::Leaf { path, .. } | Node::Extension { path, .. } if !rest.starts_with(path) => {
                if path.starts_with(rest) { Err(length()) } else { Ok(None) }
            }
            Node::Leaf { path, .. } if path == rest => Ok(Some(Child::Empty)),
            Node::Leaf { .. } => Err(length()),
            Node::Extension { path, child } => {
                let at = at + path.len();
                let below = self.deleted(&self.branch_below(child, &key[..at])?, key, at)?;
                below.map(|below| self.joined(path, &below, &key[..at])).transpose()
            }
            Node::Branch(children) => {
                let nibble = usize::from(*rest.first().ok_or_else(length)?);
                let Some(below) = self.deleted(&children[nibble], key, at + 1)? else { return Ok(None) };
                let mut children = children.clone();
                children[nibble] = below;
                let mut left = (0u8..).zip(children.iter()).filter(|(_, child)| **child != Child::Empty);
                if let (Some((nibble, child)), None) = (left.next(), left.next()) {
                    let prefix = [&key[..at], &[nibble]].concat();
                    return self.joined(&[nibble], child, &prefix).map(Some);
                }
                self.branch(children, &key[..at]).map(Some)
            }
        }
    }

    /// A path above a child, as one node if the child has a path itself: this requires the child's node.
    fn joined(&self, path: &[u8], child: &Child, prefix: &[u8]) -> Result<Child, TrieError> {
        let node = self.load(child, prefix).map_err(|error| match error {
            TrieError::Missing { hash, prefix } => TrieError::Sibling { hash, prefix },
            other => other,
        })?;
        let long = |tail: &[u8]| [path, tail].concat();
        Ok(match node.as_deref() {
            None => Child::Empty,
            Some(Node::Leaf { path, value }) => child_of(Node::Leaf { path: long(path), value: value.clone() }),
            Some(Node::Extension { path, child }) => {
                child_of(Node::Extension { path: long(path), child: child.clone() })
            }
            Some(Node::Branch(_)) => child_of(Node::Extension { path: path.to_vec(), child: child.clone() }),
        })
    }

    /// The bytes of a node; nodes below it receive hashes.
    fn sealed(&mut self, node: &Node) -> Vec<u8> {
        node.encode(|child, out| match child {
            Child::Empty => out.push(rlp::EMPTY_STRING),
            Child::Hash(hash) => rlp::write_string(out, hash),
            Child::Node(node) => {
                let bytes = self.sealed(node);
                if bytes.len() < HASHED_FROM {
                    out.extend_from_slice(&bytes);
                } else {
                    rlp::write_string(out, &self.made.insert(bytes));
                }
            }
        })
    }
}

fn node_error(hash: &Hash, prefix: &[u8], fault: NodeFault) -> TrieError {
    TrieError::Node { hash: *hash, prefix: digits(prefix), fault }
}

fn child_of(node: Node) -> Child {
    Child::Node(Arc::new(node))
}

/// A reference as long as the real one; only leaves can be embedded nodes here.
fn refer_to_leaf(child: &Child, out: &mut Vec<u8>) {
    let leaf = match child {
        Child::Empty => return out.push(rlp::EMPTY_STRING),
        Child::Node(node) if matches!(**node, Node::Leaf { .. }) => node.encode(|_, _| {}),
        _ => vec![0; HASHED_FROM],
    };
    if leaf.len() < HASHED_FROM { out.extend(leaf) } else { rlp::write_string(out, &[0; HASHED_FROM]) }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn digits(nibbles: &[u8]) -> String {
    nibbles.iter().fold(String::new(), |mut out, nibble| {
        let _ = write!(out, "{nibble:x}");
        out
    })
}
