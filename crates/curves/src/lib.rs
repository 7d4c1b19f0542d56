//! Multi-scalar multiplication: the sum of k_i P_i over points of an elliptic curve.
//!
//! **What.** [`msm`] over curves in short Weierstrass form whose base field has lanes, directly on the types of
//! arkworks: G1 of BLS12-377, BLS12-381 and BN254 among others. It is Pippenger's algorithm: scalars are cut into
//! signed digits by [`Window`]s, the points of each digit are added in its bucket, and the buckets are added with their
//! weights. All of these steps are additions of affine points, hundreds at a time in lanes around one inversion
//! (`batch.rs`), paired so that for any distribution of digits no batch is empty and no addition waits for another
//! (`adder.rs`). The cost of scalars is the cost of their digits: zeros cost nothing, small scalars only their few
//! windows.
//!
//! **When.** For any number of points. Few points, which fill no batch, are added one by one (`straus.rs`), and scalars of
//! some thousand points are halved by the endomorphism where that is cheaper (`endo.rs`). Fixed points may come with
//! multiples ([`FixedBase`]), and points that do not fit memory may come from a file ([`msm_stream_on`]). Work is split
//! over the rayon pool of the caller, and the sum is the same on every instruction set and for any number of threads.
//!
//! **Key types.** The type [`CheckedPoints`] shows that points are on the curve and in the group of the scalars' order.
//! [`Plan`] has the windows and passes as data, with their costs, and [`msm_with`] runs it.
//!
//! **Neighbours.** `evergrove_primitives::field::prime` has the arithmetic. [`reference`](mod@reference) is the
//! textbook's double-and-add.

mod adder;
mod batch;
mod buckets;
mod digits;
mod endo;
mod file;
mod fixed;
mod jacobian;
mod plan;
mod points;
pub mod reference;
mod straus;
mod stream;
mod subgroup;
mod words;

use ark_ec::scalar_mul::glv::GLVConfig;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::{PrimeField, Zero};
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::lanes::{Isa, dispatch_on};
use rayon::prelude::*;

use adder::Workspace;
use buckets::Buckets;
use endo::Halves;
use words::Words;

pub use file::{FileError, PointFile, PointWriter};
pub use fixed::FixedBase;
pub use plan::{Expected, Pass, Plan, Window};
pub use points::{CheckedPoints, PointError, Reason};
pub use stream::{Progress, StreamError, msm_stream_on};

/// A curve in short Weierstrass form over a prime field in lanes.
///
/// Of ark-ec's GLV parameters it uses those of curves with a = 0, where the endomorphism is (x, y) -> (beta x, y).
pub trait Curve: GLVConfig<BaseField: PrimeElement + PrimeField> {}

impl<C: GLVConfig<BaseField: PrimeElement + PrimeField>> Curve for C {}

/// Up to this number, points fill no batch.
const FEW: usize = 22;

/// The number of points up to which halving scalars pays off: measured, see docs/msm.md.
const HALVED: usize = 1 << 13;

/// Why a multi-scalar multiplication is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MsmError {
    /// The numbers of points and scalars differ.
    #[error("{points} points and {scalars} scalars: give as many of one as of the other")]
    Length {
        /// Points that were given.
        points: usize,
        /// Scalars that were given.
        scalars: usize,
    },
    /// There are too many points: their indices have 30 bits.
    #[error("{points} points: at most 2^30 are multiplied at a time; add up the sums of chunks")]
    TooMany {
        /// Points that were given.
        points: usize,
    },
    /// The windows of a plan do not cover all bits.
    #[error("a scalar of {longest} bits, and windows for {bits}: plan for the longest of k and r - k")]
    Plan {
        /// Bits that the windows cover.
        bits: u32,
        /// Bits of the longest magnitude: a scalar or the order minus it, whichever is smaller.
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

/// The sum of `scalars[i]` times `points[i]`; infinity for no points. Its Z coordinate is 1, or 0 for infinity.
///
/// About n (w + 2^c w 2.1 / n) additions of five products and a square, for w windows of c bits: see [`Plan`]. Takes 32 bytes
/// for each scalar, and some MiB for each thread.
///
/// # Errors
/// If the numbers of points and scalars differ, or exceed 2^30.
pub fn msm<C: Curve>(points: CheckedPoints<'_, C>, scalars: &[C::ScalarField]) -> Result<Projective<C>, MsmError> {
    msm_on(Isa::detect(), points, scalars)
}

/// [`msm`] on a given instruction set.
///
/// # Errors
/// As for [`msm`].
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
            return Ok(straus::sum(points, &words, digits::longest(&lengths), &halves));
        }
        let words = halves.split_all(&words);
        let plan = Plan::of_lengths(&digits::lengths(&words), threads);
        return Ok(run(isa, &endo::with_images(isa, points), words, &plan).into());
    }
    let plan = Plan::of_lengths(&lengths, threads);
    Ok(run(isa, points, words, &plan).into())
}

/// [`msm`] by a given plan: for example with mixed windows ([`Plan::of_widths`]).
///
/// # Errors
/// As for [`msm`], and if the plan's windows are too few for the scalars.
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
/// As for [`msm_with`].
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

/// The magnitudes of the scalars, 0 for points at infinity, and their lengths.
fn magnitudes<C: Curve>(points: &[Affine<C>], scalars: &[C::ScalarField]) -> (Vec<Words>, digits::Lengths) {
    digits::magnitudes(scalars, |i| points[i].x.is_zero() && points[i] == Affine::identity())
}

/// The sum by a plan, of magnitudes times points; the points may be followed by their multiples.
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
            dispatch_on(isa, Buckets { points, scalars, part, plan, pass, memory })
        })
        .flatten_iter()
        .collect();
    buckets::combine(sums)
}
