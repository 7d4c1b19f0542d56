//! `evergrove keys`: the directory of kept keys, and key files for verifiers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use evergrove::AppKey;
use evergrove::apps::aggregate::{self, PinnedKey};
use evergrove::apps::catalog::{Application, Catalog};
use evergrove::apps::digest_translation::{DigestTranslation, Format, FormatError};
use evergrove::commit::schema::Schema;
use evergrove::proof::soundness;
use evergrove::proof::{Commitment, HeightClass, Profile, Scheme};
use serde_json::{Value, json};

use super::{Terminal, app};
use crate::args::{Output, parse_size};
use crate::exit::CliError;
use crate::report::{Report, count, line, size};
use crate::{files, leader};

/// List and prune the kept keys of Plonky2's circuits, and write key files for verifiers
///
/// The backend grove keeps no keys. A removed key is built again when it is needed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    keys: Keys,
}

#[derive(Debug, clap::Subcommand)]
enum Keys {
    /// Print the keys in the directory, the largest first
    List(Dir),
    /// Remove keys, the oldest first, until the others fit a size
    Prune {
        #[command(flatten)]
        dir: Dir,
        /// What the keys may take together, like 300MiB or 2G; 0 takes all away
        #[arg(long, value_name = "SIZE", value_parser = parse_most)]
        max_size: u64,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    Export(Export),
    /// Print the digests of the keys that this program pins for queries: a line for each number of elements of a row, scheme, profile and height class
    Pinned,
}

/// Build circuits on this machine and write their key, for verifiers that build none
///
/// Without an application it is the key of batches, whose digest every verifier pins. With one, a verifier gives the file with --key-file and its digest
/// with --key-digest. The digest alone is trusted: publish it, or build the key again and compare. Queries that differ in constants
/// alone have one key. Verifiers in other languages take circuits_digest, application, inputs and output_len.
#[derive(Debug, clap::Args)]
struct Export {
    /// The application; without one, the key of batches
    #[arg(value_name = "NAME", requires = "scheme")]
    name: Option<String>,
    /// Its parameters, in the form that app list says
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        requires = "name"
    )]
    parameters: String,
    /// The groups of a query with GROUP BY, DISTINCT or LIKE, one JSON object a line
    #[arg(long, value_name = "FILE", requires = "name")]
    groups: Option<PathBuf>,
    /// The key of the circuits with pinned keys that answer a query: the same for every query over rows of as many elements
    #[arg(long, requires = "name")]
    pinned: bool,
    /// Schema of the table (TOML); not needed for values (columns e0 to e3, or raw)
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// The key of proofs over all rows of a table
    #[arg(long, group = "scheme", requires = "name")]
    all: bool,
    /// The key of proofs over the rows of a batch
    #[arg(long, group = "scheme", requires = "name")]
    rows: bool,
    /// Commitment of the table: tables with positions up to 2^27 have other keys than larger ones
    #[arg(long, value_name = "COMMITMENT")]
    root: Commitment,
    /// Profile of the proofs: grove-100 or grove-128
    #[arg(long, value_name = "PROFILE", default_value = "grove-100")]
    profile: Profile,
    /// Where to write the key. With --pinned, or under a name that ends in .gz, it is compressed by gzip to a twentieth; for verifiers in other languages unpack it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Dir {
    /// Directory of the keys [default: $EVERGROVE_KEYS, or evergrove/keys in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
}

/// The files that are kept for one set of circuits: keys, circuits, or both.
struct Kept {
    name: String,
    files: Vec<PathBuf>,
    bytes: u64,
    written: SystemTime,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    match &args.keys {
        Keys::Export(args) => export(args, catalog, terminal),
        Keys::Pinned => pinned(terminal),
        Keys::List(dir) => list(dir, terminal),
        Keys::Prune { dir, max_size, dry_run } => prune(dir, *max_size, *dry_run, terminal),
    }
}

impl Dir {
    fn path(&self) -> Result<PathBuf> {
        let none = || CliError::usage("no directory of keys is known", "name one with --keys");
        leader::config(self.keys.as_deref())?.keys.ok_or_else(none)
    }
}

