//! `+`, `-`, `*` and `/`: constants, and polynomials in columns.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::columns::Columns;
use super::error::SqlError;
use super::literal::Literal;
use crate::aggregate::exact::{Form, Operation, Rational};
use crate::aggregate::query::ColumnIndex;

/// The greatest depth of arithmetic.
pub(super) const MAX_DEPTH: usize = 128;

const ARITHMETIC: &str = "arithmetic is made of columns of numbers, constants, +, -, * and / by a constant";
const DEGREE: &str = "multiply two columns at most, or keep the product of some as a column of the table";
const QUOTIENT: &str = "divide aggregates, like SUM(a) / SUM(b), or keep the quotient as a column of the table";

/// The operation of an SQL operator.
pub(super) fn operation(op: &BinaryOperator) -> Option<Operation> {
    Some(match op {
        BinaryOperator::Plus => Operation::Plus,
        BinaryOperator::Minus => Operation::Minus,
        BinaryOperator::Multiply => Operation::Times,
        BinaryOperator::Divide => Operation::Over,
        _ => return None,
    })
}

/// True for an expression that is more than a column or a literal.
pub(super) fn is_arithmetic(e: &Expr) -> bool {
    match e {
        Expr::Nested(inner) => is_arithmetic(inner),
        Expr::BinaryOp { op, .. } => operation(op).is_some(),
        Expr::UnaryOp { op, .. } => matches!(op, UnaryOperator::Minus | UnaryOperator::Plus),
        _ => false,
    }
}

/// The value of an expression of constant numbers; `None` for other expressions, and for a division by zero.
pub(super) fn constant(e: &Expr) -> Option<Rational> {
    folded(e, 0)
}

fn folded(e: &Expr, depth: usize) -> Option<Rational> {
    if depth > MAX_DEPTH {
        return None;
    }
    match e {
        Expr::Nested(inner) => folded(inner, depth + 1),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => folded(expr, depth + 1).map(|x| x.negated()),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => folded(expr, depth + 1),
        Expr::BinaryOp { left, op, right } => {
            let (l, r) = (folded(left, depth + 1)?, folded(right, depth + 1)?);
            match operation(op)? {
                Operation::Plus => Some(l.plus(&r)),
                Operation::Minus => Some(l.plus(&r.negated())),
                Operation::Times => Some(l.times(&r)),
                Operation::Over => Some(l.times(&r.inverse()?)),
            }
        }
        Expr::Value(_) => match Literal::of(e) {
            Some(Literal::Number(number)) => Some(number.rational()),
            _ => None,
        },
        _ => None,
    }
}

/// A polynomial of degree at most two in columns. It is null if one of its columns is null, even a column that cancels
/// out.
#[derive(Clone, Debug)]
pub(super) struct Polynomial {
    /// The nonzero coefficients, by the columns that are multiplied, in ascending order.
    pub(super) terms: BTreeMap<Vec<ColumnIndex>, Rational>,
    /// All columns in the expression.
    pub(super) columns: BTreeSet<ColumnIndex>,
    pub(super) form: Form,
}

impl Polynomial {
    pub(super) fn of(columns: &Columns<'_>, e: &Expr) -> Result<Self, SqlError> {
        Self::read(columns, e, 0)
    }

    fn read(columns: &Columns<'_>, e: &Expr, depth: usize) -> Result<Self, SqlError> {
        if depth > MAX_DEPTH {
            return Err(SqlError::unsupported("arithmetic that is nested that deeply", "shorten it"));
        }
        if let Some(column) = columns.of(e)? {
            columns.number(column, "arithmetic")?;
            let (terms, scale) = ([(vec![column], Rational::of_units(1.into(), 0))], columns.at(column).kind.scale());
            return Ok(Self { terms: terms.into(), columns: [column].into(), form: Form::exact(scale.into()) });
        }
        match e {
            Expr::Nested(inner) => Self::read(columns, inner, depth + 1),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => Self::read(columns, expr, depth + 1),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                Ok(Self::read(columns, expr, depth + 1)?.scaled(&Rational::of_units((-1).into(), 0)))
            }
            Expr::BinaryOp { left, op, right } => {
                let unsupported = || SqlError::unsupported(format!("{op} in arithmetic"), ARITHMETIC);
                let operation = operation(op).ok_or_else(unsupported)?;
                let l = Self::read(columns, left, depth + 1)?;
                let r = Self::read(columns, right, depth + 1)?;
                match operation {
                    Operation::Plus => Ok(l.plus(r)),
                    Operation::Minus => Ok(l.plus(r.scaled(&Rational::of_units((-1).into(), 0)))),
                    Operation::Times => {
                        let product = l.times(&r);
                        product.ok_or_else(|| {
                            SqlError::unsupported(format!("a product of more than two columns: {e}"), DEGREE)
                        })
                    }
                    Operation::Over if !r.columns.is_empty() => {
                        Err(SqlError::unsupported(format!("a division by a column: {e}"), QUOTIENT))
                    }
                    Operation::Over => {
                        let by = r.terms.get(&vec![]).and_then(Rational::inverse);
                        let zero =
                            || SqlError::unsupported(format!("a division by zero: {e}"), "divide by another constant");
                        Ok(l.scaled(&by.ok_or_else(zero)?))
                    }
                }
            }
            _ => match constant(e) {
                Some(value) => Ok(Self::constant(value)),
                None => Err(SqlError::unsupported(format!("{e} in arithmetic"), ARITHMETIC)),
            },
        }
    }

    fn constant(value: Rational) -> Self {
        let form = Form::of(&value);
        let terms = if value.is_zero() { BTreeMap::new() } else { [(vec![], value)].into() };
        Self { terms, columns: BTreeSet::new(), form }
    }

    /// Adds a term; drops it if its coefficient becomes 0.
    fn add(&mut self, columns: Vec<ColumnIndex>, value: Rational) {
        let sum = match self.terms.remove(&columns) {
            Some(before) => before.plus(&value),
            None => value,
        };
        if !sum.is_zero() {
            self.terms.insert(columns, sum);
        }
    }

    /// Gives a constant the form of its value.
    fn formed(self) -> Self {
        if self.columns.is_empty() {
            return Self::constant(self.terms.into_values().next().unwrap_or_else(Rational::zero));
        }
        self
    }

    /// The sum of two polynomials.
    pub(super) fn plus(mut self, other: Self) -> Self {
        other.terms.into_iter().for_each(|(columns, value)| self.add(columns, value));
        self.columns.extend(other.columns);
        self.form = self.form.of_sum(other.form);
        self.formed()
    }

    /// The product with a constant.
    pub(super) fn scaled(mut self, by: &Rational) -> Self {
        self.form = self.form.of_product(Form::of(by));
        for value in self.terms.values_mut() {
            *value = value.times(by);
        }
        self.terms.retain(|_, value| !value.is_zero());
        self.formed()
    }

    /// The product; `None` if it multiplies more than two columns.
    fn times(&self, other: &Self) -> Option<Self> {
        let columns = self.columns.union(&other.columns).copied().collect();
        let mut product = Self { terms: BTreeMap::new(), columns, form: self.form.of_product(other.form) };
        for (left, l) in &self.terms {
            for (right, r) in &other.terms {
                let mut columns = [left.as_slice(), right].concat();
                columns.sort_unstable();
                if columns.len() > 2 {
                    return None;
                }
                product.add(columns, l.times(r));
            }
        }
        Some(product.formed())
    }
}
