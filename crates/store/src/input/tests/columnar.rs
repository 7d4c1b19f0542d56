use std::fs::File;
use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type, Int96, Int96Type,
};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::*;

type Group<'a> = SerializedRowGroupWriter<'a, File>;

fn write(path: &Path, message: &str, groups: &[&dyn Fn(&mut Group<'_>)]) {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Default::default()).unwrap();
    for fill in groups {
        let mut group = writer.next_row_group().unwrap();
        fill(&mut group);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn column<T: DataType>(group: &mut Group<'_>, values: &[T::T], levels: Option<&[i16]>) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, None).unwrap();
    column.close().unwrap();
}

#[test]
fn parquet_columns_become_cells() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("t.parquet");
    let message = "message t {
        required int64 id;
        optional binary name (UTF8);
        required int32 money (DECIMAL(9, 2));
        required double ratio;
        required boolean flag;
        required int32 counter (UINT_32);
        required int64 at (TIMESTAMP(NANOS, true));
        required fixed_len_byte_array(9) wide (DECIMAL(20, 1));
    }";
    let first = |g: &mut Group<'_>| {
        column::<Int64Type>(g, &[10, 20], None);
        column::<ByteArrayType>(g, &[ByteArray::from("Ann")], Some(&[0, 1]));
        column::<Int32Type>(g, &[-5, 1250], None);
        column::<DoubleType>(g, &[0.1, -3e-5], None);
        column::<BoolType>(g, &[true, false], None);
        column::<Int32Type>(g, &[-1, 7], None);
        column::<Int64Type>(g, &[1_700_000_000_000_000_000, 0], None);
        let wide = |x: i128| FixedLenByteArray::from(x.to_be_bytes()[7..].to_vec());
        column::<FixedLenByteArrayType>(g, &[wide(-15), wide(20)], None);
    };
    let second = |g: &mut Group<'_>| {
        column::<Int64Type>(g, &[30], None);
        column::<ByteArrayType>(g, &[ByteArray::from("")], Some(&[1]));
        column::<Int32Type>(g, &[0], None);
        column::<DoubleType>(g, &[2.0], None);
        column::<BoolType>(g, &[true], None);
        column::<Int32Type>(g, &[0], None);
        column::<Int64Type>(g, &[1000], None);
        column::<FixedLenByteArrayType>(g, &[FixedLenByteArray::from(vec![0; 9])], None);
    };
    write(&path, message, &[&first, &second]);

    let table = Table::infer(&path, Format::Parquet, by("id")).unwrap();
    let expected = [
        Column::new("name", ColumnType::Bytes).nullable(),
        Column::new("money", FIXED2),
        Column::new("ratio", ColumnType::Fixed { scale: 5 }),
        Column::new("flag", ColumnType::Boolean),
        Column::new("counter", ColumnType::Unsigned),
        Column::new("at", ColumnType::Timestamp),
        Column::new("wide", ColumnType::Fixed { scale: 1 }),
    ];
    assert_eq!(table.schema().columns(), expected);
    let rows: Vec<_> = table.rows().unwrap().collect::<Result<_, _>>().unwrap();
    let row = |name: Cell, money, ratio, flag, counter, at, wide| {
        let (flag, counter, at) = (Cell::Unsigned(flag), Cell::Unsigned(counter), Cell::Signed(at));
        Row::Cells(vec![name, Cell::Signed(money), Cell::Signed(ratio), flag, counter, at, Cell::Signed(wide)])
    };
    assert_eq!(
        rows,
        [
            (10, row(Cell::Null, -5, 10_000, 1, u32::MAX as u64, 1_700_000_000_000_000, -15)),
            (20, row(Cell::Bytes(b"Ann".into()), 1250, -3, 0, 7, 0, 20)),
            (30, row(Cell::Bytes(vec![]), 0, 200_000, 1, 0, 1, 0)),
        ]
    );
}

