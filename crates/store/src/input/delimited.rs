//! csv files.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{InputError, Place, Problem};
use super::rows::Sink;
use super::{Content, Input, MAX_RECORD_BYTES};
use evergrove_verifier::schema::field::Field;

/// Records of a csv file with a header.
pub(crate) struct Csv {
    path: PathBuf,
    reader: csv::Reader<Limited>,
    names: Vec<String>,
    record: csv::ByteRecord,
    budget: Arc<AtomicU64>,
}

/// Stops a record that grows beyond the limit: what is read between two records is bounded by it and one buffer.
struct Limited {
    input: Input,
    read: Arc<AtomicU64>,
}

impl Read for Limited {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buf)?;
        if self.read.fetch_add(n as u64, Ordering::Relaxed) > MAX_RECORD_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(n)
    }
}

impl Csv {
    pub(crate) fn open(content: &Content) -> Result<Self, InputError> {
        let path = &content.path;
        let budget = Arc::new(AtomicU64::new(0));
        let limited = Limited { input: content.open()?, read: budget.clone() };
        let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(limited);
        let header = reader.byte_headers().map_err(|e| problem(path, e))?.clone();
        let names: Option<Vec<_>> = header.iter().map(|n| std::str::from_utf8(n).ok().map(str::to_owned)).collect();
        let Some(mut names) = names else {
            let detail = "the header is not UTF-8".into();
            return Err(InputError::new(Place::line(path, 1), Problem::Malformed { format: "csv", detail }));
        };
        if let Some(first) = names.first_mut()
            && let Some(rest) = first.strip_prefix('\u{feff}')
        {
            *first = rest.into();
        }
        if names.is_empty() {
            return Err(InputError::new(Place::file(path), Problem::NoRows));
        }
        Ok(Self { path: path.clone(), reader, names, record: csv::ByteRecord::new(), budget })
    }

    /// The header.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Place>, InputError> {
        self.budget.store(0, Ordering::Relaxed);
        if !self.reader.read_byte_record(&mut self.record).map_err(|e| problem(&self.path, e))? {
            return Ok(None);
        }
        let place = Place::line(&self.path, self.record.position().map_or(0, csv::Position::line));
        for (name, text) in self.names.iter().zip(&self.record) {
            if let Err(p) = sink(name, Field::Text(Cow::Borrowed(text))) {
                return Err(InputError::new(place, p));
            }
        }
        Ok(Some(place))
    }
}

fn problem(path: &Path, error: csv::Error) -> InputError {
    let line = error.position().map(csv::Position::line);
    let place = line.map_or_else(|| Place::file(path), |n| Place::line(path, n));
    let detail = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields, the header has {expected_len}")
        }
        _ => error.to_string(),
    };
    let problem = match error.into_kind() {
        csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::FileTooLarge => Problem::TooLong,
        csv::ErrorKind::Io(e) => Problem::Io(e),
        _ => Problem::Malformed { format: "csv", detail },
    };
    InputError::new(place, problem)
}
