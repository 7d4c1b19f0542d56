//! Tasks and their dependencies.

use core::fmt;
use std::collections::HashMap;

use crate::GraphError;

/// The content key of a result: a hash of everything that the result depends on.
///
/// Tasks with the same key have the same result. A result stored under a task's key is that task's result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; 32]);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl Key {
    /// Parses a key: 64 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let value = |digit: &u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = value(&pair[0])? << 4 | value(&pair[1])?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// A task of a graph, as its index in the order of [`TaskGraph::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub usize);

/// A unit of work with one result.
///
/// The states of a task in an engine:
///
/// ```text
///            key is stored, or only stored
///            results need it
///   planned ───────────────────────────────▶ skipped
///      │
///      │ all results that it needs exist
///      ▼            a worker is free
///    ready ───────────────────────────────▶ running ──────────────────▶ done (result stored)
///      ▲  │                                   │  │
///      │  │ another task failed,              │  │ transient error, attempts left
///      │  │ or cancellation                   │  └───────────────────────▶ ready
///      │  ▼                                   │
///      │ stopped                              └──▶ failed (permanent error, panic, or no attempt left)
///      └── planned tasks are stopped too
/// ```
///
/// A running task is never interrupted. When another task fails, the running one ends and its result is stored, and a
/// later run of the same graph finds that result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The key under which the result is stored.
    pub key: Key,
    /// A word for messages and statistics, for example `bucket`.
    pub kind: &'static str,
    /// The ready task with the highest priority starts first. Between equal priorities, the task added first starts.
    pub priority: i32,
    /// The tasks whose results are the inputs of this one, in this order.
    pub deps: Vec<TaskId>,
}

/// An acyclic graph of tasks with distinct keys. Its *root* is the task added last; a run makes the root's result.
///
/// A task can only need tasks that were added before it. The graph is therefore acyclic.
#[derive(Clone, Debug, Default)]
pub struct TaskGraph {
    tasks: Vec<Task>,
    by_key: HashMap<Key, TaskId>,
}

impl TaskGraph {
    /// A graph without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task.
    ///
    /// # Errors
    /// [`GraphError::UnknownTask`] if the task needs one that has not been added, which also rules out cycles.
    /// [`GraphError::DuplicateKey`] if another task has the same key.
    pub fn add(&mut self, task: Task) -> Result<TaskId, GraphError> {
        let id = TaskId(self.tasks.len());
        if let Some(dep) = task.deps.iter().find(|d| d.0 >= id.0) {
            return Err(GraphError::UnknownTask { task: id, dep: *dep });
        }
        if let Some(first) = self.by_key.get(&task.key) {
            return Err(GraphError::DuplicateKey { key: task.key, first: *first, second: id });
        }
        self.by_key.insert(task.key, id);
        self.tasks.push(task);
        Ok(id)
    }

    /// The task with this id.
    ///
    /// # Panics
    /// If the id does not belong to this graph.
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.0]
    }

    /// The task with this key.
    pub fn find(&self, key: &Key) -> Option<TaskId> {
        self.by_key.get(key).copied()
    }

    /// All tasks in the order in which they were added, each after the tasks that it needs.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.tasks.iter().enumerate().map(|(i, t)| (TaskId(i), t))
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True if no task has been added.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The task whose result a run makes, or `None` if the graph is empty.
    pub fn root(&self) -> Option<TaskId> {
        self.tasks.len().checked_sub(1).map(TaskId)
    }

    /// The tasks that must run to make the root's result, in ascending order: the root unless its result is stored, and
    /// every task without a stored result that one of these tasks needs. Calls `stored` at most once for each task, and
    /// never for a task that only tasks with stored results need.
    ///
    /// # Errors
    /// The first error of `stored`.
    pub fn missing<E>(&self, mut stored: impl FnMut(TaskId) -> Result<bool, E>) -> Result<Vec<TaskId>, E> {
        let mut seen = vec![false; self.tasks.len()];
        let mut stack: Vec<TaskId> = self.root().into_iter().collect();
        let mut missing = Vec::new();
        while let Some(id) = stack.pop() {
            if core::mem::replace(&mut seen[id.0], true) || stored(id)? {
                continue;
            }
            missing.push(id);
            stack.extend(&self.tasks[id.0].deps);
        }
        missing.sort_unstable();
        Ok(missing)
    }
}
