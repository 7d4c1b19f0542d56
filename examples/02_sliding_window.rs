//! A sliding window (section 4.1 of the Reckle paper): proves the volatility of a price over the last n blocks of a
//! chain, and refreshes the proof with every block.
//!
//! ```sh
//! cargo run --release --package evergrove --example 02_sliding_window -- 512 4
//! ```
//!
//! The table is a ring: block b is in slot b mod n, so each new row replaces the oldest. The proof is over *all* rows,
//! so nobody can leave out a block. A new block needs one new bucket proof and the proofs above it. The arguments are n
//! and the number of blocks to add.

use std::time::Instant;

use evergrove::prelude::*;

/// Time between two blocks of Ethereum.
const BLOCK_SECONDS: f64 = 12.0;
const QUERY: &str = "SELECT STDDEV_SAMP(shift), AVG(price), MIN(price), MAX(price), COUNT(*) FROM ring";

/// A random price. Its rows have a block, a price, and the relative change since the previous block.
struct Market {
    price: i64,
    noise: u64,
}

impl Market {
    fn next(&mut self, block: u64) -> [Value; 3] {
        self.noise = self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let before = self.price;
        self.price += (self.noise >> 40) as i64 % 2_001 - 1_000;
        let decimal = |units: i64, scale| Value::Decimal { units: units.into(), scale };
        [block.into(), decimal(self.price, 2), decimal((self.price - before) * 100_000_000 / before, 8)]
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>());
    let window = arguments.next().transpose()?.unwrap_or(512).max(2);
    let blocks = arguments.next().transpose()?.unwrap_or(4);
    let columns = vec![
        Column::new("block", ColumnType::Unsigned),
        Column::new("price", ColumnType::Fixed { scale: 2 }),
        Column::new("shift", ColumnType::Fixed { scale: 8 }),
    ];
    let mut market = Market { price: 312_345, noise: 7 };
    let table = Table::from_rows(columns, (0..window).map(|block| market.next(block).to_vec()))?;
    let dir = tempfile::tempdir()?;
    let config = Config::from_env();
    let mut store = Store::create_with(dir.path(), &table, &config)?;

    let start = Instant::now();
    store.prove_query("volatility", QUERY)?;
    println!("{window} rows, proven {:>6.2} s, circuits included", start.elapsed().as_secs_f64());
    let verifier = Verifier::default();
    for block in window..window + blocks {
        let start = Instant::now();
        let update = store.update(Changes::new().set_row(block % window, market.next(block)))?;
        let seconds = start.elapsed().as_secs_f64();

        // Anyone who prices an option has the commitment, the query and the schema, and check the answer.
        let answer =
            verifier.verify_answer(&store.proof("volatility")?, &store.commitment()?, store.schema(), QUERY)?;
        let made: usize = update.batches.iter().map(|b| b.made).sum();
        let share = seconds / BLOCK_SECONDS * 100.0;
        println!("block {block}: {made} proofs in {seconds:.2} s, {share:.0} % of the time between two blocks");
        for (name, value) in &answer.values {
            println!("    {name} = {value}");
        }
    }
    Ok(())
}
