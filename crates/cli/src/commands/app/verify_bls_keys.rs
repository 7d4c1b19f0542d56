//! `evergrove app verify-bls-keys`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use evergrove::{Backends, verify};
use evergrove_apps::MapReduce;
use evergrove_apps::bls::light_client::{self, Claim};
use evergrove_apps::bls::{BlsKeys, Output};
use evergrove_proof::{BatchProof, Commitment, HeightClass, Policy, Profile, Scheme};

use super::super::Terminal;
use super::super::verify::MAX_SUCCINCT_BYTES;
use super::bls_keys::add_output;
use crate::args::parse_profile;
use crate::exit::Mistake;
use crate::report::{Report, seconds};
use crate::{apps, backends, files, proving};

/// Verify a signature of some keys of a table, without a store: a light client
///
/// Accepted is a signature of the message under the sum of the keys of at least --threshold different rows of the table. The commitment has to
/// come from a source that is trusted to have checked every key.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The proof of the sum
    #[arg(long, value_name = "FILE")]
    proof: PathBuf,
    /// Commitment of the table, like evergrove1:27:0123..
    #[arg(long, value_name = "COMMITMENT")]
    root: Commitment,
    /// Least number of signers
    #[arg(long, value_name = "N")]
    threshold: u64,
    /// The message that has been signed, in hexadecimal digits; in Ethereum the signing root
    #[arg(long, value_name = "HEX")]
    message: String,
    /// The signature: 96 compressed bytes of BLS12-381 G2 in hexadecimal digits
    #[arg(long, value_name = "HEX")]
    signature: String,
    /// Accept proofs of this profile too: johnson or paper. Repeat for both
    #[arg(long, value_name = "PROFILE", value_parser = parse_profile)]
    allow_profile: Vec<Profile>,
    /// Directory in which keys are kept from run to run, trusted like this program [default: $EVERGROVE_KEYS, or
    /// evergrove/keys in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let digits = |flag: &str, text: &str| {
        hex::decode(text.strip_prefix("0x").unwrap_or(text))
            .map_err(|_| Mistake::usage(format!("{flag}: not hexadecimal digits"), "write two digits for every byte"))
    };
    let (message, signature) = (digits("--message", &args.message)?, digits("--signature", &args.signature)?);
    let app: Arc<dyn MapReduce> = Arc::new(BlsKeys);
    let policy = args.allow_profile.iter().fold(Policy::default(), |p, profile| p.allow_profile(*profile));
    let policy = policy.allow_app(app.id(), Scheme::Selected);

    let bytes = files::read(&args.proof, MAX_SUCCINCT_BYTES, "check the path: no proof is that long")?;
    let refused = |message: String| Mistake::refused(message, "ask for a proof of bls-keys at this commitment");
    let claimed = BatchProof::decode(&bytes).map_err(|e| refused(format!("not a proof file: {e}")))?;
    // What the file claims decides which keys are built; whether it is accepted, the policy alone.
    policy.check(&claimed, &args.root).map_err(|e| refused(format!("refused by the policy: {e}")))?;
    let class = HeightClass::of(args.root.height).unwrap_or(HeightClass::H40);
    let keys = backends::keys_dir(args.keys.as_deref());
    let mut backends = Backends::new();
    let bits =
        apps::add_verifier(&mut backends, app.clone(), Scheme::Selected, claimed.profile, class, keys.as_deref())?;

    let start = Instant::now();
    let verified = verify(&bytes, &args.root, None, &policy, &backends)?;
    let output = verified.app.filter(|a| a.app == app.id() && verified.scheme == Scheme::Selected);
    let output = output.and_then(|a| Output::from_elements(&a.output));
    let output = output.ok_or_else(|| refused("the proof states no sum of keys".into()))?;
    let claim = Claim { message: &message, signature: &signature, threshold: args.threshold };
    light_client::check(&output, &claim)
        .map_err(|e| Mistake::refused(e.to_string(), "ask for the signature and the proof of the same signers"))?;
    let elapsed = start.elapsed().as_secs_f64();

    let mut report = Report::default();
    report.add_as("accepted", true, "yes");
    report.add("commitment", args.root.to_string());
    add_output(&mut report, &output);
    report.add("threshold", args.threshold);
    report.add("canonical_digest", verified.statement.canonical.to_string());
    report.add("profile", verified.profile.name());
    report.hidden("proof_kind", verified.kind.name());
    report.hidden("proof_bytes", bytes.len());
    report.add_as("seconds", elapsed, seconds(elapsed));
    proving::add_soundness(&mut report, bits);
    report.print(terminal.format);
    Ok(())
}
