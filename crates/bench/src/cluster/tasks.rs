//! A tree of empty tasks, which measures the overhead of an engine.

use std::sync::Arc;
use std::time::Instant;

use evergrove_jobs::{Cancel, Engine, Key, Runner, Task, TaskFailure, TaskGraph, TaskId};
use evergrove_testkit::engine::{MemoryResults, Silent};

/// A graph whose tasks do nothing.
pub(crate) struct Tasks(TaskGraph);

struct Nothing;

impl Runner for Nothing {
    fn run(&self, _: TaskId, task: &Task, _: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        Ok(task.key.0.to_vec())
    }
}

impl Tasks {
    /// A binary tree of at least `count` tasks.
    pub(crate) fn empty(count: usize) -> Self {
        let mut graph = TaskGraph::new();
        let leaves = count.div_ceil(2);
        let mut add = |number: usize, priority, deps| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&(number as u64).to_le_bytes());
            graph.add(Task { key: Key(key), kind: "empty", priority, deps })
        };
        // Node n has the children 2 n and 2 n + 1, which are added before it.
        for n in (1..2 * leaves).rev() {
            let deps =
                if n < leaves { vec![TaskId(2 * leaves - 1 - 2 * n), TaskId(2 * leaves - 2 - 2 * n)] } else { vec![] };
            add(n, i32::from(n < leaves), deps).expect("children are added before their parents, by distinct numbers");
        }
        Self(graph)
    }

    /// Seconds per task.
    pub(crate) fn seconds(&self, engine: &dyn Engine) -> anyhow::Result<f64> {
        let start = Instant::now();
        engine.run(&self.0, &Nothing, &MemoryResults::new(), &Silent, &Cancel::new())?;
        Ok(start.elapsed().as_secs_f64() / self.0.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use evergrove_jobs::local::LocalEngine;

    use super::*;

    #[test]
    fn the_tree_is_one_tree() {
        for (count, tasks) in [(1, 1), (5, 5), (1000, 999)] {
            let tree = Tasks::empty(count);
            assert_eq!(tree.0.len(), tasks);
            assert_eq!(tree.0.missing(|_| Ok::<_, ()>(false)).unwrap().len(), tasks, "all hang on the root");
            assert!(tree.seconds(&LocalEngine::new(2)).unwrap() > 0.0);
        }
    }
}
