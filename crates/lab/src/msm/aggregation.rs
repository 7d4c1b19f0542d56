//! Sums of sums on an adder with a latency: a graph of additions. Ready additions are issued in the order in which they
//! became ready.
//!
//! A mixed adder adds two sums in two passes: the entry leaves the pipeline, enters it again in the same cycle, and
//! takes the slot of that cycle.

use std::collections::VecDeque;

use super::group::Group;
use crate::engine::Pipeline;

/// The index of a value: a bucket, or the result of an addition.
type Value = u32;

/// A point adder: a pipeline that takes one operation per cycle. An operation of several passes enters again when it
/// leaves.
#[derive(Clone, Debug)]
pub(super) struct Adder<T> {
    pipe: Pipeline<(T, u64)>,
}

impl<T> Adder<T> {
    pub(super) fn new(latency: u64) -> Self {
        Self { pipe: Pipeline::new(latency, 1) }
    }
    /// Takes the operation that leaves in `cycle` after its last pass. An earlier pass that ends takes the slot of this
    /// cycle, so call this before [`Adder::is_free`].
    #[inline]
    pub(super) fn pop(&mut self, cycle: u64) -> Option<T> {
        let (entry, passes) = self.pipe.pop(cycle)?;
        if passes == 1 {
            return Some(entry);
        }
        self.pipe.push(cycle, (entry, passes - 1));
        None
    }
    /// Whether the slot of `cycle` is free.
    #[inline]
    pub(super) fn is_free(&self, cycle: u64) -> bool {
        self.pipe.ready(cycle)
    }
    /// Takes the slot of `cycle` for an operation of `passes` passes.
    #[inline]
    pub(super) fn push(&mut self, cycle: u64, entry: T, passes: u64) {
        self.pipe.push(cycle, (entry, passes));
    }
    /// The cycle in which the oldest operation leaves the pipeline.
    #[inline]
    pub(super) fn next_exit(&self) -> Option<u64> {
        self.pipe.next_exit()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.pipe.is_empty()
    }
}

/// A graph of additions, some of which wait for others.
#[derive(Clone, Debug)]
pub(super) struct Graph<P> {
    values: Vec<Option<P>>,
    /// Operands and result.
    ops: Vec<(Value, Value, Value)>,
    /// Number of operands that each addition still waits for.
    missing: Vec<u8>,
    /// The additions that wait for each value.
    users: Vec<Vec<u32>>,
    ready: VecDeque<u32>,
    left: usize,
}

