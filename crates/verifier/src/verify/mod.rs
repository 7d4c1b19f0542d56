//! From the bytes of a file to a verdict: start here to check a proof.
//!
//! ```
//! use evergrove_verifier::verify::{Outcome, Request, Verdict, Failure};
//! use evergrove_verifier::{Commitment, Policy};
//!
//! /// `key` is the file of the fixed columns, in pieces of any size.
//! fn judge<'a>(file: &[u8], commitment: &Commitment, key: impl Iterator<Item = &'a [u8]>) -> Result<Verdict, Failure> {
//!     let mut check = match Request::new(file, commitment, &Policy::default()).start()? {
//!         Outcome::Verdict(verdict) => return Ok(verdict),
//!         Outcome::Key(check) => check,
//!     };
//!     for piece in key {
//!         check.key(piece)?;
//!     }
//!     check.finish()
//! }
//! ```
//!
//! **Memory.** Every length is compared with the available bytes before memory is allocated. The bytes of the key are
//! not kept.

mod code;
mod failure;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_primitives::{Digest, Goldilocks};

use crate::argument::soundness::bits as soundness_of;
use crate::argument::transcript::Word;
use crate::argument::{JOHNSON_128, UNIQUE_100};
use crate::keys::pinned_grove;
use crate::soundness::{self, SoundnessBits};
use crate::tables::WORD;
use crate::tree::Value;
use crate::wire::{OPENING_MAGIC, Opening};
use crate::{
    AppId, AppOutput, BatchProof, Commitment, HeightClass, NodeKind, Policy, PolicyError, Profile, Said, Scheme,
    Statement, batch_digest, information, inputs_digest, key,
};

pub use code::Code;
pub use failure::Failure;

/// The longest file that is read: three times as long as a proof of the backend `grove`, and longer than any opening.
pub const MAX_BYTES: usize = MAX_BODY + (1 << 20);
/// The longest body, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// A question: does this file show something about the table of a commitment? Everything except the file is trusted.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    file: &'a [u8],
    commitment: &'a Commitment,
    policy: &'a Policy,
    leaves: Option<&'a [(u64, Value)]>,
    application: Option<&'a Application>,
    key: Option<Digest>,
}

/// An accepted application, described by its circuits: [`Policy::allow_app`] says in which schemes.
///
/// **The key decides what an output means.** A proof does not bind the parameters of its application, only their
/// inputs. So take the digest of the key from a program that built the circuits (`evergrove keys export`), never from a
/// prover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Kind and digest of the parameters.
    pub id: AppId,
    /// The inputs of its circuits: the constants of a query. `None` for digest translation, which has no inputs and
    /// whose output is words.
    pub inputs: Option<Vec<Goldilocks>>,
    /// Elements of its output.
    pub output_len: usize,
    /// The digest of the key.
    pub key: Digest,
}

/// The result of all comparisons that need no key.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each file, and soon taken apart")]
pub enum Outcome {
    /// The verdict.
    Verdict(Verdict),
    /// Only the proof itself must still be checked. The key file must follow.
    Key(Check),
}

/// What an accepted file has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The commitment.
    pub commitment: Commitment,
    /// What was shown.
    pub shown: Shown,
}

/// What an accepted file has shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// The value of a slot, or that it is empty.
    Slot(Opening),
    /// A statement about a batch, or about all rows.
    Batch {
        /// The statement.
        statement: Statement,
        /// The number of leaves that the verifier gave. Each is shown to be in the vector, and `canonical` is their
        /// canonical digest. With `None` only the statement is shown: not which leaves it is about, nor that
        /// `canonical` is canonical for them.
        leaves: Option<usize>,
        /// The scheme.
        scheme: Scheme,
        /// The profile.
        profile: Profile,
        /// The height class.
        class: HeightClass,
        /// The circuit.
        kind: NodeKind,
        /// The application with its output.
        app: Option<AppOutput>,
        /// The digest of the key.
        key: Digest,
        /// Whether this crate pins that digest; otherwise it was given.
        pinned: bool,
        /// The bits of the proof.
        bits: SoundnessBits,
    },
}

impl<'a> Request<'a> {
    /// A request: does the file show something about the table of this commitment that the policy accepts?
    pub fn new(file: &'a [u8], commitment: &'a Commitment, policy: &'a Policy) -> Self {
        Self { file, commitment, policy, leaves: None, application: None, key: None }
    }
    /// Requests a proof about these leaves: index and value, in the order of indices.
    #[must_use]
    pub fn leaves(self, leaves: &'a [(u64, Value)]) -> Self {
        Self { leaves: Some(leaves), ..self }
    }
    /// Requests a proof about the output of this application: a proof without one is refused.
    #[must_use]
    pub fn application(self, application: &'a Application) -> Self {
        Self { application: Some(application), ..self }
    }
    /// Uses the key of this digest instead of the one that this crate pins for batches.
    #[must_use]
    pub fn key(self, digest: Digest) -> Self {
        Self { key: Some(digest), ..self }
    }

