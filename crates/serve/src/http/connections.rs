//! Connections: their number, their time limits, and TLS.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};

use crate::access::Peer;
use crate::metrics::Counted;
use crate::{Tls, lock};

/// Bytes that a connection buffers of requests and answers. A longer head is refused.
pub(crate) const BUFFER: usize = 64 << 10;
/// The first byte of a TLS handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;
/// Pause after an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_secs(1);

/// The least rate at which a caller must take an answer: while it takes `bytes`, the server waits for it no longer than
/// `within`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) bytes: u64,
    pub(crate) within: Duration,
}

impl Rate {
    /// 1 KiB/s.
    pub(crate) const ANSWER: Self = Self { bytes: 60 << 10, within: Duration::from_secs(60) };
    /// The same rate over ten minutes: backups may be copied over a bad line.
    pub(crate) const BACKUP: Self = Self { bytes: 600 << 10, within: Duration::from_secs(600) };
}

/// The least rate of the current answer of a connection; `None` for streams of events. Clones share the rate.
#[derive(Clone, Debug)]
pub(crate) struct Pace(Arc<Mutex<Option<Rate>>>);

impl Pace {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Some(Rate::ANSWER))))
    }

    pub(crate) fn set(&self, rate: Option<Rate>) {
        *lock(&self.0) = rate;
    }

    fn get(&self) -> Option<Rate> {
        *lock(&self.0)
    }
}

/// Limits on the callers of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Greatest number of open connections. Further ones wait in the system's queue.
    pub(crate) connections: usize,
    /// Time for a TLS handshake, and then for the head of a request, from the end of the handshake or the previous
    /// answer.
    pub(crate) head: Duration,
    /// Time for which a caller may read nothing of its answer.
    pub(crate) silence: Duration,
    /// Time for answers that are under way when the server ends.
    pub(crate) last: Duration,
}

/// How a server answers its callers.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) router: Router,
    pub(crate) bounds: Bounds,
    /// The certificate, and the router for callers without TLS.
    pub(crate) tls: Option<(Tls, Router)>,
    /// Counts open connections.
    pub(crate) open: Gauge,
}

