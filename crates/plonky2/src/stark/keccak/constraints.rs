//! The constraints of the table.

use super::{
    Algebra, C, DIGEST, DIGEST_HALVES, EMIT, MESSAGE, MESSAGE_HALVES, ROTATIONS, ROUND, ROUND_CONSTANTS, ROUNDS, T,
    source,
};

/// Bits of a half.
const HALF: usize = 32;

#[inline(always)]
pub(super) fn constraints<A: Algebra>(a: &mut A, local: &[A::T], next: &[A::T]) {
    let (zero, one) = (a.constant(0), a.constant(1));
    let flags = &local[ROUND..];

    // One flag at most, which moves on.
    let mut round = zero;
    for flag in &flags[..ROUNDS] {
        bit(a, *flag, one);
        round = a.add(round, *flag);
    }
    bit(a, round, one);
    for r in 1..ROUNDS {
        let moved = a.sub(next[ROUND + r], flags[r - 1]);
        a.constraint(moved);
    }
    let last = flags[ROUNDS - 1];
    bit(a, local[EMIT], one);
    let not_last = a.sub(one, last);
    let stray = a.mul(local[EMIT], not_last);
    a.constraint(stray);
    for x in &next[T..MESSAGE] {
        bit(a, *x, one);
    }

    // Theta of the next row.
    let (two, four) = (a.constant(2), a.constant(4));
    let mut difference = [[zero; 64]; 5];
    for x in 0..5 {
        for z in 0..64 {
            let left = next[C + 64 * ((x + 4) % 5) + z];
            let right = next[C + 64 * ((x + 1) % 5) + (z + 63) % 64];
            difference[x][z] = a.xor(left, right);
        }
    }
    for x in 0..5 {
        for z in 0..64 {
            let mut rest = a.xor(next[C + 64 * x + z], difference[x][z]);
            rest = a.sub(next[T + 64 * x + z], rest);
            for y in 1..5 {
                rest = a.add(rest, next[T + 64 * (x + 5 * y) + z]);
            }
            let (by_two, by_four) = (a.sub(rest, two), a.sub(rest, four));
            let product = a.mul(rest, by_two);
            let product = a.mul(product, by_four);
            a.constraint(product);
        }
    }

    // From this row to the next, or from a message to the next.
    let running = a.sub(round, last);
    let starts = next[ROUND];
    let either = a.add(running, starts);
    let padding = a.constant(1 << 31);
    for y in 0..5 {
        for (x, difference) in difference.iter().enumerate() {
            for half in 0..2 {
                let word = x + 5 * y;
                let before = unmixed(a, &next[T + 64 * word + HALF * half..], &difference[HALF * half..]);
                let after = mixed(a, local, x, y, half);
                let index = 2 * word + half;
                let mut expected = a.mul(running, after);
                let message = match index {
                    33 => Some(padding),
                    _ if index < MESSAGE_HALVES => Some(next[MESSAGE + index]),
                    _ => None,
                };
                if let Some(message) = message {
                    let message = a.mul(starts, message);
                    expected = a.add(expected, message);
                }
                let found = a.mul(either, before);
                let wrong = a.sub(found, expected);
                a.constraint(wrong);
                if index < DIGEST_HALVES {
                    let wrong = a.sub(local[DIGEST + index], after);
                    let wrong = a.mul(last, wrong);
                    a.constraint(wrong);
                }
            }
        }
    }
    for i in MESSAGE..MESSAGE + MESSAGE_HALVES {
        let change = a.sub(next[i], local[i]);
        let change = a.mul(running, change);
        a.constraint(change);
    }
}

/// x (x - 1) = 0.
#[inline(always)]
fn bit<A: Algebra>(a: &mut A, x: A::T, one: A::T) {
    let less = a.sub(x, one);
    let product = a.mul(x, less);
    a.constraint(product);
}

/// A half of T + D: sums of bits are a + b - 2 a b, which is summed by parts.
#[inline(always)]
fn unmixed<A: Algebra>(a: &mut A, t: &[A::T], d: &[A::T]) -> A::T {
    let mut terms = [t[0]; HALF];
    for (term, (t, d)) in terms.iter_mut().zip(t.iter().zip(d)) {
        *term = a.xor(*t, *d);
    }
    a.sum_of_powers(&terms)
}

/// A half of word (x, y) after rho, pi, chi and iota.
#[inline(always)]
fn mixed<A: Algebra>(a: &mut A, local: &[A::T], x: usize, y: usize, half: usize) -> A::T {
    let [first, second, third] = [source(x, y), source((x + 1) % 5, y), source((x + 2) % 5, y)];
    let at = |word: usize, z: usize| local[T + 64 * word + (z + 64 - ROTATIONS[word]) % 64];
    let mut terms = [local[T]; HALF];
    for (i, term) in terms.iter_mut().enumerate() {
        let z = HALF * half + i;
        let third = at(third, z);
        // not b and c.
        let both = a.mul(at(second, z), third);
        let rest = a.sub(third, both);
        *term = a.xor(at(first, z), rest);
        // Bits of the constants have the positions 2^j - 1.
        if x + y == 0 && (z + 1).is_power_of_two() {
            let mut constant = a.constant(0);
            for (r, bits) in ROUND_CONSTANTS.iter().enumerate() {
                if bits >> z & 1 == 1 {
                    constant = a.add(constant, local[ROUND + r]);
                }
            }
            *term = a.xor(*term, constant);
        }
    }
    a.sum_of_powers(&terms)
}
