//! Verification beside a key file, which is read once from beginning to end.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::blake3::Hasher;
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};

use super::sums::eq_table;
use super::{
    Header, HeaderError, Public, Verified, VerifyError, chunk_sum, chunk_weights, judge, read_claims, variables, within,
};
use crate::argument::transcript::Word;
use crate::argument::{Claim, FixedClaim, Parameters, Round};
use crate::tables::{BLOCK, BLOCK_LOG};

/// A check of a proof against a key file. [`Check::key`] takes the bytes of the file, and [`Check::finish`] decides.
///
/// The header of the key has the parameters of the proof. With them the check reads the proof, which leaves two claims about the fixed columns in the rest of
/// the file. The digest of all bytes is compared last. Without the right digest there is no verdict.
///
/// ```text
/// Header --- 8 words and more: the proof is read ---> Columns --- both stacks ---> Columns, none left --- finish ---> Verified
///    \-- the proof does not hold ---> Refused: the rest is hashed --- finish ---> VerifyError, if the digest is right
/// any of them --- bytes that no key has ---> Failed
/// ```
#[derive(Debug)]
pub struct Check<K> {
    expected: Word,
    rounds: &'static [Round],
    circuit: bool,
    information: Vec<Word>,
    /// The claim that the proof hands on, followed by the proof.
    body: Vec<Goldilocks>,
    hasher: Hasher,
    taken: u64,
    /// The bytes of an incomplete word.
    word: [u8; 8],
    state: State<K>,
    parameters: Option<Parameters<K>>,
}

#[derive(Debug)]
enum State<K> {
    Header(Vec<u64>),
    Columns(Columns<K>),
    /// The proof is refused, provided that the digest is right. The remaining bytes are only hashed.
    Refused(VerifyError),
    /// The bytes are not a key.
    Failed(KeyError),
}

/// Why a key file is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The file is missing or empty.
    Missing,
    /// The header is invalid.
    Header(HeaderError),
    /// The key has the opening schedule of another profile.
    Schedule,
    /// The file ends early.
    Truncated {
        /// Bytes of the file.
        found: u64,
    },
    /// Bytes follow the key.
    Trailing {
        /// Bytes of the key.
        expected: u64,
    },
    /// A fixed column has an integer that is not below p.
    NonCanonical {
        /// Offset of the integer, in bytes.
        offset: u64,
    },
    /// The file has another digest.
    Digest {
        /// Digest of the file.
        found: Digest,
        /// The expected digest.
        expected: Digest,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing key file: a verdict needs the fixed columns in it"),
            Self::Header(e) => e.fmt(f),
            Self::Schedule => f.write_str("the key does not have the schedule of the proof's profile"),
            Self::Truncated { found } => write!(f, "the key file ends early, after {found} bytes"),
            Self::Trailing { expected } => write!(f, "bytes follow the key, which has {expected} bytes"),
            Self::NonCanonical { offset } => {
                write!(f, "the key is damaged: the fixed column at byte {offset} is not below p")
            }
            Self::Digest { found, expected } => write!(f, "the key has the digest {found}, expected {expected}"),
        }
    }
}

impl core::error::Error for KeyError {}

impl From<HeaderError> for KeyError {
    fn from(e: HeaderError) -> Self {
        Self::Header(e)
    }
}

impl<K: Extension> Check<K> {
    /// A check of a proof with the key of the digest `expected`, whose proofs are opened by `rounds`. `body` is the
    /// claim that is handed on, followed by the proof's own elements; `information` is the words that must be shown.
    pub fn new(
        expected: Word,
        rounds: &'static [Round],
        circuit: bool,
        information: Vec<Word>,
        body: Vec<Goldilocks>,
    ) -> Self {
        Self {
            expected,
            rounds,
            circuit,
            information,
            body,
            hasher: Hasher::default(),
            taken: 0,
            word: [0; 8],
            state: State::Header(Vec::new()),
            parameters: None,
        }
    }

    /// The next bytes of the key, any number of them.
    ///
    /// # Errors
    /// [`KeyError`] if the bytes are not a key. Every later call returns the same error.
    pub fn key(&mut self, bytes: &[u8]) -> Result<(), KeyError> {
        if let State::Failed(e) = &self.state {
            return Err(e.clone());
        }
        self.take(bytes).inspect_err(|e| self.state = State::Failed(e.clone()))
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), KeyError> {
        self.hasher.update(bytes);
        while !bytes.is_empty() {
            let at = (self.taken % 8) as usize;
            if at > 0 || bytes.len() < 8 {
                let (now, rest) = bytes.split_at(bytes.len().min(8 - at));
                self.word[at..][..now.len()].copy_from_slice(now);
                self.taken += now.len() as u64;
                bytes = rest;
                if self.taken.is_multiple_of(8) {
                    self.element(u64::from_le_bytes(self.word))?;
                }
                continue;
            }
            let (words, _) = bytes.as_chunks::<8>();
            for word in words {
                self.taken += 8;
                self.element(u64::from_le_bytes(*word))?;
            }
            bytes = &bytes[8 * words.len()..];
        }
        Ok(())
    }

    /// The next word of the key.
    fn element(&mut self, word: u64) -> Result<(), KeyError> {
        match &mut self.state {
            State::Header(words) => {
                words.push(word);
                let Some(&first) = words.first_chunk() else { return Ok(()) };
                if words.len() < Header::<K>::length(first)? {
                    return Ok(());
                }
                let Header(parameters) = Header::<K>::read(words)?;
                if parameters.schedule().rounds != self.rounds {
                    return Err(KeyError::Schedule);
                }
                self.state = match self.read(&parameters) {
                    Ok(claims) => State::Columns(Columns::new(&parameters, claims)),
                    Err(e) => State::Refused(e),
                };
                self.parameters = Some(parameters);
            }
            State::Columns(columns) => {
                let offset = self.taken - 8;
                let x = Goldilocks::from_canonical(word).map_err(|_| KeyError::NonCanonical { offset })?;
                if !columns.take(x) {
                    return Err(KeyError::Trailing { expected: offset });
                }
            }
            State::Refused(_) | State::Failed(_) => {}
        }
        Ok(())
    }

