//! The machine: classification pass by pass, and aggregation.

use std::collections::VecDeque;

use serde::Serialize;

use super::aggregation::{Adder, Graph};
use super::digits::{Digits, Scalar};
use super::group::Group;
use super::params::{Aggregation, Hazards, Params};
use crate::engine::dram::Timing;
use crate::engine::trace::Trace;
use crate::engine::{Activity, Memory, Stall, Stream, TokenBucket};

/// The measurements of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Cycles from the first point to the sum.
    pub cycles: u64,
    /// Seconds from the first point to the sum.
    pub seconds: f64,
    /// Cycles in which a point entered, which are those that the paper counts.
    pub stream: u64,
    /// Cycles of classification: the stream, stalls, and draining the adders and queues.
    pub classification: u64,
    /// Cycles of bucket aggregation that do not overlap classification.
    pub bucket_aggregation: u64,
    /// Cycles of result aggregation.
    pub result_aggregation: u64,
    /// Number of point additions.
    pub additions: u64,
    /// Points whose bucket was in the adder when they arrived.
    pub conflicts: u64,
    /// The most points in a conflict queue.
    pub queue_peak: usize,
    /// Bytes read from memory.
    pub bytes: u64,
    /// Busy and stalled cycles of the stream.
    pub stream_activity: Activity,
}

/// A report with the sum of all products.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<P> {
    /// The measurements.
    pub report: Report,
    /// The sum.
    pub sum: P,
}

/// An entry of a PE's adder.
#[derive(Clone)]
enum Job<P> {
    /// A bucket, and its sum with one more point.
    Bucket(u32, P),
    /// A bucket, and the sum of two points that wait for it. The sum returns to the queue.
    Merge(u32, P),
    /// A value of the aggregation.
    Sum(u32, P),
}

/// A point, or a sum of points, that waits for its bucket.
#[derive(Clone)]
struct Waiting<P> {
    bucket: u32,
    point: P,
    /// Whether `point` is a sum. A mixed adder needs two passes to add it.
    sum: bool,
}

/// A PE during a pass.
struct Element<P> {
    window: usize,
    /// The PE's row in the trace.
    track: usize,
    buckets: Vec<P>,
    busy: Vec<bool>,
    /// Buckets per digit; the points of a group take turns among them.
    copies: u32,
    /// Groups of points, which are classified side by side.
    groups: u32,
    adder: Adder<Job<P>>,
    queue: VecDeque<Waiting<P>>,
    /// Places in the queue that are reserved for sums in the adder.
    merging: usize,
    /// The overlapped aggregation of the previous pass, and its last value.
    graph: Option<(Graph<P>, u32)>,
    peak: usize,
}

/// What a PE does with a point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The digit is 0.
    Nothing,
    Add,
    /// Add to the point at this index of the queue.
    Merge(usize),
    Wait,
    Refuse,
}

