//! Proofs of pieces and joins: the circuits of a size with their key, proving, verifying; and the file of a proof.

use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::{self, ProofField};
use evergrove_multilinear::recursion::{self, Children, Proof, children_data, claim_data};
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::soundness::bits;
use evergrove_verifier::argument::{Parameters, Reduced, Round, UNIQUE_100};
use evergrove_verifier::ethereum::Hash;
use evergrove_verifier::key::{MAX_ELEMENTS, Public};
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tables::{Table, WORD};

use super::witness::list_of;
use super::{Edge, PieceError, Size, Witness, join, modes, piece};
use crate::engine::{decode, encode};

/// The rows of a piece of this size.
fn piece_builder<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    let mut b = Builder::new(parameters.tables().clone());
    let (key, said) = piece(&mut b, size);
    Children::new(&mut b, parameters, key).publish(said);
    b
}

/// A proof of a piece or a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProof {
    /// It is of a join.
    pub join: bool,
    /// The list of edges that it shows, and that of edges that it leaves open.
    pub lists: [Digest; 2],
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What verifies proofs of pieces of one size, and of their joins.
pub struct StateVerifier<K> {
    key: Key<K>,
}

/// What makes them.
pub struct StateProver<K> {
    size: Size,
    circuits: [Circuit<K>; 2],
    provers: [prover::Prover<K>; 2],
    verifier: StateVerifier<K>,
    claim: (Vec<K>, K),
}

/// The circuits of a key: of pieces and of joins, or twice the first where nothing is joined.
fn built<K: Extension>(rounds: &[Round], size: Size, joins: bool) -> Option<([Circuit<K>; 2], StateVerifier<K>)> {
    // About those of a circuit that verifies two proofs.
    let mut near = if joins { Table::blocks([27, 29, 29, 3, 1, 1]) } else { [1; Table::ALL.len()] };
    near[Table::Keccak as usize] = (size.blocks + size.accounts + size.slots).div_ceil(64);
    near[Table::Range as usize] = 0;
    let parameters = recursion::fixed_point_near::<K>(rounds, &modes(), near, |parameters| {
        let piece = || piece_builder(parameters, size).blocks();
        if !joins {
            return piece();
        }
        let (piece, join) = rayon::join(piece, || join(parameters).blocks());
        core::array::from_fn(|table| piece[table].max(join[table]))
    })?;
    if parameters.layout().fixed().elements() > MAX_ELEMENTS {
        return None;
    }
    let blocks = parameters.layout().blocks();
    let piece = || piece_builder(&parameters, size).finish_in(blocks);
    let join = || if joins { join(&parameters).finish_in(blocks) } else { piece() };
    let (piece, join) = rayon::join(piece, join);
    let circuits = [piece, join];
    let key = Key::new(parameters, circuits.each_ref());
    Some((circuits, StateVerifier { key }))
}

fn information([shown, left_open]: [Digest; 2]) -> Vec<[Goldilocks; WORD]> {
    vec![shown.0, left_open.0]
}

impl<K: Extension> StateVerifier<K> {
    /// For proofs of circuits of this size, joined or not; `None` if they are too large.
    pub fn new(rounds: &[Round], size: Size, joins: bool) -> Option<Self> {
        built(rounds, size, joins).map(|(_, verifier)| verifier)
    }
    /// The digest of the key.
    pub fn key(&self) -> Digest {
        Digest(self.key.digest())
    }
    /// The bits of proofs: the least over all terms.
    pub fn bits(&self) -> SoundnessBits {
        bits(self.key.parameters())
    }
    /// log2 of the elements that a proof commits to.
    pub fn variables(&self) -> usize {
        self.key.parameters().schedule().variables
    }
    fn decode(&self, proof: &NodeProof) -> Result<Proof<K>, String> {
        let (point, value, elements) = decode(&self.key, &proof.bytes)?;
        let public = Public { information: information(proof.lists), point, value };
        Ok(Proof { elements, circuit: proof.join, public })
    }
    /// Whether this is a proof that its first list is true if its second one is.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self, proof: &NodeProof) -> Result<(), String> {
        self.decode(proof)?.verify(&self.key).map(|_| ()).map_err(|e| e.to_string())
    }
    /// Whether these are bytes of a proof that there are claims with this d, each true in every trie with this root.
    ///
    /// # Errors
    /// Why they are not.
    pub fn verify(&self, join: bool, proof: &[u8], root: &Hash, digest: Digest) -> Result<(), String> {
        let lists = [Edge::of_state(*root, digest).list(), Digest::ZERO];
        self.check(&NodeProof { join, lists, bytes: proof.to_vec() })
    }
}

