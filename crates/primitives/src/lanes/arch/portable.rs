//! Plain Rust.

use super::keccak::WordsKernel;
use crate::field::prime::{PrimeElement, Radix64};
use crate::lanes::{Body, Isa, LANES, Lanes, sealed};

/// The witness of no features: arrays of words.
#[derive(Clone, Copy, Debug)]
pub struct Portable(());

impl Portable {
    /// Every CPU runs plain Rust.
    pub(crate) const fn new() -> Self {
        Self(())
    }
}

impl sealed::Sealed for Portable {
    #[inline(always)]
    fn on_words<K: WordsKernel>(self, kernel: K) {
        kernel.run(self);
    }
}

type V = [u64; LANES];

#[inline(always)]
fn map(a: V, b: V, f: impl Fn(u64, u64) -> u64) -> V {
    core::array::from_fn(|i| f(a[i], b[i]))
}

/// x where a < b, 0 elsewhere.
#[inline(always)]
fn masked(x: V, a: V, b: V) -> V {
    core::array::from_fn(|i| x[i] & ((a[i] < b[i]) as u64).wrapping_neg())
}

impl Lanes for Portable {
    type V = V;
    type Prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> = Radix64<Self, F, N>;
    const ISA: Isa = Isa::Portable;

    #[inline(always)]
    fn splat(self, x: u64) -> V {
        [x; LANES]
    }
    #[inline(always)]
    fn load(self, words: &[u64; LANES]) -> V {
        *words
    }
    #[inline(always)]
    fn store(self, v: V, words: &mut [u64; LANES]) {
        *words = v;
    }
    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        map(a, b, u64::wrapping_add)
    }
    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        map(a, b, u64::wrapping_sub)
    }
    #[inline(always)]
    fn xor(self, a: V, b: V) -> V {
        map(a, b, |a, b| a ^ b)
    }
    #[inline(always)]
    fn and(self, a: V, b: V) -> V {
        map(a, b, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, a: V, b: V) -> V {
        map(a, b, |a, b| a | b)
    }
    #[inline(always)]
    fn andnot(self, a: V, b: V) -> V {
        map(a, b, |a, b| !a & b)
    }
    #[inline(always)]
    fn shl<const N: u32>(self, a: V) -> V {
        const { assert!(N < 64) };
        a.map(|x| x << N)
    }
    #[inline(always)]
    fn shr<const N: u32>(self, a: V) -> V {
        const { assert!(N < 64) };
        a.map(|x| x >> N)
    }
    #[inline(always)]
    fn shift_left(self, a: V, n: u32) -> V {
        a.map(|x| x << n)
    }
    #[inline(always)]
    fn shift_right(self, a: V, n: u32) -> V {
        a.map(|x| x >> n)
    }
    #[inline(always)]
    fn rotl<const N: u32>(self, a: V) -> V {
        const { assert!(N < 64) };
        a.map(|x| x.rotate_left(N))
    }
    #[inline(always)]
    fn mul32(self, a: V, b: V) -> V {
        map(a, b, |a, b| (a & 0xffff_ffff) * (b & 0xffff_ffff))
    }
    #[inline(always)]
    fn min(self, a: V, b: V) -> V {
        map(a, b, u64::min)
    }
    #[inline(always)]
    fn add_where_less(self, r: V, x: V, a: V, b: V) -> V {
        map(r, masked(x, a, b), u64::wrapping_add)
    }
    #[inline(always)]
    fn sub_where_less(self, r: V, x: V, a: V, b: V) -> V {
        map(r, masked(x, a, b), u64::wrapping_sub)
    }
    #[inline(always)]
    fn prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize>(self) -> Radix64<Self, F, N> {
        Radix64::new(self)
    }
    #[inline(never)]
    fn outline<B: Body<Self>>(self, body: B) -> B::Output {
        body.run(self)
    }
}
