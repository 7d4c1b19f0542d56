//! Changes by the names of columns.

use std::collections::BTreeMap;

use evergrove_commit::schema::{Row, Schema};
use evergrove_store::View;

use crate::table::{to_row, unknown_column};
use crate::{Error, Value};

/// Changes that form one epoch together.
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

    /// Sets one cell of a row that is there; its other cells stay as they are.
    #[must_use]
    pub fn set(mut self, position: u64, column: impl Into<String>, value: impl Into<Value>) -> Self {
        self.cells.entry(position).or_default().push((column.into(), value.into()));
        self
    }

    /// Sets a whole row, in the order of the columns. The slot may be empty before.
    #[must_use]
    pub fn set_row(mut self, position: u64, row: impl IntoIterator<Item = Value>) -> Self {
        self.rows.push((position, row.into_iter().collect()));
        self
    }

    /// Empties slots. They must not be in a batch afterwards.
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

    /// Doubles the table as often as positions of new rows need it. Without it such positions are an error.
    #[must_use]
    pub fn grow(mut self) -> Self {
        self.rest.grow = true;
        self
    }

    /// The changes as whole rows, with the cells of `view` where they stay.
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
