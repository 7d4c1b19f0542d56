//! The algorithms of Definition 2.2, over the native backend.

use evergrove_commit::vc::{self, VcError};
use evergrove_commit::{BatchError, MemoryStore, NativeBackend, NodeKind, NodeProof, RecursionBackend, VectorError};
use evergrove_primitives::Digest;
use evergrove_testkit::commit::value;
use evergrove_verifier::tree::{Value, null_digest};
use evergrove_verifier::{Commitment, HeightClass, Opening, Profile, Scheme};

fn native(m: usize, wraps: bool) -> NativeBackend {
    let profile = if wraps { Profile::Paper } else { Profile::Proven };
    NativeBackend::new(profile, HeightClass::H27).with_capacity(m)
}

fn table(slots: impl IntoIterator<Item = u64>) -> Vec<(u64, Value)> {
    slots.into_iter().map(|i| (i, value(i))).collect()
}

#[test]
fn openings_follow_every_update_of_every_slot() {
    let pp = vc::setup(4, native(2, false)).unwrap();
    let (vector, commitment) = vc::com(&pp, &table([0, 1, 5, 9, 14]), MemoryStore::new()).unwrap();
    let openings: Vec<Opening> = (0..16).map(|i| vc::open(i, &vector).unwrap()).collect();
    for (u, aux) in openings.iter().enumerate() {
        for new in [Some(value(77)), None] {
            let mut after = vector.clone();
            let expected = vc::upd_all_proofs(&mut after, &[(u as u64, new)]).unwrap();
            assert_eq!(vc::upd_dig(new, &commitment, aux).unwrap(), expected);
            for (i, opening) in openings.iter().enumerate() {
                opening.verify(&commitment).unwrap();
                let updated = vc::upd_proof(new, opening, aux).unwrap();
                assert_eq!(updated, vc::open(i as u64, &after).unwrap());
                updated.verify(&expected).unwrap();
            }
            let all: Vec<Opening> = vc::open_all(&after).collect::<Result<_, _>>().unwrap();
            let occupied: Vec<Opening> =
                (0..16).map(|i| vc::open(i, &after).unwrap()).filter(|o| o.value.is_some()).collect();
            assert_eq!(all, occupied);
        }
    }
}

#[test]
fn openings_alone_make_the_proof_of_the_vector() {
    for (height, wraps) in [(4, false), (9, true), (27, false)] {
        let pp = vc::setup(height, native(2, wraps)).unwrap();
        let last = (1_u64 << height) - 1;
        let slots = [0, 1, 2, 6, 9, last / 2, last - 1, last];
        let (vector, commitment) = vc::com(&pp, &table(slots), MemoryStore::new()).unwrap();
        for members in [&slots[3..4], &slots[..2], &[last, 0, 6], &slots] {
            let openings: Vec<_> = members.iter().map(|i| vc::open(*i, &vector).unwrap()).collect();
            let (proof, data) = vc::agg_openings(&pp, &commitment, &openings).unwrap();
            let (expected, whole) = vc::agg(&pp, members, &vector).unwrap();
            assert_eq!((proof, data.batch, data.made), (expected, whole.batch, whole.made), "{height}: {members:?}");
        }
    }
}

#[test]
fn openings_that_do_not_fit_are_not_aggregated() {
    let pp = vc::setup(4, native(2, false)).unwrap();
    let (mut vector, before) = vc::com(&pp, &table([0, 1, 5]), MemoryStore::new()).unwrap();
    let [zero, five, empty] = [0, 5, 6].map(|i| vc::open(i, &vector).unwrap());
    let agg = |commitment, openings: &[Opening]| vc::agg_openings(&pp, commitment, openings).map(|_| ());
    agg(&before, &[zero.clone(), five.clone()]).unwrap();
    assert!(matches!(agg(&before, &[]), Err(VcError::Batch(BatchError::Empty))));
    assert!(matches!(agg(&before, &[five.clone(), empty]), Err(VcError::Batch(BatchError::EmptySlot(6)))));
    let twice = [five.clone(), zero.clone(), five.clone()];
    assert!(matches!(agg(&before, &twice), Err(VcError::Batch(BatchError::Duplicate(5)))));
    let other = Opening { value: Some(value(77)), ..five.clone() };
    let moved = Opening { index: 4, ..five.clone() };
    let long = Opening { siblings: vec![Digest::ZERO; 200], height: 200, ..five.clone() };
    for (wrong, index) in [(other, 5), (moved, 4), (long, 5)] {
        assert!(matches!(agg(&before, &[zero.clone(), wrong]), Err(VcError::Opening(i)) if i == index));
    }
    let after = vc::upd_all_proofs(&mut vector, &[(9, Some(value(1)))]).unwrap();
    assert!(matches!(agg(&after, &[vc::open(0, &vector).unwrap(), five.clone()]), Err(VcError::Opening(5))));
    let high = Commitment { height: 28, ..before };
    assert!(matches!(agg(&high, std::slice::from_ref(&five)), Err(VcError::Class { height: 28, .. })));
    let all = vc::setup(4, NativeBackend::complete(Profile::Proven, HeightClass::H27, 2)).unwrap();
    assert!(matches!(vc::agg_openings(&all, &before, &[five]), Err(VcError::Whole(Scheme::Complete))));
}

