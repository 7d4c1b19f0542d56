//! Transactions and receipts in the JSON objects of clients, encoded as in their tries.
//!
//! A field that is omitted or misread leads to another root, so an unknown field is always noticed.

use evergrove_verifier::ethereum::rlp;
use serde_json::{Map, Value};

use super::json::{InputError, InputFault, address, bytes, field, fixed, list, maybe, object, small, word};

type Object = Map<String, Value>;
type Encoded = Result<(), InputError>;

/// How a field of a transaction is encoded.
#[derive(Clone, Copy)]
enum Form {
    Number,
    Bytes,
    /// An address, or no bytes if a contract is created.
    To,
    AccessList,
    Hashes,
    Authorizations,
    /// The parity of a signature, which some clients call `v`.
    Parity,
}

use Form::{AccessList, Authorizations, Bytes, Hashes, Number, Parity, To};

/// The fields of a transaction without a type.
const LEGACY: &[(&str, Form)] = &[
    ("nonce", Number),
    ("gasPrice", Number),
    ("gas", Number),
    ("to", To),
    ("value", Number),
    ("input", Bytes),
    ("v", Number),
    ("r", Number),
    ("s", Number),
];
/// The first fields of type 1: EIP-2930.
const WITH_ACCESS_LIST: &[(&str, Form)] = &[
    ("chainId", Number),
    ("nonce", Number),
    ("gasPrice", Number),
    ("gas", Number),
    ("to", To),
    ("value", Number),
    ("input", Bytes),
    ("accessList", AccessList),
];
/// The first fields of types 2 to 4: EIP-1559.
const WITH_FEES: &[(&str, Form)] = &[
    ("chainId", Number),
    ("nonce", Number),
    ("maxPriorityFeePerGas", Number),
    ("maxFeePerGas", Number),
    ("gas", Number),
    ("to", To),
    ("value", Number),
    ("input", Bytes),
    ("accessList", AccessList),
];
/// The next fields of type 3: EIP-4844.
const BLOBS: &[(&str, Form)] = &[("maxFeePerBlobGas", Number), ("blobVersionedHashes", Hashes)];
/// The next field of type 4: EIP-7702.
const CODES: &[(&str, Form)] = &[("authorizationList", Authorizations)];
/// The last fields of types 1 to 4.
const SIGNATURE: &[(&str, Form)] = &[("yParity", Parity), ("r", Number), ("s", Number)];

/// The bytes of a transaction.
pub(super) fn transaction(value: &Value) -> Result<Vec<u8>, InputError> {
    let transaction = object(value)?;
    let kind = maybe(transaction, "type", small)?.unwrap_or(0);
    let parts: &[&[(&str, Form)]] = match kind {
        0 => &[LEGACY],
        1 => &[WITH_ACCESS_LIST, SIGNATURE],
        2 => &[WITH_FEES, SIGNATURE],
        3 => &[WITH_FEES, BLOBS, SIGNATURE],
        4 => &[WITH_FEES, CODES, SIGNATURE],
        kind => Err(InputFault::Type { kind, remedy: "answers of debug_getRawTransaction" })?,
    };
    let mut fields = Vec::new();
    for &(name, form) in parts.iter().copied().flatten() {
        encode(&mut fields, transaction, name, form)?;
    }
    Ok(typed(kind, &fields))
}

/// The bytes of a receipt.
pub(super) fn receipt(value: &Value) -> Result<Vec<u8>, InputError> {
    let receipt = object(value)?;
    let kind = maybe(receipt, "type", small)?.unwrap_or(0);
    if kind > 4 {
        Err(InputFault::Type { kind, remedy: "an answer of debug_getRawReceipts" })?;
    }
    let mut fields = Vec::new();
    // Before Byzantium a receipt has a state root.
    match maybe(receipt, "root", fixed::<32>)? {
        Some(root) => rlp::write_string(&mut fields, &root),
        None => number(&mut fields, receipt, "status")?,
    }
    number(&mut fields, receipt, "cumulativeGasUsed")?;
    rlp::write_string(&mut fields, &field(receipt, "logsBloom", fixed::<256>)?);
    let logs = each_of(receipt, "logs", |out, log| {
        let log = object(log)?;
        let mut fields = Vec::new();
        rlp::write_string(&mut fields, &field(log, "address", address)?);
        fields.extend(rlp::list(&each_of(log, "topics", hash)?));
        rlp::write_string(&mut fields, &field(log, "data", bytes)?);
        out.extend(rlp::list(&fields));
        Ok(())
    })?;
    fields.extend(rlp::list(&logs));
    Ok(typed(kind, &fields))
}

/// A list of fields, after its type if it has one.
fn typed(kind: u64, fields: &[u8]) -> Vec<u8> {
    let mut bytes = if kind == 0 { Vec::new() } else { vec![kind as u8] };
    bytes.extend(rlp::list(fields));
    bytes
}

fn encode(out: &mut Vec<u8>, of: &Object, name: &'static str, form: Form) -> Encoded {
    match form {
        Number => number(out, of, name)?,
        Bytes => rlp::write_string(out, &field(of, name, bytes)?),
        To => rlp::write_string(out, &maybe(of, name, address)?.map_or_else(Vec::new, Vec::from)),
        Parity => match maybe(of, name, word)? {
            Some(parity) => rlp::write_string(out, rlp::trimmed(&parity)),
            None => number(out, of, "v")?,
        },
        Hashes => out.extend(rlp::list(&each_of(of, name, hash)?)),
        AccessList => out.extend(rlp::list(&each_of(of, name, |out, entry| {
            let entry = object(entry)?;
            let mut fields = Vec::new();
            rlp::write_string(&mut fields, &field(entry, "address", address)?);
            fields.extend(rlp::list(&each_of(entry, "storageKeys", hash)?));
            out.extend(rlp::list(&fields));
            Ok(())
        })?)),
        Authorizations => out.extend(rlp::list(&each_of(of, name, |out, entry| {
            let entry = object(entry)?;
            let mut fields = Vec::new();
            number(&mut fields, entry, "chainId")?;
            rlp::write_string(&mut fields, &field(entry, "address", address)?);
            for (name, form) in [("nonce", Number)].iter().chain(SIGNATURE) {
                encode(&mut fields, entry, name, *form)?;
            }
            out.extend(rlp::list(&fields));
            Ok(())
        })?)),
    }
    Ok(())
}

fn number(out: &mut Vec<u8>, of: &Object, name: &'static str) -> Encoded {
    rlp::write_string(out, rlp::trimmed(&field(of, name, word)?));
    Ok(())
}

fn hash(out: &mut Vec<u8>, value: &Value) -> Encoded {
    rlp::write_string(out, &fixed::<32>(value)?);
    Ok(())
}

/// The encodings of the members of a list, one after the other.
fn each_of(
    of: &Object,
    name: &'static str,
    encode: impl Fn(&mut Vec<u8>, &Value) -> Encoded,
) -> Result<Vec<u8>, InputError> {
    let mut out = Vec::new();
    for (i, member) in field(of, name, list)?.iter().enumerate() {
        encode(&mut out, member).map_err(|e| e.inside(&format!("{name} {i}")))?;
    }
    Ok(out)
}
