//! `evergrove verify`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use evergrove::input::{Format, IndexSource};
use evergrove::{Backends, verify};
use evergrove_commit::schema::Schema;
use evergrove_proof::tree::Value;
use evergrove_proof::wire::OPENING_MAGIC;
use evergrove_proof::{BackendId, Commitment, Opening, Policy, Profile};

use super::Terminal;
use crate::args::{RowsArgs, parse_profile};
use crate::exit::Mistake;
use crate::report::{Report, count, seconds};
use crate::{backends, files, proving};

/// No proof file is longer.
const MAX_PROOF_BYTES: u64 = 1 << 32;

/// Verify a proof or an opening against a commitment, without a store
///
/// With --leaves, shows that the rows of the file are at their positions in the committed table. Without it, shows only that
/// the table has some non-empty set of rows with the canonical digest that the proof names.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The proof, or an opening
    #[arg(long, value_name = "FILE")]
    proof: PathBuf,
    /// The commitment, like evergrove1:27:0123..
    #[arg(long, value_name = "COMMITMENT")]
    root: Commitment,
    /// The rows of the batch with their positions, in the column "index" or as --index-column or --indices say
    #[arg(long, value_name = "FILE")]
    leaves: Option<PathBuf>,
    /// Schema of the rows (TOML); not needed for values (columns e0 to e3, or raw)
    #[arg(long, value_name = "FILE", requires = "leaves")]
    schema: Option<PathBuf>,
    #[command(flatten)]
    rows: RowsArgs,
    /// Accept proofs of this profile too: johnson or paper. Repeat for both
    #[arg(long, value_name = "PROFILE", value_parser = parse_profile)]
    allow_profile: Vec<Profile>,
    /// Accept proofs of this backend too, like native or native:1
    #[arg(long, value_name = "NAME")]
    allow_backend: Vec<String>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let backends = backends::verifiers();
    let policy = policy(args, &backends)?;
    let bytes = files::read(&args.proof, MAX_PROOF_BYTES)?;
    let leaves = leaves(args)?;
    let start = Instant::now();
    if bytes.starts_with(&OPENING_MAGIC) {
        return opening(args, &bytes, leaves.as_deref(), terminal);
    }
    let verified = verify(&bytes, &args.root, leaves.as_deref(), &policy, &backends)?;
    let elapsed = start.elapsed().as_secs_f64();

    let mut report = Report::default();
    report.add_as("accepted", true, "yes");
    report.add("commitment", args.root.to_string());
    report.add("canonical_digest", verified.statement.canonical.to_string());
    report.add("backend", verified.backend.name.clone());
    report.add("profile", verified.profile.name());
    report.hidden("proof_kind", verified.kind.name());
    report.hidden("proof_bytes", bytes.len());
    report.add_as("seconds", elapsed, seconds(elapsed));
    report.hidden("leaves", verified.leaves.map_or(serde_json::Value::Null, Into::into));
    let shown = match verified.leaves {
        Some(n) => format!("each of the {} is at its position in the table of this commitment", count(n, "row")),
        None => format!(
            "the table of this commitment has some non-empty set of leaves with canonical digest {}; without --leaves nothing \
             is shown about which",
            verified.statement.canonical
        ),
    };
    report.add("shown", shown);
    proving::bits(&mut report, &verified.backend.name, verified.profile, verified.class);
    report.print(terminal.format);
    Ok(())
}

fn opening(args: &Args, bytes: &[u8], leaves: Option<&[(u64, Value)]>, terminal: Terminal) -> Result<()> {
    let remedy = "ask for a new opening";
    let start = Instant::now();
    let opening = Opening::decode(bytes).map_err(|e| Mistake::refused(format!("not an opening: {e}"), remedy))?;
    opening.verify(&args.root).map_err(|e| Mistake::refused(e.to_string(), remedy))?;
    if let Some(leaves) = leaves {
        let claimed = match leaves {
            [(index, value)] => *index == opening.index && Some(*value) == opening.value,
            _ => false,
        };
        if !claimed {
            let what = if opening.value.is_some() { "holds another row" } else { "is empty" };
            let message = format!("the opened slot {} {what}", opening.index);
            return Err(Mistake::refused(message, "give the row of that slot, and no other"));
        }
    }
    let elapsed = start.elapsed().as_secs_f64();
    let mut report = Report::default();
    report.add_as("accepted", true, "yes");
    report.add("commitment", args.root.to_string());
    report.add("index", opening.index);
    report.add_as("filled", opening.value.is_some(), if opening.value.is_some() { "yes" } else { "no" });
    if let Some(value) = &opening.value {
        report.add("value", value.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    report.add_as("seconds", elapsed, seconds(elapsed));
    let shown = match (opening.value.is_some(), leaves.is_some()) {
        (true, true) => "the row is at its position in the table of this commitment",
        (true, false) => "the slot has this value in the table of this commitment",
        (false, _) => "the slot is empty in the table of this commitment",
    };
    report.add("shown", shown);
    report.print(terminal.format);
    Ok(())
}

/// The default policy and what is allowed beside it.
fn policy(args: &Args, backends: &Backends) -> Result<Policy> {
    let mut policy = Policy::default();
    for profile in &args.allow_profile {
        policy = policy.allow_profile(*profile);
    }
    for text in &args.allow_backend {
        let (name, version) = match text.split_once(':') {
            Some((name, version)) => (name, Some(version)),
            None => (text.as_str(), None),
        };
        let known = backends.specs().find(|s| s.id.name == name).map(|s| s.id.version);
        let version = match version {
            Some(text) => text.parse().ok(),
            None => known,
        };
        let Some(version) = version else {
            return Err(Mistake::usage(
                format!("--allow-backend {text}: no such backend"),
                "write plonky2, native, or NAME:VERSION",
            ));
        };
        policy = policy.allow_backend(BackendId::new(name, version));
    }
    Ok(policy)
}

/// The leaves, sorted by position.
fn leaves(args: &Args) -> Result<Option<Vec<(u64, Value)>>> {
    let Some(path) = &args.leaves else { return Ok(None) };
    let schema = match &args.schema {
        Some(path) => files::schema(path)?,
        None => Schema::raw(),
    };
    let format = files::format_of(path, args.rows.input_format, "--input-format")?;
    let unlisted = format == Format::Raw && args.rows.indices.is_none();
    if unlisted {
        let remedy = "name their positions with --indices";
        return Err(Mistake::usage(format!("{}: raw values have no positions", path.display()), remedy));
    }
    let index = IndexSource::Column(schema.index_name());
    let table = files::table(path, &args.rows, Some(schema.clone()), index)?;
    let rows = table.rows().map_err(|e| without_schema(args, e))?;
    let mut leaves = Vec::new();
    for row in rows {
        let (index, row) = row.map_err(|e| without_schema(args, e))?;
        leaves.push((index, schema.value(&row)?));
    }
    leaves.sort_by_key(|(index, _)| *index);
    Ok(Some(leaves))
}

/// Rows that were read as values for want of a schema.
fn without_schema(args: &Args, e: evergrove::input::InputError) -> anyhow::Error {
    let missing = matches!(&*e.problem, evergrove::input::Problem::NoColumn { name, .. } if name.starts_with('e'));
    if args.schema.is_none() && missing {
        let remedy =
            "give the schema of the rows with --schema (export --schema FILE writes it), or values in e0 to e3";
        return Mistake::usage(e.to_string(), remedy);
    }
    e.into()
}
