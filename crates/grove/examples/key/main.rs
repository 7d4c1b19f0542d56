//! Writes the key of a profile and height class to a file, as `docs/formats.md` has it, for verifiers that do not build circuits; prints its
//! digest.
//!
//! ```sh
//! cargo run --release -p evergrove-grove --example key -- grove-100 27 grove-100-27.key
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use evergrove_grove::circuit::{Family, Size};
use evergrove_grove::shape;
use evergrove_multilinear::key::Key;
use evergrove_multilinear::recursion;
use evergrove_multilinear::verifier::{JOHNSON_128, Round, UNIQUE_100};
use evergrove_primitives::Digest;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_proof::keys::pinned_grove;
use evergrove_proof::{HeightClass, Profile};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [profile, class, file] = &arguments[..] else { return Err("expected PROFILE CLASS FILE".into()) };
    let profile = Profile::GROVE.into_iter().find(|known| known.name() == profile).ok_or("unknown profile")?;
    let class = match class.as_str() {
        "27" => HeightClass::H27,
        "40" => HeightClass::H40,
        _ => return Err("unknown height class".into()),
    };
    let file = BufWriter::new(File::create(file)?);
    let digest = match profile {
        Profile::Grove100 => write::<Quadratic>(profile, class, &UNIQUE_100, file)?,
        _ => write::<Cubic>(profile, class, &JOHNSON_128, file)?,
    };
    if Some(digest) != pinned_grove(profile, class) {
        return Err("the circuits differ from the pinned key".into());
    }
    println!("{digest}");
    Ok(())
}

fn write<K: Extension>(
    profile: Profile,
    class: HeightClass,
    rounds: &[Round],
    mut out: impl Write,
) -> Result<Digest, Box<dyn Error>> {
    let shape = shape(profile, class).ok_or("a profile of another backend")?;
    let size = Size { height_max: class.height_max(), capacity: profile.bucket_capacity(class) };
    let family = Family::of_batches(size);
    let parameters = recursion::parameters::<K>(rounds, &family.modes(), shape.blocks, shape.variables);
    let circuits = [family.bucket(&parameters), family.merge(&parameters)].map(|it| it.finish_in(shape.blocks));
    let key = Key::new(parameters, circuits.each_ref());
    key.write(&mut out)?;
    out.flush()?;
    Ok(Digest(key.digest()))
}
