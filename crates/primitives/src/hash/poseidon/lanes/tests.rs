//! Each step at the ends of the ranges that the module states, where random states seldom are.

use super::super::WIDTH;
use super::super::constants::{MDS_CIRCULANT, MDS_DIAGONAL_0, ROUND_CONSTANTS};
use super::super::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, permute};
use super::chunks::canonical;
use super::rounds::{add_constant, convolve, join, join52, mds};
use super::sbox::{fold52, power7_halves, power7_words, product32, reduce_product32, reduce_product52, reduce32};
use super::sbox::{split_product32, split_product52, square32};
use super::{Permute, SboxInputs, permute_with};
use crate::Goldilocks;
use crate::field::EPSILON;
use crate::lanes::{Isa, Kernel, LANES, Lanes, available, dispatch_on};

fn on_every_instruction_set(test: impl Kernel<Output = ()> + Copy) {
    for isa in available() {
        dispatch_on(isa, test);
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
fn word<L: Lanes>(w: L, x: L::V) -> u64 {
    let mut words = [0; LANES];
    w.store(x, &mut words);
    assert_eq!(words, [words[3]; LANES], "{}", L::ISA);
    words[3]
}

/// p0 below 2^52, p1 below 2^54 and p2 below 2^46, with the field element that they represent.
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

#[derive(Clone, Copy)]
struct Products52;

impl Kernel for Products52 {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, w: L) {
        for (p0, p1, p2, value) in sums() {
            let start = p0.wrapping_sub(EPSILON);
            let (l, u) = fold52(w, ([w.splat(start)], [w.splat(p1)], [w.splat(p2)]));
            let (l, u) = (word(w, l[0]), word(w, u[0]));
            assert!(u < 1 << 24, "{p0:#x} {p1:#x} {p2:#x}");
            assert_eq!(field(l % (1 << 52)) + field(u) * power_of_two(52), value, "{p0:#x} {p1:#x} {p2:#x}");

            let (a, b, c) = (w.splat(p0), w.splat(p1), w.splat(p2));
            let (l, h) = split_product52(w, a, b, c);
            let (l, h) = (word(w, l), word(w, h));
            assert!(((-(1 << 54) - (1 << 43) + 1)..1 << 32).contains(&(l as i64)), "{p0:#x} {p1:#x} {p2:#x}");
            assert!(h < 1 << 43, "{p0:#x} {p1:#x} {p2:#x}");
            assert_eq!(signed(l) + field(h) * power_of_two(32), value, "{p0:#x} {p1:#x} {p2:#x}");
            assert_eq!(field(word(w, reduce_product52(w, a, b, c))), value, "{p0:#x} {p1:#x} {p2:#x}");
        }
    }
}

#[test]
fn sums_of_products_of_52_bits_are_folded() {
    on_every_instruction_set(Products52);
}

#[derive(Clone, Copy)]
struct Products32;

impl Kernel for Products32 {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, w: L) {
        for x in edges(64) {
            let a = w.splat(x);
            let (low, high) = square32(w, &[a], &[w.shr::<32>(a)]);
            let found = word(w, low[0]) as u128 | (word(w, high[0]) as u128) << 64;
            assert_eq!(found, x as u128 * x as u128);
            assert_eq!(field(word(w, reduce32(w, &low, &high)[0])), field(x) * field(x), "{x:#x}");
            for y in edges(64) {
                // Any two words, and not only those of products.
                let value = field(x) + field(y) * power_of_two(64);
                assert_eq!(field(word(w, reduce32(w, &[a], &[w.splat(y)])[0])), value, "{x:#x} {y:#x}");
                let (a, b) = (w.splat(x), w.splat(y));
                let (ah, bh) = (w.shr::<32>(a), w.shr::<32>(b));
                let product = product32(w, &[a], &[ah], &[b], &[bh]);
                let ([low], [middle], [high]) = product;
                let words = [low, middle, high].map(|v| word(w, v));
                let found = words[0] as u32 as u128 | (words[1] as u32 as u128) << 32 | (words[2] as u128) << 64;
                assert_eq!(found, x as u128 * y as u128);
                let value = field(x) * field(y);
                assert_eq!(field(word(w, reduce_product32(w, product)[0])), value, "{x:#x} {y:#x}");
                let (l, h) = split_product32(w, low, middle, high);
                let (l, h) = (word(w, l), word(w, h));
                assert!(((-(1i64 << 33) + 1)..1 << 32).contains(&(l as i64)) && h < 1 << 33, "{x:#x} {y:#x}");
                assert_eq!(signed(l) + field(h) * power_of_two(32), value, "{x:#x} {y:#x}");
            }
        }
    }
}

