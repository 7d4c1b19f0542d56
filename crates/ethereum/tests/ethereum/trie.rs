//! Tries built by hand: embedded nodes, absences, deletions with and without siblings, and refused nodes.

use std::sync::Arc;

use evergrove_ethereum::{
    Absence, BYTES_MAX, Change, Fault, Keys, LimitError, Lookup, NODES_MAX, NodeFault, Nodes, Post, Trie, TrieError,
    Tries,
};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::rlp::{RlpFault, list, write_string};
use evergrove_verifier::ethereum::{Account, Claim, EMPTY_CODE, EMPTY_ROOT, Hash, NODE_MAX, Roots, Tag, VALUE_MAX};

use crate::common::state_root;

/// The key of these first nibbles, the others 0.
fn key(first: &str) -> [u8; 32] {
    let nibble = |i: usize| first.as_bytes().get(i).map_or(0, |c| (*c as char).to_digit(16).expect("a digit") as u8);
    core::array::from_fn(|i| nibble(2 * i) << 4 | nibble(2 * i + 1))
}

fn trie(pairs: &[(&str, &[u8])]) -> Trie {
    let mut trie = Trie::empty(Keys::Hashed);
    pairs.iter().for_each(|(first, value)| trie.put(&key(first), Some(value)).expect("a key"));
    trie
}

/// The trie with the known nodes on the way to these keys.
fn part(trie: &mut Trie, keys: &[&str]) -> Trie {
    let root = trie.root();
    let mut nodes: Vec<Vec<u8>> = Vec::new();
    for first in keys {
        nodes.extend(trie.proof(&key(first)).expect("all is known").into_iter().map(<[u8]>::to_vec));
    }
    Trie::new(&root, Keys::Hashed, Arc::new(Nodes::new(nodes).expect("few")))
}

/// The answer of a trie with these nodes, the first of which is its root.
fn answer(nodes: &[&[u8]], keys: Keys, key: &[u8]) -> Result<Lookup, TrieError> {
    let known = Nodes::new(nodes.iter().map(|n| n.to_vec())).expect("few");
    Trie::new(&keccak_256(nodes[0]), keys, Arc::new(known)).get(key)
}

fn strings(items: &[&[u8]]) -> Vec<u8> {
    let mut payload = Vec::new();
    items.iter().for_each(|item| write_string(&mut payload, item));
    list(&payload)
}

/// A branch with these children as references, and a value.
fn branch(children: &[(usize, &[u8])], value: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    for i in 0..16 {
        match children.iter().find(|(at, _)| *at == i) {
            Some((_, reference)) => payload.extend_from_slice(reference),
            None => payload.push(0x80),
        }
    }
    write_string(&mut payload, value);
    list(&payload)
}

fn reference(hash: &Hash) -> Vec<u8> {
    [&[0xa0], &hash[..]].concat()
}

#[test]
fn absences_say_where() {
    assert_eq!(Trie::empty(Keys::Hashed).get(&key("")), Ok(Lookup::Absent(Absence::Empty { depth: 0 })));
    assert_eq!(Trie::empty(Keys::Index).root(), EMPTY_ROOT);
    let mut whole = trie(&[("12345", &[1; 40]), ("12377", &[2; 40]), ("9", &[3; 40])]);
    for known in [whole.clone(), part(&mut whole, &["12345", "9", "12999"])] {
        let at = |first: &str| known.get(&key(first));
        assert_eq!(at("12345"), Ok(Lookup::Present(vec![1; 40])));
        assert_eq!(at("9"), Ok(Lookup::Present(vec![3; 40])));
        assert_eq!(at("2"), Ok(Lookup::Absent(Absence::Empty { depth: 0 })));
        assert_eq!(at("125"), Ok(Lookup::Absent(Absence::Diverges { depth: 2 })));
        assert_eq!(at("1239"), Ok(Lookup::Absent(Absence::Empty { depth: 3 })));
        assert_eq!(at("91"), Ok(Lookup::Absent(Absence::Diverges { depth: 1 })));
    }
    let error = part(&mut whole, &["12345"]).get(&key("9")).expect_err("not known");
    assert!(matches!(&error, TrieError::Missing { prefix, .. } if prefix == "9"), "{error}");
    assert!(error.to_string().ends_with("below prefix 0x9: add the proof of a key with this prefix"), "{error}");
    let error = Trie::new(&[7; 32], Keys::Hashed, Arc::default()).get(&key("9")).expect_err("no root");
    assert_eq!(error, TrieError::Root([7; 32]));
    let error = whole.get(&[1; 31]).expect_err("short").to_string();
    assert_eq!(error, "a key of this trie has 32 bytes, got 31");
    assert_eq!(whole.put(&key("9"), Some(&[])), Err(TrieError::EmptyValue));
}

