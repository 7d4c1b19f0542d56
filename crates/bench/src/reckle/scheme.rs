//! The interface of all schemes for proving a batch.

use crate::turns::median;
use std::time::Instant;

/// The costs of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    /// Wall clock.
    pub(crate) seconds: f64,
    /// Proofs made, including the last compaction or wrap.
    pub(crate) proofs: usize,
    /// The seconds are a sum of measured times, and not all of the proofs were made for this batch.
    pub(crate) extrapolated: bool,
    /// Members of the measured batch.
    pub(crate) measured_batch: usize,
}

/// The costs of a scheme other than time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    /// Time to build or load the circuits.
    pub(crate) setup_s: f64,
    /// All serialized proving circuits.
    pub(crate) proving_key_bytes: usize,
    /// Caps and circuit digests that a verifier needs.
    pub(crate) verification_key_bytes: usize,
    /// The last proof's body.
    pub(crate) proof_bytes: usize,
}

/// A scheme for proving batches, with its circuits and its own copy of the vector.
pub(crate) trait Scheme {
    /// The name in results.
    fn name(&self) -> &'static str;
    /// Proves a batch from scratch, and verifies the proof against commitment and leaves.
    fn aggregate(&mut self, members: &[u64]) -> anyhow::Result<Timing>;
    /// Refreshes the proof of the batch last aggregated after a change of one member's value. The time includes the
    /// update of the vector's tree.
    fn update(&mut self) -> anyhow::Result<Timing>;
    /// Verifies the last proof, including the canonical digest of the members last aggregated. The second value is the
    /// part of the SNARK, in seconds.
    fn verify(&self) -> anyhow::Result<(Timing, f64)>;
    /// The costs of the circuits of the batch last aggregated.
    fn facts(&self) -> anyhow::Result<Facts>;
}

/// Returns the result of `work` and its seconds.
pub(crate) fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let start = Instant::now();
    let out = work()?;
    Ok((out, start.elapsed().as_secs_f64()))
}

/// Median seconds of 21 runs of a check, which must succeed.
pub(crate) fn check_time(check: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let times = (0..21).map(|_| Ok(timed(&check)?.1)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(median(times))
}

pub(crate) fn milliseconds(seconds: f64) -> f64 {
    seconds * 1e3
}
