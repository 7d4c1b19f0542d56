//! `evergrove lab reproduce`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove_lab::cost::Costs;
use evergrove_lab::cpu::Baseline;
use evergrove_lab::reproduce::{Item, Line, Origin, Section, Tally, Verdict, reproduce};

use super::super::Terminal;
use crate::args::Output;
use crate::exit::CliError;
use crate::report::{line, text};

/// Show published tables and figures next to what the models say, with a verdict and the papers' contradictions
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Table or figure, or all
    #[arg(default_value = "all", value_name = "ITEM", value_parser = parse_item)]
    item: Choice,
    /// log2 of the leaves that this CPU computes for mtu-fig4 and mtu-fig6; scaled to 2^20
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(10..=24))]
    cpu_log_size: u32,
    /// Directory for figures, as SVG, PNG and CSV, and for the lines of each item as CSV
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// TOML table of costs that replaces entries of the built-in one
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    One(Item),
    All,
}

fn parse_item(text: &str) -> Result<Choice, String> {
    if text == "all" {
        return Ok(Choice::All);
    }
    let names = || Item::ALL.map(Item::name).join(", ");
    Item::named(text).map(Choice::One).ok_or_else(|| format!("choose all or one of {}", names()))
}

/// The published costs, where entries of a file replace the built-in ones.
pub(super) fn costs(file: Option<&PathBuf>) -> Result<Costs> {
    let mut costs = Costs::published();
    if let Some(path) = file {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let other = Costs::parse(&text).map_err(|e| {
            CliError::usage(format!("{}: {e}", path.display()), "see docs/models/costs.md for the format")
        })?;
        costs.overlay(other);
    }
    Ok(costs)
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let items = match args.item {
        Choice::One(item) => vec![item],
        Choice::All => Item::ALL.to_vec(),
    };
    let (costs, start) = (costs(args.costs.as_ref())?, Instant::now());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = if items.iter().any(|i| i.needs_cpu()) {
        Some(Baseline::measure(args.cpu_log_size, cores, || start.elapsed().as_secs_f64())?)
    } else {
        None
    };
    let (mut verdicts, mut tally) = (Vec::new(), Tally::default());
    for item in &items {
        let section = reproduce(*item, &costs, cpu.as_ref())?;
        if let Some(dir) = &args.out {
            keep(dir, &section)?;
        }
        verdicts.extend(section.lines.iter().map(|l| l.verdict));
        tally.add(&section);
        match terminal.format {
            Output::Json => line(&serde_json::to_value(&section)?),
            Output::Text => text(&table(&section)),
        }?;
    }
    if items.len() > 1 && terminal.format == Output::Text {
        let count = |v: Verdict| format!("{} {}", verdicts.iter().filter(|x| **x == v).count(), v.name());
        let counts = [Verdict::Equal, Verdict::Close, Verdict::Differs, Verdict::Ours].map(count).join(", ");
        text(&format!("{} items in {:.1} s: {counts}\n{tally}", items.len(), start.elapsed().as_secs_f64()))?;
    }
    Ok(())
}

/// Writes the figures and the lines of an item.
fn keep(dir: &Path, section: &Section) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    for (name, figure) in &section.figures {
        figure.write(dir, name)?;
    }
    let path = dir.join(format!("{}.lines.csv", section.item));
    std::fs::write(&path, section.csv()).with_context(|| format!("writing {}", path.display()))
}

/// A number with about five significant digits.
pub(super) fn digits(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e15 {
        return format!("{x}");
    }
    let places = (4 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{x:.places$}")
}

fn table(section: &Section) -> String {
    let cells = |l: &Line| {
        [
            l.quantity.clone(),
            l.origin.map_or("-", Origin::name).to_owned(),
            l.published.map_or_else(|| "-".into(), digits),
            digits(l.ours),
            l.unit.to_owned(),
            l.by().to_owned(),
            l.deviation.map_or_else(|| "-".into(), |d| format!("{:+.2} %", 100.0 * d)),
            l.verdict.name().to_owned(),
        ]
    };
    let head = ["quantity", "origin", "reference", "ours", "unit", "by", "deviation", "verdict"].map(str::to_owned);
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(section.lines.iter().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut out = format!("{}: {}\n", section.item, section.title);
    for row in rows {
        let [quantity, origin, published, ours, unit, by, deviation, verdict] = row;
        let [q, n, p, o, u, b, d, _] = widths;
        let line = format!(
            "  {quantity:<q$}  {origin:<n$}  {published:>p$}  {ours:>o$}  {unit:<u$}  {by:<b$}  {deviation:>d$}  {verdict}"
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    for note in &section.notes {
        out.push_str(&format!("  * {note}\n"));
    }
    out.push('\n');
    out
}
