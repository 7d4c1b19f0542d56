//! The main job in a program: commit a table, prove a batch of its rows, change a row, refresh the proof, verify it.
//!
//! ```sh
//! cargo run --release --package evergrove --example 01_keep_a_proof_fresh
//! ```
//!
//! The backend `native` executes everything again. It needs no keys and little time, but its proofs are as long as the
//! rows. A program that gives proofs to others leaves out `backend` and `allow_backend`.

use std::path::Path;

use evergrove::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    let table = Table::from_csv(data.join("birdstrikes.csv"))?;
    let night = table.rows_where(|row| row["time_of_day"] == "Night")?;

    let dir = tempfile::tempdir()?;
    let config = Config { backend: Backend::Native, ..Config::default() };
    let mut store = Store::create_with(dir.path(), &table, &config)?;
    println!("{} rows      {}", store.epoch()?.filled, store.commitment()?);
    let first = store.prove("night", &night)?;
    println!("{} in the batch   {} of {} proofs made", first.members, first.made, first.total);

    // Corrects a row of the batch: the row's bucket and the merges above it are proven again.
    let row = night[night.len() - 1];
    let update = store.update(Changes::new().set(row, "cost_total", 2_500))?;
    for refreshed in &update.batches {
        println!("row {row} changed   {} of {} proofs made", refreshed.made, refreshed.total);
    }
    println!("epoch {}          {}", update.epoch.after.number, update.epoch.after.commitment);

    // The verifier's part, which needs only the proof, the commitment and the rows.
    let (proof, commitment, rows) = (store.proof("night")?, store.commitment()?, store.rows("night")?);
    let verified = Verifier::default().allow_backend(Backend::Native).verify(&proof, &commitment, &rows)?;
    println!("verified         {} rows, canonical digest {}", rows.len(), verified.statement.canonical);
    Ok(())
}
