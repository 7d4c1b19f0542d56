//! The rounds on vectors: eight permutations at a time.
//!
//! **Words.** A state is twelve vectors of any representatives below 2^64.
//!
//! **MDS.** The matrix is applied over the integers to two halves l, h of a word l + 2^32 h, as the cyclic convolution
//! of 3 by 4 of [`super::super::full`]. Its rows sum to at most 264 < 2^8.05. In the full rounds l is signed and l, h
//! are the outputs of the S-box; the constants that follow carry an offset ([`super::constants`]) that makes the sums
//! non-negative. In the partial rounds, words 1 to 11 pass three matrices before halves are made again, and only the
//! constants of word 0 remain inside: the others are moved after the last partial round.
//!
//! **Interleaving.** Partial rounds of several vectors of states run side by side, since each waits for the S-box of
//! the round before.

use super::super::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH};
use super::constants::{CONSTANTS, Halves};
use super::sbox::{BATCH, from_fn, power7_halves, power7_words, split};
use crate::field::EPSILON;
use crate::lanes::{Body, Isa, Lanes};

/// Word i of eight states, i from 0 to 11.
pub(super) type State<V> = [V; WIDTH];

/// The inputs of the S-boxes of eight permutations, instead of the values that the rounds before them have computed.
pub trait SboxInputs<L: Lanes> {
    /// Word `word` in full round `round`, from 0 to 7 over both halves: `x` has been computed.
    fn full(&mut self, lanes: L, round: usize, word: usize, x: L::V) -> L::V;
    /// Word 0 in partial round `round`, from 0 to 21.
    fn partial(&mut self, lanes: L, round: usize, x: L::V) -> L::V;
}

/// The permutation itself: S-boxes read the computed values.
impl<L: Lanes> SboxInputs<L> for () {
    #[inline(always)]
    fn full(&mut self, _: L, _: usize, _: usize, x: L::V) -> L::V {
        x
    }
    #[inline(always)]
    fn partial(&mut self, _: L, _: usize, x: L::V) -> L::V {
        x
    }
}

/// S-boxes of a full round that are interleaved: half of them.
const SBOXES: usize = WIDTH / 2;
/// Partial rounds after which halves are made again.
const STRIDE: usize = 3;

/// x + c modulo p, for c < p.
#[inline(always)]
pub(super) fn add_constant<L: Lanes>(w: L, x: L::V, c: u64) -> L::V {
    w.add_folded(x, w.splat(c))
}

/// The word l + 2^32 h for l < 2^63 and h < 2^64 with h >> 32 < 2^30, by 32-bit products.
#[inline(always)]
pub(super) fn join<L: Lanes>(w: L, l: L::V, h: L::V) -> L::V {
    let u = w.add(l, w.mul_low32(w.high32(h)));
    w.add_folded(u, w.shl::<32>(h))
}

/// [`join`] for h < 2^52, by 52-bit products where there are any.
#[inline(always)]
pub(super) fn join52<L: Lanes>(w: L, l: L::V, h: L::V) -> L::V {
    if L::ISA != Isa::Avx512Ifma {
        return join(w, l, h);
    }
    let u = w.mul52_low(l, w.shr::<32>(h), w.splat(EPSILON));
    w.add_folded(u, w.shl::<32>(h))
}

/// The transform of four halves, as in `full`.
#[derive(Clone, Copy)]
struct Frequencies<V> {
    zero: V,
    two: V,
    re: V,
    im: V,
}

/// Of the words that are j modulo 3.
#[inline(always)]
fn transform<L: Lanes>(w: L, s: &State<L::V>, j: usize) -> Frequencies<L::V> {
    let [a, b, c, d] = [s[4 * j], s[(4 * j + 9) % WIDTH], s[(4 * j + 6) % WIDTH], s[(4 * j + 3) % WIDTH]];
    let (even, odd) = (w.add(a, c), w.add(b, d));
    Frequencies { zero: w.add(even, odd), two: w.sub(even, odd), re: w.sub(a, c), im: w.sub(b, d) }
}

