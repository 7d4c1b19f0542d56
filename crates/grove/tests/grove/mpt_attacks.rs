//! Attacks on pieces, plans and batches: values set directly, claims and tries of unusual forms, hostile bytes.

use std::collections::HashMap;

use evergrove_grove::mpt::{Batch, Edge, Kind, Plan, Prepared, Size, StateProof, Statement, Witness};
use evergrove_primitives::Digest;
use evergrove_primitives::field::Goldilocks;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_primitives::hash::poseidon;
use evergrove_verifier::ethereum::{Account, Address, Claim, EMPTY_ROOT, Hash, Roots, Tag, canonical_digest, rlp};
use evergrove_verifier::tree::node_digest;

use crate::mpt::{KEY, WORLD, address, circuit, word};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

fn edge_list(elements: &[Goldilocks]) -> Digest {
    let mut state = [ZERO; 4];
    state[0] = Goldilocks::new(u32::from_be_bytes(*b"ETHD").into());
    for step in elements.chunks(8) {
        let mut full = [ZERO; poseidon::WIDTH];
        full[..8].copy_from_slice(step);
        full[8..].copy_from_slice(&state);
        poseidon::permute(&mut full);
        state.copy_from_slice(&full[..4]);
    }
    Digest(state)
}

/// An edge of a piece whose d counts the claims below one open edge twice, next to roots whose lanes are not nibbles.
#[test]
fn an_open_edge_twice_around_the_field() {
    let world = &*WORLD;
    let claims: Vec<Claim> = [0, 1, 2, 3, 8, 11, 17, 29, 33].map(|slot| world.slot(2, slot)).to_vec();
    let tiny = Size { blocks: 6, branches: 2, paths: 4, accounts: 2, slots: 4, roots: 4, opens: 6, ..Size::NONE };
    let plan = Plan::new(&world.witness(&claims).unwrap(), &claims, tiny, None).unwrap();
    const JUNK: usize = 15;
    let mut tried = 0;
    for piece in 0..plan.pieces.len() {
        let planned = &plan.pieces[piece];
        let opens: Vec<Edge> = planned.below.iter().flat_map(|&below| plan.pieces[below].roots.clone()).collect();
        let has_slots = planned.claims.iter().any(|(_, claim)| matches!(claim, Claim::Slot { .. }));
        if has_slots || !opens.iter().any(|edge| edge.trie.account().is_some()) {
            continue;
        }
        tried += 1;
        let witness = plan.witness(piece, &|hash| world.nodes.get(hash).map(Vec::as_slice)).unwrap();
        let own = witness.size();
        let size = Size { roots: own.roots + JUNK, opens: own.opens + JUNK + 1, ..tiny };
        let mut free = witness.data(size, KEY).unwrap();
        let circuit = circuit(size);
        assert!(circuit.witness(&free).unwrap().faults(&circuit).is_empty());
        const OPEN: usize = 49;
        let first_root = 16 + 4 * ((size.blocks * 136).div_ceil(16) + 1) + size.blocks - 1;
        let root_at = |i: usize| if i == 0 { first_root } else { first_root + 26 + 27 * (i - 1) + 1 };
        let merges_len = size.accounts + size.slots + size.opens - 1;
        let behind = 10 * merges_len + 9 * (size.roots + size.opens - 2);
        let first = free.len() - behind - OPEN * size.opens;
        let merges = free.len() - behind;
        let root_pairs = merges + 10 * merges_len;
        let open_pairs = root_pairs + 9 * (size.roots - 1);
        // The last open edge of the piece, which is one of storage.
        let last = first + OPEN * (own.opens - 1);
        let open: Vec<Goldilocks> = free[last..last + OPEN].to_vec();
        let edge: Vec<Goldilocks> = open[11..35].to_vec();
        assert_eq!(edge[5], ONE);
        let depth = edge[6].as_u64();
        assert!(depth < 15);
        let hold = |depth: u64| Goldilocks::new(1_u64 << 4).pow(15 - depth);
        let begin = edge[7] + hold(depth);
        let all = ((1_u128 << 64) - (1 << 32) + 1) - (1_u128 << (4 * (15 - depth))) - 15 * (1 << 56);
        let step = u64::try_from(all / 16).unwrap();
        assert!(step <= 1 << 60);
        let mut at = begin;
        let mut lists: Vec<Digest> = (0..own.opens).map(|i| edge_list(&free[first + OPEN * i + 11..][..24])).collect();
        let mut shown: Vec<Digest> = Vec::new();
        // d of the root above the edge counts it twice.
        let root = open[5].as_u64() as usize;
        let d: [Goldilocks; 4] = free[root_at(root) + 20..][..4].try_into().unwrap();
        let of_open: [Goldilocks; 4] = edge[20..].try_into().unwrap();
        let twice = node_digest(&Digest(d), &Digest(of_open));
        free[root_at(root) + 20..][..4].copy_from_slice(&twice.0);
        let unused = (0..merges_len).find(|i| free[merges + 10 * i + 9] == ZERO).unwrap();
        let merge = merges + 10 * unused;
        free[merge..merge + 4].copy_from_slice(&d);
        free[merge + 4..merge + 8].copy_from_slice(&of_open);
        free[merge + 8] = Goldilocks::new(root as u64);
        free[merge + 9] = ONE;
        for i in 0..own.roots {
            shown.push(edge_list(&free[root_at(i)..][..24]));
        }
        for k in 0..JUNK {
            at += Goldilocks::new(step);
            let number = own.roots + k;
            let mut junk = edge.clone();
            junk[6] = ONE;
            junk[7] = at;
            junk[8..12].fill(ZERO);
            let to = root_at(number);
            free[to - 1] = ONE;
            free[to..to + 24].copy_from_slice(&junk);
            free[to + 24] = open[4];
            free[to + 25] = open[35];
            shown.push(edge_list(&junk));
            lists.push(edge_list(&junk));
            let mut slot = open.clone();
            slot[1] = Goldilocks::new(number as u64);
            slot[2] = ZERO;
            slot[3] = ZERO;
            slot[5] = Goldilocks::new(number as u64);
            slot[6] = at;
            slot[7..11].fill(ZERO);
            slot[11..35].copy_from_slice(&junk);
            let to = first + OPEN * (own.opens + k);
            free[to..to + OPEN].copy_from_slice(&slot);
            at += hold(1);
        }
        let to = first + OPEN * (own.opens + JUNK);
        free[to..to + OPEN].copy_from_slice(&open);
        lists.push(edge_list(&edge));
        for (which, (members, pairs)) in [(&shown, root_pairs), (&lists, open_pairs)].into_iter().enumerate() {
            let mut sum = members[0];
            for i in 0..members.len() - 1 {
                let pair = pairs + 9 * i;
                free[pair..pair + 4].copy_from_slice(&sum.0);
                free[pair + 4..pair + 8].copy_from_slice(&members[i + 1].0);
                free[pair + 8] = ONE;
                sum = poseidon::compress(&sum, &members[i + 1], Goldilocks::new(0x4c49_5354));
            }
            free[4 * which..4 * which + 4].copy_from_slice(&sum.0);
        }
        let faults = circuit.witness(&free).unwrap().faults(&circuit);
        assert!(!faults.is_empty(), "a piece counts an open edge twice");
    }
    assert!(tried > 0);
}

