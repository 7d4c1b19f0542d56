//! Aggregates over the columns of a table: number of rows, sum, least and greatest number, average, variance,
//! histogram.
//!
//! **What.** [`Query::parse`] turns a text like `SELECT SUM(price), COUNT(*) FROM t WHERE qty BETWEEN 5 AND 9` into a
//! [`Plan`], which determines circuits and proofs, and a reading of the plan's output as an [`Answer`]. [`Aggregate`]
//! is the plan as an application.
//!
//! **When.** Over a batch of rows (*selected*) or over a whole table (*complete*). Numbers are exact: sums have 128
//! bits, sums of products 192. Nulls are SQL's: a condition on a null is unknown, and a row passes only if the
//! condition is true. Sums and extrema skip nulls, and are null if no number is left.
//!
//! **Neighbours.** `evergrove_commit::schema` encodes rows; its table gives the encodings. [`Kind`], [`Width`] and the
//! accessors of a plan specify the layout of an output, which the circuits here and those in
//! `evergrove_plonky2::apps` follow. The reader divides, takes roots and restores signs, not the circuit: a proof
//! shows sums and counts, from which averages and variances follow.

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

/// The application's name.
pub const NAME: &str = "aggregate";

/// An application that computes a plan's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    plan: Plan,
}

impl Aggregate {
    /// The application of a plan.
    pub fn new(plan: Plan) -> Self {
        Self { plan }
    }

    /// The application with these parameters, as [`MapReduce::parameters`] encodes them.
    ///
    /// # Errors
    /// If the bytes are not the canonical encoding of a plan.
    pub fn from_parameters(bytes: &[u8]) -> Result<Self, DecodePlanError> {
        Plan::from_bytes(bytes).map(Self::new)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The output of one row of the schema. Equals [`MapReduce::map`] of the row's leaf, but does not hash the row.
    ///
    /// # Errors
    /// [`RowError`] if the row does not fit the schema.
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