impl<P: Clone> Graph<P> {
    /// A graph over known values.
    pub(super) fn new(values: Vec<P>) -> Self {
        let users = vec![Vec::new(); values.len()];
        Self {
            values: values.into_iter().map(Some).collect(),
            ops: Vec::new(),
            missing: Vec::new(),
            users,
            ready: VecDeque::new(),
            left: 0,
        }
    }
    /// Adds an addition to the graph; returns the index of its result.
    pub(super) fn add(&mut self, a: Value, b: Value) -> Value {
        let (op, result) = (self.ops.len() as u32, self.values.len() as u32);
        let mut missing = 0;
        for operand in [a, b] {
            if self.values[operand as usize].is_none() {
                self.users[operand as usize].push(op);
                missing += 1;
            }
        }
        self.values.push(None);
        self.users.push(Vec::new());
        self.ops.push((a, b, result));
        self.missing.push(missing);
        self.left += 1;
        if missing == 0 {
            self.ready.push_back(op);
        }
        result
    }
    /// The sum of (i + 1) `values[i]` by a running sum from the top. Returns it and the plain sum. `values` is not
    /// empty.
    fn weighted(&mut self, values: &[Value]) -> (Value, Value) {
        let Some((first, rest)) = values.split_last() else { unreachable!("there is a value") };
        // The running sums are the longer chain. They are added first, so they go first when two additions are ready.
        let mut running = vec![*first];
        for value in rest.iter().rev() {
            let next = self.add(running[running.len() - 1], *value);
            running.push(next);
        }
        let total = running[1..].iter().fold(*first, |total, sum| self.add(total, *sum));
        (total, running[running.len() - 1])
    }
    /// The sums of each `copies` neighbouring values.
    pub(super) fn merge(&mut self, values: &[Value], copies: usize) -> Vec<Value> {
        let mut merged = Vec::with_capacity(values.len() / copies);
        for group in values.chunks(copies) {
            let mut sums = group.to_vec();
            while sums.len() > 1 {
                sums = sums.chunks(2).map(|pair| if let [a, b] = pair { self.add(*a, *b) } else { pair[0] }).collect();
            }
            merged.extend(sums);
        }
        merged
    }
    /// The sum of (i + 1) `buckets[i]`, by `segments` running sums side by side.
    pub(super) fn buckets(&mut self, buckets: &[Value], segments: usize) -> Value {
        let segments = segments.min(buckets.len().next_power_of_two() / 2).max(1);
        let len = buckets.len() / segments;
        if segments == 1 || len * segments != buckets.len() {
            return self.weighted(buckets).0;
        }
        let parts: Vec<(Value, Value)> = buckets.chunks(len).map(|segment| self.weighted(segment)).collect();
        // Let s be the segment's number and len its length: its bucket j has the weight len s + j + 1. So a segment
        // adds its own weighted sum, and len s times its plain sum.
        let plain: Vec<Value> = parts[1..].iter().map(|(_, plain)| *plain).collect();
        let mut sum = self.weighted(&plain).0;
        for _ in 0..len.ilog2() {
            sum = self.add(sum, sum);
        }
        let mut totals: VecDeque<Value> = parts.iter().map(|(total, _)| *total).chain([sum]).collect();
        // A tree of additions.
        while let (Some(a), Some(b)) = (totals.pop_front(), totals.pop_front()) {
            let pair = self.add(a, b);
            totals.push_back(pair);
            if totals.len() == 1 {
                break;
            }
        }
        totals[0]
    }
    /// The sum of 2^(offset of window j) `sums[j]`, by Horner's rule.
    pub(super) fn windows(&mut self, sums: &[Value], windows: &[u32]) -> Value {
        let mut rest = sums.iter().zip(windows).rev();
        let Some((mut total, _)) = rest.next().map(|(v, w)| (*v, *w)) else { unreachable!("there is a window") };
        for (sum, w) in rest {
            for _ in 0..*w {
                total = self.add(total, total);
            }
            total = self.add(total, *sum);
        }
        total
    }
    /// Stores a result that has left the adder.
    pub(super) fn finish(&mut self, value: Value, point: P) {
        self.values[value as usize] = Some(point);
        self.left -= 1;
        for op in std::mem::take(&mut self.users[value as usize]) {
            self.missing[op as usize] -= 1;
            if self.missing[op as usize] == 0 {
                self.ready.push_back(op);
            }
        }
    }
    /// Issues the next ready addition. Returns the index and the value of its result; the adder delivers both to
    /// [`Graph::finish`].
    pub(super) fn issue<G: Group<Point = P>>(&mut self, group: &G) -> Option<(Value, P)> {
        let (a, b, result) = self.ops[self.ready.pop_front()? as usize];
        match (&self.values[a as usize], &self.values[b as usize]) {
            (Some(a), Some(b)) => Some((result, group.add(a, b))),
            _ => unreachable!("operands of a ready addition are there"),
        }
    }
    /// Whether an addition is ready.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }
    /// Whether all additions are done.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }
    /// A value, if it is computed.
    pub(super) fn value(&self, value: Value) -> Option<&P> {
        self.values[value as usize].as_ref()
    }
    /// Computes all additions with an adder of its own, of `latency` stages and `passes` passes per addition. Returns
    /// the cycles and the number of additions.
    pub(super) fn run<G: Group<Point = P>>(&mut self, latency: u64, passes: u64, group: &G) -> (u64, u64) {
        let mut adder = Adder::new(latency);
        let (mut cycle, mut ops) = (0, 0);
        loop {
            if let Some((value, point)) = adder.pop(cycle) {
                self.finish(value, point);
            }
            if self.is_done() {
                return (cycle, ops);
            }
            if adder.is_free(cycle)
                && let Some(sum) = self.issue(group)
            {
                adder.push(cycle, sum, passes);
                ops += 1;
            }
            let next = if self.has_ready() { None } else { adder.next_exit() };
            cycle = next.unwrap_or(0).max(cycle + 1);
        }
    }
}
