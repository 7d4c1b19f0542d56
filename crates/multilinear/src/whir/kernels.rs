//! The passes over whole oracles, in lanes.

use evergrove_kernels::ntt::Row;
use evergrove_kernels::oracle::Oracle;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use evergrove_verifier::key::chunk_sum;
use evergrove_verifier::tables::BLOCK;

/// Elements of K in one task: a term of a sum for each vector of them.
const TASK: usize = 1024;

/// The sum of each chunk of 512 elements with these weights.
pub(crate) fn chunk_sums<K: Extension>(isa: Isa, elements: &[Goldilocks], weights: &[K]) -> Vec<K> {
    elements.par_chunks_exact(BLOCK).map(|chunk| chunk_sum(isa, chunk, weights)).collect()
}

/// The rows of the coefficients, each a sum with one weight for each column.
pub(super) fn fold<K: Extension>(isa: Isa, oracle: &Oracle, weights: &[K]) -> Vec<K> {
    const ROWS: usize = 256;
    let rows = oracle.domain().lde().size();
    let mut out = vec![K::ZERO; rows];
    out.par_chunks_mut(ROWS).enumerate().for_each(|(task, out)| {
        dispatch_on(isa, Fold { coefficients: oracle.coefficients(), rows, first: task * ROWS, weights, out });
    });
    out
}

struct Fold<'a, K> {
    coefficients: &'a [Row],
    rows: usize,
    first: usize,
    weights: &'a [K],
    out: &'a mut [K],
}

impl<K: Extension> Kernel for Fold<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let mut weights = Vec::with_capacity(self.weights.len() / LANES);
        for group in self.weights.as_chunks::<LANES>().0 {
            weights.push(f.term(f.load(group).into()));
        }
        for (i, out) in self.out.iter_mut().enumerate() {
            let mut sum = f.empty();
            for (group, weight) in weights.iter().enumerate() {
                let x = FieldLanes::load(g, &self.coefficients[group * self.rows + self.first + i]);
                f.accumulate_base(&mut sum, *weight, g.term(x.into()));
            }
            *out = f.sum_lanes(f.finish(sum));
        }
    }
}

/// Adds c z^x to the weight of each place x, for all (c, z).
pub(super) fn add_queries<K: Extension>(isa: Isa, queries: &[(K, Goldilocks)], weights: &mut [K]) {
    // Places are hi 2^low + lo.
    let low = (weights.len().ilog2() as usize / 2).max(LANES.ilog2() as usize);
    if weights.len() < 1 << low {
        for (c, z) in queries {
            let mut power = *c;
            for weight in weights.iter_mut() {
                *weight += power;
                power = power * *z;
            }
        }
        return;
    }
    // z^lo, those of one vector of places for all queries beside each other.
    let mut powers = vec![[Goldilocks::ZERO; LANES]; queries.len() << low >> LANES.ilog2()];
    for (q, (_, z)) in queries.iter().enumerate() {
        let mut power = Goldilocks::ONE;
        for lo in 0..1 << low {
            powers[lo / LANES * queries.len() + q][lo % LANES] = power;
            power *= *z;
        }
    }
    weights.par_chunks_mut(1 << low).enumerate().for_each(|(hi, weights)| {
        let factors: Vec<K> = queries.iter().map(|(c, z)| *c * z.pow((hi as u64) << low)).collect();
        dispatch_on(isa, AddQueries { factors: &factors, powers: &powers, weights });
    });
}

struct AddQueries<'a, K> {
    factors: &'a [K],
    powers: &'a [[Goldilocks; LANES]],
    weights: &'a mut [K],
}

impl<K: Extension> Kernel for AddQueries<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        const TERMS: usize = 64;
        for (i, weights) in self.weights.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let powers = &self.powers[i * self.factors.len()..][..self.factors.len()];
            let mut sum = f.empty();
            for (factors, powers) in self.factors.chunks(TERMS).zip(powers.chunks(TERMS)) {
                for (factor, power) in factors.iter().zip(powers) {
                    let x = FieldLanes::load(g, power);
                    f.accumulate_base(&mut sum, f.term(f.splat(factor).into()), g.term(x.into()));
                }
                f.carry(&mut sum);
            }
            let total = f.add(f.load(weights), f.finish(sum));
            f.store(total, weights);
        }
    }
}

