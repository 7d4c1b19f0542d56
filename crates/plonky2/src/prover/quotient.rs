//! The quotient: all constraints, combined and divided by Z_H.
//!
//! The vanishing polynomial is evaluated on the first cosets of the extension, as many as its degree requires, one
//! after the other, at eight points at a time. The values of coset b give the remainder modulo X^n - s_b^n; the
//! remainders of one challenge are interpolated side by side, and a small matrix turns them into chunks of n
//! coefficients.

use anyhow::ensure;
use evergrove_kernels::ntt::{Inverse, Row, ZERO_ROW};
use evergrove_kernels::oracle::{Oracle, Workspace};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes, Loose};
use evergrove_primitives::lanes::{Body, Isa, Kernel, LANES, Lanes, dispatch_on};
use plonky2::hash::hash_types::HashOut;
use rayon::prelude::*;

use super::F;
use super::gates::{Constraints, Evaluate};
use super::permutation::{Challenges, load_plonky, load_rows};
use super::tables::{QuotientTables, Tables};

/// Vectors of rows of a task: of its chunks, and of the constraints on one coset.
const TASK: usize = 16;
const CONSTRAINTS_TASK: usize = 64;

/// The parts of the vanishing polynomial.
pub(super) struct Inputs<'a> {
    pub(super) tables: &'a Tables,
    /// Values of constants and sigmas, row by row.
    pub(super) preprocessed: &'a [Vec<F>],
    pub(super) permutation: &'a Challenges,
    pub(super) alphas: &'a [Goldilocks],
    pub(super) public_inputs_hash: &'a HashOut<F>,
}

/// The values of wires, Z and partial products on one coset, in groups.
struct Coset<'a> {
    index: usize,
    wires: Vec<&'a [Row]>,
    zs: Vec<&'a [Row]>,
}

/// Writes the chunks' coefficients into `out`, from the oracles of wires and of Z with its partial products.
///
/// # Errors
/// When the quotient has too high a degree: the wires do not obey the constraints. Where the degree fills all chunks this
/// does not show, and the proof is one that does not verify.
pub(super) fn fill(inputs: &Inputs<'_>, oracles: [&mut Oracle; 2], out: &mut Workspace) -> anyhow::Result<()> {
    let Inputs { tables, alphas, .. } = inputs;
    let (n, nc, isa) = (tables.size(), tables.challenges, tables.isa);
    let terms = nc * (tables.chunks + 1) + tables.gate_constraints;
    let weights: Vec<Vec<Goldilocks>> = (alphas.iter())
        .map(|a| core::iter::successors(Some(Goldilocks::ONE), |p| Some(*p * *a)).take(terms).collect())
        .collect();
    let weights = &weights;
    // Eight rows at a time, and each challenge by challenge.
    let mut values = vec![ZERO_ROW; nc * n];
    let [wires, zs] = oracles;
    for index in 0..tables.quotient.vanishing_inverse.len() {
        let coset = &Coset { index, wires: wires.coset(index).collect(), zs: zs.coset(index).collect() };
        values.par_chunks_mut(CONSTRAINTS_TASK * nc * LANES).enumerate().for_each(|(task, values)| {
            dispatch_on(isa, Vanishing { inputs, coset, weights, first: task * CONSTRAINTS_TASK, values });
        });
    }
    to_chunks(isa, tables.shared.domain.inverse(), &tables.quotient, tables.chunk, &values, out)
}

/// The chunks' coefficients from the quotients' values on the cosets of `quotient`: eight rows at a time, and each quotient
/// by quotient, as many as `values` has times n rows.
///
/// # Errors
/// When a quotient has too high a degree.
pub(super) fn to_chunks(
    isa: Isa,
    inverse: &Inverse,
    quotient: &QuotientTables,
    chunk: usize,
    values: &[Row],
    out: &mut Workspace,
) -> anyhow::Result<()> {
    let n = quotient.unshift.len();
    let nc = values.len() / n;
    let remainders: Vec<Vec<Row>> = (0..nc)
        .into_par_iter()
        .map(|c| {
            let mut rows = vec![ZERO_ROW; n];
            for (v, rows) in rows.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                rows.copy_from_slice(&values[(v * nc + c) * LANES..][..LANES]);
            }
            inverse.transform_in_place(&mut rows).expect("rows of the domain's size");
            rows.par_chunks_mut(TASK * LANES).enumerate().for_each(|(task, rows)| {
                dispatch_on(isa, Chunks { quotient, first: task * TASK * LANES, rows });
            });
            rows
        })
        .collect();
    let out = out.coefficients_mut();
    if chunk == LANES {
        for (group, rows) in out.chunks_exact_mut(n).zip(&remainders) {
            group.copy_from_slice(rows);
        }
        return Ok(());
    }
    for (c, rows) in remainders.iter().enumerate() {
        for (i, row) in rows.iter().enumerate() {
            for (k, x) in row.iter().enumerate().take(chunk) {
                let column = c * chunk + k;
                out[column / LANES * n + i][column % LANES] = *x;
            }
            let rest = &row[chunk..];
            ensure!(rest.iter().all(|x| *x == Goldilocks::ZERO), "the constraints do not hold: no quotient");
        }
    }
    Ok(())
}