fn nibbles(key: &Hash) -> Vec<u8> {
    key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect()
}

fn path_item(nibbles: &[u8], leaf: bool) -> Vec<u8> {
    let odd = nibbles.len() % 2 == 1;
    let flag = 2 * u8::from(leaf) + u8::from(odd);
    let mut all = vec![flag];
    if !odd {
        all.push(0);
    }
    all.extend(nibbles);
    all.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let content = items.concat();
    let mut out = match content.len() {
        n @ 0..56 => vec![0xc0 + n as u8],
        n @ 56..256 => vec![0xf8, n as u8],
        n => vec![0xf9, (n >> 8) as u8, n as u8],
    };
    out.extend(content);
    out
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    rlp::write_string(&mut out, bytes);
    out
}

/// A trie with one key whose path is walked: branches at these depths, extensions between them, a leaf at the end.
fn deep(key: &Hash, value: &[u8], branches: &[usize], nodes: &mut HashMap<Hash, Vec<u8>>) -> Hash {
    let key = nibbles(key);
    let last = branches.last().map_or(0, |last| last + 1);
    let mut node = list(&[string(&path_item(&key[last..], true)), string(value)]);
    for (i, &depth) in branches.iter().enumerate().rev() {
        let child = if node.len() < 32 { node.clone() } else { string(&keccak_256(&node)) };
        nodes.insert(keccak_256(&node), node);
        let mut items = vec![vec![0x80]; 17];
        items[usize::from(key[depth])] = child;
        items[usize::from(key[depth] ^ 1)] = string(&[9; 32]);
        node = list(&items);
        let above = if i == 0 { 0 } else { branches[i - 1] + 1 };
        if above < depth {
            let child = string(&keccak_256(&node));
            nodes.insert(keccak_256(&node), node);
            node = list(&[string(&path_item(&key[above..depth], false)), child]);
        }
    }
    let root = keccak_256(&node);
    nodes.insert(root, node);
    root
}

