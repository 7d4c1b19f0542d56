//! The different values of columns that a query needs: those of `GROUP BY` and `DISTINCT`, and the contents that `LIKE`
//! reads.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use evergrove_commit::schema::{Cell, Row, RowError, Schema};

use super::columns::Columns;
use super::error::SqlError;
use super::keys::{self, Key};
use super::{Passing, Text};
use crate::aggregate::query::{ColumnIndex, Filter, MAX_ACCUMULATORS, Test};

/// The greatest number of contents of a column that a condition may read.
pub(super) const MAX_CONTENTS: usize = 128;
/// The number of values at which counting stops.
const MAX_COUNTED: usize = 1 << 16;

/// The columns whose values a text needs, beside those of `GROUP BY`.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs {
    /// Columns whose contents decide conditions.
    pub(super) contents: BTreeSet<ColumnIndex>,
    /// Columns whose different values are counted.
    pub(super) distinct: BTreeSet<Vec<ColumnIndex>>,
    /// The number of requests for contents.
    pub(super) asked: usize,
}

/// Columns whose values a query needs, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) columns: Vec<Key>,
    /// For `GROUP BY`: null is a value, too.
    grouped: bool,
    /// For `LIKE`: the contents of all rows that pass the rest of the condition.
    contents: bool,
    /// For `DISTINCT`.
    distinct: bool,
}

/// The values of some columns, each once, in the order of their encodings.
#[derive(Clone, Debug)]
pub(super) struct List(pub(super) Vec<Entry>);

/// One value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) cells: Vec<Cell>,
    /// The rows with this value.
    pub(super) filter: Filter,
    /// The encoding of each cell.
    pub(super) encoded: Vec<Vec<u64>>,
}

/// Contents of a column, and their digests.
pub(super) struct Contents(pub(super) Vec<(Vec<u8>, [u64; 4])>);

impl Entry {
    fn is_known(&self) -> bool {
        !self.cells.contains(&Cell::Null)
    }
}

impl Columns<'_> {
    /// The given contents of a column. Notes that the query needs them.
    pub(super) fn contents(&self, column: ColumnIndex) -> Contents {
        let mut needs = self.needs.borrow_mut();
        needs.contents.insert(column);
        needs.asked += 1;
        let keys = self.lists.get(&vec![Key::value(column)]).into_iter().flat_map(|list| &list.0);
        let contents = keys.filter_map(|key| match (key.cells.as_slice(), key.encoded.as_slice()) {
            ([Cell::Bytes(content)], [digest]) => Some((content.clone(), digest.as_slice().try_into().ok()?)),
            _ => None,
        });
        Contents(contents.collect())
    }

    /// The different values of columns in rows in which all of these columns are known.
    pub(super) fn distinct(&self, columns: &BTreeSet<ColumnIndex>) -> Vec<Entry> {
        let keys: Vec<Key> = columns.iter().copied().map(Key::value).collect();
        let columns: Vec<ColumnIndex> = columns.iter().copied().collect();
        let keys = self.lists.get(&keys).into_iter().flat_map(|list| &list.0).filter(|key| key.is_known());
        let keys = keys.cloned().collect();
        self.needs.borrow_mut().distinct.insert(columns);
        keys
    }
}

