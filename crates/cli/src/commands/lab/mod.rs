//! `evergrove lab`: the hardware models.

mod design;
mod figure;
mod mix;
mod reproduce;
mod whatif;

use anyhow::Result;
use clap::Subcommand;

use super::Terminal;

/// Run models of hardware: reproduce published figures, run and sweep designs, plot
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Reproduce(reproduce::Args),
    Run(design::RunArgs),
    Sweep(design::SweepArgs),
    Pareto(figure::ParetoArgs),
    Plot(figure::PlotArgs),
    Whatif(whatif::Args),
    Mix(mix::Args),
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    match &args.command {
        Command::Reproduce(args) => reproduce::run(args, terminal),
        Command::Run(args) => design::run(args, terminal),
        Command::Sweep(args) => design::sweep(args, terminal),
        Command::Pareto(args) => figure::pareto(args, terminal),
        Command::Plot(args) => figure::plot(args, terminal),
        Command::Whatif(args) => whatif::run(args, terminal),
        Command::Mix(args) => mix::run(args, terminal),
    }
}
