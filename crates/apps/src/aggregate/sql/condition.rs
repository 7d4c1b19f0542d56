//! `WHERE`: turns an expression into a filter, with negations pushed down to the tests.

use core::cmp::Ordering;
use core::ops::RangeInclusive;

use evergrove_commit::schema::time::{DAY, parse_date, parse_timestamp, year_start};
use evergrove_commit::schema::{Cell, Column, ColumnType, Row, Schema, content_digest};
use sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator, Value};

use super::arithmetic::{self, Polynomial};
use super::columns::{Columns, ORDER, Span};
use super::dates::{Part, extracted, units, years};
use super::error::SqlError;
use super::lists::Contents;
use super::literal::{Decimal, Floor, Literal};
use super::select::SUBQUERY;
use crate::aggregate::exact::Rational;
use crate::aggregate::query::{ColumnIndex, Filter, Step, Test};

/// The remedy for unsupported conditions.
const CONDITIONS: &str = "conditions are made of =, <>, <, <=, >, >=, BETWEEN, IN, LIKE and IS NULL on a column and literals, \
                          or two columns of one type, joined by AND, OR and NOT";

/// The remedy for parts of dates without a bounded year.
const YEARS: &str = "bound the column's year in the same conjunction, like EXTRACT(YEAR FROM column) = 2024 AND ..; the other way is a range of dates";
const LINEAR: &str = "compare one column with a constant, like a * 2 > 10, or two columns of one type, like a - b > 0; keep \
                      what else is computed as a column of the table";
const PREFIX: &str = "write LIKE 'prefix%', = or IN: a pattern has one %, at its end, and no _ or \\";

/// The filter of an expression.
pub(super) fn filter(columns: &Columns<'_>, e: &Expr) -> Result<Filter, SqlError> {
    let mut steps = vec![];
    Conditions { columns, steps: &mut steps, spans: columns.spans.clone() }.push(e, false)?;
    Ok(Filter { steps })
}

/// For each column of dates, the range of dates for which the expression can be true.
pub(super) fn spans(columns: &Columns<'_>, e: &Expr) -> Vec<Span> {
    let all = columns.calendars().map(|column| span(columns, column, e));
    all.filter(|span| (span.low, span.high) != (i128::MIN, i128::MAX)).collect()
}

struct Conditions<'a> {
    columns: &'a Columns<'a>,
    steps: &'a mut Vec<Step>,
    /// The ranges of columns of dates outside which the current expression does not matter.
    spans: Vec<Span>,
}

/// `=`, `<`, `<=`, `>` and `>=`; `<>` is a negated `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    /// The comparison of an operator, and whether it is negated.
    fn of(op: &BinaryOperator) -> Option<(Self, bool)> {
        Some(match op {
            BinaryOperator::Eq => (Self::Equal, false),
            BinaryOperator::NotEq => (Self::Equal, true),
            BinaryOperator::Lt => (Self::Less, false),
            BinaryOperator::LtEq => (Self::AtMost, false),
            BinaryOperator::Gt => (Self::Greater, false),
            BinaryOperator::GtEq => (Self::AtLeast, false),
            _ => return None,
        })
    }

    /// The bounds of the whole numbers for which the comparison with `at` holds.
    fn bounds(self, at: Floor) -> (i128, i128) {
        let (least, greatest) = (i128::MIN, i128::MAX);
        match self {
            Self::Equal if at.exact => (at.floor, at.floor),
            Self::Equal => (greatest, least),
            Self::Less => (least, at.ceiling() - 1),
            Self::AtMost => (least, at.floor),
            Self::Greater => (at.floor + 1, greatest),
            Self::AtLeast => (at.ceiling(), greatest),
        }
    }

    /// True if the comparison holds for two values in this order.
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Less => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::AtLeast => ordering.is_ge(),
        }
    }

    fn with_sides_exchanged(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
        }
    }
}

