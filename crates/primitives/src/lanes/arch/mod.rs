//! The instruction sets: the witnesses, and the one place that makes them.
//!
//! All unsafe code of the lanes is in this module. Its reason is the same everywhere: a witness has a private field and is
//! made by `run`, after the CPU was asked, or by `keccak::run`, from a witness of the same instruction set or a later one. So a
//! method of a witness executes only where its instructions exist.

pub(crate) mod keccak;
mod portable;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

pub use portable::Portable;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::{Avx512, Avx512Ifma};

use super::{Isa, Kernel};

/// The best instruction set of this CPU; the standard library remembers the answer.
#[inline]
pub(super) fn detect() -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        // Each asks for the one before, since a hypervisor may hide any bit.
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            if !is_x86_feature_detected!("avx512f") {
                return Isa::Avx2;
            }
            return if is_x86_feature_detected!("avx512ifma") { Isa::Avx512Ifma } else { Isa::Avx512 };
        }
    }
    Isa::Portable
}

/// Runs `kernel` on `isa`, which is not better than [`detect`].
///
/// # Panics
/// If it is.
#[inline]
pub(super) fn run<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.run(Avx2(()))
        }
        #[target_feature(enable = "avx512f")]
        fn avx512<K: Kernel>(kernel: K) -> K::Output {
            kernel.run(Avx512(()))
        }
        #[target_feature(enable = "avx512f,avx512ifma")]
        fn avx512ifma<K: Kernel>(kernel: K) -> K::Output {
            kernel.run(Avx512Ifma(()))
        }
        assert!(isa <= detect());
        match isa {
            Isa::Portable => {}
            // SAFETY: `isa <= detect()`, hence the CPU has AVX2 and FMA.
            Isa::Avx2 => return unsafe { avx2(kernel) },
            // SAFETY: likewise AVX-512F.
            Isa::Avx512 => return unsafe { avx512(kernel) },
            // SAFETY: likewise AVX-512F and AVX-512 IFMA.
            Isa::Avx512Ifma => return unsafe { avx512ifma(kernel) },
        }
    }
    assert!(isa <= detect());
    kernel.run(Portable(()))
}

/// Asks for the cache lines of `x`, where the CPU can be asked; nothing is read.
#[inline(always)]
pub(super) fn prefetch<T>(x: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = core::ptr::from_ref(x).cast::<i8>();
        // Where x begins late in a line, its last bytes are in one that no step is in.
        for offset in (0..size_of::<T>()).step_by(64).chain([size_of::<T>().saturating_sub(1)]) {
            // SAFETY: SSE is part of x86-64, a prefetch never faults, and the address is inside `x`, or its end if it has no bytes.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = x;
}
