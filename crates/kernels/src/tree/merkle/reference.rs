//! The tree as its definition reads: the twin that [`super::build`] and [`super::cap`] are held to.

use super::{MerkleError, Shape, TreeHash};

/// The levels of the tree over `rows`, the leaves first and the cap last, one hash after the other.
pub fn levels<H: TreeHash>(hash: H, shape: &Shape, rows: &[H::Element]) -> Result<Vec<Vec<H::Digest>>, MerkleError> {
    shape.check_elements(rows)?;
    let mut levels = vec![rows.chunks(shape.width).map(|row| hash.leaf(row)).collect::<Vec<_>>()];
    while levels.len() < shape.levels() {
        let below = &levels[levels.len() - 1];
        levels.push(below.chunks(2).map(|pair| hash.node(&pair[0], &pair[1])).collect());
    }
    Ok(levels)
}
