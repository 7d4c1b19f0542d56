//! The machine.

use std::collections::VecDeque;

use serde::Serialize;

use super::aggregation::{Adder, Graph};
use super::digits::{Scalar, recode};
use super::group::Group;
use super::params::{Aggregation, Hazards, Params};
use crate::engine::dram::Timing;
use crate::engine::trace::Trace;
use crate::engine::{Activity, Memory, Stall, Stream, TokenBucket};

/// What a run has measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// From the first point to the sum.
    pub cycles: u64,
    /// The same in seconds.
    pub seconds: f64,
    /// Cycles in which a point entered: what the paper counts.
    pub stream: u64,
    /// Cycles of classification: the stream, stalls and draining.
    pub classification: u64,
    /// Cycles of bucket aggregation beside that.
    pub bucket_aggregation: u64,
    /// Cycles of result aggregation.
    pub result_aggregation: u64,
    /// Additions of points.
    pub additions: u64,
    /// Points whose bucket was in the adder when they came.
    pub conflicts: u64,
    /// The most points that waited in a conflict queue.
    pub queue_peak: usize,
    /// Bytes from memory.
    pub bytes: u64,
    /// What bounded the stream.
    pub stream_activity: Activity,
}

/// A report, and the sum of products.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<P> {
    /// What was measured.
    pub report: Report,
    /// The sum.
    pub sum: P,
}

/// What is in a PE's adder.
#[derive(Clone)]
enum Job<P> {
    /// A bucket with a point added to it.
    Bucket(u32, P),
    /// The sum of two points that wait for the same bucket: back to the queue.
    Merge(u32, P),
    /// A value of the aggregation.
    Sum(u32, P),
}

/// A point, or a sum of points, that waits for its bucket.
#[derive(Clone)]
struct Waiting<P> {
    bucket: u32,
    point: P,
    /// Whether it is a sum: a mixed adder adds it in two passes.
    sum: bool,
}

/// A PE during a pass.
struct Element<P> {
    window: usize,
    /// Its row of a trace.
    track: usize,
    buckets: Vec<P>,
    busy: Vec<bool>,
    /// Buckets that a digit has; points take them in turn.
    copies: u32,
    adder: Adder<Job<P>>,
    queue: VecDeque<Waiting<P>>,
    /// Places of the queue that sums in the adder return to.
    merging: usize,
    /// The aggregation of the pass before, where it overlaps.
    graph: Option<(Graph<P>, u32)>,
    peak: usize,
}

/// What a PE would do with a point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The digit is 0.
    Nothing,
    Add,
    /// With the point at this place of the queue.
    Merge(usize),
    Wait,
    Refuse,
}

impl<P: Clone> Element<P> {
    fn new(window: usize, track: usize, bits: u32, copies: u32, identity: &P, latency: u64) -> Self {
        let buckets = 1_usize << (bits - 1);
        Self {
            window,
            track,
            buckets: vec![identity.clone(); buckets],
            busy: vec![false; buckets],
            copies,
            adder: Adder::new(latency),
            queue: VecDeque::new(),
            merging: 0,
            graph: None,
            peak: 0,
        }
    }
    /// The bucket of a digit that is not 0, for the point of this number.
    #[inline]
    fn bucket(&self, digit: i32, index: usize) -> u32 {
        let digit = digit.unsigned_abs() - 1;
        if self.copies == 1 { digit } else { digit * self.copies + (index as u32 & (self.copies - 1)) }
    }
    /// What happens to a point, if the adder's slot is free for it or not.
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
    /// Two points of the same bucket enter the adder; their sum comes back to the queue.
    fn merge<G: Group<Point = P>>(&mut self, cycle: u64, a: &Waiting<P>, b: &Waiting<P>, passes: u64, group: &G) {
        let passes = if a.sum && b.sum { passes } else { 1 };
        self.merging += 1;
        self.adder.push(cycle, Job::Merge(a.bucket, group.add(&a.point, &b.point)), passes);
    }
    /// What leaves the adder goes to its place.
    #[inline]
    fn collect(&mut self, cycle: u64) {
        match self.adder.pop(cycle) {
            None => {}
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
    }
    /// Whether the aggregation has an addition that is ready.
    #[inline]
    fn aggregates(&self) -> bool {
        self.graph.as_ref().is_some_and(|(graph, _)| graph.has_ready())
    }
    fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.adder.is_empty() && self.graph.as_ref().is_none_or(|(graph, _)| graph.is_done())
    }
}

/// What brings a stream its points and scalars, and takes points to the next chiplet.
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
    /// Takes a point and its scalar, or says what is missing.
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
}

/// The aggregation of a window: its additions, the value that they end in, the window.
type Pending<P> = (Graph<P>, u32, usize);

/// The PEs of a pass, and the cycles that it took.
type Pass<P> = (Vec<Element<P>>, u64);

struct Machine<'a, G: Group, S> {
    p: &'a Params,
    group: &'a G,
    /// The scalar of a point.
    scalar: S,
    points: &'a [G::Point],
    report: Report,
    trace: Trace,
    /// The cycle in which the pass begins.
    start: u64,
}

/// The first row of a trace that a group of points has.
fn track(p: &Params, group: usize) -> usize {
    group * (p.width() + 1)
}

