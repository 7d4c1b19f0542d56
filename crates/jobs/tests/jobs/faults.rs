//! Faults of a cluster. Its workers, leader, Redis and object store fail; every task is still done once, or the run
//! fails with the cause.
//!
//! The workers and leaders that are killed are processes of this test program.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use evergrove_jobs::bullmq::admin::{Admin, State};
use evergrove_jobs::bullmq::{BullmqEngine, Config, Redis, RunState, Worker, WorkerConfig, WorkerEvent, WorkerReport};
use evergrove_jobs::objects::Objects;
use evergrove_jobs::{
    Cancel, Cause, Engine, Event, Job, Report, Results, RunError, Task, TaskFailure, TaskGraph, TaskId, Unfit, Work,
};
use evergrove_testkit::engine::{self, MemoryResults};
use evergrove_testkit::faults::FaultyObjects;
use evergrove_testkit::servers::RedisServer;
use evergrove_testkit::text::{Deed, TextTasks, TextWork, expected};

/// The environment variables of such a process: its role.
const ROLE: &str = "EVERGROVE_TEST_ROLE";
/// The URL of its Redis server.
const REDIS: &str = "EVERGROVE_TEST_REDIS";
/// Its directory of objects.
const OBJECTS: &str = "EVERGROVE_TEST_OBJECTS";
/// Time after which a run is cancelled.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time that a task takes.
const TASK: Duration = Duration::from_millis(10);

fn config(url: &str) -> Config {
    let redis = Redis::new(url, None).expect("valid");
    Config { lock: Duration::from_millis(1000), back_off: Duration::from_millis(20), ..Config::new(redis) }
}

fn objects(dir: &Path) -> Objects {
    Objects::open(&format!("file://{}", dir.display()), []).expect("opens")
}

/// A Redis server and a directory for objects.
struct Cluster {
    redis: RedisServer,
    dir: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Option<Self> {
        Some(Self { redis: RedisServer::start()?, dir: tempfile::tempdir().expect("a directory") })
    }

    fn objects(&self) -> Objects {
        objects(self.dir.path())
    }

    fn config(&self) -> Config {
        config(&self.redis.url())
    }

    /// Redis's answer to a command without arguments that contain spaces.
    fn ask(&self, command: &str) -> String {
        let address = format!("127.0.0.1:{}", self.redis.port());
        let mut server = TcpStream::connect(&address).expect("the server listens");
        server.write_all(format!("{command}\r\n").as_bytes()).expect("the server reads");
        let mut answer = [0; 256];
        let length = server.read(&mut answer).expect("the server answers");
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("executions")
    }

    /// Number of executions of each task.
    fn executions(&self) -> HashMap<usize, usize> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let mut counts = HashMap::new();
        text.lines().filter_map(|l| l.parse().ok()).for_each(|id| *counts.entry(id).or_default() += 1);
        counts
    }

    fn process(&self, role: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["faults::a_process", "--exact", "--nocapture"]).env(ROLE, role);
        command.env(REDIS, self.redis.url()).env(OBJECTS, self.dir.path());
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs"))
    }

    /// Runs a graph on the workers that exist, for at most [`PATIENCE`].
    fn lead(&self, graph: &TaskGraph, tasks: &TextTasks, results: &MemoryResults) -> Result<Report, RunError> {
        lead(&self.config(), &self.objects(), graph, tasks, results, &|_| {}, &Cancel::new())
    }
}

fn lead(
    config: &Config,
    objects: &Objects,
    graph: &TaskGraph,
    tasks: &TextTasks,
    results: &MemoryResults,
    observer: &dyn Fn(&Event<'_>),
    cancel: &Cancel,
) -> Result<Report, RunError> {
    let engine = BullmqEngine::new(config.clone(), objects.clone()).with_flow_size(40);
    let begin = Instant::now();
    let observer = |event: &Event<'_>| {
        observer(event);
        if begin.elapsed() > PATIENCE {
            cancel.cancel();
        }
    };
    engine.run(graph, tasks, results, &observer, cancel)
}

/// A process that is killed at the end of the test, if it still runs.
struct Process(Child);

