//! The interface of a Fiat-Shamir transcript for the protocols.
//!
//! A protocol is written once for the prover, against [`ProverTranscript`], and once for the verifier, against
//! [`VerifierTranscript`]. [`sponge`](super::sponge) has the transcript to use; tests use others, to fix the challenges.

/// The operations of both sides: absorb public data, and draw challenges.
///
/// Every call changes all later challenges, and the length of its argument is part of the change.
pub trait Transcript<F> {
    /// Absorbs bytes that both sides know and that are not in the proof.
    fn public_bytes(&mut self, bytes: &[u8]);
    /// Absorbs field elements that both sides know and that are not in the proof.
    fn public(&mut self, elements: &[F]);
    /// A challenge, uniform except for a bias below 2^-128.
    fn challenge(&mut self) -> F;
}

/// The prover's side.
pub trait ProverTranscript<F>: Transcript<F> {
    /// Absorbs a message of the prover and appends it to the proof. The protocol fixes its length.
    fn send(&mut self, message: &[F]);
}

/// The verifier's side.
pub trait VerifierTranscript<F>: Transcript<F> {
    /// Reads a message of the prover, as long as `message`, from the proof, and absorbs it.
    fn receive(&mut self, message: &mut [F]) -> Result<(), TranscriptError>;
}

/// A proof that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The proof ends within a message.
    #[error("the proof has {len} bytes and ends within the element at byte {offset}")]
    Truncated {
        /// Where the element begins.
        offset: usize,
        /// Bytes of the proof.
        len: usize,
    },
    /// An element is not below the modulus.
    #[error("the element at byte {offset} of the proof is not below the modulus")]
    NonCanonical {
        /// Where the element begins.
        offset: usize,
    },
    /// Bytes are left after the last message.
    #[error("the proof has {len} bytes, but its last message ends at byte {offset}")]
    TrailingBytes {
        /// Where the last message ends.
        offset: usize,
        /// Bytes of the proof.
        len: usize,
    },
    /// An earlier message could not be read.
    #[error("an earlier message of the proof could not be read")]
    Poisoned,
}
