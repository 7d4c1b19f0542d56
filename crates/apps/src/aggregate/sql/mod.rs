//! Queries as text: `SELECT aggregate, .. FROM table [WHERE condition] [GROUP BY column, ..]`.
//!
//! | aggregate | result |
//! |---|---|
//! | `COUNT(*)`, `COUNT(c)` | rows; rows in which c is not null |
//! | `COUNT(DISTINCT c, ..)` | different values |
//! | `SUM(c)`, `SUM(a * b)` | sum, of products |
//! | `MIN(c)`, `MAX(c)` | least and greatest number |
//! | `AVG(c)` | average |
//! | `WAVG(c, w)` | average of c weighted by w |
//! | `VAR_POP(c)`, `VAR_SAMP(c)`, `VARIANCE(c)` | variance of the population, of the sample, of the sample |
//! | `STDDEV_POP(c)`, `STDDEV_SAMP(c)`, `STDDEV(c)` | their square roots |
//! | `HISTOGRAM(c, e, ..)` | rows with c below e, from e to the next edge, .., from the last edge on |
//!
//! Keys of groups are columns, `EXTRACT(YEAR FROM d)`, also with `EXTRACT(MONTH FROM d)`, and `date_trunc('month', d)`.
//! `SUM` and `AVG` also take polynomials of degree two. Arithmetic combines all of these aggregates and constants. Each
//! aggregate may have `FILTER (WHERE condition)`, and `SUM`, `COUNT`, `AVG`, `MIN` and `MAX` take `CASE WHEN condition
//! THEN c END`.
//!
//! `sqlparser` parses the text, with bounded recursion. Everything in the text that this module does not read is an
//! error: no clause is ignored.

mod arithmetic;
mod columns;
mod condition;
mod dates;
mod error;
mod keys;
mod listing;
mod lists;
mod literal;
mod select;

pub(super) use columns::offset;
pub use error::SqlError;
pub use listing::{Finder, Listed, Listing, ListingError, MAX_LISTED};
pub use lists::Grouping;

use std::collections::BTreeMap;

use evergrove_commit::schema::{Column, Row, RowError, Schema};
use sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query as Ast, Select, SelectItem, SetExpr, Statement, TableFactor,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use self::columns::Columns;
use self::keys::Key;
use self::lists::{List, Need, Needs};
use self::select::Selection;
use super::answer::Query;
use super::query::{Accumulator, Filter, QueryError};
use super::{Aggregate, Plan};
use crate::MapReduce;

/// The greatest number of tokens of a query. It bounds the depth of the parsed expressions.
pub const MAX_TOKENS: usize = 1 << 11;

const ONE_SELECT: &str = "write one SELECT of aggregates FROM one table, with WHERE if need be";
const ALL: &str = "leave it out: an answer is one row, or all groups";
const GROUPS: &str = "group by columns, EXTRACT(YEAR FROM column) or date_trunc('month', column), each once";

