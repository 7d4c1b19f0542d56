//! Verification of proofs of applications' outputs.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use evergrove::apps::catalog::Application;
use evergrove::commit::schema::Schema;
use evergrove::primitives::{Digest, Goldilocks};
use evergrove::proof::soundness::SoundnessBits;
use evergrove::proof::tree::Value;
use evergrove::proof::{BatchProof, Commitment, HeightClass, Policy, Profile, Scheme};
use evergrove::store::{Backends, Verified, verify};
use evergrove::{AppKey, Config};

use crate::commands::verify::MAX_SUCCINCT_BYTES;
use crate::exit::CliError;
use crate::report::{Report, count};
use crate::{files, leader, results};

/// What every verification of an application's proof takes.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The proof
    #[arg(long, value_name = "FILE")]
    pub(crate) proof: PathBuf,
    /// Commitment of the table, like evergrove1:27:0123..
    #[arg(long, value_name = "COMMITMENT")]
    pub(crate) root: Commitment,
    /// Accept proofs of this profile too: johnson or paper. Repeat for both
    #[arg(long, value_name = "PROFILE")]
    pub(crate) allow_profile: Vec<Profile>,
    /// Directory in which keys are kept from run to run, trusted like this program [default: $EVERGROVE_KEYS, or
    /// evergrove/keys in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) keys: Option<PathBuf>,
    /// Take the key of the application's circuits from this file, which keys export writes, and build nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// The digest that the key must have, from a source that is trusted: keys export shows it. Not needed for keys that this program pins
    #[arg(long, value_name = "HEX", requires = "key_file")]
    pub(crate) key_digest: Option<Digest>,
}

/// An accepted proof of an application's output.
pub(crate) struct Accepted {
    /// The verified statement.
    pub(crate) verified: Verified,
    /// Index of the application in the list of candidates.
    pub(crate) app: usize,
    /// The output of the application.
    pub(crate) output: Vec<Goldilocks>,
    /// The soundness of the proof in bits.
    pub(crate) bits: SoundnessBits,
    proof_bytes: usize,
    /// Time to get the key: to build circuits, or to read a file.
    setup: Duration,
    start: Instant,
}

impl VerifyArgs {
    /// Verifies the proof as one of any of these applications in this scheme. `wanted` names the expected proof in
    /// errors. The key comes from the file or the directory, or its circuits are built here, before the clock starts.
    ///
    /// # Errors
    /// If the proof is refused, or a file cannot be read.
    pub(crate) fn verify(
        &self,
        apps: &[Application],
        scheme: Scheme,
        leaves: Option<&[(u64, Value)]>,
        wanted: &str,
    ) -> Result<Accepted> {
        let bytes = files::read_proof(&self.proof, MAX_SUCCINCT_BYTES, "check the path: no proof is that long")?;
        self.verify_bytes(&bytes, apps, scheme, leaves, wanted)
    }

    /// Like [`Self::verify`], for a proof in memory.
    ///
    /// # Errors
    /// If the proof is refused, or the file of the key cannot be read.
    pub(crate) fn verify_bytes(
        &self,
        bytes: &[u8],
        apps: &[Application],
        scheme: Scheme,
        leaves: Option<&[(u64, Value)]>,
        wanted: &str,
    ) -> Result<Accepted> {
        let policy = self.allow_profile.iter().fold(Policy::default(), |p, profile| p.allow_profile(*profile));
        let policy = apps.iter().fold(policy, |policy, app| policy.allow_app(app.id(), scheme));
        let refused =
            |message: String| CliError::refused(message, format!("ask for a proof of {wanted} at this commitment"));
        let claimed = BatchProof::decode(bytes).map_err(|e| refused(format!("not a proof file: {e}")))?;
        // The claims of the file decide which keys are built. They do not decide whether it is accepted: the policy
        // does.
        policy.check(&claimed, &self.root).map_err(|e| refused(format!("refused by the policy: {e}")))?;
        if claimed.scheme != scheme.name() {
            return Err(refused(format!("the proof is of the scheme {}, not {scheme}", claimed.scheme)));
        }
        let is_claimed = |app: &Application| claimed.app.as_ref().is_some_and(|claimed| claimed.app == app.id());
        let found = apps.iter().enumerate().find(|(_, app)| is_claimed(app));
        let (place, app) = found.ok_or_else(|| refused(format!("the proof states nothing about {wanted}")))?;
        let class = HeightClass::of(self.root.height).unwrap_or(HeightClass::H40);
        let mut backends = Backends::new();
        let setup = Instant::now();
        let bits = match &self.key_file {
            Some(path) => {
                let pinned = || AppKey::pinned_digest(app, scheme, claimed.profile, class);
                let digest = self.key_digest.or_else(pinned).ok_or_else(|| {
                    let message = "--key-file: the key of these circuits is not pinned";
                    CliError::usage(message, "give --key-digest with the digest that it must have")
                })?;
                let mut file = File::open(path).with_context(|| path.display().to_string())?;
                let key = AppKey::read(app, scheme, claimed.profile, class, &mut file, digest);
                let key = key.map_err(|e| {
                    let remedy =
                        "give the key of this application, scheme, profile and height class: keys export writes it";
                    CliError::refused(format!("{}: {e}", path.display()), remedy)
                })?;
                let bits = key.bits();
                key.add_to(&mut backends);
                bits
            }
            None => {
                let config = leader::config(self.keys.as_deref())?;
                let bits = config.add_app_verifier(&mut backends, app, scheme, claimed.profile, class);
                bits.map_err(|e| CliError::usage(e.to_string(), "ask for less at a time"))?
            }
        };

        let setup = setup.elapsed();
        let start = Instant::now();
        let verified = verify(bytes, &self.root, leaves, &policy, &backends)?;
        let output = verified.app.as_ref().filter(|a| a.app == app.id() && verified.scheme == scheme);
        let output = output.map(|a| a.output.clone());
        let output = output.ok_or_else(|| refused(format!("the proof states nothing about {wanted}")))?;
        Ok(Accepted { verified, app: place, output, bits, proof_bytes: bytes.len(), setup, start })
    }
}

