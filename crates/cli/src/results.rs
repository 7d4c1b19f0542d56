//! Proven batches and estimates as fields of a report.

use evergrove::Backend;
use evergrove::commit::BackendSpec;
use evergrove::proof::soundness::{self, SoundnessBits};
use evergrove::proof::{HeightClass, Profile, Scheme};
use evergrove::store::{BatchEstimate, BatchReport};
use serde_json::{Value, json};

use crate::report::{Report, count, seconds, size};

/// The names of a scheme's proofs without and with children.
fn nouns(scheme: Scheme) -> [&'static str; 2] {
    match scheme {
        Scheme::Evergrove | Scheme::Selected | Scheme::Complete => ["bucket", "merge"],
        Scheme::RecklePaper | Scheme::Tree => ["block", "level"],
    }
}

/// Adds a proven batch.
pub(crate) fn add_batch(report: &mut Report, batch: &BatchReport, proof_seconds: f64) {
    let (buckets, merges) = (batch.buckets, batch.merges);
    report.add("batch", batch.name.clone());
    report.add("epoch", batch.epoch);
    report.add("commitment", batch.commitment.to_string());
    report.add("members", batch.members);
    match batch.backend.choice.scheme.is_complete() {
        true => report.hidden("canonical_digest", Value::Null),
        false => report.add("canonical_digest", batch.canonical.to_string()),
    }
    add_scheme(report, batch.backend.choice.scheme);
    report.add("backend", batch.backend.choice.name.clone());
    report.add("profile", batch.backend.choice.profile.name());
    let [leaf, inner] = nouns(batch.backend.choice.scheme);
    let all = format!(
        "{} of {} ({}, {}{})",
        batch.made,
        batch.total,
        count(buckets, leaf),
        count(merges, inner),
        if batch.backend.wraps { ", 1 wrap" } else { "" }
    );
    report.add_as("proofs_made", batch.made, all);
    report.hidden("proofs_total", batch.total);
    report.hidden("buckets", buckets);
    report.hidden("merges", merges);
    report.hidden("wrapped", batch.backend.wraps);
    if batch.damaged > 0 {
        report.add_as("proofs_damaged", batch.damaged, format!("{}, made again", batch.damaged));
    }
    report.add("proof_kind", batch.kind.name());
    report.add_as("proof_bytes", batch.bytes, size(batch.bytes as u64));
    report.add_as("seconds", proof_seconds, seconds(proof_seconds));
    add_bits(report, &batch.backend);
}

/// Adds the scheme. People see it only if it is not the default one.
pub(crate) fn add_scheme(report: &mut Report, scheme: Scheme) {
    if scheme == Scheme::default() {
        report.hidden("scheme", scheme.name());
    } else {
        report.add("scheme", scheme.name());
    }
}

/// Adds the soundness of a backend's proofs.
pub(crate) fn add_bits(report: &mut Report, backend: &BackendSpec) {
    bits(report, &backend.choice.name, backend.choice.profile, backend.class);
}

/// Adds the three soundness numbers. A backend that executes everything again has none.
pub(crate) fn bits(report: &mut Report, backend: &str, profile: Profile, class: HeightClass) {
    if !backend.parse().is_ok_and(Backend::is_succinct) {
        for key in ["bits_unique_decoding", "bits_johnson", "bits_conjectured"] {
            report.hidden(key, Value::Null);
        }
        report
            .note(format!("the {backend} backend executes everything again: its proofs are for tests, and not short"));
        return;
    }
    add_soundness(report, soundness::bits(profile, class));
}

/// Adds soundness numbers, rounded to a tenth of a bit.
pub(crate) fn add_soundness(report: &mut Report, bits: SoundnessBits) {
    let mut add = |key, bits: f64, how: &str| {
        let rounded = (bits * 10.0).round() / 10.0;
        report.add_as(key, rounded, format!("{rounded:.1} ({how})"));
    };
    add("bits_unique_decoding", bits.unique_decoding, "proven, by unique decoding");
    add("bits_johnson", bits.johnson, "proven up to the Johnson bound, ePrint 2025/2055");
    add("bits_conjectured", bits.conjectured, "conjectured, random words");
}

/// Adds an estimate.
pub(crate) fn add_estimate(report: &mut Report, estimate: &BatchEstimate) {
    report.add("batch", estimate.name.clone());
    report.add("members", estimate.members);
    add_scheme(report, estimate.backend.choice.scheme);
    report.add("backend", estimate.backend.choice.name.clone());
    report.add("profile", estimate.backend.choice.profile.name());
    let [leaf, inner] = nouns(estimate.backend.choice.scheme);
    let parts = [(estimate.buckets, leaf), (estimate.merges, inner), (estimate.wraps, "wrap")];
    let parts: Vec<_> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| count(n, noun)).collect();
    let parts = if parts.is_empty() { "nothing to make".into() } else { parts.join(", ") };
    report.add_as(
        "proofs_to_make",
        estimate.to_make(),
        format!("{} of {} ({parts})", estimate.to_make(), estimate.total),
    );
    report.hidden("proofs_total", estimate.total);
    report.hidden("buckets", estimate.buckets);
    report.hidden("merges", estimate.merges);
    report.hidden("wraps", estimate.wraps);
    let parallel =
        format!("{} with a worker for every proof, about {}", estimate.depth, seconds(estimate.parallel_seconds));
    report.add_as("rounds", estimate.depth, parallel);
    report.hidden("parallel_seconds", estimate.parallel_seconds);
    report.add_as("seconds", estimate.seconds, format!("about {}, one proof at a time", seconds(estimate.seconds)));
    report.add_as("memory_bytes", estimate.memory_bytes, format!("about {}", size(estimate.memory_bytes)));
    report.add_as("disk_bytes", estimate.disk_bytes, format!("about {}", size(estimate.disk_bytes)));
}

/// An estimate as a JSON object.
pub(crate) fn estimate_object(estimate: &BatchEstimate) -> Value {
    let mut report = Report::default();
    add_estimate(&mut report, estimate);
    report.object()
}

/// A proven batch as a JSON object.
pub(crate) fn batch_object(batch: &BatchReport) -> Value {
    json!({
        "batch": batch.name, "members": batch.members, "canonical_digest": batch.canonical.to_string(),
        "proofs_made": batch.made, "proofs_total": batch.total, "buckets": batch.buckets, "merges": batch.merges,
        "scheme": batch.backend.choice.scheme.name(), "wrapped": batch.backend.wraps, "proof_kind": batch.kind.name(), "proof_bytes": batch.bytes,
        "backend": batch.backend.choice.name, "profile": batch.backend.choice.profile.name(),
    })
}
