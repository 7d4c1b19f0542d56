//! The compressed encoding of a [`Snark`].
//!
//! Leaves that several queries open are written once. Merkle siblings and cap entries that follow from opened leaves
//! are not written. The layout is a function of the shape and of the query indices, so a proof has one encoding and a
//! length that is known before anything is allocated.

use alloc::vec::Vec;

use evergrove_primitives::hash::tree::{Poseidon, Scalar, TreeHash};
use evergrove_primitives::{Digest, Goldilocks};

use super::paths::{Cap, Paths};
use super::reader::{Reader, Writer};
use super::{DecodeError, FriStep, OpenedLeaf, OpenedSnark, Openings, Query, Snark, SnarkShape};

/// The paths of every tree of a proof, in the order of the encoding: four initial oracles that share one set of paths, then
/// the FRI steps.
struct Layout {
    initial: Paths,
    steps: Vec<(usize, Paths)>,
}

impl Layout {
    fn new(indices: &[u32], shape: &SnarkShape) -> Self {
        let initial = Paths::new(indices.iter().copied(), shape.initial_path_len());
        // A shift by the whole width of the domain leaves position 0.
        let leaf = |x: u32, shift| x.checked_shr(shift as u32).unwrap_or(0);
        let steps = shape
            .steps()
            .map(|s| (s.shift, Paths::new(indices.iter().map(|&x| leaf(x, s.shift)), s.path_len)))
            .collect();
        Self { initial, steps }
    }

    fn encoded_len(&self, shape: &SnarkShape) -> usize {
        let widths = shape.oracle_widths().into_iter().zip(cap_lens(shape));
        let initial: usize = widths.map(|(width, cap)| self.initial.encoded_len(width, cap)).sum();
        let step = |((_, p), s): (&(usize, Paths), FriStep)| p.encoded_len(2 << s.arity_bits, shape.cap_len());
        fixed_len(shape) + initial + self.steps.iter().zip(shape.steps()).map(step).sum::<usize>()
    }
}

/// Lengths of the caps of the initial oracles in the proof: the cap of constants and sigmas is part of the verifier's key.
fn cap_lens(shape: &SnarkShape) -> [usize; 4] {
    let n = shape.cap_len();
    [0, n, n, n]
}

/// The bytes that do not depend on the query indices.
fn fixed_len(shape: &SnarkShape) -> usize {
    let p = shape.params();
    let openings: usize = shape.opening_counts().iter().sum();
    8 * p.num_public_inputs + 16 * (openings + shape.final_poly_len()) + 8 + 4 * p.num_queries
}

/// The length of the encoding of a proof with these query indices.
///
/// # Panics
/// If an index lies outside the evaluation domain.
pub fn encoded_len(indices: &[u32], shape: &SnarkShape) -> usize {
    assert!(indices.iter().all(|&x| u64::from(x) >> shape.lde_bits() == 0), "query index outside the domain");
    Layout::new(indices, shape).encoded_len(shape)
}

/// The encoding of `snark`. It decodes to the same proof whenever the proof's Merkle paths are consistent with the
/// caps, as those of every proof that verifies are.
///
/// # Panics
/// If `snark` does not have `shape`.
pub fn encode(snark: &Snark, shape: &SnarkShape) -> Vec<u8> {
    assert!(snark.has_shape(shape), "the proof does not have the given shape");
    let indices: Vec<u32> = snark.queries.iter().map(|q| q.index).collect();
    let layout = Layout::new(&indices, shape);
    let mut w = Writer(Vec::with_capacity(layout.encoded_len(shape)));
    w.elements(&snark.public_inputs);
    snark.openings.groups().iter().for_each(|g| w.exts(g));
    w.exts(&snark.final_poly);
    w.element(snark.pow_witness);
    indices.iter().for_each(|x| w.bytes(&x.to_le_bytes()));
    let find = |shift: usize, leaf: u32| {
        let at = |q: &&Query| q.index.checked_shr(shift as u32).unwrap_or(0) == leaf;
        snark.queries.iter().find(at).expect("every leaf of the layout comes from a query")
    };
    let caps: [&[_]; 4] = [&[], &snark.wires_cap, &snark.zs_cap, &snark.quotient_cap];
    for (oracle, cap) in caps.into_iter().enumerate() {
        layout.initial.write(&mut w, cap, |leaf| &find(0, leaf).initial[oracle]);
    }
    for (k, ((shift, paths), cap)) in layout.steps.iter().zip(&snark.commit_caps).enumerate() {
        paths.write(&mut w, cap, |leaf| &find(*shift, leaf).steps[k]);
    }
    w.0
}

