//! Montgomery multiplication in hardware against the primitives.

use evergrove_primitives::field::prime::{PrimeElement, reference};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{IN, Module, OUT, cases, cycles, halves, simulator};

/// A uniformly random element below p.
pub(super) fn random<const N: usize, F: PrimeElement<Words = [u64; N]>>(rng: &mut ChaCha8Rng) -> F {
    let top = u64::MAX >> F::MODULUS[N - 1].leading_zeros();
    loop {
        let mut words: [u64; N] = std::array::from_fn(|_| rng.r#gen());
        words[N - 1] &= top;
        let x = F::from_words(words);
        if x.is_canonical() {
            return x;
        }
    }
}

/// The words of a number of at most 64 bits.
fn small<const N: usize>(x: u64) -> [u64; N] {
    let mut words = [0; N];
    words[0] = x;
    words
}

/// Checks a module with N limbs of 64 bits (M = 2 N) on pairs of edge values and random pairs, one per cycle.
fn check<const N: usize, const M: usize, F: PrimeElement<Words = [u64; N]>>(name: &'static str, one: F) {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let p = F::MODULUS;
    // 0, 1, 2, R mod p (the Montgomery form of 1), all-one words below a decremented top word, p - 1 and p - 2.
    let mut ones = [u64::MAX; N];
    ones[N - 1] = p[N - 1] - 1;
    let (mut last, mut second) = (p, p);
    last[0] -= 1;
    second[0] -= 2;
    let edges = [small(0), small(1), small(2), *one.words(), ones, last, second].map(F::from_words);
    assert!(edges.iter().all(F::is_canonical));
    let mut pairs: Vec<[F; 2]> = edges.iter().flat_map(|a| edges.map(|b| [*a, b])).collect();
    pairs.extend((0..cases()).map(|_| [random(&mut rng), random(&mut rng)]));
    let inputs: Vec<[[u32; M]; 2]> = pairs.iter().map(|pair| pair.map(|x| halves(x.words()))).collect();

    let Some(runtime) = simulator() else { return };
    let width = 64 * N;
    let ports = [("clk", 1, IN), ("a", width, IN), ("b", width, IN), ("y", width, OUT)];
    let mut module = Module::new(&runtime, name, &ports);
    let [latency, _] = cycles(name);
    for cycle in 0..pairs.len() + latency {
        if let Some([a, b]) = inputs.get(cycle) {
            module.wide("a", a);
            module.wide("b", b);
        }
        module.settle();
        if let Some([a, b]) = cycle.checked_sub(latency).map(|i| pairs[i]) {
            let product: [u32; M] = halves(reference::mul(a, b).words());
            assert_eq!(module.get_wide("y")[..], product, "{a:?} * {b:?}");
        }
        module.edge();
    }
}

#[test]
fn products_of_255_bits() {
    use ark_bls12_381::Fr;
    check::<4, 8, Fr>("mont_mul", ark_ff::Field::ONE);
}

#[test]
fn products_of_377_bits() {
    use ark_bls12_377::Fq;
    check::<6, 12, Fq>("mont_mul_377", ark_ff::Field::ONE);
}
