//! The trait of applications.

use evergrove_commit::BackendError;
use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;
use evergrove_verifier::AppId;
use evergrove_verifier::tree::Value;

/// A member of a batch, as [`MapReduce::map`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf<'a> {
    /// The position in the vector.
    pub index: u64,
    /// The slot's value.
    pub value: Value,
    /// The elements that open the value: [`MapReduce::opening_len`] elements, for a row those of the schema. The prover
    /// chooses them, so the map must check them against `value`.
    pub opening: &'a [Goldilocks],
}

/// Reasons why a leaf cannot be mapped, or two outputs cannot be reduced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapReduceError {
    /// The opening does not have the application's length.
    #[error("the opening of slot {index} has {found} elements, expected {expected}")]
    OpeningLength {
        /// The leaf's position.
        index: u64,
        /// [`MapReduce::opening_len`].
        expected: usize,
        /// Elements found.
        found: usize,
    },
    /// The opening does not open the value.
    #[error("the opening of slot {index} does not open its value")]
    Opening {
        /// The leaf's position.
        index: u64,
    },
    /// The application does not map this leaf.
    #[error("slot {index}: {reason}")]
    Leaf {
        /// The leaf's position.
        index: u64,
        /// The reason, and the remedy.
        reason: String,
    },
    /// Two outputs cannot be reduced, because a number would leave its range.
    #[error("{what} does not fit: {reason}")]
    Overflow {
        /// The number.
        what: String,
        /// The range, and the remedy.
        reason: String,
    },
    /// An operand of the reduction is not an output of the application.
    #[error("an operand is not an output of the application: {0}")]
    Operand(String),
}

impl From<MapReduceError> for BackendError {
    fn from(e: MapReduceError) -> Self {
        Self::Witness(e.to_string())
    }
}

/// An application: a map of leaves and a reduction, as code and as circuits.
///
/// The output of leaves l_1, .., l_n in ascending order of their positions is `reduce(.. reduce(map(l_1), map(l_2)) ..,
/// map(l_n))` in any bracketing, and `identity()` for n = 0. All outputs have `output_len()` elements.
///
/// **Laws** (`crate::laws` checks them on leaves that the caller gives):
/// - `reduce` is associative on outputs, and `identity()` is neutral on both sides. If [`Self::is_commutative`] is
///   true, the order of operands does not matter.
/// - The circuits compute exactly `map` and `reduce`, and are unsatisfiable where these return an error. Soundness
///   rests on this half: outputs of child proofs are already in range, but an adversary chooses leaves and openings.
/// - Slots that are not active do not count, whatever the prover puts there, and zeros satisfy the circuits there.
///
/// [`Self::on_tables`] returns the circuits. The applications of this crate also have circuits for Plonky2, for the
/// profiles of version 0.1, in `evergrove_plonky2::apps`.
pub trait MapReduce: Send + Sync {
    /// What the circuits depend on: the parameters, or the parameters without the circuits' inputs. Applications with
    /// the same name and shape have the same circuits, and the same outputs for the same inputs.
    ///
    /// A verifier that reads its key from a file trusts the file for a name and a shape.
    fn shape(&self) -> Vec<u8> {
        self.parameters()
    }
    /// The application's name: 1 to 32 characters of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;
    /// Everything that the circuits depend on besides the name, in a canonical encoding: a query and the schema of its
    /// table, for example. Stores keep it, and a [`Kind`](crate::catalog::Kind) builds the application from it.
    fn parameters(&self) -> Vec<u8>;
    /// The name and the digest of the parameters, which identify the application in a proof.
    fn id(&self) -> AppId {
        AppId::new(self.name(), &self.parameters())
    }
    /// Elements that open a leaf's value; 0 if the map needs only the value.
    fn opening_len(&self) -> usize;
    /// R, at least 1: elements per output. Each costs a public input, and at most half a row per leaf.
    fn output_len(&self) -> usize;
    /// The output of an empty set of leaves.
    fn identity(&self) -> Vec<Goldilocks>;
    /// The output of one leaf.
    ///
    /// # Errors
    /// If the opening does not open the value, or the application does not map the leaf.
    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError>;
    /// The output of two sets of leaves. Those of `left` come before those of `right`.
    ///
    /// # Errors
    /// If an operand is not an output, or the result is out of range.
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError>;
    /// True if the operands of `reduce` may be exchanged. Other applications have no *selected* statements.
    fn is_commutative(&self) -> bool;
    /// Map and reduction as rows of the engine's tables, for the backend `grove`; `None` for an application that is
    /// only code, and cannot be proven.
    fn on_tables(&self) -> Option<&dyn Circuits> {
        None
    }
    /// The meaning of an output: names with values, for reports. The default is empty, and reports then show the
    /// elements.
    fn describe(&self, output: &[Goldilocks]) -> Vec<(String, String)> {
        let _ = output;
        Vec::new()
    }
}