/// Two slots whose hashed keys share eight nibbles or more, found by search: leaves of one byte below them are embedded.
#[test]
fn small_values_deep_in_a_trie_are_embedded() {
    let (mut seen, mut pair) = (std::collections::HashMap::new(), None);
    for i in 0u64.. {
        let hash = keccak_256(&[&[0; 24][..], &i.to_be_bytes()].concat());
        if let Some(other) = seen.insert(hash[..4].to_vec(), hash) {
            pair = Some([other, hash]);
            break;
        }
    }
    let [a, b] = pair.expect("found below 2^17 hashes");
    let mut whole = Trie::empty(Keys::Hashed);
    whole.put(&a, Some(&[1])).expect("a key");
    whole.put(&b, Some(&[0x7f])).expect("a key");
    let root = whole.root();
    let nodes: Vec<Vec<u8>> = whole.proof(&a).expect("known").into_iter().map(<[u8]>::to_vec).collect();
    // An extension and a branch with both leaves inside.
    assert_eq!(nodes.iter().map(Vec::len).collect::<Vec<_>>(), [40, 2 * 31 + 15 + 2]);
    let mut part = Trie::new(&root, Keys::Hashed, Arc::new(Nodes::new(nodes.clone()).expect("few")));
    assert_eq!(part.get(&a), Ok(Lookup::Present(vec![1])));
    assert_eq!(part.get(&b), Ok(Lookup::Present(vec![0x7f])));
    let mut beside = a;
    beside[31] ^= 1;
    assert_eq!(part.get(&beside), Ok(Lookup::Absent(Absence::Diverges { depth: 63 })));
    // A longer value is not embedded; a deletion needs only the parent's node.
    part.put(&a, Some(&[0x80; 4])).expect("known");
    assert_eq!(part.proof(&a).expect("known").len(), 3);
    part.put(&b, None).expect("known");
    let mut alone = Trie::empty(Keys::Hashed);
    alone.put(&a, Some(&[0x80; 4])).expect("a key");
    assert_eq!(part.root(), alone.root());
}

#[test]
fn deletions_merge_branches() {
    // The result of each deletion: a leaf, an extension, a branch below; with an extension above or without.
    let cases: [&[&str]; 6] = [
        &["12", "13"],
        &["12", "131", "132"],
        &["12", "1311", "1312"],
        &["2", "31", "32"],
        &["2", "311", "312"],
        &["12", "131", "132", "5"],
    ];
    for keys in cases {
        // Leaves with one path and one value would be one node.
        let values: [[u8; 40]; 4] = core::array::from_fn(|i| [5 + i as u8; 40]);
        let pairs: Vec<(&str, &[u8])> = keys.iter().zip(&values).map(|(key, value)| (*key, &value[..])).collect();
        let (mut whole, mut less) = (trie(&pairs), trie(&pairs[1..]));
        let mut known = part(&mut whole, keys);
        known.put(&key(keys[0]), None).expect("all is known");
        assert_eq!(known.root(), less.root(), "{keys:?}");
        known.put(&key(keys[0]), Some(&[5; 40])).expect("all is known");
        assert_eq!(known.root(), whole.root(), "{keys:?}");
        known.put(&key("ffff"), None).expect("an absent key");
        assert_eq!(known.root(), whole.root(), "{keys:?}");
        // The proof of the deleted key does not have its sibling.
        let mut alone = part(&mut whole, &keys[..1]);
        let error = alone.put(&key(keys[0]), None).expect_err("a sibling is missing");
        let prefix = format!("{}{}", &keys[0][..keys[0].len() - 1], &keys[1][keys[0].len() - 1..keys[0].len()]);
        assert!(matches!(&error, TrieError::Sibling { prefix: p, .. } if *p == prefix), "{error}");
        assert!(error.to_string().contains("or use debug_executionWitness"), "{error}");
        assert_eq!((alone.root(), alone.get(&key(keys[0]))), (whole.root(), Ok(Lookup::Present(vec![5; 40]))));
    }
}

