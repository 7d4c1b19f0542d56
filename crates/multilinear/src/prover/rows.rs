//! The SumCheck over rows, in lanes.
//!
//! **Places.** While variables within a block are left, each block of a table has a *tile*: its values one after the
//! other, for each value the first coefficients of its rows, then the second ones. At [`SMALL`] rows the tiles of a
//! table become one, in which the rows with the same number in all blocks are neighbours. When one row of each block is
//! left, there are few values, and the rounds continue one by one.
//!
//! **Values** of a row are those in the polynomial of the table ([`Sum`]): columns that are raised to the seventh
//! power, factors, forms, and columns that a program reads. Forms replace most columns.
//!
//! **A pass** binds the challenge of the round before and sums the coefficients of the next message. On the line a + d
//! X the coefficient of X^k in the seventh power is binomial(7, k) a^(7-k) d^k. All of these are products of one of mu
//! a^3, mu a^2 d, mu a d^2, mu d^3 with one of a^4 and d^4: ten products for each column, instead of some thirty for
//! the values at seven points. Products of factors and a form have three coefficients. A program runs at eight points.

use evergrove_kernels::multilinear::mle::eq_table_vec;
use evergrove_kernels::multilinear::sumcheck::reference::interpolate;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, Portable, dispatch_on};
use rayon::prelude::*;

use super::columns::Columns;
use super::memory::Memory;
use super::polynomial::{Product, Sum, Variable};
use crate::writer::Writer;
use evergrove_verifier::algebra::combine;
use evergrove_verifier::poseidon::SBOXES;
use evergrove_verifier::tables::{BLOCK, BLOCK_LOG, DEGREE};

/// Rows of a tile at which the tiles of a table become one: pairs of rows fill one vector.
const SMALL: usize = 2 * LANES;

/// Coefficients of a product of factors and a form, except the constant one.
const LOW: usize = 3;

/// binomial(7, k) for k = 1, ..., 7.
const BINOMIALS: [u32; DEGREE] = [7, 21, 35, 35, 21, 7, 1];

/// Seventh powers are summed without carries between them.
const _: () = assert!(SBOXES <= <GoldilocksLanes<Portable> as FieldLanes>::TERMS);

/// Sums of a pass: of seventh powers without their binomials, of products, of the results of a program at 0, 1, ....
type Sums<T> = ([T; DEGREE], [T; LOW], [T; DEGREE + 1]);

/// Runs the rounds. Returns the point.
pub(super) fn prove<K: Extension>(
    isa: Isa,
    t: &mut Writer<K>,
    columns: &[Columns<'_>],
    sums: Vec<Sum<K>>,
    rho: &[K],
    variables: usize,
    memory: &Memory,
) -> Vec<K> {
    let mut state: Vec<State<'_, K>> =
        columns.par_iter().zip(sums).map(|(columns, sum)| State::new(isa, columns, sum, rho, memory)).collect();
    let mut r = vec![K::ZERO; variables];
    let mut challenge = None;
    for variable in (0..BLOCK_LOG).rev() {
        let within = eq_table_vec(&rho[..variable]).expect("few coordinates");
        let add = |mut a: Vec<K>, b: Vec<K>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let message = state
            .par_iter_mut()
            .map(|state| state.round(&within, challenge, memory))
            .reduce(|| vec![K::ZERO; DEGREE], add);
        t.send(&message);
        r[variable] = t.challenge();
        challenge = Some(r[variable]);
    }
    let challenge = challenge.expect("nine rounds");
    let mut state: Vec<Blocks<'_, K>> = state.into_iter().map(|state| state.blocks(challenge, memory)).collect();
    for variable in BLOCK_LOG..variables {
        let mut values = [K::ZERO; DEGREE + 2];
        for state in &state {
            state.round(variable, rho[variable], &mut values);
        }
        t.send(&interpolate(&values)[1..]);
        r[variable] = t.challenge();
        for state in &mut state {
            state.bind(variable, rho[variable], r[variable]);
        }
    }
    r
}

/// A table in the rounds within blocks.
struct State<'a, K> {
    isa: Isa,
    columns: &'a Columns<'a>,
    sum: Sum<K>,
    /// eq of the blocks.
    weights: Vec<K>,
    values: Values,
}

