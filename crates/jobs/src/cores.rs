//! Single-threaded pools for tasks with parallel loops.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::local::STACK_BYTES;

/// Pools of one thread each, normally one pool for each core of the machine.
///
/// The parallel loops of tasks either share the process's thread pool, or, if there are enough tasks, run in a pool of
/// one thread for each task. The shared pool gives one task the lowest latency. One thread for each task gives more
/// tasks an hour: no task waits for its slowest thread, and the sequential parts of a task run beside those of others.
/// It needs the memory of as many tasks as cores.
#[derive(Debug)]
pub struct Cores {
    pools: Vec<ThreadPool>,
    taken: Mutex<Vec<bool>>,
}

/// The system did not start the threads.
#[derive(Debug, thiserror::Error)]
#[error("{threads} threads for proofs cannot be started")]
pub struct CoresError {
    /// Number of requested threads.
    pub threads: usize,
    /// The cause.
    pub source: rayon::ThreadPoolBuildError,
}

impl Cores {
    /// Makes `threads` pools. Unused threads sleep.
    ///
    /// # Errors
    /// If the system refuses to start the threads.
    pub fn new(threads: usize) -> Result<Self, CoresError> {
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).stack_size(STACK_BYTES).build();
        let pools: Result<Vec<_>, _> = (0..threads).map(pool).collect();
        let pools = pools.map_err(|source| CoresError { threads, source })?;
        Ok(Self { taken: Mutex::new(vec![false; pools.len()]), pools })
    }

    /// Number of pools.
    pub fn count(&self) -> usize {
        self.pools.len()
    }

    /// Runs `work` and all its parallel loops on one thread of a free pool. If no pool is free, calls `work` directly.
    pub fn run_alone<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.take() {
            Some(taken) => self.pools[taken.index].install(work),
            None => work(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<bool>> {
        // A panic elsewhere leaves a valid flag: the only write is that of a flag.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Taken<'_>> {
        let mut taken = self.lock();
        let index = taken.iter().position(|taken| !taken)?;
        taken[index] = true;
        Some(Taken { cores: self, index })
    }
}

/// A pool in use.
struct Taken<'a> {
    cores: &'a Cores,
    index: usize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.cores.lock()[self.index] = false;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Pools in use at the bottom of `depth` nested calls.
    fn in_use(cores: &Cores, depth: usize) -> usize {
        match depth {
            0 => cores.lock().iter().filter(|taken| **taken).count(),
            _ => cores.run_alone(|| in_use(cores, depth - 1)),
        }
    }

    #[test]
    fn a_pool_is_taken_and_given_back() {
        let cores = Cores::new(3).unwrap();
        assert_eq!(cores.count(), 3);
        assert_eq!(cores.run_alone(rayon::current_num_threads), 1);
        assert_eq!([1, 2, 3, 4].map(|depth| in_use(&cores, depth)), [1, 2, 3, 3], "the fourth finds none free");
        assert!(catch_unwind(AssertUnwindSafe(|| cores.run_alone(|| panic!("in a task")))).is_err());
        assert_eq!(in_use(&cores, 0), 0, "after a panic too");
        assert_eq!(Cores::new(0).unwrap().run_alone(|| 7), 7);
    }
}