#[test]
fn nodes_that_are_none_are_refused() {
    let leaf = |path: &[u8], value: &[u8]| strings(&[path, value]);
    let hash = reference(&[9; 32]);
    let short = list(&[0x20, 0x01]);
    let full = leaf(&[&[0x20], &[0; 32][..]].concat(), &[1]);
    let fault = |node: &[u8], keys| match answer(&[node], keys, &key("")) {
        Err(TrieError::Node { fault, .. }) => Some(fault),
        _ => None,
    };
    let hashed = |node: &[u8]| fault(node, Keys::Hashed);
    assert_eq!(hashed(&full), None);
    assert_eq!(hashed(&strings(&[&[0x20]])), Some(NodeFault::Items(1)));
    assert_eq!(hashed(&strings(&[&[0x20], &[1], &[1]])), Some(NodeFault::Items(3)));
    assert_eq!(hashed(&strings(&[&[1][..]; 18])), Some(NodeFault::Items(18)));
    assert_eq!(hashed(&leaf(&[0x40], &[1])), Some(NodeFault::Path(0x40)));
    assert_eq!(hashed(&leaf(&[0x21], &[1])), Some(NodeFault::Path(0x21)));
    assert_eq!(hashed(&leaf(&[0x20; 34], &[1])), Some(NodeFault::PathLength(66)));
    assert_eq!(hashed(&leaf(&[0x20], &[])), Some(NodeFault::EmptyValue));
    assert_eq!(hashed(&leaf(&[0], &[1; 32])), Some(NodeFault::EmptyPath));
    assert_eq!(hashed(&leaf(&[0x11], &[])), Some(NodeFault::Reference(0)));
    assert_eq!(hashed(&leaf(&[0x11], &[1; 31])), Some(NodeFault::Reference(31)));
    assert_eq!(hashed(&branch(&[(0, &hash)], &[])), Some(NodeFault::Children(1)));
    assert_eq!(hashed(&branch(&[], &[])), Some(NodeFault::Children(0)));
    assert_eq!(hashed(&branch(&[(0, &hash), (1, &hash)], &[7; 3])), Some(NodeFault::BranchValue(3)));
    let long = list(&[&[0x20, 0x80 + 29][..], &[0x80; 29]].concat());
    assert_eq!((long.len(), hashed(&branch(&[(0, &long), (1, &hash)], &[]))), (32, Some(NodeFault::Reference(32))));
    let nested = branch(&[(0, &short), (1, &short)], &[]);
    let inside = branch(&[(0, &nested), (1, &hash)], &[]);
    assert_eq!(hashed(&inside), Some(NodeFault::Embedded(nested.len())));
    assert!(matches!(answer(&[&inside], Keys::Index, &[0x00]), Ok(Lookup::Present(v)) if v == [1]));
    let above_leaf = list(&[&[0x11][..], &short].concat());
    assert_eq!(fault(&above_leaf, Keys::Index), Some(NodeFault::ExtensionChild));
    assert_eq!(hashed(&vec![0xc0; NODE_MAX + 1]), Some(NodeFault::Long(NODE_MAX + 1)));
    let rlp = |node: &[u8]| match hashed(node) {
        Some(NodeFault::Rlp(e)) => Some((e.fault, e.at)),
        _ => None,
    };
    assert_eq!(rlp(&[&full[..], &[0]].concat()), Some((RlpFault::Trailing, full.len())));
    assert_eq!(rlp(&full[..full.len() - 1]), Some((RlpFault::Truncated, 0)));
    assert_eq!(rlp(&[0x01]), Some((RlpFault::NotAList, 0)));
    assert_eq!(rlp(&list(&[0xc0, 0x01])), Some((RlpFault::NotAString, 1)));
    assert_eq!(rlp(&list(&[0x20, 0x81, 0x01])), Some((RlpFault::SingleByte, 2)));
    let text = answer(&[&branch(&[], &[])], Keys::Hashed, &key("")).expect_err("no children").to_string();
    assert!(text.ends_with("below prefix 0x: a branch needs two children, got 0"), "{text}");
}