enum Values {
    /// In the stacks, and the forms of each block.
    Columns(Vec<Goldilocks>),
    /// In tiles of this many rows, one for each block.
    Tiles(Vec<Goldilocks>, usize),
    /// In one tile: for each value the rows, for each row the blocks, filled up to a multiple of [`LANES`].
    Together(Vec<Goldilocks>, usize),
}

impl Values {
    fn into_elements(self) -> Vec<Goldilocks> {
        match self {
            Self::Columns(elements) | Self::Tiles(elements, _) | Self::Together(elements, _) => elements,
        }
    }
}

impl<'a, K: Extension> State<'a, K> {
    fn new(isa: Isa, columns: &'a Columns<'a>, sum: Sum<K>, rho: &[K], memory: &Memory) -> Self {
        let mut weights = eq_table_vec(&rho[BLOCK_LOG..columns.shape.variables()]).expect("few coordinates");
        weights.truncate(columns.shape.blocks());
        let size = sum.forms.len() * K::DEGREE * BLOCK;
        let mut forms = memory.take(columns.shape.blocks() * size);
        forms.par_chunks_exact_mut(size).enumerate().for_each(|(block, out)| {
            for (form, out) in sum.forms.iter().zip(out.chunks_exact_mut(K::DEGREE * BLOCK)) {
                let terms: Vec<_> =
                    form.iter().map(|&(variable, weight)| (columns.chunk(variable, block), weight)).collect();
                dispatch_on(isa, Form { terms: &terms, out });
            }
        });
        Self { isa, columns, sum, weights, values: Values::Columns(forms) }
    }

    /// Columns that are read unchanged, in the order of values: powers, factors, those of the program.
    fn raw(&self) -> impl Iterator<Item = Variable> {
        let Sum { powers, factors, program, .. } = &self.sum;
        (0..powers.len() as Variable).chain(factors.iter().copied()).chain(program.columns.iter().copied())
    }
    fn width(&self) -> usize {
        self.raw().count() + self.sum.forms.len()
    }

    /// The message's coefficients c_1, ..., c_7.
    fn round(&mut self, within: &[K], challenge: Option<K>, memory: &Memory) -> Vec<K> {
        let width = self.width();
        let raw: Vec<Variable> = self.raw().collect();
        let (sum, columns) = (&self.sum, self.columns);
        let chunks = |block: usize| -> Vec<&[Goldilocks; BLOCK]> {
            raw.iter().map(|&variable| columns.chunk(variable, block)).collect()
        };
        let forms = sum.forms.len() * K::DEGREE * BLOCK;
        let next = |rows: usize| memory.take(columns.shape.blocks() * width * K::DEGREE * rows);
        let (sums, values): (Sums<K>, Option<Values>) = match (&self.values, challenge) {
            (Values::Columns(all), None) => {
                let blocks = all.par_chunks_exact(forms).zip(&self.weights).enumerate();
                let sums = blocks.map(|(block, (forms, &weight))| {
                    let from = Chunks { chunks: &chunks(block), shifts: &sum.shifts, forms };
                    scaled(self.first(&from, within), weight)
                });
                (total(sums), None)
            }
            (Values::Columns(all), Some(challenge)) => {
                let rows = BLOCK / 2;
                let mut tiles = next(rows);
                let blocks = tiles.par_chunks_exact_mut(width * K::DEGREE * rows);
                let blocks = blocks.zip(all.par_chunks_exact(forms)).zip(&self.weights).enumerate();
                let sums = blocks.map(|(block, ((to, forms), &weight))| {
                    let from = Chunks { chunks: &chunks(block), shifts: &sum.shifts, forms };
                    scaled(self.later(from, to, rows, challenge, within), weight)
                });
                (total(sums), Some(Values::Tiles(tiles, rows)))
            }
            (Values::Tiles(tiles, before), Some(challenge)) if *before > SMALL => {
                let rows = before / 2;
                let size = width * K::DEGREE * rows;
                let mut to = next(rows);
                let blocks = to.par_chunks_exact_mut(size).zip(tiles.par_chunks_exact(2 * size)).zip(&self.weights);
                let sums = blocks.map(|((to, values), &weight)| {
                    scaled(self.later(Tile { values, rows: *before }, to, rows, challenge, within), weight)
                });
                (total(sums), Some(Values::Tiles(to, rows)))
            }
            (Values::Tiles(tiles, before), Some(challenge)) => {
                let values = together(tiles, *before, columns.shape.blocks());
                self.small(&values, *before, within, challenge)
            }
            (Values::Together(values, before), Some(challenge)) => self.small(values, *before, within, challenge),
            _ => unreachable!("a challenge after each round"),
        };
        if let Some(values) = values {
            memory.give(core::mem::replace(&mut self.values, values).into_elements());
        }
        message(sums)
    }

