//! Backends and their profiles: how they are chosen, and a proof with the default.

use evergrove::commit::BackendChoice;
use evergrove::prelude::*;
use evergrove::proof::HeightClass;

use crate::{native, table};

fn grove(profile: Profile) -> Config {
    Config { backend: Backend::Grove, profile, ..Config::default() }
}

#[test]
fn every_backend_has_its_profiles() {
    for backend in Backend::ALL {
        assert_eq!(backend.name().parse(), Ok(backend));
        assert!("snark".parse::<Backend>().unwrap_err().to_string().contains(backend.name()));
        for profile in Profile::ALL {
            assert_eq!(backend.profiles().contains(&profile), profile.fits(backend.name()), "{backend} {profile}");
        }
    }
    assert_eq!([Backend::Plonky2, Backend::Grove].map(|b| b.profiles()[0]), [Profile::Proven, Profile::Grove100]);
    assert!(Backend::Grove.is_succinct());
    let built = [cfg!(feature = "grove"), cfg!(feature = "plonky2"), true];
    assert_eq!(Backend::ALL[0], Backend::default());
    assert!(Profile::default().fits(Backend::default().name()));
    for backends in [Config::default().provers(), Config::default().verifiers()] {
        for (backend, built) in Backend::ALL.into_iter().zip(built) {
            for (profile, class) in Profile::ALL.into_iter().flat_map(|p| HeightClass::ALL.map(|c| (p, c))) {
                let spec = backends.spec(&BackendChoice::new(backend.name(), profile), class);
                assert_eq!(spec.is_ok(), built && profile.fits(backend.name()), "{backend} {profile}");
                assert!(spec.is_ok_and(|s| s.id() == backend.id()) || !built || !profile.fits(backend.name()));
            }
        }
    }
}

#[test]
fn a_foreign_profile_is_an_error_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for (backend, profile) in [(Backend::Grove, Profile::Proven), (Backend::Plonky2, Profile::Grove128)] {
        let config = Config { backend, profile, ..Config::default() };
        let error = Store::create_with(dir.path().join("db"), &table(), &config).unwrap_err();
        assert!(matches!(error, Error::ForeignProfile { .. }), "{error}");
        let text = error.to_string();
        let known = if backend == Backend::Grove { "grove-100, grove-128" } else { "proven, johnson, paper" };
        assert!([backend.name(), profile.name(), known].iter().all(|part| text.contains(part)), "{text}");
        assert!(!dir.path().join("db").exists());
    }
}

#[test]
fn what_is_not_named_follows_from_what_is() {
    let choose = |known: BackendChoice, backend, profile| Config::choose(known, backend, profile);
    let new = || Config::default().choice();
    let of = |backend: Backend, profile| BackendChoice::new(backend.name(), profile);
    for (known, backend, profile, expected) in [
        (new(), None, None, of(Backend::Grove, Profile::Grove100)),
        (new(), Some("plonky2"), None, of(Backend::Plonky2, Profile::Proven)),
        (new(), None, Some(Profile::Johnson), of(Backend::Plonky2, Profile::Johnson)),
        (new(), None, Some(Profile::Grove128), of(Backend::Grove, Profile::Grove128)),
        (new(), Some("native"), Some(Profile::Grove128), of(Backend::Native, Profile::Grove128)),
        (of(Backend::Grove, Profile::Grove128), None, Some(Profile::Paper), of(Backend::Plonky2, Profile::Paper)),
        (of(Backend::Grove, Profile::Grove128), Some("plonky2"), None, of(Backend::Plonky2, Profile::Proven)),
        (of(Backend::Grove, Profile::Grove128), Some("native"), None, of(Backend::Native, Profile::Grove128)),
        (of(Backend::Native, Profile::Paper), None, Some(Profile::Grove100), of(Backend::Native, Profile::Grove100)),
        (new(), Some("abacus"), None, BackendChoice::new("abacus", Profile::Grove100)),
    ] {
        assert_eq!(choose(known, backend, profile).unwrap(), expected);
    }
    for (backend, profile) in [("grove", Profile::Proven), ("plonky2", Profile::Grove100)] {
        assert!(matches!(choose(new(), Some(backend), Some(profile)), Err(Error::ForeignProfile { .. })));
    }
}

