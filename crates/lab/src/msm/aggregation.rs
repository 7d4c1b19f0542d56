//! Sums of sums, on an adder with a latency: a graph of additions whose ready ones are issued in turn.

use std::collections::VecDeque;

use super::group::Group;
use crate::engine::Pipeline;

/// A value: a bucket or the result of an addition.
type Value = u32;

/// Additions that wait for each other.
#[derive(Clone, Debug)]
pub(super) struct Graph<P> {
    values: Vec<Option<P>>,
    /// Operands and result.
    ops: Vec<(Value, Value, Value)>,
    /// Operands that an addition still waits for.
    missing: Vec<u8>,
    /// The additions that wait for a value.
    users: Vec<Vec<u32>>,
    ready: VecDeque<u32>,
    pipe: Pipeline<(Value, P)>,
    left: usize,
}

impl<P: Clone> Graph<P> {
    /// Over values that are there; an adder of so many stages that takes an addition in `interval` cycles.
    pub(super) fn new(values: Vec<P>, latency: u64, interval: u64) -> Self {
        let users = vec![Vec::new(); values.len()];
        Self {
            values: values.into_iter().map(Some).collect(),
            ops: Vec::new(),
            missing: Vec::new(),
            users,
            ready: VecDeque::new(),
            pipe: Pipeline::new(latency, interval),
            left: 0,
        }
    }
    /// An addition; returns its result.
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
    /// sum of (i + 1) values[i], by a running sum from the top; returns it and the plain sum. `values` is not empty.
    fn weighted(&mut self, values: &[Value]) -> (Value, Value) {
        let Some((first, rest)) = values.split_last() else { unreachable!("there is a value") };
        // The running sums first: they are the longer chain, and go first when two additions are ready.
        let mut running = vec![*first];
        for value in rest.iter().rev() {
            let next = self.add(running[running.len() - 1], *value);
            running.push(next);
        }
        let total = running[1..].iter().fold(*first, |total, sum| self.add(total, *sum));
        (total, running[running.len() - 1])
    }
    /// sum of (i + 1) bucket i over all values of `buckets`, by so many segments.
    pub(super) fn buckets(&mut self, buckets: &[Value], segments: usize) -> Value {
        let segments = segments.min(buckets.len().next_power_of_two() / 2).max(1);
        let len = buckets.len() / segments;
        if segments == 1 || len * segments != buckets.len() {
            return self.weighted(buckets).0;
        }
        let parts: Vec<(Value, Value)> = buckets.chunks(len).map(|segment| self.weighted(segment)).collect();
        // Bucket len s + j has the weight len s + j + 1: the segment's own sum, and len s times its plain sum.
        let plain: Vec<Value> = parts[1..].iter().map(|(_, plain)| *plain).collect();
        let mut sum = self.weighted(&plain).0;
        for _ in 0..len.ilog2() {
            sum = self.add(sum, sum);
        }
        let mut totals: VecDeque<Value> = parts.iter().map(|(total, _)| *total).chain([sum]).collect();
        // A tree.
        while let (Some(a), Some(b)) = (totals.pop_front(), totals.pop_front()) {
            let pair = self.add(a, b);
            totals.push_back(pair);
            if totals.len() == 1 {
                break;
            }
        }
        totals[0]
    }
    /// sum of 2^(offset of window j) sums[j], by Horner's rule.
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
    /// Results that leave the adder in this cycle. Call it before [`Graph::issue`].
    pub(super) fn collect(&mut self, cycle: u64) {
        while let Some((value, point)) = self.pipe.pop(cycle) {
            self.values[value as usize] = Some(point);
            self.left -= 1;
            for op in std::mem::take(&mut self.users[value as usize]) {
                self.missing[op as usize] -= 1;
                if self.missing[op as usize] == 0 {
                    self.ready.push_back(op);
                }
            }
        }
    }
    /// Issues an addition if one is ready. Returns whether the adder was used.
    pub(super) fn issue<G: Group<Point = P>>(&mut self, cycle: u64, group: &G) -> bool {
        if !self.pipe.ready(cycle) {
            return !self.ready.is_empty();
        }
        let Some(op) = self.ready.pop_front() else { return false };
        let (a, b, result) = self.ops[op as usize];
        if let (Some(a), Some(b)) = (&self.values[a as usize], &self.values[b as usize]) {
            self.pipe.push(cycle, (result, group.add(a, b)));
        }
        true
    }
    /// When a result leaves next.
    pub(super) fn next_exit(&self) -> Option<u64> {
        self.pipe.next_exit()
    }
    /// Whether an addition is ready.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }
    /// Whether all additions are done.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }
    /// A value that is there.
    pub(super) fn value(&self, value: Value) -> Option<&P> {
        self.values[value as usize].as_ref()
    }
    /// Cycles from now until all additions are done, with the adder to itself; the number of additions.
    pub(super) fn run<G: Group<Point = P>>(&mut self, start: u64, group: &G) -> (u64, u64) {
        let (mut cycle, mut ops) = (start, 0);
        while !self.is_done() {
            self.collect(cycle);
            if self.pipe.ready(cycle) && self.issue(cycle, group) {
                ops += 1;
                cycle += 1;
            } else if self.has_ready() {
                cycle = self.pipe.free_at().max(cycle + 1);
            } else if let Some(exit) = self.next_exit() {
                cycle = exit.max(cycle + 1);
            } else {
                break;
            }
        }
        (cycle - start, ops)
    }
}
