//! Attacks on the wrap, over the circuits of the attacks on the merge.

use std::sync::LazyLock;

use plonky2::field::types::Field;

use super::merge::{FIXTURE, Fixture, digest, disguised, prove_anything, statement};
use super::{Assignment, assert_refused, assert_refused_at_a_child};
use crate::circuit::{F, WrapTargets, to_hash};
use crate::keys::KeySet;
use crate::setup::{Circuit, build_wrap};

/// A wrap that accepts the circuit that proves anything as the bucket.
static WRAP: LazyLock<Circuit<WrapTargets>> = LazyLock::new(|| {
    let Fixture { anything, merge, .. } = &*FIXTURE;
    let keys = KeySet {
        node_common: merge.data.common.clone(),
        bucket: anything.data.verifier_only.clone(),
        merge: merge.data.verifier_only.clone(),
        wrap: None,
    };
    build_wrap(&keys, &merge.data.common.config)
});

#[test]
fn an_honest_wrap_violates_nothing() {
    let Fixture { anything, merge, .. } = &*FIXTURE;
    let proof = prove_anything(&anything.data, &statement(1, 8, 0), merge.data.verifier_only.circuit_digest);
    let wires = WRAP.targets.assign(&proof, true, &anything.data.verifier_only).unwrap();
    assert_eq!(Assignment::complete(&WRAP.data, &[], wires).violations(), Default::default());
}

#[test]
fn a_subtree_proof_as_root_proof_is_refused() {
    let Fixture { anything, merge, .. } = &*FIXTURE;
    let proof = prove_anything(&anything.data, &statement(1, 2, 4), merge.data.verifier_only.circuit_digest);
    // Base 4 breaks the constant zero that it is wired to; base 0 contradicts the proof inside, whose transcript absorbs it.
    for forced in [&[][..], &[(WRAP.targets.proof.public_inputs[9], F::ZERO)]] {
        let wires = WRAP.targets.assign(&proof, true, &anything.data.verifier_only).unwrap();
        assert_refused_at_a_child(&Assignment::complete(&WRAP.data, forced, wires));
    }
}

#[test]
fn a_proof_for_another_merge_key_is_refused() {
    let proof = prove_anything(&FIXTURE.anything.data, &statement(1, 8, 0), to_hash(&digest(77)));
    let wires = WRAP.targets.assign(&proof, true, &FIXTURE.anything.data.verifier_only).unwrap();
    assert_refused_at_a_child(&Assignment::complete(&WRAP.data, &[], wires));
}

#[test]
fn a_foreign_verification_key_is_refused() {
    let merge_key = FIXTURE.merge.data.verifier_only.circuit_digest;
    let foreign = disguised(merge_key, &FIXTURE.merge.data);
    let proof = prove_anything(&foreign, &statement(1, 8, 0), merge_key);
    let wires = WRAP.targets.assign(&proof, false, &foreign.verifier_only).unwrap();
    assert_refused(&Assignment::complete(&WRAP.data, &[], wires), 2);
}
