//! Random queries over random tables: the pinned plan has the same answer as the query's own plan, and its inputs, read
//! without the plan, have the same meaning.
//!
//! `EVERGROVE_CASES` sets the number of cases, and `EVERGROVE_SEED` the first case. The laws of circuits are checked
//! for every `EVERGROVE_ON_CIRCUITS`-th query that fits.

use std::collections::BTreeMap;

use evergrove_apps::aggregate::{Aggregate, Plan, Query, RowWidth};
use evergrove_apps::laws::{Case, check};
use evergrove_apps::{Leaf, MapReduce};
use evergrove_commit::schema::{Cell, Column, ColumnType, NULL, Row, Schema, content_digest};
use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::{WIDTH, hash_tagged, permute};
use evergrove_testkit::commit::Rng;

use crate::aggregate::table::Table;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
const END: u64 = 1 << 63;

fn pick<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
    &of[rng.below(of.len() as u64) as usize]
}

/// An encoded number, often at the end of a range or of a limb.
fn number(rng: &mut Rng) -> u64 {
    let near = *pick(rng, &[0, 1 << 21, 1 << 32, 1 << 42, 1 << 62, END - 1, END - 4]);
    match rng.below(4) {
        0 => rng.next_u64() >> 1,
        1 => rng.below(4),
        _ => near.saturating_add(rng.below(4)).saturating_sub(1).min(END - 1),
    }
}

const TEXTS: [&str; 4] = ["", "red", "blue", "x"];

/// A schema of 1 to 32 elements.
fn schema(rng: &mut Rng) -> Schema {
    let most = if rng.below(3) == 0 { 4 } else { 32 };
    let elements = 1 + rng.below(most) as usize;
    let mut columns = Vec::new();
    let mut left = elements;
    while left > 0 {
        let kind = match rng.below(8) {
            0 | 1 if left >= 4 => ColumnType::Bytes,
            2 if left >= 8 => "uint256".parse().unwrap(),
            3 => ColumnType::Fixed { scale: rng.below(19) as u8 },
            4 | 5 => ColumnType::Signed,
            _ => ColumnType::Unsigned,
        };
        left -= kind.elements();
        let column = Column::new(format!("c{}", columns.len()), kind);
        let nullable = rng.below(2) == 0 && !matches!(kind, ColumnType::Abi(_));
        columns.push(if nullable { column.nullable() } else { column });
    }
    Schema::new(columns).unwrap()
}

fn row(rng: &mut Rng, schema: &Schema) -> Row {
    let cells = schema.columns().iter().map(|column| match column.kind {
        _ if column.nullable && rng.below(3) == 0 => Cell::Null,
        ColumnType::Bytes => Cell::Bytes(pick(rng, &TEXTS).as_bytes().to_vec()),
        ColumnType::Abi(_) => Cell::Word(core::array::from_fn(|_| rng.next_u64() as u8)),
        ColumnType::Unsigned => Cell::Unsigned(number(rng)),
        // Signed and fixed. The schemas have no other types.
        _ => Cell::Signed(number(rng) as i64 - (1 << 62)),
    });
    Row::Cells(cells.collect())
}