impl<P: Clone> Element<P> {
    fn new(window: usize, track: usize, identity: &P, p: &Params) -> Self {
        let buckets = 1_usize << (p.windows[window] - 1);
        Self {
            window,
            track,
            buckets: vec![identity.clone(); buckets],
            busy: vec![false; buckets],
            copies: p.copies(window),
            groups: p.parallel_points,
            adder: Adder::new(p.padd_latency),
            queue: VecDeque::new(),
            merging: 0,
            graph: None,
            peak: 0,
        }
    }
    /// The bucket of a nonzero digit for point `index`.
    #[inline]
    fn bucket(&self, digit: i32, index: usize) -> u32 {
        let digit = digit.unsigned_abs() - 1;
        if self.copies == 1 {
            return digit;
        }
        let turn = index as u32 / self.groups;
        digit * self.copies + (turn & (self.copies - 1))
    }
    /// What happens to a point; `free` says whether the point may have the adder's slot.
    #[inline]
    fn fate(&self, digit: i32, index: usize, free: bool, p: &Params) -> Fate {
        if digit == 0 {
            return Fate::Nothing;
        }
        let bucket = self.bucket(digit, index);
        if free && (p.hazards == Hazards::Ignored || !self.busy[bucket as usize]) {
            return Fate::Add;
        }
        if p.hazards != Hazards::Queue {
            return Fate::Refuse;
        }
        if free
            && p.merge_queue
            && let Some(place) = self.queue.iter().position(|waiting| waiting.bucket == bucket)
        {
            return Fate::Merge(place);
        }
        if self.queue.len() + self.merging < p.conflict_queue as usize { Fate::Wait } else { Fate::Refuse }
    }
    #[inline]
    fn add<G: Group<Point = P>>(&mut self, cycle: u64, bucket: u32, point: &P, passes: u64, group: &G) {
        self.busy[bucket as usize] = true;
        let sum = group.add(&self.buckets[bucket as usize], point);
        self.adder.push(cycle, Job::Bucket(bucket, sum), passes);
    }
    /// Starts the addition of two points of the same bucket. Their sum returns to the queue.
    fn merge<G: Group<Point = P>>(&mut self, cycle: u64, a: &Waiting<P>, b: &Waiting<P>, passes: u64, group: &G) {
        let passes = if a.sum && b.sum { passes } else { 1 };
        self.merging += 1;
        self.adder.push(cycle, Job::Merge(a.bucket, group.add(&a.point, &b.point)), passes);
    }
    /// Stores the result that leaves the adder in this cycle. Returns whether one left.
    #[inline]
    fn collect(&mut self, cycle: u64) -> bool {
        match self.adder.pop(cycle) {
            None => return false,
            Some(Job::Bucket(bucket, sum)) => {
                self.buckets[bucket as usize] = sum;
                self.busy[bucket as usize] = false;
            }
            Some(Job::Merge(bucket, point)) => {
                self.merging -= 1;
                self.queue.push_front(Waiting { bucket, point, sum: true });
            }
            Some(Job::Sum(value, point)) => {
                if let Some((graph, _)) = &mut self.graph {
                    graph.finish(value, point);
                }
            }
        }
        true
    }
    /// Whether the overlapped aggregation has a ready addition.
    #[inline]
    fn aggregates(&self) -> bool {
        self.graph.as_ref().is_some_and(|(graph, _)| graph.has_ready())
    }
    fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.adder.is_empty() && self.graph.as_ref().is_none_or(|(graph, _)| graph.is_done())
    }
}

/// The sources of a stream's points and scalars, and the link that passes points to the next chiplet.
struct Supply {
    points: Option<(Memory, u64)>,
    scalars: Option<(TokenBucket, u64)>,
    hop: Option<(TokenBucket, u64)>,
}

impl Supply {
    fn new(p: &Params) -> Self {
        let (load, streams) = (p.load_bytes(), p.streams());
        let frequency = p.frequency_mhz * 1_000_000 * streams;
        let limit = |rate: u64, bytes| (rate > 0).then(|| TokenBucket::new(rate, 1.0, frequency, 4 * bytes));
        let points = match p.memory.timing(p.memory_modules) {
            Some(all) => {
                let timing = Timing { channels: all.channels / streams as u32, ..all };
                Some(Memory::Banks(Box::new(Stream::new(timing, p.frequency_mhz, 1, 0, 4 * load))))
            }
            None => limit(p.bandwidth_gb_s * 1_000_000_000, load).map(Memory::Bucket),
        };
        Self {
            points: points.map(|m| (m, load)),
            scalars: limit(p.scalar_link_gb_s * 1_000_000_000, p.scalar_bytes).map(|s| (s, p.scalar_bytes)),
            hop: limit(p.hop_rate(), p.point_bytes).map(|h| (h, p.point_bytes)),
        }
    }
    /// Takes a point and its scalar, or returns the reason why it cannot.
    #[inline]
    fn take(&mut self, cycle: u64) -> Option<Stall> {
        if let Some((link, bytes)) = &self.scalars
            && link.available(cycle) < *bytes
        {
            return Some(Stall::Input);
        }
        if let Some((hop, bytes)) = &self.hop
            && hop.available(cycle) < *bytes
        {
            return Some(Stall::Output);
        }
        if let Some((memory, bytes)) = &mut self.points
            && !memory.take(cycle, *bytes)
        {
            return Some(Stall::Memory);
        }
        for (link, bytes) in [&mut self.scalars, &mut self.hop].into_iter().flatten() {
            link.take(cycle, *bytes);
        }
        None
    }
    /// The first cycle after `cycle` in which one of the sources that have no point now has one.
    fn next_event(&self, cycle: u64) -> Option<u64> {
        let link = |(link, bytes): &(TokenBucket, u64)| {
            if link.available(cycle) < *bytes { link.ready_at(cycle, *bytes) } else { None }
        };
        let memory = self.points.as_ref().and_then(|(memory, bytes)| {
            if memory.available(cycle) < *bytes { memory.ready_at(cycle, *bytes) } else { None }
        });
        [self.scalars.as_ref().and_then(link), self.hop.as_ref().and_then(link), memory].into_iter().flatten().min()
    }
}

