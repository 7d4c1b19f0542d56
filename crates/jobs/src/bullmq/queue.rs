//! A connection to the queue. Its calls survive a restart of the server.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bullmq::{FlowProducer, FlowProducerOptions, Queue, QueueOptions};
use redis::TlsCertificates;
use tokio::runtime::{Builder, Runtime};

use super::{Config, PREFIX};

/// The oldest version of Redis that has the commands of the queue.
const VERSION: (u32, u32) = (6, 2);
/// How long a server may take to answer the first request.
const ANSWER: Duration = Duration::from_secs(10);
/// Number of jobs that are removed concurrently.
const REMOVED: usize = 256;
/// How long calls are repeated while the server is unreachable.
const PATIENCE: Duration = Duration::from_secs(60);

/// An error of the queue or of its server.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The URL is not that of a Redis server.
    #[error("invalid Redis URL: {what}")]
    Url {
        /// What is wrong with it.
        what: String,
    },
    /// The name is not a valid name of a queue.
    #[error("invalid queue name {name:?}: expected letters, digits, '-', '_' and '.'")]
    Name {
        /// The name.
        name: String,
    },
    /// The certificates cannot be used to verify the server.
    #[error("invalid certificates for {redis}: {what}")]
    Certificates {
        /// The server.
        redis: String,
        /// The reason.
        what: String,
    },
    /// The server is too old.
    #[error("{redis} is Redis {found}, expected {}.{} or newer", VERSION.0, VERSION.1)]
    Version {
        /// The server.
        redis: String,
        /// Its version.
        found: String,
    },
    /// The server may drop jobs when its memory is full.
    #[error("{redis} may lose jobs: its maxmemory-policy is {policy}, expected noeviction")]
    Evicts {
        /// The server.
        redis: String,
        /// Its policy.
        policy: String,
    },
    /// The server forgets its jobs when it is restarted.
    #[error("{redis} loses the queue in a restart: its appendonly is no, expected yes")]
    NotDurable {
        /// The server.
        redis: String,
    },
    /// A call failed.
    #[error("{redis}: {what}: {source}")]
    Call {
        /// The server.
        redis: String,
        /// The operation that failed.
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<bullmq::Error>,
    },
    /// The system did not start a thread.
    #[error("the thread of the queue's connection cannot be started: {0}")]
    Thread(#[source] std::io::Error),
    /// The run or job does not exist.
    #[error("unknown {what} {id:?} in queue {queue}")]
    Unknown {
        /// Run or job.
        what: &'static str,
        /// Its name.
        id: String,
        /// The queue.
        queue: String,
    },
}

/// A connection to one queue with a thread of its own. No task runs on this thread, so a proof never delays the renewal
/// of locks. With more threads, the calls of a job would move from one thread to another.
pub(super) struct Connection {
    pub(super) config: Config,
    pub(super) queue: Queue,
    pub(super) flows: FlowProducer,
    runtime: Option<Runtime>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Connection {
    /// Connects. Refuses a server that could lose jobs.
    pub(super) fn open(config: &Config) -> Result<Self, QueueError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if config.queue.is_empty() || !config.queue.chars().all(plain) {
            return Err(QueueError::Name { name: config.queue.clone() });
        }
        if config.redis.tls {
            crate::tls::install();
        }
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("queue").enable_all().build();
        let runtime = runtime.map_err(QueueError::Thread)?;
        let (queue, flows) = runtime.block_on(async {
            check(config).await?;
            let options = QueueOptions::new().connection(config.redis.options()).prefix(PREFIX);
            let queue = Queue::with_options(&config.queue, options).await.map_err(call(config, "connecting"))?;
            let options = FlowProducerOptions::new().connection(config.redis.options()).prefix(PREFIX);
            let flows = FlowProducer::with_options(options).await.map_err(call(config, "connecting"))?;
            Ok::<_, QueueError>((queue, flows))
        })?;
        Ok(Self { config: config.clone(), queue, flows, runtime: Some(runtime) })
    }

    pub(super) fn runtime(&self) -> &Runtime {
        let Some(runtime) = &self.runtime else { unreachable!("taken when the connection goes") };
        runtime
    }

    /// Makes a call, and repeats it for up to a minute while the server is unreachable. It must be safe to make the
    /// call twice.
    pub(super) fn call<T>(
        &self,
        what: &'static str,
        mut call: impl AsyncFnMut() -> Result<T, bullmq::Error>,
    ) -> Result<T, QueueError> {
        let begin = Instant::now();
        let attempts = async {
            let mut pause = Duration::from_millis(20);
            loop {
                match call().await {
                    Err(bullmq::Error::Redis(e)) if passes(&e) && begin.elapsed() < PATIENCE => {
                        tokio::time::sleep(pause).await;
                        pause = (2 * pause).min(Duration::from_secs(1));
                    }
                    outcome => return outcome,
                }
            }
        };
        self.runtime().block_on(attempts).map_err(self::call(&self.config, what))
    }

    /// Makes calls once, and waits up to `patience` for their outcome.
    pub(super) fn try_once<T>(
        &self,
        what: &'static str,
        patience: Duration,
        calls: impl Future<Output = Result<T, bullmq::Error>>,
    ) -> Result<T, QueueError> {
        let outcome = self.runtime().block_on(async { tokio::time::timeout(patience, calls).await });
        outcome.unwrap_or_else(|_| Err(bullmq::Error::Redis(late()))).map_err(call(&self.config, what))
    }

