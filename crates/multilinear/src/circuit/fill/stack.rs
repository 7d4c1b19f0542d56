//! The elements of a stack.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::LANES;
use evergrove_verifier::tables::{BLOCK, Stack, Table};
use rayon::prelude::*;

/// Writes the elements, from the rows of each table with this many columns.
///
/// # Panics
/// Unless there is room for exactly these elements.
pub(crate) fn write_rows<'a>(
    stack: &Stack,
    rows: impl Fn(Table) -> (&'a [Goldilocks], usize),
    elements: &mut [Goldilocks],
) {
    assert_eq!(elements.len(), stack.elements(), "room for the stack");
    let mut rest = elements;
    for piece in stack.pieces() {
        let own;
        (own, rest) = rest.split_at_mut(piece.blocks << piece.block_log());
        let (rows, width) = rows(piece.table);
        let blocks = own.par_chunks_exact_mut(1 << piece.block_log()).zip(rows.par_chunks_exact(width * BLOCK));
        blocks.for_each(|(to, rows)| {
            let (to, room) = to.split_at_mut(piece.columns.len() * BLOCK);
            room.fill(Goldilocks::ZERO);
            // Eight rows at a time: a cache line of each column.
            for (i, rows) in rows.chunks_exact(LANES * width).enumerate() {
                for (column, to) in piece.columns.clone().zip(to.chunks_exact_mut(BLOCK)) {
                    let to = &mut to[i * LANES..][..LANES];
                    for (x, row) in to.iter_mut().zip(rows.chunks_exact(width)) {
                        *x = row[column];
                    }
                }
            }
        });
    }
}
