//! The Merkle engine in hardware against its model, in every cycle. The permutations are outside the modules: the tests
//! compute them with the primitives, and each result comes back after the model's stages. `poseidon_pipe` is such a
//! permutation in hardware, with a test of its own.

use std::collections::VecDeque;

use evergrove_lab::accumulator::{Accumulator, Place, Policy};
use evergrove_lab::engine::TokenBucket;
use evergrove_lab::poseidon::{Convention, Matrix, Params, Pipelines, run_on, trace};
use evergrove_primitives::hash::poseidon::{WIDTH, permute};
use evergrove_primitives::{Digest, Goldilocks};
use marlin_verilator::VerilatorRuntime;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{IN, Module, OUT, halves, simulator, words};

type State = [Goldilocks; WIDTH];

/// Bytes of eight words.
const GROUP: u64 = 64;

/// Words from 32-bit halves.
fn joined<const N: usize>(halves: &[u32]) -> [Goldilocks; N] {
    std::array::from_fn(|i| Goldilocks::new(u64::from(halves[2 * i]) | u64::from(halves[2 * i + 1]) << 32))
}

/// A wide input. The simulator borrows it for as long as it lives, so it is never freed.
fn input<const N: usize, const M: usize>(words: [Goldilocks; N]) -> &'static [u32; M] {
    Box::leak(Box::new(halves(&words.map(|x| x.as_u64()))))
}

/// A permutation of a number of stages. Results come with the tags of their states.
struct Core<T> {
    stages: u64,
    states: VecDeque<(u64, T, State)>,
}

impl<T: Copy> Core<T> {
    fn new(stages: u64) -> Self {
        Self { stages, states: VecDeque::new() }
    }
    fn enter(&mut self, cycle: u64, tag: T, mut state: State) {
        permute(&mut state);
        self.states.push_back((cycle + self.stages, tag, state));
    }
    fn leave(&mut self, cycle: u64) -> Option<(T, State)> {
        let (_, tag, state) = self.states.pop_front_if(|(when, ..)| *when == cycle)?;
        Some((tag, state))
    }
}

/// The branch hasher's permutation: shows a result to the module before it settles, takes the pair after that.
struct Branch(Core<u32>);

impl Branch {
    fn leave(&mut self, cycle: u64, module: &mut Module<'_>) -> Option<(u32, Digest)> {
        let result = self.0.leave(cycle).map(|(level, state)| (level, [state[0], state[1], state[2], state[3]]));
        module.set("out_valid", result.is_some().into());
        if let Some((level, digest)) = result {
            module.set("out_level", level as u8);
            module.wide::<8>("out_digest", input(digest));
        }
        result.map(|(level, digest)| (level, Digest(digest)))
    }
    /// The pair that enters: level and number of its left digest.
    fn enter(&mut self, cycle: u64, module: &Module<'_>) -> Option<Place> {
        (module.get("issue_valid") == 1).then(|| {
            let level = module.get("issue_level") as u32;
            let pair: [Goldilocks; 8] = joined(&module.get_wide("issue_pair"));
            let mut state = [Goldilocks::ZERO; WIDTH];
            state[..8].copy_from_slice(&pair);
            self.0.enter(cycle, level + 1, state);
            (level, module.get("issue_index"))
        })
    }
}

fn reset(module: &mut Module<'_>, valid: &[&str]) {
    valid.iter().for_each(|port| module.set(port, 0));
    module.set("rst", 1);
    module.settle();
    module.edge();
    module.set("rst", 0);
}

/// Sends 2^height digests for each of two trees, offering each with probability `chance` per cycle.
fn branch(runtime: &VerilatorRuntime, stages: u64, height: u32, places: u16, chance: f64, rng: &mut ChaCha8Rng) {
    let ports = [
        ("clk", 1, IN),
        ("rst", 1, IN),
        ("top", 5, IN),
        ("places", 11, IN),
        ("in_valid", 1, IN),
        ("in_ready", 1, OUT),
        ("in_digest", 256, IN),
        ("issue_valid", 1, OUT),
        ("issue_level", 5, OUT),
        ("issue_index", 32, OUT),
        ("issue_pair", 512, OUT),
        ("out_valid", 1, IN),
        ("out_level", 5, IN),
        ("out_digest", 256, IN),
        ("out_index", 32, OUT),
        ("overflow", 1, OUT),
    ];
    let mut module = Module::new(runtime, "poseidon_branch", &ports);
    module.set("top", height as u8);
    module.short("places", places);
    reset(&mut module, &["in_valid", "out_valid"]);

    let digests: Vec<Digest> =
        words(8 << height, rng).chunks_exact(4).map(|d| Digest([d[0], d[1], d[2], d[3]])).collect();
    let mut model = Accumulator::<Digest>::new(Policy::Deepest, height, stages, 1, 0);
    let mut core = Branch(Core::new(stages));
    let (mut sent, mut offered, mut refused, mut cycle) = (0, false, 0, 0);
    while model.finished() < 2 {
        let at = format!("{stages} stages, 2^{height} digests, {places} places, cycle {cycle}");
        offered |= sent < digests.len() && rng.gen_bool(chance);
        module.set("in_valid", offered.into());
        if offered {
            module.wide::<8>("in_digest", input(digests[sent].0));
        }
        let left = core.leave(cycle, &mut module);
        module.settle();
        let ready = model.waiting() < usize::from(places);
        assert_eq!(module.get("in_ready") == 1, ready, "{at}");
        refused += u64::from(offered && !ready);
        if offered && ready {
            model.arrive(digests[sent]);
            (sent, offered) = (sent + 1, false);
        }
        let index = module.get("out_index");
        let step = model.step(cycle, |_, [left, right]| node([*left, *right]));
        assert_eq!(left.map(|(level, digest)| ((level, index), digest)), step.output, "{at}");
        assert_eq!(core.enter(cycle, &module), step.issued, "{at}");
        model.commit();
        module.edge();
        cycle += 1;
        assert!(cycle < 1 << 16, "{at}: no root");
    }
    assert!(places > 2 || height < 3 || chance < 1.0 || refused > 0, "two places let every digest in");
    assert_eq!(module.get("overflow"), 0);
}

