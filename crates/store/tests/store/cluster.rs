//! Proving on other machines. Every step of every scheme becomes a payload, and its proof is the one that this process
//! would have made. Whatever is wrong with a payload, an input or a worker is found before it does harm.

use std::sync::{Arc, Mutex};

use crate::common::counting::{self, backends};
use crate::common::{choice, create, set, verify_batch, with_prover};

use evergrove_commit::{BackendError, BackendSpec, NativeBackend, RecursionBackend, Witness};
use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::{
    BadInput, BadResult, Cancel, Engine, Job, Key, Observer, Report, Results, RunError, Runner, Task, TaskFailure,
    TaskGraph, TaskId, Work,
};
use evergrove_store::cluster::{Payload, PayloadError, ProofWork};
use evergrove_store::{Backends, Changes, Error, Prover, Store};
use evergrove_testkit::commit::Rng;
use evergrove_verifier::wire::DecodeError;
use evergrove_verifier::{HeightClass, NodeKind, Profile, Scheme};

/// A worker with the backends of [`all`], looked up by the payload.
fn work(drain: &Cancel) -> ProofWork {
    ProofWork::new(make, drain.clone())
}

fn all() -> Backends {
    let mut backends = backends();
    for class in HeightClass::ALL {
        backends.add(Arc::new(NativeBackend::of_paper(Profile::Paper, class, 2)));
    }
    backends
}

fn make(spec: &BackendSpec) -> Result<Arc<dyn RecursionBackend>, BackendError> {
    all().get(&spec.choice, spec.class).map_err(|e| BackendError::Internal(e.to_string()))
}

/// A job with its inputs and its result.
type Done = (Job, Vec<Arc<[u8]>>, Vec<u8>);

/// An engine that runs every task through a payload and a worker.
struct Elsewhere {
    work: ProofWork,
    done: Mutex<Vec<Done>>,
}

impl Elsewhere {
    fn new() -> Self {
        Self { work: work(&Cancel::new()), done: Mutex::default() }
    }

    fn done(&self) -> Vec<Done> {
        std::mem::take(&mut self.done.lock().expect("no panic"))
    }
}

struct Sent<'a> {
    graph: &'a TaskGraph,
    runner: &'a dyn Runner,
    engine: &'a Elsewhere,
}

impl Runner for Sent<'_> {
    fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let inputs_of = |task: &Task| task.deps.iter().map(|d| self.graph.task(*d).key).collect();
        let (key, kind, payload) = (task.key, task.kind.into(), self.runner.payload(id, task)?);
        let job = Job { key, kind, payload, inputs: inputs_of(task) };
        self.engine.work.admit(&job)?;
        let made = self.engine.work.execute(&job, inputs)?;
        self.engine.work.check(&job, &made)?;
        self.runner.check(id, task, &made)?;
        self.engine.done.lock().expect("no panic").push((job, inputs.to_vec(), made.clone()));
        Ok(made)
    }
}

impl Engine for Elsewhere {
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError> {
        LocalEngine::new(2).run(graph, &Sent { graph, runner, engine: self }, results, observer, cancel)
    }
}

/// Batches of every scheme.
const BATCHES: [&str; 4] = ["all", "ours", "some", "theirs"];

fn define(prover: &Prover<'_>) {
    let members: Vec<u64> = (0..60).step_by(7).collect();
    let paper = choice(Profile::Paper);
    prover.define("ours", &members, &paper).expect("a new batch");
    prover.define("theirs", &members, &paper.clone().with_scheme(Scheme::RecklePaper)).expect("a new batch");
    prover.define("some", &members, &counting::choice(Scheme::Selected)).expect("a new batch");
    prover.define("all", &[], &counting::choice(Scheme::Complete)).expect("a new batch");
}

/// A store whose batches were proven by workers, and the jobs that were done.
fn proven(dir: &std::path::Path) -> (Store, Vec<Done>) {
    let (store, backends, engine) = (create(dir, None, 0..70), all(), Elsewhere::new());
    let prover = Prover::new(&store, &backends, &engine);
    define(&prover);
    for name in BATCHES {
        let report = prover.prove(name).expect("proves elsewhere");
        assert_eq!((report.made, report.damaged), (report.total, 0), "{name}");
    }
    (store, engine.done())
}

