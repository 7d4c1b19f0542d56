//! The seam between the tree and the store of its pages.

use std::sync::Arc;

use evergrove_verifier::tree::Value;

use crate::page::Page;

/// Names a page: the nodes strictly below node (level 7 (tier + 1), `position`), down to level 7 tier.
///
/// Tier 0 holds levels 0 (leaves) to 6, tier 1 levels 7 to 13, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    /// Height of the page's bottom level, in units of [`crate::page::PAGE_LEVELS`].
    pub tier: u8,
    /// Position of the page's root among the nodes of its level.
    pub position: u64,
}

/// Why a store failed.
#[derive(Debug, thiserror::Error)]
#[error("{context}: {source}")]
pub struct StoreError {
    /// The operation in progress.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// A read view of one epoch of a vector.
pub trait Store: Sync {
    /// The page, or `None` when its whole subtree is empty.
    fn page(&self, id: PageId) -> Result<Option<Arc<Page>>, StoreError>;
    /// The value of a slot, or `None` when it is empty.
    fn value(&self, index: u64) -> Result<Option<Value>, StoreError>;
}

/// A view that an update writes to. Others see nothing before its owner commits it.
pub trait StoreMut: Store {
    /// Replaces a page; `None` when its subtree has become empty.
    fn put_page(&mut self, id: PageId, page: Option<Page>) -> Result<(), StoreError>;
    /// Replaces the value of a slot; `None` empties it.
    fn put_value(&mut self, index: u64, value: Option<Value>) -> Result<(), StoreError>;
}

impl<S: Store + ?Sized> Store for &S {
    fn page(&self, id: PageId) -> Result<Option<Arc<Page>>, StoreError> {
        (**self).page(id)
    }
    fn value(&self, index: u64) -> Result<Option<Value>, StoreError> {
        (**self).value(index)
    }
}

impl<S: Store + ?Sized> Store for &mut S {
    fn page(&self, id: PageId) -> Result<Option<Arc<Page>>, StoreError> {
        (**self).page(id)
    }
    fn value(&self, index: u64) -> Result<Option<Value>, StoreError> {
        (**self).value(index)
    }
}

impl<S: StoreMut + ?Sized> StoreMut for &mut S {
    fn put_page(&mut self, id: PageId, page: Option<Page>) -> Result<(), StoreError> {
        (**self).put_page(id, page)
    }
    fn put_value(&mut self, index: u64, value: Option<Value>) -> Result<(), StoreError> {
        (**self).put_value(index, value)
    }
}
