//! Eight permutations by 52-bit multiplications.
//!
//! **Words.** A state is twelve vectors of any representatives below 2^64. The multipliers read the low 52 bits of a word, so
//! that a word x is taken as x mod 2^52 and x >> 52. Between the products of an S-box a word is a pair (l, u) that stands for
//! (l mod 2^52) + 2^52 u with u below 2^24: see [`fold52`].
//!
//! **Products** come as three sums (p0, p1, p2) of weights 1, 2^52 and 2^104, with p0 < 2^52 before what it began
//! at, p1 < 2^54, p2 < 2^46. Modulo p, 2^64 = 2^32 - 1 and 2^96 = -1, so that with p1 = r + 2^12 q
//!
//! ```text
//! p0 + 2^52 p1 + 2^104 p2 = p0 + 2^52 r + 2^32 q - q - 2^8 p2.
//! ```
//!
//! **MDS.** The matrix is applied over the integers to two halves l, h of a word l + 2^32 h, as the cyclic convolution of 3
//! by 4 of [`super::super::full`]. Its rows sum to at most 264 < 2^8.05. In the full rounds l is signed and l, h are what the
//! S-box left; the constants that follow carry an offset ([`constants`]) that makes the sums non-negative. In the partial
//! rounds, words 1 to 11 pass three matrices before halves are made anew, and of the constants only those of word 0 are left
//! inside: the others are moved behind the last partial round.
//!
//! **Interleaving.** S-boxes are taken six at a time, and partial rounds of several vectors of states side by side, since a
//! chain of dependent products would leave the multipliers idle.

mod constants;
#[cfg(test)]
mod tests;

use self::constants::{CONSTANTS, Halves};
use super::super::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, RATE, WIDTH, permute};
use super::{Mode, Rows};
use crate::field::EPSILON;
use crate::lanes::arch::Avx512Ifma;
use crate::lanes::{Body, LANES, Lanes};
use crate::{Digest, Goldilocks};

type W = Avx512Ifma;
type V = <Avx512Ifma as Lanes>::V;
/// Word i of eight states, i from 0 to 11.
type State = [V; WIDTH];

/// Vectors of states that are permuted side by side.
const GROUPS: usize = 4;
/// S-boxes of a full round that are interleaved.
const SBOXES: usize = 6;
/// Fewer states than this go one after the other.
const FEW: usize = 3;
/// Partial rounds between two times that halves are made anew.
const STRIDE: usize = 3;

/// f(0) to f(N - 1), by a loop that is inlined and unrolled in every build. `f` should be an operation or two.
#[inline(always)]
fn from_fn<T: Copy, const N: usize>(f: impl Fn(usize) -> T) -> [T; N] {
    let mut out = [f(0); N];
    let mut i = 1;
    while i < N {
        out[i] = f(i);
        i += 1;
    }
    out
}

/// Three sums of weights 1, 2^52, 2^104, for N words.
type Sums<const N: usize> = ([V; N], [V; N], [V; N]);

/// r + 2^32 - 1 in the lanes where the sum r = x + y has wrapped.
#[inline(always)]
fn carry(w: W, r: V, x: V) -> V {
    w.add_where_less(r, w.splat(EPSILON), r, x)
}

/// x + c modulo p, for c < p.
#[inline(always)]
fn add_constant(w: W, x: V, c: u64) -> V {
    let c = w.splat(c);
    carry(w, w.add(x, c), c)
}

/// `start` + (a + 2^52 ah) (b + 2^52 bh), for high words below 2^24. Of a and b only the low 52 bits count.
#[inline(always)]
fn product<const N: usize>(w: W, start: V, a: &[V; N], ah: &[V; N], b: &[V; N], bh: &[V; N]) -> Sums<N> {
    let zero = w.splat(0);
    let p1: [V; N] = from_fn(|i| w.mul52_high(zero, a[i], b[i]));
    let p2: [V; N] = from_fn(|i| w.mul52_high(zero, ah[i], b[i]));
    let p0: [V; N] = from_fn(|i| w.mul52_low(start, a[i], b[i]));
    let p1: [V; N] = from_fn(|i| w.mul52_low(p1[i], ah[i], b[i]));
    let p2: [V; N] = from_fn(|i| w.mul52_high(p2[i], a[i], bh[i]));
    let p1: [V; N] = from_fn(|i| w.mul52_low(p1[i], a[i], bh[i]));
    let p2: [V; N] = from_fn(|i| w.mul52_low(p2[i], ah[i], bh[i]));
    (p0, p1, p2)
}

