//! Room on the disk for pruning a store when nothing else is left.
//!
//! A transaction that only takes away writes pages too: a full disk could not be emptied. A file beside the database holds some room, and
//! pruning gives it up where it finds the disk full.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::RESERVE;

/// Bytes of the reserve: some hundred pages that small transactions change, and the list of free pages of a database of up to 50 GB.
const BYTES: usize = 4 << 20;

/// Makes the reserve where there is none, if the disk has room for it.
pub(super) fn keep(dir: &Path) {
    let file = dir.join(RESERVE);
    // A shorter file is what a crash has left of it.
    if fs::metadata(&file).is_ok_and(|found| found.len() >= BYTES as u64) {
        return;
    }
    // A file system that compresses has to keep room for all of it.
    let mut bytes = vec![0; BYTES];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    let made = fs::File::create(&file).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    if made.is_err() {
        // A part of it would only take room.
        let _ = fs::remove_file(&file);
    }
}

/// Gives the room back. True when there was a reserve: a file of another length is not one.
pub(super) fn give_up(dir: &Path) -> bool {
    let file = dir.join(RESERVE);
    fs::metadata(&file).is_ok_and(|found| found.len() == BYTES as u64) && fs::remove_file(&file).is_ok()
}
