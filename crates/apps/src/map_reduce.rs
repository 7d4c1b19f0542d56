//! What an application is.

use evergrove_grove::application::Circuits;
use evergrove_primitives::Goldilocks;
use evergrove_proof::AppId;
use evergrove_proof::tree::Value;
#[cfg(feature = "plonky2")]
use evergrove_recursion::circuit::{Builder, to_plonky};
#[cfg(feature = "plonky2")]
use plonky2::iop::target::{BoolTarget, Target};

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

/// A leaf in a circuit of Plonky2, as [`MapReduce::map_circuit`] sees it.
#[cfg(feature = "plonky2")]
#[derive(Clone, Debug)]
pub struct LeafTargets {
    /// The slot holds a leaf. Where it does not, index, value and opening are the prover's: zeros of an honest one.
    pub active: BoolTarget,
    /// Position in the vector.
    pub index: Target,
    /// The slot's value.
    pub value: [Target; 4],
    /// What opens the value: [`MapReduce::opening_len`] wires that the prover sets.
    pub opening: Vec<Target>,
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
/// - `map_circuit` can be satisfied for a slot that is not active (all of index, value and opening zero). What it returns
///   there does not matter: `fold_circuit` takes `identity()` instead, whatever the prover sets.
///
/// **Values of one's own.** A circuit may add virtual targets that only a `SimpleGenerator` of the application sets, from
/// targets of its own. Provers run them like plonky2's. Circuits with generators other than plonky2's and this crate's, or gates
/// other than those of `evergrove_recursion::gates::Gates`, are built again by every prover that starts (seconds) instead of
/// coming from the cache.
///
/// `SimpleGenerator` is that of `plonky2::iop::generator`.
pub trait MapReduce: Send + Sync {
    /// The kind of application: 1 to 32 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;
    /// All that the circuits depend on besides the name, in an encoding with one form for each meaning: a query and the
    /// digest of its schema, for example. Stores keep it to make the application again.
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
    /// [`Self::map`] as constraints. Everything that may fail for an inactive slot is conditional on `leaf.active`.
    #[cfg(feature = "plonky2")]
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target>;
    /// [`Self::reduce`] as constraints. Operands are outputs: of map, of fold, of reduce, or identity.
    #[cfg(feature = "plonky2")]
    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target>;
    /// Map and reduction as rows of the engine's tables, for the backend `grove`; `None` of an application that has Plonky2's circuits
    /// alone.
    fn on_tables(&self) -> Option<&dyn Circuits> {
        None
    }
    /// The output of the active ones of a bucket's slots, in order, as constraints: `reduce` of their `map`, and nothing of
    /// what is in the others, whatever a prover puts there.
    ///
    /// By default a balanced tree of reductions over what [`Self::map_circuit`] returns, with the identity in the place of
    /// inactive slots. To be overridden by applications that sum lazily.
    #[cfg(feature = "plonky2")]
    fn fold_circuit(&self, b: &mut Builder, slots: &[LeafTargets]) -> Vec<Target> {
        let identity: Vec<Target> = self.identity().into_iter().map(|x| b.constant(to_plonky(x))).collect();
        let mut level: Vec<Vec<Target>> = slots
            .iter()
            .map(|slot| {
                let mapped = self.map_circuit(b, slot);
                assert_eq!(mapped.len(), identity.len(), "elements that {} maps a leaf to", self.name());
                mapped.iter().zip(&identity).map(|(x, none)| b.select(slot.active, *x, *none)).collect()
            })
            .collect();
        while level.len() > 1 {
            let pairs = level.chunks(2);
            level = pairs
                .map(|pair| match pair {
                    [left, right] => self.reduce_circuit(b, left, right),
                    _ => pair[0].clone(),
                })
                .collect();
        }
        level.pop().unwrap_or(identity)
    }
}
