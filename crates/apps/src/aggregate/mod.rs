//! Aggregates over the columns of a table: how many rows, their sum, least and greatest, average, variance, histogram.
//!
//! **What.** [`Query::parse`] turns a text like `SELECT SUM(price), COUNT(*) FROM t WHERE qty BETWEEN 5 AND 9` into a
//! [`Plan`], which is what circuits and proofs depend on, and a reading of the plan's output as an [`Answer`].
//! [`Aggregate`] is the plan as an application.
//!
//! **When.** Over a batch of rows (*selected*) or over a whole table (*complete*). Numbers are exact: sums have 128 bits, sums
//! of products 192. Nulls are SQL's: a condition on a null is unknown, and rows pass only what is true of them; sums and
//! extrema pass nulls over, and are null themselves where no number is left.
//!
//! **Neighbours.** Rows are encoded by `evergrove_commit::schema`, whose table says how. [`Kind`], [`Width`] and the accessors of a plan say how an
//! output is laid out: the circuits here and those in `evergrove_recursion::apps` follow them. Division, roots and signs are the reader's, not the circuit's: a proof shows sums and
//! counts, from which averages and variances follow.

mod answer;
mod exact;
mod limbs;
mod native;
mod pinned;
mod plan;
mod query;
mod sql;
mod tables;

pub use answer::{Answer, Bin, Decimal, GroupAnswer, OutputError, Query, Value};
pub use limbs::{FACTOR_LIMBS, PRODUCTS, SUM, Width};
pub use pinned::{NotPinned, PinnedKey, RowWidth};
pub use plan::{DecodePlanError, Kind, Plan};
pub use query::{Accumulator, ColumnIndex, Filter, MAX_ACCUMULATORS, MAX_STEPS, NUMBER_END, QueryError, Step, Test};
pub use sql::{Finder, Grouping, Listed, Listing, ListingError, MAX_LISTED, MAX_TOKENS, SqlError};

use evergrove_commit::schema::{Row, RowError};
use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;

use crate::{Leaf, MapReduce, MapReduceError};

/// The name of the application.
pub const NAME: &str = "aggregate";

/// A plan as an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    plan: Plan,
}

impl Aggregate {
    /// The application of a plan.
    pub fn new(plan: Plan) -> Self {
        Self { plan }
    }

    /// The application with these parameters, which [`MapReduce::parameters`] has given.
    ///
    /// # Errors
    /// When the bytes are no canonical encoding of a plan.
    pub fn from_parameters(bytes: &[u8]) -> Result<Self, DecodePlanError> {
        Plan::from_bytes(bytes).map(Self::new)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The output of one row of the schema, for whoever has the rows: as [`MapReduce::map`] of its leaf, without hashing it.
    ///
    /// # Errors
    /// [`RowError`] when the row does not fit the schema.
    pub fn map_row(&self, row: &Row) -> Result<Vec<Goldilocks>, RowError> {
        self.plan.map_row(row)
    }
}

impl MapReduce for Aggregate {
    fn name(&self) -> &str {
        NAME
    }

    fn parameters(&self) -> Vec<u8> {
        self.plan.to_bytes()
    }

    fn shape(&self) -> Vec<u8> {
        self.plan.shape()
    }

    fn opening_len(&self) -> usize {
        self.plan.opening_len()
    }

    fn output_len(&self) -> usize {
        self.plan.output_len()
    }

    fn identity(&self) -> Vec<Goldilocks> {
        self.plan.nothing()
    }

    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        self.plan.map(leaf)
    }

    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        self.plan.reduce(left, right)
    }

    fn is_commutative(&self) -> bool {
        true
    }

    fn on_tables(&self) -> Option<&dyn Circuits> {
        Some(self)
    }
}
