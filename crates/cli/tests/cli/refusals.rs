//! Proofs and rows that a verifier refuses, with exit code 1.

use crate::world::{ALLOW, NATIVE, World};

#[test]
fn proofs_that_are_cut_or_bent_are_refused() {
    let world = World::with_batch();
    let root = world.commitment();
    let refused = |proof: &str, bytes: &[u8]| {
        world.write(proof, bytes);
        let run = world.verify(proof, &root, "b.csv");
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{}", run.err);
    };
    let proof = world.read("b.proof");
    for cut in [10, 120, proof.len() / 2] {
        refused("cut.proof", &proof[..cut]);
    }
    for at in (0..proof.len()).step_by(proof.len() / 60) {
        let mut bytes = proof.clone();
        bytes[at] ^= 0x40;
        refused("bent.proof", &bytes);
    }
    world.json(&["update", "--store", "s", "--set", "3=age=9"]);
    assert_eq!(world.verify("b.proof", &world.commitment(), "b.csv").code, 1, "the proof is stale");
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
    world.fails(1, &verify);
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
}

#[test]
fn a_refusal_is_told_to_programs() {
    let world = World::with_batch();
    let root = world.commitment();
    let verify = ["verify", "--proof", "b.proof", "--root", &root];
    assert_eq!(world.run(&[&verify[..], &ALLOW].concat()).code, 0);
    let json = world.run(&[&verify[..], &["--format", "json"]].concat());
    let object: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&object["accepted"], &object["exit_code"]), (&false.into(), &1.into()));
    assert_eq!(object["help"], "if you trust this backend, accept it with --allow-backend native:1");
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
fn rows_are_read_in_each_form_and_a_schema_selects_columns() {
    let world = World::with_batch();
    let root = world.commitment();
    world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "values.csv", "--values"]);
    let values = ["verify", "--proof", "b.proof", "--root", &root, "--leaves", "values.csv"];
    assert_eq!(world.run(&[&values[..], &ALLOW].concat()).code, 0);
    world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "b.jsonl"]);
    assert_eq!(world.verify("b.proof", &root, "b.jsonl").code, 0);
    // Rows for verify and update must have exactly the columns of the schema. For commit, the schema only selects
    // columns.
    world.write("u.csv", "index,name,amount,age,paid\n3,a,1,1,yes\n");
    world.write("u.jsonl", "{\"index\":3,\"name\":\"a\",\"amount\":1}\n");
    let commit = |store: &str, input: &str| {
        let args = ["commit", "--store", store, "--input", input, "--schema", "schema.toml"];
        world.json(&[&args[..], &["--index-column", "index"]].concat())["rows"].clone()
    };
    assert_eq!((commit("s1", "u.csv"), commit("s2", "u.jsonl")), (1.into(), 1.into()));
}
