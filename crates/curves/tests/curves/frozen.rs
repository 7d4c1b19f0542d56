//! The frozen files of points of version 1 (vectors/frozen/v1): programs still write and read the frozen bytes.

use std::path::PathBuf;

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::AdditiveGroup;
use evergrove_curves::{Curve, PointFile, PointWriter};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/frozen/v1").join(name)
}

/// The generator, twice it, infinity, and three times it with a minus.
fn points<C: Curve>() -> Vec<Affine<C>> {
    let one = Affine::<C>::generator();
    let (two, three) = (one + one, one + one + one);
    Projective::normalize_batch(&[one.into(), two, Projective::ZERO, -three])
}

fn written<C: Curve>() -> Vec<u8> {
    let points = points::<C>();
    let mut writer = PointWriter::new(Vec::new(), points.len() as u64).expect("memory");
    writer.write(&points).expect("memory");
    writer.finish().expect("all points")
}

/// The bytes of a frozen file. A new version has no file yet, and `EVERGROVE_BLESS=1 cargo test` writes it from `bytes`.
fn frozen(name: &str, bytes: &[u8]) -> Vec<u8> {
    let path = path(name);
    if std::env::var_os("EVERGROVE_BLESS").is_some() && !path.exists() {
        std::fs::write(&path, bytes).expect(name);
    }
    std::fs::read(&path).expect(name)
}

fn is_frozen<C: Curve>(name: &str) {
    let written = written::<C>();
    let frozen = frozen(name, &written);
    assert!(frozen == written, "{name} is not what version 1 wrote: a changed encoding needs a version of its own");
    let mut file = PointFile::<_, C>::new(&frozen[..]).expect(name);
    let mut read = Vec::new();
    file.next(usize::MAX, &mut read).expect(name);
    assert_eq!(read, points::<C>(), "{name}");
}

#[test]
fn frozen_files_are_what_is_written_and_read() {
    is_frozen::<ark_bls12_377::g1::Config>("points-bls12-377.bin");
    is_frozen::<ark_bls12_381::g1::Config>("points-bls12-381.bin");
    is_frozen::<ark_bn254::g1::Config>("points-bn254.bin");
}
