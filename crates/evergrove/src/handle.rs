//! A store with everything that its batches need.

use std::fmt;
use std::path::Path;

use evergrove_commit::{BackendSpec, schema::Schema};
use evergrove_jobs::Engine;
use evergrove_store::{Backends, BatchReport, BatchStatus, Epoch, Prover, UpdateReport};
use evergrove_verifier::{Commitment, Opening};

use crate::openzeppelin::RowProof;
use crate::{Changes, Config, Error, Proof, Rows, Table, openzeppelin};

/// A table with its versions, and batches of its rows with their proofs, in one directory.
///
/// Only one process at a time can have a store open. Calls block until they are done; `prove` and `update` block as
/// long as proving takes. Do not call them on a thread that drives an asynchronous runtime.
///
/// The layer below, [`evergrove_store::Store`], has the operations that this type omits: views of older epochs,
/// estimates, pruning. [`Store::layer`] returns it.
pub struct Store {
    store: evergrove_store::Store,
    backends: Backends,
    config: Config,
}

impl Store {
    /// Commits a table: creates a store in `dir`, and `dir` itself if it is missing.
    ///
    /// # Errors
    /// When `dir` already holds a store, and the errors of the table's rows. No store is created then.
    pub fn create(dir: impl AsRef<Path>, table: &Table) -> Result<Self, Error> {
        Self::create_with(dir, table, &Config::default())
    }

    /// As [`Self::create`], with a configuration.
    ///
    /// # Errors
    /// The errors of [`Self::create`] and [`Config::check`].
    pub fn create_with(dir: impl AsRef<Path>, table: &Table, config: &Config) -> Result<Self, Error> {
        config.check()?;
        let store = evergrove_store::Store::create(dir.as_ref(), table.schema(), None, table.rows()?)?;
        Self::with(store, config)
    }

