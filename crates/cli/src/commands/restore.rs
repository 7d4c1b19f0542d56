//! `evergrove restore`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove::store::{BackupReader, Error, Store};

use super::Terminal;
use super::backup::{add_head, counter};
use crate::exit::CliError;
use crate::files;
use crate::report::{Report, count, size};

/// Create a store from a backup
///
/// Builds the store next to its place, and moves it there in one step after these checks: the checksums of the backup are right,
/// the store has the commitment that the backup names, and its roots, rows and nodes are equal when computed again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The backup, - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Directory of the store: one that does not exist or is empty
    #[arg(long, value_name = "DIR", required_unless_present = "verify_only")]
    store: Option<PathBuf>,
    /// Read the whole backup and check it, and write nothing
    #[arg(long, conflicts_with = "store")]
    verify_only: bool,
    /// Do not compute roots, rows and nodes again: faster, and possible for a store that was damaged before its backup
    #[arg(long, conflicts_with = "verify_only")]
    unchecked: bool,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let (start, path) = (Instant::now(), args.file.as_path());
    let name = || path.display().to_string();
    let (from, len): (Box<dyn Read>, _) = if path == Path::new(files::STDIN) {
        (Box::new(std::io::stdin().lock()), None)
    } else {
        let file = File::open(path).with_context(name)?;
        let len = file.metadata().with_context(name)?.len();
        (Box::new(file), Some(len))
    };
    let of_file = |e: Error| match e {
        Error::Backup(_) => anyhow::Error::from(e).context(name()),
        Error::Corrupt { what, .. } => {
            let remedy = "take an earlier backup, or restore the store as it was with --unchecked and see doctor";
            CliError::store(format!("{}: the store was damaged before it was backed up: {what}", name()), remedy)
        }
        e => e.into(),
    };
    let backup = BackupReader::new(from).map_err(|e| of_file(e.into()))?;
    let mut head = *backup.head();
    let (progress, mut counted, mut bytes) = (counter(terminal, len), 0, 0);
    let mut read = |read: u64| {
        (counted..read >> 20).for_each(|_| progress.step());
        (counted, bytes) = (read >> 20, read);
    };
    let store = match &args.store {
        Some(dir) => Some(Store::restore(backup, dir, !args.unchecked, &mut read).map_err(of_file)?),
        None => {
            (head, _) = backup.verify(&mut read).map_err(|e| of_file(e.into()))?;
            None
        }
    };
    progress.finish();
    let mut report = Report::default();
    let mut stale = Vec::new();
    if let Some((store, dir)) = store.as_ref().zip(args.store.as_ref()) {
        report.add("store", dir.display().to_string());
        (head.proofs, stale) = look(store).map_err(|e| Error::Restored { dir: dir.clone(), source: Box::new(e) })?;
    }
    add_head(&mut report, &head);
    if store.is_some() {
        let text = match stale.len() {
            0 => "none".into(),
            n => format!("{}: prove or the next start of serve proves", count(n, "batch")),
        };
        report.add_as("stale", stale, text);
    }
    report.add_as("bytes", bytes, size(bytes));
    report.add_time("seconds", start.elapsed());
    report.hidden("checked", store.is_some() && !args.unchecked);
    if store.is_none() {
        report.note("\nThe backup is whole. Only restore shows whether its rows are those of the commitment.");
    }
    report.print(terminal.format)
}

/// The number of proofs of a store, and the names of the batches whose proof is stale or missing.
fn look(store: &Store) -> Result<(u64, Vec<String>), Error> {
    let status = store.status()?;
    let mut stale = Vec::new();
    for batch in status.batches {
        match store.export(&batch.name) {
            Ok(_) => {}
            Err(Error::Stale { .. } | Error::LostProof { .. }) => stale.push(batch.name),
            Err(e) => return Err(e),
        }
    }
    Ok((status.objects as u64, stale))
}
