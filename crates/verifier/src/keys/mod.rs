//! The verifier's keys, pinned.
//!
//! A verifier of Plonky2 proofs needs, for each circuit, the cap of its constants' and sigmas' tree, the circuit digest, and the
//! common data (configuration, gates, selectors). The circuit digest does not hash the gates, so the common data is pinned with
//! it. `evergrove-plonky2` builds the files of [`pinned`], and a test there compares them with a rebuild.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use evergrove_primitives::Digest;

mod grove;
mod paper;

pub use grove::pinned_grove;
pub use paper::{PAPER_KEY_MAGIC, PaperKeys, paper_file_name, pinned_paper};

use crate::wire::{Reader, Writer};
use crate::{BackendId, DecodeError, HeightClass, NodeKind, Profile};

/// The first bytes of a key file.
pub const KEY_MAGIC: [u8; 4] = *b"EVGK";
/// Version of key files.
const KEY_VERSION: u16 = 1;
/// Greatest height of a cap in a key file.
const CAP_HEIGHT_MAX: u8 = 8;

/// Files built into this crate.
const PINNED: &[(Profile, HeightClass, &[u8])] = &[
    (Profile::Proven, HeightClass::H27, include_bytes!("../../keys/proven-27.key")),
    (Profile::Proven, HeightClass::H40, include_bytes!("../../keys/proven-40.key")),
    (Profile::Johnson, HeightClass::H27, include_bytes!("../../keys/johnson-27.key")),
    (Profile::Johnson, HeightClass::H40, include_bytes!("../../keys/johnson-40.key")),
    (Profile::Paper, HeightClass::H27, include_bytes!("../../keys/paper-27.key")),
    (Profile::Paper, HeightClass::H40, include_bytes!("../../keys/paper-40.key")),
];

/// The key file of a profile of Plonky2 and height class, `None` if this build does not have one.
pub fn pinned(profile: Profile, class: HeightClass) -> Option<&'static [u8]> {
    PINNED.iter().find(|(p, c, _)| (*p, *c) == (profile, class)).map(|(_, _, bytes)| *bytes)
}

/// The name of the key file of a profile and height class, for example `paper-27.key`.
pub fn file_name(profile: Profile, class: HeightClass) -> String {
    format!("{profile}-{}.key", class.height_max())
}

/// The key of one circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitKey {
    /// The circuit.
    pub kind: NodeKind,
    /// Cap of the tree of constants and sigmas: 2^cap_height digests.
    pub cap: Vec<Digest>,
    /// Plonky2's circuit digest, which seeds the transcript.
    pub circuit_digest: Digest,
    /// The common data in the backend's encoding.
    pub common: Vec<u8>,
}

/// The keys of a profile and height class: bucket, merge, and the wrap if the profile has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    /// The backend whose circuits these are.
    pub backend: BackendId,
    /// The profile.
    pub profile: Profile,
    /// The height class.
    pub class: HeightClass,
    /// The keys, in the order of [`NodeKind::ALL`].
    pub keys: Vec<CircuitKey>,
}

/// The circuits that a profile has, in the order of a key file.
fn kinds(profile: Profile) -> impl Iterator<Item = NodeKind> {
    NodeKind::ALL.into_iter().filter(move |k| *k != NodeKind::Wrap || profile.wrap().is_some())
}

impl KeySet {
    /// The key of a circuit.
    pub fn get(&self, kind: NodeKind) -> Option<&CircuitKey> {
        self.keys.iter().find(|k| k.kind == kind)
    }

    /// The size of the verification key: 32 bytes for each cap entry and circuit digest. The common data, which is the same for
    /// bucket and merge and derives from the circuits' source, is not counted.
    pub fn key_bytes(&self) -> usize {
        self.keys.iter().map(|k| 32 * (k.cap.len() + 1)).sum()
    }

