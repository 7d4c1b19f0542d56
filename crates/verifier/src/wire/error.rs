//! Why bytes were refused.

use core::fmt;

use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Bytes are not an encoding that this version reads. Offsets count bytes from the start of the decoded slice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a value.
    Truncated {
        /// The value that was being read.
        what: &'static str,
        /// Where it starts.
        offset: usize,
        /// Its length.
        needed: usize,
        /// The remaining bytes.
        left: usize,
    },
    /// Bytes follow the last value.
    Trailing {
        /// Where the encoding ends.
        offset: usize,
        /// The number of bytes after it.
        extra: usize,
    },
    /// The proof does not have the length that its shape and query indices give.
    Length {
        /// The length that the shape and the query indices give.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// An integer that encodes a field element is not below p.
    NonCanonical {
        /// Its offset.
        offset: usize,
        /// The integer.
        value: u64,
    },
    /// The file starts with other bytes.
    Magic {
        /// The expected kind of file.
        what: &'static str,
        /// The first bytes found.
        found: [u8; 4],
    },
    /// The format version of the file is unknown.
    Version {
        /// The version found.
        found: u16,
        /// The supported versions.
        known: &'static [u16],
    },
    /// A record that is unknown or out of order.
    Record {
        /// The number of its kind.
        kind: u8,
        /// Its version.
        version: u8,
        /// Where it starts.
        offset: usize,
    },
    /// A code that names no known value.
    Code {
        /// The expected meaning of the code.
        what: &'static str,
        /// The code.
        found: u8,
    },
    /// A number outside its range.
    Range {
        /// Which number.
        what: &'static str,
        /// The number.
        found: u64,
        /// The greatest number allowed.
        max: u64,
    },
    /// The first position of a subtree is not a multiple of its size.
    Base {
        /// The first position.
        base: u64,
        /// The height of the subtree.
        height: u8,
    },
    /// A name is empty, too long or has characters other than lower-case letters, digits, `-` and `_`.
    Name {
        /// Which name.
        what: &'static str,
    },
    /// Opened constants and sigmas do not lie under the cap of the verifier's key.
    Cap {
        /// The cap's entry, from 0.
        entry: u32,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { what, offset, needed, left } => {
                write!(f, "truncated at byte {offset}: {needed} more bytes are needed for {what}, {left} are left")
            }
            Self::Trailing { offset, extra } => {
                write!(f, "{extra} bytes follow the end of the encoding at byte {offset}")
            }
            Self::Length { expected, found } => {
                write!(f, "the proof has {found} bytes, its shape and query indices give {expected}")
            }
            Self::NonCanonical { offset, value } => {
                write!(f, "{value} at byte {offset} is not a field element: it must be below p = 18446744069414584321")
            }
            Self::Magic { what, found } => write!(f, "expected {what}, but the file starts with {found:02x?}"),
            Self::Version { found, known } => write!(f, "unknown format version {found} (known: {})", list(known)),
            Self::Record { kind, version, offset } => write!(
                f,
                "unknown record {kind} of version {version} at byte {offset}: another version of Evergrove wrote it"
            ),
            Self::Code { what, found } => write!(f, "unknown {what} {found}"),
            Self::Range { what, found, max } => write!(f, "{what} is {found}, it must be at most {max}"),
            Self::Base { base, height } => write!(f, "base {base} is not a multiple of 2^{height}"),
            Self::Name { what } => write!(f, "{what} is not a name: use 1 to 32 of a-z, 0-9, - and _"),
            Self::Cap { entry } => write!(
                f,
                "the opened constants and sigmas do not lead to entry {entry} of the verifier's cap: another circuit's proof?"
            ),
        }
    }
}

impl core::error::Error for DecodeError {}

fn list(versions: &[u16]) -> String {
    versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
