//! `ethereum` proves claims about Ethereum's state and lists, from files of real data: everything that a block touches,
//! one account with a slot, all receipts of a block, accounts of the genesis.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::turns::median;
use anyhow::{Context, Result, ensure};
use evergrove_ethereum::{Keys, Nodes, Trie};
use evergrove_grove::mpt::{Batch, Join, Kind, NodeProof, Prepared, Size, StateProver, StateVerifier, Witness};
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::ethereum::{Account, Claim, Hash, Roots, Tag, canonical_digest, rlp};
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
    /// Elements of a piece, about.
    #[arg(long, default_value_t = 12_000_000)]
    elements: u64,
    /// The same where only the top is new.
    #[arg(long, default_value_t = 4_500_000)]
    quiet: u64,
    /// Depth in the state's trie at which pieces end.
    #[arg(long)]
    cut: Option<u8>,
    /// Measure a proof for each node, too.
    #[arg(long)]
    peer: bool,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// The row of a case.
#[derive(serde::Serialize)]
struct Figures {
    kernel: &'static str,
    case: String,
    claims: usize,
    keccak_blocks: usize,
    /// All proofs of the batch, and those that were made.
    proofs: usize,
    new_proofs: usize,
    /// log2 of the elements that the proof of a piece commits to, and of those of a join.
    variables: usize,
    join_variables: Option<usize>,
    /// Time to build the circuits and keys.
    setup_seconds: f64,
    seconds: f64,
    /// Includes the digest of the claims; keys are in memory.
    verify_ms: f64,
    proof_bytes: usize,
    bits: f64,
    threads: usize,
    /// Estimated seconds of a peer with one proof per node, and these seconds divided by ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_proofs_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

fn bytes(value: &Value) -> Result<Vec<u8>> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).context("hexadecimal digits")?;
    let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_string() };
    let byte = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16);
    Ok((0..digits.len()).step_by(2).map(byte).collect::<Result<_, _>>()?)
}

/// Pads bytes with leading zeros.
fn fixed<const N: usize>(value: &Value) -> Result<[u8; N]> {
    let (bytes, mut out) = (bytes(value)?, [0; N]);
    ensure!(bytes.len() <= N, "{} bytes: at most {N} are expected", bytes.len());
    out[N - bytes.len()..].copy_from_slice(&bytes);
    Ok(out)
}

/// A state with claims about it.
struct State {
    /// The kind of root.
    tag: Tag,
    root: Hash,
    nodes: Nodes,
    claims: Vec<Claim>,
}

