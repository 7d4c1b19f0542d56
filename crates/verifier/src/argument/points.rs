//! Products and sums over points, on a machine.

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Field;

use super::Machine;

/// Values of one point that several steps need: its coordinates r, and 1 - r.
#[derive(Clone, Debug)]
pub struct Coordinates<E> {
    /// The coordinates, starting with that of the lowest bit.
    pub r: Vec<E>,
    not: Vec<E>,
}

impl<E: Copy> Coordinates<E> {
    /// The point of these coordinates.
    pub fn new<M: Machine<Element = E>>(m: &mut M, r: Vec<E>) -> Self {
        let one = constant(m, 1);
        let not = r.iter().map(|r| sub(m, one, *r)).collect();
        Self { r, not }
    }
    /// The coordinate, or one minus it: the weight of bit `bit` of an index.
    fn factor(&self, variable: usize, bit: bool) -> E {
        if bit { self.r[variable] } else { self.not[variable] }
    }
    /// eq(r from `first` on, i) for i = `from`, ..., `from` + `len` - 1.
    pub fn table<M: Machine<Element = E>>(
        &self,
        m: &mut M,
        first: usize,
        count: usize,
        from: usize,
        len: usize,
    ) -> Vec<E> {
        // The bits that all of them share are one factor. The other bits form a tree without its unneeded branches.
        let mut level = vec![(0, None)];
        for i in (0..count).rev() {
            let needed = |prefix: usize| prefix << i < from + len && (prefix + 1) << i > from;
            let mut next = Vec::with_capacity(2 * level.len());
            for (prefix, value) in level {
                for bit in [false, true] {
                    let child = 2 * prefix + usize::from(bit);
                    if needed(child) {
                        let factor = self.factor(first + i, bit);
                        next.push((child, Some(value.map_or(factor, |value| mul(m, value, factor)))));
                    }
                }
            }
            level = next;
        }
        let one = constant(m, 1);
        level.into_iter().map(|(_, value)| value.unwrap_or(one)).collect()
    }
    /// eq of `count` coordinates of two points.
    pub fn eq<M: Machine<Element = E>>(&self, m: &mut M, first: usize, other: &[E]) -> E {
        let one = Goldilocks::ONE;
        let factors: Vec<E> = other
            .iter()
            .enumerate()
            .map(|(i, s)| {
                // r s + (1 - r)(1 - s) = 2 r s - s + (1 - r)
                m.combine([Goldilocks::new(2), -one, one], *s, self.r[first + i], self.not[first + i])
            })
            .collect();
        product(m, &factors)
    }
}

/// A number.
pub fn constant<M: Machine>(m: &mut M, x: u64) -> M::Element {
    m.constant(M::Field::from_u64(x))
}
/// a + b.
pub fn add<M: Machine>(m: &mut M, a: M::Element, b: M::Element) -> M::Element {
    let zero = constant(m, 0);
    m.combine([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ONE], a, zero, b)
}
/// a - b.
pub fn sub<M: Machine>(m: &mut M, a: M::Element, b: M::Element) -> M::Element {
    let zero = constant(m, 0);
    m.combine([Goldilocks::ZERO, Goldilocks::ONE, -Goldilocks::ONE], a, zero, b)
}
/// a b.
pub fn mul<M: Machine>(m: &mut M, a: M::Element, b: M::Element) -> M::Element {
    let zero = constant(m, 0);
    m.combine([Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ZERO], a, b, zero)
}
/// a b + c.
pub fn mul_add<M: Machine>(m: &mut M, a: M::Element, b: M::Element, c: M::Element) -> M::Element {
    m.combine([Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ONE], a, b, c)
}
/// c - a b.
pub fn sub_mul<M: Machine>(m: &mut M, c: M::Element, a: M::Element, b: M::Element) -> M::Element {
    m.combine([-Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ONE], a, b, c)
}
/// The product of all.
pub fn product<M: Machine>(m: &mut M, factors: &[M::Element]) -> M::Element {
    match factors.split_first() {
        None => constant(m, 1),
        Some((first, rest)) => rest.iter().fold(*first, |product, factor| mul(m, product, *factor)),
    }
}
/// The sum of all.
pub fn sum<M: Machine>(m: &mut M, terms: &[M::Element]) -> M::Element {
    match terms.split_first() {
        None => constant(m, 0),
        Some((first, rest)) => rest.iter().fold(*first, |sum, term| add(m, sum, *term)),
    }
}
/// The sum of values\[i\] x^i.
pub fn horner<M: Machine>(m: &mut M, values: &[M::Element], x: M::Element) -> M::Element {
    match values.split_last() {
        None => constant(m, 0),
        Some((last, rest)) => rest.iter().rev().fold(*last, |sum, value| mul_add(m, sum, x, *value)),
    }
}
/// The sum of a_i b_i.
pub fn inner<M: Machine>(m: &mut M, a: &[M::Element], b: &[M::Element]) -> M::Element {
    match a.iter().zip(b).collect::<Vec<_>>().split_first() {
        None => constant(m, 0),
        Some(((a, b), rest)) => {
            let first = mul(m, **a, **b);
            rest.iter().fold(first, |sum, (a, b)| mul_add(m, **a, **b, sum))
        }
    }
}
/// eq(r, i) for all i, for values that are chosen by the low bits of i first.
pub fn eq_table<M: Machine>(m: &mut M, r: &[M::Element]) -> Vec<M::Element> {
    let mut table = vec![constant(m, 1)];
    for (i, r) in r.iter().enumerate() {
        let above: Vec<M::Element> =
            if i == 0 { vec![*r] } else { table.iter().map(|value| mul(m, *value, *r)).collect() };
        for (value, above) in table.iter_mut().zip(&above) {
            *value = sub(m, *value, *above);
        }
        table.extend(above);
    }
    table
}
/// The value at r of the multilinear polynomial with these values: the low bits of an index choose by the first coordinates.
pub fn evaluate<M: Machine>(m: &mut M, values: &[M::Element], r: &[M::Element]) -> M::Element {
    let mut values = values.to_vec();
    for r in r.iter().rev() {
        let (low, high) = values.split_at(values.len() / 2);
        values = low
            .iter()
            .zip(high)
            .map(|(low, high)| {
                let step = sub(m, *high, *low);
                mul_add(m, step, *r, *low)
            })
            .collect();
    }
    values[0]
}
