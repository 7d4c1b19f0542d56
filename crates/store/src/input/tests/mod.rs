use std::path::PathBuf;

use evergrove_commit::schema::{Cell, Column, ColumnType, Row, RowError, Schema};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

#[cfg(feature = "parquet")]
mod columnar;
mod text;

const FIXED2: ColumnType = ColumnType::Fixed { scale: 2 };

fn file(dir: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn format(name: &str) -> Format {
    Format::from_path(Path::new(name)).unwrap()
}

type Read = Result<Vec<(u64, Row)>, InputError>;

fn read(name: &str, content: impl AsRef<[u8]>, index: IndexSource, schema: &Schema) -> Read {
    read_as(Fields::Exact, name, content, index, schema)
}

fn read_as(fields: Fields, name: &str, content: impl AsRef<[u8]>, index: IndexSource, schema: &Schema) -> Read {
    let dir = TempDir::new().unwrap();
    Table::new(file(&dir, name, content), format(name), index, schema.clone()).with_fields(fields).rows()?.collect()
}

fn infer(name: &str, content: impl AsRef<[u8]>, index: IndexSource) -> Result<(Schema, Vec<(u64, Row)>), InputError> {
    let dir = TempDir::new().unwrap();
    let table = Table::infer(file(&dir, name, content), format(name), index)?;
    let rows: Vec<_> = table.rows()?.collect::<Result<_, _>>()?;
    assert_eq!(table.len_hint(), Some(rows.len() as u64));
    Ok((table.schema().clone(), rows))
}

fn by(column: &str) -> IndexSource {
    IndexSource::Column(column.into())
}

fn table() -> Schema {
    Schema::new(vec![
        Column::new("name", ColumnType::Bytes),
        Column::new("age", ColumnType::Unsigned).nullable(),
        Column::new("balance", FIXED2),
    ])
    .unwrap()
}

fn cells(name: &str, age: Option<u64>, cents: i64) -> Row {
    Row::Cells(vec![Cell::Bytes(name.into()), age.map_or(Cell::Null, Cell::Unsigned), Cell::Signed(cents)])
}

/// The text of an error without the temporary directory.
fn message(result: Result<impl std::fmt::Debug, InputError>) -> String {
    let text = result.unwrap_err().to_string();
    text[text.rfind('/').map_or(0, |i| i + 1)..].to_string()
}

#[test]
fn csv_is_read_by_column_names() {
    let csv = "\u{feff}balance,age,name\n1.5,,\"Ann, \"\"A\"\"\"\n-0.25,41,Bob\n";
    let rows = read("t.csv", csv, IndexSource::RowOrder, &table()).unwrap();
    assert_eq!(rows, [(0, cells("Ann, \"A\"", None, 150)), (1, cells("Bob", Some(41), -25))]);
}

#[test]
fn no_field_goes_unread_unless_the_schema_selects() {
    let unknown = |name: &str| format!("column {name:?} is neither in the schema nor the column of positions");
    let row = [(7, cells("Ann", Some(41), 150))];
    let csv = "note,balance,id,age,name\nx,1.5,7,41,Ann\n";
    let jsonl = "{\"id\":7,\"name\":\"Ann\",\"note\":\"x\",\"age\":41,\"balance\":1.5}\n";
    let refuse = |name: &str, content: &str, index: IndexSource| {
        for fields in [Fields::Exact, Fields::Sparse] {
            let e = read_as(fields, name, content, index.clone(), &table()).unwrap_err();
            assert!(matches!(&*e.problem, Problem::UnknownColumn(_)), "{e}");
        }
        message(read(name, content, index, &table()))
    };
    assert_eq!(refuse("t.csv", csv, by("id")), format!("t.csv: {}", unknown("note")));
    assert_eq!(refuse("t.jsonl", jsonl, by("id")), format!("t.jsonl, line 1: {}", unknown("note")));
    for (name, content) in [("t.csv", csv), ("t.jsonl", jsonl)] {
        assert_eq!(read_as(Fields::Selected, name, content, by("id"), &table()).unwrap(), row);
    }
    // A column of positions that is not used as such would not be read either.
    let csv = "id,name,age,balance\n8,Ann,41,1.5\n";
    for index in [IndexSource::RowOrder, IndexSource::List(vec![7])] {
        assert_eq!(refuse("t.csv", csv, index), format!("t.csv: {}", unknown("id")));
    }
    let values = "index,e0,e1,e2,e3,name\n7,1,2,3,4,Ann\n";
    assert_eq!(message(read("t.csv", values, by("index"), &Schema::raw())), format!("t.csv: {}", unknown("name")));
    let values = "{\"index\":7,\"e0\":1,\"e1\":2,\"e2\":3,\"e3\":4,\"e4\":5}\n";
    let e = message(read("t.jsonl", values, by("index"), &Schema::raw()));
    assert_eq!(e, format!("t.jsonl, line 1: {}", unknown("e4")));
    // The first line does not decide about the next lines.
    let e = message(read("t.jsonl", format!("{}{jsonl}", jsonl.replace("\"note\":\"x\",", "")), by("id"), &table()));
    assert_eq!(e, format!("t.jsonl, line 2: {}", unknown("note")));
}

#[test]
fn a_record_that_lacks_a_column_is_taken_only_where_that_is_null() {
    let misspelled = "{\"id\":7,\"name\":\"Ann\",\"agee\":41,\"balance\":1.5}\n";
    let lacking = "t.jsonl, line 1: missing column \"age\": the record has \"id\", \"name\", \"balance\"";
    let refused = read("t.jsonl", misspelled, by("id"), &table());
    assert_eq!(message(refused), format!("{lacking}, \"agee\""));
    let short = "{\"id\":7,\"name\":\"Ann\",\"balance\":1.5}\n";
    assert_eq!(message(read("t.jsonl", short, by("id"), &table())), lacking);
    for fields in [Fields::Sparse, Fields::Selected] {
        assert_eq!(read_as(fields, "t.jsonl", short, by("id"), &table()).unwrap(), [(7, cells("Ann", None, 150))]);
        let e = message(read_as(fields, "t.jsonl", "{\"id\":7,\"name\":\"a\"}", by("id"), &table()));
        assert_eq!(e, "t.jsonl, line 1: missing column \"balance\": the record has \"id\", \"name\"");
    }
    let explicit = short.replace("\"balance\"", "\"age\":null,\"balance\"");
    assert_eq!(read("t.jsonl", explicit, by("id"), &table()).unwrap(), [(7, cells("Ann", None, 150))]);
    let e = message(read_as(Fields::Selected, "t.jsonl", "{\"e0\":1}", IndexSource::RowOrder, &Schema::raw()));
    assert_eq!(e, "t.jsonl, line 1: missing column \"e1\": the record has \"e0\"");
}

#[test]
fn jsonl_is_read_by_keys() {
    let jsonl =
        "{\"name\":\"Ann\\n\",\"balance\":1.5}\n\n{\"age\":41,\"name\":{\"hex\":\"ff00\"},\"balance\":\"-2.5e-1\"}\n";
    let e = read_as(Fields::Selected, "t.jsonl", jsonl, IndexSource::RowOrder, &table());
    assert!(message(e).starts_with("t.jsonl, line 3: column \"balance\": \"-2.5e-1\" is not a number"));
    let jsonl = jsonl.replace("\"-2.5e-1\"", "-2.5e-1");
    let rows = read_as(Fields::Selected, "t.jsonl", jsonl, IndexSource::RowOrder, &table()).unwrap();
    let bytes = Row::Cells(vec![Cell::Bytes(vec![0xff, 0]), Cell::Unsigned(41), Cell::Signed(-25)]);
    assert_eq!(rows, [(0, cells("Ann\n", None, 150)), (1, bytes)]);
}

#[test]
fn positions_come_from_a_column_a_list_or_the_order() {
    let csv = "id,name,age,balance\n7,a,1,0\n3,b,2,0\n";
    let indices = |index| {
        read_as(Fields::Selected, "t.csv", csv, index, &table())
            .map(|rows| rows.into_iter().map(|(i, _)| i).collect::<Vec<_>>())
    };
    assert_eq!(indices(by("id")).unwrap(), [7, 3]);
    assert_eq!(indices(IndexSource::RowOrder).unwrap(), [0, 1]);
    assert_eq!(indices(IndexSource::List(vec![9, 4])).unwrap(), [9, 4]);
    assert_eq!(message(indices(IndexSource::List(vec![9]))), "t.csv, line 3: 1 positions for at least 2 rows");
    assert_eq!(message(indices(IndexSource::List(vec![9, 1, 2]))), "t.csv: 3 positions for 2 rows");
    assert_eq!(
        message(indices(by("key"))),
        "t.csv: unknown column \"key\": the file has \"id\", \"name\", \"age\", \"balance\""
    );
}

#[test]
fn errors_name_the_line_the_column_and_the_value() {
    let csv = |body: &str| message(read("t.csv", format!("id,name,age,balance\n{body}"), by("id"), &table()));
    assert_eq!(csv("0,a,1,0\n1,b,x,0\n"), "t.csv, line 3: column \"age\": \"x\" is not a number of type unsigned");
    assert_eq!(csv("0,a,1,0\n1,b\n"), "t.csv, line 3: malformed csv: 2 fields, the header has 4");
    assert_eq!(
        csv("0,\"a\n\",1,0\n1,b,1,0.125\n"),
        "t.csv, line 4: column \"balance\": \"0.125\" has 3 decimal places, type fixed:2 holds 2"
    );
    assert_eq!(csv("0,a,1,\n"), "t.csv, line 2: column \"balance\" (fixed:2) is empty");
    assert_eq!(csv("5,a,1,0\n5,b,1,0\n"), "t.csv, line 3: duplicate position 5");
    for index in ["-1", "", "x", "1099511627776", "99999999999999999999999"] {
        assert_eq!(
            csv(&format!("{index},a,1,0\n")),
            format!("t.csv, line 2: column \"id\": invalid position {index:?}: expected an integer from 0 to 2^40 - 1")
        );
    }
    assert_eq!(csv(""), "t.csv: the table has no rows");
    let json = |body: &str| message(read("t.jsonl", body, IndexSource::RowOrder, &table()));
    assert!(
        json("{\"name\":\"a\",\"age\":1,\"balance\":0}\n{\"name\":")
            .starts_with("t.jsonl, line 2: malformed jsonl: EOF")
    );
    assert!(json("[1]").starts_with("t.jsonl, line 1: malformed jsonl: invalid type: sequence, expected an object"));
    assert!(json("{} {}").starts_with("t.jsonl, line 1: malformed jsonl: trailing characters"));
    assert_eq!(json("{\"name\":\"a\",\"name\":\"b\",\"balance\":0}"), "t.jsonl, line 1: duplicate column \"name\"");
    assert_eq!(
        json("{\"name\":[1],\"balance\":0}"),
        "t.jsonl, line 1: malformed jsonl: column \"name\" is nested: flatten it"
    );
    assert_eq!(
        json("{\"name\":{\"hex\":\"0\"}}"),
        "t.jsonl, line 1: malformed jsonl: column \"name\": \"hex\" takes pairs of hexadecimal digits"
    );
    assert_eq!(
        json("{\"name\":\"a\",\"age\":1,\"balance\":null}"),
        "t.jsonl, line 1: column \"balance\" (fixed:2) is empty"
    );
    assert_eq!(json("\n\n"), "t.jsonl: the table has no rows");
    let missing = Table::new("/nonexistent.csv", Format::Csv, IndexSource::RowOrder, table()).rows().map(|_| ());
    assert!(missing.unwrap_err().is_io());
}

#[test]
fn rows_end_after_an_error() {
    let dir = TempDir::new().unwrap();
    let path = file(&dir, "t.csv", "name,age,balance\na,x,0\nb,1,0\n");
    let mut rows = Table::new(path, Format::Csv, IndexSource::RowOrder, table()).rows().unwrap();
    assert!(rows.next().unwrap().is_err());
    assert!(rows.next().is_none());
}

#[test]
fn a_quote_that_is_not_closed_does_not_swallow_the_file() {
    let mut content = b"name,age,balance\n\"a,1,0\n".to_vec();
    content.resize(MAX_RECORD_BYTES as usize + (1 << 18), b'x');
    let e = read("t.csv", &content, IndexSource::RowOrder, &table());
    let detail = format!("the quote of a cell is not closed within {MAX_RECORD_BYTES} bytes");
    assert_eq!(message(e), format!("t.csv, line 2: malformed csv: {detail}"));
    content[17] = b'x';
    let e = read("t.csv", &content, IndexSource::RowOrder, &table());
    assert_eq!(message(e), format!("t.csv, line 3: a record is longer than {MAX_RECORD_BYTES} bytes"));
    let e = read("t.jsonl", &content[18..], IndexSource::RowOrder, &table());
    assert!(matches!(*e.unwrap_err().problem, Problem::Malformed { .. } | Problem::TooLong));
}

#[test]
fn raw_values_are_read_from_bytes_and_from_columns() {
    let mut bytes = Vec::new();
    for x in 1..=8u64 {
        bytes.extend(x.to_le_bytes());
    }
    let rows = read("t.raw", &bytes, IndexSource::RowOrder, &Schema::raw()).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows, infer("t.bin", &bytes, IndexSource::RowOrder).unwrap().1);
    let csv = "index,e0,e1,e2,e3\n0,1,2,3,4\n1,5,6,7,8\n";
    assert_eq!(rows, read("t.csv", csv, by("index"), &Schema::raw()).unwrap());
    let listed = read("t.raw", &bytes, IndexSource::List(vec![4, 2]), &Schema::raw()).unwrap();
    assert_eq!(listed.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [4, 2]);

    assert_eq!(
        message(read("t.raw", &bytes[..40], IndexSource::RowOrder, &Schema::raw())),
        "t.raw: 40 bytes are not a multiple of 32"
    );
    bytes[40..48].fill(0xff);
    assert_eq!(
        message(read("t.raw", &bytes, IndexSource::RowOrder, &Schema::raw())),
        "t.raw, row 2: element 2 of the raw value: 18446744073709551615 is not an integer below p = 18446744069414584321"
    );
    assert_eq!(message(read("t.raw", &bytes, by("id"), &Schema::raw())), "t.raw: a raw file has no column \"id\"");
    assert_eq!(
        message(read("t.raw", &bytes, IndexSource::RowOrder, &table())),
        "t.raw: a raw file has no columns, but the schema has"
    );
    assert_eq!(message(read("t.raw", [], IndexSource::RowOrder, &Schema::raw())), "t.raw: the table has no rows");
    let e = read("t.csv", "e0,e1,e2,e3\n1,2,3,18446744069414584321\n", IndexSource::RowOrder, &Schema::raw());
    assert!(message(e).starts_with("t.csv, line 2: element 4 of the raw value"));
}

