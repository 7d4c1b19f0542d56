//! Elements and transcripts for the tests.

use evergrove_kernels::sumcheck::{ProverTranscript, Transcript, TranscriptError, VerifierTranscript};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Elements at random.
pub(crate) struct Elements(ChaCha8Rng);

impl Elements {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }
    pub(crate) fn base(&mut self) -> Goldilocks {
        Goldilocks::reduce(self.0.next_u64())
    }
    pub(crate) fn bases(&mut self, n: usize) -> Vec<Goldilocks> {
        (0..n).map(|_| self.base()).collect()
    }
    pub(crate) fn element<K: Extension>(&mut self) -> K {
        K::from_coefficients(&self.bases(K::DEGREE)).expect("its coefficients")
    }
    pub(crate) fn elements<K: Extension>(&mut self, n: usize) -> Vec<K> {
        (0..n).map(|_| self.element()).collect()
    }
}

/// A transcript whose challenges depend on all messages before them: the prover's keeps the messages, the verifier's reads them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorder<K> {
    pub(crate) messages: Vec<Vec<K>>,
    state: u64,
    read: usize,
}

impl<K> Recorder<K> {
    pub(crate) fn new() -> Self {
        Self { messages: Vec::new(), state: 0, read: 0 }
    }
    pub(crate) fn rewound(self) -> Self {
        Self { messages: self.messages, state: 0, read: 0 }
    }
}

impl<K: Extension> Transcript<K> for Recorder<K> {
    fn public_bytes(&mut self, _bytes: &[u8]) {}
    fn public(&mut self, _elements: &[K]) {}
    fn challenge(&mut self) -> K {
        self.mix(0);
        Elements::new(self.state).element()
    }
}

impl<K: Extension> Recorder<K> {
    fn mix(&mut self, word: u64) {
        self.state = (self.state.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    }
    fn take_in(&mut self, message: &[K]) {
        self.mix(message.len() as u64);
        for x in message.iter().flat_map(|x| x.as_ref()) {
            self.mix(x.as_u64());
        }
    }
}

impl<K: Extension> ProverTranscript<K> for Recorder<K> {
    fn send(&mut self, message: &[K]) {
        self.take_in(message);
        self.messages.push(message.to_vec());
    }
}

impl<K: Extension> VerifierTranscript<K> for Recorder<K> {
    fn receive(&mut self, message: &mut [K]) -> Result<(), TranscriptError> {
        let sent = self.messages.get(self.read).filter(|sent| sent.len() == message.len());
        message.copy_from_slice(sent.ok_or(TranscriptError::Poisoned)?);
        self.read += 1;
        self.take_in(message);
        Ok(())
    }
}
