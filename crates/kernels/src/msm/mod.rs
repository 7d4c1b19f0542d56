//! Multi-scalar multiplication: the sum of k_i P_i over points of an elliptic curve.
//!
//! **What.** [`msm`] over any curve in short Weierstrass form whose base field has lanes, on the types of arkworks, in place:
//! G1 of BLS12-377, BLS12-381 and BN254 among others. Pippenger's algorithm: scalars are cut into signed digits by
//! [`Window`]s, the points of each digit are added up in its bucket, and the buckets are added up with their weights. All
//! of that is additions of affine points, hundreds at a time in lanes around one inversion (`batch.rs`), paired so that no
//! distribution of the digits leaves a batch empty or one addition waiting for another (`adder.rs`). Scalars of any
//! distribution cost what their digits cost: zeros nothing, small ones their few windows.
//!
//! **When.** For any number of points; fewer than 32, which fill no batch, go to ark-ec's additions in XYZZ coordinates. Work is split over the rayon pool that
//! the call runs in, and the sum is the same on every instruction set and for any number of threads.
//!
//! **Key types.** [`CheckedPoints`] says by its type that points are on the curve and in the group of the scalars' order;
//! [`Plan`] has the windows and passes as data, with what they cost.
//!
//! **Neighbours.** `evergrove_primitives::field::prime` has the arithmetic. [`reference`](mod@reference) is the textbook's double and add.

mod adder;
mod batch;
mod digits;
mod plan;
mod points;
pub mod reference;
mod subset;
mod task;

use ark_ec::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::{CurveGroup, VariableBaseMSM};
use ark_ff::{PrimeField, Zero};
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::lanes::{Isa, dispatch_on};
use rayon::prelude::*;

use adder::Workspace;
use task::Task;

pub use plan::{Expected, Pass, Plan, Window};
pub use points::{CheckedPoints, PointError, Reason};
pub use subset::{subset_sum, subset_sum_on};

/// A curve in short Weierstrass form over a prime field in lanes.
pub trait Curve: SWCurveConfig<BaseField: PrimeElement + PrimeField> {}

impl<C: SWCurveConfig<BaseField: PrimeElement + PrimeField>> Curve for C {}

/// Points that fill no batch.
const FEW: usize = 32;

/// What can't be multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MsmError {
    /// Points and scalars don't pair up.
    #[error("{points} points and {scalars} scalars: give as many of one as of the other")]
    Length {
        /// Points that were given.
        points: usize,
        /// Scalars that were given.
        scalars: usize,
    },
    /// The indices of points have 30 bits.
    #[error("{points} points: at most 2^30 are multiplied at a time; add up the sums of chunks")]
    TooMany {
        /// Points that were given.
        points: usize,
    },
}

fn check_lengths(points: usize, scalars: usize) -> Result<(), MsmError> {
    if points != scalars {
        return Err(MsmError::Length { points, scalars });
    }
    if points > batch::INDEX as usize {
        return Err(MsmError::TooMany { points });
    }
    Ok(())
}

/// The sum of `scalars[i]` times `points[i]`; infinity for none. Its Z coordinate is 1, or 0 for infinity.
///
/// About n (w + 2^c w 2.1 / n) additions of five products and a square, for w windows of c bits: see [`Plan`]. Takes 32 bytes
/// for each scalar, and some MiB for each thread.
///
/// # Errors
/// If there are not as many points as scalars, or more than 2^30.
pub fn msm<C: Curve>(points: CheckedPoints<'_, C>, scalars: &[C::ScalarField]) -> Result<Projective<C>, MsmError> {
    msm_on(Isa::detect(), points, scalars)
}

/// [`msm`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn msm_on<C: Curve>(
    isa: Isa,
    points: CheckedPoints<'_, C>,
    scalars: &[C::ScalarField],
) -> Result<Projective<C>, MsmError> {
    let points = points.as_slice();
    check_lengths(points.len(), scalars.len())?;
    if points.len() < FEW {
        let sum = <Projective<C> as VariableBaseMSM>::msm_unchecked(points, scalars);
        return Ok(sum.into_affine().into());
    }
    let (words, lengths) = digits::magnitudes(scalars, |i| points[i].x.is_zero() && points[i] == Affine::identity());
    let plan = Plan::of_lengths(&lengths, rayon::current_num_threads());
    Ok(run(isa, points, words, &plan).into())
}

/// The sum by a plan; `words` are magnitudes.
fn run<C: Curve>(isa: Isa, points: &[Affine<C>], mut words: Vec<digits::Words>, plan: &Plan) -> Affine<C> {
    digits::shift(&mut words, plan.windows());
    let words = &words;
    let part = points.len().div_ceil(plan.parts()).max(1);
    let parts = || points.chunks(part).zip(words.chunks(part));
    let passes: Vec<_> = plan.passes().iter().flat_map(|pass| parts().map(move |part| (pass, part))).collect();
    let sums: Vec<_> = passes
        .into_par_iter()
        .with_max_len(1)
        .map_init(Workspace::default, |memory, (pass, (points, scalars))| {
            let windows = plan.windows();
            dispatch_on(isa, Task { points, scalars, windows, range: pass.range(), batch: plan.batch(), memory })
        })
        .flatten_iter()
        .collect();
    task::combine(sums)
}