#[test]
fn a_schema_is_inferred_from_the_content() {
    let csv = "id,n,s,f,zip,t,e,big\n4,1,-1,1.50,007,a,,9223372036854775808\n5,,2,-3,12,,,1\n";
    let (schema, rows) = infer("t.csv", csv, by("id")).unwrap();
    let expected = [
        Column::new("n", ColumnType::Unsigned).nullable(),
        Column::new("s", ColumnType::Signed),
        Column::new("f", FIXED2),
        Column::new("zip", ColumnType::Bytes),
        Column::new("t", ColumnType::Bytes).nullable(),
        Column::new("e", ColumnType::Bytes).nullable(),
        Column::new("big", ColumnType::Bytes),
    ];
    assert_eq!(schema.columns(), expected);
    assert_eq!(rows[0].0, 4);

    let jsonl = "{\"a\":1e3,\"b\":true,\"c\":\"5\"}\n{\"a\":1.25E-2,\"d\":null}\n";
    let (schema, rows) = infer("t.jsonl", jsonl, IndexSource::RowOrder).unwrap();
    let expected = [
        Column::new("a", ColumnType::Fixed { scale: 4 }),
        Column::new("b", ColumnType::Boolean).nullable(),
        Column::new("c", ColumnType::Bytes).nullable(),
        Column::new("d", ColumnType::Bytes).nullable(),
    ];
    assert_eq!(schema.columns(), expected);
    assert_eq!(
        rows[0].1,
        Row::Cells(vec![Cell::Signed(10_000_000), Cell::Unsigned(1), Cell::Bytes(b"5".into()), Cell::Null])
    );

    for (column, kind) in [
        ("4611686018427387903\n-4611686018427387904", ColumnType::Signed),
        ("4611686018427387904\n-1", ColumnType::Bytes),
        ("9223372036854775807", ColumnType::Unsigned),
        ("46116860184273879.0", ColumnType::Fixed { scale: 1 }),
        ("4611686018427387903.5", ColumnType::Bytes),
        ("0.0000000000000000001", ColumnType::Bytes),
        ("1e5", ColumnType::Bytes),
        ("-0", ColumnType::Signed),
        ("1.", ColumnType::Bytes),
        ("true\nfalse", ColumnType::Boolean),
        ("true\n5", ColumnType::Unsigned),
        ("true\n-5", ColumnType::Signed),
        ("true\n1.5", ColumnType::Bytes),
        ("1.5\nfalse", ColumnType::Bytes),
        ("true\nTRUE", ColumnType::Bytes),
        ("2024-02-29\n0001-01-01", ColumnType::Date),
        ("2024-02-29\n2023-02-29", ColumnType::Bytes),
        ("2024-02-29\n2024-02-29T00:00:00Z", ColumnType::Bytes),
        ("2024-02-29T12:00:00.5Z", ColumnType::Bytes),
        ("2024-02-29 12:00:00", ColumnType::Bytes),
        ("2024-02-29T12:00:00Z\n2024-02-29T12:00:00.500Z", ColumnType::Timestamp),
        ("00112233-4455-6677-8899-aabbccddeeff", ColumnType::Uuid),
        ("00112233-4455-6677-8899-AABBCCDDEEFF", ColumnType::Bytes),
    ] {
        let (schema, _) = infer("t.csv", format!("x\n{column}\n"), IndexSource::RowOrder).unwrap();
        assert_eq!(schema.columns(), [Column::new("x", kind)], "{column}");
    }
    assert_eq!(message(infer("t.csv", "a,a\n1,2\n", IndexSource::RowOrder)), "t.csv: duplicate column \"a\"");
    assert_eq!(message(infer("t.csv", "a\n", IndexSource::RowOrder)), "t.csv: the table has no rows");
    assert_eq!(message(infer("t.csv", "", IndexSource::RowOrder)), "t.csv: the table has no rows");
    assert!(message(infer("t.csv", "id\n1\n", by("id"))).starts_with("t.csv: a schema needs at least one column"));
    assert!(
        message(infer("t.csv", "id,a\nx,1\n", by("id")))
            .starts_with("t.csv, line 2: column \"id\": invalid position \"x\"")
    );
}