    /// The file's bytes. Common data that several circuits share is written once.
    ///
    /// # Panics
    /// If the keys are not those of the profile's circuits in order, a cap's length is not a power of two up to 256, or
    /// a common data blob has 4 GiB or more.
    pub fn encode(&self) -> Vec<u8> {
        assert!(
            self.keys.iter().map(|k| k.kind).eq(kinds(self.profile)),
            "one key for each circuit of {}",
            self.profile
        );
        let mut w = Writer::header(KEY_MAGIC, KEY_VERSION);
        w.name(&self.backend.name);
        w.bytes(&self.backend.version.to_le_bytes());
        w.bytes(&[self.profile.code(), self.class.height_max()]);
        write_keys(&mut w, &self.keys);
        w.0
    }

    /// The keys in a file.
    ///
    /// # Errors
    /// Accepts exactly the output of [`Self::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        r.header(KEY_MAGIC, "key file", &[KEY_VERSION])?;
        let backend = BackendId { name: r.name("backend")?, version: r.u32("backend version")? };
        let code = r.u8("profile")?;
        let profile = Profile::from_code(code).ok_or(DecodeError::Code { what: "profile", found: code })?;
        let code = r.u8("height class")?;
        let class = HeightClass::from_code(code).ok_or(DecodeError::Code { what: "height class", found: code })?;
        let keys = read_keys(&mut r, kinds(profile))?;
        r.finish()?;
        Ok(Self { backend, profile, class, keys })
    }
}

/// The keys, then the common data that they name, each once.
///
/// # Panics
/// If a cap's length is not a power of two up to 256, or a common data blob has 4 GiB or more.
fn write_keys(w: &mut Writer, keys: &[CircuitKey]) {
    let mut blobs: Vec<&[u8]> = Vec::new();
    for key in keys {
        let cap_height =
            key.cap.len().checked_ilog2().filter(|h| *h <= CAP_HEIGHT_MAX.into() && 1 << h == key.cap.len());
        let cap_height = cap_height.expect("a cap has a power of two of digests, at most 256");
        let blob = blobs.iter().position(|b| *b == key.common).unwrap_or_else(|| {
            blobs.push(&key.common);
            blobs.len() - 1
        });
        w.bytes(&[key.kind.code(), cap_height as u8, blob as u8]);
        w.digests(&key.cap);
        w.digests(&[key.circuit_digest]);
    }
    for blob in blobs {
        let len = u32::try_from(blob.len()).expect("common data has less than 4 GiB");
        w.bytes(&len.to_le_bytes());
        w.bytes(blob);
    }
}

/// Reads the output of [`write_keys`] for keys of these kinds, in this order.
fn read_keys(r: &mut Reader<'_>, kinds: impl Iterator<Item = NodeKind>) -> Result<Vec<CircuitKey>, DecodeError> {
    let mut keys = Vec::new();
    let mut places = Vec::new();
    let mut blobs = 0u8;
    for kind in kinds {
        let code = r.u8("circuit")?;
        if code != kind.code() {
            return Err(DecodeError::Code { what: "circuit in its place", found: code });
        }
        let cap_height = r.u8("cap height")?;
        if cap_height > CAP_HEIGHT_MAX {
            let max = CAP_HEIGHT_MAX.into();
            return Err(DecodeError::Range { what: "cap height", found: cap_height.into(), max });
        }
        // Blobs are numbered in the order in which keys name them first.
        let place = r.u8("common data number")?;
        if place > blobs {
            return Err(DecodeError::Range { what: "common data number", found: place.into(), max: blobs.into() });
        }
        blobs = blobs.max(place + 1);
        places.push(place as usize);
        let cap = r.digests(1 << cap_height, "cap")?;
        keys.push(CircuitKey { kind, cap, circuit_digest: r.digest("circuit digest")?, common: Vec::new() });
    }
    let mut common: Vec<&[u8]> = Vec::new();
    for number in 0..blobs {
        let len = r.u32("common data length")? as usize;
        let blob = r.take(len, "common data")?;
        if common.contains(&blob) {
            return Err(DecodeError::Code { what: "new common data", found: number });
        }
        common.push(blob);
    }
    for (key, place) in keys.iter_mut().zip(places) {
        key.common = common[place].to_vec();
    }
    Ok(keys)
}
