//! The disk space of a store.

use std::path::PathBuf;

use evergrove_jobs::objects::Objects;

use super::{DATABASE, Store};
use crate::Error;

/// Measures the disk space of a store, even while other threads read and write the store.
#[derive(Clone)]
pub struct Space {
    dir: PathBuf,
    objects: Objects,
}

impl Store {
    /// Measures the disk space of this store.
    pub fn space(&self) -> Space {
        Space { dir: self.dir().into(), objects: self.objects().clone() }
    }
}

impl Space {
    /// Size of the database's file in bytes. 0 if it is not a file in the store's directory.
    pub fn database_bytes(&self) -> u64 {
        std::fs::metadata(self.dir.join(DATABASE)).map_or(0, |m| m.len())
    }

    /// Number of stored proofs, and their size in bytes. Looks at each file.
    ///
    /// # Errors
    /// If the files cannot be listed.
    pub fn proofs(&self) -> Result<(usize, u64), Error> {
        let (objects, _) = self.objects.list()?;
        Ok((objects.len(), objects.iter().map(|o| o.bytes).sum()))
    }
}
