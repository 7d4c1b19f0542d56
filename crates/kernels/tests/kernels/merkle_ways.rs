//! The ways of building a Merkle tree compared with the definition: in pieces, by changes, from other orders of
//! elements.

use evergrove_kernels::merkle::{
    Arity, BLOCK, Keccak, Layout, MerkleError, Order, Polygon, Poseidon, ReversedStream, Shape, Stream, TreeHash,
    Workspace, build_ordered, build_vec, cap_ordered, cap_vec, reference, update,
};
use evergrove_primitives::hash::keccak::Function;
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;

const ARITIES: [Arity; 3] = [Arity::Two, Arity::Four, Arity::Eight];

fn matrix(rows: usize, width: usize) -> Vec<Goldilocks> {
    (0..rows * width)
        .map(|i| Goldilocks::reduce((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)))
        .collect()
}

/// The cap by a stream that is given `piece` rows at a time.
fn stream<H: TreeHash>(hash: H, shape: &Shape, elements: &[H::Element], piece: usize) -> Vec<H::Digest> {
    let mut stream = Stream::new(hash, shape);
    let mut rows = 0;
    for piece in elements.chunks(piece * shape.width()) {
        stream.push(piece).unwrap();
        stream.push(&[]).unwrap();
        rows += piece.len() / shape.width();
        assert_eq!(stream.rows(), rows);
    }
    stream.finish().unwrap()
}

#[test]
fn streams_of_any_pieces_end_in_the_same_cap() {
    let elements = matrix(8200, 5);
    for arity in ARITIES {
        for rows in [1, 2, 5, 64, 511, 512, 513, 1000, 4096, 8192, 8200] {
            let height = Shape::padded(rows, 5, arity, 0).unwrap().levels() as u32 - 1;
            for cap_height in [0, 1, height].into_iter().filter(|c| *c <= height) {
                let shape = Shape::padded(rows, 5, arity, cap_height).unwrap();
                let elements = &elements[..rows * 5];
                let expected = cap_vec(Poseidon, &shape, elements).unwrap();
                let pieces = if rows < 1000 { vec![1, 7, 100, rows] } else { vec![99, 512, 1536, rows] };
                for piece in pieces {
                    assert_eq!(stream(Poseidon, &shape, elements, piece), expected, "{shape:?} by {piece}");
                }
            }
        }
    }
}

#[test]
fn streams_take_every_hash() {
    let shape = Shape::padded(1500, 11, Arity::Four, 1).unwrap();
    let elements = matrix(1500, 11);
    let expected = reference::levels(Polygon, &shape, &elements).unwrap().pop().unwrap();
    assert_eq!(stream(Polygon, &shape, &elements, 300), expected);
    let bytes: Vec<u8> = elements.iter().map(|x| x.as_u64() as u8).collect();
    let hash = Keccak(Function::Keccak256);
    let expected = reference::levels(hash, &shape, &bytes).unwrap().pop().unwrap();
    assert_eq!(stream(hash, &shape, &bytes, 300), expected);
}

#[test]
fn streams_refuse_other_sizes() {
    let shape = Shape::new(16, 3, 0).unwrap();
    let elements = matrix(17, 3);
    let mut stream = Stream::new(Poseidon, &shape);
    assert_eq!(stream.push(&elements[..4]), Err(MerkleError::PartialRow { elements: 4, width: 3 }));
    stream.push(&elements[..15 * 3]).unwrap();
    assert_eq!(stream.push(&elements[..6]), Err(MerkleError::Rows { found: 17, expected: 16 }));
    assert_eq!(stream.clone().finish(), Err(MerkleError::Rows { found: 15, expected: 16 }));
    stream.push(&elements[15 * 3..16 * 3]).unwrap();
    assert_eq!(stream.finish(), cap_vec(Poseidon, &shape, &elements[..48]));
}

/// Nodes on the paths of `indices`, each counted once.
fn touched(shape: &Shape, indices: &[usize]) -> usize {
    let mut positions = indices.to_vec();
    let mut count = positions.len();
    for _ in 1..shape.levels() {
        positions.iter_mut().for_each(|p| *p /= shape.arity().get());
        positions.dedup();
        count += positions.len();
    }
    count
}