/// The first cycle from `next` on in which a result leaves an adder, if nothing enters one before.
fn next_exit<P: Clone>(elements: &[Element<P>], next: u64) -> Option<u64> {
    elements.iter().filter_map(|element| element.adder.next_exit()).min().map(|exit| exit.max(next))
}

/// The aggregation of a window: its additions, the index of its last value, and the window.
type Pending<P> = (Graph<P>, u32, usize);

/// The PEs of a pass, and its cycles.
type Pass<P> = (Vec<Element<P>>, u64);

struct Machine<'a, G: Group, S> {
    p: &'a Params,
    group: &'a G,
    /// Returns the scalar of a point.
    scalar: S,
    points: &'a [G::Point],
    report: Report,
    trace: Trace,
    /// The first cycle of the pass.
    start: u64,
    /// Whether to skip cycles in which nothing happens.
    skip: bool,
}

/// The first row in the trace of a group of points.
fn track(p: &Params, group: usize) -> usize {
    group * (p.width() + 1)
}

/// Runs the machine and records its first `events` operations.
pub(super) fn run<G: Group, S: Fn(usize) -> Scalar>(
    p: &Params,
    group: &G,
    scalar: S,
    points: &[G::Point],
    events: usize,
) -> (Outcome<G::Point>, Trace) {
    run_with(p, group, scalar, points, events, true)
}

fn run_with<G: Group, S: Fn(usize) -> Scalar>(
    p: &Params,
    group: &G,
    scalar: S,
    points: &[G::Point],
    events: usize,
    skip: bool,
) -> (Outcome<G::Point>, Trace) {
    let report = Report {
        cycles: 0,
        seconds: 0.0,
        stream: 0,
        classification: 0,
        bucket_aggregation: 0,
        result_aggregation: 0,
        additions: 0,
        conflicts: 0,
        queue_peak: 0,
        bytes: 0,
        stream_activity: Activity::default(),
    };
    // The trace has a row for the points and for each PE of every group. For independent products it has one group.
    let of_group = |group: usize| {
        let pes = (0..p.width()).map(move |pe| format!("PE {}", group * p.width() + pe));
        std::iter::once(format!("points {group}")).chain(pes)
    };
    let trace = Trace::new((0..p.parallel_points as usize).flat_map(of_group), events);
    let mut machine = Machine { p, group, scalar, points, report, trace, start: 0, skip };
    let sum = machine.run();
    let mut report = machine.report;
    report.seconds = p.seconds(report.cycles);
    (Outcome { report, sum }, machine.trace)
}

