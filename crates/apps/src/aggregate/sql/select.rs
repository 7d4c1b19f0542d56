//! The list after `SELECT`: aggregates as readings of accumulators.

use std::collections::BTreeSet;

use evergrove_commit::schema::Cell;
use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
};

use super::columns::Columns;
use super::condition;
use super::error::SqlError;
use super::keys::Key;
use super::literal::Literal;
use crate::aggregate::Plan;
use crate::aggregate::answer::{Group, Groups, Moments, Products, Query, Reading};
use crate::aggregate::query::{Accumulator, ColumnIndex, Filter, QueryError};

/// What the remedies of unsupported aggregates say.
pub(super) const AGGREGATES: &str = "select COUNT(*), COUNT, SUM, MIN, MAX, AVG, VAR_POP, VAR_SAMP, STDDEV_POP or STDDEV_SAMP of a \
                                     column, SUM(a * b), WAVG(column, weight) or HISTOGRAM(column, edge, ..)";

/// What the remedies of unsupported cases say.
const CASES: &str = "write SUM(CASE WHEN condition THEN column ELSE 0 END), SUM(CASE WHEN condition THEN 1 ELSE 0 END), or COUNT, SUM, \
                     AVG, MIN or MAX of CASE WHEN condition THEN column END; each is one condition";

