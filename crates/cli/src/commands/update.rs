//! `evergrove update`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove::apps::catalog::Catalog;
use evergrove::jobs::Event;
use evergrove::store::input::{IndexSource, RecordError, parse_record, read_indices};
use evergrove::store::{Changes, Prover, Store};
use serde_json::Value;

use super::Terminal;
use crate::args::{ProvingArgs, RowsArgs, StoreArgs};
use crate::exit::CliError;
use crate::progress::{Counter, Proofs};
use crate::report::{Report, count, seconds, size};
use crate::{files, leader, results};

/// Change rows and batches in one epoch, and refresh the affected proofs
///
/// Without changes, finishes an interrupted update.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Set the row at position I: V is its cells in the order of the schema as in csv, or COLUMN=CELL pairs, or in raw mode
    /// 4 integers. A cell with a comma or a quote is in quotes, which a shell needs quotes around: '5="Smith, Ann",41' and
    /// '5="name=Smith, Ann",age=41'. Repeat for more rows
    #[arg(long, value_name = "I=V", allow_hyphen_values = true)]
    set: Vec<String>,
    /// Set the rows of this file, whose positions are in the column "index" or as --index-column or --indices say
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    rows: RowsArgs,
    /// Empty the slots at these positions
    #[arg(long, value_name = "LIST|FILE")]
    delete: Vec<String>,
    /// Let these positions join a batch
    #[arg(long, value_name = "NAME:LIST")]
    add: Vec<String>,
    /// Let these positions leave a batch
    #[arg(long, value_name = "NAME:LIST")]
    remove: Vec<String>,
    /// Double the vector as often as new positions need it; the top of every batch is then proven again
    #[arg(long)]
    grow: bool,
    /// Commit the changes and leave the proofs stale, for a later update or prove
    #[arg(long, conflicts_with = "dry_run")]
    no_prove: bool,
    #[command(flatten)]
    proving: ProvingArgs,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let start = Instant::now();
    if args.input.is_none() && !args.rows.is_default() {
        let remedy = "name the file with --input, or set single rows with --set";
        let message = "--index-column, --indices, --input-format, --delimiter and --null describe a file of rows, and none is given";
        return Err(CliError::usage(message, remedy));
    }
    let store = Store::open(&args.store.store)?;
    let changes = changes(args, &store, terminal)?;
    let trace = leader::trace(&args.proving);
    let config = args.proving.config(catalog, trace.as_ref())?;
    let watched = leader::watched(&args.proving, &config, terminal)?;
    let mut backends = config.backends();
    config.add_apps(&mut backends, &store)?;
    let batches = store.batches()?;
    let engine = config.engine(batches.iter().map(|b| (&b.backend, config.costs(&b.backend))))?;
    let progress = Proofs::new(terminal.quiet, trace.clone(), watched.metrics.clone());
    let note = |batch: &str, event: &Event<'_>| progress.event(batch, event);
    let prover =
        Prover::new(&store, &backends, engine.as_ref()).with_progress(&note).with_cancel(leader::cancel(&config)?);

    let mut report = Report::default();
    if args.proving.dry_run {
        let config = leader::measured(config.clone(), terminal);
        let estimate = prover.estimate_update(&changes, &|spec| config.costs(spec))?;
        add_epoch(&mut report, &estimate.epoch);
        let batches: Vec<Value> = estimate.batches.iter().map(results::estimate_object).collect();
        let made: usize = estimate.batches.iter().map(evergrove::store::BatchEstimate::to_make).sum();
        let total: usize = estimate.batches.iter().map(|b| b.total).sum();
        let time: f64 = estimate.batches.iter().map(|b| b.seconds).sum();
        let disk: u64 = estimate.batches.iter().map(|b| b.disk_bytes).sum();
        report.add_as("proofs_to_make", made, format!("{made} of {total} of the stale batches"));
        report.hidden("proofs_total", total);
        report.add_as("seconds", time, format!("about {}, one proof at a time", seconds(time)));
        report.add_as("disk_bytes", disk, format!("about {}", size(disk)));
        report.hidden("batches", batches);
        for b in &estimate.batches {
            let memory = size(b.memory_bytes);
            report.note(format!(
                "  {}: {} of {}, about {memory} of memory",
                b.name,
                b.to_make(),
                count(b.total, "proof")
            ));
        }
        return report.print(terminal.format);
    }

    files::check(&args.proving.timings)?;
    let epoch = store.apply(&changes)?;
    add_epoch(&mut report, &epoch);
    let refreshed = if args.no_prove {
        Vec::new()
    } else {
        prover.refresh().context("the changes are committed, and the proofs are not all refreshed: run update again")?
    };
    progress.finish();
    let made: usize = refreshed.iter().map(|b| b.made).sum();
    let total: usize = refreshed.iter().map(|b| b.total).sum();
    report.add_as("proofs_made", made, format!("{made} of {total} of the refreshed batches"));
    report.hidden("proofs_total", total);
    report.add_time("seconds", start.elapsed());
    report.hidden("batches", refreshed.iter().map(results::batch_object).collect::<Vec<_>>());
    let stale: Vec<_> = store.batches()?.into_iter().filter(|b| !b.fresh).map(|b| b.name).collect();
    report.hidden("stale", stale.clone());
    for b in &refreshed {
        report.note(format!("  {}: {} of {} made, {}", b.name, b.made, count(b.total, "proof"), size(b.bytes as u64)));
    }
    for name in &stale {
        report.note(format!("  {name}: stale"));
    }
    leader::write_trace(&mut report, &args.proving, trace.as_ref())?;
    report.print(terminal.format)
}

