//! The digests of the family's keys.

use evergrove_primitives::Digest;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use super::RowWidth;

/// A line for each key: elements of a row, scheme, profile, bits of the greatest position, digest.
const KEYS: &str = include_str!("keys.txt");

/// A key of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedKey {
    /// Of rows of this width.
    pub width: RowWidth,
    /// Over a batch or over all rows.
    pub scheme: Scheme,
    /// The profile of the proofs.
    pub profile: Profile,
    /// Tables of these heights.
    pub class: HeightClass,
    /// The digest, which proofs state.
    pub digest: Digest,
}

impl PinnedKey {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        KEYS.lines().filter_map(Self::of_line)
    }

    fn of_line(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut next = || words.next();
        let width = RowWidth::of(next()?.parse().ok()?)?;
        let (scheme, profile) = (next()?.parse().ok()?, next()?.parse().ok()?);
        Some(Self {
            width,
            scheme,
            profile,
            class: HeightClass::of(next()?.parse().ok()?)?,
            digest: next()?.parse().ok()?,
        })
    }
}

impl RowWidth {
    /// The digest of the key of these circuits, which proofs state: `None` of schemes and profiles that have no such circuits.
    pub fn key(self, scheme: Scheme, profile: Profile, class: HeightClass) -> Option<Digest> {
        let same = |key: &PinnedKey| (key.width, key.scheme, key.profile, key.class) == (self, scheme, profile, class);
        PinnedKey::all().find(same).map(|key| key.digest)
    }
}
