//! Eight elements at a time against ark-ff and the textbook arithmetic, on every instruction set.

use std::fmt::Debug;

use ark_ff::Field;
use evergrove_primitives::field::prime::{PrimeElement, PrimeLanes, reference};
use evergrove_primitives::lanes::{Body, Kernel, LANES, Lanes, available, dispatch_on};
use proptest::prelude::*;

/// What the operations give on three vectors, in the order of [`expected`].
struct Operations<'a, F>(&'a [F; LANES], &'a [F; LANES], &'a [F; LANES]);

/// 1 in the place of 0.
fn nonzero<F: Field>(mut x: [F; LANES]) -> [F; LANES] {
    for x in x.iter_mut().filter(|x| x.is_zero()) {
        *x = F::ONE;
    }
    x
}

impl<F: PrimeElement + Field> Kernel for Operations<'_, F> {
    type Output = Vec<[F; LANES]>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = F::on(lanes);
        let (a, b, c) = (f.load(self.0), f.load(self.1), f.load(self.2));
        let k = f.to_factor(c);
        let mut sum = f.empty();
        f.accumulate(&mut sum, a.into(), b.into());
        f.accumulate(&mut sum, f.lazy_sub(a, c), f.extend(b, c));
        let out = [
            a,
            f.zero(),
            f.splat(&self.0[3]),
            f.add(a, b),
            f.sub(a, b),
            f.neg(a),
            f.double(a),
            f.mul(a, b),
            f.square(a),
            f.reduce(f.lazy_add(a, b)),
            f.reduce(f.lazy_sub(a, b)),
            f.reduce(f.extend(a, b)),
            f.scale(a.into(), f.factor(&self.1[5])),
            f.scale(f.extend(a, b), k),
            f.line(a, b, k),
            f.finish(f.empty()),
            f.finish(sum),
            // Values that were stored nowhere in between.
            f.mul(f.add(f.mul(a, b), f.neg(c)), f.sub(f.double(f.double(a)), f.square(b))),
            f.outline(Cube(a)),
            f.sub_sum(a, b, c),
            f.mul_difference(f.difference(a, b), c),
            f.mul_difference(f.signed_difference(a, b, &SIGNS), c),
            f.mul_difference(a.into(), b),
            // Inverses of the lanes of a product that are not zero, and 1 else.
            f.invert(f.load(&nonzero(f.to_array(f.mul(a, b))))).expect("no lane is zero"),
            // The ends of the ranges.
            f.mul_difference(f.difference(f.sub(a, b), f.mul(b, c)), f.sub(c, a)),
        ];
        out.into_iter().map(|v| f.to_array(v)).collect()
    }
}

/// Negative in lanes 0, 3, 4 and 7; only the highest bit counts.
const SIGNS: [u64; LANES] = [u64::MAX, 0, 1, 1 << 63, 3 << 62, u64::MAX >> 1, 0, 1 << 63];

struct Cube<V>(V);

impl<A: PrimeLanes> Body<A> for Cube<A::V> {
    type Output = A::V;

    #[inline(always)]
    fn run(self, f: A) -> A::V {
        f.mul(f.square(self.0), self.0)
    }
}

