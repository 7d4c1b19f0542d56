//! Queries, and their answers read from the output of a plan.

use core::fmt;

use evergrove_commit::schema::{Cell, Column, ColumnType, MAX_SCALE};
use evergrove_primitives::Goldilocks;
use num_bigint::{BigInt, Sign};

use super::native::{greatest, least};
use super::plan::{Kind, Plan};
use super::query::ColumnIndex;
use super::sql::offset;

/// Decimal places that quotients and roots have beyond those of their column.
const MORE_PLACES: u32 = 6;

/// What is asked about a table: a plan, and how its output is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(super) plan: Plan,
    pub(super) readings: Vec<(String, Reading)>,
    /// Those of a query with `GROUP BY`, which has no other readings.
    pub(super) groups: Option<Groups>,
}

/// What is read for each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) columns: Vec<Column>,
    /// The count of the rows of all groups.
    pub(super) total: usize,
    pub(super) groups: Vec<Group>,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) key: Vec<Cell>,
    /// The count of its rows.
    pub(super) count: usize,
    pub(super) readings: Vec<(String, Reading)>,
}

/// How an aggregate follows from accumulators, which are named by their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Count(usize),
    Sum(Moments),
    /// Rows that meet a condition, where others count as 0: null of no rows at all.
    CountElseZero {
        count: usize,
        all: usize,
    },
    /// The sum over rows that meet a condition, where others count as 0: null where all rows meet it and none has a number.
    SumElseZero {
        of: Moments,
        all: usize,
        matching: usize,
    },
    Average(Moments),
    SumOfProducts(Products),
    WeightedAverage {
        products: Products,
        weight: ColumnIndex,
        weights: usize,
    },
    Least {
        at: usize,
        column: ColumnIndex,
    },
    Greatest {
        at: usize,
        column: ColumnIndex,
    },
    Spread {
        products: Products,
        sample: bool,
        root: bool,
    },
    /// Rows in which the column is known, then those at or above each bound.
    Histogram {
        column: ColumnIndex,
        bounds: Vec<u64>,
        counts: Vec<usize>,
    },
}

/// Count and sum of a column over rows in which it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moments {
    pub(super) column: ColumnIndex,
    pub(super) sum: usize,
    pub(super) count: usize,
}

/// Count, sums and sum of products of two columns over rows in which both are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Products {
    pub(super) left: ColumnIndex,
    pub(super) right: ColumnIndex,
    pub(super) products: usize,
    pub(super) left_sum: usize,
    pub(super) right_sum: usize,
    pub(super) count: usize,
}

/// The answer to a query: one value for each aggregate, under its name, or those of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Names and values, in the order of the query; none of one with `GROUP BY`.
    pub values: Vec<(String, Value)>,
    /// The groups that have rows, in the order in which they were given.
    pub groups: Vec<GroupAnswer>,
}

/// The values of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupAnswer {
    /// The columns of `GROUP BY`, and their cells.
    pub key: Vec<(Column, Cell)>,
    /// Names and values, in the order of the query.
    pub values: Vec<(String, Value)>,
}

/// An aggregate's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// SQL's null: of no numbers there is no sum, average or extremum.
    Null,
    /// An exact number.
    Exact(Decimal),
    /// A quotient or a root, rounded half away from zero in its last place.
    Rounded(Decimal),
    /// A truth value, date or timestamp, as its column prints it.
    Text(String),
    /// Rows by intervals, ascending.
    Histogram(Vec<Bin>),
}

/// An interval of a histogram: `low <= x < high`, without a bound where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least number in it.
    pub low: Option<Decimal>,
    /// The least number above it.
    pub high: Option<Decimal>,
    /// Rows with a number in it.
    pub count: u64,
}

/// An integer of units 10^-`scale`. Prints as decimal text with `scale` places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The integer.
    pub units: BigInt,
    /// Decimal places.
    pub scale: u32,
}

/// An output that does not answer the query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// It is not one of the query's plan.
    #[error("invalid output of {found} elements: the query expects {expected}, in range and consistent")]
    Invalid {
        /// Elements of the plan's output.
        expected: usize,
        /// Elements found.
        found: usize,
    },
    /// There are groups beside those that were given.
    #[error("the groups that were given have {given} of {all} rows: a group is missing")]
    Groups {
        /// Rows of the groups that were given.
        given: u64,
        /// Rows of all groups.
        all: u64,
    },
}

