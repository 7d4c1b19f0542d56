//! Errors in a query's text, with their remedies.

use evergrove_commit::schema::{ColumnType, RowError, SchemaError};

use super::MAX_TOKENS;
use super::dates::EXTRACT;
use crate::aggregate::query::QueryError;

/// Reasons why a text is not a query that can be proven. [`SqlError::remedy`] says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// The text is not SQL.
    #[error("not SQL: {0}")]
    Syntax(String),
    /// The text has more than [`MAX_TOKENS`] tokens.
    #[error("the query has {0} tokens, expected at most {MAX_TOKENS}")]
    TooLong(usize),
    /// The text is SQL, but cannot be proven.
    #[error("{what} is not supported")]
    Unsupported {
        /// The part of the text.
        what: String,
        /// What to write instead.
        remedy: &'static str,
    },
    /// The schema has no such column.
    #[error("unknown column {name:?}")]
    UnknownColumn {
        /// The name in the text.
        name: String,
        /// The columns of the schema.
        known: String,
    },
    /// Two columns differ from the name only in upper and lower case.
    #[error("more than one column is called {0:?} in upper or lower case")]
    AmbiguousColumn(String),
    /// The operation does not work on the column's type.
    #[error("{what} does not work on column {column:?} of type {kind}")]
    ColumnType {
        /// The operation.
        what: String,
        /// Name of the column.
        column: String,
        /// The column's type.
        kind: ColumnType,
    },
    /// Two columns have different types.
    #[error("column {left:?} is of type {left_kind}, column {right:?} of type {right_kind}")]
    TypesDiffer {
        /// The name of one column.
        left: String,
        /// Its type.
        left_kind: ColumnType,
        /// The name of the other column.
        right: String,
        /// Its type.
        right_kind: ColumnType,
    },
    /// The column cannot be compared with this literal.
    #[error("{literal} cannot be compared with column {column:?} of type {kind}")]
    Literal {
        /// The literal.
        literal: String,
        /// The column's name.
        column: String,
        /// Its type.
        kind: ColumnType,
    },
    /// The text is not a date, timestamp or UUID.
    #[error("{literal} is not of type {kind}: {reason}")]
    Form {
        /// The literal.
        literal: String,
        /// The expected type.
        kind: ColumnType,
        /// The reason.
        reason: &'static str,
    },
    /// A name in double quotes is used where a text is expected.
    #[error("{0:?} in double quotes is a name, and no column has it")]
    DoubleQuotes(String),
    /// The edges of a histogram are not ascending numbers in the range of the column.
    #[error(
        "edge {edge} of the histogram of column {column:?} is not above the one before, or outside the column's range"
    )]
    Edge {
        /// The edge.
        edge: String,
        /// Name of the column.
        column: String,
    },
    /// The groups of a query with `GROUP BY`, `DISTINCT` or `LIKE` are missing.
    #[error("the query has GROUP BY, DISTINCT or LIKE, and its groups are not given")]
    Grouped,
    /// The number of lists of groups differs from the number that the query needs.
    #[error("the query needs {expected} lists of groups, {found} are given")]
    Lists {
        /// The number of lists that [`Query::grouped_by`](crate::aggregate::Query::grouped_by) names.
        expected: usize,
        /// The number of given lists.
        found: usize,
    },
    /// The cells of a group do not fit the columns of `GROUP BY`.
    #[error("group {group}: {source}")]
    Group {
        /// The number of the group, from 0.
        group: usize,
        /// The reason.
        source: RowError,
    },
    /// Groups are given for a query that has no groups.
    #[error("the query has no GROUP BY, DISTINCT or LIKE, and groups are given")]
    NotGrouped,
    /// The rows have too many values.
    #[error("the rows have {found} values of {columns}, a query can have {most}")]
    Groups {
        /// The names of the columns.
        columns: String,
        /// The number of values that were found before counting stopped.
        found: usize,
        /// The greatest number of values.
        most: usize,
    },
    /// A group is given twice.
    #[error("group {0} is given twice")]
    GroupTwice(usize),
    /// No date is in the group with these cells.
    #[error("group {0} has no dates")]
    GroupDates(usize),
    /// The columns of `GROUP BY` do not make a schema.
    #[error(transparent)]
    Columns(#[from] SchemaError),
    /// The text does not make a valid query.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl SqlError {
    /// The remedy, in one sentence.
    pub fn remedy(&self) -> String {
        match self {
            Self::Syntax(_) => "write SELECT aggregates FROM table, and WHERE a condition if need be".into(),
            Self::TooLong(_) => "split the query".into(),
            Self::Unsupported { remedy, .. } => (*remedy).into(),
            Self::UnknownColumn { known, .. } => format!("choose one of {known}"),
            Self::AmbiguousColumn(_) => "write the name as in the schema, in double quotes".into(),
            Self::ColumnType { kind: ColumnType::Abi(_), .. } => {
                "leave the column out: a query computes with numbers of 63 bits, a word of the ABI has 256".into()
            }
            Self::ColumnType { what, .. } if what == EXTRACT => "choose a column of type date or timestamp".into(),
            Self::ColumnType { kind: ColumnType::Bytes, .. } => {
                "choose a column of numbers: columns of type bytes know comparisons with texts, IN, LIKE and IS NULL".into()
            }
            Self::ColumnType { column, kind: ColumnType::Boolean, .. } => {
                format!("write COUNT(*) FILTER (WHERE {column}), or group by {column}")
            }
            Self::ColumnType { what, kind: ColumnType::Date | ColumnType::Timestamp, .. } if what == "HISTOGRAM" => {
                "group by date_trunc('month', column), or count with FILTER (WHERE column < DATE '2024-01-31')".into()
            }
            Self::ColumnType { column, kind: ColumnType::Date | ColumnType::Timestamp, .. } => {
                format!("write MIN({column}) or MAX({column}), count rows, or group by date_trunc('month', {column})")
            }
            Self::ColumnType { kind, .. } if kind.is_number() => "compare numbers with =, <, > and BETWEEN".into(),
            Self::ColumnType { column, kind, .. } => {
                format!("leave {column} out: columns of type {kind} know =, <>, IN, IS NULL, GROUP BY and COUNT")
            }
            Self::TypesDiffer { .. } => "compare columns of one type".into(),
            Self::Literal { kind: ColumnType::Bytes, .. } => "write the text in single quotes".into(),
            Self::Literal { column, kind: ColumnType::Boolean, .. } => {
                format!("write {column} = TRUE or {column} = FALSE")
            }
            Self::Literal { kind: ColumnType::Date, .. } => "write a date, like DATE '2024-01-31'".into(),
            Self::Literal { kind: ColumnType::Timestamp, .. } => {
                "write a timestamp, like TIMESTAMP '2024-01-31 12:34:56'".into()
            }
            Self::Literal { kind: ColumnType::Uuid, .. } => "write the UUID in single quotes".into(),
            Self::Form { kind: ColumnType::Date, .. } => "write a date, like DATE '2024-01-31'".into(),
            Self::Form { kind: ColumnType::Timestamp, .. } => {
                "write a timestamp, like TIMESTAMP '2024-01-31 12:34:56'".into()
            }
            Self::Form { .. } => "write 32 hexadecimal digits with hyphens, 8-4-4-4-12, in single quotes".into(),
            Self::DoubleQuotes(text) => format!("write a text in single quotes: '{}'", text.replace('\'', "''")),
            Self::Literal { .. } => "write a number in plain digits, without quotes".into(),
            Self::Edge { .. } => "write ascending numbers that the column can hold".into(),
            Self::Grouped => "give its groups, where the command or function takes them".into(),
            Self::NotGrouped => "leave the groups out".into(),
            Self::Groups { .. } => {
                "choose columns of few values, narrow WHERE by other columns, or name the values of interest with = or IN".into()
            }
            Self::Lists { .. } | Self::Group { .. } | Self::GroupTwice(_) | Self::GroupDates(_) | Self::Columns(_) => {
                "give a row of the columns of GROUP BY, DISTINCT or LIKE for each of their values, once".into()
            }
            Self::Query(QueryError::Accumulators(_)) => {
                "ask for fewer aggregates, or for fewer groups: each group takes those of its own, and a count".into()
            }
            Self::Query(e) => match e {
                QueryError::Raw => "commit the table with a schema".into(),
                _ => "shorten the query".into(),
            },
        }
    }

    pub(super) fn unsupported(what: impl ToString, remedy: &'static str) -> Self {
        Self::Unsupported { what: what.to_string(), remedy }
    }
}
