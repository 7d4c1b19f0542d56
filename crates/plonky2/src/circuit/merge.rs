//! The universal merge circuit: two child proofs of equal height, joined, then climbed through lone siblings.

use evergrove_commit::MergeWitness;
use evergrove_verifier::tree::null_digests;
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::BoolTarget;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CommonCircuitData, VerifierCircuitTarget, VerifierOnlyCircuitData};
use plonky2::plonk::proof::ProofWithPublicInputsTarget;

use super::gadgets::{assert_implies, below_flags, constant, key_with_digest, parent, select_digest};
use super::{Builder, C, CircuitSpec, D, DigestTarget, F, NodeTargets, PlonkyProof, to_hash};

/// One child of a merge.
pub struct ChildTargets {
    /// The proof, its public inputs included.
    pub proof: ProofWithPublicInputsTarget<D>,
    /// The child is a bucket (otherwise a merge).
    pub is_bucket: BoolTarget,
    /// The key that the child is verified with: its cap is free, its digest binds it.
    pub key: VerifierCircuitTarget,
}

/// The key and the proof of a child.
#[derive(Clone, Copy)]
pub struct Child<'a> {
    /// The proof.
    pub proof: &'a PlonkyProof,
    /// It is a bucket's (otherwise a merge's).
    pub is_bucket: bool,
    /// The key of its circuit.
    pub key: &'a VerifierOnlyCircuitData<C, D>,
}

impl ChildTargets {
    /// Verifies two proofs, each by the circuit of `bucket_key` or by that of the node's merge key, and made for that merge
    /// key. `common` describes both circuits.
    pub fn verified(
        b: &mut Builder,
        node: &NodeTargets,
        common: &CommonCircuitData<F, D>,
        bucket_key: HashOut<F>,
    ) -> [Self; 2] {
        let bucket_key = b.constant_hash(bucket_key);
        [(); 2].map(|()| {
            let proof = b.add_virtual_proof_with_pis(common);
            let is_bucket = b.add_virtual_bool_target_safe();
            let digest = select_digest(b, is_bucket, bucket_key, node.merge_key);
            let key = key_with_digest(b, digest, common);
            b.verify_proof::<C>(&proof, &key, common);
            let child = NodeTargets::of_child(&proof.public_inputs);
            b.connect_hashes(child.merge_key, node.merge_key);
            Self { proof, is_bucket, key }
        })
    }

    /// The statement of the child.
    pub fn node(&self) -> NodeTargets {
        NodeTargets::of_child(&self.proof.public_inputs)
    }

    /// Sets every free wire.
    ///
    /// # Errors
    /// For a proof of another shape.
    pub fn assign(&self, pw: &mut PartialWitness<F>, child: Child<'_>) -> anyhow::Result<()> {
        pw.set_proof_with_pis_target(&self.proof, child.proof)?;
        pw.set_bool_target(self.is_bucket, child.is_bucket)?;
        pw.set_cap_target(&self.key.constants_sigmas_cap, &child.key.constants_sigmas_cap)
    }
}

/// The wires of a merge that a prover sets.
///
/// The circuit holds for exactly these statements: there are proofs, each by the bucket circuit or by this circuit, about
/// siblings (C_L, d_L, h_c, b) and (C_R, d_R, h_c, b + 2^h_c) with h_c < h <= H_max, d = H(d_L, d_R), and H(C_L, C_R) climbs
/// to (C, h, base) through any siblings.
///
/// In the *complete* form ([`MergeTargets::build_complete`]) the siblings of the climb are the constants null_l, and d,
/// d_L and d_R are 0: everything outside the children is empty.
pub struct MergeTargets {
    /// Public inputs.
    pub node: NodeTargets,
    /// Left and right child.
    pub children: [ChildTargets; 2],
    /// `[l < h_c]` for l in 0..H_max.
    pub below_child: Vec<BoolTarget>,
    /// `[l < h]` for l in 0..H_max.
    pub below_height: Vec<BoolTarget>,
    /// Siblings by level; those outside h_c + 1 .. h do not matter. Constants in the complete form.
    pub siblings: Vec<DigestTarget>,
    /// Derived: the bits of the left child's base, lowest first.
    pub base_bits: Vec<BoolTarget>,
    complete: bool,
}

impl MergeTargets {
    /// Adds the circuit's constraints. `common` describes both kinds of children, and this circuit itself.
    pub fn build(
        b: &mut Builder,
        spec: &CircuitSpec,
        common: &CommonCircuitData<F, D>,
        bucket_key: HashOut<F>,
    ) -> Self {
        Self::build_as(b, spec, common, bucket_key, false)
    }

    /// Adds the constraints of the complete form.
    pub fn build_complete(
        b: &mut Builder,
        spec: &CircuitSpec,
        common: &CommonCircuitData<F, D>,
        bucket_key: HashOut<F>,
    ) -> Self {
        Self::build_as(b, spec, common, bucket_key, true)
    }

