//! Which accelerator would shorten a proof, and by how much: the three machines on the work that a trace of proofs counts.
//!
//! A trace (`docs/formats.md`, "Trace of proofs") says for each step of a proof how long it took and how many permutations,
//! multiplications and bytes it had. A machine takes over some kinds of steps; what it can't do stays. The rest is Amdahl's
//! arithmetic: the proof takes what stays, and what the machine takes for its steps, one after the other.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::LabError;
use crate::error::field;
use crate::poseidon;

/// The only format that is read, and its version.
const FORMAT: &str = "evergrove-trace";
const VERSION: u64 = 1;

/// The work of steps of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Seconds that they took.
    pub seconds: f64,
    /// Permutations of Poseidon.
    pub hashes: f64,
    /// Products of two field elements.
    pub multiplications: f64,
    /// Bytes that pass through memory at least.
    pub bytes: f64,
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.hashes += other.hashes;
        self.multiplications += other.multiplications;
        self.bytes += other.bytes;
    }
}

/// The proofs of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proofs {
    /// How many.
    pub count: usize,
    /// Seconds of all of them, one after the other.
    pub seconds: f64,
    /// Steps by kind: `witness`, `lde`, `hashing`, `quotient`, `openings`, `fri`, `grinding`. Hashing within FRI counts as
    /// `hashing`.
    pub kinds: BTreeMap<String, Work>,
}

impl Proofs {
    /// Reads a trace.
    ///
    /// # Errors
    /// If it is no trace of version 1, a span lacks its times or has others than numbers, or no proof has steps.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let wrong = |found: &str| field("trace", found, format_args!("a trace of proofs: {FORMAT}, version {VERSION}"));
        let json: Value = serde_json::from_str(text).map_err(|e| wrong(&e.to_string()))?;
        let other = &json["otherData"];
        if other["format"] != FORMAT || other["version"] != VERSION {
            return Err(wrong(&format!("{} version {}", other["format"], other["version"])));
        }
        let events = json["traceEvents"].as_array().ok_or_else(|| wrong("no traceEvents"))?;
        let mut proofs = Self::default();
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
            };
            let kind = if name.ends_with(".hashing") { "hashing" } else { kind };
            proofs.kinds.entry(kind.to_owned()).or_default().add(&work);
        }
        if proofs.kinds.is_empty() || proofs.seconds <= 0.0 {
            return Err(wrong("no proof with steps"));
        }
        Ok(proofs)
    }
    /// All steps of some kinds.
    fn of(&self, kinds: &[&str]) -> Work {
        let mut sum = Work::default();
        for work in kinds.iter().filter_map(|kind| self.kinds.get(*kind)) {
            sum.add(work);
        }
        sum
    }
}

/// What a machine would do for the proofs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The machine.
    pub machine: String,
    /// The kinds of steps that it takes over.
    pub kinds: Vec<&'static str>,
    /// Seconds of these steps without it.
    pub before_s: f64,
    /// Seconds of these steps with it.
    pub after_s: f64,
    /// What bounds it: `operations`, `bytes` or `nothing to do`.
    pub bound: &'static str,
    /// Seconds of all proofs with it.
    pub proofs_s: f64,
    /// How many times faster the proofs are.
    pub speedup: f64,
    /// The same if the machine took no time: Amdahl's bound.
    pub limit: f64,
}

fn answer(proofs: &Proofs, machine: String, kinds: &[&'static str], operations_s: f64, bytes_s: f64) -> Answer {
    let before = proofs.of(kinds).seconds;
    let after = operations_s.max(bytes_s);
    let bound = match (before > 0.0, operations_s >= bytes_s) {
        (false, _) => "nothing to do",
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

/// The answers for the published machines: the Poseidon engine behind three links and beside the memory, the tree unit's
/// multipliers, both together, and the multiplier of chiplets.
pub fn answers(proofs: &Proofs) -> Vec<Answer> {
    let mut out = Vec::new();
    let hashing = proofs.of(&["hashing"]);
    let engine = poseidon::Params::default();
    let rate = engine.frequency_mhz as f64 * 1e6;
    for (name, gigabit) in
        [("PCIe as measured, 24.5 Gbit/s", 24.5), ("x8, 128 Gbit/s", 128.0), ("x16, 256 Gbit/s", 256.0)]
    {
        let machine = format!("Poseidon engine, one core at 250 MHz, {name}");
        out.push(answer(proofs, machine, &["hashing"], hashing.hashes / rate, hashing.bytes * 8.0 / (gigabit * 1e9)));
    }
    let hbm = engine.hbm_gb_s as f64 * engine.hbm_efficiency * 1e9;
    let four = format!("Poseidon engine, four cores beside {} GB/s", engine.hbm_gb_s);
    out.push(answer(proofs, four, &["hashing"], hashing.hashes / (4.0 * rate), hashing.bytes / hbm));
    let products = ["lde", "quotient", "openings", "fri"];
    let field = proofs.of(&products);
    let unit = "tree unit's 32 multipliers at 1 GHz, 1024 GB/s".to_owned();
    let (mul, bytes) = (field.multiplications / 32e9, field.bytes / 1024e9);
    out.push(answer(proofs, unit, &products, mul, bytes));
    let fed = "tree unit fed by four Poseidon cores on one chip, 1024 GB/s".to_owned();
    let kinds = ["hashing", "lde", "quotient", "openings", "fri"];
    let operations = mul + hashing.hashes / (4.0 * rate);
    out.push(answer(proofs, fed, &kinds, operations, (field.bytes + hashing.bytes) / 1024e9));
    // These proofs multiply no points of a curve.
    out.push(answer(proofs, "chiplet multiplier, 20 PEs".to_owned(), &[], 0.0, 0.0));
    out
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
        let answers = answers(&proofs);
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
