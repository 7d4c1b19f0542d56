//! The bucket: all slots below one node, both trees over them, and the table of the Keccak permutations.

use evergrove_apps::digest_translation::tree::{self, KeccakDigest};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::tree::{LEAF_TAG, Value, null_digest};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::{HashOut, HashOutTarget};
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::config::Hasher;
use starky::config::StarkConfig;

use super::circuits::Shape;
use super::keccak::KeccakTarget;
use crate::circuit::gadgets::{constant, parent, permute};
use crate::circuit::{Builder, DigestTarget, F, NodeTargets, Poseidon, to_hash, to_plonky};
use crate::stark::keccak::{Block, DIGEST_HALVES, KeccakAir, MESSAGE_HALVES, ROUNDS};
use crate::stark::{RecordTargets, TableTargets};

/// Halves of a value.
const VALUE_HALVES: usize = 8;
/// The largest value of a half.
const MAX_HALF: u64 = (1 << 32) - 1;

/// A slot.
pub struct SlotTargets {
    /// It holds a leaf.
    pub active: BoolTarget,
    /// The words' halves, low ones first.
    pub value: [Target; VALUE_HALVES],
    /// The leaf's digest according to the table. Free if there is no leaf.
    pub digest: KeccakTarget,
}

/// The wires of a bucket that a prover sets.
///
/// The circuit holds for exactly these statements: C and K are the Poseidon and the Keccak digest of the node of height k above
/// position `base`, a multiple of 2^k below 2^H_max, for the same 2^k slots, each a value of four canonical words or empty.
pub struct BucketTargets {
    /// Public inputs; the canonical digest is zero.
    pub node: NodeTargets,
    /// The rest of the public inputs.
    pub keccak: KeccakTarget,
    /// The slots in order.
    pub slots: Vec<SlotTargets>,
    /// The nodes' digests of the Keccak tree, level by level upwards, without those of the slots.
    pub nodes: Vec<Vec<KeccakTarget>>,
    /// The table's proof.
    pub table: TableTargets,
}

impl BucketTargets {
    pub(super) fn build(b: &mut Builder, shape: &Shape, config: &StarkConfig) -> Self {
        let node = NodeTargets::register(b);
        let keccak: KeccakTarget = b.add_virtual_target_arr();
        b.register_public_inputs(&keccak);
        let (zero, one) = (b.zero(), b.one());
        for x in node.canonical {
            b.assert_zero(x);
        }
        let height = b.constant(F::from_canonical_u8(shape.bucket_height));
        b.connect(node.height, height);
        let bits = b.split_le(node.base, shape.spec.height_max as usize);
        for bit in &bits[..shape.bucket_height as usize] {
            b.assert_zero(bit.target);
        }

        // The wires from which the records are made, for the binding.
        let mut bound = vec![node.base];
        let mut records = Vec::new();
        let (null, null_keccak) = (constant(b, &null_digest(0)), constant_halves(b, &tree::leaf_digest(0, None)));
        let (mut roots, mut digests) = (Vec::new(), Vec::new());
        let (low, high) = bits.split_at(bits.len().min(32));
        let index_halves = [high, low].map(|bits| reversed_bytes(b, bits));
        let slots: Vec<SlotTargets> = (0..1u64 << shape.bucket_height)
            .map(|i| {
                let active = b.add_virtual_bool_target_safe();
                let value: [Target; VALUE_HALVES] = b.add_virtual_target_arr();
                let digest: KeccakTarget = b.add_virtual_target_arr();
                bound.push(active.target);
                bound.extend(value);
                bound.extend(digest);

                let words: [Target; 4] = core::array::from_fn(|k| word(b, value[2 * k], value[2 * k + 1]));
                let mut state = [zero; 12];
                state[0] = b.add_const(node.base, F::from_canonical_u64(i));
                state[1..5].copy_from_slice(&words);
                state[8] = b.constant(to_plonky(LEAF_TAG));
                let no = b._false();
                let leaf = permute(b, state, no);
                roots.push(core::array::from_fn(|e| b.select(active, leaf[e], null[e])));

                let low = F::from_canonical_u32((i as u32).swap_bytes());
                let mut message = vec![index_halves[0], b.add_const(index_halves[1], low)];
                message.extend(value);
                message.push(one);
                message.resize(MESSAGE_HALVES, zero);
                message.extend(digest);
                records.push(RecordTargets { active: Some(active), values: message });
                digests.push(core::array::from_fn(|e| b.select(active, digest[e], null_keccak[e])));
                SlotTargets { active, value, digest }
            })
            .collect();

        let mut nodes = Vec::new();
        while roots.len() > 1 {
            let no = b._false();
            roots = roots.as_chunks::<2>().0.iter().map(|[l, r]: &[DigestTarget; 2]| parent(b, *l, *r, no)).collect();
            let mut level = Vec::new();
            for [left, right] in digests.as_chunks::<2>().0 {
                let digest: KeccakTarget = b.add_virtual_target_arr();
                bound.extend(digest);
                let mut record: Vec<Target> = left.iter().chain(right).copied().collect();
                record.push(one);
                record.extend(digest);
                records.push(RecordTargets { active: None, values: record });
                level.push(digest);
            }
            digests = level.clone();
            nodes.push(level);
        }
        b.connect_array(node.root, roots[0]);
        b.connect_array(keccak, digests[0]);
        let binding: HashOutTarget = b.hash_n_to_hash_no_pad::<Poseidon>(bound);
        let table = TableTargets::build::<KeccakAir>(b, config, shape.log_rows(), binding, &records);
        Self { node, keccak, slots, nodes, table }
    }

