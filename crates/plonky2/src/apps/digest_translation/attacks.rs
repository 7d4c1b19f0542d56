//! Dishonest provers of the bucket and of the Keccak gadget that set wires.
//!
//! The circuits are small: buckets of two slots, one query.

use std::sync::LazyLock;

use evergrove_apps::digest_translation::tree;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::{NODE_BYTES, keccak_256};
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HeightClass, Profile};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};
use plonky2::plonk::config::Hasher;

use super::bucket::{BucketInput, BucketTargets, halves};
use super::circuits::Shape;
use super::keccak;
use crate::assignment::{Assignment, assert_refused, assert_refused_at_a_child};
use crate::circuit::{Builder, C, F, Poseidon};
use crate::setup::PairSpec;
use crate::stark::StarkProver;
use crate::stark::keccak::{Block, KeccakAir, Permutations};

/// Rows that a wrong sum of records, or one wrong hash, breaks.
const FEW: usize = 8;

struct Attacked {
    targets: BucketTargets,
    data: CircuitData<F, C, 2>,
    table: StarkProver<KeccakAir>,
    log_rows: u32,
}

static ATTACKED: LazyLock<Attacked> = LazyLock::new(Attacked::new);

impl Attacked {
    fn new() -> Self {
        let mut shape = Shape::of(Profile::Paper, HeightClass::H40, 1).expect("a profile of Plonky2");
        shape.stark.fri_config.num_query_rounds = 1;
        shape.stark.fri_config.proof_of_work_bits = 0;
        let mut b = Builder::new(shape.spec.config.clone());
        let targets = shape.bucket(&mut b);
        let table = StarkProver::new(&shape.stark, shape.log_rows() as u32).unwrap();
        Self { targets, data: b.build::<C>(), table, log_rows: shape.log_rows() as u32 }
    }

    /// The assignment of `input` with `forced` wires, where the table has `blocks` and was bound to `bound`.
    fn assignment(
        &self,
        input: &BucketInput,
        blocks: Vec<Block>,
        bound: HashOut<F>,
        forced: &[(Target, F)],
    ) -> Assignment<'_> {
        let rows = Permutations::new(blocks, self.log_rows).unwrap();
        let proof = self.table.prove_bound(&rows, &[], bound).unwrap();
        let mut pw = self.targets.assign(input, HashOut::ZERO).unwrap();
        self.targets.table.assign(&mut pw, &proof).unwrap();
        Assignment::complete(&self.data, forced, pw)
    }
}

fn value(i: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::reduce((i + 1) << (13 * k as u64)))
}

fn input(slots: [Option<Value>; 2]) -> BucketInput {
    BucketInput::new(1 << 33, slots.to_vec())
}

#[test]
fn attacks_on_the_bucket_are_refused() {
    let attacked = &*ATTACKED;
    let honest = input([Some(value(1)), Some(value(2))]);
    let none = attacked.assignment(&honest, honest.blocks(), honest.binding(), &[]);
    assert!(none.violations().is_empty(), "an honest assignment is accepted");

    // Another Keccak root, with a table that is bound to it but cannot have it.
    let mut forged = input([Some(value(1)), Some(value(2))]);
    forged.set_digest(1, 0, [7; 32]);
    assert_refused(&attacked.assignment(&forged, honest.blocks(), forged.binding(), &[]), FEW);

    // A Keccak tree over other leaves than the Poseidon tree's: the table has the others' digests.
    let other = input([Some(value(1)), Some(value(3))]);
    let mut forged = input([Some(value(1)), Some(value(2))]);
    forged.set_digest(0, 1, tree::leaf_digest((1 << 33) + 1, Some(&value(3))));
    forged.set_digest(1, 0, other.keccak());
    assert_refused(&attacked.assignment(&forged, other.blocks(), forged.binding(), &[]), FEW);

    // A leaf hashed at another index.
    let mut forged = input([Some(value(1)), Some(value(2))]);
    let digest = tree::leaf_digest(5, Some(&value(2)));
    forged.set_digest(0, 1, digest);
    let root = tree::node_digest(&tree::leaf_digest(1 << 33, Some(&value(1))), &digest);
    forged.set_digest(1, 0, root);
    let messages = [
        tree::leaf_message(1 << 33, &value(1)).to_vec(),
        tree::leaf_message(5, &value(2)).to_vec(),
        tree::node_message(&tree::leaf_digest(1 << 33, Some(&value(1))), &digest).to_vec(),
    ];
    let blocks = messages.iter().map(|m| Block::of(m).unwrap()).collect();
    assert_refused(&attacked.assignment(&forged, blocks, forged.binding(), &[]), FEW);

    // An empty slot of the Poseidon tree that the Keccak tree has a leaf in.
    let mut forged = input([Some(value(1)), None]);
    forged.set_digest(1, 0, honest.keccak());
    assert_refused(&attacked.assignment(&forged, honest.blocks(), forged.binding(), &[]), FEW);

    // The table without a record, and with one too many.
    let mut blocks = honest.blocks();
    blocks.truncate(2);
    assert_refused(&attacked.assignment(&honest, blocks, honest.binding(), &[]), FEW);
    let mut blocks = honest.blocks();
    blocks.push(blocks[0]);
    assert_refused(&attacked.assignment(&honest, blocks, honest.binding(), &[]), FEW);

    // Another Poseidon root than the slots'.
    let root: Vec<(Target, F)> = attacked.targets.node.root.iter().map(|t| (*t, F::from_canonical_u64(9))).collect();
    assert_refused(&attacked.assignment(&honest, honest.blocks(), honest.binding(), &root), FEW);

    // Values that are chosen after the challenge: the table was bound to others.
    let other = input([Some(value(1)), Some(value(3))]);
    assert_refused_at_a_child(&attacked.assignment(&other, other.blocks(), honest.binding(), &[]));
}

