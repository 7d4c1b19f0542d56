//! Errors.

use std::path::{Path, PathBuf};

#[cfg(feature = "apps")]
use evergrove_apps::aggregate::ListingError;
use evergrove_commit::schema::{NotAbi, RowError, SchemaError, SchemaTextError};
use evergrove_commit::{BackendError, BackendSpec};
use evergrove_store::input::{InputError, WriteError};
use evergrove_store::{ErrorClass, VerifyError};
use evergrove_verifier::wire::{MultiproofError, OpeningError};
use evergrove_verifier::{ParseCommitmentError, Profile, UnknownProfile};

use crate::{Backend, UnknownBackend};

/// An error of this crate. [`Error::class`] says who must act on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store does not accept a call, or cannot carry out the call.
    #[error(transparent)]
    Store(#[from] evergrove_store::Error),
    /// The proof is not accepted.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A file cannot be read as the expected table.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file of rows could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The columns are not a valid schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The text is not a schema.
    #[error(transparent)]
    SchemaText(#[from] SchemaTextError),
    /// The text is not a commitment.
    #[error(transparent)]
    Commitment(#[from] ParseCommitmentError),
    /// The text is not the name of a profile.
    #[error(transparent)]
    UnknownProfile(#[from] UnknownProfile),
    /// The text is not the name of a backend.
    #[error(transparent)]
    UnknownBackend(#[from] UnknownBackend),
    /// The opening is not accepted.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    /// The table does not have this column.
    #[error("unknown column {name:?} (known: {})", known.join(", "))]
    UnknownColumn {
        /// The requested name.
        name: String,
        /// The names of the table's columns.
        known: Vec<String>,
    },
    /// A row does not fit the schema.
    #[error("row {position}: {source}")]
    Row {
        /// Its position.
        position: u64,
        /// Why it does not fit.
        #[source]
        source: RowError,
    },
    /// OpenZeppelin's tree was requested, and a column is not of an ABI type.
    #[error(transparent)]
    NotAbi(#[from] NotAbi),
    /// Two rows of a table for OpenZeppelin's tree are equal: a contract that marks leaves as used accepts only one of
    /// them.
    #[error("rows {first} and {second} are equal")]
    EqualRows {
        /// Number of the first row, from 0.
        first: u64,
        /// Number of the second row.
        second: u64,
    },
    /// A position is given both to [`Changes::set`](crate::Changes::set) and to
    /// [`Changes::set_row`](crate::Changes::set_row).
    #[error("row {0} is set twice in one update")]
    SetTwice(u64),
    /// One proof takes more memory than proofs may take.
    #[error("a proof of backend {} and profile {} takes {needed} bytes, and the limit is {limit}", spec.choice.name, spec.choice.profile)]
    Memory {
        /// The backend.
        spec: Box<BackendSpec>,
        /// Bytes that one proof takes, as an estimate.
        needed: u64,
        /// Bytes that proofs may take.
        limit: u64,
    },
    /// Threads for proofs could not be started.
    #[error(transparent)]
    Threads(#[from] evergrove_jobs::CoresError),
    /// Keys cannot be kept in a directory, because a file exists in its path.
    #[error("keys cannot be kept in {}: {} is not a directory", dir.display(), file.display())]
    KeysDirectory {
        /// The directory.
        dir: PathBuf,
        /// The file at it or above it.
        file: PathBuf,
    },
    /// The profile belongs to another backend.
    #[error("backend {backend} has no profile {profile} (known: {})", backend.profiles().iter().map(|p| p.name()).collect::<Vec<_>>().join(", "))]
    ForeignProfile {
        /// The backend.
        backend: Backend,
        /// The profile.
        profile: Profile,
    },
    /// This build does not have the backend.
    #[error("this build does not have the backend {0}")]
    NoBackend(Backend),
    /// A backend failed outside a batch.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A batch states the output of an application that this program does not know.
    #[cfg(feature = "apps")]
    #[error(transparent)]
    Application(#[from] evergrove_apps::catalog::CatalogError),
    /// An application has no circuits in a scheme.
    #[cfg(feature = "apps")]
    #[error(transparent)]
    Circuits(#[from] evergrove_apps::catalog::CircuitsError),
    /// An application has no circuits of Plonky2 in a scheme.
    #[cfg(feature = "plonky2")]
    #[error(transparent)]
    Plonky2Circuits(#[from] evergrove_plonky2::apps::circuit_set::SizeError),
    /// A key file is refused.
    #[cfg(feature = "apps")]
    #[error(transparent)]
    Key(#[from] evergrove_grove::KeyError),
    /// A key file has no trusted digest.
    #[cfg(feature = "apps")]
    #[error("the key of these circuits is not pinned: give the digest that it must have")]
    NoDigest,
    /// A query has no circuits with pinned keys.
    #[cfg(feature = "apps")]
    #[error(transparent)]
    NotPinned(#[from] evergrove_apps::aggregate::NotPinned),
    /// The text is not a query about the table.
    #[cfg(feature = "apps")]
    #[error(transparent)]
    Query(#[from] evergrove_apps::aggregate::SqlError),
    /// Rows are not the answer to a query that lists rows.
    #[cfg(feature = "apps")]
    #[error(transparent)]
    Listing(#[from] ListingError),
    /// The query is for aggregates, and rows were requested.
    #[cfg(feature = "apps")]
    #[error("the query asks for aggregates, not for rows")]
    Aggregates,
    /// Rows are not at their positions in the table.
    #[error(transparent)]
    Paths(#[from] MultiproofError),
    /// A line of the text of groups does not fit the query.
    #[cfg(feature = "apps")]
    #[error("groups, line {line}: {reason}")]
    Groups {
        /// Its number, from 1.
        line: usize,
        /// The problem.
        reason: String,
    },
    /// A proven output is not an output of the query.
    #[cfg(feature = "apps")]
    #[error(transparent)]
    Answer(#[from] evergrove_apps::aggregate::OutputError),
    /// The operating system failed to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// Who must act.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Store(e) => e.class(),
            Self::Verify(e) => e.class(),
            Self::Opening(_) | Self::Paths(_) => ErrorClass::Refused,
            #[cfg(feature = "apps")]
            Self::Listing(ListingError::Many { .. } | ListingError::Query(_)) => ErrorClass::Usage,
            #[cfg(feature = "apps")]
            Self::Listing(_) => ErrorClass::Refused,
            Self::Input(e) if e.is_io() => ErrorClass::Io,
            Self::Write(WriteError::Io(_)) | Self::Io { .. } => ErrorClass::Io,
            Self::Backend(_) => ErrorClass::Proving,
            _ => ErrorClass::Usage,
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.into(), source }
    }
}
