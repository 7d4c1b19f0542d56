//! Every error of the command line, with its exit code, in one snapshot: `snapshots/cli__errors__errors.snap`.
//!
//! The sections run the program. Errors that they cannot reach are built by hand at the end, one value for each
//! variant.

mod samples;

use std::thread;

use crate::world::{ALLOW, NATIVE, World, is_bare};

const SCHEMA: [&str; 2] = ["--schema", "schema.toml"];
const BY_ID: [&str; 4] = ["--schema", "schema.toml", "--index-column", "id"];
const LEAVES: [&str; 4] = ["--leaves", "t.csv", "--schema", "schema.toml"];

/// A part of the snapshot.
struct Section {
    world: World,
    text: String,
}

impl Section {
    fn new(world: World, title: &str) -> Self {
        Self { world, text: format!("\n# {title}\n\n") }
    }

    /// Runs a command that must fail, and records the command, its exit code and its messages.
    fn fails(&mut self, args: &[&str]) {
        self.fails_with("", args);
    }

    /// Like [`Self::fails`], with a remark about the files.
    fn fails_with(&mut self, remark: &str, args: &[&str]) {
        let run = self.world.run(args);
        let code = run.code;
        assert!((1..=5).contains(&code), "{args:?}: {code}: {}{}", run.out, run.err);
        // The parser's message ends with the usage, which has its own snapshots.
        let err = run.err.split("\n\nUsage:").next().unwrap_or_default().trim_end();
        assert!(err.lines().any(|l| l.starts_with("error: ")) && !err.contains("panicked"), "{args:?}: {}", run.err);
        let json = self.world.run(&[args, &["--format", "json"]].concat());
        assert_eq!(json.code, code, "{args:?}: {}", json.err);
        if let Some(line) = json.out.lines().last() {
            let object: serde_json::Value =
                serde_json::from_str(line).unwrap_or_else(|e| panic!("{args:?}: {e}: {line}"));
            assert!(object.get("exit_code").is_none_or(|c| c == code), "{object}");
            let said = object["error"].as_str().and_then(|e| e.lines().next());
            assert!(said.is_none_or(|said| err.contains(said)), "{err}: {object}");
        }
        let shown: Vec<String> = args
            .iter()
            .map(|a| if a.contains([' ', '"']) || a.is_empty() { format!("'{a}'") } else { (*a).to_owned() })
            .collect();
        let remark = if remark.is_empty() { String::new() } else { format!("# {}\n", remark.escape_debug()) };
        self.text.push_str(&format!("{remark}$ evergrove {}\n{err}\nexit {code}\n\n", shown.join(" ")));
    }

    /// Asserts that a commit of this file fails and leaves no store.
    fn table(&mut self, file: &str, content: &str, more: &[&str]) {
        self.world.write(file, content);
        let remark = if content.len() < 100 { format!("{file}: {content}") } else { String::new() };
        self.fails_with(&remark, &[&["commit", "--store", "new", "--input", file], more].concat());
        assert!(is_bare(&self.world.path("new")), "{file}: {content}");
    }
}

#[test]
fn every_error_of_the_command_line() {
    let sections: [fn() -> Section; 15] = [
        arguments, tables, words, schemas, batches, updates, exports, proofs, rows, long_files, openings, stores,
        queries, keys, others,
    ];
    let texts: Vec<String> = thread::scope(|s| {
        let running: Vec<_> = sections.iter().map(|section| s.spawn(move || section().text)).collect();
        running.into_iter().map(|section| section.join().expect("a section")).collect()
    });
    insta::assert_snapshot!("errors", texts.concat() + &samples::all());
}

fn arguments() -> Section {
    let mut s = Section::new(World::new(), "Arguments");
    s.fails(&["frobnicate"]);
    s.fails(&["prove", "--store", "s"]);
    s.fails(&["open", "--store", "s", "many"]);
    for root in ["x", "evergrove1:0:00", "evergrove1:11:00", "evergrove2:11:00"] {
        s.fails(&["verify", "--proof", "b.proof", "--root", root]);
    }
    for (flag, value) in [
        ("--profile", "fast"),
        ("--scheme", "other"),
        ("--threads", "65535"),
        ("--max-memory", "much"),
        ("--prover", "other"),
        ("--engine", "redis://localhost"),
    ] {
        s.fails(&["prove", "--store", "s", "--batch", "b", flag, value]);
    }
    s.fails(&["commit", "--store", "s", "--input", "t", "--input-format", "xml"]);
    s.fails(&["jobs", "list", "--redis", "redis://localhost", "--state", "lost"]);
    s
}

