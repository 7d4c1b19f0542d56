//! `evergrove inspect`.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove::commit::schema::Schema;
use evergrove::ethereum::input::{TEXT_MAX, read_claims};
use evergrove::mpt::{Batch, Kind as StateKind, StateProof, Statement};
use evergrove::primitives::Digest;
use evergrove::primitives::hash::blake3::Hasher;
use evergrove::proof::ethereum::{Hex, canonical_digest};
use evergrove::proof::key::key_digest;
use evergrove::proof::keys::{KEY_MAGIC, KeySet, PAPER_KEY_MAGIC, PaperKeys, pinned, pinned_grove, pinned_paper};
use evergrove::proof::wire::{Bundle, OPENING_MAGIC, PROOF_MAGIC, RowsForm};
use evergrove::proof::{BatchProof, Commitment, HeightClass, Opening, Profile};
use evergrove::reshape::Reshape;
use evergrove::store::{BACKUP_MAGIC, BackupReader};
use serde_json::{Value, json};

use super::{Terminal, backup, eth, status, verify};
use crate::exit::CliError;
use crate::files;
use crate::report::{Report, count, size};

/// Say what a file of Evergrove is and what it claims, without verifying it
///
/// Takes proofs, openings, bundles, key files, proofs and batches of claims about Ethereum's state, proofs of tables of slots, claims, schemas, commitments, payloads of jobs, files of
/// points, backups of stores, and the directories of stores.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file, or the directory of a store
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Proof,
    Opening,
    Bundle,
    GroveKey,
    Plonky2Keys,
    PaperKeys,
    StateProof,
    StateBatch,
    TableProof,
    Payload,
    Points,
    Backup,
    Text,
}

/// Number of bytes that show the kind of a file. A bundle has its magic after a name.
const HEAD: usize = 512;
/// Offset of the magic of a bundle.
const BUNDLE_MAGIC: usize = 257;
/// Greatest size of a key file in bytes.
const MAX_KEY_BYTES: u64 = 1 << 30;
/// The database file in the directory of a store.
const DATABASE: &str = "evergrove.redb";

impl Kind {
    /// The kinds of binary files, with their names and their first bytes.
    const BINARY: [(Self, &'static str, &'static [u8]); 12] = [
        (Self::GroveKey, "key of grove", b"evgrkey\0"),
        (Self::Proof, "proof", &PROOF_MAGIC),
        (Self::Opening, "opening", &OPENING_MAGIC),
        (Self::Plonky2Keys, "keys of plonky2", &KEY_MAGIC),
        (Self::PaperKeys, "keys of reckle-paper", &PAPER_KEY_MAGIC),
        (Self::StateProof, "state proof", b"EVGE"),
        (Self::StateBatch, "batch of claims", b"EVGB"),
        (Self::TableProof, "proof of a table of slots", b"EVGR"),
        (Self::Payload, "payload of a job", b"EVGJ"),
        (Self::Points, "points of a curve", b"EVGC"),
        (Self::Backup, "backup of a store", &BACKUP_MAGIC),
        (Self::Bundle, "bundle", b"ustar"),
    ];

    fn of(head: &[u8]) -> Option<Self> {
        let begins = |(kind, _, magic): &&(Self, &str, &[u8])| {
            let from = if *kind == Self::Bundle { BUNDLE_MAGIC } else { 0 };
            head.get(from..).is_some_and(|rest| rest.starts_with(magic))
        };
        if let Some((kind, ..)) = Self::BINARY.iter().find(begins) {
            return Some(*kind);
        }
        let text = head.trim_ascii_start();
        let is_text = [&b"evergrove1:"[..], b"[", b"#", b"raw"].iter().any(|begin| text.starts_with(begin));
        is_text.then_some(Self::Text)
    }

