//! A queue behind TLS, with a certificate that no public authority has signed.

use std::process::Stdio;

use evergrove_testkit::servers::{RedisServer, tls_file};

use crate::world::{NATIVE, World};

#[test]
fn certificates_of_our_own_vouch_for_redis() {
    let Some((redis, port)) = RedisServer::start_with_tls() else { return };
    let world = World::with_table();
    let (ca, url) = (tls_file("ca.pem").display().to_string(), format!("rediss://127.0.0.1:{port}"));
    let list = ["jobs", "list", "--redis", &url];
    let refused = world.fails(5, &list);
    assert!(refused.contains("certificate"), "{refused}");
    let known = world.json(&[&list[..], &["--redis-ca", &ca]].concat());
    assert_eq!(known["workers"], 0);
    // The server's own certificate does not vouch for it. A file without certificates and a server without TLS are
    // refused.
    let server = tls_file("server.pem").display().to_string();
    let other = world.run(&[&list[..], &["--redis-ca", &server]].concat());
    assert_eq!(other.code, 5, "{}", other.err);
    let key = tls_file("server.key").display().to_string();
    let e = world.fails(2, &[&list[..], &["--redis-ca", &key]].concat());
    assert!(e.contains("no certificate in PEM format") && !e.contains("PRIVATE"), "{e}");
    let e = world.fails(2, &["jobs", "list", "--redis", &redis.url(), "--redis-ca", &ca]);
    assert!(e.contains("rediss://"), "{e}");

    // A leader and a worker.
    std::fs::create_dir_all(world.path("objects")).unwrap();
    let objects = format!("file://{}", world.path("objects").display());
    let variable = [("EVERGROVE_REDIS_CA".to_owned(), ca)];
    let worker = ["worker", "--redis", &url, "--objects", &objects, "--threads", "1", "--quiet"];
    let mut worker = world.start(&worker, &variable);
    let prove = ["prove", "--store", "s", "--batch", "b", "--indices", "0,3,6"];
    let prove = [&prove[..], &NATIVE, &["--engine", &url, "--objects", &objects]].concat();
    let leader = world.command().args(prove).envs(variable).stdout(Stdio::null()).output().unwrap();
    // The worker may have ended already, although it should not.
    let _ = worker.kill();
    let _ = worker.wait();
    assert!(leader.status.success(), "{}", String::from_utf8_lossy(&leader.stderr));
    world.check_batch();
}
