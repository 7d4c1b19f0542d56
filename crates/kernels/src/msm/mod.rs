//! Multi-scalar multiplication: the sum of k_i P_i over points of an elliptic curve.
//!
//! **What.** [`msm`] over curves in short Weierstrass form whose base field has lanes, on the types of arkworks, in place: G1 of
//! BLS12-377, BLS12-381 and BN254 among others. Pippenger's algorithm: scalars are cut into signed digits by
//! [`Window`]s, the points of each digit are added up in its bucket, and the buckets are added up with their weights. All
//! of that is additions of affine points, hundreds at a time in lanes around one inversion (`batch.rs`), paired so that no
//! distribution of the digits leaves a batch empty or one addition waiting for another (`adder.rs`). Scalars of any
//! distribution cost what their digits cost: zeros nothing, small ones their few windows.
//!
//! **When.** For any number of points. Few, which fill no batch, are added up one by one (`few.rs`), and scalars of some
//! thousand points are halved by the endomorphism where that is cheaper (`endo.rs`). Points that stay the same may come with
//! multiples ([`FixedBase`]), those that don't fit memory from a file ([`msm_stream`]). Work is split over the rayon pool that
//! the call runs in, and the sum is the same on every instruction set and for any number of threads.
//!
//! **Key types.** [`CheckedPoints`] says by its type that points are on the curve and in the group of the scalars' order;
//! [`Plan`] has the windows and passes as data, with what they cost, and [`msm_with`] runs it.
//!
//! **Neighbours.** `evergrove_primitives::field::prime` has the arithmetic. [`reference`](mod@reference) is the textbook's double and add.

mod adder;
mod batch;
mod digits;
mod endo;
mod few;
mod file;
mod fixed;
mod jacobian;
mod plan;
mod points;
pub mod reference;
mod stream;
mod subgroup;
mod subset;
mod task;
mod words;

use ark_ec::scalar_mul::glv::GLVConfig;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::{PrimeField, Zero};
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::lanes::{Isa, dispatch_on};
use rayon::prelude::*;

use adder::Workspace;
use endo::Halves;
use task::Task;
use words::Words;

pub use file::{FileError, PointFile, PointWriter};
pub use fixed::FixedBase;
pub use plan::{Expected, Pass, Plan, Window};
pub use points::{CheckedPoints, PointError, Reason};
pub use stream::{Progress, StreamError, msm_stream, msm_stream_on};
pub use subset::{subset_sum, subset_sum_on};

/// A curve in short Weierstrass form over a prime field in lanes.
///
/// Of what ark-ec calls its GLV parameters, those of curves with a = 0 are used, where the endomorphism is (x, y) -> (beta x, y).
pub trait Curve: GLVConfig<BaseField: PrimeElement + PrimeField> {}

impl<C: GLVConfig<BaseField: PrimeElement + PrimeField>> Curve for C {}

/// Points that fill no batch.
const FEW: usize = 22;

/// Points up to which it pays to halve scalars: measured, see docs/msm.md.
const HALVED: usize = 1 << 13;

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
    /// A plan that leaves bits out.
    #[error("a scalar of {longest} bits, and windows for {bits}: plan for the longest of k and r - k")]
    Plan {
        /// Bits that the windows take.
        bits: u32,
        /// Bits of the longest scalar, or of the order less it, whichever is less.
        longest: u32,
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
/// # Errors
/// As of [`msm`].
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
    let threads = rayon::current_num_threads();
    let (words, lengths) = magnitudes(points, scalars);
    if let Some(halves) = Halves::of::<C>().filter(|_| points.len() <= HALVED) {
        if points.len() < FEW {
            return Ok(few::sum(points, &words, digits::longest(&lengths), &halves));
        }
        let words = halves.split_all(&words);
        let plan = Plan::of_lengths(&digits::lengths(&words), threads);
        return Ok(run(isa, &endo::with_images(isa, points), words, &plan).into());
    }
    let plan = Plan::of_lengths(&lengths, threads);
    Ok(run(isa, points, words, &plan).into())
}

/// [`msm`] by a given plan: of mixed windows ([`Plan::of_widths`]), say.
///
/// # Errors
/// As of [`msm`], and if the plan's windows are too few for the scalars.
pub fn msm_with<C: Curve>(
    plan: &Plan,
    points: CheckedPoints<'_, C>,
    scalars: &[C::ScalarField],
) -> Result<Projective<C>, MsmError> {
    msm_with_on(Isa::detect(), plan, points, scalars)
}

/// [`msm_with`] on a given instruction set.
///
/// # Errors
/// As of [`msm_with`].
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn msm_with_on<C: Curve>(
    isa: Isa,
    plan: &Plan,
    points: CheckedPoints<'_, C>,
    scalars: &[C::ScalarField],
) -> Result<Projective<C>, MsmError> {
    let points = points.as_slice();
    check_lengths(points.len(), scalars.len())?;
    let (words, lengths) = magnitudes(points, scalars);
    let longest = digits::longest(&lengths);
    if longest > plan.bits() {
        return Err(MsmError::Plan { bits: plan.bits(), longest });
    }
    Ok(run(isa, points, words, plan).into())
}

/// The magnitudes of the scalars, those of points at infinity as 0, and their lengths.
fn magnitudes<C: Curve>(points: &[Affine<C>], scalars: &[C::ScalarField]) -> (Vec<Words>, digits::Lengths) {
    digits::magnitudes(scalars, |i| points[i].x.is_zero() && points[i] == Affine::identity())
}

/// The sum by a plan, of magnitudes times points; behind all points there may be their multiples.
fn run<C: Curve>(isa: Isa, points: &[Affine<C>], mut words: Vec<Words>, plan: &Plan) -> Affine<C> {
    digits::shift(&mut words, plan.windows());
    let scalars = words.as_slice();
    let part = scalars.len().div_ceil(plan.parts()).max(1);
    let parts = || (0..scalars.len()).step_by(part).map(|first| first..scalars.len().min(first + part));
    let tasks: Vec<_> = plan.passes().iter().flat_map(|pass| parts().map(move |part| (*pass, part))).collect();
    let sums: Vec<_> = tasks
        .into_par_iter()
        .with_max_len(1)
        .map_init(Workspace::default, |memory, (pass, part)| {
            dispatch_on(isa, Task { points, scalars, part, plan, pass, memory })
        })
        .flatten_iter()
        .collect();
    task::combine(sums)
}
