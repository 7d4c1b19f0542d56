//! Eight 64-bit lanes on any instruction set of the CPU.
//!
//! **What.** A [`Kernel`] is a computation written once against [`Lanes`], eight words of 64 bits at a time. [`dispatch`]
//! runs it on the best instruction set of this CPU, found at run time: [`Isa`] names them. No build flag is needed.
//!
//! **When.** For bulk work. Call [`dispatch`] once per chunk of work and *inside* a thread pool's closure: a call costs some
//! nanoseconds, but nothing is inlined across it, and vectors that cross it go through memory.
//!
//! **Key types.** The witnesses [`Portable`], [`Avx2`](arch::Avx2), [`Avx512`](arch::Avx512) and
//! [`Avx512Ifma`](arch::Avx512Ifma) have no size and no public constructor. Dispatch makes one after it has asked the
//! CPU for the features, so their operations are safe. Vectors ([`Lanes::V`]) are plain data without operations of
//! their own.
//!
//! **Inlining.** Every function that a kernel calls with a witness must be `#[inline(always)]`, so that it is compiled
//! with the instruction set enabled; otherwise each operation costs a call. Closures cannot carry the attribute: one of
//! an operation or two is inlined, but a larger one or one behind an iterator may not be. Where a function should stay
//! separate, [`Lanes::outline`] makes a call that keeps the instruction set.

#[allow(unsafe_code)]
pub mod arch;

use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::field::prime::{PrimeElement, PrimeLanes};

pub use arch::Portable;

/// Lanes of a vector.
pub const LANES: usize = 8;

/// The name of an instruction set that kernels are compiled for. Names have no order; ask the CPU whether it can run
/// one ([`Isa::is_available`]).
///
/// A match on it names every variant: a new variant does not compile until each choice that rests on measurements has a
/// case for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// Plain Rust, on every CPU.
    Portable,
    /// AVX2 and FMA: two vectors of four lanes.
    Avx2,
    /// AVX-512F.
    Avx512,
    /// AVX-512F with the 52-bit multipliers of AVX-512 IFMA.
    Avx512Ifma,
}

/// The number in [`Isa::ALL`] of the instruction set that was chosen, or [`NONE`].
static CHOSEN: AtomicU8 = AtomicU8::new(NONE);
const NONE: u8 = u8::MAX;

impl Isa {
    /// Every instruction set, whether this CPU has it or not; those of one architecture are ordered from the plainest
    /// up.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Avx512Ifma];

    /// The best instruction set of this CPU, or the [chosen](Isa::choose) one.
    #[inline]
    pub fn detect() -> Self {
        match CHOSEN.load(Ordering::Relaxed) {
            NONE => arch::detect(),
            chosen => Self::ALL[usize::from(chosen)],
        }
    }

    /// Makes [`Isa::detect`] return this instruction set in this process from now on: to measure how another CPU would
    /// perform.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn choose(self) {
        assert!(self.is_available(), "this CPU lacks {self}: its best is {}", arch::detect());
        CHOSEN.store(Self::ALL.iter().position(|&isa| isa == self).map_or(NONE, |i| i as u8), Ordering::Relaxed);
    }

    /// Whether the instruction set of this process was [chosen](Isa::choose).
    #[cfg(feature = "ark")]
    pub(crate) fn is_chosen() -> bool {
        CHOSEN.load(Ordering::Relaxed) != NONE
    }

    /// Whether this CPU has the instruction set.
    pub fn is_available(self) -> bool {
        arch::has(self)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Ifma => "avx512ifma",
        })
    }
}

/// The instruction sets of this CPU, from the plainest to the one that [`dispatch`] uses.
pub fn available() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available())
}

/// A computation on any [`Lanes`].
pub trait Kernel {
    /// What it returns.
    type Output;
    /// The computation. Implementations carry `#[inline(always)]`.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Runs a kernel on the best instruction set of this CPU.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    arch::run(Isa::detect(), kernel)
}

