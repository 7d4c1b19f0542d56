//! Every operation of every instruction set compared with the same on single words.

use std::io::Write as _;

use evergrove_primitives::lanes::{Body, Isa, Kernel, LANES, Lanes, available, dispatch, dispatch_on};
use proptest::prelude::*;

type Words = [u64; LANES];

const LOW32: u64 = 0xffff_ffff;
/// The largest second operand of `add_folded` and `sub_folded`.
const SMALL: u64 = 0xffff_ffff_0000_0000;

struct Operations {
    a: Words,
    b: Words,
    c: Words,
}

/// The operations on three vectors, in the order of [`expected`].
impl Kernel for Operations {
    type Output = (Isa, Vec<Words>);

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Self::Output {
        let (a, b, c) = (l.load(&self.a), l.load(&self.b), l.load(&self.c));
        let vectors = [
            l.splat(self.a[3]),
            l.add(a, b),
            l.sub(a, b),
            l.xor(a, b),
            l.and(a, b),
            l.or(a, b),
            l.andnot(a, b),
            l.mul32(a, b),
            l.xor3(a, b, c),
            l.xor_andnot(a, b, c),
            l.shl::<0>(a),
            l.shl::<1>(a),
            l.shl::<63>(a),
            l.shr::<0>(a),
            l.shr::<13>(a),
            l.shr::<63>(a),
            l.shift_left(a, 0),
            l.shift_left(a, 17),
            l.shift_right(a, 63),
            l.rotl::<0>(a),
            l.rotl::<1>(a),
            l.rotl::<44>(a),
            l.rotl::<63>(a),
            l.mul52_low(c, a, b),
            l.mul52_high(c, a, b),
            l.min(a, b),
            l.add_where_less(c, a, a, b),
            l.sub_where_less(c, a, a, b),
            l.add_where_less(c, b, a, a),
            l.shr_signed::<0>(a),
            l.shr_signed::<52>(a),
            l.shr_signed::<63>(a),
            l.select_negative(a, b, c),
            l.sub_where_less_signed(c, a, a, b),
            {
                let (low, high) = l.mul52_add(c, a, a, b);
                l.add(low, l.shl::<52>(high))
            },
            // A part that rounding takes from the low word is in the high word.
            l.shr::<54>(l.add(l.mul52_add(l.splat(0), c, a, b).0, l.splat(1 << 51))),
            l.and(l.high32(a), l.splat(LOW32)),
            l.join32(a, b),
            l.mul_low32(a),
            l.add_folded(a, l.min(b, l.splat(SMALL))),
            l.sub_folded(a, l.min(b, l.splat(SMALL))),
            l.fold(a),
            (0..L::REGISTERS).fold(a, |whole, i| l.with_register(whole, i, l.add(l.register(a, i), l.register(b, i)))),
            l.with_register(l.with_register(b, 0, a), L::REGISTERS - 1, a),
            {
                // Register 0 has other words than register 1, where there are two.
                let mixed = if L::REGISTERS == 1 { l.splat(9) } else { l.with_register(l.splat(9), 0, l.splat(8)) };
                l.register(mixed, L::REGISTERS - 1)
            },
            l.outline(Sum(a, b, c)),
        ];
        let words = |v| {
            let mut out = [0; LANES];
            l.store(v, &mut out);
            out
        };
        (L::ISA, vectors.into_iter().map(words).collect())
    }
}

struct Sum<V>(V, V, V);

impl<L: Lanes> Body<L> for Sum<L::V> {
    type Output = L::V;

    #[inline(always)]
    fn run(self, l: L) -> L::V {
        l.add(l.add(self.0, self.1), self.2)
    }
}

