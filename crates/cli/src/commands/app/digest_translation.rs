//! `evergrove app digest-translation`.

use anyhow::Result;
use evergrove::apps::catalog::Catalog;
use evergrove::apps::digest_translation::openzeppelin::first_duplicate;
use evergrove::apps::digest_translation::{DigestTranslation, Format, tree};
use evergrove::openzeppelin::Tree;
use evergrove::primitives::Goldilocks;
use evergrove::proof::Scheme;
use evergrove::store::Store;

use super::super::Terminal;
use super::proving::{Job, ProveArgs};
use crate::exit::CliError;
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
    /// The Keccak tree: keccak-256 hashes positions and values; the value of a row of more than four elements is its Poseidon hash. openzeppelin and openzeppelin-js hash rows as OpenZeppelin's MerkleProof takes them, for tables whose
    /// columns all have types of Solidity's ABI; the second one demands that the root be that of OpenZeppelin's JavaScript library
    #[arg(long, value_name = "TREE", default_value = "keccak-256", value_parser = ["keccak-256", "openzeppelin", "openzeppelin-js"])]
    tree: String,
    /// Prove a table with equal rows, whose leaves in OpenZeppelin's tree are one to a contract
    #[arg(long)]
    allow_duplicates: bool,
    /// Name of the batch that holds the digest [default: all. and the name of the tree]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.prove.store.store)?;
    let rows = if args.tree == Format::Keccak.name() { None } else { Some(Tree::of(&store.view()?)?) };
    let app = DigestTranslation::new(match &rows {
        None => Format::Keccak,
        Some(rows) => checked(args, rows)?,
    });
    let name = args.name.clone().unwrap_or_else(|| format!("all.{}", app.format().name()));
    let job = Job { app: app.clone().into(), scheme: Scheme::Tree, name, members: Vec::new() };
    args.prove.prove(&store, catalog, job, Report::default(), terminal, |report, batch| {
        let height = batch.commitment.height.max(app.bucket_height());
        // The table may have changed between the check and the proof.
        let library = matches!(app.format(), Format::OpenZeppelinJs(_));
        if let Some(root) = rows.as_ref().and_then(Tree::root).filter(|_| library)
            && batch.output != tree::to_elements(&root)
        {
            return Err(CliError::refused("the table was changed while it was proven", "prove it again"));
        }
        add_digest(report, app.format(), &batch.output, height)?;
        if let Some(order) = rows.as_ref().and_then(Tree::order).filter(|_| library) {
            report.add("order", order.name());
        }
        Ok(())
    })
}

/// The format of OpenZeppelin's tree for these rows. Refuses rows that do not fit it.
fn checked(args: &Args, rows: &Tree) -> Result<Format> {
    let types = rows.types().to_vec();
    if rows.leaves().is_empty() {
        return Err(CliError::usage("OpenZeppelin's tree over no rows has no root", "commit a table with a row"));
    }
    if let Some([first, second]) = first_duplicate(rows.leaves().iter().copied()).filter(|_| !args.allow_duplicates) {
        return Err(CliError::usage(
            format!("rows {first} and {second} are equal: a contract that marks leaves takes one of them alone"),
            "change one of them, or give --allow-duplicates",
        ));
    }
    if args.tree == Format::OpenZeppelin(Vec::new()).name() {
        return Ok(Format::OpenZeppelin(types));
    }
    if rows.order().is_none() {
        return Err(CliError::usage(
            "the rows are not where OpenZeppelin's JavaScript library puts them, so that the root is another one",
            "commit the table again with --order openzeppelin-js, or prove --tree openzeppelin",
        ));
    }
    Ok(Format::OpenZeppelinJs(types))
}

/// Adds the Keccak digest of a tree of this height.
pub(super) fn add_digest(report: &mut Report, format: &Format, output: &[Goldilocks], height: u8) -> Result<()> {
    let digest = tree::from_elements(output);
    let digest = digest.ok_or_else(|| CliError::refused("the output is not a Keccak digest", "run doctor"))?;
    report.add("keccak_digest", hex::encode(digest));
    report.add("keccak_tree", format.to_string());
    report.add("keccak_height", height);
    Ok(())
}
