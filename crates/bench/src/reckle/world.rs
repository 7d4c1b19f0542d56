//! The vector and the batch that all schemes use.

use std::time::Instant;

use anyhow::{Context, ensure};
use evergrove_commit::vc;
use evergrove_commit::{MemoryStore, NativeBackend, Store, Vector};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HeightClass, Profile};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::memory;

/// A vector with random filled slots, from a fixed seed.
pub(crate) struct World {
    pub(crate) height: u8,
    pub(crate) class: HeightClass,
    pub(crate) vector: Vector<MemoryStore>,
    /// Number of filled slots.
    pub(crate) filled: usize,
    /// Members in random order: a batch of k members has the first k.
    pub(crate) members: Vec<u64>,
    /// The other filled slots.
    pub(crate) others: Vec<u64>,
    pub(crate) rng: ChaCha8Rng,
    /// Seconds to build the tree.
    pub(crate) commit_s: f64,
    /// Resident set with the tree built, in bytes. The peak counts from then on.
    pub(crate) tree_rss_bytes: u64,
}

impl World {
    /// A vector of 2^`log_size` slots. 2^`fill_log` of them are filled, and 2^`batch_log` of these are members.
    pub(crate) fn build(profile: Profile, log_size: u8, fill_log: u8, batch_log: u8) -> anyhow::Result<Self> {
        ensure!(batch_log <= fill_log && fill_log <= log_size, "batch, filled slots, size must ascend");
        let class = HeightClass::of(log_size).context("--log-size is from 1 to 40")?;
        let mut rng = ChaCha8Rng::seed_from_u64(27);
        let mut table = std::collections::BTreeMap::new();
        while table.len() < 1 << fill_log {
            table.insert(rng.gen_range(0..1 << log_size), random_value(&mut rng));
        }
        let mut filled: Vec<u64> = table.keys().copied().collect();
        filled.shuffle(&mut rng);
        let others = filled.split_off(1 << batch_log);
        ensure!(!others.is_empty(), "no slot is left outside the batch");

        let slots: Vec<(u64, Value)> = table.into_iter().collect();
        let start = Instant::now();
        // The tree needs no circuits. They are loaded later, so that the memory beyond that of the tree includes them.
        let pp = vc::setup(log_size, NativeBackend::new(profile, class))?;
        let (vector, _) = vc::com(&pp, &slots, MemoryStore::new())?;
        let commit_s = start.elapsed().as_secs_f64();
        let filled_count = slots.len();
        drop(slots);
        Ok(Self {
            height: log_size,
            class,
            vector,
            filled: filled_count,
            members: filled,
            others,
            rng,
            commit_s,
            tree_rss_bytes: memory::start_peak(),
        })
    }
}

/// Members with their values, in ascending order.
pub(crate) fn leaves(vector: &Vector<MemoryStore>, members: &[u64]) -> anyhow::Result<Vec<(u64, Value)>> {
    let mut members = members.to_vec();
    members.sort_unstable();
    members.into_iter().map(|i| Ok((i, vector.store().value(i)?.context("a member has a value")?))).collect()
}

pub(crate) fn random_value(rng: &mut ChaCha8Rng) -> Value {
    core::array::from_fn(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER)))
}
