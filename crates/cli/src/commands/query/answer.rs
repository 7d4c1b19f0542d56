//! Answers as tables.

use anyhow::Result;
use evergrove::Groups;
use evergrove::apps::aggregate::{Answer, Listing};
use evergrove::commit::schema::{Cell, Column, Row};
use serde_json::{Map, Value as Json};

use crate::report::{Report, count, plain, text};

/// The form of an answer on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Columns for people
    Table,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object a line
    Jsonl,
}

/// An answer as columns and rows; `None` is null.
pub(super) struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<Option<Field>>>,
}

/// A cell as text, and as JSON for programs.
struct Field {
    text: String,
    json: Json,
}

impl Field {
    fn of(text: String) -> Self {
        Self { json: text.clone().into(), text }
    }
}

impl Grid {
    /// One row, or one row for each group.
    pub(super) fn of_answer(answer: &Answer) -> Self {
        let value = |value: &evergrove::apps::aggregate::Value| match value {
            evergrove::apps::aggregate::Value::Null => None,
            value => Some(Field::of(value.to_string())),
        };
        let values = |values: &[(String, evergrove::apps::aggregate::Value)]| {
            values.iter().map(|(_, found)| value(found)).collect::<Vec<_>>()
        };
        if !answer.values.is_empty() {
            let header = apart(answer.values.iter().map(|(name, _)| name.clone()));
            return Self { header, rows: vec![values(&answer.values)] };
        }
        let Some(first) = answer.groups.first() else { return Self { header: vec![], rows: vec![] } };
        let names = first.values.iter().map(|(name, _)| name.clone());
        let header = apart(first.key.iter().map(|(column, _)| column.name.clone()).chain(names));
        let rows = answer.groups.iter().map(|group| {
            let key = group.key.iter().map(|(column, cell)| field(column, cell));
            key.chain(values(&group.values)).collect()
        });
        Self { header, rows: rows.collect() }
    }

    /// The rows that a query lists.
    pub(super) fn of_rows(listing: &Listing, rows: &[(u64, Row)]) -> Self {
        let header = apart(listing.columns().map(|column| column.name.clone()));
        let row =
            |(_, row): &(u64, Row)| listing.columns().zip(listing.cells(row)).map(|(c, cell)| field(c, cell)).collect();
        Self { header, rows: rows.iter().map(row).collect() }
    }

    /// Adds the answer to a report, as an indented table. No cell can leave the table.
    pub(super) fn add_to(&self, report: &mut Report) {
        report.hidden("columns", self.header.clone());
        report.hidden("rows", self.objects().collect::<Vec<_>>());
        self.lines().for_each(|line| report.note(format!("  {line}")));
        report.note(format!("  ({})", count(self.rows.len(), "row")));
    }

    /// Prints the answer alone on stdout.
    pub(super) fn print(&self, form: Form) -> Result<()> {
        let shown: String = match form {
            Form::Table => self.lines().map(|line| line + "\n").collect(),
            Form::Csv => {
                let cell = |field: &Option<Field>| field.as_ref().map_or(String::new(), |f| quoted(&f.text));
                let header = self.header.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
                let rows = self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(","));
                std::iter::once(header).chain(rows).map(|line| line + "\n").collect()
            }
            Form::Jsonl => self.objects().map(|object| format!("{object}\n")).collect(),
        };
        text(&shown)
    }

    fn objects(&self) -> impl Iterator<Item = Json> + '_ {
        self.rows.iter().map(|row| {
            let cells = self.header.iter().cloned().zip(row);
            let cells = cells.map(|(name, field)| (name, field.as_ref().map_or(Json::Null, |f| f.json.clone())));
            Json::Object(cells.collect::<Map<_, _>>())
        })
    }

    /// The header and the rows as lines of aligned columns.
    fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let header = self.header.iter().map(|name| cut(name));
        let rows = self.rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>());
        let lines: Vec<Vec<String>> = std::iter::once(header.collect()).chain(rows).collect();
        let length = |cell: &String| cell.chars().count();
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| lines.iter().filter_map(|line| line.get(column)).map(length).max().unwrap_or(0))
            .collect();
        lines.into_iter().map(move |line| {
            let padded = line.iter().zip(&widths).map(|(cell, width)| {
                let padding = width.saturating_sub(length(cell));
                format!("{cell}{}", " ".repeat(padding))
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
    }
}

/// Greatest number of characters of a cell in a table. csv and jsonl have the whole cell.
const CELL_CHARS: usize = 120;

/// A cell for people: null without quotes, and a text in quotes if it could be read as something else.
fn shown(field: &Option<Field>) -> String {
    let Some(Field { text, .. }) = field else { return "NULL".into() };
    let unclear =
        text.is_empty() || text == "NULL" || text.contains("  ") || text.contains('\'') || text.trim() != text;
    let text = cut(text);
    if unclear { format!("'{}'", text.replace('\'', "''")) } else { text }
}

fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let mut start = plain(&chars.by_ref().take(CELL_CHARS).collect::<String>()).into_owned();
    if chars.next().is_some() {
        start.push_str("..");
    }
    start
}

/// Makes names unique: the second `n` becomes `n (2)`.
fn apart(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut apart: Vec<String> = Vec::new();
    for name in names {
        let mut own = name.clone();
        let mut number = 2;
        while apart.contains(&own) {
            own = format!("{name} ({number})");
            number += 1;
        }
        apart.push(own);
    }
    apart
}

fn field(column: &Column, cell: &Cell) -> Option<Field> {
    let json = Groups::json(column, cell);
    match (cell, &json) {
        (Cell::Null, _) => None,
        (_, Json::String(text)) => Some(Field { text: text.clone(), json }),
        (_, other) => Some(Field { text: other.to_string(), json }),
    }
}

/// A cell of a csv file. An empty cell is null, so an empty text has quotes.
fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
