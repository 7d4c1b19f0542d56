//! Profiles of another backend are errors of the baselines.

use evergrove_baselines::paper::{PaperBackend, PaperVerifier, paper_keys};
use evergrove_baselines::{Monolithic, TreeOfProofs};
use evergrove_commit::BackendError;
use evergrove_verifier::{HeightClass, Profile};

#[test]
fn profiles_of_another_backend_have_no_circuits_here() {
    for profile in Profile::GROVE {
        let errors: Vec<Option<BackendError>> = vec![
            PaperBackend::new(profile, HeightClass::H27).err(),
            paper_keys(profile, 5, 6).err(),
            TreeOfProofs::build(profile, 8).err(),
            Monolithic::build(profile, 8, 4).err(),
        ];
        for error in errors {
            let text = error.expect("a profile without circuits here").to_string();
            assert!(text.contains(profile.name()) && text.contains("known: proven, johnson, paper"), "{text}");
        }
        assert!(PaperVerifier::pinned(profile).is_err());
    }
}
