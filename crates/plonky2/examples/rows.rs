//! The largest bucket that fits each profile's rows: what `Profile::bucket_capacity` states.
use evergrove_plonky2::circuit::CircuitSpec;
use evergrove_plonky2::setup::bucket_degree_bits;
use evergrove_verifier::{HeightClass, Profile};

fn main() {
    for class in HeightClass::ALL {
        for profile in Profile::PLONKY2 {
            let mut spec = CircuitSpec::of(profile, class).expect("a profile of Plonky2");
            let (mut low, mut high) = (spec.capacity - 8, spec.capacity * 5 / 4);
            while high - low > 1 {
                spec.capacity = low.midpoint(high);
                let fits = bucket_degree_bits(&spec) <= spec.degree_bits;
                *(if fits { &mut low } else { &mut high }) = spec.capacity;
            }
            println!("{profile} {}: {low}", class.height_max());
        }
    }
}
