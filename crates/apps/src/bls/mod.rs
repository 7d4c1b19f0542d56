//! Aggregate public keys of BLS signatures: the sum of the keys of a batch, and how many they are.
//!
//! **What.** [`BlsKeys`] is the application: a leaf is a key of BLS12-381 G1 ([`table`]), the output the sum of the keys and
//! their number ([`Output`]). [`light_client`] checks a signature of a committee by such a proof. Section 4.1 and Figs. 8
//! and 9 of the Reckle trees paper.
//!
//! **When.** A verifier that knows a table of keys by its commitment alone wants to know that at least t of them have signed.
//!
//! **Neighbours.** The curve in circuits is in [`evergrove_verifier::tables::addition`] and [`point`](evergrove_verifier::tables::point), with Plonky2 in
//! `evergrove_apps::nonnative`; signatures and the subgroup are `blst`'s.

#[cfg(feature = "plonky2")]
mod circuit;
pub mod light_client;
pub mod limbs;
mod point;
pub mod table;
mod tables;

#[cfg(feature = "plonky2")]
pub use circuit::{Addition, PointTargets, ROWS_PER_ADDITION, rows_per_addition};
#[cfg(feature = "plonky2")]
pub(crate) use circuit::{AdditionGenerator, SplitGenerator, SquareGenerator};
pub use point::{COMPRESSED_BYTES, KeyError, POINT_ELEMENTS, Point};

use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;
#[cfg(feature = "plonky2")]
use evergrove_recursion::circuit::{Builder, to_plonky};
#[cfg(feature = "plonky2")]
use plonky2::iop::target::Target;

use crate::{Leaf, MapReduce, MapReduceError};
#[cfg(feature = "plonky2")]
use crate::{LeafTargets, Plonky2Circuits};

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

    #[cfg(feature = "plonky2")]
    fn on_plonky2(&self) -> Option<&dyn Plonky2Circuits> {
        Some(self)
    }
}

#[cfg(feature = "plonky2")]
impl Plonky2Circuits for BlsKeys {
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target> {
        let mut out = circuit::open(b, leaf).limbs().to_vec();
        out.push(b.one());
        out
    }

    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
        let [p, q] = [left, right].map(PointTargets::of_output);
        let sum = Addition::build(b, &p, &q).sum;
        sum.assert_canonical(b);
        let mut out = sum.limbs().to_vec();
        out.push(b.add(left[POINT_ELEMENTS], right[POINT_ELEMENTS]));
        out
    }

    /// Sums between the slots need not be below p: their last is.
    fn fold_circuit(&self, b: &mut Builder, slots: &[LeafTargets]) -> Vec<Target> {
        let points: Vec<PointTargets> =
            slots.iter().map(|slot| circuit::open(b, slot).only_if(b, slot.active)).collect();
        let sum = points.into_iter().reduce(|sum, p| Addition::build(b, &sum, &p).sum);
        let Some(sum) = sum else { return self.identity().into_iter().map(|x| b.constant(to_plonky(x))).collect() };
        sum.assert_canonical(b);
        let mut out = sum.limbs().to_vec();
        out.push(b.add_many(slots.iter().map(|slot| slot.active.target)));
        out
    }
}
