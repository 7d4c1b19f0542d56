//! Trees of proofs, and differences of epochs.

use std::collections::BTreeSet;

use crate::common::{choice, create, native, set, with_prover};
use evergrove_store::{Changes, Error, ProofTree};
use evergrove_verifier::{NodeKind, Profile};

/// Numbers of the proofs that are not stored.
fn open(tree: &ProofTree) -> BTreeSet<usize> {
    tree.nodes.iter().filter(|node| !node.is_stored).map(|node| node.number).collect()
}

#[test]
fn the_tree_is_the_plan_and_says_what_is_stored() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, backends) = (create(dir.path(), None, 0..200), native(4));
    let members: Vec<u64> = (0..200).step_by(3).collect();
    with_prover(&store, &backends, |prover| {
        prover.define("b", &members, &choice(Profile::Paper)).expect("a new batch");
        let tree = prover.tree("b", None, 1000).expect("a tree");
        let numbers: Vec<_> = tree.nodes.iter().map(|node| node.number).collect();
        assert_eq!(numbers, (0..tree.total).collect::<Vec<_>>());
        assert_eq!(open(&tree).len(), tree.total, "nothing is proven");
        let last = tree.nodes.last().expect("a proof");
        assert_eq!((last.kind, last.parent, last.depth, last.members), (NodeKind::Wrap, None, 0, members.len()));
        for node in &tree.nodes {
            let Some(parent) = node.parent else { continue };
            assert!(parent > node.number && tree.nodes[parent].depth + 1 == node.depth, "{node:?}");
            assert!(node.members <= tree.nodes[parent].members);
        }
        let buckets = tree.nodes.iter().filter(|node| node.kind == NodeKind::Bucket);
        assert_eq!(buckets.map(|node| node.members).sum::<usize>(), members.len());

        let report = prover.prove("b").expect("proves");
        assert_eq!((report.made, report.total), (tree.total, tree.total));
        assert_eq!(open(&prover.tree("b", None, 1000).expect("a tree")), BTreeSet::new());

        // The missing proofs are those that a refresh makes: a path.
        store.apply(&set(&[(3, 1000)])).expect("changes");
        let tree = prover.tree("b", None, 1000).expect("a tree");
        let path: Vec<_> = std::iter::successors(Some(0), |number| tree.nodes[*number].parent).collect();
        assert_eq!(open(&tree), path.into_iter().collect(), "the first bucket and those above it");
        let top = prover.tree("b", None, 5).expect("a tree");
        assert_eq!((top.nodes.len(), top.total), (5, tree.total));
        assert!(top.nodes.iter().all(|node| node.depth <= 3 && tree.nodes[node.number] == *node));
        assert_eq!(prover.prove("b").expect("proves").made, open(&tree).len());
        assert!(matches!(prover.tree("c", None, 5), Err(Error::UnknownBatch { .. })));

        // An earlier epoch has its tree and its proofs, and the batch keeps its later proof.
        let before = prover.tree("b", Some(1), 1000).expect("a tree");
        assert_eq!((before.epoch.number, open(&before)), (1, BTreeSet::new()));
        let again = prover.prove_at("b", 1).expect("proves");
        assert_eq!((again.epoch, again.made, again.canonical), (1, 0, report.canonical));
        assert_eq!(store.batch("b").expect("a batch").proven.expect("a proof").epoch, 2);
        assert!(matches!(prover.prove_at("b", 3), Err(Error::UnknownEpoch { .. })));
    });
}

#[test]
fn views_say_where_they_differ() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(dir.path(), None, 0..100);
    store.apply(&Changes { clear: vec![99], ..set(&[(3, 1000), (64, 7)]) }).expect("changes");
    // Setting the same value again does not change a slot.
    store.apply(&set(&[(3, 1000), (5, 1)])).expect("changes");
    let view = |epoch| store.view_at(epoch).expect("is kept");
    let changed = |now, then, most| view(now).changed(&view(then), most).expect("reads");
    assert_eq!(changed(2, 1, 10), (vec![3, 64, 99], false));
    assert_eq!(changed(2, 1, 3), (vec![3, 64, 99], false));
    assert_eq!(changed(2, 1, 2), (vec![3, 64], true));
    assert_eq!(changed(3, 2, 10), (vec![5], false));
    assert_eq!(changed(1, 3, 10), (vec![3, 5, 64, 99], false));
    assert_eq!(changed(3, 3, 10), (Vec::new(), false));
    // A vector that has grown.
    store.apply(&Changes { grow: true, ..set(&[(1000, 1), (2, 5)]) }).expect("grows");
    assert_eq!(changed(4, 3, 10), (vec![2, 1000], false));
    assert_eq!(changed(3, 4, 10), (vec![2, 1000], false));
}
