//! The queue and the objects that leaders and workers share.

use std::path::PathBuf;

use anyhow::{Context, Result};
use evergrove_jobs::bullmq::{Config, QUEUE, Redis};
use evergrove_jobs::objects::Objects;

use crate::exit::Mistake;
use crate::files;

/// The variable that holds the password of Redis.
const PASSWORD: &str = "EVERGROVE_REDIS_PASSWORD";

/// Which queue of a Redis server, and how to get in.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct QueueArgs {
    /// Name of the queue that leaders and workers share
    #[arg(long, value_name = "NAME", default_value = QUEUE)]
    pub(crate) queue: String,
    /// File that holds the password of Redis [default: $EVERGROVE_REDIS_PASSWORD]
    #[arg(long, value_name = "FILE")]
    pub(crate) redis_password_file: Option<PathBuf>,
}

impl QueueArgs {
    /// The queue on the server at `url`.
    pub(crate) fn config(&self, url: &str) -> Result<Config> {
        let password = match &self.redis_password_file {
            Some(path) => {
                let bytes = files::read(path, 1 << 16, "give a file that holds the password alone")?;
                let text = String::from_utf8(bytes).ok().with_context(|| format!("{}: not UTF-8", path.display()))?;
                Some(text.trim_end_matches(['\r', '\n']).to_owned())
            }
            None => std::env::var(PASSWORD).ok(),
        };
        let redis = Redis::new(url, password.filter(|p| !p.is_empty()))?;
        Ok(Config::new(redis).with_queue(&self.queue))
    }
}

/// The objects at a URL, with credentials and settings from the environment.
pub(crate) fn objects(url: &str) -> Result<Objects> {
    if url.starts_with("memory:") {
        return Err(Mistake::usage(
            "objects in memory are not shared",
            "give file:///DIR, s3://BUCKET/PREFIX, gs:// or az://",
        ));
    }
    // A variable that is not UTF-8 is none of an object store's.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Objects::open(url, variables)?)
}
