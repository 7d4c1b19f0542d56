//! The room that a store takes.

use std::path::PathBuf;

use evergrove_jobs::objects::Objects;

use super::{DATABASE, Store};
use crate::Error;

/// Looks at the room that a store takes, also while others read and write it.
#[derive(Clone)]
pub struct Space {
    dir: PathBuf,
    objects: Objects,
}

impl Store {
    /// What looks at the room that this store takes.
    pub fn space(&self) -> Space {
        Space { dir: self.dir().into(), objects: self.objects().clone() }
    }
}

impl Space {
    /// Size of the database's file in bytes, 0 when it is not a file in the store's directory.
    pub fn database_bytes(&self) -> u64 {
        std::fs::metadata(self.dir.join(DATABASE)).map_or(0, |m| m.len())
    }

    /// Number of the proofs that are kept, and their size in bytes. Looks at the file of each.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn proofs(&self) -> Result<(usize, u64), Error> {
        let (objects, _) = self.objects.list()?;
        Ok((objects.len(), objects.iter().map(|o| o.bytes).sum()))
    }
}
