//! The verifier for programs in other languages: a C library and a WebAssembly module.
//!
//! **What.** [`Request`] asks whether a file proves something, and takes only text and bytes; [`c`] has its methods as
//! functions of C. The answer is a [`Verdict`](request::Verdict): a code, sentences, and JSON.
//!
//! **When.** To check a proof from another language. `include/evergrove.h` is the C header. The WebAssembly module
//! exports the same functions and has no imports; `web/verifier` wraps it for TypeScript.
//!
//! **Neighbours.** `evergrove-verifier` makes all decisions; this crate converts bytes to its types. Besides the
//! primitives, this is the only library crate with unsafe code: every block is in [`c`].

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

#[allow(unsafe_code)]
pub mod c;
pub mod request;
mod rows;

pub use request::Request;
pub use rows::{Format, RowsError, leaves};

#[cfg(target_family = "wasm")]
#[allow(unsafe_code)]
mod wasm {
    #[global_allocator]
    static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}