impl Process {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Not a test: the main function of the tests' processes.
#[test]
fn a_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (url, dir) = (std::env::var(REDIS).expect("set"), PathBuf::from(std::env::var(OBJECTS).expect("set")));
    match role.as_str() {
        "worker" | "worker of one" => {
            let log = Some(dir.join("executions"));
            let concurrency = if role == "worker" { 2 } else { 1 };
            let worker = WorkerConfig { queue: config(&url), objects: objects(&dir), concurrency, name: role };
            Worker::run(&worker, &TextWork { log }, &|_| {}, &Cancel::new()).expect("works until it is killed");
        }
        "leader" => {
            let (graph, tasks) = (engine::tree(6), TextTasks::new(TASK));
            let _ = lead(&config(&url), &objects(&dir), &graph, &tasks, &MemoryResults::new(), &|_| {}, &Cancel::new());
        }
        other => panic!("there is no role {other}"),
    }
}

/// Runs a worker for texts in this process during `during`.
fn with_worker<T>(
    config: &WorkerConfig,
    observe: &(dyn Fn(&WorkerEvent<'_>) + Sync),
    during: impl FnOnce() -> T,
) -> (T, WorkerReport) {
    with_work(config, &TextWork { log: None }, observe, during)
}

/// Runs a worker for `work` in this process during `during`.
fn with_work<T>(
    config: &WorkerConfig,
    work: &dyn Work,
    observe: &(dyn Fn(&WorkerEvent<'_>) + Sync),
    during: impl FnOnce() -> T,
) -> (T, WorkerReport) {
    /// Ends the worker even if an assertion fails.
    struct AtEnd<'a>(&'a Cancel);
    impl Drop for AtEnd<'_> {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let drain = Cancel::new();
    thread::scope(|scope| {
        let worker = scope.spawn(|| Worker::run(config, work, observe, &drain).expect("works"));
        let end = AtEnd(&drain);
        let outcome = during();
        drop(end);
        (outcome, worker.join().expect("the worker does not panic"))
    })
}

/// Asserts that few tasks were executed twice. A task may run twice if a process died during it, or if a slow machine
/// took it from a live worker.
fn check_executions(cluster: &Cluster, tasks: usize) {
    let executions = cluster.executions();
    assert_eq!(executions.len(), tasks);
    let total: usize = executions.values().sum();
    assert!(total <= tasks + tasks / 4, "{total} executions of {tasks} tasks");
}

/// Every result is stored once and equals its definition.
fn check(graph: &TaskGraph, results: &MemoryResults) {
    assert_eq!(results.len(), graph.len());
    for (id, task) in graph.iter() {
        let bytes = results.get(&task.key).expect("answers").expect("is stored");
        assert_eq!(*bytes, *expected(graph, id), "task {}", id.0);
    }
}

/// Waits until `count` results are stored.
fn wait_for(objects: &Objects, count: usize) {
    let begin = Instant::now();
    while objects.list().map_or(0, |(found, _)| found.len()) < count {
        assert!(begin.elapsed() < PATIENCE, "fewer than {count} results after {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_worker_loses_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(6), MemoryResults::new());
    let (mut victim, _other) = (cluster.process("worker"), cluster.process("worker"));
    let objects = cluster.objects();
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&objects, 20);
            victim.kill();
        });
        let report = cluster.lead(&graph, &TextTasks::new(TASK), &results).expect("runs");
        assert_eq!((report.done, report.planned), (127, 127));
    });
    check(&graph, &results);
    check_executions(&cluster, 127);
}

#[test]
fn a_killed_leader_is_followed() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(6), MemoryResults::new());
    let (mut leader, _worker) = (cluster.process("leader"), cluster.process("worker"));
    wait_for(&cluster.objects(), 20);
    leader.kill();
    let report = cluster.lead(&graph, &TextTasks::new(TASK), &results).expect("runs");
    assert_eq!(report.done, 127);
    assert!(report.duplicates >= 20, "what the first leader's run has made is taken: {}", report.duplicates);
    check(&graph, &results);
    check_executions(&cluster, 127);
}

