//! The plan of a query: what its circuits depend on, and where its numbers stand in an output.

use std::collections::BTreeSet;
use std::ops::Range;

use evergrove_commit::schema::Schema;
use serde::{Deserialize, Serialize};

use super::limbs::{PRODUCTS, SUM, Width};
use super::pinned::{NotPinned, RowWidth};
use super::query::{Accumulator, ColumnIndex, Filter, MAX_ACCUMULATORS, MAX_STEPS, QueryError, Step, Test};
use crate::tables;

/// Version of [`Plan::to_bytes`].
const VERSION: u8 = 1;
/// That of plans with circuits whose keys are pinned.
pub(super) const PINNED: u8 = 2;
/// That of plans of which an accumulator has a condition of its own.
const CONDITIONAL: u8 = 3;

/// A filter and accumulators over the rows of one schema.
///
/// Two queries with the same plan have the same circuits and the same proofs, whatever their texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) schema: Schema,
    pub(super) filter: Filter,
    pub(super) accumulators: Vec<Accumulator>,
    /// For each accumulator the condition that it has beside the filter; no list where none has one.
    pub(super) conditions: Vec<Option<Filter>>,
    /// That of the circuits with pinned keys.
    pub(super) width: Option<RowWidth>,
}

/// How an accumulator is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One element; 2^40 rows can not leave the field.
    Count,
    /// Limbs of this width.
    Limbs(Width),
    /// Two limbs of 32 bits, lowest first, of the least number; 2^63 where there is none. Greatest numbers are stored as
    /// the least of 2^63 - 1 - x.
    Least,
}

/// Bytes are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodePlanError {
    /// Another version of the encoding.
    #[error("parameters of version {found}, this program reads {VERSION} to {CONDITIONAL}")]
    Version {
        /// The version found.
        found: u8,
    },
    /// Not the canonical encoding of a plan.
    #[error("not the canonical encoding of a query")]
    Encoding,
    /// A plan that makes no sense.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A plan for circuits with pinned keys that does not fit them.
    #[error(transparent)]
    NotPinned(#[from] NotPinned),
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    schema: Vec<u8>,
    filter: Filter,
    accumulators: Vec<Accumulator>,
}

#[derive(Serialize, Deserialize)]
struct EncodedConditional {
    schema: Vec<u8>,
    filter: Filter,
    accumulators: Vec<Accumulator>,
    conditions: Vec<Option<Filter>>,
}

impl Plan {
    /// A plan over the rows of `schema`.
    ///
    /// # Errors
    /// When the filter or an accumulator does not fit the schema, or is not in its one form.
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

    /// A plan of which each accumulator may have a condition of its own: it takes part in rows that pass both.
    ///
    /// # Errors
    /// Those of [`Self::new`].
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

    /// The condition that rows pass.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// What is added up, in the order of the output.
    pub fn accumulators(&self) -> &[Accumulator] {
        &self.accumulators
    }

    /// The width of its circuits, if their keys are pinned: see [`Query::pinned`](super::Query::pinned).
    pub fn width(&self) -> Option<RowWidth> {
        self.width
    }

    /// What the circuits depend on.
    pub(super) fn shape(&self) -> Vec<u8> {
        if let Some(width) = self.width {
            return width.shape();
        }
        let mut shape = self.without_constants().to_bytes();
        // Circuits have a condition once, however many accumulators have it: conditions that differ in constants alone are two.
        let all = self.conditions();
        let place = |condition: &Option<Filter>| all.iter().position(|other| condition.as_ref() == Some(*other));
        shape.extend(self.conditions.iter().map(|condition| place(condition).map_or(0, |place| place as u8 + 1)));
        shape
    }

    /// The condition that an accumulator has beside the filter.
    pub fn condition(&self, accumulator: usize) -> Option<&Filter> {
        self.conditions.get(accumulator)?.as_ref()
    }

    /// The conditions of accumulators, each once, in the order in which they are first named.
    pub fn conditions(&self) -> Vec<&Filter> {
        let mut all: Vec<&Filter> = Vec::new();
        for condition in self.conditions.iter().flatten() {
            if !all.contains(&condition) {
                all.push(condition);
            }
        }
        all
    }

