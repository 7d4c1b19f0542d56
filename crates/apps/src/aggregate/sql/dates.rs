//! Parts of dates: `EXTRACT` and `date_trunc` as ranges of a column.

use core::ops::RangeInclusive;

use evergrove_commit::schema::ColumnType;
use evergrove_commit::schema::time::{DATES, YEARS, civil, month_end, month_start, year_start};
use sqlparser::ast::{DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use super::columns::{Columns, unit};
use super::error::SqlError;
use crate::aggregate::query::{ColumnIndex, MAX_STEPS, QueryError};

/// The function that takes a part of a date.
pub(super) const EXTRACT: &str = "EXTRACT";
const PARTS: &str = "extract YEAR, MONTH or DAY, or compare the column itself with dates";
const TRUNCATED: &str = "write date_trunc('year', column), with 'month' or with 'day'";

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Year,
    Month,
    Day,
}

/// Days since 1970-01-01, first and last.
pub(super) type Days = RangeInclusive<i64>;

/// The column and the part that an `EXTRACT` expression takes.
pub(super) fn extracted(columns: &Columns<'_>, e: &Expr) -> Result<Option<(ColumnIndex, Part)>, SqlError> {
    let (field, of) = match e {
        Expr::Nested(inner) => return extracted(columns, inner),
        Expr::Extract { field, expr, .. } => (field, expr),
        _ => return Ok(None),
    };
    let part = match field {
        DateTimeField::Year => Part::Year,
        DateTimeField::Month => Part::Month,
        DateTimeField::Day => Part::Day,
        _ => return Err(SqlError::unsupported(e, PARTS)),
    };
    let column = columns.of(of)?.ok_or_else(|| SqlError::unsupported(e, "extract the part from a column"))?;
    dated(columns, column).map(|column| Some((column, part)))
}

/// The column and the part to which a `date_trunc` expression truncates dates.
pub(super) fn truncated(columns: &Columns<'_>, e: &Expr) -> Result<Option<(ColumnIndex, Part)>, SqlError> {
    let function = match e {
        Expr::Nested(inner) => return truncated(columns, inner),
        Expr::Function(f) if f.name.to_string().eq_ignore_ascii_case("date_trunc") => f,
        _ => return Ok(None),
    };
    let refused = || SqlError::unsupported(e, TRUNCATED);
    let (part, of) = arguments(function).ok_or_else(refused)?;
    let part = match part.to_ascii_lowercase().as_str() {
        "year" => Part::Year,
        "month" => Part::Month,
        "day" => Part::Day,
        _ => return Err(refused()),
    };
    let column = columns.of(of)?.ok_or_else(refused)?;
    dated(columns, column).map(|column| Some((column, part)))
}

/// The arguments of a call like `date_trunc('month', d)`.
fn arguments(f: &Function) -> Option<(&str, &Expr)> {
    let FunctionArguments::List(list) = &f.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(part)), FunctionArg::Unnamed(FunctionArgExpr::Expr(of))] =
        list.args.as_slice()
    else {
        return None;
    };
    // If the call prints with more than name and arguments, it has a clause.
    let plain = f.to_string() == format!("{}({part}, {of})", f.name);
    match part {
        Expr::Value(v) if plain => match &v.value {
            Value::SingleQuotedString(text) => Some((text, of)),
            _ => None,
        },
        _ => None,
    }
}

fn dated(columns: &Columns<'_>, column: ColumnIndex) -> Result<ColumnIndex, SqlError> {
    let c = columns.at(column);
    match unit(c.kind) {
        Some(_) => Ok(column),
        None => Err(SqlError::ColumnType { what: EXTRACT.into(), column: c.name.clone(), kind: c.kind }),
    }
}

impl Part {
    /// The values that the part can have.
    pub(super) fn values(self) -> RangeInclusive<i128> {
        match self {
            Self::Year => (*YEARS.start()).into()..=(*YEARS.end()).into(),
            Self::Month => 1..=12,
            Self::Day => 1..=31,
        }
    }

    /// The part of this date.
    pub(super) fn of(self, day: i64) -> i64 {
        let (year, month, of_month) = civil(day);
        match self {
            Self::Year => year,
            Self::Month => month,
            Self::Day => of_month,
        }
    }

    /// The days in the same year, in the same month of the same year, or only this day.
    pub(super) fn around(self, day: i64) -> Days {
        let (year, month, _) = civil(day);
        match self {
            Self::Year => year_start(year)..=year_start(year + 1) - 1,
            Self::Month => month_start(year, month)..=month_end(year, month) - 1,
            Self::Day => day..=day,
        }
    }

    /// The days of these years whose part is within bounds, as the smallest number of ranges, in ascending order.
    pub(super) fn ranges(self, years: RangeInclusive<i64>, low: i64, high: i64) -> Result<Vec<Days>, QueryError> {
        let mut found: Vec<Days> = Vec::new();
        let mut add = |first: i64, last: i64| {
            let ranges = found.len();
            match found.last_mut() {
                _ if first > last => {}
                Some(before) if *before.end() + 1 == first => *before = *before.start()..=last,
                _ if ranges == MAX_STEPS => return Err(QueryError::Steps(ranges + 1)),
                _ => found.push(first..=last),
            }
            Ok(())
        };
        for year in years {
            match self {
                Self::Year if (low..=high).contains(&year) => add(year_start(year), year_start(year + 1) - 1)?,
                Self::Year => {}
                Self::Month if low <= high => add(month_start(year, low), month_end(year, high) - 1)?,
                Self::Month => {}
                Self::Day => {
                    for month in 1..=12 {
                        let (first, end) = (month_start(year, month), month_end(year, month));
                        add(first + low - 1, (first + high - 1).min(end - 1))?;
                    }
                }
            }
        }
        Ok(found)
    }
}

/// The years of the dates from `low` to `high`, in units of a type; `None` if a side is unbounded.
pub(super) fn years(kind: ColumnType, low: i128, high: i128) -> Option<RangeInclusive<i64>> {
    let unit = unit(kind)?;
    let day = |x: i128| i64::try_from(x.div_euclid(unit)).ok().filter(|day| DATES.contains(day));
    Some(Part::Year.of(day(low)?)..=Part::Year.of(day(high)?))
}

/// The units of a range of days, first and last.
pub(super) fn units(kind: ColumnType, days: &Days) -> (i128, i128) {
    let unit = unit(kind).unwrap_or(1);
    (i128::from(*days.start()) * unit, (i128::from(*days.end()) + 1) * unit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day of some years, including leap years, is in a range exactly if its part is within the bounds.
    #[test]
    fn ranges_have_the_days_of_a_part() {
        let years = 1898..=1905;
        let days = year_start(1898)..year_start(1906);
        for part in [Part::Year, Part::Month, Part::Day] {
            for (low, high) in
                [(1, 1), (2, 2), (12, 12), (1, 12), (3, 5), (29, 31), (31, 31), (1, 31), (5, 3), (1900, 1901)]
            {
                let valid = |x: i64| part.values().contains(&x.into());
                if !valid(low) || !valid(high) {
                    continue;
                }
                let ranges = part.ranges(years.clone(), low, high).unwrap();
                for day in days.clone() {
                    let within = ranges.iter().any(|range| range.contains(&day));
                    assert_eq!(within, (low..=high).contains(&part.of(day)), "{part:?} {low}..={high}: {day}");
                }
                assert!(ranges.windows(2).all(|w| *w[0].end() + 1 < *w[1].start()));
            }
        }
    }
}
