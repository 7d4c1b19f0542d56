//! AVX2: a vector is two registers of four lanes.

use core::arch::x86_64::*;

use crate::field::prime::{PrimeElement, Radix64};
use crate::lanes::{Body, Isa, LANES, Lanes, sealed};

/// The witness of AVX2.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(pub(super) ());

impl sealed::Sealed for Avx2 {}

type V = [__m256i; 2];

/// Both halves by one intrinsic, which a witness in scope shows to exist.
macro_rules! halves {
    ($op:ident, $a:expr $(, $b:expr)?) => {{
        let a = $a;
        // SAFETY: the caller holds an `Avx2`, so that the CPU has AVX2.
        unsafe { [$op(a[0] $(, $b[0])?), $op(a[1] $(, $b[1])?)] }
    }};
}

/// All bits of the lanes where a < b (as unsigned): AVX2 compares signed words only.
#[inline(always)]
fn less(lanes: Avx2, a: V, b: V) -> V {
    let sign = lanes.splat(1 << 63);
    halves!(_mm256_cmpgt_epi64, lanes.xor(b, sign), lanes.xor(a, sign))
}

impl Lanes for Avx2 {
    type V = V;
    type Prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> = Radix64<Self, F, N>;
    const ISA: Isa = Isa::Avx2;

    #[inline(always)]
    fn splat(self, x: u64) -> V {
        // SAFETY: the CPU has AVX2, by `self`.
        unsafe { [_mm256_set1_epi64x(x as i64); 2] }
    }
    #[inline(always)]
    fn load(self, words: &[u64; LANES]) -> V {
        let p = words.as_ptr().cast::<__m256i>();
        // SAFETY: the CPU has AVX2, by `self`; 64 bytes are readable at `p`; no alignment is asked for.
        unsafe { [_mm256_loadu_si256(p), _mm256_loadu_si256(p.add(1))] }
    }
    #[inline(always)]
    fn store(self, v: V, words: &mut [u64; LANES]) {
        let p = words.as_mut_ptr().cast::<__m256i>();
        // SAFETY: the CPU has AVX2, by `self`; 64 bytes are writable at `p`; no alignment is asked for.
        unsafe {
            _mm256_storeu_si256(p, v[0]);
            _mm256_storeu_si256(p.add(1), v[1]);
        }
    }
    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        halves!(_mm256_add_epi64, a, b)
    }
    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        halves!(_mm256_sub_epi64, a, b)
    }
    #[inline(always)]
    fn xor(self, a: V, b: V) -> V {
        halves!(_mm256_xor_si256, a, b)
    }
    #[inline(always)]
    fn and(self, a: V, b: V) -> V {
        halves!(_mm256_and_si256, a, b)
    }
    #[inline(always)]
    fn or(self, a: V, b: V) -> V {
        halves!(_mm256_or_si256, a, b)
    }
    #[inline(always)]
    fn andnot(self, a: V, b: V) -> V {
        halves!(_mm256_andnot_si256, a, b)
    }
    #[inline(always)]
    fn shl<const N: u32>(self, a: V) -> V {
        const { assert!(N < 64) };
        self.shift_left(a, N)
    }
    #[inline(always)]
    fn shr<const N: u32>(self, a: V) -> V {
        const { assert!(N < 64) };
        self.shift_right(a, N)
    }
    #[inline(always)]
    fn shift_left(self, a: V, n: u32) -> V {
        halves!(_mm256_sllv_epi64, a, self.splat(n as u64))
    }
    #[inline(always)]
    fn shift_right(self, a: V, n: u32) -> V {
        halves!(_mm256_srlv_epi64, a, self.splat(n as u64))
    }
    #[inline(always)]
    fn rotl<const N: u32>(self, a: V) -> V {
        const { assert!(N < 64) };
        // A count of 64, for N = 0, shifts everything out.
        let right = halves!(_mm256_srlv_epi64, a, self.splat(64 - N as u64));
        self.or(self.shl::<N>(a), right)
    }
    #[inline(always)]
    fn mul32(self, a: V, b: V) -> V {
        halves!(_mm256_mul_epu32, a, b)
    }
    #[inline(always)]
    fn min(self, a: V, b: V) -> V {
        let less = less(self, a, b);
        self.or(self.and(a, less), self.andnot(less, b))
    }
    #[inline(always)]
    fn add_where_less(self, r: V, x: V, a: V, b: V) -> V {
        self.add(r, self.and(x, less(self, a, b)))
    }
    #[inline(always)]
    fn sub_where_less(self, r: V, x: V, a: V, b: V) -> V {
        self.sub(r, self.and(x, less(self, a, b)))
    }
    #[inline(always)]
    fn prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize>(self) -> Radix64<Self, F, N> {
        Radix64::new(self)
    }
    #[inline(always)]
    fn outline<B: Body<Self>>(self, body: B) -> B::Output {
        #[target_feature(enable = "avx2")]
        #[inline(never)]
        fn call<B: Body<Avx2>>(lanes: Avx2, body: B) -> B::Output {
            body.run(lanes)
        }
        // SAFETY: the CPU has AVX2, by `self`.
        unsafe { call(self, body) }
    }
}
