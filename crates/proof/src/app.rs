//! Applications: what else a proof may state of its leaves.

use core::fmt;

use evergrove_primitives::Digest;
use evergrove_primitives::hash::poseidon::hash_bytes;

/// Domain of the digest of an application's parameters, ASCII "APPL".
const PARAMETERS_DOMAIN: u32 = 0x4150_504c;

/// A Map/Reduce application: its kind, and the digest of everything else that its circuits depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AppId {
    /// The kind: 1 to 32 of a-z, 0-9, - and _.
    pub name: String,
    /// Digest of the canonical parameters: a sponge over the bytes in groups of 7, with their number in the domain tag.
    pub parameters: Digest,
}

impl AppId {
    /// The application of this name and these canonical parameters.
    pub fn new(name: impl Into<String>, parameters: &[u8]) -> Self {
        Self { name: name.into(), parameters: hash_bytes(PARAMETERS_DOMAIN, parameters) }
    }
}

impl fmt::Display for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.parameters)
    }
}
