//! A table in memory. The tests of `evergrove-plonky2` include this file.

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{Aggregate, Answer, Grouping, Query, SqlError};
use evergrove_apps::laws::Case;
use evergrove_commit::schema::{Cell, Column, Row, Schema};

/// A schema and its rows, at positions from 0.
pub(crate) struct Table {
    pub(crate) schema: Schema,
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// A table from its columns, as `name:type` or, if nullable, `name:type?`, and from rows as in a CSV file.
    pub(crate) fn new(columns: &[&str], rows: &[&[&str]]) -> Self {
        let columns = columns.iter().map(|c| {
            let (name, kind) = c.split_once(':').unwrap();
            let column = Column::new(name, kind.trim_end_matches('?').parse().unwrap());
            if kind.ends_with('?') { column.nullable() } else { column }
        });
        let schema = Schema::new(columns.collect()).unwrap();
        let rows = rows.iter().map(|r| schema.parse_row(r).unwrap()).collect();
        Self { schema, rows }
    }

    /// Parses a query, with the groups of the table's rows.
    pub(crate) fn query(&self, sql: &str) -> Query {
        let query = match Query::parse(&self.schema, sql) {
            Err(SqlError::Grouped) => Query::with_groups(&self.schema, sql, &self.groups(sql)),
            query => query,
        };
        query.unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// The groups of a query over all rows, for each list of columns.
    pub(crate) fn groups(&self, sql: &str) -> Vec<Vec<Row>> {
        let mut grouping = Grouping::new(&self.schema, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        self.rows.iter().for_each(|row| grouping.add(row).unwrap());
        grouping.groups().unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// The rows as leaves of an application.
    pub(crate) fn cases(&self, app: &Aggregate) -> Vec<Case> {
        let case = |(index, row): (usize, &Row)| {
            let opening = if app.opening_len() == 0 { vec![] } else { self.schema.elements(row).unwrap() };
            Case { index: index as u64, value: self.schema.value(row).unwrap(), opening }
        };
        self.rows.iter().enumerate().map(case).collect()
    }

    /// The answer over all rows.
    pub(crate) fn answer(&self, sql: &str) -> Answer {
        self.answer_of(&self.query(sql))
    }

    /// The answer to a query over all rows.
    pub(crate) fn answer_of(&self, query: &Query) -> Answer {
        let app = Aggregate::new(query.plan().clone());
        let output = self.cases(&app).iter().fold(app.identity(), |acc, case| {
            let mapped = app.map(&case.leaf()).unwrap_or_else(|e| panic!("{e}"));
            app.reduce(&acc, &mapped).unwrap()
        });
        query.answer(&output).unwrap()
    }

    /// The answer's values as text.
    pub(crate) fn values(&self, sql: &str) -> Vec<String> {
        self.answer(sql).values.iter().map(|(_, v)| v.to_string()).collect()
    }
}

/// The cell of a JSON value.
pub(crate) fn cell(column: &Column, value: &serde_json::Value) -> Cell {
    use evergrove_commit::schema::ColumnType::{Bytes, Unsigned};
    match (value, column.kind) {
        (serde_json::Value::Null, _) => Cell::Null,
        (v, Bytes) => Cell::Bytes(v.as_str().unwrap().as_bytes().to_vec()),
        (v, Unsigned) => Cell::Unsigned(v.as_u64().unwrap()),
        (v, _) => Cell::Signed(v.as_i64().unwrap()),
    }
}
