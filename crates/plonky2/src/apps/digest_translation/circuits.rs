//! The pair of circuits: bucket and merge.

use evergrove_apps::digest_translation::{BUCKET_HEIGHTS, tree};
use evergrove_verifier::tree::null_digests;
use evergrove_verifier::{HeightClass, Profile, Scheme, Statement};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::CommonCircuitData;
use starky::config::StarkConfig;

use super::bucket::{self, BucketTargets, halves};
use super::keccak::{self, KeccakTarget};
use crate::apps::circuit_set::{Size, SizeError, known, node_params};
use crate::circuit::gadgets::{assert_zero_if, below_flags, parent};
use crate::circuit::{
    Builder, Child, ChildTargets, CircuitSpec, D, DigestTarget, F, NODE_PUBLIC_INPUTS, NodeTargets, circuit_config,
    to_hash,
};
use crate::keys::VerifierKey;
use crate::setup::PairSpec;
use crate::stark::stark_config;

/// The parameters that fix the circuits.
#[derive(Clone, Debug)]
pub struct Shape {
    /// k: a bucket has 2^k slots.
    pub bucket_height: u8,
    /// Parameters of the circuits.
    pub spec: CircuitSpec,
    /// Parameters of the table's proof.
    pub stark: StarkConfig,
}

impl Shape {
    /// The circuits of a profile and height class.
    ///
    /// The table has the profile's rate, queries and grinding; the circuits have as many rows as its verification
    /// needs.
    ///
    /// # Errors
    /// [`SizeError::Profile`].
    ///
    /// # Panics
    /// For a height outside [`BUCKET_HEIGHTS`].
    pub fn of(profile: Profile, class: HeightClass, bucket_height: u8) -> Result<Self, SizeError> {
        assert!(BUCKET_HEIGHTS.contains(&bucket_height), "buckets of height {bucket_height}");
        let degree_bits = match profile {
            Profile::Proven | Profile::Johnson => 16,
            Profile::Paper => 15,
            Profile::Grove100 | Profile::Grove128 => return Err(SizeError::Profile(profile)),
        };
        let config = circuit_config(&node_params(Scheme::Tree, profile, degree_bits)?);
        let (height_max, capacity) = (class.height_max(), 1 << bucket_height);
        let spec = CircuitSpec { config, height_max, capacity, degree_bits };
        Ok(Self { bucket_height, spec, stark: stark_config(&known(profile)?) })
    }

    /// Slots of a bucket, and rows.
    pub fn size(&self) -> Size {
        Size { capacity: self.spec.capacity, degree_bits: self.spec.degree_bits }
    }

    /// log2 of the rows of the table.
    pub fn log_rows(&self) -> usize {
        bucket::log_rows(self.bucket_height)
    }
}

/// The wires of a merge that a prover sets.
///
/// The circuit holds for exactly these statements (C, K, h, b): 1 <= h <= H_max, b is a multiple of 2^h below 2^H_max,
/// C = H(C_L, C_R) and K = Keccak-256(K_L, K_R), and for each side, at b and at b + 2^(h - 1), there is a proof of
/// (C_i, K_i, h - 1, b_i) by the bucket circuit or by this circuit, or C_i and K_i are the constants of an empty subtree of height
/// h - 1.
///
/// Instead of an empty child any proof is verified, and its statement is ignored.
pub struct NodeMerge {
    /// Public inputs; the canonical digest is zero.
    pub node: NodeTargets,
    /// The rest of the public inputs.
    pub keccak: KeccakTarget,
    /// Left and right child.
    pub children: [ChildTargets; 2],
    /// The child is empty.
    pub empty: [BoolTarget; 2],
    /// `[l < h]` for l in 0..H_max.
    pub below_height: Vec<BoolTarget>,
}

impl PairSpec for Shape {
    type Bucket = BucketTargets;
    type Merge = NodeMerge;

    fn spec(&self) -> &CircuitSpec {
        &self.spec
    }

    fn bucket(&self, b: &mut Builder) -> BucketTargets {
        BucketTargets::build(b, self, &self.stark)
    }

    fn merge(&self, b: &mut Builder, common: &CommonCircuitData<F, D>, bucket_key: HashOut<F>) -> NodeMerge {
        NodeMerge::build(b, &self.spec, common, bucket_key)
    }
}

