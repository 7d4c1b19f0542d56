use proptest::prelude::*;

use super::*;
use crate::abi::{AbiType, AbiWord, Width};

fn column(kind: ColumnType) -> Column {
    Column::new("c", kind)
}

fn parse(kind: ColumnType, text: &str) -> Result<Cell, CellError> {
    column(kind).parse(text.as_bytes())
}

fn encode(column: &Column, cell: &Cell) -> Vec<Goldilocks> {
    let mut out = Vec::new();
    column.encode(cell, &mut out).unwrap();
    out
}

const FIXED2: ColumnType = ColumnType::Fixed { scale: 2 };

#[test]
fn numbers_are_read_at_the_edges_of_their_ranges() {
    use ColumnType::{Signed, Unsigned};
    assert_eq!(parse(Unsigned, "9223372036854775807"), Ok(Cell::Unsigned((1 << 63) - 1)));
    assert_eq!(parse(Signed, "-4611686018427387904"), Ok(Cell::Signed(-(1 << 62))));
    assert_eq!(parse(Signed, "4611686018427387903"), Ok(Cell::Signed((1 << 62) - 1)));
    assert_eq!(parse(FIXED2, "-0.07"), Ok(Cell::Signed(-7)));
    assert_eq!(parse(FIXED2, "12.5"), Ok(Cell::Signed(1250)));
    assert_eq!(parse(FIXED2, "12.5000"), Ok(Cell::Signed(1250)));
    assert_eq!(parse(ColumnType::Fixed { scale: 18 }, "4.611686018427387903"), Ok(Cell::Signed((1 << 62) - 1)));
    for (kind, text) in [
        (Unsigned, "9223372036854775808"),
        (Unsigned, "-1"),
        (Unsigned, "99999999999999999999999999999999999999999999999999"),
        (Signed, "4611686018427387904"),
        (Signed, "-4611686018427387905"),
        (FIXED2, "46116860184273879.04"),
        (ColumnType::Fixed { scale: 18 }, "4.611686018427387904"),
    ] {
        assert!(matches!(parse(kind, text), Err(CellError::OutOfRange { .. })), "{kind} {text}");
    }
}

#[test]
fn malformed_numbers_are_refused() {
    for text in
        ["", "+1", "-", "1e3", " 1", "1 ", "1.", ".5", "0x10", "1_000", "1,000", "NaN", "--1", "1.2.3", "\u{661}"]
    {
        for kind in [ColumnType::Unsigned, ColumnType::Signed, FIXED2] {
            assert!(parse(kind, text).is_err(), "{kind} {text:?}");
        }
    }
    assert!(matches!(parse(ColumnType::Unsigned, "1.5"), Err(CellError::NotANumber { .. })));
    assert!(matches!(parse(ColumnType::Signed, "1.5"), Err(CellError::Decimals { found: 1, .. })));
    let e = parse(FIXED2, "1.505").unwrap_err();
    assert_eq!(e.to_string(), "column \"c\": \"1.505\" has 3 decimal places, type fixed:2 holds 2");
    assert_eq!(e.remedy(), "give column \"c\" the type fixed:3 in the schema, or round the value");
    let e = parse(ColumnType::Unsigned, "-3").unwrap_err();
    assert_eq!(e.remedy(), "give column \"c\" the type signed in the schema");
}

#[test]
fn null_is_outside_every_range_and_only_where_allowed() {
    let wide = ColumnType::Decimal { precision: 38, scale: 2 };
    let others = [ColumnType::Boolean, ColumnType::Date, ColumnType::Timestamp, ColumnType::Uuid, wide];
    for kind in [ColumnType::Unsigned, ColumnType::Signed, FIXED2, ColumnType::Bytes].into_iter().chain(others) {
        let c = column(kind).nullable();
        assert_eq!(c.parse(b""), Ok(Cell::Null));
        let elements = encode(&c, &Cell::Null);
        assert_eq!(elements[0], NULL);
        assert!(elements[1..].iter().all(|x| *x == Goldilocks::ZERO));
        assert_eq!(elements.len(), kind.elements());
        assert!(matches!(column(kind).check(Cell::Null), Err(CellError::Null { .. })));
    }
    assert_eq!(column(ColumnType::Bytes).parse(b""), Ok(Cell::Bytes(vec![])));
    assert_eq!(column(ColumnType::Unsigned).decode(NULL), None);
    assert_eq!(column(ColumnType::Unsigned).nullable().decode(NULL), Some(Cell::Null));
}

