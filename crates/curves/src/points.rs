//! Points that are known to be valid for a multi-scalar multiplication.

use ark_ec::short_weierstrass::Affine;
use ark_ff::{AdditiveGroup, Zero};
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::prime::{PrimeElement, PrimeLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::Curve;
use super::subgroup::{Multiplier, Outside};

/// Points that a thread takes at a time.
const CHUNK: usize = 1 << 10;

/// Points on the curve, in the subgroup of the scalars' order, or infinity; with canonical coordinates.
///
/// Points off the curve give a meaningless sum, and do no other harm. Coordinates that are not canonical may also
/// overflow, which panics where overflow checks are enabled.
pub struct CheckedPoints<'a, C: Curve>(&'a [Affine<C>]);

impl<C: Curve> core::fmt::Debug for CheckedPoints<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("CheckedPoints").field(&self.0).finish()
    }
}

impl<C: Curve> Clone for CheckedPoints<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Curve> Copy for CheckedPoints<'_, C> {}

/// Why a point is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A coordinate is not canonical.
    Coordinate,
    /// y^2 is not x^3 + a x + b.
    NotOnCurve,
    /// The scalars' order times the point is not infinity.
    NotInSubgroup,
}

impl core::fmt::Display for Reason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Coordinate => "has a coordinate that is not below the modulus",
            Self::NotOnCurve => "is not on the curve",
            Self::NotInSubgroup => "is on the curve, but not in the subgroup of the scalars' order",
        })
    }
}

/// The first invalid point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("point {index} {reason}: leave it out, or ask where it came from")]
pub struct PointError {
    /// Its index.
    pub index: usize,
    /// The reason.
    pub reason: Reason,
}

impl<'a, C: Curve> CheckedPoints<'a, C> {
    /// Checks every point, in lanes: the equation of the curve in some nanoseconds each. If the cofactor is not 1, it
    /// also checks the subgroup by a multiplication of half the order's bits, in some microseconds each (by ark-ec's
    /// rule for curves other than those of Barreto, Lynn and Scott).
    ///
    /// # Errors
    /// The first invalid point.
    pub fn new(points: &'a [Affine<C>]) -> Result<Self, PointError> {
        Self::new_on(Isa::detect(), points)
    }

    /// [`CheckedPoints::new`] on a given instruction set.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn new_on(isa: Isa, points: &'a [Affine<C>]) -> Result<Self, PointError> {
        let multiplier = Multiplier::of::<C>();
        let chunk = |(at, points): (usize, &[Affine<C>])| {
            let bad = |i: usize, reason| PointError { index: at * CHUNK + i, reason };
            let canonical = |p: &Affine<C>| p.x.is_canonical() && p.y.is_canonical();
            if let Some(i) = points.iter().position(|p| !canonical(p)) {
                return Err(bad(i, Reason::Coordinate));
            }
            if let Some(i) = dispatch_on(isa, OffCurve(points)) {
                return Err(bad(i, Reason::NotOnCurve));
            }
            let outside = match &multiplier {
                _ if C::cofactor_is_one() => None,
                Some(multiplier) => dispatch_on(isa, Outside(points, multiplier)),
                None => points.iter().position(|p| !p.is_in_correct_subgroup_assuming_on_curve()),
            };
            outside.map_or(Ok(()), |i| Err(bad(i, Reason::NotInSubgroup)))
        };
        // The first of several is reported, whichever thread finds one first.
        let first = points.par_chunks(CHUNK).enumerate().filter_map(|c| chunk(c).err()).min_by_key(|e| e.index);
        first.map_or(Ok(Self(points)), Err)
    }

    /// Points that the caller vouches for: for example, of a trusted setup that was checked once.
    pub fn trusted(points: &'a [Affine<C>]) -> Self {
        Self(points)
    }

    /// The points.
    pub fn as_slice(self) -> &'a [Affine<C>] {
        self.0
    }
}

/// The first of the points that is neither on the curve nor infinity.
struct OffCurve<'a, C: Curve>(&'a [Affine<C>]);

impl<C: Curve> Kernel for OffCurve<'_, C> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<usize> {
        let f = C::BaseField::on(lanes);
        let (a, b) = (f.splat(&C::COEFF_A), f.splat(&C::COEFF_B));
        let mut last = [Affine::<C>::identity(); LANES];
        for (at, chunk) in self.0.chunks(LANES).enumerate() {
            last[..chunk.len()].copy_from_slice(chunk);
            last[chunk.len()..].fill(Affine::identity());
            let (x, y) = (f.gather(last.each_ref().map(|p| &p.x)), f.gather(last.each_ref().map(|p| &p.y)));
            let mut right = f.square(x);
            if !C::COEFF_A.is_zero() {
                right = f.add(right, a);
            }
            let difference = f.to_array(f.sub_sum(f.square(y), f.mul(right, x), b));
            let off = |i: &usize| difference[*i] != C::BaseField::ZERO && last[*i] != Affine::identity();
            if let Some(i) = (0..chunk.len()).find(off) {
                return Some(at * LANES + i);
            }
        }
        None
    }
}

const _: () = assert!(CHUNK.is_multiple_of(LANES));