#[test]
fn nodes_that_do_not_fit_their_place_are_refused() {
    let at = |nodes: &[&[u8]], first: &str| answer(nodes, Keys::Hashed, &key(first));
    let fault = |nodes: &[&[u8]], first: &str| match at(nodes, first) {
        Err(TrieError::Node { fault, prefix, .. }) => (fault, prefix),
        other => panic!("{other:?}"),
    };
    // A node below 32 bytes under its hash, and the empty node.
    let short = list(&[0x20, 0x01]);
    for node in [&short[..], &[0x80]] {
        let parent = branch(&[(0, &reference(&keccak_256(node))), (1, &reference(&[9; 32]))], &[]);
        let found = fault(&[&parent, node], "0");
        assert!(matches!(found, (NodeFault::Short(_) | NodeFault::Rlp(_), ref p) if p == "0"), "{found:?}");
    }
    // An extension above a leaf, an extension, nothing known.
    let leaf = strings(&[&[&[0x30][..], &[0; 31]].concat(), &[1]]);
    let extension = strings(&[&[0x10], &[9; 32]]);
    for node in [&leaf, &extension] {
        let parent = strings(&[&[0x10], &keccak_256(node)]);
        assert_eq!(fault(&[&parent, node], "00"), (NodeFault::ExtensionChild, "0".into()));
    }
    // Leaves above and below the end of the key.
    let shallow = strings(&[&[&[0x20][..], &[0; 31]].concat(), &[1]]);
    assert_eq!(at(&[&shallow], ""), Err(TrieError::Length { prefix: String::new() }));
    assert_eq!(at(&[&shallow], "01"), Ok(Lookup::Absent(Absence::Diverges { depth: 1 })));
    let below = branch(&[(0, &short), (1, &reference(&[9; 32]))], &[]);
    assert_eq!(at(&[&below], ""), Err(TrieError::Length { prefix: "0".into() }));
    let mut trie = Trie::empty(Keys::Index);
    trie.put(b"ab", Some(b"1")).expect("a key");
    for key in [&b"a"[..], b"abc"] {
        assert_eq!(trie.put(key, Some(b"2")), Err(TrieError::Length { prefix: String::new() }));
        assert_eq!(trie.put(key, None), Err(TrieError::Length { prefix: String::new() }));
    }
}

/// A node that has one child sixteen times, 64 deep, is 16^64 nodes to a program that builds the tree.
#[test]
fn nodes_that_repeat_their_child_cost_nothing() {
    let mut nodes = vec![strings(&[&[0x20], &[1; 40]])];
    for _ in 0..64 {
        let child = reference(&keccak_256(nodes.last().expect("one")));
        nodes.push(branch(&core::array::from_fn::<_, 16, _>(|i| (i, &child[..])), &[]));
    }
    nodes.reverse();
    let nodes: Vec<&[u8]> = nodes.iter().map(Vec::as_slice).collect();
    assert_eq!(answer(&nodes, Keys::Hashed, &key("abc")), Ok(Lookup::Present(vec![1; 40])));
}

#[test]
fn sizes_are_bounded_before_anything_is_hashed() {
    let count = std::iter::repeat_n(Vec::new(), NODES_MAX + 1);
    assert_eq!(Nodes::new(count).map(drop), Err(LimitError));
    let mut made = 0;
    let large = std::iter::repeat_with(|| {
        made += 1;
        vec![0; 1 << 20]
    });
    assert_eq!(Nodes::new(large.take(1000)).map(drop), Err(LimitError));
    assert_eq!(made, (BYTES_MAX >> 20) + 1);
}

