//! `evergrove app verify`.

use std::path::PathBuf;

use anyhow::Result;
use evergrove::apps::catalog::Catalog;
use evergrove::commit::schema::Schema;
use evergrove::primitives::Digest;
use evergrove::proof::Scheme;

use super::super::Terminal;
use super::super::verify::read_leaves;
use super::Named;
use super::prove::add_output;
use crate::apps::VerifyArgs;
use crate::args::RowsArgs;
use crate::exit::CliError;
use crate::files;
use crate::report::Report;

/// Verify the proof of an application's output, without a store
///
/// Take the parameters and the schema from a source that you trust: the verifier builds the circuits of the application and
/// takes no key from the prover.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    app: Named,
    #[command(flatten)]
    verify: VerifyArgs,
    /// Schema of the table (TOML); not needed for values (columns e0 to e3, or raw)
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Refuse the schema unless it has this digest, which status shows
    #[arg(long, value_name = "HEX", requires = "schema")]
    schema_digest: Option<Digest>,
    #[command(flatten)]
    over: Over,
    #[command(flatten)]
    rows: RowsArgs,
}

/// The rows that the output must be about.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Over {
    /// The output is over all rows of the table
    #[arg(long)]
    all: bool,
    /// The output is over the rows of this file with their positions, in the column "index" or as --index-column or --indices say
    #[arg(long, value_name = "FILE")]
    leaves: Option<PathBuf>,
    /// The output is over the rows with this canonical digest, which verify --leaves shows of a batch proof and its rows
    #[arg(long, value_name = "HEX")]
    digest: Option<Digest>,
    /// The output is over some rows of the table, each once; it is not checked which
    #[arg(long)]
    some: bool,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let schema = args.schema.as_deref().map_or_else(|| Ok(Schema::raw()), files::schema)?;
    if let Some(expected) = args.schema_digest.filter(|d| *d != schema.digest()) {
        let message = format!("the schema has the digest {}, --schema-digest is {expected}", schema.digest());
        return Err(CliError::refused(message, "ask for the schema of the table"));
    }
    let app = catalog.parse(&args.app.name, &args.app.parameters, &schema)?;
    let leaves = args.over.leaves.as_deref().map(|path| read_leaves(path, &schema, &args.rows)).transpose()?;
    let (scheme, over) = match (&args.over, &leaves) {
        (Over { all: true, .. }, _) => (Scheme::Complete, "all rows of the table"),
        (_, Some(_)) => (Scheme::Selected, "the rows that were given, each once"),
        (Over { digest: Some(_), .. }, None) => {
            (Scheme::Selected, "the rows with the digest that was given, each once")
        }
        _ => (Scheme::Selected, "some rows of the table, each once; nothing is known about which"),
    };
    let rows = match scheme {
        Scheme::Complete => "all rows",
        _ if args.over.some => "some rows",
        _ => "these rows",
    };
    let wanted = format!("{} with these parameters over {rows}", app.name());
    let accepted = args.verify.verify(&[app.clone().into()], scheme, leaves.as_deref(), &wanted)?;
    accepted.check_digest("output", args.over.digest)?;

    let mut report = Report::accepted(&args.verify.root);
    add_output(&mut report, &app, &accepted.output);
    accepted.add_rows_to(&mut report, over, leaves.as_ref().map(Vec::len), &schema);
    report.print(terminal.format)
}
