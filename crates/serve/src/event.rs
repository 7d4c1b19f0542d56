//! Events for callers that listen.

use evergrove::store::{BatchReport, Epoch};
use serde::Serialize;
use utoipa::ToSchema;

use crate::runs::Progress;

/// Replaces a cause for callers without a token.
pub(crate) const HIDDEN: &str = "the cause is shown with a token";

/// Something that happened. The server-sent event has the name in the field `event`, and this object as its data.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// An epoch was committed. Its proofs follow.
    Epoch {
        /// Number of the epoch.
        epoch: u64,
        /// Commitment of the epoch.
        commitment: String,
        /// Filled slots.
        rows: u64,
        /// Rows that were set.
        set: usize,
        /// Rows that were deleted.
        deleted: usize,
    },
    /// A batch is proven at an epoch.
    Proof {
        /// The batch.
        batch: String,
        /// The epoch.
        epoch: u64,
        /// Commitment of the epoch.
        commitment: String,
        /// The canonical digest of the batch's leaves.
        canonical_digest: String,
        /// The circuit of the final proof.
        proof_kind: String,
        /// Size of the proof's file in bytes.
        proof_bytes: usize,
        /// Proofs that this refresh made.
        proofs_made: usize,
        /// Proofs of the whole batch.
        proofs_total: usize,
        /// Duration of the refresh in seconds.
        seconds: f64,
    },
    /// Some proofs of the batch that the stream follows were started or made.
    Progress(Progress),
    /// A batch could not be proven. The service tries again with the next epoch, or after `retry_after`.
    Failure {
        /// The batch.
        batch: String,
        /// The epoch.
        epoch: u64,
        /// The reason.
        cause: String,
        /// Seconds until the service tries again if no epoch comes first.
        retry_after: u64,
    },
    /// No proof was started or finished for a long time. Epochs are committed without proofs.
    Stalled {
        /// The reason.
        cause: String,
    },
    /// Proofs are made again.
    Resumed,
    /// The service ends. This is the last event.
    Stopping,
}

impl Event {
    /// The name of the event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Epoch { .. } => "epoch",
            Self::Proof { .. } => "proof",
            Self::Progress(_) => "progress",
            Self::Failure { .. } => "failure",
            Self::Stalled { .. } => "stalled",
            Self::Resumed => "resumed",
            Self::Stopping => "stopping",
        }
    }

    /// The event for a caller without a token: without causes, which may name paths and positions, and without names of
    /// workers.
    pub(crate) fn public(mut self) -> Self {
        match &mut self {
            Self::Failure { cause, .. } | Self::Stalled { cause } => *cause = HIDDEN.into(),
            Self::Progress(progress) => progress.workers.clear(),
            Self::Epoch { .. } | Self::Proof { .. } | Self::Resumed | Self::Stopping => {}
        }
        self
    }

    pub(crate) fn of_epoch(epoch: &Epoch, set: usize, deleted: usize) -> Self {
        let (commitment, rows) = (epoch.commitment.to_string(), epoch.filled);
        Self::Epoch { epoch: epoch.number, commitment, rows, set, deleted }
    }

    pub(crate) fn of_proof(report: &BatchReport, seconds: f64) -> Self {
        Self::Proof {
            batch: report.name.clone(),
            epoch: report.epoch,
            commitment: report.commitment.to_string(),
            canonical_digest: report.canonical.to_string(),
            proof_kind: report.kind.name().into(),
            proof_bytes: report.bytes,
            proofs_made: report.made,
            proofs_total: report.total,
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_without_a_token_are_told_no_causes() {
        let failure = Event::Failure { batch: "b".into(), epoch: 3, cause: "/srv/s: slot 7".into(), retry_after: 1 };
        for event in [failure, Event::Stalled { cause: "no worker at 10.0.0.7".into() }] {
            assert_eq!(serde_json::to_value(event.public()).unwrap()["cause"], HIDDEN);
        }
        assert_eq!(Event::Resumed.public(), Event::Resumed);
    }

    #[test]
    fn names_are_those_in_the_data() {
        let failure = Event::Failure { batch: "b".into(), epoch: 3, cause: "no space".into(), retry_after: 1 };
        for event in [failure, Event::Stalled { cause: "no worker".into() }, Event::Resumed, Event::Stopping] {
            let json = serde_json::to_value(&event).unwrap();
            assert_eq!(json["event"], event.name());
        }
    }
}
