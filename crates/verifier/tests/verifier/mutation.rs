//! Damaged and arbitrary bytes in every decoder: no panic, one encoding per value, nothing damaged verifies.
//!
//! `PROPTEST_CASES` sets the number of cases.

use std::sync::LazyLock;

use crate::common::{app_proof, batch_proof, key_set, opening, small_shape, snark};
use crate::frozen;
use evergrove_verifier::keys::KeySet;
use evergrove_verifier::wire::{BatchProof, Bundle, Opening, RowsForm, SnarkShape, decode, encode};
use evergrove_verifier::{Commitment, Policy, Profile, Scheme};
use proptest::prelude::*;

struct Good {
    shape: SnarkShape,
    snarks: Vec<Vec<u8>>,
    proof: Vec<u8>,
    app_proof: Vec<u8>,
    openings: Vec<Vec<u8>>,
    commitment: Commitment,
    keys: Vec<u8>,
}

static GOOD: LazyLock<Good> = LazyLock::new(|| {
    let shape = small_shape();
    let (full, commitment, empty) = opening();
    Good {
        snarks: (0..4).map(|seed| encode(&snark(seed, &shape), &shape)).collect(),
        shape,
        proof: batch_proof().encode(),
        app_proof: app_proof().encode(),
        openings: vec![full.encode(), empty.encode()],
        commitment,
        keys: key_set(Profile::Paper).encode(),
    }
});

/// Replaces, inserts, removes, repeats or cuts a few bytes.
fn mutated(bytes: &[u8], edits: &[(u8, u32, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(what, at, byte) in edits {
        let at = at as usize % (bytes.len() + 1);
        let end = (at + 8).min(bytes.len());
        match what % 6 {
            0 | 1 if at < bytes.len() => bytes[at] ^= byte | 1,
            2 => bytes.insert(at, byte),
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 if byte < 8 => bytes.truncate(at),
            _ => bytes[at..end].fill(byte),
        }
    }
    bytes
}

fn edits() -> impl Strategy<Value = Vec<(u8, u32, u8)>> {
    prop::collection::vec(any::<(u8, u32, u8)>(), 1..4)
}

proptest! {
    #[test]
    fn damaged_snarks(which in 0usize..4, edits in edits()) {
        let bytes = mutated(&GOOD.snarks[which], &edits);
        if let Ok(proof) = decode(&bytes, &GOOD.shape) {
            prop_assert!(proof.has_shape(&GOOD.shape));
            prop_assert_eq!(encode(&proof, &GOOD.shape), bytes);
        }
    }

    #[test]
    fn damaged_proof_files(edits in edits()) {
        let bytes = mutated(&GOOD.proof, &edits);
        if let Ok(proof) = BatchProof::decode(&bytes) {
            prop_assert_eq!(proof.encode(), bytes);
            let honest = batch_proof();
            let commitment = Commitment { height: 27, root: honest.statement.root };
            if Policy::default().check(&proof, &commitment).is_ok() {
                // Left to the SNARK: another canonical digest, the other bare circuit, another body.
                prop_assert_eq!(proof.profile, honest.profile);
                prop_assert_eq!(proof.backend, honest.backend);
                prop_assert_eq!((proof.statement.base, proof.statement.root), (0, honest.statement.root));
            }
        }
    }

    #[test]
    fn damaged_files_of_version_1(edits in edits()) {
        let read = |name: &str| std::fs::read(frozen::path(1, name)).expect("a frozen file");
        let (proof, app, opening) = (read("proof.bin"), read("proof-app.bin"), read("opening.bin"));
        for (good, honest) in [(&proof, batch_proof()), (&app, app_proof())] {
            let bytes = mutated(good, &edits);
            prop_assert!(bytes == *good || BatchProof::decode(&bytes).as_ref() != Ok(&honest));
        }
        let bytes = mutated(&opening, &edits);
        if let Ok(found) = Opening::decode(&bytes) {
            prop_assert!(bytes == opening || found.verify(&GOOD.commitment).is_err());
        }
    }

    #[test]
    fn damaged_proof_files_of_applications(edits in edits()) {
        let bytes = mutated(&GOOD.app_proof, &edits);
        if let Ok(proof) = BatchProof::decode(&bytes) {
            prop_assert_eq!(proof.encode(), bytes);
            let (honest, claimed) = (app_proof(), proof.app.as_ref().map(|a| &a.app));
            let app = honest.app.expect("an application").app;
            let policy = Policy::default().allow_app(app.clone(), Scheme::Selected);
            let commitment = Commitment { height: 27, root: honest.statement.root };
            if policy.check(&proof, &commitment).is_ok() {
                prop_assert!(claimed == Some(&app) || proof.scheme == "evergrove1");
            }
        }
    }

    #[test]
    fn damaged_openings(which in 0usize..2, edits in edits()) {
        let good = &GOOD.openings[which];
        let bytes = mutated(good, &edits);
        if let Ok(opening) = Opening::decode(&bytes) {
            prop_assert!(bytes == *good || opening.verify(&GOOD.commitment).is_err());
            prop_assert_eq!(opening.encode(), bytes);
        }
    }

    #[test]
    fn damaged_bundles(edits in edits(), form in 0usize..3, resum: bool) {
        let rows = [None, Some((RowsForm::Csv, &b"index,a\n1,2\n"[..])), Some((RowsForm::Jsonl, b"{}"))][form];
        let bundle = Bundle { proof: &GOOD.openings[0], rows, schema: Some(b"raw = true\n"), key: Some(&GOOD.keys), ..Bundle::default() };
        let good = bundle.encode().expect("short files");
        let mut bytes = mutated(&good, &edits);
        if resum {
            // Headers with a corrected sum, so that their fields are reached.
            for header in bytes.as_chunks_mut::<512>().0.iter_mut().filter(|h| h[257..262] == *b"ustar") {
                header[148..156].fill(b' ');
                let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
                header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
        }
        if let Ok(found) = Bundle::decode(&bytes) {
            let again = found.encode().expect("short files");
            prop_assert_eq!(Bundle::decode(&again), Ok(found));
            prop_assert!(resum || bytes != good || found == bundle);
        }
    }

    #[test]
    fn damaged_keys(edits in edits()) {
        let bytes = mutated(&GOOD.keys, &edits);
        if let Ok(keys) = KeySet::decode(&bytes) {
            prop_assert_eq!(keys.encode(), bytes);
        }
    }

    #[test]
    fn damaged_commitments(edits in edits()) {
        let text = GOOD.commitment.to_string();
        let text = String::from_utf8_lossy(&mutated(text.as_bytes(), &edits)).into_owned();
        if let Ok(commitment) = text.parse::<Commitment>() {
            prop_assert_eq!(commitment.to_string(), text);
        }
    }

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..3000), header in 0usize..6) {
        let mut bytes = bytes;
        let magic: &[u8] = [&b""[..], b"EVGP\x01\0", b"EVGO\x01\0", b"EVGK\x01\0", b"EVGP\x02\0", b"EVGO\x02\0"][header];
        bytes.splice(..0, magic.iter().copied());
        if let Ok(proof) = decode(&bytes, &GOOD.shape) {
            prop_assert_eq!(&encode(&proof, &GOOD.shape), &bytes);
        }
        prop_assert!(BatchProof::decode(&bytes).is_err());
        prop_assert!(KeySet::decode(&bytes).is_err());
        prop_assert!(Bundle::decode(&bytes).is_err());
        if let Ok(opening) = Opening::decode(&bytes) {
            prop_assert!(opening.verify(&GOOD.commitment).is_err());
        }
    }
}