fn add_epoch(report: &mut Report, epoch: &evergrove::store::EpochReport) {
    let changed = epoch.before.number != epoch.after.number;
    let text =
        if changed { format!("{}", epoch.after.number) } else { format!("{}, nothing to change", epoch.after.number) };
    report.add_as("epoch", epoch.after.number, text);
    report.add("commitment", epoch.after.commitment.to_string());
    report.hidden("commitment_before", epoch.before.commitment.to_string());
    report.hidden("height", epoch.after.commitment.height);
    report.add("rows", epoch.after.filled);
    report.add("rows_set", epoch.set);
    report.add("rows_deleted", epoch.cleared);
}

fn changes(args: &Args, store: &Store, terminal: Terminal) -> Result<Changes> {
    let mut changes = Changes { grow: args.grow, ..Changes::default() };
    let schema = store.schema();
    let view = store.view()?;
    let height = view.commitment().height;
    for text in &args.set {
        let malformed = || {
            let remedy = "write POSITION=CELLS, for example --set 5=Ann,41 or --set 5=age=41";
            CliError::usage(format!("--set {text}: not of the form I=V"), remedy)
        };
        let (index, cells) = text.split_once('=').ok_or_else(malformed)?;
        let index: u64 = index.trim().parse().map_err(|_| malformed())?;
        let known = index.checked_shr(u32::from(height)).unwrap_or(0) == 0;
        let current = if known { view.row(index)? } else { None };
        let row = parse_record(schema, cells, current.as_ref()).map_err(|e| match e {
            RecordError::Incomplete(_) if !known => {
                let message = format!("--set {text}: position {index} is outside the table of 2^{height} slots");
                CliError::usage(message, "correct the position, or set every column and add --grow")
            }
            e => anyhow::Error::from(e).context(format!("--set {text}")),
        })?;
        changes.set.push((index, row));
    }
    if let Some(path) = &args.input {
        let by_column = IndexSource::Column(schema.index_name());
        let table = files::table(path, &args.rows, Some(schema.clone()), by_column)?;
        let counter = Counter::new(terminal.quiet, "rows", table.len_hint());
        for row in table.rows()? {
            changes.set.push(row?);
            counter.step();
        }
        counter.finish();
    }
    for list in &args.delete {
        changes.clear.extend(read_indices(list).with_context(|| format!("--delete {list}"))?);
    }
    changes.add = memberships("--add", &args.add)?;
    changes.remove = memberships("--remove", &args.remove)?;
    Ok(changes)
}

fn memberships(flag: &str, texts: &[String]) -> Result<Vec<(String, Vec<u64>)>> {
    let pairs = texts.iter().map(|text| {
        let pair = text.split_once(':').ok_or_else(|| {
            let remedy = format!("write the batch, a colon and positions, for example {flag} night:5,9-20");
            CliError::usage(format!("{flag} {text}: not of the form NAME:LIST"), remedy)
        });
        let (name, list) = pair?;
        Ok((name.to_owned(), read_indices(list).with_context(|| format!("{flag} {text}"))?))
    });
    pairs.collect()
}
