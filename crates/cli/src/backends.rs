//! The proof systems of this program, and what they cost.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use evergrove_apps::catalog::{self, Application};
use evergrove_apps::family::Size;
use evergrove_commit::{
    BackendError, BackendId, BucketWitness, MergeWitness, NativeBackend, NodeProof, RecursionBackend,
};
use evergrove_primitives::Digest;
use evergrove_proof::keys::pinned_paper;
use evergrove_proof::{AppSpec, HeightClass, Profile, Scheme};
use evergrove_recursion::keys::KeySet;
use evergrove_recursion::paper::{PaperBackend, PaperVerifier};
use evergrove_recursion::prover::{Observer, Trace};
use evergrove_recursion::{Plonky2Backend, Plonky2Verifier, ProverKind, backend_id};
use evergrove_store::{BackendSpec, Backends, BatchStatus, NodeCosts, Store};

use crate::exit::Mistake;

/// The backend that proves where none is named.
pub(crate) const DEFAULT: &str = "plonky2";

/// Backends that prove, with this prover, and verify. Proving keys are kept in `keys`, where it is given; of our scheme's proofs
/// `trace` is told.
pub(crate) fn provers(keys: Option<PathBuf>, prover: ProverKind, trace: Option<&Trace>) -> Backends {
    let observer = observer(trace);
    let mut backends = natives();
    for spec in paper_specs() {
        let (profile, class, keys) = (spec.profile, spec.class, keys.clone());
        backends.register(spec, move || {
            let backend = PaperBackend::new(profile, class).with_cache(keys.as_deref()).with_prover(prover);
            Ok(Arc::new(backend) as Arc<dyn RecursionBackend>)
        });
    }
    for spec in plonky2_specs() {
        let (profile, class, keys, observer) = (spec.profile, spec.class, keys.clone(), observer.clone());
        backends.register(spec, move || {
            let backend = Plonky2Backend::load(profile, class, keys.as_deref())?.with_prover(prover);
            let backend = match &observer {
                Some(observer) => backend.with_observer(observer),
                None => backend,
            };
            Ok(Arc::new(backend) as Arc<dyn RecursionBackend>)
        });
    }
    backends
}

fn observer(trace: Option<&Trace>) -> Option<Arc<dyn Observer>> {
    let trace = trace.map(|trace| Arc::new(trace.clone()) as Arc<dyn Observer>);
    #[cfg(feature = "otlp")]
    let trace = Some(Arc::new(crate::spans::Spans { next: trace }) as Arc<dyn Observer>);
    trace
}

/// Backends that verify with pinned keys and build no circuit.
pub(crate) fn verifiers() -> Backends {
    let mut backends = natives();
    for spec in plonky2_specs() {
        let known = spec.clone();
        backends.register(spec, move || {
            let keys = KeySet::pinned(known.profile, known.class)?;
            let verifier = Plonky2Verifier::new(&keys);
            Ok(Arc::new(VerifierOnly::new(known.clone(), keys.digest(), move |p| verifier.verify(p))))
        });
    }
    for spec in paper_specs() {
        let known = spec.clone();
        backends.register(spec, move || {
            if pinned_paper(known.profile).is_none() {
                // Its key follows from the circuits, which take a verifier as long to build as the prover.
                return Ok(Arc::new(PaperBackend::new(known.profile, known.class)) as Arc<dyn RecursionBackend>);
            }
            let verifier = PaperVerifier::pinned(known.profile)?;
            Ok(Arc::new(VerifierOnly::new(known.clone(), Digest::ZERO, move |p| verifier.verify(p))))
        });
    }
    backends
}

/// The backend of a specification, whatever it is of: what a worker makes. `known` has those without an application.
pub(crate) fn make(
    known: &Backends,
    spec: &BackendSpec,
    keys: Option<&Path>,
    prover: ProverKind,
) -> Result<Arc<dyn RecursionBackend>, BackendError> {
    let failed = |e: &dyn std::fmt::Display| BackendError::Internal(e.to_string());
    match &spec.app {
        None => known.get(&spec.choice(), spec.class).map_err(|e| failed(&e)),
        Some(app) => {
            let app = catalog::make(app).map_err(|e| failed(&e))?;
            app.backend(spec.scheme, spec.profile, spec.class, keys, prover, None)
        }
    }
}

