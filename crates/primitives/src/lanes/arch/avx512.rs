//! AVX-512: a vector is one register.

use core::arch::x86_64::*;

use super::avx2::Avx2;
use super::keccak::WordsKernel;
use crate::field::prime::{PrimeElement, Radix52};
use crate::lanes::{Body, Isa, LANES, LOW52, Lanes, THREE_51, TWO_52, TWO_104, sealed};

/// The witness of AVX-512F.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// The witness of AVX-512F and AVX-512 IFMA. Its own methods are the operations that the 52-bit kernels need beyond
/// [`Lanes`].
#[derive(Clone, Copy, Debug)]
pub struct Avx512Ifma(());

impl Avx512 {
    /// The witness, if this CPU has AVX-512F, and AVX2 and FMA, which the compiler includes in it: a hypervisor may
    /// hide any bit.
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        // Enabling AVX-512F enables F16C.
        let all = super::has_features!("avx512f", "f16c");
        (Avx2::detect().is_some() && all).then_some(Self(()))
    }
}

impl Avx512Ifma {
    /// The witness, if this CPU has the features of [`Avx512`], and AVX-512 IFMA.
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        (Avx512::detect().is_some() && super::has_features!("avx512ifma")).then_some(Self(()))
    }

    /// The witness of AVX-512F, which [`Avx512Ifma::detect`] has checked.
    #[inline(always)]
    fn avx512(self) -> Avx512 {
        Avx512(())
    }
}

impl sealed::Sealed for Avx512 {
    #[inline(always)]
    fn on_words<K: WordsKernel>(self, kernel: K) {
        kernel.run(self);
    }
}

impl sealed::Sealed for Avx512Ifma {
    #[inline(always)]
    fn on_words<K: WordsKernel>(self, kernel: K) {
        kernel.run(self.avx512());
    }
}

type V = __m512i;

/// An intrinsic of AVX-512F, which a witness in scope shows to exist.
macro_rules! op {
    ($op:expr) => {{
        // SAFETY: the caller holds a witness, so that the CPU has AVX-512F; no memory is touched.
        unsafe { $op }
    }};
}

/// Words 0 (of every 128 bits) of two rows, and words 1.
#[inline(always)]
fn interleave(_lanes: impl Lanes<V = V>, a: V, b: V) -> (V, V) {
    op!((_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)))
}

/// Columns c, c + 2, c + 4, c + 6 of eight rows, from pairs of rows interleaved.
#[inline(always)]
fn columns(_lanes: impl Lanes<V = V>, a: V, b: V, c: V, d: V) -> [V; 4] {
    op!({
        // Fours of rows: the columns c and c + 4, then c + 2 and c + 6.
        let near = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let far = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        let (ab0, ab1) = (_mm512_permutex2var_epi64(a, near, b), _mm512_permutex2var_epi64(a, far, b));
        let (cd0, cd1) = (_mm512_permutex2var_epi64(c, near, d), _mm512_permutex2var_epi64(c, far, d));
        [
            _mm512_shuffle_i64x2::<0x44>(ab0, cd0),
            _mm512_shuffle_i64x2::<0x44>(ab1, cd1),
            _mm512_shuffle_i64x2::<0xee>(ab0, cd0),
            _mm512_shuffle_i64x2::<0xee>(ab1, cd1),
        ]
    })
}

