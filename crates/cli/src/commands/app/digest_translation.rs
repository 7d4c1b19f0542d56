//! `evergrove app digest-translation`.

use anyhow::Result;
use evergrove::apps::catalog::Catalog;
use evergrove::apps::digest_translation::{DigestTranslation, tree};
use evergrove::primitives::Goldilocks;
use evergrove::proof::Scheme;
use evergrove::store::Store;

use super::super::Terminal;
use super::proving::{Job, ProveArgs};
use crate::exit::Mistake;
use crate::report::Report;

/// Prove the Keccak digest of the whole table: the root of a Keccak-256 tree over the same slots
///
/// The digest becomes a batch of the store, which update refreshes like any other. A table of n rows in one piece takes about
/// n / 128 proofs of blocks, as many merges, and one more for every level that the vector is higher. --dry-run prints what it
/// would cost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    prove: ProveArgs,
    /// Name of the batch that holds the digest
    #[arg(long, value_name = "NAME", default_value = "all.keccak-256")]
    name: String,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.prove.store.store)?;
    let app = DigestTranslation::default().into();
    let job = Job { app, scheme: Scheme::Tree, name: args.name.clone(), members: Vec::new() };
    args.prove.prove(&store, catalog, job, Report::default(), terminal, |report, batch| {
        let height = batch.commitment.height.max(DigestTranslation::default().bucket_height());
        add_digest(report, &batch.output, height)
    })
}

/// The Keccak digest of a tree of this height.
pub(super) fn add_digest(report: &mut Report, output: &[Goldilocks], height: u8) -> Result<()> {
    let digest = tree::from_elements(output);
    let digest = digest.ok_or_else(|| Mistake::refused("the output is no Keccak digest", "run doctor"))?;
    report.add("keccak_digest", hex::encode(digest));
    report.add("keccak_height", height);
    Ok(())
}
