//! Every kind of bad input: a message that names the place, the value and the remedy, exit code 2, and nothing changed.

use crate::world::{NATIVE, World, is_bare};

/// A commit that must fail, and leave no store.
fn commit(file: &str, content: &str, more: &[&str], expected: &[&str]) {
    let world = World::new();
    world.write(file, content);
    world.write("schema.toml", crate::world::SCHEMA);
    world.write("raw.toml", "raw = true\n");
    let e = world.fails(2, &[&["commit", "--store", "s", "--input", file], more].concat());
    for text in expected {
        assert!(e.contains(text), "{text:?} is not in {e}");
    }
    assert!(is_bare(&world.path("s")), "{e}");
    world.fails(3, &["status", "--store", "s"]);
}

const SCHEMA: [&str; 2] = ["--schema", "schema.toml"];
const BY_ID: [&str; 4] = ["--schema", "schema.toml", "--index-column", "id"];

#[test]
fn a_table_with_a_mistake_is_not_committed() {
    let head = "id,name,amount,age\n0,a,1,1\n";
    let table = |line: &str| format!("{head}{line}\n");
    commit(
        "t.csv",
        &table("0,b,1,1"),
        &BY_ID,
        &["t.csv, line 3: position 0 stands there twice", "help: keep one row per position"],
    );
    commit(
        "t.csv",
        &table("1099511627776,b,1,1"),
        &BY_ID,
        &["line 3", "column \"id\": \"1099511627776\" is not a position"],
    );
    commit("t.csv", &table("1,b,1"), &BY_ID, &["t.csv, line 3: malformed csv: 3 fields, the header has 4"]);
    commit(
        "t.csv",
        &table("1,b,x,1"),
        &BY_ID,
        &["line 3: column \"amount\": \"x\" is not a number of type fixed:2", "help: "],
    );
    commit(
        "t.csv",
        &table("1,b,1.005,1"),
        &BY_ID,
        &["\"1.005\" has 3 decimal places", "help: give column \"amount\" the type fixed:3"],
    );
    commit(
        "t.csv",
        &table("1,b,1,-1"),
        &BY_ID,
        &["\"-1\" does not fit type unsigned", "help: give column \"age\" the type signed"],
    );
    commit(
        "t.csv",
        &table("1,b,1,9223372036854775808"),
        &BY_ID,
        &["does not fit type unsigned, which holds 0 to 9223372036854775807"],
    );
    commit(
        "t.csv",
        &table("1,b,,1"),
        &BY_ID,
        &["column \"amount\" (fixed:2) is empty", "help: fill the cell, or set nullable = true"],
    );
    commit(
        "t.csv",
        &table("5,b,1,1"),
        &[&BY_ID[..], &["--height", "2"]].concat(),
        &["index 5 is outside the vector of 2^2 slots\n", "help: raise --height"],
    );
    commit("t.csv", head, &[&BY_ID[..], &["--height", "41"]].concat(), &["height 41 is outside 1 to 40"]);
    commit(
        "t.csv",
        head,
        &["--schema", "schema.toml", "--index-column", "key"],
        &["no column \"key\"; there is \"id\", \"name\""],
    );
    commit("t.csv", "id,name\n0,a\n", &SCHEMA, &["no column \"amount\""]);
    commit("t.csv", "name,amount,age\n", &SCHEMA, &["t.csv: the table has no rows"]);
    commit("t.csv", "", &[], &["the table has no rows"]);
    commit(
        "t.csv",
        head,
        &[&SCHEMA[..], &["--indices", "1,2"]].concat(),
        &["2 positions were given, the table has 1 rows"],
    );
    commit("t.jsonl", "{\"name\":\"a\",\"amount\":1}\n{\"name\":", &SCHEMA, &["t.jsonl, line 2: malformed jsonl"]);
    commit(
        "t.jsonl",
        "{\"name\":\"a\",\"amount\":1e99}\n",
        &SCHEMA,
        &["t.jsonl, line 1: column \"amount\": \"1e99\" is not a number"],
    );
    commit("t.parquet", "PAR1 this is no parquet file PAR1", &SCHEMA, &["malformed parquet"]);
    commit("t.raw", &"x".repeat(40), &[], &["t.raw: 40 bytes are not a multiple of 32"]);
    commit("t.raw", &"\u{7f}".repeat(32), &SCHEMA, &["a raw file holds values, the schema has columns"]);
    commit("t.txt", head, &[], &["the extension names no format", "help: name it with --input-format"]);
    commit(
        "t.csv",
        "e0,e1,e2,e3\n1,2,3,18446744069414584321\n",
        &["--schema", "raw.toml"],
        &["t.csv, line 2: element 4 of the raw value: 18446744069414584321 is not"],
    );
}

