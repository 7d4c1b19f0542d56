//! The instruction sets: their witnesses, and the dispatch to them.
//!
//! All unsafe code of the lanes is in this module. Its reason is the same everywhere: a witness has a field that is
//! private to its file, and its only constructor, `detect`, asks the CPU for every feature that the methods of the
//! witness use. So a method of a witness executes only where its instructions exist. [`Isa`] is a name and does not
//! take part in this argument: neither its variants' order nor [`Lanes::ISA`] makes a witness.

/// Whether this CPU has all of these features. Without `std`, whether every CPU of the target has them.
#[cfg(target_arch = "x86_64")]
macro_rules! has_features {
    ($($name:tt),+) => {{
        #[cfg(feature = "std")]
        let has = true $(&& std::arch::is_x86_feature_detected!($name))+;
        #[cfg(not(feature = "std"))]
        let has = cfg!(all($(target_feature = $name),+));
        has
    }};
}
#[cfg(target_arch = "x86_64")]
use has_features;

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

#[cfg(target_arch = "x86_64")]
use super::{Body, Lanes};
use super::{Isa, Kernel};

/// The best instruction set of this CPU.
#[inline]
pub(super) fn detect() -> Isa {
    #[cfg(target_arch = "x86_64")]
    for isa in [Isa::Avx512Ifma, Isa::Avx512, Isa::Avx2] {
        if has(isa) {
            return isa;
        }
    }
    Isa::Portable
}

/// Whether this CPU has the instruction set: whether its witness can be made.
#[inline]
pub(super) fn has(isa: Isa) -> bool {
    match isa {
        Isa::Portable => true,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => Avx2::detect().is_some(),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => Avx512::detect().is_some(),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Ifma => Avx512Ifma::detect().is_some(),
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::Avx512 | Isa::Avx512Ifma => false,
    }
}

/// A kernel as a body that runs with the instruction set enabled.
#[cfg(target_arch = "x86_64")]
struct Entry<K>(K);

#[cfg(target_arch = "x86_64")]
impl<K: Kernel, L: Lanes> Body<L> for Entry<K> {
    type Output = K::Output;
    #[inline(always)]
    fn run(self, lanes: L) -> K::Output {
        self.0.run(lanes)
    }
}

/// Runs `kernel` on `isa`.
///
/// # Panics
/// If this CPU lacks the instruction set.
#[inline]
pub(super) fn run<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    match isa {
        Isa::Portable => return kernel.run(Portable::new()),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            if let Some(lanes) = Avx2::detect() {
                return lanes.outline(Entry(kernel));
            }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => {
            if let Some(lanes) = Avx512::detect() {
                return lanes.outline(Entry(kernel));
            }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Ifma => {
            if let Some(lanes) = Avx512Ifma::detect() {
                return lanes.outline(Entry(kernel));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::Avx512 | Isa::Avx512Ifma => {}
    }
    panic!("this CPU lacks {isa}: its best is {}", detect())
}

/// Aligns the stack frame of the function into which this is inlined to cache lines.
///
/// The compiler aligns a frame to whole registers only if it knows before register allocation that a register-sized
/// value lives in memory. Otherwise the registers that it spills cross cache lines.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn align_frame() {
    #[repr(align(64))]
    struct Line;
    core::hint::black_box(&mut Line);
}

/// Prefetches the cache lines of `x`, if the CPU has prefetches; nothing is read.
#[inline(always)]
pub(super) fn prefetch<T>(x: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = core::ptr::from_ref(x).cast::<i8>();
        // If x begins late in a line, its last bytes are in a line that no step touches.
        for offset in (0..size_of::<T>()).step_by(64).chain([size_of::<T>().saturating_sub(1)]) {
            // SAFETY: SSE is part of x86-64, a prefetch never faults, and the address is inside `x`, or its end if it has no bytes.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = x;
}
