//! The queue and the objects that leaders and workers share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use evergrove::Environment;
use evergrove::jobs::bullmq::admin::Admin;
use evergrove::jobs::bullmq::{Config, QUEUE, Redis};
use evergrove::jobs::metrics::Metrics;
use evergrove::jobs::objects::Objects;

use crate::exit::CliError;
use crate::files;

/// Greatest size of a file of certificates in bytes. The certificates that a system trusts take a quarter of it.
const CA_BYTES: u64 = 1 << 20;
/// Pause between two looks at the depth of the queue, and the time limit of each look.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Which queue of a Redis server, and how to get in.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct QueueArgs {
    /// Name of the queue that leaders and workers share
    #[arg(long, value_name = "NAME", default_value = QUEUE)]
    pub(crate) queue: String,
    /// File that holds the password of Redis [default: $EVERGROVE_REDIS_PASSWORD]
    #[arg(long, value_name = "FILE")]
    pub(crate) redis_password_file: Option<PathBuf>,
    /// File of the certificates (PEM) of authorities that a Redis server with TLS may have [default: $EVERGROVE_REDIS_CA, or the public ones]
    #[arg(long, value_name = "FILE")]
    pub(crate) redis_ca: Option<PathBuf>,
}

impl QueueArgs {
    /// The queue on the server at `url`.
    pub(crate) fn config(&self, url: &str, environment: &Environment) -> Result<Config> {
        let password = match &self.redis_password_file {
            Some(path) => {
                let bytes = files::read(path, 1 << 16, "give a file that holds the password alone")?;
                let text = String::from_utf8(bytes).ok().with_context(|| format!("{}: not UTF-8", path.display()))?;
                Some(text.trim_end_matches(['\r', '\n']).to_owned())
            }
            None => environment.redis_password.clone(),
        };
        let redis = Redis::new(url, password.filter(|p| !p.is_empty()))?;
        let ca = self.redis_ca.clone().or_else(|| environment.redis_ca.clone());
        let redis = match ca {
            Some(path) => redis.with_ca(files::read(&path, CA_BYTES, "give a file of certificates in PEM format")?)?,
            None => redis,
        };
        Ok(Config::new(redis).with_queue(&self.queue))
    }
}

/// Counts the tasks and the workers of the queue every two seconds, on a thread that lives as long as the process. The
/// returned flag says whether the queue answers.
pub(crate) fn watch(config: Config, metrics: Metrics) -> Result<Arc<AtomicBool>> {
    let answers = Arc::new(AtomicBool::new(true));
    let told = answers.clone();
    let look = move || {
        let mut admin = None;
        loop {
            if admin.is_none() {
                admin = Admin::connect(&config).ok();
            }
            let counts = admin.as_ref().and_then(|admin| admin.look(LOOK_EVERY).ok());
            told.store(counts.is_some(), Ordering::Relaxed);
            metrics.queue_up(counts.is_some());
            if counts.is_none() {
                // A new connection shows sooner that the server is back.
                admin = None;
            }
            if let Some((counts, workers)) = counts {
                metrics.workers(workers);
                for (state, jobs) in counts {
                    metrics.queue(state.name(), usize::try_from(jobs).unwrap_or(usize::MAX));
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    };
    thread::Builder::new().name("queue".into()).spawn(look).context("the queue's depth")?;
    Ok(answers)
}

/// The objects at a URL, with credentials and settings from the environment.
pub(crate) fn objects(url: &str, environment: &Environment) -> Result<Objects> {
    if url.starts_with("memory:") {
        return Err(CliError::usage(
            "objects in memory are not shared",
            "give file:///DIR, s3://BUCKET/PREFIX, gs:// or az://",
        ));
    }
    Ok(Objects::open(url, environment.variables.iter().cloned())?)
}
