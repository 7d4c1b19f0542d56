//! Queries as text: `SELECT aggregate, .. FROM table [WHERE condition] [GROUP BY column, ..]`.
//!
//! | aggregate | result |
//! |---|---|
//! | `COUNT(*)`, `COUNT(c)` | rows; rows in which c is not null |
//! | `SUM(c)`, `SUM(a * b)` | sum, of products |
//! | `MIN(c)`, `MAX(c)` | least and greatest number |
//! | `AVG(c)` | average |
//! | `WAVG(c, w)` | average of c weighted by w |
//! | `VAR_POP(c)`, `VAR_SAMP(c)`, `VARIANCE(c)` | variance of the population, of the sample, of the sample |
//! | `STDDEV_POP(c)`, `STDDEV_SAMP(c)`, `STDDEV(c)` | their square roots |
//! | `HISTOGRAM(c, e, ..)` | rows with c below e, from e to the next edge, .., from the last edge on |
//!
//! Groups are of columns, of `EXTRACT(YEAR FROM d)`, also with `EXTRACT(MONTH FROM d)`, and of `date_trunc('month', d)`.
//! Any of them with `FILTER (WHERE condition)`, and `SUM`, `COUNT`, `AVG`, `MIN` or `MAX` of `CASE WHEN condition THEN c END`.
//!
//! Parsing is `sqlparser`'s, recursion bounded. Whatever is in the text and not read here is an error: no clause is ignored.

mod columns;
mod condition;
mod dates;
mod error;
mod keys;
mod listing;
mod literal;
mod select;

pub(super) use columns::offset;
pub use error::SqlError;
pub use listing::{Finder, Listed, Listing, ListingError, MAX_LISTED};

use std::collections::{BTreeMap, HashSet};

use evergrove_commit::schema::{Cell, Column, Row, RowError, Schema};
use sqlparser::ast::{Expr, GroupByExpr, Query as Ast, Select, SelectItem, SetExpr, Statement, TableFactor};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use self::columns::Columns;
use self::keys::Key;
use self::select::Selection;
use super::answer::Query;
use super::query::{Accumulator, Filter, MAX_ACCUMULATORS, QueryError, Test};
use super::{Aggregate, Plan};
use crate::MapReduce;

/// The greatest number of tokens of a query: it bounds the depth of what is parsed.
pub const MAX_TOKENS: usize = 1 << 11;

const ONE_SELECT: &str = "write one SELECT of aggregates FROM one table, with WHERE if need be";
const GROUPS: &str = "group by columns, EXTRACT(YEAR FROM column) or date_trunc('month', column), each once";

impl Query {
    /// The query that `text` is, about a table of this schema.
    ///
    /// # Errors
    /// When the text is not SQL, says what can not be proven, or does not fit the schema.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, SqlError> {
        let text = Text::read(schema, text)?;
        if text.by.is_empty() { text.query(&[]) } else { Err(SqlError::Grouped) }
    }

    /// The columns that a query groups by, none of most queries. Their distinct rows are what [`Self::with_groups`] needs.
    ///
    /// # Errors
    /// When the text is not SQL, or does not fit the schema.
    pub fn grouped_by(schema: &Schema, text: &str) -> Result<Vec<Column>, SqlError> {
        Ok(Text::read(schema, text)?.group_columns())
    }

    /// As [`Self::parse`], for a query that groups by columns. Its groups are rows of these columns alone, each once: the answer is only given where every row
    /// that passes the condition is in one of them, so that they may come from anyone.
    ///
    /// # Errors
    /// Those of [`Self::parse`]; when the cells of a group do not fit the columns, or a group comes twice.
    pub fn with_groups(schema: &Schema, text: &str, groups: &[Row]) -> Result<Self, SqlError> {
        Text::read(schema, text)?.query(groups)
    }
}

/// A text that was read, but for its aggregates.
struct Text<'a> {
    select: Select,
    columns: Columns<'a>,
    filter: Filter,
    /// What stands after `GROUP BY`.
    by: Vec<Key>,
}

