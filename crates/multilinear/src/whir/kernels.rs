//! The passes over whole oracles, in lanes.

use evergrove_kernels::ntt::Row;
use evergrove_kernels::oracle::Oracle;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use crate::tables::BLOCK;

/// The sum of each chunk of 512 elements with these weights.
pub(crate) fn chunk_sums<K: Extension>(isa: Isa, elements: &[Goldilocks], weights: &[K]) -> Vec<K> {
    elements.par_chunks_exact(BLOCK).map(|chunk| dispatch_on(isa, ChunkSum { chunk, weights })).collect()
}

struct ChunkSum<'a, K> {
    chunk: &'a [Goldilocks],
    weights: &'a [K],
}

impl<K: Extension> Kernel for ChunkSum<'_, K> {
    type Output = K;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> K {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let mut sum = f.empty();
        // A term for each vector: fewer than a sum may have.
        for (x, weight) in self.chunk.as_chunks::<LANES>().0.iter().zip(self.weights.as_chunks::<LANES>().0) {
            f.accumulate_base(&mut sum, f.term(f.load(weight).into()), g.term(FieldLanes::load(g, x).into()));
        }
        f.sum_lanes(f.finish(sum))
    }
}

/// The rows of the coefficients, each a sum with one weight for each column.
pub(super) fn fold<K: Extension>(isa: Isa, oracle: &Oracle, weights: &[K]) -> Vec<K> {
    const TASK: usize = 256;
    let rows = oracle.domain().lde().size();
    let mut out = vec![K::ZERO; rows];
    out.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
        dispatch_on(isa, Fold { coefficients: oracle.coefficients(), rows, first: task * TASK, weights, out });
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
