//! Attacks on the circuits of the paper's scheme: what they constrain, and what they do not.
//!
//! The level under attack trusts, instead of the level below, a circuit that proves *any* public inputs. So children
//! are proofs that verify, whatever they state, and only the level's own constraints can refuse.

use std::sync::LazyLock;

use evergrove_commit::{BlockWitness, LevelWitness};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::Statement;
use evergrove_verifier::tree::{canonical_digest, leaf_digest, node_digest};
use plonky2::field::types::Field;
use plonky2::gates::noop::NoopGate;
use plonky2::iop::target::Target;
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};
use plonky2::recursion::dummy_circuit::{dummy_circuit, dummy_proof};

use crate::paper::{BlockTargets, Chain, LevelTargets, Node};
use evergrove_plonky2::assignment::{Assignment, assert_refused, assert_refused_at_a_child};
use evergrove_plonky2::circuit::{Builder, C, D, DigestTarget, F, PlonkyProof, to_hash};
use evergrove_plonky2::keys::CommonData;
use evergrove_plonky2::setup::Circuit;

fn digest(x: u64) -> Digest {
    Digest(core::array::from_fn(|k| Goldilocks::new(100 * x + k as u64 + 1)))
}

/// Blocks of four slots, and one level.
static CHAIN: LazyLock<Chain> =
    LazyLock::new(|| Chain::with_configs(CircuitConfig::standard_recursion_config(), None, 3, 2));

fn block() -> &'static Circuit<BlockTargets> {
    match CHAIN.node(2) {
        Node::Block(link) => &link.circuit,
        Node::Level(_) => unreachable!("blocks have height 2"),
    }
}

/// The level of the chain, over real blocks.
fn real() -> &'static crate::paper::LevelLink {
    match CHAIN.node(3) {
        Node::Level(level) => level,
        Node::Block(_) => unreachable!("blocks have height 2"),
    }
}

/// The circuits of the attacks on a level.
struct Fixture {
    /// Proves any public inputs; shares the common data of a block.
    anything: CircuitData<F, C, D>,
    /// A level that accepts `anything` as the level below.
    level: Circuit<LevelTargets>,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let common = &block().data.common;
    let anything = anything(common);
    let mut builder = Builder::new(common.config.clone());
    let keys = [&anything.verifier_only, real().stand_in.key()].map(|k| k.circuit_digest);
    assert_ne!(keys[0], keys[1]);
    let targets = LevelTargets::build(&mut builder, common, keys[0], keys[1]);
    let rows = builder.num_gates();
    Fixture { anything, level: Circuit::new(targets, builder.build(), rows) }
});

/// Like the stand-in's circuit, with another key: it has one more constant.
fn anything(common: &CommonData) -> CircuitData<F, C, D> {
    let mut builder = Builder::new(common.config.clone());
    common.gates.iter().for_each(|gate| builder.add_gate_to_gate_set(gate.clone()));
    let targets = builder.add_virtual_targets(common.num_public_inputs);
    builder.register_public_inputs(&targets);
    builder.constant(F::TWO);
    for _ in 0..=common.degree() / 2 {
        builder.add_gate(NoopGate, vec![]);
    }
    let data = builder.build();
    assert_eq!(data.common, *common);
    data
}

fn prove_anything(circuit: &CircuitData<F, C, D>, root: Digest, canonical: Digest) -> PlonkyProof {
    let values = [to_hash(&root).elements, to_hash(&canonical).elements].concat();
    dummy_proof(circuit, values.into_iter().enumerate().collect()).unwrap()
}

fn set(targets: DigestTarget, d: Digest) -> Vec<(Target, F)> {
    targets.into_iter().zip(to_hash(&d).elements).collect()
}

fn flag(target: Target, value: bool) -> Vec<(Target, F)> {
    vec![(target, F::from_bool(value))]
}

