//! Merkle trees over rows that arrive in pieces, compared with the definition.

use evergrove_kernels::merkle::{
    Arity, Keccak, MerkleError, Polygon, Poseidon, Shape, Stream, TreeHash, cap_vec, reference,
};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::Function;
use proptest::prelude::*;

pub(super) const ARITIES: [Arity; 3] = [Arity::Two, Arity::Four, Arity::Eight];

pub(super) fn matrix(rows: usize, width: usize) -> Vec<Goldilocks> {
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

#[test]
fn threads_do_not_change_a_tree() {
    let shape = Shape::padded(3000, 9, Arity::Two, 1).unwrap();
    let elements = matrix(3000, 9);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| stream(Poseidon, &shape, &elements, 700))
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        assert!(on(threads) == one, "{threads} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_stream_equals_a_tree(rows in 1usize..3000, arity in 0usize..3, piece in 1usize..900, cap in 0u32..3) {
        let height = Shape::padded(rows, 3, ARITIES[arity], 0).unwrap().levels() as u32 - 1;
        let shape = Shape::padded(rows, 3, ARITIES[arity], cap.min(height)).unwrap();
        let elements = matrix(rows, 3);
        prop_assert_eq!(stream(Poseidon, &shape, &elements, piece), cap_vec(Poseidon, &shape, &elements).unwrap());
    }
}