impl Conditions<'_> {
    /// Pushes true if the expression, or its negation, is true.
    fn push(&mut self, e: &Expr, negated: bool) -> Result<(), SqlError> {
        match e {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => self.truth(e, e, true, negated),
            Expr::IsTrue(inner) => self.is_truth(e, inner, true, negated),
            Expr::IsNotTrue(inner) => self.is_truth(e, inner, true, !negated),
            Expr::IsFalse(inner) => self.is_truth(e, inner, false, negated),
            Expr::IsNotFalse(inner) => self.is_truth(e, inner, false, !negated),
            Expr::Nested(inner) => self.push(inner, negated),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.push(expr, !negated),
            Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => self.join(e, op, negated),
            Expr::BinaryOp { left, op, right } => {
                let (comparison, not) = Comparison::of(op).ok_or_else(|| SqlError::unsupported(e, CONDITIONS))?;
                self.compare(left, comparison, right, negated != not)
            }
            Expr::IsNull(inner) => self.null(e, inner, negated),
            Expr::IsNotNull(inner) => self.null(e, inner, !negated),
            Expr::Between { expr, negated: not, low, high } => self.between(expr, low, high, negated != *not),
            Expr::InList { expr, list, negated: not } => {
                let negated = negated != *not;
                for item in list {
                    self.compare(expr, Comparison::Equal, item, negated)?;
                }
                self.close(list.len(), negated);
                Ok(())
            }
            Expr::Like { negated: not, any: false, expr, pattern, escape_char: None } => {
                self.like(e, expr, pattern, negated != *not)
            }
            Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } | Expr::RLike { .. } => {
                Err(SqlError::unsupported(e, PREFIX))
            }
            Expr::InSubquery { .. } | Expr::Exists { .. } | Expr::Subquery(_) => {
                Err(SqlError::unsupported(format!("the subquery in {e}"), SUBQUERY))
            }
            Expr::Value(v) => match v.value {
                Value::Boolean(truth) => {
                    self.constant(truth != negated);
                    Ok(())
                }
                _ => Err(SqlError::unsupported(format!("the condition {e}"), CONDITIONS)),
            },
            _ => Err(SqlError::unsupported(format!("the condition {e}"), CONDITIONS)),
        }
    }

    /// A chain of one connective. It parses as a tree as deep as the chain is long, so this is a loop.
    fn join(&mut self, e: &Expr, op: &BinaryOperator, negated: bool) -> Result<(), SqlError> {
        let operands = operands(e, op);
        let outer = self.spans.len();
        if *op == BinaryOperator::And {
            // For a row outside these ranges the conjunction is not true, whatever its other parts are.
            self.spans.extend(spans(self.columns, e));
        }
        for operand in operands.iter().rev() {
            self.push(operand, negated)?;
        }
        self.spans.truncate(outer);
        self.close(operands.len(), (*op == BinaryOperator::And) != negated);
        Ok(())
    }

    /// Combines the last n truth values: all of them must be true, or any of them.
    fn close(&mut self, n: usize, all: bool) {
        let n = n as u16;
        self.steps.push(if all { Step::All(n) } else { Step::Any(n) });
    }

    fn constant(&mut self, truth: bool) {
        self.steps.push(if truth { Step::All(0) } else { Step::Any(0) });
    }

    fn test(&mut self, test: Test, negated: bool) {
        self.steps.push(Step::Test { test, negated });
    }

    fn null(&mut self, e: &Expr, inner: &Expr, negated: bool) -> Result<(), SqlError> {
        let column = self.columns.of(inner)?.ok_or_else(|| SqlError::unsupported(e, CONDITIONS))?;
        if self.columns.at(column).nullable {
            self.test(Test::Null { column }, negated);
        } else {
            self.constant(negated);
        }
        Ok(())
    }

    fn between(&mut self, e: &Expr, low: &Expr, high: &Expr, negated: bool) -> Result<(), SqlError> {
        if let (Some((column, part)), Some(Literal::Number(low)), Some(Literal::Number(high))) =
            (extracted(self.columns, e)?, Literal::of(low), Literal::of(high))
        {
            let (low, high) = (low.at_scale(0).ceiling(), high.at_scale(0).floor);
            return self.part(e, (column, part), (low, high), negated);
        }
        if let Some(column) = self.name(e, low)?
            && self.columns.at(column).kind.is_number()
            && let (Some(from), Some(to)) = (Literal::of(low), Literal::of(high))
            && from != Literal::Null
            && to != Literal::Null
        {
            let c = self.columns.at(column);
            let (from, to) = (point(c, &from, low)?, point(c, &to, high)?);
            self.within(column, from.ceiling(), to.floor, negated);
            return Ok(());
        }
        // If a bound is null or a column: x >= low AND x <= high, part by part.
        self.compare(e, Comparison::AtLeast, low, negated)?;
        self.compare(e, Comparison::AtMost, high, negated)?;
        self.close(2, !negated);
        Ok(())
    }

    fn compare(&mut self, left: &Expr, op: Comparison, right: &Expr, negated: bool) -> Result<(), SqlError> {
        let unsupported = || SqlError::unsupported(format!("a comparison of {left} with {right}"), CONDITIONS);
        if let Some(of) = extracted(self.columns, left)? {
            return self.compare_part(left, of, op, right, negated);
        }
        if let Some(of) = extracted(self.columns, right)? {
            return self.compare_part(right, of, op.with_sides_exchanged(), left, negated);
        }
        if let Some(Expr::Subquery(_)) = [left, right].into_iter().find(|e| matches!(e, Expr::Subquery(_))) {
            return Err(SqlError::unsupported(
                format!("the subquery in a comparison of {left} with {right}"),
                SUBQUERY,
            ));
        }
        match (self.name(left, right)?, self.name(right, left)?) {
            (Some(l), Some(r)) => self.compare_columns(l, op, r, negated),
            (None, _) if Literal::of(left).is_none() && arithmetic::is_arithmetic(left) => {
                self.compare_arithmetic(left, op, right, negated)
            }
            (_, None) if Literal::of(right).is_none() && arithmetic::is_arithmetic(right) => {
                self.compare_arithmetic(left, op, right, negated)
            }
            (Some(column), None) => {
                let literal = Literal::of(right).ok_or_else(unsupported)?;
                self.compare_literal(column, op, &literal, right, negated)
            }
            (None, Some(column)) => {
                let literal = Literal::of(left).ok_or_else(unsupported)?;
                self.compare_literal(column, op.with_sides_exchanged(), &literal, left, negated)
            }
            (None, None) => match (arithmetic::constant(left), arithmetic::constant(right)) {
                (Some(_), Some(_)) => self.compare_arithmetic(left, op, right, negated),
                _ => Err(unsupported()),
            },
        }
    }

    /// A comparison that reduces to one of a column with a constant, of two columns, or of constants.
    fn compare_arithmetic(&mut self, left: &Expr, op: Comparison, right: &Expr, negated: bool) -> Result<(), SqlError> {
        let unsupported = || SqlError::unsupported(format!("a comparison of {left} with {right}"), LINEAR);
        let mut difference = Polynomial::of(self.columns, left)?;
        let minus_one = Rational::of_units((-1).into(), 0);
        difference = difference.plus(Polynomial::of(self.columns, right)?.scaled(&minus_one));
        let offset = difference.terms.remove(&vec![]).unwrap_or_else(Rational::zero);
        let terms: Vec<_> = difference.terms.into_iter().collect();
        let read: Vec<ColumnIndex> = match terms.as_slice() {
            [] => {
                let truth = op.holds(offset.sign());
                self.constant(truth != negated);
                vec![]
            }
            [(of, k)] if let [column] = of.as_slice() => {
                let Some(bound) = k.inverse().map(|inverse| offset.negated().times(&inverse)) else {
                    return Err(unsupported());
                };
                let op = if k.sign() == Ordering::Less { op.with_sides_exchanged() } else { op };
                self.compare_literal(*column, op, &Literal::Number(Decimal::of(&bound)), right, negated)?;
                vec![*column]
            }
            [(l, k), (r, other)] if offset.is_zero() && k.plus(other).is_zero() => {
                let ([l], [r]) = (l.as_slice(), r.as_slice()) else { return Err(unsupported()) };
                let (l, r) = if k.sign() == Ordering::Less { (*r, *l) } else { (*l, *r) };
                self.compare_columns(l, op, r, negated)?;
                vec![l, r]
            }
            _ => return Err(unsupported()),
        };
        // Columns that cancel out must not be null.
        let others = difference.columns.into_iter().filter(|c| self.columns.at(*c).nullable && !read.contains(c));
        let others: Vec<ColumnIndex> = others.collect();
        if !others.is_empty() {
            others.iter().for_each(|&column| self.test(Test::Null { column }, true));
            self.close(others.len() + 1, true);
        }
        Ok(())
    }

    fn like(&mut self, e: &Expr, of: &Expr, pattern: &Expr, negated: bool) -> Result<(), SqlError> {
        let column = self.columns.of(of)?.ok_or_else(|| SqlError::unsupported(e, PREFIX))?;
        let pattern = match Literal::of(pattern) {
            Some(Literal::Text(pattern)) => pattern,
            Some(Literal::Null) => {
                self.constant(false);
                return Ok(());
            }
            _ => return Err(SqlError::unsupported(e, PREFIX)),
        };
        let c = self.columns.at(column);
        if c.kind != ColumnType::Bytes {
            return Err(SqlError::ColumnType { what: "LIKE".into(), column: c.name.clone(), kind: c.kind });
        }
        let prefix = pattern.trim_end_matches('%');
        if prefix.contains(['%', '_', '\\']) {
            return Err(SqlError::unsupported(e, PREFIX));
        }
        if prefix == pattern {
            let digest = content_digest(pattern.as_bytes()).0.map(|x| x.as_u64());
            self.test(Test::Content { column, digest }, negated);
        } else if prefix.is_empty() {
            // Every text starts with the empty text.
            self.nothing(column, !negated);
        } else {
            self.contents(column, negated, |content| content.starts_with(prefix.as_bytes()));
        }
        Ok(())
    }

    /// The contents of a column for which `wanted` holds, among the given contents. The output shows that there are no
    /// others.
    fn contents(&mut self, column: ColumnIndex, negated: bool, wanted: impl Fn(&[u8]) -> bool) {
        let Contents(all) = self.columns.contents(column);
        let wanted: Vec<[u64; 4]> =
            all.into_iter().filter(|(content, _)| wanted(content)).map(|(_, digest)| digest).collect();
        if wanted.is_empty() {
            return self.nothing(column, negated);
        }
        for &digest in &wanted {
            self.test(Test::Content { column, digest }, negated);
        }
        self.close(wanted.len(), negated);
    }

    fn compare_columns(
        &mut self,
        left: ColumnIndex,
        op: Comparison,
        right: ColumnIndex,
        negated: bool,
    ) -> Result<(), SqlError> {
        let (l, r) = (self.columns.at(left), self.columns.at(right));
        if l.kind != r.kind {
            let (left, right) = (l.name.clone(), r.name.clone());
            return Err(SqlError::TypesDiffer { left, left_kind: l.kind, right, right_kind: r.kind });
        }
        if op != Comparison::Equal {
            self.columns.number(left, ORDER)?;
        }
        let (test, not) = match op {
            Comparison::Equal => (Test::Equal { left, right }, false),
            Comparison::Less => (Test::Less { left, right }, false),
            Comparison::Greater => (Test::Less { left: right, right: left }, false),
            Comparison::AtMost => (Test::Less { left: right, right: left }, true),
            Comparison::AtLeast => (Test::Less { left, right }, true),
        };
        self.test(test, negated != not);
        Ok(())
    }

    fn compare_literal(
        &mut self,
        column: ColumnIndex,
        op: Comparison,
        literal: &Literal,
        written: &Expr,
        negated: bool,
    ) -> Result<(), SqlError> {
        let c = self.columns.at(column);
        match (literal, c.kind) {
            // A comparison with null is never true, negated or not.
            (Literal::Null, _) => self.constant(false),
            (literal, kind) if !kind.is_number() => {
                let content = content(c, literal, written)?;
                if op != Comparison::Equal {
                    if let (Literal::Text(text), ColumnType::Bytes) = (literal, kind) {
                        self.contents(column, negated, |content| op.holds(content.cmp(text.as_bytes())));
                        return Ok(());
                    }
                    self.columns.number(column, ORDER)?;
                }
                match content {
                    Some(digest) => self.test(Test::Content { column, digest }, negated),
                    None => self.nothing(column, negated),
                }
            }
            (literal, _) => {
                let (low, high) = op.bounds(point(c, literal, written)?);
                self.within(column, low, high, negated);
            }
        }
        Ok(())
    }

    /// The column that an expression names. A name in double quotes that is compared with a column may be meant as a
    /// text.
    fn name(&self, e: &Expr, other: &Expr) -> Result<Option<ColumnIndex>, SqlError> {
        self.columns.of(e).map_err(|error| match (e, error) {
            (Expr::Identifier(Ident { value, quote_style: Some('"'), .. }), SqlError::UnknownColumn { .. })
                if matches!(self.columns.of(other), Ok(Some(_))) =>
            {
                SqlError::DoubleQuotes(value.clone())
            }
            (_, error) => error,
        })
    }

    /// A column of truth values as a condition. `e` is the whole condition.
    fn truth(&mut self, e: &Expr, column: &Expr, truth: bool, negated: bool) -> Result<(), SqlError> {
        let column = self.columns.of(column)?.ok_or_else(|| SqlError::unsupported(e, CONDITIONS))?;
        if self.columns.at(column).kind != ColumnType::Boolean {
            return Err(SqlError::unsupported(format!("the condition {e}"), CONDITIONS));
        }
        self.test(Test::Within { column, low: truth.into(), high: truth.into() }, negated);
        Ok(())
    }

    /// `IS TRUE` and `IS FALSE` are not true for null, so their negations are.
    fn is_truth(&mut self, e: &Expr, column: &Expr, truth: bool, negated: bool) -> Result<(), SqlError> {
        self.truth(e, column, truth, negated)?;
        if let (true, Some(column)) = (negated, self.columns.of(column)?)
            && self.columns.at(column).nullable
        {
            self.test(Test::Null { column }, false);
            self.close(2, false);
        }
        Ok(())
    }

    /// Compares a part of a column's dates with a number.
    fn compare_part(
        &mut self,
        e: &Expr,
        of: (ColumnIndex, Part),
        op: Comparison,
        written: &Expr,
        negated: bool,
    ) -> Result<(), SqlError> {
        match Literal::of(written) {
            Some(Literal::Null) => {
                self.constant(false);
                Ok(())
            }
            Some(Literal::Number(number)) => self.part(e, of, op.bounds(number.at_scale(0)), negated),
            _ => Err(SqlError::unsupported(format!("a comparison of {e} with {written}"), "compare it with a number")),
        }
    }

    /// A part of a column's dates within bounds.
    fn part(
        &mut self,
        e: &Expr,
        (column, part): (ColumnIndex, Part),
        (low, high): (i128, i128),
        negated: bool,
    ) -> Result<(), SqlError> {
        let values = part.values();
        let [low, high] = [low.max(*values.start()), high.min(*values.end())];
        if low > high {
            self.nothing(column, negated);
            return Ok(());
        }
        let [low, high] = [low, high].map(|x| x as i64);
        let kind = self.columns.at(column).kind;
        let ranges = if part == Part::Year {
            vec![year_start(low)..=year_start(high + 1) - 1]
        } else {
            let years = self.years(column).ok_or_else(|| SqlError::unsupported(e, YEARS))?;
            part.ranges(years, low, high)?
        };
        if ranges.is_empty() {
            self.nothing(column, negated);
            return Ok(());
        }
        for days in &ranges {
            let (low, high) = units(kind, days);
            self.within(column, low, high, negated);
        }
        if ranges.len() != 1 {
            self.close(ranges.len(), negated);
        }
        Ok(())
    }

    /// The years of a column's dates for which the current expression matters.
    fn years(&self, column: ColumnIndex) -> Option<RangeInclusive<i64>> {
        let spans = self.spans.iter().filter(|span| span.column == column);
        let (low, high) =
            spans.fold((i128::MIN, i128::MAX), |(low, high), span| (low.max(span.low), high.min(span.high)));
        // The range is empty, so the expression does not matter.
        if low > high { Some(RangeInclusive::new(1, 0)) } else { years(self.columns.at(column).kind, low, high) }
    }

    /// A column's numbers within bounds in its units. The bounds may be outside the column's range, or empty.
    fn within(&mut self, column: ColumnIndex, low: i128, high: i128, negated: bool) {
        let (least, greatest) = self.columns.range(column);
        let (low, high) = (low.max(least), high.min(greatest));
        if low <= high && (low, high) != (least, greatest) {
            let [low, high] = [low, high].map(|x| (x - least) as u64);
            return self.test(Test::Within { column, low, high }, negated);
        }
        // The whole range, or an empty one: the condition only says that the number is known, or it is never met.
        self.nothing(column, negated != (low <= high));
    }

    /// A condition that no cell meets. Its negation says that the cell is known.
    fn nothing(&mut self, column: ColumnIndex, negated: bool) {
        if !negated {
            self.constant(false);
        } else if self.columns.at(column).nullable {
            self.test(Test::Null { column }, true);
        } else {
            self.constant(true);
        }
    }
}

