//! The leader's side: an engine whose tasks are worked by other processes, or by threads of this one.

use std::thread;

use super::pieces::PIECE;
use super::queue::Connection;
use super::standing::{Run, Standing};
use super::{Config, elsewhere, record, threads};
use crate::objects::Objects;
use crate::{Cancel, Engine, Event, Observer, Report, Results, RunError, Runner, TaskGraph};

/// Runs graphs on BullMQ's queue.
///
/// With [`BullmqEngine::new`] the tasks are done by whatever [`super::Worker`]s share the queue. The leader puts their
/// payloads into the object store, and takes over each result as it arrives: it judges it with [`Runner::check`] and stores
/// it in the run's [`Results`]. It keeps one flow's worth of payload hashes in memory, and no results.
///
/// A leader that dies leaves a run that goes on as far as it was planned. The next run of the same graph finds what is stored,
/// and adds the rest under new names; a job whose result is in the object store by then ends at once.
///
/// With [`BullmqEngine::local`] threads of this process do the tasks, from a queue of the run's own: the same order, locks,
/// attempts and recovery, without workers.
///
/// A run, in the leader's eyes:
///
/// ```text
///   planned ──▶ flows are added, leaves first ──▶ waiting for results ──▶ all taken over: done
///                 ▲                                  │       │
///                 │ stored results were damaged,     │       │ a task failed for good, or cancellation
///                 │ or jobs lost: at most so often   │       ▼
///                 └─────── as a task is tried ───────┘     jobs that wait are removed; those that run end by themselves
/// ```
#[derive(Clone, Debug)]
pub struct BullmqEngine {
    config: Config,
    /// Where workers elsewhere find payloads and leave results; `None` for threads of this process.
    objects: Option<Objects>,
    concurrency: usize,
    attempts: u32,
    piece: usize,
}

impl BullmqEngine {
    /// An engine whose tasks are done by workers that share the queue and `objects`, each tried up to three times.
    pub fn new(config: Config, objects: Objects) -> Self {
        Self { config, objects: Some(objects), concurrency: 0, attempts: 3, piece: PIECE }
    }

    /// An engine that runs up to `concurrency` tasks at once (at least one) on threads of this process, each tried up to
    /// three times.
    pub fn local(config: Config, concurrency: usize) -> Self {
        Self { config, objects: None, concurrency: concurrency.max(1), attempts: 3, piece: PIECE }
    }

    /// Sets how often a task is tried whose errors may pass, and how often the rest is planned anew: at least once.
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets how many jobs are added to the queue in one transaction, about 4,096 if not set. The server does nothing else
    /// meanwhile, some 0.1 ms for each.
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
        let report = Report {
            tasks: graph.len(),
            planned: missing.len(),
            skipped: graph.len() - missing.len(),
            ..Report::default()
        };
        observer.event(&Event::Planned { tasks: graph.len(), to_run: report.planned });
        if missing.is_empty() {
            return Ok(report);
        }
        let engine_error = |e| RunError::Engine(Box::new(e));
        let run = record::new_name(&graph.task(root).key);
        let mut config = self.config.clone();
        if self.objects.is_none() {
            // Workers elsewhere can not do what never leaves this process.
            config.queue = format!("{}-{run}", config.queue);
        }
        let connection = Connection::open(&config).map_err(engine_error)?;
        let standing = Standing::new(graph, observer, cancel, report, missing);
        let (attempts, piece) = (self.attempts, self.piece);
        let run = Run { graph, runner, results, connection: &connection, name: run, attempts, piece };
        match &self.objects {
            Some(objects) => thread::scope(|scope| elsewhere::work(scope, &run, standing, objects)),
            None => thread::scope(|scope| threads::work(scope, &run, standing, self.concurrency)),
        }
    }
}