fn tables() -> Section {
    let mut s = Section::new(World::new(), "Tables");
    s.world.write("schema.toml", crate::world::SCHEMA);
    s.world.write("raw.toml", "raw = true\n");
    let head = "id,name,amount,age\n0,a,1,1\n";
    for line in [
        "0,b,1,1",
        "1099511627776,b,1,1",
        "x,b,1,1",
        "1,b,1",
        "1,b,x,1",
        "1,b,1.005,1",
        "1,b,1,-1",
        "1,b,1,9223372036854775808",
        "1,b,,1",
    ] {
        s.table("t.csv", &format!("{head}{line}\n"), &BY_ID);
    }
    s.table("t.csv", &format!("{head}5,b,1,1\n"), &[&BY_ID[..], &["--height", "2"]].concat());
    s.table("t.csv", head, &[&BY_ID[..], &["--height", "41"]].concat());
    s.table("t.csv", head, &["--schema", "schema.toml", "--index-column", "key"]);
    s.table("t.csv", "id,name\n0,a\n", &SCHEMA);
    s.table("t.csv", "name,amount,age\n", &SCHEMA);
    s.table("t.csv", "", &[]);
    s.table("t.csv", "a,a\n1,2\n", &[]);
    s.table("t.csv", &format!("a\n\"{}", "x".repeat((1 << 26) + 1)), &[]);
    s.table("t.csv", head, &[&SCHEMA[..], &["--indices", "1,2"]].concat());
    s.table("t.csv", "e0,e1,e2,e3\n1,2,3,18446744069414584321\n", &["--schema", "raw.toml"]);
    s.table("t.jsonl", "{\"name\":\"a\",\"amount\":1}\n{\"name\":", &SCHEMA);
    s.table("t.jsonl", "{\"name\":\"a\",\"amount\":1e99}\n", &SCHEMA);
    s.table("t.parquet", "PAR1 this is no parquet file PAR1", &SCHEMA);
    s.table("t.raw", &"x".repeat(40), &[]);
    s.table("t.raw", &"\u{7f}".repeat(32), &SCHEMA);
    s.table("t.raw", &"x".repeat(32), &["--index-column", "id"]);
    s.world.write("t.raw", [&[0; 56][..], &[0xff; 8]].concat());
    s.fails(&["commit", "--store", "new", "--input", "t.raw"]);
    s.table("t.txt", head, &[]);
    s.fails(&["commit", "--store", "new", "--input", "missing.csv"]);
    assert!(is_bare(&s.world.path("new")));
    s
}