impl Query {
    /// Parses a query about a table with this schema.
    ///
    /// # Errors
    /// If the text is not SQL, cannot be proven, or does not fit the schema.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, SqlError> {
        let text = Text::read(schema, text)?;
        if text.needs()?.is_empty() { text.query() } else { Err(SqlError::Grouped) }
    }

    /// The lists of columns whose different values a query needs: first the list of `GROUP BY`, then those of `LIKE`
    /// and of `DISTINCT`. Most queries need no such list.
    ///
    /// # Errors
    /// If the text is not SQL, or does not fit the schema.
    pub fn grouped_by(schema: &Schema, text: &str) -> Result<Vec<Vec<Column>>, SqlError> {
        let text = Text::read(schema, text)?;
        let columns = |need: Need| need.columns.iter().map(|key| key.description(&text.columns)).collect();
        Ok(text.needs()?.into_iter().map(columns).collect())
    }

    /// Like [`Self::parse`], for a query with `GROUP BY`, `DISTINCT` or `LIKE`. For each list of columns that
    /// [`Self::grouped_by`] names, `groups` has the different values, each once, as rows of these columns alone;
    /// [`Grouping`] finds them. The values need not be trusted: the query is only answered if no row that passes the
    /// condition has other values.
    ///
    /// # Errors
    /// The errors of [`Self::parse`]; also if the cells of a group do not fit the columns, or a group is given twice.
    pub fn with_groups(schema: &Schema, text: &str, groups: &[Vec<Row>]) -> Result<Self, SqlError> {
        let mut text = Text::read(schema, text)?;
        let needs = text.needs()?;
        if needs.is_empty() && !groups.is_empty() {
            return Err(SqlError::NotGrouped);
        }
        if needs.len() != groups.len() {
            return Err(SqlError::Lists { expected: needs.len(), found: groups.len() });
        }
        for (need, rows) in needs.into_iter().zip(groups) {
            // Checked before the rows are processed, because they are not trusted.
            if rows.len() > need.most() {
                return Err(need.too_many(&text.columns, rows.len()));
            }
            let list = List::of(&text.columns, &need.columns, rows)?;
            let mut sorted = need.columns.clone();
            sorted.sort_unstable();
            if sorted != need.columns {
                // `DISTINCT` looks its lists up in the order of the columns.
                text.columns.lists.insert(sorted, list.clone());
            }
            text.columns.lists.insert(need.columns, list);
        }
        text.query()
    }
}

/// A parsed text, before its conditions and aggregates are read.
struct Text<'a> {
    select: Select,
    columns: Columns<'a>,
    /// The keys of `GROUP BY`.
    by: Vec<Key>,
    /// The expressions of `SELECT`, and their names.
    projection: Vec<(Expr, String)>,
}

impl<'a> Text<'a> {
    fn read(schema: &'a Schema, text: &str) -> Result<Self, SqlError> {
        if schema.is_raw() {
            return Err(QueryError::Raw.into());
        }
        let select = parse(text)?;
        let columns = columns_of(schema, &select)?;
        let by = group_columns(&columns, &select)?;
        let mut projection = Vec::with_capacity(select.projection.len());
        for item in &select.projection {
            projection.push(match item {
                SelectItem::UnnamedExpr(e) => (e.clone(), e.to_string()),
                SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.value.clone()),
                other => return Err(SqlError::unsupported(format!("SELECT {other}"), select::ROWS)),
            });
        }
        Ok(Self { select, columns, by, projection })
    }

    /// The columns whose values must be given.
    fn needs(&self) -> Result<Vec<Need>, SqlError> {
        self.conditions()?;
        self.selection(None)?;
        Ok(Need::all(&self.by, &self.columns.needs.borrow()))
    }

    /// `WHERE`: the parts that do not read contents, and those that do.
    fn conditions(&self) -> Result<(Filter, Option<Filter>), SqlError> {
        let Some(e) = &self.select.selection else { return Ok((Filter::all(), None)) };
        let asked = || self.columns.needs.borrow().asked;
        let before = asked();
        let all = condition::filter(&self.columns, e)?;
        if asked() == before {
            return Ok((all, None));
        }
        let (mut plain, mut listed) = (vec![], vec![]);
        for part in conjuncts(e) {
            let before = asked();
            let filter = condition::filter(&self.columns, part)?;
            if asked() == before { plain.push(filter) } else { listed.push(filter) }
        }
        let joined = |parts: Vec<Filter>| parts.into_iter().reduce(Filter::and);
        Ok((joined(plain).unwrap_or_else(Filter::all), joined(listed)))
    }

    /// The selected aggregates of rows that pass `condition` in addition to the filter.
    fn selection(&self, condition: Option<Filter>) -> Result<Selection<'_>, SqlError> {
        let mut selection = Selection::new(&self.columns, condition);
        if self.by.is_empty() {
            self.projection.iter().try_for_each(|(e, name)| selection.add(e, name.clone()))?;
        } else {
            selection.grouped(&self.by, &self.projection)?;
        }
        Ok(selection)
    }

    fn query(self) -> Result<Query, SqlError> {
        let (filter, condition) = self.conditions()?;
        let mut selection = self.selection(condition)?;
        let contents = self.columns.needs.borrow().contents.clone();
        contents.into_iter().for_each(|column| selection.no_other_contents(column));
        Ok(selection.finish(filter)?)
    }
}

