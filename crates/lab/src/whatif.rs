//! Which accelerator shortens a proof, and by how much: the three machines on the work of traced proofs.
//!
//! A trace (`docs/formats.md`, "Trace of proofs") gives for each step of a proof its time and its numbers of
//! permutations, multiplications and bytes. A machine takes over some kinds of steps; the others stay. By Amdahl's law,
//! the proof takes the time of the remaining steps plus the machine's time for its steps, in sequence.
//!
//! The Poseidon engine runs on the trees of the trace, one after another, in their own shapes, so small trees pay for
//! its pipelines. The time of the tree unit's multipliers follows from the numbers of products and bytes only.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::LabError;
use crate::error::field;
use crate::msm;
use crate::poseidon::{self, Outputs, formula};

/// The only accepted format, and its version.
const FORMAT: &str = "evergrove-trace";
const VERSION: u64 = 1;

/// The work of all steps of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Seconds of these steps.
    pub seconds: f64,
    /// Poseidon permutations.
    pub hashes: f64,
    /// Products of two field elements.
    pub multiplications: f64,
    /// Least number of bytes that pass through memory.
    pub bytes: f64,
    /// Messages of SumChecks: the work after each of them waits for a challenge.
    pub rounds: f64,
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.hashes += other.hashes;
        self.multiplications += other.multiplications;
        self.bytes += other.bytes;
        self.rounds += other.rounds;
    }
}

/// A Merkle tree of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Tree {
    /// log2 of the number of leaves.
    pub log_rows: u32,
    /// Words per leaf.
    pub columns: u32,
    /// log2 of the cosets whose leaves follow each other: of the blowup of the extension. 0 for a layer of FRI or a
    /// fold, whose extension is not a step of its own.
    pub log_blowup: u32,
}

/// The proofs of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proofs {
    /// Number of proofs.
    pub count: usize,
    /// Seconds of all proofs in sequence.
    pub seconds: f64,
    /// Steps by kind: `witness`, `lde`, `hashing`, `quotient`, `bus`, `rows`, `openings`, `fri`, `grinding`,
    /// `verification`. Hashing counts as `hashing` in all of them, and an extension outside FRI as `lde`.
    pub kinds: BTreeMap<String, Work>,
    /// The number of trees of each shape.
    #[serde(serialize_with = "as_list")]
    pub trees: BTreeMap<Tree, u64>,
    /// Sums of products of scalars and points (steps of the kind `msm`): the number of sums for each log2 of the
    /// points, rounded up.
    pub products: BTreeMap<u32, u64>,
}

/// A list, because keys of JSON objects are strings.
fn as_list<S: serde::Serializer>(trees: &BTreeMap<Tree, u64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(trees.iter().map(|(tree, count)| (tree.log_rows, tree.columns, tree.log_blowup, count)))
}

/// The unfinished tree of a track: its matrix, and its leaves so far.
struct Leaves {
    matrix: String,
    rows: u64,
    columns: u64,
    cosets: u32,
}

/// Finds the trees among the spans of a track, which come in order: the leaves of each coset, then the levels above in
/// a span with four columns and as many rows as there are leaves. A layer of FRI, or a fold, has a single span.
fn tree(pending: &mut Option<Leaves>, matrix: &str, rows: u64, columns: u64) -> Option<Tree> {
    let done = |rows: u64, columns: u64, cosets: u32| {
        let log_rows = rows.is_power_of_two().then(|| rows.ilog2()).filter(|log| *log > 0)?;
        Some(Tree { log_rows, columns: u32::try_from(columns).ok()?, log_blowup: cosets.ilog2() })
    };
    if matrix == "fri" || matrix == "fold" {
        return done(rows, columns, 1);
    }
    match pending.take().filter(|leaves| leaves.matrix == matrix) {
        Some(leaves) if columns == 4 && rows == leaves.rows => done(leaves.rows, leaves.columns, leaves.cosets),
        before => {
            let (sum, cosets) = before.map_or((0, 0), |leaves| (leaves.rows, leaves.cosets));
            let (rows, cosets) = (rows.saturating_add(sum), cosets + 1);
            *pending = Some(Leaves { matrix: matrix.to_owned(), rows, columns, cosets });
            None
        }
    }
}

