//! The meaning of an error on the command line: its exit code, and a remedy in terms of commands and flags.
//!
//! Errors of the libraries carry only data. Their remedies are in exhaustive matches here, so a new variant does not
//! compile without one.

use std::fmt;
use std::io::{self, ErrorKind};

use anyhow::Error;
use evergrove::apps::catalog::{CatalogError, CircuitsError};
use evergrove::commit::BackendError;
use evergrove::commit::schema::{RowError, SchemaTextError};
use evergrove::ethereum;
#[cfg(feature = "queue")]
use evergrove::jobs::bullmq::QueueError;
use evergrove::jobs::objects::ObjectsError;
use evergrove::jobs::{CoresError, RunError};
#[cfg(feature = "plonky2")]
use evergrove::plonky2::apps::circuit_set::SizeError;
use evergrove::proof::PolicyError;
use evergrove::store::input::{IndexListError, InputError, Problem, RecordError, WriteError};
use evergrove::store::{BackupError, ErrorClass, Repair, VerifyError};
#[cfg(feature = "serve")]
use evergrove_serve::ServeError;

/// A mistake in the arguments or the input, with its remedy.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    remedy: String,
    class: ErrorClass,
    /// True if a result that was printed already says this too.
    printed: bool,
}

impl CliError {
    fn new(class: ErrorClass, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into(), class, printed: false }
    }

    /// Exit code 2.
    pub(crate) fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self::new(ErrorClass::Usage, message, remedy).into()
    }

    /// Exit code 1.
    pub(crate) fn refused(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self::new(ErrorClass::Refused, message, remedy).into()
    }

    /// Exit code 4.
    #[cfg(feature = "queue")]
    pub(crate) fn proving(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self::new(ErrorClass::Proving, message, remedy).into()
    }

    /// Exit code 3.
    pub(crate) fn store(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self::new(ErrorClass::Store, message, remedy).into()
    }

    /// Exit code 5.
    #[cfg(feature = "serve")]
    pub(crate) fn io(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self::new(ErrorClass::Io, message, remedy).into()
    }

    /// Exit code 3, after a printed result that says the same to programs.
    pub(crate) fn damage(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self { printed: true, ..Self::new(ErrorClass::Store, message, remedy) }.into()
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}

/// An error as its reader sees it.
pub(crate) struct CommandError {
    /// Decides the exit code.
    pub(crate) class: ErrorClass,
    /// The message: what is wrong.
    pub(crate) message: String,
    /// The remedy: what to do about it.
    pub(crate) remedy: Option<String>,
    /// True if a result that was printed already says this too.
    pub(crate) printed: bool,
}

impl CommandError {
    /// The outermost cause with a class decides the class, and the outermost one with a remedy the remedy.
    pub(crate) fn of(error: &Error) -> Self {
        let (mut class, mut remedy) = (None, None);
        for cause in error.chain() {
            let (c, r) = explain(cause);
            class = class.or(c);
            remedy = remedy.or(r);
        }
        let class = class.unwrap_or(ErrorClass::Usage);
        let remedy = remedy.or_else(|| match class {
            ErrorClass::Proving => Some("run the same command again: it continues from the finished proofs".into()),
            ErrorClass::Io => Some("check the path, the permissions and the disk".into()),
            ErrorClass::Refused | ErrorClass::Usage | ErrorClass::Store => None,
        });
        let printed = error.downcast_ref::<CliError>().is_some_and(|m| m.printed);
        Self { class, message: messages(error), remedy, printed }
    }
}

/// The messages of a chain, except those that the text so far already contains.
fn messages(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let next = cause.to_string();
        if text.is_empty() {
            text = next;
        } else if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
    }
    text
}

