//! What can go wrong.

use std::fmt;
use std::path::{Path, PathBuf};

use evergrove_commit::schema::{DecodeSchemaError, RowError};
use evergrove_commit::{BackendError, StoreError, VectorError};
use evergrove_jobs::RunError;
use evergrove_verifier::{AppId, HEIGHT_MAX, HeightClass, Profile, Scheme};

/// Who has to act on an error. The numbers are the exit codes of the command line; as text a class is its name in lower
/// case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// A verifier refused.
    Refused = 1,
    /// Bad input or a wrong argument.
    Usage = 2,
    /// The store is locked, of another version, damaged or not there.
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

/// An error of this crate. [`Error::class`] sorts them.
///
/// The text says what is wrong with which value. What to do about it depends on the program around: the command line adds
/// that in terms of its flags.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An index lies outside the vector.
    #[error("index {index} is outside the vector of 2^{height} slots")]
    OutOfRange {
        /// The index.
        index: u64,
        /// H.
        height: u8,
    },
    /// No vector has such an index.
    #[error("index {0} is beyond 2^{HEIGHT_MAX} slots, the size of the largest vector")]
    TooHigh(u64),
    /// The height is not from 1 to 40.
    #[error("invalid height {0}: expected 1 to {HEIGHT_MAX}")]
    Height(u8),
    /// A key that a request cannot have.
    #[error("the key {0:?} of a request is not 1 to 128 visible ASCII characters")]
    RequestKey(String),
    /// A request with this key is part of an epoch already.
    #[error("a request with the key {0:?} was made before")]
    Repeated(String),
    /// One index is given twice.
    #[error("duplicate index {0}")]
    Duplicate(u64),
    /// A row does not fit the schema.
    #[error("row {index}: {source}")]
    Row {
        /// Its index.
        index: u64,
        /// How it does not fit.
        #[source]
        source: RowError,
    },
    /// The source of rows failed; it says where and why.
    #[error("{0}")]
    Input(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A slot is empty that should hold a row.
    #[error("slot {index} is empty{}", in_batch(.batch))]
    EmptySlot {
        /// The slot.
        index: u64,
        /// The batch that was to hold it.
        batch: Option<String>,
    },
    /// A batch would have no members.
    #[error("batch {0:?} would have no members")]
    EmptyBatch(String),
    /// There is no such batch.
    #[error("unknown batch {name:?}: {}", known_batches(.known))]
    UnknownBatch {
        /// The name.
        name: String,
        /// The batches that there are.
        known: Vec<String>,
    },
    /// The batch has other members.
    #[error("batch {name:?} already exists: its {len} members are not the given ones")]
    BatchExists {
        /// The name.
        name: String,
        /// Its number of members.
        len: u64,
    },
    /// The name is no batch name.
    #[error(
        "invalid batch name {0:?}: expected 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.', with a letter or digit first"
    )]
    BatchName(String),
    /// A slot is to be emptied that batches hold.
    #[error("slot {index} cannot be emptied: it is in batch {batch:?}")]
    InBatch {
        /// The slot.
        index: u64,
        /// A batch that holds it.
        batch: String,
    },
    /// An index is to join a batch that it is in.
    #[error("index {index} is already in batch {batch:?}")]
    AlreadyMember {
        /// The index.
        index: u64,
        /// The batch.
        batch: String,
    },
    /// An index is to leave a batch that it is not in.
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
        /// True when something else is there.
        found: bool,
    },
    /// The epoch is not kept.
    #[error("unknown epoch {epoch}: the store has epochs {oldest} to {newest}")]
    UnknownEpoch {
        /// The epoch asked for.
        epoch: u64,
        /// The oldest that can be read.
        oldest: u64,
        /// The current one.
        newest: u64,
    },
    /// Pruning would keep nothing.
    #[error("the current epoch cannot be pruned")]
    KeepNothing,
    /// No such backend is registered.
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
        /// Names of the backends that there are.
        known: Vec<String>,
    },
    /// No backend of the application is registered.
    #[error("unknown application {app} for scheme {scheme} and profile {profile}")]
    UnknownApp {
        /// The application.
        app: AppId,
        /// The scheme.
        scheme: Scheme,
        /// The profile.
        profile: Profile,
    },
    /// The members of a batch over all rows are named.
    #[error("batch {0:?} covers all rows and takes no list of members")]
    AllRows(String),
    /// The directory holds no store.
    #[error("{} holds no store", .0.display())]
    NotAStore(PathBuf),
    /// The directory does not exist.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// The directory holds a store already.
    #[error("{} already holds a store", .0.display())]
    Exists(PathBuf),
    /// The directory of a store that is to be restored has something in it.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// A store was restored, and what was to be done after it got its place failed.
    #[error("the store is restored in {}, but {source}", dir.display())]
    Restored {
        /// The store.
        dir: PathBuf,
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// A backup is not what was written, or cannot be read.
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
    /// The store has format 1, that of version 0.1: it can be read, not written.
    #[error("the store in {} has format 1 of version 0.1, which can be read but not changed", .0.display())]
    OldFormat(PathBuf),
    /// The store was opened to be read.
    #[error("the store in {} is open for reading alone", .0.display())]
    ReadOnly(PathBuf),
    /// Something in the store is not what was written.
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
        /// The task that failed and why. What was proven is kept: a later run continues from there.
        #[source]
        source: Box<RunError>,
    },
    /// The backend failed outside a task.
    #[error("backend {name}: {source}")]
    Backend {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: BackendError,
    },
    /// The operating system failed to read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
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
    /// Who has to act.
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

    /// True when there was no room on the disk: nothing is damaged, and the same succeeds once there is some.
    pub fn is_full(&self) -> bool {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let full = |e: &std::io::Error| matches!(e.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(e) = next {
            if e.downcast_ref().is_some_and(full) {
                return true;
            }
            next = e.source();
        }
        false
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

    /// An error of the vector over the store in `dir`.
    pub(crate) fn vector(dir: &Path) -> impl Fn(VectorError) -> Self + '_ {
        move |e| match e {
            VectorError::Height(h) => Self::Height(h),
            VectorError::Full => Self::TooHigh(1 << HEIGHT_MAX),
            VectorError::OutOfRange { index, height } => Self::OutOfRange { index, height },
            VectorError::Duplicate(index) => Self::Duplicate(index),
            VectorError::Store(e) => Self::store(dir)(e),
        }
    }

    /// An error that went through the store's trait and is ours in most cases.
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

fn is_io(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(e) = next {
        if e.is::<std::io::Error>() || matches!(e.downcast_ref(), Some(Error::Io { .. })) {
            return true;
        }
        next = e.source();
    }
    false
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
