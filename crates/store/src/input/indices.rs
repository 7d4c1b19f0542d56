//! Lists of positions: `0,5,9-20`, or a file with such a list.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use evergrove_commit::schema::Excerpt;
use evergrove_verifier::HEIGHT_MAX;

use super::seen::Seen;

/// Largest number of positions in a list.
pub const MAX_POSITIONS: usize = 1 << 26;
/// Length of the longest line in a file of positions, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// A text or file is not a valid list of positions.
#[derive(Debug, thiserror::Error)]
pub enum IndexListError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An item is neither a position nor a range.
    #[error("{}{item} is not a position or a range", at(.line))]
    Item {
        /// Line of the file, from 1.
        line: Option<u64>,
        /// The invalid text, shortened.
        item: Excerpt,
    },
    /// The range ends before it starts.
    #[error("{}range {item} ends before it starts", at(.line))]
    Reversed {
        /// Line of the file, from 1.
        line: Option<u64>,
        /// The range.
        item: Excerpt,
    },
    /// The position is outside every vector.
    #[error("{}invalid position {index}: expected 0 to 2^{HEIGHT_MAX} - 1", at(.line))]
    Range {
        /// Line of the file, from 1.
        line: Option<u64>,
        /// The position.
        index: u64,
    },
    /// A position is given twice.
    #[error("{}duplicate position {index}", at(.line))]
    Duplicate {
        /// Line of the file, from 1.
        line: Option<u64>,
        /// The position.
        index: u64,
    },
    /// More than [`MAX_POSITIONS`] positions.
    #[error("more than {MAX_POSITIONS} positions")]
    TooMany,
    /// The list has no positions.
    #[error("the list has no positions")]
    Empty,
}

fn at(line: &Option<u64>) -> String {
    line.map(|n| format!("line {n}: ")).unwrap_or_default()
}

impl IndexListError {
    /// True if the file could not be opened or read.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

/// The positions of a list such as `0,5,9-20`, in the order of the list. Ranges include both ends. Spaces and line ends
/// are allowed around items. A position may occur only once.
pub fn parse_indices(text: &str) -> Result<Vec<u64>, IndexListError> {
    let mut list = List::default();
    list.line(text.as_bytes(), None)?;
    list.finish()
}

/// The positions that a command line names: a list as for [`parse_indices`], or the path of a file with a list on one
/// or more lines. A leading `@` marks a path.
pub fn read_indices(list_or_file: &str) -> Result<Vec<u64>, IndexListError> {
    let is_list = |s: &str| s.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '-' | ' '));
    match list_or_file.strip_prefix('@') {
        Some(path) => read_file(Path::new(path)),
        None if is_list(list_or_file) => parse_indices(list_or_file),
        None if list_or_file.contains(',') && !Path::new(list_or_file).exists() => parse_indices(list_or_file),
        None => read_file(Path::new(list_or_file)),
    }
}

fn read_file(path: &Path) -> Result<Vec<u64>, IndexListError> {
    let io = |source| IndexListError::Io { path: path.into(), source };
    let mut reader = BufReader::new(File::open(path).map_err(io)?);
    let mut list = List::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(io)?;
        if read == 0 {
            break;
        }
        list.line(&line, Some(number))?;
    }
    list.finish()
}

#[derive(Default)]
struct List {
    indices: Vec<u64>,
    seen: Seen,
}

impl List {
    fn line(&mut self, text: &[u8], line: Option<u64>) -> Result<(), IndexListError> {
        for item in text.split(|c| matches!(c, b',' | b'\n' | b'\r')).map(<[u8]>::trim_ascii).filter(|i| !i.is_empty())
        {
            let wrong = || IndexListError::Item { line, item: Excerpt::new(item) };
            let mut ends = item.splitn(2, |c| *c == b'-');
            let first = ends.next().and_then(number).ok_or_else(wrong)?;
            let last = match ends.next() {
                Some(text) => number(text).ok_or_else(wrong)?,
                None => first,
            };
            if last < first {
                return Err(IndexListError::Reversed { line, item: Excerpt::new(item) });
            }
            if last >> HEIGHT_MAX != 0 {
                return Err(IndexListError::Range { line, index: last });
            }
            if last - first >= (MAX_POSITIONS - self.indices.len()) as u64 {
                return Err(IndexListError::TooMany);
            }
            for index in first..=last {
                if !self.seen.insert(index) {
                    return Err(IndexListError::Duplicate { line, index });
                }
                self.indices.push(index);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<u64>, IndexListError> {
        if self.indices.is_empty() { Err(IndexListError::Empty) } else { Ok(self.indices) }
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}
