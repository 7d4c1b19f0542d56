//! Both digests of small trees in one proof: made, updated, refused, and attacked by provers that set wires.

use std::path::{Path, PathBuf};
use std::time::Instant;

use evergrove_apps::digest_translation::{DigestTranslation, tree};
use evergrove_commit::vc::{self, BatchData, PublicParameters};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector};
use evergrove_plonky2::apps::circuit_set::CIRCUITS_VERSION;
use evergrove_plonky2::apps::digest_translation::{NodeMerge, TranslationBackend};
use evergrove_plonky2::assignment::{Assignment, assert_refused, assert_refused_at_a_child};
use evergrove_plonky2::circuit::{Child, F, NODE_PUBLIC_INPUTS, PlonkyProof, from_hash, to_plonky};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HeightClass, Profile, Statement};
use plonky2::field::types::Field;
use plonky2::iop::target::Target;
use plonky2::iop::witness::PartialWitness;

/// Slots of a bucket: 2^2.
const BUCKET_HEIGHT: u8 = 2;
/// Rows that another digest of a node breaks: those of its Poseidon node, and of the Keccak digest's halves.
const FEW: usize = 12;

fn value(i: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::reduce((i + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> k))
}

fn app() -> DigestTranslation {
    DigestTranslation::with_buckets(BUCKET_HEIGHT).unwrap()
}

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("translation-circuits")
}

fn vector(height: u8, slots: &[(u64, Value)]) -> Vector<MemoryStore> {
    let mut vector = Vector::new(height, MemoryStore::new()).unwrap();
    vector.apply(&slots.iter().map(|(i, v)| (*i, Some(*v))).collect::<Vec<_>>()).unwrap();
    vector
}

/// The Keccak digest by definition.
fn keccak(vector: &Vector<MemoryStore>, height: u8) -> Vec<Goldilocks> {
    let slots: Vec<Option<Value>> =
        (0..1 << height).map(|i| if i >> vector.height() == 0 { vector.value(i).unwrap() } else { None }).collect();
    tree::to_elements(&tree::levels(0, &slots).pop().unwrap()[0]).to_vec()
}

/// The proof is about both digests of the vector, and nothing else.
fn check(backend: &TranslationBackend, vector: &Vector<MemoryStore>, proof: &NodeProof) {
    backend.verify(proof).unwrap();
    let grown = vector.commitment().unwrap().grown(BUCKET_HEIGHT);
    assert_eq!(proof.statement, Statement::whole(&grown, evergrove_primitives::Digest::ZERO));
    assert_eq!(proof.output, keccak(vector, grown.height));
    let refuse = |what: &str, change: &dyn Fn(&mut NodeProof)| {
        let mut other = proof.clone();
        change(&mut other);
        assert!(backend.verify(&other).is_err(), "{what}");
    };
    for k in [0, 3, 7] {
        refuse("another Keccak digest", &|p| p.output[k] += Goldilocks::ONE);
    }
    refuse("a shorter digest", &|p| _ = p.output.pop());
    refuse("another root", &|p| p.statement.root.0[3] += Goldilocks::ONE);
    refuse("a canonical digest", &|p| p.statement.canonical.0[0] += Goldilocks::ONE);
    refuse("another height", &|p| p.statement.height += 1);
    refuse("a part for the whole", &|p| p.statement.base = 1 << p.statement.height);
    for kind in NodeKind::ALL.into_iter().filter(|k| *k != proof.kind) {
        refuse("another circuit", &|p| p.kind = kind);
    }
    refuse("cut", &|p| _ = p.bytes.pop());
}

type World<'a> = (PublicParameters<&'a TranslationBackend>, Vector<MemoryStore>, BatchData);

