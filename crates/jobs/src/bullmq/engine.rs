//! The leader: an engine whose tasks run in other processes, or on threads of this one.

use std::thread;

use super::flow::PIECE;
use super::queue::Connection;
use super::run::{Run, RunProgress};
use super::{Config, leader, record, threads};
use crate::objects::Objects;
use crate::{Cancel, Engine, Event, Observer, Report, Results, RunError, Runner, TaskGraph};

/// Runs graphs on a queue of BullMQ.
///
/// With [`BullmqEngine::new`], the [`super::Worker`]s that share the queue do the tasks. The leader puts the payloads
/// into the object store, and takes over each result as it arrives: it checks the result with [`Runner::check`] and
/// stores it in the run's [`Results`]. In memory it keeps the payload hashes of up to two flows, and no results.
///
/// If a leader dies, workers finish the flows that it has added. The next run of the same graph finds their results and
/// adds the remaining tasks under new names. A job whose result is in the object store by then ends at once.
///
/// With [`BullmqEngine::local`], threads of this process do the tasks, from a queue that only this run uses. Order,
/// locks, attempts and recovery are the same.
///
/// A run, as the leader sees it:
///
/// ```text
///   planned ──▶ flows are added, leaves first ──▶ waiting for results ──▶ all taken over: done
///                 ▲                                  │       │
///                 │ stored results were damaged,     │       │ a task failed for good, or cancellation
///                 │ or jobs lost: at most as often   │       ▼
///                 └─────── as a task is tried ───────┘     waiting jobs are removed; running jobs end by themselves
/// ```
#[derive(Clone, Debug)]
pub struct BullmqEngine {
    config: Config,
    /// Where remote workers find payloads and leave results. `None` if threads of this process do the tasks.
    objects: Option<Objects>,
    concurrency: usize,
    piece: usize,
}

impl BullmqEngine {
    /// An engine whose tasks are done by workers that share the queue and `objects`, with up to three attempts at each.
    pub fn new(config: Config, objects: Objects) -> Self {
        Self { config, objects: Some(objects), concurrency: 0, piece: PIECE }
    }

    /// An engine that runs up to `concurrency` tasks at once (at least one) on threads of this process, with up to
    /// three attempts at each.
    pub fn local(config: Config, concurrency: usize) -> Self {
        Self { config, objects: None, concurrency: concurrency.max(1), piece: PIECE }
    }

    /// Sets the number of jobs at which a flow is cut, 2,048 by default. A flow of a binary tree has less than twice as
    /// many. The server adds a flow in one transaction and does nothing else meanwhile, for some 0.1 ms per job.
    pub fn with_flow_size(mut self, jobs: usize) -> Self {
        self.piece = jobs.max(1);
        self
    }
}

impl Engine for BullmqEngine {
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError> {
        let Some(root) = graph.root() else { return Err(RunError::Empty) };
        let missing = graph.missing(|id| results.contains(&graph.task(id).key))?;
        let report = Report::new(graph, missing.len());
        observer.event(&Event::Planned { tasks: graph.len(), to_run: report.planned });
        if missing.is_empty() {
            return Ok(report);
        }
        let engine_error = |e| RunError::Engine(Box::new(e));
        let run = record::new_name(&graph.task(root).key);
        let mut config = self.config.clone();
        if self.objects.is_none() {
            // Remote workers cannot do these tasks, so the run gets its own queue.
            config.queue = format!("{}-{run}", config.queue);
        }
        let connection = Connection::open(&config).map_err(engine_error)?;
        let progress = RunProgress::new(graph, observer, cancel, report, missing);
        let run = Run { graph, runner, results, connection: &connection, name: run, piece: self.piece };
        match &self.objects {
            Some(objects) => thread::scope(|scope| leader::work(scope, &run, progress, objects)),
            None => thread::scope(|scope| threads::work(scope, &run, progress, self.concurrency)),
        }
    }
}