#[test]
fn the_cell_that_makes_a_column_bytes_is_named() {
    let untyped = |name: &str, content: &str| {
        let dir = TempDir::new().unwrap();
        let table = Table::infer(file(&dir, name, content), format(name), IndexSource::RowOrder).unwrap();
        let found = table.untyped().iter();
        found.map(|u| (u.column.clone(), u.place.number.unwrap(), u.cell.to_string())).collect::<Vec<_>>()
    };
    let csv = "a,b,c,d,e\n1,2024-01-01,,x,5\n,,,y,6\n2,2024-01-02,,z,9\n1_000,2023-02-29,,,12\nn/a,,,,7\n";
    let expected = [("a", 5, "\"1_000\""), ("b", 5, "\"2023-02-29\""), ("d", 2, "\"x\"")];
    assert_eq!(untyped("t.csv", csv), expected.map(|(c, n, cell)| (c.to_owned(), n, cell.to_owned())));
    let jsonl = "{\"a\":1,\"b\":true}\n{\"a\":\"2\",\"b\":false}\n";
    assert_eq!(untyped("t.jsonl", jsonl), [("a".to_owned(), 2, "\"2\"".to_owned())]);
    let wide = "n\n4611686018427387904\n-1\n";
    assert_eq!(untyped("t.csv", wide), [("n".to_owned(), 3, "\"-1\"".to_owned())]);
}

