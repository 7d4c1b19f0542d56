//! `evergrove export`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove::Backend;
use evergrove::commit::schema::{Row, Schema};
use evergrove::proof::wire::{Bundle, RowsForm};
use evergrove::store::input::{Format, TableWriter};
use evergrove::store::{Error, Store};

use super::Terminal;
use crate::args::{StoreArgs, formats};
use crate::exit::CliError;
use crate::files::Out;
use crate::report::{Report, size};
use crate::{files, leader};

/// Write the proof and the rows of a batch, the table, or its schema to files
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// The batch whose proof or rows are written
    #[arg(long, value_name = "NAME")]
    batch: Option<String>,
    /// Write the proof of the batch to this file; it must be fresh
    #[arg(long, value_name = "FILE", requires = "batch")]
    proof: Option<PathBuf>,
    /// Write the rows of the batch with their positions to this file, for verify --leaves
    #[arg(long, value_name = "FILE", requires = "batch")]
    leaves: Option<PathBuf>,
    /// Write proof, rows, schema and key file of the batch to this one file, for verify --bundle and the page for browsers
    #[arg(long, value_name = "FILE", requires = "batch")]
    bundle: Option<PathBuf>,
    /// Leave the key file out of the bundle: 10 to 20 MB that a reader may have from keys export
    #[arg(long, requires = "bundle")]
    no_key: bool,
    /// Write every row of the table with its position to this file
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Write the schema to this file (TOML)
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Write values (columns e0 to e3) instead of rows: the tree commits to values, and verifiers without the schema need them
    #[arg(long)]
    values: bool,
    /// Format of the rows [default: by the extension]. A file whose name ends in .gz is compressed
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    output_format: Option<Format>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    if [&args.proof, &args.leaves, &args.bundle, &args.table, &args.schema].iter().all(|p| p.is_none()) {
        return Err(CliError::usage(
            "nothing to export",
            "name a file with --proof, --leaves, --bundle, --table or --schema",
        ));
    }
    let store = Store::open(&args.store.store)?;
    let mut report = Report::default();
    report.add("commitment", store.commitment()?.to_string());
    if let Some(name) = &args.batch {
        report.add("batch", name.clone());
        if let Some(path) = &args.proof {
            let bytes = store.export(name)?;
            files::write(path, |out| Ok(out.write_all(&bytes)?))?;
            let text = format!("{} ({})", path.display(), size(bytes.len() as u64));
            report.add_as("proof", path.display().to_string(), text);
            report.hidden("proof_bytes", bytes.len());
        }
        if let Some(path) = &args.leaves {
            let format = files::format_of(path, args.output_format, "--output-format")?;
            let rows = write_leaves(&store, name, path, format, args.values)?;
            report.add_as("leaves", path.display().to_string(), format!("{} ({rows} rows)", path.display()));
            report.hidden("members", rows);
        }
        if let Some(path) = &args.bundle {
            write_bundle(&store, name, path, args, &mut report)?;
        }
    }
    if let Some(path) = &args.table {
        let format = files::format_of(path, args.output_format, "--output-format")?;
        let rows = write_table(&store, path, format, args.values)?;
        report.add_as("table", path.display().to_string(), format!("{} ({rows} rows)", path.display()));
        report.hidden("rows", rows);
    }
    if let Some(path) = &args.schema {
        files::write(path, |out| Ok(out.write_all(store.schema().to_toml().as_bytes())?))?;
        report.add("schema", path.display().to_string());
    }
    report.print(terminal.format)
}

/// The format of a file of rows of this store, or of their values. Refuses formats that cannot hold them.
pub(crate) fn rows_format(store: &Store, path: &Path, named: Option<Format>, values: bool) -> Result<Format> {
    let format = files::format_of(path, named, "--output-format")?;
    Rows::new(store, &mut std::io::sink(), format, values).with_context(|| path.display().to_string())?;
    Ok(format)
}

/// Writes rows of a store, or their values.
struct Rows<'a> {
    schema: &'a Schema,
    values: bool,
    writer: TableWriter<&'a mut Out<'a>>,
}

impl<'a> Rows<'a> {
    fn new(store: &'a Store, out: &'a mut Out<'a>, format: Format, values: bool) -> Result<Self> {
        let schema = store.schema();
        let form = if values { Schema::raw() } else { schema.clone() };
        Ok(Self { schema, values, writer: TableWriter::new(out, format, &form)? })
    }