/// Words of the ABI, and tables for OpenZeppelin's tree.
fn words() -> Section {
    let mut s = Section::new(World::with_table(), "Words of Solidity's ABI");
    let column = |kind: &str| format!("[[column]]\nname = \"a\"\ntype = \"{kind}\"\n");
    let ab = "ab".repeat(20);
    for (kind, cell) in [
        ("address", format!("0x{ab}ab")),
        ("address", ab.clone()),
        ("address", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed".into()),
        ("uint8", "256".into()),
        ("uint8", "-1".into()),
        ("int8", "-129".into()),
        ("bool", "2".into()),
        ("bytes4", "0xa9059cbbaa".into()),
        ("uint256", "1e18".into()),
    ] {
        s.world.write("words.toml", column(kind));
        s.table("t.csv", &format!("a\n{cell}\n"), &["--schema", "words.toml"]);
    }
    s.table("t.csv", "a,b\n,1\n", &["--schema", "words.toml"]);
    s.table("t.jsonl", "{\"a\":null}\n", &["--schema", "words.toml"]);
    s.table("t.jsonl", "{\"a\":-1}\n", &["--schema", "words.toml"]);
    for schema in ["uint", "uint12", "bytes33", "string", "address\"\nnullable = true\n#"] {
        s.world.write("x.toml", column(schema));
        s.fails_with(
            &format!("x.toml: {}", column(schema)),
            &["commit", "--store", "new", "--input", "t.csv", "--schema", "x.toml"],
        );
    }

    let order = ["--schema", "words.toml", "--order", "openzeppelin-js"];
    s.table("t.csv", "a\n5\n\n7\n5\n7\n", &order);
    s.table("t.csv", "a\n5\n\n7\n5\n7\n", &[&order[..3], &["openzeppelin-js-unsorted"]].concat());
    s.table("t.csv", "a\n5\n6\n", &[&order[..], &["--index-column", "b"]].concat());
    s.table("t.csv", "a\n5\n6\n", &[&order[..3], &["openzeppelin"]].concat());
    s.table("t.csv", "a\n5\n6\n", &["--allow-duplicates"]);
    s.table("t.csv", "a\n5\n6\n", &["--order", "openzeppelin-js"]);
    s.table("t.raw", &"x".repeat(32), &["--order", "openzeppelin-js"]);
    s.world.write("t.csv", "a\n5\n5\n");
    s.world.json(&[&["commit", "--store", "w", "--input", "t.csv"], &order[..], &["--allow-duplicates"]].concat());
    let proof = |store: &'static str, row: &'static str| ["app", "openzeppelin-proof", "--store", store, "--row", row];
    s.fails(&proof("s", "0"));
    s.fails(&proof("w", "2"));
    s.fails(&proof("w", "-1"));
    s.fails(&[&proof("w", "0")[..], &["--out", "no/such/dir/p"]].concat());
    s.world.json(&["update", "--store", "w", "--delete", "1"]);
    s.fails(&proof("w", "1"));
    s.fails(&["update", "--store", "w", "--set", "0=a=-5"]);
    for sql in ["SELECT SUM(a) FROM t", "SELECT COUNT(*) FROM t WHERE a = 5"] {
        s.fails(&["app", "aggregate", "--store", "w", "--sql", sql]);
    }
    s
}

fn schemas() -> Section {
    let mut s = Section::new(World::new(), "Schemas");
    s.world.write("t.csv", "a\n1\n");
    let column = |name: &str| format!("[[column]]\nname = {name:?}\ntype = \"unsigned\"\n");
    for schema in [
        "[[column]]\nname = \"a\"\ntype = \"float\"\n",
        "[[column]]\nname = \"a\"\n",
        "[[column]]\nname = \"a\"\ntype = \"bytes\"\nsize = 3\n",
        &format!("{}{}", column("a"), column("a")),
        &column(""),
        "[[column]]\nname = \"a\"\ntype = \"fixed:19\"\n",
        &format!("raw = true\n{}", column("a")),
        "",
        "x",
    ] {
        s.world.write("x.toml", schema);
        s.fails_with(
            &format!("x.toml: {schema}"),
            &["commit", "--store", "new", "--input", "t.csv", "--schema", "x.toml"],
        );
    }
    s.world.write("x.toml", [0xff]);
    s.fails(&["commit", "--store", "new", "--input", "t.csv", "--schema", "x.toml"]);
    s.fails(&["commit", "--store", "new", "--input", "t.csv", "--schema", "missing.toml"]);
    assert!(is_bare(&s.world.path("new")));
    s
}

fn batches() -> Section {
    let mut s = Section::new(World::with_batch(), "Batches");
    let before = s.world.state();
    s.world.write("list", "0\n3\nx\n");
    let prove = |batch: &'static str, indices: &'static str| {
        [&["prove", "--store", "s", "--batch", batch, "--indices", indices], &NATIVE[..]].concat()
    };
    for indices in ["0,3,3", "0,4", "0,5000", "0,1099511627776", "", "9-3", "0-1099511627775", "@missing", "list"] {
        s.fails(&prove("c", indices));
    }
    s.fails(&prove("b", "0,3"));
    s.fails(&prove("no/name", "0,3"));
    s.fails(&["prove", "--store", "s", "--batch", "c"]);
    s.fails(&["prove", "--store", "s", "--batch", "c", "--indices", "0", "--backend", "abacus"]);
    for named in [
        ["--backend", "grove", "--profile", "proven"],
        ["--backend", "plonky2", "--profile", "grove-100"],
        ["--backend", "grove", "--scheme", "reckle-paper"],
    ] {
        s.fails(&[&["prove", "--store", "s", "--batch", "c", "--indices", "0"], &named[..]].concat());
    }
    // Refused before the proofs are made, not after.
    for (flag, path) in [
        ("--out", "no/such/dir/c.proof"),
        ("--out", "s"),
        ("--timings", "no/such/dir/t.json"),
        ("--leaves-out", "c.rows"),
        ("--leaves-out", "c.parquet.gz"),
        ("--max-memory", "1K"),
        ("--keys", "b.proof"),
        ("--keys", "b.proof/keys"),
        ("--health", "192.0.2.1:1"),
    ] {
        s.fails(&[&prove("c", "0")[..], &[flag, path]].concat());
    }
    let queue = |redis: &'static str, objects: &'static str| {
        [&prove("c", "0")[..], &["--engine", redis, "--objects", objects]].concat()
    };
    s.fails(&queue("http://localhost", "file:///tmp"));
    s.fails(&queue("redis://localhost", "memory:///"));
    s.fails(&queue("redis://localhost", "ftp://host/dir"));
    s.fails(&["batches", "--store", "s", "--drop", "c"]);
    assert_eq!(s.world.state(), before);
    s
}

fn updates() -> Section {
    let mut s = Section::new(World::with_batch(), "Changes");
    let before = s.world.state();
    for args in [
        &["--set", "5000=a,1,1"][..],
        &["--set", "1099511627776=a,1,1", "--grow"],
        &["--set", "3=age=2"],
        &["--set", "6=a,1"],
        &["--set", "6=ages=1"],
        &["--set", "6=age=1,age=2"],
        &["--set", "6=\"a,1,1"],
        &["--set", "6=age=x"],
        &["--set", "4=age=1"],
        &["--set", "six"],
        &["--set", "-6=a,1,1"],
        &["--delete", "4"],
        &["--delete", "6"],
        &["--delete", "3"],
        &["--add", "b:6"],
        &["--add", "b:4"],
        &["--add", "c:6"],
        &["--add", "b"],
        &["--remove", "b:1497"],
        &["--remove", "b:b.txt"],
        &["--index-column", "id"],
    ] {
        s.fails(&[&["update", "--store", "s", "--set", "3=age=1"], args].concat());
    }
    let files = [
        ("c.csv", "index,name,amount,age\n6,a,1,1\n9,a,1\n"),
        ("c.csv", "id,name,amount,age\n6,a,1,1\n"),
        ("c.csv", "index,name,amount,age\n6,a,1,1\n6,a,1,1\n"),
        ("c.csv", "index,name,amount,age,paid\n3,a,1,1,yes\n"),
        ("c.jsonl", "{\"index\":3,\"name\":\"a\",\"amount\":1}\n"),
    ];
    for (file, content) in files {
        s.world.write(file, content);
        s.fails_with(&format!("{file}: {content}"), &["update", "--store", "s", "--input", file]);
    }
    assert_eq!(s.world.state(), before);
    s.world.check_batch();
    s
}

fn exports() -> Section {
    let mut s = Section::new(World::with_batch(), "Reading a store");
    s.fails(&["open", "--store", "s", "5000"]);
    s.fails(&["open", "--store", "s", "3", "--epoch", "7"]);
    s.fails(&["open", "--store", "s", "3", "--out", "no/such/dir/o"]);
    s.fails(&["prune", "--store", "s", "--keep", "0"]);
    s.fails(&["export", "--store", "s"]);
    s.fails(&["export", "--store", "s", "--batch", "c", "--leaves", "l.csv"]);
    s.fails(&["export", "--store", "s", "--batch", "b", "--leaves", "l.raw"]);
    s.fails(&["export", "--store", "s", "--table", "l.parquet.gz"]);
    s.fails(&["export", "--store", "s", "--table", "no/such/dir/l.csv"]);
    s.fails(&["inspect", "table.csv"]);
    s.fails(&["inspect", "no-such-file"]);
    for name in ["l.csv", "l.raw", "l.parquet.gz"] {
        assert!(!s.world.path(name).exists());
    }
    s.world.write("nullable.toml", "[[column]]\nname = \"a\"\ntype = \"bytes\"\nnullable = true\n");
    s.world.write("t.jsonl", "{\"a\":\"\"}\n");
    s.world.json(&["commit", "--store", "n", "--input", "t.jsonl", "--schema", "nullable.toml"]);
    s.fails(&["export", "--store", "n", "--table", "l.csv"]);
    s.world.json(&["update", "--store", "s", "--set", "3=age=9", "--no-prove"]);
    s.fails(&["export", "--store", "s", "--batch", "b", "--proof", "b2.proof"]);
    s
}

fn proofs() -> Section {
    let mut s = Section::new(World::with_batch(), "Proofs");
    let root = s.world.commitment();
    let verify = |proof: &'static str, root: &str, leaves: &[&str]| {
        let args = ["verify", "--proof", proof, "--root", root].map(str::to_owned);
        let rest = leaves.iter().chain(&ALLOW).map(|a| (*a).to_owned());
        args.into_iter().chain(rest).collect::<Vec<_>>()
    };
    let rows = s.world.text("b.csv");
    for (from, to) in [
        ("\"row, 7\"", "\"row, 8\""),
        ("\n3,\"row, 1\",-249.01,1\n", "\n"),
        ("\n3,\"row, 1\",", "\n4,\"row, 1\","),
        ("\n3,\"row, 1\",-249.01,1\n", "\n3,\"row, 1\",-249.01,1\n4,x,1,1\n"),
    ] {
        assert!(rows.contains(from));
        s.world.write("t.csv", rows.replacen(from, to, 1));
        let args = verify("b.proof", &root, &LEAVES);
        s.fails_with(&format!("t.csv: {from} is {to}"), &strs(&args));
    }
    s.world.write("t.csv", rows.lines().next().unwrap());
    s.fails_with("t.csv has no rows", &strs(&verify("b.proof", &root, &LEAVES)));
    let other = format!("{}{}", &root[..root.len() - 1], if root.ends_with('0') { '1' } else { '0' });
    s.fails(&strs(&verify("b.proof", &other, &[])));
    s.fails(&strs(&verify("b.proof", &root.replacen(":11:", ":12:", 1), &[])));
    let (zero, b) = ("0".repeat(64), ["verify", "--proof", "b.proof", "--root", &root]);
    s.fails(&[&b[..], &["--digest", &zero], &ALLOW].concat());
    s.fails(&[&b[..], &ALLOW, &["--leaves", "b.csv", "--schema", "schema.toml", "--schema-digest", &zero]].concat());

    // A prover cannot lower the verifier's requirements.
    s.fails(&b);
    s.fails(&[&b[..], &["--allow-backend", "native"]].concat());
    s.fails(&[&b[..], &["--allow-backend", "native:2", "--allow-profile", "paper"]].concat());
    s.fails(&[&b[..], &["--allow-backend", "abacus"]].concat());
    let prove = ["prove", "--store", "s", "--batch", "p", "--indices", "0,3,900", "--scheme", "reckle-paper"];
    s.world.json(&[&prove[..], &["--out", "p.proof"], &NATIVE].concat());
    s.fails(&[&["verify", "--proof", "p.proof", "--root", &root], &ALLOW[..]].concat());

    let proof = s.world.read("b.proof");
    for cut in [0, 3, 60, proof.len() - 1] {
        s.world.write("t.proof", &proof[..cut]);
        s.fails_with(&format!("t.proof: {cut} bytes of b.proof"), &strs(&verify("t.proof", &root, &[])));
    }
    s.world.write("t.proof", [&proof[..], b"x"].concat());
    s.fails_with("t.proof: b.proof and another byte", &strs(&verify("t.proof", &root, &[])));
    let mut bent = proof;
    *bent.last_mut().unwrap() ^= 1;
    s.world.write("t.proof", bent);
    s.fails_with("t.proof: b.proof with another last byte", &strs(&verify("t.proof", &root, &[])));
    s.fails(&strs(&verify("missing", &root, &[])));
    s
}

