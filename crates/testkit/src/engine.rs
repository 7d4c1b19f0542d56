//! The laws of `evergrove_jobs::Engine`, and strict doubles for testing engines.
//!
//! Each law takes a function that makes an engine of a given concurrency. [`laws`] checks all of them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evergrove_jobs::{
    Cancel, Cause, Engine, Event, Key, Observer, Put, Results, ResultsError, RunError, Runner, Task, TaskFailure,
    TaskGraph, TaskId,
};

/// Makes an engine that runs up to the given number of tasks at a time and tries each task up to three times.
pub type Make<'a> = &'a dyn Fn(usize) -> Box<dyn Engine>;

/// Checks every law of this module.
pub fn laws(make: Make<'_>) {
    runs_each_task_once(make);
    gives_inputs_in_order(make);
    resumes(make);
    skips_what_only_stored_results_need(make);
    keeps_the_first_result(make);
    reports_failure_with_cause(make);
    retries_what_may_pass(make);
    catches_panics(make);
    stops_when_cancelled(make);
    starts_the_highest_priority_first(make);
    bounds_live_results(make);
    reports_a_store_that_fails(make);
    refuses_an_empty_graph(make);
}

/// The key of test task `n`.
pub fn key(n: usize) -> Key {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(n as u64).to_le_bytes());
    Key(bytes)
}

/// A complete binary tree of 2^depth leaves, added in depth-first order. Joins have a higher priority than leaves. Task
/// i has [`key`] i. The result of a join contains those of its inputs, so the root's result shows the whole tree.
pub fn tree(depth: u32) -> TaskGraph {
    fn add(graph: &mut TaskGraph, depth: u32) -> TaskId {
        let (kind, deps) = match depth {
            0 => ("leaf", Vec::new()),
            _ => ("join", vec![add(graph, depth - 1), add(graph, depth - 1)]),
        };
        let task = Task { key: key(graph.len()), kind, priority: depth as i32, deps };
        graph.add(task).expect("a tree is acyclic and its keys are distinct")
    }
    let mut graph = TaskGraph::new();
    add(&mut graph, depth);
    graph
}

/// A strict double of a runner: it joins inputs as text, records every call, and asserts that the inputs are those of
/// the graph.
#[derive(Default)]
pub struct Notes {
    /// Tasks in the order in which their attempts began.
    pub started: Mutex<Vec<TaskId>>,
    /// Faults of the attempts of each task, in order. An attempt beyond the list succeeds.
    pub faults: Mutex<HashMap<TaskId, Vec<Fault>>>,
    running: AtomicUsize,
    /// The greatest number of tasks that ran at one time.
    pub most: AtomicUsize,
}

/// A fault of an attempt, in place of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error that may not recur.
    Transient,
    /// A permanent error.
    Permanent,
    /// A panic.
    Panic,
}

impl Notes {
    /// A runner without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A runner in which each attempt of `task` has the next fault of `faults`.
    pub fn with_faults(task: TaskId, faults: &[Fault]) -> Self {
        let notes = Self::new();
        notes.faults.lock().expect("not poisoned").insert(task, faults.to_vec());
        notes
    }

    /// The tasks in the order in which their attempts began.
    pub fn order(&self) -> Vec<TaskId> {
        self.started.lock().expect("not poisoned").clone()
    }

    /// The result that `task` must have.
    pub fn expected(graph: &TaskGraph, id: TaskId) -> Vec<u8> {
        let task = graph.task(id);
        let inputs: Vec<_> = task.deps.iter().map(|d| Self::expected(graph, *d)).collect();
        Self::result(id, &inputs)
    }

    fn result(id: TaskId, inputs: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let mut text = format!("{}(", id.0).into_bytes();
        inputs.iter().for_each(|i| text.extend_from_slice(i.as_ref()));
        text.push(b')');
        text
    }
}

impl Runner for Notes {
    fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        assert_eq!(inputs.len(), task.deps.len(), "an engine gives every input");
        self.started.lock().expect("not poisoned").push(id);
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_micros(200));
        self.running.fetch_sub(1, Ordering::SeqCst);
        let mut faults = self.faults.lock().expect("not poisoned");
        let fault = faults.get_mut(&id).filter(|f| !f.is_empty()).map(|f| f.remove(0));
        drop(faults);
        match fault {
            None => Ok(Self::result(id, inputs)),
            Some(Fault::Transient) => Err(TaskFailure::transient("a fault that may pass")),
            Some(Fault::Permanent) => Err(TaskFailure::permanent("a fault that stays")),
            Some(Fault::Panic) => panic!("a fault of the runner"),
        }
    }
}