fn plan_holds(root: &Hash, nodes: &HashMap<Hash, Vec<u8>>, claims: &[Claim], size: Size, cut: Option<u8>) {
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let whole = Witness::new(&Roots::of_state(*root), &find, claims).unwrap();
    let plan = Plan::new(&whole, claims, size, cut).unwrap();
    let circuit = circuit(size);
    for i in 0..plan.pieces.len() {
        let witness = plan.witness(i, &find).unwrap();
        let columns = circuit.witness(&witness.data(size, KEY).unwrap()).unwrap();
        let faults = columns.faults(&circuit);
        assert_eq!(
            faults.len(),
            0,
            "piece {i} of {}: {:?}: {:?}",
            plan.pieces.len(),
            plan.pieces[i].roots,
            &faults[..faults.len().min(6)]
        );
    }
}

/// Tries with branches at these depths; their edges are opened at every depth.
fn deep_tries(forms: impl IntoIterator<Item = Vec<usize>>) {
    let size = Size { blocks: 4, branches: 3, paths: 4, accounts: 3, slots: 4, roots: 3, opens: 3, ..Size::NONE };
    for form in forms {
        for small in [false, true] {
            let mut nodes = HashMap::new();
            let value = if small { word(5) } else { [0xab; 32] };
            let item = string(rlp::trimmed(&value));
            let storage_root = deep(&keccak_256(&word(1)), &item, &form, &mut nodes);
            let account = Account { nonce: 1, balance: word(9), storage_root, code_hash: [1; 32] };
            let own = address(0);
            let root = deep(&keccak_256(&own), &account.rlp(), &form, &mut nodes);
            // Absent keys: those with another first nibble.
            let free = |key: &Hash, of: &Hash| key[0] >> 4 != of[0] >> 4 && key[0] >> 4 != (of[0] >> 4 ^ 1);
            let absent = (1..).map(address).find(|a| free(&keccak_256(a), &keccak_256(&own))).unwrap();
            let zero = (2..).map(word).find(|a| free(&keccak_256(a), &keccak_256(&word(1)))).unwrap();
            let claims = vec![
                Claim::Account { address: own, account },
                Claim::AbsentAccount { address: absent },
                Claim::Slot { address: own, slot: word(1), value },
                Claim::Slot { address: own, slot: zero, value: [0; 32] },
                Claim::Slot { address: absent, slot: zero, value: [0; 32] },
            ];
            plan_holds(&root, &nodes, &claims, size, None);
            plan_holds(&root, &nodes, &claims, size, Some(15));
            plan_holds(&root, &nodes, &claims[2..3], size, Some(63));
            plan_holds(&root, &nodes, &claims[..1], size, Some(62));
        }
    }
}

#[test]
fn deep_tries_hold() {
    deep_tries([vec![14, 15, 62, 63]]);
}

