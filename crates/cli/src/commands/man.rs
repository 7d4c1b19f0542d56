//! `evergrove man`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::CommandFactory;

use super::Terminal;
use crate::args::Cli;
use crate::report::Report;

/// Write the manual pages, one per command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for the pages; created if need be
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let name = || args.out.display().to_string();
    std::fs::create_dir_all(&args.out).with_context(name)?;
    clap_mangen::generate_to(Cli::command(), &args.out).with_context(name)?;
    let mut report = Report::default();
    report.add("pages", args.out.display().to_string());
    report.print(terminal.format)
}
