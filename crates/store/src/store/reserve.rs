//! Room on the disk for pruning a store when nothing else is left.
//!
//! A transaction that only takes away writes pages too: a full disk could not be emptied. A file beside the database holds some room, and
//! pruning gives it up where it finds the disk full.

use std::fs;
use std::path::Path;

use super::RESERVE;

/// Bytes of the reserve: some hundred pages that small transactions change, and the list of free pages of a database of up to 50 GB.
const BYTES: usize = 4 << 20;

/// Makes the reserve where there is none, if the disk has room for it.
pub(super) fn keep(dir: &Path) {
    let file = dir.join(RESERVE);
    if file.exists() {
        return;
    }
    // A file system that compresses has to keep room for all of it.
    let mut bytes = vec![0; BYTES];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    if fs::write(&file, bytes).is_err() {
        // A part of it would only take room.
        let _ = fs::remove_file(&file);
    }
}

/// Gives the room back. True when there was a reserve.
pub(super) fn give_up(dir: &Path) -> bool {
    fs::remove_file(dir.join(RESERVE)).is_ok()
}