/// Answers on `listener` until `stop` completes. Then each connection ends after its current answer, or is broken off
/// after [`Bounds::last`]. When this function returns, every connection is dropped.
pub(crate) async fn answer(listener: TcpListener, front: Front, stop: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(front.bounds.connections));
    let (close, closing) = watch::channel(());
    let mut open = JoinSet::new();
    let taking = async {
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let (stream, peer) = accept(&listener).await;
            let counted = Counted::new(&front.open);
            let answers = connection(stream, Peer(peer), front.clone(), closing.clone());
            open.spawn(async move {
                answers.await;
                drop((counted, place));
            });
            while open.try_join_next().is_some() {}
        }
    };
    tokio::select! {
        biased;
        () = stop => {}
        () = taking => {}
    }
    drop((listener, close));
    let ends = async { while open.join_next().await.is_some() {} };
    if timeout(front.bounds.last, ends).await.is_err() {
        open.shutdown().await;
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(taken) => return taken,
            // The caller has disconnected already.
            Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(e) => {
                tracing::warn!(error = %e, "no connection could be taken");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, peer: Peer, front: Front, mut closing: watch::Receiver<()>) {
    // Events are small and must be sent at once.
    let _ = stream.set_nodelay(true);
    let Front { router, bounds, tls, .. } = front;
    let pace = Pace::new();
    let Some((tls, plain)) = tls else {
        let stream = Patient::new(stream, bounds, pace.clone());
        return answers(stream, Called::new(router, peer, pace), bounds, closing).await;
    };
    let handshake = async {
        let mut first = [0];
        // `peek` returns 0 bytes if the caller has disconnected.
        if stream.peek(&mut first).await.unwrap_or(0) == 0 {
            return None;
        }
        let stream = Patient::new(stream, bounds, pace.clone());
        if first != [HANDSHAKE] {
            return Some(Err(stream));
        }
        match tls.acceptor().accept(stream).await {
            Ok(stream) => Some(Ok(stream)),
            Err(e) => {
                tracing::debug!(error = %e, "no handshake");
                None
            }
        }
    };
    let shaken = tokio::select! {
        shaken = timeout(bounds.head, handshake) => shaken,
        // The sender is dropped when the server stops.
        _ = closing.changed() => return,
    };
    match shaken {
        Ok(Some(Ok(stream))) => answers(stream, Called::new(router, peer, pace), bounds, closing).await,
        Ok(Some(Err(stream))) => answers(stream, Called::new(plain, peer, pace), bounds, closing).await,
        // The caller disconnected, was too slow, or sent an invalid handshake.
        Ok(None) | Err(_) => {}
    }
}

/// A router that adds the caller's address to each request.
struct Called {
    router: TowerToHyperService<Router>,
    peer: Peer,
    pace: Pace,
}

impl Called {
    fn new(router: Router, peer: Peer, pace: Pace) -> Self {
        Self { router: TowerToHyperService::new(router), peer, pace }
    }
}

type Asked = hyper::Request<Incoming>;

impl Service<Asked> for Called {
    type Response = <TowerToHyperService<Router> as Service<Asked>>::Response;
    type Error = <TowerToHyperService<Router> as Service<Asked>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Asked>>::Future;

    fn call(&self, mut request: Asked) -> Self::Future {
        // A connection has one request at a time.
        self.pace.set(Some(Rate::ANSWER));
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(self.pace.clone());
        self.router.call(request)
    }
}

/// Answers the requests of a connection.
async fn answers<S>(stream: S, router: Called, bounds: Bounds, mut closing: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(bounds.head).max_buf_size(BUFFER);
    let mut answers = pin!(builder.serve_connection(TokioIo::new(stream), router));
    tokio::select! {
        // Errors are the caller's: it disconnected, was too slow, or did not send HTTP.
        _ = answers.as_mut() => return,
        // The sender is dropped when the server stops.
        _ = closing.changed() => {}
    }
    answers.as_mut().graceful_shutdown();
    let _ = answers.await;
}

/// A stream that fails when the other side reads nothing for too long, or reads too slowly.
struct Patient<S> {
    stream: S,
    silence: Duration,
    pace: Pace,
    /// When the current write began to wait, and its timer.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    /// How long writes have waited, and how many bytes the other side has taken. Both restart at the bytes of the rate, and
    /// when the rate changes.
    rate: Option<Rate>,
    waited: Duration,
    taken: u64,
}

impl<S> Patient<S> {
    fn new(stream: S, bounds: Bounds, pace: Pace) -> Self {
        let (rate, waited, taken) = (None, Duration::ZERO, 0);
        Self { stream, silence: bounds.silence, pace, waiting: None, rate, waited, taken }
    }

    /// Counts bytes that the other side has taken.
    fn take(&mut self, bytes: usize) {
        if let Some((since, _)) = self.waiting.take() {
            self.waited += since.elapsed();
        }
        self.taken += bytes as u64;
        let rate = self.pace.get();
        if rate != self.rate || rate.is_none_or(|rate| self.taken >= rate.bytes) {
            (self.rate, self.waited, self.taken) = (rate, Duration::ZERO, 0);
        }
    }

    /// Waits for the other side. Ready with an error if that takes too long.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let left = self.pace.get().map(|rate| rate.within.saturating_sub(self.waited));
        let patience = left.unwrap_or(self.silence).min(self.silence);
        let (_, waiting) = self.waiting.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(patience))));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }
}

