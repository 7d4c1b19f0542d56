//! jsonl files: one JSON object per line.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::MAX_RECORD_BYTES;
use super::error::{InputError, Place, Problem};
use super::field::Field;
use super::rows::Sink;

/// The key of the object that stands for bytes that are not UTF-8: `{"hex": "ff00"}`.
pub(crate) const HEX_KEY: &str = "hex";

/// Records of a jsonl file. Blank lines are skipped.
pub(crate) struct Jsonl {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: u64,
}

impl Jsonl {
    pub(crate) fn open(path: &Path) -> Result<Self, InputError> {
        let file = File::open(path).map_err(|e| InputError::new(Place::file(path), Problem::Io(e)))?;
        Ok(Self { path: path.into(), reader: BufReader::with_capacity(1 << 16, file), line: Vec::new(), number: 0 })
    }

    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Place>, InputError> {
        loop {
            self.line.clear();
            self.number += 1;
            let place = Place::line(&self.path, self.number);
            let limited = (&mut self.reader).take(MAX_RECORD_BYTES + 1).read_until(b'\n', &mut self.line);
            let read = limited.map_err(|e| InputError::new(place.clone(), Problem::Io(e)))?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 > MAX_RECORD_BYTES {
                return Err(InputError::new(place, Problem::TooLong));
            }
            let line = self.line.trim_ascii();
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

fn malformed(detail: impl fmt::Display) -> Problem {
    Problem::Malformed { format: "jsonl", detail: detail.to_string() }
}

/// Hands the fields of one object to `sink`.
pub(crate) fn record(line: &[u8], sink: &mut Sink<'_>) -> Result<(), Problem> {
    let mut refused = None;
    let mut json = serde_json::Deserializer::from_slice(line);
    let read = json.deserialize_map(Members { sink, refused: &mut refused }).and_then(|()| json.end());
    match (refused, read) {
        (Some(p), _) => Err(p),
        (None, Err(e)) => Err(malformed(e)),
        (None, Ok(())) => Ok(()),
    }
}

struct Members<'s, 'f> {
    sink: &'s mut Sink<'f>,
    refused: &'s mut Option<Problem>,
}

impl<'de> Visitor<'de> for Members<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let raw: &'de RawValue = map.next_value()?;
            if let Err(p) = field(&name, raw.get()).and_then(|f| (self.sink)(&name, f)) {
                *self.refused = Some(p);
                return Err(serde::de::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

fn field<'a>(name: &str, raw: &'a str) -> Result<Field<'a>, Problem> {
    let nested = || malformed(format!("column {name:?} is nested: flatten it"));
    match raw.as_bytes().first() {
        Some(b'n') => Ok(Field::Null),
        Some(b't') => Ok(Field::Bool(true)),
        Some(b'f') => Ok(Field::Bool(false)),
        Some(b'"') => {
            let text: String = serde_json::from_str(raw).map_err(malformed)?;
            Ok(Field::Bytes(Cow::Owned(text.into_bytes())))
        }
        Some(b'{') => {
            let object: std::collections::BTreeMap<String, String> = serde_json::from_str(raw).map_err(|_| nested())?;
            match object.get(HEX_KEY) {
                Some(hex) if object.len() == 1 => {
                    hex_bytes(hex).map(|b| Field::Bytes(Cow::Owned(b))).ok_or_else(|| {
                        malformed(format!("column {name:?}: {HEX_KEY:?} takes pairs of hexadecimal digits"))
                    })
                }
                _ => Err(nested()),
            }
        }
        Some(b'[') | None => Err(nested()),
        Some(_) => Ok(Field::Number(Cow::Borrowed(raw))),
    }
}

fn hex_bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[a, b]| Some(digit(*a)? << 4 | digit(*b)?)).collect()
}
