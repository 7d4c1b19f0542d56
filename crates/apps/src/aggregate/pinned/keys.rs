//! The digests of the pinned keys.

use evergrove_primitives::Digest;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use super::RowWidth;

/// One line per key: elements of a row, scheme, profile, bits of the greatest position, digest.
const KEYS: &str = include_str!("keys.txt");

/// A pinned key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedKey {
    /// The width of the rows.
    pub width: RowWidth,
    /// Selected (over a batch) or complete (over all rows).
    pub scheme: Scheme,
    /// The profile of the proofs.
    pub profile: Profile,
    /// The class of the tables' heights.
    pub class: HeightClass,
    /// The digest, as proofs state it.
    pub digest: Digest,
}

impl PinnedKey {
    /// All pinned keys.
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
    /// The digest of the key of these circuits, as proofs state it; `None` for schemes and profiles without such
    /// circuits.
    pub fn key(self, scheme: Scheme, profile: Profile, class: HeightClass) -> Option<Digest> {
        let same = |key: &PinnedKey| (key.width, key.scheme, key.profile, key.class) == (self, scheme, profile, class);
        PinnedKey::all().find(same).map(|key| key.digest)
    }
}
