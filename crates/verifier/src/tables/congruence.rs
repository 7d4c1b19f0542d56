//! Congruences modulo the base field of BLS12-381, as identities of integers.
//!
//! **Limbs.** An element is 24 limbs of 16 bits, x = sum of x_i 2^(16 i); it need not be below p. A congruence says that a sum of products of two
//! elements and a linear part is q p for a quotient q: with e_k the coefficient of 2^(16 k) in their difference,
//!
//! e_2j + 2^16 e_(2j+1) + c_(j-1) = 2^32 c_j for j = 0, ..., 23, where c_(-1) = c_23 = 0.
//!
//! **Over the integers.** Limbs are below 2^17 in absolute value where they are sums or differences, those of q lie in
//! \[-2^15, 2^15), and carries in \[-2^24, 2^24). With at most 72 2^32 from products and the linear part and 12 2^32
//! from q p, |e_k| < 84 2^32, and both sides of an equation stay below 2^57 < (2^64 - 2^32) / 2. So they are equal as
//! integers, since they are equal in F. The sum of the equations times powers of 2^32 is the identity.
//!
//! **Columns** of a congruence: the limbs of q with 2^15 added; and for each carry with 2^24 added the low 16 bits, and
//! the other 9 bits. The table of [ranges](super::range) checks each: looking up 2^7 h as well as h shows that h is
//! below 2^9.

use alloc::vec::Vec;
use core::array;

use evergrove_primitives::Goldilocks;

use crate::algebra::Algebra;
use crate::argument::Machine;
use crate::argument::points::{constant, horner, mul, mul_add, sub};

/// Limbs of an element.
pub const LIMBS: usize = 24;
/// Bits of a limb.
pub const LIMB_BITS: usize = 16;
/// Equations of a congruence.
pub const EQUATIONS: usize = LIMBS;
/// Carries between them.
pub const CARRIES: usize = EQUATIONS - 1;
/// Committed columns of a congruence.
pub const COLUMNS: usize = LIMBS + 2 * CARRIES;
/// Ranges of a congruence.
pub const RANGES: usize = LIMBS + 3 * CARRIES;

/// p, in limbs.
pub const MODULUS: [u64; LIMBS] = {
    const WORDS: [u64; 6] = [
        0xb9fe_ffff_ffff_aaab,
        0x1eab_fffe_b153_ffff,
        0x6730_d2a0_f6b0_f624,
        0x6477_4b84_f385_12bf,
        0x4b1b_a7b6_434b_acd7,
        0x1a01_11ea_397f_e69a,
    ];
    let (mut limbs, mut i) = ([0; LIMBS], 0);
    while i < LIMBS {
        limbs[i] = WORDS[i / 4] >> (LIMB_BITS * (i % 4)) & 0xffff;
        i += 1;
    }
    limbs
};

/// 2^n.
pub(super) const fn power(n: usize) -> Goldilocks {
    Goldilocks::new(1 << n)
}

/// The offset of a limb of a quotient.
pub const QUOTIENT: u64 = 1 << (LIMB_BITS - 1);
/// The offset of a carry.
pub const CARRY: u64 = 1 << 24;

/// An element, limb by limb.
pub type Limbs<V> = [V; LIMBS];

/// A congruence: the sum of products and the linear part is a multiple of p.
#[derive(Clone, Debug)]
pub struct Congruence<V> {
    products: Vec<[Limbs<V>; 2]>,
    linear: Limbs<V>,
    /// With their signs.
    quotient: Limbs<V>,
    carries: [V; CARRIES],
}

impl<V: Copy> Congruence<V> {
    /// The congruence of these products and this linear part, with the quotient and the carries in `columns`.
    pub(super) fn new<A: Algebra<V = V>>(
        f: &mut A,
        products: Vec<[Limbs<V>; 2]>,
        linear: Limbs<V>,
        columns: &[V],
    ) -> Self {
        let one = f.one();
        let quotient = array::from_fn(|i| f.add_scaled(columns[i], -Goldilocks::new(QUOTIENT), one));
        let carries = array::from_fn(|i| {
            let [low, high] = carry(columns, i);
            let carry = f.add_scaled(low, power(LIMB_BITS), high);
            f.add_scaled(carry, -Goldilocks::new(CARRY), one)
        });
        Self { products, linear, quotient, carries }
    }

