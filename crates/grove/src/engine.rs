//! The circuits, key and provers of one profile and height class.

use std::io::{self, Write};
use std::sync::Arc;

use evergrove_commit::watch::{Matrix, Phase, Step, Work};
use evergrove_commit::{BackendError, BucketWitness, LevelWitness, MergeWitness, NodeKind, NodeProof};
use evergrove_multilinear::circuit::Circuit;
use evergrove_multilinear::count::Count;
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::{self, ProofField, Prover};
use evergrove_multilinear::recursion::{self, Proof, children_data, claim_data};
use evergrove_multilinear::whir::{self, Stage};
use evergrove_multilinear::writer::Writer;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::transcript::Word;
use evergrove_verifier::argument::{Reduced, Round, Schedule, tags};
use evergrove_verifier::key::{Public, VerifyError};
use evergrove_verifier::tables::Table;
use evergrove_verifier::{Said, Statement, information, keccak_tree};

use crate::application::{Application, Output};
use crate::circuit::{CircuitSet, Size};
use crate::translation::{KeccakTree, Side};
use crate::{openzeppelin, translation, witness};

/// The size of both circuits of a profile and height class, as [`recursion::fixed_point`] finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of each table.
    pub blocks: [usize; Table::ALL.len()],
    /// log2 of the elements of the committed stack, rounded up.
    pub variables: usize,
}

/// Selects the circuits of an engine.
#[derive(Clone)]
pub(crate) struct Kind {
    pub(crate) size: Size,
    pub(crate) app: Option<Arc<dyn Application>>,
    pub(crate) complete: bool,
    pub(crate) translation: Option<KeccakTree>,
}

impl Kind {
    pub(crate) fn of_batches(size: Size) -> Self {
        Self { size, app: None, complete: false, translation: None }
    }
    pub(crate) fn circuit_set(&self) -> CircuitSet<'_> {
        let app = self.app.as_ref().map(|app| (app.circuits(), app.output_len()));
        CircuitSet { size: self.size, app, complete: self.complete, translation: self.translation.as_ref() }
    }
    fn output(&self) -> Option<Output> {
        self.translation
            .as_ref()
            .map(|_| Output::TRANSLATION)
            .or_else(|| self.app.as_ref().map(|app| Output::new(app.as_ref())))
    }
}

/// Both circuits and their key.
pub(crate) struct Circuits<K> {
    kind: Kind,
    /// Bucket, merge.
    circuits: [Circuit<K>; 2],
    judge: Judge<K>,
}

impl<K: Extension> Circuits<K> {
    pub(crate) fn new(rounds: &[Round], kind: Kind, shape: Shape) -> Self {
        let Shape { blocks, variables } = shape;
        let circuit_set = kind.circuit_set();
        let parameters = recursion::parameters::<K>(rounds, &circuit_set.modes(), blocks, variables);
        let (bucket, merge) = rayon::join(
            || circuit_set.bucket(&parameters).finish_in(blocks),
            || circuit_set.merge(&parameters).finish_in(blocks),
        );
        let circuits = [bucket, merge];
        let key = Key::new(parameters, circuits.each_ref());
        let judge = Judge::new(key, kind.output());
        Self { kind, circuits, judge }
    }
    pub(crate) fn judge(&self) -> &Judge<K> {
        &self.judge
    }
    pub(crate) fn into_judge(self) -> Judge<K> {
        self.judge
    }
}

/// Verifies proofs: the key, and how an application's output is encoded.
pub(crate) struct Judge<K> {
    key: Key<K>,
    output: Option<Output>,
}

/// The interface of verifiers, independent of the field.
pub(crate) trait Verify: Send + Sync {
    /// The digest of the key.
    fn digest(&self) -> Digest;
    fn write_key(&self, out: &mut dyn Write) -> io::Result<()>;
    /// Accepts exactly the proofs of `proof.statement` with `proof.output` by the circuit of `proof.kind`.
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError>;
}