#[test]
fn updates_of_openings_refuse_other_epochs() {
    let pp = vc::setup(4, native(2, false)).unwrap();
    let (mut vector, before) = vc::com(&pp, &table([0, 1, 5]), MemoryStore::new()).unwrap();
    let old = vc::open(5, &vector).unwrap();
    let after = vc::upd_all_proofs(&mut vector, &[(9, Some(value(1)))]).unwrap();
    let new = vc::open(0, &vector).unwrap();
    assert!(matches!(vc::upd_proof(None, &old, &new), Err(VcError::Epochs(5, 0))));
    assert!(matches!(vc::upd_dig(None, &after, &old), Err(VcError::Opening(5))));
    assert!(matches!(vc::upd_dig(None, &before, &new), Err(VcError::Opening(0))));
    let cut = Opening { siblings: Vec::new(), ..new.clone() };
    assert!(vc::upd_proof(None, &cut, &new).is_err() && vc::upd_proof(None, &new, &cut).is_err());
    let long = Opening { siblings: vec![Digest::ZERO; 200], height: 200, ..new };
    assert!(vc::upd_proof(None, &long, &long).is_err() && vc::upd_dig(None, &after, &long).is_err());
}

#[test]
fn parameters_and_stores_are_checked() {
    assert!(matches!(vc::setup(0, native(2, false)), Err(VcError::Vector(VectorError::Height(0)))));
    assert!(matches!(vc::setup(28, native(2, false)), Err(VcError::Class { height: 28, class: HeightClass::H27 })));
    let pp = vc::setup(4, native(2, false)).unwrap();
    let (vector, commitment) = vc::com(&pp, &[], MemoryStore::new()).unwrap();
    assert_eq!(commitment.root, null_digest(4));
    let (vector, _) = vc::com(&pp, &table([3]), vector.store().clone()).unwrap();
    assert!(matches!(vc::com(&pp, &table([4]), vector.store().clone()), Err(VcError::NotEmpty)));
    assert!(matches!(
        vc::com(&pp, &table([4, 4]), MemoryStore::new()),
        Err(VcError::Vector(VectorError::Duplicate(4)))
    ));
}

