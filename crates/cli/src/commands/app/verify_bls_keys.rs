//! `evergrove app verify-bls-keys`.

use std::sync::Arc;

use anyhow::Result;
use evergrove::apps::MapReduce;
use evergrove::apps::bls::light_client::{self, Claim};
use evergrove::apps::bls::{BlsKeys, Output};
use evergrove::proof::Scheme;

use super::super::Terminal;
use super::bls_keys::add_output;
use crate::apps::VerifyArgs;
use crate::exit::CliError;
use crate::report::Report;

/// Verify a signature of some keys of a table, without a store: a light client
///
/// Accepted is a signature of the message under the sum of the keys of at least --threshold different rows of the table. The commitment must
/// come from a source that is trusted to have checked every key.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    verify: VerifyArgs,
    /// Least number of signers
    #[arg(long, value_name = "N")]
    threshold: u64,
    /// The message that has been signed, in hexadecimal digits; in Ethereum the signing root
    #[arg(long, value_name = "HEX")]
    message: String,
    /// The signature: 96 compressed bytes of BLS12-381 G2 in hexadecimal digits
    #[arg(long, value_name = "HEX")]
    signature: String,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let digits = |flag: &str, text: &str| {
        hex::decode(text.strip_prefix("0x").unwrap_or(text))
            .map_err(|_| CliError::usage(format!("{flag}: not hexadecimal digits"), "write two digits for every byte"))
    };
    let (message, signature) = (digits("--message", &args.message)?, digits("--signature", &args.signature)?);
    let app: Arc<dyn MapReduce> = Arc::new(BlsKeys);
    let accepted = args.verify.verify(&[app.into()], Scheme::Selected, None, "bls-keys")?;
    let mistake = || CliError::refused("the proof states no sum of keys", "ask for a proof of bls-keys");
    let output = Output::from_elements(&accepted.output).ok_or_else(mistake)?;
    let claim = Claim { message: &message, signature: &signature, threshold: args.threshold };
    light_client::check(&output, &claim)
        .map_err(|e| CliError::refused(e.to_string(), "ask for the signature and the proof of the same signers"))?;

    let mut report = Report::accepted(&args.verify.root);
    add_output(&mut report, &output);
    report.add("threshold", args.threshold);
    report.add("canonical_digest", accepted.verified.statement.canonical.to_string());
    accepted.add_to(&mut report);
    report.print(terminal.format)
}
