//! Fig. 12 of the Reckle trees paper: digest translation and aggregate keys, compared with one circuit for everything.
//!
//! Each point is a run of `evergrove-bench digest-translation` or `bls-keys` in a separate process, so that its peak
//! memory is its own, or a row that such a run printed earlier.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use evergrove_verifier::Profile;
use serde::Deserialize;
use serde_json::Value;

use super::reckle::table::Table;
use evergrove_plot::{Axis, Figure, Origin, Point, Scale, Series};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the figures and the table go.
    #[arg(long, value_name = "DIR", default_value = "target/figures/apps")]
    out: PathBuf,
    /// log2 of the leaves that are translated.
    #[arg(long, value_delimiter = ',', default_value = "7,8,9,10")]
    leaf_logs: Vec<u8>,
    /// log2 of the keys in the table of aggregate keys.
    #[arg(long, default_value_t = 15)]
    key_log: u8,
    /// Signers of the committees.
    #[arg(long, value_delimiter = ',', default_value = "16,64,128,512")]
    signers: Vec<usize>,
    /// Profile of all proofs.
    #[arg(long, default_value_t = Profile::Paper)]
    profile: Profile,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Directory of cached circuits.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Draw these rows, printed by the two with --json, and measure nothing.
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
}

const PUBLISHED: &str = include_str!("../../published/apps.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    point: Vec<Stated>,
}

/// A value that the paper states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    figure: String,
    series: String,
    size: u64,
    seconds: f64,
}

/// A figure: its rows, and the fields that it draws.
struct Kind {
    file: &'static str,
    title: &'static str,
    kernel: &'static str,
    x: (&'static str, &'static str),
    /// The field with the seconds of our rows.
    ours: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        file: "fig-12a",
        title: "Digest translation of a whole table",
        kernel: "digest-translation",
        x: ("size", "leaves"),
        ours: "seconds",
    },
    Kind {
        file: "fig-12b",
        title: "Digest translation, one leaf changed",
        kernel: "digest-translation",
        x: ("size", "leaves"),
        ours: "update_seconds",
    },
    Kind {
        file: "fig-12c",
        title: "Aggregate BLS key of a committee",
        kernel: "bls-keys",
        x: ("signers", "signers"),
        ours: "aggregate_s",
    },
    Kind {
        file: "fig-12d",
        title: "Aggregate BLS key, one signer changed",
        kernel: "bls-keys",
        x: ("signers", "signers"),
        ours: "update_s",
    },
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let text = match &args.rows {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?,
        None => measure(args)?,
    };
    let rows: Vec<Value> = text
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).with_context(|| format!("no row: {line}")))
        .collect::<anyhow::Result<_>>()?;
    let mut rows: Vec<Value> = rows.into_iter().filter(|row| row["profile"] == args.profile.name()).collect();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    rows.sort_by_key(|row| (text(row, "kernel"), text(row, "impl"), size(row)));
    ensure!(!rows.is_empty(), "no row of profile {}", args.profile);
    for path in draw(&args.out, args, &rows)? {
        eprintln!("wrote {}", path.display());
    }
    eprintln!("wrote {}", table(args.profile, &rows).write(&args.out, "applications")?.display());
    Ok(())
}

/// The rows of all runs. Only the largest run of each application measures one circuit for everything.
fn measure(args: &Args) -> anyhow::Result<String> {
    let (profile, threads) = (args.profile.name(), args.threads.to_string());
    let run = |arguments: &[&str]| -> anyhow::Result<String> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).args(["--profile", profile, "--threads", &threads, "--json"]);
        if let Some(keys) = &args.keys {
            command.arg("--keys").arg(keys);
        }
        let output = command.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{} ended with {}", arguments.join(" "), output.status);
        eprintln!("measured {}", arguments.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    };
    let mut text = String::new();
    for (k, log) in args.leaf_logs.iter().rev().enumerate() {
        let log = log.to_string();
        let mut arguments = vec!["digest-translation", "--log-size", &log];
        if k > 0 {
            arguments.extend(["--measured-height", "1"]);
        }
        text += &run(&arguments)?;
    }
    let key_log = args.key_log.to_string();
    for (k, signers) in args.signers.iter().rev().enumerate() {
        let signers = signers.to_string();
        let mut arguments = vec!["bls-keys", "--log-size", &key_log, "--signers", &signers];
        if k > 0 {
            arguments.extend(["--measured-log", "1"]);
        }
        text += &run(&arguments)?;
    }
    Ok(text)
}

