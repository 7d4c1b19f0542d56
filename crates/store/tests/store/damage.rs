//! Damaged databases: every call returns a value or an error, and no call panics.

use std::fs;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::common::{choice, create, native, set, with_prover};
use evergrove_store::{Changes, Error, Store, in_database};
use evergrove_verifier::Profile;

const DATABASE: &str = "evergrove.redb";
const PAGE: usize = 4096;
const ROWS: u64 = 60;

/// A store of three epochs with a proven batch, after pruning older epochs. Returns the bytes of its database.
fn sound(dir: &Path) -> Vec<u8> {
    let mut store = create(dir, None, 0..ROWS);
    with_prover(&store, &native(4), |prover| {
        prover.define("b", &(0..ROWS).step_by(7).collect::<Vec<_>>(), &choice(Profile::Paper)).expect("a new batch");
        prover.prove("b").expect("proves");
    });
    for round in 1..4 {
        store.apply(&set(&[(3 * round, round), (ROWS - round, 7)])).expect("changes");
    }
    store.prune(3, false).expect("prunes");
    drop(store);
    fs::read(dir.join(DATABASE)).expect("reads")
}

/// Damage to the bytes of a database.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// Every byte of a page gets another value.
    Page(usize, fn(u8) -> u8),
    /// One byte changes.
    Byte(usize, u8),
    /// The file ends early.
    Cut(usize),
}

impl Damage {
    fn of(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Self::Page(k, fill) => bytes[PAGE * k..][..PAGE].iter_mut().for_each(|b| *b = fill(*b)),
            Self::Byte(at, mask) => bytes[at] ^= mask,
            Self::Cut(at) => bytes.truncate(at),
        }
        bytes
    }

    fn all(bytes: &[u8]) -> Vec<Self> {
        let filled = |k: &usize| bytes[PAGE * k..][..PAGE].iter().any(|b| *b != 0);
        let pages: Vec<usize> = (0..bytes.len() / PAGE).filter(filled).collect();
        let fills: [fn(u8) -> u8; 3] = [|_| 0, |_| 0xff, |b| 0xa5_u8.wrapping_sub(b)];
        let mut all: Vec<Self> = pages.iter().flat_map(|k| fills.map(|fill| Self::Page(*k, fill))).collect();
        // The head of a page contains its type.
        let offsets =
            pages.iter().flat_map(|k| (0..24).step_by(3).chain((24..PAGE).step_by(509)).map(move |i| PAGE * k + i));
        all.extend(offsets.enumerate().map(|(n, at)| Self::Byte(at, [0x01, 0x80, 0xff][n % 3])));
        let cuts = (0..bytes.len()).step_by(bytes.len() / 40).chain([1, 100, 319, 320, 4095, 4097, bytes.len() - 1]);
        all.extend(cuts.map(Self::Cut));
        all
    }
}

/// Counts the failed calls.
#[derive(Default)]
struct Calls {
    failed: usize,
}

impl Calls {
    fn note<T>(&mut self, outcome: Result<T, Error>) -> Option<T> {
        self.failed += usize::from(outcome.is_err());
        outcome.ok()
    }
}

fn read_everything(dir: &Path) -> usize {
    let mut calls = Calls::default();
    let Some(mut store) = calls.note(Store::open(dir)) else { return 1 };
    calls.note(store.commitment());
    calls.note(store.epochs());
    calls.note(store.batches());
    calls.note(store.status());
    calls.note(store.members("b"));
    calls.note(store.export("b"));
    calls.note(store.proof_at("b", None));
    if let Some(view) = calls.note(store.view()) {
        for index in 0..ROWS {
            calls.note(view.row(index));
        }
        calls.note(view.opening(5));
        calls.note(view.for_each_row(|_, _| Ok(())));
        // Another thread gets the same errors.
        thread::scope(|s| {
            let read = s.spawn(|| (0..ROWS).filter(|i| view.row(*i).is_err()).count());
            calls.failed += read.join().expect("no panic on another thread");
        });
    }
    calls.failed += calls.note(store.doctor(&native(4))).map_or(1, |report| report.findings.len());
    calls.note(store.epoch());
    drop(store);
    calls.failed
}

