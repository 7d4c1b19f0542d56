//! `evergrove eth`.

#[cfg(feature = "local")]
mod import;
#[cfg(feature = "local")]
mod table;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
#[cfg(feature = "local")]
use std::time::Instant;

use anyhow::{Context, Result, bail};
use evergrove::ethereum::input::{
    TEXT_MAX, check_entries, check_proofs, claim_value, read_claims, read_entries, read_header, read_proofs,
};
#[cfg(feature = "local")]
use evergrove::ethereum::input::{read_changes, read_witness};
use evergrove::ethereum::{Nodes, Tries};
#[cfg(feature = "local")]
use evergrove::mpt::{
    self, Batch, Known, PieceError, Prepared, Progress, Size, StateProof, StateProofError, Statement, Witness,
};
use evergrove::primitives::hash::keccak::keccak_256;
use evergrove::proof::ethereum::{
    Anchor, Claim, Hash, Header, Hex, Roots, Shown, SlotRule, Step, Tag, Word, canonical_digest,
};

use super::Terminal;
use crate::exit::CliError;
use crate::files;
#[cfg(feature = "local")]
use crate::leader;
#[cfg(feature = "local")]
use crate::progress::Counter;
use crate::report::Report;
#[cfg(feature = "local")]
use crate::report::seconds;
#[cfg(feature = "local")]
use crate::results;
#[cfg(feature = "local")]
pub(super) use table::add_table;

/// Prove the answers of Ethereum clients about accounts, slots, receipts and other lists of a block, check it against the block, and number the slots of contracts
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    eth: Eth,
}

#[derive(Debug, clap::Subcommand)]
enum Eth {
    Check(Check),
    #[cfg(feature = "local")]
    Import(import::Import),
    #[cfg(feature = "local")]
    Prove(Prove),
    #[cfg(feature = "local")]
    Update(Update),
    #[cfg(feature = "local")]
    Claims(Claims),
    #[cfg(feature = "local")]
    Verify(Verify),
    #[cfg(feature = "local")]
    Table(table::Table),
    #[cfg(feature = "local")]
    VerifyTable(table::VerifyTable),
    Slot(Slot),
}

/// The block that is spoken of.
#[derive(Clone, Debug, clap::Args)]
struct Block {
    /// The state root
    #[arg(long, value_name = "HEX", value_parser = parse_hash, conflicts_with = "header", required_unless_present_any = ["header", "block_hash", "transactions_root", "receipts_root", "withdrawals_root"])]
    state_root: Option<Hash>,
    /// The root of the block's transactions
    #[arg(long, value_name = "HEX", value_parser = parse_hash, conflicts_with = "header")]
    transactions_root: Option<Hash>,
    /// The root of the block's receipts
    #[arg(long, value_name = "HEX", value_parser = parse_hash, conflicts_with = "header")]
    receipts_root: Option<Hash>,
    /// The root of the block's withdrawals
    #[arg(long, value_name = "HEX", value_parser = parse_hash, conflicts_with = "header")]
    withdrawals_root: Option<Hash>,
    /// A block header: its RLP in hexadecimal digits, or the block that eth_getBlockByHash answers
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,
    /// The hash that the header must have, from a source that you trust. Only verify and verify-table take it without --header, for proofs made with --anchor block
    #[arg(long, value_name = "HEX", value_parser = parse_hash, conflicts_with_all = ["state_root", "transactions_root", "receipts_root", "withdrawals_root"])]
    block_hash: Option<Hash>,
}

