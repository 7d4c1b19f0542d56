//! The names of a query's table and columns.

use std::cell::RefCell;
use std::collections::BTreeMap;

use evergrove_commit::schema::time::DAY;
use evergrove_commit::schema::{Column, ColumnType, SIGNED_OFFSET, Schema};
use sqlparser::ast::{Expr, Ident};

use super::error::SqlError;
use super::keys::Key;
use super::lists::{List, Needs};
use crate::aggregate::query::{ColumnIndex, NUMBER_END};

/// The name of the comparisons `<`, `<=`, `>` and `>=` in error messages.
pub(super) const ORDER: &str = "an order";

/// The columns of the query's table.
pub(super) struct Columns<'a> {
    pub(super) schema: &'a Schema,
    /// Names that may qualify a column, as in `table.column`.
    pub(super) tables: Vec<String>,
    /// The ranges to which `WHERE` bounds columns of dates.
    pub(super) spans: Vec<Span>,
    /// The given values of columns.
    pub(super) lists: BTreeMap<Vec<Key>, List>,
    /// The columns whose values the query needs.
    pub(super) needs: RefCell<Needs>,
}

/// A range of dates or timestamps, in units of the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) column: ColumnIndex,
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Columns<'_> {
    /// The column that an expression names; `None` if the expression is not a name.
    pub(super) fn of(&self, e: &Expr) -> Result<Option<ColumnIndex>, SqlError> {
        match e {
            Expr::Nested(inner) => self.of(inner),
            Expr::Identifier(name) => self.named(name).map(Some),
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [table, name] if self.tables.iter().any(|t| t.eq_ignore_ascii_case(&table.value)) => {
                    self.named(name).map(Some)
                }
                _ => Err(self.unknown(e.to_string())),
            },
            _ => Ok(None),
        }
    }

    /// The column that an expression names, which may have any type.
    pub(super) fn listed(&self, e: &Expr) -> Result<Option<ColumnIndex>, SqlError> {
        match e {
            Expr::Identifier(name) => self.position(name).map(Some),
            _ => self.of(e),
        }
    }

    /// The column with this name. Queries cannot use columns of ABI words.
    fn named(&self, name: &Ident) -> Result<ColumnIndex, SqlError> {
        let at = self.position(name)?;
        match self.at(at) {
            c @ Column { kind: ColumnType::Abi(_), .. } => {
                Err(SqlError::ColumnType { what: "a query".into(), column: c.name.clone(), kind: c.kind })
            }
            _ => Ok(at),
        }
    }

    /// The column with this name. A name without quotes matches in upper and lower case.
    fn position(&self, name: &Ident) -> Result<ColumnIndex, SqlError> {
        if let Some((at, _)) = self.schema.column(&name.value) {
            return Ok(at as ColumnIndex);
        }
        let columns = self.schema.columns().iter().enumerate();
        let mut alike = columns.filter(|(_, c)| name.quote_style.is_none() && c.name.eq_ignore_ascii_case(&name.value));
        match (alike.next(), alike.next()) {
            (Some((at, _)), None) => Ok(at as ColumnIndex),
            (None, _) => Err(self.unknown(name.value.clone())),
            (Some(_), Some(_)) => Err(SqlError::AmbiguousColumn(name.value.clone())),
        }
    }

    fn unknown(&self, name: String) -> SqlError {
        let known: Vec<&str> = self.schema.columns().iter().map(|c| c.name.as_str()).collect();
        SqlError::UnknownColumn { name, known: known.join(", ") }
    }

    /// The description of a column.
    pub(super) fn at(&self, column: ColumnIndex) -> &Column {
        &self.schema.columns()[column as usize]
    }

    /// Refuses `what` for columns without an order, and, unless `what` is an order or an extremum, for columns without
    /// sums.
    pub(super) fn number(&self, column: ColumnIndex, what: &str) -> Result<(), SqlError> {
        let c = self.at(column);
        let ordered = matches!(what, ORDER | "MIN" | "MAX");
        match c.kind {
            ColumnType::Boolean | ColumnType::Date | ColumnType::Timestamp if ordered => Ok(()),
            ColumnType::Unsigned | ColumnType::Signed | ColumnType::Fixed { .. } => Ok(()),
            ColumnType::Decimal { .. } if c.kind.is_number() => Ok(()),
            kind => Err(SqlError::ColumnType { what: what.into(), column: c.name.clone(), kind }),
        }
    }

    /// The columns of dates and timestamps.
    pub(super) fn calendars(&self) -> impl Iterator<Item = ColumnIndex> {
        let columns = self.schema.columns().iter().enumerate();
        columns.filter(|(_, c)| unit(c.kind).is_some()).map(|(at, _)| at as ColumnIndex)
    }

    /// The least and the greatest number of a column, in its units. The least number is encoded as 0.
    pub(super) fn range(&self, column: ColumnIndex) -> (i128, i128) {
        let offset = offset(self.at(column).kind) as i128;
        (-offset, NUMBER_END as i128 - 1 - offset)
    }
}

/// The offset that the encoding of a type of numbers adds.
pub(in crate::aggregate) fn offset(kind: ColumnType) -> u64 {
    match kind {
        ColumnType::Signed
        | ColumnType::Fixed { .. }
        | ColumnType::Date
        | ColumnType::Timestamp
        | ColumnType::Decimal { .. } => SIGNED_OFFSET,
        ColumnType::Unsigned
        | ColumnType::Bytes
        | ColumnType::Abi(_)
        | ColumnType::Boolean
        | ColumnType::Uuid
        | ColumnType::Integer128
        | ColumnType::Unsigned128 => 0,
    }
}

/// Units per day in a column of dates or timestamps.
pub(super) fn unit(kind: ColumnType) -> Option<i128> {
    match kind {
        ColumnType::Date => Some(1),
        ColumnType::Timestamp => Some(DAY.into()),
        _ => None,
    }
}
