//! `evergrove eth table` and `evergrove eth verify-table`.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove::apps::aggregate::Answer;
use evergrove::apps::catalog::Application;
use evergrove::mpt::Statement;
use evergrove::proof::ethereum::{Address, Claim, Hex, Tag};
use evergrove::proof::soundness;
use evergrove::proof::{Commitment, HeightClass, Profile, Scheme};
use evergrove::reshape::{DECIMALS_MAX, Reshape, ReshapeError, StorageTable, TableError};
use evergrove::store::Store;

use super::super::Terminal;
use super::super::app::aggregate::{add_answer, application, forms};
use super::state::{PROOF_MAX, given_claims, read_batch, read_state_proof, refused};
use super::{Block, claims_in, name};
use crate::apps::{Accepted, VerifyArgs};
use crate::exit::CliError;
use crate::report::{Report, count, seconds};
use crate::{files, leader, results};

/// The default name of the batch.
const BATCH: &str = "slots";

/// Make a table of a contract's slots, and prove that its rows are those of the claims
///
/// A store is created. Row i is the i-th slot in the order of claims: its number (slot), and its value as units x 10^DECIMALS + rest, so that queries add and compare units. The batch holds
/// all rows. Prove a query over the rows with app aggregate --batch: verify-table accepts the answer together with the proof of the claims. A claim about the account itself is not a row.
#[derive(Debug, clap::Args)]
pub(super) struct Table {
    /// The claims (JSON, as prove writes them to --claims-out)
    #[arg(long, value_name = "FILE", required_unless_present = "batch", conflicts_with = "batch")]
    claims: Option<PathBuf>,
    /// Take the claims of a batch, as prove or update has written it
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
    /// Directory of the store
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    store: Option<PathBuf>,
    /// Name of the batch of all rows in the store
    #[arg(long, value_name = "NAME", default_value = BATCH)]
    name: String,
    /// Decimal places of a unit: those of a token, for example. Units must be below 2^63
    #[arg(long, value_name = "DECIMALS", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=i64::from(DECIMALS_MAX)))]
    decimals: u8,
    /// File that the proof is written to
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    /// Print what the table would have, and make neither store nor proof
    #[arg(long)]
    dry_run: bool,
}

/// Verify the answer to a query about a contract's slots: the proof of the claims, the table, the answer
///
/// The proofs must fit each other: the claims that are proven under the block's state root are those of the table's rows, and the answer is over exactly these rows. Slots that are not
/// listed are not counted, and nothing shows that there are no others. Without --sql the proof is that of the batch.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyTable {
    /// The proof of the claims, as prove or update has written it
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    #[command(flatten)]
    block: Block,
    /// The proof that relates claims and rows, as table has written it
    #[arg(long, value_name = "FILE")]
    table: PathBuf,
    /// The contract whose slots they are, from a source that you trust
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    contract: Address,
    /// Decimal places of a unit
    #[arg(long, value_name = "DECIMALS", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=i64::from(DECIMALS_MAX)))]
    decimals: u8,
    /// The claims, to check which slots are listed (JSON, as prove writes them to --claims-out)
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    #[command(flatten)]
    verify: VerifyArgs,
    /// The query whose answer it is
    #[arg(long, value_name = "QUERY")]
    sql: Option<String>,
    /// The groups of a query with GROUP BY, DISTINCT or LIKE, one JSON object a line, from anyone: that none is missing is checked
    #[arg(long, value_name = "FILE", requires = "sql")]
    groups: Option<PathBuf>,
}

fn parse_address(text: &str) -> Result<Address, String> {
    let bytes = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| "expected 0x and 40 hexadecimal digits".into())
}

/// The table of the claims in a file.
fn table_of(claims: &[Claim], decimals: u8, path: &Path) -> Result<StorageTable> {
    StorageTable::new(claims, decimals).map_err(|e| {
        let remedy = match e {
            TableError::Value { .. } => "give --decimals, such as 18 for a token of 18 decimals",
            TableError::Other { .. } => "prove the slots of one contract with --claims, and name that file here",
            _ => "give the claims about slots of one contract",
        };
        CliError::usage(format!("{}: {e}", name(path)), remedy)
    })
}