/// Runs a kernel on a given instruction set, for tests and comparisons.
///
/// # Panics
/// If this CPU lacks the instruction set: see [`available`].
pub fn dispatch_on<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    arch::run(isa, kernel)
}

/// Prefetches the cache lines of `x`. A hint: it affects only the time.
#[inline(always)]
pub fn prefetch<T>(x: &T) {
    arch::prefetch(x);
}

/// A part of a kernel that stays a separate function: see [`Lanes::outline`].
///
/// A trait and not a closure, since a closure cannot be forced to be inlined into the function with the instruction
/// set.
pub trait Body<L> {
    /// What it returns.
    type Output;
    /// The computation. Implementations carry `#[inline(always)]`.
    fn run(self, lanes: L) -> Self::Output;
}

/// The bits of a word that the 52-bit multipliers read.
const LOW52: u64 = (1 << 52) - 1;

/// The bits of a word that the 32-bit multipliers read. Modulo 2^64 - 2^32 + 1 it is 2^64.
const LOW32: u64 = (1 << 32) - 1;

/// The bits of 2^52, of 3/2 2^52 and of 2^104 as floating-point numbers: the initial values of the products of
/// [`Lanes::mul52_add`].
#[cfg(target_arch = "x86_64")]
const TWO_52: u64 = 0x4330_0000_0000_0000;
#[cfg(target_arch = "x86_64")]
const THREE_51: u64 = 0x4338_0000_0000_0000;
#[cfg(target_arch = "x86_64")]
const TWO_104: u64 = 0x4670_0000_0000_0000;

/// f(c, product of the low 52 bits of a and b) in every lane.
#[inline(always)]
fn by_words<L: Lanes>(lanes: L, c: L::V, a: L::V, b: L::V, f: impl Fn(u64, u128) -> u64) -> L::V {
    let mut words = [[0; LANES]; 3];
    for (words, v) in words.iter_mut().zip([c, a, b]) {
        lanes.store(v, words);
    }
    let [c, a, b] = words;
    lanes.load(&core::array::from_fn(|i| f(c[i], (a[i] & LOW52) as u128 * (b[i] & LOW52) as u128)))
}

mod sealed {
    use super::arch::keccak::WordsKernel;

    pub trait Sealed: Sized {
        /// Runs `kernel` on single registers of this instruction set.
        fn on_words<K: WordsKernel>(self, kernel: K);
    }
}

/// Operations on vectors of eight lanes of 64 bits, and the proof that the CPU can do them.
///
/// All arithmetic wraps modulo 2^64. Operations act on lanes independently, except [`Lanes::transpose`].
pub trait Lanes: Copy + Send + Sync + sealed::Sealed {
    /// Eight words.
    type V: Copy + Send + Sync;
    /// Eight elements of a prime field of N words, or M limbs of 52 bits. Reached by [`PrimeElement::on`].
    type Prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize>: PrimeLanes<Element = F>;
    /// The name of the instruction set.
    const ISA: Isa;
    /// Whether [`Lanes::mul52_add`] splits a product as [`Lanes::mul52_low`] and [`Lanes::mul52_high`] do.
    const EXACT_LOW: bool = true;
    /// Registers of a vector: see [`Lanes::register`].
    const REGISTERS: usize = 1;