fn strs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

fn rows() -> Section {
    let mut s = Section::new(World::with_batch(), "Rows of a proof");
    let root = s.world.commitment();
    let verify = |leaves: &str, more: &[&str]| {
        let args = ["verify", "--proof", "b.proof", "--root", &root, "--leaves", leaves];
        args.iter().chain(&ALLOW).chain(more).map(|a| (*a).to_owned()).collect::<Vec<_>>()
    };
    s.fails(&strs(&verify("b.csv", &[])));
    s.world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "values.csv", "--values"]);
    s.world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "b.jsonl"]);
    let jsonl = s.world.text("b.jsonl");
    assert!(jsonl.lines().next().unwrap().ends_with(",\"age\":null}"), "{jsonl}");
    let widen = |csv: &str| {
        let lines = csv.lines().enumerate();
        lines.map(|(n, line)| format!("{line},{}\n", if n == 0 { "paid" } else { "yes" })).collect::<String>()
    };
    let edited = |to: &str| jsonl.replacen(",\"age\":null}", to, 1);
    for (file, content, more) in [
        ("t.csv", "index,name,amount,age\n3,a,1,1\n3,a,1,1\n".into(), &SCHEMA[..]),
        ("t.csv", widen(&s.world.text("b.csv")), &SCHEMA),
        ("t.csv", widen(&s.world.text("values.csv")), &[]),
        ("t.jsonl", edited(",\"age\":null,\"paid\":true}"), &SCHEMA),
        ("t.jsonl", edited(",\"aeg\":41}"), &SCHEMA),
        ("t.jsonl", edited("}"), &SCHEMA),
        ("t.raw", "x".repeat(32), &[]),
    ] {
        s.world.write(file, content);
        s.fails(&strs(&verify(file, more)));
    }
    // Positions on the command line for a file that has its own positions.
    s.fails(&strs(&verify("b.csv", &[&SCHEMA[..], &["--indices", "b.txt"]].concat())));
    s
}

