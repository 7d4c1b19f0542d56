//! RLP, strictly: one encoding for each value, so the meaning of bytes is a function of the bytes.
//!
//! Source: Ethereum's Yellow Paper, appendix B.

use core::fmt;

use alloc::vec::Vec;

/// The longest string or list with a header of one byte.
const SHORT: usize = 55;
/// The first byte of a string of no bytes.
pub const EMPTY_STRING: u8 = 0x80;
const LIST: u8 = 0xc0;

/// An item: the bytes of a string, or a reader of a list's items.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// The string's bytes, without its header.
    String(&'a [u8]),
    /// The list's items.
    List(Reader<'a>),
}

/// Bytes that are not valid RLP of the expected item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpError {
    /// The fault.
    pub fault: RlpFault,
    /// The byte at which the item begins, counted from the beginning of the decoded bytes.
    pub at: usize,
}

/// The fault of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlpFault {
    /// The bytes end before the item does.
    Truncated,
    /// Bytes follow the last item.
    Trailing,
    /// A length of at most 55 in the form of longer ones.
    LongForm,
    /// A length that begins with a zero byte.
    LengthZero,
    /// A single byte below 0x80 with a header.
    SingleByte,
    /// A list instead of a string.
    NotAString,
    /// A string instead of a list.
    NotAList,
    /// An integer that begins with a zero byte.
    IntegerZero,
    /// A string of another length.
    Length {
        /// The least number of bytes.
        least: usize,
        /// The greatest number of bytes.
        most: usize,
        /// The number of bytes found.
        found: usize,
    },
}

impl fmt::Display for RlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid RLP at byte {}: ", self.at)?;
        match self.fault {
            RlpFault::Truncated => f.write_str("the item is truncated"),
            RlpFault::Trailing => f.write_str("trailing bytes after the last item"),
            RlpFault::LongForm => f.write_str("long form of a length below 56"),
            RlpFault::LengthZero => f.write_str("length with a leading zero"),
            RlpFault::SingleByte => f.write_str("a byte below 0x80 has no header"),
            RlpFault::NotAString => f.write_str("expected a string, got a list"),
            RlpFault::NotAList => f.write_str("expected a list, got a string"),
            RlpFault::IntegerZero => f.write_str("integer with a leading zero"),
            RlpFault::Length { least, most, found } if least == most => {
                write!(f, "expected {least} bytes, got {found}")
            }
            RlpFault::Length { least, most, found } => write!(f, "expected {least} to {most} bytes, got {found}"),
        }
    }
}

impl core::error::Error for RlpError {}

/// Reads items one after the other, each in constant time. Nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// The items that follow each other in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// True when no item is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of remaining bytes; for a list from [`Item::List`] the length of its items.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The remaining bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// An error at the next item.
    pub fn error(&self, fault: RlpFault) -> RlpError {
        RlpError { fault, at: self.at }
    }

    /// The next item.
    ///
    /// # Errors
    /// When the bytes end before the item does, or its header is not the shortest one.
    pub fn item(&mut self) -> Result<Item<'a>, RlpError> {
        let error = |fault| RlpError { fault, at: self.at };
        let (&first, rest) = self.bytes.split_first().ok_or(error(RlpFault::Truncated))?;
        if first < EMPTY_STRING {
            let (byte, rest) = self.bytes.split_at(1);
            *self = Self { bytes: rest, at: self.at + 1 };
            return Ok(Item::String(byte));
        }
        let is_list = first >= LIST;
        let short = usize::from(first - if is_list { LIST } else { EMPTY_STRING });
        let (header, length) = if short <= SHORT {
            (1, short)
        } else {
            let bytes = rest.get(..short - SHORT).ok_or(error(RlpFault::Truncated))?;
            if bytes[0] == 0 {
                return Err(error(RlpFault::LengthZero));
            }
            let length = bytes.iter().try_fold(0usize, |n, &b| Some(n.checked_mul(256)? + usize::from(b)));
            // No slice is longer than the largest number.
            let length = length.unwrap_or(usize::MAX);
            if length <= SHORT {
                return Err(error(RlpFault::LongForm));
            }
            (1 + bytes.len(), length)
        };
        let end =
            header.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(error(RlpFault::Truncated))?;
        let payload = &self.bytes[header..end];
        if !is_list && length == 1 && payload[0] < EMPTY_STRING {
            return Err(error(RlpFault::SingleByte));
        }
        let inner = Self { bytes: payload, at: self.at + header };
        *self = Self { bytes: &self.bytes[end..], at: self.at + end };
        Ok(if is_list { Item::List(inner) } else { Item::String(payload) })
    }

    /// The next item, which must be a list.
    ///
    /// # Errors
    /// As [`Reader::item`], and when it is a string.
    pub fn list(&mut self) -> Result<Reader<'a>, RlpError> {
        let error = self.error(RlpFault::NotAList);
        match self.item()? {
            Item::List(items) => Ok(items),
            Item::String(_) => Err(error),
        }
    }

    /// The next item, which must be a string of `least` to `most` bytes.
    ///
    /// # Errors
    /// As [`Reader::item`], and when it is a list or of another length.
    pub fn string(&mut self, least: usize, most: usize) -> Result<&'a [u8], RlpError> {
        let here = *self;
        match self.item()? {
            Item::String(s) if (least..=most).contains(&s.len()) => Ok(s),
            Item::String(s) => Err(here.error(RlpFault::Length { least, most, found: s.len() })),
            Item::List(_) => Err(here.error(RlpFault::NotAString)),
        }
    }

    /// The next item, which must be a string of `N` bytes.
    ///
    /// # Errors
    /// As [`Reader::string`].
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], RlpError> {
        let mut out = [0; N];
        out.copy_from_slice(self.string(N, N)?);
        Ok(out)
    }

    /// The next item, which must be an integer of at most `N` bytes, most significant byte first, without leading zeros; 0 has no bytes.
    /// Returned with `N` bytes.
    ///
    /// # Errors
    /// As [`Reader::string`], and when the first byte is 0.
    pub fn integer<const N: usize>(&mut self) -> Result<[u8; N], RlpError> {
        let here = *self;
        let digits = self.string(0, N)?;
        if digits.first() == Some(&0) {
            return Err(here.error(RlpFault::IntegerZero));
        }
        let mut out = [0; N];
        out[N - digits.len()..].copy_from_slice(digits);
        Ok(out)
    }

    /// Checks that no bytes follow.
    ///
    /// # Errors
    /// When bytes follow.
    pub fn end(&self) -> Result<(), RlpError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.error(RlpFault::Trailing)) }
    }
}

