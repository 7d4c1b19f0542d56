//! `evergrove app verify-aggregate`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use evergrove::{Backends, verify};
use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::Aggregate;
use evergrove_primitives::Digest;
use evergrove_proof::{BatchProof, Commitment, HeightClass, Policy, Profile, Scheme};

use super::super::Terminal;
use super::super::verify::MAX_SUCCINCT_BYTES;
use super::aggregate::{add_answer, query};
use crate::args::parse_profile;
use crate::exit::Mistake;
use crate::report::{Report, seconds};
use crate::{apps, backends, files, proving};

/// Verify the proof of an answer to a query, without a store
///
/// The query and the schema have to come from a source that is trusted: the verifier builds the circuits of the query and
/// takes no key from the prover. Accepted is an answer over all rows of the table, or with --digest over those of a batch.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The proof
    #[arg(long, value_name = "FILE")]
    proof: PathBuf,
    /// The commitment, like evergrove1:27:0123..
    #[arg(long, value_name = "COMMITMENT")]
    root: Commitment,
    /// The query whose answer it is
    #[arg(long, value_name = "QUERY")]
    sql: String,
    /// Schema of the table (TOML)
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Refuse the schema unless it has this digest, which status shows
    #[arg(long, value_name = "HEX")]
    schema_digest: Option<Digest>,
    /// The answer is over the rows with this canonical digest, which verify --leaves shows of a batch proof and its rows
    #[arg(long, value_name = "HEX")]
    digest: Option<Digest>,
    /// Accept proofs of this profile too: johnson or paper. Repeat for both
    #[arg(long, value_name = "PROFILE", value_parser = parse_profile)]
    allow_profile: Vec<Profile>,
    /// Directory in which keys are kept from run to run, trusted like this program [default: $EVERGROVE_KEYS, or
    /// evergrove/keys in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let schema = files::schema(&args.schema)?;
    if let Some(expected) = args.schema_digest.filter(|d| *d != schema.digest()) {
        let message = format!("the schema has the digest {}, --schema-digest is {expected}", schema.digest());
        return Err(Mistake::refused(message, "ask for the schema of the table"));
    }
    let query = query(&schema, &args.sql)?;
    let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
    let scheme = if args.digest.is_some() { Scheme::Selected } else { Scheme::Complete };
    let policy = args.allow_profile.iter().fold(Policy::default(), |p, profile| p.allow_profile(*profile));
    let policy = policy.allow_app(app.id(), scheme);

    let bytes = files::read(&args.proof, MAX_SUCCINCT_BYTES, "check the path: no proof is that long")?;
    let refused = |message: String| Mistake::refused(message, "ask for a proof of this query at this commitment");
    let claimed = BatchProof::decode(&bytes).map_err(|e| refused(format!("not a proof file: {e}")))?;
    // What the file claims decides which keys are built; whether it is accepted, the policy alone.
    policy.check(&claimed, &args.root).map_err(|e| refused(format!("refused by the policy: {e}")))?;
    if claimed.scheme != scheme.name() {
        let found =
            if claimed.scheme == Scheme::Selected.name() { "over rows that it chooses" } else { "of another kind" };
        let remedy = "name the rows with --digest, or ask for a proof over all rows";
        return Err(Mistake::refused(format!("the proof is {found}, not {}", over(scheme)), remedy));
    }
    let class = HeightClass::of(args.root.height).unwrap_or(HeightClass::H40);
    let keys = backends::keys_dir(args.keys.as_deref());
    let mut backends = Backends::new();
    let bits = apps::add_verifier(&mut backends, app.clone(), scheme, claimed.profile, class, keys.as_deref())?;

    let start = Instant::now();
    let verified = verify(&bytes, &args.root, None, &policy, &backends)?;
    let elapsed = start.elapsed().as_secs_f64();
    let output = verified.app.filter(|a| a.app == app.id() && verified.scheme == scheme);
    let Some(output) = output else { return Err(refused("the proof states no answer to this query".into())) };
    let found = verified.statement.canonical;
    if let Some(expected) = args.digest.filter(|d| *d != found) {
        let message = format!("the answer is over rows with the digest {found}, --digest is {expected}");
        return Err(Mistake::refused(message, "ask for the proof over these rows"));
    }
    let answer = query.answer(&output.output).map_err(|e| refused(e.to_string()))?;

    let mut report = Report::default();
    report.add_as("accepted", true, "yes");
    report.add("commitment", args.root.to_string());
    report.add("query", args.sql.clone());
    add_answer(&mut report, &answer);
    report.add("over", over(scheme));
    report.hidden("canonical_digest", args.digest.map(|d| d.to_string()));
    report.add("schema_digest", schema.digest().to_string());
    report.hidden("application", output.app.to_string());
    report.hidden("scheme", scheme.name());
    report.add("profile", verified.profile.name());
    report.hidden("proof_kind", verified.kind.name());
    report.hidden("proof_bytes", bytes.len());
    report.add_as("seconds", elapsed, seconds(elapsed));
    proving::add_soundness(&mut report, bits);
    report.print(terminal.format);
    Ok(())
}

fn over(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Complete => "all rows of the table",
        _ => "the rows with the digest that was given, each once",
    }
}
