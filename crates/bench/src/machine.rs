//! `machine` compares every kernel on every instruction set with its peers and with other builds of this program.
//!
//! Each measurement is a command of this program in a separate process. Builds take turns, and the median over the
//! rounds counts. A row has `kernel`, `impl`, `size` and similar fields of the command's row, the command's further
//! `arguments`, `build`, and `times_ours`: its seconds divided by those of our best implementation in this build. Rows
//! of our implementations also have the [`bound`](crate::bound) of their instructions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use evergrove_primitives::lanes::Isa;
use serde_json::{Map, Value, json};

use crate::bound::{Core, Measured};
use crate::turns::median;

/// The name of this build in the rows.
const OWN: &str = "default";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Another build of this program, as NAME=PATH, to take turns with: one for this CPU alone shows what peers gain by it, one of
    /// an earlier version what has changed. Any number of them.
    #[arg(long, value_name = "NAME=PATH", value_parser = parse_build)]
    beside: Vec<Build>,
    /// Sizes, as powers of two.
    #[arg(long, value_delimiter = ',', default_value = "10,15,20", value_parser = clap::value_parser!(u32).range(10..=20))]
    log_size: Vec<u32>,
    /// These kernels alone, by the names of their commands.
    #[arg(long, value_delimiter = ',', value_parser = KERNELS.map(|kernel| kernel.name))]
    kernel: Vec<String>,
    /// These instruction sets alone, beside the best one of this CPU; all that there are by default.
    #[arg(long, value_delimiter = ',', value_parser = parse_name)]
    isa: Vec<Isa>,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Rounds, of which the median counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Vector instructions that a core begins in a cycle, for bounds: by default four on AMD's cores, on Intel's three of AVX2 or two of
    /// AVX-512.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=8))]
    vector_ports: Option<u32>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// An instruction set, whether this CPU has it or not.
fn parse_name(name: &str) -> Result<Isa, String> {
    let names = || Isa::ALL.map(|isa| isa.to_string()).join(", ");
    Isa::ALL.into_iter().find(|isa| isa.to_string() == name).ok_or_else(|| format!("expected one of {}", names()))
}

#[derive(Clone)]
struct Build {
    name: String,
    program: PathBuf,
}

fn parse_build(text: &str) -> Result<Build, String> {
    let (name, path) = text.split_once('=').ok_or("expected NAME=PATH")?;
    if name.is_empty() || name == OWN {
        return Err(format!("{name:?} cannot be the name of another build"));
    }
    Ok(Build { name: name.into(), program: path.into() })
}

/// A command that measures a kernel.
#[derive(Clone, Copy)]
struct Kernel {
    name: &'static str,
    /// Arguments other than size, threads and instruction set, one list per measurement.
    variants: &'static [&'static [&'static str]],
    /// The largest size, as a power of two; larger sizes take minutes or much memory. `None` if the command chooses its
    /// size.
    most: Option<u32>,
}

const fn kernel(name: &'static str, variants: &'static [&'static [&'static str]], most: u32) -> Kernel {
    Kernel { name, variants, most: Some(most) }
}

const KERNELS: [Kernel; 14] = [
    kernel("merkle-poseidon", &[&["--columns", "8"], &["--columns", "136"]], 18),
    kernel("merkle-sha3", &[&[]], 20),
    kernel("ntt", &[&[]], 18),
    kernel("commit-matrix", &[&[]], 15),
    kernel("field-mul", &[&["--field", "bls12-381-fr"], &["--field", "bls12-381-fq"]], 18),
    kernel("mle-eval", &[&[]], 20),
    kernel("build-mle", &[&[]], 20),
    kernel("product-mle", &[&[]], 20),
    kernel("sumcheck", &[&[], &["--field", "quadratic"], &["--field", "cubic"]], 20),
    kernel("zerocheck", &[&[]], 20),
    kernel("msm-bls12-377", &[&[]], 18),
    kernel("msm-bls12-381", &[&[]], 18),
    kernel("msm-bn254", &[&[]], 18),
    Kernel { name: "plonky2-prove", variants: &[&["--profile", "paper"]], most: None },
];

/// The build and the row without its times.
type Key = (String, String);

/// Rows in the order of their first appearance, with their seconds in all rounds.
#[derive(Default)]
struct Rows {
    order: Vec<Key>,
    rows: HashMap<Key, (Map<String, Value>, Vec<f64>)>,
}

/// Fields of a row that identify the measurement and the implementation. Other fields may differ between rounds.
const NAMES: [&str; 8] = ["kernel", "impl", "size", "columns", "threads", "isa", "profile", "circuit"];

