//! What an application is.

use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;
use evergrove_verifier::AppId;
use evergrove_verifier::tree::Value;

/// A member of a batch, as [`MapReduce::map`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf<'a> {
    /// Position in the vector.
    pub index: u64,
    /// The slot's value.
    pub value: Value,
    /// What opens the value: [`MapReduce::opening_len`] elements, a row's by the schema. Claimed by the prover: the map
    /// ties it to `value`.
    pub opening: &'a [Goldilocks],
}

/// A leaf has no image, or two outputs no reduction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapReduceError {
    /// The opening has not the application's length.
    #[error("the opening of slot {index} has {found} elements, expected {expected}")]
    OpeningLength {
        /// The leaf's position.
        index: u64,
        /// [`MapReduce::opening_len`].
        expected: usize,
        /// Elements found.
        found: usize,
    },
    /// The opening is not one of the value.
    #[error("the opening of slot {index} does not open its value")]
    Opening {
        /// The leaf's position.
        index: u64,
    },
    /// The application has no image for this leaf.
    #[error("slot {index}: {reason}")]
    Leaf {
        /// The leaf's position.
        index: u64,
        /// Why, and what to do.
        reason: String,
    },
    /// Two outputs can not be reduced: a number would leave its range.
    #[error("{what} does not fit: {reason}")]
    Overflow {
        /// The number.
        what: String,
        /// Its range, and what to do.
        reason: String,
    },
    /// An operand of the reduction is no output of the application.
    #[error("an operand is not an output of the application: {0}")]
    Operand(String),
}

/// An application: a map of leaves and a reduction, as code and as circuits.
///
/// The output of leaves l_1, .., l_n in ascending order of their positions is
/// `reduce(.. reduce(map(l_1), map(l_2)) .., map(l_n))` in any bracketing, `identity()` where n = 0. All outputs have
/// `output_len()` elements.
///
/// **Laws** (`crate::laws` checks them on leaves of one's own):
/// - `reduce` is associative on outputs, `identity()` is neutral on both sides, and where [`Self::is_commutative`] says
///   so the order of operands does not matter;
/// - the circuits compute exactly `map` and `reduce`, and are unsatisfiable where these return an error. Soundness rests on
///   this half: outputs that come out of child proofs are already in range, leaves and openings are the adversary's;
/// - slots that are not active do not count, whatever the prover puts there, and zeros satisfy the circuits there.
///
/// Circuits are [`Self::on_tables`]. The applications of this crate have circuits of Plonky2 too, for the profiles of version 0.1: they are in
/// `evergrove_recursion::apps`.
pub trait MapReduce: Send + Sync {
    /// What the circuits depend on: the parameters, or of these all that is not among the circuits' inputs. Applications of one name and shape have the same
    /// circuits, and come to the same with the same inputs.
    ///
    /// A verifier that takes its key from a file trusts the file for a name and a shape.
    fn shape(&self) -> Vec<u8> {
        self.parameters()
    }
    /// The kind of application: 1 to 32 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;
    /// All that the circuits depend on besides the name, in an encoding with one form for each meaning: a query and the
    /// schema of its table, for example. Stores keep it, and a [`Kind`](crate::catalog::Kind) makes the application of it again.
    fn parameters(&self) -> Vec<u8>;
    /// Name and digest of the parameters: what a proof is a proof of.
    fn id(&self) -> AppId {
        AppId::new(self.name(), &self.parameters())
    }
    /// Elements that open a leaf's value; 0 where the value is all that the map needs.
    fn opening_len(&self) -> usize;
    /// R, at least 1: elements of an output. Each costs a public input, and half a row per leaf at most.
    fn output_len(&self) -> usize;
    /// The output of no leaves.
    fn identity(&self) -> Vec<Goldilocks>;
    /// The output of one leaf.
    ///
    /// # Errors
    /// When the opening is not one of the value, or the leaf has no image.
    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError>;
    /// The output of two sets of leaves, those of `left` before those of `right`.
    ///
    /// # Errors
    /// When an operand is no output, or the result is out of range.
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError>;
    /// True when the operands of `reduce` may be exchanged. Others have no *selected* statements.
    fn is_commutative(&self) -> bool;
    /// Map and reduction as rows of the engine's tables, for the backend `grove`; `None` of an application that is code alone, which
    /// nothing proves.
    fn on_tables(&self) -> Option<&dyn Circuits> {
        None
    }
    /// What an output says: names with values, for reports. By default there are none, and reports show the elements.
    fn describe(&self, output: &[Goldilocks]) -> Vec<(String, String)> {
        let _ = output;
        Vec::new()
    }
}
