//! A plan's map and reduction, without circuits.

use evergrove_commit::schema::{NULL, Row, RowError};
use evergrove_primitives::Goldilocks;

use super::Plan;
use super::plan::Kind;
use super::query::{Accumulator, ColumnIndex, Filter, NUMBER_END, Test};
use crate::{Leaf, MapReduceError, tables};

/// The greatest encoded number.
const GREATEST: u64 = NUMBER_END - 1;
/// Encodes the least of no numbers.
const NONE: u64 = NUMBER_END;

/// The elements of one row. They are checked against the value, and in the columns that the plan reads also against the
/// column's type.
struct Elements<'a> {
    plan: &'a Plan,
    elements: &'a [Goldilocks],
}

impl Elements<'_> {
    fn is_null(&self, column: ColumnIndex) -> bool {
        let c = &self.plan.schema().columns()[column as usize];
        c.nullable && is_null(self.cell(column))
    }

    /// The elements of a column.
    fn cell(&self, column: ColumnIndex) -> &[Goldilocks] {
        let at = self.plan.offset(column);
        &self.elements[at..at + self.plan.schema().columns()[column as usize].kind.elements()]
    }

    /// The encoded number of a column; `None` for null.
    fn number(&self, column: ColumnIndex) -> Option<u64> {
        (!self.is_null(column)).then(|| self.cell(column)[0].as_u64())
    }

    /// True if the test, or its negation, is true; false also if the test is unknown.
    fn passes(&self, test: &Test, negated: bool) -> bool {
        let truth = match *test {
            Test::Null { column } => Some(self.is_null(column)),
            Test::Within { column, low, high } => self.number(column).map(|x| (low..=high).contains(&x)),
            Test::Content { column, digest } => {
                (!self.is_null(column)).then(|| self.cell(column) == digest.map(Goldilocks::new))
            }
            Test::Less { left, right } => self.number(left).zip(self.number(right)).map(|(l, r)| l < r),
            Test::Equal { left, right } => {
                let known = !self.is_null(left) && !self.is_null(right);
                known.then(|| self.cell(left) == self.cell(right))
            }
        };
        truth.is_some_and(|t| t != negated)
    }

    /// An accumulator's output for this row alone. The row must pass the filter.
    fn accumulate(&self, accumulator: &Accumulator) -> Vec<Goldilocks> {
        let kind = accumulator.kind();
        let all_known = |known: &[ColumnIndex]| known.iter().all(|&c| !self.is_null(c));
        match accumulator {
            Accumulator::Count { known, at_least } => {
                let reaches = |(c, bound)| self.number(c).is_some_and(|x| x >= bound);
                vec![Goldilocks::new((all_known(known) && at_least.is_none_or(reaches)) as u64)]
            }
            Accumulator::Sum { column, known } => {
                let x = if all_known(known) { self.number(*column) } else { None };
                kind.limbs(x.unwrap_or(0).into())
            }
            Accumulator::Product { left, right } => {
                let factors = self.number(*left).zip(self.number(*right));
                kind.limbs(factors.map_or(0, |(l, r)| l as u128 * r as u128))
            }
            Accumulator::Min { column } => kind.limbs(self.number(*column).unwrap_or(NONE).into()),
            Accumulator::Max { column } => kind.limbs(self.number(*column).map_or(NONE, |x| GREATEST - x).into()),
        }
    }
}

impl Kind {
    fn limbs(self, x: u128) -> Vec<Goldilocks> {
        match self {
            Self::Count => vec![Goldilocks::new(x as u64)],
            Self::Limbs(width) => width.split(x),
            Self::Least => vec![Goldilocks::new(x as u64 & 0xffff_ffff), Goldilocks::new((x >> 32) as u64)],
        }
    }

    fn nothing(self) -> Vec<Goldilocks> {
        self.limbs(if self == Self::Least { NONE.into() } else { 0 })
    }

    /// The output of two sets of rows. An error says which number is out of range.
    fn reduce(self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        match self {
            Self::Count => Ok(vec![left[0] + right[0]]),
            Self::Limbs(width) => width.add(left, right).ok_or_else(|| MapReduceError::Overflow {
                what: "a sum".into(),
                reason: format!("it has more than {} bits: split the query by a condition", width.bits()),
            }),
            Self::Least => {
                let smaller = if number_of(left) <= number_of(right) { left } else { right };
                Ok(smaller.to_vec())
            }
        }
    }

