//! `evergrove app aggregate`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use evergrove::Groups;
use evergrove::apps::MapReduce;
use evergrove::apps::aggregate::{Aggregate, Answer, OutputError, Query, Value};
use evergrove::apps::catalog::{Application, Catalog};
use evergrove::commit::schema::Schema;
use evergrove::proof::Scheme;
use evergrove::store::Store;
use evergrove::store::input::read_indices;
use serde_json::{Value as Json, json};

use super::super::Terminal;
use super::groups;
use super::proving::{Job, ProveArgs};
use crate::exit::CliError;
use crate::report::Report;

/// Prove the answer to a query: over all rows of the table, or with --batch over the rows of a batch
///
/// The answer becomes a batch of the store, which update refreshes like any other. --dry-run prints what it would cost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    prove: ProveArgs,
    /// The query, like "SELECT SUM(price), COUNT(*) FROM t WHERE qty BETWEEN 5 AND 9"
    #[arg(long, value_name = "QUERY")]
    sql: String,
    /// By circuits of a small fixed set, whose keys every verifier pins: they take two to four times as long. Without it the circuits follow from the query's
    /// shape, and verifiers build them or take a key file
    #[arg(long)]
    pinned: bool,
    /// The groups of a query with GROUP BY, DISTINCT or LIKE, one JSON object a line [default: those found in the rows]. Missing groups are an error
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Write the groups to this file, for verify-aggregate
    #[arg(long, value_name = "FILE")]
    groups_out: Option<PathBuf>,
    /// Over the rows of this batch [default: over all rows of the table]
    #[arg(long, value_name = "NAME", conflicts_with = "indices")]
    batch: Option<String>,
    /// Over the rows at these positions: a list like 0,5,9-20, or a file of such lists
    #[arg(long, value_name = "LIST|FILE")]
    indices: Option<String>,
    /// Name of the batch that holds the answer [default: made from the query]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.prove.store.store)?;
    let members = match (&args.batch, &args.indices) {
        (Some(name), _) => Some(store.members(name)?),
        (None, Some(list)) => Some(read_indices(list)?),
        (None, None) => None,
    };
    let found = || groups::of_store(&store, &args.sql, members.as_deref());
    let (query, rows) = groups::query(store.schema(), &args.sql, args.groups.as_deref(), found)?;
    let query = if args.pinned { pinned(&query)? } else { query };
    if args.groups_out.is_some() && rows.lists().is_empty() {
        return Err(CliError::usage("--groups-out: the query has no GROUP BY, DISTINCT or LIKE", "leave it out"));
    }
    if args.groups.is_some() {
        groups::check(&found()?, &rows)?;
    }
    let app = application(&query);
    let name = args.name.clone().unwrap_or_else(|| {
        let over = args.batch.as_deref().unwrap_or(if members.is_some() { "some" } else { "all" });
        format!("{over}.aggregate-{}", &app.id().parameters.to_string()[..8])
    });
    let (scheme, over) = match members {
        Some(_) => (Scheme::Selected, "the rows of the batch"),
        None => (Scheme::Complete, "all rows of the table"),
    };
    let job = Job { app, scheme, name, members: members.unwrap_or_default() };
    let mut report = Report::default();
    report.add("query", args.sql.clone());
    args.prove.prove(&store, catalog, job, report, terminal, |report, batch| {
        let answer = query.answer(&batch.output).map_err(|e| {
            let missing = matches!(e, OutputError::Groups { .. } | OutputError::Contents { .. });
            CliError::usage(
                e.to_string(),
                if missing { "add it to --groups, or leave --groups out" } else { "run doctor" },
            )
        })?;
        if let Some(path) = &args.groups_out {
            groups::write(path, &rows)?;
        }
        add_answer(report, &answer);
        report.add("over", over);
        Ok(())
    })
}

/// The query of a text about tables of this schema. Its groups come from a file if it needs any.
pub(crate) fn query(schema: &Schema, sql: &str, groups: Option<&Path>) -> Result<Query> {
    let missing = || {
        let remedy = "give its groups with --groups: app aggregate writes them with --groups-out";
        Err(CliError::usage("--sql: the query has GROUP BY, DISTINCT or LIKE", remedy))
    };
    Ok(groups::query(schema, sql, groups, missing)?.0)
}

/// The query by circuits with pinned keys, if they fit it, then by circuits of its own shape.
pub(crate) fn forms(schema: &Schema, sql: &str, groups: Option<&Path>) -> Result<Vec<Query>> {
    let query = query(schema, sql, groups)?;
    Ok(query.pinned().into_iter().chain([query]).collect())
}

/// The query by circuits with pinned keys.
pub(crate) fn pinned(query: &Query) -> Result<Query> {
    query.pinned().map_err(|e| CliError::usage(format!("--pinned: {e}"), e.remedy()))
}

/// The application that answers a query.
pub(crate) fn application(query: &Query) -> Application {
    let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
    app.into()
}

/// Adds the values of an answer: an array for programs, lines for people.
pub(in crate::commands) fn add_answer(report: &mut Report, answer: &Answer) {
    let of = |values: &[(String, Value)]| {
        values.iter().map(|(name, value)| json!({ "name": name, "value": json_of(value) })).collect::<Vec<_>>()
    };
    report.hidden("answer", of(&answer.values));
    for (name, value) in &answer.values {
        report.note(format!("  {name} = {value}"));
    }
    if answer.groups.is_empty() {
        return;
    }
    let groups = answer.groups.iter().map(|group| {
        let key: serde_json::Map<String, Json> =
            group.key.iter().map(|(column, cell)| (column.name.clone(), Groups::json(column, cell))).collect();
        json!({ "key": key, "answer": of(&group.values) })
    });
    report.hidden("groups", groups.collect::<Vec<_>>());
    for group in &answer.groups {
        let key = group.key.iter().map(|(column, cell)| format!("{} {}", column.name, groups::text(column, cell)));
        let values = group.values.iter().map(|(name, value)| format!("{name} = {value}"));
        let [key, values] = [key.collect::<Vec<_>>(), values.collect()].map(|parts| parts.join(", "));
        report.note(format!("  {key}: {values}"));
    }
}

/// Numbers are text, so no digit is lost.
fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Exact(d) | Value::Rounded(d) => d.to_string().into(),
        Value::Text(text) => text.as_str().into(),
        Value::Histogram(bins) => {
            let end = |d: &Option<evergrove::apps::aggregate::Decimal>| d.as_ref().map(ToString::to_string);
            let bin = |b: &evergrove::apps::aggregate::Bin| json!({ "low": end(&b.low), "high": end(&b.high), "count": b.count });
            bins.iter().map(bin).collect()
        }
    }
}
