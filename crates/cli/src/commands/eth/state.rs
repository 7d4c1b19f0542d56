//! `evergrove eth prove`, `update`, `claims` and `verify`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use evergrove::ethereum::input::{claim_value, read_changes, read_proofs, read_witness};
use evergrove::ethereum::{Nodes, Tries};
use evergrove::mpt::{
    self, Batch, Known, PieceError, Prepared, Progress, Size, StateProof, StateProofError, Statement, Witness,
};
use evergrove::primitives::Digest;
use evergrove::proof::ethereum::{Anchor, Claim, Hash, Header, Hex, Roots, Tag, canonical_digest};

use super::super::Terminal;
use super::{Block, Check, Claimed, add_block, add_claims, check, claims_in, name, note, read, root_of};
use crate::exit::CliError;
use crate::progress::Counter;
use crate::report::{Report, seconds};
use crate::{files, leader, results};

/// Prove the claims that follow from answers of clients, in one proof for all
///
/// The answers are checked as by check. Whoever verifies the proof needs the header or the roots (with --anchor block the hash), and the claims, but none of the answers. Memory and time are those of some
/// hundred thousand elements for each node: a few tenths of a second for one account, seconds for all that a block touches.
///
/// With --batch the claims are proven in pieces, which are joined, and all proofs are kept: eth update makes only those that a later block changes, or one piece with all that it changes. Claims that are too many for one piece
/// are proven so in any case.
#[derive(Debug, clap::Args)]
pub(super) struct Prove {
    #[command(flatten)]
    check: Check,
    /// File that the proof is written to
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    /// File that the claims are written to, as verify reads them
    #[arg(long, value_name = "FILE")]
    claims_out: Option<PathBuf>,
    /// File that the batch is written to: the claims, their nodes, and all proofs
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
    /// What the proof names: the roots, or the hash of the block. With block the proof contains the header, which shows that the roots are those of the block
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Named::Roots)]
    anchor: Named,
    /// Depth in the state's trie at which nodes are put into other pieces: what changes in every block stays apart from what does not. 3 suits mainnet; 2 if the claims are a thousand
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=63), requires = "batch")]
    cut: Option<u8>,
    /// Print how much there is to prove, and prove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Prove the claims of a batch about a later block, with new proofs only for what has changed
///
/// The new state comes from answers of eth_getProof for the batch's keys, or from the block's witness and its changes, or from its new nodes alone where the keys themselves have not
/// changed. The claims follow the new state: an account that was absent may be present now, a slot may be zero. Entries of receipts, transactions and withdrawals stay proven under their own
/// roots. The batch file is replaced after the proof has been written.
#[derive(Debug, clap::Args)]
pub(super) struct Update {
    /// The batch, as prove or update has written it
    #[arg(long, value_name = "FILE")]
    batch: PathBuf,
    #[command(flatten)]
    block: Block,
    /// Answers of eth_getProof at the new block
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "witness")]
    proofs: Vec<PathBuf>,
    /// Nodes: an answer of debug_executionWitness, a list, or what import has written. With --changes nodes of the state before the block, else of the new state
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,
    /// What the block has changed, as a list or as prestateTracer answers with diffMode. The batch must be about the state before the block
    #[arg(long, value_name = "FILE", requires = "witness", conflicts_with = "proofs")]
    changes: Option<PathBuf>,
    /// File that the proof is written to
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    /// File that the claims are written to, as verify reads them
    #[arg(long, value_name = "FILE")]
    claims_out: Option<PathBuf>,
    /// Print how much there is to prove, and prove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Print the claims of a batch
#[derive(Debug, clap::Args)]
pub(super) struct Claims {
    /// The batch
    #[arg(long, value_name = "FILE")]
    batch: PathBuf,
}

/// Verify a proof of claims about Ethereum's state
///
/// With --claims the proof is about exactly these. Without them it says that there are claims with the digest that it names, all of them true, and not which.
#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// The proof
    #[arg(long, value_name = "FILE")]
    proof: PathBuf,
    #[command(flatten)]
    block: Block,
    /// The claims (JSON, as prove writes them to --claims-out)
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// What a proof names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Named {
    Roots,
    Block,
}

/// What a proof names that was made with or without the header of its block.
pub(crate) fn named(header: Option<&Header>) -> &'static str {
    if header.is_some() { "block" } else { "roots" }
}

/// The block of a verifier.
pub(super) struct OfBlock {
    roots: Option<Roots>,
    pub(super) header: Option<Header>,
    hash: Option<Hash>,
}

