//! The rounds in lanes.
//!
//! **Places.** The columns are read twice, by the first two passes; the second binds the first variable and leaves every block in a
//! *tile*: its columns one after the other, of each column the first coefficients of its rows, then the second ones. A tile is read and
//! written by one task, into one of half its rows. At [`SMALL`] rows a block the tiles are brought together into [`Halves`]: for
//! each column the values that the next variable is 0 for, then those that it is 1 for, so that blocks need not be a power of two.
//!
//! **A pass** binds the challenge of the round before and sums the coefficients of the next message while the values are in
//! registers.

use evergrove_kernels::mle::eq_table_vec;
use evergrove_kernels::sumcheck::ProverTranscript;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes};
use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::{BLOCK, BLOCK_LOG, DEGREE, End, MAX_COLUMNS, PowerSum, Shape, message_len, next_claim};

/// Rows a block below which blocks have no tiles of their own: a vector of pairs after the next binding is the least.
const SMALL: usize = 2 * LANES;

/// binomial(7, k) for k = 1, ..., 7.
const BINOMIALS: [u32; DEGREE] = [7, 21, 35, 35, 21, 7, 1];

/// Proves that the sum over the rows of eq(w, x) G(x) is `claim`: see the module. What is left is G at a point.
///
/// A wrong claim ends in a value that is not G's. What the transcript must have taken in before is what [`verify`](super::verify) says.
/// Works in 3/2 of the memory of the columns for an extension of degree two.
///
/// # Panics
/// If the sum or w is not of the shape, and if it has more than [`MAX_COLUMNS`] columns.
pub fn prove<K: Extension>(
    shape: Shape,
    sum: &PowerSum<'_, K>,
    w: &[K],
    claim: K,
    transcript: &mut impl ProverTranscript<K>,
) -> End<K> {
    prove_on(Isa::detect(), shape, sum, w, claim, transcript)
}

/// [`prove`] on a given instruction set, for tests and comparisons.
///
/// # Panics
/// As [`prove`], and if this CPU lacks the instruction set.
pub fn prove_on<K: Extension>(
    isa: Isa,
    shape: Shape,
    sum: &PowerSum<'_, K>,
    w: &[K],
    mut claim: K,
    transcript: &mut impl ProverTranscript<K>,
) -> End<K> {
    let rows = shape.rows();
    let width = sum.columns.len();
    assert!(width <= MAX_COLUMNS, "{width} columns: at most {MAX_COLUMNS}");
    assert!(sum.columns.iter().all(|column| column.len() == rows), "a value of each column for each of {rows} rows");
    assert!(
        sum.shifts.len() == width && sum.weights.len() == width,
        "a shift and a weight for each of {width} columns"
    );
    assert_eq!(sum.linear.len(), K::DEGREE * rows, "the coefficients of the linear part of {rows} rows");
    assert_eq!(w.len(), shape.variables(), "a coordinate for each variable");

    let mut blocks = eq_table_vec(&w[BLOCK_LOG..]).expect("few coordinates");
    blocks.truncate(shape.blocks());
    let mut state = State::Columns;
    let mut point = vec![K::ZERO; shape.variables()];
    let mut last = None;
    for variable in shape.order() {
        let within = eq_table_vec(&w[..variable.min(BLOCK_LOG)]).expect("few coordinates");
        let pass = Round { isa, shape, sum, within: &within, blocks: &blocks };
        let message: Vec<K>;
        (message, state) = match (state, last) {
            (State::Columns, None) => (pass.first(), State::Columns),
            (State::Columns, Some(challenge)) => pass.second(challenge),
            (State::Tiles(tiles), Some(challenge)) if tiles.rows > SMALL => pass.tiles(&tiles, challenge),
            (State::Tiles(tiles), Some(challenge)) => {
                let halves = Halves::from_tiles(isa, &tiles, challenge, shape.blocks(), width + 1);
                (pass.within_blocks(&halves), State::Halves(halves))
            }
            (State::Halves(halves), Some(challenge)) if variable < BLOCK_LOG => {
                let halves = halves.bind(isa, challenge, Next::Within);
                (pass.within_blocks(&halves), State::Halves(halves))
            }
            (State::Halves(halves), Some(challenge)) => {
                let mut halves = halves.bind(isa, challenge, Next::Blocks);
                if variable == BLOCK_LOG {
                    halves.weights = pairs(&blocks);
                }
                (pass.over_blocks(&halves), State::Halves(halves))
            }
            (State::Tiles(_) | State::Halves(_), None) => unreachable!("a challenge after each round"),
        };
        debug_assert_eq!(message.len(), message_len(variable));
        transcript.send(&message);
        let challenge = transcript.challenge();
        claim = next_claim(claim, variable, w[variable], &message, challenge);
        point[variable] = challenge;
        last = Some(challenge);
    }
    End { point, claim }
}