fn long_files() -> Section {
    let mut s = Section::new(World::with_table(), "Files that are too long");
    let root = s.world.commitment();
    let long = std::fs::File::create(s.world.path("long.proof")).unwrap();
    let verify = ["verify", "--proof", "long.proof", "--root", &root];
    long.set_len((1 << 24) + 1).unwrap();
    s.fails(&verify);
    s.fails(&[&verify[..], &["--allow-profile", "paper"]].concat());
    s.fails(&[&verify[..], &ALLOW].concat());
    long.set_len(1 << 24).unwrap();
    s.fails(&verify);
    long.set_len((1 << 32) + 1).unwrap();
    s.fails(&[&verify[..], &ALLOW].concat());
    s
}

fn openings() -> Section {
    let mut s = Section::new(World::with_table(), "Openings");
    let root = s.world.commitment();
    s.world.json(&["open", "--store", "s", "3", "--out", "3.opening"]);
    s.world.json(&["open", "--store", "s", "4", "--out", "4.opening"]);
    let other = format!("{}{}", &root[..root.len() - 1], if root.ends_with('0') { '1' } else { '0' });
    s.fails(&["verify", "--proof", "3.opening", "--root", &other]);
    s.fails(&["verify", "--proof", "3.opening", "--root", &root, "--digest", &"0".repeat(64)]);
    s.world.write("t.csv", "index,name,amount,age\n3,x,1,1\n");
    for opening in ["3.opening", "4.opening"] {
        s.fails(&[&["verify", "--proof", opening, "--root", &root], &LEAVES[..]].concat());
    }
    let bytes = s.world.read("3.opening");
    s.world.write("3.opening", &bytes[..bytes.len() - 1]);
    s.fails_with("3.opening is cut off", &["verify", "--proof", "3.opening", "--root", &root]);
    s
}