/// The product of the MDS matrix with twelve halves, over the integers modulo 2^64.
#[inline(always)]
pub(super) fn convolve<L: Lanes>(w: L, s: &State<L::V>) -> State<L::V> {
    let f = [transform(w, s, 0), transform(w, s, 1), transform(w, s, 2)];
    let sum = w.add(w.add(f[0].zero, f[1].zero), f[2].zero);
    let mut out = *s;
    for r in 0..3 {
        let [x, y, z] = [f[r], f[(r + 1) % 3], f[(r + 2) % 3]];
        // The spectrum of the matrix: (16, 16, 32); (-1, 2, 8); (2 + i, -16 + i, -1 + 4i), conjugated.
        let zero = w.shl::<4>(w.add(sum, z.zero));
        let two = w.add(w.sub(w.shl::<3>(z.two), x.two), w.shl::<1>(y.two));
        let re = w.add(w.sub(w.add(w.shl::<1>(x.re), x.im), w.shl::<4>(y.re)), w.sub(y.im, z.re));
        let re = w.add(re, w.shl::<2>(z.im));
        let im = w.sub(w.sub(w.shl::<1>(x.im), x.re), w.add(w.shl::<4>(y.im), y.re));
        let im = w.sub(im, w.add(z.im, w.shl::<2>(z.re)));
        let (even, odd) = (w.add(zero, two), w.sub(zero, two));
        out[4 * r] = w.add(even, re);
        out[(4 * r + 9) % WIDTH] = w.add(odd, im);
        out[(4 * r + 6) % WIDTH] = w.sub(even, re);
        out[(4 * r + 3) % WIDTH] = w.sub(odd, im);
    }
    // The diagonal entry.
    out[0] = w.add(out[0], w.shl::<3>(s[0]));
    out
}

/// S-boxes, matrix and the constants after it. The second state is room for high halves; its contents do not matter.
struct FullRound<'a, V>(&'a mut State<V>, &'a mut State<V>, &'a [Halves; WIDTH]);

impl<L: Lanes> Body<L> for FullRound<'_, L::V> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: L) {
        const { assert!(L::REGISTERS == 1 || L::REGISTERS == 2) };
        if L::REGISTERS == 1 {
            full_round(w, self.0, self.2);
        } else {
            full_round_by_registers(w, self.0, self.1, self.2);
        }
    }
}

#[inline(always)]
fn full_round<L: Lanes>(w: L, s: &mut State<L::V>, c: &[Halves; WIDTH]) {
    // Two batches, not a loop: its index would keep the state in memory.
    let (l0, h0) = power7_halves(w, &from_fn::<_, SBOXES>(|i| s[i]));
    let (l1, h1) = power7_halves(w, &from_fn::<_, SBOXES>(|i| s[SBOXES + i]));
    let (mut l, mut h) = ([l0[0]; WIDTH], [h0[0]; WIDTH]);
    for i in 0..SBOXES {
        (l[i], h[i]) = (l0[i], h0[i]);
        (l[SBOXES + i], h[SBOXES + i]) = (l1[i], h1[i]);
    }
    let (l, h) = (convolve(w, &l), convolve(w, &h));
    for i in 0..WIDTH {
        s[i] = join_with(w, l[i], h[i], c[i]);
    }
}

/// [`full_round`] where a vector is two registers: the state stays in memory, and the matrix takes one register at a time, whose
/// twelve words fit the sixteen registers.
#[inline(always)]
fn full_round_by_registers<L: Lanes>(w: L, l: &mut State<L::V>, h: &mut State<L::V>, c: &[Halves; WIDTH]) {
    const { assert!(BATCH == 2) };
    for i in (0..WIDTH).step_by(BATCH) {
        ([l[i], l[i + 1]], [h[i], h[i + 1]]) = power7_halves(w, &[l[i], l[i + 1]]);
    }
    mix_register(w, 0, l, h, c);
    mix_register(w, 1, l, h, c);
}

/// The matrix and the constants on register r.
#[inline(always)]
fn mix_register<L: Lanes>(w: L, r: usize, s: &mut State<L::V>, h: &State<L::V>, c: &[Halves; WIDTH]) {
    let (l, h) = (convolve(w, &register(w, s, r)), convolve(w, &register(w, h, r)));
    // In parts short enough to be unrolled, which keeps the sums in registers.
    for i in 0..4 {
        s[i] = w.with_register(s[i], r, join_with(w, l[i], h[i], c[i]));
    }
    for i in 4..8 {
        s[i] = w.with_register(s[i], r, join_with(w, l[i], h[i], c[i]));
    }
    for i in 8..WIDTH {
        s[i] = w.with_register(s[i], r, join_with(w, l[i], h[i], c[i]));
    }
}

/// [`convolve`] of register r, in place.
#[inline(always)]
fn convolve_register<L: Lanes>(w: L, r: usize, s: &mut State<L::V>) {
    let out = convolve(w, &register(w, s, r));
    for i in 0..WIDTH {
        s[i] = w.with_register(s[i], r, out[i]);
    }
}

/// Halves with a constant added as a word.
#[inline(always)]
fn join_with<L: Lanes>(w: L, l: L::V, h: L::V, c: Halves) -> L::V {
    join52(w, w.add(l, w.splat(c.low)), w.add(h, w.splat(c.high)))
}

/// Register r of each word in every register.
#[inline(always)]
fn register<L: Lanes>(w: L, s: &State<L::V>, r: usize) -> State<L::V> {
    from_fn(|i| w.register(s[i], r))
}

