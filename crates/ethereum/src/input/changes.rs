//! Changes of a block: a list, or the answer of `prestateTracer` with `diffMode`.

use std::collections::{BTreeMap, BTreeSet};

use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{EMPTY_CODE, Hex, Word};
use serde_json::{Map, Value};

use super::json::{
    At, InputError, InputFault, Read, address, bytes, client_error, each, field, fixed, list, maybe, object, parse,
    printable, small, unwrapped, word,
};
use crate::{Change, Post};

/// Reads changes in one of these forms:
///
/// - `[{"address", "post": {"nonce", "balance", "codeHash"} | null, "slots": [{"slot", "post"}]}]`, where `post` may be
///   omitted if no field changes;
/// - `{"pre", "post"}` of `debug_traceTransaction` with the tracer `prestateTracer` and `diffMode`;
/// - the list of these of `debug_traceBlockByNumber`, in the order of the transactions. It lacks withdrawals and system calls: add them in a list of
///   the first form.
///
/// # Errors
/// When the text is too large, is not JSON, or does not have one of these forms.
pub fn read_changes(text: &[u8]) -> Result<Vec<Change>, InputError> {
    let mut changes = Vec::new();
    for (i, item) in each(parse(text)?)?.into_iter().enumerate() {
        let read = || {
            let mut item = item;
            if let Some(result) = item.as_object_mut().and_then(|o| o.remove("result")) {
                item = unwrapped(result)?;
            }
            let item = object(&item)?;
            match (item.get("address"), item.get("pre")) {
                (Some(_), _) => changes.push(listed(item)?),
                (None, Some(_)) => traced(item, &mut changes)?,
                (None, None) => Err(match item.get("error") {
                    Some(error) => client_error(error),
                    None => InputFault::Field("address"),
                })?,
            }
            Ok::<_, InputError>(())
        };
        read().map_err(|e| e.inside(&format!("change {i}")))?;
    }
    Ok(changes)
}

fn listed(item: &Map<String, Value>) -> Result<Change, InputError> {
    let post = match item.get("post") {
        Some(Value::Null) => Post::Removed,
        Some(post) => fields(object(post)?).map_err(|e| e.inside("post"))?,
        None => fields(&Map::new())?,
    };
    let slots = maybe(item, "slots", list)?.unwrap_or_default();
    let slot = |(i, slot): (usize, &Value)| {
        let read = || {
            let slot = object(slot)?;
            Ok((field(slot, "slot", word)?, field(slot, "post", word)?))
        };
        read().map_err(|e: InputError| e.inside(&format!("slots {i}")))
    };
    let slots = slots.iter().enumerate().map(slot).collect::<Result<_, _>>()?;
    Ok(Change { address: field(item, "address", address)?, post, slots })
}

fn fields(post: &Map<String, Value>) -> Result<Post, InputError> {
    let code = maybe(post, "code", bytes)?.map(|code| keccak_256(&code));
    let code_hash = maybe(post, "codeHash", fixed)?.or(code);
    Ok(Post::Fields { nonce: maybe(post, "nonce", nonce)?, balance: maybe(post, "balance", word)?, code_hash })
}

/// Tracers write nonces as numbers.
fn nonce(value: &Value) -> Read<u64> {
    value.as_u64().map_or_else(|| small(value), Ok)
}

fn traced(item: &Map<String, Value>, changes: &mut Vec<Change>) -> Result<(), InputError> {
    let by_address = |name| -> Result<_, InputError> {
        by_key(field(item, name, object)?, address).map_err(|e: InputError| e.inside(name))
    };
    let (pre, post) = (by_address("pre")?, by_address("post")?);
    for &address in pre.keys().chain(post.keys()).collect::<BTreeSet<_>>() {
        let read = || {
            let Some(after) = post.get(&address) else {
                return Ok(Change { address, post: Post::Removed, slots: Vec::new() });
            };
            let (before, now) = (storage(pre.get(&address).copied())?, storage(Some(after))?);
            let mut slots = Vec::new();
            for &slot in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
                // A slot that is not listed after the transaction has been removed.
                let value = now.get(&slot).map(|v| word(v)).transpose().at(|| Hex(&slot).to_string())?;
                slots.push((slot, value.unwrap_or_default()));
            }
            let mut post = fields(object(after)?)?;
            // Some clients represent missing code like that.
            if let Post::Fields { code_hash: Some(hash), .. } = &mut post
                && *hash == [0; 32]
            {
                *hash = EMPTY_CODE;
            }
            Ok(Change { address, post, slots })
        };
        changes.push(read().map_err(|e: InputError| e.inside(&Hex(&address).to_string()))?);
    }
    Ok(())
}

/// The slots of an account in a trace.
fn storage(account: Option<&Value>) -> Result<BTreeMap<Word, &Value>, InputError> {
    let storage = account.and_then(|a| a.get("storage")).map(object).transpose().at(|| "storage".into())?;
    storage.map_or_else(|| Ok(BTreeMap::new()), |storage| by_key(storage, word))
}

/// The fields of an object, by the meaning of their names.
fn by_key<K: Ord>(
    fields: &Map<String, Value>,
    read: impl Fn(&Value) -> Read<K>,
) -> Result<BTreeMap<K, &Value>, InputError> {
    let mut out = BTreeMap::new();
    for (name, value) in fields {
        let key = read(&Value::String(name.clone())).at(|| printable(name))?;
        if out.insert(key, value).is_some() {
            Err(InputFault::Twice(printable(name)))?;
        }
    }
    Ok(out)
}
