//! JSON with bounds, and its values as bytes.

use std::cell::Cell;
use std::fmt;

use evergrove_verifier::abi::checksum_holds;
use evergrove_verifier::ethereum::rlp::RlpError;
use evergrove_verifier::ethereum::{Address, Hash, HeaderError, Hex, Word};
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::{LimitError, TrieError, TriesError};

/// Longest text: 64 MiB.
pub const TEXT_MAX: usize = 64 << 20;
/// Deepest nesting.
const DEPTH_MAX: usize = 16;
/// The greatest number of values, which bounds the memory: an object counts as several.
const VALUES_MAX: usize = 1 << 22;
const OBJECT: usize = 8;

/// The fault of an input, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{fault}")]
pub struct InputError {
    /// The place, as `answer 3: accountProof: 2: `; empty for the whole text.
    pub place: String,
    /// The fault.
    pub fault: Box<InputFault>,
}

/// The fault of an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputFault {
    /// More than [`TEXT_MAX`] bytes.
    #[error("{0} bytes of JSON: split the file into parts of at most 64 MiB")]
    Size(usize),
    /// More values than 2^22.
    #[error("more than {VALUES_MAX} values, of which an object counts as {OBJECT}: split the file")]
    Values,
    /// An object with a repeated field, or an account or a slot in two spellings.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// A field that does not fit the others.
    #[error("field `{field}` does not belong here: expected {expected}")]
    Stray {
        /// The field.
        field: String,
        /// The expected fields.
        expected: &'static str,
    },
    /// Deeper than 16 levels.
    #[error("nested deeper than {DEPTH_MAX} levels: not an answer of a client")]
    Depth,
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// A client's error instead of an answer.
    #[error(
        "the client answered with an error: {0}; many clients have the state of recent blocks only (128 by default): ask for a newer block, or ask an archive node"
    )]
    Client(String),
    /// The kind of the value is wrong.
    #[error("expected {expected}, got {found}")]
    Kind {
        /// The expected kind.
        expected: &'static str,
        /// The value, shortened.
        found: String,
    },
    /// A missing field.
    #[error("missing field `{0}`")]
    Field(&'static str),
    /// Text that is not a hexadecimal number.
    #[error("expected 0x and an even number of hexadecimal digits, got \"{0}\"")]
    Hex(String),
    /// The number of bytes is wrong.
    #[error("expected {expected} bytes, got {found}")]
    Length {
        /// The expected number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// An address whose upper-case letters are not those of its checksum.
    #[error("address {0} has a wrong checksum (EIP-55): check it, or write it in lower case")]
    Checksum(String),
    /// A field beside a proof that contradicts the proof.
    #[error("reported {field} {reported} differs from the proof's {proven}: ask for all by one block hash (EIP-1898)")]
    Reported {
        /// The field.
        field: &'static str,
        /// The reported value.
        reported: String,
        /// The proven value.
        proven: String,
    },
    /// A proof that begins with another root.
    #[error(
        "the proof begins with {}, expected root {}: the answers are of different blocks; ask for all by one block hash (EIP-1898)",
        Hex(.found),
        Hex(.expected)
    )]
    Root {
        /// The root that the proof must begin with.
        expected: Hash,
        /// The hash of its first node.
        found: Hash,
    },
    /// The proof is empty, but the trie is not.
    #[error("no proof, but the trie with root {} is not empty", Hex(.0))]
    NoProof(Hash),
    /// Bytes that are not a header, or the header of another block.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A text longer than that of any header.
    #[error("{found} bytes of text for a header: expected at most {most}, the hexadecimal digits of one header")]
    HeaderText {
        /// Bytes of the text.
        found: usize,
        /// Most bytes.
        most: usize,
    },
    /// A header with unknown fields, so its hash cannot be computed.
    #[error(
        "header has fields that this version does not know, the first is `{field}`: without them its hash is {}, expected {}; give the header as RLP (debug_getRawHeader)",
        Hex(.found),
        Hex(.expected)
    )]
    HeaderField {
        /// The first of these fields.
        field: String,
        /// The hash of the block.
        expected: Hash,
        /// The hash of the known fields.
        found: Hash,
    },
    /// Headers that do not follow each other.
    #[error("header {number} does not follow the header before it: its parent is {}", Hex(.parent))]
    Link {
        /// Its number.
        number: u64,
        /// Its parent.
        parent: Hash,
    },
    /// Bytes that are not RLP.
    #[error(transparent)]
    Rlp(#[from] RlpError),
    /// The type of a transaction or receipt is unknown.
    #[error("type {kind} is not known to this version: give {remedy}")]
    Type {
        /// The type.
        kind: u64,
        /// What to give instead.
        remedy: &'static str,
    },
    /// Hashes of transactions, which do not give their bytes.
    #[error("hashes of transactions: ask for the block with whole transactions (true), or for debug_getRawTransaction")]
    Hashes,
    /// A blob transaction in the form in which it travels in the network.
    #[error("a blob transaction with its blobs: the trie has it without blobs, as eth_getRawTransactionByHash answers")]
    Blobs,
    /// A list that does not belong to its block.
    #[error("their root is {}, expected {}: give all of one block, in their order", Hex(.found), Hex(.expected))]
    Entries {
        /// The root of the block.
        expected: Hash,
        /// The root of the list.
        found: Hash,
    },
    /// A value that no trie can have.
    #[error(transparent)]
    Trie(#[from] TrieError),
    /// Too many nodes.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The nodes do not give an answer.
    #[error(transparent)]
    Tries(Box<TriesError>),
}

pub(super) type Read<T> = Result<T, InputFault>;

/// Adds the place to a fault.
pub(super) trait At<T> {
    fn at(self, place: impl FnOnce() -> String) -> Result<T, InputError>;
}

impl<T, E: Into<InputFault>> At<T> for Result<T, E> {
    fn at(self, place: impl FnOnce() -> String) -> Result<T, InputError> {
        self.map_err(|fault| InputError { place: place() + ": ", fault: Box::new(fault.into()) })
    }
}

impl From<TriesError> for InputFault {
    fn from(error: TriesError) -> Self {
        Self::Tries(Box::new(error))
    }
}

impl InputError {
    /// Whether the text is well formed, but its content is false or not shown.
    pub fn is_refusal(&self) -> bool {
        use InputFault as F;
        match &*self.fault {
            F::Reported { .. } | F::Root { .. } | F::NoProof(_) | F::Link { .. } | F::Tries(_) => true,
            F::HeaderField { .. } | F::Entries { .. } => true,
            F::Header(e) => matches!(e, HeaderError::Hash { .. }),
            _ => false,
        }
    }

    /// The same error, inside a place.
    pub(super) fn inside(mut self, place: &str) -> Self {
        self.place.insert_str(0, &format!("{place}: "));
        self
    }
}

impl From<InputFault> for InputError {
    fn from(fault: InputFault) -> Self {
        Self { place: String::new(), fault: Box::new(fault) }
    }
}

/// The value of a text, within the bounds; for an envelope of JSON-RPC its result.
pub(super) fn parse(text: &[u8]) -> Read<Value> {
    if text.len() > TEXT_MAX {
        return Err(InputFault::Size(text.len()));
    }
    let (left, fault) = (Cell::new(VALUES_MAX), Cell::new(None));
    let mut text = serde_json::Deserializer::from_slice(text);
    let value = Bounded { depth: 0, left: &left, fault: &fault }.deserialize(&mut text);
    match value.and_then(|value| text.end().map(|()| value)) {
        Ok(value) => unwrapped(value),
        Err(e) => Err(fault.take().unwrap_or_else(|| InputFault::Json(e.to_string()))),
    }
}

/// Makes a value and counts its contents. In some builds, a `Value` that is deserialised directly interprets strings of
/// a certain object as JSON.
#[derive(Clone, Copy)]
struct Bounded<'a> {
    depth: usize,
    left: &'a Cell<usize>,
    fault: &'a Cell<Option<InputFault>>,
}