#[test]
fn a_killed_redis_loses_nothing() {
    let Some(mut cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(6), MemoryResults::new());
    let _worker = cluster.process("worker");
    let (objects, config) = (cluster.objects(), cluster.config());
    let report = thread::scope(|scope| {
        let run =
            scope.spawn(|| lead(&config, &objects, &graph, &TextTasks::new(TASK), &results, &|_| {}, &Cancel::new()));
        wait_for(&objects, 20);
        cluster.redis.kill();
        thread::sleep(Duration::from_millis(300));
        cluster.redis.restart();
        run.join().expect("the leader does not panic").expect("runs")
    });
    assert_eq!(report.done, 127);
    check(&graph, &results);
    check_executions(&cluster, 127);
}

#[test]
#[ignore = "faults: seconds, workers and Redis are killed 18 times"]
fn everything_is_killed_again_and_again() {
    let Some(mut cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(9), MemoryResults::new());
    let (objects, config) = (cluster.objects(), cluster.config());
    let report = thread::scope(|scope| {
        let run =
            scope.spawn(|| lead(&config, &objects, &graph, &TextTasks::new(TASK), &results, &|_| {}, &Cancel::new()));
        let mut workers = [cluster.process("worker"), cluster.process("worker")];
        for round in 1..=18 {
            wait_for(&objects, 50 * round);
            if round % 3 == 0 {
                cluster.redis.restart();
            } else {
                workers[round % 2] = cluster.process("worker");
            }
        }
        run.join().expect("the leader does not panic").expect("runs")
    });
    assert_eq!(report.done, 1023);
    check(&graph, &results);
    check_executions(&cluster, 1023);
}

#[test]
fn a_worker_that_sleeps_too_long_is_too_late() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(5), MemoryResults::new());
    let (sleeper, _other) = (cluster.process("worker"), cluster.process("worker"));
    let objects = cluster.objects();
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&objects, 10);
            sleeper.signal("-STOP");
            thread::sleep(Duration::from_millis(2500));
            // By now other workers have done its jobs and stored the results.
            sleeper.signal("-CONT");
        });
        assert_eq!(cluster.lead(&graph, &TextTasks::new(TASK), &results).expect("runs").done, 63);
    });
    check(&graph, &results);
}

#[test]
fn a_task_that_kills_its_workers_fails() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(2), MemoryResults::new());
    let ended = Cancel::new();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let mut worker = cluster.process("worker of one");
            while !ended.is_cancelled() {
                if worker.0.try_wait().expect("asked").is_some() {
                    worker = cluster.process("worker of one");
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        let outcome = cluster.lead(&graph, &TextTasks::new(TASK).with(3, Deed::Abort), &results);
        ended.cancel();
        outcome
    });
    match outcome {
        Err(RunError::Failed { task, cause: Cause::Error(e), .. }) => {
            assert_eq!(task, TaskId(3));
            assert!(e.to_string().contains("ends its worker"), "{e}");
        }
        other => panic!("expected the failure of task 3, found {other:?}"),
    }
    assert!(results.get(&engine::key(6)).expect("answers").is_none());
}