fn stores() -> Section {
    let mut s = Section::new(World::with_batch(), "Stores");
    let before = s.world.state();
    s.fails(&["status", "--store", "missing"]);
    std::fs::create_dir(s.world.path("empty")).unwrap();
    s.fails(&["prove", "--store", "empty", "--batch", "b", "--indices", "0"]);
    s.fails(&["commit", "--store", "s", "--input", "table.csv"]);
    s.world.write("file", "");
    s.fails(&["commit", "--store", "file/s", "--input", "table.csv"]);
    std::fs::create_dir(s.world.path("other")).unwrap();
    s.world.write("other/evergrove.redb", "something else");
    s.fails_with("other/evergrove.redb: something else", &["status", "--store", "other"]);
    assert_eq!(s.world.state(), before);

    let store = evergrove::store::Store::open(&s.world.path("s")).unwrap();
    s.fails_with("another process has the store open", &["update", "--store", "s", "--set", "3=age=1"]);
    drop(store);
    s.world.check_batch();

    for path in crate::store_trouble::files(&s.world.path("s/objects")) {
        std::fs::write(path, "x").unwrap();
    }
    s.fails_with("the proofs are damaged", &["export", "--store", "s", "--batch", "b", "--proof", "x"]);
    std::fs::remove_dir_all(s.world.path("s/objects")).unwrap();
    s.fails_with("the proofs are missing", &["export", "--store", "s", "--batch", "b", "--proof", "x"]);
    s.fails_with("the proofs are missing", &["doctor", "--store", "s"]);

    let file = s.world.path("s/evergrove.redb");
    let sound = std::fs::read(&file).unwrap();
    crate::store_trouble::set_format(&file, 99);
    s.fails_with("the store has format 99", &["status", "--store", "s"]);
    // The second page is the root of a tree.
    let mut bytes = sound;
    bytes[4096..].iter_mut().for_each(|b| *b = 0xa5_u8.wrapping_sub(*b));
    std::fs::write(&file, bytes).unwrap();
    s.fails_with("the database is damaged from its second page on", &["status", "--store", "s"]);
    s
}

