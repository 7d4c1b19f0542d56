//! Verifier keys in plonky2's types, and as the bytes that are pinned in [`evergrove_verifier::keys`].
//!
//! Plonky2's `circuit_digest` does not hash the gates, so a verifier pins the common data beside caps and digests.

use evergrove_commit::{BackendError, NodeKind};
use evergrove_primitives::Digest;
use evergrove_primitives::hash::poseidon::hash_bytes;
use evergrove_verifier::keys::{self, CircuitKey};
use evergrove_verifier::{FriParams, HeightClass, Profile};
use plonky2::hash::merkle_tree::MerkleCap;
use plonky2::plonk::circuit_data::{CommonCircuitData, VerifierOnlyCircuitData};

use crate::backend::backend_id;
use crate::circuit::{C, D, F, WrapTargets, from_hash, params_of, to_hash};
use crate::gates::Gates;
use crate::setup::{Circuit, CircuitPair, PairSpec};
use crate::verifier::{OtherParams, check_params};

/// Domain of [`KeySet::digest`], ASCII "KEYS".
const DIGEST_DOMAIN: u32 = 0x4b45_5953;

/// A circuit's key in plonky2's form.
pub type VerifierKey = VerifierOnlyCircuitData<C, D>;
/// A circuit's public description in plonky2's form.
pub type CommonData = CommonCircuitData<F, D>;

/// The keys of one profile and height class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    /// The common data of bucket and merge.
    pub node_common: CommonData,
    /// The bucket's key.
    pub bucket: VerifierKey,
    /// The merge's key.
    pub merge: VerifierKey,
    /// The wrap's common data and key.
    pub wrap: Option<(CommonData, VerifierKey)>,
}

/// Pinned keys are not those of a profile's circuits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// A circuit has other parameters.
    #[error("{circuits}: {difference}")]
    Params {
        /// The circuits that share these parameters.
        circuits: &'static str,
        /// The parameter that differs.
        difference: OtherParams,
    },
    /// The wrap is missing, or the profile has no wrap.
    #[error("wrap: expected {}, got {}", u8::from(*expected), u8::from(*found))]
    Wrap {
        /// Whether the profile has a wrap.
        expected: bool,
        /// Whether there is a key of a wrap.
        found: bool,
    },
    /// The key of this kind is missing.
    #[error("no {0} key")]
    Missing(NodeKind),
    /// The common data of this kind's key do not decode.
    #[error("common data of {0} do not decode")]
    CommonData(NodeKind),
    /// Bucket and merge must have the same common data.
    #[error("bucket and merge differ in their common data")]
    Apart,
}

impl KeySet {
    /// The keys of built circuits.
    pub fn of<S: PairSpec>(pair: &CircuitPair<S>, wrap: Option<&Circuit<WrapTargets>>) -> Self {
        Self {
            node_common: pair.merge.data.common.clone(),
            bucket: pair.bucket.data.verifier_only.clone(),
            merge: pair.merge.data.verifier_only.clone(),
            wrap: wrap.map(|w| (w.data.common.clone(), w.data.verifier_only.clone())),
        }
    }

    /// A digest of the keys: of their caps and circuit digests.
    pub fn digest(&self) -> Digest {
        let keys = [Some(&self.bucket), Some(&self.merge), self.wrap.as_ref().map(|(_, key)| key)];
        let mut bytes = Vec::new();
        for key in keys.into_iter().flatten() {
            let caps = key.constants_sigmas_cap.0.iter().chain([&key.circuit_digest]);
            caps.for_each(|hash| bytes.extend_from_slice(&from_hash(hash).to_bytes()));
        }
        hash_bytes(DIGEST_DOMAIN, &bytes)
    }

