//! Pinning the verifier keys.

use std::path::PathBuf;

use anyhow::{Context, bail};
use evergrove_proof::keys::{file_name, pinned};
use evergrove_proof::{HeightClass, Profile};
use evergrove_recursion::Plonky2Backend;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the key files here instead of comparing them (normally crates/proof/keys).
    #[arg(long, value_name = "DIR")]
    bless: Option<PathBuf>,
    /// Only this profile.
    #[arg(long)]
    profile: Option<Profile>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut stale = 0;
    for profile in Profile::ALL.into_iter().filter(|p| args.profile.is_none_or(|only| only == *p)) {
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
            match &args.bless {
                Some(dir) => {
                    let path = dir.join(&name);
                    std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
                }
                None => stale += usize::from(!same),
            }
        }
    }
    if stale > 0 {
        bail!("{stale} key files differ from the circuits: run `evergrove-bench keys --bless crates/proof/keys`");
    }
    Ok(())
}