    /// Removes jobs, parents before children: without its children, a parent that stays would start. Running jobs stay.
    /// In `names`, each parent comes before its children.
    pub(super) fn remove(&self, names: &[String]) -> Result<(), QueueError> {
        // Calls that are sent together may be done in any order, so every level is sent when the one above is gone.
        let mut levels: Vec<Vec<&str>> = Vec::new();
        let mut level_of = HashMap::with_capacity(names.len());
        for (name, parent) in names.iter().zip(self.parents(names)?) {
            let level =
                parent.and_then(|parent| level_of.get(parent.as_str()).copied()).map_or(0, |above: usize| above + 1);
            level_of.insert(name.as_str(), level);
            if level == levels.len() {
                levels.push(Vec::new());
            }
            levels[level].push(name);
        }
        for names in levels.iter().flat_map(|level| level.chunks(REMOVED)) {
            self.call("removing jobs", async || {
                let removals = names.iter().map(|name| self.queue.remove_without_children(name));
                futures_util::future::try_join_all(removals).await.map(drop)
            })?;
        }
        Ok(())
    }

    /// The names of the parents of these jobs, none for a job that has no parent or has gone.
    fn parents(&self, names: &[String]) -> Result<Vec<Option<String>>, QueueError> {
        let mut parents = Vec::with_capacity(names.len());
        for names in names.chunks(REMOVED) {
            let mut asked = redis::Pipeline::with_capacity(names.len());
            for name in names {
                asked.hget(format!("{PREFIX}:{}:{name}", self.config.queue), "parentKey");
            }
            let keys: Vec<Option<String>> = self.call("reading jobs", async || {
                Ok(asked.query_async(&mut self.queue.connection().connection()).await?)
            })?;
            parents.extend(keys.into_iter().map(|key| Some(key?.rsplit(':').next()?.to_owned())));
        }
        Ok(parents)
    }

    /// Sends one command and returns its answer.
    pub(super) fn command<T: redis::FromRedisValue>(
        &self,
        what: &'static str,
        command: &redis::Cmd,
    ) -> Result<T, QueueError> {
        self.call(what, async || self.queue.connection().cmd(&mut command.clone()).await)
    }
}

/// The error for a server that does not answer in time.
fn late() -> redis::RedisError {
    redis::RedisError::from((redis::ErrorKind::Io, "no answer in time"))
}

/// True for errors that a restart of the server can cause.
fn passes(e: &redis::RedisError) -> bool {
    let code = e.code().unwrap_or_default();
    e.is_io_error()
        || e.is_connection_dropped()
        || e.is_timeout()
        || matches!(code, "LOADING" | "BUSY" | "TRYAGAIN" | "NOSCRIPT")
}

pub(super) fn call<'c>(config: &'c Config, what: &'static str) -> impl FnOnce(bullmq::Error) -> QueueError + 'c {
    move |source| QueueError::Call { redis: config.redis.to_string(), what, source: Box::new(source) }
}

/// Asks the server once for its version and settings. The queue's own connections would retry a wrong password for a
/// long time.
async fn check(config: &Config) -> Result<(), QueueError> {
    let ask = async {
        let url = config.redis.options().effective_url();
        let client = match config.redis.ca.clone() {
            Some(ca) => redis::Client::build_with_tls(url, TlsCertificates { client_tls: None, root_cert: Some(ca) })?,
            None => redis::Client::open(url)?,
        };
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("INFO").query_async::<String>(&mut connection).await
    };
    let answer = tokio::time::timeout(ANSWER, ask).await.unwrap_or_else(|_| Err(late()));
    let info = answer.map_err(|e| call(config, "connecting")(bullmq::Error::Redis(e)))?;
    judge(&info, &config.redis.to_string())
}

/// Checks the version and the settings in the server's answer to `INFO`.
fn judge(info: &str, redis: &str) -> Result<(), QueueError> {
    let value = |name: &str| {
        let line = info.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim().to_owned()
    };
    let found = value("redis_version");
    let mut numbers = found.split('.').map_while(|n| n.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < VERSION {
        return Err(QueueError::Version { redis: redis.into(), found });
    }
    let policy = value("maxmemory_policy");
    if policy != "noeviction" {
        return Err(QueueError::Evicts { redis: redis.into(), policy });
    }
    if value("aof_enabled") != "1" {
        return Err(QueueError::NotDurable { redis: redis.into() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_lose_jobs_are_refused() {
        let info = |version, policy, aof| {
            format!("# Server\r\nredis_version:{version}\r\nmaxmemory_policy:{policy}\r\naof_enabled:{aof}\r\n")
        };
        let judged = |text: &str| judge(text, "redis://host").map_err(|e| e.to_string());
        assert_eq!(judged(&info("7.0.15", "noeviction", 1)), Ok(()));
        assert_eq!(judged(&info("6.2.0", "noeviction", 1)), Ok(()));
        for (text, part) in [
            (info("6.0.16", "noeviction", 1), "6.2 or newer"),
            (info("7.2.4", "allkeys-lru", 1), "maxmemory-policy is allkeys-lru"),
            (info("7.2.4", "noeviction", 0), "appendonly is no"),
            (String::new(), "6.2 or newer"),
        ] {
            let refused = judged(&text).expect_err(part);
            assert!(refused.contains(part), "{refused}");
        }
    }
}
