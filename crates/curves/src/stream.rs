//! Sums over points that do not fit memory: chunk by chunk from a file. The next chunk is read while one is summed.

use core::ops::ControlFlow;
use std::io::Read;
use std::sync::mpsc::{channel, sync_channel};

use ark_ec::CurveGroup;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::AdditiveGroup;
use evergrove_primitives::lanes::Isa;

use super::words::Words;
use super::{CheckedPoints, Curve, FileError, MsmError, PointFile, msm_on};

/// The smallest chunk: fewer points fill no batches.
const LEAST: usize = 1 << 10;

/// The progress of a streamed sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Points that have been summed.
    pub done: u64,
    /// Points in all.
    pub points: u64,
}

/// Why a sum could not be streamed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The points could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The points could not be multiplied.
    #[error(transparent)]
    Msm(#[from] MsmError),
    /// The caller stopped the sum.
    #[error("stopped after {done} of {points} points, as the caller asked")]
    Stopped {
        /// Points that had been summed.
        done: u64,
        /// Points in all.
        points: u64,
    },
}

/// The sum of `scalars[i]` times the file's i-th point, in chunks that take `memory` bytes in addition to the scalars,
/// on a given instruction set.
///
/// `memory` holds two chunks of points and the digits of one; it is at least enough for 2^10 points. Buckets take some
/// MiB more for each thread. Chunks of 2^20 points cost 6 % more than one sum, chunks of 2^22 cost 2 %. One thread in
/// addition to the pool's threads reads. `progress` is called after every chunk, and may stop the sum.
///
/// # Errors
/// If the numbers of points and scalars differ, if the file cannot be read or a point is invalid, or if `progress`
/// breaks.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn msm_stream_on<C: Curve, R: Read + Send>(
    isa: Isa,
    mut file: PointFile<R, C>,
    scalars: &[C::ScalarField],
    memory: usize,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Projective<C>, StreamError> {
    let points = file.len();
    if points != scalars.len() as u64 {
        return Err(MsmError::Length { points: points as usize, scalars: scalars.len() }.into());
    }
    let most = (memory / (2 * size_of::<Affine<C>>() + size_of::<Words>())).clamp(LEAST, super::batch::INDEX as usize);
    // Chunks of equal sizes.
    let chunk = scalars.len().div_ceil(scalars.len().div_ceil(most).max(1)).max(1);
    std::thread::scope(|scope| {
        let (filled, chunks) = sync_channel(0);
        let (emptied, buffers) = channel();
        for _ in 0..2 {
            emptied.send(Vec::new()).expect("the receiver is here");
        }
        scope.spawn(move || {
            for _ in 0..scalars.len().div_ceil(chunk) {
                // The other side hangs up once it has failed or was stopped.
                let Ok(mut buffer) = buffers.recv() else { return };
                let read = file.next(chunk, &mut buffer).map(|()| buffer);
                let failed = read.is_err();
                if filled.send(read).is_err() || failed {
                    return;
                }
            }
        });
        let (mut sum, mut done) = (Projective::ZERO, 0);
        for scalars in scalars.chunks(chunk) {
            let points_of_chunk = chunks.recv().expect("a chunk or an error for each")?;
            sum += msm_on(isa, CheckedPoints::trusted(&points_of_chunk), scalars)?;
            // The reader may have ended.
            let _ = emptied.send(points_of_chunk);
            done += scalars.len() as u64;
            if progress(Progress { done, points }).is_break() {
                return Err(StreamError::Stopped { done, points });
            }
        }
        Ok(sum.into_affine().into())
    })
}
