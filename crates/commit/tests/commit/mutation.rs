//! Bytes from outside: decoding and verifying never panic, and accept only encoded values.

use std::sync::{Arc, LazyLock};

use evergrove_commit::page::Page;
use evergrove_commit::{MemoryStore, NativeBackend, NodeKind, NodeProof, RecursionBackend, vc};
use evergrove_testkit::commit::value;
use evergrove_verifier::{HeightClass, Profile};
use proptest::prelude::*;

static BACKEND: LazyLock<NativeBackend> =
    LazyLock::new(|| NativeBackend::new(Profile::Paper, HeightClass::H27).with_capacity(2));

/// A wrap of a merge of two buckets.
static PROOF: LazyLock<Arc<NodeProof>> = LazyLock::new(|| {
    let pp = vc::setup(3, &*BACKEND).expect("height 3");
    let slots: Vec<_> = (0..3).map(|i| (i, value(i))).collect();
    let (vector, _) = vc::com(&pp, &slots, MemoryStore::new()).expect("three slots");
    vc::agg(&pp, &[0, 1, 2], &vector).expect("three members").0
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn native_proofs_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0u8..3) {
        let kind = NodeKind::from_code(kind).expect("three kinds");
        let offered = NodeProof { kind, statement: PROOF.statement, output: vec![], bytes };
        prop_assert!(BACKEND.verify(&offered).is_err());
    }

    #[test]
    fn native_proofs_mutated(at: prop::sample::Index, to: u8, end: prop::sample::Index, tail in prop::collection::vec(any::<u8>(), 0..40)) {
        let verify = |bytes: Vec<u8>| BACKEND.verify(&NodeProof { bytes, ..(**PROOF).clone() }).is_ok();
        let mut bytes = PROOF.bytes.clone();
        let at = at.index(bytes.len());
        bytes[at] = to;
        prop_assert_eq!(verify(bytes.clone()), bytes == PROOF.bytes);
        bytes.truncate(end.index(bytes.len()));
        bytes.extend_from_slice(&tail);
        prop_assert_eq!(verify(bytes.clone()), bytes == PROOF.bytes);
    }

    #[test]
    fn pages_of_any_bytes(bitmap in prop::array::uniform32(any::<u8>()), sparse: bool, body in prop::collection::vec(any::<u8>(), 0..320)) {
        // A bitmap of few nodes, so that some lengths fit.
        let bitmap = if sparse { bitmap.map(|b| if b < 8 { 1 << b } else { 0 }) } else { bitmap };
        let bytes = [&bitmap[..], &body].concat();
        if let Ok(page) = Page::decode(&bytes) {
            prop_assert_eq!(page.encode(), bytes);
        }
    }

    #[test]
    fn pages_come_back(nodes in prop::collection::btree_map((0u8..7, 0u64..128), any::<u64>(), 0..60)) {
        let mut page = Page::new();
        for ((level, position), x) in nodes {
            page.set(level, position % (128 >> level), evergrove_primitives::Digest(value(x)));
        }
        prop_assert_eq!(Page::decode(&page.encode()), Ok(page));
    }
}
