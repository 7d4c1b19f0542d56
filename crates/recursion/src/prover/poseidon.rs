//! Rows of Poseidon gates, eight at a time.
//!
//! A row holds the inputs and outputs of a permutation, the input of each S-box but those of the first round, and a swap
//! of two digests. [`rounds`] walks through the permutation and asks [`SboxInputs`] at each S-box: [`Trace`] writes down what
//! the S-box reads, which makes a row of the witness; the quotient compares it with the row's wire and goes on with that.
//!
//! The matrix is applied to low and high halves of words over the integers, as a cyclic convolution of 3 by 4; in the partial
//! rounds, words 1 to 11 pass three matrices before halves are made anew. Constants of partial rounds are moved to word 0 and
//! behind the last of these rounds.

use std::sync::LazyLock;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes, Loose};
use evergrove_primitives::hash::poseidon::WIDTH;
use evergrove_primitives::lanes::{Body, LANES, Lanes};
use plonky2::hash::poseidon::{ALL_ROUND_CONSTANTS, Poseidon};

use super::F;

/// Wires of a row.
pub(super) const WIRES: usize = 135;
/// Inputs are the first wires, outputs the twelve behind them.
pub(super) const OUTPUT: usize = WIDTH;
/// Whether the digests in inputs 0 to 3 and 4 to 7 change places.
pub(super) const SWAP: usize = 2 * WIDTH;
/// swap (input\[i + 4\] - input\[i\]), four wires.
pub(super) const DELTA: usize = SWAP + 1;
const FULL_0: usize = DELTA + 4;
const PARTIAL: usize = FULL_0 + WIDTH * (HALF_FULL - 1);
const FULL_1: usize = PARTIAL + PARTIAL_ROUNDS;

const HALF_FULL: usize = 4;
const PARTIAL_ROUNDS: usize = 22;
/// Partial rounds between two times that halves are made anew.
const STRIDE: usize = 3;
/// 2^64 mod p.
const EPSILON: u64 = 0xffff_ffff;

/// What is added in front of the S-boxes.
struct Constants {
    full: [[Goldilocks; WIDTH]; 2 * HALF_FULL],
    /// To word 0.
    partial: [Goldilocks; PARTIAL_ROUNDS],
}

static CONSTANTS: LazyLock<Constants> = LazyLock::new(|| {
    let round = |r: usize| -> [Goldilocks; WIDTH] {
        core::array::from_fn(|i| Goldilocks::reduce(ALL_ROUND_CONSTANTS[WIDTH * r + i]))
    };
    let mut full = core::array::from_fn(|r| round(if r < HALF_FULL { r } else { r + PARTIAL_ROUNDS }));
    // What the constants of all partial rounds so far amount to, word 0 apart, which the S-box has taken.
    let mut moved = round(HALF_FULL);
    let partial = core::array::from_fn(|r| {
        let word0 = core::mem::replace(&mut moved[0], Goldilocks::ZERO);
        let next = round(HALF_FULL + r + 1);
        let product = multiply(&moved);
        moved = core::array::from_fn(|i| product[i] + next[i]);
        word0
    });
    full[HALF_FULL] = moved;
    Constants { full, partial }
});

/// The product of the MDS matrix with a state.
fn multiply(state: &[Goldilocks; WIDTH]) -> [Goldilocks; WIDTH] {
    core::array::from_fn(|r| {
        let circulant = (0..WIDTH).map(|i| Goldilocks::new(F::MDS_MATRIX_CIRC[i]) * state[(i + r) % WIDTH]);
        circulant.sum::<Goldilocks>() + Goldilocks::new(F::MDS_MATRIX_DIAG[r]) * state[r]
    })
}

type State<V> = [Loose<V>; WIDTH];

/// What an S-box takes in place of what the rounds before it have computed.
pub(super) trait SboxInputs<L: Lanes> {
    /// The input of the S-box whose wire is `wire`.
    fn input(&mut self, f: GoldilocksLanes<L>, wire: usize, computed: Loose<L::V>) -> Loose<L::V>;
}

/// Twelve words of a state by their halves.
struct Halves<V> {
    low: [V; WIDTH],
    high: [V; WIDTH],
}

