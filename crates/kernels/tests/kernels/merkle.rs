//! Merkle trees compared with their definition and with Plonky2's caps and paths, and tested with bad sizes.

use evergrove_kernels::merkle::{
    Arity, BLOCK, Keccak, MerkleError, Polygon, Poseidon, Shape, TreeHash, build, build_vec, cap, cap_vec, path,
    reference, root,
};
use evergrove_primitives::hash::keccak::Function;
use evergrove_primitives::hash::tree::climb;
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

fn check<H: TreeHash>(hash: H, shape: &Shape, rows: &[H::Element]) {
    let expected = reference::levels(hash, shape, rows).unwrap();
    let nodes = build_vec(hash, shape, rows).unwrap();
    for (level, expected) in expected.iter().enumerate() {
        assert_eq!(nodes[shape.level(level)], **expected, "level {level} of {shape:?}");
    }
    assert_eq!(shape.level(shape.levels() - 1).end, shape.nodes());
    assert_eq!(shape.cap_len(), expected[shape.levels() - 1].len());
    assert_eq!(cap_vec(hash, shape, rows).unwrap(), expected[shape.levels() - 1], "{shape:?}");
}

#[test]
fn caps_and_paths_are_those_of_plonky2() {
    let vectors: Value = serde_json::from_str(include_str!("../../../../vectors/merkle-poseidon.json")).unwrap();
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
                check(Poseidon, &Shape::new(rows, width, cap_height).unwrap(), &elements);
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

/// Polygon zkEVM's tree over 64 rows of 128 columns, each row the sum of the two before.
#[test]
fn roots_are_those_of_polygon() {
    let vectors: Value = serde_json::from_str(include_str!("../../../../vectors/poseidon-polygon.json")).unwrap();
    let words = |v: &Value| -> Vec<u64> {
        v.as_array().unwrap().iter().map(|x| u64::from_str_radix(x.as_str().unwrap(), 16).unwrap()).collect()
    };
    let mut elements: Vec<Goldilocks> = (1..=128).chain(1..=128).map(Goldilocks::new).collect();
    for i in 256..64 * 128 {
        elements.push(elements[i - 256] + elements[i - 128]);
    }
    let found = root(Polygon, &elements, 128).unwrap();
    assert_eq!(found.0.map(Goldilocks::as_u64).to_vec(), words(&vectors["merkle_root_of_64_rows_of_128"]));
    // In that tree a row without elements has four zeros as its digest, like a row of up to four zeros.
    let found = root(Polygon, &[Goldilocks::ZERO; 64], 1).unwrap();
    assert_eq!(found.0.map(Goldilocks::as_u64).to_vec(), words(&vectors["merkle_root_of_64_rows_of_0"]));
}

/// Trees of any arity, complete and padded, by every hash.
#[test]
fn trees_of_every_arity_are_those_of_the_definition() {
    let elements = matrix(5000, 9);
    let bytes: Vec<u8> = elements.iter().map(|x| x.as_u64() as u8).collect();
    for arity in [Arity::Two, Arity::Four, Arity::Eight] {
        for rows in [1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1024, 1025, 4096, 4097] {
            for width in [1, 5, 9] {
                let tall = Shape::padded(rows, width, arity, 0).unwrap();
                let heights = tall.levels() as u32;
                for cap_height in [0, 1, 2, heights - 1].into_iter().filter(|c| *c < heights) {
                    let shape = Shape::padded(rows, width, arity, cap_height).unwrap();
                    assert_eq!(shape.levels() as u32, heights - cap_height);
                    check(Poseidon, &shape, &elements[..rows * width]);
                    if rows < 600 {
                        check(Polygon, &shape, &elements[..rows * width]);
                        check(Keccak(Function::Sha3_256), &shape, &bytes[..rows * width]);
                        check(Keccak(Function::Keccak256), &shape, &bytes[..rows * width]);
                    }
                    let complete = Shape::complete(rows, width, arity, cap_height);
                    if rows.is_power_of_two() && rows.ilog2() % arity.get().ilog2() == 0 {
                        let complete = complete.unwrap();
                        assert_eq!(complete, shape);
                        assert_eq!(complete.cap_len(), arity.get().pow(cap_height));
                    } else {
                        assert_eq!(complete, Err(MerkleError::RowCount { rows, arity: arity.get() }));
                    }
                }
            }
        }
    }
}

/// Leaves of 64 bytes: every node is one permutation.
#[test]
fn sha3_trees_are_those_of_the_definition() {
    let bytes: Vec<u8> = (0..64 << 11).map(|i: usize| (i * 131 + (i >> 8) * 17) as u8).collect();
    for log in [0, 1, 5, 9, 10, 11] {
        let shape = Shape::new(1 << log, 64, 0).unwrap();
        for function in [Function::Sha3_256, Function::Keccak256] {
            check(Keccak(function), &shape, &bytes[..64 << log]);
        }
    }
}

/// The node of the cap that a row and the siblings of its path lead to.
pub(super) fn top(shape: &Shape, index: usize, row: &[Goldilocks], siblings: &[Digest]) -> (u64, Digest) {
    let mut siblings = siblings.iter().copied();
    let leaf = vec![(index as u64, Poseidon.leaf(row))];
    let next = |_, _| siblings.next().ok_or("too few siblings");
    let levels = shape.levels() as u8 - 1;
    let found = climb(levels, shape.arity().get().ilog2(), leaf, next, |group| Poseidon.node(group)).unwrap();
    assert!(siblings.next().is_none(), "too many siblings");
    found[0]
}

#[test]
fn paths_lead_to_the_cap() {
    let shapes = [
        Shape::new(64, 12, 2),
        Shape::complete(64, 12, Arity::Four, 1),
        Shape::complete(64, 12, Arity::Eight, 0),
        Shape::padded(61, 12, Arity::Two, 1),
        Shape::padded(61, 12, Arity::Four, 0),
        Shape::padded(9, 12, Arity::Eight, 0),
        Shape::padded(1, 12, Arity::Eight, 0),
    ];
    for shape in shapes.map(Result::unwrap) {
        let rows = shape.rows();
        let elements = matrix(rows, 12);
        let nodes = build_vec(Poseidon, &shape, &elements).unwrap();
        let cap = &nodes[shape.level(shape.levels() - 1)];
        for index in 0..rows {
            let siblings: Vec<Digest> = path(&shape, &nodes, index).unwrap().collect();
            assert_eq!(siblings.len(), (shape.arity().get() - 1) * (shape.levels() - 1));
            let (position, found) = top(&shape, index, &elements[index * 12..][..12], &siblings);
            let log = shape.arity().get().ilog2() * (shape.levels() as u32 - 1);
            assert_eq!(position, index as u64 >> log);
            assert_eq!(found, cap[index >> log], "leaf {index} of {shape:?}");
        }
    }
}

#[test]
fn bad_sizes_are_refused() {
    let new = Shape::new;
    for rows in [0, 3, 6, usize::MAX] {
        assert_eq!(new(rows, 4, 0), Err(MerkleError::RowCount { rows, arity: 2 }));
    }
    assert_eq!(new(8, 0, 0), Err(MerkleError::NoColumns));
    assert_eq!(new(8, 1, 4), Err(MerkleError::CapTooHigh { cap_height: 4, height: 3, rows: 8 }));
    assert_eq!(new(8, 1, u32::MAX), Err(MerkleError::CapTooHigh { cap_height: u32::MAX, height: 3, rows: 8 }));
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
    assert_eq!(root(Poseidon, &elements, 7), Err(MerkleError::RowCount { rows: 5, arity: 2 }));
    assert_eq!(root(Poseidon, &elements[..39], 5), Err(MerkleError::RowCount { rows: 7, arity: 2 }));
    let message = MerkleError::CapTooHigh { cap_height: 4, height: 3, rows: 8 }.to_string();
    assert!(message.contains("cap 4 levels") && message.contains("8 rows"), "{message}");
    for arity in [Arity::Two, Arity::Four, Arity::Eight] {
        assert_eq!(Shape::padded(0, 4, arity, 0), Err(MerkleError::NoRows));
        assert_eq!(Shape::padded(3, 0, arity, 0), Err(MerkleError::NoColumns));
        let huge = Shape::padded(usize::MAX, 1, arity, 0);
        assert_eq!(huge, Err(MerkleError::TooLarge { rows: usize::MAX, width: 1 }));
        let error = Shape::padded(9, 1, arity, 5).unwrap_err();
        assert!(matches!(error, MerkleError::CapTooHigh { cap_height: 5, rows: 9, .. }));
    }
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
        check(Poseidon, &Shape::new(rows, width, cap.min(log)).unwrap(), &elements);
        check(Polygon, &Shape::new(rows, width, cap.min(log)).unwrap(), &elements);
    }
}
