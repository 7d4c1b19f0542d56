//! The content keys of proofs.

use evergrove_commit::batch::Batch;
use evergrove_jobs::Key;
use evergrove_proof::{NodeKind, Statement};

use crate::BackendSpec;

/// Domain of the keys.
const DOMAIN: &str = "evergrove 2026-11 content key of a node proof v1";

/// What the proof of `statement` by the circuit `kind` of a backend is stored under: BLAKE3, in key derivation mode with a
/// context of our own, of backend name (length in 1 byte, then the bytes), backend version (4 bytes), profile, class and
/// kind (1 byte each), height (1 byte), base (8 bytes), root and canonical digest (32 bytes each), numbers little-endian.
///
/// Nothing else decides what the proof states, so that a proof of the same statement is the same result whichever batch or
/// epoch asks for it, and a proof of an older root is never found under the key of a newer one.
pub fn proof_key(backend: &BackendSpec, kind: NodeKind, statement: &Statement) -> Key {
    let mut h = blake3::Hasher::new_derive_key(DOMAIN);
    h.update(&[backend.id.name.len() as u8]);
    h.update(backend.id.name.as_bytes());
    h.update(&backend.id.version.to_le_bytes());
    h.update(&[backend.profile.code(), backend.class.height_max(), kind.code(), statement.height]);
    h.update(&statement.base.to_le_bytes());
    h.update(&statement.root.to_bytes());
    h.update(&statement.canonical.to_bytes());
    Key(*h.finalize().as_bytes())
}

/// The keys of every proof of a batch.
pub(crate) fn keys(backend: &BackendSpec, batch: &Batch) -> Vec<Key> {
    let nodes = batch.nodes();
    let below = nodes.iter().map(|n| proof_key(backend, n.kind(), &n.statement));
    let wrap = backend.wraps.then(|| proof_key(backend, NodeKind::Wrap, batch.statement()));
    below.chain(wrap).collect()
}