    /// Sets every free wire except those of the proof.
    pub(super) fn assign(&self, input: &BucketInput, merge_key: HashOut<F>) -> anyhow::Result<PartialWitness<F>> {
        let mut pw = PartialWitness::new();
        pw.set_target_arr(&self.node.root, &to_hash(&input.poseidon).elements)?;
        pw.set_target_arr(&self.node.canonical, &[F::ZERO; 4])?;
        pw.set_target(self.node.height, F::from_canonical_u32(input.slots.len().ilog2()))?;
        pw.set_target(self.node.base, F::from_canonical_u64(input.base))?;
        pw.set_hash_target(self.node.merge_key, merge_key)?;
        pw.set_target_arr(&self.keccak, &halves(&input.keccak()))?;
        for ((targets, value), digest) in self.slots.iter().zip(&input.slots).zip(&input.levels[0]) {
            pw.set_bool_target(targets.active, value.is_some())?;
            pw.set_target_arr(&targets.value, &value_halves(value.as_ref()))?;
            pw.set_target_arr(&targets.digest, &halves(digest))?;
        }
        for (targets, level) in self.nodes.iter().zip(&input.levels[1..]) {
            for (targets, digest) in targets.iter().zip(level) {
                pw.set_target_arr(targets, &halves(digest))?;
            }
        }
        Ok(pw)
    }
}

/// All slots below a node, with both trees over them.
pub(super) struct BucketInput {
    base: u64,
    poseidon: evergrove_primitives::Digest,
    slots: Vec<Option<Value>>,
    levels: Vec<Vec<KeccakDigest>>,
}

impl BucketInput {
    pub(super) fn new(base: u64, slots: Vec<Option<Value>>) -> Self {
        let null = null_digest(0);
        let leaf = |(value, index): (&Option<Value>, u64)| {
            value.as_ref().map_or(null, |v| evergrove_verifier::tree::leaf_digest(index, v))
        };
        let mut level: Vec<_> = slots.iter().zip(base..).map(leaf).collect();
        while level.len() > 1 {
            let parents = level.as_chunks::<2>().0.iter().map(|[l, r]| evergrove_verifier::tree::node_digest(l, r));
            level = parents.collect();
        }
        Self { base, poseidon: level[0], levels: tree::levels(base, &slots), slots }
    }

    /// K of the bucket.
    pub(super) fn keccak(&self) -> KeccakDigest {
        self.levels[self.levels.len() - 1][0]
    }

    /// The table's messages: those of leaves, then those of nodes.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let leaves = self.slots.iter().zip(self.base..);
        let leaves = leaves.filter_map(|(v, i)| v.as_ref().map(|v| tree::leaf_message(i, v).to_vec()));
        let below = self.levels[..self.levels.len() - 1].iter();
        let nodes = below.flat_map(|l| l.as_chunks::<2>().0).map(|[l, r]| tree::node_message(l, r).to_vec());
        leaves.chain(nodes).map(|m| Block::of(&m).expect("at most 64 bytes")).collect()
    }

    /// The wires from which the circuit's records are made, in its order.
    pub(super) fn bound(&self) -> Vec<F> {
        let mut bound = vec![F::from_canonical_u64(self.base)];
        for (value, digest) in self.slots.iter().zip(&self.levels[0]) {
            bound.push(F::from_bool(value.is_some()));
            bound.extend(value_halves(value.as_ref()));
            bound.extend(halves(digest));
        }
        bound.extend(self.levels[1..].iter().flatten().flat_map(halves));
        bound
    }

    /// The digest to which the circuit binds the table.
    pub(super) fn binding(&self) -> HashOut<F> {
        Poseidon::hash_no_pad(&self.bound())
    }

    /// Another digest of a node of the Keccak tree, for attacks.
    #[cfg(test)]
    pub(super) fn set_digest(&mut self, level: usize, node: usize, digest: KeccakDigest) {
        self.levels[level][node] = digest;
    }
}

/// log2 of the rows of the table of a bucket of 2^`height` slots: one permutation for every leaf and node.
pub(super) fn log_rows(height: u8) -> usize {
    let permutations = (2 << height) - 1;
    (permutations * ROUNDS as u64).next_power_of_two().ilog2() as usize
}

/// low + 2^32 high, which must be below p for halves below 2^32: if the high half is the largest, the low one is 0.
pub(super) fn word(b: &mut Builder, low: Target, high: Target) -> Target {
    let max = b.constant(F::from_canonical_u64(MAX_HALF));
    let is_max = b.is_equal(high, max);
    let beyond = b.mul(is_max.target, low);
    b.assert_zero(beyond);
    let one = b.one();
    b.arithmetic(F::from_canonical_u64(1 << 32), F::ONE, high, one, low)
}

/// The half whose bytes are those of the number with these bits, in reverse.
fn reversed_bytes(b: &mut Builder, bits: &[BoolTarget]) -> Target {
    let mut sum = b.zero();
    let one = b.one();
    for (t, bit) in bits.iter().enumerate() {
        let shift = 8 * (3 - t / 8) + t % 8;
        sum = b.arithmetic(F::from_canonical_u64(1 << shift), F::ONE, bit.target, one, sum);
    }
    sum
}

fn constant_halves(b: &mut Builder, digest: &KeccakDigest) -> KeccakTarget {
    halves(digest).map(|x| b.constant(x))
}

/// The halves of a digest.
pub(super) fn halves(digest: &KeccakDigest) -> [F; DIGEST_HALVES] {
    tree::to_elements(digest).map(to_plonky)
}

/// The halves of a value, low ones first; of an empty slot zeros.
pub(super) fn value_halves(value: Option<&Value>) -> [F; VALUE_HALVES] {
    let value = value.copied().unwrap_or([Goldilocks::ZERO; 4]);
    core::array::from_fn(|i| F::from_canonical_u64(value[i / 2].as_u64() >> (32 * (i % 2)) & MAX_HALF))
}