impl<'a> Text<'a> {
    fn read(schema: &'a Schema, text: &str) -> Result<Self, SqlError> {
        if schema.is_raw() {
            return Err(QueryError::Raw.into());
        }
        let select = parse(text)?;
        let mut columns = Columns { schema, tables: tables(&select)?, spans: vec![] };
        let filter = select.selection.as_ref().map(|e| condition::filter(&columns, e)).transpose()?;
        columns.spans = select.selection.as_ref().map(|e| condition::spans(&columns, e)).unwrap_or_default();
        let by = group_columns(&columns, &select)?;
        Ok(Self { select, columns, filter: filter.unwrap_or_else(Filter::all), by })
    }

    fn group_columns(&self) -> Vec<Column> {
        self.by.iter().map(|key| key.description(&self.columns)).collect()
    }

    fn query(self, groups: &[Row]) -> Result<Query, SqlError> {
        let mut projection = Vec::with_capacity(self.select.projection.len());
        for item in &self.select.projection {
            projection.push(match item {
                SelectItem::UnnamedExpr(e) => (e.clone(), e.to_string()),
                SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.value.clone()),
                other => return Err(SqlError::unsupported(other, select::AGGREGATES)),
            });
        }
        let mut selection = Selection::new(&self.columns);
        if self.by.is_empty() {
            if !groups.is_empty() {
                return Err(SqlError::NotGrouped);
            }
            projection.into_iter().try_for_each(|(e, name)| selection.add(&e, name))?;
        } else {
            let groups = self.filters(groups)?;
            selection.grouped(&self.by, &groups, &projection)?;
        }
        Ok(selection.finish(self.filter)?)
    }

    /// The cells and the conditions of groups, in the order of what their cells encode to.
    fn filters(&self, groups: &[Row]) -> Result<Vec<(Vec<Cell>, Filter)>, SqlError> {
        let schema = Schema::new(self.group_columns())?;
        let mut found = BTreeMap::new();
        for (i, group) in groups.iter().enumerate() {
            let elements = schema.elements(group).map_err(|e| SqlError::Group { group: i, source: e })?;
            let Row::Cells(cells) = group else { return Err(SqlError::GroupTwice(i)) };
            let mut rest = elements.as_slice();
            let (mut tests, mut key) = (Vec::with_capacity(cells.len()), Vec::with_capacity(cells.len()));
            for ((by, cell), described) in self.by.iter().zip(cells).zip(schema.columns()) {
                let column = by.column;
                let (encoded, behind) = rest.split_at(described.kind.elements());
                rest = behind;
                tests.extend(match (cell, encoded) {
                    _ if !by.is_value() => self.dates(by, cells).ok_or(SqlError::GroupDates(i))?,
                    (Cell::Null, _) => Some(Test::Null { column }),
                    (_, &[a, b, c, d]) => Some(Test::Content { column, digest: [a, b, c, d].map(|x| x.as_u64()) }),
                    (_, encoded) => Some(Test::Within { column, low: encoded[0].as_u64(), high: encoded[0].as_u64() }),
                });
                // Nulls come first, so that the form of the conditions does not depend on contents.
                key.push((*cell != Cell::Null, encoded.iter().map(|x| x.as_u64()).collect::<Vec<_>>()));
            }
            if found.insert(key, (cells.clone(), Filter::all_of(tests))).is_some() {
                return Err(SqlError::GroupTwice(i));
            }
        }
        Ok(found.into_values().collect())
    }

    /// The test of a column's dates in a group, with the first part of them that the query groups by; no test with the others.
    fn dates(&self, by: &Key, cells: &[Cell]) -> Option<Option<Test>> {
        let parts = self.by.iter().zip(cells).filter(|(key, _)| key.column == by.column && !key.is_value());
        let parts: Vec<(&Key, &Cell)> = parts.collect();
        if parts.first().is_some_and(|(first, _)| *first == by) {
            keys::test(&self.columns, by.column, &parts).map(Some)
        } else {
            Some(None)
        }
    }
}

