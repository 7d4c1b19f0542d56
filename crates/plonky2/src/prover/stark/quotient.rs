//! The quotient of a table: all constraints, combined and divided by Z_H.
//!
//! As for circuits, at eight points of a coset at a time, on the first cosets of the extension.

use evergrove_kernels::ntt::{Row, ZERO_ROW};
use evergrove_kernels::oracle::{Oracle, Workspace};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, Factor, GoldilocksLanes, ProductSum};
use evergrove_primitives::lanes::{Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::{Combination, StarkProver};
use crate::prover::oracle::coset;
use crate::prover::permutation::load_rows;
use crate::prover::quotient::to_chunks;
use crate::stark::{Air, Algebra};

/// Vectors of rows of a task.
const TASK: usize = 4;

/// The parts of the vanishing polynomial.
pub(super) struct Inputs<'a, A> {
    pub(super) prover: &'a StarkProver<A>,
    pub(super) trace: &'a Oracle,
    pub(super) sums: Option<&'a Oracle>,
    pub(super) combinations: &'a [Combination],
    pub(super) alphas: &'a [Goldilocks],
    pub(super) public_inputs: &'a [Goldilocks],
}

/// Writes the chunks' coefficients into `out`.
///
/// # Errors
/// When a quotient has too high a degree.
pub(super) fn fill<A: Air>(inputs: &Inputs<'_, A>, out: &mut Workspace) -> anyhow::Result<()> {
    let Inputs { prover, alphas, .. } = inputs;
    let (n, nc) = (prover.rows(), alphas.len());
    // The first constraint has the highest power.
    let terms = A::CONSTRAINTS + 2 * inputs.combinations.len();
    let weights: Vec<Vec<Goldilocks>> = (alphas.iter())
        .map(|a| {
            let mut powers: Vec<Goldilocks> =
                core::iter::successors(Some(Goldilocks::ONE), |p| Some(*p * *a)).take(terms).collect();
            powers.reverse();
            powers
        })
        .collect();
    let mut values = vec![ZERO_ROW; nc * n];
    values.par_chunks_mut(TASK * nc * LANES).enumerate().for_each(|(task, values)| {
        dispatch_on(prover.isa, Vanishing { inputs, weights: &weights, first: task * TASK, values });
    });
    to_chunks(prover.isa, prover.domain.inverse(), &prover.quotient, prover.chunks, &values, out)
}

struct Vanishing<'a, A> {
    inputs: &'a Inputs<'a, A>,
    weights: &'a [Vec<Goldilocks>],
    /// The first vector of rows.
    first: usize,
    values: &'a mut [Row],
}

impl<A: Air> Kernel for Vanishing<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { inputs, weights, first, values } = self;
        let prover = inputs.prover;
        let nc = inputs.alphas.len();
        let zero = f.splat(Goldilocks::ZERO);
        let mut local = vec![zero; A::COLUMNS.next_multiple_of(LANES)];
        let mut next = local.clone();
        let mut public_inputs = vec![zero; A::PUBLIC_INPUTS];
        for (x, public) in public_inputs.iter_mut().zip(inputs.public_inputs) {
            *x = f.splat(*public);
        }
        let mut results = vec![[zero; LANES]; nc];
        for (v, values) in values.chunks_exact_mut(nc * LANES).enumerate() {
            let position = (first + v) * LANES;
            let mut after = [0; LANES];
            for (j, after) in after.iter_mut().enumerate() {
                *after = prover.reverse((prover.reverse(position + j) + 1) % prover.rows());
            }
            for (b, vanishing_inverse) in prover.quotient.vanishing_inverse.iter().enumerate() {
                load(f, inputs.trace, b, position, &after, &mut local, &mut next);
                let mut sums = [[zero; LANES]; 2];
                if let Some(oracle) = inputs.sums {
                    let [z, z_next] = &mut sums;
                    load(f, oracle, b, position, &after, z, z_next);
                }
                let at = b * prover.rows();
                let lagrange = &prover.quotient.lagrange[at..][..prover.rows()];
                let mut last = [Goldilocks::ZERO; LANES];
                for (last, after) in last.iter_mut().zip(after) {
                    *last = lagrange[after];
                }
                let here =
                    |all: &[Goldilocks]| f.load(all[position..].first_chunk().expect("a multiple of eight rows"));
                let root = prover.subgroup[prover.reverse(prover.rows() - 1)];
                let x = here(&prover.quotient.points[at..]);
                let mut algebra = Vectors {
                    f,
                    weights,
                    index: 0,
                    pending: 0,
                    sums: [f.product_sum(); LANES],
                    totals: [zero; LANES],
                    first: f.factor(here(lagrange)),
                    last: f.factor(f.load(&last)),
                    transition: f.factor(f.sub(x, f.splat(root))),
                };
                A::constraints(&mut algebra, &local[..A::COLUMNS], &next[..A::COLUMNS], &public_inputs);
                if let Some(exposed) = &prover.exposed {
                    for (c, challenge) in inputs.combinations.iter().enumerate() {
                        let mut combined = f.splat(challenge.gamma);
                        let mut power = Goldilocks::ONE;
                        for column in &exposed.columns {
                            let term = f.mul(local[*column], f.splat(power));
                            combined = f.reduce(f.add(term, combined));
                            power *= challenge.beta;
                        }
                        let filter = local[exposed.filter];
                        let last = f.reduce(f.sub(f.mul(combined, sums[0][c]), filter));
                        algebra.constraint_last_row(last);
                        let step = f.sub(sums[0][c], sums[1][c]);
                        let transition = f.reduce(f.sub(f.mul(combined, step), filter));
                        algebra.constraint_transition(transition);
                    }
                }
                assert_eq!(algebra.index, weights[0].len(), "the air makes as many constraints as it says");
                algebra.flush();
                let inverse = f.factor(f.splat(*vanishing_inverse));
                for (result, total) in results.iter_mut().zip(algebra.totals) {
                    result[b] = f.reduce(f.mul_by(total, inverse));
                }
            }
            for (result, rows) in results.iter().zip(values.chunks_exact_mut(LANES)) {
                for (x, row) in f.transpose(*result).into_iter().zip(rows) {
                    f.store(x, row);
                }
            }
        }
    }
}

