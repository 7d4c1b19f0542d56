//! The paper's baseline (section 5.3): one circuit that computes both trees.

use evergrove_apps::digest_translation::tree::{self, KeccakDigest};
use evergrove_primitives::Digest;
use evergrove_verifier::tree::{LEAF_TAG, Value};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::CircuitConfig;

use super::bucket::{value_halves, word};
use super::keccak::{self, KeccakTarget};
use crate::circuit::gadgets::{parent, permute};
use crate::circuit::{Builder, F, PlonkyProof, from_hash, to_plonky};
use crate::prover::CircuitProver;
use crate::setup::Circuit;

/// One circuit for 2^height filled slots: some 19,100 rows a leaf.
pub struct Monolithic {
    height: u8,
    circuit: Circuit<Vec<[Target; 8]>>,
}

impl Monolithic {
    /// Builds the circuit: seconds and 150 MiB a leaf at a rate of 1/8.
    pub fn new(config: CircuitConfig, height: u8) -> Self {
        let mut b = Builder::new(config);
        let (zero, no) = (b.zero(), b._false());
        let mut values = Vec::new();
        let (mut roots, mut digests) = (Vec::new(), Vec::new());
        for index in 0..1u64 << height {
            let value: [Target; 8] = b.add_virtual_target_arr();
            let words: [Target; 4] = core::array::from_fn(|k| word(&mut b, value[2 * k], value[2 * k + 1]));
            let mut state = [zero; 12];
            state[0] = b.constant(F::from_canonical_u64(index));
            state[1..5].copy_from_slice(&words);
            state[8] = b.constant(to_plonky(LEAF_TAG));
            roots.push(permute(&mut b, state, no));
            let low = b.constant(F::from_canonical_u32((index as u32).swap_bytes()));
            digests.push(keccak::hash(&mut b, &[&[zero, low][..], &value].concat()));
            values.push(value);
        }
        while roots.len() > 1 {
            roots = roots.as_chunks::<2>().0.iter().map(|[l, r]| parent(&mut b, *l, *r, no)).collect();
            let level = digests.as_chunks::<2>().0.iter().map(|[l, r]: &[KeccakTarget; 2]| keccak::node(&mut b, l, r));
            digests = level.collect();
        }
        b.register_public_inputs(&roots[0]);
        b.register_public_inputs(&digests[0]);
        let rows = b.num_gates();
        Self { height, circuit: Circuit::new(values, b.build(), rows) }
    }

    /// The same circuit, proven in less memory.
    #[must_use]
    pub fn low_memory(mut self) -> Self {
        self.circuit.prover = CircuitProver::low_memory();
        self
    }

    /// Rows before padding.
    pub fn rows(&self) -> usize {
        self.circuit.rows
    }

    /// Proves both digests of a tree of filled slots, and checks the proof.
    ///
    /// # Errors
    /// For another number of values than the circuit has.
    pub fn prove(&self, values: &[Value]) -> anyhow::Result<(Digest, KeccakDigest)> {
        anyhow::ensure!(values.len() == self.circuit.targets.len(), "{} values", values.len());
        let mut pw = PartialWitness::new();
        for (targets, value) in self.circuit.targets.iter().zip(values) {
            pw.set_target_arr(targets, &value_halves(Some(value)))?;
        }
        let proof: PlonkyProof = self.circuit.prove(pw)?;
        let inputs = &proof.public_inputs;
        let poseidon = from_hash(&HashOut { elements: core::array::from_fn(|i| inputs[i]) });
        let slots: Vec<Option<Value>> = values.iter().copied().map(Some).collect();
        let keccak = tree::levels(0, &slots)[usize::from(self.height)][0];
        anyhow::ensure!(inputs[4..] == super::bucket::halves(&keccak), "another Keccak root");
        self.circuit.data.verify(proof)?;
        Ok((poseidon, keccak))
    }
}
