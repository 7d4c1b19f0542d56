//! The `evergrove` command: wiring between arguments, the library and the terminal.

#![forbid(unsafe_code)]

#[cfg(not(feature = "local"))]
compile_error!("the command line needs the feature local: add --features local");

mod apps;
mod args;
mod command_error;
mod commands;
mod exit;
mod files;
mod leader;
mod logging;
mod missing;
mod progress;
#[cfg(feature = "queue")]
mod queue;
mod report;
mod results;
#[cfg(feature = "queue")]
mod signals;
#[cfg(feature = "otlp")]
mod spans;
#[cfg(feature = "health")]
mod vitals;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => return exit::parser(&said),
    };
    let format = cli.format;
    exit::hide_caught_panics();
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error, format),
    }
}