struct Vanishing<'a> {
    inputs: &'a Inputs<'a>,
    coset: &'a Coset<'a>,
    /// Powers of each alpha.
    weights: &'a [Vec<Goldilocks>],
    /// The first vector of rows.
    first: usize,
    values: &'a mut [Row],
}

impl Kernel for Vanishing<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { inputs, coset, weights, first, values } = self;
        let tables = inputs.tables;
        let zero = f.splat(Goldilocks::ZERO);
        let nc = tables.challenges;
        let inverse = f.factor(f.splat(tables.quotient.vanishing_inverse[coset.index]));
        let most = tables.gate_constraints.max(nc * (tables.chunks + 1));
        let mut columns = Columns {
            preprocessed: vec![zero; (tables.constants + tables.routed).next_multiple_of(LANES)],
            wires: vec![zero; LANES * coset.wires.len()],
            zs: vec![zero; LANES * coset.zs.len()],
            next: [zero; LANES],
        };
        let mut constraints = Constraints::new(f, most);
        let mut sums = [Loose::from(zero); LANES];
        for (v, values) in values.chunks_exact_mut(nc * LANES).enumerate() {
            let position = (first + v) * LANES;
            columns.load(f, inputs, coset, position);
            constraints.clear();
            lanes.outline(Permutation {
                inputs,
                columns: &columns,
                coset: coset.index,
                position,
                out: &mut constraints,
            });
            let mut totals = [Loose::from(zero); LANES];
            weigh(f, constraints.values(), weights, 0, &mut totals);
            let offset = constraints.values().len();
            let (selectors, constants) = columns.preprocessed.split_at(tables.selectors);
            let constants = &constants[..tables.constants - tables.selectors];
            for gate in &tables.gates {
                constraints.clear();
                lanes.outline(Evaluate {
                    gate: &gate.gate,
                    constants,
                    wires: &columns.wires,
                    public_inputs_hash: inputs.public_inputs_hash,
                    out: &mut constraints,
                });
                if constraints.values().is_empty() {
                    continue;
                }
                let mut filter = Loose::from(f.splat(Goldilocks::ONE));
                for other in &gate.selector.others {
                    filter = f.mul(filter, f.sub(f.splat(*other), selectors[gate.selector.constant]));
                }
                let filter = f.factor(filter);
                weigh(f, constraints.values(), weights, offset, &mut sums);
                for (total, sum) in totals.iter_mut().zip(&sums).take(nc) {
                    *total = f.add(f.mul_by(*sum, filter), f.reduce(*total));
                }
            }
            for (total, rows) in totals.iter().zip(values.chunks_exact_mut(LANES)) {
                let mut points = ZERO_ROW;
                f.store(f.reduce(f.mul_by(*total, inverse)), &mut points);
                for (row, x) in rows.iter_mut().zip(points) {
                    row[coset.index] = x;
                }
            }
        }
    }
}

/// sum_k constraint_k weight_(offset + k) for each challenge: two at a time, which share the loads of constraints.
#[inline(always)]
fn weigh<L: Lanes>(
    f: GoldilocksLanes<L>,
    constraints: &[Loose<L::V>],
    weights: &[Vec<Goldilocks>],
    offset: usize,
    out: &mut [Loose<L::V>; LANES],
) {
    for (weights, out) in weights.chunks(2).zip(out.chunks_mut(2)) {
        let (first, last) = (&weights[0][offset..], &weights[weights.len() - 1][offset..]);
        let mut sums = [f.product_sum(); 2];
        for ((constraint, a), b) in constraints.iter().zip(first).zip(last) {
            let constraint = f.factor(*constraint);
            f.accumulate(&mut sums[0], constraint, f.factor(f.splat(*a)));
            f.accumulate(&mut sums[1], constraint, f.factor(f.splat(*b)));
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = f.reduce_sum(sum);
        }
    }
}

/// The values of all polynomials at eight points of a coset.
struct Columns<V> {
    /// Constants, then sigmas.
    preprocessed: Vec<Canonical<V>>,
    wires: Vec<Canonical<V>>,
    /// Z, then partial products.
    zs: Vec<Canonical<V>>,
    /// Z at the next rows.
    next: [Canonical<V>; LANES],
}