const A: [u8; 20] = [0xaa; 20];

fn word(n: u8) -> [u8; 32] {
    core::array::from_fn(|i| if i == 31 { n } else { 0 })
}

fn change(nonce: Option<u64>, slots: &[(u8, u8)]) -> Change {
    let slots = slots.iter().map(|(s, v)| (word(*s), word(*v))).collect();
    Change { address: A, post: Post::Fields { nonce, balance: None, code_hash: None }, slots }
}

#[test]
fn accounts_come_change_and_go() {
    let mut tries = Tries::new(&state_root(EMPTY_ROOT), Nodes::default());
    let slot = |tries: &Tries, n| tries.slot(&A, &word(n)).expect("known");
    assert_eq!((tries.account(&A), slot(&tries, 1)), (Ok(None), word(0)));
    tries.apply(&[change(Some(1), &[(1, 5), (2, 6)])]).expect("known");
    let first = tries.account(&A).expect("known").expect("there");
    assert_eq!((first.nonce, first.code_hash), (1, EMPTY_CODE));
    assert_eq!([1, 2, 3].map(|n| slot(&tries, n)), [word(5), word(6), word(0)]);
    tries.check(&Claim::Slot { address: A, slot: word(3), value: word(0) }).expect("a zero slot");
    let claim = Claim::Account { address: A, account: Account { nonce: 2, ..first } };
    let error = tries.check(&claim).expect_err("another nonce").to_string();
    assert!(error.contains("the claim is false: the trie has nonce 1, balance 0x00"), "{error}");
    tries.apply(&[change(None, &[(1, 0), (3, 7)])]).expect("known");
    assert_eq!([1, 2, 3].map(|n| slot(&tries, n)), [word(0), word(6), word(7)]);
    // Destroyed and created again: a life without the old storage.
    let removed = Change { address: A, post: Post::Removed, slots: Vec::new() };
    tries.apply(&[removed.clone(), change(Some(1), &[(1, 9)])]).expect("known");
    assert_eq!([1, 2, 3].map(|n| slot(&tries, n)), [word(9), word(0), word(0)]);
    tries.apply(&[change(Some(3), &[]), removed]).expect("known");
    assert_eq!((tries.account(&A), slot(&tries, 1), tries.expect_state_root(&EMPTY_ROOT)), (Ok(None), word(0), Ok(())));
    // An account without nonce, balance and code is not in the trie.
    tries.apply(&[change(Some(0), &[])]).expect("known");
    assert_eq!(tries.account(&A), Ok(None));
}

/// The first of these keys whose hashes begin with different nibbles.
fn apart<const N: usize, const M: usize>(key: impl Fn(u8) -> [u8; N]) -> [[u8; N]; M] {
    let mut seen = std::collections::BTreeSet::new();
    let mut keys = (1..=u8::MAX).map(key).filter(|key| seen.insert(keccak_256(key)[0] >> 4));
    core::array::from_fn(|_| keys.next().expect("few of sixteen nibbles"))
}

fn there(address: [u8; 20], slots: &[([u8; 32], u8)]) -> Change {
    let slots = slots.iter().map(|(slot, value)| (*slot, word(*value))).collect();
    Change { address, post: Post::Fields { nonce: Some(1), balance: None, code_hash: None }, slots }
}

fn gone(address: [u8; 20]) -> Change {
    Change { address, post: Post::Removed, slots: Vec::new() }
}

