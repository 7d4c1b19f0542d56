//! What every way of proving a batch is asked.

use std::time::Instant;

/// What a piece of work took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    /// Wall clock.
    pub(crate) seconds: f64,
    /// Proofs made, the last compaction or wrap included.
    pub(crate) proofs: usize,
    /// The seconds are a sum of measured times of proofs that were not all made for this batch.
    pub(crate) extrapolated: bool,
    /// Members of the batch on which it was measured.
    pub(crate) measured_batch: usize,
}

/// What a scheme costs beside time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    /// Building or loading the circuits.
    pub(crate) setup_s: f64,
    /// All serialized proving circuits.
    pub(crate) proving_key_bytes: usize,
    /// Caps and circuit digests that a verifier knows.
    pub(crate) verification_key_bytes: usize,
    /// The last proof's body.
    pub(crate) proof_bytes: usize,
}

/// A way to prove batches, with its circuits built and a copy of the vector of its own.
pub(crate) trait Scheme {
    /// The name in results.
    fn name(&self) -> &'static str;
    /// The proof of a batch from nothing, verified against commitment and leaves.
    fn aggregate(&mut self, members: &[u64]) -> anyhow::Result<Timing>;
    /// The proof of the batch last aggregated after one member's value has changed, the tree's update included.
    fn update(&mut self) -> anyhow::Result<Timing>;
    /// Verification of the last proof, the canonical digest of the members last aggregated included; and of it the SNARK,
    /// in seconds.
    fn verify(&self) -> anyhow::Result<(Timing, f64)>;
    /// The costs, of the circuits of the batch last aggregated.
    fn facts(&self) -> anyhow::Result<Facts>;
}

/// The median of some times, 0 of none.
pub(crate) fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// The result of some work, and its seconds.
pub(crate) fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let start = Instant::now();
    let out = work()?;
    Ok((out, start.elapsed().as_secs_f64()))
}

/// Median seconds of a check that succeeds, of 21.
pub(crate) fn check_time(check: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let times = (0..21).map(|_| Ok(timed(&check)?.1)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(median(&times))
}

pub(crate) fn milliseconds(seconds: f64) -> f64 {
    seconds * 1e3
}
