//! Estimates of the costs of proofs.

use evergrove_commit::BackendSpec;
use evergrove_store::NodeCosts;
use evergrove_verifier::{Profile, Scheme};

#[cfg(feature = "apps")]
use crate::AppCircuits;
use crate::{Backend, Config, Machine};

/// Estimated seconds that a proof by a worker takes in addition to the proving: payload, inputs and result as objects,
/// and about a millisecond in the queue (`evergrove-bench jobs`).
#[cfg(feature = "queue")]
const QUEUE_SECONDS: f64 = 0.01;

/// Seconds of a piece about Ethereum's state on the reference machine: a fixed part, and a part for each element of its
/// rows.
#[cfg(feature = "grove")]
const PIECE: (f64, f64) = (0.03, 6.5e-8);
/// Seconds of a join of pieces.
#[cfg(feature = "grove")]
const JOIN: f64 = 0.25;
/// Seconds of the circuit of pieces, for each element, and of the circuits of joins.
#[cfg(feature = "grove")]
const PIECE_SETUP: f64 = 1e-8;
#[cfg(feature = "grove")]
const JOIN_SETUP: f64 = 0.1;

impl Config {
    /// The costs of proofs by our prover on this machine, scaled by its figures in [`Config::machine`]; without
    /// figures, on two cores of a Zen 5 with AVX-512 IFMA. Plonky2's own prover takes five times as long.
    ///
    /// The circuits of an application may have more rows than the profile's. Their number is known from the keys, or by
    /// a search, which takes seconds.
    pub fn costs(&self, spec: &BackendSpec) -> NodeCosts {
        #[cfg(feature = "apps")]
        if let Some(app) = &spec.choice.app {
            let (scheme, profile) = (spec.choice.scheme, spec.choice.profile);
            let app = self.catalog.make(app).ok();
            let circuits = app.and_then(|app| self.app_circuits(&app, scheme, profile, spec.class).ok());
            // For an application without circuits here there is nothing to estimate; proving reports it.
            if let Some(circuits) = circuits {
                return self.app_costs(spec, &circuits);
            }
        }
        self.here(profile_costs(spec))
    }

    /// [`Self::costs`] of an application with these circuits. The costs of digest translation by Plonky2 do not depend
    /// on the application.
    #[cfg(feature = "apps")]
    pub fn app_costs(&self, spec: &BackendSpec, circuits: &AppCircuits) -> NodeCosts {
        let costs = profile_costs(spec);
        let (setup, factor) = match circuits {
            #[cfg(feature = "plonky2")]
            AppCircuits::Plonky2(_) if spec.choice.scheme == Scheme::Tree => (1.0, 1.0),
            #[cfg(feature = "plonky2")]
            AppCircuits::Plonky2(size) => {
                let known = spec.choice.profile.recursion().map_or(0, |known| known.degree_bits.into());
                let factor = (1u64 << size.degree_bits.saturating_sub(known)) as f64;
                (factor, factor)
            }
            // A search finds their size. Nearly all of the cost of a proof is proportional to the committed elements.
            AppCircuits::Tables(circuit_set) => (4.0, circuit_set.growth()),
        };
        self.here(NodeCosts {
            setup_seconds: costs.setup_seconds * setup,
            bucket_seconds: costs.bucket_seconds * factor,
            merge_seconds: costs.merge_seconds * factor,
            memory_bytes: (costs.memory_bytes as f64 * factor) as u64,
            concurrent_bytes: (costs.concurrent_bytes as f64 * factor) as u64,
            ..costs
        })
    }

    /// Seconds that proofs about Ethereum's state and lists take here, including their circuits: for this many pieces
    /// of a size, and joins.
    #[cfg(feature = "grove")]
    pub fn state_seconds(&self, size: &evergrove_grove::mpt::Size, [pieces, joins]: [usize; 2]) -> f64 {
        let slowness = self.machine.as_ref().map_or(1.0, Machine::slowness);
        let elements = size.elements() as f64;
        let setup = PIECE_SETUP * elements + if joins > 0 { JOIN_SETUP } else { 0.0 };
        let piece = PIECE.0 + PIECE.1 * elements;
        slowness * (setup + pieces as f64 * piece + joins as f64 * JOIN)
    }

    /// The costs on this machine, including the engine's.
    fn here(&self, costs: NodeCosts) -> NodeCosts {
        let slowness = self.machine.as_ref().map_or(1.0, Machine::slowness);
        let costs = NodeCosts {
            setup_seconds: costs.setup_seconds * slowness,
            bucket_seconds: costs.bucket_seconds * slowness,
            merge_seconds: costs.merge_seconds * slowness,
            wrap_seconds: costs.wrap_seconds * slowness,
            ..costs
        };
        #[cfg(feature = "queue")]
        if self.workers.is_some() {
            return NodeCosts { task_seconds: QUEUE_SECONDS, ..costs };
        }
        costs
    }
}

/// Costs of the profile's own circuits.
fn profile_costs(spec: &BackendSpec) -> NodeCosts {
    if spec.choice.name == Backend::Grove.name() {
        grove_costs(spec.choice.profile)
    } else if spec.choice.name != Backend::Plonky2.name() {
        native_costs(spec)
    } else {
        match spec.choice.scheme {
            Scheme::Tree => plonky2_tree_costs(spec.choice.profile),
            Scheme::RecklePaper => paper_costs(spec),
            _ => plonky2_costs(spec.choice.profile),
        }
    }
}

