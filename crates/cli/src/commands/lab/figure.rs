//! `evergrove lab pareto` and `evergrove lab plot`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove_lab::config::{Cell, Row};
use evergrove_lab::results;
use evergrove_plot::{Axis, Figure, Origin, Point, Scale, Series};
use serde_json::json;

use super::super::Terminal;
use crate::args::Output;
use crate::exit::CliError;
use crate::report::{line, text};

/// List the designs of a sweep that no other beats in two columns
#[derive(Debug, clap::Args)]
pub(crate) struct ParetoArgs {
    /// results.csv of a sweep
    file: PathBuf,
    /// Column to be small
    #[arg(long, value_name = "COLUMN", default_value = "area_mm2")]
    x: String,
    /// Other column to be small
    #[arg(long, value_name = "COLUMN", default_value = "time_us")]
    y: String,
    /// How much smaller the other column must be, as a share, for a design that is larger in the first
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = parse_share)]
    tolerance: f64,
    /// Only rows that have this value in this column; may be given several times
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = parse_choice)]
    choices: Vec<(String, String)>,
}

/// Draw a sweep as SVG and PNG: one column over another, a series for each value of a third
#[derive(Debug, clap::Args)]
pub(crate) struct PlotArgs {
    /// results.csv of a sweep
    file: PathBuf,
    /// Column of the horizontal axis
    #[arg(long, value_name = "COLUMN", default_value = "area_mm2")]
    x: String,
    /// Column of the vertical axis
    #[arg(long, value_name = "COLUMN", default_value = "time_us")]
    y: String,
    /// Columns, separated by commas, whose values are series of their own
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    series: Vec<String>,
    /// Only rows that have this value in this column; may be given several times
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = parse_choice)]
    choices: Vec<(String, String)>,
    /// CSV of points from elsewhere to mark: columns series, origin (published or derived), and those of the axes
    #[arg(long, value_name = "FILE")]
    published: Option<PathBuf>,
    /// Title of the figure
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Directory of the figure
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Name of its files
    #[arg(long, value_name = "NAME", default_value = "plot")]
    name: String,
}

fn parse_choice(text: &str) -> Result<(String, String), String> {
    let (column, value) = text.split_once('=').ok_or("write COLUMN=VALUE")?;
    Ok((column.to_owned(), value.to_owned()))
}

fn parse_share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "choose a number from 0 to below 1".into())
}

/// Refuses columns that the file does not have.
fn known<'a>(rows: &[Row], columns: impl IntoIterator<Item = &'a String>) -> Result<()> {
    let there: Vec<&str> = rows.first().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let stands = |column: &str| rows.iter().flatten().any(|(name, _)| name == column);
    match columns.into_iter().find(|column| !stands(column)) {
        None => Ok(()),
        Some(column) => {
            let message = format!("no column is called {column:?}: choose one of {}", there.join(", "));
            Err(CliError::usage(message, "name columns of the file"))
        }
    }
}

/// The rows with all the chosen values.
fn chosen(rows: Vec<Row>, choices: &[(String, String)]) -> Result<Vec<Row>> {
    known(&rows, choices.iter().map(|(column, _)| column))?;
    let fits = |row: &Row| choices.iter().all(|(column, value)| name(row, column) == *value);
    let left: Vec<Row> = rows.into_iter().filter(fits).collect();
    if left.is_empty() && !choices.is_empty() {
        return Err(CliError::usage("no row has the values of --where", "see the columns and values of the file"));
    }
    Ok(left)
}

fn read(path: &Path) -> Result<Vec<Row>> {
    let body = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    results::read_csv(&body)
        .map_err(|e| CliError::usage(format!("{}: {e}", path.display()), "write it with `evergrove lab sweep`"))
}

fn numbers(rows: &[Row], column: &str) -> Result<Vec<f64>> {
    results::numbers(rows, column).map_err(|e| CliError::usage(e.to_string(), "name a column of the file"))
}

