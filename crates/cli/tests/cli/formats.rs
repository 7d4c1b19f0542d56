//! One table in every format, in and out.

use std::fs::File;
use std::sync::Arc;

use evergrove::store::Store;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::world::{ALLOW, NATIVE, ROWS, World};

#[test]
fn every_format_gives_the_same_commitment() {
    let world = World::with_table();
    let root = world.commitment();
    world.json(&["export", "--store", "s", "--table", "out.csv", "--schema", "out.toml"]);
    world.json(&["export", "--store", "s", "--table", "out.jsonl"]);
    world.json(&["export", "--store", "s", "--table", "values.csv", "--values"]);
    parquet(&world);
    let again = |store: &str, input: &str, more: &[&str]| {
        world.json(&[&["commit", "--store", store, "--input", input], more].concat())["commitment"].clone()
    };
    assert_eq!(again("s1", "out.csv", &["--schema", "out.toml", "--index-column", "index"]), root.as_str());
    assert_eq!(again("s2", "out.jsonl", &["--schema", "out.toml", "--index-column", "index"]), root.as_str());
    assert_eq!(again("s3", "table.parquet", &["--schema", "out.toml", "--index-column", "id"]), root.as_str());
    world.write("raw.toml", "raw = true\n");
    assert_eq!(again("s4", "values.csv", &["--schema", "raw.toml", "--index-column", "index"]), root.as_str());
    // A schema that is inferred from the content is the same.
    assert_eq!(again("s5", "table.csv", &["--index-column", "id"]), root.as_str());
    assert_eq!(again("s6", "table.parquet", &["--index-column", "id"]), root.as_str());
    let positions: Vec<_> = (0..ROWS).map(|i| (3 * i).to_string()).collect();
    world.write("plain.csv", without_first_column(&world.text("table.csv")));
    assert_eq!(again("s7", "plain.csv", &["--indices", &positions.join(",")]), root.as_str());

    // A table written and read again is the same table.
    world.json(&["export", "--store", "s3", "--table", "out3.csv"]);
    assert_eq!(world.text("out.csv"), world.text("out3.csv"));
}

#[test]
fn raw_values_are_committed_proven_and_verified() {
    let world = World::new();
    let mut bytes = Vec::new();
    for x in 0..400u64 {
        bytes.extend(x.to_le_bytes());
    }
    world.write("t.raw", &bytes);
    let committed = world.json(&["commit", "--store", "s", "--input", "t.raw"]);
    assert_eq!(
        (&committed["rows"], &committed["height"], &committed["schema"]["raw"]),
        (&100.into(), &7.into(), &true.into())
    );
    let root = committed["commitment"].as_str().unwrap();
    world.json(
        &[&["prove", "--store", "s", "--batch", "b", "--indices", "3,50-60", "--out", "p"], &NATIVE[..]].concat(),
    );
    world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "l.raw"]);
    world.json(&["export", "--store", "s", "--batch", "b", "--leaves", "l.csv"]);
    assert_eq!(world.read("l.raw").len(), 12 * 32);
    let verify = ["verify", "--proof", "p", "--root", root];
    let with = |leaves: &[&str]| world.run(&[&verify[..], leaves, &ALLOW].concat());
    assert_eq!(with(&["--leaves", "l.csv"]).code, 0);
    assert_eq!(with(&["--leaves", "l.raw", "--indices", "3,50-60"]).code, 0);
    assert_eq!(with(&["--leaves", "l.raw", "--indices", "4,50-60"]).code, 1);
    assert_eq!(with(&["--leaves", "l.raw"]).code, 2);

    world.json(&["update", "--store", "s", "--set", "3=1,2,3,18446744069414584320"]);
    let opened = world.json(&["open", "--store", "s", "3"]);
    assert_eq!(opened["value"][3], "18446744069414584320");
    let e = world.fails(2, &["update", "--store", "s", "--set", "3=1,2,3,18446744069414584321"]);
    assert!(e.contains("element 4 of the raw value: 18446744069414584321 is not an integer below p"), "{e}");
}

