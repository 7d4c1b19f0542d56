//! Keccak against known values (vectors/keccak.json) and, on every instruction set of this CPU, against its reference twin.

use evergrove_primitives::hash::keccak::{self, DIGEST_BYTES, Function, LengthMismatch, Many, STATE_WORDS, reference};
use evergrove_primitives::lanes::{available, dispatch_on};
use proptest::prelude::*;
use serde_json::Value;

const FUNCTIONS: [Function; 2] = [Function::Sha3_256, Function::Keccak256];

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i % 251) as u8).collect()
}

fn message(case: &Value) -> Vec<u8> {
    if let Some(text) = case["text"].as_str() {
        return text.into();
    }
    if let Some(bytes) = case["pattern"].as_u64() {
        return pattern(bytes as usize);
    }
    let byte = u8::from_str_radix(case["repeat"].as_str().unwrap(), 16).unwrap();
    vec![byte; case["count"].as_u64().unwrap() as usize]
}

fn hex(digest: [u8; DIGEST_BYTES]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

/// The messages' digests, on every instruction set, with `count` messages of `bytes` bytes in `messages`.
fn assert_many(function: Function, messages: &[u8], bytes: usize, count: usize) {
    let expected: Vec<_> =
        (0..count).map(|i| reference::hash(function, &messages[i * bytes..(i + 1) * bytes])).collect();
    for isa in available() {
        let mut digests = vec![[0xee; DIGEST_BYTES]; count];
        dispatch_on(isa, Many { function, messages, message_bytes: bytes, digests: &mut digests });
        assert_eq!(digests, expected, "{count} messages of {bytes} bytes on {isa}");
    }
}

#[test]
fn known_answers() {
    let vectors: Value = serde_json::from_str(include_str!("../../../../vectors/keccak.json")).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 12);
    for case in cases {
        let message = message(case);
        for (function, name) in [(Function::Sha3_256, "sha3_256"), (Function::Keccak256, "keccak_256")] {
            let expected = case[name].as_str().unwrap();
            assert_eq!(hex(reference::hash(function, &message)), expected, "{name} of {}", case["name"]);
            let many = message.repeat(11);
            for isa in available() {
                let mut digests = [[0; DIGEST_BYTES]; 11];
                dispatch_on(
                    isa,
                    Many { function, messages: &many, message_bytes: message.len(), digests: &mut digests },
                );
                for digest in digests {
                    assert_eq!(hex(digest), expected, "{name} of {} on {isa}", case["name"]);
                }
            }
        }
        assert_eq!(hex(keccak::sha3_256(&message)), case["sha3_256"].as_str().unwrap());
        assert_eq!(hex(keccak::keccak_256(&message)), case["keccak_256"].as_str().unwrap());
    }
}

/// The first two words of the permutation of zero, applied once and twice.
#[test]
fn the_permutation_of_zero() {
    for permute in [keccak::permute, reference::permute] {
        let mut state = [0; STATE_WORDS];
        permute(&mut state);
        assert_eq!(state[..2], [0xf125_8f79_40e1_dde7, 0x84d5_ccf9_33c0_478a]);
        permute(&mut state);
        assert_eq!(state[..2], [0x2d5c_954d_f96e_cb3c, 0x6a33_2cd0_7057_b56d]);
    }
}

#[test]
#[ignore = "isa: seconds, 2^14 messages on every instruction set"]
fn many_messages() {
    for (bytes, count) in [(32, (1 << 16) + 3), (64, (1 << 16) + 5), (1088, 1 << 14)] {
        let messages: Vec<u8> = (0..bytes * count).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect();
        for function in [Function::Sha3_256, Function::Keccak256] {
            assert_many(function, &messages, bytes, count);
        }
    }
}