/// Class and remedy of one cause.
fn explain(cause: &(dyn std::error::Error + 'static)) -> (Option<ErrorClass>, Option<String>) {
    let io_or_usage = |is_io: bool| Some(if is_io { ErrorClass::Io } else { ErrorClass::Usage });
    if let Some(e) = cause.downcast_ref::<CliError>() {
        (Some(e.class), Some(e.remedy.clone()))
    } else if let Some(e) = cause.downcast_ref::<evergrove::Error>() {
        (Some(e.class()), facade(e))
    } else if let Some(e) = cause.downcast_ref::<evergrove::store::Error>() {
        (Some(e.class()), store(e))
    } else if let Some(e) = cause.downcast_ref::<VerifyError>() {
        (Some(e.class()), verify(e))
    } else if let Some(e) = cause.downcast_ref::<InputError>() {
        (io_or_usage(e.is_io()), Some(input(&e.problem)))
    } else if let Some(e) = cause.downcast_ref::<IndexListError>() {
        (io_or_usage(e.is_io()), Some(index_list(e).into()))
    } else if let Some(e) = cause.downcast_ref::<RecordError>() {
        (Some(ErrorClass::Usage), Some(record(e)))
    } else if let Some(e) = cause.downcast_ref::<WriteError>() {
        (io_or_usage(matches!(e, WriteError::Io(_))), write(e))
    } else if let Some(e) = cause.downcast_ref::<RowError>() {
        (Some(ErrorClass::Usage), Some(e.remedy()))
    } else if cause.is::<SchemaTextError>() {
        (Some(ErrorClass::Usage), Some("correct the schema file".into()))
    } else if let Some(e) = cause.downcast_ref::<RunError>() {
        (None, run(e))
    } else if let Some(e) = cause.downcast_ref::<ObjectsError>() {
        (io_or_usage(e.source.kind() != ErrorKind::InvalidInput), None)
    } else if cause.is::<CoresError>() {
        (None, Some("give a smaller number of --threads".into()))
    } else if let Some(e) = cause.downcast_ref::<ethereum::input::InputError>() {
        (Some(if e.is_refusal() { ErrorClass::Refused } else { ErrorClass::Usage }), None)
    } else if cause.is::<ethereum::TriesError>() {
        (Some(ErrorClass::Refused), None)
    } else if let Some(e) = cause.downcast_ref::<CatalogError>() {
        (None, catalog(e))
    } else if let Some(e) = cause.downcast_ref::<io::Error>() {
        (Some(ErrorClass::Io), system(e))
    } else {
        of_features(cause)
    }
}

/// Class and remedy of a cause that exists only in builds with a feature.
#[cfg_attr(not(any(feature = "queue", feature = "serve")), expect(unused_variables, reason = "this build has none"))]
fn of_features(cause: &(dyn std::error::Error + 'static)) -> (Option<ErrorClass>, Option<String>) {
    #[cfg(feature = "queue")]
    if let Some(e) = cause.downcast_ref::<QueueError>() {
        // A server that does not answer is an error of input and output: the user can choose another one.
        let is_io = matches!(e, QueueError::Call { .. } | QueueError::Thread(_));
        return (Some(if is_io { ErrorClass::Io } else { ErrorClass::Usage }), Some(queue(e).into()));
    }
    #[cfg(feature = "serve")]
    if let Some(e) = cause.downcast_ref::<ServeError>() {
        return (None, serve(e));
    }
    (None, None)
}

/// The remedy for an error of the facade. An error that the facade passes on keeps its own remedy.
fn facade(error: &evergrove::Error) -> Option<String> {
    use evergrove::Error as E;
    let fixed = match error {
        E::Store(e) => return store(e),
        E::Verify(e) => return verify(e),
        E::Input(e) => return Some(input(&e.problem)),
        E::Write(e) => return write(e),
        E::Application(e) => return catalog(e),
        E::Query(e) => return Some(e.remedy()),
        E::Row { source, .. } => return Some(source.remedy()),
        E::NotAbi(_) => "commit the table with a schema of such types",
        E::EqualRows { .. } => "remove one of them, or commit both with --allow-duplicates",
        E::Io { source, .. } => return system(source),
        E::Schema(_) | E::SchemaText(_) => "correct the schema file",
        E::UnknownColumn { .. } => "choose a column of the table: names are case-sensitive",
        E::SetTwice(_) => "set each row once",
        E::Memory { .. } => "raise --max-memory, or choose a profile with smaller circuits",
        E::Threads(_) => "give a smaller number of --threads",
        E::KeysDirectory { .. } => "name a directory with --keys or EVERGROVE_KEYS: it is created if it is missing",
        E::ForeignProfile { .. } => "choose one of these with --profile, or another --backend",
        E::NoBackend(_) => "choose another --backend",
        E::Circuits(CircuitsError::Profile { .. }) => "choose one of these with --profile",
        #[cfg(feature = "plonky2")]
        E::Plonky2Circuits(SizeError::Profile(_)) => "choose one of these with --profile",
        #[cfg(feature = "plonky2")]
        E::Plonky2Circuits(_) => "ask for less at a time",
        E::Circuits(_) => "ask for less at a time",
        E::Answer(_) => "look for damage with doctor",
        _ => return None,
    };
    Some(fixed.into())
}

fn store(error: &evergrove::store::Error) -> Option<String> {
    use evergrove::store::Error as E;
    let fixed = match error {
        E::OutOfRange { .. } => {
            "correct the position, or fill it by update --set or --input with --grow, which doubles the vector"
        }
        E::TooHigh(_) => "correct the index",
        E::Height(_) => "correct --height, or leave it out to get the smallest vector that holds the table",
        E::Duplicate(_) => "give each index once",
        E::RequestKey(_) => "choose another key",
        E::Repeated(_) => "take a new key for new changes",
        E::EmptySlot { .. } => "choose a filled slot",
        E::EmptyBatch(_) => "leave at least one index in the batch, or drop the batch with batches --drop",
        E::UnknownBatch { .. } => "correct the name, or define the batch with prove --batch NAME --indices LIST",
        E::BatchExists { .. } => "change the batch with update --add and --remove, or choose another name",
        E::BatchName(_) => "choose another name",
        E::InBatch { index, batch } => {
            return Some(format!("remove the slot from the batch in the same update: --remove {batch}:{index}"));
        }
        E::AlreadyMember { .. } => "leave the index out of --add",
        E::NotMember { .. } => "leave the index out of --remove",
        E::Stale { name, .. } => return Some(format!("make the proof with prove --batch {name}")),
        E::NotProven { .. } => "choose another epoch",
        E::LostProof { name, .. } => return Some(format!("make the proof again with prove --batch {name}")),
        E::UnknownEpoch { .. } => "choose one of these epochs",
        E::KeepNothing => "keep at least 1 epoch with --keep",
        E::UnknownBackend { .. } if cfg!(feature = "plonky2") => {
            "choose another combination of --backend, --scheme and --profile"
        }
        E::UnknownBackend { .. } => {
            "choose another combination of --backend, --scheme and --profile; those of plonky2 need a build with this feature"
        }
        E::UnknownApp { .. } => "use the command of evergrove app that defined the batch",
        E::AllRows(_) => "set and delete rows instead: a batch over all rows follows the table",
        E::NotAStore(_) | E::Missing(_) => "correct --store, or create a store with commit",
        E::Exists(_) => "change the store with update, or choose another directory",
        E::NotEmpty(_) => "choose a directory that does not exist or is empty",
        E::Restored { source, .. } => return store(source),
        E::Backup(e) => return backup(e),
        E::Locked(_) => "wait until that process ends, or stop it",
        E::OldFormat(dir) => {
            return Some(format!("copy the store to a new one with migrate --store {} --to DIR", dir.display()));
        }
        E::ReadOnly(_) => "open the store to write",
        E::Version { .. } => "use the version of evergrove that wrote the store, or commit the table again",
        E::Corrupt { .. } => {
            "restore the store from a backup or commit the table again; doctor shows what else is damaged"
        }
        // The cause has the remedy.
        E::Proving { source, .. } => return run(source),
        E::Row { .. } | E::Input(_) | E::Backend { .. } | E::Io { .. } => return None,
    };
    Some(fixed.into())
}

fn backup(error: &BackupError) -> Option<String> {
    use BackupError as E;
    let fixed = match error {
        E::Foreign => "check the path: backup --out writes backups",
        E::Version { .. } | E::Format { .. } => "use the version of evergrove that made the backup",
        E::CutOff(_) | E::Damaged(_) | E::Trailing(_) => "copy the backup again, or take another one",
        E::Content(_) | E::Commitment { .. } => "take another backup",
        E::Read(e) => return system(e),
    };
    Some(fixed.into())
}

/// The remedy for a finding of doctor.
pub(crate) fn repair(repair: Repair) -> &'static str {
    match repair {
        Repair::Done => "nothing is left to do: the database has repaired itself",
        Repair::Restore => "restore the store from a backup, or commit the table again",
        Repair::Prove => "make the proof again with prove --batch",
        Repair::Delete => "delete the file, and run prove for the batches that use it",
        Repair::Move => "move the file elsewhere: the directory belongs to the store",
    }
}

fn verify(error: &VerifyError) -> Option<String> {
    let fixed = match error {
        VerifyError::Decode(_) => "check the path, or ask for the proof again",
        VerifyError::TooLong { .. } => "check the path, or allow the backend native with --allow-backend native",
        VerifyError::Policy(e) => return Some(policy(e)),
        VerifyError::Scheme(_) => "use a newer version of evergrove",
        VerifyError::Leaves(_) => "give each row of the batch once, at its position in the table",
        VerifyError::Canonical { .. } => "give the rows of the batch as they are at this commitment, all and no others",
        VerifyError::AllRows => "leave --leaves out",
        VerifyError::Proof(BackendError::Internal(_)) => {
            "the verifier failed, the proof may be valid: report this error"
        }
        VerifyError::Proof(BackendError::Witness(_) | BackendError::Rejected(_)) => "ask for a new proof",
        VerifyError::Backend(e) => return store(e),
    };
    Some(fixed.into())
}

fn policy(error: &PolicyError) -> String {
    match error {
        PolicyError::Scheme { found, .. } => {
            format!("if an honest party made the commitment, accept the scheme with --allow-scheme {found}")
        }
        PolicyError::Backend { found, .. } => {
            format!("if you trust this backend, accept it with --allow-backend {}:{}", found.name, found.version)
        }
        PolicyError::Profile { found, bits, .. } => {
            format!("if {bits} proven bits are enough, accept the profile with --allow-profile {found}")
        }
        PolicyError::App { .. } => "ask for the proof of this application with these parameters".into(),
        PolicyError::Height { .. } | PolicyError::Root { .. } => {
            "ask for a proof at this commitment, or give the commitment of the proof's epoch".into()
        }
        PolicyError::Foreign { .. }
        | PolicyError::Class { .. }
        | PolicyError::NoSuchHeight(_)
        | PolicyError::Base(_)
        | PolicyError::Output { .. }
        | PolicyError::Canonical(_)
        | PolicyError::Empty
        | PolicyError::Kind { .. } => "ask for a new proof: this one was not made by evergrove export or prove".into(),
    }
}

fn input(problem: &Problem) -> String {
    let fixed = match problem {
        Problem::Io(e) if e.kind() == ErrorKind::NotFound => "check the path",
        Problem::Io(_) => "check the path, the permissions and the disk",
        Problem::Malformed { format: "csv" | "tsv", .. } => {
            "correct the line, or say how the file is written with --input-format and --delimiter"
        }
        Problem::Malformed { format: "gzip", .. } => "copy or compress the file again",
        Problem::Malformed { .. } => "correct the file, or name its format with --input-format",
        Problem::TooLong => "look for a quote that is not closed",
        Problem::NoRows => "give a table with at least one row",
        Problem::NoColumn { .. } => "choose a column of the file: names are case-sensitive",
        Problem::Lacking { .. } => {
            "write the column in every record, as null where it has no value: names are case-sensitive"
        }
        Problem::UnknownColumn(_) => {
            "remove the column from the file, give a schema with it, or choose it with --index-column"
        }
        Problem::DuplicateColumn(_) => "rename one of the two columns",
        Problem::RawColumn(_) => {
            "leave --index-column out: raw values have the positions of their order or of --indices"
        }
        Problem::RawForColumns => "give a csv, jsonl or parquet file, or a schema with raw = true",
        Problem::RawLength(_) => "give 32 bytes per value: 4 little-endian field elements",
        Problem::Row(e) => return e.remedy(),
        Problem::Index { .. } => "correct the position, or choose another column with --index-column",
        Problem::DuplicateIndex(_) => "keep one row per position",
        Problem::ListLength { .. } => "give one position per row with --indices",
        Problem::Schema(_) => "write a schema file and name it with --schema",
        Problem::NoParquet => "install a build with the feature parquet (make install), or give csv or jsonl",
        Problem::Unsupported { .. } => "flatten or cast the column, or leave it out of the schema",
    };
    fixed.into()
}

fn index_list(error: &IndexListError) -> &'static str {
    match error {
        IndexListError::Io { .. } => "check the path; a list of positions looks like 0,5,9-20",
        IndexListError::Item { .. } => "write numbers from 0 to 2^40 - 1 and ranges like 9-20",
        IndexListError::Reversed { .. } => "swap the ends of the range",
        IndexListError::Range { .. } => "correct the position",
        IndexListError::Duplicate { .. } => "give each position once",
        IndexListError::TooMany => "split the batch",
        IndexListError::Empty => "give at least one position",
    }
}