/// The digest of two children, as Plonky2 hashes them.
fn node(children: [Digest; 2]) -> Digest {
    let mut state = [Goldilocks::ZERO; WIDTH];
    state[..4].copy_from_slice(&children[0].0);
    state[4..8].copy_from_slice(&children[1].0);
    permute(&mut state);
    Digest([state[0], state[1], state[2], state[3]])
}

#[test]
fn branch_hashers_do_what_the_model_does_in_every_cycle() {
    let Some(runtime) = simulator() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for (stages, height, places, chance) in [
        (720, 1, 1024, 1.0),
        (720, 11, 1024, 1.0),
        (720, 9, 1024, 0.4),
        (720, 10, 2, 1.0),
        (24, 9, 8, 1.0),
        (7, 10, 2, 1.0),
        (7, 10, 4, 0.7),
        (1, 10, 4, 1.0),
    ] {
        branch(&runtime, stages, height, places, chance, &mut rng);
    }
}

/// Eight words of the link in the model's order.
fn chunk(params: &Params, matrix: &[Goldilocks], number: u64) -> [Goldilocks; 8] {
    let (rows, columns) = (1 << params.log_rows, params.columns as usize);
    let number = number as usize % (rows * params.columns.div_ceil(8) as usize);
    let (pass, place) = (number / rows, number % rows);
    let word = |row: usize, column: usize| {
        if column < columns { matrix[row * columns + column] } else { Goldilocks::ZERO }
    };
    std::array::from_fn(|i| {
        if params.by_columns {
            word(8 * (place % (rows / 8)) + i, 8 * pass + place / (rows / 8))
        } else {
            word(place, 8 * pass + i)
        }
    })
}

/// The engine with its two permutations.
struct Engine<'a> {
    module: Module<'a>,
    leaf: Core<bool>,
    branch: Branch,
}

impl<'a> Engine<'a> {
    fn new(runtime: &'a VerilatorRuntime, params: &Params) -> Self {
        let ports = [
            ("clk", 1, IN),
            ("rst", 1, IN),
            ("by_columns", 1, IN),
            ("log_rows", 5, IN),
            ("passes", 16, IN),
            ("last_words", 4, IN),
            ("top", 5, IN),
            ("places", 11, IN),
            ("in_valid", 1, IN),
            ("in_ready", 1, OUT),
            ("in_words", 512, IN),
            ("start", 1, OUT),
            ("start_row", 32, OUT),
            ("start_pass", 16, OUT),
            ("start_last", 1, OUT),
            ("start_state", 768, OUT),
            ("leaves", 1, IN),
            ("leaves_last", 1, IN),
            ("leaves_state", 768, IN),
            ("leaf_valid", 1, OUT),
            ("leaf_digest", 256, OUT),
            ("issue_valid", 1, OUT),
            ("issue_level", 5, OUT),
            ("issue_index", 32, OUT),
            ("issue_pair", 512, OUT),
            ("out_valid", 1, IN),
            ("out_level", 5, IN),
            ("out_digest", 256, IN),
            ("out_index", 32, OUT),
            ("overflow", 1, OUT),
        ];
        let mut module = Module::new(runtime, "poseidon_engine", &ports);
        module.set("by_columns", params.by_columns.into());
        module.set("log_rows", params.log_rows as u8);
        module.short("passes", params.columns.div_ceil(8) as u16);
        module.set("last_words", (params.columns - 8 * ((params.columns - 1) / 8)) as u8);
        module.set("top", (params.log_rows - params.cap_height) as u8);
        module.short("places", params.digest_queue as u16);
        reset(&mut module, &["in_valid", "leaves", "out_valid"]);
        let stages = params.pipelines.permutation();
        Self { module, leaf: Core::new(stages), branch: Branch(Core::new(stages)) }
    }
    /// Shows the results of the permutations and the next words. Returns the digest that leaves, with its level.
    fn before(&mut self, cycle: u64, words: Option<[Goldilocks; 8]>) -> Option<(u32, Digest)> {
        self.module.set("in_valid", words.is_some().into());
        if let Some(words) = words {
            self.module.wide::<16>("in_words", input(words));
        }
        let state = self.leaf.leave(cycle);
        self.module.set("leaves", state.is_some().into());
        if let Some((last, state)) = state {
            self.module.set("leaves_last", last.into());
            self.module.wide::<24>("leaves_state", input(state));
        }
        let out = self.branch.leave(cycle, &mut self.module);
        self.module.settle();
        out
    }
    /// The row that starts, with its pass, and the digest of the pair that starts, by the names in the model's trace.
    fn started(&mut self, cycle: u64) -> [Option<String>; 2] {
        let get = |port| self.module.get(port);
        let leaf = (get("start") == 1).then(|| format!("{}.{}", get("start_row"), get("start_pass")));
        if leaf.is_some() {
            let state = joined(&self.module.get_wide("start_state"));
            self.leaf.enter(cycle, self.module.get("start_last") == 1, state);
        }
        let pair = self.branch.enter(cycle, &self.module);
        [leaf, pair.map(|(level, first)| format!("{}_{}", level + 1, first / 2))]
    }
}

