//! The laws of the aggregation of BLS keys, with `blst` as the reference.

use ark_bls12_381::Fq;
use ark_ff::PrimeField;
use blst::min_pk::{AggregatePublicKey, AggregateSignature, PublicKey, SecretKey, Signature};
use evergrove_apps::bls::light_client::{self, CIPHERSUITE, Claim, ClaimError};
use evergrove_apps::bls::{BlsKeys, KeyError, Output, Point, ROWS_PER_ADDITION, rows_per_addition, table};
use evergrove_apps::laws::{Case, MapCircuit, ReduceCircuit, check, refuses_leaf};
use evergrove_apps::{Leaf, MapReduce, MapReduceError};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::{domain_tag, hash_tagged};
use evergrove_recursion::assignment::Assignment;
use evergrove_recursion::circuit::from_plonky;

fn secret(seed: u8) -> SecretKey {
    SecretKey::key_gen(&[seed; 32], b"evergrove tests").expect("32 bytes of entropy")
}

fn public(seed: u8) -> PublicKey {
    secret(seed).sk_to_pk()
}

fn case(index: u64, key: &Point) -> Case {
    let schema = table::schema();
    let row = table::row(key).expect("a key");
    let opening = table::numbers(key).expect("a key").map(Goldilocks::new).to_vec();
    Case { index, value: schema.value(&row).expect("a row of the schema"), opening }
}

/// Pairs of operands: distinct, equal, inverse, identities, and a point of order 3 outside the subgroup.
fn pairs() -> Vec<[Point; 2]> {
    let [p, q] = [1, 2].map(|seed| Point::of_key(&public(seed)));
    let order_three = Point::new(Fq::from(0_u64), Fq::from(2_u64)).expect("0 + 4 = 2^2");
    let none = Point::IDENTITY;
    vec![
        [p, q],
        [p, p],
        [p, p.neg()],
        [p, none],
        [none, p],
        [none, none],
        [order_three, order_three],
        [order_three, order_three.neg()],
        [order_three, p],
        [p.add(&q), q],
    ]
}

#[test]
fn sums_are_those_of_blst() {
    let keys: Vec<PublicKey> = (1..6).map(public).collect();
    let sum = keys.iter().map(Point::of_key).fold(Point::IDENTITY, |sum, p| sum.add(&p));
    let references: Vec<&PublicKey> = keys.iter().collect();
    let due = AggregatePublicKey::aggregate(&references, true).expect("keys").to_public_key();
    assert_eq!(sum, Point::of_key(&due));
    assert_eq!(sum.to_key(), Ok(due));
    let twice = AggregatePublicKey::aggregate(&[&keys[0], &keys[0]], true).expect("keys").to_public_key();
    assert_eq!(Point::of_key(&keys[0]).add(&Point::of_key(&keys[0])), Point::of_key(&twice));
    assert_eq!(Point::of_key(&keys[0]).add(&Point::of_key(&keys[0]).neg()), Point::IDENTITY);
}

#[test]
fn keys_satisfy_the_laws() {
    let p = Point::of_key(&public(1));
    let keys = [p, p.neg(), Point::of_key(&public(3)), p];
    let cases: Vec<Case> = keys.iter().zip([0, 1, 77, (1 << 40) - 1]).map(|(k, i)| case(i, k)).collect();
    check(&BlsKeys, &cases);
}

#[test]
fn additions_are_complete() {
    let circuit = ReduceCircuit::build(&BlsKeys);
    for (k, [p, q]) in pairs().into_iter().enumerate() {
        let [left, right] = [(p, 5), (q, 1 << 39)].map(|(key, count)| Output { key, count }.to_elements());
        let due = BlsKeys.reduce(&left, &right).expect("two outputs");
        let inputs = circuit.inputs(&left, &right);
        let assignment = Assignment::complete(&circuit.data, &[], inputs);
        assert_eq!(assignment.violations(), Default::default(), "pair {k}");
        let found: Vec<_> = assignment.public_inputs().iter().copied().map(from_plonky).collect();
        assert_eq!(found, due, "pair {k}");
    }
}

#[test]
fn circuits_are_proven() {
    let circuit = ReduceCircuit::build(&BlsKeys);
    let [p, q] = [Point::of_key(&public(1)), Point::of_key(&public(2))];
    let [left, right] = [(p, 5), (q, 7)].map(|(key, count)| Output { key, count }.to_elements());
    let prover = evergrove_recursion::prover::Prover::new(&circuit.data).expect("a circuit of this prover's");
    let ours = prover.prove(&circuit.data, circuit.inputs(&left, &right)).expect("a proof");
    circuit.data.verify(ours).expect("a proof that verifies");
    let theirs = circuit.data.prove(circuit.inputs(&left, &right)).expect("a proof");
    circuit.data.verify(theirs).expect("a proof that verifies");
}

#[test]
fn leaves_that_are_no_points_are_refused() {
    let good = case(3, &Point::of_key(&public(1)));
    // Another opening than the value's.
    let mut other = good.clone();
    other.opening[0] += Goldilocks::ONE;
    refuses_leaf(&BlsKeys, &other);
    // A length that is not the application's.
    let leaf = Leaf { index: 3, value: good.value, opening: &good.opening[1..] };
    assert!(matches!(BlsKeys.map(&leaf), Err(MapReduceError::OpeningLength { expected: 14, found: 13, .. })));
    // Off the curve, out of its columns, the identity, or x + p: under the right hash.
    let changes: [fn(&mut Case); 6] = [
        |c| c.opening[0] += Goldilocks::ONE,
        |c| c.opening[13] += Goldilocks::ONE,
        |c| c.opening[2] += Goldilocks::new(1 << 56),
        |c| c.opening[1] = Goldilocks::new(Goldilocks::ORDER - 1),
        |c| c.opening.fill(Goldilocks::ZERO),
        add_modulus,
    ];
    for change in changes {
        let mut bad = good.clone();
        change(&mut bad);
        bad.value = hash_tagged(&bad.opening, domain_tag(0x524f_5745, 14)).0;
        refuses_leaf(&BlsKeys, &bad);
    }
}

