//! The log of requests: caller, request, time and outcome.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use evergrove::commit::schema::time::format_timestamp;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::lock;
use crate::problem::Problem;
use crate::service::Shared;

/// Greatest number of lines that wait to be written. Further lines are dropped, so a full disk or a blocked pipe delays
/// no request.
const WAITING: usize = 4096;
/// Greatest number of bytes of a path in a line.
const PATH_BYTES: usize = 256;
/// How long a service that ends waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(5);
/// The header with the id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Greatest number of bytes of an id that a caller gives.
const REQUEST_ID_BYTES: usize = 64;

/// The log of requests, one JSON object per line. Clones share the log.
///
/// ```text
/// {"time":"2026-05-04T03:02:01.123Z","request_id":"6f0c..","peer":"10.0.0.7:40112","token":"ann","method":"POST",
///  "path":"/v1/changes","status":200,"bytes":117,"seconds":0.012,"epoch":8,"changes":3}
/// ```
///
/// Lines contain no token, no query and no row. A line is written after its answer has ended. A line without `status`
/// means that the caller disconnected before the answer.
#[derive(Clone)]
pub struct AccessLog(Arc<Inner>);

struct Inner {
    /// `None` once the service ends.
    lines: Mutex<Option<SyncSender<Vec<u8>>>>,
    losses: Arc<Losses>,
    /// Number of lines in the queue that are not written yet.
    waiting: Arc<AtomicUsize>,
    written: Mutex<Option<oneshot::Receiver<()>>>,
}

/// Lost lines. The log of the service reports the first one.
#[derive(Default)]
struct Losses {
    dropped: Counter,
    /// Set by the first dropped line. Cleared when the queue is empty and the last write succeeded.
    told: AtomicBool,
}

impl Losses {
    fn lose(&self, cause: &dyn fmt::Display) {
        self.dropped.inc();
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(error = %cause, "the access log cannot be written: its lines are dropped");
        }
    }

    fn end(&self) {
        if self.told.swap(false, Ordering::Relaxed) {
            tracing::info!(dropped = self.dropped.get(), "the access log is written again");
        }
    }
}

impl AccessLog {
    /// A log that its own thread writes to `out`, each line with one call if `out` accepts the whole line.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn new(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, queue) = sync_channel(WAITING);
        let (end, written) = oneshot::channel();
        let (losses, waiting) = (Arc::<Losses>::default(), Arc::<AtomicUsize>::default());
        let (lost, left) = (losses.clone(), waiting.clone());
        thread::Builder::new().name("access-log".into()).spawn(move || {
            write_all(out, &queue, &lost, &left);
            // An error means that nobody waits.
            let _ = end.send(());
        })?;
        let (lines, written) = (Mutex::new(Some(lines)), Mutex::new(Some(written)));
        Ok(Self(Arc::new(Inner { lines, losses, waiting, written })))
    }

    /// Number of lines that are not written yet. After the service has ended, these could not be written within 5
    /// seconds.
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// Counts dropped lines.
    pub(crate) fn dropped(&self) -> &Counter {
        &self.0.losses.dropped
    }

    fn put(&self, line: Vec<u8>) {
        let cause = match lock(&self.0.lines).as_ref() {
            Some(lines) => {
                // Counted before the line is sent, because the writer subtracts it.
                self.0.waiting.fetch_add(1, Ordering::Relaxed);
                match lines.try_send(line) {
                    Ok(()) => return,
                    Err(e) => {
                        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
                        match e {
                            TrySendError::Full(_) => "lines come faster than they are written",
                            TrySendError::Disconnected(_) => "its thread has ended",
                        }
                    }
                }
            }
            None => "the service ends",
        };
        self.0.losses.lose(&cause);
    }

    /// Accepts no more lines, and waits at most [`LAST_LINES`] until the queue is written.
    pub(crate) async fn finish(&self) {
        drop(lock(&self.0.lines).take());
        let written = lock(&self.0.written).take();
        if let Some(written) = written {
            // Lines that are not written by then are lost.
            if tokio::time::timeout(LAST_LINES, written).await.is_err() {
                tracing::warn!(
                    lines = self.waiting(),
                    "the service ends, and the access log has lines that are not written"
                );
            }
        }
    }
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLog").finish_non_exhaustive()
    }
}

