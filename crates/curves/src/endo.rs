//! The endomorphism (x, y) -> (beta x, y) of a curve with a = 0: it multiplies points of the group by lambda.
//!
//! A scalar k is k_1 + lambda k_2 with halves of half its length (Gallant, Lambert, Vanstone, CRYPTO 2001): with the rows
//! (n_11, n_12), (n_21, n_22) of short vectors of the lattice of all (u, v) with u + lambda v = 0,
//! (k_1, k_2) = (k, 0) - b_1 (n_11, n_12) - b_2 (n_21, n_22) for the integers b_1, b_2 next to k n_22 / r and -k n_12 / r.

use ark_ec::short_weierstrass::Affine;
use ark_ff::{PrimeField, Zero};
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::Curve;
use super::words::{SIGN, Words, add, length, product, product_low, sub, words};

/// Bits after the binary point of [`Quotient`].
const FRACTION: usize = 320;

/// Scalars or points that a thread takes at a time.
const CHUNK: usize = 1 << 12;

/// A signed integer: negative, and its magnitude.
type Signed = (bool, Words);

/// n / r as a fraction, for multiplying scalars.
#[derive(Clone, Copy, Debug)]
struct Quotient {
    negative: bool,
    /// The fraction times 2^[`FRACTION`], rounded down.
    value: Words,
}

impl Quotient {
    /// By long division, bit by bit: less than a microsecond.
    fn new((negative, n): Signed, order: &Words) -> Self {
        let (mut rest, mut value) = (n, [0; 4]);
        let skipped = (length(order) - 1).saturating_sub(length(&n));
        for _ in 0..skipped {
            rest = add(&rest, &rest);
        }
        for _ in skipped..FRACTION {
            rest = add(&rest, &rest);
            value = add(&value, &value);
            let (less, greater) = sub(&rest, order);
            if !greater {
                rest = less;
                value[0] |= 1;
            }
        }
        Self { negative, value }
    }

    /// The magnitude of the integer nearest to k n / r; 0 in words that the product does not reach.
    #[inline(always)]
    fn times(&self, k: &Words) -> Words {
        let wide = product(k, &self.value);
        // The bit below the point rounds.
        add(&[wide[5], wide[6], wide[7], 0], &[wide[4] >> 63, 0, 0, 0])
    }
}

/// How scalars are halved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halves {
    /// n_11, n_12, n_21, n_22.
    vectors: [Signed; 4],
    quotients: [Quotient; 2],
}

impl Halves {
    /// For the scalars of a curve: halves below 2^127, by a curve with a = 0.
    pub(super) fn of<C: Curve>() -> Option<Self> {
        let vectors = C::SCALAR_DECOMP_COEFFS.map(|(positive, n)| (!positive, words(&n)));
        let [(_, n11), (negative, n12), (_, n21), (n22_negative, n22)] = vectors;
        // A half is at most the sum of both vectors, plus the rounding error.
        let short = |a: &Words, b: &Words| length(&add(&add(a, b), &[2, 0, 0, 0])) <= 128;
        if !C::COEFF_A.is_zero() || !short(&n11, &n21) || !short(&n12, &n22) {
            return None;
        }
        let order = words(&C::ScalarField::MODULUS);
        let quotients = [Quotient::new((n22_negative, n22), &order), Quotient::new((!negative, n12), &order)];
        Some(Self { vectors, quotients })
    }

    /// The halves of a magnitude, each with its sign.
    #[inline(always)]
    pub(super) fn split(&self, k: &Words) -> [Words; 2] {
        let sign = k[3] & SIGN;
        let k = [k[0], k[1], k[2], k[3] ^ sign];
        let multiples = self.quotients.map(|q| (q.negative, q.times(&k)));
        let [n11, n12, n21, n22] = &self.vectors;
        let half = |mut rest: Words, column: [&Signed; 2]| {
            for ((negative, b), (n_negative, n)) in multiples.iter().zip(column) {
                let product = product_low(b, n);
                rest = if negative == n_negative { sub(&rest, &product).0 } else { add(&rest, &product) };
            }
            let negative = rest[3] & SIGN;
            if negative != 0 {
                rest = sub(&[0; 4], &rest).0;
            }
            rest[3] |= negative ^ sign;
            rest
        };
        [half(k, [n11, n21]), half([0; 4], [n12, n22])]
    }

