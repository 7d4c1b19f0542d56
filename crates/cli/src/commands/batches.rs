//! `evergrove batches`.

use anyhow::Result;
use evergrove::proof::Scheme;
use evergrove::store::{BatchStatus, Store};
use serde_json::{Value, json};

use super::Terminal;
use crate::args::{Output, StoreArgs};
use crate::report::{self, count, size};

/// List the batches of a store, or the members of one
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// List the positions of this batch instead, one a line
    #[arg(long, value_name = "NAME", conflicts_with = "drop")]
    members: Option<String>,
    /// Forget this batch; prune then removes its proofs
    #[arg(long, value_name = "NAME")]
    drop: Option<String>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.store.store)?;
    if let Some(name) = &args.members {
        let members = store.members(name)?;
        return match terminal.format {
            Output::Json => report::line(&json!({ "batch": name, "indices": members })),
            Output::Text => report::text(&members.iter().map(|i| format!("{i}\n")).collect::<String>()),
        };
    }
    if let Some(name) = &args.drop {
        store.drop_batch(name)?;
    }
    let batches = store.batches()?;
    for batch in &batches {
        match terminal.format {
            Output::Json => report::line(&object(batch)),
            Output::Text => report::text(&format!("{}\n", line(batch))),
        }?;
    }
    if batches.is_empty() && terminal.format == Output::Text {
        report::text("No batches.\n")?;
    }
    Ok(())
}

/// A batch as a JSON object.
pub(crate) fn object(batch: &BatchStatus) -> Value {
    let proven = batch.proven.as_ref().map(|p| {
        json!({
            "epoch": p.epoch, "commitment": p.commitment.to_string(), "canonical_digest": p.canonical.to_string(),
            "proof_kind": p.kind.name(), "proof_bytes": p.bytes, "proofs": p.total, "buckets": p.buckets,
        })
    });
    json!({
        "name": batch.name, "members": batch.len, "first": batch.first, "last": batch.last,
        "scheme": batch.backend.choice.scheme.name(), "backend": batch.backend.choice.name,
        "backend_version": batch.backend.version, "profile": batch.backend.choice.profile.name(),
        "application": batch.backend.choice.app.as_ref().map(|app| app.id().to_string()),
        "bucket_capacity": batch.backend.capacity, "proven": proven, "stale": !batch.fresh,
    })
}

/// A batch as one line for people.
pub(crate) fn line(batch: &BatchStatus) -> String {
    let state = match &batch.proven {
        Some(p) if batch.fresh => format!("fresh, {} of {}", p.kind, size(p.bytes)),
        Some(p) => format!("stale, proven at epoch {}", p.epoch),
        None => "not proven yet".into(),
    };
    let members = count(usize::try_from(batch.len).unwrap_or(usize::MAX), "member");
    let choice = &batch.backend.choice;
    let scheme = if choice.scheme == Scheme::default() { String::new() } else { format!("{} ", choice.scheme) };
    let app = choice.app.as_ref().map_or_else(String::new, |app| format!("{} ", app.name));
    format!(
        "{}: {members} from {} to {}, {app}{scheme}{} {}, {state}",
        batch.name, batch.first, batch.last, choice.name, choice.profile
    )
}
