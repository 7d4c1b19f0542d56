//! Queries that list rows: `SELECT column, .. FROM table [WHERE condition] [ORDER BY column [DESC], .. LIMIT n]`.
//!
//! No circuit lists rows. A verifier sees the rows, with Merkle paths to the commitment, and checks for each of them
//! that it passes the condition and is in its place in the order. The rows cannot show that no row is missing. A proof
//! over all rows shows that: it states how many rows pass, and how many of them come before the last listed row.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use evergrove_commit::schema::{Cell, Column, MAX_COLUMNS, Row, RowError, Schema};
use evergrove_primitives::Goldilocks;
use sqlparser::ast::{
    Expr, LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderBySort, Query as Ast, Select, SelectItem, Value,
};

use super::columns::Columns;
use super::{Passing, columns_of, condition, one_select, select_of};
use crate::aggregate::query::{Accumulator, ColumnIndex, Filter, NUMBER_END, QueryError, Step, Test};
use crate::aggregate::{Plan, SqlError};

/// The most rows that a query may list.
pub const MAX_LISTED: usize = 1 << 16;

/// The most columns of `ORDER BY`.
const MAX_ORDER: usize = 8;

const ORDERS: &str = "order by columns of numbers, with ASC or DESC; nulls come last";
const LIMITS: &str = "write ORDER BY column LIMIT n, with n from 1 to 65536";
const COLUMNS: &str = "list columns by their names, or all with *";

/// A query that lists rows.
#[derive(Clone, Debug)]
pub struct Listing {
    schema: Schema,
    columns: Vec<ColumnIndex>,
    filter: Filter,
    order: Vec<Order>,
    limit: Option<usize>,
}

/// A column of `ORDER BY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    column: ColumnIndex,
    descends: bool,
}

/// The place of a row in the order: nulls come last, and positions decide between equal rows.
type Key = (Vec<(bool, u64)>, u64);

