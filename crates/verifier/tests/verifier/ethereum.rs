//! Claims about Ethereum's state compared with vectors/ethereum.json, the refusals of claims and headers, and the
//! printed reports.

use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::rlp::RlpFault;
use evergrove_verifier::ethereum::{
    Account, Anchor, Arity, CLAIMS_MAX, Claim, ClaimsError, EMPTY_CODE, EMPTY_ROOT, Header, HeaderError, Roots, Shown,
    SlotRule, Step, Tag, VALUE_MAX, canonical_digest, canonical_digest_of, rlp, sorted,
};
use evergrove_verifier::tree;
use proptest::prelude::*;
use serde_json::Value as Json;

fn bytes(json: &Json) -> Vec<u8> {
    let digits = json.as_str().unwrap().trim_start_matches("0x");
    let digits = if digits.len().is_multiple_of(2) { digits.to_owned() } else { format!("0{digits}") };
    digits.as_bytes().chunks(2).map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

fn padded<const N: usize>(json: &Json) -> [u8; N] {
    let bytes = bytes(json);
    let mut out = [0; N];
    out[N - bytes.len()..].copy_from_slice(&bytes);
    out
}

fn claim(json: &Json) -> Claim {
    if let Some(index) = json["index"].as_u64() {
        let trie = Tag::ALL.into_iter().find(|t| t.name() == json["trie"]).unwrap();
        return match json.get("value") {
            Some(value) => Claim::Entry { trie, index, value: bytes(value) },
            None => Claim::AbsentEntry { trie, index },
        };
    }
    let address = padded(&json["address"]);
    if json.get("slot").is_some() {
        return Claim::Slot { address, slot: padded(&json["slot"]), value: padded(&json["value"]) };
    }
    if json.get("absent").is_some() {
        return Claim::AbsentAccount { address };
    }
    let [balance, storage_root, code_hash] = ["balance", "storageHash", "codeHash"].map(|f| padded(&json[f]));
    let nonce = u64::from_be_bytes(padded(&json["nonce"]));
    Claim::Account { address, account: Account { nonce, balance, storage_root, code_hash } }
}

#[test]
fn digests_are_those_of_the_vectors() {
    let vectors: Json = serde_json::from_str(include_str!("../../../../vectors/ethereum.json")).unwrap();
    let batches = vectors["batches"].as_array().unwrap();
    assert_eq!(batches.len(), 8);
    for batch in batches {
        let name = &batch["name"];
        let mut claims: Vec<Claim> = batch["claims"].as_array().unwrap().iter().map(claim).collect();
        for (claim, json) in claims.iter().zip(batch["claims"].as_array().unwrap()) {
            assert_eq!(claim.key().bytes(), bytes(&json["K"]), "{name}: {claim}");
            assert_eq!(claim.leaf_digest(), json["L"].as_str().unwrap().parse().unwrap(), "{name}: {claim}");
        }
        for _ in 0..claims.len() {
            claims.rotate_left(1);
            let digest = batch["digest"].as_str().unwrap().parse().unwrap();
            assert_eq!(canonical_digest(&claims), Ok(digest), "{name}");
        }
        let leaves: Vec<_> = sorted(&claims).unwrap();
        let leaves: Vec<_> = leaves.iter().map(|(key, i)| (key.bytes(), claims[*i].leaf_digest())).collect();
        let sixteen = canonical_digest_of(Arity::Sixteen, &leaves);
        assert_eq!(sixteen, batch["sixteen"].as_str().unwrap().parse().unwrap(), "{name}");
    }
}

proptest! {
    #[test]
    fn two_children_give_the_digest_of_vectors(indices: std::collections::BTreeSet<u64>, seed: u64) {
        let leaf = |i: u64| tree::leaf_digest(0, &[seed, i, 0, 1].map(evergrove_primitives::Goldilocks::reduce));
        let leaves: Vec<_> = indices.iter().map(|&i| (i, leaf(i))).collect();
        let keys: Vec<[u8; 8]> = indices.iter().map(|i| i.to_be_bytes()).collect();
        let keyed: Vec<(&[u8], _)> = keys.iter().zip(&leaves).map(|(key, (_, leaf))| (&key[..], *leaf)).collect();
        prop_assert_eq!(canonical_digest_of(Arity::Binary, &keyed), tree::canonical_digest(&leaves));
    }
}

const A: [u8; 20] = [0xaa; 20];

fn slot(number: u8, value: u8) -> Claim {
    let word = |b| core::array::from_fn(|i| if i == 31 { b } else { 0 });
    Claim::Slot { address: A, slot: word(number), value: word(value) }
}

fn account(nonce: u64) -> Claim {
    let account = Account { nonce, balance: [0; 32], storage_root: EMPTY_ROOT, code_hash: EMPTY_CODE };
    Claim::Account { address: A, account }
}

#[test]
fn two_claims_with_one_key_are_refused() {
    let absent = Claim::AbsentAccount { address: A };
    let entry = |value: &[u8]| Claim::Entry { trie: Tag::Receipts, index: 7, value: value.to_vec() };
    let nothing = Claim::AbsentEntry { trie: Tag::Receipts, index: 7 };
    let pairs = [
        (account(1), account(1)),
        (account(1), account(2)),
        (account(1), absent.clone()),
        (absent.clone(), absent),
        (slot(1, 5), slot(1, 5)),
        (slot(1, 5), slot(1, 6)),
        (slot(1, 5), slot(1, 0)),
        (entry(b"a"), entry(b"b")),
        (entry(b"a"), nothing),
    ];
    for (first, second) in pairs {
        let claims = [slot(9, 9), first, second.clone(), slot(8, 8)];
        let refused = canonical_digest(&claims).expect_err("two claims with one key");
        assert!(
            matches!(refused, ClaimsError::Duplicate { first: 1, second: 2, .. })
                || matches!(refused, ClaimsError::Duplicate { first: 2, second: 1, .. }),
            "{refused:?}"
        );
        assert!(refused.to_string().contains("about the same thing; keep one"), "{refused}");
    }
}

#[test]
fn claims_that_cannot_be_are_refused() {
    let entry = |trie, n| Claim::Entry { trie, index: 0, value: vec![1; n] };
    let refused = |claims: &[Claim]| canonical_digest(claims).map(drop).map_err(|e| e.to_string());
    assert_eq!(refused(&[]), Err("a batch needs at least one claim".into()));
    let state = Err("claim 0 is an entry of the state trie: name transactions, receipts or withdrawals".into());
    assert_eq!(refused(&[entry(Tag::State, 1)]), state);
    assert_eq!(refused(&[Claim::AbsentEntry { trie: Tag::State, index: 0 }]), state);
    assert_eq!(refused(&[entry(Tag::Receipts, VALUE_MAX)]), Ok(()));
    let many = vec![Claim::AbsentAccount { address: A }; CLAIMS_MAX + 1];
    assert_eq!(canonical_digest(&many), Err(ClaimsError::TooMany { found: CLAIMS_MAX + 1 }));
    for n in [0, VALUE_MAX + 1] {
        let error = Err(format!("claim 1 has a value of {n} bytes: expected 1 to 39422"));
        assert_eq!(refused(&[account(0), entry(Tag::Receipts, n)]), error);
    }
}

#[test]
fn accounts_have_four_fields_and_nothing_after_them() {
    let Claim::Account { account, .. } = account(3) else { unreachable!() };
    let bytes = account.rlp();
    assert_eq!(Account::from_rlp(&bytes), Ok(account));
    let fault = |bytes: &[u8]| Account::from_rlp(bytes).unwrap_err().fault;
    assert_eq!(fault(&[&bytes[..], &[1]].concat()), RlpFault::Trailing);
    // The list has a header of two bytes.
    assert_eq!(bytes[..2], [0xf8, 68]);
    assert_eq!(fault(&rlp::list(&[&bytes[2..], &[1]].concat())), RlpFault::Trailing);
}

#[test]
fn claims_that_differ_have_different_leaves() {
    let Claim::Account { account: fields, .. } = account(3) else { unreachable!() };
    let entry = |value: &[u8]| Claim::Entry { trie: Tag::Receipts, index: 7, value: value.to_vec() };
    let mut claims = vec![
        account(3),
        account(3 << 32),
        Claim::Account { address: A, account: Account { balance: [1; 32], ..fields } },
        Claim::Account { address: A, account: Account { storage_root: EMPTY_CODE, ..fields } },
        Claim::Account { address: A, account: Account { code_hash: EMPTY_ROOT, ..fields } },
        Claim::AbsentAccount { address: A },
        Claim::AbsentAccount { address: [0; 20] },
        slot(0, 0),
        slot(0, 1),
        slot(1, 0),
        entry(b"\0"),
        entry(b"\0\0"),
        entry(&[0; 16]),
        entry(&[0; 17]),
        Claim::Entry { trie: Tag::Withdrawals, index: 7, value: vec![0] },
        Claim::Entry { trie: Tag::Receipts, index: 8, value: vec![0] },
        Claim::AbsentEntry { trie: Tag::Receipts, index: 7 },
    ];
    let mut leaves: Vec<_> = claims.iter().map(Claim::leaf_digest).collect();
    leaves.sort_unstable();
    leaves.dedup();
    assert_eq!(leaves.len(), claims.len());
    claims.truncate(1);
    assert_eq!(canonical_digest(&claims), Ok(claims[0].leaf_digest()));
}

#[test]
fn roots_have_increasing_tags() {
    let roots = |tags: &[Tag]| Roots::new(tags.iter().map(|&t| (t, [t as u8; 32])).collect());
    assert_eq!(roots(&Tag::ALL).unwrap().get(Tag::Receipts), Some(&[3; 32]));
    assert_eq!(roots(&[Tag::Withdrawals]).unwrap().get(Tag::State), None);
    assert!([&[][..], &[Tag::State, Tag::State], &[Tag::Receipts, Tag::State]].iter().all(|t| roots(t).is_none()));
}

/// A header with `extra` bytes of extra data and these fields after the nonce.
fn header(extra: usize, later: &[&[u8]]) -> Vec<u8> {
    let mut fields: Vec<Vec<u8>> = [32, 32, 20, 32, 32, 32, 256].iter().zip(1..).map(|(&n, b)| vec![b; n]).collect();
    fields.extend([vec![1, 0], vec![0x12, 0x34], vec![0x80; 4], vec![], vec![0x65; 4], vec![9; extra]]);
    fields.extend([vec![10; 32], vec![11; 8]]);
    fields.extend(later.iter().map(|f| f.to_vec()));
    let mut payload = Vec::new();
    fields.iter().for_each(|f| rlp::write_string(&mut payload, f));
    rlp::list(&payload)
}

#[test]
fn headers_of_every_length_are_read() {
    let fork: [&[u8]; 7] = [&[7], &[12; 32], &[], &[], &[13; 32], &[14; 32], &[15; 32]];
    let mut blocks = Vec::new();
    for (extra, later) in [(0, 0), (32, 0), (0, 1), (32, 2), (32, 5), (32, 6), (80, 7), (400, 7)] {
        let bytes = header(extra, &fork[..later]);
        let read = Header::parse(&bytes).unwrap();
        assert_eq!((read.hash, read.parent), (keccak_256(&bytes), [1; 32]));
        assert_eq!((read.number, read.time), (0x1234, 0x6565_6565));
        for (tag, at, byte) in [(Tag::State, 91, 4), (Tag::Transactions, 124, 5), (Tag::Receipts, 157, 6)] {
            assert_eq!(read.roots.get(tag), Some(&[byte; 32]));
            assert_eq!(bytes[at..at + 32], [byte; 32]);
        }
        assert_eq!(read.roots.get(Tag::Withdrawals), (later > 1).then_some(&[12; 32]));
        blocks.push(read.blocks);
    }
    assert_eq!(blocks, [4, 4, 4, 5, 5, 5, 6, 8]);
    let bytes = header(0, &[]);
    assert!(Header::with_hash(&bytes, &keccak_256(&bytes)).is_ok());
    let other = Header::with_hash(&bytes, &[1; 32]).unwrap_err().to_string();
    assert!(other.starts_with("header has hash 0x") && other.ends_with("it is another block's"), "{other}");
}

#[test]
fn bytes_that_are_no_header_are_refused() {
    let good = header(32, &[&[7]]);
    for at in [0, 3, 36, 69, 90, 123, 156, 189, 190, 191] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let error = Header::parse(&bad).unwrap_err();
        assert!(matches!(error, HeaderError::Frame { at: a, .. } if a == at), "byte {at}: {error}");
    }
    assert_eq!(
        Header::parse(&[&[0xf8, 0x90], &good[2..]].concat()).unwrap_err().to_string(),
        "not a block header: expected 0xf9 at byte 0, got 0xf8"
    );
    assert_eq!(Header::parse(&[0; 407]).unwrap_err().to_string(), "a header has 408 to 1087 bytes, got 407");
    assert_eq!(Header::parse(&[0; 1088]).unwrap_err(), HeaderError::Length { found: 1088 });
    let many = header(0, &[&[1][..]; 10]);
    assert_eq!(Header::parse(&many).unwrap_err().to_string(), "a header has 15 to 24 fields, got 25");
    let text = |bytes: &[u8]| Header::parse(bytes).unwrap_err().to_string();
    assert!(text(&header(0, &[&[0, 1]])).contains("integer with a leading zero"));
    assert!(text(&header(0, &[&[1], &[1; 31]])).contains("expected 32 bytes, got 31"));
    assert!(text(&[&good[..], &[0]].concat()).contains("trailing bytes"));
    assert!(text(&good[..good.len() - 1]).contains("truncated"));
    let mut list = good.clone();
    *list.last_mut().unwrap() = 0xc0;
    assert!(text(&list).contains("expected a string, got a list"));
    // The last field is one that is not read.
    let mut list = header(0, &[&[7], &[12; 32], &[]]);
    *list.last_mut().unwrap() = 0xc0;
    assert!(text(&list).contains("expected a string, got a list"));
}

