//! `evergrove open`.

use std::path::PathBuf;

use anyhow::Result;
use evergrove::commit::schema::{Cell, ColumnType, Row, Schema};
use evergrove::proof::abi::AbiType;
use evergrove::store::Store;
use serde_json::{Map, Value, json};

use super::Terminal;
use crate::args::StoreArgs;
use crate::files;
use crate::report::{Report, plain};

/// Open one slot: its row, its value and the Merkle path to the commitment
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Position of the slot
    #[arg(value_name = "INDEX")]
    index: u64,
    /// Open it as it was at this epoch [default: the current one]
    #[arg(long, value_name = "EPOCH")]
    epoch: Option<u64>,
    /// Write the opening to this file, for verify --proof
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.store.store)?;
    let view = args.epoch.map_or_else(|| store.view(), |e| store.view_at(e))?;
    let opening = view.opening(args.index)?;
    let row = view.row(args.index)?;
    if let Some(path) = &args.out {
        files::write(path, |out| Ok(out.write_all(&opening.encode())?))?;
    }

    let mut report = Report::default();
    report.add("commitment", view.commitment().to_string());
    report.add("epoch", view.epoch().number);
    report.add("index", args.index);
    report.add_as("filled", row.is_some(), if row.is_some() { "yes" } else { "no, the slot is empty" });
    if let Some(value) = &opening.value {
        report.add("value", value.iter().map(ToString::to_string).collect::<Vec<_>>());
    } else {
        report.hidden("value", Value::Null);
    }
    report.hidden("row", row.as_ref().map_or(Value::Null, |r| row_object(store.schema(), r)));
    let siblings: Vec<_> = opening.siblings.iter().map(ToString::to_string).collect();
    report.hidden("siblings", siblings.clone());
    if let Some(path) = &args.out {
        report.add("opening", path.display().to_string());
    }
    if let (Some(row), false) = (&row, store.schema().is_raw()) {
        report.note("\nRow:");
        for (column, text) in store.schema().columns().iter().zip(store.schema().format_row(row)) {
            report.note(format!("  {}: {}", column.name, plain(&String::from_utf8_lossy(&text))));
        }
    }
    report.note("\nSiblings, from the leaf up:");
    for (level, sibling) in siblings.iter().enumerate() {
        report.note(format!("  {level:>2} {sibling}"));
    }
    report.print(terminal.format)
}

/// The cells by column. Integers of 64 bits are numbers, and truth values are booleans. Decimals and wider integers are
/// strings, so no digit is lost. Dates, timestamps and UUIDs are strings. Bytes that are not UTF-8, and words of the
/// ABI, are as in jsonl files.
fn row_object(schema: &Schema, row: &Row) -> Value {
    let Row::Cells(cells) = row else { return Value::Null };
    let cells = schema.columns().iter().zip(cells).map(|(column, cell)| {
        let value = match (cell, column.kind) {
            (Cell::Null, _) => Value::Null,
            (Cell::Unsigned(x), ColumnType::Boolean) => (*x == 1).into(),
            (Cell::Unsigned(x), _) => (*x).into(),
            (Cell::Signed(x), ColumnType::Signed) => (*x).into(),
            (Cell::Word(word), ColumnType::Abi(AbiType::Bool)) => (word[31] == 1).into(),
            _ => String::from_utf8(column.format(cell))
                .map_or_else(|e| json!({ "hex": hex::encode(e.as_bytes()) }), Value::String),
        };
        (column.name.clone(), value)
    });
    Value::Object(cells.collect::<Map<_, _>>())
}
