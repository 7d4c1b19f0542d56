//! Damaged and arbitrary bytes as payloads. They never cause a panic, a value has only one encoding, and no payload
//! ends in a proof of another statement.
//!
//! `PROPTEST_CASES` sets the number of cases.

use std::sync::{Arc, LazyLock, Mutex};

use crate::common::counting::{self, backends};
use crate::common::{choice, create};
use evergrove_commit::BackendError;
use evergrove_commit::BackendSpec;
use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::{Cancel, Engine, Job, Observer, Report, Results, RunError, Runner, TaskGraph, Work};
use evergrove_store::cluster::{Payload, ProofWork};
use evergrove_store::{Prover, proof_key};
use evergrove_verifier::{BatchProof, Profile, Scheme};
use proptest::prelude::*;

/// An engine that only collects the payloads.
#[derive(Default)]
struct Keeping(Mutex<Vec<Job>>);

impl Engine for Keeping {
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError> {
        for (id, task) in graph.iter() {
            let payload = runner.payload(id, task).expect("a payload");
            let inputs = task.deps.iter().map(|d| graph.task(*d).key).collect();
            self.0.lock().expect("no panic").push(Job { key: task.key, kind: task.kind.into(), payload, inputs });
        }
        LocalEngine::new(1).run(graph, runner, results, observer, cancel)
    }
}

static JOBS: LazyLock<Vec<Job>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, backends, engine) = (create(dir.path(), None, 0..30), backends(), Keeping::default());
    let prover = Prover::new(&store, &backends, &engine);
    let members: Vec<u64> = (0..30).step_by(3).collect();
    prover.define("ours", &members, &choice(Profile::Paper)).expect("a new batch");
    prover.define("some", &members, &counting::choice(Scheme::Selected)).expect("a new batch");
    prover.define("all", &[], &counting::choice(Scheme::Complete)).expect("a new batch");
    prover.refresh().expect("proves");
    engine.0.into_inner().expect("no panic")
});

fn worker() -> ProofWork {
    let make = |spec: &BackendSpec| {
        let made = backends().get(&spec.choice, spec.class);
        made.map_err(|e| BackendError::Internal(e.to_string()))
    };
    ProofWork::new(make, Cancel::new())
}

/// Changes, inserts, removes, repeats or cuts a few bytes.
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

proptest! {
    #[test]
    fn damaged_payloads(which in any::<prop::sample::Index>(), edits in prop::collection::vec(any::<(u8, u32, u8)>(), 1..4)) {
        let job = which.get(&JOBS);
        let bytes = mutated(&job.payload, &edits);
        let Ok(payload) = Payload::decode(&bytes) else { return Ok(()) };
        prop_assert_eq!(&payload.encode(), &bytes);
        // Under its own key, the payload is refused, or its proof has its statement.
        let stated = payload.stated;
        let key = proof_key(&payload.backend, stated.kind, &stated.statement);
        let made = worker().execute(&Job { key, payload: bytes.clone(), ..job.clone() }, &[]);
        if let Ok(made) = made {
            let made = BatchProof::decode(&made).expect("a proof file");
            prop_assert_eq!((made.kind, made.statement), (stated.kind, stated.statement));
        }
        // Under the key of the original job, it must have the same statement.
        if key != job.key {
            let input: Arc<[u8]> = bytes.clone().into();
            let refused = worker().execute(&Job { payload: bytes, ..job.clone() }, &[input]);
            prop_assert!(refused.is_err());
        }
    }

    #[test]
    fn arbitrary_payloads(bytes in prop::collection::vec(any::<u8>(), 0..300), head in 0usize..100) {
        let job = &JOBS[bytes.first().map_or(0, |b| usize::from(*b)) % JOBS.len()];
        let bytes = [&job.payload[..head.min(job.payload.len())], &bytes].concat();
        if let Ok(payload) = Payload::decode(&bytes) {
            prop_assert_eq!(payload.encode(), bytes);
        }
    }
}
