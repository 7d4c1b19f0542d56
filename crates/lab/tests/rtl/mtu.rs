//! The accumulator and the tree unit in hardware against the models, in every issue and output cycle.

use evergrove_lab::accumulator::{Accumulator, Place, Policy};
use evergrove_lab::expander::Expander;
use evergrove_lab::mtu::{self, Grow, Latencies, Params, Reduce, Workload, tables};
use evergrove_primitives::Goldilocks;
use marlin_verilator::{PortDirection, VerilatorRuntime};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{IN, Module, OUT, STAGES, simulator, words};

/// The policies, in the order of their numbers in the hardware.
const POLICIES: [Policy; 6] = Policy::ALL;
/// Capacity of a queue.
const DEPTH: usize = 32;

const CONTROL: [(&str, usize, PortDirection); 4] =
    [("clk", 1, IN), ("rst", 1, IN), ("policy", 3, IN), ("in_valid", 1, IN)];
const OUTPUTS: [(&str, usize, PortDirection); 8] = [
    ("issue_valid", 1, OUT),
    ("issue_level", 5, OUT),
    ("issue_index", 32, OUT),
    ("out_valid", 1, OUT),
    ("out_level", 5, OUT),
    ("out_index", 32, OUT),
    ("out_data", 64, OUT),
    ("overflow", 1, OUT),
];

/// The number of a policy in the hardware.
fn number(policy: Policy) -> u8 {
    POLICIES.iter().position(|p| *p == policy).expect("a policy of the hardware") as u8
}

/// A module with an accumulator. Call `reset` first.
struct Unit<'a> {
    module: Module<'a>,
    inputs: Vec<String>,
}

impl<'a> Unit<'a> {
    fn new(runtime: &'a VerilatorRuntime, name: &str, inputs: &[&str]) -> Self {
        let words = inputs.iter().map(|name| (*name, 64, IN));
        let ports: Vec<_> = CONTROL.into_iter().chain(words).chain(OUTPUTS).collect();
        let inputs = inputs.iter().map(|name| (*name).to_owned()).collect();
        Self { module: Module::new(runtime, name, &ports), inputs }
    }
    /// Holds reset for longer than the longest pipeline.
    fn reset(&mut self, policy: Policy) {
        self.module.set("policy", number(policy));
        self.module.set("in_valid", 0);
        self.module.set("rst", 1);
        for _ in 0..4 * STAGES {
            self.module.settle();
            self.module.edge();
        }
        self.module.set("rst", 0);
    }
    /// Runs a cycle up to its clock edge. Returns the issued and the leaving node.
    fn cycle(&mut self, nodes: Option<&[Goldilocks]>) -> (Option<Place>, Option<(Place, Goldilocks)>) {
        self.module.set("in_valid", u8::from(nodes.is_some()));
        for (port, node) in self.inputs.iter().zip(nodes.unwrap_or_default()) {
            self.module.word(port, *node);
        }
        self.module.settle();
        let get = |port| self.module.get(port);
        let place = |level, index| (get(level) as u32, get(index));
        let issued = (get("issue_valid") == 1).then(|| place("issue_level", "issue_index"));
        let output =
            (get("out_valid") == 1).then(|| (place("out_level", "out_index"), Goldilocks::new(get("out_data"))));
        (issued, output)
    }
}

#[test]
fn the_papers_table_2_cell_by_cell() {
    let Some(runtime) = simulator() else { return };
    let mut unit = Unit::new(&runtime, "dfs_accumulator_unit", &["in_data"]);
    let published = tables::published(2);
    for policy in [Policy::Ruler, Policy::RulerSteal] {
        unit.reset(policy);
        for cycle in 0..tables::CYCLES {
            let (issued, output) = unit.cycle(Some(&[Goldilocks::ONE]));
            let paper = |place: Option<Place>| place.map(|(level, index)| (level + 4, index));
            let right = issued.map(|(level, index)| (level, index + 1));
            assert_eq!(paper(issued), published[0].1[cycle], "{}, cycle {cycle}", policy.name());
            assert_eq!(paper(right), published[1].1[cycle], "{}, cycle {cycle}", policy.name());
            assert_eq!(
                paper(output.map(|(place, _)| place)),
                published[2].1[cycle],
                "{}, cycle {cycle}",
                policy.name()
            );
            unit.module.edge();
        }
    }
}

