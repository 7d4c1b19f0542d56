//! Vectors, execution of plans, and checks of a proof's statement. The tests of `evergrove-plonky2` include this
//! file.

use std::collections::BTreeMap;

use evergrove_apps::{Leaf, MapReduce};
use evergrove_commit::batch::{Batch, Input, Plan};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::Statement;
use evergrove_verifier::tree::Value;

pub(crate) type Proofs = BTreeMap<Vec<u8>, NodeProof>;

pub(crate) fn value(index: u64) -> Value {
    [index % 1000, index, 7, Goldilocks::ORDER - 1 - index].map(Goldilocks::new)
}

pub(crate) fn vector(height: u8, indices: impl IntoIterator<Item = u64>) -> Vector<MemoryStore> {
    let mut vector = Vector::new(height, MemoryStore::new()).unwrap();
    let slots: Vec<_> = indices.into_iter().map(|i| (i, Some(value(i)))).collect();
    vector.apply(&slots).unwrap();
    vector
}

pub(crate) fn key(statement: &Statement, kind: NodeKind) -> Vec<u8> {
    let mut key = vec![kind.code(), statement.height];
    key.extend(statement.base.to_le_bytes());
    key.extend(statement.root.to_bytes());
    key.extend(statement.canonical.to_bytes());
    key
}

/// Makes the proofs of a batch that are missing in `proofs`. Returns the proof of the whole batch and the number of new
/// proofs.
pub(crate) fn prove(
    backend: &dyn RecursionBackend,
    vector: &Vector<MemoryStore>,
    batch: &Batch,
    proofs: &mut Proofs,
) -> (NodeProof, usize) {
    prove_opened(backend, vector, batch, proofs, |_| Vec::new())
}

/// Like [`prove`], for rows that these elements open.
pub(crate) fn prove_opened(
    backend: &dyn RecursionBackend,
    vector: &Vector<MemoryStore>,
    batch: &Batch,
    proofs: &mut Proofs,
    opening: impl Fn(u64) -> Vec<Goldilocks>,
) -> (NodeProof, usize) {
    let Plan { steps, result, .. } = batch.plan(backend.spec().wraps, |s, k| proofs.contains_key(&key(s, k)));
    for step in &steps {
        let inputs: Vec<NodeProof> = step
            .inputs
            .iter()
            .map(|input| match input {
                Input::Step(n) => proofs[&key(&steps[*n].statement, steps[*n].kind)].clone(),
                Input::Existing { statement, kind } => proofs[&key(statement, *kind)].clone(),
            })
            .collect();
        let mut witness = step.witness(vector).unwrap();
        witness.open(|i| Ok::<_, std::convert::Infallible>(opening(i))).unwrap();
        let made = backend.prove(&witness, &inputs.iter().collect::<Vec<_>>()).unwrap();
        proofs.insert(key(&step.statement, step.kind), made);
    }
    let Input::Step(last) = result else { panic!("something was to be proven") };
    (proofs[&key(&steps[last].statement, steps[last].kind)].clone(), steps.len())
}

/// Demands that a change of any part of the proof's statement is refused.
pub(crate) fn refuses_other_statements(backend: &dyn RecursionBackend, proof: &NodeProof) {
    backend.verify(proof).unwrap();
    let refuse = |what: &str, change: &dyn Fn(&mut NodeProof)| {
        let mut other = proof.clone();
        change(&mut other);
        assert!(backend.verify(&other).is_err(), "{what}");
    };
    for k in 0..proof.output.len() {
        refuse("another output", &|p| p.output[k] += Goldilocks::ONE);
    }
    refuse("a shorter output", &|p| _ = p.output.pop());
    refuse("a longer output", &|p| p.output.push(Goldilocks::ZERO));
    refuse("another root", &|p| p.statement.root.0[1] += Goldilocks::ONE);
    refuse("another digest", &|p| p.statement.canonical.0[3] += Goldilocks::ONE);
    refuse("another height", &|p| p.statement.height -= 1);
    refuse("another base", &|p| p.statement.base = 1 << p.statement.height);
    for kind in NodeKind::ALL.into_iter().filter(|k| *k != proof.kind) {
        refuse("another kind", &|p| p.kind = kind);
    }
}

/// The output, computed by the application's code alone.
pub(crate) fn output(app: &dyn MapReduce, indices: &[u64], vector: &Vector<MemoryStore>) -> Vec<Goldilocks> {
    indices.iter().fold(app.identity(), |before, i| {
        let value = vector.value(*i).unwrap().unwrap();
        app.reduce(&before, &app.map(&Leaf { index: *i, value, opening: &[] }).unwrap()).unwrap()
    })
}