/// Digests 1 and 2 are roots, 51 and 52 canonical digests of two children; `present` says which have members.
fn complete(present: [bool; 2], forced: &[(Target, F)]) -> Assignment<'static> {
    stated([(digest(1), digest(51)), (digest(2), digest(52))], present, forced)
}

/// The same, but the children's proofs state something else.
fn stated(states: [(Digest, Digest); 2], present: [bool; 2], forced: &[(Target, F)]) -> Assignment<'static> {
    let Fixture { anything, level } = &*FIXTURE;
    let proofs = states.map(|(root, canonical)| prove_anything(anything, root, canonical));
    let witness = LevelWitness {
        statement: Statement { root: Digest::ZERO, canonical: Digest::ZERO, height: 3, base: 0 },
        roots: [digest(1), digest(2)],
        canonicals: core::array::from_fn(|k| present[k].then(|| digest(51 + k as u64))),
    };
    let children = core::array::from_fn(|k| present[k].then(|| (&proofs[k], &anything.verifier_only)));
    let stand_in = &real().stand_in;
    let honest = level.targets.assign(&witness, children, (stand_in.proof(), stand_in.key())).unwrap();
    Assignment::complete(&level.data, forced, honest)
}

#[test]
fn honest_levels_violate_nothing() {
    for present in [[true, true], [true, false], [false, true], [false, false]] {
        assert_eq!(complete(present, &[]).violations(), Default::default(), "{present:?}");
    }
}

#[test]
fn another_root_or_canonical_digest_of_a_level_is_refused() {
    let targets = &FIXTURE.level.targets;
    assert_refused(&complete([true, true], &set(targets.root, node_digest(&digest(2), &digest(1)))), 1);
    let (l, r) = (digest(51), digest(52));
    let sum = Digest(core::array::from_fn(|e| l.0[e] + r.0[e]));
    for wrong in [node_digest(&r, &l), sum, l, r, Digest::ZERO] {
        assert_refused(&complete([true, true], &set(targets.canonical, wrong)), 4);
    }
    // One member's side passes through, and is not hashed with zero.
    for wrong in [node_digest(&l, &Digest::ZERO), r, Digest::ZERO] {
        assert_refused(&complete([true, false], &set(targets.canonical, wrong)), 4);
    }
}

#[test]
fn a_side_with_members_can_not_do_without_its_proof() {
    // d_R is 52, and the side is declared empty, so the stand-in is accepted.
    let Fixture { level, .. } = &*FIXTURE;
    let right = &level.targets.children[1];
    let mut forced = set(right.canonical, digest(52));
    forced.extend(flag(right.present.target, false));
    assert_refused(&complete([true, false], &forced), 2);
}

#[test]
fn an_empty_side_can_not_pass_as_one_with_members() {
    // It would be hashed with zero: d = H(d_L, 0) of the same leaves as d = d_L.
    let right = &FIXTURE.level.targets.children[1];
    let forced = [set(right.canonical, Digest::ZERO), flag(right.present.target, true)].concat();
    let states = [(digest(1), digest(51)), (digest(2), Digest::ZERO)];
    assert_refused(&stated(states, [true, true], &forced), 2);
}

#[test]
fn a_child_that_states_something_else_is_refused() {
    let [l, r] = [(digest(1), digest(51)), (digest(2), digest(52))];
    for states in [[(digest(3), l.1), r], [(l.0, digest(53)), r], [l, (r.0, Digest::ZERO)], [r, l]] {
        assert_refused_at_a_child(&stated(states, [true, true], &[]));
    }
}

