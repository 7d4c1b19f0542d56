//! docs/sql.md: every query on the page has the stated answer, or is refused with the stated sentence.

use evergrove_apps::aggregate::{Answer, Listing, Query, SqlError};
use evergrove_commit::schema::Cell;

use super::table::Table;

/// The page's table.
fn orders() -> Table {
    let rows: [&[&str]; 6] = [
        &["paid", "de", "12.50", "3"],
        &["paid", "fr", "8.00", ""],
        &["open", "de", "1.25", "2"],
        &["open", "de", "30.00", "1"],
        &["", "fr", "1.50", "9"],
        &["lost", "", "4.00", "0"],
    ];
    Table::new(&["status:bytes?", "country:bytes?", "price:fixed:2", "quantity:unsigned?"], &rows)
}

fn line(answer: &Answer) -> String {
    let values = |values: &[(String, evergrove_apps::aggregate::Value)]| {
        values.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(", ")
    };
    if answer.groups.is_empty() {
        return values(&answer.values);
    }
    let groups = answer.groups.iter().map(|group| {
        let key = group.key.iter().map(|(column, cell)| match cell {
            Cell::Null => "NULL".into(),
            cell => String::from_utf8(column.format(cell)).unwrap(),
        });
        format!("{}: {}", key.collect::<Vec<String>>().join(" "), values(&group.values))
    });
    let mut groups: Vec<String> = groups.collect();
    groups.sort();
    groups.join("; ")
}

/// The queries and their results in the tables of a section of the page.
fn rows(section: &str) -> Vec<(String, String)> {
    let page = include_str!("../../../../../docs/sql.md");
    let section = page.split("\n## ").find(|part| part.starts_with(section)).unwrap();
    let rows = section.lines().filter_map(|row| {
        let (sql, rest) = row.strip_prefix("| `")?.split_once("` | ")?;
        Some((sql.into(), rest.trim_end_matches(" |").into()))
    });
    rows.collect()
}

#[test]
fn what_the_page_says_is_proven_is_answered() {
    let table = orders();
    let rows = rows("What is proven");
    assert!(rows.len() > 40);
    let found: Vec<String> = rows.iter().map(|(sql, _)| line(&table.answer(sql))).collect();
    let wrong = rows.iter().zip(&found).filter(|((_, expected), found)| expected.trim_matches('`') != found.as_str());
    let wrong: Vec<String> = wrong.map(|((sql, _), found)| format!("| `{sql}` | `{found}` |")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_page_says_lists_rows_does() {
    let (table, rows) = (orders(), rows("Rows"));
    assert_eq!(rows.len(), 3);
    for (sql, _) in rows {
        assert!(Listing::parse(&table.schema, &sql).unwrap().is_some(), "{sql}");
    }
}

#[test]
fn what_the_page_says_is_refused_is_refused_with_its_sentence() {
    let table = orders();
    let rows = rows("What is refused");
    assert!(rows.len() > 30);
    let refused = |sql: &str| match Query::parse(&table.schema, sql) {
        Err(SqlError::Grouped) => Query::with_groups(&table.schema, sql, &table.groups(sql)).unwrap_err(),
        parsed => parsed.expect_err(sql),
    };
    let found = rows.iter().map(|(sql, _)| refused(sql)).map(|e| format!("{e}: {}", e.remedy()));
    let found: Vec<String> = found.collect();
    let wrong = rows.iter().zip(&found).filter(|((_, expected), found)| expected != *found);
    let wrong: Vec<String> = wrong.map(|((sql, _), found)| format!("| `{sql}` | {found} |")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
