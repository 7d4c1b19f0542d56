//! The names of a query: the table's and its columns'.

use std::cell::RefCell;
use std::collections::BTreeMap;

use evergrove_commit::schema::time::DAY;
use evergrove_commit::schema::{Column, ColumnType, SIGNED_OFFSET, Schema};
use sqlparser::ast::{Expr, Ident};

use super::error::SqlError;
use super::keys::Key;
use super::lists::{List, Needs};
use crate::aggregate::query::{ColumnIndex, NUMBER_END};

/// What a comparison of more and less needs.
pub(super) const ORDER: &str = "an order";

/// The columns of the table that a query is about.
pub(super) struct Columns<'a> {
    pub(super) schema: &'a Schema,
    /// Names that may stand before a column's, with a point between them.
    pub(super) tables: Vec<String>,
    /// What `WHERE` says of columns with dates.
    pub(super) spans: Vec<Span>,
    /// The values of columns that were given.
    pub(super) lists: BTreeMap<Vec<Key>, List>,
    /// The columns whose values were asked for.
    pub(super) needs: RefCell<Needs>,
}

/// Dates or timestamps between which those of a column lie, in its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) column: ColumnIndex,
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Columns<'_> {
    /// The column that an expression names; `None` where it is no name.
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

    /// The column that an expression names, of any type.
    pub(super) fn listed(&self, e: &Expr) -> Result<Option<ColumnIndex>, SqlError> {
        match e {
            Expr::Identifier(name) => self.position(name).map(Some),
            _ => self.of(e),
        }
    }

    /// The column of a name. Words of the ABI take no part in queries.
    fn named(&self, name: &Ident) -> Result<ColumnIndex, SqlError> {
        let at = self.position(name)?;
        match self.at(at) {
            c @ Column { kind: ColumnType::Abi(_), .. } => {
                Err(SqlError::ColumnType { what: "a query".into(), column: c.name.clone(), kind: c.kind })
            }
            _ => Ok(at),
        }
    }

    /// A name as in the schema, or, without quotes, but for the case of its letters.
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

    /// Refuses for `what` columns that have no order, and for all but an order and extrema those without sums.
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

    /// Least and greatest number of a column, in its units. The least is encoded as 0.
    pub(super) fn range(&self, column: ColumnIndex) -> (i128, i128) {
        let offset = offset(self.at(column).kind) as i128;
        (-offset, NUMBER_END as i128 - 1 - offset)
    }
}

/// What the encoding of a type of numbers adds to a number.
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

/// Units of a day in a column of dates or timestamps.
pub(super) fn unit(kind: ColumnType) -> Option<i128> {
    match kind {
        ColumnType::Date => Some(1),
        ColumnType::Timestamp => Some(DAY.into()),
        _ => None,
    }
}
