//! Texts as people write them: quotes, separators, nulls, truth values, gzip, streams.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn csv(text: &str) -> Result<(Schema, Vec<(u64, Row)>), InputError> {
    infer("t.csv", text, IndexSource::RowOrder)
}

/// The cells of a file, as csv text.
fn texts((schema, rows): &(Schema, Vec<(u64, Row)>)) -> Vec<Vec<String>> {
    let text = |row: &Row| schema.format_row(row).iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect();
    rows.iter().map(|(_, row)| text(row)).collect()
}

fn names(schema: &Schema) -> Vec<&str> {
    schema.columns().iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn quotes_are_those_of_rfc_4180() {
    let unclosed = "malformed csv: the quote of a cell is not closed";
    let behind = "malformed csv: text behind the closing quote of a cell: write a quote within quotes twice";
    assert_eq!(message(csv("a,b\n1,\"x\n2,y\n3,z\n")), format!("t.csv, line 2: {unclosed}"));
    assert_eq!(message(csv("a,\"b\n1,x\n")), format!("t.csv, line 1: {unclosed}"));
    assert_eq!(message(csv("a,b\n1,\"x\ny\"\n2,\"x\"y\n")), format!("t.csv, line 4: {behind}"));
    assert_eq!(message(csv("a,b\n1,\"x\ny\" \n")), format!("t.csv, line 3: {behind}"));
    assert_eq!(
        message(infer("t.tsv", "a\tb\n1\t\"x\"y\n", IndexSource::RowOrder)),
        format!("t.tsv, line 2: {}", behind.replace("csv", "tsv"))
    );
    // Line numbers count the line ends in cells, and empty lines.
    assert_eq!(
        message(csv("a,b\r\n\"1\r\n2\",\"x\n\"\r\n\r\n5\r\n")),
        "t.csv, line 6: malformed csv: 1 fields, the header has 2"
    );
    let rows = csv("\u{feff}\"a\",b\n5\" pipe,\"a \"\"b\"\"\"\n x,\"\"\n").unwrap();
    assert_eq!(texts(&rows), [["5\" pipe", "a \"b\""], [" x", ""]]);
    for text in ["1,\"x\"y", "1,\"x", "1\n2"] {
        assert!(matches!(parse_record(&table(), text, None), Err(RecordError::Malformed(_))), "{text}");
    }
}

#[test]
fn separators_are_given_or_those_of_the_header() {
    let found = |text: &str| names(&csv(text).unwrap().0).join("+");
    assert_eq!(found("a;b\n1,5;2\n"), "a+b");
    assert_eq!(found("\na\tb\n1\t2\n"), "a+b");
    assert_eq!(found("\"a,x\"|b\n1|2\n"), "a,x+b");
    assert_eq!(found("a,b;c\n1,2\n"), "a+b;c");
    assert_eq!(found("a;b|c\n1\n"), "a;b|c");
    assert_eq!(found("a\n1\n"), "a");
    let dir = TempDir::new().unwrap();
    let source = Source::file(file(&dir, "t.csv", "a;b:c\n1;2:3\n")).with_separator(b':');
    assert_eq!(names(Table::infer_of(source, Format::Csv, IndexSource::RowOrder).unwrap().schema()), ["a;b", "c"]);
    let rows = infer("t.tsv", "a,b\tc\n1,5\t\"2\t3\"\n", IndexSource::RowOrder).unwrap();
    assert_eq!((names(&rows.0), texts(&rows)), (vec!["a,b", "c"], vec![vec!["1,5".into(), "2\t3".into()]]));
}

#[test]
fn texts_stand_for_null_where_null_may_be() {
    let dir = TempDir::new().unwrap();
    let nulls = ["NA".to_owned(), "-".to_owned()];
    let source = Source::file(file(&dir, "t.csv", "n,t\n1,NA\nNA,x\n-,\n")).with_nulls(nulls);
    let found = Table::infer_of(source.clone(), Format::Csv, IndexSource::RowOrder).unwrap();
    let columns = [Column::new("n", ColumnType::Unsigned).nullable(), Column::new("t", ColumnType::Bytes).nullable()];
    assert_eq!(found.schema().columns(), columns);
    let cells: Vec<_> = found.rows().unwrap().map(|row| row.unwrap().1).collect();
    let row = |n: Option<u64>, t: Option<&str>| {
        Row::Cells(vec![n.map_or(Cell::Null, Cell::Unsigned), t.map_or(Cell::Null, |t| Cell::Bytes(t.into()))])
    };
    assert_eq!(cells, [row(Some(1), None), row(None, Some("x")), row(None, None)]);
    // `NA` is not null in a column without nulls, and not a number in a column of numbers.
    let columns = vec![Column::new("n", ColumnType::Unsigned).nullable(), Column::new("t", ColumnType::Bytes)];
    let table = Table::of(source.clone(), Format::Csv, IndexSource::RowOrder, Schema::new(columns).unwrap());
    assert_eq!(table.rows().unwrap().next().unwrap().unwrap().1, row(Some(1), Some("NA")));
    let columns = vec![Column::new("n", ColumnType::Unsigned), Column::new("t", ColumnType::Bytes)];
    let table = Table::of(source, Format::Csv, IndexSource::RowOrder, Schema::new(columns).unwrap());
    assert!(message(table.rows().unwrap().collect::<Result<Vec<_>, _>>()).contains("\"NA\" is not a number"));
}

#[test]
fn truth_values_are_the_same_in_every_text() {
    let schema = Schema::new(vec![
        Column::new("u", ColumnType::Unsigned),
        Column::new("s", ColumnType::Signed).nullable(),
        Column::new("t", ColumnType::Bytes),
        Column::new("w", "bool".parse().unwrap()),
    ])
    .unwrap();
    let expected = parse_record(&schema, "1,0,true,true", None).unwrap();
    assert_eq!(parse_record(&schema, "true,false,true,true", None).unwrap(), expected);
    assert_eq!(parse_record(&schema, "u=true,s=false,t=true,w=true", None).unwrap(), expected);
    let read = |name: &str, text: &str| read(name, text, IndexSource::RowOrder, &schema).unwrap().remove(0).1;
    assert_eq!(read("t.csv", "u,s,t,w\ntrue,false,true,true\n"), expected);
    assert_eq!(read("t.jsonl", "{\"u\":true,\"s\":false,\"t\":true,\"w\":true}\n"), expected);
    assert_eq!(read("t.jsonl", "{\"u\":\"true\",\"s\":\"false\",\"t\":\"true\",\"w\":\"true\"}\n"), expected);
    assert!(parse_record(&schema, "True,0,x,true", None).is_err());
    let kinds = |rows: &(Schema, _)| rows.0.columns().iter().map(|column| column.kind).collect::<Vec<_>>();
    let rows = csv("a,b\ntrue,true\nfalse,x\n").unwrap();
    assert_eq!(kinds(&rows), [ColumnType::Boolean, ColumnType::Bytes]);
    assert_eq!(texts(&rows), [["true", "true"], ["false", "x"]]);
    let same = infer("t.jsonl", "{\"a\":true,\"b\":true}\n{\"a\":false,\"b\":\"x\"}\n", IndexSource::RowOrder).unwrap();
    assert_eq!(same, rows);
}

#[test]
fn compressed_files_and_streams_are_read_as_what_is_in_them() {
    let packed = |content: &[u8]| {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(content).unwrap();
        out.finish().unwrap()
    };
    let text = "name,age,balance\nAnn,,1.5\nBob,41,-0.25\n";
    let rows = [(0, cells("Ann", None, 150)), (1, cells("Bob", Some(41), -25))];
    let read = |name: &str, content: &[u8]| read(name, content, IndexSource::RowOrder, &table());
    let gz = packed(text.as_bytes());
    for name in ["t.csv.gz", "t.csv"] {
        assert_eq!(read(name, &gz).unwrap(), rows);
    }
    // A gzip file may have several members.
    let (first, second) = text.as_bytes().split_at(20);
    assert_eq!(read("t.csv.gz", &[packed(first), packed(second)].concat()).unwrap(), rows);
    assert_eq!(infer("t.csv.gz", &gz, IndexSource::RowOrder).unwrap().1, rows);
    let lines = "{\"name\":\"Ann\",\"age\":null,\"balance\":1.5}\n{\"name\":\"Bob\",\"age\":41,\"balance\":-0.25}\n";
    assert_eq!(read("t.jsonl.gz", &packed(lines.as_bytes())).unwrap(), rows);
    // A byte order mark is allowed before the first line only.
    assert_eq!(read("t.jsonl", format!("\u{feff}{lines}").as_bytes()).unwrap(), rows);
    assert!(read("t.jsonl", lines.replace("\n{", "\n\u{feff}{").as_bytes()).is_err());
    let values: Vec<u8> = (1..=8u64).flat_map(u64::to_le_bytes).collect();
    let raw = super::read("t.raw.gz", packed(&values), IndexSource::RowOrder, &Schema::raw());
    assert_eq!(raw.unwrap(), super::read("t.raw", &values, IndexSource::RowOrder, &Schema::raw()).unwrap());
    for damaged in [&gz[..gz.len() - 9], &gz[..12], &[&gz[..20], b"xxxxxxxx"].concat()] {
        let e = read("t.csv.gz", damaged).unwrap_err();
        assert!(e.to_string().contains("malformed gzip: ") && !e.is_io(), "{e}");
    }
    assert_eq!(Format::from_path(Path::new("t.parquet.gz")), None);

    let stream = Source::stream("stdin", &mut &gz[..]).unwrap();
    let found = Table::infer_of(stream.clone(), Format::Csv, IndexSource::RowOrder).unwrap();
    assert_eq!(found.rows().unwrap().map(Result::unwrap).collect::<Vec<_>>(), rows);
    let kept = stream.on_disk().to_path_buf();
    assert!(kept.exists());
    drop((found, stream));
    assert!(!kept.exists());
    let stream = Source::stream("stdin", &mut &b"name,age,balance\nAnn,x,1\n"[..]).unwrap();
    let e = Table::of(stream, Format::Csv, IndexSource::RowOrder, table()).rows().unwrap().next().unwrap();
    assert!(e.unwrap_err().to_string().starts_with("stdin, line 2: "));
}

/// Every text that our strict reader accepts is read in the same way by the crate `csv`, which is not strict.
#[test]
fn strict_texts_are_read_as_by_others() {
    let mut state = 7u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut read = 0;
    for _ in 0..3000 {
        let text: Vec<u8> = (0..random(20)).map(|_| b"\"\",,\n\r\nab "[random(10)]).collect();
        let header = b"x,y\n";
        let text = [&header[..], &text].concat();
        let mut csv = csv::ReaderBuilder::new().flexible(true).from_reader(&text[..]);
        let theirs: Vec<Vec<Vec<u8>>> =
            csv.byte_records().map(|r| r.unwrap().iter().map(<[u8]>::to_vec).collect()).collect();
        let source = Source::file("t.csv").with_text(text).with_separator(b',');
        let mut ours = delimited::Csv::open(&source, Format::Csv).unwrap();
        let mut records = Vec::new();
        let end = loop {
            let mut record = Vec::new();
            match ours.next(&mut |_, field| {
                record.push(field.text().into_owned());
                Ok(())
            }) {
                Ok(Some(_)) => records.push(record),
                end => break end,
            }
        };
        assert_eq!(records, theirs[..records.len()]);
        if end.is_ok() {
            assert_eq!(records, theirs);
            read += 1;
        }
    }
    assert!(read > 100, "{read}");
}
