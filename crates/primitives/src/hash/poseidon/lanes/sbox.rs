//! The S-box x^7 on vectors, by products of 52 bits or of 32.
//!
//! **Products of 52 bits**, on AVX-512 IFMA. The multipliers read the low 52 bits of a word, so a word x is split into
//! x mod 2^52 and x >> 52. Between the products of an S-box a word is a pair (l, u) that represents (l mod 2^52) + 2^52
//! u with u below 2^24: see [`fold52`]. A product is three sums (p0, p1, p2) of weights 1, 2^52 and 2^104, with p0 <
//! 2^52 before its initial value is added, p1 < 2^54, p2 < 2^46. Modulo p, 2^64 = 2^32 - 1 and 2^96 = -1, so with p1 =
//! r + 2^12 q
//!
//! ```text
//! p0 + 2^52 p1 + 2^104 p2 = p0 + 2^52 r + 2^32 q - q - 2^8 p2.
//! ```
//!
//! The multipliers also shift, mask and add in one instruction: the product with 2^k has the low 52 bits of x << k in its low
//! half, and x >> (52 - k) in its high one.
//!
//! **Products of 32 bits**, elsewhere. A product takes four of them, and is its lowest two words of 32 bits and its
//! upper word of 64. A square takes three, and is two words of 64 bits. Plain Rust processes words one by one.
//!
//! **Interleaving.** Several S-boxes are computed at a time, since a chain of dependent products would leave the
//! multipliers idle.

use super::super::full::sbox;
use crate::field::{EPSILON, partial_reduce};
use crate::lanes::{Isa, LANES, Lanes};

/// f(0) to f(N - 1), by a loop that is inlined and unrolled in every build. `f` should be one or two operations.
#[inline(always)]
pub(super) fn from_fn<T: Copy, const N: usize>(f: impl Fn(usize) -> T) -> [T; N] {
    let mut out = [f(0); N];
    let mut i = 1;
    while i < N {
        out[i] = f(i);
        i += 1;
    }
    out
}

/// Halves below 2^32 of words.
#[inline(always)]
pub(super) fn split<L: Lanes>(w: L, x: L::V) -> (L::V, L::V) {
    (w.and(x, w.splat(EPSILON)), w.shr::<32>(x))
}

/// x^7 of one word after the other.
#[inline(always)]
fn power7_each<L: Lanes>(w: L, x: L::V) -> L::V {
    let mut words = [0; LANES];
    w.store(x, &mut words);
    for word in &mut words {
        *word = partial_reduce(sbox(*word));
    }
    w.load(&words)
}

/// S-boxes that are interleaved on AVX2. More are slower: they do not fit the registers.
pub(super) const BATCH: usize = 2;

/// x^7 as halves (l, h) with l + 2^32 h = x^7: -2^54 - 2^43 < l < 2^32 and 0 <= h < 2^43.
#[inline(always)]
pub(super) fn power7_halves<L: Lanes, const N: usize>(w: L, x: &[L::V; N]) -> ([L::V; N], [L::V; N]) {
    let (mut l, mut h) = (*x, *x);
    if L::ISA == Isa::Avx512Ifma {
        let (p0, p1, p2) = power7_52(w, x);
        for i in 0..N {
            (l[i], h[i]) = split_product52(w, p0[i], p1[i], p2[i]);
        }
    } else if L::ISA == Isa::Portable {
        for i in 0..N {
            (l[i], h[i]) = split(w, power7_each(w, x[i]));
        }
    } else {
        let (low, middle, high) = power7_32(w, x);
        for i in 0..N {
            (l[i], h[i]) = split_product32(w, low[i], middle[i], high[i]);
        }
    }
    (l, h)
}

