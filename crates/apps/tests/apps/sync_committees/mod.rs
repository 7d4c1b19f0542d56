//! Real sync committees of Ethereum: the application's output over the signers verifies their signature.

mod data;

use std::sync::Arc;

use evergrove_apps::bls::light_client::{self, Claim, ClaimError};
use evergrove_apps::bls::{BlsKeys, Output, Point, table};
use evergrove_apps::{Leaf, MapReduce};
use evergrove_commit::RecursionBackend;
use evergrove_commit::batch::Batch;
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use data::{Data, Proofs, committed, data, one_from_the_other, prove};

#[test]
fn signatures_verify_under_the_sum_of_their_signers() {
    let Data { keys, signatures } = data();
    assert!(matches!((keys.len(), signatures.len()), (512, 2) | (3578, 8)), "{} keys", keys.len());
    let schema = table::schema();
    for signed in &signatures {
        assert!(signed.signers.is_sorted_by(|a, b| a < b), "each signer once");
        let output = signed.signers.iter().fold(BlsKeys.identity(), |sum, &index| {
            let key = &keys[index as usize];
            let value = schema.value(&table::row(key).expect("a key")).expect("a row");
            let opening = table::numbers(key).expect("a key").map(Goldilocks::new);
            let mapped = BlsKeys.map(&Leaf { index, value, opening: &opening }).expect("a key has an image");
            BlsKeys.reduce(&sum, &mapped).expect("outputs")
        });
        let output = Output::from_elements(&output).expect("an output");
        assert_eq!(output, Output { key: signed.aggregate, count: signed.signers.len() as u64 });
        // Two thirds of 512, rounded up.
        let claim = Claim { message: &signed.message, signature: &signed.signature, threshold: 342 };
        assert_eq!(light_client::check(&output, &claim), Ok(()));
        let more = Claim { threshold: 513, ..claim };
        assert!(matches!(light_client::check(&output, &more), Err(ClaimError::TooFew { .. })));
    }
    let [first, second] = [0, 1].map(|k: usize| &signatures[k]);
    let output = Output { key: first.aggregate, count: first.signers.len() as u64 };
    let claim = Claim { message: &second.message, signature: &second.signature, threshold: 342 };
    assert_eq!(light_client::check(&output, &claim), Err(ClaimError::Signature));
}

#[test]
fn committees_are_proven_one_from_the_other() {
    let (circuit_set, backend) = crate::on_tables::circuit_set(BlsKeys, Scheme::Selected, Profile::Grove100);
    assert_eq!(circuit_set.capacity(), 512, "a committee is a bucket");
    let verifier = circuit_set.verifier().expect("its circuits");
    assert_eq!(verifier.key_digest(), backend.key_digest());
    one_from_the_other(&backend, data());
}

#[test]
fn two_committees_are_two_buckets_and_a_merge() {
    let Data { keys, signatures } = data();
    if keys.len() == 512 {
        return evergrove_testkit::not_tested("SLOW", "EVERGROVE_TESTDATA is not set, and two committees are needed");
    }
    let (_, backend) = crate::on_tables::circuit_set(BlsKeys, Scheme::Selected, Profile::Grove100);
    let vector = committed(&keys);
    let mut signers = [&signatures[0].signers[..], &signatures[1].signers].concat();
    signers.sort_unstable();
    signers.dedup();
    let batch = Batch::build_as(&vector, &signers, backend.spec().structure()).expect("a batch");
    let (proof, made) = prove(&backend, &vector, &keys, &batch, &mut Proofs::new());
    assert!((3..=5).contains(&made), "{made} proofs of {} keys", signers.len());
    let sum = signers.iter().fold(Point::IDENTITY, |sum, &i| sum.add(&keys[i as usize]));
    let output = Output { key: sum, count: signers.len() as u64 };
    assert_eq!(proof.output, output.to_elements());
    crate::world::refuses_other_statements(&backend, &proof);
}

/// Leaves per bucket, blocks of each table, variables of the stack, and bits. `docs/math/applications.md` lists those
/// of `grove-100`.
#[test]
fn circuits_on_tables_have_these_sizes() {
    let mut text = String::new();
    for profile in Profile::GROVE {
        for class in [HeightClass::H27, HeightClass::H40] {
            let app: Arc<dyn evergrove_apps::MapReduce> = Arc::new(BlsKeys);
            let circuit_set = evergrove_apps::circuits_on_tables(&app, Scheme::Selected, profile, class);
            let circuit_set = circuit_set.expect("circuits on tables").expect("a size");
            let (shape, bits) = (circuit_set.shape(), circuit_set.bits());
            text += &format!(
                "{profile} {class:?}: {} leaves, blocks {:?}, 2^{}, {bits:?}\n",
                circuit_set.capacity(),
                shape.blocks,
                shape.variables
            );
        }
    }
    insta::assert_snapshot!(text);
}
