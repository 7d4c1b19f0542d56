//! Transforms of one column as in textbooks: the references of [`super::Forward`], [`super::Inverse`] and
//! [`super::Lde`].

use evergrove_primitives::Goldilocks;

use super::reverse;

/// The value at a point, by Horner's rule.
pub fn value(coefficients: &[Goldilocks], point: Goldilocks) -> Goldilocks {
    coefficients.iter().rev().fold(Goldilocks::ZERO, |sum, c| sum * point + *c)
}

/// The values on `shift` H in natural order: the n values at shift w^k for k from 0 on, by radix-2 butterflies.
///
/// # Panics
/// If the number of coefficients is not a power of two or is above 2^32.
pub fn evaluate(coefficients: &[Goldilocks], shift: Goldilocks) -> Vec<Goldilocks> {
    let powers = core::iter::successors(Some(Goldilocks::ONE), |x| Some(*x * shift));
    transform(coefficients.iter().zip(powers).map(|(c, p)| *c * p).collect())
}

/// The coefficients from the values on `shift` H.
///
/// # Panics
/// If the number of values is not a power of two or is above 2^32, or the shift is zero.
pub fn interpolate(values: &[Goldilocks], shift: Goldilocks) -> Vec<Goldilocks> {
    let mut coefficients = transform(values.to_vec());
    coefficients[1..].reverse();
    let n = Goldilocks::reduce(values.len() as u64);
    let inverse = |x: Goldilocks| x.inverse().expect("not zero");
    let (mut factor, shift) = (inverse(n), inverse(shift));
    for x in &mut coefficients {
        *x *= factor;
        factor *= shift;
    }
    coefficients
}

/// The values on a coset 2^`rate_bits` times as large: padded with zeros and evaluated.
///
/// # Panics
/// As [`evaluate`].
pub fn extend(coefficients: &[Goldilocks], rate_bits: u32, shift: Goldilocks) -> Vec<Goldilocks> {
    let mut padded = coefficients.to_vec();
    padded.resize(coefficients.len() << rate_bits, Goldilocks::ZERO);
    evaluate(&padded, shift)
}

/// From natural order to natural order, by halves.
fn transform(mut x: Vec<Goldilocks>) -> Vec<Goldilocks> {
    assert!(x.len().is_power_of_two(), "a transform of length {}", x.len());
    let bits = x.len().ilog2();
    for log in (1..=bits).rev() {
        let root = Goldilocks::root_of_unity(log).expect("at most 2^32");
        for block in x.chunks_mut(1 << log) {
            let (low, high) = block.split_at_mut(1 << (log - 1));
            let mut twiddle = Goldilocks::ONE;
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, (*a - *b) * twiddle);
                twiddle *= root;
            }
        }
    }
    (0..x.len()).map(|k| x[reverse(k, bits)]).collect()
}
