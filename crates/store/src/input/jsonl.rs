//! jsonl files: one JSON object per line.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use evergrove_verifier::schema::csv::BYTE_ORDER_MARK;
use evergrove_verifier::schema::json::{self, RecordError};

use super::MAX_RECORD_BYTES;
use super::error::{InputError, Place, Problem};
use super::rows::Sink;
use super::source::{Input, Source};

/// Records of a jsonl file. Skips blank lines, and a byte order mark before the first line.
pub(crate) struct Jsonl {
    path: PathBuf,
    reader: BufReader<Input>,
    line: Vec<u8>,
    number: u64,
}

impl Jsonl {
    pub(crate) fn open(source: &Source) -> Result<Self, InputError> {
        let reader = BufReader::with_capacity(1 << 16, source.open_text()?);
        Ok(Self { path: source.path().to_path_buf(), reader, line: Vec::new(), number: 0 })
    }

    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Place>, InputError> {
        loop {
            self.line.clear();
            self.number += 1;
            let place = Place::line(&self.path, self.number);
            let limited = (&mut self.reader).take(MAX_RECORD_BYTES + 1).read_until(b'\n', &mut self.line);
            let read = limited.map_err(|e| InputError::new(place.clone(), self.reader.get_ref().problem(e)))?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 > MAX_RECORD_BYTES {
                return Err(InputError::new(place, Problem::TooLong));
            }
            let line = match self.number {
                1 => self.line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.line),
                _ => &self.line,
            };
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            return match record(line, sink) {
                Ok(()) => Ok(Some(place)),
                Err(p) => Err(InputError::new(place, p)),
            };
        }
    }
}

/// Passes the fields of one object to `sink`.
pub(crate) fn record(line: &[u8], sink: &mut Sink<'_>) -> Result<(), Problem> {
    json::record(line, sink).map_err(|e| match e {
        RecordError::Malformed(detail) => Problem::Malformed { format: "jsonl", detail },
        RecordError::Refused(problem) => problem,
    })
}