/// x^7 as words.
#[inline(always)]
pub(super) fn power7_words<L: Lanes, const N: usize>(w: L, x: &[L::V; N]) -> [L::V; N] {
    let mut out = *x;
    if L::ISA == Isa::Avx512Ifma {
        let (p0, p1, p2) = power7_52(w, x);
        for i in 0..N {
            out[i] = reduce_product52(w, p0[i], p1[i], p2[i]);
        }
    } else if L::ISA == Isa::Avx512 {
        out = reduce_product32(w, power7_32(w, x));
    } else if L::ISA == Isa::Portable {
        for i in 0..N {
            out[i] = power7_each(w, x[i]);
        }
    } else {
        for i in (0..N / BATCH * BATCH).step_by(BATCH) {
            let batch: [L::V; BATCH] = from_fn(|k| x[i + k]);
            let words = reduce_product32(w, power7_32(w, &batch));
            const { assert!(BATCH == 2) };
            (out[i], out[i + 1]) = (words[0], words[1]);
        }
        for i in N / BATCH * BATCH..N {
            [out[i]] = reduce_product32(w, power7_32(w, &[x[i]]));
        }
    }
    out
}

/// Three sums of weights 1, 2^52, 2^104, for N words.
pub(super) type Sums<V, const N: usize> = ([V; N], [V; N], [V; N]);

/// `start` + (a + 2^52 ah) (b + 2^52 bh), for high words below 2^24. Only the low 52 bits of a and b count.
#[inline(always)]
fn product<L: Lanes, const N: usize>(
    w: L,
    start: L::V,
    a: &[L::V; N],
    ah: &[L::V; N],
    b: &[L::V; N],
    bh: &[L::V; N],
) -> Sums<L::V, N> {
    let zero = w.splat(0);
    let p1: [L::V; N] = from_fn(|i| w.mul52_high(zero, a[i], b[i]));
    let p2: [L::V; N] = from_fn(|i| w.mul52_high(zero, ah[i], b[i]));
    let p0: [L::V; N] = from_fn(|i| w.mul52_low(start, a[i], b[i]));
    let p1: [L::V; N] = from_fn(|i| w.mul52_low(p1[i], ah[i], b[i]));
    let p2: [L::V; N] = from_fn(|i| w.mul52_high(p2[i], a[i], bh[i]));
    let p1: [L::V; N] = from_fn(|i| w.mul52_low(p1[i], a[i], bh[i]));
    let p2: [L::V; N] = from_fn(|i| w.mul52_low(p2[i], ah[i], bh[i]));
    (p0, p1, p2)
}

/// [`product`] of equal factors.
#[inline(always)]
fn square<L: Lanes, const N: usize>(w: L, start: L::V, a: &[L::V; N], ah: &[L::V; N]) -> Sums<L::V, N> {
    let zero = w.splat(0);
    let twice: [L::V; N] = from_fn(|i| w.add(ah[i], ah[i]));
    let p1: [L::V; N] = from_fn(|i| w.mul52_high(zero, a[i], a[i]));
    let p2: [L::V; N] = from_fn(|i| w.mul52_high(zero, twice[i], a[i]));
    let p0: [L::V; N] = from_fn(|i| w.mul52_low(start, a[i], a[i]));
    let p1: [L::V; N] = from_fn(|i| w.mul52_low(p1[i], twice[i], a[i]));
    let p2: [L::V; N] = from_fn(|i| w.mul52_low(p2[i], ah[i], ah[i]));
    (p0, p1, p2)
}

