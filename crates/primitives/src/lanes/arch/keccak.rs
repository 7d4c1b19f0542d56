//! The operations that Keccak needs of an instruction set: words of one register, since its 25 words of state fill the
//! registers.
//!
//! Unlike [`Lanes::V`], a word is exactly one register: 8 lanes of AVX-512, 4 of AVX2, 1 of plain Rust.

use super::Portable;
use crate::lanes::Lanes;

/// Words of one register, each lane with the same word of another message.
///
/// Messages lie in one slice, message i at `i * stride`. Lanes after `last` repeat the message `last`, so a few
/// messages need no padding to [`Words::LANES`].
pub trait Words: Copy {
    /// One register.
    type Word: Copy;
    /// Lanes of a register.
    const LANES: usize;
    /// States of 25 words that are permuted side by side: 1 where one fits the registers, at most 2.
    const STATES: usize = 1;

    /// `x` in every lane.
    fn splat(self, x: u64) -> Self::Word;
    /// f(i) in lane i.
    fn gather(self, f: impl Fn(usize) -> u64) -> Self::Word;
    /// a ^ b.
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// a ^ b ^ c ^ d ^ e.
    #[inline(always)]
    fn xor5(self, [a, b, c, d, e]: [Self::Word; 5]) -> Self::Word {
        self.xor(self.xor(self.xor(a, b), self.xor(c, d)), e)
    }
    /// a ^ (!b & c).
    fn chi(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
    /// a rotated to the left by N bits, for N < 64.
    fn rotl<const N: i32>(self, a: Self::Word) -> Self::Word;
    /// The first eight words, little-endian, of each message: word j in register j.
    ///
    /// # Panics
    /// If `messages` ends within the first 64 bytes of message `last`.
    fn load_eight(self, messages: &[u8], stride: usize, last: usize) -> [Self::Word; 8];
    /// Lane i of the four words, little-endian, to `digests[i]`.
    ///
    /// # Panics
    /// If there are fewer than [`Words::LANES`] digests.
    fn store_digests(self, words: [Self::Word; 4], digests: &mut [[u8; 32]]);
}

/// A computation on any [`Words`].
pub trait WordsKernel {
    /// The computation. Implementations carry `#[inline(always)]`.
    fn run<W: Words>(self, isa: W);
}

/// Plain Rust, one lane: for a single message, without dispatch.
pub(crate) const SCALAR: Portable = Portable::new();

/// Runs `kernel` on the registers of the instruction set that `lanes` is a witness of.
#[inline(always)]
pub(crate) fn run<L: Lanes, K: WordsKernel>(lanes: L, kernel: K) {
    lanes.on_words(kernel);
}

impl Words for Portable {
    type Word = u64;
    const LANES: usize = 1;

    #[inline(always)]
    fn splat(self, x: u64) -> u64 {
        x
    }
    #[inline(always)]
    fn gather(self, f: impl Fn(usize) -> u64) -> u64 {
        f(0)
    }
    #[inline(always)]
    fn xor(self, a: u64, b: u64) -> u64 {
        a ^ b
    }
    #[inline(always)]
    fn chi(self, a: u64, b: u64, c: u64) -> u64 {
        a ^ (!b & c)
    }
    #[inline(always)]
    fn rotl<const N: i32>(self, a: u64) -> u64 {
        const { assert!(0 <= N && N < 64) };
        a.rotate_left(N as u32)
    }
    #[inline(always)]
    fn load_eight(self, messages: &[u8], _stride: usize, _last: usize) -> [u64; 8] {
        let (words, _) = messages[..64].as_chunks();
        core::array::from_fn(|i| u64::from_le_bytes(words[i]))
    }
    #[inline(always)]
    fn store_digests(self, words: [u64; 4], digests: &mut [[u8; 32]]) {
        let (bytes, _) = digests[0].as_chunks_mut();
        for (bytes, word) in bytes.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::arch::x86_64::*;

    use super::super::{Avx2, Avx512};
    use super::Words;
    use crate::lanes::Lanes;

    /// The first 64 bytes of a message.
    #[inline(always)]
    fn front(messages: &[u8], stride: usize, message: usize) -> &[u8; 64] {
        let start = message.checked_mul(stride).expect("a message in the address space");
        messages[start..].first_chunk().expect("64 bytes of every message")
    }

    impl Words for Avx512 {
        type Word = __m512i;
        const LANES: usize = 8;

        #[inline(always)]
        fn splat(self, x: u64) -> __m512i {
            Lanes::splat(self, x)
        }
        #[inline(always)]
        fn gather(self, f: impl Fn(usize) -> u64) -> __m512i {
            Lanes::load(self, &core::array::from_fn(f))
        }
        #[inline(always)]
        fn xor(self, a: __m512i, b: __m512i) -> __m512i {
            Lanes::xor(self, a, b)
        }
        #[inline(always)]
        fn xor5(self, [a, b, c, d, e]: [__m512i; 5]) -> __m512i {
            self.xor3(self.xor3(a, b, c), d, e)
        }
        #[inline(always)]
        fn chi(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
            self.xor_andnot(a, b, c)
        }
        #[inline(always)]
        fn rotl<const N: i32>(self, a: __m512i) -> __m512i {
            const { assert!(0 <= N && N < 64) };
            // SAFETY: the CPU has AVX-512F, by `self`.
            unsafe { _mm512_rol_epi64::<N>(a) }
        }
        #[inline(always)]
        fn load_eight(self, messages: &[u8], stride: usize, last: usize) -> [__m512i; 8] {
            let row = |lane: usize| -> &[u8; 64] { front(messages, stride, lane.min(last)) };
            let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
            // SAFETY: the CPU has AVX-512F, by `self`; a row has 64 bytes; no alignment is asked for.
            let rows = unsafe {
                [
                    _mm512_loadu_si512(rows[0].as_ptr().cast()),
                    _mm512_loadu_si512(rows[1].as_ptr().cast()),
                    _mm512_loadu_si512(rows[2].as_ptr().cast()),
                    _mm512_loadu_si512(rows[3].as_ptr().cast()),
                    _mm512_loadu_si512(rows[4].as_ptr().cast()),
                    _mm512_loadu_si512(rows[5].as_ptr().cast()),
                    _mm512_loadu_si512(rows[6].as_ptr().cast()),
                    _mm512_loadu_si512(rows[7].as_ptr().cast()),
                ]
            };
            self.transpose(rows)
        }
        #[inline(always)]
        fn store_digests(self, [a, b, c, d]: [__m512i; 4], digests: &mut [[u8; 32]]) {
            let out = digests[..8].as_flattened_mut().as_mut_ptr().cast::<__m512i>();
            // SAFETY: the CPU has AVX-512F, by `self`; 256 bytes are writable at `out`; no alignment is asked for.
            unsafe {
                // Halves of digests: 2k and 2k + 1 in quarter k.
                let (even_low, odd_low) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
                let (even_high, odd_high) = (_mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d));
                let even = _mm512_shuffle_i64x2::<0x44>(even_low, even_high);
                let odd = _mm512_shuffle_i64x2::<0x44>(odd_low, odd_high);
                _mm512_storeu_si512(out, _mm512_shuffle_i64x2::<0x88>(even, odd));
                _mm512_storeu_si512(out.add(1), _mm512_shuffle_i64x2::<0xdd>(even, odd));
                let even = _mm512_shuffle_i64x2::<0xee>(even_low, even_high);
                let odd = _mm512_shuffle_i64x2::<0xee>(odd_low, odd_high);
                _mm512_storeu_si512(out.add(2), _mm512_shuffle_i64x2::<0x88>(even, odd));
                _mm512_storeu_si512(out.add(3), _mm512_shuffle_i64x2::<0xdd>(even, odd));
            }
        }
    }

