//! OpenZeppelin's Merkle tree over a table, whose rows a contract checks with `MerkleProof`.
//!
//! **What.** [`prove`] returns the [`RowProof`]s of rows, for a contract. [`positions`] places rows so that the tree
//! has the root of OpenZeppelin's JavaScript library, and [`Tree::order`] says whether a table's rows have these
//! positions.
//!
//! **When.** For tables whose columns all have ABI types, like `address` and `uint256`. Contracts accept proofs of rows
//! at any positions. [`Order`] matters only if the root must be that of `@openzeppelin/merkle-tree`: a change of a row
//! or of the number of rows then changes the positions of others, and the table must be committed again.
//!
//! **Neighbours.** [`evergrove_verifier::openzeppelin`] defines leaves, nodes and the library's slots. The application
//! `digest-translation` has circuits that prove the root.

use core::fmt;
use core::str::FromStr;

use evergrove_commit::schema::{Row, Schema};
use evergrove_primitives::hash::keccak::{Function, hash_many};
use evergrove_store::View;
use evergrove_verifier::abi::{AbiType, AbiWord};
use evergrove_verifier::openzeppelin::{js_slot, root_of_proof};

pub use evergrove_verifier::openzeppelin::KeccakDigest;

use crate::Error;

/// Rows whose words are hashed at a time.
const CHUNK: usize = 1 << 10;

/// Positions of rows at which the tree's root is that of `@openzeppelin/merkle-tree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the digests of rows: the library's default.
    Sorted,
    /// In the given order of rows: the library's `sortLeaves: false`.
    Unsorted,
}

impl Order {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::Sorted, Self::Unsorted];

    /// The name: `openzeppelin-js`, `openzeppelin-js-unsorted`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sorted => "openzeppelin-js",
            Self::Unsorted => "openzeppelin-js-unsorted",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown order {0:?}: choose openzeppelin-js or openzeppelin-js-unsorted")]
pub struct UnknownOrder(pub String);

impl FromStr for Order {
    type Err = UnknownOrder;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|order| order.name() == s).ok_or_else(|| UnknownOrder(s.into()))
    }
}

/// The positions of rows in an order, row by row. n leaves are hashed and sorted, with 40 bytes of memory for each.
///
/// # Errors
/// [`Error::NotAbi`]; [`Error::EqualRows`] with the numbers of two equal rows, unless `duplicates` allows them; the
/// errors of `rows`.
pub fn positions<E: Into<Error>>(
    schema: &Schema,
    rows: impl IntoIterator<Item = Result<(u64, Row), E>>,
    order: Order,
    duplicates: bool,
) -> Result<Vec<u64>, Error> {
    let mut hasher = Leaves::new(schema)?;
    for row in rows {
        let (_, row) = row.map_err(Into::into)?;
        hasher.push(hasher.count(), &row);
    }
    let leaves = hasher.finish();
    let n = leaves.len();
    let mut ranks: Vec<usize> = (0..n).collect();
    // Equal rows keep their order, as in the library.
    ranks.sort_by_key(|&row| leaves[row].1);
    let equal = |pair: &[usize]| leaves[pair[0]].1 == leaves[pair[1]].1;
    if !duplicates && let Some(pair) = ranks.windows(2).filter(|pair| equal(pair)).min_by_key(|pair| pair[1]) {
        return Err(Error::EqualRows { first: pair[0] as u64, second: pair[1] as u64 });
    }
    let mut positions = vec![0; n];
    for (leaf, row) in ranks.into_iter().enumerate() {
        let leaf = if order == Order::Sorted { leaf } else { row };
        positions[row] = js_slot(n, leaf).map_or(0, |slot| slot as u64);
    }
    Ok(positions)
}

/// The tree over a table. It holds the leaves: 40 bytes for a row.
#[derive(Clone, Debug)]
pub struct Tree {
    types: Vec<AbiType>,
    leaves: Vec<(u64, KeccakDigest)>,
}

impl Tree {
    /// The tree over an epoch of a table. Reads every row, and hashes its words twice.
    ///
    /// # Errors
    /// [`Error::NotAbi`], and the errors of a damaged store.
    pub fn of(view: &View) -> Result<Self, Error> {
        let types = view.schema().abi_types()?;
        let mut leaves = Leaves::new(view.schema())?;
        view.for_each_row(|index, row| {
            leaves.push(index, &row);
            Ok(())
        })?;
        Ok(Self { types, leaves: leaves.finish() })
    }

    /// The types of the columns.
    pub fn types(&self) -> &[AbiType] {
        &self.types
    }

    /// Position and digest of every row, in ascending order.
    pub fn leaves(&self) -> &[(u64, KeccakDigest)] {
        &self.leaves
    }

    /// The root; `None` for a table without rows. Fewer than n permutations for n rows.
    pub fn root(&self) -> Option<KeccakDigest> {
        self.climb(&[]).0
    }

    /// The order in which the library would place these rows at their positions; `None` if it would place them
    /// elsewhere, so that its root differs. n look-ups.
    pub fn order(&self) -> Option<Order> {
        let n = self.leaves.len();
        let leaf = |j: usize| {
            let slot = js_slot(n, j)? as u64;
            let at = self.leaves.binary_search_by_key(&slot, |(index, _)| *index).ok()?;
            Some(self.leaves[at].1)
        };
        let digests = (0..n).map(leaf).collect::<Option<Vec<_>>>()?;
        Some(if digests.is_sorted() { Order::Sorted } else { Order::Unsorted })
    }