#[test]
fn a_cell_of_another_kind_is_refused() {
    assert!(matches!(column(ColumnType::Bytes).check(Cell::Unsigned(1)), Err(CellError::Kind { .. })));
    assert!(matches!(column(ColumnType::Unsigned).check(Cell::Signed(1)), Err(CellError::Kind { .. })));
    assert!(matches!(column(FIXED2).check(Cell::Bytes(vec![])), Err(CellError::Kind { .. })));
    assert!(matches!(column(ColumnType::Unsigned).check(Cell::Unsigned(1 << 63)), Err(CellError::OutOfRange { .. })));
    assert!(matches!(column(ColumnType::Signed).check(Cell::Signed(1 << 62)), Err(CellError::OutOfRange { .. })));
}

#[test]
fn truth_values_dates_and_uuids_are_read() {
    use ColumnType::{Boolean, Date, Timestamp, Uuid};
    for (text, truth) in [("true", 1), ("TRUE", 1), ("True", 1), ("1", 1), ("false", 0), ("False", 0), ("0", 0)] {
        assert_eq!(parse(Boolean, text), Ok(Cell::Unsigned(truth)), "{text}");
    }
    assert_eq!(column(Boolean).format(&Cell::Unsigned(1)), b"true");
    assert_eq!(parse(Date, "2024-02-29"), Ok(Cell::Signed(19_782)));
    assert_eq!(parse(Timestamp, "1970-01-01 00:00:01.5+00:00"), Ok(Cell::Signed(1_500_000)));
    let uuid = parse(Uuid, "00112233-4455-6677-8899-AABBCCDDEEFF").unwrap();
    assert_eq!(column(Uuid).format(&uuid), b"00112233-4455-6677-8899-aabbccddeeff");
    for (kind, text) in [
        (Boolean, "yes"),
        (Boolean, "t"),
        (Boolean, "2"),
        (Date, "2023-02-29"),
        (Date, "2024-1-31"),
        (Date, "0"),
        (Timestamp, "2024-01-31T25:00:00Z"),
        (Timestamp, "1706704496"),
        (Uuid, "00112233445566778899aabbccddeeff"),
        (Uuid, "00112233-4455-6677-8899-aabbccddeef"),
        (Uuid, "00112233-4455-6677-8899-aabbccddeegg"),
        (Uuid, "0011223344-55-6677-8899-aabbccddeeff"),
    ] {
        assert!(matches!(parse(kind, text), Err(CellError::Form { .. })), "{kind} {text}");
    }
    let e = parse(Date, "2023-02-29").unwrap_err();
    assert_eq!(e.to_string(), "column \"c\": \"2023-02-29\" is not of type date: the month has no such day");
    assert_eq!(
        e.remedy(),
        "write it as YYYY-MM-DD, for example 2024-01-31, or give column \"c\" the type bytes in the schema"
    );
    for (kind, cell) in [
        (Boolean, Cell::Unsigned(2)),
        (Date, Cell::Signed(time::DATES.end() + 1)),
        (Timestamp, Cell::Signed(time::TIMESTAMPS.start() - 1)),
        (Date, Cell::Signed(i64::MIN)),
    ] {
        assert!(matches!(column(kind).check(cell), Err(CellError::OutOfRange { .. })), "{kind}");
    }
    let e = column(Date).check(Cell::Signed(3_000_000)).unwrap_err();
    assert_eq!(e.to_string(), "column \"c\": \"3000000\" does not fit type date, which holds 0001-01-01 to 9999-12-31");
    assert!(matches!(column(Date).check(Cell::Unsigned(1)), Err(CellError::Kind { .. })));
    assert!(matches!(column(Uuid).check(Cell::Bytes(vec![0; 16])), Err(CellError::Kind { .. })));
    assert_eq!(column(Boolean).decode(Goldilocks::new(2)), None);
    assert_eq!(column(Date).decode(Goldilocks::new(0)), None);
}

