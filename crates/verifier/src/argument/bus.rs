//! The sum of all fractions on the bus: a tree of additions, checked layer by layer from its root (logup with GKR, ePrint 2023/1284).

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Field;

use super::Machine;
use super::points::{constant, horner, mul, mul_add, sub, sub_mul, sum};

/// Claims on numerator and denominator of the leaves at a point.
#[derive(Clone, Debug)]
pub(super) struct Leaves<E> {
    /// Coordinates, starting with that of the lowest bit of a leaf's number.
    pub point: Vec<E>,
    pub numerator: E,
    pub denominator: E,
}

/// Checks that the fractions sum to 1 / `delta`: the definition of the public inputs, which nothing on the bus uses.
///
/// The numerator N and denominator Q of the root must satisfy N delta = Q, and the prover sends an inverse of Q delta: a denominator of zero is
/// refused. Node x of layer k has the children x and x + 2^k: p = p0 q1 + p1 q0, q = q0 q1.
pub(super) fn verify<M: Machine>(m: &mut M, variables: usize, delta: M::Element) -> Leaves<M::Element> {
    let root = m.receive(5);
    let [p0, p1, q0, q1, inverse] = [0, 1, 2, 3, 4].map(|i| root[i]);
    let numerator = mul(m, p0, q1);
    let numerator = mul_add(m, p1, q0, numerator);
    let denominator = mul(m, q0, q1);
    let product = mul(m, numerator, delta);
    m.assert_equal(product, denominator);
    let all = mul(m, denominator, delta);
    let one = mul(m, all, inverse);
    let expected = constant(m, 1);
    m.assert_equal(one, expected);

    let mut point: Vec<M::Element> = Vec::with_capacity(variables);
    let [mut p, mut q] = halves(m, &mut point, [p0, p1, q0, q1]);
    for layer in 1..variables {
        let lambda = m.challenge();
        // sum over x of eq(point, x) (p0 q1 + p1 q0 + lambda q0 q1), one variable at a time, the highest first.
        let mut claim = mul_add(m, lambda, q, p);
        let mut next = point.clone();
        for variable in (0..layer).rev() {
            let message = m.receive(2);
            let r = m.challenge();
            claim = within_eq(m, claim, point[variable], &message, r);
            next[variable] = r;
        }
        let children = m.receive(4);
        let [p0, p1, q0, q1] = [0, 1, 2, 3].map(|i| children[i]);
        let sum = mul(m, p0, q1);
        let sum = mul_add(m, p1, q0, sum);
        let both = mul(m, q0, q1);
        let sum = mul_add(m, lambda, both, sum);
        m.assert_equal(sum, claim);
        point = next;
        [p, q] = halves(m, &mut point, [p0, p1, q0, q1]);
    }
    Leaves { point, numerator: p, denominator: q }
}

/// Reduces two values to one, at a new highest coordinate.
fn halves<M: Machine>(m: &mut M, point: &mut Vec<M::Element>, [p0, p1, q0, q1]: [M::Element; 4]) -> [M::Element; 2] {
    let r = m.challenge();
    point.push(r);
    [(p0, p1), (q0, q1)].map(|(low, high)| {
        let step = sub(m, high, low);
        mul_add(m, step, r, low)
    })
}

/// The value at r of s(X) = c_0 + c_1 X + ..., where (1 - w) s(0) + w s(1) is the claim and all coefficients except c_0
/// are given.
pub(super) fn within_eq<M: Machine>(
    m: &mut M,
    claim: M::Element,
    w: M::Element,
    message: &[M::Element],
    r: M::Element,
) -> M::Element {
    let step = sum(m, message);
    let constant = sub_mul(m, claim, w, step);
    at(m, constant, message, r)
}

/// The same, if s(0) + s(1) is the claim.
pub(super) fn plain<M: Machine>(m: &mut M, claim: M::Element, message: &[M::Element], r: M::Element) -> M::Element {
    let step = sum(m, message);
    let half = Goldilocks::half();
    let zero = constant(m, 0);
    let constant = m.combine([Goldilocks::ZERO, half, -half], claim, zero, step);
    at(m, constant, message, r)
}

/// constant + r (message\[0\] + r (message\[1\] + ...)).
fn at<M: Machine>(m: &mut M, constant: M::Element, message: &[M::Element], r: M::Element) -> M::Element {
    let Some((last, rest)) = message.split_last() else { return constant };
    let mut value = *last;
    for c in rest.iter().rev() {
        value = mul_add(m, value, r, *c);
    }
    mul_add(m, value, r, constant)
}

/// alpha minus the tuple with the powers of beta: a denominator.
pub(super) fn denominator<M: Machine>(
    m: &mut M,
    alpha: M::Element,
    beta: M::Element,
    tuple: &[M::Element],
) -> M::Element {
    let value = horner(m, tuple, beta);
    sub(m, alpha, value)
}
