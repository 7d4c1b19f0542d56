//! The whole store out.

use std::io;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use super::read::{COMMITMENT, EPOCH, ask};
use crate::config::Right;
use crate::problem::Problem;
use crate::service::Shared;

/// A backup that somebody reads. Dropped, it ends.
struct Open {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Open {
    fn drop(&mut self) {
        let (shared, number) = (self.shared.clone(), self.number);
        let end = move || shared.backups().end(number);
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(end)),
            Err(_) => end(),
        }
    }
}

/// Back up the store, as the file that `evergrove restore` takes.
///
/// Everything that the store keeps at one committed epoch, while changes are committed. One backup is made at a time. The connection is broken off where the backup
/// cannot be finished, and the file then lacks its end. Needs a token that may back up or write: the file has past epochs and the keys of requests too.
#[utoipa::path(get, path = "/v1/backup", tag = "backup", security(("bearer" = [])),
    responses(
        (status = 200, description = "The backup", content_type = "application/octet-stream", body = Vec<u8>, headers(
            ("evergrove-epoch" = u64, description = "The epoch that it is of"),
            ("evergrove-commitment" = String, description = "The commitment of that epoch"),
        )),
        (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "A token for reading, or from a web page elsewhere where the service has no token", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "Another backup is being made: come again after Retry-After seconds", body = Problem, content_type = "application/problem+json"),
        (status = 500, description = "The store failed", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    right: Option<Extension<Right>>,
) -> Result<Response, Problem> {
    if right.is_some_and(|Extension(right)| right < Right::Backup) {
        return Err(Problem::no_backup());
    }
    let backups = shared.clone();
    // The store is locked while a backup begins: nobody opens the database again meanwhile.
    let begun = ask(shared.clone(), move |store| backups.backups().begin(store)).await?;
    let (number, head) = begun.ok_or_else(Problem::backup_running)?;
    tracing::info!(epoch = head.epoch.number, bytes = head.estimate, "a backup begins");
    let blocks = try_unfold(Open { shared, number }, |open| async {
        let (shared, number) = (open.shared.clone(), open.number);
        let block = spawn_blocking(move || shared.backups().block(number)).await.map_err(io::Error::other)?;
        let block = block.map_err(|cause| {
            tracing::warn!(error = cause, "a backup was broken off");
            io::Error::other(cause)
        })?;
        Ok::<_, io::Error>(block.map(|block| (Bytes::from(block), open)))
    });
    let about = [(EPOCH, head.epoch.number.to_string()), (COMMITMENT, head.epoch.commitment.to_string())];
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((about, kind, Body::from_stream(blocks)).into_response())
}
