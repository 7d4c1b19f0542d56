//! `GET /v1/batches/{name}/tree`: the proofs of a batch as a tree.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use evergrove::store::{Error, ProofTree, Prover};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Public;
use super::read::{Asked, ask, place, turn};
use crate::lock;
use crate::problem::Problem;
use crate::runs::ProofState;
use crate::service::Shared;

/// Greatest number of proofs in an answer: those of 4,096 buckets and the proofs above them.
pub(crate) const SHOWN: usize = 8192;
/// Number of trees that are kept.
const KEPT: usize = 4;

/// The proofs of a batch at the epoch that is being proven, otherwise at the current epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tree {
    batch: String,
    /// The process that counts `changes`. Another process starts from 0.
    process: String,
    /// The epoch.
    epoch: u64,
    /// H: the table has 2^H slots.
    height: u8,
    /// Number of proofs of the batch.
    proofs: usize,
    /// Number of changes of states so far. An event whose `to` is not greater has nothing new.
    changes: u64,
    /// Estimate of the remaining time of the current run in seconds, if there is one.
    seconds_left: Option<f64>,
    /// `service`: this process makes the proofs. `workers`: processes that share its queue do.
    prover: &'static str,
    /// Digest of `nodes` without their states. A caller who sends it as `structure` gets no `nodes`.
    structure: String,
    /// At most 8,192 proofs, those nearest to the final one, by number.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<TreeNode>>,
    /// The state of each proof in `nodes`: `s` stale, `p` being proven, `m` made for this epoch, `r` reused.
    states: String,
    /// Number and worker of each proof that a named worker made for this epoch. Only for callers with a token.
    workers: Vec<(usize, String)>,
}

/// One proof.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TreeNode {
    /// Number of the proof, as in events. Children have smaller numbers.
    number: usize,
    /// Number of the proof that builds on this one.
    parent: Option<usize>,
    /// Distance to the final proof, which has depth 0.
    depth: u32,
    /// Circuit of the proof: `bucket`, `merge` or `wrap`.
    kind: &'static str,
    #[serde(flatten)]
    part: Option<Part>,
}

/// The part of the table that a proof covers. Only for callers with a token.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Part {
    /// Height of the part: it has 2^height slots.
    height: u8,
    /// First position of the part.
    first: u64,
    /// Number of members in the part.
    members: usize,
}

/// The query of a caller.
#[derive(Debug, Deserialize)]
pub(crate) struct Known {
    structure: Option<String>,
}

