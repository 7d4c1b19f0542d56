//! The fastest body for products of 256 bits.
//!
//! On a CPU whose best instruction set is AVX2, products in lanes (floating point, limbs of 52 bits) and products of
//! plain Rust (the 64-bit multiplier) take about the same time, and the faster one differs from CPU to CPU. So both are
//! measured, once in a process for all such fields. This takes some tenths of a millisecond. All bodies give the same
//! words.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::PrimeElement;
use crate::field::FieldLanes;
use crate::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};

/// Words of the elements that are measured.
const WORDS: usize = 4;
/// Products of a turn, in vectors.
const VECTORS: usize = 64;
const TURNS: usize = 5;

/// The instruction set on which products of the field are fastest.
pub(super) fn fastest<F: PrimeElement>() -> Isa {
    static MEASURED: OnceLock<Isa> = OnceLock::new();
    let best = Isa::detect();
    if best != Isa::Avx2 || Isa::is_chosen() || F::MODULUS.as_ref().len() != WORDS {
        return best;
    }
    *MEASURED.get_or_init(|| measure::<F>(&[Isa::Portable, Isa::Avx2]))
}

/// Among these instruction sets, which the CPU has, the one with the fastest turn.
fn measure<F: PrimeElement>(candidates: &[Isa]) -> Isa {
    let mut least = vec![Duration::MAX; candidates.len()];
    let mut words = F::MODULUS;
    words.as_mut()[0] -= 1;
    let mut x = vec![[F::from_words(words); LANES]; VECTORS];
    for _ in 0..TURNS {
        for (&isa, least) in candidates.iter().zip(&mut least) {
            let start = Instant::now();
            dispatch_on(isa, Squares(&mut x));
            *least = start.elapsed().min(*least);
        }
    }
    let (fastest, _) = candidates.iter().zip(least).min_by_key(|&(_, time)| time).expect("a candidate");
    *fastest
}

/// x := x x, as in kernels: from memory to memory, without dependencies.
struct Squares<'a, F>(&'a mut [[F; LANES]]);

impl<F: PrimeElement> Kernel for Squares<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = F::on(lanes);
        for x in self.0 {
            let v = f.load(x);
            f.store(f.mul(v, v), x);
        }
    }
}

#[cfg(all(test, feature = "ark"))]
mod tests {
    use ark_bls12_381::Fr;

    use super::*;
    use crate::field::Field;
    use crate::lanes::available;

    #[test]
    fn what_is_measured_is_one_of_the_candidates() {
        let all: Vec<Isa> = available().collect();
        assert!(all.contains(&measure::<Fr>(&all)));
        for isa in all {
            assert_eq!(measure::<Fr>(&[isa]), isa);
        }
    }

    #[test]
    fn only_products_of_256_bits_on_avx2_are_measured() {
        let best = Isa::detect();
        assert!(Fr::isa() == best || best == Isa::Avx2 && Fr::isa() == Isa::Portable);
        assert_eq!(<ark_bls12_381::Fq as Field>::isa(), best);
        assert_eq!(<crate::Goldilocks as Field>::isa(), best);
    }
}