/// The columns of a query's table, with the ranges to which its `WHERE` bounds dates.
fn columns_of<'a>(schema: &'a Schema, select: &Select) -> Result<Columns<'a>, SqlError> {
    let (lists, needs) = (BTreeMap::new(), Needs::default().into());
    let mut columns = Columns { schema, tables: tables(select)?, spans: vec![], lists, needs };
    columns.spans = select.selection.as_ref().map(|e| condition::spans(&columns, e)).unwrap_or_default();
    Ok(columns)
}

/// The operands of a condition's top-level `AND`.
fn conjuncts(e: &Expr) -> Vec<&Expr> {
    let (mut parts, mut rest) = (vec![], vec![e]);
    while let Some(e) = rest.pop() {
        match e {
            Expr::Nested(inner) => rest.push(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => rest.extend([&**right, &**left]),
            part => parts.push(part),
        }
    }
    parts
}

/// The expressions of `GROUP BY`.
fn group_by(select: &Select) -> &[Expr] {
    match &select.group_by {
        GroupByExpr::Expressions(by, _) => by,
        GroupByExpr::All(_) => &[],
    }
}

/// The keys of `GROUP BY`.
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

/// Evaluates a condition on rows.
struct Passing(Aggregate);

impl Passing {
    fn new(schema: &Schema, filter: &Filter) -> Result<Self, QueryError> {
        let count = Accumulator::Count { known: vec![], at_least: None };
        Ok(Self(Aggregate::new(Plan::new(schema.clone(), filter.clone(), vec![count])?)))
    }

    fn schema(&self) -> &Schema {
        self.0.plan().schema()
    }

    /// True if the condition is true for this row.
    fn passes(&self, row: &Row) -> Result<bool, RowError> {
        Ok(self.0.map_row(row)? != self.0.identity())
    }
}

/// The one `SELECT` of a query for aggregates. Refuses clauses that would not be read.
fn parse(text: &str) -> Result<Select, SqlError> {
    let query = one_select(text)?;
    if query.order_by.is_some() {
        return Err(SqlError::unsupported("ORDER BY", ALL));
    }
    if query.limit_clause.is_some() {
        return Err(SqlError::unsupported("LIMIT", ALL));
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
        return Err(SqlError::unsupported("a statement other than SELECT", ONE_SELECT));
    };
    Ok(query)
}

/// The `SELECT` of a query. Further clauses are refused unless they print as `read`, which the caller reads.
fn select_of(query: &Ast, read: &str) -> Result<Select, SqlError> {
    if query.with.is_some() {
        return Err(SqlError::unsupported("WITH", select::SUBQUERY));
    }
    let select = match &*query.body {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { op, .. } => return Err(SqlError::unsupported(op, "ask each SELECT on its own")),
        _ => return Err(SqlError::unsupported("a statement other than SELECT", ONE_SELECT)),
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
        return Err(SqlError::unsupported("HAVING", ALL));
    }
    if select.distinct.is_some() {
        return Err(SqlError::unsupported(
            "SELECT DISTINCT",
            "write COUNT(DISTINCT column), or COUNT(*) with GROUP BY column",
        ));
    }
    // If the query prints with more than these parts, it has a clause that is not read.
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

/// The name and the alias of the one table.
fn tables(select: &Select) -> Result<Vec<String>, SqlError> {
    let unsupported = |what: &dyn ToString| SqlError::unsupported(what.to_string(), "name one table after FROM");
    let [table] = select.from.as_slice() else { return Err(unsupported(&"a SELECT from no table, or from several")) };
    if let Some(join) = table.joins.first() {
        let join = join.to_string();
        return Err(SqlError::unsupported(
            join.trim(),
            "join the tables before they are committed, and ask about the one table",
        ));
    }
    if let TableFactor::Derived { .. } = &table.relation {
        return Err(SqlError::unsupported(format!("the subquery {table} after FROM"), select::SUBQUERY));
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
