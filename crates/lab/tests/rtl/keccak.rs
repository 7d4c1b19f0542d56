//! Keccak-f[1600] in hardware against the permutation of the primitives.

use evergrove_primitives::hash::keccak::{STATE_WORDS, permute};
use marlin_verilator::VerilatorRuntime;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{IN, Module, OUT, cases, cycles, halves, simulator};

/// 32-bit words of a state.
const HALVES: usize = 2 * STATE_WORDS;

/// States: all zeros, all ones, each single bit, then random ones.
fn states() -> Vec<[u64; STATE_WORDS]> {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let bits = (0..1600).map(|bit| std::array::from_fn(|i| if i == bit / 64 { 1 << (bit % 64) } else { 0 }));
    let mut states: Vec<_> = [[0; STATE_WORDS], [u64::MAX; STATE_WORDS]].into_iter().chain(bits).collect();
    states.extend((0..cases()).map(|_| std::array::from_fn(|_| rng.r#gen::<u64>())));
    states
}

/// Sends all inputs, offering each with probability `sends` per cycle, and takes results with probability `takes` per
/// cycle. If both are 1, the module must have the given latency and interval.
fn drive<'a>(
    runtime: &'a VerilatorRuntime,
    name: &str,
    [latency, interval]: [usize; 2],
    inputs: &'a [[u32; HALVES]],
    outputs: &[[u32; HALVES]],
    [sends, takes]: [f64; 2],
) {
    let ports = [
        ("clk", 1, IN),
        ("rst", 1, IN),
        ("in_valid", 1, IN),
        ("in_ready", 1, OUT),
        ("in_state", 1600, IN),
        ("out_valid", 1, OUT),
        ("out_ready", 1, IN),
        ("out_state", 1600, OUT),
    ];
    let mut module = Module::new(runtime, name, &ports);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    module.set("in_valid", 0);
    module.set("out_ready", 0);
    module.set("rst", 1);
    module.settle();
    module.edge();
    module.set("rst", 0);

    // The cycles in which the module took states.
    let mut taken = Vec::with_capacity(inputs.len());
    let (mut done, mut offered) = (0, false);
    for cycle in 0.. {
        assert!(cycle < 200 * inputs.len() + 1000, "{name}: {done} of {} states after {cycle} cycles", inputs.len());
        if !offered && taken.len() < inputs.len() && rng.gen_bool(sends) {
            module.wide("in_state", &inputs[taken.len()]);
            offered = true;
        }
        let ready = rng.gen_bool(takes);
        module.set("in_valid", offered.into());
        module.set("out_ready", ready.into());
        module.settle();
        if module.get("out_valid") == 1 {
            assert_eq!(module.get_wide("out_state")[..], outputs[done], "{name}: state {done}, cycle {cycle}");
            if takes == 1.0 {
                assert_eq!(cycle, taken[done] + latency, "{name}: the cycle of state {done}");
            }
            done += usize::from(ready);
        }
        if offered && module.get("in_ready") == 1 {
            if let Some(before) = taken.last().filter(|_| sends == 1.0 && takes == 1.0) {
                assert_eq!(cycle, before + interval, "{name}: the cycle in which state {} is taken", taken.len());
            }
            taken.push(cycle);
            offered = false;
        }
        module.edge();
        if done == inputs.len() {
            break;
        }
    }
}

fn check(name: &'static str) {
    let [latency, interval] = cycles(name);
    let mut states = states();
    let inputs: Vec<[u32; HALVES]> = states.iter().map(halves).collect();
    states.iter_mut().for_each(permute);
    let outputs: Vec<[u32; HALVES]> = states.iter().map(halves).collect();
    let Some(runtime) = simulator() else { return };
    drive(&runtime, name, [latency, interval], &inputs, &outputs, [1.0, 1.0]);
    // Gaps between states, and results that wait.
    let last = inputs.len() - 1000..;
    for chances in [[0.5, 1.0], [1.0, 0.5], [0.3, 0.3], [1.0, 0.05]] {
        drive(&runtime, name, [latency, interval], &inputs[last.clone()], &outputs[last.clone()], chances);
    }
}

#[test]
fn a_pipelined_permutation_takes_a_state_in_each_cycle() {
    check("keccak_f");
}

#[test]
fn two_rounds_a_cycle_take_a_state_in_12_cycles() {
    check("keccak_f_12");
}

#[test]
fn a_round_a_cycle_takes_a_state_in_24_cycles() {
    check("keccak_f_24");
}
