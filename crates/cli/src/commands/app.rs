//! `evergrove app`: what rows come to.

pub(crate) mod aggregate;
pub(crate) mod bls_keys;
pub(crate) mod bls_table;
pub(crate) mod digest_translation;
mod proving;
pub(crate) mod verify_aggregate;
pub(crate) mod verify_bls_keys;
pub(crate) mod verify_digest_translation;

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
    BlsTable(bls_table::Args),
    BlsKeys(bls_keys::Args),
    VerifyBlsKeys(verify_bls_keys::Args),
    DigestTranslation(digest_translation::Args),
    VerifyDigestTranslation(verify_digest_translation::Args),
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    match &args.app {
        App::Aggregate(args) => aggregate::run(args, terminal),
        App::VerifyAggregate(args) => verify_aggregate::run(args, terminal),
        App::BlsTable(args) => bls_table::run(args, terminal),
        App::BlsKeys(args) => bls_keys::run(args, terminal),
        App::VerifyBlsKeys(args) => verify_bls_keys::run(args, terminal),
        App::DigestTranslation(args) => digest_translation::run(args, terminal),
        App::VerifyDigestTranslation(args) => verify_digest_translation::run(args, terminal),
    }
}
