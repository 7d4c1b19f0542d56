//! Epochs: commitments, changed positions, and the times of their proofs.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use evergrove::store::{Epoch, Error};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Public;
use super::read::{Asked, ask, ask_for};
use crate::problem::Problem;
use crate::service::Shared;

/// Greatest number of epochs in an answer.
const EPOCHS: u64 = 256;
/// Greatest number of positions in an answer.
const POSITIONS: usize = 4096;

/// An epoch of the table.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EpochView {
    epoch: u64,
    commitment: String,
    height: u8,
    /// Filled slots.
    rows: u64,
    /// The commit, if this process made it and the epoch is recent.
    committed: Option<Committing>,
}

/// The commit of an epoch.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Committing {
    /// Seconds since the commit.
    pub(crate) age: f64,
    /// Rows that were set.
    pub(crate) set: usize,
    /// Rows that were deleted.
    pub(crate) deleted: usize,
    /// Seconds from the commit until every batch had a proof of this epoch or of a later one.
    pub(crate) proven_after: Option<f64>,
}

/// The positions that an epoch changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangeSet {
    epoch: u64,
    /// Positions whose rows were set or deleted, ascending, at most 4,096.
    positions: Vec<u64>,
    /// True if the epoch changed more positions.
    more: bool,
}

/// The epochs that a caller asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct Range {
    before: Option<u64>,
    limit: Option<u64>,
}

impl EpochView {
    fn new(shared: &Shared, epoch: Epoch) -> Self {
        let Epoch { number, commitment, filled: rows } = epoch;
        let committed = shared.committed(number);
        Self { epoch: number, commitment: commitment.to_string(), height: commitment.height, rows, committed }
    }
}

/// The epochs that are kept, newest first.
#[utoipa::path(get, path = "/v1/epochs", tag = "proofs", security(("bearer" = [])),
    params(
        ("before" = Option<u64>, Query, description = "Only epochs with a smaller number"),
        ("limit" = Option<u64>, Query, description = "How many, at most: 64 if left out, 256 at most"),
    ),
    responses(
        (status = 200, description = "The epochs", body = Vec<EpochView>),
        (status = 400, description = "A parameter is not a number", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn epochs(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
    asked: Asked<Range>,
) -> Result<Json<Vec<EpochView>>, Problem> {
    let Query(Range { before, limit }) = asked.map_err(|e| Problem::malformed(e.body_text()))?;
    let limit = limit.unwrap_or(64).min(EPOCHS);
    let epochs = ask_for(shared.clone(), public.is_some(), move |store| {
        let end = before.unwrap_or(u64::MAX).min(store.epoch()?.number.saturating_add(1));
        let mut epochs = Vec::new();
        for number in (end.saturating_sub(limit)..end).rev() {
            match store.view_at(number) {
                Ok(view) => epochs.push(*view.epoch()),
                // The epoch was pruned, and so were all earlier ones.
                Err(Error::UnknownEpoch { .. }) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(epochs)
    });
    Ok(Json(epochs.await?.into_iter().map(|epoch| EpochView::new(&shared, epoch)).collect()))
}

/// An epoch and its commitment.
#[utoipa::path(get, path = "/v1/epochs/{epoch}", tag = "proofs", security(("bearer" = [])),
    params(("epoch" = u64, Path, description = "Its number")),
    responses(
        (status = 200, description = "The epoch", body = EpochView),
        (status = 404, description = "It is not kept, or has not been", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn epoch(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
    Path(number): Path<String>,
) -> Result<Json<EpochView>, Problem> {
    let number = parse(&number)?;
    let epoch = ask_for(shared.clone(), public.is_some(), move |store| Ok(*store.view_at(number)?.epoch())).await?;
    Ok(Json(EpochView::new(&shared, epoch)))
}

/// The positions that an epoch changed, if the epoch before it is kept too.
#[utoipa::path(get, path = "/v1/epochs/{epoch}/changes", tag = "proofs", security(("bearer" = [])),
    params(("epoch" = u64, Path, description = "Its number")),
    responses(
        (status = 200, description = "What it has changed", body = ChangeSet),
        (status = 404, description = "It or the epoch before it is not kept, or has not been", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn changes(
    State(shared): State<Arc<Shared>>,
    Path(number): Path<String>,
) -> Result<Json<ChangeSet>, Problem> {
    let number = parse(&number)?;
    let changed =
        ask(shared, move |store| store.view_at(number)?.changed(&store.view_at(number.saturating_sub(1))?, POSITIONS));
    let (positions, more) = changed.await?;
    Ok(Json(ChangeSet { epoch: number, positions, more }))
}

fn parse(number: &str) -> Result<u64, Problem> {
    number.parse().map_err(|_| Problem::not_found("an epoch is a number"))
}
