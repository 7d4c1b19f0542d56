//! Committees and their signatures, in proofs of any backend. The tests of `evergrove-plonky2` include this file.
//!
//! The data is one committee with two signatures in `vectors`, or seven committees with eight signatures in the folder
//! `EVERGROVE_TESTDATA`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use evergrove_apps::bls::light_client::{self, Claim};
use evergrove_apps::bls::{Output, Point, table};
use evergrove_commit::batch::{Batch, Input};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::Statement;
use serde_json::Value;

pub(super) struct Data {
    /// Every key once, in the order of first use.
    pub(super) keys: Vec<Point>,
    pub(super) signatures: Vec<Signed>,
}

pub(super) struct Signed {
    /// The rows of the signers.
    pub(super) signers: Vec<u64>,
    pub(super) message: Vec<u8>,
    pub(super) signature: Vec<u8>,
    pub(super) aggregate: Point,
}

fn bytes(text: &Value) -> Vec<u8> {
    let digits = text.as_str().and_then(|t| t.strip_prefix("0x")).expect("hexadecimal digits");
    digits
        .as_bytes()
        .chunks(2)
        .map(|d| u8::from_str_radix(str::from_utf8(d).expect("ASCII"), 16).expect("digits"))
        .collect()
}

pub(super) fn data() -> Data {
    let outside =
        std::env::var_os("EVERGROVE_TESTDATA").map(|dir| PathBuf::from(dir).join("ethereum-sync-committees.json"));
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sync-committee.json");
    let text = std::fs::read_to_string(outside.unwrap_or_else(ours)).expect("the file");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    let mut rows: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let mut encoded: Vec<Vec<u8>> = Vec::new();
    let mut committees: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (period, committee) in file["committees"].as_object().expect("committees") {
        let keys = committee["pubkeys"].as_array().expect("keys").iter().map(bytes);
        let members = keys.map(|key| {
            *rows.entry(key.clone()).or_insert_with(|| {
                encoded.push(key);
                encoded.len() as u64 - 1
            })
        });
        committees.insert(period.clone(), members.collect());
    }
    let keys = table::parse_keys(encoded.iter().map(Vec::as_slice)).expect("keys of the chain");
    let signed = |s: &Value| {
        let members = &committees[&s["period"].to_string()];
        let bits = s["participation"].as_str().expect("bits").bytes();
        let mut signers: Vec<u64> = members.iter().zip(bits).filter(|(_, b)| *b == b'1').map(|(m, _)| *m).collect();
        signers.sort_unstable();
        assert_eq!(signers.len() as u64, s["count"].as_u64().expect("a count"));
        Signed {
            signers,
            message: bytes(&s["signing_root"]),
            signature: bytes(&s["signature"]),
            aggregate: Point::from_compressed(&bytes(&s["aggregate_pubkey_of_signers"])).expect("a key"),
        }
    };
    let signatures = file["signatures"].as_array().expect("signatures").iter().map(signed).collect();
    Data { keys, signatures }
}

pub(super) type Proofs = HashMap<(Statement, NodeKind), NodeProof>;

/// Makes the proofs that are missing in `proofs`. Returns the last proof and the number of new proofs.
pub(super) fn prove(
    backend: &dyn RecursionBackend,
    vector: &Vector<MemoryStore>,
    keys: &[Point],
    batch: &Batch,
    proofs: &mut Proofs,
) -> (NodeProof, usize) {
    let plan = batch.plan(backend.spec().wraps, |s, kind| proofs.contains_key(&(*s, kind)));
    let place = |input: &Input| match input {
        Input::Step(n) => (plan.steps[*n].statement, plan.steps[*n].kind),
        Input::Existing { statement, kind } => (*statement, *kind),
    };
    for step in &plan.steps {
        let mut witness = step.witness(vector).expect("a witness");
        let opening =
            |i: u64| table::numbers(&keys[i as usize]).map(|n| n.map(Goldilocks::new).to_vec()).ok_or("a key");
        witness.open(opening).expect("keys");
        let inputs: Vec<&NodeProof> = step.inputs.iter().map(|i| &proofs[&place(i)]).collect();
        let made = backend.prove(&witness, &inputs).expect("a proof");
        proofs.insert((step.statement, step.kind), made);
    }
    (proofs[&place(&plan.result)].clone(), plan.steps.len())
}

/// A table of these keys.
pub(super) fn committed(keys: &[Point]) -> Vector<MemoryStore> {
    let schema = table::schema();
    let mut vector = Vector::new(12, MemoryStore::new()).expect("an empty vector");
    let value = |key: &Point| schema.value(&table::row(key).expect("a key")).expect("a row");
    let slots: Vec<_> = (0..).zip(keys).map(|(i, key)| (i, Some(value(key)))).collect();
    vector.apply(&slots).expect("a table of the keys");
    vector
}

/// Proves the signers of each signature after those of the previous one, and verifies each signature with the proven
/// key.
pub(super) fn one_from_the_other(backend: &dyn RecursionBackend, Data { keys, signatures }: Data) {
    let vector = committed(&keys);
    let mut proofs = Proofs::new();
    let mut batch = Batch::build_as(&vector, &signatures[0].signers, backend.spec().structure()).expect("a batch");
    for (k, signed) in signatures.iter().enumerate() {
        let old = batch.indices();
        let without =
            |a: &[u64], b: &[u64]| a.iter().copied().filter(|i| b.binary_search(i).is_err()).collect::<Vec<_>>();
        let start = Instant::now();
        let (joined, left) = (without(&signed.signers, &old), without(&old, &signed.signers));
        if k > 0 {
            batch = batch.update(&vector, &joined, &left, &[]).expect("an update");
        }
        let (proof, made) = prove(backend, &vector, &keys, &batch, &mut proofs);
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("signature {k}: {} join, {} leave, {made} proofs in {seconds:.2} s", joined.len(), left.len());
        backend.verify(&proof).expect("a proof that verifies");
        let output = Output::from_elements(&proof.output).expect("an output");
        assert_eq!(output, Output { key: signed.aggregate, count: signed.signers.len() as u64 });
        let claim = Claim { message: &signed.message, signature: &signed.signature, threshold: 342 };
        assert_eq!(light_client::check(&output, &claim), Ok(()));
        // A proof with another count is refused.
        let mut forged = proof.clone();
        *forged.output.last_mut().expect("a count") += Goldilocks::ONE;
        assert!(backend.verify(&forged).is_err());
    }
}