impl Query {
    /// What is proven.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The answer that an output of the plan holds.
    ///
    /// # Errors
    /// When the output has not the plan's length, or an element is out of its range. A verified proof's output has both.
    pub fn answer(&self, output: &[Goldilocks]) -> Result<Answer, OutputError> {
        let expected = self.plan.output_len();
        let error = OutputError::Invalid { expected, found: output.len() };
        if output.len() != expected || !self.plan.slots().all(|(_, kind, at)| kind.check(&output[at])) {
            return Err(error);
        }
        let numbers = self.plan.slots().map(|(_, kind, at)| Number { kind, elements: &output[at] }).collect();
        let reader = Reader { plan: &self.plan, numbers };
        let values = |readings: &[(String, Reading)]| {
            let values = readings.iter().map(|(name, reading)| Some((name.clone(), reader.read(reading)?)));
            values.collect::<Option<Vec<_>>>().ok_or(error.clone())
        };
        let mut answer = Answer { values: values(&self.readings)?, groups: vec![] };
        let Some(Groups { columns, total, groups }) = &self.groups else { return Ok(answer) };
        let count = |at: usize| reader.numbers[at].elements[0].as_u64();
        let (given, all) = (groups.iter().map(|group| u128::from(count(group.count))).sum::<u128>(), count(*total));
        if given != u128::from(all) {
            return Err(OutputError::Groups { given: given as u64, all });
        }
        for group in groups.iter().filter(|group| count(group.count) > 0) {
            let key = columns.iter().cloned().zip(group.key.iter().cloned()).collect();
            answer.groups.push(GroupAnswer { key, values: values(&group.readings)? });
        }
        Ok(answer)
    }
}

impl Reading {
    /// The same of accumulators that stand elsewhere; `None` of others than readings of counts, sums and extrema.
    pub(super) fn moved(&self, at: impl Fn(usize) -> usize) -> Option<Self> {
        let moments = |m: &Moments| Moments { column: m.column, sum: at(m.sum), count: at(m.count) };
        Some(match self {
            Self::Count(count) => Self::Count(at(*count)),
            Self::Sum(m) => Self::Sum(moments(m)),
            Self::Average(m) => Self::Average(moments(m)),
            Self::Least { at: place, column } => Self::Least { at: at(*place), column: *column },
            Self::Greatest { at: place, column } => Self::Greatest { at: at(*place), column: *column },
            Self::CountElseZero { .. }
            | Self::SumElseZero { .. }
            | Self::SumOfProducts(_)
            | Self::WeightedAverage { .. }
            | Self::Spread { .. }
            | Self::Histogram { .. } => return None,
        })
    }
}

/// An accumulator's elements in an output.
struct Number<'a> {
    kind: Kind,
    elements: &'a [Goldilocks],
}

struct Reader<'a> {
    plan: &'a Plan,
    numbers: Vec<Number<'a>>,
}

