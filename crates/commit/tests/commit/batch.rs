//! Batch structures: their shape, their plans, and how many proofs a change costs.

use std::collections::HashSet;
use std::fmt::Write as _;

use evergrove_commit::Witness;
use evergrove_commit::batch::{Batch, BatchError, Change, Cost, Input, Node, NodeShape, Structure, worst_case};
use evergrove_commit::{MemoryStore, NodeKind, Vector};
use evergrove_testkit::commit::{Rng, chain, value, vector, worst_join};
use evergrove_verifier::tree::{canonical_digest, leaf_digest};
use evergrove_verifier::{HeightClass, Profile, Statement};

type Keys = HashSet<(Statement, NodeKind)>;

fn keys(batch: &Batch) -> Keys {
    batch.nodes().into_iter().map(|n| (n.statement, n.kind())).collect()
}

/// Proofs of `new` that are missing in `old`.
fn made(old: &Batch, new: &Batch) -> usize {
    let have = keys(old);
    let plan = new.plan(false, |s, k| have.contains(&(*s, k)));
    assert_eq!(plan.len(), keys(new).difference(&have).count(), "nothing below an existing proof is missing");
    plan.len()
}

fn with_value(v: &Vector<MemoryStore>, index: u64, x: u64) -> Vector<MemoryStore> {
    let mut v = v.clone();
    v.apply(&[(index, Some(value(x)))]).unwrap();
    v
}

/// All batches of all trees up to height 3: the bound holds for each change of each position, and some batch attains it.
#[test]
fn worst_case_is_exact_in_small_trees() {
    for height in 1..=3u8 {
        let slots = 1u64 << height;
        let v = vector(height, 0..slots);
        let changed: Vec<_> = (0..slots).map(|p| with_value(&v, p, 99 + p)).collect();
        for m in 1..=5 {
            let mut worst = [0; 3];
            for set in 1u64..1 << slots {
                let members: Vec<u64> = (0..slots).filter(|i| set >> i & 1 == 1).collect();
                let old = Batch::build(&v, &members, m).unwrap();
                for p in 0..slots {
                    let mut count = |change: Change, vector, joins: &[u64], leaves: &[u64], touched: &[u64]| {
                        let new = old.update(vector, joins, leaves, touched).unwrap();
                        let made = made(&old, &new);
                        assert!(
                            made <= worst_case(height, m, change, false),
                            "{change:?} of {p} in {members:?}, height {height}, m = {m}"
                        );
                        worst[change as usize] = made.max(worst[change as usize]);
                    };
                    let other = &changed[p as usize];
                    count(Change::Value, other, &[], &[], &[p]);
                    if !old.contains(p) {
                        count(Change::Join, &v, &[p], &[], &[]);
                        count(Change::Join, other, &[p], &[], &[p]);
                    } else if members.len() > 1 {
                        count(Change::Leave, &v, &[], &[p], &[]);
                        count(Change::Leave, other, &[], &[p], &[p]);
                    }
                }
            }
            let bounds = [Change::Value, Change::Join, Change::Leave].map(|c| worst_case(height, m, c, false));
            assert_eq!(worst, bounds, "height {height}, m = {m}");
        }
    }
}

/// The chain of lone leaves above a crowded corner attains the bounds at any height, and with the capacities in use.
#[test]
fn worst_case_is_attained_by_chains() {
    let cases = [(1, 1), (2, 1), (9, 1), (40, 1), (7, 2), (40, 3), (27, 4), (12, 7), (13, 8), (27, 200), (40, 144)];
    for (height, m) in cases {
        let (members, joins) = worst_join(height, m);
        // If the corner has room, one more member stays in it after the leave.
        let corner = 1u64 << (m.ilog2() + 1);
        let spare = Some(m as u64 + 1).filter(|i| *i < corner);
        let v = vector(height, members.iter().copied().chain([joins]).chain(spare));
        let old = Batch::build(&v, &members, m).unwrap();
        let new = old.update(&v, &[joins], &[], &[]).unwrap();
        assert_eq!(made(&old, &new), worst_case(height, m, Change::Join, false), "height {height}, m = {m}");
        let other = with_value(&v, joins, 77);
        let changed = new.update(&other, &[], &[], &[joins]).unwrap();
        assert_eq!(made(&new, &changed), worst_case(height, m, Change::Value, false), "height {height}, m = {m}");
        let full = new.update(&v, &Vec::from_iter(spare), &[], &[]).unwrap();
        let left = full.update(&v, &[], &[joins], &[]).unwrap();
        assert_eq!(made(&full, &left), worst_case(height, m, Change::Leave, false), "height {height}, m = {m}");
    }
    // H - floor(log2 m) merges and a bucket, two buckets after a split, and the wrap.
    assert_eq!(worst_case(27, 200, Change::Value, true), 22);
    assert_eq!(worst_case(27, 200, Change::Join, true), 23);
    assert_eq!(worst_case(5, 200, Change::Join, false), 1);
}