    /// The first pass over a block.
    fn first(&self, from: &Chunks<'_>, within: &[K]) -> Sums<K> {
        let (isa, sum) = (self.isa, &self.sum);
        let mut powers = [K::ZERO; DEGREE];
        if !sum.powers.is_empty() {
            powers = dispatch_on(isa, First { powers: &sum.powers, from, within });
        }
        let mut results = [K::ZERO; DEGREE + 1];
        if !sum.results.is_empty() {
            // The columns in K.
            let mut values = Vec::with_capacity(self.width() * K::DEGREE * BLOCK);
            for column in from.chunks {
                values.extend_from_slice(&column[..]);
                values.resize(values.len() + (K::DEGREE - 1) * BLOCK, Goldilocks::ZERO);
            }
            results = self.program(Tile { values: &values, rows: BLOCK }, within);
        }
        (powers, self.products(from, within, BLOCK / 2), results)
    }
    /// Another pass over a block.
    fn later(&self, from: impl Source<K>, to: &mut [Goldilocks], rows: usize, challenge: K, within: &[K]) -> Sums<K> {
        let (isa, sum, width) = (self.isa, &self.sum, self.width());
        let later = Later { powers: &sum.powers, from, to: &mut *to, width, rows, challenge, within };
        let powers = dispatch_on(isa, later);
        let mut results = [K::ZERO; DEGREE + 1];
        if !sum.results.is_empty() {
            results = self.program(Tile { values: to, rows }, within);
        }
        (powers, self.products(&Tile { values: to, rows }, within, rows / 2), results)
    }
    fn products(&self, from: &impl Source<K>, within: &[K], half: usize) -> [K; LOW] {
        let factors = self.sum.powers.len();
        let forms = self.width() - self.sum.forms.len();
        dispatch_on(self.isa, Products { sum: &self.sum, from, factors, forms, within, half })
    }
    fn program(&self, from: Tile<'_>, within: &[K]) -> [K; DEGREE + 1] {
        let first = self.sum.powers.len() + self.sum.factors.len();
        let half = from.rows / 2;
        dispatch_on(self.isa, Run { sum: &self.sum, from, first, within, half })
    }

    /// A pass over the tile of all blocks, which had this many rows for each block before the pass.
    fn small(&self, values: &[Goldilocks], before: usize, within: &[K], challenge: K) -> (Sums<K>, Option<Values>) {
        let (blocks, width) = (self.stride(), self.width());
        let rows = before / 2 * blocks;
        let weight = |block: usize| self.weights.get(block).copied().unwrap_or(K::ZERO);
        let weights: Vec<K> = within.iter().flat_map(|&w| (0..blocks).map(move |block| w * weight(block))).collect();
        let mut to = vec![Goldilocks::ZERO; width * K::DEGREE * rows];
        let sums = self.later(Tile { values, rows: 2 * rows }, &mut to, rows, challenge, &weights);
        (sums, Some(Values::Together(to, before / 2)))
    }

    /// Blocks, filled up to whole vectors.
    fn stride(&self) -> usize {
        self.columns.shape.blocks().next_multiple_of(LANES)
    }

    /// Called when the last variable within blocks is bound.
    fn blocks(self, challenge: K, memory: &Memory) -> Blocks<'a, K> {
        let Values::Together(values, rows) = &self.values else { unreachable!("nine rounds are over") };
        assert_eq!(*rows, 2, "rows of a block before the last variable is bound");
        let stride = self.stride();
        let value = |column: usize, block: usize| {
            let at = |row: usize| {
                let coefficient = |d: usize| values[(column * K::DEGREE + d) * 2 * stride + row * stride + block];
                let coefficients: Vec<Goldilocks> = (0..K::DEGREE).map(coefficient).collect();
                K::from_coefficients(&coefficients).expect("as many coefficients")
            };
            at(0) + challenge * (at(1) - at(0))
        };
        let values =
            (0..self.columns.shape.blocks()).map(|b| (0..self.width()).map(|c| value(c, b)).collect()).collect();
        memory.give(self.values.into_elements());
        Blocks { columns: self.columns, sum: self.sum, values, weights: self.weights }
    }
}