fn expected(a: Words, b: Words, c: Words) -> Vec<Words> {
    let low52 = (1 << 52) - 1;
    let product = |a: u64, b: u64| (a & low52) as u128 * (b & low52) as u128;
    let each = |f: &dyn Fn(u64, u64, u64) -> u64| core::array::from_fn(|i| f(a[i], b[i], c[i]));
    vec![
        [a[3]; LANES],
        each(&|a, b, _| a.wrapping_add(b)),
        each(&|a, b, _| a.wrapping_sub(b)),
        each(&|a, b, _| a ^ b),
        each(&|a, b, _| a & b),
        each(&|a, b, _| a | b),
        each(&|a, b, _| !a & b),
        each(&|a, b, _| (a as u32 as u64) * (b as u32 as u64)),
        each(&|a, b, c| a ^ b ^ c),
        each(&|a, b, c| a ^ (!b & c)),
        a,
        each(&|a, _, _| a << 1),
        each(&|a, _, _| a << 63),
        a,
        each(&|a, _, _| a >> 13),
        each(&|a, _, _| a >> 63),
        a,
        each(&|a, _, _| a << 17),
        each(&|a, _, _| a >> 63),
        a,
        each(&|a, _, _| a.rotate_left(1)),
        each(&|a, _, _| a.rotate_left(44)),
        each(&|a, _, _| a.rotate_left(63)),
        each(&|a, b, c| c.wrapping_add(product(a, b) as u64 & low52)),
        each(&|a, b, c| c.wrapping_add((product(a, b) >> 52) as u64)),
        each(&|a, b, _| a.min(b)),
        each(&|a, b, c| if a < b { c.wrapping_add(a) } else { c }),
        each(&|a, b, c| if a < b { c.wrapping_sub(a) } else { c }),
        c,
        a,
        each(&|a, _, _| (a as i64 >> 52) as u64),
        each(&|a, _, _| (a as i64 >> 63) as u64),
        each(&|a, b, c| if (a as i64) < 0 { b } else { c }),
        each(&|a, b, c| if (a as i64) < b as i64 { c.wrapping_sub(a) } else { c }),
        each(&|a, b, c| c.wrapping_add(a << 52).wrapping_add(product(a, b) as u64)),
        [0; LANES],
        each(&|a, _, _| a >> 32),
        each(&|a, b, _| (a & LOW32) | b << 32),
        each(&|a, _, _| (a & LOW32) * LOW32),
        each(&|a, b, _| {
            let (sum, wrapped) = a.overflowing_add(b.min(SMALL));
            if wrapped { sum + LOW32 } else { sum }
        }),
        each(&|a, b, _| {
            let (difference, wrapped) = a.overflowing_sub(b.min(SMALL));
            if wrapped { difference - LOW32 } else { difference }
        }),
        each(&|a, _, _| if a > SMALL { a - (SMALL + 1) } else { a }),
        each(&|a, b, _| a.wrapping_add(b)),
        a,
        [9; LANES],
        each(&|a, b, c| a.wrapping_add(b).wrapping_add(c)),
    ]
}

struct Transpose([Words; LANES]);

impl Kernel for Transpose {
    type Output = [Words; LANES];

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Self::Output {
        let out = l.transpose(self.0.map(|row| l.load(&row)));
        out.map(|v| {
            let mut words = [0; LANES];
            l.store(v, &mut words);
            words
        })
    }
}

fn word() -> impl Strategy<Value = u64> {
    let small = [0, 1, LOW32 - 1, LOW32, 1 << 32, (1 << 52) - 1, 1 << 52];
    let large = [(1 << 63) - 1, 1 << 63, (1 << 63) + 1, SMALL - 1, SMALL, SMALL + 1, SMALL + 2, u64::MAX - 1, u64::MAX];
    let edges = [&small[..], &large[..]].concat();
    prop_oneof![any::<u64>(), proptest::sample::select(edges)]
}

proptest! {
    #[test]
    fn operations_are_those_on_words(
        a in prop::array::uniform8(word()),
        b in prop::array::uniform8(word()),
        c in prop::array::uniform8(word()),
    ) {
        for isa in available() {
            let (name, found) = dispatch_on(isa, Operations { a, b, c });
            prop_assert_eq!(name, isa);
            for (i, (found, expected)) in found.iter().zip(expected(a, b, c)).enumerate() {
                prop_assert_eq!(*found, expected, "operation {} on {}", i, isa);
            }
        }
    }
}

