//! Profiles of another backend are errors, and have no bits.

use std::sync::Arc;

use evergrove_apps::MapReduce;
use evergrove_apps::bls::BlsKeys;
use evergrove_apps::catalog::Application;
use evergrove_apps::digest_translation::DigestTranslation;
use evergrove_plonky2::apps::OnPlonky2;
use evergrove_plonky2::apps::circuit_set::SizeError;
use evergrove_plonky2::apps::digest_translation::{Shape, soundness};
use evergrove_verifier::{HeightClass, Profile, Scheme};

#[test]
fn applications_have_no_keys_of_plonky2_for_profiles_of_another_backend() {
    let class = HeightClass::H27;
    let keys: Arc<dyn MapReduce> = Arc::new(BlsKeys);
    for profile in Profile::GROVE {
        assert!(matches!(Shape::of(profile, class, 1), Err(SizeError::Profile(p)) if p == profile));
        assert!(soundness::binding_bits(profile, &DigestTranslation::default()) <= 0.0);
        let apps = [(keys.clone().into(), Scheme::Selected), (DigestTranslation::default().into(), Scheme::Tree)];
        for (app, scheme) in apps {
            let app: Application = app;
            // On tables, and none of Plonky2.
            assert!(app.circuits(scheme, profile, class).is_ok());
            let app = OnPlonky2::new(&app).expect("circuits for profiles of Plonky2");
            let text = app.keys(scheme, profile, class, None).expect_err("no keys").to_string();
            assert!(text.contains(profile.name()) && text.contains("known: proven, johnson, paper"), "{text}");
        }
    }
}
