//! Headers of blocks, and transactions as their trie has them.

use evergrove_verifier::ethereum::rlp::{self, Item, Reader, RlpError};
use evergrove_verifier::ethereum::{Hash, Header, HeaderError};
use serde_json::Value;

use super::json::{At, InputError, InputFault, bytes, field, fixed, maybe, parse, printable, word};

/// Fields of a header in the order of their encoding; those of later forks are last.
const FIELDS: [(&str, Form); 22] = [
    ("parentHash", Form::Bytes),
    ("sha3Uncles", Form::Bytes),
    ("miner", Form::Bytes),
    ("stateRoot", Form::Bytes),
    ("transactionsRoot", Form::Bytes),
    ("receiptsRoot", Form::Bytes),
    ("logsBloom", Form::Bytes),
    ("difficulty", Form::Number),
    ("number", Form::Number),
    ("gasLimit", Form::Number),
    ("gasUsed", Form::Number),
    ("timestamp", Form::Number),
    ("extraData", Form::Bytes),
    ("mixHash", Form::Bytes),
    ("nonce", Form::Bytes),
    ("baseFeePerGas", Form::Number),
    ("withdrawalsRoot", Form::Bytes),
    ("blobGasUsed", Form::Number),
    ("excessBlobGas", Form::Number),
    ("parentBeaconBlockRoot", Form::Bytes),
    ("requestsHash", Form::Bytes),
    ("blockAccessListHash", Form::Bytes),
];
/// Fields that all headers have.
const OLD: usize = 15;
/// Fields of a block that are not in its header.
const BODY: [&str; 6] = ["hash", "size", "totalDifficulty", "transactions", "uncles", "withdrawals"];
/// Longest text of a header in hexadecimal digits.
const DIGITS_MAX: usize = 16 << 10;

#[derive(Clone, Copy)]
enum Form {
    Bytes,
    Number,
}

/// Reads a header: its RLP in hexadecimal digits, with or without quotes, or the block that `eth_getBlockByHash`
/// answers. The hash is always computed. If the block or `expected` names a hash, it must agree.
///
/// # Errors
/// When the text is not a header, or is the header of another block; when a block has unknown fields, and so another
/// hash.
pub fn read_header(text: &[u8], expected: Option<&Hash>) -> Result<Header, InputError> {
    let trimmed = text.trim_ascii();
    let value = if trimmed.starts_with(b"0x") {
        if trimmed.len() > DIGITS_MAX {
            Err(InputFault::HeaderText { found: trimmed.len(), most: DIGITS_MAX })?;
        }
        Value::String(String::from_utf8_lossy(trimmed).into_owned())
    } else {
        parse(text)?
    };
    let header = header_of(&value)?;
    Ok(expected.map_or(Ok(()), |expected| has_hash(&value, &header, expected)).map(|()| header)?)
}

pub(super) fn header_of(value: &Value) -> Result<Header, InputError> {
    let Value::Object(block) = value else { return Ok(Header::parse(&bytes(value)?).map_err(InputFault::from)?) };
    let last = FIELDS.iter().rposition(|(name, _)| block.get(*name).is_some_and(|v| !v.is_null()));
    let mut items = Vec::with_capacity(700);
    for (name, form) in &FIELDS[..=last.unwrap_or(0).max(OLD - 1)] {
        match form {
            Form::Bytes => rlp::write_string(&mut items, &field(block, name, bytes)?),
            Form::Number => rlp::write_string(&mut items, rlp::trimmed(&field(block, name, word)?)),
        }
    }
    let header = Header::parse(&rlp::list(&items)).map_err(InputFault::from)?;
    if let Some(hash) = maybe(block, "hash", fixed)? {
        has_hash(value, &header, &hash)?;
    }
    Ok(header)
}

/// Whether a header that was read from a value has this hash. Clients list fields that no header has, so an unknown
/// field is reported only if the hash differs.
fn has_hash(value: &Value, header: &Header, expected: &Hash) -> Result<(), InputFault> {
    if header.hash == *expected {
        return Ok(());
    }
    let (expected, found) = (*expected, header.hash);
    let known = |name: &str| BODY.contains(&name) || FIELDS.iter().any(|(field, _)| *field == name);
    let unknown = value.as_object().and_then(|block| block.keys().filter(|name| !known(name)).min());
    Err(match unknown {
        Some(field) => InputFault::HeaderField { field: printable(field), expected, found },
        None => HeaderError::Hash { expected, found }.into(),
    })
}

/// Checks that the bytes of a transaction are those of its trie: a list, or a type byte and a list. Blob transactions
/// travel with their blobs, but the trie has them without blobs.
///
/// # Errors
/// When they are not those bytes.
pub fn check_transaction(transaction: &[u8]) -> Result<(), InputError> {
    let read = || if has_blobs(transaction)? { Err(InputFault::Blobs) } else { Ok(()) };
    read().at(|| "transaction".into())
}

/// Whether a transaction has its form in transit: typed, with a list as its first field, which is the transaction
/// itself.
pub(super) fn has_blobs(transaction: &[u8]) -> Result<bool, RlpError> {
    let typed = transaction.first().is_some_and(|b| *b < 0x80);
    let mut outer = Reader::new(if typed { &transaction[1..] } else { transaction });
    let mut fields = outer.list()?;
    outer.end()?;
    Ok(matches!(fields.item()?, Item::List(_)) && typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_transactions_with_blobs_are_refused() {
        assert_eq!(check_transaction(&[0x03, 0xc1, 0x01]), Ok(()));
        assert_eq!(check_transaction(&[0xc1, 0x01]), Ok(()));
        let error = check_transaction(&[0x03, 0xc2, 0xc1, 0x01]).expect_err("a list first");
        assert!(error.to_string().starts_with("transaction: a blob transaction with its blobs"), "{error}");
        let error = check_transaction(&[0x03]).expect_err("no list").to_string();
        assert_eq!(error, "transaction: invalid RLP at byte 0: the item is truncated");
        assert!(check_transaction(&[]).is_err() && check_transaction(&[0xc0, 0]).is_err());
    }
}
