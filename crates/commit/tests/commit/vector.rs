//! The vector compared with a dense reference tree, and its pages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evergrove_commit::page::{Page, PageError};
use evergrove_commit::{MemoryStore, PageId, Store, StoreError, StoreMut, Vector, VectorError};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::tree::{Value, leaf_digest, node_digest, null_digest, null_digests};
use proptest::prelude::*;

fn value(x: u64) -> Value {
    [x, x ^ 1, x >> 3, 7].map(Goldilocks::reduce)
}

/// The root of a subtree, by recursion over its non-empty slots.
fn reference(height: u8, base: u64, slots: &BTreeMap<u64, Value>) -> Digest {
    let end = base + (1 << height);
    match (slots.range(base..end).next(), height) {
        (None, _) => null_digest(height),
        (Some((i, v)), 0) => leaf_digest(*i, v),
        (Some(_), h) => node_digest(&reference(h - 1, base, slots), &reference(h - 1, base + (1 << (h - 1)), slots)),
    }
}

#[test]
fn empty_vector_has_the_null_root() {
    for (h, null) in null_digests(40).into_iter().enumerate().skip(1) {
        let vector = Vector::new(h as u8, MemoryStore::new()).unwrap();
        assert_eq!(vector.root().unwrap(), null);
        assert_eq!(vector.siblings(0, 0, h as u8).unwrap(), &null_digests(h as u8)[..h]);
    }
    assert!(matches!(Vector::new(0, MemoryStore::new()), Err(VectorError::Height(0))));
    assert!(matches!(Vector::new(41, MemoryStore::new()), Err(VectorError::Height(41))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn follows_the_reference_through_updates_and_growth(
        height in 1u8..=40,
        rounds in prop::collection::vec((prop::collection::btree_map(any::<u64>(), prop::option::of(0u64..50), 0..12), any::<bool>()), 1..5),
    ) {
        let mut vector = Vector::new(height, MemoryStore::new()).unwrap();
        let mut slots = BTreeMap::new();
        for (changes, grow) in rounds {
            if grow && vector.height() < 40 {
                let before = vector.root().unwrap();
                let c = vector.grow().unwrap();
                prop_assert_eq!(c.root, node_digest(&before, &null_digest(c.height - 1)));
            }
            let h = vector.height();
            let changes: BTreeMap<u64, Option<Value>> =
                changes.into_iter().map(|(i, v)| (i & ((1 << h) - 1), v.map(value))).collect();
            // Any order will do.
            let mut list: Vec<_> = changes.iter().map(|(i, v)| (*i, *v)).collect();
            list.reverse();
            let c = vector.apply(&list).unwrap();
            for (i, v) in changes {
                match v {
                    Some(v) => slots.insert(i, v),
                    None => slots.remove(&i),
                };
            }
            prop_assert_eq!(c.root, reference(h, 0, &slots));
            prop_assert_eq!(vector.commitment().unwrap(), c);
            prop_assert_eq!(vector.occupied().collect::<Result<Vec<_>, _>>().unwrap(), slots.keys().copied().collect::<Vec<_>>());
            for (i, v) in &slots {
                prop_assert_eq!(vector.value(*i).unwrap(), Some(*v));
                let mut d = leaf_digest(*i, v);
                for (l, s) in vector.siblings(*i, 0, h).unwrap().iter().enumerate() {
                    prop_assert_eq!(vector.node(l as u8, i >> l).unwrap(), d);
                    d = if i >> l & 1 == 0 { node_digest(&d, s) } else { node_digest(s, &d) };
                }
                prop_assert_eq!(d, c.root);
                prop_assert_eq!(vector.open(*i).unwrap().verify(&c), Ok(()));
            }
        }
        // After all slots are emptied again, nothing is left.
        let all: Vec<_> = slots.keys().map(|i| (*i, None)).collect();
        let c = vector.apply(&all).unwrap();
        prop_assert_eq!(c.root, null_digest(c.height));
        prop_assert_eq!(vector.store(), &MemoryStore::new());
    }
}

#[test]
fn refusals_carry_the_numbers_and_write_nothing() {
    let mut vector = Vector::new(5, MemoryStore::new()).unwrap();
    let e = vector.apply(&[(3, Some(value(1))), (32, Some(value(1)))]).unwrap_err();
    assert!(e.to_string().contains("index 32") && e.to_string().contains("0 to 31"), "{e}");
    let e = vector.apply(&[(3, Some(value(1))), (4, None), (3, None)]).unwrap_err();
    assert!(e.to_string().contains("index 3 "), "{e}");
    assert!(matches!(vector.value(32), Err(VectorError::OutOfRange { index: 32, height: 5 })));
    assert!(matches!(vector.siblings(u64::MAX, 0, 5), Err(VectorError::OutOfRange { .. })));
    assert_eq!(vector.store(), &MemoryStore::new());
    let mut vector = Vector::new(40, MemoryStore::new()).unwrap();
    assert!(matches!(vector.grow(), Err(VectorError::Full)));
}

/// Counts the pages that pass through.
#[derive(Default)]
struct Counting {
    inner: MemoryStore,
    reads: AtomicUsize,
    writes: usize,
}

impl Store for Counting {
    fn page(&self, id: PageId) -> Result<Option<Arc<Page>>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.page(id)
    }
    fn value(&self, index: u64) -> Result<Option<Value>, StoreError> {
        self.inner.value(index)
    }
}

impl StoreMut for Counting {
    fn put_page(&mut self, id: PageId, page: Option<Page>) -> Result<(), StoreError> {
        self.writes += 1;
        self.inner.put_page(id, page)
    }
    fn put_value(&mut self, index: u64, value: Option<Value>) -> Result<(), StoreError> {
        self.inner.put_value(index, value)
    }
}

#[test]
fn one_leaf_touches_one_page_of_each_tier() {
    for height in 1..=40u8 {
        let tiers = usize::from(height.div_ceil(7));
        let index = 0x55_5555_5555 & ((1 << height) - 1);
        let mut store = Counting::default();
        Vector::new(height, &mut store).unwrap().apply(&[(index ^ 1, Some(value(2)))]).unwrap();
        for (change, writes) in [(Some(value(3)), tiers), (Some(value(3)), 0), (None, tiers)] {
            (*store.reads.get_mut(), store.writes) = (0, 0);
            Vector::new(height, &mut store).unwrap().apply(&[(index, change)]).unwrap();
            // An update that changes nothing also reads the root.
            assert!(store.reads.load(Ordering::Relaxed) <= tiers.max(2));
            assert_eq!(store.writes, writes, "height {height}");
        }
        let vector = Vector::new(height, store).unwrap();
        let before = vector.store().reads.load(Ordering::Relaxed);
        vector.siblings(index, 0, height).unwrap();
        assert_eq!(vector.store().reads.load(Ordering::Relaxed) - before, tiers);
    }
}

#[test]
fn pages_encode_strictly() {
    let mut page = Page::new();
    assert!(page.is_empty() && Page::decode(&[0; 32]) == Ok(Page::new()));
    let digest = |x: u64| Digest(value(x));
    for (level, position) in [(0, 0), (0, 127), (3, 5), (6, 1), (1, 63), (6, 0)] {
        assert_eq!(page.get(level, position), None);
        page.set(level, position, digest(position + 1));
        assert_eq!(page.get(level, position), Some(&digest(position + 1)));
    }
    page.set(3, 5, digest(99));
    page.clear(6, 0);
    page.clear(6, 0);
    assert_eq!((page.len(), page.get(3, 5), page.get(6, 0)), (5, Some(&digest(99)), None));
    assert_eq!(page.positions(0).collect::<Vec<_>>(), [0, 127]);
    let bytes = page.encode();
    assert_eq!(bytes.len(), 32 + 5 * 32);
    assert_eq!(Page::decode(&bytes), Ok(page));

    for cut in 0..bytes.len() {
        assert!(matches!(Page::decode(&bytes[..cut]), Err(PageError::Length { .. })));
    }
    assert!(matches!(Page::decode(&[&bytes[..], &[0]].concat()), Err(PageError::Length { .. })));
    let mut high = bytes.clone();
    high[31] |= 0x80;
    assert_eq!(Page::decode(&high), Err(PageError::Bitmap(255)));
    let mut large = bytes;
    large[64..72].fill(0xff);
    assert!(matches!(Page::decode(&large), Err(PageError::Digest { digest: 1, .. })));
}
