//! The transcript to use: `spongefish` with TurboSHAKE128, as in draft-irtf-cfrg-fiat-shamir.
//!
//! The proof is a string of bytes, the prover's messages one after the other: each element in
//! ceil(log2(p) / 8) bytes, little-endian, below the modulus (in standard, not Montgomery form). Challenges are 128 bits longer
//! than the modulus before they are reduced.
//!
//! **Domain separation.** The session identifier is derived from [`PROTOCOL`] and the application's own tag. The
//! context is absorbed first. It must fix everything that the caller's statement depends on and that the protocol does
//! not absorb itself, above all the commitments to the multilinear polynomials. The protocols absorb shapes, points,
//! claims and orders.

use ark_ff::{BigInteger, PrimeField};
use spongefish::{
    DefaultHash, PrivateRng, ProverState, SessionId, VerificationError, VerifierState, derive_session_id,
};

use super::transcript::{ProverTranscript, Transcript, TranscriptError, VerifierTranscript};

/// The tag of the protocols and encodings of this module. Change it whenever a message or a challenge changes.
pub const PROTOCOL: &[u8] = b"evergrove/sumcheck/v1";

/// Bytes of an element in a proof.
pub const fn element_bytes<F: PrimeField>() -> usize {
    F::MODULUS_BIT_SIZE.div_ceil(8) as usize
}

fn session(application: &[u8]) -> SessionId {
    derive_session_id::<DefaultHash>(&[&(PROTOCOL.len() as u64).to_le_bytes(), PROTOCOL, application].concat())
}

/// Bytes preceded by their number.
fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

fn encode<F: PrimeField>(elements: &[F]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * element_bytes::<F>());
    for element in elements {
        let limbs = element.into_bigint().to_bytes_le();
        bytes.extend_from_slice(&limbs[..element_bytes::<F>()]);
    }
    bytes
}

/// Elements preceded by their number.
fn framed_elements<F: PrimeField>(elements: &[F]) -> Vec<u8> {
    [&(elements.len() as u64).to_le_bytes()[..], &encode(elements)].concat()
}

/// `None` at and above the modulus.
fn decode<F: PrimeField>(bytes: &[u8]) -> Option<F> {
    let mut limbs = F::BigInt::default();
    for (limb, bytes) in limbs.as_mut().iter_mut().zip(bytes.chunks(8)) {
        *limb = bytes.iter().rev().fold(0, |limb, &byte| limb << 8 | u64::from(byte));
    }
    F::from_bigint(limbs)
}

/// Bytes of a challenge before it is reduced.
const fn challenge_bytes<F: PrimeField>() -> usize {
    element_bytes::<F>() + 16
}

/// The prover's transcript, which collects the proof.
#[derive(Debug)]
pub struct SpongeProver {
    state: ProverState,
}

impl SpongeProver {
    /// A transcript for an application, named by its tag, and a context: see the module.
    pub fn new(application: &[u8], context: &[u8]) -> Self {
        // The protocols draw no secret coins, so the generator of secrets is never used.
        let no_secrets = PrivateRng::from_seed([0; 32]);
        let mut state = ProverState::from_parts(&session(application), b"c", no_secrets);
        state.public_message_as(context, framed);
        Self { state }
    }

    /// The proof.
    pub fn into_proof(self) -> Vec<u8> {
        self.state.into_narg_string()
    }
}

impl<F: PrimeField> Transcript<F> for SpongeProver {
    fn public_bytes(&mut self, bytes: &[u8]) {
        self.state.public_message_as(bytes, framed);
    }
    fn public(&mut self, elements: &[F]) {
        self.state.public_message_as(elements, framed_elements);
    }
    fn challenge(&mut self) -> F {
        self.state.verifier_message_as(challenge_bytes::<F>(), F::from_le_bytes_mod_order)
    }
}

impl<F: PrimeField> ProverTranscript<F> for SpongeProver {
    fn send(&mut self, message: &[F]) {
        self.state.prover_message_as(message, encode);
    }
}

/// The verifier's transcript over a proof.
#[derive(Debug)]
pub struct SpongeVerifier<'a> {
    state: VerifierState<'a>,
    len: usize,
    offset: usize,
}

impl<'a> SpongeVerifier<'a> {
    /// The transcript of [`SpongeProver::new`] with the same arguments, over the resulting proof.
    pub fn new(application: &[u8], context: &[u8], proof: &'a [u8]) -> Self {
        let mut state = VerifierState::new(&session(application), b"c", proof);
        state.public_message_as(context, framed);
        Self { state, len: proof.len(), offset: 0 }
    }

    /// Checks that the proof ends here: the last call of a verifier.
    pub fn finish(self) -> Result<(), TranscriptError> {
        let Self { state, len, offset } = self;
        match state.into_narg_string() {
            Err(VerificationError) => Err(TranscriptError::Poisoned),
            Ok([]) => Ok(()),
            Ok(_) => Err(TranscriptError::TrailingBytes { offset, len }),
        }
    }
}

impl<F: PrimeField> Transcript<F> for SpongeVerifier<'_> {
    fn public_bytes(&mut self, bytes: &[u8]) {
        self.state.public_message_as(bytes, framed);
    }
    fn public(&mut self, elements: &[F]) {
        self.state.public_message_as(elements, framed_elements);
    }
    fn challenge(&mut self) -> F {
        self.state.verifier_message_as(challenge_bytes::<F>(), F::from_le_bytes_mod_order)
    }
}

impl<F: PrimeField> VerifierTranscript<F> for SpongeVerifier<'_> {
    fn receive(&mut self, message: &mut [F]) -> Result<(), TranscriptError> {
        for element in message {
            let (offset, len) = (self.offset, self.len);
            let mut error = TranscriptError::Poisoned;
            let read = self.state.prover_message_as(|reader| {
                error = TranscriptError::Truncated { offset, len };
                let bytes = reader.take(element_bytes::<F>())?;
                error = TranscriptError::NonCanonical { offset };
                decode(bytes).ok_or(VerificationError)
            });
            *element = read.map_err(|VerificationError| error)?;
            self.offset += element_bytes::<F>();
        }
        Ok(())
    }
}
