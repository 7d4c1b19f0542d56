//! `POST /v1/changes`, and the outcome of a request by its key.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, header};
use evergrove::store::{self, Epoch, MAX_REQUEST_KEY, Outcome};
use futures_util::StreamExt;
use serde::Serialize;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use utoipa::ToSchema;

use super::read::{ask, turn};
use crate::access::Record;
use crate::change::{Line, Request};
use crate::epochs::{Asker, Done, Waiting};
use crate::problem::Problem;
use crate::service::Shared;

/// The changes of a request are part of this epoch, and the epoch is on disk. Its proofs follow.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Committed {
    /// The epoch.
    epoch: u64,
    /// Commitment of the epoch.
    commitment: String,
    /// Filled slots.
    rows: u64,
    /// Number of changes of this request: its lines that are not blank.
    changes: u64,
}

impl Committed {
    fn new(epoch: Epoch, changes: u64) -> Self {
        Self { epoch: epoch.number, commitment: epoch.commitment.to_string(), rows: epoch.filled, changes }
    }
}

/// The header with a key that the caller chooses. A request that is sent again with the same key is not made again.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that says whether the request had been made before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Make changes. All changes of a request become part of one epoch, or none does.
///
/// The answer comes after the commit: the epoch is on disk and survives a crash. Requests that wait at the same time
/// become one epoch. A request with the header `Idempotency-Key` can be sent again if there was no answer: for 24 hours
/// it is made only once, and answered as the first time. A request with the header `If-Match: "E"` is refused unless
/// the table is in epoch E.
#[utoipa::path(
    post, path = "/v1/changes", tag = "changes", security(("bearer" = [])),
    params(
        ("idempotency-key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request"),
        ("if-match" = Option<String>, Header, description = "The number of the epoch that the table has to be in"),
    ),
    request_body(
        content = Line<'static>, content_type = "application/x-ndjson",
        description = "One change a line",
        example = "{\"set\":5,\"row\":{\"name\":\"Ann\",\"age\":41}}\n{\"delete\":7}\n{\"add\":[5],\"batch\":\"adults\"}\n"
    ),
    responses(
        (status = 200, description = "Committed", body = Committed),
        (status = 400, description = "A line is not a change", body = Problem, content_type = "application/problem+json"),
        (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "A token for reading, or from a web page elsewhere where the service has no token", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "The request did not arrive in time", body = Problem, content_type = "application/problem+json"),
        (status = 412, description = "The table is in another epoch than If-Match names", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The request is too large", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The changes cannot be made, or the key is another request's", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "The queue is full: come again after Retry-After seconds", body = Problem, content_type = "application/problem+json"),
        (status = 500, description = "The store failed", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The service stops, or the changes were not committed in time: send them again with the same key", body = Problem, content_type = "application/problem+json"),
        (status = 507, description = "The disk of the store is full: come again when there is room", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn post(
    State(shared): State<Arc<Shared>>,
    http: HttpRequest,
) -> Result<([(HeaderName, &'static str); 1], Json<Committed>), Problem> {
    let (key, if_match) = (key(http.headers())?, if_match(http.headers())?);
    let record = http.extensions().get::<Arc<Record>>().cloned();
    if !shared.is_running() {
        return Err(Problem::stopping());
    }
    let config = &shared.config;
    // A request reserves its place in the queue before its body is read. This bounds the memory of waiting requests.
    let place = shared.queue.clone().try_reserve_owned().map_err(|e| match e {
        TrySendError::Full(_) => {
            shared.metrics.full.inc();
            Problem::queue_full(config.queue, shared.retry_after())
        }
        TrySendError::Closed(_) => Problem::stopping(),
    })?;
    let body = tokio::time::timeout(config.body_time, read(http.into_body(), config.body_bytes));
    let body = body.await.map_err(|_| Problem::slow(config.body_time.as_secs()))??;

    let parser = shared.clone();
    // The changes of a body take several times its memory, so only a few bodies are parsed at a time.
    let turn = turn(&shared, &shared.parsers).await?;
    let checked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let digest = *blake3::hash(&body).as_bytes();
        // The queue holds the body, not its changes: they take several times as much memory.
        let changes = Request::parse(&parser.schema, &body, parser.config.grow)?.lines as u64;
        let key = key.map(|key| store::Request { key, digest, changes });
        // Keeps the place until here, even if the caller has disconnected.
        Ok::<_, Problem>((place, body, key))
    });
    let (place, body, key) = checked.await.map_err(|_| Problem::store())??;
    let (answer, answered) = oneshot::channel();
    shared.metrics.waiting.inc();
    place.send(Waiting { body, key, if_match, asker: Asker { answer, record } });
    let answered = if config.prove_each_epoch {
        // The commit waits for proofs, whatever time they take.
        answered.await
    } else {
        // When the time is over, the request is dropped, unless it is being committed.
        let answered = tokio::time::timeout(config.answer_time, answered).await;
        answered.map_err(|_| Problem::late(config.answer_time.as_secs(), shared.retry_after()))?
    };
    let Done { epoch, changes, replayed } = answered.map_err(|_| Problem::store())??;
    let replayed = if replayed { "true" } else { "false" };
    Ok(([(REPLAYED, replayed)], Json(Committed::new(epoch, changes))))
}

/// The outcome of a request with a key.
#[utoipa::path(
    get, path = "/v1/changes/{key}", tag = "changes", security(("bearer" = [])),
    params(("key" = String, Path, description = "The key that the request had")),
    responses(
        (status = 200, description = "It was committed", body = Committed),
        (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "From a web page elsewhere, and the service has no token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No request with this key was committed in the last 24 hours", body = Problem, content_type = "application/problem+json"),
        (status = 500, description = "The store failed", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn outcome(
    State(shared): State<Arc<Shared>>,
    Path(key): Path<String>,
) -> Result<Json<Committed>, Problem> {
    let asked = key.clone();
    let outcome = ask(shared, move |store| store.request(&asked)).await?;
    let missing = || Problem::not_found(format!("no request with the key {key:?} was committed in the last 24 hours"));
    let Outcome { epoch, changes, .. } = outcome.ok_or_else(missing)?;
    Ok(Json(Committed::new(epoch, changes)))
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get(KEY) else { return Ok(None) };
    let bytes = key.as_bytes();
    let plain = (1..=MAX_REQUEST_KEY).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    let refused = || Problem::malformed("Idempotency-Key: give 1 to 128 visible ASCII characters");
    String::from_utf8(bytes.to_vec()).ok().filter(|_| plain).ok_or_else(refused).map(Some)
}

fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(epoch) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = epoch.to_str().ok().map(|text| text.trim().trim_matches('"'));
    let refused = || Problem::malformed("If-Match: give the number of an epoch, like \"17\"");
    text.and_then(|text| text.parse().ok()).ok_or_else(refused).map(Some)
}

/// Bytes of a too long body that are read and dropped: a caller that is still sending would not see an answer.
const DROPPED_BYTES: usize = 64 << 20;

/// Reads a body of at most `limit` bytes.
async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut read) = (Vec::new(), 0usize);
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|e| Problem::malformed(format!("the request broke off: {e}")))?;
        read = read.saturating_add(chunk.len());
        if read <= limit {
            if read > bytes.capacity() {
                // At most `limit`, however the body is split into chunks.
                let wanted = (2 * bytes.capacity()).clamp(read, limit);
                bytes.reserve_exact(wanted - bytes.len());
            }
            bytes.extend_from_slice(&chunk);
        } else if read - limit > DROPPED_BYTES {
            break;
        } else {
            bytes = Vec::new();
        }
    }
    bytes.shrink_to_fit();
    if read > limit { Err(Problem::too_large(limit)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use evergrove_testkit::heap;
    use futures_util::stream;

    use super::*;

    #[test]
    fn a_body_takes_no_more_than_it_may() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let limit = 1 << 20;
        for (size, chunk) in [(limit, 1000), (limit, limit), (limit - 1, 3 << 10), (700_000, 1 << 16), (10, 1)] {
            let chunk = Bytes::from(vec![7; chunk]);
            let chunks =
                (0..size.div_ceil(chunk.len())).map(|n| chunk.slice(..chunk.len().min(size - n * chunk.len())));
            let body = Body::from_stream(stream::iter(chunks.map(Ok::<_, std::io::Error>).collect::<Vec<_>>()));
            let (bytes, peak) = heap::peak(|| runtime.block_on(read(body, limit)).unwrap());
            assert_eq!((bytes.len(), bytes.capacity()), (size, size));
            // The old and the new buffer exist together while a body grows.
            assert!(peak <= 2 * limit, "{size} bytes in pieces of {}: {peak}", chunk.len());
        }
    }
}