#[test]
fn types_of_parquet_are_types_of_columns() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("t.parquet");
    let message = "message t {
        optional int32 day (DATE);
        required int64 ms (TIMESTAMP(MILLIS, false));
        required int64 us (TIMESTAMP_MICROS);
        required int96 old;
        required fixed_len_byte_array(16) id (UUID);
        required int64 n (UINT_64);
        required fixed_len_byte_array(16) money (DECIMAL(38, 2));
        required fixed_len_byte_array(16) count (DECIMAL(38, 0));
        required binary text (UTF8);
    }";
    let fill = |g: &mut Group<'_>| {
        column::<Int32Type>(g, &[19_782], Some(&[1, 0]));
        column::<Int64Type>(g, &[-1, 1_500], None);
        column::<Int64Type>(g, &[-1, 1], None);
        let mut old = Int96::new();
        // The last microsecond of 1969, and midnight of 0001-01-01, which 64 bits of nanoseconds cannot express.
        let nanos = 86_400_000_000_000u64 - 1000;
        old.set_data(nanos as u32, (nanos >> 32) as u32, 2_440_587);
        let mut first = Int96::new();
        first.set_data(0, 0, 1_721_426);
        column::<Int96Type>(g, &[old, first], None);
        let uuid = FixedLenByteArray::from((0..16u8).collect::<Vec<_>>());
        column::<FixedLenByteArrayType>(g, &[uuid.clone(), uuid], None);
        column::<Int64Type>(g, &[-1, 0], None);
        let wide = |x: i128| FixedLenByteArray::from(x.to_be_bytes().to_vec());
        column::<FixedLenByteArrayType>(g, &[wide(10i128.pow(38) - 1), wide(-5)], None);
        column::<FixedLenByteArrayType>(g, &[wide(-(1 << 100)), wide(7)], None);
        column::<ByteArrayType>(g, &["2024-01-01".into(), "2024-01-02".into()], None);
    };
    write(&path, message, &[&fill]);
    let table = Table::infer(&path, Format::Parquet, IndexSource::RowOrder).unwrap();
    let expected = [
        Column::new("day", ColumnType::Date).nullable(),
        Column::new("ms", ColumnType::Timestamp),
        Column::new("us", ColumnType::Timestamp),
        Column::new("old", ColumnType::Timestamp),
        Column::new("id", ColumnType::Uuid),
        Column::new("n", ColumnType::Unsigned128),
        Column::new("money", ColumnType::Decimal { precision: 38, scale: 2 }),
        Column::new("count", ColumnType::Integer128),
        Column::new("text", ColumnType::Bytes),
    ];
    assert_eq!(table.schema().columns(), expected);
    let rows: Vec<_> =
        table.rows().unwrap().map(|row| table.schema().format_row(&row.unwrap().1).join(&b' ')).collect();
    let rows: Vec<_> = rows.into_iter().map(|row| String::from_utf8(row).unwrap()).collect();
    let uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    assert_eq!(
        rows,
        [
            format!(
                "2024-02-29 1969-12-31T23:59:59.999Z 1969-12-31T23:59:59.999999Z 1969-12-31T23:59:59.999999Z {uuid} {} {}.99 {} 2024-01-01",
                u64::MAX,
                "9".repeat(36),
                -(1i128 << 100)
            ),
            format!(
                " 1970-01-01T00:00:01.500Z 1970-01-01T00:00:00.000001Z 0001-01-01T00:00:00Z {uuid} 0 -0.05 7 2024-01-02"
            ),
        ]
    );

    // A schema with integers and bytes reads the integers and bytes of the file.
    let columns = [("day", "unsigned"), ("ms", "signed"), ("id", "bytes")];
    let columns =
        columns.map(|(name, kind)| Column { nullable: name == "day", ..Column::new(name, kind.parse().unwrap()) });
    let table = Table::new(&path, Format::Parquet, IndexSource::RowOrder, Schema::new(columns.to_vec()).unwrap());
    let (_, row) = table.with_fields(Fields::Selected).rows().unwrap().next().unwrap().unwrap();
    assert_eq!(row, Row::Cells(vec![Cell::Unsigned(19_782), Cell::Signed(-1), Cell::Bytes((0..16).collect())]));
}