impl OfBlock {
    pub(super) fn known(&self) -> Known<'_> {
        Known {
            roots: self.roots.as_ref(),
            hash: self.header.as_ref().map(|header| &header.hash).or(self.hash.as_ref()),
        }
    }
    /// Adds the block or the roots of a proof that was verified. Returns its roots, if they are known.
    pub(super) fn add(&self, report: &mut Report, proof: &StateProof) -> Result<Option<Roots>> {
        let roots: Option<Vec<(Tag, Hash)>> = match (&proof.statement, &self.header) {
            (Statement::Roots(roots), _) => Some(roots.iter().map(|&(tag, root, _)| (tag, root)).collect()),
            (Statement::Block { digests, .. }, Some(header)) => {
                digests.iter().map(|&(tag, _)| Some((tag, *header.roots.get(tag)?))).collect()
            }
            (Statement::Block { .. }, None) => None,
        };
        let roots = roots.map(|roots| Roots::new(roots).context("roots of a proof")).transpose()?;
        match (&roots, &proof.statement) {
            (Some(roots), _) => add_block(report, roots, self.header.as_ref()),
            (None, Statement::Block { hash, .. }) => report.add("block_hash", Hex(hash).to_string()),
            (None, Statement::Roots(_)) => {}
        }
        report.add("anchor", proof.statement.name());
        Ok(roots)
    }
}

impl Block {
    /// What a verifier knows: roots, a header, or the hash of a block alone.
    pub(super) fn known(&self) -> Result<OfBlock> {
        let alone = self.header.is_none() && self.block_hash.is_some();
        let (roots, header) =
            if alone { (None, None) } else { self.read().map(|(roots, header)| (Some(roots), header))? };
        Ok(OfBlock { roots, header, hash: self.block_hash })
    }
}

pub(super) fn prove(args: &Prove, terminal: Terminal) -> Result<()> {
    if args.anchor == Named::Block && args.check.block.header.is_none() {
        return Err(CliError::usage(
            "--anchor block: the header is missing",
            "add the header of the block with --header",
        ));
    }
    let (mut report, Claimed { roots, header, nodes, claims }) = check(&args.check)?;
    let block = mpt::Block { roots: &roots, header: header.as_ref().filter(|_| args.anchor == Named::Block) };
    let find = |hash: &Hash| nodes.get(hash);
    let witness = Witness::new(block, &find, &claims)?;
    report.add("anchor", named(block.header));
    if block.header.is_some() && args.batch.is_some() && roots.iter().any(|(tag, _)| *tag != Tag::State) {
        report
            .note("update cannot follow with this batch: its receipts, transactions or withdrawals are of this block");
    }
    // A single proof, if a circuit has room.
    let one = args.batch.is_none() && (!args.dry_run || StateProof::is_possible(&witness));
    let start = Instant::now();
    let proof = match args.out.as_ref().filter(|_| one && !args.dry_run) {
        None => None,
        Some(out) => match StateProof::new(&witness) {
            Ok(proof) => Some((out, proof.to_bytes())),
            Err(PieceError::TooLarge { .. }) => None,
            Err(e) => return Err(e.into()),
        },
    };
    if proof.is_none() && !(one && args.dry_run) {
        let size = Batch::size_for(&witness, PIECE_ELEMENTS, args.cut);
        let prepared = Prepared::new(block, &find, &claims, (size, args.cut), None)?;
        let batch = Batched { nodes: &nodes, prepared, keep: args.batch.as_deref() };
        let outputs = Outputs { out: args.out.as_deref(), claims: args.claims_out.as_deref(), dry_run: args.dry_run };
        return batch.prove(report, &witness, &outputs, terminal);
    }
    add_size(&mut report, &witness);
    report.add("new_proofs", 1);
    if args.dry_run {
        add_estimate(&mut report, &witness.size(), [1, 0], terminal)?;
    }
    if let Some((out, proof)) = proof {
        report.add_time("seconds", start.elapsed());
        report.add("proof_bytes", proof.len());
        files::write(out, |file| Ok(file.write_all(&proof)?))?;
    }
    write_claims(args.claims_out.as_deref(), &claims)?;
    report.print(terminal.format)
}

/// Approximate number of elements of a piece that is joined with others.
const PIECE_ELEMENTS: u64 = 12_000_000;

fn add_size(report: &mut Report, witness: &Witness) {
    let size = witness.size();
    report.add("keccak_blocks", size.keccak_blocks());
    report.add("nodes", size.branches + size.paths);
}

/// Adds the time of pieces and joins on this machine, which is measured once.
fn add_estimate(report: &mut Report, size: &Size, proofs: [usize; 2], terminal: Terminal) -> Result<()> {
    let config = leader::measured(leader::config(None)?, terminal);
    let estimate = config.state_seconds(size, proofs);
    report.add_as("seconds", estimate, format!("about {}", seconds(estimate)));
    Ok(())
}

fn write_claims(path: Option<&Path>, claims: &[Claim]) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let values: Vec<_> = claims.iter().map(claim_value).collect();
    files::write(path, |file| Ok(serde_json::to_writer_pretty(file, &values)?))
}

