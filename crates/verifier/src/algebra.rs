//! The arithmetic of constraints.
//!
//! A constraint is written once, against [`Algebra`], and read three times: by the prover, on symbols, as a polynomial
//! in the columns or as a list of steps (`prover::polynomial`); by a verifier, at a point ([`Point`]); by a circuit
//! that verifies, where each step becomes a row of its tables (`circuit::Builder` of `evergrove-multilinear`).

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

/// The values in constraints, and their operations.
pub trait Algebra {
    /// A value: a column on eight rows, an evaluation, a wire.
    type V: Copy;

    /// 0.
    fn zero(&mut self) -> Self::V;
    /// The value of the polynomial that is 1 on every row: 1 on a row, the table's activity at a point.
    fn one(&mut self) -> Self::V;
    /// q0 a b + q1 a + q2 c.
    fn combine(&mut self, q: [Goldilocks; 3], a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The sum of coefficient times value.
    ///
    /// # Panics
    /// If the numbers of coefficients and values differ.
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[Self::V]) -> Self::V;

    /// The sum of a_i b_i.
    fn products(&mut self, a: &[Self::V], b: &[Self::V]) -> Self::V {
        let zero = self.zero();
        a.iter().zip(b).fold(zero, |sum, (&a, &b)| self.mul_add(a, b, sum))
    }

    /// a + b.
    fn add(&mut self, a: Self::V, b: Self::V) -> Self::V {
        let zero = self.zero();
        self.combine([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ONE], a, zero, b)
    }
    /// a - b.
    fn sub(&mut self, a: Self::V, b: Self::V) -> Self::V {
        let zero = self.zero();
        self.combine([Goldilocks::ZERO, Goldilocks::ONE, -Goldilocks::ONE], a, zero, b)
    }
    /// a b.
    fn mul(&mut self, a: Self::V, b: Self::V) -> Self::V {
        let zero = self.zero();
        self.combine([Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ZERO], a, b, zero)
    }
    /// a b + c.
    fn mul_add(&mut self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.combine([Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ONE], a, b, c)
    }
    /// k a.
    fn scale(&mut self, k: Goldilocks, a: Self::V) -> Self::V {
        let zero = self.zero();
        self.combine([Goldilocks::ZERO, k, Goldilocks::ZERO], a, zero, zero)
    }
    /// a + k b.
    fn add_scaled(&mut self, a: Self::V, k: Goldilocks, b: Self::V) -> Self::V {
        let zero = self.zero();
        self.combine([Goldilocks::ZERO, Goldilocks::ONE, k], a, zero, b)
    }
    /// a^2 - a: 0 where a is 0 or 1.
    fn boolean(&mut self, a: Self::V) -> Self::V {
        let zero = self.zero();
        self.combine([Goldilocks::ONE, -Goldilocks::ONE, Goldilocks::ZERO], a, a, zero)
    }
}

/// A point of a table: values are evaluations of columns, and 1 is replaced by the sum over active blocks of eq(point,
/// block) there. With activity 1, a row.
#[derive(Clone, Copy, Debug)]
pub struct Point<K> {
    /// The value of a constant 1.
    pub activity: K,
}

impl<K: Extension> Algebra for Point<K> {
    type V = K;

    fn zero(&mut self) -> K {
        K::ZERO
    }
    fn one(&mut self) -> K {
        self.activity
    }
    fn combine(&mut self, q: [Goldilocks; 3], a: K, b: K, c: K) -> K {
        combine(q, a, b, c)
    }
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[K]) -> K {
        assert_eq!(coefficients.len(), values.len(), "a coefficient for each value");
        coefficients.iter().zip(values).map(|(&k, &v)| v * k).sum()
    }
}

/// A row: values are elements of F.
#[derive(Clone, Copy, Debug)]
pub struct Ground;

impl Algebra for Ground {
    type V = Goldilocks;

    #[inline]
    fn zero(&mut self) -> Goldilocks {
        Goldilocks::ZERO
    }
    #[inline]
    fn one(&mut self) -> Goldilocks {
        Goldilocks::ONE
    }
    #[inline]
    fn combine(&mut self, [q0, q1, q2]: [Goldilocks; 3], a: Goldilocks, b: Goldilocks, c: Goldilocks) -> Goldilocks {
        q0 * a * b + q1 * a + q2 * c
    }
    #[inline]
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[Goldilocks]) -> Goldilocks {
        Goldilocks::inner_product(coefficients, values)
    }
    #[inline]
    fn add(&mut self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a + b
    }
    #[inline]
    fn sub(&mut self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a - b
    }
    #[inline]
    fn mul(&mut self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a * b
    }
    #[inline]
    fn mul_add(&mut self, a: Goldilocks, b: Goldilocks, c: Goldilocks) -> Goldilocks {
        a * b + c
    }
    #[inline]
    fn scale(&mut self, k: Goldilocks, a: Goldilocks) -> Goldilocks {
        k * a
    }
    #[inline]
    fn add_scaled(&mut self, a: Goldilocks, k: Goldilocks, b: Goldilocks) -> Goldilocks {
        a + k * b
    }
    #[inline]
    fn boolean(&mut self, a: Goldilocks) -> Goldilocks {
        a * a - a
    }
}

/// q0 a b + q1 a + q2 c.
pub fn combine<K: Extension>([q0, q1, q2]: [Goldilocks; 3], a: K, b: K, c: K) -> K {
    let product = if q0 == Goldilocks::ZERO { K::ZERO } else { a * b * q0 };
    product + a * q1 + c * q2
}

/// The product in K of two elements given by their coefficients: by X^2 = 7 in K2, by X^3 = X + 1 in K3.
///
/// # Panics
/// Unless both have [`Extension::DEGREE`] coefficients.
pub fn product<K: Extension, A: Algebra>(f: &mut A, a: &[A::V], b: &[A::V], out: &mut [A::V]) {
    match (a, b, out) {
        (&[a0, a1], &[b0, b1], [c0, c1]) if K::DEGREE == 2 => {
            let low = f.mul(a0, b0);
            *c0 = f.combine([Goldilocks::new(7), Goldilocks::ZERO, Goldilocks::ONE], a1, b1, low);
            let cross = f.mul(a0, b1);
            *c1 = f.mul_add(a1, b0, cross);
        }
        (&[a0, a1, a2], &[b0, b1, b2], [c0, c1, c2]) if K::DEGREE == 3 => {
            // X^3 = X + 1 and X^4 = X^2 + X.
            let p0 = f.mul(a0, b0);
            let p1 = f.mul(a0, b1);
            let p1 = f.mul_add(a1, b0, p1);
            let p2 = f.mul(a0, b2);
            let p2 = f.mul_add(a1, b1, p2);
            let p2 = f.mul_add(a2, b0, p2);
            let p3 = f.mul(a1, b2);
            let p3 = f.mul_add(a2, b1, p3);
            let p4 = f.mul(a2, b2);
            *c0 = f.add(p0, p3);
            let upper = f.add(p3, p4);
            *c1 = f.add(p1, upper);
            *c2 = f.add(p2, p4);
        }
        _ => panic!("elements of K have {} coefficients", K::DEGREE),
    }
}
