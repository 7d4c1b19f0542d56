//! The engine on BullMQ satisfies the laws of engines, with a real Redis server.

use evergrove_jobs::bullmq::admin::Admin;
use evergrove_jobs::bullmq::{BullmqEngine, Config, QueueError, Redis};
use evergrove_jobs::{Cancel, Engine, RunError};
use evergrove_testkit::engine::{self, MemoryResults, Silent};
use evergrove_testkit::servers::RedisServer;
use std::time::{Duration, Instant};

fn config(server: &RedisServer) -> Config {
    Config { back_off: Duration::ZERO, ..Config::new(Redis::new(&server.url(), None).expect("valid")) }
}

#[test]
fn keeps_the_laws_of_engines() {
    let Some(server) = RedisServer::start() else { return };
    engine::laws(&|concurrency| Box::new(BullmqEngine::local(config(&server), concurrency)));
    // The same laws with many flows.
    engine::laws(&|concurrency| Box::new(BullmqEngine::local(config(&server), concurrency).with_flow_size(5)));
}

#[test]
fn refuses_servers_that_lose_jobs() {
    for (option, part) in [
        (["--appendonly", "no"], "appendonly is no, expected yes"),
        (["--maxmemory-policy", "allkeys-lru"], "noeviction"),
    ] {
        let Some(server) = RedisServer::start_with(&option) else { return };
        let engine = BullmqEngine::local(config(&server), 1);
        let graph = engine::tree(1);
        match engine.run(&graph, &engine::Notes::new(), &MemoryResults::new(), &Silent, &Cancel::new()) {
            Err(RunError::Engine(e)) => {
                assert!(e.downcast_ref::<QueueError>().is_some());
                assert!(e.to_string().contains(part) && e.to_string().contains(&server.url()), "{e}");
            }
            other => panic!("expected a refusal, found {other:?}"),
        }
    }
}

#[test]
fn a_password_is_used_and_not_shown() {
    let Some(server) = RedisServer::start_with(&["--requirepass", "open sesame/:@"]) else { return };
    let run = |password: Option<&str>| {
        let redis = Redis::new(&server.url(), password.map(Into::into)).expect("valid");
        let engine = BullmqEngine::local(Config::new(redis), 2);
        let notes = engine::Notes::new();
        engine.run(&engine::tree(2), &notes, &MemoryResults::new(), &Silent, &Cancel::new())
    };
    assert_eq!(run(Some("open sesame/:@")).expect("runs").done, 7);
    for password in [None, Some("secret")] {
        let refused = run(password).expect_err("refused").to_string();
        assert!(refused.contains(&server.url()) && !refused.contains("secret"), "{refused}");
    }
}

#[test]
fn a_look_at_the_queue_does_not_wait_for_a_server_that_is_gone() {
    let Some(mut server) = RedisServer::start() else { return };
    let patience = Duration::from_secs(2);
    let admin = Admin::connect(&config(&server)).expect("connects");
    let (counts, workers) = admin.look(patience).expect("answers");
    assert!(counts.iter().all(|(_, jobs)| *jobs == 0), "{counts:?}");
    assert_eq!((counts, workers), (admin.counts().expect("answers"), 0));
    server.kill();
    for _ in 0..2 {
        let start = Instant::now();
        let gone = admin.look(patience).expect_err("the server is gone");
        assert!(matches!(gone, QueueError::Call { .. }), "{gone}");
        assert!(start.elapsed() < 2 * patience, "{:?}", start.elapsed());
    }
    server.restart();
    let again = Admin::connect(&config(&server)).expect("connects");
    assert_eq!(again.look(patience).expect("answers").1, 0);
}