#[test]
#[ignore = "slow: a minute"]
fn the_deepest_tries_hold() {
    deep_tries([
        (0..64).collect(),
        vec![63],
        vec![0, 14, 15, 16, 29, 30, 31, 44, 45, 46, 59, 60, 61, 62, 63],
        vec![62, 63],
        (1..63).step_by(2).collect(),
    ]);
}

/// Random claims and random sizes.
#[test]
fn random_plans() {
    let world = &*WORLD;
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let find = |hash: &Hash| world.nodes.get(hash).map(Vec::as_slice);
    let (mut planned, mut crowded, mut full) = (0, 0, 0);
    for case in 0..150 {
        let count = 1 + next(40);
        let mut claims: Vec<Claim> = Vec::new();
        for _ in 0..count {
            let slot = world.slot([0, 1, 2, 2, 2, 3, 4, 5, 6, 9, 11][next(11) as usize], next(40));
            let claim = if next(3) == 0 {
                match &slot {
                    Claim::Slot { address, .. } => {
                        let all = world.claims();
                        let own = all.iter().find(|claim| match claim {
                            Claim::Account { address: own, .. } | Claim::AbsentAccount { address: own } => {
                                own == address
                            }
                            _ => false,
                        });
                        own.cloned().unwrap_or(slot)
                    }
                    _ => slot,
                }
            } else {
                slot
            };
            if !claims.iter().any(|own| own.key() == claim.key()) {
                claims.push(claim);
            }
        }
        let size = Size {
            blocks: 4 + next(14) as usize,
            branches: 1 + next(4) as usize,
            paths: 1 + next(6) as usize,
            accounts: 1 + next(6) as usize,
            slots: 1 + next(8) as usize,
            roots: 1 + next(6) as usize,
            opens: next(7) as usize,
            ..Size::NONE
        };
        let cut = [None, Some(0), Some(1), Some(2), Some(200)][next(5) as usize];
        let whole = world.witness(&claims).unwrap();
        let plan = match Plan::new(&whole, &claims, size, cut) {
            Ok(plan) => plan,
            Err(e) => {
                crowded += 1;
                assert!(e.to_string().contains("nodes that stay together"), "{e}");
                continue;
            }
        };
        planned += 1;
        let check = planned % 10 == 0;
        let circuit = check.then(|| circuit(size));
        for i in 0..plan.pieces.len() {
            let witness = plan.witness(i, &find).unwrap_or_else(|e| panic!("case {case}, piece {i}: {e}"));
            let data = witness
                .data(size, KEY)
                .unwrap_or_else(|e| panic!("case {case}, piece {i}: {e}: {size:?} {:?}", witness.size()));
            if let Some(circuit) = &circuit {
                let faults = circuit.witness(&data).unwrap().faults(circuit);
                assert!(faults.is_empty(), "case {case}, piece {i}: {:?}", &faults[..faults.len().min(4)]);
                full += 1;
            }
        }
    }
    assert!(planned > 20 && crowded > 20 && full > 4, "{planned} {crowded} {full}");
}

/// Claims that end at one node: a piece has room for them, but not a piece of the chosen size.
#[test]
fn crowded_sizes() {
    let account = Account { nonce: 1, balance: word(9), storage_root: EMPTY_ROOT, code_hash: [1; 32] };
    let mut nodes = HashMap::new();
    let root = deep(&keccak_256(&address(0)), &account.rlp(), &[0, 1], &mut nodes);
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let claims: Vec<Claim> =
        (0..400).map(|i| Claim::Slot { address: address(0), slot: word(i), value: [0; 32] }).collect();
    let whole = Witness::new(&Roots::of_state(root), &find, &claims).unwrap();
    let size = Batch::size_for(&whole, 12_000_000, None);
    assert!(Plan::new(&whole, &claims, size, None).is_ok());
}

