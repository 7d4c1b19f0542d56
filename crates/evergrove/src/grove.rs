//! The backends of grove.

use std::sync::Arc;

use evergrove_commit::{BackendSpec, NodeProof, RecursionBackend};
use evergrove_grove::{GroveBackend, GroveVerifier, backend_spec};
use evergrove_store::Backends;
use evergrove_verifier::{HeightClass, Profile};

use crate::backends::{VerifierOnly, classes_of};
use crate::{Config, Error};

impl Config {
    /// These backends together with grove's.
    pub(crate) fn with_grove_provers(&self, mut backends: Backends) -> Backends {
        for (spec, profile, class) in specs() {
            let observer = self.observer.clone();
            backends.register(spec, move || {
                let backend = GroveBackend::new(profile, class)?.with_observer(observer.as_ref());
                Ok(Arc::new(backend) as Arc<dyn RecursionBackend>)
            });
        }
        backends
    }

    /// Writes the key of batches of a profile and height class: some 20 MB, for verifiers that build no circuits. Its
    /// digest is pinned.
    ///
    /// # Errors
    /// For a profile of another backend.
    pub fn batch_key(&self, profile: Profile, class: HeightClass) -> Result<GroveVerifier, Error> {
        Ok(GroveVerifier::new(profile, class)?)
    }
}

/// These backends together with those that verify grove's proofs, by keys that are built and have the pinned digest.
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
