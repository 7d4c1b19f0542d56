//! Keys of an application's circuits.
//!
//! Keys follow from the application, the scheme, the profile and the height class: a verifier builds the circuits
//! (seconds), and keeps the keys in a directory that it trusts like the program itself. They never come from a prover.

use std::path::{Path, PathBuf};

use evergrove_verifier::soundness::{CircuitShape, Layer, SoundnessBits};
use evergrove_verifier::{AppId, FriParams, HeightClass, NodeKind, Profile, Scheme, keys as pinned};

use super::size::{MAX_CAPACITY, MAX_DEGREE_BITS, known};
use super::{Size, SizeError};
use crate::cache;
use crate::gates::Gates;
use crate::keys::{CommonData, KeySet};

/// Version of the circuits of applications: kept keys of another version are not read. A test holds digests of circuits
/// beside it, so a change of circuits requires a new version.
pub const CIRCUITS_VERSION: u32 = 3;

/// The keys of an application's circuits, with the circuits' size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppKeys {
    /// Leaves and rows.
    pub size: Size,
    /// Keys and common data.
    pub set: KeySet,
}

/// Whose circuits and keys are meant: an application's of one scheme, profile and height class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitSetId {
    /// The application.
    pub app: AppId,
    /// The scheme.
    pub scheme: Scheme,
    /// The profile.
    pub profile: Profile,
    /// The height class.
    pub class: HeightClass,
}

impl CircuitSetId {
    /// The place of the keys in `dir`.
    fn keys_file(&self, dir: &Path) -> PathBuf {
        let Self { app, scheme, profile, class } = self;
        let (name, digest) = (&app.name, &app.parameters.to_string()[..24]);
        let height = class.height_max();
        dir.join(format!("app-v{CIRCUITS_VERSION}-{name}-{digest}-{scheme}-{profile}-{height}.keys"))
    }

    /// The place of the circuits, beside the keys.
    pub(super) fn circuits_file(&self, dir: &Path) -> PathBuf {
        self.keys_file(dir).with_extension("circuits")
    }

    /// The first bytes of the keys' file, whose name has the beginning of the digest alone.
    fn header(&self) -> Vec<u8> {
        let Self { app, scheme, profile, class } = self;
        format!("{app} {scheme} {profile} {}\n", class.height_max()).into_bytes()
    }
}

impl AppKeys {
    /// The keys in `dir`, `None` unless an intact file has them.
    pub fn kept(dir: &Path, id: &CircuitSetId) -> Option<Self> {
        let bytes = cache::read(&id.keys_file(dir))?;
        let bytes = bytes.strip_prefix(&id.header()[..])?;
        let (head, rest) = bytes.split_first_chunk::<5>()?;
        let [a, b, c, d, degree_bits] = *head;
        let capacity = u32::from_le_bytes([a, b, c, d]) as usize;
        let set = KeySet::from_pinned(&pinned::KeySet::decode(rest).ok()?).ok()?;
        let size = Size { capacity, degree_bits: degree_bits.into() };
        if !(1..=MAX_CAPACITY).contains(&capacity) || size.degree_bits > MAX_DEGREE_BITS {
            return None;
        }
        let node = node_params(id.scheme, id.profile, size.degree_bits).ok()?;
        set.check_params(&node, wrap_params(&set, id.profile).as_ref()).ok()?;
        Some(Self { size, set })
    }

    /// Leaves the keys in `dir`. Keys with gates that [`Gates`] does not list, and keys that cannot be written, are
    /// built again next time.
    pub fn keep(&self, dir: &Path, id: &CircuitSetId) {
        let common = [Some(&self.set.node_common), self.set.wrap.as_ref().map(|w| &w.0)];
        if common.into_iter().flatten().any(|c| c.to_bytes(&Gates).is_err()) {
            return;
        }
        let mut bytes = id.header();
        bytes.extend((self.size.capacity as u32).to_le_bytes());
        bytes.push(self.size.degree_bits as u8);
        bytes.extend(self.set.to_pinned(id.profile, id.class).encode());
        let _ = cache::write(&id.keys_file(dir), &bytes);
    }

    /// The layers of a proof by these keys, for their soundness: none for a profile of another backend. Tables that a bucket verifies are not among them.
    pub fn layers(&self, scheme: Scheme, profile: Profile) -> Vec<Layer> {
        let Ok(node) = node_params(scheme, profile, self.size.degree_bits) else { return Vec::new() };
        let capacity = (scheme == Scheme::Selected).then_some(self.size.capacity);
        let common = &self.set.node_common;
        let mut out = vec![layer(NodeKind::Bucket, node, common, capacity), layer(NodeKind::Merge, node, common, None)];
        if let (Some((common, _)), Some(params)) = (&self.set.wrap, wrap_params(&self.set, profile)) {
            out.push(layer(NodeKind::Wrap, params, common, None));
        }
        out
    }

    /// The bits of a proof by these keys: the least over [`Self::layers`] and error terms.
    pub fn bits(&self, scheme: Scheme, profile: Profile) -> SoundnessBits {
        evergrove_verifier::soundness::least(&self.layers(scheme, profile))
    }
}

/// Parameters of bucket and merge: the profile's, with this number of rows.
pub(crate) fn node_params(scheme: Scheme, profile: Profile, degree_bits: usize) -> Result<FriParams, SizeError> {
    let known = known(profile)?;
    let degree_bits = degree_bits as u8;
    let final_poly_bits = match scheme {
        // The last polynomial is the profile's, whatever the folds: a merge verifies two proofs for one bucket's table.
        Scheme::Tree => known.final_poly_bits,
        // As many folds as the profile has.
        _ => (known.final_poly_bits + degree_bits).saturating_sub(known.degree_bits),
    };
    Ok(FriParams { degree_bits, final_poly_bits, ..known })
}

/// Parameters of the wrap: the profile's, with the number of rows of this one.
fn wrap_params(keys: &KeySet, profile: Profile) -> Option<FriParams> {
    let known = profile.wrap()?;
    let rows = keys.wrap.as_ref().map(|(common, _)| common.degree_bits() as u8);
    Some(FriParams { degree_bits: rows.unwrap_or(known.degree_bits), ..known })
}

fn layer(kind: NodeKind, fri: FriParams, common: &CommonData, bucket_capacity: Option<usize>) -> Layer {
    let config = &common.config;
    Layer {
        kind,
        fri,
        arity_bits: common.fri_params.reduction_arity_bits.iter().map(|a| *a as u32).collect(),
        shape: CircuitShape {
            routed_wires: config.num_routed_wires as u32,
            wires: config.num_wires as u32,
            constants: common.num_constants as u32,
            gate_constraints: common.num_gate_constraints as u32,
            quotient_degree_factor: common.quotient_degree_factor as u32,
        },
        bucket_capacity,
    }
}
