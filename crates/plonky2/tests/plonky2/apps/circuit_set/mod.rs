//! Real proofs of both schemes, with the parameters of `paper`: batches, updates, what is refused, and attacks on the
//! constraints.

mod attacks;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use evergrove_apps::samples::{Sequence, Tally};
use evergrove_apps::{AppId, MapReduce};
use evergrove_commit::batch::{Batch, Structure};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector};
use evergrove_plonky2::apps::Plonky2Circuits;
use evergrove_plonky2::apps::circuit_set::{AppBackend, AppKeys, CIRCUITS_VERSION, CircuitSetId};
use evergrove_plonky2::circuit::from_hash;
use evergrove_plonky2::keys::VerifierKey;
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{Commitment, HeightClass, Profile, Scheme, Statement};

use super::world::{Proofs, output, prove, refuses_other_statements, value, vector};

fn backend(app: impl Plonky2Circuits + 'static, scheme: Scheme) -> AppBackend {
    AppBackend::load(Arc::new(app), scheme, Profile::Paper, HeightClass::H27, None).unwrap()
}

static SELECTED: LazyLock<AppBackend> = LazyLock::new(|| backend(Tally::new(20), Scheme::Selected));
/// Left in [`cache`] as well.
static COMPLETE: LazyLock<AppBackend> = LazyLock::new(|| {
    let _ = std::fs::remove_dir_all(cache());
    AppBackend::load(Arc::new(Sequence), Scheme::Complete, Profile::Paper, HeightClass::H27, Some(&cache())).unwrap()
});

/// The place of the circuits of [`COMPLETE`].
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("app-circuits")
}

#[test]
fn selected_leaves_and_their_updates() {
    let backend = &*SELECTED;
    let m = backend.spec().capacity as u64;
    let members: Vec<u64> = (0..m + 20).map(|i| 3 * i * i).collect();
    let mut vector = vector(20, members.iter().copied().chain([1, 2]));
    let structure = backend.spec().structure();
    let batch = Batch::build_as(&vector, &members, structure).unwrap();
    let mut proofs = Proofs::new();
    let (proof, made) = prove(backend, &vector, &batch, &mut proofs);
    assert_eq!((made, proof.kind), (batch.cost(true).total(), NodeKind::Wrap));
    assert!(made >= 4, "two buckets at least");
    assert_eq!(proof.statement, Statement::whole(&vector.commitment().unwrap(), batch.statement().canonical));
    assert_eq!(proof.output, output(&Tally::new(20), &members, &vector));
    assert_eq!(proof.output[0], Goldilocks::new(members.len() as u64));
    refuses_other_statements(backend, &proof);
    proofs.values().for_each(|p| backend.verify(p).unwrap());

    // A member's value, and a member that joins: one bucket, the merge and the wrap each.
    vector.apply(&[(0, Some([Goldilocks::new(999_999); 4]))]).unwrap();
    let changed = batch.update(&vector, &[], &[], &[0]).unwrap();
    let (proof, made) = prove(backend, &vector, &changed, &mut proofs);
    assert!(made <= 4, "{made} proofs for a value");
    assert_eq!(proof.output, output(&Tally::new(20), &members, &vector));
    let mut more = members.clone();
    more.insert(1, 2);
    let joined = changed.update(&vector, &[2], &[], &[]).unwrap();
    let (proof, made) = prove(backend, &vector, &joined, &mut proofs);
    assert!(made <= 5, "{made} proofs for a join");
    assert_eq!(proof.output, output(&Tally::new(20), &more, &vector));

    // A value that the application does not map.
    vector.apply(&[(0, Some([Goldilocks::new(1 << 20); 4]))]).unwrap();
    let wrong = joined.update(&vector, &[], &[], &[0]).unwrap();
    let bucket = wrong.nodes()[0];
    let refused = backend.prove(&bucket.witness(&vector).unwrap(), &[]);
    assert!(refused.unwrap_err().to_string().contains("slot 0"));
}

#[test]
fn complete_tables_in_order_and_their_updates() {
    let backend = &*COMPLETE;
    let slots = backend.spec().capacity as u64;
    // Two neighbouring blocks and one far away, with all else empty.
    let filled: Vec<u64> = (0..slots + 5).chain([7 * slots, 7 * slots + 3]).collect();
    let mut vector = vector(24, filled.iter().copied());
    let build = |vector: &Vector<MemoryStore>| Batch::build_as(vector, &[], backend.spec().structure()).unwrap();
    let batch = build(&vector);
    assert_eq!(batch.indices(), filled);
    let mut proofs = Proofs::new();
    let (proof, made) = prove(backend, &vector, &batch, &mut proofs);
    assert_eq!((made, proof.kind), (6, NodeKind::Wrap));
    assert_eq!(proof.output, output(&Sequence, &filled, &vector));
    refuses_other_statements(backend, &proof);

    // A row between the blocks is added, another is removed.
    vector.apply(&[(3 * slots + 1, Some(value(5))), (7 * slots + 3, None)]).unwrap();
    let (proof, made) = prove(backend, &vector, &build(&vector), &mut proofs);
    assert_eq!(made, 6, "the new block, the far one, three merges and the wrap");
    let mut now = filled.clone();
    now.retain(|i| *i != 7 * slots + 3);
    now.insert(now.len() - 1, 3 * slots + 1);
    assert_eq!(proof.output, output(&Sequence, &now, &vector));
}