/// One tile of tiles.
fn together(tiles: &[Goldilocks], rows: usize, blocks: usize) -> Vec<Goldilocks> {
    let stride = blocks.next_multiple_of(LANES);
    let size = tiles.len() / blocks;
    let mut all = vec![Goldilocks::ZERO; size * stride];
    for (block, tile) in tiles.chunks_exact(size).enumerate() {
        for (plane, values) in tile.chunks_exact(rows).enumerate() {
            for (row, &value) in values.iter().enumerate() {
                all[(plane * rows + row) * stride + block] = value;
            }
        }
    }
    all
}

fn scaled<K: Extension>((powers, low, results): Sums<K>, weight: K) -> Sums<K> {
    (powers.map(|x| x * weight), low.map(|x| x * weight), results.map(|x| x * weight))
}

fn total<K: Extension>(sums: impl ParallelIterator<Item = Sums<K>>) -> Sums<K> {
    fn add<K: Extension, const N: usize>(a: [K; N], b: [K; N]) -> [K; N] {
        core::array::from_fn(|i| a[i] + b[i])
    }
    let zero = || ([K::ZERO; DEGREE], [K::ZERO; LOW], [K::ZERO; DEGREE + 1]);
    sums.reduce(zero, |a, b| (add(a.0, b.0), add(a.1, b.1), add(a.2, b.2)))
}

/// c_1, ..., c_7.
fn message<K: Extension>((powers, low, results): Sums<K>) -> Vec<K> {
    let mut message = with_binomials(&powers);
    for (c, low) in message.iter_mut().zip(low) {
        *c += low;
    }
    if results.iter().any(|x| !x.is_zero()) {
        for (c, results) in message.iter_mut().zip(&interpolate(&results)[1..]) {
            *c += *results;
        }
    }
    message
}

fn with_binomials<K: Extension>(sums: &[K; DEGREE]) -> Vec<K> {
    sums.iter().zip(BINOMIALS).map(|(&x, binomial)| x * Goldilocks::from(binomial)).collect()
}

/// `sums`\[k - 1\] + mu a^(7-k) d^k for k = 1, ..., 7: see the module.
#[inline(always)]
fn powers<A: FieldLanes>(f: A, mu: A::Factor, a: A::V, d: A::V, sums: &mut [A::Sum; DEGREE]) {
    let (a2, d2) = (f.square(a), f.square(d));
    let (a4, d4) = (f.term(f.square(a2).into()), f.term(f.square(d2).into()));
    let (a2, d2) = (f.to_factor(a2), f.to_factor(d2));
    let (mu_a, mu_d) = (f.scale(a.into(), mu), f.scale(d.into(), mu));
    let [aaa, aad] = [f.scale(mu_a.into(), a2), f.scale(mu_d.into(), a2)];
    let [add, ddd] = [f.scale(mu_a.into(), d2), f.scale(mu_d.into(), d2)];
    let [aaa, aad, add, ddd] = [f.term(aaa.into()), f.term(aad.into()), f.term(add.into()), f.term(ddd.into())];
    let [one, two, three, four, five, six, seven] = sums;
    f.accumulate_terms(one, aad, a4);
    f.accumulate_terms(two, add, a4);
    f.accumulate_terms(three, ddd, a4);
    f.accumulate_terms(four, aaa, d4);
    f.accumulate_terms(five, aad, d4);
    f.accumulate_terms(six, add, d4);
    f.accumulate_terms(seven, ddd, d4);
}

