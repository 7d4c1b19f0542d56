//! `own-application` does everything that `evergrove` does, and has the application `score` as well.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use evergrove::apps::catalog::{Catalog, CatalogError};
use own_application::Scores;

fn main() -> Result<ExitCode, CatalogError> {
    Ok(evergrove_cli::main(Catalog::standard().with(Scores)?))
}
