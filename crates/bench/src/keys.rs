//! Pins the verifier keys.

use std::path::PathBuf;

use anyhow::{Context, bail};
use evergrove_baselines::paper::paper_keys;
use evergrove_plonky2::Plonky2Backend;
use evergrove_verifier::keys::{file_name, paper_file_name, pinned, pinned_paper};
use evergrove_verifier::{HEIGHT_MAX, HeightClass, Profile, Scheme};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the key files here instead of comparing them (normally crates/verifier/keys).
    #[arg(long, value_name = "DIR")]
    bless: Option<PathBuf>,
    /// Only this profile.
    #[arg(long)]
    profile: Option<Profile>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut stale = 0;
    for profile in Profile::PLONKY2.into_iter().filter(|p| args.profile.is_none_or(|only| only == *p)) {
        for class in HeightClass::ALL {
            let name = file_name(profile, class);
            let backend = Plonky2Backend::build_unpinned(profile, class)?;
            let keys = backend.keys().to_pinned(profile, class);
            let bytes = keys.encode();
            let same = pinned(profile, class) == Some(&bytes[..]);
            let circuits = backend.circuits();
            println!(
                "{name}: {} key bytes, file {} bytes, rows bucket {} merge {} wrap {}, {}",
                keys.key_bytes(),
                bytes.len(),
                circuits.bucket.rows,
                circuits.merge.rows,
                backend.wrap_circuit().map_or("-".into(), |w| w.rows.to_string()),
                if same { "as pinned" } else { "NOT as pinned" }
            );
            stale += usize::from(!same && !bless(args, &name, &bytes)?);
        }
    }
    if args.profile.is_none_or(|only| only == Profile::Paper) {
        let profile = Profile::Paper;
        let name = paper_file_name(profile);
        let keys = paper_keys(profile, Scheme::BLOCK_HEIGHT, HEIGHT_MAX)?;
        let bytes = keys.encode();
        let same = pinned_paper(profile) == Some(&bytes[..]);
        let agree = if same { "as pinned" } else { "NOT as pinned" };
        println!("{name}: {} heights, file {} bytes, {agree}", keys.keys.len(), bytes.len());
        stale += usize::from(!same && !bless(args, &name, &bytes)?);
    }
    if stale > 0 {
        bail!("{stale} key files differ from the circuits: run `evergrove-bench keys --bless crates/verifier/keys`");
    }
    Ok(())
}

/// Writes a key file if `--bless` is given.
fn bless(args: &Args, name: &str, bytes: &[u8]) -> anyhow::Result<bool> {
    let Some(dir) = &args.bless else { return Ok(false) };
    let path = dir.join(name);
    std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    Ok(true)
}
