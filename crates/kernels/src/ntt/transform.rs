//! The transforms: a pass of radix 2 to 16 over all rows, then passes of radix 16, depth first down to subtrees that
//! fit the cache.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::{Isa, dispatch_on};
use rayon::prelude::*;

use super::pass::{Evaluate, ForwardCopy, ForwardPass, Interpolate, InversePass, OnRows};
use super::twiddles::{Direction, Node, RADIX, Twiddles};
use super::{NttError, Row, check_rows};

/// Rows of a subtree that is transformed level by level: 256 KiB.
pub const CACHED: usize = 1 << 12;

/// Rows of each part that one task of a pass takes.
const PASS: usize = 1 << 8;

/// Evaluation on a coset: coefficients in natural order to values in bit-reversed order.
#[derive(Clone, Debug)]
pub struct Forward {
    isa: Isa,
    twiddles: Twiddles,
}

impl Forward {
    /// The transform of length 2^`log_size` on the coset `shift` H. Its tables take 2^`log_size` words.
    ///
    /// # Panics
    /// When used on a CPU that lacks the instruction set.
    pub fn on(isa: Isa, log_size: u32, shift: Goldilocks) -> Result<Self, NttError> {
        Ok(Self { isa, twiddles: Twiddles::new(isa, log_size, shift, Direction::Forward)? })
    }

    /// log2 of the length.
    pub fn log_size(&self) -> u32 {
        self.twiddles.log_size
    }

    /// The values of eight polynomials. n/2 log2 n butterflies; above [`CACHED`] rows, four levels a pass over memory.
    pub fn transform(&self, coefficients: &[Row], values: &mut [Row]) -> Result<(), NttError> {
        check_rows("coefficients", coefficients, self.twiddles.len())?;
        check_rows("values", values, self.twiddles.len())?;
        self.run(Some(coefficients), values);
        Ok(())
    }

    /// [`Forward::transform`] in place.
    pub fn transform_in_place(&self, rows: &mut [Row]) -> Result<(), NttError> {
        check_rows("rows", rows, self.twiddles.len())?;
        self.run(None, rows);
        Ok(())
    }

    fn run(&self, from: Option<&[Row]>, rows: &mut [Row]) {
        let (isa, top) = (self.isa, &self.twiddles.top[..]);
        match top.len() {
            0 => {
                if let Some(from) = from {
                    rows.copy_from_slice(from);
                }
                return;
            }
            2 => forward_pass::<2>(isa, from, rows, top),
            4 => forward_pass::<4>(isa, from, rows, top),
            8 => forward_pass::<8>(isa, from, rows, top),
            _ => forward_pass::<RADIX>(isa, from, rows, top),
        }
        children(rows, top.len(), |q, rows| descend(isa, rows, &self.twiddles.levels, q));
    }
}

/// Interpolation on a coset: values in bit-reversed order to coefficients in natural order.
#[derive(Clone, Debug)]
pub struct Inverse {
    isa: Isa,
    twiddles: Twiddles,
}

impl Inverse {
    /// The inverse of [`Forward::on`] with the same arguments.
    ///
    /// # Panics
    /// When used on a CPU that lacks the instruction set.
    pub fn on(isa: Isa, log_size: u32, shift: Goldilocks) -> Result<Self, NttError> {
        Ok(Self { isa, twiddles: Twiddles::new(isa, log_size, shift, Direction::Inverse)? })
    }

    /// The coefficients of eight polynomials from their values, in place.
    pub fn transform_in_place(&self, rows: &mut [Row]) -> Result<(), NttError> {
        check_rows("rows", rows, self.twiddles.len())?;
        let (isa, top) = (self.isa, &self.twiddles.top[..]);
        if top.is_empty() {
            return Ok(());
        }
        children(rows, top.len(), |q, rows| ascend(isa, rows, &self.twiddles.levels, q));
        match top.len() {
            2 => inverse_pass::<2>(isa, rows, top),
            4 => inverse_pass::<4>(isa, rows, top),
            8 => inverse_pass::<8>(isa, rows, top),
            _ => inverse_pass::<RADIX>(isa, rows, top),
        }
        Ok(())
    }
}

/// `f` on each of `count` equal parts of `rows`: in parallel if they are large enough.
fn children(rows: &mut [Row], count: usize, f: impl Fn(usize, &mut [Row]) + Sync) {
    let part = rows.len() / count;
    match part {
        1 => {}
        _ if rows.len() <= CACHED => rows.chunks_mut(part).enumerate().for_each(|(i, rows)| f(i, rows)),
        _ => rows.par_chunks_mut(part).enumerate().for_each(|(i, rows)| f(i, rows)),
    }
}

/// Node `q` of the first level and all below it.
fn descend(isa: Isa, rows: &mut [Row], levels: &[Vec<Node>], q: usize) {
    let Some((nodes, below)) = levels.split_first() else { return };
    if rows.len() <= CACHED {
        return dispatch_on(isa, OnRows(Evaluate { rows, levels, q }));
    }
    forward_pass::<RADIX>(isa, None, rows, &nodes[q]);
    children(rows, RADIX, |i, rows| descend(isa, rows, below, RADIX * q + i));
}

/// All below node `q` of the first level, then the node.
fn ascend(isa: Isa, rows: &mut [Row], levels: &[Vec<Node>], q: usize) {
    let Some((nodes, below)) = levels.split_first() else { return };
    if rows.len() <= CACHED {
        return dispatch_on(isa, OnRows(Interpolate { rows, levels, q }));
    }
    children(rows, RADIX, |i, rows| ascend(isa, rows, below, RADIX * q + i));
    inverse_pass::<RADIX>(isa, rows, &nodes[q]);
}

/// Cuts the N parts of `rows` into tasks: task t has piece t of every part.
fn each_task<const N: usize>(rows: &mut [Row], f: impl Fn(usize, [&mut [Row]; N]) + Sync) {
    let part = rows.len() / N;
    let mut parts = rows.chunks_exact_mut(part);
    let mut pieces: [_; N] = core::array::from_fn(|_| parts.next().expect("N parts").chunks_mut(PASS));
    let tasks = (0..part.div_ceil(PASS)).map(|_| pieces.each_mut().map(|p| p.next().expect("a piece per task")));
    if part <= PASS {
        tasks.enumerate().for_each(|(t, task)| f(t, task));
    } else {
        tasks.collect::<Vec<_>>().into_par_iter().enumerate().for_each(|(t, task)| f(t, task));
    }
}

/// One node with N children over all rows, read from `from` if there is one.
fn forward_pass<const N: usize>(isa: Isa, from: Option<&[Row]>, rows: &mut [Row], powers: &[Goldilocks]) {
    let part = rows.len() / N;
    let powers: &[Goldilocks; N] = powers.try_into().expect("a power per child");
    each_task::<N>(rows, |t, to| match from {
        Some(from) => {
            let from = core::array::from_fn(|i| &from[i * part + t * PASS..][..to[i].len()]);
            dispatch_on(isa, OnRows(ForwardCopy { from, to, powers }));
        }
        None => dispatch_on(isa, OnRows(ForwardPass { rows: to, powers })),
    });
}

fn inverse_pass<const N: usize>(isa: Isa, rows: &mut [Row], powers: &[Goldilocks]) {
    let powers: &[Goldilocks; N] = powers.try_into().expect("a power per child");
    each_task::<N>(rows, |_, rows| dispatch_on(isa, OnRows(InversePass { rows, powers })));
}