/// [`product`] of equal factors.
#[inline(always)]
fn square<const N: usize>(w: W, start: V, a: &[V; N], ah: &[V; N]) -> Sums<N> {
    let zero = w.splat(0);
    let twice: [V; N] = from_fn(|i| w.add(ah[i], ah[i]));
    let p1: [V; N] = from_fn(|i| w.mul52_high(zero, a[i], a[i]));
    let p2: [V; N] = from_fn(|i| w.mul52_high(zero, twice[i], a[i]));
    let p0: [V; N] = from_fn(|i| w.mul52_low(start, a[i], a[i]));
    let p1: [V; N] = from_fn(|i| w.mul52_low(p1[i], twice[i], a[i]));
    let p2: [V; N] = from_fn(|i| w.mul52_low(p2[i], ah[i], ah[i]));
    (p0, p1, p2)
}

/// A product, begun at -(2^32 - 1), as (l, u) for (l mod 2^52) + 2^52 u.
///
/// l = p0 + (2^32 q mod 2^52) - q - 2^8 p2 may be negative, down to -2^55; u takes its carry and an offset of 2^12 that keeps
/// it above 0. The offset weighs 2^64 = 2^32 - 1, which is where the product began. u < 2^12 + 2^12 + 2^22 + 2^2.
#[inline(always)]
fn fold52<const N: usize>(w: W, (p0, p1, p2): Sums<N>) -> ([V; N], [V; N]) {
    let (offset, low12, low52) = (w.splat(1 << 12), w.splat((1 << 12) - 1), w.splat((1 << 52) - 1));
    let q: [V; N] = from_fn(|i| w.shr::<12>(p1[i]));
    let minus: [V; N] = from_fn(|i| w.add(q[i], w.shl::<8>(p2[i])));
    let plus: [V; N] = from_fn(|i| w.and(w.shl::<32>(q[i]), low52));
    let l: [V; N] = from_fn(|i| w.add(w.sub(p0[i], minus[i]), plus[i]));
    let u: [V; N] = from_fn(|i| w.add(w.or_and(offset, p1[i], low12), w.shr::<32>(p1[i])));
    let u = from_fn(|i| w.add(u[i], w.shr_signed::<52>(l[i])));
    (l, u)
}

/// x^7, not reduced.
#[inline(always)]
fn power7<const N: usize>(w: W, x: &[V; N]) -> Sums<N> {
    let start = w.splat(EPSILON.wrapping_neg());
    let xh: [V; N] = from_fn(|i| w.shr::<52>(x[i]));
    let (x2, x2h) = fold52(w, square(w, start, x, &xh));
    let (x3, x3h) = fold52(w, product(w, start, x, &xh, &x2, &x2h));
    let (x4, x4h) = fold52(w, square(w, start, &x2, &x2h));
    product(w, w.splat(0), &x3, &x3h, &x4, &x4h)
}

/// A product as halves: -2^54 - 2^43 < l < 2^32, 0 <= h < 2^43.
#[inline(always)]
fn split_product(w: W, p0: V, p1: V, p2: V) -> (V, V) {
    let q = w.shr::<12>(p1);
    let l = w.sub(w.and(p0, w.splat(EPSILON)), w.add(q, w.shl::<8>(p2)));
    let h = w.add(w.add(w.shr::<32>(p0), w.and(w.shl::<20>(p1), w.splat(0xfff0_0000))), q);
    (l, h)
}

/// A product as a word.
#[inline(always)]
fn reduce_product(w: W, p0: V, p1: V, p2: V) -> V {
    // 2^64 q = (2^32 - 1) (q mod 2^32) - (q >> 32), and q >> 32 = p1 >> 44. p0 is below 2^52: nothing starts it.
    let plus = w.add(p0, w.shl::<52>(p1));
    let minus = w.add(w.shr::<44>(p1), w.shl::<8>(p2));
    let d = w.sub_where_less(w.sub(plus, minus), w.splat(EPSILON), plus, minus);
    let q = w.mul32(w.shr::<12>(p1), w.splat(EPSILON));
    carry(w, w.add(d, q), q)
}

/// The word l + 2^32 h for l < 2^63 and h < 2^64 with h >> 32 < 2^30, by 32-bit products.
#[inline(always)]
fn join(w: W, l: V, h: V) -> V {
    let u = w.add(l, w.mul32(w.shr::<32>(h), w.splat(EPSILON)));
    let high = w.shl::<32>(h);
    carry(w, w.add(high, u), high)
}

/// [`join`] for h < 2^52, by 52-bit products.
#[inline(always)]
fn join52(w: W, l: V, h: V) -> V {
    let u = w.mul52_low(l, w.shr::<32>(h), w.splat(EPSILON));
    let high = w.shl::<32>(h);
    carry(w, w.add(high, u), high)
}

