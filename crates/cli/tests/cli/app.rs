//! Answers to queries: proven, refreshed, verified, and what is refused. Real proofs with the parameters of `paper`.

use crate::world::World;

const SQL: &str = "SELECT COUNT(*), SUM(age), MAX(amount) FROM t WHERE age >= 20";

fn answer(object: &serde_json::Value) -> Vec<String> {
    let values = object["answer"].as_array().unwrap();
    values
        .iter()
        .map(|v| format!("{}={}", v["name"].as_str().unwrap(), v["value"].as_str().unwrap_or("NULL")))
        .collect()
}

#[test]
fn an_answer_is_proven_refreshed_and_verified() {
    let world = World::with_table();
    let paper = ["--profile", "paper"];
    let dry = world.json(&[&["app", "aggregate", "--store", "s", "--sql", SQL, "--dry-run"], &paper[..]].concat());
    assert!(dry["proofs_to_make"].as_u64().unwrap() >= 2 && dry["seconds"].as_f64().unwrap() > 0.0);

    let prove = ["app", "aggregate", "--store", "s", "--sql", SQL, "--name", "a", "--out", "a.proof"];
    let proven = world.json(&[&prove[..], &paper[..]].concat());
    let before = answer(&proven);
    let root = proven["commitment"].as_str().unwrap().to_owned();
    let verify = |root: &str, sql: &str, more: &[&str]| {
        let args =
            ["app", "verify-aggregate", "--proof", "a.proof", "--schema", "schema.toml", "--root", root, "--sql", sql];
        world.run(&[&args[..], more, &["--format", "json"]].concat())
    };
    let allow = ["--allow-profile", "paper"];
    let accepted = verify(&root, SQL, &allow);
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let accepted: serde_json::Value = serde_json::from_str(&accepted.out).unwrap();
    assert_eq!((answer(&accepted), accepted["over"].as_str()), (before.clone(), Some("all rows of the table")));

    // Another query, another commitment, other rows, no leave for the profile: all refused.
    let other = SQL.replace("20", "21");
    let digest = "0".repeat(64);
    let (head, last) = root.split_at(root.len() - 1);
    let other_root = format!("{head}{}", if last == "0" { 1 } else { 0 });
    for (root, sql, more) in [
        (root.as_str(), other.as_str(), &allow[..]),
        (root.as_str(), SQL, &[]),
        (other_root.as_str(), SQL, &allow[..]),
        (root.as_str(), SQL, &["--allow-profile", "paper", "--digest", &digest]),
    ] {
        let refused = verify(root, sql, more);
        assert_eq!(refused.code, 1, "{sql} {more:?}: {}", refused.err);
    }
    let plain = world.run(&["verify", "--proof", "a.proof", "--root", &root, "--allow-profile", "paper"]);
    assert_eq!(plain.code, 1, "a plain verification takes no answer for a batch: {}", plain.err);

    let updated = world.json(&["update", "--store", "s", "--set", "0=age=99"]);
    assert_eq!(updated["stale"], serde_json::json!([]));
    let again = world.json(&[&prove[..], &paper[..]].concat());
    assert_eq!(again["proofs_made"].as_u64(), Some(0));
    assert_ne!(answer(&again), before);
    let root = again["commitment"].as_str().unwrap();
    assert_eq!(verify(root, SQL, &allow).code, 0);

    let mut bytes = world.read("a.proof");
    let at = bytes.len() - 100;
    bytes[at] ^= 1;
    world.write("a.proof", &bytes);
    assert_eq!(verify(root, SQL, &allow).code, 1);
}

#[test]
fn queries_that_can_not_be_proven_are_refused_with_a_remedy() {
    let world = World::with_table();
    for (sql, message) in [
        ("SELECT age FROM t", "age is not supported"),
        ("SELECT SUM(agee) FROM t", "there is no column \"agee\""),
        ("SELECT SUM(name) FROM t", "SUM does not work on column \"name\""),
        ("SELECT COUNT(*) FROM t GROUP BY age", "GROUP BY is not supported"),
        ("SELECT", "not SQL"),
    ] {
        let run = world.run(&["app", "aggregate", "--store", "s", "--sql", sql]);
        assert_eq!(run.code, 2, "{sql}");
        assert!(run.err.contains(message) && run.err.contains("help: "), "{sql}: {}", run.err);
    }
}