pub(super) fn table(args: &Table, terminal: Terminal) -> Result<()> {
    let (claims, path) = match (&args.claims, &args.batch) {
        (Some(path), _) => (claims_in(path)?, path),
        (None, Some(path)) => (read_batch(path)?.claims, path),
        (None, None) => return Err(CliError::usage("no claims were given".to_string(), "give --claims or --batch")),
    };
    let table = table_of(&claims, args.decimals, path)?;
    let mut report = Report::default();
    let made = match (&args.store, &args.out) {
        (Some(dir), Some(out)) if !args.dry_run => {
            if out.starts_with(dir) {
                let message = format!("--out {} lies in the store", out.display());
                return Err(CliError::usage(message, "name a file outside of it"));
            }
            files::check([out])?;
            Some((dir, make(&table, dir, &args.name, out)?))
        }
        _ => None,
    };
    if let Some((dir, made)) = &made {
        report.add("commitment", made.commitment.to_string());
        report.add("store", dir.display().to_string());
        report.add("batch", args.name.clone());
    }
    add_table(&mut report, table.address(), table.slots(), args.decimals);
    report.add("claims_digest", table.claims_digest().to_string());
    report.add("canonical_digest", table.rows_digest().to_string());
    report.add("schema_digest", StorageTable::schema().digest().to_string());
    match made {
        Some((_, made)) => {
            report.add_as("seconds", made.seconds, seconds(made.seconds));
            report.add("proof_bytes", made.proof_bytes);
        }
        None => report.add("circuit_slots", table.size().room()),
    }
    report.print(terminal.format)
}

/// A finished table and its proof.
struct Made {
    commitment: Commitment,
    seconds: f64,
    proof_bytes: usize,
}

/// Makes the store and the proof. If anything fails, neither remains.
fn make(table: &StorageTable, dir: &Path, batch: &str, out: &Path) -> Result<Made> {
    let start = Instant::now();
    let proof = Reshape::new(table)?.to_bytes();
    let seconds = start.elapsed().as_secs_f64();

    let rows = (0..).zip(table.rows()).map(Ok::<_, Infallible>);
    let existed = dir.exists();
    let before = entries(dir);
    let store = Store::create(dir, &StorageTable::schema(), None, rows)?;
    let finished = leader::config(None).and_then(|config| {
        let commitment = store.commitment()?;
        let class = HeightClass::of(commitment.height).unwrap_or(HeightClass::H40);
        let members: Vec<u64> = (0..table.slots() as u64).collect();
        store.define_batch(batch, &members, config.backends().spec(&config.choice(), class)?)?;
        files::write(out, |file| Ok(file.write_all(&proof)?))?;
        Ok(Made { commitment, seconds, proof_bytes: proof.len() })
    });
    if finished.is_err() {
        // The directory may have had other files before: they stay.
        drop(store);
        for path in entries(dir).difference(&before) {
            let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.with_context(|| name(path))?;
        }
        if !existed {
            fs::remove_dir(dir).with_context(|| name(dir))?;
        }
    }
    finished
}

/// The entries of a directory; empty if it does not exist.
fn entries(dir: &Path) -> HashSet<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

pub(crate) fn add_table(report: &mut Report, contract: &Address, slots: usize, decimals: u8) {
    report.add("contract", Hex(contract).to_string());
    report.add("slots", slots);
    report.add_as("decimals", decimals, format!("{decimals}: value = units x 10^{decimals} + rest"));
}

fn of_table(args: &VerifyTable, message: String) -> anyhow::Error {
    let remedy = "take the file that eth table has written for these claims and this table";
    CliError::refused(format!("{}: {message}", name(&args.table)), remedy)
}