#[test]
fn lists_of_positions() {
    assert_eq!(parse_indices("0,5,9-12").unwrap(), [0, 5, 9, 10, 11, 12]);
    assert_eq!(parse_indices(" 7 , 3-3,").unwrap(), [7, 3]);
    let text = |list: &str| parse_indices(list).unwrap_err().to_string();
    assert_eq!(text("1,2,1"), "duplicate position 1");
    assert_eq!(text("1-5,3"), "duplicate position 3");
    assert_eq!(text("9-5"), "range \"9-5\" ends before it starts");
    assert_eq!(text("1099511627776"), "invalid position 1099511627776: expected 0 to 2^40 - 1");
    assert_eq!(text("0-1099511627775"), format!("more than {MAX_POSITIONS} positions"));
    assert_eq!(text(""), "the list has no positions");
    for wrong in ["x", "-1", "1-", "1-2-3", "1 2", "+1", "0x1", "99999999999999999999"] {
        assert!(text(wrong).contains("is not a position or a range"), "{wrong}");
    }
}

#[test]
fn lists_of_positions_in_files() {
    let dir = TempDir::new().unwrap();
    let path = file(&dir, "list.txt", "5\n\n1-3, 8\r\n0");
    let name = path.to_str().unwrap();
    assert_eq!(read_indices(name).unwrap(), [5, 1, 2, 3, 8, 0]);
    assert_eq!(read_indices(&format!("@{name}")).unwrap(), [5, 1, 2, 3, 8, 0]);
    assert_eq!(read_indices("1,2").unwrap(), [1, 2]);
    let wrong = file(&dir, "wrong.txt", "5\nx\n");
    let e = read_indices(wrong.to_str().unwrap()).unwrap_err().to_string();
    assert_eq!(e, "line 2: \"x\" is not a position or a range");
    assert!(read_indices("no-such-file").unwrap_err().is_io());
    assert!(matches!(read_indices("1,x").unwrap_err(), IndexListError::Item { .. }));
}

