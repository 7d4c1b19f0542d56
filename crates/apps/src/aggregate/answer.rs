//! Queries, and the answers that their plans' outputs hold.

use core::fmt;

use evergrove_commit::schema::{Cell, Column, ColumnType, MAX_SCALE};
use evergrove_primitives::Goldilocks;
use num_bigint::{BigInt, Sign};

use super::exact::{Form, MORE_PLACES, Number, Operation, Rational};
use super::native::{greatest, least};
use super::plan::{Kind, Plan};
use super::query::ColumnIndex;
use super::sql::offset;

/// A question about a table: a plan, and how to read its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(super) plan: Plan,
    pub(super) readings: Vec<(String, Reading)>,
    /// The readings of a query with `GROUP BY`; such a query has no other readings.
    pub(super) groups: Option<ByGroup>,
    /// Conditions on an output. They hold if the given values are all values of the rows.
    pub(super) complete: Vec<Complete>,
}

/// The readings per group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ByGroup {
    pub(super) columns: Vec<Column>,
    pub(super) groups: Vec<Group>,
}

/// No row has values of the columns other than the given ones: either the counts per value add up to the count of all
/// rows, or the rows with other values are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Complete {
    Parts { parts: Vec<usize>, all: usize },
    Others { column: String, count: usize },
}

/// One group and its readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) key: Vec<Cell>,
    /// The position of the count of its rows.
    pub(super) count: usize,
    pub(super) readings: Vec<(String, Reading)>,
}

/// Computes an aggregate from accumulators, which are named by their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Count(usize),
    Sum(Moments),
    /// The number of rows that meet a condition; other rows count as 0. Null if there are no rows.
    CountElseZero {
        count: usize,
        all: usize,
    },
    /// The sum over rows that meet a condition; other rows count as 0. Null if all rows meet the condition and none of
    /// them has a number.
    SumElseZero {
        of: Box<Reading>,
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
    /// The rows with a known number in the column, then the rows at or above each bound.
    Histogram {
        column: ColumnIndex,
        bounds: Vec<u64>,
        counts: Vec<usize>,
    },
    Polynomial(Linear),
    /// The different values of columns.
    Distinct {
        counts: Vec<usize>,
        of: Distinct,
    },
    Constant(Rational),
    Arithmetic(Operation, Box<[Reading; 2]>),
    Round(Box<Reading>, u32),
}

/// An aggregate of different values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Distinct {
    Count,
    Sum { column: ColumnIndex, encoded: Vec<u64> },
    Average { column: ColumnIndex, encoded: Vec<u64> },
}

/// The sum or the average of a polynomial, over rows in which all of its columns are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    pub(super) terms: Vec<(Rational, Term)>,
    /// The count of these rows.
    pub(super) count: usize,
    pub(super) form: Form,
    pub(super) average: bool,
}

/// The factor of a coefficient of a polynomial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    One,
    Column(Moments),
    Product(Products),
}

/// Count and sum of a column, over rows in which it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moments {
    pub(super) column: ColumnIndex,
    pub(super) sum: usize,
    pub(super) count: usize,
}

/// Count, sums and sum of products of two columns, over rows in which both are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Products {
    pub(super) left: ColumnIndex,
    pub(super) right: ColumnIndex,
    pub(super) products: usize,
    pub(super) left_sum: usize,
    pub(super) right_sum: usize,
    pub(super) count: usize,
}

/// The answer to a query: one named value per aggregate, or such values for each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Names and values, in the order of the query; empty for a query with `GROUP BY`.
    pub values: Vec<(String, Value)>,
    /// The groups that have rows, in the order in which the groups were given.
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
    /// SQL's null: the sum, average or extremum of no numbers.
    Null,
    /// An exact number.
    Exact(Decimal),
    /// A quotient or a root, rounded half away from zero in its last decimal place.
    Rounded(Decimal),
    /// A truth value, date or timestamp, printed like a cell of its column.
    Text(String),
    /// Rows per interval, in ascending order.
    Histogram(Vec<Bin>),
}

/// An interval of a histogram: `low <= x < high`. `None` means no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The lower bound, inclusive.
    pub low: Option<Decimal>,
    /// The upper bound, exclusive.
    pub high: Option<Decimal>,
    /// The number of rows with a number in the interval.
    pub count: u64,
}

/// An integer in units of 10^-`scale`. Prints as a decimal number with `scale` places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The number of units.
    pub units: BigInt,
    /// The number of decimal places.
    pub scale: u32,
}

