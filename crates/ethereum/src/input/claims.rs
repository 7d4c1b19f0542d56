//! Files of claims.

use evergrove_verifier::ethereum::{Account, Claim, Hex, Tag, Word};
use serde_json::{Value, json};

use super::header::has_blobs;
use super::json::{
    At, InputError, InputFault, Read, address, bytes, each, field, fixed, object, parse, printable, short, small, word,
};

/// Reads a list of claims: `{"address", "nonce", "balance", "storageHash", "codeHash"}`, `{"address", "absent": true}`, `{"address", "slot", "value"}`,
/// `{"trie", "index", "value"}` and `{"trie", "index", "absent": true}`, where `trie` is `transactions`, `receipts` or `withdrawals`.
///
/// # Errors
/// When the text is too large, is not JSON, or has another form. Two claims with one key are refused later, by
/// [`canonical_digest`](evergrove_verifier::ethereum::canonical_digest).
pub fn read_claims(text: &[u8]) -> Result<Vec<Claim>, InputError> {
    claims_of(&each(parse(text)?)?)
}

pub(super) fn claims_of(items: &[Value]) -> Result<Vec<Claim>, InputError> {
    let read = |(i, item): (usize, &Value)| claim(item).map_err(|e| e.inside(&format!("claim {i}")));
    items.iter().enumerate().map(read).collect()
}

/// A claim in the form that [`read_claims`] reads.
pub fn claim_value(claim: &Claim) -> Value {
    let hex = |bytes: &[u8]| Hex(bytes).to_string();
    match claim {
        Claim::Account { address, account } => json!({
            "address": hex(address),
            "nonce": format!("{:#x}", account.nonce),
            "balance": quantity(&account.balance),
            "storageHash": hex(&account.storage_root),
            "codeHash": hex(&account.code_hash),
        }),
        Claim::AbsentAccount { address } => json!({ "address": hex(address), "absent": true }),
        Claim::Slot { address, slot, value } => {
            json!({ "address": hex(address), "slot": quantity(slot), "value": quantity(value) })
        }
        Claim::Entry { trie, index, value } => json!({ "trie": trie.name(), "index": index, "value": hex(value) }),
        Claim::AbsentEntry { trie, index } => json!({ "trie": trie.name(), "index": index, "absent": true }),
    }
}

/// A number as clients write it: without leading zeros.
fn quantity(number: &Word) -> String {
    let digits = Hex(number).to_string();
    match digits[2..].trim_start_matches('0') {
        "" => "0x0".into(),
        digits => format!("0x{digits}"),
    }
}

fn claim(item: &Value) -> Result<Claim, InputError> {
    let item = object(item)?;
    let absent = match item.get("absent") {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(other) => Err(InputFault::Kind { expected: "true or false for `absent`", found: short(other) })?,
    };
    let expected = match (item.contains_key("trie"), item.contains_key("slot"), absent) {
        (true, _, false) => "trie, index, value",
        (true, _, true) => "trie, index, absent",
        (false, true, _) => "address, slot, value",
        (false, false, false) => "address, nonce, balance, storageHash, codeHash",
        (false, false, true) => "address, absent",
    };
    let belongs = |name: &str| expected.split(", ").any(|field| field == name) || (name == "absent" && !absent);
    if let Some(field) = item.keys().find(|name| !belongs(name)) {
        Err(InputFault::Stray { field: printable(field), expected })?;
    }
    if item.contains_key("trie") {
        let (trie, index) = (field(item, "trie", trie)?, field(item, "index", index)?);
        return Ok(if absent {
            Claim::AbsentEntry { trie, index }
        } else {
            let value = field(item, "value", bytes)?;
            // For other bytes, the trie decides whether they are a transaction.
            if trie == Tag::Transactions && has_blobs(&value) == Ok(true) {
                Err(InputFault::Blobs).at(|| "value".into())?;
            }
            Claim::Entry { trie, index, value }
        });
    }
    let address = field(item, "address", address)?;
    if item.contains_key("slot") {
        return Ok(Claim::Slot { address, slot: field(item, "slot", word)?, value: field(item, "value", word)? });
    }
    if absent {
        return Ok(Claim::AbsentAccount { address });
    }
    let account = Account {
        nonce: field(item, "nonce", small)?,
        balance: field(item, "balance", word)?,
        storage_root: field(item, "storageHash", fixed)?,
        code_hash: field(item, "codeHash", fixed)?,
    };
    Ok(Claim::Account { address, account })
}

fn trie(value: &Value) -> Read<Tag> {
    let tag = Tag::ALL.into_iter().skip(1).find(|tag| value.as_str() == Some(tag.name()));
    tag.ok_or_else(|| InputFault::Kind {
        expected: "\"transactions\", \"receipts\" or \"withdrawals\"",
        found: short(value),
    })
}

fn index(value: &Value) -> Read<u64> {
    value.as_u64().map_or_else(|| small(value), Ok)
}