fn check_update(shape: &Shape, indices: &[usize]) {
    let width = shape.width();
    let mut elements = matrix(shape.rows(), width);
    let mut nodes = build_vec(Poseidon, shape, &elements).unwrap();
    let rows: Vec<Goldilocks> = (0..indices.len() * width).map(|i| Goldilocks::new(i as u64)).collect();
    for (index, row) in indices.iter().zip(rows.chunks(width)) {
        elements[index * width..][..width].copy_from_slice(row);
    }
    let mut work = Workspace::default();
    let hashed = update(Poseidon, shape, &mut nodes, indices, &rows, &mut work).unwrap();
    assert_eq!(nodes, build_vec(Poseidon, shape, &elements).unwrap(), "{indices:?} of {shape:?}");
    assert_eq!(hashed, touched(shape, indices), "{indices:?} of {shape:?}");
    // A workspace may have any contents.
    assert_eq!(update(Poseidon, shape, &mut nodes, indices, &rows, &mut work), Ok(hashed));
    assert_eq!(nodes, build_vec(Poseidon, shape, &elements).unwrap(), "{indices:?} of {shape:?}");
}

#[test]
fn updates_equal_rebuilds() {
    for arity in ARITIES {
        for rows in [1, 2, 8, 61, 512, 2000] {
            let height = Shape::padded(rows, 6, arity, 0).unwrap().levels() as u32 - 1;
            for cap_height in [0, height / 2, height] {
                let shape = Shape::padded(rows, 6, arity, cap_height).unwrap();
                check_update(&shape, &[]);
                check_update(&shape, &[0]);
                check_update(&shape, &[rows - 1]);
                check_update(&shape, &(0..rows).collect::<Vec<_>>());
                check_update(&shape, &(0..rows).step_by(7).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn bad_updates_change_nothing() {
    let shape = Shape::new(8, 5, 0).unwrap();
    let mut nodes = build_vec(Poseidon, &shape, &matrix(8, 5)).unwrap();
    let before = nodes.clone();
    let rows = [Goldilocks::ONE; 10];
    let mut work = Workspace::default();
    let mut refused = |indices: &[usize], rows: &[Goldilocks]| {
        update(Poseidon, &shape, &mut nodes, indices, rows, &mut work).unwrap_err()
    };
    assert_eq!(refused(&[3, 3], &rows), MerkleError::Order { index: 3, next: 3 });
    assert_eq!(refused(&[3, 2], &rows), MerkleError::Order { index: 3, next: 2 });
    assert_eq!(refused(&[3, 8], &rows), MerkleError::LeafIndex { index: 8, rows: 8 });
    assert_eq!(refused(&[3], &rows), MerkleError::Elements { found: 10, expected: 5, rows: 1, width: 5 });
    assert_eq!(nodes, before);
    let error = update(Poseidon, &shape, &mut nodes[1..], &[3], &rows[..5], &mut work).unwrap_err();
    assert_eq!(error, MerkleError::Digests { buffer: "nodes", found: 14, expected: 15 });
}

#[test]
fn orders_and_layouts_are_those_of_moved_rows() {
    for rows in [1usize, 2, 8, 64, 100, 128, 4 * BLOCK] {
        for width in [1, 3, 8, 17] {
            let elements = matrix(rows, width);
            let columns: Vec<Goldilocks> = (0..rows * width).map(|i| elements[i % rows * width + i / rows]).collect();
            let bits = rows.ilog2();
            let reversed: Vec<Goldilocks> = (0..rows)
                .map(|i| if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) })
                .filter(|_| rows.is_power_of_two())
                .flat_map(|i| elements[i * width..][..width].to_vec())
                .collect();
            let shape = Shape::padded(rows, width, Arity::Two, 0).unwrap();
            for (layout, lying) in [(Layout::RowMajor, &elements), (Layout::ColumnMajor, &columns)] {
                for (order, leaves) in [(Order::Natural, &elements), (Order::BitReversed, &reversed)] {
                    let mut nodes = vec![Digest::ZERO; shape.nodes()];
                    let made = build_ordered(Poseidon, &shape, layout, order, lying, &mut nodes);
                    if order == Order::BitReversed && !rows.is_power_of_two() {
                        assert_eq!(made, Err(MerkleError::BitReversal { rows }));
                        continue;
                    }
                    made.unwrap();
                    assert!(
                        nodes == build_vec(Poseidon, &shape, leaves).unwrap(),
                        "{rows} {width} {layout:?} {order:?}"
                    );
                    let mut scratch = vec![Digest::ZERO; shape.ordered_scratch()];
                    let mut root = [Digest::ZERO];
                    cap_ordered(Poseidon, &shape, layout, order, lying, &mut scratch, &mut root).unwrap();
                    assert_eq!(root[0], nodes[nodes.len() - 1], "{rows} {width} {layout:?} {order:?}");
                }
            }
        }
    }
    let shape = Shape::new(8, 2, 0).unwrap();
    let mut nodes = vec![Digest::ZERO; 15];
    let make = |elements: &[Goldilocks], nodes: &mut [Digest]| {
        build_ordered(Poseidon, &shape, Layout::ColumnMajor, Order::BitReversed, elements, nodes).unwrap_err()
    };
    let error = make(&matrix(15, 1), &mut nodes);
    assert_eq!(error, MerkleError::Elements { found: 15, expected: 16, rows: 8, width: 2 });
    let error = make(&matrix(16, 1), &mut nodes[1..]);
    assert_eq!(error, MerkleError::Digests { buffer: "nodes", found: 14, expected: 15 });
}

#[test]
fn streams_of_reversed_rows_end_in_the_cap_of_the_reversed_matrix() {
    for arity in ARITIES {
        for rows in [1usize, 2, 4, 8, 32, 64, 1024, 4096] {
            let elements = matrix(rows, 5);
            let bits = rows.ilog2();
            let row = |i: usize| if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
            let reversed: Vec<Goldilocks> = (0..rows).flat_map(|i| elements[row(i) * 5..][..5].to_vec()).collect();
            let height = Shape::padded(rows, 5, arity, 0).unwrap().levels() as u32 - 1;
            for cap_height in 0..=height {
                let shape = Shape::padded(rows, 5, arity, cap_height).unwrap();
                let expected = cap_vec(Poseidon, &shape, &reversed).unwrap();
                let mut scratch = vec![Digest::ZERO; shape.ordered_scratch()];
                let mut cap = vec![Digest::ZERO; shape.cap_len()];
                let (layout, order) = (Layout::RowMajor, Order::BitReversed);
                cap_ordered(Poseidon, &shape, layout, order, &elements, &mut scratch, &mut cap).unwrap();
                assert_eq!(cap, expected, "{shape:?}");
                for piece in [1, 7, rows / 2 + 1, rows] {
                    let mut stream = ReversedStream::new(Poseidon, &shape).unwrap();
                    for piece in elements.chunks(piece * 5) {
                        stream.push(piece).unwrap();
                        stream.push(&[]).unwrap();
                    }
                    assert_eq!(stream.rows(), rows);
                    assert_eq!(stream.finish().unwrap(), expected, "{shape:?} by {piece}");
                }
            }
        }
    }
    let twelve = Shape::padded(12, 5, Arity::Two, 0).unwrap();
    assert_eq!(ReversedStream::new(Poseidon, &twelve).err(), Some(MerkleError::BitReversal { rows: 12 }));
    let shape = Shape::new(4, 2, 0).unwrap();
    let mut stream = ReversedStream::new(Poseidon, &shape).unwrap();
    assert_eq!(stream.push(&matrix(3, 1)), Err(MerkleError::PartialRow { elements: 3, width: 2 }));
    assert_eq!(stream.push(&matrix(5, 2)), Err(MerkleError::Rows { found: 5, expected: 4 }));
    stream.push(&matrix(3, 2)).unwrap();
    assert_eq!(stream.finish(), Err(MerkleError::Rows { found: 3, expected: 4 }));
}

#[test]
fn threads_do_not_change_a_tree() {
    let shape = Shape::padded(3000, 9, Arity::Two, 1).unwrap();
    let elements = matrix(3000, 9);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut nodes = build_vec(Poseidon, &shape, &elements).unwrap();
            let indices: Vec<usize> = (0..3000).step_by(2).collect();
            update(Poseidon, &shape, &mut nodes, &indices, &elements[..1500 * 9], &mut Workspace::default()).unwrap();
            let mut ordered = nodes.clone();
            build_ordered(Poseidon, &shape, Layout::ColumnMajor, Order::Natural, &elements, &mut ordered).unwrap();
            (nodes, ordered, stream(Poseidon, &shape, &elements, 700))
        })
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        assert!(on(threads) == one, "{threads} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_update_equals_a_rebuild(
        rows in 1usize..700,
        arity in 0usize..3,
        picks in prop::collection::btree_set(0usize..700, 0..60),
        cap in 0u32..3,
    ) {
        let height = Shape::padded(rows, 3, ARITIES[arity], 0).unwrap().levels() as u32 - 1;
        let shape = Shape::padded(rows, 3, ARITIES[arity], cap.min(height)).unwrap();
        check_update(&shape, &picks.into_iter().filter(|i| *i < rows).collect::<Vec<_>>());
    }

    #[test]
    fn any_stream_equals_a_tree(rows in 1usize..3000, arity in 0usize..3, piece in 1usize..900, cap in 0u32..3) {
        let height = Shape::padded(rows, 3, ARITIES[arity], 0).unwrap().levels() as u32 - 1;
        let shape = Shape::padded(rows, 3, ARITIES[arity], cap.min(height)).unwrap();
        let elements = matrix(rows, 3);
        prop_assert_eq!(stream(Poseidon, &shape, &elements, piece), cap_vec(Poseidon, &shape, &elements).unwrap());
    }
}
