//! Vectors, batches and sequences of updates for tests, and the law that an update gives the same structure as a
//! rebuild.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evergrove_commit::batch::{Batch, Change, Node, Structure};
use evergrove_commit::{MemoryStore, RecursionBackend, Vector, vc};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::tree::Value;

/// A deterministic pseudorandom generator (SplitMix64). The seed identifies a test case.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next_u64() % n
    }

    /// A value of four random field elements.
    pub fn value(&mut self) -> Value {
        core::array::from_fn(|_| Goldilocks::reduce(self.next_u64()))
    }
}

/// A value that depends on `x` only.
pub fn value(x: u64) -> Value {
    Rng(x).value()
}

/// A vector of this height in which each slot of `indices` holds `value(index)`.
pub fn vector(height: u8, indices: impl IntoIterator<Item = u64>) -> Vector<MemoryStore> {
    let mut vector = Vector::new(height, MemoryStore::new()).expect("a height from 1 to 40");
    let changes: Vec<_> = indices.into_iter().map(|i| (i, Some(value(i)))).collect();
    vector.apply(&changes).expect("distinct indices in range");
    vector
}

/// A chain of single leaves: one index below each sibling on the path of index 0, from level `from` up to `height`. So
/// every node of the path above `from` has members on both sides.
pub fn chain(from: u8, height: u8) -> Vec<u64> {
    (from..height).map(|level| 1 << level).collect()
}

/// The worst case of a join: `capacity` members in the smallest subtree at index 0 that has room for one more, and a
/// chain of single leaves above it. Returns the members, and the index whose join makes the most new proofs.
///
/// # Panics
/// If `capacity + 1` leaves do not fit in 2^height slots.
pub fn worst_join(height: u8, capacity: usize) -> (Vec<u64>, u64) {
    let corner = capacity.ilog2() as u8 + 1;
    assert!(corner <= height, "{capacity} leaves and one more in 2^{height} slots");
    let mut members: Vec<u64> = (1..=capacity as u64).collect();
    members.extend(chain(corner, height));
    (members, 0)
}

/// The changes of one update.
#[derive(Clone, Debug, Default)]
struct Epoch {
    changes: BTreeMap<u64, Option<Value>>,
    joins: BTreeSet<u64>,
    leaves: BTreeSet<u64>,
}

impl Epoch {
    /// One to five changes at distinct indices: all five kinds of section 1.1 of the paper, and combinations of them.
    fn random(rng: &mut Rng, height: u8, slots: &BTreeMap<u64, Value>, members: &BTreeSet<u64>) -> Self {
        let mut epoch = Self::default();
        for _ in 0..=rng.below(5) {
            let known: Vec<u64> = slots.keys().copied().collect();
            let mask = (1 << height) - 1;
            let index = match rng.below(4) {
                0 => rng.next_u64() & mask,
                1 => (rng.next_u64() & mask) >> rng.below(u64::from(height)),
                // Near a known slot, which makes members cluster in corners.
                2 => known[rng.below(known.len() as u64) as usize] ^ rng.below(4) & mask,
                _ => known[rng.below(known.len() as u64) as usize],
            };
            if epoch.changes.contains_key(&index) || epoch.joins.contains(&index) || epoch.leaves.contains(&index) {
                continue;
            }
            let last_member = members.len() + epoch.joins.len() <= epoch.leaves.len() + 1;
            match (members.contains(&index), slots.contains_key(&index), rng.below(4)) {
                (true, _, 0 | 1) => _ = epoch.changes.insert(index, Some(rng.value())),
                (true, _, _) if last_member => {}
                (true, _, 2) => _ = epoch.leaves.insert(index),
                (true, _, _) => {
                    epoch.leaves.insert(index);
                    epoch.changes.insert(index, None);
                }
                (false, true, 0) => _ = epoch.changes.insert(index, Some(rng.value())),
                (false, true, 1) => _ = epoch.changes.insert(index, None),
                (false, true, _) => _ = epoch.joins.insert(index),
                (false, false, kind) => {
                    epoch.changes.insert(index, Some(rng.value()));
                    if kind > 1 {
                        epoch.joins.insert(index);
                    }
                }
            }
        }
        epoch
    }

    /// The most new proofs of the update, without a wrap.
    fn bound(&self, height: u8, structure: Structure) -> usize {
        let positions: BTreeSet<_> = self.changes.keys().chain(&self.joins).chain(&self.leaves).collect();
        let kind = |i: &u64| match (self.joins.contains(i), self.leaves.contains(i)) {
            (true, _) => Change::Join,
            (_, true) => Change::Leave,
            _ => Change::Value,
        };
        positions.into_iter().map(|i| structure.worst_case(height, kind(i), false)).sum()
    }
}

