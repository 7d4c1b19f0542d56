//! Sums of some of the points: scalars that are 0 or 1.

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::AdditiveGroup;
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::lanes::{Isa, Kernel, Lanes, dispatch_on};
use rayon::prelude::*;

use super::adder::{Adder, Workspace};
use super::plan::BATCH;
use super::{CheckedPoints, Curve, MsmError, check_lengths};

/// The least number of points of a task: enough for full batches.
const CHUNK: usize = 1 << 14;

/// The sum of the points whose member is set, with one addition fewer than there are such points. Its Z coordinate is
/// 1, or 0 for infinity.
///
/// # Errors
/// If the numbers of points and members differ, or exceed 2^30.
pub fn subset_sum<C: Curve>(points: CheckedPoints<'_, C>, members: &[bool]) -> Result<Projective<C>, MsmError> {
    subset_sum_on(Isa::detect(), points, members)
}

/// [`subset_sum`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn subset_sum_on<C: Curve>(
    isa: Isa,
    points: CheckedPoints<'_, C>,
    members: &[bool],
) -> Result<Projective<C>, MsmError> {
    let points = points.as_slice();
    check_lengths(points.len(), members.len())?;
    let chunk = points.len().div_ceil(rayon::current_num_threads()).max(CHUNK);
    let sums: Vec<Affine<C>> = points
        .par_chunks(chunk)
        .zip(members.par_chunks(chunk))
        .map(|(points, members)| dispatch_on(isa, Subset { points, members }))
        .collect();
    let mut sum = Projective::ZERO;
    for part in sums {
        sum += part;
    }
    Ok(Affine::from(sum).into())
}

struct Subset<'a, C: Curve> {
    points: &'a [Affine<C>],
    members: &'a [bool],
}

impl<C: Curve> Kernel for Subset<'_, C> {
    type Output = Affine<C>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Affine<C> {
        let mut memory = Workspace::default();
        let mut adder = Adder::new(C::BaseField::on(lanes), self.points, 1, BATCH, &mut memory);
        for (i, (point, member)) in self.points.iter().zip(self.members).enumerate() {
            if *member && *point != Affine::identity() {
                adder.add_point(0, i, false);
            }
        }
        let sums = adder.next(0);
        adder.sum(sums[0])
    }
}
