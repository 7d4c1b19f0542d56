//! The laws of `evergrove-testkit` for the implementations of this crate.

use evergrove_commit::{MemoryStore, NativeBackend};
use evergrove_testkit::{backend, commit, store};
use evergrove_verifier::{HeightClass, Profile};
use proptest::prelude::*;

fn native(height: u8, m: usize, wraps: bool) -> NativeBackend {
    let class = HeightClass::of(height).unwrap();
    let profile = if wraps { Profile::Paper } else { Profile::Proven };
    NativeBackend::new(profile, class).with_capacity(m)
}

#[test]
fn memory_store() {
    store::laws(MemoryStore::new);
}

#[test]
fn native_backend() {
    for (height, m, wraps) in [(27, 1, true), (27, 3, false), (27, 8, true), (40, 1, false), (40, 5, true)] {
        backend::laws(&native(height, m, wraps));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_update_of_the_papers_structure_ends_where_a_rebuild_does(height in 1u8..=40, q in 0u8..=5, seed: u64) {
        let class = HeightClass::of(height).unwrap();
        commit::random_updates(NativeBackend::of_paper(Profile::Paper, class, q), height, 5, seed);
    }

    #[test]
    fn an_update_ends_where_a_rebuild_does(height in 1u8..=40, m in 1usize..=5, wraps: bool, seed: u64) {
        commit::random_updates(native(height, m, wraps), height, 10, seed);
    }
}

#[test]
fn long_sequences_in_small_trees_crowd_and_empty_buckets() {
    for (height, m, seed) in [(3, 1, 1), (4, 2, 2), (6, 3, 3), (10, 4, 4)] {
        commit::random_updates(native(height, m, true), height, 60, seed);
    }
}