impl Proofs {
    /// Reads a trace.
    ///
    /// # Errors
    /// If the text is not a trace of version 1, a span lacks its times or has values other than numbers, or no proof
    /// has steps.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let wrong = |found: &str| field("trace", found, format_args!("a trace of proofs: {FORMAT}, version {VERSION}"));
        let json: Value = serde_json::from_str(text).map_err(|e| wrong(&e.to_string()))?;
        let other = &json["otherData"];
        if other["format"] != FORMAT || other["version"] != VERSION {
            return Err(wrong(&format!("{} version {}", other["format"], other["version"])));
        }
        let events = json["traceEvents"].as_array().ok_or_else(|| wrong("no traceEvents"))?;
        let mut proofs = Self::default();
        let mut tracks: BTreeMap<u64, Option<Leaves>> = BTreeMap::new();
        for event in events.iter().filter(|e| e["ph"] == "X" && e["pid"] == 1) {
            let name = event["name"].as_str().unwrap_or_default();
            let kind = event["cat"].as_str().unwrap_or_default();
            let micros = event["dur"].as_f64().filter(|d| d.is_finite() && *d >= 0.0);
            let seconds = micros.ok_or_else(|| wrong(&format!("span {name:?} without a duration")))? / 1e6;
            if kind == "proof" {
                proofs.count += 1;
                proofs.seconds += seconds;
                continue;
            }
            let count = |key: &str| event["args"][key].as_f64().filter(|x| *x >= 0.0).unwrap_or(0.0);
            let work = Work {
                seconds,
                hashes: count("hashes"),
                multiplications: count("multiplications"),
                bytes: count("bytes"),
                rounds: count("rounds"),
            };
            if let Some(matrix) = name.strip_suffix(".hashing") {
                let track = tracks.entry(event["tid"].as_u64().unwrap_or(0)).or_default();
                if let Some(found) = tree(track, matrix, count("rows") as u64, count("columns") as u64) {
                    *proofs.trees.entry(found).or_default() += 1;
                }
            }
            if kind == "msm" && count("points") >= 1.0 {
                let log = count("points").log2().ceil() as u32;
                *proofs.products.entry(log).or_default() += 1;
            }
            let kind = match name.split_once('.') {
                Some((_, "hashing")) => "hashing",
                Some((matrix, "extension")) if matrix != "fri" => "lde",
                _ => kind,
            };
            proofs.kinds.entry(kind.to_owned()).or_default().add(&work);
        }
        if proofs.kinds.is_empty() || proofs.seconds <= 0.0 {
            return Err(wrong("no proof with steps"));
        }
        Ok(proofs)
    }
    /// The work of all steps of these kinds.
    pub fn of(&self, kinds: &[&str]) -> Work {
        let mut sum = Work::default();
        for work in kinds.iter().filter_map(|kind| self.kinds.get(*kind)) {
            sum.add(work);
        }
        sum
    }
}

/// The effect of a machine on the proofs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The machine.
    pub machine: String,
    /// The kinds of steps that the machine takes over.
    pub kinds: Vec<&'static str>,
    /// Seconds of these steps without the machine.
    pub before_s: f64,
    /// Seconds of these steps with the machine.
    pub after_s: f64,
    /// The bottleneck of the machine: `operations`, `bytes`, `latency` if a machine on trees takes much longer than for
    /// both, or `nothing to do`.
    pub bound: &'static str,
    /// Seconds of all proofs with the machine.
    pub proofs_s: f64,
    /// Time of all proofs without the machine, divided by that with it.
    pub speedup: f64,
    /// The speedup if the machine took no time: Amdahl's bound.
    pub limit: f64,
}

/// Seconds of a machine.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    /// For its operations only, and for its bytes only.
    operations_s: f64,
    bytes_s: f64,
    /// For all its work, by a model. Without a model, the longer of the two counts.
    pub(crate) all_s: Option<f64>,
}