/// Aggregates and the accumulators that they share.
pub(super) struct Selection<'a> {
    columns: &'a Columns<'a>,
    accumulators: Vec<(Accumulator, Option<Filter>)>,
    /// That of the aggregate that is read.
    condition: Option<Filter>,
    groups: Option<Groups>,
    readings: Vec<(String, Reading)>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(columns: &'a Columns<'a>) -> Self {
        Self { columns, accumulators: vec![], condition: None, groups: None, readings: vec![] }
    }

    pub(super) fn finish(self, filter: Filter) -> Result<Query, QueryError> {
        let plan = Plan::with_conditions(self.columns.schema.clone(), filter, self.accumulators)?;
        Ok(Query { plan, readings: self.readings, groups: self.groups })
    }

    /// Adds an aggregate under a name.
    pub(super) fn add(&mut self, e: &Expr, name: String) -> Result<(), SqlError> {
        let reading = match e {
            Expr::Function(f) => match &f.filter {
                Some(e) => {
                    let filter = condition::filter(self.columns, e)?;
                    let function = Function { filter: None, ..f.clone() };
                    self.within(filter, |selection| selection.function(&function))?
                }
                None => self.function(f)?,
            },
            Expr::Nested(inner) => return self.add(inner, name),
            _ => return Err(SqlError::unsupported(e, AGGREGATES)),
        };
        self.readings.push((name, reading));
        Ok(())
    }

    fn function(&mut self, f: &Function) -> Result<Reading, SqlError> {
        let unsupported = || SqlError::unsupported(f, AGGREGATES);
        let arguments = arguments(f).ok_or_else(unsupported)?;
        let name = f.name.to_string().to_ascii_uppercase();
        if let [Some(e)] = arguments.as_slice()
            && let Some(case) = Case::of(e)?
        {
            return self.case(&name, case);
        }
        match (name.as_str(), arguments.as_slice()) {
            ("COUNT", [None]) => Ok(Reading::Count(self.count(BTreeSet::new()))),
            ("COUNT", [Some(e)]) => {
                let column = self.column(e)?;
                Ok(Reading::Count(self.count([column].into())))
            }
            ("SUM", [Some(e)]) => match factors(e) {
                Some((left, right)) => self.products(&name, left, right).map(Reading::SumOfProducts),
                None => self.moments(&name, e).map(Reading::Sum),
            },
            ("MIN", [Some(e)]) => {
                let column = self.number(&name, e)?;
                Ok(Reading::Least { at: self.accumulator(Accumulator::Min { column }), column })
            }
            ("MAX", [Some(e)]) => {
                let column = self.number(&name, e)?;
                Ok(Reading::Greatest { at: self.accumulator(Accumulator::Max { column }), column })
            }
            ("AVG", [Some(e)]) => self.moments(&name, e).map(Reading::Average),
            ("WAVG", [Some(e), Some(weight)]) => {
                let products = self.products(&name, e, weight)?;
                // The products' columns are in their canonical order: say which of them the weight is.
                let weight = self.number(&name, weight)?;
                let weights = self.sum(weight, [products.left, products.right].into());
                Ok(Reading::WeightedAverage { products, weight, weights })
            }
            ("VAR_POP", [Some(e)]) => self.spread(&name, e, false, false),
            ("VAR_SAMP" | "VARIANCE", [Some(e)]) => self.spread(&name, e, true, false),
            ("STDDEV_POP", [Some(e)]) => self.spread(&name, e, false, true),
            ("STDDEV_SAMP" | "STDDEV", [Some(e)]) => self.spread(&name, e, true, true),
            ("HISTOGRAM", [Some(e), edges @ ..]) if !edges.is_empty() => self.histogram(&name, e, edges),
            _ => Err(unsupported()),
        }
    }

    /// An aggregate of a value that rows have where they meet a condition.
    fn case(&mut self, name: &str, Case { when, then, zero }: Case<'_>) -> Result<Reading, SqlError> {
        let when = condition::filter(self.columns, when)?;
        let all = zero.then(|| self.count(BTreeSet::new()));
        self.within(when, |selection| selection.then(name, then, all))
    }

    /// The same of rows that meet its condition; `all` counts the others too, where these count as 0.
    fn then(&mut self, name: &str, then: Then<'_>, all: Option<usize>) -> Result<Reading, SqlError> {
        match (name, then, all) {
            ("COUNT", then, None) => match then {
                Then::One => Ok(Reading::Count(self.count(BTreeSet::new()))),
                Then::Of(e) => self.column(e).map(|column| Reading::Count(self.count([column].into()))),
            },
            ("SUM", Then::One, Some(all)) => Ok(Reading::CountElseZero { count: self.count(BTreeSet::new()), all }),
            ("SUM", Then::Of(e), Some(all)) => self.moments(name, e).map(|of| {
                let matching = self.count(BTreeSet::new());
                Reading::SumElseZero { of, all, matching }
            }),
            ("SUM", Then::Of(e), None) => self.moments(name, e).map(Reading::Sum),
            ("AVG", Then::Of(e), None) => self.moments(name, e).map(Reading::Average),
            ("MIN", Then::Of(e), None) => self
                .number(name, e)
                .map(|column| Reading::Least { at: self.accumulator(Accumulator::Min { column }), column }),
            ("MAX", Then::Of(e), None) => self
                .number(name, e)
                .map(|column| Reading::Greatest { at: self.accumulator(Accumulator::Max { column }), column }),
            _ => Err(SqlError::unsupported(format!("{name} of this CASE"), CASES)),
        }
    }

    /// What `read` gives of the rows that pass a filter too.
    fn within<T>(&mut self, filter: Filter, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.condition.take();
        self.condition = Some(match outer.clone() {
            Some(outer) => outer.and(filter),
            None => filter,
        });
        let found = read(self);
        self.condition = outer;
        found
    }

    /// Adds aggregates of a query that groups by columns, which may be named among them.
    fn projection(&mut self, by: &[Key], projection: &[(Expr, String)]) -> Result<(), SqlError> {
        for (e, name) in projection {
            match Key::of(self.columns, e)? {
                Some(key) if by.contains(&key) && *name == e.to_string() => {}
                Some(key) if by.contains(&key) => {
                    return Err(SqlError::unsupported(
                        format!("{name} as another name of {e}"),
                        "leave the name out: groups are named by their columns",
                    ));
                }
                Some(_) => {
                    return Err(SqlError::unsupported(
                        format!("{e} without an aggregate"),
                        "group by it, or take an aggregate of it",
                    ));
                }
                None => self.add(e, name.clone())?,
            }
        }
        Ok(())
    }

    /// Reads the projection once for each group, and counts the rows of each and of all.
    pub(super) fn grouped(
        &mut self,
        by: &[Key],
        groups: &[(Vec<Cell>, Filter)],
        projection: &[(Expr, String)],
    ) -> Result<(), SqlError> {
        // Without groups it would not be read.
        Selection::new(self.columns).projection(by, projection)?;
        let total = self.count(BTreeSet::new());
        let mut read = Vec::with_capacity(groups.len());
        for (key, filter) in groups {
            let count = self.within(filter.clone(), |selection| selection.count(BTreeSet::new()));
            self.within(filter.clone(), |selection| selection.projection(by, projection))?;
            read.push(Group { key: key.clone(), count, readings: core::mem::take(&mut self.readings) });
        }
        let columns = by.iter().map(|key| key.description(self.columns)).collect();
        self.groups = Some(Groups { columns, total, groups: read });
        Ok(())
    }

    /// Position of an accumulator with the condition of the aggregate, added if it is not there.
    fn accumulator(&mut self, accumulator: Accumulator) -> usize {
        let new = (accumulator, self.condition.clone());
        self.accumulators.iter().position(|a| *a == new).unwrap_or_else(|| {
            self.accumulators.push(new);
            self.accumulators.len() - 1
        })
    }

    /// Rows in which none of these columns is null.
    fn count(&mut self, columns: BTreeSet<ColumnIndex>) -> usize {
        let known = self.nullable(columns);
        self.accumulator(Accumulator::Count { known, at_least: None })
    }

    /// Sum of a column over rows in which none of these is null.
    fn sum(&mut self, column: ColumnIndex, known: BTreeSet<ColumnIndex>) -> usize {
        let known = self.nullable(known);
        self.accumulator(Accumulator::Sum { column, known })
    }

    fn nullable(&self, columns: BTreeSet<ColumnIndex>) -> Vec<ColumnIndex> {
        columns.into_iter().filter(|&c| self.columns.at(c).nullable).collect()
    }

    fn moments(&mut self, name: &str, e: &Expr) -> Result<Moments, SqlError> {
        let column = self.number(name, e)?;
        Ok(Moments { column, sum: self.sum(column, [column].into()), count: self.count([column].into()) })
    }

    fn products(&mut self, name: &str, left: &Expr, right: &Expr) -> Result<Products, SqlError> {
        let (l, r) = (self.number(name, left)?, self.number(name, right)?);
        let (left, right) = (l.min(r), l.max(r));
        let both: BTreeSet<ColumnIndex> = [left, right].into();
        Ok(Products {
            left,
            right,
            products: self.accumulator(Accumulator::Product { left, right }),
            left_sum: self.sum(left, both.clone()),
            right_sum: self.sum(right, both.clone()),
            count: self.count(both),
        })
    }

    fn spread(&mut self, name: &str, e: &Expr, sample: bool, root: bool) -> Result<Reading, SqlError> {
        let products = self.products(name, e, e)?;
        Ok(Reading::Spread { products, sample, root })
    }

    fn histogram(&mut self, name: &str, e: &Expr, edges: &[Option<&Expr>]) -> Result<Reading, SqlError> {
        let column = self.number(name, e)?;
        let c = self.columns.at(column);
        let (least, greatest) = self.columns.range(column);
        let mut bounds: Vec<u64> = vec![];
        let mut counts = vec![self.count([column].into())];
        let known = self.nullable([column].into());
        for edge in edges {
            let text = edge.map(ToString::to_string).unwrap_or_else(|| "*".into());
            let Some(Literal::Number(number)) = edge.and_then(Literal::of) else {
                return Err(SqlError::Literal { literal: text, column: c.name.clone(), kind: c.kind });
            };
            let at = number.at_scale(c.kind.scale()).ceiling();
            let bound = at.saturating_sub(least) as u64;
            let ascends = bounds.last().is_none_or(|last| *last < bound);
            if at < least || at > greatest || !ascends {
                return Err(SqlError::Edge { edge: text, column: c.name.clone() });
            }
            bounds.push(bound);
            // All numbers are at or above the least one.
            let at_least = (bound > 0).then_some((column, bound));
            counts.push(self.accumulator(Accumulator::Count { known: known.clone(), at_least }));
        }
        Ok(Reading::Histogram { column, bounds, counts })
    }

    fn column(&self, e: &Expr) -> Result<ColumnIndex, SqlError> {
        self.columns.of(e)?.ok_or_else(|| SqlError::unsupported(format!("an aggregate of {e}"), AGGREGATES))
    }

    /// A column of numbers.
    fn number(&self, name: &str, e: &Expr) -> Result<ColumnIndex, SqlError> {
        let column = self.column(e)?;
        self.columns.number(column, name)?;
        Ok(column)
    }
}

