//! The store of results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Key;

/// What became of a result that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is stored now.
    Stored,
    /// Another result was there first, and stays.
    AlreadyThere,
}

/// A store of results did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{context}: {source}")]
pub struct ResultsError {
    /// What was being done, with the key and where it is kept.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Results under their content keys.
///
/// The laws: what `put` has stored is what every later `get` gives, byte for byte; of two results that are offered under
/// one key the first stays; a result is either there whole or not there, whenever the process ends.
pub trait Results: Sync {
    /// The result under `key`, `None` when there is none.
    fn get(&self, key: &Key) -> Result<Option<Arc<[u8]>>, ResultsError>;
    /// Stores `bytes` under `key` unless a result is there.
    fn put(&self, key: &Key, bytes: &Arc<[u8]>) -> Result<Put, ResultsError>;
    /// True when a result is there. A store may judge it first, and answer `false` after taking a damaged one away.
    fn contains(&self, key: &Key) -> Result<bool, ResultsError>;
}

/// Results in memory.
#[derive(Debug, Default)]
pub struct MemoryResults(Mutex<HashMap<Key, Arc<[u8]>>>);

impl MemoryResults {
    /// No results.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of results.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// True when there is no result.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes a result away and says whether it was there.
    pub fn remove(&self, key: &Key) -> bool {
        self.lock().remove(key).is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<[u8]>>> {
        // Each method leaves the map whole, so that a panic elsewhere does not spoil it.
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