#[test]
fn a_failure_is_reported_with_its_cause() {
    let Some(cluster) = Cluster::start() else { return };
    // A job whose lock is lost is done twice. On a busy machine, attempts can only be counted with a long lock.
    let queue = cluster.config().with_lock(Duration::from_secs(60));
    let worker = WorkerConfig { queue, objects: cluster.objects(), concurrency: 1, name: "one".into() };
    let graph = engine::tree(4);
    let run = |deed| cluster.lead(&graph, &TextTasks::new(Duration::ZERO).with(7, deed), &MemoryResults::new());
    let failures = Mutex::new(Vec::new());
    let observe = |event: &WorkerEvent<'_>| {
        if let WorkerEvent::Failed { cause, .. } = event {
            failures.lock().expect("not poisoned").push((*cause).to_owned());
        }
    };
    let (outcomes, _) = with_worker(&worker, &observe, || [Deed::Fail, Deed::FailAgain, Deed::Panic].map(run));
    for (outcome, (wanted, text)) in
        outcomes.into_iter().zip([(1, "fails for good"), (3, "fails again"), (1, "panicked: task 7")])
    {
        match outcome {
            Err(RunError::Failed { task, attempts, cause: Cause::Error(e), kind, report, .. }) => {
                assert_eq!((task, attempts, kind), (TaskId(7), wanted, "leaf"));
                assert!(e.to_string().contains(text), "{e}");
                assert_eq!(report.retries, wanted as usize - 1);
            }
            other => panic!("expected the failure of task 7, found {other:?}"),
        }
    }
    let failures = failures.into_inner().expect("not poisoned");
    assert_eq!(failures.len(), 5, "once, three times and once: {failures:?}");
    let admin = Admin::connect(&cluster.config()).expect("connects");
    let counts: HashMap<_, _> = admin.counts().expect("answers").into_iter().collect();
    for state in [State::Waiting, State::Prioritized, State::WaitingChildren, State::Delayed, State::Active] {
        assert_eq!(counts[&state], 0, "{state}");
    }
    let failed = admin.list(State::Failed, 0, 10).expect("answers");
    let causes = failed.iter().filter(|j| !j.failed_reason.starts_with("child "));
    assert_eq!(causes.count(), 3, "the jobs that failed stay to be looked at");
    assert!(failed.iter().any(|j| j.failed_reason.contains("fails for good")));
    let runs = admin.runs().expect("answers");
    assert!(runs.iter().all(|r| r.state == RunState::Failed && r.cause.is_some()));
}

#[test]
fn no_job_of_a_failed_run_starts_without_its_inputs() {
    let Some(cluster) = Cluster::start() else { return };
    let queue = cluster.config().with_lock(Duration::from_secs(60));
    let worker = WorkerConfig { queue, objects: cluster.objects(), concurrency: 1, name: "one".into() };
    let graph = engine::tree(6);
    let failures = Mutex::new(Vec::new());
    let observe = |event: &WorkerEvent<'_>| {
        if let WorkerEvent::Failed { cause, .. } = event {
            failures.lock().expect("not poisoned").push((*cause).to_owned());
        }
    };
    let tasks = TextTasks::new(Duration::ZERO).with(0, Deed::Fail);
    with_worker(&worker, &observe, || {
        for _ in 0..20 {
            // A server without scripts refuses the first calls of each, as a new one does.
            assert_eq!(cluster.ask("SCRIPT FLUSH"), "+OK\r\n");
            match cluster.lead(&graph, &tasks, &MemoryResults::new()) {
                Err(RunError::Failed { task, .. }) => assert_eq!(task, TaskId(0)),
                other => panic!("expected the failure of task 0, found {other:?}"),
            }
        }
    });
    let failures = failures.into_inner().expect("not poisoned");
    assert_eq!(failures, vec!["task 0 fails for good"; 20]);
}

#[test]
fn what_is_damaged_is_made_again() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, objects) = (engine::tree(4), cluster.objects());
    let worker = WorkerConfig { queue: cluster.config(), objects: objects.clone(), concurrency: 2, name: "one".into() };
    // A stored result that no task made.
    objects.put(&engine::key(5), b"5(nonsense").expect("stores");
    let damage = |key: usize| {
        objects.delete(&engine::key(key)).expect("deletes");
        objects.put(&engine::key(key), &[0xff; 20]).expect("stores");
    };
    let (damaged, results) = (Mutex::new(false), MemoryResults::new());
    let observer = |event: &Event<'_>| {
        // Replaces a stored input after the leader has taken it over.
        if let Event::Finished { id: TaskId(0), .. } = event
            && !std::mem::replace(&mut *damaged.lock().expect("not poisoned"), true)
        {
            damage(0);
        }
    };
    let run = || {
        lead(
            &cluster.config(),
            &objects,
            &graph,
            &TextTasks::new(Duration::from_millis(30)),
            &results,
            &observer,
            &Cancel::new(),
        )
    };
    let (report, _) = with_worker(&worker, &|_| {}, run);
    assert_eq!(report.expect("runs").done, graph.len());
    check(&graph, &results);
    for (id, task) in graph.iter().filter(|(id, _)| id.0 != 0) {
        let stored = objects.get(&task.key).expect("answers");
        assert_eq!(stored, Some(expected(&graph, id)), "task {}", id.0);
    }
}

