//! Bucket additions over BLS12-377 in extended twisted Edwards coordinates, compared with the affine ones of `msm`.
//!
//! A mixed addition takes seven products (Hisil, Wong, Carter, Dawson, ASIACRYPT 2008, with 2 d x y precomputed), no
//! inversion and no pairing of operands. Here the lanes of a vector always have distinct buckets, which real digits do
//! not guarantee, so this is a lower bound on the time of such additions.

use anyhow::ensure;
use ark_bls12_377::{Fq, Fr, g1};
use ark_ec::twisted_edwards::{Affine, Projective, TECurveConfig};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{AdditiveGroup, Field, UniformRand};
use evergrove_curves::{CheckedPoints, Plan, msm_with_on};
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::prime::{PrimeElement, PrimeLanes};
use evergrove_primitives::lanes::{Body, Isa, Kernel, LANES, Lanes, dispatch_on, prefetch};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::input::Progression;
use super::peers::timed;
use super::{Args, rate};
use crate::turns::{Row, medians};

type Curve = g1::Config;

/// Bits of the window whose buckets are filled.
const WIDTH: u32 = 16;

/// y - x, y + x and 2 d x y.
#[derive(Clone, Copy)]
struct Addend([Fq; 3]);

/// X, Y, Z and T = X Y / Z.
#[derive(Clone, Copy)]
struct Sum([Fq; 4]);

/// Adds `addends[i]` to `sums[buckets[i]]`. The eight buckets of a vector must be distinct.
struct Fill<'a> {
    addends: &'a [Addend],
    buckets: &'a [u32],
    sums: &'a mut [Sum],
}

/// Prefetch distance of the buckets, in vectors.
const AHEAD: usize = 4;

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = Fq::on(lanes);
        let (addends, buckets) = (self.addends.as_chunks::<LANES>().0, self.buckets.as_chunks::<LANES>().0);
        for (at, (addends, indices)) in addends.iter().zip(buckets).enumerate() {
            for bucket in buckets.get(at + AHEAD).into_iter().flatten() {
                prefetch(&self.sums[*bucket as usize]);
            }
            let sums = self.sums.get_disjoint_mut(indices.map(|i| i as usize)).expect("buckets are apart");
            f.outline(Add(addends, sums));
        }
    }
}

/// Eight mixed additions.
struct Add<'a>(&'a [Addend; LANES], [&'a mut Sum; LANES]);

impl<A: PrimeLanes<Element = Fq>> Body<A> for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, f: A) {
        let Self(addends, mut sums) = self;
        // No closures, because the compiler would not use the instruction set in them.
        let (x, y) = (f.gather(sums.each_ref().map(|p| &p.0[0])), f.gather(sums.each_ref().map(|p| &p.0[1])));
        let (z, t) = (f.gather(sums.each_ref().map(|p| &p.0[2])), f.gather(sums.each_ref().map(|p| &p.0[3])));
        let a = f.mul_difference(f.difference(y, x), f.gather(addends.each_ref().map(|p| &p.0[0])));
        let b = f.mul(f.add(y, x), f.gather(addends.each_ref().map(|p| &p.0[1])));
        let c = f.mul(t, f.gather(addends.each_ref().map(|p| &p.0[2])));
        let d = f.double(z);
        let (e, h, g, i) = (f.sub(b, a), f.add(b, a), f.add(d, c), f.difference(d, c));
        let out = [f.mul_difference(i, e), f.mul(g, h), f.mul_difference(i, g), f.mul(e, h)];
        for (k, v) in out.into_iter().enumerate() {
            f.park(v, sums.each_mut().map(|p| &mut p.0[k]));
        }
    }
}

/// Measures both kinds of addition and prints their rows.
pub(super) fn measure(args: &Args) -> anyhow::Result<()> {
    let (isa, size) = (args.isa()?, 1usize << args.log_size.max(4));
    let mut rng = ChaCha8Rng::seed_from_u64(379);
    let count = 1usize << (WIDTH - 1);
    let digits: Vec<u32> = (0..size).map(|i| rng.gen_range(0..count / LANES) as u32 * 8 + (i % LANES) as u32).collect();
    let (start, step) = (Fr::rand(&mut rng), Affine::<Curve>::generator() * Fr::rand(&mut rng));
    let mut point = Affine::<Curve>::generator() * start;
    let points: Vec<Projective<Curve>> = (0..size)
        .map(|_| {
            point += step;
            point
        })
        .collect();
    let points = Projective::normalize_batch(&points);
    let d2 = <Curve as TECurveConfig>::COEFF_D.double();
    let addends: Vec<Addend> = points.iter().map(|p| Addend([p.y - p.x, p.y + p.x, d2 * p.x * p.y])).collect();
    let empty = Sum([Fq::ZERO, Fq::ONE, Fq::ONE, Fq::ZERO]);
    let mut sums = vec![empty; count];
    dispatch_on(isa, Fill { addends: &addends, buckets: &digits, sums: &mut sums });
    let mut total = Projective::<Curve>::ZERO;
    for Sum([x, y, z, t]) in &sums {
        // Parked words are not canonical.
        let [x, y, z, t] = [x, y, z, t].map(|x| canonical(isa, x));
        total += Projective::<Curve>::new_unchecked(x, y, t, z);
    }
    let expected: Projective<Curve> = points.iter().sum();
    ensure!(total == expected, "the buckets do not add up to the sum of all points");
    let affine = Progression::<Curve>::new().points(0, size);
    let scalars: Vec<Fr> = digits.iter().map(|d| Fr::from(*d)).collect();
    let plan = Plan::of_widths(size, WIDTH - 1, &[WIDTH], 1);
    let runs = medians(2, args.runs as usize, |k| {
        let seconds = if k == 0 {
            timed(|| msm_with_on(isa, &plan, CheckedPoints::trusted(&affine), &scalars).map(|_| ())).0
        } else {
            sums.fill(empty);
            timed(|| dispatch_on(isa, Fill { addends: &addends, buckets: &digits, sums: &mut sums })).0
        };
        Ok((seconds, ()))
    })?;
    // The affine run also weighs its buckets, with two additions for each.
    let additions = [size + 2 * count, size];
    for (k, name) in [args.ours(), format!("{}-edwards", args.ours())].into_iter().enumerate() {
        let each = runs[k] / additions[k] as f64;
        let ratio = (k > 0).then(|| each / (runs[0] / additions[0] as f64));
        let row = Row { ratio, ..args.row("bucket-additions-bls12-377", name, additions[k], runs[k]) };
        row.print(args.json, &rate(additions[k], runs[k]))?;
    }
    Ok(())
}

/// The canonical form of a parked element.
fn canonical(isa: Isa, x: &Fq) -> Fq {
    struct Once<'a>(&'a Fq);
    impl Kernel for Once<'_> {
        type Output = Fq;
        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Fq {
            let f = Fq::on(lanes);
            f.to_array(f.gather([self.0; LANES]))[0]
        }
    }
    dispatch_on(isa, Once(x))
}