    /// `x` in every lane.
    fn splat(self, x: u64) -> Self::V;
    /// The words in order.
    fn load(self, words: &[u64; LANES]) -> Self::V;
    /// The words in order.
    fn store(self, v: Self::V, words: &mut [u64; LANES]);
    /// a + b.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a ^ b.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// a & b.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// a | b.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// !a & b.
    fn andnot(self, a: Self::V, b: Self::V) -> Self::V;
    /// a << N, for N < 64.
    fn shl<const N: u32>(self, a: Self::V) -> Self::V;
    /// a >> N with zeros from the left, for N < 64.
    fn shr<const N: u32>(self, a: Self::V) -> Self::V;
    /// a << n in every lane, for n < 64: [`Lanes::shl`] where n is known only after inlining.
    fn shift_left(self, a: Self::V, n: u32) -> Self::V;
    /// a >> n in every lane, for n < 64: [`Lanes::shr`] where n is known only after inlining.
    fn shift_right(self, a: Self::V, n: u32) -> Self::V;
    /// a rotated to the left by N bits, for N < 64.
    fn rotl<const N: u32>(self, a: Self::V) -> Self::V;
    /// The product of the low 32 bits of a and b.
    fn mul32(self, a: Self::V, b: Self::V) -> Self::V;
    /// The lesser of a and b (as unsigned).
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// r + x in the lanes where a < b (as unsigned), r elsewhere.
    fn add_where_less(self, r: Self::V, x: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// r - x in the lanes where a < b (as unsigned), r elsewhere.
    fn sub_where_less(self, r: Self::V, x: Self::V, a: Self::V, b: Self::V) -> Self::V;

    /// r - x in the lanes where a < b (as signed), r elsewhere.
    #[inline(always)]
    fn sub_where_less_signed(self, r: Self::V, x: Self::V, a: Self::V, b: Self::V) -> Self::V {
        let sign = self.splat(1 << 63);
        self.sub_where_less(r, x, self.xor(a, sign), self.xor(b, sign))
    }
    /// c + the low 52 bits of the product of the low 52 bits of a and b: one instruction of AVX-512 IFMA, by words elsewhere.
    #[inline(always)]
    fn mul52_low(self, c: Self::V, a: Self::V, b: Self::V) -> Self::V {
        by_words(self, c, a, b, |c, product| c.wrapping_add(product as u64 & LOW52))
    }
    /// c + the high 52 bits of the product of the low 52 bits of a and b: one instruction of AVX-512 IFMA, by words elsewhere.
    #[inline(always)]
    fn mul52_high(self, c: Self::V, a: Self::V, b: Self::V) -> Self::V {
        by_words(self, c, a, b, |c, product| c.wrapping_add((product >> 52) as u64))
    }
    /// (low + l, high + h), where l + 2^52 h is the product of the low 52 bits of a and b. If [`Lanes::EXACT_LOW`], l
    /// is from 0 to 2^52 - 1; otherwise from -2^51 to 2^51. Two instructions of AVX-512 IFMA, some by floating point
    /// elsewhere.
    #[inline(always)]
    fn mul52_add(self, low: Self::V, high: Self::V, a: Self::V, b: Self::V) -> (Self::V, Self::V) {
        (self.mul52_low(low, a, b), self.mul52_high(high, a, b))
    }
    /// a ^ b ^ c, in one instruction where there is one.
    #[inline(always)]
    fn xor3(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.xor(self.xor(a, b), c)
    }
    /// a ^ (!b & c), in one instruction where there is one: the chi step of Keccak.
    #[inline(always)]
    fn xor_andnot(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.xor(a, self.andnot(b, c))
    }
    /// a >> N with copies of the sign from the left, for N < 64.
    #[inline(always)]
    fn shr_signed<const N: u32>(self, a: Self::V) -> Self::V {
        let sign = self.splat(1 << 63);
        self.sub(self.shr::<N>(self.xor(a, sign)), self.shr::<N>(sign))
    }
    /// a in the lanes where the sign bit of s is set, b elsewhere.
    #[inline(always)]
    fn select_negative(self, s: Self::V, a: Self::V, b: Self::V) -> Self::V {
        let mask = self.sub(self.splat(0), self.shr::<63>(s));
        self.or(self.and(mask, a), self.andnot(mask, b))
    }
    /// Register `i` of `a` in every register, for `i` below [`Lanes::REGISTERS`]: operations on such vectors are done once, and fewer
    /// registers are in use.
    #[inline(always)]
    fn register(self, a: Self::V, _i: usize) -> Self::V {
        a
    }
    /// `a` with register `i` replaced by that of `b`, for `i` below [`Lanes::REGISTERS`].
    #[inline(always)]
    fn with_register(self, _a: Self::V, _i: usize, b: Self::V) -> Self::V {
        b
    }
    /// A word whose low 32 bits are the high ones of a, and whose high ones may be anything: a >> 32 for [`Lanes::mul32`].
    #[inline(always)]
    fn high32(self, a: Self::V) -> Self::V {
        self.shr::<32>(a)
    }
    /// The low 32 bits of `low`, and above them the low 32 bits of `high`.
    #[inline(always)]
    fn join32(self, low: Self::V, high: Self::V) -> Self::V {
        self.or(self.and(low, self.splat(LOW32)), self.shl::<32>(high))
    }
    /// 2^32 - 1 times the low 32 bits of a: at most 2^64 - 2^33 + 1.
    #[inline(always)]
    fn mul_low32(self, a: Self::V) -> Self::V {
        self.mul32(a, self.splat(LOW32))
    }
    /// a + b, and 2^32 - 1 more where the sum wraps, for b <= 2^64 - 2^32: some word that is a + b modulo 2^64 - 2^32 + 1.
    #[inline(always)]
    fn add_folded(self, a: Self::V, b: Self::V) -> Self::V {
        let sum = self.add(a, b);
        self.add_where_less(sum, self.splat(LOW32), sum, b)
    }
    /// a - b, and 2^32 - 1 less where a < b, for b <= 2^64 - 2^32: some word that is a - b modulo 2^64 - 2^32 + 1.
    #[inline(always)]
    fn sub_folded(self, a: Self::V, b: Self::V) -> Self::V {
        self.sub_where_less(self.sub(a, b), self.splat(LOW32), a, b)
    }
    /// a modulo 2^64 - 2^32 + 1, below that.
    #[inline(always)]
    fn fold(self, a: Self::V) -> Self::V {
        // a - (2^64 - 2^32 + 1) wraps to something above a exactly where a is below.
        self.min(a, self.add(a, self.splat(LOW32)))
    }
    /// Word j of the eight rows: vector j has row i's in lane i. N is at most 8.
    #[inline(always)]
    fn load_rows<const N: usize>(self, rows: [&[u64; N]; LANES]) -> [Self::V; N] {
        let [a, b, c, d, e, f, g, h] = rows;
        let mut out = [self.splat(0); N];
        for (j, v) in out.iter_mut().enumerate() {
            *v = self.load(&[a[j], b[j], c[j], d[j], e[j], f[j], g[j], h[j]]);
        }
        out
    }
    /// Lane i of vector j becomes word j of row i: the inverse of [`Lanes::load_rows`].
    #[inline(always)]
    fn store_rows<const N: usize>(self, v: [Self::V; N], rows: [&mut [u64; N]; LANES]) {
        let mut columns = [[0; LANES]; N];
        for (column, v) in columns.iter_mut().zip(v) {
            self.store(v, column);
        }
        for (i, row) in rows.into_iter().enumerate() {
            for (word, column) in row.iter_mut().zip(&columns) {
                *word = column[i];
            }
        }
    }
    /// Lane j of vector i becomes lane i of vector j.
    #[inline(always)]
    fn transpose(self, v: [Self::V; LANES]) -> [Self::V; LANES] {
        let mut rows = [[0; LANES]; LANES];
        for (row, v) in rows.iter_mut().zip(v) {
            self.store(v, row);
        }
        core::array::from_fn(|j| self.load(&core::array::from_fn(|i| rows[i][j])))
    }

    /// Arithmetic on eight elements of a prime field. Reached by [`PrimeElement::on`].
    fn prime<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize>(self) -> Self::Prime<F, N, M>;

    /// Runs `body` in a separate function, with the instruction set enabled.
    fn outline<B: Body<Self>>(self, body: B) -> B::Output;
}
