//! `evergrove app list`.

use anyhow::Result;
use evergrove::apps::catalog::Catalog;
use serde_json::json;

use super::super::Terminal;
use crate::args::Output;
use crate::report;

/// List the applications that prove and verify take, with their parameters
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let width = catalog.kinds().map(|kind| kind.name().len()).max().unwrap_or(0);
    for kind in catalog.kinds() {
        match terminal.format {
            Output::Json => report::line(&json!({ "name": kind.name(), "help": kind.help() })),
            Output::Text => report::text(&format!("{:<width$}  {}\n", kind.name(), kind.help())),
        }?;
    }
    Ok(())
}
