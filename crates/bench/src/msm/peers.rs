//! Our implementation of a sum, and its peers.

use std::hint::black_box;
use std::time::Instant;

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::{BigInteger, PrimeField};
use evergrove_curves::{CheckedPoints, Curve, msm_on};
use evergrove_primitives::lanes::Isa;

use super::input::Input;

/// Runs an implementation. Returns the seconds and the coordinates of the sum.
pub(crate) type Run<'a> = Box<dyn FnMut() -> (f64, Vec<u8>) + Send + 'a>;

pub(super) fn timed<R>(compute: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = black_box(compute());
    (start.elapsed().as_secs_f64(), result)
}

/// The little-endian bytes of a point's coordinates; empty for the point at infinity.
pub(crate) fn bytes<C: Curve>(point: Projective<C>) -> Vec<u8> {
    point
        .into_affine()
        .xy()
        .map_or(Vec::new(), |(x, y)| [x, y].iter().flat_map(|x| x.into_bigint().to_bytes_le()).collect())
}

pub(crate) fn ours<C: Curve>(isa: Isa, input: Input<'_, C>) -> Run<'_> {
    Box::new(move || {
        let (seconds, sum) =
            timed(|| msm_on(isa, CheckedPoints::trusted(input.points), input.scalars).expect("as many"));
        (seconds, bytes(sum))
    })
}

pub(crate) fn ark<C: Curve>(input: Input<'_, C>) -> Run<'_> {
    Box::new(move || {
        let (seconds, sum) = timed(|| <Projective<C> as VariableBaseMSM>::msm_unchecked(input.points, input.scalars));
        (seconds, bytes(sum))
    })
}

/// blst on one thread. It takes scalars as bytes, which are made before the clock starts.
pub(crate) fn blst(input: Input<'_, ark_bls12_381::g1::Config>) -> Run<'_> {
    use blst::{MultiPoint, blst_fp, blst_p1_affine};
    let affine =
        |p: &Affine<ark_bls12_381::g1::Config>| blst_p1_affine { x: blst_fp { l: p.x.0.0 }, y: blst_fp { l: p.y.0.0 } };
    let points: Vec<blst_p1_affine> = input.points.iter().map(affine).collect();
    let scalars: Vec<u8> = input.scalars.iter().flat_map(|k| k.into_bigint().to_bytes_le()).collect();
    Box::new(move || {
        let (seconds, sum) = timed(|| points.mult(&scalars, 255));
        // Both libraries use Jacobian coordinates.
        let [x, y, z] = [sum.x, sum.y, sum.z].map(|x| ark_bls12_381::Fq::new_unchecked(ark_ff::BigInt(x.l)));
        let sum = Projective::<ark_bls12_381::g1::Config>::new_unchecked(x, y, z);
        (seconds, bytes(sum))
    })
}

/// halo2curves, with its own choice of algorithm.
pub(crate) fn halo2curves(input: Input<'_, ark_bn254::g1::Config>) -> Run<'_> {
    use halo2curves::bn256::{Fq, Fr, G1, G1Affine};
    use halo2curves::ff::PrimeField as _;
    use halo2curves::group::Curve as _;
    use halo2curves::group::prime::PrimeCurveAffine as _;
    let element = |x: ark_bn254::Fq| Fq::from_raw(x.into_bigint().0);
    let affine = |p: &Affine<ark_bn254::g1::Config>| match p.xy() {
        Some((x, y)) => G1Affine { x: element(x), y: element(y) },
        None => G1Affine::identity(),
    };
    let points: Vec<G1Affine> = input.points.iter().map(affine).collect();
    let scalars: Vec<Fr> = input.scalars.iter().map(|k| Fr::from_raw(k.into_bigint().0)).collect();
    Box::new(move || {
        let (seconds, sum): (f64, G1) = timed(|| halo2curves::msm::msm_best(&scalars, &points));
        let sum = sum.to_affine();
        let zero = bool::from(sum.is_identity());
        let bytes = [sum.x, sum.y].iter().flat_map(|x| x.to_repr().as_ref().to_vec()).collect();
        (seconds, if zero { Vec::new() } else { bytes })
    })
}

/// A curve with measured sums.
pub(crate) trait Measured: Curve {
    /// The name in rows.
    const KERNEL: &'static str;
    /// Implementations other than ark-ec's. `single` means one thread.
    fn peers(input: Input<'_, Self>, single: bool) -> Vec<(&'static str, Run<'_>)>;
}

impl Measured for ark_bls12_377::g1::Config {
    const KERNEL: &'static str = "msm-bls12-377";
    fn peers(_input: Input<'_, Self>, _single: bool) -> Vec<(&'static str, Run<'_>)> {
        Vec::new()
    }
}

impl Measured for ark_bls12_381::g1::Config {
    const KERNEL: &'static str = "msm-bls12-381";
    fn peers(input: Input<'_, Self>, single: bool) -> Vec<(&'static str, Run<'_>)> {
        if single { vec![("blst", blst(input))] } else { Vec::new() }
    }
}

impl Measured for ark_bn254::g1::Config {
    const KERNEL: &'static str = "msm-bn254";
    fn peers(input: Input<'_, Self>, _single: bool) -> Vec<(&'static str, Run<'_>)> {
        vec![("halo2curves", halo2curves(input))]
    }
}
