//! A sliding window (section 4.1 of the Reckle paper): the volatility of a price over the last n blocks of a chain, proven,
//! and refreshed with every block.
//!
//! ```sh
//! cargo run --release --package evergrove-apps --example 02_sliding_window -- 512 4
//! ```
//!
//! The table is a ring: block b is in slot b mod n, so that each new row takes the place of the oldest. The proof is over *all*
//! rows, hence nobody can leave out a day that does not suit them; a new block makes the proof of one bucket anew and those above
//! it. The arguments are n and the number of blocks to add; `EVERGROVE_KEYS` names a directory in which circuits are kept.
//! The circuits have the parameters of the profile `paper`; a program that hands proofs to others takes `Profile::Proven`.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{Aggregate, Query};
use evergrove_apps::family::AppBackend;
use evergrove_commit::RecursionBackend;
use evergrove_commit::schema::{Cell, Column, ColumnType, Row, Schema};
use evergrove_jobs::local::LocalEngine;
use evergrove_proof::{HeightClass, Policy, Profile, Scheme};
use evergrove_store::{BackendChoice, BackendSpec, Backends, Changes, Prover, Store, verify};

/// Time between two blocks of Ethereum.
const BLOCK_SECONDS: f64 = 12.0;
const QUERY: &str = "SELECT STDDEV_SAMP(shift), AVG(price), MIN(price), MAX(price), COUNT(*) FROM ring";

/// A price that wanders, as row of a block: block, price, and the relative change since the block before.
struct Market {
    price: i64,
    noise: u64,
}

impl Market {
    fn next(&mut self, block: u64) -> Row {
        self.noise = self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let before = self.price;
        self.price += (self.noise >> 40) as i64 % 2_001 - 1_000;
        let shift = (self.price - before) * 100_000_000 / before;
        Row::Cells(vec![Cell::Unsigned(block), Cell::Signed(self.price), Cell::Signed(shift)])
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>());
    let window = arguments.next().transpose()?.unwrap_or(512).max(2);
    let blocks = arguments.next().transpose()?.unwrap_or(4);
    let schema = Schema::new(vec![
        Column::new("block", ColumnType::Unsigned),
        Column::new("price", ColumnType::Fixed { scale: 2 }),
        Column::new("shift", ColumnType::Fixed { scale: 8 }),
    ])?;
    let mut market = Market { price: 312_345, noise: 7 };
    let rows: Vec<Row> = (0..window).map(|block| market.next(block)).collect();
    let dir = tempfile::tempdir()?;
    let rows = (0..).zip(rows).map(Ok::<_, std::convert::Infallible>);
    let store = Store::create(dir.path(), &schema, None, rows)?;

    let query = Query::parse(&schema, QUERY)?;
    let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
    let keys = std::env::var_os("EVERGROVE_KEYS").map(std::path::PathBuf::from);
    let class = HeightClass::of(store.commitment()?.height).ok_or("the window is too long")?;
    let start = Instant::now();
    let backend = AppBackend::load(app.clone(), Scheme::Complete, Profile::Paper, class, keys.as_deref())?;
    println!("circuits          {:>8.2} s, {} rows a bucket", start.elapsed().as_secs_f64(), backend.capacity());
    let spec = BackendSpec::of(&backend);
    let mut backends = Backends::new();
    backends.add(Arc::new(backend));
    let engine = LocalEngine::new(1);
    let prover = Prover::new(&store, &backends, &engine);
    let choice = BackendChoice::new(spec.id.name.clone(), spec.profile).with_app(Scheme::Complete, app.id());
    prover.define("volatility", &[], &choice)?;

    let start = Instant::now();
    let first = prover.prove("volatility")?;
    println!("{window} rows, proven {:>6.2} s, {} proofs", start.elapsed().as_secs_f64(), first.made);
    let policy = Policy::default().allow_profile(Profile::Paper).allow_app(app.id(), Scheme::Complete);
    for block in window..window + blocks {
        let start = Instant::now();
        let row = market.next(block);
        let update = prover.update(&Changes { set: vec![(block % window, row)], ..Changes::default() })?;
        let seconds = start.elapsed().as_secs_f64();

        // Whoever prices an option has the commitment, the query and the schema, and checks the answer.
        let commitment = store.commitment()?;
        let verified = verify(&prover.export("volatility")?, &commitment, None, &policy, &backends)?;
        let output = verified.app.filter(|a| a.app == app.id()).ok_or("another application")?;
        let answer = query.answer(&output.output)?;
        let made = update.batches.first().map_or(0, |b| b.made);
        let share = seconds / BLOCK_SECONDS * 100.0;
        println!("block {block}: {made} proofs in {seconds:.2} s, {share:.0} % of the time between two blocks");
        for (name, value) in &answer.values {
            println!("    {name} = {value}");
        }
    }
    Ok(())
}
