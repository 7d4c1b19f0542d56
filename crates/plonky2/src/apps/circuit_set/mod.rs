//! The circuits around an application: buckets and merges that carry its output.
//!
//! **Selected** ([`Scheme::Selected`]): the bucket and merge of batch proofs, and beside C and d the output over the
//! same leaves whose digest is d. Each leaf counts once: indices strictly increase within a bucket, and siblings have
//! different ones. The prover is free to cut leaves into buckets in any order, hence only commutative applications are
//! allowed.
//!
//! **Complete** ([`Scheme::Complete`]): blocks of 2^k slots, all of them, and a merge that passes only over empty
//! subtrees, by their known digests. Nothing can be left out, and the order is that of positions.
//!
//! Each application has its own circuits for each scheme, profile and height class. The two schemes share no proofs,
//! and neither do applications whose circuits differ. Applications with equal circuits (columns with other names) state
//! the same.

mod backend;
mod circuits;
mod keys;
mod size;

use std::sync::Arc;

use evergrove_commit::BucketWitness;
use evergrove_verifier::{HeightClass, Profile, Scheme};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::CommonCircuitData;

use crate::circuit::{
    BlockTargets, BucketTargets, Builder, CircuitSpec, D, F, MergeTargets, NODE_PUBLIC_INPUTS, circuit_config,
    to_plonky,
};
use crate::gates::GeneratorKind;
use crate::setup::PairSpec;

pub use backend::AppBackend;
pub(crate) use circuits::Circuits;
pub(crate) use keys::node_params;
pub use keys::{AppKeys, CIRCUITS_VERSION, CircuitSetId};
pub(crate) use size::known;
pub use size::{Size, SizeError};

use crate::apps::generators::GENERATORS;
use crate::apps::{LeafTargets, Plonky2Circuits};

/// The parameters that fix the circuits of an application.
#[derive(Clone)]
pub struct CircuitSetSpec {
    app: Arc<dyn Plonky2Circuits>,
    scheme: Scheme,
    profile: Profile,
    class: HeightClass,
    circuit: CircuitSpec,
}

impl CircuitSetSpec {
    /// The circuits of this size.
    ///
    /// # Panics
    /// For a profile of another backend than Plonky2.
    pub fn new(
        app: Arc<dyn Plonky2Circuits>,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        size: Size,
    ) -> Self {
        let params = node_params(scheme, profile, size.degree_bits);
        let config = circuit_config(&params.expect("a profile of Plonky2"));
        let Size { capacity, degree_bits } = size;
        let circuit = CircuitSpec { config, height_max: class.height_max(), capacity, degree_bits };
        Self { app, scheme, profile, class, circuit }
    }

    /// The application.
    pub fn app(&self) -> &Arc<dyn Plonky2Circuits> {
        &self.app
    }

    /// [`Scheme::Selected`] or [`Scheme::Complete`].
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The height class.
    pub fn class(&self) -> HeightClass {
        self.class
    }

    /// Leaves of a bucket, or slots of a block, and rows.
    pub fn size(&self) -> Size {
        Size { capacity: self.circuit.capacity, degree_bits: self.circuit.degree_bits }
    }
}

/// The leaves of a bucket.
pub enum Leaves {
    /// Of [`Scheme::Selected`].
    Chosen(BucketTargets),
    /// Of [`Scheme::Complete`].
    Block(BlockTargets),
}

/// The wires of a bucket that a prover sets.
///
/// The circuit holds for exactly the statements of [`BucketTargets`] or [`BlockTargets`] together with the reduction,
/// in slot order, of the application's map of the active slots' leaves.
pub struct AppBucket {
    /// The leaves and their node.
    pub leaves: Leaves,
    /// For each slot, the opening of its value.
    pub openings: Vec<Vec<Target>>,
    /// Public inputs after those of the node: the output.
    pub output: Vec<Target>,
}