    /// Reads the proof, up to its claims. Frees it.
    fn read(&mut self, parameters: &Parameters<K>) -> Result<[Claim<K>; 2], VerifyError> {
        let body = core::mem::take(&mut self.body);
        let needed = variables(parameters);
        let (claim, proof) = body.split_at(body.len().min((needed + 1) * K::DEGREE));
        let mut point: Vec<K> = claim.chunks_exact(K::DEGREE).filter_map(K::from_coefficients).collect();
        let given = point.len().saturating_sub(1);
        let value = point.pop().ok_or(VerifyError::Point { given, needed })?;
        let public = Public { information: self.information.clone(), point, value };
        read_claims(parameters, self.expected, proof, self.circuit, &public)
    }

    /// Decides, after the last byte of the key. Returns whether the proof holds, and the key's parameters.
    ///
    /// # Errors
    /// [`KeyError`] if there is no verdict. The inner result is a [`VerifyError`] if the proof is refused.
    pub fn finish(self) -> Result<(Result<Verified, VerifyError>, Parameters<K>), KeyError> {
        if self.taken == 0 {
            return Err(KeyError::Missing);
        }
        let truncated = KeyError::Truncated { found: self.taken };
        let hold = match &self.state {
            State::Header(_) => return Err(truncated),
            State::Columns(columns) if columns.left > 0 || !self.taken.is_multiple_of(8) => return Err(truncated),
            State::Columns(columns) => judge(columns.hold()),
            State::Refused(e) => Err(*e),
            State::Failed(e) => return Err(e.clone()),
        };
        let found = name(&self.hasher);
        if found != self.expected {
            return Err(KeyError::Digest { found: Digest(found), expected: Digest(self.expected) });
        }
        let Self { information, circuit, parameters, .. } = self;
        let parameters = parameters.ok_or(truncated)?;
        Ok((hold.map(|()| Verified { key: found, information, circuit }), parameters))
    }
}

/// The digest of a key file, all of whose bytes the hasher has taken.
pub fn key_digest(hasher: &Hasher) -> Digest {
    Digest(name(hasher))
}

/// The digest of a key with these bytes.
fn name(hasher: &Hasher) -> Word {
    let digest = hasher.finish();
    let words = digest.as_chunks::<8>().0;
    core::array::from_fn(|i| Goldilocks::reduce(u64::from_le_bytes(words[i])))
}

/// Sums over both stacks, for two claims.
#[derive(Debug)]
struct Columns<K> {
    isa: Isa,
    /// Elements of a stack, and the remaining elements of both.
    elements: usize,
    left: usize,
    chunk: Vec<Goldilocks>,
    /// A proof's own claim: weights within a chunk, of each chunk of a stack; the circuit; the sum and its value.
    own: ([Vec<K>; 2], K, [K; 2]),
    /// The claim that is handed on: weights within a chunk, of each chunk of both stacks; the sum and its value.
    handed: ([Vec<K>; 2], [K; 2]),
}

impl<K: Extension> Columns<K> {
    fn new(parameters: &Parameters<K>, claims: [Claim<K>; 2]) -> Self {
        let layout = parameters.layout();
        let stack = layout.fixed();
        let chunks = 1 << (variables(parameters) - 1 - BLOCK_LOG);
        let mut own = ([vec![], vec![]], K::ZERO, [K::ZERO; 2]);
        let mut handed = ([vec![], vec![]], [K::ZERO; 2]);
        for claim in claims {
            match claim {
                Claim::Fixed(FixedClaim { circuit, point, eta, value }) => {
                    let weights = chunk_weights(chunks, stack, |table| layout.shape(table), &point.r, eta);
                    own = ([within(&point.r), weights], circuit, [K::ZERO, value]);
                }
                Claim::At { point, value } => {
                    handed = ([within(&point), eq_table(&point[BLOCK_LOG..])], [K::ZERO, value]);
                }
            }
        }
        let elements = stack.elements();
        Self { isa: Isa::detect(), elements, left: 2 * elements, chunk: Vec::with_capacity(BLOCK), own, handed }
    }

    /// The next element: false if there is none.
    fn take(&mut self, x: Goldilocks) -> bool {
        if self.left == 0 {
            return false;
        }
        self.chunk.push(x);
        if self.chunk.len() == BLOCK {
            let done = 2 * self.elements - self.left;
            let (which, chunk) = (done / self.elements, done % self.elements / BLOCK);
            let ([within, weights], circuit, [sum, _]) = &mut self.own;
            let factor = if which == 1 { *circuit } else { K::ONE - *circuit };
            if factor != K::ZERO {
                *sum += chunk_sum(self.isa, &self.chunk, within) * weights[chunk] * factor;
            }
            let ([within, weights], [sum, _]) = &mut self.handed;
            let half = weights.len() / 2;
            *sum += chunk_sum(self.isa, &self.chunk, within) * weights[which * half + chunk];
            self.left -= BLOCK;
            self.chunk.clear();
        }
        true
    }

    fn hold(&self) -> [bool; 2] {
        let (_, _, [own, claimed]) = &self.own;
        let (_, [handed, stated]) = &self.handed;
        [own == claimed, handed == stated]
    }
}
