//! The tree as its definition reads: the reference for every way of building one.

use super::{MerkleError, Shape, TreeHash};

/// The levels of the tree over `rows`, the leaves first and the cap last, one hash after the other.
pub fn levels<H: TreeHash>(hash: H, shape: &Shape, rows: &[H::Element]) -> Result<Vec<Vec<H::Digest>>, MerkleError> {
    shape.check_elements(rows)?;
    let arity = shape.arity().get();
    let mut levels = vec![rows.chunks(shape.width()).map(|row| hash.leaf(row)).collect::<Vec<_>>()];
    while levels.len() < shape.levels() {
        let mut below = levels[levels.len() - 1].clone();
        below.resize(below.len().next_multiple_of(arity), H::Digest::default());
        levels.push(below.chunks(arity).map(|children| hash.node(children)).collect());
    }
    Ok(levels)
}
