//! A directory for each test, and the binary that runs in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Number of rows of the table. Position 3 i has row i, and every fifth age is empty.
pub(crate) const ROWS: u64 = 500;

pub(crate) struct World {
    dir: TempDir,
}

/// The result of a run of the binary.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    /// A world with a store `s` of the table, committed from csv.
    pub(crate) fn with_table() -> Self {
        let world = Self::new();
        world.write("table.csv", csv());
        world.write("schema.toml", SCHEMA);
        world.json(&[
            "commit",
            "--store",
            "s",
            "--input",
            "table.csv",
            "--schema",
            "schema.toml",
            "--index-column",
            "id",
        ]);
        world
    }

    /// A world with a batch `b` of the first 450 rows, proven in 3 buckets, 2 merges and a wrap; `b.proof`, `b.csv`.
    pub(crate) fn with_batch() -> Self {
        let world = Self::with_table();
        let indices: String = (0..450).map(|i| format!("{}\n", 3 * i)).collect();
        world.write("b.txt", indices);
        let mut args = vec!["prove", "--store", "s", "--batch", "b", "--indices", "b.txt"];
        args.extend(["--out", "b.proof", "--leaves-out", "b.csv"]);
        args.extend(NATIVE);
        let proven = world.json(&args);
        assert_eq!((proven["proofs_made"].as_u64(), proven["proofs_total"].as_u64()), (Some(6), Some(6)));
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// The binary in this directory.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evergrove"));
        command.current_dir(self.dir.path()).env("COLUMNS", "100").env("EVERGROVE_KEYS", self.path("keys"));
        command
    }

    /// Runs the binary.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command().args(args).output().unwrap())
    }

    /// Runs the binary with these bytes on stdin.
    pub(crate) fn run_with(&self, args: &[&str], stdin: &[u8]) -> Run {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that refuses its arguments does not read stdin.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        Run::of(child.wait_with_output().unwrap())
    }

    /// Starts the binary, with these variables and its stderr in a pipe.
    pub(crate) fn start(&self, args: &[&str], variables: &[(String, String)]) -> Child {
        let variables = variables.iter().map(|(name, value)| (name, value));
        let mut command = self.command();
        command.args(args).envs(variables).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs the binary, which must succeed. Returns the object that it prints.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(&[args, &["--format", "json"]].concat());
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
        serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", run.out))
    }

    /// Runs the binary, which must fail with this code, in both forms of output. Returns its stderr.
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let text = self.run(args);
        assert_eq!(text.code, code, "{args:?}: {}{}", text.out, text.err);
        assert!(text.err.lines().any(|l| l.starts_with("error: ")), "{args:?}: {}", text.err);
        assert!(!text.err.contains("panicked"), "{args:?}: {}", text.err);
        let json = self.run(&[args, &["--format", "json"]].concat());
        assert_eq!(json.code, code, "{args:?}: {}", json.err);
        if let Some(object) = json.out.lines().next() {
            let object: Value = serde_json::from_str(object).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", json.out));
            assert!(object.get("exit_code").is_none_or(|c| c == code), "{object}");
        }
        text.err
    }

    /// Runs the binary with a limit of `blocks` blocks of 512 bytes for each file, as on a full disk.
    pub(crate) fn on_a_full_disk(&self, blocks: u32, args: &[&str]) -> Run {
        let mut shell = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_evergrove")]).args(args);
        Run::of(shell.current_dir(self.dir.path()).output().unwrap())
    }

    pub(crate) fn commitment(&self) -> String {
        self.json(&["status", "--store", "s"])["commitment"].as_str().unwrap().to_owned()
    }

    /// Everything that commands show of the store `s`, which a failed command must not change.
    pub(crate) fn state(&self) -> String {
        self.json(&["export", "--store", "s", "--table", "state.jsonl"]);
        let mut status = self.json(&["status", "--store", "s"]);
        status["database_bytes"] = Value::Null;
        format!("{status}\n{}", self.text("state.jsonl"))
    }

    /// Verifies `proof` with the rows of `leaves` against `root`.
    pub(crate) fn verify(&self, proof: &str, root: &str, leaves: &str) -> Run {
        let args = ["verify", "--proof", proof, "--root", root, "--leaves", leaves, "--schema", "schema.toml"];
        self.run(&[&args[..], &ALLOW].concat())
    }

    /// Asserts that the proof of batch `b` is fresh, and valid for the current rows and commitment.
    pub(crate) fn check_batch(&self) {
        self.json(&["export", "--store", "s", "--batch", "b", "--proof", "now.proof", "--leaves", "now.csv"]);
        let run = self.verify("now.proof", &self.commitment(), "now.csv");
        assert_eq!(run.code, 0, "{}", run.err);
    }

    /// Exports batch `b` and verifies it under the default policy.
    pub(crate) fn check_by_default_policy(&self) {
        self.json(&["export", "--store", "s", "--batch", "b", "--proof", "now.proof", "--leaves", "now.csv"]);
        let root = self.commitment();
        let verify =
            ["verify", "--proof", "now.proof", "--root", &root, "--leaves", "now.csv", "--schema", "schema.toml"];
        assert_eq!(self.json(&verify)["accepted"], true);
    }
}

impl Run {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}

pub(crate) const NATIVE: [&str; 4] = ["--backend", "native", "--profile", "paper"];
pub(crate) const ALLOW: [&str; 4] = ["--allow-backend", "native", "--allow-profile", "paper"];

pub(crate) const SCHEMA: &str = r#"
[[column]]
name = "name"
type = "bytes"

[[column]]
name = "amount"
type = "fixed:2"

[[column]]
name = "age"
type = "unsigned"
nullable = true
"#;

pub(crate) fn csv() -> String {
    let mut text = String::from("id,name,amount,age\n");
    for i in 0..ROWS {
        let age = if i % 5 == 0 { String::new() } else { i.to_string() };
        text.push_str(&format!("{},\"row, {i}\",{}.{:02},{age}\n", 3 * i, i as i64 - 250, i % 100));
    }
    text
}

/// True if the directory is empty or does not exist.
pub(crate) fn is_bare(dir: &Path) -> bool {
    std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none())
}