fn answer(proofs: &Proofs, machine: String, kinds: &[&'static str], time: Time) -> Answer {
    let before = proofs.of(kinds).seconds;
    let least = time.operations_s.max(time.bytes_s);
    let after = time.all_s.unwrap_or(least);
    let bound = match (before > 0.0, time.operations_s >= time.bytes_s) {
        (false, _) => "nothing to do",
        _ if after > 1.5 * least => "latency",
        (true, true) => "operations",
        (true, false) => "bytes",
    };
    let total = proofs.seconds - before + after;
    Answer {
        machine,
        kinds: kinds.to_vec(),
        before_s: before,
        after_s: after,
        bound,
        proofs_s: total,
        speedup: proofs.seconds / total,
        limit: proofs.seconds / (proofs.seconds - before).max(f64::MIN_POSITIVE),
    }
}

/// The most absorptions of a tree that are run cycle by cycle. Above it, the closed form is used.
pub(crate) const RUN: u64 = 1 << 20;

/// Seconds of an engine on the trees of the proofs, one after another; `None` if the trace has no shapes of trees.
///
/// # Errors
/// If the engine refuses the parameters of a tree.
fn trees(proofs: &Proofs, engine: &poseidon::Params) -> Result<Option<Time>, LabError> {
    let (mut all, mut operations_s, mut bytes_s) = (0.0, 0.0, 0.0);
    for (tree, count) in &proofs.trees {
        // A leaf of up to four words is not hashed, but passes through the engine.
        let columns = tree.columns.max(5);
        let p = poseidon::Params { log_rows: tree.log_rows, columns, ..engine.clone() };
        p.check()?;
        let one = if p.passes() * p.rows() <= RUN {
            poseidon::run(&p)?.seconds
        } else {
            formula::cycles(&p) / (p.frequency_mhz as f64 * 1e6)
        };
        let count = *count as f64;
        all += count * one;
        operations_s += count * formula::lhe_bound_seconds(&p);
        bytes_s += count * p.bytes() as f64 * 8.0 / (p.link_gbit_s * 1e9);
    }
    Ok((!proofs.trees.is_empty()).then_some(Time { operations_s, bytes_s, all_s: Some(all) }))
}

/// Products of two 64-bit words in the area of one 256-bit multiplier of the tree unit. The area grows with the square
/// of the bits.
pub(crate) const NARROW: f64 = (256.0 / 64.0) * (256.0 / 64.0);

/// Seconds of the chiplet multiplier in its honest mode on the sums of the proofs, by the closed form.
///
/// # Errors
/// If a sum has more points than the multiplier accepts.
pub(crate) fn sums(proofs: &Proofs, multiplier: &msm::Params) -> Result<Time, LabError> {
    let (mut all, mut operations_s) = (0.0, 0.0);
    for (log_points, count) in &proofs.products {
        let p = msm::Params { log_points: *log_points, ..multiplier.clone() };
        p.check()?;
        let (cycle, count) = (1e-6 / p.frequency_mhz as f64, *count as f64);
        all += count * msm::formula::cycles(&p) * cycle;
        operations_s += count * msm::formula::stream_cycles(&p) * cycle;
    }
    // Its memory has no limit.
    Ok(Time { operations_s, bytes_s: 0.0, all_s: Some(all) })
}

/// The answers for the published machines: the Poseidon engine behind three links and beside the memory, the tree
/// unit's multipliers, narrow multipliers in the same area, tree unit and engine together, and the chiplet multiplier.
///
/// # Errors
/// If an engine refuses the shape of a tree.
pub fn answers(proofs: &Proofs) -> Result<Vec<Answer>, LabError> {
    let mut out = Vec::new();
    let hashing = proofs.of(&["hashing"]);
    let engine = poseidon::Params::default();
    let rate = engine.frequency_mhz as f64 * 1e6;
    let one = |name: &str, link_gbit_s: f64, lhe_cores: u32| -> Result<(Answer, Time), LabError> {
        // A prover answers queries, so every digest goes back.
        let p = poseidon::Params { link_gbit_s, lhe_cores, hbm_gb_s: 0, outputs: Outputs::Digests, ..engine.clone() };
        let counted = Time {
            operations_s: hashing.hashes / (f64::from(lhe_cores) * rate),
            bytes_s: hashing.bytes * 8.0 / (link_gbit_s * 1e9),
            all_s: None,
        };
        let time = trees(proofs, &p)?.unwrap_or(counted);
        Ok((answer(proofs, format!("Poseidon engine, {name}"), &["hashing"], time), time))
    };
    out.push(one("one core at 250 MHz, PCIe as measured, 24.5 Gbit/s", 24.5, 1)?.0);
    out.push(one("one core at 250 MHz, x8, 128 Gbit/s", 128.0, 1)?.0);
    out.push(one("two cores at 250 MHz, x16, 256 Gbit/s", 256.0, 2)?.0);
    let hbm = engine.hbm_gb_s as f64 * engine.hbm_efficiency;
    let (four, beside) = one(&format!("four cores beside {} GB/s", engine.hbm_gb_s), 8.0 * hbm, 4)?;
    out.push(four);
    let products = ["lde", "quotient", "bus", "rows", "openings", "fri"];
    let field = proofs.of(&products);
    let multipliers = Time { operations_s: field.multiplications / 32e9, bytes_s: field.bytes / 1024e9, all_s: None };
    out.push(answer(proofs, "tree unit's 32 multipliers at 1 GHz, 1024 GB/s".to_owned(), &products, multipliers));
    // The products of these proofs have 64-bit words.
    let narrow = Time { operations_s: multipliers.operations_s / NARROW, ..multipliers };
    let text = format!("{} multipliers of 64 bits in their area, 1 GHz, 1024 GB/s", 32.0 * NARROW);
    out.push(answer(proofs, text, &products, narrow));
    let fed = "tree unit fed by four Poseidon cores on one chip, 1024 GB/s".to_owned();
    let kinds = ["hashing", "lde", "quotient", "bus", "rows", "openings", "fri"];
    let both = Time {
        operations_s: multipliers.operations_s + beside.operations_s,
        bytes_s: (field.bytes + hashing.bytes) / 1024e9,
        all_s: beside.all_s.map(|trees| trees + multipliers.operations_s.max(multipliers.bytes_s)),
    };
    out.push(answer(proofs, fed, &kinds, both));
    let kinds: &[&str] = if proofs.products.is_empty() { &[] } else { &["msm"] };
    out.push(answer(proofs, "chiplet multiplier, 20 PEs".to_owned(), kinds, sums(proofs, &msm::Params::default())?));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trace() -> Value {
        let span = |name: &str, cat: &str, dur: f64, hashes: u64, multiplications: u64, bytes: u64| {
            let args = json!({ "hashes": hashes, "multiplications": multiplications, "bytes": bytes });
            json!({ "ph": "X", "name": name, "cat": cat, "pid": 1, "tid": 0, "ts": 0.0, "dur": dur, "args": args })
        };
        json!({
            "otherData": { "format": "evergrove-trace", "version": 1, "later": true },
            "traceEvents": [
                { "ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": { "name": "proofs" } },
                { "ph": "X", "name": "bucket", "cat": "task", "pid": 0, "tid": 0, "ts": 0.0, "dur": 9e6, "args": {} },
                span("wires.hashing", "hashing", 600_000.0, 250_000, 0, 16_000_000),
                span("fri.hashing", "fri", 100_000.0, 250_000, 0, 16_000_000),
                span("wires.extension", "lde", 200_000.0, 0, 64_000_000, 1_000_000),
                span("grinding", "grinding", 100_000.0, 65_536, 0, 0),
                span("bucket", "proof", 1_000_000.0, 0, 0, 0),
            ],
        })
    }

    #[test]
    fn amdahl() {
        let proofs = Proofs::parse(&trace().to_string()).expect("a trace");
        assert_eq!((proofs.count, proofs.seconds), (1, 1.0));
        assert!((proofs.kinds["hashing"].seconds - 0.7).abs() < 1e-12 && proofs.kinds["hashing"].hashes == 500_000.0);
        let answers = answers(&proofs).expect("machines");
        let x8 = &answers[1];
        // 500,000 permutations at 250 MHz and 32 MB at 16 GB/s take 2 ms each.
        assert!((x8.after_s - 0.002).abs() < 1e-9 && (x8.speedup - 1.0 / 0.302).abs() < 1e-9, "{x8:?}");
        assert!((x8.limit - 1.0 / 0.3).abs() < 1e-9);
        assert_eq!(answers[0].bound, "bytes");
        let last = answers.last().expect("answers");
        assert_eq!((last.bound, last.speedup), ("nothing to do", 1.0));
        assert!(answers.iter().all(|a| a.speedup <= a.limit));
    }

    #[test]
    fn sums_of_products_and_narrow_products() {
        let mut value = trace();
        let args = json!({ "points": 60_000 });
        let span =
            json!({ "ph": "X", "name": "commit", "cat": "msm", "pid": 1, "tid": 0, "dur": 200_000.0, "args": args });
        value["traceEvents"].as_array_mut().expect("events").push(span);
        let proofs = Proofs::parse(&value.to_string()).expect("a trace");
        assert_eq!(proofs.products, [(16, 1)].into());
        let answers = answers(&proofs).expect("machines");
        let last = answers.last().expect("answers");
        // 2^16 points at one per cycle take 65.5 us; the aggregation comes on top.
        assert!(last.before_s == 0.2 && last.after_s > 65e-6 && last.after_s < 200e-6, "{last:?}");
        let of = |part: &str| answers.iter().find(|a| a.machine.contains(part)).expect("an answer");
        let (wide, narrow) = (of("32 multipliers at"), of("512 multipliers of 64 bits"));
        assert!(narrow.after_s < wide.after_s && narrow.bound == "operations", "{wide:?} {narrow:?}");
        // 64 million products on 512 multipliers at 1 GHz.
        assert!((narrow.after_s - 64e6 / 512e9).abs() < 1e-9, "{narrow:?}");
    }

    /// Adds four cosets of 2^10 rows with the levels above them, and a layer of FRI.
    fn with_trees() -> Value {
        let mut value = trace();
        let span = |name: &str, rows: u64, columns: u64| {
            let args = json!({ "rows": rows, "columns": columns, "hashes": 1000, "multiplications": 0, "bytes": 8000 });
            json!({ "ph": "X", "name": name, "cat": "hashing", "pid": 1, "tid": 7, "ts": 0.0, "dur": 1000.0, "args": args })
        };
        let mut spans = vec![span("wires.hashing", 1024, 20); 4];
        spans.push(span("wires.hashing", 4096, 4));
        spans.push(span("fri.hashing", 512, 32));
        value["traceEvents"].as_array_mut().expect("events").extend(spans);
        value
    }

    #[test]
    fn trees_run_in_their_shapes() {
        let proofs = Proofs::parse(&with_trees().to_string()).expect("a trace");
        let shapes = [
            (Tree { log_rows: 9, columns: 32, log_blowup: 0 }, 1),
            (Tree { log_rows: 12, columns: 20, log_blowup: 2 }, 1),
        ];
        // The spans of `trace` have no shapes.
        assert_eq!(proofs.trees.iter().map(|(t, n)| (*t, *n)).collect::<Vec<_>>(), shapes);
        let answers = answers(&proofs).expect("machines");
        let x8 = &answers[1];
        let engine = poseidon::Params { hbm_gb_s: 0, outputs: Outputs::Digests, ..poseidon::Params::default() };
        let seconds = |log_rows, columns| {
            poseidon::run(&poseidon::Params { log_rows, columns, ..engine.clone() }).expect("an engine").seconds
        };
        let both = seconds(12, 20) + seconds(9, 32);
        assert!((x8.after_s / both - 1.0).abs() < 1e-9, "{} {both}", x8.after_s);
        // 2^9 rows are fewer than the stages of the pipeline, so each pass waits for the one before.
        assert!(answers.iter().all(|a| a.speedup <= a.limit));
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let refused = |value: Value| assert!(Proofs::parse(&value.to_string()).is_err(), "{value}");
        refused(json!({}));
        refused(json!([]));
        let mut other = trace();
        other["otherData"]["version"] = json!(2);
        refused(other);
        let mut none = trace();
        none["traceEvents"] = json!([]);
        refused(none);
        let mut timeless = trace();
        timeless["traceEvents"][2]["dur"] = json!("long");
        refused(timeless);
        assert!(Proofs::parse("{").is_err());
    }
}
