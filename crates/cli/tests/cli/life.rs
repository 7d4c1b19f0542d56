//! A table and a batch through everything that can happen to them.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::time::Duration;

use evergrove::plonky2::ProverKind;
use evergrove::primitives::lanes::Isa;

use crate::world::{ALLOW, NATIVE, World};

#[test]
fn a_batch_is_proven_changed_and_verified() {
    let world = World::with_batch();
    let root = world.commitment();
    let run = world.verify("b.proof", &root, "b.csv");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("each of the 450 rows is at its position in the table of this commitment"), "{}", run.out);

    // Inside the batch: one bucket, the merges above it, and the wrap.
    let inside = world.json(&["update", "--store", "s", "--set", "3=\"new, name\",-1.5,"]);
    assert_eq!(inside["epoch"], 2);
    assert!(inside["proofs_made"].as_u64().unwrap() <= 4, "{inside}");
    assert_eq!(inside["batches"][0]["proofs_total"], 6);
    assert_ne!(inside["commitment"], root.as_str());
    assert_eq!(inside["commitment_before"], root.as_str());
    world.check_batch();
    assert!(world.text("now.csv").contains("\n3,\"new, name\",-1.50,\n"));

    // Outside the batch: the lone siblings change, so the top is made again and most buckets are reused.
    let outside = world.json(&["update", "--store", "s", "--set", "1497=age=7"]);
    assert!(outside["proofs_made"].as_u64().unwrap() <= 4, "{outside}");
    world.check_batch();

    let joined = world.json(&["update", "--store", "s", "--set", "1=x,0,1", "--add", "b:1,1497"]);
    assert_eq!((&joined["rows"], &joined["rows_set"]), (&501.into(), &1.into()));
    assert_eq!(joined["batches"][0]["members"], 452);
    world.check_batch();

    let left = world.json(&["update", "--store", "s", "--remove", "b:1,6", "--delete", "6"]);
    assert_eq!((&left["rows"], &left["rows_deleted"]), (&500.into(), &1.into()));
    assert_eq!(left["batches"][0]["members"], 450);
    world.check_batch();
    let members = world.json(&["batches", "--store", "s", "--members", "b"]);
    let members = members["indices"].as_array().unwrap();
    assert!(!members.contains(&6.into()) && members.contains(&1497.into()));

    world.write("changes.csv", "index,age,name,amount\n0,1,a,1\n5000,2,b,2\n");
    let height = world.json(&["status", "--store", "s"])["height"].as_u64().unwrap();
    let grown = world.json(&["update", "--store", "s", "--input", "changes.csv", "--grow"]);
    assert_eq!(grown["height"].as_u64().unwrap(), height + 2);
    world.check_batch();

    let nothing = world.json(&["update", "--store", "s"]);
    assert_eq!((&nothing["proofs_made"], &nothing["epoch"]), (&0.into(), &grown["epoch"]));
    let doctor = world.json(&["doctor", "--store", "s"]);
    assert_eq!((&doctor["healthy"], &doctor["unverified"]), (&true.into(), &0.into()));
    assert_eq!(doctor["isa"], Isa::detect().to_string());
    assert_eq!(doctor["prover"], ProverKind::default().name());

    // The stale proof is removed with its epoch, and everything else is still valid.
    let dry = world.json(&["prune", "--store", "s", "--dry-run"]);
    let pruned = world.json(&["prune", "--store", "s"]);
    assert_eq!((&dry["epochs"], &dry["proofs"]), (&pruned["epochs"], &pruned["proofs"]));
    assert!(pruned["proofs"].as_u64().unwrap() > 0);
    world.check_batch();
    assert_eq!(world.json(&["doctor", "--store", "s"])["orphans"], 0);
}

#[test]
fn a_dry_run_writes_nothing_and_tells_the_number_of_proofs() {
    let world = World::with_batch();
    let before = world.state();
    let update = ["update", "--store", "s", "--set", "3=age=9"];
    let dry = world.json(&[&update[..], &["--dry-run"]].concat());
    assert_eq!(world.state(), before);
    let new = ["prove", "--store", "s", "--batch", "c", "--indices", "0,3,6"];
    let estimate = world.json(&[&new[..], &NATIVE, &["--dry-run"]].concat());
    assert_eq!(
        (&estimate["buckets"], &estimate["wraps"], &estimate["proofs_to_make"]),
        (&1.into(), &1.into(), &2.into())
    );
    assert_eq!(world.state(), before);
    let done = world.json(&update);
    assert_eq!((&dry["proofs_to_make"], &dry["commitment"]), (&done["proofs_made"], &done["commitment"]));
    assert_eq!(world.json(&[&new[..], &NATIVE].concat())["proofs_made"], 2);
}