    fn name(self) -> &'static str {
        Self::BINARY.iter().find(|(kind, ..)| *kind == self).map_or("text", |(_, name, _)| name)
    }
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let path = args.file.as_path();
    let is_database = path.file_name().is_some_and(|name| name == DATABASE);
    if path.is_dir() || is_database {
        let dir =
            if is_database { path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new(".")) } else { path };
        let mut report = Report::default();
        report.add("kind", "store");
        return status::show(dir, report, terminal);
    }
    let head = head(path)?;
    let unknown = || {
        let begins: String = head.iter().take(8).flat_map(|b| std::ascii::escape_default(*b)).map(char::from).collect();
        let message = format!("{}: not a file of evergrove: it begins with \"{begins}\"", path.display());
        CliError::usage(message, "see evergrove inspect --help for what can be inspected")
    };
    let kind = Kind::of(&head).ok_or_else(unknown)?;
    let mut report = Report::default();
    if kind == Kind::Text {
        text(&mut report, path, unknown)?;
    } else {
        report.add("kind", kind.name());
        if let (Some(version), false) = (head.get(4..6), matches!(kind, Kind::Bundle | Kind::GroveKey)) {
            report.add("format_version", u16::from_le_bytes([version[0], version[1]]));
        }
        binary(&mut report, path, kind)?;
    }
    report.note("\nNothing of this is verified: it is what the file says.");
    report.print(terminal.format)
}

fn head(path: &Path) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(path).with_context(|| path.display().to_string())?;
    file.take(HEAD as u64).read_to_end(&mut head).with_context(|| path.display().to_string())?;
    Ok(head)
}

fn binary(report: &mut Report, path: &Path, kind: Kind) -> Result<()> {
    let damaged = |e: &dyn std::fmt::Display| {
        let message = format!("{}: not a whole {}: {e}", path.display(), kind.name());
        CliError::usage(message, "copy the file again, or ask for a new one")
    };
    let whole = |limit| files::read(path, limit, "check the path: no file of this kind is that long");
    match kind {
        Kind::Proof => proof(report, &whole(verify::MAX_NATIVE_BYTES)?).map_err(|e| damaged(&e))?,
        Kind::Opening => opening(report, &whole(verify::MAX_SUCCINCT_BYTES)?).map_err(|e| damaged(&e))?,
        Kind::Bundle => bundle(report, path, &whole(Bundle::MAX_BYTES as u64)?)?,
        Kind::GroveKey => grove_key(report, path)?,
        Kind::Plonky2Keys => {
            let bytes = whole(MAX_KEY_BYTES)?;
            let keys = KeySet::decode(&bytes).map_err(|e| damaged(&e))?;
            report.add("backend", format!("{}:{}", keys.backend.name, keys.backend.version));
            report.add("profile", keys.profile.name());
            report.add("height_class", keys.class.height_max());
            let kinds = keys.keys.iter().map(|key| key.kind.name()).collect::<Vec<_>>();
            report.add_as("circuits", kinds.clone(), kinds.join(", "));
            add_pinned(report, pinned(keys.profile, keys.class).is_some_and(|own| own == bytes));
        }
        Kind::PaperKeys => {
            let bytes = whole(MAX_KEY_BYTES)?;
            let keys = PaperKeys::decode(&bytes).map_err(|e| damaged(&e))?;
            report.add("backend", format!("{}:{}", keys.backend.name, keys.backend.version));
            report.add("profile", keys.profile.name());
            report.add("block_height", keys.block_height);
            report.add("heights", keys.keys.len());
            add_pinned(report, pinned_paper(keys.profile).is_some_and(|own| own == bytes));
        }
        Kind::StateProof => {
            let bytes = whole(verify::MAX_SUCCINCT_BYTES)?;
            state_proof(report, &StateProof::from_bytes(&bytes).map_err(|e| damaged(&e))?);
            add_bytes(report, bytes.len());
        }
        Kind::StateBatch => {
            let bytes = whole(eth::BATCH_MAX)?;
            let batch = Batch::from_bytes(&bytes).map_err(|e| damaged(&e))?;
            eth::add_block(report, &batch.roots, batch.header.as_ref());
            report.add("anchor", eth::named(batch.header.as_ref()));
            report.add("claims", batch.claims.len());
            report.add("canonical_digest", canonical_digest(&batch.claims)?.to_string());
            report.add("nodes", batch.nodes.len());
            report.add("proofs", batch.proofs.len());
            report.add("cut", batch.cut);
            add_bytes(report, bytes.len());
            report.note("\neth claims --batch prints the claims.");
        }
        Kind::TableProof => {
            let bytes = whole(verify::MAX_SUCCINCT_BYTES)?;
            let table = Reshape::from_bytes(&bytes).map_err(|e| damaged(&e))?;
            eth::add_table(report, &table.address, table.slots, table.decimals);
            report.add("claims_digest", table.claims.to_string());
            report.add("canonical_digest", table.rows.to_string());
            add_bytes(report, bytes.len());
        }
        Kind::Payload | Kind::Points => {
            let bytes = std::fs::metadata(path).with_context(|| path.display().to_string())?.len();
            report.add_as("bytes", bytes, size(bytes));
        }
        Kind::Backup => {
            let file = File::open(path).with_context(|| path.display().to_string())?;
            let bytes = file.metadata().with_context(|| path.display().to_string())?.len();
            let reader = BackupReader::new(file).map_err(|e| damaged(&e))?;
            backup::add_head(report, reader.head());
            report.add_as("bytes", bytes, size(bytes));
            report.note("\nrestore --verify-only checks the whole file.");
        }
        // Text is handled before the binary kinds.
        Kind::Text => {}
    }
    Ok(())
}

