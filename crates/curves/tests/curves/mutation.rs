//! No bytes make a reader panic, and points do no more harm than a meaningless sum.

use ark_bls12_381::{Fq, Fr};
use ark_ec::AffineRepr;
use ark_ec::short_weierstrass::Affine;
use ark_ff::{BigInt, Field, PrimeField};
use evergrove_curves::{CheckedPoints, Curve, FileError, FixedBase, PointFile, PointWriter, msm_on};
use evergrove_primitives::lanes::available;
use proptest::prelude::*;

type Bls = ark_bls12_381::g1::Config;
type Bn = ark_bn254::g1::Config;

/// Canonical coordinates, including those around 0 and p, of points that are on no curve.
fn coordinate() -> impl Strategy<Value = Fq> {
    let near = (0u64..3).prop_map(|by| {
        let mut words = Fq::MODULUS.0;
        words[0] -= 1 + by;
        words
    });
    let few = (0u64..3).prop_map(|x| [x, 0, 0, 0, 0, 0]);
    // Below 2^380, hence below p.
    let any = any::<[u64; 6]>().prop_map(|mut words| {
        words[5] >>= 4;
        words
    });
    prop_oneof![few, near, any].prop_map(|words| Fq::new_unchecked(BigInt(words)))
}

/// A sequence of points without a pattern, from a few that repeat, including equal points, inverse points and infinity.
fn garbage(some: &[(Fq, Fq)], n: usize) -> Vec<Affine<Bls>> {
    let generator = Affine::<Bls>::generator();
    let point = |i: usize| match some.get(i % (some.len() + 4)) {
        Some((x, y)) => Affine::new_unchecked(*x, *y),
        None if i.is_multiple_of(7) => Affine::identity(),
        None if i.is_multiple_of(2) => -generator,
        None => generator,
    };
    (0..n).map(point).collect()
}

fn file<C: Curve>(points: &[Affine<C>]) -> Vec<u8> {
    let mut writer = PointWriter::new(Vec::new(), points.len() as u64).expect("memory");
    writer.write(points).expect("memory");
    writer.finish().expect("all points")
}

/// Reads all points of a file, some at a time: no more than it has bytes for.
fn read<C: Curve>(bytes: &[u8], trusted: bool, most: usize) -> Result<Vec<Affine<C>>, FileError> {
    let mut file = if trusted { PointFile::<_, C>::trusted(bytes)? } else { PointFile::new(bytes)? };
    let (mut all, mut next) = (Vec::new(), Vec::new());
    loop {
        file.next(most, &mut next)?;
        all.extend_from_slice(&next);
        if all.len() as u64 == file.len() {
            return Ok(all);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    /// The promise of [`CheckedPoints::trusted`] for invalid points.
    #[test]
    fn sums_of_what_is_no_point(
        some in prop::collection::vec((coordinate(), coordinate()), 1..6),
        scalars in prop::collection::vec(any::<u64>(), 1..5),
        n in prop_oneof![1usize..40, 200usize..700],
    ) {
        let points = garbage(&some, n);
        let scalars: Vec<Fr> = (0..n).map(|i| Fr::from(scalars[i % scalars.len()]).pow([1 + i as u64 % 5])).collect();
        let points = CheckedPoints::trusted(&points);
        for isa in available() {
            prop_assert!(msm_on(isa, points, &scalars).is_ok());
            let fixed = FixedBase::new_on(isa, points, 4 * 96 * n).expect("few points");
            prop_assert!(fixed.msm_on(isa, &scalars).is_ok());
        }
    }

    #[test]
    fn files_of_points_mutated(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in prop::option::of(any::<prop::sample::Index>()),
        tail in prop::collection::vec(any::<u8>(), 0..100),
        trusted: bool,
        most in 1usize..9,
    ) {
        let points = garbage(&[], 9);
        let good = file(&points);
        let mut bytes = good.clone();
        edits.iter().for_each(|(at, to)| bytes[at.index(good.len())] = *to);
        if let Some(end) = end {
            bytes.truncate(end.index(good.len()));
        }
        bytes.extend_from_slice(&tail);
        match read::<Bls>(&bytes, trusted, most) {
            Ok(found) => {
                prop_assert_eq!(file(&found), bytes.clone());
                prop_assert!(trusted || bytes == good || found != points);
            }
            Err(_) => prop_assert!(bytes != good),
        }
        prop_assert!(read::<Bn>(&bytes, trusted, most).is_err());
    }

    #[test]
    fn files_of_points_of_any_bytes(
        body in prop::collection::vec(any::<u8>(), 0..600),
        count in prop_oneof![0u64..7, any::<u64>()],
        trusted: bool,
    ) {
        // After a valid header, so that the number of points matches the bytes; small highest bytes make valid
        // coordinates.
        let body: Vec<u8> = body.iter().enumerate().map(|(i, x)| if i % 48 == 47 { x & 15 } else { *x }).collect();
        let empty = file::<Bls>(&[]);
        let bytes = [&empty[..empty.len() - 8], &count.to_le_bytes(), &body].concat();
        if let Ok(found) = read::<Bls>(&bytes, trusted, 64) {
            prop_assert_eq!(file(&found), bytes);
        }
        prop_assert!(read::<Bls>(&body, trusted, 64).is_err());
    }
}
