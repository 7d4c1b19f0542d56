//! AVX2: a vector is two registers of four lanes.

use core::arch::asm;
use core::arch::x86_64::*;

use super::keccak::WordsKernel;
use crate::field::prime::{PrimeElement, Radix52};
use crate::lanes::{Body, Isa, LANES, LOW32, LOW52, Lanes, THREE_51, TWO_52, TWO_104, sealed};

/// The witness of AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The witness, if this CPU has AVX2 and FMA; the standard library remembers the answers.
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        super::has_features!("avx2", "fma").then_some(Self(()))
    }
}

impl sealed::Sealed for Avx2 {
    #[inline(always)]
    fn on_words<K: WordsKernel>(self, kernel: K) {
        kernel.run(self);
    }
}

type V = [__m256i; 2];
/// Eight floating-point numbers.
type D = [__m256d; 2];

/// Both halves by one intrinsic, which a witness in scope shows to exist.
macro_rules! halves {
    ($op:ident, $a:expr $(, $b:expr)?) => {{
        let a = $a;
        // SAFETY: the caller holds an `Avx2`, so that the CPU has AVX2.
        unsafe { [$op(a[0] $(, $b[0])?), $op(a[1] $(, $b[1])?)] }
    }};
}

/// All bits of the lanes where a < b (as unsigned): AVX2 compares only signed words.
#[inline(always)]
fn less(lanes: Avx2, a: V, b: V) -> V {
    let sign = lanes.splat(1 << 63);
    halves!(_mm256_cmpgt_epi64, lanes.xor(b, sign), lanes.xor(a, sign))
}