/// Reasons why rows do not answer a query that lists rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// The condition excludes this row.
    #[error("the row at position {0} does not pass the condition of the query")]
    Excluded(u64),
    /// The row does not fit the schema.
    #[error("the row at position {index}: {source}")]
    Row {
        /// The row's position.
        index: u64,
        /// The reason.
        source: RowError,
    },
    /// A position is given twice.
    #[error("position {0} is given twice")]
    Twice(u64),
    /// There are more rows than the query may list.
    #[error("the query lists more than {most} rows")]
    Many {
        /// The most rows.
        most: usize,
    },
    /// Rows are missing, or there are too many.
    #[error("rows that {which}: {proven}; of these are listed: {listed}")]
    Missing {
        /// The number of these rows in the table.
        proven: u64,
        /// The number of these rows that are listed.
        listed: u64,
        /// Describes these rows.
        which: &'static str,
    },
    /// The output does not have the length of these counts.
    #[error("the output of the proof has {0} elements, which these counts do not have")]
    Output(usize),
    /// The text does not make a valid query.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl Listing {
    /// Parses a query that lists rows; `None` for aggregates, which [`Query::parse`](crate::aggregate::Query::parse)
    /// reads.
    ///
    /// # Errors
    /// If the text is not SQL, cannot be proven, or does not fit the schema.
    pub fn parse(schema: &Schema, text: &str) -> Result<Option<Self>, SqlError> {
        let query = one_select(text)?;
        let select = select_of(&query, &described(&query))?;
        if !is_listing(&select) {
            return Ok(None);
        }
        if schema.is_raw() {
            return Err(QueryError::Raw.into());
        }
        let columns = columns_of(schema, &select)?;
        let filter = select.selection.as_ref().map(|e| condition::filter(&columns, e)).transpose()?;
        if columns.needs.borrow().asked > 0 {
            return Err(SqlError::unsupported(
                "LIKE, or an order of texts, in a query that lists rows",
                "write = or IN",
            ));
        }
        let limit = limit(&query)?;
        let order = order(&columns, query.order_by.as_ref())?;
        if limit.is_some() == order.is_empty() {
            let what = if order.is_empty() { "LIMIT without ORDER BY" } else { "ORDER BY without LIMIT" };
            return Err(SqlError::unsupported(what, LIMITS));
        }
        let chosen = projection(&columns, &select)?;
        let filter = filter.unwrap_or_else(Filter::all);
        Plan::new(schema.clone(), filter.clone(), vec![COUNT])?;
        Ok(Some(Self { schema: schema.clone(), columns: chosen, filter, order, limit }))
    }

    /// The listed columns.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|column| &self.schema.columns()[usize::from(*column)])
    }

    /// The listed cells of a row.
    pub fn cells<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a Cell> {
        let cells = match row {
            Row::Cells(cells) => cells.as_slice(),
            Row::Raw(_) => &[],
        };
        self.columns.iter().filter_map(|column| cells.get(usize::from(*column)))
    }

    /// The greatest number of rows, if the query has a limit.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Finds the rows of a table that the query lists. Pass the rows to [`Finder::add`] one by one.
    ///
    /// # Errors
    /// [`QueryError`].
    pub fn finder(&self) -> Result<Finder<'_>, ListingError> {
        let passing = Passing::new(&self.schema, &self.filter)?;
        Ok(Finder { listing: self, passing, rows: BinaryHeap::new() })
    }

    /// Checks each of these rows, and sorts them in the order of the query. Whether other rows are missing is unknown
    /// until [`Listed::accept`] has checked the output of a proof.
    ///
    /// # Errors
    /// [`ListingError`].
    pub fn listed(&self, rows: Vec<(u64, Row)>) -> Result<Listed, ListingError> {
        let most = self.limit.unwrap_or(MAX_LISTED);
        if rows.len() > most {
            return Err(ListingError::Many { most });
        }
        let passing = Passing::new(&self.schema, &self.filter)?;
        let mut positions = HashSet::with_capacity(rows.len());
        let mut keyed = Vec::with_capacity(rows.len());
        for (index, row) in rows {
            let failed = |source| ListingError::Row { index, source };
            if !passing.passes(&row).map_err(failed)? {
                return Err(ListingError::Excluded(index));
            }
            if !positions.insert(index) {
                return Err(ListingError::Twice(index));
            }
            keyed.push((self.key(index, &row).map_err(failed)?, row));
        }
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let last = keyed.last().map(|((key, _), _)| key.clone());
        // Without a limit, or with fewer rows than the limit, no other row may pass.
        let last = last.filter(|_| self.limit == Some(keyed.len()));
        let before = last.as_ref().map(|last| keyed.iter().filter(|((key, _), _)| key < last).count());
        let mut accumulators = vec![(COUNT, None)];
        accumulators.extend(last.map(|last| (COUNT, Some(self.before(&last)))));
        let plan = Plan::with_conditions(self.schema.clone(), self.filter.clone(), accumulators)?;
        let rows = keyed.into_iter().map(|((_, index), row)| (index, row)).collect();
        Ok(Listed { plan, rows, before })
    }

    fn key(&self, index: u64, row: &Row) -> Result<Key, RowError> {
        if self.order.is_empty() {
            return Ok((vec![], index));
        }
        let is_key = |column: usize| self.order.iter().any(|order| usize::from(order.column) == column);
        let elements = self.schema.elements_where(row, is_key)?;
        let Row::Cells(cells) = row else { return Ok((vec![], index)) };
        let part = |order: &Order| {
            let number = self.number(&elements, order.column);
            match cells.get(usize::from(order.column)) {
                None | Some(Cell::Null) => (true, 0),
                Some(_) if order.descends => (false, !number),
                Some(_) => (false, number),
            }
        };
        Ok((self.order.iter().map(part).collect(), index))
    }

    /// The encoded number of a column.
    fn number(&self, elements: &[Goldilocks], column: ColumnIndex) -> u64 {
        let before = &self.schema.columns()[..usize::from(column)];
        elements[before.iter().map(|c| c.kind.elements()).sum::<usize>()].as_u64()
    }

    /// The rows that come before a row with these numbers: they come before it in the first column in which they
    /// differ.
    fn before(&self, last: &[(bool, u64)]) -> Filter {
        let mut steps = vec![];
        for at in 0..self.order.len() {
            for (order, part) in self.order.iter().zip(last).take(at) {
                steps.push(order.equal(*part));
            }
            steps.push(self.order[at].less(last[at]));
            steps.push(Step::All(at as u16 + 1));
        }
        steps.push(Step::Any(self.order.len() as u16));
        Filter { steps }
    }
}