pub(crate) fn pareto(args: &ParetoArgs, terminal: Terminal) -> Result<()> {
    let rows = chosen(read(&args.file)?, &args.choices)?;
    let front = results::pareto(&rows, &args.x, &args.y, args.tolerance)
        .map_err(|e| CliError::usage(e.to_string(), "name columns of the file"))?;
    let (xs, ys) = (numbers(&rows, &args.x)?, numbers(&rows, &args.y)?);
    let varied = results::varied(&rows);
    for i in front {
        let parameters = varied.iter().map(|column| (*column, name(&rows[i], column)));
        match terminal.format {
            Output::Json => {
                let parameters: BTreeMap<&str, String> = parameters.collect();
                let id = name(&rows[i], "id");
                line(&json!({ "id": id, "parameters": parameters, &args.x: xs[i], &args.y: ys[i] }))
            }
            Output::Text => {
                let design: Vec<String> = parameters.map(|(column, value)| format!("{column} {value}")).collect();
                text(&format!("{}  {} {}  {} {}\n", design.join(" "), args.x, xs[i], args.y, ys[i]))
            }
        }?;
    }
    Ok(())
}

fn name(row: &Row, column: &str) -> String {
    let cell = row.iter().find(|(name, _)| name == column).map(|(_, cell)| cell);
    match cell {
        Some(Cell::Text(s)) => s.clone(),
        Some(Cell::Number(x)) => x.to_string(),
        None => "-".into(),
    }
}

/// An axis by powers of two if all values are powers of two, logarithmic if they span a decade, otherwise linear.
fn axis(name: &str, column: &'static str, values: &[f64]) -> Axis {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let scale = match low > 0.0 {
        true if high > 2.0 * low && values.iter().all(|v| v.log2().fract() == 0.0) => Scale::Log2,
        true if high > 10.0 * low => Scale::Log10,
        _ => Scale::Linear,
    };
    Axis { label: results::label(name), column, scale }
}

pub(crate) fn plot(args: &PlotArgs, terminal: Terminal) -> Result<()> {
    // Sorted by the numbers in the names, if there are any. Published points come last.
    let mut series: BTreeMap<(bool, Vec<u64>, String), Vec<Point>> = BTreeMap::new();
    let mut all = [Vec::new(), Vec::new()];
    let mut add = |rows: &[Row], origin: Option<Origin>| -> Result<()> {
        let (xs, ys) = (numbers(rows, &args.x)?, numbers(rows, &args.y)?);
        for ((row, x), y) in rows.iter().zip(&xs).zip(&ys) {
            let published = origin.is_none();
            // Points are published, unless the file says that they are derived.
            let derived = published && name(row, "origin") == "derived";
            let origin = origin.unwrap_or(if derived { Origin::Derived } else { Origin::Published });
            let values: Vec<String> = args.series.iter().map(|by| name(row, by)).collect();
            let text = match (published, &args.series[..]) {
                (true, _) => format!("{origin}: {}", name(row, "series")),
                (false, []) => results::label(&args.y),
                (false, all) => {
                    let settings = all.iter().zip(&values).map(|(by, value)| results::setting(by, value));
                    settings.collect::<Vec<_>>().join(", ")
                }
            };
            // Non-negative numbers sort like their bits.
            let order = values.iter().map(|v| v.parse::<f64>().map_or(u64::MAX, |x| x.max(0.0).to_bits())).collect();
            series.entry((published, order, text)).or_default().push(Point { x: *x, y: *y, origin });
        }
        all[0].extend(xs);
        all[1].extend(ys);
        Ok(())
    };
    let rows = chosen(read(&args.file)?, &args.choices)?;
    known(&rows, &args.series)?;
    add(&rows, Some(Origin::Modelled))?;
    if let Some(path) = &args.published {
        // A choice applies to a published point only if the point has a value in this column.
        let fits = |row: &Row| args.choices.iter().all(|(column, value)| ["-", value].contains(&&*name(row, column)));
        add(&read(path)?.into_iter().filter(fits).collect::<Vec<_>>(), None)?;
    }
    for points in series.values_mut() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let figure = Figure {
        title: args
            .title
            .clone()
            .unwrap_or_else(|| format!("{} by {}", results::label(&args.y), results::label(&args.x))),
        x: axis(&args.x, "x", &all[0]),
        y: axis(&args.y, "y", &all[1]),
        series: series.into_iter().map(|((.., name), points)| Series { name, points }).collect(),
    };
    let files = figure.write(&args.out, &args.name)?.map(|p| p.display().to_string());
    match terminal.format {
        Output::Json => line(&json!({ "files": files })),
        Output::Text => text(&format!("{}\n", files.join("\n"))),
    }
}