/// The files for the results.
struct Outputs<'a> {
    out: Option<&'a Path>,
    claims: Option<&'a Path>,
    dry_run: bool,
}

/// A batch that is prepared for proving.
struct Batched<'a> {
    nodes: &'a Nodes,
    prepared: Prepared<'a>,
    /// The file for the batch.
    keep: Option<&'a Path>,
}

impl Batched<'_> {
    fn prove(self, mut report: Report, witness: &Witness, outputs: &Outputs<'_>, terminal: Terminal) -> Result<()> {
        let Self { nodes, prepared, keep } = self;
        add_size(&mut report, witness);
        let [pieces, joins] = prepared.all_proofs();
        let new: usize = prepared.new_proofs().iter().sum();
        report.add("pieces", pieces);
        report.add("joins", joins);
        report.add("new_proofs", new);
        if outputs.dry_run {
            add_estimate(&mut report, &prepared.size(), prepared.new_proofs(), terminal)?;
        }
        if let Some(out) = outputs.out.filter(|_| !outputs.dry_run) {
            let start = Instant::now();
            let prover = prepared.prover()?;
            let setup = start.elapsed();
            let counter = Counter::new(terminal.quiet, "proofs", Some(new as u64));
            let start = Instant::now();
            let mut made = 0;
            let batch = prepared.prove(&prover, &|hash| nodes.get(hash), &mut |progress: Progress| {
                (made..progress.made).for_each(|_| counter.step());
                made = progress.made;
            });
            counter.finish();
            let batch = batch?;
            let elapsed = start.elapsed();
            let proof = batch.proof()?.to_bytes();
            report.add_time("setup_seconds", setup);
            report.add_time("seconds", elapsed);
            report.add("proof_bytes", proof.len());
            files::write(out, |file| Ok(file.write_all(&proof)?))?;
            // The batch is written last: until then, the old batch can be updated again.
            if let Some(path) = keep {
                files::write(path, |file| Ok(file.write_all(&batch.to_bytes())?))?;
            }
        }
        write_claims(outputs.claims, prepared.claims())?;
        report.print(terminal.format)
    }
}

/// Greatest size of a batch in bytes.
pub(crate) const BATCH_MAX: u64 = 1 << 31;

pub(super) fn read_batch(path: &Path) -> Result<Batch> {
    let bytes = files::read(path, BATCH_MAX, "take the file that prove has written to --batch")?;
    let refused = |e: StateProofError| {
        CliError::refused(
            format!("{}: {e}", name(path)),
            "take the file that eth prove or eth update has written to --batch",
        )
    };
    Batch::from_bytes(&bytes).map_err(refused)
}

pub(super) fn update(args: &Update, terminal: Terminal) -> Result<()> {
    let batch = read_batch(&args.batch)?;
    if batch.roots.get(Tag::State).is_none() {
        bail!(
            "{}: its receipts, transactions or withdrawals are of one block alone: prove those of the other block",
            name(&args.batch)
        );
    }
    let (known, header) = args.block.read()?;
    // The proof names what the batch's proof names.
    let anchor = header.as_ref().filter(|_| batch.header.is_some());
    if batch.header.is_some() {
        if header.is_none() {
            let message = format!("{}: its proof is about a block, and the new header is missing", name(&args.batch));
            return Err(CliError::usage(message, "add the header of the new block with --header"));
        }
        if batch.roots.iter().any(|(tag, _)| *tag != Tag::State) {
            bail!(
                "{}: its proof is about one block, with its receipts, transactions or withdrawals: prove those of the other block",
                name(&args.batch)
            );
        }
    }
    let state = *root_of(&known, Tag::State)?;
    // Entries of lists keep the roots of their block.
    let moved = |&(tag, root): &(Tag, Hash)| (tag, if tag == Tag::State { state } else { root });
    let roots = Roots::new(batch.roots.iter().map(moved).collect()).context("roots of a batch")?;
    let mut all = batch.nodes.clone();
    for path in &args.proofs {
        for proof in read_proofs(&read(path)?).with_context(|| name(path))? {
            all.extend(proof.nodes);
            all.extend(proof.slots.into_iter().flat_map(|slot| slot.nodes));
        }
    }
    if let Some(path) = &args.witness {
        all.extend(read_witness(&read(path)?).with_context(|| name(path))?.nodes);
    }
    let tries = match &args.changes {
        None => Tries::new(&roots, Nodes::new(all)?),
        Some(path) => {
            let mut tries = Tries::new(&batch.roots, Nodes::new(all)?);
            tries.apply(&read_changes(&read(path)?).with_context(|| name(path))?)?;
            tries.expect_state_root(&state)?;
            tries
        }
    };
    let claims: Vec<Claim> = batch.claims.iter().map(|claim| tries.renewed(claim)).collect::<Result<_, _>>()?;
    let nodes = Nodes::new(tries.nodes_of(&claims)?.into_iter().map(<[u8]>::to_vec))?;
    let find = |hash: &Hash| nodes.get(hash);
    let block = mpt::Block { roots: &roots, header: anchor };
    let witness = Witness::new(block, &find, &claims)?;
    let options = (batch.size, batch.cut);
    let prepared = match Prepared::new(block, &find, &claims, options, Some(&batch)) {
        // Claims that now end at one node need larger pieces, and new proofs.
        Err(PieceError::Crowded { .. }) => {
            let size = Batch::size_for(&witness, PIECE_ELEMENTS, batch.cut);
            Prepared::new(block, &find, &claims, (size, batch.cut), None)?
        }
        prepared => prepared?,
    };
    let changed = batch.claims.iter().zip(&claims).filter(|(before, after)| before != after).count();
    let mut report = Report::default();
    add_block(&mut report, &roots, header.as_ref());
    report.add("anchor", named(block.header));
    report.add("claims", claims.len());
    report.add("changed_claims", changed);
    report.add("canonical_digest", canonical_digest(&claims)?.to_string());
    for (tag, root) in roots.iter().filter(|(tag, _)| *tag != Tag::State) {
        report.note(format!("the {tag} root {} is that of the batch: its entries are not of the new block", Hex(root)));
    }
    let outputs = Outputs { out: args.out.as_deref(), claims: args.claims_out.as_deref(), dry_run: args.dry_run };
    Batched { nodes: &nodes, prepared, keep: Some(&args.batch) }.prove(report, &witness, &outputs, terminal)
}