/// The proof with this encoding.
///
/// Accepts exactly one encoding of each proof. Decoding does not show that the proof is true: the SNARK's verifier
/// derives its own query indices and checks every path against the caps.
///
/// # Errors
/// When the length does not match `shape` and the query indices, an index lies outside the domain, or an element is not
/// canonical. Costs about one hash per opened leaf and tree node, and memory in proportion to the uncompressed proof.
pub fn decode(bytes: &[u8], shape: &SnarkShape) -> Result<Snark, DecodeError> {
    read(bytes, shape, Cap::Unknown, Scalar(Poseidon))
}

/// [`decode`], with a check that every opened leaf lies at the place of its query under its tree's cap. The cap of the
/// constants and sigmas is `constants_cap`, of the verifier's key.
///
/// The caps in the proof follow from the leaves, so this takes the hashes of decoding and those of one tree. A verifier
/// that has compared the query indices with its own needs no other hashes.
///
/// # Errors
/// The errors of [`decode`]; [`DecodeError::Cap`].
pub fn open(
    bytes: &[u8],
    shape: &SnarkShape,
    constants_cap: &[Digest],
    hash: impl TreeHash<Element = Goldilocks, Digest = Digest>,
) -> Result<OpenedSnark, DecodeError> {
    read(bytes, shape, Cap::Known(constants_cap), hash).map(OpenedSnark)
}

/// The proof with this encoding, with the cap of the constants and sigmas from `constants`.
fn read(
    bytes: &[u8],
    shape: &SnarkShape,
    constants: Cap<'_>,
    hash: impl TreeHash<Element = Goldilocks, Digest = Digest>,
) -> Result<Snark, DecodeError> {
    let p = shape.params();
    let fixed = fixed_len(shape);
    if bytes.len() < fixed {
        return Err(DecodeError::Length { expected: fixed, found: bytes.len() });
    }
    let mut r = Reader::new(bytes);
    let public_inputs = r.elements(p.num_public_inputs, "public inputs")?;
    let mut groups: [Vec<_>; 7] = Default::default();
    for (group, n) in groups.iter_mut().zip(shape.opening_counts()) {
        *group = r.exts(n, "openings")?;
    }
    let final_poly = r.exts(shape.final_poly_len(), "final polynomial")?;
    let pow_witness = r.element("grinding witness")?;
    let indices: Vec<u32> = (0..p.num_queries).map(|_| r.u32("query index")).collect::<Result<_, _>>()?;
    let max = (1u64 << shape.lde_bits()) - 1;
    if let Some(&x) = indices.iter().find(|&&x| u64::from(x) > max) {
        return Err(DecodeError::Range { what: "query index", found: x.into(), max });
    }

    let layout = Layout::new(&indices, shape);
    let expected = layout.encoded_len(shape);
    if bytes.len() != expected {
        return Err(DecodeError::Length { expected, found: bytes.len() });
    }
    let mut initial: [Vec<OpenedLeaf>; 4] = Default::default();
    let mut caps: [Vec<Digest>; 4] = Default::default();
    let written = Cap::Written(shape.cap_len());
    let sources = [constants, written, written, written];
    for (oracle, (width, source)) in shape.oracle_widths().into_iter().zip(sources).enumerate() {
        (initial[oracle], caps[oracle]) = layout.initial.read(&mut r, width, source, hash)?;
    }
    let [_, wires_cap, zs_cap, quotient_cap] = caps;
    let mut steps = Vec::with_capacity(layout.steps.len());
    let mut commit_caps = Vec::with_capacity(layout.steps.len());
    for ((_, paths), s) in layout.steps.iter().zip(shape.steps()) {
        let (opened, cap) = paths.read(&mut r, 2 << s.arity_bits, written, hash)?;
        steps.push(opened);
        commit_caps.push(cap);
    }
    r.finish()?;

    let at = |paths: &Paths, leaf: u32| paths.leaves().partition_point(|&x| x < leaf);
    let queries = indices
        .iter()
        .map(|&index| {
            let place = at(&layout.initial, index);
            let steps = layout.steps.iter().zip(&steps).map(|((shift, paths), opened)| {
                opened[at(paths, index.checked_shr(*shift as u32).unwrap_or(0))].clone()
            });
            Query { index, initial: core::array::from_fn(|o| initial[o][place].clone()), steps: steps.collect() }
        })
        .collect();
    let openings = Openings::from_groups(groups);
    Ok(Snark {
        public_inputs,
        wires_cap,
        zs_cap,
        quotient_cap,
        openings,
        commit_caps,
        queries,
        final_poly,
        pow_witness,
    })
}
