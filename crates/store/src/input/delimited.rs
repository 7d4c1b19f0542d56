//! csv and tsv files.

use std::borrow::Cow;
use std::io::Read;
use std::path::PathBuf;

use evergrove_verifier::schema::csv::{CsvError, CsvReader};
use evergrove_verifier::schema::field::Field;

use super::error::{InputError, Place, Problem};
use super::rows::Sink;
use super::source::{Input, Source};
use super::{Format, MAX_RECORD_BYTES};

/// Number of bytes read at a time.
const PIECE: usize = 1 << 16;

/// Records of a csv or tsv file with a header.
pub(crate) struct Csv {
    path: PathBuf,
    format: Format,
    input: Input,
    reader: CsvReader,
    buffer: Vec<u8>,
    /// Position of the first byte in the buffer that is not read yet.
    at: usize,
    /// Number of bytes of the current record that have been read.
    taken: u64,
    names: Vec<String>,
}

impl Csv {
    pub(crate) fn open(source: &Source, format: Format) -> Result<Self, InputError> {
        let path = source.path().to_path_buf();
        let input = source.open_text()?;
        let (reader, buffer) = (CsvReader::new(b','), Vec::with_capacity(PIECE));
        let mut csv = Self { path, format, input, reader, buffer, at: 0, taken: 0, names: Vec::new() };
        let separator = match (source.separator(), format) {
            (Some(separator), _) => separator,
            (None, Format::Tsv) => b'\t',
            (None, _) => {
                csv.fill()?;
                separator(&csv.buffer)
            }
        };
        csv.reader = CsvReader::new(separator);
        if !csv.read()? {
            return Err(InputError::new(Place::file(&csv.path), Problem::NoRows));
        }
        let names: Option<_> = csv.reader.cells().map(|name| String::from_utf8(name.to_vec()).ok()).collect();
        csv.names = names.ok_or_else(|| csv.malformed(csv.reader.line(), "the header is not UTF-8".into()))?;
        Ok(csv)
    }

    /// The header.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Place>, InputError> {
        if !self.read()? {
            return Ok(None);
        }
        let (line, found, expected) = (self.reader.line(), self.reader.cells().len(), self.names.len());
        if found != expected {
            return Err(self.malformed(line, format!("{found} fields, the header has {expected}")));
        }
        let place = Place::line(&self.path, line);
        for (name, text) in self.names.iter().zip(self.reader.cells()) {
            if let Err(p) = sink(name, Field::Text(Cow::Borrowed(text))) {
                return Err(InputError::new(place, p));
            }
        }
        Ok(Some(place))
    }

    /// Reads a record. False at the end.
    fn read(&mut self) -> Result<bool, InputError> {
        self.taken = 0;
        loop {
            if self.at == self.buffer.len() && self.fill()? == 0 {
                return self.reader.finish().map_err(|e| self.quotes(e));
            }
            let (taken, complete) = self.reader.feed(&self.buffer[self.at..]).map_err(|e| self.quotes(e))?;
            self.at += taken;
            self.taken += taken as u64;
            if complete {
                return Ok(true);
            }
            if self.taken > MAX_RECORD_BYTES {
                let place = Place::line(&self.path, self.reader.line());
                return Err(match self.reader.open_quote() {
                    Some(line) => {
                        let detail = format!("the quote of a cell is not closed within {MAX_RECORD_BYTES} bytes");
                        self.malformed(line, detail)
                    }
                    None => InputError::new(place, Problem::TooLong),
                });
            }
        }
    }

    /// Fills the buffer with the next bytes. Returns their number: 0 at the end.
    fn fill(&mut self) -> Result<usize, InputError> {
        self.buffer.clear();
        self.at = 0;
        let read = self.input.by_ref().take(PIECE as u64).read_to_end(&mut self.buffer);
        read.map_err(|e| InputError::new(Place::file(&self.path), self.input.problem(e)))
    }

    fn quotes(&self, error: CsvError) -> InputError {
        self.malformed(error.line(), error.to_string())
    }

    fn malformed(&self, line: u64, detail: String) -> InputError {
        InputError::new(Place::line(&self.path, line), Problem::Malformed { format: self.format.name(), detail })
    }
}

/// The separator of the names in a header: the comma, or in a header without a comma the only one of semicolon, tab and
/// bar that is outside quotes.
fn separator(text: &[u8]) -> u8 {
    let mut quoted = false;
    let mut found = [false; 4];
    let candidates = *b",;\t|";
    for byte in text.iter().skip_while(|b| matches!(b, b'\n' | b'\r')) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            byte if !quoted => {
                if let Some(at) = candidates.iter().position(|c| c == byte) {
                    found[at] = true;
                }
            }
            _ => {}
        }
    }
    match found {
        [false, true, false, false] => b';',
        [false, false, true, false] => b'\t',
        [false, false, false, true] => b'|',
        _ => b',',
    }
}