/// The number of signers or leaves.
fn size(row: &Value) -> Option<u64> {
    row["signers"].as_u64().or_else(|| row["size"].as_u64())
}

fn is_ours(row: &Value) -> bool {
    row["impl"] == "evergrove"
}

fn draw(out: &Path, args: &Args, rows: &[Value]) -> anyhow::Result<Vec<PathBuf>> {
    let published: Published = toml::from_str(PUBLISHED)?;
    let mut written = vec![];
    for Kind { file, title, kernel, x, ours } in KINDS {
        let (mut own, mut one) = (vec![], vec![]);
        for row in rows.iter().filter(|r| r["kernel"] == kernel) {
            let field = if is_ours(row) { ours } else { "seconds" };
            let (Some(x), Some(y)) = (row[x.0].as_f64(), row[field].as_f64()) else { continue };
            let origin = if row["extrapolated"] == true { Origin::Extrapolated } else { Origin::Measured };
            if is_ours(row) { &mut own } else { &mut one }.push(Point { x, y, origin });
        }
        let mut series = vec![("evergrove".to_owned(), own), ("one circuit".to_owned(), one)];
        for stated in published.point.iter().filter(|p| p.figure == file) {
            let point = Point { x: stated.size as f64, y: stated.seconds, origin: Origin::Published };
            series.push((stated.series.clone(), vec![point]));
        }
        let series = series.into_iter().filter(|(_, points)| !points.is_empty()).map(|(name, mut points)| {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series { name, points }
        });
        let figure = Figure {
            title: format!("{title}: profile {}, {} threads", args.profile, args.threads),
            x: Axis { label: x.1.to_owned(), column: x.1, scale: Scale::Log2 },
            y: Axis { label: "seconds".to_owned(), column: "seconds", scale: Scale::Log10 },
            series: series.collect(),
        };
        written.extend(figure.write(out, file)?);
    }
    Ok(written)
}

fn table(profile: Profile, rows: &[Value]) -> Table {
    let number = |row: &Value, fields: &[&str], digits: usize| {
        let found = fields.iter().find_map(|f| row[*f].as_f64());
        found.map_or("-".to_owned(), |x| format!("{x:.digits$}"))
    };
    let cells = rows.iter().map(|row| {
        vec![
            row["kernel"].as_str().unwrap_or("-").to_owned(),
            if is_ours(row) { "evergrove" } else { "one circuit" }.to_owned(),
            size(row).map_or("-".to_owned(), |n| n.to_string()),
            if is_ours(row) { number(row, &["seconds", "aggregate_s"], 2) } else { number(row, &["seconds"], 2) },
            number(row, &["update_seconds", "update_s", "seconds"], 2),
            number(row, &["ratio"], 1),
            number(row, &["verify_ms"], 2),
            number(row, &["proof_bytes"], 0),
            if row["extrapolated"] == true { "extrapolated" } else { "measured" }.to_owned(),
        ]
    });
    Table {
        about: format!(
            "Applications, profile {profile}: leaves translated or keys summed up, with the wrap. One circuit for everything is proven \
             anew for a change; its ratio is its seconds for each of our update in the same run."
        ),
        head: vec![
            "application",
            "by",
            "size",
            "seconds",
            "update seconds",
            "ratio to our update",
            "verify ms",
            "proof bytes",
            "origin",
        ],
        rows: cells.collect(),
    }
}
