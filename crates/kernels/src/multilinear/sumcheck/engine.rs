//! The tables while their variables are bound, and the division of the work between threads.
//!
//! **Passes.** A round is one pass: it binds the last challenge and samples the next polynomial while the values are in
//! registers. A pass is cut into tasks of [`TASK`] pairs, and each task owns its part of every table.
//!
//! **Places.** The first two passes read the caller's tables. The second pass writes the bound values, half as many,
//! into the workspace. After that, values are bound in place:
//! - highest variable first: table i uses part i and part i + half, and the front half remains;
//! - lowest variable first: neighbours are bound, so tasks could not share a table of one piece. Each task keeps a
//!   separate block, which shrinks towards its front; short blocks are gathered at the front of the table.
//!
//! The last few values are bound one at a time.

use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::{Isa, LANES, dispatch_on};
use rayon::prelude::*;

use super::pass::{Pass, PassWeights, Piece};
use super::polynomial::VirtualPolynomial;
use super::prover::Sample;
use super::tail;
use super::weights::SplitWeights;
use super::{Order, Tables};

/// Pairs of a task.
const TASK: usize = 1 << 12;
/// Pairs of the shortest block that stays where it is.
const SHORT: usize = 1 << 8;
/// log2 of the weights that a task holds as vectors.
const INNER: usize = 9;

/// See the module.
pub(super) struct Engine<'a, F> {
    isa: Isa,
    polynomial: &'a VirtualPolynomial<F>,
    order: Order,
    /// The coordinates of the weights, all of them.
    point: Option<&'a [F]>,
    /// Rounds that have begun.
    rounds: usize,
    /// The caller's tables, until the second pass.
    from: Option<&'a [&'a [F]]>,
    /// The place of the values, now or later.
    to: Vec<&'a mut [F]>,
    /// Values of each table now.
    len: usize,
    /// Blocks of the tables in place: `len / block` of them, one every `stride` values.
    block: usize,
    stride: usize,
}

impl<'a, F: Field> Engine<'a, F> {
    /// For tables of 2^n values each, with a workspace of half as many for each table.
    pub(super) fn new(
        isa: Isa,
        polynomial: &'a VirtualPolynomial<F>,
        order: Order,
        point: Option<&'a [F]>,
        Tables { tables, workspace }: Tables<'a, F>,
    ) -> Self {
        let half = polynomial.len().div_ceil(2);
        let to = workspace.chunks_exact_mut(half).take(tables.len()).collect();
        let len = polynomial.len();
        Self { isa, polynomial, order, point, rounds: 0, from: Some(tables), to, len, block: len, stride: len }
    }

    /// Binds the last round's variable to its challenge, unless this is the first round, then samples this round's
    /// polynomial t(X) = sum over the other free variables x of weight(x) f(X, x).
    ///
    /// The weight is eq at the point's coordinates of the variables in x, or 1.
    pub(super) fn round(&mut self, challenge: Option<F>, samples: &[Sample]) -> Vec<F> {
        self.rounds += 1;
        let left = if challenge.is_some() { self.len / 2 } else { self.len };
        if left / 2 < LANES {
            return self.scalar_round(challenge, samples);
        }
        let sums = match challenge {
            None => self.first(samples),
            Some(challenge) => self.next(challenge, samples),
        };
        self.combine(&sums, samples)
    }

    /// Binds the last variable, if there is one: the value of every table.
    pub(super) fn finish(&mut self, challenge: Option<F>) -> Vec<F> {
        self.scalar_bind(challenge);
        match self.from {
            Some(tables) => tables.iter().map(|table| table[0]).collect(),
            None => self.to.iter().map(|table| table[0]).collect(),
        }
    }