    /// Makes all comparisons that need no key, the cheap ones first. Never panics on any bytes.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn start(self) -> Result<Outcome, Failure> {
        if self.file.len() > MAX_BYTES {
            return Err(Failure::TooLong { found: self.file.len(), most: MAX_BYTES });
        }
        if self.file.starts_with(&OPENING_MAGIC) {
            return self.opening().map(Outcome::Verdict);
        }
        self.batch().map(Outcome::Key)
    }

    fn opening(self) -> Result<Verdict, Failure> {
        if self.leaves.is_some() || self.application.is_some() {
            return Err(Failure::TakesNoRows);
        }
        let opening = Opening::decode(self.file)?;
        opening.verify(self.commitment)?;
        Ok(Verdict { commitment: *self.commitment, shown: Shown::Slot(opening) })
    }

    fn batch(self) -> Result<Check, Failure> {
        let Self { commitment, policy, leaves, .. } = self;
        let BatchProof { scheme, backend, profile, class, kind, statement, app, body } = {
            let file = BatchProof::decode(self.file)?;
            policy.check(&file, commitment)?;
            file
        };
        if backend.name != crate::policy::GROVE_BACKEND.0 {
            return Err(Failure::Backend(backend));
        }
        if let (Some(asked), None) = (self.application, &app) {
            return Err(Failure::NoOutput(asked.id.clone()));
        }
        let scheme: Scheme = scheme.parse().map_err(|_| Failure::Scheme("unknown"))?;
        if scheme == Scheme::RecklePaper {
            return Err(Failure::Scheme(scheme.name()));
        }
        if kind == NodeKind::Wrap {
            return Err(PolicyError::Kind { profile, expected: "bucket or merge", found: kind }.into());
        }
        if let Some(leaves) = leaves {
            if scheme.is_complete() {
                return Err(Failure::TakesNoRows);
            }
            let (found, expected) = (batch_digest(commitment.height, leaves)?, statement.canonical);
            if found != expected {
                return Err(Failure::Canonical { count: leaves.len(), expected, found });
            }
        }
        let (digest, information) = self.said(&statement, app.as_ref(), profile, class)?;
        let check = Inner::new(profile, digest.0, kind, information, elements(&body)?)
            .ok_or(PolicyError::Foreign { backend, profile })?;
        let shown = Shown::Batch {
            statement,
            leaves: leaves.map(<[_]>::len),
            scheme,
            profile,
            class,
            kind,
            app,
            key: digest,
            pinned: pinned_grove(profile, class) == Some(digest),
            bits: soundness::bits(profile, class),
        };
        Ok(Check { verdict: Verdict { commitment: *commitment, shown }, inner: check })
    }

    /// The digest of the key, and the words of the statement.
    fn said(
        self,
        statement: &Statement,
        app: Option<&AppOutput>,
        profile: Profile,
        class: HeightClass,
    ) -> Result<(Digest, Vec<Word>), Failure> {
        if statement.base >= Goldilocks::ORDER {
            return Err(Failure::Base(statement.base));
        }
        let Some(app) = app else {
            let words = information(statement, None, &[]);
            let pinned = || pinned_grove(profile, class);
            let digest = self.key.or_else(pinned).ok_or(Failure::Key(key::KeyError::Missing))?;
            return Ok((digest, words));
        };
        let known = self.application.filter(|known| known.id == app.app);
        let known = known.ok_or_else(|| Failure::Unknown(app.app.clone()))?;
        let (found, expected) = (app.output.len(), known.output_len);
        // For words, all elements are stated.
        if found != expected || known.inputs.is_none() && !expected.is_multiple_of(WORD) {
            return Err(Failure::Output { found, expected });
        }
        let said = match &known.inputs {
            Some(inputs) => Said::Elements { inputs: inputs_digest(inputs) },
            None => Said::Words,
        };
        Ok((known.key, information(statement, Some(said), &app.output)))
    }
}

/// The elements of a body.
fn elements(body: &[u8]) -> Result<Vec<Goldilocks>, Failure> {
    if body.len() > MAX_BODY {
        return Err(Failure::TooLong { found: body.len(), most: MAX_BODY });
    }
    let (words, rest) = body.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Failure::Body { found: body.len() });
    }
    let element = |(element, word): (usize, &[u8; 8])| {
        Goldilocks::from_canonical(u64::from_le_bytes(*word)).map_err(|_| Failure::NonCanonical { element })
    };
    words.iter().enumerate().map(element).collect()
}