impl Bounded<'_> {
    fn refuse<E: de::Error>(self, fault: InputFault) -> E {
        let text = fault.to_string();
        self.fault.set(Some(fault));
        E::custom(text)
    }

    fn take<E: de::Error>(self, weight: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(weight).ok_or_else(|| self.refuse(InputFault::Values))?;
        self.left.set(left);
        Ok(())
    }

    fn inside<E: de::Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > DEPTH_MAX { Err(self.refuse(InputFault::Depth)) } else { Ok(Self { depth, ..self }) }
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, text: D) -> Result<Value, D::Error> {
        self.take(1)?;
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, x: bool) -> Result<Value, E> {
        Ok(x.into())
    }
    fn visit_u64<E>(self, x: u64) -> Result<Value, E> {
        Ok(x.into())
    }
    fn visit_i64<E>(self, x: i64) -> Result<Value, E> {
        Ok(x.into())
    }
    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(x.into())
    }
    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inside)? {
            list.push(item);
        }
        Ok(list.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        self.take(OBJECT - 1)?;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(self.refuse(InputFault::Twice(printable(&name))));
            }
            let value = fields.next_value_seed(inside)?;
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

/// The beginning of a text, on one line.
pub(super) fn printable(text: &str) -> String {
    text.chars().take(70).flat_map(char::escape_default).collect()
}

