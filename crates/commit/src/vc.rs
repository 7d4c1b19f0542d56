//! The algorithms of the vector commitment, under the names of Definition 2.2 and Fig. 3 of the paper.
//!
//! The functions are thin: each is a few lines over [`Vector`], [`Batch`] and a [`RecursionBackend`], and shows how
//! they fit together. A caller that keeps proofs on disk or has workers make them uses those types directly, through
//! [`Batch::plan`].
//!
//! Where the paper changes position u *by delta*, these functions take the new value, or `None` to empty the slot. The
//! paper recomputes the proofs on the path of u, one change at a time. [`upd_batch_proof`] takes all changes of one
//! epoch, so they share the proofs above them.

use std::collections::HashMap;
use std::sync::Arc;

use evergrove_primitives::Digest;
use evergrove_verifier::tree::{self, Value, leaf_digest, null_digest, null_digests, split_level};
use evergrove_verifier::{Commitment, HEIGHT_MAX, HeightClass, LeavesError, NodeKind, Opening, Scheme, Statement};

use crate::batch::{Batch, BatchError, Input, Structure};
use crate::page::{PAGE_LEVELS, Page};
use crate::{
    BackendError, MemoryStore, NodeProof, PageId, RecursionBackend, Store, StoreMut, Vector, VectorError, batch_digest,
};

/// An algorithm of the vector commitment failed, or [`ver`] does not accept.
#[derive(Debug, thiserror::Error)]
pub enum VcError {
    /// An error of the vector.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// An error of the batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// An error of the backend.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The backend's circuits are not for this height.
    #[error("the backend is for heights up to {}, the vector's class is another: height {height}", class.height_max())]
    Class {
        /// Height of the vector.
        height: u8,
        /// Class of the backend.
        class: HeightClass,
    },
    /// The store already holds a vector.
    #[error("the store holds a vector already: update that one, or commit to an empty store")]
    NotEmpty,
    /// Two openings have different commitments.
    #[error("the openings of slots {0} and {1} are not of one commitment: take both from the same epoch")]
    Epochs(u64, u64),
    /// The opening does not lead to the commitment.
    #[error("the opening of slot {0} does not lead to the commitment: take it from the commitment's epoch")]
    Opening(u64),
    /// The proof needs more than the members of the batch.
    #[error("openings of the members are not enough for scheme {0}: make the proof from the vector")]
    Whole(Scheme),
    /// The proof is by a circuit that does not prove whole batches here.
    #[error("a {} proof is not the proof of a batch of this backend", .0.name())]
    Kind(NodeKind),
    /// The proof's statement differs from that of the commitment and the leaves.
    #[error("the proof states {found:?}, commitment and leaves give {expected:?}")]
    Statement {
        /// From commitment and leaves.
        expected: Box<Statement>,
        /// Of the proof.
        found: Box<Statement>,
    },
}

/// pp: the vector's height, the hash function (Poseidon, fixed) and the keys, which the backend holds.
#[derive(Clone, Debug)]
pub struct PublicParameters<B> {
    /// H; n = 2^H.
    pub height: u8,
    /// Setup(B): proving and verification keys.
    pub backend: B,
}

/// A_I: the structure of a batch and its proofs, each with its statement (C_v, d(v, I)).
#[derive(Clone, Debug)]
pub struct BatchData {
    /// The structure.
    pub batch: Batch,
    /// The proofs of its nodes and of the wrap.
    pub proofs: HashMap<(Statement, NodeKind), Arc<NodeProof>>,
    /// How many proofs the last [`agg`] or [`upd_batch_proof`] made.
    pub made: usize,
}

/// Gen(1^lambda, n) -> pp. The keys are the backend's, which fixes lambda by its profile.
///
/// # Errors
/// [`VectorError::Height`], and [`VcError::Class`] when the backend's circuits are for another class of heights.
pub fn setup<B: RecursionBackend>(height: u8, backend: B) -> Result<PublicParameters<B>, VcError> {
    let class = HeightClass::of(height).ok_or(VectorError::Height(height))?;
    if class != backend.spec().class {
        return Err(VcError::Class { height, class: backend.spec().class });
    }
    Ok(PublicParameters { height, backend })
}

