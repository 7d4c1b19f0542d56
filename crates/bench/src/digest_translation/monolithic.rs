//! One circuit for a whole tree (section 5.3 of the paper): a change of a leaf proves it anew.

use std::process::Command;

use anyhow::{Context, ensure};
use evergrove_recursion::apps::digest_translation::Monolithic;
use evergrove_recursion::circuit::{circuit_config, params_of};
use evergrove_verifier::Profile;
use serde::{Deserialize, Serialize};

use super::{KERNEL, value};
use crate::memory::{self, Took};
use crate::turns::print_json;

/// Heights of the rows.
const HEIGHTS: core::ops::RangeInclusive<u8> = 2..=7;

/// Bytes that building and proving a circuit takes for each of its padded rows, until one has been measured.
const BYTES_A_ROW: u64 = 36 << 10;
/// The same for a proof that keeps no extensions: what the building takes.
const SPARING_BYTES_A_ROW: u64 = 22 << 10;

/// What a process of its own measures.
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
    /// One proof of all leaves: what an update takes.
    seconds: f64,
    processor_seconds: f64,
    ms_per_leaf: f64,
    /// Of the process, where it was measured.
    peak_bytes: Option<u64>,
    /// Proven without keeping extensions, where free memory asks for it.
    sparing: bool,
    extrapolated: bool,
    /// Its seconds for each second of our update.
    ratio: f64,
    /// The same of processor time, which a busy machine changes less.
    processor_ratio: f64,
}

/// Measures the circuit of a height, and prints it for the process that has asked.
pub(super) fn measure(profile: Profile, height: u8, sparing: bool, repeat: usize) -> anyhow::Result<()> {
    let circuit = Monolithic::new(circuit_config(&params_of(profile)?), height);
    let circuit = if sparing { circuit.sparing() } else { circuit };
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

/// The rows up to height 7: those above `measured`, and from the first that free memory does not suffice for, are computed, time
/// in proportion to the padded rows of the last that kept its extensions.
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
            // Two trees and the node above them; the node is what three heights differ by.
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

/// How the circuit of a height can be proven in free memory, judged by the peak of the one below, which has half as many rows:
/// sparing or not, or not at all.
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

/// [`measure`] in a process of its own.
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