/// Adds the backends of the applications of these batches, as they were defined.
///
/// # Errors
/// When this program does not know an application, or the vector has outgrown its height class and the application has no
/// circuits there.
pub(crate) fn add_apps(
    backends: &mut Backends,
    store: &Store,
    keys: Option<&Path>,
    prover: ProverKind,
    trace: Option<&Trace>,
) -> Result<()> {
    let class = HeightClass::of(store.commitment()?.height).unwrap_or(HeightClass::H40);
    for batch in store.batches()? {
        let Some(known) = &batch.app else { continue };
        let app = catalog::make(known)?;
        let spec = match batch.class == class {
            true => spec_of(&batch),
            false => app_spec(&app, batch.scheme, batch.profile, class, keys)?.0,
        };
        add_app(backends, spec, app, keys, prover, trace);
    }
    Ok(())
}

/// What the backend of an application will be, and the size of its circuits. Seconds where its keys are not kept: circuits are
/// built without commitments.
///
/// # Errors
/// When the application has no circuits in this scheme.
pub(crate) fn app_spec(
    app: &Application,
    scheme: Scheme,
    profile: Profile,
    class: HeightClass,
    keys: Option<&Path>,
) -> Result<(BackendSpec, Size)> {
    let size = app.size(scheme, profile, class, keys)?;
    let (id, capacity, wraps) = (backend_id(), size.capacity, profile.wrap().is_some());
    Ok((BackendSpec { scheme, id, profile, class, capacity, wraps, app: Some(app.spec()) }, size))
}

/// Adds the backend of an application, which is made when it is first needed.
pub(crate) fn add_app(
    backends: &mut Backends,
    spec: BackendSpec,
    app: Application,
    keys: Option<&Path>,
    prover: ProverKind,
    trace: Option<&Trace>,
) {
    let (scheme, profile, class) = (spec.scheme, spec.profile, spec.class);
    let (keys, observer) = (keys.map(Path::to_path_buf), observer(trace));
    backends.register(spec, move || app.backend(scheme, profile, class, keys.as_deref(), prover, observer.as_ref()));
}

/// The backend of a batch, as it was defined.
pub(crate) fn spec_of(batch: &BatchStatus) -> BackendSpec {
    BackendSpec {
        scheme: batch.scheme,
        id: batch.backend.clone(),
        profile: batch.profile,
        class: batch.class,
        capacity: batch.capacity,
        wraps: batch.wraps,
        app: batch.app.clone(),
    }
}

fn natives() -> Backends {
    let mut backends = Backends::new();
    for (profile, class) in choices() {
        backends.add(Arc::new(NativeBackend::new(profile, class)));
        backends.add(Arc::new(NativeBackend::of_paper(profile, class, Scheme::BLOCK_HEIGHT)));
    }
    backends
}

fn choices() -> impl Iterator<Item = (Profile, HeightClass)> {
    Profile::ALL.into_iter().flat_map(|p| HeightClass::ALL.into_iter().map(move |c| (p, c)))
}

fn plonky2_specs() -> impl Iterator<Item = BackendSpec> {
    choices().map(|(profile, class)| BackendSpec {
        scheme: Scheme::Evergrove,
        id: backend_id(),
        profile,
        class,
        capacity: profile.bucket_capacity(class),
        wraps: profile.wrap().is_some(),
        app: None,
    })
}

fn paper_specs() -> impl Iterator<Item = BackendSpec> {
    plonky2_specs().map(|ours| BackendSpec { scheme: Scheme::RecklePaper, capacity: 1 << Scheme::BLOCK_HEIGHT, ..ours })
}