/// Runs the machine; records its first `events` operations.
pub(super) fn run<G: Group, S: Fn(usize) -> Scalar>(
    p: &Params,
    group: &G,
    scalar: S,
    points: &[G::Point],
    events: usize,
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
    // For each group of points the points and its PEs; of independent products there is one.
    let of_group = |group: usize| {
        let pes = (0..p.width()).map(move |pe| format!("PE {}", group * p.width() + pe));
        std::iter::once(format!("points {group}")).chain(pes)
    };
    let trace = Trace::new((0..p.parallel_points as usize).flat_map(of_group), events);
    let mut machine = Machine { p, group, scalar, points, report, trace, start: 0 };
    let sum = machine.run();
    let mut report = machine.report;
    report.seconds = p.seconds(report.cycles);
    (Outcome { report, sum }, machine.trace)
}

impl<G: Group, S: Fn(usize) -> Scalar> Machine<'_, G, S> {
    /// Passes of a sum of two sums through the adder.
    fn passes(&self) -> u64 {
        if self.p.mixed_padd { 2 } else { 1 }
    }

    fn run(&mut self) -> G::Point {
        let p = self.p;
        let schedule = p.schedule();
        // The aggregations of the pass before, by vertical group and window.
        let mut before: Vec<Vec<Pending<G::Point>>> = vec![Vec::new(); p.parallel_points as usize];
        let mut parts: Vec<Vec<G::Point>> = vec![Vec::new(); p.windows.len()];
        for (pass, windows) in schedule.iter().enumerate() {
            self.start = self.report.classification + self.report.bucket_aggregation;
            let (mut classified, mut own) = (0, 0);
            let mut tail = 0;
            // The groups of points do the same side by side, each with its share of the memory.
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
                    // PEs aggregate side by side.
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
        // Sums of the groups of points, then of the windows.
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

    /// A pass of one group of points: the PEs, and the cycles that it took.
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
        let element =
            |(&w, track): (&usize, usize)| Element::new(w, track, p.windows[w], p.copies(w), &identity, p.padd_latency);
        let mut elements: Vec<Element<G::Point>> = windows.iter().zip(tracks).map(element).collect();
        let (mut finished, mut least) = (Vec::new(), 0);
        for (i, (mut graph, value, window)) in before.into_iter().enumerate() {
            let Some(element) = elements.get_mut(i) else {
                // This pass has more PEs than windows: the others have their adders to themselves.
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
        let (mut digits, mut current) = (Vec::with_capacity(p.windows.len()), None);
        let mut cycle = 0;
        // Points and the aggregation take turns where both want the slot. All PEs that share the points have the same turn, so
        // that a point is held up at most every other cycle.
        let mut turn = false;
        loop {
            for element in &mut elements {
                element.collect(cycle);
            }
            if current.is_none() {
                current = indices.next();
                if let Some(index) = current {
                    recode(&(self.scalar)(index), &p.windows, &mut digits);
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
                if first {
                    self.report.stream_activity.stall(Stall::Drained, 1);
                }
                cycle += 1;
                continue;
            };
            let free = |e: &Element<G::Point>, turn: bool| e.adder.is_free(cycle) && !(turn && e.aggregates());
            let refused = elements.iter().any(|e| e.fate(digits[e.window], index, free(e, turn), p) == Fate::Refuse);
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
                // The slot is the aggregation's turn, or free for a point that has waited.
                if element.adder.is_free(cycle) && !free {
                    self.advance(element, cycle);
                } else {
                    contended |= self.retire(element, cycle) && element.aggregates();
                }
            }
            turn = !turn && contended;
            if taken {
                self.trace.add(track(p, group), self.start + cycle, 1, || format!("point {index}"));
                current = None;
                self.report.bytes += load;
            }
            if first {
                match missing {
                    _ if refused => self.report.stream_activity.stall(Stall::Hazard, 1),
                    Some(reason) => self.report.stream_activity.stall(reason, 1),
                    None => {
                        self.report.stream += 1;
                        self.report.stream_activity.work(1);
                    }
                }
            }
            cycle += 1;
        }
        for (element, window) in elements.iter_mut().zip(finished) {
            if let Some((graph, value)) = element.graph.take() {
                parts[window].extend(graph.value(value).cloned());
            }
        }
        (elements, cycle.max(least))
    }

    /// Gives a free slot of the adder to the first waiting point whose bucket is free, to two that wait for the same bucket, or
    /// to the aggregation. Returns whether points that wait have it.
    #[inline]
    fn retire(&mut self, element: &mut Element<G::Point>, cycle: u64) -> bool {
        if !element.adder.is_free(cycle) {
            return false;
        }
        // The oldest point whose bucket is free: the queue is searched by content.
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

    /// Adds two points that wait for the same bucket, if there are such.
    fn merge_waiting(&mut self, element: &mut Element<G::Point>, cycle: u64) -> bool {
        let places = 0..element.queue.len();
        let same = |a: usize, b: usize| element.queue[a].bucket == element.queue[b].bucket;
        let pair = places.clone().find_map(|b| (0..b).find(|a| same(*a, b)).map(|a| (a, b)));
        let Some((a, b)) = pair else { return false };
        // The later place first, so that the earlier one stays where it is.
        let (Some(b), Some(a)) = (element.queue.remove(b), element.queue.remove(a)) else { return false };
        element.merge(cycle, &a, &b, self.passes(), self.group);
        self.report.additions += 1;
        true
    }

    /// Gives a free slot of the adder to the aggregation of the pass before.
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
