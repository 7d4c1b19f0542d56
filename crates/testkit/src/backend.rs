//! The laws of a [`RecursionBackend`].

use evergrove_commit::batch::{Batch, NodeShape};
use evergrove_commit::{
    BlockWitness, BucketWitness, LeafWitness, LevelWitness, MemoryStore, MergeWitness, NodeKind, NodeProof,
    RecursionBackend, Vector, Witness, vc,
};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::Statement;

use crate::commit::{Rng, value, vector};

/// Checks what a backend must accept and reject. Makes three bucket proofs, two merges and, if the backend has one, a
/// wrap, in a tree of the greatest height of the backend's class. Then offers the backend some forty false witnesses,
/// and steps that its scheme does not have.
///
/// # Panics
/// If a law does not hold.
pub fn laws<B: RecursionBackend>(backend: &B) {
    let m = backend.spec().capacity as u64;
    let height = backend.spec().class.height_max();
    // One corner with one member more than a bucket holds, in every other slot, and a single leaf at the far end.
    let far = (1 << height) - 1;
    let members: Vec<u64> = (0..=m).map(|i| 2 * i).chain([far]).collect();
    let vector = vector(height, members.iter().copied().chain([2 * m + 1]));
    let commitment = vector.commitment().expect("a memory store");
    let pp = vc::setup(height, backend).expect("height of the class");
    let (proof, data) = vc::agg(&pp, &members, &vector).expect("an honest batch");
    let batch = &data.batch;
    assert_eq!((batch.cost(false).buckets, batch.cost(false).merges), (3, 2));
    assert_eq!(data.proofs.len(), 5 + usize::from(backend.spec().wraps));

    let leaves: Vec<_> = members.iter().map(|i| (*i, value(*i))).collect();
    vc::ver(&commitment, &leaves, &proof, backend).expect("the whole batch");
    for (key, proof) in &data.proofs {
        assert_eq!(*key, (proof.statement, proof.kind));
        backend.verify(proof).expect("an honest proof");
        foreign_statements(backend, proof);
        foreign_bytes(backend, proof);
    }
    let node = |s: &Statement, kind| data.proofs[&(*s, kind)].as_ref();
    for inner in batch.nodes() {
        let proof = node(&inner.statement, inner.kind());
        let whole = inner.statement == *batch.statement() && !backend.spec().wraps;
        assert!(whole || vc::ver(&commitment, &leaves, proof, backend).is_err(), "a subtree's proof as the batch's");
    }

    foreign_steps(backend, batch, &vector, &node);
    buckets(backend, batch, &vector);
    merges(backend, batch, &vector, &node);
    for child in batch.nodes().into_iter().map(|n| node(&n.statement, n.kind())) {
        let allowed = backend.spec().wraps && child.statement.base == 0;
        assert!(allowed || backend.prove(&Witness::Wrap, &[child]).is_err(), "a wrap of {:?}", child.statement);
    }
}

/// The statement with one field changed at a time.
fn variants(s: &Statement) -> [Statement; 7] {
    let bump = |Digest([a, b, c, d])| Digest([a, b, c, d + Goldilocks::ONE]);
    [
        Statement { root: bump(s.root), ..*s },
        Statement { canonical: bump(s.canonical), ..*s },
        Statement { canonical: Digest::ZERO, ..*s },
        Statement { height: s.height.wrapping_add(1), ..*s },
        Statement { height: s.height.wrapping_sub(1), ..*s },
        Statement { base: s.base ^ 1 << s.height, ..*s },
        Statement { base: s.base | 1 << 63, ..*s },
    ]
}

fn foreign_statements<B: RecursionBackend>(backend: &B, proof: &NodeProof) {
    for statement in variants(&proof.statement) {
        let other = NodeProof { statement, ..proof.clone() };
        assert!(backend.verify(&other).is_err(), "{:?} by a proof of {:?}", statement, proof.statement);
    }
    for kind in NodeKind::ALL {
        let other = NodeProof { kind, ..proof.clone() };
        assert!(kind == proof.kind || backend.verify(&other).is_err(), "a {:?} as a {kind:?}", proof.kind);
    }
}

