//! Damaged nodes: no panic, and accepted nodes have one encoding.
//!
//! `PROPTEST_CASES` sets the number of cases.

use std::sync::{Arc, LazyLock};

use evergrove_ethereum::input::{check_proofs, read_changes, read_claims, read_header, read_proofs, read_witness};
use evergrove_ethereum::{Keys, Lookup, Nodes, Trie};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{Claim, Hash};
use proptest::prelude::*;

use crate::common::{all, file, text};
use crate::input::state;

/// Nodes of real blocks, and small ones.
static NODES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut nodes = all(&file("mainnet-19840104.json").expect("in the repository")["preNodes"]);
    let mut trie = Trie::empty(Keys::Index);
    for i in 0..=255 {
        trie.put(&[i, i % 7], Some(&[i | 1])).expect("a key");
    }
    nodes.extend((0..=255).flat_map(|i| {
        trie.proof(&[i, i % 7]).expect("all is known").into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    }));
    nodes.sort_unstable_by_key(|n| (n.len(), n.clone()));
    nodes.dedup();
    nodes
});

/// Answers of `eth_getProof`, their root, and the claims that follow.
static ANSWERS: LazyLock<(Hash, Vec<u8>, Vec<Claim>)> = LazyLock::new(|| {
    let (root, answers) = state();
    let text = text(&answers);
    let claims = check_proofs(&root, read_proofs(&text).expect("answers")).expect("good").claims;
    (root, text, claims)
});

fn mutated(node: &[u8], edits: &[(u8, u16, u8)]) -> Vec<u8> {
    let mut node = node.to_vec();
    for &(what, at, byte) in edits {
        let at = usize::from(at) % (node.len() + 1);
        match what % 5 {
            0 | 1 if at < node.len() => node[at] ^= byte | 1,
            2 => node.insert(at, byte),
            3 if at < node.len() => drop(node.remove(at)),
            4 if byte < 8 => node.truncate(at),
            _ => node[at..].iter_mut().take(2).for_each(|b| *b = byte),
        }
    }
    node
}

proptest! {
    #[test]
    fn damaged_nodes_are_refused_or_have_one_encoding(
        which: prop::sample::Index,
        edits in prop::collection::vec(any::<(u8, u16, u8)>(), 1..4),
        key: [u8; 32],
        hashed: bool,
    ) {
        let node = mutated(which.get::<Vec<u8>>(&NODES), &edits);
        let root = keccak_256(&node);
        let nodes = Arc::new(Nodes::new([node.clone()]).expect("one"));
        let keys = if hashed { Keys::Hashed } else { Keys::Index };
        let trie = Trie::new(&root, keys, nodes);
        let answer = trie.get(&key);
        let mut changed = trie.clone();
        // If a value can be put at the key and removed again, the root is unchanged: the node has its canonical
        // encoding.
        let put = changed.put(&key, Some(&[0xab; 3]));
        prop_assert!(put.is_ok() || answer.is_err() || matches!(answer, Ok(Lookup::Absent(_))));
        if put.is_ok() {
            prop_assert_eq!(changed.get(&key), Ok(Lookup::Present(vec![0xab; 3])));
            prop_assert_ne!(changed.root(), root);
            let back = match answer {
                Ok(Lookup::Present(ref value)) => changed.put(&key, Some(value)),
                _ => changed.put(&key, None),
            };
            if back.is_ok() {
                prop_assert_eq!(changed.root(), root, "{:02x?}", node);
            }
        }
    }

    #[test]
    fn damaged_answers_prove_nothing_else(edits in prop::collection::vec(any::<(u8, u16, u8)>(), 1..4)) {
        let (root, good, claims) = &*ANSWERS;
        let text = mutated(good, &edits);
        if let Ok(checked) = read_proofs(&text).and_then(|proofs| check_proofs(root, proofs)) {
            for claim in checked.claims {
                // Another address or slot may be requested; the original request has the same answer.
                let known = claims.iter().find(|c| c.key() == claim.key());
                prop_assert!(known.is_none_or(|known| *known == claim), "{claim}");
            }
        }
        // Other readers answer or refuse.
        prop_assert!(read_claims(&text).map_or(true, |claims| !claims.is_empty() || text.trim_ascii() == b"[]"));
        prop_assert!(read_header(&text, None).is_err());
        let _ = (read_changes(&text), read_witness(&text));
    }

    #[test]
    fn arbitrary_bytes_never_panic(node: Vec<u8>, key: [u8; 32]) {
        let root = keccak_256(&node);
        let mut trie = Trie::new(&root, Keys::Index, Arc::new(Nodes::new([node]).expect("one")));
        let before = trie.get(&key);
        if trie.put(&key, None).is_ok() {
            prop_assert!(before.is_ok());
            prop_assert!(matches!(trie.get(&key), Ok(Lookup::Absent(_))));
        }
    }
}
