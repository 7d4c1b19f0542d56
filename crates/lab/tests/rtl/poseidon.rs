//! Poseidon in hardware against the permutation of the primitives, and its constants.

use std::fmt::Write as _;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::{ROUNDS, WIDTH, matrix, permute, round_constants};
use marlin_verilator::VerilatorRuntime;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{IN, Module, OUT, cases, cycles, directory, halves, simulator, words};

/// 32-bit words of a state.
const HALVES: usize = 2 * WIDTH;
/// Stages of the ring, with multipliers of six stages.
const DEPTH: usize = 3 * 6 + 6;

/// SystemVerilog constants, with the first of `values` in the lowest bits.
fn parameter(name: &str, bits: usize, values: &[String], a_line: usize) -> String {
    let reversed: Vec<&str> = values.iter().rev().map(String::as_str).collect();
    let lines: Vec<String> = reversed.chunks(a_line).map(|line| format!("  {}", line.join(", "))).collect();
    format!("localparam logic [{}:0] {name} = {{\n{}\n}};\n", bits * values.len() - 1, lines.join(",\n"))
}

fn constants() -> String {
    let entries: Vec<String> = matrix().as_flattened().iter().map(|k| format!("6'd{k}")).collect();
    let constants: Vec<String> = round_constants().as_flattened().iter().map(|c| format!("64'h{c:016x}")).collect();
    let mut text = String::from(
        "// Poseidon over the Goldilocks field, width 12. Generated from crates/primitives/src/hash/poseidon/constants.rs:\n\
         // `EVERGROVE_BLESS=1 cargo test -p evergrove-lab --features rtl --test rtl constants` writes it.\n\n\
         // verilator lint_off UNUSEDPARAM\n\
         // The entry of row r and column c of the MDS matrix, of 6 bits, is at 6 (12 r + c); rows from 11 down to 0, columns likewise.\n",
    );
    text += &parameter("POSEIDON_MATRIX", 6, &entries, WIDTH);
    text += "// The constant of round r for word i, of 64 bits, is at 64 (12 r + i); rounds from 29 down to 0, words likewise.\n";
    text += &parameter("POSEIDON_CONSTANTS", 64, &constants, 4);
    writeln!(text, "// verilator lint_on UNUSEDPARAM").expect("a string");
    text
}

#[test]
fn constants_are_those_of_the_primitives() {
    assert!(matrix().as_flattened().iter().all(|k| *k < 64), "entries of 6 bits");
    let path = directory().join("poseidon_constants.svh");
    if std::env::var_os("EVERGROVE_BLESS").is_some() {
        std::fs::write(&path, constants()).expect("a file in rtl/");
    }
    let found = std::fs::read_to_string(&path).expect("the constants of rtl/");
    assert!(found == constants(), "rtl/poseidon_constants.svh is not up to date: run this test with EVERGROVE_BLESS=1");
}

/// Sends all inputs, offering each with probability `sends` per cycle. If it is 1, the ring stays full, so the cycles
/// in which it takes states are known.
fn drive<'a>(runtime: &'a VerilatorRuntime, inputs: &'a [[u32; HALVES]], outputs: &[[u32; HALVES]], sends: f64) {
    let ports = [
        ("clk", 1, IN),
        ("rst", 1, IN),
        ("in_valid", 1, IN),
        ("in_ready", 1, OUT),
        ("in_state", 64 * WIDTH, IN),
        ("out_valid", 1, OUT),
        ("out_state", 64 * WIDTH, OUT),
    ];
    let mut module = Module::new(runtime, "poseidon_perm", &ports);
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    module.set("in_valid", 0);
    module.set("rst", 1);
    module.settle();
    module.edge();
    module.set("rst", 0);

    // The cycles in which the ring took states.
    let mut taken = Vec::with_capacity(inputs.len());
    let (mut done, mut offered, mut cycle) = (0, false, 0);
    while done < inputs.len() {
        if !offered && taken.len() < inputs.len() && rng.gen_bool(sends) {
            module.wide("in_state", &inputs[taken.len()]);
            offered = true;
        }
        module.set("in_valid", offered.into());
        module.settle();
        let due = taken.get(done).is_some_and(|start| cycle == start + ROUNDS * DEPTH);
        assert_eq!(module.get("out_valid"), u64::from(due), "state {done}, cycle {cycle}");
        if due {
            assert_eq!(module.get_wide("out_state")[..], outputs[done], "state {done}");
            done += 1;
        }
        if offered && module.get("in_ready") == 1 {
            let first = taken.len() / DEPTH * ROUNDS * DEPTH + taken.len() % DEPTH;
            assert!(cycle == first || sends < 1.0, "state {} is taken in cycle {cycle}, not {first}", taken.len());
            taken.push(cycle);
            offered = false;
        }
        module.edge();
        cycle += 1;
    }
}

