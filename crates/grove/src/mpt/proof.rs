//! Proofs of pieces: the circuit of a size with its key, proving, verifying; and the file of a proof.

use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::{ProofField, Prover};
use evergrove_multilinear::recursion::{Children, Proof, claim_data, fixed_point_near};
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::soundness::bits;
use evergrove_verifier::argument::{Parameters, Round, UNIQUE_100};
use evergrove_verifier::ethereum::Hash;
use evergrove_verifier::key::{MAX_ELEMENTS, Public};
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tables::Table;

use super::{PieceError, Size, Witness, modes, piece, witness};
use crate::engine::{decode, encode};

/// The rows of a circuit of this size.
fn builder<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    let mut b = Builder::new(parameters.tables().clone());
    let (key, said) = piece(&mut b, size);
    Children::new(&mut b, parameters, key).publish(said);
    b
}

/// What verifies proofs of pieces of one size: half a second makes it.
pub struct PieceVerifier<K> {
    key: Key<K>,
}

/// What makes proofs of pieces of one size.
pub struct PieceProver<K> {
    size: Size,
    circuit: Circuit<K>,
    prover: Prover<K>,
    verifier: PieceVerifier<K>,
    claim: (Vec<K>, K),
}

fn built<K: Extension>(rounds: &[Round], size: Size) -> Option<(Circuit<K>, PieceVerifier<K>)> {
    let near = |blocks: usize| {
        let mut of = [1; Table::ALL.len()];
        of[Table::Keccak as usize] = blocks.div_ceil(64);
        of[Table::Range as usize] = 0;
        of
    };
    let parameters =
        fixed_point_near::<K>(rounds, &modes(), near(size.blocks), |parameters| builder(parameters, size).blocks())?;
    if parameters.layout().fixed().elements() > MAX_ELEMENTS {
        return None;
    }
    let circuit = builder(&parameters, size).finish_in(parameters.layout().blocks());
    let key = Key::new(parameters, [&circuit; 2]);
    Some((circuit, PieceVerifier { key }))
}

impl<K: Extension> PieceVerifier<K> {
    /// For proofs of circuits of this size; `None` if they are too large.
    pub fn new(rounds: &[Round], size: Size) -> Option<Self> {
        built(rounds, size).map(|(_, verifier)| verifier)
    }
    /// The digest of the key.
    pub fn key(&self) -> Digest {
        Digest(self.key.digest())
    }
    /// The bits of proofs: the least over all terms.
    pub fn bits(&self) -> SoundnessBits {
        bits(self.key.parameters())
    }
    /// Whether these are bytes of a proof that there are claims with this d, each true in every trie with this root.
    ///
    /// # Errors
    /// Why they are not.
    pub fn verify(&self, proof: &[u8], root: &Hash, digest: Digest) -> Result<(), String> {
        let (point, value, elements) = decode(&self.key, proof)?;
        let public = Public { information: witness::said(root, digest), point, value };
        Proof { elements, circuit: false, public }.verify(&self.key).map(|_| ()).map_err(|e| e.to_string())
    }
}

impl<K: ProofField> PieceProver<K> {
    /// For proofs of circuits of this size; `None` if they are too large.
    pub fn new(rounds: &[Round], size: Size) -> Option<Self> {
        let (circuit, verifier) = built(rounds, size)?;
        let prover = Prover::new(&circuit, verifier.key.parameters());
        let claim = verifier.key.at(vec![K::ZERO; verifier.key.variables()]);
        Some(Self { size, circuit, prover, verifier, claim })
    }
    /// What verifies its proofs.
    pub fn verifier(&self) -> &PieceVerifier<K> {
        &self.verifier
    }
    /// The proof of a witness, verified.
    ///
    /// # Errors
    /// When the circuit has no room for it.
    pub fn prove(&self, witness: &Witness) -> Result<Vec<u8>, PieceError> {
        let key = &self.verifier.key;
        let (point, value) = self.claim.clone();
        let public = Public { information: witness.said(), point, value };
        let mut free = witness.data(self.size, key.digest())?;
        free.extend(claim_data(&public));
        let columns = self.circuit.witness(&free).map_err(|e| PieceError::Internal(e.to_string()))?;
        let elements = self.prover.prove(&public.statement(key.digest(), false), &columns);
        let proof = Proof { elements, circuit: false, public };
        proof.verify(key).map_err(|e| PieceError::Internal(e.to_string()))?;
        Ok(encode(&proof))
    }
}

