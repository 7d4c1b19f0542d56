//! One file per command.

pub(crate) mod app;
pub(crate) mod backup;
pub(crate) mod batches;
pub(crate) mod commit;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod eth;
pub(crate) mod export;
pub(crate) mod inspect;
#[cfg(feature = "queue")]
pub(crate) mod jobs;
pub(crate) mod keys;
#[cfg(feature = "lab")]
pub(crate) mod lab;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod open;
pub(crate) mod prove;
pub(crate) mod prune;
pub(crate) mod query;
pub(crate) mod restore;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod update;
pub(crate) mod verify;
#[cfg(feature = "queue")]
pub(crate) mod worker;

use anyhow::Result;
use evergrove::apps::catalog::Catalog;

use crate::args::{Cli, Command, Output};

/// The flags that every command takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    pub(crate) format: Output,
    pub(crate) quiet: bool,
}

/// Runs the command, with the applications of a catalog.
pub(crate) fn run(cli: Cli, catalog: &Catalog) -> Result<()> {
    let terminal = Terminal { format: cli.format, quiet: cli.quiet };
    match cli.command {
        Command::App(args) => app::run(&args, catalog, terminal),
        Command::Commit(args) => commit::run(&args, terminal),
        Command::Prove(args) => prove::run(&args, catalog, terminal),
        Command::Query(args) => query::run(args, catalog, terminal),
        Command::Update(args) => update::run(&args, catalog, terminal),
        Command::Open(args) => open::run(&args, terminal),
        Command::Verify(args) => verify::run(&args, terminal),
        Command::Status(args) => status::run(&args, terminal),
        Command::Backup(args) => backup::run(&args, terminal),
        Command::Batches(args) => batches::run(&args, terminal),
        Command::Export(args) => export::run(&args, terminal),
        Command::Inspect(args) => inspect::run(&args, terminal),
        Command::Restore(args) => restore::run(&args, terminal),
        Command::Prune(args) => prune::run(&args, terminal),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(&args, catalog, terminal),
        Command::Doctor(args) => doctor::run(&args, catalog, terminal),
        #[cfg(feature = "queue")]
        Command::Worker(args) => worker::run(&args, catalog, terminal),
        #[cfg(feature = "queue")]
        Command::Jobs(args) => jobs::run(&args, terminal),
        #[cfg(feature = "lab")]
        Command::Lab(args) => lab::run(&args, terminal),
        Command::Completions(args) => completions::run(&args),
        Command::Migrate(args) => migrate::run(&args, catalog, terminal),
        Command::Keys(args) => keys::run(&args, catalog, terminal),
        Command::Eth(args) => eth::run(&args, terminal),
        Command::Man(args) => man::run(&args, terminal),
    }
}