/// The transform of four halves, as in `full`.
#[derive(Clone, Copy)]
struct Frequencies {
    zero: V,
    two: V,
    re: V,
    im: V,
}

/// Of the words that are j modulo 3.
#[inline(always)]
fn transform(w: W, s: &State, j: usize) -> Frequencies {
    let [a, b, c, d] = [s[4 * j], s[(4 * j + 9) % WIDTH], s[(4 * j + 6) % WIDTH], s[(4 * j + 3) % WIDTH]];
    let (even, odd) = (w.add(a, c), w.add(b, d));
    Frequencies { zero: w.add(even, odd), two: w.sub(even, odd), re: w.sub(a, c), im: w.sub(b, d) }
}

/// The product of the MDS matrix with twelve halves, over the integers modulo 2^64.
#[inline(always)]
fn convolve(w: W, s: &State) -> State {
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

/// S-boxes, matrix and the constants behind it.
struct FullRound<'a>(&'a mut State, &'a [Halves; WIDTH]);

impl Body<W> for FullRound<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: W) {
        full_round(w, self.0, self.1);
    }
}

#[inline(always)]
fn full_round(w: W, s: &mut State, c: &[Halves; WIDTH]) {
    let (mut l, mut h) = (*s, *s);
    for start in (0..WIDTH).step_by(SBOXES) {
        let x: [V; SBOXES] = from_fn(|i| s[start + i]);
        let (p0, p1, p2) = power7(w, &x);
        for i in 0..SBOXES {
            (l[start + i], h[start + i]) = split_product(w, p0[i], p1[i], p2[i]);
        }
    }
    let (l, h) = (convolve(w, &l), convolve(w, &h));
    for i in 0..WIDTH {
        s[i] = join52(w, w.add(l[i], w.splat(c[i].low)), w.add(h[i], w.splat(c[i].high)));
    }
}

/// Halves below 2^32.
#[inline(always)]
fn split(w: W, x: V) -> (V, V) {
    (w.and(x, w.splat(EPSILON)), w.shr::<32>(x))
}

/// The S-box on word 0 of every state, as halves.
struct FirstWords<'a, const G: usize>(&'a [V; G], &'a mut [State; G], &'a mut [State; G]);

impl<const G: usize> Body<W> for FirstWords<'_, G> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: W) {
        let (p0, p1, p2) = power7(w, self.0);
        for g in 0..G {
            (self.1[g][0], self.2[g][0]) = split(w, reduce_product(w, p0[g], p1[g], p2[g]));
        }
    }
}

/// [`convolve`] in place.
struct Convolve<'a>(&'a mut State);

impl Body<W> for Convolve<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: W) {
        *self.0 = convolve(w, self.0);
    }
}

/// Words 1 to 11 to halves below 2^32.
struct Renew<'a>(&'a mut State, &'a mut State);

impl Body<W> for Renew<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, w: W) {
        for i in 1..WIDTH {
            (self.0[i], self.1[i]) = split(w, join(w, self.0[i], self.1[i]));
        }
    }
}

