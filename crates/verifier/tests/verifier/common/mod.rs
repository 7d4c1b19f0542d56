//! Test data: synthetic proofs whose Merkle paths are consistent, files, openings and keys.

#![allow(dead_code)]

use std::collections::BTreeMap;

use evergrove_primitives::hash::poseidon::{hash_or_noop, two_to_one};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::keys::{CircuitKey, KeySet};
use evergrove_verifier::tree::{leaf_digest, node_digest, null_digest};
use evergrove_verifier::wire::{BatchProof, Ext, OpenedLeaf, Opening, Openings, Query, Snark, SnarkParams, SnarkShape};
use evergrove_verifier::{AppId, AppOutput, BackendId, Commitment, HeightClass, NodeKind, Profile, Statement};

/// SplitMix64: enough randomness for test data, the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn element(&mut self) -> Goldilocks {
        Goldilocks::reduce(self.u64())
    }

    pub(crate) fn elements(&mut self, n: usize) -> Vec<Goldilocks> {
        (0..n).map(|_| self.element()).collect()
    }

    pub(crate) fn exts(&mut self, n: usize) -> Vec<Ext> {
        (0..n).map(|_| [self.element(), self.element()]).collect()
    }

    pub(crate) fn digest(&mut self) -> Digest {
        Digest(core::array::from_fn(|_| self.element()))
    }

    pub(crate) fn digests(&mut self, n: usize) -> Vec<Digest> {
        (0..n).map(|_| self.digest()).collect()
    }
}

/// The wrap of the profile `paper`; its public inputs travel in the statement.
pub(crate) fn wrap_shape() -> SnarkShape {
    let fri = Profile::Paper.wrap().expect("paper is wrapped");
    SnarkShape::new(SnarkParams::standard(fri, 0, 5))
}

/// A shape with a domain so small that queries repeat and meet.
pub(crate) fn small_shape() -> SnarkShape {
    SnarkShape::new(SnarkParams {
        num_public_inputs: 3,
        degree_bits: 4,
        rate_bits: 2,
        cap_height: 1,
        num_queries: 9,
        num_challenges: 1,
        num_constants: 1,
        num_routed_wires: 2,
        num_wires: 6,
        quotient_degree_factor: 2,
        arity_bits: vec![1, 2],
    })
}

/// A tree known only along the paths of some leaves; the digests off the paths are random.
fn open_tree(
    random: &mut Random,
    positions: &[u32],
    width: usize,
    path_len: usize,
) -> (Vec<OpenedLeaf>, BTreeMap<u32, Digest>) {
    let leaves: BTreeMap<u32, Vec<Goldilocks>> = positions.iter().map(|&x| (x, random.elements(width))).collect();
    let mut nodes: BTreeMap<u32, Digest> = leaves.iter().map(|(x, leaf)| (*x, hash_or_noop(leaf))).collect();
    let mut levels = Vec::new();
    for _ in 0..path_len {
        let known: Vec<u32> = nodes.keys().copied().collect();
        for x in known {
            nodes.entry(x ^ 1).or_insert_with(|| random.digest());
        }
        let up = nodes.keys().map(|x| (x >> 1, two_to_one(&nodes[&(x & !1)], &nodes[&(x | 1)]))).collect();
        levels.push(core::mem::replace(&mut nodes, up));
    }
    let opened = positions
        .iter()
        .map(|&x| OpenedLeaf {
            leaf: leaves[&x].clone(),
            siblings: levels.iter().enumerate().map(|(l, level)| level[&(x >> l ^ 1)]).collect(),
        })
        .collect();
    (opened, nodes)
}

fn cap_of(random: &mut Random, known: &BTreeMap<u32, Digest>, len: usize) -> Vec<Digest> {
    (0..len as u32).map(|x| known.get(&x).copied().unwrap_or_else(|| random.digest())).collect()
}

