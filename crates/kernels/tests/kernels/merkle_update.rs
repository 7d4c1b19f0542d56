//! Merkle trees with changed leaves, compared with trees over the new rows.

use evergrove_kernels::merkle::{Arity, MerkleError, Poseidon, Shape, Workspace, build_vec, update};
use evergrove_primitives::Goldilocks;
use proptest::prelude::*;

use super::merkle_stream::{ARITIES, matrix};

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
fn threads_do_not_change_an_update() {
    let shape = Shape::padded(3000, 9, Arity::Two, 1).unwrap();
    let elements = matrix(3000, 9);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut nodes = build_vec(Poseidon, &shape, &elements).unwrap();
            let indices: Vec<usize> = (0..3000).step_by(2).collect();
            let (rows, mut work) = (&elements[..1500 * 9], Workspace::default());
            let hashed = update(Poseidon, &shape, &mut nodes, &indices, rows, &mut work).unwrap();
            (nodes, hashed)
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
}
