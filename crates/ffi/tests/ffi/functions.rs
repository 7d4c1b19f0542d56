//! The functions of C: null handles, null pointers, calls in the wrong order, and a verdict about an opening.

#![allow(unsafe_code)]

use std::ptr;

use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::tree::{Value, leaf_digest, node_digest, null_digests};
use evergrove_verifier::verify::Code;
use evergrove_verifier::wire::Opening;
use evergrove_verify::Request;
use evergrove_verify::c::*;
use evergrove_verify::request::Verdict;

const COMMITMENT: &str = "evergrove1:3:0000000000000000000000000000000000000000000000000000000000000000";

fn new(file: &[u8], commitment: &str) -> *mut Request {
    // SAFETY: the lengths are those of the slices.
    unsafe { evg_request_new(file.as_ptr(), file.len(), commitment.as_ptr(), commitment.len()) }
}

/// Returns code, sentence and JSON of a verdict, and frees it.
fn taken(verdict: *mut Verdict) -> (u32, String, serde_json::Value) {
    assert!(!verdict.is_null());
    let text = |get: unsafe extern "C" fn(*const Verdict, *mut usize) -> *const u8| {
        let mut len = usize::MAX;
        // SAFETY: the verdict is alive, and so are its texts.
        let bytes = unsafe { std::slice::from_raw_parts(get(verdict, &mut len), len) };
        // SAFETY: as above. A null pointer to the length is not written to.
        assert_eq!(unsafe { get(verdict, ptr::null_mut()) }, bytes.as_ptr());
        String::from_utf8(bytes.to_vec()).expect("UTF-8")
    };
    let (sentence, json) = (text(evg_verdict_sentence), text(evg_verdict_json));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    // SAFETY: the verdict is not used again.
    let code = unsafe {
        let code = evg_verdict_code(verdict);
        evg_verdict_free(verdict);
        code
    };
    assert_eq!((json["sentence"].as_str(), json["accepted"].as_bool()), (Some(&sentence[..]), Some(code == 0)));
    assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence:?}");
    (code, sentence, json)
}

fn finished(request: *mut Request) -> (u32, String) {
    // SAFETY: the request is not used again.
    let (code, sentence, _) = taken(unsafe { evg_request_finish(request) });
    (code, sentence)
}

fn demand(request: *mut Request, code: Code, sentence: &str) {
    assert_eq!(finished(request), (code as u32, sentence.to_string()));
}

/// An opening of slot 1 in a tree of height 1, and the commitment of the tree.
fn opening() -> (Vec<u8>, String) {
    let value: Value = [1, 2, 3, 4].map(Goldilocks::new);
    let sibling = null_digests(1)[0];
    let root = node_digest(&sibling, &leaf_digest(1, &value));
    let opening = Opening { height: 1, index: 1, value: Some(value), siblings: vec![sibling] };
    (opening.encode(), format!("evergrove1:1:{root}"))
}

#[test]
fn null_handles_have_no_effect() {
    let digest = [0u8; 32];
    // SAFETY: every function accepts a null handle.
    unsafe {
        evg_request_rows(ptr::null_mut(), 0, digest.as_ptr(), 32, digest.as_ptr(), 32);
        evg_request_allow_profile(ptr::null_mut(), digest.as_ptr(), 32);
        evg_request_application(ptr::null_mut(), digest.as_ptr(), 32, digest.as_ptr(), ptr::null(), 0, 4);
        evg_request_key_digest(ptr::null_mut(), digest.as_ptr());
        assert_eq!(evg_request_check(ptr::null_mut()), 1);
        assert_eq!(evg_request_key(ptr::null_mut(), digest.as_ptr(), 32), 1);
        assert!(evg_request_finish(ptr::null_mut()).is_null());
        assert_eq!(evg_verdict_code(ptr::null()), Code::Usage as u32);
        for get in [evg_verdict_sentence, evg_verdict_json] {
            let mut len = 7;
            assert!(get(ptr::null(), &mut len).is_null());
            assert_eq!(len, 0);
            assert!(get(ptr::null(), ptr::null_mut()).is_null());
        }
        evg_verdict_free(ptr::null_mut());
        evg_free(ptr::null_mut(), 8);
    }
}

