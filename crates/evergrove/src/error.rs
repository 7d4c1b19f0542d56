//! What can go wrong.

use std::path::{Path, PathBuf};

use evergrove_commit::schema::{RowError, SchemaError, SchemaTextError};
use evergrove_commit::{BackendError, BackendSpec};
use evergrove_store::input::{InputError, WriteError};
use evergrove_store::{ErrorClass, VerifyError};

use crate::Backend;

/// An error of this crate. [`Error::class`] says who has to act on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Of the store.
    #[error(transparent)]
    Store(#[from] evergrove_store::Error),
    /// The proof is not accepted.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A file does not hold the table that it should.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file of rows could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Columns do not make a schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The text of a schema does not read.
    #[error(transparent)]
    SchemaText(#[from] SchemaTextError),
    /// The table does not have this column.
    #[error("unknown column {name:?} (known: {})", known.join(", "))]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names of the table's columns.
        known: Vec<String>,
    },
    /// A row does not fit the schema.
    #[error("row {position}: {source}")]
    Row {
        /// Its position.
        position: u64,
        /// How it does not fit.
        #[source]
        source: RowError,
    },
    /// Changes set cells of a row and replace or delete the row.
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
    /// Keys cannot be kept in a directory, because a file takes its place.
    #[error("keys cannot be kept in {}: {} is not a directory", dir.display(), file.display())]
    KeysDirectory {
        /// The directory.
        dir: PathBuf,
        /// The file at it or above it.
        file: PathBuf,
    },
    /// This build does not have the backend.
    #[error("this build does not have the backend {0}")]
    NoBackend(Backend),
    /// A backend failed outside of a batch.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A batch states the output of an application that this program does not know.
    #[cfg(feature = "plonky2")]
    #[error(transparent)]
    Application(#[from] evergrove_apps::catalog::CatalogError),
    /// An application has no circuits in a scheme.
    #[cfg(feature = "plonky2")]
    #[error(transparent)]
    Circuits(#[from] evergrove_apps::family::SizeError),
    /// The text is not a query about the table.
    #[cfg(feature = "plonky2")]
    #[error(transparent)]
    Query(#[from] evergrove_apps::aggregate::SqlError),
    /// A proven output is not one of the query.
    #[cfg(feature = "plonky2")]
    #[error(transparent)]
    Answer(#[from] evergrove_apps::aggregate::OutputError),
    /// Of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// Who has to act.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Store(e) => e.class(),
            Self::Verify(e) => e.class(),
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
