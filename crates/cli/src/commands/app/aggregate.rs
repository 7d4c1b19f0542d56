//! `evergrove app aggregate`.

use std::sync::Arc;

use anyhow::Result;
use evergrove::apps::MapReduce;
use evergrove::apps::aggregate::{Aggregate, Answer, Query, Value};
use evergrove::apps::catalog::Catalog;
use evergrove::commit::schema::Schema;
use evergrove::proof::Scheme;
use evergrove::store::Store;
use evergrove::store::input::read_indices;
use serde_json::{Value as Json, json};

use super::super::Terminal;
use super::proving::{Job, ProveArgs};
use crate::exit::Mistake;
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
    /// Over the rows of this batch; over all rows of the table if left out
    #[arg(long, value_name = "NAME", conflicts_with = "indices")]
    batch: Option<String>,
    /// Over the rows at these positions: a list like 0,5,9-20, or a file of such lists
    #[arg(long, value_name = "LIST|FILE")]
    indices: Option<String>,
    /// Name of the batch that holds the answer; made from the query if left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.prove.store.store)?;
    let query = query(store.schema(), &args.sql)?;
    let members = match (&args.batch, &args.indices) {
        (Some(name), _) => Some(store.members(name)?),
        (None, Some(list)) => Some(read_indices(list)?),
        (None, None) => None,
    };
    let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
    let name = args.name.clone().unwrap_or_else(|| {
        let over = args.batch.as_deref().unwrap_or(if members.is_some() { "some" } else { "all" });
        format!("{over}.aggregate-{}", &app.id().parameters.to_string()[..8])
    });
    let (scheme, over) = match members {
        Some(_) => (Scheme::Selected, "the rows of the batch"),
        None => (Scheme::Complete, "all rows of the table"),
    };
    let job = Job { app: app.into(), scheme, name, members: members.unwrap_or_default() };
    let mut report = Report::default();
    report.add("query", args.sql.clone());
    args.prove.prove(&store, catalog, job, report, terminal, |report, batch| {
        let answer = query.answer(&batch.output).map_err(|e| Mistake::usage(e.to_string(), "run doctor"))?;
        add_answer(report, &answer);
        report.add("over", over);
        Ok(())
    })
}

/// The query that a text is about tables of this schema.
pub(in crate::commands) fn query(schema: &Schema, sql: &str) -> Result<Query> {
    Query::parse(schema, sql).map_err(|e| Mistake::usage(format!("--sql: {e}"), e.remedy()))
}

/// The values of an answer: an array for programs, lines for people.
pub(in crate::commands) fn add_answer(report: &mut Report, answer: &Answer) {
    let values = answer.values.iter().map(|(name, value)| json!({ "name": name, "value": json_of(value) }));
    report.hidden("answer", values.collect::<Vec<_>>());
    for (name, value) in &answer.values {
        report.note(format!("  {name} = {value}"));
    }
}

/// Numbers as text, so that no digit is lost.
fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Exact(d) | Value::Rounded(d) => d.to_string().into(),
        Value::Histogram(bins) => {
            let end = |d: &Option<evergrove::apps::aggregate::Decimal>| d.as_ref().map(ToString::to_string);
            let bin = |b: &evergrove::apps::aggregate::Bin| json!({ "low": end(&b.low), "high": end(&b.high), "count": b.count });
            bins.iter().map(bin).collect()
        }
    }
}
