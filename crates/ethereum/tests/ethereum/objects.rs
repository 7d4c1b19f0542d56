//! Transactions and receipts as JSON objects: the data of `eth_getBlockByHash` and `eth_getBlockReceipts` about the
//! bytes in a block's tries.

use evergrove_ethereum::input::{check_entries, read_entries};
use evergrove_verifier::ethereum::rlp::{Item, Reader};
use evergrove_verifier::ethereum::{Hash, Header, Hex, Tag};
use serde_json::{Value, json};

use crate::answers::answer;
use crate::common::{all, bytes, file, text};

/// A number as clients write it.
fn quantity(digits: &[u8]) -> Value {
    let digits = Hex(digits).to_string();
    let trimmed = digits[2..].trim_start_matches('0');
    format!("0x{}", if trimmed.is_empty() { "0" } else { trimmed }).into()
}

fn string<'a>(fields: &mut Reader<'a>) -> &'a [u8] {
    fields.string(0, usize::MAX).expect("a string")
}

fn hex(bytes: &[u8]) -> Value {
    Hex(bytes).to_string().into()
}

/// The results of `read` for each item of a list.
fn each(fields: &mut Reader<'_>, read: impl Fn(Item<'_>) -> Value) -> Value {
    let mut list = fields.list().expect("a list");
    let mut values = Vec::new();
    while !list.is_empty() {
        values.push(read(list.item().expect("an item")));
    }
    values.into()
}

fn of_list<'a>(item: Item<'a>) -> Reader<'a> {
    let Item::List(list) = item else { panic!("a list") };
    list
}

fn hashes(fields: &mut Reader<'_>) -> Value {
    each(fields, |item| match item {
        Item::String(hash) => hex(hash),
        Item::List(_) => panic!("a string"),
    })
}

/// The type of a transaction or receipt, and its fields.
fn fields(raw: &[u8]) -> (u8, Reader<'_>) {
    let kind = if raw[0] < 0x80 { raw[0] } else { 0 };
    (kind, Reader::new(&raw[usize::from(kind > 0)..]).list().expect("a list"))
}

/// A transaction in the form of a client.
fn transaction(raw: &[u8]) -> Value {
    let (kind, mut fields) = fields(raw);
    let fields = &mut fields;
    let mut object = json!({ "type": format!("{kind:#x}"), "hash": hex(&[7; 32]), "blockNumber": "0x1" });
    let fees: &[&str] = if kind < 2 { &["gasPrice"] } else { &["maxPriorityFeePerGas", "maxFeePerGas"] };
    let chain: &[&str] = if kind == 0 { &[] } else { &["chainId"] };
    for name in [chain, &["nonce"], fees, &["gas"]].concat() {
        object[name] = quantity(string(fields));
    }
    let to = string(fields);
    object["to"] = if to.is_empty() { Value::Null } else { hex(to) };
    object["value"] = quantity(string(fields));
    object["input"] = hex(string(fields));
    if kind > 0 {
        object["accessList"] = each(fields, |entry| {
            let mut entry = of_list(entry);
            json!({ "address": hex(string(&mut entry)), "storageKeys": hashes(&mut entry) })
        });
    }
    match kind {
        3 => {
            object["maxFeePerBlobGas"] = quantity(string(fields));
            object["blobVersionedHashes"] = hashes(fields);
        }
        4 => {
            object["authorizationList"] = each(fields, |entry| {
                let mut entry = of_list(entry);
                let mut object = json!({ "chainId": quantity(string(&mut entry)), "address": hex(string(&mut entry)) });
                for name in ["nonce", "yParity", "r", "s"] {
                    object[name] = quantity(string(&mut entry));
                }
                object
            });
        }
        _ => {}
    }
    object["v"] = quantity(string(fields));
    if kind > 0 {
        object["yParity"] = object["v"].clone();
    }
    object["r"] = quantity(string(fields));
    object["s"] = quantity(string(fields));
    fields.end().expect("no more");
    object
}

/// A receipt in the form of a client.
fn receipt(raw: &[u8]) -> Value {
    let (kind, mut fields) = fields(raw);
    let outcome = string(&mut fields);
    let mut object = json!({ "type": format!("{kind:#x}"), "gasUsed": "0x5208", "transactionHash": hex(&[7; 32]) });
    match outcome.len() {
        32 => object["root"] = hex(outcome),
        _ => object["status"] = quantity(outcome),
    }
    object["cumulativeGasUsed"] = quantity(string(&mut fields));
    object["logsBloom"] = hex(string(&mut fields));
    object["logs"] = each(&mut fields, |log| {
        let mut log = of_list(log);
        json!({
            "address": hex(string(&mut log)), "topics": hashes(&mut log), "data": hex(string(&mut log)),
            "logIndex": "0x0", "removed": false,
        })
    });
    fields.end().expect("no more");
    object
}

