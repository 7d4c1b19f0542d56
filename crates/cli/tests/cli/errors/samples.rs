//! One value of each variant of the libraries' errors, as the command line shows it.
//!
//! Each list is a chain. The match that returns the next value names every variant, so a new variant does not compile
//! here.

// The program's own module, compiled without the rest of the program.
#[allow(dead_code)]
#[path = "../../../src/command_error.rs"]
mod command_error;

use std::fmt::Debug;
use std::io;
use std::path::PathBuf;

use evergrove::commit::BackendError;
use evergrove::commit::schema::{NotAbi, RowError, SchemaError};
use evergrove::jobs::bullmq::QueueError;
use evergrove::jobs::{Cause, Key, ResultsError, RunError, TaskId};
use evergrove::primitives::Digest;
use evergrove::proof::{
    AppId, BackendId, Commitment, DecodeError, HeightClass, LeavesError, NodeKind, PolicyError, Profile, Scheme,
};
use evergrove::store::input::{InputError, Place, Problem, WriteError};
use evergrove::store::{BackupError, Epoch, Error, Repair, VerifyError};

use self::command_error::CommandError;

/// The last part of the snapshot.
pub(super) fn all() -> String {
    let proving = |source| Error::Proving { name: "b".into(), source: Box::new(source) };
    let input = |problem| InputError {
        place: Place { path: "t.csv".into(), unit: "line", number: Some(3) },
        problem: Box::new(problem),
    };
    let repairs = each(repair).into_iter().map(|r| format!("{r:?}\nhelp: {}\n\n", command_error::repair(r)));
    [
        title("Errors of a store"),
        each(store).into_iter().map(|e| shown(name(&e), e)).collect(),
        title("Errors of a run"),
        each(run).into_iter().map(|e| shown(name(&e), proving(e))).collect(),
        title("Errors of a verification"),
        each(verification).into_iter().map(|e| shown(name(&e), e)).collect(),
        title("Refusals by the policy"),
        each(policy).into_iter().map(|e| shown(name(&e), VerifyError::Policy(e))).collect(),
        title("Errors of a file of rows"),
        each(problem).into_iter().map(|e| shown(name(&e), input(e))).collect(),
        title("Errors of an output"),
        each(write).into_iter().map(|e| shown(name(&e), e)).collect(),
        title("Errors of a queue"),
        each(queue).into_iter().map(|e| shown(name(&e), e)).collect(),
        title("Errors of the facade"),
        facade().into_iter().map(|e| shown(name(&e), e)).collect(),
        title("Findings of doctor"),
        repairs.collect(),
    ]
    .concat()
}

fn title(text: &str) -> String {
    format!("\n# {text}\n\n")
}

/// All values of a chain.
fn each<T>(next: fn(Option<&T>) -> Option<T>) -> Vec<T> {
    let mut all = Vec::new();
    while let Some(value) = next(all.last()) {
        all.push(value);
    }
    all
}

