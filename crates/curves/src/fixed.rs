//! Sums over fixed points: precomputed multiples save windows, and the doublings between them.

use ark_ec::CurveGroup;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::{AdditiveGroup, Field, PrimeField, Zero};
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::prime::{PrimeElement, PrimeLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::jacobian::{Double, Jacobian, Product};
use super::plan::Plan;
use super::{CheckedPoints, Curve, MsmError, batch, check_lengths, magnitudes, run};

/// Points that share an inversion.
const CHUNK: usize = 1 << 10;

/// Points and their multiples by powers of two, for repeated sums with different scalars.
///
/// Let there be m multiples of each point, itself included, and let s be the number of windows divided by m. The
/// windows t, t + s, t + 2 s, .. of a scalar are then windows t of m points. So buckets are weighted only s times, and
/// wider windows pay off. n points take 2 n m coordinates of memory.
#[derive(Clone)]
pub struct FixedBase<C: Curve> {
    /// The points, followed by each further multiple of all points.
    points: Vec<Affine<C>>,
    count: usize,
    plan: Plan,
}

impl<C: Curve> core::fmt::Debug for FixedBase<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FixedBase").field("points", &self.count).field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl<C: Curve> FixedBase<C> {
    /// Computes as many multiples as fit in `budget` bytes and speed up sums; always the points themselves, and at most
    /// 2^30 in all.
    ///
    /// Takes some 40 ns for each point and each bit of the scalars, once.
    ///
    /// # Errors
    /// If there are more than 2^30 points.
    pub fn new(points: CheckedPoints<'_, C>, budget: usize) -> Result<Self, MsmError> {
        Self::new_on(Isa::detect(), points, budget)
    }

    /// [`FixedBase::new`] on a given instruction set.
    ///
    /// # Errors
    /// If there are more than 2^30 points.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn new_on(isa: Isa, points: CheckedPoints<'_, C>, budget: usize) -> Result<Self, MsmError> {
        let points = points.as_slice();
        check_lengths(points.len(), points.len())?;
        let count = points.len().max(1);
        let copies = (budget / (size_of::<Affine<C>>() * count)).min(batch::INDEX as usize / count).max(1);
        // Magnitudes are at most half the order.
        let bits = C::ScalarField::MODULUS_BIT_SIZE - 1;
        let plan = Plan::of_copies(points.len(), bits, copies, rayon::current_num_threads());
        let copies = plan.windows().len().div_ceil(plan.stride());
        let doublings = plan.windows().get(plan.stride()).map_or(0, |w| w.offset);
        let mut all = Vec::with_capacity(copies * points.len());
        all.extend_from_slice(points);
        for _ in 1..copies {
            let last = all.len() - points.len();
            all.extend_from_within(last..);
            all[last + points.len()..].par_chunks_mut(CHUNK).for_each(|points| multiply(isa, points, doublings));
        }
        Ok(Self { points: all, count: points.len(), plan })
    }

    /// The points.
    pub fn points(&self) -> &[Affine<C>] {
        &self.points[..self.count]
    }

    /// Bytes of the points and their multiples.
    pub fn bytes(&self) -> usize {
        size_of_val(self.points.as_slice())
    }

    /// The windows of a sum with scalars of full length.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The sum of `scalars[i]` times the i-th point, as for [`msm`](super::msm).
    ///
    /// # Errors
    /// If the numbers of points and scalars differ.
    pub fn msm(&self, scalars: &[C::ScalarField]) -> Result<Projective<C>, MsmError> {
        self.msm_on(Isa::detect(), scalars)
    }

    /// [`FixedBase::msm`] on a given instruction set.
    ///
    /// # Errors
    /// If the numbers of points and scalars differ.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn msm_on(&self, isa: Isa, scalars: &[C::ScalarField]) -> Result<Projective<C>, MsmError> {
        check_lengths(self.count, scalars.len())?;
        let (words, lengths) = magnitudes(self.points(), scalars);
        let plan = self.plan.shortened(&lengths, rayon::current_num_threads());
        Ok(run(isa, &self.points, words, &plan).into())
    }
}

/// Doubles at most [`CHUNK`] points several times.
fn multiply<C: Curve>(isa: Isa, points: &mut [Affine<C>], doublings: u32) {
    if C::COEFF_A.is_zero() && dispatch_on(isa, Multiply(points, doublings)) {
        return;
    }
    let mut multiples: Vec<Projective<C>> = points.iter().map(|p| (*p).into()).collect();
    for multiple in &mut multiples {
        for _ in 0..doublings {
            multiple.double_in_place();
        }
    }
    points.copy_from_slice(&Projective::normalize_batch(&multiples));
}

/// Doubles points several times, unless a multiple is infinity though its point is not; points of the group have no
/// such multiples. Returns whether it doubled them.
struct Multiply<'a, C: Curve>(&'a mut [Affine<C>], u32);

impl<C: Curve> Kernel for Multiply<'_, C> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> bool {
        let f = C::BaseField::on(lanes);
        let one = f.splat(&C::BaseField::ONE);
        let times = |a, b| f.outline(Product(&a, &b));
        let mut product = one;
        let mut multiples = Vec::with_capacity(self.0.len().div_ceil(LANES));
        for chunk in self.0.chunks(LANES) {
            // Any points instead of infinity, and instead of missing points.
            let mut last = [C::GENERATOR; LANES];
            for (last, point) in last.iter_mut().zip(chunk) {
                if *point != Affine::identity() {
                    *last = *point;
                }
            }
            let (x, y) = (f.gather(last.each_ref().map(|p| &p.x)), f.gather(last.each_ref().map(|p| &p.y)));
            let mut multiple = Jacobian { x, y, z: one };
            for _ in 0..self.1 {
                f.outline(Double(&mut multiple));
            }
            multiples.push((multiple, product));
            product = times(product, multiple.z);
        }
        let Some(mut inverse) = f.invert(product) else { return false };
        for (chunk, (multiple, before)) in self.0.chunks_mut(LANES).zip(multiples).rev() {
            let z = times(inverse, before);
            inverse = times(inverse, multiple.z);
            let zz = times(z, z);
            let x = f.to_array(times(multiple.x, zz));
            let y = f.to_array(times(multiple.y, times(zz, z)));
            for (i, point) in chunk.iter_mut().enumerate().filter(|(_, point)| **point != Affine::identity()) {
                *point = Affine::new_unchecked(x[i], y[i]);
            }
        }
        true
    }
}
