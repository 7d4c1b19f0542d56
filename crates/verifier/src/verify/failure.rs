//! Why a file is not accepted.

use core::fmt;

use evergrove_primitives::Digest;

use super::Code;
use crate::argument::Refusal;
use crate::key::{KeyError, VerifyError};
use crate::wire::OpeningError;
use crate::{AppId, BackendId, DecodeError, LeavesError, PolicyError};

/// A proof is refused, or there is no verdict: a [`Code`], and a sentence by [`Display`](fmt::Display).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The bytes are not a proof file or opening.
    Decode(DecodeError),
    /// The file is longer than any file that is read here.
    TooLong {
        /// Its bytes.
        found: usize,
        /// The most that are read.
        most: usize,
    },
    /// The proof is not of an accepted kind, or not about the commitment.
    Policy(PolicyError),
    /// The proof is of a backend that is verified elsewhere.
    Backend(BackendId),
    /// The proof has a scheme that is not verified here.
    Scheme(&'static str),
    /// The policy accepts this application, but its circuits and their key were not given.
    Unknown(AppId),
    /// The proof is only about a batch, and the verifier requested the output of this application.
    NoOutput(AppId),
    /// The number of elements differs from that of the application's output.
    Output {
        /// Elements in the proof.
        found: usize,
        /// Elements of the application's output.
        expected: usize,
    },
    /// The leaves are not a batch.
    Leaves(LeavesError),
    /// The leaves are not those of the proof.
    Canonical {
        /// Number of leaves given.
        count: usize,
        /// The digest in the proof.
        expected: Digest,
        /// The digest of the leaves.
        found: Digest,
    },
    /// Leaves were given for a proof over all rows, or for an opening.
    TakesNoRows,
    /// The opening does not show what it claims.
    Opening(OpeningError),
    /// The body does not consist of elements.
    Body {
        /// Its bytes.
        found: usize,
    },
    /// An element of the body is p or more.
    NonCanonical {
        /// Its number.
        element: usize,
    },
    /// The position is above every tree.
    Base(u64),
    /// The key is missing or wrong: no verdict.
    Key(KeyError),
    /// The proof does not hold.
    Proof(VerifyError),
}

impl Failure {
    /// The code.
    pub fn code(&self) -> Code {
        match self {
            Self::Decode(e) => decode_code(e),
            Self::TooLong { .. } | Self::Base(_) => Code::Malformed,
            Self::Policy(e) => policy_code(e),
            Self::Backend(_) => Code::UnsupportedBackend,
            Self::Scheme(_) => Code::Scheme,
            Self::Unknown(_) | Self::NoOutput(_) | Self::Output { .. } => Code::Application,
            Self::Leaves(LeavesError::Order { .. }) => Code::BadRows,
            Self::Leaves(LeavesError::Empty | LeavesError::Index { .. }) | Self::Canonical { .. } => Code::WrongRows,
            Self::TakesNoRows => Code::Usage,
            Self::Opening(OpeningError::Height { .. } | OpeningError::Index { .. }) => Code::Height,
            Self::Opening(OpeningError::PathLength { .. }) => Code::Malformed,
            Self::Opening(OpeningError::Root { .. }) => Code::WrongRoot,
            Self::Body { .. } => Code::Truncated,
            Self::NonCanonical { .. } => Code::NonCanonical,
            Self::Key(KeyError::Missing) => Code::KeyMissing,
            Self::Key(_) => Code::WrongKey,
            Self::Proof(VerifyError::Point { .. }) => Code::Truncated,
            Self::Proof(VerifyError::Refused(Refusal::Length { given, taken })) => {
                if given < taken {
                    Code::Truncated
                } else {
                    Code::Trailing
                }
            }
            Self::Proof(_) => Code::Refused,
        }
    }
}

fn decode_code(e: &DecodeError) -> Code {
    match e {
        DecodeError::Truncated { .. } | DecodeError::Length { .. } => Code::Truncated,
        DecodeError::Trailing { .. } => Code::Trailing,
        DecodeError::NonCanonical { .. } => Code::NonCanonical,
        DecodeError::Magic { .. } => Code::Magic,
        DecodeError::Version { .. } => Code::Version,
        DecodeError::Record { .. } => Code::Record,
        DecodeError::Cap { .. } => Code::Refused,
        DecodeError::Code { .. } | DecodeError::Range { .. } | DecodeError::Base { .. } | DecodeError::Name { .. } => {
            Code::Malformed
        }
    }
}

fn policy_code(e: &PolicyError) -> Code {
    match e {
        PolicyError::Scheme { .. } => Code::Scheme,
        PolicyError::Backend { .. } => Code::UnsupportedBackend,
        PolicyError::Profile { .. } | PolicyError::Foreign { .. } => Code::Profile,
        PolicyError::Output { .. } | PolicyError::App { .. } => Code::Application,
        PolicyError::Canonical(_) | PolicyError::Kind { .. } => Code::Malformed,
        PolicyError::Height { .. }
        | PolicyError::Class { .. }
        | PolicyError::NoSuchHeight(_)
        | PolicyError::Base(_) => Code::Height,
        PolicyError::Root { .. } => Code::WrongRoot,
        PolicyError::Empty => Code::WrongRows,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(e) => write!(f, "not a proof file: {e}"),
            Self::TooLong { found, most } => write!(f, "{found} bytes are given for a proof: at most {most} are read"),
            Self::Policy(e) => write!(f, "refused by the policy: {e}"),
            Self::Backend(backend) => write!(f, "proofs of the backend {backend} are not verified here"),
            Self::Scheme(scheme) => write!(f, "proofs of the scheme {scheme} are not verified here"),
            Self::Unknown(app) => write!(f, "application {app} is accepted, but its key's digest was not given"),
            Self::NoOutput(app) => {
                write!(f, "the proof is about rows alone, expected an output of the application {app}")
            }
            Self::Output { found, expected } => {
                write!(f, "the proof has an output of {found} elements, the application's has {expected}")
            }
            Self::Leaves(e) => write!(f, "invalid rows: {e}"),
            Self::Canonical { count, expected, found } => write!(
                f,
                "the {count} rows have digest {found}, the proof is about {expected}: a row was changed, left out or added"
            ),
            Self::TakesNoRows => f.write_str("whole-table proofs and openings take no rows"),
            Self::Opening(e) => e.fmt(f),
            Self::Body { found } => write!(f, "a body of {found} bytes is not one of whole elements"),
            Self::NonCanonical { element } => write!(f, "element {element} of the proof is not below p"),
            Self::Base(base) => write!(f, "position {base} is above any tree"),
            Self::Key(e) => e.fmt(f),
            Self::Proof(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for Failure {}

impl From<DecodeError> for Failure {
    fn from(e: DecodeError) -> Self {
        Self::Decode(e)
    }
}
impl From<PolicyError> for Failure {
    fn from(e: PolicyError) -> Self {
        Self::Policy(e)
    }
}
impl From<LeavesError> for Failure {
    fn from(e: LeavesError) -> Self {
        Self::Leaves(e)
    }
}
impl From<OpeningError> for Failure {
    fn from(e: OpeningError) -> Self {
        Self::Opening(e)
    }
}
impl From<KeyError> for Failure {
    fn from(e: KeyError) -> Self {
        Self::Key(e)
    }
}
impl From<VerifyError> for Failure {
    fn from(e: VerifyError) -> Self {
        Self::Proof(e)
    }
}
