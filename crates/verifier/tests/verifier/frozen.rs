//! The frozen files (vectors/frozen/v1, v2): version 2 writes the frozen bytes, and both versions still read.

use std::path::PathBuf;

use crate::common::{app_proof, batch_proof, key_set, opening, small_shape, snark};
use evergrove_verifier::keys::KeySet;
use evergrove_verifier::wire::{self, BatchProof, Opening};
use evergrove_verifier::{BackendId, NodeKind, Profile};

/// A frozen file of a version.
pub(crate) fn path(version: u8, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../vectors/frozen/v{version}")).join(name)
}

/// The bytes of a frozen file. A new version has no file yet, and `EVERGROVE_BLESS=1 cargo test` writes it from `bytes`.
fn frozen(version: u8, name: &str, bytes: &[u8]) -> Vec<u8> {
    let path = path(version, name);
    if std::env::var_os("EVERGROVE_BLESS").is_some() && !path.exists() {
        std::fs::write(&path, bytes).expect(name);
    }
    std::fs::read(&path).expect(name)
}

fn proofs() -> [(&'static str, BatchProof); 3] {
    let wrap = BatchProof { profile: Profile::Paper, kind: NodeKind::Wrap, ..batch_proof() };
    [("proof.bin", batch_proof()), ("proof-wrap.bin", wrap), ("proof-app.bin", app_proof())]
}

fn openings() -> [(&'static str, Opening); 2] {
    let (full, _, empty) = opening();
    [("opening.bin", full), ("opening-empty.bin", empty)]
}

#[test]
fn files_of_version_2_are_written_as_they_were_frozen() {
    let grove = BatchProof { backend: BackendId::new("grove", 1), profile: Profile::Grove100, ..batch_proof() };
    for (name, proof) in proofs().into_iter().chain([("proof-grove.bin", grove)]) {
        let bytes = frozen(2, name, &proof.encode());
        assert!(proof.encode() == bytes, "{name}: a changed encoding needs a version of its own");
        assert_eq!(BatchProof::decode(&bytes), Ok(proof), "{name}");
    }
    for (name, opening) in openings() {
        let bytes = frozen(2, name, &opening.encode());
        assert!(opening.encode() == bytes, "{name}: a changed encoding needs a version of its own");
        assert_eq!(Opening::decode(&bytes), Ok(opening), "{name}");
    }
}

#[test]
fn files_of_version_1_are_read() {
    for (name, proof) in proofs() {
        assert_eq!(BatchProof::decode(&frozen(1, name, &[])), Ok(proof), "{name}");
    }
    for (name, opening) in openings() {
        assert_eq!(Opening::decode(&frozen(1, name, &[])), Ok(opening), "{name}");
    }
}

#[test]
fn bodies_and_keys_of_plonky2_are_those_of_version_1() {
    let (shape, keys) = (small_shape(), key_set(Profile::Paper));
    let bytes = frozen(1, "snark.bin", &[]);
    assert!(wire::encode(&snark(1, &shape), &shape) == bytes);
    assert_eq!(wire::decode(&bytes, &shape), Ok(snark(1, &shape)));
    let bytes = frozen(1, "keys.bin", &[]);
    assert!(keys.encode() == bytes);
    assert_eq!(KeySet::decode(&bytes).map(|k| k.encode()), Ok(bytes));
}