#[test]
fn values_beyond_the_field_are_not_committed() {
    let world = World::new();
    let mut bytes = [0u8; 64];
    bytes[56..].fill(0xff);
    world.write("t.raw", bytes);
    let e = world.fails(2, &["commit", "--store", "s", "--input", "t.raw"]);
    let expected = "t.raw, row 2: element 4 of the raw value: 18446744073709551615 is not an integer below p = 18446744069414584321";
    assert!(e.contains(expected), "{e}");
    assert!(is_bare(&world.path("s")));
}

#[test]
fn a_schema_with_a_mistake_is_refused() {
    let world = World::new();
    world.write("t.csv", "a\n1\n");
    for (schema, expected) in [
        ("[[column]]\nname = \"a\"\ntype = \"float\"\n", "unknown column type \"float\""),
        ("[[column]]\nname = \"a\"\n", "missing field `type`"),
        ("[[column]]\nname = \"a\"\ntype = \"bytes\"\nsize = 3\n", "unknown field `size`"),
        ("", "a schema needs at least one column"),
        ("x", "the schema does not read"),
    ] {
        world.write("x.toml", schema);
        let e = world.fails(2, &["commit", "--store", "s", "--input", "t.csv", "--schema", "x.toml"]);
        assert!(e.contains(expected), "{e}");
    }
    world.fails(5, &["commit", "--store", "s", "--input", "t.csv", "--schema", "missing.toml"]);
    world.fails(5, &["commit", "--store", "s", "--input", "missing.csv"]);
    assert!(is_bare(&world.path("s")));
}

#[test]
fn a_batch_with_a_mistake_is_not_defined() {
    let world = World::with_batch();
    let before = world.state();
    let prove = |batch: &str, indices: &str, code: i32, expected: &str| {
        let e = world
            .fails(code, &[&["prove", "--store", "s", "--batch", batch, "--indices", indices], &NATIVE[..]].concat());
        assert!(e.contains(expected), "{expected:?} is not in {e}");
    };
    prove("c", "0,3,3", 2, "position 3 stands there twice");
    prove("c", "0,4", 2, "slot 4 is empty");
    prove("c", "0,5000", 2, "index 5000 is outside the vector of 2^11 slots");
    prove("c", "0,1099511627776", 2, "position 1099511627776 is out of range");
    prove("c", "", 2, "the list has no position");
    prove("c", "9-3", 2, "ends before it starts");
    prove("c", "@missing", 5, "missing");
    prove("b", "0,3", 2, "batch \"b\" has 450 members already");
    prove("no/name", "0,3", 2, "is not a batch name");
    world.write("list", "0\n3\nx\n");
    prove("c", "list", 2, "line 3: \"x\" is not a position or a range");
    let e = world.fails(2, &["prove", "--store", "s", "--batch", "c"]);
    assert!(e.contains("there is no batch \"c\"; the store has b"), "{e}");
    let e = world.fails(2, &["prove", "--store", "s", "--batch", "c", "--indices", "0", "--backend", "abacus"]);
    assert!(e.contains("no backend \"abacus\""), "{e}");
    world.fails(2, &["prove", "--store", "s", "--batch", "c", "--indices", "0", "--profile", "fast"]);
    let out = |code: i32, flag: &str, path: &str, expected: &str| {
        let prove = ["prove", "--store", "s", "--batch", "c", "--indices", "0", flag, path];
        let e = world.fails(code, &[&prove[..], &NATIVE].concat());
        assert!(e.contains(expected), "{expected:?} is not in {e}");
    };
    // Before the proofs are made, not after.
    out(5, "--out", "no/such/dir/c.proof", "no/such/dir/c.proof");
    out(5, "--out", "s", "s: is a directory");
    out(5, "--timings", "no/such/dir/t.json", "no/such/dir/t.json");
    out(2, "--leaves-out", "c.rows", "the extension names no format");
    out(2, "--leaves-out", "c.parquet", "parquet is read only");
    let small = ["prove", "--store", "s", "--batch", "c", "--indices", "0", "--max-memory", "1K"];
    let e = world.fails(2, &[&small[..], &NATIVE].concat());
    assert!(e.contains("--max-memory is 1.0 KiB"), "{e}");
    assert_eq!(world.state(), before);
}