#[test]
fn one_row_is_read_whole_or_by_columns() {
    let current = cells("Ann", Some(4), 150);
    let parse = |text: &str, current: Option<&Row>| parse_record(&table(), text, current);
    assert_eq!(parse("\"Bob, B\",,2.5", None).unwrap(), cells("Bob, B", None, 250));
    assert_eq!(parse("age=,balance=-1", Some(&current)).unwrap(), cells("Ann", None, -100));
    assert_eq!(parse("\"name=a,b\"", Some(&current)).unwrap(), cells("a,b", Some(4), 150));
    assert_eq!(parse("name=a,age=1,balance=0", None).unwrap(), cells("a", Some(1), 0));
    for text in ["name=\"Ann\"", "name=\"Smith, Ann\"", "age=1,name=\"Ann\""] {
        assert_eq!(parse(text, Some(&current)), Err(RecordError::QuotedCell("name".into())), "{text}");
    }
    assert_eq!(parse("\"name=\"\"Ann\"\"\"", Some(&current)).unwrap(), cells("\"Ann\"", Some(4), 150));
    assert_eq!(parse("age=1", None), Err(RecordError::Incomplete("name".into())));
    let unknown = parse("ages=1", Some(&current)).unwrap_err();
    assert!(matches!(&unknown, RecordError::UnknownColumn { name, .. } if name == "ages"), "{unknown}");
    assert_eq!(parse("age=1,age=2", Some(&current)), Err(RecordError::DuplicateColumn("age".into())));
    assert!(matches!(parse("a,b", None), Err(RecordError::Row(RowError::Width { expected: 3, found: 2 }))));
    assert!(matches!(parse("age=x", Some(&current)), Err(RecordError::Row(RowError::Cell(_)))));
    assert!(matches!(parse("a,1,0\nb,1,0", None), Err(RecordError::Malformed(_))));
    let raw = parse_record(&Schema::raw(), "1,2,3,4", None).unwrap();
    assert_eq!(raw, Schema::raw().parse_row(&["1", "2", "3", "4"]).unwrap());

    let optional =
        Schema::new(vec![Column::new("t", ColumnType::Bytes).nullable(), Column::new("n", ColumnType::Unsigned)])
            .unwrap();
    let current = Row::Cells(vec![Cell::Bytes(vec![]), Cell::Unsigned(1)]);
    let changed = Row::Cells(vec![Cell::Bytes(vec![]), Cell::Unsigned(2)]);
    assert_eq!(parse_record(&optional, "n=2", Some(&current)).unwrap(), changed);
}

