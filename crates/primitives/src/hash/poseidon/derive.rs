//! The constants of [`super::partial`], computed by the compiler from the round constants and the MDS matrix.
//!
//! So no table of numbers must be trusted. The names are those of the kernel's documentation. Everything here is linear
//! algebra modulo p on canonical integers, in functions that are never called at run time.

use super::constants::{MDS_CIRCULANT, MDS_DIAGONAL_0, ROUND_CONSTANTS};
use super::partial::{LONG, MEDIUM, MEDIUM_END, SHORT, SHORT_END};
use super::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH};
use crate::field::Goldilocks;

const P: u64 = Goldilocks::ORDER;
type Vector = [u64; WIDTH];
type Matrix = [Vector; WIDTH];

/// An integer coefficient.
#[derive(Clone, Copy)]
pub(super) struct Coefficient {
    pub(super) magnitude: u64,
    pub(super) negative: bool,
}

/// A multiple of p above the negative terms of a sum.
const HEADROOM: u128 = (P as u128) << 62;

/// The constants of the partial rounds.
pub(super) struct Partial {
    /// Of y_{n-i}, at i - 1.
    pub(super) a: [Coefficient; WIDTH - 1],
    /// Of z_{n-i}, at i - 1.
    pub(super) b: [Coefficient; WIDTH],
    /// Of t_1 to t_11, for y_0 to y_10: see [`lift`].
    pub(super) q: [Vector; WIDTH - 1],
    /// Added to y_n: k_n plus [`HEADROOM`].
    pub(super) k: [u128; PARTIAL_ROUNDS],
    /// -G: of y_11 to y_21, per word of the state.
    pub(super) g: [[u64; WIDTH - 1]; WIDTH],
    /// -E: of z_10 to z_21, per word of the state.
    pub(super) e: Matrix,
    /// Added to the state.
    pub(super) f: Vector,
}

pub(super) const fn partial() -> Partial {
    let m = mds();
    let column_0 = column(&m, 0);
    let mut shift = m;
    let mut i = 0;
    while i < WIDTH {
        shift[i][0] = 0;
        i += 1;
    }

    // K_n = e_0 A^n and h_n = K_{n-1} B; `row` ends as K_12.
    let (mut rows, mut h) = ([[0; WIDTH]; WIDTH], [0; WIDTH + 1]);
    let mut row = unit(0);
    let mut n = 0;
    while n < WIDTH {
        rows[n] = row;
        h[n + 1] = dot(&row, &column_0);
        row = row_times(&row, &shift);
        n += 1;
    }
    // K_12 = sum of a_i K_{12-i}.
    let rows_inverse = invert(rows);
    let solved = row_times(&row, &rows_inverse);
    assert!(solved[0] == 0);
    let (mut a, mut b) = ([0; WIDTH + 1], [0; WIDTH + 1]);
    let mut n = 1;
    while n <= WIDTH {
        a[n] = solved[WIDTH - n];
        b[n] = h[n];
        let mut i = 1;
        while i < n {
            b[n] = sub(b[n], mul(a[i], h[n - i]));
            i += 1;
        }
        n += 1;
    }

    // The outputs and the last state when all of t and z are zero: the part that the round constants add.
    let mut still = [0; PARTIAL_ROUNDS];
    let mut state = ROUND_CONSTANTS[HALF_FULL_ROUNDS];
    let mut n = 0;
    while n < PARTIAL_ROUNDS {
        still[n] = state[0];
        state = add_scaled(&times(&shift, &state), 1, &ROUND_CONSTANTS[HALF_FULL_ROUNDS + n + 1]);
        n += 1;
    }

    let mut out = Partial {
        a: [signed(0); WIDTH - 1],
        b: [signed(0); WIDTH],
        q: [[0; WIDTH]; WIDTH - 1],
        k: [HEADROOM; PARTIAL_ROUNDS],
        g: [[0; WIDTH - 1]; WIDTH],
        e: [[0; WIDTH]; WIDTH],
        f: state,
    };
    let mut i = 0;
    while i < WIDTH {
        out.b[i] = signed(b[i + 1]);
        if i < WIDTH - 1 {
            out.a[i] = signed(a[i + 1]);
        }
        i += 1;
    }
    let mut n = 0;
    while n < PARTIAL_ROUNDS {
        let mut k = still[n];
        let mut i = 1;
        while i <= n && i < WIDTH {
            k = sub(k, mul(a[i], still[n - i]));
            i += 1;
        }
        if n < WIDTH - 1 {
            let mut row = rows[n];
            let mut i = 1;
            while i <= n {
                row = add_scaled(&row, sub(0, a[i]), &rows[n - i]);
                i += 1;
            }
            row = row_times(&row, &m);
            assert!(row[0] == b[n + 1]);
            out.q[n] = lift(&row);
            // A complement replaces a negation: !x = 2^64 - 1 - x is -x + 2^32 - 2 modulo p.
            k = sub(k, mul(out.q[n][0], 0xffff_fffe));
        }
        out.k[n] += k as u128;
        assert!(fits(&out, n));
        n += 1;
    }

    let mut r = 0;
    while r < WIDTH {
        // Row r of A^12 K^-1, and of A^{11-j} B.
        let mut row = unit(r);
        let mut j = WIDTH;
        while j > 0 {
            j -= 1;
            out.e[r][j] = sub(0, dot(&row, &column_0));
            row = row_times(&row, &shift);
        }
        let g = row_times(&row, &rows_inverse);
        assert!(g[0] == 0);
        let mut t = 1;
        while t < WIDTH {
            out.g[r][t - 1] = sub(0, g[t]);
            out.f[r] = sub(out.f[r], mul(g[t], still[PARTIAL_ROUNDS - WIDTH + t]));
            let mut j = 0;
            while j < t {
                out.e[r][j] = add(out.e[r][j], mul(g[t], h[t - j]));
                j += 1;
            }
            t += 1;
        }
        r += 1;
    }
    out
}

