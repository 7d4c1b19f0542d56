//! Inferring a schema from the content of a file.

use std::collections::HashMap;

use evergrove_commit::schema::{Column, ColumnType, Excerpt, MAX_PRECISION, MAX_SCALE, Schema, SchemaError};

use super::error::{InputError, Place, Problem};
use super::rows::{Records, position};
use super::source::Source;
use super::{Format, IndexSource};
use evergrove_verifier::schema::field::{Field, plain};

/// Why a column has the type `bytes`: its first cell after which no other type holds all cells and prints them as they
/// were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untyped {
    /// Name of the column.
    pub column: String,
    /// The place of the cell.
    pub place: Place,
    /// The cell, shortened.
    pub cell: Excerpt,
}

/// What the cells of one column have in common.
#[derive(Default)]
struct Evidence {
    /// The file has types: strings are not dates, and numbers may need 128 bits.
    typed: bool,
    /// Number of records that have the column.
    cells: u64,
    /// Number of the last of these records, from 1.
    last: u64,
    empty: bool,
    /// At least one cell is not empty.
    content: bool,
    /// The types that all cells so far can have.
    kinds: Kinds,
    negative: bool,
    places: usize,
    /// Largest integer part of a number that is not negative.
    greatest: u128,
    /// Largest integer part of a negative number, without its sign.
    greatest_negative: u128,
    /// There is a truth value. It is 1 or 0 in a column of `unsigned` or `signed`. Other types of numbers cannot hold
    /// it.
    truth: bool,
    /// The first cell that leaves no type, and its place.
    untyped: Option<(Excerpt, Option<Place>)>,
}

/// Types that cells can have.
#[derive(Clone, Copy, Default)]
struct Kinds {
    boolean: bool,
    date: bool,
    timestamp: bool,
    uuid: bool,
    number: bool,
}

impl Kinds {
    const ALL: Self = Self { boolean: true, date: true, timestamp: true, uuid: true, number: true };

    fn and(self, other: Self) -> Self {
        Self {
            boolean: self.boolean && other.boolean,
            date: self.date && other.date,
            timestamp: self.timestamp && other.timestamp,
            uuid: self.uuid && other.uuid,
            number: self.number && other.number,
        }
    }

    /// Those of these types that print this text unchanged.
    fn of_text(self, text: &[u8]) -> Self {
        let again = |possible: bool, kind: ColumnType| {
            let column = Column::new("", kind);
            possible && column.parse(text).is_ok_and(|cell| column.format(&cell) == text)
        };
        // No date is shorter, and no UUID is longer.
        let candidate = (10..=36).contains(&text.len());
        Self {
            date: candidate && again(self.date, ColumnType::Date),
            timestamp: candidate && again(self.timestamp, ColumnType::Timestamp),
            uuid: candidate && again(self.uuid, ColumnType::Uuid),
            ..Self::default()
        }
    }
}

impl Evidence {
    fn new(typed: bool) -> Self {
        Self { typed, kinds: Kinds::ALL, ..Self::default() }
    }

    /// Takes a cell into account. True if it is the first that leaves no type.
    fn take(&mut self, field: &Field<'_>) -> bool {
        let none = Kinds::default();
        let kinds = match field {
            Field::Null => return self.null(),
            Field::Text(t) if t.is_empty() => return self.null(),
            Field::Text(t) if matches!(t.as_ref(), b"true" | b"false") => self.truth(),
            Field::Bool(_) => self.truth(),
            Field::Text(t) => {
                let number = self.kinds.number && std::str::from_utf8(t).is_ok_and(|text| self.number(text));
                Kinds { number, ..self.kinds.of_text(t) }
            }
            Field::Number(n) => Kinds { number: self.number(plain(n).as_deref().unwrap_or(n)), ..none },
            Field::Bytes(_) if self.typed => none,
            Field::Bytes(text) => self.kinds.of_text(text),
            Field::Date(_) => Kinds { date: true, ..none },
            Field::Timestamp { .. } => Kinds { timestamp: true, ..none },
            Field::Uuid(_) => Kinds { uuid: true, ..none },
        };
        self.content = true;
        self.kinds = self.kinds.and(kinds);
        let first = self.untyped.is_none() && self.kind() == ColumnType::Bytes;
        if first {
            self.untyped = Some((Excerpt::new(&field.text()), None));
        }
        first
    }

    fn null(&mut self) -> bool {
        self.empty = true;
        false
    }

    fn truth(&mut self) -> Kinds {
        self.truth = true;
        Kinds { boolean: true, number: self.number("1"), ..Kinds::default() }
    }

