//! Traversals executed by a strict machine: operands are present, every node is computed once, results arrive, counts
//! are exact.

use std::collections::HashSet;

use evergrove_kernels::tree::count::{Arithmetic, Traffic};
use evergrove_kernels::tree::schedule::{
    Band, MAX_HEIGHT, Plan, Run, Schedule, ScheduleError, Step, Tree, level_above_leaves,
};

const TREES: [Tree; 3] = [Tree::Expand, Tree::Reduce, Tree::ReduceLevels];

type Node = (u32, usize);

fn nodes(run: Run) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator {
    run.nodes().map(move |i| (run.level, i))
}

fn children(run: Run) -> Vec<Node> {
    nodes(run).flat_map(|(level, i)| [(level - 1, 2 * i), (level - 1, 2 * i + 1)]).collect()
}

/// A memory, the nodes computed so far and the words moved.
#[derive(Default)]
struct Machine {
    memory: HashSet<Node>,
    computed: HashSet<Node>,
    loads: u64,
    stores: u64,
    peak: usize,
}

impl Machine {
    fn task(&mut self, tree: Tree, band: &Band, task: usize) {
        let mut stack: Vec<Node> = Vec::new();
        for step in band.steps(task) {
            match step {
                Step::Load(run) => {
                    for node in nodes(run) {
                        assert!(self.memory.contains(&node), "{node:?} is loaded before it is stored");
                        stack.push(node);
                    }
                    self.loads += run.len as u64;
                }
                Step::Combine(run) => {
                    assert_ne!(tree, Tree::Expand);
                    let operands = children(run);
                    let rest = stack.len().checked_sub(operands.len()).expect("operands on the stack");
                    assert_eq!(stack[rest..], operands, "{step:?}");
                    stack.truncate(rest);
                    for node in nodes(run) {
                        assert!(self.computed.insert(node), "{node:?} is computed twice");
                        stack.push(node);
                    }
                }
                Step::Expand(run) => {
                    assert_eq!(tree, Tree::Expand);
                    let mut below = children(run);
                    let rest = stack.len().checked_sub(run.len).expect("operands on the stack");
                    assert_eq!(stack[rest..], nodes(run).collect::<Vec<_>>(), "{step:?}");
                    stack.truncate(rest);
                    for node in nodes(run) {
                        assert!(self.computed.insert(node), "{node:?} is expanded twice");
                    }
                    if !band.in_block(run.level) {
                        below.reverse();
                    }
                    stack.extend(below);
                }
                Step::Emit(run) => {
                    assert_eq!(tree, Tree::ReduceLevels);
                    assert_eq!(stack[stack.len() - run.len..], nodes(run).collect::<Vec<_>>(), "{step:?}");
                    self.store(run);
                }
                Step::Spill(run) => {
                    let rest = stack.len().checked_sub(run.len).expect("operands on the stack");
                    assert_eq!(stack[rest..], nodes(run).collect::<Vec<_>>(), "{step:?}");
                    stack.truncate(rest);
                    self.store(run);
                }
            }
            self.peak = self.peak.max(stack.len());
            assert!(stack.len() <= band.local_nodes(), "{} nodes are kept, {} said", stack.len(), band.local_nodes());
        }
        assert_eq!(stack, [], "nodes are left over");
    }

    fn store(&mut self, run: Run) {
        for node in nodes(run) {
            assert!(self.memory.insert(node), "{node:?} is stored twice");
        }
        self.stores += run.len as u64;
    }
}

fn schedules(height: u32) -> Vec<Schedule> {
    let mut out: Vec<_> = (0..=height + 1).map(|chunk| Schedule::BreadthFirst { chunk }).collect();
    for subtree in 1..=height + 1 {
        out.push(Schedule::DepthFirst { subtree });
        out.extend((0..=subtree + 1).map(|block| Schedule::Hybrid { subtree, block }));
    }
    out
}