#[test]
fn every_length_up_to_300() {
    for function in FUNCTIONS {
        for bytes in 0..=300 {
            let one = pattern(bytes);
            let expected = reference::hash(function, &one);
            let hash = match function {
                Function::Sha3_256 => keccak::sha3_256,
                Function::Keccak256 => keccak::keccak_256,
            };
            assert_eq!(hash(&one), expected, "{bytes} bytes");
            assert_many(function, &pattern(9 * bytes), bytes, 9);
        }
    }
}

#[test]
fn every_count_of_nodes_up_to_40() {
    for function in FUNCTIONS {
        for count in 0..=40 {
            assert_many(function, &pattern(64 * count), 64, count);
            assert_many(function, &pattern(137 * count), 137, count);
        }
    }
}

#[test]
fn bulk_calls_agree_with_single_ones() {
    let bytes = pattern(64 * 21);
    let children = bytes.as_chunks::<32>().0;
    for function in FUNCTIONS {
        let mut parents = [[0; DIGEST_BYTES]; 21];
        keccak::hash_many(function, children.as_flattened(), 2 * DIGEST_BYTES, &mut parents).unwrap();
        for (parent, pair) in parents.iter().zip(children.chunks(2)) {
            assert_eq!(*parent, reference::hash(function, pair.as_flattened()));
        }
    }
    let (mut sha3, mut keccak) = ([[0; DIGEST_BYTES]; 7], [[0; DIGEST_BYTES]; 7]);
    keccak::hash_many(Function::Sha3_256, &bytes[..7 * 150], 150, &mut sha3).unwrap();
    keccak::hash_many(Function::Keccak256, &bytes[..7 * 150], 150, &mut keccak).unwrap();
    for (i, message) in bytes[..7 * 150].chunks(150).enumerate() {
        assert_eq!(sha3[i], keccak::sha3_256(message));
        assert_eq!(keccak[i], keccak::keccak_256(message));
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let mut digests = [[0x55; DIGEST_BYTES]; 3];
    let error = keccak::hash_many(Function::Sha3_256, &[0; 191], 64, &mut digests).unwrap_err();
    assert_eq!(error, LengthMismatch { bytes: 191, message_bytes: 64, digests: 3 });
    assert_eq!(
        error.to_string(),
        "3 digests of messages of 64 bytes each need as many messages, but 191 bytes are given"
    );
    keccak::hash_many(Function::Keccak256, &[0; 4], usize::MAX, &mut digests).unwrap_err();
    keccak::hash_many(Function::Sha3_256, &[0; 1], 0, &mut digests).unwrap_err();
    assert_eq!(digests, [[0x55; DIGEST_BYTES]; 3], "nothing is written");
    keccak::hash_many(Function::Sha3_256, &[], 0, &mut digests).unwrap();
    assert_eq!(digests, [keccak::sha3_256(&[]); 3]);
}

/// Bytes of messages that are random, or made of words at the edges of 32 and 64 bits.
fn bytes(len: usize) -> impl Strategy<Value = Vec<u8>> {
    let edges = prop_oneof![
        Just(0),
        Just(1),
        Just(0xffff_ffff),
        Just(0x1_0000_0000),
        Just(0xffff_ffff_0000_0000),
        Just(u64::MAX),
        any::<u64>(),
    ];
    proptest::collection::vec(edges, len.div_ceil(8)).prop_map(move |words| {
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.truncate(len);
        bytes
    })
}

fn batch() -> impl Strategy<Value = (usize, usize, Vec<u8>)> {
    (prop_oneof![0..=300_usize, Just(64)], 0..=20_usize)
        .prop_flat_map(|(len, count)| (Just(len), Just(count), bytes(len * count)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_instruction_set_equals_the_reference((len, count, messages) in batch(), sha3: bool) {
        assert_many(FUNCTIONS[usize::from(sha3)], &messages, len, count);
    }

    #[test]
    fn the_permutation_equals_the_reference(state: [u64; STATE_WORDS]) {
        let (mut ours, mut expected) = (state, state);
        keccak::permute(&mut ours);
        reference::permute(&mut expected);
        prop_assert_eq!(ours, expected);
    }
}
