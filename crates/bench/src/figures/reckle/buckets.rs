//! r, h and the best size of the paper's buckets, recomputed from our timings (section 3.7).

use anyhow::Context;
use evergrove_baselines::paper::PaperBackend;
use evergrove_commit::RecursionBackend;
use evergrove_commit::batch::{Batch, Structure};
use evergrove_commit::{MemoryStore, NodeKind, Vector};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{HeightClass, Profile};

use super::table::Table;
use crate::reckle::{Compared, Comparison, timed};

/// Block heights to try: the paper's, and those whose circuits have few more rows than a level's circuit.
const BLOCK_HEIGHTS: core::ops::RangeInclusive<u8> = 3..=11;

/// Costs of section 3.7, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Costs {
    /// A level's proof: two recursions and two hashes.
    level_s: f64,
    /// h, one hash in a circuit.
    hash_s: f64,
    wrap_s: f64,
    height: u8,
    blocks: Vec<Block>,
}

/// The circuit of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    height: u8,
    rows: usize,
    degree_bits: usize,
    seconds: f64,
}

impl Costs {
    /// Computes the costs from the measurements. `None` if they lack the paper's scheme or two sizes of one circuit.
    pub(super) fn of(
        comparison: &Comparison,
        all: &[Vec<Compared>],
        profile: Profile,
        height: u8,
    ) -> anyhow::Result<Option<Self>> {
        let Some(paper) = &comparison.paper else { return Ok(None) };
        let circuits: Vec<(usize, f64)> = all
            .iter()
            .flatten()
            .filter(|c| c.name == "monolithic" && !c.aggregate.extrapolated)
            .map(|c| (c.batch, c.aggregate.seconds))
            .collect();
        let (Some(small), Some(large)) = (circuits.first(), circuits.last().filter(|_| circuits.len() > 1)) else {
            return Ok(None);
        };
        // Hashes per leaf: its own, its path, and one of the canonical digest.
        let hashes = (large.0 - small.0) as f64 * (f64::from(height) + 2.0);
        let mut blocks = vec![];
        for q in BLOCK_HEIGHTS.filter(|q| *q < height) {
            blocks.push(Block::measure(profile, q)?);
        }
        Ok(Some(Self {
            level_s: paper.rate(NodeKind::Merge, height)?,
            hash_s: (large.1 - small.1) / hashes,
            wrap_s: paper.rate(NodeKind::Wrap, height).unwrap_or(0.0),
            height,
            blocks,
        }))
    }

    /// r, the time of one recursion.
    fn recursion_s(&self) -> f64 {
        self.level_s / 2.0 - self.hash_s
    }

    /// The time of an update with blocks of this height.
    fn update_s(&self, block: &Block) -> f64 {
        block.seconds + f64::from(self.height - block.height) * self.level_s + self.wrap_s
    }

    /// The table: r, h and q by the formula, then the costs of blocks of each height.
    pub(super) fn table(&self) -> Table {
        let (r, h) = (self.recursion_s(), self.hash_s);
        let rows = self
            .blocks
            .iter()
            .map(|b| {
                vec![
                    b.height.to_string(),
                    b.rows.to_string(),
                    format!("2^{}", b.degree_bits),
                    format!("{:.3}", b.seconds),
                    format!("{:.2}", self.update_s(b)),
                ]
            })
            .collect();
        Table {
            about: format!(
                "Section 3.7 from our timings: a level's proof takes {:.3} s, hence r = {:.1} ms; one hash in a circuit takes h = {:.3} ms. By the paper's formula the best q is {:.2}; it states r = 450 ms, h = 15 ms and q = 5.48, which its formula gives for them. The formula takes a circuit's time for proportional to its hashes; a circuit is padded to a power of two, so that the table below, with measured proofs of blocks of 2^q leaves, decides.",
                self.level_s,
                r * 1e3,
                h * 1e3,
                best_block_height(r, h),
            ),
            head: vec!["q", "rows in use", "rows", "block, s", "update of a leaf, s"],
            rows,
        }
    }
}

/// The q that maximises |f - g| of section 3.7: its derivative 2r + 2h - 2^q 2h ln 2 vanishes.
fn best_block_height(recursion: f64, hash: f64) -> f64 {
    ((recursion + hash) / (hash * core::f64::consts::LN_2)).log2()
}

impl Block {
    /// Proves a block of 2^`q` leaves twice and measures the second proof.
    fn measure(profile: Profile, q: u8) -> anyhow::Result<Self> {
        let class = HeightClass::of(q).context("a block is a small tree")?;
        let backend = PaperBackend::with_block_height(profile, class, q)?;
        let (rows, degree_bits) = backend.rows(q);
        let mut vector = Vector::new(q, MemoryStore::new())?;
        vector.apply(&[(0, Some([Goldilocks::ONE; 4]))])?;
        let batch = Batch::build_as(&vector, &[0], Structure::Levels { block_height: q })?;
        let witness = batch.root().witness(&vector)?;
        backend.prove(&witness, &[])?;
        let (_, seconds) = timed(|| Ok(backend.prove(&witness, &[])?))?;
        Ok(Self { height: q, rows, degree_bits, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_costs_give_its_bucket_size() {
        assert!((best_block_height(0.450, 0.015) - 5.48).abs() < 0.005);
        assert_eq!(evergrove_verifier::Scheme::BLOCK_HEIGHT, 5);
        // It is the maximum of |f - g| for l = 27.
        let difference = |q: f64| {
            let (r, h, l) = (0.450, 0.015, 27.0);
            let f = (l - 1.0) * 2.0 * r + l * 2.0 * h;
            let g = (l - q) * (2.0 * r + 2.0 * h) + (q.exp2() - 1.0) * 2.0 * h;
            (f - g).abs()
        };
        let best = best_block_height(0.450, 0.015);
        assert!([-0.1, 0.1].iter().all(|d| difference(best + d) < difference(best)));
    }

    #[test]
    fn blocks_of_two_to_the_tenth_are_the_largest_with_the_rows_of_a_level() {
        let level = usize::from(Profile::Paper.recursion().unwrap().degree_bits);
        for (q, degree_bits) in [(10, level), (11, level + 1)] {
            let backend = PaperBackend::with_block_height(Profile::Paper, HeightClass::H27, q).unwrap();
            assert_eq!(backend.rows(q).1, degree_bits, "{} rows for q = {q}", backend.rows(q).0);
        }
    }

    #[test]
    fn an_update_is_one_block_and_the_levels_above_it() {
        let block = Block { height: 5, rows: 100, degree_bits: 7, seconds: 0.5 };
        let costs = Costs { level_s: 2.0, hash_s: 0.25, wrap_s: 1.0, height: 27, blocks: vec![block] };
        assert_eq!(costs.recursion_s(), 0.75);
        assert_eq!(costs.update_s(&block), 0.5 + 22.0 * 2.0 + 1.0);
        let table = costs.table();
        assert_eq!(table.rows, [["5", "100", "2^7", "0.500", "45.50"]]);
        assert!(table.about.contains("r = 750.0 ms") && table.about.contains("h = 250.000 ms"));
    }
}