/// Counts all rows that pass.
const COUNT: Accumulator = Accumulator::Count { known: vec![], at_least: None };

impl Order {
    fn equal(self, (null, part): (bool, u64)) -> Step {
        let column = self.column;
        let number = if self.descends { !part } else { part };
        let test = if null { Test::Null { column } } else { Test::Within { column, low: number, high: number } };
        Step::Test { test, negated: false }
    }

    fn less(self, (null, part): (bool, u64)) -> Step {
        let column = self.column;
        if null {
            return Step::Test { test: Test::Null { column }, negated: true };
        }
        let (low, high) = match self.descends {
            true if !part == NUMBER_END - 1 => return Step::Any(0),
            true => (!part + 1, NUMBER_END - 1),
            false if part == 0 => return Step::Any(0),
            false => (0, part - 1),
        };
        Step::Test { test: Test::Within { column, low, high }, negated: false }
    }
}

/// Rows in the order of a query, and the plan whose output shows that they are its answer.
#[derive(Clone, Debug)]
pub struct Listed {
    plan: Plan,
    rows: Vec<(u64, Row)>,
    /// The number of rows before the last one in the order; `None` if the query has no more rows than are listed.
    before: Option<usize>,
}

impl Listed {
    /// The plan to prove over all rows of the table.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Positions and rows, in the order of the query.
    pub fn rows(&self) -> &[(u64, Row)] {
        &self.rows
    }

    /// Accepts exactly if the output of the plan over all rows of the table shows that no row is missing. The caller
    /// must check that the rows are in the table.
    ///
    /// # Errors
    /// [`ListingError`].
    pub fn accept(&self, output: &[Goldilocks]) -> Result<(), ListingError> {
        let listed = self.rows.len() as u64;
        let equal = |proven: &Goldilocks, listed: u64, which| match proven.as_u64() {
            proven if proven == listed => Ok(()),
            proven => Err(ListingError::Missing { proven, listed, which }),
        };
        match (output, self.before) {
            ([all], None) => equal(all, listed, "pass the condition"),
            ([all, _], Some(_)) if all.as_u64() < listed => equal(all, listed, "pass the condition"),
            ([_, before], Some(listed)) => equal(before, listed as u64, "come before the last one"),
            _ => Err(ListingError::Output(output.len())),
        }
    }
}

/// Finds the rows that a query lists.
pub struct Finder<'a> {
    listing: &'a Listing,
    passing: Passing,
    /// A heap with the last row of the order on top.
    rows: BinaryHeap<Keyed>,
}

/// A row, compared by its key.
struct Keyed(Key, Row);

impl Finder<'_> {
    /// Takes the next row of the table.
    ///
    /// # Errors
    /// If the row does not fit the schema, or too many rows pass.
    pub fn add(&mut self, index: u64, row: Row) -> Result<(), ListingError> {
        let failed = |source| ListingError::Row { index, source };
        if !self.passing.passes(&row).map_err(failed)? {
            return Ok(());
        }
        let key = self.listing.key(index, &row).map_err(failed)?;
        self.rows.push(Keyed(key, row));
        match self.listing.limit {
            Some(limit) if self.rows.len() > limit => {
                self.rows.pop();
            }
            None if self.rows.len() > MAX_LISTED => return Err(ListingError::Many { most: MAX_LISTED }),
            _ => {}
        }
        Ok(())
    }

    /// Positions and rows, in the order of the query.
    pub fn rows(self) -> Vec<(u64, Row)> {
        self.rows.into_sorted_vec().into_iter().map(|Keyed((_, index), row)| (index, row)).collect()
    }
}

