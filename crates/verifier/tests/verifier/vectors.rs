//! Hashing rules compared with vectors/hashing.json, and the canonical digest with the literal recursion of section
//! 3.1.

use crate::common::Random;
use evergrove_primitives::hash::poseidon;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::tree::{Value, canonical_digest, leaf_digest, node_digest, null_digest, null_digests};
use evergrove_verifier::{Commitment, LeavesError, batch_digest};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::collections::BTreeMap;

fn vectors() -> Json {
    serde_json::from_str(include_str!("../../../../vectors/hashing.json")).unwrap()
}

fn digest(json: &Json) -> Digest {
    json.as_str().unwrap().parse().unwrap()
}

fn elements(json: &Json) -> Vec<Goldilocks> {
    let element = |x: &Json| Goldilocks::from_canonical(x.as_str().unwrap().parse().unwrap()).unwrap();
    json.as_array().unwrap().iter().map(element).collect()
}

fn leaf(json: &Json) -> (u64, Value) {
    (json["index"].as_u64().unwrap(), elements(&json["value"]).try_into().unwrap())
}

fn leaves(json: &Json) -> Vec<(u64, Value)> {
    json.as_array().unwrap().iter().map(leaf).collect()
}

#[test]
fn digests_are_those_of_the_vectors() {
    let v = vectors();
    let mut state = core::array::from_fn(|i| Goldilocks::new(i as u64));
    poseidon::permute(&mut state);
    assert_eq!(state.to_vec(), elements(&v["permutation_of_0_to_11"]));
    for case in v["hash_no_pad"].as_array().unwrap() {
        assert_eq!(poseidon::hash_no_pad(&elements(&case["input"])), digest(&case["digest"]));
    }
    for case in v["leaf"].as_array().unwrap() {
        let (index, value) = leaf(case);
        assert_eq!(leaf_digest(index, &value), digest(&case["digest"]));
    }
    for case in v["node"].as_array().unwrap() {
        assert_eq!(node_digest(&digest(&case["left"]), &digest(&case["right"])), digest(&case["digest"]));
    }
    let nulls: Vec<Digest> = v["null"].as_array().unwrap().iter().map(digest).collect();
    assert_eq!(null_digests(40), nulls);
    assert_eq!(null_digest(40), nulls[40]);
}

#[test]
fn the_figure_of_the_paper_has_its_canonical_digest() {
    let v = &vectors()["canonical"];
    assert_eq!(batch_digest(4, &leaves(&v["members"])), Ok(digest(&v["digest"])));
}

#[test]
fn the_commitment_is_that_of_the_vectors() {
    let v = &vectors()["commitment"];
    let slots: BTreeMap<u64, Value> = leaves(&v["slots"]).into_iter().collect();
    let mut level: Vec<Digest> =
        (0..16).map(|i| slots.get(&i).map_or_else(|| null_digest(0), |x| leaf_digest(i, x))).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|x| node_digest(&x[0], &x[1])).collect();
    }
    let text = v["text"].as_str().unwrap();
    assert_eq!(Commitment { height: 4, root: level[0] }.to_string(), text);
    assert_eq!(text.parse(), Ok(Commitment { height: 4, root: level[0] }));
}

#[test]
fn commitments_have_one_text() {
    let root = "00".repeat(32);
    assert!(format!("evergrove1:1:{root}").parse::<Commitment>().is_ok());
    for bad in [
        format!("evergrove1:01:{root}"),
        format!("evergrove1:+1:{root}"),
        format!("evergrove1:0:{root}"),
        format!("evergrove1:41:{root}"),
        format!("evergrove2:1:{root}"),
        format!("evergrove1:1:{root}:"),
        format!(" evergrove1:1:{root}"),
        format!("evergrove1:1:{}", "FF".repeat(32)),
        format!("evergrove1:1:{}", "ff".repeat(32)),
        format!("evergrove1:1:{}", &root[2..]),
        String::new(),
    ] {
        assert!(bad.parse::<Commitment>().is_err(), "{bad}");
    }
}

#[test]
fn leaves_of_a_batch_are_checked() {
    let value = [Goldilocks::ONE; 4];
    assert_eq!(batch_digest(4, &[]), Err(LeavesError::Empty));
    let past = LeavesError::Index { place: 1, index: 16, height: 4 };
    assert_eq!(batch_digest(4, &[(2, value), (16, value)]), Err(past));
    for second in [2, 1] {
        let order = LeavesError::Order { place: 1, before: 2, index: second };
        assert_eq!(batch_digest(4, &[(2, value), (second, value)]), Err(order));
    }
    assert_eq!(batch_digest(4, &[(2, value)]), Ok(leaf_digest(2, &value)));
}

/// d(v, I) exactly as section 3.1 defines it: every node of the tree is visited.
fn literal(height: u8, base: u64, members: &BTreeMap<u64, Digest>) -> Digest {
    if height == 0 {
        return members.get(&base).copied().unwrap_or(Digest::ZERO);
    }
    let left = literal(height - 1, base, members);
    let right = literal(height - 1, base + (1 << (height - 1)), members);
    match (left == Digest::ZERO, right == Digest::ZERO) {
        (false, false) => node_digest(&left, &right),
        (true, _) => right,
        (_, true) => left,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_canonical_digest_is_the_recursion_of_section_3_1(
        height in 0u8..9,
        indices in prop::collection::btree_set(any::<u64>(), 0..40),
        seed: u64,
    ) {
        let mut random = Random(seed);
        let members: BTreeMap<u64, Digest> =
            indices.iter().map(|i| (i & ((1 << height) - 1), random.digest())).collect();
        let sorted: Vec<(u64, Digest)> = members.iter().map(|(i, d)| (*i, *d)).collect();
        prop_assert_eq!(canonical_digest(&sorted), literal(height, 0, &members));
    }
}
