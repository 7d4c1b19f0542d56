//! The engine for one process: threads, without a server.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use crate::{
    Cancel, Cause, Cores, Engine, Event, Observer, Put, Report, Results, ResultsError, RunError, Runner, Task,
    TaskFailure, TaskGraph, TaskId,
};

/// Stack of a task's thread. Main threads have this size on most systems, so a runner behaves the same on both.
pub(crate) const STACK_BYTES: usize = 8 << 20;
/// Largest number of attempts at a task whose errors are transient.
pub(crate) const ATTEMPTS: u32 = 3;

/// Runs the tasks of a graph on threads of this process.
///
/// The calling thread decides which task starts. Every attempt has its own thread, which the caller joins, so a panic
/// in a runner fails only its own task. Tasks should take milliseconds or more.
///
/// A result stays in memory until all tasks that need it have ended. If joins have a higher priority than leaves, and
/// leaves are added in depth-first order, a tree of depth D keeps at most D `concurrency` + 1 results: each running
/// task keeps at most one result of every level above it.
///
/// With [`LocalEngine::with_cores`] the engine also assigns threads to the parallel loops of tasks. While there are at
/// least as many tasks as cores, each task has one thread: throughput, for the leaves of a tree. Otherwise the running
/// tasks share the process's threads: latency, for the chain of tasks at the top of a tree or in an update.
#[derive(Clone, Debug)]
pub struct LocalEngine {
    concurrency: usize,
    cores: Option<Arc<Cores>>,
}

impl LocalEngine {
    /// An engine that runs up to `concurrency` tasks at once (at least one) and makes up to three attempts at each.
    pub fn new(concurrency: usize) -> Self {
        Self { concurrency: concurrency.max(1), cores: None }
    }

    /// Gives each task one thread while there are enough tasks.
    pub fn with_cores(mut self, cores: Arc<Cores>) -> Self {
        self.cores = Some(cores);
        self
    }

    /// The cores that a task starting now should use, if `others` tasks run and `ready` more could start. `None` means
    /// the process's threads.
    fn alone(&self, others: usize, ready: usize) -> Option<&Cores> {
        let cores = self.cores.as_deref()?;
        let enough = self.concurrency.min(others + ready + 1) >= cores.count();
        Some(cores).filter(|_| cores.count() > 1 && enough)
    }
}

impl Default for LocalEngine {
    /// One task at a time, which is right if a task uses all cores.
    fn default() -> Self {
        Self::new(1)
    }
}

impl Engine for LocalEngine {
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError> {
        if graph.is_empty() {
            return Err(RunError::Empty);
        }
        let missing = graph.missing(|id| results.contains(&graph.task(id).key))?;
        let mut run = Run::new(graph, missing);
        observer.event(&Event::Planned { tasks: graph.len(), to_run: run.report.planned });
        let failure = thread::scope(|scope| self.work(scope, &mut run, runner, results, observer, cancel));
        run.report.outcome(graph, observer, failure)
    }
}

/// How an attempt ended: the stored result, or the cause and whether to try again.
pub(crate) type Outcome = Result<(Arc<[u8]>, Put), (Cause, bool)>;

impl LocalEngine {
    /// Starts tasks and handles their ends until no task runs and none may start. Returns the first failure.
    fn work<'scope, 'env>(
        &'env self,
        scope: &'scope thread::Scope<'scope, 'env>,
        run: &mut Run<'env>,
        runner: &'env dyn Runner,
        results: &'env dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Option<(TaskId, u32, Cause)> {
        let (ended, ends) = mpsc::channel();
        let mut threads = HashMap::new();
        let mut failure = None;
        loop {
            while failure.is_none() && !cancel.is_cancelled() && threads.len() < self.concurrency {
                let Some((id, attempt)) = run.next() else { break };
                let (task, inputs) = (run.graph.task(id), run.inputs(id));
                observer.event(&Event::Started { id, task, attempt });
                let ended = ended.clone();
                // If the receiver is gone, nobody waits for the message. It outlives every thread that has a sender.
                let end = AtEnd(move || {
                    let _ = ended.send(id);
                });
                let cores = self.alone(threads.len(), run.ready.len());
                let work = move || {
                    let _end = end;
                    let attempt = || attempt_task(id, task, inputs, runner, results);
                    match cores {
                        Some(cores) => cores.run_alone(attempt),
                        None => attempt(),
                    }
                };
                let builder = thread::Builder::new().name(format!("{}-{}", task.kind, id.0)).stack_size(STACK_BYTES);
                match builder.spawn_scoped(scope, work) {
                    Ok(thread) => drop(threads.insert(id, (attempt, thread))),
                    Err(e) => failure = failure.or(Some((id, attempt, Cause::Error(Box::new(e))))),
                }
            }
            if threads.is_empty() {
                return failure;
            }
            let Ok(id) = ends.recv() else { return failure };
            let Some((attempt, thread)) = threads.remove(&id) else { continue };
            let task = run.graph.task(id);
            let outcome = thread.join().unwrap_or_else(|panic| Err((Cause::Panic(panic_text(&*panic)), false)));
            match outcome {
                Ok((bytes, put)) => {
                    let size = bytes.len();
                    run.done(id, bytes, put);
                    let done = run.report.done;
                    observer.event(&Event::Finished { id, task, bytes: size, done, by: None });
                }
                Err((cause, true)) if attempt < ATTEMPTS && failure.is_none() => {
                    observer.event(&Event::Retrying { id, task, attempt, cause: &cause.to_string() });
                    run.again(id, attempt + 1);
                }
                Err((cause, _)) => failure = failure.or(Some((id, attempt, cause))),
            }
        }
    }
}

