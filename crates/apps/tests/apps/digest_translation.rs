//! Invalid steps of a digest translation, and its parameters.

use evergrove_apps::digest_translation::DigestTranslation;
use evergrove_commit::batch::{Batch, Structure};
use evergrove_commit::{NativeBackend, NodeKind, RecursionBackend, Witness};
use evergrove_verifier::{HeightClass, Profile};

use crate::world::vector;

/// A bucket has 2^2 slots.
const BUCKET_HEIGHT: u8 = 2;

fn app() -> DigestTranslation {
    DigestTranslation::with_buckets(BUCKET_HEIGHT).unwrap()
}

#[test]
fn what_is_no_block_or_node_is_refused_before_it_is_proven() {
    let rules = NativeBackend::tree(Profile::Paper, HeightClass::H27, BUCKET_HEIGHT);
    let vector = vector(4, [0, 13]);
    let batch = Batch::build_as(&vector, &[], Structure::Tree { block_height: BUCKET_HEIGHT }).unwrap();
    let blocks: Vec<_> = batch.nodes().into_iter().filter(|n| n.kind() == NodeKind::Bucket).collect();
    let Witness::Bucket(witness) = blocks[0].witness(&vector).unwrap() else { panic!("a block") };
    rules.prove(&witness.clone().into(), &[]).unwrap();
    let mut climbed = witness.clone();
    climbed.statement = *batch.statement();
    assert!(rules.prove(&climbed.into(), &[]).unwrap_err().to_string().contains("does not climb"));
    assert_eq!(DigestTranslation::from_parameters(&app().spec().parameters), Some(app()));
    for bad in [&b""[..], b"\x02", b"\x00keccak-256", b"\x09keccak-256", b"\x02sha-256"] {
        assert_eq!(DigestTranslation::from_parameters(bad), None);
    }
}