/// A check that needs the key file.
#[derive(Debug)]
pub struct Check {
    verdict: Verdict,
    inner: Inner,
}

/// Over the field of a profile.
#[derive(Debug)]
enum Inner {
    Unique(key::Check<Quadratic>),
    Johnson(key::Check<Cubic>),
}

impl Inner {
    fn new(profile: Profile, key: Word, kind: NodeKind, words: Vec<Word>, body: Vec<Goldilocks>) -> Option<Self> {
        let merge = kind == NodeKind::Merge;
        match profile {
            Profile::Grove100 => Some(Self::Unique(key::Check::new(key, &UNIQUE_100, merge, words, body))),
            Profile::Grove128 => Some(Self::Johnson(key::Check::new(key, &JOHNSON_128, merge, words, body))),
            Profile::Proven | Profile::Johnson | Profile::Paper => None,
        }
    }
}

impl Check {
    /// The digest of the required key.
    pub fn needed(&self) -> Digest {
        match &self.verdict.shown {
            Shown::Batch { key, .. } => *key,
            Shown::Slot(_) => Digest::ZERO,
        }
    }
    /// Takes the next bytes of the key file, any number of them.
    ///
    /// # Errors
    /// [`Failure`] if the bytes are not the key. Every later call returns the same failure.
    pub fn key(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.inner {
            Inner::Unique(check) => check.key(bytes)?,
            Inner::Johnson(check) => check.key(bytes)?,
        }
        Ok(())
    }
    /// Returns the verdict, after the last byte of the key file.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn finish(self) -> Result<Verdict, Failure> {
        let Self { mut verdict, inner } = self;
        let known = match verdict.shown {
            Shown::Batch { app: None, pinned: true, .. } | Shown::Slot(_) => true,
            Shown::Batch { .. } => false,
        };
        let computed = match inner {
            Inner::Unique(check) => finish(check, known),
            Inner::Johnson(check) => finish(check, known),
        }?;
        if let (Shown::Batch { bits, .. }, Some(computed)) = (&mut verdict.shown, computed) {
            *bits = computed;
        }
        Ok(verdict)
    }
}

/// The bits of the key's proofs, if they are not known.
fn finish<K: Extension>(check: key::Check<K>, known: bool) -> Result<Option<SoundnessBits>, Failure> {
    let (verified, parameters) = check.finish()?;
    let _verified = verified?;
    Ok((!known).then(|| soundness_of(&parameters)))
}

impl Verdict {
    /// What was shown, in sentences.
    pub fn shown(&self) -> Vec<String> {
        match &self.shown {
            Shown::Slot(Opening { index, value: Some(value), .. }) => {
                [format!("slot {index} holds the value {}", Digest(*value))].to_vec()
            }
            Shown::Slot(Opening { index, value: None, .. }) => [format!("slot {index} is empty")].to_vec(),
            Shown::Batch { leaves, scheme, app, .. } => {
                let about = match leaves {
                    _ if scheme.is_complete() => "the proof is about all rows of the table".to_string(),
                    None => "the canonical digest in the file is the root of some hash tree over a non-empty set of leaves of the table".to_string(),
                    Some(count) => format!(
                        "the {count} rows are at their positions in the table of the commitment, and the proof is about them alone"
                    ),
                };
                let mut shown = [about].to_vec();
                if let Some(AppOutput { output, .. }) = app {
                    let output: Vec<String> = output.iter().map(ToString::to_string).collect();
                    shown
                        .push(format!("the circuits of the key give the output {} over these rows", output.join(", ")));
                }
                shown
            }
        }
    }

    /// What was not shown, in sentences.
    pub fn not_shown(&self) -> Vec<String> {
        let mut not_shown: Vec<&str> = Vec::new();
        if let Shown::Batch { leaves, scheme, app, pinned, .. } = &self.shown {
            match leaves {
                _ if scheme.is_complete() => {}
                None => not_shown.extend([
                    "which rows",
                    "how many rows",
                    "that the digest is canonical for them",
                    "anything about other rows",
                ]),
                Some(_) => not_shown.push("anything about other rows"),
            }
            if app.is_some() {
                not_shown.push("that the key is that of the application: its digest was given");
            } else if !pinned {
                not_shown.push("that the key is that of batches: its digest was given");
            }
        }
        not_shown.push("that the commitment is the right one");
        not_shown.into_iter().map(String::from).collect()
    }
}