/// x in every lane, as a value that is opaque to the compiler, which would replace products with a constant by shifts.
#[inline(always)]
fn opaque(mut x: u64, lanes: Avx2) -> V {
    // SAFETY: the assembly is empty.
    unsafe { asm!("/* {0} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) };
    lanes.splat(x)
}

/// 2^32 - 1 in the lanes where the high half of a is greater than that of b (as signed), 0 elsewhere.
#[inline(always)]
fn high_greater(lanes: Avx2, a: V, b: V) -> V {
    lanes.shr::<32>(halves!(_mm256_cmpgt_epi32, a, b))
}

/// [`halves`] of floating-point numbers.
macro_rules! doubles {
    ($op:ident, $a:expr $(, $b:expr)+) => {{
        let a = $a;
        // SAFETY: the caller holds an `Avx2`, so that the CPU has AVX2 and FMA.
        unsafe { [$op(a[0] $(, $b[0])+), $op(a[1] $(, $b[1])+)] }
    }};
}

impl Avx2 {
    /// The floating-point number of the bits in every lane.
    #[inline(always)]
    fn double(self, bits: u64) -> D {
        // SAFETY: the CPU has AVX2, by `self`.
        unsafe { [_mm256_set1_pd(f64::from_bits(bits)); 2] }
    }
    /// The low 52 bits, exactly.
    #[inline(always)]
    fn integer_to_double(self, x: V) -> D {
        let x = self.or(self.and(x, self.splat(LOW52)), self.splat(TWO_52));
        // SAFETY: the CPU has AVX2, by `self`.
        let x = unsafe { [_mm256_castsi256_pd(x[0]), _mm256_castsi256_pd(x[1])] };
        let two52 = self.double(TWO_52);
        doubles!(_mm256_sub_pd, x, two52)
    }
    /// Word j of row i becomes word i of row j.
    #[inline(always)]
    pub(super) fn transpose_four(self, [a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
        // SAFETY: the CPU has AVX2, by `self`.
        unsafe {
            let (ab0, ab1) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
            let (cd0, cd1) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
            [
                _mm256_permute2x128_si256::<0x20>(ab0, cd0),
                _mm256_permute2x128_si256::<0x20>(ab1, cd1),
                _mm256_permute2x128_si256::<0x31>(ab0, cd0),
                _mm256_permute2x128_si256::<0x31>(ab1, cd1),
            ]
        }
    }
    /// The bits of floating-point numbers.
    #[inline(always)]
    fn bits(self, x: D) -> V {
        // SAFETY: the CPU has AVX2, by `self`.
        unsafe { [_mm256_castpd_si256(x[0]), _mm256_castpd_si256(x[1])] }
    }
}

impl Lanes for Avx2 {
    type V = V;
    type Prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> = Radix52<Self, F, N, M>;
    const ISA: Isa = Isa::Avx2;
    const EXACT_LOW: bool = false;
    const REGISTERS: usize = 2;

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
    fn sub_where_less_signed(self, r: V, x: V, a: V, b: V) -> V {
        self.sub(r, self.and(x, halves!(_mm256_cmpgt_epi64, b, a)))
    }
    #[inline(always)]
    fn mul52_add(self, low: V, high: V, a: V, b: V) -> (V, V) {
        let (two104, three51) = (self.double(TWO_104), self.double(THREE_51));
        let (a, b) = (self.integer_to_double(a), self.integer_to_double(b));
        // The product is rounded to a multiple of 2^52 above 2^104; the rest is exact.
        let h = doubles!(_mm256_fmadd_pd, a, b, two104);
        let rest = doubles!(_mm256_sub_pd, two104, h);
        let l = doubles!(_mm256_fmadd_pd, a, b, rest);
        let l = doubles!(_mm256_add_pd, l, three51);
        (
            self.sub(self.add(low, self.bits(l)), self.splat(THREE_51)),
            self.sub(self.add(high, self.bits(h)), self.splat(TWO_104)),
        )
    }
    #[inline(always)]
    fn register(self, a: V, i: usize) -> V {
        [a[i]; 2]
    }
    #[inline(always)]
    fn with_register(self, mut a: V, i: usize, b: V) -> V {
        a[i] = b[i];
        a
    }
    #[inline(always)]
    fn transpose(self, v: [V; LANES]) -> [V; LANES] {
        let [a, b, c, d, e, f, g, h] = v;
        let [a0, b0, c0, d0] = self.transpose_four([a[0], b[0], c[0], d[0]]);
        let [a1, b1, c1, d1] = self.transpose_four([e[0], f[0], g[0], h[0]]);
        let [e0, f0, g0, h0] = self.transpose_four([a[1], b[1], c[1], d[1]]);
        let [e1, f1, g1, h1] = self.transpose_four([e[1], f[1], g[1], h[1]]);
        [[a0, a1], [b0, b1], [c0, c1], [d0, d1], [e0, e1], [f0, f1], [g0, g1], [h0, h1]]
    }
    #[inline(always)]
    fn high32(self, a: V) -> V {
        // SAFETY: the CPU has AVX2, by `self`.
        unsafe {
            [
                _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(a[0]))),
                _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(a[1]))),
            ]
        }
    }
    #[inline(always)]
    fn join32(self, low: V, high: V) -> V {
        let high = self.shl::<32>(high);
        // SAFETY: the CPU has AVX2, by `self`.
        unsafe { [_mm256_blend_epi32::<0xaa>(low[0], high[0]), _mm256_blend_epi32::<0xaa>(low[1], high[1])] }
    }
    #[inline(always)]
    fn mul_low32(self, a: V) -> V {
        self.mul32(a, opaque(LOW32, self))
    }
    // Words are shifted by 2^63, which makes signed comparisons unsigned; the shifts between two such operations
    // cancel.
    //
    // The high halves alone decide. Let two words differ by b <= 2^64 - 2^32 and have equal high halves. If b < 2^32,
    // nothing has wrapped. Otherwise b >> 32 = 2^32 - 1 and the low halves gave a carry (or a borrow); but then the low
    // half of b is zero and gives none.
    #[inline(always)]
    fn add_folded(self, a: V, b: V) -> V {
        let sign = self.splat(1 << 63);
        let a = self.xor(a, sign);
        let sum = self.add(a, b);
        self.xor(self.add(sum, high_greater(self, a, sum)), sign)
    }
    #[inline(always)]
    fn sub_folded(self, a: V, b: V) -> V {
        let sign = self.splat(1 << 63);
        let a = self.xor(a, sign);
        let difference = self.sub(a, b);
        self.xor(self.sub(difference, high_greater(self, difference, a)), sign)
    }
    #[inline(always)]
    fn fold(self, a: V) -> V {
        let sign = self.splat(1 << 63);
        let a = self.xor(a, sign);
        let below = halves!(_mm256_cmpgt_epi64, self.splat(LOW32.wrapping_neg() ^ 1 << 63), a);
        self.xor(self.add(a, self.andnot(below, self.splat(LOW32))), sign)
    }
    #[inline(always)]
    fn prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize>(self) -> Radix52<Self, F, N, M> {
        Radix52::new(self)
    }
    #[inline(always)]
    fn outline<B: Body<Self>>(self, body: B) -> B::Output {
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn call<B: Body<Avx2>>(lanes: Avx2, body: B) -> B::Output {
            super::align_frame();
            body.run(lanes)
        }
        // SAFETY: the CPU has AVX2 and FMA, by `self`.
        unsafe { call(self, body) }
    }
}