#[test]
fn what_is_not_held_is_not_written() {
    let nullable = Schema::new(vec![Column::new("t", ColumnType::Bytes).nullable()]).unwrap();
    let mut writer = TableWriter::new(Vec::new(), Format::Csv, &nullable).unwrap();
    let e = writer.write(0, &Row::Cells(vec![Cell::Bytes(vec![])])).unwrap_err();
    assert_eq!(e.to_string(), "csv cannot tell the empty string in column \"t\" from null");
    assert!(TableWriter::new(Vec::new(), Format::Raw, &nullable).is_err());
}

/// Types of the nullable columns in tests.
const NULLABLE: [&str; 8] =
    ["boolean", "date", "timestamp", "uuid", "integer128", "unsigned128", "decimal(12,3)", "decimal(38,10)"];

/// The columns of [`table`], words of the ABI, and columns of [`NULLABLE`].
fn wide() -> Schema {
    let words = ["address", "int128", "bool"].map(|kind| Column::new(kind, kind.parse().unwrap()));
    let nullable = NULLABLE.map(|kind| Column::new(kind, kind.parse().unwrap()).nullable());
    Schema::new(table().columns().iter().cloned().chain(words).chain(nullable).collect()).unwrap()
}

fn any_nullable() -> impl Strategy<Value = Vec<Cell>> {
    let decimal = 10i128.pow(38);
    let cells: [BoxedStrategy<Cell>; 8] = [
        (0..2u64).prop_map(Cell::Unsigned).boxed(),
        (-719_162i64..=2_932_896).prop_map(Cell::Signed).boxed(),
        (-62_135_596_800_000_000i64..253_402_300_800_000_000).prop_map(Cell::Signed).boxed(),
        any::<[u8; 16]>().prop_map(Cell::Uuid).boxed(),
        any::<i128>().prop_map(Cell::Integer128).boxed(),
        any::<u128>().prop_map(Cell::Unsigned128).boxed(),
        (-999_999_999_999i64..1_000_000_000_000).prop_map(Cell::Signed).boxed(),
        (1 - decimal..decimal).prop_map(Cell::Integer128).boxed(),
    ];
    let cells = cells.map(|cell| prop_oneof![1 => Just(Cell::Null), 5 => cell].boxed());
    cells.to_vec()
}