    /// The coordinates of the weights of this round's pairs, lowest first.
    fn remaining(&self) -> Option<&'a [F]> {
        let variables = self.polynomial.variables();
        self.point.map(|point| match self.order {
            Order::LowFirst => &point[self.rounds..],
            Order::HighFirst => &point[..variables - self.rounds],
        })
    }

    /// Runs tasks of `pairs` pairs each, and adds their results.
    fn run(&self, challenge: Option<F>, samples: &[Sample], pairs: usize, tasks: Vec<Vec<Piece<'_, F>>>) -> Vec<F> {
        let split = self.remaining().map(|w| {
            let k = INNER.min(w.len().div_ceil(2)).max(LANES.ilog2() as usize).min(pairs.ilog2() as usize);
            SplitWeights::new(self.isa, w, k)
        });
        let pass = |(number, pieces): (usize, Vec<Piece<'_, F>>)| {
            let weights = split.as_ref().map(|split| {
                let runs = pairs / split.inner.len();
                PassWeights { inner: &split.inner, outer: &split.outer[number * runs..][..runs] }
            });
            let pass = Pass {
                polynomial: self.polynomial,
                samples,
                challenge: challenge.unwrap_or(F::ZERO),
                weights,
                positions: pairs / LANES,
                pieces,
            };
            dispatch_on(self.isa, pass)
        };
        let add = |mut a: Vec<F>, b: Vec<F>| {
            for (a, b) in a.iter_mut().zip(b) {
                *a += b;
            }
            a
        };
        tasks.into_par_iter().enumerate().map(pass).reduce_with(add).expect("a task at least")
    }

    /// The pass of the first round.
    fn first(&self, samples: &[Sample]) -> Vec<F> {
        let pairs = TASK.min(self.len / 2);
        let tables = self.from.expect("the caller's tables");
        let tasks = self.len / 2 / pairs;
        match self.order {
            Order::LowFirst => {
                let columns = tables.iter().map(|table| table.chunks_exact(2 * pairs).map(Piece::LowFirst));
                let tasks = transpose(columns, tasks);
                self.run(None, samples, pairs, tasks)
            }
            Order::HighFirst => {
                let columns = tables.iter().map(|table| {
                    let (zero, one) = table.split_at(table.len() / 2);
                    zero.chunks_exact(pairs)
                        .zip(one.chunks_exact(pairs))
                        .map(|(zero, one)| Piece::HighFirst([zero, one]))
                });
                let tasks = transpose(columns, tasks);
                self.run(None, samples, pairs, tasks)
            }
        }
    }

    /// A pass that binds `challenge`.
    fn next(&mut self, challenge: F, samples: &[Sample]) -> Vec<F> {
        let left = self.len / 2;
        let mut to = std::mem::take(&mut self.to);
        let sums = match (self.order, self.from) {
            (Order::LowFirst, Some(tables)) => {
                let pairs = TASK.min(left / 2);
                let columns = tables.iter().zip(&mut to).map(|(from, to)| {
                    let pieces = from.chunks_exact(4 * pairs).zip(to.chunks_exact_mut(2 * pairs));
                    pieces.map(|(from, to)| Piece::LowFrom(from, to))
                });
                let tasks = transpose(columns, left / 2 / pairs);
                (self.block, self.stride) = (2 * pairs, 2 * pairs);
                self.run(Some(challenge), samples, pairs, tasks)
            }
            (Order::LowFirst, None) => {
                if self.block / 4 < SHORT || self.stride > 4 * TASK {
                    self.gather(&mut to);
                    self.block = self.len.min(4 * TASK);
                    self.stride = self.block;
                }
                let (block, pairs) = (self.block, self.block / 4);
                let (stride, tasks) = (self.stride, self.len / self.block);
                let columns = to
                    .iter_mut()
                    .map(|table| table.chunks_mut(stride).take(tasks).map(|piece| Piece::LowIn(&mut piece[..block])));
                let tasks = transpose(columns, tasks);
                self.block /= 2;
                self.run(Some(challenge), samples, pairs, tasks)
            }
            (Order::HighFirst, Some(tables)) => {
                let pairs = TASK.min(left / 2);
                let columns = tables.iter().zip(&mut to).map(|(from, to)| {
                    let quarter = from.len() / 4;
                    let [a, b, c, d] = [0, 1, 2, 3].map(|k| from[k * quarter..][..quarter].chunks_exact(pairs));
                    let (zero, one) = to.split_at_mut(quarter);
                    let to = zero.chunks_exact_mut(pairs).zip(one.chunks_exact_mut(pairs));
                    let from = a.zip(b).zip(c.zip(d));
                    from.zip(to).map(|(((a, b), (c, d)), (zero, one))| Piece::HighFrom([a, b, c, d], [zero, one]))
                });
                let tasks = transpose(columns, left / 2 / pairs);
                self.run(Some(challenge), samples, pairs, tasks)
            }
            (Order::HighFirst, None) => {
                let (len, pairs) = (self.len, TASK.min(left / 2));
                let columns = to.iter_mut().map(|table| {
                    let (zero, one) = table[..len].split_at_mut(len / 2);
                    let ((a, b), (c, d)) = (zero.split_at_mut(len / 4), one.split_at_mut(len / 4));
                    let (a, b) = (a.chunks_exact_mut(pairs), b.chunks_exact_mut(pairs));
                    let (c, d) = (c.chunks_exact_mut(pairs), d.chunks_exact_mut(pairs));
                    a.zip(b).zip(c.zip(d)).map(|((a, b), (c, d))| Piece::HighIn([a, b, c, d]))
                });
                let tasks = transpose(columns, left / 2 / pairs);
                self.run(Some(challenge), samples, pairs, tasks)
            }
        };
        self.to = to;
        self.from = None;
        self.len = left;
        sums
    }

    /// Brings the blocks of every table together at its front.
    fn gather(&mut self, to: &mut [&mut [F]]) {
        for block in 1..self.len / self.block {
            for table in to.iter_mut() {
                table.copy_within(block * self.stride..block * self.stride + self.block, block * self.block);
            }
        }
        (self.block, self.stride) = (self.len, self.len);
    }

    /// [`Self::round`] for a few values.
    fn scalar_round(&mut self, challenge: Option<F>, samples: &[Sample]) -> Vec<F> {
        self.scalar_bind(challenge);
        let tables: Vec<&[F]> = match self.from {
            Some(tables) => tables.to_vec(),
            None => self.to.iter().map(|table| &table[..self.len]).collect(),
        };
        tail::sample(self.polynomial, &tables, self.order, self.remaining(), samples)
    }

    fn scalar_bind(&mut self, challenge: Option<F>) {
        let mut to = std::mem::take(&mut self.to);
        if self.from.is_none() {
            self.gather(&mut to);
        }
        if let Some(challenge) = challenge {
            for (k, table) in to.iter_mut().enumerate() {
                match self.from {
                    Some(tables) => tail::bind(tables[k], table, self.order, challenge),
                    None => tail::bind_in_place(&mut table[..self.len], self.order, challenge),
                }
            }
            self.from = None;
            self.len /= 2;
            (self.block, self.stride) = (self.len, self.len);
        }
        self.to = to;
    }

    /// Applies the coefficients, and adds the terms that are constants.
    fn combine(&self, sums: &[F], samples: &[Sample]) -> Vec<F> {
        let terms = self.polynomial.terms();
        // The sum of the weights of all pairs.
        let weight = if self.point.is_some() { F::ONE } else { F::from_u64((self.len / 2) as u64) };
        let constant: F =
            terms.iter().filter(|term| term.factors.is_empty()).map(|term| term.coefficient * weight).sum();
        let sample = |(sample, sums): (&Sample, &[F])| {
            let sum: F = terms.iter().zip(sums).map(|(term, &sum)| term.coefficient * sum).sum();
            if *sample == Sample::Infinity { sum } else { sum + constant }
        };
        samples.iter().zip(sums.chunks_exact(terms.len())).map(sample).collect()
    }
}

/// The pieces for each task, from the pieces of each table.
fn transpose<P>(columns: impl Iterator<Item = impl Iterator<Item = P>>, tasks: usize) -> Vec<Vec<P>> {
    let mut columns: Vec<_> = columns.collect();
    (0..tasks)
        .map(|_| columns.iter_mut().map(|pieces| pieces.next().expect("a piece of every table")).collect())
        .collect()
}