/// The proof of the table, which must be about this contract and these decimals.
fn proof_of_table(args: &VerifyTable) -> Result<Reshape> {
    let bytes = files::read_proof(&args.table, PROOF_MAX, "take the file that table has written")?;
    let table = Reshape::from_bytes(&bytes).map_err(|e| of_table(args, e.to_string()))?;
    if table.address != args.contract {
        let message =
            format!("the table is of the contract {}, --contract is {}", Hex(&table.address), Hex(&args.contract));
        return Err(of_table(args, message));
    }
    if table.decimals != args.decimals {
        let message = format!("its units are 10^{}, --decimals is {}", table.decimals, args.decimals);
        return Err(of_table(args, message));
    }
    Ok(table)
}

/// Verifies the answer to a query over the batch.
fn answer(args: &VerifyTable, sql: &str) -> Result<(Accepted, Answer)> {
    let queries = forms(&StorageTable::schema(), sql, args.groups.as_deref())?;
    let apps: Vec<Application> = queries.iter().map(application).collect();
    let accepted = args.verify.verify(&apps, Scheme::Selected, None, "the answer over the batch")?;
    let answer = queries[accepted.app].answer(&accepted.output);
    let answer = answer.map_err(|e| CliError::refused(e.to_string(), "ask for a proof of this query"))?;
    Ok((accepted, answer))
}

pub(super) fn verify(args: &VerifyTable, terminal: Terminal) -> Result<()> {
    if let (None, Some(flag)) = (&args.sql, args.verify.key_flag()) {
        let message = format!("{flag} is about the circuits of a query, and --sql is missing");
        return Err(CliError::usage(message, format!("name the query with --sql, or leave {flag} out")));
    }
    let block = args.block.known()?;
    let state = read_state_proof(&args.state)?;
    let table = proof_of_table(args)?;
    let (claims, claims_digest) = given_claims(args.claims.as_deref())?;
    let none = || {
        let message = format!("{}: the proof is not about a state root", name(&args.state));
        CliError::refused(message, "take the proof of claims about slots")
    };
    let of_claims = state.digest_under(Tag::State).ok_or_else(none)?;

    // Verify the claims under the roots, then the rows in the table, then that they are the same.
    let bits_of_state = state.verify(block.known(), claims_digest).map_err(|e| refused(&args.state, &e))?;
    let answered = args.sql.as_deref().map(|sql| answer(args, sql)).transpose()?;
    let (verified, bits_of_rows) = match &answered {
        Some((accepted, _)) => (accepted.verified.clone(), accepted.bits),
        None => {
            let verified = args.verify.verify_batch()?;
            let bits = soundness::bits(verified.profile, verified.class);
            (verified, bits)
        }
    };
    let rows = verified.statement.canonical;
    let bits_of_table = table
        .verify(&args.contract, args.decimals, of_claims, rows)
        .map_err(|e: ReshapeError| of_table(args, e.to_string()))?;

    let mut report = Report::default();
    report.add_as("accepted", true, "yes");
    block.add(&mut report, &state)?;
    add_table(&mut report, &table.address, table.slots, table.decimals);
    report.add("commitment", args.verify.root.to_string());
    report.hidden("claims_digest", of_claims.to_string());
    report.hidden("canonical_digest", rows.to_string());
    report.add_as("listed", claims.is_some(), if claims.is_some() { "these claims" } else { "not checked" });
    if let (Some((_, answer)), Some(sql)) = (&answered, &args.sql) {
        report.add("query", sql.clone());
        add_answer(&mut report, answer);
    }
    let listed =
        format!("the {} that are listed; slots that are not listed are not counted", count(table.slots, "slot"));
    report.add("over", listed);
    report.hidden("profile", Profile::name(verified.profile));
    results::add_soundness(&mut report, bits_of_state.min(bits_of_rows).min(bits_of_table));
    let hash = match &state.statement {
        Statement::Block { hash, .. } => Some(hash),
        Statement::Roots(_) => block.header.as_ref().map(|header| &header.hash),
    };
    if let Some(hash) = hash {
        report.note(format!("that the block with hash {} is in the canonical chain was not shown", Hex(hash)));
    } else {
        report.note("that a block has this state root was not shown");
    }
    if claims.is_none() {
        report.note("which slots are listed was not checked: give the claims with --claims");
    }
    report.print(terminal.format)
}