#[inline(always)]
fn transpose(lanes: impl Lanes<V = V>, r: [V; LANES]) -> [V; LANES] {
    let (e0, o0) = interleave(lanes, r[0], r[1]);
    let (e1, o1) = interleave(lanes, r[2], r[3]);
    let (e2, o2) = interleave(lanes, r[4], r[5]);
    let (e3, o3) = interleave(lanes, r[6], r[7]);
    let even = columns(lanes, e0, e1, e2, e3);
    let odd = columns(lanes, o0, o1, o2, o3);
    [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
}

/// Four words of two rows, as halves of a vector.
#[inline(always)]
fn two_rows<const N: usize>(_lanes: impl Lanes<V = V>, a: &[u64; N], b: &[u64; N]) -> V {
    assert!(N == 4);
    // SAFETY: the CPU has AVX-512F, by the witness; a row has 32 bytes; no alignment is asked for.
    unsafe {
        let a = _mm512_castsi256_si512(_mm256_loadu_si256(a.as_ptr().cast()));
        _mm512_inserti64x4::<1>(a, _mm256_loadu_si256(b.as_ptr().cast()))
    }
}

/// The mask of N words.
const fn words(n: usize) -> __mmask8 {
    assert!(n <= LANES);
    (0xff >> (LANES - n)) as __mmask8
}

#[inline(always)]
fn load_rows<const N: usize>(lanes: impl Lanes<V = V>, [a, b, c, d, e, f, g, h]: [&[u64; N]; LANES]) -> [V; N] {
    let mut out = [lanes.splat(0); N];
    if N == 4 {
        // Words 0 and 2, and words 1 and 3, of rows 0 to 3 and of rows 4 to 7.
        let (even0, odd0) = interleave(lanes, two_rows(lanes, a, c), two_rows(lanes, b, d));
        let (even1, odd1) = interleave(lanes, two_rows(lanes, e, g), two_rows(lanes, f, h));
        op!({
            out[0] = _mm512_shuffle_i64x2::<0x88>(even0, even1);
            out[1] = _mm512_shuffle_i64x2::<0x88>(odd0, odd1);
            out[2] = _mm512_shuffle_i64x2::<0xdd>(even0, even1);
            out[3] = _mm512_shuffle_i64x2::<0xdd>(odd0, odd1);
        });
        return out;
    }
    let row = |row: &[u64; N]| {
        // SAFETY: the CPU has AVX-512F, by the witness; the mask reads the N words of the row alone.
        unsafe { _mm512_maskz_loadu_epi64(const { words(N) }, row.as_ptr().cast()) }
    };
    let columns = transpose(lanes, [row(a), row(b), row(c), row(d), row(e), row(f), row(g), row(h)]);
    out.copy_from_slice(&columns[..N]);
    out
}

#[inline(always)]
fn store_rows<const N: usize>(lanes: impl Lanes<V = V>, v: [V; N], rows: [&mut [u64; N]; LANES]) {
    if N == 4 {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
        // Words 0 and 2, or 1 and 3, of rows 0 and 1, then of rows 2 and 3; and the same of rows 4 to 7.
        let (low, high) =
            op!((_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15)));
        let (even0, even1) =
            op!((_mm512_permutex2var_epi64(v[0], low, v[2]), _mm512_permutex2var_epi64(v[0], high, v[2])));
        let (odd0, odd1) =
            op!((_mm512_permutex2var_epi64(v[1], low, v[3]), _mm512_permutex2var_epi64(v[1], high, v[3])));
        let ((r02, r13), (r46, r57)) = (interleave(lanes, even0, odd0), interleave(lanes, even1, odd1));
        for (pair, [a, b]) in [(r02, [r0, r2]), (r13, [r1, r3]), (r46, [r4, r6]), (r57, [r5, r7])] {
            // SAFETY: the CPU has AVX-512F, by the witness; a row has 32 bytes; no alignment is asked for.
            unsafe {
                _mm256_storeu_si256(a.as_mut_ptr().cast(), _mm512_castsi512_si256(pair));
                _mm256_storeu_si256(b.as_mut_ptr().cast(), _mm512_extracti64x4_epi64::<1>(pair));
            }
        }
        return;
    }
    let mut columns = [lanes.splat(0); LANES];
    columns[..N].copy_from_slice(&v);
    for (row, v) in rows.into_iter().zip(transpose(lanes, columns)) {
        // SAFETY: the CPU has AVX-512F, by the witness; the mask writes the N words of the row alone.
        unsafe { _mm512_mask_storeu_epi64(row.as_mut_ptr().cast(), const { words(N) }, v) };
    }
}