    /// The equations, each 0 where it holds.
    pub(super) fn expand<A: Algebra<V = V>>(&self, f: &mut A, out: &mut Vec<V>) {
        let e: Vec<V> = (0..2 * EQUATIONS)
            .map(|k| {
                let pairs = (k + 1).saturating_sub(LIMBS)..LIMBS.min(k + 1);
                let (mut a, mut b) = (Vec::new(), Vec::new());
                for [left, right] in &self.products {
                    a.extend_from_slice(&left[pairs.clone()]);
                    b.extend(pairs.clone().map(|i| right[k - i]));
                }
                let products = f.products(&a, &b);
                let modulus: Vec<Goldilocks> = pairs.clone().map(|i| -Goldilocks::new(MODULUS[k - i])).collect();
                let multiple = f.dot(&modulus, &self.quotient[pairs]);
                let sum = f.add(products, multiple);
                self.linear.get(k).map_or(sum, |&linear| f.add(sum, linear))
            })
            .collect();
        for j in 0..EQUATIONS {
            let mut sum = f.add_scaled(e[2 * j], power(LIMB_BITS), e[2 * j + 1]);
            if j > 0 {
                sum = f.add(sum, self.carries[j - 1]);
            }
            if j < CARRIES {
                sum = f.add_scaled(sum, -power(2 * LIMB_BITS), self.carries[j]);
            }
            out.push(sum);
        }
    }
}

impl<E: Copy> Congruence<E> {
    /// The sum of the equations times powers of y. If A_0 and A_1 are the polynomials of the even and the odd limbs of
    /// a, a product a b contributes A_0 B_0 + y A_1 B_1 + 2^16 (A_0 B_1 + A_1 B_0).
    pub fn at<M: Machine<Element = E>>(&self, m: &mut M, y: E) -> E {
        let modulus = MODULUS.map(|limb| constant(m, limb));
        let quotient = product(m, &self.quotient, &modulus, y);
        let [even, odd] = halves(m, &self.linear, y);
        let mut sum = m.combine([Goldilocks::ZERO, power(LIMB_BITS), Goldilocks::ONE], odd, odd, even);
        for [a, b] in &self.products {
            let product = product(m, a, b, y);
            sum = m.combine([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ONE], sum, sum, product);
        }
        sum = sub(m, sum, quotient);
        let carries = horner(m, &self.carries, y);
        let shift = constant(m, 1 << (2 * LIMB_BITS));
        let shift = sub(m, y, shift);
        mul_add(m, shift, carries, sum)
    }
}

/// The polynomials of even and odd limbs at y.
fn halves<M: Machine>(m: &mut M, limbs: &Limbs<M::Element>, y: M::Element) -> [M::Element; 2] {
    [0, 1].map(|first| {
        let half: [M::Element; LIMBS / 2] = array::from_fn(|i| limbs[2 * i + first]);
        horner(m, &half, y)
    })
}

fn product<M: Machine>(m: &mut M, a: &Limbs<M::Element>, b: &Limbs<M::Element>, y: M::Element) -> M::Element {
    let ([a0, a1], [b0, b1]) = (halves(m, a, y), halves(m, b, y));
    let cross = mul(m, a0, b1);
    let cross = mul_add(m, a1, b0, cross);
    let odd = mul(m, a1, b1);
    let even = mul(m, a0, b0);
    let sum = mul_add(m, y, odd, even);
    m.combine([Goldilocks::ZERO, power(LIMB_BITS), Goldilocks::ONE], cross, cross, sum)
}

/// The two parts of a carry.
fn carry<V: Copy>(columns: &[V], i: usize) -> [V; 2] {
    [columns[LIMBS + 2 * i], columns[LIMBS + 2 * i + 1]]
}

/// The columns of a congruence that must be below 2^16.
pub(super) fn ranges<A: Algebra>(f: &mut A, columns: &[A::V], out: &mut Vec<A::V>) {
    out.extend_from_slice(&columns[..LIMBS]);
    for i in 0..CARRIES {
        let [low, high] = carry(columns, i);
        out.extend([low, high, f.scale(power(7), high)]);
    }
}
