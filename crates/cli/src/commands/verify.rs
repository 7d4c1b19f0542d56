//! `evergrove verify`.

use std::borrow::Borrow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use evergrove::commit::schema::{Row, Schema};
use evergrove::primitives::Digest;
use evergrove::proof::tree::Value;
use evergrove::proof::wire::{Bundle, OPENING_MAGIC, RowsForm};
use evergrove::proof::{BackendId, Commitment, Opening, Policy, Profile, Scheme};
use evergrove::store::input::{Format, IndexSource, InputError, Table};
use evergrove::store::{Backends, verify};
use evergrove::{Backend, Config};

use super::Terminal;
use crate::args::{RowsArgs, parse_scheme};
use crate::exit::CliError;
use crate::report::{Report, count};
use crate::{files, results};

/// Greatest size of a succinct proof or an opening in bytes.
pub(crate) const MAX_SUCCINCT_BYTES: u64 = evergrove::store::MAX_SUCCINCT_BYTES as u64;
/// Greatest size of a proof of the backend `native` in bytes: it contains its witness.
pub(crate) const MAX_NATIVE_BYTES: u64 = 1 << 32;

/// Verify a proof or an opening against a commitment, without a store
///
/// With --leaves, shows that the rows of the file are at their positions in the committed table. Without it, shows only that
/// the digest d in the proof is the root of some hash tree over a non-empty set of rows of the table: nothing is known about
/// which rows, nor that d is their canonical digest.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("judged").required(true))]
pub(crate) struct Args {
    /// The proof, or an opening
    #[arg(long, value_name = "FILE", group = "judged")]
    proof: Option<PathBuf>,
    /// One file with proof, rows and schema, which export --bundle writes. Its schema is used only if it has the --schema-digest
    #[arg(long, value_name = "FILE", groups = ["judged", "rows_file"], conflicts_with = "input_format")]
    bundle: Option<PathBuf>,
    /// The commitment, like evergrove1:27:0123..
    #[arg(long, value_name = "COMMITMENT")]
    root: Commitment,
    /// The rows of the batch with their positions, in the column "index" or as --index-column or --indices say
    #[arg(long, value_name = "FILE", group = "rows_file")]
    leaves: Option<PathBuf>,
    /// Schema of the rows (TOML); not needed for values (columns e0 to e3, or raw)
    #[arg(long, value_name = "FILE", requires = "rows_file")]
    schema: Option<PathBuf>,
    /// Refuse the rows unless the schema has this digest, which status shows: for a schema from a source that is not trusted
    #[arg(long, value_name = "HEX", requires = "rows_file")]
    schema_digest: Option<Digest>,
    /// Refuse the proof unless it is about this canonical digest, for example one computed from rows seen before
    #[arg(long, value_name = "HEX")]
    digest: Option<Digest>,
    #[command(flatten)]
    rows: RowsArgs,
    /// Accept proofs of this profile too: grove-128, johnson or paper. Repeat for several
    #[arg(long, value_name = "PROFILE")]
    allow_profile: Vec<Profile>,
    /// Accept proofs of this backend too, like native or native:1
    #[arg(long, value_name = "NAME")]
    allow_backend: Vec<String>,
    /// Accept proofs of this scheme too: reckle-paper, which is sound only for a commitment by an honest party
    #[arg(long, value_name = "NAME", value_parser = parse_scheme)]
    allow_scheme: Vec<Scheme>,
}

impl Args {
    /// The file with the proof.
    fn given(&self) -> &Path {
        // The parser requires one of the two.
        self.proof.as_deref().or(self.bundle.as_deref()).unwrap_or(Path::new(""))
    }
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let backends = Config::default().verifiers();
    let policy = policy(args, &backends)?;
    let (bytes, leaves) = match &args.bundle {
        Some(path) => from_bundle(args, path)?,
        None => (proof_file(args, &policy)?, leaves(args)?),
    };
    let start = Instant::now();
    if bytes.starts_with(&OPENING_MAGIC) {
        return opening(args, &bytes, leaves.as_ref(), terminal);
    }
    let rows = leaves.as_ref().map(|l| l.rows.as_slice());
    let verified = verify(&bytes, &args.root, rows, &policy, &backends)?;
    let found = verified.statement.canonical;
    if let Some(expected) = args.digest.filter(|d| *d != found) {
        let message = format!("the proof is about the digest {found}, --digest is {expected}");
        return Err(CliError::refused(message, "ask for the proof of that batch at this commitment"));
    }
    let setup = backends.setup_time();
    let elapsed = start.elapsed().saturating_sub(setup);