proptest! {
    #[test]
    fn headers_never_panic(edits: Vec<(u16, u8)>, cut in 0usize..700) {
        let mut bytes = header(40, &[&[7], &[12; 32]]);
        for (at, byte) in edits {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(cut.max(1));
        if let Ok(read) = Header::parse(&bytes) {
            prop_assert_eq!(&read.roots.get(Tag::State).unwrap()[..], bytes[91..123].to_vec());
        }
    }
}

#[test]
fn what_is_shown_says_what_is_not() {
    let read = Header::parse(&header(0, &[])).unwrap();
    let roots = Roots::new(vec![(Tag::State, [4; 32]), (Tag::Receipts, [6; 32])]).unwrap();
    let base = [0; 32];
    let rule = SlotRule { base, steps: vec![Step::Mapping([7; 32])] };
    let derived = Claim::Slot { address: A, slot: keccak_256([[7; 32], base].as_flattened()), value: [1; 32] };
    let claims = [(derived, Some(rule.clone()))];
    let shown = |anchor, claims| Shown { anchor, claims }.to_string();
    let text = shown(Anchor::Header(&read), Some(&claims[..]));
    assert!(text.starts_with("1 claim is true in the block with hash 0x"), "{text}");
    assert!(text.contains("(number 4660, time 1701143909)\nthat this block is in the canonical chain was not shown"));
    assert!(text.contains("\n  slot by the rule: base 0x00"), "{text}");
    assert!(text.contains(", then keccak(key, slot) with key 0x0707"), "{text}");
    let text = shown(Anchor::Block(&[9; 32]), None);
    assert!(text.starts_with("some non-empty set of claims is true in the block with hash 0x0909"), "{text}");
    assert!(text.ends_with("no claims were given: pass the claims to check which are proven\n"), "{text}");
    let claims = [(slot(1, 2), Some(rule)), (account(1), None)];
    let text = shown(Anchor::Roots(&roots), Some(&claims[..]));
    assert!(text.starts_with("2 claims are true in every trie with state root 0x0404"), "{text}");
    assert!(text.contains(" and receipts root 0x0606") && text.contains("that a block has these roots was not shown"));
    assert!(text.contains("\n  not the slot of the rule: base 0x"), "{text}");
    assert!(text.contains(&format!("account 0x{}: nonce 1, balance 0x00", "aa".repeat(20))), "{text}");
}

#[test]
fn slots_are_derived_as_compilers_do() {
    let word = |n: u8| core::array::from_fn(|i| if i == 31 { n } else { 0 });
    let by = |base, steps: &[Step]| SlotRule { base: word(base), steps: steps.to_vec() }.slot();
    let holder = word(5);
    assert_eq!(by(3, &[]), word(3));
    assert_eq!(by(3, &[Step::Mapping(holder)]), keccak_256([holder, word(3)].as_flattened()));
    assert_eq!(by(3, &[Step::VyperMapping(holder)]), keccak_256([word(3), holder].as_flattened()));
    let inner = keccak_256([holder, word(3)].as_flattened());
    assert_eq!(by(3, &[Step::Mapping(holder), Step::Mapping(word(6))]), keccak_256([word(6), inner].as_flattened()));
    let mut element = keccak_256(&word(3));
    element[31] = element[31].checked_add(2).unwrap();
    assert_eq!(by(3, &[Step::Array(word(2))]), element);
}
