//! Status, batches, proofs and openings.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use evergrove::Backend;
use evergrove::commit::BackendChoice;
use evergrove::store::{BatchStatus, Error, Store};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::ToSchema;

use super::Public;
use crate::backups::{Progress, State as BackupState};
use crate::event::HIDDEN;
use crate::problem::Problem;
use crate::service::{Failing, Shared};

/// The header with the epoch of an answer.
pub(super) const EPOCH: HeaderName = HeaderName::from_static("evergrove-epoch");
/// The header with the commitment of that epoch.
pub(super) const COMMITMENT: HeaderName = HeaderName::from_static("evergrove-commitment");

/// The state of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    /// `running`; `leaving` when it will stop soon; `stopping` when it takes no more changes.
    state: &'static str,
    /// The current epoch.
    epoch: u64,
    /// Commitment of the epoch.
    commitment: String,
    /// H: the table has 2^H slots.
    height: u8,
    /// Filled slots.
    rows: u64,
    /// Digest of the schema. A verifier compares it with that of its own schema.
    schema_digest: String,
    queue: Queue,
    provers: Provers,
    /// True while nobody makes proofs and epochs are committed without them.
    stalled: bool,
    /// True after a write found no space on the disk, until a write succeeds.
    disk_full: bool,
    backups: Backups,
    /// The batch that is being proven.
    proving: Option<Proving>,
    /// Batches whose last refresh failed.
    failing: Vec<Failing>,
    batches: Vec<Batch>,
}

/// Requests that wait for an epoch.
#[derive(Debug, Serialize, ToSchema)]
struct Queue {
    /// Number of waiting requests.
    waiting: usize,
    /// Greatest number of waiting requests.
    capacity: usize,
}

/// Backups since the start of the service.
#[derive(Debug, Serialize, ToSchema)]
struct Backups {
    /// The current backup.
    running: Option<Backup>,
    /// Number of finished backups.
    finished: u64,
    /// Number of backups that were broken off: the caller disconnected, or the service could not continue.
    broken_off: u64,
    /// Epoch of the last finished backup.
    last_epoch: Option<u64>,
}

/// Progress of a backup.
#[derive(Debug, Serialize, ToSchema)]
struct Backup {
    epoch: u64,
    bytes: u64,
    /// Estimated size of the finished backup in bytes.
    bytes_estimate: u64,
}

/// Progress of the proofs of a batch.
#[derive(Debug, Serialize, ToSchema)]
struct Proving {
    batch: String,
    epoch: u64,
    proofs_made: usize,
    proofs_to_make: usize,
    /// Estimate of the remaining time in seconds, if there is one.
    seconds_left: Option<f64>,
}

/// The makers of proofs.
#[derive(Debug, Serialize, ToSchema)]
struct Provers {
    /// `service`: this process. `workers`: processes that share its queue.
    by: &'static str,
    /// Number of proofs that are being made.
    running: u64,
    /// Number of workers that share the queue, if it is known.
    workers: Option<u64>,
}

/// A batch and its last proof.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Batch {
    name: String,
    /// Number of members.
    members: u64,
    /// The first member. Only for callers with a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    /// The last member. Only for callers with a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u64>,
    /// The scheme of its proofs.
    scheme: String,
    /// The backend of its proofs.
    backend: String,
    /// The profile of its proofs.
    profile: String,
    /// True if the last proof is of the current epoch, and is stored.
    fresh: bool,
    proven: Option<Proven>,
}

/// A finished proof.
#[derive(Debug, Serialize, ToSchema)]
struct Proven {
    epoch: u64,
    commitment: String,
    canonical_digest: String,
    proof_kind: String,
    proof_bytes: u64,
}

/// The members of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Members {
    batch: String,
    /// Positions, ascending.
    indices: Vec<u64>,
}

/// The epoch that a caller asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct At {
    pub(super) epoch: Option<u64>,
}

/// The query of a request, or why it cannot be read.
pub(super) type Asked<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