/// Objects of values are read like the values, with their root. Returns their number.
fn are_read(tag: Tag, values: &[Vec<u8>], root: Option<Hash>) -> usize {
    let object = |raw: &Vec<u8>| if tag == Tag::Receipts { receipt(raw) } else { transaction(raw) };
    let objects: Vec<Value> = values.iter().map(object).collect();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "result": objects });
    assert_eq!(read_entries(tag, &text(&list)).as_deref(), Ok(values));
    if tag == Tag::Transactions {
        let block = json!({ "number": "0x1", "transactions": objects });
        assert_eq!(read_entries(tag, &text(&block)).as_deref(), Ok(values));
    }
    if let Some(root) = root {
        check_entries(tag, &root, values.to_vec()).expect("those of the block");
    }
    values.len()
}

#[test]
fn objects_of_every_type_are_read() {
    let raw = answer("raw-transactions.json");
    let raw: Vec<Vec<u8>> = raw.as_array().expect("a batch").iter().map(|answer| bytes(&answer["result"])).collect();
    assert_eq!(are_read(Tag::Transactions, &raw, None), 5);
    assert_eq!(are_read(Tag::Receipts, &all(&answer("raw-receipts.json")["result"]), None), 6);
}

#[test]
fn objects_of_blocks_lead_to_their_roots() {
    let root = |block: &Value, tag| {
        *Header::parse(&bytes(&block["header"])).expect("a header").roots.get(tag).expect("a root")
    };
    let Some(block) = file("mainnet-17463226.json") else { return };
    let tag = Tag::Transactions;
    assert_eq!(are_read(tag, &all(&block["transactions"]), Some(root(&block, tag))), 217);
    let headers = file("mainnet-24476000-headers.json").expect("beside it");
    let last = root(&headers["headers"][4], tag);
    assert_eq!(are_read(tag, &all(&headers["last"]["transactions"]), Some(last)), 109);
    let path = std::path::PathBuf::from(std::env::var_os("EVERGROVE_TESTDATA").expect("read from there"));
    let block = std::fs::read(path.join("ethereum-state/mainnet-21925176.json")).expect("beside it");
    let block: Value = serde_json::from_slice(&block).expect("JSON");
    let tag = Tag::Receipts;
    assert_eq!(are_read(tag, &all(&block["receipts"]), Some(root(&block, tag))), 202);
}

/// Equivalent forms of clients, and refused ones.
#[test]
fn other_objects_are_told() {
    let raw = answer("raw-transactions.json");
    let raw: Vec<Vec<u8>> = raw.as_array().expect("a batch").iter().map(|answer| bytes(&answer["result"])).collect();
    let read = |tag, value: &Value| read_entries(tag, &text(&json!([value]))).map_err(|e| e.to_string());
    let mut object = transaction(&raw[2]);
    // `v` alone, and a type with a leading zero.
    object.as_object_mut().expect("an object").remove("yParity");
    object["type"] = "0x02".into();
    assert_eq!(read(Tag::Transactions, &object), Ok(vec![raw[2].clone()]));
    let mut legacy = transaction(&raw[0]);
    legacy.as_object_mut().expect("an object").remove("type");
    assert_eq!(read(Tag::Transactions, &legacy), Ok(vec![raw[0].clone()]));

    let transactions = |value: &Value| read(Tag::Transactions, value).unwrap_err();
    object["accessList"] = json!([{ "address": "0x11", "storageKeys": [] }]);
    assert_eq!(transactions(&object), "transactions 0: accessList 0: address: expected 20 bytes, got 1");
    object.as_object_mut().expect("an object").remove("maxFeePerGas");
    assert_eq!(transactions(&object), "transactions 0: missing field `maxFeePerGas`");
    object["type"] = "0x5".into();
    let unknown = "type 5 is not known to this version: give answers of debug_getRawTransaction";
    assert_eq!(transactions(&object), format!("transactions 0: {unknown}"));
    let block = json!({ "transactions": [hex(&[7; 32])] });
    let error = read_entries(Tag::Transactions, &text(&block)).unwrap_err().to_string();
    assert!(error.starts_with("transactions 0: hashes of transactions: ask for the block with whole"), "{error}");
    let receipts = all(&answer("raw-receipts.json")["result"]);
    let mut object = receipt(&receipts[1]);
    object["type"] = "0x7e".into();
    let error = read(Tag::Receipts, &object).unwrap_err();
    assert_eq!(error, "receipts 0: type 126 is not known to this version: give an answer of debug_getRawReceipts");
    object["type"] = "0x0".into();
    object["logsBloom"] = "0x00".into();
    assert_eq!(read(Tag::Receipts, &object).unwrap_err(), "receipts 0: logsBloom: expected 256 bytes, got 1");
}