#[test]
fn work_elsewhere_gives_the_same_proofs() {
    let (here, there) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let (remote, done) = proven(there.path());
    let backends = all();
    let local = create(here.path(), None, 0..70);
    with_prover(&local, &backends, |prover| {
        define(prover);
        prover.refresh().expect("proves");
    });
    for name in BATCHES {
        assert_eq!(remote.export(name).expect("fresh"), local.export(name).expect("fresh"), "{name}");
    }
    verify_batch(&remote, &backends, "ours").expect("verifies");
    // The jobs include every kind of step.
    let kinds: Vec<_> = done.iter().map(|(job, ..)| Payload::decode(&job.payload).expect("a payload")).collect();
    let seen = |of: fn(&Payload) -> bool| kinds.iter().any(of);
    assert!(seen(|p| matches!(&p.witness, Witness::Bucket(w) if !w.leaves[0].siblings.is_empty())));
    assert!(seen(|p| matches!(&p.witness, Witness::Bucket(w) if w.leaves[0].siblings.is_empty())));
    assert!(seen(|p| matches!(&p.witness, Witness::Bucket(w) if w.leaves[0].opening.len() == 4)));
    assert!(seen(|p| matches!(p.witness, Witness::Merge(_)) && p.backend.choice.app.is_some()));
    assert!(seen(|p| matches!(p.witness, Witness::Block(_))));
    assert!(seen(|p| matches!(&p.witness, Witness::Level(w) if w.canonicals.iter().flatten().count() == 1)));
    assert!(seen(|p| matches!(&p.witness, Witness::Level(w) if w.canonicals.iter().flatten().count() == 2)));
    assert!(seen(|p| matches!(p.witness, Witness::Wrap)));
}

#[test]
fn updates_elsewhere_make_what_changed_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = proven(dir.path());
    let (backends, engine) = (all(), Elsewhere::new());
    let prover = Prover::new(&store, &backends, &engine);
    let costs = |_: &BackendSpec| evergrove_store::NodeCosts::default();
    let steps = [
        set(&[(7, 700)]),
        set(&[(9, 900), (69, 6900)]),
        Changes { add: vec![("ours".into(), vec![8]), ("some".into(), vec![8])], ..Changes::default() },
        Changes { grow: true, ..set(&[(300, 3)]) },
    ];
    for changes in steps {
        let estimate = prover.estimate_update(&changes, &costs).expect("estimates");
        let report = prover.update(&changes).expect("updates elsewhere");
        let made = |name: &str| report.batches.iter().find(|b| b.name == name).map(|b| b.made);
        for batch in &estimate.batches {
            assert_eq!(made(&batch.name), Some(batch.to_make()), "{}", batch.name);
            assert!(batch.to_make() < batch.total, "{}: {} of {}", batch.name, batch.to_make(), batch.total);
        }
        assert_eq!(engine.done().len(), estimate.batches.iter().map(|b| b.to_make()).sum::<usize>());
        verify_batch(&store, &backends, "ours").expect("verifies");
    }
}

#[test]
fn payloads_have_one_encoding() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_, done) = proven(dir.path());
    for (job, ..) in &done {
        let payload = Payload::decode(&job.payload).expect("a payload");
        assert_eq!(payload.encode(), job.payload);
        let stated = payload.stated;
        assert_eq!(evergrove_store::proof_key(&payload.backend, stated.kind, &stated.statement), job.key);
        for length in 0..job.payload.len() {
            let refused = Payload::decode(&job.payload[..length]).expect_err("truncated");
            assert!(matches!(refused, PayloadError::Decode(_)), "{length}: {refused}");
        }
        let longer = [&job.payload[..], &[0]].concat();
        let refused = Payload::decode(&longer).expect_err("bytes are left");
        assert!(matches!(refused, PayloadError::Decode(DecodeError::Trailing { extra: 1, .. })), "{refused}");
    }
}

/// The failure of a job, and the index of the refused input.
fn refused(work: &ProofWork, job: &Job, inputs: &[Arc<[u8]>]) -> (TaskFailure, Option<usize>) {
    let failure = work.execute(job, inputs).expect_err("refused");
    let index = failure.error.downcast_ref::<BadInput>().map(|bad| bad.index);
    (failure, index)
}

