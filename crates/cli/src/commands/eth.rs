//! `evergrove eth`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use evergrove::ethereum::input::{TEXT_MAX, check_proofs, claim_value, read_claims, read_header, read_proofs};
use evergrove::proof::ethereum::{Anchor, Hash, Hex, Roots, Shown, SlotRule, Step, Tag, Word, canonical_digest};

use super::Terminal;
use crate::files;
use crate::report::Report;

/// Check what Ethereum's clients answer against a block, and number the slots of contracts
///
/// Nothing is proven here: the nodes in the answers are checked natively, as a light client does.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    eth: Eth,
}

#[derive(Debug, clap::Subcommand)]
enum Eth {
    Check(Check),
    Slot(Slot),
}

/// Check answers of eth_getProof against a state root or a header, and print the claims that follow
///
/// Accounts and slots that the answers show to be absent are claims as well. Fields that a client reports beside its proofs must agree with them. The canonical digest is that
/// of the claims: a proof about them will have it.
#[derive(Debug, clap::Args)]
struct Check {
    /// Answers of eth_getProof, one or a list in each file, with or without the envelope of JSON-RPC
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    proofs: Vec<PathBuf>,
    /// The state root
    #[arg(long, value_name = "HEX", value_parser = parse_hash, required_unless_present = "header", conflicts_with = "header")]
    state_root: Option<Hash>,
    /// A block header: its RLP in hexadecimal digits, or the block that eth_getBlockByHash answers
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,
    /// The hash that the header must have, from a source that you trust
    #[arg(long, value_name = "HEX", value_parser = parse_hash, requires = "header", conflicts_with = "state_root")]
    block_hash: Option<Hash>,
    /// Check these claims about the answers' accounts and slots (JSON, as --format json prints them), and no others
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// Print the number of a slot inside of a contract's variable
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
        Eth::Check(check) => self::check(check, terminal),
        Eth::Slot(slot) => self::slot(slot, terminal),
    }
}

fn check(args: &Check, terminal: Terminal) -> Result<()> {
    let read = |path: &PathBuf| files::read(path, TEXT_MAX as u64, "split the file");
    let name = |path: &PathBuf| path.display().to_string();
    let header = match &args.header {
        None => None,
        Some(path) => Some(read_header(&read(path)?, args.block_hash.as_ref()).with_context(|| name(path))?),
    };
    let of_header = header.as_ref().and_then(|h| h.roots.get(Tag::State).copied());
    let Some(state_root) = of_header.or(args.state_root) else { bail!("--state-root or --header is missing") };
    let mut proofs = Vec::new();
    for path in &args.proofs {
        proofs.extend(read_proofs(&read(path)?).with_context(|| name(path))?);
    }
    let checked = check_proofs(&state_root, proofs)?;
    let claims = match &args.claims {
        None => checked.claims,
        Some(path) => {
            let claims = read_claims(&read(path)?).with_context(|| name(path))?;
            claims.iter().try_for_each(|claim| checked.tries.check(claim)).with_context(|| name(path))?;
            claims
        }
    };
    let digest = canonical_digest(&claims)?;

    let mut report = Report::default();
    report.add("state_root", Hex(&state_root).to_string());
    if let Some(header) = &header {
        report.add("block_hash", Hex(&header.hash).to_string());
        report.add("block_number", header.number);
    }
    let values = claims.iter().map(claim_value).collect::<Vec<_>>();
    report.add_as("claims", values, claims.len().to_string());
    report.add("canonical_digest", digest.to_string());
    report.add_as("stray_nodes", checked.strays, format!("{}, which no claim needs", checked.strays));
    let claims: Vec<_> = claims.into_iter().map(|claim| (claim, None)).collect();
    let roots = Roots::new(vec![(Tag::State, state_root)]).context("one root")?;
    let anchor = header.as_ref().map_or(Anchor::Roots(&roots), Anchor::Header);
    report.note(format!("\n{}", Shown { anchor, claims: Some(&claims) }.to_string().trim_end()));
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