fn state_proof(report: &mut Report, proof: &StateProof) {
    let circuit = match proof.kind {
        StateKind::Piece => "piece",
        StateKind::Pieces => "join of pieces",
        StateKind::Joins => "join of joins",
    };
    report.add("circuit", circuit);
    report.add("keccak_blocks", proof.size.keccak_blocks());
    report.add("anchor", proof.statement.name());
    let mut tries = Vec::new();
    match &proof.statement {
        Statement::Roots(roots) => {
            for (tag, root, digest) in roots {
                let root = Hex(root).to_string();
                report.note(format!("  {tag} root {root}, claims with digest {digest}"));
                tries.push(json!({ "of": tag.to_string(), "root": root, "canonical_digest": digest.to_string() }));
            }
        }
        Statement::Block { hash, digests } => {
            report.add("block_hash", Hex(hash).to_string());
            for (tag, digest) in digests {
                report.note(format!("  {tag}, claims with digest {digest}"));
                tries.push(json!({ "of": tag.to_string(), "canonical_digest": digest.to_string() }));
            }
        }
    }
    report.hidden("roots", tries);
    report.add("canonical_digest", proof.digest().to_string());
}

fn proof(report: &mut Report, bytes: &[u8]) -> Result<(), evergrove::proof::DecodeError> {
    let proof = BatchProof::decode(bytes)?;
    report.add("scheme", proof.scheme.clone());
    report.add("backend", format!("{}:{}", proof.backend.name, proof.backend.version));
    report.add("profile", proof.profile.name());
    report.add("height_class", proof.class.height_max());
    report.add("proof_kind", proof.kind.name());
    let statement = &proof.statement;
    match statement.base {
        0 => {
            let commitment = Commitment { height: statement.height, root: statement.root };
            report.add("commitment", commitment.to_string());
        }
        // A part of a table has no commitment of its own.
        base => {
            report.add("root", statement.root.to_string());
            report.add("height", statement.height);
            report.add("base", base);
        }
    }
    report.add("canonical_digest", statement.canonical.to_string());
    if let Some(app) = &proof.app {
        report.add("application", app.app.to_string());
        let output = app.output.iter().map(ToString::to_string).collect::<Vec<_>>();
        report.add_as("output", output.clone(), count(output.len(), "element"));
    }
    add_bytes(report, bytes.len());
    Ok(())
}

fn opening(report: &mut Report, bytes: &[u8]) -> Result<(), evergrove::proof::DecodeError> {
    let opening = Opening::decode(bytes)?;
    report.add("index", opening.index);
    report.add("height", opening.height);
    let value = opening.value.map(|value| value.iter().map(ToString::to_string).collect::<Vec<_>>());
    report.add_as("value", value.clone(), value.map_or("none: the slot is empty".into(), |value| value.join(",")));
    add_bytes(report, bytes.len());
    Ok(())
}

