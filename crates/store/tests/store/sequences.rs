//! Random sequences of changes, with the store reopened in between, give the same result as a rebuild from scratch.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{choice, create, native, row, verify_batch, with_prover};
use evergrove_commit::{Batch, MemoryStore, Vector};
use evergrove_store::{Changes, Store};
use evergrove_testkit::commit::{Rng, value};
use evergrove_verifier::Profile;
use proptest::prelude::*;

const CAPACITY: usize = 3;

/// The expected content of the store.
struct Model {
    height: u8,
    slots: BTreeMap<u64, u64>,
    members: BTreeSet<u64>,
}

impl Model {
    /// Random valid changes, which the model makes too.
    fn change(&mut self, rng: &mut Rng) -> Changes {
        let mut changes = Changes::default();
        let mut touched = BTreeSet::new();
        if rng.below(6) == 0 && self.height < 12 {
            changes.grow = true;
            self.height += 1;
            touched.insert(1 << (self.height - 1));
        }
        for _ in 0..rng.below(6) {
            touched.insert(rng.below(1 << self.height));
        }
        for index in touched {
            let filled = self.slots.contains_key(&index);
            let member = self.members.contains(&index);
            let leaves = member && self.members.len() > 1 && rng.below(2) == 0;
            if leaves {
                self.members.remove(&index);
                changes.remove.push(("b".into(), vec![index]));
            }
            if filled && (!member || leaves) && rng.below(3) == 0 && index >> (self.height - 1) == 0 {
                self.slots.remove(&index);
                changes.clear.push(index);
            } else {
                let x = rng.below(1 << 40);
                self.slots.insert(index, x);
                changes.set.push((index, row(x)));
            }
            if self.slots.contains_key(&index) && !member && rng.below(2) == 0 {
                self.members.insert(index);
                changes.add.push(("b".into(), vec![index]));
            }
        }
        changes
    }

    /// The tree and the batch, built from scratch in memory.
    fn rebuild(&self) -> (Vector<MemoryStore>, Batch) {
        let mut vector = Vector::new(self.height, MemoryStore::new()).expect("a height");
        let slots: Vec<_> = self.slots.iter().map(|(i, x)| (*i, Some(value(*x)))).collect();
        vector.apply(&slots).expect("applies");
        let members: Vec<u64> = self.members.iter().copied().collect();
        let batch = Batch::build(&vector, &members, CAPACITY).expect("a batch");
        (vector, batch)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn end_where_a_rebuild_does(seed: u64, profile in 0..Profile::ALL.len()) {
        let dir = tempfile::tempdir().expect("a directory");
        let backends = native(CAPACITY);
        let mut rng = Rng(seed);
        let mut model = Model {
            height: 6,
            slots: (0..30).map(|i| (i * 2, i * 2)).collect(),
            members: (0..30).map(|i| i * 2).filter(|_| rng.below(2) == 0).chain([0]).collect(),
        };
        let mut store = create(dir.path(), Some(6), model.slots.keys().copied());
        let members: Vec<u64> = model.members.iter().copied().collect();
        let choice = choice(Profile::ALL[profile]);
        with_prover(&store, &backends, |p| p.define("b", &members, &choice)).expect("a new batch");
        for round in 0..8u64 {
            let changes = model.change(&mut rng);
            with_prover(&store, &backends, |prover| {
                // Sometimes the proofs fall behind by an epoch.
                match rng.below(3) {
                    0 => drop(store.apply(&changes).expect("applies")),
                    _ => drop(prover.update(&changes).expect("updates")),
                }
            });
            if rng.below(3) == 0 {
                store.prune(1 + rng.below(3), false).expect("prunes");
            }
            drop(store);
            store = Store::open(dir.path()).expect("opens");
            let (vector, batch) = model.rebuild();
            let epoch = store.epoch().expect("reads");
            prop_assert_eq!(epoch.commitment, vector.commitment().expect("computes"), "round {}", round);
            prop_assert_eq!(epoch.filled, model.slots.len() as u64);
            prop_assert_eq!(store.members("b").expect("reads"), batch.indices());
            let view = store.view().expect("reads");
            let ours = Batch::build(&view.vector().expect("reads"), &batch.indices(), CAPACITY).expect("a batch");
            prop_assert_eq!(&ours, &batch);
        }
        let report = with_prover(&store, &backends, |p| p.prove("b")).expect("proves");
        prop_assert_eq!(report.canonical, model.rebuild().1.statement().canonical);
        verify_batch(&store, &backends, "b").expect("verifies");
        let health = store.doctor(&backends).expect("looks");
        prop_assert!(health.healthy(), "{:?}", health.findings);
    }
}
