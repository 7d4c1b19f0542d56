//! The different values of columns that a query needs to know: those of `GROUP BY` and `DISTINCT`, and the contents that `LIKE` looks at.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use evergrove_commit::schema::{Cell, Row, Schema};

use super::Text;
use super::columns::Columns;
use super::error::SqlError;
use crate::aggregate::query::{Accumulator, ColumnIndex, Filter, MAX_ACCUMULATORS, Test};
use crate::aggregate::{Aggregate, Plan};
use crate::{Leaf, MapReduce};

/// The greatest number of contents of a column that a condition looks at.
pub(super) const MAX_CONTENTS: usize = 128;
/// More values than these are not counted.
const MAX_COUNTED: usize = 1 << 16;

/// What a text asks about, beside the columns of `GROUP BY`.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs {
    /// Columns whose contents decide conditions.
    pub(super) contents: BTreeSet<ColumnIndex>,
    /// Columns whose different values are counted.
    pub(super) distinct: BTreeSet<Vec<ColumnIndex>>,
    /// How often contents were asked for.
    pub(super) asked: usize,
}

/// Columns whose values a query needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) columns: Vec<ColumnIndex>,
    /// For `GROUP BY`: nulls are a value too.
    grouped: bool,
    /// For `LIKE`: of all rows that pass the rest of the condition.
    contents: bool,
    /// For `DISTINCT`.
    distinct: bool,
}

/// The values of some columns, each once, in the order of what they encode to.
#[derive(Clone, Debug)]
pub(super) struct List(pub(super) Vec<Key>);

/// One of these values.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) cells: Vec<Cell>,
    /// Rows with it.
    pub(super) filter: Filter,
    /// For each column.
    pub(super) encoded: Vec<Vec<u64>>,
}

/// Contents of a column, and their digests.
pub(super) struct Contents(pub(super) Vec<(Vec<u8>, [u64; 4])>);

impl Key {
    fn is_known(&self) -> bool {
        !self.cells.contains(&Cell::Null)
    }
}

impl Columns<'_> {
    /// The contents of a column.
    pub(super) fn contents(&self, column: ColumnIndex) -> Contents {
        let mut needs = self.needs.borrow_mut();
        needs.contents.insert(column);
        needs.asked += 1;
        let keys = self.lists.get(&vec![column]).into_iter().flat_map(|list| &list.0);
        let contents = keys.filter_map(|key| match (key.cells.as_slice(), key.encoded.as_slice()) {
            ([Cell::Bytes(content)], [digest]) => Some((content.clone(), digest.as_slice().try_into().ok()?)),
            _ => None,
        });
        Contents(contents.collect())
    }

    /// The different values of columns in rows where none of them is null.
    pub(super) fn distinct(&self, columns: &BTreeSet<ColumnIndex>) -> Vec<Key> {
        let columns: Vec<ColumnIndex> = columns.iter().copied().collect();
        let keys = self.lists.get(&columns).into_iter().flat_map(|list| &list.0).filter(|key| key.is_known());
        let keys = keys.cloned().collect();
        self.needs.borrow_mut().distinct.insert(columns);
        keys
    }
}

impl Need {
    /// Of these columns, where `needs` and `GROUP BY` name any.
    pub(super) fn all(by: &[ColumnIndex], needs: &Needs) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut add = |columns: Vec<ColumnIndex>, of: fn(&mut Self)| {
            // `GROUP BY a, b` and `COUNT(DISTINCT b, a)` ask about the same.
            let sorted = |columns: &[ColumnIndex]| columns.iter().copied().collect::<BTreeSet<_>>();
            let place = all.iter().position(|need| sorted(&need.columns) == sorted(&columns)).unwrap_or(all.len());
            if place == all.len() {
                all.push(Self { columns, grouped: false, contents: false, distinct: false });
            }
            of(&mut all[place]);
        };
        if !by.is_empty() {
            add(by.to_vec(), |need| need.grouped = true);
        }
        needs.contents.iter().for_each(|column| add(vec![*column], |need| need.contents = true));
        needs.distinct.iter().for_each(|columns| add(columns.clone(), |need| need.distinct = true));
        all
    }

    /// The greatest number of values.
    fn most(&self) -> usize {
        // One count is of all rows.
        if self.grouped || self.distinct { MAX_ACCUMULATORS - 1 } else { MAX_CONTENTS }
    }
}

impl List {
    /// Of rows of these columns alone.
    pub(super) fn of(schema: &Schema, columns: &[ColumnIndex], rows: &[Row]) -> Result<Self, SqlError> {
        let of_columns = columns.iter().map(|column| schema.columns()[usize::from(*column)].clone());
        let schema = Schema::new(of_columns.collect())?;
        let mut found = BTreeMap::new();
        for (i, row) in rows.iter().enumerate() {
            let elements = schema.elements(row).map_err(|e| SqlError::Group { group: i, source: e })?;
            let Row::Cells(cells) = row else { return Err(SqlError::GroupTwice(i)) };
            let mut rest = elements.as_slice();
            let (mut tests, mut order, mut values) = (vec![], vec![], vec![]);
            for ((&column, of), cell) in columns.iter().zip(schema.columns()).zip(cells) {
                let (encoded, behind) = rest.split_at(of.kind.elements());
                rest = behind;
                tests.push(match (cell, encoded) {
                    (Cell::Null, _) => Test::Null { column },
                    (Cell::Bytes(_), &[a, b, c, d]) => {
                        Test::Content { column, digest: [a, b, c, d].map(|x| x.as_u64()) }
                    }
                    (_, encoded) => Test::Within { column, low: encoded[0].as_u64(), high: encoded[0].as_u64() },
                });
                let encoded: Vec<u64> = encoded.iter().map(|x| x.as_u64()).collect();
                // Nulls come first, so that the form of the conditions does not depend on contents.
                order.push((*cell != Cell::Null, encoded.clone()));
                values.push(encoded);
            }
            let key = Key { cells: cells.clone(), filter: Filter::all_of(tests), encoded: values };
            if found.insert(order, key).is_some() {
                return Err(SqlError::GroupTwice(i));
            }
        }
        Ok(Self(found.into_values().collect()))
    }
}