/// The directory in which proving keys are kept: the one named, `$EVERGROVE_KEYS`, or the user's cache directory.
///
/// # Errors
/// Where something else lies in the place of the directory, which would go unnoticed: keys that can not be kept are made anew.
pub(crate) fn keys_dir(named: Option<&Path>) -> Result<Option<PathBuf>> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let Some(dir) = named.map(Path::to_path_buf).or_else(|| variable("EVERGROVE_KEYS")) else {
        return Ok(cache().map(|cache| cache.join("evergrove").join("keys")));
    };
    let there = dir.ancestors().find(|path| path.exists());
    if let Some(file) = there.filter(|path| !path.is_dir()) {
        let message = format!("proving keys can not be kept in {}: {} is no directory", dir.display(), file.display());
        return Err(Mistake::usage(message, "name a directory with --keys or EVERGROVE_KEYS: it is made if need be"));
    }
    Ok(Some(dir))
}

/// What proofs cost by our prover on 2 cores of a current machine: an estimate elsewhere, a fifth of what Plonky2's takes.
///
/// The circuits of an application may have more rows than the profile's: how many is known from its keys in `keys`, or by a
/// search, which takes seconds.
pub(crate) fn costs(spec: &BackendSpec, keys: Option<&Path>) -> NodeCosts {
    let size = spec.app.as_ref().and_then(|app| {
        let app = catalog::make(app).ok()?;
        app.size(spec.scheme, spec.profile, spec.class, keys).ok()
    });
    // Of an application without circuits here there is nothing to estimate: proving says so.
    size.map_or_else(|| profile_costs(spec), |size| app_costs(spec, size))
}

/// [`costs`] of the profile's own circuits.
fn profile_costs(spec: &BackendSpec) -> NodeCosts {
    if spec.id.name != DEFAULT {
        let node = spec.capacity as f64 * f64::from(spec.class.height_max()) * 4e-6;
        return NodeCosts {
            setup_seconds: 0.0,
            bucket_seconds: node,
            merge_seconds: 2.0 * node,
            wrap_seconds: 2.0 * node,
            task_seconds: 0.0,
            memory_bytes: 64 << 20,
            concurrent_bytes: 16 << 20,
        };
    }
    if spec.scheme == Scheme::Tree {
        // Digest translation: circuits of 2^15 or 2^16 rows, and the table of a bucket.
        let (node, table, wrap, memory) = match spec.profile {
            Profile::Paper => (0.95, 1.9, 0.4, 3 << 30),
            Profile::Johnson => (2.1, 1.9, 0.0, 5 << 30),
            Profile::Proven => (2.2, 1.9, 0.0, 5 << 30),
        };
        return NodeCosts {
            setup_seconds: 10.0 * node,
            bucket_seconds: node + table,
            merge_seconds: node,
            wrap_seconds: wrap,
            memory_bytes: memory,
            concurrent_bytes: memory / 2,
            task_seconds: 0.0,
        };
    }
    if spec.scheme == Scheme::RecklePaper {
        // A block takes little, a level what a merge takes; every level has a circuit of its own.
        let levels = f64::from(spec.class.height_max()) - f64::from(Scheme::BLOCK_HEIGHT);
        let (level, circuit, wrap, proof) = match spec.profile {
            Profile::Paper => (0.23, 75 << 20, 0.2, 192 << 20),
            Profile::Johnson => (0.53, 150 << 20, 0.0, 384 << 20),
            Profile::Proven => (1.1, 300 << 20, 0.0, 768 << 20),
        };
        return NodeCosts {
            setup_seconds: levels * level * 4.0,
            bucket_seconds: 0.02,
            merge_seconds: level,
            wrap_seconds: wrap,
            task_seconds: 0.0,
            memory_bytes: levels as u64 * circuit + (1 << 30),
            concurrent_bytes: proof,
        };
    }
    match spec.profile {
        Profile::Paper => NodeCosts {
            setup_seconds: 2.0,
            bucket_seconds: 0.23,
            merge_seconds: 0.23,
            wrap_seconds: 0.2,
            task_seconds: 0.0,
            memory_bytes: 1 << 30,
            concurrent_bytes: 192 << 20,
        },
        Profile::Johnson => NodeCosts {
            setup_seconds: 4.0,
            bucket_seconds: 0.53,
            merge_seconds: 0.53,
            wrap_seconds: 0.0,
            task_seconds: 0.0,
            memory_bytes: 3 << 29,
            concurrent_bytes: 384 << 20,
        },
        Profile::Proven => NodeCosts {
            setup_seconds: 8.0,
            bucket_seconds: 1.1,
            merge_seconds: 1.1,
            wrap_seconds: 0.0,
            task_seconds: 0.0,
            memory_bytes: 5 << 29,
            concurrent_bytes: 768 << 20,
        },
    }
}

