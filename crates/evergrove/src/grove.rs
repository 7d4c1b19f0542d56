//! The backends of grove.

use std::sync::Arc;

use evergrove_commit::{BackendSpec, NodeProof, RecursionBackend};
use evergrove_grove::{GroveBackend, GroveVerifier, backend_spec};
use evergrove_store::Backends;
use evergrove_verifier::{HeightClass, Profile};

use crate::Config;
use crate::backends::{VerifierOnly, classes_of};

impl Config {
    /// These backends and those of grove.
    pub(crate) fn with_grove_provers(&self, mut backends: Backends) -> Backends {
        for (spec, profile, class) in specs() {
            let observer = self.observer.clone();
            backends.register(spec, move || {
                let backend = GroveBackend::new(profile, class)?;
                let backend = match &observer {
                    Some(observer) => backend.with_observer(observer),
                    None => backend,
                };
                Ok(Arc::new(backend) as Arc<dyn RecursionBackend>)
            });
        }
        backends
    }
}

/// These backends and those that verify grove's proofs, by keys that are built and have the pinned digest.
pub(crate) fn with_verifiers(mut backends: Backends) -> Backends {
    for (spec, profile, class) in specs() {
        let known = spec.clone();
        backends.register(spec, move || {
            let verifier = GroveVerifier::new(profile, class)?;
            let (digest, known) = (verifier.key_digest(), known.clone());
            Ok(Arc::new(VerifierOnly::new(known, digest, move |p: &NodeProof| verifier.verify(p))))
        });
    }
    backends
}

fn specs() -> impl Iterator<Item = (BackendSpec, Profile, HeightClass)> {
    classes_of(&Profile::GROVE).map(|(profile, class)| (backend_spec(profile, class), profile, class))
}
