//! A matrix column by column, into groups of eight interleaved columns and back.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::{NttError, Row, ZERO_ROW, check_rows, groups, reverse};

/// The order of rows in a group. In columns, rows are in natural order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row k is row k.
    Natural,
    /// Row k is the row whose index has the bits of k reversed.
    BitReversed,
}

/// Elements of a column that one task takes.
const TASK: usize = 1 << 12;

/// Moves `columns` of 2^k elements each to `groups(columns.len())` groups of 2^k rows, one after the other.
///
/// Columns that fill up the last group become zeros.
pub fn gather<C: AsRef<[Goldilocks]> + Sync>(columns: &[C], order: Order, rows: &mut [Row]) -> Result<(), NttError> {
    gather_on(Isa::detect(), columns, order, rows)
}

/// [`gather`] with another instruction set than the best, for tests and comparisons.
///
/// # Panics
/// If this CPU lacks it.
pub fn gather_on<C: AsRef<[Goldilocks]> + Sync>(
    isa: Isa,
    columns: &[C],
    order: Order,
    rows: &mut [Row],
) -> Result<(), NttError> {
    let columns: Vec<&[Goldilocks]> = columns.iter().map(AsRef::as_ref).collect();
    let n = check(columns.iter().map(|c| c.len()))?;
    check_rows("groups", rows, groups(columns.len()) * n)?;
    if n == 0 {
        return Ok(());
    }
    rows.par_chunks_mut(n).zip(columns.par_chunks(LANES)).for_each(|(rows, columns)| {
        if n < LANES {
            for (k, row) in rows.iter_mut().enumerate() {
                let k = order.source(k, n);
                *row = core::array::from_fn(|c| columns.get(c).map_or(Goldilocks::ZERO, |column| column[k]));
            }
            return;
        }
        match order {
            Order::Natural => rows.par_chunks_mut(TASK).enumerate().for_each(|(t, rows)| {
                dispatch_on(isa, Gather { columns, first: t * TASK, rows });
            }),
            Order::BitReversed => {
                let Tasks { tasks, middle_bits } = Tasks::new(rows);
                tasks.into_par_iter().for_each(|(tiles, middle)| {
                    dispatch_on(isa, GatherReversed { columns, tiles, middle, middle_bits });
                });
            }
        }
    });
    Ok(())
}

/// Groups to columns: the inverse of [`gather`]. The columns that fill up the last group are dropped.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn scatter_on<C: AsMut<[Goldilocks]>>(
    isa: Isa,
    rows: &[Row],
    order: Order,
    columns: &mut [C],
) -> Result<(), NttError> {
    let mut columns: Vec<&mut [Goldilocks]> = columns.iter_mut().map(AsMut::as_mut).collect();
    let n = check(columns.iter().map(|c| c.len()))?;
    check_rows("groups", rows, groups(columns.len()) * n)?;
    if n == 0 {
        return Ok(());
    }
    rows.par_chunks(n).zip(columns.par_chunks_mut(LANES)).for_each(|(rows, columns)| {
        if n < LANES {
            for (c, column) in columns.iter_mut().enumerate() {
                for (k, x) in column.iter_mut().enumerate() {
                    *x = rows[order.source(k, n)][c];
                }
            }
            return;
        }
        let mut pieces: Vec<_> = columns.iter_mut().map(|column| column.chunks_mut(TASK)).collect();
        let tasks: Vec<Vec<&mut [Goldilocks]>> = (0..n.div_ceil(TASK))
            .map(|_| pieces.iter_mut().map(|p| p.next().expect("a piece per task")).collect())
            .collect();
        tasks.into_par_iter().enumerate().for_each(|(t, columns)| {
            dispatch_on(isa, Scatter { rows, order, first: t * TASK, columns });
        });
    });
    Ok(())
}

impl Order {
    /// The index of row `k` of `n` in the other order. Its own inverse.
    fn source(self, k: usize, n: usize) -> usize {
        match self {
            Self::Natural => k,
            Self::BitReversed => reverse(k, n.ilog2()),
        }
    }
}

/// The common length of all columns, a power of two or zero.
fn check(mut lengths: impl Iterator<Item = usize>) -> Result<usize, NttError> {
    let Some(n) = lengths.next() else { return Ok(0) };
    if !n.is_power_of_two() {
        return Err(NttError::RowCount { rows: n });
    }
    match lengths.enumerate().find(|(_, found)| *found != n) {
        Some((i, found)) => Err(NttError::Column { column: i + 1, found, expected: n }),
        None => Ok(n),
    }
}

