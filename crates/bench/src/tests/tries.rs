//! Compares tries with those of alloy-trie byte by byte: roots, proofs and changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_trie::proof::{ProofRetainer, verify_proof};
use alloy_trie::{HashBuilder, Nibbles};
use evergrove_ethereum::{Keys, Lookup, Nodes, Trie};
use evergrove_verifier::ethereum::rlp;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// How a trie's keys are made.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// 32 random bytes.
    Random,
    /// 32 bytes that differ in few positions: long extensions at any depth, and embedded branches near the end.
    Twins,
    /// 2 bytes: many embedded leaves.
    Short,
    /// rlp(i).
    Indices,
}

const SHAPES: [Shape; 4] = [Shape::Random, Shape::Twins, Shape::Short, Shape::Indices];

impl Shape {
    fn keys(self) -> Keys {
        if let Self::Random = self { Keys::Hashed } else { Keys::Index }
    }

    fn key(self, rng: &mut ChaCha8Rng) -> Vec<u8> {
        match self {
            Self::Random => rng.r#gen::<[u8; 32]>().to_vec(),
            Self::Twins => {
                let mut key = [0x5a; 32];
                for _ in 0..rng.gen_range(0..4) {
                    key[rng.gen_range(0..32)] = [0x5b, 0x6a, 0][rng.gen_range(0..3)];
                }
                key.to_vec()
            }
            Self::Short => vec![rng.gen_range(0..4), rng.r#gen()],
            Self::Indices => rlp::integer(rng.gen_range(0..700)),
        }
    }
}

fn value(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let length = if rng.gen_bool(0.5) { 1 } else { rng.gen_range(1..120) };
    (0..length).map(|_| rng.r#gen()).collect()
}

fn theirs(pairs: &Pairs, targets: &[Vec<u8>]) -> ([u8; 32], HashBuilder) {
    let mut builder =
        HashBuilder::default().with_proof_retainer(ProofRetainer::new(targets.iter().map(Nibbles::unpack).collect()));
    for (key, value) in pairs {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    (builder.root().0, builder)
}

#[test]
fn tries_have_the_bytes_of_alloys() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut proofs, mut verified, mut absent, mut embedded) = (0, 0, 0, 0);
    for case in 0..10_000 {
        let shape = SHAPES[case % 4];
        let count = rng.gen_range(0..if case % 10 == 0 { 300 } else { 24 });
        let mut order: Vec<(Vec<u8>, Vec<u8>)> = (0..count).map(|_| (shape.key(&mut rng), value(&mut rng))).collect();
        let mut trie = Trie::empty(shape.keys());
        order.iter().for_each(|(key, value)| trie.put(key, Some(value)).expect("a key of the shape"));
        let pairs: Pairs = order.iter().cloned().collect();
        order.shuffle(&mut rng);
        let mut targets: Vec<Vec<u8>> = order.into_iter().map(|(key, _)| key).take(4).collect();
        targets.extend((0..4).map(|_| shape.key(&mut rng)));
        let (root, mut builder) = theirs(&pairs, &targets);
        assert_eq!(trie.root(), root, "case {case}, {shape:?}, {} keys", pairs.len());
        if pairs.is_empty() {
            continue;
        }
        let nodes = builder.take_proof_nodes();
        for target in targets {
            let ours: Vec<Vec<u8>> = trie.proof(&target).expect("all is known").iter().map(|n| n.to_vec()).collect();
            let path = Nibbles::unpack(&target);
            let all: Vec<Vec<u8>> = nodes.matching_nodes_sorted(&path).iter().map(|(_, n)| n.to_vec()).collect();
            // alloy-trie lists an embedded node again after its parent, and needs it there.
            let listed = all.iter().enumerate().filter(|(i, node)| *i == 0 || node.len() >= 32);
            let listed: Vec<Vec<u8>> = listed.map(|(_, node)| node.clone()).collect();
            assert_eq!(ours, listed, "case {case}, {shape:?}");
            embedded += all.len() - ours.len();
            let found = pairs.get(&target).cloned();
            // alloy-trie rejects a root node shorter than 32 bytes.
            if all.len() == ours.len() && ours[0].len() >= 32 {
                verified += 1;
                let known: Vec<_> = ours.iter().map(|n| n.clone().into()).collect();
                verify_proof(root.into(), path, found.clone(), &known).expect("theirs takes our proof");
            }
            let part = Trie::new(&root, shape.keys(), Arc::new(Nodes::new(listed).expect("few")));
            match part.get(&target).expect("ours takes their proof") {
                Lookup::Present(value) => assert_eq!(Some(value), found),
                Lookup::Absent(_) => {
                    assert_eq!(None, found);
                    absent += 1;
                }
            }
            proofs += 1;
        }
    }
    assert!(proofs > 50_000 && verified > 40_000, "{verified} of {proofs} proofs");
    assert!(absent > 10_000 && embedded > 1_000, "{absent} absent keys, {embedded} embedded nodes");
}

#[test]
fn changes_lead_to_the_roots_of_alloys() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut deletions = 0;
    for case in 0..1_000 {
        let shape = SHAPES[case % 4];
        let (mut trie, mut pairs) = (Trie::empty(shape.keys()), Pairs::new());
        for step in 0..50 {
            let known: Vec<Vec<u8>> = pairs.keys().cloned().collect();
            let key = match known.choose(&mut rng) {
                Some(key) if rng.gen_bool(0.6) => key.clone(),
                _ => shape.key(&mut rng),
            };
            if rng.gen_bool(0.45) {
                trie.put(&key, None).expect("all is known");
                deletions += usize::from(pairs.remove(&key).is_some());
            } else {
                let value = value(&mut rng);
                trie.put(&key, Some(&value)).expect("a key of the shape");
                pairs.insert(key, value);
            }
            // Other roots are computed after several changes.
            if step % 3 != 1 {
                assert_eq!(trie.root(), theirs(&pairs, &[]).0, "case {case}, {shape:?}, step {step}");
            }
        }
    }
    assert!(deletions > 10_000, "{deletions} deletions");
}