/// The interface of engines, independent of the field.
pub(crate) trait Nodes: Send + Sync {
    fn judge(&self) -> &dyn Verify;
    /// Rows of the permutation's table.
    fn rows(&self) -> usize;
    fn bucket(&self, witness: &BucketWitness, ended: Ended<'_>) -> Result<NodeProof, BackendError>;
    fn merge(
        &self,
        children: [&NodeProof; 2],
        witness: &MergeWitness,
        ended: Ended<'_>,
    ) -> Result<NodeProof, BackendError>;
    /// Proves a merge of digest translation, of one or two children.
    fn level(
        &self,
        children: [Option<&NodeProof>; 2],
        witness: &LevelWitness,
        ended: Ended<'_>,
    ) -> Result<NodeProof, BackendError>;
}

/// Callback that is called after each step of a proof.
pub(crate) type Ended<'a> = &'a mut dyn FnMut(Step);

/// Proves and verifies nodes.
pub(crate) struct Engine<K> {
    circuits: Circuits<K>,
    provers: [Prover<K>; 2],
    /// The claim about the key that a bucket passes to its parent: a point and a value.
    claim: (Vec<K>, K),
}

impl<K: ProofField> Engine<K> {
    pub(crate) fn new(circuits: Circuits<K>) -> Self {
        let [bucket, merge] = circuits.circuits.each_ref();
        let bucket = Prover::new(bucket, circuits.judge.key.parameters());
        let merge = bucket.beside(merge);
        let provers = [bucket, merge];
        let key = circuits.judge.key();
        let claim = key.at(vec![K::ZERO; key.variables()]);
        Self { circuits, provers, claim }
    }
    fn key(&self) -> &Key<K> {
        &self.circuits.judge.key
    }
}

impl<K: ProofField> Nodes for Engine<K> {
    fn judge(&self) -> &dyn Verify {
        &self.circuits.judge
    }

    fn rows(&self) -> usize {
        self.key().parameters().layout().shape(Table::Permutation).map_or(0, |shape| shape.rows())
    }

    fn bucket(&self, witness: &BucketWitness, ended: Ended<'_>) -> Result<NodeProof, BackendError> {
        let Kind { size, ref app, complete, .. } = self.circuits.kind;
        if let Some(tree) = &self.circuits.kind.translation {
            return self.slots(tree, witness, ended);
        }
        let leaves = if complete { witness::block } else { witness::bucket };
        let mut free = leaves(size, self.key().digest(), witness);
        let mut output = Vec::new();
        if let Some(app) = app {
            output = app.map(&witness.leaves)?;
            free.extend(witness::application(size, complete, app.as_ref(), &witness.leaves));
        }
        let public = self.public(&witness.statement, &output, self.claim.clone());
        free.extend(claim_data(&public));
        self.prove(NodeKind::Bucket, witness.statement, output, &free, public, ended)
    }

    fn merge(
        &self,
        children: [&NodeProof; 2],
        witness: &MergeWitness,
        ended: Ended<'_>,
    ) -> Result<NodeProof, BackendError> {
        let Kind { size, ref app, complete, .. } = self.circuits.kind;
        let (data, Reduced { point, value }) = self.verified(children, ended)?;
        let outputs = children.map(|child| &child.output[..]);
        let output = match app {
            Some(app) => app.reduce(outputs[0], outputs[1])?,
            None => Vec::new(),
        };
        let public = self.public(&witness.statement, &output, (point, value));
        let statements = children.map(|child| (&child.statement, child.kind == NodeKind::Merge));
        let inputs = self.circuits.judge.output.map(Output::inputs).unwrap_or_default();
        let key = self.key().digest();
        let free = witness::merge(size, complete, key, statements, witness, (inputs, outputs));
        self.prove(NodeKind::Merge, witness.statement, output, &[free, data].concat(), public, ended)
    }

    fn level(
        &self,
        children: [Option<&NodeProof>; 2],
        witness: &LevelWitness,
        ended: Ended<'_>,
    ) -> Result<NodeProof, BackendError> {
        let any = children[0].or(children[1]);
        let any = any.ok_or_else(|| BackendError::Witness("a node above no child".into()))?;
        let proofs = children.map(|child| child.unwrap_or(any));
        let (data, Reduced { point, value }) = self.verified(proofs, ended)?;
        let sides = children.map(|child| {
            let verified = child.unwrap_or(any);
            let stated = (&verified.statement, &verified.output[..]);
            Side { stated, merge: verified.kind == NodeKind::Merge, empty: child.is_none() }
        });
        let statement = witness.statement;
        let Kind { size, translation: Some(ref tree), .. } = self.circuits.kind else {
            return Err(BackendError::Internal("a level of circuits without digest translation".into()));
        };
        let (free, output) = translation::merge_data(size, self.key().digest(), &statement, tree, sides);
        let public = self.public(&statement, &output, (point, value));
        self.prove(NodeKind::Merge, statement, output, &[free, data].concat(), public, ended)
    }
}

impl<K: ProofField> Engine<K> {
    /// The public inputs of a proof of this statement and output that passes on this claim.
    fn public(&self, statement: &Statement, output: &[Goldilocks], (point, value): (Vec<K>, K)) -> Public<Word, K> {
        Public { information: information(statement, self.circuits.judge.said(), output), point, value }
    }