impl<G: Group, S: Fn(usize) -> Scalar> Machine<'_, G, S> {
    /// Passes through the adder for a sum of two sums.
    fn passes(&self) -> u64 {
        if self.p.mixed_padd { 2 } else { 1 }
    }

    fn run(&mut self) -> G::Point {
        let p = self.p;
        let schedule = p.schedule();
        // The aggregations of the previous pass, for each group of points.
        let mut before: Vec<Vec<Pending<G::Point>>> = vec![Vec::new(); p.parallel_points as usize];
        let mut parts: Vec<Vec<G::Point>> = vec![Vec::new(); p.windows.len()];
        for (pass, windows) in schedule.iter().enumerate() {
            self.start = self.report.classification + self.report.bucket_aggregation;
            let (mut classified, mut own) = (0, 0);
            let mut tail = 0;
            // The groups of points run side by side, each with its share of the memory.
            for (group, before) in before.iter_mut().enumerate() {
                let waiting = std::mem::take(before);
                let (mut elements, cycles) = self.classify(group, windows, waiting, &mut parts);
                classified = classified.max(cycles);
                if group == 0 {
                    own = cycles;
                }
                for element in &mut elements {
                    let graph = self.aggregate(element, &mut parts);
                    if let Some((graph, value)) = graph {
                        before.push((graph, value, element.window));
                    }
                    self.report.queue_peak = self.report.queue_peak.max(element.peak);
                }
                let last = pass + 1 == schedule.len();
                if p.aggregation != Aggregation::Overlapped || last {
                    // The PEs aggregate side by side.
                    let (mut longest, begin) = (0, self.start + classified);
                    for (pe, (mut graph, value, window)) in before.drain(..).enumerate() {
                        let (cycles, ops) = graph.run(p.padd_latency, self.passes(), self.group);
                        longest = longest.max(cycles);
                        let track = track(p, group) + 1 + pe;
                        self.trace.add(track, begin, cycles, || format!("buckets of window {window}: {ops} additions"));
                        self.report.additions += ops;
                        parts[window].extend(graph.value(value).cloned());
                    }
                    tail = tail.max(longest);
                }
            }
            self.report.stream_activity.stall(Stall::Drained, classified - own);
            self.report.classification += classified;
            self.report.bucket_aggregation += tail;
        }
        // Sums over the groups of points, then over the windows.
        let identity = self.group.identity();
        let values: Vec<G::Point> = parts.iter().flatten().cloned().collect();
        let mut graph = Graph::new(values);
        let mut next = 0;
        let mut windows = Vec::new();
        for part in &parts {
            let mut sum = next;
            for other in next + 1..next + part.len() as u32 {
                sum = graph.add(sum, other);
            }
            windows.push(sum);
            next += part.len() as u32;
        }
        if p.aggregation == Aggregation::Free {
            // The paper's count ends with the last point.
            self.report.cycles = self.report.stream;
            return identity;
        }
        let total = graph.windows(&windows, &p.windows);
        let (cycles, ops) = graph.run(p.padd_latency, self.passes(), self.group);
        let begin = self.report.classification + self.report.bucket_aggregation;
        self.trace.add(1, begin, cycles, || format!("windows: {ops} additions"));
        self.report.result_aggregation = cycles;
        self.report.additions += ops;
        self.report.cycles = self.report.classification + self.report.bucket_aggregation + cycles + p.hops();
        graph.value(total).cloned().unwrap_or(identity)
    }

    fn aggregate(
        &mut self,
        element: &mut Element<G::Point>,
        parts: &mut [Vec<G::Point>],
    ) -> Option<(Graph<G::Point>, u32)> {
        let buckets = std::mem::take(&mut element.buckets);
        if self.p.aggregation == Aggregation::Free {
            parts[element.window].push(self.group.identity());
            return None;
        }
        let len = buckets.len() as u32;
        let mut graph = Graph::new(buckets);
        let segments = if self.p.aggregation == Aggregation::Serial { 1 } else { self.p.segments as usize };
        let mut values = (0..len).collect::<Vec<_>>();
        if element.copies > 1 {
            values = graph.merge(&values, element.copies as usize);
        }
        let value = graph.buckets(&values, segments);
        Some((graph, value))
    }

    /// One pass of one group of points: its PEs, and its cycles.
    fn classify(
        &mut self,
        group: usize,
        windows: &[usize],
        before: Vec<Pending<G::Point>>,
        parts: &mut [Vec<G::Point>],
    ) -> Pass<G::Point> {
        let p = self.p;
        let (first, identity) = (group == 0, self.group.identity());
        let tracks = track(p, group) + 1..;
        let element = |(&w, track): (&usize, usize)| Element::new(w, track, &identity, p);
        let mut elements: Vec<Element<G::Point>> = windows.iter().zip(tracks).map(element).collect();
        let (mut finished, mut least) = (Vec::new(), 0);
        for (i, (mut graph, value, window)) in before.into_iter().enumerate() {
            let Some(element) = elements.get_mut(i) else {
                // This pass has fewer windows than the one before. The other PEs only aggregate.
                let (cycles, ops) = graph.run(p.padd_latency, self.passes(), self.group);
                least = least.max(cycles);
                self.trace.add(track(p, group) + 1 + i, self.start, cycles, || {
                    format!("buckets of the pass before: {ops} additions")
                });
                self.report.additions += ops;
                parts[window].extend(graph.value(value).cloned());
                continue;
            };
            element.graph = Some((graph, value));
            finished.push(window);
        }
        let (mut supply, load) = (Supply::new(p), p.load_bytes());
        let mut indices = (group..self.points.len()).step_by(p.parallel_points as usize);
        let (mut scalar, mut current) = (Digits::new(&p.windows), None);
        // Those of the windows of this pass.
        let mut digits = vec![0; p.windows.len()];
        let mut cycle = 0;
        // If points and the aggregation compete for a slot, they take turns. All PEs that share the points have the
        // same turn, so the aggregation delays a point at most every other cycle.
        let mut turn = false;
        loop {
            let mut idle = self.skip;
            for element in &mut elements {
                idle &= !element.collect(cycle);
            }
            if current.is_none() {
                current = indices.next();
                if let Some(index) = current {
                    scalar.load(&(self.scalar)(index));
                    windows.iter().for_each(|&window| digits[window] = scalar.digit(window));
                }
            }
            let Some(index) = current else {
                // Draining.
                if elements.iter().all(Element::is_drained) {
                    break;
                }
                for element in &mut elements {
                    self.retire(element, cycle);
                }
                // While the adders only wait for their results, nothing else happens.
                idle &= elements.iter().all(|element| element.adder.is_free(cycle));
                let exit = if idle { next_exit(&elements, cycle + 1) } else { None };
                let next = exit.unwrap_or(cycle + 1);
                if first {
                    self.report.stream_activity.stall(Stall::Drained, next - cycle);
                }
                cycle = next;
                continue;
            };
            let free = |e: &Element<G::Point>, turn: bool| e.adder.is_free(cycle) && !(turn && e.aggregates());
            let refused = elements.iter().any(|e| e.fate(digits[e.window], index, free(e, turn), p) == Fate::Refuse);
            // Without a queue, the second passes of two PEs could take turns and keep a point out for long.
            let held = refused
                && p.hazards == Hazards::Stall
                && elements.iter().any(|e| digits[e.window] != 0 && !e.adder.is_free(cycle));
            let missing = if refused { None } else { supply.take(cycle) };
            let taken = !refused && missing.is_none();
            let mut contended = false;
            for element in &mut elements {
                let digit = digits[element.window];
                let free = free(element, turn);
                let fate = if taken { element.fate(digit, index, free, p) } else { Fate::Nothing };
                if fate != Fate::Nothing {
                    let point = &self.points[index];
                    let point = if digit < 0 { self.group.negate(point) } else { point.clone() };
                    let bucket = element.bucket(digit, index);
                    match fate {
                        Fate::Add => {
                            contended |= element.aggregates();
                            element.add(cycle, bucket, &point, 1, self.group);
                            self.added(element, cycle, bucket);
                            self.report.additions += 1;
                            continue;
                        }
                        Fate::Merge(place) => {
                            if let Some(other) = element.queue.remove(place) {
                                let waiting = Waiting { bucket, point, sum: false };
                                element.merge(cycle, &waiting, &other, self.passes(), self.group);
                                self.report.additions += 1;
                                self.report.conflicts += 1;
                            }
                            continue;
                        }
                        _ => {}
                    }
                    element.queue.push_back(Waiting { bucket, point, sum: false });
                    element.peak = element.peak.max(element.queue.len() + element.merging);
                    self.report.conflicts += 1;
                }
                // The slot goes to the aggregation if it is its turn, otherwise first to a point in the queue. While a
                // second pass keeps a point out, the aggregation waits in all PEs.
                if held {
                    continue;
                }
                if element.adder.is_free(cycle) && !free {
                    self.advance(element, cycle);
                } else {
                    contended |= self.retire(element, cycle) && element.aggregates();
                }
            }
            idle &= !taken && !turn && elements.iter().all(|element| element.adder.is_free(cycle));
            turn = !turn && contended;
            // If no point entered and no adder changed, the same holds until a result leaves or a source has a point.
            let next = if idle {
                let source = if refused { None } else { supply.next_event(cycle) };
                [source, next_exit(&elements, cycle + 1)].into_iter().flatten().min().unwrap_or(cycle + 1)
            } else {
                cycle + 1
            };
            if taken {
                self.trace.add(track(p, group), self.start + cycle, 1, || format!("point {index}"));
                current = None;
                self.report.bytes += load;
            }
            if first {
                match missing {
                    _ if refused => self.report.stream_activity.stall(Stall::Hazard, next - cycle),
                    Some(reason) => self.report.stream_activity.stall(reason, next - cycle),
                    None => {
                        self.report.stream += 1;
                        self.report.stream_activity.work(1);
                    }
                }
            }
            cycle = next;
        }
        for (element, window) in elements.iter_mut().zip(finished) {
            if let Some((graph, value)) = element.graph.take() {
                parts[window].extend(graph.value(value).cloned());
            }
        }
        (elements, cycle.max(least))
    }

    /// Gives a free slot of the adder to the oldest waiting point whose bucket is free, else to two points that wait
    /// for the same bucket, else to the aggregation. Returns whether waiting points took it.
    #[inline]
    fn retire(&mut self, element: &mut Element<G::Point>, cycle: u64) -> bool {
        if !element.adder.is_free(cycle) {
            return false;
        }
        // The oldest point whose bucket is free. The queue is searched by content.
        if let Some(oldest) = element.queue.iter().position(|waiting| !element.busy[waiting.bucket as usize])
            && let Some(Waiting { bucket, point, sum }) = element.queue.remove(oldest)
        {
            element.add(cycle, bucket, &point, if sum { self.passes() } else { 1 }, self.group);
            self.report.additions += 1;
            self.added(element, cycle, bucket);
            return true;
        }
        if self.p.merge_queue && self.merge_waiting(element, cycle) {
            return true;
        }
        self.advance(element, cycle);
        false
    }

    /// Adds two points that wait for the same bucket, if the queue has such a pair.
    fn merge_waiting(&mut self, element: &mut Element<G::Point>, cycle: u64) -> bool {
        let places = 0..element.queue.len();
        let same = |a: usize, b: usize| element.queue[a].bucket == element.queue[b].bucket;
        let pair = places.clone().find_map(|b| (0..b).find(|a| same(*a, b)).map(|a| (a, b)));
        let Some((a, b)) = pair else { return false };
        // Remove the later one first, since removal moves the entries behind it.
        let (Some(b), Some(a)) = (element.queue.remove(b), element.queue.remove(a)) else { return false };
        element.merge(cycle, &a, &b, self.passes(), self.group);
        self.report.additions += 1;
        true
    }

    /// Gives a free slot of the adder to the aggregation of the previous pass.
    #[inline]
    fn advance(&mut self, element: &mut Element<G::Point>, cycle: u64) {
        if let Some((graph, _)) = &mut element.graph
            && let Some((value, sum)) = graph.issue(self.group)
        {
            element.adder.push(cycle, Job::Sum(value, sum), self.passes());
            self.report.additions += 1;
            self.trace.add(element.track, self.start + cycle, 1, || "buckets of the pass before".to_owned());
        }
    }

    /// Records that a point enters an adder.
    #[inline]
    fn added(&mut self, element: &Element<G::Point>, cycle: u64, bucket: u32) {
        let (window, track) = (element.window, element.track);
        self.trace.add(track, self.start + cycle, 1, || format!("window {window} bucket {}", bucket + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Timing as NoPoints, digits};
    use super::*;
    use crate::engine::MemoryKind;

    #[test]
    fn skipping_changes_nothing() {
        let base = Params {
            log_points: 7,
            scalar_bits: 50,
            windows: vec![8, 8, 7, 7, 7, 7, 7],
            parallel_windows: 3,
            padd_latency: 40,
            segments: 4,
            ..Params::default()
        };
        let slow = Params { bandwidth_gb_s: 10, scalar_link_gb_s: 7, link_gb_s: 9, chiplets: 3, ..base.clone() };
        let banks = Params { memory: MemoryKind::Ddr4, frequency_mhz: 2000, ..base.clone() };
        let mut designs = 0;
        for aggregation in [Aggregation::Free, Aggregation::Serial, Aggregation::Segmented, Aggregation::Overlapped] {
            for hazards in [Hazards::Stall, Hazards::Queue] {
                for design in [&base, &slow, &banks] {
                    for bits in 0..8 {
                        let (mixed_padd, merge_queue) = (bits & 1 > 0, bits & 2 > 0 && hazards == Hazards::Queue);
                        let (parallel_points, split_top) = (1 + (bits & 4) / 4, bits & 1 == 0);
                        let p = Params {
                            aggregation,
                            hazards,
                            mixed_padd,
                            merge_queue,
                            parallel_points,
                            split_top,
                            memory_modules: 2,
                            ..design.clone()
                        };
                        if p.check().is_err() {
                            continue;
                        }
                        let points = vec![(); 1 << p.log_points];
                        let scalar = |i| digits::random(i, p.scalar_bits);
                        let run = |skip| run_with(&p, &NoPoints, scalar, &points, 1 << 16, skip);
                        let ((found, trace), (expected, all)) = (run(true), run(false));
                        assert_eq!(found, expected, "{p:?}");
                        assert_eq!(trace.events(), all.events(), "{p:?}");
                        designs += 1;
                    }
                }
            }
        }
        assert!(designs > 100, "{designs} designs");
    }
}