/// The observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}

/// Results in memory.
#[derive(Debug, Default)]
pub struct MemoryResults(Mutex<HashMap<Key, Arc<[u8]>>>);

impl MemoryResults {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of results.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// True if the store is empty.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Removes a result. Returns whether the key had one.
    pub fn remove(&self, key: &Key) -> bool {
        self.lock().remove(key).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<[u8]>>> {
        // A panic elsewhere does not damage the map: each method leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Results for MemoryResults {
    fn get(&self, key: &Key) -> Result<Option<Arc<[u8]>>, ResultsError> {
        Ok(self.lock().get(key).cloned())
    }

    fn put(&self, key: &Key, bytes: &Arc<[u8]>) -> Result<Put, ResultsError> {
        match self.lock().entry(*key) {
            Entry::Occupied(_) => Ok(Put::AlreadyThere),
            Entry::Vacant(slot) => {
                slot.insert(bytes.clone());
                Ok(Put::Stored)
            }
        }
    }

    fn contains(&self, key: &Key) -> Result<bool, ResultsError> {
        Ok(self.lock().contains_key(key))
    }
}

/// A store of results that fails after a number of calls of `put`, and keeps failing.
pub struct FailingResults {
    /// The store of the results.
    pub inner: MemoryResults,
    puts_left: AtomicUsize,
}

impl FailingResults {
    /// A store that accepts `puts` results.
    pub fn after(puts: usize) -> Self {
        Self { inner: MemoryResults::new(), puts_left: AtomicUsize::new(puts) }
    }
}

impl Results for FailingResults {
    fn get(&self, key: &Key) -> Result<Option<Arc<[u8]>>, ResultsError> {
        self.inner.get(key)
    }
    fn put(&self, key: &Key, bytes: &Arc<[u8]>) -> Result<Put, ResultsError> {
        let left = self.puts_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        match left {
            Ok(_) => self.inner.put(key, bytes),
            Err(_) => Err(ResultsError { context: format!("result {key}"), source: "no space left".into() }),
        }
    }
    fn contains(&self, key: &Key) -> Result<bool, ResultsError> {
        self.inner.contains(key)
    }
}

/// Every task runs once and is stored once at any concurrency, and at most `concurrency` tasks run at a time.
pub fn runs_each_task_once(make: Make<'_>) {
    for concurrency in [1, 2, 5] {
        let (graph, notes, results) = (tree(4), Notes::new(), MemoryResults::new());
        let report = make(concurrency).run(&graph, &notes, &results, &Silent, &Cancel::new()).expect("runs");
        let order = notes.order();
        assert_eq!(order.len(), graph.len());
        assert_eq!(order.iter().collect::<HashSet<_>>().len(), graph.len());
        assert_eq!((report.tasks, report.planned, report.done, report.skipped), (31, 31, 31, 0));
        assert_eq!((results.len(), report.done_keys.len()), (31, 31));
        assert!(notes.most.load(Ordering::SeqCst) <= concurrency);
    }
}

/// Each task gets the results of its dependencies in order, even if two tasks need the same result or one task needs a
/// result twice. The root's result shows it.
pub fn gives_inputs_in_order(make: Make<'_>) {
    let mut graph = tree(3);
    let root = graph.root().expect("has tasks");
    let shared = Task { key: key(100), kind: "join", priority: 9, deps: vec![root, TaskId(0), root, TaskId(0)] };
    let top = graph.add(shared).expect("valid");
    let results = MemoryResults::new();
    make(3).run(&graph, &Notes::new(), &results, &Silent, &Cancel::new()).expect("runs");
    let bytes = results.get(&key(100)).expect("answers").expect("is stored");
    assert_eq!(*bytes, *Notes::expected(&graph, top));
}

/// After a failure, a second run does only the missing work; a third run does nothing.
pub fn resumes(make: Make<'_>) {
    let graph = tree(4);
    let results = FailingResults::after(13);
    make(1).run(&graph, &Notes::new(), &results, &Silent, &Cancel::new()).expect_err("13 results fit");
    assert_eq!(results.inner.len(), 13);
    let notes = Notes::new();
    let report = make(2).run(&graph, &notes, &results.inner, &Silent, &Cancel::new()).expect("runs");
    assert_eq!((report.done, notes.order().len(), results.inner.len()), (18, 18, 31));
    let again = make(2).run(&graph, &Notes::new(), &results.inner, &Silent, &Cancel::new()).expect("runs");
    assert_eq!((again.done, again.skipped), (0, 31));
}

/// If a result is stored, tasks that only it needs do not run.
pub fn skips_what_only_stored_results_need(make: Make<'_>) {
    let graph = tree(3);
    let root = graph.root().expect("has tasks");
    let left = graph.task(root).deps[0];
    let results = MemoryResults::new();
    results.put(&graph.task(left).key, &Notes::expected(&graph, left).into()).expect("stores");
    let notes = Notes::new();
    let report = make(2).run(&graph, &notes, &results, &Silent, &Cancel::new()).expect("runs");
    assert_eq!((report.done, report.skipped), (8, 7));
    assert!(notes.order().iter().all(|id| *id > left));
    let bytes = results.get(&graph.task(root).key).expect("answers").expect("is stored");
    assert_eq!(*bytes, *Notes::expected(&graph, root));
}

/// If someone else stores a result while the task runs, that result stays, and dependents get it.
pub fn keeps_the_first_result(make: Make<'_>) {
    /// Stores a result under the task's own key before returning another one.
    struct Late<'a>(&'a MemoryResults);
    impl Runner for Late<'_> {
        fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
            if id.0 == 0 {
                self.0.put(&task.key, &b"first"[..].into()).map_err(TaskFailure::permanent)?;
            }
            Ok(inputs.first().map_or(b"second".to_vec(), |i| i.to_vec()))
        }
    }
    let results = MemoryResults::new();
    let mut graph = TaskGraph::new();
    let leaf = graph.add(Task { key: key(0), kind: "leaf", priority: 0, deps: vec![] }).expect("valid");
    graph.add(Task { key: key(1), kind: "join", priority: 1, deps: vec![leaf] }).expect("valid");
    let report = make(1).run(&graph, &Late(&results), &results, &Silent, &Cancel::new()).expect("runs");
    assert_eq!(report.duplicates, 1);
    assert_eq!(&*results.get(&key(1)).expect("answers").expect("is stored"), b"first");
}

