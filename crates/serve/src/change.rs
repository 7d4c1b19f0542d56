//! Changes as JSON lines.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use evergrove::commit::schema::Schema;
use evergrove::store::Changes;
use evergrove::store::input::{InputError, Place, Problem, json_row};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// One line of a request with changes: exactly one of `set` with `row`, `delete`, `add` with `batch`, `remove` with `batch`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'a> {
    /// The position that gets a row.
    set: Option<u64>,
    /// The row: every column of the schema by its name, as in a jsonl file; in raw mode `e0` to `e3`.
    #[serde(borrow)]
    #[schema(value_type = Option<Object>)]
    row: Option<&'a RawValue>,
    /// The position whose slot becomes empty.
    delete: Option<u64>,
    /// Positions that join the batch.
    add: Option<Vec<u64>>,
    /// Positions that leave the batch.
    remove: Option<Vec<u64>>,
    /// Name of the batch.
    batch: Option<String>,
}

/// The changes of one request. They all become part of one epoch, or none does.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) changes: Changes,
    pub(crate) named: Named,
    /// Number of lines with a change.
    pub(crate) lines: usize,
}

/// The positions that requests name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    /// Positions that get a row.
    set: HashSet<u64>,
    /// Positions that are deleted, or that join or leave a batch.
    otherwise: HashSet<u64>,
}

impl Named {
    /// True when the changes of `other` can be part of the same epoch. Several requests may set one position: the last
    /// row is kept.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let alone =
            |one: &Self, two: &Self| one.otherwise.is_disjoint(&two.set) && one.otherwise.is_disjoint(&two.otherwise);
        alone(self, other) && alone(other, self)
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.set.extend(&other.set);
        self.otherwise.extend(&other.otherwise);
    }
}

