//! The `evergrove` command: wiring between arguments, the library and the terminal.
//!
//! The binary `evergrove` is [`main`] with the standard catalog. A program with its own applications calls [`main`]
//! with a catalog that has them as well. All commands, the service and the workers of that program then know them.
//!
//! ```no_run
//! use evergrove::apps::catalog::Catalog;
//!
//! fn main() -> std::process::ExitCode {
//!     evergrove_cli::main(Catalog::standard())
//! }
//! ```

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
#[cfg(feature = "serve")]
mod log_file;
mod logging;
mod missing;
#[cfg(feature = "health")]
mod probes;
mod progress;
mod proof_tree;
#[cfg(feature = "queue")]
mod queue;
mod report;
mod results;
mod signals;
#[cfg(feature = "otlp")]
mod spans;
#[cfg(feature = "serve")]
mod tls;
#[cfg(feature = "serve")]
mod watch;

use std::process::ExitCode;

use clap::Parser;
use evergrove::apps::catalog::Catalog;

/// Runs the command that the arguments of this process name, with the applications of a catalog. Returns the exit code.
pub fn main(catalog: Catalog) -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => return exit::parser(&said),
    };
    let format = cli.format;
    exit::hide_caught_panics();
    match commands::run(cli, &catalog) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error, format),
    }
}