#[test]
fn every_traversal_is_sound_and_complete() {
    for height in 0..=7 {
        for tree in TREES {
            for schedule in schedules(height) {
                let plan = Plan::new(tree, height, schedule).unwrap();
                let mut machine = Machine::default();
                let leaves: HashSet<Node> = (0..1 << height).map(|i| (0, i)).collect();
                let inner: HashSet<Node> =
                    (1..=height).flat_map(|k| (0..1_usize << (height - k)).map(move |i| (k, i))).collect();
                machine.memory = match tree {
                    Tree::Expand => HashSet::from([(height, 0)]),
                    _ => leaves.clone(),
                };
                for band in plan.bands() {
                    for task in 0..band.tasks() {
                        machine.task(tree, band, task);
                    }
                }
                assert_eq!(machine.computed, inner, "{tree:?} {schedule:?} {height}");
                let results = match tree {
                    Tree::Expand => leaves,
                    Tree::Reduce => HashSet::from([(height, 0)]),
                    Tree::ReduceLevels => inner,
                };
                assert!(results.is_subset(&machine.memory), "{tree:?} {schedule:?} {height}");

                let counts = Traffic::of(&plan);
                assert_eq!(counts.loads, machine.loads);
                assert_eq!(counts.spills + counts.results, machine.stores);
                assert_eq!(counts.local_peak as usize, machine.peak);
                if height > 0 {
                    assert_eq!(counts.results as usize, results.len(), "{tree:?} {schedule:?} {height}");
                }
                assert_eq!(counts.nodes, (1..=height).map(|k| 1 << (height - k)).collect::<Vec<u64>>());
                assert_eq!(plan.steps().count(), plan.bands().iter().map(steps_of).sum::<usize>());
            }
        }
    }
}

fn steps_of(band: &Band) -> usize {
    (0..band.tasks()).map(|task| band.steps(task).count()).sum()
}

#[test]
fn tasks_are_the_first_one_moved() {
    for tree in TREES {
        for schedule in schedules(6) {
            for band in Plan::new(tree, 6, schedule).unwrap().bands() {
                for task in 0..band.tasks() {
                    let moved = band.steps(0).map(|step| {
                        let by = |mut run: Run| {
                            run.start += task * band.width(run.level - band.bottom());
                            run
                        };
                        match step {
                            Step::Load(run) => Step::Load(by(run)),
                            Step::Combine(run) => Step::Combine(by(run)),
                            Step::Expand(run) => Step::Expand(by(run)),
                            Step::Emit(run) => Step::Emit(by(run)),
                            Step::Spill(run) => Step::Spill(by(run)),
                        }
                    });
                    assert!(band.steps(task).eq(moved), "{tree:?} {schedule:?} task {task}");
                }
            }
        }
    }
}

/// The words that each schedule moves, by formula: section 3.2 of the MTU paper, with the first and last words counted.
#[test]
fn traffic_by_formula() {
    for height in 1..=12_u32 {
        let n = 1_u64 << height;
        let words = |tree, schedule| Traffic::of(&Plan::new(tree, height, schedule).unwrap()).words();
        for chunk in [0, 3, 9] {
            let schedule = Schedule::BreadthFirst { chunk };
            // A level is read once and written once, apart from the leaves and the root.
            assert_eq!(words(Tree::Reduce, schedule), 3 * n - 3);
            assert_eq!(words(Tree::ReduceLevels, schedule), 3 * n - 3);
            assert_eq!(words(Tree::Expand, schedule), 3 * n - 3);
        }
        for subtree in 1..=height {
            let roots: u64 = (1..).map(|k| k * subtree).take_while(|k| *k < height).map(|k| 1 << (height - k)).sum();
            for schedule in [
                Schedule::DepthFirst { subtree },
                Schedule::Hybrid { subtree, block: 3 },
                Schedule::Hybrid { subtree, block: 0 },
            ] {
                assert_eq!(words(Tree::Reduce, schedule), n + 1 + 2 * roots, "{schedule:?} {height}");
                assert_eq!(words(Tree::Expand, schedule), n + 1 + 2 * roots, "{schedule:?} {height}");
                assert_eq!(words(Tree::ReduceLevels, schedule), 2 * n - 1 + roots, "{schedule:?} {height}");
            }
        }
    }
}