    /// Takes a number in its usual form, and returns true. `007` and `+5` are not taken: they would be printed
    /// differently.
    fn number(&mut self, text: &str) -> bool {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let usual = (whole == "0" || !whole.starts_with('0')) && !whole.is_empty() && !fraction.is_empty();
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|c| c.is_ascii_digit());
        let integer = whole.parse::<u128>().ok().filter(|_| usual && all_digits);
        let Some(integer) = integer else { return false };
        if digits.contains('.') {
            self.places = self.places.max(fraction.len());
        }
        if negative {
            self.negative = true;
            self.greatest_negative = self.greatest_negative.max(integer);
        } else {
            self.greatest = self.greatest.max(integer);
        }
        true
    }

    fn kind(&self) -> ColumnType {
        match self.kinds {
            _ if !self.content => ColumnType::Bytes,
            Kinds { boolean: true, .. } => ColumnType::Boolean,
            Kinds { date: true, .. } => ColumnType::Date,
            Kinds { timestamp: true, .. } => ColumnType::Timestamp,
            Kinds { uuid: true, .. } => ColumnType::Uuid,
            Kinds { number: true, .. } => self.numbers(),
            _ => ColumnType::Bytes,
        }
    }

    /// The type of a column of numbers.
    fn numbers(&self) -> ColumnType {
        const BOUND: u128 = 1 << 62;
        const WIDE: u128 = 1 << 127;
        let greatest = self.greatest.max(self.greatest_negative);
        let fits = |bound: u128| {
            let unit = 10u128.checked_pow(self.places as u32);
            unit.and_then(|unit| greatest.checked_add(1)?.checked_mul(unit)).is_some_and(|x| x <= bound)
        };
        match self.places {
            0 if !self.negative && self.greatest < 1 << 63 => ColumnType::Unsigned,
            0 if self.greatest < BOUND && self.greatest_negative <= BOUND => ColumnType::Signed,
            _ if self.truth => ColumnType::Bytes,
            0 if self.typed && !self.negative => ColumnType::Unsigned128,
            0 if self.typed && self.greatest < WIDE && self.greatest_negative <= WIDE => ColumnType::Integer128,
            1.. if self.places <= MAX_SCALE as usize && fits(BOUND) => ColumnType::Fixed { scale: self.places as u8 },
            1.. if self.typed && fits(10u128.pow(MAX_PRECISION.into())) => {
                ColumnType::Decimal { precision: MAX_PRECISION, scale: self.places as u8 }
            }
            _ => ColumnType::Bytes,
        }
    }
}

/// What was inferred from a file.
pub(crate) struct Inferred {
    pub(crate) schema: Schema,
    pub(crate) rows: u64,
    /// The columns of type `bytes` with content.
    pub(crate) untyped: Vec<Untyped>,
}

/// The schema of a file and the number of its rows. The index column is not part of the schema.
pub(crate) fn infer(source: &Source, format: Format, index: &IndexSource) -> Result<Inferred, InputError> {
    let at = |p| InputError::new(Place::file(source.path()), p);
    let Some(mut records) = Records::open(source, format)? else {
        return Ok(Inferred { schema: Schema::raw(), rows: 0, untyped: Vec::new() });
    };
    let typed = format == Format::Parquet;
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
    let mut evidence: Vec<Evidence> = names.iter().map(|_| Evidence::new(typed)).collect();
    let mut rows = 0u64;
    loop {
        let mut first: Vec<usize> = Vec::new();
        let mut sink = |name: &str, field: Field<'_>| {
            let at = match seen.get(name) {
                Some(at) => *at,
                None => {
                    seen.insert(name.into(), names.len());
                    names.push(name.into());
                    evidence.push(Evidence::new(typed));
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
                field => {
                    if evidence[at].take(field) {
                        first.push(at);
                    }
                }
            }
            Ok(())
        };
        let Some(place) = records.next(&mut sink)? else { break };
        for at in first {
            if let Some((_, found)) = &mut evidence[at].untyped {
                *found = Some(place.clone());
            }
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
    let seen = names.into_iter().zip(evidence).filter(|(name, _)| Some(name.as_str()) != index_column);
    concluded(seen, rows).map_err(|e| at(Problem::Schema(e)))
}

/// The schema of a file with this many rows, from what was seen of its columns.
fn concluded(seen: impl Iterator<Item = (String, Evidence)>, rows: u64) -> Result<Inferred, SchemaError> {
    let (mut columns, mut untyped) = (Vec::new(), Vec::new());
    for (name, e) in seen {
        // A record without the column has null there.
        let (kind, nullable) = (e.kind(), e.empty || e.cells < rows);
        if let Some((cell, Some(place))) = e.untyped {
            untyped.push(Untyped { column: name.clone(), place, cell });
        }
        columns.push(Column { name, kind, nullable });
    }
    Ok(Inferred { schema: Schema::new(columns)?, rows, untyped })
}
