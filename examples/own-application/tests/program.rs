//! Tests the program as its users run it: as processes, with the application on the command line, in the service and
//! with workers.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use evergrove_testkit::http::Client;
use evergrove_testkit::servers::RedisServer;
use serde_json::{Value, json};
use tempfile::TempDir;

const SCHEMA: &str = r#"
[[column]]
name = "note"
type = "bytes"

[[column]]
name = "units"
type = "unsigned"

[[column]]
name = "defects"
type = "unsigned"
"#;
const TOKEN: &str = "f00d0000f00d0000f00d";
const SCORE: [&str; 3] = ["score", "--parameters", "units=3,defects=40"];
/// Maximum time for a proof of a service on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with a store `s` of 40 rows. Row i has i units and i % 3 defects.
struct World(TempDir);

/// A process, which is killed when the value is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl World {
    fn new() -> Self {
        let world = Self(TempDir::new().unwrap());
        let rows: String = (0..40).map(|i| format!("row {i},{i},{}\n", i % 3)).collect();
        std::fs::write(world.0.path().join("t.csv"), format!("note,units,defects\n{rows}")).unwrap();
        std::fs::write(world.0.path().join("schema.toml"), SCHEMA).unwrap();
        world.json(&["commit", "--store", "s", "--input", "t.csv", "--schema", "schema.toml"]);
        world
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_own-application"));
        command.current_dir(self.0.path()).env("EVERGROVE_KEYS", self.0.path().join("keys"));
        command.args(args).args(["--format", "json"]).env("EVERGROVE_SERVE_TOKEN", TOKEN);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs the program, which must succeed. Returns the object that it prints.
    fn json(&self, args: &[&str]) -> Value {
        let run = self.run(args);
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
        serde_json::from_slice(&run.stdout).unwrap()
    }

    /// Runs the program, which must fail with exit code `code` and print `part`.
    fn fails(&self, code: i32, args: &[&str], part: &str) {
        let run = self.run(args);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(code), "{args:?}: {said}");
        let error = said.lines().find(|l| l.starts_with("error: ")).unwrap_or_default();
        assert!(error.contains(part) && said.contains("\nhelp: "), "{args:?}: {said}");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap()
    }

    /// Proves the score of some rows as batch `b`, with the proof in `b.proof`.
    fn prove(&self, more: &[&str]) -> Value {
        let args = ["--store", "s", "--batch", "b", "--indices", "0-9", "--out", "b.proof"];
        self.json(&[&["app", "prove"], &SCORE[..], &args, more].concat())
    }

    fn commitment(&self) -> String {
        self.json(&["status", "--store", "s"])["commitment"].as_str().unwrap().to_owned()
    }

    fn verify<'a>(root: &'a str, score: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
        let args = ["--proof", "b.proof", "--schema", "schema.toml", "--root", root];
        [&["app", "verify"], score, &args, more].concat()
    }
}

fn fields(rows: u64, total: u64, greatest: u64) -> Value {
    let field = |(name, x): (&str, u64)| json!({ "name": name, "value": x.to_string() });
    [("rows", rows), ("total", total), ("greatest", greatest)].map(field).into()
}

