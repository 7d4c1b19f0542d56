//! The engine of many processes: BullMQ's queues on Redis, results and payloads in an object store.
//!
//! A graph becomes *flows* of at most some thousand jobs; that a job starts after those that it needs, that a job whose worker
//! died starts again, attempts and priorities are BullMQ's. A job's data are ids alone: the key of the result, the hash of
//! the payload, the keys of the inputs. Since results are stored under content keys and the first one stays, a job that runs
//! twice has one effect.
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
//! [`BullmqEngine`] is the leader, [`Worker`] the loop of a worker, [`admin`] looks at runs and ends them. Other tools of
//! BullMQ can watch the queue, which is plain.

pub mod admin;
mod elsewhere;
mod engine;
mod events;
mod hands;
mod pieces;
mod queue;
mod record;
mod standing;
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

/// The name of a queue that is given none.
pub const QUEUE: &str = "evergrove";
/// What every key of a queue begins with: BullMQ's own default.
pub const PREFIX: &str = "bull";

/// What a certificate in PEM format begins with.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Where Redis is, and what the queue is called.
#[derive(Clone)]
pub struct Config {
    /// Where Redis is.
    pub redis: Redis,
    /// The queue's name: leaders and workers that share it work together. Without a colon.
    pub queue: String,
    /// How long a worker may be silent before its jobs are given to others. Renewed three times in that while.
    pub lock: Duration,
    /// Pause before another attempt at a job whose error may pass, and before another look at one that a worker is not fit for.
    pub back_off: Duration,
}

impl Config {
    /// The queue `evergrove`, locks of 30 s, pauses of half a second.
    pub fn new(redis: Redis) -> Self {
        Self { redis, queue: QUEUE.into(), lock: Duration::from_secs(30), back_off: Duration::from_millis(500) }
    }

    /// Sets the queue's name.
    pub fn with_queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = queue.into();
        self
    }

    /// Sets how long a worker may be silent.
    pub fn with_lock(mut self, lock: Duration) -> Self {
        self.lock = lock;
        self
    }

    /// Sets the pause before another attempt.
    pub fn with_back_off(mut self, back_off: Duration) -> Self {
        self.back_off = back_off;
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
    /// [`QueueError::Url`], also when the URL holds a password: command lines are seen by everyone on a machine.
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

    /// Lets the certificates of this PEM text vouch for the server, and nobody else; without it, those do that browsers trust.
    ///
    /// # Errors
    /// [`QueueError::Certificates`] when the text has none, or the server is not one with TLS.
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