impl<V: Copy> Halves<V> {
    #[inline(always)]
    fn split<L: Lanes<V = V>>(f: GoldilocksLanes<L>, s: &State<V>) -> Self {
        let mut out = Self { low: [f.lanes().splat(0); WIDTH], high: [f.lanes().splat(0); WIDTH] };
        for (i, word) in s.iter().enumerate() {
            out.set(f, i, *word);
        }
        out
    }

    #[inline(always)]
    fn set<L: Lanes<V = V>>(&mut self, f: GoldilocksLanes<L>, i: usize, word: Loose<V>) {
        let (l, word) = (f.lanes(), f.to_vector(word));
        self.low[i] = l.and(word, l.splat(EPSILON));
        self.high[i] = l.shr::<32>(word);
    }

    #[inline(always)]
    fn multiply<L: Lanes<V = V>>(&mut self, l: L) {
        self.low = convolve(l, &self.low);
        self.high = convolve(l, &self.high);
    }

    /// low + 2^32 high, for halves below 2^57: the high half's upper part weighs 2^64 = 2^32 - 1.
    #[inline(always)]
    fn word<L: Lanes<V = V>>(&self, f: GoldilocksLanes<L>, i: usize) -> Loose<V> {
        let (l, epsilon) = (f.lanes(), f.lanes().splat(EPSILON));
        let part = l.add(self.low[i], l.mul32(l.shr::<32>(self.high[i]), epsilon));
        let sum = l.add(part, l.shl::<32>(self.high[i]));
        f.from_vector(l.add_where_less(sum, epsilon, sum, part))
    }

    #[inline(always)]
    fn join<L: Lanes<V = V>>(&self, f: GoldilocksLanes<L>) -> State<V> {
        let mut out = [f.from_vector(self.low[0]); WIDTH];
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.word(f, i);
        }
        out
    }
}

/// The sums and differences of four words that are equal modulo 3: their transform.
#[inline(always)]
fn transform<L: Lanes>(l: L, s: &[L::V; WIDTH], j: usize) -> [L::V; 4] {
    let [a, b, c, d] = [s[4 * j], s[(4 * j + 9) % WIDTH], s[(4 * j + 6) % WIDTH], s[(4 * j + 3) % WIDTH]];
    let (even, odd) = (l.add(a, c), l.add(b, d));
    [l.add(even, odd), l.sub(even, odd), l.sub(a, c), l.sub(b, d)]
}

/// The product of the MDS matrix with twelve words below 2^55, over the integers. Its rows sum to 264 at most.
#[inline(always)]
fn convolve<L: Lanes>(l: L, s: &[L::V; WIDTH]) -> [L::V; WIDTH] {
    let f = [transform(l, s, 0), transform(l, s, 1), transform(l, s, 2)];
    let sum = l.add(l.add(f[0][0], f[1][0]), f[2][0]);
    let mut out = *s;
    for r in 0..3 {
        let [x, y, z] = [f[r], f[(r + 1) % 3], f[(r + 2) % 3]];
        // The spectrum of the matrix: (16, 16, 32); (-1, 2, 8); (2 + i, -16 + i, -1 + 4i), conjugated.
        let zero = l.shl::<4>(l.add(sum, z[0]));
        let two = l.add(l.sub(l.shl::<3>(z[1]), x[1]), l.shl::<1>(y[1]));
        let re = l.add(l.sub(l.add(l.shl::<1>(x[2]), x[3]), l.shl::<4>(y[2])), l.sub(y[3], z[2]));
        let re = l.add(re, l.shl::<2>(z[3]));
        let im = l.sub(l.sub(l.shl::<1>(x[3]), x[2]), l.add(l.shl::<4>(y[3]), y[2]));
        let im = l.sub(im, l.add(z[3], l.shl::<2>(z[2])));
        let (even, odd) = (l.add(zero, two), l.sub(zero, two));
        out[4 * r] = l.add(even, re);
        out[(4 * r + 9) % WIDTH] = l.add(odd, im);
        out[(4 * r + 6) % WIDTH] = l.sub(even, re);
        out[(4 * r + 3) % WIDTH] = l.sub(odd, im);
    }
    // The diagonal entry.
    out[0] = l.add(out[0], l.shl::<3>(s[0]));
    out
}