/// The tree of proofs of a batch, with the state of each: at the epoch that is being proven, otherwise at the current one.
///
/// To stay up to date, open `/v1/events?batch=NAME` first and apply its `progress` events to this answer. Ask for the
/// tree again after an event whose `from` is greater than `changes`, or whose epoch or process differs.
#[utoipa::path(get, path = "/v1/batches/{name}/tree", tag = "proofs", security(("bearer" = [])),
    params(
        ("name" = String, Path, description = "Name of the batch"),
        ("structure" = Option<String>, Query, description = "The structure that the caller has: its nodes are left out"),
    ),
    responses(
        (status = 200, description = "The tree", body = Tree),
        (status = 404, description = "The batch does not exist", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn tree(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
    Path(name): Path<String>,
    asked: Asked<Known>,
) -> Result<Json<Tree>, Problem> {
    let Query(Known { structure }) = asked.map_err(|e| Problem::malformed(e.body_text()))?;
    // The turn to build comes before the place and the turn to read the store, so callers that wait for a tree block no
    // readers. A tree is finished and kept even if its caller disconnects.
    let turn = turn(&shared, &shared.builder).await?;
    let place = place(&shared, public.is_some()).await?;
    let asking = shared.clone();
    let (name, tree) = ask(shared.clone(), move |store| {
        let _turns = (&place, &turn);
        // Each plan and each end of a run changes `turns`. The tree must then read again which proofs are stored.
        let turns = asking.runs().turns(&name);
        let proving = asking.working().filter(|working| working.batch == name).map(|working| working.epoch);
        // The members may have changed since this epoch.
        let proving = proving.filter(|epoch| store.batch(&name).is_ok_and(|batch| batch.since <= *epoch));
        let epoch = match proving {
            Some(epoch) => epoch,
            None => store.epoch()?.number,
        };
        {
            let kept = lock(&asking.trees);
            let mut found = kept.iter().filter(|(of, at, _)| *of == name && *at == turns);
            if let Some((_, _, tree)) = found.find(|(_, _, tree)| tree.epoch.number == epoch) {
                return Ok((name.clone(), tree.clone()));
            }
        }
        let prover = Prover::new(store, asking.backends(), asking.engine());
        let tree = match prover.tree(&name, proving, SHOWN) {
            // Between these reads, a commit has changed the members, or the epoch was pruned.
            Err(Error::EmptySlot { .. } | Error::OutOfRange { .. } | Error::UnknownEpoch { .. })
                if proving.is_some() =>
            {
                prover.tree(&name, None, SHOWN)?
            }
            tree => tree?,
        };
        let tree = Arc::new(tree);
        let mut kept = lock(&asking.trees);
        kept.retain(|(of, _, _)| *of != name);
        kept.truncate(KEPT - 1);
        kept.insert(0, (name.clone(), turns, tree.clone()));
        Ok((name.clone(), tree))
    })
    .await?;
    Ok(Json(Tree::new(&shared, name, &tree, structure.as_deref(), public.is_some())))
}

impl Tree {
    fn new(shared: &Shared, batch: String, tree: &ProofTree, known: Option<&str>, is_public: bool) -> Self {
        let view = |node: &evergrove::store::TreeNode| TreeNode {
            number: node.number,
            parent: node.parent,
            depth: node.depth,
            kind: node.kind.name(),
            part: (!is_public).then_some(Part { height: node.height, first: node.base, members: node.members }),
        };
        let nodes: Vec<_> = tree.nodes.iter().map(view).collect();
        let structure = structure(tree.total, &nodes);
        let nodes = (known != Some(structure.as_str())).then_some(nodes);
        let runs = shared.runs();
        let run = runs.of(&batch, tree.epoch.number).filter(|run| run.proofs() == tree.total);
        let state = |node: &evergrove::store::TreeNode| match run.and_then(|run| run.state(node.number)) {
            Some(ProofState::Proving) => 'p',
            Some(ProofState::Proven) => 'm',
            _ if node.is_stored || run.is_some_and(|run| run.is_whole()) => 'r',
            _ => 's',
        };
        let worker = |node: &evergrove::store::TreeNode| {
            let name = run.and_then(|run| run.worker(node.number));
            name.map(|name| (node.number, name.to_owned()))
        };
        Self {
            process: runs.process().into(),
            epoch: tree.epoch.number,
            height: tree.epoch.commitment.height,
            proofs: tree.total,
            changes: runs.changes(&batch),
            seconds_left: run.and_then(|run| run.seconds_left()),
            prover: shared.prover(),
            structure,
            nodes,
            states: tree.nodes.iter().map(state).collect(),
            workers: if is_public { Vec::new() } else { tree.nodes.iter().filter_map(worker).collect() },
            batch,
        }
    }
}

/// A digest of the nodes as the caller sees them, so it does not disclose hidden values.
fn structure(total: usize, nodes: &[TreeNode]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(total as u64).to_le_bytes());
    for node in nodes {
        let parent = node.parent.map_or(u64::MAX, |parent| parent as u64);
        for number in [node.number as u64, parent] {
            hasher.update(&number.to_le_bytes());
        }
        if let Some(Part { height, first, members }) = node.part {
            for number in [first, members as u64, height.into()] {
                hasher.update(&number.to_le_bytes());
            }
        }
    }
    hasher.finalize().to_hex()[..16].into()
}