#[test]
fn proofs_left_stale_are_finished_later() {
    let world = World::with_batch();
    let left = world.json(&["update", "--store", "s", "--set", "3=age=9", "--no-prove"]);
    assert_eq!((&left["proofs_made"], &left["stale"][0]), (&0.into(), &"b".into()));
    let line = world.run(&["batches", "--store", "s", "--format", "json"]);
    assert!(line.out.contains("\"stale\":true"), "{}", line.out);
    let e = world.fails(2, &["export", "--store", "s", "--batch", "b", "--proof", "x"]);
    assert!(e.contains("help: make the proof with prove --batch b"), "{e}");
    let proven = world.json(&["prove", "--store", "s", "--batch", "b", "--timings", "t.json"]);
    let made = proven["proofs_made"].as_u64().unwrap();
    assert!((1..6).contains(&made));
    let trace: serde_json::Value = serde_json::from_str(&world.text("t.json")).unwrap();
    assert_eq!((&trace["otherData"]["format"], &trace["otherData"]["version"]), (&"evergrove-trace".into(), &1.into()));
    let tasks = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["cat"] == "task").count();
    assert_eq!(tasks as u64, made);
    world.check_batch();
    assert_eq!(world.json(&["prove", "--store", "s", "--batch", "b"])["proofs_made"], 0);
}

#[test]
fn a_batch_is_proven_by_another_profile() {
    let world = World::with_batch();
    let proven = world.json(&["prove", "--store", "s", "--batch", "b", "--profile", "proven", "--out", "p"]);
    assert_eq!(
        (&proven["backend"], &proven["profile"], &proven["proof_kind"]),
        (&"native".into(), &"proven".into(), &"bucket".into())
    );
    let root = world.commitment();
    let args = ["verify", "--proof", "p", "--root", &root, "--allow-backend", "native:1"];
    assert_eq!(world.json(&args)["profile"], "proven");
}

#[test]
fn backend_and_profile_are_found_from_each_other() {
    let world = World::with_batch();
    let chosen = |batch: &str, named: &[&str]| {
        let prove = ["prove", "--store", "s", "--batch", batch, "--indices", "0,3", "--dry-run"];
        let indices = if batch == "b" { [&prove[..5], &prove[7..]].concat() } else { prove.to_vec() };
        let dry = world.json(&[&indices[..], named].concat());
        (dry["backend"].as_str().unwrap().to_owned(), dry["profile"].as_str().unwrap().to_owned())
    };
    let is = |batch: &str, named: &[&str], backend: &str, profile: &str| {
        assert_eq!(chosen(batch, named), (backend.into(), profile.into()), "{batch} {named:?}");
    };
    is("new", &[], "grove", "grove-100");
    is("new", &["--backend", "plonky2"], "plonky2", "proven");
    is("new", &["--profile", "johnson"], "plonky2", "johnson");
    is("new", &["--profile", "grove-128"], "grove", "grove-128");
    is("new", &["--backend", "native", "--profile", "grove-128"], "native", "grove-128");
    // The batch has the backend native and the profile paper.
    is("b", &["--backend", "grove"], "grove", "grove-100");
    is("b", &["--profile", "grove-128"], "native", "grove-128");
    is("b", &["--backend", "plonky2"], "plonky2", "paper");
    let args = ["prove", "--store", "s", "--batch", "b", "--profile", "grove-100", "--out", "p"];
    let proven = world.json(&args);
    assert_eq!((&proven["profile"], &proven["wrapped"]), (&"grove-100".into(), &false.into()));
    let root = world.commitment();
    let verify = ["verify", "--proof", "p", "--root", &root, "--allow-backend", "native"];
    world.fails(1, &verify[..5]);
    assert_eq!(world.json(&verify)["profile"], "grove-100");
}

#[test]
fn a_proof_of_grove_and_its_steps() {
    let world = World::with_table();
    let batch = ["prove", "--store", "s", "--batch", "g", "--indices", "0,3"];
    let proven = world.json(&[&batch[..], &["--timings", "t.json", "--out", "p"]].concat());
    assert_eq!((&proven["profile"], &proven["proofs_made"]), (&"grove-100".into(), &1.into()));
    let trace: serde_json::Value = serde_json::from_str(&world.text("t.json")).unwrap();
    let spans = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["pid"] == 1 && e["ph"] == "X");
    let names: Vec<&str> = spans.map(|e| e["name"].as_str().unwrap()).collect();
    let coset = ["stack.extension", "stack.hashing"];
    let steps = [&["witness", "trace"][..], &coset, &coset, &["stack.hashing", "bus", "rows", "opening"]].concat();
    assert!(names.windows(steps.len()).any(|part| part == steps), "{names:?}");
    assert!(names.ends_with(&["grinding", "opening", "check", "bucket"]), "{names:?}");
    let root = world.commitment();
    let verified = world.json(&["verify", "--proof", "p", "--root", &root]);
    assert_eq!((&verified["backend"], &verified["profile"]), (&"grove".into(), &"grove-100".into()));
}

