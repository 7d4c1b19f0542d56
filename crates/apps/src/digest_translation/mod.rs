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
//! **On tables** ([`family_on_tables`](DigestTranslation::family_on_tables)) both circuits have Keccak as rows: `evergrove_grove::translation`.
//!
//! **By Plonky2** (`TranslationBackend`, feature `plonky2`) a bucket has the Keccak tree in a table of `evergrove_recursion::stark` that
//! it verifies. The table's records, a message and its digest each, are compared with the circuit's by a sum at a challenge
//! that is drawn after the table's commitment and after a digest of everything that the circuit's records are made of.
//!
//! Not a [`crate::MapReduce`]: a tree of hashes has no neutral element and is not associative.

#[cfg(feature = "plonky2")]
mod backend;
#[cfg(feature = "plonky2")]
mod bucket;
#[cfg(feature = "plonky2")]
mod circuits;
#[cfg(feature = "plonky2")]
mod keccak;
#[cfg(feature = "plonky2")]
mod monolithic;
#[cfg(feature = "plonky2")]
pub mod soundness;

#[cfg(all(test, feature = "plonky2"))]
mod attacks;

use evergrove_grove::{AppFamily, FamilyError};
use evergrove_verifier::{AppSpec, HeightClass, Profile};

#[cfg(feature = "plonky2")]
pub use backend::TranslationBackend;
#[cfg(feature = "plonky2")]
pub use bucket::{BucketTargets, SlotTargets};
#[cfg(feature = "plonky2")]
pub use circuits::{NodeMerge, Shape};
pub use evergrove_verifier::keccak_tree as tree;
#[cfg(feature = "plonky2")]
pub use keccak::KeccakTarget;
#[cfg(feature = "plonky2")]
pub use monolithic::Monolithic;

/// The least and the greatest height of a bucket.
pub const BUCKET_HEIGHTS: core::ops::RangeInclusive<u8> = 1..=8;
/// The height of a bucket where nothing is said: 255 permutations, and the table of Plonky2's circuits has 2^13 rows.
pub const BUCKET_HEIGHT: u8 = 7;

/// The hash of the other tree, as it stands in the parameters.
const HASH: &[u8] = b"keccak-256";

/// The application: what the circuits depend on beside profile and height class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestTranslation {
    bucket_height: u8,
}

impl Default for DigestTranslation {
    fn default() -> Self {
        Self { bucket_height: BUCKET_HEIGHT }
    }
}

impl DigestTranslation {
    /// The kind of application.
    pub const NAME: &'static str = "digest-translation";
    /// Elements of an output: the digest's halves of 32 bits.
    pub const OUTPUT_LEN: usize = tree::DIGEST_HALVES;

    /// With buckets of 2^`bucket_height` slots, `None` outside of [`BUCKET_HEIGHTS`]. Proofs of another height are proofs of
    /// another application.
    pub fn with_buckets(bucket_height: u8) -> Option<Self> {
        BUCKET_HEIGHTS.contains(&bucket_height).then_some(Self { bucket_height })
    }

    /// k: a bucket has 2^k slots.
    pub fn bucket_height(&self) -> u8 {
        self.bucket_height
    }

    /// The circuits on tables.
    ///
    /// # Errors
    /// When the profile is of another backend.
    pub fn family_on_tables(&self, profile: Profile, class: HeightClass) -> Result<AppFamily, FamilyError> {
        AppFamily::translation(profile, class, self.bucket_height)
    }

    /// Name and parameters: the height of buckets in one byte, and the name of the hash.
    pub fn spec(&self) -> AppSpec {
        let parameters = [&[self.bucket_height], HASH].concat();
        AppSpec { name: Self::NAME.into(), parameters }
    }

    /// The application of these parameters, `None` unless they are some.
    pub fn from_parameters(parameters: &[u8]) -> Option<Self> {
        let (bucket_height, hash) = parameters.split_first()?;
        Self::with_buckets(*bucket_height).filter(|_| hash == HASH)
    }
}
