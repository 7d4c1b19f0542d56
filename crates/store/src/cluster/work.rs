//! How a worker handles a payload.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use evergrove_commit::{BackendError, BackendSpec, NodeProof, RecursionBackend};
use evergrove_jobs::{BadInput, BadResult, Cancel, Cores, Job, TaskFailure, Unfit, Work};
use evergrove_primitives::Digest;
use evergrove_verifier::wire::DecodeError;
use tracing::info_span;

use super::{Payload, PayloadError, Stated};
use crate::proof_key;
use crate::prove::{judge, prove};

/// Makes the backend of a specification.
type Make = Box<dyn Fn(&BackendSpec) -> Result<Arc<dyn RecursionBackend>, BackendError> + Send + Sync>;

/// Proves payloads in a worker.
///
/// Trusts no input. Decodes a payload with every check, compares its statement with the job's key, verifies each proof
/// below it, and compares that proof with the statement that the payload expects there. The backend verifies the proofs
/// that it returns. So a wrong payload, a damaged object or a malicious worker costs time, but cannot put a wrong proof
/// below a right one.
///
/// Makes a backend when a payload asks for it, and keeps it until a payload asks for another one. A worker that cannot
/// make the backend, or has other keys, would fail every job of the batch within a millisecond, and take all jobs from
/// workers that can do them. Unless it was fit for another job before, such a worker asks to drain, and [`Self::unfit`]
/// returns the reason.
pub struct ProofWork {
    make: Make,
    /// The backend of the last job. Its circuits take up to some gigabytes.
    made: Mutex<Option<Arc<Made>>>,
    cores: Option<Arc<Cores>>,
    drain: Cancel,
    unfit: OnceLock<String>,
    fit: AtomicBool,
}

/// A backend that a payload asked for, or the reason why it cannot be made.
struct Made {
    spec: BackendSpec,
    backend: OnceLock<Result<Fit, String>>,
}

/// A backend and the digest of its keys.
struct Fit {
    backend: Arc<dyn RecursionBackend>,
    keys: Digest,
}

impl ProofWork {
    /// Uses the backends that `make` returns. For each specification, `make` runs on one thread at a time. `drain` asks
    /// the worker to take no more jobs.
    pub fn new(
        make: impl Fn(&BackendSpec) -> Result<Arc<dyn RecursionBackend>, BackendError> + Send + Sync + 'static,
        drain: Cancel,
    ) -> Self {
        let (made, unfit, fit) = (Mutex::default(), OnceLock::new(), AtomicBool::new(false));
        Self { make: Box::new(make), made, cores: None, drain, unfit, fit }
    }

    /// Gives each proof one of these threads while any is free. Otherwise, proofs share the threads of the process.
    pub fn with_cores(mut self, cores: Arc<Cores>) -> Self {
        self.cores = Some(cores);
        self
    }

    /// Why this worker cannot do its jobs, if it has met a job that it cannot do.
    pub fn unfit(&self) -> Option<&str> {
        self.unfit.get().map(String::as_str)
    }

    /// The payload of a job, and its backend.
    fn open(&self, job: &Job) -> Result<(Payload, Arc<dyn RecursionBackend>), TaskFailure> {
        let payload = Payload::decode(&job.payload).map_err(|e| match e {
            PayloadError::Decode(DecodeError::Version { .. } | DecodeError::Record { .. }) => {
                self.refuse(e.to_string())
            }
            e => TaskFailure::permanent(e),
        })?;
        let key = |of: &Stated| proof_key(&payload.backend, of.kind, &of.statement);
        if key(&payload.stated) != job.key {
            let what = format!("the payload is about the proof {}, the job about {}", key(&payload.stated), job.key);
            return Err(TaskFailure::permanent(what));
        }
        let (named, children) = (job.inputs.len(), payload.children.len());
        if named != children {
            let what = format!("the job names {named} inputs, and its payload needs {children} proofs");
            return Err(TaskFailure::permanent(what));
        }
        if !payload.children.iter().map(key).eq(job.inputs.iter().copied()) {
            return Err(TaskFailure::permanent("the job's inputs are not the proofs that its payload needs"));
        }
        let backend = self.backend(&payload).map_err(|reason| {
            let (id, capacity) = (payload.backend.id(), payload.backend.capacity);
            self.refuse(format!("this worker does not have {id} with {capacity} leaves to a bucket: {reason}"))
        })?;
        self.fit.store(true, Ordering::Relaxed);
        Ok((payload, backend))
    }

