//! Map/Reduce applications as circuits of Plonky2.

use std::sync::Arc;

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{self, Aggregate};
use evergrove_apps::bls::BlsKeys;
use evergrove_apps::samples::{Sequence, Tally};
use plonky2::iop::target::{BoolTarget, Target};

use crate::circuit::{Builder, to_plonky};

/// A leaf in a circuit of Plonky2, as [`Plonky2Circuits::map_circuit`] sees it.
#[derive(Clone, Debug)]
pub struct LeafTargets {
    /// The slot holds a leaf. If it does not, index, value and opening are the prover's choice: zeros for an honest
    /// one.
    pub active: BoolTarget,
    /// Position in the vector.
    pub index: Target,
    /// The slot's value.
    pub value: [Target; 4],
    /// The opening of the value: [`MapReduce::opening_len`] wires that the prover sets.
    pub opening: Vec<Target>,
}

/// The circuits of an application for the profiles of Plonky2.
///
/// **Own values.** A circuit may add virtual targets that only a `SimpleGenerator` of the application sets, from other
/// targets. Provers run such generators like plonky2's. Circuits with generators other than plonky2's and this crate's,
/// or gates other than those of [`Gates`](crate::gates::Gates), do not come from the cache: every prover builds them
/// again at its start (seconds).
///
/// `SimpleGenerator` is that of `plonky2::iop::generator`.
pub trait Plonky2Circuits: MapReduce {
    /// [`MapReduce::map`] as constraints. Every constraint that may fail for an inactive slot is conditional on
    /// `leaf.active`: index, value and opening of zeros satisfy the circuit there. The returned wires do not matter
    /// there: [`Self::fold_circuit`] uses the identity instead.
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target>;
    /// [`MapReduce::reduce`] as constraints. Operands are outputs of map, of fold, of reduce, or the identity.
    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target>;
    /// The output of the active slots of a bucket, in order, as constraints: `reduce` of their `map`, independent of
    /// the contents of the other slots, whatever a prover puts there.
    ///
    /// By default a balanced tree of reductions over the results of [`Self::map_circuit`], with the identity instead of
    /// inactive slots. Applications that sum lazily should override it.
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

/// The circuits of an application, found by its name and built from its canonical parameters: those of the standard
/// catalog have circuits; `None` for any other.
pub fn circuits(app: &dyn MapReduce) -> Option<Arc<dyn Plonky2Circuits>> {
    let parameters = app.parameters();
    Some(match app.name() {
        aggregate::NAME => {
            let app = Aggregate::from_parameters(&parameters).ok()?;
            // Conditions of aggregates, and keys that are pinned, came with the tables.
            if !app.plan().conditions().is_empty() || app.plan().width().is_some() {
                return None;
            }
            Arc::new(app)
        }
        "bls-keys" => Arc::new(BlsKeys::from_parameters(&parameters).ok()?),
        "sequence" if parameters.is_empty() => Arc::new(Sequence),
        "tally" => Arc::new(Tally::from_parameters(&parameters).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use evergrove_apps::catalog::{Application, Catalog};
    use evergrove_commit::schema::{Column, ColumnType, Schema};

    use super::*;

    /// Every standard kind has circuits, of the very application that the catalog makes.
    #[test]
    fn standard_applications_have_circuits() {
        let catalog = Catalog::standard();
        let rows = Schema::new(vec![Column::new("x", ColumnType::Unsigned)]).expect("a name");
        let keys = evergrove_apps::bls::table::schema();
        let texts = [
            ("aggregate", "SELECT SUM(x) FROM t", &rows),
            ("bls-keys", "", &keys),
            ("sequence", "", &rows),
            ("tally", "20", &rows),
        ];
        assert_eq!(catalog.kinds().count(), texts.len());
        for (name, text, schema) in texts {
            let app = catalog.parse(name, text, schema).expect("parameters of the kind");
            let found = circuits(app.as_ref()).unwrap_or_else(|| panic!("{name} has no circuits"));
            assert_eq!((found.id(), found.shape()), (app.id(), app.shape()));
            assert_eq!(found.output_len(), app.output_len());
            assert!(crate::apps::OnPlonky2::new(&Application::from(app)).is_some());
        }
    }
}
