//! The page, the paths that it reads, and the callers who may read them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use evergrove::jobs::local::LocalEngine;
use evergrove::store::{Prover, Store};
use evergrove_serve::{Config, KeyFiles, Token, Tokens};
use evergrove_testkit::http::Client;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::common::{Gate, TOKEN, World, backends, set, succinct};

const READER: &str = "reader-0123456789abcdef";
/// Greatest compressed size of the page's files together, in bytes. The verifier's module has a limit of its own.
const LIMIT: usize = 200 << 10;

fn tokens() -> Option<Tokens> {
    Some(Tokens::parse(&format!("read {READER}\nwrite {TOKEN}")).expect("tokens"))
}

#[test]
fn the_page_is_in_the_program_and_needs_no_token() {
    let world = World::start(Config { tokens: tokens(), ..Config::default() }, Gate::open());
    let files = [
        ("/", "text/html; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
        ("/page.css", "text/css; charset=utf-8"),
        ("/verify.js", "text/javascript; charset=utf-8"),
        ("/verifier.wasm", "application/wasm"),
        ("/icon.svg", "image/svg+xml"),
        ("/LICENSES.txt", "text/plain; charset=utf-8"),
    ];
    let (mut sizes, mut sum) = (String::new(), 0);
    for (path, kind) in files {
        let answer = world.client.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, kind), "{path}");
        let policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
            img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        assert_eq!(answer.header("content-security-policy"), policy, "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        let etag = [("if-none-match", answer.header("etag"))];
        let again = world.client.send("GET", path, &etag, b"").expect("an answer");
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        let other = world.client.send("GET", path, &[("if-none-match", "\"other\"")], b"").expect("an answer");
        assert_eq!((other.status, &other.body), (200, &answer.body), "{path}");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&answer.body).expect("memory");
        let size = gzip.finish().expect("memory").len();
        sizes.push_str(&format!("{path} {size}\n"));
        sum += if path == "/verifier.wasm" { 0 } else { size };
        // The page loads nothing from elsewhere, and has nothing inline, which the policy would block.
        if path == "/" {
            let text = answer.text();
            assert!(!text.contains("://") && !text.contains("style=") && !text.contains("onload"), "{text}");
        }
    }
    assert!(sum <= LIMIT, "the page has {sum} bytes compressed, the limit is {LIMIT}");
    insta::assert_snapshot!("page_sizes", format!("{sizes}without the module {sum}\n"));
    assert_eq!(world.client.post("/", "").status, 405);
    assert_eq!(world.client.get("/v1/status").status, 401);
    world.stop();
}