fn export(args: &Export, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let class = HeightClass::of(args.root.height).unwrap_or(HeightClass::H40);
    let Some(name) = &args.name else { return export_batches(args, class, terminal) };
    let parameters = &args.parameters;
    let schema = args.schema.as_deref().map_or_else(|| Ok(Schema::raw()), files::schema)?;
    let (app, scheme) = match name.as_str() {
        DigestTranslation::NAME => {
            if !args.all {
                return Err(CliError::usage(format!("{name} is over all rows"), "give --all"));
            }
            let text = if parameters.is_empty() { Format::Keccak.name() } else { parameters };
            let format = text.parse().map_err(|e: FormatError| {
                CliError::usage(format!("--parameters: {e}"), "give the tree that the proof's report names")
            })?;
            (Application::from(DigestTranslation::new(format)), Scheme::Tree)
        }
        _ => {
            let scheme = if args.all { Scheme::Complete } else { Scheme::Selected };
            if args.pinned && name != aggregate::NAME {
                let message = format!("--pinned: {name} has no circuits with pinned keys");
                return Err(CliError::usage(message, "leave it out"));
            }
            if name == aggregate::NAME && (args.pinned || args.groups.is_some()) {
                let query = app::aggregate::query(&schema, parameters, args.groups.as_deref())?;
                let query = if args.pinned { app::aggregate::pinned(&query)? } else { query };
                (app::aggregate::application(&query), scheme)
            } else {
                (catalog.parse(name, parameters, &schema)?.into(), scheme)
            }
        }
    };
    export_of(args, (app, scheme), class, terminal)
}

/// Exports the key of an application's circuits.
fn export_of(
    args: &Export,
    (app, scheme): (Application, Scheme),
    class: HeightClass,
    terminal: Terminal,
) -> Result<()> {
    let start = Instant::now();
    let key = leader::config(None)?.app_key(&app, scheme, args.profile, class)?;
    let built = start.elapsed();
    let pinned = AppKey::pinned_digest(&app, scheme, args.profile, class).is_some();
    files::write(&args.out, |out| {
        let fill = |out: &mut files::Out<'_>| Ok(key.write(out)?);
        if pinned { files::gzip(out, fill) } else { files::compressed(&args.out, out, fill) }
    })?;

    let bytes = fs::metadata(&args.out).map_or(0, |meta| meta.len());
    let mut report = Report::default();
    report.add("key_digest", key.digest().to_string());
    report.add("circuits_digest", key.circuits_digest().to_string());
    report.add_as("pinned", pinned, if pinned { "yes" } else { "no" });
    report.add("application", app.id().to_string());
    let inputs = key.inputs().map(|inputs| inputs.iter().map(ToString::to_string).collect::<Vec<_>>());
    report.add_as("inputs", inputs.clone(), inputs.map_or("none".into(), |inputs| inputs.join(",")));
    report.add("output_len", key.output_len());
    report.add("scheme", scheme.name());
    report.add("profile", args.profile.name());
    report.add("height_class", class.height_max());
    report.add("file", args.out.display().to_string());
    report.add_as("bytes", bytes, size(bytes));
    report.add_time("seconds", built);
    crate::results::add_soundness(&mut report, key.bits());
    report.print(terminal.format)
}

/// Prints the keys that are pinned for queries.
fn pinned(terminal: Terminal) -> Result<()> {
    let mut report = Report::default();
    for PinnedKey { width, scheme, profile, class, digest } in PinnedKey::all() {
        let (elements, height) = (width.elements(), class.height_max());
        if terminal.format == Output::Json {
            line(&json!({
                "elements": elements, "scheme": scheme.name(), "profile": profile.name(), "height_class": height, "circuits_digest": digest.to_string(),
            }))?;
        }
        report.note(format!("rows of up to {elements:>2} elements, {scheme}, {profile}, {height} bits: {digest}"));
    }
    if terminal.format == Output::Json { Ok(()) } else { report.print(terminal.format) }
}

