//! Prime fields, eight elements at a time, compared with ark-ff and the textbook arithmetic, on every instruction set.

use std::fmt::Debug;

use evergrove_primitives::field::prime::{PrimeElement, PrimeLanes, reference};
use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Kernel, LANES, Lanes, available, dispatch_on};
use proptest::prelude::*;

use super::fields;

/// The results of the operations on three vectors, in the order of [`expected`].
struct Operations<'a, F>(&'a [F; LANES], &'a [F; LANES], &'a [F; LANES]);

/// 1 instead of 0.
fn nonzero<F: Field>(mut x: [F; LANES]) -> [F; LANES] {
    for x in x.iter_mut().filter(|x| **x == F::ZERO) {
        *x = F::ONE;
    }
    x
}

impl<F: PrimeElement + Field> Kernel for Operations<'_, F> {
    type Output = Vec<[F; LANES]>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = <F as PrimeElement>::on(lanes);
        let (a, b, c) = (f.load(self.0), f.load(self.1), f.load(self.2));
        let out = [
            f.sub_sum(a, b, c),
            f.mul_difference(f.difference(a, b), c),
            f.mul_difference(f.signed_difference(a, b, &SIGNS), c),
            f.mul_difference(a.into(), b),
            // Inverses of the lanes of a product that are not zero, and 1 for the others.
            f.invert(f.load(&nonzero(f.to_array(f.mul(a, b))))).expect("no lane is zero"),
            // The ends of the ranges.
            f.mul_difference(f.difference(f.sub(a, b), f.mul(b, c)), f.sub(c, a)),
        ];
        out.into_iter().map(|v| f.to_array(v)).collect()
    }
}

/// Negative in lanes 0, 3, 4 and 7; only the highest bit counts.
const SIGNS: [u64; LANES] = [u64::MAX, 0, 1, 1 << 63, 3 << 62, u64::MAX >> 1, 0, 1 << 63];

fn expected<F: Field>(a: &[F; LANES], b: &[F; LANES], c: &[F; LANES]) -> Vec<[F; LANES]> {
    let each = |g: &dyn Fn(F, F, F) -> F| core::array::from_fn(|i| g(a[i], b[i], c[i]));
    vec![
        each(&|a, b, c| a - b - c),
        each(&|a, b, c| (a - b) * c),
        core::array::from_fn(|i| (if SIGNS[i] >> 63 != 0 { -a[i] - b[i] } else { a[i] - b[i] }) * c[i]),
        each(&|a, b, _| a * b),
        each(&|a, b, _| (a * b).inverse().unwrap_or(F::ONE)),
        each(&|a, b, c| (a - b - b * c) * (c - a)),
    ]
}

/// Elements by their Montgomery words: both ends, both sides of limbs of 52 bits and of words of 64, and anything.
fn element<F: PrimeElement<Words = [u64; N]>, const N: usize>() -> impl Strategy<Value = F> {
    let canonical = |words: [u64; N]| {
        let mut words = words;
        // Below 2^(bits of p - 1), hence below p.
        if !F::from_words(words).is_canonical() {
            words[N - 1] &= (1 << (63 - F::MODULUS[N - 1].leading_zeros())) - 1;
        }
        F::from_words(words)
    };
    let below_p = |k: u64| {
        let mut words = F::MODULUS;
        words[0] -= k.min(words[0]);
        F::from_words(words)
    };
    let bits = 64 * N as u32;
    let power = move |k: u32, minus_one: bool| {
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            let low = 64 * i as u32;
            *word = match k.checked_sub(low) {
                Some(shift) if shift < 64 => (1u64 << shift).wrapping_sub(minus_one as u64),
                Some(_) if minus_one => u64::MAX,
                _ => 0,
            };
        }
        canonical(words)
    };
    prop_oneof![
        4 => prop::array::uniform::<_, N>(any::<u64>()).prop_map(canonical),
        1 => (0..4u64).prop_map(move |k| {
            let mut words = [0; N];
            words[0] = k;
            canonical(words)
        }),
        1 => (1..4u64).prop_map(below_p),
        1 => (0..bits / 52 + 1, any::<bool>()).prop_map(move |(i, m)| power((52 * i).min(bits - 1), m)),
        1 => (0..N as u32, any::<bool>()).prop_map(move |(i, m)| power(64 * i, m)),
        1 => Just(canonical([u64::MAX; N])),
        1 => prop::array::uniform::<_, N>(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()]).prop_map(canonical),
    ]
}