impl NodeMerge {
    fn build(b: &mut Builder, spec: &CircuitSpec, common: &CommonCircuitData<F, D>, bucket_key: HashOut<F>) -> Self {
        let node = NodeTargets::register(b);
        let children = ChildTargets::verified(b, &node, common, bucket_key);
        let (one, no) = (b.one(), b._false());
        for x in node.canonical {
            b.assert_zero(x);
        }
        let below_height = below_flags(b, node.height, spec.height_max);
        b.connect(below_height[0].target, one);
        let bits = b.split_le(node.base, spec.height_max as usize);
        for (bit, below) in bits.iter().zip(&below_height) {
            assert_zero_if(b, *below, bit.target);
        }

        // The values for the children's height: 2^(h - 1), and the digests of an empty subtree.
        let levels = usize::from(spec.height_max);
        let at_child: Vec<Target> = (0..levels)
            .map(|l| match below_height.get(l + 1) {
                Some(above) => b.sub(below_height[l].target, above.target),
                None => below_height[l].target,
            })
            .collect();
        let of_child = |b: &mut Builder, values: &[F]| {
            let products = at_child.iter().zip(values);
            products.fold(b.zero(), |sum, (at, value)| b.arithmetic(*value, F::ONE, *at, one, sum))
        };
        let powers: Vec<F> = (0..levels).map(|l| F::from_canonical_u64(1 << l)).collect();
        let size = of_child(b, &powers);
        let height = b.sub(node.height, one);
        let nulls: Vec<HashOut<F>> = null_digests(spec.height_max).iter().map(to_hash).collect();
        let null: DigestTarget = core::array::from_fn(|e| {
            let values: Vec<F> = nulls.iter().map(|d| d.elements[e]).collect();
            of_child(b, &values)
        });
        let nulls = tree::null_digests(spec.height_max).map(|d| halves(&d)).collect::<Vec<_>>();
        let null_keccak: KeccakTarget = core::array::from_fn(|e| {
            let values: Vec<F> = nulls.iter().map(|d| d[e]).collect();
            of_child(b, &values)
        });

        let empty = [(); 2].map(|()| b.add_virtual_bool_target_safe());
        let bases = [node.base, b.add(node.base, size)];
        let sides: [(DigestTarget, KeccakTarget); 2] = core::array::from_fn(|k| {
            let (child, empty) = (children[k].node(), empty[k]);
            let there = b.not(empty);
            for (found, expected) in [(child.height, height), (child.base, bases[k])] {
                let difference = b.sub(found, expected);
                assert_zero_if(b, there, difference);
            }
            let keccak = &children[k].proof.public_inputs[NODE_PUBLIC_INPUTS..];
            let root = core::array::from_fn(|e| b.select(empty, null[e], child.root[e]));
            (root, core::array::from_fn(|e| b.select(empty, null_keccak[e], keccak[e])))
        });
        let root = parent(b, sides[0].0, sides[1].0, no);
        b.connect_array(node.root, root);
        let keccak = keccak::node(b, &sides[0].1, &sides[1].1);
        b.register_public_inputs(&keccak);
        Self { node, keccak, children, empty, below_height }
    }

    /// Sets every free wire. `children` are the children that are not empty, at least one.
    ///
    /// # Errors
    /// Without a child, and for proofs of another shape.
    pub fn assign(
        &self,
        statement: &Statement,
        children: [Option<Child<'_>>; 2],
        merge_key: &VerifierKey,
    ) -> anyhow::Result<PartialWitness<F>> {
        let any = children[0].or(children[1]).ok_or_else(|| anyhow::anyhow!("a node above no child"))?;
        let mut pw = PartialWitness::new();
        pw.set_target_arr(&self.node.root, &to_hash(&statement.root).elements)?;
        pw.set_target_arr(&self.node.canonical, &[F::ZERO; 4])?;
        pw.set_target(self.node.height, F::from_canonical_u8(statement.height))?;
        pw.set_target(self.node.base, F::from_canonical_u64(statement.base))?;
        pw.set_hash_target(self.node.merge_key, merge_key.circuit_digest)?;
        for ((targets, empty), child) in self.children.iter().zip(self.empty).zip(children) {
            targets.assign(&mut pw, child.unwrap_or(any))?;
            pw.set_bool_target(empty, child.is_none())?;
        }
        for (l, flag) in self.below_height.iter().enumerate() {
            pw.set_bool_target(*flag, l < usize::from(statement.height))?;
        }
        Ok(pw)
    }
}
