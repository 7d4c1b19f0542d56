//! Closed forms of the multiplier's time, loads and bandwidth.

use super::params::{Aggregation, Params};

/// Cycles of the stream: one point a cycle and pass. All that the paper counts in Table II.
pub fn stream_cycles(p: &Params) -> f64 {
    p.passes() as f64 * p.points() as f64 / f64::from(p.parallel_points)
}

/// Products a second by Table III: the stream of one pass and one pipeline.
pub fn table3_throughput(p: &Params) -> f64 {
    p.frequency_mhz as f64 * 1e6 / (stream_cycles(p) + p.padd_latency as f64)
}

/// Cycles from the first point to the sum, as the machine counts them; without conflicts, which cost little with a queue.
///
/// A pass takes its points, or its bytes, and a pipeline. A window of M buckets takes M latencies by one running sum; by S of
/// them M/S latencies or 2 M additions, then S latencies for the sum over segments, log2(M/S) for their weight and log2 S for
/// the tree. The result takes a latency for each bit of the scalar and each window.
pub fn cycles(p: &Params) -> f64 {
    let latency = p.padd_latency as f64;
    let pass = p.points() as f64 / f64::from(p.parallel_points) * p.point_interval().max(1.0) + latency;
    let times = if p.mixed_padd { 2.0 } else { 1.0 };
    let full = latency * times;
    let window = |w: u32| -> f64 {
        let buckets = 2_f64.powi(w as i32 - 1);
        let segments = f64::from(p.segments).min(buckets / 2.0);
        match p.aggregation {
            Aggregation::Free => 0.0,
            Aggregation::Serial => buckets * full,
            Aggregation::Segmented | Aggregation::Overlapped => {
                let len = buckets / segments;
                (len * full).max(2.0 * buckets * times) + (segments + len.log2() + 2.0) * full
            }
        }
    };
    let by_pass = p.windows.chunks(p.width()).map(|ws| ws.iter().map(|w| window(*w)).fold(0.0, f64::max));
    let bits: u32 = p.windows[..p.windows.len() - 1].iter().sum();
    let result = (f64::from(bits) + p.windows.len() as f64 - 1.0 + f64::from(p.parallel_points) - 1.0) * full;
    p.passes() as f64 * pass + by_pass.sum::<f64>() + result
}

/// Bytes a second that one point a cycle and group needs.
pub fn bandwidth_gb_s(p: &Params) -> f64 {
    (p.point_bytes + p.scalar_bytes) as f64 * f64::from(p.parallel_points) * p.frequency_mhz as f64 / 1e3
}

/// How often a point is loaded: Fig. 4.
pub fn loads_per_point(p: &Params) -> u64 {
    p.passes()
}

/// The share of points that meet their bucket in the adder, for random digits: L of 2^(w-1) buckets are in it.
pub fn conflict_share(p: &Params, window: u32) -> f64 {
    p.padd_latency as f64 / 2_f64.powi(window as i32 - 1)
}
