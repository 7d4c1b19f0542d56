//! Every store keeps the first object of a key, and calls survive a store that sometimes fails.

use std::sync::Arc;

use evergrove_jobs::objects::Objects;
use evergrove_jobs::{Key, Put};
use evergrove_testkit::faults::FaultyObjects;

const NOBODY: [(String, String); 0] = [];

fn key(n: u8) -> Key {
    Key([n; 32])
}

/// The laws of every store.
fn laws(objects: &Objects) {
    assert_eq!(objects.get(&key(1)).expect("answers"), None);
    assert!(!objects.exists(&key(1)).expect("answers"));
    assert_eq!(objects.put(&key(1), b"first").expect("stores"), Put::Stored);
    assert_eq!(objects.put(&key(1), b"second").expect("answers"), Put::AlreadyThere);
    assert_eq!(objects.put(&key(2), b"").expect("stores"), Put::Stored);
    assert_eq!(objects.get(&key(1)).expect("answers").as_deref(), Some(&b"first"[..]));
    assert_eq!(objects.get(&key(2)).expect("answers").as_deref(), Some(&b""[..]));
    assert!(objects.exists(&key(2)).expect("answers"));
    let (payloads, another) = (objects.payloads("r1"), objects.payloads("r2"));
    assert!(!payloads.exists(&key(1)).expect("answers"), "payloads are elsewhere");
    payloads.replace(&key(3), b"damaged").expect("stores");
    payloads.replace(&key(3), b"payload").expect("stores");
    let part = |key, offset, length| payloads.get_part(&key, offset, length).expect("answers");
    assert_eq!(part(key(3), 3, 4).as_deref(), Some(&b"load"[..]));
    assert_eq!([part(key(3), 5, 9).map_or(0, |p| p.len()), part(key(3), 7, 0).map_or(9, |p| p.len())], [2, 0]);
    assert_eq!(part(key(9), 0, 1), None);
    for (offset, length) in [(0, 1 << 40), (u64::MAX, 1), (1, u64::MAX)] {
        payloads.get_part(&key(3), offset, length).expect_err("no part of an object");
    }
    another.put(&key(3), b"another run's").expect("stores");
    let (found, others) = objects.list().expect("answers");
    assert_eq!(found.iter().map(|o| (o.key, o.bytes)).collect::<Vec<_>>(), [(key(1), 5), (key(2), 0)]);
    assert!(others.is_empty());
    objects.delete(&key(1)).expect("answers");
    objects.delete(&key(1)).expect("to delete what is not there is no error");
    assert_eq!(objects.get(&key(1)).expect("answers"), None);
    assert_eq!(payloads.get(&key(3)).expect("answers").as_deref(), Some(&b"payload"[..]));
    (0..30).for_each(|n| payloads.replace(&key(n), &[n]).expect("stores"));
    payloads.clear().expect("clears");
    payloads.clear().expect("to clear what is not there is no error");
    assert!((0..30).all(|n| payloads.get(&key(n)).expect("answers").is_none()));
    assert!(another.exists(&key(3)).expect("answers") && objects.exists(&key(2)).expect("answers"));
}

#[test]
fn the_laws_hold_in_files_and_in_memory() {
    let dir = tempfile::tempdir().expect("a directory");
    laws(&Objects::local(dir.path().join("local")).expect("opens"));
    let url = format!("file://{}/shared", dir.path().display());
    laws(&Objects::open(&url, NOBODY).expect("opens"));
    assert!(dir.path().join("shared/proofs").join(key(2).to_string()).is_file());
    assert!(!dir.path().join("shared/payloads/r1").exists() && dir.path().join("shared/payloads/r2").is_dir());
    laws(&Objects::open("memory:///", NOBODY).expect("opens"));
}

#[test]
fn what_is_too_large_is_not_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let objects = Objects::local(dir.path().into()).expect("opens");
    let largest = 64 << 20;
    for (n, length) in [(1, largest), (2, largest + 1)] {
        objects.put(&key(n), b"").expect("stores");
        // A sparse file, which uses no space.
        let file = std::fs::File::options().write(true).open(objects.place(&key(n))).expect("opens");
        file.set_len(length).expect("grows");
    }
    assert_eq!(objects.get(&key(1)).expect("answers").map(|o| o.len() as u64), Some(largest));
    // Readers find the empty object damaged, and delete it.
    assert_eq!(objects.get(&key(2)).expect("answers"), Some(Vec::new()));
    // An object too large to be read is not stored.
    let error = objects.put(&key(3), &vec![0; largest as usize + 1]).expect_err("it is too large");
    assert!(error.to_string().contains("67108865") || error.source.to_string().contains("67108865"), "{error}");
    assert_eq!(objects.get(&key(3)).expect("answers"), None);
}

#[test]
fn urls_are_refused_with_a_remedy() {
    let refused = |url: &str| Objects::open(url, NOBODY).expect_err(url).to_string();
    assert!(refused("proofs").contains("file:///DIR"));
    assert!(refused("ftp://host/dir").contains("scheme"));
    for url in ["s3://user:secret@bucket", "s3://secret@bucket", "az://container/dir?sig=secret", "s3://bucket#secret"]
    {
        let refused = refused(url);
        assert!(refused.contains("environment") && !refused.contains("secret"), "{refused}");
    }
}

#[test]
fn calls_are_tried_again() {
    let store = FaultyObjects::new();
    let objects = Objects::new(Arc::new(store.clone()), "faulty").expect("opens").with_retries(3);
    store.fail_every(3);
    for n in 0..20 {
        assert_eq!(objects.put(&key(n), &[n]).expect("stores"), Put::Stored);
    }
    assert!((0..20).all(|n| objects.get(&key(n)).expect("answers") == Some(vec![n])));
    store.heal();
    store.fail_after(0);
    let refused = objects.put(&key(99), b"late").expect_err("every attempt fails").to_string();
    assert!(refused.contains("faulty") && refused.contains("no space left"), "{refused}");
    assert_eq!(store.refused().values().max(), Some(&4), "one attempt and three more");
}

#[cfg(feature = "cloud")]
#[test]
fn the_laws_hold_in_s3() {
    use evergrove_testkit::servers::S3Server;
    let Some(server) = S3Server::start() else { return };
    laws(&Objects::open(&server.url(), server.variables()).expect("opens"));
    let below = Objects::open(&format!("{}/a/b", server.url()), server.variables()).expect("opens");
    laws(&below);
    let wrong = server.variables().into_iter().filter(|(name, _)| name != "AWS_ENDPOINT_URL");
    let refused = Objects::open("s3://", wrong).expect_err("there is no bucket").to_string();
    assert!(refused.contains("s3://"), "{refused}");
}

/// Every tenth answer says that the server is overloaded.
#[cfg(feature = "cloud")]
#[test]
fn an_s3_that_fails_every_tenth_call_loses_nothing() {
    use evergrove_testkit::servers::S3Server;
    let Some(server) = S3Server::start() else { return };
    let (port, refusals) = server.failing_every(10);
    let mut variables = server.variables();
    variables[0].1 = format!("http://127.0.0.1:{port}");
    let objects = Objects::open(&server.url(), variables).expect("opens");
    for n in 0..30 {
        objects.put(&key(n), &[n; 100]).expect("stores");
    }
    assert!((0..30).all(|n| objects.get(&key(n)).expect("answers") == Some(vec![n; 100])));
    assert!(refusals.load(std::sync::atomic::Ordering::SeqCst) >= 5);
}
