//! Closed forms of the multiplier's time, loads and bandwidth.

use super::params::{Aggregation, Hazards, Params};

/// Cycles of the stream: one point per cycle and pass. The paper's Table II counts these only.
pub fn stream_cycles(p: &Params) -> f64 {
    p.passes() as f64 * p.points() as f64 / f64::from(p.parallel_points)
}

/// Products a second as in Table III: the stream, and one pipeline.
pub fn table3_throughput(p: &Params) -> f64 {
    p.frequency_mhz as f64 * 1e6 / (stream_cycles(p) + p.padd_latency as f64)
}

/// Cycles from the first point to the sum, as the machine counts them.
///
/// A pass takes its points and a pipeline. The time of a point is the longest of a cycle, its bytes through memory or
/// links, and its conflicts ([`point_cycles`]). With one running sum, a window of M buckets takes M latencies or 2 M
/// slots. With S segments it takes M/S latencies or 2 M additions, then S latencies for the sum over segments,
/// log2(M/S) for the weight of that sum and log2 S for the tree. The result takes a latency for each bit of the scalar
/// and each window. If aggregation is overlapped, a pass takes the longest of three times: its stream, the slots of its
/// points and of the previous aggregation, and the cycles of that aggregation alone.
///
/// With `merge_queue` the result is an upper bound: the time without merging.
pub fn cycles(p: &Params) -> f64 {
    if p.aggregation == Aggregation::Free && p.hazards == Hazards::Ignored {
        return stream_cycles(p);
    }
    let schedule = p.schedule();
    let result = if p.aggregation == Aggregation::Free { 0.0 } else { result_cycles(p) };
    let latency = p.padd_latency as f64;
    let longest =
        |pass: &[usize], of: &dyn Fn(&Params, usize) -> f64| pass.iter().map(|w| of(p, *w)).fold(0.0, f64::max);
    let (mut sum, mut before): (f64, Option<&Vec<usize>>) = (0.0, None);
    for pass in &schedule {
        let stream = stream_of(p, pass);
        sum += latency;
        match before.filter(|_| p.aggregation == Aggregation::Overlapped) {
            Some(before) => {
                let own = longest(before, &aggregation_cycles);
                // Points use half of the slots when both compete, and the aggregation uses the others.
                let slots = points_of_group(p) + longest(before, &aggregation_slots);
                sum += stream.max(slots).max(own);
            }
            None => sum += stream,
        }
        if p.aggregation != Aggregation::Overlapped {
            sum += longest(pass, &aggregation_cycles);
        }
        before = Some(pass);
    }
    if p.aggregation == Aggregation::Overlapped {
        sum += before.map_or(0.0, |pass| longest(pass, &aggregation_cycles));
    }
    sum + result + if p.aggregation == Aggregation::Free { 0.0 } else { p.hops() as f64 }
}

/// Points of one of the groups that are classified side by side.
fn points_of_group(p: &Params) -> f64 {
    p.points() as f64 / f64::from(p.parallel_points)
}

/// Cycles of result aggregation by Horner's rule: a latency for each doubling and each addition.
fn result_cycles(p: &Params) -> f64 {
    let bits: u32 = p.windows[..p.windows.len() - 1].iter().sum();
    let additions = f64::from(bits) + p.windows.len() as f64 - 1.0 + f64::from(p.parallel_points) - 1.0;
    additions * p.padd_latency as f64 * passes_of_a_sum(p)
}

/// Passes through the adder for a sum of two sums.
fn passes_of_a_sum(p: &Params) -> f64 {
    if p.mixed_padd { 2.0 } else { 1.0 }
}

/// Weighted values of a window, and the buckets that are first added up to each of them.
fn aggregated(p: &Params, window: usize) -> (f64, f64) {
    let copies = f64::from(p.copies(window));
    (2_f64.powi(p.windows[window] as i32 - 1) / copies, copies)
}

/// Slots of the adder that the aggregation of a window takes.
fn aggregation_slots(p: &Params, window: usize) -> f64 {
    let (values, copies) = aggregated(p, window);
    (values * (copies - 1.0) + 2.0 * values) * passes_of_a_sum(p)
}

