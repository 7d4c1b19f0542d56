//! The parts of an aggregate, independent of its text: a filter, and the accumulators of the rows that pass it.

use std::collections::BTreeSet;

use evergrove_commit::schema::{Column, ColumnType, Schema};
use evergrove_primitives::Goldilocks;
use serde::{Deserialize, Serialize};

/// The position of a column in its schema.
pub type ColumnIndex = u16;

/// Encoded numbers are below this: see the table in `evergrove_commit::schema`.
pub const NUMBER_END: u64 = 1 << 63;

/// One condition on a row. A null makes every condition except [`Test::Null`] unknown, and its negation, too. A row
/// passes if the condition is *true*.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Test {
    /// The column is null. True or false, never unknown.
    Null {
        /// A nullable column.
        column: ColumnIndex,
    },
    /// The encoded number lies in `low..=high`.
    Within {
        /// A column of numbers.
        column: ColumnIndex,
        /// The least encoded number.
        low: u64,
        /// The greatest encoded number, at least `low` and below [`NUMBER_END`].
        high: u64,
    },
    /// The cell has these four elements: the hash of the content of a `bytes` column, a UUID, or a number of 128 bits.
    Content {
        /// A column of four elements.
        column: ColumnIndex,
        /// The elements; for a `bytes` column the result of `evergrove_commit::schema::content_digest`.
        digest: [u64; 4],
    },
    /// The number of one column is less than that of another column of the same type.
    Less {
        /// A column of numbers.
        left: ColumnIndex,
        /// A column of the same type.
        right: ColumnIndex,
    },
    /// Two columns of the same type are equal.
    Equal {
        /// A column.
        left: ColumnIndex,
        /// A column of the same type.
        right: ColumnIndex,
    },
}

/// One step of a [`Filter`], on a stack of truth values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Step {
    /// Pushes true if the test, or its negation, is true.
    Test {
        /// The condition.
        test: Test,
        /// True to test the negation. The negation of an unknown test is not true either.
        negated: bool,
    },
    /// Replaces the last n values by their conjunction; true for n = 0.
    All(u16),
    /// Replaces the last n values by their disjunction; false for n = 0.
    Any(u16),
}

/// A condition in negation normal form, as steps in postfix order.
///
/// Only tests are negated. Therefore "is true" of the whole follows from "is true" of the parts, and SQL's third truth
/// value needs no wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filter {
    pub(super) steps: Vec<Step>,
}

/// A count, sum or extremum over the rows that pass the filter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Accumulator {
    /// The number of rows in which the columns `known` are not null and, with `at_least`, an encoded number reaches a
    /// bound.
    Count {
        /// Nullable columns, in ascending order.
        known: Vec<ColumnIndex>,
        /// A column and its bound; `known` contains the column if it is nullable.
        at_least: Option<(ColumnIndex, u64)>,
    },
    /// The sum of a column's encoded numbers, over rows in which the columns `known` are not null: 128 bits.
    Sum {
        /// A column of numbers.
        column: ColumnIndex,
        /// Nullable columns, in ascending order, including `column` if it is nullable.
        known: Vec<ColumnIndex>,
    },
    /// The sum of the products of two columns' encoded numbers, over rows in which both are not null: 192 bits.
    Product {
        /// A column of numbers.
        left: ColumnIndex,
        /// A column of numbers, not before `left`.
        right: ColumnIndex,
    },
    /// The least number of a column, over rows in which it is not null.
    Min {
        /// A column of numbers.
        column: ColumnIndex,
    },
    /// The greatest number of a column, over rows in which it is not null.
    Max {
        /// A column of numbers.
        column: ColumnIndex,
    },
}

/// Reasons why a filter or an accumulator does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The table has no columns.
    #[error("a raw table has no columns to aggregate")]
    Raw,
    /// The query has no accumulators, or more than [`MAX_ACCUMULATORS`].
    #[error("the query has {0} accumulators, expected 1 to {MAX_ACCUMULATORS}")]
    Accumulators(usize),
    /// The conditions have more than [`MAX_STEPS`] steps.
    #[error("the conditions have {0} steps, expected at most {MAX_STEPS}")]
    Steps(usize),
    /// The steps do not leave exactly one truth value.
    #[error("step {0} of the condition lacks operands, or some are left over")]
    Stack(usize),
    /// The column does not exist, or has another type.
    #[error("column {0} of the schema is missing or has the wrong type")]
    Column(ColumnIndex),
    /// Bounds are not ordered or not numbers, or lists are not in canonical form.
    #[error("not in canonical form: {0}")]
    Form(&'static str),
}

/// The greatest number of accumulators of a query.
pub const MAX_ACCUMULATORS: usize = 64;
/// The greatest number of steps of a filter.
pub const MAX_STEPS: usize = 1024;

impl Filter {
    /// The filter that every row passes.
    pub fn all() -> Self {
        Self { steps: vec![Step::All(0)] }
    }

