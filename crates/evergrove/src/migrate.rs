//! Stores of earlier formats, and batches of earlier backends.

use std::path::Path;

use evergrove_commit::BackendSpec;
use evergrove_store::Backends;
use evergrove_verifier::{HeightClass, Scheme};

use crate::{Backend, Config, Error, Store};

impl Store {
    /// Copies the store in `from`, of this format or of version 0.1, to a new one in `to`, and proves its batches with the
    /// backend and the profile of the configuration.
    ///
    /// The source does not change. Every root of the copy is computed again and compared with the source's. Batches
    /// that Plonky2 proves without an application get the new backend; the others keep their backends and their proofs.
    /// If proving fails, the copy exists with the finished proofs, and [`Self::refresh`] continues.
    ///
    /// # Errors
    /// If `from` has no store, `to` already has one, or the source is damaged; `to` is then left empty. Also the errors
    /// of [`Self::refresh`].
    pub fn migrate(from: impl AsRef<Path>, to: impl AsRef<Path>, config: &Config) -> Result<Self, Error> {
        config.check()?;
        let source = evergrove_store::Store::open_to_read(from.as_ref())?;
        let successors = config.successors(&config.backends(), &source)?;
        let copy = source.copy_to(to.as_ref(), &|batch| {
            Ok(successors.iter().find(|(name, _)| *name == batch.name).map(|(_, spec)| spec.clone()))
        })?;
        let mut store = Self::with(copy, config)?;
        store.refresh()?;
        Ok(store)
    }
}

impl Config {
    /// The batches that another backend proves after a migration, and that backend: this configuration's backend
    /// replaces Plonky2 if a batch has our scheme and no application.
    ///
    /// # Errors
    /// When this build does not have the backend.
    pub fn successors(
        &self,
        backends: &Backends,
        store: &evergrove_store::Store,
    ) -> Result<Vec<(String, BackendSpec)>, Error> {
        if !self.backend.is_built() {
            return Err(Error::NoBackend(self.backend));
        }
        let class = HeightClass::of(store.commitment()?.height).unwrap_or(HeightClass::H40);
        let spec = backends.spec(&self.choice(), class)?;
        let replaced = |known: &BackendSpec| {
            let choice = &known.choice;
            choice.name == Backend::Plonky2.name() && choice.scheme == Scheme::Evergrove && choice.app.is_none()
        };
        let batches = store.batches()?.into_iter().filter(|batch| replaced(&batch.backend));
        Ok(batches.map(|batch| (batch.name, spec.clone())).collect())
    }
}
