//! A proof and the data to check it with, as one file: a tar archive in the format ustar.

use core::fmt;

use alloc::string::String;
use alloc::vec::Vec;

/// The name of each file of a bundle, and its greatest length in bytes.
const FILES: [(&str, Part, usize); 8] = [
    ("evergrove.proof", Part::Proof, 1 << 24),
    ("rows.csv", Part::Rows(RowsForm::Csv), 1 << 28),
    ("rows.jsonl", Part::Rows(RowsForm::Jsonl), 1 << 28),
    ("schema.toml", Part::Schema, 1 << 24),
    ("circuits.key", Part::Key, 1 << 28),
    ("query.sql", Part::Query, 1 << 20),
    ("groups.jsonl", Part::Groups, 1 << 24),
    ("rows.paths", Part::Paths, 1 << 28),
];

/// Bytes of a header, and the unit to which contents are padded.
const BLOCK: usize = 512;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Proof,
    Rows(RowsForm),
    Schema,
    Key,
    Query,
    Groups,
    Paths,
}

struct Entry<'a> {
    name: &'static str,
    part: Part,
    content: &'a [u8],
}

/// The form of rows in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsForm {
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object per line.
    Jsonl,
}

/// The files of a bundle. All of them come from whoever made the bundle: a verifier takes the commitment, and the schema or its digest, from a source that
/// is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bundle<'a> {
    /// A proof file, or an opening.
    pub proof: &'a [u8],
    /// The rows of the batch with their positions.
    pub rows: Option<(RowsForm, &'a [u8])>,
    /// The schema of the rows (TOML).
    pub schema: Option<&'a [u8]>,
    /// The key file of the circuits.
    pub key: Option<&'a [u8]>,
    /// The query whose answer the proof shows (SQL).
    pub query: Option<&'a [u8]>,
    /// The groups of the query, one JSON object per line.
    pub groups: Option<&'a [u8]>,
    /// The Merkle paths of rows that a query lists: a [`Multiproof`](super::Multiproof).
    pub paths: Option<&'a [u8]>,
}

/// Bytes are not a bundle. Offsets count from the first byte of the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleError {
    /// The bundle ends early.
    Truncated {
        /// Its length.
        len: usize,
        /// The least length that its headers allow.
        needed: u64,
    },
    /// A header that tar does not write, or that has another format of tar.
    Header {
        /// Where it starts.
        at: usize,
    },
    /// A file that does not belong in a bundle.
    Name {
        /// Its name; a question mark for each byte that is not printable.
        name: String,
    },
    /// An entry that is not a file: a folder, a link or the like.
    Kind {
        /// Its name.
        name: &'static str,
    },
    /// A duplicate part.
    Duplicate {
        /// The file that repeats it.
        name: &'static str,
    },
    /// A file that is too long.
    TooLong {
        /// Its name.
        name: &'static str,
        /// Its length.
        len: u64,
        /// The greatest length.
        limit: usize,
    },
    /// Bytes follow the end.
    Trailing {
        /// The first of them.
        at: usize,
    },
    /// There is no proof.
    NoProof,
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { len, needed } => write!(f, "the bundle has {len} bytes, expected at least {needed}"),
            Self::Header { at } => write!(f, "the bundle has no header of tar's format ustar at byte {at}"),
            Self::Name { name } => {
                write!(f, "unknown file {name} in the bundle, expected ")?;
                FILES.iter().enumerate().try_for_each(|(i, (name, ..))| {
                    f.write_str(match i {
                        0 => "",
                        _ if i + 1 == FILES.len() => " or ",
                        _ => ", ",
                    })?;
                    f.write_str(name)
                })
            }
            Self::Kind { name } => write!(f, "{name} in the bundle is not a regular file"),
            Self::Duplicate { name } => write!(f, "duplicate part in the bundle: {name}"),
            Self::TooLong { name, len, limit } => {
                write!(f, "{name} in the bundle has {len} bytes, the limit is {limit}")
            }
            Self::Trailing { at } => write!(f, "the bundle ends before byte {at}, and more bytes follow"),
            Self::NoProof => write!(f, "the bundle has no {}", FILES[0].0),
        }
    }
}

impl core::error::Error for BundleError {}

impl<'a> Bundle<'a> {
    /// The most bytes of a bundle that [`Self::encode`] makes.
    pub const MAX_BYTES: usize = {
        // Rows are in one form.
        let (mut sum, mut file) = (2 * BLOCK, 0);
        while file < FILES.len() {
            if file != 2 {
                sum += FILES[file].2 + BLOCK;
            }
            file += 1;
        }
        sum
    };

    /// True if the bytes begin like a tar archive.
    pub fn is_bundle(bytes: &[u8]) -> bool {
        bytes.get(257..262) == Some(b"ustar")
    }

