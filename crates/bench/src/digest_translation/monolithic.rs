//! One circuit for a whole tree (section 5.3 of the paper). A change of a leaf needs a new proof of the whole tree.

use std::process::Command;

use anyhow::{Context, ensure};
use evergrove_plonky2::apps::digest_translation::Monolithic;
use evergrove_plonky2::circuit::{circuit_config, params_of};
use evergrove_verifier::Profile;
use serde::{Deserialize, Serialize};

use super::{KERNEL, value};
use crate::memory::{self, Took};
use crate::turns::print_json;

/// Heights of the baseline's rows.
const HEIGHTS: core::ops::RangeInclusive<u8> = 2..=7;

/// Estimated bytes per padded row for building and proving a circuit, before the first measurement.
const BYTES_A_ROW: u64 = 36 << 10;
/// The same estimate for a proof that keeps no extensions: the memory for building the circuit.
const SPARING_BYTES_A_ROW: u64 = 22 << 10;

/// The result of a measurement in a separate process.
#[derive(Serialize, Deserialize)]
struct Measured {
    rows: usize,
    seconds: f64,
    processor_seconds: f64,
    peak_bytes: u64,
}

/// A row of the baseline.
#[derive(Serialize)]
pub(super) struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    height: u8,
    /// Leaves.
    size: usize,
    threads: usize,
    rows: usize,
    degree_bits: usize,
    /// One proof of all leaves, which is also the time of an update.
    seconds: f64,
    processor_seconds: f64,
    ms_per_leaf: f64,
    /// Peak of the measuring process; `None` if the row is computed.
    peak_bytes: Option<u64>,
    /// True if the prover kept no extensions, to save memory.
    sparing: bool,
    extrapolated: bool,
    /// Seconds divided by those of our update.
    ratio: f64,
    /// The same ratio of processor times, which depend less on other load of the machine.
    processor_ratio: f64,
}

/// Measures the circuit of a height and prints the result for the parent process.
pub(super) fn measure(profile: Profile, height: u8, sparing: bool, repeat: usize) -> anyhow::Result<()> {
    let circuit = Monolithic::new(circuit_config(&params_of(profile)?), height);
    let circuit = if sparing { circuit.low_memory() } else { circuit };
    let values: Vec<_> = (0..1 << height).map(value).collect();
    // The first proof records the order of witness generation.
    circuit.prove(&values)?;
    let times: anyhow::Result<Vec<Took>> =
        (0..repeat.max(1)).map(|_| Ok(memory::took(|| circuit.prove(&values))?.1)).collect();
    let Took { seconds, processor_seconds } = memory::median(times?).context("a proof")?;
    let measured = Measured { rows: circuit.rows(), seconds, processor_seconds, peak_bytes: memory::resident().1 };
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}

/// The rows up to height 7. Rows above `measured` are computed, and so are all rows from the first that does not fit
/// into free memory. Computed times are proportional to padded rows, starting from the last measured row that kept its
/// extensions.
pub(super) fn rows(
    profile: Profile,
    measured: u8,
    threads: usize,
    repeat: usize,
    update: Took,
) -> anyhow::Result<Vec<Row>> {
    let mut out: Vec<Row> = Vec::new();
    let mut fits = true;
    for height in HEIGHTS.filter(|_| measured >= *HEIGHTS.start()) {
        fits &= height <= measured;
        let sparing = if fits { way(height, out.last()) } else { None };
        fits = sparing.is_some();
        let found = sparing.map(|sparing| process(profile, height, sparing, threads, repeat)).transpose()?;
        let rows = match (&found, &out[..]) {
            (Some(found), _) => found.rows,
            // Two subtrees, plus the rows that the previous step added beyond its two subtrees.
            (None, [.., before, last]) => 2 * last.rows + last.rows.saturating_sub(2 * before.rows),
            (None, [last]) => 2 * last.rows,
            (None, []) => continue,
        };
        let degree_bits = rows.next_power_of_two().ilog2() as usize;
        let took = match (&found, out.iter().rfind(|row| !row.sparing)) {
            (Some(found), _) => Took { seconds: found.seconds, processor_seconds: found.processor_seconds },
            (None, Some(last)) => {
                let times = f64::from(1u32 << (degree_bits - last.degree_bits));
                Took { seconds: last.seconds * times, processor_seconds: last.processor_seconds * times }
            }
            (None, None) => continue,
        };
        let size = 1usize << height;
        out.push(Row {
            kernel: KERNEL,
            r#impl: "monolithic",
            profile: profile.name(),
            height,
            size,
            threads,
            rows,
            degree_bits,
            seconds: took.seconds,
            processor_seconds: took.processor_seconds,
            ms_per_leaf: took.seconds * 1e3 / size as f64,
            peak_bytes: found.as_ref().map(|f| f.peak_bytes),
            sparing: sparing.unwrap_or(false),
            extrapolated: found.is_none(),
            ratio: took.seconds / update.seconds,
            processor_ratio: took.processor_seconds / update.processor_seconds,
        });
    }
    Ok(out)
}

/// Chooses how to prove the circuit of a height in free memory: keeping extensions (`Some(false)`), sparing
/// (`Some(true)`) or not at all (`None`). The estimate doubles the peak of the height below, which has half the rows.
fn way(height: u8, below: Option<&Row>) -> Option<bool> {
    let needed = |sparing: bool, bytes_a_row: u64| {
        let peak = below.filter(|row| row.sparing == sparing).and_then(|row| row.peak_bytes);
        peak.map_or(bytes_a_row << (15 + height), |peak| 2 * peak)
    };
    let (needed, free) = ([needed(false, BYTES_A_ROW), needed(true, SPARING_BYTES_A_ROW)], memory::available());
    let fits = needed.iter().position(|bytes| free == 0 || *bytes < free);
    if fits.is_none() {
        let [needed, free] = [needed[1], free].map(|bytes| bytes >> 20);
        eprintln!("one circuit for height {height}: about {needed} MiB, of which {free} are free: computed");
    }
    fits.map(|way| way == 1)
}

/// Runs [`measure`] in a separate process.
fn process(profile: Profile, height: u8, sparing: bool, threads: usize, repeat: usize) -> anyhow::Result<Measured> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([KERNEL, "--profile", profile.name(), "--monolithic", &height.to_string()]);
    command.args(["--threads", &threads.to_string(), "--repeat", &repeat.to_string()]);
    if sparing {
        command.arg("--sparing");
    }
    command.stderr(std::process::Stdio::inherit());
    let output = command.output()?;
    ensure!(output.status.success(), "one circuit for height {height} ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("the measurement of one circuit")
}

impl Row {
    pub(super) fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let how = match (self.extrapolated, self.sparing) {
            (true, _) => "extrapolated",
            (false, true) => "measured, extensions not kept",
            (false, false) => "measured",
        };
        println!(
            "one circuit for {} leaves: {} rows of 2^{}, {:.2} s ({how}), {:.1} times our update",
            self.size, self.rows, self.degree_bits, self.seconds, self.ratio
        );
        Ok(())
    }
}