/// Where the values are.
enum State<K> {
    /// In the columns.
    Columns,
    /// In one tile for each block.
    Tiles(Tiles),
    /// Together.
    Halves(Halves<K>),
}

/// A tile for each block, each of as many columns, the linear part last.
struct Tiles {
    values: Vec<Goldilocks>,
    /// Rows of each.
    rows: usize,
}

const _: () = assert!(MAX_COLUMNS < <GoldilocksLanes<evergrove_primitives::lanes::Portable> as FieldLanes>::TERMS);

/// What is the same for the tasks of a round.
struct Round<'a, K> {
    isa: Isa,
    shape: Shape,
    sum: &'a PowerSum<'a, K>,
    /// eq of the variables within a block that are left after this round.
    within: &'a [K],
    /// eq of the blocks.
    blocks: &'a [K],
}

impl<K: Extension> Round<'_, K> {
    /// Elements of a tile.
    fn tile(&self, rows: usize) -> usize {
        (self.sum.columns.len() + 1) * K::DEGREE * rows
    }

    /// The coefficients c_1, ..., c_7 from those of each block.
    fn combine(&self, blocks: impl ParallelIterator<Item = [K; DEGREE]>) -> Vec<K> {
        let add = |mut a: [K; DEGREE], b: [K; DEGREE]| {
            for (a, b) in a.iter_mut().zip(b) {
                *a += b;
            }
            a
        };
        let sums = blocks.reduce(|| [K::ZERO; DEGREE], add);
        with_binomials(&sums)
    }

    /// The first round.
    fn first(&self) -> Vec<K> {
        self.combine(self.blocks.par_iter().enumerate().map(|(block, &weight)| {
            let first = First { sum: self.sum, rows: self.shape.rows(), block, within: self.within };
            dispatch_on(self.isa, first).map(|x| x * weight)
        }))
    }

    /// The second round, which makes the tiles.
    fn second(&self, challenge: K) -> (Vec<K>, State<K>) {
        let rows = BLOCK / 2;
        let tile = self.tile(rows);
        let mut values = vec![Goldilocks::ZERO; self.blocks.len() * tile];
        let blocks = values.par_chunks_exact_mut(tile).zip(self.blocks).enumerate();
        let message = self.combine(blocks.map(|(block, (to, &weight))| {
            let from = FromColumns { sum: self.sum, rows: self.shape.rows(), block };
            let later = Later { from, to, rows, weights: self.sum.weights, challenge, within: self.within };
            dispatch_on(self.isa, later).map(|x| x * weight)
        }));
        (message, State::Tiles(Tiles { values, rows }))
    }

    /// A round from tiles to tiles.
    fn tiles(&self, tiles: &Tiles, challenge: K) -> (Vec<K>, State<K>) {
        let rows = tiles.rows / 2;
        let tile = self.tile(rows);
        let mut values = vec![Goldilocks::ZERO; self.blocks.len() * tile];
        let blocks = values.par_chunks_exact_mut(tile).zip(tiles.values.par_chunks_exact(2 * tile)).zip(self.blocks);
        let message = self.combine(blocks.map(|((to, from), &weight)| {
            let from = FromTile { values: from, rows: tiles.rows };
            let later = Later { from, to, rows, weights: self.sum.weights, challenge, within: self.within };
            dispatch_on(self.isa, later).map(|x| x * weight)
        }));
        (message, State::Tiles(Tiles { values, rows }))
    }

    /// The message of a round within the blocks.
    fn within_blocks(&self, halves: &Halves<K>) -> Vec<K> {
        let weights: Vec<K> =
            self.within.iter().flat_map(|&within| self.blocks.iter().map(move |&block| within * block)).collect();
        with_binomials(&halves.sums(self.isa, self.sum.weights, &weights, None))
    }

    /// The message of a round over the blocks.
    fn over_blocks(&self, halves: &Halves<K>) -> Vec<K> {
        let (zero, step): (Vec<K>, Vec<K>) = halves.weights.iter().map(|[zero, one]| (*zero, *one - *zero)).unzip();
        // The product of the weight's line and G: c_k takes the weight at 0 with G's c_k, the step with G's c_(k-1).
        let by_zero = with_binomials(&halves.sums(self.isa, self.sum.weights, &zero, None));
        let mut constant = K::ZERO;
        let by_step = with_binomials(&halves.sums(self.isa, self.sum.weights, &step, Some(&mut constant)));
        let mut message = by_zero;
        message.push(K::ZERO);
        for (c, step) in message.iter_mut().zip([constant].iter().chain(&by_step)) {
            *c += *step;
        }
        message
    }
}

