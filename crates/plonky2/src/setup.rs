//! Building the circuits of a profile.
//!
//! Bucket and merge must share one `CommonCircuitData`, since a merge verifies both kinds of children with one
//! verifier. But the merge's own common data is an input of its construction. Setup therefore searches for a fixed
//! point: it builds both with the union of their gates until nothing changes. Rounds are cheap (no commitment); only
//! the last one commits.

use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::gates::gate::GateRef;
use plonky2::gates::noop::NoopGate;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::witness::PartialWitness;
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData, CommonCircuitData};

use crate::circuit::{BucketTargets, Builder, C, CircuitSpec, D, F, MergeTargets, PlonkyProof, WrapTargets};
use crate::gates::GeneratorKind;
use crate::keys::KeySet;
use crate::prover::{CircuitProver, ProverKind};

/// A circuit with the wires that its prover sets.
pub struct Circuit<T> {
    /// The wires.
    pub targets: T,
    /// Plonky2's prover and verifier data.
    pub data: CircuitData<F, C, D>,
    /// Rows in use before padding.
    pub rows: usize,
    /// The prover of the circuit.
    pub prover: CircuitProver,
}

impl<T> Circuit<T> {
    /// A circuit that is proven by the default prover.
    pub fn new(targets: T, data: CircuitData<F, C, D>, rows: usize) -> Self {
        Self { targets, data, rows, prover: CircuitProver::default() }
    }

    /// A proof of the circuit.
    ///
    /// # Errors
    /// When `inputs` contradict the circuit or leave something open.
    pub fn prove(&self, inputs: PartialWitness<F>) -> anyhow::Result<PlonkyProof> {
        self.prover.prove(&self.data, inputs)
    }

    /// [`Circuit::prove`] by a prover of this kind.
    ///
    /// # Errors
    /// As for [`Circuit::prove`].
    pub fn prove_by(&self, kind: ProverKind, inputs: PartialWitness<F>) -> anyhow::Result<PlonkyProof> {
        self.prover.prove_by(kind, &self.data, inputs)
    }
}

/// A bucket and a merge circuit that prove each other, not built yet.
pub trait PairSpec {
    /// The wires of the bucket.
    type Bucket;
    /// The wires of the merge.
    type Merge;
    /// The parameters of both.
    fn spec(&self) -> &CircuitSpec;
    /// The circuits' own generators, for their serialization.
    fn generators(&self) -> &'static [GeneratorKind] {
        &[]
    }
    /// Adds the bucket's constraints.
    fn bucket(&self, b: &mut Builder) -> Self::Bucket;
    /// Adds the merge's constraints. `common` describes both circuits.
    fn merge(&self, b: &mut Builder, common: &CommonCircuitData<F, D>, bucket_key: HashOut<F>) -> Self::Merge;
}

impl PairSpec for CircuitSpec {
    type Bucket = BucketTargets;
    type Merge = MergeTargets;

    fn spec(&self) -> &CircuitSpec {
        self
    }

    fn bucket(&self, b: &mut Builder) -> BucketTargets {
        BucketTargets::build(b, self)
    }

    fn merge(&self, b: &mut Builder, common: &CommonCircuitData<F, D>, bucket_key: HashOut<F>) -> MergeTargets {
        MergeTargets::build(b, self, common, bucket_key)
    }
}

/// The two circuits that prove each other.
pub struct CircuitPair<S: PairSpec = CircuitSpec> {
    /// Proves leaves: up to m of them, or a block.
    pub bucket: Circuit<S::Bucket>,
    /// Proves the node above two proofs.
    pub merge: Circuit<S::Merge>,
}

/// Why no circuits came out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A circuit needs more rows than the spec gives it.
    #[error("the {circuit} circuit needs 2^{needed} rows, the profile has 2^{given}")]
    TooManyRows {
        /// `bucket` or `merge`.
        circuit: &'static str,
        /// log2 of the rows that it needs.
        needed: usize,
        /// log2 of the rows of the spec.
        given: usize,
    },
    /// Bucket and merge did not settle on one common data.
    #[error("bucket and merge circuits share no common data after {0} rounds")]
    NoFixedPoint(usize),
}

