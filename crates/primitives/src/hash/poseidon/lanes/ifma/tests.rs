//! Each step at the ends of the ranges that the module states, where random states seldom are.

use super::super::super::constants::{MDS_CIRCULANT, MDS_DIAGONAL_0};
use super::*;
use crate::lanes::{Isa, Kernel, dispatch};

/// Runs a test on the witness, where the CPU has the instruction set.
struct With<F>(F);

impl<F: FnOnce(W)> Kernel for With<F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        if let Some(w) = lanes.ifma() {
            (self.0)(w);
        }
        assert_eq!(lanes.ifma().is_some(), L::ISA == Isa::Avx512Ifma);
    }
}

/// 2^k, its neighbours and some between, below 2^`bits`.
fn edges(bits: u32) -> Vec<u64> {
    let max = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let near = [0, 8, 12, 20, 31, 32, 33, 43, 44, 45, 46, 51, 52, 53, 54, 62, 63].map(|k: u32| 1u64 << k);
    let mut all: Vec<u64> = near.iter().flat_map(|x| [x - 1, *x, x + 1]).collect();
    all.extend([0x9e37_79b9_7f4a_7c15, 0xffff_ffff_0000_0000, Goldilocks::ORDER - 1, Goldilocks::ORDER]);
    all.retain(|x| *x < max);
    all.push(max);
    all
}

fn field(x: u64) -> Goldilocks {
    Goldilocks::reduce(x)
}

fn power_of_two(k: u64) -> Goldilocks {
    Goldilocks::new(2).pow(k)
}

fn signed(x: u64) -> Goldilocks {
    if (x as i64) < 0 { -field((x as i64).unsigned_abs()) } else { field(x) }
}

/// Lane 3, all lanes being equal.
fn word(w: W, x: V) -> u64 {
    let mut words = [0; LANES];
    w.store(x, &mut words);
    assert_eq!(words, [words[3]; LANES]);
    words[3]
}

/// p0 below 2^52, p1 below 2^54 and p2 below 2^46, with the field element that they stand for.
fn sums() -> impl Iterator<Item = (u64, u64, u64, Goldilocks)> {
    edges(52).into_iter().flat_map(|p0| {
        edges(54).into_iter().flat_map(move |p1| {
            edges(46).into_iter().map(move |p2| {
                let value = field(p0) + field(p1) * power_of_two(52) + field(p2) * power_of_two(104);
                (p0, p1, p2, value)
            })
        })
    })
}

#[test]
fn products_are_folded() {
    dispatch(With(|w: W| {
        for (p0, p1, p2, value) in sums() {
            let start = p0.wrapping_sub(EPSILON);
            let (l, u) = fold52(w, ([w.splat(start)], [w.splat(p1)], [w.splat(p2)]));
            let (l, u) = (word(w, l[0]), word(w, u[0]));
            assert!(u < 1 << 24, "{p0:#x} {p1:#x} {p2:#x}");
            assert_eq!(field(l % (1 << 52)) + field(u) * power_of_two(52), value, "{p0:#x} {p1:#x} {p2:#x}");
        }
    }));
}

#[test]
fn products_are_split_and_reduced() {
    dispatch(With(|w: W| {
        for (p0, p1, p2, value) in sums() {
            let (a, b, c) = (w.splat(p0), w.splat(p1), w.splat(p2));
            let (l, h) = split_product(w, a, b, c);
            let (l, h) = (word(w, l), word(w, h));
            assert!(((-(1 << 54) - (1 << 43) + 1)..1 << 32).contains(&(l as i64)), "{p0:#x} {p1:#x} {p2:#x}");
            assert!(h < 1 << 43, "{p0:#x} {p1:#x} {p2:#x}");
            assert_eq!(signed(l) + field(h) * power_of_two(32), value, "{p0:#x} {p1:#x} {p2:#x}");
            assert_eq!(field(word(w, reduce_product(w, a, b, c))), value, "{p0:#x} {p1:#x} {p2:#x}");
        }
    }));
}

#[test]
fn halves_are_joined() {
    dispatch(With(|w: W| {
        for l in edges(63) {
            for h in edges(62) {
                let value = field(l) + field(h) * power_of_two(32);
                assert_eq!(field(word(w, join(w, w.splat(l), w.splat(h)))), value, "{l:#x} {h:#x}");
                if h < 1 << 52 {
                    assert_eq!(field(word(w, join52(w, w.splat(l), w.splat(h)))), value, "{l:#x} {h:#x}");
                }
            }
        }
    }));
}

#[test]
fn any_word_is_multiplied_and_made_canonical() {
    dispatch(With(|w: W| {
        for x in edges(64) {
            let (p0, p1, p2) = power7(w, &[w.splat(x)]);
            assert_eq!(field(word(w, reduce_product(w, p0[0], p1[0], p2[0]))), field(x).pow(7), "{x:#x}");
            assert_eq!(word(w, canonical(w, w.splat(x))), field(x).as_u64(), "{x:#x}");
            for c in edges(64).into_iter().filter(|c| *c < Goldilocks::ORDER) {
                assert_eq!(field(word(w, add_constant(w, w.splat(x), c))), field(x) + field(c), "{x:#x} {c:#x}");
            }
        }
    }));
}

#[test]
fn the_matrix_is_that_of_the_definition() {
    dispatch(With(|w: W| {
        let all = edges(64);
        for shift in 0..all.len() {
            let s: [u64; WIDTH] = core::array::from_fn(|i| all[(5 * i + shift) % all.len()]);
            let out = convolve(w, &s.map(|x| w.splat(x)));
            for (r, out) in out.into_iter().enumerate() {
                let mut sum = if r == 0 { MDS_DIAGONAL_0.wrapping_mul(s[0]) } else { 0 };
                for (i, m) in MDS_CIRCULANT.iter().enumerate() {
                    sum = sum.wrapping_add(m.wrapping_mul(s[(i + r) % WIDTH]));
                }
                assert_eq!(word(w, out), sum, "row {r} of {s:x?}");
            }
        }
    }));
}
