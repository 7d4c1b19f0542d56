//! Which applications have circuits of Plonky2.

use std::sync::Arc;

use evergrove_apps::catalog::Application;
use evergrove_apps::digest_translation::DigestTranslation;
use evergrove_apps::samples::Tally;
use evergrove_apps::{Leaf, MapReduce, MapReduceError};
use evergrove_plonky2::ProverKind;
use evergrove_plonky2::apps::{OnPlonky2, circuits};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{HeightClass, Profile, Scheme};

/// A [`Tally`] under another name.
struct Count(Tally);

impl MapReduce for Count {
    fn name(&self) -> &str {
        "count"
    }
    fn parameters(&self) -> Vec<u8> {
        self.0.parameters()
    }
    fn opening_len(&self) -> usize {
        self.0.opening_len()
    }
    fn output_len(&self) -> usize {
        self.0.output_len()
    }
    fn identity(&self) -> Vec<Goldilocks> {
        self.0.identity()
    }
    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        self.0.map(leaf)
    }
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        MapReduce::reduce(&self.0, left, right)
    }
    fn is_commutative(&self) -> bool {
        self.0.is_commutative()
    }
}

#[test]
fn applications_of_others_have_none() {
    assert!(circuits(&Tally::new(20)).is_some());
    assert!(circuits(&Count(Tally::new(20))).is_none());
    let app: Arc<dyn MapReduce> = Arc::new(Count(Tally::new(20)));
    assert!(OnPlonky2::new(&Application::from(app)).is_none());
}

#[test]
fn digest_translation_has_those_of_one_tree() {
    assert!(OnPlonky2::new(&Application::from(DigestTranslation::default())).is_some());
    let other = DigestTranslation::new("openzeppelin(bool)".parse().unwrap());
    assert!(OnPlonky2::new(&Application::from(other)).is_none());
}

/// Schemes without circuits are errors of everything that asks for some.
#[test]
fn other_schemes_are_errors() {
    let (profile, class) = (Profile::Paper, HeightClass::H27);
    let tally: Arc<dyn MapReduce> = Arc::new(Tally::new(20));
    let apps = [(Application::from(tally), Scheme::Tree), (DigestTranslation::default().into(), Scheme::Complete)];
    for (app, scheme) in apps {
        let app = OnPlonky2::new(&app).unwrap();
        let size = app.size(scheme, profile, class, None).unwrap_err().to_string();
        let keys = app.keys(scheme, profile, class, None).unwrap_err().to_string();
        let backend = app.backend(scheme, profile, class, None, ProverKind::default(), None).err().unwrap().to_string();
        assert!(size.contains("scheme"), "{size}");
        assert!(keys.contains(&size) && backend.contains(&size), "{keys}, {backend}");
    }
}
