//! Texts of queries: meanings that go beyond SQLite, and refusals.

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{
    Accumulator, Aggregate, DecodePlanError, Filter, MAX_TOKENS, Plan, Query, QueryError, SqlError,
};
use evergrove_commit::schema::{Column, Schema};

use super::table::Table;

/// Prices with two decimal places, a nullable quantity and a kind.
fn shop() -> Table {
    let rows: [&[&str]; 6] = [
        &["1.50", "5", "tea"],
        &["-0.25", "9", "tea"],
        &["3.00", "", "pot"],
        &["46116860184273879.03", "0", ""],
        &["-46116860184273879.04", "9223372036854775807", "cup"],
        &["2.00", "7", "pot"],
    ];
    Table::new(&["price:fixed:2", "qty:unsigned?", "kind:bytes?"], &rows)
}

#[test]
fn fixed_point_numbers_are_exact() {
    let shop = shop();
    let one = |sql: &str| shop.values(sql).join("|");
    assert_eq!(
        one("SELECT SUM(price), MIN(price), MAX(price) FROM t"),
        "6.24|-46116860184273879.04|46116860184273879.03"
    );
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price > 1.499"), "4");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price >= 1.5"), "4");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price > 1.5"), "3");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price = 1.505"), "0");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price <> 1.505"), "6");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price BETWEEN -0.251 AND 2.004"), "3");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price NOT BETWEEN -0.25 AND 2"), "3");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price < 99999999999999999999"), "6");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE qty < 99999999999999999999"), "5");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE NOT qty < 99999999999999999999"), "0");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE qty >= -1 OR qty IS NULL"), "6");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price >= -46116860184273879.04"), "6");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE price <= -46116860184273879.04"), "1");
    assert_eq!(one("SELECT AVG(price) FROM t WHERE kind = 'tea'"), "0.62500000");
    assert_eq!(one("SELECT AVG(price) FROM t WHERE price < 0 AND qty = 9"), "-0.25000000");
    // 1.50 * 5 - 0.25 * 9 + 2.00 * 7 over 21.
    assert_eq!(
        one("SELECT SUM(price * qty), WAVG(price, qty) FROM t WHERE kind IN ('tea', 'pot')"),
        "19.25|0.91666667"
    );
    assert_eq!(one("SELECT WAVG(price, qty) FROM t WHERE qty = 0"), "NULL");
    assert_eq!(
        one("SELECT SUM(qty), SUM(qty * qty) FROM t WHERE qty > 10"),
        "9223372036854775807|85070591730234615847396907784232501249"
    );
    assert_eq!(one("SELECT SUM(price * qty) FROM t WHERE kind = 'cup'"), "-425352958651173079283101399105436385.28");
}

#[test]
fn spreads_follow_from_sums() {
    let t = Table::new(
        &["x:fixed:1?"],
        &[&["2.0"], &["4.0"], &["4.0"], &["4.0"], &["5.0"], &["5.0"], &["7.0"], &["9.0"], &[""]],
    );
    let one = |sql: &str| t.values(sql).join("|");
    assert_eq!(one("SELECT VAR_POP(x), STDDEV_POP(x) FROM t"), "4.00000000|2.0000000");
    assert_eq!(one("SELECT VAR_SAMP(x), STDDEV(x), VARIANCE(x) FROM t"), "4.57142857|2.1380899|4.57142857");
    assert_eq!(one("SELECT VAR_POP(x), VAR_SAMP(x), STDDEV(x) FROM t WHERE x = 7"), "0.00000000|NULL|NULL");
    assert_eq!(one("SELECT VAR_POP(x), AVG(x), SUM(x) FROM t WHERE x IS NULL"), "NULL|NULL|NULL");
    assert_eq!(one("SELECT HISTOGRAM(x, 4, 4.05, 9) AS h FROM t"), "..4.0: 1, 4.0..4.1: 3, 4.1..9.0: 3, 9.0..: 1");
}

