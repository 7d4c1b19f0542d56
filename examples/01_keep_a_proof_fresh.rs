//! The main job from a program: commit a table, prove a batch of its rows, change a row, refresh the proof, verify it.
//!
//! ```sh
//! cargo run --release --package evergrove --example 01_keep_a_proof_fresh
//! ```
//!
//! It uses the `native` backend, which re-executes instead of proving: it needs no keys and takes no time, and its proofs are
//! long and hide nothing. A program that hands proofs to others registers `evergrove_recursion::Plonky2Backend` in its place
//! and verifies under `Policy::default()`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use evergrove_commit::NativeBackend;
use evergrove_commit::schema::{Cell, Row, Schema};
use evergrove_jobs::local::LocalEngine;
use evergrove_proof::{HeightClass, Policy, Profile};
use evergrove_store::input::{Format, IndexSource, Table};
use evergrove_store::{BackendChoice, Backends, Changes, Prover, Store, verify};

fn main() -> Result<(), Box<dyn Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    let schema = Schema::from_toml(&std::fs::read_to_string(data.join("birdstrikes.toml"))?)?;
    let column = |name: &str| schema.column(name).map(|(at, _)| at).ok_or(format!("there is no column {name}"));
    let (time_of_day, cost_total) = (column("time_of_day")?, column("cost_total")?);
    let table = Table::new(data.join("birdstrikes.csv"), Format::Csv, IndexSource::RowOrder, schema.clone());

    // The rows that are proven: all strikes at night.
    let mut night = Vec::new();
    for row in table.rows()? {
        if let (index, Row::Cells(cells)) = row?
            && cells[time_of_day] == Cell::Bytes(b"Night".to_vec())
        {
            night.push(index);
        }
    }

    let dir = tempfile::tempdir()?;
    let store = Store::create(dir.path(), &schema, None, table.rows()?)?;
    println!("{} rows      {}", store.epoch()?.filled, store.commitment()?);

    let mut backends = Backends::new();
    let backend = NativeBackend::new(Profile::Proven, HeightClass::H27);
    backends.add(Arc::new(backend));
    let engine = LocalEngine::new(1);
    let prover = Prover::new(&store, &backends, &engine);
    prover.define("night", &night, &BackendChoice::new("native", Profile::Proven))?;
    let first = prover.prove("night")?;
    println!("{} in the batch   {} of {} proofs made", first.members, first.made, first.total);

    // A row in the batch is corrected: its bucket and the merges above it are proven again.
    let index = night[night.len() - 1];
    let Some(Row::Cells(mut cells)) = store.view()?.row(index)? else { return Err("the row is empty".into()) };
    cells[cost_total] = Cell::Unsigned(2_500);
    let update = prover.update(&Changes { set: vec![(index, Row::Cells(cells))], ..Changes::default() })?;
    let refreshed = &update.batches[0];
    println!("row {index} changed   {} of {} proofs made", refreshed.made, refreshed.total);
    println!("epoch {}          {}", update.epoch.after.number, update.epoch.after.commitment);

    // What a verifier does, with nothing but the proof, the commitment and the rows that it was told of.
    let leaves = store.view()?.leaves(&night)?;
    let policy = Policy::default().allow_backend(refreshed.backend.id.clone());
    let verified = verify(&prover.export("night")?, &store.commitment()?, Some(&leaves), &policy, &backends)?;
    println!("verified         {} rows, canonical digest {}", leaves.len(), verified.statement.canonical);
    Ok(())
}
