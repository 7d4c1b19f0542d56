//! OpenZeppelin's tree compared with the trees of its own library, `vectors/openzeppelin.json`.

use evergrove_verifier::abi::{AbiType, AbiWord};
use evergrove_verifier::openzeppelin::{
    KeccakDigest, first_duplicate, js_slot, leaf_digest, levels, node_digest, parent, proof, root, root_of_proof,
};
use serde_json::Value as Json;

fn cases() -> Vec<Json> {
    let mut all: Json = serde_json::from_str(include_str!("../../../../vectors/openzeppelin.json")).unwrap();
    serde_json::from_value(all["cases"].take()).unwrap()
}

fn digest(json: &Json) -> KeccakDigest {
    "bytes32".parse::<AbiType>().unwrap().parse(json.as_str().unwrap()).unwrap()
}

fn digests(json: &Json) -> Vec<KeccakDigest> {
    json.as_array().unwrap().iter().map(digest).collect()
}

/// The words of a row whose types are all static.
fn words(case: &Json, row: &Json) -> Option<Vec<AbiWord>> {
    let kinds = case["leafEncoding"].as_array()?.iter().map(|kind| kind.as_str().unwrap().parse::<AbiType>().ok());
    let texts = row.as_array().unwrap().iter().map(|cell| cell.as_str().map_or_else(|| cell.to_string(), String::from));
    kinds.zip(texts).map(|(kind, text)| Some(kind?.parse(&text).unwrap())).collect()
}

#[test]
fn roots_and_proofs_are_those_of_the_library() {
    let (mut hashed, mut proven) = (0, 0);
    let cases = cases();
    assert_eq!(cases.len(), 15);
    for case in &cases {
        let name = &case["name"];
        let values = case["values"].as_array().unwrap();
        let n = values.len();
        let tree = digests(&case["tree"]);
        let mut slots = vec![None; n.next_power_of_two()];
        // Leaf j is the heap's node 2n - 2 - j, and each leaf has a separate slot.
        for j in 0..n {
            let leaf = tree[2 * n - 2 - j];
            assert_eq!(slots[js_slot(n, j).unwrap()].replace(leaf), None, "{name} {j}");
        }
        let expected = digest(&case["root"]);
        assert_eq!(root(&slots), Some(expected), "{name}");
        let levels = levels(&slots);
        for words in values.iter().filter_map(|row| words(case, row)) {
            assert!(slots.contains(&Some(leaf_digest(&words))), "{name}");
            hashed += 1;
        }
        for given in case["proofs"].as_array().unwrap() {
            let leaf = digest(&given["leafHash"]);
            let row = &values[usize::try_from(given["i"].as_u64().unwrap()).unwrap()];
            if let Some(words) = words(case, row) {
                assert_eq!(leaf_digest(&words), leaf, "{name}");
            }
            proven += 1;
            let slot = slots.iter().position(|&slot| slot == Some(leaf)).unwrap();
            let siblings = proof(&levels, slot).unwrap();
            assert_eq!(siblings, digests(&given["proof"]), "{name} {slot}");
            assert_eq!(root_of_proof(leaf, &siblings), expected);
            // Another leaf, and another sibling.
            assert_ne!(root_of_proof(leaf_digest(&[leaf]), &siblings), expected);
            for i in 0..siblings.len() {
                let mut other = siblings.clone();
                other[i][31] ^= 1;
                assert_ne!(root_of_proof(leaf, &other), expected);
            }
        }
    }
    // All rows except those of the simple trees and those with strings.
    assert_eq!(hashed, 1 + 2 + 3 + 4 + 5 + 7 + 8 + 16 + 128 + 5 + 8 + 4);
    // Of the tree of 128 rows, the library has proven four.
    assert_eq!(proven, hashed - 124 + 4 + 8 + 7);
}

#[test]
fn lone_children_are_promoted() {
    let leaf = |x: u8| leaf_digest(&[[x; 32]]);
    let [a, b] = [leaf(1), leaf(2)];
    assert_eq!(node_digest(&a, &b), node_digest(&b, &a));
    assert_eq!([parent(None, None), parent(Some(a), None), parent(None, Some(a))], [None, Some(a), Some(a)]);
    // Empty slots before, between and after leaves change nothing, nor does a higher tree.
    let node = node_digest(&a, &b);
    for slots in [vec![Some(a), Some(b)], vec![None, Some(a), None, None, Some(b)], vec![Some(a), None, None, Some(b)]]
    {
        assert_eq!(root(&slots), Some(node));
        assert_eq!(proof(&levels(&slots), slots.iter().position(|&slot| slot == Some(a)).unwrap()), Some(vec![b]));
    }
    assert_eq!(root(&[Some(a)]), Some(a));
    assert_eq!(proof(&levels(&[Some(a)]), 0), Some(vec![]));
    assert_eq!((root(&[]), root(&[None; 4])), (None, None));
    for slot in [1, 2, usize::MAX] {
        assert_eq!(proof(&levels(&[Some(a), None]), slot), None);
    }
}

#[test]
fn slots_of_the_library() {
    assert_eq!([js_slot(0, 0), js_slot(5, 5)], [None, None]);
    assert_eq!((0..5).map(|j| js_slot(5, j).unwrap()).collect::<Vec<_>>(), [6, 7, 0, 2, 4]);
    assert_eq!((0..4).map(|j| js_slot(4, j).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    for n in 1..200 {
        let mut slots: Vec<usize> = (0..n).map(|j| js_slot(n, j).unwrap()).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), n);
        assert!(slots[n - 1] < n.next_power_of_two());
    }
}

#[test]
fn duplicates_are_found() {
    let leaf = |x: u8| leaf_digest(&[[x; 32]]);
    assert_eq!(first_duplicate((0..9).map(|i| (i, leaf(i as u8)))), None);
    assert_eq!(first_duplicate([(3, leaf(1)), (5, leaf(2)), (8, leaf(1)), (9, leaf(2))]), Some([3, 8]));
}