/// Numbers of changes by kind: rows set, rows deleted, members that join, members that leave.
pub(crate) fn counts(changes: &Changes) -> [(&'static str, usize); 4] {
    let members = |list: &[(String, Vec<u64>)]| list.iter().map(|(_, indices)| indices.len()).sum();
    [
        ("set", changes.set.len()),
        ("delete", changes.clear.len()),
        ("add", members(&changes.add)),
        ("remove", members(&changes.remove)),
    ]
}

impl Request {
    /// Parses the changes of a body, which may double the table up to a height of `grow`. Blank lines are skipped.
    pub(crate) fn parse(schema: &Schema, body: &[u8], grow: Option<u8>) -> Result<Self, InputError> {
        let mut request = Self::default();
        for (number, line) in body.split(|b| *b == b'\n').enumerate() {
            let line = line.trim_ascii();
            if !line.is_empty() {
                request.take(schema, line).map_err(|problem| at(Some(number as u64 + 1), problem))?;
                request.lines += 1;
            }
        }
        if request.changes.is_empty() {
            return Err(at(None, malformed("no line holds a change")));
        }
        // If the table may not grow, the store accepts positions inside the current table and refuses others.
        request.changes.grow = grow.is_some_and(|height| {
            request.named.set.iter().all(|index| index.checked_shr(height.into()).unwrap_or(0) == 0)
        });
        Ok(request)
    }

    fn take(&mut self, schema: &Schema, line: &[u8]) -> Result<(), Problem> {
        let line: Line<'_> = serde_json::from_slice(line).map_err(malformed)?;
        match line {
            Line { set: Some(index), row: Some(row), delete: None, add: None, remove: None, batch: None } => {
                self.changes.set.push((index, json_row(schema, row.get())?));
                self.named.set.insert(index);
            }
            Line { set: None, row: None, delete: Some(index), add: None, remove: None, batch: None } => {
                self.changes.clear.push(index);
                self.named.otherwise.insert(index);
            }
            Line { set: None, row: None, delete: None, add: Some(indices), remove: None, batch: Some(batch) } => {
                self.named.otherwise.extend(&indices);
                self.changes.add.push((batch, indices));
            }
            Line { set: None, row: None, delete: None, add: None, remove: Some(indices), batch: Some(batch) } => {
                self.named.otherwise.extend(&indices);
                self.changes.remove.push((batch, indices));
            }
            _ => {
                return Err(malformed("a line is one of set with row, delete, add with batch, remove with batch"));
            }
        }
        Ok(())
    }
}

/// Merges the changes of one request into those of earlier requests: its rows replace theirs.
pub(crate) fn merge(all: &mut Changes, one: &Changes) {
    let mut earlier: HashMap<u64, usize> = all.set.iter().enumerate().map(|(at, (index, _))| (*index, at)).collect();
    for (index, row) in &one.set {
        // A position that one request sets twice is kept twice: the store refuses it.
        match earlier.remove(index) {
            Some(at) => all.set[at].1 = row.clone(),
            None => all.set.push((*index, row.clone())),
        }
    }
    all.requests.extend_from_slice(&one.requests);
    all.clear.extend_from_slice(&one.clear);
    all.add.extend_from_slice(&one.add);
    all.remove.extend_from_slice(&one.remove);
    all.grow |= one.grow;
}

fn malformed(detail: impl ToString) -> Problem {
    Problem::Malformed { format: "change", detail: detail.to_string() }
}

fn at(number: Option<u64>, problem: Problem) -> InputError {
    InputError { place: Place { path: PathBuf::from("changes"), unit: "line", number }, problem: Box::new(problem) }
}

#[cfg(test)]
mod tests {
    use evergrove::commit::schema::{Cell, Row};

    use super::*;

    fn schema() -> Schema {
        Schema::from_toml("[[column]]\nname = \"who\"\ntype = \"bytes\"\n[[column]]\nname = \"age\"\ntype = \"unsigned\"\nnullable = true\n")
            .unwrap()
    }

    fn parse(body: &str) -> Result<Request, String> {
        Request::parse(&schema(), body.as_bytes(), None).map_err(|e| e.to_string())
    }

    #[test]
    fn every_kind_of_change_is_taken() {
        let body = "{\"set\":5,\"row\":{\"who\":\"Ann\",\"age\":41}}\n\n {\"set\":6,\"row\":{\"age\":null,\"who\":\"\"}}\r\n\
            {\"delete\":7}\n{\"add\":[5,6],\"batch\":\"b\"}\n{\"remove\":[7],\"batch\":\"b\"}";
        let request = parse(body).unwrap();
        let row = |who: &str, age| Row::Cells(vec![Cell::Bytes(who.into()), age]);
        assert_eq!(request.changes.set, [(5, row("Ann", Cell::Unsigned(41))), (6, row("", Cell::Null))]);
        assert_eq!((&request.changes.clear[..], request.lines), (&[7][..], 5));
        assert_eq!(request.changes.add, [("b".into(), vec![5, 6])]);
        assert_eq!(request.changes.remove, [("b".into(), vec![7])]);
        assert_eq!(counts(&request.changes).map(|(_, n)| n), [2, 1, 2, 1]);
        assert_eq!(request.named.set, HashSet::from([5, 6]));
        assert_eq!(request.named.otherwise, HashSet::from([5, 6, 7]));
    }

    #[test]
    fn a_line_that_is_no_change_is_named() {
        let good = "{\"delete\":1}\n";
        for (line, says) in [
            ("{\"set\":5}", "line 2: malformed change: a line is one of set with row"),
            ("{\"set\":5,\"row\":{\"who\":\"a\",\"age\":1},\"delete\":5}", "a line is one of"),
            ("{\"add\":[1]}", "a line is one of"),
            ("{\"set\":5,\"row\":{\"who\":\"a\"}}", "line 2: missing column \"age\""),
            ("{\"set\":5,\"row\":{\"who\":\"a\",\"age\":1,\"x\":1}}", "column \"x\" is neither"),
            ("{\"set\":5,\"row\":{\"who\":\"a\",\"age\":-1}}", "line 2: column \"age\""),
            ("{\"set\":-5,\"row\":{}}", "line 2: malformed change"),
            ("{\"put\":5}", "unknown field `put`"),
            ("[1]", "line 2: malformed change"),
            ("{\"delete\":1}}", "line 2: malformed change"),
            ("\u{1}", "line 2: malformed change"),
        ] {
            let error = parse(&format!("{good}{line}\n{good}")).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
        assert!(Request::parse(&schema(), b"\xff\n", None).is_err());
        for nothing in ["", "\n\n", "{\"add\":[],\"batch\":\"b\"}"] {
            assert!(parse(nothing).unwrap_err().contains("no line holds a change"), "{nothing:?}");
        }
    }

    #[test]
    fn requests_add_up() {
        let (one, two) =
            (parse("{\"delete\":1}").unwrap(), parse("{\"delete\":2}\n{\"add\":[3],\"batch\":\"b\"}").unwrap());
        let mut all = Changes::default();
        merge(&mut all, &one.changes);
        merge(&mut all, &two.changes);
        assert_eq!((&all.clear[..], all.add.len()), (&[1, 2][..], 1));
    }

    #[test]
    fn rows_of_one_position_share_an_epoch_and_the_last_stays() {
        let set = |age| parse(&format!("{{\"set\":5,\"row\":{{\"who\":\"a\",\"age\":{age}}}}}")).unwrap();
        let (one, two, delete) = (set(1), set(2), parse("{\"delete\":5}").unwrap());
        assert!(one.named.fits(&two.named));
        assert!(!one.named.fits(&delete.named) && !delete.named.fits(&one.named) && !delete.named.fits(&delete.named));
        let mut all = Changes::default();
        merge(&mut all, &one.changes);
        merge(&mut all, &two.changes);
        assert_eq!(all.set, two.changes.set);
        // One request sets the position twice: both rows are kept, and the store refuses them.
        let twice = Changes { set: [&one.changes.set[..], &two.changes.set[..]].concat(), ..Changes::default() };
        merge(&mut all, &twice);
        assert_eq!(all.set.len(), 2);
    }
}
