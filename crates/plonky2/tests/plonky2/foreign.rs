//! Profiles of another backend are errors of this one.

use evergrove_commit::BackendError;
use evergrove_plonky2::{Plonky2Backend, Plonky2Verifier};
use evergrove_verifier::{HeightClass, Profile};

#[test]
fn profiles_of_another_backend_have_no_circuits_here() {
    let class = HeightClass::H27;
    for profile in Profile::GROVE {
        let errors: Vec<Option<BackendError>> = vec![
            Plonky2Backend::load(profile, class, None).err(),
            Plonky2Backend::build_unpinned(profile, class).err(),
            Plonky2Verifier::pinned(profile, class).err(),
        ];
        for error in errors {
            let text = error.expect("a profile without circuits here").to_string();
            assert!(text.contains(profile.name()) && text.contains("known: proven, johnson, paper"), "{text}");
        }
    }
}