/// Whether the sum for y_n stays within 128 bits, in any order, for all words below 2^64.
const fn fits(derived: &Partial, n: usize) -> bool {
    let lags = if n < SHORT_END {
        SHORT
    } else if n < MEDIUM_END {
        MEDIUM
    } else {
        LONG
    };
    let (mut plus, mut minus) = (0, 0);
    let mut i = 1;
    while i <= lags {
        let (a, b) = (derived.a[i - 1], derived.b[i]);
        *(if a.negative { &mut minus } else { &mut plus }) += a.magnitude as u128;
        *(if b.negative { &mut minus } else { &mut plus }) += b.magnitude as u128;
        i += 1;
    }
    let mut i = 0;
    while i < WIDTH && n < WIDTH - 1 {
        plus += derived.q[n][i] as u128;
        i += 1;
    }
    (n <= lags || lags == LONG) && minus < HEADROOM >> 64 && plus < (u128::MAX - derived.k[n]) >> 64
}

/// c or c - p, whichever is smaller in magnitude.
const fn signed(c: u64) -> Coefficient {
    if c <= P / 2 {
        Coefficient { magnitude: c, negative: false }
    } else {
        Coefficient { magnitude: P - c, negative: true }
    }
}

/// Words 1 to 11 of `row`, raised by the same least amount so that none is negative, and that amount instead of word 0.
///
/// Rows without signs can be looped over. The amount must be multiplied by the negated sum of the other words.
const fn lift(row: &Vector) -> Vector {
    let mut amount = 0;
    let mut i = 1;
    while i < WIDTH {
        if row[i] > P / 2 && P - row[i] > amount {
            amount = P - row[i];
        }
        i += 1;
    }
    let mut out = *row;
    out[0] = amount;
    let mut i = 1;
    while i < WIDTH {
        out[i] = add(row[i], amount);
        i += 1;
    }
    out
}

pub(super) const fn mds() -> Matrix {
    let mut m = [[0; WIDTH]; WIDTH];
    let mut r = 0;
    while r < WIDTH {
        let mut i = 0;
        while i < WIDTH {
            m[r][(i + r) % WIDTH] = MDS_CIRCULANT[i];
            i += 1;
        }
        r += 1;
    }
    m[0][0] += MDS_DIAGONAL_0;
    m
}

const fn mul(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) % P as u128) as u64
}

pub(super) const fn add(a: u64, b: u64) -> u64 {
    ((a as u128 + b as u128) % P as u128) as u64
}

pub(super) const fn sub(a: u64, b: u64) -> u64 {
    add(a, P - b)
}

/// 1 / a.
const fn inverse(a: u64) -> u64 {
    let (mut base, mut acc, mut exp) = (a, 1, P - 2);
    while exp != 0 {
        if exp & 1 == 1 {
            acc = mul(acc, base);
        }
        base = mul(base, base);
        exp >>= 1;
    }
    acc
}

const fn unit(i: usize) -> Vector {
    let mut out = [0; WIDTH];
    out[i] = 1;
    out
}

const fn dot(u: &Vector, v: &Vector) -> u64 {
    let (mut acc, mut i) = (0, 0);
    while i < WIDTH {
        acc = add(acc, mul(u[i], v[i]));
        i += 1;
    }
    acc
}

const fn column(m: &Matrix, j: usize) -> Vector {
    let (mut out, mut i) = ([0; WIDTH], 0);
    while i < WIDTH {
        out[i] = m[i][j];
        i += 1;
    }
    out
}

/// `row * m`.
const fn row_times(row: &Vector, m: &Matrix) -> Vector {
    let (mut out, mut j) = ([0; WIDTH], 0);
    while j < WIDTH {
        out[j] = dot(row, &column(m, j));
        j += 1;
    }
    out
}

/// `m * v`.
pub(super) const fn times(m: &Matrix, v: &Vector) -> Vector {
    let (mut out, mut i) = ([0; WIDTH], 0);
    while i < WIDTH {
        out[i] = dot(&m[i], v);
        i += 1;
    }
    out
}

/// `u + c v`.
const fn add_scaled(u: &Vector, c: u64, v: &Vector) -> Vector {
    let (mut out, mut i) = (*u, 0);
    while i < WIDTH {
        out[i] = add(out[i], mul(c, v[i]));
        i += 1;
    }
    out
}

/// The inverse, by Gauss and Jordan; a singular matrix ends the compilation.
const fn invert(mut m: Matrix) -> Matrix {
    let mut out = [[0; WIDTH]; WIDTH];
    let mut i = 0;
    while i < WIDTH {
        out[i] = unit(i);
        i += 1;
    }
    let mut c = 0;
    while c < WIDTH {
        let mut pivot = c;
        while m[pivot][c] == 0 {
            pivot += 1;
        }
        (m[c], m[pivot]) = (m[pivot], m[c]);
        (out[c], out[pivot]) = (out[pivot], out[c]);
        let scale = inverse(m[c][c]);
        m[c] = add_scaled(&[0; WIDTH], scale, &m[c]);
        out[c] = add_scaled(&[0; WIDTH], scale, &out[c]);
        let mut r = 0;
        while r < WIDTH {
            if r != c {
                let factor = sub(0, m[r][c]);
                m[r] = add_scaled(&m[r], factor, &m[c]);
                out[r] = add_scaled(&out[r], factor, &out[c]);
            }
            r += 1;
        }
        c += 1;
    }
    out
}
