//! The backend `grove`.

use std::sync::Arc;

use evergrove_commit::{BackendSpec, RecursionBackend};
use evergrove_grove::{GroveBackend, GroveVerifier, backend_spec};
use evergrove_proof::{HeightClass, Profile};
use evergrove_store::Backends;

use crate::backends::VerifierOnly;

/// These backends and those that prove by the multilinear engine.
pub(crate) fn with_provers(mut backends: Backends) -> Backends {
    for spec in specs() {
        let (profile, class) = (spec.choice.profile, spec.class);
        backends.register(spec, move || Ok(Arc::new(GroveBackend::new(profile, class)?) as Arc<dyn RecursionBackend>));
    }
    backends
}

/// These backends and those that verify such proofs.
pub(crate) fn with_verifiers(mut backends: Backends) -> Backends {
    for spec in specs() {
        let known = spec.clone();
        backends.register(spec, move || {
            let verifier = GroveVerifier::new(known.choice.profile, known.class)?;
            let keys = verifier.key_digest();
            Ok(Arc::new(VerifierOnly::new(known.clone(), keys, move |proof| verifier.verify(proof))))
        });
    }
    backends
}

fn specs() -> impl Iterator<Item = BackendSpec> {
    Profile::GROVE
        .into_iter()
        .flat_map(|profile| HeightClass::ALL.into_iter().map(move |class| backend_spec(profile, class)))
}