/// Writes lines until the log accepts no more. A line that cannot be written is dropped and counted.
fn write_all(mut out: impl Write, queue: &Receiver<Vec<u8>>, losses: &Losses, waiting: &AtomicUsize) {
    // `torn`: the output ends in the middle of a line. `failed`: the last line failed.
    let (mut torn, mut failed) = (false, false);
    loop {
        let next = match queue.try_recv() {
            Err(TryRecvError::Empty) => {
                if !failed {
                    losses.end();
                }
                queue.recv().ok()
            }
            next => next.ok(),
        };
        let Some(mut line) = next else { return };
        if torn {
            line.insert(0, b'\n');
        }
        let mut rest = &line[..];
        let outcome = loop {
            if rest.is_empty() {
                break out.flush();
            }
            match out.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => rest = &rest[n..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => break Err(e),
            }
        };
        failed = outcome.is_err();
        torn = failed && (torn || rest.len() < line.len());
        if let Err(e) = outcome {
            losses.lose(&e);
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The address that opened a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The epoch with the changes of a request.
#[derive(Clone, Copy, Debug, Serialize)]
struct Made {
    epoch: u64,
    changes: u64,
    /// True if the request had been made before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
}

/// The record of a request. Dropping the last reference writes its line. The answer holds a reference, and so do the
/// changes, which may be committed after their caller has disconnected.
pub(crate) struct Record {
    log: AccessLog,
    started: Instant,
    time: SystemTime,
    id: String,
    peer: Option<SocketAddr>,
    method: String,
    path: String,
    rest: Mutex<Rest>,
}

#[derive(Default)]
struct Rest {
    token: Option<String>,
    status: Option<u16>,
    bytes: u64,
    ended: Option<Duration>,
    made: Option<Made>,
}

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    request_id: &'a str,
    peer: Option<SocketAddr>,
    token: Option<&'a str>,
    method: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    bytes: u64,
    seconds: f64,
    #[serde(flatten)]
    made: Option<Made>,
}

impl Record {
    fn new(log: &AccessLog, request: &Request, id: &str) -> Self {
        let path = request.uri().path();
        // A path should be ASCII, but a caller may send other characters: cut between characters.
        let end = (0..=PATH_BYTES.min(path.len())).rev().find(|at| path.is_char_boundary(*at)).unwrap_or(0);
        let method = request.method().as_str();
        Self {
            log: log.clone(),
            started: Instant::now(),
            time: SystemTime::now(),
            id: id.into(),
            peer: request.extensions().get::<Peer>().map(|peer| peer.0),
            // A caller may invent a long method.
            method: method.get(..16).unwrap_or(method).into(),
            path: path[..end].into(),
            rest: Mutex::default(),
        }
    }

    /// Sets the name of the token that the caller has shown.
    pub(crate) fn set_token(&self, name: String) {
        lock(&self.rest).token = Some(name);
    }

    /// Records that the changes of the request are committed.
    pub(crate) fn committed(&self, epoch: u64, changes: u64, replayed: bool) {
        lock(&self.rest).made = Some(Made { epoch, changes, replayed });
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let rest = self.rest.get_mut().unwrap_or_else(PoisonError::into_inner);
        let micros = self.time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64 * 1000);
        let line = Line {
            time: &time_of(micros),
            request_id: &self.id,
            peer: self.peer,
            token: rest.token.as_deref(),
            method: &self.method,
            path: &self.path,
            status: rest.status,
            bytes: rest.bytes,
            seconds: rest.ended.unwrap_or_else(|| self.started.elapsed()).as_micros() as f64 / 1e6,
            made: rest.made,
        };
        // Our own type, so this does not fail.
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        self.log.put(line);
    }
}

/// Microseconds since 1970 as a time in UTC with three decimals, even if they are zero.
fn time_of(micros: i64) -> String {
    let mut text = format_timestamp(micros);
    if micros % 1_000_000 == 0 {
        text.insert_str(text.len() - 1, ".000");
    }
    text
}

/// Gives each request an id, which its answer has too, and writes its line.
pub(crate) async fn note(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let id = given_id(request.headers()).unwrap_or_else(new_id);
    let record = shared.config.access.as_ref().map(|log| Arc::new(Record::new(log, &request, &id)));
    if let Some(record) = &record {
        request.extensions_mut().insert(record.clone());
    }
    let mut response = next.run(request).await;
    if let Some(mut problem) = response.extensions_mut().remove::<Problem>() {
        if problem.status == 500 {
            tracing::error!(request_id = id, "answered 500");
        }
        problem.request_id = Some(id.clone());
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.body_mut() = problem.to_json().into();
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let Some(record) = record else { return response };
    lock(&record.rest).status = Some(response.status().as_u16());
    response.map(|body| Body::new(Answer { body, record }))
}

/// The id that the caller gave its request, if it is short and has only plain characters.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:=+/".contains(&b);
    ((1..=REQUEST_ID_BYTES).contains(&id.len()) && id.bytes().all(plain)).then(|| id.to_owned())
}

/// A fresh id: 64 bits of a keyed hash of a counter.
fn new_id() -> String {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{:016x}", KEY.hash_one(COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// The body of an answer. It counts its bytes and records when it ends.
struct Answer {
    body: Body,
    record: Arc<Record>,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref) {
            lock(&self.record.rest).bytes += data.len() as u64;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let took = self.record.started.elapsed();
        lock(&self.record.rest).ended = Some(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for a number of bytes.
    #[derive(Clone)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = lock(&self.0);
            let room = bytes.len().min(disk.1 - disk.0.len());
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            disk.0.extend_from_slice(&bytes[..room]);
            Ok(room)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_loses_lines_and_tears_none_that_follow() {
        let disk = Disk(Arc::new(Mutex::new((Vec::new(), 12))));
        let (lines, queue) = sync_channel(8);
        let (losses, waiting) = (Arc::<Losses>::default(), Arc::new(AtomicUsize::new(5)));
        let dropped = losses.dropped.clone();
        let writer = thread::spawn({
            let (disk, losses, waiting) = (disk.clone(), losses.clone(), waiting.clone());
            move || write_all(disk, &queue, &losses, &waiting)
        });
        for line in ["one 4\n", "two 45678\n", "three\n"] {
            lines.send(line.into()).unwrap();
        }
        while dropped.get() < 2 {
            thread::yield_now();
        }
        assert_eq!(lock(&disk.0).0, b"one 4\ntwo 45");
        assert!(losses.told.load(Ordering::Relaxed), "the log of the service names the first loss");
        lock(&disk.0).1 = 100;
        for line in ["four\n", "five\n"] {
            lines.send(line.into()).unwrap();
        }
        drop(lines);
        writer.join().unwrap();
        assert_eq!((lock(&disk.0).0.as_slice(), dropped.get()), (&b"one 4\ntwo 45\nfour\nfive\n"[..], 2));
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn lines_that_find_the_queue_full_are_told_once_until_it_is_empty() {
        let (lines, queue) = sync_channel(1);
        let (losses, waiting) = (Arc::<Losses>::default(), Arc::<AtomicUsize>::default());
        let inner = Inner { lines: Mutex::new(Some(lines)), losses, waiting, written: Mutex::default() };
        let log = AccessLog(Arc::new(inner));
        let told = || log.0.losses.told.load(Ordering::Relaxed);
        log.put(b"one\n".into());
        assert!(!told() && log.waiting() == 1);
        for _ in 0..2 {
            log.put(b"lost\n".into());
            assert!(told() && log.waiting() == 1);
        }
        assert_eq!(log.dropped().get(), 2);
        let disk = Disk(Arc::new(Mutex::new((Vec::new(), 100))));
        let writer = thread::spawn({
            let (log, disk) = (log.clone(), disk.clone());
            move || write_all(disk, &queue, &log.0.losses, &log.0.waiting)
        });
        while told() {
            thread::yield_now();
        }
        log.put(b"two\n".into());
        drop(lock(&log.0.lines).take());
        writer.join().unwrap();
        assert_eq!((lock(&disk.0).0.as_slice(), log.waiting(), told()), (&b"one\ntwo\n"[..], 0, false));
        log.put(b"late\n".into());
        assert_eq!(log.dropped().get(), 3);
    }

    #[test]
    fn times_have_three_decimals() {
        let times = [0, 1_000_000, 120_000, 1_777_863_721_123_000].map(time_of);
        let expected = ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:01.000Z", "1970-01-01T00:00:00.120Z"];
        assert_eq!(times[..3], expected);
        assert!(times[3].ends_with(".123Z"));
    }

    #[test]
    fn names_of_requests_are_short_and_plain() {
        let given =
            |id: &'static [u8]| given_id(&[(REQUEST_ID, HeaderValue::from_bytes(id).unwrap())].into_iter().collect());
        for id in ["a", "6f0c-9.Z:_", &"x".repeat(64)] {
            assert_eq!(given(id.to_owned().leak().as_bytes()).as_deref(), Some(id));
        }
        for id in ["", " ", "a b", "a\"b", "{}", "é", &"x".repeat(65)] {
            assert_eq!(given(id.to_owned().leak().as_bytes()), None, "{id}");
        }
        assert_eq!(given_id(&HeaderMap::new()), None);
        let ids: std::collections::HashSet<_> = (0..1000).map(|_| new_id()).collect();
        assert!(ids.len() == 1000 && ids.iter().all(|id| id.len() == 16));
    }
}
