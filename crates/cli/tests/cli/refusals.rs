//! What a verifier refuses, with exit code 1.

use crate::world::{ALLOW, NATIVE, World};

#[test]
fn whatever_is_not_so_is_refused() {
    let world = World::with_batch();
    let root = world.commitment();
    let refused = |proof: &str, root: &str, leaves: &str, why: &str| {
        let run = world.verify(proof, root, leaves);
        assert_eq!(run.code, 1, "{why}: {}{}", run.out, run.err);
        assert!(run.err.contains(why), "{why}: {}", run.err);
        assert!(run.out.is_empty());
    };

    let rows = world.text("b.csv");
    let changed = |from: &str, to: &str| {
        assert!(rows.contains(from));
        world.write("t.csv", rows.replacen(from, to, 1));
        refused("b.proof", &root, "t.csv", "a leaf is changed, missing or additional");
    };
    changed("\"row, 7\"", "\"row, 8\"");
    changed("\n3,\"row, 1\",-249.01,1\n", "\n");
    changed("\n3,\"row, 1\",", "\n4,\"row, 1\",");
    changed("\n3,\"row, 1\",-249.01,1\n", "\n3,\"row, 1\",-249.01,1\n4,x,1,1\n");
    changed(",-250.00,", ",-250.00,0");

    let other = format!("{}{}", &root[..root.len() - 1], if root.ends_with('0') { '1' } else { '0' });
    refused("b.proof", &other, "b.csv", "it is stale or of another vector");
    let taller = root.replacen(":11:", ":12:", 1);
    assert_ne!(taller, root);
    refused("b.proof", &taller, "b.csv", "the proof is about a tree of height 11, the commitment's is 12");

    world.json(&["update", "--store", "s", "--set", "3=age=9"]);
    let now = world.commitment();
    refused("b.proof", &now, "b.csv", "it is stale or of another vector");

    let proof = world.read("b.proof");
    for cut in [0, 3, 10, 60, 120, proof.len() / 2, proof.len() - 1] {
        world.write("cut.proof", &proof[..cut]);
        refused("cut.proof", &root, "b.csv", "");
    }
    world.write("long.proof", [&proof[..], b"x"].concat());
    refused("long.proof", &root, "b.csv", "");
    for at in (0..proof.len()).step_by(proof.len() / 60) {
        let mut bytes = proof.clone();
        bytes[at] ^= 0x40;
        world.write("bent.proof", &bytes);
        refused("bent.proof", &root, "b.csv", "");
    }
}

#[test]
fn the_papers_scheme_is_refused_unless_it_is_allowed() {
    let world = World::with_table();
    let prove = ["prove", "--store", "s", "--batch", "p", "--indices", "0,3,900", "--scheme", "reckle-paper"];
    let prove = [&prove[..], &["--out", "p.proof", "--leaves-out", "p.csv"], &NATIVE].concat();
    let dry = world.json(&[&prove[..], &["--dry-run"]].concat());
    let proven = world.json(&prove);
    assert_eq!(proven["scheme"], "reckle-paper");
    // Blocks of 32 slots up to height 11: two paths that meet at height 10, and the wrap.
    assert_eq!((&proven["buckets"], &proven["merges"], &proven["proofs_made"]), (&2.into(), &10.into(), &13.into()));
    assert_eq!(dry["proofs_to_make"], proven["proofs_made"]);
    let root = world.commitment();
    let verify = ["verify", "--proof", "p.proof", "--root", &root, "--leaves", "p.csv", "--schema", "schema.toml"];
    let verify = [&verify[..], &ALLOW].concat();
    let e = world.fails(1, &verify);
    assert!(e.contains("scheme reckle-paper is not accepted (accepted: evergrove1)"), "{e}");
    let allowed = world.json(&[&verify[..], &["--allow-scheme", "reckle-paper"]].concat());
    assert_eq!((&allowed["accepted"], &allowed["scheme"]), (&true.into(), &"reckle-paper".into()));
    assert!(allowed["shown"].as_str().unwrap().contains("if an honest party has made the commitment"), "{allowed}");
    let updated = world.json(&["update", "--store", "s", "--set", "3=age=9"]);
    assert_eq!(updated["proofs_made"], 8);
    let status = world.json(&["status", "--store", "s"]);
    assert_eq!(
        (&status["batches"][0]["scheme"], &status["batches"][0]["stale"]),
        (&"reckle-paper".into(), &false.into())
    );
    let e = world.fails(2, &["prove", "--store", "s", "--batch", "q", "--indices", "0", "--scheme", "other"]);
    assert!(e.contains("choose evergrove1 or reckle-paper"), "{e}");
}

#[test]
fn a_prover_can_not_lower_what_the_verifier_asks_for() {
    let world = World::with_batch();
    let root = world.commitment();
    let verify = ["verify", "--proof", "b.proof", "--root", &root];
    let e = world.fails(1, &verify);
    assert!(e.contains("proofs of backend native version 1 are not accepted"), "{e}");
    let e = world.fails(1, &[&verify[..], &["--allow-profile", "paper"]].concat());
    assert!(e.contains("proofs of backend native version 1 are not accepted"), "{e}");
    let e = world.fails(1, &[&verify[..], &["--allow-backend", "native"]].concat());
    assert!(e.contains("profile paper is not accepted"), "{e}");
    let e = world.fails(1, &[&verify[..], &["--allow-backend", "native:2", "--allow-profile", "paper"]].concat());
    assert!(e.contains("proofs of backend native version 1 are not accepted"), "{e}");
    assert_eq!(world.run(&[&verify[..], &ALLOW].concat()).code, 0);
    let json = world.run(&[&verify[..], &["--format", "json"]].concat());
    let object: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&object["accepted"], &object["exit_code"]), (&false.into(), &1.into()));
}

