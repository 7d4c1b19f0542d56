//! The modules of `rtl/`: their cycles, which `make test-rtl` checks in a simulator, and their costs, which Yosys counts.
//!
//! `make synth` writes `data/synth.json`. The models take the stages of their pipelines from here if `rtl/` has the part.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::LabError;
use crate::error::field;

/// Cycles of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Cycles {
    /// From operands to result: the stages of a pipeline.
    pub latency: u64,
    /// Between operands.
    pub interval: u64,
}

/// Costs of a module before placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Costs {
    /// Cells of an FPGA (UltraScale+), all kinds together.
    pub cells: u64,
    /// Flip-flops among them.
    pub flip_flops: u64,
    /// DSP slices among them.
    pub dsps: u64,
    /// Gates of Yosys's generic library: two inputs, or a multiplexer.
    pub gates: u64,
    /// Flip-flops beside these gates.
    pub registers: u64,
    /// Gates on the longest path between registers.
    pub depth: u64,
}

/// All modules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Synthesis {
    cycles: BTreeMap<String, Cycles>,
    modules: BTreeMap<String, Costs>,
}

static PUBLISHED: LazyLock<Synthesis> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/synth.json")).expect("the crate's own counts are well formed")
});

impl Synthesis {
    /// The crate's own counts.
    pub fn published() -> &'static Self {
        &PUBLISHED
    }
    /// The cycles of a module.
    ///
    /// # Errors
    /// If `rtl/` has no such module, or its latency varies.
    pub fn cycles(&self, module: &'static str) -> Result<Cycles, LabError> {
        self.cycles
            .get(module)
            .copied()
            .ok_or_else(|| field("module", module, "a module of data/synth.json with a constant latency"))
    }
    /// The costs of a module; `None` if it has not been synthesised.
    pub fn costs(&self, module: &str) -> Option<Costs> {
        self.modules.get(module).copied()
    }
}

/// Stages of a module that the models rest on.
pub(crate) fn stages(module: &'static str) -> u64 {
    Synthesis::published().cycles(module).expect("a test reads all modules of the models").latency
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mtu::{Latencies, Workload};
    use crate::poseidon::Pipelines;

    #[test]
    fn the_models_have_the_stages_of_the_hardware() {
        let published = Synthesis::published();
        assert!(published.cycles("nothing").is_err() && published.costs("nothing").is_none());
        let real = |workload| Latencies::Real.of(workload);
        assert_eq!(real(Workload::MultiplicationTree), stages("goldilocks_mul"));
        assert_eq!(real(Workload::BuildMle), stages("mle_node"));
        assert_eq!(real(Workload::MerkleTree), stages("keccak_f"));
        assert_eq!(Pipelines::default().permutation(), stages("poseidon_pipe"));
        assert_eq!(stages("poseidon_perm"), stages("poseidon_pipe"));
    }

    #[test]
    fn modules_have_costs() {
        let published = Synthesis::published();
        assert!(published.costs("goldilocks_mul").is_some_and(|costs| costs.gates > 0 && costs.dsps > 0));
        assert!(published.modules.values().all(|costs| costs.cells > 0 && costs.registers > 0 && costs.depth > 0));
    }
}