    /// The tests, in order.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.steps.iter().filter_map(|step| match step {
            Step::Test { test, .. } => Some(test),
            Step::All(_) | Step::Any(_) => None,
        })
    }

    /// Runs the steps with the given test and connectives, for example on booleans or on wires.
    pub fn run<W, T: Clone>(
        &self,
        world: &mut W,
        mut test: impl FnMut(&mut W, &Test, bool) -> T,
        mut join: impl FnMut(&mut W, &[T], bool) -> T,
    ) -> T {
        let mut stack: Vec<T> = vec![];
        for step in &self.steps {
            let (n, all) = match step {
                Step::Test { test: t, negated } => {
                    stack.push(test(world, t, *negated));
                    continue;
                }
                Step::All(n) => (*n, true),
                Step::Any(n) => (*n, false),
            };
            let operands = stack.split_off(stack.len() - n as usize);
            stack.push(join(world, &operands, all));
        }
        stack.swap_remove(0)
    }

    /// The filter that passes rows for which all of these tests, or their negations, are true.
    pub(super) fn all_of(tests: impl IntoIterator<Item = Test>, negated: bool) -> Self {
        let mut steps: Vec<Step> = tests.into_iter().map(|test| Step::Test { test, negated }).collect();
        steps.push(Step::All(steps.len() as u16));
        Self { steps }
    }

    /// The filter that passes rows that pass both.
    #[must_use]
    pub(super) fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self.steps.push(Step::All(2));
        self
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<(), QueryError> {
        if self.steps.len() > MAX_STEPS {
            return Err(QueryError::Steps(self.steps.len()));
        }
        let mut depth = 0usize;
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Test { test, .. } => test.check(schema)?,
                Step::All(n) | Step::Any(n) => {
                    depth = depth.checked_sub(*n as usize).ok_or(QueryError::Stack(at))?;
                }
            }
            depth += 1;
        }
        if depth == 1 { Ok(()) } else { Err(QueryError::Stack(self.steps.len())) }
    }
}

impl Test {
    /// The columns that the test reads.
    pub fn columns(&self) -> impl Iterator<Item = ColumnIndex> {
        let (first, second) = match *self {
            Self::Null { column } | Self::Within { column, .. } | Self::Content { column, .. } => (column, None),
            Self::Less { left, right } | Self::Equal { left, right } => (left, Some(right)),
        };
        std::iter::once(first).chain(second)
    }

    fn check(&self, schema: &Schema) -> Result<(), QueryError> {
        match *self {
            Self::Null { column } => nullable(schema, column),
            Self::Within { column, low, high } => {
                number(schema, column)?;
                let ordered = low <= high && high < NUMBER_END;
                if ordered { Ok(()) } else { Err(QueryError::Form("the bounds of a range")) }
            }
            Self::Content { column, digest } => match at(schema, column)?.kind.is_number() {
                false if digest.iter().all(|x| *x < Goldilocks::ORDER) => Ok(()),
                false => Err(QueryError::Form("the elements of a digest")),
                true => Err(QueryError::Column(column)),
            },
            Self::Less { left, right } => {
                number(schema, left)?;
                same_kind(schema, left, right)
            }
            Self::Equal { left, right } => same_kind(schema, left, right),
        }
    }
}

impl Accumulator {
    /// The columns that the accumulator reads.
    pub fn columns(&self) -> BTreeSet<ColumnIndex> {
        match self {
            Self::Count { known, at_least } => known.iter().copied().chain(at_least.map(|(c, _)| c)).collect(),
            Self::Sum { column, known } => known.iter().copied().chain([*column]).collect(),
            Self::Product { left, right } => [*left, *right].into(),
            Self::Min { column } | Self::Max { column } => [*column].into(),
        }
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<(), QueryError> {
        match self {
            Self::Count { known, at_least } => {
                check_known(schema, known, at_least.map(|(c, _)| c))?;
                match at_least {
                    Some((_, bound)) if *bound == 0 || *bound >= NUMBER_END => {
                        Err(QueryError::Form("the bound of a count"))
                    }
                    Some((column, _)) => number(schema, *column),
                    None => Ok(()),
                }
            }
            Self::Sum { column, known } => {
                number(schema, *column)?;
                check_known(schema, known, Some(*column))
            }
            Self::Product { left, right } => {
                number(schema, *left)?;
                number(schema, *right)?;
                if left <= right { Ok(()) } else { Err(QueryError::Form("the factors of a product")) }
            }
            Self::Min { column } | Self::Max { column } => number(schema, *column),
        }
    }
}

/// The column at this position. Queries cannot use columns of ABI words.
pub(super) fn at(schema: &Schema, column: ColumnIndex) -> Result<&Column, QueryError> {
    let found = schema.columns().get(column as usize).filter(|c| !matches!(c.kind, ColumnType::Abi(_)));
    found.ok_or(QueryError::Column(column))
}

pub(super) fn number(schema: &Schema, column: ColumnIndex) -> Result<(), QueryError> {
    if at(schema, column)?.kind.is_number() { Ok(()) } else { Err(QueryError::Column(column)) }
}

fn nullable(schema: &Schema, column: ColumnIndex) -> Result<(), QueryError> {
    if at(schema, column)?.nullable { Ok(()) } else { Err(QueryError::Column(column)) }
}

fn same_kind(schema: &Schema, left: ColumnIndex, right: ColumnIndex) -> Result<(), QueryError> {
    if at(schema, right)?.kind == at(schema, left)?.kind { Ok(()) } else { Err(QueryError::Column(right)) }
}

/// Checks that `known` ascends, names only nullable columns, and contains `needed` if that column is nullable.
fn check_known(schema: &Schema, known: &[ColumnIndex], needed: Option<ColumnIndex>) -> Result<(), QueryError> {
    known.iter().try_for_each(|&c| nullable(schema, c))?;
    if known.windows(2).any(|w| w[0] >= w[1]) {
        return Err(QueryError::Form("the columns that must be known"));
    }
    match needed {
        Some(c) if at(schema, c)?.nullable && !known.contains(&c) => {
            Err(QueryError::Form("a nullable column that is read must be known"))
        }
        _ => Ok(()),
    }
}
