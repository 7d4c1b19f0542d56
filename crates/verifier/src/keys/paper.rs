//! The verifier's keys of the paper's scheme, pinned.
//!
//! Its circuits form a chain, each with the key of the one below as a constant, so the key of the top circuit
//! represents all of them. A verifier needs one key: that of the circuit whose proofs are published for vectors of the
//! height.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{CircuitKey, KEY_VERSION, read_keys, write_keys};
use crate::wire::{Reader, Writer};
use crate::{BackendId, DecodeError, HEIGHT_MAX, NodeKind, Profile};

/// The first bytes of a key file of the paper's scheme.
pub const PAPER_KEY_MAGIC: [u8; 4] = *b"EVGL";

/// Files built into this crate: those of the paper's profile. A verifier of another profile builds the chain itself.
const PINNED: &[(Profile, &[u8])] = &[(Profile::Paper, include_bytes!("../../keys/reckle-paper-paper.key"))];

/// The key file of a profile, `None` if this build does not have one.
pub fn pinned_paper(profile: Profile) -> Option<&'static [u8]> {
    PINNED.iter().find(|(p, _)| *p == profile).map(|(_, bytes)| *bytes)
}

/// The name of the key file of a profile, for example `reckle-paper-paper.key`.
pub fn paper_file_name(profile: Profile) -> String {
    format!("{}-{profile}.key", crate::Scheme::RecklePaper)
}

/// The keys of a profile for vectors of heights 1, 2, ...: of the wrap if the profile has one, otherwise of the block
/// or level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperKeys {
    /// The backend whose circuits these are.
    pub backend: BackendId,
    /// The profile.
    pub profile: Profile,
    /// q: blocks have 2^q slots.
    pub block_height: u8,
    /// The keys by height, starting with height 1; at most 40.
    pub keys: Vec<CircuitKey>,
}

impl PaperKeys {
    /// The circuit whose proofs are published for vectors of a height.
    pub fn kind(profile: Profile, block_height: u8, height: u8) -> NodeKind {
        match profile.wrap() {
            Some(_) => NodeKind::Wrap,
            None if height <= block_height => NodeKind::Bucket,
            None => NodeKind::Merge,
        }
    }

    /// The key for vectors of a height.
    pub fn get(&self, height: u8) -> Option<&CircuitKey> {
        self.keys.get(usize::from(height.checked_sub(1)?))
    }

    fn kinds(profile: Profile, block_height: u8, count: u8) -> impl Iterator<Item = NodeKind> {
        (1..=count).map(move |height| Self::kind(profile, block_height, height))
    }

    /// The file's bytes. Common data that several circuits share is written once.
    ///
    /// # Panics
    /// If there are more than 40 keys or they are not of the expected circuits, a cap's length is not a power of two up
    /// to 256, or a common data blob has 4 GiB or more.
    pub fn encode(&self) -> Vec<u8> {
        let count = self.keys.len() as u8;
        assert!(self.keys.len() <= HEIGHT_MAX.into(), "a key for each height");
        let kinds = Self::kinds(self.profile, self.block_height, count);
        assert!(self.keys.iter().map(|k| k.kind).eq(kinds), "the circuit that ends a batch of {}", self.profile);
        let mut w = Writer::header(PAPER_KEY_MAGIC, KEY_VERSION);
        w.name(&self.backend.name);
        w.bytes(&self.backend.version.to_le_bytes());
        w.bytes(&[self.profile.code(), self.block_height, count]);
        write_keys(&mut w, &self.keys);
        w.0
    }

    /// The keys in a file.
    ///
    /// # Errors
    /// Accepts exactly the output of [`Self::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        r.header(PAPER_KEY_MAGIC, "key file of the paper's scheme", &[KEY_VERSION])?;
        let backend = BackendId { name: r.name("backend")?, version: r.u32("backend version")? };
        let code = r.u8("profile")?;
        let profile = Profile::from_code(code).ok_or(DecodeError::Code { what: "profile", found: code })?;
        let block_height = r.u8("block height")?;
        let count = r.u8("number of heights")?;
        if count > HEIGHT_MAX {
            let max = HEIGHT_MAX.into();
            return Err(DecodeError::Range { what: "number of heights", found: count.into(), max });
        }
        let keys = read_keys(&mut r, Self::kinds(profile, block_height, count))?;
        r.finish()?;
        Ok(Self { backend, profile, block_height, keys })
    }
}