/// What stands after `GROUP BY`.
fn group_by(select: &Select) -> &[Expr] {
    match &select.group_by {
        GroupByExpr::Expressions(by, _) => by,
        GroupByExpr::All(_) => &[],
    }
}

/// The keys after `GROUP BY`.
fn group_columns(columns: &Columns<'_>, select: &Select) -> Result<Vec<Key>, SqlError> {
    let by = group_by(select);
    let mut found = Vec::with_capacity(by.len());
    for e in by {
        let key = Key::of(columns, e)?.ok_or_else(|| SqlError::unsupported(format!("GROUP BY {e}"), GROUPS))?;
        if found.contains(&key) {
            return Err(SqlError::unsupported(format!("GROUP BY {e} twice"), GROUPS));
        }
        found.push(key);
    }
    keys::check(columns, &found)?;
    Ok(found)
}

/// Finds the groups of a query in the rows of a table.
pub struct Grouping {
    rows: Passing,
    columns: Vec<Column>,
    by: Vec<Key>,
    seen: HashSet<Vec<Cell>>,
    found: Vec<Row>,
}

impl Grouping {
    /// Of a query with `GROUP BY`.
    ///
    /// # Errors
    /// When the text is not SQL, or does not fit the schema.
    pub fn new(schema: &Schema, text: &str) -> Result<Self, SqlError> {
        let text = Text::read(schema, text)?;
        let (columns, by) = (text.group_columns(), text.by);
        let rows = Passing::new(schema, &text.filter)?;
        Ok(Self { rows, columns, by, seen: HashSet::new(), found: Vec::new() })
    }

    /// Looks at a row. Rows that do not pass the condition are in no group.
    ///
    /// # Errors
    /// When there are more groups than a query can have; when the row is none of the schema.
    pub fn add(&mut self, row: &Row) -> Result<(), SqlError> {
        let Row::Cells(cells) = row else { return Ok(()) };
        let columns = self.rows.schema().columns();
        let own = |key: &Key| key.cell(columns[usize::from(key.column)].kind, &cells[usize::from(key.column)]);
        let group: Vec<Cell> = self.by.iter().map(own).collect();
        let failed = |source| SqlError::Group { group: self.found.len(), source };
        if self.seen.contains(&group) || !self.rows.passes(row).map_err(failed)? {
            return Ok(());
        }
        self.found.push(Row::Cells(group.clone()));
        self.seen.insert(group);
        // One count is of all rows.
        if self.found.len() < MAX_ACCUMULATORS {
            return Ok(());
        }
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        Err(SqlError::Groups { columns: names.join(", ") })
    }

    /// The groups, in the order of their first rows: see [`Query::with_groups`].
    pub fn groups(self) -> Vec<Row> {
        self.found
    }
}

/// A condition, evaluated on rows.
struct Passing(Aggregate);

impl Passing {
    fn new(schema: &Schema, filter: &Filter) -> Result<Self, QueryError> {
        let count = Accumulator::Count { known: vec![], at_least: None };
        Ok(Self(Aggregate::new(Plan::new(schema.clone(), filter.clone(), vec![count])?)))
    }

    fn schema(&self) -> &Schema {
        self.0.plan().schema()
    }

    /// The condition is true of this row.
    fn passes(&self, row: &Row) -> Result<bool, RowError> {
        Ok(self.0.map_row(row)? != self.0.identity())
    }
}

/// The one `SELECT` of a query for aggregates, without clauses that would go unread.
fn parse(text: &str) -> Result<Select, SqlError> {
    let query = one_select(text)?;
    if query.order_by.is_some() {
        return Err(SqlError::unsupported("ORDER BY", "leave it out: it is for queries that list rows"));
    }
    if query.limit_clause.is_some() {
        return Err(SqlError::unsupported("LIMIT", "leave it out: it is for queries that list rows"));
    }
    select_of(&query, "")
}

