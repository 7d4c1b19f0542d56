//! Proofs of both digests of small trees.

use evergrove_apps::digest_translation::{
    Statement, Translation, TranslationError, TranslationProof, Translator, tree,
};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_proof::tree::{Value, leaf_digest, node_digest, null_digest};
use evergrove_proof::{NodeKind, Profile};

/// Slots of a bucket: 2^2.
const BUCKET_HEIGHT: u8 = 2;

fn value(i: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::reduce((i + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> k))
}

/// Both digests by definition.
fn digests(slots: &[Option<Value>]) -> (Digest, tree::KeccakDigest) {
    let leaf = |(i, v): (usize, &Option<Value>)| v.as_ref().map_or(null_digest(0), |v| leaf_digest(i as u64, v));
    let mut poseidon: Vec<Digest> = slots.iter().enumerate().map(leaf).collect();
    while poseidon.len() > 1 {
        poseidon = poseidon.as_chunks::<2>().0.iter().map(|[l, r]| node_digest(l, r)).collect();
    }
    (poseidon[0], tree::levels(0, slots).pop().unwrap()[0])
}

fn assert_proves(translator: &Translator, translation: &Translation<'_>, slots: &[Option<Value>]) -> TranslationProof {
    let proof = translator.finish(translation.root()).unwrap();
    let (poseidon, keccak) = digests(slots);
    let height = slots.len().ilog2() as u8;
    assert_eq!(proof.statement, Statement { poseidon, keccak, height, base: 0 });
    translator.verifier().verify(&proof).unwrap();
    proof
}

#[test]
fn a_tree_is_translated_updated_and_verified() {
    life(Profile::Paper);
}

#[test]
#[ignore = "circuits of 2^15 and 2^16 rows: some minutes"]
fn so_it_is_without_a_wrap() {
    life(Profile::Johnson);
    life(Profile::Proven);
}

fn life(profile: Profile) {
    let translator = Translator::new(profile, BUCKET_HEIGHT).unwrap();
    let mut slots: Vec<Option<Value>> = (0..8).map(|i| (i % 3 != 1).then(|| value(i))).collect();
    // The largest canonical words, and an empty bucket's worth of zeros.
    slots[2] = Some([-Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::reduce(u64::from(u32::MAX)), -Goldilocks::ONE]);
    let mut translation = Translation::new(&translator, slots.clone()).unwrap();
    let first = assert_proves(&translator, &translation, &slots);
    assert!(profile != Profile::Paper || first.bytes.len() < 120 << 10, "{} bytes", first.bytes.len());

    slots[5] = Some(value(77));
    slots[4] = None;
    assert_eq!(translation.update(&[(5, slots[5]), (4, None)]).unwrap(), 2);
    let second = assert_proves(&translator, &translation, &slots);
    assert_ne!(first.statement, second.statement);

    let verifier = translator.verifier();
    let mut forged = second.clone();
    forged.statement = first.statement;
    assert!(matches!(verifier.verify(&forged), Err(TranslationError::Rejected(_))), "another tree's proof");
    for byte in [0, 7, 31] {
        let mut forged = second.clone();
        forged.statement.keccak[byte] ^= 1;
        assert!(verifier.verify(&forged).is_err(), "another Keccak root");
    }
    let mut forged = second.clone();
    forged.statement.poseidon.0[3] += Goldilocks::ONE;
    assert!(verifier.verify(&forged).is_err(), "another Poseidon root");
    for height in [0, 2, 4, 41, 255] {
        let forged = TranslationProof { statement: Statement { height, ..second.statement }, ..second.clone() };
        assert!(verifier.verify(&forged).is_err(), "height {height}");
    }
    let forged = TranslationProof { statement: Statement { base: 4, ..second.statement }, ..second.clone() };
    assert!(verifier.verify(&forged).is_err(), "a part for the whole");
    for kind in [NodeKind::Bucket, NodeKind::Merge, NodeKind::Wrap].into_iter().filter(|k| *k != second.kind) {
        assert!(verifier.verify(&TranslationProof { kind, ..second.clone() }).is_err(), "another circuit");
    }
    for length in [0, 1, second.bytes.len() - 1] {
        let forged = TranslationProof { bytes: second.bytes[..length].to_vec(), ..second.clone() };
        assert!(verifier.verify(&forged).is_err(), "{length} bytes");
    }

    assert_eq!(translation.update(&[(8, None)]), Err(TranslationError::Position { index: 8, slots: 8 }));
    for found in [0, 2, 3, 6, 12] {
        let error = Translation::new(&translator, vec![None; found]).err();
        assert_eq!(error, Some(TranslationError::Slots { found, bucket_height: BUCKET_HEIGHT }));
    }
    assert!(translator.prove_bucket(2, vec![None; 4]).is_err(), "a base within a bucket");
    assert!(translator.prove_merge(translation.root(), translation.root()).is_err(), "no siblings");
}
