//! Workers as processes, with a real Redis server and a real S3 API.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command};
use std::time::{Duration, Instant};

use evergrove_testkit::servers::{RedisServer, S3Server};
use serde_json::Value;

use crate::world::{NATIVE, World};

/// Time limit of a run on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker, which is killed when it is dropped.
struct Worker {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Worker {
    fn start(world: &World, redis: &str, objects: &str, variables: &[(String, String)]) -> Self {
        let args =
            ["worker", "--redis", redis, "--objects", objects, "--threads", "1", "--lock", "2", "--format", "json"];
        let mut child = world.start(&args, variables);
        let lines = BufReader::new(child.stderr.take().expect("piped"));
        let mut worker = Self { child, lines };
        worker.wait_for("waiting for jobs");
        worker
    }

    /// Reads its stderr up to a line with this text.
    fn wait_for(&mut self, text: &str) {
        let mut seen = String::new();
        while !seen.lines().last().is_some_and(|line| line.contains(text)) {
            assert!(self.lines.read_line(&mut seen).expect("text") > 0, "it ended without {text:?}: {seen}");
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().expect("kill is there");
        assert!(sent.success());
    }

    /// Waits for its end. Returns the exit code, stdout and stderr.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.lines.read_to_string(&mut err).expect("text");
        self.child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
        let begin = Instant::now();
        let status = self.child.wait().expect("it ends");
        assert!(begin.elapsed() < PATIENCE);
        (status.code(), out, err)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a leader to its end. Returns the object that it prints.
fn leader(world: &World, args: &[&str], variables: &[(String, String)]) -> Value {
    let output = world.start(&[args, &["--format", "json"]].concat(), variables).wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("an object")
}

#[test]
fn workers_prove_and_one_is_killed() {
    let (Some(redis), Some(s3)) = (RedisServer::start(), S3Server::start()) else { return };
    let (url, objects, variables) = (redis.url(), format!("{}/run", s3.url()), s3.variables());
    let local = World::with_batch();
    let world = World::with_table();
    let indices: String = (0..450).map(|i| format!("{}\n", 3 * i)).collect();
    world.write("b.txt", indices);
    let mut args = vec!["prove", "--store", "s", "--batch", "b", "--indices", "b.txt", "--out", "b.proof"];
    args.extend(NATIVE);
    args.extend(["--engine", &url, "--objects", &objects]);

    let mut first = Worker::start(&world, &url, &objects, &variables);
    let second = Worker::start(&world, &url, &objects, &variables);
    std::thread::scope(|scope| {
        let proven = scope.spawn(|| leader(&world, &args, &variables));
        first.wait_for("bucket");
        first.signal("-KILL");
        let proven = proven.join().expect("the other one finishes");
        // Proofs that the first worker had stored but not reported when it was killed are not made again.
        let made = proven["proofs_made"].as_u64().expect("a number");
        assert!((4..=6).contains(&made) && proven["proofs_total"] == 6, "{proven}");
    });
    assert_eq!(world.read("b.proof"), local.read("b.proof"), "the same proof as in one process");
    world.check_batch();
    assert_eq!(first.end().0, None, "killed");

    // The remaining worker makes only the proofs that changed, and then none.
    let update = ["update", "--store", "s", "--set", "3=age=77", "--engine", &url, "--objects", &objects];
    let updated = leader(&world, &update, &variables);
    assert!(updated["proofs_made"].as_u64().is_some_and(|n| (1..6).contains(&n)), "{updated}");
    world.check_batch();
    assert_eq!(leader(&world, &update, &variables)["proofs_made"], 0);

    // The worker finishes, reports what it has done, and ends.
    second.signal("-TERM");
    let (code, out, said) = second.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("taking no more jobs"), "{said}");
    let report: Value = serde_json::from_str(&out).expect("an object");
    assert!(report["jobs_done"].as_u64().is_some_and(|n| n > 0) && report["jobs_failed"] == 0, "{report}");
}

#[test]
fn a_worker_makes_the_proof_of_one_process_by_default_too() {
    let (Some(redis), Some(s3)) = (RedisServer::start(), S3Server::start()) else { return };
    let (url, objects, variables) = (redis.url(), format!("{}/run", s3.url()), s3.variables());
    let (local, world) = (World::with_table(), World::with_table());
    let prove = ["prove", "--store", "s", "--batch", "b", "--indices", "0,3,6", "--out", "b.proof"];
    local.json(&prove);

    let worker = Worker::start(&world, &url, &objects, &variables);
    let cluster = ["--engine", &url, "--objects", &objects];
    let proven = leader(&world, &[&prove[..], &cluster].concat(), &variables);
    assert_eq!((&proven["profile"], &proven["proofs_made"]), (&"grove-100".into(), &1.into()));
    assert_eq!(world.read("b.proof"), local.read("b.proof"));
    let sql = "SELECT COUNT(*), SUM(age) FROM t WHERE age >= 20";
    let ask = ["app", "aggregate", "--store", "s", "--sql", sql, "--name", "a", "--out", "a.proof"];
    let (alone, answered) = (local.json(&ask), leader(&world, &[&ask[..], &cluster].concat(), &variables));
    assert_eq!((&answered["profile"], &answered["answer"]), (&"grove-100".into(), &alone["answer"]));
    assert_eq!(world.read("a.proof"), local.read("a.proof"));

    // The batch and the answer.
    let update = ["update", "--store", "s", "--set", "3=age=77"];
    assert_eq!(leader(&world, &[&update[..], &cluster].concat(), &variables)["proofs_made"], 2);
    world.check_by_default_policy();
    worker.signal("-TERM");
    assert_eq!(worker.end().0, Some(0));
}

#[test]
fn servers_and_arguments_that_will_not_do() {
    let world = World::new();
    let fails = |code, args: &[&str], part: &str| {
        let said = world.fails(code, &[&["worker"], args].concat());
        assert!(said.contains(part), "{args:?}: {said}");
    };
    fails(2, &["--redis", "redis://:secret@127.0.0.1", "--objects", "file:///tmp"], "password");
    fails(2, &["--redis", "http://127.0.0.1", "--objects", "file:///tmp"], "redis");
    fails(2, &["--redis", "redis://127.0.0.1", "--objects", "ftp://host/dir"], "ftp");
    fails(2, &["--redis", "redis://127.0.0.1", "--objects", "memory:///"], "not shared");
    fails(5, &["--redis", "redis://127.0.0.1", "--objects", "file:///tmp", "--redis-password-file", "none"], "none");
    let prove = ["prove", "--store", "s", "--batch", "b", "--engine", "redis://127.0.0.1"];
    assert!(world.run(&prove).err.contains("--objects"));

    let objects = format!("file://{}", world.path("objects").display());
    for (options, part) in
        [(&["--maxmemory-policy", "allkeys-lru"][..], "noeviction"), (&["--appendonly", "no"], "appendonly yes")]
    {
        let Some(redis) = RedisServer::start_with(options) else { return };
        fails(2, &["--redis", &redis.url(), "--objects", &objects], part);
    }
    let Some(redis) = RedisServer::start_with(&["--requirepass", "hidden"]) else { return };
    let said = world.fails(5, &["worker", "--redis", &redis.url(), "--objects", &objects]);
    assert!(!said.contains("hidden"), "{said}");
    world.write("password", "hidden\n");
    let args = ["worker", "--redis", &redis.url(), "--objects", &objects, "--redis-password-file", "password"];
    let mut child = world.start(&args, &[]);
    let lines = BufReader::new(child.stderr.take().expect("piped"));
    let mut worker = Worker { child, lines };
    worker.wait_for("waiting for jobs");
    worker.signal("-TERM");
    let (code, out, said) = worker.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!format!("{out}{said}").contains("hidden"));
}
