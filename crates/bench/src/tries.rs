//! `tries` measures Ethereum's tries without proofs, from files of real data: answers are read and verified, and a
//! block is executed on a partial trie. One thread.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use evergrove_ethereum::input::{check_proofs, read_changes, read_proofs, read_witness};
use evergrove_ethereum::{Nodes, Tries};
use evergrove_verifier::ethereum::{Claim, Roots, Tag};
use serde_json::Value;

use crate::turns::{Row, median};

/// Runs of each measurement.
const RUNS: usize = 21;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder with `mainnet-19807080.json` and `mainnet-19807079-19807080-getproof.json`.
    data: PathBuf,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// The median seconds of `run`. Results are dropped after the clock stops.
fn seconds<T>(mut run: impl FnMut() -> Result<T>) -> Result<f64> {
    let mut seconds = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        let made = run()?;
        seconds.push(start.elapsed().as_secs_f64());
        drop(made);
    }
    Ok(median(seconds))
}

fn root(block: &Value, name: &str) -> Result<Roots> {
    let digits = block[name].as_str().and_then(|t| t.strip_prefix("0x")).context("a root")?;
    let number = |i: usize| digits.get(2 * i..2 * i + 2).and_then(|d| u8::from_str_radix(d, 16).ok());
    let root = (0..32).map(number).collect::<Option<Vec<u8>>>().context("32 bytes")?;
    Roots::new(vec![(Tag::State, root.as_slice().try_into()?)]).context("a list of roots")
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = |name: &str| -> Result<Value> {
        let path = args.data.join(name);
        Ok(serde_json::from_slice(&std::fs::read(&path).with_context(|| path.display().to_string())?)?)
    };
    let row = |kernel, size: usize, seconds: f64| {
        let row = Row::new(kernel, "evergrove", size, seconds);
        row.print(args.json, &format!("{:.2} ms", seconds * 1e3))
    };

    let pair = file("mainnet-19807079-19807080-getproof.json")?;
    let blocks: Vec<_> = pair["blocks"].as_array().context("blocks")?.iter().collect();
    let texts = blocks.iter().map(|b| Ok((serde_json::to_vec(&b["proofs"])?, root(b, "stateRoot")?)));
    let texts: Vec<(Vec<u8>, Roots)> = texts.collect::<Result<_>>()?;
    let verify = || -> Result<usize> {
        let mut claims = 0;
        for (text, root) in &texts {
            let root = root.get(Tag::State).context("a state root")?;
            let made = check_proofs(root, read_proofs(text)?)?.claims;
            claims += made.iter().filter(|c| matches!(c, Claim::Account { .. } | Claim::Slot { .. })).count();
        }
        Ok(claims)
    };
    row("eth-answers", verify()?, seconds(verify)?)?;

    let block = file("mainnet-19807080.json")?;
    let (before, after) = (root(&block, "preStateRoot")?, root(&block, "stateRoot")?);
    let after = after.get(Tag::State).context("a state root")?;
    let witness = read_witness(&serde_json::to_vec(&block["preNodes"])?)?.nodes;
    let changes = read_changes(&serde_json::to_vec(&block["accounts"])?)?;
    let nodes = Nodes::new(witness.iter().cloned())?;
    row("eth-witness", witness.len(), seconds(|| Ok(Nodes::new(witness.iter().cloned())?))?)?;
    let tries = Tries::new(&before, nodes);
    let mut updated = tries.clone();
    updated.apply(&changes)?;
    ensure!(updated.root(Tag::State).as_ref() == Some(after), "the changes lead to another state root");
    let update = || {
        let mut tries = tries.clone();
        tries.apply(&changes)?;
        tries.expect_state_root(after)?;
        Ok(tries)
    };
    row("eth-update", changes.len(), seconds(update)?)
}
