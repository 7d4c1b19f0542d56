//! Applications: further statements of a proof about its leaves.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use evergrove_primitives::hash::poseidon::hash_bytes;
use evergrove_primitives::{Digest, Goldilocks};

use crate::poseidon;
use crate::tables::WORD;

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

/// The full definition of an application: a store keeps it to build its circuits again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AppSpec {
    /// The kind: 1 to 32 of a-z, 0-9, - and _.
    pub name: String,
    /// The canonical parameters.
    pub parameters: Vec<u8>,
}

impl AppSpec {
    /// Name and digest.
    pub fn id(&self) -> AppId {
        AppId::new(self.name.clone(), &self.parameters)
    }
}

/// A further statement of a proof: the output of an application over the statement's leaves. In scheme
/// [`Selected`](crate::Scheme::Selected) these are the leaves of d; if
/// [`Scheme::is_complete`](crate::Scheme::is_complete) they are all leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppOutput {
    /// The application.
    pub app: AppId,
    /// Its output: 1 to 65,535 elements.
    pub output: Vec<Goldilocks>,
}

impl fmt::Display for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.parameters)
    }
}

/// The tag from which an application's inputs are hashed.
pub const INPUTS_TAG: Goldilocks = Goldilocks::new(0x696e_7075);

/// The digest of inputs, the constants of an application's circuits: two in each block.
pub fn inputs_digest(inputs: &[Goldilocks]) -> [Goldilocks; WORD] {
    let z = Goldilocks::ZERO;
    inputs.chunks(2).fold([INPUTS_TAG, z, z, z], |h, pair| {
        let [a, b] = [pair[0], pair.get(1).copied().unwrap_or_default()];
        poseidon::digest([a, z, z, z, b, z, z, z, h[0], h[1], h[2], h[3]])
    })
}