impl<K: ProofField> StateProver<K> {
    /// For proofs of circuits of this size, joined or not; `None` if they are too large.
    pub fn new(rounds: &[Round], size: Size, joins: bool) -> Option<Self> {
        let (circuits, verifier) = built(rounds, size, joins)?;
        let piece = prover::Prover::new(&circuits[0], verifier.key.parameters());
        let join = piece.beside(&circuits[1]);
        let claim = verifier.key.at(vec![K::ZERO; verifier.key.variables()]);
        Some(Self { size, circuits, provers: [piece, join], verifier, claim })
    }
    /// What verifies its proofs.
    pub fn verifier(&self) -> &StateVerifier<K> {
        &self.verifier
    }
    /// The proof of a piece, verified.
    ///
    /// # Errors
    /// When the circuit has no room for it.
    pub fn piece(&self, witness: &Witness) -> Result<NodeProof, PieceError> {
        let (point, value) = self.claim.clone();
        let public = Public { information: information(witness.lists()), point, value };
        let mut free = witness.data(self.size, self.verifier.key.digest())?;
        free.extend(claim_data(&public));
        self.prove(false, witness.lists(), &free, public)
    }
    /// The join of two proofs, verified: of one with another that shows what it leaves open, or of two that leave nothing open.
    ///
    /// # Errors
    /// When one of them is refused, or they do not fit.
    pub fn join(&self, of: [&NodeProof; 2], below: bool) -> Result<NodeProof, PieceError> {
        let internal = PieceError::Internal;
        let lists = joined(of.map(|proof| proof.lists), below);
        let key = &self.verifier.key;
        let proofs = [self.verifier.decode(of[0]).map_err(internal)?, self.verifier.decode(of[1]).map_err(internal)?];
        let (data, Reduced { point, value }) =
            children_data(key, &proofs.each_ref()).map_err(|e| internal(e.to_string()))?;
        let words = [of[0].lists[0], of[1].lists[0], of[0].lists[1], of[1].lists[1], lists[0], lists[1]];
        let mut free: Vec<Goldilocks> = words.iter().flat_map(|word| word.0).collect();
        free.extend(key.digest());
        free.extend([Goldilocks::ZERO; WORD]);
        free.extend([of[0].join, of[1].join, below].map(|bit| Goldilocks::new(bit.into())));
        free.extend(data);
        self.prove(true, lists, &free, Public { information: information(lists), point, value })
    }
    fn prove(
        &self,
        join: bool,
        lists: [Digest; 2],
        free: &[Goldilocks],
        public: Public<[Goldilocks; WORD], K>,
    ) -> Result<NodeProof, PieceError> {
        let (key, which) = (&self.verifier.key, usize::from(join));
        let columns = self.circuits[which].witness(free).map_err(|e| PieceError::Internal(e.to_string()))?;
        let elements = self.provers[which].prove(&public.statement(key.digest(), join), &columns);
        let proof = Proof { elements, circuit: join, public };
        proof.verify(key).map_err(|e| PieceError::Internal(e.to_string()))?;
        Ok(NodeProof { join, lists, bytes: encode(&proof) })
    }
}

/// What a join shows and leaves open.
pub(super) fn joined([first, second]: [[Digest; 2]; 2], below: bool) -> [Digest; 2] {
    if below { [first[0], second[1]] } else { [list_of(&first[0], &second[0]), Digest::ZERO] }
}

/// A proof of claims about the state with a root, as it stands in a file. `docs/formats.md` has the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateProof {
    /// The circuit of pieces.
    pub size: Size,
    /// The key is one of joins, too.
    pub joins: bool,
    /// The proof is of a join.
    pub join: bool,
    /// The state root.
    pub root: Hash,
    /// d of the claims.
    pub digest: Digest,
    /// The proof.
    pub proof: Vec<u8>,
}

/// Bytes or a proof that are not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateProofError {
    /// The bytes are no proof.
    #[error("not a proof about Ethereum's state: {0}")]
    Format(&'static str),
    /// The proof is of another root.
    #[error("the proof is about another state root: make one for the block that you check it against")]
    Root,
    /// The proof is of other claims.
    #[error("the proof is about other claims than these: their canonical digest is {expected}, the proof's is {found}")]
    Claims {
        /// Of the claims.
        expected: Digest,
        /// Of the proof.
        found: Digest,
    },
    /// The proof is false.
    #[error("the proof is refused: {0}")]
    Refused(String),
}

/// What a file begins with: four letters, and its version.
const MAGIC: &[u8; 6] = b"EVGE\x02\0";
/// Bytes before the proof: the magic, the size, two bits, the root, d.
const HEADER: usize = MAGIC.len() + Size::BYTES + 1 + 32 + 32;
/// Elements of the largest circuit, about.
const ELEMENTS: u64 = 1 << 25;