/// Com(a) -> C: the Merkle root. `slots` are the non-empty slots of a; the tree goes to `store`, which must be empty.
///
/// # Errors
/// [`VcError::NotEmpty`], and the errors of [`Vector::apply`].
pub fn com<B, S: StoreMut>(
    pp: &PublicParameters<B>,
    slots: &[(u64, Value)],
    store: S,
) -> Result<(Vector<S>, Commitment), VcError> {
    let mut vector = Vector::new(pp.height, store)?;
    if vector.root().map_err(VectorError::from)? != vector.nulls()[usize::from(pp.height)] {
        return Err(VcError::NotEmpty);
    }
    let changes: Vec<_> = slots.iter().map(|(i, v)| (*i, Some(*v))).collect();
    let commitment = vector.apply(&changes)?;
    Ok((vector, commitment))
}

/// Open(i, a) -> pi_i: the Merkle proof of slot i, empty or not.
pub fn open<S: Store>(index: u64, vector: &Vector<S>) -> Result<Opening, VcError> {
    Ok(vector.open(index)?)
}

/// OpenAll(a) -> (pi_0, .., pi_{n-1}): the paper returns the Merkle tree, which `vector` already is. This reads from it
/// the openings of all slots that hold a value, in ascending order, one at a time.
pub fn open_all<S: Store>(vector: &Vector<S>) -> impl Iterator<Item = Result<Opening, VcError>> + '_ {
    vector.occupied().map(|index| open(index.map_err(VectorError::from)?, vector))
}

/// Agg((a_i, pi_i)_{i in I}) -> (pi_I, A_I): the batch proof and the batch-proof data structure.
///
/// The paper's T_I, the tree formed by the openings, is read from `vector` ([`agg_openings`] takes the openings). Its
/// loop over all nodes of T_I becomes the loop over the fewer nodes of [`Batch`], with one proof for each bucket and
/// each merge.
///
/// # Errors
/// The errors of [`Batch::build`] and of the backend.
pub fn agg<B: RecursionBackend, S: Store>(
    pp: &PublicParameters<B>,
    indices: &[u64],
    vector: &Vector<S>,
) -> Result<(Arc<NodeProof>, BatchData), VcError> {
    let batch = Batch::build_as(vector, indices, pp.backend.spec().structure())?;
    prove(&pp.backend, batch, vector, &HashMap::new())
}

/// [`agg`] without the vector, from the openings of the members: Agg as in Definition 2.2. T_I consists of the openings
/// alone.
///
/// Takes H permutations for each opening before the first proof. The proof equals that of [`agg`].
///
/// # Errors
/// [`VcError::Opening`] for the first opening that does not lead to `commitment`, [`VcError::Whole`], and the errors of
/// [`agg`].
pub fn agg_openings<B: RecursionBackend>(
    pp: &PublicParameters<B>,
    commitment: &Commitment,
    openings: &[Opening],
) -> Result<(Arc<NodeProof>, BatchData), VcError> {
    let structure = pp.backend.spec().structure();
    if !matches!(structure, Structure::Compressed { .. }) {
        return Err(VcError::Whole(pp.backend.spec().choice.scheme));
    }
    let (height, class) = (commitment.height, pp.backend.spec().class);
    if HeightClass::of(height) != Some(class) {
        return Err(VcError::Class { height, class });
    }
    let vector = Vector::new(height, shown(commitment, openings)?)?;
    let indices: Vec<u64> = openings.iter().map(|opening| opening.index).collect();
    prove(&pp.backend, Batch::build_as(&vector, &indices, structure)?, &vector, &HashMap::new())
}