    /// Verifies the proofs of two children. Returns their part of the free data, and the claim that follows from theirs.
    fn verified(
        &self,
        children: [&NodeProof; 2],
        ended: &mut dyn FnMut(Step),
    ) -> Result<(Vec<Goldilocks>, Reduced<K>), BackendError> {
        let [left, right] = children.map(|child| self.circuits.judge.decode(child));
        let found = children_data(self.key(), &[&left?, &right?]).map_err(refused)?;
        ended(Step::new(Phase::Claims, Work::default()));
        Ok(found)
    }

    /// Proves a bucket of digest translation.
    fn slots(&self, tree: &KeccakTree, witness: &BucketWitness, ended: Ended<'_>) -> Result<NodeProof, BackendError> {
        let (size, key, statement) = (self.circuits.kind.size, self.key().digest(), witness.statement);
        let (digest, mut free) = match tree {
            KeccakTree::Values => {
                let slots = translation::slots(size, witness);
                let digest = translation::digest(statement.base, &slots);
                (digest, translation::bucket_data(size, key, &statement, &slots))
            }
            KeccakTree::OpenZeppelin(types) => {
                let slots = openzeppelin::slots(size, types, witness)?;
                let digest = openzeppelin::digest(&slots);
                let digest = digest.ok_or_else(|| BackendError::Witness("a bucket without a row".into()))?;
                (digest, openzeppelin::bucket_data(size, types.len(), key, &statement, &slots))
            }
        };
        let output = keccak_tree::to_elements(&digest).to_vec();
        let public = self.public(&statement, &output, self.claim.clone());
        free.extend(claim_data(&public));
        self.prove(NodeKind::Bucket, statement, output, &free, public, ended)
    }

