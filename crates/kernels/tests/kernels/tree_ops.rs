//! Every operation by every schedule on every instruction set and several numbers of threads, against single nodes.

#![cfg(feature = "ark")]

use core::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use ark_bls12_381::Fr;
use evergrove_kernels::merkle::{self, Poseidon, Shape, TreeHash};
use evergrove_kernels::multilinear::mle::reference;
use evergrove_kernels::tree::count::{Arithmetic, Traffic};
use evergrove_kernels::tree::ops::{
    BuildMle, Combine, EvaluateMle, Expand, Merkle, NodeOp, Product, TreeError, expand, expand_on, reduce,
    reduce_levels, reduce_levels_on, reduce_on,
};
use evergrove_kernels::tree::schedule::{Plan, Schedule, Tree, level_above_leaves};
use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::{LANES, Lanes, available};
use evergrove_primitives::{Digest, Goldilocks};

use super::fields::{Sample, elements};

/// Schedules whose bands, blocks and tasks are cut in different ways.
fn schedules() -> Vec<Schedule> {
    let mut out = vec![Schedule::BREADTH_FIRST, Schedule::DEPTH_FIRST, Schedule::HYBRID];
    out.extend([0, 1, 3].map(|chunk| Schedule::BreadthFirst { chunk }));
    out.extend([1, 2, 3, 5, 64].map(|subtree| Schedule::DepthFirst { subtree }));
    for (subtree, block) in [(1, 0), (1, 1), (2, 1), (3, 0), (4, 2), (5, 5), (7, 3), (64, 4), (64, 64)] {
        out.push(Schedule::Hybrid { subtree, block });
    }
    out
}

fn plans(tree: Tree, height: u32) -> Vec<Plan> {
    schedules().into_iter().map(|s| Plan::new(tree, height, s).unwrap()).collect()
}

/// Levels 1 and up, by the operation on single nodes.
fn levels<O: Combine>(op: &O, leaves: &[O::Node]) -> Vec<Vec<O::Node>> {
    let mut out: Vec<Vec<_>> = Vec::new();
    while out.last().map_or(leaves, Vec::as_slice).len() > 1 {
        let below = out.last().map_or(leaves, Vec::as_slice);
        let level = out.len() as u32 + 1;
        out.push(below.chunks(2).map(|pair| op.node(level, &pair[0], &pair[1])).collect());
    }
    out
}

fn check_reduction<O: Combine>(op: &O, leaves: &[O::Node]) {
    let height = leaves.len().ilog2();
    let expected = levels(op, leaves);
    let root = expected.last().map_or(leaves[0], |top| top[0]);
    for isa in available() {
        for plan in plans(Tree::Reduce, height) {
            let mut scratch = vec![leaves[0]; plan.scratch()];
            let found = reduce_on(isa, op, &plan, leaves, &mut scratch).unwrap();
            assert_eq!(found, root, "{isa} {:?} {height}", plan.schedule());
        }
        for plan in plans(Tree::ReduceLevels, height) {
            let mut nodes = vec![leaves[0]; leaves.len() - 1];
            reduce_levels_on(isa, op, &plan, leaves, &mut nodes).unwrap();
            for (level, expected) in (1..).zip(&expected) {
                let range = level_above_leaves(height, level);
                assert_eq!(nodes[range], **expected, "{isa} {:?} level {level} of {height}", plan.schedule());
            }
        }
    }
}

fn check_expansion<O: Expand>(op: &O, height: u32) {
    let mut expected = vec![op.root()];
    for level in (1..=height).rev() {
        expected = expected.iter().flat_map(|node| op.children(level, node)).collect();
    }
    for isa in available() {
        for plan in plans(Tree::Expand, height) {
            let mut leaves = vec![op.root(); 1 << height];
            expand_on(isa, op, &plan, &mut vec![op.root(); plan.scratch()], &mut leaves).unwrap();
            assert_eq!(leaves, expected, "{isa} {:?} {height}", plan.schedule());
        }
    }
}

fn check_field<F: Sample>() {
    for height in 0..=10_usize {
        let (values, point) = (elements::<F>(1 << height, 1), elements::<F>(height, 2));
        check_reduction(&EvaluateMle::new(&point), &values);
        check_reduction(&Product::new(), &values);
        check_expansion(&BuildMle::new(&point), height as u32);
        check_expansion(&BuildMle::scaled(&point, F::from_u64(7)), height as u32);
    }
}

#[test]
fn field_of_bls12_381() {
    check_field::<Fr>();
}

#[test]
#[cfg(feature = "long-builds")]
fn field_of_bn254() {
    check_field::<ark_bn254::Fr>();
}

