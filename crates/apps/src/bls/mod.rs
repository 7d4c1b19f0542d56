//! Aggregate public keys of BLS signatures: the sum of the keys of a batch, and how many they are.
//!
//! **What.** [`BlsKeys`] is the application: a leaf is a key of BLS12-381 G1 ([`table`]), the output the sum of the keys and
//! their number ([`Output`]). [`light_client`] checks a signature of a committee by such a proof. Section 4.1 and Figs. 8
//! and 9 of the Reckle trees paper.
//!
//! **When.** A verifier that knows a table of keys by its commitment alone wants to know that at least t of them have signed.
//!
//! **Neighbours.** The curve in circuits is in [`evergrove_verifier::tables::addition`] and [`point`](evergrove_verifier::tables::point), with Plonky2 in
//! `evergrove_recursion::apps::nonnative`; signatures and the subgroup are `blst`'s.

pub mod light_client;
pub mod limbs;
mod point;
pub mod table;
mod tables;

pub use point::{COMPRESSED_BYTES, KeyError, POINT_ELEMENTS, Point, chord, slope};

use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;

use crate::{Leaf, MapReduce, MapReduceError};

/// Sum and number of the keys of a batch. Commutative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlsKeys;

/// What the parameters say: which curve.
const PARAMETERS: &[u8] = b"BLS12-381 G1";

/// Parameters of another application, or of another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid parameters of bls-keys: {0} bytes")]
pub struct ParametersError(usize);

/// An output of [`BlsKeys`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Sum of the keys.
    pub key: Point,
    /// How many they are.
    pub count: u64,
}

/// Elements of an output: the limbs of the key, and the count.
pub const OUTPUT_ELEMENTS: usize = POINT_ELEMENTS + 1;

impl Output {
    /// The elements.
    pub fn to_elements(&self) -> Vec<Goldilocks> {
        let mut out = self.key.to_elements().to_vec();
        out.push(Goldilocks::reduce(self.count));
        out
    }

    /// The output with these elements, `None` unless they are canonical and the key is on the curve.
    pub fn from_elements(elements: &[Goldilocks]) -> Option<Self> {
        let (count, key) = elements.split_last()?;
        Some(Self { key: Point::from_elements(key)?, count: count.as_u64() })
    }
}

impl BlsKeys {
    /// The application with these parameters.
    ///
    /// # Errors
    /// When they are not its own.
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
