//! Proofs that a table consists of the slots of claims: the circuit of a size with its key, proving and verifying, and
//! the file of a proof.

use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::{self, ProofField};
use evergrove_multilinear::recursion::{self, Children, Proof, claim_data};
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::soundness::bits;
use evergrove_verifier::argument::{Parameters, Round, UNIQUE_100};
use evergrove_verifier::ethereum::{Address, Claim};
use evergrove_verifier::key::Public;
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tables::{Table, WORD};

use super::{DECIMALS_MAX, SLOTS_MAX, Size, StorageTable, ZERO, modes, reshape};
use crate::engine::{decode, encode};

/// The rows of the circuit of a size.
fn builder<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    let mut b = Builder::new(parameters.tables().clone());
    let (key, said) = reshape(&mut b, size);
    Children::new(&mut b, parameters, key).publish(said);
    b
}

/// The circuit of a size, and a key that contains it twice.
fn circuit<K: Extension>(rounds: &[Round], size: Size) -> Option<(Circuit<K>, Key<K>)> {
    let near = core::array::from_fn(|table| usize::from(table != Table::Range as usize));
    let blocks = |parameters: &Parameters<K>| builder(parameters, size).blocks();
    let parameters = recursion::fixed_point_near::<K>(rounds, &modes(), near, blocks)?;
    let circuit = builder(&parameters, size).finish_in(parameters.layout().blocks());
    let key = Key::new(parameters, [&circuit, &circuit]);
    Some((circuit, key))
}

/// Verifies proofs of one size.
pub struct ReshapeVerifier<K> {
    key: Key<K>,
}

/// Makes proofs of one size.
pub struct ReshapeProver<K> {
    circuit: Circuit<K>,
    prover: prover::Prover<K>,
    verifier: ReshapeVerifier<K>,
}

impl<K: Extension> ReshapeVerifier<K> {
    /// Builds the key of this size; `None` if the circuit is too large.
    pub fn new(rounds: &[Round], size: Size) -> Option<Self> {
        let (_, key) = circuit(rounds, size)?;
        Some(Self { key })
    }
    /// The digest of the key.
    pub fn key(&self) -> Digest {
        Digest(self.key.digest())
    }
    /// The bits of soundness of the proofs: the minimum over all error terms.
    pub fn bits(&self) -> SoundnessBits {
        bits(self.key.parameters())
    }
    /// The number of elements that a proof commits to, and log2 of the number that they are padded to.
    pub fn elements(&self) -> (usize, usize) {
        let parameters = self.key.parameters();
        (parameters.layout().committed().elements(), parameters.schedule().variables)
    }
    /// Verifies a proof of its statement.
    fn verify(&self, proof: &Reshape) -> Result<(), String> {
        let (point, value, elements) = decode(&self.key, &proof.proof)?;
        let public = Public { information: proof.information(), point, value };
        Proof { elements, circuit: false, public }.verify(&self.key).map(|_| ()).map_err(|e| e.to_string())
    }
}

impl<K: ProofField> ReshapeProver<K> {
    /// Builds the circuit of this size; `None` if it is too large.
    pub fn new(rounds: &[Round], size: Size) -> Option<Self> {
        let (circuit, key) = circuit(rounds, size)?;
        let prover = prover::Prover::new(&circuit, key.parameters());
        Some(Self { circuit, prover, verifier: ReshapeVerifier { key } })
    }
    /// The verifier of its proofs.
    pub fn verifier(&self) -> &ReshapeVerifier<K> {
        &self.verifier
    }
    /// Proves a table of the prover's size, and verifies the proof.
    ///
    /// # Errors
    /// [`ReshapeError::Internal`] if no valid proof was made, which is a defect.
    pub fn prove(&self, table: &StorageTable) -> Result<Reshape, ReshapeError> {
        let key = &self.verifier.key;
        let mut proof = Reshape {
            address: *table.address(),
            decimals: table.size().decimals(),
            slots: table.slots(),
            claims: table.claims_digest(),
            rows: table.rows_digest(),
            proof: Vec::new(),
        };
        let (point, value) = key.at(vec![K::ZERO; key.variables()]);
        let public = Public { information: proof.information(), point, value };
        let mut free = table.data(table.size(), key.digest());
        free.extend(claim_data(&public));
        let columns = self.circuit.witness(&free).map_err(|e| ReshapeError::Internal(e.to_string()))?;
        let elements = self.prover.prove(&public.statement(key.digest(), false), &columns);
        proof.proof = encode(&Proof { elements, circuit: false, public });
        self.verifier.verify(&proof).map_err(ReshapeError::Internal)?;
        Ok(proof)
    }
}

/// A proof that claims about the slots of a contract and the rows of a table are about the same slots, as in a file.
/// `docs/formats.md` specifies the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reshape {
    /// The contract.
    pub address: Address,
    /// d, for units of 10^d.
    pub decimals: u8,
    /// n.
    pub slots: usize,
    /// d of the claims.
    pub claims: Digest,
    /// d of the rows at the positions 0 to n - 1.
    pub rows: Digest,
    /// The proof.
    pub proof: Vec<u8>,
}

