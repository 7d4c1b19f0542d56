//! The content keys of proofs.

use evergrove_commit::BackendSpec;
use evergrove_commit::batch::Batch;
use evergrove_jobs::Key;
use evergrove_verifier::{NodeKind, Scheme, Statement};

/// Context of the key derivation.
const DOMAIN: &str = "evergrove 2026-11 content key of a node proof v1";

/// The key under which a backend's proof of `statement` with the circuit `kind` is stored: BLAKE3 in key derivation
/// mode, with a context of our own. The input, with little-endian numbers: the backend's name (length in 1 byte, then
/// the bytes), its version (4 bytes), profile, class, kind and height (1 byte each), base (8 bytes), root and canonical
/// digest (32 bytes each). For another scheme than ours, the scheme's name follows. For an application, a zero byte,
/// its name and the digest of its parameters follow.
///
/// Only these values determine what the proof states. So a proof of a statement is the same result for every batch and
/// epoch, and a proof of an older root is never found under the key of a newer one.
pub fn proof_key(backend: &BackendSpec, kind: NodeKind, statement: &Statement) -> Key {
    let mut h = blake3::Hasher::new_derive_key(DOMAIN);
    let choice = &backend.choice;
    h.update(&[choice.name.len() as u8]);
    h.update(choice.name.as_bytes());
    h.update(&backend.version.to_le_bytes());
    h.update(&[choice.profile.code(), backend.class.height_max(), kind.code(), statement.height]);
    h.update(&statement.base.to_le_bytes());
    h.update(&statement.root.to_bytes());
    h.update(&statement.canonical.to_bytes());
    if choice.scheme != Scheme::Evergrove {
        h.update(choice.scheme.name().as_bytes());
    }
    if let Some(id) = backend.app_id() {
        h.update(&[0]);
        h.update(id.name.as_bytes());
        h.update(&id.parameters.to_bytes());
    }
    Key(*h.finalize().as_bytes())
}

/// The keys of all proofs of a batch.
pub(crate) fn keys(backend: &BackendSpec, batch: &Batch) -> Vec<Key> {
    let nodes = batch.nodes();
    let below = nodes.iter().map(|n| proof_key(backend, n.kind(), &n.statement));
    let wrap = backend.wraps.then(|| proof_key(backend, NodeKind::Wrap, batch.statement()));
    below.chain(wrap).collect()
}

#[cfg(test)]
mod tests {
    use evergrove_commit::BackendChoice;
    use evergrove_primitives::{Digest, Goldilocks};
    use evergrove_verifier::{AppSpec, HeightClass, Profile};

    use super::*;

    #[test]
    fn every_part_counts_and_the_key_is_frozen() {
        let digest = |x| Digest([Goldilocks::new(x); 4]);
        let spec = |name: &str, version, profile, class| BackendSpec {
            choice: BackendChoice::new(name, profile),
            version,
            class,
            capacity: 200,
            wraps: true,
        };
        let (paper, h27) = (Profile::Paper, HeightClass::H27);
        let base = spec("plonky2", 1, paper, h27);
        let statement = Statement { root: digest(1), canonical: digest(2), height: 20, base: 3 << 20 };
        let bucket = NodeKind::Bucket;
        let app = |name: &str, parameters: &[u8]| {
            let app = AppSpec { name: name.into(), parameters: parameters.to_vec() };
            BackendSpec { choice: base.choice.clone().with_app(Scheme::Selected, app), ..base.clone() }
        };
        let schemed =
            |spec: BackendSpec, scheme| BackendSpec { choice: spec.choice.clone().with_scheme(scheme), ..spec };
        let complete = schemed(app("a", &[1]), Scheme::Complete);
        let of_paper = BackendSpec { capacity: 32, ..schemed(base.clone(), Scheme::RecklePaper) };
        let keys = [
            proof_key(&base, bucket, &statement),
            proof_key(&of_paper, bucket, &statement),
            proof_key(&app("a", &[1]), bucket, &statement),
            proof_key(&app("a", &[2]), bucket, &statement),
            proof_key(&app("b", &[1]), bucket, &statement),
            proof_key(&complete, bucket, &statement),
            proof_key(&spec("plonky", 1, paper, h27), bucket, &statement),
            proof_key(&spec("plonky2", 2, paper, h27), bucket, &statement),
            proof_key(&spec("plonky2", 1, Profile::Proven, h27), bucket, &statement),
            proof_key(&spec("plonky2", 1, paper, HeightClass::H40), bucket, &statement),
            proof_key(&base, NodeKind::Merge, &statement),
            proof_key(&base, bucket, &Statement { root: digest(3), ..statement }),
            proof_key(&base, bucket, &Statement { canonical: digest(3), ..statement }),
            proof_key(&base, bucket, &Statement { height: 19, ..statement }),
            proof_key(&base, bucket, &Statement { base: 0, ..statement }),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
        assert_eq!(keys[0].to_string(), "307363c015078b89724b69b3dea6f85b4d7bc136c841e2576ba09d5e0aa25a85");
        // Capacity and wraps decide which statements are proven, not what a proof states.
        assert_eq!(proof_key(&BackendSpec { capacity: 1, wraps: false, ..base }, bucket, &statement), keys[0]);
    }
}