#[test]
fn null_pointers_are_no_bytes() {
    // SAFETY: a null pointer stands for no bytes, whatever its length.
    unsafe {
        let request = evg_request_new(ptr::null(), 0, ptr::null(), 0);
        demand(request, Code::Usage, "a commitment reads evergrove1:HEIGHT:ROOT");
        let request = evg_request_new(ptr::null(), 9, COMMITMENT.as_ptr(), COMMITMENT.len());
        assert_eq!(evg_request_check(request), 1);
        assert_eq!(finished(request).0, Code::Truncated as u32);
        let request = new(b"", COMMITMENT);
        evg_request_rows(request, 0, ptr::null(), 5, ptr::null(), 5);
        demand(request, Code::Usage, "missing schema of the rows");
        let request = new(b"", COMMITMENT);
        evg_request_rows(request, 0, ptr::null(), 5, ptr::null(), 0);
        demand(request, Code::BadRows, "line 1: missing header: the first line names the columns");
        let request = new(b"", COMMITMENT);
        evg_request_allow_profile(request, ptr::null(), 5);
        demand(request, Code::Usage, "unknown profile \"\"");
        let request = new(b"", COMMITMENT);
        evg_request_application(request, b"x".as_ptr(), 1, [0; 32].as_ptr(), ptr::null(), 3, 4);
        demand(request, Code::Usage, "missing inputs of the application");
        let request = new(b"", COMMITMENT);
        evg_request_words(request, b"x".as_ptr(), 1, ptr::null(), 8);
        demand(request, Code::Usage, "missing digest of the application's parameters");
        let request = new(b"", COMMITMENT);
        evg_request_application(request, b"x".as_ptr(), 1, ptr::null(), ptr::null(), 0, 4);
        demand(request, Code::Usage, "missing digest of the application's parameters");
        let request = new(b"", COMMITMENT);
        evg_request_key_digest(request, ptr::null());
        demand(request, Code::Usage, "missing digest of the key");
        let request = new(b"", COMMITMENT);
        evg_request_rows(request, 2, ptr::null(), 0, ptr::null(), 0);
        demand(request, Code::Usage, "unknown format 2: expected 0 (csv) or 1 (jsonl)");
        let request = new(b"", COMMITMENT);
        assert_eq!(evg_request_key(request, ptr::null(), 5), 1);
        assert_eq!(finished(request).0, Code::Truncated as u32);
    }
}

#[test]
fn bad_parts_are_usage_and_the_first_error_stays() {
    let high = [0xff; 32];
    // SAFETY: the lengths are those of the slices.
    unsafe {
        let request = new(b"", COMMITMENT);
        evg_request_key_digest(request, high.as_ptr());
        evg_request_allow_profile(request, b"x".as_ptr(), 1);
        evg_request_rows(request, 0, b"x".as_ptr(), 1, ptr::null(), 0);
        assert_eq!(evg_request_check(request), 1);
        demand(request, Code::Usage, "the digest of the key is not four elements");
        let request = new(b"", COMMITMENT);
        evg_request_application(request, b"x".as_ptr(), 1, high.as_ptr(), ptr::null(), 0, 4);
        demand(request, Code::Usage, "the digest of the application's parameters is not four elements");
        let request = new(b"", COMMITMENT);
        let inputs = [1, u64::MAX];
        evg_request_application(request, b"x".as_ptr(), 1, [0; 32].as_ptr(), inputs.as_ptr(), 2, 4);
        demand(request, Code::Usage, "an input of the application is not below p");
        let request = new(b"", COMMITMENT);
        evg_request_application(request, [0xff].as_ptr(), 1, [0; 32].as_ptr(), ptr::null(), 0, 4);
        demand(request, Code::Usage, "the application's name is not text");
        let request = new(b"", COMMITMENT);
        evg_request_application(request, b"x".as_ptr(), 1, [0; 32].as_ptr(), inputs.as_ptr(), 0, 4);
        demand(request, Code::Usage, "the key of an application is not pinned: give the digest of the key");
        let request = evg_request_new(ptr::null(), 0, [0xff].as_ptr(), 1);
        demand(request, Code::Usage, "the commitment is not text");
        let request = new(b"", COMMITMENT);
        let schema = "[[column]]\nname = \"a\"\n";
        evg_request_rows(request, 0, b"index,a\n".as_ptr(), 8, schema.as_ptr(), schema.len());
        let (code, sentence) = finished(request);
        assert_eq!(code, Code::BadRows as u32);
        assert!(sentence.contains("line 1, column 1") && sentence.ends_with("missing field `type`"), "{sentence}");
        let request = new(b"", COMMITMENT);
        evg_request_rows(request, 0, b"index,a\n".as_ptr(), 8, [0xff].as_ptr(), 1);
        demand(request, Code::BadRows, "the schema is not UTF-8");
    }
}