/// Stands in for the bucket's key while the common data are searched: constants do not change them, as long as the number of
/// distinct ones is the same.
const STAND_IN_KEY: HashOut<F> = HashOut {
    elements: [GoldilocksField(1 << 60), GoldilocksField(1 << 61), GoldilocksField(1 << 62), GoldilocksField(1 << 63)],
};

/// Rounds of the search: it takes two from scratch, one with the right hint.
const ROUNDS: usize = 5;

impl<S: PairSpec> CircuitPair<S> {
    /// Builds both circuits. A `hint` of the right common data saves the search; a wrong one costs only time.
    pub fn build(spec: &S, hint: Option<&CommonCircuitData<F, D>>) -> Result<Self, SetupError> {
        Self::build_at(spec, &Self::search(spec, hint)?)
    }

    /// The common data of both circuits. Commits to nothing.
    pub fn search(spec: &S, hint: Option<&CommonCircuitData<F, D>>) -> Result<CommonCircuitData<F, D>, SetupError> {
        let size = spec.spec();
        let mut common = match hint {
            Some(common) => common.clone(),
            None => CircuitDraft::bucket(spec).mock(size, &[]),
        };
        for _ in 0..ROUNDS {
            let bucket = CircuitDraft::bucket(spec).mock(size, &common.gates);
            let merge = CircuitDraft::merge(spec, &common, STAND_IN_KEY).mock(size, &common.gates);
            for (circuit, found) in [("bucket", &bucket), ("merge", &merge)] {
                let (needed, given) = (found.degree_bits(), size.degree_bits);
                if needed > given {
                    return Err(SetupError::TooManyRows { circuit, needed, given });
                }
            }
            if bucket == common && merge == common {
                return Ok(common);
            }
            common = merge;
        }
        Err(SetupError::NoFixedPoint(ROUNDS))
    }

    /// The pair whose circuits have been built before: `bucket` and `merge` are their data.
    pub(crate) fn describe(
        spec: &S,
        common: &CommonCircuitData<F, D>,
        bucket_key: HashOut<F>,
        bucket: CircuitData<F, C, D>,
        merge: CircuitData<F, C, D>,
    ) -> Self {
        let targets = CircuitDraft::bucket(spec);
        let bucket = Circuit::new(targets.targets, bucket, targets.builder.num_gates());
        let targets = CircuitDraft::merge(spec, common, bucket_key);
        let merge = Circuit::new(targets.targets, merge, targets.builder.num_gates());
        Self { bucket, merge }
    }

    fn build_at(spec: &S, common: &CommonCircuitData<F, D>) -> Result<Self, SetupError> {
        let bucket = CircuitDraft::bucket(spec).commit(spec.spec(), &common.gates);
        let merge = CircuitDraft::merge(spec, common, bucket.data.verifier_only.circuit_digest)
            .commit(spec.spec(), &common.gates);
        if bucket.data.common != *common || merge.data.common != *common {
            return Err(SetupError::NoFixedPoint(ROUNDS));
        }
        Ok(Self { bucket, merge })
    }
}

/// Builds a bucket circuit alone, with only the rows that it needs: it can be proven and examined, but not merged.
pub fn build_bucket(spec: &CircuitSpec) -> Circuit<BucketTargets> {
    let CircuitDraft { targets, builder } = CircuitDraft::bucket(spec);
    let rows = builder.num_gates();
    Circuit::new(targets, builder.build(), rows)
}

/// Rows of a bucket before padding, without those that plonky2 adds for constants and public inputs.
pub fn bucket_rows<S: PairSpec>(spec: &S) -> usize {
    CircuitDraft::bucket(spec).builder.num_gates()
}

/// log2 of the rows of a bucket of this spec, without padding. Makes no commitments, so it takes only a second or two.
pub fn bucket_degree_bits(spec: &CircuitSpec) -> usize {
    CircuitDraft::bucket(spec).builder.mock_build::<C>().common.degree_bits()
}

