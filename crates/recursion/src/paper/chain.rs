//! The circuits of the paper's scheme, each built from the one below when it is first needed.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use evergrove_proof::Profile;
use plonky2::gates::constant::ConstantGate;
use plonky2::gates::gate::GateRef;
use plonky2::gates::noop::NoopGate;
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};
use plonky2::recursion::dummy_circuit::{dummy_circuit, dummy_proof};

use super::{BlockTargets, CompactionTargets, LevelTargets};
use crate::circuit::{Builder, C, D, F, PlonkyProof, circuit_config};
use crate::keys::{CommonData, VerifierKey};
use crate::setup::Circuit;
use crate::verifier::CircuitVerifier;

/// What a level verifies in the place of a child without members: a proof, with public inputs zero, by a circuit without
/// constraints.
pub struct StandIn {
    common: CommonData,
    key: VerifierKey,
    proof: PlonkyProof,
}

impl StandIn {
    fn new(common: &CommonData) -> Self {
        let circuit = dummy_circuit::<F, C, D>(common);
        let proof = dummy_proof(&circuit, Default::default()).expect("a circuit without constraints has a proof");
        Self { common: common.clone(), key: circuit.verifier_only, proof }
    }

    /// The key.
    pub fn key(&self) -> &VerifierKey {
        &self.key
    }

    /// The proof.
    pub fn proof(&self) -> &PlonkyProof {
        &self.proof
    }
}

/// A circuit with its verifier.
pub(crate) struct Link<T> {
    pub(crate) circuit: Circuit<T>,
    pub(crate) verifier: CircuitVerifier,
}

impl<T> Link<T> {
    fn new(config: &CircuitConfig, build: impl FnOnce(&mut Builder) -> T) -> Self {
        let mut builder = Builder::new(config.clone());
        let targets = build(&mut builder);
        // The gates of the stand-in, which has the same common data.
        builder.add_gate_to_gate_set(GateRef::new(NoopGate));
        builder.add_gate_to_gate_set(GateRef::new(ConstantGate::new(config.num_constants)));
        let rows = builder.num_gates();
        let data: CircuitData<F, C, D> = builder.build();
        let verifier = CircuitVerifier::new(&data.common, &data.verifier_only);
        Self { circuit: Circuit { targets, data, rows }, verifier }
    }
}

/// A level with what stands in for its absent children.
pub(crate) struct LevelLink {
    pub(crate) link: Link<LevelTargets>,
    pub(crate) stand_in: Arc<StandIn>,
}

/// The circuits of the paper's scheme for one configuration: block and levels up to a greatest height, and a wrap for each
/// height. The circuit of a height depends on the heights below it alone.
pub struct Chain {
    config: CircuitConfig,
    compaction: Option<CircuitConfig>,
    block_height: u8,
    /// By height, 0 to q; only vectors lower than q use the lower ones.
    blocks: Vec<OnceLock<Link<BlockTargets>>>,
    /// By height, q + 1 and up.
    levels: Vec<OnceLock<LevelLink>>,
    /// By height.
    wraps: Vec<OnceLock<Link<CompactionTargets>>>,
    stand_ins: Mutex<Vec<Arc<StandIn>>>,
}

/// The circuit that proves the nodes of a height.
pub(crate) enum Node<'a> {
    Block(&'a Link<BlockTargets>),
    Level(&'a LevelLink),
}

impl<'a> Node<'a> {
    pub(crate) fn verifier(&self) -> &'a CircuitVerifier {
        match self {
            Self::Block(block) => &block.verifier,
            Self::Level(level) => &level.link.verifier,
        }
    }

    pub(crate) fn data(&self) -> &'a CircuitData<F, C, D> {
        match self {
            Self::Block(block) => &block.circuit.data,
            Self::Level(level) => &level.link.circuit.data,
        }
    }
}

impl Chain {
    /// The circuits of a profile, with blocks of 2^`block_height` slots. Builds nothing yet.
    pub fn new(profile: Profile, height_max: u8, block_height: u8) -> Self {
        let compaction = profile.wrap().map(|params| circuit_config(&params));
        Self::with_configs(circuit_config(&profile.recursion()), compaction, height_max, block_height)
    }

    /// The circuits with these configurations of plonky2; `compaction` is that of the wrap.
    pub fn with_configs(
        config: CircuitConfig,
        compaction: Option<CircuitConfig>,
        height_max: u8,
        block_height: u8,
    ) -> Self {
        let cells = |n: u8| usize::from(n);
        Self {
            config,
            compaction,
            block_height,
            blocks: (0..=cells(block_height.min(height_max))).map(|_| OnceLock::new()).collect(),
            levels: (0..cells(height_max.saturating_sub(block_height))).map(|_| OnceLock::new()).collect(),
            wraps: (0..=cells(height_max)).map(|_| OnceLock::new()).collect(),
            stand_ins: Mutex::default(),
        }
    }

    /// q.
    pub fn block_height(&self) -> u8 {
        self.block_height
    }

    /// The greatest height.
    pub fn height_max(&self) -> u8 {
        (self.wraps.len() - 1) as u8
    }

    /// True when the proof of a whole vector is wrapped.
    pub fn wraps(&self) -> bool {
        self.compaction.is_some()
    }

    /// The circuit of the nodes of a height, built with all below it if they are not there. About a second each.
    pub(crate) fn node(&self, height: u8) -> Node<'_> {
        match height.checked_sub(self.block_height + 1) {
            None => Node::Block(
                self.blocks[usize::from(height)]
                    .get_or_init(|| Link::new(&self.config, |b| BlockTargets::build(b, height))),
            ),
            Some(at) => Node::Level(self.levels[usize::from(at)].get_or_init(|| {
                let below = self.node(height - 1).verifier();
                let stand_in = self.stand_in(below.common());
                let keys = [below.key().circuit_digest, stand_in.key.circuit_digest];
                let link = Link::new(&self.config, |b| LevelTargets::build(b, below.common(), keys[0], keys[1]));
                LevelLink { link, stand_in }
            })),
        }
    }

    /// The wrap of the vectors of a height, `None` where the profile has none.
    pub(crate) fn wrap(&self, height: u8) -> Option<&Link<CompactionTargets>> {
        let config = self.compaction.as_ref()?;
        Some(self.wraps[usize::from(height)].get_or_init(|| {
            let below = self.node(height).verifier();
            Link::new(config, |b| CompactionTargets::build(b, below.common(), below.key().circuit_digest))
        }))
    }

    /// The stand-in for proofs of circuits with these common data: most levels share them.
    fn stand_in(&self, common: &CommonData) -> Arc<StandIn> {
        let mut made = self.stand_ins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = made.iter().find(|s| s.common == *common) {
            return found.clone();
        }
        let new = Arc::new(StandIn::new(common));
        made.push(new.clone());
        new
    }
}
