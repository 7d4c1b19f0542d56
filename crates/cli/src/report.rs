//! Results on stdout, as text for people or as one JSON object.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::time::Duration;

use anyhow::{Context, Result};
use evergrove::proof::Commitment;
use serde_json::{Map, Value};

use crate::args::Output;

/// The result of a command: named values, in the order for people.
#[derive(Debug, Default)]
pub(crate) struct Report {
    items: Vec<Item>,
}

#[derive(Debug)]
enum Item {
    Field { key: &'static str, value: Value, text: Option<String> },
    Note(String),
}

impl Report {
    /// The report of an accepted proof about the table with this commitment.
    pub(crate) fn accepted(root: &Commitment) -> Self {
        let mut report = Self::default();
        report.add_as("accepted", true, "yes");
        report.add("commitment", root.to_string());
        report
    }

    /// Adds a value. People see it under its key, with spaces for underscores.
    pub(crate) fn add(&mut self, key: &'static str, value: impl Into<Value>) {
        let value = value.into();
        let text = match &value {
            Value::String(s) => s.clone(),
            Value::Null => "-".into(),
            other => other.to_string(),
        };
        self.items.push(Item::Field { key, value, text: Some(text) });
    }

    /// Adds a value that people see in another form.
    pub(crate) fn add_as(&mut self, key: &'static str, value: impl Into<Value>, text: impl Into<String>) {
        self.items.push(Item::Field { key, value: value.into(), text: Some(text.into()) });
    }

    /// Adds a duration in seconds.
    pub(crate) fn add_time(&mut self, key: &'static str, time: Duration) {
        let time = time.as_secs_f64();
        self.add_as(key, time, seconds(time));
    }

    /// Adds a value for programs only.
    pub(crate) fn hidden(&mut self, key: &'static str, value: impl Into<Value>) {
        self.items.push(Item::Field { key, value: value.into(), text: None });
    }

    /// Adds lines for people only.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.items.push(Item::Note(text.into()));
    }

    /// Prints the report.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub(crate) fn print(self, format: Output) -> Result<()> {
        match format {
            Output::Json => line(&self.object()),
            Output::Text => text(&self.text()),
        }
    }

    /// The values as a JSON object.
    pub(crate) fn object(self) -> Value {
        let fields = self.items.into_iter().filter_map(|i| match i {
            Item::Field { key, value, .. } => Some((key.to_owned(), value)),
            Item::Note(_) => None,
        });
        Value::Object(fields.collect::<Map<_, _>>())
    }

    /// The text for people.
    pub(crate) fn text(&self) -> String {
        let width = self.items.iter().filter_map(|i| match i {
            Item::Field { key, text: Some(_), .. } => Some(key.len()),
            _ => None,
        });
        let width = width.max().unwrap_or(0);
        let mut out = String::new();
        for item in &self.items {
            match item {
                Item::Field { key, text: Some(text), .. } => {
                    let text = plain(text);
                    out.push_str(&format!("{:<width$}  {text}\n", key.replace('_', " ")));
                }
                Item::Field { text: None, .. } => {}
                Item::Note(note) => out.push_str(&format!("{note}\n")),
            }
        }
        out
    }
}

/// Text that others may have chosen, such as the cause of a failure in the queue, made safe for a terminal: control
/// characters, line ends and changes of direction are shown as `\u{..}`.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(acts) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match acts(c) {
            true => shown.extend(c.escape_debug()),
            false => shown.push(c),
        }
    }
    shown.into()
}

/// Prints a JSON object in one line.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn line(value: &Value) -> Result<()> {
    text(&format!("{value}\n"))
}

/// Prints text. It is not an error if the reader has closed stdout.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e).context("stdout"),
        _ => Ok(()),
    }
}

/// A number of bytes with a binary unit.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{value:.1} {unit}") }
}

/// A duration for people: `999 ms`, `59.9 s`, `59 min 59 s`, `3 h 07 min`. It is rounded first, so no part reaches the
/// next unit.
pub(crate) fn seconds(seconds: f64) -> String {
    let (milliseconds, tenths, whole) =
        ((seconds * 1000.0).round() as u64, (seconds * 10.0).round() as u64, seconds.round() as u64);
    match (milliseconds, tenths, whole) {
        (0..1000, ..) => format!("{milliseconds} ms"),
        (_, 0..600, _) => format!("{}.{} s", tenths / 10, tenths % 10),
        (_, _, 0..3600) => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => {
            let minutes = (seconds / 60.0).round() as u64;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

/// A number and its noun, which gets an `s` unless the number is 1.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_duration_reaches_the_next_unit() {
        for (s, shown) in [
            (0.0, "0 ms"),
            (0.9994, "999 ms"),
            (0.9996, "1.0 s"),
            (59.94, "59.9 s"),
            (59.96, "1 min 00 s"),
            (119.7, "2 min 00 s"),
            (239.6, "4 min 00 s"),
            (3599.4, "59 min 59 s"),
            (3599.6, "1 h 00 min"),
            (7169.0, "1 h 59 min"),
            (7180.0, "2 h 00 min"),
        ] {
            assert_eq!(seconds(s), shown);
        }
    }

    #[test]
    fn text_of_others_moves_no_cursor() {
        assert_eq!(plain("größer \u{1f332} 2^12, \"b\""), "größer \u{1f332} 2^12, \"b\"");
        for (text, shown) in [
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("a\nerror: b\r", "a\\nerror: b\\r"),
            ("\u{9b}31m\u{7f}\0", "\\u{9b}31m\\u{7f}\\0"),
            ("\u{202e}gpj.exe\u{2069}", "\\u{202e}gpj.exe\\u{2069}"),
        ] {
            assert_eq!(plain(text), shown);
        }
        let mut report = Report::default();
        report.add("cause", "\x1b]0;x\x07");
        assert_eq!(report.text(), "cause  \\u{1b}]0;x\\u{7}\n");
    }
}
