//! The file of `--access-log`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove_serve::AccessLog;

use crate::files::STDIN;

/// The log of requests in a file, or on stdout for `-`.
pub(crate) fn start(path: &Path) -> Result<AccessLog> {
    let log = match path == Path::new(STDIN) {
        // A file of its own: a write that blocks must not hold the lock of stdout, which the end of the process needs.
        true => io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| AccessLog::new(File::from(stdout))),
        false => LogFile::open(path).and_then(AccessLog::new),
    };
    log.with_context(|| format!("--access-log {}", path.display()))
}

/// A file to which lines are appended. If the path leads to another file or to none, because the file was moved, the
/// next line goes to a new file.
struct LogFile {
    path: PathBuf,
    file: File,
    /// True if the next byte begins a line. The file changes only there, so no line is split over two files.
    at_line: bool,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<Self> {
        // Not every user of the machine may see the names and addresses of callers.
        let file = OpenOptions::new().append(true).create(true).mode(0o640).open(path)?;
        Ok(Self { path: path.into(), file, at_line: true })
    }

    fn was_moved(&self) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        Ok(std::fs::metadata(&self.path).map_or(true, |now| (now.dev(), now.ino()) != (ours.dev(), ours.ino())))
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.at_line && self.was_moved()? {
            *self = Self::open(&self.path)?;
        }
        let written = self.file.write(line);
        // After an error, the rest of the line does not follow.
        self.at_line = written.as_ref().map_or(true, |n| line[..*n].last().is_none_or(|last| *last == b'\n'));
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let [path, moved] = ["access.log", "access.log.1"].map(|name| dir.path().join(name));
        let mut log = LogFile::open(&path).unwrap();
        log.write_all(b"1\n").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        log.write_all(b"2\n").unwrap();
        log.write_all(b"3\n").unwrap();
        assert_eq!((std::fs::read(&moved).unwrap(), std::fs::read(&path).unwrap()), (b"1\n".into(), b"2\n3\n".into()));
        // The file was truncated, as by `copytruncate`.
        File::create(&path).unwrap();
        log.write_all(b"4\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"4\n");
        // A line stays in one file, even if it is written in parts.
        log.write_all(b"half").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        log.write_all(b" and half\n").unwrap();
        assert_eq!(std::fs::read(&moved).unwrap(), b"4\nhalf and half\n");
        log.write_all(b"next\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"next\n");
        // No file can be created: lines fail until this is possible again.
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(log.write_all(b"5\n").is_err());
        std::fs::remove_dir(&path).unwrap();
        log.write_all(b"6\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"6\n");
        drop(log);
        // A restart appends.
        LogFile::open(&path).unwrap().write_all(b"7\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"6\n7\n");
    }
}