fn queries() -> Section {
    let mut s = Section::new(World::with_table(), "Queries");
    s.world.write("a.proof", "no proof");
    let root = s.world.commitment();
    for sql in [
        "SELECT age FROM t",
        "SELECT SUM(agee) FROM t",
        "SELECT SUM(name) FROM t",
        "SELECT SUM(age) FROM t WHERE name = 3",
        "SELECT SUM(age) FROM t WHERE age > 'x'",
        "SELECT COUNT(*) FROM t WHERE age = amount",
        "SELECT COUNT(*) FROM t GROUP BY age + 1",
        "SELECT COUNT(*) FROM t WHERE name LIKE 'row%'",
        "SELECT COUNT(*) FROM t WHERE name LIKE '%row%'",
        "SELECT",
    ] {
        s.fails(&["app", "aggregate", "--store", "s", "--sql", sql]);
    }
    let verify = ["app", "verify-aggregate", "--proof", "a.proof", "--root", &root, "--sql", "SELECT SUM(age) FROM t"];
    s.fails(&[&verify[..], &SCHEMA].concat());
    s.fails(&["app", "verify-digest-translation", "--proof", "a.proof", "--root", &root, "--keccak", "12"]);
    s.fails(&["app", "verify-digest-translation", "--proof", "a.proof", "--root", &root]);
    s
}

fn keys() -> Section {
    let mut s = Section::new(World::with_batch(), "BLS keys");
    let table = ["app", "bls-table", "--keys", "keys.txt", "--out", "table.csv", "--schema-out", "out.toml"];
    for keys in
        [format!("80{}", "00".repeat(47)), format!("c0{}", "00".repeat(47)), "00".into(), "xyz".into(), String::new()]
    {
        s.world.write("keys.txt", &keys);
        s.fails_with(&format!("keys.txt: {keys}"), &table);
    }
    s.fails(&["app", "bls-keys", "--store", "s", "--batch", "keys", "--indices", "0,3"]);
    let root = s.world.commitment();
    let verify = ["app", "verify-bls-keys", "--proof", "b.proof", "--root", &root, "--threshold", "1"];
    s.fails(&[&verify[..], &["--message", "00", "--signature", "00"]].concat());
    s.fails(&[&verify[..], &["--message", "0", "--signature", "00"]].concat());
    s
}

fn others() -> Section {
    let mut s = Section::new(World::with_table(), "Services, queues and models");
    s.fails(&["serve", "--store", "s"]);
    s.fails(&["serve", "--store", "s", "--no-token", "--listen", "0.0.0.0:0"]);
    s.world.write("token", "short");
    s.fails(&["serve", "--store", "s", "--token-file", "token"]);
    s.world.write("token", "a token with spaces");
    s.fails(&["serve", "--store", "s", "--token-file", "token"]);
    s.fails(&["serve", "--store", "missing", "--no-token"]);
    s.fails(&["serve", "--store", "s", "--no-token", "--listen", "127.0.0.1:0", "--objects", "file:///tmp"]);
    s.fails(&["jobs", "list", "--redis", "localhost"]);
    s.fails(&["jobs", "list", "--redis", "redis://localhost", "--redis-password-file", "missing"]);
    s.world.write("bad.toml", "machine = 'mtu'\n[params]\npes = 0\n");
    s.fails_with("bad.toml: pes = 0", &["lab", "run", "bad.toml"]);
    s.world.write("many.toml", "machine = 'mtu'\n[params]\nlog_size = 9\n[axes]\npes = [2, 4]\n");
    s.fails_with("many.toml: two values of pes", &["lab", "run", "many.toml"]);
    s.fails(&["lab", "reproduce", "mtu-table9"]);
    s.fails(&["lab", "run", "missing.toml"]);
    s.world.write("bad.json", "{}");
    s.fails_with("bad.json: {}", &["lab", "whatif", "--trace", "bad.json"]);
    s.world.write("r.csv", "id,area_mm2\n1,2\n");
    s.fails_with("r.csv: id,area_mm2", &["lab", "pareto", "r.csv"]);
    s.fails(&["lab", "pareto", "r.csv", "--where", "id=3"]);
    s
}