#[test]
fn transpose_moves_every_word() {
    let rows: [Words; LANES] = core::array::from_fn(|i| core::array::from_fn(|j| (10 * i + j) as u64));
    let columns = core::array::from_fn(|j| core::array::from_fn(|i| rows[i][j]));
    for isa in available() {
        assert_eq!(dispatch_on(isa, Transpose(rows)), columns, "{isa}");
    }
}

/// Rows of N words, made columns and rows again.
struct Rows<const N: usize>([[u64; N]; LANES]);

impl<const N: usize> Kernel for Rows<N> {
    type Output = ([Words; N], [[u64; N]; LANES]);

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Self::Output {
        let columns = l.load_rows(self.0.each_ref());
        let mut rows = [[0; N]; LANES];
        l.store_rows(columns, rows.each_mut());
        let words = columns.map(|v| {
            let mut words = [0; LANES];
            l.store(v, &mut words);
            words
        });
        (words, rows)
    }
}

#[test]
fn rows_become_columns_and_rows_again() {
    fn check<const N: usize>() {
        let rows: [[u64; N]; LANES] = core::array::from_fn(|i| core::array::from_fn(|j| (10 * i + j) as u64));
        let columns = core::array::from_fn(|j| core::array::from_fn(|i| rows[i][j]));
        for isa in available() {
            assert_eq!(dispatch_on(isa, Rows(rows)), (columns, rows), "{N} words on {isa}");
        }
    }
    check::<1>();
    check::<3>();
    check::<4>();
    check::<6>();
    check::<8>();
}

#[test]
fn dispatch_takes_the_best() {
    let (isa, _) = dispatch(Operations { a: [1; LANES], b: [2; LANES], c: [3; LANES] });
    assert_eq!(isa, Isa::detect());
    // Unless the whole program runs on another one.
    if std::env::var_os("EVERGROVE_ISA").is_none() {
        assert_eq!(available().last(), Some(isa));
    }
    assert_eq!(available().next(), Some(Isa::Portable));
}

/// The features of a witness, checked here independently.
#[cfg(target_arch = "x86_64")]
#[test]
fn an_instruction_set_is_there_where_all_its_features_are() {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = avx2 && is_x86_feature_detected!("avx512f");
    let ifma = avx512 && is_x86_feature_detected!("avx512ifma");
    for isa in Isa::ALL {
        let features = match isa {
            Isa::Portable => true,
            Isa::Avx2 => avx2,
            Isa::Avx512 => avx512,
            Isa::Avx512Ifma => ifma,
        };
        assert_eq!(isa.is_available(), features, "{isa}");
    }
}

#[test]
fn an_instruction_set_that_is_missing_is_refused() {
    for missing in Isa::ALL.into_iter().filter(|isa| !isa.is_available()) {
        let run = || dispatch_on(missing, Transpose([[0; LANES]; LANES]));
        assert!(std::panic::catch_unwind(run).is_err(), "{missing}");
    }
}

/// The tests of the group run on the instruction sets of this CPU. A missing one is reported, or is a failure with
/// `EVERGROVE_REQUIRE_ISA`.
#[test]
#[ignore = "isa: says which instruction sets this CPU lacks"]
fn every_instruction_set_is_there() {
    let missing: Vec<String> = Isa::ALL.iter().filter(|isa| !isa.is_available()).map(Isa::to_string).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        assert!(std::env::var_os("EVERGROVE_REQUIRE_ISA").is_none(), "this CPU lacks {missing}");
        // Not captured, unlike `eprintln`.
        let line = format!("not tested: test lanes::every_instruction_set_is_there: this CPU lacks {missing}");
        writeln!(std::io::stderr(), "{line}").expect("a place for messages");
    }
}