/// Exports the key of batches.
fn export_batches(args: &Export, class: HeightClass, terminal: Terminal) -> Result<()> {
    let key = leader::config(None)?.batch_key(args.profile, class)?;
    files::write(&args.out, |out| files::compressed(&args.out, out, |out| Ok(key.write_key(out)?)))?;
    let bytes = fs::metadata(&args.out).map_or(0, |meta| meta.len());
    let mut report = Report::default();
    report.add("key_digest", key.key_digest().to_string());
    report.add("profile", args.profile.name());
    report.add("height_class", class.height_max());
    report.add("file", args.out.display().to_string());
    report.add_as("bytes", bytes, size(bytes));
    crate::results::add_soundness(&mut report, soundness::bits(args.profile, class));
    report.print(terminal.format)
}

fn list(dir: &Dir, terminal: Terminal) -> Result<()> {
    let mut kept = read(&dir.path()?)?;
    kept.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    if terminal.format == Output::Json {
        return kept.iter().try_for_each(|kept| line(&kept.object()));
    }
    let mut report = Report::default();
    for kept in &kept {
        report.note(format!("{:>10}  {}", size(kept.bytes), kept.name));
    }
    let bytes = kept.iter().map(|kept| kept.bytes).sum();
    report.note(format!("{} of {}", size(bytes), count(kept.len(), "circuit set")));
    report.print(terminal.format)
}

fn prune(dir: &Dir, max_size: u64, dry_run: bool, terminal: Terminal) -> Result<()> {
    let mut kept = read(&dir.path()?)?;
    kept.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| a.name.cmp(&b.name)));
    // The newest keys stay, up to the first that does not fit. All older ones are removed, even small ones.
    let mut left = 0;
    let stay = kept
        .iter()
        .take_while(|kept| {
            left += kept.bytes;
            left <= max_size
        })
        .count();
    let gone = kept.split_off(stay);
    if !dry_run {
        for file in gone.iter().flat_map(|gone| &gone.files) {
            fs::remove_file(file).with_context(|| file.display().to_string())?;
        }
    }
    let bytes = |kept: &[Kept]| kept.iter().map(|kept| kept.bytes).sum::<u64>();
    let mut report = Report::default();
    report.add_as("dry_run", dry_run, if dry_run { "yes, nothing was taken away" } else { "no" });
    report.add("removed", gone.len());
    report.add_as("removed_bytes", bytes(&gone), size(bytes(&gone)));
    report.add("kept", kept.len());
    report.add_as("kept_bytes", bytes(&kept), size(bytes(&kept)));
    report.print(terminal.format)
}

impl Kept {
    fn object(&self) -> Value {
        let written = self.written.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        json!({ "name": self.name, "files": self.files.len(), "bytes": self.bytes, "written": written })
    }
}

fn parse_most(text: &str) -> std::result::Result<u64, String> {
    if text == "0" { Ok(0) } else { parse_size(text) }
}

/// The keys and circuits in the directory, by their file names. Other files are ignored.
fn read(dir: &Path) -> Result<Vec<Kept>> {
    let mut all: Vec<Kept> = Vec::new();
    if !dir.exists() {
        return Ok(all);
    }
    let mut entries = fs::read_dir(dir)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .with_context(|| dir.display().to_string())?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let meta = entry.metadata().with_context(|| path.display().to_string())?;
        let kind = path.extension().and_then(|kind| kind.to_str());
        let (Some(name), Some("keys" | "circuits"), true) =
            (path.file_stem().and_then(|name| name.to_str()).map(str::to_owned), kind, meta.is_file())
        else {
            continue;
        };
        let written = meta.modified().unwrap_or(UNIX_EPOCH);
        match all.iter_mut().find(|kept| kept.name == name) {
            Some(kept) => {
                kept.bytes += meta.len();
                kept.written = kept.written.max(written);
                kept.files.push(path);
            }
            None => all.push(Kept { name, files: vec![path], bytes: meta.len(), written }),
        }
    }
    Ok(all)
}
