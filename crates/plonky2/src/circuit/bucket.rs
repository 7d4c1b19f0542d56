//! The bucket circuit: up to m leaves anywhere below one node, each by its own path.

use evergrove_commit::BucketWitness;
use evergrove_primitives::Digest;
use evergrove_verifier::tree::{LEAF_TAG, canonical_split, leaf_digest, node_digest};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::ext_target::ExtensionTarget;
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartialWitness, WitnessWrite};

use super::gadgets::{assert_implies, assert_zero_if, below_flags, parent, permute};
use super::hasher::Poseidon;
use super::{Builder, CircuitSpec, D, DigestTarget, F, NodeTargets, to_hash, to_plonky};

/// Activity flags that share one field element in the input of the challenge.
const FLAGS_PER_ELEMENT: usize = 60;

/// One leaf slot.
pub struct LeafSlot {
    /// The slot holds a member.
    pub active: BoolTarget,
    /// Position of the member.
    pub index: Target,
    /// Its value.
    pub value: DigestTarget,
    /// Siblings from the leaf up, H_max of them; those at or above h do not matter.
    pub siblings: Vec<DigestTarget>,
    /// Derived: the leaf's digest.
    pub digest: DigestTarget,
    /// Derived: the bits of `index`, lowest first, which are the turns of the path.
    pub bits: Vec<BoolTarget>,
}

/// One hash of the canonical digest. Merge k is active if slot k + 1 is: one merge fewer than leaves.
pub struct CanonicalMerge {
    /// Left operand; zero if inactive.
    pub left: DigestTarget,
    /// Right operand; passed through if inactive.
    pub right: DigestTarget,
}

/// The wires of a bucket that a prover sets; the generators derive all others.
///
/// The circuit holds for exactly these statements: every active slot's leaf (index, value) lies at position `index` of the
/// node (C, h, base), indices strictly increase, at least one slot is active, and d is the root of a binary hash
/// tree whose leaves are exactly the active leaves, each once. The *shape* of that tree is free: the verifier recomputes d.
pub struct BucketTargets {
    /// Public inputs.
    pub node: NodeTargets,
    /// `[l < h]` for l in 0..H_max.
    pub below_height: Vec<BoolTarget>,
    /// m slots.
    pub slots: Vec<LeafSlot>,
    /// m - 1 merges.
    pub merges: Vec<CanonicalMerge>,
}

impl BucketTargets {
    /// Adds the circuit's constraints.
    pub fn build(b: &mut Builder, spec: &CircuitSpec) -> Self {
        let node = NodeTargets::register(b);
        let below_height = below_flags(b, node.height, spec.height_max);
        let slots = leaf_slots(b, spec, &node, &below_height);
        let merges = canonical_digest(b, &node, &slots);
        Self { node, below_height, slots, merges }
    }

