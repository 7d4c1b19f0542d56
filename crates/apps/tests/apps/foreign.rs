//! Profiles of another backend are errors, and have no bits.

use std::sync::Arc;

use evergrove_apps::MapReduce;
use evergrove_apps::bls::BlsKeys;
use evergrove_apps::catalog::{Application, CircuitsError};
use evergrove_apps::digest_translation::{DigestTranslation, Shape, soundness};
use evergrove_apps::family::SizeError;
use evergrove_proof::{HeightClass, Profile, Scheme};
use evergrove_recursion::ProverKind;

#[test]
fn applications_have_no_circuits_for_profiles_of_another_backend() {
    let class = HeightClass::H27;
    let keys: Arc<dyn MapReduce> = Arc::new(BlsKeys);
    for profile in Profile::GROVE {
        assert!(matches!(Shape::of(profile, class, 1), Err(SizeError::Profile(p)) if p == profile));
        assert!(soundness::binding_bits(profile, DigestTranslation::default()) <= 0.0);
        let apps = [(keys.clone().into(), Scheme::Selected), (DigestTranslation::default().into(), Scheme::Tree)];
        for (app, scheme) in apps {
            let app: Application = app;
            let circuits = app.circuits(scheme, profile, class, None).err().expect("no circuits");
            assert!(matches!(circuits, CircuitsError::Profile { profile: p, .. } if p == profile));
            let backend = app.backend(scheme, profile, class, None, ProverKind::default(), None).err();
            for error in [backend, app.keys(scheme, profile, class, None).err()] {
                let text = error.expect("no circuits").to_string();
                assert!(text.contains(profile.name()) && text.contains("known: proven, johnson, paper"), "{text}");
            }
        }
    }
}