#[test]
fn a_proof_of_one_batch_is_none_of_another() {
    let world = World::with_batch();
    let root = world.commitment();
    let other = ["prove", "--store", "s", "--batch", "c", "--indices", "0-2", "--out", "c.proof"];
    world.fails(2, &[&other[..], &NATIVE].concat());
    let other =
        ["prove", "--store", "s", "--batch", "c", "--indices", "0,3", "--out", "c.proof", "--leaves-out", "c.csv"];
    world.json(&[&other[..], &NATIVE].concat());
    assert_eq!(world.verify("c.proof", &root, "c.csv").code, 0);
    assert_eq!(world.verify("c.proof", &root, "b.csv").code, 1);
    assert_eq!(world.verify("b.proof", &root, "c.csv").code, 1);
}

#[test]
fn nothing_in_a_file_of_leaves_goes_unchecked() {
    let world = World::with_batch();
    let root = world.commitment();
    let verify = |leaves: &str, schema: &[&str]| {
        let args = ["verify", "--proof", "b.proof", "--root", &root, "--leaves", leaves];
        [&args[..], &ALLOW, schema].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let refused = |leaves: &str, schema: &[&str], expected: &[&str]| {
        let args = verify(leaves, schema);
        let e = world.fails(2, &args.iter().map(String::as_str).collect::<Vec<_>>());
        for text in expected {
            assert!(e.contains(text), "{text:?} is not in {e}");
        }
    };
    let columns = ["--schema", "schema.toml"];
    let take_out = "help: take the column out of the file";

    // An invented column in csv: of the rows, and of the values.
    let widen = |csv: &str| {
        let lines = csv.lines().enumerate();
        lines.map(|(n, line)| format!("{line},{}\n", if n == 0 { "paid" } else { "yes" })).collect::<String>()
    };
    world.write("wide.csv", widen(&world.text("b.csv")));
    refused("wide.csv", &columns, &["wide.csv: column \"paid\" is neither one of the schema nor", take_out]);
    world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "values.csv", "--values"]);
    assert_eq!(world.run(&verify("values.csv", &[]).iter().map(String::as_str).collect::<Vec<_>>()).code, 0);
    world.write("wide.csv", widen(&world.text("values.csv")));
    refused("wide.csv", &[], &["wide.csv: column \"paid\" is neither one of the schema nor", take_out]);

    // In jsonl: a column in one record, a misspelled one, one that is left out where it is null.
    world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "b.jsonl"]);
    let rows = world.text("b.jsonl");
    assert_eq!(world.verify("b.proof", &root, "b.jsonl").code, 0);
    let first = rows.lines().next().unwrap();
    assert!(first.ends_with("\"age\":null}"), "{first}");
    let edited = |to: &str| world.write("t.jsonl", rows.replacen(",\"age\":null}", to, 1));
    edited(",\"age\":null,\"paid\":true}");
    refused("t.jsonl", &columns, &["t.jsonl, line 1: column \"paid\" is neither one of the schema nor", take_out]);
    edited(",\"aeg\":41}");
    refused("t.jsonl", &columns, &["t.jsonl, line 1: the record has no column \"age\"; there is", "\"aeg\""]);
    edited("}");
    refused("t.jsonl", &columns, &["t.jsonl, line 1: the record has no column \"age\"", "help: write the column"]);

    // Positions beside those that are checked.
    refused("b.csv", &[&columns[..], &["--indices", "b.txt"]].concat(), &["b.csv: column \"index\" is neither"]);

    // The rows of an update are whole as well; a schema that is given to commit selects.
    world.write("u.csv", "index,name,amount,age,paid\n3,a,1,1,yes\n");
    let before = world.state();
    let e = world.fails(2, &["update", "--store", "s", "--input", "u.csv"]);
    assert!(e.contains("u.csv: column \"paid\" is neither"), "{e}");
    world.write("u.jsonl", "{\"index\":3,\"name\":\"a\",\"amount\":1}\n");
    let e = world.fails(2, &["update", "--store", "s", "--input", "u.jsonl"]);
    assert!(e.contains("the record has no column \"age\""), "{e}");
    assert_eq!(world.state(), before);
    let commit = |store: &str, input: &str| {
        let args = ["commit", "--store", store, "--input", input, "--schema", "schema.toml"];
        world.json(&[&args[..], &["--index-column", "index"]].concat())["rows"].clone()
    };
    assert_eq!((commit("s1", "u.csv"), commit("s2", "u.jsonl")), (1.into(), 1.into()));
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let world = World::with_batch();
    let root = world.commitment();
    let long = std::fs::File::create(world.path("long.proof")).unwrap();
    long.set_len(1 << 32).unwrap();
    let verify = ["verify", "--proof", "long.proof", "--root", &root];
    let e = world.fails(2, &verify);
    assert!(e.contains("long.proof: 4294967296 bytes, at most 16777216 bytes are read"), "{e}");
    assert!(e.contains("need --allow-backend native"), "{e}");
    // Another profile does not make it longer, another backend does.
    world.fails(2, &[&verify[..], &["--allow-profile", "paper"]].concat());
    long.set_len((1 << 24) + 1).unwrap();
    world.fails(2, &verify);
    world.fails(1, &[&verify[..], &ALLOW].concat());
    long.set_len(1 << 24).unwrap();
    world.fails(1, &verify);
    long.set_len((1 << 32) + 1).unwrap();
    let e = world.fails(2, &[&verify[..], &ALLOW].concat());
    assert!(e.contains("long.proof: 4294967297 bytes, at most 4294967296 bytes are read"), "{e}");
}
