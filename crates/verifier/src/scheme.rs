//! The schemes: the circuits of a proof.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::SCHEME;

/// A scheme of batch proofs. All schemes are about the same tree, commitment and canonical digest; they differ in the
/// statements and in the proofs. Every proof has the name, and a verifier's policy accepts names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Scheme {
    /// Ours: buckets and one universal merge, with index and position binding. The default policy accepts only this
    /// scheme.
    #[default]
    Evergrove,
    /// The paper's (sections 3.3 to 3.7): one circuit per level, a proof for every node. It does not tie a leaf's index
    /// to its position, so it is sound only for a commitment made by an honest party.
    RecklePaper,
    /// An application's output over chosen leaves: our buckets and merge, with map and reduce. The canonical digest
    /// determines the batch.
    Selected,
    /// An application's output over **all** leaves: buckets of full subtrees, and a merge that passes only over empty
    /// subtrees. There is no choice, and no canonical digest.
    Complete,
    /// The root of another hash tree over **all** leaves, as an application's output: blocks of full subtrees, and a
    /// proof for every node above them that is not empty, since the other tree has no climb. It has no canonical digest
    /// either.
    Tree,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 5] = [Self::Evergrove, Self::RecklePaper, Self::Selected, Self::Complete, Self::Tree];
    /// The schemes of proofs without an application.
    pub const PLAIN: [Self; 2] = [Self::Evergrove, Self::RecklePaper];

    /// q of [`Scheme::RecklePaper`]: its blocks have 2^5 leaves, the best size according to section 3.7 of the paper.
    pub const BLOCK_HEIGHT: u8 = 5;

    /// The name in proofs and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evergrove => SCHEME,
            Self::RecklePaper => "reckle-paper",
            Self::Selected => "evergrove1-selected",
            Self::Complete => "evergrove1-complete",
            Self::Tree => "evergrove1-tree",
        }
    }

    /// True when its proofs state the output of an application.
    pub const fn has_app(self) -> bool {
        matches!(self, Self::Selected) || self.is_complete()
    }

    /// True when its proofs are over all leaves: there is no choice, and no canonical digest.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Complete | Self::Tree)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text does not name a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScheme(pub String);

impl fmt::Display for UnknownScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ .., last] = Scheme::ALL.map(Scheme::name);
        write!(f, "unknown scheme {:?}: choose {first}, {} or {last}", self.0, rest.join(", "))
    }
}

impl core::error::Error for UnknownScheme {}

impl FromStr for Scheme {
    type Err = UnknownScheme;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|x| x.name() == s).ok_or_else(|| UnknownScheme(s.into()))
    }
}