/// Reasons why an output does not answer the query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// The output does not belong to the query's plan.
    #[error("invalid output of {found} elements: the query expects {expected}, in range and consistent")]
    Invalid {
        /// Elements of an output of the plan.
        expected: usize,
        /// Elements of this output.
        found: usize,
    },
    /// There are groups beside the given ones.
    #[error("the groups that were given have {given} of {all} rows: a group is missing")]
    Groups {
        /// Rows of the given groups.
        given: u64,
        /// Rows of all groups.
        all: u64,
    },
    /// A column has contents beside the given ones.
    #[error("column {column:?} has other contents than those that were given in {rows} rows: a group is missing")]
    Contents {
        /// The column's name.
        column: String,
        /// Rows with other contents.
        rows: u64,
    },
}

impl Query {
    /// The plan, which is what a proof is about.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Reads the answer from an output of the plan.
    ///
    /// # Errors
    /// If the output does not have the plan's length, or an element is out of range. The output of a verified proof has
    /// the right length and range.
    pub fn answer(&self, output: &[Goldilocks]) -> Result<Answer, OutputError> {
        let expected = self.plan.output_len();
        let error = OutputError::Invalid { expected, found: output.len() };
        if output.len() != expected || !self.plan.slots().all(|(_, kind, at)| kind.check(&output[at])) {
            return Err(error);
        }
        let numbers = self.plan.slots().map(|(_, kind, at)| Sum { kind, elements: &output[at] }).collect();
        let reader = Reader { plan: &self.plan, numbers };
        let values = |readings: &[(String, Reading)]| {
            let values = readings.iter().map(|(name, reading)| Some((name.clone(), reader.read(reading)?)));
            values.collect::<Option<Vec<_>>>().ok_or(error.clone())
        };
        self.complete.iter().try_for_each(|complete| reader.check(complete))?;
        let mut answer = Answer { values: values(&self.readings)?, groups: vec![] };
        let Some(ByGroup { columns, groups }) = &self.groups else { return Ok(answer) };
        for group in groups.iter().filter(|group| reader.count(group.count) > 0) {
            let key = columns.iter().cloned().zip(group.key.iter().cloned()).collect();
            answer.groups.push(GroupAnswer { key, values: values(&group.readings)? });
        }
        Ok(answer)
    }
}

impl Reading {
    /// The same reading of accumulators at other positions. `None` unless it reads counts, sums or extrema.
    pub(super) fn moved(&self, at: &dyn Fn(usize) -> usize) -> Option<Self> {
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
            | Self::Histogram { .. }
            | Self::Polynomial(_)
            | Self::Distinct { .. } => return None,
            Self::Constant(value) => Self::Constant(value.clone()),
            Self::Arithmetic(operation, sides) => {
                let [left, right] = &**sides;
                Self::Arithmetic(*operation, Box::new([left.moved(at)?, right.moved(at)?]))
            }
            Self::Round(of, places) => Self::Round(Box::new(of.moved(at)?), *places),
        })
    }
}

/// The elements of an accumulator in an output.
struct Sum<'a> {
    kind: Kind,
    elements: &'a [Goldilocks],
}

/// The value of a reading.
enum Found {
    Null,
    Number(Number),
    /// The square root of a number, with the decimal places of the column.
    Root(Rational, u32),
    /// A date, a timestamp or a truth value.
    Text(String),
    Histogram(Vec<Bin>),
}

impl Found {
    fn exact(units: BigInt, scale: u32) -> Self {
        Self::Number(Number::exact(units, scale))
    }

    /// `numerator` / `denominator` in units of 10^-`scale`.
    fn quotient(numerator: BigInt, denominator: BigInt, scale: u32) -> Self {
        let (n, d) = (Rational::of_units(numerator, scale), Rational::of_units(denominator, 0));
        let form = Form::quotient(scale);
        d.inverse().map_or(Self::Null, |d| Self::Number(Number { value: n.times(&d), form }))
    }

