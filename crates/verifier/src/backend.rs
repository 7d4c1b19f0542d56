//! The prover and the circuit of a proof.

use alloc::string::String;
use core::fmt;

/// Name and version of a backend, which every proof records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BackendId {
    /// Name, for example `plonky2` or `native`: 1 to 32 of a-z, 0-9, - and _.
    pub name: String,
    /// Version of the circuits and the proof encoding, for example `1`.
    pub version: u32,
}

impl BackendId {
    /// The backend with this name and version.
    pub fn new(name: impl Into<String>, version: u32) -> Self {
        Self { name: name.into(), version }
    }
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} version {}", self.name, self.version)
    }
}

/// The circuit of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// Up to m leaves below one node, by their own paths.
    Bucket,
    /// Two children of equal height, then a climb through lone siblings.
    Merge,
    /// The final wrap of a bucket or a merge.
    Wrap,
}

impl NodeKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Bucket, Self::Merge, Self::Wrap];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::Merge => "merge",
            Self::Wrap => "wrap",
        }
    }

    /// The number of this kind in wire formats.
    pub const fn code(self) -> u8 {
        match self {
            Self::Bucket => 0,
            Self::Merge => 1,
            Self::Wrap => 2,
        }
    }

    /// The kind with this number in wire formats.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.code() == code)
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