#[test]
fn accumulators_do_what_the_model_does_in_every_cycle() {
    let Some(runtime) = simulator() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for (name, stages) in [("dfs_accumulator_unit", 1), ("dfs_accumulator", STAGES)] {
        let mut unit = Unit::new(&runtime, name, &["in_data"]);
        for policy in POLICIES {
            // A node in every cycle, in two of three cycles, and in one of five.
            for (height, chance) in [(1, 1.0), (6, 1.0), (9, 1.0), (7, 0.66), (7, 0.2)] {
                unit.reset(policy);
                let nodes = words(1 << height, &mut rng);
                let mut model = Accumulator::<Goldilocks>::new(policy, height, stages, 1, 0);
                let (mut sent, mut cycle) = (0, 0);
                while model.finished() == 0 {
                    // Strict order is slower than the stream, which waits for room.
                    let room = model.waiting() + 2 <= DEPTH;
                    let arrives = sent < nodes.len() && room && rng.gen_bool(chance);
                    let node = arrives.then(|| nodes[sent]);
                    sent += usize::from(arrives);
                    let found = unit.cycle(node.as_ref().map(std::slice::from_ref));
                    if let Some(node) = node {
                        model.arrive(node);
                    }
                    let step = model.step(cycle, |_, [left, right]| *left * *right);
                    let at = format!("{name}, {}, 2^{height} nodes, cycle {cycle}", policy.name());
                    assert_eq!(found, (step.issued, step.output), "{at}");
                    model.commit();
                    unit.module.edge();
                    cycle += 1;
                    assert!(cycle < 1 << 16, "{at}: no root");
                }
                let product = nodes.iter().fold(Goldilocks::ONE, |product, node| product * *node);
                assert_eq!(model.root(), Some(&product));
                assert!(model.peaks().iter().all(|peak| *peak <= DEPTH), "{:?}", model.peaks());
                assert_eq!(unit.module.get("overflow"), 0);
            }
        }
    }
}

/// The leaves of a product tree, and the nodes that the machine computes.
struct Products<'a> {
    leaves: &'a [Goldilocks],
    results: Vec<(Place, Goldilocks)>,
}

impl Reduce for Products<'_> {
    type Node = Goldilocks;
    fn leaf(&mut self, index: u64) -> Goldilocks {
        self.leaves[index as usize]
    }
    fn combine(&mut self, _: u32, left: &Goldilocks, right: &Goldilocks) -> Goldilocks {
        *left * *right
    }
    fn result(&mut self, level: u32, index: u64, node: &Goldilocks) {
        self.results.push(((level, index), *node));
    }
}

#[test]
fn the_tree_unit_of_eight_elements_is_the_model_in_every_cycle() {
    let Some(runtime) = simulator() else { return };
    let inputs = ["in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"];
    let mut unit = Unit::new(&runtime, "mtu8", &inputs);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (policy, log_size) in POLICIES.into_iter().flat_map(|policy| [4, 7, 12].map(|log| (policy, log))) {
        // In strict order a longer stream would overrun the queue.
        if policy != Policy::InOrder || 1 << (log_size - 3) <= DEPTH {
            let workload = Workload::MultiplicationTree;
            let params = Params { workload, policy, log_size, pes: 8, latencies: Latencies::Real, ..Params::default() };
            let leaves = words(1 << log_size, &mut rng);
            let mut products = Products { leaves: &leaves, results: Vec::new() };
            let report = mtu::reduce(&params, &mut products).expect("a machine");
            let (_, trace) = mtu::trace(&params, usize::MAX).expect("a trace");
            let mut issues = trace.events().iter().filter(|e| e.track == 1).peekable();
            // Nodes above the front tree, in the order in which they leave the accumulator.
            let mut nodes = products.results.iter().filter(|((level, _), _)| *level > 3);

            unit.reset(policy);
            for cycle in 0..report.cycles {
                let (issued, output) = unit.cycle(leaves.chunks_exact(8).nth(cycle as usize));
                let at = format!("{}, 2^{log_size} leaves, cycle {cycle}", policy.name());
                let expected = issues.next_if(|e| e.start == cycle).map(|e| e.name.clone());
                // The paper counts the level of the leaves as 1.
                assert_eq!(issued.map(|(level, index)| format!("L{}_{index}", level + 4)), expected, "{at}");
                if let Some(((level, index), node)) = output {
                    assert_eq!(nodes.next(), Some(&((level + 3, index), node)), "{at}");
                }
                let is_root = output.is_some_and(|((level, _), _)| level + 3 == log_size);
                assert_eq!(is_root, cycle + 1 == report.cycles, "{at}: the root's cycle");
                unit.module.edge();
            }
            assert!(issues.next().is_none() && nodes.next().is_none());
            assert_eq!(unit.module.get("overflow"), 0);
        }
    }
}

