//! Merkle trees against their definition, against Plonky2's caps and paths, and against bad sizes.

use evergrove_kernels::tree::merkle::{
    BLOCK, MerkleError, Poseidon, Shape, TreeHash, build, build_vec, cap, cap_vec, path, reference, root,
};
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;
use serde_json::Value;

/// Element i of the matrices of the vectors.
fn element(i: usize) -> Goldilocks {
    let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    Goldilocks::reduce(x ^ x >> 32)
}

fn matrix(rows: usize, width: usize) -> Vec<Goldilocks> {
    (0..rows * width).map(element).collect()
}

fn check(shape: &Shape, rows: &[Goldilocks]) {
    let expected = reference::levels(Poseidon, shape, rows).unwrap();
    let nodes = build_vec(Poseidon, shape, rows).unwrap();
    for (level, expected) in expected.iter().enumerate() {
        assert_eq!(nodes[shape.level(level)], **expected, "level {level} of {shape:?}");
    }
    assert_eq!(shape.level(shape.levels() - 1).end, shape.nodes());
    assert_eq!(cap_vec(Poseidon, shape, rows).unwrap(), expected[shape.levels() - 1], "{shape:?}");
}

#[test]
fn caps_and_paths_are_those_of_plonky2() {
    let vectors: Value = serde_json::from_str(include_str!("../../../vectors/merkle-poseidon.json")).unwrap();
    let number = |v: &Value| v.as_u64().unwrap() as usize;
    let digests =
        |v: &Value| v.as_array().unwrap().iter().map(|d| d.as_str().unwrap().parse().unwrap()).collect::<Vec<Digest>>();
    let cases = vectors["cap"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let (rows, width, index) = (number(&case["rows"]), number(&case["width"]), number(&case["index"]));
        let shape = Shape::new(rows, width, number(&case["cap_height"]) as u32).unwrap();
        let elements = matrix(rows, width);
        let expected = digests(&case["cap"]);
        assert_eq!(cap_vec(Poseidon, &shape, &elements).unwrap(), expected, "{shape:?}");
        let nodes = build_vec(Poseidon, &shape, &elements).unwrap();
        assert_eq!(nodes[shape.level(shape.levels() - 1)], expected, "{shape:?}");
        let siblings: Vec<Digest> = path(&shape, &nodes, index).unwrap().collect();
        assert_eq!(siblings, digests(&case["path"]), "leaf {index} of {shape:?}");
        if shape.cap_height() == 0 {
            assert_eq!(root(Poseidon, &elements, width).unwrap(), expected[0], "{shape:?}");
        }
    }
}