impl Need {
    /// All columns that `needs` and `GROUP BY` name.
    pub(super) fn all(by: &[Key], needs: &Needs) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut add = |columns: Vec<Key>, of: fn(&mut Self)| {
            // `GROUP BY a, b` and `COUNT(DISTINCT b, a)` need the same values.
            let sorted = |columns: &[Key]| columns.iter().cloned().collect::<BTreeSet<_>>();
            let place = all.iter().position(|need| sorted(&need.columns) == sorted(&columns)).unwrap_or(all.len());
            if place == all.len() {
                all.push(Self { columns, grouped: false, contents: false, distinct: false });
            }
            of(&mut all[place]);
        };
        if !by.is_empty() {
            add(by.to_vec(), |need| need.grouped = true);
        }
        needs.contents.iter().for_each(|column| add(vec![Key::value(*column)], |need| need.contents = true));
        let values = |columns: &Vec<ColumnIndex>| columns.iter().copied().map(Key::value).collect();
        needs.distinct.iter().for_each(|columns| add(values(columns), |need| need.distinct = true));
        all
    }

    /// The greatest number of values.
    pub(super) fn most(&self) -> usize {
        // One accumulator counts all rows.
        if self.grouped || self.distinct { MAX_ACCUMULATORS - 1 } else { MAX_CONTENTS }
    }

    pub(super) fn too_many(&self, columns: &Columns<'_>, found: usize) -> SqlError {
        let names: Vec<String> = self.columns.iter().map(|key| key.description(columns).name).collect();
        SqlError::Groups { columns: names.join(", "), found, most: self.most() }
    }
}

impl List {
    /// The values in rows of these columns alone.
    pub(super) fn of(columns: &Columns<'_>, keys: &[Key], rows: &[Row]) -> Result<Self, SqlError> {
        let schema = Schema::new(keys.iter().map(|key| key.description(columns)).collect())?;
        let mut found = BTreeMap::new();
        for (i, row) in rows.iter().enumerate() {
            let elements = schema.elements(row).map_err(|e| SqlError::Group { group: i, source: e })?;
            let Row::Cells(cells) = row else { return Err(SqlError::GroupTwice(i)) };
            let mut rest = elements.as_slice();
            let (mut tests, mut order, mut values) = (vec![], vec![], vec![]);
            for ((key, of), cell) in keys.iter().zip(schema.columns()).zip(cells) {
                let column = key.column;
                let (encoded, behind) = rest.split_at(of.kind.elements());
                rest = behind;
                tests.extend(match (cell, encoded) {
                    _ if !key.is_value() => dates(columns, key, keys, cells).ok_or(SqlError::GroupDates(i))?,
                    (Cell::Null, _) => Some(Test::Null { column }),
                    (_, &[a, b, c, d]) => Some(Test::Content { column, digest: [a, b, c, d].map(|x| x.as_u64()) }),
                    (_, encoded) => Some(Test::Within { column, low: encoded[0].as_u64(), high: encoded[0].as_u64() }),
                });
                let encoded: Vec<u64> = encoded.iter().map(|x| x.as_u64()).collect();
                // Nulls come first, so that the form of the conditions does not depend on the contents.
                order.push((*cell != Cell::Null, encoded.clone()));
                values.push(encoded);
            }
            let entry = Entry { cells: cells.clone(), filter: Filter::all_of(tests, false), encoded: values };
            if found.insert(order, entry).is_some() {
                return Err(SqlError::GroupTwice(i));
            }
        }
        Ok(Self(found.into_values().collect()))
    }
}

/// The test for a column's dates in a group. Only the first key of the column has the test; the other keys have none.
fn dates(columns: &Columns<'_>, key: &Key, keys: &[Key], cells: &[Cell]) -> Option<Option<Test>> {
    let parts = keys.iter().zip(cells).filter(|(other, _)| other.column == key.column && !other.is_value());
    let parts: Vec<(&Key, &Cell)> = parts.collect();
    if parts.first().is_some_and(|(first, _)| *first == key) {
        keys::test(columns, key.column, &parts).map(Some)
    } else {
        Some(None)
    }
}

/// Finds the values that a query needs in the rows of a table.
pub struct Grouping<'a> {
    text: Text<'a>,
    /// The condition without the parts that read contents.
    rows: Passing,
    lists: Vec<Found>,
    /// For each combination of contents, the whole condition; `None` if all rows pass.
    passing: HashMap<Vec<Cell>, Option<Passing>>,
}

/// The values found for one need.
struct Found {
    need: Need,
    seen: HashSet<Vec<Cell>>,
    rows: Vec<Row>,
}

