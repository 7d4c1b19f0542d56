//! Schemas as TOML, as canonical bytes, and as a digest.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Digest;
use evergrove_primitives::hash::poseidon::hash_bytes;
use serde::{Deserialize, Serialize};

use super::{Column, SCHEMA_DOMAIN, Schema, SchemaError};

/// Version of the canonical encoding.
const VERSION: u8 = 1;

/// The text is not a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaTextError {
    /// Not TOML of the right form.
    #[error("the schema does not read: {0}")]
    Toml(String),
    /// The columns are not a valid schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Raw mode together with columns.
    #[error("raw = true excludes columns: delete one or the other")]
    RawWithColumns,
}

/// The bytes are not a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeSchemaError {
    /// The version of the encoding is not supported.
    #[error("schema encoding version {found}, this program reads {VERSION}")]
    Version {
        /// The version found.
        found: u8,
    },
    /// The bytes are not the canonical encoding of a schema.
    #[error("not the canonical encoding of a schema")]
    Encoding,
    /// The columns are not a valid schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// The form of a schema in TOML and JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    raw: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "column")]
    columns: Vec<Column>,
}

impl Schema {
    /// Reads the TOML form: `[[column]]` tables with `name`, `type` and optionally `nullable`, or `raw = true` alone.
    ///
    /// # Errors
    /// [`SchemaTextError`] when the text does not have this form, or its columns are not a schema.
    pub fn from_toml(text: &str) -> Result<Self, SchemaTextError> {
        let text: Text = toml::from_str(text).map_err(|e| SchemaTextError::Toml(e.to_string().trim_end().into()))?;
        text.try_into()
    }

    /// The TOML form.
    pub fn to_toml(&self) -> String {
        if self.is_raw() {
            return "raw = true\n".into();
        }
        let quoted = |s: &str| toml::Value::String(s.into()).to_string();
        let tables = self.columns().iter().map(|c| {
            let nullable = if c.nullable { "nullable = true\n" } else { "" };
            format!("[[column]]\nname = {}\ntype = \"{}\"\n{nullable}", quoted(&c.name), c.kind)
        });
        tables.collect::<Vec<_>>().join("\n")
    }

    /// The canonical bytes: a version byte, then the columns in postcard (none in raw mode).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        // Columns are strings and flags, so their serialisation into a growing vector cannot fail.
        out.extend(postcard::to_allocvec(&self.columns).unwrap_or_default());
        out
    }

    /// The schema with these canonical bytes. Other encodings of the same columns are refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeSchemaError> {
        let (&found, rest) = bytes.split_first().ok_or(DecodeSchemaError::Encoding)?;
        if found != VERSION {
            return Err(DecodeSchemaError::Version { found });
        }
        let columns: Vec<Column> = postcard::from_bytes(rest).map_err(|_| DecodeSchemaError::Encoding)?;
        let schema = if columns.is_empty() { Self::raw() } else { Self::new(columns)? };
        if schema.to_bytes() == bytes { Ok(schema) } else { Err(DecodeSchemaError::Encoding) }
    }

    /// Poseidon digest of the canonical bytes, which names the schema.
    pub fn digest(&self) -> Digest {
        hash_bytes(SCHEMA_DOMAIN, &self.to_bytes())
    }
}

impl From<&Schema> for Text {
    fn from(schema: &Schema) -> Self {
        Self { raw: schema.is_raw(), columns: schema.columns().to_vec() }
    }
}

impl TryFrom<Text> for Schema {
    type Error = SchemaTextError;
    fn try_from(text: Text) -> Result<Self, SchemaTextError> {
        match (text.raw, text.columns.is_empty()) {
            (true, true) => Ok(Self::raw()),
            (true, false) => Err(SchemaTextError::RawWithColumns),
            (false, _) => Ok(Self::new(text.columns)?),
        }
    }
}

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}
