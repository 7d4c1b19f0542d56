//! Memory that is reused from proof to proof.

use std::sync::{Mutex, PoisonError};

use evergrove_primitives::Goldilocks;

/// Buffers for the data of a proof, which later proofs reuse. New memory would be cleared page by page, on one thread.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Vec<Vec<Goldilocks>>>);

/// Smaller buffers are not reused.
const SMALL: usize = 1 << 13;
/// The content of a buffer in builds for tests: a value that is read before it is written is then wrong, and not zero
/// by chance.
const JUNK: Goldilocks = Goldilocks::new(0x6a75_6e6b);
/// The greatest size of a buffer, as a multiple of the size that is needed.
const ROOM: usize = 4;

impl Memory {
    /// A buffer of this many elements, **whose values are those of earlier proofs**: the caller must write all of it.
    pub(crate) fn take(&self, len: usize) -> Vec<Goldilocks> {
        let fits = |buffer: &&Vec<Goldilocks>| (len..=ROOM * len).contains(&buffer.capacity());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let best = kept.iter().filter(fits).map(Vec::capacity).min();
        let best = best.and_then(|capacity| kept.iter().position(|buffer| buffer.capacity() == capacity));
        let mut buffer = best.map(|i| kept.swap_remove(i)).unwrap_or_default();
        drop(kept);
        buffer.resize(len, Goldilocks::ZERO);
        if cfg!(debug_assertions) {
            buffer.fill(JUNK);
        }
        buffer
    }

    /// Keeps a buffer.
    pub(crate) fn give(&self, buffer: Vec<Goldilocks>) {
        if buffer.capacity() >= SMALL {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }
}