#[test]
fn the_stand_in_proves_no_member() {
    // The circuit without constraints proves any (C, d); its key is not that of the level below.
    let real = real();
    let dummy = dummy_circuit::<F, C, D>(&block().data.common);
    assert_eq!(dummy.verifier_only, *real.stand_in.key());
    let proof = prove_anything(&dummy, digest(1), digest(51));
    let witness = LevelWitness {
        statement: Statement { root: Digest::ZERO, canonical: Digest::ZERO, height: 3, base: 0 },
        roots: [digest(1), digest(2)],
        canonicals: [Some(digest(51)), None],
    };
    let (circuit, stand_in) = (&real.link.circuit, (real.stand_in.proof(), real.stand_in.key()));
    let honest = circuit.targets.assign(&witness, [Some((&proof, &dummy.verifier_only)), None], stand_in).unwrap();
    let assignment = Assignment::complete(&circuit.data, &[], honest);
    assert_refused_at_a_child(&assignment);
    // The same proof with the transcript of a genuine one: only the cap reveals it.
    let mut disguised = dummy_circuit::<F, C, D>(&block().data.common);
    let genuine = block().data.verifier_only.circuit_digest;
    disguised.prover_only.circuit_digest = genuine;
    let proof = prove_anything(&disguised, digest(1), digest(51));
    let honest = circuit.targets.assign(&witness, [Some((&proof, &dummy.verifier_only)), None], stand_in).unwrap();
    let key = circuit.targets.children[0].key.circuit_digest.elements;
    let forced: Vec<_> = key.into_iter().zip(genuine.elements).collect();
    assert_refused(&Assignment::complete(&circuit.data, &forced, honest), 1);
}

/// Slots 0 to 3 of a block; 1 and 2 are members.
fn slots(forced: &[(Target, F)]) -> Assignment<'static> {
    let witness = BlockWitness {
        statement: Statement { root: Digest::ZERO, canonical: Digest::ZERO, height: 2, base: 0 },
        leaves: (1..=4).map(digest).collect(),
        members: vec![false, true, true, false],
    };
    Assignment::complete(&block().data, forced, block().targets.assign(&witness).unwrap())
}

#[test]
fn an_honest_block_violates_nothing_and_proves() {
    assert_eq!(slots(&[]).violations(), Default::default());
    let d = canonical_digest(&[(1, digest(2)), (2, digest(3))]);
    assert_eq!(slots(&set(block().targets.canonical, d)).violations(), Default::default());
}

#[test]
fn a_member_that_is_not_in_the_block_is_refused() {
    // A digest that differs from all four, and one that is in another slot.
    for (k, d) in [(1, digest(9)), (0, digest(9)), (0, digest(2)), (3, digest(1))] {
        assert_refused(&slots(&set(block().targets.canonicals[k], d)), 1);
    }
    // The same, and declared no member.
    let targets = &block().targets;
    let forced = [set(targets.canonicals[0], digest(9)), flag(targets.members[0].target, false)].concat();
    assert_refused(&slots(&forced), 2);
}

#[test]
fn another_root_or_canonical_digest_of_a_block_is_refused() {
    let targets = &block().targets;
    assert_refused(&slots(&set(targets.root, digest(7))), 1);
    let (a, b) = (digest(2), digest(3));
    for wrong in [a, b, Digest::ZERO, node_digest(&b, &a), node_digest(&node_digest(&Digest::ZERO, &a), &b)] {
        assert_refused(&slots(&set(targets.canonical, wrong)), 2);
    }
}

#[test]
fn the_index_in_a_leaf_is_not_tied_to_its_slot() {
    // The gap: slot 1 and slot 2 hold two values for index 5, and d of either one is proven.
    let leaves = [10, 20].map(|x| leaf_digest(5, &[evergrove_primitives::Goldilocks::new(x); 4]));
    for (slot, leaf) in [(1, leaves[0]), (2, leaves[1])] {
        let targets = &block().targets;
        let other = 3 - slot;
        let forced = [
            set(targets.leaves[1], leaves[0]),
            set(targets.leaves[2], leaves[1]),
            set(targets.canonicals[slot], leaf),
            set(targets.canonicals[other], Digest::ZERO),
            set(targets.canonical, leaf),
        ];
        assert_eq!(slots(&forced.concat()).violations(), Default::default());
    }
}