pub(crate) fn with_binomials<K: Extension>(sums: &[K; DEGREE]) -> Vec<K> {
    sums.iter().zip(BINOMIALS).map(|(&x, binomial)| x * Goldilocks::from(binomial)).collect()
}

/// `sums`\[k - 1\] + mu a^(7-k) d^k for k = 1, ..., 7: see the module.
#[inline(always)]
pub(crate) fn powers<A: FieldLanes>(f: A, mu: A::Factor, a: A::V, d: A::V, sums: &mut [A::Sum; DEGREE]) {
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
pub(crate) fn base_powers<A: FieldLanes>(
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

/// The sums of a vector's pairs, times its weights, into `totals`.
#[inline(always)]
fn weigh<A: FieldLanes>(f: A, sums: [A::Sum; DEGREE], weight: A::V, totals: &mut [A::Sum; DEGREE]) {
    let weight = f.term(weight.into());
    for (sum, total) in sums.into_iter().zip(totals) {
        let sum = f.finish(sum);
        f.accumulate_terms(total, f.term(sum.into()), weight);
    }
}

#[inline(always)]
fn finish<A: FieldLanes>(f: A, totals: [A::Sum; DEGREE]) -> [A::Element; DEGREE] {
    let [a, b, c, d, e, g, h] = totals;
    let [a, b, c, d] = [f.finish(a), f.finish(b), f.finish(c), f.finish(d)];
    let [e, g, h] = [f.finish(e), f.finish(g), f.finish(h)];
    let [a, b, c, d] = [f.sum_lanes(a), f.sum_lanes(b), f.sum_lanes(c), f.sum_lanes(d)];
    [a, b, c, d, f.sum_lanes(e), f.sum_lanes(g), f.sum_lanes(h)]
}

/// The first pass over a block of the columns.
struct First<'a, K> {
    sum: &'a PowerSum<'a, K>,
    rows: usize,
    block: usize,
    within: &'a [K],
}

impl<K: Extension> Kernel for First<'_, K> {
    type Output = [K; DEGREE];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; DEGREE] {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let Self { sum, rows, block, within } = self;
        let half = BLOCK / 2;
        let mut totals = [f.empty(); DEGREE];
        for (i, weight) in within.as_chunks::<LANES>().0.iter().enumerate() {
            let row = block * BLOCK + i * LANES;
            let mut sums = [f.empty(); DEGREE];
            for ((column, shift), mu) in sum.columns.iter().zip(sum.shifts).zip(sum.weights) {
                let (zero, one) = (load(g, column, row), load(g, column, row + half));
                let (zero, step) =
                    (FieldLanes::add(g, zero, FieldLanes::splat(g, shift)), FieldLanes::sub(g, one, zero));
                base_powers(f, g, f.term(f.splat(mu).into()), zero, step, &mut sums);
            }
            let zero = f.load_coefficients(&sum.linear[row..], rows);
            let one = f.load_coefficients(&sum.linear[row + half..], rows);
            add_slope::<K, L>(lanes, zero, one, &mut sums[0]);
            weigh(f, sums, f.load(weight), &mut totals);
        }
        finish(f, totals)
    }
}

