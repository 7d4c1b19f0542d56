//! The queries of FRI.
//!
//! Leaves hold a coset in bit-reversed order, so the values at y and -y are neighbours. Folding them gives (P(y) +
//! P(-y)) / 2 + beta (P(y) - P(-y)) / 2y, the value at y^2 of a polynomial of half the degree. After as many foldings
//! as the arity has bits, with beta squared each time, the result is the value at beta of the polynomial that
//! interpolates the coset.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use evergrove_verifier::wire::{Query, Snark, SnarkShape};
use plonky2::field::extension::FieldExtension;
use plonky2::field::types::Field;

use super::check::{E, SnarkError, number, scale};
use crate::circuit::{F, from_plonky, to_plonky};
use crate::convert::to_ext;

type Row = [Goldilocks; LANES];

/// The data that a query is checked against.
pub(super) struct Queries<'a> {
    pub(super) zeta: E,
    pub(super) alpha: E,
    /// By layer.
    pub(super) betas: Vec<E>,
    /// The openings of all polynomials at zeta.
    pub(super) values: &'a [E],
    /// The values of the Zs at the next point.
    pub(super) next: &'a [E],
}

/// The domains of a circuit's FRI.
pub(super) struct FriCheck {
    isa: Isa,
    lde_bits: usize,
    /// Columns of each initial oracle.
    widths: [usize; 4],
    /// Generator of the trace domain.
    generator: E,
    layers: Vec<Layer>,
}

/// A layer: a domain s H, folded by 2^arity_bits.
struct Layer {
    arity_bits: usize,
    /// log2 of the points of the next domain.
    next_bits: usize,
    /// 1 / s.
    unshift: F,
    /// 1 / w for the generator w of H.
    unroot: F,
    /// 1 / g^rev(j) for the generator g of the group of 2^arity_bits elements, 2^(arity_bits - 1) of them.
    twiddles: Vec<F>,
    /// 2^-arity_bits.
    scale: F,
}

impl FriCheck {
    pub(super) fn new(isa: Isa, shape: &SnarkShape) -> Self {
        let (mut bits, mut shift) = (shape.lde_bits(), F::MULTIPLICATIVE_GROUP_GENERATOR);
        let layers = (shape.params().arity_bits.iter())
            .map(|&arity_bits| {
                let inverse = F::primitive_root_of_unity(arity_bits).inverse();
                let half = 1_usize << arity_bits >> 1;
                let layer = Layer {
                    arity_bits,
                    next_bits: bits - arity_bits,
                    unshift: shift.inverse(),
                    unroot: F::primitive_root_of_unity(bits).inverse(),
                    twiddles: (0..half).map(|j| inverse.exp_u64(reverse(j, arity_bits - 1) as u64)).collect(),
                    scale: number(1 << arity_bits).inverse(),
                };
                bits -= arity_bits;
                shift = shift.exp_power_of_2(arity_bits);
                layer
            })
            .collect();
        Self {
            isa,
            lde_bits: shape.lde_bits(),
            widths: shape.oracle_widths(),
            generator: E::primitive_root_of_unity(shape.params().degree_bits),
            layers,
        }
    }

    /// Checks every query: the combination of the opened leaves equals the value in the first layer, each layer equals
    /// the fold of the one before, and the final polynomial equals the fold of the last.
    pub(super) fn check(&self, snark: &Snark, queries: &Queries<'_>) -> Result<(), SnarkError> {
        let points: Vec<F> = (snark.queries.iter())
            .map(|q| {
                let exponent = reverse(q.index as usize, self.lde_bits) as u64;
                F::MULTIPLICATIVE_GROUP_GENERATOR * F::primitive_root_of_unity(self.lde_bits).exp_u64(exponent)
            })
            .collect();
        let first = self.combinations(snark, queries, &points)?;
        let final_poly: Vec<E> = snark.final_poly.iter().map(to_ext).collect();
        for (query, (q, (mut value, mut point))) in snark.queries.iter().zip(first.into_iter().zip(points)).enumerate()
        {
            let mut index = q.index as usize;
            for (layer, ((domain, step), beta)) in self.layers.iter().zip(&q.steps).zip(&queries.betas).enumerate() {
                let mut evals: Vec<E> = step.evals().map(|x| to_ext(&x)).collect();
                if evals.get(index & ((1 << domain.arity_bits) - 1)) != Some(&value) {
                    return Err(SnarkError::Fold { query, layer });
                }
                index >>= domain.arity_bits;
                value = domain.fold(&mut evals, index, *beta);
                point = point.exp_power_of_2(domain.arity_bits);
            }
            if final_poly.iter().rev().fold(E::ZERO, |sum, x| scale(sum, point) + *x) != value {
                return Err(SnarkError::FinalPolynomial { query });
            }
        }
        Ok(())
    }