fn record(error: &RecordError) -> String {
    let fixed = match error {
        RecordError::Malformed(_) => "quote cells that hold commas, quotes or line ends, as in csv",
        RecordError::Row(RowError::Width { expected, .. }) => {
            return format!(
                "give {expected} cells in the order of the schema, or COLUMN=CELL for each column that changes"
            );
        }
        RecordError::Row(e) => return e.remedy(),
        RecordError::UnknownColumn { .. } => "choose a column of the schema: names are case-sensitive",
        RecordError::DuplicateColumn(_) => "give the column once",
        RecordError::QuotedCell(name) => {
            return format!("write '\"{name}=CELL\"', with the quotes of the shell outside");
        }
        RecordError::Incomplete(_) => "give every column, or a whole row",
    };
    fixed.into()
}

fn write(error: &WriteError) -> Option<String> {
    let fixed = match error {
        WriteError::Io(_) => return None,
        WriteError::NoParquet => "install a build with the feature parquet (make install), or choose csv or jsonl",
        WriteError::Columns | WriteError::NotUtf8 { .. } => "choose csv or jsonl",
        WriteError::EmptyString { .. } => "choose jsonl",
    };
    Some(fixed.into())
}

fn run(error: &RunError) -> Option<String> {
    match error {
        RunError::Cancelled { report } => Some(match report.done {
            0 => "run the same command again: no proof was finished".into(),
            1 => "the finished proof is kept: run the same command again to make the others".into(),
            n => format!("the {n} finished proofs are kept: run the same command again to make the others"),
        }),
        RunError::Failed { .. } | RunError::Results(_) | RunError::Engine(_) | RunError::Empty => None,
    }
}

