//! The aggregation of BLS keys, with `blst` as the reference.

mod laws;

/// The circuits that the laws compare the code with.
use evergrove_apps::laws as circuits;

use blst::min_pk::{AggregatePublicKey, AggregateSignature, PublicKey, SecretKey, Signature};
use evergrove_apps::MapReduce;
use evergrove_apps::bls::light_client::{self, CIPHERSUITE, Claim, ClaimError};
use evergrove_apps::bls::{BlsKeys, KeyError, Output, Point, table};
use evergrove_primitives::Goldilocks;

use laws::{public, secret};

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
fn keys_that_may_not_enter_are_named() {
    let good = public(1).compress();
    assert_eq!(Point::from_compressed(&good), Ok(Point::of_key(&public(1))));
    let mut identity = [0; 48];
    identity[0] = 0xc0;
    assert_eq!(Point::from_compressed(&identity), Err(KeyError::Identity));
    assert_eq!(Point::from_compressed(&good[..47]), Err(KeyError::Encoding));
    // x = 0, y = 2: a point of order 3.
    let mut order_three = [0; 48];
    order_three[0] = 0x80;
    assert_eq!(Point::from_compressed(&order_three), Err(KeyError::NotInGroup));
    let mut off_curve = [0; 48];
    (off_curve[0], off_curve[47]) = (0x80, 1);
    assert_eq!(Point::from_compressed(&off_curve), Err(KeyError::NotOnCurve));
    let e = table::parse_keys([&good[..], &order_three]).expect_err("the second point is not in the group");
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

#[test]
fn outputs_decode_from_their_own_elements_alone() {
    let output = Output { key: Point::of_key(&public(1)), count: 3 };
    let elements = output.to_elements();
    for k in 0..elements.len() - 1 {
        let mut changed = elements.clone();
        changed[k] += Goldilocks::ONE;
        assert_eq!(Output::from_elements(&changed), None, "element {k}");
    }
    assert_eq!(Output::from_elements(&elements[1..]), None);
    assert_eq!(Output::from_elements(&[]), None);
}
