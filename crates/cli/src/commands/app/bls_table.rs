//! `evergrove app bls-table`.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Result;
use evergrove::apps::bls::table;

use super::super::Terminal;
use crate::exit::CliError;
use crate::files;
use crate::report::{Report, count};

/// Greatest size of a file of keys in bytes.
const MAX_BYTES: u64 = 1 << 32;

/// Make a table of BLS keys for commit: every key is checked on the curve and in the subgroup
///
/// Proofs of possession are not checked: without them a rogue key signs for others.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keys of BLS12-381 G1: 48 compressed bytes in hexadecimal digits, one key a line
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Write the rows to this file (csv)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write the schema of the rows to this file (TOML)
    #[arg(long, value_name = "FILE")]
    schema_out: PathBuf,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let bytes = files::read(&args.keys, MAX_BYTES, "split the file: its tables can be committed one after the other")?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::usage("--keys: not a text file", "write keys as hexadecimal digits, one a line"))?;
    let mut encoded = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let line = line.trim();
        let key = hex::decode(line.strip_prefix("0x").unwrap_or(line)).map_err(|_| {
            CliError::usage(format!("--keys: line {} is not hexadecimal", k + 1), "write 96 hexadecimal digits a line")
        })?;
        encoded.push(key);
    }
    let keys = table::parse_keys(encoded.iter().map(Vec::as_slice)).map_err(|e| {
        CliError::usage(
            format!("--keys: line {}: {}", e.row + 1, e.source),
            "leave the key out, or ask its owner for another",
        )
    })?;
    if keys.is_empty() {
        return Err(CliError::usage("--keys: the file has no keys", "write 96 hexadecimal digits a line"));
    }
    let schema = table::schema();
    files::write(&args.out, |out| {
        let names: Vec<&str> = schema.columns().iter().map(|c| c.name.as_str()).collect();
        writeln!(out, "{}", names.join(","))?;
        for numbers in keys.iter().filter_map(table::numbers) {
            writeln!(out, "{}", numbers.map(|n| n.to_string()).join(","))?;
        }
        Ok(())
    })?;
    files::write(&args.schema_out, |out| Ok(out.write_all(schema.to_toml().as_bytes())?))?;
    let mut report = Report::default();
    report.add_as("keys", keys.len(), count(keys.len(), "key"));
    // Equal keys are not refused: a sync committee may have a validator twice.
    let mut lines = HashMap::new();
    let again: Vec<(usize, usize)> =
        (1..).zip(&encoded).filter_map(|(line, key)| Some((line, lines.insert(key, line)?))).collect();
    let text = match again.first() {
        None => "none".into(),
        Some((line, earlier)) => format!(
            "{}, the first on line {line}, as on line {earlier}: a threshold counts the owner of such a key more than once",
            again.len()
        ),
    };
    report.add_as("repeated_keys", again.len(), text);
    report.add("table", args.out.display().to_string());
    report.add("schema", args.schema_out.display().to_string());
    report.add("schema_digest", schema.digest().to_string());
    report.print(terminal.format)
}