impl<S: Unpin> Patient<S> {
    fn write<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
        bytes: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        match write(Pin::new(&mut self.stream), context) {
            Poll::Pending => self.wait(context).map(Err),
            Poll::Ready(written) => {
                self.take(written.as_ref().map_or(0, bytes));
                Poll::Ready(written)
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(context, |stream, context| stream.poll_write(context, bytes), |written| *written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |stream, context| stream.poll_write_vectored(context, parts), |written| *written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(context, |stream, context| stream.poll_flush(context), |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(context, |stream, context| stream.poll_shutdown(context), |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn nothing_is_left_of_connections_that_are_broken_off() {
        // A value that an answer holds, like the record of its request.
        struct Held(Arc<Semaphore>);
        impl Drop for Held {
            fn drop(&mut self) {
                self.0.add_permits(1);
            }
        }
        let (began, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (begins, held) = (began.clone(), dropped.clone());
        let forever = move || async move {
            let _held = Held(held);
            begins.add_permits(1);
            std::future::pending::<()>().await;
        };
        let long = Duration::from_secs(10);
        let bounds = Bounds { connections: 1, head: long, silence: long, last: Duration::from_millis(50) };
        let front = Front { router: Router::new().fallback(forever), bounds, tls: None, open: Gauge::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = tokio::spawn(answer(listener, front, async move {
            let _ = stopped.await;
        }));
        let mut caller = TcpStream::connect(addr).await.unwrap();
        caller.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        began.acquire().await.unwrap().forget();
        assert_eq!(dropped.available_permits(), 0);
        stop.send(()).unwrap();
        timeout(long, server).await.expect("it ends").unwrap();
        assert_eq!(dropped.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_write_fails_when_nobody_reads() {
        let (near, mut far) = tokio::io::duplex(8);
        let silence = Duration::from_millis(500);
        let bounds = Bounds { connections: 1, head: silence, silence, last: silence };
        let mut near = Patient::new(near, bounds, Pace::new());
        // Each byte that is read restarts the time limit.
        let slow = tokio::spawn(async move {
            for _ in 0..4 {
                sleep(silence * 2 / 5).await;
                far.read_u64().await.unwrap();
            }
            far
        });
        near.write_all(&[1; 40]).await.unwrap();
        let far = slow.await.unwrap();
        let e = near.write_all(&[1; 40]).await.unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::TimedOut);
        drop(far);
        assert_eq!(near.write_all(&[1; 40]).await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_write_fails_when_too_little_is_read() {
        let unit = Duration::from_millis(100);
        let bounds = Bounds { connections: 1, head: unit, silence: 20 * unit, last: unit };
        // The number of bytes that a reader gets which reads 8 bytes in each unit of time.
        let written = async |rate: Option<Rate>| {
            let (near, mut far) = tokio::io::duplex(8);
            let pace = Pace::new();
            pace.set(rate);
            let mut near = Patient::new(near, bounds, pace);
            let slow = tokio::spawn(async move {
                while far.read_u64().await.is_ok() {
                    sleep(unit).await;
                }
            });
            let mut written = 0;
            while written < 200 {
                match near.write_all(&[1; 8]).await {
                    Ok(()) => written += 8,
                    Err(e) => {
                        assert_eq!(e.kind(), io::ErrorKind::TimedOut);
                        break;
                    }
                }
            }
            drop(near);
            slow.await.unwrap();
            written
        };
        assert_eq!(written(Some(Rate { bytes: 8, within: 20 * unit })).await, 200);
        assert_eq!(written(None).await, 200);
        let cut = written(Some(Rate { bytes: 1 << 10, within: 5 * unit })).await;
        assert!((8..150).contains(&cut), "{cut}");
    }

    #[tokio::test]
    async fn slow_readers_give_their_connections_up_unless_they_follow_events() {
        let unit = Duration::from_millis(100);
        let body = || axum::body::Body::from(vec![b'x'; 32 << 20]);
        let rate = Rate { bytes: 32 << 20, within: 5 * unit };
        let cut = async move |Extension(pace): Extension<Pace>| {
            pace.set(Some(rate));
            body()
        };
        let free = async move |Extension(pace): Extension<Pace>| {
            pace.set(None);
            body()
        };
        let fixed = async move |Extension(pace): Extension<Pace>| {
            assert_eq!(pace.get(), Some(Rate::ANSWER));
        };
        let router = Router::new().route("/cut", get(cut)).route("/free", get(free)).fallback(fixed);
        let bounds = Bounds { connections: 8, head: 100 * unit, silence: 100 * unit, last: unit };
        let front = Front { router, bounds, tls: None, open: Gauge::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let server = tokio::spawn(answer(listener, front, std::future::pending()));
        let read = async |path: &str| {
            let mut caller = TcpStream::connect(addr).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            caller.write_all(request.as_bytes()).await.unwrap();
            let (mut read, mut some) = (0, vec![0; 64 << 10]);
            // Reads slowly for twice the time of the rate.
            for _ in 0..20 {
                sleep(unit / 2).await;
                read += caller.read(&mut some).await.unwrap_or(0);
            }
            loop {
                match caller.read(&mut some).await {
                    Ok(0) | Err(_) => break read,
                    Ok(more) => read += more,
                }
            }
        };
        assert!(read("/cut").await < 32 << 20);
        assert!(read("/free").await > 32 << 20);
        assert!(read("/fixed").await > 0);
        server.abort();
    }
}