/// The law of updates, for backends with and without real proofs. Runs `rounds` random epochs from `seed`, starting
/// with a vector of this height that has four members in its batch, and checks:
///
/// - the updated structure equals one built from scratch, in shape, statements and digests;
/// - it shares every node that no change touches;
/// - it makes at most [`Structure::worst_case`] new proofs for the changes, and all its proofs verify;
/// - `ver` accepts the batch's proof with the new leaves, and rejects any other value, commitment or set.
///
/// # Panics
/// If the law does not hold.
pub fn random_updates<B: RecursionBackend>(backend: B, height: u8, rounds: usize, seed: u64) {
    let case = format!("height {height}, m = {}, seed {seed}", backend.spec().capacity);
    let mut rng = Rng(seed);
    let mut pp = vc::setup(height, backend).expect("height of the backend's class");
    let mut slots: BTreeMap<u64, Value> = BTreeMap::new();
    while slots.len() < (1usize << height.min(3)).min(7) {
        slots.insert(rng.next_u64() & ((1 << height) - 1), rng.value());
    }
    let mut members: BTreeSet<u64> = slots.keys().copied().take(4).collect();
    let list: Vec<_> = slots.iter().map(|(i, v)| (*i, *v)).collect();
    let (mut vector, mut commitment) = vc::com(&pp, &list, MemoryStore::new()).expect(&case);
    let (mut proof, mut data) = vc::agg(&pp, &Vec::from_iter(members.iter().copied()), &vector).expect(&case);

    for round in 0..rounds {
        let case = format!("{case}, round {round}");
        let grows = rng.below(8) == 0 && pp.height < pp.backend.spec().class.height_max();
        if grows {
            commitment = vector.grow().expect(&case);
            pp.height += 1;
        }
        let epoch = Epoch::random(&mut rng, pp.height, &slots, &members);
        let changes: Vec<_> = epoch.changes.iter().map(|(i, v)| (*i, *v)).collect();
        let before = commitment;
        commitment = vc::upd_all_proofs(&mut vector, &changes).expect(&case);
        for (i, v) in &changes {
            match v {
                Some(v) => slots.insert(*i, *v),
                None => slots.remove(i),
            };
        }
        members.extend(&epoch.joins);
        members.retain(|i| !epoch.leaves.contains(i));
        let touched: Vec<u64> = epoch.changes.keys().copied().collect();
        let (joins, leaves) = (Vec::from_iter(epoch.joins.clone()), Vec::from_iter(epoch.leaves.clone()));
        let old = (proof, data);
        (proof, data) = vc::upd_batch_proof(&pp, &old.1, &vector, &touched, &joins, &leaves).expect(&case);

        let scratch = Batch::build_as(&vector, &Vec::from_iter(members.iter().copied()), pp.backend.spec().structure());
        assert_eq!(data.batch, scratch.expect(&case), "{case}");
        check_sharing(&old.1.batch, &data.batch, [&touched, &joins, &leaves], &case);
        let wraps = pp.backend.spec().wraps;
        let bound = epoch.bound(pp.height, pp.backend.spec().structure()) + usize::from(grows) + usize::from(wraps);
        assert!(data.made <= bound, "{case}: {} proofs made, at most {bound} expected", data.made);
        assert!(data.made <= data.batch.cost(wraps).total(), "{case}");
        assert_eq!(data.proofs.len(), data.batch.cost(wraps).total(), "{case}");
        for (key, proof) in &data.proofs {
            if !old.1.proofs.contains_key(key) {
                pp.backend.verify(proof).expect(&case);
            }
        }

        let mut claim: Vec<(u64, Value)> = members.iter().map(|i| (*i, slots[i])).collect();
        vc::ver(&commitment, &claim, &proof, &pp.backend).expect(&case);
        if before != commitment {
            assert!(vc::ver(&before, &claim, &proof, &pp.backend).is_err(), "{case}: another commitment");
            assert!(vc::ver(&commitment, &claim, &old.0, &pp.backend).is_err(), "{case}: a stale proof");
        }
        let some = rng.below(claim.len() as u64) as usize;
        claim[some].1[1] += Goldilocks::ONE;
        assert!(vc::ver(&commitment, &claim, &proof, &pp.backend).is_err(), "{case}: a tampered leaf");
        claim.remove(some);
        assert!(vc::ver(&commitment, &claim, &proof, &pp.backend).is_err(), "{case}: a member withheld");
    }
}

fn check_sharing(old: &Batch, new: &Batch, changed: [&Vec<u64>; 3], case: &str) {
    let key = |n: &Node| (n.statement.height, n.statement.base);
    let after: BTreeMap<_, _> = new.nodes().into_iter().map(|n| (key(n), n)).collect();
    for node in old.nodes() {
        if let Some(kept) = after.get(&key(node)) {
            let touched = changed.into_iter().flatten().any(|i| node.statement.covers(*i));
            assert!(touched || Arc::ptr_eq(node, kept), "{case}: {:?} was made anew", node.statement);
        }
    }
}
