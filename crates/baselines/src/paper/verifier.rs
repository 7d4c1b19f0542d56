//! Verification with pinned keys: no circuit is built.

use evergrove_commit::{BackendError, NodeProof};
use evergrove_verifier::keys::{PaperKeys, paper_file_name, pinned_paper};
use evergrove_verifier::{FriParams, Profile, Scheme};

use super::backend::public_inputs;
use evergrove_plonky2::backend_id;
use evergrove_plonky2::circuit::params_of;
use evergrove_plonky2::keys::from_pinned;
use evergrove_plonky2::{CircuitVerifier, check_params};

/// Verifies the final proofs of the paper's scheme with pinned keys, of one profile and vectors of any height. Where none are
/// pinned, [`super::PaperBackend`] builds the circuits and verifies.
pub struct PaperVerifier {
    keys: PaperKeys,
}

impl PaperVerifier {
    /// The verifier with the pinned keys of a profile.
    ///
    /// # Errors
    /// When this build pins no keys, or pins bytes that do not decode.
    pub fn pinned(profile: Profile) -> Result<Self, BackendError> {
        let internal = |e: String| BackendError::Internal(format!("pinned keys {}: {e}", paper_file_name(profile)));
        let bytes = pinned_paper(profile).ok_or_else(|| internal("this build has none".into()))?;
        let keys = PaperKeys::decode(bytes).map_err(|e| internal(e.to_string()))?;
        if (&keys.backend, keys.profile, keys.block_height) != (&backend_id(), profile, Scheme::BLOCK_HEIGHT) {
            return Err(internal(format!("are of {}, {}, q = {}", keys.backend, keys.profile, keys.block_height)));
        }
        Ok(Self { keys })
    }

    /// The keys.
    pub fn keys(&self) -> &PaperKeys {
        &self.keys
    }

    /// Accepts exactly the proofs of C, d and the height of `proof.statement` by the circuit that ends batches of vectors
    /// of that height; the paper's statement knows no base. Panics on no bytes that anybody will find, like
    /// [`evergrove_plonky2::Plonky2Verifier::verify`].
    ///
    /// # Errors
    /// [`BackendError::Rejected`]; [`BackendError::Internal`] when the key does not decode or is of a circuit with other
    /// parameters.
    pub fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        let height = proof.statement.height;
        let key = self.keys.get(height).filter(|k| k.kind == proof.kind).ok_or_else(|| {
            BackendError::Rejected(format!("no {} proof is of a whole vector of height {height}", proof.kind))
        })?;
        let (common, key) = from_pinned(key).map_err(|e| BackendError::Internal(e.to_string()))?;
        let profile = self.keys.profile;
        let params = match profile.wrap() {
            Some(wrap) => wrap,
            None => params_of(profile)?,
        };
        // Each circuit of the chain has its own number of rows.
        let params = FriParams { degree_bits: common.degree_bits() as u8, ..params };
        check_params(&common, &params).map_err(|e| BackendError::Internal(e.to_string()))?;
        let verifier = CircuitVerifier::new(&common, &key);
        verifier.verify(proof.kind, &proof.bytes, public_inputs(&proof.statement))
    }
}