#[test]
fn products_of_32_bits_are_split_and_reduced() {
    on_every_instruction_set(Products32);
}

#[derive(Clone, Copy)]
struct Joins;

impl Kernel for Joins {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, w: L) {
        for l in edges(63) {
            for h in edges(62) {
                let value = field(l) + field(h) * power_of_two(32);
                assert_eq!(field(word(w, join(w, w.splat(l), w.splat(h)))), value, "{l:#x} {h:#x}");
                if h < 1 << 52 {
                    assert_eq!(field(word(w, join52(w, w.splat(l), w.splat(h)))), value, "{l:#x} {h:#x}");
                }
            }
        }
    }
}

#[test]
fn halves_are_joined() {
    on_every_instruction_set(Joins);
}

#[derive(Clone, Copy)]
struct Powers;

impl Kernel for Powers {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, w: L) {
        for x in edges(64) {
            let v = [w.splat(x); 3];
            let power = field(x).pow(7);
            let three = [x, x ^ 1, x ^ 2];
            let powers = power7_words(w, &three.map(|x| w.splat(x))).map(|z| field(word(w, z)));
            assert_eq!(powers, three.map(|x| field(x).pow(7)), "{x:#x} on {}", L::ISA);
            let (l, h) = power7_halves(w, &v);
            for (l, h) in l.into_iter().zip(h) {
                let value = signed(word(w, l)) + field(word(w, h)) * power_of_two(32);
                assert_eq!(value, power, "{x:#x} on {}", L::ISA);
            }
            assert_eq!(word(w, canonical(w, w.splat(x))), field(x).as_u64(), "{x:#x}");
            for c in edges(64).into_iter().filter(|c| *c < Goldilocks::ORDER) {
                assert_eq!(field(word(w, add_constant(w, w.splat(x), c))), field(x) + field(c), "{x:#x} {c:#x}");
            }
        }
    }
}

#[test]
fn any_word_is_raised_to_the_seventh_power_and_made_canonical() {
    on_every_instruction_set(Powers);
}

#[derive(Clone, Copy)]
struct Matrix;

impl Kernel for Matrix {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, w: L) {
        let all = edges(64);
        for shift in 0..all.len() {
            let s: [u64; WIDTH] = core::array::from_fn(|i| all[(5 * i + shift) % all.len()]);
            let state = s.map(|x| w.splat(x));
            for (r, out) in mds(w, &state).into_iter().enumerate() {
                let circulant = MDS_CIRCULANT.iter().enumerate().map(|(i, m)| field(*m) * field(s[(i + r) % WIDTH]));
                let diagonal = if r == 0 { field(MDS_DIAGONAL_0) * field(s[0]) } else { Goldilocks::ZERO };
                assert_eq!(field(word(w, out)), circulant.sum::<Goldilocks>() + diagonal, "row {r} of {s:x?}");
            }
            for (r, out) in convolve(w, &state).into_iter().enumerate() {
                let mut sum = if r == 0 { MDS_DIAGONAL_0.wrapping_mul(s[0]) } else { 0 };
                for (i, m) in MDS_CIRCULANT.iter().enumerate() {
                    sum = sum.wrapping_add(m.wrapping_mul(s[(i + r) % WIDTH]));
                }
                assert_eq!(word(w, out), sum, "row {r} of {s:x?}");
            }
        }
    }
}

#[test]
fn the_matrix_is_that_of_the_definition() {
    on_every_instruction_set(Matrix);
}

/// Records the inputs of S-boxes, or replaces them by recorded ones.
enum Script {
    Record(Vec<u64>),
    Replay(Vec<u64>, usize),
}

impl Script {
    #[inline(always)]
    fn next<L: Lanes>(&mut self, w: L, x: L::V) -> L::V {
        match self {
            Self::Record(words) => {
                words.push(word(w, x));
                x
            }
            Self::Replay(words, at) => {
                *at += 1;
                w.splat(words[*at - 1])
            }
        }
    }
}

impl<L: Lanes> SboxInputs<L> for &mut Script {
    #[inline(always)]
    fn full(&mut self, w: L, _: usize, _: usize, x: L::V) -> L::V {
        self.next(w, x)
    }
    #[inline(always)]
    fn partial(&mut self, w: L, _: usize, x: L::V) -> L::V {
        self.next(w, x)
    }
}

#[derive(Clone, Copy)]
struct Scripted;

