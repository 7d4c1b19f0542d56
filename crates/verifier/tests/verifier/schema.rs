//! Rows that do not fit a schema: cells, stored bytes, texts and lines of JSON.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::abi::AbiType;
use evergrove_verifier::schema::field::Field;
use evergrove_verifier::schema::json::{RecordError, record};
use evergrove_verifier::schema::time::{parse_date, parse_timestamp};
use evergrove_verifier::schema::{
    Cell, CellError, Column, ColumnType, MAX_CELL_BYTES, MAX_NAME_BYTES, Row, RowError, Schema, SchemaError,
};

fn schema(kinds: &[ColumnType]) -> Schema {
    let column = |(i, kind): (usize, &ColumnType)| Column::new(format!("c{i}"), *kind);
    Schema::new(kinds.iter().enumerate().map(column).collect()).unwrap()
}

#[test]
fn cells_of_another_kind_are_refused_everywhere() {
    use ColumnType::{Bytes, Date, Integer128, Signed, Unsigned, Unsigned128, Uuid};
    let cells = [
        Cell::Unsigned(1),
        Cell::Signed(1),
        Cell::Bytes(vec![1]),
        Cell::Word([0; 32]),
        Cell::Integer128(1),
        Cell::Unsigned128(1),
        Cell::Uuid([0; 16]),
    ];
    let kinds = [Unsigned, Signed, Bytes, ColumnType::Abi(AbiType::Bool), Integer128, Unsigned128, Uuid, Date];
    let mut refused = 0;
    for kind in kinds {
        let schema = schema(&[kind]);
        let column = &schema.columns()[0];
        for cell in &cells {
            if column.check(cell.clone()).is_ok() {
                continue;
            }
            refused += 1;
            let unfit = |e: &CellError| matches!(e, CellError::Kind { .. } | CellError::OutOfRange { .. });
            assert!(unfit(&column.check(cell.clone()).unwrap_err()), "{column:?} {cell:?}");
            let row = Row::Cells(vec![cell.clone()]);
            assert!(matches!(schema.elements(&row), Err(RowError::Cell(e)) if unfit(&e)));
            assert!(matches!(schema.encode_row(&row), Err(RowError::Cell(e)) if unfit(&e)));
        }
    }
    // Each column takes one kind of cell.
    assert_eq!(refused, 8 * 7 - 8);
}

#[test]
fn cells_are_in_their_ranges() {
    let long = Cell::Bytes(vec![0; MAX_CELL_BYTES + 1]);
    let bytes = schema(&[ColumnType::Bytes]);
    let length = MAX_CELL_BYTES + 1;
    assert_eq!(bytes.columns()[0].check(long), Err(CellError::TooLong { column: "c0".into(), length }));
    // 5 / 3,000,000 of a second is not a whole number of microseconds.
    let timestamp = &Column::new("t", ColumnType::Timestamp);
    let field = |units, per_second| Field::Timestamp { units, per_second }.cell(timestamp);
    assert_eq!(field(6, 3_000_000), Ok(Cell::Signed(2)));
    assert!(matches!(field(5, 3_000_000), Err(CellError::Form { .. })));
}