/// Runs the engine beside its model. Both see the same link.
fn engine(runtime: &VerilatorRuntime, params: &Params, rng: &mut ChaCha8Rng) {
    let matrix = words((params.columns << params.log_rows) as usize, rng);
    let mut rows = Matrix::new(&matrix, params.columns as usize, Convention::Plonky2);
    let outcome = run_on(params, &mut rows).expect("an engine");
    let (report, trace) = trace(params, usize::MAX).expect("a trace");
    let mut events = [0, 1].map(|track| trace.events().iter().filter(move |e| e.track == track).peekable());
    let mut cap = outcome.cap.iter();

    let mut unit = Engine::new(runtime, params);
    let frequency = params.frequency_mhz * 1_000_000;
    let mut link = TokenBucket::new((params.link_gbit_s * 1e9 / 8.0).round() as u64, 1.0, frequency, 4 * GROUP);
    let all = (params.trees << params.log_rows) * u64::from(params.columns.div_ceil(8));
    let mut sent = 0;
    for cycle in 0..report.cycles {
        let at = format!("{params:?}, cycle {cycle}");
        let offered = sent < all && link.available(cycle) >= GROUP;
        let out = unit.before(cycle, offered.then(|| chunk(params, &matrix, sent)));
        for (found, expected) in unit.started(cycle).into_iter().zip(&mut events) {
            assert_eq!(found, expected.next_if(|e| e.start == cycle).map(|e| e.name.clone()), "{at}");
        }
        if offered && unit.module.get("in_ready") == 1 {
            assert!(link.take(cycle, GROUP));
            sent += 1;
        }
        if let Some((_, digest)) = out.filter(|(level, _)| *level == params.log_rows - params.cap_height) {
            assert_eq!(Some(&digest), cap.next(), "{at}");
        }
        assert_eq!(cap.len() == 0, cycle + 1 == report.cycles, "{at}: the cycle of the last node");
        unit.module.edge();
    }
    assert_eq!(sent, all);
    assert!(events.iter_mut().all(|track| track.next().is_none()));
    assert_eq!(unit.module.get("overflow"), 0);
}

#[test]
fn the_merkle_engine_is_the_model_in_every_cycle() {
    let Some(runtime) = simulator() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    // The hardware's queues and permutation, with states on chip.
    let pipelines = Pipelines { constants: 1, multiplier: 6, mds: 5 };
    let base = Params { pipelines, hbm_gb_s: 0, log_rows: 8, columns: 20, ..Params::default() };
    let short = Params { pipelines: Pipelines { constants: 0, multiplier: 0, mds: 1 }, ..base.clone() };
    for params in [
        // Fewer rows than stages: rows wait for their states, and states never wait.
        base.clone(),
        Params { log_rows: 10, columns: 16, ..base.clone() },
        Params { log_rows: 10, link_gbit_s: 45.0, trees: 2, ..base.clone() },
        Params { log_rows: 10, by_columns: true, ..base.clone() },
        // A permutation of 30 stages; links faster than the core; rows that wait for places for their digests.
        Params { trees: 5, link_gbit_s: 300.0, ..short.clone() },
        Params { log_rows: 4, columns: 9, trees: 7, by_columns: true, cap_height: 1, ..short.clone() },
        Params { by_columns: true, trees: 3, link_gbit_s: 60.0, cap_height: 3, ..short.clone() },
        Params { by_columns: true, trees: 3, columns: 8, digest_queue: 8, link_gbit_s: 500.0, ..short.clone() },
        Params { log_rows: 10, columns: 5, digest_queue: 16, ..short.clone() },
        Params { log_rows: 9, columns: 13, digest_queue: 600, link_gbit_s: 500.0, trees: 2, ..base },
    ] {
        engine(&runtime, &params, &mut rng);
    }
}