#[test]
fn operations_are_the_textbooks() {
    for height in [1, 6, 11] {
        let (values, point) = (elements::<Fr>(1 << height, 4), elements::<Fr>(height, 5));
        let plan = |tree| Plan::new(tree, height as u32, Schedule::HYBRID).unwrap();
        let reduction = plan(Tree::Reduce);
        let mut scratch = vec![Fr::ZERO; reduction.scratch()];
        let value = reduce(&EvaluateMle::new(&point), &reduction, &values, &mut scratch).unwrap();
        assert_eq!(value, reference::evaluate(&values, &point));
        let product = reduce(&Product::new(), &reduction, &values, &mut scratch).unwrap();
        assert_eq!(product, reference::product(&values));

        let mut table = vec![Fr::ONE; 1 << height];
        reduce_levels(&Product::new(), &plan(Tree::ReduceLevels), &values, &mut table[1..]).unwrap();
        assert_eq!(table[1..], reference::product_table(&values)[..(1 << height) - 1]);

        let expansion = plan(Tree::Expand);
        expand(&BuildMle::new(&point), &expansion, &mut vec![Fr::ZERO; expansion.scratch()], &mut table).unwrap();
        assert_eq!(table, reference::eq_table(&point));
    }
}

#[test]
fn merkle_trees() {
    fn check<H: TreeHash>(hash: H, rows: &[H::Element], width: usize) {
        let shape = Shape::new(rows.len() / width, width, 0).unwrap();
        let nodes = merkle::build_vec(hash, &shape, rows).unwrap();
        let (leaves, above) = nodes.split_at(shape.rows());
        check_reduction(&Merkle(hash), leaves);
        let plan = Plan::new(Tree::ReduceLevels, shape.rows().ilog2(), Schedule::HYBRID).unwrap();
        let mut found = above.to_vec();
        found.fill(H::Digest::default());
        reduce_levels(&Merkle(hash), &plan, leaves, &mut found).unwrap();
        assert_eq!(found, above);
    }
    let rows: Vec<Goldilocks> = (0..5 << 8).map(|i| Goldilocks::reduce(i << 40 | i)).collect();
    check(Poseidon, &rows, 5);
    assert_ne!(Digest::default(), Poseidon.node(&[Digest::default(); 2]));
}

#[test]
fn threads_do_not_change_results() {
    let (values, point) = (elements::<Fr>(1 << 14, 8), elements::<Fr>(14, 9));
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            [Schedule::BREADTH_FIRST, Schedule::DEPTH_FIRST, Schedule::HYBRID].map(|schedule| {
                let plan = |tree| Plan::new(tree, 14, schedule).unwrap();
                let mut scratch = vec![Fr::ZERO; plan(Tree::Reduce).scratch()];
                let value = reduce(&EvaluateMle::new(&point), &plan(Tree::Reduce), &values, &mut scratch).unwrap();
                let mut nodes = vec![Fr::ZERO; (1 << 14) - 1];
                reduce_levels(&Product::new(), &plan(Tree::ReduceLevels), &values, &mut nodes).unwrap();
                let mut table = vec![Fr::ZERO; 1 << 14];
                let mut scratch = vec![Fr::ZERO; plan(Tree::Expand).scratch()];
                expand(&BuildMle::new(&point), &plan(Tree::Expand), &mut scratch, &mut table).unwrap();
                (value, nodes, table)
            })
        })
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        assert_eq!(on(threads), one, "{threads} threads");
    }
}

/// Counts the actual work of the engine, for the wrapped operation.
struct Counted<O> {
    op: O,
    combined: AtomicU64,
    loaded: AtomicU64,
    stored: AtomicU64,
}

impl<O> Counted<O> {
    fn new(op: O) -> Self {
        Self { op, combined: AtomicU64::new(0), loaded: AtomicU64::new(0), stored: AtomicU64::new(0) }
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(LANES as u64, Ordering::Relaxed);
}

impl<O: NodeOp> NodeOp for Counted<O> {
    type Node = O::Node;
    type Vector<L: Lanes> = O::Vector<L>;
    type Prepared<L: Lanes> = O::Prepared<L>;

