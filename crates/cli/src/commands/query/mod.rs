//! `evergrove query`: explain, answer, prove, verify.

mod answer;
mod verify;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use evergrove::apps::MapReduce;
use evergrove::apps::aggregate::{Aggregate, Listed, Listing, ListingError, Query, SqlError};
use evergrove::apps::catalog::{Application, Catalog};
use evergrove::commit::schema::{Row, Schema};
use evergrove::proof::wire::{Bundle, RowsForm};
use evergrove::proof::{Profile, Scheme};
use evergrove::store::input::{Format, read_indices};
use evergrove::store::{BatchReport, Store};
use evergrove::{Error, Groups};

use self::answer::{Form, Grid};
use self::verify::Verifying;
use super::Terminal;
use super::app::aggregate::{application, pinned};
use super::app::proving::{Job, ProveArgs};
use super::export;
use crate::args::{Output, ProvingArgs, StoreArgs};
use crate::exit::CliError;
use crate::files;
use crate::report::{Report, size};

/// Ask a query of a table: the answer with a proof, or without one, or what a proof would cost; and verify answers
///
/// Aggregates, by groups too, over all rows or those of a batch; rows that pass a condition, complete; the first rows of an order. Without --explain, --unproven or
/// --verify the answer is proven. It becomes a batch of the store, which update refreshes; for listed rows ask again after an update.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("mode"))]
pub(crate) struct Args {
    /// The query, like "SELECT status, SUM(total) FROM t GROUP BY status"
    #[arg(value_name = "QUERY", required_unless_present = "verify")]
    sql: Option<String>,
    /// Directory of the store
    #[arg(long, value_name = "DIR", required_unless_present = "verify", conflicts_with = "verify")]
    store: Option<PathBuf>,
    /// Say what would be proven and what it would cost, and write nothing
    #[arg(long, group = "mode", conflicts_with = "verify")]
    explain: bool,
    /// Answer from the rows of the store at once, without a proof
    #[arg(long, group = "mode", conflicts_with = "verify")]
    unproven: bool,
    /// Prove the answer, as without any of these flags
    #[arg(long, group = "mode", conflicts_with = "verify")]
    prove: bool,
    /// Over the rows of this batch [default: over all rows of the table]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["indices", "verify"])]
    batch: Option<String>,
    /// Over the rows at these positions: a list like 0,5,9-20, or a file of such lists
    #[arg(long, value_name = "LIST|FILE", conflicts_with = "verify")]
    indices: Option<String>,
    /// Print only the answer, in this form: table, csv or jsonl; by default it is part of a report
    #[arg(long, value_name = "FORM", value_enum, conflicts_with_all = ["explain", "verify"])]
    output_format: Option<Form>,
    /// Name of the batch that holds the answer [default: made from the query]
    #[arg(long, value_name = "NAME", conflicts_with = "verify")]
    name: Option<String>,
    /// By circuits of a small fixed set, whose keys every verifier pins
    #[arg(long, conflicts_with_all = ["verify", "unproven"])]
    pinned: bool,
    /// Security profile [default: grove-100]
    #[arg(long, value_name = "PROFILE", conflicts_with = "verify")]
    profile: Option<Profile>,
    /// Write the answer to this one file, for --verify: query, proof, schema, and groups, or rows and their Merkle paths
    #[arg(long, value_name = "FILE", conflicts_with_all = ["verify", "unproven", "explain"])]
    out: Option<PathBuf>,
    #[command(flatten)]
    proving: ProvingArgs,
    #[command(flatten)]
    verifying: Verifying,
}