fn expected<F: Field>(a: &[F; LANES], b: &[F; LANES], c: &[F; LANES]) -> Vec<[F; LANES]> {
    let each = |g: &dyn Fn(F, F, F) -> F| core::array::from_fn(|i| g(a[i], b[i], c[i]));
    vec![
        *a,
        [F::ZERO; LANES],
        [a[3]; LANES],
        each(&|a, b, _| a + b),
        each(&|a, b, _| a - b),
        each(&|a, _, _| -a),
        each(&|a, _, _| a + a),
        each(&|a, b, _| a * b),
        each(&|a, _, _| a * a),
        each(&|a, b, _| a + b),
        each(&|a, b, _| a - b),
        each(&|a, b, _| b + b - a),
        each(&|a, _, _| a * b[5]),
        each(&|a, b, c| (b + b - a) * c),
        each(&|a, b, c| a + c * (b - a)),
        [F::ZERO; LANES],
        each(&|a, b, c| a * b + (a - c) * (c + c - b)),
        each(&|a, b, c| (a * b - c) * (a + a + a + a - b * b)),
        each(&|a, _, _| a * a * a),
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

/// Chunks, strides, pairs and stores move every element to its place.
struct Moves<'a, F>(&'a [F; 2 * LANES]);

impl<F: PrimeElement> Kernel for Moves<'_, F> {
    type Output = [[F; LANES]; 4];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = F::on(lanes);
        let [even, odd] = f.load_pairs(self.0);
        let mut both = *self.0;
        f.store_pairs(odd, even, &mut both);
        let [first, second] = *both.as_chunks::<LANES>().0 else { unreachable!("sixteen elements") };
        let mut stored = first;
        f.store(f.gather([3, 1, 4, 1, 5, 9, 2, 6].map(|i| &self.0[i])), &mut stored);
        [first, second, stored, f.to_array(f.splat(&f.sum_lanes(even)))]
    }
}

/// A long sum of products at the ends of all bounds.
struct LongSum<'a, F>(&'a [F], &'a [F], usize);

impl<F: PrimeElement> Kernel for LongSum<'_, F> {
    type Output = [F; LANES];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = F::on(lanes);
        let mut sum = f.empty();
        for i in 0..self.2 {
            let x = f.splat(&self.0[i % self.0.len()]);
            let y = f.splat(&self.1[i % self.1.len()]);
            let (x, y) = (f.extend(f.zero(), x), f.extend(f.zero(), y));
            f.accumulate(&mut sum, x, y);
            if i % <F::On<L> as PrimeLanes>::TERMS == <F::On<L> as PrimeLanes>::TERMS - 1 {
                f.carry(&mut sum);
            }
        }
        f.to_array(f.finish(sum))
    }
}

fn long_sums<F: PrimeElement<Words = [u64; N]> + Field, const N: usize>() {
    let mut last = F::MODULUS;
    last[0] -= 1;
    let last = F::from_words(last);
    let (x, y) = ([last, F::from_words(F::MODULUS) - F::ONE, last], [last]);
    for terms in [1, 127, 128, 129, 1 << 15] {
        let dot: F = (0..terms).map(|i| x[i % 3] * y[0] * F::from(4u64)).sum();
        for isa in available() {
            assert_eq!(dispatch_on(isa, LongSum(&x, &y, terms)), [dot; LANES], "{terms} terms on {isa}");
        }
    }
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
            let mut sixteen = [F::ZERO; 2 * LANES];
            sixteen[..LANES].copy_from_slice(&a);
            sixteen[LANES..].copy_from_slice(&b);
            let swapped: [F; 2 * LANES] = core::array::from_fn(|i| sixteen[i ^ 1]);
            let even: F = sixteen.iter().step_by(2).sum();
            for isa in available() {
                let found = dispatch_on(isa, Operations(&a, &b, &c));
                prop_assert_eq!(found.len(), expected.len());
                for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    prop_assert!(found.iter().all(PrimeElement::is_canonical), "operation {} on {}", i, isa);
                    prop_assert_eq!(found, expected, "operation {} on {}", i, isa);
                }
                let [first, second, gathered, sum] = dispatch_on(isa, Moves(&sixteen));
                prop_assert_eq!(&first[..], &swapped[..LANES], "{}", isa);
                prop_assert_eq!(&second[..], &swapped[LANES..], "{}", isa);
                prop_assert_eq!(gathered, [3, 1, 4, 1, 5, 9, 2, 6].map(|i| sixteen[i]), "{}", isa);
                prop_assert_eq!(sum, [even; LANES], "{}", isa);
            }
            Ok(())
        })
        .unwrap();
    long_sums::<F, N>();
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

#[test]
fn bls12_377_base() {
    laws::<ark_bls12_377::Fq, 6>();
}

#[test]
fn bn254_scalar() {
    laws::<ark_bn254::Fr, 4>();
}

#[test]
fn bn254_base() {
    laws::<ark_bn254::Fq, 4>();
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
