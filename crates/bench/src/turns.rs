//! Implementations of one kernel side by side: they take turns in one process, and the first is ours.

use std::fmt::Debug;

use anyhow::ensure;
use serde::Serialize;

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
    /// The implementation's seconds per second of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
}

impl Row {
    /// Prints the row as JSON, or as a line of text that ends with `rate`.
    pub(crate) fn print(&self, json: bool, rate: &str) -> anyhow::Result<()> {
        if json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
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

/// The median seconds of each of `count` implementations over `runs` turns.
///
/// They take turns, so that a change of the clock's rate meets all of them. `run(k)` runs number k and returns its seconds
/// and its result. A first turn, not counted, touches the memory and compares the results.
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
    let median = |mut s: Vec<f64>| {
        s.sort_by(f64::total_cmp);
        s[s.len() / 2]
    };
    Ok(seconds.into_iter().map(median).collect())
}
