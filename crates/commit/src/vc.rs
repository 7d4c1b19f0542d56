//! The algorithms of the vector commitment that make and check proofs, under the names of Definition 2.2 and Fig. 3 of
//! the paper. The others are methods: Com and UpdAllProofs are [`Vector::apply`], Open is [`Vector::open`].
//!
//! The functions are thin: each is a few lines over [`Vector`], [`Batch`] and a [`RecursionBackend`], and shows how
//! they fit together. A caller that keeps proofs on disk or has workers make them uses those types directly, through
//! [`Batch::plan`].
//!
//! Where the paper changes position u *by delta*, a vector takes the new value, or `None` to empty the slot. The paper
//! recomputes the proofs on the path of u, one change at a time. [`upd_batch_proof`] takes all changes of one epoch, so
//! they share the proofs above them.

use std::collections::HashMap;
use std::sync::Arc;

use evergrove_verifier::tree::Value;
use evergrove_verifier::{Commitment, HeightClass, LeavesError, NodeKind, Statement};

use crate::batch::{Batch, BatchError, Input};
use crate::{BackendError, NodeProof, RecursionBackend, Store, Vector, batch_digest};

/// An algorithm of the vector commitment failed, or [`ver`] does not accept.
#[derive(Debug, thiserror::Error)]
pub enum VcError {
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

/// Agg((a_i, pi_i)_{i in I}) -> (pi_I, A_I): the batch proof and the batch-proof data structure.
///
/// The paper's T_I, the tree formed by the openings, is read from `vector`. Its loop over all nodes of T_I becomes the
/// loop over the fewer nodes of [`Batch`], with one proof for each bucket and each merge.
///
/// # Errors
/// [`VcError::Class`], and the errors of [`Batch::build`] and of the backend.
pub fn agg<B: RecursionBackend + ?Sized, S: Store>(
    backend: &B,
    indices: &[u64],
    vector: &Vector<S>,
) -> Result<(Arc<NodeProof>, BatchData), VcError> {
    let batch = Batch::build_as(vector, indices, backend.spec().structure())?;
    prove(backend, batch, vector, &HashMap::new())
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
    check_class(backend, height)?;
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
/// [`VcError::Class`], and the errors of [`Batch::update`] and of the backend. `data` does not change then.
pub fn upd_batch_proof<B: RecursionBackend + ?Sized, S: Store>(
    backend: &B,
    data: &BatchData,
    vector: &Vector<S>,
    touched: &[u64],
    joins: &[u64],
    leaves: &[u64],
) -> Result<(Arc<NodeProof>, BatchData), VcError> {
    let batch = data.batch.update(vector, joins, leaves, touched)?;
    prove(backend, batch, vector, &data.proofs)
}

fn check_class<B: RecursionBackend + ?Sized>(backend: &B, height: u8) -> Result<(), VcError> {
    let class = backend.spec().class;
    if HeightClass::of(height) == Some(class) { Ok(()) } else { Err(VcError::Class { height, class }) }
}

/// Makes the proofs of `batch` that are missing in `old`.
fn prove<B: RecursionBackend + ?Sized, S: Store>(
    backend: &B,
    batch: Batch,
    vector: &Vector<S>,
    old: &HashMap<(Statement, NodeKind), Arc<NodeProof>>,
) -> Result<(Arc<NodeProof>, BatchData), VcError> {
    check_class(backend, vector.height())?;
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