    /// The value of the combination of all quotients (P(x) - P(z)) / (x - z) at the points x of the queries, from the opened
    /// leaves.
    fn combinations(&self, snark: &Snark, queries: &Queries<'_>, points: &[F]) -> Result<Vec<E>, SnarkError> {
        let Queries { zeta, alpha, values, next, .. } = queries;
        let opened = [*zeta, self.generator * *zeta];
        let mut denominators = Vec::with_capacity(2 * points.len());
        for (query, x) in points.iter().enumerate() {
            for z in opened {
                let difference = E::from(*x) - z;
                if difference == E::ZERO {
                    return Err(SnarkError::Point { query });
                }
                denominators.push(difference);
            }
        }
        let inverses = E::batch_multiplicative_inverse(&denominators);
        let powers: Vec<E> =
            core::iter::successors(Some(E::ONE), |p| Some(*p * *alpha)).take(values.len() + 1).collect();
        let sum = |values: &[E]| values.iter().zip(&powers).fold(E::ZERO, |sum, (x, power)| sum + *x * *power);
        let constant = [sum(values), sum(next)];
        let mut sums = vec![E::ZERO; points.len()];
        dispatch_on(self.isa, Combine { queries: &snark.queries, weights: self.weights(&powers), sums: &mut sums });
        let shift = powers[next.len()];
        let out = (snark.queries.iter().zip(&sums)).zip(inverses.as_chunks::<2>().0).map(|((q, sum), inverses)| {
            let zs = q.initial[2].leaf.iter().zip(&powers).take(next.len());
            let zs = zs.fold(E::ZERO, |sum, (x, power)| sum + scale(*power, to_plonky(*x)));
            (*sum - constant[0]) * inverses[0] * shift + (zs - constant[1]) * inverses[1]
        });
        Ok(out.collect())
    }

    /// The powers of alpha by which the columns of each oracle are multiplied: real and imaginary parts by eight
    /// columns, followed by zeros.
    fn weights(&self, powers: &[E]) -> [Vec<[Row; 2]>; 4] {
        let mut rest = powers;
        self.widths.map(|width| {
            let (own, after) = rest.split_at(width);
            rest = after;
            let part = |chunk: &[E], part: usize| {
                let mut row = [Goldilocks::ZERO; LANES];
                row.iter_mut()
                    .zip(chunk)
                    .for_each(|(to, x)| *to = from_plonky(<E as FieldExtension<2>>::to_basefield_array(x)[part]));
                row
            };
            own.chunks(LANES).map(|chunk| [part(chunk, 0), part(chunk, 1)]).collect()
        })
    }
}

impl Layer {
    /// The value at beta of the polynomial of degree below 2^arity_bits with these values on coset `index`. Overwrites them.
    fn fold(&self, evals: &mut [E], index: usize, beta: E) -> E {
        let start = self.unshift * self.unroot.exp_u64(reverse(index, self.next_bits) as u64);
        let (mut ratio, mut len) = (scale(beta, start), evals.len());
        while len > 1 {
            len /= 2;
            for j in 0..len {
                let (a, b) = (evals[2 * j], evals[2 * j + 1]);
                evals[j] = a + b + (a - b) * scale(ratio, self.twiddles[j]);
            }
            ratio *= ratio;
        }
        scale(evals[0], self.scale)
    }
}

/// sum_j leaf_j alpha^j over the leaves of all initial oracles of each query.
struct Combine<'a> {
    queries: &'a [Query],
    weights: [Vec<[Row; 2]>; 4],
    sums: &'a mut [E],
}

impl Kernel for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for (query, out) in self.queries.iter().zip(self.sums) {
            let mut total = [Goldilocks::ZERO; 2];
            for (opened, weights) in query.initial.iter().zip(&self.weights) {
                let mut sums = [f.product_sum(); 2];
                for (columns, weights) in opened.leaf.chunks(LANES).zip(weights) {
                    let mut row = [Goldilocks::ZERO; LANES];
                    row[..columns.len()].copy_from_slice(columns);
                    let x = f.factor(f.load(&row));
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        f.accumulate(sum, x, f.factor(f.load(weight)));
                    }
                }
                for (total, sum) in total.iter_mut().zip(sums) {
                    let mut row = [Goldilocks::ZERO; LANES];
                    f.store(f.reduce(f.reduce_sum(sum)), &mut row);
                    *total += row.into_iter().sum();
                }
            }
            *out = to_ext(&total);
        }
    }
}

/// The low `bits` bits of i, reversed.
fn reverse(i: usize, bits: usize) -> usize {
    if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS as usize - bits) }
}