impl Size {
    /// Bytes of a size.
    pub(super) const BYTES: usize = 7 * 4;
    /// Elements of rows for one of each, about.
    const WEIGHTS: [u64; 7] = [26_200, 6_000, 14_000, 34_000, 34_000, 4_000, 12_000];

    pub(super) fn counts(&self) -> [usize; 7] {
        [self.blocks, self.branches, self.paths, self.accounts, self.slots, self.roots, self.opens]
    }
    pub(super) fn from_counts([blocks, branches, paths, accounts, slots, roots, opens]: [usize; 7]) -> Self {
        Self { blocks, branches, paths, accounts, slots, roots, opens }
    }
    /// About the elements that a circuit commits to.
    pub fn elements(&self) -> u64 {
        let counts = self.counts();
        let product = |(&count, weight): (&usize, u64)| (count as u64).saturating_mul(weight);
        counts.iter().zip(Self::WEIGHTS).map(product).fold(0, u64::saturating_add)
    }
    /// Whether circuits of this size are made: at least one block, account and root, and not too large.
    pub fn is_possible(&self) -> bool {
        self.accounts > 0 && self.blocks > 0 && self.roots > 0 && self.elements() <= ELEMENTS
    }
    /// The bytes: seven numbers of four, the least significant byte first.
    pub(super) fn to_bytes(self) -> impl Iterator<Item = u8> {
        self.counts().into_iter().flat_map(|count| (count as u32).to_le_bytes())
    }
    /// The size in bytes, and whether circuits of it are made.
    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let mut counts = bytes.as_chunks::<4>().0.iter().map(|count| u32::from_le_bytes(*count) as usize);
        let size = Self::from_counts(core::array::from_fn(|_| counts.next().expect("seven")));
        size.is_possible().then_some(size)
    }
}

impl StateProof {
    /// Proves what a witness says, in a circuit of just its size.
    ///
    /// # Errors
    /// When it is too large for one proof.
    pub fn new(witness: &Witness) -> Result<Self, PieceError> {
        let size = witness.size();
        let prover = size.is_possible().then(|| StateProver::<Quadratic>::new(&UNIQUE_100, size, false)).flatten();
        let prover = prover.ok_or(PieceError::TooLarge { blocks: size.blocks })?;
        let proof = prover.piece(witness)?;
        let Edge { hash: root, digest, .. } = *witness.root_edge();
        Ok(Self { size, joins: false, join: false, root, digest, proof: proof.bytes })
    }
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { size, joins, join, root, digest, proof } = self;
        let mut bytes = Vec::with_capacity(HEADER + proof.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend(size.to_bytes());
        bytes.push(u8::from(*joins) + 2 * u8::from(*join));
        bytes.extend_from_slice(root);
        bytes.extend(digest.to_bytes());
        bytes.extend_from_slice(proof);
        bytes
    }
    /// The proof in a file.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateProofError> {
        let format = StateProofError::Format;
        if bytes.starts_with(b"EVGE\x01\0") {
            return Err(format("it has version 1, of before proofs were joined: prove again"));
        }
        let rest = bytes.strip_prefix(MAGIC).ok_or(format("it begins otherwise"))?;
        let cut = || format("it is cut off");
        let (size, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let size = Size::from_bytes(size).ok_or(format("no circuit has this size"))?;
        let (&bits, rest) = rest.split_first().ok_or_else(cut)?;
        if bits > 3 || bits == 2 {
            return Err(format("no circuit is named so"));
        }
        let (root, rest) = rest.split_first_chunk::<32>().ok_or_else(cut)?;
        let (digest, proof) = rest.split_first_chunk().ok_or_else(cut)?;
        let digest = Digest::from_bytes(digest).map_err(|_| format("an element is not below p"))?;
        Ok(Self { size, joins: bits & 1 == 1, join: bits & 2 == 2, root: *root, digest, proof: proof.to_vec() })
    }
    /// Verifies the proof for a root, and for claims with this d if there is one. Makes the circuits: some tenths of a second, or seconds where proofs are joined.
    ///
    /// # Errors
    /// Why it is not accepted.
    pub fn verify(&self, root: &Hash, digest: Option<Digest>) -> Result<SoundnessBits, StateProofError> {
        if *root != self.root {
            return Err(StateProofError::Root);
        }
        if let Some(expected) = digest.filter(|expected| *expected != self.digest) {
            return Err(StateProofError::Claims { expected, found: self.digest });
        }
        let possible = self.size.is_possible();
        let verifier = possible.then(|| StateVerifier::<Quadratic>::new(&UNIQUE_100, self.size, self.joins)).flatten();
        let verifier = verifier.ok_or(StateProofError::Format("no circuit has this size"))?;
        verifier.verify(self.join, &self.proof, root, self.digest).map_err(StateProofError::Refused)?;
        Ok(verifier.bits())
    }
}
