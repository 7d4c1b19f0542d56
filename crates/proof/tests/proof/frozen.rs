//! The frozen files of version 1 (vectors/frozen/v1): what is written today is what was frozen, and it still reads.

use std::path::PathBuf;

use crate::common::{app_proof, batch_proof, key_set, opening, small_shape, snark};
use evergrove_proof::keys::KeySet;
use evergrove_proof::wire::{self, BatchProof, Opening};
use evergrove_proof::{NodeKind, Profile};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/frozen/v1").join(name)
}

/// The bytes of a frozen file. A new version has no file yet, and `EVERGROVE_BLESS=1 cargo test` writes it from `bytes`.
fn frozen(name: &str, bytes: &[u8]) -> Vec<u8> {
    let path = path(name);
    if std::env::var_os("EVERGROVE_BLESS").is_some() && !path.exists() {
        std::fs::write(&path, bytes).expect(name);
    }
    std::fs::read(&path).expect(name)
}

fn files() -> [(&'static str, Vec<u8>); 7] {
    let (full, _, empty) = opening();
    [
        ("snark.bin", wire::encode(&snark(1, &small_shape()), &small_shape())),
        ("proof.bin", batch_proof().encode()),
        ("proof-wrap.bin", BatchProof { profile: Profile::Paper, kind: NodeKind::Wrap, ..batch_proof() }.encode()),
        ("proof-app.bin", app_proof().encode()),
        ("opening.bin", full.encode()),
        ("opening-empty.bin", empty.encode()),
        ("keys.bin", key_set(Profile::Paper).encode()),
    ]
}

#[test]
fn frozen_files_are_what_is_written_and_read() {
    for (name, bytes) in files() {
        let frozen = frozen(name, &bytes);
        assert!(frozen == bytes, "{name} is not what version 1 wrote: a changed encoding needs a version of its own");
        let again = match name {
            "snark.bin" => wire::decode(&frozen, &small_shape()).map(|x| wire::encode(&x, &small_shape())),
            "keys.bin" => KeySet::decode(&frozen).map(|x| x.encode()),
            "opening.bin" | "opening-empty.bin" => Opening::decode(&frozen).map(|x| x.encode()),
            _ => BatchProof::decode(&frozen).map(|x| x.encode()),
        };
        assert!(again.as_ref() == Ok(&frozen), "{name}");
    }
}
