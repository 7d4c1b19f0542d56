//! Real proofs: the laws of a backend, the pinned keys and the costs.

use evergrove_commit::vc;
use evergrove_commit::{NodeKind, RecursionBackend};
use evergrove_plonky2::keys::{CommonData, KeySet};
use evergrove_plonky2::{Plonky2Backend, Plonky2Verifier, shape_of};
use evergrove_testkit::commit::{value, vector};
use evergrove_verifier::wire::encoded_len;
use evergrove_verifier::{HeightClass, Profile};

use crate::common::PAPER;

#[test]
fn paper_backend_keeps_the_laws() {
    evergrove_testkit::backend::laws(&*PAPER);
}

#[test]
#[ignore = "slow: minutes, buckets of 846 leaves and three proofs of 2^15 rows"]
fn proven_backend_keeps_the_laws() {
    let backend = Plonky2Backend::load(Profile::Proven, HeightClass::H27, None).expect("the pinned circuits");
    evergrove_testkit::backend::laws(&backend);
}

#[test]
fn the_default_profile_proves_a_bucket() {
    let backend = Plonky2Backend::load(Profile::Proven, HeightClass::H27, None).expect("the pinned circuits");
    let members = [0, 1, 77, (1 << 20) - 1];
    let vector = vector(20, members);
    let pp = vc::setup(20, &backend).unwrap();
    let (proof, _) = vc::agg(&pp, &members, &vector).unwrap();
    assert_eq!(proof.kind, NodeKind::Bucket);
    let leaves = members.map(|i| (i, value(i)));
    vc::ver(&vector.commitment().unwrap(), &leaves, &proof, &backend).unwrap();
    // The verifier that a user has: pinned keys and no circuit.
    let verifier = Plonky2Verifier::pinned(Profile::Proven, HeightClass::H27).unwrap();
    verifier.verify(&proof).unwrap();
    for at in (0..proof.bytes.len()).step_by(proof.bytes.len() / 24) {
        let mut other = (*proof).clone();
        other.bytes[at] ^= 1;
        assert!(verifier.verify(&other).is_err(), "byte {at} changed");
    }
}

/// The other tests build the circuits of `paper`, and those of the default profile for 2^27 slots.
#[test]
#[ignore = "slow: minutes, the circuits of every profile"]
fn every_pinned_key_is_that_of_the_circuits() {
    for profile in Profile::PLONKY2 {
        for class in HeightClass::ALL {
            Plonky2Backend::load(profile, class, None).unwrap_or_else(|e| panic!("{profile}, {class:?}: {e}"));
        }
    }
}

#[test]
fn keys_change_only_with_the_version_of_the_backend() {
    let mut hasher = blake3::Hasher::new();
    for profile in Profile::PLONKY2 {
        for class in HeightClass::ALL {
            hasher.update(evergrove_verifier::keys::pinned(profile, class).expect("every profile is pinned"));
        }
    }
    // Stores and verifiers tell proofs apart by this number: other keys under it would read as damaged proofs.
    insta::assert_snapshot!(format!(
        "plonky2 version {}: keys {}",
        evergrove_plonky2::BACKEND_VERSION,
        hasher.finalize()
    ));
}

#[test]
fn costs_are_as_recorded() {
    let backend = &*PAPER;
    let circuits = backend.circuits();
    let wrap = backend.wrap_circuit().expect("paper wraps");
    insta::assert_snapshot!(format!(
        "rows before padding: bucket {} of m {}, merge {}, wrap {}\nlog2 rows: node {}, wrap {}\nproving key bytes: {}\nverification key bytes: {}",
        circuits.bucket.rows,
        backend.spec().capacity,
        circuits.merge.rows,
        wrap.rows,
        circuits.merge.data.common.degree_bits(),
        wrap.data.common.degree_bits(),
        backend.proving_key_bytes().unwrap(),
        backend.keys().to_pinned(Profile::Paper, HeightClass::H27).key_bytes(),
    ));
}

#[test]
fn circuits_survive_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let load = || Plonky2Backend::load(Profile::Paper, HeightClass::H40, Some(dir.path())).unwrap();
    let built = load();
    let file = evergrove_plonky2::cache::file(dir.path(), Profile::Paper, HeightClass::H40);
    let bytes = std::fs::read(&file).unwrap();
    let members = [3, 1 << 39];
    let vector = vector(40, members);
    let prove = |backend: &Plonky2Backend| {
        let pp = vc::setup(40, backend).unwrap();
        vc::agg(&pp, &members, &vector).unwrap().0
    };
    let cached = load();
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "a cache that fits is not written again");
    built.verify(&prove(&cached)).unwrap();
    // A damaged file is built again, not trusted.
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    assert_eq!(load().keys(), built.keys());
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[test]
fn proof_bytes_are_as_recorded() {
    // The size depends on the query indices: here they are as far apart as they can be, which is close to the worst case.
    let spread = |common: &CommonData| {
        let shape = shape_of(common);
        let queries = shape.params().num_queries as u64;
        let indices: Vec<u32> = (0..queries).map(|i| ((i << shape.lde_bits()) / queries) as u32).collect();
        encoded_len(&indices, &shape)
    };
    let mut lines = vec![];
    for profile in Profile::PLONKY2 {
        let keys = KeySet::pinned(profile, HeightClass::H27).unwrap();
        let wrap = keys.wrap.map_or("none".into(), |(common, _)| spread(&common).to_string());
        lines.push(format!("{profile}: node {}, wrap {wrap}", spread(&keys.node_common)));
    }
    insta::assert_snapshot!(lines.join("\n"));
}