#[test]
fn inputs_are_verified_before_they_are_used() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_, done) = proven(dir.path());
    let drain = Cancel::new();
    let work = work(&drain);
    let mut rng = Rng(7);
    for (job, inputs, made) in done.iter().filter(|(_, inputs, _)| !inputs.is_empty()) {
        assert_eq!(&work.execute(job, inputs).expect("as before"), made);
        for index in 0..inputs.len() {
            // A flipped bit, a missing byte, no bytes, another proof of the same batch, the job's own result.
            let mut flipped = inputs[index].to_vec();
            let at = rng.below(flipped.len() as u64) as usize;
            flipped[at] ^= 1 << rng.below(8);
            let cut = inputs[index][..inputs[index].len() - 1].to_vec();
            let other = inputs[(index + 1) % inputs.len()].to_vec();
            for bad in [flipped, cut, vec![], other, made.clone()] {
                if bad == inputs[index][..] {
                    continue;
                }
                let mut inputs = inputs.clone();
                inputs[index] = bad.into();
                let (failure, place) = refused(&work, job, &inputs);
                assert_eq!((place, failure.retry), (Some(index), true), "{}", failure.error);
                work.admit(job).expect("its payload asks for these inputs, whatever they are");
            }
        }
        let (failure, place) = refused(&work, job, &inputs[1..]);
        assert_eq!((place, failure.retry), (None, false), "{}", failure.error);
    }
    for (job, inputs, made) in &done {
        work.check(job, made).expect("a result");
        let foreign = done.iter().map(|(_, _, other)| other).filter(|other| *other != made);
        assert!(foreign.take(5).all(|other| work.check(job, other).is_err()), "a proof of another statement");
        let mut flipped = made.clone();
        let at = rng.below(flipped.len() as u64) as usize;
        flipped[at] ^= 1;
        let judged = work.check(job, &flipped).expect_err("damaged");
        assert!(judged.error.is::<BadResult>(), "byte {at}: {}", judged.error);
        let other = |inputs: &[Key]| Job { inputs: inputs.to_vec(), ..job.clone() };
        let foreign = Job { key: Key([1; 32]), ..job.clone() };
        // If a job has other keys than its payload, no input or result is called bad, because a bad one would be
        // deleted.
        let many = other(&[job.key; 5000]);
        for foreign in [foreign, other(&[Key([1; 32])]), other(&[&job.inputs[..], &[job.key]].concat()), many] {
            let (failure, place) = refused(&work, &foreign, inputs);
            assert_eq!((place, failure.retry), (None, false), "{}", failure.error);
            // The payload shows it before any input is read.
            let before = work.admit(&foreign).expect_err("another job");
            assert_eq!((before.error.to_string(), before.retry), (failure.error.to_string(), false));
            let (named, children) = (foreign.inputs.len(), job.inputs.len());
            let says = format!("the job names {named} inputs, and its payload needs {children} proofs");
            assert_eq!(before.error.to_string() == says, foreign.key == job.key && named != children, "{says}");
            let judged = work.check(&foreign, made).expect_err("another job");
            assert!(!judged.error.is::<BadResult>(), "{}", judged.error);
        }
        let unreadable = Job { payload: job.payload[1..].to_vec(), ..job.clone() };
        let judged = work.check(&unreadable, made).expect_err("no payload");
        assert!(!judged.retry && !judged.error.is::<BadResult>(), "{}", judged.error);
    }
    assert!(work.unfit().is_none() && !drain.is_cancelled(), "none of this is the worker's fault");
}

/// The native backend with another version, or with keys.
struct Differs {
    spec: BackendSpec,
    keys: evergrove_primitives::Digest,
    native: NativeBackend,
}

impl RecursionBackend for Differs {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }
    fn key_digest(&self) -> evergrove_primitives::Digest {
        self.keys
    }
    fn prove(
        &self,
        witness: &evergrove_commit::Witness,
        children: &[&evergrove_commit::NodeProof],
    ) -> Result<evergrove_commit::NodeProof, BackendError> {
        self.native.prove(witness, children)
    }
    fn verify(&self, proof: &evergrove_commit::NodeProof) -> Result<(), BackendError> {
        self.native.verify(proof)
    }
}