/// The low 52 bits as floating-point numbers, exactly.
#[inline(always)]
fn integer_to_double(lanes: impl Lanes<V = V>, x: V) -> __m512d {
    let x = lanes.or(lanes.and(x, lanes.splat(LOW52)), lanes.splat(TWO_52));
    op!(_mm512_sub_pd(_mm512_castsi512_pd(x), _mm512_set1_pd(f64::from_bits(TWO_52))))
}

#[inline(always)]
fn mul52_add(lanes: impl Lanes<V = V>, low: V, high: V, a: V, b: V) -> (V, V) {
    let (a, b) = (integer_to_double(lanes, a), integer_to_double(lanes, b));
    // The product is rounded to a multiple of 2^52 above 2^104; the rest is exact.
    let (l, h) = op!({
        let two104 = _mm512_set1_pd(f64::from_bits(TWO_104));
        let h = _mm512_fmadd_pd(a, b, two104);
        let l = _mm512_fmadd_pd(a, b, _mm512_sub_pd(two104, h));
        let l = _mm512_add_pd(l, _mm512_set1_pd(f64::from_bits(THREE_51)));
        (_mm512_castpd_si512(l), _mm512_castpd_si512(h))
    });
    let (low, high) = (lanes.add(low, l), lanes.add(high, h));
    (lanes.sub(low, lanes.splat(THREE_51)), lanes.sub(high, lanes.splat(TWO_104)))
}