#[test]
fn a_slot_is_opened_and_the_opening_verified() {
    let world = World::with_table();
    let root = world.commitment();
    let opened = world.json(&["open", "--store", "s", "6", "--out", "six"]);
    assert_eq!(opened["row"]["name"], "row, 2");
    assert_eq!((&opened["row"]["amount"], &opened["row"]["age"]), (&"-248.02".into(), &2.into()));
    assert_eq!(opened["siblings"].as_array().unwrap().len(), 11);
    let shown = world.json(&["verify", "--proof", "six", "--root", &root]);
    assert_eq!((&shown["accepted"], &shown["index"], &shown["value"]), (&true.into(), &6.into(), &opened["value"]));
    world.write("six.csv", "index,name,amount,age\n6,\"row, 2\",-248.02,2\n");
    assert_eq!(world.verify("six", &root, "six.csv").code, 0);
    world.write("six.csv", "index,name,amount,age\n6,\"row, 2\",-248.02,3\n");
    assert_eq!(world.verify("six", &root, "six.csv").code, 1);

    let empty = world.json(&["open", "--store", "s", "7", "--out", "seven"]);
    assert_eq!((&empty["filled"], empty["value"].is_null()), (&false.into(), true));
    assert_eq!(world.json(&["verify", "--proof", "seven", "--root", &root])["filled"], false);

    world.json(&["update", "--store", "s", "--set", "6=age=4"]);
    assert_eq!(world.run(&["verify", "--proof", "six", "--root", &world.commitment()]).code, 1);
    assert_eq!(world.json(&["open", "--store", "s", "6", "--epoch", "1"])["row"]["age"], 2);
    assert_eq!(world.json(&["open", "--store", "s", "6"])["row"]["age"], 4);
}

#[test]
fn a_proof_without_leaves_shows_no_positions() {
    let world = World::with_batch();
    let root = world.commitment();
    let args =
        ["verify", "--proof", "b.proof", "--root", &root, "--allow-backend", "native", "--allow-profile", "paper"];
    let shown = world.json(&args);
    let text = shown["shown"].as_str().unwrap();
    let digest = shown["canonical_digest"].as_str().unwrap();
    assert_eq!(digest.len(), 64);
    let expected = "is the root of some hash tree over a non-empty set of leaves of the table of this commitment";
    assert!(text.starts_with(&format!("{digest} {expected}")), "{text}");
    assert!(text.ends_with("nothing is known about which"), "{text}");
    assert!(shown["leaves"].is_null() && shown["schema_digest"].is_null());
    assert_eq!((&shown["leaves_checked"], &shown["digest_checked"]), (&false.into(), &false.into()));
    let text = world.run(&args).out;
    assert!(text.contains("note: no rows were checked, and nothing is known about which: give them with --leaves\n"));
    assert!(!text.contains("1347"), "{text}");
}

fn join<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

#[test]
fn a_digest_and_a_schema_digest_are_compared_with_what_is_known() {
    let world = World::with_batch();
    let root = world.commitment();
    let status = world.json(&["status", "--store", "s"]);
    let schema = status["schema_digest"].as_str().unwrap();
    let digest = status["batches"][0]["proven"]["canonical_digest"].as_str().unwrap();
    let verify = join(&["verify", "--proof", "b.proof", "--root", &root], &ALLOW);
    let rows = ["--leaves", "b.csv", "--schema", "schema.toml"];

    let shown = world.json(&join(&verify, &["--digest", digest]));
    assert_eq!((&shown["leaves_checked"], &shown["digest_checked"]), (&false.into(), &true.into()));
    let e = world.fails(1, &join(&verify, &["--digest", schema]));
    assert!(e.contains(&format!("the proof is about the digest {digest}, --digest is {schema}")), "{e}");

    let shown = world.json(&join(&join(&verify, &rows), &["--schema-digest", schema, "--digest", digest]));
    assert_eq!((&shown["leaves_checked"], &shown["leaves"]), (&true.into(), &450.into()));
    assert_eq!(shown["schema_digest"], schema);
    let text = world.run(&join(&verify, &rows)).out;
    assert!(text.contains(schema) && !text.contains("note: no rows"), "{text}");
    let e = world.fails(1, &join(&join(&verify, &rows), &["--schema-digest", digest]));
    assert!(e.contains(&format!("schema.toml: the digest of this schema is {schema}, --schema-digest is {digest}")));
    assert!(e.contains("help: get the schema that has this digest"), "{e}");
    // The same values under other names pass, unless the digest of the schema is given.
    world.write("other.toml", crate::world::SCHEMA.replace("amount", "debt"));
    world.write("debt.csv", world.text("b.csv").replacen("amount", "debt", 1));
    let other = ["--leaves", "debt.csv", "--schema", "other.toml"];
    assert_eq!(world.run(&join(&verify, &other)).code, 0);
    world.fails(1, &join(&join(&verify, &other), &["--schema-digest", schema]));

    for text in ["x", &schema[1..], &schema.to_uppercase()] {
        assert_eq!(world.run(&join(&verify, &["--digest", text])).code, 2);
    }
    assert_eq!(world.run(&join(&verify, &["--schema-digest", schema])).code, 2);
    world.json(&["open", "--store", "s", "6", "--out", "six"]);
    let e = world.fails(2, &["verify", "--proof", "six", "--root", &root, "--digest", digest]);
    assert!(e.contains("an opening has no canonical digest"), "{e}");
}

