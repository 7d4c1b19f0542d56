//! Lies about aggregates. A part of these tests has one kind of accumulator or condition.

use core::ops::Range;

use evergrove_apps::aggregate::{Accumulator, Aggregate, Filter, Kind, PRODUCTS, Plan, Query};
use evergrove_primitives::hash::poseidon::hash_tagged;
use serde_json::json;

use super::*;
use crate::aggregate::table::Table as Rows;

const FILES: &str = "crates/apps/src/";

const LIMB: &str = "tables.rs: Zeros: b.below(limb, width.limb_bits);";
const SPLIT: &str = "tables.rs: Equation: b.check([ZERO, power(bits), ONE], high, high, low, x);";
const LOW: &str = "tables.rs: Zeros: b.below(low, HALF);";

/// The largest number.
const TOP: u64 = (1 << 63) - 1;
/// 2^32.
const HALF: u64 = 1 << 32;

fn number(x: u64) -> Goldilocks {
    Goldilocks::new(x)
}

fn inverse(x: u64) -> Goldilocks {
    number(x).inverse().unwrap()
}

fn app(query: &Query) -> Aggregate {
    Aggregate::new(query.plan().clone())
}

/// A table of these columns of numbers, named from `a` on, with these rows.
fn table(rows: &[&[u64]]) -> Rows {
    let names: Vec<String> = ('a'..).take(rows[0].len()).map(|name| format!("{name}:unsigned")).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(u64::to_string).collect()).collect();
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Rows::new(&names, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The fold of all rows.
fn fold(report: &mut Report, sql: &str, rows: &[&[u64]]) -> Part {
    let table = table(rows);
    let app = app(&table.query(sql));
    let leaves = table.cases(&app);
    Part::fold(report, FILES, app, &leaves)
}

/// The reduction of the outputs of two rows of one number.
fn reduce(report: &mut Report, sql: &str, rows: [u64; 2]) -> Part {
    let table = table(&[&[rows[0]], &[rows[1]]]);
    let app = app(&table.query(sql));
    let leaves = table.cases(&app);
    let [left, right] = [0, 1].map(|i: usize| output(&app, &leaves[i..=i]).unwrap());
    Part::reduce(report, FILES, app, &left, &right)
}

/// The limbs of x + p, and the carries between them, where the field's sum of all limbs is x. Only the lowest of the
/// sums that are split is not 0: it is x.
fn around(x: u64, bits: u32, limbs: usize) -> Vec<(Goldilocks, Goldilocks)> {
    let (mut rest, mut carry) = (u128::from(x) + u128::from(Goldilocks::ORDER), number(x));
    let limbs = (0..limbs).map(|_| {
        let limb = number(rest as u64 & ((1 << bits) - 1));
        rest >>= bits;
        carry = (carry - limb) * inverse(1 << bits);
        (limb, carry)
    });
    let limbs = limbs.collect();
    assert_eq!((rest, carry), (0, ZERO));
    limbs
}

/// Rows that are their own value.
fn sums(report: &mut Report) {
    let part = fold(report, "SELECT SUM(a) FROM t", &[&[1 << 40, 0]]);
    part.lie().set(1, &[number((1 << 63) + 5)]).refused_by(report, "tables.rs: Zeros: Self { x, limbs: b.limbs(x) }");
    part.choose(&[(0, ONE)]).refused_by(report, SPLIT);
    part.choose(&[(0, number(HALF)), (1, number((1 << 8) - 1))]).refused_by(report, LOW);
    let small = fold(report, "SELECT SUM(a) FROM t", &[&[5, 0]]);
    // 6 + 2^32 (2^32 - 1) is p + 5.
    let high = small.choose(&[(0, number(6)), (1, number(HALF - 1))]);
    high.refused_by(report, "tables.rs: Zeros: b.below(high, HALF - 1);");
    let behind = part.lie().set(3, &[ONE]);
    behind.refused_by(report, "tables.rs: Equation: b.equal_limbs(slot.active, &slot.value[n..], &zeros);");
    [part, small].iter().for_each(|part| part.search(report));
}

/// Rows that are hashed.
fn openings(report: &mut Report, part: &Part, of: Query, opened: &str, behind: &str) {
    let at = part.subject.free.len() - 8;
    part.lie().set(at, &[number(7)]).refused_by(report, opened);
    // The value is the hash of more than a row.
    let mut more = part.subject.free[at..].to_vec();
    more[5] = ONE;
    let value = hash_tagged(&more, of.plan().schema().row_tag()).0;
    part.lie().set(1, &value).set(at + 5, &[ONE]).refused_by(report, behind);
}

fn conditions(report: &mut Report) {
    let part = fold(report, "SELECT COUNT(*) FROM t WHERE a >= 10", &[&[10, 0]]);
    part.choose(&[(0, number(2))]).refused_by(report, "tables.rs: Bit: let t = b.bit_of(&[left.x, right.x]");
    let large = fold(report, "SELECT COUNT(*) FROM t WHERE a >= 10", &[&[TOP, 0]]);
    large.choose(&[(0, ZERO)]).refused_by(report, "tables.rs: Equation: b.boolean(borrow);");
    let same = fold(report, "SELECT COUNT(*) FROM t WHERE a = 7", &[&[7, 0]]);
    same.choose(&[(0, ZERO)]).refused_by(report, "tables.rs: Equation: b.equal(sum, one);");
    let apart = fold(report, "SELECT COUNT(*) FROM t WHERE a = 7", &[&[8, 0]]);
    let equal = apart.choose(&[(0, ONE), (1, ZERO)]);
    equal.refused_by(report, "tables.rs: Equation: b.check([ONE, ZERO, ZERO], difference, t.into(), zero, zero);");
    // A range of all numbers, which only a plan can have.
    let test = json!({"Test": {"test": {"Within": {"column": 0, "low": 0, "high": TOP}}, "negated": false}});
    let all: Filter = serde_json::from_value(json!({"steps": [test]})).unwrap();
    let count = Accumulator::Count { known: Vec::new(), at_least: None };
    let rows = table(&[&[7, 0]]);
    let app = Aggregate::new(Plan::new(rows.schema.clone(), all, vec![count]).unwrap());
    let leaves = rows.cases(&app);
    let all = Part::fold(report, FILES, app, &leaves);
    [part, large, same, apart, all].iter().for_each(|part| part.search(report));
}

fn products(report: &mut Report) {
    const SQL: &str = "SELECT SUM(a * b) FROM t";
    // The limbs of the first factor, then those of the second, then limbs and carries of the sum.
    let large = fold(report, SQL, &[&[TOP, 2]]);
    let single = large.choose(&[(0, number(TOP)), (1, ZERO)]);
    single.refused_by(report, "tables.rs: Zeros: b.below(limb, bits);");
    // x + p, whose highest limb has 16 bits.
    let part = fold(report, SQL, &[&[5, 1]]);
    let beyond = u128::from(Goldilocks::ORDER) + 5;
    let more = part.choose(&[(0, number(beyond as u64 & 0xff_ffff)), (1, number((beyond >> 24) as u64))]);
    more.refused_by(report, "tables.rs: Zeros: b.below(shifted, bits);");
    // The highest limb is 511 / 512.
    let middle = fold(report, SQL, &[&[511 << 39, 1]]);
    let fraction = middle.choose(&[(2, ZERO), (3, number(511) * inverse(512))]);
    fraction.refused_by(report, "tables.rs: Zeros: b.below(high, bits);");
    part.choose(&[(8, number(5) - number(1 << 24)), (9, ONE)]).refused_by(report, LIMB);
    let around = around(5, PRODUCTS.limb_bits as u32, PRODUCTS.limbs);
    let hints: Vec<_> =
        around.into_iter().zip((8..).step_by(2)).flat_map(|((limb, carry), i)| [(i, limb), (i + 1, carry)]).collect();
    part.choose(&hints).refused_by(report, "tables.rs: Zeros: b.below(next, CARRY);");
    [large, part, middle].iter().for_each(|part| part.search(report));
}

fn extrema(report: &mut Report) {
    const SQL: &str = "SELECT MIN(a) FROM t";
    let part = fold(report, SQL, &[&[5], &[9]]);
    part.choose(&[(0, number(4))]).refused_by(report, "tables.rs: Equation: b.equal(product, zero);");
    let apart = fold(report, SQL, &[&[0], &[TOP]]);
    apart.choose(&[(0, number(TOP))]).refused_by(report, "tables.rs: Equation: b.boolean(borrow);");
    [part, apart].iter().for_each(|part| part.search(report));
    // Twice the right number minus the left one.
    let close = reduce(report, SQL, [6, 5]);
    let twice = close.choose(&[(0, number(2)), (1, ZERO)]);
    twice.refused_by(report, "tables.rs: Bit: let t = b.bit_of(&of, |x| {");
    let other = reduce(report, SQL, [3, 5]);
    other.choose(&[(0, ONE), (1, ZERO)]).refused_by(report, LOW);
    // 3 - 5 + p in halves.
    let borrow = other.choose(&[(0, ONE), (1, ZERO - number(HALF - 2))]);
    borrow.refused_by(report, "tables.rs: Bit: let borrows = b.bit_of(&of, |x| {");
    let high = reduce(report, SQL, [HALF, 2 * HALF]);
    high.choose(&[(0, ONE), (1, ZERO)]).refused_by(report, "tables.rs: Zeros: b.below(high, HALF);");
    [close, other, high].iter().for_each(|part| part.search(report));
}

fn sums_of_sums(report: &mut Report) {
    const SQL: &str = "SELECT SUM(a) FROM t";
    let part = reduce(report, SQL, [2, 3]);
    part.choose(&[(0, number(5) - number(HALF)), (1, ONE)]).refused_by(report, LIMB);
    let hints: Vec<_> = around(5, 32, 4)
        .into_iter()
        .zip((0..).step_by(2))
        .flat_map(|((limb, carry), i)| [(i, limb), (i + 1, carry)])
        .collect();
    part.choose(&hints).refused_by(report, "tables.rs: Equation: carry = b.boolean(next).into();");
    // Two sums of 2^127.
    let query = table(&[&[0]]).query(SQL);
    let limbs = |(_, kind, at): (_, Kind, Range<usize>)| matches!(kind, Kind::Limbs(_)).then_some(at);
    let (sum, len) = (query.plan().slots().find_map(limbs).unwrap(), query.plan().output_len());
    let last = [sum.end - 1, len + sum.end - 1];
    let lie = last.into_iter().fold(part.lie(), |lie, at| lie.set(at, &[number(1 << 31)]));
    lie.refused_by(report, "tables.rs: Equation: b.equal(carry, zero);");
    part.search(report);
}

/// Circuits with pinned keys.
fn pinned(report: &mut Report) {
    let mut part = |rows: &[&[u64]]| {
        let table = table(rows);
        let query = table.query("SELECT SUM(a) FROM t").pinned().unwrap();
        let app = app(&query);
        let leaves = table.cases(&app);
        (Part::fold(report, FILES, app, &leaves), query)
    };
    let ((short, _), (long, query)) = (part(&[&[5, 6]]), part(&[&[1, 2, 3, 4, 5]]));
    let behind = short.lie().set(3, &[ONE]);
    behind.refused_by(report, "tables.rs: Equation: b.check([-ONE, ONE, ZERO], element, *used, zero, zero);");
    openings(
        report,
        &long,
        query,
        "tables.rs: Equation: b.equal_limbs(slot.active, &digest, &slot.value);",
        "tables.rs: Equation: let (digest, words) = b.sponge_of_some(tag, self.width.steps(), &self.used);",
    );
    [short, long].iter().for_each(|part| part.search(report));
}

#[test]
fn the_line_of_each_lie_about_a_query_alone_refuses_it() {
    let mut report = Report::new(argued::QUERIES);
    sums(&mut report);
    let wide: &[&[u64]] = &[&[1, 2, 3, 4, 5]];
    let part = fold(&mut report, "SELECT SUM(a) FROM t", wide);
    openings(
        &mut report,
        &part,
        table(wide).query("SELECT SUM(a) FROM t"),
        "tables.rs: Equation: b.equal_limbs(slot.active, &digest, &slot.value);",
        "tables.rs: Equation: let (digest, words) = b.sponge(schema.row_tag(), n);",
    );
    part.search(&mut report);
    conditions(&mut report);
    products(&mut report);
    extrema(&mut report);
    sums_of_sums(&mut report);
    pinned(&mut report);
    judge("queries", &report);
}
