//! The machine.

use std::collections::VecDeque;

use serde::Serialize;

use super::aggregation::Graph;
use super::digits::{Scalar, recode};
use super::group::Group;
use super::params::{Aggregation, Hazards, Params};
use crate::engine::dram::Timing;
use crate::engine::trace::Trace;
use crate::engine::{Activity, Memory, Pipeline, Stall, Stream, TokenBucket};

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

/// A PE during a pass.
struct Element<P> {
    window: usize,
    /// Its row of a trace.
    track: usize,
    buckets: Vec<P>,
    busy: Vec<bool>,
    adder: Pipeline<(u32, P)>,
    queue: VecDeque<(u32, P)>,
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
    Wait,
    Refuse,
}

impl<P: Clone> Element<P> {
    fn new(window: usize, track: usize, bits: u32, identity: &P, latency: u64) -> Self {
        let buckets = 1_usize << (bits - 1);
        Self {
            window,
            track,
            buckets: vec![identity.clone(); buckets],
            busy: vec![false; buckets],
            adder: Pipeline::new(latency, 1),
            queue: VecDeque::new(),
            graph: None,
            peak: 0,
        }
    }
    #[inline]
    fn fate(&self, digit: i32, hazards: Hazards, queue: usize) -> Fate {
        if digit == 0 {
            return Fate::Nothing;
        }
        match hazards {
            Hazards::Ignored => Fate::Add,
            _ if !self.busy[digit.unsigned_abs() as usize - 1] => Fate::Add,
            Hazards::Queue if self.queue.len() < queue => Fate::Wait,
            _ => Fate::Refuse,
        }
    }
    #[inline]
    fn add<G: Group<Point = P>>(&mut self, cycle: u64, bucket: u32, point: &P, group: &G) {
        self.busy[bucket as usize] = true;
        let sum = group.add(&self.buckets[bucket as usize], point);
        self.adder.push(cycle, (bucket, sum));
    }
    fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.adder.is_empty()
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
    /// Cycles of an adder slot for a sum of two sums, and of its latency: a mixed adder goes through it twice.
    fn full(&self) -> (u64, u64) {
        let times = if self.p.mixed_padd { 2 } else { 1 };
        (times * self.p.padd_latency, times)
    }