fn write_everything(dir: &Path) -> usize {
    let mut calls = Calls::default();
    let Some(mut store) = calls.note(Store::open(dir)) else { return 1 };
    calls.note(store.apply(&set(&[(2, 22), (ROWS + 1, 1)])));
    calls.note(store.apply(&Changes { clear: vec![1], ..Changes::default() }));
    calls.note(store.drop_batch("b"));
    // A dry run has no compaction, which redb repeats for ever on some damaged lists of free pages.
    calls.note(store.prune(1, true));
    calls.note(store.epoch());
    drop(store);
    calls.failed
}

/// Makes these calls on a store with each damage from number `from` on. Returns the number of stores with a failed
/// call, and the number of all damages.
fn survive(from: usize, call: fn(&Path) -> usize, mut now: impl FnMut(usize)) -> (usize, usize) {
    // Like a program around the library: silent if the library catches the panic.
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !in_database() {
            shown(info);
        }
    }));
    let dir = tempfile::tempdir().expect("a directory");
    let bytes = sound(dir.path());
    let all = Damage::all(&bytes);
    let mut damaged = 0;
    for (n, damage) in all.iter().enumerate().skip(from) {
        now(n);
        fs::write(dir.path().join(DATABASE), damage.of(&bytes)).expect("writes");
        let failed = catch_unwind(AssertUnwindSafe(|| call(dir.path())));
        damaged += usize::from(failed.unwrap_or_else(|_| panic!("a panic escapes with {damage:?}")) > 0);
    }
    (damaged, all.len())
}

#[test]
fn reading_a_damaged_database_never_panics() {
    let (damaged, all) = survive(0, read_everything, |_| ());
    assert!(damaged > all / 4, "{damaged} of {all}");
}

/// Number of the first damage for a process of [`writing_a_damaged_database_never_panics`].
const FROM: &str = "EVERGROVE_DAMAGE_FROM";
/// The file to which it writes the number of its current damage.
const AT: &str = "EVERGROVE_DAMAGE_AT";

/// redb 4.4 itself aborts the process if a commit meets damage in its list of free pages: it panics again while
/// unwinding. So processes of their own make the calls, and an abort is allowed for a few of the damages.
#[test]
fn writing_a_damaged_database_never_panics() {
    if let (Ok(from), Ok(at)) = (std::env::var(FROM), std::env::var(AT)) {
        let from = from.parse().expect("a number");
        survive(from, write_everything, |n| fs::write(&at, n.to_string()).expect("writes"));
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().join("at");
    let all = Damage::all(&sound(dir.path())).len();
    let (mut from, mut aborted) = (0, Vec::new());
    while from < all {
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        child.args(["--exact", "damage::writing_a_damaged_database_never_panics", "--nocapture"]);
        let output = child.env(FROM, from.to_string()).env(AT, &at).output().expect("runs");
        if output.status.success() {
            break;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("non-unwinding panic"), "{said}");
        let last: usize = fs::read_to_string(&at).expect("reads").parse().expect("a number");
        aborted.push(last);
        from = last + 1;
    }
    assert!(aborted.len() < all / 20, "{aborted:?} of {all}");
}

#[test]
fn a_panic_of_the_caller_is_not_the_databases() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(dir.path(), None, 0..ROWS);
    let view = store.view().expect("reads");
    let visit = || view.for_each_row(|_, _| panic!("inside {}", in_database()));
    let panic = catch_unwind(AssertUnwindSafe(visit)).expect_err("the panic of the caller goes through");
    assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some("inside false"));
    // The store is not damaged either.
    assert_eq!(store.apply(&set(&[(1, 1)])).expect("changes").set, 1);
}