macro_rules! lanes_by_avx512f {
    ($witness:ident, $isa:expr, $features:literal) => {
        impl Lanes for $witness {
            type V = V;
            type Prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> = Radix52<Self, F, N, M>;
            const ISA: Isa = $isa;

            #[inline(always)]
            fn splat(self, x: u64) -> V {
                op!(_mm512_set1_epi64(x as i64))
            }
            #[inline(always)]
            fn load(self, words: &[u64; LANES]) -> V {
                // SAFETY: the CPU has AVX-512F, by `self`; 64 bytes are readable; no alignment is asked for.
                unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
            }
            #[inline(always)]
            fn store(self, v: V, words: &mut [u64; LANES]) {
                // SAFETY: the CPU has AVX-512F, by `self`; 64 bytes are writable; no alignment is asked for.
                unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), v) }
            }
            #[inline(always)]
            fn add(self, a: V, b: V) -> V {
                op!(_mm512_add_epi64(a, b))
            }
            #[inline(always)]
            fn sub(self, a: V, b: V) -> V {
                op!(_mm512_sub_epi64(a, b))
            }
            #[inline(always)]
            fn xor(self, a: V, b: V) -> V {
                op!(_mm512_xor_si512(a, b))
            }
            #[inline(always)]
            fn and(self, a: V, b: V) -> V {
                op!(_mm512_and_si512(a, b))
            }
            #[inline(always)]
            fn or(self, a: V, b: V) -> V {
                op!(_mm512_or_si512(a, b))
            }
            #[inline(always)]
            fn andnot(self, a: V, b: V) -> V {
                op!(_mm512_andnot_si512(a, b))
            }
            #[inline(always)]
            fn shl<const N: u32>(self, a: V) -> V {
                const { assert!(N < 64) };
                op!(_mm512_slli_epi64::<N>(a))
            }
            #[inline(always)]
            fn shr<const N: u32>(self, a: V) -> V {
                const { assert!(N < 64) };
                op!(_mm512_srli_epi64::<N>(a))
            }
            #[inline(always)]
            fn shift_left(self, a: V, n: u32) -> V {
                op!(_mm512_sllv_epi64(a, _mm512_set1_epi64(n as i64)))
            }
            #[inline(always)]
            fn shift_right(self, a: V, n: u32) -> V {
                op!(_mm512_srlv_epi64(a, _mm512_set1_epi64(n as i64)))
            }
            #[inline(always)]
            fn rotl<const N: u32>(self, a: V) -> V {
                const { assert!(N < 64) };
                op!(_mm512_rolv_epi64(a, _mm512_set1_epi64(N as i64)))
            }
            #[inline(always)]
            fn mul32(self, a: V, b: V) -> V {
                op!(_mm512_mul_epu32(a, b))
            }
            #[inline(always)]
            fn add_where_less(self, r: V, x: V, a: V, b: V) -> V {
                op!(_mm512_mask_add_epi64(r, _mm512_cmplt_epu64_mask(a, b), r, x))
            }
            #[inline(always)]
            fn sub_where_less(self, r: V, x: V, a: V, b: V) -> V {
                op!(_mm512_mask_sub_epi64(r, _mm512_cmplt_epu64_mask(a, b), r, x))
            }
            #[inline(always)]
            fn min(self, a: V, b: V) -> V {
                op!(_mm512_min_epu64(a, b))
            }
            #[inline(always)]
            fn xor3(self, a: V, b: V, c: V) -> V {
                op!(_mm512_ternarylogic_epi64::<0x96>(a, b, c))
            }
            #[inline(always)]
            fn xor_andnot(self, a: V, b: V, c: V) -> V {
                op!(_mm512_ternarylogic_epi64::<0xd2>(a, b, c))
            }
            #[inline(always)]
            fn transpose(self, v: [V; LANES]) -> [V; LANES] {
                transpose(self, v)
            }
            #[inline(always)]
            fn shr_signed<const N: u32>(self, a: V) -> V {
                op!(_mm512_srai_epi64::<N>(a))
            }
            #[inline(always)]
            fn select_negative(self, s: V, a: V, b: V) -> V {
                op!(_mm512_mask_mov_epi64(b, _mm512_cmplt_epi64_mask(s, _mm512_setzero_si512()), a))
            }
            #[inline(always)]
            fn load_rows<const N: usize>(self, rows: [&[u64; N]; LANES]) -> [V; N] {
                load_rows(self, rows)
            }
            #[inline(always)]
            fn store_rows<const N: usize>(self, v: [V; N], rows: [&mut [u64; N]; LANES]) {
                store_rows(self, v, rows);
            }
            #[inline(always)]
            fn sub_where_less_signed(self, r: V, x: V, a: V, b: V) -> V {
                op!(_mm512_mask_sub_epi64(r, _mm512_cmplt_epi64_mask(a, b), r, x))
            }
            #[inline(always)]
            fn prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize>(self) -> Radix52<Self, F, N, M> {
                Radix52::new(self)
            }
            #[inline(always)]
            fn outline<B: Body<Self>>(self, body: B) -> B::Output {
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn call<B: Body<$witness>>(lanes: $witness, body: B) -> B::Output {
                    super::align_frame();
                    body.run(lanes)
                }
                // SAFETY: the CPU has these instruction sets, by `self`.
                unsafe { call(self, body) }
            }
            lanes_by_avx512f!(@ifma $witness);
        }
    };
    (@ifma Avx512) => {
        const EXACT_LOW: bool = false;

        #[inline(always)]
        fn mul52_add(self, low: V, high: V, a: V, b: V) -> (V, V) {
            mul52_add(self, low, high, a, b)
        }
    };
    (@ifma Avx512Ifma) => {
        #[inline(always)]
        fn mul52_low(self, c: V, a: V, b: V) -> V {
            // SAFETY: the CPU has AVX-512 IFMA, by `self`.
            unsafe { _mm512_madd52lo_epu64(c, a, b) }
        }
        #[inline(always)]
        fn mul52_high(self, c: V, a: V, b: V) -> V {
            // SAFETY: the CPU has AVX-512 IFMA, by `self`.
            unsafe { _mm512_madd52hi_epu64(c, a, b) }
        }
    };
}

lanes_by_avx512f!(Avx512, Isa::Avx512, "avx512f");
lanes_by_avx512f!(Avx512Ifma, Isa::Avx512Ifma, "avx512f,avx512ifma");