#[test]
fn names_are_found_by_letters_and_quotes() {
    let t = Table::new(
        &["Price:unsigned", "price:unsigned", "Where From:unsigned", "Qty:unsigned"],
        &[&["1", "2", "3", "4"]],
    );
    let one = |sql: &str| t.values(sql).join("|");
    assert_eq!(one("select sum(Price), sum(price), sum(\"Where From\"), sum(qty) from t"), "1|2|3|4");
    assert_eq!(one("SELECT SUM(t.qty), SUM(x.Qty) FROM shop.t AS x WHERE x.qty = 4 AND ((T.qty)) >= 4"), "4|4");
    let error = |sql: &str| Query::parse(&t.schema, sql).unwrap_err();
    assert_eq!(error("SELECT SUM(PRICE) FROM t"), SqlError::AmbiguousColumn("PRICE".into()));
    assert!(matches!(error("SELECT SUM(\"qty\") FROM t"), SqlError::UnknownColumn { .. }));
    assert!(matches!(error("SELECT SUM(u.qty) FROM t"), SqlError::UnknownColumn { .. }));
    let named = t.answer("SELECT SUM(qty) AS total, COUNT(*) FROM t");
    assert_eq!(named.values.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["total", "COUNT(*)"]);
}

#[test]
fn what_can_not_be_proven_is_refused_with_a_remedy() {
    let shop = shop();
    let unsupported = [
        "SELECT price FROM t",
        "SELECT * FROM t",
        "SELECT SUM(qty) OVER () FROM t",
        "SELECT MEDIAN(qty) FROM t",
        "SELECT COUNT() FROM t",
        "SELECT AVG(*) FROM t",
        "SELECT COUNT(*) FROM t HAVING COUNT(*) > 1",
        "SELECT DISTINCT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t ORDER BY 1",
        "SELECT COUNT(*) FROM t LIMIT 1",
        "SELECT COUNT(*) FROM t FETCH FIRST 1 ROWS ONLY",
        "SELECT COUNT(*) FROM t FOR UPDATE",
        "SELECT TOP 1 COUNT(*) FROM t",
        "SELECT COUNT(*) INTO u FROM t",
        "SELECT COUNT(*) FROM t, u",
        "SELECT COUNT(*) FROM t JOIN u ON t.a = u.a",
        "SELECT COUNT(*) FROM (SELECT 1)",
        "SELECT COUNT(*) FROM t TABLESAMPLE (10 ROWS)",
        "SELECT COUNT(*) FROM f(1)",
        "SELECT COUNT(*)",
        "WITH u AS (SELECT 1) SELECT COUNT(*) FROM u",
        "SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t",
        "INSERT INTO t VALUES (1)",
        "SELECT COUNT(*) FROM t WHERE qty IN (SELECT 1)",
        "SELECT COUNT(*) FROM t WHERE qty = 1e3",
        "SELECT COUNT(*) FROM t WHERE qty",
        "SELECT COUNT(*) FROM t WHERE (qty = 1) IS TRUE",
        "SELECT COUNT(*) FROM t WHERE qty IS DISTINCT FROM 1",
    ];
    for sql in unsupported {
        let error = Query::parse(&shop.schema, sql).map(|q| format!("{q:?}")).expect_err(sql);
        assert!(matches!(error, SqlError::Unsupported { .. }), "{sql}: {error:?}");
        assert!(!error.remedy().is_empty());
    }
    let error = |sql: &str| Query::parse(&shop.schema, sql).unwrap_err();
    assert!(matches!(error("CHOOSE COUNT(*) FROM t"), SqlError::Syntax(_)));
    assert!(matches!(error("SELECT COUNT(* FROM t"), SqlError::Syntax(_)));
    assert!(matches!(error("SELECT SUM(kind) FROM t"), SqlError::ColumnType { .. }));
    assert!(matches!(error("SELECT COUNT(*) FROM t WHERE qty LIKE '5%'"), SqlError::ColumnType { .. }));
    assert!(matches!(error("SELECT COUNT(*) FROM t WHERE kind = 5"), SqlError::Literal { .. }));
    assert!(matches!(error("SELECT COUNT(*) FROM t WHERE qty = '5'"), SqlError::Literal { .. }));
    assert!(matches!(error("SELECT COUNT(*) FROM t WHERE qty = price"), SqlError::TypesDiffer { .. }));
    assert!(matches!(error("SELECT HISTOGRAM(qty, 5, 5) FROM t"), SqlError::Edge { .. }));
    assert!(matches!(error("SELECT HISTOGRAM(price, -46116860184273879.05) FROM t"), SqlError::Edge { .. }));
    assert!(matches!(error("SELECT HISTOGRAM(qty, price) FROM t"), SqlError::Literal { .. }));
    let e = error("SELECT SUM(cost) FROM t");
    assert_eq!(e.to_string(), "unknown column \"cost\"");
    assert_eq!(e.remedy(), "choose one of price, qty, kind");
    let words = ["address", "uint64"].map(|kind| Column::new(kind, kind.parse().unwrap()));
    let words = Schema::new(shop.schema.columns().iter().cloned().chain(words).collect()).unwrap();
    let error = |sql: &str| Query::parse(&words, sql).unwrap_err();
    for sql in [
        "SUM(uint64) FROM t",
        "COUNT(address) FROM t",
        "COUNT(*) FROM t WHERE uint64 = 5",
        "COUNT(*) FROM t WHERE address = uint64",
    ] {
        let e = error(&format!("SELECT {sql}"));
        assert!(e.to_string().starts_with("a query does not work on column \""), "{sql}: {e}");
        assert_eq!(
            e.remedy(),
            "leave the column out: a query computes with numbers of 63 bits, a word of the ABI has 256"
        );
    }
    let sum = Table::new(&["to:address", "n:unsigned"], &[&[&format!("0x{}", "ab".repeat(20)), "7"]]);
    assert_eq!(sum.values("SELECT SUM(n), COUNT(*) FROM t WHERE n > 6"), ["7", "1"]);
    // Parameters may come from a prover, too.
    for accumulator in [
        Accumulator::Sum { column: 4, known: vec![] },
        Accumulator::Count { known: vec![], at_least: Some((4, 1)) },
        Accumulator::Min { column: 3 },
    ] {
        let plan = Plan::new(words.clone(), Filter::all(), vec![accumulator]);
        assert!(matches!(plan, Err(QueryError::Column(3 | 4))), "{plan:?}");
    }
    let raw = Query::parse(&Schema::raw(), "SELECT COUNT(*) FROM t").unwrap_err();
    assert_eq!(raw, SqlError::Query(QueryError::Raw));
}