    let mut report = Report::accepted(&args.root);
    report.add("canonical_digest", found.to_string());
    report.hidden("digest_checked", args.digest.is_some());
    results::add_scheme(&mut report, verified.scheme);
    report.add("backend", verified.backend.name.clone());
    report.add("profile", verified.profile.name());
    report.hidden("proof_kind", verified.kind.name());
    report.hidden("proof_bytes", bytes.len());
    report.add_time("setup_seconds", setup);
    report.add_time("seconds", elapsed);
    report.hidden("leaves", verified.leaves.map_or(serde_json::Value::Null, Into::into));
    add_leaves(&mut report, leaves.as_ref());
    let shown = match verified.leaves {
        Some(n) if verified.scheme == Scheme::RecklePaper => format!(
            "each of the {} is a leaf of the table of this commitment, and at its position if an honest party has made the \
             commitment",
            count(n, "row")
        ),
        Some(n) => format!("each of the {} is at its position in the table of this commitment", count(n, "row")),
        None => format!(
            "{found} is the root of some hash tree over a non-empty set of leaves of the table of this commitment; nothing is \
             known about which"
        ),
    };
    report.add("shown", shown);
    match (verified.leaves, args.digest) {
        (Some(_), _) => {}
        (None, None) => {
            report.note("note: no rows were checked, and nothing is known about which: give them with --leaves")
        }
        (None, Some(_)) => report.note("note: no rows were checked; of them is known what is known of --digest"),
    }
    results::bits(&mut report, &verified.backend.name, verified.profile, verified.class);
    report.print(terminal.format)
}

/// Reads the file with the proof.
fn proof_file(args: &Args, policy: &Policy) -> Result<Vec<u8>> {
    let path = args.given();
    if policy.backends().iter().any(|b| b.name == Backend::Native.name()) {
        return files::read_proof(path, MAX_NATIVE_BYTES, "check the path: no proof is that long");
    }
    let remedy = "check the path: only proofs of the backend native are that long, and need --allow-backend native";
    files::read_proof(path, MAX_SUCCINCT_BYTES, remedy)
}

/// Proof and leaves of a bundle. The maker of the bundle does not choose the schema.
fn from_bundle(args: &Args, path: &Path) -> Result<(Vec<u8>, Option<Leaves>)> {
    let bytes = files::read(path, Bundle::MAX_BYTES as u64, "check the path: no bundle is that long")?;
    let remedy = "ask for a new bundle, made by export --bundle";
    let bundle = Bundle::decode(&bytes).map_err(|e| CliError::usage(format!("{}: {e}", path.display()), remedy))?;
    if bundle.query.is_some() {
        let message = format!("{}: holds the answer to a query", path.display());
        return Err(CliError::usage(message, "verify it with query --verify"));
    }
    let proof = bundle.proof.to_vec();
    let Some((form, text)) = bundle.rows else { return Ok((proof, None)) };
    let name = path.join("schema.toml");
    let schema = match (&args.schema, bundle.schema) {
        (Some(path), _) => files::schema(path)?,
        (None, None) => Schema::raw(),
        (None, Some(text)) if args.schema_digest.is_some() => files::parse_schema(&name, text.to_vec())?,
        (None, Some(_)) => {
            let message = format!("{}: the schema comes from whoever made the bundle", name.display());
            let remedy = "pass --schema-digest HEX from the source of the commitment, or --schema FILE";
            return Err(CliError::usage(message, remedy));
        }
    };
    let digest = checked_digest(args, &schema, args.schema.as_ref().or(bundle.schema.and(Some(&name))))?;
    let name = path.join(match form {
        RowsForm::Csv => "rows.csv",
        RowsForm::Jsonl => "rows.jsonl",
    });
    let rows = table_of_leaves(&name, &schema, &args.rows)?.with_text(text);
    Ok((proof, Some(Leaves { rows: values(rows.rows()?, &schema)?, schema: digest })))
}

/// Adds whether leaves were given, and the digest of their schema.
fn add_leaves(report: &mut Report, leaves: Option<&Leaves>) {
    report.hidden("leaves_checked", leaves.is_some());
    match leaves {
        Some(leaves) => report.add("schema_digest", leaves.schema.to_string()),
        None => report.hidden("schema_digest", serde_json::Value::Null),
    }
}