/// A proof of claims about the state with a root, as it stands in a file. `docs/formats.md` has the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateProof {
    /// The circuit that made it.
    pub size: Size,
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
const MAGIC: &[u8; 6] = b"EVGE\x01\0";
/// Bytes before the proof: the magic, five numbers, the root, d.
const HEADER: usize = MAGIC.len() + 5 * 4 + 32 + 32;
/// Elements of the largest circuit, about.
const ELEMENTS: u64 = 1 << 25;

impl Size {
    /// About the elements that a circuit commits to.
    fn elements(&self) -> u64 {
        let weights = [26_200, 6_000, 14_000, 34_000, 34_000];
        let counts = [self.blocks, self.branches, self.paths, self.accounts, self.slots];
        counts
            .iter()
            .zip(weights)
            .fold(0, |sum: u64, (&count, weight)| sum.saturating_add((count as u64).saturating_mul(weight)))
    }
    /// Whether circuits of this size are made: at least one account, and not too large.
    pub fn is_possible(&self) -> bool {
        self.accounts > 0 && self.blocks > 0 && self.elements() <= ELEMENTS
    }
}

impl StateProof {
    /// Proves what a witness says, in a circuit of just its size.
    ///
    /// # Errors
    /// When it is too large for one proof.
    pub fn new(witness: &Witness) -> Result<Self, PieceError> {
        let size = witness.size();
        let prover = size.is_possible().then(|| PieceProver::<Quadratic>::new(&UNIQUE_100, size)).flatten();
        let prover = prover.ok_or(PieceError::TooLarge { blocks: size.blocks })?;
        let proof = prover.prove(witness)?;
        Ok(Self { size, root: witness.root(), digest: witness.digest(), proof })
    }
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { size, root, digest, proof } = self;
        let mut bytes = Vec::with_capacity(HEADER + proof.len());
        bytes.extend_from_slice(MAGIC);
        for count in [size.blocks, size.branches, size.paths, size.accounts, size.slots] {
            bytes.extend_from_slice(&(count as u32).to_le_bytes());
        }
        bytes.extend_from_slice(root);
        for element in digest.0 {
            bytes.extend_from_slice(&element.as_u64().to_le_bytes());
        }
        bytes.extend_from_slice(proof);
        bytes
    }
    /// The proof in a file.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateProofError> {
        let format = StateProofError::Format;
        let rest = bytes.strip_prefix(MAGIC).ok_or(format("it begins otherwise"))?;
        let (header, proof) = rest.split_at_checked(HEADER - MAGIC.len()).ok_or(format("it is cut off"))?;
        let (counts, header) = header.split_at(5 * 4);
        let count = |i: usize| u32::from_le_bytes(*counts[4 * i..].first_chunk().expect("four bytes")) as usize;
        let size = Size { blocks: count(0), branches: count(1), paths: count(2), accounts: count(3), slots: count(4) };
        if !size.is_possible() {
            return Err(format("no circuit has this size"));
        }
        let (root, digest) = header.split_at(32);
        let element = |i: usize| u64::from_le_bytes(*digest[8 * i..].first_chunk().expect("eight bytes"));
        let mut elements = [Goldilocks::ZERO; 4];
        for (i, own) in elements.iter_mut().enumerate() {
            *own = Goldilocks::from_canonical(element(i)).map_err(|_| format("an element is not below p"))?;
        }
        let root = root.try_into().expect("32 bytes");
        Ok(Self { size, root, digest: Digest(elements), proof: proof.to_vec() })
    }
    /// Verifies the proof for a root, and for claims with this d if there is one. Makes the circuit, some tenths of a second.
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
        let verifier = possible.then(|| PieceVerifier::<Quadratic>::new(&UNIQUE_100, self.size)).flatten();
        let verifier = verifier.ok_or(StateProofError::Format("no circuit has this size"))?;
        verifier.verify(&self.proof, root, self.digest).map_err(StateProofError::Refused)?;
        Ok(verifier.bits())
    }
}