impl VerifyArgs {
    /// The flag for an application's keys, if one was given: proofs of batches do not take it.
    pub(crate) fn key_flag(&self) -> Option<&'static str> {
        let given = [("--keys", self.keys.is_some()), ("--key-file", self.key_file.is_some())];
        given.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }
    /// Verifies the proof of a batch, without its rows.
    ///
    /// # Errors
    /// If the proof is refused, or its file cannot be read.
    pub(crate) fn verify_batch(&self) -> Result<Verified> {
        let policy = self.allow_profile.iter().fold(Policy::default(), |p, profile| p.allow_profile(*profile));
        let bytes = files::read_proof(&self.proof, MAX_SUCCINCT_BYTES, "check the path: no proof is that long")?;
        let claimed = BatchProof::decode(&bytes);
        let claimed = claimed.map_err(|e| CliError::refused(format!("not a proof file: {e}"), "ask for the proof"))?;
        let expected = Scheme::Evergrove;
        if claimed.scheme != expected.name() {
            let message = format!("the proof is of the scheme {}, not {expected}", claimed.scheme);
            return Err(CliError::refused(message, "give the query that it answers, or the proof of the batch"));
        }
        // The policy allows no application, and no other scheme.
        Ok(verify(&bytes, &self.root, None, &policy, &Config::default().verifiers())?)
    }
}

impl Accepted {
    /// Adds the rows of the output, in words and by number if they were given, and then how the proof was verified.
    pub(crate) fn add_rows_to(&self, report: &mut Report, over: &str, leaves: Option<usize>, schema: &Schema) {
        report.add("over", over);
        match leaves {
            Some(leaves) => report.add_as("leaves", leaves, count(leaves, "row")),
            None => report.hidden("leaves", serde_json::Value::Null),
        }
        let digest = self.verified.statement.canonical;
        report.hidden("canonical_digest", (self.verified.scheme == Scheme::Selected).then(|| digest.to_string()));
        report.add("schema_digest", schema.digest().to_string());
        self.add_to(report);
    }

    /// Refuses an output over rows whose canonical digest is not the one of `--digest`.
    ///
    /// # Errors
    /// A message with both digests. `what` names the output.
    pub(crate) fn check_digest(&self, what: &str, expected: Option<Digest>) -> Result<()> {
        let found = self.verified.statement.canonical;
        let Some(expected) = expected.filter(|digest| *digest != found) else { return Ok(()) };
        let message = format!("the {what} is over rows with the digest {found}, --digest is {expected}");
        Err(CliError::refused(message, "ask for the proof over these rows"))
    }

    /// Adds how the proof was verified: the last fields of every such report.
    pub(crate) fn add_to(&self, report: &mut Report) {
        let elapsed = self.start.elapsed();
        report.hidden("application", self.verified.app.as_ref().map(|a| a.app.to_string()));
        report.hidden("scheme", self.verified.scheme.name());
        report.add("profile", self.verified.profile.name());
        report.hidden("proof_kind", self.verified.kind.name());
        report.hidden("proof_bytes", self.proof_bytes);
        report.add_time("setup_seconds", self.setup);
        report.add_time("seconds", elapsed);
        results::add_soundness(report, self.bits);
    }
}
