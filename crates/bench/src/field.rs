//! `field-mul` multiplies elements of prime fields that stay in cache, with our code and with ark-ff.

use std::fmt::Debug;
use std::time::Instant;

use ark_ff::Field;
use clap::ValueEnum;
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use crate::merkle::parse_isa;
use crate::turns::{Row, medians};

/// Elements at a time. 2^8 elements of 381 bits and as many factors fit every first-level cache, also as limbs.
const ELEMENTS: usize = 1 << 8;
/// Runs of each implementation.
const RUNS: usize = 15;

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    #[value(name = "bls12-381-fr")]
    Bls12_381Fr,
    #[value(name = "bls12-381-fq")]
    Bls12_381Fq,
    #[value(name = "bls12-377-fr")]
    Bls12_377Fr,
    #[value(name = "bls12-377-fq")]
    Bls12_377Fq,
    #[value(name = "bn254-fr")]
    Bn254Fr,
    #[value(name = "bn254-fq")]
    Bn254Fq,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Products, as a power of two.
    #[arg(long, default_value_t = 18, value_parser = clap::value_parser!(u32).range(8..=32))]
    log_size: u32,
    /// The field.
    #[arg(long, value_enum, default_value = "bls12-381-fr")]
    field: Name,
    /// Our instruction set: portable, avx2, avx512 or avx512ifma. The best by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Threads, each with as many products.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Computes `x[i] = x[i] y[i]` `passes` times, and returns the seconds without loads and stores. If `factors` is set,
/// it uses prepared factors.
struct Passes<'a, F> {
    x: &'a mut [F],
    y: &'a [F],
    passes: usize,
    factors: bool,
}

impl<F: PrimeElement> Kernel for Passes<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> f64 {
        let f = F::on(lanes);
        let (x, y) = (self.x.as_chunks_mut::<LANES>().0, self.y.as_chunks::<LANES>().0);
        let mut vectors = [f.zero(); ELEMENTS / LANES];
        let mut values = vectors;
        let mut factors = [f.to_factor(f.zero()); ELEMENTS / LANES];
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            (vectors[i], values[i]) = (f.load(x), f.load(y));
            factors[i] = f.to_factor(values[i]);
        }
        let start = Instant::now();
        if self.factors {
            for _ in 0..self.passes {
                for (x, k) in vectors.iter_mut().zip(&factors) {
                    *x = f.scale((*x).into(), *k);
                }
            }
        } else {
            for _ in 0..self.passes {
                for (x, y) in vectors.iter_mut().zip(&values) {
                    *x = f.mul(*x, *y);
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        for (v, x) in vectors.iter().zip(x) {
            f.store(*v, x);
        }
        seconds
    }
}

fn by_ark<F: Field>(x: &mut [F], y: &[F], passes: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..passes {
        for (x, y) in x.iter_mut().zip(y) {
            *x *= y;
        }
    }
    start.elapsed().as_secs_f64()
}

fn measure<F: PrimeElement + Field + Debug>(args: &Args) -> anyhow::Result<()> {
    let isa = args.isa.unwrap_or_else(Isa::detect);
    let names = ["evergrove", "evergrove-factor", "ark"];
    let size = 1usize << args.log_size;
    let passes = size / ELEMENTS;
    // Powers of two elements without structure.
    let (g, h) = (F::from(3u64).inverse().expect("3 is a unit"), F::from(7u64).inverse().expect("7 is a unit"));
    let (x, y): (Vec<F>, Vec<F>) = (1..=ELEMENTS as u64).map(|i| (g.pow([i]), h.pow([i]))).unzip();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build()?;
    let seconds = medians(names.len(), RUNS, |k| {
        let runs: Vec<(f64, Vec<F>)> = pool.install(|| {
            (0..args.threads)
                .into_par_iter()
                .map(|_| {
                    let mut out = x.clone();
                    let seconds = match k {
                        0 | 1 => dispatch_on(isa, Passes { x: &mut out, y: &y, passes, factors: k == 1 }),
                        _ => by_ark(&mut out, &y, passes),
                    };
                    (seconds, out)
                })
                .collect()
        });
        let longest = runs.iter().map(|r| r.0).fold(0.0, f64::max);
        Ok((longest, runs.into_iter().map(|r| r.1).collect::<Vec<_>>()))
    })?;
    for (k, name) in names.into_iter().enumerate() {
        let taken = seconds[k];
        let products = size * args.threads as usize;
        let r#impl = if k < 2 && args.isa.is_some() { format!("{name}-{isa}") } else { name.to_owned() };
        let row = Row {
            kernel: "field-mul",
            r#impl,
            size: products,
            columns: None,
            threads: args.threads,
            mperm_per_second: None,
            seconds: taken,
            ns_per_element: taken / products as f64 * 1e9,
            ratio: (k > 0).then(|| taken / seconds[0]),
        };
        row.print(args.json, &format!("{:.1} M products a second", products as f64 / taken / 1e6))?;
    }
    Ok(())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match args.field {
        Name::Bls12_381Fr => measure::<ark_bls12_381::Fr>(args),
        Name::Bls12_381Fq => measure::<ark_bls12_381::Fq>(args),
        Name::Bls12_377Fr => measure::<ark_bls12_377::Fr>(args),
        Name::Bls12_377Fq => measure::<ark_bls12_377::Fq>(args),
        Name::Bn254Fr => measure::<ark_bn254::Fr>(args),
        Name::Bn254Fq => measure::<ark_bn254::Fq>(args),
    }
}
