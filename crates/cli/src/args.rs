//! The command line, and groups of flags that several commands share.

#[cfg(feature = "health")]
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use evergrove::Config;
#[cfg(feature = "plonky2")]
use evergrove::plonky2::ProverKind;
use evergrove::proof::Scheme;
use evergrove::store::input::Format;

#[cfg(feature = "lab")]
use crate::commands::lab;
#[cfg(feature = "serve")]
use crate::commands::serve;
use crate::commands::{
    app, backup, batches, commit, completions, doctor, eth, export, inspect, keys, man, migrate, open, prove, prune,
    query, restore, status, update, verify,
};
#[cfg(feature = "queue")]
use crate::commands::{jobs, worker};
use crate::missing;
#[cfg(feature = "queue")]
use crate::queue::QueueArgs;

/// Succinct proofs about a large, changing table, kept fresh.
///
/// Commit a table, prove a batch of its rows, change rows, refresh the proof by a few proofs instead of from scratch, and
/// verify it anywhere.
#[derive(Debug, Parser)]
#[command(name = "evergrove", version, max_term_width = 110, propagate_version = true, after_help = missing::text())]
pub(crate) struct Cli {
    /// Form of the output: text for people, or one JSON object (lines of them for lists)
    #[arg(long, global = true, value_enum, default_value_t = Output::Text, value_name = "FORM", help_heading = "Everywhere")]
    pub(crate) format: Output,
    /// Show no progress
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Commit(commit::Args),
    Prove(prove::Args),
    Query(query::Args),
    Update(update::Args),
    Open(open::Args),
    Verify(verify::Args),
    Status(status::Args),
    Batches(batches::Args),
    Export(export::Args),
    Inspect(inspect::Args),
    Prune(prune::Args),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Migrate(migrate::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    App(app::Args),
    Keys(keys::Args),
    Eth(eth::Args),
    #[cfg(feature = "queue")]
    Worker(worker::Args),
    #[cfg(feature = "queue")]
    Jobs(jobs::Args),
    #[cfg(feature = "lab")]
    Lab(lab::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The store that a command works on.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Directory of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
}

/// How a file of rows is read.
#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    /// Format of the file of rows, raw for 32-byte values [default: by its extension]. A file that is named - is stdin
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) input_format: Option<Format>,
    /// Separator of the cells of a csv file: one character, or tab; by default the comma, or the one of semicolon, tab and | that
    /// is in a header without a comma
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Text of csv and tsv cells that means null in nullable columns, as an empty cell does, like NA. Repeat for several
    #[arg(long, value_name = "TEXT")]
    pub(crate) null: Vec<String>,
    /// Column of the file that holds the positions of the rows
    #[arg(long, value_name = "NAME", conflicts_with = "indices")]
    pub(crate) index_column: Option<String>,
    /// Positions of the rows, in the order of the file: a list like 0,5,9-20 or a file of such lists
    #[arg(long, value_name = "LIST|FILE")]
    pub(crate) indices: Option<String>,
}

impl RowsArgs {
    /// True if none of these flags is given.
    pub(crate) fn is_default(&self) -> bool {
        let Self { input_format, delimiter, null, index_column, indices } = self;
        input_format.is_none() && delimiter.is_none() && null.is_empty() && index_column.is_none() && indices.is_none()
    }
}

/// What proving may use.
#[derive(Debug, Args)]
pub(crate) struct ProvingArgs {
    /// Say what would be proven, how long it would take and how much memory, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory that proofs may take, like 4GiB or 512M: fewer are made at a time; an error if one proof takes more
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_memory: Option<u64>,
    /// Directory in which proving keys are kept from run to run [default: $EVERGROVE_KEYS, or evergrove/keys in the
    /// user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) keys: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) prover: ProverArgs,
    /// Write what each phase of every proof took to this file, as a trace in Chrome's JSON format, and print it as a table
    #[arg(long, value_name = "FILE")]
    pub(crate) timings: Option<PathBuf>,
    #[cfg(feature = "queue")]
    /// Let workers make the proofs (see worker), by the queue of this Redis server: redis://HOST:PORT, or rediss:// for TLS
    #[arg(long, value_name = "URL", requires = "objects", help_heading = "Workers")]
    pub(crate) engine: Option<String>,
    #[cfg(feature = "queue")]
    /// Store of the proofs and payloads that leader and workers share: file:///DIR, s3://BUCKET/PREFIX, gs:// or az://, with
    /// credentials from the environment
    #[arg(long, value_name = "URL", requires = "engine", help_heading = "Workers")]
    pub(crate) objects: Option<String>,
    #[cfg(feature = "queue")]
    #[command(flatten, next_help_heading = "Workers")]
    pub(crate) queue: QueueArgs,
    #[cfg(feature = "health")]
    /// Address for health and metrics while this runs: /healthz, /readyz and /metrics; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) health: Option<SocketAddr>,
}

/// What proves the circuits of Plonky2.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProverArgs {
    #[cfg(feature = "plonky2")]
    /// Prover of Plonky2's circuits: evergrove, or plonky2 for its own; both make proofs for the same keys [default: the
    /// faster one on this CPU]
    #[arg(long, value_name = "NAME", default_value_t, hide_default_value = true)]
    prover: ProverKind,
}

impl ProverArgs {
    /// The configuration with this prover.
    pub(crate) fn of(&self, config: Config) -> Config {
        #[cfg(feature = "plonky2")]
        let config = Config { prover: self.prover, ..config };
        config
    }
    /// The name of the prover. A build without Plonky2's circuits has only one.
    pub(crate) fn name(&self) -> &'static str {
        #[cfg(feature = "plonky2")]
        return self.prover.name();
        #[cfg(not(feature = "plonky2"))]
        "evergrove"
    }
}

/// A parser of the names of formats, which shells can complete.
pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| Format::from_name(&name).ok_or(name))
}

/// Parses a separator of cells: one byte that cannot be part of a word, a number, a quote or the end of a line.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if matches!(text, "tab" | "\\t") => Ok(b'\t'),
        [byte] if !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\n' | b'\r' | b'-' | b'.') => Ok(*byte),
        _ => Err("write one character, like ';' or '|', or tab".into()),
    }
}

pub(crate) fn parse_scheme(text: &str) -> Result<Scheme, String> {
    let plain = Scheme::PLAIN.into_iter().find(|s| s.name() == text);
    plain.ok_or_else(|| format!("choose {} or {}", Scheme::Evergrove, Scheme::RecklePaper))
}

/// Parses a number of bytes with an optional binary unit: `1048576`, `1024K`, `1MiB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit.trim_end_matches("iB").trim_end_matches('B').to_ascii_uppercase().as_str() {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let bytes = shift.and_then(|s| digits.parse::<u64>().ok()?.checked_mul(1 << s));
    bytes.filter(|b| *b > 0).ok_or_else(|| "write a size like 4GiB, 512M or 1000000".into())
}