/// A permanent failure is tried once and reported with task, key and cause. No dependent runs, no other task starts,
/// and finished results stay stored.
pub fn reports_failure_with_cause(make: Make<'_>) {
    let graph = tree(4);
    let fails = TaskId(3);
    let (notes, results) = (Notes::with_faults(fails, &[Fault::Permanent]), MemoryResults::new());
    let seen = Mutex::new(Vec::new());
    let observer = |e: &Event<'_>| {
        if let Event::Failed { id, cause, .. } = e {
            seen.lock().expect("not poisoned").push((*id, (*cause).to_string()));
        }
    };
    match make(1).run(&graph, &notes, &results, &observer, &Cancel::new()) {
        Err(RunError::Failed { task, key: k, attempts, cause: Cause::Error(e), report, .. }) => {
            assert_eq!((task, k, attempts), (fails, key(3), 1));
            assert!(e.to_string().contains("stays"));
            assert_eq!(report.done, results.len());
        }
        other => panic!("expected the failure of task 3, found {other:?}"),
    }
    assert_eq!(*seen.lock().expect("not poisoned"), [(fails, "a fault that stays".to_string())]);
    let started = notes.order();
    assert_eq!(started.last(), Some(&fails), "nothing starts after a failure");
    assert_eq!(results.len(), started.len() - 1);
}

/// A transient error is tried up to three times.
pub fn retries_what_may_pass(make: Make<'_>) {
    let graph = tree(2);
    let (notes, results) = (Notes::with_faults(TaskId(1), &[Fault::Transient; 2]), MemoryResults::new());
    let report = make(2).run(&graph, &notes, &results, &Silent, &Cancel::new()).expect("the third attempt succeeds");
    assert_eq!((report.retries, report.done, notes.order().len()), (2, 7, 9));
    let notes = Notes::with_faults(TaskId(1), &[Fault::Transient; 3]);
    match make(1).run(&graph, &notes, &MemoryResults::new(), &Silent, &Cancel::new()) {
        Err(RunError::Failed { task, attempts, .. }) => assert_eq!((task, attempts), (TaskId(1), 3)),
        other => panic!("expected a failure, found {other:?}"),
    }
}

