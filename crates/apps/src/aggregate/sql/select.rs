//! The list of `SELECT`: aggregates as readings of accumulators.

use std::collections::BTreeSet;

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
};

use super::arithmetic::{self, MAX_DEPTH, Polynomial};
use super::columns::Columns;
use super::condition;
use super::error::SqlError;
use super::keys::Key;
use super::lists::Contents;
use super::literal::Literal;
use crate::aggregate::Plan;
use crate::aggregate::answer::{ByGroup, Complete, Distinct, Group, Linear, Moments, Products, Query, Reading, Term};
use crate::aggregate::exact::{Operation, Rational};
use crate::aggregate::query::{Accumulator, ColumnIndex, Filter, MAX_ACCUMULATORS, QueryError, Test};

/// The remedy for unsupported aggregates.
pub(super) const AGGREGATES: &str = "select COUNT(*), COUNT, SUM, MIN, MAX, AVG, VAR_POP, VAR_SAMP, STDDEV_POP or STDDEV_SAMP of a \
                                     column, SUM(a * b), WAVG(column, weight), HISTOGRAM(column, edge, ..), or arithmetic of these";

/// The remedy for a query that selects rows.
pub(super) const ROWS: &str = "select aggregates, or list the rows with evergrove query";

const WINDOW: &str = "select aggregates of all rows, or of each group with GROUP BY";
pub(super) const SUBQUERY: &str = "ask the inner query first, and write its answer as a literal";
const EXTREMUM: &str = "take it of one column, or of a multiple of one plus a constant, like MAX(a * 2 + 1)";
const WHOLE: &str = "take it alone, or VAR_POP or VAR_SAMP in its place";
const PLACES: &str = "write ROUND(aggregate, places) with 0 to 18 places";
/// The greatest number of decimal places of `ROUND`.
const MAX_PLACES: u32 = 18;
const CAST: &str = "leave the cast out: numbers are exact, and / is never cut off to an integer";

/// The remedy for unsupported `CASE` expressions.
const CASES: &str = "write SUM(CASE WHEN condition THEN column ELSE 0 END), SUM(CASE WHEN condition THEN 1 ELSE 0 END), or COUNT, SUM, \
                     AVG, MIN or MAX of CASE WHEN condition THEN column END; each is one condition";

/// The number of accumulators at which collecting stops. The error names the number.
const MANY: usize = 64 * MAX_ACCUMULATORS;

/// Aggregates, and the accumulators that they share.
pub(super) struct Selection<'a> {
    columns: &'a Columns<'a>,
    accumulators: Vec<(Accumulator, Option<Filter>)>,
    /// The condition of the aggregate that is being read.
    condition: Option<Filter>,
    groups: Option<ByGroup>,
    complete: Vec<Complete>,
    readings: Vec<(String, Reading)>,
}

impl<'a> Selection<'a> {
    /// A selection from rows that pass `condition` in addition to the filter.
    pub(super) fn new(columns: &'a Columns<'a>, condition: Option<Filter>) -> Self {
        Self { columns, accumulators: vec![], condition, groups: None, complete: vec![], readings: vec![] }
    }

    pub(super) fn finish(self, filter: Filter) -> Result<Query, QueryError> {
        let plan = Plan::with_conditions(self.columns.schema.clone(), filter, self.accumulators)?;
        Ok(Query { plan, readings: self.readings, groups: self.groups, complete: self.complete })
    }

    /// Demands that no row that passes the filter has contents of a column other than the given ones.
    pub(super) fn no_other_contents(&mut self, column: ColumnIndex) {
        let Contents(contents) = self.columns.contents(column);
        let tests = contents.into_iter().map(|(_, digest)| Test::Content { column, digest });
        self.condition = Some(Filter::all_of(tests, true));
        let count = self.count([column].into());
        self.condition = None;
        self.complete.push(Complete::Others { column: self.columns.at(column).name.clone(), count });
    }

    /// Adds an aggregate, or an expression of aggregates, with a name.
    pub(super) fn add(&mut self, e: &Expr, name: String) -> Result<(), SqlError> {
        let reading = self.reading(e, 0)?;
        self.readings.push((name, reading));
        Ok(())
    }

