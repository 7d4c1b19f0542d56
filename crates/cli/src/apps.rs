//! Verifiers of proofs of applications' outputs.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use evergrove::{BackendSpec, Backends};
use evergrove_apps::MapReduce;
use evergrove_apps::family::{AppKeys, AppVerifier, FamilySpec};
use evergrove_commit::{NodeProof, RecursionBackend};
use evergrove_proof::soundness::SoundnessBits;
use evergrove_proof::{AppSpec, HeightClass, Profile, Scheme};
use evergrove_recursion::backend_id;

use crate::backends::VerifierOnly;
use crate::exit::Mistake;

/// Adds the verifier of an application's proofs to `backends`, with keys from `keys` or from circuits that are built here.
/// Gives the bits of its proofs.
///
/// # Errors
/// When the application has no circuits in this scheme.
pub(crate) fn add_verifier(
    backends: &mut Backends,
    app: Arc<dyn MapReduce>,
    scheme: Scheme,
    profile: Profile,
    class: HeightClass,
    keys: Option<&Path>,
) -> Result<SoundnessBits> {
    let keys = AppKeys::load(&app, scheme, profile, class, keys);
    let keys = keys.map_err(|e| Mistake::usage(e.to_string(), "ask for less at a time"))?;
    let bits = keys.bits(&FamilySpec::new(app.clone(), scheme, profile, class, keys.size));
    let spec = BackendSpec {
        scheme,
        id: backend_id(),
        profile,
        class,
        capacity: keys.size.capacity,
        wraps: profile.wrap().is_some(),
        app: Some(AppSpec { name: app.name().into(), parameters: app.parameters() }),
    };
    let known = spec.clone();
    backends.register(spec, move || {
        let verifier = AppVerifier::new(&keys.set, app.output_len());
        let verify = move |p: &NodeProof| verifier.verify(p);
        Ok(Arc::new(VerifierOnly::new(known.clone(), keys.set.digest(), verify)) as Arc<dyn RecursionBackend>)
    });
    Ok(bits)
}
