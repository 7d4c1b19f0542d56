//! Sums over the fixed columns. A stack is chunks of 512 elements. A claim weights an element by its place in its chunk
//! times the weight of the chunk.

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};

use crate::argument::{Reader, points};
use crate::tables::{BLOCK, BLOCK_LOG, Shape, Stack, Table};

/// The weights within a chunk: eq of the row's number within its block.
///
/// # Panics
/// If the point has fewer coordinates than a row's number within its block.
pub fn within<K: Extension>(point: &[K]) -> Vec<K> {
    eq_table(&point[..BLOCK_LOG])
}

/// eq(point, i) for i from 0 to 2^n - 1, where n is the number of coordinates.
pub(super) fn eq_table<K: Extension>(point: &[K]) -> Vec<K> {
    points::eq_table(&mut Reader::<K>::new(&[]), point)
}

/// The weight of each chunk of `count` in a proof's own claim, at `point` and with powers of `eta`.
///
/// # Panics
/// If a table of the stack has no height, or the point has too few coordinates.
pub fn chunk_weights<K: Extension>(
    count: usize,
    stack: &Stack,
    shapes: impl Fn(Table) -> Option<Shape>,
    point: &[K],
    eta: K,
) -> Vec<K> {
    let mut weights = vec![K::ZERO; count];
    let mut first = K::ONE;
    for piece in stack.pieces() {
        let shape = shapes(piece.table).expect("a height of each table");
        let blocks = eq_table(&point[BLOCK_LOG..shape.variables()]);
        let width = 1 << piece.width;
        let start = piece.start / BLOCK;
        for (weights, block) in weights[start..].chunks_exact_mut(width).zip(&blocks[..piece.blocks]) {
            let mut power = first * *block;
            for weight in weights {
                *weight = power;
                power *= eta;
            }
        }
        first *= eta.pow(width as u64);
    }
    weights
}

/// The sum of the elements of a chunk times their weights.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn chunk_sum<K: Extension>(isa: Isa, chunk: &[Goldilocks], weights: &[K]) -> K {
    dispatch_on(isa, ChunkSum { chunk, weights })
}

struct ChunkSum<'a, K> {
    chunk: &'a [Goldilocks],
    weights: &'a [K],
}

impl<K: Extension> Kernel for ChunkSum<'_, K> {
    type Output = K;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> K {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let mut sum = f.empty();
        // One term for each vector: fewer than a sum may have.
        for (x, weight) in self.chunk.as_chunks::<LANES>().0.iter().zip(self.weights.as_chunks::<LANES>().0) {
            f.accumulate_base(&mut sum, f.term(f.load(weight).into()), g.term(FieldLanes::load(g, x).into()));
        }
        f.sum_lanes(f.finish(sum))
    }
}
