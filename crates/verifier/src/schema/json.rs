//! Rows as JSON objects: the lines of jsonl files.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Excerpt;
use super::field::Field;

/// The key of the object that represents bytes that are not UTF-8: `{"hex": "ff00"}`.
pub const HEX_KEY: &str = "hex";

/// A line is not a record, or `sink` refused a field.
pub enum RecordError<P> {
    /// Why the line is not a record.
    Malformed(String),
    /// The error of `sink`.
    Refused(P),
}

fn malformed<P>(detail: impl fmt::Display) -> RecordError<P> {
    RecordError::Malformed(detail.to_string())
}

/// Passes the fields of one object to `sink`.
///
/// # Errors
/// [`RecordError`].
pub fn record<P>(line: &[u8], sink: &mut dyn FnMut(&str, Field<'_>) -> Result<(), P>) -> Result<(), RecordError<P>> {
    // The parser's error quotes the whole string.
    if line.trim_ascii_start().starts_with(b"\"") {
        return Err(malformed("invalid type: string, expected an object"));
    }
    let mut refused = None;
    let mut json = serde_json::Deserializer::from_slice(line);
    let read = json.deserialize_map(Members { sink, refused: &mut refused }).and_then(|()| json.end());
    match (refused, read) {
        (Some(e), _) => Err(e),
        (None, Err(e)) => Err(malformed(e)),
        (None, Ok(())) => Ok(()),
    }
}

struct Members<'s, 'f, P> {
    sink: &'s mut (dyn FnMut(&str, Field<'_>) -> Result<(), P> + 'f),
    refused: &'s mut Option<RecordError<P>>,
}

impl<'de, P> Visitor<'de> for Members<'_, '_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let raw: &'de RawValue = map.next_value()?;
            let taken = field(&name, raw.get()).map_err(RecordError::Malformed);
            if let Err(e) = taken.and_then(|f| (self.sink)(&name, f).map_err(RecordError::Refused)) {
                *self.refused = Some(e);
                return Err(serde::de::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

fn field<'a>(name: &str, raw: &'a str) -> Result<Field<'a>, String> {
    let column = || Excerpt::new(name.as_bytes());
    let nested = || format!("column {} is nested: flatten it", column());
    match raw.as_bytes().first() {
        Some(b'n') => Ok(Field::Null),
        Some(b't') => Ok(Field::Bool(true)),
        Some(b'f') => Ok(Field::Bool(false)),
        Some(b'"') => {
            let text: String = serde_json::from_str(raw).map_err(|e| e.to_string())?;
            Ok(Field::Bytes(Cow::Owned(text.into_bytes())))
        }
        Some(b'{') => {
            let object: BTreeMap<String, String> = serde_json::from_str(raw).map_err(|_| nested())?;
            match object.get(HEX_KEY) {
                Some(hex) if object.len() == 1 => hex_bytes(hex)
                    .map(|b| Field::Bytes(Cow::Owned(b)))
                    .ok_or_else(|| format!("column {}: {HEX_KEY:?} takes pairs of hexadecimal digits", column())),
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