    fn run(&mut self) -> G::Point {
        let p = self.p;
        let width = p.width();
        // The aggregations of the pass before, by vertical group and window.
        let mut before: Vec<Vec<Pending<G::Point>>> = vec![Vec::new(); p.parallel_points as usize];
        let mut parts: Vec<Vec<G::Point>> = vec![Vec::new(); p.windows.len()];
        for pass in 0..p.passes() as usize {
            let windows = pass * width..((pass + 1) * width).min(p.windows.len());
            self.start = self.report.classification + self.report.bucket_aggregation;
            let (mut classified, mut own) = (0, 0);
            let mut tail = 0;
            // The groups of points do the same side by side, each with its share of the memory.
            for (group, before) in before.iter_mut().enumerate() {
                let waiting = std::mem::take(before);
                let (mut elements, cycles) = self.classify(group, windows.clone(), waiting, &mut parts);
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
                let last = pass as u64 + 1 == p.passes();
                if p.aggregation != Aggregation::Overlapped || last {
                    // PEs aggregate side by side.
                    let (mut longest, begin) = (0, self.start + classified);
                    for (mut graph, value, window) in before.drain(..) {
                        let (cycles, ops) = graph.run(0, self.group);
                        longest = longest.max(cycles);
                        let track = track(p, group) + 1 + window - pass * width;
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
        let (latency, interval) = self.full();
        let values: Vec<G::Point> = parts.iter().flatten().cloned().collect();
        let mut graph = Graph::new(values, latency, interval);
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
        let (cycles, ops) = graph.run(0, self.group);
        let begin = self.report.classification + self.report.bucket_aggregation;
        self.trace.add(1, begin, cycles, || format!("windows: {ops} additions"));
        self.report.result_aggregation = cycles;
        self.report.additions += ops;
        self.report.cycles = self.report.classification + self.report.bucket_aggregation + cycles + self.hops();
        graph.value(total).cloned().unwrap_or(identity)
    }

    /// A point passes from PE to PE and from chiplet to chiplet.
    fn hops(&self) -> u64 {
        u64::from(self.p.parallel_windows) - 1 + u64::from(self.p.chiplets - 1) * self.p.link_latency
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
        let (latency, interval) = self.full();
        let len = buckets.len() as u32;
        let mut graph = Graph::new(buckets, latency, interval);
        let segments = if self.p.aggregation == Aggregation::Serial { 1 } else { self.p.segments as usize };
        let value = graph.buckets(&(0..len).collect::<Vec<_>>(), segments);
        Some((graph, value))
    }

    /// A pass of one group of points: the PEs, and the cycles that it took.
    fn classify(
        &mut self,
        group: usize,
        windows: std::ops::Range<usize>,
        before: Vec<Pending<G::Point>>,
        parts: &mut [Vec<G::Point>],
    ) -> (Vec<Element<G::Point>>, u64) {
        let p = self.p;
        let (first, identity) = (group == 0, self.group.identity());
        let tracks = track(p, group) + 1..;
        let element = |(w, track)| Element::new(w, track, p.windows[w], &identity, p.padd_latency);
        let mut elements: Vec<Element<G::Point>> = windows.clone().zip(tracks).map(element).collect();
        let mut finished = Vec::new();
        for (i, (graph, value, window)) in before.into_iter().enumerate() {
            match elements.get_mut(i) {
                Some(element) => element.graph = Some((graph, value)),
                // More PEs than windows in the last pass.
                None => {
                    let mut graph = graph;
                    self.report.additions += graph.run(0, self.group).1;
                    parts[window].extend(graph.value(value).cloned());
                    continue;
                }
            }
            finished.push(window);
        }
        let (mut supply, load) = (Supply::new(p), p.load_bytes());
        let queue = p.conflict_queue as usize;
        let mut indices = (group..self.points.len()).step_by(p.parallel_points as usize);
        let (mut digits, mut current) = (Vec::with_capacity(p.windows.len()), None);
        let mut cycle = 0;
        loop {
            for element in &mut elements {
                if let Some((bucket, sum)) = element.adder.pop(cycle) {
                    element.buckets[bucket as usize] = sum;
                    element.busy[bucket as usize] = false;
                }
                if let Some((graph, _)) = &mut element.graph {
                    graph.collect(cycle);
                }
            }
            if current.is_none() {
                current = indices.next();
                if let Some(index) = current {
                    recode(&(self.scalar)(index), &p.windows, &mut digits);
                }
            }
            let Some(index) = current else {
                // Draining.
                let graphs = elements.iter().any(|e| e.graph.as_ref().is_some_and(|(g, _)| !g.is_done()));
                if elements.iter().all(Element::is_drained) && !graphs {
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
            let fates = |e: &Element<G::Point>| e.fate(digits[e.window], p.hazards, queue);
            let refused = elements.iter().any(|e| fates(e) == Fate::Refuse);
            let missing = if refused { None } else { supply.take(cycle) };
            let taken = !refused && missing.is_none();
            for element in &mut elements {
                let digit = digits[element.window];
                let fate = if taken { element.fate(digit, p.hazards, queue) } else { Fate::Nothing };
                if matches!(fate, Fate::Add | Fate::Wait) {
                    let point = &self.points[index];
                    let point = if digit < 0 { self.group.negate(point) } else { point.clone() };
                    let bucket = digit.unsigned_abs() - 1;
                    if fate == Fate::Add {
                        element.add(cycle, bucket, &point, self.group);
                        self.added(element, cycle, bucket);
                        self.report.additions += 1;
                        continue;
                    }
                    element.queue.push_back((bucket, point));
                    element.peak = element.peak.max(element.queue.len());
                    self.report.conflicts += 1;
                }
                // The slot is free for a point that has waited, or for the aggregation.
                self.retire(element, cycle);
            }
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
        (elements, cycle)
    }

    /// Gives a free slot of the adder to the first waiting point, or to the aggregation.
    #[inline]
    fn retire(&mut self, element: &mut Element<G::Point>, cycle: u64) {
        if !element.adder.ready(cycle) {
            return;
        }
        // The oldest point whose bucket is free: the queue is searched by content.
        if let Some(oldest) = element.queue.iter().position(|(bucket, _)| !element.busy[*bucket as usize])
            && let Some((bucket, point)) = element.queue.remove(oldest)
        {
            element.add(cycle, bucket, &point, self.group);
            self.report.additions += 1;
            self.added(element, cycle, bucket);
        } else if let Some((graph, _)) = &mut element.graph
            && graph.issue(cycle, self.group)
        {
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
