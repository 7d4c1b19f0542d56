//! `GET /v1/backup`: the whole store as one file.

use std::io;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use super::connections::{Pace, Rate};
use super::read::{COMMITMENT, EPOCH, ask};
use crate::Token;
use crate::config::Right;
use crate::problem::Problem;
use crate::service::Shared;

/// A backup that a caller reads. Dropping it ends the backup.
struct Open {
    shared: Arc<Shared>,
    number: u64,
    shown: Option<Token>,
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
/// Everything in the store at one committed epoch, while changes continue. One backup runs at a time. If it fails or
/// the token is withdrawn, the connection breaks off and the file lacks its end. Needs a token that may back up or
/// write, because the file also has past epochs and the keys of requests.
#[utoipa::path(get, path = "/v1/backup", tag = "backup", security(("bearer" = [])),
    responses(
        (status = 200, description = "The backup", content_type = "application/octet-stream", body = Vec<u8>, headers(
            ("evergrove-epoch" = u64, description = "The epoch that it is of"),
            ("evergrove-commitment" = String, description = "The commitment of that epoch"),
        )),
        (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "A token for reading, or from a web page elsewhere where the service has no token", body = Problem, content_type = "application/problem+json"),
        (status = 405, description = "Asked with HEAD", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "Another backup is being made", body = Problem, content_type = "application/problem+json", headers(
            ("retry-after" = u64, description = "Seconds after which to come again"),
        )),
        (status = 500, description = "The store failed", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    method: Method,
    right: Option<Extension<Right>>,
    shown: Option<Extension<Token>>,
    pace: Option<Extension<Pace>>,
) -> Result<Response, Problem> {
    if right.is_none_or(|Extension(right)| right < Right::Backup) {
        return Err(Problem::no_backup());
    }
    // A handler of GET also gets HEAD, which would begin a backup that nobody reads.
    if method == Method::HEAD {
        return Err(Problem::method());
    }
    // Checked first, without waiting for a turn to read the store.
    if shared.backups().is_running() {
        return Err(Problem::backup_running());
    }
    let (backups, shown) = (shared.clone(), shown.map(|Extension(token)| token));
    // The store is locked while a backup begins, so nobody can open the database again meanwhile. If the caller has
    // disconnected by then, dropping the answer ends the backup.
    let begun = ask(shared, move |store| {
        let begun = backups.backups().begin(store)?;
        Ok(begun.map(|(number, head)| (Open { shared: backups.clone(), number, shown: shown.clone() }, head)))
    });
    let (open, head) = begun.await?.ok_or_else(Problem::backup_running)?;
    if let Some(Extension(pace)) = pace {
        pace.set(Some(Rate::BACKUP));
    }
    tracing::info!(epoch = head.epoch.number, bytes = head.estimate, "a backup begins");
    let blocks = try_unfold(open, |open| async {
        if !open.shared.config.allows(open.shown.as_ref(), Right::Backup) {
            tracing::warn!("a backup was broken off: its token was withdrawn");
            return Err(io::Error::other("the token was withdrawn"));
        }
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
