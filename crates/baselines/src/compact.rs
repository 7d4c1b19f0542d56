//! The last proof of a baseline: one proof, verified in a circuit of the wrap's parameters.

use evergrove_commit::BackendError;
use evergrove_primitives::Digest;
use evergrove_verifier::{Profile, Statement};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::{HashOut, HashOutTarget};
use plonky2::iop::target::BoolTarget;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::VerifierCircuitTarget;
use plonky2::plonk::proof::ProofWithPublicInputsTarget;

use evergrove_plonky2::CircuitVerifier;
use evergrove_plonky2::cache::circuit_size;
use evergrove_plonky2::circuit::gadgets::key_with_digest;
use evergrove_plonky2::circuit::{Builder, C, D, F, PlonkyProof, circuit_config, params_of, to_hash};
use evergrove_plonky2::keys::{CommonData, VerifierKey};
use evergrove_plonky2::setup::Circuit;

/// Name of the circuit in errors.
const NAME: &str = "compaction";

/// A batch proof by a baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchProof {
    /// The proven statement; the height is that of the circuits, the base is 0.
    pub statement: Statement,
    /// The proof, in the encoding of `evergrove_verifier::wire`.
    pub bytes: Vec<u8>,
}

struct Targets {
    proof: ProofWithPublicInputsTarget<D>,
    /// The accepted key in use: exactly one.
    which: Vec<BoolTarget>,
    key: VerifierCircuitTarget,
}

/// Turns a proof of a whole batch, with C and d as its first public inputs, into a [`BatchProof`].
///
/// The circuit holds for exactly these statements: there is a proof of (C, d, ..) by one of the accepted circuits, with
/// the fixed values at the fixed public inputs. All circuits are for one height, so the key determines the height.
pub(crate) struct Compaction {
    circuit: Circuit<Targets>,
    keys: Vec<VerifierKey>,
    height: u8,
    verifier: CircuitVerifier,
}

impl Compaction {
    /// Accepts proofs with these common data by any of `keys`, whose public inputs at `fixed` are these values. Proofs
    /// use the profile's wrap parameters, or its own parameters if it has no wrap.
    pub(crate) fn build(
        profile: Profile,
        height: u8,
        common: &CommonData,
        keys: Vec<VerifierKey>,
        fixed: &[(usize, F)],
    ) -> Result<Self, BackendError> {
        let node = params_of(profile)?;
        let config = circuit_config(&profile.wrap().unwrap_or(node));
        let mut b = Builder::new(config);
        let proof = b.add_virtual_proof_with_pis(common);
        let which: Vec<BoolTarget> = keys.iter().map(|_| b.add_virtual_bool_target_safe()).collect();
        let (sum, one) = (b.add_many(which.iter().map(|w| w.target)), b.one());
        b.connect(sum, one);
        let digest = HashOutTarget {
            elements: core::array::from_fn(|e| {
                let terms: Vec<_> = keys
                    .iter()
                    .zip(&which)
                    .map(|(key, w)| b.mul_const(key.circuit_digest.elements[e], w.target))
                    .collect();
                b.add_many(terms)
            }),
        };
        let key = key_with_digest(&mut b, digest, common);
        b.verify_proof::<C>(&proof, &key, common);
        for (at, value) in fixed {
            let value = b.constant(*value);
            b.connect(proof.public_inputs[*at], value);
        }
        b.register_public_inputs(&proof.public_inputs[..8]);
        let rows = b.num_gates();
        let circuit = Circuit::new(Targets { proof, which, key }, b.build(), rows);
        let verifier = CircuitVerifier::new(&circuit.data.common, &circuit.data.verifier_only);
        Ok(Self { circuit, keys, height, verifier })
    }

    /// Compacts a proof by the accepted circuit of this number.
    pub(crate) fn prove(&self, proof: &PlonkyProof, which: usize) -> Result<BatchProof, BackendError> {
        let prove = || -> anyhow::Result<PlonkyProof> {
            let Targets { proof: target, which: flags, key } = &self.circuit.targets;
            let mut pw = PartialWitness::new();
            pw.set_proof_with_pis_target(target, proof)?;
            for (k, flag) in flags.iter().enumerate() {
                pw.set_bool_target(*flag, k == which)?;
            }
            pw.set_cap_target(&key.constants_sigmas_cap, &self.keys[which].constants_sigmas_cap)?;
            self.circuit.prove(pw)
        };
        let compact = prove().map_err(|e| BackendError::Witness(format!("{NAME}: {e}")))?;
        let digest = |at: usize| {
            evergrove_plonky2::circuit::from_hash(&HashOut {
                elements: core::array::from_fn(|e| compact.public_inputs[at + e]),
            })
        };
        let statement = Statement { root: digest(0), canonical: digest(4), height: self.height, base: 0 };
        let proof = BatchProof { statement, bytes: self.verifier.encode(NAME, &compact)? };
        self.verify(&proof)?;
        Ok(proof)
    }

    /// Accepts exactly the proofs of their statement. Never panics on any bytes.
    pub(crate) fn verify(&self, proof: &BatchProof) -> Result<(), BackendError> {
        let Statement { root, canonical, height, base } = proof.statement;
        if (height, base) != (self.height, 0) {
            return Err(BackendError::Rejected(format!(
                "a proof of height {height} at {base}; these circuits are for height {} at 0",
                self.height
            )));
        }
        let public_inputs = [root, canonical].iter().flat_map(|d: &Digest| to_hash(d).elements).collect();
        self.verifier.verify(NAME, &proof.bytes, public_inputs)
    }

    /// Size of the serialized circuit, in bytes.
    pub(crate) fn proving_key_bytes(&self) -> Result<usize, BackendError> {
        circuit_size(&self.circuit.data)
    }

    /// Bytes of cap and circuit digest, which a verifier must know.
    pub(crate) fn verification_key_bytes(&self) -> usize {
        32 * (self.verifier.key().constants_sigmas_cap.0.len() + 1)
    }
}

/// A height as the public input of a bucket.
pub(crate) fn height_element(height: u8) -> F {
    F::from_canonical_u8(height)
}
