//! Digest translation: proofs that a Poseidon digest and a Keccak digest belong to the same table (Reckle trees,
//! section 4.1 and Fig. 7).
//!
//! **Statement.** For (C, K, H): there are 2^H slots, each of them empty or a value of four canonical words. C is their
//! Poseidon digest (`evergrove_verifier::tree`), and K is their Keccak digest ([`tree`]). The statement covers all
//! slots.
//!
//! **How.** A backend proves the nodes of a batch over all rows in the scheme `Tree`, so stores, plans and updates are
//! those of every batch. A bucket of 2^k slots hashes both trees. A merge verifies the proofs of its nonempty children,
//! and computes the one node above them in both trees. K is the output.
//!
//! **On tables** ([`circuits_on_tables`](DigestTranslation::circuits_on_tables)) Keccak is rows of a table in both
//! circuits: `evergrove_grove::translation`, and `evergrove_grove::openzeppelin`, for which Plonky2 has no circuits.
//!
//! **By Plonky2**: `evergrove_plonky2::apps::digest_translation`.
//!
//! This is not a [`crate::MapReduce`]: a tree of hashes has no neutral element and is not associative.

use core::fmt;
use core::str::FromStr;

use evergrove_grove::openzeppelin::MAX_COLUMNS;
use evergrove_grove::translation::KeccakTree;
use evergrove_grove::{AppCircuitSet, CircuitSetError};
use evergrove_verifier::abi::{AbiType, UnknownAbiType};
use evergrove_verifier::{AppSpec, HeightClass, Profile};

pub use evergrove_verifier::keccak_tree as tree;
pub use evergrove_verifier::openzeppelin;

/// The least and the greatest height of a bucket.
pub const BUCKET_HEIGHTS: core::ops::RangeInclusive<u8> = 1..=8;
/// The default height of a bucket: 255 permutations, and a table of 2^13 rows in Plonky2's circuits.
pub const BUCKET_HEIGHT: u8 = 7;

/// The Keccak tree to which a table is translated.
///
/// The canonical texts are `keccak-256`, `openzeppelin(address,uint256)`, `openzeppelin-js(address,uint256)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// The tree over positions and values: [`tree`].
    Keccak,
    /// OpenZeppelin's tree ([`openzeppelin`]) over rows of 1 to 16 columns of these types, at any positions.
    OpenZeppelin(Vec<AbiType>),
    /// OpenZeppelin's tree with rows at the positions for which the root equals that of OpenZeppelin's JavaScript
    /// library. Circuits and statements are those of [`Format::OpenZeppelin`]: **a proof does not show the positions**.
    /// The prover checks them.
    OpenZeppelinJs(Vec<AbiType>),
}

impl Format {
    /// The name without the types.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Keccak => "keccak-256",
            Self::OpenZeppelin(_) => "openzeppelin",
            Self::OpenZeppelinJs(_) => "openzeppelin-js",
        }
    }

    /// The types of the columns; empty for [`Self::Keccak`].
    pub fn types(&self) -> &[AbiType] {
        match self {
            Self::Keccak => &[],
            Self::OpenZeppelin(types) | Self::OpenZeppelinJs(types) => types,
        }
    }

    /// The tree of the circuits.
    fn tree(&self) -> KeccakTree {
        match self {
            Self::Keccak => KeccakTree::Values,
            Self::OpenZeppelin(types) | Self::OpenZeppelinJs(types) => KeccakTree::OpenZeppelin(types.clone()),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let [first, rest @ ..] = self.types() else { return Ok(()) };
        write!(f, "({first}")?;
        rest.iter().try_for_each(|kind| write!(f, ",{kind}"))?;
        f.write_str(")")
    }
}

/// Reasons why a text is not a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The name or the parentheses are wrong.
    #[error(
        "unknown format {0:?}: write keccak-256, openzeppelin(address,uint256) or openzeppelin-js(address,uint256)"
    )]
    Form(String),
    /// A type is unknown.
    #[error(transparent)]
    Type(#[from] UnknownAbiType),
    /// The number of types is out of range.
    #[error(transparent)]
    Columns(#[from] CircuitSetError),
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let form = || FormatError::Form(s.chars().take(EXCERPT).collect());
        if s == Self::Keccak.name() {
            return Ok(Self::Keccak);
        }
        let (name, types) = s.strip_suffix(')').and_then(|s| s.split_once('(')).ok_or_else(form)?;
        let make = match name {
            "openzeppelin" => Self::OpenZeppelin,
            "openzeppelin-js" => Self::OpenZeppelinJs,
            _ => return Err(form()),
        };
        let columns = types.split(',').count();
        if columns > MAX_COLUMNS {
            return Err(CircuitSetError::Columns(columns).into());
        }
        Ok(make(types.split(',').map(str::parse).collect::<Result<_, _>>()?))
    }
}

/// The number of characters of a text that an error repeats.
const EXCERPT: usize = 80;

/// The application: everything that the circuits depend on, except profile and height class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestTranslation {
    bucket_height: u8,
    format: Format,
}

impl Default for DigestTranslation {
    fn default() -> Self {
        Self::new(Format::Keccak)
    }
}

impl DigestTranslation {
    /// The application's name.
    pub const NAME: &'static str = "digest-translation";
    /// Elements per output: the digest's halves of 32 bits.
    pub const OUTPUT_LEN: usize = tree::DIGEST_HALVES;

    /// The application with buckets of [`BUCKET_HEIGHT`].
    pub fn new(format: Format) -> Self {
        Self { bucket_height: BUCKET_HEIGHT, format }
    }

    /// Translation to the tree of [`Format::Keccak`] with buckets of 2^`bucket_height` slots; `None` outside
    /// [`BUCKET_HEIGHTS`]. Proofs with another height are proofs of another application.
    pub fn with_buckets(bucket_height: u8) -> Option<Self> {
        Self::default().of_height(bucket_height)
    }

    /// The same application with buckets of 2^`bucket_height` slots; `None` outside [`BUCKET_HEIGHTS`].
    pub fn of_height(self, bucket_height: u8) -> Option<Self> {
        BUCKET_HEIGHTS.contains(&bucket_height).then_some(Self { bucket_height, ..self })
    }

    /// k: a bucket has 2^k slots.
    pub fn bucket_height(&self) -> u8 {
        self.bucket_height
    }

    /// The tree to which tables are translated.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The circuits on tables.
    ///
    /// # Errors
    /// If the profile belongs to another backend, or rows have so many columns that no circuit can hold a bucket of
    /// them.
    pub fn circuits_on_tables(&self, profile: Profile, class: HeightClass) -> Result<AppCircuitSet, CircuitSetError> {
        AppCircuitSet::translation(profile, class, self.bucket_height, self.format.tree())
    }

    /// Name and parameters: the height of buckets in one byte, then the format as text.
    pub fn spec(&self) -> AppSpec {
        let parameters = [&[self.bucket_height], self.format.to_string().as_bytes()].concat();
        AppSpec { name: Self::NAME.into(), parameters }
    }

    /// The application with these parameters; `None` if they are invalid.
    pub fn from_parameters(parameters: &[u8]) -> Option<Self> {
        let (bucket_height, format) = parameters.split_first()?;
        let format = core::str::from_utf8(format).ok()?.parse().ok()?;
        Self::new(format).of_height(*bucket_height)
    }
}