/// [`costs`] of an application's circuits, which may have more rows than the profile's: time and memory grow with them. Those of
/// digest translation are known.
pub(crate) fn app_costs(spec: &BackendSpec, size: Size) -> NodeCosts {
    let costs = profile_costs(spec);
    if spec.scheme == Scheme::Tree {
        return costs;
    }
    let more = size.degree_bits.saturating_sub(spec.profile.recursion().degree_bits.into());
    let factor = (1u64 << more) as f64;
    NodeCosts {
        setup_seconds: costs.setup_seconds * factor,
        bucket_seconds: costs.bucket_seconds * factor,
        merge_seconds: costs.merge_seconds * factor,
        wrap_seconds: costs.wrap_seconds,
        task_seconds: costs.task_seconds,
        memory_bytes: costs.memory_bytes << more,
        concurrent_bytes: costs.concurrent_bytes << more,
    }
}

/// A verifier in the place of a backend.
pub(crate) struct VerifierOnly {
    spec: BackendSpec,
    keys: Digest,
    verify: Verify,
}

type Verify = Box<dyn Fn(&NodeProof) -> Result<(), BackendError> + Send + Sync>;

impl VerifierOnly {
    /// A backend that only verifies, with `verify`, by keys of this digest.
    pub(crate) fn new(
        spec: BackendSpec,
        keys: Digest,
        verify: impl Fn(&NodeProof) -> Result<(), BackendError> + Send + Sync + 'static,
    ) -> Self {
        Self { spec, keys, verify: Box::new(verify) }
    }

    fn refuse<T>() -> Result<T, BackendError> {
        Err(BackendError::Internal("this backend was loaded for verification only".into()))
    }
}

impl RecursionBackend for VerifierOnly {
    fn id(&self) -> BackendId {
        self.spec.id.clone()
    }

    fn profile(&self) -> Profile {
        self.spec.profile
    }

    fn class(&self) -> HeightClass {
        self.spec.class
    }

    fn capacity(&self) -> usize {
        self.spec.capacity
    }

    fn scheme(&self) -> Scheme {
        self.spec.scheme
    }

    fn app(&self) -> Option<AppSpec> {
        self.spec.app.clone()
    }

    fn wraps(&self) -> bool {
        self.spec.wraps
    }

    fn key_digest(&self) -> Digest {
        self.keys
    }

    fn prove_bucket(&self, _: &BucketWitness) -> Result<NodeProof, BackendError> {
        Self::refuse()
    }

    fn prove_merge(&self, _: &NodeProof, _: &NodeProof, _: &MergeWitness) -> Result<NodeProof, BackendError> {
        Self::refuse()
    }

    fn prove_wrap(&self, _: &NodeProof) -> Result<NodeProof, BackendError> {
        Self::refuse()
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        (self.verify)(proof)
    }
}

#[cfg(test)]
mod tests {
    use evergrove_apps::MapReduce;
    use evergrove_apps::bls::BlsKeys;

    use super::*;

    #[test]
    fn circuits_with_more_rows_than_the_profile_cost_more() {
        let plain = plonky2_specs().find(|s| s.profile == Profile::Paper && s.class == HeightClass::H27);
        let plain = plain.expect("circuits of paper");
        let app: Arc<dyn MapReduce> = Arc::new(BlsKeys);
        let app = Some(Application::from(app).spec());
        // The merge with an addition of points does not fit the profile's rows.
        let spec = BackendSpec { scheme: Scheme::Selected, app, ..plain.clone() };
        let [ours, known] = [&spec, &plain].map(|s| costs(s, None));
        assert_eq!(ours.memory_bytes, 2 * known.memory_bytes);
        assert!((ours.merge_seconds - 2.0 * known.merge_seconds).abs() < 1e-9);
        assert!((ours.wrap_seconds - known.wrap_seconds).abs() < 1e-9);
    }
}