#[test]
fn no_slot_is_there_twice_nor_by_half() {
    let attacked = &*ATTACKED;
    let honest = input([Some(value(1)), Some(value(2))]);
    // A flag of 2 means two records of the leaf, which a table may have; -1 would remove one.
    let mut blocks = honest.blocks();
    blocks.push(blocks[0]);
    for (flag, blocks) in [(F::TWO, blocks), (F::NEG_ONE, honest.blocks()), (F::TWO.inverse(), honest.blocks())] {
        let mut bound = honest.bound();
        bound[1] = flag;
        let forced = [(attacked.targets.slots[0].active.target, flag)];
        let assignment = attacked.assignment(&honest, blocks, Poseidon::hash_no_pad(&bound), &forced);
        assert_refused(&assignment, 2 * FEW);
    }
}

#[test]
fn a_bucket_lies_at_a_multiple_of_its_size_below_the_class() {
    let attacked = &*ATTACKED;
    let slots = vec![Some(value(1)), Some(value(2))];
    let last = BucketInput::new((1 << 40) - 2, slots.clone());
    let assignment = attacked.assignment(&last, last.blocks(), last.binding(), &[]);
    assert!(assignment.violations().is_empty(), "the last bucket of the class");
    // Both trees agree, of leaves at these very positions.
    for base in [1, (1 << 33) + 1, 1 << 40, 1 << 41, 1 << 63] {
        let input = BucketInput::new(base, slots.clone());
        assert_refused_at_a_child(&attacked.assignment(&input, input.blocks(), input.binding(), &[]));
    }
    // Another height, and a canonical digest: both are constants of the circuit.
    let honest = input([Some(value(1)), Some(value(2))]);
    for (target, x) in [(attacked.targets.node.height, F::TWO), (attacked.targets.node.canonical[2], F::ONE)] {
        let assignment = attacked.assignment(&honest, honest.blocks(), honest.binding(), &[(target, x)]);
        assert_refused_at_a_child(&assignment);
    }
}

#[test]
fn a_word_of_p_and_more_is_refused() {
    let attacked = &*ATTACKED;
    // The word 0 as the bytes of p: one Poseidon leaf, two Keccak leaves.
    let honest = input([Some([Goldilocks::ZERO; 4]), None]);
    let mut message = tree::leaf_message(1 << 33, &[Goldilocks::ZERO; 4]);
    message[8..16].copy_from_slice(&Goldilocks::ORDER.to_le_bytes());
    let leaf = keccak_256(&message);
    let null = tree::leaf_digest(0, None);
    let mut forged = input([Some([Goldilocks::ZERO; 4]), None]);
    forged.set_digest(0, 0, leaf);
    forged.set_digest(1, 0, tree::node_digest(&leaf, &null));
    let halves_of_p = [F::ONE, F::from_canonical_u64(u32::MAX.into())];
    let forced: Vec<(Target, F)> = attacked.targets.slots[0].value.into_iter().zip(halves_of_p).collect();
    let blocks = [message.to_vec(), tree::node_message(&leaf, &null).to_vec()];
    let blocks = blocks.iter().map(|m| Block::of(m).unwrap()).collect();
    let mut bound = forged.bound();
    // Base and flag come before the first value.
    bound[2..4].copy_from_slice(&halves_of_p);
    let assignment = attacked.assignment(&forged, blocks, Poseidon::hash_no_pad(&bound), &forced);
    assert_refused(&assignment, FEW);

    // A half of 2^32, which is one more of the half above it: no record has it.
    let mut bound = honest.bound();
    let halves = [F::from_canonical_u64(1 << 32), F::NEG_ONE];
    bound[2..4].copy_from_slice(&halves);
    let forced: Vec<(Target, F)> = attacked.targets.slots[0].value.into_iter().zip(halves).collect();
    let assignment = attacked.assignment(&honest, honest.blocks(), Poseidon::hash_no_pad(&bound), &forced);
    assert_refused(&assignment, FEW);
}

#[test]
fn the_gadget_is_keccak_256_and_nothing_else() {
    let mut b = Builder::new(CircuitConfig::standard_recursion_config());
    let [left, right] = [(); 2].map(|()| b.add_virtual_target_arr::<8>());
    let out = keccak::node(&mut b, &left, &right);
    let rows = b.num_gates();
    assert_eq!(rows, 9_547);
    let data = b.build::<C>();
    let assignment = |bytes: &[u8; NODE_BYTES], forced: &[(Target, F)]| {
        let mut pw = PartialWitness::new();
        for (targets, digest) in [left, right].iter().zip(bytes.as_chunks::<32>().0) {
            pw.set_target_arr(targets, &halves(digest)).unwrap();
        }
        Assignment::complete(&data, forced, pw)
    };
    let messages = [[0; NODE_BYTES], [0xff; NODE_BYTES], core::array::from_fn(|i| (i * 101 + 7) as u8)];
    for message in &messages {
        let digest = halves(&keccak_256(message));
        let expected: Vec<(Target, F)> = out.into_iter().zip(digest).collect();
        // Forced to the digest, the circuit holds; to another, one row breaks.
        assert!(assignment(message, &expected).violations().is_empty());
        let mut wrong = expected[3..4].to_vec();
        wrong[0].1 += F::ONE;
        assert_refused(&assignment(message, &wrong), 1);
    }
    // Values that are not halves.
    for half in [F::from_canonical_u64(1 << 32), F::NEG_ONE] {
        assert_refused(&assignment(&messages[2], &[(right[5], half)]), FEW);
    }
}
