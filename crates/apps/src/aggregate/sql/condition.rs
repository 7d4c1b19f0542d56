//! `WHERE`: an expression as a filter, negations pushed to the tests.

use evergrove_commit::schema::{ColumnType, content_digest};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::columns::Columns;
use super::error::SqlError;
use super::literal::Literal;
use crate::aggregate::query::{ColumnIndex, Filter, Step, Test};

/// What the remedies of unsupported conditions say.
const CONDITIONS: &str = "conditions are made of =, <>, <, <=, >, >=, BETWEEN, IN and IS NULL on a column and literals, \
                          or two columns of one type, joined by AND, OR and NOT";

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
        match (self.columns.of(left)?, self.columns.of(right)?) {
            (Some(l), Some(r)) => self.compare_columns(l, op, r, negated),
            (Some(column), None) => {
                let literal = Literal::of(right).ok_or_else(unsupported)?;
                self.compare_literal(column, op, &literal, right, negated)
            }
            (None, Some(column)) => {
                let literal = Literal::of(left).ok_or_else(unsupported)?;
                self.compare_literal(column, op.with_sides_exchanged(), &literal, left, negated)
            }
            (None, None) => Err(unsupported()),
        }
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
                    self.columns.number(column, "an order")?;
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