pub(crate) fn run(args: Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    if let Some(path) = &args.verifying.verify {
        return args.verifying.run(path, args.sql.as_deref(), args.proving.keys.as_deref(), terminal);
    }
    // The parser requires both.
    let (Some(sql), Some(dir)) = (args.sql.clone(), args.store.clone()) else { return Ok(()) };
    if args.output_format.is_some() && terminal.format == Output::Json {
        let message = "--output-format: --format json prints the answer within a report";
        return Err(CliError::usage(message, "leave one of the two out"));
    }
    let store = Store::open(&dir)?;
    let members = match (&args.batch, &args.indices) {
        (Some(name), _) => Some(store.members(name)?),
        (None, Some(list)) => Some(read_indices(list)?),
        (None, None) => None,
    };
    let start = Instant::now();
    let question = Question::of(&store, &sql, members.as_deref(), args.pinned)?;
    if args.unproven {
        return unproven(&question, &store, members.as_deref(), args.output_format, start, terminal);
    }
    let scheme = if members.is_some() { Scheme::Selected } else { Scheme::Complete };
    let app = question.application();
    let name = args.name.clone().unwrap_or_else(|| {
        let over = args.batch.as_deref().unwrap_or(if members.is_some() { "some" } else { "all" });
        format!("{over}.query-{}", &app.id().parameters.to_string()[..8])
    });
    files::check(args.out.iter())?;
    let mut proving = args.proving;
    proving.dry_run |= args.explain;
    let dry_run = proving.dry_run;
    let mut report = Report::default();
    report.add("query", sql.as_str());
    if dry_run {
        question.explain(&mut report, scheme);
    }
    let job = Job { app, scheme, name, members: members.unwrap_or_default() };
    let prove = ProveArgs { store: StoreArgs { store: dir }, profile: args.profile, out: None, proving };
    let mut answered = None;
    let report = prove.report(&store, catalog, job, report, terminal, |report, batch| {
        let grid = question.grid(batch)?;
        if args.output_format.is_none() {
            grid.add_to(report);
        }
        if let Some(path) = &args.out {
            let bytes = question.bundle(&store, &sql, batch)?;
            files::write(path, |out| Ok(out.write_all(&bytes)?))?;
            report.add_as(
                "out",
                path.display().to_string(),
                format!("{} ({})", path.display(), size(bytes.len() as u64)),
            );
            report.hidden("out_bytes", bytes.len());
        }
        answered = Some(grid);
        Ok(())
    })?;
    match (args.output_format, answered) {
        (Some(form), Some(grid)) => grid.print(form),
        _ => report.print(terminal.format),
    }
}

/// The meaning of a query.
enum Question {
    /// Aggregates of rows, by the groups that were found.
    Aggregates { query: Query, groups: Groups },
    /// The rows themselves.
    Rows { listing: Listing, listed: Listed },
}

impl Question {
    fn of(store: &Store, sql: &str, members: Option<&[u64]>, use_pinned: bool) -> Result<Self> {
        if let Some(listing) = listing(store.schema(), sql)? {
            if members.is_some() {
                let remedy = "leave --batch and --indices out, or write the rows of a batch with export --leaves";
                return Err(CliError::usage("a query that lists rows is over all rows of the table", remedy));
            }
            if use_pinned {
                return Err(CliError::usage("--pinned: not for queries that list rows", "leave it out"));
            }
            let listed = evergrove::listing::find(&store.view()?, &listing).map_err(|e| match e {
                Error::Listing(ListingError::Many { .. }) => {
                    CliError::usage(e.to_string(), "narrow WHERE, or add ORDER BY and LIMIT")
                }
                e => e.into(),
            })?;
            return Ok(Self::Rows { listing, listed });
        }
        let of_query = |e: Error| match e {
            Error::Query(e) => refused(e),
            e => e.into(),
        };
        let groups = Groups::of_store(store, sql, members).map_err(of_query)?;
        let query = groups.query(store.schema(), sql).map_err(of_query)?;
        let query = if use_pinned { pinned(&query)? } else { query };
        Ok(Self::Aggregates { query, groups })
    }

    fn application(&self) -> Application {
        match self {
            Self::Aggregates { query, .. } => application(query),
            Self::Rows { listed, .. } => evergrove::listing::application(listed),
        }
    }

    /// The answer that a proof shows.
    fn grid(&self, batch: &BatchReport) -> Result<Grid> {
        match self {
            Self::Aggregates { query, .. } => {
                let answer = query.answer(&batch.output).map_err(|e| CliError::usage(e.to_string(), "run doctor"))?;
                Ok(Grid::of_answer(&answer))
            }
            Self::Rows { listing, listed } => {
                listed.accept(&batch.output).map_err(|e| CliError::usage(e.to_string(), "run doctor"))?;
                Ok(Grid::of_rows(listing, listed.rows()))
            }
        }
    }

