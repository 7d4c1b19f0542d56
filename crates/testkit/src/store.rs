//! The laws of a [`StoreMut`].

use evergrove_commit::page::Page;
use evergrove_commit::{MemoryStore, PageId, StoreMut, Vector};

use crate::commit::{Rng, value};

/// Checks the laws of a store. `make` must return an empty store on each call.
///
/// # Panics
/// If a law does not hold.
pub fn laws<S: StoreMut>(mut make: impl FnMut() -> S) {
    last_write_wins(make());
    ids_are_apart(make());
    for height in [1, 7, 8, 27, 40] {
        carries_a_vector(height, make());
    }
}

fn page(x: u64) -> Page {
    let mut page = Page::new();
    let mut rng = Rng(x);
    for _ in 0..=x % 9 {
        let level = rng.below(7) as u8;
        page.set(level, rng.below(128 >> level), evergrove_primitives::Digest(rng.value()));
    }
    page
}

fn last_write_wins<S: StoreMut>(mut store: S) {
    let id = PageId { tier: 2, position: 5 };
    assert!(store.page(id).expect("a read").is_none(), "an empty store has no page");
    assert_eq!(store.value(9).expect("a read"), None, "an empty store has no value");
    store.put_page(id, None).expect("removing what is not there");
    store.put_value(9, None).expect("emptying an empty slot");
    for x in [1, 2, 2] {
        store.put_page(id, Some(page(x))).expect("a write");
        store.put_value(9, Some(value(x))).expect("a write");
        assert_eq!(store.page(id).expect("a read").as_deref(), Some(&page(x)));
        assert_eq!(store.value(9).expect("a read"), Some(value(x)));
    }
    store.put_page(id, None).expect("a removal");
    store.put_value(9, None).expect("a removal");
    assert!(store.page(id).expect("a read").is_none());
    assert_eq!(store.value(9).expect("a read"), None);
}

fn ids_are_apart<S: StoreMut>(mut store: S) {
    let positions = [0, 1, 127, 128, 255, 256, (1 << 33) - 1];
    let ids: Vec<PageId> =
        (0..6).flat_map(|tier| positions.into_iter().map(move |position| PageId { tier, position })).collect();
    let indices = [0, 1, 255, 256, 65_535, 65_536, (1 << 40) - 1];
    for (x, id) in ids.iter().enumerate() {
        store.put_page(*id, Some(page(x as u64))).expect("a write");
    }
    for index in indices {
        store.put_value(index, Some(value(index))).expect("a write");
    }
    for (x, id) in ids.iter().enumerate() {
        assert_eq!(store.page(*id).expect("a read").as_deref(), Some(&page(x as u64)), "{id:?}");
    }
    for index in indices {
        assert_eq!(store.value(index).expect("a read"), Some(value(index)), "slot {index}");
    }
}

/// A vector on the store has the same commitments and openings as one in memory, after each of four rounds of changes.
fn carries_a_vector<S: StoreMut>(height: u8, store: S) {
    let mut rng = Rng(height.into());
    let mut ours = Vector::new(height, store).expect("a height from 1 to 40");
    let mut memory = Vector::new(height, MemoryStore::new()).expect("a height from 1 to 40");
    for round in 0..4 {
        let mut changes = std::collections::BTreeMap::new();
        for _ in 0..20 {
            let index = rng.next_u64() & ((1 << ours.height()) - 1);
            changes.insert(index, (rng.below(3) > 0).then(|| rng.value()));
        }
        if round == 2 {
            let emptied: Vec<u64> = memory.occupied().take(10).map(|i| i.expect("a memory store")).collect();
            changes.extend(emptied.into_iter().map(|i| (i, None)));
        }
        let list: Vec<_> = changes.into_iter().collect();
        let commitment = ours.apply(&list).expect("an update");
        assert_eq!(commitment, memory.apply(&list).expect("an update"));
        assert_eq!(commitment, ours.commitment().expect("a read"));
        for (index, _) in list {
            let opening = ours.open(index).expect("a read");
            assert_eq!(opening, memory.open(index).expect("a read"));
            opening.verify(&commitment).expect("an opening of the commitment");
        }
        if ours.height() < 40 {
            assert_eq!(ours.grow().expect("growth"), memory.grow().expect("growth"));
        }
        let occupied = |v: Result<Vec<u64>, _>| v.expect("a read");
        assert_eq!(occupied(ours.occupied().collect()), occupied(memory.occupied().collect()));
    }
}