#[test]
fn numbers_of_128_bits_are_read_at_the_edges_of_their_ranges() {
    use ColumnType::{Decimal, Integer128, Unsigned128};
    let (least, greatest) = (i128::MIN.to_string(), u128::MAX.to_string());
    assert_eq!(parse(Integer128, &least), Ok(Cell::Integer128(i128::MIN)));
    assert_eq!(parse(Integer128, &i128::MAX.to_string()), Ok(Cell::Integer128(i128::MAX)));
    assert_eq!(parse(Unsigned128, &greatest), Ok(Cell::Unsigned128(u128::MAX)));
    let decimal = |precision, scale| Decimal { precision, scale };
    assert_eq!(parse(decimal(18, 2), "-9999999999999999.99"), Ok(Cell::Signed(-999_999_999_999_999_999)));
    assert_eq!(parse(decimal(38, 38), "0.5"), Ok(Cell::Integer128(5 * 10i128.pow(37))));
    assert_eq!(parse(decimal(19, 0), "9999999999999999999"), Ok(Cell::Integer128(9_999_999_999_999_999_999)));
    for (kind, text) in [
        (Integer128, greatest.as_str()),
        (Integer128, "-170141183460469231731687303715884105729"),
        (Unsigned128, "340282366920938463463374607431768211456"),
        (Unsigned128, "-1"),
        (decimal(18, 2), "10000000000000000"),
        (decimal(38, 38), "1"),
        (decimal(3, 1), "-100"),
    ] {
        assert!(matches!(parse(kind, text), Err(CellError::OutOfRange { .. })), "{kind} {text}");
    }
    assert!(matches!(parse(decimal(5, 2), "1.234"), Err(CellError::Decimals { found: 3, .. })));
    let elements =
        |kind, text| encode(&column(kind), &parse(kind, text).unwrap()).iter().map(|x| x.as_u64()).collect::<Vec<_>>();
    assert_eq!(elements(Unsigned128, "4294967298"), [0, 0, 1, 2]);
    assert_eq!(elements(Integer128, "-1"), [0x7fff_ffff, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff]);
    assert_eq!(elements(decimal(20, 1), "0.3"), [0x8000_0000, 0, 0, 3]);
    assert_eq!(elements(decimal(18, 1), "0.3"), [(1 << 62) + 3]);
    let uuid = elements(ColumnType::Uuid, "00112233-4455-6677-8899-aabbccddeeff");
    assert_eq!(uuid, [0x0011_2233, 0x4455_6677, 0x8899_aabb, 0xccdd_eeff]);
    assert!(matches!(Schema::new(vec![column(decimal(39, 0))]), Err(SchemaError::Precision { .. })));
    assert!(matches!(Schema::new(vec![column(decimal(2, 3))]), Err(SchemaError::Precision { .. })));
}

/// The results of a Python program for the same texts and columns.
#[test]
fn cells_have_the_elements_of_the_vectors() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../../vectors/columns.json")).unwrap();
    let list = |name: &str| vectors[name].as_array().unwrap().clone();
    let kind = |entry: &serde_json::Value| entry[0].as_str().unwrap().parse::<ColumnType>().unwrap();
    let elements = |of: &serde_json::Value| {
        let texts = of.as_array().unwrap().iter().map(|x| x.as_str().unwrap().parse::<u64>().unwrap());
        texts.map(Goldilocks::new).collect::<Vec<_>>()
    };
    assert_eq!(list("cells").len(), 45);
    for entry in list("cells") {
        let (column, text) = (column(kind(&entry)), entry[1].as_str().unwrap());
        let cell = column.parse(text.as_bytes()).unwrap();
        assert_eq!(encode(&column, &cell), elements(&entry[2]), "{entry}");
        assert_eq!(column.parse(&column.format(&cell)), Ok(cell), "{entry}");
    }
    for entry in list("nulls") {
        assert_eq!(encode(&column(kind(&entry)).nullable(), &Cell::Null), elements(&entry[1]), "{entry}");
    }
    for entry in list("not_cells") {
        assert!(parse(kind(&entry), entry[1].as_str().unwrap()).is_err(), "{entry}");
    }
    for entry in list("schema_digests") {
        let schema = Schema::new(vec![column(kind(&entry)).nullable()]).unwrap();
        assert_eq!(schema.digest().to_string(), entry[1].as_str().unwrap(), "{entry}");
    }
}