/// Check answers of clients against a header or roots, and print the claims that follow
///
/// Nothing is proven here: the nodes in answers of eth_getProof are checked natively, as a light client does, and lists of receipts, transactions or withdrawals by the root that they lead to.
///
/// Accounts and slots that the answers show to be absent are claims as well. Fields that a client reports beside its proofs must agree with them. The canonical digest is that
/// of the claims: a proof about them will have it.
#[derive(Clone, Debug, clap::Args)]
struct Check {
    /// Answers of eth_getProof, one or a list in each file, with or without the envelope of JSON-RPC
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present_any = ["nodes", "transactions", "receipts", "withdrawals"])]
    proofs: Vec<PathBuf>,
    /// Nodes, as import writes them; without --claims, they are proven for the claims in this file. With --claims also an answer of debug_executionWitness, or a list
    #[arg(long, value_name = "FILE", num_args = 1..)]
    nodes: Vec<PathBuf>,
    /// All transactions of the block: the block that eth_getBlockByHash answers with whole transactions, a list of hexadecimal texts, or of answers of debug_getRawTransaction, in their order
    #[arg(long, value_name = "FILE")]
    transactions: Option<PathBuf>,
    /// All receipts of the block: an answer of eth_getBlockReceipts or debug_getRawReceipts
    #[arg(long, value_name = "FILE")]
    receipts: Option<PathBuf>,
    /// All withdrawals of the block: a list of hexadecimal texts, or the block that eth_getBlockByHash answers
    #[arg(long, value_name = "FILE")]
    withdrawals: Option<PathBuf>,
    #[command(flatten)]
    block: Block,
    /// Check these claims about the answers' accounts, slots and lists (JSON, as --format json prints them), and no others
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// Prove the claims that follow from answers of clients, in one proof for all
///
/// The answers are checked as by check. Whoever verifies the proof needs the header or the roots (with --anchor block the hash), and the claims, but none of the answers. Memory and time are those of some
/// hundred thousand elements for each node: a few tenths of a second for one account, seconds for all that a block touches.
///
/// With --batch the claims are proven in pieces, which are joined, and all proofs are kept: eth update makes only those that a later block changes, or one piece with all that it changes. Claims that are too many for one piece
/// are proven so in any case.
#[cfg(feature = "local")]
#[derive(Debug, clap::Args)]
struct Prove {
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
#[cfg(feature = "local")]
#[derive(Debug, clap::Args)]
struct Update {
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
#[cfg(feature = "local")]
#[derive(Debug, clap::Args)]
struct Claims {
    /// The batch
    #[arg(long, value_name = "FILE")]
    batch: PathBuf,
}

/// Verify a proof of claims about Ethereum's state
///
/// With --claims the proof is about exactly these. Without them it says that there are claims with the digest that it names, all of them true, and not which.
#[cfg(feature = "local")]
#[derive(Debug, clap::Args)]
struct Verify {
    /// The proof
    #[arg(long, value_name = "FILE")]
    proof: PathBuf,
    #[command(flatten)]
    block: Block,
    /// The claims (JSON, as prove writes them to --claims-out)
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// Print the number of a slot of a contract's variable
///
/// A mapping's value is at keccak(key, slot), an array's first element at keccak(slot). --key comes before --element, and that before --member.
#[derive(Debug, clap::Args)]
struct Slot {
    /// Slot of the variable, in decimal digits or in hexadecimal digits after 0x
    #[arg(long, value_name = "SLOT", value_parser = parse_word)]
    base: Word,
    /// Key of a mapping, the outer one first: a number, an address. Keys of fewer than 32 bytes are filled with zeros on the left, as numbers are in the ABI
    #[arg(long, value_name = "KEY", value_parser = parse_word)]
    key: Vec<Word>,
    /// Mappings as Vyper keeps them: keccak(slot, key)
    #[arg(long, requires = "key")]
    vyper: bool,
    /// Element of an array with elements of 32 bytes
    #[arg(long, value_name = "INDEX", value_parser = parse_word)]
    element: Option<Word>,
    /// Member of a struct, counted in slots
    #[arg(long, value_name = "SLOTS", value_parser = parse_word)]
    member: Option<Word>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    match &args.eth {
        Eth::Check(check) => {
            let (report, _) = self::check(check)?;
            report.print(terminal.format)
        }
        #[cfg(feature = "local")]
        Eth::Import(import) => self::import::import(import, terminal),
        #[cfg(feature = "local")]
        Eth::Prove(prove) => self::prove(prove, terminal),
        #[cfg(feature = "local")]
        Eth::Update(update) => self::update(update, terminal),
        #[cfg(feature = "local")]
        Eth::Claims(claims) => self::claims(claims, terminal),
        #[cfg(feature = "local")]
        Eth::Verify(verify) => self::verify(verify, terminal),
        #[cfg(feature = "local")]
        Eth::Table(table) => self::table::table(table, terminal),
        #[cfg(feature = "local")]
        Eth::VerifyTable(verify) => self::table::verify(verify, terminal),
        Eth::Slot(slot) => self::slot(slot, terminal),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    files::read_text(path, TEXT_MAX as u64, "split the file")
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// What a proof names.
#[cfg(feature = "local")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Named {
    Roots,
    Block,
}

/// What a proof names that was made with or without the header of its block.
#[cfg(feature = "local")]
pub(super) fn named(header: Option<&Header>) -> &'static str {
    if header.is_some() { "block" } else { "roots" }
}

/// The block of a verifier.
#[cfg(feature = "local")]
struct OfBlock {
    roots: Option<Roots>,
    header: Option<Header>,
    hash: Option<Hash>,
}

#[cfg(feature = "local")]
impl OfBlock {
    fn known(&self) -> Known<'_> {
        Known {
            roots: self.roots.as_ref(),
            hash: self.header.as_ref().map(|header| &header.hash).or(self.hash.as_ref()),
        }
    }
    /// Adds the block or the roots of a proof that was verified. Returns its roots, if they are known.
    fn add(&self, report: &mut Report, proof: &StateProof) -> Result<Option<Roots>> {
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
    #[cfg(feature = "local")]
    fn known(&self) -> Result<OfBlock> {
        let alone = self.header.is_none() && self.block_hash.is_some();
        let (roots, header) =
            if alone { (None, None) } else { self.read().map(|(roots, header)| (Some(roots), header))? };
        Ok(OfBlock { roots, header, hash: self.block_hash })
    }
    /// The known roots, and the header that has them, if there is one.
    fn read(&self) -> Result<(Roots, Option<Header>)> {
        if let (None, Some(hash)) = (&self.header, &self.block_hash) {
            let message = format!("--block-hash {}: the roots of this block are not known", Hex(hash));
            return Err(CliError::usage(message, "add the header of the block with --header"));
        }
        if let Some(path) = &self.header {
            let header = read_header(&read(path)?, self.block_hash.as_ref()).with_context(|| name(path))?;
            return Ok((header.roots.clone(), Some(header)));
        }
        let roots = [self.state_root, self.transactions_root, self.receipts_root, self.withdrawals_root];
        let roots = Tag::ALL.into_iter().zip(roots).filter_map(|(tag, root)| Some((tag, root?))).collect();
        Ok((Roots::new(roots).context("--state-root, another root or --header is missing")?, None))
    }
}

impl Check {
    /// The given lists with their tags.
    fn lists(&self) -> impl Iterator<Item = (Tag, &PathBuf)> {
        let lists = [&self.transactions, &self.receipts, &self.withdrawals];
        Tag::ALL.into_iter().skip(1).zip(lists).filter_map(|(tag, path)| Some((tag, path.as_ref()?)))
    }
}

fn root_of(roots: &Roots, tag: Tag) -> Result<&Hash> {
    roots
        .get(tag)
        .with_context(|| format!("the {tag} root is not known: take the header of the block, or name --{tag}-root"))
}

/// Checked claims, the roots that they are about, and the nodes that show them.
#[cfg_attr(not(feature = "local"), expect(dead_code, reason = "a build without proofs checks and prints"))]
struct Claimed {
    roots: Roots,
    header: Option<Header>,
    nodes: Nodes,
    claims: Vec<Claim>,
}

fn check(args: &Check) -> Result<(Report, Claimed)> {
    let (known, header) = args.block.read()?;
    let (mut claims, mut nodes, mut strays) = (BTreeMap::new(), Vec::new(), 0);
    // Two true claims with the same key are equal.
    let mut add = |more: Vec<Claim>| claims.extend(more.into_iter().map(|claim| (claim.key(), claim)));
    if !args.proofs.is_empty() {
        let mut proofs = Vec::new();
        for path in &args.proofs {
            proofs.extend(read_proofs(&read(path)?).with_context(|| name(path))?);
        }
        let checked = check_proofs(root_of(&known, Tag::State)?, proofs)?;
        nodes.extend(checked.tries.nodes_of(&checked.claims)?.into_iter().map(<[u8]>::to_vec));
        strays = checked.strays;
        add(checked.claims);
    }
    for (tag, path) in args.lists() {
        let values = read_entries(tag, &read(path)?).with_context(|| name(path))?;
        let checked = check_entries(tag, root_of(&known, tag)?, values).with_context(|| name(path))?;
        nodes.extend(checked.nodes);
        add(checked.claims);
    }
    let (mut given, mut listed) = (HashSet::new(), Vec::new());
    for path in &args.nodes {
        let read = read_witness(&read(path)?).with_context(|| name(path))?;
        given.extend(read.nodes.iter().map(|node| keccak_256(node)));
        nodes.extend(read.nodes);
        listed.push((path, read.claims));
    }
    let tries = Tries::new(&known, Nodes::new(nodes)?);
    if let Some(path) = &args.claims {
        listed = vec![(path, read_claims(&read(path)?).with_context(|| name(path))?)];
    }
    for (path, claims) in &listed {
        claims.iter().try_for_each(|claim| tries.check(claim)).with_context(|| name(path))?;
    }
    let claims: Vec<Claim> = if args.claims.is_some() {
        listed.into_iter().flat_map(|(_, claims)| claims).collect()
    } else {
        add(listed.into_iter().flat_map(|(_, claims)| claims).collect());
        claims.into_values().collect()
    };
    if let ([], [path, ..]) = (&claims[..], &args.nodes[..]) {
        return Err(CliError::usage(
            format!("{}: nodes without claims", name(path)),
            "say with --claims what they show",
        ));
    }
    let digest = canonical_digest(&claims)?;
    let roots = known.of_claims(&claims).context("claims about a root that is not known")?;
    let nodes = Nodes::new(tries.nodes_of(&claims)?.into_iter().map(<[u8]>::to_vec))?;
    strays += given.iter().filter(|hash| nodes.get(hash).is_none()).count();

    let mut report = Report::default();
    add_block(&mut report, &roots, header.as_ref());
    let values = claims.iter().map(claim_value).collect::<Vec<_>>();
    report.add_as("claims", values, claims.len().to_string());
    report.add("canonical_digest", digest.to_string());
    if !args.proofs.is_empty() || !args.nodes.is_empty() {
        report.add_as("stray_nodes", strays, format!("{strays}, which no claim needs"));
    }
    note(&mut report, header.as_ref().map_or(Anchor::Roots(&roots), Anchor::Header), Some(&claims));
    Ok((report, Claimed { roots, header, nodes, claims }))
}

pub(super) fn add_block(report: &mut Report, roots: &Roots, header: Option<&Header>) {
    for (tag, root) in roots.iter() {
        let key = match tag {
            Tag::State => "state_root",
            Tag::Transactions => "transactions_root",
            Tag::Receipts => "receipts_root",
            Tag::Withdrawals => "withdrawals_root",
        };
        report.add(key, Hex(root).to_string());
    }
    if let Some(header) = header {
        report.add("block_hash", Hex(&header.hash).to_string());
        report.add("block_number", header.number);
    }
}

/// Adds what was shown, for people.
fn note(report: &mut Report, anchor: Anchor<'_>, claims: Option<&[Claim]>) {
    let claims: Option<Vec<_>> = claims.map(|claims| claims.iter().map(|claim| (claim.clone(), None)).collect());
    report.note(format!("\n{}", Shown { anchor, claims: claims.as_deref() }.to_string().trim_end()));
}

#[cfg(feature = "local")]
fn prove(args: &Prove, terminal: Terminal) -> Result<()> {
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
        let elapsed = start.elapsed().as_secs_f64();
        report.add_as("seconds", elapsed, seconds(elapsed));
        report.add("proof_bytes", proof.len());
        files::write(out, |file| Ok(file.write_all(&proof)?))?;
    }
    write_claims(args.claims_out.as_deref(), &claims)?;
    report.print(terminal.format)
}

/// Approximate number of elements of a piece that is joined with others.
#[cfg(feature = "local")]
const PIECE_ELEMENTS: u64 = 12_000_000;

#[cfg(feature = "local")]
fn add_size(report: &mut Report, witness: &Witness) {
    let size = witness.size();
    report.add("keccak_blocks", size.keccak_blocks());
    report.add("nodes", size.branches + size.paths);
}

/// Adds the time of pieces and joins on this machine, which is measured once.
#[cfg(feature = "local")]
fn add_estimate(report: &mut Report, size: &Size, proofs: [usize; 2], terminal: Terminal) -> Result<()> {
    let config = leader::measured(leader::config(None)?, terminal);
    let estimate = config.state_seconds(size, proofs);
    report.add_as("seconds", estimate, format!("about {}", seconds(estimate)));
    Ok(())
}

#[cfg(feature = "local")]
fn write_claims(path: Option<&Path>, claims: &[Claim]) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let values: Vec<_> = claims.iter().map(claim_value).collect();
    files::write(path, |file| Ok(serde_json::to_writer_pretty(file, &values)?))
}

/// The files for the results.
#[cfg(feature = "local")]
struct Outputs<'a> {
    out: Option<&'a Path>,
    claims: Option<&'a Path>,
    dry_run: bool,
}