/// Adds the slope of the linear part to c_1, divided by the binomial that c_1 takes at the end.
#[inline(always)]
fn add_slope<K: Extension, L: Lanes>(
    lanes: L,
    zero: <K::On<L> as FieldLanes>::V,
    one: <K::On<L> as FieldLanes>::V,
    sum: &mut <K::On<L> as FieldLanes>::Sum,
) {
    let f = K::on(lanes);
    f.accumulate(sum, f.lazy_sub(one, zero), f.splat(&K::from(SEVENTH)).into());
}

/// 1 / 7 modulo p.
const SEVENTH: Goldilocks = Goldilocks::new(2_635_249_152_773_512_046);

#[inline(always)]
fn load<L: Lanes>(g: GoldilocksLanes<L>, column: &[Goldilocks], row: usize) -> Canonical<L::V> {
    GoldilocksLanes::load(g, column[row..].first_chunk().expect("a whole vector"))
}

/// Values of a block before the variable is bound: those of row i and of row i + half, for eight rows.
trait Source<K: Extension> {
    /// The values with the variable bound, of column j; the linear part is the last column.
    fn bound<L: Lanes>(
        &self,
        lanes: L,
        j: usize,
        row: usize,
        challenge: <K::On<L> as FieldLanes>::Factor,
        splat: <K::On<L> as FieldLanes>::V,
    ) -> <K::On<L> as FieldLanes>::V;
}

/// A block of the columns.
struct FromColumns<'a, K> {
    sum: &'a PowerSum<'a, K>,
    rows: usize,
    block: usize,
}

impl<K: Extension> Source<K> for FromColumns<'_, K> {
    #[inline(always)]
    fn bound<L: Lanes>(
        &self,
        lanes: L,
        j: usize,
        row: usize,
        challenge: <K::On<L> as FieldLanes>::Factor,
        splat: <K::On<L> as FieldLanes>::V,
    ) -> <K::On<L> as FieldLanes>::V {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let row = self.block * BLOCK + row;
        match self.sum.columns.get(j) {
            Some(column) => {
                let [zero, one] = [load(g, column, row), load(g, column, row + BLOCK / 2)];
                let step = f.scale_base(splat.into(), g.factor(GoldilocksLanes::sub(g, one, zero)));
                f.add(step, f.embed(FieldLanes::add(g, zero, FieldLanes::splat(g, &self.sum.shifts[j]))))
            }
            None => {
                let zero = f.load_coefficients(&self.sum.linear[row..], self.rows);
                let one = f.load_coefficients(&self.sum.linear[row + BLOCK / 2..], self.rows);
                f.line(zero, one, challenge)
            }
        }
    }
}

/// A tile.
struct FromTile<'a> {
    values: &'a [Goldilocks],
    rows: usize,
}

impl<K: Extension> Source<K> for FromTile<'_> {
    #[inline(always)]
    fn bound<L: Lanes>(
        &self,
        lanes: L,
        j: usize,
        row: usize,
        challenge: <K::On<L> as FieldLanes>::Factor,
        _: <K::On<L> as FieldLanes>::V,
    ) -> <K::On<L> as FieldLanes>::V {
        let f = K::on(lanes);
        let column = &self.values[j * K::DEGREE * self.rows..];
        let zero = f.load_coefficients(&column[row..], self.rows);
        let one = f.load_coefficients(&column[row + self.rows / 2..], self.rows);
        f.line(zero, one, challenge)
    }
}

/// A pass over a block that binds a variable: into a tile of `rows` rows.
struct Later<'a, K, S> {
    from: S,
    to: &'a mut [Goldilocks],
    rows: usize,
    weights: &'a [K],
    challenge: K,
    within: &'a [K],
}

