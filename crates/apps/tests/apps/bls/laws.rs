//! Code against circuits. This crate tests circuits on tables. The tests of `evergrove-plonky2` include this file for
//! the circuits of Plonky2.

use ark_bls12_381::Fq;
use ark_ff::PrimeField;
use blst::min_pk::{PublicKey, SecretKey};
use evergrove_apps::bls::{BlsKeys, Point, table};
use evergrove_apps::laws::Case;
use evergrove_apps::{Leaf, MapReduce, MapReduceError};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::{domain_tag, hash_tagged};

use super::circuits::{check, refuses_leaf};

pub(super) fn secret(seed: u8) -> SecretKey {
    SecretKey::key_gen(&[seed; 32], b"evergrove tests").expect("32 bytes of entropy")
}

pub(super) fn public(seed: u8) -> PublicKey {
    secret(seed).sk_to_pk()
}

fn case(index: u64, key: &Point) -> Case {
    let schema = table::schema();
    let row = table::row(key).expect("a key");
    let opening = table::numbers(key).expect("a key").map(Goldilocks::new).to_vec();
    Case { index, value: schema.value(&row).expect("a row of the schema"), opening }
}

#[test]
fn keys_satisfy_the_laws() {
    let p = Point::of_key(&public(1));
    let keys = [p, p.neg(), Point::of_key(&public(3)), p];
    let cases: Vec<Case> = keys.iter().zip([0, 1, 77, (1 << 40) - 1]).map(|(k, i)| case(i, k)).collect();
    check(&BlsKeys, &cases);
}

#[test]
fn leaves_that_are_no_points_are_refused() {
    let good = case(3, &Point::of_key(&public(1)));
    // An opening of another value.
    let mut other = good.clone();
    other.opening[0] += Goldilocks::ONE;
    refuses_leaf(&BlsKeys, &other);
    // An opening of the wrong length.
    let leaf = Leaf { index: 3, value: good.value, opening: &good.opening[1..] };
    assert!(matches!(BlsKeys.map(&leaf), Err(MapReduceError::OpeningLength { expected: 14, found: 13, .. })));
    // Off the curve, out of a column's range, the identity, or x + p, each under the right hash.
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

/// Replaces x by x + p.
fn add_modulus(case: &mut Case) {
    // p - 1, then plus 1.
    let largest = opening_of(-Fq::from(1_u64));
    let mut carry = 1;
    for (limb, p) in case.opening.iter_mut().zip(largest) {
        let sum = limb.as_u64() + p + carry;
        carry = sum >> 56;
        *limb = Goldilocks::new(sum & ((1 << 56) - 1));
    }
    assert_eq!(carry, 0, "x + p has 56 * 7 bits");
}

/// x as seven numbers of 56 bits.
fn opening_of(x: Fq) -> [u64; 7] {
    let words = x.into_bigint().0;
    core::array::from_fn(|i| {
        let (word, shift) = (56 * i / 64, 56 * i % 64);
        let high = words.get(word + 1).map_or(0, |w| w.checked_shl(64 - shift as u32).unwrap_or(0));
        (words[word] >> shift | high) & ((1 << 56) - 1)
    })
}