impl Rows {
    fn add(&mut self, build: &str, mut row: Map<String, Value>) -> anyhow::Result<()> {
        let seconds = row.get("seconds").and_then(Value::as_f64);
        row.retain(|name, _| NAMES.contains(&name.as_str()));
        // A row without a time is a published figure.
        let Some(seconds) = seconds else { return Ok(()) };
        let key = (build.to_owned(), serde_json::to_string(&row)?);
        if !self.rows.contains_key(&key) {
            self.order.push(key.clone());
        }
        self.rows.entry(key).or_insert((row, Vec::new())).1.push(seconds);
        Ok(())
    }

    /// The rows with median times, and with their ratios to our best implementation in this build.
    fn finish(mut self) -> Vec<Map<String, Value>> {
        let mut out = Vec::new();
        for key in self.order {
            let Some((mut row, seconds)) = self.rows.remove(&key) else { continue };
            let median = median(seconds);
            row.insert("build".into(), key.0.into());
            row.insert("seconds".into(), median.into());
            if let Some(size) = row.get("size").and_then(Value::as_f64) {
                row.insert("ns_per_element".into(), (median * 1e9 / size).into());
            }
            out.push(row);
        }
        let ours: HashMap<String, f64> =
            out.iter().filter(|row| is_ours(row)).map(|row| (what(row), time(row))).collect();
        for row in &mut out {
            if let Some(ours) = ours.get(&what(row)) {
                let times = time(row) / ours;
                row.insert("times_ours".into(), times.into());
            }
        }
        out
    }
}

/// Whether the row is of our best implementation in this build.
fn is_ours(row: &Map<String, Value>) -> bool {
    let isa = Isa::detect().to_string();
    row["build"] == OWN && (row["impl"] == "evergrove" || row["impl"] == format!("evergrove-{isa}"))
}

/// The bound of a row of one of our implementations, in any build.
fn bound(row: &Map<String, Value>, variant: &[&str], core: &Core) -> Option<Value> {
    let isa = Isa::ALL.into_iter().find(|isa| row["isa"] == isa.to_string())?;
    if row["impl"] != "evergrove" && row["impl"] != format!("evergrove-{isa}") {
        return None;
    }
    let number = |name: &str| row.get(name).and_then(Value::as_u64);
    let measured = Measured {
        kernel: row["kernel"].as_str()?,
        arguments: variant,
        isa,
        size: number("size")? as usize,
        columns: number("columns").unwrap_or(0) as usize,
        threads: number("threads")? as u32,
    };
    measured.json(core, time(row))
}