    impl Avx2 {
        /// The first or second half of a row.
        #[inline(always)]
        fn half(self, row: &[u8; 64], half: usize) -> __m256i {
            let half = &row.as_chunks::<32>().0[half];
            // SAFETY: the CPU has AVX2, by `self`; `half` has 32 bytes; no alignment is asked for.
            unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
        }
    }

    impl Words for Avx2 {
        type Word = __m256i;
        const LANES: usize = 4;
        const STATES: usize = 2;

        #[inline(always)]
        fn splat(self, x: u64) -> __m256i {
            // SAFETY: the CPU has AVX2, by `self`.
            unsafe { _mm256_set1_epi64x(x as i64) }
        }
        #[inline(always)]
        fn gather(self, f: impl Fn(usize) -> u64) -> __m256i {
            let words: [u64; 4] = core::array::from_fn(f);
            // SAFETY: the CPU has AVX2, by `self`; `words` has 32 bytes; no alignment is asked for.
            unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
        }
        #[inline(always)]
        fn xor(self, a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: the CPU has AVX2, by `self`.
            unsafe { _mm256_xor_si256(a, b) }
        }
        #[inline(always)]
        fn chi(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
            // SAFETY: the CPU has AVX2, by `self`.
            unsafe { _mm256_xor_si256(a, _mm256_andnot_si256(b, c)) }
        }
        #[inline(always)]
        fn rotl<const N: i32>(self, a: __m256i) -> __m256i {
            const { assert!(0 <= N && N < 64) };
            // Counts from a register: a left shift by N and a right shift by 64 - N, which is zero for N = 0.
            // SAFETY: the CPU has AVX2, by `self`.
            unsafe {
                let (left, right) = (_mm_cvtsi64_si128(N as i64), _mm_cvtsi64_si128(64 - N as i64));
                _mm256_or_si256(_mm256_sll_epi64(a, left), _mm256_srl_epi64(a, right))
            }
        }
        #[inline(always)]
        fn load_eight(self, messages: &[u8], stride: usize, last: usize) -> [__m256i; 8] {
            let row = |lane: usize| -> &[u8; 64] { front(messages, stride, lane.min(last)) };
            let (r0, r1, r2, r3) = (row(0), row(1), row(2), row(3));
            let (low, high) = (
                [self.half(r0, 0), self.half(r1, 0), self.half(r2, 0), self.half(r3, 0)],
                [self.half(r0, 1), self.half(r1, 1), self.half(r2, 1), self.half(r3, 1)],
            );
            let (low, high) = (self.transpose_four(low), self.transpose_four(high));
            let ([a, b, c, d], [e, f, g, h]) = (low, high);
            [a, b, c, d, e, f, g, h]
        }
        #[inline(always)]
        fn store_digests(self, words: [__m256i; 4], digests: &mut [[u8; 32]]) {
            for (row, digest) in self.transpose_four(words).into_iter().zip(&mut digests[..4]) {
                // SAFETY: the CPU has AVX2, by `self`; `digest` has 32 bytes; no alignment is asked for.
                unsafe { _mm256_storeu_si256(digest.as_mut_ptr().cast(), row) }
            }
        }
    }
}