/// The bytes of an integer, most significant first, without its leading zeros: its string in RLP.
pub fn trimmed(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|b| **b == 0).count()..]
}

/// Appends a string.
pub fn write_string(out: &mut Vec<u8>, string: &[u8]) {
    match string {
        [byte] if *byte < EMPTY_STRING => out.push(*byte),
        _ => {
            header(out, EMPTY_STRING, string.len());
            out.extend_from_slice(string);
        }
    }
}

/// The list of the items in `payload`.
pub fn list(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 9);
    header(&mut out, LIST, payload.len());
    out.extend_from_slice(payload);
    out
}

/// An integer as a string: the key of an index-keyed trie. No key is the beginning of another.
pub fn integer(number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(9);
    write_string(&mut out, trimmed(&number.to_be_bytes()));
    out
}

fn header(out: &mut Vec<u8>, base: u8, length: usize) {
    if length <= SHORT {
        out.push(base + length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let bytes = trimmed(&bytes);
        out.push(base + (SHORT + bytes.len()) as u8);
        out.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn every_value_has_one_encoding() {
        for length in [0, 1, 2, 55, 56, 57, 255, 256, 65_535, 65_536] {
            for byte in [0, 0x7f, 0x80, 0xff] {
                let string = vec![byte; length];
                let mut bytes = Vec::new();
                write_string(&mut bytes, &string);
                let mut reader = Reader::new(&bytes);
                assert_eq!(reader.string(0, usize::MAX), Ok(&string[..]), "{length} bytes {byte}");
                assert_eq!(reader.end(), Ok(()));
                let bytes = list(&string);
                assert_eq!(Reader::new(&bytes).list().map(|l| l.rest()), Ok(&string[..]));
                for cut in [0, 1, bytes.len() - 1] {
                    let error = Reader::new(&bytes[..cut]).item().err();
                    assert_eq!(error.is_some(), cut < bytes.len(), "{length} bytes, cut at {cut}");
                }
            }
        }
        assert_eq!(
            [0, 1, 127, 128, 256].map(integer),
            [vec![0x80], vec![1], vec![127], vec![0x81, 128], vec![0x82, 1, 0]]
        );
    }

    #[test]
    fn other_encodings_are_refused() {
        let first = |bytes: &[u8]| Reader::new(bytes).item().map(drop).map_err(|e| e.fault);
        assert_eq!(first(&[0x81, 0x7f]), Err(RlpFault::SingleByte));
        assert_eq!(first(&[0x81, 0x80]), Ok(()));
        assert_eq!(first(&[&[0xb8, 55][..], &[0; 55]].concat()), Err(RlpFault::LongForm));
        assert_eq!(first(&[&[0xf8, 55][..], &[0; 55]].concat()), Err(RlpFault::LongForm));
        assert_eq!(first(&[&[0xb9, 0, 56][..], &[0; 56]].concat()), Err(RlpFault::LengthZero));
        assert_eq!(first(&[0xbf, 255, 255, 255, 255, 255, 255, 255, 255]), Err(RlpFault::Truncated));
        assert_eq!(first(&[0xff, 1, 0, 0, 0, 0, 0, 0, 0]), Err(RlpFault::Truncated));
        assert_eq!(first(&[0xb9, 1]), Err(RlpFault::Truncated));
        assert_eq!(first(&[0x82, 1]), Err(RlpFault::Truncated));
        assert_eq!(first(&[]), Err(RlpFault::Truncated));
        let integer = |bytes: &[u8]| Reader::new(bytes).integer::<2>().map_err(|e| e.fault);
        assert_eq!(integer(&[0x80]), Ok([0, 0]));
        assert_eq!(integer(&[0]), Err(RlpFault::IntegerZero));
        assert_eq!(integer(&[0x82, 0, 1]), Err(RlpFault::IntegerZero));
        assert_eq!(integer(&[0x83, 1, 0, 0]), Err(RlpFault::Length { least: 0, most: 2, found: 3 }));
        assert_eq!(integer(&[0xc0]), Err(RlpFault::NotAString));
        assert_eq!(Reader::new(&[0x80]).list().map(drop).map_err(|e| e.fault), Err(RlpFault::NotAList));
        assert_eq!(Reader::new(&[0x80]).end().map_err(|e| e.fault), Err(RlpFault::Trailing));
    }

    #[test]
    fn errors_name_the_byte() {
        let bytes = list(&[0x01, 0x81, 0x05]);
        let mut items = Reader::new(&bytes).list().expect("a list");
        items.item().expect("a byte");
        let error = items.item().map(drop).expect_err("a header");
        assert_eq!(alloc::format!("{error}"), "invalid RLP at byte 2: a byte below 0x80 has no header");
    }
}
