//! Applications: what the leaves of a batch come to, as circuits beside those of the batch.
//!
//! **Public inputs** of an application's circuits are those of the batch's, then a digest of the application's *inputs* (constants that its
//! circuits do not depend on), then the output, a word for each element. So applications that differ in their inputs alone have one key.

use evergrove_commit::LeafWitness;
use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Word};
use evergrove_multilinear::circuit::{Arithmetic, Builder};
use evergrove_multilinear::poseidon;
use evergrove_multilinear::tables::WORD;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_proof::{Statement, keccak_tree};

/// What an application's inputs are hashed from.
const INPUTS_TAG: Goldilocks = Goldilocks::new(0x696e_7075);

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

/// The constraints of an application. Circuits of two applications may differ only if one of name, lengths, bounds, `most` and what `fold` and `reduce` do differs;
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
    /// The output of the active slots, in their order, and nothing of the others, whatever a prover puts there. It opens slot after slot, each by as
    /// many elements of free data as an opening has, and takes no other free data.
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

/// What statements say beside that of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// The digest of the inputs. Without one the output is words of four elements: a Keccak digest.
    pub(crate) inputs: Option<[Goldilocks; WORD]>,
    /// Elements of an output.
    pub(crate) output_len: usize,
}

impl Said {
    /// Of digest translation.
    pub(crate) const TRANSLATION: Self = Self { inputs: None, output_len: keccak_tree::DIGEST_HALVES };

    pub(crate) fn new(app: &dyn Application) -> Self {
        Self { inputs: Some(digest(&app.circuits().inputs())), output_len: app.output_len() }
    }
}

/// The digest of inputs, two in a block.
pub fn digest(inputs: &[Goldilocks]) -> [Goldilocks; WORD] {
    let zero = [Goldilocks::ZERO; WORD];
    let tag = [INPUTS_TAG, zero[0], zero[0], zero[0]];
    inputs.chunks(2).fold(tag, |h, pair| {
        let [a, b] = [pair[0], pair.get(1).copied().unwrap_or_default()];
        let z = Goldilocks::ZERO;
        poseidon::digest([a, z, z, z, b, z, z, z, h[0], h[1], h[2], h[3]])
    })
}

/// [`digest`] of wires.
pub(crate) fn digest_of<K: Extension>(b: &mut Builder<K>, inputs: &[Base]) -> Word {
    let zero = b.zero();
    let mut chain = b.tag(INPUTS_TAG);
    for pair in inputs.chunks(2) {
        let [first, second] = [pair[0], pair.get(1).copied().unwrap_or(zero)];
        chain = b.hash(chain, [word(first), word(second)]);
    }
    chain.digest()
}

/// The words of a statement: the public inputs of all circuits.
pub(crate) fn information(
    statement: &Statement,
    said: Option<&Said>,
    output: &[Goldilocks],
) -> Vec<[Goldilocks; WORD]> {
    let number = |x: Goldilocks| [x, Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO];
    let mut words = crate::circuit::information(statement);
    match said.map(|said| said.inputs) {
        None => {}
        Some(Some(inputs)) => {
            words.push(inputs);
            words.extend(output.iter().map(|&x| number(x)));
        }
        Some(None) => words.extend(output.as_chunks().0),
    }
    words
}

/// A number as a word of public inputs.
pub(crate) fn word(x: Base) -> Word {
    Element::from(x).into()
}
