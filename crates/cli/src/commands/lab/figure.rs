//! `evergrove lab pareto` and `evergrove lab plot`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove_lab::config::{Cell, Row};
use evergrove_lab::plot::{Axis, Figure, Origin, Point, Scale, Series};
use evergrove_lab::results;
use serde_json::json;

use super::super::Terminal;
use crate::args::Output;
use crate::exit::Mistake;
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
    /// Column whose values are series of their own
    #[arg(long, value_name = "COLUMN")]
    series: Option<String>,
    /// CSV of published points to mark: columns series, and those of the axes
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

fn read(path: &Path) -> Result<Vec<Row>> {
    let body = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    results::read_csv(&body)
        .map_err(|e| Mistake::usage(format!("{}: {e}", path.display()), "write it with `evergrove lab sweep`"))
}

fn numbers(rows: &[Row], column: &str) -> Result<Vec<f64>> {
    results::numbers(rows, column).map_err(|e| Mistake::usage(e.to_string(), "name a column of the file"))
}

pub(crate) fn pareto(args: &ParetoArgs, terminal: Terminal) -> Result<()> {
    let rows = read(&args.file)?;
    let front = results::pareto(&rows, &args.x, &args.y)
        .map_err(|e| Mistake::usage(e.to_string(), "name columns of the file"))?;
    let (xs, ys) = (numbers(&rows, &args.x)?, numbers(&rows, &args.y)?);
    for i in front {
        let id = name(&rows[i], "id");
        match terminal.format {
            Output::Json => line(&json!({ "id": id, &args.x: xs[i], &args.y: ys[i] })),
            Output::Text => text(&format!("{id}  {} {}  {} {}\n", args.x, xs[i], args.y, ys[i])),
        }
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

/// Logarithmic where the values span more than a decade.
fn axis(label: &str, column: &'static str, values: &[f64]) -> Axis {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let scale = if low > 0.0 && high > 10.0 * low { Scale::Log10 } else { Scale::Linear };
    Axis { label: label.to_owned(), column, scale }
}

pub(crate) fn plot(args: &PlotArgs, terminal: Terminal) -> Result<()> {
    let mut series: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let mut all = [Vec::new(), Vec::new()];
    let mut add = |path: &Path, origin: Origin, by: Option<&str>| -> Result<()> {
        let rows = read(path)?;
        let (xs, ys) = (numbers(&rows, &args.x)?, numbers(&rows, &args.y)?);
        for ((row, x), y) in rows.iter().zip(&xs).zip(&ys) {
            let name = by.map_or_else(|| args.y.clone(), |by| format!("{by} = {}", name(row, by)));
            let name = if origin == Origin::Published { format!("published: {name}") } else { name };
            series.entry(name).or_default().push(Point { x: *x, y: *y, origin });
        }
        all[0].extend(xs);
        all[1].extend(ys);
        Ok(())
    };
    add(&args.file, Origin::Modelled, args.series.as_deref())?;
    if let Some(path) = &args.published {
        add(path, Origin::Published, Some("series"))?;
    }
    for points in series.values_mut() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let figure = Figure {
        title: args.title.clone().unwrap_or_else(|| format!("{} over {}", args.y, args.x)),
        x: axis(&args.x, "x", &all[0]),
        y: axis(&args.y, "y", &all[1]),
        series: series.into_iter().map(|(name, points)| Series { name, points }).collect(),
    };
    let files = figure.write(&args.out, &args.name)?.map(|p| p.display().to_string());
    match terminal.format {
        Output::Json => line(&json!({ "files": files })),
        Output::Text => text(&format!("{}\n", files.join("\n"))),
    }
    Ok(())
}
