//! All transactions, receipts or withdrawals of a block.

use evergrove_verifier::ethereum::{Claim, Hash, Tag, rlp};
use serde_json::Value;

use super::header::check_transaction;
use super::json::{At, InputError, InputFault, bytes, each, field, list, object, parse, small};
use super::objects::{receipt, transaction};
use crate::Trie;

/// Bytes of a hash: every transaction is longer.
const HASH: usize = 32;

/// The values of a trie by their index, which lead to its root.
#[derive(Clone, Debug)]
pub struct CheckedEntries {
    /// The values of the trie at each index.
    pub claims: Vec<Claim>,
    /// All nodes of the trie, possibly with duplicates.
    pub nodes: Vec<Vec<u8>>,
}

/// Reads the values of a block's trie in the order of their indices: a list of hexadecimal texts, as
/// `debug_getRawReceipts` answers, or a list of answers with one text each, as `debug_getRawTransaction` gives them.
/// Receipts may also be the objects that `eth_getBlockReceipts` answers. Transactions and withdrawals may be those of
/// the block that `eth_getBlockByHash` answers, with whole transactions.
///
/// # Errors
/// When the text is too large, is not JSON, or has another form.
pub fn read_entries(tag: Tag, text: &[u8]) -> Result<Vec<Vec<u8>>, InputError> {
    let mut values = each(parse(text)?)?;
    if let ([Value::Object(block)], Tag::Withdrawals | Tag::Transactions) = (&values[..], tag)
        && block.contains_key(tag.name())
    {
        values = field(block, tag.name(), list)?.to_vec();
    }
    let read = |(i, value): (usize, &Value)| entry(tag, value).map_err(|e| e.inside(&format!("{tag} {i}")));
    values.iter().enumerate().map(read).collect()
}

fn entry(tag: Tag, value: &Value) -> Result<Vec<u8>, InputError> {
    if tag == Tag::Withdrawals && value.is_object() {
        let withdrawal = object(value)?;
        let mut fields = Vec::new();
        for name in ["index", "validatorIndex"] {
            rlp::write_string(&mut fields, rlp::trimmed(&field(withdrawal, name, small)?.to_be_bytes()));
        }
        rlp::write_string(&mut fields, &field(withdrawal, "address", super::json::address)?);
        rlp::write_string(&mut fields, rlp::trimmed(&field(withdrawal, "amount", small)?.to_be_bytes()));
        return Ok(rlp::list(&fields));
    }
    match (tag, value) {
        (Tag::Receipts, Value::Object(_)) => receipt(value),
        (Tag::Transactions, Value::Object(_)) => transaction(value),
        (Tag::Transactions, _) => {
            let bytes = bytes(value)?;
            if bytes.len() == HASH {
                Err(InputFault::Hashes)?;
            }
            check_transaction(&bytes)?;
            Ok(bytes)
        }
        _ => Ok(bytes(value)?),
    }
}

/// Checks that values are all values of a trie.
///
/// # Errors
/// When they lead to another root, or a value is empty or too long for a trie.
pub fn check_entries(tag: Tag, root: &Hash, values: Vec<Vec<u8>>) -> Result<CheckedEntries, InputError> {
    let place = || tag.to_string();
    let mut trie = Trie::indexed(&values).map_err(InputFault::from).at(place)?;
    let found = trie.root();
    if found != *root {
        Err(InputFault::Entries { expected: *root, found }).at(place)?;
    }
    let mut nodes = Vec::new();
    for index in 0..values.len() as u64 {
        let proof = trie.proof(&rlp::integer(index)).map_err(InputFault::from).at(place)?;
        nodes.extend(proof.into_iter().map(<[u8]>::to_vec));
    }
    let claims = (0..).zip(values).map(|(index, value)| Claim::Entry { trie: tag, index, value }).collect();
    Ok(CheckedEntries { claims, nodes })
}
