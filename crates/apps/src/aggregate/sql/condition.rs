//! `WHERE`: an expression as a filter, negations pushed to the tests.

use core::cmp::Ordering;

use evergrove_commit::schema::{ColumnType, content_digest};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::arithmetic::{self, Polynomial};
use super::columns::Columns;
use super::error::SqlError;
use super::lists::Contents;
use super::literal::{Decimal, Literal};
use super::select::SUBQUERY;
use crate::aggregate::exact::Rational;
use crate::aggregate::query::{ColumnIndex, Filter, Step, Test};

/// What the remedies of unsupported conditions say.
const CONDITIONS: &str = "conditions are made of =, <>, <, <=, >, >=, BETWEEN, IN, LIKE and IS NULL on a column and literals, \
                          or two columns of one type, joined by AND, OR and NOT";

const LINEAR: &str = "compare one column with a constant, like a * 2 > 10, or two columns of one type, like a - b > 0; keep \
                      what else is computed as a column of the table";
const PREFIX: &str = "write LIKE 'prefix%', = or IN: a pattern has one %, at its end, and no _ or \\";

/// The filter that an expression is.
pub(super) fn filter(columns: &Columns<'_>, e: &Expr) -> Result<Filter, SqlError> {
    let mut steps = vec![];
    Conditions { columns, steps: &mut steps }.push(e, false)?;
    Ok(Filter { steps })
}

struct Conditions<'a> {
    columns: &'a Columns<'a>,
    steps: &'a mut Vec<Step>,
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
    /// The comparison, and whether its negation is meant.
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

    /// Whether it holds of two values that compare like this.
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
    /// Pushes whether the expression, or its negation, is true.
    fn push(&mut self, e: &Expr, negated: bool) -> Result<(), SqlError> {
        match e {
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

    /// A chain of one connective, which parses as a tree of its own depth, in one loop.
    fn join(&mut self, e: &Expr, op: &BinaryOperator, negated: bool) -> Result<(), SqlError> {
        let mut operands = vec![];
        let mut spine = e;
        while let Expr::BinaryOp { left, op: found, right } = spine
            && found == op
        {
            operands.push(&**right);
            spine = left;
        }
        operands.push(spine);
        for operand in operands.iter().rev() {
            self.push(operand, negated)?;
        }
        self.close(operands.len(), (*op == BinaryOperator::And) != negated);
        Ok(())
    }

    /// Joins the last n truths: all must hold, or one.
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
        if let (Some(column), Some(Literal::Number(low)), Some(Literal::Number(high))) =
            (self.columns.of(e)?, Literal::of(low), Literal::of(high))
            && self.columns.at(column).kind != ColumnType::Bytes
        {
            let scale = self.columns.at(column).kind.scale();
            self.within(column, low.at_scale(scale).ceiling(), high.at_scale(scale).floor, negated);
            return Ok(());
        }
        // With a null or a column for a bound: x >= low AND x <= high, part by part.
        self.compare(e, Comparison::AtLeast, low, negated)?;
        self.compare(e, Comparison::AtMost, high, negated)?;
        self.close(2, !negated);
        Ok(())
    }

    fn compare(&mut self, left: &Expr, op: Comparison, right: &Expr, negated: bool) -> Result<(), SqlError> {
        let unsupported = || SqlError::unsupported(format!("a comparison of {left} with {right}"), CONDITIONS);
        if let Some(Expr::Subquery(_)) = [left, right].into_iter().find(|e| matches!(e, Expr::Subquery(_))) {
            return Err(SqlError::unsupported(
                format!("the subquery in a comparison of {left} with {right}"),
                SUBQUERY,
            ));
        }
        match (self.columns.of(left)?, self.columns.of(right)?) {
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

    /// A comparison that comes to one of a column with a constant, of two columns, or of constants.
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
        // Columns that cancel out have to be known.
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
            self.known(column, !negated);
        } else {
            self.contents(column, negated, |content| content.starts_with(prefix.as_bytes()));
        }
        Ok(())
    }

    /// The column is not null, if `truth`; else never.
    fn known(&mut self, column: ColumnIndex, truth: bool) {
        if truth && self.columns.at(column).nullable {
            self.test(Test::Null { column }, true);
        } else {
            self.constant(truth);
        }
    }

    /// Contents of a column that are `wanted`: one of those that were given, which are shown to be all that there are.
    fn contents(&mut self, column: ColumnIndex, negated: bool, wanted: impl Fn(&[u8]) -> bool) {
        let Contents(all) = self.columns.contents(column);
        let wanted: Vec<[u64; 4]> =
            all.into_iter().filter(|(content, _)| wanted(content)).map(|(_, digest)| digest).collect();
        if wanted.is_empty() {
            return self.known(column, negated);
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
            self.columns.number(left, "an order")?;
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
            // Nothing is true of a comparison with null, negated or not.
            (Literal::Null, _) => self.constant(false),
            (Literal::Text(text), ColumnType::Bytes) => {
                if op != Comparison::Equal {
                    self.contents(column, negated, |content| op.holds(content.cmp(text.as_bytes())));
                    return Ok(());
                }
                let digest = content_digest(text.as_bytes()).0.map(|x| x.as_u64());
                self.test(Test::Content { column, digest }, negated);
            }
            (Literal::Number(number), ColumnType::Unsigned | ColumnType::Signed | ColumnType::Fixed { .. }) => {
                let at = number.at_scale(c.kind.scale());
                let (least, greatest) = (i128::MIN, i128::MAX);
                let (low, high) = match op {
                    Comparison::Equal if at.exact => (at.floor, at.floor),
                    Comparison::Equal => (greatest, least),
                    Comparison::Less => (least, at.ceiling() - 1),
                    Comparison::AtMost => (least, at.floor),
                    Comparison::Greater => (at.floor + 1, greatest),
                    Comparison::AtLeast => (at.ceiling(), greatest),
                };
                self.within(column, low, high, negated);
            }
            _ => {
                let (literal, column) = (written.to_string(), c.name.clone());
                return Err(SqlError::Literal { literal, column, kind: c.kind });
            }
        }
        Ok(())
    }

    /// Numbers of a column within bounds in its units, which may lie outside its range or be empty.
    fn within(&mut self, column: ColumnIndex, low: i128, high: i128, negated: bool) {
        let (least, greatest) = self.columns.range(column);
        let (low, high) = (low.max(least), high.min(greatest));
        if low <= high && (low, high) != (least, greatest) {
            let [low, high] = [low, high].map(|x| (x - least) as u64);
            return self.test(Test::Within { column, low, high }, negated);
        }
        // All of the range or nothing of it: then the condition says no more than that the number is known, or is not met.
        if (low <= high) == negated {
            self.constant(false);
        } else if self.columns.at(column).nullable {
            self.test(Test::Null { column }, true);
        } else {
            self.constant(true);
        }
    }
}