/// Only the nodes that openings show: those on paths, and their siblings.
fn shown(commitment: &Commitment, openings: &[Opening]) -> Result<MemoryStore, VcError> {
    if let Some(wrong) = openings.iter().find(|opening| opening.verify(commitment).is_err()) {
        return Err(VcError::Opening(wrong.index));
    }
    let nulls = null_digests(commitment.height);
    let (mut pages, mut store) = (HashMap::<PageId, Page>::new(), MemoryStore::new());
    for opening in openings {
        store.put_value(opening.index, opening.value).map_err(VectorError::from)?;
        for (level, (node, sibling)) in path(opening).iter().zip(&opening.siblings).enumerate() {
            let (position, null) = (opening.index >> level, &nulls[level]);
            let (tier, within) = (level as u8 / PAGE_LEVELS, level as u8 % PAGE_LEVELS);
            let shift = PAGE_LEVELS - within;
            let page = pages.entry(PageId { tier, position: position >> shift }).or_default();
            for (position, node) in [(position, node), (position ^ 1, sibling)] {
                if node != null {
                    page.set(within, position & ((1 << shift) - 1), *node);
                }
            }
        }
    }
    for (id, page) in pages {
        store.put_page(id, Some(page)).map_err(VectorError::from)?;
    }
    Ok(store)
}

/// Ver(C, (a_i)_{i in I}, pi_I) -> {0, 1}: recomputes d_I from the claimed leaves (section 3.1) and checks the proof of
/// (C, d_I), of the whole vector and by a circuit that ends a batch.
///
/// # Errors
/// `Ok` is acceptance; every error is a refusal with its reason.
pub fn ver<B: RecursionBackend + ?Sized>(
    commitment: &Commitment,
    leaves: &[(u64, Value)],
    proof: &NodeProof,
    backend: &B,
) -> Result<(), VcError> {
    let height = commitment.height;
    if HeightClass::of(height) != Some(backend.spec().class) {
        return Err(VcError::Class { height, class: backend.spec().class });
    }
    let mut leaves = leaves.to_vec();
    leaves.sort_unstable_by_key(|l| l.0);
    let canonical = batch_digest(height, &leaves).map_err(|e| match e {
        LeavesError::Empty => BatchError::Empty,
        LeavesError::Index { index, height, .. } => BatchError::OutOfRange { index, height },
        LeavesError::Order { index, .. } => BatchError::Duplicate(index),
    })?;
    if (proof.kind == NodeKind::Wrap) != backend.spec().wraps {
        return Err(VcError::Kind(proof.kind));
    }
    let expected = Statement::whole(commitment, canonical);
    if proof.statement != expected {
        return Err(VcError::Statement { expected: expected.into(), found: proof.statement.into() });
    }
    Ok(backend.verify(proof)?)
}

/// UpdDig(u, delta, C, aux) -> C': the commitment after slot u has become `value`, from the opening of u alone (aux = pi_u).
///
/// # Errors
/// [`VcError::Opening`] when the opening does not lead to `commitment`.
pub fn upd_dig(value: Option<Value>, commitment: &Commitment, aux: &Opening) -> Result<Commitment, VcError> {
    aux.verify(commitment).map_err(|_| VcError::Opening(aux.index))?;
    let root = path(&Opening { value, ..aux.clone() }).last().copied().ok_or(VcError::Opening(aux.index))?;
    Ok(Commitment { root, ..*commitment })
}

/// UpdProof(u, delta, pi_i, aux) -> pi_i': the opening of slot i after slot u has become `value`, from the two old openings
/// (aux = pi_u). One sibling changes, at the level at which the paths of u and i part; none when u = i.
///
/// # Errors
/// [`VcError::Epochs`] when the two have different commitments.
pub fn upd_proof(value: Option<Value>, proof: &Opening, aux: &Opening) -> Result<Opening, VcError> {
    let mut out = proof.clone();
    let height = usize::from(proof.height.min(HEIGHT_MAX));
    let of_one_height = [proof, aux].iter().all(|o| usize::from(o.height) == height && o.siblings.len() == height);
    if !of_one_height || path(proof).last() != path(aux).last() {
        return Err(VcError::Epochs(proof.index, aux.index));
    }
    if proof.index == aux.index {
        out.value = value;
        return Ok(out);
    }
    let level = usize::from(split_level(proof.index, aux.index));
    let after = path(&Opening { value, ..aux.clone() });
    match (out.siblings.get_mut(level), after.get(level)) {
        (Some(sibling), Some(node)) => *sibling = *node,
        _ => return Err(VcError::Epochs(proof.index, aux.index)),
    }
    Ok(out)
}

