//! The `evergrove` command: wiring between arguments, the library and the terminal.

#![forbid(unsafe_code)]

mod apps;
mod args;
mod backends;
mod commands;
mod exit;
mod files;
mod logging;
mod progress;
mod proving;
mod queue;
mod report;
mod signals;
#[cfg(feature = "otlp")]
mod spans;
mod vitals;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let format = cli.format;
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error, format),
    }
}
