//! Files of raw values, 32 bytes each.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use evergrove_commit::schema::{Row, Schema};

use super::error::{InputError, Place, Problem};

/// Bytes of a value.
pub(crate) const VALUE_BYTES: usize = 32;

/// Values of a raw file.
pub(crate) struct Values {
    path: PathBuf,
    reader: BufReader<File>,
    number: u64,
}

impl Values {
    pub(crate) fn open(path: &Path) -> Result<Self, InputError> {
        let io = |e| InputError::new(Place::file(path), Problem::Io(e));
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        if length % VALUE_BYTES as u64 != 0 {
            return Err(InputError::new(Place::file(path), Problem::RawLength(length)));
        }
        Ok(Self { path: path.into(), reader: BufReader::with_capacity(1 << 16, file), number: 0 })
    }

    pub(crate) fn next(&mut self) -> Result<Option<(Place, Row)>, InputError> {
        let mut bytes = [0; VALUE_BYTES];
        let mut filled = 0;
        self.number += 1;
        let place = Place::row(&self.path, self.number);
        while filled < VALUE_BYTES {
            match self.reader.read(&mut bytes[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => {
                    let length = (self.number - 1) * VALUE_BYTES as u64 + filled as u64;
                    return Err(InputError::new(place, Problem::RawLength(length)));
                }
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(InputError::new(place, Problem::Io(e))),
            }
        }
        match Schema::raw_row(&bytes) {
            Ok(row) => Ok(Some((place, row))),
            Err(e) => Err(InputError::new(place, Problem::Row(e))),
        }
    }
}