#[inline(always)]
fn partial_rounds<const G: usize>(w: W, states: &mut [State; G]) {
    let (mut l, mut h) = (*states, *states);
    let mut x: [V; G] = from_fn(|g| states[g][0]);
    for g in 0..G {
        for i in 1..WIDTH {
            (l[g][i], h[g][i]) = split(w, states[g][i]);
        }
    }
    for r in 0..PARTIAL_ROUNDS {
        let c = CONSTANTS.partial[r];
        w.outline(FirstWords(&x, &mut l, &mut h));
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
    for g in 0..G {
        states[g][0] = x[g];
        for i in 1..WIDTH {
            states[g][i] = join(w, l[g][i], h[g][i]);
        }
    }
}

/// The permutation of 8 G states of any representatives, to representatives below 2^64.
#[inline(always)]
fn permute_groups<const G: usize>(w: W, states: &mut [State; G]) {
    for s in states.iter_mut() {
        *s = from_fn(|i| add_constant(w, s[i], CONSTANTS.first[i]));
        for c in &CONSTANTS.full[..HALF_FULL_ROUNDS] {
            w.outline(FullRound(s, c));
        }
    }
    partial_rounds(w, states);
    for s in states.iter_mut() {
        *s = from_fn(|i| add_constant(w, s[i], CONSTANTS.middle[i]));
        for c in &CONSTANTS.full[HALF_FULL_ROUNDS..] {
            w.outline(FullRound(s, c));
        }
    }
}

/// The least representatives.
#[inline(always)]
fn canonical(w: W, x: V) -> V {
    w.min(x, w.sub(x, w.splat(Goldilocks::ORDER)))
}

#[inline(always)]
fn load(w: W, words: &[Goldilocks; LANES]) -> V {
    w.load(&words.map(Goldilocks::as_u64))
}

/// Lanes as rows, canonical.
#[inline(always)]
fn store_rows(w: W, columns: [V; LANES]) -> [[Goldilocks; LANES]; LANES] {
    let rows = w.transpose(from_fn(|i| canonical(w, columns[i])));
    from_fn(|j| store(w, rows[j]))
}

#[inline(always)]
fn store(w: W, x: V) -> [Goldilocks; LANES] {
    let mut words = [0; LANES];
    w.store(x, &mut words);
    words.map(Goldilocks::from_word_below_order)
}

/// Eight G states from `states`, of which those behind its end repeat the last.
#[inline(always)]
fn permute_chunk<const G: usize>(w: W, states: &mut [[Goldilocks; WIDTH]]) {
    const REST: usize = WIDTH - LANES;
    let last = states.len() - 1;
    let mut vectors = [[w.splat(0); WIDTH]; G];
    for (g, vector) in vectors.iter_mut().enumerate() {
        let row = |j: usize| &states[(LANES * g + j).min(last)];
        let head = w.transpose(from_fn(|j| load(w, row(j).first_chunk().expect("twelve words"))));
        let tail = w.transpose(from_fn(|j| load(w, row(j).last_chunk().expect("twelve words"))));
        vector[..LANES].copy_from_slice(&head);
        vector[LANES..].copy_from_slice(&tail[LANES - REST..]);
    }
    permute_groups(w, &mut vectors);
    for (vector, rows) in vectors.iter().zip(states.chunks_mut(LANES)) {
        let head = store_rows(w, from_fn(|i| vector[i]));
        let tail = store_rows(w, from_fn(|i| vector[REST + i]));
        for ((row, head), tail) in rows.iter_mut().zip(head).zip(tail) {
            row[..REST].copy_from_slice(&head[..REST]);
            row[REST..].copy_from_slice(&tail);
        }
    }
}

#[inline(always)]
pub(super) fn permute_many(w: W, states: &mut [[Goldilocks; WIDTH]]) {
    let mut chunks = states.chunks_exact_mut(GROUPS * LANES);
    for chunk in &mut chunks {
        permute_chunk::<GROUPS>(w, chunk);
    }
    for chunk in chunks.into_remainder().chunks_mut(LANES) {
        if chunk.len() < FEW {
            chunk.iter_mut().for_each(permute);
        } else {
            permute_chunk::<1>(w, chunk);
        }
    }
}

/// Rows from `first` on to digests, at most eight G of them.
#[inline(always)]
fn sponge_chunk<const G: usize, R: Rows>(w: W, rows: R, first: usize, mode: Mode, digests: &mut [Digest]) {
    let last = first + digests.len() - 1;
    let mut vectors = [[w.splat(0); WIDTH]; G];
    for vector in &mut vectors {
        vector[RATE] = w.splat(mode.tag().as_u64());
    }
    for start in (0..rows.width()).step_by(RATE) {
        let len = (rows.width() - start).min(RATE);
        for (g, vector) in vectors.iter_mut().enumerate() {
            let base = first + LANES * g;
            let block = w.transpose(from_fn(|j| load(w, &rows.block((base + j).min(last), start))));
            mode.absorb(vector, &block, start, len);
        }
        permute_groups(w, &mut vectors);
    }
    for (vector, digests) in vectors.iter().zip(digests.chunks_mut(LANES)) {
        let words = store_rows(w, from_fn(|i| vector[i]));
        for (digest, row) in digests.iter_mut().zip(words) {
            *digest = Digest([row[0], row[1], row[2], row[3]]);
        }
    }
}

#[inline(always)]
pub(super) fn sponge<R: Rows>(w: W, rows: R, mode: Mode, digests: &mut [Digest]) {
    let mut first = 0;
    let mut chunks = digests.chunks_exact_mut(GROUPS * LANES);
    for chunk in &mut chunks {
        sponge_chunk::<GROUPS, R>(w, rows, first, mode, chunk);
        first += chunk.len();
    }
    for chunk in chunks.into_remainder().chunks_mut(LANES) {
        if chunk.len() < FEW {
            super::sponge(rows, first, mode, chunk);
        } else {
            sponge_chunk::<1, R>(w, rows, first, mode, chunk);
        }
        first += chunk.len();
    }
}
