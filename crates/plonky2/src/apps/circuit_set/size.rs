//! The size of the circuits of an application.

use std::sync::Arc;

use evergrove_verifier::{FriParams, HeightClass, Profile, Scheme};

use super::CircuitSetSpec;
use crate::apps::Plonky2Circuits;
use crate::circuit::NODE_PUBLIC_INPUTS;
use crate::keys::CommonData;
use crate::setup::{CircuitPair, SetupError, bucket_rows};

/// Leaves of a bucket and rows of both circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// m of [`Scheme::Selected`]; 2^k slots of a block of [`Scheme::Complete`].
    pub capacity: usize,
    /// log2 of the rows.
    pub degree_bits: usize,
}

/// An application has no circuits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// The reduction is not commutative.
    #[error("{0} depends on the order of leaves and has only proofs over all rows")]
    Order(String),
    /// The profile is of another backend.
    #[error("applications have no circuits for profile {0} (known: {known})", known = Profile::PLONKY2.map(Profile::name).join(", "))]
    Profile(Profile),
    /// The application is of another scheme.
    #[error("the application has no circuits for scheme {0}")]
    Scheme(Scheme),
    /// Not even one leaf fits.
    #[error("the circuits of {name} do not fit 2^{rows} rows")]
    TooLarge {
        /// The application.
        name: String,
        /// log2 of the most rows.
        rows: usize,
    },
    /// The circuits do not settle on one shape.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// log2 of the greatest number of rows of a circuit: proofs of larger circuits take more than 20 GiB.
pub(super) const MAX_DEGREE_BITS: usize = 18;
/// The most leaves of a bucket and slots of a block.
pub(super) const MAX_CAPACITY: usize = 1 << 16;
/// Rows reserved for constants and for rows that plonky2 adds at the end.
const RESERVE: usize = 32;

/// The parameters of a profile's circuits.
///
/// # Errors
/// [`SizeError::Profile`].
pub(crate) fn known(profile: Profile) -> Result<FriParams, SizeError> {
    profile.recursion().ok_or(SizeError::Profile(profile))
}

impl Size {
    /// The smallest number of rows, from the profile's up, at which the merge fits and a bucket holds a leaf, and the
    /// most leaves that a bucket then has. Deterministic. Builds circuits without committing to them: seconds.
    ///
    /// # Errors
    /// [`SizeError`].
    pub fn of(
        app: &Arc<dyn Plonky2Circuits>,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<(Self, CommonData), SizeError> {
        let rows = usize::from(known(profile)?.degree_bits);
        match scheme {
            Scheme::Selected if !app.is_commutative() => return Err(SizeError::Order(app.name().into())),
            Scheme::Selected | Scheme::Complete => {}
            other => return Err(SizeError::Scheme(other)),
        }
        let spec = |capacity, degree_bits| {
            CircuitSetSpec::new(app.clone(), scheme, profile, class, Self { capacity, degree_bits })
        };
        for degree_bits in rows..=MAX_DEGREE_BITS {
            let fixed = (NODE_PUBLIC_INPUTS + app.output_len()).div_ceil(8);
            let nulls = if scheme == Scheme::Complete { 2 * usize::from(class.height_max()) } else { 0 };
            let room = (1usize << degree_bits).saturating_sub(RESERVE + fixed + nulls);
            let mut capacity = match scheme {
                Scheme::Complete => block_slots(|n| bucket_rows(&spec(n, degree_bits)), room, class),
                _ => bucket_leaves(|n| bucket_rows(&spec(n, degree_bits)), room),
            };
            while capacity > 0 {
                match CircuitPair::search(&spec(capacity, degree_bits), None) {
                    Ok(common) => return Ok((Self { capacity, degree_bits }, common)),
                    Err(SetupError::TooManyRows { circuit: "bucket", .. }) => {
                        capacity = if scheme == Scheme::Complete { capacity / 2 } else { capacity - 1 };
                    }
                    Err(SetupError::TooManyRows { .. }) => break,
                    Err(e) => return Err(e.into()),
                }
            }
        }
        Err(SizeError::TooLarge { name: app.name().into(), rows: MAX_DEGREE_BITS })
    }
}

/// The greatest number of leaves whose bucket has at most `room` rows; 0 if not even one fits.
fn bucket_leaves(rows: impl Fn(usize) -> usize, room: usize) -> usize {
    let (few, more) = (4, 20);
    let (low, high) = (rows(few), rows(more));
    let per_leaf = (high - low).max(1) as f64 / (more - few) as f64;
    let guess = few as f64 + (room as f64 - low as f64) / per_leaf;
    let mut capacity = (guess.max(1.0) as usize).min(MAX_CAPACITY);
    while capacity > 0 && rows(capacity) > room {
        capacity -= 1;
    }
    while capacity > 0 && capacity < MAX_CAPACITY && rows(capacity + 1) <= room {
        capacity += 1;
    }
    capacity
}

/// The greatest number of slots, a power of two, whose block has at most `room` rows; 0 if not even one fits.
fn block_slots(rows: impl Fn(usize) -> usize, room: usize, class: HeightClass) -> usize {
    let most = MAX_CAPACITY.min(1 << (class.height_max() - 1));
    let (few, more) = (1, 4);
    let (low, high) = (rows(few), rows(more));
    let per_slot = (high - low).max(1) as f64 / (more - few) as f64;
    let guess = few as f64 + (room as f64 - low as f64) / per_slot;
    let mut capacity = 1usize << (guess.max(1.0) as usize).min(most).ilog2();
    while capacity > 0 && rows(capacity) > room {
        capacity /= 2;
    }
    while capacity > 0 && capacity < most && rows(2 * capacity) <= room {
        capacity *= 2;
    }
    capacity
}
