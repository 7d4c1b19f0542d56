//! `evergrove app`: outputs of applications over rows.

pub(crate) mod aggregate;
pub(crate) mod bls_keys;
pub(crate) mod bls_table;
pub(crate) mod digest_translation;
pub(super) mod groups;
pub(crate) mod list;
pub(crate) mod openzeppelin_proof;
pub(crate) mod prove;
pub(super) mod proving;
pub(crate) mod verify;
pub(crate) mod verify_aggregate;
pub(crate) mod verify_bls_keys;
pub(crate) mod verify_digest_translation;

use anyhow::Result;
use evergrove::apps::catalog::Catalog;

use super::Terminal;

/// Prove the results of computations over rows, and verify such proofs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    app: App,
}

/// An application of the catalog.
#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// The application
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Its parameters, in the form that app list says
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) parameters: String,
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
    OpenzeppelinProof(openzeppelin_proof::Args),
    List(list::Args),
    Prove(prove::Args),
    Verify(verify::Args),
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    match &args.app {
        App::Aggregate(args) => aggregate::run(args, catalog, terminal),
        App::VerifyAggregate(args) => verify_aggregate::run(args, terminal),
        App::BlsTable(args) => bls_table::run(args, terminal),
        App::BlsKeys(args) => bls_keys::run(args, catalog, terminal),
        App::VerifyBlsKeys(args) => verify_bls_keys::run(args, terminal),
        App::DigestTranslation(args) => digest_translation::run(args, catalog, terminal),
        App::VerifyDigestTranslation(args) => verify_digest_translation::run(args, terminal),
        App::OpenzeppelinProof(args) => openzeppelin_proof::run(args, terminal),
        App::List(args) => list::run(args, catalog, terminal),
        App::Prove(args) => prove::run(args, catalog, terminal),
        App::Verify(args) => verify::run(args, catalog, terminal),
    }
}
