//! Aggregate public keys of BLS signatures: the sum and the number of the keys in a batch.
//!
//! **What.** [`BlsKeys`] is the application: a leaf is a key of BLS12-381 G1 ([`table`]), and the output is the sum of
//! the keys and their number ([`Output`]). [`light_client`] checks a committee's signature with such a proof. See
//! section 4.1 and Figs. 8 and 9 of the Reckle trees paper.
//!
//! **When.** For a verifier that knows only the commitment of a table of keys, and has to check that at least t of the
//! keys signed.
//!
//! **Neighbours.** The curve in circuits is in [`evergrove_verifier::tables::addition`] and
//! [`point`](evergrove_verifier::tables::point); its circuits for Plonky2 are in
//! `evergrove_plonky2::apps::nonnative`. Signatures and the check of the subgroup use `blst`.

pub mod light_client;
pub mod limbs;
mod point;
pub mod table;
mod tables;

pub use point::{COMPRESSED_BYTES, KeyError, POINT_ELEMENTS, Point, chord, slope};

use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;

use crate::{Leaf, MapReduce, MapReduceError};

/// The application that computes the sum and the number of keys. Commutative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlsKeys;

/// The parameters: the name of the curve.
const PARAMETERS: &[u8] = b"BLS12-381 G1";

/// The parameters belong to another application or version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid parameters of bls-keys: {0} bytes")]
pub struct ParametersError(usize);

/// An output of [`BlsKeys`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The sum of the keys.
    pub key: Point,
    /// The number of keys.
    pub count: u64,
}

/// Elements per output: the limbs of the key, then the count.
pub const OUTPUT_ELEMENTS: usize = POINT_ELEMENTS + 1;

impl Output {
    /// The elements.
    pub fn to_elements(&self) -> Vec<Goldilocks> {
        let mut out = self.key.to_elements().to_vec();
        out.push(Goldilocks::reduce(self.count));
        out
    }

    /// The output with these elements; `None` unless they are canonical and the key is on the curve.
    pub fn from_elements(elements: &[Goldilocks]) -> Option<Self> {
        let (count, key) = elements.split_last()?;
        Some(Self { key: Point::from_elements(key)?, count: count.as_u64() })
    }
}

impl BlsKeys {
    /// The application with these parameters.
    ///
    /// # Errors
    /// If the parameters belong to another application.
    pub fn from_parameters(parameters: &[u8]) -> Result<Self, ParametersError> {
        if parameters == PARAMETERS { Ok(Self) } else { Err(ParametersError(parameters.len())) }
    }
}

impl MapReduce for BlsKeys {
    fn name(&self) -> &str {
        "bls-keys"
    }

    fn parameters(&self) -> Vec<u8> {
        PARAMETERS.to_vec()
    }

    fn opening_len(&self) -> usize {
        table::KEY_ELEMENTS
    }

    fn output_len(&self) -> usize {
        OUTPUT_ELEMENTS
    }

    fn identity(&self) -> Vec<Goldilocks> {
        Output::default().to_elements()
    }

    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        let row = crate::tables::row(leaf, &table::schema())?;
        let key = table::key(row).ok_or_else(|| MapReduceError::Leaf {
            index: leaf.index,
            reason: "its coordinates are not those of a point of BLS12-381 G1 in canonical form: remove the row, or enter the key anew"
                .into(),
        })?;
        Ok(Output { key, count: 1 }.to_elements())
    }

    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        let operand = |elements: &[Goldilocks]| {
            let what = || MapReduceError::Operand("no point in canonical form with a count".into());
            Output::from_elements(elements).ok_or_else(what)
        };
        let (left, right) = (operand(left)?, operand(right)?);
        let count = Goldilocks::reduce(left.count) + Goldilocks::reduce(right.count);
        Ok(Output { key: left.key.add(&right.key), count: count.as_u64() }.to_elements())
    }

    fn is_commutative(&self) -> bool {
        true
    }

    fn on_tables(&self) -> Option<&dyn Circuits> {
        Some(self)
    }
}