fn any_row() -> impl Strategy<Value = Row> {
    let number = -(1i64 << 62)..1 << 62;
    let words = (any::<[u8; 20]>(), any::<i128>(), any::<bool>());
    let name = proptest::collection::vec(any::<u8>(), 0..12);
    (name, proptest::option::of(0..1u64 << 63), number, words, any_nullable()).prop_map(
        |(name, age, cents, (address, change, paid), nullable)| {
            let word = |own: &[u8], above: u8| {
                let mut word = [above; 32];
                word[32 - own.len()..].copy_from_slice(own);
                Cell::Word(word)
            };
            let words = [
                word(&address, 0),
                word(&change.to_be_bytes(), if change < 0 { 0xff } else { 0 }),
                word(&[u8::from(paid)], 0),
            ];
            let cells = [Cell::Bytes(name), age.map_or(Cell::Null, Cell::Unsigned), Cell::Signed(cents)];
            Row::Cells(cells.into_iter().chain(words).chain(nullable).collect())
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn written_rows_are_read_back(rows in proptest::collection::btree_map(0..1u64 << 40, any_row(), 1..20)) {
        let rows: Vec<_> = rows.into_iter().collect();
        for (name, format) in [("t.csv", Format::Csv), ("t.tsv", Format::Tsv), ("t.jsonl", Format::Jsonl)] {
            let mut out = Vec::new();
            let mut writer = TableWriter::new(&mut out, format, &wide()).unwrap();
            for (i, row) in &rows {
                writer.write(*i, row).unwrap();
            }
            writer.finish().unwrap();
            prop_assert_eq!(&read(name, &out, by("index"), &wide()).unwrap(), &rows);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b','), Just(b'\n'), Just(b'1')], 0..200)) {
        for name in ["t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.parquet", "t.raw", "t.raw.gz"] {
            let _ = infer(name, &bytes, IndexSource::RowOrder);
            let _ = read(name, &bytes, by("index"), &table());
        }
        let _ = parse_indices(&String::from_utf8_lossy(&bytes));
    }
}