/// A panic in a runner fails its task with the message of the panic, and the engine continues to work.
pub fn catches_panics(make: Make<'_>) {
    let graph = tree(2);
    let engine = make(2);
    let (notes, results) = (Notes::with_faults(TaskId(2), &[Fault::Panic]), MemoryResults::new());
    match engine.run(&graph, &notes, &results, &Silent, &Cancel::new()) {
        Err(RunError::Failed { task, cause: Cause::Panic(text), .. }) => {
            assert_eq!(task, TaskId(2));
            assert_eq!(text, "a fault of the runner");
        }
        other => panic!("expected a panic's report, found {other:?}"),
    }
    engine.run(&graph, &Notes::new(), &results, &Silent, &Cancel::new()).expect("the engine still works");
}

/// After cancellation no task starts, finished results stay stored, and a later run completes the work.
pub fn stops_when_cancelled(make: Make<'_>) {
    let (graph, results, cancel) = (tree(4), MemoryResults::new(), Cancel::new());
    let observer = |e: &Event<'_>| {
        if matches!(e, Event::Finished { done: 5, .. }) {
            cancel.cancel();
        }
    };
    match make(1).run(&graph, &Notes::new(), &results, &observer, &cancel) {
        Err(RunError::Cancelled { report }) => assert_eq!((report.done, results.len()), (5, 5)),
        other => panic!("expected cancellation, found {other:?}"),
    }
    let report = make(1).run(&graph, &Notes::new(), &results, &Silent, &Cancel::new()).expect("runs");
    assert_eq!(report.done, graph.len() - 5);
}

/// Among ready tasks the one with the highest priority starts first, and at equal priority the one added first. So a
/// tree runs in the order in which it was added.
pub fn starts_the_highest_priority_first(make: Make<'_>) {
    let (graph, notes) = (tree(4), Notes::new());
    make(1).run(&graph, &notes, &MemoryResults::new(), &Silent, &Cancel::new()).expect("runs");
    let added: Vec<_> = graph.iter().map(|(id, _)| id).collect();
    assert_eq!(notes.order(), added);

    let mut graph = TaskGraph::new();
    let leaf = |n: usize, priority| Task { key: key(n), kind: "leaf", priority, deps: vec![] };
    let deps = [3, 1, 2, 3].iter().enumerate().map(|(n, p)| graph.add(leaf(n, *p)).expect("valid")).collect();
    graph.add(Task { key: key(9), kind: "join", priority: 0, deps }).expect("valid");
    let notes = Notes::new();
    make(1).run(&graph, &notes, &MemoryResults::new(), &Silent, &Cancel::new()).expect("runs");
    assert_eq!(notes.order(), [0, 3, 2, 1, 4].map(TaskId));
}

/// An engine of concurrency c keeps at most D c + 1 results of a tree of depth D in memory.
pub fn bounds_live_results(make: Make<'_>) {
    for concurrency in [1, 3] {
        let graph = tree(6);
        let report =
            make(concurrency).run(&graph, &Notes::new(), &MemoryResults::new(), &Silent, &Cancel::new()).expect("runs");
        assert!(report.peak_live <= 6 * concurrency + 1, "{} results at {concurrency} tasks", report.peak_live);
    }
}

/// If a store refuses a result, the task fails with the store's own message.
pub fn reports_a_store_that_fails(make: Make<'_>) {
    match make(2).run(&tree(3), &Notes::new(), &FailingResults::after(4), &Silent, &Cancel::new()) {
        Err(RunError::Failed { cause: Cause::Results(e), .. }) => assert!(e.to_string().contains("no space left")),
        other => panic!("expected the store's failure, found {other:?}"),
    }
}

/// A graph without tasks has no root, so the engine refuses it.
pub fn refuses_an_empty_graph(make: Make<'_>) {
    let outcome = make(1).run(&TaskGraph::new(), &Notes::new(), &MemoryResults::new(), &Silent, &Cancel::new());
    assert!(matches!(outcome, Err(RunError::Empty)));
}
