//! Simulates how long a graph takes on any number of workers, from the time of its tasks. This is not a measurement.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use evergrove_jobs::{Task, TaskGraph, TaskId};

/// Time of a task apart from its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overheads {
    /// Time on the worker: taking the job, its payload and its inputs, and storing the result.
    pub(crate) worker: Duration,
    /// Time on the queue's server, which handles one task at a time.
    pub(crate) queue: Duration,
}

/// A simulated run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simulated {
    /// Time from the first task's start to the last one's end.
    pub(crate) makespan: Duration,
    /// Sum of the workers' time for tasks, including overheads.
    pub(crate) busy: Duration,
}

/// Simulates a graph without stored results on `workers` workers (at least one), with one task at a time each. The
/// order is that of an engine: a task is ready when everything that it needs is done. The ready task with the highest
/// priority starts first, and between equal priorities the one added first.
///
/// No worker fails, the network has no limit except the overheads, and a task takes the same time whatever else runs.
/// O(n log n) for n tasks.
pub(crate) fn simulate(
    graph: &TaskGraph,
    workers: usize,
    overheads: Overheads,
    work: impl Fn(&Task) -> Duration,
) -> Simulated {
    let mut waiting: Vec<usize> = graph.iter().map(|(_, task)| task.deps.len()).collect();
    let mut dependents: Vec<Vec<TaskId>> = vec![Vec::new(); graph.len()];
    let mut ready = BinaryHeap::new();
    for (id, task) in graph.iter() {
        task.deps.iter().for_each(|dep| dependents[dep.0].push(id));
        if task.deps.is_empty() {
            ready.push((task.priority, Reverse(id)));
        }
    }
    let mut running = BinaryHeap::new();
    let (mut now, mut queue_is_free, mut out) = (Duration::ZERO, Duration::ZERO, Simulated::default());
    loop {
        while running.len() < workers.max(1) {
            let Some((_, Reverse(id))) = ready.pop() else { break };
            let handed_out = now.max(queue_is_free) + overheads.queue;
            queue_is_free = handed_out;
            let takes = overheads.worker + work(graph.task(id));
            out.busy += takes;
            running.push(Reverse((handed_out + takes, id)));
        }
        let Some(Reverse((end, id))) = running.pop() else { break };
        now = end;
        out.makespan = end;
        for dependent in &dependents[id.0] {
            waiting[dependent.0] -= 1;
            if waiting[dependent.0] == 0 {
                ready.push((graph.task(*dependent).priority, Reverse(*dependent)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use evergrove_jobs::Key;

    use super::*;

    /// A tree of 2^depth leaves of 1 s and joins of 3 s.
    fn tree(depth: u32) -> TaskGraph {
        let mut graph = TaskGraph::new();
        let mut level: Vec<TaskId> = Vec::new();
        let mut number = 0u64;
        let mut add = |kind, priority, deps| {
            number += 1;
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_le_bytes());
            graph.add(Task { key: Key(key), kind, priority, deps }).unwrap()
        };
        (0..1 << depth).for_each(|_| level.push(add("leaf", 0, vec![])));
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| add("join", 1, pair.to_vec())).collect();
        }
        graph
    }

    fn seconds(graph: &TaskGraph, workers: usize, overheads: Overheads) -> f64 {
        let work = |task: &Task| Duration::from_secs(if task.kind == "leaf" { 1 } else { 3 });
        let run = simulate(graph, workers, overheads, work);
        let each = |task: &Task| work(task) + overheads.worker;
        assert_eq!(run.busy, graph.iter().map(|(_, task)| each(task)).sum::<Duration>());
        assert!(run.makespan >= run.busy / workers.max(1) as u32, "{run:?}");
        run.makespan.as_secs_f64()
    }

    #[test]
    fn a_tree_takes_its_work_on_one_worker_and_its_depth_on_many() {
        let graph = tree(4);
        let none = Overheads::default();
        assert_eq!(seconds(&graph, 1, none), 16.0 + 15.0 * 3.0);
        assert_eq!(seconds(&graph, 0, none), 61.0, "there is always one");
        assert_eq!(seconds(&graph, 16, none), 1.0 + 4.0 * 3.0);
        assert_eq!(seconds(&graph, 1000, none), 13.0);
        // Joins go first, so the last leaf ends at 5. The joins above it start at 5, 8, 11 and 14.
        assert_eq!(seconds(&graph, 8, none), 17.0);
        let times: Vec<f64> = (1..=20).map(|workers| seconds(&graph, workers, none)).collect();
        assert!(times.iter().all(|t| (13.0..=61.0).contains(t)), "{times:?}");
    }

    #[test]
    fn overheads_are_paid_by_each_task() {
        let graph = tree(4);
        let worker = Overheads { worker: Duration::from_millis(500), ..Overheads::default() };
        assert_eq!(seconds(&graph, 1, worker), 61.0 + 31.0 * 0.5);
        assert_eq!(seconds(&graph, 16, worker), 13.0 + 5.0 * 0.5);
        // If the queue needs as long as a leaf, it hands out one task a second for any number of workers.
        let queue = Overheads { queue: Duration::from_secs(1), ..Overheads::default() };
        assert!(seconds(&graph, 1000, queue) >= 31.0);
        assert_eq!(seconds(&graph, 1, queue), 61.0 + 31.0);
        assert_eq!(simulate(&TaskGraph::new(), 3, queue, |_| Duration::ZERO), Simulated::default());
    }
}