#[test]
fn parts_of_a_microsecond_are_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("t.parquet");
    let fill = |g: &mut Group<'_>| column::<Int64Type>(g, &[1_000, 1_001], None);
    write(&path, "message t { required int64 at (TIMESTAMP(NANOS, true)); }", &[&fill]);
    let table = Table::infer(&path, Format::Parquet, IndexSource::RowOrder).unwrap();
    let e = table.rows().unwrap().nth(1).unwrap().unwrap_err();
    let what = "row 2: column \"at\": \"1001\" is not of type timestamp: it has parts of a microsecond";
    assert!(e.to_string().ends_with(what), "{e}");
    let Problem::Row(problem) = &*e.problem else { panic!("{e}") };
    assert_eq!(problem.remedy(), "round it to microseconds, or give column \"at\" the type signed in the schema");
}

/// Words are read from strings, and numbers from numbers too. Bytes that are not text are refused.
#[test]
fn parquet_columns_become_words() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("t.parquet");
    let fill = |g: &mut Group<'_>| {
        column::<ByteArrayType>(g, &[ByteArray::from(format!("0x{}", "ab".repeat(20)).as_str())], None);
        column::<Int64Type>(g, &[-1], None);
        column::<BoolType>(g, &[true], None);
        column::<FixedLenByteArrayType>(g, &[FixedLenByteArray::from(vec![0xab; 20])], None);
    };
    let message = "message t { required binary to (UTF8); required int64 n (UINT_64); required boolean b;
        required fixed_len_byte_array(20) raw; }";
    write(&path, message, &[&fill]);
    let read = |columns: &[(&str, &str)]| {
        let columns = columns.iter().map(|(name, kind)| Column::new(*name, kind.parse().unwrap())).collect();
        let table = Table::new(&path, Format::Parquet, IndexSource::RowOrder, Schema::new(columns).unwrap());
        table.with_fields(Fields::Selected).rows().unwrap().next().unwrap()
    };
    let (_, row) = read(&[("to", "address"), ("n", "uint64"), ("b", "bool")]).unwrap();
    let mut words = [[0; 32]; 3];
    words[0][12..].fill(0xab);
    words[1][24..].fill(0xff);
    words[2][31] = 1;
    assert_eq!(row, Row::Cells(words.map(Cell::Word).to_vec()));
    let e = read(&[("n", "uint32")]).unwrap_err().to_string();
    assert!(
        e.ends_with("18446744073709551615 is outside the range of uint32: write a decimal number from 0 to 2^32 - 1"),
        "{e}"
    );
    let e = read(&[("raw", "address")]).unwrap_err().to_string();
    assert!(
        e.contains("row 1: column \"raw\": ")
            && e.ends_with(" is not of type address: write 0x and 40 hexadecimal digits"),
        "{e}"
    );
}

#[test]
fn many_rows_of_several_groups_keep_their_order() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("t.parquet");
    let group = |from: i64| {
        move |g: &mut Group<'_>| {
            let levels: Vec<i16> = (0..3000).map(|i| i16::from(i % 3 != 0)).collect();
            let values: Vec<i64> = (0..3000).filter(|i| i % 3 != 0).map(|i| from + i).collect();
            column::<Int64Type>(g, &values, Some(&levels));
        }
    };
    write(&path, "message t { optional int64 x; }", &[&group(0), &group(3000)]);
    let table = Table::infer(&path, Format::Parquet, IndexSource::RowOrder).unwrap();
    assert_eq!(table.schema().columns(), [Column::new("x", ColumnType::Unsigned).nullable()]);
    for item in table.rows().unwrap() {
        let (i, row) = item.unwrap();
        let x = if i % 3 == 0 { Cell::Null } else { Cell::Unsigned(i) };
        assert_eq!(row, Row::Cells(vec![x]));
    }
}

