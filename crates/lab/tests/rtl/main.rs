//! The register-transfer level in `rtl/` against the models and the kernels: the tree unit and the Merkle engine in every
//! issue and output cycle, the arithmetic and the permutations on random inputs.
//!
//! `make rtl-tools` fetches the simulator, `make test-rtl` runs these tests. Without a simulator the tests print a
//! message and pass; if `EVERGROVE_REQUIRE_RTL` is set, they fail.

mod engine;
mod keccak;
mod mont;
mod msm;
mod mtu;
mod padd;
mod poseidon;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use evergrove_lab::synth::Synthesis;
use evergrove_primitives::Goldilocks;
use marlin_verilator::dynamic::{AsDynamicVerilatedModel, DynamicVerilatedModel, VerilatorValue};
use marlin_verilator::{PortDirection, VerilatedModelConfig, VerilatorRuntime, VerilatorRuntimeOptions};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Stages of a multiplier, as in `Latencies::Real`.
const STAGES: u64 = 10;
/// Random inputs per module of arithmetic or permutation: `EVERGROVE_CASES`, or 10,000.
fn cases() -> usize {
    std::env::var("EVERGROVE_CASES").map_or(10_000, |n| n.parse().expect("EVERGROVE_CASES is a number"))
}

/// Latency and interval of a module, as the models use them.
fn cycles(module: &'static str) -> [usize; 2] {
    let cycles = Synthesis::published().cycles(module).expect("a module with a constant latency");
    [cycles.latency as usize, cycles.interval as usize]
}

/// The folder of the SystemVerilog modules.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rtl")
}

fn sources() -> Vec<PathBuf> {
    let dir = directory();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&dir).expect("rtl/").map(|file| file.expect("a file of rtl/").path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "sv"));
    files.sort();
    files
}

/// The simulator that `make rtl-tools` fetched, or else the one on the path.
fn simulator() -> Option<VerilatorRuntime> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let fetched = build.join("../tools/rtl/bin/verilator");
    let executable = if fetched.exists() { fetched.into_os_string() } else { "verilator".into() };
    let options = VerilatorRuntimeOptions::default().verilator_executable(executable);
    match VerilatorRuntime::new2(build.join("rtl"), &sources(), &[directory()], [], options) {
        Ok(runtime) => Some(runtime),
        Err(e) if std::env::var_os("EVERGROVE_REQUIRE_RTL").is_some() => {
            panic!("make rtl-tools fetches verilator: {e}")
        }
        Err(e) => {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("rtl");
            // Tests capture `eprintln`, but not this.
            let line = format!("not tested: test {name}: {e}: run `make rtl-tools`");
            writeln!(std::io::stderr(), "{line}").expect("a place for messages");
            None
        }
    }
}

/// A simulated module.
struct Module<'a>(DynamicVerilatedModel<'a>);

impl<'a> Module<'a> {
    fn new(runtime: &'a VerilatorRuntime, name: &str, ports: &[(&str, usize, PortDirection)]) -> Self {
        let ports: Vec<(&str, usize, usize, PortDirection)> =
            ports.iter().map(|(n, w, d)| (*n, w - 1, 0, *d)).collect();
        let sources = sources();
        let source = sources.iter().find(|s| s.file_stem().is_some_and(|stem| stem == name)).expect("a module's file");
        let source = source.to_str().expect("a path in UTF-8");
        let config = VerilatedModelConfig { verilator_optimization: 3, ..VerilatedModelConfig::default() };
        Self(runtime.create_dyn_model(name, source, &ports, config).unwrap_or_else(|e| panic!("{name}: {e}")))
    }
    fn set(&mut self, port: &str, value: u8) {
        self.0.pin(port, value).expect("an input of at most eight bits");
    }
    fn short(&mut self, port: &str, value: u16) {
        self.0.pin(port, value).expect("an input of 9 to 16 bits");
    }
    fn word(&mut self, port: &str, value: Goldilocks) {
        self.0.pin(port, value.as_u64()).expect("an input of 64 bits");
    }
    /// Sets a port of more than 64 bits, its lowest words first.
    fn wide<const N: usize>(&mut self, port: &str, value: &'a [u32; N]) {
        self.0.pin(port, value).expect("an input of more than 64 bits");
    }
    fn get_wide(&self, port: &str) -> Box<[u32]> {
        match self.0.read(port).expect("an output") {
            VerilatorValue::WDataOutP(x) => x,
            _ => panic!("{port} has at most 64 bits"),
        }
    }
    fn get(&self, port: &str) -> u64 {
        match self.0.read(port).expect("an output") {
            VerilatorValue::CData(x) => x.into(),
            VerilatorValue::SData(x) => x.into(),
            VerilatorValue::IData(x) => x.into(),
            VerilatorValue::QData(x) => x,
            VerilatorValue::WDataInP(_) | VerilatorValue::WDataOutP(_) => panic!("{port} has more than 64 bits"),
        }
    }
    /// Computes the outputs from the inputs of this cycle.
    fn settle(&mut self) {
        self.set("clk", 0);
        self.0.eval();
    }
    /// Ends the cycle with a clock edge.
    fn edge(&mut self) {
        self.set("clk", 1);
        self.0.eval();
    }
}

const IN: PortDirection = PortDirection::Input;
const OUT: PortDirection = PortDirection::Output;

fn words(count: usize, rng: &mut ChaCha8Rng) -> Vec<Goldilocks> {
    (0..count).map(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))).collect()
}

/// 64-bit words as a port takes them. M is 2 N.
fn halves<const N: usize, const M: usize>(words: &[u64; N]) -> [u32; M] {
    std::array::from_fn(|i| (words[i / 2] >> (32 * (i % 2))) as u32)
}

#[test]
fn products_are_those_of_the_field() {
    assert_eq!(cycles("goldilocks_mul"), [STAGES as usize, 1]);
    let Some(runtime) = simulator() else { return };
    let ports = [("clk", 1, IN), ("a", 64, IN), ("b", 64, IN), ("y", 64, OUT)];
    let mut module = Module::new(&runtime, "goldilocks_mul", &ports);
    let p = Goldilocks::ORDER;
    let edges = [0, 1, 2, 0xFFFF_FFFE, 0xFFFF_FFFF, 1 << 32, (1 << 32) + 1, 1 << 63, p - (1 << 32), p - 2, p - 1];
    let mut pairs: Vec<[Goldilocks; 2]> =
        edges.iter().flat_map(|a| edges.map(|b| [Goldilocks::new(*a), Goldilocks::new(b)])).collect();
    let random = words(4000, &mut ChaCha8Rng::seed_from_u64(1));
    pairs.extend(random.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
    for cycle in 0..pairs.len() + STAGES as usize {
        let [a, b] = pairs.get(cycle).copied().unwrap_or_default();
        module.word("a", a);
        module.word("b", b);
        module.settle();
        if let Some([a, b]) = cycle.checked_sub(STAGES as usize).map(|i| pairs[i]) {
            assert_eq!(module.get("y"), (a * b).as_u64(), "{a:?} * {b:?}");
        }
        module.edge();
    }
}