    /// Opens the store in `dir`. Only one process at a time can have a store open.
    ///
    /// # Errors
    /// When there is no store, or it is in use, damaged, or of another version.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(dir, &Config::default())
    }

    /// As [`Self::open`], with a configuration.
    ///
    /// # Errors
    /// The errors of [`Self::open`] and [`Config::check`].
    pub fn open_with(dir: impl AsRef<Path>, config: &Config) -> Result<Self, Error> {
        config.check()?;
        Self::with(evergrove_store::Store::open(dir.as_ref())?, config)
    }

    pub(crate) fn with(store: evergrove_store::Store, config: &Config) -> Result<Self, Error> {
        let mut handle = Self { store, backends: config.backends(), config: config.clone() };
        handle.add_apps()?;
        Ok(handle)
    }

    /// The backends of the applications of the batches, of the current height class.
    fn add_apps(&mut self) -> Result<(), Error> {
        #[cfg(feature = "apps")]
        self.config.add_apps(&mut self.backends, &self.store)?;
        Ok(())
    }

    /// Defines a batch of the rows at these positions, if it is new, and proves that they are in the table. Makes the
    /// missing proofs: after an interruption, the next call continues where it stopped.
    ///
    /// The backend and the profile are those of the configuration, and the batch records them. If a batch of this name
    /// has the same members and another backend, profile or query, its proof is replaced without an error.
    ///
    /// # Errors
    /// - [`Error::Store`] when there are no positions, when one is empty, given twice or outside the table, when the
    ///   batch has other members, when the name is not 1 to 64 of `a-z`, `A-Z`, `0-9`, `-`, `_` and `.` with a letter
    ///   or digit first, or when a proof cannot be made. In the last case the batch is defined, and the next call
    ///   continues.
    /// - [`Error::NoBackend`] when this build does not have the backend.
    /// - [`Error::Memory`] when one proof takes more than [`Config::max_memory`]; [`Error::Threads`] when threads
    ///   cannot be started.
    pub fn prove(&mut self, batch: &str, positions: &[u64]) -> Result<BatchReport, Error> {
        let choice = self.config.choice();
        if !self.config.backend.is_built() {
            return Err(Error::NoBackend(self.config.backend));
        }
        let class = evergrove_verifier::HeightClass::of(self.commitment()?.height);
        let spec = self.backends.spec(&choice, class.unwrap_or(evergrove_verifier::HeightClass::H40))?.clone();
        let engine = self.engine(&[spec])?;
        let prover = self.prover(engine.as_ref());
        prover.define(batch, positions, &choice)?;
        Ok(prover.prove(batch)?)
    }

    /// Commits changes as the next epoch, in one transaction, and then brings every batch to that epoch, like
    /// [`Self::refresh`].
    ///
    /// # Errors
    /// - When a change does not fit the table or its batches: [`Error::UnknownColumn`], [`Error::Row`],
    ///   [`Error::SetTwice`], or [`Error::Store`] about a position or a batch. Nothing is committed.
    /// - The errors of [`Self::refresh`]. Then the epoch is committed and some batches are stale: call
    ///   [`Self::refresh`], not `update` with the same changes.
    ///
    /// After an error of the operating system, [`Self::epoch`] says which epoch is committed.
    pub fn update(&mut self, changes: Changes) -> Result<UpdateReport, Error> {
        let changes = changes.resolve(self.store.schema(), &self.store.view()?)?;
        let epoch = self.store.apply(&changes)?;
        Ok(UpdateReport { epoch, batches: self.refresh()? })
    }

    /// Brings every stale batch to the current epoch, each with the backend and the profile that it records,
    /// independent of the configuration.
    ///
    /// # Errors
    /// When a proof cannot be made, or this program does not know a batch's backend or application; [`Error::Memory`]
    /// and [`Error::Threads`] as for [`Self::prove`]. Finished proofs are kept: the next call continues with the
    /// others.
    pub fn refresh(&mut self) -> Result<Vec<BatchReport>, Error> {
        // The table may have grown into another height class.
        self.add_apps()?;
        let specs: Vec<_> = self.store.batches()?.into_iter().map(|b| b.backend).collect();
        let engine = self.engine(&specs)?;
        Ok(self.prover(engine.as_ref()).refresh()?)
    }

    /// The proof of a batch, about the current commitment.
    ///
    /// # Errors
    /// When the batch does not exist, or is stale.
    pub fn proof(&self, batch: &str) -> Result<Proof, Error> {
        Ok(Proof::from_bytes(self.store.export(batch)?))
    }

    /// The current rows of a batch.
    ///
    /// # Errors
    /// When the batch does not exist.
    pub fn rows(&self, batch: &str) -> Result<Rows, Error> {
        let view = self.store.view()?;
        let row = |index: u64| {
            let row = view.row(index)?.ok_or(evergrove_store::Error::EmptySlot { index, batch: Some(batch.into()) })?;
            Ok((index, row))
        };
        let rows = self.store.members(batch)?.into_iter().map(row).collect::<Result<_, Error>>()?;
        Ok(Rows::new(self.store.schema().clone(), rows))
    }

    /// The proofs with which a contract that uses OpenZeppelin's `MerkleProof` accepts the rows at these positions.
    /// Reads the table, and hashes it once: see [`openzeppelin::prove`].
    ///
    /// # Errors
    /// [`Error::NotAbi`] when a column is not of an ABI type; [`Error::Store`] when a position is outside the table or empty.
    pub fn openzeppelin_proofs(&self, positions: &[u64]) -> Result<Vec<RowProof>, Error> {
        openzeppelin::prove(&self.store.view()?, positions)
    }

    /// The value and the Merkle path of one slot, filled or empty: a proof by itself.
    ///
    /// # Errors
    /// When the position is outside the table.
    pub fn opening(&self, position: u64) -> Result<Opening, Error> {
        Ok(self.store.view()?.opening(position)?)
    }

    /// The commitment to the current table.
    ///
    /// # Errors
    /// When the store is damaged.
    pub fn commitment(&self) -> Result<Commitment, Error> {
        Ok(self.store.commitment()?)
    }

    /// The current epoch: its number, its commitment and its number of rows.
    ///
    /// # Errors
    /// When the store is damaged.
    pub fn epoch(&self) -> Result<Epoch, Error> {
        Ok(self.store.epoch()?)
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        self.store.schema()
    }

    /// Every batch with its state, by name.
    ///
    /// # Errors
    /// When the store is damaged.
    pub fn batches(&self) -> Result<Vec<BatchStatus>, Error> {
        Ok(self.store.batches()?)
    }

    /// The layer below.
    pub fn layer(&self) -> &evergrove_store::Store {
        &self.store
    }

    fn engine(&self, specs: &[BackendSpec]) -> Result<Box<dyn Engine>, Error> {
        self.config.engine(specs.iter().map(|spec| (spec, self.config.costs(spec))))
    }

    fn prover<'a>(&'a self, engine: &'a dyn Engine) -> Prover<'a> {
        Prover::new(&self.store, &self.backends, engine)
    }
}

#[cfg(feature = "apps")]
mod queries {
    use std::sync::Arc;