/// Cycles of the aggregation of a window that has the adder to itself.
fn aggregation_cycles(p: &Params, window: usize) -> f64 {
    let (values, copies) = aggregated(p, window);
    let times = passes_of_a_sum(p);
    let full = p.padd_latency as f64 * times;
    let merge = if copies > 1.0 { values * (copies - 1.0) * times + copies.log2() * full } else { 0.0 };
    let segments = f64::from(p.segments).min(values / 2.0);
    merge
        + match p.aggregation {
            Aggregation::Free => 0.0,
            // Each addition of a running sum waits for the one before. The two additions per value take slots.
            _ if p.aggregation == Aggregation::Serial || segments <= 1.0 => values * full.max(2.0 * times),
            _ => {
                let len = values / segments;
                (len * full).max(2.0 * values * times) + (segments + len.log2() + 2.0) * full
            }
        }
}

/// Cycles of the stream of a pass, without its last pipeline.
fn stream_of(p: &Params, windows: &[usize]) -> f64 {
    let (points, interval) = (points_of_group(p), p.point_interval().max(1.0));
    let all = point_cycles(p, windows);
    if p.hazards != Hazards::Queue || all <= interval {
        return points * all;
    }
    // When the last point has arrived, the points in the queue leave bucket by bucket.
    let share = |w: &usize| Digits::new(p, *w).most();
    let most = windows.iter().map(share).fold(0.0, f64::max);
    let waiting = (f64::from(p.conflict_queue) * most).min(points * most) * p.padd_latency as f64;
    points * all + waiting * (1.0 - interval / all)
}

/// How often digits name each bucket: classes of (number of buckets, probability of each).
struct Digits([(f64, f64); 2]);

impl Digits {
    /// For random scalars. If the scalar fills a window, digits including the carry are uniform: each of the 2^(w-1)
    /// magnitudes has two signs, except the greatest. The top window has only the last t bits of the scalar and a
    /// carry: 2^t magnitudes with one sign.
    fn new(p: &Params, window: usize) -> Self {
        let (w, copies) = (p.windows[window], f64::from(p.copies(window)));
        let classes = match p.significant(window) {
            None => [(0.0, 0.0); 2],
            Some(bits) if bits == w => {
                let least = 2_f64.powi(-(w as i32));
                [(2_f64.powi(w as i32 - 1) - 1.0, 2.0 * least), (1.0, least)]
            }
            Some(bits) => {
                let values = 2_f64.powi(bits as i32);
                [(values - 1.0, values.recip()), (1.0, carry(p, window) / values)]
            }
        };
        Self(classes.map(|(buckets, share)| (buckets * copies, share / copies)))
    }
    fn classes(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.0.iter().copied().filter(|(buckets, share)| *buckets > 0.0 && *share > 0.0)
    }
    /// The share of the points in the most popular bucket.
    fn most(&self) -> f64 {
        self.classes().map(|(_, share)| share).fold(0.0, f64::max)
    }
    /// The probability that two points have the same bucket.
    fn meet(&self) -> f64 {
        self.classes().map(|(buckets, share)| buckets * share * share).sum()
    }
    /// Mean and variance of the number of waiting points, if each bucket takes one point in `latency` cycles and points
    /// arrive at `rate` per cycle: queues with a constant service time (Pollaczek-Khinchine formula).
    fn waiting(&self, rate: f64, latency: f64) -> (f64, f64) {
        self.classes().fold((0.0, 0.0), |(mean, variance), (buckets, share)| {
            let busy = rate * share * latency;
            let one = busy * busy / (2.0 * (1.0 - busy));
            (mean + buckets * one, variance + buckets * (one + one * one))
        })
    }
}

/// The probability of a carry into a window.
fn carry(p: &Params, window: usize) -> f64 {
    p.windows[..window].iter().fold(0.0, |carry, w| {
        // The values above half of the range produce a carry; so does half itself with a carry from below.
        (2_f64.powi(*w as i32 - 1) - 1.0 + carry) / 2_f64.powi(*w as i32)
    })
}

