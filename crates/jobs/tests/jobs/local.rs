//! The local engine satisfies the laws of engines, and graphs refuse invalid tasks.

use std::sync::Arc;

use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::{Cancel, Cores, Engine, GraphError, Task, TaskGraph, TaskId};
use evergrove_testkit::engine;

#[test]
fn keeps_the_laws_of_engines() {
    engine::laws(&|concurrency| Box::new(LocalEngine::new(concurrency)));
    let cores = Arc::new(Cores::new(2).expect("two threads"));
    engine::laws(&|concurrency| Box::new(LocalEngine::new(concurrency).with_cores(Arc::clone(&cores))));
}

#[test]
fn tries_once_what_stays() {
    let graph = engine::tree(1);
    let notes = engine::Notes::with_faults(TaskId(0), &[engine::Fault::Permanent]);
    let local = LocalEngine::new(1);
    let results = engine::MemoryResults::new();
    let run = |notes| local.run(&graph, notes, &results, &engine::Silent, &Cancel::new());
    let failed = run(&notes).expect_err("one attempt is not enough");
    assert!(failed.to_string().contains("after 1 attempt:"), "{failed}");
    run(&notes).expect("the second run is the second attempt");
}

#[test]
fn refuses_unknown_and_duplicate_tasks() {
    let mut graph = TaskGraph::new();
    let task = |n, deps: &[usize]| Task {
        key: engine::key(n),
        kind: "leaf",
        priority: 0,
        deps: deps.iter().map(|d| TaskId(*d)).collect(),
    };
    let itself = graph.add(task(0, &[0])).expect_err("a task cannot need itself");
    assert_eq!(itself, GraphError::UnknownTask { task: TaskId(0), dep: TaskId(0) });
    graph.add(task(0, &[])).expect("valid");
    assert!(matches!(graph.add(task(1, &[5])), Err(GraphError::UnknownTask { dep: TaskId(5), .. })));
    assert!(matches!(graph.add(task(0, &[])), Err(GraphError::DuplicateKey { first: TaskId(0), .. })));
    assert_eq!(graph.len(), 1);
}