/// Calls a function at the end of a thread, even after a panic.
pub(crate) struct AtEnd<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// Loads the inputs that are not in memory, runs the task and stores its result.
pub(crate) fn attempt_task(
    id: TaskId,
    task: &Task,
    inputs: Vec<Input>,
    runner: &dyn Runner,
    results: &dyn Results,
) -> Outcome {
    let stored = |e: ResultsError| (Cause::Results(e), false);
    let mut loaded = Vec::with_capacity(inputs.len());
    for input in inputs {
        loaded.push(match input {
            Input::Live(bytes) => bytes,
            Input::Stored(key) => results.get(&key).map_err(stored)?.ok_or_else(|| {
                let context =
                    format!("result {key}, which {} {} needs, has vanished from the store", task.kind, task.key);
                let source = "removed while the graph was running: run it again".into();
                (Cause::Results(ResultsError { context, source }), false)
            })?,
        });
    }
    let made = runner.run(id, task, &loaded).map_err(|TaskFailure { error, retry }| (Cause::Error(error), retry))?;
    let bytes: Arc<[u8]> = made.into();
    match results.put(&task.key, &bytes).map_err(stored)? {
        Put::Stored => Ok((bytes, Put::Stored)),
        // The first result stays, so all tasks build on the same bytes.
        Put::AlreadyThere => {
            let first = results.get(&task.key).map_err(stored)?;
            Ok((first.unwrap_or(bytes), Put::AlreadyThere))
        }
    }
}

/// An input of a task.
pub(crate) enum Input {
    /// Made in this run and still in memory.
    Live(Arc<[u8]>),
    /// In the store, under this key.
    Stored(crate::Key),
}

/// The state of a run.
struct Run<'g> {
    graph: &'g TaskGraph,
    /// For each task that must run: the number of its missing inputs, with repetition.
    waiting: HashMap<TaskId, usize>,
    /// For each task that must run: the tasks that need it, with repetition.
    dependents: HashMap<TaskId, Vec<TaskId>>,
    ready: BinaryHeap<(i32, Reverse<TaskId>, u32)>,
    /// Results of this run that other tasks still need, with the number of remaining uses.
    live: HashMap<TaskId, (Arc<[u8]>, usize)>,
    report: Report,
}

impl<'g> Run<'g> {
    fn new(graph: &'g TaskGraph, missing: Vec<TaskId>) -> Self {
        let mut waiting: HashMap<_, usize> = missing.iter().map(|id| (*id, 0)).collect();
        let mut dependents: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        for id in &missing {
            let needed = graph.task(*id).deps.iter().filter(|d| waiting.contains_key(d)).copied().collect::<Vec<_>>();
            waiting.insert(*id, needed.len());
            for dep in needed {
                dependents.entry(dep).or_default().push(*id);
            }
        }
        let report = Report::new(graph, missing.len());
        let mut run = Self { graph, waiting, dependents, ready: BinaryHeap::new(), live: HashMap::new(), report };
        for id in missing.into_iter().filter(|id| run.waiting[id] == 0).collect::<Vec<_>>() {
            run.push(id, 1);
        }
        run
    }

    fn push(&mut self, id: TaskId, attempt: u32) {
        self.ready.push((self.graph.task(id).priority, Reverse(id), attempt));
    }

    /// Removes the ready task to start next, with the number of its attempt.
    fn next(&mut self) -> Option<(TaskId, u32)> {
        self.ready.pop().map(|(_, Reverse(id), attempt)| (id, attempt))
    }

    fn inputs(&self, id: TaskId) -> Vec<Input> {
        let of = |d: &TaskId| match self.live.get(d) {
            Some((bytes, _)) => Input::Live(bytes.clone()),
            None => Input::Stored(self.graph.task(*d).key),
        };
        self.graph.task(id).deps.iter().map(of).collect()
    }

    fn again(&mut self, id: TaskId, attempt: u32) {
        self.report.retries += 1;
        self.push(id, attempt);
    }

    fn done(&mut self, id: TaskId, bytes: Arc<[u8]>, put: Put) {
        self.report.count(self.graph.task(id).key, bytes.len(), put);
        for dep in &self.graph.task(id).deps {
            if let Some((_, uses)) = self.live.get_mut(dep) {
                *uses -= 1;
                if *uses == 0 {
                    self.live.remove(dep);
                }
            }
        }
        let uses = self.dependents.get(&id).map_or(0, Vec::len);
        if uses > 0 {
            self.live.insert(id, (bytes, uses));
            self.report.peak_live = self.report.peak_live.max(self.live.len());
        }
        for dependent in self.dependents.get(&id).cloned().unwrap_or_default() {
            let Some(waiting) = self.waiting.get_mut(&dependent) else { continue };
            *waiting -= 1;
            if *waiting == 0 {
                self.push(dependent, 1);
            }
        }
    }
}

/// The message of a panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).into()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_alone_while_there_are_enough() {
        let cores = Arc::new(Cores::new(2).unwrap());
        let alone = |concurrency, others, ready| {
            LocalEngine::new(concurrency).with_cores(Arc::clone(&cores)).alone(others, ready).is_some()
        };
        // Five more ready tasks, one more running task, no other task.
        assert_eq!([alone(2, 0, 5), alone(2, 1, 0), alone(2, 0, 0)], [true, true, false]);
        assert!(!alone(1, 0, 5), "memory for one task: it has all threads");
        assert!(LocalEngine::new(2).alone(1, 5).is_none());
    }
}
