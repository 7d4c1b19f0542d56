//! Map/Reduce applications as circuits of Plonky2.

use evergrove_recursion::circuit::{Builder, to_plonky};
use plonky2::iop::target::{BoolTarget, Target};

use crate::MapReduce;

/// A leaf in a circuit of Plonky2, as [`Plonky2Circuits::map_circuit`] sees it.
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

/// The circuits of an application for the profiles of Plonky2.
///
/// **Values of one's own.** A circuit may add virtual targets that only a `SimpleGenerator` of the application sets, from
/// targets of its own. Provers run them like plonky2's. Circuits with generators other than plonky2's and this crate's, or gates
/// other than those of `evergrove_recursion::gates::Gates`, are built again by every prover that starts (seconds) instead of
/// coming from the cache.
///
/// `SimpleGenerator` is that of `plonky2::iop::generator`.
pub trait Plonky2Circuits: MapReduce {
    /// [`MapReduce::map`] as constraints. Everything that may fail for an inactive slot is conditional on `leaf.active`: index, value and
    /// opening of zeros satisfy the circuit there. What it returns there does not matter: [`Self::fold_circuit`] takes the identity instead.
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target>;
    /// [`MapReduce::reduce`] as constraints. Operands are outputs: of map, of fold, of reduce, or identity.
    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target>;
    /// The output of the active ones of a bucket's slots, in order, as constraints: `reduce` of their `map`, and nothing of
    /// what is in the others, whatever a prover puts there.
    ///
    /// By default a balanced tree of reductions over what [`Self::map_circuit`] returns, with the identity in the place of
    /// inactive slots. To be overridden by applications that sum lazily.
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
