//! Points of BLS12-381 G1 outside circuits.

use ark_bls12_381::Fq;
use ark_ff::{AdditiveGroup, BigInt, Field, PrimeField};
use blst::BLST_ERROR;
use blst::min_pk::PublicKey;
use evergrove_primitives::Goldilocks;

use super::limbs::{LIMBS, from_limbs, to_elements, to_limbs};

/// Elements per point in an output: the limbs of x, then of y.
pub const POINT_ELEMENTS: usize = 2 * LIMBS;
/// Bytes per compressed point.
pub const COMPRESSED_BYTES: usize = 48;

/// A point of the curve y^2 = x^3 + 4 over the base field, or the identity.
///
/// In outputs the identity is (0, 0), which is not on the curve. No point of the curve has y = 0, because the curve's
/// order is odd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point(Option<(Fq, Fq)>);

/// Reasons why bytes are not a key that a table may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The bytes are not the canonical encoding of coordinates.
    #[error("not the canonical encoding of a point in 48 compressed bytes")]
    Encoding,
    /// The coordinates do not satisfy the equation.
    #[error("not on the curve y^2 = x^3 + 4")]
    NotOnCurve,
    /// The point is not in the subgroup of prime order: signatures under it prove nothing.
    #[error("not in the subgroup of prime order")]
    NotInGroup,
    /// The point is the identity.
    #[error("the identity is not a key: anyone can sign under it")]
    Identity,
}

impl KeyError {
    fn of(e: BLST_ERROR) -> Self {
        match e {
            BLST_ERROR::BLST_POINT_NOT_ON_CURVE => Self::NotOnCurve,
            BLST_ERROR::BLST_POINT_NOT_IN_GROUP => Self::NotInGroup,
            BLST_ERROR::BLST_PK_IS_INFINITY => Self::Identity,
            _ => Self::Encoding,
        }
    }
}

impl Point {
    /// The identity.
    pub const IDENTITY: Self = Self(None);

    /// The point with these coordinates; `None` if they do not satisfy the equation. Does not check the subgroup.
    pub fn new(x: Fq, y: Fq) -> Option<Self> {
        (y.square() == x.square() * x + Fq::from(4_u64)).then_some(Self(Some((x, y))))
    }

    /// The coordinates; `None` for the identity.
    pub fn coordinates(&self) -> Option<(Fq, Fq)> {
        self.0
    }

    /// Decodes a key from its compressed form. `blst` checks the curve and the subgroup, which takes half a millisecond
    /// at most.
    ///
    /// # Errors
    /// If the bytes are not a key.
    pub fn from_compressed(bytes: &[u8]) -> Result<Self, KeyError> {
        if bytes.len() != COMPRESSED_BYTES {
            return Err(KeyError::Encoding);
        }
        let key = PublicKey::key_validate(bytes).map_err(KeyError::of)?;
        Ok(Self::of_key(&key))
    }

    /// The point of a `blst` key.
    pub fn of_key(key: &PublicKey) -> Self {
        let bytes = key.serialize();
        let coordinate = |bytes: &[u8]| {
            let mut words = [0; 6];
            for (word, chunk) in words.iter_mut().rev().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_be_bytes(*chunk);
            }
            Fq::from_bigint(BigInt(words)).expect("blst serializes canonical coordinates")
        };
        Self(Some((coordinate(&bytes[..48]), coordinate(&bytes[48..]))))
    }

    /// Converts to a `blst` key, and checks the curve and the subgroup.
    ///
    /// # Errors
    /// If the point is not a key.
    pub fn to_key(&self) -> Result<PublicKey, KeyError> {
        let (x, y) = self.0.ok_or(KeyError::Identity)?;
        let mut bytes = [0; 96];
        for (half, x) in bytes.as_chunks_mut::<48>().0.iter_mut().zip([x, y]) {
            for (chunk, word) in half.as_chunks_mut::<8>().0.iter_mut().zip(x.into_bigint().0.iter().rev()) {
                *chunk = word.to_be_bytes();
            }
        }
        let key = PublicKey::deserialize(&bytes).map_err(KeyError::of)?;
        key.validate().map_err(KeyError::of)?;
        Ok(key)
    }

    /// The sum. Takes one inversion.
    pub fn add(&self, other: &Self) -> Self {
        let (Some((x1, y1)), Some((x2, y2))) = (self.0, other.0) else {
            return Self(self.0.or(other.0));
        };
        match slope((x1, y1), (x2, y2)) {
            None => Self::IDENTITY,
            Some(slope) => Self(Some(chord(slope, (x1, y1), x2))),
        }
    }

    /// The negative.
    pub fn neg(&self) -> Self {
        Self(self.0.map(|(x, y)| (x, -y)))
    }

    /// The limbs as field elements; zeros for the identity.
    pub fn to_elements(&self) -> [Goldilocks; POINT_ELEMENTS] {
        let mut out = [Goldilocks::ZERO; POINT_ELEMENTS];
        if let Some((x, y)) = self.0 {
            out[..LIMBS].copy_from_slice(&to_elements(&to_limbs(&x)));
            out[LIMBS..].copy_from_slice(&to_elements(&to_limbs(&y)));
        }
        out
    }

    /// The point with these limbs; `None` unless they are canonical and on the curve, or all zero.
    pub fn from_elements(elements: &[Goldilocks]) -> Option<Self> {
        let elements: &[Goldilocks; POINT_ELEMENTS] = elements.try_into().ok()?;
        if elements.iter().all(|e| *e == Goldilocks::ZERO) {
            return Some(Self::IDENTITY);
        }
        let coordinate = |first: usize| from_limbs(&core::array::from_fn(|i| elements[first + i].as_u64()));
        Self::new(coordinate(0)?, coordinate(LIMBS)?)
    }
}

/// The slope of the line through two points that are not the identity. For equal points it is the slope of the tangent.
/// `None` if the points are inverses of each other.
pub fn slope((x1, y1): (Fq, Fq), (x2, y2): (Fq, Fq)) -> Option<Fq> {
    match x1 == x2 {
        true if y1 == y2 => Some(x1.square() * Fq::from(3_u64) * y1.double().inverse()?),
        true => None,
        false => Some((y2 - y1) * (x2 - x1).inverse()?),
    }
}

/// The negative of the third point of the curve on a line.
pub fn chord(slope: Fq, (x1, y1): (Fq, Fq), x2: Fq) -> (Fq, Fq) {
    let x3 = slope.square() - x1 - x2;
    (x3, slope * (x1 - x3) - y1)
}