#[test]
fn a_dropped_batch_is_forgotten() {
    let world = World::with_batch();
    let run = world.run(&["batches", "--store", "s", "--drop", "b"]);
    assert_eq!((run.code, run.out.as_str()), (0, "No batches.\n"));
    assert_eq!(world.json(&["prune", "--store", "s"])["proofs"], 6);
    assert_eq!(world.json(&["status", "--store", "s"])["proofs_kept"], 0);
}

#[test]
fn kept_keys_are_listed_and_pruned() {
    let world = World::new();
    let keys = |args: &[&str]| world.run(&[&["keys"], args, &["--keys", "kept", "--format", "json"]].concat());
    assert_eq!(keys(&["list"]).out, "", "a directory that is not there");
    std::fs::create_dir(world.path("kept")).unwrap();
    for (name, bytes) in [("old.circuits", 700), ("old.keys", 60), ("new.circuits", 500), ("notes.txt", 9)] {
        world.write(&format!("kept/{name}"), "x".repeat(bytes));
    }
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for name in ["kept/old.circuits", "kept/old.keys"] {
        std::fs::File::options().write(true).open(world.path(name)).unwrap().set_modified(old).unwrap();
    }
    let listed: Vec<serde_json::Value> =
        keys(&["list"]).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sizes: Vec<_> =
        listed.iter().map(|set| (set["name"].as_str().unwrap(), set["bytes"].as_u64().unwrap())).collect();
    assert_eq!(sizes, [("old", 760), ("new", 500)]);

    let pruned = |more: &[&str]| -> serde_json::Value {
        serde_json::from_str(&keys(&[&["prune", "--max-size", "1000"], more].concat()).out).unwrap()
    };
    let dry = pruned(&["--dry-run"]);
    assert_eq!((&dry["removed"], &dry["removed_bytes"], &dry["kept_bytes"]), (&1.into(), &760.into(), &500.into()));
    assert!(world.path("kept/old.keys").exists());
    assert_eq!(pruned(&[])["removed"], 1);
    let left = ["old.circuits", "old.keys", "new.circuits", "notes.txt"].map(|n| world.path("kept").join(n).exists());
    assert_eq!(left, [false, false, true, true]);
    assert_eq!(keys(&["prune", "--max-size", "0"]).code, 0);
    assert!(!world.path("kept/new.circuits").exists() && world.path("kept/notes.txt").exists());
    assert_eq!(keys(&["prune", "--max-size", "much"]).code, 2);
}

#[test]
fn interrupted_proving_keeps_the_finished_proofs_and_says_how_to_continue() {
    let world = World::new();
    let rows: String = (0..2000).map(|i| format!("{{\"a\":{i}}}\n")).collect();
    world.write("t.jsonl", rows);
    world.json(&["commit", "--store", "s", "--input", "t.jsonl"]);
    let prove = ["prove", "--store", "s", "--batch", "b", "--indices", "0-1999", "--threads", "1"];
    let mut child = world.start(&prove, &[]);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("to make") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended");
    }
    // Time for the first proof to start.
    std::thread::sleep(Duration::from_millis(500));
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4), "{rest}");
    assert!(rest.contains("stopping when the proofs that are being made are finished"), "{rest}");
    assert!(rest.contains("kept: run the same command again to make the others"), "{rest}");
    let left = world.json(&[&prove[..], &["--dry-run"]].concat());
    assert!(left["proofs_to_make"].as_u64() < left["proofs_total"].as_u64(), "{left}");
}