#[cfg(feature = "queue")]
fn queue(error: &QueueError) -> &'static str {
    match error {
        QueueError::Url { .. } => "give redis://HOST:PORT or rediss://HOST:PORT",
        QueueError::Name { .. } => "choose another name with --queue",
        QueueError::Certificates { .. } => "give certificates in PEM format with --redis-ca",
        QueueError::Version { .. } => "use a newer Redis server",
        QueueError::Evicts { .. } => "set maxmemory-policy noeviction on the server",
        QueueError::NotDurable { .. } => "set appendonly yes on the server",
        QueueError::Call { .. } => "check that the server runs, and check its URL and password",
        QueueError::Thread(_) => "end other processes, or raise the limit of threads",
        QueueError::Unknown { .. } => "choose a run or job that jobs list shows",
    }
}

fn catalog(error: &CatalogError) -> Option<String> {
    match error {
        CatalogError::Unknown { .. } => {
            Some("run the program that registers this application, or choose one of these".into())
        }
        CatalogError::Text { .. } => Some("write the parameters as app list says".into()),
        CatalogError::Taken(_) | CatalogError::Name(_) => Some("choose another name for the application".into()),
        CatalogError::Parameters { .. } => Some("use the version of evergrove that defined the batch".into()),
    }
}

#[cfg(feature = "serve")]
fn serve(error: &ServeError) -> Option<String> {
    match error {
        ServeError::Store(e) => store(e),
        ServeError::Io(_) => None,
        ServeError::Panicked => Some("start the service again".into()),
    }
}

fn system(error: &io::Error) -> Option<String> {
    let fixed = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space and run the command again; prune removes old epochs of a store"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make the place writable for this user, or choose another one"
        }
        ErrorKind::NotFound => "check the path",
        ErrorKind::IsADirectory => "choose a file",
        ErrorKind::AddrInUse => "choose another address, or port 0 for a free one",
        _ => return None,
    };
    Some(fixed.into())
}
