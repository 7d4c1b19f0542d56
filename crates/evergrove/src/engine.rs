//! Engines within the bounds of a configuration.

use std::sync::Arc;

use evergrove_commit::BackendSpec;
use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::{Cores, Engine};
use evergrove_store::NodeCosts;

use crate::{Config, Error};

impl Config {
    /// Threads that proofs may use.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into))
    }

    /// The engine for proofs of these backends, with these costs: the workers, or an engine of this process that keeps
    /// to the threads and the memory of this configuration.
    ///
    /// # Errors
    /// [`Error::Memory`] when one proof takes more memory than proofs may take; [`Error::Threads`].
    pub fn engine<'a>(
        &self,
        proofs: impl IntoIterator<Item = (&'a BackendSpec, NodeCosts)>,
    ) -> Result<Box<dyn Engine>, Error> {
        #[cfg(feature = "queue")]
        if let Some(crate::Workers { queue, objects }) = &self.workers {
            return Ok(Box::new(evergrove_jobs::bullmq::BullmqEngine::new(queue.clone(), objects.clone())));
        }
        let threads = self.threads();
        let mut at_once = threads;
        for (spec, costs) in proofs {
            let fit = match self.max_memory {
                Some(limit) => costs.at_once(limit),
                None => free_memory().map_or(1, |free| costs.at_once(free / 2).max(1)),
            };
            if fit == 0 {
                let (needed, limit) = (costs.memory_bytes, self.max_memory.unwrap_or(0));
                return Err(Error::Memory { spec: Box::new(spec.clone()), needed, limit });
            }
            at_once = at_once.min(usize::try_from(fit).unwrap_or(usize::MAX));
        }
        Ok(Box::new(LocalEngine::new(at_once).with_cores(Arc::new(Cores::new(threads)?))))
    }
}

/// Memory that programs may still take without swapping, in bytes, if the system reports it.
fn free_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
