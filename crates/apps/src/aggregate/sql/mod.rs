//! Queries as text: `SELECT aggregate, .. FROM table [WHERE condition]`.
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
//! Any of them with `FILTER (WHERE condition)`, and `SUM`, `COUNT`, `AVG`, `MIN` or `MAX` of `CASE WHEN condition THEN c END`.
//!
//! Parsing is `sqlparser`'s, recursion bounded. Whatever is in the text and not read here is an error: no clause is ignored.

mod columns;
mod condition;
mod error;
mod literal;
mod select;

pub(super) use columns::offset;
pub use error::SqlError;

use evergrove_commit::schema::Schema;
use sqlparser::ast::{GroupByExpr, Query as Ast, Select, SelectItem, SetExpr, Statement, TableFactor};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use self::columns::Columns;
use self::select::Selection;
use super::answer::Query;
use super::query::{Filter, QueryError};

/// The greatest number of tokens of a query: it bounds the depth of what is parsed.
pub const MAX_TOKENS: usize = 1 << 11;

const ONE_SELECT: &str = "write one SELECT of aggregates FROM one table, with WHERE if need be";
const NO_GROUPS: &str =
    "ask for each group by name, like COUNT(*) FILTER (WHERE status = 'paid'), or use HISTOGRAM(column, edge, ..)";

impl Query {
    /// The query that `text` is, about a table of this schema.
    ///
    /// # Errors
    /// When the text is not SQL, says what can not be proven, or does not fit the schema.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, SqlError> {
        if schema.is_raw() {
            return Err(QueryError::Raw.into());
        }
        let select = parse(text)?;
        let columns = Columns { schema, tables: tables(&select)? };
        let filter = select.selection.as_ref().map(|e| condition::filter(&columns, e)).transpose()?;
        let mut selection = Selection::new(&columns);
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(e) => selection.add(e, e.to_string())?,
                SelectItem::ExprWithAlias { expr, alias } => selection.add(expr, alias.value.clone())?,
                other => return Err(SqlError::unsupported(other, select::AGGREGATES)),
            }
        }
        Ok(selection.finish(filter.unwrap_or_else(Filter::all))?)
    }
}

/// The one `SELECT` of a text, without clauses that would go unread.
fn parse(text: &str) -> Result<Select, SqlError> {
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
    let select = match *query {
        Ast { with: Some(_), .. } => return Err(SqlError::unsupported("WITH", ONE_SELECT)),
        Ast { order_by: Some(_), .. } => {
            return Err(SqlError::unsupported("ORDER BY", "leave it out: there is one row"));
        }
        Ast { limit_clause: Some(_), .. } | Ast { fetch: Some(_), .. } => {
            return Err(SqlError::unsupported("LIMIT", "leave it out: there is one row"));
        }
        Ast { ref body, .. } => match &**body {
            SetExpr::Select(select) if query.to_string() == select.to_string() => (**select).clone(),
            SetExpr::Select(_) => return Err(SqlError::unsupported("a clause after the SELECT", ONE_SELECT)),
            _ => return Err(SqlError::unsupported("a query of more than one SELECT", ONE_SELECT)),
        },
    };
    only_known_clauses(&select)?;
    Ok(select)
}

fn only_known_clauses(select: &Select) -> Result<(), SqlError> {
    let none_grouped = matches!(&select.group_by, GroupByExpr::Expressions(e, m) if e.is_empty() && m.is_empty());
    if !none_grouped {
        return Err(SqlError::unsupported("GROUP BY", NO_GROUPS));
    }
    if select.having.is_some() {
        return Err(SqlError::unsupported("HAVING", NO_GROUPS));
    }
    if select.distinct.is_some() {
        return Err(SqlError::unsupported("DISTINCT", "leave it out: there is one row"));
    }
    // What is printed beyond these parts is a clause that nothing here reads.
    let list = |items: Vec<String>| items.join(", ");
    let projection = list(select.projection.iter().map(ToString::to_string).collect());
    let from = list(select.from.iter().map(ToString::to_string).collect());
    let condition = select.selection.as_ref().map(|e| format!(" WHERE {e}")).unwrap_or_default();
    if select.to_string() == format!("SELECT {projection} FROM {from}{condition}") {
        Ok(())
    } else {
        Err(SqlError::unsupported("a clause beside SELECT, FROM and WHERE", ONE_SELECT))
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