/// A branch that gains a child and loses one needs no sibling, whose node is not known here.
#[test]
fn puts_come_before_deletions() {
    let (slots, addresses): ([_; 3], _) = (apart(word), apart(|n| [n; 20]));
    let mut whole = Tries::new(&state_root(EMPTY_ROOT), Nodes::default());
    let [a, b, c] = addresses;
    whole.apply(&[there(a, &[(slots[0], 5), (slots[1], 6)]), there(b, &[])]).expect("known");
    let known = whole.nodes_of(&[Claim::Slot { address: a, slot: slots[0], value: word(5) }]).expect("true");
    let known = Nodes::new(known.into_iter().map(<[u8]>::to_vec)).expect("few");
    let removed = gone(a);
    for changes in [vec![there(a, &[(slots[0], 0), (slots[2], 7)])], vec![removed, there(c, &[])]] {
        let mut part = Tries::new(&state_root(whole.root(Tag::State).expect("known")), known.clone());
        let mut all = whole.clone();
        part.apply(&changes).expect("no sibling is needed");
        all.apply(&changes).expect("known");
        assert_eq!(part.root(Tag::State), all.root(Tag::State));
    }
}

#[test]
fn an_error_leaves_all_tries_as_they_were() {
    let [a, b, c, far] = apart(|n| [n; 20]);
    let two = |n| [(word(1), n), (word(2), n + 1)];
    let mut all = Tries::new(&state_root(EMPTY_ROOT), Nodes::default());
    all.apply(&[there(a, &two(10)), there(b, &two(20)), there(far, &two(30))]).expect("known");
    let known: Vec<Claim> = [(a, 10), (b, 20)]
        .iter()
        .flat_map(|(address, n)| {
            two(*n).map(|(slot, value)| Claim::Slot { address: *address, slot, value: word(value) })
        })
        .collect();
    let known = all.nodes_of(&known).expect("true").into_iter().map(<[u8]>::to_vec);
    let known = Nodes::new(known).expect("few");
    let mut part = Tries::new(&state_root(all.root(Tag::State).expect("known")), known);
    let first = [there(a, &two(40)), there(b, &two(45))];
    all.apply(&first).expect("known");
    part.apply(&first).expect("known");
    let seen = |tries: &mut Tries| {
        let root = tries.root(Tag::State);
        let slots = [a, b, c].map(|address| [1, 2, 3].map(|n| tries.slot(&address, &word(n))));
        (root, [a, b, c].map(|address| tries.account(&address)), slots)
    };
    let before = seen(&mut part);
    assert_eq!(before, seen(&mut all));
    // One storage trie changed, one removed and created again, one new: then the account whose nodes are unknown.
    let mut second = vec![there(a, &two(50)), gone(b), there(b, &two(60)), there(c, &two(70)), there(far, &two(80))];
    let error = part.apply(&second).expect_err("a node is missing");
    assert!(matches!(error.fault, Fault::Trie(TrieError::Missing { .. })), "{error}");
    assert_eq!(seen(&mut part), before);
    // Everything is done except the deletions from the state.
    let error = part.apply(&[gone(a), gone(b)]).expect_err("the last child is not known");
    assert!(matches!(error.fault, Fault::Trie(TrieError::Sibling { .. })), "{error}");
    assert_eq!(seen(&mut part), before);
    second.pop();
    all.apply(&second).expect("known");
    part.apply(&second).expect("known");
    assert_eq!(seen(&mut part), seen(&mut all));
    assert_eq!(part.slot(&b, &word(1)), Ok(word(60)));
}

/// The nodes that earlier blocks made stay where they are in memory.
#[test]
fn changes_copy_no_earlier_nodes() {
    let mut tries = Tries::new(&state_root(EMPTY_ROOT), Nodes::default());
    let slots: Vec<_> = (1..=100).map(|n| (word(n), n)).collect();
    tries.apply(&[there(A, &slots), there([0xbb; 20], &slots), there([0xcc; 20], &[])]).expect("known");
    let places = |tries: &Tries| -> std::collections::BTreeMap<Vec<u8>, *const u8> {
        let claim = |slot, value| Claim::Slot { address: A, slot, value: word(value) };
        // The value of slot 1 is changed between.
        let mut claims: Vec<Claim> = slots[1..].iter().map(|(slot, n)| claim(*slot, *n)).collect();
        // A leaf of the state that no later change touches.
        claims.push(Claim::Slot { address: [0xcc; 20], slot: word(1), value: word(0) });
        tries.nodes_of(&claims).expect("true").into_iter().map(|n| (n.to_vec(), n.as_ptr())).collect()
    };
    let before = places(&tries);
    tries.apply(&[there(A, &[(word(1), 0xff)])]).expect("known");
    tries.apply(&[there([0xbb; 20], &[(word(1), 0xff)])]).expect("known");
    let after = places(&tries);
    let kept = before.iter().filter(|(node, _)| after.contains_key(*node)).count();
    assert!(kept > 100, "{kept} of {}", before.len());
    assert!(before.iter().all(|(node, place)| after.get(node).is_none_or(|now| now == place)));
}

