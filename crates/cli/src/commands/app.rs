//! `evergrove app`: what rows come to.

pub(crate) mod aggregate;
pub(crate) mod verify_aggregate;

use anyhow::Result;

use super::Terminal;

/// Prove what rows come to, and verify such proofs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    app: App,
}

#[derive(Debug, clap::Subcommand)]
enum App {
    Aggregate(aggregate::Args),
    VerifyAggregate(verify_aggregate::Args),
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    match &args.app {
        App::Aggregate(args) => aggregate::run(args, terminal),
        App::VerifyAggregate(args) => verify_aggregate::run(args, terminal),
    }
}