/// A product with the initial value -(2^32 - 1), as (l, u) for (l mod 2^52) + 2^52 u.
///
/// l = p0 + (2^32 q mod 2^52) - q - 2^8 p2 may be negative, down to -2^55. u takes its carry and an offset of 2^12 that
/// keeps it above 0. The offset weighs 2^64 = 2^32 - 1, which the initial value cancels. u < 2^12 + 2^12 + 2^22 + 2^2.
#[inline(always)]
pub(super) fn fold52<L: Lanes, const N: usize>(w: L, (p0, p1, p2): Sums<L::V, N>) -> ([L::V; N], [L::V; N]) {
    let (offset, low12, shift) = (w.splat(1 << 12), w.splat((1 << 12) - 1), w.splat(1 << 32));
    let q: [L::V; N] = from_fn(|i| w.shr::<12>(p1[i]));
    let minus: [L::V; N] = from_fn(|i| w.add(q[i], w.shl::<8>(p2[i])));
    let l: [L::V; N] = from_fn(|i| w.mul52_low(w.sub(p0[i], minus[i]), q[i], shift));
    let u: [L::V; N] = from_fn(|i| w.mul52_high(w.or(offset, w.and(p1[i], low12)), q[i], shift));
    let u = from_fn(|i| w.add(u[i], w.shr_signed::<52>(l[i])));
    (l, u)
}

/// x^7, not reduced.
#[inline(always)]
fn power7_52<L: Lanes, const N: usize>(w: L, x: &[L::V; N]) -> Sums<L::V, N> {
    let start = w.splat(EPSILON.wrapping_neg());
    let xh: [L::V; N] = from_fn(|i| w.shr::<52>(x[i]));
    let (x2, x2h) = fold52(w, square(w, start, x, &xh));
    // Both products before both foldings: each chain fills the gaps of the other.
    let x4 = square(w, start, &x2, &x2h);
    let x3 = product(w, start, x, &xh, &x2, &x2h);
    let ((x4, x4h), (x3, x3h)) = (fold52(w, x4), fold52(w, x3));
    product(w, w.splat(0), &x3, &x3h, &x4, &x4h)
}

/// A product of 52-bit words as halves: -2^54 - 2^43 < l < 2^32, 0 <= h < 2^43.
#[inline(always)]
pub(super) fn split_product52<L: Lanes>(w: L, p0: L::V, p1: L::V, p2: L::V) -> (L::V, L::V) {
    let q = w.shr::<12>(p1);
    let l = w.sub(w.and(p0, w.splat(EPSILON)), w.add(q, w.shl::<8>(p2)));
    // p0 >> 32 and 2^20 (p1 mod 2^12).
    let shift = w.splat(1 << 20);
    let h = w.mul52_low(w.mul52_high(q, p0, shift), w.and(p1, w.splat(0xfff)), shift);
    (l, h)
}

/// A product of 52-bit words as a word.
#[inline(always)]
pub(super) fn reduce_product52<L: Lanes>(w: L, p0: L::V, p1: L::V, p2: L::V) -> L::V {
    // 2^64 q = (2^32 - 1) (q mod 2^32) - (q >> 32), and q >> 32 = p1 >> 44. p0 starts at 0, so it is below 2^52.
    let plus = w.add(p0, w.shl::<52>(p1));
    let minus = w.add(w.shr::<44>(p1), w.shl::<8>(p2));
    w.add_folded(w.sub_folded(plus, minus), w.mul_low32(w.shr::<12>(p1)))
}

/// Products of 128 bits: their lowest 32 bits and the 32 above them, each at the bottom of a word, and their upper words.
pub(super) type Words<V, const N: usize> = ([V; N], [V; N], [V; N]);

/// a b, by 32-bit halves: `ah` and `bh` are the upper ones. Only the lower halves of a and b count.
#[inline(always)]
pub(super) fn product32<L: Lanes, const N: usize>(
    w: L,
    a: &[L::V; N],
    ah: &[L::V; N],
    b: &[L::V; N],
    bh: &[L::V; N],
) -> Words<L::V, N> {
    // Loops rather than closures, which are not inlined where an operation is several instructions.
    let low32 = w.splat(EPSILON);
    let (mut ll, mut middle, mut crossed, mut high) = (*a, *a, *a, *a);
    for i in 0..N {
        (ll[i], middle[i]) = (w.mul32(a[i], b[i]), w.mul32(ah[i], b[i]));
    }
    for i in 0..N {
        (crossed[i], high[i]) = (w.mul32(a[i], bh[i]), w.mul32(ah[i], bh[i]));
    }
    // Each sum stays below 2^64: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
    for i in 0..N {
        middle[i] = w.add(middle[i], w.shr::<32>(ll[i]));
    }
    for i in 0..N {
        crossed[i] = w.add(crossed[i], w.and(middle[i], low32));
        high[i] = w.add(high[i], w.shr::<32>(middle[i]));
    }
    for i in 0..N {
        high[i] = w.add(high[i], w.shr::<32>(crossed[i]));
    }
    (ll, crossed, high)
}