fn opening(args: &Args, bytes: &[u8], leaves: Option<&Leaves>, terminal: Terminal) -> Result<()> {
    if args.digest.is_some() {
        let message = format!("{}: an opening has no canonical digest", args.given().display());
        return Err(CliError::usage(message, "leave --digest out, or give the proof of a batch"));
    }
    let remedy = "ask for a new opening";
    let start = Instant::now();
    let opening = Opening::decode(bytes).map_err(|e| CliError::refused(format!("not an opening: {e}"), remedy))?;
    opening.verify(&args.root).map_err(|e| CliError::refused(e.to_string(), remedy))?;
    if let Some(leaves) = leaves {
        let claimed = match leaves.rows.as_slice() {
            [(index, value)] => *index == opening.index && Some(*value) == opening.value,
            _ => false,
        };
        if !claimed {
            let what = if opening.value.is_some() { "holds another row" } else { "is empty" };
            let message = format!("the opened slot {} {what}", opening.index);
            return Err(CliError::refused(message, "give the row of that slot, and no other"));
        }
    }
    let elapsed = start.elapsed();
    let mut report = Report::accepted(&args.root);
    report.add("index", opening.index);
    report.add_as("filled", opening.value.is_some(), if opening.value.is_some() { "yes" } else { "no" });
    if let Some(value) = &opening.value {
        report.add("value", value.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    report.add_time("seconds", elapsed);
    add_leaves(&mut report, leaves);
    let shown = match (opening.value.is_some(), leaves.is_some()) {
        (true, true) => "the row is at its position in the table of this commitment",
        (true, false) => "the slot has this value in the table of this commitment",
        (false, _) => "the slot is empty in the table of this commitment",
    };
    report.add("shown", shown);
    report.print(terminal.format)
}

/// The default policy, with what the flags allow in addition.
fn policy(args: &Args, backends: &Backends) -> Result<Policy> {
    let mut policy = Policy::default();
    for profile in &args.allow_profile {
        policy = policy.allow_profile(*profile);
    }
    for scheme in &args.allow_scheme {
        policy = policy.allow_scheme(scheme.name());
    }
    for text in &args.allow_backend {
        let (name, version) = match text.split_once(':') {
            Some((name, version)) => (name, Some(version)),
            None => (text.as_str(), None),
        };
        let known = backends.specs().find(|s| s.choice.name == name).map(|s| s.version);
        let version = match version {
            Some(text) => text.parse().ok(),
            None => known,
        };
        let Some(version) = version else {
            return Err(CliError::usage(
                format!("--allow-backend {text}: no such backend"),
                "write grove, plonky2, native, or NAME:VERSION",
            ));
        };
        policy = policy.allow_backend(BackendId::new(name, version));
    }
    Ok(policy)
}

/// The leaves to verify.
struct Leaves {
    /// Positions and values, sorted by position.
    rows: Vec<(u64, Value)>,
    /// Digest of the schema by which the rows were read.
    schema: Digest,
}

fn leaves(args: &Args) -> Result<Option<Leaves>> {
    let Some(path) = &args.leaves else { return Ok(None) };
    let schema = match &args.schema {
        Some(path) => files::schema(path)?,
        None => Schema::raw(),
    };
    let digest = checked_digest(args, &schema, args.schema.as_ref())?;
    let rows = read_leaves(path, &schema, &args.rows).map_err(|e| match e.downcast() {
        Ok(e) => without_schema(args, e),
        Err(e) => e,
    })?;
    Ok(Some(Leaves { rows, schema: digest }))
}

/// The digest of the schema, if it is the expected one. `path` is the file of the schema.
fn checked_digest(args: &Args, schema: &Schema, path: Option<&PathBuf>) -> Result<Digest> {
    let digest = schema.digest();
    if let Some(expected) = args.schema_digest.filter(|d| *d != digest) {
        let what = path.map_or("raw values".into(), |p| p.display().to_string());
        let message = format!("{what}: the digest of this schema is {digest}, --schema-digest is {expected}");
        return Err(CliError::refused(message, "get the schema that has this digest, and name it with --schema"));
    }
    Ok(digest)
}

/// The rows of a file with their positions, ascending, as values of this schema.
pub(super) fn read_leaves(path: &Path, schema: &Schema, args: &RowsArgs) -> Result<Vec<(u64, Value)>> {
    values(table_of_leaves(path, schema, args)?.rows()?, schema)
}

fn table_of_leaves(path: &Path, schema: &Schema, args: &RowsArgs) -> Result<Table> {
    let format = files::format_of(path, args.input_format, "--input-format")?;
    if format == Format::Raw && args.indices.is_none() {
        let remedy = "name their positions with --indices";
        return Err(CliError::usage(format!("{}: raw values have no positions", path.display()), remedy));
    }
    let index = IndexSource::Column(schema.index_name());
    files::table(path, args, Some(schema.clone()), index)
}

/// The values of rows, by ascending position.
pub(super) fn values<R: Borrow<Row>>(
    rows: impl Iterator<Item = Result<(u64, R), InputError>>,
    schema: &Schema,
) -> Result<Vec<(u64, Value)>> {
    let mut leaves = Vec::new();
    for row in rows {
        let (index, row) = row?;
        leaves.push((index, schema.value(row.borrow())?));
    }
    leaves.sort_by_key(|(index, _)| *index);
    Ok(leaves)
}

/// The error for rows that were read as values because no schema was given.
fn without_schema(args: &Args, e: InputError) -> anyhow::Error {
    use evergrove::store::input::Problem::{Lacking, NoColumn};
    let missing = matches!(&*e.problem, NoColumn { name, .. } | Lacking { name, .. } if name.starts_with('e'));
    if args.schema.is_none() && missing {
        let remedy =
            "give the schema of the rows with --schema (export --schema FILE writes it), or values in e0 to e3";
        return CliError::usage(e.to_string(), remedy);
    }
    e.into()
}
