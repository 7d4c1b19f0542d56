//! Changes in.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header;
use evergrove::store::EpochReport;
use futures_util::StreamExt;
use serde::Serialize;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use utoipa::ToSchema;

use crate::change::{Line, Request};
use crate::epochs::Submission;
use crate::problem::Problem;
use crate::service::Shared;

/// The changes of a request are part of this epoch, and the epoch is on disk. Its proofs follow.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Committed {
    /// The epoch.
    epoch: u64,
    /// Its commitment.
    commitment: String,
    /// Filled slots.
    rows: u64,
    /// Changes of this request: lines that were not blank.
    changes: usize,
}

impl Committed {
    fn new(report: &EpochReport, changes: usize) -> Self {
        let after = report.after;
        Self { epoch: after.number, commitment: after.commitment.to_string(), rows: after.filled, changes }
    }
}

/// Make changes: all of a request in one epoch, or none of them.
///
/// The answer comes when the epoch is committed: what it says is on disk and survives a crash. Changes of requests that wait at
/// the same time become one epoch. Without an answer, read `/v1/status`, or send the request again: setting a row twice is
/// the same as once.
#[utoipa::path(
    post, path = "/v1/changes", tag = "changes", security(("bearer" = [])),
    request_body(
        content = Line<'static>, content_type = "application/x-ndjson",
        description = "One change a line",
        example = "{\"set\":5,\"row\":{\"name\":\"Ann\",\"age\":41}}\n{\"delete\":7}\n{\"add\":[5],\"batch\":\"adults\"}\n"
    ),
    responses(
        (status = 200, description = "Committed", body = Committed),
        (status = 400, description = "A line is no change", body = Problem, content_type = "application/problem+json"),
        (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "From a web page elsewhere, and the service has no token", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "The request did not arrive in time", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The request is too large", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The changes can not be made", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "The queue is full: come again after Retry-After seconds", body = Problem, content_type = "application/problem+json"),
        (status = 500, description = "The store failed", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The service stops", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn post(State(shared): State<Arc<Shared>>, http: HttpRequest) -> Result<Json<Committed>, Problem> {
    if !shared.is_running() {
        return Err(Problem::stopping());
    }
    let config = &shared.config;
    // A place in the queue comes before the body, so that what waits in memory is bounded.
    let place = shared.queue.clone().try_reserve_owned().map_err(|e| match e {
        TrySendError::Full(_) => {
            shared.metrics.full.inc();
            Problem::queue_full(config.queue, shared.retry_after())
        }
        TrySendError::Closed(_) => Problem::stopping(),
    })?;
    let length = http.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > config.body_bytes) {
        return Err(Problem::too_large(config.body_bytes));
    }
    let body = tokio::time::timeout(config.body_time, read(http.into_body(), config.body_bytes));
    let body = body.await.map_err(|_| Problem::slow(config.body_time.as_secs()))??;

    let parser = shared.clone();
    let parsed = tokio::task::spawn_blocking(move || Request::parse(&parser.schema, &body, parser.config.grow));
    let parsed = parsed.await.map_err(|_| Problem::store())?;
    let request = parsed?;
    let lines = request.lines;
    let (answer, answered) = oneshot::channel();
    shared.metrics.waiting.inc();
    place.send(Submission { request, answer });
    let report = answered.await.map_err(|_| Problem::store())??;
    Ok(Json(Committed::new(&report, lines)))
}

/// A body of at most `limit` bytes.
async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|e| Problem::malformed(format!("the request broke off: {e}")))?;
        if bytes.len() + chunk.len() > limit {
            return Err(Problem::too_large(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