    /// Rounds to decimal places; `None` for texts and histograms.
    fn rounded(self, places: u32) -> Option<Self> {
        match self {
            Self::Null => Some(Self::Null),
            Self::Number(number) => Some(Self::exact(number.value.rounded(places), places)),
            Self::Root(square, _) => Some(Self::exact(square.root(places), places)),
            Self::Text(_) | Self::Histogram(_) => None,
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Number(Number { value, form: Form { places, rounded: false } }) => {
                Value::Exact(Decimal { units: value.rounded(places), scale: places })
            }
            Self::Number(Number { value, form }) => {
                let scale = form.places + MORE_PLACES;
                Value::Rounded(Decimal { units: value.rounded(scale), scale })
            }
            Self::Root(square, places) => {
                let scale = places + MORE_PLACES;
                Value::Rounded(Decimal { units: square.root(scale), scale })
            }
            Self::Text(text) => Value::Text(text),
            Self::Histogram(bins) => Value::Histogram(bins),
        }
    }
}

struct Reader<'a> {
    plan: &'a Plan,
    numbers: Vec<Sum<'a>>,
}

impl Reader<'_> {
    /// Reads a value; `None` if the accumulators contradict each other.
    fn read(&self, reading: &Reading) -> Option<Value> {
        self.find(reading).map(Found::value)
    }

    fn find(&self, reading: &Reading) -> Option<Found> {
        Some(match reading {
            Reading::Count(at) => Found::exact(self.integer(*at), 0),
            Reading::Sum(m) => self.moments(m).map_or(Found::Null, |(sum, _)| Found::exact(sum, self.scale(m.column))),
            Reading::CountElseZero { all, .. } if self.integer(*all) == BigInt::ZERO => Found::Null,
            Reading::CountElseZero { count, .. } => Found::exact(self.integer(*count), 0),
            Reading::SumElseZero { of, all, matching } => {
                let others = self.count(*all).checked_sub(self.count(*matching))?;
                match self.find(of)? {
                    Found::Null if others > 0 => Found::Number(Number { value: Rational::zero(), form: self.form(of) }),
                    found => found,
                }
            }
            Reading::Average(m) => {
                let quotient = |(sum, count)| Found::quotient(sum, count, self.scale(m.column));
                self.moments(m).map_or(Found::Null, quotient)
            }
            Reading::SumOfProducts(p) => match self.products(p) {
                Some(sum) => Found::exact(sum, self.scale(p.left) + self.scale(p.right)),
                None => Found::Null,
            },
            Reading::WeightedAverage { products, weight, weights } => {
                let other = if *weight == products.left { products.right } else { products.left };
                let weights = self.integer(*weights) - self.integer(products.count) * self.offset(*weight);
                match self.products(products) {
                    // The products have the units of both columns. Dividing by the weights leaves the units of the
                    // other column.
                    Some(sum) => Found::quotient(sum, weights, self.scale(other)),
                    None => Found::Null,
                }
            }
            Reading::Least { at, column } => return self.extremum(*column, least(self.numbers[*at].elements)),
            Reading::Greatest { at, column } => return self.extremum(*column, greatest(self.numbers[*at].elements)),
            Reading::Spread { products, sample, root } => return self.spread(products, *sample, *root),
            Reading::Histogram { column, bounds, counts } => {
                let bound = |at: usize| bounds.get(at).map(|b| self.decimal(*column, *b));
                let count = |at: usize| counts.get(at).map_or(0, |c| self.count(*c));
                let bins = (0..counts.len()).map(|k| {
                    let count = count(k).checked_sub(count(k + 1))?;
                    Some(Bin { low: k.checked_sub(1).and_then(bound), high: bound(k), count })
                });
                Found::Histogram(bins.collect::<Option<_>>()?)
            }
            Reading::Polynomial(linear) => self.polynomial(linear),
            Reading::Distinct { counts, of } => self.distinct(counts, of),
            Reading::Constant(value) => Found::Number(Number::constant(value.clone())),
            Reading::Arithmetic(operation, sides) => {
                let [left, right] = &**sides;
                match (self.find(left)?, self.find(right)?) {
                    (Found::Number(l), Found::Number(r)) => l.joined(*operation, &r).map_or(Found::Null, Found::Number),
                    _ => Found::Null,
                }
            }
            Reading::Round(of, places) => self.find(of)?.rounded(*places)?,
        })
    }

    /// The form in which a sum is printed.
    fn form(&self, reading: &Reading) -> Form {
        match reading {
            Reading::Sum(m) => Form::exact(self.scale(m.column)),
            Reading::SumOfProducts(p) => Form::exact(self.scale(p.left) + self.scale(p.right)),
            Reading::Polynomial(linear) => linear.form,
            _ => Form::exact(0),
        }
    }

    fn polynomial(&self, linear: &Linear) -> Found {
        let count = Rational::of_units(self.integer(linear.count), 0);
        let Some(one) = count.inverse() else { return Found::Null };
        let sum = linear.terms.iter().fold(Rational::zero(), |sum, (coefficient, term)| {
            let of = match term {
                Term::One => Some(count.clone()),
                Term::Column(m) => self.moments(m).map(|(sum, _)| Rational::of_units(sum, self.scale(m.column))),
                Term::Product(p) => {
                    self.products(p).map(|sum| Rational::of_units(sum, self.scale(p.left) + self.scale(p.right)))
                }
            };
            of.map_or(sum.clone(), |of| sum.plus(&of.times(coefficient)))
        });
        Found::Number(if linear.average {
            Number { value: sum.times(&one), form: Form::quotient(linear.form.places) }
        } else {
            Number { value: sum, form: linear.form }
        })
    }

    fn distinct(&self, counts: &[usize], of: &Distinct) -> Found {
        let there = counts.iter().map(|at| self.count(*at) > 0);
        let number = BigInt::from(there.clone().filter(|there| *there).count());
        let sum = |column: ColumnIndex, encoded: &[u64]| -> BigInt {
            let values = encoded.iter().zip(there).filter(|(_, there)| *there);
            values.map(|(x, _)| self.decimal(column, *x).units).sum()
        };
        match of {
            Distinct::Count => Found::exact(number, 0),
            _ if number == BigInt::ZERO => Found::Null,
            Distinct::Sum { column, encoded } => Found::exact(sum(*column, encoded), self.scale(*column)),
            Distinct::Average { column, encoded } => {
                Found::quotient(sum(*column, encoded), number, self.scale(*column))
            }
        }
    }

    /// Refuses an output with rows that have other values than the given ones.
    fn check(&self, complete: &Complete) -> Result<(), OutputError> {
        match complete {
            Complete::Parts { parts, all } => {
                let given: u128 = parts.iter().map(|at| u128::from(self.count(*at))).sum();
                let all = self.count(*all);
                let same = given == u128::from(all);
                if same { Ok(()) } else { Err(OutputError::Groups { given: given as u64, all }) }
            }
            Complete::Others { column, count } => match self.count(*count) {
                0 => Ok(()),
                rows => Err(OutputError::Contents { column: column.clone(), rows }),
            },
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.numbers[at].elements[0].as_u64()
    }

    /// Sum and count of a column; `None` without numbers.
    fn moments(&self, m: &Moments) -> Option<(BigInt, BigInt)> {
        let count = self.integer(m.count);
        let sum = self.integer(m.sum) - &count * self.offset(m.column);
        (count != BigInt::ZERO).then_some((sum, count))
    }

    /// Sum of (a - o)(b - p) from the sums of a b, a and b, where o and p are the offsets of the encodings; `None`
    /// without numbers.
    fn products(&self, p: &Products) -> Option<BigInt> {
        let (left, right) = (self.offset(p.left), self.offset(p.right));
        let count = self.integer(p.count);
        let sum = self.integer(p.products) - self.integer(p.left_sum) * &right - self.integer(p.right_sum) * &left
            + &count * left * right;
        (count != BigInt::ZERO).then_some(sum)
    }

    /// The variance (n S2 - S1^2) / n^2, or / n (n - 1) for a sample, or its square root. The offset of the encoding
    /// cancels out.
    fn spread(&self, p: &Products, sample: bool, root: bool) -> Option<Found> {
        let n = self.integer(p.count);
        let sum = self.integer(p.left_sum);
        let numerator = &n * self.integer(p.products) - &sum * &sum;
        let denominator = if sample { &n * (&n - 1) } else { &n * &n };
        if numerator < BigInt::ZERO {
            return None;
        }
        let scale = self.scale(p.left);
        Some(match Found::quotient(numerator, denominator, 2 * scale) {
            Found::Number(number) if root => Found::Root(number.value, scale),
            found => found,
        })
    }

    fn extremum(&self, column: ColumnIndex, number: Option<u64>) -> Option<Found> {
        let Some(number) = number else { return Some(Found::Null) };
        let c = self.column(column);
        if !matches!(c.kind, ColumnType::Boolean | ColumnType::Date | ColumnType::Timestamp) {
            return Some(Found::exact(self.decimal(column, number).units, self.scale(column)));
        }
        let text = c.format(&c.decode(Goldilocks::new(number))?);
        Some(Found::Text(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Decodes a number of a column.
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