/// Rows of a tile: a page of 4 KiB.
const TILE: usize = 64;

/// The eighths of a group, cut into tiles, and the tiles grouped into tasks.
///
/// Row j of an eighth comes from the elements 8 rev(j) to 8 rev(j) + 7 of the columns. A task has the rows with given
/// middle bits: its tiles are as many pages of every eighth and of every column, and it processes all of each page.
struct Tasks<'a> {
    /// The tiles of every eighth, in ascending order, and the middle bits.
    tasks: Vec<([Vec<&'a mut [Row]>; LANES], usize)>,
    middle_bits: u32,
}

impl<'a> Tasks<'a> {
    fn new(rows: &'a mut [Row]) -> Self {
        let part = rows.len() / LANES;
        let tiles = part.div_ceil(TILE);
        let middle_bits = (tiles / TILE).checked_ilog2().unwrap_or(0);
        let mut tasks: Vec<_> = (0..1 << middle_bits).map(|middle| (<[Vec<_>; LANES]>::default(), middle)).collect();
        for (i, part) in rows.chunks_exact_mut(part).enumerate() {
            for (c, tile) in part.chunks_mut(TILE).enumerate() {
                tasks[c % (1 << middle_bits)].0[i].push(tile);
            }
        }
        Self { tasks, middle_bits }
    }
}

/// Rows `first` to `first + 7` of at most eight columns.
#[inline(always)]
fn load_square<L: Lanes>(f: GoldilocksLanes<L>, columns: &[&[Goldilocks]], first: usize) -> [Canonical<L::V>; LANES] {
    let mut square = [f.load(&ZERO_ROW); LANES];
    for (x, column) in square.iter_mut().zip(columns) {
        *x = f.load(column[first..].first_chunk().expect("columns of a multiple of eight elements"));
    }
    f.transpose(square)
}

struct Gather<'a> {
    columns: &'a [&'a [Goldilocks]],
    first: usize,
    rows: &'a mut [Row],
}

impl Kernel for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for (i, rows) in self.rows.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            for (x, row) in load_square(f, self.columns, self.first + LANES * i).into_iter().zip(rows) {
                f.store(x, row);
            }
        }
    }
}

/// A task of [`Tasks`]. Eight neighbours of a column go to the same row of the eighths.
struct GatherReversed<'a> {
    columns: &'a [&'a [Goldilocks]],
    tiles: [Vec<&'a mut [Row]>; LANES],
    middle: usize,
    middle_bits: u32,
}

impl Kernel for GatherReversed<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { columns, mut tiles, middle, middle_bits } = self;
        let bits = columns[0].len().ilog2() - LANES.ilog2();
        let (count, len) = (tiles[0].len(), tiles[0][0].len());
        for k in 0..count * len {
            let (high, low) = (k >> len.ilog2(), k & (len - 1));
            let j = ((high << middle_bits) + middle) * TILE + low;
            let square = load_square(f, columns, LANES * reverse(j, bits));
            for (i, x) in square.into_iter().enumerate() {
                f.store(x, &mut tiles[reverse(i, LANES.ilog2())][high][low]);
            }
        }
    }
}

/// Elements from `first` on of at most eight columns.
struct Scatter<'a> {
    rows: &'a [Row],
    order: Order,
    first: usize,
    columns: Vec<&'a mut [Goldilocks]>,
}

impl Kernel for Scatter<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { rows, order, first, mut columns } = self;
        let eighth = rows.len() / LANES;
        for start in (0..columns[0].len()).step_by(LANES) {
            let mut square = [f.load(&ZERO_ROW); LANES];
            for (i, x) in square.iter_mut().enumerate() {
                let at = match order {
                    Order::Natural => first + start + i,
                    Order::BitReversed => {
                        eighth * reverse(i, LANES.ilog2()) + reverse((first + start) / LANES, eighth.ilog2())
                    }
                };
                *x = f.load(&rows[at]);
            }
            for (x, column) in f.transpose(square).into_iter().zip(&mut columns) {
                f.store(x, column[start..].first_chunk_mut().expect("columns of a multiple of eight elements"));
            }
        }
    }
}
