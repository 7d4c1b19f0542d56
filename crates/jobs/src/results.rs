//! The store of results.

use std::sync::Arc;

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
