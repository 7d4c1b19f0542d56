//! `evergrove app aggregate`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use evergrove::input::read_indices;
use evergrove::{Prover, Store};
use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{Aggregate, Answer, Query, Value};
use evergrove_commit::schema::Schema;
use evergrove_jobs::Event;
use evergrove_proof::{HeightClass, Profile, Scheme};
use serde_json::{Value as Json, json};

use super::super::Terminal;
use crate::args::{ProvingArgs, StoreArgs, parse_profile};
use crate::exit::Mistake;
use crate::progress::Proofs;
use crate::report::{Report, count, seconds};
use crate::{backends, files, proving};

/// Prove the answer to a query: over all rows of the table, or with --batch over the rows of a batch
///
/// The answer becomes a batch of the store, which update refreshes like any other. --dry-run prints what it would cost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
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
    /// Security profile: proven, johnson or paper
    #[arg(long, value_name = "PROFILE", default_value_t, value_parser = parse_profile)]
    profile: Profile,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    proving: ProvingArgs,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.store.store)?;
    let query = query(store.schema(), &args.sql)?;
    let members = match (&args.batch, &args.indices) {
        (Some(name), _) => Some(store.members(name)?),
        (None, Some(list)) => Some(read_indices(list)?),
        (None, None) => None,
    };
    let scheme = if members.is_some() { Scheme::Selected } else { Scheme::Complete };
    let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
    let name = args.name.clone().unwrap_or_else(|| {
        let over = args.batch.as_deref().unwrap_or(if members.is_some() { "some" } else { "all" });
        format!("{over}.aggregate-{}", &app.id().parameters.to_string()[..8])
    });
    let keys = backends::keys_dir(args.proving.keys.as_deref());
    let height = store.commitment()?.height;
    let class = HeightClass::of(height).unwrap_or(HeightClass::H40);
    let (spec, size) = backends::app_spec(&app, scheme, args.profile, class, keys.as_deref())
        .map_err(|e| Mistake::usage(e.to_string(), "ask for less in one query"))?;
    let choice = spec.choice();
    let trace = proving::trace(&args.proving);
    let mut backends = backends::provers(keys.clone(), args.proving.prover, trace.as_ref());
    backends::add_app(&mut backends, spec.clone(), app, keys.as_deref(), args.proving.prover, trace.as_ref());
    let engine = proving::engine(&args.proving, std::iter::once(&spec))?;
    let progress = Proofs::new(terminal.quiet, trace.clone());
    let note = |batch: &str, event: &Event<'_>| progress.event(batch, event);
    let prover = Prover::new(&store, &backends, &engine).with_progress(&note);

    let indices = members.as_deref().unwrap_or_default();
    let estimate = prover.estimate_prove(&name, Some((indices, &choice)), &|s| backends::app_costs(s, size))?;
    let mut report = Report::default();
    report.add("query", args.sql.clone());
    if args.proving.dry_run {
        proving::add_estimate(&mut report, &estimate);
        report.print(terminal.format);
        return Ok(());
    }
    if !terminal.quiet && estimate.to_make() > 0 {
        let proofs = count(estimate.to_make(), "proof");
        eprintln!("{proofs} to make, about {}, one proof at a time", seconds(estimate.seconds));
    }
    prover.define(&name, indices, &choice)?;
    let start = Instant::now();
    let batch = prover.prove(&name)?;
    progress.finish();
    let answer = query.answer(&batch.output).map_err(|e| Mistake::usage(e.to_string(), "run doctor"))?;
    add_answer(&mut report, &answer);
    report.add("over", if members.is_some() { "the rows of the batch" } else { "all rows of the table" });
    proving::add_batch(&mut report, &batch, start.elapsed().as_secs_f64());
    if let Some(path) = &args.out {
        let bytes = store.export(&name)?;
        files::write(path, |out| Ok(out.write_all(&bytes)?))?;
        report.add("proof", path.display().to_string());
    }
    proving::write_trace(&mut report, &args.proving, trace.as_ref())?;
    report.print(terminal.format);
    Ok(())
}

/// The query that a text is about tables of this schema.
pub(super) fn query(schema: &Schema, sql: &str) -> Result<Query> {
    Query::parse(schema, sql).map_err(|e| Mistake::usage(format!("--sql: {e}"), e.remedy()))
}

/// The values of an answer: an array for programs, lines for people.
pub(super) fn add_answer(report: &mut Report, answer: &Answer) {
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
            let end = |d: &Option<evergrove_apps::aggregate::Decimal>| d.as_ref().map(ToString::to_string);
            let bin = |b: &evergrove_apps::aggregate::Bin| json!({ "low": end(&b.low), "high": end(&b.high), "count": b.count });
            bins.iter().map(bin).collect()
        }
    }
}