fn grove_costs(profile: Profile) -> NodeCosts {
    // The first proof of a process takes longer: besides the circuits, its memory is new.
    let (setup, node, proof) = if profile == Profile::Grove128 { (0.09, 0.19, 235) } else { (0.05, 0.14, 330) };
    NodeCosts {
        setup_seconds: setup,
        bucket_seconds: node,
        merge_seconds: node,
        wrap_seconds: 0.0,
        task_seconds: 0.0,
        memory_bytes: 400 << 20,
        concurrent_bytes: 300 << 20,
        proof_bytes: proof << 10,
    }
}

fn native_costs(spec: &BackendSpec) -> NodeCosts {
    let node = spec.capacity as f64 * f64::from(spec.class.height_max()) * 4e-6;
    NodeCosts {
        setup_seconds: 0.0,
        bucket_seconds: node,
        merge_seconds: 2.0 * node,
        wrap_seconds: 2.0 * node,
        task_seconds: 0.0,
        memory_bytes: 64 << 20,
        concurrent_bytes: 16 << 20,
        // The leaves of a bucket.
        proof_bytes: 64 * spec.capacity as u64,
    }
}

/// Digest translation: circuits of 2^15 or 2^16 rows, and the table of a bucket.
fn plonky2_tree_costs(profile: Profile) -> NodeCosts {
    let (node, table, wrap, memory, proof) = match profile {
        Profile::Paper => (0.95, 1.9, 0.4, 3 << 30, 150),
        Profile::Johnson => (2.1, 1.9, 0.0, 5 << 30, 270),
        _ => (2.2, 1.9, 0.0, 5 << 30, 475),
    };
    NodeCosts {
        setup_seconds: 10.0 * node,
        bucket_seconds: node + table,
        merge_seconds: node,
        wrap_seconds: wrap,
        memory_bytes: memory,
        concurrent_bytes: memory / 2,
        proof_bytes: proof << 10,
        task_seconds: 0.0,
    }
}

/// A block takes little, and a level as much as a merge; every level has a circuit of its own.
fn paper_costs(spec: &BackendSpec) -> NodeCosts {
    let levels = f64::from(spec.class.height_max()) - f64::from(Scheme::BLOCK_HEIGHT);
    let (level, circuit, wrap, proof) = match spec.choice.profile {
        Profile::Paper => (0.23, 75 << 20, 0.2, 192 << 20),
        Profile::Johnson => (0.53, 150 << 20, 0.0, 384 << 20),
        _ => (1.1, 300 << 20, 0.0, 768 << 20),
    };
    NodeCosts {
        setup_seconds: levels * level * 4.0,
        bucket_seconds: 0.02,
        merge_seconds: level,
        wrap_seconds: wrap,
        task_seconds: 0.0,
        memory_bytes: levels as u64 * circuit + (1 << 30),
        concurrent_bytes: proof,
        proof_bytes: plonky2_proof_bytes(spec.choice.profile),
    }
}

/// A foreign profile, which is never used, has the costs of `proven`.
fn plonky2_costs(profile: Profile) -> NodeCosts {
    let (setup, node, wrap, memory, proof) = match profile {
        Profile::Paper => (2.0, 0.23, 0.2, 1 << 30, 192 << 20),
        Profile::Johnson => (4.0, 0.53, 0.0, 3 << 29, 384 << 20),
        _ => (8.0, 1.1, 0.0, 5 << 29, 768 << 20),
    };
    NodeCosts {
        setup_seconds: setup,
        bucket_seconds: node,
        merge_seconds: node,
        wrap_seconds: wrap,
        task_seconds: 0.0,
        memory_bytes: memory,
        concurrent_bytes: proof,
        proof_bytes: plonky2_proof_bytes(profile),
    }
}

/// Bytes of a proof of Plonky2.
fn plonky2_proof_bytes(profile: Profile) -> u64 {
    match profile {
        Profile::Paper => 140 << 10,
        Profile::Johnson => 243 << 10,
        _ => 437 << 10,
    }
}

#[cfg(all(test, feature = "plonky2"))]
mod tests {
    use std::sync::Arc;

    use evergrove_apps::MapReduce;
    use evergrove_apps::bls::BlsKeys;
    use evergrove_apps::catalog::Application;
    use evergrove_verifier::HeightClass;

    use super::*;

    #[test]
    fn circuits_with_more_rows_than_the_profile_cost_more() {
        let config = Config::default();
        let plain =
            crate::on_plonky2::specs().find(|s| s.choice.profile == Profile::Paper && s.class == HeightClass::H27);
        let plain = plain.expect("circuits of paper");
        let app: Arc<dyn MapReduce> = Arc::new(BlsKeys);
        // The merge with an addition of points does not fit the profile's rows.
        let choice = plain.choice.clone().with_app(Scheme::Selected, Application::from(app).spec());
        let spec = BackendSpec { choice, ..plain.clone() };
        let [ours, known] = [&spec, &plain].map(|s| config.costs(s));
        assert_eq!(ours.memory_bytes, 2 * known.memory_bytes);
        assert!((ours.merge_seconds - 2.0 * known.merge_seconds).abs() < 1e-9);
        assert!((ours.wrap_seconds - known.wrap_seconds).abs() < 1e-9);
    }
}
