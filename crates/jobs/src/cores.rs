//! Threads of their own for tasks that have parallel loops within.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::local::STACK_BYTES;

/// As many pools of one thread as the machine has cores.
///
/// The parallel loops of tasks share the process's pool of threads; or, where there are enough tasks, each task has one thread
/// for itself. The first makes a single task as fast as the machine can. The second makes more tasks an hour, since no task
/// waits for the slowest of its threads and sequential parts of one run beside those of others; it takes the memory of
/// as many tasks as cores.
#[derive(Debug)]
pub struct Cores {
    pools: Vec<ThreadPool>,
    taken: Mutex<Vec<bool>>,
}

/// The system gave no more threads.
#[derive(Debug, thiserror::Error)]
#[error("{threads} threads for proofs cannot be started")]
pub struct CoresError {
    /// Threads that were asked for.
    pub threads: usize,
    /// Why.
    pub source: rayon::ThreadPoolBuildError,
}

impl Cores {
    /// `threads` pools. Threads that are not in use sleep.
    ///
    /// # Errors
    /// When the system refuses to start them.
    pub fn new(threads: usize) -> Result<Self, CoresError> {
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).stack_size(STACK_BYTES).build();
        let pools: Result<Vec<_>, _> = (0..threads).map(pool).collect();
        let pools = pools.map_err(|source| CoresError { threads, source })?;
        Ok(Self { taken: Mutex::new(vec![false; pools.len()]), pools })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pools.len()
    }

    /// Runs `work` with one thread for all of its parallel loops; on the spot, if none is free.
    pub fn run_alone<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.take() {
            Some(taken) => self.pools[taken.index].install(work),
            None => work(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<bool>> {
        // A flag is all that is written.
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

    /// Pools in use at the bottom of some calls within each other.
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