impl<V: Copy> Columns<V> {
    #[inline(always)]
    fn load<L: Lanes<V = V>>(
        &mut self,
        f: GoldilocksLanes<L>,
        inputs: &Inputs<'_>,
        coset: &Coset<'_>,
        position: usize,
    ) {
        let tables = inputs.tables;
        let n = tables.size();
        let leaves = &inputs.preprocessed[coset.index * n + position..];
        let rows: [&[F]; LANES] = core::array::from_fn(|j| &leaves[j][..]);
        for (start, columns) in (0..).step_by(LANES).zip(self.preprocessed.as_chunks_mut().0) {
            *columns = load_plonky(f, &rows, start);
        }
        for (to, groups) in [(&mut self.wires, &coset.wires), (&mut self.zs, &coset.zs)] {
            for (columns, group) in to.as_chunks_mut().0.iter_mut().zip(groups) {
                let rows = group[position..].first_chunk().expect("a multiple of eight rows");
                *columns = f.transpose(load_rows(f, rows));
            }
        }
        let zs = coset.zs[0];
        for (j, row) in self.next.iter_mut().enumerate() {
            let next = (tables.reverse(position + j) + 1) % n;
            *row = f.load(&zs[tables.reverse(next)]);
        }
        self.next = f.transpose(self.next);
    }
}

/// The constraints of the permutation argument.
struct Permutation<'a, V> {
    inputs: &'a Inputs<'a>,
    columns: &'a Columns<V>,
    coset: usize,
    position: usize,
    out: &'a mut Constraints<V>,
}

impl<L: Lanes> Body<L> for Permutation<'_, L::V> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { inputs, columns, coset, position, out } = self;
        let tables = inputs.tables;
        let (nc, chunks) = (tables.challenges, tables.chunks);
        let at = coset * tables.size() + position;
        let load = |all: &[Goldilocks]| f.load(all[at..].first_chunk().expect("a multiple of eight rows"));
        let (x, lagrange) = (load(&tables.quotient.points), load(&tables.quotient.lagrange));
        for z in &columns.zs[..nc] {
            out.push(f.mul(lagrange, f.sub(*z, f.splat(Goldilocks::ONE))));
        }
        let sigmas = &columns.preprocessed[tables.constants..];
        for c in 0..nc {
            let (beta, gamma) = (inputs.permutation.betas[c], inputs.permutation.gammas[c]);
            let (beta_factor, gamma_lanes) = (f.factor(f.splat(beta)), f.splat(gamma));
            let partials = &columns.zs[nc + c * (chunks - 1)..][..chunks - 1];
            for e in 0..chunks {
                let mut left = Loose::from(if e == 0 { columns.zs[c] } else { partials[e - 1] });
                let mut right = Loose::from(if e + 1 == chunks { columns.next[c] } else { partials[e] });
                let range = e * tables.chunk..((e + 1) * tables.chunk).min(tables.routed);
                let factors = sigmas[range.clone()].iter().zip(&columns.wires[range.clone()]);
                for ((sigma, w), identity) in factors.zip(&inputs.permutation.identities[c][range]) {
                    let w = f.reduce(f.add(*w, gamma_lanes));
                    left = f.mul(left, f.add(f.mul(x, f.splat(*identity)), w));
                    right = f.mul(right, f.add(f.mul_by(*sigma, beta_factor), w));
                }
                out.push(f.sub(left, f.reduce(right)));
            }
        }
    }
}

/// Remainders, interpolated but shifted, to chunks; eight rows at a time.
struct Chunks<'a> {
    quotient: &'a QuotientTables,
    first: usize,
    rows: &'a mut [Row],
}

impl Kernel for Chunks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { quotient, first, rows } = self;
        let unshift = quotient.unshift[first..].as_chunks::<LANES>().0;
        for (rows, unshift) in rows.as_chunks_mut::<LANES>().0.iter_mut().zip(unshift) {
            let mut remainders = load_rows(f, rows);
            for (x, power) in remainders.iter_mut().zip(unshift) {
                *x = f.reduce(f.mul(*x, f.load(power)));
            }
            let remainders = f.transpose(remainders);
            let mut chunks = remainders;
            for (chunk, line) in chunks.iter_mut().zip(&quotient.matrix) {
                let mut sum = f.product_sum();
                for (remainder, entry) in remainders.iter().zip(line) {
                    f.accumulate(&mut sum, f.factor(*remainder), f.factor(f.splat(*entry)));
                }
                *chunk = f.reduce(f.reduce_sum(sum));
            }
            for (x, row) in f.transpose(chunks).into_iter().zip(rows) {
                f.store(x, row);
            }
        }
    }
}