fn time(row: &Map<String, Value>) -> f64 {
    row.get("seconds").and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// Identifies what a row measures: all fields except those of the implementation and the times.
fn what(row: &Map<String, Value>) -> String {
    let shared = |name: &&String| !["impl", "isa", "build", "seconds", "ns_per_element"].contains(&name.as_str());
    let mut fields: Vec<String> = row.keys().filter(shared).map(|name| format!("{name}={}", row[name])).collect();
    fields.sort();
    fields.join(" ")
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let own = Build { name: OWN.into(), program: std::env::current_exe()? };
    let builds: Vec<Build> = [own].into_iter().chain(args.beside.iter().cloned()).collect();
    let wanted = |isa: &Isa| args.isa.is_empty() || args.isa.contains(isa) || *isa == Isa::detect();
    let isas: Vec<Isa> = Isa::ALL.into_iter().filter(wanted).collect();
    let mut core = Core::new(args.vector_ports);
    for kernel in KERNELS {
        if !args.kernel.is_empty() && !args.kernel.iter().any(|name| name == kernel.name) {
            continue;
        }
        for variant in kernel.variants {
            let sizes: Vec<Option<u32>> = match kernel.most {
                Some(most) => args.log_size.iter().filter(|&&n| n <= most).map(|&n| Some(n)).collect(),
                None => vec![None],
            };
            for log_size in sizes {
                let common = measurement(&kernel, variant, log_size, args.threads);
                eprintln!("measuring {}", common.join(" "));
                let mut rows = Rows::default();
                for _ in 0..args.rounds {
                    core.measure();
                    for isa in isas.iter().filter(|isa| isa.is_available()) {
                        for build in &builds {
                            for row in rows_of(build, &common, *isa)? {
                                rows.add(&build.name, row)?;
                            }
                        }
                    }
                }
                for mut row in rows.finish() {
                    if let Some(bound) = bound(&row, variant, &core) {
                        row.insert("bound".into(), bound);
                    }
                    row.insert("arguments".into(), variant.join(" ").into());
                    print(&row, args.json)?;
                }
                for isa in isas.iter().filter(|isa| !isa.is_available()) {
                    let (name, size) = (format!("evergrove-{isa}"), log_size.map(|n| 1u64 << n));
                    let reason = format!("not measured: this CPU lacks {isa}");
                    let row = json!({
                        "kernel": kernel.name, "impl": name, "size": size, "threads": args.threads, "isa": isa.to_string(),
                        "seconds": null, "ns_per_element": null, "build": OWN, "arguments": variant.join(" "), "note": reason,
                    });
                    print(row.as_object().context("a row")?, args.json)?;
                }
            }
        }
    }
    Ok(())
}

fn measurement(kernel: &Kernel, variant: &[&str], log_size: Option<u32>, threads: u32) -> Vec<String> {
    let size = log_size.map(|n| ["--log-size".to_owned(), n.to_string()]);
    let sizes = size.into_iter().flatten().chain(["--threads".to_owned(), threads.to_string()]);
    [kernel.name.to_owned()].into_iter().chain(variant.iter().map(|&arg| arg.to_owned())).chain(sizes).collect()
}

/// The rows that a build prints for a kernel on an instruction set, including peers. The best instruction set is not
/// passed as an argument, because all commands run their peers only without that argument.
fn rows_of(build: &Build, common: &[String], isa: Isa) -> anyhow::Result<Vec<Map<String, Value>>> {
    let what = || format!("{} {}", build.program.display(), common.join(" "));
    let mut command = Command::new(&build.program);
    command.args(common).arg("--json").stdin(Stdio::null()).stderr(Stdio::inherit());
    if isa != Isa::detect() {
        command.args(["--isa", &isa.to_string()]);
    }
    let output = command.output().with_context(what)?;
    ensure!(output.status.success(), "{} failed: {}", what(), output.status);
    let rows = String::from_utf8(output.stdout)?;
    let rows =
        rows.lines().map(serde_json::from_str).collect::<Result<Vec<Map<String, Value>>, _>>().with_context(what)?;
    // Other instruction sets have their own measurements, and peers are measured only with the best one.
    let best = isa == Isa::detect();
    let own = |row: &Map<String, Value>| row["isa"] == isa.to_string();
    let ours = |row: &Map<String, Value>| row["impl"].as_str().is_some_and(|name| name.starts_with("evergrove"));
    Ok(rows.into_iter().filter(|row| if ours(row) { own(row) } else { best }).collect())
}

fn print(row: &Map<String, Value>, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        println!("{}", serde_json::to_string(row)?);
        return Ok(());
    }
    let text = |name: &str| row.get(name).map_or(String::new(), |x| x.as_str().map_or(x.to_string(), str::to_owned));
    let what = format!("{} {} {} {}", text("kernel"), text("circuit"), text("size"), text("arguments"));
    let who = format!("{} ({})", text("impl"), text("build"));
    match row.get("note") {
        Some(note) => println!("{what:40} {who:32} {}", note.as_str().unwrap_or_default()),
        None => {
            let ratio =
                row.get("times_ours").and_then(Value::as_f64).map_or(String::new(), |r| format!("{r:8.2} times ours"));
            let bound = row.get("bound").and_then(|bound| bound["times"].as_f64());
            let bound = bound.map_or(String::new(), |times| format!("{times:8.2} times the bound"));
            println!("{what:40} {who:32} {:10.6} s {ratio}{bound}", time(row));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, isa: &str, seconds: f64) -> Map<String, Value> {
        let row = json!({ "kernel": "k", "impl": name, "size": 1000, "threads": 1, "isa": isa, "seconds": seconds, "ratio": 2 });
        row.as_object().unwrap().clone()
    }

    #[test]
    fn rows_have_medians_and_ratios_to_our_best_body() {
        let best = Isa::detect().to_string();
        let mut rows = Rows::default();
        for (ours, peer) in [(4.0, 8.0), (1.0, 9.0), (2.0, 10.0)] {
            rows.add(OWN, row("evergrove", &best, ours)).unwrap();
            rows.add("native", row("peer", &best, peer)).unwrap();
        }
        let rows = rows.finish();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["seconds"], &rows[0]["times_ours"]), (&2.0.into(), &1.0.into()));
        assert_eq!((&rows[1]["seconds"], &rows[1]["times_ours"]), (&9.0.into(), &4.5.into()));
        assert_eq!((&rows[1]["build"], &rows[1]["ns_per_element"]), (&"native".into(), &9e6.into()));
        assert!(!rows[0].contains_key("ratio"), "a figure of one round");
    }

    #[test]
    fn names_of_builds_are_not_our_own() {
        assert!(parse_build("native=target/x").is_ok());
        assert!(["native", "=x", "default=x"].into_iter().all(|text| parse_build(text).is_err()));
    }
}
