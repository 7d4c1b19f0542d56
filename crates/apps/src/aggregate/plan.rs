//! The plan of a query: what its circuits depend on, and the layout of its output.

use std::collections::BTreeSet;
use std::ops::Range;

use evergrove_commit::schema::Schema;

use super::limbs::{PRODUCTS, SUM, Width};
use super::pinned::{NotPinned, RowWidth};
use super::query::{Accumulator, ColumnIndex, Filter, MAX_ACCUMULATORS, MAX_STEPS, QueryError, Step, Test};
use crate::tables;

/// The version of [`Plan::to_bytes`].
const VERSION: u8 = 1;
/// The version of plans with circuits whose keys are pinned.
pub(super) const PINNED: u8 = 2;
/// The version of plans with conditions of accumulators.
const CONDITIONAL: u8 = 3;

/// A filter and accumulators over the rows of one schema.
///
/// Two queries with the same plan have the same circuits and the same proofs, whatever their texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) schema: Schema,
    pub(super) filter: Filter,
    pub(super) accumulators: Vec<Accumulator>,
    /// The condition of each accumulator in addition to the filter; empty if no accumulator has one.
    pub(super) conditions: Vec<Option<Filter>>,
    /// The width of the circuits with pinned keys, if the plan uses them.
    pub(super) width: Option<RowWidth>,
}

/// How an accumulator is encoded and added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One element; counts of 2^40 rows stay in the field.
    Count,
    /// Limbs of this width.
    Limbs(Width),
    /// The least number as two limbs of 32 bits, the lowest first; 2^63 without numbers. A greatest number is stored as
    /// the least of 2^63 - 1 - x.
    Least,
}

/// Reasons why bytes are not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodePlanError {
    /// The encoding has another version.
    #[error("parameters of version {found}, this program reads {VERSION} to {CONDITIONAL}")]
    Version {
        /// The version in the bytes.
        found: u8,
    },
    /// The bytes are not the canonical encoding of a plan.
    #[error("not the canonical encoding of a query")]
    Encoding,
    /// The plan is invalid.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The plan is for circuits with pinned keys, but does not fit them.
    #[error(transparent)]
    NotPinned(#[from] NotPinned),
}

/// The schema's canonical bytes, the filter, the accumulators.
type Encoded = (Vec<u8>, Filter, Vec<Accumulator>);

impl Plan {
    /// A plan over the rows of `schema`.
    ///
    /// # Errors
    /// If the filter or an accumulator does not fit the schema, or is not in canonical form.
    pub fn new(schema: Schema, filter: Filter, accumulators: Vec<Accumulator>) -> Result<Self, QueryError> {
        if schema.is_raw() {
            return Err(QueryError::Raw);
        }
        if accumulators.is_empty() || accumulators.len() > MAX_ACCUMULATORS {
            return Err(QueryError::Accumulators(accumulators.len()));
        }
        filter.check(&schema)?;
        accumulators.iter().try_for_each(|a| a.check(&schema))?;
        Ok(Self { schema, filter, accumulators, conditions: vec![], width: None })
    }

