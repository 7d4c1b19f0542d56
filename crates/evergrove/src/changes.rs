//! Changes by the names of columns.

use std::collections::BTreeMap;

use evergrove_commit::schema::{Row, Schema};
use evergrove_store::View;

use crate::table::{to_row, unknown_column};
use crate::{Error, Value};

/// Changes that together form one epoch.
///
/// ```
/// use evergrove::prelude::*;
///
/// let changes = Changes::new()
///     .set(17, "cost_repair", 2_500)
///     .set(17, "damage", "Minor")
///     .delete([40, 41])
///     .join("night", [17])
///     .leave("night", [40, 41]);
/// # drop(changes);
/// ```
///
/// A row is added by [`Self::set_row`] at an empty position; [`Self::grow`] allows positions beyond the last slot:
///
/// ```
/// # use evergrove::prelude::*;
/// let row = [Value::from("new"), Value::from("12.50"), Value::Null];
/// let changes = Changes::new().grow().set_row(10_000, row);
/// # drop(changes);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Changes {
    cells: BTreeMap<u64, Vec<(String, Value)>>,
    rows: Vec<(u64, Vec<Value>)>,
    rest: evergrove_store::Changes,
}

impl Changes {
    /// No changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets one cell of an existing row and keeps its other cells. If a cell is set twice, the later value counts.
    ///
    /// A number of a fixed-point column is passed as text (`"12.50"`) or as [`Value::Decimal`]; floating-point numbers
    /// are not accepted. In a nullable column of numbers the empty text is null.
    #[must_use]
    pub fn set(mut self, position: u64, column: impl Into<String>, value: impl Into<Value>) -> Self {
        self.cells.entry(position).or_default().push((column.into(), value.into()));
        self
    }

    /// Sets a whole row: one value per column, in their order. The position may be empty, which adds the row, or hold a
    /// row, which is replaced.
    #[must_use]
    pub fn set_row(mut self, position: u64, row: impl IntoIterator<Item = Value>) -> Self {
        self.rows.push((position, row.into_iter().collect()));
        self
    }

    /// Deletes rows. A row that is in a batch must leave the batch earlier or in the same update.
    #[must_use]
    pub fn delete(mut self, positions: impl IntoIterator<Item = u64>) -> Self {
        self.rest.clear.extend(positions);
        self
    }

    /// Lets rows join a batch.
    #[must_use]
    pub fn join(mut self, batch: impl Into<String>, positions: impl IntoIterator<Item = u64>) -> Self {
        self.rest.add.push((batch.into(), positions.into_iter().collect()));
        self
    }

    /// Lets rows leave a batch.
    #[must_use]
    pub fn leave(mut self, batch: impl Into<String>, positions: impl IntoIterator<Item = u64>) -> Self {
        self.rest.remove.push((batch.into(), positions.into_iter().collect()));
        self
    }

    /// Allows [`Self::set_row`] at positions beyond the last slot: the number of slots is doubled until they fit.
    /// Without `grow` such a position is an error.
    #[must_use]
    pub fn grow(mut self) -> Self {
        self.rest.grow = true;
        self
    }

    /// The changes as whole rows; unchanged cells come from `view`.
    pub(crate) fn resolve(self, schema: &Schema, view: &View) -> Result<evergrove_store::Changes, Error> {
        let Self { cells, rows, mut rest } = self;
        for (position, values) in rows {
            if cells.contains_key(&position) {
                return Err(Error::SetTwice(position));
            }
            rest.set.push((position, to_row(schema, position, &values)?));
        }
        for (position, values) in cells {
            let row = view.row(position)?.ok_or(evergrove_store::Error::EmptySlot { index: position, batch: None })?;
            let mut cells = match row {
                Row::Cells(cells) => cells,
                Row::Raw(_) => Vec::new(),
            };
            for (name, value) in values {
                let found = schema.column(&name).and_then(|(at, column)| Some((cells.get_mut(at)?, column)));
                let (cell, column) = found.ok_or_else(|| unknown_column(schema, &name))?;
                *cell = value.cell(column).map_err(|e| Error::Row { position, source: e.into() })?;
            }
            rest.set.push((position, Row::Cells(cells)));
        }
        Ok(rest)
    }
}