impl Batch {
    fn new(shared: &Shared, batch: BatchStatus, is_public: bool) -> Self {
        let fresh = shared.is_fresh(&batch);
        let proven = batch.proven.map(|p| Proven {
            epoch: p.epoch,
            commitment: p.commitment.to_string(),
            canonical_digest: p.canonical.to_string(),
            proof_kind: p.kind.name().into(),
            proof_bytes: p.bytes,
        });
        Self {
            name: batch.name,
            members: batch.len,
            first: (!is_public).then_some(batch.first),
            last: (!is_public).then_some(batch.last),
            scheme: batch.backend.choice.scheme.name().into(),
            profile: batch.backend.choice.profile.name().into(),
            backend: batch.backend.choice.name,
            fresh,
            proven,
        }
    }
}

/// Runs `question` on the store, on a thread that may block.
pub(crate) async fn ask<T: Send + 'static>(
    shared: Arc<Shared>,
    question: impl Fn(&Store) -> Result<T, Error> + Send + 'static,
) -> Result<T, Problem> {
    let asked = shared.clone();
    let turn = turn(&shared, &shared.readers).await?;
    let answer = tokio::task::spawn_blocking(move || {
        // Holds the turn until the question is answered, even if its caller has disconnected.
        let _turn = turn;
        asked.read(question)
    });
    Ok(answer.await.map_err(|_| Problem::store())??)
}

/// The place of a public caller among the few that may read the store at a time. Other callers need none. Take the place
/// before any other turn.
pub(super) async fn place(shared: &Shared, is_public: bool) -> Result<Option<OwnedSemaphorePermit>, Problem> {
    if !is_public {
        return Ok(None);
    }
    turn(shared, &shared.public_readers).await.map(Some)
}

/// A turn of a caller who waits for it no longer than for other answers.
pub(super) async fn turn(shared: &Shared, turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    let limit = shared.config.answer_time;
    let turn = tokio::time::timeout(limit, turns.clone().acquire_owned()).await;
    turn.map_err(|_| Problem::busy(limit.as_secs()))?.map_err(|_| Problem::store())
}

/// Like [`ask`]. A public caller first waits for a [`place`].
pub(super) async fn ask_for<T: Send + 'static>(
    shared: Arc<Shared>,
    is_public: bool,
    question: impl Fn(&Store) -> Result<T, Error> + Send + 'static,
) -> Result<T, Problem> {
    let place = place(&shared, is_public).await?;
    let question = move |store: &Store| {
        // Keeps the place until the question is answered.
        let _place = &place;
        question(store)
    };
    ask(shared, question).await
}

/// The answer of [`status`] to a caller with or without a token.
pub(crate) async fn status_of(shared: Arc<Shared>, is_public: bool) -> Result<Status, Problem> {
    let state = ask_for(shared.clone(), is_public, |store| Ok((store.epoch()?, store.batches()?)));
    let (epoch, batches) = state.await?;
    let cause = |cause: String| if is_public { HIDDEN.into() } else { cause };
    let failing = shared.failing().into_iter();
    Ok(Status {
        state: shared.state(),
        epoch: epoch.number,
        commitment: epoch.commitment.to_string(),
        height: epoch.commitment.height,
        rows: epoch.filled,
        schema_digest: shared.schema.digest().to_string(),
        queue: Queue {
            waiting: usize::try_from(shared.metrics.waiting.get()).unwrap_or(0),
            capacity: shared.config.queue,
        },
        provers: Provers {
            by: shared.prover(),
            running: shared.metrics.tasks.running_now(),
            workers: shared.metrics.tasks.workers_now(),
        },
        stalled: shared.is_stalled(),
        disk_full: shared.is_full(),
        backups: backups_of(&shared),
        proving: shared.working().map(|w| Proving {
            seconds_left: shared.runs().of(&w.batch, w.epoch).and_then(|run| run.seconds_left()),
            batch: w.batch,
            epoch: w.epoch,
            proofs_made: w.made,
            proofs_to_make: w.to_make,
        }),
        failing: failing.map(|f| Failing { cause: cause(f.cause), ..f }).collect(),
        batches: batches.into_iter().map(|batch| Batch::new(&shared, batch, is_public)).collect(),
    })
}

