//! Plans as data.

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{CurveGroup, VariableBaseMSM};
use ark_ff::PrimeField;
use evergrove_curves::{CheckedPoints, Curve, MsmError, Plan, Window, msm_with, msm_with_on};
use evergrove_primitives::lanes::available;

use super::common::{points, scalars};

fn lengths(bits: usize, points: usize) -> Vec<usize> {
    let mut lengths = vec![0; 256];
    lengths[bits] = points;
    lengths
}

#[test]
fn windows_cover_a_bit_more_than_the_longest_magnitude() {
    for bits in [1, 2, 7, 8, 63, 64, 65, 128, 252, 253, 254] {
        for log in [0, 1, 5, 10, 16, 20, 24, 28] {
            for threads in [1, 2, 3, 16, 64] {
                let plan = Plan::of_lengths(&lengths(bits, 1 << log), threads);
                let mut offset = 0;
                for &Window { offset: start, bits } in plan.windows() {
                    assert_eq!(start, offset);
                    assert!((1..=20).contains(&bits), "{bits} bits");
                    offset += bits;
                }
                assert_eq!(offset as usize, bits + 1);
                let widths: Vec<u32> = plan.windows().iter().map(|w| w.bits).collect();
                assert!(widths.iter().max() <= widths.iter().min().map(|w| w + 1).as_ref(), "{widths:?}");
                let passes: usize = plan.passes().iter().map(|p| p.windows).sum();
                assert_eq!(passes, plan.windows().len());
                assert!((1..=threads).contains(&plan.parts()));
            }
        }
    }
}

#[test]
fn no_scalars_need_no_windows() {
    for lengths in [vec![], vec![0], vec![17], vec![3; 1]] {
        let plan = Plan::of_lengths(&lengths, 2);
        assert!(plan.windows().is_empty() && plan.passes().is_empty());
        assert_eq!(plan.expected(96).additions, 0.0);
    }
}

#[test]
fn larger_problems_have_wider_windows() {
    let widest = |log: u32| Plan::of_lengths(&lengths(252, 1 << log), 1).windows()[0].bits;
    let widths: Vec<u32> = (7..=24).map(widest).collect();
    assert!(widths.is_sorted(), "{widths:?}");
    assert!((14..=17).contains(&widths[20 - 7]), "{widths:?}");
}

#[test]
fn few_long_scalars_do_not_widen_the_windows_of_many_short_ones() {
    let mut mixed = lengths(8, 1 << 20);
    mixed[252] = 16;
    let expected = Plan::of_lengths(&mixed, 1).expected(96);
    assert!(expected.additions + expected.aggregation < 2.5 * (1 << 20) as f64, "{expected:?}");
}

#[test]
fn the_papers_mixed_windows() {
    let widths: Vec<u32> = [12; 6].into_iter().chain([13; 14]).collect();
    let plan = Plan::of_widths(1 << 16, 253, &widths, 1);
    assert_eq!(plan.windows().len(), 20);
    assert_eq!(plan.windows()[19], Window { offset: 241, bits: 13 });
    let expected = plan.expected(96);
    // 20 digits a point, less the first of each of 6 x 2^11 and 14 x 2^12 buckets.
    let buckets = (6 << 11) + (14 << 12);
    assert!((expected.additions / (20.0 * 65536.0 - f64::from(buckets)) - 1.0).abs() < 1e-3, "{expected:?}");
    assert!((expected.aggregation / (2.0 * f64::from(buckets)) - 1.0).abs() < 1e-3, "{expected:?}");
    assert_eq!(expected.doublings, 241.0);
}

#[test]
#[should_panic(expected = "a bit more than magnitudes have")]
fn widths_that_leave_bits_out() {
    let _ = Plan::of_widths(1, 253, &[16; 15], 1);
}

/// Plans of any windows, with any number of parts, give the same sum.
fn runs<C: Curve>() {
    let n = 900;
    let bits = C::ScalarField::MODULUS_BIT_SIZE - 1;
    let mut points = points::<C>(n, 41);
    points[5] = Affine::identity();
    points[6] = points[4];
    let scalars = scalars::<C>(n, 42);
    let expected = <Projective<C> as VariableBaseMSM>::msm_unchecked(&points, &scalars).into_affine();
    let mixed: Vec<u32> = [12; 6].into_iter().chain([13; 13]).chain([bits + 1 - 72 - 169]).collect();
    let uneven: Vec<u32> = [1, 17, 2, 9].into_iter().cycle().take(32).chain([bits + 1 - 8 * 29]).collect();
    let plans = [mixed, uneven].map(|widths| Plan::of_widths(n, bits, &widths, 1));
    let many = Plan::of_widths(1 << 16, bits, &[15; 16].into_iter().chain([bits + 1 - 240]).collect::<Vec<u32>>(), 7);
    assert!(many.parts() > 1, "{many:?}");
    for isa in available() {
        for plan in plans.iter().chain([&many]) {
            let sum = msm_with_on(isa, plan, CheckedPoints::trusted(&points), &scalars).expect("as many");
            assert_eq!(sum.into_affine(), expected, "{plan:?} on {isa}");
        }
    }
}

#[test]
#[should_panic(expected = "at most 254 bits: 255")]
fn windows_leave_the_sign_its_bit() {
    let _ = Plan::of_widths(1, 255, &[16; 16], 1);
}

#[test]
fn plans_run() {
    runs::<ark_bls12_377::g1::Config>();
    runs::<ark_bls12_381::g1::Config>();
    runs::<ark_bn254::g1::Config>();
}

#[test]
fn plans_for_shorter_scalars_are_refused() {
    type Bn = ark_bn254::g1::Config;
    let (points, mut scalars) = (points::<Bn>(20, 43), vec![15u64.into(); 20]);
    let plan = Plan::of_widths(20, 4, &[3, 2], 1);
    assert!(msm_with(&plan, CheckedPoints::trusted(&points), &scalars).is_ok());
    // The magnitude of -16 is 16.
    scalars[3] = -ark_bn254::Fr::from(16u64);
    let error = msm_with(&plan, CheckedPoints::trusted(&points), &scalars).expect_err("a longer scalar");
    assert_eq!(error, MsmError::Plan { bits: 4, longest: 5 });
}
