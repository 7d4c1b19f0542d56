//! Compares implementations of one kernel. They take turns in one process, and the first one is ours.

use std::fmt::Debug;

use anyhow::{Context, ensure};
use evergrove_primitives::lanes::Isa;
use serde::Serialize;
use serde_json::Value;

/// One line of results.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) kernel: &'static str,
    pub(crate) r#impl: String,
    pub(crate) size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) columns: Option<usize>,
    pub(crate) threads: u32,
    pub(crate) seconds: f64,
    pub(crate) ns_per_element: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mperm_per_second: Option<f64>,
    /// Seconds divided by ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
}

impl Row {
    /// A row of one thread that takes `seconds` for all elements.
    pub(crate) fn new(kernel: &'static str, r#impl: impl Into<String>, size: usize, seconds: f64) -> Self {
        let (ns_per_element, r#impl) = (1e9 * seconds / size as f64, r#impl.into());
        Self {
            kernel,
            r#impl,
            size,
            columns: None,
            threads: 1,
            seconds,
            ns_per_element,
            mperm_per_second: None,
            ratio: None,
        }
    }

    /// Prints the row as JSON, or as a line of text that ends with `rate`.
    pub(crate) fn print(&self, json: bool, rate: &str) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let Self { kernel, r#impl, size, threads, seconds, ns_per_element, .. } = self;
        let columns = self.columns.map_or(String::new(), |c| format!(" rows of {c}"));
        let ratio = self.ratio.map_or(String::new(), |r| format!(", {r:.2} times ours"));
        println!(
            "{kernel} {impl:20} {size}{columns}, {threads} threads: {seconds:.4} s, {ns_per_element:.2} ns an element, {rate}{ratio}"
        );
        Ok(())
    }
}

/// The fields of every row. A row with only a published ratio has null values.
const FIELDS: [&str; 7] = ["kernel", "impl", "size", "threads", "isa", "seconds", "ns_per_element"];

/// A row with the fields that are derived from the others.
#[derive(Serialize)]
struct Line<'a, R> {
    #[serde(flatten)]
    row: &'a R,
    isa: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ns_per_element: Option<Value>,
}

/// Prints a row of results as a JSON object. All commands print their rows here.
///
/// # Errors
/// If the row lacks one of [`FIELDS`].
pub(crate) fn print_json<R: Serialize>(row: &R) -> anyhow::Result<()> {
    println!("{}", json(row)?);
    Ok(())
}

fn json<R: Serialize>(row: &R) -> anyhow::Result<String> {
    let fields = serde_json::to_value(row)?;
    let name = fields["impl"].as_str().context("a row names its implementation")?;
    let ns_per_element = match (fields.get("ns_per_element"), fields["seconds"].as_f64(), fields["size"].as_f64()) {
        (Some(_), ..) => None,
        (None, Some(seconds), Some(size)) => Some((seconds * 1e9 / size).into()),
        (None, ..) => Some(Value::Null),
    };
    let line = Line { row, isa: isa_of(name).to_string(), ns_per_element };
    let fields = serde_json::to_value(&line)?;
    let missing: Vec<_> = FIELDS.into_iter().filter(|field| fields.get(field).is_none()).collect();
    ensure!(missing.is_empty(), "a row of {} lacks {}", fields["kernel"], missing.join(", "));
    Ok(serde_json::to_string(&line)?)
}

/// The instruction set of an implementation: the one in its name, as in `evergrove-avx2-columns`, or else the best of
/// this CPU. This is so for peers as well, which choose their instructions themselves, by detection or at compile time.
fn isa_of(name: &str) -> Isa {
    let named = |part: &str| Isa::ALL.into_iter().find(|isa| isa.to_string() == part);
    name.split(['-', ' ']).find_map(named).unwrap_or_else(Isa::detect)
}

/// The median seconds of each of `count` implementations over `runs` turns.
///
/// They take turns, so that changes of the clock rate affect all of them. `run(k)` runs number k and returns its
/// seconds and its result. A first turn, which is not counted, touches the memory and compares the results.
pub(crate) fn medians<R: Debug + PartialEq>(
    count: usize,
    runs: usize,
    mut run: impl FnMut(usize) -> anyhow::Result<(f64, R)>,
) -> anyhow::Result<Vec<f64>> {
    let results = (0..count).map(|k| Ok(run(k)?.1)).collect::<anyhow::Result<Vec<R>>>()?;
    ensure!(results.iter().all(|r| *r == results[0]), "the implementations disagree: {results:?}");
    let mut seconds = vec![Vec::with_capacity(runs); count];
    for _ in 0..runs {
        for (k, seconds) in seconds.iter_mut().enumerate() {
            seconds.push(run(k)?.0);
        }
    }
    Ok(seconds.into_iter().map(median).collect())
}

/// The measurement with the median of a value; of an even number the upper one, and none of none.
pub(crate) fn median_by<T>(mut measured: Vec<T>, value: impl Fn(&T) -> f64) -> Option<T> {
    measured.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let at = measured.len() / 2;
    measured.into_iter().nth(at)
}

/// The median of some values as by [`median_by`]; 0 of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    median_by(values.into_iter().collect(), |value| *value).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_row_has_the_fields_of_the_contract() {
        let row = json!({ "kernel": "k", "impl": "evergrove-avx2-columns", "size": 4, "threads": 1, "seconds": 2.0 });
        let line: Value = serde_json::from_str(&json(&row).unwrap()).unwrap();
        assert_eq!((&line["isa"], &line["ns_per_element"]), (&json!("avx2"), &json!(5e8)));
        assert_eq!(FIELDS.map(|field| line.get(field).is_some()), [true; 7]);

        let row = json!({ "kernel": "k", "impl": "evergrove", "size": 4, "seconds": 2.0 });
        assert_eq!(json(&row).unwrap_err().to_string(), "a row of \"k\" lacks threads");
    }

    #[test]
    fn names_say_the_instruction_set() {
        let best = Isa::detect();
        for (name, isa) in [
            ("evergrove", best),
            ("plonky2", best),
            ("evergrove-portable", Isa::Portable),
            ("evergrove-avx512ifma-high-first", Isa::Avx512Ifma),
            ("evergrove-avx512 paper wrap", Isa::Avx512),
        ] {
            assert_eq!(isa_of(name), isa, "{name}");
        }
    }
}