/// The one query of a text.
fn one_select(text: &str) -> Result<Box<Ast>, SqlError> {
    let dialect = GenericDialect {};
    let tokens =
        Tokenizer::new(&dialect, text).tokenize_with_location().map_err(|e| SqlError::Syntax(e.to_string()))?;
    let length = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).count();
    if length > MAX_TOKENS {
        return Err(SqlError::TooLong(length));
    }
    let statements = Parser::new(&dialect).with_tokens_with_locations(tokens).parse_statements();
    let statements = statements.map_err(|e| SqlError::Syntax(e.to_string()))?;
    let [Statement::Query(query)] = <[Statement; 1]>::try_from(statements)
        .map_err(|all| SqlError::unsupported(format!("a text of {} statements", all.len()), ONE_SELECT))?
    else {
        return Err(SqlError::unsupported("a statement that is no SELECT", ONE_SELECT));
    };
    Ok(query)
}

/// The `SELECT` of a query whose further clauses are `read` elsewhere, without others.
fn select_of(query: &Ast, read: &str) -> Result<Select, SqlError> {
    if query.with.is_some() {
        return Err(SqlError::unsupported("WITH", ONE_SELECT));
    }
    let SetExpr::Select(select) = &*query.body else {
        return Err(SqlError::unsupported("a query of more than one SELECT", ONE_SELECT));
    };
    if query.to_string() != format!("{select}{read}") {
        return Err(SqlError::unsupported("a clause after the SELECT", ONE_SELECT));
    }
    only_known_clauses(select)?;
    Ok((**select).clone())
}

fn only_known_clauses(select: &Select) -> Result<(), SqlError> {
    let by = match &select.group_by {
        GroupByExpr::Expressions(by, modifiers) if modifiers.is_empty() => by,
        other => return Err(SqlError::unsupported(other, GROUPS)),
    };
    if select.having.is_some() {
        return Err(SqlError::unsupported("HAVING", "leave it out: the answer has all groups"));
    }
    if select.distinct.is_some() {
        return Err(SqlError::unsupported("DISTINCT", "leave it out"));
    }
    // What is printed beyond these parts is a clause that nothing here reads.
    let list = |items: Vec<String>| items.join(", ");
    let projection = list(select.projection.iter().map(ToString::to_string).collect());
    let from = list(select.from.iter().map(ToString::to_string).collect());
    let condition = select.selection.as_ref().map(|e| format!(" WHERE {e}")).unwrap_or_default();
    let by = if by.is_empty() {
        String::new()
    } else {
        format!(" GROUP BY {}", list(by.iter().map(ToString::to_string).collect()))
    };
    if select.to_string() == format!("SELECT {projection} FROM {from}{condition}{by}") {
        Ok(())
    } else {
        Err(SqlError::unsupported("a clause beside SELECT, FROM, WHERE and GROUP BY", ONE_SELECT))
    }
}

/// The names of the one table.
fn tables(select: &Select) -> Result<Vec<String>, SqlError> {
    let unsupported = |what: &dyn ToString| SqlError::unsupported(what.to_string(), "name one table after FROM");
    let [table] = select.from.as_slice() else { return Err(unsupported(&"a SELECT from no table, or from several")) };
    if let Some(join) = table.joins.first() {
        return Err(unsupported(&join));
    }
    let TableFactor::Table { name, alias, .. } = &table.relation else { return Err(unsupported(&table)) };
    let names = name.0.last().and_then(|part| part.as_ident()).into_iter().chain(alias.iter().map(|a| &a.name));
    let names: Vec<String> = names.map(|n| n.value.clone()).collect();
    let plain = match alias {
        Some(alias) if alias.columns.is_empty() => {
            let text = table.to_string();
            text == format!("{name} AS {}", alias.name) || text == format!("{name} {}", alias.name)
        }
        Some(_) => false,
        None => table.to_string() == name.to_string(),
    };
    if plain { Ok(names) } else { Err(unsupported(&table)) }
}