/// A proof of the given shape with random contents and consistent paths.
pub(crate) fn snark(seed: u64, shape: &SnarkShape) -> Snark {
    let r = &mut Random(seed);
    let p = shape.params();
    let indices: Vec<u32> = (0..p.num_queries).map(|_| (r.u64() % (1 << shape.lde_bits())) as u32).collect();
    let mut caps = Vec::new();
    let mut initial = Vec::new();
    for width in shape.oracle_widths() {
        let (opened, known) = open_tree(r, &indices, width, shape.initial_path_len());
        caps.push(cap_of(r, &known, shape.cap_len()));
        initial.push(opened);
    }
    let mut commit_caps = Vec::new();
    let mut steps = Vec::new();
    for s in shape.steps() {
        let positions: Vec<u32> = indices.iter().map(|x| x >> s.shift).collect();
        let (opened, known) = open_tree(r, &positions, 2 << s.arity_bits, s.path_len);
        commit_caps.push(cap_of(r, &known, shape.cap_len()));
        steps.push(opened);
    }
    let queries = indices
        .iter()
        .enumerate()
        .map(|(q, &index)| Query {
            index,
            initial: core::array::from_fn(|o| initial[o][q].clone()),
            steps: steps.iter().map(|s| s[q].clone()).collect(),
        })
        .collect();
    let n = shape.opening_counts();
    let openings = Openings {
        constants: r.exts(n[0]),
        sigmas: r.exts(n[1]),
        wires: r.exts(n[2]),
        zs: r.exts(n[3]),
        zs_next: r.exts(n[4]),
        partial_products: r.exts(n[5]),
        quotient_polys: r.exts(n[6]),
    };
    Snark {
        public_inputs: r.elements(p.num_public_inputs),
        wires_cap: caps[1].clone(),
        zs_cap: caps[2].clone(),
        quotient_cap: caps[3].clone(),
        openings,
        commit_caps,
        queries,
        final_poly: r.exts(shape.final_poly_len()),
        pow_witness: r.element(),
    }
}

/// A proof file of the default profile with an invalid body.
pub(crate) fn batch_proof() -> BatchProof {
    let r = &mut Random(11);
    let statement = Statement { root: r.digest(), canonical: r.digest(), height: 27, base: 0 };
    BatchProof {
        scheme: "evergrove1".into(),
        backend: BackendId::new("plonky2", 1),
        profile: Profile::Proven,
        class: HeightClass::H27,
        kind: NodeKind::Merge,
        statement,
        app: None,
        body: (0..40).collect(),
    }
}

/// A proof file of an application over chosen leaves, with an invalid body.
pub(crate) fn app_proof() -> BatchProof {
    let app = AppId::new("tally", &[20]);
    let output = [0, 1, Goldilocks::ORDER - 1].map(Goldilocks::new).to_vec();
    BatchProof { scheme: "evergrove1-selected".into(), app: Some(AppOutput { app, output }), ..batch_proof() }
}

/// A vector of height 3 whose slot 5 is empty: the openings of slots 6 and 5.
pub(crate) fn opening() -> (Opening, Commitment, Opening) {
    let r = &mut Random(12);
    let values: Vec<_> = (0..8).map(|i| (i != 5).then(|| r.digest().0)).collect();
    let null = null_digest(0);
    let leaves: Vec<Digest> =
        values.iter().enumerate().map(|(i, v)| v.as_ref().map_or(null, |v| leaf_digest(i as u64, v))).collect();
    let up = |d: &[Digest]| d.chunks(2).map(|x| node_digest(&x[0], &x[1])).collect::<Vec<_>>();
    let (one, two) = (up(&leaves), up(&up(&leaves)));
    let commitment = Commitment { height: 3, root: up(&two)[0] };
    let open = |i: usize| Opening {
        index: i as u64,
        height: 3,
        value: values[i],
        siblings: vec![leaves[i ^ 1], one[i >> 1 ^ 1], two[i >> 2 ^ 1]],
    };
    (open(6), commitment, open(5))
}

/// Keys with random contents; bucket and merge share their common data.
pub(crate) fn key_set(profile: Profile) -> KeySet {
    let r = &mut Random(13);
    let kinds = NodeKind::ALL.into_iter().filter(|k| *k != NodeKind::Wrap || profile.wrap().is_some());
    let keys = kinds.map(|kind| CircuitKey {
        kind,
        cap: r.digests(16),
        circuit_digest: r.digest(),
        common: if kind == NodeKind::Wrap { vec![7; 30] } else { vec![5; 20] },
    });
    KeySet { backend: BackendId::new("plonky2", 1), profile, class: HeightClass::H27, keys: keys.collect() }
}
