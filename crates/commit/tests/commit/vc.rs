//! Agg, Ver and UpdBatchProof of Definition 2.2, over the native backend.

use evergrove_commit::vc::{self, VcError};
use evergrove_commit::{MemoryStore, NativeBackend, NodeKind, NodeProof, RecursionBackend, Vector};
use evergrove_testkit::commit::value;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HeightClass, Profile};

fn native(m: usize, wraps: bool) -> NativeBackend {
    let profile = if wraps { Profile::Paper } else { Profile::Proven };
    NativeBackend::new(profile, HeightClass::H27).with_capacity(m)
}

fn table(slots: impl IntoIterator<Item = u64>) -> Vec<(u64, Value)> {
    slots.into_iter().map(|i| (i, value(i))).collect()
}

fn vector(height: u8, slots: impl IntoIterator<Item = u64>) -> Vector<MemoryStore> {
    let mut vector = Vector::new(height, MemoryStore::new()).unwrap();
    vector.apply(&Vec::from_iter(slots.into_iter().map(|i| (i, Some(value(i)))))).unwrap();
    vector
}

#[test]
fn backends_of_other_heights_are_refused() {
    let (low, high) = (vector(4, [0, 1]), vector(28, [0, 1]));
    let backend = native(2, false);
    let (proof, data) = vc::agg(&backend, &[0, 1], &low).unwrap();
    let refused = |result: Result<(), VcError>| {
        assert!(matches!(result, Err(VcError::Class { height: 28, class: HeightClass::H27 })), "{result:?}");
    };
    refused(vc::agg(&backend, &[0, 1], &high).map(|_| ()));
    refused(vc::upd_batch_proof(&backend, &data, &high, &[], &[], &[]).map(|_| ()));
    refused(vc::ver(&high.commitment().unwrap(), &table([0, 1]), &proof, &backend));
}

/// The five kinds of section 1.1 by name; random mixtures of them are in `laws.rs`.
#[test]
fn the_five_updates_of_the_paper() {
    for wraps in [false, true] {
        let backend = native(2, wraps);
        let mut vector = vector(6, [1, 2, 8, 20, 21, 22, 40, 63]);
        let (_, mut data) = vc::agg(&backend, &[1, 8, 20, 21, 63], &vector).unwrap();
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
            let commitment = vector.apply(changes).unwrap();
            let touched: Vec<u64> = changes.iter().map(|c| c.0).collect();
            let (proof, after) = vc::upd_batch_proof(&backend, &data, &vector, &touched, joins, leaves).unwrap();
            let claim: Vec<_> = members.iter().map(|i| (*i, vector.value(*i).unwrap().unwrap())).collect();
            vc::ver(&commitment, &claim, &proof, &backend).expect(label);
            let (scratch, fresh) = vc::agg(&backend, members, &vector).unwrap();
            assert_eq!((scratch, &fresh.batch), (proof, &after.batch), "{label}");
            assert!(after.made <= fresh.made, "{label}");
            data = after;
        }
    }
}

#[test]
fn ver_says_why() {
    let backend = native(2, true);
    let vector = vector(6, 0..64);
    let commitment = vector.commitment().unwrap();
    let (proof, data) = vc::agg(&backend, &[3, 30, 31], &vector).unwrap();
    let claim = table([31, 3, 30]);
    vc::ver(&commitment, &claim, &proof, &backend).unwrap();
    let refused = |claim: &[(u64, Value)], proof: &NodeProof| vc::ver(&commitment, claim, proof, &backend).unwrap_err();
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
    assert!(vc::ver(&taller, &claim, &proof, &backend).is_err());
}

#[test]
fn nested_merges_do_not_exhaust_the_stack() {
    let backend = native(1, true);
    let (proof, _) = vc::agg(&backend, &[0, 7], &vector(3, 0..8)).unwrap();
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
    let refusal = backend.verify(&nested).unwrap_err();
    assert!(refusal.to_string().contains("nest deeper"), "{refusal}");
}
