//! Digest translation: the Poseidon digest of a table and the Keccak digest of the same table, proven to belong together
//! (Reckle trees, section 4.1 and Fig. 7).
//!
//! **Statement.** For (C, K, H): there are 2^H slots, each a value of four canonical words or empty, of which C is the
//! Poseidon digest (`evergrove_verifier::tree`) and K the Keccak digest ([`tree`]). All slots: nothing is left out.
//!
//! **How.** A backend proves the nodes of a batch over all rows in the scheme `Tree`, so that stores, plans and
//! updates are those of every batch. A bucket of 2^k slots hashes both trees; a merge verifies the proofs of its children that are not
//! empty and computes the one node above them in both trees. K is the output.
//!
//! **On tables** ([`family_on_tables`](DigestTranslation::family_on_tables)) both circuits have Keccak as rows: `evergrove_grove::translation`,
//! and `evergrove_grove::openzeppelin`, which Plonky2 has no circuits of.
//!
//! **By Plonky2**: `evergrove_recursion::apps::digest_translation`.
//!
//! Not a [`crate::MapReduce`]: a tree of hashes has no neutral element and is not associative.

use core::fmt;
use core::str::FromStr;

use evergrove_grove::openzeppelin::MAX_COLUMNS;
use evergrove_grove::translation::KeccakTree;
use evergrove_grove::{AppFamily, FamilyError};
use evergrove_verifier::abi::{AbiType, UnknownAbiType};
use evergrove_verifier::{AppSpec, HeightClass, Profile};

pub use evergrove_verifier::keccak_tree as tree;
pub use evergrove_verifier::openzeppelin;

/// The least and the greatest height of a bucket.
pub const BUCKET_HEIGHTS: core::ops::RangeInclusive<u8> = 1..=8;
/// The height of a bucket where nothing is said: 255 permutations, and the table of Plonky2's circuits has 2^13 rows.
pub const BUCKET_HEIGHT: u8 = 7;

/// The Keccak tree that a table is translated to.
///
/// As text, which is canonical: `keccak-256`, `openzeppelin(address,uint256)`, `openzeppelin-js(address,uint256)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Over positions and values: [`tree`].
    Keccak,
    /// OpenZeppelin's ([`openzeppelin`]), over rows of 1 to 16 columns of these types, at any positions.
    OpenZeppelin(Vec<AbiType>),
    /// The same, at the positions where the root is that of OpenZeppelin's JavaScript library. Circuits and statements are those of the other one: **a proof does not
    /// show the positions**. Whoever makes the proof checks them.
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

    /// The types of the columns; none of [`Self::Keccak`].
    pub fn types(&self) -> &[AbiType] {
        match self {
            Self::Keccak => &[],
            Self::OpenZeppelin(types) | Self::OpenZeppelinJs(types) => types,
        }
    }

    /// The tree that circuits are about.
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

/// A text is not a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The name or the parentheses.
    #[error(
        "unknown format {0:?}: write keccak-256, openzeppelin(address,uint256) or openzeppelin-js(address,uint256)"
    )]
    Form(String),
    /// A type.
    #[error(transparent)]
    Type(#[from] UnknownAbiType),
    /// The number of types.
    #[error(transparent)]
    Columns(#[from] FamilyError),
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
            return Err(FamilyError::Columns(columns).into());
        }
        Ok(make(types.split(',').map(str::parse).collect::<Result<_, _>>()?))
    }
}

/// Characters of a text that an error repeats.
const EXCERPT: usize = 80;

/// The application: what the circuits depend on beside profile and height class.
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
    /// The kind of application.
    pub const NAME: &'static str = "digest-translation";
    /// Elements of an output: the digest's halves of 32 bits.
    pub const OUTPUT_LEN: usize = tree::DIGEST_HALVES;

    /// With buckets of [`BUCKET_HEIGHT`].
    pub fn new(format: Format) -> Self {
        Self { bucket_height: BUCKET_HEIGHT, format }
    }

    /// To the tree of [`Format::Keccak`] with buckets of 2^`bucket_height` slots, `None` outside of [`BUCKET_HEIGHTS`]. Proofs of another height are
    /// proofs of another application.
    pub fn with_buckets(bucket_height: u8) -> Option<Self> {
        Self::default().of_height(bucket_height)
    }

    /// The same with buckets of 2^`bucket_height` slots: as [`Self::with_buckets`].
    pub fn of_height(self, bucket_height: u8) -> Option<Self> {
        BUCKET_HEIGHTS.contains(&bucket_height).then_some(Self { bucket_height, ..self })
    }

    /// k: a bucket has 2^k slots.
    pub fn bucket_height(&self) -> u8 {
        self.bucket_height
    }

    /// The tree.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The circuits on tables.
    ///
    /// # Errors
    /// When the profile is of another backend, or rows have so many columns that no circuit holds a bucket of them.
    pub fn family_on_tables(&self, profile: Profile, class: HeightClass) -> Result<AppFamily, FamilyError> {
        AppFamily::translation(profile, class, self.bucket_height, self.format.tree())
    }

    /// Name and parameters: the height of buckets in one byte, and the format as text.
    pub fn spec(&self) -> AppSpec {
        let parameters = [&[self.bucket_height], self.format.to_string().as_bytes()].concat();
        AppSpec { name: Self::NAME.into(), parameters }
    }

    /// The application of these parameters, `None` unless they are some.
    pub fn from_parameters(parameters: &[u8]) -> Option<Self> {
        let (bucket_height, format) = parameters.split_first()?;
        let format = core::str::from_utf8(format).ok()?.parse().ok()?;
        Self::new(format).of_height(*bucket_height)
    }
}