/// Sizes at the bounds: either a circuit is built and the proof is refused, or no circuit is built.
#[test]
fn hostile_sizes() {
    let least = Size { blocks: 1, accounts: 1, roots: 1, ..Size::NONE };
    for (size, kind) in [
        (least, Kind::Pieces),
        (Size { roots: 8300, ..least }, Kind::Piece),
        (Size { opens: 2780, ..least }, Kind::Joins),
        (Size { paths: 2300, ..least }, Kind::Pieces),
    ] {
        let statement = Statement::Roots(vec![(Tag::State, [7; 32], Digest::ZERO)]);
        let proof = StateProof { size, kind, statement, proof: vec![0; 1000] };
        assert_eq!(StateProof::from_bytes(&proof.to_bytes()).unwrap(), proof);
        assert!(proof.verify(&Roots::of_state([7; 32]), None).is_err());
    }
}

/// Proofs of an earlier batch are verified before they are reused.
#[test]
fn a_batch_of_no_proofs() {
    let world = &*WORLD;
    let claims = world.claims();
    let find = |hash: &Hash| world.nodes.get(hash).map(Vec::as_slice);
    let size = Size { blocks: 16, branches: 4, paths: 7, accounts: 6, slots: 10, roots: 6, opens: 6, ..Size::NONE };
    let prepared = Prepared::new(&Roots::of_state(world.root), &find, &claims, (size, None), None).unwrap();
    let prover = prepared.prover().unwrap();
    let whole = Edge::of_root(Tag::State, world.root, canonical_digest(&claims).unwrap());
    let mut batch = prepared.prove(&prover, &find, &mut |_| ()).unwrap();
    assert_eq!(batch.proofs.last().unwrap().lists, [whole.list(), Digest::ZERO]);
    for proof in &mut batch.proofs {
        proof.bytes = vec![1, 2, 3];
    }
    let batch = Batch::from_bytes(&batch.to_bytes()).unwrap();
    let again = Prepared::new(&Roots::of_state(world.root), &find, &claims, (size, None), Some(&batch)).unwrap();
    assert_eq!(again.new_proofs(), [0, 0]);
    let result = again.prove(&prover, &find, &mut |_| ());
    // The proofs are made again.
    let proof = result.unwrap().proof().unwrap();
    prover
        .verifier()
        .verify(proof.kind, &proof.proof, &[(Tag::State, world.root, canonical_digest(&claims).unwrap())])
        .unwrap();
}

/// A branch below an extension fits into a piece, but not together with the extension. The edges below the branch are
/// left open.
#[test]
fn an_extension_above_a_full_piece() {
    let mut nodes = HashMap::new();
    let value = [0xab; 32];
    let storage: Vec<usize> = (0..6).collect();
    let storage_root = deep(&keccak_256(&word(1)), &string(&value), &storage, &mut nodes);
    let account = Account { nonce: 1, balance: word(9), storage_root, code_hash: [1; 32] };
    let root = deep(&keccak_256(&address(0)), &account.rlp(), &[1], &mut nodes);
    let claims = [Claim::Slot { address: address(0), slot: word(1), value }];
    for blocks in 4..12 {
        let size = Size {
            blocks,
            branches: 8,
            paths: 4,
            accounts: 2,
            slots: 2,
            roots: 2,
            opens: 2,
            entries: 0,
            steps: 0,
            header: false,
        };
        plan_holds(&root, &nodes, &claims, size, None);
    }
}

/// A file of empty nodes takes many times its length in memory.
#[test]
fn a_batch_of_empty_nodes() {
    let mut bytes = b"EVGB\x03\0".to_vec();
    for count in [1_u32, 0, 0, 1, 0, 1, 0, 0, 0] {
        bytes.extend(count.to_le_bytes());
    }
    // No cut, and one root.
    bytes.extend([255, 1, 1]);
    bytes.extend([7; 32]);
    bytes.extend(0_u32.to_le_bytes());
    let count = 1_u32 << 24;
    bytes.extend(count.to_le_bytes());
    bytes.resize(bytes.len() + 4 * count as usize, 0);
    bytes.extend(0_u32.to_le_bytes());
    let error = Batch::from_bytes(&bytes).unwrap_err().to_string();
    assert!(
        error.ends_with("it has more claims, nodes or proofs than a batch"),
        "{count} nodes in {} bytes: {error}",
        bytes.len()
    );
}

fn halves(bytes: &[u8]) -> Vec<Goldilocks> {
    bytes
        .chunks(4)
        .map(|half| Goldilocks::new(half.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))))
        .collect()
}

