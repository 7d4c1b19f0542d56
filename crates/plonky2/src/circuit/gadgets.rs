//! Small circuits that bucket and merge share.

use evergrove_primitives::Digest;
use plonky2::field::types::Field;
use plonky2::hash::hash_types::{HashOut, HashOutTarget};
use plonky2::hash::hashing::PlonkyPermutation;
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::plonk::circuit_data::{CommonCircuitData, VerifierCircuitTarget};
use plonky2::plonk::config::{AlgebraicHasher, Hasher};

use super::hasher::Poseidon;
use super::{Builder, D, DigestTarget, F, to_hash};

/// One Poseidon permutation (one row); `swap` exchanges the first two groups of four elements.
pub fn permute(b: &mut Builder, state: [Target; 12], swap: BoolTarget) -> DigestTarget {
    let state = <Poseidon as AlgebraicHasher<F>>::AlgebraicPermutation::new(state);
    let out = Poseidon::permute_swapped(state, swap, b);
    core::array::from_fn(|i| out.squeeze()[i])
}

/// The digest of the parent of `node` and `sibling`; `node` is the right child if `is_right`.
pub fn parent(b: &mut Builder, node: DigestTarget, sibling: DigestTarget, is_right: BoolTarget) -> DigestTarget {
    let zero = b.zero();
    let mut state = [zero; 12];
    state[..4].copy_from_slice(&node);
    state[4..8].copy_from_slice(&sibling);
    permute(b, state, is_right)
}

/// A digest as wires.
pub fn constant(b: &mut Builder, digest: &Digest) -> DigestTarget {
    to_hash(digest).elements.map(|x| b.constant(x))
}

/// Flags `lt[l] = [l < h]` for l in 0..max: booleans that never rise, whose sum is h. Hence 0 <= h <= max.
pub fn below_flags(b: &mut Builder, h: Target, max: u8) -> Vec<BoolTarget> {
    let flags: Vec<BoolTarget> = (0..max).map(|_| b.add_virtual_bool_target_safe()).collect();
    for pair in flags.windows(2) {
        assert_implies(b, pair[1], pair[0]);
    }
    let sum = b.add_many(flags.iter().map(|f| f.target));
    b.connect(sum, h);
    flags
}

/// Constrains `a => c` for booleans: a (1 - c) = 0.
pub fn assert_implies(b: &mut Builder, a: BoolTarget, c: BoolTarget) {
    let violation = b.arithmetic(-F::ONE, F::ONE, a.target, c.target, a.target);
    b.assert_zero(violation);
}

/// Constrains `a x = 0`: x vanishes if the flag holds.
pub fn assert_zero_if(b: &mut Builder, a: BoolTarget, x: Target) {
    let product = b.mul(a.target, x);
    b.assert_zero(product);
}

/// `a` if the flag holds, otherwise `c`.
pub fn select_digest(b: &mut Builder, flag: BoolTarget, a: HashOutTarget, c: HashOutTarget) -> HashOutTarget {
    HashOutTarget { elements: core::array::from_fn(|e| b.select(flag, a.elements[e], c.elements[e])) }
}

/// A verifier key with a free cap that `digest` binds: plonky2's circuit digest, recomputed over the cap.
///
/// Cheaper than constant caps: 10 rows against one for every two elements.
pub fn key_with_digest(
    b: &mut Builder,
    digest: HashOutTarget,
    common: &CommonCircuitData<F, D>,
) -> VerifierCircuitTarget {
    let cap = b.add_virtual_cap(common.config.fri_config.cap_height);
    let domain_separator: HashOut<F> = Poseidon::hash_pad(&[]);
    let mut preimage: Vec<Target> = cap.0.iter().flat_map(|h| h.elements).collect();
    preimage.extend(domain_separator.elements.map(|x| b.constant(x)));
    preimage.push(b.constant(F::from_canonical_usize(common.degree_bits())));
    let recomputed = b.hash_n_to_hash_no_pad::<Poseidon>(preimage);
    b.connect_hashes(recomputed, digest);
    VerifierCircuitTarget { constants_sigmas_cap: cap, circuit_digest: digest }
}