/// A batch that is prepared for proving.
#[cfg(feature = "local")]
struct Batched<'a> {
    nodes: &'a Nodes,
    prepared: Prepared<'a>,
    /// The file for the batch.
    keep: Option<&'a Path>,
}

#[cfg(feature = "local")]
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
            let setup = start.elapsed().as_secs_f64();
            let counter = Counter::new(terminal.quiet, "proofs", Some(new as u64));
            let start = Instant::now();
            let mut made = 0;
            let batch = prepared.prove(&prover, &|hash| nodes.get(hash), &mut |progress: Progress| {
                (made..progress.made).for_each(|_| counter.step());
                made = progress.made;
            });
            counter.finish();
            let batch = batch?;
            let elapsed = start.elapsed().as_secs_f64();
            let proof = batch.proof()?.to_bytes();
            report.add_as("setup_seconds", setup, seconds(setup));
            report.add_as("seconds", elapsed, seconds(elapsed));
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
#[cfg(feature = "local")]
pub(super) const BATCH_MAX: u64 = 1 << 31;

#[cfg(feature = "local")]
fn read_batch(path: &Path) -> Result<Batch> {
    let bytes = files::read(path, BATCH_MAX, "take the file that prove has written to --batch")?;
    let refused = |e: StateProofError| {
        CliError::refused(
            format!("{}: {e}", name(path)),
            "take the file that eth prove or eth update has written to --batch",
        )
    };
    Batch::from_bytes(&bytes).map_err(refused)
}

