//! Lies about pieces that a search makes: an element of the free data, a byte of a node, or a choice, and what follows
//! from it.

use std::collections::HashMap;

use evergrove_ethereum::Trie;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_verifier::ethereum::{Account, Claim, EMPTY_ROOT, Hash, Roots, Tag, rlp};
use rayon::prelude::*;

use super::super::gadgets::{ONE, ZERO};
use super::super::{Plan, Size, Witness};
use super::state::with_two_open;
use super::{Lie, Report, STREAM, Subject, address, other_lists, others, piece_of, state, value, word};

const BYTES: [u8; 8] = [0, 0x7f, 0x80, 0x81, 0xa0, 0xb8, 0xc1, 0xf8];

/// The subject of a witness in a circuit with more room.
pub(super) fn subject(report: &mut Report, witness: &Witness, more: Size) -> (Subject, Size) {
    let own = witness.size();
    let size = Size {
        blocks: own.blocks + more.blocks,
        branches: own.branches + more.branches,
        paths: own.paths + more.paths,
        accounts: own.accounts + more.accounts,
        slots: own.slots + more.slots,
        roots: own.roots + more.roots,
        opens: own.opens + more.opens,
        entries: own.entries + more.entries,
        steps: own.steps + more.steps,
        header: own.header,
    };
    let subject = Subject::new(piece_of(size), witness.data(size, [ONE; 4]).unwrap(), other_lists);
    report.of(&subject);
    (subject, size)
}

/// One byte in `every`, each element and one choice in sixteen.
pub(super) fn search(report: &mut Report, witness: &Witness, more: Size, every: usize) {
    let (subject, size) = subject(report, witness, more);
    let free = &subject.free;
    let stream = STREAM..STREAM + 4 * ((size.messages() * RATE_BYTES).div_ceil(16) + 1);
    // Bits that continue messages are behind the stream: only bits are hashed.
    let bits = stream.end..stream.end + size.messages() - 1;
    let elements = (0..free.len()).filter(|i| !stream.contains(i) || i + 8 >= stream.end);
    let elements = elements.flat_map(|i| others(free[i]).into_iter().map(move |x| (i, x)));
    let elements = elements.filter(|(i, x)| !bits.contains(i) || x.as_u64() < 2).map(|lie| (Some(lie), None));
    let bytes =
        stream.clone().filter(|&i| free[i] != ZERO).flat_map(|i| (0..4).map(move |k| (i, k))).flat_map(|(i, k)| {
            let half = free[i].as_u64();
            BYTES.into_iter().map(move |byte| {
                (Some((i, Goldilocks::new(half & !(0xff << (8 * k)) | u64::from(byte) << (8 * k)))), None)
            })
        });
    let own = subject.honest(free);
    let choices =
        own.iter().step_by(5).flat_map(|&(row, x)| others(x).into_iter().map(move |x| (None, Some((row, x)))));
    let lies: Vec<_> = elements.chain(bytes.step_by(every)).chain(choices).collect();
    let found = lies.into_par_iter().flat_map_iter(|(element, choice)| {
        let mut lie = Lie::new(&subject);
        lie = element.into_iter().fold(lie, |lie, (i, x)| lie.set(i, &[x]));
        lie = choice.into_iter().fold(lie, |lie, (row, x)| lie.choose(row, x));
        lie.alone()
    });
    report.add(found.collect::<Vec<_>>());
}

pub(super) fn of_state(report: &mut Report) {
    let none = Size::NONE;
    let (root, nodes) = state(&[0]);
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let of = |root: Hash, claims: &[Claim]| Witness::new(&Roots::of_state(root), &find, claims).unwrap();
    let account = Account { nonce: 1, balance: word(9), storage_root: EMPTY_ROOT, code_hash: [1; 32] };
    let present = Claim::Account { address: address(0), account };
    search(report, &of(root, std::slice::from_ref(&present)), none, 13);
    search(report, &of(root, &[Claim::AbsentAccount { address: address(7) }]), none, 97);
    let zero = Claim::Slot { address: address(0), slot: word(3), value: [0; 32] };
    search(report, &of(root, &[zero]), none, 97);
    let nothing = Claim::AbsentAccount { address: address(7) };
    let empty = Witness::new(&Roots::of_state(EMPTY_ROOT), &|_| None, &[nothing]).unwrap();
    search(report, &empty, none, 97);
    search(report, &with_two_open(), none, usize::MAX);

    // A storage trie below an open edge.
    let (root, nodes) = state(&[2, 1, 0]);
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let claims = [0, 1, 7].map(|slot| {
        let value = if slot < 2 { value(slot) } else { [0; 32] };
        Claim::Slot { address: address(0), slot: word(slot), value }
    });
    let whole = Witness::new(&Roots::of_state(root), &find, &claims).unwrap();
    let size = Size { blocks: 8, branches: 2, paths: 3, accounts: 3, slots: 4, roots: 3, opens: 3, ..none };
    let plan = Plan::new(&whole, &claims, size, Some(0)).unwrap();
    for i in 0..plan.pieces.len() {
        let witness = plan.witness(i, &find).unwrap();
        search(report, &witness, Size { roots: 1, opens: 1, accounts: 1, ..none }, 97);
    }
}

pub(super) fn of_entries(report: &mut Report) {
    for (count, length, index, every) in [(1, 12, 0, 11), (1, 70, 0, 29), (3, 20, 200, 97)] {
        let values: Vec<Vec<u8>> = (0..count).map(|i| vec![0x90 + i; length]).collect();
        let mut trie = Trie::indexed(&values).unwrap();
        let root = trie.root();
        let proof = trie.proof(&rlp::integer(index)).unwrap();
        let nodes: HashMap<Hash, Vec<u8>> = proof.into_iter().map(|node| (keccak_256(node), node.to_vec())).collect();
        let claim = match values.get(index as usize) {
            Some(value) => Claim::Entry { trie: Tag::Receipts, index, value: value.clone() },
            None => Claim::AbsentEntry { trie: Tag::Receipts, index },
        };
        let roots = Roots::new(vec![(Tag::Receipts, root)]).unwrap();
        let witness = Witness::new(&roots, &|hash| nodes.get(hash).map(Vec::as_slice), &[claim]).unwrap();
        search(report, &witness, Size::NONE, every);
    }
}