    /// Sets every free wire for `witness`. Returns an error text if the witness does not have the circuit's shape.
    pub fn assign(&self, witness: &BucketWitness, merge_key: HashOut<F>) -> Result<PartialWitness<F>, anyhow::Error> {
        let st = &witness.statement;
        let height_max = self.below_height.len();
        anyhow::ensure!(
            (1..=self.slots.len()).contains(&witness.leaves.len()),
            "{} leaves do not fit a bucket of 1 to {}",
            witness.leaves.len(),
            self.slots.len()
        );
        if let Some(pair) = witness.leaves.windows(2).find(|w| w[0].index >= w[1].index) {
            anyhow::bail!("index {} does not come before index {}", pair[0].index, pair[1].index);
        }
        anyhow::ensure!(st.height as usize <= height_max, "height {} is above {height_max}", st.height);
        let mut pw = PartialWitness::new();
        pw.set_target_arr(&self.node.root, &to_hash(&st.root).elements)?;
        pw.set_target_arr(&self.node.canonical, &to_hash(&st.canonical).elements)?;
        pw.set_target(self.node.height, F::from_canonical_u8(st.height))?;
        pw.set_target(self.node.base, F::from_canonical_u64(st.base))?;
        pw.set_hash_target(self.node.merge_key, merge_key)?;
        for (level, flag) in self.below_height.iter().enumerate() {
            pw.set_bool_target(*flag, level < st.height as usize)?;
        }
        for (k, slot) in self.slots.iter().enumerate() {
            let leaf = witness.leaves.get(k);
            pw.set_bool_target(slot.active, leaf.is_some())?;
            pw.set_target(slot.index, F::from_canonical_u64(leaf.map_or(0, |l| l.index)))?;
            pw.set_target_arr(&slot.value, &leaf.map_or([F::ZERO; 4], |l| l.value.map(to_plonky)))?;
            for (level, target) in slot.siblings.iter().enumerate() {
                let sibling = leaf.and_then(|l| l.siblings.get(level)).copied().unwrap_or(Digest::ZERO);
                pw.set_target_arr(target, &to_hash(&sibling).elements)?;
            }
        }
        let digests: Vec<_> = witness.leaves.iter().map(|l| (l.index, leaf_digest(l.index, &l.value))).collect();
        let mut hashes = Vec::with_capacity(self.merges.len());
        canonical_hashes(&digests, &mut hashes);
        for (k, merge) in self.merges.iter().enumerate() {
            let (left, right) = hashes.get(k).copied().unwrap_or((Digest::ZERO, Digest::ZERO));
            pw.set_target_arr(&merge.left, &to_hash(&left).elements)?;
            pw.set_target_arr(&merge.right, &to_hash(&right).elements)?;
        }
        Ok(pw)
    }
}

/// The operands of every hash of the canonical digest of `leaves`, in post order.
fn canonical_hashes(leaves: &[(u64, Digest)], out: &mut Vec<(Digest, Digest)>) -> Digest {
    if let [(_, d)] = leaves {
        return *d;
    }
    let (left, right) = leaves.split_at(canonical_split(leaves));
    let operands = (canonical_hashes(left, out), canonical_hashes(right, out));
    out.push(operands);
    node_digest(&operands.0, &operands.1)
}

/// m slots that climb to the node.
fn leaf_slots(b: &mut Builder, spec: &CircuitSpec, node: &NodeTargets, below_height: &[BoolTarget]) -> Vec<LeafSlot> {
    let height_max = spec.height_max as usize;
    let (zero, one, no) = (b.zero(), b.one(), b._false());
    let tag = b.constant(to_plonky(LEAF_TAG));
    let weights: Vec<Target> = below_height
        .iter()
        .enumerate()
        .map(|(l, flag)| b.mul_const(F::from_canonical_u64(1 << l), flag.target))
        .collect();
    let mut slots: Vec<LeafSlot> = vec![];
    for _ in 0..spec.capacity {
        let active = b.add_virtual_bool_target_safe();
        let index = b.add_virtual_target();
        let value = b.add_virtual_target_arr::<4>();
        let [v0, v1, v2, v3] = value;
        let leaf = permute(b, [index, v0, v1, v2, v3, zero, zero, zero, tag, zero, zero, zero], no);

        // The path's bits are the index's bits: a leaf that names an index other than its position does not climb to C.
        let bits = b.split_le(index, height_max);
        let mut path = vec![leaf];
        let mut siblings = vec![];
        let mut low = zero;
        for l in 0..height_max {
            let sibling = b.add_virtual_target_arr::<4>();
            path.push(parent(b, path[l], sibling, bits[l]));
            siblings.push(sibling);
            low = b.mul_add(bits[l].target, weights[l], low);
        }
        for e in 0..4 {
            let at_height = b.random_access(node.height, padded(path.iter().map(|n| n[e]).collect()));
            let difference = b.sub(at_height, node.root[e]);
            assert_zero_if(b, active, difference);
        }
        let high = b.sub(index, low);
        let difference = b.sub(high, node.base);
        assert_zero_if(b, active, difference);

        match slots.last() {
            // An empty bucket would prove nothing about any C: slot 0 is active.
            None => b.connect(active.target, one),
            Some(previous) => {
                // Active slots are a prefix, and their indices strictly increase: index - previous - 1 is in
                // [0, 2^H_max). Both indices are below 2^H_max by their split, so nothing wraps.
                let (previous_active, previous_index) = (previous.active, previous.index);
                assert_implies(b, active, previous_active);
                let gap = b.sub(index, previous_index);
                let gap = b.add_const(gap, F::NEG_ONE);
                let gap = b.mul(active.target, gap);
                b.range_check(gap, height_max);
            }
        }
        slots.push(LeafSlot { active, index, value, siblings, digest: leaf, bits });
    }
    slots
}