fn ordered(trie: u64, key: &Hash) -> [Goldilocks; 6] {
    let mut all = [ZERO; 6];
    all[0] = Goldilocks::new(trie);
    for (i, nibble) in nibbles(key).into_iter().enumerate() {
        let lane = (i / 15).min(4);
        all[1 + lane] += Goldilocks::new(u64::from(nibble)) * Goldilocks::new(16).pow(14 - (i - 15 * lane) as u64);
    }
    all
}

/// The storage of an account is left open at its root. That is true, unless a slot of the storage is claimed beside it,
/// or the account is foreign or absent.
#[test]
fn a_slot_beside_its_open_storage() {
    let world = &*WORLD;
    let accounts: Vec<Claim> =
        world.claims().into_iter().filter(|claim| matches!(claim, Claim::Account { .. })).collect();
    let Claim::Slot { address: own, .. } = world.slot(2, 0) else { unreachable!() };
    let account = accounts
        .iter()
        .find(|claim| matches!(claim, Claim::Account { address, .. } if *address == own))
        .unwrap()
        .clone();
    let Claim::Account { account: Account { storage_root, .. }, .. } = account else { unreachable!() };
    let other = accounts.iter().find(|claim| **claim != account).unwrap().clone();
    let cases: [(&str, Vec<Claim>, bool); 4] = [
        ("nothing beside it", vec![account.clone()], true),
        ("another account", vec![account.clone(), other, world.slot(3, 0)], true),
        ("a slot", vec![account.clone(), world.slot(2, 3)], false),
        ("a zero slot", vec![account.clone(), world.slot(2, 35), world.slot(50, 1)], false),
    ];
    for (what, claims, expected) in cases {
        let witness = world.witness(&claims).unwrap();
        let size = Size { opens: 1, ..witness.size() };
        let circuit = circuit(size);
        let honest = witness.data(size, KEY).unwrap();
        assert!(circuit.witness(&honest).unwrap().faults(&circuit).is_empty());
        let first_account = size.roots + size.branches + size.paths;
        let address = |claim: &Claim| match claim {
            Claim::Account { address, .. } | Claim::AbsentAccount { address } | Claim::Slot { address, .. } => *address,
            _ => unreachable!(),
        };
        let mut keys: Vec<(Hash, Address)> =
            claims.iter().map(|claim| (keccak_256(&address(claim)), address(claim))).collect();
        keys.sort_unstable();
        keys.dedup();
        let number = |of: &Address| (first_account + keys.iter().position(|(_, own)| own == of).unwrap()) as u64;
        let mut order = vec![[ZERO, -ONE, ZERO, ZERO, ZERO, ZERO]];
        order.extend(keys.iter().map(|(key, _)| ordered(0, key)));
        let mut slots: Vec<(u64, Hash)> = claims
            .iter()
            .filter_map(|claim| match claim {
                Claim::Slot { address, slot, .. } => Some((number(address), keccak_256(slot))),
                _ => None,
            })
            .collect();
        slots.sort_unstable();
        order.extend(slots.iter().map(|(trie, key)| ordered(*trie, key)));
        order.push([Goldilocks::new(1 << 33), ZERO, ZERO, ZERO, ZERO, ZERO]);
        let merges_len = size.accounts + size.slots;
        let merges = honest.len() - 10 * merges_len;
        let open = merges - 49;
        let root = 16 + 4 * ((size.blocks * 136).div_ceil(16) + 1) + size.blocks - 1;
        let trie = number(&own);
        let mut held = 0;
        for before in 0..order.len() - 1 {
            for foreign in [false, true] {
                let mut free = honest.clone();
                let below: [Goldilocks; 4] = [11, 12, 13, 14].map(Goldilocks::new);
                let mut edge = halves(&own);
                edge.extend([ONE, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO]);
                edge.extend(halves(&storage_root));
                edge.extend(below);
                free[open] = ONE;
                free[open + 1] = Goldilocks::new(trie);
                free[open + 2] = ZERO;
                free[open + 3] = -ONE;
                free[open + 4] = Goldilocks::new(trie);
                free[open + 5..open + 11].fill(ZERO);
                free[open + 11..open + 35].copy_from_slice(&edge);
                free[open + 35] = ZERO;
                free[open + 36] = Goldilocks::new((first_account - 1 + before) as u64);
                free[open + 37..open + 49].copy_from_slice(order[before..before + 2].as_flattened());
                let d: [Goldilocks; 4] = free[root + 20..root + 24].try_into().unwrap();
                let both = node_digest(&Digest(d), &Digest(below));
                free[root + 20..root + 24].copy_from_slice(&both.0);
                let unused = (0..merges_len).find(|i| free[merges + 10 * i + 9] == ZERO).unwrap();
                let merge = merges + 10 * unused;
                free[merge..merge + 4].copy_from_slice(&d);
                free[merge + 4..merge + 8].copy_from_slice(&below);
                free[merge + 8] = ZERO;
                free[merge + 9] = ONE;
                let shown = edge_list(&free[root..root + 24]);
                free[..4].copy_from_slice(&shown.0);
                free[4..8].copy_from_slice(&edge_list(&edge).0);
                if foreign {
                    // Now nothing looks up the account's leaf, and nothing offers the root of its storage.
                    let account =
                        root + 26 + 22 * size.branches + 23 * size.paths + 74 * (trie as usize - first_account);
                    free[account + 1] = ZERO;
                    free[account + 3] = ONE;
                }
                let faults = circuit.witness(&free).unwrap().faults(&circuit);
                held += usize::from(faults.is_empty());
                assert!(!foreign || !faults.is_empty(), "{what}: foreign");
            }
        }
        assert_eq!(held, usize::from(expected), "{what}");
    }
}

