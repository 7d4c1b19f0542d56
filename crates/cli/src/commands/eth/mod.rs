//! `evergrove eth`.

mod import;
mod state;
mod table;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove::ethereum::input::{
    TEXT_MAX, check_entries, check_proofs, claim_value, read_claims, read_entries, read_header, read_proofs,
    read_witness,
};
use evergrove::ethereum::{Nodes, Tries};
use evergrove::primitives::hash::keccak::keccak_256;
use evergrove::proof::ethereum::{
    Anchor, Claim, Hash, Header, Hex, Roots, Shown, SlotRule, Step, Tag, Word, canonical_digest,
};

use super::Terminal;
use crate::exit::CliError;
use crate::files;
use crate::report::Report;
pub(super) use {
    state::{BATCH_MAX, named},
    table::add_table,
};

/// Prove the answers of Ethereum clients about accounts, slots, receipts and other lists of a block, check it against the block, and number the slots of contracts
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    eth: Eth,
}

#[derive(Debug, clap::Subcommand)]
enum Eth {
    Check(Check),
    Import(import::Import),
    Prove(state::Prove),
    Update(state::Update),
    Claims(state::Claims),
    Verify(state::Verify),
    Table(table::Table),
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
        Eth::Import(import) => self::import::import(import, terminal),
        Eth::Prove(prove) => self::state::prove(prove, terminal),
        Eth::Update(update) => self::state::update(update, terminal),
        Eth::Claims(claims) => self::state::claims(claims, terminal),
        Eth::Verify(verify) => self::state::verify(verify, terminal),
        Eth::Table(table) => self::table::table(table, terminal),
        Eth::VerifyTable(verify) => self::table::verify(verify, terminal),
        Eth::Slot(slot) => self::slot(slot, terminal),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    files::read_text(path, TEXT_MAX as u64, "split the file")
}

/// The claims in a file.
fn claims_in(path: &Path) -> Result<Vec<Claim>> {
    read_claims(&read(path)?).with_context(|| name(path))
}

/// Adds claims: all of them for programs, their number for people.
fn add_claims(report: &mut Report, claims: &[Claim]) {
    report.add_as("claims", claims.iter().map(claim_value).collect::<Vec<_>>(), claims.len().to_string());
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

impl Block {
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
        listed = vec![(path, claims_in(path)?)];
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
    add_claims(&mut report, &claims);
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