    /// Adds what is proven.
    fn explain(&self, report: &mut Report, scheme: Scheme) {
        let (plan, kind, shown) = match self {
            Self::Aggregates { query, groups } if groups.lists().is_empty() => {
                (query.plan(), "aggregates", "the answer is what all of these rows come to")
            }
            Self::Aggregates { query, .. } => (
                query.plan(),
                "groups",
                "every group, different value or content of these rows is known: their counts add up to that of all",
            ),
            Self::Rows { listing, listed } if listing.limit() != Some(listed.rows().len()) => (
                listed.plan(),
                "rows",
                "the rows are all that pass the condition: their number is proven, and each has a Merkle path",
            ),
            Self::Rows { listed, .. } => (
                listed.plan(),
                "first rows",
                "no row comes before these in the order: the number of those before the last is proven, and each row has a Merkle path",
            ),
        };
        report.add("kind", kind);
        report.add("over", if scheme == Scheme::Complete { "all rows of the table" } else { "the rows of the batch" });
        report.add("shows", shown);
        match self {
            Self::Aggregates { query, groups } => {
                let values: usize = groups.lists().iter().map(|(_, rows)| rows.len()).sum();
                if values > 0 {
                    report.add("groups", values);
                }
                let fits = query.pinned().err().map(|e| e.to_string());
                report.add_as("fits_pinned", fits.is_none(), fits.map_or("yes".into(), |why| format!("no: {why}")));
            }
            Self::Rows { listed, .. } => report.add("rows_listed", listed.rows().len()),
        }
        let names = plan.columns().into_iter().map(|c| plan.schema().columns()[usize::from(c)].name.clone());
        report.add("columns_read", names.collect::<Vec<_>>().join(", "));
        report.add("numbers_proven", plan.accumulators().len());
        let conditions =
            plan.filter().tests().count() + plan.conditions().iter().map(|c| c.tests().count()).sum::<usize>();
        report.add("conditions", conditions);
    }

    /// The answer over the rows of a store or over some of them, without a proof.
    fn unproven(&self, store: &Store, members: Option<&[u64]>) -> Result<Grid> {
        let query = match self {
            Self::Rows { listing, listed } => return Ok(Grid::of_rows(listing, listed.rows())),
            Self::Aggregates { query, .. } => query,
        };
        let app = Aggregate::new(query.plan().clone());
        let view = store.view()?;
        let mut output = app.identity();
        let mut add = |row: &Row| -> Result<()> {
            output = app.reduce(&output, &app.map_row(row)?)?;
            Ok(())
        };
        match members {
            Some(members) => {
                for &index in members {
                    let missing = || evergrove::store::Error::EmptySlot { index, batch: None };
                    add(&view.row(index)?.ok_or_else(missing)?)?;
                }
            }
            None => {
                let mut found = Ok(());
                view.for_each_row(|_, row| {
                    if found.is_ok() {
                        found = add(&row);
                    }
                    Ok(())
                })?;
                found?;
            }
        }
        let answer = query.answer(&output).map_err(|e| CliError::usage(e.to_string(), "run doctor"))?;
        Ok(Grid::of_answer(&answer))
    }

    /// One file with the answer and everything that a verifier needs besides the commitment and a trusted schema.
    fn bundle(&self, store: &Store, sql: &str, batch: &BatchReport) -> Result<Vec<u8>> {
        let proof = store.export(&batch.name)?;
        let schema = store.schema().to_toml();
        let (mut rows, mut listed_groups, mut paths) = (Vec::new(), String::new(), None);
        match self {
            Self::Aggregates { groups, .. } => {
                listed_groups = groups.to_string();
                if !batch.backend.choice.scheme.is_complete() {
                    let members = store.members(&batch.name)?;
                    export::fill(store, &batch.name, &members, &mut rows, Format::Jsonl, false)?;
                }
            }
            Self::Rows { listed, .. } => {
                let mut positions: Vec<u64> = listed.rows().iter().map(|(index, _)| *index).collect();
                positions.sort_unstable();
                export::fill(store, &batch.name, &positions, &mut rows, Format::Jsonl, false)?;
                paths = Some(store.view()?.multiproof(&positions)?.encode());
            }
        }
        let bundle = Bundle {
            proof: &proof,
            rows: (!rows.is_empty()).then_some((RowsForm::Jsonl, &rows)),
            schema: Some(schema.as_bytes()),
            query: Some(sql.as_bytes()),
            groups: (!listed_groups.is_empty()).then_some(listed_groups.as_bytes()),
            paths: paths.as_deref(),
            ..Bundle::default()
        };
        bundle.encode().map_err(|e| CliError::usage(e.to_string(), "narrow the query"))
    }
}

fn unproven(
    question: &Question,
    store: &Store,
    members: Option<&[u64]>,
    form: Option<Form>,
    start: Instant,
    terminal: Terminal,
) -> Result<()> {
    let grid = question.unproven(store, members)?;
    if let Some(form) = form {
        return grid.print(form);
    }
    let elapsed = start.elapsed();
    let mut report = Report::default();
    grid.add_to(&mut report);
    report.add("commitment", store.commitment()?.to_string());
    report.add_as("proven", false, "no: these are the rows of the store, and no proof was made");
    report.add_time("seconds", elapsed);
    report.print(terminal.format)
}

/// The query of a text, if it lists rows.
fn listing(schema: &Schema, sql: &str) -> Result<Option<Listing>> {
    Listing::parse(schema, sql).map_err(refused)
}

fn refused(e: SqlError) -> anyhow::Error {
    CliError::usage(format!("query: {e}"), e.remedy())
}