    /// The pinned keys of a profile and height class.
    ///
    /// # Errors
    /// For a profile of another backend. When this build pins no keys, or pins bytes that do not decode or belong to
    /// circuits with other parameters.
    pub fn pinned(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        let params = params_of(profile)?;
        let what = keys::file_name(profile, class);
        let internal = |e: String| BackendError::Internal(format!("pinned keys {what}: {e}"));
        let bytes = keys::pinned(profile, class).ok_or_else(|| internal("this build has none".into()))?;
        let set = keys::KeySet::decode(bytes).map_err(|e| internal(e.to_string()))?;
        if (&set.backend, set.profile, set.class) != (&backend_id(), profile, class) {
            return Err(internal(format!("are of {}, {}, {:?}", set.backend, set.profile, set.class)));
        }
        let keys = Self::from_pinned(&set).map_err(|e| internal(e.to_string()))?;
        keys.check_params(&params, profile.wrap().as_ref()).map_err(|e| internal(e.to_string()))?;
        Ok(keys)
    }

    /// Compares the circuits with the parameters of bucket and merge, and of the wrap.
    ///
    /// # Errors
    /// [`KeySetError::Params`] and [`KeySetError::Wrap`].
    pub fn check_params(&self, node: &FriParams, wrap: Option<&FriParams>) -> Result<(), KeySetError> {
        let of = |circuits| move |difference| KeySetError::Params { circuits, difference };
        check_params(&self.node_common, node).map_err(of("bucket and merge"))?;
        match (&self.wrap, wrap) {
            (Some((common, _)), Some(params)) => check_params(common, params).map_err(of("wrap")),
            (None, None) => Ok(()),
            (found, expected) => Err(KeySetError::Wrap { expected: expected.is_some(), found: found.is_some() }),
        }
    }

    /// The keys in a key file.
    ///
    /// # Errors
    /// [`KeySetError::Missing`], [`KeySetError::CommonData`] and [`KeySetError::Apart`].
    pub fn from_pinned(set: &keys::KeySet) -> Result<Self, KeySetError> {
        let read = |kind: NodeKind| from_pinned(set.get(kind).ok_or(KeySetError::Missing(kind))?);
        let (node_common, bucket) = read(NodeKind::Bucket)?;
        let (merge_common, merge) = read(NodeKind::Merge)?;
        if merge_common != node_common {
            return Err(KeySetError::Apart);
        }
        let wrap = set.get(NodeKind::Wrap).map(|_| read(NodeKind::Wrap)).transpose()?;
        Ok(Self { node_common, bucket, merge, wrap })
    }

    /// The key file of these keys.
    pub fn to_pinned(&self, profile: Profile, class: HeightClass) -> keys::KeySet {
        let mut set = vec![
            to_pinned(NodeKind::Bucket, &self.node_common, &self.bucket),
            to_pinned(NodeKind::Merge, &self.node_common, &self.merge),
        ];
        set.extend(self.wrap.as_ref().map(|(common, k)| to_pinned(NodeKind::Wrap, common, k)));
        keys::KeySet { backend: backend_id(), profile, class, keys: set }
    }
}

/// A pinned key in plonky2's types.
///
/// # Errors
/// If the common data of the key are none of plonky2's with our gates.
pub fn from_pinned(key: &CircuitKey) -> Result<(CommonData, VerifierKey), KeySetError> {
    let common = CommonData::from_bytes(key.common.clone(), &Gates).map_err(|_| KeySetError::CommonData(key.kind))?;
    let cap = MerkleCap(key.cap.iter().map(to_hash).collect());
    Ok((common, VerifierKey { constants_sigmas_cap: cap, circuit_digest: to_hash(&key.circuit_digest) }))
}

/// A key in its pinned form.
///
/// # Panics
/// If a gate of the circuit is not in [`Gates`].
pub fn to_pinned(kind: NodeKind, common: &CommonData, key: &VerifierKey) -> CircuitKey {
    CircuitKey {
        kind,
        cap: key.constants_sigmas_cap.0.iter().map(from_hash).collect(),
        circuit_digest: from_hash(&key.circuit_digest),
        common: common.to_bytes(&Gates).expect("every gate in use is in the list"),
    }
}