#[cfg(feature = "local")]
fn update(args: &Update, terminal: Terminal) -> Result<()> {
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

#[cfg(feature = "local")]
fn claims(args: &Claims, terminal: Terminal) -> Result<()> {
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
    let values = batch.claims.iter().map(claim_value).collect::<Vec<_>>();
    report.add_as("claims", values, batch.claims.len().to_string());
    report.add("canonical_digest", canonical_digest(&batch.claims)?.to_string());
    let anchor = batch.header.as_ref().map_or(Anchor::Roots(&batch.roots), Anchor::Header);
    note(&mut report, anchor, Some(&batch.claims));
    report.print(terminal.format)
}

/// Greatest size of a proof in bytes.
#[cfg(feature = "local")]
const PROOF_MAX: u64 = 1 << 21;

#[cfg(feature = "local")]
fn verify(args: &Verify, terminal: Terminal) -> Result<()> {
    let block = args.block.known()?;
    let bytes = files::read_proof(&args.proof, PROOF_MAX, "take the file that prove has written")?;
    let refused = |e: StateProofError| {
        CliError::refused(
            format!("{}: {e}", name(&args.proof)),
            "take proof, block and claims from one run of eth prove",
        )
    };
    let proof = StateProof::from_bytes(&bytes).map_err(refused)?;
    let claims = match &args.claims {
        None => None,
        Some(path) => Some(read_claims(&read(path)?).with_context(|| name(path))?),
    };
    let digest = claims.as_deref().map(canonical_digest).transpose()?;
    let start = Instant::now();
    let bits = proof.verify(block.known(), digest).map_err(refused)?;
    let elapsed = start.elapsed().as_secs_f64();
    let mut report = Report::default();
    let roots = block.add(&mut report, &proof)?;
    if let Some(claims) = &claims {
        let values = claims.iter().map(claim_value).collect::<Vec<_>>();
        report.add_as("claims", values, claims.len().to_string());
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

fn slot(args: &Slot, terminal: Terminal) -> Result<()> {
    let mapping = if args.vyper { Step::VyperMapping } else { Step::Mapping };
    let keys = args.key.iter().copied().map(mapping);
    let steps = keys.chain(args.element.map(Step::Array)).chain(args.member.map(Step::Member)).collect();
    let rule = SlotRule { base: args.base, steps };
    let mut report = Report::default();
    report.add("slot", Hex(&rule.slot()).to_string());
    report.add("rule", rule.to_string());
    report.print(terminal.format)
}

fn parse_hash(text: &str) -> Result<Hash, String> {
    let bytes = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| "expected 0x and 64 hexadecimal digits".into())
}

fn parse_word(text: &str) -> Result<Word, String> {
    let mut word = [0; 32];
    if let Some(digits) = text.strip_prefix("0x") {
        let even = format!("{}{digits}", if digits.len() % 2 == 1 { "0" } else { "" });
        let bytes = hex::decode(even).ok().filter(|bytes| !digits.is_empty() && bytes.len() <= 32);
        let bytes = bytes.ok_or("expected 0x and 1 to 64 hexadecimal digits")?;
        word[32 - bytes.len()..].copy_from_slice(&bytes);
    } else {
        let number: u128 = text.parse().map_err(|_| "expected a number below 2^128, or hexadecimal digits after 0x")?;
        word[16..].copy_from_slice(&number.to_be_bytes());
    }
    Ok(word)
}