    use evergrove_apps::MapReduce;
    use evergrove_apps::aggregate::{Aggregate, Answer, Query};
    use evergrove_apps::catalog::Application;
    use evergrove_store::BatchReport;
    use evergrove_verifier::{HeightClass, Scheme};

    use super::Store;
    use crate::{Error, Groups};

    impl Store {
        /// Proves the answer to a query over **all** rows, like `SELECT SUM(price), COUNT(*) FROM t WHERE qty > 5`. The
        /// answer becomes a batch of this name, which [`Store::update`] refreshes. If a batch of this name holds the
        /// answer to another query over all rows, that answer is replaced without an error.
        ///
        /// A query with `GROUP BY`, `DISTINCT` or `LIKE` is proven with the groups in the rows: a verifier also needs
        /// [`Self::groups`].
        ///
        /// # Errors
        /// [`Error::Query`] when the text is not a query about this table, and the errors of [`Store::prove`].
        pub fn prove_query(&mut self, batch: &str, sql: &str) -> Result<Answer, Error> {
            self.prove_answer(batch, sql, Scheme::Complete, &[])
        }

        /// As [`Self::prove_query`], over the rows at these positions.
        ///
        /// # Errors
        /// The errors of [`Self::prove_query`].
        pub fn prove_query_over(&mut self, batch: &str, sql: &str, positions: &[u64]) -> Result<Answer, Error> {
            self.prove_answer(batch, sql, Scheme::Selected, positions)
        }

        /// As [`Self::prove_query`], by circuits with pinned keys ([`Query::pinned`]): over the rows at these
        /// positions, or without positions over all rows.
        ///
        /// # Errors
        /// The errors of [`Self::prove_query`], and [`Error::NotPinned`] if the query does not fit.
        pub fn prove_query_pinned(
            &mut self,
            batch: &str,
            sql: &str,
            positions: Option<&[u64]>,
        ) -> Result<Answer, Error> {
            let query = self.groups(sql, positions)?.query(self.schema(), sql)?.pinned()?;
            match positions {
                Some(positions) => self.answer(batch, &query, Scheme::Selected, positions),
                None => self.answer(batch, &query, Scheme::Complete, &[]),
            }
        }

        /// The current groups of a query, over all rows or those at these positions; most queries have no groups. Get
        /// them when the answer is proven: after an update the proof is still about the groups that it was made with.
        ///
        /// # Errors
        /// [`Error::Query`] when the text is not a query about this table, or has more groups than a query can have.
        pub fn groups(&self, sql: &str, positions: Option<&[u64]>) -> Result<Groups, Error> {
            Groups::of_store(&self.store, sql, positions)
        }

        fn prove_answer(&mut self, batch: &str, sql: &str, scheme: Scheme, positions: &[u64]) -> Result<Answer, Error> {
            let over = matches!(scheme, Scheme::Selected).then_some(positions);
            let query = self.groups(sql, over)?.query(self.schema(), sql)?;
            self.answer(batch, &query, scheme, positions)
        }

        fn answer(&mut self, batch: &str, query: &Query, scheme: Scheme, positions: &[u64]) -> Result<Answer, Error> {
            let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
            let report = self.prove_app(batch, app.into(), scheme, positions)?;
            Ok(query.answer(&report.output)?)
        }

        /// Proves the output of an application in one of its schemes: over the rows at these positions, or without
        /// positions if the scheme is over all rows. The store keeps the application's name and parameters:
        /// [`Config::catalog`](crate::Config::catalog) must have its kind, here and wherever the store is opened.
        ///
        /// # Errors
        /// [`Error::Application`] when the catalog does not have the application; an error when the application has no
        /// circuits in this scheme; and the errors of [`Store::prove`].
        pub fn prove_app(
            &mut self,
            batch: &str,
            app: Application,
            scheme: Scheme,
            positions: &[u64],
        ) -> Result<BatchReport, Error> {
            self.config.catalog.make(&app.spec())?;
            let class = HeightClass::of(self.commitment()?.height).unwrap_or(HeightClass::H40);
            let (spec, circuits) = self.config.app_spec(&app, scheme, self.config.profile, class)?;
            self.config.add_app(&mut self.backends, spec.clone(), app, &circuits);
            let engine = self.config.engine([(&spec, self.config.app_costs(&spec, &circuits))])?;
            let prover = self.prover(engine.as_ref());
            prover.define(batch, positions, &spec.choice)?;
            Ok(prover.prove(batch)?)
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("dir", &self.store.dir()).field("config", &self.config).finish_non_exhaustive()
    }
}