#[test]
fn types_have_one_name() {
    for name in ["boolean", "date", "timestamp", "uuid", "integer128", "unsigned128", "decimal(38,0)", "decimal(1,1)"] {
        assert_eq!(name.parse::<ColumnType>().unwrap().to_string(), name);
    }
    for name in
        ["Boolean", "decimal", "decimal(0,0)", "decimal(39,0)", "decimal(2,3)", "decimal(02,1)", "decimal(2, 1)"]
    {
        assert!(name.parse::<ColumnType>().is_err(), "{name}");
    }
    let schema = Schema::new(vec![column(ColumnType::Decimal { precision: 20, scale: 2 })]).unwrap();
    assert_eq!(schema.to_bytes(), b"\x01\x01\x01c\x0ddecimal(20,2)\x00");
}

/// A cell that a program makes, or stored bytes, may hold any word: words outside the type are refused.
#[test]
fn words_of_the_abi_are_canonical() {
    let address = column(ColumnType::Abi(AbiType::Address));
    let word = cut(AbiType::Address, &[0xab; 32]);
    assert_eq!(address.parse(format!("0x{}", "ab".repeat(20)).as_bytes()), Ok(Cell::Word(word)));
    let schema = Schema::new(vec![address.clone()]).unwrap();
    let row = Row::Cells(vec![Cell::Word(word)]);
    let bytes = schema.encode_row(&row).unwrap();
    assert_eq!((schema.decode_row(&bytes), row.words()), (Ok(row.clone()), vec![word]));
    for (at, byte) in bytes.iter().enumerate() {
        let mut dirty = bytes.clone();
        dirty[at] ^= 1;
        // The number of cells, the kind of the cell, 12 bytes of zero.
        assert_eq!(schema.decode_row(&dirty).is_ok(), at >= 14, "byte {at}: {byte}");
    }
    let mut dirty = word;
    dirty[11] = 1;
    let e = address.check(Cell::Word(dirty)).unwrap_err();
    assert_eq!(
        e.to_string(),
        format!("column \"c\": 0x{}01{} is not a word of type address", "00".repeat(11), "ab".repeat(20))
    );
    assert!(matches!(column(ColumnType::Bytes).check(Cell::Word(word)), Err(CellError::Kind { .. })));
    assert!(matches!(address.check(Cell::Bytes(word.to_vec())), Err(CellError::Kind { .. })));
    let e = address.parse(b"0x1234").unwrap_err();
    assert_eq!(e.to_string(), "column \"c\": \"0x1234\" is not of type address: write 0x and 40 hexadecimal digits");
    assert_eq!(schema.abi_types(), Ok(vec![AbiType::Address]));
    let mixed = Schema::new(vec![address, Column::new("n", ColumnType::Unsigned)]).unwrap();
    assert_eq!(mixed.abi_types(), Err(NotAbi::Column { name: "n".into(), kind: ColumnType::Unsigned }));
    assert_eq!(Schema::raw().abi_types(), Err(NotAbi::Raw));
}

#[test]
fn up_to_four_elements_are_the_value_and_more_are_hashed() {
    let schema = Schema::new((0..4).map(|i| Column::new(format!("c{i}"), ColumnType::Unsigned)).collect()).unwrap();
    let row = schema.parse_row(&["1", "2", "3", "4"]).unwrap();
    assert_eq!(schema.value(&row).unwrap(), [1, 2, 3, 4].map(Goldilocks::new));
    let two = Schema::new(schema.columns()[..2].to_vec()).unwrap();
    assert_eq!(two.value(&two.parse_row(&["1", "2"]).unwrap()).unwrap(), [1, 2, 0, 0].map(Goldilocks::new));

    let mut columns = schema.columns().to_vec();
    columns.push(Column::new("c4", ColumnType::Unsigned));
    let five = Schema::new(columns).unwrap();
    assert!(!five.is_inline());
    let a = five.value(&five.parse_row(&["1", "2", "3", "4", "0"]).unwrap()).unwrap();
    let b = five.value(&five.parse_row(&["1", "2", "3", "4", "1"]).unwrap()).unwrap();
    assert_ne!(a, [1, 2, 3, 4].map(Goldilocks::new));
    assert_ne!(a, b);
}