#[test]
fn slots_of_a_removal_are_gone_with_the_account() {
    let mut tries = Tries::new(&state_root(EMPTY_ROOT), Nodes::default());
    let removed = Change { slots: vec![(word(1), word(1))], ..gone(A) };
    tries.apply(&[removed.clone(), change(Some(1), &[(2, 2)])]).expect("known");
    assert_eq!([1, 2].map(|n| tries.slot(&A, &word(n))), [Ok(word(0)), Ok(word(2))]);
    // Created again without slots.
    tries.apply(&[removed, change(Some(1), &[])]).expect("known");
    let account = tries.account(&A).expect("known").expect("there");
    assert_eq!((account.storage_root, tries.slot(&A, &word(2))), (EMPTY_ROOT, Ok(word(0))));
}

#[test]
fn entries_of_the_state_are_refused() {
    let roots = Roots::new(vec![(Tag::State, EMPTY_ROOT), (Tag::Receipts, EMPTY_ROOT)]).expect("two");
    let tries = Tries::new(&roots, Nodes::default());
    let error = |trie| tries.check(&Claim::Entry { trie, index: 0, value: vec![1] }).expect_err("none").to_string();
    let state = "state 0: the state trie has no entries by index: name transactions, receipts or withdrawals";
    assert_eq!(error(Tag::State), state);
    assert_eq!(error(Tag::Receipts), "receipts 0: the claim is false: the trie has no entry");
    assert_eq!(error(Tag::Withdrawals), "withdrawals 0: the withdrawals root is not known");
}

/// A value that was put can be read once it has a hash.
#[test]
fn values_that_no_node_has_room_for_are_refused() {
    for (keys, key, most) in [
        (Keys::Index, &[0x80][..], VALUE_MAX),
        (Keys::Index, &[9; 9], VALUE_MAX),
        (Keys::Index, &[9; 32], NODE_MAX - 40),
        (Keys::Hashed, &[9; 32], NODE_MAX - 40),
    ] {
        let mut trie = Trie::empty(keys);
        trie.put(key, Some(&vec![7; most])).expect("it fits");
        let root = trie.root();
        assert_eq!(trie.get(key), Ok(Lookup::Present(vec![7; most])));
        let error = trie.put(key, Some(&vec![7; most + 1])).expect_err("too long");
        assert_eq!(error.to_string(), format!("a value at this key has at most {most} bytes, got {}", most + 1));
        assert_eq!(trie.root(), root);
    }
    let long = TrieError::LongValue { most: VALUE_MAX, found: VALUE_MAX + 1 };
    assert_eq!(Trie::indexed([vec![1], vec![1; VALUE_MAX + 1]]).map(drop), Err(long));
}

