//! A pipeline of fixed latency.

use std::collections::VecDeque;

/// A pipeline: an entry of cycle c leaves in cycle c + `latency`, and entries are at least `interval` cycles apart.
#[derive(Clone, Debug)]
pub struct Pipeline<T> {
    entries: VecDeque<(u64, T)>,
    latency: u64,
    interval: u64,
    /// The first cycle in which the next entry may enter.
    free: u64,
}

impl<T> Pipeline<T> {
    /// A pipeline of `latency` stages with the initiation interval `interval`, which is raised to 1 if it is 0.
    pub fn new(latency: u64, interval: u64) -> Self {
        Self { entries: VecDeque::new(), latency, interval: interval.max(1), free: 0 }
    }
    /// Whether an entry may enter in `cycle`.
    #[inline]
    pub fn ready(&self, cycle: u64) -> bool {
        cycle >= self.free
    }
    /// The first cycle in which the next entry may enter.
    pub fn free_at(&self) -> u64 {
        self.free
    }
    /// Adds an entry in `cycle`.
    #[inline]
    pub fn push(&mut self, cycle: u64, entry: T) {
        debug_assert!(self.ready(cycle), "an entry in cycle {cycle}, the pipeline is free in {}", self.free);
        self.free = cycle + self.interval;
        self.entries.push_back((cycle + self.latency, entry));
    }
    /// Takes the entry that leaves in `cycle` or should have left before.
    #[inline]
    pub fn pop(&mut self, cycle: u64) -> Option<T> {
        match self.entries.front() {
            Some((exit, _)) if *exit <= cycle => self.entries.pop_front().map(|(_, entry)| entry),
            _ => None,
        }
    }
    /// The cycle in which the oldest entry leaves.
    #[inline]
    pub fn next_exit(&self) -> Option<u64> {
        self.entries.front().map(|(exit, _)| *exit)
    }
    /// Number of entries in the pipeline.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether the pipeline has no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_after_the_latency_and_enter_at_the_interval() {
        let mut pipe = Pipeline::new(3, 2);
        pipe.push(5, 'a');
        assert!(!pipe.ready(6) && pipe.ready(7));
        pipe.push(7, 'b');
        assert_eq!((pipe.pop(7), pipe.next_exit(), pipe.pop(8)), (None, Some(8), Some('a')));
        // An entry waits until it is taken.
        assert_eq!((pipe.pop(12), pipe.is_empty()), (Some('b'), true));
    }
}
