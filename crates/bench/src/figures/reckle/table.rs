//! Tables as Markdown and CSV.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use evergrove_verifier::Profile;

use crate::published::{Published, Quantity};
use crate::reckle::Compared;

/// A table with a sentence above it.
pub(in crate::figures) struct Table {
    pub(in crate::figures) about: String,
    pub(in crate::figures) head: Vec<&'static str>,
    pub(in crate::figures) rows: Vec<Vec<String>>,
}

impl Table {
    /// Writes `name.md` and `name.csv`; returns the path of the first.
    pub(in crate::figures) fn write(&self, dir: &Path, name: &str) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let head: Vec<String> = self.head.iter().map(|h| (*h).to_owned()).collect();
        let mut markdown = format!("{}\n\n{}|{}\n", self.about, line(&head), "---|".repeat(head.len()));
        let mut csv = format!("{}\n", head.join(","));
        for row in &self.rows {
            markdown.push_str(&line(row));
            let cells: Vec<String> = row.iter().map(|c| format!("\"{}\"", c.replace('"', "\"\""))).collect();
            csv.push_str(&format!("{}\n", cells.join(",")));
        }
        let path = dir.join(format!("{name}.md"));
        fs::write(&path, markdown).with_context(|| format!("writing {}", path.display()))?;
        let csv_path = dir.join(format!("{name}.csv"));
        fs::write(&csv_path, csv).with_context(|| format!("writing {}", csv_path.display()))?;
        Ok(path)
    }
}

/// The costs of one update: proofs, seconds, bytes of keys, peak memory. Then the same as other sources state them.
pub(super) fn one_update(
    compared: &[Compared],
    profile: Profile,
    threads: usize,
    published: Option<&Published>,
) -> Table {
    let batch = compared.first().map_or(0, |c| c.batch);
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
    let mut rows: Vec<Vec<String>> = vec![];
    for c in compared {
        let how = match (c.update.extrapolated, c.update.measured_batch == c.batch) {
            (false, true) => "measured".to_owned(),
            (false, false) => format!("measured in a batch of {}, as many proofs", c.update.measured_batch),
            (true, _) => format!("extrapolated from a batch of {}", c.update.measured_batch),
        };
        rows.push(vec![
            c.name.to_owned(),
            c.update.proofs.to_string(),
            format!("{:.2}", c.update.seconds),
            format!("{:.2}", c.facts.setup_s),
            format!("{} MiB", mib(c.facts.proving_key_bytes as u64)),
            format!("{} B", c.facts.verification_key_bytes),
            format!("{} B", c.facts.proof_bytes),
            format!("{} MiB", mib(c.peak_rss_bytes)),
            how,
        ]);
    }
    for time in published.iter().flat_map(|p| &p.times).filter(|t| t.quantity == Quantity::Update) {
        let size = published.and_then(|p| p.sizes.iter().find(|s| s.scheme == time.scheme));
        let size = |of: fn(&crate::published::Size) -> &String| size.map_or("-".to_owned(), |s| of(s).clone());
        rows.push(vec![
            time.scheme.clone(),
            "-".to_owned(),
            format!("{:.2}", time.seconds),
            "-".to_owned(),
            size(|s| &s.proving_keys),
            size(|s| &s.verification_key),
            size(|s| &s.proof),
            "-".to_owned(),
            format!("published: {}", time.machine),
        ]);
    }
    Table {
        about: format!(
            "One update: a member's value changes in a batch of {batch}. Profile {profile}, {threads} threads; wraps and compactions are in proofs and seconds, peak memory is that of a process of its own."
        ),
        head: vec![
            "scheme",
            "proofs",
            "seconds",
            "set-up seconds",
            "proving keys",
            "verification key",
            "proof",
            "peak memory",
            "origin",
        ],
        rows,
    }
}