#[test]
fn keys_that_would_embed_a_branch_are_refused() {
    let at = |shared: usize, last: char| format!("{}{last}", "5".repeat(shared));
    let (mut refused, mut made) = (0, 0);
    for shared in 0..64 {
        let [a, b, c] = ['1', '2', '3'].map(|last| key(&at(shared, last)));
        for values in [[1, 1], [1, 5], [4, 7], [31, 1], [40, 40]].map(|lengths| lengths.map(|n| vec![1; n])) {
            // By a put, by a deletion, by a shorter value; below a branch and alone.
            let mut trie = Trie::empty(Keys::Hashed);
            trie.put(&a, Some(&values[0])).expect("a key");
            let put = trie.put(&b, Some(&values[1]));
            let mut other = Trie::empty(Keys::Hashed);
            for (key, value) in [(&c, &vec![9; 40]), (&a, &values[0]), (&b, &values[1])] {
                other.put(key, Some(value)).expect("one leaf has a hash");
            }
            let all = other.root();
            assert_eq!(other.put(&c, None), put, "{shared}");
            let mut last = Trie::empty(Keys::Hashed);
            last.put(&a, Some(&values[0])).expect("a key");
            last.put(&b, Some(&[9; 40])).expect("one leaf has a hash");
            last.root();
            assert_eq!(last.put(&b, Some(&values[1])), put, "{shared}");
            if let Err(error) = &put {
                assert!(matches!(error, TrieError::ShortBranch { prefix, .. } if prefix.len() == shared), "{error}");
                assert_eq!((other.root(), trie.get(&b).is_ok()), (all, true));
                refused += 1;
                continue;
            }
            made += 1;
            for trie in [&mut trie, &mut other, &mut last] {
                trie.root();
                assert_eq!(trie.get(&a), Ok(Lookup::Present(values[0].clone())));
                assert_eq!(trie.get(&b), Ok(Lookup::Present(values[1].clone())));
            }
        }
    }
    assert_eq!((refused + made, refused > 10), (320, true), "{refused}");
    // Keys of other lengths have such branches.
    let mut trie = Trie::indexed([[1]; 3]).expect("values");
    trie.root();
    assert_eq!(trie.get(&[1]), Ok(Lookup::Present(vec![1])));
}

#[test]
fn leaves_that_are_no_account_or_value_are_refused() {
    let leaf_of = |fields: &[&[u8]]| strings(fields);
    let state = |leaf: &[u8], extra: Vec<Vec<u8>>| {
        let node = strings(&[&[&[0x20][..], &keccak_256(&A)].concat(), leaf]);
        let root = keccak_256(&node);
        Tries::new(&state_root(root), Nodes::new(extra.into_iter().chain([node])).expect("few"))
    };
    let fault = |leaf: &[u8]| match state(leaf, Vec::new()).account(&A).map_err(|e| e.fault) {
        Err(Fault::Leaf(e)) => Some(e.fault),
        _ => None,
    };
    let good: [&[u8]; 4] = [&[1], &[2], &EMPTY_ROOT, &EMPTY_CODE];
    assert_eq!(fault(&leaf_of(&good)), None);
    assert_eq!(fault(&leaf_of(&good[..3])), Some(RlpFault::Truncated));
    assert_eq!(fault(&leaf_of(&[good[0], good[1], good[2], good[3], &[]])), Some(RlpFault::Trailing));
    assert_eq!(fault(&leaf_of(&[&[0], good[1], good[2], good[3]])), Some(RlpFault::IntegerZero));
    let length = |least, most, found| Some(RlpFault::Length { least, most, found });
    assert_eq!(fault(&leaf_of(&[&[1; 9], good[1], good[2], good[3]])), length(0, 8, 9));
    assert_eq!(fault(&leaf_of(&[&[1], &[1; 33], good[2], good[3]])), length(0, 32, 33));
    assert_eq!(fault(&leaf_of(&[&[1], &[1], &[1; 31], good[3]])), length(32, 32, 31));
    let slot = |value: &[u8]| {
        let node = strings(&[&[&[0x20][..], &keccak_256(&word(1))].concat(), value]);
        state(&leaf_of(&[&[1], &[2], &keccak_256(&node), &EMPTY_CODE]), vec![node])
            .slot(&A, &word(1))
            .map_err(|e| e.fault)
    };
    assert_eq!(slot(&[5]), Ok(word(5)));
    assert_eq!(slot(&[0x80]), Err(Fault::ZeroLeaf));
    assert!(matches!(slot(&[0x82, 0, 1]), Err(Fault::Leaf(e)) if e.fault == RlpFault::IntegerZero));
    assert!(matches!(slot(&[5, 5]), Err(Fault::Leaf(e)) if e.fault == RlpFault::Trailing));
    assert!(matches!(slot(&[0xc0]), Err(Fault::Leaf(e)) if e.fault == RlpFault::NotAString));
}