#[test]
fn many_damaged_inputs_are_made_again() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, objects, results) = (engine::tree(4), cluster.objects(), MemoryResults::new());
    let leaves: Vec<_> = graph.iter().filter(|(_, t)| t.kind == "leaf").map(|(id, _)| id).take(6).collect();
    for id in &leaves {
        // The leader has the valid result, and the workers' store has rubbish.
        let key = graph.task(*id).key;
        results.put(&key, &expected(&graph, *id).into()).expect("stores");
        objects.put(&key, b"rubbish").expect("stores");
    }
    let worker = WorkerConfig { queue: cluster.config(), objects, concurrency: 2, name: "one".into() };
    let (outcome, _) = with_worker(&worker, &|_| {}, || cluster.lead(&graph, &TextTasks::new(TASK), &results));
    assert_eq!(outcome.expect("runs").done, graph.len() - leaves.len());
    check(&graph, &results);
}

/// Work of another version, which cannot do the jobs.
struct OtherVersion;

impl Work for OtherVersion {
    fn admit(&self, _: &Job) -> Result<(), TaskFailure> {
        Err(TaskFailure::transient(Unfit { reason: "another version".into() }))
    }

    fn execute(&self, job: &Job, _: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        self.admit(job).map(|()| Vec::new())
    }

    fn check(&self, job: &Job, _: &[u8]) -> Result<(), TaskFailure> {
        self.admit(job)
    }
}

#[test]
fn a_worker_that_is_not_fit_costs_no_attempt() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, results, tasks) = (engine::tree(2), MemoryResults::new(), TextTasks::new(Duration::ZERO));
    let unfit =
        WorkerConfig { queue: cluster.config(), objects: cluster.objects(), concurrency: 1, name: "unfit".into() };
    let postponed = AtomicUsize::new(0);
    let observe = |event: &WorkerEvent<'_>| {
        if let WorkerEvent::Postponed { cause, .. } = event {
            assert_eq!(*cause, "another version");
            postponed.fetch_add(1, Ordering::SeqCst);
        }
    };
    // Each leaf is postponed more often than a task is tried. Then a worker comes that can do it.
    let begun = AtomicUsize::new(0);
    let attempts = |event: &Event<'_>| match event {
        Event::Started { attempt, .. } => {
            assert_eq!(*attempt, 1, "what was put off does not count");
            begun.fetch_add(1, Ordering::SeqCst);
        }
        Event::Postponed { .. } | Event::Finished { .. } => drop(begun.fetch_sub(1, Ordering::SeqCst)),
        _ => {}
    };
    let run = || {
        let (config, objects) = (cluster.config(), cluster.objects());
        lead(&config, &objects, &graph, &tasks, &results, &attempts, &Cancel::new())
    };
    let ((report, done), refused) = with_work(&unfit, &OtherVersion, &observe, || {
        thread::scope(|scope| {
            let leader = scope.spawn(run);
            let begin = Instant::now();
            while postponed.load(Ordering::SeqCst) < 20 {
                assert!(begin.elapsed() < PATIENCE, "the jobs are not put off");
                thread::sleep(Duration::from_millis(5));
            }
            let fit = WorkerConfig { name: "fit".into(), ..unfit.clone() };
            with_worker(&fit, &|_| {}, || leader.join().expect("the leader does not panic"))
        })
    });
    let report = report.expect("runs");
    assert_eq!((report.done, report.retries, done.failed, refused.failed), (7, 0, 0, 0));
    assert_eq!(begun.into_inner(), 0, "each beginning has its end");
    check(&graph, &results);

    // If no worker can do a job, the run fails with that cause, after a time in which other workers could have come.
    let before = postponed.load(Ordering::SeqCst);
    let (outcome, _) = with_work(&unfit, &OtherVersion, &observe, || {
        cluster.lead(&engine::tree(0), &TextTasks::new(TASK), &MemoryResults::new())
    });
    match outcome {
        Err(RunError::Failed { attempts: 3, cause: Cause::Error(e), .. }) => {
            assert_eq!(e.to_string(), "another version")
        }
        other => panic!("expected the worker's refusal, found {other:?}"),
    }
    assert!(postponed.into_inner() >= before + 100);
}

