//! One pass over a part of the tables, eight positions at a time: bind the last variable, sample the next round's polynomial.

use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Kernel, LANES, Lanes};

use super::polynomial::VirtualPolynomial;
use super::prover::Sample;

/// Positions after which sums are reduced where weights do not determine the runs.
const RUN: usize = 128;

/// A part of one table: the place of its values, and their place once the next variable is bound.
///
/// Position p is [`LANES`] neighbouring pairs of the values that remain after binding.
pub(super) enum Piece<'a, F> {
    /// Nothing is bound yet; the lowest variable is next.
    LowFirst(&'a [F]),
    /// Nothing is bound yet; the highest variable is next: its values at 0 and at 1.
    HighFirst([&'a [F]; 2]),
    /// The lowest variable is bound, from one place to another of half the size.
    LowFrom(&'a [F], &'a mut [F]),
    /// The lowest variable is bound in place: the values move to the front half.
    LowIn(&'a mut [F]),
    /// The highest variable is bound, from the four quarters of a table to the halves of another.
    HighFrom([&'a [F]; 4], [&'a mut [F]; 2]),
    /// The highest variable is bound in place: the values move to the first two quarters.
    HighIn([&'a mut [F]; 4]),
}

#[inline(always)]
fn eight<F>(x: &[F], position: usize) -> &[F; LANES] {
    x[LANES * position..].first_chunk().expect("a whole position")
}

#[inline(always)]
fn eight_mut<F>(x: &mut [F], position: usize) -> &mut [F; LANES] {
    x[LANES * position..].first_chunk_mut().expect("a whole position")
}

#[inline(always)]
fn sixteen<F>(x: &[F], position: usize) -> &[F; 2 * LANES] {
    x[2 * LANES * position..].first_chunk().expect("a whole position")
}

#[inline(always)]
fn sixteen_mut<F>(x: &mut [F], position: usize) -> &mut [F; 2 * LANES] {
    x[2 * LANES * position..].first_chunk_mut().expect("a whole position")
}

/// The elements 4 i, 4 i + 1, 4 i + 2, 4 i + 3 of 32.
#[inline(always)]
fn neighbours<A: FieldLanes>(f: A, x: &[A::Element], position: usize) -> [A::V; 4] {
    let x: &[A::Element; 4 * LANES] = x[4 * LANES * position..].first_chunk().expect("a whole position");
    [quarter(f, x, 0), quarter(f, x, 1), quarter(f, x, 2), quarter(f, x, 3)]
}

/// The elements 4 i + k of 32.
#[inline(always)]
fn quarter<A: FieldLanes>(f: A, x: &[A::Element; 4 * LANES], k: usize) -> A::V {
    f.gather([&x[k], &x[k + 4], &x[k + 8], &x[k + 12], &x[k + 16], &x[k + 20], &x[k + 24], &x[k + 28]])
}

impl<F: Field> Piece<'_, F> {
    /// The values at 0 and 1 of the next variable for the pairs of a position, after binding. Positions come in order.
    #[inline(always)]
    fn pairs<A: FieldLanes<Element = F>>(&mut self, f: A, position: usize, challenge: A::Factor) -> [A::V; 2] {
        // The values of the next variable at 0 and 1, each where the variable to be bound is 0 and 1.
        let [zero_zero, zero_one, one_zero, one_one] = match self {
            Self::LowFirst(x) => return f.load_pairs(sixteen(x, position)),
            Self::HighFirst([zero, one]) => return [f.load(eight(zero, position)), f.load(eight(one, position))],
            Self::LowFrom(x, _) => neighbours(f, x, position),
            Self::LowIn(x) => neighbours(f, x, position),
            Self::HighFrom([a, b, c, d], _) => [
                f.load(eight(a, position)),
                f.load(eight(c, position)),
                f.load(eight(b, position)),
                f.load(eight(d, position)),
            ],
            Self::HighIn([a, b, c, d]) => [
                f.load(eight(a, position)),
                f.load(eight(c, position)),
                f.load(eight(b, position)),
                f.load(eight(d, position)),
            ],
        };
        let (zero, one) = (f.line(zero_zero, zero_one, challenge), f.line(one_zero, one_one, challenge));
        match self {
            Self::LowFirst(_) | Self::HighFirst(_) => {}
            // In place, the overwritten values were read at this position or at an earlier one.
            Self::LowFrom(_, to) => f.store_pairs(zero, one, sixteen_mut(to, position)),
            Self::LowIn(to) => f.store_pairs(zero, one, sixteen_mut(to, position)),
            Self::HighFrom(_, [a, b]) => {
                f.store(zero, eight_mut(a, position));
                f.store(one, eight_mut(b, position));
            }
            Self::HighIn([a, b, _, _]) => {
                f.store(zero, eight_mut(a, position));
                f.store(one, eight_mut(b, position));
            }
        }
        [zero, one]
    }
}

/// The weights of the positions of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassWeights<'a, F> {
    /// Of the pairs of a run, one after the other: a multiple of [`LANES`].
    pub(super) inner: &'a [F],
    /// Of the runs.
    pub(super) outer: &'a [F],
}

/// A pass over pieces of all tables. Returns the weighted sum of each term's product without its coefficient, for each
/// sample (outer) and each term. A term of degree below d has 0 at infinity; a term without factors has 0 everywhere.
pub(super) struct Pass<'a, F> {
    pub(super) polynomial: &'a VirtualPolynomial<F>,
    pub(super) samples: &'a [Sample],
    pub(super) challenge: F,
    pub(super) weights: Option<PassWeights<'a, F>>,
    pub(super) positions: usize,
    pub(super) pieces: Vec<Piece<'a, F>>,
}

/// The weights of a run, as multipliers and as values.
struct Run<A: FieldLanes> {
    factors: Vec<A::Factor>,
    values: Vec<A::V>,
}

impl<F: Field> Kernel for Pass<'_, F> {
    type Output = Vec<F>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<F> {
        let f = F::on(lanes);
        let Self { polynomial, samples, challenge, weights, positions, mut pieces } = self;
        let challenge = f.factor(&challenge);
        let one = f.splat(&F::ONE);
        let run = match weights {
            Some(weights) => Some(load_run(f, weights.inner)),
            None => None,
        };
        let length = run.as_ref().map_or(RUN, |run| run.values.len());
        let terms = polynomial.terms();
        let mut totals = vec![f.zero(); samples.len() * terms.len()];
        let mut sums = vec![f.empty(); totals.len()];
        let mut lines = vec![[f.zero(); 2]; pieces.len()];
        let mut values = vec![<F::On<L> as FieldLanes>::Lazy::from(f.zero()); pieces.len()];
        let two = terms.len() == 1 && terms[0].factors == [0, 1] && pieces.len() == 2;
        let mut begin = 0;
        let mut number = 0;
        while begin < positions {
            let end = positions.min(begin + length);
            if two {
                let [first, second] = &mut pieces[..] else { unreachable!("two tables") };
                for position in begin..end {
                    let lines = [first.pairs(f, position, challenge), second.pairs(f, position, challenge)];
                    let weight = run.as_ref().map(|run| run.factors[position - begin]);
                    accumulate_two(f, &lines, weight, samples, &mut sums);
                }
            } else {
                for position in begin..end {
                    for (line, piece) in lines.iter_mut().zip(&mut pieces) {
                        *line = piece.pairs(f, position, challenge);
                    }
                    let weight = run.as_ref().map(|run| (run.factors[position - begin], run.values[position - begin]));
                    for (&sample, sums) in samples.iter().zip(sums.chunks_exact_mut(terms.len())) {
                        for (value, line) in values.iter_mut().zip(&lines) {
                            *value = evaluate(f, line, sample);
                        }
                        for (term, sum) in terms.iter().zip(sums) {
                            if sample != Sample::Infinity || term.factors.len() == polynomial.degree() {
                                accumulate(f, &term.factors, &values, weight, one, sum);
                            }
                        }
                    }
                }
            }
            for (total, sum) in totals.iter_mut().zip(&mut sums) {
                let mut value = f.finish(*sum);
                *sum = f.empty();
                if let Some(weights) = weights {
                    value = f.mul(value, f.splat(&weights.outer[number]));
                }
                *total = f.add(*total, value);
            }
            begin = end;
            number += 1;
        }
        let mut out = Vec::with_capacity(totals.len());
        for total in totals {
            out.push(f.sum_lanes(total));
        }
        out
    }
}

#[inline(always)]
fn load_run<A: FieldLanes>(f: A, inner: &[A::Element]) -> Run<A> {
    let eights = inner.as_chunks::<LANES>().0;
    let mut run = Run { factors: Vec::with_capacity(eights.len()), values: Vec::with_capacity(eights.len()) };
    for eight in eights {
        let value = f.load(eight);
        run.values.push(value);
        run.factors.push(f.to_factor(value));
    }
    run
}

/// The value of a line at a sample, from its values at 0 and 1.
#[inline(always)]
fn evaluate<A: FieldLanes>(f: A, &[zero, one]: &[A::V; 2], sample: Sample) -> A::Lazy {
    match sample {
        Sample::At(0) => zero.into(),
        Sample::At(1) => one.into(),
        Sample::Infinity => f.lazy_sub(one, zero),
        Sample::At(2) => f.extend(zero, one),
        Sample::At(x) => {
            let step = f.sub(one, zero);
            let mut value = one;
            for _ in 1..x {
                value = f.add(value, step);
            }
            value.into()
        }
    }
}

/// `sums` + the weighted products of two factors at the samples.
#[inline(always)]
fn accumulate_two<A: FieldLanes>(
    f: A,
    [a, b]: &[[A::V; 2]; 2],
    weight: Option<A::Factor>,
    samples: &[Sample],
    sums: &mut [A::Sum],
) {
    match (samples, weight) {
        ([Sample::At(0), Sample::Infinity], Some(weight)) => {
            let [zero, infinity] = sums else { return };
            let slope = f.scale(f.lazy_sub(a[1], a[0]), weight);
            let value = f.scale(a[0].into(), weight);
            f.accumulate(zero, value.into(), b[0].into());
            f.accumulate(infinity, slope.into(), f.lazy_sub(b[1], b[0]));
        }
        ([Sample::At(0), Sample::At(1), Sample::Infinity], Some(weight)) => {
            let [zero, one, infinity] = sums else { return };
            let (x, y) = (f.scale(a[0].into(), weight), f.scale(a[1].into(), weight));
            f.accumulate(zero, x.into(), b[0].into());
            f.accumulate(one, y.into(), b[1].into());
            f.accumulate(infinity, f.lazy_sub(y, x), f.lazy_sub(b[1], b[0]));
        }
        _ => {
            for (&sample, sum) in samples.iter().zip(sums) {
                let values = [evaluate(f, a, sample), evaluate(f, b, sample)];
                let first = match weight {
                    Some(weight) => f.scale(values[0], weight).into(),
                    None => values[0],
                };
                f.accumulate(sum, first, values[1]);
            }
        }
    }
}

/// `sum` + the weighted product of the values at `factors`.
#[inline(always)]
fn accumulate<A: FieldLanes>(
    f: A,
    factors: &[usize],
    values: &[A::Lazy],
    weight: Option<(A::Factor, A::V)>,
    one: A::V,
    sum: &mut A::Sum,
) {
    match (factors, weight) {
        ([], _) => {}
        (&[only], Some((_, weight))) => f.accumulate(sum, weight.into(), values[only]),
        (&[only], None) => {
            f.accumulate(sum, one.into(), values[only]);
        }
        (&[first, ref middle @ .., last], weight) => {
            let mut product = match weight {
                Some((weight, _)) => f.scale(values[first], weight),
                None => f.reduce(values[first]),
            };
            for &factor in middle {
                product = f.mul(product, f.reduce(values[factor]));
            }
            f.accumulate(sum, product.into(), values[last]);
        }
    }
}