/// The digests of two roots of one piece are exchanged, together with their trees.
#[test]
fn digests_of_roots_are_their_own() {
    let world = &*WORLD;
    let claims = world.claims();
    let size = Size { blocks: 16, branches: 4, paths: 7, accounts: 6, slots: 10, roots: 6, opens: 6, ..Size::NONE };
    let plan = Plan::new(&world.witness(&claims).unwrap(), &claims, size, Some(1)).unwrap();
    let piece = (0..plan.pieces.len()).find(|&i| plan.pieces[i].roots.len() > 1).unwrap();
    let witness = plan.witness(piece, &|hash| world.nodes.get(hash).map(Vec::as_slice)).unwrap();
    let own = witness.size();
    let honest = witness.data(size, KEY).unwrap();
    let circuit = circuit(size);
    let root = 16 + 4 * ((size.blocks * 136).div_ceil(16) + 1) + size.blocks - 1;
    let root_at = |i: usize| if i == 0 { root } else { root + 26 + 27 * (i - 1) + 1 };
    let merges_len = size.accounts + size.slots + size.opens - 1;
    let pairs = honest.len() - 9 * (size.roots + size.opens - 2);
    let merges = pairs - 10 * merges_len;
    for (exchange, trees, expected) in [(false, false, true), (true, false, false), (true, true, false)] {
        let mut free = honest.clone();
        if exchange {
            for i in 20..24 {
                free.swap(root_at(0) + i, root_at(1) + i);
            }
        }
        if trees {
            for i in 0..merges_len {
                let at = merges + 10 * i + 8;
                if free[at + 1] == ONE && free[at].as_u64() < 2 {
                    free[at] = ONE - free[at];
                }
            }
        }
        let mut sum = edge_list(&free[root_at(0)..][..24]);
        for i in 1..own.roots {
            let next = edge_list(&free[root_at(i)..][..24]);
            let pair = pairs + 9 * (i - 1);
            free[pair..pair + 4].copy_from_slice(&sum.0);
            free[pair + 4..pair + 8].copy_from_slice(&next.0);
            free[pair + 8] = ONE;
            sum = poseidon::compress(&sum, &next, Goldilocks::new(0x4c49_5354));
        }
        free[..4].copy_from_slice(&sum.0);
        assert_eq!(circuit.witness(&free).unwrap().faults(&circuit).is_empty(), expected, "{exchange} {trees}");
    }
}
