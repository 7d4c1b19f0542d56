//! The backend of the paper's scheme: proves the nodes of its batch structure.

use std::path::Path;

use evergrove_commit::{
    BackendChoice, BackendError, BackendSpec, BlockWitness, LevelWitness, NativeBackend, NodeKind, NodeProof,
    RecursionBackend, Violation, Witness, check_statement,
};
use evergrove_verifier::keys::{CircuitKey, PaperKeys, pinned_paper};
use evergrove_verifier::{HeightClass, Profile, Scheme, Statement};

use super::PaperVerifier;
use super::chain::{Chain, Node};
use super::level::Keyed;
use evergrove_plonky2::CircuitVerifier;
use evergrove_plonky2::cache::circuit_bytes;
use evergrove_plonky2::circuit::{F, PlonkyProof, to_hash};
use evergrove_plonky2::keys::to_pinned;
use evergrove_plonky2::prover::ProverKind;
use evergrove_plonky2::{BACKEND_NAME, backend_spec, witness_error};

/// Proves the paper's scheme with Plonky2, for one profile and height class. Circuits are built when they are first needed,
/// those below first. One proof at a time uses all threads of the current rayon pool.
///
/// Its proofs state (C, d) of a node of a height. The node's position is not part of it: the `base` of a [`Statement`]
/// is not checked.
pub struct PaperBackend {
    spec: BackendSpec,
    chain: Chain,
    /// The circuits' constraints as code.
    rules: NativeBackend,
    prover: ProverKind,
}

impl PaperBackend {
    /// The backend with the blocks of the scheme, [`Scheme::BLOCK_HEIGHT`].
    ///
    /// # Errors
    /// For a profile of another backend.
    pub fn new(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        Self::with_block_height(profile, class, Scheme::BLOCK_HEIGHT)
    }

    /// The backend with blocks of 2^`block_height` slots. Its proofs are of a scheme of their own for each such height.
    ///
    /// # Errors
    /// For a profile of another backend.
    ///
    /// # Panics
    /// If `block_height` is above 20.
    pub fn with_block_height(profile: Profile, class: HeightClass, block_height: u8) -> Result<Self, BackendError> {
        let rules = NativeBackend::of_paper(profile, class, block_height);
        let chain = Chain::new(profile, class.height_max(), block_height)?;
        let choice = BackendChoice::new(BACKEND_NAME, profile).with_scheme(Scheme::RecklePaper);
        let spec = backend_spec(choice, class, 1 << block_height);
        Ok(Self { spec, chain, rules, prover: ProverKind::default() })
    }

    /// The backend that keeps its circuits in `dir`, and uses those that an earlier one has left there. The directory
    /// is trusted like that of [`evergrove_plonky2::Plonky2Backend::load`].
    #[must_use]
    pub fn with_cache(self, dir: Option<&Path>) -> Self {
        Self { chain: self.chain.with_cache(dir), ..self }
    }

    /// The backend with another prover than the default. Proofs, keys and verifiers stay the same.
    #[must_use]
    pub fn with_prover(self, prover: ProverKind) -> Self {
        Self { prover, ..self }
    }

    /// The circuits.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Builds all circuits of vectors of height `height`, and says how many there are: block, levels and, where the profile
    /// has one, the wrap. About a second each.
    ///
    /// # Panics
    /// If the height is above the class's.
    pub fn setup(&self, height: u8) -> usize {
        self.chain.node(height);
        let wraps = usize::from(self.chain.wrap(height).is_some());
        usize::from(height.saturating_sub(self.chain.block_height())) + 1 + wraps
    }

    /// Size of the serialized proving circuits of vectors of height `height`, in bytes. Builds those that are not there.
    pub fn proving_key_bytes(&self, height: u8) -> Result<usize, BackendError> {
        let lowest = height.min(self.chain.block_height());
        let nodes = (lowest..=height).map(|h| self.chain.node(h).data());
        let wrap = self.chain.wrap(height).map(|w| &w.circuit.data);
        nodes.chain(wrap).map(|data| circuit_bytes(data, &[]).map(|b| b.len())).sum()
    }

    /// Size of the verification key of vectors of height `height`: 32 bytes for each cap entry and the circuit digest of the
    /// one circuit whose proofs are handed out.
    pub fn verification_key_bytes(&self, height: u8) -> usize {
        32 * (self.key(height).cap.len() + 1)
    }

    /// The key for vectors of height `height`, as it is pinned: of the wrap, or of the block or level where the profile has
    /// none. Builds the circuits that are not there.
    pub fn key(&self, height: u8) -> CircuitKey {
        let kind = PaperKeys::kind(self.spec.choice.profile, self.chain.block_height(), height);
        let verifier = self.chain.wrap(height).map_or_else(|| self.chain.node(height).verifier(), |w| &w.verifier);
        to_pinned(kind, verifier.common(), verifier.key())
    }

    /// Rows in use of the circuit of the nodes of a height, and log2 of all its rows.
    pub fn rows(&self, height: u8) -> (usize, usize) {
        match self.chain.node(height) {
            Node::Block(b) => (b.circuit.rows, b.circuit.data.common.degree_bits()),
            Node::Level(l) => (l.link.circuit.rows, l.link.circuit.data.common.degree_bits()),
        }
    }

    /// A cached circuit may be damaged, or another version's: published proofs must verify with the pinned key, if
    /// there
    /// is one.
    fn check_pinned(&self, proof: &NodeProof) -> Result<(), BackendError> {
        let pinned =
            pinned_paper(self.spec.choice.profile).is_some() && self.chain.block_height() == Scheme::BLOCK_HEIGHT;
        if pinned { PaperVerifier::pinned(self.spec.choice.profile)?.verify(proof) } else { Ok(()) }
    }