/// The five kinds of section 1.1 by name; random mixtures of them are in `laws.rs`.
#[test]
fn the_five_updates_of_the_paper() {
    for wraps in [false, true] {
        let pp = vc::setup(6, native(2, wraps)).unwrap();
        let slots = [1, 2, 8, 20, 21, 22, 40, 63];
        let (mut vector, _) = vc::com(&pp, &table(slots), MemoryStore::new()).unwrap();
        let (_, mut data) = vc::agg(&pp, &[1, 8, 20, 21, 63], &vector).unwrap();
        let new = Some(value(99));
        // Label, change of the memory, joins, leaves, members after.
        type Case<'a> = (&'a str, &'a [(u64, Option<Value>)], &'a [u64], &'a [u64], &'a [u64]);
        let cases: [Case; 9] = [
            ("(a) value inside", &[(20, new)], &[], &[], &[1, 8, 20, 21, 63]),
            ("(b) value outside", &[(2, new)], &[], &[], &[1, 8, 20, 21, 63]),
            ("(c) an index joins", &[], &[22], &[], &[1, 8, 20, 21, 22, 63]),
            ("(d) an index leaves", &[], &[], &[1], &[8, 20, 21, 22, 63]),
            ("(e) an element is added", &[(50, new)], &[], &[], &[8, 20, 21, 22, 63]),
            ("(e) and joins at once", &[(51, new)], &[51], &[], &[8, 20, 21, 22, 51, 63]),
            ("(e) an element is removed", &[(50, None)], &[], &[], &[8, 20, 21, 22, 51, 63]),
            ("(e) a member is removed", &[(51, None)], &[], &[51], &[8, 20, 21, 22, 63]),
            ("all at once", &[(8, new), (1, None), (0, new), (63, None)], &[0, 40], &[63, 22], &[0, 8, 20, 21, 40]),
        ];
        for (label, changes, joins, leaves, members) in cases {
            let commitment = vc::upd_all_proofs(&mut vector, changes).unwrap();
            let touched: Vec<u64> = changes.iter().map(|c| c.0).collect();
            let (proof, after) = vc::upd_batch_proof(&pp, &data, &vector, &touched, joins, leaves).unwrap();
            let claim: Vec<_> = members.iter().map(|i| (*i, vector.value(*i).unwrap().unwrap())).collect();
            vc::ver(&commitment, &claim, &proof, &pp.backend).expect(label);
            let (scratch, fresh) = vc::agg(&pp, members, &vector).unwrap();
            assert_eq!((scratch, &fresh.batch), (proof, &after.batch), "{label}");
            assert!(after.made <= fresh.made, "{label}");
            data = after;
        }
    }
}

#[test]
fn ver_says_why() {
    let pp = vc::setup(6, native(2, true)).unwrap();
    let (vector, commitment) = vc::com(&pp, &table(0..64), MemoryStore::new()).unwrap();
    let (proof, data) = vc::agg(&pp, &[3, 30, 31], &vector).unwrap();
    let claim = table([31, 3, 30]);
    vc::ver(&commitment, &claim, &proof, &pp.backend).unwrap();
    let refused =
        |claim: &[(u64, Value)], proof: &NodeProof| vc::ver(&commitment, claim, proof, &pp.backend).unwrap_err();
    assert!(refused(&[], &proof).to_string().contains("the batch is empty"));
    assert!(refused(&table([3, 3, 30, 31]), &proof).to_string().contains("index 3 is named twice"));
    assert!(refused(&table([3, 64]), &proof).to_string().contains("index 64 is out of range"));
    assert!(matches!(refused(&table([3, 30, 32]), &proof), VcError::Statement { .. }));
    let inner = &data.proofs[&(*data.batch.statement(), NodeKind::Merge)];
    assert!(matches!(refused(&claim, inner), VcError::Kind(NodeKind::Merge)));
    let unwrapped = native(2, false);
    assert!(matches!(vc::ver(&commitment, &claim, &proof, &unwrapped), Err(VcError::Kind(NodeKind::Wrap))));
    vc::ver(&commitment, &claim, inner, &unwrapped).unwrap();
    // The same root at another height is another vector.
    let mut taller = commitment;
    taller.height += 1;
    assert!(vc::ver(&taller, &claim, &proof, &pp.backend).is_err());
}

#[test]
fn nested_merges_do_not_exhaust_the_stack() {
    let pp = vc::setup(3, native(1, true)).unwrap();
    let (vector, _) = vc::com(&pp, &table(0..8), MemoryStore::new()).unwrap();
    let (proof, _) = vc::agg(&pp, &[0, 7], &vector).unwrap();
    // Each level: a merge of a merge of all that follows except its end, an empty bucket, and no sibling.
    let levels = 200_000u64;
    let (merge, bucket) = (NodeKind::Merge.code(), NodeKind::Bucket.code());
    let mut bytes = Vec::new();
    for below in (0..levels).rev() {
        bytes.push(merge);
        bytes.extend_from_slice(&(19 * below).to_le_bytes());
    }
    for _ in 0..levels {
        bytes.extend_from_slice(&[bucket, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    let nested = NodeProof { kind: NodeKind::Merge, statement: proof.statement, output: vec![], bytes };
    let refusal = pp.backend.verify(&nested).unwrap_err();
    assert!(refusal.to_string().contains("nest deeper"), "{refusal}");
}