#[test]
fn a_score_is_proven_verified_and_refreshed() {
    let world = World::new();
    let list = world.run(&["app", "list"]).stdout;
    let last = String::from_utf8(list).unwrap().lines().last().unwrap().to_owned();
    assert!(last.contains(r#""name":"score""#), "{last}");

    // 45 units and 9 defects. The greatest score is that of 8 units and 2 defects.
    let proven = world.prove(&[]);
    assert_eq!((&proven["fields"], &proven["profile"]), (&fields(10, 495, 104), &"grove-100".into()));
    assert_eq!((&proven["output"], &proven["members"]), (&json!(["10", "495", "104"]), &10.into()));
    let (root, rows) = (world.commitment(), (0..10).map(|i| format!("{i},row {i},{i},{}\n", i % 3)));
    let rows = format!("index,note,units,defects\n{}", rows.collect::<String>());
    std::fs::write(world.0.path().join("rows.csv"), rows).unwrap();
    let verify = |score: &[&str], more: &[&str]| world.run(&World::verify(&root, score, more));
    let accepted = verify(&SCORE, &["--leaves", "rows.csv"]);
    let accepted: Value = serde_json::from_slice(&accepted.stdout).unwrap();
    assert_eq!((&accepted["accepted"], &accepted["fields"]), (&true.into(), &proven["fields"]));
    assert_eq!(accepted["canonical_digest"], proven["canonical_digest"]);
    assert!(verify(&SCORE, &["--some"]).status.success());
    // Other parameters, other rows, all rows.
    let other = ["score", "--parameters", "units=3,defects=41"];
    world.fails(1, &World::verify(&root, &other, &["--some"]), "application");
    world.fails(1, &World::verify(&root, &SCORE, &["--digest", &"0".repeat(64)]), "digest");
    world.fails(1, &World::verify(&root, &SCORE, &["--all"]), "scheme");

    // A change of a row refreshes the batch.
    let updated = world.json(&["update", "--store", "s", "--set", "3=units=100", "--set", "20=units=7"]);
    assert_eq!((&updated["stale"], &updated["proofs_made"]), (&json!([]), &1.into()));
    let batches = world.json(&["status", "--store", "s"])["batches"].clone();
    assert_eq!((&batches[0]["name"], &batches[0]["stale"]), (&"b".into(), &false.into()));
    assert!(batches[0]["application"].as_str().unwrap().starts_with("score:"), "{batches}");
    world.fails(1, &World::verify(&world.commitment(), &SCORE, &["--some"]), "the proof is stale");
    let again = world.prove(&[]);
    assert_eq!((&again["fields"], &again["proofs_made"]), (&fields(10, 786, 300), &0.into()));
    assert!(world.run(&World::verify(&world.commitment(), &SCORE, &["--some"])).status.success());
    assert_eq!(world.json(&["doctor", "--store", "s"])["healthy"], true);
}

#[test]
fn a_score_over_all_rows_leaves_none_out() {
    let world = World::new();
    let args = ["--store", "s", "--batch", "b", "--all", "--out", "b.proof"];
    let proven = world.json(&[&["app", "prove"], &SCORE[..], &args].concat());
    assert_eq!(proven["fields"], fields(40, 3 * 780 + 40 * 39, 194));
    let root = world.commitment();
    let accepted = world.json(&World::verify(&root, &SCORE, &["--all"]));
    assert_eq!((&accepted["fields"], &accepted["over"]), (&proven["fields"], &"all rows of the table".into()));
    world.fails(1, &World::verify(&root, &SCORE, &["--some"]), "scheme");
}

#[test]
fn mistakes_are_one_line_with_a_remedy() {
    let world = World::new();
    let prove = |name, parameters| {
        ["app", "prove", name, "--parameters", parameters, "--store", "s", "--batch", "b", "--indices", "0-9"]
    };
    world.fails(2, &prove("score", "weight=3"), "the schema has no column \"weight\"");
    world.fails(2, &prove("score", "units=1048576"), "the weight 1048576 of \"units\" is not from 1 to 2^20 - 1");
    world.fails(2, &prove("scores", "units=3"), "unknown application \"scores\" (known: ");
    let proven = [&prove("score", "units=3")[..], &["--profile", "proven"]].concat();
    world.fails(2, &proven, "score has no circuits for profile proven (known: grove-100, grove-128)");
    // A row that the application cannot map.
    world.json(&["update", "--store", "s", "--set", "3=units=1048576"]);
    world.fails(4, &prove("score", "units=3"), "1048576 is not below 2^20");
}

#[test]
fn a_worker_makes_the_proof_of_one_process() {
    let Some(redis) = RedisServer::start() else { return };
    let (local, world) = (World::new(), World::new());
    local.prove(&[]);
    let (url, objects) = (redis.url(), format!("file://{}", world.0.path().join("objects").display()));
    let worker = ["worker", "--redis", &url, "--objects", &objects, "--threads", "1"];
    let mut worker = Process(world.command(&worker).spawn().unwrap());
    let mut lines = BufReader::new(worker.0.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("waiting for jobs")));
    let proven = world.prove(&["--engine", &url, "--objects", &objects]);
    assert_eq!((&proven["fields"], &proven["proofs_made"]), (&fields(10, 495, 104), &1.into()));
    assert_eq!(world.read("b.proof"), local.read("b.proof"));
}

#[test]
fn the_service_keeps_the_batch_proven() {
    let world = World::new();
    world.prove(&[]);
    let mut service = Process(world.command(&["serve", "--store", "s", "--listen", "127.0.0.1:0"]).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(service.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
    let client = Client::new(said["listening"].as_str().unwrap().parse().unwrap()).with_token(TOKEN);
    let change = "{\"set\":3,\"row\":{\"note\":\"n\",\"units\":100,\"defects\":0}}\n";
    assert_eq!(client.post("/v1/changes", change).status, 200);
    let start = Instant::now();
    let status = loop {
        let status: Value = serde_json::from_str(client.get("/v1/status").text()).unwrap();
        if status["batches"][0]["fresh"] == true && status["epoch"] == 2 {
            break status;
        }
        assert!(start.elapsed() < PATIENCE, "{status}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status["batches"][0]["name"], "b");
    let proof = client.get("/v1/batches/b/proof");
    drop(service);
    std::fs::write(world.0.path().join("b.proof"), &proof.body).unwrap();
    let accepted = world.json(&World::verify(&world.commitment(), &SCORE, &["--some"]));
    assert_eq!(accepted["fields"], fields(10, 786, 300));
}