/// The check ignores later parts, so they must not appear to count.
#[test]
fn parts_after_the_check_are_errors() {
    let (file, commitment) = opening();
    type Late = (&'static str, fn(*mut Request));
    let late: [Late; 4] = [
        // SAFETY: the lengths are those of the slices.
        ("rows", |r| unsafe { evg_request_rows(r, 0, b"index,e0,e1,e2,e3".as_ptr(), 17, ptr::null(), 0) }),
        // SAFETY: as above.
        ("a profile", |r| unsafe { evg_request_allow_profile(r, b"grove-128".as_ptr(), 9) }),
        // SAFETY: as above.
        ("an application", |r| unsafe {
            evg_request_application(r, b"x".as_ptr(), 1, [0; 32].as_ptr(), ptr::null(), 0, 4);
        }),
        // SAFETY: as above.
        ("the digest of the key", |r| unsafe { evg_request_key_digest(r, [0; 32].as_ptr()) }),
    ];
    for (what, call) in late {
        let request = new(&file, &commitment);
        // SAFETY: the handle is alive.
        assert_eq!(unsafe { evg_request_check(request) }, 1);
        call(request);
        let sentence = format!("{what} given after the check: give all parts of the question before it");
        demand(request, Code::Usage, &sentence);
    }
}

#[test]
fn an_opening_needs_no_key() {
    let (file, commitment) = opening();
    let request = new(&file, &commitment);
    // SAFETY: the handle is alive, and is not used again.
    let (code, sentence, json) = unsafe {
        assert_eq!(evg_request_check(request), 1);
        assert_eq!(evg_request_check(request), 1);
        taken(evg_request_finish(request))
    };
    assert_eq!((code, &sentence[..]), (0, "accepted"));
    assert_eq!((json["kind"].as_str(), json["index"].as_u64()), (Some("opening"), Some(1)));
    // Without an earlier check, `finish` does the check.
    assert_eq!(finished(new(&file, &commitment)).0, 0);
    let other = format!("evergrove1:1:{}", Digest::ZERO);
    assert_eq!(finished(new(&file, &other)).0, Code::WrongRoot as u32);
    let request = new(&file, &commitment);
    // SAFETY: the lengths are those of the slices.
    unsafe { evg_request_rows(request, 0, b"index,e0,e1,e2,e3".as_ptr(), 17, ptr::null(), 0) };
    assert_eq!(finished(request).0, Code::Usage as u32);
}

#[test]
fn memory_of_hosts() {
    assert!(evg_alloc(0).is_null());
    for len in [1, 7, 4096] {
        let at = evg_alloc(len);
        assert!(!at.is_null());
        // SAFETY: `at` has `len` bytes, which are freed once.
        unsafe {
            assert!(std::slice::from_raw_parts(at, len).iter().all(|byte| *byte == 0));
            ptr::write_bytes(at, 0xab, len);
            evg_free(at, len);
        }
    }
}
