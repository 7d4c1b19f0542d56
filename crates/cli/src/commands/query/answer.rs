//! Answers as tables.

use anyhow::Result;
use evergrove::Groups;
use evergrove::apps::aggregate::{Answer, Listing};
use evergrove::commit::schema::{Cell, Column, Row};
use serde_json::{Map, Value as Json};

use crate::report::{Report, plain, text};

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

/// Columns and rows; `None` is null.
pub(super) struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<Option<Field>>>,
}

/// A cell: as text, and as JSON where that says more.
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
    /// One row, or one a group.
    pub(super) fn of_answer(answer: &Answer) -> Self {
        let value = |value: &evergrove::apps::aggregate::Value| match value {
            evergrove::apps::aggregate::Value::Null => None,
            value => Some(Field::of(value.to_string())),
        };
        let values = |values: &[(String, evergrove::apps::aggregate::Value)]| {
            values.iter().map(|(_, found)| value(found)).collect::<Vec<_>>()
        };
        if !answer.values.is_empty() {
            let header = answer.values.iter().map(|(name, _)| name.clone()).collect();
            return Self { header, rows: vec![values(&answer.values)] };
        }
        let Some(first) = answer.groups.first() else { return Self { header: vec![], rows: vec![] } };
        let names = first.values.iter().map(|(name, _)| name.clone());
        let header = first.key.iter().map(|(column, _)| column.name.clone()).chain(names).collect();
        let rows = answer.groups.iter().map(|group| {
            let key = group.key.iter().map(|(column, cell)| field(column, cell));
            key.chain(values(&group.values)).collect()
        });
        Self { header, rows: rows.collect() }
    }

    /// The rows that a query lists, with their positions where `positions` says so.
    pub(super) fn of_rows(listing: &Listing, rows: &[(u64, Row)]) -> Self {
        let header = listing.columns().map(|column| column.name.clone()).collect();
        let row =
            |(_, row): &(u64, Row)| listing.columns().zip(listing.cells(row)).map(|(c, cell)| field(c, cell)).collect();
        Self { header, rows: rows.iter().map(row).collect() }
    }

    /// The answer within a report, as a table.
    pub(super) fn add_to(&self, report: &mut Report) {
        report.hidden("columns", self.header.clone());
        report.hidden("rows", self.objects().collect::<Vec<_>>());
        report.note(self.table().trim_end());
    }

    /// The answer alone, on stdout.
    pub(super) fn print(&self, form: Form) -> Result<()> {
        let shown = match form {
            Form::Table => self.table(),
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

    fn table(&self) -> String {
        let shown = |field: &Option<Field>| field.as_ref().map_or("NULL".into(), |f| plain(&f.text).into_owned());
        let mut lines: Vec<Vec<String>> = vec![self.header.iter().map(|name| plain(name).into_owned()).collect()];
        lines.extend(self.rows.iter().map(|row| row.iter().map(shown).collect()));
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut out = String::new();
        for line in &lines {
            let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            out.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
            out.push('\n');
        }
        out
    }
}

fn field(column: &Column, cell: &Cell) -> Option<Field> {
    let json = Groups::json(column, cell);
    match (cell, &json) {
        (Cell::Null, _) => None,
        (_, Json::String(text)) => Some(Field { text: text.clone(), json }),
        (_, other) => Some(Field { text: other.to_string(), json }),
    }
}

/// A cell of a csv file. What holds nothing is null, and so a text that is empty has quotes.
fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
