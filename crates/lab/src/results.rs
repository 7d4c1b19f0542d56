//! Files of results: CSV and Parquet with units in column names, a manifest of each run, and Pareto fronts.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use evergrove_plot::quote;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::LabError;
use crate::config::{Cell, Design, Row};
use crate::cost::Costs;

/// The reason why results were not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// A model refused a design.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A file cannot be read or written.
    #[error("results: {0}")]
    Io(#[from] io::Error),
    /// The Parquet writer failed.
    #[error("results: {0}")]
    Parquet(#[from] ParquetError),
    /// The file of a run is not JSON.
    #[error("results: {path}: {source}: remove the file to run its design again")]
    Run {
        /// The file.
        path: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// A column is missing, or does not hold numbers.
    #[error("no column of numbers is called {name:?}: choose one of {known}")]
    Column {
        /// The requested name.
        name: String,
        /// The existing columns.
        known: String,
    },
}

/// Runs designs on the rayon pool of the caller. Stores each result with its manifest in `dir/runs/ID.json`; a design
/// whose file exists is not run again. After each design, `done` is called with the number of finished designs. At the
/// end, writes `results.csv`, `results.parquet` and `manifest.json` into `dir`, and returns the rows in the order of
/// the designs.
///
/// # Errors
/// The first design that a model refuses, or the first file that cannot be read or written.
pub fn sweep(
    designs: &[Design],
    costs: &Costs,
    dir: &Path,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Row>, ResultsError> {
    let runs = dir.join("runs");
    fs::create_dir_all(&runs)?;
    let finished = std::sync::atomic::AtomicUsize::new(0);
    let rows: Result<Vec<Row>, ResultsError> = designs
        .par_iter()
        .map(|design| {
            let path = runs.join(format!("{}.json", design.id(costs)));
            let row = match fs::read_to_string(&path) {
                Ok(text) => {
                    load(&text).map_err(|source| ResultsError::Run { path: path.display().to_string(), source })?
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    let row = design.run(costs)?;
                    // Write to another name and rename, so a file is either complete or missing.
                    let part = path.with_extension("part");
                    fs::write(&part, store(design, &row).to_string())?;
                    fs::rename(&part, &path)?;
                    row
                }
                Err(e) => return Err(e.into()),
            };
            done(finished.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
            Ok(row)
        })
        .collect();
    let rows = rows?;
    fs::write(dir.join("results.csv"), csv(&rows))?;
    parquet(&dir.join("results.parquet"), &rows)?;
    let manifest = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "runs": designs.iter().map(|design| design.id(costs)).collect::<Vec<_>>(),
        "costs": costs,
    });
    fs::write(dir.join("manifest.json"), format!("{manifest:#}\n"))?;
    Ok(rows)
}

fn store(design: &Design, row: &Row) -> Value {
    let columns: Vec<Value> = row.iter().map(|(name, cell)| json!([name, cell])).collect();
    json!({ "version": env!("CARGO_PKG_VERSION"), "design": design, "columns": columns })
}

fn load(text: &str) -> Result<Row, serde_json::Error> {
    let mut object: Map<String, Value> = serde_json::from_str(text)?;
    let columns: Vec<(String, Value)> = serde_json::from_value(object.remove("columns").unwrap_or_default())?;
    let cell =
        |value: Value| value.as_f64().map_or_else(|| Cell::Text(value.as_str().unwrap_or("").into()), Cell::Number);
    Ok(columns.into_iter().map(|(name, value)| (name, cell(value))).collect())
}

/// The columns of all rows, in the order of their first appearance.
fn columns(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn get<'a>(row: &'a Row, name: &str) -> Option<&'a Cell> {
    row.iter().find(|(n, _)| n == name).map(|(_, cell)| cell)
}

/// Rows as CSV: a line of column names, then one line per row.
pub fn csv(rows: &[Row]) -> String {
    let names = columns(rows);
    let mut out = names.join(",");
    for row in rows {
        let cells: Vec<String> = names
            .iter()
            .map(|name| match get(row, name) {
                Some(Cell::Number(x)) => x.to_string(),
                Some(Cell::Text(s)) => quote(s),
                None => String::new(),
            })
            .collect();
        out = format!("{out}\n{}", cells.join(","));
    }
    out.push('\n');
    out
}

/// Writes rows as a Parquet file of optional doubles and strings.
///
/// # Errors
/// If the file cannot be written.
pub fn parquet(path: &Path, rows: &[Row]) -> Result<(), ResultsError> {
    let names = columns(rows);
    let text = |name: &str| rows.iter().any(|row| matches!(get(row, name), Some(Cell::Text(_))));
    let mut fields = Vec::new();
    for name in &names {
        let (physical, logical) =
            if text(name) { (Physical::BYTE_ARRAY, Some(LogicalType::String)) } else { (Physical::DOUBLE, None) };
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        fields.push(Arc::new(column));
    }
    let schema = Arc::new(Type::group_type_builder("runs").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(fs::File::create(path)?, schema, Arc::new(WriterProperties::new()))?;
    let mut group = writer.next_row_group()?;
    for name in &names {
        let Some(mut column) = group.next_column()? else { break };
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(get(row, name).is_some())).collect();
        let cells = rows.iter().filter_map(|row| get(row, name));
        if text(name) {
            let values: Vec<ByteArray> = cells
                .map(|cell| match cell {
                    Cell::Text(s) => s.as_str().into(),
                    Cell::Number(x) => x.to_string().as_str().into(),
                })
                .collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        } else {
            let values: Vec<f64> =
                cells.filter_map(|c| if let Cell::Number(x) = c { Some(*x) } else { None }).collect();
            column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
        }
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

/// Suffixes of column names that are units, and their labels on an axis. Longer suffixes come first.
const UNITS: [(&str, &str); 16] = [
    ("_mhash_s", "Mhash/s"),
    ("_gbit_s", "Gbit/s"),
    ("_gb_s", "GB/s"),
    ("_mm2", "mm²"),
    ("_mhz", "MHz"),
    ("_us", "µs"),
    ("_ms", "ms"),
    ("_uj", "µJ"),
    ("_usd", "USD"),
    ("_w", "W"),
    ("_s", "s"),
    ("_bytes", "bytes"),
    ("_cycles", "cycles"),
    ("_nodes", "nodes"),
    ("_digests", "digests"),
    ("_slices", "slices"),
];

/// The name of a column without its unit, and the unit, or "" if it has none.
fn named(column: &str) -> (String, &'static str) {
    let found = UNITS.into_iter().find_map(|(end, unit)| Some((column.strip_suffix(end)?, unit)));
    let (stem, unit) = found.unwrap_or((column, ""));
    let upper = ["pes", "lhe", "bhe", "hbm", "dsp", "lde", "sram", "padd"];
    let word = |word: &str| match word {
        "pes" => "PEs".to_owned(),
        "log" => "log2".to_owned(),
        "sboxes" => "S-boxes".to_owned(),
        word if upper.contains(&word) => word.to_uppercase(),
        word => word.to_owned(),
    };
    (stem.split('_').map(word).collect::<Vec<_>>().join(" "), unit)
}

/// The label of a column on an axis: "time (µs)" for `time_us`.
pub fn label(column: &str) -> String {
    match named(column) {
        (name, "") => name,
        (name, unit) => format!("{name} ({unit})"),
    }
}

/// A value of a column in a legend: "bandwidth 64 GB/s" for 64 in `bandwidth_gb_s`.
pub fn setting(column: &str, value: &str) -> String {
    let (name, unit) = named(column);
    format!("{name} {value} {unit}").trim_end().to_owned()
}

/// The numbers of a column.
///
/// # Errors
/// If a row lacks the column, or a cell is not a number.
pub fn numbers(rows: &[Row], name: &str) -> Result<Vec<f64>, ResultsError> {
    let number = |row: &Row| match get(row, name) {
        Some(Cell::Number(x)) => Some(*x),
        _ => None,
    };
    rows.iter()
        .map(number)
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| ResultsError::Column { name: name.to_owned(), known: columns(rows).join(", ") })
}

/// Indices of the rows that no other row beats in both columns, where less is better, in ascending order of `x`. Of
/// equal rows only the first stays.
///
/// A row with a larger `x` must improve `y` by more than the share `tolerance`; a smaller gain is noise, or not worth
/// the cost.
///
/// # Errors
/// If a column is missing, or does not hold numbers.
pub fn pareto(rows: &[Row], x: &str, y: &str, tolerance: f64) -> Result<Vec<usize>, ResultsError> {
    let (xs, ys) = (numbers(rows, x)?, numbers(rows, y)?);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| xs[*a].total_cmp(&xs[*b]).then(ys[*a].total_cmp(&ys[*b])));
    let mut best = f64::INFINITY;
    order.retain(|i| {
        let stays = best == f64::INFINITY || ys[*i] < best - tolerance * best.abs();
        if stays {
            best = ys[*i];
        }
        stays
    });
    Ok(order)
}

/// The parameters that vary between the rows of a sweep: the columns between `machine` and `cycles` with several
/// values.
pub fn varied(rows: &[Row]) -> Vec<&str> {
    let names = columns(rows).into_iter().skip_while(|name| *name != "machine").skip(1);
    let several = |name: &&str| rows.iter().any(|row| get(row, name) != get(&rows[0], name));
    names.take_while(|name| *name != "cycles").filter(several).collect()
}

/// Reads the CSV of a sweep.
///
/// # Errors
/// If the text has no header, or a line has another number of cells than the header.
pub fn read_csv(text: &str) -> Result<Vec<Row>, LabError> {
    let mut lines = text.lines().map(split);
    let names = lines.next().ok_or_else(|| crate::error::field("file", "empty", "the CSV of a sweep"))?;
    lines
        .enumerate()
        .map(|(i, cells)| {
            if cells.len() != names.len() {
                let found = format!("{} cells in line {}", cells.len(), i + 2);
                return Err(crate::error::field("file", found, format_args!("{} cells", names.len())));
            }
            let cells = names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
            Ok(cells
                .map(|(name, cell)| (name.clone(), cell.parse().map_or_else(|_| Cell::Text(cell), Cell::Number)))
                .collect())
        })
        .collect()
}

/// The cells of a line, separated at commas outside quotes.
fn split(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let last = cells.len() - 1;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cells[last].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells[last].push(c),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::File;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn a_sweep_is_kept_and_resumed() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = "machine = 'mtu'\n[params]\nlog_size = 8\n[axes]\npes = [2, 4, 8]\nbandwidth_gb_s = [64, 1024]";
        let designs = File::parse(text).expect("a file").designs().expect("designs");
        let costs = Costs::published();
        let rows = sweep(&designs, &costs, dir.path(), &|_| {}).expect("a sweep");
        // Edit one stored result. A second sweep must return it and not run that design again.
        let four = numbers(&rows, "pes").expect("numbers").iter().position(|p| *p == 4.0).expect("a run of 4 PEs");
        let one = dir.path().join("runs").join(format!("{}.json", designs[four].id(&costs)));
        let kept = fs::read_to_string(&one).expect("kept");
        let edited = kept.replace("\"pes\",4.0", "\"pes\",5.0");
        assert_ne!(edited, kept);
        fs::write(&one, &edited).expect("written");
        let again = sweep(&designs, &costs, dir.path(), &|_| {}).expect("a sweep");
        assert_eq!(numbers(&again, "pes").expect("numbers").iter().filter(|p| **p == 5.0).count(), 1);
        assert_eq!((rows.len(), again.len()), (6, 6));
        assert!((0..6).all(|i| (rows[i] == again[i]) == (i != four)));
        let text = fs::read_to_string(dir.path().join("results.csv")).expect("written");
        assert_eq!(read_csv(&text).expect("a table"), again);
        let file = fs::File::open(dir.path().join("results.parquet")).expect("written");
        let reader = SerializedFileReader::new(file).expect("Parquet");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 6);
        fs::write(&one, "{").expect("written");
        assert!(matches!(sweep(&designs, &costs, dir.path(), &|_| {}), Err(ResultsError::Run { .. })));
    }

    #[test]
    fn columns_have_names_for_people() {
        for (column, expected) in [
            ("area_mm2", "area (mm²)"),
            ("hash_rate_mhash_s", "hash rate (Mhash/s)"),
            ("bhe_sboxes", "BHE S-boxes"),
            ("log_rows", "log2 rows"),
            ("lhe_busy_cycles", "LHE busy (cycles)"),
            ("pes", "PEs"),
        ] {
            assert_eq!(label(column), expected);
        }
        assert_eq!(setting("bandwidth_gb_s", "64"), "bandwidth 64 GB/s");
        assert_eq!(setting("traversal", "bfs"), "traversal bfs");
    }

    #[test]
    fn a_front_is_what_nothing_beats() {
        let points = [(1.0, 9.0), (2.0, 9.0), (3.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 1.0)];
        let row = |(x, y)| vec![("x".to_owned(), Cell::Number(x)), ("y".to_owned(), Cell::Number(y))];
        let rows: Vec<Row> = points.into_iter().map(row).collect();
        assert_eq!(pareto(&rows, "x", "y", 0.0).expect("a front"), [0, 2, 5]);
        // Each step from 9 to 4 and from 4 to 1 gains more than half.
        assert_eq!(pareto(&rows, "x", "y", 0.5).expect("a front"), [0, 2, 5]);
        assert_eq!(pareto(&rows, "x", "y", 0.6).expect("a front"), [0, 5]);
        assert!(matches!(pareto(&rows, "z", "y", 0.0), Err(ResultsError::Column { .. })));
        let cells = |pes: f64, id: &str, cycles: f64| -> Row {
            let number = |name: &str, x| (name.to_owned(), Cell::Number(x));
            let id = ("id".to_owned(), Cell::Text(id.to_owned()));
            let machine = ("machine".to_owned(), Cell::Text("mtu".to_owned()));
            vec![id, machine, number("log_size", 9.0), number("pes", pes), number("cycles", cycles)]
        };
        assert_eq!(varied(&[cells(2.0, "a", 9.0), cells(4.0, "b", 5.0)]), ["pes"]);
        assert_eq!(varied(&[]), Vec::<&str>::new());
    }
}