#[test]
fn nested_columns_and_damaged_files_are_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("t.parquet");
    write(&path, "message t { required group g { required int64 x; } }", &[]);
    let e = Table::infer(&path, Format::Parquet, IndexSource::RowOrder).unwrap_err();
    assert!(e.to_string().ends_with("column \"g.x\" is nested, which is not supported"), "{e}");
    write(&path, "message t { required int64 x; }", &[]);
    let e = Table::infer(&path, Format::Parquet, IndexSource::RowOrder).unwrap_err();
    assert!(matches!(*e.problem, Problem::NoRows));
    let bytes = std::fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        assert!(Table::infer(&path, Format::Parquet, IndexSource::RowOrder).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_columns_do_not_panic(at in any::<proptest::sample::Index>(), bit in 0u8..8) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("t.parquet");
        let message = "message t { required int64 x; optional binary s (UTF8); }";
        write(&path, message, &[&|g: &mut Group<'_>| {
            column::<Int64Type>(g, &[1, 2, 3], None);
            column::<ByteArrayType>(g, &[ByteArray::from("a"), ByteArray::from("bc")], Some(&[1, 0, 1]));
        }]);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(table) = Table::infer(&path, Format::Parquet, IndexSource::RowOrder) {
            let _ = table.rows().map(|rows| rows.count());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn written_parquet_rows_are_read_back(rows in proptest::collection::btree_map(0..1u64 << 40, any_row(), 1..20)) {
        let rows: Vec<_> = rows.into_iter().map(|(i, row)| (i, with_text(row))).collect();
        let mut out = Vec::new();
        let mut writer = TableWriter::new(&mut out, Format::Parquet, &wide()).unwrap();
        for (i, row) in &rows {
            writer.write(*i, row).unwrap();
        }
        writer.finish().unwrap();
        prop_assert_eq!(&read("t.parquet", &out, by("index"), &wide()).unwrap(), &rows);
    }
}

/// The row with its name as UTF-8.
fn with_text(row: Row) -> Row {
    let Row::Cells(mut cells) = row else { return row };
    if let Some(Cell::Bytes(name)) = cells.first_mut() {
        *name = String::from_utf8_lossy(name).into_owned().into();
    }
    Row::Cells(cells)
}

#[test]
fn parquet_files_hold_many_groups_values_and_extremes() {
    let row = |n: u64| Row::Cells(vec![Cell::Bytes(vec![b'x'; n as usize % 3]), Cell::Null, Cell::Signed(-(1 << 62))]);
    let mut out = Vec::new();
    let mut writer = TableWriter::new(&mut out, Format::Parquet, &table()).unwrap();
    (0..70_000).for_each(|n| writer.write(n, &row(n)).unwrap());
    writer.finish().unwrap();
    let rows = read("t.parquet", &out, by("index"), &table()).unwrap();
    assert_eq!(rows.len(), 70_000);
    assert!(rows.iter().all(|(n, found)| *found == row(*n)));

    let p = evergrove_primitives::Goldilocks::new(0xffff_ffff_0000_0000);
    let mut out = Vec::new();
    let mut writer = TableWriter::new(&mut out, Format::Parquet, &Schema::raw()).unwrap();
    writer.write(7, &Row::Raw([p; 4])).unwrap();
    writer.finish().unwrap();
    assert_eq!(read("t.parquet", &out, by("index"), &Schema::raw()).unwrap(), [(7, Row::Raw([p; 4]))]);

    let mut writer = TableWriter::new(Vec::new(), Format::Parquet, &table()).unwrap();
    let e = writer.write(0, &Row::Cells(vec![Cell::Bytes(vec![0xff]), Cell::Null, Cell::Signed(0)])).unwrap_err();
    assert_eq!(e.to_string(), "parquet cannot hold the cell in column \"name\", which is not UTF-8");
}