/// Reasons why a proof is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReshapeError {
    /// The bytes are not a proof.
    #[error("not a proof about a contract's table: {0}")]
    Format(&'static str),
    /// The proof is about another contract.
    #[error("the proof is about the slots of another contract")]
    Contract,
    /// The proof is about other units.
    #[error("the proof is about units of 10^{found}, not of 10^{expected}")]
    Decimals {
        /// Decimals that the verifier expects.
        expected: u8,
        /// Decimals in the proof.
        found: u8,
    },
    /// The proof is about other claims.
    #[error("the proof relates the table to claims with the canonical digest {found}, the state proof has {expected}")]
    Claims {
        /// d that the proof about the state has.
        expected: Digest,
        /// d in this proof.
        found: Digest,
    },
    /// The proof is about other rows.
    #[error("the proof relates the claims to rows with the canonical digest {found}, the table's proof has {expected}")]
    Rows {
        /// d that the table's proof has.
        expected: Digest,
        /// d in this proof.
        found: Digest,
    },
    /// The proof does not verify.
    #[error("the proof is refused: {0}")]
    Refused(String),
    /// No proof could be made.
    #[error("defect: {0}")]
    Internal(String),
}

/// The magic bytes and the version of a file.
const MAGIC: &[u8; 6] = b"EVGR\x01\0";

impl Reshape {
    /// Proves that a table consists of the slots of its claims. Builds the circuit.
    ///
    /// # Errors
    /// The errors of [`ReshapeProver::prove`].
    pub fn new(table: &StorageTable) -> Result<Self, ReshapeError> {
        let prover = ReshapeProver::<Quadratic>::new(&UNIQUE_100, table.size());
        prover.ok_or_else(|| ReshapeError::Internal("no circuit of this size".into()))?.prove(table)
    }
    /// The size of its circuit; `None` if no circuit has room for its slots.
    fn size(&self) -> Option<Size> {
        Size::of(self.slots, self.decimals)
    }
    /// The public words.
    fn information(&self) -> Vec<[Goldilocks; WORD]> {
        let (_, address) = Claim::AbsentAccount { address: self.address }.elements();
        let [first, second]: [[Goldilocks; WORD]; 2] =
            core::array::from_fn(|i| core::array::from_fn(|j| address.get(WORD * i + j).copied().unwrap_or(ZERO)));
        let count = [Goldilocks::new(self.slots as u64), ZERO, ZERO, ZERO];
        vec![self.claims.0, self.rows.0, first, second, count]
    }
    /// The proof as bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { address, decimals, slots, claims, rows, proof } = self;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(address);
        bytes.push(*decimals);
        bytes.extend((*slots as u32).to_le_bytes());
        bytes.extend(claims.to_bytes());
        bytes.extend(rows.to_bytes());
        bytes.extend_from_slice(proof);
        bytes
    }
    /// Reads a proof from the bytes of a file, without verifying it.
    ///
    /// # Errors
    /// If the bytes are not a proof.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReshapeError> {
        let format = ReshapeError::Format;
        let rest = bytes.strip_prefix(MAGIC).ok_or(format("it does not begin with the magic bytes"))?;
        let cut = || format("it is cut off");
        let (address, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (&decimals, rest) = rest.split_first().ok_or_else(cut)?;
        let (slots, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (claims, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (rows, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let slots = u32::from_le_bytes(*slots) as usize;
        if decimals > DECIMALS_MAX {
            return Err(format("no unit has so many decimals"));
        }
        if slots == 0 || slots > SLOTS_MAX {
            return Err(format("no circuit has room for so many slots"));
        }
        let digest = |bytes| Digest::from_bytes(bytes).map_err(|_| format("an element is not below p"));
        let (claims, rows) = (digest(claims)?, digest(rows)?);
        Ok(Self { address: *address, decimals, slots, claims, rows, proof: rest.to_vec() })
    }
    /// Verifies the proof for the contract and the decimals that the verifier expects, d of claims from a proof about
    /// the state, and d of rows from a selected proof of the table. The caller must verify these two proofs, too.
    /// Builds the circuit: this takes tenths of a second for 2^8 slots, and more than a second for 2^12.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn verify(
        &self,
        contract: &Address,
        decimals: u8,
        claims: Digest,
        rows: Digest,
    ) -> Result<SoundnessBits, ReshapeError> {
        if self.address != *contract {
            return Err(ReshapeError::Contract);
        }
        if self.decimals != decimals {
            return Err(ReshapeError::Decimals { expected: decimals, found: self.decimals });
        }
        if self.claims != claims {
            return Err(ReshapeError::Claims { expected: claims, found: self.claims });
        }
        if self.rows != rows {
            return Err(ReshapeError::Rows { expected: rows, found: self.rows });
        }
        let verifier = self.size().and_then(|size| ReshapeVerifier::<Quadratic>::new(&UNIQUE_100, size));
        let verifier = verifier.ok_or(ReshapeError::Format("no circuit has room for so many slots"))?;
        verifier.verify(self).map_err(ReshapeError::Refused)?;
        Ok(verifier.bits())
    }
}
