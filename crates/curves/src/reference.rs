//! The sum term by term: tests compare the kernel with it.

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::{AdditiveGroup, BigInteger, PrimeField};

use super::Curve;

/// The sum of `scalars[i]` times `points[i]`, by doubling and adding, from the highest bit of all scalars.
pub fn msm<C: Curve>(points: &[Affine<C>], scalars: &[C::ScalarField]) -> Projective<C> {
    let scalars: Vec<_> = scalars.iter().map(|k| k.into_bigint()).collect();
    let mut sum = Projective::ZERO;
    for bit in (0..C::ScalarField::MODULUS_BIT_SIZE as usize).rev() {
        sum.double_in_place();
        for (point, scalar) in points.iter().zip(&scalars) {
            if scalar.get_bit(bit) {
                sum += point;
            }
        }
    }
    sum
}