/// A number as a literal for a column, sometimes between two of the column's numbers.
fn literal(rng: &mut Rng, column: &Column) -> String {
    let encoded = number(rng) as i128;
    let units = if column.kind == ColumnType::Unsigned { encoded } else { encoded - (1 << 62) };
    let scale = column.kind.scale() as usize;
    let digits = format!("{:0>width$}", units.unsigned_abs().to_string(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let more = if rng.below(6) == 0 { "5" } else { "" };
    let point = if fraction.is_empty() && more.is_empty() { "" } else { "." };
    format!("{}{whole}{point}{fraction}{more}", if units < 0 { "-" } else { "" })
}

fn atom(rng: &mut Rng, columns: &[&Column]) -> String {
    let column = *pick(rng, columns);
    let name = &column.name;
    if rng.below(16) == 0 {
        return (*pick(rng, &["TRUE", "FALSE"])).into();
    }
    if rng.below(6) == 0 {
        return format!("{name} IS {}NULL", if rng.below(2) == 0 { "" } else { "NOT " });
    }
    if column.kind == ColumnType::Bytes {
        let text = *pick(rng, &TEXTS);
        return match rng.below(3) {
            0 => format!("{name} = '{text}'"),
            1 => format!("{name} <> '{text}'"),
            _ => format!("{name} IN ('{text}', NULL)"),
        };
    }
    let (x, y) = (literal(rng, column), literal(rng, column));
    match rng.below(5) {
        0 => format!("{name} BETWEEN {x} AND {y}"),
        1 => format!("{name} NOT BETWEEN {x} AND {y}"),
        2 => format!("{name} IN ({x}, {y})"),
        _ => format!("{name} {} {x}", pick(rng, &["<", "<=", "=", "<>", ">=", ">"])),
    }
}

fn condition(rng: &mut Rng, columns: &[&Column], depth: u64) -> String {
    match rng.below(5) {
        0 => format!("NOT ({})", condition(rng, columns, depth)),
        1 | 2 if depth > 0 => {
            let [left, right] = [(); 2].map(|()| condition(rng, columns, depth - 1));
            format!("({left} {} {right})", pick(rng, &["AND", "OR"]))
        }
        _ => atom(rng, columns),
    }
}

/// A query about a few columns.
fn sql(rng: &mut Rng, schema: &Schema) -> String {
    let known: Vec<&Column> = schema.columns().iter().filter(|c| !matches!(c.kind, ColumnType::Abi(_))).collect();
    let columns: Vec<&Column> = (0..=rng.below(3)).map(|_| *pick(rng, &known)).collect();
    let aggregates: Vec<String> = (0..=rng.below(5))
        .map(|_| {
            let column = *pick(rng, &columns);
            match rng.below(7) {
                0 => "COUNT(*)".into(),
                1 | 2 => format!("COUNT({})", column.name),
                _ if column.kind == ColumnType::Bytes => format!("COUNT({})", column.name),
                _ => format!("{}({})", pick(rng, &["SUM", "AVG", "MIN", "MAX"]), column.name),
            }
        })
        .collect();
    let depth = rng.below(3);
    let condition =
        if rng.below(6) == 0 { String::new() } else { format!(" WHERE {}", condition(rng, &columns, depth)) };
    format!("SELECT {} FROM t{condition}", aggregates.join(", "))
}

/// The output that the inputs of a width's circuits define for a row, computed without a plan; `None` if the circuits
/// refuse the row.
fn meaning(width: RowWidth, inputs: &[Goldilocks], value: [Goldilocks; 4], free: &[Goldilocks]) -> Option<Vec<u64>> {
    let mut rest = inputs.iter().copied();
    let mut take = |n: usize| rest.by_ref().take(n).collect::<Vec<Goldilocks>>();
    let all = width.elements();
    let tag = (all > 4).then(|| take(1)[0]);
    let used = take([3, 3, 7, 7, 7][RowWidth::ALL.iter().position(|w| *w == width).unwrap()]);
    let mut elements = value.to_vec();
    let mut before = [ZERO; WIDTH];
    if let Some(tag) = tag {
        assert_eq!(free.len(), all);
        elements = free.to_vec();
        let mut state = before;
        state[8] = tag;
        for block in elements.chunks(8) {
            before = state;
            state[..8].copy_from_slice(block);
            permute(&mut state);
        }
        if state[..4] != value {
            return None;
        }
    }
    // The elements behind the row are the previous state.
    for (i, used) in (all - used.len()..).zip(&used) {
        assert!([ZERO, ONE].contains(used));
        if *used == ZERO && elements[i] != before[i % 8] {
            return None;
        }
    }
    let dot = |places: &[Goldilocks], behind: usize| {
        assert!(places.iter().filter(|x| **x == ONE).count() <= 1 && places.iter().all(|x| [ZERO, ONE].contains(x)));
        places.iter().zip(&elements[behind..]).fold(ZERO, |sum, (place, x)| sum + *place * *x)
    };
    let mut numbers = Vec::new();
    for _ in 0..7 {
        let (cell, nullable) = (dot(&take(all), 0), take(1)[0]);
        let known = !(nullable == ONE && cell == NULL);
        let x = if known { cell.as_u64() } else { 0 };
        numbers.push((x, known));
    }
    if numbers.iter().any(|(x, _)| *x >= END) {
        return None;
    }
    let mut contents = Vec::new();
    for _ in 0..2 {
        let (places, nullable) = (take(all - 3), take(1)[0]);
        let cell = [0, 1, 2, 3].map(|behind| dot(&places, behind));
        contents.push((cell, !(nullable == ONE && cell == [NULL, ZERO, ZERO, ZERO])));
    }
    let mut bits = Vec::new();
    let mut truth = |within: bool, known: bool, of: Vec<Goldilocks>| {
        let bit = |x: bool| if x { ONE } else { ZERO };
        let truth = of[2] + bit(known) * (of[1] + bit(within) * of[0]);
        assert!([ZERO, ONE].contains(&truth), "a truth");
        bits.push(truth == ONE);
    };
    for (x, known) in &numbers[..3] {
        let bounds = take(2);
        truth((bounds[0].as_u64()..=bounds[1].as_u64()).contains(x), *known, take(3));
    }
    for (cell, known) in &contents {
        let content = take(4);
        truth(cell[..] == content, *known, take(3));
    }
    let passes = take(32).into_iter().enumerate().fold(ZERO, |sum, (of, coefficient)| {
        let product = bits.iter().enumerate().all(|(i, bit)| of >> i & 1 == 0 || *bit);
        if product { sum + coefficient } else { sum }
    });
    assert!([ZERO, ONE].contains(&passes), "a filter");
    let passes = passes == ONE;
    let (every, which) = (take(1)[0], take(9));
    assert_eq!(which.iter().fold(every, |sum, x| sum + *x), ONE, "one count");
    let known = numbers.iter().map(|x| x.1).chain(contents.iter().map(|x| x.1));
    let counted = passes && (every == ONE || which.iter().zip(known).any(|(which, known)| *which == ONE && known));
    let masked = |at: usize| passes && numbers[at].1;
    let mut output: Vec<u64> = [passes, masked(3), masked(4), counted].map(u64::from).into();
    for at in [3, 4] {
        let x = if masked(at) { numbers[at].0 } else { 0 };
        output.extend([x & 0xffff_ffff, x >> 32, 0, 0]);
    }
    for at in [5, 6] {
        let [sign, least] = take(2).try_into().unwrap();
        assert!([(ONE, ZERO), (-ONE, ONE)].contains(&(sign, least)));
        // The number is complemented twice.
        let x = if least == ONE { numbers[at].0 } else { END - 1 - numbers[at].0 };
        let x = if masked(at) { x } else { END };
        output.extend([x & 0xffff_ffff, x >> 32]);
    }
    assert_eq!(rest.next(), None, "inputs that nothing reads");
    Some(output)
}

/// The leaf of a row with these elements.
fn case(schema: &Schema, index: u64, elements: &[Goldilocks]) -> Case {
    let mut value = [ZERO; 4];
    if schema.is_inline() {
        value[..elements.len()].copy_from_slice(elements);
        return Case { index, value, opening: vec![] };
    }
    Case { index, value: hash_tagged(elements, schema.row_tag()).0, opening: elements.to_vec() }
}

/// Replaces some elements by values that no row has.
fn spoiled(rng: &mut Rng, elements: &[Goldilocks]) -> Vec<Goldilocks> {
    let mut elements = elements.to_vec();
    let texts = [Goldilocks::new(content_digest(b"red").0[0].as_u64()), ZERO];
    let wrong = [NULL, NULL + ONE, -ONE, Goldilocks::new(END - 1), -Goldilocks::new(END), texts[0], texts[1]];
    let at = rng.below(elements.len() as u64) as usize;
    elements[at] = *pick(rng, &wrong);
    if rng.below(4) == 0 && at + 4 <= elements.len() {
        elements[at..at + 4].copy_from_slice(&[NULL, ZERO, ZERO, ZERO]);
    }
    elements
}

/// Checks that the code and the inputs give the same output for a row. True if the code maps it.
fn agree(app: &Aggregate, leaf: &Case, what: &str) -> bool {
    let mapped = app.map(&leaf.leaf()).ok();
    let free = if leaf.opening.is_empty() { vec![] } else { app.free(leaf.opening.clone()) };
    let said = meaning(app.plan().width().unwrap(), &app.inputs(), leaf.value, &free);
    let mapped_as: Option<Vec<u64>> = mapped.as_ref().map(|x| x.iter().map(|x| x.as_u64()).collect());
    assert_eq!(said, mapped_as, "{what}: {leaf:?}");
    mapped.is_some()
}

/// The output over rows that the code maps; `None` if it refuses one.
fn output(app: &Aggregate, cases: &[Case]) -> Option<Vec<Goldilocks>> {
    cases.iter().try_fold(app.identity(), |before, case| {
        let opening = if app.opening_len() == 0 { &[][..] } else { &case.opening };
        let mapped = app.map(&Leaf { index: case.index, value: case.value, opening }).ok()?;
        MapReduce::reduce(app, &before, &mapped).ok()
    })
}

/// Changes bits of the parameters. If the result is still a plan, it agrees with its inputs.
fn mutated(rng: &mut Rng, app: &Aggregate, cases: &[Case], what: &str) -> bool {
    let mut bytes = app.parameters();
    for _ in 0..=rng.below(2) {
        let at = 1 + rng.below(bytes.len() as u64 - 1) as usize;
        bytes[at] ^= 1 << rng.below(8);
    }
    let Ok(plan) = Plan::from_bytes(&bytes) else { return false };
    assert_eq!(plan.to_bytes(), bytes);
    let same_rows = plan.schema().elements_per_row() == app.plan().schema().elements_per_row();
    let other = Aggregate::new(plan);
    assert!(other.plan().width().is_some() && other.output_len() == 16);
    for case in cases.iter().filter(|_| same_rows) {
        agree(&other, case, &format!("{what}, changed to {:?}", other.plan()));
    }
    true
}

#[test]
fn random_queries_have_the_answers_of_their_own_circuits() {
    let of = |name: &str, default: u64| std::env::var(name).map_or(default, |x| x.parse().unwrap());
    let (first, cases) = (of("EVERGROVE_SEED", 0), of("EVERGROVE_CASES", 300));
    let on_circuits = of("EVERGROVE_ON_CIRCUITS", 130);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for seed in first..first + cases {
        let rng = &mut Rng(seed << 20);
        let schema = schema(rng);
        if schema.columns().iter().all(|c| matches!(c.kind, ColumnType::Abi(_))) {
            continue;
        }
        let text = sql(rng, &schema);
        let what = format!("seed {seed}: {text} over {:?}", schema.columns());
        let own = Query::parse(&schema, &text).unwrap_or_else(|e| panic!("{what}: {e}"));
        let query = match own.pinned() {
            Ok(query) => query,
            Err(e) => {
                let kind = format!("{e:?}");
                *found.entry(kind.split(|c: char| !c.is_alphabetic()).next().unwrap().into()).or_default() += 1;
                continue;
            }
        };
        let (own_app, app) = (Aggregate::new(own.plan().clone()), Aggregate::new(query.plan().clone()));
        assert_eq!(Aggregate::from_parameters(&app.parameters()).as_ref(), Ok(&app), "{what}");
        assert_eq!(query.pinned().as_ref(), Ok(&query), "{what}");
        let table = Table { rows: (0..6).map(|_| row(rng, &schema)).collect(), schema: schema.clone() };
        let rows: Vec<_> = table.rows.iter().map(|row| schema.elements(row).unwrap()).collect();
        let cases: Vec<Case> = rows.iter().zip(0..).map(|(row, i)| case(&schema, i, row)).collect();
        let (own_output, pinned_output) = (output(&own_app, &cases).unwrap(), output(&app, &cases).unwrap());
        assert_eq!(query.answer(&pinned_output), own.answer(&own_output), "{what}");
        assert!(cases.iter().all(|leaf| agree(&app, leaf, &what)), "{what}");
        // For a damaged row, the pinned plan fails whenever the query's own plan fails, and otherwise agrees with it.
        let others: Vec<Case> = rows.iter().map(|row| case(&schema, 9, &spoiled(rng, row))).collect();
        for other in &others {
            let mapped = agree(&app, other, &what);
            *found.entry(if mapped { "mapped".into() } else { "not mapped".into() }).or_default() += 1;
            let both = [cases[0].clone(), other.clone()];
            if let Some(pinned) = output(&app, &both) {
                let own_output = output(&own_app, &both).unwrap_or_else(|| panic!("{what}: {other:?}"));
                assert_eq!(query.answer(&pinned), own.answer(&own_output), "{what}: {other:?}");
            }
        }
        let tried: Vec<Case> = cases.iter().chain(&others).cloned().collect();
        for _ in 0..4 {
            *found.entry("changed".into()).or_default() += u64::from(mutated(rng, &app, &tried, &what));
        }
        let fits = found.entry("fits".into()).or_default();
        *fits += 1;
        if (*fits).is_multiple_of(on_circuits) {
            check(&app, &cases[..4]);
            *found.entry("on circuits".into()).or_default() += 1;
        }
    }
    eprintln!("{found:?}");
    assert!(found["fits"] * 3 > cases, "{found:?}");
}
