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