impl Ord for Keyed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Keyed {}

/// True if the query selects only columns.
fn is_listing(select: &Select) -> bool {
    let plain = |item: &SelectItem| match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
            matches!(e, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        }
        _ => false,
    };
    super::group_by(select).is_empty() && !select.projection.is_empty() && select.projection.iter().all(plain)
}

/// The text of `ORDER BY` and `LIMIT`, which this module reads.
fn described(query: &Ast) -> String {
    let order = query.order_by.as_ref().map(|order| format!(" {order}")).unwrap_or_default();
    let limit = query.limit_clause.as_ref().map(ToString::to_string).unwrap_or_default();
    order + &limit
}

fn projection(columns: &Columns<'_>, select: &Select) -> Result<Vec<ColumnIndex>, SqlError> {
    let mut chosen = vec![];
    for item in &select.projection {
        match item {
            SelectItem::Wildcard(_) if item.to_string() == "*" => {
                chosen.extend(0..columns.schema.columns().len() as ColumnIndex);
            }
            SelectItem::UnnamedExpr(e) => chosen.extend(columns.listed(e)?),
            other => return Err(SqlError::unsupported(other, COLUMNS)),
        }
    }
    if chosen.len() > MAX_COLUMNS {
        return Err(SqlError::unsupported(format!("a list of {} columns", chosen.len()), "list each column once"));
    }
    Ok(chosen)
}

fn order(columns: &Columns<'_>, order: Option<&OrderBy>) -> Result<Vec<Order>, SqlError> {
    let Some(order) = order else { return Ok(vec![]) };
    if order.interpolate.is_some() {
        return Err(SqlError::unsupported("INTERPOLATE", ORDERS));
    }
    let OrderByKind::Expressions(by) = &order.kind else { return Err(SqlError::unsupported(order, ORDERS)) };
    let mut found: Vec<Order> = vec![];
    for OrderByExpr { expr, options, with_fill } in by {
        let refused = || SqlError::unsupported(format!("ORDER BY {expr}"), ORDERS);
        let column = columns.of(expr)?.ok_or_else(refused)?;
        columns.number(column, "an order")?;
        if with_fill.is_some() || found.iter().any(|order| order.column == column) {
            return Err(refused());
        }
        if options.nulls_first == Some(true) {
            return Err(SqlError::unsupported("NULLS FIRST", ORDERS));
        }
        let descends = match options.sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(OrderBySort::Using(_)) => return Err(refused()),
        };
        found.push(Order { column, descends });
    }
    if found.len() > MAX_ORDER {
        return Err(SqlError::unsupported(
            format!("an order by {} columns", found.len()),
            "order by at most 8 columns",
        ));
    }
    Ok(found)
}

fn limit(query: &Ast) -> Result<Option<usize>, SqlError> {
    let Some(clause) = &query.limit_clause else { return Ok(None) };
    let LimitClause::LimitOffset { limit: Some(Expr::Value(limit)), offset: None, limit_by } = clause else {
        return Err(SqlError::unsupported(clause.to_string().trim(), LIMITS));
    };
    let Value::Number(text, false) = &limit.value else { return Err(SqlError::unsupported(clause, LIMITS)) };
    match text.parse() {
        Ok(n) if (1..=MAX_LISTED).contains(&n) && limit_by.is_empty() => Ok(Some(n)),
        _ => Err(SqlError::unsupported(clause.to_string().trim(), LIMITS)),
    }
}
