//! The opening of a stack: the sum over its places x of W(x) f(x), by WHIR (ePrint 2024/1586).
//!
//! A table of 2^m elements is committed to as a matrix of 2^(m - k) rows and 2^k columns, with element (row, column) at
//! place row + 2^(m - k) column. The elements of each column are the coefficients of a polynomial, and a leaf holds the
//! values of all columns at a point of the domain. Folding by k challenges, which bind the column's bits from the
//! highest one down, leaves a table of 2^(m - k) elements of K. The value of its polynomial at that point is the sum of
//! the leaf's elements times eq(challenges, column).

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::bus::plain;
use super::points::{Coordinates, add, constant, eq_table, evaluate, horner, mul, mul_add, sub};
use super::{Machine, tags};
use crate::tables::WORD;

/// The shape of an opening: the number of its folds, and the demands of each round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// log2 of the elements of the table.
    pub variables: usize,
    /// Columns of the first oracle that may be nonzero: a multiple of 8.
    pub width: usize,
    /// One for each oracle.
    pub rounds: Vec<Round>,
}

/// An oracle, and the demands on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// log2 of its columns.
    pub fold: usize,
    /// log2 of the domain's size over that of the table.
    pub rate: usize,
    /// Leaves that are opened.
    pub queries: usize,
    /// log2 of the digests of its cap.
    pub cap: usize,
    /// Zero bits of the proof of work before its queries.
    pub grinding: usize,
    /// Points outside the domain at which its table is sampled when its cap is known: one point if a word may be close
    /// to several tables.
    pub samples: usize,
}

const fn unique(fold: usize, rate: usize, queries: usize, cap: usize) -> Round {
    Round { fold, rate, queries, cap, grinding: 14, samples: 0 }
}
const fn johnson(fold: usize, rate: usize, queries: usize, cap: usize) -> Round {
    Round { fold, rate, queries, cap, grinding: 16, samples: 1 }
}

/// 100 bits by unique decoding, over K of degree two: (1 + 2^-rate) / 2 for each query, and the proof of work.
pub const UNIQUE_100: [Round; 4] =
    [unique(7, 1, 208, 9), unique(4, 2, 128, 8), unique(4, 5, 91, 8), unique(2, 8, 87, 8)];
/// 128 bits up to the Johnson bound, over K of degree three.
pub const JOHNSON_128: [Round; 3] = [johnson(7, 2, 113, 8), johnson(4, 4, 57, 7), johnson(4, 7, 33, 7)];

impl Schedule {
    /// For a stack of this many elements, at least 2^17, with the given folds and queries.
    pub fn new(rounds: &[Round], elements: usize) -> Self {
        let variables = elements.next_power_of_two().ilog2().max(17) as usize;
        let columns = elements.div_ceil(1 << (variables - rounds[0].fold));
        Self { variables, width: columns.next_multiple_of(8), rounds: rounds.to_vec() }
    }
    /// Variables of the table of each oracle, followed by those of the table that is sent.
    pub fn tables(&self) -> Vec<usize> {
        let mut variables = vec![self.variables];
        for round in &self.rounds {
            variables.push(variables[variables.len() - 1] - round.fold);
        }
        variables
    }
    /// log2 of the leaves of oracle i.
    pub fn depth(&self, i: usize) -> usize {
        self.tables()[i + 1] + self.rounds[i].rate
    }
    /// Elements in the leaves that a proof over K opens; the proof has more elements.
    pub fn opened<K: Extension>(&self) -> usize {
        let leaf = |oracle: usize, round: &Round| if oracle == 0 { self.width } else { K::DEGREE << round.fold };
        self.rounds.iter().enumerate().map(|(oracle, round)| round.queries * leaf(oracle, round)).sum()
    }
}

/// The final claim: the required value of the weights times [`End::value`].
#[derive(Clone, Debug)]
pub(super) struct End<E> {
    /// The point, starting with the coordinate of the lowest variable.
    pub point: Coordinates<E>,
    /// The value of the table at the point.
    pub value: E,
    /// The remaining claim.
    pub claim: E,
    /// The part that samples and queries add to the weights of the initial claim.
    pub queries: E,
}

/// Values of a table outside the domain: sum of x^i times element i. They are joined to a sum before anything else is.
#[derive(Clone, Debug)]
pub(super) struct Samples<E> {
    points: Vec<E>,
    values: Vec<E>,
}

/// Samples the table whose cap was the last message.
pub(super) fn sample<M: Machine>(m: &mut M, count: usize) -> Samples<M::Element> {
    let (points, values) = (0..count).map(|_| (m.challenge(), m.receive(1)[0])).unzip();
    Samples { points, values }
}