    /// Reads a bundle. Owner, time and the like of its files are ignored. Nothing is copied.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BundleError> {
        let (mut proof, mut parts) = (None, Self::default());
        let mut at = 0;
        while let Some(Entry { name, part, content }) = entry(bytes, at)? {
            let before = match part {
                Part::Proof => proof.replace(content).is_some(),
                Part::Rows(form) => parts.rows.replace((form, content)).is_some(),
                Part::Schema => parts.schema.replace(content).is_some(),
                Part::Key => parts.key.replace(content).is_some(),
                Part::Query => parts.query.replace(content).is_some(),
                Part::Groups => parts.groups.replace(content).is_some(),
                Part::Paths => parts.paths.replace(content).is_some(),
            };
            if before {
                return Err(BundleError::Duplicate { name });
            }
            at += BLOCK + content.len().next_multiple_of(BLOCK);
        }
        Ok(Self { proof: proof.ok_or(BundleError::NoProof)?, ..parts })
    }

    /// The bytes of the bundle, the same for the same files.
    ///
    /// # Errors
    /// [`BundleError::TooLong`].
    pub fn encode(&self) -> Result<Vec<u8>, BundleError> {
        let files = FILES.into_iter().filter_map(|(name, part, limit)| {
            let content = match part {
                Part::Proof => Some(self.proof),
                Part::Rows(form) => self.rows.filter(|(found, _)| *found == form).map(|(_, text)| text),
                Part::Schema => self.schema,
                Part::Key => self.key,
                Part::Query => self.query,
                Part::Groups => self.groups,
                Part::Paths => self.paths,
            };
            content.map(|content| (name, content, limit))
        });
        let mut out = Vec::new();
        for (name, content, limit) in files {
            if content.len() > limit {
                return Err(BundleError::TooLong { name, len: content.len() as u64, limit });
            }
            out.reserve_exact(content.len() + 4 * BLOCK);
            out.extend_from_slice(&header(name, content.len()));
            out.extend_from_slice(content);
            out.resize(out.len().next_multiple_of(BLOCK), 0);
        }
        out.resize(out.len() + 2 * BLOCK, 0);
        Ok(out)
    }
}

/// The file whose header is at this byte; `None` at the end.
fn entry(bytes: &[u8], at: usize) -> Result<Option<Entry<'_>>, BundleError> {
    let len = bytes.len();
    let truncated = |needed| BundleError::Truncated { len, needed };
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(header) = rest.first_chunk::<BLOCK>() else { return Err(truncated((at + BLOCK) as u64)) };
    if header.iter().all(|byte| *byte == 0) {
        // An archive ends with two blocks of zeros, and further zeros up to whole records.
        return match rest.iter().position(|byte| *byte != 0) {
            Some(more) => Err(BundleError::Trailing { at: at + more }),
            None if rest.len() < 2 * BLOCK => Err(truncated((at + 2 * BLOCK) as u64)),
            None => Ok(None),
        };
    }
    let field = |from: usize, len: usize| header.get(from..from + len).unwrap_or_default();
    let found = octal(field(SIZE, 12), 11).filter(|_| Bundle::is_bundle(header) && field(PREFIX, 1) == [0]);
    let length = found.filter(|_| octal(field(CHECKSUM, 8), 6) == Some(checksum(header)));
    let Some(length) = length else { return Err(BundleError::Header { at }) };
    let name = field(0, 100).split(|byte| *byte == 0).next().unwrap_or_default();
    let Some((name, part, limit)) = FILES.into_iter().find(|(known, ..)| known.as_bytes() == name) else {
        let shown = name.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' });
        return Err(BundleError::Name { name: shown.collect() });
    };
    if !matches!(field(KIND, 1), b"0" | b"\0") {
        return Err(BundleError::Kind { name });
    }
    if length > limit as u64 {
        return Err(BundleError::TooLong { name, len: length, limit });
    }
    let length = length as usize;
    let needed = BLOCK + length.next_multiple_of(BLOCK);
    match rest.get(BLOCK..needed).and_then(|padded| padded.get(..length)) {
        Some(content) => Ok(Some(Entry { name, part, content })),
        None => Err(truncated((at + needed) as u64)),
    }
}

/// Where fields of a header start.
const SIZE: usize = 124;
const CHECKSUM: usize = 148;
const KIND: usize = 156;
const MAGIC: usize = 257;
const PREFIX: usize = 345;

fn header(name: &str, len: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(SIZE, &digits::<11>(len as u64));
    put(136, &digits::<11>(0));
    put(KIND, b"0");
    put(MAGIC, b"ustar\x0000");
    let sum = digits::<6>(checksum(&header));
    header[CHECKSUM..CHECKSUM + 6].copy_from_slice(&sum);
    header[CHECKSUM + 7] = b' ';
    header
}

/// The sum of the header's bytes, with spaces instead of the sum.
fn checksum(header: &[u8; BLOCK]) -> u64 {
    let at = |i: usize, byte: u8| if (CHECKSUM..CHECKSUM + 8).contains(&i) { b' ' } else { byte };
    header.iter().enumerate().map(|(i, byte)| u64::from(at(i, *byte))).sum()
}

fn digits<const N: usize>(x: u64) -> [u8; N] {
    core::array::from_fn(|i| b'0' + (x >> (3 * (N - 1 - i)) & 7) as u8)
}

/// A number in octal digits. A zero byte or a space ends the field.
fn octal(field: &[u8], digits: usize) -> Option<u64> {
    let (number, end) = field.split_at_checked(digits)?;
    let ended = end.iter().all(|byte| matches!(byte, 0 | b' '));
    let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| u64::from(byte - b'0'));
    number.iter().try_fold(0, |x, byte| Some(x << 3 | digit(*byte)?)).filter(|_| ended)
}