/// [`powers`] of values in the base field.
#[inline(always)]
fn base_powers<A: FieldLanes>(
    f: A,
    g: A::Base,
    mu: A::Term,
    a: <A::Base as FieldLanes>::V,
    d: <A::Base as FieldLanes>::V,
    sums: &mut [A::Sum; DEGREE],
) {
    let (a2, d2) = (g.square(a), g.square(d));
    let (a4, d4) = (g.to_factor(g.square(a2)), g.to_factor(g.square(d2)));
    let (aaa, aad, add, ddd) = (g.mul(a2, a), g.mul(a2, d), g.mul(d2, a), g.mul(d2, d));
    let [one, two, three, four, five, six, seven] = sums;
    f.accumulate_base(one, mu, g.term(g.scale(aad.into(), a4).into()));
    f.accumulate_base(two, mu, g.term(g.scale(add.into(), a4).into()));
    f.accumulate_base(three, mu, g.term(g.scale(ddd.into(), a4).into()));
    f.accumulate_base(four, mu, g.term(g.scale(aaa.into(), d4).into()));
    f.accumulate_base(five, mu, g.term(g.scale(aad.into(), d4).into()));
    f.accumulate_base(six, mu, g.term(g.scale(add.into(), d4).into()));
    f.accumulate_base(seven, mu, g.term(g.scale(ddd.into(), d4).into()));
}

/// A linear form on a block.
struct Form<'a, K> {
    terms: &'a [(&'a [Goldilocks; BLOCK], K)],
    out: &'a mut [Goldilocks],
}

impl<K: Extension> Kernel for Form<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        const TERMS: usize = 64;
        for i in 0..BLOCK / LANES {
            let mut sum = f.empty();
            for terms in self.terms.chunks(TERMS) {
                for (column, weight) in terms {
                    let x = FieldLanes::load(g, &column.as_chunks::<LANES>().0[i]);
                    f.accumulate_base(&mut sum, f.term(f.splat(weight).into()), g.term(x.into()));
                }
                f.carry(&mut sum);
            }
            f.store_coefficients(f.finish(sum), &mut self.out[i * LANES..], BLOCK);
        }
    }
}

/// Eight neighbouring rows of a value.
trait Source<K: Extension> {
    fn get<L: Lanes>(&self, lanes: L, value: usize, row: usize) -> <K::On<L> as FieldLanes>::V;
    /// On the lines from rows at `row` to rows at `other`, the values at a challenge.
    #[inline(always)]
    fn line<L: Lanes>(
        &self,
        lanes: L,
        value: usize,
        [row, other]: [usize; 2],
        challenge: <K::On<L> as FieldLanes>::Factor,
        _splat: <K::On<L> as FieldLanes>::V,
    ) -> <K::On<L> as FieldLanes>::V {
        K::on(lanes).line(self.get(lanes, value, row), self.get(lanes, value, other), challenge)
    }
}

/// A block of the stacks, and the forms on it.
struct Chunks<'a> {
    chunks: &'a [&'a [Goldilocks; BLOCK]],
    shifts: &'a [Goldilocks],
    forms: &'a [Goldilocks],
}

impl Chunks<'_> {
    /// A column, shifted.
    #[inline(always)]
    fn base<L: Lanes>(&self, lanes: L, value: usize, row: usize) -> <GoldilocksLanes<L> as FieldLanes>::V {
        let g = GoldilocksLanes::new(lanes);
        let x = FieldLanes::load(g, self.chunks[value][row..].first_chunk().expect("a whole vector"));
        match self.shifts.get(value) {
            Some(shift) => FieldLanes::add(g, x, FieldLanes::splat(g, shift)),
            None => x,
        }
    }
}

impl<K: Extension> Source<K> for Chunks<'_> {
    #[inline(always)]
    fn get<L: Lanes>(&self, lanes: L, value: usize, row: usize) -> <K::On<L> as FieldLanes>::V {
        let f = K::on(lanes);
        match value.checked_sub(self.chunks.len()) {
            None => f.embed(self.base(lanes, value, row)),
            Some(form) => f.load_coefficients(&self.forms[form * K::DEGREE * BLOCK + row..], BLOCK),
        }
    }
    #[inline(always)]
    fn line<L: Lanes>(
        &self,
        lanes: L,
        value: usize,
        [row, other]: [usize; 2],
        challenge: <K::On<L> as FieldLanes>::Factor,
        splat: <K::On<L> as FieldLanes>::V,
    ) -> <K::On<L> as FieldLanes>::V {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        if value >= self.chunks.len() {
            let [zero, one] = [Source::<K>::get(self, lanes, value, row), Source::<K>::get(self, lanes, value, other)];
            return f.line(zero, one, challenge);
        }
        let (zero, one) = (self.base(lanes, value, row), self.base(lanes, value, other));
        f.add(f.scale_base(splat.into(), g.factor(FieldLanes::sub(g, one, zero))), f.embed(zero))
    }
}

