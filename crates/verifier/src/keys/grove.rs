//! The keys of the backend `grove`: digests of fixed columns, which follow from the circuits.

use evergrove_primitives::{Digest, Goldilocks};

use crate::{HeightClass, Profile};

/// The digest of the key of a profile and height class, `None` for a profile of another backend. A test of
/// `evergrove-grove` compares.
pub fn pinned_grove(profile: Profile, class: HeightClass) -> Option<Digest> {
    let words = match (profile, class) {
        (Profile::Grove100, HeightClass::H27) => {
            [0x3289db6535956c1c, 0x28bf8eb09773e3f6, 0x264bbf3856cf7ba7, 0x7ad3ecb8ddf834a2]
        }
        (Profile::Grove100, HeightClass::H40) => {
            [0xbc71b0d75b11f3fd, 0xa21c69927679bfdc, 0xf39c46c85025fade, 0x5d2984556bfea04e]
        }
        (Profile::Grove128, HeightClass::H27) => {
            [0x2f1ac7f46d5f3d2f, 0xbad47974f1409293, 0x3c7d9c7d4aaa2a7e, 0xf3a7de3b417ff12d]
        }
        (Profile::Grove128, HeightClass::H40) => {
            [0x2270c04592689759, 0x21c2e9dff54504d3, 0xb114e74fb2bd9e5a, 0x58eb87b986d1c17d]
        }
        (Profile::Proven | Profile::Johnson | Profile::Paper, _) => return None,
    };
    Some(Digest(words.map(Goldilocks::new)))
}