/// States of 0, 1 and p - 1, then `count` random ones, with their permutations.
fn states(count: usize, seed: u64) -> [Vec<[u32; HALVES]>; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let last = Goldilocks::new(Goldilocks::ORDER - 1);
    let mut states = vec![[Goldilocks::ZERO; WIDTH], [Goldilocks::ONE; WIDTH], [last; WIDTH]];
    states.extend((0..count).map(|_| {
        let state = words(WIDTH, &mut rng);
        std::array::from_fn::<_, WIDTH, _>(|i| state[i])
    }));
    let as_halves = |state: &[Goldilocks; WIDTH]| -> [u32; HALVES] { halves(&state.map(|x| x.as_u64())) };
    let inputs = states.iter().map(as_halves).collect();
    states.iter_mut().for_each(permute);
    [inputs, states.iter().map(as_halves).collect()]
}

#[test]
fn permutations_are_those_of_the_primitives() {
    assert_eq!(cycles("poseidon_perm"), [ROUNDS * DEPTH, ROUNDS]);
    // A state takes 30 rounds of the ring, so fewer cases.
    let [inputs, outputs] = states(cases() / 10, 9);
    let Some(runtime) = simulator() else { return };
    drive(&runtime, &inputs, &outputs, 1.0);
    let few = inputs.len().min(100);
    for chance in [0.5, 0.03] {
        drive(&runtime, &inputs[..few], &outputs[..few], chance);
    }
}

#[test]
fn a_pipeline_takes_a_state_in_each_cycle() {
    assert_eq!(cycles("poseidon_pipe"), [ROUNDS * DEPTH, 1]);
    let [inputs, outputs] = states(cases(), 13);
    let Some(runtime) = simulator() else { return };
    let ports = [
        ("clk", 1, IN),
        ("rst", 1, IN),
        ("in_valid", 1, IN),
        ("in_tag", 1, IN),
        ("in_state", 64 * WIDTH, IN),
        ("out_valid", 1, OUT),
        ("out_tag", 1, OUT),
        ("out_state", 64 * WIDTH, OUT),
    ];
    let mut module = Module::new(&runtime, "poseidon_pipe", &ports);
    module.set("in_valid", 0);
    module.set("rst", 1);
    module.settle();
    module.edge();
    module.set("rst", 0);
    // A gap after each 1,000 states.
    let place = |cycle: usize| (!(cycle + 1).is_multiple_of(1001)).then(|| cycle - (cycle + 1) / 1001);
    let cycles = inputs.len() + inputs.len() / 1000 + ROUNDS * DEPTH + 1;
    let mut done = 0;
    for cycle in 0..cycles {
        let entry = place(cycle).filter(|i| *i < inputs.len());
        module.set("in_valid", entry.is_some().into());
        if let Some(i) = entry {
            module.wide("in_state", &inputs[i]);
            module.set("in_tag", (i % 3 == 0).into());
        }
        module.settle();
        let exit = cycle.checked_sub(ROUNDS * DEPTH).and_then(place).filter(|i| *i < inputs.len());
        assert_eq!(module.get("out_valid"), u64::from(exit.is_some()), "cycle {cycle}");
        if let Some(i) = exit {
            assert_eq!(module.get("out_tag") == 1, i % 3 == 0, "state {i}");
            assert_eq!(module.get_wide("out_state")[..], outputs[i], "state {i}");
            done += 1;
        }
        module.edge();
    }
    assert_eq!(done, inputs.len());
}