    /// The first halves of all magnitudes, then the second.
    pub(super) fn split_all(&self, magnitudes: &[Words]) -> Vec<Words> {
        let mut out = vec![[0; 4]; 2 * magnitudes.len()];
        let (first, second) = out.split_at_mut(magnitudes.len());
        let chunks = first.par_chunks_mut(CHUNK).zip(second.par_chunks_mut(CHUNK)).zip(magnitudes.par_chunks(CHUNK));
        chunks.for_each(|((first, second), magnitudes)| {
            for ((first, second), k) in first.iter_mut().zip(second).zip(magnitudes) {
                [*first, *second] = self.split(k);
            }
        });
        out
    }
}

/// The points, followed by their images.
pub(super) fn with_images<C: Curve>(isa: Isa, points: &[Affine<C>]) -> Vec<Affine<C>> {
    let mut out = [points, points].concat();
    out[points.len()..].par_chunks_mut(CHUNK).for_each(|points| dispatch_on(isa, Images(points)));
    out
}

/// Replaces points by their images.
struct Images<'a, C: Curve>(&'a mut [Affine<C>]);

impl<C: Curve> Kernel for Images<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = C::BaseField::on(lanes);
        let beta = f.factor(&C::ENDO_COEFFS[0]);
        let (vectors, rest) = self.0.as_chunks_mut::<LANES>();
        for [a, b, c, d, e, g, h, i] in vectors {
            let x = f.gather([&a.x, &b.x, &c.x, &d.x, &e.x, &g.x, &h.x, &i.x]);
            let image = f.scale(x.into(), beta);
            f.scatter(image, [&mut a.x, &mut b.x, &mut c.x, &mut d.x, &mut e.x, &mut g.x, &mut h.x, &mut i.x]);
        }
        for point in rest {
            point.x *= C::ENDO_COEFFS[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ark_ec::{AffineRepr, CurveGroup};
    use ark_ff::{BigInt, UniformRand};
    use evergrove_primitives::lanes::available;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn signed<F: PrimeField>(k: &Words) -> F {
        let magnitude = [k[0], k[1], k[2], k[3] & !SIGN];
        let value = magnitude.iter().rev().fold(F::ZERO, |sum, w| sum * F::from(2u64).pow([64]) + F::from(*w));
        if k[3] & SIGN != 0 { -value } else { value }
    }

    fn scalars_halve<C: Curve<ScalarField: PrimeField<BigInt = BigInt<4>>>>() {
        let halves = Halves::of::<C>().expect("short vectors");
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let order = C::ScalarField::MODULUS.0;
        let half = C::ScalarField::MODULUS_MINUS_ONE_DIV_TWO.0;
        let ends = [[0; 4], [1, 0, 0, 0], [u64::MAX, 0, 0, 0], half, sub(&half, &[1, 0, 0, 0]).0];
        let random = (0..2000).map(|_| words(&C::ScalarField::rand(&mut rng).into_bigint()));
        for k in ends.into_iter().chain(random) {
            // Magnitudes are at most half the order.
            let k = if sub(&half, &k).1 { sub(&order, &k).0 } else { k };
            for sign in [0, SIGN] {
                let k = [k[0], k[1], k[2], k[3] | sign];
                let [first, second] = halves.split(&k);
                let sum = signed::<C::ScalarField>(&first) + C::LAMBDA * signed::<C::ScalarField>(&second);
                assert_eq!(sum, signed(&k));
                for half in [first, second] {
                    assert!(length(&[half[0], half[1], half[2], half[3] & !SIGN]) < 128, "{k:x?}: {half:x?}");
                }
            }
        }
        let small = [u64::MAX, 12345, 0, SIGN];
        assert_eq!(halves.split(&small), [small, [0, 0, 0, halves.split(&small)[1][3] & SIGN]]);
    }

    fn images_are_multiples<C: Curve>() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut points: Vec<Affine<C>> =
            (0..19).map(|_| (Affine::<C>::generator() * C::ScalarField::rand(&mut rng)).into_affine()).collect();
        points[3] = Affine::identity();
        for isa in available() {
            let both = with_images(isa, &points);
            for (point, image) in points.iter().zip(&both[points.len()..]) {
                assert_eq!((*point * C::LAMBDA).into_affine(), *image, "{isa}");
            }
        }
    }

    #[test]
    fn halves_add_up_and_are_short() {
        scalars_halve::<ark_bls12_377::g1::Config>();
        scalars_halve::<ark_bls12_381::g1::Config>();
        scalars_halve::<ark_bn254::g1::Config>();
    }

    #[test]
    fn images_are_the_points_times_lambda() {
        images_are_multiples::<ark_bls12_377::g1::Config>();
        images_are_multiples::<ark_bls12_381::g1::Config>();
        images_are_multiples::<ark_bn254::g1::Config>();
    }
}
