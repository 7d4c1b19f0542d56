//! Verifying a proof file.

use evergrove_commit::{BackendError, NativeBackend, batch_digest};
use evergrove_primitives::Digest;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{
    AppOutput, BackendId, BatchProof, Commitment, DecodeError, HeightClass, LeavesError, NodeKind, Policy, PolicyError,
    Profile, Scheme, Statement,
};

use crate::prove::node_proof;
use crate::{Backends, Error, ErrorClass};

/// What an accepted proof shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The statement: `canonical` is the root of some hash tree over a non-empty set of leaves of the committed vector.
    pub statement: Statement,
    /// Number of leaves that the verifier gave. The proof shows that each of them is in the vector, and that
    /// `canonical` is their canonical digest. `None` if the verifier gave no leaves: then the proof shows the
    /// statement, but not which leaves it is about, nor that `canonical` is canonical for them.
    pub leaves: Option<usize>,
    /// The scheme of the proof.
    pub scheme: Scheme,
    /// The backend that made the proof.
    pub backend: BackendId,
    /// Its profile.
    pub profile: Profile,
    /// Its height class.
    pub class: HeightClass,
    /// The circuit of the proof.
    pub kind: NodeKind,
    /// The application with its output. The output is over the leaves of `canonical` in the scheme `Selected`,
    /// otherwise over all leaves.
    pub app: Option<AppOutput>,
}

/// Why a proof is refused.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The bytes are not a proof file.
    #[error("not a proof file: {0}")]
    Decode(#[from] DecodeError),
    /// The file is too long. Only proofs of the backend `native` can have this length, and the policy does not accept
    /// them.
    #[error("{found} bytes are given for a proof: at most {MAX_SUCCINCT_BYTES} are read")]
    TooLong {
        /// Bytes of the file.
        found: usize,
    },
    /// The policy does not accept the kind of the proof, or its commitment.
    #[error("refused by the policy: {0}")]
    Policy(#[from] PolicyError),
    /// The policy accepts a scheme that this program does not know.
    #[error("the proof has the unknown scheme {0:?}")]
    Scheme(String),
    /// The leaves are not a valid batch.
    #[error("invalid rows: {0}")]
    Leaves(#[from] LeavesError),
    /// The proof is about other leaves.
    #[error(
        "the {count} rows have digest {found}, the proof is about {expected}: a row was changed, left out or added"
    )]
    Canonical {
        /// Number of leaves given.
        count: usize,
        /// The digest in the proof.
        expected: Digest,
        /// The digest of the leaves.
        found: Digest,
    },
    /// Leaves were given for a proof over all rows.
    #[error("whole-table proofs take no rows")]
    AllRows,
    /// The backend does not accept the proof.
    #[error("{0}")]
    Proof(BackendError),
    /// The backend is unknown, or cannot be made.
    #[error(transparent)]
    Backend(#[from] Error),
}

impl VerifyError {
    /// Who must act on the error. An invalid list of leaves is bad input, and errors of a backend have their own class.
    /// Everything else is a refusal.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Leaves(_) | Self::AllRows => ErrorClass::Usage,
            Self::Backend(e) => e.class(),
            Self::Proof(BackendError::Internal(_)) => ErrorClass::Proving,
            _ => ErrorClass::Refused,
        }
    }
}

/// Size in bytes of the longest proof that is read, unless the policy accepts the backend `native`. Proofs of that
/// backend contain the rows.
pub const MAX_SUCCINCT_BYTES: usize = 1 << 24;

/// Refuses bytes that are too long for every proof that the policy accepts. Decodes nothing.
///
/// # Errors
/// [`VerifyError::TooLong`].
pub fn check_length(bytes: &[u8], policy: &Policy) -> Result<(), VerifyError> {
    let native = policy.backends().iter().any(|backend| backend.name == NativeBackend::NAME);
    if native || bytes.len() <= MAX_SUCCINCT_BYTES { Ok(()) } else { Err(VerifyError::TooLong { found: bytes.len() }) }
}

/// Accepts exactly if `bytes` is a proof file that `policy` accepts for `commitment`, its canonical digest is that of
/// `leaves` (index and value, with strictly increasing indices) if they are given, and its backend accepts the proof.
///
/// Takes 2 permutations per leaf and one verification. Never panics on any bytes.
///
/// # Errors
/// [`VerifyError`]. Cheap checks come first.
pub fn verify(
    bytes: &[u8],
    commitment: &Commitment,
    leaves: Option<&[(u64, Value)]>,
    policy: &Policy,
    backends: &Backends,
) -> Result<Verified, VerifyError> {
    check_length(bytes, policy)?;
    let file = BatchProof::decode(bytes)?;
    policy.check(&file, commitment)?;
    if let Some(leaves) = leaves {
        if Scheme::ALL.into_iter().any(|s| s.is_complete() && s.name() == file.scheme) {
            return Err(VerifyError::AllRows);
        }
        let (found, expected) = (batch_digest(commitment.height, leaves)?, file.statement.canonical);
        if found != expected {
            return Err(VerifyError::Canonical { count: leaves.len(), expected, found });
        }
    }
    let scheme: Scheme = file.scheme.parse().map_err(|_| VerifyError::Scheme(file.scheme.clone()))?;
    let backend = backends.of(&file, scheme)?;
    let known = backend.spec().id();
    if known != file.backend {
        let what = format!("the proof was made by {}, expected {known}", file.backend);
        return Err(VerifyError::Proof(BackendError::Rejected(what)));
    }
    let (id, app) = (file.backend.clone(), file.app.clone());
    let (profile, class, kind, statement) = (file.profile, file.class, file.kind, file.statement);
    backend.verify(&node_proof(file)).map_err(VerifyError::Proof)?;
    Ok(Verified { statement, leaves: leaves.map(<[_]>::len), scheme, backend: id, profile, class, kind, app })
}
