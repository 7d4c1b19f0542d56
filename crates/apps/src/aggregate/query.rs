//! What an aggregate is, apart from any text: a filter, and the accumulators that it feeds.

use std::collections::BTreeSet;

use evergrove_commit::schema::{Column, ColumnType, Schema};
use evergrove_primitives::Goldilocks;
use serde::{Deserialize, Serialize};

/// Position of a column in its schema.
pub type ColumnIndex = u16;

/// Encoded numbers are below this: see the table in `evergrove_commit::schema`.
pub const NUMBER_END: u64 = 1 << 63;

/// One condition on a row. Nulls make all but [`Test::Null`] unknown, negated or not: a row passes what is *true* of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Test {
    /// The column is null; true or false, never unknown.
    Null {
        /// A nullable column.
        column: ColumnIndex,
    },
    /// The encoded number lies in `low..=high`.
    Within {
        /// A column of numbers.
        column: ColumnIndex,
        /// Least encoded number.
        low: u64,
        /// Greatest encoded number, at least `low` and below [`NUMBER_END`].
        high: u64,
    },
    /// A cell of four elements has these: the hash of the content of a `bytes` column, a UUID, a number of 128 bits.
    Content {
        /// A column of four elements.
        column: ColumnIndex,
        /// The elements: of a `bytes` column what `evergrove_commit::schema::content_digest` gives.
        digest: [u64; 4],
    },
    /// The number of one column is less than that of another of the same type.
    Less {
        /// A column of numbers.
        left: ColumnIndex,
        /// A column of the same type.
        right: ColumnIndex,
    },
    /// Two columns of one type are equal.
    Equal {
        /// A column.
        left: ColumnIndex,
        /// A column of the same type.
        right: ColumnIndex,
    },
}

/// One step of a [`Filter`], which works on a stack of truths.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Step {
    /// Pushes whether the test, or its negation, is true.
    Test {
        /// The condition.
        test: Test,
        /// Its negation is meant. The negation of an unknown test is not true either.
        negated: bool,
    },
    /// Replaces the last n truths by whether all hold; true for n = 0.
    All(u16),
    /// Replaces the last n truths by whether one holds; false for n = 0.
    Any(u16),
}

/// A condition in negation normal form, as postfix steps.
///
/// With negations at the tests alone, "is true" of the whole follows from "is true" of the parts, so that SQL's third truth
/// value needs no wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filter {
    pub(super) steps: Vec<Step>,
}

/// What is counted or added up over the rows that pass the filter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Accumulator {
    /// Rows in which the columns `known` are not null and, where given, an encoded number is at least a bound.
    Count {
        /// Nullable columns, ascending.
        known: Vec<ColumnIndex>,
        /// Column and bound; the column is in `known` if it is nullable.
        at_least: Option<(ColumnIndex, u64)>,
    },
    /// Sum of the encoded numbers of a column over rows in which `known` are not null: 128 bits.
    Sum {
        /// A column of numbers.
        column: ColumnIndex,
        /// Nullable columns, ascending; `column` among them if it is nullable.
        known: Vec<ColumnIndex>,
    },
    /// Sum of the products of two columns' encoded numbers, over rows in which both are not null: 192 bits.
    Product {
        /// A column of numbers.
        left: ColumnIndex,
        /// A column of numbers, not before `left`.
        right: ColumnIndex,
    },
    /// Least number of a column that is not null.
    Min {
        /// A column of numbers.
        column: ColumnIndex,
    },
    /// Greatest number of a column that is not null.
    Max {
        /// A column of numbers.
        column: ColumnIndex,
    },
}

/// A filter or an accumulator does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The table has no columns.
    #[error("a raw table has no columns to aggregate")]
    Raw,
    /// No accumulators, or more than [`MAX_ACCUMULATORS`].
    #[error("the query has {0} accumulators, expected 1 to {MAX_ACCUMULATORS}")]
    Accumulators(usize),
    /// More than [`MAX_STEPS`].
    #[error("the conditions have {0} steps, expected at most {MAX_STEPS}")]
    Steps(usize),
    /// Steps that leave no single truth.
    #[error("step {0} of the condition lacks operands, or some are left over")]
    Stack(usize),
    /// No such column, or one of another type.
    #[error("column {0} of the schema is missing or has the wrong type")]
    Column(ColumnIndex),
    /// Bounds that are not ordered or not numbers, or lists that are not in their one form.
    #[error("not in canonical form: {0}")]
    Form(&'static str),
}

/// The greatest number of accumulators of a query.
pub const MAX_ACCUMULATORS: usize = 64;
/// The greatest number of steps of a filter.
pub const MAX_STEPS: usize = 1024;

impl Filter {
    /// Every row passes.
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

    /// Runs the steps with `test` and the connectives of another world: booleans, or wires.
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

    /// Rows pass all of these tests.
    pub(super) fn all_of(tests: Vec<Test>) -> Self {
        let all = Step::All(tests.len() as u16);
        Self { steps: tests.into_iter().map(|test| Step::Test { test, negated: false }).chain([all]).collect() }
    }

    /// Rows pass both.
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
                if at(schema, right)?.kind == at(schema, left)?.kind { Ok(()) } else { Err(QueryError::Column(right)) }
            }
            Self::Equal { left, right } => {
                if at(schema, right)?.kind == at(schema, left)?.kind {
                    Ok(())
                } else {
                    Err(QueryError::Column(right))
                }
            }
        }
    }
}

impl Accumulator {
    /// The columns that it reads.
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

/// The column at this position. Words of the ABI take no part in queries.
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

/// `known` ascends, names nullable columns only, and holds `needed` if that is one.
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