/// The weights of samples at a point: each the product over v of (1 + s_v (x^(2^v) - 1)).
fn sample_weights<M: Machine>(m: &mut M, samples: &Samples<M::Element>, s: &[M::Element]) -> Vec<M::Element> {
    let one = constant(m, 1);
    let weight = |x: &M::Element| {
        let mut power = *x;
        let mut product = one;
        for (v, s) in s.iter().enumerate() {
            if v > 0 {
                power = mul(m, power, power);
            }
            let step = sub(m, power, one);
            let factor = mul_add(m, step, *s, one);
            product = mul(m, product, factor);
        }
        product
    };
    samples.points.iter().map(weight).collect()
}

/// Checks an opening of the oracle with number `tree` of the machine.
pub(super) fn verify<M: Machine>(
    m: &mut M,
    schedule: &Schedule,
    mut tree: usize,
    samples: Samples<M::Element>,
    mut claim: M::Element,
) -> End<M::Element> {
    let tables = schedule.tables();
    let mut point = vec![claim; schedule.variables];
    // The values joined to the sum: how many variables are left, the samples, the queries, the challenge.
    let mut asked = Vec::new();
    if !samples.points.is_empty() {
        let joining = m.challenge();
        let value = horner(m, &samples.values, joining);
        claim = mul_add(m, joining, value, claim);
        asked.push((schedule.variables, samples, Vec::new(), joining));
    }
    let mut last = Vec::new();
    for (i, round) in schedule.rounds.iter().enumerate() {
        for variable in (tables[i + 1]..tables[i]).rev() {
            (claim, point[variable]) = sum_round(m, claim);
        }
        let this = tree;
        let samples = if let Some(next) = schedule.rounds.get(i + 1) {
            tree = m.receive_cap(schedule.depth(i + 1), next.cap);
            sample(m, next.samples)
        } else {
            last = m.receive(1 << tables[i + 1]);
            sample(m, 0)
        };
        m.grind(round.grinding);
        let indices = m.indices(round.queries, schedule.depth(i));

        // A leaf's weights: eq over the columns, and for elements of K their coefficients'.
        let eq = eq_table(m, &point[tables[i + 1]..tables[i]]);
        let (tag, weights) = if i == 0 {
            (tags::BASE_ORACLE, eq[..schedule.width].to_vec())
        } else {
            (tags::EXTENSION_ORACLE, coefficients(m, &eq))
        };
        let joining = m.challenge();
        let mut powers = joining;
        for value in &samples.values {
            claim = mul_add(m, powers, *value, claim);
            powers = mul(m, powers, joining);
        }
        for (q, index) in indices.iter().enumerate() {
            let leaf = m.open(this, tag, *index, weights.len() / WORD);
            let value = m.weigh(&leaf, &weights);
            claim = mul_add(m, powers, value, claim);
            if q + 1 < indices.len() {
                powers = mul(m, powers, joining);
            }
        }
        asked.push((tables[i + 1], samples, indices, joining));
    }
    let end = tables[schedule.rounds.len()];
    for variable in (0..end).rev() {
        (claim, point[variable]) = sum_round(m, claim);
    }
    let value = evaluate(m, &last, &point[..end]);
    let mut queries = constant(m, 0);
    for (variables, samples, indices, joining) in asked {
        let mut weights = constant(m, 0);
        for index in indices.into_iter().rev() {
            let weight = m.query(index, &point[..variables]);
            weights = mul_add(m, weights, joining, weight);
        }
        for weight in sample_weights(m, &samples, &point[..variables]).into_iter().rev() {
            weights = mul_add(m, weights, joining, weight);
        }
        queries = mul_add(m, weights, joining, queries);
    }
    let point = Coordinates::new(m, point);
    End { point, value, claim, queries }
}

/// A round of a sum of products of two tables: the next claim and the challenge.
fn sum_round<M: Machine>(m: &mut M, claim: M::Element) -> (M::Element, M::Element) {
    let message = m.receive(2);
    let r = m.challenge();
    (plain(m, claim, &message, r), r)
}

/// The weights of the coefficients of elements of K: w, w X, w X^2.
fn coefficients<M: Machine>(m: &mut M, weights: &[M::Element]) -> Vec<M::Element> {
    let degree = M::Field::DEGREE;
    let x = {
        let mut unit = vec![Goldilocks::ZERO; degree];
        unit[1] = Goldilocks::ONE;
        m.constant(M::Field::from_coefficients(&unit).expect("as many coefficients"))
    };
    let mut all = Vec::with_capacity(weights.len() * degree);
    for weight in weights {
        let mut power = *weight;
        all.push(power);
        for _ in 1..degree {
            power = mul(m, power, x);
            all.push(power);
        }
    }
    all
}

/// Demands the remaining claim: (weights + those of queries) times the value is the claim.
pub(super) fn finish<M: Machine>(m: &mut M, end: &End<M::Element>, weight: M::Element) {
    let weight = add(m, weight, end.queries);
    let product = mul(m, weight, end.value);
    m.assert_equal(product, end.claim);
}