#[test]
fn public_reading_opens_commitments_and_proofs_and_nothing_else() {
    // Proofs of `b` contain the values of all members. Add a batch with succinct proofs, and one whose proofs contain
    // an output.
    let world = World::start(Config::default(), Gate::open());
    let dir = world.dir.clone();
    world.stop();
    let store = Store::open(dir.path()).expect("opens");
    let (backends, engine) = (backends(), LocalEngine::new(2));
    let prover = Prover::new(&store, &backends, &engine);
    for (name, choice) in ["succinct", "with-output"].into_iter().zip(succinct()) {
        prover.define(name, &[1, 2, 6, 30, 31, 32], &choice).expect("a new batch");
        prover.prove(name).expect("proves");
    }
    drop(store);
    let open = [
        "/v1/status",
        "/v1/epochs",
        "/v1/epochs/1",
        "/v1/batches",
        "/v1/batches/b",
        "/v1/batches/succinct/proof",
        "/v1/batches/succinct/proof?epoch=1",
        "/v1/batches/b/key",
        "/v1/batches/b/tree",
    ];
    let closed = [
        "/v1/batches/b/members",
        "/v1/openings/3",
        "/v1/epochs/1/changes",
        "/v1/changes/x",
        "/v1/batches/b/proof",
        "/v1/batches/b/proof?epoch=1",
        "/v1/batches/with-output/proof",
        "/v1/batches/with-output/proof?epoch=1",
    ];
    let key_files = Some(KeyFiles::new(|spec| Ok(Some(spec.choice.name.clone().into_bytes()))));
    for public_read in [false, true] {
        let config = Config { tokens: tokens(), public_read, key_files: key_files.clone(), ..Config::default() };
        let world = World::in_dir(dir.clone(), config, Gate::open());
        let reader = world.client.with_token(READER);
        let status = |client: &Client, path: &str, headers: &[(&str, &str)]| {
            client.send("GET", path, headers, b"").expect("an answer").status
        };
        let host = world.client.addr().to_string();
        let own = format!("http://{host}");
        for path in open {
            let expected = if public_read { 200 } else { 401 };
            assert_eq!(status(&world.client, path, &[]), expected, "{path}");
            assert_eq!(status(&world.client, path, &[("origin", &own)]), expected, "{path}");
            assert_eq!(status(&reader, path, &[]), 200, "{path}");
            // Pages of other sites get nothing without a token, and a wrong token is no better than none.
            for foreign in [
                ("origin", "https://example.org"),
                ("origin", "null"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-site", "same-site"),
            ] {
                assert_eq!(status(&world.client, path, &[foreign]), 401, "{path} {foreign:?}");
            }
            assert_eq!(status(&world.client.with_token("another-token-0123"), path, &[]), 401, "{path}");
        }
        for path in closed {
            assert_eq!(status(&world.client, path, &[]), 401, "{path}");
            assert_ne!(status(&reader, path, &[]), 401, "{path}");
        }
        for path in closed.iter().filter(|path| path.contains("/proof")) {
            let known = [("if-none-match", reader.get(path).header("etag").to_owned())];
            let known = known.each_ref().map(|(name, etag)| (*name, etag.as_str()));
            assert_eq!(status(&world.client, path, &known), 401, "{path}");
            assert_eq!(status(&reader, path, &known), 304, "{path}");
        }
        assert_eq!(world.client.post("/v1/changes", &set(3, 1)).status, 401);
        assert_eq!(world.client.post("/v1/status", "").status, 405);
        assert_eq!(reader.get("/v1/batches/b/key").body, b"native");
        if public_read {
            let (name, _) = world.client.events("/v1/events?batch=b").next().expect("an event");
            assert_eq!(name, "status");
        } else {
            assert_eq!(world.client.get("/v1/events").status, 401);
        }
        world.stop();
    }
}

#[test]
fn a_service_without_tokens_still_refuses_pages_of_other_sites() {
    let world = World::start(Config { public_read: true, ..Config::default() }, Gate::open());
    let get = |path: &str, headers: &[(&str, &str)]| world.client.send("GET", path, headers, b"").expect("an answer");
    for path in ["/v1/status", "/v1/batches/b/tree", "/v1/openings/3"] {
        assert_eq!(get(path, &[]).status, 200, "as the page asks");
        assert_eq!(get(path, &[("sec-fetch-site", "same-origin")]).status, 200, "as a browser says for the page");
        for foreign in
            [("origin", "https://example.org"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")]
        {
            assert_eq!(get(path, &[foreign]).status, 403, "{path} {foreign:?}");
        }
    }
    world.problem("GET", "/v1/batches/b/key", "", 404, "not-found");
    world.stop();
}

/// The data of the next event with this name.
fn next_of(events: &mut impl Iterator<Item = (String, String)>, name: &str) -> Value {
    let (_, data) = events.find(|(found, _)| found == name).expect("an event");
    serde_json::from_str(&data).expect("JSON")
}

/// The names of an object's fields.
fn fields(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn callers_without_a_token_are_told_neither_positions_nor_causes() {
    let gate = Gate::open();
    let world = World::start(Config { tokens: tokens(), public_read: true, ..Config::default() }, gate.clone());
    let reader = world.client.with_token(READER);
    let get = |client: &Client, path: &str| serde_json::from_slice::<Value>(&client.get(path).body).expect("JSON");
    gate.fail(1000);
    let [mut open, mut shown] = [&world.client, &reader].map(|client| client.events("/v1/events?batch=b"));
    let states = [next_of(&mut open, "status"), next_of(&mut shown, "status")];
    assert_eq!(world.client.with_token(TOKEN).post("/v1/changes", &set(3, 1)).status, 200);
    let [hidden, cause] = [&mut open, &mut shown].map(|events| next_of(events, "failure")["cause"].clone());
    assert_eq!(hidden, "the cause is shown with a token");
    assert!(cause.as_str().expect("a text").contains("the graph has no task"), "{cause}");
    let [failing, failing_shown] =
        [&world.client, &reader].map(|client| get(client, "/v1/status")["failing"][0].clone());
    assert_eq!((&failing["cause"], &failing_shown["cause"]), (&hidden, &cause));

    // Only callers with a token see the first and last member of a batch, and the part of the table of a proof.
    let batches = |client| {
        [
            get(client, "/v1/batches")[0].clone(),
            get(client, "/v1/batches/b"),
            get(client, "/v1/status")["batches"][0].clone(),
        ]
    };
    let [state, state_shown] = states.map(|state| state["batches"][0].clone());
    for batch in batches(&world.client).iter().chain([&state]) {
        let expected = ["name", "members", "scheme", "backend", "profile", "fresh", "proven"];
        assert_eq!(std::collections::BTreeSet::from_iter(fields(batch)), expected.into(), "{batch}");
    }
    for batch in batches(&reader).iter().chain([&state_shown]) {
        assert_eq!((&batch["first"], &batch["last"]), (&0.into(), &57.into()), "{batch}");
    }
    let [tree, tree_shown] = [&world.client, &reader].map(|client| get(client, "/v1/batches/b/tree"));
    for (node, whole) in
        tree["nodes"].as_array().expect("nodes").iter().zip(tree_shown["nodes"].as_array().expect("nodes"))
    {
        assert_eq!(
            std::collections::BTreeSet::from_iter(fields(node)),
            ["number", "parent", "depth", "kind"].into(),
            "{node}"
        );
        let expected = ["number", "parent", "depth", "kind", "height", "first", "members"];
        assert_eq!(std::collections::BTreeSet::from_iter(fields(whole)), expected.into(), "{whole}");
    }
    assert_ne!(tree["structure"], tree_shown["structure"], "the digest says nothing about what is left out");
    gate.fail(0);
    world.stop();
}

#[test]
fn answers_stay_out_of_caches_and_streams_out_of_buffers() {
    let world = World::start(Config { tokens: tokens(), ..Config::default() }, Gate::open());
    let reader = world.client.with_token(READER);
    for (client, path, status) in
        [(&reader, "/v1/status", 200), (&reader, "/v1/batches/b/proof", 200), (&world.client, "/v1/status", 401)]
    {
        let answer = client.get(path);
        assert_eq!(answer.status, status);
        assert_eq!(
            (answer.header("cache-control"), answer.header("x-content-type-options")),
            ("no-store", "nosniff"),
            "{path}"
        );
    }
    let mut stream = TcpStream::connect(world.client.addr()).expect("connects");
    write!(stream, "GET /v1/events HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {READER}\r\n\r\n").expect("sends");
    let head: Vec<String> =
        BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    assert!(head.iter().any(|line| line == "x-accel-buffering: no"), "{head:?}");
    world.stop();
}

#[test]
fn callers_without_a_token_leave_streams_to_others() {
    let world =
        World::start(Config { tokens: tokens(), public_read: true, streams: 2, ..Config::default() }, Gate::open());
    let mut open = world.client.events("/v1/events");
    assert_eq!(open.next().expect("an event").0, "status");
    assert_eq!(world.client.get("/v1/events").status, 503);
    let mut shown = world.client.with_token(READER).events("/v1/events");
    assert_eq!(shown.next().expect("an event").0, "status");
    world.stop();
}

/// Numbers of proofs that are stale, being proven, made and reused.
fn counts(tree: &Value) -> [usize; 4] {
    let states = tree["states"].as_str().expect("states");
    ['s', 'p', 'm', 'r'].map(|state| states.chars().filter(|found| *found == state).count())
}

#[test]
fn a_change_ripples_up_the_tree() {
    let world = World::start(Config::default(), Gate::open());
    let before = world.json("GET", "/v1/batches/b/tree", "", 200);
    let nodes = before["nodes"].as_array().expect("nodes").clone();
    assert_eq!(counts(&before), [0, 0, 0, nodes.len()], "another process has proven it");
    assert_eq!((&before["epoch"], &before["prover"]), (&1.into(), &"service".into()));
    assert_eq!(before["proofs"], nodes.len());
    let path = format!("/v1/batches/b/tree?structure={}", before["structure"].as_str().expect("a digest"));
    assert!(world.json("GET", &path, "", 200).get("nodes").is_none(), "the caller has them");

    world.gate.set(false);
    let mut events = world.client.events("/v1/events?batch=b");
    assert_eq!(events.next().expect("an event").0, "status");
    world.json("POST", "/v1/changes", &set(3, 7), 200);
    world.wait(|status| status["proving"].is_object());
    let stale = world.json("GET", &path, "", 200);
    let states: Vec<char> = stale["states"].as_str().expect("states").chars().collect();
    // The bucket of position 3 and the proofs above it.
    let mut number = Some(nodes.iter().position(|n| n["kind"] == "bucket").expect("a bucket"));
    let mut ripple = Vec::new();
    while let Some(at) = number {
        assert_eq!(states[at], 's', "{}", nodes[at]);
        ripple.push(at);
        number = nodes[at]["parent"].as_u64().map(|parent| parent as usize);
    }
    assert_eq!(counts(&stale), [ripple.len(), 0, 0, nodes.len() - ripple.len()]);

    world.gate.set(true);
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let fresh = world.json("GET", &path, "", 200);
    assert_eq!(counts(&fresh), [0, 0, ripple.len(), nodes.len() - ripple.len()]);
    // The last event has the state of the last proof of the ripple. All events together have the states of all its
    // proofs.
    let (mut seen, mut made) = (std::collections::BTreeMap::new(), 0);
    for (name, data) in events {
        let data: Value = serde_json::from_str(&data).expect("JSON");
        if name != "progress" {
            continue;
        }
        assert_eq!((&data["batch"], &data["epoch"]), (&"b".into(), &2.into()));
        assert_eq!(data["process"], before["process"]);
        assert!(data["from"].as_u64() <= data["to"].as_u64());
        for proof in data["proofs"].as_array().expect("proofs") {
            seen.insert(proof[0].as_u64().expect("a number") as usize, proof[1].clone());
        }
        made = data["proofs_made"].as_u64().expect("a number");
        if data["to"] == fresh["changes"] {
            break;
        }
    }
    assert_eq!(made, ripple.len() as u64);
    assert_eq!(seen, ripple.into_iter().map(|number| (number, json!("proven"))).collect());
    world.problem("GET", "/v1/batches/c/tree", "", 404, "not-found");
    let dir = world.dir.clone();
    world.stop();
    // The next process counts from 0, and has another name.
    let next = World::in_dir(dir, Config::default(), Gate::open());
    let tree = next.json("GET", &path, "", 200);
    assert_eq!((counts(&tree), &tree["changes"]), ([0, 0, 0, nodes.len()], &0.into()));
    assert_ne!(tree["process"], before["process"]);
    next.stop();
}

#[test]
fn epochs_say_what_they_changed_and_when_they_were_proven() {
    let world = World::start(Config { keep: Some(3), ..Config::default() }, Gate::open());
    for x in 0..2 {
        world.json("POST", "/v1/changes", &format!("{}\n{}", set(3, 100 + x), set(78 + x, x)), 200);
    }
    world.wait(|status| status["batches"][0]["fresh"] == true && status["epoch"] == 3);
    let epochs = world.json("GET", "/v1/epochs", "", 200);
    let numbers: Vec<_> = epochs.as_array().expect("epochs").iter().map(|epoch| epoch["epoch"].clone()).collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert_eq!(epochs[0]["commitment"], world.json("GET", "/v1/status", "", 200)["commitment"]);
    assert_eq!(epochs[2]["committed"], Value::Null, "another process has committed it");
    let committed = &epochs[0]["committed"];
    assert_eq!((&committed["set"], &committed["deleted"]), (&2.into(), &0.into()));
    let [age, after] = ["age", "proven_after"].map(|name| committed[name].as_f64().expect("seconds"));
    assert!(0.0 < after && after <= age && age < 60.0, "{committed}");
    let some = world.json("GET", "/v1/epochs?before=3&limit=1", "", 200);
    assert_eq!((some[0]["epoch"].clone(), some.as_array().map(Vec::len)), (json!(2), Some(1)));
    let (far, none) = ("/v1/epochs?before=99999999999&limit=1", "/v1/epochs?before=1");
    assert_eq!(world.json("GET", far, "", 200)[0]["epoch"], 3);
    assert_eq!(world.json("GET", none, "", 200), json!([]));
    world.problem("GET", "/v1/epochs?limit=x", "", 400, "malformed");

    let changes = world.json("GET", "/v1/epochs/3/changes", "", 200);
    assert_eq!(changes, json!({ "epoch": 3, "positions": [3, 79], "more": false }));
    world.problem("GET", "/v1/epochs/1/changes", "", 404, "not-found");
    world.problem("GET", "/v1/epochs/9/changes", "", 404, "not-found");
    world.stop();
}

#[test]
fn a_stream_that_is_open_to_all_outlives_no_token() {
    let tokens = Tokens::one(Token::new(TOKEN).expect("a token"));
    let config = Config { tokens: Some(tokens.clone()), public_read: true, ..Config::default() };
    let world = World::start(config, Gate::open());
    let mut shown = world.client.with_token(TOKEN).events("/v1/events");
    let mut open = world.client.events("/v1/events");
    for stream in [&mut shown, &mut open] {
        assert_eq!(stream.next().expect("an event").0, "status");
    }
    tokens.replace(Tokens::one(Token::new(READER).expect("a token")));
    let changed = world.client.with_token(READER).post("/v1/changes", &set(3, 1));
    assert_eq!(changed.status, 200);
    assert_eq!(open.next().expect("an event").0, "epoch");
    assert!(shown.next().is_none(), "its token was taken away");
    world.stop();
}