    /// A plan whose accumulators may have conditions of their own. Such an accumulator covers the rows that pass both
    /// its condition and the filter.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn with_conditions(
        schema: Schema,
        filter: Filter,
        accumulators: Vec<(Accumulator, Option<Filter>)>,
    ) -> Result<Self, QueryError> {
        let (accumulators, conditions): (Vec<_>, Vec<_>) = accumulators.into_iter().unzip();
        let plan = Self::new(schema, filter, accumulators)?;
        if conditions.iter().all(Option::is_none) {
            return Ok(plan);
        }
        conditions.iter().flatten().try_for_each(|condition| condition.check(&plan.schema))?;
        let plan = Self { conditions, ..plan };
        let steps = plan.filter.steps.len() + plan.conditions().iter().map(|c| c.steps.len()).sum::<usize>();
        if steps > MAX_STEPS { Err(QueryError::Steps(steps)) } else { Ok(plan) }
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The condition that rows must pass.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The accumulators, in the order of the output.
    pub fn accumulators(&self) -> &[Accumulator] {
        &self.accumulators
    }

    /// The width of its circuits if their keys are pinned: see [`Query::pinned`](super::Query::pinned).
    pub fn width(&self) -> Option<RowWidth> {
        self.width
    }

    /// The shape of the circuits: everything that they depend on.
    pub(super) fn shape(&self) -> Vec<u8> {
        if let Some(width) = self.width {
            return width.shape();
        }
        let mut shape = self.without_constants().to_bytes();
        // A condition is in the circuits once, however many accumulators have it. Conditions that differ only in
        // constants are two conditions.
        let all = self.conditions();
        let place = |condition: &Option<Filter>| all.iter().position(|other| condition.as_ref() == Some(*other));
        shape.extend(self.conditions.iter().map(|condition| place(condition).map_or(0, |place| place as u8 + 1)));
        shape
    }

    /// The condition of an accumulator in addition to the filter.
    pub fn condition(&self, accumulator: usize) -> Option<&Filter> {
        self.conditions.get(accumulator)?.as_ref()
    }

    /// The different conditions of accumulators, in the order of their first use.
    pub fn conditions(&self) -> Vec<&Filter> {
        let mut all: Vec<&Filter> = Vec::new();
        for condition in self.conditions.iter().flatten() {
            if !all.contains(&condition) {
                all.push(condition);
            }
        }
        all
    }

    /// The columns that the plan reads. Rows are only opened if it reads any.
    pub fn columns(&self) -> BTreeSet<ColumnIndex> {
        let filters = self.conditions.iter().flatten().chain([&self.filter]);
        let tests = filters.flat_map(Filter::tests).flat_map(Test::columns);
        tests.chain(self.accumulators.iter().flat_map(|a| a.columns())).collect()
    }

    /// Elements that open a row; 0 if the value is the row, or if the plan reads no column.
    pub fn opening_len(&self) -> usize {
        if self.columns().is_empty() { 0 } else { tables::opening_len(&self.schema) }
    }

    /// Elements per output.
    pub fn output_len(&self) -> usize {
        self.accumulators.iter().map(|a| a.kind().len()).sum()
    }

    /// The accumulators with their kinds, and their places in an output.
    pub fn slots(&self) -> impl Iterator<Item = (&Accumulator, Kind, Range<usize>)> {
        let mut end = 0;
        self.accumulators.iter().map(move |a| {
            let start = end;
            end += a.kind().len();
            (a, a.kind(), start..end)
        })
    }

    /// The position of a column's first element among a row's elements.
    pub fn offset(&self, column: ColumnIndex) -> usize {
        self.schema.columns()[..column as usize].iter().map(|c| c.kind.elements()).sum()
    }

    /// The canonical encoding: a version, then in postcard the schema's canonical bytes, the filter, the accumulators
    /// and, in version 3, their conditions.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = (self.schema.to_bytes(), &self.filter, &self.accumulators);
        // These are lists of numbers, so writing them to a growing vector cannot fail.
        let (version, encoded) = if self.conditions.is_empty() {
            (if self.width.is_some() { PINNED } else { VERSION }, postcard::to_stdvec(&plan))
        } else {
            (CONDITIONAL, postcard::to_stdvec(&(plan, &self.conditions)))
        };
        [vec![version], encoded.unwrap_or_default()].concat()
    }

    /// The plan with other constants in place of the inputs of its circuits. The result is the same for all plans of
    /// one shape, and may be invalid.
    fn without_constants(&self) -> Self {
        let mut plan = self.clone();
        let filters = plan.conditions.iter_mut().flatten().chain([&mut plan.filter]);
        for step in filters.flat_map(|filter| &mut filter.steps) {
            if let Step::Test { test, .. } = step {
                *test = super::tables::without_constants(test);
            }
        }
        for accumulator in &mut plan.accumulators {
            if let Accumulator::Count { at_least: Some((_, bound)), .. } = accumulator {
                *bound = 0;
            }
        }
        plan
    }

    /// Decodes a plan, and refuses encodings that are not canonical.
    ///
    /// # Errors
    /// If [`Self::to_bytes`] does not produce these bytes for any plan.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodePlanError> {
        let wrong = || DecodePlanError::Encoding;
        let (&found, rest) = bytes.split_first().ok_or_else(wrong)?;
        let ((schema, filter, accumulators), conditions): (Encoded, Vec<Option<Filter>>) = match found {
            VERSION | PINNED => (postcard::from_bytes(rest).map_err(|_| wrong())?, vec![]),
            CONDITIONAL => postcard::from_bytes(rest).map_err(|_| wrong())?,
            _ => return Err(DecodePlanError::Version { found }),
        };
        if found == CONDITIONAL && conditions.len() != accumulators.len() {
            return Err(wrong());
        }
        let schema = Schema::from_bytes(&schema).map_err(|_| wrong())?;
        let conditions = conditions.into_iter().chain(core::iter::repeat(None));
        let mut plan = Self::with_conditions(schema, filter, accumulators.into_iter().zip(conditions).collect())?;
        if found == PINNED {
            plan = plan.with_pinned_key()?;
        }
        if plan.to_bytes() == bytes { Ok(plan) } else { Err(wrong()) }
    }
}

impl Accumulator {
    /// How the accumulator is encoded and added up.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Count { .. } => Kind::Count,
            Self::Sum { .. } => Kind::Limbs(SUM),
            Self::Product { .. } => Kind::Limbs(PRODUCTS),
            Self::Min { .. } | Self::Max { .. } => Kind::Least,
        }
    }
}

impl Kind {
    pub(super) const fn len(self) -> usize {
        match self {
            Self::Count => 1,
            Self::Limbs(width) => width.limbs,
            Self::Least => 2,
        }
    }
}