fn bundle(report: &mut Report, path: &Path, bytes: &[u8]) -> Result<()> {
    let remedy = "ask for a new bundle, made by export --bundle";
    let mistake = |e: &dyn std::fmt::Display| CliError::usage(format!("{}: {e}", path.display()), remedy);
    let parts = Bundle::decode(bytes).map_err(|e| mistake(&e))?;
    let rows = parts.rows.map(|(form, rows)| match form {
        RowsForm::Csv => ("rows.csv", rows.len()),
        RowsForm::Jsonl => ("rows.jsonl", rows.len()),
    });
    let held = [
        ("evergrove.proof", Some(parts.proof)),
        ("schema.toml", parts.schema),
        ("circuits.key", parts.key),
        ("query.sql", parts.query),
        ("groups.jsonl", parts.groups),
        ("rows.paths", parts.paths),
    ];
    let held: Vec<_> = held.into_iter().filter_map(|(name, part)| Some((name, part?.len()))).chain(rows).collect();
    let shown: Vec<_> = held.iter().map(|(name, len)| format!("{name} ({})", size(*len as u64))).collect();
    let object = held.iter().map(|(name, len)| ((*name).to_owned(), Value::from(*len))).collect();
    report.add_as("holds", Value::Object(object), shown.join(", "));
    if let Some(text) = parts.query {
        report.add("query", String::from_utf8_lossy(text));
    }
    if let Some(text) = parts.schema {
        let schema = files::parse_schema(&path.join("schema.toml"), text.to_vec())?;
        report.add("schema_digest", schema.digest().to_string());
    }
    if let Some(key) = parts.key {
        let mut hasher = Hasher::default();
        hasher.update(key);
        report.add("key_digest", key_digest(&hasher).to_string());
    }
    let inner = if parts.proof.starts_with(&OPENING_MAGIC) { opening } else { proof };
    inner(report, parts.proof).map_err(|e| mistake(&e))
}

/// Adds the header of a key, and the digest of all its bytes.
fn grove_key(report: &mut Report, path: &Path) -> Result<()> {
    let name = || path.display().to_string();
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).with_context(name)?);
    let mut hasher = Hasher::default();
    let mut header = [0; 24];
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0u64);
    let whole = file.read_exact(&mut header);
    whole.map_err(|_| CliError::usage(format!("{}: the key is cut off", name()), "copy the file again"))?;
    hasher.update(&header);
    loop {
        let n = file.read(&mut buffer).with_context(name)?;
        if n == 0 {
            break;
        }
        bytes += n as u64;
        hasher.update(&buffer[..n]);
    }
    let digest = key_digest(&hasher);
    let version = header.iter().skip(8).take(8).rev().fold(0u64, |x, byte| x << 8 | u64::from(*byte));
    report.add("format_version", version);
    report.add("key_digest", digest.to_string());
    let batches = batch_key(digest);
    report.add_as(
        "key_of",
        batches.map(|(profile, class)| json!({ "profile": profile.name(), "height_class": class.height_max() })),
        batches.map_or("an application or a digest that this program does not know".into(), |(profile, class)| {
            format!("batches in the profile {profile}, tables of height up to {}", class.height_max())
        }),
    );
    add_pinned(report, batches.is_some());
    add_bytes(report, usize::try_from(bytes)? + header.len());
    Ok(())
}

/// The profile and height class of the pinned key of batches with this digest.
fn batch_key(digest: Digest) -> Option<(Profile, HeightClass)> {
    let classes = [HeightClass::H27, HeightClass::H40];
    let all = Profile::ALL.into_iter().flat_map(|profile| classes.map(|class| (profile, class)));
    all.into_iter().find(|(profile, class)| pinned_grove(*profile, *class) == Some(digest))
}

fn text(report: &mut Report, path: &Path, unknown: impl Fn() -> anyhow::Error) -> Result<()> {
    let bytes = files::read(path, TEXT_MAX as u64, "split the file")?;
    let text = std::str::from_utf8(&bytes).map_err(|_| unknown())?.trim();
    if text.starts_with("evergrove1:") {
        let commitment: Commitment = text.parse().map_err(|e| {
            CliError::usage(format!("{}: not a commitment: {e}", path.display()), "copy the commitment again")
        })?;
        report.add("kind", "commitment");
        report.add("height", commitment.height);
        report.add("root", commitment.root.to_string());
    } else if text.starts_with('[') && !text.starts_with("[[") && !text.starts_with("[column") {
        let claims = read_claims(&bytes).with_context(|| path.display().to_string())?;
        report.add("kind", "claims");
        report.add("claims", claims.len());
        report.add("canonical_digest", canonical_digest(&claims)?.to_string());
    } else {
        let schema = Schema::from_toml(text).with_context(|| path.display().to_string())?;
        report.add("kind", "schema");
        report.add("schema_digest", schema.digest().to_string());
        report.hidden("schema", serde_json::to_value(&schema)?);
        status::add_columns(report, &schema);
    }
    Ok(())
}

fn add_bytes(report: &mut Report, bytes: usize) {
    report.add_as("bytes", bytes, size(bytes as u64));
}

fn add_pinned(report: &mut Report, pinned: bool) {
    report.add_as("pinned", pinned, if pinned { "yes: this program has the same key" } else { "no" });
}
