//! Records: the parts of a file, and of a value in a store, from version 2 on.

use super::{DecodeError, Reader, Writer};

/// The version of every known record.
const VERSION: u8 = 1;

/// A sequence of records: the number of a kind in a byte, a version in a byte, a length in four bytes, and as many bytes.
///
/// A reader takes the records in the order in which they are written, so a value has one encoding. It refuses unknown
/// records, since it cannot tell whether they change the meaning of the others. A later version of this program can add
/// a kind of record where it is needed: earlier versions still read the values without it.
#[derive(Clone, Debug)]
pub struct Records<'a>(Reader<'a>);

impl<'a> Records<'a> {
    /// The remaining records of `reader`.
    pub fn new(reader: Reader<'a>) -> Self {
        Self(reader)
    }

    /// The record of this kind, which comes next. `what` is its name in errors.
    ///
    /// # Errors
    /// When another record comes next, or no record.
    pub fn next(&mut self, kind: u8, what: &'static str) -> Result<Reader<'a>, DecodeError> {
        let start = self.0.offset;
        let (found, version) = (self.0.u8(what)?, self.0.u8(what)?);
        if (found, version) != (kind, VERSION) {
            return Err(DecodeError::Record { kind: found, version, offset: start });
        }
        let len = self.0.u32(what)? as usize;
        let offset = self.0.offset;
        self.0.take(len, what)?;
        Ok(Reader { bytes: &self.0.bytes[..offset + len], offset })
    }

    /// The record of this kind if it comes next.
    ///
    /// # Errors
    /// When the record has another version, or is truncated.
    pub fn optional(&mut self, kind: u8, what: &'static str) -> Result<Option<Reader<'a>>, DecodeError> {
        let found = self.0.bytes.get(self.0.offset);
        if found == Some(&kind) { self.next(kind, what).map(Some) } else { Ok(None) }
    }

    /// Refuses remaining records.
    ///
    /// # Errors
    /// When records or other bytes remain.
    pub fn finish(mut self) -> Result<(), DecodeError> {
        if self.0.left() < 6 {
            return self.0.finish();
        }
        let offset = self.0.offset;
        Err(DecodeError::Record { kind: self.0.u8("record")?, version: self.0.u8("record")?, offset })
    }
}

impl Writer {
    /// A record of this kind with the output of `write`.
    ///
    /// # Panics
    /// If the record has 4 GiB or more.
    pub fn record(&mut self, kind: u8, write: impl FnOnce(&mut Self)) {
        self.bytes(&[kind, VERSION]);
        let at = self.0.len();
        self.bytes(&[0; 4]);
        write(self);
        let len = u32::try_from(self.0.len() - at - 4).expect("a record has less than 4 GiB");
        self.0[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }
}