    /// The failure of a job that another worker may be able to do.
    fn refuse(&self, reason: String) -> TaskFailure {
        if !self.fit.load(Ordering::Relaxed) {
            self.unfit.get_or_init(|| reason.clone());
            self.drain.cancel();
        }
        TaskFailure::transient(Unfit { reason })
    }

    fn backend(&self, payload: &Payload) -> Result<Arc<dyn RecursionBackend>, String> {
        let spec = &payload.backend;
        let made = self.place(spec);
        // Only jobs that need the same backend wait for it here.
        let backend = made.backend.get_or_init(|| {
            let backend = (self.make)(spec).map_err(|e| e.to_string())?;
            let found = backend.spec();
            if found != spec {
                let (own, leaf) = (found.id(), found.capacity);
                return Err(format!(
                    "its own is {own} with {leaf} leaves to a bucket: run the same version as the leader"
                ));
            }
            let keys = backend.key_digest();
            Ok(Fit { backend, keys })
        });
        let Fit { backend, keys } = backend.as_ref().map_err(Clone::clone)?;
        if *keys != payload.keys {
            let wanted = payload.keys;
            return Err(format!(
                "its keys have the digest {keys}, the leader's {wanted}: delete its directory of keys, or run the leader's version"
            ));
        }
        Ok(backend.clone())
    }

    /// The place of a backend. The backend of an earlier job goes if it is another one.
    fn place(&self, spec: &BackendSpec) -> Arc<Made> {
        // A panic elsewhere does not damage the place: it is whole or empty.
        let mut last = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.take().filter(|made| made.spec == *spec);
        let made = known.unwrap_or_else(|| Arc::new(Made { spec: spec.clone(), backend: OnceLock::new() }));
        last.insert(made).clone()
    }
}

impl Work for ProofWork {
    fn admit(&self, job: &Job) -> Result<(), TaskFailure> {
        self.open(job).map(drop)
    }

    fn execute(&self, job: &Job, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let (payload, backend) = self.open(job)?;
        let Payload { backend: spec, stated, children, witness, .. } = &payload;
        if inputs.len() != children.len() {
            let what = format!("{} proofs below a {} that needs {}", inputs.len(), stated.kind, children.len());
            return Err(TaskFailure::permanent(what));
        }
        let judging = info_span!("inputs").entered();
        let mut below: Vec<NodeProof> = Vec::with_capacity(inputs.len());
        for (index, (bytes, child)) in inputs.iter().zip(children).enumerate() {
            let judged = judge(backend.as_ref(), spec, child, bytes);
            below.push(judged.map_err(|reason| TaskFailure::transient(BadInput { index, reason }))?);
        }
        drop(judging);
        let span = info_span!("execute", kind = job.kind, key = %job.key);
        let work = || span.in_scope(|| prove(backend.as_ref(), spec, stated, witness, &below));
        match &self.cores {
            Some(cores) => cores.run_alone(work),
            None => work(),
        }
    }

    fn check(&self, job: &Job, bytes: &[u8]) -> Result<(), TaskFailure> {
        let (payload, backend) = self.open(job)?;
        let judged = judge(backend.as_ref(), &payload.backend, &payload.stated, bytes);
        judged.map(|_| ()).map_err(|reason| TaskFailure::permanent(BadResult { reason }))
    }
}

impl std::fmt::Debug for ProofWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProofWork").field("unfit", &self.unfit).finish_non_exhaustive()
    }
}