#[test]
fn depth_and_length_are_bounded() {
    let shop = shop();
    let parse = |condition: String| Query::parse(&shop.schema, &format!("SELECT COUNT(*) FROM t WHERE {condition}"));
    assert!(matches!(parse(vec!["qty"; MAX_TOKENS].join("+")), Err(SqlError::TooLong(_))));
    assert!(matches!(parse(vec!["1"; MAX_TOKENS / 2 - 20].join("+")), Err(SqlError::Unsupported { .. })));
    assert!(matches!(parse("(".repeat(900) + "qty = 1" + &")".repeat(900)), Err(SqlError::Syntax(_))));
    assert!(matches!(parse("NOT ".repeat(1500) + "qty = 1"), Err(SqlError::Syntax(_))));
    let long = parse(vec!["qty = 1"; 400].join(" OR ")).unwrap();
    assert_eq!(long.plan().filter().tests().count(), 400);
    let deep = parse((0..10).fold("qty = 1".into(), |c, k| format!("(NOT {c} AND qty <> {k})"))).unwrap();
    assert_eq!(deep.plan().filter().tests().count(), 11);
    let list: Vec<String> = (0..900).map(|i| i.to_string()).collect();
    assert!(parse(format!("qty IN ({})", list.join(","))).is_ok());
}

#[test]
fn parameters_have_one_form() {
    let shop = shop();
    let app = |sql: &str| Aggregate::new(shop.query(sql).plan().clone());
    let a = app("SELECT SUM(price), COUNT(*) FROM t WHERE qty BETWEEN 5 AND 9 AND kind = 'tea'");
    assert_eq!(Aggregate::from_parameters(&a.parameters()).unwrap(), a);
    let same = app("select sum(price) AS x, count(*) from shop where (9 >= qty) AND TRUE");
    assert_ne!(a.id(), same.id());
    let reordered = app("SELECT SUM(PRICE) AS s, COUNT(*) FROM other WHERE qty BETWEEN 4.5 AND 9.9 AND 'tea' = kind");
    assert_eq!(a.id(), reordered.id());
    let mut bytes = a.parameters();
    bytes.push(0);
    assert_eq!(Aggregate::from_parameters(&bytes), Err(DecodePlanError::Encoding));
    assert_eq!(Aggregate::from_parameters(&[]), Err(DecodePlanError::Encoding));
    assert_eq!(Aggregate::from_parameters(&[4]), Err(DecodePlanError::Version { found: 4 }));
    for k in 0..a.parameters().len() {
        for x in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = a.parameters();
            bytes[k] = x;
            if let Ok(other) = Aggregate::from_parameters(&bytes) {
                assert_eq!(other.parameters(), bytes);
            }
        }
    }
}
