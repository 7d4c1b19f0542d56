//! The permutation argument: Z and its partial products.
//!
//! With f_j = w_j + beta k_j x + gamma and g_j = w_j + beta sigma_j + gamma for the routed wires of a row, taken in
//! chunks, Z(g x) = Z(x) prod f_j / g_j, and there is a partial product after every chunk except the last.

use anyhow::ensure;
use evergrove_kernels::ntt::{Row, ZERO_ROW};
use evergrove_kernels::oracle::Workspace;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes, Loose};
use evergrove_primitives::lanes::{Kernel, LANES, Lanes, dispatch_on};
use plonky2::field::types::{Field, PrimeField64};
use rayon::prelude::*;

use super::F;
use super::tables::Tables;
use super::transcript::Transcript;
use crate::circuit::{from_plonky, to_plonky};

/// Vectors of rows that share one inversion.
const TASK: usize = 32;

/// The challenges of the argument.
pub(super) struct Challenges {
    pub(super) betas: Vec<Goldilocks>,
    pub(super) gammas: Vec<Goldilocks>,
    /// beta k_j, by challenge and routed wire.
    pub(super) identities: Vec<Vec<Goldilocks>>,
}

impl Challenges {
    pub(super) fn new(tables: &Tables, transcript: &mut Transcript) -> Self {
        let [betas, gammas] = [0, 1].map(|_| transcript.challenges(tables.challenges));
        let identities = betas.iter().map(|beta| tables.k_is.iter().map(|k| *k * *beta).collect()).collect();
        Self { betas, gammas, identities }
    }
}

/// Writes the values of Z and partial products into `zs`, from the wires' values, in groups; both in bit-reversed order.
///
/// # Errors
/// When Z does not close: the wires do not obey the copy constraints. When a denominator is zero, which happens for one in
/// 2^40 challenges.
pub(super) fn fill(
    tables: &Tables,
    sigmas: &[Vec<F>],
    wires: &[Row],
    challenges: &Challenges,
    zs: &mut Workspace,
) -> anyhow::Result<()> {
    let (n, nc) = (tables.size(), tables.challenges);
    let columns = zs.columns().next_multiple_of(LANES);
    // Column by column, eight rows at a time.
    let mut quotients = vec![ZERO_ROW; n / LANES * columns];
    let mut totals = vec![ZERO_ROW; n / LANES * nc];
    let tasks = quotients.par_chunks_mut(TASK * columns).zip(totals.par_chunks_mut(TASK * nc)).enumerate();
    let invertible = tasks.map(|(task, (quotients, totals))| {
        let first = task * TASK;
        dispatch_on(tables.isa, Quotients { tables, sigmas, wires, challenges, first, quotients, totals, columns })
    });
    ensure!(invertible.reduce(|| true, |a, b| a && b), "a denominator of Z is zero");
    for c in 0..nc {
        accumulate(tables, c, &mut totals)?;
    }
    quotients.par_chunks_mut(TASK * columns).zip(totals.par_chunks(TASK * nc)).for_each(|(columns_of, starts)| {
        dispatch_on(tables.isa, Partials { tables, starts, columns_of, columns });
    });
    let quotients = &quotients;
    zs.coefficients_mut().par_chunks_mut(n).enumerate().for_each(|(group, rows)| {
        dispatch_on(tables.isa, Transpose { from: quotients, columns, group, rows });
    });
    Ok(())
}

/// Replaces the products of rows by those of all earlier rows.
fn accumulate(tables: &Tables, challenge: usize, totals: &mut [Row]) -> anyhow::Result<()> {
    let n = tables.size();
    let shift = usize::BITS - n.ilog2();
    let mut z = F::ONE;
    for i in 0..n {
        let position = i.reverse_bits() >> shift;
        let total = &mut totals[position / LANES * tables.challenges + challenge][position % LANES];
        let product = z * to_plonky(*total);
        *total = from_plonky(z);
        z = product;
    }
    ensure!(z == F::ONE, "Z does not close: wires that are connected differ");
    Ok(())
}

struct Quotients<'a> {
    tables: &'a Tables,
    sigmas: &'a [Vec<F>],
    wires: &'a [Row],
    challenges: &'a Challenges,
    /// The first vector of rows.
    first: usize,
    quotients: &'a mut [Row],
    totals: &'a mut [Row],
    columns: usize,
}

/// beta s + w, where w includes gamma.
#[inline(always)]
fn term<L: Lanes>(
    f: GoldilocksLanes<L>,
    s: impl Into<Loose<L::V>>,
    beta: Canonical<L::V>,
    w: Canonical<L::V>,
) -> Loose<L::V> {
    f.add(f.mul(s, beta), w)
}