/// A tile.
struct Tile<'a> {
    values: &'a [Goldilocks],
    rows: usize,
}

impl<K: Extension> Source<K> for Tile<'_> {
    #[inline(always)]
    fn get<L: Lanes>(&self, lanes: L, value: usize, row: usize) -> <K::On<L> as FieldLanes>::V {
        K::on(lanes).load_coefficients(&self.values[value * K::DEGREE * self.rows + row..], self.rows)
    }
}

/// Products of factors and forms, on the lines from rows to those `half` rows later.
struct Products<'a, K, S> {
    sum: &'a Sum<K>,
    from: &'a S,
    /// The number of the first factor, and of the first form.
    factors: usize,
    forms: usize,
    within: &'a [K],
    half: usize,
}

impl<K: Extension, S: Source<K>> Kernel for Products<'_, K, S> {
    type Output = [K; LOW];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; LOW] {
        let f = K::on(lanes);
        let Self { sum, from, factors, forms, within, half } = self;
        let unit = f.term(f.splat(&K::ONE).into());
        let mut totals = [f.empty(); LOW];
        for (i, weight) in within.as_chunks::<LANES>().0.iter().enumerate() {
            let row = i * LANES;
            let mut sums = [f.empty(); LOW];
            let [one, two, three] = &mut sums;
            let slope = f.lazy_sub(from.get(lanes, forms, row + half), from.get(lanes, forms, row));
            f.accumulate_terms(one, f.term(slope), unit);
            for products in sum.products.chunks(32) {
                for Product { factor, second, form } in products {
                    let l0 = from.get(lanes, forms + form, row);
                    let dl = f.sub(from.get(lanes, forms + form, row + half), l0);
                    let (l0, dl) = (f.term(l0.into()), f.term(dl.into()));
                    // The coefficients of the factors' product: two, or three.
                    let mut q0 = from.get(lanes, factors + factor, row);
                    let mut q1 = f.sub(from.get(lanes, factors + factor, row + half), q0);
                    if let Some(second) = second {
                        let u0 = from.get(lanes, factors + second, row);
                        let du = f.sub(from.get(lanes, factors + second, row + half), u0);
                        let q2 = f.term(f.mul(q1, du).into());
                        f.accumulate_terms(two, q2, l0);
                        f.accumulate_terms(three, q2, dl);
                        let mut middle = f.empty();
                        f.accumulate(&mut middle, q0.into(), du.into());
                        f.accumulate(&mut middle, q1.into(), u0.into());
                        q1 = f.finish(middle);
                        q0 = f.mul(q0, u0);
                    }
                    let (q0, q1) = (f.term(q0.into()), f.term(q1.into()));
                    f.accumulate_terms(one, q0, dl);
                    f.accumulate_terms(one, q1, l0);
                    f.accumulate_terms(two, q1, dl);
                }
                f.carry(one);
                f.carry(two);
                f.carry(three);
            }
            weigh(f, sums, f.load(weight), i, &mut totals);
        }
        finish(f, totals)
    }
}

/// The results of the program at 0, 1, ..., 7 on the same lines.
struct Run<'a, K> {
    sum: &'a Sum<K>,
    from: Tile<'a>,
    /// The number of the program's first column.
    first: usize,
    within: &'a [K],
    half: usize,
}

