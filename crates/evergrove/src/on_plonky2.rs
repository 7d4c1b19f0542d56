//! The backends on Plonky2.

use std::sync::Arc;

use evergrove_baselines::paper::{PaperBackend, PaperVerifier};
use evergrove_commit::{BackendChoice, BackendSpec, RecursionBackend};
use evergrove_plonky2::keys::KeySet;
use evergrove_plonky2::{BACKEND_NAME, Plonky2Backend, Plonky2Verifier, backend_spec};
use evergrove_primitives::Digest;
use evergrove_store::Backends;
use evergrove_verifier::keys::pinned_paper;
use evergrove_verifier::{Profile, Scheme};

use crate::Config;
use crate::backends::{VerifierOnly, classes_of};

impl Config {
    /// These backends together with those on Plonky2.
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
                Ok(Arc::new(backend.with_observer(config.observer.as_ref())) as Arc<dyn RecursionBackend>)
            });
        }
        backends
    }
}

/// These backends together with those that verify proofs on Plonky2 with pinned keys.
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
                // Its key follows from the circuits, and building them takes a verifier as long as a prover.
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
