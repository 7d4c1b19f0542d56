//! `evergrove app openzeppelin-proof`.

use std::path::PathBuf;

use anyhow::Result;
use evergrove::openzeppelin::{self, RowProof};
use evergrove::proof::ethereum::Hex;
use evergrove::store::Store;

use super::super::Terminal;
use crate::args::StoreArgs;
use crate::files;
use crate::report::Report;

/// Print the proof of one row as a contract takes it: OpenZeppelin's MerkleProof.verify(proof, root, leaf)
///
/// Every column of the table must have a type of Solidity's ABI, like address or uint256. The leaf is
/// keccak256(bytes.concat(keccak256(abi.encode(..)))) of the row. The command reads the whole table: for n rows it hashes n leaves twice and
/// fewer than n nodes. The proof has at most one digest for each level of the table.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Position of the row
    #[arg(long, value_name = "INDEX")]
    row: u64,
    /// Write the proof to this file, as one JSON object
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.store.store)?;
    files::check(&args.out)?;
    for proof in openzeppelin::prove(&store.view()?, &[args.row])? {
        if let Some(path) = &args.out {
            let object = report(&proof).object();
            files::write(path, |out| Ok(writeln!(out, "{object}")?))?;
        }
        let mut report = report(&proof);
        if let Some(path) = &args.out {
            report.add("out", path.display().to_string());
        }
        report.print(terminal.format)?;
    }
    Ok(())
}

fn report(proof: &RowProof) -> Report {
    let hex = |bytes: &[u8; 32]| Hex(bytes).to_string();
    let types: Vec<_> = proof.types.iter().map(ToString::to_string).collect();
    let words: Vec<_> = proof.words.iter().map(hex).collect();
    let siblings: Vec<_> = proof.siblings.iter().map(hex).collect();
    let mut report = Report::default();
    report.add("root", hex(&proof.root));
    report.add("row", proof.position);
    report.add_as("types", types.clone(), types.join(", "));
    report.add_as("values", proof.values(), proof.values().join(", "));
    report.hidden("words", words.clone());
    report.add("leaf", hex(&proof.leaf));
    report.hidden("proof", siblings.clone());
    for (title, digests) in [("Words, of abi.encode:", words), ("Proof, from the leaf up:", siblings)] {
        report.note(format!("\n{title}"));
        for (i, digest) in digests.iter().enumerate() {
            report.note(format!("  {i:>2} {digest}"));
        }
    }
    report
}
