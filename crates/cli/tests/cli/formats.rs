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
    // Found from the content, the schema is the same.
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

    // A pipe stays one, and its reader gets the table.
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
