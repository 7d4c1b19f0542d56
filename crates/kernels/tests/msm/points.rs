//! What is taken for a point, and sums of subsets.

use ark_ec::CurveGroup;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::{AdditiveGroup, BigInt, Fp};
use evergrove_kernels::msm::{CheckedPoints, Curve, MsmError, Reason, msm, subset_sum_on};
use evergrove_primitives::lanes::available;

use crate::common::{points, scalars};

type Bls = ark_bls12_381::g1::Config;

#[test]
fn points_of_the_group_pass() {
    fn pass<C: Curve>() {
        for isa in available() {
            for n in [0, 1, 7, 8, 9, 1023, 1025] {
                let mut points = points::<C>(n, 5);
                if let Some(point) = points.last_mut() {
                    *point = Affine::identity();
                }
                assert!(CheckedPoints::new_on(isa, &points).is_ok_and(|p| p.as_slice() == points));
            }
        }
    }
    pass::<ark_bls12_377::g1::Config>();
    pass::<Bls>();
    pass::<ark_bn254::g1::Config>();
}

#[test]
fn others_are_named_with_their_reason() {
    let good = points::<Bls>(2100, 6);
    let on_curve = (1u64..)
        .filter_map(|x| Affine::<Bls>::get_point_from_x_unchecked(x.into(), true))
        .find(|p| !p.is_in_correct_subgroup_assuming_on_curve())
        .expect("the cofactor is large");
    let off_curve = Affine::<Bls>::new_unchecked(good[0].x, good[1].y);
    let high = Affine::<Bls>::new_unchecked(Fp::new_unchecked(BigInt([u64::MAX; 6])), good[0].y);
    for isa in available() {
        for (bad, reason) in
            [(on_curve, Reason::NotInSubgroup), (off_curve, Reason::NotOnCurve), (high, Reason::Coordinate)]
        {
            for index in [0, 8, 1030, 2099] {
                let mut points = good.clone();
                points[index] = bad;
                if index == 8 {
                    points[1500] = off_curve;
                }
                let error = CheckedPoints::new_on(isa, &points).expect_err("a bad point");
                assert_eq!((error.index, error.reason), (index, reason), "{error}");
            }
        }
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    let points = points::<Bls>(3, 7);
    let error = msm(CheckedPoints::trusted(&points), &scalars::<Bls>(4, 8)).expect_err("a scalar too many");
    assert_eq!(error, MsmError::Length { points: 3, scalars: 4 });
}

#[test]
fn sums_of_subsets() {
    let mut points = points::<Bls>(20_000, 9);
    points[1] = points[0];
    points[2] = -points[3];
    points[4] = Affine::identity();
    type Members = fn(usize) -> bool;
    let subsets: [(usize, Members); 6] = [
        (20_000, |_| true),
        (20_000, |i| i % 3 != 1),
        (20_000, |_| false),
        (5, |_| true),
        (2, |_| true),
        (1, |i| i == 0),
    ];
    for isa in available() {
        for (n, member) in subsets {
            let members: Vec<bool> = (0..n).map(member).collect();
            let mut expected = Projective::<Bls>::ZERO;
            for (point, _) in points.iter().zip(&members).filter(|(_, member)| **member) {
                expected += point;
            }
            let sum = subset_sum_on(isa, CheckedPoints::trusted(&points[..n]), &members).expect("as many");
            assert_eq!(sum.into_affine(), expected.into_affine(), "{n} on {isa}");
        }
    }
}

#[test]
fn the_same_words_for_any_number_of_threads() {
    let (points, scalars) = (points::<Bls>(9_000, 10), scalars::<Bls>(9_000, 11));
    let sum = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let sum = pool.install(|| msm(CheckedPoints::trusted(&points), &scalars)).expect("as many");
        (sum.x, sum.y, sum.z)
    };
    let one = sum(1);
    for threads in [2, 3, 8, 100] {
        assert_eq!(sum(threads), one, "{threads} threads");
    }
}