    fn reading(&mut self, e: &Expr, depth: usize) -> Result<Reading, SqlError> {
        if depth > MAX_DEPTH {
            return Err(SqlError::unsupported("arithmetic that is nested that deeply", "shorten it"));
        }
        match e {
            Expr::Nested(inner) => self.reading(inner, depth + 1),
            Expr::Function(f) if f.name.to_string().eq_ignore_ascii_case("ROUND") => self.rounded(f, depth),
            Expr::Function(f) => match &f.filter {
                Some(e) => {
                    let filter = condition::filter(self.columns, e)?;
                    let function = Function { filter: None, ..f.clone() };
                    self.within(filter, |selection| selection.function(&function))
                }
                None => self.function(f),
            },
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => self.reading(expr, depth + 1),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                let sides = [Reading::Constant(Rational::zero()), self.operand(expr, depth + 1)?];
                Ok(Reading::Arithmetic(Operation::Minus, Box::new(sides)))
            }
            Expr::BinaryOp { left, op, right } if arithmetic::constant(e).is_none() => {
                let operation = arithmetic::operation(op).ok_or_else(|| SqlError::unsupported(e, AGGREGATES))?;
                let (left, mut right) = (self.operand(left, depth + 1)?, self.operand(right, depth + 1)?);
                // A quotient by a constant is a product with its inverse.
                if let (Operation::Over, Reading::Constant(by)) = (operation, &mut right)
                    && let Some(inverse) = by.inverse()
                {
                    *by = inverse;
                    return Ok(Reading::Arithmetic(Operation::Times, Box::new([left, right])));
                }
                Ok(Reading::Arithmetic(operation, Box::new([left, right])))
            }
            Expr::Subquery(_) => Err(SqlError::unsupported(format!("the subquery {e}"), SUBQUERY)),
            Expr::Cast { .. } => Err(SqlError::unsupported(e, CAST)),
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                self.columns.of(e)?;
                Err(SqlError::unsupported(format!("SELECT {e} without an aggregate"), ROWS))
            }
            _ => Err(SqlError::unsupported(e, AGGREGATES)),
        }
    }

    /// An operand of an arithmetic operation.
    fn operand(&mut self, e: &Expr, depth: usize) -> Result<Reading, SqlError> {
        if let Some(value) = arithmetic::constant(e) {
            return Ok(Reading::Constant(value));
        }
        let reading = self.reading(e, depth)?;
        self.check_number(&reading, "arithmetic")?;
        match reading {
            Reading::Spread { root: true, .. } | Reading::Histogram { .. } => {
                Err(SqlError::unsupported(format!("arithmetic of {e}"), WHOLE))
            }
            reading => Ok(reading),
        }
    }

    /// `ROUND(x)` or `ROUND(x, places)`.
    fn rounded(&mut self, f: &Function, depth: usize) -> Result<Reading, SqlError> {
        let refused = || SqlError::unsupported(f, PLACES);
        let arguments = arguments(f).ok_or_else(refused)?;
        let (e, places) = match arguments.as_slice() {
            [Some(e)] => (e, 0),
            [Some(e), Some(places)] => {
                let places = arithmetic::constant(places).map(|places| places.floor(0));
                let places = places.filter(|(_, exact)| *exact).and_then(|(places, _)| u32::try_from(places).ok());
                (e, places.filter(|places| *places <= MAX_PLACES).ok_or_else(refused)?)
            }
            _ => return Err(refused()),
        };
        let reading = self.reading(e, depth + 1)?;
        self.check_number(&reading, "ROUND")?;
        match reading {
            Reading::Histogram { .. } => Err(refused()),
            reading => Ok(Reading::Round(Box::new(reading), places)),
        }
    }

    /// Refuses `what`, which needs numbers, for the least or greatest date or truth value.
    fn check_number(&self, reading: &Reading, what: &str) -> Result<(), SqlError> {
        match reading {
            Reading::Least { column, .. } | Reading::Greatest { column, .. } => self.columns.number(*column, what),
            _ => Ok(()),
        }
    }

    fn function(&mut self, f: &Function) -> Result<Reading, SqlError> {
        if f.over.is_some() {
            return Err(SqlError::unsupported(format!("the window function {f}"), WINDOW));
        }
        let unsupported = || SqlError::unsupported(f, AGGREGATES);
        let name = f.name.to_string().to_ascii_uppercase();
        if let Some(distinct) = distinct(f) {
            return self.distinct(&name, &distinct, f);
        }
        let arguments = arguments(f).ok_or_else(unsupported)?;
        if let [Some(e)] = arguments.as_slice()
            && let Some(case) = Case::of(e)?
        {
            return self.case(&name, case);
        }
        match (name.as_str(), arguments.as_slice()) {
            ("COUNT", [None]) => Ok(Reading::Count(self.count(BTreeSet::new()))),
            ("COUNT", [Some(e)]) => self.counted(e),
            ("SUM", [Some(e)]) => self.total(&name, e),
            ("MIN" | "MAX", [Some(e)]) => self.extremum(&name, e),
            ("AVG", [Some(e)]) => self.average(&name, e),
            ("WAVG", [Some(e), Some(weight)]) => {
                let products = self.products(&name, e, weight)?;
                // The columns of the products are in canonical order, so the reading says which of them is the weight.
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

    /// An aggregate of a `CASE`: its value in rows that meet a condition.
    fn case(&mut self, name: &str, Case { when, then, zero }: Case<'_>) -> Result<Reading, SqlError> {
        let when = condition::filter(self.columns, when)?;
        let all = zero.then(|| self.count(BTreeSet::new()));
        self.within(when, |selection| selection.then(name, then, all))
    }

    /// The aggregate of rows that meet the condition. `all` also counts the other rows, if they count as 0.
    fn then(&mut self, name: &str, then: Then<'_>, all: Option<usize>) -> Result<Reading, SqlError> {
        match (name, then, all) {
            ("COUNT", Then::One, None) => Ok(Reading::Count(self.count(BTreeSet::new()))),
            ("COUNT", Then::Of(e), None) => self.counted(e),
            ("SUM", Then::One, Some(all)) => Ok(Reading::CountElseZero { count: self.count(BTreeSet::new()), all }),
            ("SUM", Then::Of(e), Some(all)) => {
                let of = Box::new(self.total(name, e)?);
                Ok(Reading::SumElseZero { of, all, matching: self.count(BTreeSet::new()) })
            }
            ("SUM", Then::Of(e), None) => self.total(name, e),
            ("AVG", Then::Of(e), None) => self.average(name, e),
            ("MIN" | "MAX", Then::Of(e), None) => self.extremum(name, e),
            _ => Err(SqlError::unsupported(format!("{name} of this CASE"), CASES)),
        }
    }

    /// The number of rows in which an expression is not null.
    fn counted(&mut self, e: &Expr) -> Result<Reading, SqlError> {
        let columns = if arithmetic::is_arithmetic(e) || arithmetic::constant(e).is_some() {
            Polynomial::of(self.columns, e)?.columns
        } else {
            [self.column(e)?].into()
        };
        Ok(Reading::Count(self.count(columns)))
    }

    /// The sum of a column, of a product of two columns, or of a polynomial.
    fn total(&mut self, name: &str, e: &Expr) -> Result<Reading, SqlError> {
        if let Some((left, right)) = factors(e)
            && self.columns.of(left)?.is_some()
            && self.columns.of(right)?.is_some()
        {
            return self.products(name, left, right).map(Reading::SumOfProducts);
        }
        if self.columns.of(e)?.is_some() {
            return self.moments(name, e).map(Reading::Sum);
        }
        self.polynomial(name, e, false)
    }

    fn average(&mut self, name: &str, e: &Expr) -> Result<Reading, SqlError> {
        if self.columns.of(e)?.is_some() {
            return self.moments(name, e).map(Reading::Average);
        }
        self.polynomial(name, e, true)
    }

    /// The sum or the average of a polynomial, over rows in which all of its columns are known.
    fn polynomial(&mut self, name: &str, e: &Expr, average: bool) -> Result<Reading, SqlError> {
        if !arithmetic::is_arithmetic(e) && arithmetic::constant(e).is_none() {
            return Err(self.not_aggregated(name, e));
        }
        let Polynomial { terms, columns, form } = Polynomial::of(self.columns, e)?;
        let mut read = Vec::with_capacity(terms.len());
        for (of, coefficient) in terms {
            let term = match *of.as_slice() {
                [column] => {
                    let sum = self.sum(column, columns.clone());
                    Term::Column(Moments { column, sum, count: self.count(columns.clone()) })
                }
                [left, right] => Term::Product(self.products_where(left, right, &columns)),
                _ => Term::One,
            };
            read.push((coefficient, term));
        }
        let count = self.count(columns);
        Ok(Reading::Polynomial(Linear { terms: read, count, form, average }))
    }

    /// The sums for the product of two columns, over rows in which all columns `known` are known.
    fn products_where(&mut self, left: ColumnIndex, right: ColumnIndex, known: &BTreeSet<ColumnIndex>) -> Products {
        let factors: BTreeSet<ColumnIndex> = [left, right].into();
        let others = self.nullable(known.difference(&factors).copied().collect());
        let product = Accumulator::Product { left, right };
        let products = if others.is_empty() {
            self.accumulator(product)
        } else {
            let known = Filter::all_of(others.into_iter().map(|column| Test::Null { column }), true);
            self.within(known, |selection| selection.accumulator(product))
        };
        let (left_sum, right_sum) = (self.sum(left, known.clone()), self.sum(right, known.clone()));
        Products { left, right, products, left_sum, right_sum, count: self.count(known.clone()) }
    }

    /// The least or the greatest number of a column, or of a multiple of a column plus a constant.
    fn extremum(&mut self, name: &str, e: &Expr) -> Result<Reading, SqlError> {
        let mut least = name == "MIN";
        let mut linear = None;
        let column = if arithmetic::is_arithmetic(e) {
            let mut polynomial = Polynomial::of(self.columns, e)?;
            let one_column = || SqlError::unsupported(format!("{name}({e})"), EXTREMUM);
            let offset = polynomial.terms.remove(&vec![]).unwrap_or_else(Rational::zero);
            let (of, factor) = polynomial.terms.pop_first().ok_or_else(one_column)?;
            let [column] = *of.as_slice() else { return Err(one_column()) };
            if !polynomial.terms.is_empty() || polynomial.columns.len() > 1 {
                return Err(one_column());
            }
            least ^= factor.sign().is_lt();
            linear = Some((factor, offset));
            column
        } else {
            self.number(name, e)?
        };
        let reading = if least {
            Reading::Least { at: self.accumulator(Accumulator::Min { column }), column }
        } else {
            Reading::Greatest { at: self.accumulator(Accumulator::Max { column }), column }
        };
        Ok(match linear {
            Some((factor, offset)) => {
                let scaled = Reading::Arithmetic(Operation::Times, Box::new([Reading::Constant(factor), reading]));
                Reading::Arithmetic(Operation::Plus, Box::new([scaled, Reading::Constant(offset)]))
            }
            None => reading,
        })
    }

    /// `COUNT(DISTINCT a, ..)`, and `SUM`, `AVG`, `MIN` and `MAX` of one column with `DISTINCT`.
    fn distinct(&mut self, name: &str, of: &[&Expr], f: &Function) -> Result<Reading, SqlError> {
        let columns = of.iter().map(|e| self.column(e)).collect::<Result<BTreeSet<_>, _>>()?;
        match (name, of) {
            ("COUNT", [_, ..]) => {}
            ("SUM" | "AVG", [e]) => _ = self.number(name, e)?,
            ("MIN" | "MAX", [e]) => return self.extremum(name, e),
            _ => {
                return Err(SqlError::unsupported(
                    f,
                    "write COUNT(DISTINCT column, ..), SUM(DISTINCT column) or AVG(DISTINCT column)",
                ));
            }
        }
        let keys = self.columns.distinct(&columns);
        let mut counts = Vec::with_capacity(keys.len());
        let mut encoded = Vec::with_capacity(keys.len());
        for key in keys {
            counts.push(self.within(key.filter, |selection| selection.count(BTreeSet::new())));
            encoded.extend(key.encoded.first().and_then(|elements| elements.first()));
        }
        let all = self.count(columns.clone());
        self.complete.push(Complete::Parts { parts: counts.clone(), all });
        let of = match (name, columns.first()) {
            ("SUM", Some(&column)) => Distinct::Sum { column, encoded },
            ("AVG", Some(&column)) => Distinct::Average { column, encoded },
            _ => Distinct::Count,
        };
        Ok(Reading::Distinct { counts, of })
    }

    /// Calls `read` with a filter added to the condition.
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

    /// Adds the aggregates of a query with `GROUP BY`. The list may also name the keys.
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

    /// Reads the list once per group, and counts the rows of each group and of all groups.
    pub(super) fn grouped(&mut self, by: &[Key], projection: &[(Expr, String)]) -> Result<(), SqlError> {
        // Without groups the list would not be checked.
        Selection::new(self.columns, None).projection(by, projection)?;
        let total = self.count(BTreeSet::new());
        let keys = self.columns.lists.get(by).map_or(&[][..], |list| &list.0);
        let mut groups = Vec::with_capacity(keys.len());
        for key in keys {
            let count = self.within(key.filter.clone(), |selection| selection.count(BTreeSet::new()));
            self.within(key.filter.clone(), |selection| selection.projection(by, projection))?;
            groups.push(Group { key: key.cells.clone(), count, readings: core::mem::take(&mut self.readings) });
        }
        let parts = groups.iter().map(|group| group.count).collect();
        self.complete.push(Complete::Parts { parts, all: total });
        let columns = by.iter().map(|key| key.description(self.columns)).collect();
        self.groups = Some(ByGroup { columns, groups });
        Ok(())
    }

    /// The position of an accumulator with the current condition. Adds it if it is missing.
    fn accumulator(&mut self, accumulator: Accumulator) -> usize {
        let new = (accumulator, self.condition.clone());
        self.accumulators.iter().position(|a| *a == new).unwrap_or_else(|| {
            // A plan with so many accumulators is an error, so it is useless to collect more.
            if self.accumulators.len() < MANY {
                self.accumulators.push(new);
            }
            self.accumulators.len() - 1
        })
    }

    /// The number of rows in which all of these columns are known.
    fn count(&mut self, columns: BTreeSet<ColumnIndex>) -> usize {
        let known = self.nullable(columns);
        self.accumulator(Accumulator::Count { known, at_least: None })
    }

    /// The sum of a column, over rows in which all columns `known` are known.
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
            // Every number is at least 0, so this bound needs no test.
            let at_least = (bound > 0).then_some((column, bound));
            counts.push(self.accumulator(Accumulator::Count { known: known.clone(), at_least }));
        }
        Ok(Reading::Histogram { column, bounds, counts })
    }

    fn column(&self, e: &Expr) -> Result<ColumnIndex, SqlError> {
        self.columns.of(e)?.ok_or_else(|| self.not_aggregated("an aggregate", e))
    }

    fn not_aggregated(&self, name: &str, e: &Expr) -> SqlError {
        match e {
            Expr::Subquery(_) => SqlError::unsupported(format!("the subquery {e}"), SUBQUERY),
            Expr::Cast { .. } => SqlError::unsupported(e, CAST),
            _ => SqlError::unsupported(format!("{name} of {e}"), AGGREGATES),
        }
    }

    /// A column of numbers.
    fn number(&self, name: &str, e: &Expr) -> Result<ColumnIndex, SqlError> {
        let column = self.column(e)?;
        self.columns.number(column, name)?;
        Ok(column)
    }
}

