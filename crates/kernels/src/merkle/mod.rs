//! Merkle trees over the rows of a matrix.
//!
//! Level 0 holds the digests of the rows; each further level holds those of the groups of 2, 4 or 8 nodes below. The
//! *cap* of height c is the level c levels below the root; c = 0 is the root. A [`Shape`] has the sizes, a [`TreeHash`]
//! the hash: [`Poseidon`], [`Polygon`] or [`Keccak`].
//!
//! | function | makes | holds |
//! |---|---|---|
//! | [`build`] | every level up to the cap | all rows |
//! | [`cap`] | the cap alone | all rows, one digest per block of rows |
//! | [`Stream`] | the cap alone | one block of rows, a few digests per level |
//! | [`update`] | the levels above some leaves that have changed | those rows |
//! | [`path`] | an opening | all nodes |
//!
//! **Schedule.** Each task builds a subtree of at most [`BLOCK`] leaves, level by level while its digests are in the
//! cache. The levels above are short and built breadth first. Each task calls the hash on slices, which dispatches
//! once. A stream keeps the levels above its blocks on a stack that counts in the base of the arity. Results do not
//! depend on threads, instruction sets or the way in which a tree is built.
//!
//! With [`Poseidon`] and [`Shape::new`], caps and paths are those of Plonky2's `MerkleTree::<_, PoseidonHash>`; with
//! [`Polygon`] and [`Shape::padded`], roots are those of Polygon zkEVM.

mod build;
mod error;
pub mod reference;
mod shape;
mod stream;
mod update;

pub use evergrove_primitives::hash::tree::{Keccak, On, Polygon, Poseidon, TreeHash};

pub(crate) use build::levels_above;
pub use build::{build, build_vec, cap, cap_vec, root};
pub use error::MerkleError;
pub use shape::{Arity, BLOCK, Shape};
pub use stream::Stream;
pub use update::{Workspace, update};

/// The siblings on the way from a leaf to the cap, starting with those of the leaf, from left to right: arity - 1 for
/// each level. In a binary tree this is Plonky2's `MerkleTree::prove`.
///
/// `nodes` is the result of [`build`] for the same shape.
pub fn path<'a, D: Copy + Default>(
    shape: &Shape,
    nodes: &'a [D],
    index: usize,
) -> Result<impl ExactSizeIterator<Item = D> + use<'a, D>, MerkleError> {
    shape::check_digests("nodes", nodes, shape.nodes())?;
    if index >= shape.rows() {
        return Err(MerkleError::LeafIndex { index, rows: shape.rows() });
    }
    let shape = *shape;
    let siblings = shape.arity().get() - 1;
    Ok((0..siblings * (shape.levels() - 1)).map(move |i| {
        let (level, i) = (i / siblings, i % siblings);
        let own = index >> shape.shift(level);
        let first = own & !siblings;
        let sibling = first + i + usize::from(first + i >= own);
        nodes[shape.level(level)].get(sibling).copied().unwrap_or_default()
    }))
}