/// Number of objects with payloads, over all runs.
fn payloads(cluster: &Cluster) -> usize {
    let Ok(runs) = std::fs::read_dir(cluster.dir.path().join("payloads")) else { return 0 };
    runs.flatten().map(|run| std::fs::read_dir(run.path()).map_or(0, Iterator::count)).sum()
}

#[test]
fn payloads_go_when_their_run_has_ended() {
    let Some(cluster) = Cluster::start() else { return };
    let worker =
        WorkerConfig { queue: cluster.config(), objects: cluster.objects(), concurrency: 2, name: "one".into() };
    let graph = engine::tree(4);
    let run =
        |tasks: TextTasks| with_worker(&worker, &|_| {}, || cluster.lead(&graph, &tasks, &MemoryResults::new())).0;
    // A failed job can be retried, so its payload stays.
    run(TextTasks::new(Duration::ZERO).with(7, Deed::Fail)).expect_err("task 7 fails");
    let stored = payloads(&cluster);
    assert!((1..=8).contains(&stored), "{stored} packs of payloads");
    let admin = Admin::connect(&cluster.config()).expect("connects");
    admin.clean(Duration::ZERO).expect("cleans");
    assert_eq!(payloads(&cluster), stored, "it is not known where they are");
    run(TextTasks::new(Duration::ZERO).with(7, Deed::Fail)).expect_err("task 7 fails again");
    let admin = admin.with_objects(cluster.objects());
    admin.clean(Duration::ZERO).expect("cleans");
    assert_eq!(payloads(&cluster), stored, "those of the run that it did not know any more");
    std::fs::remove_dir_all(cluster.dir.path().join("payloads")).expect("removes");
    run(TextTasks::new(Duration::ZERO)).expect("runs");
    assert_eq!(payloads(&cluster), 0);
}

#[test]
fn results_that_are_there_are_taken() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, objects) = (engine::tree(4), cluster.objects());
    let worker = WorkerConfig { queue: cluster.config(), objects: objects.clone(), concurrency: 2, name: "one".into() };
    for n in [0, 4, 13] {
        objects.put(&engine::key(n), &expected(&graph, TaskId(n))).expect("stores");
    }
    let results = MemoryResults::new();
    // Only the leader has this result, as if an earlier run had made it.
    results.put(&engine::key(6), &expected(&graph, TaskId(6)).into()).expect("stores");
    let (outcome, done) =
        with_worker(&worker, &|_| {}, || cluster.lead(&graph, &TextTasks::new(Duration::ZERO), &results));
    let report = outcome.expect("runs");
    assert_eq!((report.planned, report.skipped, report.done, report.duplicates), (24, 7, 24, 1));
    assert_eq!((done.done, done.already, done.failed), (24, 1, 0));
    assert_eq!(results.len(), 25);
    assert_eq!(results.get(&engine::key(30)).expect("answers").as_deref(), Some(&expected(&graph, TaskId(30))[..]));
}

#[test]
fn a_result_that_several_need_is_waited_for() {
    let Some(cluster) = Cluster::start() else { return };
    let mut graph = TaskGraph::new();
    let mut add = |n, priority, deps: &[usize]| {
        let deps = deps.iter().map(|d| TaskId(*d)).collect();
        graph.add(Task { key: engine::key(n), kind: "task", priority, deps }).expect("valid");
    };
    // The second join is not an ancestor of the slow leaf's parent. It comes first when the quick leaf is done.
    add(0, 0, &[]);
    add(1, 5, &[]);
    add(2, 1, &[0]);
    add(3, 9, &[1, 0, 0]);
    add(4, 9, &[2, 3]);
    let worker =
        WorkerConfig { queue: cluster.config(), objects: cluster.objects(), concurrency: 2, name: "one".into() };
    let results = MemoryResults::new();
    let (outcome, done) = with_worker(&worker, &|_| {}, || cluster.lead(&graph, &TextTasks::new(5 * TASK), &results));
    assert_eq!((outcome.expect("runs").done, done.failed), (5, 0));
    check(&graph, &results);
}

