//! The store of results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Key;

/// The outcome of [`Results::put`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The offered result is stored.
    Stored,
    /// The key already has a result, which is kept.
    AlreadyThere,
}

/// A store of results did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{context}: {source}")]
pub struct ResultsError {
    /// The operation that failed, with the key and the place of the store.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Results under their content keys.
///
/// The laws:
/// - Every `get` after a `put` returns the stored bytes.
/// - If two results are put under one key, the first one stays.
/// - A result is stored as a whole or not at all, even if the process is killed.
pub trait Results: Sync {
    /// The result under `key`, or `None` if the store has none.
    fn get(&self, key: &Key) -> Result<Option<Arc<[u8]>>, ResultsError>;
    /// Stores `bytes` under `key`, unless the key already has a result.
    fn put(&self, key: &Key, bytes: &Arc<[u8]>) -> Result<Put, ResultsError>;
    /// True if the key has a result. A store may check the result first, delete a damaged one and return `false`.
    fn contains(&self, key: &Key) -> Result<bool, ResultsError>;
}

/// Results in memory.
#[derive(Debug, Default)]
pub struct MemoryResults(Mutex<HashMap<Key, Arc<[u8]>>>);

impl MemoryResults {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of results.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// True if the store is empty.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Removes a result. Returns whether the key had one.
    pub fn remove(&self, key: &Key) -> bool {
        self.lock().remove(key).is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<[u8]>>> {
        // A panic elsewhere does not damage the map: each method leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Results for MemoryResults {
    fn get(&self, key: &Key) -> Result<Option<Arc<[u8]>>, ResultsError> {
        Ok(self.lock().get(key).cloned())
    }

    fn put(&self, key: &Key, bytes: &Arc<[u8]>) -> Result<Put, ResultsError> {
        match self.lock().entry(*key) {
            std::collections::hash_map::Entry::Occupied(_) => Ok(Put::AlreadyThere),
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(bytes.clone());
                Ok(Put::Stored)
            }
        }
    }

    fn contains(&self, key: &Key) -> Result<bool, ResultsError> {
        Ok(self.lock().contains_key(key))
    }
}