/// The S-box on word 0 of every state, as halves.
struct FirstWords<'a, V, const G: usize>(&'a [V; G], &'a mut [State<V>; G], &'a mut [State<V>; G]);

impl<L: Lanes, const G: usize> Body<L> for FirstWords<'_, L::V, G> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: L) {
        for (g, z) in power7_words(w, self.0).into_iter().enumerate() {
            (self.1[g][0], self.2[g][0]) = split(w, z);
        }
    }
}

/// [`convolve`] in place.
struct Convolve<'a, V>(&'a mut State<V>);

impl<L: Lanes> Body<L> for Convolve<'_, L::V> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: L) {
        const { assert!(L::REGISTERS == 1 || L::REGISTERS == 2) };
        convolve_register(w, 0, self.0);
        if L::REGISTERS == 2 {
            convolve_register(w, 1, self.0);
        }
    }
}

/// Words 1 to 11 to halves below 2^32.
struct Renew<'a, V>(&'a mut State<V>, &'a mut State<V>);

impl<L: Lanes> Body<L> for Renew<'_, L::V> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: L) {
        for i in 1..WIDTH {
            (self.0[i], self.1[i]) = split(w, join(w, self.0[i], self.1[i]));
        }
    }
}

/// The partial rounds, and the constants of the round after them. The states become their low halves and words again.
#[inline(always)]
fn partial_rounds<L: Lanes, S: SboxInputs<L>, const G: usize>(w: L, l: &mut [State<L::V>; G], inputs: &mut [S; G]) {
    let mut h = [[w.splat(0); WIDTH]; G];
    let mut x: [L::V; G] = from_fn(|g| l[g][0]);
    for (l, h) in l.iter_mut().zip(&mut h) {
        for i in 1..WIDTH {
            (l[i], h[i]) = split(w, l[i]);
        }
    }
    for r in 0..PARTIAL_ROUNDS {
        let c = CONSTANTS.partial[r];
        for g in 0..G {
            x[g] = inputs[g].partial(w, r, x[g]);
        }
        w.outline(FirstWords(&x, l, &mut h));
        for g in 0..G {
            w.outline(Convolve(&mut l[g]));
            w.outline(Convolve(&mut h[g]));
            x[g] = join(w, w.add(l[g][0], w.splat(c.low)), w.add(h[g][0], w.splat(c.high)));
            // Entries grow from 2^32 to below 2^32 264^3 < 2^57 in three rounds.
            if r % STRIDE == STRIDE - 1 {
                w.outline(Renew(&mut l[g], &mut h[g]));
            }
        }
    }
    for (g, (l, h)) in l.iter_mut().zip(&h).enumerate() {
        l[0] = x[g];
        for i in 1..WIDTH {
            let c = CONSTANTS.middle[i];
            l[i] = join(w, w.add(l[i], w.splat(c.low)), w.add(h[i], w.splat(c.high)));
        }
    }
}

/// Four full rounds from round `first` on.
#[inline(always)]
fn full_rounds<L: Lanes, S: SboxInputs<L>>(w: L, s: &mut State<L::V>, first: usize, inputs: &mut S) {
    let mut h = [w.splat(0); WIDTH];
    for (r, c) in CONSTANTS.full.iter().enumerate().skip(first).take(HALF_FULL_ROUNDS) {
        for (i, x) in s.iter_mut().enumerate() {
            *x = inputs.full(w, r, i, *x);
        }
        w.outline(FullRound(s, &mut h, c));
    }
}

/// The permutation of 8 G states of any representatives, to representatives below 2^64.
#[inline(always)]
pub(super) fn permute_groups<L: Lanes, S: SboxInputs<L>, const G: usize>(
    w: L,
    states: &mut [State<L::V>; G],
    inputs: &mut [S; G],
) {
    for (s, inputs) in states.iter_mut().zip(inputs.iter_mut()) {
        for (x, c) in s.iter_mut().zip(CONSTANTS.first) {
            *x = add_constant(w, *x, c);
        }
        full_rounds(w, s, 0, inputs);
    }
    partial_rounds(w, states, inputs);
    for (s, inputs) in states.iter_mut().zip(inputs) {
        full_rounds(w, s, HALF_FULL_ROUNDS, inputs);
    }
}

/// The product of the MDS matrix with a state of any representatives, to representatives below 2^64.
#[inline(always)]
pub(super) fn mds<L: Lanes>(w: L, s: &State<L::V>) -> State<L::V> {
    let (mut l, mut h) = (*s, *s);
    for i in 0..WIDTH {
        (l[i], h[i]) = split(w, s[i]);
    }
    let (mut l, h) = (convolve(w, &l), convolve(w, &h));
    for i in 0..WIDTH {
        l[i] = join(w, l[i], h[i]);
    }
    l
}
