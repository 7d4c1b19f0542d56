//! Free data of the circuits, in the order of their rows.

use std::collections::BTreeSet;

use evergrove_commit::{BucketWitness, LeafWitness, MergeWitness};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::Statement;
use evergrove_verifier::tree::{canonical_split, leaf_digest, node_digest, null_digests};

use crate::application::Application;
use crate::circuit::Size;
use crate::translation::{self, Leaves};

const ZERO: Goldilocks = Goldilocks::ZERO;

/// Free data of the bucket, without the claim that it passes on. The leaves must be those of the statement: the native
/// backend checks them.
pub fn bucket(size: Size, key: [Goldilocks; 4], witness: &BucketWitness) -> Vec<Goldilocks> {
    let BucketWitness { statement, leaves } = witness;
    let mut free = Vec::new();
    free.extend([statement.root.0, statement.canonical.0, key, numbers([number(statement), 0])].concat());
    flags(&mut free, statement.height, size.height_max);
    let mut known = BTreeSet::new();
    for slot in 0..size.capacity {
        let leaf = leaves.get(slot);
        let (index, value) = leaf.map_or((0, [ZERO; 4]), |leaf| (leaf.index, leaf.value));
        free.extend([&[Goldilocks::reduce(index)], &value[..], &[ZERO; 3]].concat());
        if slot > 0 {
            free.push(Goldilocks::new(leaf.is_some().into()));
        }
        if let Some(LeafWitness { index, siblings, .. }) = leaf {
            path(&mut free, &mut known, *index, siblings);
        }
    }
    let digests: Vec<_> = leaves.iter().map(|leaf| (leaf.index, leaf_digest(leaf.index, &leaf.value))).collect();
    let mut hashes = Vec::new();
    canonical_hashes(&digests, &mut hashes);
    for hash in 1..size.capacity {
        let operands = hashes.get(hash - 1);
        let [left, right] = operands.copied().unwrap_or_default();
        free.extend([left.0, right.0].concat());
        free.push(Goldilocks::new(operands.is_some().into()));
    }
    free
}

/// Free data of a block, up to what its application takes.
pub fn block(size: Size, key: [Goldilocks; 4], witness: &BucketWitness) -> Vec<Goldilocks> {
    let BucketWitness { statement, leaves } = witness;
    let k = size.block_height();
    let block = leaves.first().map_or(0, |leaf| leaf.index >> k);
    let mut free = [statement.root.0, key, numbers([number(statement), 0]), [ZERO; 4]].concat();
    flags(&mut free, statement.height, size.height_max);
    turns(&mut free, block << k, k..size.height_max);
    let nulls = null_digests(size.height_max);
    let values = translation::slots(size, witness);
    let mut leaves = Leaves::new(block << k, &values, &nulls[usize::from(k)..usize::from(statement.height)]);
    for place in 0..size.capacity {
        leaves.write(&mut free, place);
    }
    free
}

/// Free data of an application's bucket: its inputs, then the opening of each slot.
pub fn application(size: Size, complete: bool, app: &dyn Application, leaves: &[LeafWitness]) -> Vec<Goldilocks> {
    let (circuits, opening_len) = (app.circuits(), app.opening_len());
    let mut free = circuits.inputs();
    let slots = if opening_len == 0 { 0 } else { size.capacity };
    let mut openings: Vec<&[Goldilocks]> = vec![&[]; slots];
    for (place, leaf) in leaves.iter().enumerate().filter(|_| slots > 0) {
        let place = if complete { (leaf.index % size.capacity as u64) as usize } else { place };
        openings[place] = &leaf.opening;
    }
    for opening in openings {
        let mut opening = opening.to_vec();
        opening.resize(opening_len, ZERO);
        free.extend(circuits.free(opening));
    }
    free
}

/// Free data of the merge, up to that of its children. `outputs` are the children's outputs, if there is an
/// application.
pub fn merge(
    size: Size,
    complete: bool,
    key: [Goldilocks; 4],
    children: [(&Statement, bool); 2],
    witness: &MergeWitness,
    (inputs, outputs): ([Goldilocks; 4], [&[Goldilocks]; 2]),
) -> Vec<Goldilocks> {
    let MergeWitness { statement, siblings } = witness;
    let [(left, _), (right, _)] = children;
    let mut free = Vec::new();
    let parent = number(left) / 2;
    free.extend([statement.root.0, key, numbers([number(statement), parent]), inputs].concat());
    flags(&mut free, statement.height, size.height_max);
    free.extend([left.root.0, right.root.0].concat());
    if !complete {
        free.extend([left.canonical.0, right.canonical.0].concat());
    }
    free.extend(children.map(|(_, merge)| Goldilocks::new(merge.into())));
    flags(&mut free, left.height, size.height_max - 1);
    path(&mut free, &mut BTreeSet::new(), parent, siblings);
    if complete {
        turns(&mut free, left.base, 1..size.height_max);
    }
    free.extend(outputs.concat());
    free
}

/// The bits of `position` at these levels, from the highest level down.
fn turns(free: &mut Vec<Goldilocks>, position: u64, levels: core::ops::Range<u8>) {
    free.extend(levels.rev().map(|level| Goldilocks::new(position >> level & 1)));
}

/// The number of a node among the nodes of its height.
fn number(statement: &Statement) -> u64 {
    statement.base.checked_shr(statement.height.into()).unwrap_or(0)
}

fn numbers([first, second]: [u64; 2]) -> [Goldilocks; 4] {
    [Goldilocks::reduce(first), Goldilocks::reduce(second), ZERO, ZERO]
}

fn flags(free: &mut Vec<Goldilocks>, height: u8, levels: u8) {
    free.extend((0..levels).map(|level| Goldilocks::new((level < height).into())));
}

/// The siblings on the path of a node, up to its first ancestor in `known`; adds the ancestors to `known`.
pub fn path(free: &mut Vec<Goldilocks>, known: &mut BTreeSet<(usize, u64)>, mut index: u64, siblings: &[Digest]) {
    for (level, sibling) in siblings.iter().enumerate() {
        index /= 2;
        if !known.insert((level, index)) {
            return;
        }
        free.extend(sibling.0);
    }
}

/// Appends the operands of every hash of the canonical digest of `leaves` to `out`, in post-order.
fn canonical_hashes(leaves: &[(u64, Digest)], out: &mut Vec<[Digest; 2]>) -> Digest {
    if let [(_, digest)] = leaves {
        return *digest;
    }
    let (left, right) = leaves.split_at(canonical_split(leaves));
    let operands = [canonical_hashes(left, out), canonical_hashes(right, out)];
    out.push(operands);
    node_digest(&operands[0], &operands[1])
}
