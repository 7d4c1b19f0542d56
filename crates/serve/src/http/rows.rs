//! `GET /v1/batches/{name}/rows`: rows of a batch, for verifiers.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use evergrove::store::input::{Format, TableWriter};
use evergrove::store::{Error, Store};
use futures_util::stream::try_unfold;

use super::read::{Asked, At, COMMITMENT, EPOCH, ask};
use crate::Token;
use crate::config::Right;
use crate::problem::Problem;
use crate::service::Shared;

/// Rows are read until their text has this many bytes.
const PIECE: usize = 64 << 10;

/// The rows of a batch that are not sent yet.
struct Rest {
    shared: Arc<Shared>,
    epoch: u64,
    members: Arc<[u64]>,
    /// Number of rows sent.
    sent: usize,
    /// The token of the caller.
    shown: Option<Token>,
}

/// The rows of a batch with their positions, as the file that `evergrove verify --leaves` takes.
///
/// One line of JSON for each row, by ascending position. Without an epoch, the rows are those of the last finished
/// proof, which `/proof` answers; the headers name its epoch. The connection breaks off if a row cannot be read, for
/// example after its epoch was pruned, or if the token is withdrawn.
#[utoipa::path(get, path = "/v1/batches/{name}/rows", tag = "proofs", security(("bearer" = [])),
    params(
        ("name" = String, Path, description = "Name of the batch"),
        ("epoch" = Option<u64>, Query, description = "The epoch"),
    ),
    responses(
        (status = 200, description = "The rows", content_type = "application/x-ndjson", body = String, headers(
            ("evergrove-epoch" = u64, description = "The epoch that they are of"),
            ("evergrove-commitment" = String, description = "The commitment of that epoch"),
        )),
        (status = 400, description = "The epoch is not a number", body = Problem, content_type = "application/problem+json"),
        (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "From a web page elsewhere, and the service has no token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such batch or epoch, or the batch had other members then", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The batch is over all rows: verifiers of its proof take none", body = Problem, content_type = "application/problem+json"),
        (status = 500, description = "The store failed", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn rows(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    shown: Option<Extension<Token>>,
    asked: Asked<At>,
) -> Result<Response, Problem> {
    let Query(At { epoch }) = asked.map_err(|e| Problem::malformed(e.body_text()))?;
    let (epoch, members) = ask(shared.clone(), move |store| store.members_at(&name, epoch)).await?;
    let rest = Rest {
        shared,
        epoch: epoch.number,
        members: members.into(),
        sent: 0,
        shown: shown.map(|Extension(token)| token),
    };
    let pieces = try_unfold(rest, |mut rest| async {
        if rest.sent == rest.members.len() {
            return Ok(None);
        }
        if !rest.shared.config.allows(rest.shown.as_ref(), Right::Read) {
            return Err(std::io::Error::other("the token was withdrawn"));
        }
        let (members, number, sent) = (rest.members.clone(), rest.epoch, rest.sent);
        let piece = ask(rest.shared.clone(), move |store| piece(store, number, &members[sent..])).await;
        let (text, read) = piece.map_err(|problem| std::io::Error::other(problem.detail))?;
        rest.sent += read;
        Ok::<_, std::io::Error>(Some((Bytes::from(text), rest)))
    });
    let about = [(EPOCH, epoch.number.to_string()), (COMMITMENT, epoch.commitment.to_string())];
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((about, kind, Body::from_stream(pieces)).into_response())
}

/// The first rows of `members` as text, and their number.
fn piece(store: &Store, epoch: u64, members: &[u64]) -> Result<(Vec<u8>, usize), Error> {
    let view = store.view_at(epoch)?;
    let (mut text, mut read) = (Vec::new(), 0);
    for index in members {
        let row = view.row(*index)?.ok_or(Error::EmptySlot { index: *index, batch: None })?;
        let written = TableWriter::new(&mut text, Format::Jsonl, store.schema()).and_then(|mut writer| {
            writer.write(*index, &row)?;
            writer.finish()
        });
        written.map_err(|e| Error::Input(e.into()))?;
        read += 1;
        if text.len() >= PIECE {
            break;
        }
    }
    Ok((text, read))
}