impl<K: Extension, S: Source<K>> Kernel for Later<'_, K, S> {
    type Output = [K; DEGREE];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; DEGREE] {
        let f = K::on(lanes);
        let Self { from, to, rows, weights, challenge, within } = self;
        let (splat, challenge) = (f.splat(&challenge), f.factor(&challenge));
        let half = rows / 2;
        let mut totals = [f.empty(); DEGREE];
        for (i, weight) in within.as_chunks::<LANES>().0.iter().enumerate() {
            let row = i * LANES;
            let mut sums = [f.empty(); DEGREE];
            for (j, column) in to.chunks_exact_mut(K::DEGREE * rows).enumerate() {
                let zero = from.bound(lanes, j, row, challenge, splat);
                let one = from.bound(lanes, j, row + half, challenge, splat);
                f.store_coefficients(zero, &mut column[row..], rows);
                f.store_coefficients(one, &mut column[row + half..], rows);
                match weights.get(j) {
                    Some(mu) => powers(f, f.factor(mu), zero, f.sub(one, zero), &mut sums),
                    None => add_slope::<K, L>(lanes, zero, one, &mut sums[0]),
                }
            }
            weigh(f, sums, f.load(weight), &mut totals);
        }
        finish(f, totals)
    }
}

/// Which variable comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// One within the blocks.
    Within,
    /// One of the block's number.
    Blocks,
}

/// Few values, block after block within a row's number: column j has `len` pairs, filled up with zeros to `stride`. Coefficient c
/// of what is 0 in pair i is at ((j D + c) 2 + 0) stride + i, what is 1 at ((j D + c) 2 + 1) stride + i.
struct Halves<K> {
    values: Vec<Goldilocks>,
    columns: usize,
    /// Values of a column.
    len: usize,
    stride: usize,
    /// The weights of the blocks, by pairs, once their variables are bound.
    weights: Vec<[K; 2]>,
}

impl<K: Extension> Halves<K> {
    fn empty(columns: usize, len: usize) -> Self {
        let stride = len.div_ceil(2).next_multiple_of(LANES);
        let values = vec![Goldilocks::ZERO; columns * K::DEGREE * 2 * stride];
        Self { values, columns, len, stride, weights: Vec::new() }
    }

    /// Binds the last variable of tiles, and brings them together.
    fn from_tiles(isa: Isa, tiles: &Tiles, challenge: K, blocks: usize, columns: usize) -> Self {
        let rows = tiles.rows;
        // Before binding: rows of all blocks, the halves of the variable one after the other.
        let mut all = Self::empty(columns, rows * blocks);
        let tile = columns * K::DEGREE * rows;
        for (block, values) in tiles.values.chunks_exact(tile).enumerate() {
            for (column, values) in values.chunks_exact(rows).enumerate() {
                for (row, &value) in values.iter().enumerate() {
                    let (half, row) = (row / (rows / 2), row % (rows / 2));
                    all.values[(column * 2 + half) * all.stride + row * blocks + block] = value;
                }
            }
        }
        all.bind(isa, challenge, Next::Within)
    }

    /// Binds a variable: the pairs of the next one.
    fn bind(&self, isa: Isa, challenge: K, next: Next) -> Self {
        let len = self.len.div_ceil(2);
        let mut to = Self::empty(self.columns, len);
        let mut bound = vec![Goldilocks::ZERO; K::DEGREE * self.stride];
        for column in 0..self.columns {
            let size = 2 * K::DEGREE * self.stride;
            let from = &self.values[column * size..][..size];
            dispatch_on(isa, BindHalves { from, to: &mut bound, stride: self.stride, challenge });
            for (c, values) in bound.chunks_exact(self.stride).enumerate() {
                let at = (column * K::DEGREE + c) * 2 * to.stride;
                let (zero, one) = to.values[at..][..2 * to.stride].split_at_mut(to.stride);
                let values = &values[..len];
                match next {
                    Next::Within => {
                        let (low, high) = values.split_at(len / 2);
                        zero[..low.len()].copy_from_slice(low);
                        one[..high.len()].copy_from_slice(high);
                    }
                    Next::Blocks => {
                        for (i, pair) in values.chunks(2).enumerate() {
                            zero[i] = pair[0];
                            one[i] = pair.get(1).copied().unwrap_or(Goldilocks::ZERO);
                        }
                    }
                }
            }
        }
        let line = |[zero, one]: &[K; 2]| *zero + challenge * (*one - *zero);
        to.weights = pairs(&self.weights.iter().map(line).collect::<Vec<_>>());
        to
    }

