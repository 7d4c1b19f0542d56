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
/// and each window. If aggregation is overlapped, the points of a pass and the aggregation of the one before share the
/// slots of the adder.
///
/// With `merge_queue` the result is an upper bound: the time without merging.
pub fn cycles(p: &Params) -> f64 {
    if p.aggregation == Aggregation::Free && p.hazards == Hazards::Ignored {
        return stream_cycles(p);
    }
    let (mut sum, mut before): (f64, Option<Pass>) = (0.0, None);
    for windows in p.schedule() {
        let pass = Pass::new(p, &windows);
        sum += pass.cycles(p, before.as_ref());
        before = Some(pass);
    }
    sum += before.map_or(0.0, |last| last.rest(p));
    if p.aggregation == Aggregation::Free { sum } else { sum + result_cycles(p) + p.hops() as f64 }
}

/// A pass that has the adders to itself.
struct Pass {
    /// Cycles of its points, without the last pipeline.
    stream: f64,
    /// Cycles of its aggregation.
    aggregation: f64,
    /// Slots of the adder that its aggregation takes.
    slots: f64,
}

impl Pass {
    fn new(p: &Params, windows: &[usize]) -> Self {
        let longest = |of: fn(&Params, usize) -> f64| windows.iter().map(|w| of(p, *w)).fold(0.0, f64::max);
        Self {
            stream: stream_of(p, windows),
            aggregation: longest(aggregation_cycles),
            slots: longest(aggregation_slots),
        }
    }
    /// Cycles after the pass before. If the aggregation is overlapped, that of the pass before takes place meanwhile.
    fn cycles(&self, p: &Params, before: Option<&Self>) -> f64 {
        let latency = p.padd_latency as f64;
        if p.aggregation != Aggregation::Overlapped {
            return self.stream + latency + self.aggregation;
        }
        before.map_or(self.stream, |before| self.beside(p, before)) + latency
    }
    /// Cycles of the points beside the aggregation of the pass before. Where both want more than all slots, they take
    /// turns: a point, then an addition with its passes.
    fn beside(&self, p: &Params, before: &Self) -> f64 {
        let (points, times) = (points_of_group(p), passes_of_a_sum(p));
        let (alone, additions) = (self.stream / points, before.slots / times);
        // Additions a cycle of the aggregation if it has the adder to itself.
        let most = additions / before.aggregation;
        let (point, rate) = if most * (1.0 + times) <= 1.0 {
            (alone.max(1.0 / (1.0 - most * times)), most)
        } else {
            let point = alone.max(1.0 + times);
            (point, most.min((1.0 - 1.0 / point) / times))
        };
        // The one that lasts longer has the adder to itself at the end.
        let (both, all) = (additions / rate, points * point);
        if both < all { both + (points - both / point) * alone } else { all + (additions - all * rate) / most }
    }
    /// Cycles of an overlapped aggregation after the last pass, where nothing is beside it.
    fn rest(&self, p: &Params) -> f64 {
        if p.aggregation == Aggregation::Overlapped { self.aggregation } else { 0.0 }
    }
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
    /// arrive at `rate` per cycle.
    ///
    /// Each bucket is a queue with a constant time of service (Pollaczek-Khinchine formula). The queue of a PE is finite,
    /// so the points that wait for one bucket leave fewer places to those of the others. A bucket with the share s of the
    /// nonzero digits therefore has 1 - s of the length of an open queue: the closed network of queues. The length is an
    /// integer, which adds a variance of 1/12.
    fn waiting(&self, rate: f64, latency: f64) -> (f64, f64) {
        let all: f64 = self.classes().map(|(buckets, share)| buckets * share).sum();
        self.classes().fold((0.0, 1.0 / 12.0), |(mean, variance), (buckets, share)| {
            let (busy, others) = (rate * share * latency, 1.0 - share / all);
            let one = busy * busy / (2.0 * (1.0 - busy));
            (mean + buckets * one * others, variance + buckets * (one + one * one) * others * others)
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
pub fn point_cycles(p: &Params, windows: &[usize]) -> f64 {
    let interval = p.point_interval().max(1.0);
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
            // Points that the memory has brought during a stall follow without a gap.
            1.0 + longer(interval - 1.0, stalled_cycles(meet, p.padd_latency) - 1.0, 8.0)
        }
        Hazards::Queue => queued_cycles(p, &digits, interval),
    }
}

/// Cycles between two points of which a share `meet` has the same bucket, if a point waits for the last earlier point
/// with its bucket, and comes in the next cycle otherwise.
///
/// A gap of more than s cycles has a probability of 1 - G(L - s): G(t) is the mean of (1 - `meet`)^N over the number N
/// of points in the last t cycles. With independent gaps G follows from their distribution (renewal equation). Repeated
/// turns find both, on a grid of at most 64 steps.
fn stalled_cycles(meet: f64, latency: u64) -> f64 {
    let steps = latency.min(64) as usize;
    let step = latency as f64 / steps as f64;
    let mut none: Vec<f64> = (0..=steps).map(|t| (1.0 - meet).powf(t as f64 * step)).collect();
    for _ in 0..6 {
        let more = |s: usize| if s == 0 { 1.0 } else { 1.0 - none[steps - s] };
        let gap: Vec<f64> = (0..=steps).map(|s| if s == 0 { 0.0 } else { more(s - 1) - more(s) }).collect();
        let mut next = vec![1.0];
        for t in 1..=steps {
            let later: f64 = (1..t).map(|s| gap[s] * next[t - s]).sum();
            next.push((1.0 - meet) * (more(t - 1) + later));
        }
        // Part of the last turn damps the oscillation.
        none = none.iter().zip(&next).map(|(last, next)| 0.3 * last + 0.7 * next).collect();
    }
    1.0 + step * none[1..steps].iter().map(|none| 1.0 - none).sum::<f64>()
}

/// Cycles between two points if points of busy buckets wait in a queue of each PE.
///
/// Conflicts allow the greatest rate at which all queues, with normally distributed lengths, have room half of the time.
/// Near that rate the queues are sometimes full. A point a cycle leaves no slot to the queue, which makes this more
/// frequent.
fn queued_cycles(p: &Params, digits: &[(Digits, i32)], interval: f64) -> f64 {
    let latency = p.padd_latency as f64;
    let room = f64::from(p.conflict_queue) + 0.6;
    let most = digits.iter().map(|(d, _)| d.most()).fold(0.0, f64::max);
    if most == 0.0 {
        return interval;
    }
    let fits = |rate: f64| {
        let all: f64 = digits
            .iter()
            .map(|(d, count)| {
                let (mean, variance) = d.waiting(rate, latency);
                // The normal distribution, approximated by the logistic one.
                let above = (-1.702 * (room - mean) / variance.sqrt()).exp();
                (1.0 + above).recip().powi(*count)
            })
            .product();
        all > 0.5
    };
    let rate = bisect(0.0, 1.0 / (latency * most), fits);
    let (root, free) = (f64::from(p.conflict_queue).sqrt(), (2.0 * (interval - 1.0)).min(1.0));
    longer(interval, rate.recip(), 1.2 + root + free * (0.8 + 5.0 * root))
}

/// The longer time, or somewhat more if both are alike: the root of the sum of powers.
fn longer(a: f64, b: f64, power: f64) -> f64 {
    let (most, least) = (a.max(b), a.min(b));
    if least == 0.0 { most } else { most * (1.0 + (least / most).powf(power)).powf(power.recip()) }
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
    if width == 1 || (p.hazards == Hazards::Ignored && p.aggregation == Aggregation::Free) {
        return even(width);
    }
    // For each count of leading windows and each size of their last pass: the pass, the least time up to its end, and
    // the size of the pass before. The overlapped aggregation of a pass takes time in the next one.
    let mut least: Vec<Vec<(Pass, f64, usize)>> = vec![Vec::new()];
    for end in 1..=order.len() {
        let ends = (1..=width.min(end)).map(|count| {
            let pass = Pass::new(p, &order[end - count..end]);
            let all = least[end - count].iter().enumerate();
            let after = all.map(|(i, (before, time, _))| (time + pass.cycles(p, Some(before)), i + 1));
            let first = (count == end).then(|| (pass.cycles(p, None), 0));
            let (time, before) = least_of(after.chain(first));
            (pass, time, before)
        });
        least.push(ends.collect());
    }
    let mut passes = Vec::new();
    let mut end = order.len();
    let (_, mut count) =
        least_of(least[end].iter().enumerate().map(|(i, (last, time, _))| (time + last.rest(p), i + 1)));
    while end > 0 {
        passes.push(order[end - count..end].to_vec());
        (end, count) = (end - count, least[end][count - 1].2);
    }
    passes.reverse();
    passes
}

/// The least time, and the greatest of the numbers beside it.
fn least_of(all: impl Iterator<Item = (f64, usize)>) -> (f64, usize) {
    all.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 || (b.0 == a.0 && b.1 > a.1) { b } else { a })
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