/// A module with an expander. Call `reset` first.
struct Grower<'a> {
    module: Module<'a>,
}

/// Ports of every expander.
const FORWARD: [(&str, usize, PortDirection); 12] = [
    ("clk", 1, IN),
    ("rst", 1, IN),
    ("policy", 3, IN),
    ("top", 5, IN),
    ("two", 1, IN),
    ("root", 64, IN),
    ("set", 1, IN),
    ("set_level", 5, IN),
    ("set_data", 64, IN),
    ("issue_valid", 1, OUT),
    ("issue_level", 5, OUT),
    ("issue_index", 32, OUT),
];
/// Further ports of an expander without a front tree.
const EXPANDER: [(&str, usize, PortDirection); 7] = [
    ("take", 1, IN),
    ("node_valid", 1, OUT),
    ("node_data", 64, OUT),
    ("out_valid", 1, OUT),
    ("out_level", 5, OUT),
    ("out_index", 32, OUT),
    ("overflow", 1, OUT),
];

impl<'a> Grower<'a> {
    fn new(runtime: &'a VerilatorRuntime, name: &str, ports: &[(&str, usize, PortDirection)]) -> Self {
        let ports: Vec<_> = FORWARD.iter().chain(ports).copied().collect();
        Self { module: Module::new(runtime, name, &ports) }
    }
    /// Resets the unit with one root or two equal ones on level `top`; `set` loads the coordinates.
    fn reset(&mut self, policy: Policy, top: u32, two: bool, root: Goldilocks, set: impl FnOnce(&mut Module<'a>)) {
        self.module.set("policy", number(policy));
        self.module.set("top", top as u8);
        self.module.set("two", u8::from(two));
        self.module.word("root", root);
        self.module.set("rst", 1);
        self.module.set("set", 1);
        set(&mut self.module);
        self.module.set("set", 0);
        for _ in 0..5 * STAGES {
            self.module.settle();
            self.module.edge();
        }
        self.module.set("rst", 0);
    }
    fn place(&self, valid: &str, level: &str, index: &str) -> Option<Place> {
        let get = |port| self.module.get(port);
        (get(valid) == 1).then(|| (get(level) as u32, get(index)))
    }
    fn issued(&self) -> Option<Place> {
        self.place("issue_valid", "issue_level", "issue_index")
    }
}

/// Loads the coordinates of the levels, from level 0.
fn load(module: &mut Module<'_>, coordinates: &[Goldilocks]) {
    for (level, r) in coordinates.iter().enumerate() {
        module.set("set_level", level as u8);
        module.word("set_data", *r);
        module.settle();
        module.edge();
    }
}

#[test]
fn the_papers_table_3_cell_by_cell() {
    let Some(runtime) = simulator() else { return };
    let mut unit = Grower::new(&runtime, "dfs_expander_unit", &EXPANDER);
    let published = tables::published(3);
    unit.reset(Policy::Ruler, 3, true, Goldilocks::ONE, |module| load(module, &[Goldilocks::ZERO; 4]));
    // The front tree takes one node per cycle.
    unit.module.set("take", 1);
    for cycle in 0..tables::CYCLES {
        unit.module.settle();
        let output = unit.place("out_valid", "out_level", "out_index");
        let left = output.map(|(level, index)| (level + 4, index));
        let right = left.map(|(level, index)| (level, index + 1));
        let issued = unit.issued().map(|(level, index)| (level + 5, index));
        assert_eq!(issued, published[0].1[cycle], "cycle {cycle}");
        assert_eq!(left, published[1].1[cycle], "cycle {cycle}");
        assert_eq!(right, published[2].1[cycle], "cycle {cycle}");
        unit.module.edge();
    }
}

fn children(node: &Goldilocks, r: Goldilocks) -> [Goldilocks; 2] {
    [*node - *node * r, *node * r]
}

#[test]
fn expanders_do_what_the_model_does_in_every_cycle() {
    let Some(runtime) = simulator() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    // A node takes a multiplication and a subtraction.
    for (name, stages) in [("dfs_expander_unit", 1), ("dfs_expander", STAGES + 1)] {
        let mut unit = Grower::new(&runtime, name, &EXPANDER);
        for policy in POLICIES {
            for (top, chance) in [(0, 1.0), (4, 1.0), (8, 1.0), (6, 0.6), (6, 0.2)] {
                let (root, r) = (words(1, &mut rng)[0], words(top as usize + 1, &mut rng));
                unit.reset(policy, top, false, root, |module| load(module, &r));
                let mut model = Expander::new(policy, top, vec![root], stages, 1 << top);
                let mut nodes = Vec::new();
                let mut cycle = 0;
                while nodes.len() < 2 << top {
                    let at = format!("{name}, {}, top {top}, cycle {cycle}", policy.name());
                    let take = rng.gen_bool(chance);
                    unit.module.set("take", u8::from(take));
                    unit.module.settle();
                    let node = (take && unit.module.get("node_valid") == 1)
                        .then(|| Goldilocks::new(unit.module.get("node_data")));
                    assert_eq!(node, if take { model.take() } else { None }, "{at}");
                    nodes.extend(node);
                    let step = model.step(cycle, |level, node| children(node, r[level as usize]));
                    assert_eq!(unit.issued(), step.issued, "{at}");
                    assert_eq!(unit.place("out_valid", "out_level", "out_index"), step.output, "{at}");
                    model.commit();
                    unit.module.edge();
                    cycle += 1;
                    assert!(cycle < 1 << 16, "{at}: outputs are missing");
                }
                // The expected nodes, level by level from the root.
                let mut expected = vec![root];
                for r in r.iter().rev() {
                    expected = expected.iter().flat_map(|node| children(node, *r)).collect();
                }
                assert_eq!(nodes, expected);
                assert_eq!(unit.module.get("overflow"), 0);
            }
        }
    }
}

/// The table of eq, multiplied by the root.
struct Table<'a> {
    root: Goldilocks,
    point: &'a [Goldilocks],
    leaves: Vec<Goldilocks>,
}

