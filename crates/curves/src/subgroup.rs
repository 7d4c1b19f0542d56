//! Tests which points of a curve are in the group of the scalars' order r, eight at a time.
//!
//! The endomorphism phi(x, y) = (beta x, y), with beta a cube root of 1, is a root of phi^2 + phi + 1 on the whole
//! curve. If phi(P) = m P for an integer m with m^2 + m + 1 = r, then r P = phi^2(P) + phi(P) + P = 0; and in the group
//! phi is the multiplication by lambda. So one multiplication by m = +-x^2, of half the bits of r, decides with
//! certainty. Curves of Barreto, Lynn and Scott have such an m (Scott, ePrint 2021/1130, section 6; El Housni,
//! Guillevic, Piellard, ePrint 2022/352).

use ark_ec::short_weierstrass::Affine;
use ark_ff::{AdditiveGroup, Field, PrimeField, Zero};
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::prime::{PrimeElement, PrimeLanes};
use evergrove_primitives::lanes::{Kernel, LANES, Lanes};

use super::Curve;
use super::jacobian::{Add, Double, Jacobian, Product};
use super::words::{Words, length, product, sub, words};

/// m with m^2 + m + 1 = r, such that the endomorphism multiplies by it.
#[derive(Clone, Debug)]
pub(super) struct Multiplier {
    negative: bool,
    /// Digits -1, 0 and 1 of its magnitude from the highest; of two neighbours at least one is 0.
    digits: Vec<i8>,
}

impl Multiplier {
    /// `None` if the curve has no such m.
    pub(super) fn of<C: Curve>() -> Option<Self> {
        let (lambda, order) = (words(&C::LAMBDA.into_bigint()), words(&C::ScalarField::MODULUS));
        let opposite = sub(&order, &lambda).0;
        let negative = length(&opposite) < length(&lambda);
        let m = if negative { opposite } else { lambda };
        if !C::COEFF_A.is_zero() || length(&m) > 128 {
            return None;
        }
        // m^2 + 1 as r - m or r + m.
        let rest = if negative { super::words::add(&order, &m) } else { sub(&order, &m).0 };
        let square: Words = *product(&m, &m).first_chunk().expect("four words of eight");
        (sub(&rest, &square).0 == [1, 0, 0, 0]).then(|| Self { negative, digits: naf(m) })
    }
}

/// The non-adjacent form of an integer of 128 bits, from the highest digit.
fn naf(m: Words) -> Vec<i8> {
    // Digit i is bit i + 1 of 3 m minus that of m.
    let triple = super::words::add(&m, &super::words::add(&m, &m));
    let bit = |k: &Words, at: usize| (k[at / 64] >> (at % 64) & 1) as i8;
    (1..length(&triple)).rev().map(|at| bit(&triple, at) - bit(&m, at)).collect()
}

/// The first of the points, all on the curve, that is not in the group.
pub(super) struct Outside<'a, C: Curve>(pub(super) &'a [Affine<C>], pub(super) &'a Multiplier);

impl<C: Curve> Kernel for Outside<'_, C> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<usize> {
        let Self(points, multiplier) = self;
        let f = C::BaseField::on(lanes);
        for (at, chunk) in points.chunks(LANES).enumerate() {
            let mut last = [C::GENERATOR; LANES];
            last[..chunk.len()].copy_from_slice(chunk);
            let outside = f.outline(Vector::<C>(&last, multiplier));
            if let Some(i) = (0..chunk.len()).find(|&i| outside[i]) {
                return Some(at * LANES + i);
            }
        }
        None
    }
}

/// Which of eight points are not in the group.
struct Vector<'a, C: Curve>(&'a [Affine<C>; LANES], &'a Multiplier);

impl<C: Curve, A: PrimeLanes<Element = C::BaseField>> evergrove_primitives::lanes::Body<A> for Vector<'_, C> {
    type Output = [bool; LANES];

    #[inline(always)]
    fn run(self, f: A) -> [bool; LANES] {
        let Self(points, Multiplier { negative, digits }) = self;
        let (x, y) = (f.gather(points.each_ref().map(|p| &p.x)), f.gather(points.each_ref().map(|p| &p.y)));
        let signed = [[x, y], [x, f.neg(y)]];
        let one = f.splat(&C::BaseField::ONE);
        let mut multiple = Jacobian { x, y, z: one };
        for digit in &digits[1..] {
            f.outline(Double(&mut multiple));
            if *digit != 0 {
                f.outline(Add(&mut multiple, &signed[usize::from(*digit < 0)]));
            }
        }
        // The multiple's coordinates minus those of the image, times powers of Z; the opposite where m is negative.
        let Jacobian { x: mx, y: my, z } = multiple;
        let times = |a: A::V, b: A::V| f.outline(Product(&a, &b));
        let zz = times(z, z);
        let [_, image] = signed[usize::from(*negative)];
        let dx = f.sub(mx, times(times(x, f.splat(&C::ENDO_COEFFS[0])), zz));
        let dy = f.sub(my, times(image, times(z, zz)));
        let [dx, dy, z] = [dx, dy, z].map(|v| f.to_array(v));
        core::array::from_fn(|i| {
            let zero = C::BaseField::ZERO;
            if z[i] == zero {
                // A multiple that met infinity or the point itself: the point has small order or is infinity.
                return !points[i].is_in_correct_subgroup_assuming_on_curve();
            }
            dx[i] != zero || dy[i] != zero
        })
    }
}