#[test]
fn a_worker_of_another_version_or_with_other_keys_refuses_and_drains() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_, done) = proven(dir.path());
    let ours = |(job, ..): &&Done| {
        Payload::decode(&job.payload).expect("a payload").backend.choice.scheme == Scheme::Evergrove
    };
    let (job, inputs, made) = done.iter().find(ours).expect("a step of ours");
    let keys = evergrove_primitives::Digest::from_bytes(&[1; 32]).expect("canonical");
    let native = || NativeBackend::new(Profile::Paper, HeightClass::H27).with_capacity(4);
    let zero = evergrove_primitives::Digest::ZERO;
    for (version, keys, says) in [(2, zero, "version 2"), (1, keys, "keys"), (1, zero, "")] {
        let drain = Cancel::new();
        let make = move |_: &BackendSpec| {
            let native = native();
            let spec = BackendSpec { version, ..native.spec().clone() };
            Ok(Arc::new(Differs { spec, keys, native }) as Arc<dyn RecursionBackend>)
        };
        let work = ProofWork::new(make, drain.clone());
        if says.is_empty() {
            assert_eq!(&work.execute(job, inputs).expect("the same backend"), made);
            assert!(work.unfit().is_none() && !drain.is_cancelled());
            continue;
        }
        let (failure, place) = refused(&work, job, inputs);
        assert!(failure.retry && place.is_none(), "another worker may be fit");
        assert!(work.admit(job).is_err_and(|failure| failure.retry), "it reads nothing of such a job");
        assert!(failure.error.to_string().contains(says), "{}", failure.error);
        assert!(work.unfit().is_some_and(|reason| reason.contains(says)) && drain.is_cancelled());
    }
    // A backend that cannot be made.
    let work = ProofWork::new(|_| Err(BackendError::Internal("no such application".into())), Cancel::new());
    let (failure, _) = refused(&work, job, inputs);
    assert!(failure.retry && work.unfit().is_some_and(|reason| reason.contains("no such application")));
    // A payload of a later format, in a worker that has done no job, and in one that has done a job.
    let mut later = job.clone();
    later.payload[4] += 1;
    for known in [false, true] {
        let drain = Cancel::new();
        let work = self::work(&drain);
        if known {
            work.execute(job, inputs).expect("it is fit");
        }
        let (failure, _) = refused(&work, &later, inputs);
        assert!(failure.retry && failure.error.to_string().contains("version"), "{}", failure.error);
        assert_eq!((work.unfit().is_none(), drain.is_cancelled()), (known, !known));
    }
}

#[test]
fn a_backend_is_made_once_until_another_is_needed() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_, done) = proven(dir.path());
    let of = |scheme: Scheme| {
        let fits =
            |(job, ..): &&Done| Payload::decode(&job.payload).expect("a payload").backend.choice.scheme == scheme;
        done.iter().filter(fits).map(|(job, inputs, _)| (job.clone(), inputs.clone())).collect::<Vec<_>>()
    };
    let count = Arc::new(Mutex::new(Vec::new()));
    let counting = count.clone();
    let make = move |spec: &BackendSpec| {
        counting.lock().expect("no panic").push(spec.choice.scheme);
        make(spec)
    };
    let work = ProofWork::new(make, Cancel::new());
    let schemes = [Scheme::Evergrove, Scheme::RecklePaper, Scheme::Evergrove, Scheme::Selected];
    for scheme in schemes {
        // Several jobs at a time: one makes the backend, the others wait.
        std::thread::scope(|scope| {
            for (job, inputs) in of(scheme).iter().take(4) {
                let work = &work;
                let (job, inputs) = (job.clone(), inputs.clone());
                scope.spawn(move || work.execute(&job, &inputs).expect("proves"));
            }
        });
    }
    let made = count.lock().expect("no panic").clone();
    assert_eq!(made, schemes);
}

/// An engine that returns other bytes than the proof. The leader checks the results of such workers.
struct Liar(Vec<u8>);

struct Lied<'a>(&'a dyn Runner, &'a [u8]);

impl Runner for Lied<'_> {
    fn run(&self, id: TaskId, task: &Task, _: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        self.0.check(id, task, self.1)?;
        Ok(self.1.to_vec())
    }
}

impl Engine for Liar {
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError> {
        LocalEngine::new(1).run(graph, &Lied(runner, &self.0), results, observer, cancel)
    }
}

#[test]
fn what_workers_give_is_verified() {
    let (dir, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let (proven, _) = proven(other.path());
    let backends = all();
    // The table lacks row 0, so all statements differ.
    let store = create(dir.path(), None, 1..70);
    let members: Vec<u64> = (7..60).step_by(7).collect();
    for bytes in [proven.export("ours").expect("fresh"), b"no proof".to_vec(), vec![]] {
        let engine = Liar(bytes);
        let prover = Prover::new(&store, &backends, &engine);
        prover.define("ours", &members, &choice(Profile::Paper)).expect("a batch");
        let refused = prover.prove("ours").expect_err("it is no proof of the batch");
        assert!(matches!(refused, Error::Proving { .. }), "{refused}");
        assert!(store.batch("ours").expect("a batch").proven.is_none());
        assert_eq!(store.status().expect("reads").objects, 0);
    }
    let report = with_prover(&store, &backends, |prover| prover.prove("ours")).expect("an honest engine");
    assert_eq!((report.made, report.kind), (report.total, NodeKind::Wrap));
    verify_batch(&store, &backends, "ours").expect("verifies");
}