/// The operands of a chain of one connective, the last one first.
fn operands<'e>(e: &'e Expr, op: &BinaryOperator) -> Vec<&'e Expr> {
    let mut operands = vec![];
    let mut spine = e;
    while let Expr::BinaryOp { left, op: found, right } = spine
        && found == op
    {
        operands.push(&**right);
        spine = left;
    }
    operands.push(spine);
    operands
}

/// A literal in units of a column of numbers.
fn point(c: &Column, literal: &Literal, written: &Expr) -> Result<Floor, SqlError> {
    let refused = || SqlError::Literal { literal: written.to_string(), column: c.name.clone(), kind: c.kind };
    match (literal, c.kind) {
        (Literal::Boolean(truth), ColumnType::Boolean) => Ok(Floor::whole((*truth).into())),
        (
            Literal::Number(number),
            ColumnType::Unsigned | ColumnType::Signed | ColumnType::Fixed { .. } | ColumnType::Decimal { .. },
        ) => Ok(number.at_scale(c.kind.scale())),
        (Literal::Text(text), ColumnType::Date | ColumnType::Timestamp) => moment(text, None, c.kind, written),
        (
            Literal::Typed(kind @ (ColumnType::Date | ColumnType::Timestamp), text),
            ColumnType::Date | ColumnType::Timestamp,
        ) => moment(text, Some(*kind), c.kind, written),
        _ => Err(refused()),
    }
}