/// The result in an envelope; other values unchanged.
pub(super) fn unwrapped(mut value: Value) -> Read<Value> {
    let Some(envelope) = value.as_object_mut().filter(|o| o.contains_key("jsonrpc")) else { return Ok(value) };
    match (envelope.remove("result"), envelope.get("error")) {
        (Some(result), None | Some(Value::Null)) => Ok(result),
        (_, Some(error)) => Err(client_error(error)),
        (None, None) => Err(InputFault::Field("result")),
    }
}

/// One value or a list of them, each without its envelope.
pub(super) fn each(value: Value) -> Result<Vec<Value>, InputError> {
    match value {
        Value::Array(list) => {
            (0..).zip(list).map(|(i, answer): (usize, _)| unwrapped(answer).at(|| format!("answer {i}"))).collect()
        }
        one => Ok(vec![one]),
    }
}

/// The error that a client gives instead of an answer. Its end says which blocks the client has, so more of it is shown
/// than of other values.
pub(super) fn client_error(error: &Value) -> InputFault {
    InputFault::Client(shortened(error.get("message").unwrap_or(error), 240))
}

pub(super) fn short(value: &Value) -> String {
    shortened(value, 60)
}

fn shortened(value: &Value, most: usize) -> String {
    let text = value.to_string();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

fn kind(expected: &'static str, found: &Value) -> InputFault {
    InputFault::Kind { expected, found: short(found) }
}

pub(super) fn object(value: &Value) -> Read<&Map<String, Value>> {
    value.as_object().ok_or_else(|| kind("an object", value))
}

pub(super) fn list(value: &Value) -> Read<&[Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| kind("a list", value))
}

/// A field that is present and not null.
pub(super) fn optional<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|v| !v.is_null())
}

pub(super) fn required<'a>(object: &'a Map<String, Value>, name: &'static str) -> Read<&'a Value> {
    optional(object, name).ok_or(InputFault::Field(name))
}

/// The digits after 0x.
fn digits(value: &Value) -> Read<&str> {
    let text = value.as_str().ok_or_else(|| kind("a string of hexadecimal digits in quotes", value))?;
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or_else(|| not_hex(text))
}

fn not_hex(text: &str) -> InputFault {
    InputFault::Hex(printable(text))
}

fn decoded(digits: &str) -> Read<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[a, b]| Some(digit(*a)? << 4 | digit(*b)?)).collect::<Option<Vec<u8>>>();
    bytes.filter(|_| rest.is_empty()).ok_or_else(|| not_hex(&format!("0x{digits}")))
}

pub(super) fn bytes(value: &Value) -> Read<Vec<u8>> {
    decoded(digits(value)?)
}

pub(super) fn fixed<const N: usize>(value: &Value) -> Read<[u8; N]> {
    let bytes = bytes(value)?;
    bytes.as_slice().try_into().map_err(|_| InputFault::Length { expected: N, found: bytes.len() })
}

/// A number of at most `N` bytes, with or without leading zeros.
pub(super) fn number<const N: usize>(value: &Value) -> Read<[u8; N]> {
    let digits = digits(value)?;
    let stripped = digits.trim_start_matches('0');
    let bytes = decoded(&format!("{}{stripped}", if stripped.len() % 2 == 1 { "0" } else { "" }))?;
    let start = N.checked_sub(bytes.len()).ok_or(InputFault::Length { expected: N, found: bytes.len() })?;
    if digits.is_empty() {
        return Err(not_hex("0x"));
    }
    let mut out = [0; N];
    out[start..].copy_from_slice(&bytes);
    Ok(out)
}

pub(super) fn word(value: &Value) -> Read<Word> {
    number(value)
}

pub(super) fn small(value: &Value) -> Read<u64> {
    number(value).map(u64::from_be_bytes)
}

/// An address. If it has letters of both cases, they must be those of EIP-55.
pub(super) fn address(value: &Value) -> Read<Address> {
    let address = fixed(value)?;
    let given = digits(value)?;
    if !checksum_holds(given) {
        return Err(InputFault::Checksum(format!("0x{given}")));
    }
    Ok(address)
}

/// The value of a field, with the field's name as the place of a fault.
pub(super) fn field<'a, T>(
    object: &'a Map<String, Value>,
    name: &'static str,
    read: impl FnOnce(&'a Value) -> Read<T>,
) -> Result<T, InputError> {
    read(required(object, name)?).at(|| name.into())
}

/// [`field`] that may be missing or null.
pub(super) fn maybe<'a, T>(
    object: &'a Map<String, Value>,
    name: &'static str,
    read: impl FnOnce(&'a Value) -> Read<T>,
) -> Result<Option<T>, InputError> {
    optional(object, name).map(read).transpose().at(|| name.into())
}

/// The bytes in a list.
pub(super) fn all_bytes(values: &[Value], place: &str) -> Result<Vec<Vec<u8>>, InputError> {
    values.iter().enumerate().map(|(i, value)| bytes(value).at(|| format!("{place} {i}"))).collect()
}