fn vector<F: PrimeElement<Words = [u64; N]>, const N: usize>() -> impl Strategy<Value = [F; LANES]> {
    prop::array::uniform8(element::<F, N>())
}

/// Whether eight elements have inverses.
struct Invertible<'a, F>(&'a [F; LANES]);

impl<F: PrimeElement> Kernel for Invertible<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> bool {
        let f = F::on(lanes);
        f.invert(f.load(self.0)).is_some()
    }
}

fn laws<F: PrimeElement<Words = [u64; N]> + Field + Debug, const N: usize>() {
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&(vector::<F, N>(), vector::<F, N>(), vector::<F, N>()), |(a, b, c)| {
            let expected = expected(&a, &b, &c);
            for i in 0..LANES {
                prop_assert!(a[i].is_canonical());
                prop_assert_eq!(reference::mul(a[i], b[i]), a[i] * b[i]);
                prop_assert_eq!(reference::add(a[i], b[i]), a[i] + b[i]);
                prop_assert_eq!(reference::sub(a[i], b[i]), a[i] - b[i]);
                prop_assert_eq!(reference::neg(a[i]), -a[i]);
            }
            fields::check(&a, &b, &c);
            for isa in available() {
                let found = dispatch_on(isa, Operations(&a, &b, &c));
                prop_assert_eq!(found.len(), expected.len());
                for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    prop_assert!(found.iter().all(PrimeElement::is_canonical), "operation {} on {}", i, isa);
                    prop_assert_eq!(found, expected, "operation {} on {}", i, isa);
                }
            }
            Ok(())
        })
        .unwrap();
    let mut last = F::MODULUS;
    last[0] -= 1;
    fields::long_sums(&[F::from_words(last), -F::ONE], &[F::from_words(last)]);
    for isa in available() {
        for zero in 0..LANES {
            let mut x = [F::ONE; LANES];
            assert!(dispatch_on(isa, Invertible(&x)));
            x[zero] = F::ZERO;
            assert!(!dispatch_on(isa, Invertible(&x)), "lane {zero} on {isa}");
        }
    }
}

#[test]
fn bls12_381_scalar() {
    laws::<ark_bls12_381::Fr, 4>();
}

#[test]
fn bls12_381_base() {
    laws::<ark_bls12_381::Fq, 6>();
}

#[test]
fn bls12_377_scalar() {
    laws::<ark_bls12_377::Fr, 4>();
}

#[cfg(feature = "long-builds")]
#[test]
fn bls12_377_base() {
    laws::<ark_bls12_377::Fq, 6>();
}

#[cfg(feature = "long-builds")]
#[test]
fn bn254_base() {
    laws::<ark_bn254::Fq, 4>();
}

#[test]
fn bn254_scalar() {
    laws::<ark_bn254::Fr, 4>();
}

#[test]
fn words_at_and_above_the_modulus_are_not_canonical() {
    fn check<F: PrimeElement<Words = [u64; N]>, const N: usize>() {
        assert!(!F::from_words(F::MODULUS).is_canonical());
        assert!(!F::from_words([u64::MAX; N]).is_canonical());
        let mut last = F::MODULUS;
        last[0] -= 1;
        assert!(F::from_words(last).is_canonical());
        assert!(F::from_words([0; N]).is_canonical());
    }
    check::<ark_bls12_381::Fr, 4>();
    check::<ark_bls12_377::Fq, 6>();
}
