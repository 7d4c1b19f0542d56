//! A store in memory.

use std::collections::HashMap;
use std::sync::Arc;

use evergrove_verifier::tree::Value;

use crate::page::Page;
use crate::{PageId, Store, StoreError, StoreMut};

/// One epoch of a vector in memory. A clone shares the pages and is a snapshot: later writes do not affect it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryStore {
    pages: HashMap<PageId, Arc<Page>>,
    values: HashMap<u64, Value>,
}

impl MemoryStore {
    /// A store of an empty vector.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn page(&self, id: PageId) -> Result<Option<Arc<Page>>, StoreError> {
        Ok(self.pages.get(&id).cloned())
    }

    fn value(&self, index: u64) -> Result<Option<Value>, StoreError> {
        Ok(self.values.get(&index).copied())
    }
}

impl StoreMut for MemoryStore {
    fn put_page(&mut self, id: PageId, page: Option<Page>) -> Result<(), StoreError> {
        match page {
            Some(page) => self.pages.insert(id, Arc::new(page)),
            None => self.pages.remove(&id),
        };
        Ok(())
    }

    fn put_value(&mut self, index: u64, value: Option<Value>) -> Result<(), StoreError> {
        match value {
            Some(value) => self.values.insert(index, value),
            None => self.values.remove(&index),
        };
        Ok(())
    }
}