#[test]
fn a_table_lower_than_a_block_counts_as_grown() {
    let backend = &*COMPLETE;
    let vector = vector(3, [1, 4, 6]);
    let batch = Batch::build_as(&vector, &[], backend.spec().structure()).unwrap();
    let (proof, made) = prove(backend, &vector, &batch, &mut Proofs::new());
    assert_eq!(made, 2);
    let Structure::Complete { block_height } = backend.spec().structure() else { panic!("a complete backend") };
    let Commitment { height, root } = vector.commitment().unwrap().grown(block_height);
    assert_eq!((proof.statement.height, proof.statement.root), (height, root));
    assert_eq!(proof.output, output(&Sequence, &[1, 4, 6], &vector));

    let empty = Vector::new(3, MemoryStore::new()).unwrap();
    let batch = Batch::build_as(&empty, &[], backend.spec().structure()).unwrap();
    let (proof, made) = prove(backend, &empty, &batch, &mut Proofs::new());
    assert_eq!((made, proof.statement.root), (2, empty.commitment().unwrap().grown(block_height).root));
    assert_eq!(proof.output, Sequence.identity());
}

/// Keys are kept by their version: if you change circuits of applications, raise [`CIRCUITS_VERSION`] with this
/// snapshot.
#[test]
fn circuits_change_with_their_version_alone() {
    let lines = [&*SELECTED, &*COMPLETE].map(|backend| {
        let set = backend.keys().set;
        let digest = |key: &VerifierKey| from_hash(&key.circuit_digest).to_string();
        format!("{}: bucket {}, merge {}", backend.circuit_set().app().name(), digest(&set.bucket), digest(&set.merge))
    });
    insta::assert_snapshot!(format!("version {CIRCUITS_VERSION}\n{}", lines.join("\n")));
}

#[test]
fn sizes_and_bits_are_as_recorded() {
    let size = |b: &AppBackend| {
        let (spec, keys) = (b.circuit_set(), b.keys());
        let bits = b.bits();
        format!(
            "{} {}: {} in 2^{} rows, bucket {}, merge {}, {:.1} / {:.1} / {:.1} bits",
            spec.app().name(),
            spec.scheme(),
            keys.size.capacity,
            keys.size.degree_bits,
            b.circuits().bucket.rows,
            b.circuits().merge.rows,
            bits.unique_decoding,
            bits.johnson,
            bits.conjectured
        )
    };
    insta::assert_snapshot!("sizes_paper", [size(&SELECTED), size(&COMPLETE)].join("\n"));
}

#[test]
fn circuits_and_keys_come_back_from_the_cache() {
    let (keys, app) = (COMPLETE.keys(), COMPLETE.circuit_set().app().clone());
    let kept = |app: &AppId, scheme| {
        let (app, profile, class) = (app.clone(), Profile::Paper, HeightClass::H27);
        AppKeys::kept(&cache(), &CircuitSetId { app, scheme, profile, class })
    };
    assert_eq!(kept(&app.id(), Scheme::Complete), Some(keys.clone()));
    assert_eq!(kept(&app.id(), Scheme::Selected), None);
    assert_eq!(kept(&Tally::new(20).id(), Scheme::Complete), None);
    let again = AppBackend::load(app.clone(), Scheme::Complete, Profile::Paper, HeightClass::H27, Some(&cache()));
    let again = again.unwrap();
    assert_eq!(again.keys(), keys);
    let vector = vector(20, [3, 4]);
    let batch = Batch::build_as(&vector, &[], again.spec().structure()).unwrap();
    let (proof, _) = prove(&again, &vector, &batch, &mut Proofs::new());
    COMPLETE.verify(&proof).unwrap();
    // A damaged file is ignored.
    for entry in std::fs::read_dir(cache()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "keys") {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
    }
    assert_eq!(kept(&app.id(), Scheme::Complete), None);
    std::fs::remove_dir_all(cache()).unwrap();
}

#[test]
fn an_ordered_application_has_no_selected_proofs() {
    let app = Arc::new(Sequence);
    let refused = AppBackend::load(app, Scheme::Selected, Profile::Paper, HeightClass::H27, None).err().unwrap();
    assert!(refused.to_string().contains("order"), "{refused}");
}

#[test]
fn schemes_and_applications_share_no_proofs() {
    let vector = vector(24, [0, 1, 2]);
    let batch = Batch::build_as(&vector, &[0, 1, 2], SELECTED.spec().structure()).unwrap();
    let (selected, _) = prove(&*SELECTED, &vector, &batch, &mut Proofs::new());
    let batch = Batch::build_as(&vector, &[], COMPLETE.spec().structure()).unwrap();
    let (complete, _) = prove(&*COMPLETE, &vector, &batch, &mut Proofs::new());
    assert!(COMPLETE.verify(&selected).is_err() && SELECTED.verify(&complete).is_err());
    let claims = |p: &NodeProof, to: &NodeProof| NodeProof { bytes: p.bytes.clone(), ..to.clone() };
    assert!(COMPLETE.verify(&claims(&selected, &complete)).is_err());
    assert!(SELECTED.verify(&claims(&complete, &selected)).is_err());
    let [a, b] = [SELECTED.keys().set, COMPLETE.keys().set];
    assert_ne!(a.bucket.circuit_digest, b.bucket.circuit_digest);
    assert_ne!(a.merge.circuit_digest, b.merge.circuit_digest);
}
