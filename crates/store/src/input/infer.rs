//! The schema that the content of a file suggests.

use std::collections::HashMap;

use evergrove_commit::schema::{Column, ColumnType, MAX_SCALE, Schema};

use super::error::{InputError, Place, Problem};
use super::rows::{Records, position};
use super::source::Source;
use super::{Format, IndexSource};
use evergrove_verifier::schema::field::{Field, plain};

/// What the cells of one column have in common.
#[derive(Default)]
struct Evidence {
    /// Records in which the column stands.
    cells: u64,
    /// Number of the last of them, from 1.
    last: u64,
    empty: bool,
    /// A cell that is a number.
    number: bool,
    /// A cell that is no number in its usual form: `007` and `+5` would not be printed again as they were.
    text: bool,
    negative: bool,
    places: usize,
    /// The greatest integer part of a number that is not negative.
    greatest: u64,
    /// The greatest integer part of a negative number.
    greatest_negative: u64,
}

impl Evidence {
    fn take(&mut self, field: &Field<'_>) {
        match field {
            Field::Null => self.empty = true,
            Field::Text(t) if t.is_empty() => self.empty = true,
            // 1 and 0 in columns of integers, as truth values are.
            Field::Text(t) if matches!(t.as_ref(), b"true" | b"false") => self.number("1"),
            Field::Text(t) => self.number(std::str::from_utf8(t).unwrap_or("text")),
            Field::Number(n) => self.number(plain(n).as_deref().unwrap_or(n)),
            Field::Bool(_) => self.number("1"),
            Field::Bytes(_) => self.text = true,
        }
    }

    fn number(&mut self, text: &str) {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let usual = (whole == "0" || !whole.starts_with('0')) && !whole.is_empty() && !fraction.is_empty();
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|c| c.is_ascii_digit());
        let integer = whole.parse::<u64>().ok().filter(|_| usual && all_digits);
        let Some(integer) = integer else {
            self.text = true;
            return;
        };
        self.number = true;
        if digits.contains('.') {
            self.places = self.places.max(fraction.len());
        }
        if negative {
            self.negative = true;
            self.greatest_negative = self.greatest_negative.max(integer);
        } else {
            self.greatest = self.greatest.max(integer);
        }
    }

    fn kind(&self) -> ColumnType {
        const BOUND: u64 = 1 << 62;
        let unit = 10u64.checked_pow(self.places as u32);
        let fits = |whole: u64| unit.and_then(|u| whole.checked_add(1)?.checked_mul(u)).is_some_and(|x| x <= BOUND);
        match self.places {
            _ if self.text || !self.number => ColumnType::Bytes,
            0 if !self.negative && self.greatest < 1 << 63 => ColumnType::Unsigned,
            0 if self.greatest < BOUND && self.greatest_negative <= BOUND => ColumnType::Signed,
            1.. if self.places <= MAX_SCALE as usize && fits(self.greatest) && fits(self.greatest_negative) => {
                ColumnType::Fixed { scale: self.places as u8 }
            }
            _ => ColumnType::Bytes,
        }
    }
}

/// The schema of a file and the number of its rows. The index column is no part of the schema.
pub(crate) fn infer(source: &Source, format: Format, index: &IndexSource) -> Result<(Schema, u64), InputError> {
    let at = |p| InputError::new(Place::file(source.path()), p);
    let Some(mut records) = Records::open(source, format)? else { return Ok((Schema::raw(), 0)) };
    let nulls: Vec<&[u8]> = source.nulls().iter().map(String::as_bytes).collect();
    let index_column = match index {
        IndexSource::Column(name) => Some(name.as_str()),
        IndexSource::RowOrder | IndexSource::List(_) => None,
    };
    let mut names: Vec<String> = records.names().unwrap_or_default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (i, name) in names.iter().enumerate() {
        if seen.insert(name.clone(), i).is_some() {
            return Err(at(Problem::DuplicateColumn(name.clone())));
        }
    }
    if let Some(name) = index_column
        && !names.is_empty()
        && !seen.contains_key(name)
    {
        return Err(at(Problem::NoColumn { name: name.into(), available: names }));
    }
    let mut evidence: Vec<Evidence> = names.iter().map(|_| Evidence::default()).collect();
    let mut rows = 0u64;
    loop {
        let mut sink = |name: &str, field: Field<'_>| {
            let at = match seen.get(name) {
                Some(at) => *at,
                None => {
                    seen.insert(name.into(), names.len());
                    names.push(name.into());
                    evidence.push(Evidence::default());
                    names.len() - 1
                }
            };
            if evidence[at].last > rows {
                return Err(Problem::DuplicateColumn(name.into()));
            }
            if index_column == Some(name) {
                position(name, &field)?;
            }
            evidence[at].cells += 1;
            evidence[at].last = rows + 1;
            match &field {
                Field::Text(text) if nulls.contains(&text.as_ref()) => evidence[at].empty = true,
                field => evidence[at].take(field),
            }
            Ok(())
        };
        if records.next(&mut sink)?.is_none() {
            break;
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(at(Problem::NoRows));
    }
    if let Some(name) = index_column
        && !seen.contains_key(name)
    {
        return Err(at(Problem::NoColumn { name: name.into(), available: names }));
    }
    let columns =
        names.iter().zip(&evidence).filter(|(name, _)| Some(name.as_str()) != index_column).map(|(name, e)| Column {
            name: name.clone(),
            kind: e.kind(),
            // A record that lacks the column has a null there.
            nullable: e.empty || e.cells < rows,
        });
    let schema = Schema::new(columns.collect()).map_err(|e| at(Problem::Schema(e)))?;
    Ok((schema, rows))
}
