//! The number of proofs that each scheme makes, counted by its planner and not by a formula. `docs/why-faster.md`
//! states these numbers.

use evergrove_baselines::Cost;
use evergrove_commit::batch::{Batch, Node, Structure};

use super::world::{World, random_value};

/// Numbers of proofs without the wrap or compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// For a batch proven from scratch.
    pub(crate) aggregate: usize,
    /// After a change of one member's value, for the member that needs the most proofs.
    pub(crate) update: usize,
}

impl Counts {
    /// The counts of a scheme that keeps its proofs.
    pub(crate) fn of_structure(world: &mut World, members: &[u64], structure: Structure) -> anyhow::Result<Self> {
        let batch = Batch::build_as(&world.vector, members, structure)?;
        let deepest = deepest(batch.root());
        let value = random_value(&mut world.rng);
        world.vector.apply(&[(deepest, Some(value))])?;
        let next = batch.update(&world.vector, &[], &[], &[deepest])?;
        let old: std::collections::HashSet<_> = batch.nodes().into_iter().map(|n| n.statement).collect();
        let update = next.plan(false, |statement, _| old.contains(statement)).len();
        Ok(Self { aggregate: batch.cost(false).total(), update })
    }

    /// The counts of the tree of proofs, which makes all proofs again.
    pub(crate) fn of_tree(members: &[u64]) -> Self {
        let mut members = members.to_vec();
        members.sort_unstable();
        let cost = Cost::of(&members);
        let all = cost.total() - cost.compactions;
        Self { aggregate: all, update: all }
    }
}

/// A member with the most nodes on its path.
fn deepest(node: &Node) -> u64 {
    fn walk(node: &Node, depth: usize, best: &mut (usize, u64)) {
        if node.children().next().is_none() && depth >= best.0 {
            let mut members = vec![];
            node.members(&mut members);
            *best = (depth, members[0]);
        }
        node.children().for_each(|c| walk(c, depth + 1, best));
    }
    let mut best = (0, 0);
    walk(node, 0, &mut best);
    best.1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use evergrove_commit::batch::{Change, worst_case};
    use evergrove_verifier::{HeightClass, Profile, Scheme};

    use super::*;

    const HEIGHT: u8 = 27;
    const CHAPTER: &str = include_str!("../../../../docs/why-faster.md");
    const M: usize = Profile::Paper.bucket_capacity(HeightClass::H27);
    /// q of the largest blocks of the paper's scheme that have no more rows than a level; tested in
    /// `figures::reckle::buckets`.
    const BEST_BLOCK_HEIGHT: u8 = 10;

    fn ours() -> Structure {
        Structure::Compressed { capacity: M }
    }

    fn papers(block_height: u8) -> Structure {
        Structure::Levels { block_height }
    }

    /// A row of the table in the chapter: aggregate and update for the paper's scheme with its own and with the best
    /// blocks, for our scheme, and for a tree of proofs.
    fn row(world: &mut World, log: u32) -> String {
        let members = world.members[..1 << log].to_vec();
        let [paper, best] = [Scheme::BLOCK_HEIGHT, BEST_BLOCK_HEIGHT]
            .map(|q| Counts::of_structure(world, &members, papers(q)).unwrap());
        let ours = Counts::of_structure(world, &members, ours()).unwrap();
        let tree = Counts::of_tree(&members);
        let counts: Vec<String> =
            [paper, best, ours, tree].iter().map(|c| format!("{} | {}", c.aggregate, c.update)).collect();
        format!("| 2^{log} | {} |", counts.join(" | "))
    }

    #[test]
    fn the_chapter_states_what_the_planners_count() {
        let mut world = World::build(Profile::Paper, HEIGHT, 13, 12).unwrap();
        let rows: Vec<String> = (1..=6).map(|k| row(&mut world, 2 * k)).collect();
        let stated: Vec<&str> = CHAPTER.lines().filter(|l| l.starts_with("| 2^")).collect();
        assert_eq!(stated, rows, "docs/why-faster.md should have\n{}", rows.join("\n"));
        assert!(CHAPTER.contains(&format!("m = {M}")));
        for q in [Scheme::BLOCK_HEIGHT, BEST_BLOCK_HEIGHT] {
            assert!(CHAPTER.contains(&format!("`reckle-paper` q = {q}, batch")), "q = {q}");
        }
    }

    #[test]
    fn the_chapters_formulas_hold() {
        let mut world = World::build(Profile::Paper, HEIGHT, 13, 12).unwrap();
        for log in 2..=12_u32 {
            let members = world.members[..1 << log].to_vec();
            let size = members.len();
            for q in [Scheme::BLOCK_HEIGHT, BEST_BLOCK_HEIGHT] {
                let paper = Counts::of_structure(&mut world, &members, papers(q)).unwrap();
                let nodes = (q..=HEIGHT).map(|l| members.iter().map(|i| i >> l).collect::<BTreeSet<_>>().len());
                assert_eq!(paper, Counts { aggregate: nodes.sum(), update: usize::from(HEIGHT - q) + 1 });
                let estimate = size as f64 * (f64::from(HEIGHT - q) - f64::from(log) + 1.1);
                let ratio = paper.aggregate as f64 / estimate;
                assert!((ratio - 1.0).abs() < 0.07, "q = {q}, 2^{log}: {} {estimate}", paper.aggregate);
            }

            let batch = Batch::build_as(&world.vector, &members, ours()).unwrap();
            let ours = Counts::of_structure(&mut world, &members, ours()).unwrap();
            assert_eq!(ours.aggregate, 2 * batch.cost(false).buckets - 1);
            assert!(ours.update <= worst_case(HEIGHT, M, Change::Value, false));
            let random = (size as f64 / M as f64).log2().ceil().max(0.0) as usize + 1;
            assert!(ours.update.abs_diff(random) <= 1, "2^{log}: {} {random}", ours.update);

            assert_eq!(Counts::of_tree(&members), Counts { aggregate: 2 * size - 1, update: 2 * size - 1 });
        }
    }

    #[test]
    fn the_chapters_bound_is_attained() {
        // One member beside each node on the path of position 0, and more than m members in one corner.
        let mut world = World::build(Profile::Paper, HEIGHT, 13, 12).unwrap();
        let corner = M.ilog2() as u8 + 1;
        let members: Vec<u64> = (0..=M as u64).chain((corner..HEIGHT).map(|l| 1 << l)).collect();
        let filled: Vec<_> = members.iter().map(|i| (*i, Some(random_value(&mut world.rng)))).collect();
        world.vector.apply(&filled).unwrap();
        let counts = Counts::of_structure(&mut world, &members, ours()).unwrap();
        assert_eq!(counts.update, usize::from(HEIGHT) - M.ilog2() as usize + 1);
        assert_eq!(counts.update, worst_case(HEIGHT, M, Change::Value, false));
    }
}
