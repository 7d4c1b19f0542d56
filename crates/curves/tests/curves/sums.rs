//! Random and adversarial inputs.

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{CurveGroup, VariableBaseMSM};
use ark_ff::{AdditiveGroup, Field, PrimeField};
use evergrove_curves::{CheckedPoints, Curve, msm_on, reference};
use evergrove_primitives::lanes::available;

use super::common::{points, scalars};

fn agree<C: Curve>(points: &[Affine<C>], scalars: &[C::ScalarField], what: &str) {
    let expected = <Projective<C> as VariableBaseMSM>::msm_unchecked(points, scalars).into_affine();
    for isa in available() {
        let found = msm_on(isa, CheckedPoints::trusted(points), scalars).expect("as many");
        assert_eq!(found.into_affine(), expected, "{what}: {} points on {isa}", points.len());
    }
}

fn random<C: Curve>() {
    let (p, k) = (points::<C>(5, 1), scalars::<C>(5, 2));
    let expected = <Projective<C> as VariableBaseMSM>::msm_unchecked(&p, &k);
    assert_eq!(reference::msm(&p, &k), expected);
    for n in (0..=33).chain([63, 64, 65, 100, 255, 1000, 3001]) {
        agree::<C>(&points::<C>(n, 1), &scalars::<C>(n, 2), "random");
    }
}

#[test]
fn random_scalars() {
    random::<ark_bls12_377::g1::Config>();
    random::<ark_bls12_381::g1::Config>();
    random::<ark_bn254::g1::Config>();
}

fn adversarial<C: Curve>(n: usize) {
    let (p, k) = (points::<C>(n, 3), scalars::<C>(n, 4));
    let scalar = |x: u64| C::ScalarField::from(x);
    let same = |x: C::ScalarField| vec![x; n];
    agree::<C>(&p, &same(scalar(0)), "scalars 0");
    agree::<C>(&p, &same(scalar(1)), "scalars 1");
    agree::<C>(&p, &same(-scalar(1)), "scalars -1");
    agree::<C>(&p, &same(k[0]), "equal scalars");
    let half = C::ScalarField::from_bigint(C::ScalarField::MODULUS_MINUS_ONE_DIV_TWO).expect("below the order");
    agree::<C>(&p, &same(half), "the greatest magnitude");
    agree::<C>(&p, &same(half + scalar(1)), "the greatest magnitude, negative");
    agree::<C>(&vec![p[0]; n], &k, "equal points");
    agree::<C>(&vec![p[0]; n], &same(k[0]), "equal points and scalars");
    agree::<C>(&vec![p[0]; n], &same(scalar(1)), "equal points, scalars 1");
    agree::<C>(&vec![Affine::identity(); n], &k, "infinity");
    let alternating: Vec<Affine<C>> = (0..n).map(|i| if i % 2 == 0 { p[0] } else { -p[0] }).collect();
    agree::<C>(&alternating, &same(k[0]), "P and -P");
    agree::<C>(&alternating, &k, "P and -P, random scalars");
    let mixed: Vec<Affine<C>> = (0..n)
        .map(|i| match i % 5 {
            0 => Affine::identity(),
            1 => -p[i - 1],
            2 => p[i / 10],
            3 => (p[i] + p[i]).into_affine(),
            _ => p[i],
        })
        .collect();
    for bits in [1, 2, 3, 8, 16, 64, 128, 250] {
        let mask: Vec<C::ScalarField> = k
            .iter()
            .map(|k| {
                let low = k.into_bigint().as_ref()[0];
                let small = if bits <= 64 { scalar(low >> (64 - bits)) } else { scalar(2).pow([bits]) + scalar(low) };
                if low % 3 == 0 { -small } else { small }
            })
            .collect();
        agree::<C>(&mixed, &mask, "small scalars");
        let sparse: Vec<C::ScalarField> =
            mask.iter().enumerate().map(|(i, k)| if i % 97 == 0 { *k } else { C::ScalarField::ZERO }).collect();
        agree::<C>(&mixed, &sparse, "sparse scalars");
    }
    if n < 256 {
        return;
    }
    // Every pair of points cancels or doubles at some level of the sums.
    let powers: Vec<Affine<C>> = (0..256u64).map(|i| (p[0] * scalar(1 << (i % 8))).into_affine()).collect();
    agree::<C>(&powers, &[scalar(1); 256], "powers of two");
}

#[test]
fn adversarial_inputs() {
    for n in [12, 700] {
        adversarial::<ark_bls12_377::g1::Config>(n);
        adversarial::<ark_bls12_381::g1::Config>(n);
        adversarial::<ark_bn254::g1::Config>(n);
    }
}
