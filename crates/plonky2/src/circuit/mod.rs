//! The circuits: bucket, universal merge and final wrap.

mod block;
mod bucket;
pub mod gadgets;
mod hasher;
mod merge;
mod wrap;

pub use block::{BlockSlot, BlockTargets};
pub use bucket::{BucketTargets, CanonicalMerge, LeafSlot};
pub use hasher::{Permutation, Poseidon, PoseidonConfig};
pub use merge::{Child, ChildTargets, MergeTargets};
pub use wrap::WrapTargets;

use evergrove_commit::BackendError;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::{FriParams, HeightClass, Profile};
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::fri::FriConfig;
use plonky2::fri::reduction_strategies::FriReductionStrategy;
use plonky2::hash::hash_types::{HashOut, HashOutTarget};
use plonky2::iop::target::Target;
use plonky2::plonk::circuit_builder::CircuitBuilder;
use plonky2::plonk::circuit_data::CircuitConfig;
use plonky2::plonk::proof::ProofWithPublicInputs;

/// Degree of the extension field: that of every profile.
pub const D: usize = Profile::EXTENSION_DEGREE;
/// Plonky2's field and hasher choices, with our permutation.
pub type C = PoseidonConfig;
/// Plonky2's Goldilocks.
pub type F = GoldilocksField;
/// A plonky2 proof with its public inputs.
pub type PlonkyProof = ProofWithPublicInputs<F, C, D>;
/// Plonky2's builder of circuits.
pub type Builder = CircuitBuilder<F, D>;
/// The wires of a digest.
pub type DigestTarget = [Target; 4];

/// The parameters that fix a pair of bucket and merge circuits.
#[derive(Clone, Debug)]
pub struct CircuitSpec {
    /// Plonky2's configuration: wires, FRI parameters, challenges.
    pub config: CircuitConfig,
    /// H_max: positions are below 2^H_max.
    pub height_max: u8,
    /// m, the number of leaf slots of a bucket; of blocks a power of two.
    pub capacity: usize,
    /// log2 of the rows of both circuits.
    pub degree_bits: usize,
}

impl CircuitSpec {
    /// The circuits of a profile and height class.
    ///
    /// # Errors
    /// That of [`params_of`].
    pub fn of(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        let params = params_of(profile)?;
        Ok(Self {
            config: circuit_config(&params),
            height_max: class.height_max(),
            capacity: profile.bucket_capacity(class),
            degree_bits: params.degree_bits as usize,
        })
    }
}

/// The parameters of the bucket and merge circuits of a profile.
///
/// # Errors
/// [`BackendError::Internal`] for a profile of another backend.
pub fn params_of(profile: Profile) -> Result<FriParams, BackendError> {
    profile.recursion().ok_or_else(|| {
        let known = Profile::PLONKY2.map(Profile::name).join(", ");
        BackendError::Internal(format!("profile {profile} has no circuits on Plonky2 (known: {known})"))
    })
}

/// Plonky2's standard configuration with the FRI parameters and challenge count of a profile.
///
/// `security_bits` is set to 1, since plonky2's own check counts by a conjecture that is disproved;
/// `evergrove_verifier::soundness` computes the real numbers.
pub fn circuit_config(params: &FriParams) -> CircuitConfig {
    let FriParams {
        rate_bits,
        queries,
        pow_bits,
        challenges,
        // `D` is derived from it.
        extension_degree: _,
        cap_height,
        arity_bits,
        final_poly_bits,
        // The number of rows follows from what is built.
        degree_bits: _,
    } = *params;
    CircuitConfig {
        security_bits: 1,
        num_challenges: challenges.into(),
        fri_config: FriConfig {
            rate_bits: rate_bits.into(),
            cap_height: cap_height.into(),
            proof_of_work_bits: pow_bits.into(),
            reduction_strategy: FriReductionStrategy::ConstantArityBits(arity_bits.into(), final_poly_bits.into()),
            num_query_rounds: queries.into(),
        },
        ..CircuitConfig::standard_recursion_config()
    }
}

/// Number of public inputs of bucket and merge: C\[4\], d\[4\], h, base, key of the merge circuit\[4\].
pub const NODE_PUBLIC_INPUTS: usize = 14;
/// The public inputs of a bucket or a merge.
pub struct NodeTargets {
    /// C, the Merkle digest of the node.
    pub root: DigestTarget,
    /// d, the canonical digest of the chosen leaves below it.
    pub canonical: DigestTarget,
    /// h, the height of the node.
    pub height: Target,
    /// First position below the node.
    pub base: Target,
    /// Circuit digest of the merge circuit that may consume the proof.
    pub merge_key: HashOutTarget,
}

impl NodeTargets {
    /// Adds them to a circuit, before any others.
    pub fn register(b: &mut Builder) -> Self {
        let targets = Self {
            root: b.add_virtual_target_arr(),
            canonical: b.add_virtual_target_arr(),
            height: b.add_virtual_target(),
            base: b.add_virtual_target(),
            merge_key: b.add_virtual_hash(),
        };
        b.register_public_inputs(&targets.root);
        b.register_public_inputs(&targets.canonical);
        b.register_public_inputs(&[targets.height, targets.base]);
        b.register_public_inputs(&targets.merge_key.elements);
        targets
    }

    /// Reads the public inputs of a child proof.
    pub fn of_child(public_inputs: &[Target]) -> Self {
        let digest = |at: usize| core::array::from_fn(|i| public_inputs[at + i]);
        Self {
            root: digest(0),
            canonical: digest(4),
            height: public_inputs[8],
            base: public_inputs[9],
            merge_key: HashOutTarget { elements: digest(10) },
        }
    }
}

/// A field element of ours as plonky2's.
pub fn to_plonky(x: Goldilocks) -> F {
    F::from_canonical_u64(x.as_u64())
}

/// A field element of plonky2's as ours.
pub fn from_plonky(x: F) -> Goldilocks {
    Goldilocks::reduce(x.to_canonical_u64())
}

/// A digest of ours as plonky2's.
pub fn to_hash(d: &Digest) -> HashOut<F> {
    HashOut { elements: d.0.map(to_plonky) }
}

/// A digest of plonky2's as ours.
pub fn from_hash(h: &HashOut<F>) -> Digest {
    Digest(h.elements.map(from_plonky))
}