#[test]
fn skewed_batches() {
    let m = 200;
    // One leaf more than a bucket holds, in one corner: two buckets and the merge that climbs to the root.
    let v = vector(27, 0..=m);
    let corner = Batch::build(&v, &Vec::from_iter(0..=m), m as usize).unwrap();
    assert_eq!((corner.cost(true).total(), corner.cost(true).depth), (4, 3));
    let shrunk = corner.update(&v, &[], &[77], &[]).unwrap();
    assert_eq!((shrunk.cost(false).total(), made(&corner, &shrunk)), (1, 1));
    // A chain of lone leaves is one bucket while it fits, and with m = 1 one bucket per leaf.
    let lone: Vec<u64> = [0].into_iter().chain(chain(0, 27)).collect();
    let v = vector(27, lone.iter().copied());
    assert_eq!(Batch::build(&v, &lone, m as usize).unwrap().cost(false).total(), 1);
    let cost = Batch::build(&v, &lone, 1).unwrap().cost(false);
    assert_eq!((cost.buckets, cost.merges, cost.depth), (28, 27, 28));
}

/// Proofs per operation for 2^12 random members of 2^27, by profile.
#[test]
fn proofs_per_operation() {
    let mut rng = Rng(12);
    let mut members = std::collections::BTreeSet::new();
    while members.len() < 1 << 12 {
        members.insert(rng.below(1 << 27));
    }
    let members: Vec<u64> = members.into_iter().collect();
    let (outside, joins) = (members[1000] ^ 1, members[2000] ^ 1);
    let v = vector(27, members.iter().copied().chain([outside, joins]));
    let mut table = String::from("profile   scratch  depth  inside  outside  join  leave\n");
    for profile in Profile::ALL {
        let wrap = usize::from(profile.wrap().is_some());
        let batch = Batch::build(&v, &members, profile.bucket_capacity(HeightClass::H27)).unwrap();
        let cost = batch.cost(wrap == 1);
        let count = |vector: &Vector<_>, joins: &[u64], leaves: &[u64], touched: &[u64]| {
            wrap + made(&batch, &batch.update(vector, joins, leaves, touched).unwrap())
        };
        writeln!(
            table,
            "{:<9} {:>7} {:>6} {:>7} {:>8} {:>5} {:>6}",
            profile.name(),
            cost.total(),
            cost.depth,
            count(&with_value(&v, members[5], 1), &[], &[], &[members[5]]),
            count(&with_value(&v, outside, 1), &[], &[], &[outside]),
            count(&v, &[joins], &[], &[]),
            count(&v, &[], &[members[3000]], &[]),
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

fn render(node: &Node, depth: usize, out: &mut String) {
    let Statement { height, base, .. } = node.statement;
    let pad = "  ".repeat(depth);
    match &node.shape {
        NodeShape::Bucket(indices) => writeln!(out, "{pad}bucket of ({height}, {base}): {indices:?}").unwrap(),
        NodeShape::Merge { left, right } => {
            writeln!(out, "{pad}merge to ({height}, {base})").unwrap();
            render(left, depth + 1, out);
            render(right, depth + 1, out);
        }
        NodeShape::Block(indices) | NodeShape::Filled(indices) => {
            writeln!(out, "{pad}block of ({height}, {base}): {indices:?}").unwrap()
        }
        NodeShape::Level(children) => {
            writeln!(out, "{pad}level at ({height}, {base})").unwrap();
            children.iter().flatten().for_each(|c| render(c, depth + 1, out));
        }
    }
}

#[test]
fn levels_have_a_node_for_every_node_with_members_above_the_blocks() {
    let members = [2, 4, 5, 7, 15, 40, 41, 42, 43, 63];
    let v = vector(6, 0..64);
    let build = |q| Batch::build_as(&v, &members, Structure::Levels { block_height: q }).unwrap();
    let mut text = String::new();
    render(build(2).root(), 0, &mut text);
    insta::assert_snapshot!(text);
    let ours = Batch::build(&v, &members, 2).unwrap();
    for q in 0..=6u8 {
        let batch = build(q);
        // T_I' of section 3.3, from its definition.
        let at = |level: u8| members.iter().map(|i| i >> level).collect::<HashSet<_>>().len();
        let cost = batch.cost(true);
        let (buckets, merges) = (at(q), (q + 1..=6).map(at).sum());
        assert_eq!(cost, Cost { buckets, merges, wraps: 1, depth: usize::from(6 - q) + 2 });
        assert_eq!(batch.statement(), ours.statement());
        assert_eq!((batch.indices(), batch.count()), (members.to_vec(), members.len()));
        assert!((0..64).all(|i| batch.contains(i) == members.contains(&i)));
        for node in batch.nodes() {
            let below: Vec<u64> = members.into_iter().filter(|i| node.statement.covers(*i)).collect();
            let leaves: Vec<_> = below.iter().map(|i| (*i, leaf_digest(*i, &value(*i)))).collect();
            let Statement { root, canonical, height, base } = node.statement;
            assert_eq!((root, node.count), (v.node(height, base >> height).unwrap(), below.len()));
            assert_eq!(canonical, canonical_digest(&leaves));
        }
    }
}

/// The paper's O(log n): one change makes again the proofs of one path, for every batch.
#[test]
fn a_change_below_levels_makes_one_path_anew() {
    let members = [3, 17, 18, 19, 40, 200, 255];
    let v = vector(8, 0..256);
    for q in 0..=8u8 {
        let structure = Structure::Levels { block_height: q };
        let old = Batch::build_as(&v, &members, structure).unwrap();
        for p in [0, 3, 16, 19, 100, 255] {
            let other = with_value(&v, p, 999);
            let value = made(&old, &old.update(&other, &[], &[], &[p]).unwrap());
            // Outside the batch the path is proven from the first node that has members.
            let lowest = (q..=8).find(|l| members.iter().any(|m| m >> l == p >> l)).unwrap();
            assert_eq!(value, usize::from(8 - lowest) + 1, "q = {q}, value of {p}");
            assert!(value <= structure.worst_case(8, Change::Value, false));
            let (joins, leaves): (&[u64], &[u64]) = if old.contains(p) { (&[], &[p]) } else { (&[p], &[]) };
            let new = old.update(&v, joins, leaves, &[]).unwrap();
            assert!(made(&old, &new) <= structure.worst_case(8, Change::Join, false), "q = {q}, membership of {p}");
            assert_eq!(new, Batch::build_as(&v, &new.indices(), structure).unwrap());
        }
    }
}

#[test]
fn structure_and_statements() {
    let members = [2, 4, 5, 7, 15, 40, 41, 42, 43, 63];
    let v = vector(6, 0..64);
    // Any order will do.
    let mut shuffled = members;
    shuffled.reverse();
    let batch = Batch::build(&v, &shuffled, 2).unwrap();
    let mut out = String::new();
    render(batch.root(), 0, &mut out);
    insta::assert_snapshot!(out);
    assert_eq!(batch.indices(), members);
    assert!((0..64).all(|i| batch.contains(i) == members.contains(&i)));
    for node in batch.nodes() {
        let Statement { root, canonical, height, base } = node.statement;
        let mut below = Vec::new();
        node.members(&mut below);
        assert_eq!(below.len(), node.count);
        let leaves: Vec<_> = below.iter().map(|i| (*i, leaf_digest(*i, &value(*i)))).collect();
        assert_eq!(canonical, canonical_digest(&leaves));
        assert_eq!(root, v.node(height, base >> height).unwrap());
        assert!(below.iter().all(|i| node.statement.covers(*i)));
    }
    assert_eq!(*batch.statement(), Statement::whole(&v.commitment().unwrap(), batch.statement().canonical));
}

#[test]
fn growth_makes_one_proof_anew() {
    for m in [2, 100] {
        let mut v = vector(9, 0..20);
        let mut batch = Batch::build(&v, &Vec::from_iter(0..20), m).unwrap();
        while v.height() < 40 {
            v.grow().unwrap();
            let grown = batch.update(&v, &[], &[], &[]).unwrap();
            assert_eq!(grown, Batch::build(&v, &Vec::from_iter(0..20), m).unwrap());
            assert_eq!(made(&batch, &grown), 1);
            batch = grown;
        }
    }
}

#[test]
fn plans_are_in_order_and_resume() {
    let v = vector(12, (0..60).map(|i| i * 67));
    let batch = Batch::build(&v, &Vec::from_iter((0..60).map(|i| i * 67)), 3).unwrap();
    let cost = batch.cost(true);
    let plan = batch.plan(true, |_, _| false);
    assert_eq!((plan.len(), plan.total, plan.depth()), (cost.total(), cost.total(), cost.depth));
    assert_eq!(plan.result, Input::Step(plan.len() - 1));
    let mut have = Keys::new();
    for (n, step) in plan.steps.iter().enumerate() {
        // After a crash with the first n proofs done, the plan has the rest, in the same order.
        let rest = batch.plan(true, |s, k| have.contains(&(*s, k)));
        let expected: Vec<_> = plan.steps[n..].iter().map(|s| (s.statement, s.kind)).collect();
        assert_eq!(rest.steps.iter().map(|s| (s.statement, s.kind)).collect::<Vec<_>>(), expected);
        for input in step.inputs.iter().chain(rest.steps.iter().flat_map(|s| &s.inputs)) {
            match input {
                Input::Step(k) => assert!(*k < plan.len()),
                Input::Existing { statement, kind } => assert!(have.contains(&(*statement, *kind))),
            }
        }
        assert!(step.inputs.iter().all(|i| matches!(i, Input::Step(k) if *k < n)));
        assert_eq!(step.inputs.len(), [0, 2, 1][step.kind as usize]);
        assert!(matches!(
            (step.witness(&v).unwrap(), step.kind),
            (Witness::Bucket(_), NodeKind::Bucket)
                | (Witness::Merge(_), NodeKind::Merge)
                | (Witness::Wrap, NodeKind::Wrap)
        ));
        have.insert((step.statement, step.kind));
    }
    let done = batch.plan(true, |s, k| have.contains(&(*s, k)));
    assert!(done.is_empty() && done.depth() == 0);
    assert_eq!(done.result, Input::Existing { statement: *batch.statement(), kind: NodeKind::Wrap });
    // Proofs below an existing proof are not requested.
    let top = batch.plan(false, |s, _| s == batch.statement());
    assert!(top.is_empty() && top.total == cost.total() - 1);
}

#[test]
fn refusals_name_the_value_and_the_remedy() {
    let v = vector(5, [1, 2, 3, 9]);
    let build = |indices: &[u64]| Batch::build(&v, indices, 2).unwrap_err();
    assert!(matches!(build(&[]), BatchError::Empty));
    assert!(matches!(build(&[3, 1, 3]), BatchError::Duplicate(3)));
    assert!(matches!(build(&[1, 32]), BatchError::OutOfRange { index: 32, height: 5 }));
    assert!(matches!(build(&[1, 4, 9]), BatchError::EmptySlot(4)));
    let batch = Batch::build(&v, &[1, 2, 3], 2).unwrap();
    let update = |joins: &[u64], leaves: &[u64]| batch.update(&v, joins, leaves, &[]).unwrap_err();
    assert!(matches!(update(&[2], &[]), BatchError::AlreadyMember(2)));
    assert!(matches!(update(&[], &[9]), BatchError::NotMember(9)));
    assert!(matches!(update(&[9, 9], &[]), BatchError::Duplicate(9)));
    assert!(matches!(update(&[], &[1, 1]), BatchError::Duplicate(1)));
    assert!(matches!(update(&[], &[1, 2, 3]), BatchError::Empty));
    assert!(matches!(update(&[10], &[]), BatchError::EmptySlot(10)));
    assert!(matches!(update(&[1 << 33], &[]), BatchError::OutOfRange { index: 8589934592, height: 5 }));
    // A member whose slot is emptied must leave explicitly.
    let mut emptied = v.clone();
    emptied.apply(&[(2, None)]).unwrap();
    assert!(matches!(batch.update(&emptied, &[], &[], &[2]).unwrap_err(), BatchError::EmptySlot(2)));
    assert_eq!(batch.update(&emptied, &[], &[2], &[2]).unwrap().indices(), [1, 3]);
    // The witness of another epoch is not gathered.
    let e = batch.root().witness(&emptied).unwrap_err();
    assert!(matches!(e, BatchError::Stale { height: 5, base: 0, .. }));
    for e in [build(&[]), build(&[1, 1]), build(&[99]), build(&[0]), update(&[1], &[]), update(&[], &[0]), e] {
        assert!(e.to_string().len() > 40, "{e}");
    }
}
