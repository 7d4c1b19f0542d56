//! Which points are accepted.

use ark_ec::CurveGroup;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::{AdditiveGroup, BigInt, BitIteratorBE, Field, Fp, Zero};
use evergrove_curves::{CheckedPoints, Curve, MsmError, Reason, msm};
use evergrove_primitives::lanes::available;

use super::common::{points, scalars};

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

/// k times a point of any order.
fn times<C: Curve>(point: Projective<C>, k: &[u64]) -> Projective<C> {
    let mut sum = Projective::ZERO;
    for bit in BitIteratorBE::without_leading_zeros(k) {
        sum.double_in_place();
        if bit {
            sum += point;
        }
    }
    sum
}

/// The rule in lanes compared with a multiplication by the order, for points all over the curve: r times `exponent`
/// times a point is infinity.
fn outside<C: Curve>(exponent: u64, divisors: &[u64]) {
    let order = C::ScalarField::characteristic();
    let all_over = (1u64..).filter_map(|x| Affine::<C>::get_point_from_x_unchecked(x.into(), x % 3 == 0));
    let on_curve: Vec<Affine<C>> = all_over.take(30).collect();
    let small = divisors.iter().map(|divisor| {
        assert_eq!(exponent % divisor, 0);
        let multiple = |p: &Affine<C>| times(times((*p).into(), order), &[exponent / divisor]);
        let point = on_curve.iter().map(multiple).find(|p| !p.is_zero()).expect("points of the order");
        assert!(times(point, &[*divisor]).is_zero(), "of order {divisor}");
        point.into_affine()
    });
    let small: Vec<Affine<C>> = small.collect();
    let good = points::<C>(5, 12);
    // Of small order within the group's: their sums with its points.
    let near = small.iter().map(|p| (*p + good[0]).into_affine());
    let mut refused = 0;
    for point in on_curve.iter().chain(&small).copied().chain(near).chain(good.iter().copied()) {
        let expected = times(point.into(), order).is_zero();
        refused += usize::from(!expected);
        for isa in available() {
            let found = CheckedPoints::new_on(isa, core::slice::from_ref(&point)).map(|_| ());
            let reason = Err(Reason::NotInSubgroup);
            assert_eq!(found.map_err(|e| e.reason), if expected { Ok(()) } else { reason }, "{point} on {isa}");
        }
    }
    assert_eq!(refused, 30 + 2 * divisors.len());
}

#[test]
fn the_subgroup_is_that_of_the_order() {
    outside::<ark_bls12_377::g1::Config>(0x8508_c000_0000_0000, &[2, 4, 3, 7, 13, 499, 1 << 46]);
    outside::<Bls>(0xd201_0000_0001_0001, &[3, 11, 10177, 859_267, 52_437_899]);
}

#[test]
fn lengths_that_differ_are_refused() {
    let points = points::<Bls>(3, 7);
    let error = msm(CheckedPoints::trusted(&points), &scalars::<Bls>(4, 8)).expect_err("a scalar too many");
    assert_eq!(error, MsmError::Length { points: 3, scalars: 4 });
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
