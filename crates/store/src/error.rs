//! The errors of this crate.

use std::fmt;
use std::path::{Path, PathBuf};

use evergrove_commit::schema::{DecodeSchemaError, RowError};
use evergrove_commit::{BackendError, StoreError, VectorError};
use evergrove_jobs::RunError;
use evergrove_verifier::{AppId, HEIGHT_MAX, HeightClass, Profile, Scheme};

/// Who must act on an error. The numbers are the exit codes of the command line. The text of a class is its name in
/// lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// A verifier refused.
    Refused = 1,
    /// Bad input or a wrong argument.
    Usage = 2,
    /// The store is locked, has another version, is damaged, or is missing.
    Store = 3,
    /// A proof could not be made.
    Proving = 4,
    /// The operating system failed to read or write.
    Io = 5,
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::Store => "store",
            Self::Proving => "proving",
            Self::Io => "io",
        })
    }
}

/// An error of this crate. [`Error::class`] groups errors.
///
/// The text says what is wrong with which value. The program adds the remedy; the command line names its flags.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An index is outside the vector.
    #[error("index {index} is outside the vector of 2^{height} slots")]
    OutOfRange {
        /// The index.
        index: u64,
        /// Height H of the vector.
        height: u8,
    },
    /// The index is too high for every vector.
    #[error("index {0} is beyond 2^{HEIGHT_MAX} slots, the size of the largest vector")]
    TooHigh(u64),
    /// The height is not from 1 to 40.
    #[error("invalid height {0}: expected 1 to {HEIGHT_MAX}")]
    Height(u8),
    /// The key of a request is invalid.
    #[error("the key {0:?} of a request is not 1 to 128 visible ASCII characters")]
    RequestKey(String),
    /// An epoch already contains a request with this key.
    #[error("a request with the key {0:?} was made before")]
    Repeated(String),
    /// An index is given twice.
    #[error("duplicate index {0}")]
    Duplicate(u64),
    /// A row does not fit the schema.
    #[error("row {index}: {source}")]
    Row {
        /// Its index.
        index: u64,
        /// The mismatch.
        #[source]
        source: RowError,
    },
    /// The source of rows failed. Its error says where and why.
    #[error("{0}")]
    Input(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A slot that should contain a row is empty.
    #[error("slot {index} is empty{}", in_batch(.batch))]
    EmptySlot {
        /// The slot.
        index: u64,
        /// The batch that should contain it.
        batch: Option<String>,
    },
    /// A batch would have no members.
    #[error("batch {0:?} would have no members")]
    EmptyBatch(String),
    /// The batch does not exist.
    #[error("unknown batch {name:?}: {}", known_batches(.known))]
    UnknownBatch {
        /// The name.
        name: String,
        /// The existing batches.
        known: Vec<String>,
    },
    /// The batch exists with other members.
    #[error("batch {name:?} already exists: its {len} members are not the given ones")]
    BatchExists {
        /// The name.
        name: String,
        /// Its number of members.
        len: u64,
    },
    /// The name is not valid for a batch.
    #[error(
        "invalid batch name {0:?}: expected 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.', with a letter or digit first"
    )]
    BatchName(String),
    /// A slot to be emptied is in a batch.
    #[error("slot {index} cannot be emptied: it is in batch {batch:?}")]
    InBatch {
        /// The slot.
        index: u64,
        /// A batch that contains it.
        batch: String,
    },
    /// An index to be added to a batch is already a member.
    #[error("index {index} is already in batch {batch:?}")]
    AlreadyMember {
        /// The index.
        index: u64,
        /// The batch.
        batch: String,
    },
    /// An index to be removed from a batch is not a member.
    #[error("index {index} is not in batch {batch:?}")]
    NotMember {
        /// The index.
        index: u64,
        /// The batch.
        batch: String,
    },
    /// The batch has no proof of the current epoch.
    #[error("batch {name:?} has no proof of epoch {epoch}{}", since(.proven))]
    Stale {
        /// The batch.
        name: String,
        /// The current epoch.
        epoch: u64,
        /// The epoch of its last proof.
        proven: Option<u64>,
    },
    /// The batch has no proof of an epoch.
    #[error(
        "batch {name:?} has no proof of epoch {epoch}: its members have changed since, it was not refreshed in that epoch, or the proof was pruned"
    )]
    NotProven {
        /// The batch.
        name: String,
        /// The epoch.
        epoch: u64,
    },
    /// The stored proof of a batch is missing or damaged.
    #[error("the proof of batch {name:?} is {}: {}", if *.found { "damaged" } else { "missing" }, .place.display())]
    LostProof {
        /// The batch.
        name: String,
        /// Where the proof was stored.
        place: PathBuf,
        /// True if an object exists at this place, but is damaged.
        found: bool,
    },
    /// The epoch is not kept.
    #[error("unknown epoch {epoch}: the store has epochs {oldest} to {newest}")]
    UnknownEpoch {
        /// The requested epoch.
        epoch: u64,
        /// The oldest epoch that can be read.
        oldest: u64,
        /// The current epoch.
        newest: u64,
    },
    /// Pruning would remove every epoch.
    #[error("the current epoch cannot be pruned")]
    KeepNothing,
    /// The backend is not registered.
    #[error("unknown backend {name:?} for scheme {scheme}, profile {profile} and heights up to {}; known backends: {}", class.height_max(), known.join(", "))]
    UnknownBackend {
        /// The scheme.
        scheme: Scheme,
        /// Its name.
        name: String,
        /// The profile.
        profile: Profile,
        /// The height class.
        class: HeightClass,
        /// The registered backends.
        known: Vec<String>,
    },
    /// No backend for the application is registered.
    #[error("unknown application {app} for scheme {scheme} and profile {profile}")]
    UnknownApp {
        /// The application.
        app: AppId,
        /// The scheme.
        scheme: Scheme,
        /// The profile.
        profile: Profile,
    },
    /// A list of members was given for a batch over all rows.
    #[error("batch {0:?} covers all rows and takes no list of members")]
    AllRows(String),
    /// The directory does not contain a store.
    #[error("{} holds no store", .0.display())]
    NotAStore(PathBuf),
    /// The directory does not exist.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// The directory already contains a store.
    #[error("{} already holds a store", .0.display())]
    Exists(PathBuf),
    /// The directory for a restored store is not empty.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// A store was restored to its directory, but a step after that failed.
    #[error("the store is restored in {}, but {source}", dir.display())]
    Restored {
        /// The store.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: Box<Error>,
    },
    /// A backup is invalid, or cannot be read.
    #[error("{0}")]
    Backup(#[from] crate::BackupError),
    /// Another process has the store open.
    #[error("the store in {} is in use by another process", .0.display())]
    Locked(PathBuf),
    /// The store was written by another version of this program.
    #[error("the store in {} has format {found}, expected {known}", dir.display())]
    Version {
        /// The store.
        dir: PathBuf,
        /// Format of the store.
        found: String,
        /// Format of this program.
        known: u32,
    },
    /// The store has format 1, that of version 0.1. It can be read but not written.
    #[error("the store in {} has format 1 of version 0.1, which can be read but not changed", .0.display())]
    OldFormat(PathBuf),
    /// The store is open for reading only.
    #[error("the store in {} is open for reading alone", .0.display())]
    ReadOnly(PathBuf),
    /// The store is damaged: a part of it is not what was written.
    #[error("the store in {} is damaged: {what}", dir.display())]
    Corrupt {
        /// The store.
        dir: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A proof could not be made.
    #[error("batch {name:?}: {source}")]
    Proving {
        /// The batch.
        name: String,
        /// The failed task and the cause. Finished proofs are kept, and a later run continues from them.
        #[source]
        source: Box<RunError>,
    },
    /// The backend failed outside a task.
    #[error("backend {name}: {source}")]
    Backend {
        /// Its name.
        name: String,
        /// The cause.
        #[source]
        source: BackendError,
    },
    /// The operating system failed to read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl From<evergrove_jobs::objects::ObjectsError> for Error {
    fn from(e: evergrove_jobs::objects::ObjectsError) -> Self {
        Self::Io { path: e.place, source: e.source }
    }
}

impl Error {
    /// Who must act on the error.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotAStore(_) | Self::Missing(_) | Self::Exists(_) | Self::NotEmpty(_) | Self::Locked(_) => {
                ErrorClass::Store
            }
            Self::Restored { source, .. } => source.class(),
            Self::Backup(e) if is_io(e) => ErrorClass::Io,
            Self::OldFormat(_)
            | Self::ReadOnly(_)
            | Self::Version { .. }
            | Self::Corrupt { .. }
            | Self::LostProof { .. } => ErrorClass::Store,
            Self::Proving { source, .. } if is_io(source.as_ref()) => ErrorClass::Io,
            Self::Proving { .. } | Self::Backend { .. } => ErrorClass::Proving,
            Self::Io { .. } => ErrorClass::Io,
            Self::Input(e) if is_io(e.as_ref()) => ErrorClass::Io,
            _ => ErrorClass::Usage,
        }
    }

    /// True if the disk was full. Nothing is damaged, and the same call succeeds when there is free space.
    pub fn is_full(&self) -> bool {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let full = |e: &std::io::Error| matches!(e.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        causes(self).any(|e| e.downcast_ref().is_some_and(full))
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn restored(dir: &Path) -> impl FnOnce(Self) -> Self + '_ {
        move |e| Self::Restored { dir: dir.into(), source: Box::new(e) }
    }

    pub(crate) fn corrupt(dir: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt { dir: dir.into(), what: what.into() }
    }

    /// An error of the vector on the store in `dir`.
    pub(crate) fn vector(dir: &Path) -> impl Fn(VectorError) -> Self + '_ {
        move |e| match e {
            VectorError::Height(h) => Self::Height(h),
            VectorError::Full => Self::TooHigh(1 << HEIGHT_MAX),
            VectorError::OutOfRange { index, height } => Self::OutOfRange { index, height },
            VectorError::Duplicate(index) => Self::Duplicate(index),
            VectorError::Store(e) => Self::store(dir)(e),
        }
    }

    /// An error that passed through the trait of stores. Most of these are errors of this crate.
    pub(crate) fn store(dir: &Path) -> impl Fn(StoreError) -> Self + '_ {
        move |e| match e.source.downcast::<Self>() {
            Ok(own) => *own,
            Err(other) => Self::corrupt(dir, format!("{}: {other}", e.context)),
        }
    }

    pub(crate) fn schema(dir: &Path) -> impl Fn(DecodeSchemaError) -> Self + '_ {
        move |e| Self::corrupt(dir, format!("schema: {e}"))
    }
}

/// The error and its causes.
fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |e| e.source())
}

fn is_io(error: &(dyn std::error::Error + 'static)) -> bool {
    causes(error).any(|e| e.is::<std::io::Error>() || matches!(e.downcast_ref(), Some(Error::Io { .. })))
}

fn in_batch(batch: &Option<String>) -> String {
    batch.as_ref().map_or(String::new(), |b| format!(" and cannot be in batch {b:?}"))
}

fn known_batches(known: &[String]) -> String {
    if known.is_empty() { "the store has no batches".into() } else { format!("the store has {}", known.join(", ")) }
}

fn since(proven: &Option<u64>) -> String {
    proven.map_or(String::new(), |e| format!(", its last proof is of epoch {e}"))
}