/// The product of the MDS matrix with a state.
#[inline(always)]
pub(super) fn mds<L: Lanes>(f: GoldilocksLanes<L>, s: &State<L::V>) -> State<L::V> {
    let mut halves = Halves::split(f, s);
    halves.multiply(f.lanes());
    halves.join(f)
}

/// x^7.
#[inline(always)]
fn power7<L: Lanes>(f: GoldilocksLanes<L>, x: Loose<L::V>) -> Loose<L::V> {
    let square = f.square(x);
    f.mul(f.mul(x, square), f.square(square))
}

/// S-boxes and matrix.
struct FullRound<'a, V>(&'a mut State<V>);

impl<L: Lanes> Body<L> for FullRound<'_, L::V> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for x in self.0.iter_mut() {
            *x = power7(f, *x);
        }
        *self.0 = mds(f, self.0);
    }
}

/// The permutation of inputs that have been swapped.
#[inline(always)]
pub(super) fn rounds<L: Lanes, S: SboxInputs<L>>(
    f: GoldilocksLanes<L>,
    mut state: State<L::V>,
    inputs: &mut S,
) -> State<L::V> {
    let constants = &*CONSTANTS;
    for r in 0..HALF_FULL {
        for (i, (x, constant)) in state.iter_mut().zip(&constants.full[r]).enumerate() {
            *x = f.add(*x, f.splat(*constant));
            if r > 0 {
                *x = inputs.input(f, FULL_0 + WIDTH * (r - 1) + i, *x);
            }
        }
        f.lanes().outline(FullRound(&mut state));
    }
    let mut halves = Halves::split(f, &state);
    for (r, constant) in constants.partial.iter().enumerate() {
        let computed = f.add(halves.word(f, 0), f.splat(*constant));
        let read = inputs.input(f, PARTIAL + r, computed);
        halves.set(f, 0, power7(f, read));
        halves.multiply(f.lanes());
        if r % STRIDE == STRIDE - 1 {
            for i in 1..WIDTH {
                halves.set(f, i, halves.word(f, i));
            }
        }
    }
    state = halves.join(f);
    for r in 0..HALF_FULL {
        for (i, (x, constant)) in state.iter_mut().zip(&constants.full[HALF_FULL + r]).enumerate() {
            *x = inputs.input(f, FULL_1 + WIDTH * r + i, f.add(*x, f.splat(*constant)));
        }
        f.lanes().outline(FullRound(&mut state));
    }
    state
}

/// The wires of eight rows from their inputs and swaps.
pub(super) struct Trace<'a> {
    /// Inputs and, as the last, the swap.
    pub(super) given: &'a [[Goldilocks; LANES]; WIDTH + 1],
    /// Every wire.
    pub(super) wires: &'a mut [[Goldilocks; LANES]; WIRES],
}

impl evergrove_primitives::lanes::Kernel for Trace<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { given, wires } = self;
        let swap: Canonical<L::V> = f.load(&given[WIDTH]);
        wires[..WIDTH].copy_from_slice(&given[..WIDTH]);
        wires[SWAP] = given[WIDTH];
        let mut state = [Loose::from(swap); WIDTH];
        for (x, given) in state.iter_mut().zip(given) {
            *x = f.load(given).into();
        }
        for i in 0..4 {
            let (left, right) = (f.load(&given[i]), f.load(&given[i + 4]));
            let delta = f.reduce(f.mul(swap, f.sub(right, left)));
            f.store(delta, &mut wires[DELTA + i]);
            state[i] = f.add(left, delta);
            state[i + 4] = f.sub(right, delta);
        }
        let state = rounds(f, state, &mut Record(wires));
        for (i, x) in state.into_iter().enumerate() {
            f.store(f.reduce(x), &mut wires[OUTPUT + i]);
        }
    }
}

/// Writes down what S-boxes read.
struct Record<'a>(&'a mut [[Goldilocks; LANES]; WIRES]);

impl<L: Lanes> SboxInputs<L> for Record<'_> {
    #[inline(always)]
    fn input(&mut self, f: GoldilocksLanes<L>, wire: usize, computed: Loose<L::V>) -> Loose<L::V> {
        f.store(f.reduce(computed), &mut self.0[wire]);
        computed
    }
}