/// A tree of height 4 with leaves in its first and its last bucket, proven and updated.
fn life(backend: &TranslationBackend) -> World<'_> {
    // The largest canonical words are among the leaves.
    let large = [-Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::reduce(u64::from(u32::MAX)), -Goldilocks::ONE];
    let mut vector = vector(4, &[(0, value(0)), (2, large), (13, value(13))]);
    let pp = vc::setup(4, backend).unwrap();
    let (proof, data) = vc::agg(&pp, &[], &vector).unwrap();
    let wraps = usize::from(backend.spec().wraps);
    assert_eq!(
        data.made,
        2 + 3 + wraps,
        "two buckets, the nodes above them, whose other children are empty, and the root"
    );
    check(backend, &vector, &proof);
    if backend.spec().choice.profile == Profile::Paper {
        assert!(proof.bytes.len() < 120 << 10, "{} bytes", proof.bytes.len());
    }

    vector.apply(&[(13, Some(value(99))), (14, Some(value(14)))]).unwrap();
    let (changed, data) = vc::upd_batch_proof(&pp, &data, &vector, &[13, 14], &[], &[]).unwrap();
    assert_eq!(data.made, 1 + 2 + wraps, "one bucket and its path");
    check(backend, &vector, &changed);
    assert!(backend.verify(&NodeProof { bytes: proof.bytes.clone(), ..(*changed).clone() }).is_err());
    (pp, vector, data)
}

