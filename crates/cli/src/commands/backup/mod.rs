//! `evergrove backup`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove::store::{BackupHead, Error, Store};

use super::Terminal;
use crate::exit::CliError;
use crate::files::{self, Out};
use crate::progress::Counter;
use crate::report::{Report, size};

#[cfg(feature = "serve")]
mod remote;

/// Copy a store to one file, also from a service while it takes changes
///
/// The file has everything that the store keeps at one committed epoch: epochs, rows, schema, batches, proofs and the keys of requests, with
/// a checksum for every block. restore makes a store from it, and inspect describes it.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
pub(crate) struct Args {
    /// Directory of the store; no process may have it open for changes
    #[arg(long, value_name = "DIR", group = "source")]
    store: Option<PathBuf>,
    #[cfg(feature = "serve")]
    /// Address of a service, like http://127.0.0.1:7070; $EVERGROVE_SERVE_TOKEN holds a token that may back up
    #[arg(long, value_name = "URL", group = "source")]
    url: Option<String>,
    /// File to write, - for stdout
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let start = Instant::now();
    let mut made = None;
    write(&args.out, |out| {
        #[cfg(feature = "serve")]
        if let Some(url) = &args.url {
            made = Some(remote::copy(url, out, terminal)?);
            return Ok(());
        }
        // The parser requires one of the two flags.
        made = Some(copy(args.store.as_deref().unwrap_or(Path::new("")), out, terminal)?);
        Ok(())
    })?;
    let Some((head, bytes)) = made else { return Ok(()) };
    let mut report = Report::default();
    report.add("backup", args.out.display().to_string());
    add_head(&mut report, &head);
    report.add_as("bytes", bytes, size(bytes));
    report.add_time("seconds", start.elapsed());
    if args.out != Path::new(files::STDIN) {
        return report.print(terminal.format);
    }
    // The file went to stdout.
    if !terminal.quiet {
        eprint!("{}", report.text());
    }
    Ok(())
}

/// Adds the facts in the head of a backup.
pub(super) fn add_head(report: &mut Report, head: &BackupHead) {
    report.add("commitment", head.epoch.commitment.to_string());
    report.add("epoch", head.epoch.number);
    report.add("oldest_epoch", head.oldest);
    report.add("rows", head.epoch.filled);
    report.add("proofs", head.proofs);
}

/// Writes to a file in one step, or to stdout.
fn write(path: &Path, fill: impl FnOnce(&mut Out<'_>) -> Result<()>) -> Result<()> {
    if path != Path::new(files::STDIN) {
        files::sweep_on_signals()?;
        return files::write_private(path, fill);
    }
    let mut out = std::io::stdout();
    fill(&mut out)?;
    out.flush().context("stdout")
}

/// Counts the MiB of a backup of about this many bytes.
pub(super) fn counter(terminal: Terminal, bytes: Option<u64>) -> Counter {
    Counter::new(terminal.quiet, "MiB", bytes.map(|bytes| bytes.div_ceil(1 << 20)))
}

fn copy(dir: &Path, out: &mut Out<'_>, terminal: Terminal) -> Result<(BackupHead, u64)> {
    let store = Store::open_to_read(dir).map_err(|e| match e {
        Error::Locked(_) => {
            let remedy = "a service is backed up through its address with --url; else wait until that process ends";
            CliError::store(e.to_string(), remedy)
        }
        e => e.into(),
    })?;
    let backup = store.backup()?;
    let (head, mut written) = (*backup.head(), 0);
    let progress = counter(terminal, Some(head.estimate));
    for block in backup {
        let block = block?;
        out.write_all(&block)?;
        written += block.len() as u64;
        progress.step();
    }
    progress.finish();
    Ok((head, written))
}