impl Kernel for Quotients<'_> {
    /// Whether every denominator is invertible.
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> bool {
        let f = GoldilocksLanes::new(lanes);
        let Self { tables, sigmas, wires, challenges, first, quotients, totals, columns } = self;
        let (n, nc, chunks) = (tables.size(), tables.challenges, tables.chunks);
        let one = Loose::from(f.splat(Goldilocks::ONE));
        let vectors = quotients.len() / columns;
        let per_vector = nc * chunks;
        let mut numerators = vec![one; vectors * per_vector];
        let mut denominators = vec![one; vectors * per_vector];
        for v in 0..vectors {
            let position = (first + v) * LANES;
            let x = f.load(tables.subgroup[position..].first_chunk().expect("a multiple of eight rows"));
            let rows: [&[F]; LANES] = core::array::from_fn(|j| &sigmas[tables.reverse(position + j)][..]);
            for start in (0..tables.routed).step_by(LANES) {
                let group = &wires[start / LANES * n + position..];
                let w = f.transpose(load_rows(f, group.first_chunk().expect("a multiple of eight rows")));
                let sigma = load_plonky(f, &rows, start);
                for c in 0..nc {
                    let (beta, gamma) = (f.splat(challenges.betas[c]), f.splat(challenges.gammas[c]));
                    for j in 0..LANES.min(tables.routed - start) {
                        let w = f.reduce(f.add(w[j], gamma));
                        let identity = f.splat(challenges.identities[c][start + j]);
                        let at = v * per_vector + c * chunks + (start + j) / tables.chunk;
                        numerators[at] = f.mul(numerators[at], term(f, x, identity, w));
                        denominators[at] = f.mul(denominators[at], term(f, sigma[j], beta, w));
                    }
                }
            }
        }
        // Products of all denominators before, by column and lane; the last ones are inverted.
        let mut before = vec![one; vectors * per_vector];
        let mut all = vec![one; per_vector];
        for v in 0..vectors {
            for e in 0..per_vector {
                before[v * per_vector + e] = all[e];
                all[e] = f.mul(all[e], denominators[v * per_vector + e]);
            }
        }
        let mut words = Vec::with_capacity(per_vector * LANES);
        for x in &all {
            let mut row = ZERO_ROW;
            f.store(f.reduce(*x), &mut row);
            words.extend(row.map(to_plonky));
        }
        if words.iter().any(|x| x.is_zero()) {
            return false;
        }
        let inverses = F::batch_multiplicative_inverse(&words);
        for (x, inverse) in all.iter_mut().zip(inverses.as_chunks::<LANES>().0) {
            *x = f.load_words(&inverse.map(|x| x.to_noncanonical_u64()));
        }
        for v in (0..vectors).rev() {
            for c in 0..nc {
                let mut total = one;
                for e in 0..chunks {
                    let (k, at) = (c * chunks + e, v * per_vector + c * chunks + e);
                    let quotient = f.reduce(f.mul(f.mul(all[k], before[at]), numerators[at]));
                    all[k] = f.mul(all[k], denominators[at]);
                    total = f.mul(total, quotient);
                    if e + 1 < chunks {
                        f.store(quotient, &mut quotients[v * columns + nc + c * (chunks - 1) + e]);
                    }
                }
                f.store(f.reduce(total), &mut totals[v * nc + c]);
            }
        }
        true
    }
}

/// Eight rows of a group.
#[inline(always)]
pub(super) fn load_rows<L: Lanes>(f: GoldilocksLanes<L>, rows: &[Row; LANES]) -> [Canonical<L::V>; LANES] {
    let mut out = [f.load(&rows[0]); LANES];
    for (out, row) in out.iter_mut().zip(rows) {
        *out = f.load(row);
    }
    out
}

/// Columns `start` to `start + 7` of eight rows of plonky2's, followed by zeros.
#[inline(always)]
pub(super) fn load_plonky<L: Lanes>(
    f: GoldilocksLanes<L>,
    rows: &[&[F]; LANES],
    start: usize,
) -> [Canonical<L::V>; LANES] {
    let mut out = [f.splat(Goldilocks::ZERO); LANES];
    for (out, row) in out.iter_mut().zip(rows) {
        let words = match row[start..].first_chunk::<LANES>() {
            Some(words) => *words,
            None => core::array::from_fn(|j| row.get(start + j).copied().unwrap_or(F::ZERO)),
        };
        *out = f.reduce(f.load_words(&words.map(|x| x.to_noncanonical_u64())));
    }
    f.transpose(out)
}

/// Quotients of chunks to partial products.
struct Partials<'a> {
    tables: &'a Tables,
    /// Z.
    starts: &'a [Row],
    columns_of: &'a mut [Row],
    columns: usize,
}

impl Kernel for Partials<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { tables, starts, columns_of, columns } = self;
        let (nc, products) = (tables.challenges, tables.chunks - 1);
        for (columns, starts) in columns_of.chunks_exact_mut(columns).zip(starts.chunks_exact(nc)) {
            for (c, z) in starts.iter().enumerate() {
                columns[c] = *z;
                let mut product = f.load(z);
                for column in &mut columns[nc + c * products..][..products] {
                    product = f.reduce(f.mul(product, f.load(column)));
                    f.store(product, column);
                }
            }
        }
    }
}

/// One group of eight columns to rows.
struct Transpose<'a> {
    from: &'a [Row],
    columns: usize,
    group: usize,
    rows: &'a mut [Row],
}

impl Kernel for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for (rows, from) in self.rows.as_chunks_mut::<LANES>().0.iter_mut().zip(self.from.chunks_exact(self.columns)) {
            let square = load_rows(f, from[LANES * self.group..].first_chunk().expect("whole groups"));
            for (x, row) in f.transpose(square).into_iter().zip(rows) {
                f.store(x, row);
            }
        }
    }
}
