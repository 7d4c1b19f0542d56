//! Verification with pinned keys: no circuit is built, no prover data loaded.
//!
//! [`check`] is our own verifier of plonky2's proofs, from their bytes. Plonky2's stays selectable ([`VerifierKind`]),
//! and verifies circuits that ours does not support.

mod check;
mod constraints;
mod fri;
mod params;
#[cfg(test)]
mod tests;

use core::fmt::Display;

use evergrove_commit::{BackendError, NodeKind, NodeProof};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::Isa;
use evergrove_verifier::wire::{self, Snark, SnarkShape};
use evergrove_verifier::{HeightClass, Profile};
use plonky2::field::types::Field;
use plonky2::plonk::circuit_data::VerifierCircuitData;

use crate::circuit::{C, D, F, PlonkyProof, to_hash, to_plonky};
use crate::convert::{from_plonky_proof, shape_of, to_plonky_proof};
use crate::keys::{CommonData, KeySet, VerifierKey};

use check::Check;

pub use params::{OtherParams, check_params};

/// The implementation of the verifier. Verdicts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum VerifierKind {
    /// Ours, and plonky2's for circuits that it does not support.
    #[default]
    Evergrove,
    /// Plonky2's own verifier.
    Plonky2,
}

/// Verifies the proofs of one profile and height class, of batches or of an application. Builds no circuit.
///
/// Accepts bytes from anywhere: shape, canonicity and uniqueness of the encoding are checked before plonky2 sees a proof.
pub struct Plonky2Verifier {
    /// Elements of an application's output; 0 for batches.
    output_len: usize,
    bucket: CircuitVerifier,
    merge: CircuitVerifier,
    wrap: Option<CircuitVerifier>,
}

/// Verifies, encodes and decodes the proofs of one circuit.
pub struct CircuitVerifier {
    circuit: VerifierCircuitData<F, C, D>,
    shape: SnarkShape,
    /// Our verifier, if it is chosen and supports the circuit.
    check: Option<Check>,
}

impl CircuitVerifier {
    /// The verifier of the circuit with this key.
    pub fn new(common: &CommonData, key: &VerifierKey) -> Self {
        Self::by(VerifierKind::default(), Isa::detect(), common, key)
    }

    fn by(kind: VerifierKind, isa: Isa, common: &CommonData, key: &VerifierKey) -> Self {
        let check = match kind {
            VerifierKind::Evergrove => Check::new(isa, common, key).ok(),
            VerifierKind::Plonky2 => None,
        };
        let circuit = VerifierCircuitData { verifier_only: key.clone(), common: common.clone() };
        Self { shape: shape_of(common), circuit, check }
    }

    /// The key of the circuit.
    pub fn key(&self) -> &VerifierKey {
        &self.circuit.verifier_only
    }

    /// The common data of the circuit.
    pub fn common(&self) -> &CommonData {
        &self.circuit.common
    }

    /// Accepts exactly the encodings of proofs of these public inputs. `name` is that of the circuit, for errors.
    ///
    /// # Errors
    /// [`BackendError::Rejected`]. Panics on no bytes: see [`Plonky2Verifier::verify`].
    pub fn verify(&self, name: impl Display, bytes: &[u8], public_inputs: Vec<F>) -> Result<(), BackendError> {
        match &self.check {
            Some(check) => check.verify(bytes, &public_inputs).map(|_| ()).map_err(|e| refused(name, e)),
            None => self.by_plonky2(name, bytes, public_inputs).map(|_| ()),
        }
    }

    /// The plonky2 proof in `bytes`, verified for these public inputs: [`Self::verify`].
    ///
    /// # Errors
    /// [`BackendError::Rejected`].
    pub fn verified(
        &self,
        name: impl Display,
        bytes: &[u8],
        public_inputs: Vec<F>,
    ) -> Result<PlonkyProof, BackendError> {
        match &self.check {
            Some(check) => match check.verify(bytes, &public_inputs) {
                Ok(opened) => Ok(to_plonky_proof(opened.snark(), public_inputs)),
                Err(e) => Err(refused(name, e)),
            },
            None => self.by_plonky2(name, bytes, public_inputs),
        }
    }

    fn by_plonky2(&self, name: impl Display, bytes: &[u8], public_inputs: Vec<F>) -> Result<PlonkyProof, BackendError> {
        let snark: Snark = wire::decode(bytes, &self.shape).map_err(|e| refused(&name, e))?;
        let proof = to_plonky_proof(&snark, public_inputs);
        self.circuit.verify(proof.clone()).map_err(|e| refused(name, e))?;
        Ok(proof)
    }

