//! `ethereum`: proofs of claims about Ethereum's state, from files of real data: everything a block touches, one account with a slot, accounts of the genesis.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use evergrove_ethereum::{Keys, Nodes, Trie};
use evergrove_grove::mpt::{PieceProver, Witness};
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::ethereum::{Account, Claim, Hash, canonical_digest};
use serde_json::Value;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder with `mainnet-19807080.json`.
    data: PathBuf,
    /// Only cases whose name has this in it.
    #[arg(long, default_value = "")]
    case: String,
    /// Runs of each measurement.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// What the row of a case has. Of several proofs seconds and bytes are sums.
#[derive(serde::Serialize)]
struct Figures {
    kernel: &'static str,
    case: String,
    claims: usize,
    keccak_blocks: usize,
    new_proofs: usize,
    /// Circuits and keys.
    setup_seconds: f64,
    seconds: f64,
    verify_ms: f64,
    proof_bytes: usize,
    bits: f64,
    threads: usize,
}

fn bytes(value: &Value) -> Result<Vec<u8>> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).context("hexadecimal digits")?;
    let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_string() };
    let byte = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16);
    Ok((0..digits.len()).step_by(2).map(byte).collect::<Result<_, _>>()?)
}

/// Bytes with zeros before them.
fn fixed<const N: usize>(value: &Value) -> Result<[u8; N]> {
    let (bytes, mut out) = (bytes(value)?, [0; N]);
    ensure!(bytes.len() <= N, "{} bytes: at most {N} are expected", bytes.len());
    out[N - bytes.len()..].copy_from_slice(&bytes);
    Ok(out)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_unstable_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Proofs of the claims in as few parts as circuits have room for, one after the other.
fn measure(args: &Args, case: &str, root: &Hash, nodes: &Nodes, claims: &[Claim]) -> Result<()> {
    if !case.contains(&args.case) {
        return Ok(());
    }
    let find = |hash: &Hash| nodes.get(hash);
    let witness = |claims: &[Claim]| Witness::new(root, &find, claims);
    let whole = witness(claims)?.size();
    let fits = |claims: &[Claim]| Ok::<_, anyhow::Error>(witness(claims)?.size().is_possible());
    let mut count = 1;
    while !claims.chunks(claims.len().div_ceil(count)).map(fits).collect::<Result<Vec<_>>>()?.into_iter().all(|x| x) {
        count += 1;
    }
    let parts: Vec<&[Claim]> = claims.chunks(claims.len().div_ceil(count)).collect();
    let (mut setup_seconds, mut seconds, mut verify_ms, mut proof_bytes, mut bits) = (0.0, 0.0, 0.0, 0, f64::INFINITY);
    for &part in &parts {
        let start = Instant::now();
        let prover = PieceProver::<Quadratic>::new(&UNIQUE_100, witness(part)?.size());
        let prover = prover.context("the circuit is too large")?;
        setup_seconds += start.elapsed().as_secs_f64();
        let digest = canonical_digest(part)?;
        let (mut proving, mut verifying, mut proof) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..args.runs.max(1) {
            let start = Instant::now();
            proof = prover.prove(&witness(part)?)?;
            proving.push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            prover.verifier().verify(&proof, root, digest).map_err(anyhow::Error::msg)?;
            verifying.push(start.elapsed().as_secs_f64());
        }
        seconds += median(proving);
        verify_ms += 1e3 * median(verifying);
        proof_bytes += proof.len();
        bits = bits.min(prover.verifier().bits().unique_decoding);
    }
    let figures = Figures {
        kernel: "ethereum",
        case: case.into(),
        claims: claims.len(),
        keccak_blocks: whole.blocks + whole.accounts + whole.slots,
        new_proofs: parts.len(),
        setup_seconds,
        seconds,
        verify_ms,
        proof_bytes,
        bits,
        threads: std::thread::available_parallelism()?.get(),
    };
    if args.json {
        println!("{}", serde_json::to_string(&figures)?);
    } else {
        let Figures { claims, keccak_blocks, new_proofs, threads, .. } = figures;
        let each = 1e3 * seconds / keccak_blocks as f64;
        println!(
            "{case}: {claims} claims, {keccak_blocks} blocks of Keccak, {new_proofs} proofs: {seconds:.3} s ({each:.2} ms a block) on {threads} threads, setup {setup_seconds:.2} s, verified in {verify_ms:.1} ms, {proof_bytes} bytes, {bits:.1} bits"
        );
    }
    Ok(())
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = |name: &str| -> Result<Value> {
        let path = args.data.join(name);
        Ok(serde_json::from_slice(&std::fs::read(&path).with_context(|| path.display().to_string())?)?)
    };
    let block = file("mainnet-19807080.json")?;
    let root: Hash = fixed(&block["preStateRoot"])?;
    let nodes = block["preNodes"].as_array().context("nodes")?;
    let nodes = Nodes::new(nodes.iter().map(bytes).collect::<Result<Vec<_>>>()?)?;
    let mut claims = Vec::new();
    for account in block["accounts"].as_array().context("accounts")? {
        let address = fixed(&account["address"])?;
        claims.push(match &account["pre"] {
            Value::Null => Claim::AbsentAccount { address },
            pre => Claim::Account {
                address,
                account: Account {
                    nonce: u64::from_be_bytes(fixed(&pre["nonce"])?),
                    balance: fixed(&pre["balance"])?,
                    storage_root: fixed(&pre["storageHash"])?,
                    code_hash: fixed(&pre["codeHash"])?,
                },
            },
        });
        for slot in account["slots"].as_array().context("slots")? {
            claims.push(Claim::Slot { address, slot: fixed(&slot["slot"])?, value: fixed(&slot["pre"])? });
        }
    }
    let with_slot = claims
        .windows(2)
        .find(|pair| matches!(pair, [Claim::Account { .. }, Claim::Slot { value, .. }] if *value != [0; 32]));
    measure(args, "account and slot", &root, &nodes, with_slot.context("an account with a slot")?)?;
    measure(args, "block 19807080", &root, &nodes, &claims)?;

    let genesis = file("mainnet-genesis.json")?;
    let mut state = Trie::empty(Keys::Hashed);
    let mut accounts = Vec::new();
    for (address, balance) in genesis["balances"].as_object().context("balances")? {
        let address: [u8; 20] = fixed(&Value::from(address.as_str()))?;
        let storage_root = keccak_256(&[0x80]);
        let account = Account { nonce: 0, balance: fixed(balance)?, storage_root, code_hash: keccak_256(&[]) };
        state.put(&keccak_256(&address), Some(&account.rlp()))?;
        accounts.push(Claim::Account { address, account });
    }
    let root = state.root();
    accounts.truncate(1024);
    let mut nodes = Vec::new();
    for claim in &accounts {
        let Claim::Account { address, .. } = claim else { continue };
        nodes.extend(state.proof(&keccak_256(address))?.into_iter().map(<[u8]>::to_vec));
    }
    measure(args, "genesis, 1024 accounts", &root, &Nodes::new(nodes)?, &accounts)
}