#[test]
fn rows_of_another_shape_are_refused() {
    let schema = Schema::new(vec![column(ColumnType::Unsigned)]).unwrap();
    assert_eq!(schema.parse_row(&["1", "2"]), Err(RowError::Width { expected: 1, found: 2 }));
    assert_eq!(schema.value(&Row::Raw(Default::default())), Err(RowError::RawInTable));
    assert_eq!(Schema::raw().value(&Row::Cells(vec![])), Err(RowError::CellsInRaw));
    let p = Goldilocks::ORDER.to_string();
    let e = Schema::raw().parse_row(&["0", "0", p.as_str(), "0"]).unwrap_err();
    assert_eq!(e, RowError::Element { position: 3, value: p });
    let mut bytes = [0; 32];
    bytes[8..16].fill(0xff);
    assert!(matches!(Schema::raw_row(&bytes), Err(RowError::Element { position: 2, .. })));
}

#[test]
fn a_schema_reads_from_toml() {
    let text = "[[column]]\nname = \"id\"\ntype = \"unsigned\"\n\n\
                [[column]]\nname = \"a \\\"b\\\"\"\ntype = \"fixed:2\"\nnullable = true\n";
    let schema = Schema::from_toml(text).unwrap();
    assert_eq!(schema.columns()[0], Column::new("id", ColumnType::Unsigned));
    assert_eq!(schema.columns()[1], Column::new("a \"b\"", FIXED2).nullable());
    assert_eq!(Schema::from_toml(&schema.to_toml()).unwrap(), schema);
    assert_eq!(Schema::from_toml("raw = true").unwrap(), Schema::raw());
    assert_eq!(Schema::from_toml(&Schema::raw().to_toml()).unwrap(), Schema::raw());
}

#[test]
fn schemas_that_make_no_sense_are_refused() {
    let column = |name: &str, kind: &str| format!("[[column]]\nname = \"{name}\"\ntype = \"{kind}\"\n");
    for text in [
        String::new(),
        column("a", "float"),
        column("a", "fixed:19"),
        column("a", "fixed:02"),
        column("a", "uint"),
        column("a", "address") + "nullable = true\n",
        column("", "bytes"),
        column("a\\n", "bytes"),
        column("a", "bytes") + &column("a", "unsigned"),
        column("a", "bytes") + "typo = 1\n",
        "raw = true\n".to_string() + &column("a", "bytes"),
    ] {
        assert!(Schema::from_toml(&text).is_err(), "{text}");
    }
    assert!(matches!(
        Schema::new(vec![super::tests::column(ColumnType::Bytes); 1025]),
        Err(SchemaError::TooManyColumns(1025))
    ));
    assert!(matches!(
        Schema::new(vec![super::tests::column(ColumnType::Fixed { scale: 19 })]),
        Err(SchemaError::Scale { .. })
    ));
}

#[test]
fn canonical_bytes_are_the_only_encoding() {
    let schema = Schema::new(vec![column(FIXED2).nullable()]).unwrap();
    let bytes = schema.to_bytes();
    assert_eq!(bytes, b"\x01\x01\x01c\x07fixed:2\x01");
    assert_eq!(Schema::from_bytes(&bytes).unwrap(), schema);
    assert_eq!(Schema::from_bytes(&Schema::raw().to_bytes()).unwrap(), Schema::raw());
    assert_ne!(schema.digest(), Schema::raw().digest());
    let longer = [&bytes[..], b"\0"].concat();
    assert_eq!(Schema::from_bytes(&longer), Err(DecodeSchemaError::Encoding));
    let long_varint = b"\x01\x81\x00\x01c\x07fixed:2\x01";
    assert_eq!(Schema::from_bytes(long_varint), Err(DecodeSchemaError::Encoding));
    assert_eq!(Schema::from_bytes(b"\x02\0"), Err(DecodeSchemaError::Version { found: 2 }));
    assert_eq!(Schema::from_bytes(b""), Err(DecodeSchemaError::Encoding));
}