/// x + p in place of x.
fn add_modulus(case: &mut Case) {
    // p - 1 and 1.
    let largest = opening_of(-Fq::from(1_u64));
    let mut carry = 1;
    for (limb, p) in case.opening.iter_mut().zip(largest) {
        let sum = limb.as_u64() + p + carry;
        carry = sum >> 56;
        *limb = Goldilocks::new(sum & ((1 << 56) - 1));
    }
    assert_eq!(carry, 0, "x + p has 56 * 7 bits");
}

/// Seven numbers of 56 bits.
fn opening_of(x: Fq) -> [u64; 7] {
    let words = x.into_bigint().0;
    core::array::from_fn(|i| {
        let (word, shift) = (56 * i / 64, 56 * i % 64);
        let high = words.get(word + 1).map_or(0, |w| w.checked_shl(64 - shift as u32).unwrap_or(0));
        (words[word] >> shift | high) & ((1 << 56) - 1)
    })
}

#[test]
fn rows_are_those_of_the_snapshot() {
    let rows = [MapCircuit::build(&BlsKeys).rows, ReduceCircuit::build(&BlsKeys).rows, rows_per_addition()];
    assert_eq!(rows, [36, 58, ROWS_PER_ADDITION], "rows of a leaf, of a reduction, of an addition");
}

#[test]
fn keys_that_may_not_enter_are_named() {
    let good = public(1).compress();
    assert_eq!(Point::from_compressed(&good), Ok(Point::of_key(&public(1))));
    let mut identity = [0; 48];
    identity[0] = 0xc0;
    assert_eq!(Point::from_compressed(&identity), Err(KeyError::Identity));
    assert_eq!(Point::from_compressed(&good[..47]), Err(KeyError::Encoding));
    // x = 0, y = 2: of order 3.
    let mut order_three = [0; 48];
    order_three[0] = 0x80;
    assert_eq!(Point::from_compressed(&order_three), Err(KeyError::NotInGroup));
    let mut off_curve = [0; 48];
    (off_curve[0], off_curve[47]) = (0x80, 1);
    assert_eq!(Point::from_compressed(&off_curve), Err(KeyError::NotOnCurve));
    let e = table::parse_keys([&good[..], &order_three]).expect_err("the second is no key");
    assert_eq!((e.row, e.to_string().as_str()), (1, "row 1: not in the subgroup of prime order"));
}

#[test]
fn rows_of_a_table_hold_keys() {
    let key = Point::of_key(&public(9));
    let opening: Vec<Goldilocks> = table::numbers(&key).expect("a key").map(Goldilocks::new).to_vec();
    assert_eq!(table::key(&opening), Some(key));
    assert_eq!(table::numbers(&Point::IDENTITY), None);
    assert_eq!(table::key(&[Goldilocks::ZERO; 14]), None);
    let schema = table::schema();
    let row = table::row(&key).expect("a key");
    assert_eq!(schema.elements(&row).expect("a row"), opening);
}

#[test]
fn a_light_client_accepts_what_the_signers_signed() {
    let secrets: Vec<SecretKey> = (1..5).map(secret).collect();
    let keys: Vec<Point> = secrets.iter().map(|s| Point::of_key(&s.sk_to_pk())).collect();
    let message = b"an epoch";
    let signatures: Vec<Signature> = secrets.iter().map(|s| s.sign(message, CIPHERSUITE, &[])).collect();
    let references: Vec<&Signature> = signatures.iter().collect();
    let aggregate = AggregateSignature::aggregate(&references, true).expect("signatures").to_signature();
    let signature = aggregate.compress();
    let output = Output { key: keys.iter().fold(Point::IDENTITY, |sum, k| sum.add(k)), count: 4 };
    assert_eq!(Output::from_elements(&output.to_elements()), Some(output));
    let claim = Claim { message, signature: &signature, threshold: 3 };
    assert_eq!(light_client::check(&output, &claim), Ok(()));

    let refused = |output: &Output, claim: &Claim<'_>| light_client::check(output, claim).expect_err("refused");
    assert_eq!(refused(&output, &Claim { threshold: 5, ..claim }), ClaimError::TooFew { count: 4, threshold: 5 });
    assert_eq!(refused(&output, &Claim { message: b"another", ..claim }), ClaimError::Signature);
    assert_eq!(refused(&Output { key: keys[0], count: 4 }, &claim), ClaimError::Signature);
    assert_eq!(refused(&Output { key: Point::IDENTITY, count: 4 }, &claim), ClaimError::Key(KeyError::Identity));
    assert_eq!(refused(&output, &Claim { signature: &signature[1..], ..claim }), ClaimError::Encoding);
    let mut flipped = signature;
    flipped[95] ^= 1;
    assert!(matches!(refused(&output, &Claim { signature: &flipped, ..claim }), ClaimError::Encoding));
}

#[test]
fn parameters_are_its_own() {
    assert_eq!(BlsKeys::from_parameters(&BlsKeys.parameters()), Ok(BlsKeys));
    assert!(BlsKeys::from_parameters(b"BN254").is_err());
}