#[test]
fn trees_around_the_size_of_a_block() {
    for rows in [1, 2, 4, 8, 64, BLOCK / 2, BLOCK, 2 * BLOCK, 8 * BLOCK] {
        for width in [1, 4, 5, 8, 17] {
            let elements = matrix(rows, width);
            for cap_height in 0..=rows.ilog2() {
                check(&Shape::new(rows, width, cap_height).unwrap(), &elements);
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_tree() {
    let shape = Shape::new(4 * BLOCK, 9, 1).unwrap();
    let elements = matrix(shape.rows(), shape.width());
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (build_vec(Poseidon, &shape, &elements), cap_vec(Poseidon, &shape, &elements)))
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        assert_eq!(on(threads), one, "{threads} threads");
    }
}

#[test]
fn paths_lead_to_the_cap() {
    let shape = Shape::new(64, 12, 2).unwrap();
    let elements = matrix(64, 12);
    let nodes = build_vec(Poseidon, &shape, &elements).unwrap();
    let cap = &nodes[shape.level(shape.levels() - 1)];
    for index in 0..64 {
        let siblings = path(&shape, &nodes, index).unwrap();
        assert_eq!(siblings.len(), 4);
        let mut digest = Poseidon.leaf(&elements[index * 12..][..12]);
        for (level, sibling) in siblings.enumerate() {
            digest = match index >> level & 1 {
                0 => Poseidon.node(&digest, &sibling),
                _ => Poseidon.node(&sibling, &digest),
            };
        }
        assert_eq!(digest, cap[index >> 4], "leaf {index}");
    }
}

#[test]
fn bad_sizes_are_refused() {
    let new = Shape::new;
    for rows in [0, 3, 6, usize::MAX] {
        assert_eq!(new(rows, 4, 0), Err(MerkleError::RowCount { rows }));
    }
    assert_eq!(new(8, 0, 0), Err(MerkleError::NoColumns));
    assert_eq!(new(8, 1, 4), Err(MerkleError::CapTooHigh { cap_height: 4, rows: 8 }));
    assert_eq!(new(8, 1, u32::MAX), Err(MerkleError::CapTooHigh { cap_height: u32::MAX, rows: 8 }));
    let rows = 1 << (usize::BITS - 2);
    assert_eq!(new(rows, 8, 0), Err(MerkleError::TooLarge { rows, width: 8 }));
    assert_eq!(new(2 * rows, 1, 0), Err(MerkleError::TooLarge { rows: 2 * rows, width: 1 }));

    let shape = new(8, 5, 1).unwrap();
    let elements = matrix(8, 5);
    let mut nodes = vec![Digest::ZERO; shape.nodes()];
    for wrong in [0, 39, 45] {
        let expected = MerkleError::Elements { found: wrong, expected: 40, rows: 8, width: 5 };
        let elements = matrix(wrong, 1);
        assert_eq!(build(Poseidon, &shape, &elements, &mut nodes), Err(expected));
        assert_eq!(cap_vec(Poseidon, &shape, &elements), Err(expected));
        assert_eq!(reference::levels(Poseidon, &shape, &elements), Err(expected));
    }
    let digests = |buffer, found, expected| Err(MerkleError::Digests { buffer, found, expected });
    assert_eq!(build(Poseidon, &shape, &elements, &mut nodes[1..]), digests("nodes", 13, 14));
    let mut scratch = vec![Digest::ZERO; shape.scratch()];
    let mut top = vec![Digest::ZERO; 3];
    assert_eq!(cap(Poseidon, &shape, &elements, &mut scratch, &mut top), digests("cap", 3, 2));
    assert_eq!(cap(Poseidon, &shape, &elements, &mut scratch[1..], &mut top[..2]), digests("scratch", 2, 3));
    assert_eq!(cap(Poseidon, &shape, &elements, &mut scratch, &mut top[..2]), Ok(()));
    assert_eq!(path(&shape, &nodes, 8).err(), Some(MerkleError::LeafIndex { index: 8, rows: 8 }));
    assert_eq!(path(&shape, &nodes[..3], 0).err(), digests("nodes", 3, 14).err());
    assert_eq!(root(Poseidon, &elements, 0), Err(MerkleError::NoColumns));
    assert_eq!(root(Poseidon, &elements, 7), Err(MerkleError::RowCount { rows: 5 }));
    assert_eq!(root(Poseidon, &elements[..39], 5), Err(MerkleError::RowCount { rows: 7 }));
    let message = MerkleError::CapTooHigh { cap_height: 4, rows: 8 }.to_string();
    assert!(message.contains("2^4") && message.contains("8 rows"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn trees_are_those_of_the_definition(
        log in 0u32..8,
        cap in 0u32..8,
        width in 1usize..40,
        edges in prop::collection::vec(
            prop::sample::select(vec![0, 1, 0xffff_ffff, 1 << 32, 1 << 52, Goldilocks::ORDER - 1]), 1..9),
        plain in any::<bool>(),
    ) {
        let rows = 1usize << log;
        let mut elements = matrix(rows, width);
        if !plain {
            for (x, edge) in elements.iter_mut().zip(edges.iter().cycle()) {
                *x = Goldilocks::new(*edge);
            }
        }
        check(&Shape::new(rows, width, cap.min(log)).unwrap(), &elements);
    }
}
