//! `evergrove app verify-aggregate`.

use std::path::PathBuf;

use anyhow::Result;
use evergrove::AppKey;
use evergrove::apps::catalog::Application;
use evergrove::primitives::Digest;
use evergrove::proof::Scheme;

use super::super::Terminal;
use super::super::verify::read_leaves;
use super::aggregate::{add_answer, application, forms};
use crate::apps::VerifyArgs;
use crate::args::RowsArgs;
use crate::exit::CliError;
use crate::files;
use crate::report::Report;

/// Verify the proof of an answer to a query, without a store
///
/// Take the query and the schema from a source that you trust: the verifier builds the circuits of the query and
/// takes no key from the prover. Accepted is an answer over all rows of the table, or with --leaves or --digest over those of a
/// batch.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    verify: VerifyArgs,
    /// The query whose answer it is
    #[arg(long, value_name = "QUERY")]
    sql: String,
    /// The groups of a query with GROUP BY, DISTINCT or LIKE, one JSON object a line, from anyone: that none is missing is checked
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Schema of the table (TOML)
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Refuse the schema unless it has this digest, which status shows
    #[arg(long, value_name = "HEX")]
    schema_digest: Option<Digest>,
    /// The answer is over the rows with this canonical digest, which verify --leaves shows of a batch proof and its rows
    #[arg(long, value_name = "HEX")]
    digest: Option<Digest>,
    /// The answer is over the rows of this file with their positions, in the column "index" or as --index-column or --indices
    /// say
    #[arg(long, value_name = "FILE")]
    leaves: Option<PathBuf>,
    #[command(flatten)]
    rows: RowsArgs,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let schema = files::schema(&args.schema)?;
    if let Some(expected) = args.schema_digest.filter(|d| *d != schema.digest()) {
        let message = format!("the schema has the digest {}, --schema-digest is {expected}", schema.digest());
        return Err(CliError::refused(message, "ask for the schema of the table"));
    }
    let queries = forms(&schema, &args.sql, args.groups.as_deref())?;
    let apps: Vec<Application> = queries.iter().map(application).collect();
    let leaves = args.leaves.as_deref().map(|path| read_leaves(path, &schema, &args.rows)).transpose()?;
    let (scheme, wanted, over) = match (&leaves, args.digest) {
        (Some(_), _) => (Scheme::Selected, "the answer over these rows", "the rows that were given, each once"),
        (None, Some(_)) => {
            (Scheme::Selected, "the answer over a batch", "the rows with the digest that was given, each once")
        }
        (None, None) => (Scheme::Complete, "the answer over all rows", "all rows of the table"),
    };
    let accepted = args.verify.verify(&apps, scheme, leaves.as_deref(), wanted)?;
    accepted.check_digest("answer", args.digest)?;
    let answer = queries[accepted.app].answer(&accepted.output);
    let answer =
        answer.map_err(|e| CliError::refused(e.to_string(), "ask for a proof of this query, with all groups"))?;

    let mut report = Report::accepted(&args.verify.root);
    report.add("query", args.sql.clone());
    let (app, verified) = (&apps[accepted.app], &accepted.verified);
    let pinned = AppKey::pinned_digest(app, scheme, verified.profile, verified.class).is_some();
    report.add_as("pinned", pinned, if pinned { "yes: by circuits whose key this program pins" } else { "no" });
    add_answer(&mut report, &answer);
    accepted.add_rows_to(&mut report, over, leaves.as_ref().map(Vec::len), &schema);
    report.print(terminal.format)
}