    fn prepare<L: Lanes>(&self, lanes: L, levels: RangeInclusive<u32>) -> Self::Prepared<L> {
        self.op.prepare(lanes, levels)
    }
    fn load<L: Lanes>(&self, lanes: L, nodes: [&Self::Node; LANES]) -> Self::Vector<L> {
        add(&self.loaded);
        self.op.load(lanes, nodes)
    }
    fn store<L: Lanes>(&self, lanes: L, nodes: Self::Vector<L>, to: [&mut Self::Node; LANES]) {
        add(&self.stored);
        self.op.store(lanes, nodes, to)
    }
    fn arithmetic(&self, level: u32, height: u32) -> Arithmetic {
        self.op.arithmetic(level, height)
    }
}

impl<O: Combine> Combine for Counted<O> {
    fn combine<L: Lanes>(
        &self,
        lanes: L,
        prepared: &Self::Prepared<L>,
        level: u32,
        left: Self::Vector<L>,
        right: Self::Vector<L>,
    ) -> Self::Vector<L> {
        add(&self.combined);
        self.op.combine(lanes, prepared, level, left, right)
    }
    fn node(&self, level: u32, left: &Self::Node, right: &Self::Node) -> Self::Node {
        self.combined.fetch_add(1, Ordering::Relaxed);
        self.op.node(level, left, right)
    }
}

/// Nodes computed are those counted; words of bands in lockstep too, while bands of fewer than eight tasks copy slices.
#[test]
fn the_engine_does_what_the_counter_says() {
    let values = elements::<Fr>(1 << 12, 3);
    for schedule in schedules() {
        let plan = Plan::new(Tree::Reduce, 12, schedule).unwrap();
        let op = Counted::new(Product::<Fr>::new());
        reduce(&op, &plan, &values, &mut vec![Fr::ZERO; plan.scratch()]).unwrap();
        let counts = Traffic::of(&plan);
        assert_eq!(op.combined.into_inner(), counts.nodes.iter().sum::<u64>(), "{schedule:?}");
        let lockstep = |f: &dyn Fn(&evergrove_kernels::tree::schedule::Band) -> usize| -> u64 {
            plan.bands().iter().filter(|band| band.tasks() >= LANES).map(|band| (band.tasks() * f(band)) as u64).sum()
        };
        assert_eq!(op.loaded.into_inner(), lockstep(&|band| band.width(0)), "{schedule:?}");
        assert_eq!(op.stored.into_inner(), lockstep(&|band| band.width(band.height())), "{schedule:?}");
    }
}

#[test]
fn bad_lengths_are_refused() {
    let values = elements::<Fr>(8, 1);
    let op = Product::new();
    let plan = |tree| Plan::new(tree, 3, Schedule::DepthFirst { subtree: 1 }).unwrap();
    let (reduction, levels, expansion) = (plan(Tree::Reduce), plan(Tree::ReduceLevels), plan(Tree::Expand));
    let length = |buffer, found, expected| TreeError::Length { buffer, found, expected };
    assert_eq!(reduction.scratch(), 6);
    assert_eq!(reduce(&op, &reduction, &values[..7], &mut [Fr::ZERO; 6]), Err(length("leaves", 7, 8)));
    assert_eq!(reduce(&op, &reduction, &[], &mut [Fr::ZERO; 6]), Err(length("leaves", 0, 8)));
    assert_eq!(reduce(&op, &reduction, &values, &mut [Fr::ZERO; 7]), Err(length("scratch", 7, 6)));
    let nodes = "nodes above the leaves";
    assert_eq!(reduce_levels(&op, &levels, &values, &mut [Fr::ZERO; 8]), Err(length(nodes, 8, 7)));
    assert_eq!(reduce_levels(&op, &levels, &values[1..], &mut [Fr::ZERO; 7]), Err(length("leaves", 7, 8)));
    let direction = |found, expected| TreeError::Direction { found, expected };
    let error = direction(Tree::ReduceLevels, Tree::Reduce);
    assert_eq!(reduce(&op, &levels, &values, &mut []), Err(error));
    let error = direction(Tree::Reduce, Tree::ReduceLevels);
    assert_eq!(reduce_levels(&op, &reduction, &values, &mut []), Err(error));

    let point = elements::<Fr>(4, 1);
    let height = |operation, plan| TreeError::Height { operation, plan };
    let error = reduce(&EvaluateMle::new(&point), &reduction, &values, &mut [Fr::ZERO; 6]);
    assert_eq!(error, Err(height(4, 3)));
    let (build, mut leaves) = (BuildMle::new(&point[..3]), [Fr::ZERO; 8]);
    assert_eq!(expand(&BuildMle::new(&point), &expansion, &mut [], &mut leaves), Err(height(4, 3)));
    assert_eq!(expansion.scratch(), 4);
    assert_eq!(expand(&build, &expansion, &mut [Fr::ZERO; 3], &mut leaves), Err(length("scratch", 3, 4)));
    assert_eq!(expand(&build, &expansion, &mut [Fr::ZERO; 4], &mut leaves[1..]), Err(length("leaves", 7, 8)));
    let error = direction(Tree::Reduce, Tree::Expand);
    assert_eq!(expand(&build, &reduction, &mut [], &mut leaves), Err(error));
}
