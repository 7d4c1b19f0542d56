//! The bits of grove's profiles, the same for every height class.

use super::SoundnessBits;

pub(super) const BITS_100: SoundnessBits = SoundnessBits { unique_decoding: 100.3, johnson: 91.1, conjectured: 106.4 };
pub(super) const BITS_128: SoundnessBits = SoundnessBits { unique_decoding: 48.6, johnson: 128.0, conjectured: 128.0 };
