//! The sample applications by Plonky2.

#[path = "../../../../apps/tests/apps/samples/laws.rs"]
mod laws;

/// The circuits that the laws compare with the code.
use evergrove_plonky2::apps::laws as circuits;

use evergrove_apps::samples::Sequence;
use evergrove_plonky2::apps::{LeafTargets, Plonky2Circuits};
use evergrove_plonky2::circuit::Builder;
use plonky2::iop::target::Target;

use laws::Broken;

impl Plonky2Circuits for Broken {
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target> {
        Sequence.map_circuit(b, leaf)
    }
    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
        match self {
            Self::ReduceCircuit => Sequence.reduce_circuit(b, right, left),
            Self::FreeOutput => b.add_virtual_targets(2),
            _ => Sequence.reduce_circuit(b, left, right),
        }
    }
}
