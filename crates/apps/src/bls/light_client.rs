//! A light client: checks a committee's signature with a proven aggregate key.

use blst::BLST_ERROR;
use blst::min_pk::Signature;

use super::Output;
use super::point::KeyError;

/// Ethereum's ciphersuite: signatures in G2, with proofs of possession.
pub const CIPHERSUITE: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/// Bytes of a compressed point of G2.
pub const SIGNATURE_BYTES: usize = 96;

/// The claim that at least `threshold` signers signed a message.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The message; in Ethereum the signing root.
    pub message: &'a [u8],
    /// The aggregate signature: [`SIGNATURE_BYTES`] bytes in compressed form. Other forms are refused.
    pub signature: &'a [u8],
    /// The least number of signers.
    pub threshold: u64,
}

/// Reasons why a claim is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The output names fewer signers.
    #[error("{count} signers are fewer than {threshold}")]
    TooFew {
        /// Signers in the output.
        count: u64,
        /// [`Claim::threshold`].
        threshold: u64,
    },
    /// The aggregate key is not a valid key.
    #[error("the aggregate key is {0}")]
    Key(#[from] KeyError),
    /// The signature is not a point of G2.
    #[error("the signature is not a point of G2 in compressed form")]
    Encoding,
    /// The pairing equation does not hold.
    #[error("the signature is not valid for the message under the aggregate key")]
    Signature,
}

/// Checks a claim with an output that a verified proof of [`super::BlsKeys`] states. Takes two pairings, about a
/// millisecond.
///
/// The proof shows that `output` is the sum and the number of the keys of some leaves of the commitment, each leaf
/// once. The caller must verify the proof, and must trust the commitment.
///
/// # Errors
/// Says what does not hold. Never panics.
pub fn check(output: &Output, claim: &Claim<'_>) -> Result<(), ClaimError> {
    if output.count < claim.threshold {
        return Err(ClaimError::TooFew { count: output.count, threshold: claim.threshold });
    }
    let key = output.key.to_key()?;
    if claim.signature.len() != SIGNATURE_BYTES {
        return Err(ClaimError::Encoding);
    }
    let signature = Signature::from_bytes(claim.signature).map_err(|_| ClaimError::Encoding)?;
    match signature.verify(true, claim.message, CIPHERSUITE, &[], &key, false) {
        BLST_ERROR::BLST_SUCCESS => Ok(()),
        BLST_ERROR::BLST_POINT_NOT_IN_GROUP | BLST_ERROR::BLST_POINT_NOT_ON_CURVE => Err(ClaimError::Encoding),
        _ => Err(ClaimError::Signature),
    }
}
