//! Keys: the data about the two circuits that a verifier needs, and the end of verification.
//!
//! **The two circuits** have one layout, hence one [`Parameters`]; proofs about proofs accept proofs of either. Their
//! stacks of fixed columns are one polynomial P, whose highest variable selects the stack.
//!
//! **The digest** of a key is BLAKE3 of its bytes (format, parameters, both stacks); each eight bytes of this hash are
//! reduced modulo p. It is part of every statement, so a proof about proofs is about proofs of its own key.
//!
//! **Verified.** Only [`verify`] and [`Check`] make a [`Verified`]: they check a proof, its own claim about P and the
//! one among its public inputs. `Check` reads the key's bytes once, from a file of any size, and keeps no part of them.

mod header;
mod stream;
mod sums;

use alloc::vec::Vec;
use core::fmt;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use crate::argument::transcript::Word;
use crate::argument::{Claim, Machine, Parameters, Reader, Refusal, Statement, read_up_to_fixed, tags};

pub use header::{Header, HeaderError, MAX_ELEMENTS};
pub use stream::{Check, KeyError, key_digest};
pub use sums::{chunk_sum, chunk_weights, within};

/// The public inputs of a proof: words of the application, and a claim about P that it hands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public<W, E> {
    /// The application's words.
    pub information: Vec<W>,
    /// A point, with a coordinate for each variable of P. A proof that verifies no proofs may hand on any claim: it is
    /// checked like every other claim.
    pub point: Vec<E>,
    /// The value of P there.
    pub value: E,
}

impl<W: Copy, E: Copy> Public<W, E> {
    /// The digest in a statement.
    pub fn digest<M: Machine<Word = W, Element = E>>(&self, m: &mut M, key: W) -> W {
        m.begin(tags::PUBLIC_INPUTS);
        let elements: Vec<E> = self.point.iter().copied().chain([self.value]).collect();
        m.observe_elements(&elements);
        observe_words(m, key, self.point.len(), &self.information)
    }
}

impl<K: Extension> Public<Word, K> {
    /// The statement of a proof of a circuit of the key of this digest, with these public inputs.
    pub fn statement(&self, key: Word, circuit: bool) -> Statement<Word, bool> {
        let public = self.digest(&mut Reader::<K>::new(&[]), key);
        Statement { key, circuit, public }
    }
}

/// The last words of the digest: key, numbers of words and coordinates, words.
pub fn observe_words<M: Machine>(m: &mut M, key: M::Word, coordinates: usize, information: &[M::Word]) -> M::Word {
    let counts = m.word([information.len() as u64, coordinates as u64, 0, 0].map(Goldilocks::new));
    m.observe(&[&[key, counts], information].concat());
    m.digest()
}

/// A verified statement: only this module makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    key: Word,
    information: Vec<Word>,
    circuit: bool,
}

impl Verified {
    /// The digest of the key.
    pub fn key(&self) -> Word {
        self.key
    }
    /// The application's words.
    pub fn information(&self) -> &[Word] {
        &self.information
    }
    /// The circuit of the key that the proof is of.
    pub fn circuit(&self) -> bool {
        self.circuit
    }
}

/// Why a proof is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// The proof itself does not hold.
    Refused(Refusal),
    /// The number of coordinates of the claim is wrong.
    Point {
        /// Its coordinates.
        given: usize,
        /// Variables of P.
        needed: usize,
    },
    /// The fixed columns that the proof used are not those of the key.
    Circuit,
    /// The claim among the public inputs is wrong: a proof below belongs to a circuit outside the key.
    Handed,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Point { given, needed } => write!(
                f,
                "the claim among the public inputs has {given} coordinates: the key's polynomial has {needed} variables"
            ),
            Self::Circuit => f.write_str("the proof is of another circuit than the key's"),
            Self::Handed => f.write_str("a proof that this proof is about is of another circuit than the key's"),
        }
    }
}

impl core::error::Error for VerifyError {}

impl From<Refusal> for VerifyError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The fixed columns of a key's circuits in memory. The result of [`verify`] is as true as the answers of an
/// implementation.
pub trait FixedColumns<K> {
    /// The parameters of both circuits.
    fn parameters(&self) -> &Parameters<K>;
    /// The digest of the key.
    fn digest(&self) -> Word;
    /// Which of these claims about P are true. Their points have a coordinate for each variable.
    fn hold(&self, claims: [&Claim<K>; 2]) -> [bool; 2];
}

/// Verifies a proof of one of the two circuits, and with it all proofs that it verifies. The result is as true as the
/// answers of `columns`.
///
/// # Errors
/// [`VerifyError`].
pub fn verify<K: Extension>(
    columns: &impl FixedColumns<K>,
    proof: &[Goldilocks],
    circuit: bool,
    public: &Public<Word, K>,
) -> Result<(Verified, [Claim<K>; 2]), VerifyError> {
    let key = columns.digest();
    let claims = read_claims(columns.parameters(), key, proof, circuit, public)?;
    judge(columns.hold([&claims[0], &claims[1]]))?;
    Ok((Verified { key, information: public.information.clone(), circuit }, claims))
}

/// Checks everything about a proof except its two claims about P: its own, and the one that it hands on.
fn read_claims<K: Extension>(
    parameters: &Parameters<K>,
    key: Word,
    proof: &[Goldilocks],
    circuit: bool,
    public: &Public<Word, K>,
) -> Result<[Claim<K>; 2], VerifyError> {
    let (given, needed) = (public.point.len(), variables(parameters));
    if given != needed {
        return Err(VerifyError::Point { given, needed });
    }
    let own = read_up_to_fixed(proof, parameters, &public.statement(key, circuit))?;
    Ok([Claim::Fixed(own), Claim::At { point: public.point.clone(), value: public.value }])
}

/// Variables of P.
pub fn variables<K: Extension>(parameters: &Parameters<K>) -> usize {
    parameters.layout().fixed().variables() + 1
}

fn judge([own, handed]: [bool; 2]) -> Result<(), VerifyError> {
    match (own, handed) {
        (false, _) => Err(VerifyError::Circuit),
        (true, false) => Err(VerifyError::Handed),
        (true, true) => Ok(()),
    }
}