#[test]
fn the_column_of_positions_gets_a_free_name() {
    let named =
        |names: &[&str]| Schema::new(names.iter().map(|n| Column::new(*n, ColumnType::Bytes)).collect()).unwrap();
    assert_eq!(named(&["a"]).index_name(), "index");
    assert_eq!(named(&["index", "index_"]).index_name(), "index__");
}

#[test]
fn known_answers() {
    let schema =
        Schema::new(vec![Column::new("name", ColumnType::Bytes), Column::new("n", ColumnType::Unsigned)]).unwrap();
    let row = schema.parse_row(&["Evergrove", "7"]).unwrap();
    insta::assert_snapshot!("bytes_cell", hash_bytes(BYTES_DOMAIN, b"Evergrove"));
    insta::assert_snapshot!("empty_cell", hash_bytes(BYTES_DOMAIN, b""));
    insta::assert_snapshot!("row_value", Digest(schema.value(&row).unwrap()));
    insta::assert_snapshot!("schema_digest", schema.digest());
}

fn any_type() -> impl Strategy<Value = ColumnType> {
    prop_oneof![
        Just(ColumnType::Unsigned),
        Just(ColumnType::Signed),
        (0..=MAX_SCALE).prop_map(|scale| ColumnType::Fixed { scale }),
        Just(ColumnType::Bytes),
        any_abi().prop_map(ColumnType::Abi),
        Just(ColumnType::Boolean),
        Just(ColumnType::Date),
        Just(ColumnType::Timestamp),
        Just(ColumnType::Uuid),
        Just(ColumnType::Integer128),
        Just(ColumnType::Unsigned128),
        (1..=MAX_PRECISION).prop_flat_map(|precision| {
            (0..=precision).prop_map(move |scale| ColumnType::Decimal { precision, scale })
        }),
    ]
}

fn any_abi() -> impl Strategy<Value = AbiType> {
    let width = || (1usize..=32).prop_map(|bytes| Width::new(bytes).unwrap());
    prop_oneof![
        Just(AbiType::Address),
        Just(AbiType::Bool),
        width().prop_map(AbiType::Uint),
        width().prop_map(AbiType::Int),
        width().prop_map(AbiType::Bytes),
    ]
}

fn any_cell(column: &Column) -> BoxedStrategy<Cell> {
    let cell = match column.kind {
        ColumnType::Unsigned => prop_oneof![0..1u64 << 63, 0..9u64].prop_map(Cell::Unsigned).boxed(),
        ColumnType::Signed | ColumnType::Fixed { .. } => {
            prop_oneof![-(1i64 << 62)..1 << 62, -9i64..9].prop_map(Cell::Signed).boxed()
        }
        ColumnType::Bytes => proptest::collection::vec(0u8..3, 0..20).prop_map(Cell::Bytes).boxed(),
        // Edges of the numbers beside any bytes, cut to the type.
        ColumnType::Abi(kind) => {
            let byte = || prop_oneof![Just(0u8), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()];
            proptest::collection::vec(byte(), 32).prop_map(move |bytes| Cell::Word(cut(kind, &bytes))).boxed()
        }
        ColumnType::Boolean => (0..2u64).prop_map(Cell::Unsigned).boxed(),
        ColumnType::Date => prop_oneof![time::DATES, -9i64..9].prop_map(Cell::Signed).boxed(),
        ColumnType::Timestamp => {
            let whole = (-99_999i64..99_999).prop_map(|seconds| seconds * 1_000_000);
            let millis = (-99_999i64..99_999).prop_map(|millis| millis * 1000);
            prop_oneof![time::TIMESTAMPS, -9i64..9, whole, millis].prop_map(Cell::Signed).boxed()
        }
        ColumnType::Uuid => any::<[u8; 16]>().prop_map(Cell::Uuid).boxed(),
        ColumnType::Integer128 => prop_oneof![any::<i128>(), -9i128..9].prop_map(Cell::Integer128).boxed(),
        ColumnType::Unsigned128 => prop_oneof![any::<u128>(), 0u128..9].prop_map(Cell::Unsigned128).boxed(),
        ColumnType::Decimal { precision, .. } => {
            let end = 10i128.pow(precision.into());
            let units = prop_oneof![1 - end..end, -9i128..9];
            units.prop_map(move |x| if precision > 18 { Cell::Integer128(x) } else { Cell::Signed(x as i64) }).boxed()
        }
    };
    if column.nullable { prop_oneof![1 => Just(Cell::Null), 4 => cell].boxed() } else { cell }
}