#[test]
fn an_update_with_a_mistake_changes_nothing() {
    let world = World::with_batch();
    let before = world.state();
    let update = |args: &[&str], expected: &str| {
        let e = world.fails(2, &[&["update", "--store", "s", "--set", "3=age=1"], args].concat());
        assert!(e.contains(expected), "{expected:?} is not in {e}");
    };
    update(&["--set", "5000=a,1,1"], "index 5000 is outside the vector of 2^11 slots; --grow");
    update(&["--set", "1099511627776=a,1,1", "--grow"], "beyond 2^40 slots");
    update(&["--set", "3=age=2"], "index 3 is given twice");
    update(&["--set", "6=a,1"], "2 cells for 3 columns");
    update(&["--set", "6=ages=1"], "no column \"ages\"; there is \"name\", \"amount\", \"age\"");
    update(&["--set", "6=age=x"], "column \"age\": \"x\" is not a number of type unsigned");
    update(&["--set", "4=age=1"], "the slot is empty, and column \"name\" is not named");
    update(&["--set", "six"], "not of the form I=V");
    update(&["--set", "-6=a,1,1"], "not of the form I=V");
    update(&["--delete", "4"], "slot 4 is empty");
    update(&["--delete", "6"], "slot 6 is in batch \"b\": remove it from the batch first");
    update(&["--delete", "3"], "");
    update(&["--add", "b:6"], "index 6 is in batch \"b\" already");
    update(&["--add", "b:4"], "slot 4 is empty");
    update(&["--add", "c:6"], "there is no batch \"c\"");
    update(&["--add", "b"], "not of the form NAME:LIST");
    update(&["--remove", "b:1497"], "index 1497 is not in batch \"b\"");
    update(&["--remove", "b:b.txt"], "batch \"b\" would have no members");
    update(&["--index-column", "id"], "describe a file of rows, and none is given");
    world.write("c.csv", "index,name,amount,age\n6,a,1,1\n9,a,1\n");
    update(&["--input", "c.csv"], "c.csv, line 3: malformed csv");
    world.write("c.csv", "id,name,amount,age\n6,a,1,1\n");
    update(&["--input", "c.csv"], "no column \"index\"");
    world.write("c.csv", "index,name,amount,age\n6,a,1,1\n6,a,1,1\n");
    update(&["--input", "c.csv"], "c.csv, line 3: position 6 stands there twice");
    assert_eq!(world.state(), before);
    world.check_batch();
}

#[test]
fn other_commands_say_what_is_wrong() {
    let world = World::with_batch();
    let root = world.commitment();
    let says = |code: i32, args: &[&str], expected: &str| {
        let e = world.fails(code, args);
        assert!(e.contains(expected), "{expected:?} is not in {e}");
    };
    says(2, &["open", "--store", "s", "5000"], "index 5000 is outside the vector");
    says(2, &["open", "--store", "s", "3", "--epoch", "7"], "epoch 7 is not kept");
    says(2, &["prune", "--store", "s", "--keep", "0"], "keep at least 1 epoch");
    says(2, &["export", "--store", "s"], "nothing to export");
    says(2, &["export", "--store", "s", "--batch", "c", "--leaves", "l.csv"], "there is no batch \"c\"");
    says(2, &["export", "--store", "s", "--batch", "b", "--leaves", "l.raw"], "choose csv or jsonl");
    says(2, &["export", "--store", "s", "--table", "l.parquet"], "parquet is read only");
    says(5, &["export", "--store", "s", "--table", "no/such/dir/l.csv"], "no/such/dir/l.csv");
    says(2, &["batches", "--store", "s", "--drop", "c"], "there is no batch \"c\"");
    says(5, &["verify", "--proof", "missing", "--root", &root], "missing");
    says(
        2,
        &["verify", "--proof", "b.proof", "--root", &root, "--leaves", "b.csv"],
        "help: give the schema of the rows with --schema",
    );
    says(2, &["verify", "--proof", "b.proof", "--root", &root, "--allow-backend", "abacus"], "no such backend");
    world.write("twice.csv", "index,name,amount,age\n3,a,1,1\n3,a,1,1\n");
    let twice = ["verify", "--proof", "b.proof", "--root", &root, "--leaves", "twice.csv", "--schema", "schema.toml"];
    says(2, &twice, "twice.csv, line 3: position 3 stands there twice");
    for name in ["l.csv", "l.raw", "l.parquet"] {
        assert!(!world.path(name).exists());
    }
    // The parser of the command line itself.
    for root in ["x", "evergrove1:0:00", "evergrove2:11:00"] {
        let run = world.run(&["verify", "--proof", "b.proof", "--root", root]);
        assert_eq!(run.code, 2, "{}", run.err);
    }
    assert_eq!(world.run(&["prove", "--store", "s"]).code, 2);
    assert_eq!(world.run(&["frobnicate"]).code, 2);
    for format in [&["--format", "json"][..], &["--format=json"]] {
        let run = world.run(&[&["open", "--store", "s", "many"], format].concat());
        let object: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!((run.code, object["exit_code"].as_i64()), (2, Some(2)));
        assert!(object["error"].as_str().unwrap().starts_with("invalid value 'many' for '<INDEX>'"), "{object}");
    }
}

#[test]
fn keys_are_kept_in_a_directory() {
    let world = World::with_batch();
    let prove = ["prove", "--store", "s", "--batch", "b"];
    for dir in ["b.proof", "b.proof/keys"] {
        let e = world.fails(2, &[&prove[..], &["--keys", dir]].concat());
        assert!(e.contains(&format!("proving keys can not be kept in {dir}: b.proof is no directory")), "{e}");
    }
    let e = world.fails(2, &[&prove[..], &["--threads", "65535"]].concat());
    assert!(e.contains("65535 is not in 1..=1024"), "{e}");
}
