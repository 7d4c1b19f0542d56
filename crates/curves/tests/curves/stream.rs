//! Points of files.

use core::ops::ControlFlow;

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{CurveGroup, VariableBaseMSM};
use ark_ff::{AdditiveGroup, BigInt, Fp};
use evergrove_curves::{
    Curve, FileError, MsmError, PointFile, PointWriter, Progress, Reason, StreamError, msm_stream_on,
};
use evergrove_primitives::lanes::{Isa, available};

use super::common::{points, scalars};

type Bls = ark_bls12_381::g1::Config;
type Bn = ark_bn254::g1::Config;

fn written<C: Curve>(points: &[Affine<C>]) -> Vec<u8> {
    let mut writer = PointWriter::new(Vec::new(), points.len() as u64).expect("memory");
    let (first, second) = points.split_at(points.len() / 3);
    writer.write(first).expect("memory");
    writer.write(second).expect("memory");
    writer.finish().expect("all points")
}

/// Bytes before the first point.
fn header<C: Curve>() -> usize {
    written::<C>(&[]).len()
}

fn streamed<C: Curve>() {
    let n = 5000;
    let mut points = points::<C>(n, 31);
    points[7] = Affine::identity();
    let scalars = scalars::<C>(n, 32);
    let bytes = written(&points);
    assert_eq!(bytes.len() - header::<C>(), size_of_val(points.as_slice()));
    let mut file = PointFile::<_, C>::trusted(bytes.as_slice()).expect("a header");
    let mut read = Vec::new();
    file.next(usize::MAX, &mut read).expect("all points");
    assert_eq!(read, points);
    let expected = <Projective<C> as VariableBaseMSM>::msm_unchecked(&points, &scalars).into_affine();
    for isa in available() {
        // Chunks of 1,000 points, of 2,500 and of all.
        for (memory, chunk) in [(0, 1000), (3000 * 224, 2500), (usize::MAX, 5000)] {
            let file = PointFile::<_, C>::trusted(bytes.as_slice()).expect("a header");
            let mut told = Vec::new();
            let tell = |p: Progress| {
                told.push(p.done);
                ControlFlow::Continue(())
            };
            let sum = msm_stream_on(isa, file, &scalars, memory, tell).expect("a good file");
            assert_eq!(sum.into_affine(), expected, "{memory} bytes on {isa}");
            if size_of::<Affine<C>>() == 96 || memory != 3000 * 224 {
                assert_eq!(told, (chunk..=5000).step_by(chunk as usize).collect::<Vec<u64>>());
            }
        }
    }
}

#[test]
fn sums_of_files() {
    streamed::<ark_bls12_377::g1::Config>();
    streamed::<Bls>();
    streamed::<Bn>();
    let none = written::<Bn>(&[]);
    let file = PointFile::<_, Bn>::new(&none[..]).expect("a header");
    assert_eq!((file.len(), file.is_empty()), (0, true));
    assert_eq!(
        msm_stream_on(Isa::detect(), file, &[], 0, |_| ControlFlow::Continue(())).expect("nothing"),
        Projective::ZERO
    );
}

fn failure<C: Curve>(bytes: &[u8], scalars: &[C::ScalarField]) -> StreamError {
    let file = PointFile::<_, C>::new(bytes).map_err(StreamError::from);
    file.and_then(|file| msm_stream_on(Isa::detect(), file, scalars, 0, |_| ControlFlow::Continue(())))
        .expect_err("a bad file")
}

#[test]
fn files_that_are_none_are_refused() {
    let n = 3000;
    let (points, scalars) = (points::<Bls>(n, 33), scalars::<Bls>(n, 34));
    let good = written(&points);
    assert!(PointFile::<_, Bls>::new(&good[..]).is_ok());
    let error = |bytes: &[u8]| match failure::<Bls>(bytes, &scalars) {
        StreamError::File(error) => error,
        error => panic!("{error}"),
    };
    assert!(matches!(error(&good[..7]), FileError::Io(_)));
    assert!(matches!(error(b"EVGP\x01\0\x30\0"), FileError::Header { .. }));
    assert!(matches!(error(b"EVGC\x02\0\x30\0"), FileError::Header { .. }));
    assert!(matches!(error(&written::<Bn>(&[])), FileError::Curve));
    assert!(matches!(error(&written::<ark_bls12_377::g1::Config>(&[])), FileError::Curve));
    let short = error(&good[..good.len() - 1]);
    assert!(matches!(short, FileError::Truncated { points: 3000, .. }), "{short}");
    let long = error(&[&good[..], &[0]].concat());
    assert!(matches!(long, FileError::Trailing { points: 3000 }), "{long}");
    let none = written::<Bls>(&[]);
    assert!(PointFile::<_, Bls>::new(&none[..]).is_ok());
    assert!(matches!(
        PointFile::<_, Bls>::new(&[&none[..], &[0]].concat()[..]),
        Err(FileError::Trailing { points: 0 })
    ));
    // One scalar fewer.
    let other = failure::<Bls>(&good, &scalars[1..]);
    assert!(matches!(other, StreamError::Msm(MsmError::Length { points: 3000, scalars: 2999 })), "{other}");
    // Invalid points in the last chunk; the reported index counts from the first chunk.
    let high = Fp::new_unchecked(BigInt([u64::MAX; 6]));
    for (bad, reason) in [
        (Affine::<Bls>::new_unchecked(points[0].x, points[1].y), Reason::NotOnCurve),
        (Affine::<Bls>::new_unchecked(high, points[1].y), Reason::Coordinate),
    ] {
        let mut points = points.clone();
        points[2345] = bad;
        match error(&written(&points)) {
            FileError::Point(error) => assert_eq!((error.index, error.reason), (2345, reason)),
            error => panic!("{error}"),
        }
    }
}

#[test]
fn callers_may_stop() {
    let (points, scalars) = (points::<Bn>(3000, 35), scalars::<Bn>(3000, 36));
    let bytes = written(&points);
    let file = PointFile::<_, Bn>::trusted(&bytes[..]).expect("a header");
    let stopped = msm_stream_on(Isa::detect(), file, &scalars, 0, |p| {
        if p.done == 2000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(StreamError::Stopped { done: 2000, points: 3000 })), "{stopped:?}");
}

#[test]
fn writers_want_the_points_that_were_announced() {
    let points = points::<Bn>(3, 37);
    let mut writer = PointWriter::<_, Bn>::new(Vec::new(), 2).expect("memory");
    assert!(writer.write(&points).is_err());
    writer.write(&points[..1]).expect("one of two");
    assert!(writer.finish().is_err());
}
