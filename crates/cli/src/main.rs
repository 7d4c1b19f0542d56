//! The `evergrove` command: wiring between arguments, the library and the terminal.

#![forbid(unsafe_code)]

mod apps;
mod args;
mod backends;
mod command_error;
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