/// A product as halves: -2^33 < l < 2^32, 0 <= h < 2^33.
#[inline(always)]
pub(super) fn split_product32<L: Lanes>(w: L, low: L::V, middle: L::V, high: L::V) -> (L::V, L::V) {
    let low32 = w.splat(EPSILON);
    let (h0, h1) = split(w, high);
    (w.sub(w.and(low, low32), w.add(h0, h1)), w.add(w.and(middle, low32), h0))
}

/// a^2 as two words, by 32-bit halves. `ah` is the upper one. Only the lower half of a counts.
#[inline(always)]
pub(super) fn square32<L: Lanes, const N: usize>(w: L, a: &[L::V; N], ah: &[L::V; N]) -> ([L::V; N], [L::V; N]) {
    let (mut ll, mut middle, mut high) = (*a, *a, *a);
    for i in 0..N {
        (ll[i], middle[i], high[i]) = (w.mul32(a[i], a[i]), w.mul32(a[i], ah[i]), w.mul32(ah[i], ah[i]));
    }
    // The middle product has the weight 2^33: (2^32 - 1)^2 + 2^31 < 2^64.
    for i in 0..N {
        high[i] = w.add(high[i], w.shr::<31>(w.add(middle[i], w.shr::<33>(ll[i]))));
        ll[i] = w.add(ll[i], w.shl::<33>(middle[i]));
    }
    (ll, high)
}

/// Words low + 2^64 high as words: 2^64 (h0 + 2^32 h1) = (2^32 - 1) h0 - h1.
#[inline(always)]
pub(super) fn reduce32<L: Lanes, const N: usize>(w: L, low: &[L::V; N], high: &[L::V; N]) -> [L::V; N] {
    let mut rest = *low;
    for i in 0..N {
        rest[i] = w.sub_folded(low[i], w.shr::<32>(high[i]));
    }
    for i in 0..N {
        rest[i] = w.add_folded(rest[i], w.mul_low32(high[i]));
    }
    rest
}

/// Products as words.
#[inline(always)]
pub(super) fn reduce_product32<L: Lanes, const N: usize>(w: L, (low, middle, high): Words<L::V, N>) -> [L::V; N] {
    let mut joined = low;
    for i in 0..N {
        joined[i] = w.join32(low[i], middle[i]);
    }
    reduce32(w, &joined, &high)
}

/// The upper halves, for products.
#[inline(always)]
fn high32<L: Lanes, const N: usize>(w: L, x: &[L::V; N]) -> [L::V; N] {
    let mut high = *x;
    for i in 0..N {
        high[i] = w.high32(x[i]);
    }
    high
}

/// x^7, not reduced.
#[inline(always)]
fn power7_32<L: Lanes, const N: usize>(w: L, x: &[L::V; N]) -> Words<L::V, N> {
    let xh = high32(w, x);
    let (low, high) = square32(w, x, &xh);
    let x2 = reduce32(w, &low, &high);
    let x2h = high32(w, &x2);
    let x3 = reduce_product32(w, product32(w, x, &xh, &x2, &x2h));
    let (low, high) = square32(w, &x2, &x2h);
    let x4 = reduce32(w, &low, &high);
    product32(w, &x3, &high32(w, &x3), &x4, &high32(w, &x4))
}