    fn height(&self, statement: &Statement) -> Result<u8, BackendError> {
        let (height, max) = (statement.height, self.chain.height_max());
        if height > max {
            return Err(BackendError::Rejected(format!("height {height} is above {max}")));
        }
        Ok(height)
    }

    /// The circuit of a kind and height.
    fn kind(&self, kind: NodeKind, statement: &Statement) -> Result<&CircuitVerifier, BackendError> {
        let height = self.height(statement)?;
        let is_block = height <= self.chain.block_height();
        match kind {
            NodeKind::Bucket if is_block => Ok(self.chain.node(height).verifier()),
            NodeKind::Merge if !is_block => Ok(self.chain.node(height).verifier()),
            NodeKind::Wrap => match self.chain.wrap(height) {
                Some(link) => Ok(&link.verifier),
                None => Err(BackendError::Rejected("this profile has no wrap".into())),
            },
            kind => Err(BackendError::Rejected(format!("no {kind} is of height {height}"))),
        }
    }

    /// Verifies the proof of a child: a level over an invalid proof would fail late and without a reason.
    fn child(&self, child: &NodeProof) -> Result<(PlonkyProof, &CircuitVerifier), BackendError> {
        if child.kind == NodeKind::Wrap {
            return Err(BackendError::Witness("a wrapped proof cannot be a child".into()));
        }
        let kind = self.kind(child.kind, &child.statement)?;
        Ok((kind.verified(child.kind, &child.bytes, public_inputs(&child.statement))?, kind))
    }

    /// [`agree`], for statements without a base.
    fn check_statement(proven: Result<Statement, Violation>, stated: &Statement) -> Result<(), BackendError> {
        check_statement(proven.map(|p| Statement { base: stated.base, ..p }), stated)
    }

    fn finish(
        &self,
        kind: NodeKind,
        statement: Statement,
        proof: anyhow::Result<PlonkyProof>,
    ) -> Result<NodeProof, BackendError> {
        let proof = proof.map_err(|e| BackendError::Witness(format!("{kind} proof: {e}")))?;
        let verifier = self.kind(kind, &statement)?;
        let proof = NodeProof { kind, statement, output: Vec::new(), bytes: verifier.encode(kind, &proof)? };
        self.verify(&proof).map_err(|e| BackendError::Internal(format!("a fresh proof: {e}")))?;
        Ok(proof)
    }
}

/// C, d.
pub(super) fn public_inputs(statement: &Statement) -> Vec<F> {
    [to_hash(&statement.root).elements, to_hash(&statement.canonical).elements].concat()
}

impl PaperBackend {
    fn prove_block(&self, witness: &BlockWitness) -> Result<NodeProof, BackendError> {
        let statement = witness.statement;
        Self::check_statement(self.rules.block_statement(&witness.leaves, &witness.members), &statement)?;
        let Node::Block(link) = self.chain.node(statement.height) else {
            return Err(BackendError::Witness(format!("a block of height {}", statement.height)));
        };
        let wires = link.circuit.targets.assign(witness).map_err(witness_error)?;
        self.finish(NodeKind::Bucket, statement, link.circuit.prove_by(self.prover, wires))
    }

    fn prove_level(
        &self,
        children: [Option<&NodeProof>; 2],
        witness: &LevelWitness,
    ) -> Result<NodeProof, BackendError> {
        let statement = witness.statement;
        let [left, right] = children.map(|c| c.map(|c| self.child(c)).transpose());
        let proofs = [left?, right?];
        Self::check_statement(
            self.rules.level_statement(children.map(|c| c.map(|c| &c.statement)), witness),
            &statement,
        )?;
        let Node::Level(level) = self.chain.node(statement.height) else {
            return Err(BackendError::Witness(format!("a level of height {}", statement.height)));
        };
        let keyed = proofs.each_ref().map(|c| c.as_ref().map(|(proof, kind)| -> Keyed<'_> { (proof, kind.key()) }));
        let stand_in = (level.stand_in.proof(), level.stand_in.key());
        let circuit = &level.link.circuit;
        let wires = circuit.targets.assign(witness, keyed, stand_in).map_err(witness_error)?;
        self.finish(NodeKind::Merge, statement, circuit.prove_by(self.prover, wires))
    }

    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        Self::check_statement(self.rules.wrap_statement(&child.statement), &child.statement)?;
        let (proof, kind) = self.child(child)?;
        let circuit = match self.chain.wrap(child.statement.height) {
            Some(link) => &link.circuit,
            None => return Err(BackendError::Witness(format!("profile {} has no wrap", self.spec.choice.profile))),
        };
        let wires = circuit.targets.assign((&proof, kind.key())).map_err(witness_error)?;
        let proof = self.finish(NodeKind::Wrap, child.statement, circuit.prove_by(self.prover, wires))?;
        self.check_pinned(&proof).map_err(|e| BackendError::Internal(format!("by the pinned key: {e}")))?;
        Ok(proof)
    }
}

impl RecursionBackend for PaperBackend {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }

    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        match (witness, children) {
            (Witness::Block(witness), []) => self.prove_block(witness),
            (Witness::Level(witness), _) => self.prove_level(witness.children(children)?, witness),
            (Witness::Wrap, [child]) => self.prove_wrap(child),
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.kind(proof.kind, &proof.statement)?
            .verified(proof.kind, &proof.bytes, public_inputs(&proof.statement))
            .map(|_| ())
    }
}