/// The values of all columns at eight points of a coset, and at the next rows' points.
#[inline(always)]
fn load<L: Lanes>(
    f: GoldilocksLanes<L>,
    oracle: &Oracle,
    b: usize,
    position: usize,
    after: &[usize; LANES],
    local: &mut [Canonical<L::V>],
    next: &mut [Canonical<L::V>],
) {
    let columns = local.as_chunks_mut::<LANES>().0.iter_mut().zip(next.as_chunks_mut::<LANES>().0);
    for (group, (local, next)) in coset(oracle, b).zip(columns) {
        let rows = group[position..].first_chunk().expect("a multiple of eight rows");
        *local = f.transpose(load_rows(f, rows));
        let mut rows = [ZERO_ROW; LANES];
        for (row, after) in rows.iter_mut().zip(after) {
            *row = group[*after];
        }
        *next = f.transpose(load_rows(f, &rows));
    }
}

/// Eight points at a time.
struct Vectors<'a, L: Lanes> {
    f: GoldilocksLanes<L>,
    weights: &'a [Vec<Goldilocks>],
    /// The next constraint.
    index: usize,
    /// Terms of the sums.
    pending: usize,
    sums: [ProductSum<L::V>; LANES],
    totals: [Canonical<L::V>; LANES],
    first: Factor<L::V>,
    last: Factor<L::V>,
    transition: Factor<L::V>,
}

impl<L: Lanes> Vectors<'_, L> {
    /// Adds the sums to the totals.
    #[inline(always)]
    fn flush(&mut self) {
        let f = self.f;
        for ((sum, total), _) in self.sums.iter_mut().zip(&mut self.totals).zip(self.weights) {
            *total = f.reduce(f.add(f.reduce_sum(*sum), *total));
            *sum = f.product_sum();
        }
        self.pending = 0;
    }
}

impl<L: Lanes> Algebra for Vectors<'_, L> {
    type T = Canonical<L::V>;

    #[inline(always)]
    fn constant(&mut self, x: u64) -> Self::T {
        self.f.splat(Goldilocks::reduce(x))
    }
    #[inline(always)]
    fn add(&mut self, a: Self::T, b: Self::T) -> Self::T {
        self.f.reduce(self.f.add(a, b))
    }
    #[inline(always)]
    fn sub(&mut self, a: Self::T, b: Self::T) -> Self::T {
        self.f.reduce(self.f.sub(a, b))
    }
    #[inline(always)]
    fn mul(&mut self, a: Self::T, b: Self::T) -> Self::T {
        self.f.reduce(self.f.mul(a, b))
    }
    #[inline(always)]
    fn sum_of_powers(&mut self, terms: &[Self::T]) -> Self::T {
        let f = self.f;
        let mut sum = f.product_sum();
        for (i, term) in terms.iter().enumerate() {
            f.accumulate(&mut sum, f.factor(*term), f.factor(f.splat(Goldilocks::reduce(1 << i))));
        }
        f.reduce(f.reduce_sum(sum))
    }
    #[inline(always)]
    fn constraint(&mut self, x: Self::T) {
        let f = self.f;
        let x = f.factor(x);
        for (sum, weights) in self.sums.iter_mut().zip(self.weights) {
            f.accumulate(sum, x, f.factor(f.splat(weights[self.index])));
        }
        self.index += 1;
        self.pending += 1;
        if self.pending == GoldilocksLanes::<L>::MAX_TERMS {
            self.flush();
        }
    }
    #[inline(always)]
    fn constraint_transition(&mut self, x: Self::T) {
        let x = self.f.reduce(self.f.mul_by(x, self.transition));
        self.constraint(x);
    }
    #[inline(always)]
    fn constraint_first_row(&mut self, x: Self::T) {
        let x = self.f.reduce(self.f.mul_by(x, self.first));
        self.constraint(x);
    }
    #[inline(always)]
    fn constraint_last_row(&mut self, x: Self::T) {
        let x = self.f.reduce(self.f.mul_by(x, self.last));
        self.constraint(x);
    }
}