impl<K: Extension> Kernel for Run<'_, K> {
    type Output = [K; DEGREE + 1];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; DEGREE + 1] {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let Self { sum, from, first, within, half } = self;
        let (columns, steps) = (sum.program.columns.len(), &sum.program.steps);
        let mut registers = vec![f.zero(); columns + 1 + steps.len()];
        let mut slopes = vec![f.zero(); columns];
        let mut totals = [f.empty(); DEGREE + 1];
        for (i, weight) in within.as_chunks::<LANES>().0.iter().enumerate() {
            let row = i * LANES;
            let weight = f.term(f.load(weight).into());
            for (column, slope) in slopes.iter_mut().enumerate() {
                let zero = Source::<K>::get(&from, lanes, first + column, row);
                registers[column] = zero;
                *slope = f.sub(Source::<K>::get(&from, lanes, first + column, row + half), zero);
            }
            for total in &mut totals {
                for (step, ([q0, q1, q2], [a, b, c])) in steps.iter().enumerate() {
                    let mut value = f.zero();
                    if *q0 != Goldilocks::ZERO {
                        value = f.mul(registers[*a], registers[*b]);
                        if *q0 != Goldilocks::ONE {
                            value = f.scale_base(value.into(), g.factor(FieldLanes::splat(g, q0)));
                        }
                    }
                    for (q, operand) in [(q1, a), (q2, c)] {
                        if *q == Goldilocks::ONE {
                            value = f.add(value, registers[*operand]);
                        } else if *q != Goldilocks::ZERO {
                            let scaled = f.scale_base(registers[*operand].into(), g.factor(FieldLanes::splat(g, q)));
                            value = f.add(value, scaled);
                        }
                    }
                    registers[columns + 1 + step] = value;
                }
                let mut results = f.empty();
                for (register, weight) in &sum.results {
                    f.accumulate(&mut results, registers[*register].into(), f.splat(weight).into());
                }
                f.accumulate_terms(total, f.term(f.finish(results).into()), weight);
                carry_at(f, i, total);
                for (register, slope) in registers.iter_mut().zip(&slopes) {
                    *register = f.add(*register, *slope);
                }
            }
        }
        finish(f, totals)
    }
}

/// Adds the sums of a vector of lines, times its weights, to `totals`: at most 64 products for each, far fewer than a
/// sum holds.
#[inline(always)]
fn weigh<A: FieldLanes, const N: usize>(f: A, sums: [A::Sum; N], weight: A::V, i: usize, totals: &mut [A::Sum; N]) {
    let weight = f.term(weight.into());
    for (sum, total) in sums.into_iter().zip(totals) {
        f.accumulate_terms(total, f.term(f.finish(sum).into()), weight);
        carry_at(f, i, total);
    }
}

/// Makes room in a sum that takes one term for each vector.
#[inline(always)]
fn carry_at<A: FieldLanes>(f: A, i: usize, total: &mut A::Sum) {
    if i % A::TERMS == A::TERMS - 1 {
        f.carry(total);
    }
}

#[inline(always)]
fn finish<A: FieldLanes<Element: Field>, const N: usize>(f: A, totals: [A::Sum; N]) -> [A::Element; N] {
    let mut out = [A::Element::ZERO; N];
    for (out, total) in out.iter_mut().zip(totals) {
        *out = f.sum_lanes(f.finish(total));
    }
    out
}

/// Seventh powers of the columns of a block.
struct First<'a, K> {
    powers: &'a [K],
    from: &'a Chunks<'a>,
    within: &'a [K],
}

impl<K: Extension> Kernel for First<'_, K> {
    type Output = [K; DEGREE];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; DEGREE] {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let half = BLOCK / 2;
        let mut totals = [f.empty(); DEGREE];
        for (i, weight) in self.within.as_chunks::<LANES>().0.iter().enumerate() {
            let row = i * LANES;
            let mut sums = [f.empty(); DEGREE];
            for (column, mu) in self.powers.iter().enumerate() {
                let zero = self.from.base(lanes, column, row);
                let step = FieldLanes::sub(g, self.from.base(lanes, column, row + half), zero);
                base_powers(f, g, f.term(f.splat(mu).into()), zero, step, &mut sums);
            }
            weigh(f, sums, f.load(weight), i, &mut totals);
        }
        finish(f, totals)
    }
}

/// A pass that binds a variable, into a tile of `rows` rows, and takes seventh powers.
struct Later<'a, K, S> {
    powers: &'a [K],
    from: S,
    to: &'a mut [Goldilocks],
    width: usize,
    rows: usize,
    challenge: K,
    within: &'a [K],
}