/// `CASE WHEN when THEN then [ELSE 0] END`. Without `ELSE`, or with `ELSE NULL`, the other rows are null.
struct Case<'a> {
    when: &'a Expr,
    then: Then<'a>,
    zero: bool,
}

/// The value of a row that meets the condition.
enum Then<'a> {
    /// `1`.
    One,
    /// A column.
    Of(&'a Expr),
}

impl<'a> Case<'a> {
    /// The `CASE` of an expression; `None` for other expressions.
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

/// The two factors of a product.
fn factors(e: &Expr) -> Option<(&Expr, &Expr)> {
    match e {
        Expr::Nested(inner) => factors(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Multiply, right } => Some((left, right)),
        _ => None,
    }
}

/// The arguments of a call with `DISTINCT`; `None` for other calls.
fn distinct(f: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &f.args else { return None };
    let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct) && list.clauses.is_empty();
    if !distinct || f.to_string() != format!("{}({list})", f.name) {
        return None;
    }
    let expressions = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
        _ => None,
    });
    expressions.collect()
}

/// The arguments of a plain call, with `None` for `*`; `None` for a call with any clause.
fn arguments(f: &Function) -> Option<Vec<Option<&Expr>>> {
    let FunctionArguments::List(list) = &f.args else { return None };
    let plain = matches!(list.duplicate_treatment, None | Some(DuplicateTreatment::All)) && list.clauses.is_empty();
    // If the call prints with more than name and arguments, it has a clause like FILTER, OVER or WITHIN GROUP.
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
