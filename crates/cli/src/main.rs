//! The `evergrove` command, with the standard applications.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use evergrove::apps::catalog::Catalog;

fn main() -> ExitCode {
    evergrove_cli::main(Catalog::standard())
}