impl Kernel for Scripted {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, w: L) {
        let mut start = [w.splat(u64::MAX); WIDTH];
        for (i, x) in start.iter_mut().enumerate().skip(1) {
            *x = w.splat(i as u64);
        }
        let mut expected = core::array::from_fn(|i| field(word(w, start[i])));
        super::permute(&mut expected);
        let mut script = Script::Record(Vec::new());
        let words = |state: [L::V; WIDTH]| state.map(|x| field(word(w, x)));
        assert_eq!(words(permute_with(w, start, &mut script)), expected, "{}", L::ISA);
        assert_eq!(words(permute_with(w, start, ())), expected, "{}", L::ISA);
        let Script::Record(read) = script else { return };
        // 8 full rounds of 12, 22 partial ones of one.
        assert_eq!(read.len(), 118);
        let replayed = |read: Vec<u64>| words(permute_with(w, [w.splat(3); WIDTH], &mut Script::Replay(read, 0)));
        // Only the inputs of the last round decide.
        let mut changed = read.clone();
        changed[117] = changed[117].wrapping_add(1);
        assert_ne!(replayed(changed), expected, "{}", L::ISA);
        assert_eq!(replayed(read), expected, "{}", L::ISA);
    }
}

#[test]
fn s_boxes_read_what_they_are_told() {
    on_every_instruction_set(Scripted);
}

/// The inverse of the MDS matrix, by elimination.
fn inverse_matrix() -> Vec<Vec<Goldilocks>> {
    let mut m = vec![vec![Goldilocks::ZERO; 2 * WIDTH]; WIDTH];
    for (r, row) in m.iter_mut().enumerate() {
        for (i, entry) in MDS_CIRCULANT.iter().enumerate() {
            row[(i + r) % WIDTH] = field(*entry);
        }
        row[WIDTH + r] = Goldilocks::ONE;
    }
    m[0][0] += field(MDS_DIAGONAL_0);
    for c in 0..WIDTH {
        let pivot = (c..WIDTH).find(|&r| m[r][c] != Goldilocks::ZERO).unwrap();
        m.swap(c, pivot);
        let inverse = m[c][c].inverse().unwrap();
        m[c].iter_mut().for_each(|x| *x *= inverse);
        let row = m[c].clone();
        for (_, other) in m.iter_mut().enumerate().filter(|(r, _)| *r != c) {
            let factor = other[c];
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= *y * factor);
        }
    }
    m.into_iter().map(|row| row[WIDTH..].to_vec()).collect()
}

/// The state whose permutation is `out`.
fn preimage(inverse: &[Vec<Goldilocks>], out: [Goldilocks; WIDTH]) -> [Goldilocks; WIDTH] {
    // 7 times this is 1 modulo p - 1.
    const SEVENTH_ROOT: u64 = 10_540_996_611_094_048_183;
    let mut state = out;
    for r in (0..2 * HALF_FULL_ROUNDS + PARTIAL_ROUNDS).rev() {
        state = core::array::from_fn(|i| inverse[i].iter().zip(state).map(|(m, x)| *m * x).sum());
        let full = !(HALF_FULL_ROUNDS..HALF_FULL_ROUNDS + PARTIAL_ROUNDS).contains(&r);
        for (i, (x, c)) in state.iter_mut().zip(&ROUND_CONSTANTS[r]).enumerate() {
            if full || i == 0 {
                *x = x.pow(SEVENTH_ROOT);
            }
            *x -= field(*c);
        }
    }
    state
}

/// Words from p on among those that a permutation ends with.
struct NotCanonical([Goldilocks; WIDTH]);

impl Kernel for NotCanonical {
    type Output = usize;

    #[inline(always)]
    fn run<L: Lanes>(self, w: L) -> usize {
        let out = permute_with(w, self.0.map(|x| w.splat(x.as_u64())), ());
        out.into_iter().filter(|x| word(w, *x) >= Goldilocks::ORDER).count()
    }
}

/// Outputs so small that the vectors end with words from p on, which random states do once in 2^32 times.
#[test]
fn outputs_are_canonical() {
    let inverse = inverse_matrix();
    let greatest = EPSILON - 1;
    for out in
        [[0; WIDTH], [greatest; WIDTH], core::array::from_fn(|i| i as u64), core::array::from_fn(|i| greatest >> i)]
    {
        let out = out.map(field);
        let state = preimage(&inverse, out);
        let mut scalar = state;
        permute(&mut scalar);
        assert_eq!(scalar, out);
        for isa in available() {
            let mut states = [state; 9];
            dispatch_on(isa, Permute(&mut states));
            assert_eq!(states, [out; 9], "{isa}");
            assert!(isa == Isa::Portable || dispatch_on(isa, NotCanonical(state)) > 0, "{isa}: nothing to reduce");
        }
    }
}