    fn write(&mut self, index: u64, row: &Row) -> Result<()> {
        if self.values {
            self.writer.write(index, &Row::Raw(self.schema.value(row)?))?;
        } else {
            self.writer.write(index, row)?;
        }
        Ok(())
    }
}

/// Writes the rows of a batch by ascending position. Returns their number.
fn write_leaves(store: &Store, batch: &str, path: &Path, format: Format, values: bool) -> Result<usize> {
    let members = store.members(batch)?;
    files::write(path, |out| files::compressed(path, out, |out| fill(store, batch, &members, out, format, values)))?;
    Ok(members.len())
}

/// Writes the rows of these members of a batch, in this order.
pub(crate) fn fill(
    store: &Store,
    batch: &str,
    members: &[u64],
    out: &mut Out<'_>,
    format: Format,
    values: bool,
) -> Result<()> {
    let view = store.view()?;
    let mut rows = Rows::new(store, out, format, values)?;
    for index in members {
        let row = view.row(*index)?.ok_or(Error::EmptySlot { index: *index, batch: Some(batch.into()) })?;
        rows.write(*index, &row)?;
    }
    Ok(rows.writer.finish()?)
}

/// Writes a bundle of the batch. The rows are jsonl if `--output-format` says so, otherwise csv.
fn write_bundle(store: &Store, name: &str, path: &Path, args: &Args, report: &mut Report) -> Result<()> {
    let (form, format) = match args.output_format {
        None | Some(Format::Csv) => (RowsForm::Csv, Format::Csv),
        Some(Format::Jsonl) => (RowsForm::Jsonl, Format::Jsonl),
        Some(other) => {
            let message = format!("--output-format {}: not for a bundle", other.name());
            return Err(CliError::usage(message, "choose csv or jsonl"));
        }
    };
    let proof = store.export(name)?;
    let backend = store.batch(name)?.backend;
    let choice = &backend.choice;
    // Verifiers of proofs over all rows take no rows.
    let members = if choice.scheme.is_complete() { Vec::new() } else { store.members(name)? };
    let mut rows = Vec::new();
    if !members.is_empty() {
        fill(store, name, &members, &mut rows, format, args.values)?;
    }
    let schema = if args.values { Schema::raw() } else { store.schema().clone() };
    let text = schema.to_toml();
    // Only batches of rows have a key that every verifier knows.
    let mut key = Vec::new();
    if !args.no_key && choice.name == Backend::Grove.name() && !choice.scheme.has_app() {
        leader::config(None)?.batch_key(choice.profile, backend.class)?.write_key(&mut key)?;
    }
    let bundle = Bundle {
        proof: &proof,
        rows: (!rows.is_empty()).then_some((form, &rows)),
        schema: (!rows.is_empty() && !schema.is_raw()).then_some(text.as_bytes()),
        key: (!key.is_empty()).then_some(&key),
        ..Bundle::default()
    };
    let remedy = "send the files one by one: --proof, --leaves and --schema write them";
    let bytes = bundle.encode().map_err(|e| CliError::usage(e.to_string(), remedy))?;
    files::write(path, |out| Ok(out.write_all(&bytes)?))?;
    let holds = if key.is_empty() { "no key file" } else { "with the key file" };
    let size = size(bytes.len() as u64);
    report.add_as(
        "bundle",
        path.display().to_string(),
        format!("{} ({size}, {} rows, {holds})", path.display(), members.len()),
    );
    report.hidden("bundle_bytes", bytes.len());
    report.hidden("bundle_key", !key.is_empty());
    report.add("schema_digest", schema.digest().to_string());
    Ok(())
}

fn write_table(store: &Store, path: &Path, format: Format, values: bool) -> Result<usize> {
    let view = store.view()?;
    let mut written = 0;
    files::write(path, |out| {
        files::compressed(path, out, |out| {
            let mut rows = Rows::new(store, out, format, values)?;
            view.for_each_row(|index, row| {
                written += 1;
                rows.write(index, &row).map_err(|e| Error::Input(e.into()))
            })?;
            Ok(rows.writer.finish()?)
        })
    })?;
    Ok(written)
}
