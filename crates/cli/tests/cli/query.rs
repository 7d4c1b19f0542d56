//! Queries asked by `query`: explained, answered, proven in one file, verified and refused.

use evergrove::proof::wire::Bundle;
use serde_json::{Value, json};

use crate::world::World;

const GROUPS: &str = "SELECT name, COUNT(*) AS n, MAX(age) AS oldest FROM t WHERE age < 8 GROUP BY name";
const TOP: &str = "SELECT name, age FROM t WHERE name <> 'n1' ORDER BY age DESC LIMIT 4";

/// Verifies the answer in `a.tar`.
fn verify(world: &World, more: &[&str]) -> crate::world::Run {
    let root = world.commitment();
    world.run(&[&["query", "--verify", "a.tar", "--root", &root, "--schema", "schema.toml"], more].concat())
}

fn json_of(run: &crate::world::Run) -> Value {
    assert_eq!(run.code, 0, "{}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn an_answer_by_groups_is_one_file() {
    let world = World::with_table();
    let native = world.json(&["query", GROUPS, "--store", "s", "--unproven"]);
    assert_eq!(native["proven"], false);
    let rows = native["rows"].as_array().unwrap();
    assert!(rows.len() > 2 && rows.iter().all(|row| row["oldest"].as_str().unwrap() <= "7"), "{rows:?}");
    let proven = world.json(&["query", GROUPS, "--store", "s", "--out", "a.tar"]);
    assert_eq!((&proven["rows"], &proven["columns"]), (&native["rows"], &json!(["name", "n", "oldest"])));

    // The file has the query; a different query is refused.
    let accepted = json_of(&verify(&world, &["--format", "json"]));
    assert_eq!((&accepted["rows"], &accepted["query"]), (&native["rows"], &GROUPS.into()));
    let again = json_of(&verify(&world, &[GROUPS, "--format", "json"]));
    assert_eq!(again["rows"], native["rows"]);
    let other = verify(&world, &[&GROUPS.replace("< 8", "< 9")]);
    assert_eq!(other.code, 1, "{}", other.err);
    // A missing group.
    let bytes = world.read("a.tar");
    let bundle = Bundle::decode(&bytes).unwrap();
    let groups = std::str::from_utf8(bundle.groups.unwrap()).unwrap();
    let fewer = groups.split_once('\n').unwrap().1;
    world.write("a.tar", Bundle { groups: Some(fewer.as_bytes()), ..bundle }.encode().unwrap());
    let refused = verify(&world, &[]);
    assert_eq!(refused.code, 1, "{}", refused.err);
}

#[test]
fn the_first_rows_of_an_order_are_all_there() {
    let world = World::with_table();
    let csv = world.run(&["query", TOP, "--store", "s", "--unproven", "--output-format", "csv"]);
    assert_eq!((csv.code, csv.out.lines().count(), csv.out.lines().next()), (0, 5, Some("name,age")));
    let proven = world.json(&["query", TOP, "--store", "s", "--out", "a.tar", "--name", "top"]);
    let shown: Vec<String> = proven["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("\"{}\",{}", row["name"].as_str().unwrap(), row["age"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, csv.out.lines().skip(1).collect::<Vec<_>>());
    let accepted = json_of(&verify(&world, &["--format", "json"]));
    assert_eq!(accepted["rows"], proven["rows"]);
    assert_eq!(accepted["positions"].as_array().unwrap().len(), 4);

    let bytes = world.read("a.tar");
    let bundle = Bundle::decode(&bytes).unwrap();
    let rows = std::str::from_utf8(bundle.rows.unwrap().1).unwrap();
    let spoiled = |bundle: Bundle<'_>| {
        world.write("a.tar", bundle.encode().unwrap());
        let refused = verify(&world, &[]);
        assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
        refused.err
    };
    let with = |rows: &str| spoiled(Bundle { rows: Some((bundle.rows.unwrap().0, rows.as_bytes())), ..bundle });
    // A missing row, a changed row, a duplicate row, and no rows at all.
    let fewer = rows.split_once('\n').unwrap().1;
    with(fewer);
    let age = proven["rows"][0]["age"].as_str().unwrap();
    with(&rows.replacen(&format!("\"age\":{age}"), "\"age\":999", 1));
    let first = rows.lines().next().unwrap();
    let second = rows.lines().nth(1).unwrap();
    assert!(with(&rows.replacen(second, first, 1)).contains("duplicate"));
    with("");
    let e = spoiled(Bundle { paths: None, ..bundle });
    assert!(e.contains("rows.paths"), "{e}");
    // The proof of an earlier table.
    world.write("a.tar", &bytes);
    assert_eq!(verify(&world, &[]).code, 0);
    world.json(&["update", "--store", "s", "--set", "3=age=9999"]);
    assert_eq!(verify(&world, &[]).code, 1);
    let again = world.json(&["query", TOP, "--store", "s", "--out", "a.tar", "--name", "top"]);
    assert_eq!(again["rows"][0]["age"], "9999");
    assert_eq!(verify(&world, &[]).code, 0);
}

#[test]
fn rows_that_pass_a_condition_are_complete() {
    let world = World::with_table();
    let sql = "SELECT * FROM t WHERE age BETWEEN 11 AND 13";
    let proven = world.json(&["query", sql, "--store", "s", "--out", "a.tar", "--name", "r"]);
    let accepted = json_of(&verify(&world, &[sql, "--format", "json"]));
    assert!(accepted["rows"].as_array().unwrap().len() > 1);
    assert_eq!(accepted["rows"], proven["rows"]);
    assert_eq!(accepted["columns"].as_array().unwrap().len(), 3);
    // An empty list of rows is an answer, too.
    let none = "SELECT name FROM t WHERE age > 1000000";
    let empty = world.json(&["query", none, "--store", "s", "--out", "a.tar"]);
    assert_eq!(empty["rows"], json!([]));
    assert_eq!(json_of(&verify(&world, &[none, "--format", "json"]))["rows"], json!([]));
}

#[test]
fn an_answer_over_a_batch_has_its_rows() {
    let world = World::with_table();
    let sql = "SELECT COUNT(*), SUM(age) FROM t";
    let proven = world.json(&["query", sql, "--store", "s", "--indices", "0,3,6", "--out", "a.tar"]);
    let native = world.json(&["query", sql, "--store", "s", "--indices", "0,3,6", "--unproven"]);
    assert_eq!(proven["rows"], native["rows"]);
    // Accepted only with --over-batch, because the prover has chosen the rows.
    let refused = verify(&world, &[sql]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.err.contains("not over all of the table"), "{}", refused.err);
    let accepted = json_of(&verify(&world, &["--over-batch", "--format", "json"]));
    let of = |name: &str| &accepted[name];
    assert_eq!((of("rows"), of("leaves"), of("complete")), (&native["rows"], &json!(3), &json!(false)));
    let bytes = world.read("a.tar");
    let bundle = Bundle::decode(&bytes).unwrap();
    let (form, rows) = bundle.rows.unwrap();
    let rows = std::str::from_utf8(rows).unwrap();
    for spoiled in [rows.split_once('\n').unwrap().1.to_owned(), rows.replacen("\"age\":1", "\"age\":2", 1)] {
        world.write("a.tar", Bundle { rows: Some((form, spoiled.as_bytes())), ..bundle }.encode().unwrap());
        assert_eq!(verify(&world, &["--over-batch"]).code, 1, "{spoiled}");
    }
    // A proof over all rows is not accepted as one over some rows, nor the reverse.
    world.json(&["query", sql, "--store", "s", "--out", "b.tar"]);
    let whole = world.read("b.tar");
    let all = Bundle::decode(&whole).unwrap();
    world.write("a.tar", Bundle { rows: bundle.rows, ..all }.encode().unwrap());
    assert_eq!(verify(&world, &["--over-batch"]).code, 1);
    world.write("a.tar", Bundle { rows: None, ..bundle }.encode().unwrap());
    assert_eq!(verify(&world, &[]).code, 1);
}

/// The query in a file is somebody else's text, so a query that could be read in two ways is refused.
#[test]
fn a_query_from_a_file_is_plain() {
    let world = World::with_table();
    let sql = "SELECT COUNT(*) AS n, MAX(age) AS n FROM t";
    let proven = world.json(&["query", sql, "--store", "s", "--out", "a.tar"]);
    assert_eq!(proven["columns"], json!(["n", "n (2)"]));
    assert_eq!(proven["rows"], json!([{ "n": "500", "n (2)": "499" }]));
    let bytes = world.read("a.tar");
    let bundle = Bundle::decode(&bytes).unwrap();
    for end in ["-- all", "\n WHERE 1 = 1", "/* all */", "WHERE 'a\\n' = 'a\\n'"] {
        let other = format!("{sql} {end}");
        world.write("a.tar", Bundle { query: Some(other.as_bytes()), ..bundle }.encode().unwrap());
        let refused = verify(&world, &[]);
        assert_eq!(refused.code, 2, "{other}");
        assert!(refused.err.contains("has comments or ends of lines"), "{}", refused.err);
        assert_eq!(verify(&world, &[sql]).code, 0, "{other}");
    }
}

#[test]
fn explained_before_anything_is_made() {
    let world = World::with_table();
    let explained = world.json(&["query", GROUPS, "--store", "s", "--explain"]);
    assert_eq!((&explained["kind"], &explained["columns_read"]), (&"groups".into(), &"name, age".into()));
    assert!(explained["proofs_to_make"].as_u64().unwrap() > 0 && explained["seconds"].as_f64().unwrap() > 0.0);
    let rows = world.json(&["query", TOP, "--store", "s", "--explain"]);
    assert_eq!((&rows["kind"], &rows["numbers_proven"]), (&"first rows".into(), &json!(2)));
    assert!(world.json(&["status", "--store", "s"])["batches"].as_array().is_none_or(Vec::is_empty));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = World::with_table();
    for (args, what) in [
        (
            &["query", "SELECT name FROM t LIMIT 3", "--store", "s"][..],
            "query: LIMIT without ORDER BY is not supported",
        ),
        (
            &["query", "SELECT name FROM t", "--store", "s", "--indices", "0,3"],
            "a query that lists rows is over all rows of the table",
        ),
        (&["query", "SELECT name FROM t", "--store", "s", "--pinned"], "--pinned: not for queries that list rows"),
        (&["query", "SELECT nobody FROM t", "--store", "s"], "query: unknown column \"nobody\""),
        (&["query", TOP], "--store"),
        (&["query", "--store", "s"], "QUERY"),
        (&["query", TOP, "--store", "s", "--explain", "--unproven"], "cannot be used with"),
        (&["query", TOP, "--verify", "a.tar"], "--root"),
        (&["query", "--verify", "table.csv", "--root", &world.commitment()], "table.csv: the bundle"),
    ] {
        let e = world.fails(2, args);
        assert!(e.contains(what), "{args:?}: {e}");
    }
    world.json(&["prove", "--store", "s", "--batch", "b", "--indices", "0,3"]);
    world.json(&["export", "--store", "s", "--batch", "b", "--bundle", "a.tar"]);
    let e = world.fails(2, &["query", "--verify", "a.tar", "--root", &world.commitment()]);
    assert!(e.contains("a.tar: holds no answer to a query"), "{e}");
    world.json(&["query", "SELECT COUNT(*) FROM t", "--store", "s", "--out", "a.tar"]);
    let e = world.fails(2, &["query", "--verify", "a.tar", "--root", &world.commitment()]);
    assert!(e.contains("the schema comes from whoever made the answer"), "{e}");
    let wrong = "1".repeat(64);
    let e = world.fails(1, &["query", "--verify", "a.tar", "--root", &world.commitment(), "--schema-digest", &wrong]);
    assert!(e.contains("--schema-digest is"), "{e}");
    // A bundle with an answer is not a bundle of a batch.
    let e = world.fails(2, &["verify", "--bundle", "a.tar", "--root", &world.commitment(), "--schema", "schema.toml"]);
    assert!(e.contains("query --verify"), "{e}");
}