/// Finds the values that a query needs to know in the rows of a table.
pub struct Grouping<'a> {
    text: Text<'a>,
    /// Rows that pass the condition but for its parts that look at contents.
    rows: Aggregate,
    lists: Vec<Found>,
    /// By the contents of columns, the rows that pass all of the condition; none where all do.
    passing: HashMap<Vec<Cell>, Option<Aggregate>>,
}

/// Values that were found.
struct Found {
    need: Need,
    seen: HashSet<Vec<Cell>>,
    rows: Vec<Row>,
}

impl<'a> Grouping<'a> {
    /// Of a query with `GROUP BY`, `DISTINCT` or `LIKE`.
    ///
    /// # Errors
    /// When the text is not SQL, or does not fit the schema.
    pub fn new(schema: &'a Schema, text: &str) -> Result<Self, SqlError> {
        let text = Text::read(schema, text)?;
        let found = |need: Need| Found { need, seen: HashSet::new(), rows: vec![] };
        let lists = text.needs()?.into_iter().map(found).collect();
        let rows = counted(schema, text.conditions()?.0)?;
        Ok(Self { text, rows, lists, passing: HashMap::new() })
    }

    /// Looks at a row. Rows that do not pass the condition are in no group.
    ///
    /// # Errors
    /// When there are far more values than a query can have; when the row is none of the schema.
    pub fn add(&mut self, row: &Row) -> Result<(), SqlError> {
        let Row::Cells(cells) = row else { return Ok(()) };
        let mut new: Vec<(usize, Vec<Cell>)> = Vec::new();
        for (i, list) in self.lists.iter().enumerate() {
            let values: Vec<Cell> =
                list.need.columns.iter().map(|column| cells[usize::from(*column)].clone()).collect();
            let counts = list.need.grouped || !values.contains(&Cell::Null);
            if counts && !list.seen.contains(&values) {
                new.push((i, values));
            }
        }
        if new.is_empty() || !passes(&self.rows, row)? {
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

    /// Whether a row that passes the rest passes what looks at contents, too.
    fn passes_all(&mut self, cells: &[Cell], row: &Row) -> Result<bool, SqlError> {
        let columns = self.lists.iter().filter(|list| list.need.contents).map(|list| list.need.columns[0]);
        let columns: Vec<ColumnIndex> = columns.collect();
        let contents: Vec<Cell> = columns.iter().map(|column| cells[usize::from(*column)].clone()).collect();
        if !self.passing.contains_key(&contents) {
            let (text, schema) = (&mut self.text, self.rows.plan().schema());
            for (column, content) in columns.iter().zip(&contents) {
                let list = List::of(schema, &[*column], &[Row::Cells(vec![content.clone()])])?;
                text.columns.lists.insert(vec![*column], list);
            }
            let condition = text.conditions()?.1;
            let rows = condition.map(|condition| counted(schema, condition)).transpose()?;
            if self.passing.len() > MAX_COUNTED {
                self.passing.clear();
            }
            self.passing.insert(contents.clone(), rows);
        }
        match self.passing.get(&contents) {
            Some(Some(rows)) => passes(rows, row),
            _ => Ok(true),
        }
    }

    fn too_many(&self, list: usize) -> SqlError {
        let Found { need, rows, .. } = &self.lists[list];
        let names: Vec<&str> = need.columns.iter().map(|column| self.text.columns.at(*column).name.as_str()).collect();
        SqlError::Groups { columns: names.join(", "), found: rows.len(), most: need.most() }
    }

    /// The values, in the order of their first rows, for each of the lists of columns that [`Query::grouped_by`](crate::aggregate::Query::grouped_by) names.
    ///
    /// # Errors
    /// When there are more than a query can have.
    pub fn groups(self) -> Result<Vec<Vec<Row>>, SqlError> {
        if let Some(list) = self.lists.iter().position(|list| list.rows.len() > list.need.most()) {
            return Err(self.too_many(list));
        }
        Ok(self.lists.into_iter().map(|list| list.rows).collect())
    }
}

/// An application that counts rows.
fn counted(schema: &Schema, filter: Filter) -> Result<Aggregate, SqlError> {
    let count = Accumulator::Count { known: vec![], at_least: None };
    Ok(Aggregate::new(Plan::new(schema.clone(), filter, vec![count])?))
}

/// Whether an application counts a row.
fn passes(rows: &Aggregate, row: &Row) -> Result<bool, SqlError> {
    let failed = |e| SqlError::Group { group: 0, source: e };
    let schema = rows.plan().schema();
    let value = schema.value(row).map_err(failed)?;
    let opening = if rows.opening_len() == 0 { vec![] } else { schema.elements(row).map_err(failed)? };
    // A row of the schema is mapped.
    let output = rows.map(&Leaf { index: 0, value, opening: &opening });
    Ok(output.is_ok_and(|output| output != rows.identity()))
}