/// `CASE WHEN when THEN then [ELSE 0] END`: without `ELSE`, or with `ELSE NULL`, other rows are null.
struct Case<'a> {
    when: &'a Expr,
    then: Then<'a>,
    zero: bool,
}

/// What a row has that meets the condition.
enum Then<'a> {
    /// `1`.
    One,
    /// A column.
    Of(&'a Expr),
}

impl<'a> Case<'a> {
    /// The expression as one; `None` of others.
    fn of(e: &'a Expr) -> Result<Option<Self>, SqlError> {
        let (operand, conditions, other) = match e {
            Expr::Nested(inner) => return Self::of(inner),
            Expr::Case { operand, conditions, else_result, .. } => (operand, conditions, else_result),
            _ => return Ok(None),
        };
        let refused = || SqlError::unsupported(e, CASES);
        let ([when], None) = (conditions.as_slice(), operand) else { return Err(refused()) };
        let is = |e: &Expr, text: &str| e.to_string() == text;
        let zero = match other {
            None => false,
            Some(other) if is(other, "NULL") => false,
            Some(other) if is(other, "0") => true,
            Some(_) => return Err(refused()),
        };
        let then = if is(&when.result, "1") { Then::One } else { Then::Of(&when.result) };
        Ok(Some(Self { when: &when.condition, then, zero }))
    }
}

/// The two sides of a product.
fn factors(e: &Expr) -> Option<(&Expr, &Expr)> {
    match e {
        Expr::Nested(inner) => factors(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Multiply, right } => Some((left, right)),
        _ => None,
    }
}

/// The arguments of a plain call, `None` for `*`; nothing for calls with clauses of any kind.
fn arguments(f: &Function) -> Option<Vec<Option<&Expr>>> {
    let FunctionArguments::List(list) = &f.args else { return None };
    let plain = matches!(list.duplicate_treatment, None | Some(DuplicateTreatment::All)) && list.clauses.is_empty();
    // What is printed beyond name and arguments is a clause: FILTER, OVER, WITHIN GROUP and the like.
    if !plain || f.to_string() != format!("{}({list})", f.name) {
        return None;
    }
    list.args
        .iter()
        .map(|a| match a {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(Some(e)),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Some(None),
            _ => None,
        })
        .collect()
}