#[test]
fn native_stands_for_the_circuits_of_grove() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { profile: Profile::Grove128, ..native() };
    let mut store = Store::create_with(dir.path(), &table(), &config).unwrap();
    store.prove("b", &[0, 5]).unwrap();
    let (proof, commitment, rows) = (store.proof("b").unwrap(), store.commitment().unwrap(), store.rows("b").unwrap());
    let verifier = Verifier::default().allow_backend(Backend::Native);
    assert!(matches!(verifier.verify(&proof, &commitment, &rows), Err(Error::Verify(_))));
    verifier.allow_profile(Profile::Grove128).verify(&proof, &commitment, &rows).unwrap();
}

#[cfg(not(feature = "grove"))]
#[test]
fn a_build_without_grove_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &grove(Profile::Grove100)).unwrap();
    assert!(matches!(store.prove("b", &[0]), Err(Error::NoBackend(Backend::Grove))));
}

#[cfg(feature = "grove")]
#[test]
fn an_application_without_circuits_for_a_scheme_defines_no_batch() {
    use std::sync::Arc;

    use evergrove::apps::{MapReduce, samples::Sequence};
    use evergrove::proof::Scheme;

    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &grove(Profile::Grove128)).unwrap();
    let ordered: Arc<dyn MapReduce> = Arc::new(Sequence);
    let error = store.prove_app("k", ordered.into(), Scheme::Selected, &[0]).unwrap_err();
    assert!(matches!(error, Error::Circuits(_)), "{error}");
    assert!(store.batches().unwrap().is_empty());
}

#[cfg(feature = "grove")]
#[test]
fn an_application_is_proven_and_its_output_verified() {
    use std::sync::Arc;

    use evergrove::apps::MapReduce;
    use evergrove::apps::catalog::Application;
    use evergrove::apps::samples::{Sequence, Tally};
    use evergrove::proof::Scheme;

    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(dir.path(), &table()).unwrap();
    let app: Arc<dyn MapReduce> = Arc::new(Sequence);
    let app = Application::from(app);
    let output = store.prove_app("all", app.clone(), Scheme::Complete, &[]).unwrap().output;
    let (proof, commitment, verifier) = (store.proof("all").unwrap(), store.commitment().unwrap(), Verifier::default());
    let verified = verifier.verify_app(&proof, &commitment, &app, Scheme::Complete, None);
    assert_eq!(verified.unwrap(), output);
    // Another application, and another scheme.
    let tally: Arc<dyn MapReduce> = Arc::new(Tally::new(20));
    let refused = |app: &Application, scheme| verifier.verify_app(&proof, &commitment, app, scheme, None).unwrap_err();
    assert!(matches!(refused(&tally.into(), Scheme::Complete), Error::Verify(_)));
    assert!(matches!(refused(&app, Scheme::Selected), Error::Verify(_)));
}

#[cfg(feature = "grove")]
#[test]
fn a_batch_is_proven_changed_and_verified() {
    for profile in Profile::GROVE {
        let dir = tempfile::tempdir().unwrap();
        let config = grove(profile);
        let mut store = Store::create_with(dir.path(), &table(), &config).unwrap();
        store.prove("b", &[0, 5, 7]).unwrap();
        let update = store.update(Changes::new().set(5, "price", "0.01")).unwrap();
        assert_eq!(update.batches[0].backend.choice, config.choice());
        let (proof, commitment, rows) =
            (store.proof("b").unwrap(), store.commitment().unwrap(), store.rows("b").unwrap());
        let default = Verifier::default();
        assert_eq!(default.verify(&proof, &commitment, &rows).is_ok(), profile == Profile::Grove100);
        let verifier = default.allow_profile(profile);
        assert_eq!(verifier.verify(&proof, &commitment, &rows).unwrap().leaves, Some(3));
        let mut bytes = proof.as_bytes().to_vec();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert!(matches!(verifier.verify(&Proof::from_bytes(bytes), &commitment, &rows), Err(Error::Verify(_))));
    }
}
