//! The choice of the prover for a circuit.

use core::fmt;
use core::str::FromStr;
use std::sync::{Arc, OnceLock};

use evergrove_commit::watch::{Observer, Step};
use evergrove_kernels::oracle::Keep;
use evergrove_primitives::lanes::Isa;
use plonky2::iop::witness::PartialWitness;
use plonky2::plonk::circuit_data::CircuitData;

use super::Prover;
use crate::circuit::{C, D, F, PlonkyProof};

/// A prover by its name. Proofs are of the same circuits, and verify with the same keys.
///
/// The default is the faster one on this CPU: [`ProverKind::fastest_on`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProverKind {
    /// [`Prover`], and plonky2's for circuits that it does not support.
    Evergrove,
    /// Plonky2's own prover.
    Plonky2,
}

impl ProverKind {
    /// All provers.
    pub const ALL: [Self; 2] = [Self::Evergrove, Self::Plonky2];

    /// The prover that was measured to be faster on a CPU whose best instruction set is this one.
    ///
    /// Plonky2's time divided by ours, for a bucket of the profile `paper` on one thread (Zen 4, default compiler
    /// flags; `docs/performance.md` has the other circuits and two threads): 0.95 in plain Rust, 2.0 on
    /// AVX2, 3.5 on AVX-512F and 4.1 with IFMA. Plonky2 has no vectors at default flags, so its time is the same on all
    /// of them.
    pub const fn fastest_on(isa: Isa) -> Self {
        match isa {
            Isa::Portable => Self::Plonky2,
            Isa::Avx2 | Isa::Avx512 | Isa::Avx512Ifma => Self::Evergrove,
        }
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evergrove => "evergrove",
            Self::Plonky2 => "plonky2",
        }
    }
}

impl Default for ProverKind {
    fn default() -> Self {
        Self::fastest_on(Isa::detect())
    }
}

impl fmt::Display for ProverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text names no prover.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown prover {0:?}: choose evergrove or plonky2")]
pub struct UnknownProver(pub String);

impl FromStr for ProverKind {
    type Err = UnknownProver;

    fn from_str(s: &str) -> Result<Self, UnknownProver> {
        Self::ALL.into_iter().find(|p| p.name() == s).ok_or_else(|| UnknownProver(s.into()))
    }
}

/// The prover of one circuit. Its tables are built by the first proof.
pub struct CircuitProver {
    kind: ProverKind,
    keep: Keep,
    /// `None` inside if the circuit is not supported.
    prover: OnceLock<Option<Prover>>,
    observer: Option<(&'static str, Arc<dyn Observer>)>,
}

impl Default for CircuitProver {
    fn default() -> Self {
        Self::new(ProverKind::default())
    }
}

impl CircuitProver {
    /// A prover of this kind.
    pub fn new(kind: ProverKind) -> Self {
        Self { kind, keep: Keep::Values, prover: OnceLock::new(), observer: None }
    }

    /// Our prover in less memory and somewhat more time: [`Keep::Coefficients`] of [`Prover::on`].
    pub fn low_memory() -> Self {
        Self { keep: Keep::Coefficients, ..Self::new(ProverKind::Evergrove) }
    }

    /// Reports all later proofs to `observer`, under the circuit's `name`. Plonky2's own prover reports no steps.
    pub fn observe(&mut self, name: &'static str, observer: &Arc<dyn Observer>) {
        self.observer = Some((name, Arc::clone(observer)));
    }

    /// Proves `circuit`, the same in all calls.
    ///
    /// # Errors
    /// When `inputs` contradict the circuit or leave something open.
    pub fn prove(&self, circuit: &CircuitData<F, C, D>, inputs: PartialWitness<F>) -> anyhow::Result<PlonkyProof> {
        self.prove_by(self.kind, circuit, inputs)
    }

    /// [`CircuitProver::prove`] by the prover of another kind.
    pub(crate) fn prove_by(
        &self,
        kind: ProverKind,
        circuit: &CircuitData<F, C, D>,
        inputs: PartialWitness<F>,
    ) -> anyhow::Result<PlonkyProof> {
        let prover = match kind {
            ProverKind::Evergrove => self.tables(circuit),
            ProverKind::Plonky2 => None,
        };
        let mut ended: Box<dyn FnMut(Step)> = match &self.observer {
            Some((name, observer)) => observer.proof(name, circuit.common.degree()),
            None => Box::new(|_| ()),
        };
        match prover {
            Some(prover) => prover.prove_observed(circuit, inputs, &mut ended),
            None => circuit.prove(inputs),
        }
    }

    /// Our prover, if it supports the circuit.
    fn tables(&self, circuit: &CircuitData<F, C, D>) -> Option<&Prover> {
        if self.prover.get().is_none() {
            // Not `get_or_init`: the tables are built in a thread pool, one of whose threads may wait here. Two threads that
            // are here at the same time do the work twice.
            let _ = self.prover.set(Prover::on(Isa::detect(), self.keep, circuit).ok());
        }
        self.prover.get()?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of the measurements, for every instruction set.
    #[test]
    fn the_faster_prover_is_the_default() {
        let chosen = Isa::ALL.map(|isa| (isa, ProverKind::fastest_on(isa)));
        assert_eq!(
            chosen,
            [
                (Isa::Portable, ProverKind::Plonky2),
                (Isa::Avx2, ProverKind::Evergrove),
                (Isa::Avx512, ProverKind::Evergrove),
                (Isa::Avx512Ifma, ProverKind::Evergrove),
            ]
        );
        assert_eq!(ProverKind::default(), ProverKind::fastest_on(Isa::detect()));
    }
}