fn foreign_bytes<B: RecursionBackend>(backend: &B, proof: &NodeProof) {
    let refuse = |what: &str, bytes: Vec<u8>| {
        let other = NodeProof { bytes, ..proof.clone() };
        assert!(backend.verify(&other).is_err(), "{:?} proof, {what}", proof.kind);
    };
    let bytes = &proof.bytes;
    let mut rng = Rng(bytes.len() as u64);
    refuse("no bytes", Vec::new());
    refuse("a byte more", [bytes.as_slice(), &[0]].concat());
    for _ in 0..16 {
        let at = rng.below(bytes.len() as u64) as usize;
        refuse("truncated", bytes[..at].to_vec());
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << rng.below(8);
        refuse("a bit flipped", flipped);
        let mut filled = bytes.clone();
        let end = (at + 8).min(filled.len());
        filled[at..end].fill(0xff);
        refuse("an element beyond p", filled);
    }
}

/// Steps with a wrong number of children, and steps of other schemes.
fn foreign_steps<'a, B: RecursionBackend>(
    backend: &B,
    batch: &Batch,
    vector: &Vector<MemoryStore>,
    proof: &impl Fn(&Statement, NodeKind) -> &'a NodeProof,
) {
    let root = batch.root();
    let whole = proof(&root.statement, root.kind());
    let statement = root.statement;
    let block = BlockWitness { statement, leaves: vec![statement.root], members: vec![true] };
    let level = LevelWitness { statement, roots: [statement.root; 2], canonicals: [Some(statement.canonical), None] };
    let steps = batch.nodes().into_iter().map(|n| n.witness(vector).expect("a node of the vector"));
    for witness in steps.chain([Witness::Wrap]) {
        let own = match &witness {
            Witness::Bucket(_) | Witness::Block(_) => 0,
            Witness::Merge(_) | Witness::Level(_) => 2,
            Witness::Wrap => 1,
        };
        for count in (0..4).filter(|count| *count != own) {
            let children = vec![whole; count];
            assert!(backend.prove(&witness, &children).is_err(), "a {} over {count} proofs", witness.name());
        }
    }
    for (witness, children) in [(block.into(), vec![]), (Witness::from(level), vec![whole])] {
        assert!(backend.prove(&witness, &children).is_err(), "a {} of another scheme", witness.name());
    }
}

fn buckets<B: RecursionBackend>(backend: &B, batch: &Batch, vector: &Vector<MemoryStore>) {
    let node = batch.nodes().into_iter().find(|n| n.kind() == NodeKind::Bucket && n.statement.base == 0);
    let Ok(Witness::Bucket(honest)) = node.expect("a bucket at 0").witness(vector) else {
        panic!("a bucket has a bucket's witness");
    };
    let refuse = |what: &str, change: &dyn Fn(&mut BucketWitness)| {
        let mut witness = honest.clone();
        change(&mut witness);
        assert!(backend.prove(&witness.into(), &[]).is_err(), "a bucket with {what}");
    };
    refuse("no leaf", &|w| w.leaves.clear());
    refuse("no leaf and no digest", &|w| {
        w.leaves.clear();
        w.statement.canonical = Digest::ZERO;
    });
    refuse("another value", &|w| w.leaves[0].value[0] += Goldilocks::ONE);
    refuse("another index", &|w| w.leaves[0].index ^= 1);
    refuse("an index beyond the class", &|w| w.leaves[0].index |= 1 << 62);
    refuse("another sibling", &|w| w.leaves[0].siblings[0].0[0] += Goldilocks::ONE);
    refuse("a path too short", &|w| _ = w.leaves[0].siblings.pop());
    refuse("a path too long", &|w| w.leaves[0].siblings.push(Digest::ZERO));
    refuse("a leaf twice", &|w| w.leaves.push(w.leaves[w.leaves.len() - 1].clone()));
    refuse("the first leaf again at the end", &|w| w.leaves.push(w.leaves[0].clone()));
    refuse("a leaf withheld", &|w| _ = w.leaves.pop());
    if honest.leaves.len() > 1 {
        refuse("unsorted leaves", &|w| w.leaves.reverse());
    }
    for statement in variants(&honest.statement) {
        refuse("another statement", &|w| w.statement = statement);
    }

    // One leaf too many; all leaves are honest.
    let top = vector.height();
    let leaf = |index: u64| LeafWitness {
        index,
        value: vector.value(index).expect("in range").expect("a member"),
        siblings: vector.siblings(index, 0, top).expect("in range"),
        opening: Vec::new(),
    };
    let indices: Vec<u64> = batch.indices().into_iter().take(backend.spec().capacity + 1).collect();
    let full = Batch::build(vector, &indices, usize::MAX).expect("members");
    let leaves = indices.into_iter().map(leaf).collect();
    let witness = BucketWitness { statement: *full.statement(), leaves };
    assert!(backend.prove(&witness.into(), &[]).is_err(), "a bucket with more leaves than it holds");
}

