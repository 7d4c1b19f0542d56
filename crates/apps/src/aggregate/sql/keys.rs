//! The keys of `GROUP BY`: columns, and parts of their dates.

use core::cmp::Ordering;

use evergrove_commit::schema::time::{DATES, YEARS, year_start};
use evergrove_commit::schema::{Cell, Column, ColumnType, SIGNED_OFFSET};
use sqlparser::ast::Expr;

use super::columns::{Columns, unit};
use super::dates::{Days, Part, extracted, truncated, units, years};
use super::error::SqlError;
use crate::aggregate::query::{ColumnIndex, Test};

const WITHOUT_YEAR: &str = "group by EXTRACT(YEAR FROM column) too, or bound the column to one year in WHERE";

/// One expression of `GROUP BY`.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) column: ColumnIndex,
    by: By,
    /// The text of the expression, which names the cells of the groups.
    name: String,
}

/// The value that the rows of a group share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Value,
    Extract(Part),
    Truncate(Part),
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.column, self.by).cmp(&(other.column, other.by))
    }
}

impl Key {
    /// A whole column as a key.
    pub(super) fn value(column: ColumnIndex) -> Self {
        Self { column, by: By::Value, name: String::new() }
    }

    /// The key of an expression: a column, or a part of one.
    pub(super) fn of(columns: &Columns<'_>, e: &Expr) -> Result<Option<Self>, SqlError> {
        let found = match (columns.of(e)?, extracted(columns, e)?) {
            (Some(column), _) => Some((column, By::Value)),
            (None, Some((column, part))) => Some((column, By::Extract(part))),
            (None, None) => truncated(columns, e)?.map(|(column, part)| (column, By::Truncate(part))),
        };
        Ok(found.map(|(column, by)| Self { column, by, name: e.to_string() }))
    }

    /// The column of the groups' cells.
    pub(super) fn description(&self, columns: &Columns<'_>) -> Column {
        let c = columns.at(self.column);
        match self.by {
            By::Value => c.clone(),
            By::Extract(_) => Column { name: self.name.clone(), kind: ColumnType::Unsigned, nullable: c.nullable },
            By::Truncate(_) => Column { name: self.name.clone(), ..c.clone() },
        }
    }

    /// The cell of the group of this cell.
    pub(super) fn cell(&self, kind: ColumnType, cell: &Cell) -> Cell {
        let (Cell::Signed(x), Some(unit)) = (cell, unit(kind)) else { return cell.clone() };
        let day = i128::from(*x).div_euclid(unit) as i64;
        match self.by {
            By::Value => cell.clone(),
            By::Extract(part) => Cell::Unsigned(part.of(day).unsigned_abs()),
            By::Truncate(part) => Cell::Signed((i128::from(*part.around(day).start()) * unit) as i64),
        }
    }

    /// The days of the group with this cell; all days for months, whose year is unknown here. `None` if there are no
    /// such days.
    fn days(&self, kind: ColumnType, cell: &Cell) -> Option<Days> {
        match (self.by, cell) {
            (By::Extract(Part::Year), Cell::Unsigned(year)) => {
                let year = i64::try_from(*year).ok().filter(|year| YEARS.contains(year))?;
                Some(year_start(year)..=year_start(year + 1) - 1)
            }
            (By::Truncate(part), Cell::Signed(x)) => {
                let unit = unit(kind)?;
                let day = i64::try_from(i128::from(*x).div_euclid(unit)).ok().filter(|day| DATES.contains(day))?;
                let days = part.around(day);
                (i128::from(*days.start()) * unit == i128::from(*x)).then_some(days)
            }
            _ => Some(DATES),
        }
    }

    /// True if the groups are of whole cells.
    pub(super) fn is_value(&self) -> bool {
        self.by == By::Value
    }

    fn is_month(&self) -> bool {
        self.by == By::Extract(Part::Month)
    }
}

/// Refuses parts of dates that are not in the order of time: months without their year, and days of a month.
pub(super) fn check(columns: &Columns<'_>, by: &[Key]) -> Result<(), SqlError> {
    for key in by {
        let what = || format!("GROUP BY {}", key.name);
        if key.by == By::Extract(Part::Day) {
            return Err(SqlError::unsupported(what(), "group by date_trunc('day', column)"));
        }
        let has_year =
            |other: &Key| other.column == key.column && matches!(other.by, By::Extract(Part::Year) | By::Truncate(_));
        if key.is_month() && !by.iter().any(has_year) && one_year(columns, key.column).is_none() {
            return Err(SqlError::unsupported(what(), WITHOUT_YEAR));
        }
    }
    Ok(())
}

/// The year to which `WHERE` bounds a column, if it is one year.
fn one_year(columns: &Columns<'_>, column: ColumnIndex) -> Option<i64> {
    let span = columns.spans.iter().find(|span| span.column == column)?;
    let years = years(columns.at(column).kind, span.low, span.high)?;
    (years.start() == years.end()).then_some(*years.start())
}

/// The test for the parts of a column's dates. `keys` has all parts of this column. The test is a range, or null;
/// `None` if no date has these parts.
pub(super) fn test(columns: &Columns<'_>, column: ColumnIndex, keys: &[(&Key, &Cell)]) -> Option<Test> {
    let nulls = keys.iter().filter(|(_, cell)| **cell == Cell::Null).count();
    if nulls > 0 {
        return (nulls == keys.len()).then_some(Test::Null { column });
    }
    let kind = columns.at(column).kind;
    let mut days = DATES;
    let meet = |a: &Days, b: &Days| *a.start().max(b.start())..=*a.end().min(b.end());
    for (key, cell) in keys {
        days = meet(&days, &key.days(kind, cell)?);
    }
    let has_year = keys.iter().any(|(key, _)| !key.is_month());
    if let (false, Some(year)) = (has_year, one_year(columns, column)) {
        days = Part::Year.around(year_start(year));
    }
    for (_, cell) in keys.iter().filter(|(key, _)| key.is_month()) {
        let Cell::Unsigned(month) = cell else { return None };
        let month = i64::try_from(*month).ok().filter(|month| (1..=12).contains(month))?;
        let year = Part::Year.of(*days.start());
        if days.is_empty() || year != Part::Year.of(*days.end()) {
            return None;
        }
        let of_year = Part::Month.ranges(year..=year, month, month).ok()?;
        days = meet(&days, of_year.first()?);
    }
    if days.is_empty() {
        return None;
    }
    let (low, high) = units(kind, &days);
    let [low, high] = [low, high].map(|x| (x + i128::from(SIGNED_OFFSET)) as u64);
    Some(Test::Within { column, low, high })
}