fn backups_of(shared: &Shared) -> Backups {
    let backups = shared.backups();
    let BackupState { progress, last: last_epoch, .. } = backups.state();
    let running = progress.map(|Progress { head, bytes }| Backup {
        epoch: head.epoch.number,
        bytes,
        bytes_estimate: head.estimate,
    });
    Backups { running, finished: backups.finished.get(), broken_off: backups.broken_off.get(), last_epoch }
}

/// The state of the service: epoch, commitment, queue, proofs, backups.
#[utoipa::path(get, path = "/v1/status", tag = "proofs", security(("bearer" = [])), responses(
    (status = 200, description = "It stands there", body = Status),
    (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
    (status = 403, description = "From a web page elsewhere, and the service has no token", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn status(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
) -> Result<Json<Status>, Problem> {
    status_of(shared, public.is_some()).await.map(Json)
}

/// Every batch with its last proof.
#[utoipa::path(get, path = "/v1/batches", tag = "proofs", security(("bearer" = [])), responses(
    (status = 200, description = "The batches, by name", body = Vec<Batch>),
))]
pub(crate) async fn batches(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
) -> Result<Json<Vec<Batch>>, Problem> {
    let batches = ask_for(shared.clone(), public.is_some(), Store::batches).await?;
    Ok(Json(batches.into_iter().map(|batch| Batch::new(&shared, batch, public.is_some())).collect()))
}