/// Mean cycles between two points of a pass over these windows, including conflicts of buckets: an estimate for random
/// scalars.
///
/// With [`Hazards::Stall`] a point waits for the last earlier point with the same bucket. With [`Hazards::Queue`]
/// points arrive at the greatest rate at which all queues, with normally distributed lengths, have room half of the
/// time. Near that rate the queues are sometimes full.
pub fn point_cycles(p: &Params, windows: &[usize]) -> f64 {
    let (latency, interval) = (p.padd_latency as f64, p.point_interval().max(1.0));
    // Kinds of windows, with the number of windows of each kind.
    let mut digits: Vec<(Digits, i32)> = Vec::new();
    let kind = |w: usize| (p.windows[w], p.significant(w));
    let mut last = None;
    for window in windows {
        match digits.last_mut().filter(|_| last == Some(kind(*window))) {
            Some((_, count)) => *count += 1,
            None => digits.push((Digits::new(p, *window), 1)),
        }
        last = Some(kind(*window));
    }
    match p.hazards {
        Hazards::Ignored => interval,
        Hazards::Stall => {
            let meet = 1.0 - digits.iter().map(|(d, count)| (1.0 - d.meet()).powi(*count)).product::<f64>();
            // If point n - j is the last one with the same bucket, point n waits for the rest of its latency.
            let gap = |mean: f64| {
                let (mut sum, mut apart, mut j) = (0.0, 1.0, 0.0);
                while latency - j * mean > interval && apart > 1e-9 {
                    sum += apart * meet * (latency - j * mean);
                    (apart, j) = (apart * (1.0 - meet), j + 1.0);
                }
                sum + apart * interval
            };
            bisect(interval, latency.max(interval), |mean| gap(mean) > mean)
        }
        Hazards::Queue => {
            let room = f64::from(p.conflict_queue) + 0.6;
            let most = digits.iter().map(|(d, _)| d.most()).fold(0.0, f64::max);
            if most == 0.0 {
                return interval;
            }
            let greatest = 1.0 / (latency * most);
            let fits = |rate: f64| {
                let all: f64 = digits
                    .iter()
                    .map(|(d, count)| {
                        let (mean, variance) = d.waiting(rate, latency);
                        // The normal distribution, approximated by the logistic one.
                        let above = (-1.702 * (room - mean) / variance.sqrt().max(f64::MIN_POSITIVE)).exp();
                        (1.0 + above).recip().powi(*count)
                    })
                    .product();
                all > 0.5
            };
            let rate = bisect(0.0, greatest, fits);
            let power = 1.5 + f64::from(p.conflict_queue).sqrt();
            let share = 1.0 / (rate * interval);
            // Above this share, the root of the sum of powers is close to the share itself.
            if share > 8.0 { share * interval } else { interval * (1.0 + share.powf(power)).powf(power.recip()) }
        }
    }
}

/// The end of the interval from `low` in which a condition holds, by bisection.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The windows of each pass; see [`Params::schedule`].
pub(super) fn schedule(p: &Params) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..p.windows.len()).collect();
    order.sort_by_key(|w| std::cmp::Reverse(p.windows[*w]));
    let width = p.width().min(order.len());
    let even = |count: usize| order.chunks(count).map(<[usize]>::to_vec).collect::<Vec<_>>();
    if width == order.len() || width == 1 || (p.hazards == Hazards::Ignored && p.aggregation == Aggregation::Free) {
        return even(width);
    }
    // For each count of leading windows: the least time, and the number of windows of the last pass.
    let mut least: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=order.len() {
        let pass = |count: usize| {
            let windows = &order[end - count..end];
            let aggregation = windows.iter().map(|w| aggregation_cycles(p, *w)).fold(0.0, f64::max);
            least[end - count].0 + stream_of(p, windows) + p.padd_latency as f64 + aggregation
        };
        let best = (1..=width.min(end)).rev().map(|count| (pass(count), count));
        least.push(best.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a }));
    }
    let mut passes = Vec::new();
    let mut end = order.len();
    while end > 0 {
        let start = end - least[end].1;
        passes.push(order[start..end].to_vec());
        end = start;
    }
    passes.reverse();
    passes
}

/// GB/s that one point per cycle and group needs.
pub fn bandwidth_gb_s(p: &Params) -> f64 {
    (p.point_bytes + p.scalar_bytes) as f64 * f64::from(p.parallel_points) * p.frequency_mhz as f64 / 1e3
}

/// How often each point is loaded (Fig. 4 of the paper).
pub fn loads_per_point(p: &Params) -> u64 {
    p.passes()
}

/// The share of points whose bucket is in the adder, for random digits: at most L of the 2^(w-1) buckets are in an
/// adder of L stages.
pub fn conflict_share(p: &Params, window: u32) -> f64 {
    p.padd_latency as f64 / 2_f64.powi(window as i32 - 1)
}