/// The name of a variant.
fn name(error: &impl Debug) -> String {
    format!("{error:?}").split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

fn shown(name: String, error: impl Into<anyhow::Error>) -> String {
    let CommandError { class, message, remedy, .. } = CommandError::of(&error.into());
    let help = remedy.map_or(String::new(), |r| format!("help: {r}\n"));
    format!("{name}\nerror: {message}\n{help}exit {}\n\n", class as u8)
}

fn io(kind: io::ErrorKind) -> io::Error {
    io::Error::new(kind, "what the system says")
}

fn digest(x: u64) -> Digest {
    Digest([x, 0, 0, 0].map(evergrove::primitives::Goldilocks::new))
}

/// The facade's own errors. The errors that it passes on are in the chains above.
fn facade() -> Vec<evergrove::Error> {
    use evergrove::Error as E;
    let config = evergrove::Config::default();
    let backends = config.verifiers();
    let spec = backends.spec(&config.choice(), HeightClass::H27).expect("the default backend").clone();
    vec![
        E::UnknownColumn { name: "prize".into(), known: vec!["name".into(), "price".into()] },
        E::Row { position: 7, source: RowError::CellsInRaw },
        E::SetTwice(7),
        E::NotAbi(NotAbi::Raw),
        E::EqualRows { first: 3, second: 7 },
        E::Memory { spec: Box::new(spec), needed: 5 << 29, limit: 1 << 29 },
        E::KeysDirectory { dir: "file/keys".into(), file: "file".into() },
        E::ForeignProfile { backend: evergrove::Backend::Grove, profile: Profile::Paper },
        E::NoBackend(evergrove::Backend::Plonky2),
    ]
}

fn store(last: Option<&Error>) -> Option<Error> {
    use Error as E;
    let (b, dir) = (|| "b".to_owned(), || PathBuf::from("s"));
    Some(match last {
        None => E::OutOfRange { index: 9, height: 3 },
        Some(E::OutOfRange { .. }) => E::TooHigh(1 << 40),
        Some(E::TooHigh(_)) => E::Height(41),
        Some(E::Height(_)) => E::Duplicate(7),
        Some(E::Duplicate(_)) => E::RequestKey("a b".into()),
        Some(E::RequestKey(_)) => E::Repeated("order-17".into()),
        Some(E::Repeated(_)) => E::Row { index: 7, source: RowError::CellsInRaw },
        Some(E::Row { .. }) => E::Input("line 7: what the source says".into()),
        Some(E::Input(_)) => E::EmptySlot { index: 7, batch: Some(b()) },
        Some(E::EmptySlot { batch: Some(_), .. }) => E::EmptySlot { index: 7, batch: None },
        Some(E::EmptySlot { .. }) => E::EmptyBatch(b()),
        Some(E::EmptyBatch(_)) => E::UnknownBatch { name: b(), known: vec![] },
        Some(E::UnknownBatch { .. }) => E::BatchExists { name: b(), len: 5 },
        Some(E::BatchExists { .. }) => E::BatchName("a/b".into()),
        Some(E::BatchName(_)) => E::InBatch { index: 7, batch: b() },
        Some(E::InBatch { .. }) => E::AlreadyMember { index: 7, batch: b() },
        Some(E::AlreadyMember { .. }) => E::NotMember { index: 7, batch: b() },
        Some(E::NotMember { .. }) => E::Stale { name: b(), epoch: 3, proven: None },
        Some(E::Stale { proven: None, .. }) => E::Stale { name: b(), epoch: 3, proven: Some(2) },
        Some(E::Stale { .. }) => E::NotProven { name: b(), epoch: 3 },
        Some(E::NotProven { .. }) => E::LostProof { name: b(), place: "s/objects/0".into(), found: false },
        Some(E::LostProof { found: false, .. }) => E::LostProof { name: b(), place: "s/objects/0".into(), found: true },
        Some(E::LostProof { .. }) => E::UnknownEpoch { epoch: 9, oldest: 2, newest: 5 },
        Some(E::UnknownEpoch { .. }) => E::KeepNothing,
        Some(E::KeepNothing) => E::UnknownBackend {
            scheme: Scheme::Evergrove,
            name: "abacus".into(),
            profile: Profile::Paper,
            class: HeightClass::H27,
            known: vec!["native".into(), "plonky2".into()],
        },
        Some(E::UnknownBackend { .. }) => {
            E::UnknownApp { app: AppId::new("sum", b""), scheme: Scheme::Complete, profile: Profile::Paper }
        }
        Some(E::UnknownApp { .. }) => E::AllRows(b()),
        Some(E::AllRows(_)) => E::NotAStore(dir()),
        Some(E::NotAStore(_)) => E::Missing(dir()),
        Some(E::Missing(_)) => E::Exists(dir()),
        Some(E::Exists(_)) => E::NotEmpty(dir()),
        Some(E::NotEmpty(_)) => E::Restored { dir: dir(), source: Box::new(E::Locked(dir())) },
        Some(E::Restored { .. }) => E::Backup(BackupError::Foreign),
        Some(E::Backup(e)) => match backup(e) {
            Some(next) => E::Backup(next),
            None => E::Locked(dir()),
        },
        Some(E::Locked(_)) => E::Version { dir: dir(), found: "7".into(), known: 2 },
        Some(E::Version { .. }) => E::OldFormat(dir()),
        Some(E::OldFormat(_)) => E::ReadOnly(dir()),
        Some(E::ReadOnly(_)) => E::Corrupt { dir: dir(), what: "what is wrong".into() },
        Some(E::Corrupt { .. }) => E::Proving { name: b(), source: Box::new(RunError::Empty) },
        Some(E::Proving { .. }) => {
            E::Backend { name: "native".into(), source: BackendError::Internal("what went wrong".into()) }
        }
        Some(E::Backend { .. }) => E::Io { path: "s/evergrove.redb".into(), source: io(io::ErrorKind::StorageFull) },
        Some(E::Io { .. }) => return None,
    })
}

fn backup(last: &BackupError) -> Option<BackupError> {
    use BackupError as E;
    let epoch = |number| {
        let commitment = Commitment { height: 3, root: digest(number) };
        Box::new(Epoch { number, commitment, filled: 5 })
    };
    Some(match last {
        E::Foreign => E::Version { found: 2 },
        E::Version { .. } => E::Format { found: 3 },
        E::Format { .. } => E::CutOff(700),
        E::CutOff(_) => E::Damaged(42),
        E::Damaged(_) => E::Trailing(700),
        E::Trailing(_) => E::Content("what is in it".into()),
        E::Content(_) => E::Commitment { named: epoch(3), found: epoch(2) },
        E::Commitment { .. } => E::Read(io(io::ErrorKind::TimedOut)),
        E::Read(_) => return None,
    })
}

fn run(last: Option<&RunError>) -> Option<RunError> {
    use RunError as E;
    let results = |kind| ResultsError { context: "storing a proof".into(), source: Box::new(io(kind)) };
    let failed = |cause| E::Failed {
        task: TaskId(3),
        key: Key([7; 32]),
        kind: "merge",
        attempts: 3,
        cause,
        report: Box::default(),
    };
    Some(match last {
        None => failed(Cause::Panic("what it says".into())),
        Some(E::Failed { cause: Cause::Panic(_), .. }) => {
            failed(Cause::Error(Box::new(BackendError::Witness("what does not hold".into()))))
        }
        Some(E::Failed { cause: Cause::Error(_), .. }) => failed(Cause::Results(results(io::ErrorKind::StorageFull))),
        Some(E::Failed { cause: Cause::Results(_), .. }) => E::Cancelled { report: Box::default() },
        Some(E::Cancelled { .. }) => E::Results(results(io::ErrorKind::PermissionDenied)),
        Some(E::Results(_)) => E::Engine(Box::new(QueueError::NotDurable { redis: "redis://localhost".into() })),
        Some(E::Engine(_)) => E::Empty,
        Some(E::Empty) => return None,
    })
}

fn verification(last: Option<&VerifyError>) -> Option<VerifyError> {
    use VerifyError as E;
    Some(match last {
        None => E::Decode(DecodeError::Trailing { offset: 700, extra: 1 }),
        Some(E::Decode(_)) => E::TooLong { found: (1 << 24) + 1 },
        Some(E::TooLong { .. }) => E::Policy(PolicyError::Empty),
        Some(E::Policy(_)) => E::Scheme("other".into()),
        Some(E::Scheme(_)) => E::Leaves(LeavesError::Order { place: 1, before: 7, index: 7 }),
        Some(E::Leaves(_)) => E::Canonical { count: 5, expected: digest(1), found: digest(2) },
        Some(E::Canonical { .. }) => E::AllRows,
        Some(E::AllRows) => E::Proof(BackendError::Rejected("what does not hold".into())),
        Some(E::Proof(BackendError::Rejected(_))) => E::Proof(BackendError::Internal("what went wrong".into())),
        Some(E::Proof(_)) => E::Backend(Error::KeepNothing),
        Some(E::Backend(_)) => return None,
    })
}

fn policy(last: Option<&PolicyError>) -> Option<PolicyError> {
    use PolicyError as E;
    let accepted = || "those".to_owned();
    Some(match last {
        None => E::Scheme { found: "other".into(), accepted: accepted() },
        Some(E::Scheme { .. }) => E::Backend { found: BackendId::new("native", 1), accepted: accepted() },
        Some(E::Backend { .. }) => E::Profile { found: Profile::Paper, accepted: accepted(), bits: 30 },
        Some(E::Profile { .. }) => E::Foreign { backend: BackendId::new("grove", 1), profile: Profile::Paper },
        Some(E::Foreign { .. }) => E::Output { scheme: "evergrove1".into() },
        Some(E::Output { .. }) => E::App { found: AppId::new("sum", b""), accepted: accepted() },
        Some(E::App { .. }) => E::Canonical(digest(1)),
        Some(E::Canonical(_)) => E::Height { expected: 5, found: 6 },
        Some(E::Height { .. }) => E::Class { height: 30, expected: HeightClass::H40, found: HeightClass::H27 },
        Some(E::Class { .. }) => E::NoSuchHeight(41),
        Some(E::NoSuchHeight(_)) => E::Base(8),
        Some(E::Base(_)) => E::Root { expected: digest(1), found: digest(2) },
        Some(E::Root { .. }) => E::Empty,
        Some(E::Empty) => E::Kind { profile: Profile::Paper, expected: "wrap", found: NodeKind::Bucket },
        Some(E::Kind { .. }) => return None,
    })
}

fn problem(last: Option<&Problem>) -> Option<Problem> {
    use Problem as E;
    let column = || "age".to_owned();
    Some(match last {
        None => E::Io(io(io::ErrorKind::Other)),
        Some(E::Io(_)) => E::Malformed { format: "csv", detail: "what the parser says".into() },
        Some(E::Malformed { .. }) => E::TooLong,
        Some(E::TooLong) => E::NoRows,
        Some(E::NoRows) => E::NoColumn { name: column(), available: vec![] },
        Some(E::NoColumn { .. }) => E::Lacking { name: column(), available: vec!["name".into()] },
        Some(E::Lacking { .. }) => E::UnknownColumn(column()),
        Some(E::UnknownColumn(_)) => E::DuplicateColumn(column()),
        Some(E::DuplicateColumn(_)) => E::RawColumn(column()),
        Some(E::RawColumn(_)) => E::RawForColumns,
        Some(E::RawForColumns) => E::RawLength(40),
        Some(E::RawLength(_)) => E::Row(RowError::RawInTable),
        Some(E::Row(RowError::RawInTable)) => E::Row(RowError::Encoding),
        Some(E::Row(_)) => E::Index { column: column(), value: "\"x\"".into() },
        Some(E::Index { .. }) => E::DuplicateIndex(7),
        Some(E::DuplicateIndex(_)) => E::ListLength { positions: 3, rows: 4 },
        Some(E::ListLength { .. }) => E::Schema(SchemaError::TooManyColumns(5000)),
        Some(E::Schema(_)) => E::NoParquet,
        Some(E::NoParquet) => E::Unsupported { column: column(), found: "nested".into() },
        Some(E::Unsupported { .. }) => return None,
    })
}

fn write(last: Option<&WriteError>) -> Option<WriteError> {
    Some(match last {
        None => WriteError::Io(io(io::ErrorKind::StorageFull)),
        Some(WriteError::Io(_)) => WriteError::NoParquet,
        Some(WriteError::NoParquet) => WriteError::Columns,
        Some(WriteError::Columns) => WriteError::EmptyString { column: "name".into() },
        Some(WriteError::EmptyString { .. }) => WriteError::NotUtf8 { column: "name".into() },
        Some(WriteError::NotUtf8 { .. }) => return None,
    })
}

fn queue(last: Option<&QueueError>) -> Option<QueueError> {
    use QueueError as E;
    let redis = || "redis://localhost".to_owned();
    Some(match last {
        None => E::Url { what: "what is wrong".into() },
        Some(E::Url { .. }) => E::Name { name: "a:b".into() },
        Some(E::Name { .. }) => E::Certificates { redis: redis(), what: "what is wrong".into() },
        Some(E::Certificates { .. }) => E::Version { redis: redis(), found: "6.0.16".into() },
        Some(E::Version { .. }) => E::Evicts { redis: redis(), policy: "allkeys-lru".into() },
        Some(E::Evicts { .. }) => E::NotDurable { redis: redis() },
        Some(E::NotDurable { .. }) => E::Thread(io(io::ErrorKind::OutOfMemory)),
        // The source of a failed call is an error of the queue's client, which cannot be built here.
        Some(E::Thread(_) | E::Call { .. }) => E::Unknown { what: "run", id: "7".into(), queue: "evergrove".into() },
        Some(E::Unknown { .. }) => return None,
    })
}

fn repair(last: Option<&Repair>) -> Option<Repair> {
    Some(match last {
        None => Repair::Done,
        Some(Repair::Done) => Repair::Restore,
        Some(Repair::Restore) => Repair::Prove,
        Some(Repair::Prove) => Repair::Delete,
        Some(Repair::Delete) => Repair::Move,
        Some(Repair::Move) => return None,
    })
}