/// The wires of a merge that a prover sets.
///
/// The circuit holds for exactly the statements of [`MergeTargets`], of either form, together with the reduction of the
/// children's outputs.
pub struct AppMerge {
    /// The children and their node.
    pub node: MergeTargets,
    /// Public inputs after those of the node: the output.
    pub output: Vec<Target>,
}

impl PairSpec for CircuitSetSpec {
    type Bucket = AppBucket;
    type Merge = AppMerge;

    fn spec(&self) -> &CircuitSpec {
        &self.circuit
    }

    fn generators(&self) -> &'static [GeneratorKind] {
        &GENERATORS
    }

    fn bucket(&self, b: &mut Builder) -> AppBucket {
        let leaves = match self.scheme {
            Scheme::Complete => Leaves::Block(BlockTargets::build(b, &self.circuit)),
            _ => Leaves::Chosen(BucketTargets::build(b, &self.circuit)),
        };
        let slots: Vec<_> = match &leaves {
            Leaves::Chosen(bucket) => bucket.slots.iter().map(|s| (s.active, s.index, s.value)).collect(),
            Leaves::Block(block) => block.slots.iter().map(|s| (s.active, s.index, s.value)).collect(),
        };
        let app = self.app.as_ref();
        let slots: Vec<LeafTargets> = slots
            .into_iter()
            .map(|(active, index, value)| {
                let opening = b.add_virtual_targets(app.opening_len());
                LeafTargets { active, index, value, opening }
            })
            .collect();
        let output = app.fold_circuit(b, &slots);
        assert_eq!(output.len(), app.output_len(), "elements that {} folds to", app.name());
        b.register_public_inputs(&output);
        AppBucket { leaves, openings: slots.into_iter().map(|s| s.opening).collect(), output }
    }

    fn merge(&self, b: &mut Builder, common: &CommonCircuitData<F, D>, bucket_key: HashOut<F>) -> AppMerge {
        let node = match self.scheme {
            Scheme::Complete => MergeTargets::build_complete(b, &self.circuit, common, bucket_key),
            _ => MergeTargets::build(b, &self.circuit, common, bucket_key),
        };
        let [left, right] = node.children.each_ref().map(|c| c.proof.public_inputs[NODE_PUBLIC_INPUTS..].to_vec());
        let output = reduce(self.app.as_ref(), b, &left, &right);
        b.register_public_inputs(&output);
        AppMerge { node, output }
    }
}

fn reduce(app: &dyn Plonky2Circuits, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
    let output = app.reduce_circuit(b, left, right);
    assert_eq!(output.len(), app.output_len(), "elements that {} reduces to", app.name());
    output
}

impl AppBucket {
    /// Sets every free wire of the node, the leaves and their openings. Outputs follow.
    ///
    /// # Errors
    /// When the witness is not of the circuit's shape.
    pub fn assign(&self, witness: &BucketWitness, merge_key: HashOut<F>) -> anyhow::Result<PartialWitness<F>> {
        let mut pw = match &self.leaves {
            Leaves::Chosen(bucket) => bucket.assign(witness, merge_key)?,
            Leaves::Block(block) => block.assign(witness, merge_key)?,
        };
        let mut leaves: Vec<Option<_>> = vec![None; self.openings.len()];
        for (place, leaf) in witness.leaves.iter().enumerate() {
            let place = match &self.leaves {
                Leaves::Chosen(_) => place,
                Leaves::Block(_) => leaf.index as usize % self.openings.len(),
            };
            leaves[place] = Some(leaf);
        }
        for (targets, leaf) in self.openings.iter().zip(leaves) {
            let opening = leaf.map(|l| l.opening.as_slice());
            // An application that needs no opening is handed the row's like any other.
            let wrong = |n: &usize| !targets.is_empty() && *n != targets.len();
            if let Some(found) = opening.map(<[_]>::len).filter(wrong) {
                anyhow::bail!("{found} elements open a value, not {}", targets.len());
            }
            for (k, target) in targets.iter().enumerate() {
                pw.set_target(*target, opening.map_or(F::ZERO, |o| to_plonky(o[k])))?;
            }
        }
        Ok(pw)
    }
}