impl Args {
    fn print(&self, figures: &Figures) -> Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(figures)?);
            return Ok(());
        }
        let Figures { case, claims, keccak_blocks, proofs, new_proofs, seconds, threads, .. } = figures;
        let each = 1e3 * seconds / (*keccak_blocks as f64);
        println!(
            "{case}: {claims} claims, {keccak_blocks} blocks of Keccak, {new_proofs} of {proofs} proofs: {seconds:.3} s ({each:.2} ms a block) on {threads} threads"
        );
        let Figures { variables, join_variables, setup_seconds, verify_ms, proof_bytes, bits, .. } = figures;
        println!(
            "    2^{variables} elements{}, setup {setup_seconds:.2} s, verified in {verify_ms:.1} ms, {proof_bytes} bytes, {bits:.1} bits",
            join_variables.map_or(String::new(), |joins| format!(", 2^{joins} in joins"))
        );
        if let (Some(seconds), Some(ratio)) = (figures.node_proofs_seconds, figures.ratio) {
            println!("    a proof for each node: {seconds:.1} s, {ratio:.1} times that");
        }
        Ok(())
    }
    fn chosen(&self, case: &str) -> bool {
        case.contains(&self.case)
    }

    /// Proves all claims in one proof whose circuit fits them exactly.
    fn single(&self, case: &str, state: &State) -> Result<()> {
        if !self.chosen(case) {
            return Ok(());
        }
        let find = |hash: &Hash| state.nodes.get(hash);
        let witness = || Witness::new(&state.roots(), &find, &state.claims);
        let size = witness()?.size();
        let start = Instant::now();
        let prover = StateProver::<Quadratic>::new(&UNIQUE_100, size, false).context("the circuit is too large")?;
        let setup_seconds = start.elapsed().as_secs_f64();
        let (mut proving, mut proof) = (Vec::new(), None);
        for _ in 0..self.runs.max(1) {
            let start = Instant::now();
            proof = Some(prover.piece(&witness()?)?);
            proving.push(start.elapsed().as_secs_f64());
        }
        let proof = proof.context("a run")?;
        let verify_ms = self.verify(prover.verifier(), state, &proof)?;
        self.print(&Figures {
            proofs: 1,
            new_proofs: 1,
            setup_seconds,
            seconds: median(proving),
            verify_ms,
            proof_bytes: proof.bytes.len(),
            ..figures(case, &witness()?, state, prover.verifier())?
        })
    }
    fn verify(&self, verifier: &StateVerifier<Quadratic>, state: &State, proof: &NodeProof) -> Result<f64> {
        let mut seconds = Vec::new();
        for _ in 0..self.runs.max(5) {
            let start = Instant::now();
            let digest = canonical_digest(&state.claims)?;
            verifier.verify(proof.kind, &proof.bytes, &[(state.tag, state.root, digest)])?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(1e3 * median(seconds))
    }

    /// Proves pieces and joins, except for those of an earlier batch.
    fn batch(&self, case: &str, state: &State, options: (Size, Option<u8>), earlier: Option<&Made>) -> Result<Made> {
        let find = |hash: &Hash| state.nodes.get(hash);
        let batch = earlier.map(|made| &made.batch);
        let start = Instant::now();
        let prover = match earlier {
            Some(made) => made.prover.clone(),
            None => Arc::new(Prepared::new(&state.roots(), &find, &state.claims, options, None)?.prover()?),
        };
        let setup_seconds = start.elapsed().as_secs_f64();
        let (mut proving, mut last) = (Vec::new(), None);
        for _ in 0..self.runs.max(1) {
            let start = Instant::now();
            let prepared = Prepared::new(&state.roots(), &find, &state.claims, options, batch)?;
            let made = prepared.prove(&prover, &find, &mut |_| ())?;
            proving.push(start.elapsed().as_secs_f64());
            last = Some((prepared.all_proofs(), prepared.new_proofs(), made));
        }
        let (all, new, batch) = last.context("a run")?;
        let proof = batch.proofs.last().context("a proof")?;
        let verify_ms = self.verify(prover.verifier(), state, proof)?;
        let witness = Witness::new(&state.roots(), &find, &state.claims)?;
        let mut figures = Figures {
            proofs: all.iter().sum(),
            new_proofs: new.iter().sum(),
            setup_seconds,
            seconds: median(proving),
            verify_ms,
            proof_bytes: proof.bytes.len(),
            ..figures(case, &witness, state, prover.verifier())?
        };
        if earlier.is_none() && self.peer {
            let nodes = witness.size().branches + witness.size().paths;
            let seconds = nodes as f64 * self.node_proof()?;
            figures.node_proofs_seconds = Some(seconds);
            figures.ratio = Some(seconds / figures.seconds);
        }
        self.print(&figures)?;
        Ok(Made { batch, prover })
    }
    /// Seconds of a proof that verifies two others, on the same engine. This is a lower bound for a circuit of one node
    /// that verifies its children's proofs: Keccak and decoding are not counted, and a node has at most two children.
    fn node_proof(&self) -> Result<f64> {
        let world = small()?;
        let find = |hash: &Hash| world.nodes.get(hash);
        let size = Size { blocks: 6, branches: 1, paths: 2, accounts: 2, slots: 1, roots: 2, opens: 2, ..Size::NONE };
        let prepared = Prepared::new(&world.roots(), &find, &world.claims, (size, Some(1)), None)?;
        let prover = prepared.prover()?;
        let batch = prepared.prove(&prover, &find, &mut |_| ())?;
        let piece = batch.proofs.iter().find(|proof| proof.kind == Kind::Piece).context("a piece")?;
        let mut seconds = Vec::new();
        for _ in 0..self.runs.max(3) {
            let start = Instant::now();
            prover.join([piece; 2], Join::Alone)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(median(seconds))
    }
}

/// A batch with its prover.
struct Made {
    batch: Batch,
    prover: Arc<StateProver<Quadratic>>,
}

/// A state with a few accounts below one branch.
fn small() -> Result<State> {
    let (mut state, mut claims) = (Trie::empty(Keys::Hashed), Vec::new());
    for i in 0..3_u8 {
        let (address, account) =
            ([i; 20], Account { nonce: 1, balance: [i; 32], storage_root: keccak_256(&[0x80]), code_hash: [i; 32] });
        state.put(&keccak_256(&address), Some(&account.rlp()))?;
        claims.push(Claim::Account { address, account });
    }
    State::of(&mut state, claims)
}

impl State {
    /// A state with the nodes of a trie that prove the claims about accounts.
    fn of(state: &mut Trie, claims: Vec<Claim>) -> Result<Self> {
        let (root, mut nodes) = (state.root(), Vec::new());
        for claim in &claims {
            let Claim::Account { address, .. } = claim else { continue };
            nodes.extend(state.proof(&keccak_256(address))?.into_iter().map(<[u8]>::to_vec));
        }
        Ok(Self { tag: Tag::State, root, nodes: Nodes::new(nodes)?, claims })
    }
    fn roots(&self) -> Roots {
        Roots::new(vec![(self.tag, self.root)]).expect("one root")
    }
    fn size(&self, elements: u64, cut: Option<u8>) -> Result<Size> {
        let find = |hash: &Hash| self.nodes.get(hash);
        Ok(Batch::size_for(&Witness::new(&self.roots(), &find, &self.claims)?, elements, cut))
    }
}

/// The figures that all rows have.
fn figures(case: &str, witness: &Witness, state: &State, verifier: &StateVerifier<Quadratic>) -> Result<Figures> {
    let size = witness.size();
    Ok(Figures {
        kernel: "ethereum",
        case: case.into(),
        claims: state.claims.len(),
        keccak_blocks: size.keccak_blocks(),
        proofs: 0,
        new_proofs: 0,
        variables: verifier.variables().0,
        join_variables: verifier.variables().1,
        setup_seconds: 0.0,
        seconds: 0.0,
        verify_ms: 0.0,
        proof_bytes: 0,
        bits: verifier.bits().unique_decoding,
        threads: std::thread::available_parallelism()?.get(),
        node_proofs_seconds: None,
        ratio: None,
    })
}

/// The claim about an account before or after a block, from the files of real data.
fn account_of(address: [u8; 20], side: &Value) -> Result<Claim> {
    Ok(match side {
        Value::Null => Claim::AbsentAccount { address },
        side => Claim::Account {
            address,
            account: Account {
                nonce: u64::from_be_bytes(fixed(&side["nonce"])?),
                balance: fixed(&side["balance"])?,
                storage_root: fixed(&side["storageHash"])?,
                code_hash: fixed(&side["codeHash"])?,
            },
        },
    })
}

/// The state that a block touches, before or after it.
fn touched(block: &Value, side: &str, root: &str, quiet: bool) -> Result<State> {
    let mut nodes = Vec::new();
    for list in ["preNodes", "newNodes"] {
        nodes.extend(block[list].as_array().context("nodes")?.iter().map(bytes).collect::<Result<Vec<_>>>()?);
    }
    let mut claims = Vec::new();
    for account in block["accounts"].as_array().context("accounts")? {
        let slots = account["slots"].as_array().context("slots")?;
        let same = account["pre"] == account["post"] && slots.iter().all(|slot| slot["pre"] == slot["post"]);
        if quiet && !same {
            continue;
        }
        let address = fixed(&account["address"])?;
        claims.push(account_of(address, &account[side])?);
        for slot in slots {
            claims.push(Claim::Slot { address, slot: fixed(&slot["slot"])?, value: fixed(&slot[side])? });
        }
    }
    Ok(State { tag: Tag::State, root: fixed(&block[root])?, nodes: Nodes::new(nodes)?, claims })
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = |name: &str| -> Result<Value> {
        let path = args.data.join(name);
        Ok(serde_json::from_slice(&std::fs::read(&path).with_context(|| path.display().to_string())?)?)
    };
    let block = file("mainnet-19807080.json")?;
    let before = touched(&block, "pre", "preStateRoot", false)?;
    let with_slot = before
        .claims
        .windows(2)
        .find(|pair| matches!(pair, [Claim::Account { .. }, Claim::Slot { value, .. }] if *value != [0; 32]));
    let claims = with_slot.context("an account with a slot")?.to_vec();
    args.single(
        "account and slot",
        &State { tag: Tag::State, claims, root: before.root, nodes: before.nodes.clone() },
    )?;

    let case = "block 19807080";
    if args.chosen(case) {
        let made = args.batch(case, &before, (before.size(args.elements, args.cut)?, args.cut), None)?;
        let after = touched(&block, "post", "stateRoot", false)?;
        args.batch("block 19807080, updated", &after, (made.batch.size, args.cut), Some(&made))?;
    }
    let case = "five quiet accounts";
    if args.chosen(case) {
        let before = touched(&block, "pre", "preStateRoot", true)?;
        let cut = args.cut.or(Some(3));
        let options = (before.size(args.quiet, cut)?, cut);
        let made = args.batch(case, &before, options, None)?;
        args.batch(
            "five quiet accounts, next block",
            &touched(&block, "post", "stateRoot", true)?,
            options,
            Some(&made),
        )?;
    }

    let case = "202 receipts";
    if args.chosen(case) {
        let block = file("mainnet-21925176.json")?;
        let values = block["receipts"].as_array().context("receipts")?;
        let values: Vec<_> = values.iter().map(bytes).collect::<Result<_>>()?;
        let mut trie = Trie::indexed(&values)?;
        let (root, mut nodes) = (trie.root(), Vec::new());
        ensure!(root == fixed(&block["receiptsRoot"])?, "the root of the receipts");
        for index in 0..values.len() as u64 {
            nodes.extend(trie.proof(&rlp::integer(index))?.into_iter().map(<[u8]>::to_vec));
        }
        let entry = |(index, value)| Claim::Entry { trie: Tag::Receipts, index, value };
        let claims = (0..).zip(values).map(entry).collect();
        let state = State { tag: Tag::Receipts, root, nodes: Nodes::new(nodes)?, claims };
        args.batch(case, &state, (state.size(args.elements, args.cut)?, args.cut), None)?;
    }

    let case = "genesis, 1024 accounts";
    if !args.chosen(case) {
        return Ok(());
    }
    let genesis = file("mainnet-genesis.json")?;
    let mut state = Trie::empty(Keys::Hashed);
    let (storage_root, code_hash) = (keccak_256(&[0x80]), keccak_256(&[]));
    let account = |balance| Account { nonce: 0, balance, storage_root, code_hash };
    let mut accounts: Vec<([u8; 20], Account)> = Vec::new();
    for (address, balance) in genesis["balances"].as_object().context("balances")? {
        let (address, account) = (fixed(&Value::from(address.as_str()))?, account(fixed(balance)?));
        state.put(&keccak_256(&address), Some(&account.rlp()))?;
        accounts.push((address, account));
    }
    accounts.truncate(1024);
    let claims = |accounts: &[([u8; 20], Account)]| {
        accounts.iter().map(|&(address, account)| Claim::Account { address, account }).collect::<Vec<_>>()
    };
    let before = State::of(&mut state, claims(&accounts))?;
    let cut = args.cut.or(Some(2));
    let options = (before.size(args.elements, cut)?, cut);
    let mut made = args.batch(case, &before, options, None)?;
    for block in genesis["blocks"].as_array().context("blocks")? {
        for change in block["changes"].as_array().context("changes")? {
            let (address, account) = (fixed(&change["address"])?, account(fixed(&change["post"])?));
            state.put(&keccak_256(&address), Some(&account.rlp()))?;
            accounts.iter_mut().filter(|own| own.0 == address).for_each(|own| own.1 = account);
        }
        let after = State::of(&mut state, claims(&accounts))?;
        ensure!(after.root == fixed(&block["stateRoot"])?, "the state root of block {}", block["number"]);
        made =
            args.batch(&format!("genesis, 1024 accounts, block {}", block["number"]), &after, options, Some(&made))?;
    }
    Ok(())
}