/// A date or timestamp in text form, in units of a column. Dates are at midnight.
fn moment(text: &str, named: Option<ColumnType>, kind: ColumnType, written: &Expr) -> Result<Floor, SqlError> {
    let micros = match parse_date(text.as_bytes()) {
        Ok(days) => Ok(days * DAY),
        // A bare text that is compared with a column of dates may have a time of day, and is then compared as a
        // timestamp.
        Err(_) if named != Some(ColumnType::Date) && (kind == ColumnType::Timestamp || text.len() > 10) => {
            parse_timestamp(text.as_bytes())
        }
        Err(_) if named == Some(ColumnType::Timestamp) => parse_timestamp(text.as_bytes()),
        Err(reason) => Err(reason),
    };
    let micros = micros.map_err(|reason| SqlError::Form {
        literal: written.to_string(),
        kind: named.unwrap_or(kind),
        reason,
    })?;
    let size = if kind == ColumnType::Date { DAY.into() } else { 1 };
    Ok(Floor::whole(micros.into()).per(size))
}

/// The four elements of a literal in a column with cells of four elements; `None` for a number that the column cannot
/// hold.
fn content(c: &Column, literal: &Literal, written: &Expr) -> Result<Option<[u64; 4]>, SqlError> {
    let refused = || SqlError::Literal { literal: written.to_string(), column: c.name.clone(), kind: c.kind };
    let cell = match (literal, c.kind) {
        (Literal::Text(text), ColumnType::Bytes) => Some(Cell::Bytes(text.as_bytes().to_vec())),
        (Literal::Text(text) | Literal::Typed(ColumnType::Uuid, text), ColumnType::Uuid) => {
            let form = |_| SqlError::Form {
                literal: written.to_string(),
                kind: c.kind,
                reason: "a UUID has 32 hexadecimal digits and 4 hyphens",
            };
            Some(Column::new("", c.kind).parse(text.as_bytes()).map_err(form)?)
        }
        (Literal::Number(number), ColumnType::Unsigned128) => {
            number.whole(0).and_then(|x| x.try_into().ok()).map(Cell::Unsigned128)
        }
        (Literal::Number(number), ColumnType::Integer128 | ColumnType::Decimal { .. }) => {
            number.whole(c.kind.scale()).and_then(|x| x.try_into().ok()).map(Cell::Integer128)
        }
        _ => return Err(refused()),
    };
    let elements = cell.and_then(|cell| {
        let schema = Schema::new(vec![Column { name: "c".into(), ..c.clone() }]).ok()?;
        let elements = schema.elements(&Row::Cells(vec![cell])).ok()?;
        <[_; 4]>::try_from(elements).ok()
    });
    Ok(elements.map(|elements| elements.map(|x| x.as_u64())))
}

