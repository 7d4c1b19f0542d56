//! Files of raw values, 32 bytes each.

use std::io::{BufReader, Read};
use std::path::PathBuf;

use evergrove_commit::schema::{Row, Schema};

use super::error::{InputError, Place, Problem};
use super::source::{Input, Source};

/// Size of a value in bytes.
pub(crate) const VALUE_BYTES: usize = 32;

/// Values of a raw file.
pub(crate) struct Values {
    path: PathBuf,
    reader: BufReader<Input>,
    number: u64,
    /// The bytes of the last value.
    bytes: Vec<u8>,
}

impl Values {
    pub(crate) fn open(source: &Source) -> Result<Self, InputError> {
        let input = source.open()?;
        if let Some(length) = source.length().filter(|length| length % VALUE_BYTES as u64 != 0) {
            return Err(InputError::new(Place::file(source.path()), Problem::RawLength(length)));
        }
        let reader = BufReader::with_capacity(1 << 16, input);
        Ok(Self { path: source.path().to_path_buf(), reader, number: 0, bytes: Vec::with_capacity(VALUE_BYTES) })
    }

    pub(crate) fn next(&mut self) -> Result<Option<(Place, Row)>, InputError> {
        self.number += 1;
        let place = Place::row(&self.path, self.number);
        let Self { reader, bytes, .. } = self;
        bytes.clear();
        if let Err(e) = reader.by_ref().take(VALUE_BYTES as u64).read_to_end(bytes) {
            return Err(InputError::new(place, reader.get_ref().problem(e)));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let Ok(value) = bytes[..].try_into() else {
            let length = (self.number - 1) * VALUE_BYTES as u64 + bytes.len() as u64;
            return Err(InputError::new(place, Problem::RawLength(length)));
        };
        match Schema::raw_row(&value) {
            Ok(row) => Ok(Some((place, row))),
            Err(e) => Err(InputError::new(place, Problem::Row(e))),
        }
    }
}