    /// The columns that the plan reads; rows open only where there are any.
    pub fn columns(&self) -> BTreeSet<ColumnIndex> {
        let filters = self.conditions.iter().flatten().chain([&self.filter]);
        let tests = filters.flat_map(Filter::tests).flat_map(Test::columns);
        tests.chain(self.accumulators.iter().flat_map(|a| a.columns())).collect()
    }

    /// Elements that open a row: none where the value is the row, or where no column is read.
    pub fn opening_len(&self) -> usize {
        if self.columns().is_empty() { 0 } else { tables::opening_len(&self.schema) }
    }

    /// Elements of an output.
    pub fn output_len(&self) -> usize {
        self.accumulators.iter().map(|a| a.kind().len()).sum()
    }

    /// Where each accumulator stands in an output.
    pub fn slots(&self) -> impl Iterator<Item = (&Accumulator, Kind, Range<usize>)> {
        let mut end = 0;
        self.accumulators.iter().map(move |a| {
            let start = end;
            end += a.kind().len();
            (a, a.kind(), start..end)
        })
    }

    /// First element of a column in a row's elements.
    pub fn offset(&self, column: ColumnIndex) -> usize {
        self.schema.columns()[..column as usize].iter().map(|c| c.kind.elements()).sum()
    }

    /// The canonical bytes: a version, then the schema's canonical bytes, filter, accumulators and, in version 3, their conditions in postcard.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (schema, filter, accumulators) = (self.schema.to_bytes(), self.filter.clone(), self.accumulators.clone());
        // Lists of numbers: their serialisation into a growing vector has no way to fail.
        let (version, encoded) = if self.conditions.is_empty() {
            let version = if self.width.is_some() { PINNED } else { VERSION };
            (version, postcard::to_stdvec(&Encoded { schema, filter, accumulators }))
        } else {
            let conditions = self.conditions.clone();
            (CONDITIONAL, postcard::to_stdvec(&EncodedConditional { schema, filter, accumulators, conditions }))
        };
        [vec![version], encoded.unwrap_or_default()].concat()
    }

    /// The plan with others in place of the constants that are inputs of its circuits: the same for all plans of one shape. It need not be valid.
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

    /// The plan with these canonical bytes. Other encodings are refused.
    ///
    /// # Errors
    /// When these are no bytes of [`Self::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodePlanError> {
        let (&found, rest) = bytes.split_first().ok_or(DecodePlanError::Encoding)?;
        if found == CONDITIONAL {
            return Self::conditional(bytes, rest);
        }
        if found != VERSION && found != PINNED {
            return Err(DecodePlanError::Version { found });
        }
        let encoded: Encoded = postcard::from_bytes(rest).map_err(|_| DecodePlanError::Encoding)?;
        let schema = Schema::from_bytes(&encoded.schema).map_err(|_| DecodePlanError::Encoding)?;
        let mut plan = Self::new(schema, encoded.filter, encoded.accumulators)?;
        if found == PINNED {
            plan = plan.with_pinned_key()?;
        }
        if plan.to_bytes() == bytes { Ok(plan) } else { Err(DecodePlanError::Encoding) }
    }

    fn conditional(bytes: &[u8], rest: &[u8]) -> Result<Self, DecodePlanError> {
        let encoded: EncodedConditional = postcard::from_bytes(rest).map_err(|_| DecodePlanError::Encoding)?;
        if encoded.conditions.len() != encoded.accumulators.len() {
            return Err(DecodePlanError::Encoding);
        }
        let schema = Schema::from_bytes(&encoded.schema).map_err(|_| DecodePlanError::Encoding)?;
        let accumulators = encoded.accumulators.into_iter().zip(encoded.conditions).collect();
        let plan = Self::with_conditions(schema, encoded.filter, accumulators)?;
        if plan.to_bytes() == bytes { Ok(plan) } else { Err(DecodePlanError::Encoding) }
    }
}

impl Accumulator {
    /// How it is added up.
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