fn merges<'a, B: RecursionBackend>(
    backend: &B,
    batch: &Batch,
    vector: &Vector<MemoryStore>,
    proof: &impl Fn(&Statement, NodeKind) -> &'a NodeProof,
) {
    let root = batch.root();
    let NodeShape::Merge { left, right } = &root.shape else { panic!("the batch has a merge at its root") };
    let NodeShape::Merge { left: inner, .. } = &left.shape else { panic!("the corner has a merge") };
    let Ok(Witness::Merge(top)) = root.witness(vector) else { panic!("a merge has a merge's witness") };
    let Ok(Witness::Merge(corner)) = left.witness(vector) else { panic!("a merge has a merge's witness") };
    let of = |n: &evergrove_commit::batch::Node| proof(&n.statement, n.kind());
    let refuse = |what: &str, l: &NodeProof, r: &NodeProof, w: &MergeWitness| {
        assert!(backend.prove(&w.clone().into(), &[l, r]).is_err(), "a merge with {what}");
    };
    let (l, r, low) = (of(left), of(right), of(inner));
    refuse("swapped children", r, l, &top);
    refuse("the same child twice", l, l, &top);
    refuse("the same child twice, on the right", r, r, &top);
    refuse("children of different heights", low, r, &top);
    for statement in variants(&top.statement) {
        refuse("another statement", l, r, &MergeWitness { statement, ..top.clone() });
    }
    for statement in variants(&l.statement) {
        refuse("a child of another statement", &NodeProof { statement, ..l.clone() }, r, &top);
    }
    refuse("a child of another kind", &NodeProof { kind: NodeKind::Bucket, ..l.clone() }, r, &top);
    if backend.spec().wraps {
        let wrap = proof(&root.statement, NodeKind::Wrap);
        refuse("a wrap as a child", wrap, r, &top);
    }
    // A child of the greatest height leaves no height for a merge: a proof of the whole vector cannot be a child.
    let whole = of(root);
    refuse("children of the greatest height", whole, whole, &top);

    let NodeShape::Merge { left: a, right: b } = &left.shape else { panic!("the corner has a merge") };
    let (a, b) = (of(a), of(b));
    let climb = corner.siblings.len();
    assert!(climb > 0, "the corner's merge climbs");
    let mut other = corner.clone();
    other.siblings[climb - 1].0[3] += Goldilocks::ONE;
    refuse("another sibling", a, b, &other);
    other = corner.clone();
    other.siblings.pop();
    refuse("a climb too short", a, b, &other);
    other = corner;
    other.siblings.push(Digest::ZERO);
    refuse("a climb too long", a, b, &other);
}
