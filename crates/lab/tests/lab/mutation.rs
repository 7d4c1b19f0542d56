//! Foreign files (designs, tables of costs, traces, results) with arbitrary numbers are refused or run, without a
//! panic.
//!
//! `PROPTEST_CASES` sets the number of cases.

use evergrove_lab::config::{Design, File, Machine};
use evergrove_lab::cost::Costs;
use evergrove_lab::results::read_csv;
use evergrove_lab::whatif::{Proofs, answers};
use proptest::prelude::*;
use serde_json::json;
use toml::{Table, Value};

/// Numbers at the limits of integers, and numbers that occur in designs.
fn number() -> impl Strategy<Value = i64> {
    let powers = (0u32..63).prop_flat_map(|bits| (-1i64..=1).prop_map(move |by| (1i64 << bits) + by));
    prop_oneof![powers, 0i64..70, Just(i64::MAX), Just(-1)]
}

/// Every field of a machine that holds numbers, including pipelines and windows.
fn fields(machine: Machine) -> Vec<(String, Value)> {
    let design = Design::new(machine, Table::new()).expect("the defaults");
    design.params.into_iter().filter(|(_, value)| !value.is_str() && !value.is_bool()).collect()
}

/// A value in which number `at` is replaced by `x`.
fn with(value: &Value, at: usize, x: i64) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().enumerate().map(|(i, v)| with_at(v, i, at, x)).collect()),
        Value::Table(table) => {
            let entries = table.iter().enumerate();
            Value::Table(entries.map(|(i, (k, v))| (k.clone(), with_at(v, i, at % table.len(), x))).collect())
        }
        Value::Float(_) => Value::Float(x as f64),
        _ => Value::Integer(x),
    }
}

fn with_at(value: &Value, place: usize, at: usize, x: i64) -> Value {
    if place == at { with(value, 0, x) } else { value.clone() }
}

/// An accepted design must parse to the same design again.
fn build(machine: Machine, params: Table) {
    if let Ok(design) = Design::new(machine, params) {
        assert_eq!(Design::new(machine, design.params.clone()).as_ref(), Ok(&design));
    }
}

#[test]
fn each_number_of_a_design_at_its_extremes() {
    let front: Table = toml::from_str("front_tree = true\nlhe_cores = 2").expect("a table");
    let boards: Table = toml::from_str("front_tree = true\nlhe_cores = 2\nleaf_boards = 2").expect("a table");
    let none = Table::new();
    let starts = [(Machine::Mtu, &none), (Machine::Msm, &none), (Machine::Poseidon, &none)];
    for (machine, start) in starts.into_iter().chain([(Machine::Poseidon, &front), (Machine::Poseidon, &boards)]) {
        for (name, value) in fields(machine) {
            for at in 0..3 {
                for x in (0..63).flat_map(|bits| (-1..=1).map(move |by| (1i64 << bits) + by)).chain([i64::MAX, -1]) {
                    let mut params = start.clone();
                    params.insert(name.clone(), with(&value, at, x));
                    build(machine, params);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn designs_of_any_numbers(
        machine in prop_oneof![Just(Machine::Mtu), Just(Machine::Poseidon), Just(Machine::Msm)],
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, number()), 1..5),
    ) {
        let fields = fields(machine);
        let mut params = Table::new();
        for (field, at, x) in edits {
            let (name, value) = field.get(&fields);
            let value = with(params.get(name).unwrap_or(value), at, x);
            params.insert(name.clone(), value);
        }
        build(machine, params);
    }

    #[test]
    fn traces_of_any_numbers(
        spans in prop::collection::vec((0usize..3, number(), number(), number(), number()), 1..12),
        dur in prop_oneof![Just(0.0), Just(1.0), Just(f64::MAX), Just(1e-300)],
    ) {
        let mut events = vec![json!({ "ph": "X", "name": "bucket", "cat": "proof", "pid": 1, "tid": 0, "dur": dur, "args": {} })];
        for (kind, rows, columns, hashes, bytes) in spans {
            let name = ["wires.hashing", "fri.hashing", "wires.extension"][kind];
            let args = json!({ "rows": rows, "columns": columns, "hashes": hashes, "bytes": bytes });
            events.push(json!({ "ph": "X", "name": name, "cat": "hashing", "pid": 1, "tid": 3, "dur": dur, "args": args }));
        }
        let trace = json!({ "otherData": { "format": "evergrove-trace", "version": 1 }, "traceEvents": events });
        if let Ok(proofs) = Proofs::parse(&trace.to_string()) {
            let _ = answers(&proofs);
        }
    }

    #[test]
    fn texts_of_any_kind(text in "[-\\[\\]{}=.,:'\"a-z0-9_ \n]{0,200}", head in 0usize..4) {
        let head = ["", "machine = 'mtu'\n[params]\n", "version = 1\n[entries]\n", "{\"otherData\":"][head];
        let text = format!("{head}{text}");
        if let Ok(file) = File::parse(&text) {
            let _ = file.designs();
        }
        let _ = Costs::parse(&text);
        let _ = Proofs::parse(&text);
        if let Ok(rows) = read_csv(&text) {
            prop_assert!(rows.len() <= text.lines().count());
        }
    }
}
