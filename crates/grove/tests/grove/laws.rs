//! The laws of a backend, and the pinned sizes and keys.

use evergrove_commit::RecursionBackend;
use evergrove_grove::circuit::{self, CircuitSet, Size, blocks};
use evergrove_grove::{GroveBackend, GroveVerifier, Shape, shape};
use evergrove_multilinear::recursion::fixed_point;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_verifier::argument::soundness::{Term, johnson, random_words, unique_decoding};
use evergrove_verifier::argument::{JOHNSON_128, Parameters, Round, UNIQUE_100};
use evergrove_verifier::soundness::{self, SoundnessBits};
use evergrove_verifier::tables::Table;
use evergrove_verifier::{HeightClass, Profile};

/// Covers buckets, merges, false witnesses, foreign statements and foreign bytes.
#[test]
fn the_laws_hold() {
    for (profile, class) in [(Profile::Grove100, HeightClass::H27), (Profile::Grove128, HeightClass::H40)] {
        evergrove_testkit::backend::laws(&GroveBackend::new(profile, class).unwrap());
    }
}

#[test]
#[ignore = "slow: the other two circuits of each kind"]
fn the_laws_hold_of_the_other_circuits() {
    for (profile, class) in [(Profile::Grove100, HeightClass::H40), (Profile::Grove128, HeightClass::H27)] {
        evergrove_testkit::backend::laws(&GroveBackend::new(profile, class).unwrap());
    }
}

/// Leaders build verifiers and workers build provers, so both must have the same key.
#[test]
fn provers_and_verifiers_have_one_key() {
    for profile in Profile::GROVE {
        let [prover, verifier] = [
            GroveBackend::new(profile, HeightClass::H27).unwrap().key_digest(),
            GroveVerifier::new(profile, HeightClass::H27).unwrap().key_digest(),
        ];
        assert_eq!(prover, verifier);
    }
}

/// The size of the circuits is the one that the search finds.
fn found<K: Extension>(rounds: &[Round], profile: Profile, class: HeightClass) -> Parameters<K> {
    let size = Size { height_max: class.height_max(), capacity: profile.bucket_capacity(class) };
    let parameters =
        fixed_point::<K>(rounds, &CircuitSet::of_batches(size).modes(), |parameters| blocks(parameters, size)).unwrap();
    let found = Shape { blocks: parameters.layout().blocks(), variables: parameters.schedule().variables };
    assert_eq!(shape(profile, class), Some(found), "{profile} {class:?}");
    // No larger bucket fits.
    let more = Size { capacity: size.capacity + 1, ..size };
    assert!(blocks(&parameters, more)[0] > found.blocks[0], "{profile} {class:?}");
    parameters
}

/// Rows of bucket and merge per table; committed and fixed elements; log2 of the places on the bus.
fn counts<K: Extension>(rounds: &[Round], profile: Profile, class: HeightClass) -> [Vec<usize>; 3] {
    let size = Size { height_max: class.height_max(), capacity: profile.bucket_capacity(class) };
    let parameters = found::<K>(rounds, profile, class);
    let [bucket, merge] = [circuit::bucket(&parameters, size), circuit::merge(&parameters, size)]
        .map(|b| Table::ALL.map(|table| b.rows(table)).to_vec());
    let layout = parameters.layout();
    [bucket, merge, vec![layout.committed().elements(), layout.fixed().elements(), layout.bus_variables()]]
}

/// `docs/math/circuits.md` lists these numbers.
#[test]
fn the_circuits_have_these_rows() {
    let all = [HeightClass::H27, HeightClass::H40].map(|class| {
        [
            counts::<Quadratic>(&UNIQUE_100, Profile::Grove100, class),
            counts::<Cubic>(&JOHNSON_128, Profile::Grove128, class),
        ]
    });
    let text = format!("{all:?}").replace("]], [[", "]],\n[[");
    assert_eq!(text, include_str!("rows.txt").trim_end());
}

/// Bits, rounded down to one decimal as they are printed.
fn least(terms: impl IntoIterator<Item = f64>) -> f64 {
    (terms.into_iter().fold(128.0, f64::min) * 10.0).floor() / 10.0
}

fn pinned(profile: Profile, class: HeightClass) -> [f64; 3] {
    let SoundnessBits { unique_decoding, johnson, conjectured } = soundness::bits(profile, class);
    [unique_decoding, johnson, conjectured]
}

#[test]
fn what_is_pinned_is_what_is_built() {
    for class in HeightClass::ALL {
        let built = Profile::GROVE.map(|profile| GroveVerifier::new(profile, class).map(|_| ()));
        assert_eq!(built, [Ok(()), Ok(())]);
        let of = |terms: Vec<Term>| least(terms.into_iter().map(|term| term.bits));
        let unique = found::<Quadratic>(&UNIQUE_100, Profile::Grove100, class);
        let bits = [of(unique_decoding(&unique)), of(johnson(&unique)), of(random_words(&unique))];
        assert_eq!(pinned(Profile::Grove100, class), bits);
        let listed = found::<Cubic>(&JOHNSON_128, Profile::Grove128, class);
        let bits = [of(unique_decoding(&listed)), of(johnson(&listed)), of(random_words(&listed))];
        assert_eq!(pinned(Profile::Grove128, class), bits);
    }
}

#[test]
fn profiles_of_other_backends_are_refused() {
    for profile in Profile::PLONKY2 {
        assert!(GroveBackend::new(profile, HeightClass::H27).is_err());
        assert!(GroveVerifier::new(profile, HeightClass::H27).is_err());
    }
}
