//! Applications: what the leaves of a batch come to, as circuits beside those of the batch.
//!
//! **Public inputs** of an application's circuits are those of the batch's, then a digest of the application's *inputs* (constants that its
//! circuits do not depend on), then the output, a word for each element. So applications that differ in their inputs alone have one key.

use evergrove_commit::LeafWitness;
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
    /// The slot holds a leaf. Where it does not, index and value are the prover's: zeros of an honest one.
    pub active: Bool,
    /// The leaf's position.
    pub index: Base,
    /// The four elements of its value: limbs of words.
    pub value: [(Word, usize); WORD],
}

/// [`Circuits::larger`] of most applications.
pub const LARGER: f64 = 1.25;

/// The constraints of an application. Circuits of two applications may differ only if one of name, lengths, bounds, `most`, `larger` and what `fold` and `reduce` do differs;
/// inputs are no part of them.
pub trait Circuits: Send + Sync {
    /// Elements of the inputs, constants that `fold` takes as wires: each statement says which they are.
    fn inputs(&self) -> Vec<Goldilocks>;
    /// Bits of the numbers that the circuits bound by [`Arithmetic::below`].
    fn bounds(&self) -> Vec<usize>;
    /// The most leaves that a bucket is to hold; of complete batches, the next lower power of two.
    fn most(&self) -> usize {
        usize::MAX
    }
    /// The stack of buckets is at most so many times that of the merge alone: they then hold more leaves, and each proof takes longer.
    fn larger(&self) -> f64 {
        LARGER
    }
    /// The free data that opens a slot: by default its opening, with zeros up to a block of a sponge. Of a slot without a leaf the opening is zeros.
    fn free(&self, mut opening: Vec<Goldilocks>) -> Vec<Goldilocks> {
        opening.resize(opening.len().max(RATE), Goldilocks::ZERO);
        opening
    }
    /// The output of the active slots, in their order, and nothing of the others, whatever a prover puts there. It opens slot after slot, each by
    /// [`Self::free`] of its opening, and takes no other free data.
    fn fold(&self, b: &mut dyn Arithmetic, inputs: &[Base], slots: &[Slot]) -> Vec<Base>;
    /// The output of two outputs, those of the leaves at lower positions first. It takes no free data.
    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base>;
}

/// An application, as its backend needs it.
pub trait Application: Send + Sync {
    /// Its circuits.
    fn circuits(&self) -> &dyn Circuits;
    /// Elements that open a leaf.
    fn opening_len(&self) -> usize;
    /// Elements of an output.
    fn output_len(&self) -> usize;
    /// The output of leaves, as code.
    ///
    /// # Errors
    /// Why a leaf has none, or outputs are not reduced.
    fn map(&self, leaves: &[LeafWitness]) -> Result<Vec<Goldilocks>, String>;
    /// The output of two outputs, as code.
    ///
    /// # Errors
    /// Why they have none.
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, String>;
}

/// How statements say an application's output, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) said: Said,
    /// Its elements.
    pub(crate) len: usize,
}

impl Output {
    /// Of digest translation.
    pub(crate) const TRANSLATION: Self = Self { said: Said::Words, len: keccak_tree::DIGEST_HALVES };

    pub(crate) fn new(app: &dyn Application) -> Self {
        let inputs = inputs_digest(&app.circuits().inputs());
        Self { said: Said::Elements { inputs }, len: app.output_len() }
    }
    /// The digest of the inputs, zeros where there are none.
    pub(crate) fn inputs(self) -> [Goldilocks; WORD] {
        match self.said {
            Said::Elements { inputs } => inputs,
            Said::Words => [Goldilocks::ZERO; WORD],
        }
    }
}

/// [`inputs_digest`] of wires.
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