/// UpdBatchProof(u, delta, I, A_I, aux) -> (pi_I', A_I'): the proof after all changes of one epoch. `vector` is that of the
/// new epoch (aux, the tree), `touched` the positions whose slots have changed.
///
/// The five updates of section 1.1 of the paper:
/// - (a) a member's value changes: it is in `touched`;
/// - (b) the value of another slot changes: it is in `touched`;
/// - (c) index w joins the batch: in `joins`;
/// - (d) index w leaves it: in `leaves`;
/// - (e) an element is added to or removed from the memory: it is in `touched`, and a member that is removed also in
///   `leaves`. The paper rebalances; here positions are fixed, and a full vector must grow first ([`Vector::grow`]).
///
/// # Errors
/// The errors of [`Batch::update`] and of the backend. `data` does not change then.
pub fn upd_batch_proof<B: RecursionBackend, S: Store>(
    pp: &PublicParameters<B>,
    data: &BatchData,
    vector: &Vector<S>,
    touched: &[u64],
    joins: &[u64],
    leaves: &[u64],
) -> Result<(Arc<NodeProof>, BatchData), VcError> {
    let batch = data.batch.update(vector, joins, leaves, touched)?;
    prove(&pp.backend, batch, vector, &data.proofs)
}

/// UpdAllProofs(u, delta, pi_0, .., pi_{n-1}) -> (pi_0', .., pi_{n-1}'): recomputes the Merkle paths of the changed slots, in
/// the tree from which all openings are read.
///
/// # Errors
/// The errors of [`Vector::apply`].
pub fn upd_all_proofs<S: StoreMut>(
    vector: &mut Vector<S>,
    changes: &[(u64, Option<Value>)],
) -> Result<Commitment, VcError> {
    Ok(vector.apply(changes)?)
}

/// Makes the proofs of `batch` that are missing in `old`.
fn prove<B: RecursionBackend, S: Store>(
    backend: &B,
    batch: Batch,
    vector: &Vector<S>,
    old: &HashMap<(Statement, NodeKind), Arc<NodeProof>>,
) -> Result<(Arc<NodeProof>, BatchData), VcError> {
    let plan = batch.plan(backend.spec().wraps, |statement, kind| old.contains_key(&(*statement, kind)));
    let mut made: Vec<Arc<NodeProof>> = Vec::with_capacity(plan.len());
    let find = |input: &Input, made: &[Arc<NodeProof>]| match input {
        Input::Step(n) => made[*n].clone(),
        Input::Existing { statement, kind } => old[&(*statement, *kind)].clone(),
    };
    for step in &plan.steps {
        let inputs: Vec<_> = step.inputs.iter().map(|i| find(i, &made)).collect();
        let inputs: Vec<&NodeProof> = inputs.iter().map(Arc::as_ref).collect();
        made.push(Arc::new(backend.prove(&step.witness(vector)?, &inputs)?));
    }
    let result = find(&plan.result, &made);
    let count = made.len();
    let mut proofs: HashMap<_, _> = made.into_iter().map(|p| ((p.statement, p.kind), p)).collect();
    let wrap = backend.spec().wraps.then_some((*batch.statement(), NodeKind::Wrap));
    for key in batch.nodes().into_iter().map(|n| (n.statement, n.kind())).chain(wrap) {
        if let Some(proof) = old.get(&key) {
            proofs.insert(key, proof.clone());
        }
    }
    Ok((result, BatchData { batch, proofs, made: count }))
}

/// The nodes on the path of an opening, leaf first, root last.
fn path(opening: &Opening) -> Vec<Digest> {
    let index = opening.index;
    let leaf = opening.value.map_or_else(|| null_digest(0), |v| leaf_digest(index, &v));
    tree::path(leaf, index, &opening.siblings).collect()
}
