//! `evergrove app verify-digest-translation`.

use anyhow::Result;
use evergrove::apps::digest_translation::{DigestTranslation, Format, tree};
use evergrove::proof::Scheme;

use super::super::Terminal;
use super::digest_translation::add_digest;
use crate::apps::VerifyArgs;
use crate::exit::CliError;
use crate::report::Report;

/// Verify that a commitment and a Keccak digest are of the same table, without a store
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    verify: VerifyArgs,
    /// The Keccak tree that the proof must be about, with the types of the columns: keccak-256, openzeppelin(address,uint256) or openzeppelin-js(address,uint256)
    #[arg(long, value_name = "TREE", default_value = "keccak-256")]
    tree: Format,
    /// Refuse the proof unless it is about this Keccak digest: 32 bytes in hexadecimal digits
    #[arg(long, value_name = "HEX")]
    keccak: Option<String>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let expected = args.keccak.as_deref().map(|text| {
        let digits = hex::decode(text.strip_prefix("0x").unwrap_or(text)).ok();
        let digest: Option<tree::KeccakDigest> = digits.and_then(|bytes| bytes.try_into().ok());
        digest.ok_or_else(|| CliError::usage("--keccak: no digest", "write 64 hexadecimal digits"))
    });
    let expected = expected.transpose()?;
    let app = DigestTranslation::new(args.tree.clone());
    let wanted = match app.format() {
        Format::Keccak => DigestTranslation::NAME.into(),
        format => format!("{} to {format}", DigestTranslation::NAME),
    };
    let accepted = args.verify.verify(&[app.into()], Scheme::Tree, None, &wanted)?;
    let found = tree::from_elements(&accepted.output);
    if expected.is_some() && expected != found {
        let found = found.map_or_else(|| "none".into(), hex::encode);
        let message = format!("the proof is about the Keccak digest {found}, --keccak is another");
        return Err(CliError::refused(message, "ask for the proof of the table with this digest"));
    }
    let mut report = Report::accepted(&args.verify.root);
    add_digest(&mut report, &args.tree, &accepted.output, accepted.verified.statement.height)?;
    report.hidden("keccak_checked", expected.is_some());
    if expected.is_none() {
        report.note("note: the Keccak digest is what the proof states: compare it with one that you trust, or give it with --keccak");
    }
    if matches!(args.tree, Format::OpenZeppelinJs(_)) {
        report.hidden("positions_checked", false);
        report.note("note: the proof does not show the positions of rows: that the digest is the root of OpenZeppelin's JavaScript library was checked by whoever made the proof");
    }
    accepted.add_to(&mut report);
    report.print(terminal.format)
}