impl<K: Extension, S: Source<K>> Kernel for Later<'_, K, S> {
    type Output = [K; DEGREE];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; DEGREE] {
        let f = K::on(lanes);
        let Self { powers: weights, from, to, width, rows, challenge, within } = self;
        let (splat, challenge) = (f.splat(&challenge), f.factor(&challenge));
        let half = rows / 2;
        let mut totals = [f.empty(); DEGREE];
        for (i, weight) in within.as_chunks::<LANES>().0.iter().enumerate() {
            let row = i * LANES;
            let mut sums = [f.empty(); DEGREE];
            for value in 0..width {
                let zero = from.line(lanes, value, [row, row + rows], challenge, splat);
                let one = from.line(lanes, value, [row + half, row + half + rows], challenge, splat);
                let out = &mut to[value * K::DEGREE * rows..];
                f.store_coefficients(zero, &mut out[row..], rows);
                f.store_coefficients(one, &mut out[row + half..], rows);
                if let Some(mu) = weights.get(value) {
                    powers(f, f.factor(mu), zero, f.sub(one, zero), &mut sums);
                }
            }
            if !weights.is_empty() {
                weigh(f, sums, f.load(weight), i, &mut totals);
            }
        }
        finish(f, totals)
    }
}

/// A table in the rounds over blocks: one row each.
struct Blocks<'a, K> {
    columns: &'a Columns<'a>,
    sum: Sum<K>,
    values: Vec<Vec<K>>,
    weights: Vec<K>,
}

impl<K: Extension> Blocks<'_, K> {
    /// Adds this table's part of a message, as values at 0, 1, ....
    fn round(&self, variable: usize, rho: K, out: &mut [K; DEGREE + 2]) {
        let line = |zero: K, one: K, x: u64| zero + K::from_u64(x) * (one - zero);
        if variable >= self.columns.shape.variables() {
            let value = self.weights[0] * self.at(&self.values[0]);
            for (x, out) in out.iter_mut().enumerate() {
                *out += value * line(K::ONE - rho, rho, x as u64);
            }
            return;
        }
        let zeros = vec![K::ZERO; self.values[0].len()];
        for (values, weights) in self.values.chunks(2).zip(self.weights.chunks(2)) {
            let (low, high) = (&values[0], values.get(1).unwrap_or(&zeros));
            let weight = (weights[0], weights.get(1).copied().unwrap_or(K::ZERO));
            for (x, out) in (0..).zip(out.iter_mut()) {
                let values: Vec<K> = low.iter().zip(high).map(|(&zero, &one)| line(zero, one, x)).collect();
                *out += line(weight.0, weight.1, x) * self.at(&values);
            }
        }
    }
    fn bind(&mut self, variable: usize, rho: K, r: K) {
        if variable >= self.columns.shape.variables() {
            self.weights[0] *= rho * r + (K::ONE - rho) * (K::ONE - r);
            return;
        }
        let zeros = vec![K::ZERO; self.values[0].len()];
        let line = |zero: K, one: K| zero + r * (one - zero);
        self.values = self
            .values
            .chunks(2)
            .map(|pair| {
                let (low, high) = (&pair[0], pair.get(1).unwrap_or(&zeros));
                low.iter().zip(high).map(|(&zero, &one)| line(zero, one)).collect()
            })
            .collect();
        self.weights =
            self.weights.chunks(2).map(|pair| line(pair[0], pair.get(1).copied().unwrap_or(K::ZERO))).collect();
    }

    /// The polynomial of the table on the values of a row.
    fn at(&self, values: &[K]) -> K {
        let Sum { powers, factors, forms, products, program, results, .. } = &self.sum;
        let (power, rest) = values.split_at(powers.len());
        let (factor, rest) = rest.split_at(factors.len());
        let (columns, form) = rest.split_at(rest.len() - forms.len());
        let seventh = |x: K| {
            let cube = x * x * x;
            cube * cube * x
        };
        let mut sum = form[0] + powers.iter().zip(power).map(|(&mu, &x)| mu * seventh(x)).sum::<K>();
        for product in products {
            let factors =
                product.second.map_or(factor[product.factor], |second| factor[product.factor] * factor[second]);
            sum += factors * form[product.form];
        }
        let mut registers = columns.to_vec();
        registers.push(K::ZERO);
        for &(q, [a, b, c]) in &program.steps {
            registers.push(combine(q, registers[a], registers[b], registers[c]));
        }
        sum + results.iter().map(|&(register, weight)| weight * registers[register]).sum::<K>()
    }
}