/// For two tables the sums of f0 w0, f1 w1 and (f1 - f0)(w1 - w0), with 0 for the lower half of places and 1 for the higher one.
pub(super) fn products<K: Extension>(isa: Isa, f: &[K], weights: &[K]) -> [K; 3] {
    let (f0, f1) = f.split_at(f.len() / 2);
    let (w0, w1) = weights.split_at(f0.len());
    let halves = f0.par_chunks(TASK).zip(f1.par_chunks(TASK));
    halves
        .zip(w0.par_chunks(TASK).zip(w1.par_chunks(TASK)))
        .map(|((f0, f1), (w0, w1))| dispatch_on(isa, Products { f: [f0, f1], weights: [w0, w1] }))
        .reduce(|| [K::ZERO; 3], |a, b| core::array::from_fn(|i| a[i] + b[i]))
}

struct Products<'a, K> {
    f: [&'a [K]; 2],
    weights: [&'a [K]; 2],
}

impl<K: Extension> Kernel for Products<'_, K> {
    type Output = [K; 3];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; 3] {
        let g = K::on(lanes);
        let [(f0, rest0), (f1, rest1)] = self.f.map(|x| x.as_chunks::<LANES>());
        let [(w0, weights0), (w1, weights1)] = self.weights.map(|x| x.as_chunks::<LANES>());
        let mut sums = [g.empty(); 3];
        // A term for each vector: fewer than a sum may have.
        for ((f0, f1), (w0, w1)) in f0.iter().zip(f1).zip(w0.iter().zip(w1)) {
            let [f0, f1, w0, w1] = [f0, f1, w0, w1].map(|x| g.load(x));
            g.accumulate(&mut sums[0], f0.into(), w0.into());
            g.accumulate(&mut sums[1], f1.into(), w1.into());
            g.accumulate(&mut sums[2], g.lazy_sub(f1, f0), g.lazy_sub(w1, w0));
        }
        let mut sums = sums.map(|sum| g.sum_lanes(g.finish(sum)));
        for ((&f0, &f1), (&w0, &w1)) in rest0.iter().zip(rest1).zip(weights0.iter().zip(weights1)) {
            sums[0] += f0 * w0;
            sums[1] += f1 * w1;
            sums[2] += (f1 - f0) * (w1 - w0);
        }
        sums
    }
}

/// Binds the highest variable of a table.
pub(super) fn bind<K: Extension>(isa: Isa, table: &mut Vec<K>, challenge: K) {
    let half = table.len() / 2;
    let (low, high) = table.split_at_mut(half);
    low.par_chunks_mut(TASK)
        .zip(high.par_chunks(TASK))
        .for_each(|(low, high)| dispatch_on(isa, Bind { low, high, challenge }));
    table.truncate(half);
}

struct Bind<'a, K> {
    low: &'a mut [K],
    high: &'a [K],
    challenge: K,
}

impl<K: Extension> Kernel for Bind<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = K::on(lanes);
        let challenge = f.factor(&self.challenge);
        let (low, rest) = self.low.as_chunks_mut::<LANES>();
        let (high, rest_high) = self.high.as_chunks::<LANES>();
        for (low, high) in low.iter_mut().zip(high) {
            let bound = f.line(f.load(low), f.load(high), challenge);
            f.store(bound, low);
        }
        for (low, &high) in rest.iter_mut().zip(rest_high) {
            *low += self.challenge * (high - *low);
        }
    }
}

/// The sum of chunks of 512 elements, each with a weight.
pub(crate) fn sum_chunks<K: Extension>(isa: Isa, elements: &[Goldilocks], weights: &[K]) -> Vec<K> {
    const CHUNKS: usize = 64;
    elements
        .par_chunks(CHUNKS * BLOCK)
        .zip(weights.par_chunks(CHUNKS))
        .map(|(elements, weights)| dispatch_on(isa, SumChunks { elements, weights }))
        .reduce(
            || vec![K::ZERO; BLOCK],
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            },
        )
}

struct SumChunks<'a, K> {
    elements: &'a [Goldilocks],
    weights: &'a [K],
}

impl<K: Extension> Kernel for SumChunks<'_, K> {
    type Output = Vec<K>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<K> {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let mut out = vec![K::ZERO; BLOCK];
        let mut weights = Vec::with_capacity(self.weights.len());
        for weight in self.weights {
            weights.push(f.term(f.splat(weight).into()));
        }
        for (i, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sum = f.empty();
            // A term for each chunk: fewer than a sum may have.
            for (chunk, weight) in self.elements.as_chunks::<BLOCK>().0.iter().zip(&weights) {
                let x = FieldLanes::load(g, &chunk.as_chunks::<LANES>().0[i]);
                f.accumulate_base(&mut sum, *weight, g.term(x.into()));
            }
            f.store(f.finish(sum), out);
        }
        out
    }
}
