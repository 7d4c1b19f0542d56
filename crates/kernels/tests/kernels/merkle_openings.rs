//! Openings of many leaves at once: each sibling occurs once, and only the tree's rows verify.

use evergrove_kernels::merkle::{
    Arity, Keccak, MerkleError, Polygon, Poseidon, Shape, TreeHash, build_vec, fold_multi_path, multi_path, path,
    verify_rows,
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

/// Opens and verifies the rows `indices`.
fn check<H: TreeHash>(hash: H, shape: &Shape, elements: &[H::Element], indices: &[usize]) {
    let nodes = build_vec(hash, shape, elements).unwrap();
    let cap = &nodes[shape.level(shape.levels() - 1)];
    let siblings = multi_path(shape, &nodes, indices).unwrap();
    let alone: usize = indices.iter().map(|i| path(shape, &nodes, *i).unwrap().len()).sum();
    assert!(siblings.len() <= alone && (indices.len() != 1 || siblings.len() == alone));
    let width = shape.width();
    let rows: Vec<H::Element> = indices.iter().flat_map(|i| elements[i * width..][..width].to_vec()).collect();
    verify_rows(hash, shape, cap, indices, &rows, &siblings).unwrap();
    let Some(first) = indices.first() else { return };
    let mut other = siblings.clone();
    other.push(H::Digest::default());
    let expected = siblings.len();
    let count = |found| Err(MerkleError::Digests { buffer: "siblings", found, expected });
    assert_eq!(verify_rows(hash, shape, cap, indices, &rows, &other), count(expected + 1));
    for at in [0, expected / 2, expected.wrapping_sub(1)] {
        // Another digest of the tree instead of a sibling.
        let Some(sibling) = siblings.get(at) else { continue };
        let Some(stranger) = nodes.iter().find(|node| *node != sibling) else { continue };
        let mut changed = siblings.clone();
        changed[at] = *stranger;
        let refused = verify_rows(hash, shape, cap, indices, &rows, &changed);
        assert!(matches!(refused, Err(MerkleError::Opening { .. })), "{refused:?}");
        assert_eq!(verify_rows(hash, shape, cap, indices, &rows, &siblings[..at]), count(at));
    }
    // The first row at its neighbour's place.
    if indices.len() == 1 && shape.rows() > 1 {
        let neighbour = [if *first + 1 < shape.rows() { first + 1 } else { first - 1 }];
        assert!(verify_rows(hash, shape, cap, &neighbour, &rows, &siblings).is_err());
    }
}

#[test]
fn sets_of_leaves_open_and_verify() {
    for arity in ARITIES {
        for rows in [1, 2, 8, 61, 512] {
            let height = Shape::padded(rows, 6, arity, 0).unwrap().levels() as u32 - 1;
            for cap_height in [0, height / 2, height] {
                let shape = Shape::padded(rows, 6, arity, cap_height).unwrap();
                let elements = matrix(rows, 6);
                for indices in [vec![], vec![0], vec![rows - 1], (0..rows).collect(), (0..rows).step_by(7).collect()] {
                    check(Poseidon, &shape, &elements, &indices);
                    check(Polygon, &shape, &elements, &indices);
                }
            }
        }
    }
    let shape = Shape::padded(100, 11, Arity::Four, 1).unwrap();
    let bytes: Vec<u8> = matrix(100, 11).iter().map(|x| x.as_u64() as u8).collect();
    check(Keccak(Function::Sha3_256), &shape, &bytes, &[3, 4, 50, 99]);
}

#[test]
fn all_leaves_need_no_siblings() {
    let shape = Shape::new(64, 3, 2).unwrap();
    let nodes = build_vec(Poseidon, &shape, &matrix(64, 3)).unwrap();
    let all: Vec<usize> = (0..64).collect();
    assert_eq!(multi_path(&shape, &nodes, &all).unwrap(), []);
    let leaves: Vec<(usize, Digest)> = all.iter().map(|i| (*i, nodes[*i])).collect();
    let cap: Vec<(usize, Digest)> = nodes[shape.level(4)].iter().copied().enumerate().collect();
    assert_eq!(fold_multi_path(Poseidon, &shape, &leaves, &[]).unwrap(), cap);
}

#[test]
fn bad_sets_are_refused() {
    let shape = Shape::new(8, 5, 1).unwrap();
    let elements = matrix(8, 5);
    let nodes = build_vec(Poseidon, &shape, &elements).unwrap();
    let cap = &nodes[shape.level(2)];
    let verify = |cap: &[Digest], indices: &[usize], rows: &[Goldilocks]| {
        verify_rows(Poseidon, &shape, cap, indices, rows, &[]).unwrap_err()
    };
    let twice = MerkleError::Order { index: 3, next: 3 };
    assert_eq!(multi_path(&shape, &nodes, &[3, 3]), Err(twice));
    assert_eq!(verify(cap, &[3, 3], &elements[..10]), twice);
    assert_eq!(verify(cap, &[3, 2], &elements[..10]), MerkleError::Order { index: 3, next: 2 });
    assert_eq!(verify(cap, &[3, usize::MAX], &elements[..10]), MerkleError::LeafIndex { index: usize::MAX, rows: 8 });
    let size = MerkleError::Elements { found: 9, expected: 10, rows: 2, width: 5 };
    assert_eq!(verify(cap, &[2, 3], &elements[..9]), size);
    let short = MerkleError::Digests { buffer: "cap", found: 1, expected: 2 };
    assert_eq!(verify(&cap[..1], &[2, 3], &elements[..10]), short);
    let short = MerkleError::Digests { buffer: "nodes", found: 13, expected: 14 };
    assert_eq!(multi_path(&shape, &nodes[1..], &[3]), Err(short));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_set_opens(
        rows in 1usize..700,
        arity in 0usize..3,
        picks in prop::collection::btree_set(0usize..700, 0..60),
        cap in 0u32..3,
    ) {
        let height = Shape::padded(rows, 3, ARITIES[arity], 0).unwrap().levels() as u32 - 1;
        let shape = Shape::padded(rows, 3, ARITIES[arity], cap.min(height)).unwrap();
        let indices: Vec<usize> = picks.into_iter().filter(|i| *i < rows).collect();
        check(Poseidon, &shape, &matrix(rows, 3), &indices);
    }
}
