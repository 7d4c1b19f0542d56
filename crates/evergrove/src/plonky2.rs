//! The backends on Plonky2, with and without applications.

use std::sync::Arc;

use evergrove_apps::catalog::{self, Application};
use evergrove_apps::family::{AppVerifier, Size};
use evergrove_commit::{BackendChoice, BackendError, BackendSpec, NodeProof, RecursionBackend};
use evergrove_primitives::Digest;
use evergrove_proof::keys::pinned_paper;
use evergrove_proof::soundness::SoundnessBits;
use evergrove_proof::{HeightClass, Profile, Scheme};
use evergrove_recursion::keys::KeySet;
use evergrove_recursion::paper::{PaperBackend, PaperVerifier};
use evergrove_recursion::{BACKEND_NAME, Plonky2Backend, Plonky2Verifier, backend_spec};
use evergrove_store::{Backends, Store};

use crate::backends::{VerifierOnly, classes_of};
use crate::{Config, Error};

impl Config {
    /// These backends and those on Plonky2.
    pub(crate) fn with_plonky2_provers(&self, mut backends: Backends) -> Backends {
        for spec in paper_specs() {
            let (profile, class, keys, prover) = (spec.choice.profile, spec.class, self.keys.clone(), self.prover);
            backends.register(spec, move || {
                let backend = PaperBackend::new(profile, class)?.with_cache(keys.as_deref()).with_prover(prover);
                Ok(Arc::new(backend) as Arc<dyn RecursionBackend>)
            });
        }
        for spec in specs() {
            let (profile, class, config) = (spec.choice.profile, spec.class, self.clone());
            backends.register(spec, move || {
                let backend = Plonky2Backend::load(profile, class, config.keys.as_deref())?.with_prover(config.prover);
                let backend = match &config.observer {
                    Some(observer) => backend.with_observer(observer),
                    None => backend,
                };
                Ok(Arc::new(backend) as Arc<dyn RecursionBackend>)
            });
        }
        backends
    }

    /// Adds the backends of the applications of a store's batches, as they were defined.
    ///
    /// # Errors
    /// When this program does not know an application, or the vector has outgrown its height class and the application has no
    /// circuits there.
    pub fn add_apps(&self, backends: &mut Backends, store: &Store) -> Result<(), Error> {
        let class = HeightClass::of(store.commitment()?.height).unwrap_or(HeightClass::H40);
        for batch in store.batches()? {
            let Some(known) = &batch.backend.choice.app else { continue };
            let app = catalog::make(known)?;
            let spec = match batch.backend.class == class {
                true => batch.backend,
                false => {
                    let BackendChoice { scheme, profile, .. } = batch.backend.choice;
                    self.app_spec(&app, scheme, profile, class)?.0
                }
            };
            self.add_app(backends, spec, app);
        }
        Ok(())
    }

    /// The profile of new proofs of applications.
    pub(crate) fn app_profile(&self) -> Profile {
        if self.profile == Profile::default() { Profile::Proven } else { self.profile }
    }

    /// What the backend of an application will be, and the size of its circuits. Takes seconds where its keys are not kept:
    /// circuits are built without commitments.
    ///
    /// # Errors
    /// When the application has no circuits in this scheme, or the profile is not one of Plonky2.
    pub fn app_spec(
        &self,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<(BackendSpec, Size), Error> {
        let size = app.size(scheme, profile, class, self.keys.as_deref())?;
        let choice = BackendChoice::new(BACKEND_NAME, profile).with_app(scheme, app.spec());
        Ok((backend_spec(choice, class, size.capacity), size))
    }

    /// Adds the backend of an application. It is made when it is first needed.
    pub fn add_app(&self, backends: &mut Backends, spec: BackendSpec, app: Application) {
        let (choice, class, config) = (spec.choice.clone(), spec.class, self.clone());
        backends.register(spec, move || {
            let keys = config.keys.as_deref();
            app.backend(choice.scheme, choice.profile, class, keys, config.prover, config.observer.as_ref())
        });
    }

    /// Adds the verifier of an application's proofs, by keys that are kept, or that follow from circuits built here (seconds).
    /// Gives the bits of its proofs.
    ///
    /// # Errors
    /// When the application has no circuits in this scheme, or the profile is not one of Plonky2.
    pub fn add_app_verifier(
        &self,
        backends: &mut Backends,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<SoundnessBits, Error> {
        let keys = app.keys(scheme, profile, class, self.keys.as_deref())?;
        let bits = app.bits(scheme, profile, &keys);
        let choice = BackendChoice::new(BACKEND_NAME, profile).with_app(scheme, app.spec());
        let spec = backend_spec(choice, class, keys.size.capacity);
        let (known, output_len) = (spec.clone(), app.output_len());
        backends.register(spec, move || {
            let verifier = AppVerifier::new(&keys.set, output_len);
            let verify = move |p: &NodeProof| verifier.verify(p);
            Ok(Arc::new(VerifierOnly::new(known.clone(), keys.set.digest(), verify)) as Arc<dyn RecursionBackend>)
        });
        Ok(bits)
    }

    /// The backend of any specification: what a worker makes for a payload. `known` has the backends without an application.
    ///
    /// # Errors
    /// When this program does not know the backend or the application, or its circuits cannot be built.
    pub fn make(&self, known: &Backends, spec: &BackendSpec) -> Result<Arc<dyn RecursionBackend>, BackendError> {
        let failed = |e: &dyn std::fmt::Display| BackendError::Internal(e.to_string());
        let BackendChoice { scheme, profile, app, .. } = &spec.choice;
        match app {
            None => known.get(&spec.choice, spec.class).map_err(|e| failed(&e)),
            Some(app) => {
                let app = catalog::make(app).map_err(|e| failed(&e))?;
                app.backend(*scheme, *profile, spec.class, self.keys.as_deref(), self.prover, self.observer.as_ref())
            }
        }
    }
}

/// These backends and those that verify proofs on Plonky2 with pinned keys.
pub(crate) fn with_verifiers(mut backends: Backends) -> Backends {
    for spec in specs() {
        let known = spec.clone();
        backends.register(spec, move || {
            let keys = KeySet::pinned(known.choice.profile, known.class)?;
            let verifier = Plonky2Verifier::new(&keys);
            Ok(Arc::new(VerifierOnly::new(known.clone(), keys.digest(), move |p| verifier.verify(p))))
        });
    }
    for spec in paper_specs() {
        let known = spec.clone();
        backends.register(spec, move || {
            if pinned_paper(known.choice.profile).is_none() {
                // Its key follows from the circuits, which take a verifier as long to build as the prover.
                let backend = PaperBackend::new(known.choice.profile, known.class)?;
                return Ok(Arc::new(backend) as Arc<dyn RecursionBackend>);
            }
            let verifier = PaperVerifier::pinned(known.choice.profile)?;
            Ok(Arc::new(VerifierOnly::new(known.clone(), Digest::ZERO, move |p| verifier.verify(p))))
        });
    }
    backends
}

pub(crate) fn specs() -> impl Iterator<Item = BackendSpec> {
    classes_of(&Profile::PLONKY2).map(|(profile, class)| {
        backend_spec(BackendChoice::new(BACKEND_NAME, profile), class, profile.bucket_capacity(class))
    })
}

fn paper_specs() -> impl Iterator<Item = BackendSpec> {
    classes_of(&Profile::PLONKY2).map(|(profile, class)| {
        let choice = BackendChoice::new(BACKEND_NAME, profile).with_scheme(Scheme::RecklePaper);
        backend_spec(choice, class, 1 << Scheme::BLOCK_HEIGHT)
    })
}
