//! Files, bytes and small tries.

use std::path::{Path, PathBuf};

use evergrove_verifier::ethereum::{Claim, Hash, Roots, Tag};
use serde_json::Value;

/// A file of real data: from the repository, otherwise from the folder that `EVERGROVE_TESTDATA` names, if that is set.
pub(crate) fn file(name: &str) -> Option<Value> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/ethereum").join(name);
    let path = if ours.exists() {
        ours
    } else {
        let Some(dir) = std::env::var_os("EVERGROVE_TESTDATA") else {
            evergrove_testkit::not_tested("TEST", "EVERGROVE_TESTDATA is not set");
            return None;
        };
        PathBuf::from(dir).join("ethereum-state").join(name)
    };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(serde_json::from_str(&text).expect("JSON"))
}

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    let digits = value.as_str().and_then(|t| t.strip_prefix("0x")).expect("0x and digits");
    digits
        .as_bytes()
        .chunks(2)
        .map(|d| u8::from_str_radix(str::from_utf8(d).expect("ASCII"), 16).expect("digits"))
        .collect()
}

pub(crate) fn all(values: &Value) -> Vec<Vec<u8>> {
    values.as_array().expect("a list").iter().map(bytes).collect()
}

pub(crate) fn hash(value: &Value) -> Hash {
    bytes(value).try_into().expect("32 bytes")
}

/// A number of at most 32 bytes.
pub(crate) fn word(value: &Value) -> [u8; 32] {
    let digits = &value.as_str().expect("a string")[2..];
    hash(&format!("0x{digits:0>64}").into())
}

pub(crate) fn state_root(root: Hash) -> Roots {
    Roots::new(vec![(Tag::State, root)]).expect("one root")
}

pub(crate) fn text(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("JSON")
}

/// The claims about an account of a file of changes and its slots, on one side of the block.
pub(crate) fn claims_of(account: &Value, side: &str) -> Vec<Claim> {
    use evergrove_verifier::ethereum::Account;
    let address = bytes(&account["address"]).try_into().expect("20 bytes");
    let mut claims = vec![match &account[side] {
        Value::Null => Claim::AbsentAccount { address },
        fields => Claim::Account {
            address,
            account: Account {
                nonce: u64::from_be_bytes(word(&fields["nonce"])[24..].try_into().expect("8 bytes")),
                balance: word(&fields["balance"]),
                storage_root: hash(&fields["storageHash"]),
                code_hash: hash(&fields["codeHash"]),
            },
        },
    }];
    let slots = account["slots"].as_array().map_or(&[][..], Vec::as_slice);
    claims.extend(slots.iter().map(|s| Claim::Slot { address, slot: word(&s["slot"]), value: word(&s[side]) }));
    claims
}