/// The word of a type that has as many of these bytes as it takes.
fn cut(kind: AbiType, bytes: &[u8]) -> AbiWord {
    let mut word = [0; 32];
    match kind {
        AbiType::Address => word[12..].copy_from_slice(&bytes[12..]),
        AbiType::Bool => word[31] = bytes[31] & 1,
        AbiType::Uint(width) => word[32 - width.bytes()..].copy_from_slice(&bytes[32 - width.bytes()..]),
        AbiType::Int(width) => {
            let (above, own) = word.split_at_mut(32 - width.bytes());
            own.copy_from_slice(&bytes[32 - width.bytes()..]);
            above.fill(if own[0] < 0x80 { 0 } else { 0xff });
        }
        AbiType::Bytes(width) => word[..width.bytes()].copy_from_slice(&bytes[..width.bytes()]),
    }
    word
}

fn any_column() -> impl Strategy<Value = Column> {
    (any_type(), any::<bool>()).prop_map(|(kind, nullable)| {
        let nullable = nullable && !matches!(kind, ColumnType::Abi(_));
        Column { name: "c".into(), kind, nullable }
    })
}

fn any_table() -> impl Strategy<Value = (Schema, Vec<Cell>)> {
    proptest::collection::vec(any_column(), 1..6).prop_flat_map(|mut columns| {
        for (i, c) in columns.iter_mut().enumerate() {
            c.name = format!("c{i}");
        }
        let cells: Vec<_> = columns.iter().map(any_cell).collect();
        (Just(Schema::new(columns).unwrap()), cells)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_encoding_of_a_column_is_injective((c, a, b) in any_column().prop_flat_map(|c| {
        let cell = any_cell(&c);
        (Just(c), cell.clone(), cell)
    })) {
        prop_assert_eq!(encode(&c, &a) == encode(&c, &b), a == b);
    }

    #[test]
    fn the_encoding_of_numbers_keeps_their_order(a in -(1i64 << 62)..1 << 62, b in -(1i64 << 62)..1 << 62) {
        let c = column(FIXED2);
        let element = |x| encode(&c, &Cell::Signed(x))[0];
        prop_assert_eq!(element(a).cmp(&element(b)), a.cmp(&b));
    }

    #[test]
    fn the_encoding_of_numbers_of_128_bits_keeps_their_order(a: i128, b: i128) {
        let c = column(ColumnType::Integer128);
        let elements = |x| encode(&c, &Cell::Integer128(x)).iter().map(|x| x.as_u64()).collect::<Vec<_>>();
        prop_assert_eq!(elements(a).cmp(&elements(b)), a.cmp(&b));
    }

    #[test]
    fn numbers_decode((c, cell) in any_column().prop_flat_map(|c| { let cell = any_cell(&c); (Just(c), cell) })) {
        let decoded = c.decode(encode(&c, &cell)[0]);
        prop_assert_eq!(decoded, c.kind.is_number().then_some(cell));
    }

    #[test]
    fn text_and_bytes_round_trip((schema, cells) in any_table()) {
        let row = Row::Cells(cells.clone());
        let bytes = schema.encode_row(&row).unwrap();
        prop_assert_eq!(schema.decode_row(&bytes).unwrap(), row.clone());
        let reads_as_null = |(c, cell): (&Column, &Cell)| c.nullable && *cell == Cell::Bytes(vec![]);
        if !schema.columns().iter().zip(&cells).any(reads_as_null) {
            let texts = schema.format_row(&row);
            prop_assert_eq!(schema.parse_row(&texts).unwrap(), row);
        }
        prop_assert_eq!(Schema::from_toml(&schema.to_toml()).unwrap(), schema.clone());
        prop_assert_eq!(Schema::from_bytes(&schema.to_bytes()).unwrap(), schema);
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), (schema, _) in any_table()) {
        let _ = schema.decode_row(&bytes);
        let _ = Schema::from_bytes(&bytes);
        for c in schema.columns() {
            let _ = c.parse(&bytes);
        }
    }
}