#[test]
fn an_object_store_that_hiccups_loses_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let store = FaultyObjects::new();
    store.fail_every(10);
    let objects = Objects::new(Arc::new(store), "faulty").expect("opens").with_retries(4);
    let worker = WorkerConfig { queue: cluster.config(), objects: objects.clone(), concurrency: 3, name: "one".into() };
    let (graph, results) = (engine::tree(5), MemoryResults::new());
    let run = || {
        lead(&cluster.config(), &objects, &graph, &TextTasks::new(Duration::ZERO), &results, &|_| {}, &Cancel::new())
    };
    let (outcome, done) = with_worker(&worker, &|_| {}, run);
    assert_eq!((outcome.expect("runs").done, done.done), (63, 63));
    check(&graph, &results);
}

#[test]
fn the_highest_priority_comes_first_and_results_are_not_hoarded() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(4), MemoryResults::new());
    let worker =
        WorkerConfig { queue: cluster.config(), objects: cluster.objects(), concurrency: 1, name: "one".into() };
    let order = Mutex::new(Vec::new());
    let observe = |event: &WorkerEvent<'_>| {
        if let WorkerEvent::Started { job, .. } = event {
            let id: usize = job.rsplit('-').next().and_then(|n| n.parse().ok()).expect("a job names its task");
            order.lock().expect("not poisoned").push(id);
        }
    };
    // All jobs are planned before a worker starts, so only priorities decide the order.
    let (report, _) = thread::scope(|scope| {
        let run = scope.spawn(|| {
            let engine = BullmqEngine::new(cluster.config(), cluster.objects());
            engine.run(&graph, &TextTasks::new(Duration::ZERO), &results, &|_: &Event<'_>| {}, &Cancel::new())
        });
        let admin = Admin::connect(&cluster.config()).expect("connects");
        while admin.counts().expect("answers").iter().map(|(_, n)| n).sum::<u64>() < 31 {
            thread::sleep(Duration::from_millis(5));
        }
        with_worker(&worker, &observe, || run.join().expect("the leader does not panic").expect("runs"))
    });
    assert_eq!(*order.lock().expect("not poisoned"), (0..31).collect::<Vec<_>>());
    assert_eq!(report.peak_live, 0, "the leader keeps no result");
}

#[test]
fn a_cancelled_run_stops_and_a_later_one_goes_on() {
    let Some(cluster) = Cluster::start() else { return };
    let (graph, results) = (engine::tree(5), MemoryResults::new());
    let (config, objects) = (cluster.config(), cluster.objects());
    let worker = WorkerConfig { queue: config.clone(), objects: objects.clone(), concurrency: 1, name: "one".into() };
    let admin = Admin::connect(&config).expect("connects");
    let run = |observer: &dyn Fn(&Event<'_>), cancel: &Cancel| {
        lead(&config, &objects, &graph, &TextTasks::new(3 * TASK), &results, observer, cancel)
    };
    with_worker(&worker, &|_| {}, || {
        let cancel = Cancel::new();
        let fifth = |event: &Event<'_>| {
            if matches!(event, Event::Finished { done: 5, .. }) {
                cancel.cancel();
            }
        };
        match run(&fifth, &cancel) {
            Err(RunError::Cancelled { report }) => assert_eq!(report.done, 5),
            other => panic!("expected cancellation, found {other:?}"),
        }
        // Another client, which sees the run in the queue, cancels it.
        let other = |event: &Event<'_>| {
            if matches!(event, Event::Finished { done: 5, .. }) {
                let runs = admin.runs().expect("answers");
                let running = runs.iter().find(|r| r.state == RunState::Running).expect("this run");
                admin.cancel(&running.run).expect("cancels");
            }
        };
        assert!(matches!(run(&other, &Cancel::new()), Err(RunError::Cancelled { .. })));
        let states: Vec<_> = admin.runs().expect("answers").iter().map(|r| r.state).collect();
        assert_eq!(states, [RunState::Cancelled; 2]);
        run(&|_| {}, &Cancel::new()).expect("runs");
    });
    check(&graph, &results);
    let cleaned = admin.clean(Duration::ZERO).expect("cleans");
    assert_eq!((cleaned.runs, admin.runs().expect("answers").len()), (3, 0));
    assert!(admin.counts().expect("answers").iter().all(|(_, n)| *n == 0));
}
