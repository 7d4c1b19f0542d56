//! The proofs of a batch as a tree.

use std::sync::{Arc, MutexGuard, PoisonError};

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use evergrove::store::{ProofTree, Prover};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Public;
use super::read::ask;
use crate::problem::Problem;
use crate::runs::ProofState;
use crate::service::Shared;

/// Proofs that an answer has at most: those of 4,096 buckets, with what is above them.
pub(crate) const SHOWN: usize = 8192;
/// Trees that are kept until their epoch is past.
const KEPT: usize = 4;

/// The proofs of a batch at the current epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tree {
    batch: String,
    /// The process that counts `changes`: another one begins at 0.
    process: String,
    /// The current epoch.
    epoch: u64,
    /// H: the table has 2^H slots.
    height: u8,
    /// Proofs of the whole batch.
    proofs: usize,
    /// Changes of states so far: events with a smaller `from` hold nothing new.
    changes: u64,
    /// How long the proofs under way take, in seconds, as far as can be told.
    seconds_left: Option<f64>,
    /// Who makes proofs: `service` is this process, `workers` are those that share its queue.
    prover: &'static str,
    /// Digest of `nodes` without their states. A caller who sends it as `structure` is spared them.
    structure: String,
    /// At most 8,192 proofs, those nearest to the final one, by number.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<TreeNode>>,
    /// The state of each of them: `s` stale, `p` being proven, `m` made for this epoch, `r` reused.
    states: String,
    /// Number and worker of those that a worker with a name has made for this epoch. Only callers with a token are told.
    workers: Vec<(usize, String)>,
}

/// One proof.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TreeNode {
    /// Its number, as events name it. Children have smaller ones.
    number: usize,
    /// The number of the proof that builds on it.
    parent: Option<usize>,
    /// Proofs between it and the final one.
    depth: u32,
    /// Its circuit: `bucket`, `merge` or `wrap`.
    kind: &'static str,
    #[serde(flatten)]
    part: Option<Part>,
}

/// What a proof is about. Only callers with a token are told.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Part {
    /// Height of the part of the table.
    height: u8,
    /// First position of that part.
    first: u64,
    /// Members in it.
    members: usize,
}

/// What the caller has.
#[derive(Debug, Deserialize)]
pub(crate) struct Known {
    structure: Option<String>,
}

type Asked = Result<Query<Known>, axum::extract::rejection::QueryRejection>;

/// The tree of proofs of a batch at the current epoch, with the state of each.
///
/// A caller who opens `/v1/events?batch=NAME` before, and applies its `progress` events to this answer, is always up to date: one
/// whose `from` is above `changes`, or whose epoch or process is another, means that the tree is to be asked for again.
#[utoipa::path(get, path = "/v1/batches/{name}/tree", tag = "proofs", security(("bearer" = [])),
    params(
        ("name" = String, Path, description = "Name of the batch"),
        ("structure" = Option<String>, Query, description = "The structure that the caller has: its nodes are left out"),
    ),
    responses(
        (status = 200, description = "The tree", body = Tree),
        (status = 404, description = "There is no such batch", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn tree(
    State(shared): State<Arc<Shared>>,
    public: Option<Extension<Public>>,
    Path(name): Path<String>,
    asked: Asked,
) -> Result<Json<Tree>, Problem> {
    let Query(Known { structure }) = asked.map_err(|e| Problem::malformed(e.body_text()))?;
    // Who waits for another tree takes no turn to ask the store. A caller who goes leaves this one to whoever comes next.
    let turn = shared.builder.clone().acquire_owned().await.map_err(|_| Problem::store())?;
    let asking = shared.clone();
    let (name, tree) = ask(shared.clone(), move |store| {
        let _turn = &turn;
        // Which proofs are stored is read again after a plan and after the end of a run.
        let turns = asking.runs().turns(&name);
        let epoch = store.epoch()?.number;
        {
            let mut kept = asking.kept_trees();
            kept.retain(|(_, _, tree)| tree.epoch.number == epoch);
            if let Some((_, _, tree)) = kept.iter().find(|(of, at, _)| *of == name && *at == turns) {
                return Ok((name.clone(), tree.clone()));
            }
        }
        let tree = Arc::new(Prover::new(store, asking.backends(), asking.engine()).tree(&name, SHOWN)?);
        let mut kept = asking.kept_trees();
        kept.retain(|(of, _, _)| *of != name);
        kept.truncate(KEPT - 1);
        kept.insert(0, (name.clone(), turns, tree.clone()));
        Ok((name.clone(), tree))
    })
    .await?;
    Ok(Json(Tree::new(&shared, name, &tree, structure.as_deref(), public.is_some())))
}

impl Shared {
    fn kept_trees(&self) -> MutexGuard<'_, Vec<(String, u64, Arc<ProofTree>)>> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

/// A digest of what is shown of the proofs: what is not shown cannot be guessed from it.
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
