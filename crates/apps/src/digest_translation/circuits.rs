//! The pair of circuits: bucket and merge.

use evergrove_commit::MergeWitness;
use evergrove_primitives::Digest;
use evergrove_proof::Profile;
use evergrove_recursion::circuit::{
    Builder, CircuitSpec, D, F, MergeTargets, NODE_PUBLIC_INPUTS, NodeTargets, circuit_config,
};
use evergrove_recursion::setup::PairSpec;
use evergrove_recursion::stark::stark_config;
use plonky2::hash::hash_types::HashOut;
use plonky2::plonk::circuit_data::CommonCircuitData;
use starky::config::StarkConfig;

use super::bucket::{self, BucketTargets};
use super::keccak::{self, KeccakTarget};
use super::tree::KeccakDigest;

/// H_max of the circuits.
pub const HEIGHT_MAX: u8 = 40;
/// The least and the greatest height of a bucket: a table of 2^14 rows works in 2 GiB.
pub const BUCKET_HEIGHTS: core::ops::RangeInclusive<u8> = 1..=8;
/// The height of a bucket where nothing is said: 255 permutations, in 2^13 rows of the table.
pub const BUCKET_HEIGHT: u8 = 7;

/// Both digests of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// C, the digest of the committed tree.
    pub poseidon: Digest,
    /// K, the digest of the Keccak tree.
    pub keccak: KeccakDigest,
    /// The height of the node.
    pub height: u8,
    /// First position below the node.
    pub base: u64,
}

/// What fixes the circuits.
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
    /// The circuits of a profile.
    ///
    /// The table has the profile's rate, queries and grinding; the circuits have as many rows as its verification takes.
    ///
    /// # Panics
    /// For a height outside [`BUCKET_HEIGHTS`].
    pub fn of(profile: Profile, bucket_height: u8) -> Self {
        assert!(BUCKET_HEIGHTS.contains(&bucket_height), "buckets of height {bucket_height}");
        let params = profile.recursion();
        let degree_bits = match profile {
            Profile::Proven | Profile::Johnson => 16,
            Profile::Paper => 15,
        };
        let spec = CircuitSpec {
            config: circuit_config(&params),
            height_max: HEIGHT_MAX,
            capacity: 1 << bucket_height,
            degree_bits,
        };
        Self { bucket_height, spec, stark: stark_config(&params) }
    }

    /// log2 of the rows of the table.
    pub fn log_rows(&self) -> usize {
        bucket::log_rows(self.bucket_height)
    }
}

/// The wires of a merge.
///
/// The circuit holds for exactly these statements: there are proofs, each by the bucket circuit or by this circuit, of
/// (C_L, K_L, h - 1, b) and (C_R, K_R, h - 1, b + 2^(h - 1)), C = H(C_L, C_R) and K = Keccak-256(K_L, K_R).
pub struct NodeMerge {
    /// Everything but the Keccak tree.
    pub merge: MergeTargets,
    /// The rest of the public inputs.
    pub keccak: KeccakTarget,
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
        let merge = MergeTargets::build_complete(b, &self.spec, common, bucket_key);
        let [left, right] = merge.children.each_ref().map(|c| &c.proof.public_inputs);
        // No climbs: the Keccak tree would have to climb as well.
        let height = NodeTargets::of_child(left).height;
        let parent = b.add_const(height, plonky2::field::types::Field::ONE);
        b.connect(merge.node.height, parent);
        let of_child = |inputs: &[_]| -> KeccakTarget { core::array::from_fn(|i| inputs[NODE_PUBLIC_INPUTS + i]) };
        let keccak = keccak::node(b, &of_child(left), &of_child(right));
        b.register_public_inputs(&keccak);
        NodeMerge { merge, keccak }
    }
}

/// The merge of two siblings, without a climb.
pub(super) fn merge_witness(statement: &Statement) -> MergeWitness {
    MergeWitness { statement: evergrove_statement(statement), siblings: vec![] }
}

fn evergrove_statement(s: &Statement) -> evergrove_proof::Statement {
    evergrove_proof::Statement { root: s.poseidon, canonical: Digest::ZERO, height: s.height, base: s.base }
}

#[cfg(test)]
mod tests {
    use evergrove_recursion::setup::bucket_rows;

    use super::*;

    /// Rows of the buckets, padding and the rows that plonky2 adds for constants aside.
    #[test]
    fn buckets_fit_their_rows() {
        for profile in Profile::ALL {
            let shape = Shape::of(profile, BUCKET_HEIGHT);
            let (found, given) = (bucket_rows(&shape), 1 << shape.spec.degree_bits);
            assert!(found + 200 < given, "{profile}: {found} rows of {given}");
        }
    }
}
