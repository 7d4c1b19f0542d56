//! Changes of a block: a list, or what `prestateTracer` answers with `diffMode`.

use std::collections::BTreeSet;

use evergrove_primitives::hash::keccak::keccak_256;
use serde_json::{Map, Value};

use super::json::{
    At, InputError, InputFault, Read, address, bytes, each, field, fixed, list, maybe, object, parse, small, unwrapped,
    word,
};
use crate::{Change, Post};

/// Reads changes in one of these forms:
///
/// - `[{"address", "post": {"nonce", "balance", "codeHash"} | null, "slots": [{"slot", "post"}]}]`, where `post` may be left out if no field changes;
/// - `{"pre", "post"}` of `debug_traceTransaction` with the tracer `prestateTracer` and `diffMode`;
/// - the list of these of `debug_traceBlockByNumber`, in the order of the transactions. It lacks withdrawals and system calls: add them in a list of
///   the first form.
///
/// # Errors
/// When the text is too large, is no JSON or is of none of these forms.
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
                (None, None) => Err(InputFault::Field("address"))?,
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
    let slots = maybe(item, "slots", |v| list(v).map(<[Value]>::to_vec))?.unwrap_or_default();
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
    let (pre, post) = (field(item, "pre", |v| object(v).cloned())?, field(item, "post", |v| object(v).cloned())?);
    let addresses: BTreeSet<&String> = pre.keys().chain(post.keys()).collect();
    for name in addresses {
        let read = || {
            let address = address(&Value::String(name.clone()))?;
            let Some(after) = post.get(name) else {
                return Ok(Change { address, post: Post::Removed, slots: Vec::new() });
            };
            let after = object(after)?;
            let mut slots = Vec::new();
            let storage = |account: Option<&Value>| {
                let storage = account.and_then(|a| a.get("storage")).map(object).transpose();
                Ok::<_, InputError>(storage.at(|| "storage".into())?.cloned().unwrap_or_default())
            };
            let (before, now) = (storage(pre.get(name))?, storage(post.get(name))?);
            for slot in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
                // A slot that is not listed after the transaction is gone.
                let value = now.get(slot).map(word).transpose().at(|| slot.clone())?;
                slots.push((word(&Value::String(slot.clone()))?, value.unwrap_or_default()));
            }
            Ok(Change { address, post: fields(after)?, slots })
        };
        changes.push(read().map_err(|e: InputError| e.inside(name))?);
    }
    Ok(())
}