impl<'a> Grouping<'a> {
    /// Finds the values for a query with `GROUP BY`, `DISTINCT` or `LIKE`.
    ///
    /// # Errors
    /// If the text is not SQL, or does not fit the schema.
    pub fn new(schema: &'a Schema, text: &str) -> Result<Self, SqlError> {
        let text = Text::read(schema, text)?;
        let found = |need: Need| Found { need, seen: HashSet::new(), rows: vec![] };
        let lists = text.needs()?.into_iter().map(found).collect();
        let rows = Passing::new(schema, &text.conditions()?.0)?;
        Ok(Self { text, rows, lists, passing: HashMap::new() })
    }

    /// Takes the next row. Rows that do not pass the condition are not in any group.
    ///
    /// # Errors
    /// If there are far more values than a query may have, or the row does not fit the schema.
    pub fn add(&mut self, row: &Row) -> Result<(), SqlError> {
        let Row::Cells(cells) = row else { return Ok(()) };
        let mut new: Vec<(usize, Vec<Cell>)> = Vec::new();
        for (i, list) in self.lists.iter().enumerate() {
            let of = |key: &Key| key.cell(self.text.columns.at(key.column).kind, &cells[usize::from(key.column)]);
            let values: Vec<Cell> = list.need.columns.iter().map(of).collect();
            let counts = list.need.grouped || !values.contains(&Cell::Null);
            if counts && !list.seen.contains(&values) {
                new.push((i, values));
            }
        }
        if new.is_empty() || !self.rows.passes(row).map_err(failed)? {
            return Ok(());
        }
        let all = self.passes_all(cells, row)?;
        for (i, values) in new {
            let list = &mut self.lists[i];
            if all || (list.need.contents && !values.contains(&Cell::Null)) {
                list.rows.push(Row::Cells(values.clone()));
                list.seen.insert(values);
            }
            if list.rows.len() > MAX_COUNTED {
                return Err(self.too_many(i));
            }
        }
        Ok(())
    }

    /// True if a row that passes the rest of the condition also passes the parts that read contents.
    fn passes_all(&mut self, cells: &[Cell], row: &Row) -> Result<bool, SqlError> {
        let columns = self.lists.iter().filter(|list| list.need.contents).map(|list| list.need.columns[0].clone());
        let columns: Vec<Key> = columns.collect();
        let contents: Vec<Cell> = columns.iter().map(|key| cells[usize::from(key.column)].clone()).collect();
        if !self.passing.contains_key(&contents) {
            let text = &mut self.text;
            for (column, content) in columns.iter().zip(&contents) {
                let keys = vec![column.clone()];
                let list = List::of(&text.columns, &keys, &[Row::Cells(vec![content.clone()])])?;
                text.columns.lists.insert(keys, list);
            }
            let condition = text.conditions()?.1;
            let rows = condition.map(|condition| Passing::new(self.rows.schema(), &condition)).transpose()?;
            if self.passing.len() > MAX_COUNTED {
                self.passing.clear();
            }
            self.passing.insert(contents.clone(), rows);
        }
        match self.passing.get(&contents) {
            Some(Some(rows)) => rows.passes(row).map_err(failed),
            _ => Ok(true),
        }
    }

    fn too_many(&self, list: usize) -> SqlError {
        let Found { need, rows, .. } = &self.lists[list];
        need.too_many(&self.text.columns, rows.len())
    }

    /// The values, in the order of their first rows, for each list of columns that
    /// [`Query::grouped_by`](crate::aggregate::Query::grouped_by) names.
    ///
    /// # Errors
    /// If there are more values than a query may have.
    pub fn groups(self) -> Result<Vec<Vec<Row>>, SqlError> {
        if let Some(list) = self.lists.iter().position(|list| list.rows.len() > list.need.most()) {
            return Err(self.too_many(list));
        }
        Ok(self.lists.into_iter().map(|list| list.rows).collect())
    }
}

/// The error for a row that does not fit the schema.
fn failed(source: RowError) -> SqlError {
    SqlError::Group { group: 0, source }
}