    /// The weighted sums of the coefficients without their binomials; the constant one too, where it is asked for.
    fn sums(&self, isa: Isa, mu: &[K], weights: &[K], constant: Option<&mut K>) -> [K; DEGREE] {
        let vectors = self.stride / LANES;
        let weight = |i: usize| core::array::from_fn(|lane| weights.get(i * LANES + lane).copied().unwrap_or(K::ZERO));
        let pass = |i: usize| {
            let weight: [K; LANES] = weight(i);
            dispatch_on(
                isa,
                SumHalves {
                    values: &self.values[i * LANES..],
                    stride: self.stride,
                    mu,
                    weight: &weight,
                    constant: constant.is_some(),
                },
            )
        };
        let mut total = [K::ZERO; DEGREE + 1];
        for sums in (0..vectors).into_par_iter().map(pass).collect::<Vec<_>>() {
            for (total, sum) in total.iter_mut().zip(sums) {
                *total += sum;
            }
        }
        let [zero, rest @ ..] = total;
        if let Some(constant) = constant {
            *constant = zero;
        }
        rest
    }
}

/// Neighbours, the last one with 0.
fn pairs<K: Field>(values: &[K]) -> Vec<[K; 2]> {
    values.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(K::ZERO)]).collect()
}

/// Binds the values of one column.
struct BindHalves<'a, K> {
    from: &'a [Goldilocks],
    to: &'a mut [Goldilocks],
    stride: usize,
    challenge: K,
}

impl<K: Extension> Kernel for BindHalves<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = K::on(lanes);
        let challenge = f.factor(&self.challenge);
        for i in (0..self.stride).step_by(LANES) {
            let zero = f.load_coefficients(&self.from[i..], 2 * self.stride);
            let one = f.load_coefficients(&self.from[self.stride + i..], 2 * self.stride);
            f.store_coefficients(f.line(zero, one, challenge), &mut self.to[i..], self.stride);
        }
    }
}

/// The sums of one vector of pairs: that of the constant coefficient, then the others without binomials.
struct SumHalves<'a, K> {
    values: &'a [Goldilocks],
    stride: usize,
    mu: &'a [K],
    weight: &'a [K; LANES],
    constant: bool,
}

impl<K: Extension> Kernel for SumHalves<'_, K> {
    type Output = [K; DEGREE + 1];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [K; DEGREE + 1] {
        let f = K::on(lanes);
        let mut sums = [f.empty(); DEGREE];
        let mut constant = f.empty();
        let size = 2 * K::DEGREE * self.stride;
        for (j, mu) in self.mu.iter().enumerate() {
            let column = &self.values[j * size..];
            let zero = f.load_coefficients(column, 2 * self.stride);
            let one = f.load_coefficients(&column[self.stride..], 2 * self.stride);
            let mu = f.factor(mu);
            powers(f, mu, zero, f.sub(one, zero), &mut sums);
            if self.constant {
                let square = f.square(zero);
                let seventh = f.mul(f.square(square), f.mul(square, zero));
                f.accumulate(&mut constant, f.scale(seventh.into(), mu).into(), f.splat(&K::ONE).into());
            }
        }
        let column = &self.values[self.mu.len() * size..];
        let zero = f.load_coefficients(column, 2 * self.stride);
        let one = f.load_coefficients(&column[self.stride..], 2 * self.stride);
        let unit = f.splat(&K::ONE);
        add_slope::<K, L>(lanes, zero, one, &mut sums[0]);
        f.accumulate(&mut constant, zero.into(), unit.into());
        let weight = f.load(self.weight);
        let mut totals = [f.empty(); DEGREE];
        weigh(f, sums, weight, &mut totals);
        let [one, two, three, four, five, six, seven] = finish(f, totals);
        let zero = f.sum_lanes(f.mul(f.finish(constant), weight));
        [zero, one, two, three, four, five, six, seven]
    }
}
