//! The engine for many processes: queues of BullMQ on Redis, with results and payloads in an object store.
//!
//! A graph becomes *flows* of at most some thousand jobs. BullMQ starts a job after the jobs that it needs, starts a
//! job again if its worker dies, and handles attempts and priorities. The data of a job are ids only: the key of the
//! result, the hash of the payload, the keys of the inputs. Results are stored under content keys and the first one
//! stays, so a job that runs twice has the same effect as a job that runs once.
//!
//! ```text
//!   leader: Engine::run                 Redis                    worker: Worker::run
//!   payloads ──▶ objects                                         payload, inputs ◀── objects
//!   flows ─────────────────────▶ waiting-children                check inputs, execute
//!                                prioritized ──────────────────▶ active (lock renewed)
//!   events ◀──────────────────── completed, failed ◀──────────── result ──▶ objects
//!   check, keep the result ◀── objects
//! ```
//!
//! [`BullmqEngine`] is the leader, [`Worker`] the loop of a worker. [`admin`] shows runs and stops them. Any tool for
//! BullMQ can watch the queue.

pub mod admin;
mod consumer;
mod engine;
mod events;
mod flow;
mod leader;
mod queue;
mod record;
mod run;
mod threads;
mod upload;
mod worker;

use std::time::Duration;

pub use engine::BullmqEngine;
pub use queue::QueueError;
pub use record::{RunRecord, RunState};
pub use worker::{Worker, WorkerConfig, WorkerEvent, WorkerReport};

use bullmq::options::TlsCerts;
use url::Url;

/// The default name of a queue.
pub const QUEUE: &str = "evergrove";
/// Prefix of every key of a queue: BullMQ's default.
pub const PREFIX: &str = "bull";

/// First line of a certificate in PEM format.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// The Redis server, the name of the queue, and its times.
#[derive(Clone)]
pub struct Config {
    /// The Redis server.
    pub redis: Redis,
    /// Name of the queue, without a colon. Leaders and workers with the same name work together.
    pub queue: String,
    /// How long a worker may be silent before other workers get its jobs. A worker renews its locks three times in this
    /// period.
    pub lock: Duration,
    /// Pause before a job with a transient error is tried again, and before a job that a worker cannot do is offered
    /// again.
    pub back_off: Duration,
}

impl Config {
    /// The queue `evergrove`, locks of 30 s and pauses of half a second.
    pub fn new(redis: Redis) -> Self {
        Self { redis, queue: QUEUE.into(), lock: Duration::from_secs(30), back_off: Duration::from_millis(500) }
    }

    /// Sets the queue's name.
    pub fn with_queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = queue.into();
        self
    }

    /// Sets how long a worker may be silent before other workers get its jobs.
    pub fn with_lock(mut self, lock: Duration) -> Self {
        self.lock = lock;
        self
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("redis", &self.redis).field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// The address of a Redis server. Its password is never shown.
#[derive(Clone)]
pub struct Redis {
    host: String,
    port: u16,
    database: u8,
    username: Option<String>,
    password: Option<String>,
    tls: bool,
    ca: Option<Vec<u8>>,
}

impl Redis {
    /// The server at `redis://[USER@]HOST[:PORT][/DATABASE]`, or with TLS at `rediss://..`, and its password.
    ///
    /// # Errors
    /// [`QueueError::Url`], also if the URL contains a password: every user of a machine can see command lines.
    pub fn new(url: &str, password: Option<String>) -> Result<Self, QueueError> {
        let invalid = |what: &str| QueueError::Url { what: what.into() };
        let parsed = Url::parse(url).map_err(|e| QueueError::Url { what: e.to_string() })?;
        let tls = match parsed.scheme() {
            "redis" => false,
            "rediss" => true,
            _ => return Err(invalid("the scheme is not redis or rediss")),
        };
        if parsed.password().is_some() {
            return Err(invalid("a password does not belong into it: give it in the environment or a file"));
        }
        let host = parsed.host_str().ok_or_else(|| invalid("there is no host"))?;
        let database = match parsed.path().trim_start_matches('/') {
            "" => 0,
            number => number.parse().map_err(|_| invalid("the path is not the number of a database"))?,
        };
        Ok(Self {
            host: host.trim_matches(['[', ']']).into(),
            port: parsed.port().unwrap_or(6379),
            database,
            username: Some(parsed.username().to_owned()).filter(|u| !u.is_empty()),
            password,
            tls,
            ca: None,
        })
    }

    /// Trusts only the certificates in this PEM text to verify the server. By default, the certificates that browsers
    /// trust are used.
    ///
    /// # Errors
    /// [`QueueError::Certificates`] if the text has no certificate, or if the server's URL is without TLS.
    pub fn with_ca(mut self, pem: Vec<u8>) -> Result<Self, QueueError> {
        let wrong = |what: &str| Err(QueueError::Certificates { redis: self.to_string(), what: what.into() });
        if !self.tls {
            return wrong("its URL does not begin with rediss://");
        }
        if !pem.windows(BEGIN.len()).any(|text| text == BEGIN) {
            return wrong("the text has no certificate in PEM format");
        }
        self.ca = Some(pem);
        Ok(self)
    }

    fn options(&self) -> bullmq::options::RedisConnectionOptions {
        let mut options = bullmq::options::RedisConnectionOptions::new()
            .host(&self.host)
            .port(self.port)
            .db(self.database)
            .tls(self.tls);
        options.username.clone_from(&self.username);
        options.password.clone_from(&self.password);
        options.tls_certs = self.ca.clone().map(|ca| TlsCerts { root_cert: Some(ca), ..TlsCerts::default() });
        options
    }
}

impl std::fmt::Display for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let user = self.username.as_ref().map_or(String::new(), |u| format!("{u}@"));
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "{scheme}://{user}{host}:{}/{}", self.port, self.database)
    }
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_passwords_refused() {
        let shown = |url| Redis::new(url, None).map(|r| r.to_string()).map_err(|e| e.to_string());
        assert_eq!(shown("redis://example.org"), Ok("redis://example.org:6379/0".into()));
        assert_eq!(shown("rediss://worker@[::1]:7000/3"), Ok("rediss://worker@[::1]:7000/3".into()));
        for (url, part) in [
            ("redis://:secret@host", "password"),
            ("http://host", "scheme"),
            ("redis://host/queue", "number of a database"),
            ("host:6379", "scheme"),
            ("", "URL"),
        ] {
            let refused = shown(url).expect_err(url);
            assert!(refused.contains(part) && !refused.contains("secret"), "{url:?}: {refused}");
        }
        let ca =
            |url, pem: &[u8]| Redis::new(url, None).and_then(|r| r.with_ca(pem.to_vec())).map_err(|e| e.to_string());
        assert!(ca("rediss://host", &[b"# ours\n", BEGIN].concat()).is_ok());
        assert!(ca("rediss://host", b"").expect_err("nothing").contains("PEM"));
        assert!(ca("redis://host", BEGIN).expect_err("no TLS").contains("rediss://"));
        let secret = Redis::new("redis://host", Some("secret".into())).expect("valid");
        assert!(!format!("{secret:?} {:?}", Config::new(secret.clone())).contains("secret"));
    }
}