#[test]
#[ignore = "apps: a minute and a half, dozens of proofs"]
fn a_tree_is_translated_updated_kept_and_attacked() {
    let dir = cache();
    let _ = std::fs::remove_dir_all(&dir);
    let load = || TranslationBackend::load(app(), Profile::Paper, HeightClass::H27, Some(&dir)).unwrap();
    let backend = load();
    let world = life(&backend);
    attacks(&backend, &world);
    let (_, mut vector, data) = world;

    // From the cache, immediately, with the same keys; and it proves the same.
    let start = Instant::now();
    let again = load();
    println!("circuits from the cache in {:?}", start.elapsed());
    assert_eq!(again.keys(), backend.keys());
    vector.apply(&[(0, None), (2, None)]).unwrap();
    let (proof, data) = vc::upd_batch_proof(&vc::setup(4, &again).unwrap(), &data, &vector, &[0, 2], &[], &[]).unwrap();
    assert_eq!(data.made, 2, "a bucket that is empty now is none: the root and the wrap");
    check(&backend, &vector, &proof);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
#[ignore = "apps: some minutes, circuits of 2^16 rows"]
fn so_it_is_without_a_wrap() {
    for profile in [Profile::Johnson, Profile::Proven] {
        let backend = TranslationBackend::load(app(), profile, HeightClass::H27, None).unwrap();
        let bits = backend.bits();
        println!("{profile}: {bits:?}");
        assert!(profile != Profile::Proven || bits.unique_decoding >= 100.0);
        life(&backend);
    }
}

/// Keys are kept by their version: if you change the circuits, raise [`CIRCUITS_VERSION`] with this snapshot.
fn snapshot(backend: &TranslationBackend) {
    let set = backend.keys().set;
    let digests = [&set.bucket, &set.merge].map(|key| from_hash(&key.circuit_digest).to_string());
    let rows = [backend.circuits().bucket.rows, backend.circuits().merge.rows];
    insta::assert_snapshot!(format!(
        "version {CIRCUITS_VERSION}\n{} {}\n{} {}",
        rows[0], digests[0], rows[1], digests[1]
    ));
}

fn number(target: Target, x: u64) -> (Target, F) {
    (target, F::from_canonical_u64(x))
}

/// Provers of the root's merge who set wires. Its children are the merges at 0 and 8, each above a bucket and an empty one.
fn attacks(backend: &TranslationBackend, (_, vector, data): &World<'_>) {
    snapshot(backend);
    let circuit = &backend.circuits().merge;
    let targets: &NodeMerge = &circuit.targets;
    let node = |height: u8, base: u64| {
        let root = vector.node(height, base >> height).unwrap();
        let statement = Statement { root, canonical: evergrove_primitives::Digest::ZERO, height, base };
        (statement, backend.verifier().verified(&data.proofs[&(statement, NodeKind::Merge)]).unwrap())
    };
    let [(_, left), (_, right)] = [node(3, 0), node(3, 8)];
    let (whole, _) = node(4, 0);
    let key = &circuit.data.verifier_only;
    let assign = |statement: &Statement, children: [Option<&PlonkyProof>; 2]| -> PartialWitness<F> {
        targets.assign(statement, children.map(|c| c.map(|proof| Child { proof, is_bucket: false, key })), key).unwrap()
    };
    let complete = |forced: &[(Target, F)], honest| Assignment::complete(&circuit.data, forced, honest);
    let both = || assign(&whole, [Some(&left), Some(&right)]);
    assert_eq!(complete(&[], both()).violations(), Default::default());

    // A child with leaves that is said to be empty; then with the Keccak digest of the real tree forced as well.
    assert_refused(&complete(&[], assign(&whole, [Some(&left), None])), FEW);
    let real = targets.keccak.iter().zip(&data.proofs[&(whole, NodeKind::Merge)].output);
    let real: Vec<_> = real.map(|(t, x)| number(*t, x.as_u64())).collect();
    assert_refused(&complete(&real, assign(&whole, [Some(&left), None])), FEW);
    // Another digest of the Keccak tree above the real children, in one half.
    let other = [(real[5].0, real[5].1 + F::ONE)];
    assert_refused(&complete(&other, both()), 1);
    // Siblings in the other order, and one of them twice.
    assert_refused(&complete(&[], assign(&whole, [Some(&right), Some(&left)])), FEW + 4);
    assert_refused(&complete(&[], assign(&whole, [Some(&left), Some(&left)])), FEW + 2);
    // Another height than that of the children: the flags agree with it, the children do not.
    let higher = Statement { height: 5, ..whole };
    assert_refused(&complete(&[], assign(&higher, [Some(&left), Some(&right)])), 4);
    // Another place.
    let moved = Statement { base: 16, ..whole };
    assert_refused(&complete(&[], assign(&moved, [Some(&left), Some(&right)])), 4);
    let askew = Statement { base: 8, ..whole };
    assert_refused(&complete(&[], assign(&askew, [Some(&left), Some(&right)])), 8);
    // A height of 0: the flag for it is the circuit's one.
    let none = Statement { height: 0, ..whole };
    assert_refused_at_a_child(&complete(&[], assign(&none, [Some(&left), Some(&right)])));
    assert_refused_at_a_child(&complete(&[number(targets.node.canonical[1], 7)], both()));
    // Two empty children, whatever proofs stand in their places: the empty subtree in both trees, at any place, and no other.
    let no_children: Vec<_> = targets.empty.iter().map(|flag| number(flag.target, 1)).collect();
    let nothing = |height: u8, base: u64| {
        let root = evergrove_verifier::tree::null_digest(height);
        let statement = Statement { root, canonical: evergrove_primitives::Digest::ZERO, height, base };
        complete(&no_children, assign(&statement, [Some(&left), Some(&right)]))
    };
    for (height, base) in [(1, 6), (4, 32), (27, 0)] {
        let assignment = nothing(height, base);
        assert_eq!(assignment.violations(), Default::default(), "the empty subtree of height {height}");
        let null = tree::null_digests(height).last().map(|d| tree::to_elements(&d)).unwrap();
        assert_eq!(assignment.public_inputs()[NODE_PUBLIC_INPUTS..], null.map(to_plonky));
    }
    assert_refused_at_a_child(&nothing(4, 8));
    assert_refused(&complete(&no_children, both()), FEW);
    // A flag that is neither, instead of a child whose difference it would scale to zero.
    assert_refused_at_a_child(&complete(&[number(targets.empty[0].target, 2)], both()));
}