    /// The root, and the siblings of these positions, the lowest first.
    fn climb(&self, positions: &[u64]) -> (Option<KeccakDigest>, Vec<Vec<KeccakDigest>>) {
        let mut paths = vec![Vec::new(); positions.len()];
        let mut level = self.leaves.clone();
        let mut height = 0;
        while level.len() > 1 {
            for (position, path) in positions.iter().zip(&mut paths) {
                let sibling = (position >> height) ^ 1;
                path.extend(level.binary_search_by_key(&sibling, |(index, _)| *index).ok().map(|at| level[at].1));
            }
            level = above(&level);
            height += 1;
        }
        (level.first().map(|(_, root)| *root), paths)
    }
}

/// The nodes above those of a level: a lone child is promoted.
fn above(level: &[(u64, KeccakDigest)]) -> Vec<(u64, KeccakDigest)> {
    let mut parents = Vec::with_capacity(level.len().div_ceil(2));
    let (mut joined, mut messages) = (Vec::new(), Vec::new());
    for node in level.chunk_by(|(a, _), (b, _)| a >> 1 == b >> 1) {
        if let [(_, a), (_, b)] = node {
            joined.push(parents.len());
            messages.extend_from_slice(a.min(b));
            messages.extend_from_slice(a.max(b));
        }
        parents.push((node[0].0 >> 1, node[0].1));
    }
    for (at, digest) in joined.into_iter().zip(keccak_many(&messages, 64)) {
        parents[at].1 = digest;
    }
    parents
}

/// A row with everything that a contract needs to accept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowProof {
    /// The row's position.
    pub position: u64,
    /// The types of the columns.
    pub types: Vec<AbiType>,
    /// The cells as words: `abi.encode(..)` joins them.
    pub words: Vec<AbiWord>,
    /// The leaf: `keccak256(bytes.concat(keccak256(abi.encode(..))))`.
    pub leaf: KeccakDigest,
    /// The siblings, the lowest first: the argument `proof` of `MerkleProof.verify`. At most one for each level of the table.
    pub siblings: Vec<KeccakDigest>,
    /// The root.
    pub root: KeccakDigest,
}

impl RowProof {
    /// The cells as texts.
    pub fn values(&self) -> Vec<String> {
        self.types.iter().zip(&self.words).map(|(kind, word)| kind.format(word)).collect()
    }
}

/// The proofs of rows at these positions, in their order. Reads every row of the table. For n rows it hashes n leaves
/// twice and fewer than n nodes, eight at a time, and takes 120 bytes of memory for each row.
///
/// # Errors
/// [`Error::NotAbi`]; [`Error::Store`] when a position is outside the table or empty, or the store is damaged.
pub fn prove(view: &View, positions: &[u64]) -> Result<Vec<RowProof>, Error> {
    // Before the table is read.
    let types = view.schema().abi_types()?;
    let row = |&index: &u64| view.row(index)?.ok_or(evergrove_store::Error::EmptySlot { index, batch: None });
    let rows = positions.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let tree = Tree::of(view)?;
    let (root, paths) = tree.climb(positions);
    let proofs = positions.iter().zip(rows).zip(paths).map(|((&position, row), siblings)| {
        let words = row.words();
        let leaf = evergrove_verifier::openzeppelin::leaf_digest(&words);
        let root = root.unwrap_or(leaf);
        debug_assert_eq!(root_of_proof(leaf, &siblings), root);
        RowProof { position, types: types.clone(), words, leaf, siblings, root }
    });
    Ok(proofs.collect())
}

/// Hashes rows to leaves, [`CHUNK`] at a time.
struct Leaves {
    bytes: usize,
    messages: Vec<u8>,
    indices: Vec<u64>,
    leaves: Vec<(u64, KeccakDigest)>,
}

impl Leaves {
    fn new(schema: &Schema) -> Result<Self, Error> {
        let bytes = size_of::<AbiWord>() * schema.abi_types()?.len();
        Ok(Self { bytes, messages: Vec::new(), indices: Vec::new(), leaves: Vec::new() })
    }

    /// Rows so far.
    fn count(&self) -> u64 {
        (self.leaves.len() + self.indices.len()) as u64
    }

    fn push(&mut self, index: u64, row: &Row) {
        self.messages.extend_from_slice(row.words().as_flattened());
        self.indices.push(index);
        if self.indices.len() == CHUNK {
            self.hash();
        }
    }

    fn hash(&mut self) {
        let inner = keccak_many(&self.messages, self.bytes);
        let outer = keccak_many(inner.as_flattened(), size_of::<KeccakDigest>());
        self.leaves.extend(self.indices.drain(..).zip(outer));
        self.messages.clear();
    }

    fn finish(mut self) -> Vec<(u64, KeccakDigest)> {
        self.hash();
        self.leaves
    }
}

/// Keccak-256 of messages of this many bytes.
fn keccak_many(messages: &[u8], bytes: usize) -> Vec<KeccakDigest> {
    let mut digests = vec![KeccakDigest::default(); messages.len() / bytes];
    let hashed = hash_many(Function::Keccak256, messages, bytes, &mut digests);
    debug_assert!(hashed.is_ok(), "whole messages");
    digests
}