    fn build_as(
        b: &mut Builder,
        spec: &CircuitSpec,
        common: &CommonCircuitData<F, D>,
        bucket_key: HashOut<F>,
        complete: bool,
    ) -> Self {
        let node = NodeTargets::register(b);
        let children = ChildTargets::verified(b, &node, common, bucket_key);
        let [left, right] = children.each_ref().map(ChildTargets::node);

        let (zero, one, no) = (b.zero(), b.one(), b._false());
        b.connect(left.height, right.height);
        let below_child = below_flags(b, left.height, spec.height_max);
        let below_height = below_flags(b, node.height, spec.height_max);
        // h_c <= H_max - 1: without it, children of the full height would be at positions from 2^H_max on.
        b.assert_zero(below_child[below_child.len() - 1].target);

        // base_L < 2^H_max with bit h_c clear, base_R = base_L + 2^h_c: left and right child of one parent.
        let bits = b.split_le(left.base, spec.height_max as usize);
        let mut bit_at_child = zero;
        let mut child_size = one;
        for (l, bit) in bits.iter().enumerate() {
            let above = if l == 0 { one } else { below_child[l - 1].target };
            let is_child_level = b.sub(above, below_child[l].target);
            bit_at_child = b.mul_add(is_child_level, bit.target, bit_at_child);
            child_size = b.mul_add(below_child[l].target, child_size, child_size);
        }
        b.assert_zero(bit_at_child);
        let right_base = b.add(left.base, child_size);
        b.connect(right_base, right.base);

        let canonical = if complete { [zero; 4] } else { parent(b, left.canonical, right.canonical, no) };
        b.connect_array(node.canonical, canonical);
        let nulls = null_digests(spec.height_max);

        let mut digest = parent(b, left.root, right.root, no);
        let mut base = left.base;
        let mut siblings = vec![];
        for (l, bit) in bits.iter().enumerate() {
            // Level l is climbed where h_c + 1 <= l < h; l <= h_c implies l < h, so h_c < h.
            let at_most_child = if l == 0 { b._true() } else { below_child[l - 1] };
            assert_implies(b, at_most_child, below_height[l]);
            let climbs = BoolTarget::new_unsafe(b.sub(below_height[l].target, at_most_child.target));
            let sibling = if complete { constant(b, &nulls[l]) } else { b.add_virtual_target_arr::<4>() };
            let up = parent(b, digest, sibling, *bit);
            digest = core::array::from_fn(|e| b.select(climbs, up[e], digest[e]));
            let leaves_base = b.mul(climbs.target, bit.target);
            base = b.arithmetic(-F::from_canonical_u64(1 << l), F::ONE, leaves_base, one, base);
            siblings.push(sibling);
        }
        b.connect_array(node.root, digest);
        b.connect(node.base, base);
        Self { node, children, below_child, below_height, siblings, base_bits: bits, complete }
    }

    /// Sets every free wire.
    pub fn assign(
        &self,
        witness: &MergeWitness,
        children: [(&PlonkyProof, bool); 2],
        child_height: u8,
        bucket_key: &VerifierOnlyCircuitData<C, D>,
        merge_key: &VerifierOnlyCircuitData<C, D>,
    ) -> Result<PartialWitness<F>, anyhow::Error> {
        let st = &witness.statement;
        let height_max = self.below_height.len();
        anyhow::ensure!(
            child_height < st.height && st.height as usize <= height_max,
            "children of height {child_height} do not merge to height {} of at most {height_max}",
            st.height
        );
        let mut pw = PartialWitness::new();
        pw.set_target_arr(&self.node.root, &to_hash(&st.root).elements)?;
        pw.set_target_arr(&self.node.canonical, &to_hash(&st.canonical).elements)?;
        pw.set_target(self.node.height, F::from_canonical_u8(st.height))?;
        pw.set_target(self.node.base, F::from_canonical_u64(st.base))?;
        pw.set_hash_target(self.node.merge_key, merge_key.circuit_digest)?;
        for (targets, (proof, is_bucket)) in self.children.iter().zip(children) {
            let key = if is_bucket { bucket_key } else { merge_key };
            targets.assign(&mut pw, Child { proof, is_bucket, key })?;
        }
        let climb = child_height as usize + 1;
        for l in 0..height_max {
            pw.set_bool_target(self.below_child[l], l < child_height as usize)?;
            pw.set_bool_target(self.below_height[l], l < st.height as usize)?;
            if !self.complete {
                let sibling = l.checked_sub(climb).and_then(|k| witness.siblings.get(k)).copied().unwrap_or_default();
                pw.set_target_arr(&self.siblings[l], &to_hash(&sibling).elements)?;
            }
        }
        Ok(pw)
    }
}