/// A batch with its last proof.
#[utoipa::path(get, path = "/v1/batches/{name}", tag = "proofs", security(("bearer" = [])),
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "The batch", body = Batch),
        (status = 404, description = "The batch does not exist", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn batch(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
    Path(name): Path<String>,
) -> Result<Json<Batch>, Problem> {
    let batch = ask_for(shared.clone(), public.is_some(), move |store| store.batch(&name)).await?;
    Ok(Json(Batch::new(&shared, batch, public.is_some())))
}

/// The positions in a batch.
#[utoipa::path(get, path = "/v1/batches/{name}/members", tag = "proofs", security(("bearer" = [])),
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "Its members", body = Members),
        (status = 404, description = "The batch does not exist", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn members(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<Json<Members>, Problem> {
    let asked = name.clone();
    let indices = ask(shared, move |store| store.members(&asked)).await?;
    Ok(Json(Members { batch: name, indices }))
}

/// The proof of a batch, as the file that `evergrove verify` takes.
///
/// Without an epoch, this is the last finished proof. During a refresh it is of an earlier epoch than the current one;
/// the headers name it. With an epoch, it is the proof of that epoch, as long as the proof is kept and the members are
/// the same. Proofs of the backend `native` contain the values of rows, and proofs of applications their output: these
/// proofs always need a token.
#[utoipa::path(get, path = "/v1/batches/{name}/proof", tag = "proofs", security(("bearer" = [])),
    params(
        ("name" = String, Path, description = "Name of the batch"),
        ("epoch" = Option<u64>, Query, description = "The epoch"),
        ("if-none-match" = Option<String>, Header, description = "An ETag that the caller has"),
    ),
    responses(
        (status = 200, description = "The proof", content_type = "application/octet-stream", body = Vec<u8>, headers(
            ("evergrove-epoch" = u64, description = "The epoch that it proves"),
            ("evergrove-commitment" = String, description = "The commitment of that epoch"),
            ("etag" = String, description = "Changes with the statement"),
        )),
        (status = 304, description = "The caller has it"),
        (status = 401, description = "No valid token, and the proof has values or an output", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such batch, epoch or proof", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn proof(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
    Path(name): Path<String>,
    asked: Asked<At>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Query(At { epoch }) = asked.map_err(|e| Problem::malformed(e.body_text()))?;
    let is_public = public.is_some();
    let file = ask_for(shared, is_public, move |store| {
        if is_public && shows_cells(&store.batch(&name)?.backend.choice) {
            return Ok(None);
        }
        store.proof_at(&name, epoch).map(Some)
    });
    let file = file.await?.ok_or_else(Problem::unauthorized)?;
    let etag = format!("\"{}\"", file.key);
    let known = is_known(&headers, &etag);
    let about = [(header::ETAG, etag), (EPOCH, file.epoch.to_string()), (COMMITMENT, file.commitment.to_string())];
    Ok(if known {
        (StatusCode::NOT_MODIFIED, about).into_response()
    } else {
        (about, octets(file.bytes)).into_response()
    })
}

/// True if the proof files of a backend contain cells: the values of all members, or the output of an application, such
/// as a minimum.
fn shows_cells(choice: &BackendChoice) -> bool {
    choice.app.is_some() || !choice.name.parse().is_ok_and(Backend::is_succinct)
}

/// The opening of a slot, as the file that `evergrove verify` takes: value and Merkle path.
#[utoipa::path(get, path = "/v1/openings/{index}", tag = "proofs", security(("bearer" = [])),
    params(
        ("index" = u64, Path, description = "Position of the slot"),
        ("epoch" = Option<u64>, Query, description = "The epoch; the current one if left out"),
    ),
    responses(
        (status = 200, description = "The opening", content_type = "application/octet-stream", body = Vec<u8>, headers(
            ("evergrove-epoch" = u64, description = "The epoch that it is of"),
            ("evergrove-commitment" = String, description = "The commitment of that epoch"),
        )),
        (status = 404, description = "No such epoch", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "No such slot", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn opening(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<String>,
    asked: Asked<At>,
) -> Result<Response, Problem> {
    let Query(At { epoch }) = asked.map_err(|e| Problem::malformed(e.body_text()))?;
    let index: u64 = index.parse().map_err(|_| Problem::not_found("a position is a number"))?;
    let (epoch, bytes) = ask(shared, move |store| {
        let view = match epoch {
            Some(epoch) => store.view_at(epoch)?,
            None => store.view()?,
        };
        Ok((*view.epoch(), view.opening(index)?.encode()))
    })
    .await?;
    let about = [(EPOCH, epoch.number.to_string()), (COMMITMENT, epoch.commitment.to_string())];
    Ok((about, octets(bytes)).into_response())
}

/// True when the caller already has the answer with this tag.
pub(crate) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok());
    known.flat_map(|v| v.split(',')).any(|tag| tag.trim().trim_start_matches("W/") == etag)
}

/// The key file of a batch's proofs, for a verifier that knows its digest.
#[utoipa::path(get, path = "/v1/batches/{name}/key", tag = "proofs", security(("bearer" = [])),
    params(("name" = String, Path, description = "Name of the batch")),
    responses(
        (status = 200, description = "The key file, 10 to 20 MB", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 404, description = "No such batch, or its proofs have no key that verifiers know", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn key(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let batch = name.clone();
    let backend = ask_for(shared.clone(), public.is_some(), move |store| Ok(store.batch(&batch)?.backend)).await?;
    let missing = || {
        let detail = format!("the proofs of batch {name:?} have no key file: their backend is {}", backend.choice.name);
        Problem::not_found(detail)
    };
    let file = shared.config.key_files.clone().ok_or_else(missing)?;
    let spec = backend.clone();
    // Building a key file takes a second and much memory: one is built at a time, and then kept.
    let made = tokio::task::spawn_blocking(move || file.of(&spec)).await.map_err(|_| Problem::store())?;
    let bytes = made.map_err(|e| {
        tracing::error!(error = e.to_string(), "no key file");
        Problem::store()
    })?;
    Ok(octets(bytes.ok_or_else(missing)?).into_response())
}

/// An answer with the bytes of a file.
fn octets(bytes: impl Into<Body>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))], bytes.into())
}
