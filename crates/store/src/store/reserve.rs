//! Disk space for pruning a store when the disk is full.
//!
//! Even a transaction that only removes entries writes pages, so it fails on a full disk. A file beside the database
//! reserves some space, and pruning deletes that file if the disk is full.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::RESERVE;

/// Size of the reserve in bytes: some hundred pages that small transactions change, and the list of free pages of a
/// database of up to 50 GB.
const BYTES: usize = 4 << 20;

/// Makes the reserve if it is missing and the disk has space for it.
pub(super) fn keep(dir: &Path) {
    let file = dir.join(RESERVE);
    // A crash can leave a shorter file.
    if fs::metadata(&file).is_ok_and(|found| found.len() >= BYTES as u64) {
        return;
    }
    // With random bytes, even a file system that compresses reserves the whole size.
    let mut bytes = vec![0; BYTES];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    let made = fs::File::create(&file).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    if made.is_err() {
        // A part of the reserve would only use space.
        let _ = fs::remove_file(&file);
    }
}

/// Deletes the reserve. True if it existed: a file of another length is not a reserve.
pub(super) fn give_up(dir: &Path) -> bool {
    let file = dir.join(RESERVE);
    fs::metadata(&file).is_ok_and(|found| found.len() == BYTES as u64) && fs::remove_file(&file).is_ok()
}
