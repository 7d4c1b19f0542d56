//! The block: all slots of a subtree of 2^k, filled or empty, with only empty subtrees above it.

use evergrove_commit::BucketWitness;
use evergrove_verifier::tree::{LEAF_TAG, null_digests};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartialWitness, WitnessWrite};

use super::gadgets::{below_flags, constant, parent, permute};
use super::{Builder, CircuitSpec, DigestTarget, F, NodeTargets, to_hash, to_plonky};

/// One slot of a block.
pub struct BlockSlot {
    /// The slot is filled.
    pub active: BoolTarget,
    /// Derived: its position.
    pub index: Target,
    /// Its value; if the slot is empty it does not matter.
    pub value: DigestTarget,
    /// Derived: the leaf's digest, or null_0.
    pub digest: DigestTarget,
}

/// The wires of a block that a prover sets.
///
/// The circuit holds for exactly these statements: the node (C, h, base) has height at least k; the leaves of some
/// subtree of height k below it are the active slots, each at its position; the other slots of that subtree are empty;
/// and so is everything else below the node. d is 0.
pub struct BlockTargets {
    /// Public inputs.
    pub node: NodeTargets,
    /// `[l < h]` for l in 0..H_max.
    pub below_height: Vec<BoolTarget>,
    /// The block's number: its first position over 2^k.
    pub number: Target,
    /// Derived: the number's bits, lowest first. Bit l - k is the turn of level l.
    pub bits: Vec<BoolTarget>,
    /// 2^k slots.
    pub slots: Vec<BlockSlot>,
}

impl BlockTargets {
    /// Adds the circuit's constraints, for blocks of `spec.capacity` slots.
    ///
    /// # Panics
    /// If that is not a power of two below 2^H_max.
    pub fn build(b: &mut Builder, spec: &CircuitSpec) -> Self {
        let height_max = usize::from(spec.height_max);
        let k = spec.capacity.ilog2() as usize;
        assert!(1 << k == spec.capacity && k < height_max, "blocks of {} slots", spec.capacity);
        let node = NodeTargets::register(b);
        node.canonical.iter().for_each(|x| b.assert_zero(*x));
        let below_height = below_flags(b, node.height, spec.height_max);
        if let Some(level) = k.checked_sub(1) {
            // k <= h: the flags never rise.
            b.assert_one(below_height[level].target);
        }
        let (zero, no) = (b.zero(), b._false());
        let tag = b.constant(to_plonky(LEAF_TAG));
        let nulls = null_digests(spec.height_max);
        let number = b.add_virtual_target();
        let bits = b.split_le(number, height_max - k);
        let start = b.mul_const(F::from_canonical_u64(1 << k), number);
        let empty = constant(b, &nulls[0]);
        let slots: Vec<BlockSlot> = (0..spec.capacity as u64)
            .map(|place| {
                let active = b.add_virtual_bool_target_safe();
                let index = b.add_const(start, F::from_canonical_u64(place));
                let value = b.add_virtual_target_arr::<4>();
                let [v0, v1, v2, v3] = value;
                let leaf = permute(b, [index, v0, v1, v2, v3, zero, zero, zero, tag, zero, zero, zero], no);
                let digest = core::array::from_fn(|e| b.select(active, leaf[e], empty[e]));
                BlockSlot { active, index, value, digest }
            })
            .collect();
        let mut level: Vec<DigestTarget> = slots.iter().map(|s| s.digest).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| parent(b, pair[0], pair[1], no)).collect();
        }
        let mut digest = level[0];
        let mut base = start;
        for (l, bit) in (k..).zip(&bits) {
            let climbs = below_height[l];
            let sibling = constant(b, &nulls[l]);
            let up = parent(b, digest, sibling, *bit);
            digest = core::array::from_fn(|e| b.select(climbs, up[e], digest[e]));
            let turns_right = b.mul(climbs.target, bit.target);
            let weight = b.mul_const(F::from_canonical_u64(1 << l), turns_right);
            base = b.sub(base, weight);
        }
        b.connect_array(node.root, digest);
        b.connect(node.base, base);
        Self { node, below_height, number, bits, slots }
    }

    /// Sets every free wire for `witness`, whose leaves are the filled slots of one block.
    ///
    /// # Errors
    /// When the leaves are not of one block, or the height is out of range. Without a leaf it is the first block.
    pub fn assign(&self, witness: &BucketWitness, merge_key: HashOut<F>) -> anyhow::Result<PartialWitness<F>> {
        let (st, capacity) = (&witness.statement, self.slots.len() as u64);
        let height_max = self.below_height.len();
        let number = witness.leaves.first().map_or(0, |l| l.index / capacity);
        anyhow::ensure!(number >> self.bits.len() == 0, "block {number} is not below 2^{height_max}");
        let height = usize::from(st.height);
        anyhow::ensure!(height <= height_max, "height {height} is above {height_max}");
        anyhow::ensure!(1 << height >= capacity, "a node of height {height} is below a block of {capacity} slots");
        let mut pw = PartialWitness::new();
        pw.set_target_arr(&self.node.root, &to_hash(&st.root).elements)?;
        pw.set_target_arr(&self.node.canonical, &to_hash(&st.canonical).elements)?;
        pw.set_target(self.node.height, F::from_canonical_u8(st.height))?;
        pw.set_target(self.node.base, F::from_canonical_u64(st.base))?;
        pw.set_hash_target(self.node.merge_key, merge_key)?;
        for (level, flag) in self.below_height.iter().enumerate() {
            pw.set_bool_target(*flag, level < height)?;
        }
        pw.set_target(self.number, F::from_canonical_u64(number))?;
        let mut values = vec![None; self.slots.len()];
        for leaf in &witness.leaves {
            let slot = leaf.index.checked_sub(number * capacity).and_then(|p| values.get_mut(p as usize));
            let slot = slot.ok_or_else(|| anyhow::anyhow!("index {} is not in block {number}", leaf.index))?;
            anyhow::ensure!(slot.replace(leaf.value).is_none(), "index {} is filled twice", leaf.index);
        }
        for (slot, value) in self.slots.iter().zip(values) {
            pw.set_bool_target(slot.active, value.is_some())?;
            pw.set_target_arr(&slot.value, &value.map_or([F::ZERO; 4], |v| v.map(to_plonky)))?;
        }
        Ok(pw)
    }
}