/// Section 4.1 of the MTU paper: eight leaves come in a cycle, blocks of them leave a node of its level 4 (our 3), and the
/// levels above follow the ruler.
#[test]
fn the_machine_of_the_paper() {
    let plan = Plan::new(Tree::Reduce, 5, Schedule::Hybrid { subtree: 5, block: 3 }).unwrap();
    let run = |level, start, len| Run { level, start, len };
    let mut expected = Vec::new();
    for block in 0..4 {
        expected.push(Step::Load(run(0, 8 * block, 8)));
        expected.extend([run(1, 4 * block, 4), run(2, 2 * block, 2), run(3, block, 1)].map(Step::Combine));
        match block {
            1 => expected.push(Step::Combine(run(4, 0, 1))),
            3 => expected.extend([run(4, 1, 1), run(5, 0, 1)].map(Step::Combine)),
            _ => {}
        }
    }
    expected.push(Step::Spill(run(5, 0, 1)));
    assert_eq!(plan.steps().collect::<Vec<_>>(), expected);
}

#[test]
fn arithmetic_is_summed_over_levels() {
    let plan = Plan::new(Tree::Expand, 6, Schedule::DepthFirst { subtree: 3 }).unwrap();
    let by_level = |level| Arithmetic::field(u64::from(level != 6), u64::from(level)) + Arithmetic::HASH;
    let sum = Traffic::of(&plan).arithmetic(by_level);
    assert_eq!(sum, Arithmetic { multiplications: 62, additions: 32 + 2 * 16 + 3 * 8 + 4 * 4 + 5 * 2 + 6, hashes: 63 });
}

#[test]
fn buffers_of_all_levels() {
    assert_eq!(level_above_leaves(4, 1), 0..8);
    assert_eq!(level_above_leaves(4, 2), 8..12);
    assert_eq!(level_above_leaves(4, 4), 14..15);
    assert_eq!(level_above_leaves(1, 1), 0..1);
}

/// A vector's eight lanes have a task each as soon as there are leaves for them.
#[test]
fn hybrids_fill_the_lanes() {
    for height in 4..=26 {
        let plan = Plan::new(Tree::Reduce, height, Schedule::hybrid_for(height)).unwrap();
        assert!(plan.bands()[0].tasks() >= 8, "{height}");
        let single: usize = plan.bands().iter().filter(|band| band.tasks() < 8).map(|b| b.tasks() * b.width(0)).sum();
        assert!(single <= 1 << 9 || single << 11 <= plan.leaves(), "{single} leaves are single at height {height}");
    }
    assert_eq!(Schedule::hybrid_for(0), Schedule::Hybrid { subtree: 1, block: 7 });
}

#[test]
fn bad_parameters_are_refused() {
    let none = Schedule::DepthFirst { subtree: 0 };
    assert_eq!(Plan::new(Tree::Reduce, 3, none), Err(ScheduleError::EmptySubtree));
    let none = Schedule::Hybrid { subtree: 0, block: 0 };
    assert_eq!(Plan::new(Tree::Expand, 3, none), Err(ScheduleError::EmptySubtree));
    for height in [MAX_HEIGHT + 1, u32::MAX] {
        let error = Plan::new(Tree::Reduce, height, Schedule::BreadthFirst { chunk: 4 });
        assert_eq!(error, Err(ScheduleError::TooHigh { height }));
    }
    let plan = Plan::new(Tree::Reduce, MAX_HEIGHT, Schedule::Hybrid { subtree: u32::MAX, block: 9 }).unwrap();
    assert_eq!(plan.bands().len(), 1);
}