    /// The bytes of a proof that this program has made.
    pub fn encode(&self, name: impl Display, proof: &PlonkyProof) -> Result<Vec<u8>, BackendError> {
        let Self { circuit, shape, .. } = self;
        let challenges = proof
            .get_challenges(proof.get_public_inputs_hash(), &circuit.verifier_only.circuit_digest, &circuit.common)
            .map_err(|e| BackendError::Internal(format!("transcript of a fresh {name} proof: {e}")))?;
        let snark = from_plonky_proof(&proof.proof, &challenges.fri_challenges.fri_query_indices);
        Ok(wire::encode(&snark, shape))
    }
}

fn refused(name: impl Display, e: impl Display) -> BackendError {
    BackendError::Rejected(format!("{name} proof: {e}"))
}

impl Plonky2Verifier {
    /// A verifier for these keys.
    pub fn new(keys: &KeySet) -> Self {
        Self::by(VerifierKind::default(), Isa::detect(), keys)
    }

    /// A verifier of either kind for these keys, on a given instruction set: for tests and comparisons.
    ///
    /// # Panics
    /// When used on a CPU that lacks the instruction set.
    pub fn by(kind: VerifierKind, isa: Isa, keys: &KeySet) -> Self {
        let circuit = |common, key| CircuitVerifier::by(kind, isa, common, key);
        Self {
            output_len: 0,
            bucket: circuit(&keys.node_common, &keys.bucket),
            merge: circuit(&keys.node_common, &keys.merge),
            wrap: keys.wrap.as_ref().map(|(common, key)| circuit(common, key)),
        }
    }

    /// The verifier for an application's circuits with these keys, and outputs of `output_len` elements.
    pub fn of_app(keys: &KeySet, output_len: usize) -> Self {
        Self { output_len, ..Self::new(keys) }
    }

    /// The verifier with the pinned keys of a profile and height class.
    pub fn pinned(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        KeySet::pinned(profile, class).map(|keys| Self::new(&keys))
    }

    /// Accepts exactly the proofs of `proof.statement` with `proof.output` by the circuit `proof.kind`.
    ///
    /// # Errors
    /// [`BackendError::Rejected`].
    ///
    /// Panics on no bytes. [`VerifierKind::Plonky2`] panics on none that anybody will find: it divides by x - zeta, for the
    /// transcript's challenge zeta and queried points x of a domain of at most 2^18 points, which coincide with probability
    /// about 2^-110.
    pub fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        let public_inputs = self.public_inputs(proof)?;
        self.kind(proof.kind)?.verify(proof.kind, &proof.bytes, public_inputs)
    }

    /// The plonky2 proof in `proof`, verified.
    ///
    /// # Errors
    /// The errors of [`Self::verify`].
    pub fn verified(&self, proof: &NodeProof) -> Result<PlonkyProof, BackendError> {
        let public_inputs = self.public_inputs(proof)?;
        self.kind(proof.kind)?.verified(proof.kind, &proof.bytes, public_inputs)
    }

    /// The bytes of a plonky2 proof that this program has made.
    pub(crate) fn encode(&self, kind: NodeKind, proof: &PlonkyProof) -> Result<Vec<u8>, BackendError> {
        self.kind(kind)?.encode(kind, proof)
    }

    fn kind(&self, kind: NodeKind) -> Result<&CircuitVerifier, BackendError> {
        match kind {
            NodeKind::Bucket => Ok(&self.bucket),
            NodeKind::Merge => Ok(&self.merge),
            NodeKind::Wrap => {
                self.wrap.as_ref().ok_or_else(|| BackendError::Rejected("this profile has no wrap".into()))
            }
        }
    }

    /// C, d, h, base; of bucket and merge the merge key; the output.
    fn public_inputs(&self, proof: &NodeProof) -> Result<Vec<F>, BackendError> {
        let NodeProof { kind, statement: st, output, .. } = proof;
        let rejected = |what: String| Err(BackendError::Rejected(what));
        let Ok(base) = Goldilocks::from_canonical(st.base) else {
            return rejected(format!("base {} is not a position", st.base));
        };
        if output.len() != self.output_len {
            return rejected(format!("an output of {} elements, not {}", output.len(), self.output_len));
        }
        let mut out = [to_hash(&st.root).elements, to_hash(&st.canonical).elements].concat();
        out.extend([F::from_canonical_u8(st.height), to_plonky(base)]);
        if *kind != NodeKind::Wrap {
            out.extend(self.merge.key().circuit_digest.elements);
        }
        out.extend(output.iter().copied().map(to_plonky));
        Ok(out)
    }
}
