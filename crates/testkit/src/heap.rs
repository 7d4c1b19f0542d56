//! An allocator that counts the bytes of heap that a call holds at most.
//!
//! A test program installs it with `#[global_allocator] static HEAP: Counting = Counting;`. Each thread has its own
//! counts, so tests may run in parallel.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated and not freed. Negative if it frees memory of other threads.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator with counts.
#[derive(Debug)]
pub struct Counting;

fn count(by: isize) {
    // The counts of a thread are gone while it exits.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + by);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call passes its arguments on to the system's allocator. The counts are cells that need no heap and have
// no destructor.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller meets the conditions of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller meets the conditions of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller meets the conditions of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block may both exist while bytes are copied.
        count(size as isize);
        // SAFETY: the caller meets the conditions of `realloc`.
        let moved = unsafe { System.realloc(at, layout, size) };
        count(-(layout.size() as isize));
        moved
    }
}

/// Returns the result of `call`, and the most bytes of heap that it held at a time, beyond those held before. The
/// program must have [`Counting`] as its allocator.
///
/// # Panics
/// If the program has another allocator.
pub fn peak<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    drop(std::hint::black_box(vec![0u8; 64]));
    assert!(PEAK.get() >= before + 64, "the program has another allocator than Counting");
    PEAK.set(before);
    let result = call();
    (result, (PEAK.get() - before).max(0) as usize)
}
