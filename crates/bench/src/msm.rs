//! `msm-bls12-377`, `msm-bls12-381` and `msm-bn254`: multi-scalar multiplication beside ark-ec, blst and halo2curves.

use std::hint::black_box;
use std::time::Instant;

use anyhow::ensure;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::{BigInteger, PrimeField, UniformRand};
use clap::ValueEnum;
use evergrove_kernels::msm::{CheckedPoints, Curve, msm_on};
use evergrove_primitives::lanes::Isa;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::merkle::parse_isa;
use crate::turns::{Row, medians};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Bls12_377,
    Bls12_381,
    Bn254,
}

/// Where scalars come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scalars {
    /// Uniform in the field.
    Random,
    /// 0 or 1.
    Bits,
    /// Below 2^8.
    Bytes,
    /// Below 2^64.
    Words,
    /// The same random one.
    Equal,
    /// Random ones among 1,023 zeros each.
    Sparse,
    /// Small ones by half, random ones by half.
    Mixed,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Points, as a power of two.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=24))]
    log_size: u32,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// The distribution of the scalars.
    #[arg(long, value_enum, default_value = "random")]
    scalars: Scalars,
    /// Our instruction set: portable, avx2, avx512 or avx512ifma. The best by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Turns of each implementation.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Ours alone.
    #[arg(long)]
    alone: bool,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// What is multiplied.
struct Input<C: Curve> {
    points: Vec<Affine<C>>,
    scalars: Vec<C::ScalarField>,
}

impl<C: Curve> Input<C> {
    fn random(size: usize, kind: Scalars) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(377);
        let equal = C::ScalarField::rand(&mut rng);
        let scalars = (0..size)
            .map(|i| match kind {
                Scalars::Bits => C::ScalarField::from(rng.r#gen::<bool>()),
                Scalars::Bytes => C::ScalarField::from(rng.r#gen::<u8>()),
                Scalars::Words => C::ScalarField::from(rng.r#gen::<u64>()),
                Scalars::Equal => equal,
                Scalars::Sparse if i % 1024 != 0 => C::ScalarField::from(0u64),
                Scalars::Mixed if i % 2 == 0 => C::ScalarField::from(rng.r#gen::<bool>()),
                Scalars::Random | Scalars::Sparse | Scalars::Mixed => C::ScalarField::rand(&mut rng),
            })
            .collect();
        Self { points: points(size), scalars }
    }
}

/// Different points: an arithmetic progression with a random start and a random step.
fn points<C: Curve>(size: usize) -> Vec<Affine<C>> {
    const CHUNK: usize = 1 << 10;
    let mut rng = ChaCha8Rng::seed_from_u64(378);
    let start = Affine::<C>::generator() * C::ScalarField::rand(&mut rng);
    let step = Affine::<C>::generator() * C::ScalarField::rand(&mut rng);
    let affine = step.into_affine();
    let chunks = (0..size.div_ceil(CHUNK)).into_par_iter().flat_map_iter(|chunk| {
        let mut point = start + step * C::ScalarField::from((chunk * CHUNK) as u64);
        let points: Vec<Projective<C>> = (0..CHUNK.min(size - chunk * CHUNK))
            .map(|_| {
                let this = point;
                point += affine;
                this
            })
            .collect();
        Projective::normalize_batch(&points)
    });
    chunks.collect()
}

/// The sum's coordinates, and the seconds it took.
type Run<'a> = Box<dyn FnMut() -> (f64, Vec<u8>) + Send + 'a>;

fn timed<R>(compute: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = black_box(compute());
    (start.elapsed().as_secs_f64(), result)
}

/// A point as the little-endian bytes of its coordinates; nothing for the point at infinity.
fn bytes<C: Curve>(point: Projective<C>) -> Vec<u8> {
    point
        .into_affine()
        .xy()
        .map_or(Vec::new(), |(x, y)| [x, y].iter().flat_map(|x| x.into_bigint().to_bytes_le()).collect())
}

fn ours<C: Curve>(isa: Isa, input: &Input<C>) -> Run<'_> {
    Box::new(move || {
        let (seconds, sum) =
            timed(|| msm_on(isa, CheckedPoints::trusted(&input.points), &input.scalars).expect("as many"));
        (seconds, bytes(sum))
    })
}

fn ark<C: Curve>(input: &Input<C>) -> Run<'_> {
    Box::new(move || {
        let (seconds, sum) = timed(|| <Projective<C> as VariableBaseMSM>::msm_unchecked(&input.points, &input.scalars));
        (seconds, bytes(sum))
    })
}

/// blst's on one thread; its scalars are bytes, made before the clock starts.
fn blst(input: &Input<ark_bls12_381::g1::Config>) -> Run<'_> {
    use blst::{MultiPoint, blst_fp, blst_p1_affine};
    let affine =
        |p: &Affine<ark_bls12_381::g1::Config>| blst_p1_affine { x: blst_fp { l: p.x.0.0 }, y: blst_fp { l: p.y.0.0 } };
    let points: Vec<blst_p1_affine> = input.points.iter().map(affine).collect();
    let scalars: Vec<u8> = input.scalars.iter().flat_map(|k| k.into_bigint().to_bytes_le()).collect();
    Box::new(move || {
        let (seconds, sum) = timed(|| points.mult(&scalars, 255));
        // Jacobian coordinates in both libraries.
        let [x, y, z] = [sum.x, sum.y, sum.z].map(|x| ark_bls12_381::Fq::new_unchecked(ark_ff::BigInt(x.l)));
        let sum = Projective::<ark_bls12_381::g1::Config>::new_unchecked(x, y, z);
        (seconds, bytes(sum))
    })
}

/// halo2curves' own choice of algorithm.
fn halo2curves(input: &Input<ark_bn254::g1::Config>) -> Run<'_> {
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

fn measure<C: Curve>(
    kernel: &'static str,
    args: &Args,
    peer: impl for<'a> FnOnce(&'a Input<C>) -> Vec<(&'static str, Run<'a>)>,
) -> anyhow::Result<()> {
    let isa = args.isa.unwrap_or_else(Isa::detect);
    ensure!(isa.is_available(), "this CPU lacks {isa}: its best is {}", Isa::detect());
    let size = 1 << args.log_size;
    let input = Input::<C>::random(size, args.scalars);
    let name = if args.isa.is_some() { format!("evergrove-{isa}") } else { "evergrove".to_owned() };
    let mut runs = vec![(name, ours(isa, &input))];
    if !args.alone {
        runs.push(("ark".to_owned(), ark(&input)));
        runs.extend(peer(&input).into_iter().map(|(name, run)| (name.to_owned(), run)));
    }
    let medians = medians(runs.len(), args.runs as usize, |k| Ok(rayon::scope(|_| runs[k].1())))?;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let row = Row {
            kernel,
            r#impl: name,
            size,
            columns: None,
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / size as f64,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{:.2} M points/s", size as f64 / seconds / 1e6))?;
    }
    Ok(())
}

pub(crate) fn run(name: Name, args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let single = args.threads == 1;
    match name {
        Name::Bls12_377 => measure::<ark_bls12_377::g1::Config>("msm-bls12-377", args, |_| Vec::new()),
        Name::Bls12_381 => measure::<ark_bls12_381::g1::Config>("msm-bls12-381", args, |input| {
            if single { vec![("blst", blst(input))] } else { Vec::new() }
        }),
        Name::Bn254 => {
            measure::<ark_bn254::g1::Config>("msm-bn254", args, |input| vec![("halo2curves", halo2curves(input))])
        }
    }
}
