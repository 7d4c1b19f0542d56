//! Points with multiples.

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{CurveGroup, VariableBaseMSM};
use ark_ff::AdditiveGroup;
use evergrove_curves::{CheckedPoints, Curve, FixedBase, MsmError};
use evergrove_primitives::lanes::available;

use super::common::{points, scalars};

fn sums<C: Curve>() {
    for (n, budgets) in
        [(1, vec![0, usize::MAX]), (9, vec![2000]), (300, vec![0, 100_000, usize::MAX]), (2000, vec![1 << 20])]
    {
        let mut points = points::<C>(n, 21);
        if n > 2 {
            points[2] = Affine::identity();
            points[n - 1] = -points[0];
        }
        let random = scalars::<C>(n, 22);
        let small: Vec<_> = (0..n as u64).map(|i| C::ScalarField::from(i % 300)).collect();
        let zero = vec![C::ScalarField::ZERO; n];
        let expected: Vec<_> = [&random, &small, &zero]
            .map(|k| <Projective<C> as VariableBaseMSM>::msm_unchecked(&points, k).into_affine())
            .into();
        for isa in available() {
            for budget in &budgets {
                let fixed = FixedBase::new_on(isa, CheckedPoints::trusted(&points), *budget).expect("few points");
                assert_eq!(fixed.points(), points);
                let size = n * size_of::<Affine<C>>();
                assert!(fixed.bytes() <= (*budget).max(size), "{} bytes of {budget}", fixed.bytes());
                assert_eq!(fixed.bytes() > size, *budget >= 2 * size, "{budget}");
                for (scalars, expected) in [&random, &small, &zero].into_iter().zip(&expected) {
                    let sum = fixed.msm_on(isa, scalars).expect("as many");
                    assert_eq!(sum.into_affine(), *expected, "{n} points, {budget} bytes, {isa}");
                }
            }
        }
    }
}

#[test]
fn sums_by_multiples() {
    sums::<ark_bls12_377::g1::Config>();
    sums::<ark_bls12_381::g1::Config>();
    sums::<ark_bn254::g1::Config>();
}

#[test]
fn more_memory_means_fewer_families_of_buckets() {
    type Bn = ark_bn254::g1::Config;
    let points = points::<Bn>(1000, 23);
    let fixed = |copies: usize| {
        let budget = copies * size_of_val(points.as_slice());
        FixedBase::new(CheckedPoints::trusted(&points), budget).expect("few points")
    };
    let strides: Vec<usize> = [1, 2, 4, 8, 100].map(|copies| fixed(copies).plan().stride()).into();
    assert!(strides.is_sorted_by(|a, b| a > b), "{strides:?}");
    assert_eq!(strides[4], 1);
    // Among others, points outside the group, of order 2 and at infinity: the sum is meaningless.
    let odd = Affine::<ark_bls12_377::g1::Config>::new_unchecked((-1).into(), 0.into());
    assert!(odd.is_on_curve());
    let fixed = FixedBase::new(CheckedPoints::trusted(&[odd; 20]), 1 << 20).expect("few points");
    assert!(fixed.msm(&scalars::<ark_bls12_377::g1::Config>(20, 1)).is_ok());
}

#[test]
fn no_points_and_other_lengths() {
    type Bn = ark_bn254::g1::Config;
    let none = FixedBase::<Bn>::new(CheckedPoints::trusted(&[]), 1 << 20).expect("no points");
    assert_eq!(none.msm(&[]).expect("as many"), Projective::ZERO);
    assert_eq!(none.msm(&scalars::<Bn>(1, 1)).expect_err("one too many"), MsmError::Length { points: 0, scalars: 1 });
}