    fn prove(
        &self,
        kind: NodeKind,
        statement: Statement,
        output: Vec<Goldilocks>,
        free: &[Goldilocks],
        public: Public<Word, K>,
        ended: Ended<'_>,
    ) -> Result<NodeProof, BackendError> {
        let circuit = kind == NodeKind::Merge;
        let which = usize::from(circuit);
        let of = &self.circuits.circuits[which];
        let witness = of.witness(free).map_err(|e| BackendError::Witness(e.to_string()))?;
        let rows = of.rows(Table::Permutation) as u64;
        ended(Step::new(Phase::Witness, Work { rows, hashes: rows, ..Work::default() }));
        let schedule = self.key().parameters().schedule();
        let mut step = |step| watched::<K>(schedule, step).into_iter().for_each(&mut *ended);
        let (statement_of, writer) = (public.statement(self.key().digest(), circuit), Writer::new(tags::TRANSCRIPT));
        let elements = self.provers[which].write(Isa::detect(), writer, &statement_of, &witness, &mut step);
        let proof = Proof { elements, circuit, public };
        // Takes milliseconds, and detects a proof that a hardware fault has corrupted.
        proof.verify(self.key()).map_err(|e| BackendError::Internal(format!("a fresh {kind} proof: {e}")))?;
        ended(Step::new(Phase::Check, Work::default()));
        Ok(NodeProof { kind, statement, output, bytes: encode(&proof) })
    }
}

/// A step of the prover, for observers. The oracle of a folded stack is one step, since it has up to 256 small cosets.
fn watched<K: Extension>(schedule: &Schedule, step: prover::Step) -> Option<Step> {
    let work = |Count { products, bytes, rounds }| Work { multiplications: products, bytes, rounds, ..Work::default() };
    Some(match step {
        prover::Step::Stack => Step::new(Phase::Trace, Work::default()),
        prover::Step::Bus(count) => Step::new(Phase::Bus, work(count)),
        prover::Step::Rows(count) => Step::new(Phase::Rows, work(count)),
        prover::Step::Whir(whir::Step::Products(count)) => Step::new(Phase::Opening, work(count)),
        prover::Step::Whir(whir::Step::Grinding(hashes)) => {
            Step::new(Phase::Grinding, Work { hashes, ..Work::default() })
        }
        prover::Step::Whir(whir::Step::Oracle(i, stage)) => {
            let round = &schedule.rounds[i];
            let (rows, leaves) = (1 << (schedule.depth(i) - round.rate), 1 << schedule.depth(i));
            let columns = if i == 0 { schedule.width } else { K::DEGREE << round.fold };
            let (coset, levels) = (Work::transform(rows, columns), Work::levels(leaves, 1 << round.cap));
            match (i, stage) {
                (0, Stage::Extension) => Step::of(Matrix::Stack, Phase::Extension, coset),
                (0, Stage::Leaves) => Step::of(Matrix::Stack, Phase::Hashing, Work::leaves(rows, columns)),
                (0, Stage::Levels) => Step::of(Matrix::Stack, Phase::Hashing, levels),
                (_, Stage::Levels) => {
                    let extension = (0..leaves / rows).map(|_| coset).sum::<Work>();
                    Step::of(Matrix::Fold, Phase::Hashing, Work::leaves(leaves, columns) + levels + extension)
                }
                _ => return None,
            }
        }
    })
}

fn refused(e: VerifyError) -> BackendError {
    BackendError::Rejected(e.to_string())
}

/// Upper bound for the length of a proof in bytes: about three times the length of an actual proof.
const MAX_BYTES: usize = 1 << 20;

/// The claim that is passed on, then the proof: eight bytes per element of F, least significant byte first.
pub(crate) fn encode<K: Extension>(proof: &Proof<K>) -> Vec<u8> {
    let Public { point, value, .. } = &proof.public;
    let claim = point.iter().chain([value]).flat_map(|x| x.as_ref().to_vec());
    claim.chain(proof.elements.iter().copied()).flat_map(|x| x.as_u64().to_le_bytes()).collect()
}

/// Inverts [`encode`]: returns the point and the value of the claim, and the elements of the proof.
pub(crate) fn decode<K: Extension>(key: &Key<K>, bytes: &[u8]) -> Result<(Vec<K>, K, Vec<Goldilocks>), String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("a proof of {} bytes: none has more than {MAX_BYTES}", bytes.len()));
    }
    let (words, rest) = bytes.as_chunks::<8>();
    let claim = (key.variables() + 1) * K::DEGREE;
    if !rest.is_empty() || words.len() < claim {
        return Err(format!("a proof of {} bytes", bytes.len()));
    }
    let elements = words.iter().map(|word| Goldilocks::from_canonical(u64::from_le_bytes(*word)));
    let mut elements = elements.collect::<Result<Vec<_>, _>>().map_err(|_| "an element is not below p".to_string())?;
    let rest = elements.split_off(claim);
    let mut point: Vec<K> =
        elements.chunks_exact(K::DEGREE).map(|x| K::from_coefficients(x).expect("as many coefficients")).collect();
    let value = point.pop().expect("a value behind the coordinates");
    Ok((point, value, rest))
}

impl<K: Extension> Judge<K> {
    pub(crate) fn new(key: Key<K>, output: Option<Output>) -> Self {
        Self { key, output }
    }
    pub(crate) fn key(&self) -> &Key<K> {
        &self.key
    }
    fn said(&self) -> Option<Said> {
        self.output.map(|output| output.said)
    }

    fn decode(&self, proof: &NodeProof) -> Result<Proof<K>, BackendError> {
        let key = &self.key;
        let rejected = |what: String| BackendError::Rejected(what);
        let NodeProof { kind, statement, output, bytes } = proof;
        let expected = self.output.map_or(0, |output| output.len);
        if *kind == NodeKind::Wrap || output.len() != expected {
            let found = output.len();
            return Err(rejected(format!(
                "a {kind} proof with an output of {found} elements, expected a bucket's or a merge's of {expected}"
            )));
        }
        // Positions from p up would alias smaller ones in the public inputs.
        if statement.base >= Goldilocks::ORDER {
            return Err(rejected(format!("position {} is above any tree", statement.base)));
        }
        let (point, value, elements) = decode(key, bytes).map_err(rejected)?;
        let public = Public { information: information(statement, self.said(), output), point, value };
        Ok(Proof { elements, circuit: *kind == NodeKind::Merge, public })
    }
}

impl<K: Extension> Verify for Judge<K> {
    fn digest(&self) -> Digest {
        Digest(self.key.digest())
    }

    fn write_key(&self, mut out: &mut dyn Write) -> io::Result<()> {
        self.key.write(&mut out)
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.decode(proof)?.verify(&self.key).map(|_| ()).map_err(refused)
    }
}