/// The range of a column's dates for which an expression can be true. It is wider than necessary for expressions of
/// other forms.
fn span(columns: &Columns<'_>, column: ColumnIndex, e: &Expr) -> Span {
    let all = Span { column, low: i128::MIN, high: i128::MAX };
    let meet = |a: Span, b: Span| Span { low: a.low.max(b.low), high: a.high.min(b.high), ..a };
    let hull = |a: Span, b: Span| Span { low: a.low.min(b.low), high: a.high.max(b.high), ..a };
    let of = |e: &Expr| span(columns, column, e);
    let compared = |e: &Expr, op, literal| compared(columns, column, e, op, literal).unwrap_or(all);
    match e {
        Expr::Nested(inner) => of(inner),
        Expr::BinaryOp { op: op @ BinaryOperator::And, .. } => operands(e, op).into_iter().map(of).fold(all, meet),
        Expr::BinaryOp { op: op @ BinaryOperator::Or, .. } => {
            operands(e, op).into_iter().map(of).reduce(hull).unwrap_or(all)
        }
        Expr::BinaryOp { left, op, right } => match Comparison::of(op) {
            Some((op, false)) => meet(compared(left, op, right), compared(right, op.with_sides_exchanged(), left)),
            _ => all,
        },
        Expr::Between { expr, negated: false, low, high } => {
            meet(compared(expr, Comparison::AtLeast, low), compared(expr, Comparison::AtMost, high))
        }
        Expr::InList { expr, list, negated: false } => {
            let items = list.iter().map(|item| compared(expr, Comparison::Equal, item));
            items.reduce(hull).unwrap_or(all)
        }
        _ => all,
    }
}

/// The range of dates for a comparison of a column, or of its year, with a literal; `None` for other comparisons.
fn compared(columns: &Columns<'_>, column: ColumnIndex, e: &Expr, op: Comparison, written: &Expr) -> Option<Span> {
    let c = columns.at(column);
    let literal = Literal::of(written)?;
    if columns.of(e).ok()? == Some(column) {
        let (low, high) = op.bounds(point(c, &literal, written).ok()?);
        return Some(Span { column, low, high });
    }
    let (Some((of, Part::Year)), Literal::Number(number)) = (extracted(columns, e).ok()?, literal) else { return None };
    let (low, high) = op.bounds(number.at_scale(0));
    let values = Part::Year.values();
    // Replaces an invalid year by the nearest valid one, because a range may be wider than necessary.
    let whole = |year: i128| {
        let year = year.clamp(*values.start(), *values.end()) as i64;
        units(c.kind, &(year_start(year)..=year_start(year + 1) - 1))
    };
    (of == column).then(|| Span {
        column,
        low: if low == i128::MIN { low } else { whole(low).0 },
        high: if high == i128::MAX { high } else { whole(high).1 },
    })
}