#[test]
fn rows_are_numbered_in_their_order() {
    let world = World::new();
    world.write("t.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    let committed = world.json(&["commit", "--store", "s", "--input", "t.jsonl", "--height", "20"]);
    assert_eq!(
        (&committed["rows"], &committed["height"], &committed["schema_inferred"]),
        (&2.into(), &20.into(), &true.into())
    );
    assert_eq!(committed["schema"]["column"][0]["type"], "unsigned");
    assert_eq!(world.json(&["open", "--store", "s", "1"])["row"]["a"], 2);
    world.json(&["export", "--store", "s", "--table", "o.jsonl"]);
    assert_eq!(world.text("o.jsonl"), "{\"index\":0,\"a\":1}\n{\"index\":1,\"a\":2}\n");
}

#[test]
fn a_column_named_index_gets_another_name_beside_it() {
    let world = World::new();
    world.write("t.csv", "index,a\n7,1\n8,2\n");
    world.json(&["commit", "--store", "s", "--input", "t.csv"]);
    world.json(&["export", "--store", "s", "--table", "o.csv", "--schema", "schema.toml"]);
    assert_eq!(world.text("o.csv"), "index_,index,a\n0,7,1\n1,8,2\n");
    world.json(&["update", "--store", "s", "--input", "o.csv"]);
}

#[test]
fn the_library_reads_what_the_command_wrote() {
    let world = World::with_batch();
    let store = Store::open(&world.path("s")).unwrap();
    assert_eq!(store.export("b").unwrap(), world.read("b.proof"));
    assert_eq!(store.commitment().unwrap().to_string(), {
        drop(store);
        world.commitment()
    });
}

fn without_first_column(csv: &str) -> String {
    csv.lines().map(|l| l.split_once(',').unwrap().1.to_owned() + "\n").collect()
}

fn parquet(world: &World) {
    let message = "message t {
        required int64 id;
        required binary name (UTF8);
        required int32 amount (DECIMAL(9, 2));
        optional int64 age;
    }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let file = File::create(world.path("table.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    for rows in [0..200, 200..ROWS as i64] {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&rows.clone().map(|i| 3 * i).collect::<Vec<_>>(), None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let names: Vec<_> = rows.clone().map(|i| ByteArray::from(format!("row, {i}").as_str())).collect();
        column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let cents = |i: i64| {
            let (whole, cents) = (i - 250, i % 100);
            (if whole < 0 { 100 * whole - cents } else { 100 * whole + cents }) as i32
        };
        column.typed::<Int32Type>().write_batch(&rows.clone().map(cents).collect::<Vec<_>>(), None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<_> = rows.clone().map(|i| i16::from(i % 5 != 0)).collect();
        let ages: Vec<_> = rows.clone().filter(|i| i % 5 != 0).collect();
        column.typed::<Int64Type>().write_batch(&ages, Some(&levels), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn cells_that_are_no_text_are_opened_whole_and_move_no_cursor() {
    let world = World::new();
    world.write("t.csv", b"a,b\n\xff\x00,\"x\x1b[2J\nSiblings\"\n");
    world.json(&["commit", "--store", "s", "--input", "t.csv"]);
    let opened = world.json(&["open", "--store", "s", "0"]);
    assert_eq!(opened["row"], serde_json::json!({ "a": { "hex": "ff00" }, "b": "x\u{1b}[2J\nSiblings" }));
    let text = world.run(&["open", "--store", "s", "0"]).out;
    assert!(text.contains("\n  b: x\\u{1b}[2J\\nSiblings\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn an_output_is_written_where_its_path_leads() {
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::process::Command;
    let world = World::with_table();
    world.write("there.csv", "old");
    symlink("there.csv", world.path("link.csv")).unwrap();
    world.json(&["export", "--store", "s", "--table", "link.csv"]);
    assert!(world.path("link.csv").is_symlink());
    world.json(&["export", "--store", "s", "--table", "table2.csv"]);
    assert_eq!(world.text("there.csv"), world.text("table2.csv"));

    // A pipe stays a pipe, and its reader gets the table.
    let path = world.path("pipe.csv");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut pipe = File::options().read(true).write(true).open(&path).unwrap();
    world.json(&["export", "--store", "s", "--table", "pipe.csv"]);
    assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    let mut read = vec![0; world.read("table2.csv").len()];
    pipe.read_exact(&mut read).unwrap();
    assert_eq!(read, world.read("table2.csv"));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_an_error() {
    let world = World::with_table();
    for form in ["text", "json"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut status = world.command();
        let run = status.args(["status", "--store", "s", "--format", form]).stdout(full).output().unwrap();
        assert_eq!(run.status.code(), Some(5));
        assert_eq!(
            String::from_utf8(run.stderr).unwrap(),
            "error: stdout: No space left on device (os error 28)\nhelp: free some space and run the command again; prune removes old epochs of a store\n"
        );
    }
}

#[test]
fn tables_are_read_as_people_have_them() {
    let world = World::with_table();
    let csv = world.text("table.csv").replace("\"row, ", "row ").replace("\",", ",");
    world.write("plain.csv", &csv);
    let by_id = ["--schema", "schema.toml", "--index-column", "id"];
    let commit = |store: &str, input: &str, more: &[&str]| {
        let args = [&["commit", "--store", store, "--input", input], &by_id[..], more].concat();
        world.json(&args)["commitment"].clone()
    };
    let root = commit("plain", "plain.csv", &[]);
    let root = root.as_str().unwrap();
    world.write("t.tsv", csv.replace(',', "\t"));
    assert_eq!(commit("s1", "t.tsv", &[]), root);
    world.write("semicolons.csv", csv.replace(',', ";"));
    assert_eq!(commit("s2", "semicolons.csv", &[]), root);
    world.write("colons.csv", csv.replace(',', ":"));
    assert_eq!(commit("s3", "colons.csv", &["--delimiter", ":"]), root);
    world.json(&["export", "--store", "plain", "--table", "out.csv.gz"]);
    assert!(world.read("out.csv.gz").starts_with(&[0x1f, 0x8b]));
    let args =
        ["commit", "--store", "s4", "--input", "out.csv.gz", "--schema", "schema.toml", "--index-column", "index"];
    assert_eq!(world.json(&args)["commitment"], root);
    world.json(&["export", "--store", "plain", "--table", "out.parquet"]);
    world.json(&["export", "--store", "plain", "--table", "out.tsv"]);
    for (store, file) in [("s5", "out.parquet"), ("s6", "out.tsv")] {
        let args = ["commit", "--store", store, "--input", file, "--schema", "schema.toml", "--index-column", "index"];
        assert_eq!(world.json(&args)["commitment"], root);
    }
    // Stdin is read twice if the schema is inferred from it.
    let stdin = |store: &str, more: &[&str], content: &[u8]| {
        let args = [&["commit", "--store", store, "--input", "-", "--format", "json"], more].concat();
        let run = world.run_with(&args, content);
        assert_eq!(run.code, 0, "{}", run.err);
        serde_json::from_str::<serde_json::Value>(&run.out).unwrap()["commitment"].clone()
    };
    let named = ["--input-format", "csv", "--index-column", "id"];
    assert_eq!(stdin("s7", &named, csv.as_bytes()), root);
    assert_eq!(stdin("s8", &[&named[..2], &by_id[..]].concat(), csv.as_bytes()), root);
    let run = world.run_with(&["commit", "--store", "s9", "--input", "-"], csv.as_bytes());
    assert!(run.code == 2 && run.err.contains("name it with --input-format"), "{}", run.err);

    world.write("nulls.csv", "a,b\n1,x\nNA,-\n");
    let nulls = ["commit", "--store", "s10", "--input", "nulls.csv", "--null", "NA", "--null", "-"];
    assert_eq!(world.json(&nulls)["rows"], 2);
    let row = world.json(&["open", "--store", "s10", "1"])["row"].clone();
    assert!(row["a"].is_null() && row["b"].is_null(), "{row}");
    for (args, said) in [
        (["--input", "t.jsonl", "--null", "NA"], "--null: not for jsonl files"),
        (["--input", "t.tsv", "--delimiter", ";"], "--delimiter: not for tsv files"),
        (["--input", "t.csv", "--delimiter", "ab"], "write one character"),
        (["--input", "t.parquet.gz", "--null", "NA"], "the extension names no format"),
    ] {
        let e = world.fails(2, &[&["commit", "--store", "x"], &args[..]].concat());
        assert!(e.contains(said), "{e}");
    }
    world.write("bad.csv", "a,b\n1,\"x\ny\"\n2,\"x\"y\n");
    let e = world.fails(2, &["commit", "--store", "x", "--input", "bad.csv"]);
    assert!(e.contains("bad.csv, line 4: malformed csv: text behind the closing quote"), "{e}");
    world.write("bad.csv", "a,b\n1,x\n2,\"x\n3,y\n");
    let e = world.fails(2, &["commit", "--store", "x", "--input", "bad.csv"]);
    assert!(e.contains("bad.csv, line 3: malformed csv: the quote of a cell is not closed"), "{e}");
    assert!(!world.path("x").exists());
}

#[test]
fn proof_and_rows_are_written_together_or_not_at_all() {
    let world = World::with_table();
    let prove = |out: &str, leaves: &str| {
        let args = ["prove", "--store", "s", "--batch", "b", "--indices", "0,3", "--out", out, "--leaves-out", leaves];
        world.run(&[&args[..], &NATIVE].concat())
    };
    // Reported before anything is proven.
    for (out, leaves) in [("no/p", "l.csv"), ("p", "no/l.csv"), ("p", "l.txt")] {
        let run = prove(out, leaves);
        assert!(run.code != 0 && !world.path("p").exists() && !world.path("l.csv").exists(), "{}", run.err);
        assert_eq!(world.json(&["status", "--store", "s"])["batches"].as_array().unwrap().len(), 0);
    }
    world.write("p.csv", "");
    assert!(prove("p.csv", "./p.csv").err.contains("named for two results"));
    // Parquet cannot hold this cell, which shows only when the rows are written: the proof is not left behind alone.
    world.write("t.jsonl", "{\"a\":{\"hex\":\"ff\"}}\n{\"a\":\"x\"}\n");
    world.json(&["commit", "--store", "t", "--input", "t.jsonl"]);
    let args = ["prove", "--store", "t", "--batch", "b", "--indices", "0", "--out", "q", "--leaves-out", "l.parquet"];
    let e = world.fails(2, &[&args[..], &NATIVE].concat());
    assert!(e.contains("parquet cannot hold the cell in column \"a\", which is not UTF-8"), "{e}");
    assert!(!world.path("q").exists() && !world.path("l.parquet").exists());
    assert_eq!(prove("p", "l.parquet").code, 0);
    assert!(world.path("p").exists() && world.path("l.parquet").exists());
    let verify =
        ["verify", "--proof", "p", "--leaves", "l.parquet", "--schema", "schema.toml", "--root", &world.commitment()];
    world.json(&[&verify[..], &ALLOW].concat());
}

#[test]
fn positions_beyond_the_table_are_said_to_be_that() {
    let world = World::with_table();
    let e = world.fails(2, &["update", "--store", "s", "--set", "99999=name=x"]);
    assert!(e.contains("position 99999 is outside the table of 2^11 slots") && e.contains("--grow"), "{e}");
    world.json(&[&["prove", "--store", "s", "--batch", "b", "--indices", "0,3"], &NATIVE[..]].concat());
    let e = world.fails(2, &["update", "--store", "s", "--add", "b:99999"]);
    assert!(e.contains("index 99999 is outside the vector of 2^11 slots") && e.contains("--grow"), "{e}");
}