    /// True if the elements may be those of an output.
    pub(super) fn check(self, limbs: &[Goldilocks]) -> bool {
        match self {
            Self::Count => true,
            Self::Limbs(width) => width.contains(limbs),
            Self::Least => limbs.iter().all(|l| l.as_u64() < 1 << 32) && number_of(limbs) <= NONE,
        }
    }
}

/// The number with these two limbs of 32 bits, the low one first.
pub(super) fn number_of(limbs: &[Goldilocks]) -> u64 {
    limbs[0].as_u64() + (limbs[1].as_u64() << 32)
}

/// The least number in a [`Kind::Least`]; `None` without numbers.
pub(super) fn least(limbs: &[Goldilocks]) -> Option<u64> {
    Some(number_of(limbs)).filter(|x| *x != NONE)
}

/// The greatest number, which is stored as the least of the complements.
pub(super) fn greatest(limbs: &[Goldilocks]) -> Option<u64> {
    least(limbs).map(|x| GREATEST - x)
}

fn is_null(cell: &[Goldilocks]) -> bool {
    cell[0] == NULL && cell[1..].iter().all(|x| *x == Goldilocks::ZERO)
}

impl Plan {
    /// The output of no rows.
    pub(super) fn nothing(&self) -> Vec<Goldilocks> {
        self.slots().flat_map(|(_, kind, _)| kind.nothing()).collect()
    }

    /// The output of one row.
    pub(super) fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        let elements = Elements { plan: self, elements: self.open(leaf)? };
        self.check_numbers(&elements, leaf.index)?;
        Ok(self.output(&elements))
    }

    /// The output of a row of the schema, without an opening.
    pub(super) fn map_row(&self, row: &Row) -> Result<Vec<Goldilocks>, RowError> {
        let columns = self.columns();
        let elements = self.schema().elements_where(row, |i| columns.contains(&(i as ColumnIndex)))?;
        Ok(self.output(&Elements { plan: self, elements: &elements }))
    }

    /// Checks that every number that the plan reads is an encoded number.
    fn check_numbers(&self, elements: &Elements<'_>, index: u64) -> Result<(), MapReduceError> {
        for &column in &self.columns() {
            let c = &self.schema().columns()[column as usize];
            let x = elements.cell(column)[0];
            if c.kind.is_number() && x.as_u64() > GREATEST && !elements.is_null(column) {
                let reason = format!(
                    "column {:?} holds {x}, which encodes no number of type {}: the table was committed by another schema, \
                     or by none",
                    c.name, c.kind
                );
                return Err(MapReduceError::Leaf { index, reason });
            }
        }
        Ok(())
    }

    fn output(&self, elements: &Elements<'_>) -> Vec<Goldilocks> {
        let passes = |filter: &Filter| {
            filter.run(
                &mut (),
                |(), test, negated| elements.passes(test, negated),
                |(), truths, all| if all { truths.iter().all(|t| *t) } else { truths.iter().any(|t| *t) },
            )
        };
        if !passes(self.filter()) {
            return self.nothing();
        }
        let output = self.accumulators().iter().enumerate().flat_map(|(i, accumulator)| {
            let counts = self.condition(i).is_none_or(passes);
            if counts { elements.accumulate(accumulator) } else { accumulator.kind().nothing() }
        });
        output.collect()
    }

    /// The elements of the leaf's row.
    fn open<'a>(&self, leaf: &'a Leaf<'_>) -> Result<&'a [Goldilocks], MapReduceError> {
        if !self.columns().is_empty() {
            return tables::row(leaf, self.schema());
        }
        match leaf.opening.len() {
            0 => Ok(&leaf.value),
            found => Err(MapReduceError::OpeningLength { index: leaf.index, expected: 0, found }),
        }
    }

    /// The output of two sets of rows.
    pub(super) fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        let expected = self.output_len();
        for operand in [left, right] {
            let fits = operand.len() == expected && self.slots().all(|(_, kind, at)| kind.check(&operand[at]));
            if !fits {
                return Err(MapReduceError::Operand(format!("not {expected} elements, each of its range")));
            }
        }
        let mut out = Vec::with_capacity(expected);
        for (_, kind, at) in self.slots() {
            out.extend(kind.reduce(&left[at.clone()], &right[at])?);
        }
        Ok(out)
    }
}