impl Reader<'_> {
    /// The value; `None` where accumulators contradict each other.
    fn read(&self, reading: &Reading) -> Option<Value> {
        Some(match reading {
            Reading::Count(at) => exact(self.integer(*at), 0),
            Reading::Sum(m) => self.moments(m).map_or(Value::Null, |(sum, _)| exact(sum, self.scale(m.column))),
            Reading::CountElseZero { all, .. } if self.integer(*all) == BigInt::ZERO => Value::Null,
            Reading::CountElseZero { count, .. } => exact(self.integer(*count), 0),
            Reading::SumElseZero { of, all, matching } => {
                let others = self.integer(*all) - self.integer(*matching);
                if others < BigInt::ZERO {
                    return None;
                }
                match self.moments(of) {
                    Some((sum, _)) => exact(sum, self.scale(of.column)),
                    None if others != BigInt::ZERO => exact(BigInt::ZERO, self.scale(of.column)),
                    None => Value::Null,
                }
            }
            Reading::Average(m) => self.moments(m).map_or(Value::Null, |(sum, count)| {
                let scale = self.scale(m.column);
                quotient(sum, count, scale, scale + MORE_PLACES)
            }),
            Reading::SumOfProducts(p) => match self.products(p) {
                Some(sum) => exact(sum, self.scale(p.left) + self.scale(p.right)),
                None => Value::Null,
            },
            Reading::WeightedAverage { products, weight, weights } => {
                let other = if *weight == products.left { products.right } else { products.left };
                let weights = self.integer(*weights) - self.integer(products.count) * self.offset(*weight);
                match self.products(products) {
                    Some(sum) if weights != BigInt::ZERO => {
                        // Units of both columns above those of the weight leave the units of the other.
                        quotient(sum, weights, self.scale(other), self.scale(other) + MORE_PLACES)
                    }
                    _ => Value::Null,
                }
            }
            Reading::Least { at, column } => return self.extremum(*column, least(self.numbers[*at].elements)),
            Reading::Greatest { at, column } => return self.extremum(*column, greatest(self.numbers[*at].elements)),
            Reading::Spread { products, sample, root } => return self.spread(products, *sample, *root),
            Reading::Histogram { column, bounds, counts } => {
                let bound = |at: usize| bounds.get(at).map(|b| self.decimal(*column, *b));
                let count = |at: usize| counts.get(at).map_or(0, |c| self.numbers[*c].elements[0].as_u64());
                let bins = (0..counts.len()).map(|k| {
                    let count = count(k).checked_sub(count(k + 1))?;
                    Some(Bin { low: k.checked_sub(1).and_then(bound), high: bound(k), count })
                });
                Value::Histogram(bins.collect::<Option<_>>()?)
            }
        })
    }

    /// Sum and count; `None` of no numbers.
    fn moments(&self, m: &Moments) -> Option<(BigInt, BigInt)> {
        let count = self.integer(m.count);
        let sum = self.integer(m.sum) - &count * self.offset(m.column);
        (count != BigInt::ZERO).then_some((sum, count))
    }

    /// Sum of (a - o)(b - p) from the sums of a b, a and b, for the encodings' offsets o and p; `None` of no numbers.
    fn products(&self, p: &Products) -> Option<BigInt> {
        let (left, right) = (self.offset(p.left), self.offset(p.right));
        let count = self.integer(p.count);
        let sum = self.integer(p.products) - self.integer(p.left_sum) * &right - self.integer(p.right_sum) * &left
            + &count * left * right;
        (count != BigInt::ZERO).then_some(sum)
    }

    /// (n S2 - S1^2) / n^2, or / n (n - 1), where the offset of the encoding has no part in it; or the root of that.
    fn spread(&self, p: &Products, sample: bool, root: bool) -> Option<Value> {
        let n = self.integer(p.count);
        let sum = self.integer(p.left_sum);
        let numerator = &n * self.integer(p.products) - &sum * &sum;
        let denominator = if sample { &n * (&n - 1) } else { &n * &n };
        if numerator < BigInt::ZERO {
            return None;
        }
        if denominator <= BigInt::ZERO {
            return Some(Value::Null);
        }
        let scale = self.scale(p.left);
        if !root {
            return Some(quotient(numerator, denominator, 2 * scale, 2 * scale + MORE_PLACES));
        }
        // Half a unit of the last place is added before the root is cut off.
        let places = scale + MORE_PLACES;
        let doubled: BigInt = numerator * 4 * ten_to(2 * MORE_PLACES) / denominator;
        let units = (doubled.sqrt() + 1) / 2;
        Some(Value::Rounded(Decimal { units, scale: places }))
    }

    fn extremum(&self, column: ColumnIndex, number: Option<u64>) -> Option<Value> {
        let Some(number) = number else { return Some(Value::Null) };
        let c = self.column(column);
        if !matches!(c.kind, ColumnType::Boolean | ColumnType::Date | ColumnType::Timestamp) {
            return Some(Value::Exact(self.decimal(column, number)));
        }
        let text = c.format(&c.decode(Goldilocks::new(number))?);
        Some(Value::Text(String::from_utf8_lossy(&text).into_owned()))
    }

    /// An encoded number of a column.
    fn decimal(&self, column: ColumnIndex, encoded: u64) -> Decimal {
        Decimal { units: BigInt::from(encoded) - self.offset(column), scale: self.scale(column) }
    }

    fn integer(&self, at: usize) -> BigInt {
        let number = &self.numbers[at];
        let limb_bits = match number.kind {
            Kind::Limbs(width) => width.limb_bits,
            Kind::Count | Kind::Least => 64,
        };
        number.elements.iter().rev().fold(BigInt::ZERO, |acc, limb| (acc << limb_bits) + limb.as_u64())
    }

    fn column(&self, column: ColumnIndex) -> &Column {
        &self.plan.schema().columns()[column as usize]
    }

    fn offset(&self, column: ColumnIndex) -> BigInt {
        offset(self.column(column).kind).into()
    }

    fn scale(&self, column: ColumnIndex) -> u32 {
        self.column(column).kind.scale().min(MAX_SCALE).into()
    }
}

fn exact(units: BigInt, scale: u32) -> Value {
    Value::Exact(Decimal { units, scale })
}

/// `numerator` / `denominator` in units of 10^-`scale`, given to `places` places.
fn quotient(numerator: BigInt, denominator: BigInt, scale: u32, places: u32) -> Value {
    let negative = (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
    let [n, d] = [numerator, denominator].map(|x| BigInt::from_biguint(Sign::Plus, x.into_parts().1));
    let units: BigInt = (n * ten_to(places - scale) * 2 + &d) / (d * 2);
    Value::Rounded(Decimal { units: if negative { -units } else { units }, scale: places })
}

fn ten_to(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.scale as usize;
        let sign = if self.units.sign() == Sign::Minus { "-" } else { "" };
        let digits = format!("{:0>width$}", self.units.magnitude().to_string(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        if scale == 0 { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{fraction}") }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Exact(d) | Self::Rounded(d) => d.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Histogram(bins) => {
                for (k, bin) in bins.iter().enumerate() {
                    let end = |d: &Option<Decimal>| d.as_ref().map(ToString::to_string).unwrap_or_default();
                    let separator = if k == 0 { "" } else { ", " };
                    write!(f, "{separator}{}..{}: {}", end(&bin.low), end(&bin.high), bin.count)?;
                }
                Ok(())
            }
        }
    }
}