/// Builds the wrap of the proofs that verify with `keys`.
pub fn build_wrap(keys: &KeySet, config: &CircuitConfig) -> Circuit<WrapTargets> {
    let CircuitDraft { targets, builder } = CircuitDraft::wrap(keys, config);
    let rows = builder.num_gates();
    Circuit::new(targets, builder.build(), rows)
}

/// The wrap whose circuit has been built before.
pub(crate) fn describe_wrap(keys: &KeySet, config: &CircuitConfig, data: CircuitData<F, C, D>) -> Circuit<WrapTargets> {
    let CircuitDraft { targets, builder } = CircuitDraft::wrap(keys, config);
    Circuit::new(targets, data, builder.num_gates())
}

/// A circuit's constraints and wires, before its commitment.
pub struct CircuitDraft<T> {
    /// The wires.
    pub targets: T,
    /// The rows so far.
    pub builder: Builder,
}

impl<T> CircuitDraft<T> {
    fn bucket<S: PairSpec<Bucket = T>>(spec: &S) -> Self {
        let mut builder = Builder::new(spec.spec().config.clone());
        let targets = spec.bucket(&mut builder);
        Self { targets, builder }
    }

    fn merge<S: PairSpec<Merge = T>>(spec: &S, common: &CommonCircuitData<F, D>, bucket_key: HashOut<F>) -> Self {
        let mut builder = Builder::new(spec.spec().config.clone());
        let targets = spec.merge(&mut builder, common, bucket_key);
        Self { targets, builder }
    }
}

impl CircuitDraft<WrapTargets> {
    fn wrap(keys: &KeySet, config: &CircuitConfig) -> Self {
        let mut builder = Builder::new(config.clone());
        let [bucket, merge] = [&keys.bucket, &keys.merge].map(|k| k.circuit_digest);
        let targets = WrapTargets::build(&mut builder, &keys.node_common, bucket, merge);
        Self { targets, builder }
    }
}

impl<T> CircuitDraft<T> {
    /// Adds `gates` to the gate set and pads to the spec's degree, as far as the circuit leaves room.
    fn pad(&mut self, spec: &CircuitSpec, gates: &[GateRef<F, D>]) -> usize {
        let rows = self.builder.num_gates();
        for gate in gates {
            self.builder.add_gate_to_gate_set(gate.clone());
        }
        while self.builder.num_gates() <= 1 << (spec.degree_bits - 1) {
            self.builder.add_gate(NoopGate, vec![]);
        }
        rows
    }

    /// The common data that the circuit would have. Commits to nothing.
    pub fn mock(mut self, spec: &CircuitSpec, gates: &[GateRef<F, D>]) -> CommonCircuitData<F, D> {
        self.pad(spec, gates);
        self.builder.mock_build::<C>().common
    }

    /// The circuit, padded like [`Self::mock`].
    pub fn commit(mut self, spec: &CircuitSpec, gates: &[GateRef<F, D>]) -> Circuit<T> {
        let rows = self.pad(spec, gates);
        Circuit::new(self.targets, self.builder.build(), rows)
    }
}

/// A circuit with the common data of a pair that proves any public inputs, for attacks.
#[cfg(test)]
pub(crate) fn build_anything(
    spec: &CircuitSpec,
    common: &CommonCircuitData<F, D>,
) -> Circuit<Vec<plonky2::iop::target::Target>> {
    let mut builder = Builder::new(spec.config.clone());
    let targets = builder.add_virtual_targets(common.num_public_inputs);
    builder.register_public_inputs(&targets);
    CircuitDraft { targets, builder }.commit(spec, &common.gates)
}

/// A merge that trusts any bucket key, for attacks.
#[cfg(test)]
pub(crate) fn build_merge(
    spec: &CircuitSpec,
    common: &CommonCircuitData<F, D>,
    bucket_key: HashOut<F>,
) -> Circuit<MergeTargets> {
    CircuitDraft::merge(spec, common, bucket_key).commit(spec, &common.gates)
}
