//! The fields of ark-ff.

use ark_ff::{BigInt, Fp, MontBackend, MontConfig};

use super::PrimeElement;
use crate::field::Field;
use crate::lanes::{Isa, Lanes};

macro_rules! ark {
    ($words:literal, $limbs:literal) => {
        impl<T: MontConfig<$words>> PrimeElement for Fp<MontBackend<T, $words>, $words> {
            type Words = [u64; $words];
            type On<L: Lanes> = L::Prime<Self, $words, $limbs>;
            const MODULUS: [u64; $words] = T::MODULUS.0;

            #[inline(always)]
            fn words(&self) -> &[u64; $words] {
                &self.0.0
            }
            #[inline(always)]
            fn words_mut(&mut self) -> &mut [u64; $words] {
                &mut self.0.0
            }
            #[inline(always)]
            fn from_words(words: [u64; $words]) -> Self {
                Self::new_unchecked(BigInt(words))
            }
            #[inline(always)]
            fn on<L: Lanes>(lanes: L) -> Self::On<L> {
                lanes.prime()
            }
        }

        impl<T: MontConfig<$words>> Field for Fp<MontBackend<T, $words>, $words> {
            type Base = Self;
            type On<L: Lanes> = L::Prime<Self, $words, $limbs>;
            const ZERO: Self = <Self as ark_ff::AdditiveGroup>::ZERO;
            const ONE: Self = <Self as ark_ff::Field>::ONE;

            #[inline(always)]
            fn on<L: Lanes>(lanes: L) -> Self::On<L> {
                lanes.prime()
            }
            fn from_u64(x: u64) -> Self {
                Self::from(x)
            }
            fn half() -> Self {
                Self::new(T::MODULUS.divide_by_2_round_down()) + <Self as ark_ff::Field>::ONE
            }
            fn inverse(self) -> Option<Self> {
                ark_ff::Field::inverse(&self)
            }
            fn isa() -> Isa {
                super::fastest::fastest::<Self>()
            }
        }
    };
}

// The scalar fields of BLS12-381, BLS12-377 and BN254, and the base field of BN254.
ark!(4, 5);
// The base fields of BLS12-381 and BLS12-377.
ark!(6, 8);