#[test]
fn dates_and_times_name_their_fault() {
    let months = Err("months are 01 to 12");
    assert_eq!((parse_date(b"2023-13-01"), parse_date(b"2023-00-10")), (months, months));
    assert_eq!(parse_date(b"0000-01-01"), Err("years are 0001 to 9999"));
    assert_eq!(parse_date(b"2023-04-31"), Err("the month has no such day"));
    let separator = Err("between date and time stands T or a space");
    assert_eq!(parse_timestamp(b"2024-01-31_12:34:56"), separator);
    for text in ["2024-01-31T24:00:00Z", "2024-01-31T12:60:00Z", "2024-06-30T23:59:60Z"] {
        let clock = Err("hours are 00 to 23, minutes and seconds 00 to 59");
        assert_eq!(parse_timestamp(text.as_bytes()), clock, "{text}");
    }
    for text in ["2024-01-31T12:34:56+24:00", "2024-01-31T12:34:56+01:60"] {
        assert!(parse_timestamp(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn rows_have_a_cell_for_each_column() {
    let two = schema(&[ColumnType::Unsigned, ColumnType::Bytes]);
    let one = Row::Cells(vec![Cell::Unsigned(1)]);
    let width = RowError::Width { expected: 2, found: 1 };
    assert_eq!(two.parse_row(&["1"]), Err(width.clone()));
    assert_eq!(two.elements(&one), Err(width.clone()));
    assert_eq!(two.encode_row(&one), Err(width.clone()));
    let stored = schema(&[ColumnType::Unsigned]).encode_row(&one).unwrap();
    assert_eq!(two.decode_row(&stored), Err(width));
    assert_eq!(Schema::raw().parse_row(&["1"; 5]), Err(RowError::Width { expected: 4, found: 5 }));
    let row = Row::Cells(vec![Cell::Unsigned(1), Cell::Bytes(vec![2])]);
    let bytes = two.encode_row(&row).unwrap();
    assert_eq!(two.decode_row(&bytes), Ok(row));
    assert_eq!(two.decode_row(&[&bytes[..], &[0]].concat()), Err(RowError::Encoding));
    // Stored cells are those of the columns.
    let other = schema(&[ColumnType::Unsigned, ColumnType::Signed]);
    assert!(matches!(other.decode_row(&bytes), Err(RowError::Cell(CellError::Kind { .. }))));
    for p in [Goldilocks::ORDER, u64::MAX] {
        let mut raw = [0; 32];
        raw[24..].copy_from_slice(&p.to_le_bytes());
        assert_eq!(Schema::raw().decode_row(&raw), Err(RowError::Element { position: 4, value: p.to_string() }));
    }
}

#[test]
fn names_of_columns_are_short_and_printable() {
    let named = |name: String| Schema::new(vec![Column::new(name, ColumnType::Unsigned)]);
    assert!(named("x".repeat(MAX_NAME_BYTES)).is_ok());
    for name in [String::new(), "x".repeat(MAX_NAME_BYTES + 1), "a\nb".into()] {
        assert_eq!(named(name.clone()), Err(SchemaError::Name { position: 1, name }));
    }
    assert_eq!(Schema::new(vec![]), Err(SchemaError::Empty));
    let twice = vec![Column::new("a", ColumnType::Unsigned), Column::new("a", ColumnType::Bytes)];
    assert_eq!(Schema::new(twice), Err(SchemaError::DuplicateName("a".into())));
}

#[test]
fn lines_are_objects_of_flat_fields() {
    // What was read, and the fault: a sink takes the fields until it refuses one of them.
    let read = |line: &str| {
        let mut taken = Vec::new();
        let result = record(line.as_bytes(), &mut |name, _| {
            taken.push(name.to_owned());
            if name == "no" { Err("refused") } else { Ok(()) }
        });
        let fault = result.err().map(|e| match e {
            RecordError::Malformed(text) => text,
            RecordError::Refused(text) => text.into(),
        });
        (taken.join(" "), fault)
    };
    assert_eq!(read("{\"a\": 1, \"b\": \"x\"}"), ("a b".into(), None));
    assert_eq!(read("{\"a\": 1, \"no\": 2, \"b\": 3}"), ("a no".into(), Some("refused".into())));
    let nested = Some("column \"b\" is nested: flatten it".into());
    assert_eq!(read("{\"a\": 1, \"b\": [2], \"c\": 3}"), ("a".into(), nested));
    assert_eq!(read(" \"text\""), (String::new(), Some("invalid type: string, expected an object".into())));
    for line in ["{\"a\": 1", "{\"a\": 1} 2", "[1]", ""] {
        assert!(read(line).1.is_some(), "{line}");
    }
}
