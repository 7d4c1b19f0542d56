//! Writes the key of a profile and height class to a file (`docs/formats.md`), for verifiers that do not build circuits; prints its digest.
//!
//! ```sh
//! cargo run --release -p evergrove-grove --example key -- grove-100 27 grove-100-27.key
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use evergrove_grove::GroveVerifier;
use evergrove_verifier::{HeightClass, Profile};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [profile, class, file] = &arguments[..] else { return Err("expected PROFILE CLASS FILE".into()) };
    let profile = Profile::GROVE.into_iter().find(|known| known.name() == profile).ok_or("unknown profile")?;
    let class = match class.as_str() {
        "27" => HeightClass::H27,
        "40" => HeightClass::H40,
        _ => return Err("unknown height class".into()),
    };
    let verifier = GroveVerifier::new(profile, class)?;
    let mut file = BufWriter::new(File::create(file)?);
    verifier.write_key(&mut file)?;
    file.flush()?;
    println!("{}", verifier.key_digest());
    Ok(())
}
