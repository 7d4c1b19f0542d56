//! `evergrove eth import`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove::ethereum::input::{TEXT_MAX, read_witness, witness_value};

use super::super::Terminal;
use super::{Check, check, name, read};
use crate::exit::CliError;
use crate::files;
use crate::report::size;

/// Check answers of clients, and pack what they show into one file: the claims, and each node once
///
/// Takes what check takes, and makes a file for --nodes of check and prove, and for --witness of update. Answers repeat the upper nodes for each account and slot, and may have nodes that no
/// claim needs: the file has neither. It is verified where it is read, as answers are.
#[derive(Debug, clap::Args)]
pub(super) struct Import {
    #[command(flatten)]
    inputs: Check,
    /// Leave out files that are refused, and name them. Without it nothing is written if one is
    #[arg(long)]
    skip_refused: bool,
    /// File that claims and nodes are written to; compressed if its name ends with .gz
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn import(args: &Import, terminal: Terminal) -> Result<()> {
    files::check([&args.out])?;
    let mut inputs = args.inputs.clone();
    let files = inputs.files();
    let read_bytes: u64 = files.iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum();
    let mut refused = Vec::new();
    let (mut report, claimed) = match check(&inputs) {
        Ok(checked) => checked,
        Err(e) => {
            refused = inputs.refused()?;
            if refused.is_empty() {
                return Err(e);
            }
            if !args.skip_refused || refused.len() == files.len() {
                let said: Vec<String> = refused.iter().map(|(_, message)| message.clone()).collect();
                let message = format!("{} of {} files refused: {}", refused.len(), files.len(), said.join("; "));
                return Err(CliError::refused(message, "ask for these again, or leave them out with --skip-refused"));
            }
            inputs.leave_out(&refused);
            check(&inputs)?
        }
    };
    let text = serde_json::to_vec(&witness_value(&claimed.claims, &claimed.nodes))?;
    if text.len() > TEXT_MAX {
        let message = format!("{}: {} of claims and nodes", name(&args.out), size(text.len() as u64));
        return Err(CliError::usage(message, "import fewer answers at a time: 64 MiB are read from a file"));
    }
    files::write(&args.out, |file| files::compressed(&args.out, file, |file| Ok(file.write_all(&text)?)))?;

    report.add("files", files.len() - refused.len());
    let messages: Vec<String> = refused.into_iter().map(|(_, message)| message).collect();
    for message in &messages {
        report.note(format!("left out: {message}"));
    }
    report.hidden("refused", messages);
    report.add("nodes", claimed.nodes.len());
    report.add_as("read_bytes", read_bytes, size(read_bytes));
    let bytes = fs::metadata(&args.out).with_context(|| name(&args.out))?.len();
    report.add_as("file_bytes", bytes, size(bytes));
    report.print(terminal.format)
}

impl Check {
    /// The files of answers.
    fn files(&self) -> Vec<PathBuf> {
        self.proofs.iter().chain(&self.nodes).chain(self.lists().map(|(_, path)| path)).cloned().collect()
    }
    /// The files that are refused on their own, each with the reason.
    fn refused(&self) -> Result<Vec<(PathBuf, String)>> {
        // An error of the block is not the fault of a file.
        self.block.read()?;
        let mut refused = Vec::new();
        for path in self.files() {
            // With separate claims, nodes are only decoded here: alone they show nothing.
            let result = if self.nodes.contains(&path) && self.claims.is_some() {
                read(&path).and_then(|text| Ok(read_witness(&text).map(drop)?))
            } else {
                check(&self.only(&path)).map(drop)
            };
            if let Err(e) = result {
                let (message, file) = (format!("{e:#}"), name(&path));
                let known = message.starts_with(&file);
                refused.push((path, if known { message } else { format!("{file}: {message}") }));
            }
        }
        Ok(refused)
    }
    /// The same arguments with one of the files, and without separate claims.
    fn only(&self, path: &Path) -> Self {
        let mut only = Self { claims: None, ..self.clone() };
        only.retain(|other| other == path);
        only
    }
    fn leave_out(&mut self, refused: &[(PathBuf, String)]) {
        self.retain(|path| refused.iter().all(|(other, _)| other != path));
    }
    fn retain(&mut self, keep: impl Fn(&Path) -> bool) {
        self.proofs.retain(|path| keep(path));
        self.nodes.retain(|path| keep(path));
        for list in [&mut self.transactions, &mut self.receipts, &mut self.withdrawals] {
            list.take_if(|path| !keep(path));
        }
    }
}
