//! Applications: functions of the leaves of a batch, as circuits beside those of the batch.
//!
//! **Public inputs** of an application's circuits are those of the batch, then a digest of the application's *inputs*,
//! then the output, one word per element. Inputs are constants that the circuits do not depend on, so applications that
//! differ only in their inputs share one key.

use evergrove_commit::{BackendError, LeafWitness};
use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Word};
use evergrove_multilinear::circuit::{Arithmetic, Builder};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tables::permutation::RATE;
use evergrove_verifier::{INPUTS_TAG, Said, inputs_digest, keccak_tree};

/// A slot of a bucket, as an application's circuit sees it.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// True if the slot holds a leaf. If it does not, the prover chooses index and value; an honest prover chooses
    /// zeros.
    pub active: Bool,
    /// The leaf's position.
    pub index: Base,
    /// The four elements of its value, each as a limb of a word.
    pub value: [(Word, usize); WORD],
}

/// [`Circuits::larger`] by default.
pub const LARGER: f64 = 1.25;

/// The constraints of an application. The circuits of two applications may differ only if they differ in name, lengths,
/// bounds, `most`, `larger`, `fold` or `reduce`. Circuits do not depend on the values of the inputs.
pub trait Circuits: Send + Sync {
    /// Elements of the inputs: constants that `fold` takes as wires. Each statement names them by their digest.
    fn inputs(&self) -> Vec<Goldilocks>;
    /// Widths in bits of the numbers that the circuits bound by `below`.
    fn bounds(&self) -> Vec<usize>;
    /// The most leaves that a bucket may hold; for complete batches this is rounded down to a power of two.
    fn most(&self) -> usize {
        usize::MAX
    }
    /// The stack of buckets is at most this many times the stack of the merge alone. A larger value lets buckets hold
    /// more leaves and makes each proof slower.
    fn larger(&self) -> f64 {
        LARGER
    }
    /// The free data that opens a slot: by default the opening, padded with zeros to one block of the sponge. The
    /// opening of a slot without a leaf is all zeros.
    fn free(&self, mut opening: Vec<Goldilocks>) -> Vec<Goldilocks> {
        opening.resize(opening.len().max(RATE), Goldilocks::ZERO);
        opening
    }
    /// The output of the active slots, in their order. The other slots must not influence it, whatever the prover puts
    /// there. Opens the slots one after the other, each by [`Self::free`] of its opening, and takes no other free data.
    fn fold(&self, b: &mut dyn Arithmetic, inputs: &[Base], slots: &[Slot]) -> Vec<Base>;
    /// Combines two outputs; `left` is the output of the leaves at lower positions. Takes no free data.
    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base>;
}

/// An application, as the backend needs it.
pub trait Application: Send + Sync {
    /// Its circuits.
    fn circuits(&self) -> &dyn Circuits;
    /// Elements that open a leaf.
    fn opening_len(&self) -> usize;
    /// Elements of an output.
    fn output_len(&self) -> usize;
    /// The output of the leaves, computed without a circuit.
    ///
    /// # Errors
    /// [`BackendError::Witness`] with the reason why a leaf has no output, or why outputs cannot be reduced.
    fn map(&self, leaves: &[LeafWitness]) -> Result<Vec<Goldilocks>, BackendError>;
    /// Combines two outputs, without a circuit.
    ///
    /// # Errors
    /// [`BackendError::Witness`] with the reason why they cannot be combined.
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, BackendError>;
}

/// How statements encode an application's output, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) said: Said,
    /// In elements of F.
    pub(crate) len: usize,
}

impl Output {
    /// The output of digest translation.
    pub(crate) const TRANSLATION: Self = Self { said: Said::Words, len: keccak_tree::DIGEST_HALVES };

    pub(crate) fn new(app: &dyn Application) -> Self {
        let inputs = inputs_digest(&app.circuits().inputs());
        Self { said: Said::Elements { inputs }, len: app.output_len() }
    }
    /// The digest of the inputs; zeros if the statement has no inputs.
    pub(crate) fn inputs(self) -> [Goldilocks; WORD] {
        match self.said {
            Said::Elements { inputs } => inputs,
            Said::Words => [Goldilocks::ZERO; WORD],
        }
    }
}

/// Computes [`inputs_digest`] on wires.
pub(crate) fn digest_of<K: Extension>(b: &mut Builder<K>, inputs: &[Base]) -> Word {
    let zero = b.zero();
    let mut chain = b.tag(INPUTS_TAG);
    for pair in inputs.chunks(2) {
        let [first, second] = [pair[0], pair.get(1).copied().unwrap_or(zero)];
        chain = b.hash(chain, [word(first), word(second)]);
    }
    chain.digest()
}

/// A number as a word of public inputs.
pub(crate) fn word(x: Base) -> Word {
    Element::from(x).into()
}
