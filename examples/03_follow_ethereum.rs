//! Claims about Ethereum's state, proven in one block and carried to the next. A batch keeps its proofs, and only the
//! proofs that the block changes are made again.
//!
//! ```sh
//! cargo run --release --package evergrove --example 03_follow_ethereum
//! ```
//!
//! The file has the answers of clients about block 19,840,104 of mainnet: the nodes of the state before the block, its
//! changes and its header. The argument names another file of this form.

use std::time::Instant;

use evergrove::ethereum::input::{read_changes, read_claims, read_header, read_witness};
use evergrove::ethereum::{Nodes, Tries};
use evergrove::mpt::{Batch, Prepared, Witness};
use evergrove::proof::ethereum::{Claim, Hash, Roots, Tag, canonical_digest};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/ethereum/mainnet-19840104.json");

/// Proves claims in pieces that end at depth 3 of the state's trie. Pieces of an earlier batch are reused.
fn prove(
    tries: &Tries,
    root: &Hash,
    claims: &[Claim],
    earlier: Option<&Batch>,
) -> Result<Batch, Box<dyn std::error::Error>> {
    let nodes = Nodes::new(tries.nodes_of(claims)?.into_iter().map(<[u8]>::to_vec))?;
    let find = |hash: &Hash| nodes.get(hash);
    let roots = Roots::of_state(*root);
    let size = match earlier {
        Some(batch) => batch.size,
        None => Batch::size_for(&Witness::new(&roots, &find, claims)?, 1 << 21, Some(3)),
    };
    let prepared = Prepared::new(&roots, &find, claims, (size, Some(3)), earlier)?;
    let start = Instant::now();
    let batch = prepared.prove(&prepared.prover()?, &find, &mut |_| ())?;
    let (new, all): (usize, usize) = (prepared.new_proofs().iter().sum(), prepared.all_proofs().iter().sum());
    println!(
        "{} claims: {new} of {all} proofs in {:.2} s, circuits included",
        claims.len(),
        start.elapsed().as_secs_f64()
    );

    // A verifier with the state root and the claims checks only the last proof.
    batch.proof()?.verify(&roots, Some(canonical_digest(claims)?))?;
    Ok(batch)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| FILE.into());
    let block: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let header = read_header(block["header"].as_str().ok_or("no header")?.as_bytes(), None)?;
    let after = *header.roots.get(Tag::State).ok_or("no state root")?;
    let before: Hash = hex::decode(block["preStateRoot"].as_str().ok_or("no root")?.trim_start_matches("0x"))?
        .try_into()
        .map_err(|_| "no root")?;

    // The state before the block, and claims about it: the accounts that the block touches. Each account is in its own
    // piece, and all of them change. Pieces of accounts that the block does not change would keep their proofs.
    let state = read_witness(json!({ "state": block["preNodes"] }).to_string().as_bytes())?;
    let mut tries = Tries::new(&Roots::of_state(before), Nodes::new(state.nodes)?);
    let keys: Vec<Value> = block["accounts"]
        .as_array()
        .ok_or("no accounts")?
        .iter()
        .map(|a| json!({ "address": a["address"], "absent": true }))
        .collect();
    let claims = read_claims(json!(keys).to_string().as_bytes())?;
    let claims: Vec<Claim> = claims.iter().map(|claim| tries.renewed(claim)).collect::<Result<_, _>>()?;
    let batch = prove(&tries, &before, &claims, None)?;

    // The block's changes lead to the state root in its header.
    tries.apply(&read_changes(block["accounts"].to_string().as_bytes())?)?;
    tries.expect_state_root(&after)?;
    let claims: Vec<Claim> = batch.claims.iter().map(|claim| tries.renewed(claim)).collect::<Result<_, _>>()?;
    prove(&tries, &after, &claims, Some(&batch))?;
    println!("block {}: the claims are true in its state", header.number);
    Ok(())
}
