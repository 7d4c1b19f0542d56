//! One circuit for a whole tree (section 5.3 of the paper): a change of a leaf proves it anew.

use std::process::Command;

use anyhow::{Context, ensure};
use evergrove_apps::digest_translation::Monolithic;
use evergrove_proof::Profile;
use evergrove_recursion::circuit::circuit_config;
use serde::{Deserialize, Serialize};

use super::{KERNEL, median, value};
use crate::memory;
use crate::reckle::timed;

/// Heights of the rows.
const HEIGHTS: core::ops::RangeInclusive<u8> = 2..=7;

/// What a process of its own measures.
#[derive(Serialize, Deserialize)]
struct Measured {
    rows: usize,
    seconds: f64,
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
    ms_per_leaf: f64,
    /// Of the process, where it was measured.
    peak_bytes: Option<u64>,
    extrapolated: bool,
    /// Its seconds for each second of our update.
    ratio: f64,
}

/// Measures the circuit of a height, and prints it for the process that has asked.
pub(super) fn measure(profile: Profile, height: u8, repeat: usize) -> anyhow::Result<()> {
    let circuit = Monolithic::new(circuit_config(&profile.recursion()), height);
    let values: Vec<_> = (0..1 << height).map(value).collect();
    // The first proof records the order of witness generation.
    circuit.prove(&values)?;
    let times: anyhow::Result<Vec<f64>> = (0..repeat.max(1)).map(|_| Ok(timed(|| circuit.prove(&values))?.1)).collect();
    let seconds = median(times?).context("a proof")?;
    let measured = Measured { rows: circuit.rows(), seconds, peak_bytes: memory::resident().1 };
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}

/// The rows up to height 7: those above `measured` are computed, time in proportion to the padded rows.
pub(super) fn rows(
    profile: Profile,
    measured: u8,
    threads: usize,
    repeat: usize,
    update_seconds: f64,
) -> anyhow::Result<Vec<Row>> {
    let mut out: Vec<Row> = Vec::new();
    for height in HEIGHTS.filter(|_| measured >= *HEIGHTS.start()) {
        let found = match height <= measured {
            true => Some(process(profile, height, threads, repeat)?),
            false => None,
        };
        let rows = match (&found, &out[..]) {
            (Some(found), _) => found.rows,
            // Two trees and the node above them; the node is what three heights differ by.
            (None, [.., before, last]) => 2 * last.rows + last.rows.saturating_sub(2 * before.rows),
            (None, [last]) => 2 * last.rows,
            (None, []) => continue,
        };
        let degree_bits = rows.next_power_of_two().ilog2() as usize;
        let seconds = match (&found, out.last()) {
            (Some(found), _) => found.seconds,
            (None, Some(last)) => last.seconds * f64::from(1u32 << (degree_bits - last.degree_bits)),
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
            seconds,
            ms_per_leaf: seconds * 1e3 / size as f64,
            peak_bytes: found.as_ref().map(|f| f.peak_bytes),
            extrapolated: found.is_none(),
            ratio: seconds / update_seconds,
        });
    }
    Ok(out)
}

/// [`measure`] in a process of its own.
fn process(profile: Profile, height: u8, threads: usize, repeat: usize) -> anyhow::Result<Measured> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([KERNEL, "--profile", profile.name(), "--monolithic", &height.to_string()]);
    command.args(["--threads", &threads.to_string(), "--repeat", &repeat.to_string()]);
    command.stderr(std::process::Stdio::inherit());
    let output = command.output()?;
    ensure!(output.status.success(), "one circuit for height {height} ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("the measurement of one circuit")
}

impl Row {
    pub(super) fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        let how = if self.extrapolated { "extrapolated" } else { "measured" };
        println!(
            "one circuit for {} leaves: {} rows of 2^{}, {:.2} s ({how}), {:.1} times our update",
            self.size, self.rows, self.degree_bits, self.seconds, self.ratio
        );
        Ok(())
    }
}