/// `random_access` wants a power of two; the list ends with copies of its last entry, which h <= H_max never reaches.
fn padded(mut list: Vec<Target>) -> Vec<Target> {
    let last = list[list.len() - 1];
    list.resize(list.len().next_power_of_two(), last);
    list
}

/// m - 1 merges of free shape whose multiset argument shows that the active ones form one tree over the active leaves.
///
/// An active merge takes (left, right) and gives their hash; an inactive one takes (0, right) and gives right, so it
/// removes exactly one zero. With as many inactive merges as inactive slots, no zero is left for an active merge or for
/// d. Then {leaves} + {given} = {taken} + {d} as multisets, shown by a grand product in the quadratic extension at
/// challenges that bind leaves, hashes (hence all operands), flags and d.
fn canonical_digest(b: &mut Builder, node: &NodeTargets, slots: &[LeafSlot]) -> Vec<CanonicalMerge> {
    let (zero, no) = (b.zero(), b._false());
    let leaves: Vec<DigestTarget> = slots.iter().map(|s| s.digest.map(|x| b.mul(s.active.target, x))).collect();
    let mut merges = vec![];
    let mut given = vec![];
    let mut transcript: Vec<Target> = leaves.iter().flatten().copied().collect();
    for LeafSlot { active, .. } in &slots[1..] {
        let left = b.add_virtual_target_arr::<4>();
        let right = b.add_virtual_target_arr::<4>();
        let hash = parent(b, left, right, no);
        transcript.extend(hash);
        given.push(core::array::from_fn::<Target, 4, _>(|e| {
            let left_if_inactive = b.arithmetic(F::NEG_ONE, F::ONE, active.target, left[e], left[e]);
            b.assert_zero(left_if_inactive);
            let difference = b.sub(hash[e], right[e]);
            b.mul_add(active.target, difference, right[e])
        }));
        merges.push(CanonicalMerge { left, right });
    }
    for chunk in slots.chunks(FLAGS_PER_ELEMENT) {
        let packed = chunk.iter().fold(zero, |acc, s| b.mul_const_add(F::TWO, acc, s.active.target));
        transcript.push(packed);
    }
    transcript.extend(node.canonical);
    let challenge = b.hash_n_to_m_no_pad::<Poseidon>(transcript, 4);
    let beta = ExtensionTarget([challenge[0], challenge[1]]);
    let gamma = [challenge[2], challenge[3]];

    let mut left_product = b.one_extension();
    for digest in leaves.iter().chain(&given) {
        let factor = fingerprint(b, digest, beta, gamma);
        left_product = b.mul_extension(left_product, factor);
    }
    let mut right_product = fingerprint(b, &node.canonical, beta, gamma);
    for digest in merges.iter().flat_map(|m| [&m.left, &m.right]) {
        let factor = fingerprint(b, digest, beta, gamma);
        right_product = b.mul_extension(right_product, factor);
    }
    b.connect_extension(left_product, right_product);
    merges
}

/// x_0 + gamma + beta x_1 + beta^2 x_2 + beta^3 x_3.
fn fingerprint(b: &mut Builder, x: &DigestTarget, beta: ExtensionTarget<D>, gamma: [Target; 2]) -> ExtensionTarget<D> {
    let zero = b.zero();
    let constant = ExtensionTarget([b.add(x[0], gamma[0]), gamma[1]]);
    let [x1, x2, x3] = [x[1], x[2], x[3]].map(|t| ExtensionTarget([t, zero]));
    let acc = b.mul_add_extension(x3, beta, x2);
    let acc = b.mul_add_extension(acc, beta, x1);
    b.mul_add_extension(acc, beta, constant)
}