impl Grow for Table<'_> {
    type Node = Goldilocks;
    fn root(&mut self) -> Goldilocks {
        self.root
    }
    fn expand(&mut self, level: u32, node: &Goldilocks) -> [Goldilocks; 2] {
        children(node, self.point[level as usize - 1])
    }
    fn leaf(&mut self, index: u64, node: Goldilocks) {
        assert_eq!(index, self.leaves.len() as u64, "leaves come in order");
        self.leaves.push(node);
    }
}

#[test]
fn the_tree_unit_builds_tables_as_the_model_in_every_cycle() {
    let Some(runtime) = simulator() else { return };
    let outputs = ["leaf0", "leaf1", "leaf2", "leaf3", "leaf4", "leaf5", "leaf6", "leaf7"];
    let more = [("front", 1, IN), ("leaf_valid", 1, OUT), ("overflow", 1, OUT)];
    let ports: Vec<_> = more.into_iter().chain(outputs.map(|name| (name, 64, OUT))).collect();
    let mut unit = Grower::new(&runtime, "mtu8_forward", &ports);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for policy in POLICIES {
        for log_size in [4, 7, 12] {
            let workload = Workload::BuildMle;
            let params = Params { workload, policy, log_size, pes: 8, latencies: Latencies::Real, ..Params::default() };
            let point = words(log_size as usize, &mut rng);
            let mut table = Table { root: words(1, &mut rng)[0], point: &point, leaves: Vec::new() };
            let report = mtu::grow(&params, &mut table).expect("a machine");
            let (_, trace) = mtu::trace(&params, usize::MAX).expect("a trace");
            let mut issues = trace.events().iter().filter(|e| e.track == 1).peekable();
            let mut leaves = table.leaves.chunks_exact(8);

            unit.reset(policy, log_size - 4, false, table.root, |module| {
                module.set("front", 1);
                load(module, &point[..3]);
                module.set("front", 0);
                load(module, &point[3..]);
            });
            for cycle in 0..report.cycles {
                unit.module.settle();
                let at = format!("{}, 2^{log_size} leaves, cycle {cycle}", policy.name());
                let expected = issues.next_if(|e| e.start == cycle).map(|e| e.name.clone());
                assert_eq!(unit.issued().map(|(level, index)| format!("L{}_{index}", level + 5)), expected, "{at}");
                if unit.module.get("leaf_valid") == 1 {
                    let group = outputs.map(|port| Goldilocks::new(unit.module.get(port)));
                    assert_eq!(leaves.next(), Some(&group[..]), "{at}");
                }
                let last = leaves.len() == 0;
                assert_eq!(last, cycle + 1 == report.cycles, "{at}: the last leaves' cycle");
                unit.module.edge();
            }
            assert!(issues.next().is_none());
            assert_eq!(unit.module.get("overflow"), 0);
        }
    }
}
