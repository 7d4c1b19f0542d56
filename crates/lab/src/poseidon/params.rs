//! What an engine is, and the matrix that it hashes.

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::error::{within, within_f64};

/// Words that a permutation absorbs.
pub(super) const RATE: u64 = 8;
/// Rounds of the permutation.
pub(super) const ROUNDS: u64 = 30;

/// Stages of a round's parts. The article does not print them; these are those of `rtl/` (a multiplier of six stages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pipelines {
    /// The addition of round constants.
    pub constants: u64,
    /// A multiplier; an S-box is three of them deep.
    pub multiplier: u64,
    /// The multiplication by the MDS matrix: shifts, a tree of additions, a reduction.
    pub mds: u64,
}

impl Default for Pipelines {
    fn default() -> Self {
        Self { constants: 1, multiplier: 6, mds: 6 }
    }
}

impl Pipelines {
    /// Cycles of a permutation.
    pub fn permutation(&self) -> u64 {
        ROUNDS * (self.constants + 3 * self.multiplier + self.mds)
    }
}

/// An engine with its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// log2 of the rows of the extended matrix, the article's b r.
    pub log_rows: u32,
    /// Columns, the article's c.
    pub columns: u32,
    /// log2 of the nodes of the cap that leaves the engine; 0 for the root.
    pub cap_height: u32,
    /// Gbit/s (10^9) of the link that the matrix comes by.
    pub link_gbit_s: f64,
    /// Clock in MHz.
    pub frequency_mhz: u64,
    /// S-boxes of the leaf hasher: 118 take a permutation a cycle, 59 one in two, and so on.
    pub lhe_sboxes: u32,
    /// S-boxes of the branch hasher.
    pub bhe_sboxes: u32,
    /// Stages.
    pub pipelines: Pipelines,
    /// GB/s of the memory of the states; 0: not limited.
    pub hbm_gb_s: u64,
    /// The share of it that is usable, refresh and row changes taken off.
    pub hbm_efficiency: f64,
    /// Words of a row's state that are stored between passes: 12, or 4 where every group has 8 columns and overwrites the rest.
    pub state_words: u32,
    /// Whether columns come one after the other, so that the first row of a group can be hashed when its last column is
    /// there; else tiles of eight columns come row by row.
    pub by_columns: bool,
    /// Whether the branch hasher works while leaves are hashed, or after the last.
    pub overlapped: bool,
}

impl Default for Params {
    /// The article's engine at the rate of its link, on 136 columns and 2^24 rows.
    fn default() -> Self {
        Self {
            log_rows: 24,
            columns: 136,
            cap_height: 0,
            link_gbit_s: 128.0,
            frequency_mhz: 250,
            lhe_sboxes: SBOXES,
            bhe_sboxes: SBOXES,
            pipelines: Pipelines::default(),
            hbm_gb_s: 460,
            hbm_efficiency: 0.9,
            state_words: 12,
            by_columns: false,
            overlapped: true,
        }
    }
}

/// S-boxes of a permutation: 12 in each of 8 full rounds, one in each of 22 partial ones.
pub(super) const SBOXES: u32 = 8 * 12 + 22;

impl Params {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), LabError> {
        within("log_rows", u64::from(self.log_rows), 1..=32)?;
        within("columns", u64::from(self.columns), 5..=1 << 20)?;
        within("cap_height", u64::from(self.cap_height), 0..=u64::from(self.log_rows))?;
        within_f64("link_gbit_s", self.link_gbit_s, 0.001..=1e6)?;
        within("frequency_mhz", self.frequency_mhz, 1..=10_000)?;
        within("lhe_sboxes", u64::from(self.lhe_sboxes), 1..=u64::from(SBOXES))?;
        within("bhe_sboxes", u64::from(self.bhe_sboxes), 1..=u64::from(SBOXES))?;
        within("pipelines", self.pipelines.permutation(), 1..=100_000)?;
        within("hbm_gb_s", self.hbm_gb_s, 0..=1_000_000)?;
        within_f64("hbm_efficiency", self.hbm_efficiency, 0.01..=1.0)?;
        within("state_words", u64::from(self.state_words), 4..=12)
    }
    /// Rows.
    pub fn rows(&self) -> u64 {
        1 << self.log_rows
    }
    /// Passes over the rows: groups of eight columns.
    pub fn passes(&self) -> u64 {
        u64::from(self.columns).div_ceil(RATE)
    }
    /// Cycles between two permutations of a core with so many S-boxes.
    pub fn interval(sboxes: u32) -> u64 {
        u64::from(SBOXES.div_ceil(sboxes))
    }
    /// Bytes of the matrix, columns filled up to whole groups as they come by the link.
    pub fn bytes(&self) -> u64 {
        self.passes() * RATE * 8 * self.rows()
    }
    /// Seconds of so many cycles.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.frequency_mhz as f64 * 1e6)
    }
}