pub(super) fn claims(args: &Claims, terminal: Terminal) -> Result<()> {
    let batch = read_batch(&args.batch)?;
    // The note says that the claims are true, and only the proof shows that.
    let proof = batch.proof()?;
    let refused =
        |e: StateProofError| CliError::refused(format!("{}: {e}", name(&args.batch)), "prove the batch again");
    let known = Known { roots: Some(&batch.roots), hash: batch.header.as_ref().map(|header| &header.hash) };
    proof.verify(known, None).map_err(refused)?;
    let mut report = Report::default();
    add_block(&mut report, &batch.roots, batch.header.as_ref());
    report.add("anchor", proof.statement.name());
    add_claims(&mut report, &batch.claims);
    report.add("canonical_digest", canonical_digest(&batch.claims)?.to_string());
    let anchor = batch.header.as_ref().map_or(Anchor::Roots(&batch.roots), Anchor::Header);
    note(&mut report, anchor, Some(&batch.claims));
    report.print(terminal.format)
}

/// Greatest size of a proof in bytes.
pub(super) const PROOF_MAX: u64 = 1 << 21;

pub(super) fn read_state_proof(path: &Path) -> Result<StateProof> {
    let bytes = files::read_proof(path, PROOF_MAX, "take the file that prove has written")?;
    StateProof::from_bytes(&bytes).map_err(|e| refused(path, &e))
}

/// The error for the proof in a file.
pub(super) fn refused(path: &Path, e: &StateProofError) -> anyhow::Error {
    CliError::refused(format!("{}: {e}", name(path)), "take proof, block and claims from one run of eth prove")
}

/// The claims of a verifier and their digest, if a file is given.
pub(super) fn given_claims(path: Option<&Path>) -> Result<(Option<Vec<Claim>>, Option<Digest>)> {
    let claims = path.map(claims_in).transpose()?;
    let digest = claims.as_deref().map(canonical_digest).transpose()?;
    Ok((claims, digest))
}

pub(super) fn verify(args: &Verify, terminal: Terminal) -> Result<()> {
    let block = args.block.known()?;
    let proof = read_state_proof(&args.proof)?;
    let (claims, digest) = given_claims(args.claims.as_deref())?;
    let start = Instant::now();
    let bits = proof.verify(block.known(), digest).map_err(|e| refused(&args.proof, &e))?;
    let elapsed = start.elapsed().as_secs_f64();
    let mut report = Report::default();
    let roots = block.add(&mut report, &proof)?;
    if let Some(claims) = &claims {
        add_claims(&mut report, claims);
    }
    report.add("canonical_digest", proof.digest().to_string());
    report.add_as("seconds", elapsed, format!("{}, circuits included", seconds(elapsed)));
    results::add_soundness(&mut report, bits);
    let anchor = match (&block.header, &proof.statement, &roots) {
        (Some(header), ..) => Anchor::Header(header),
        (None, Statement::Block { hash, .. }, _) => Anchor::Block(hash),
        (None, Statement::Roots(_), roots) => Anchor::Roots(roots.as_ref().context("roots of a proof")?),
    };
    note(&mut report, anchor, claims.as_deref());
    report.print(terminal.format)
}
