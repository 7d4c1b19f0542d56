//! Proofs of pieces and joins: the circuits of a size with their key, proving and verifying, and the file of a proof.

use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::{self, ProofField};
use evergrove_multilinear::recursion::{self, Children, Modes, Proof, children_data, claim_data};
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::soundness::bits;
use evergrove_verifier::argument::{Claim, Parameters, Reduced, Round, UNIQUE_100};
use evergrove_verifier::ethereum::{Arity, Hash, Header, Hex, Roots, Tag, canonical_digest_of};
use evergrove_verifier::key::{MAX_ELEMENTS, Public, VerifyError};
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tables::{Table, WORD};

use super::header::{HEADER_BLOCKS, block_list};
use super::list::{List, Sublist, list_of};
use super::{COUNTS, Edge, PieceError, Size, Trie, Witness, join_of_joins, join_of_pieces, modes, piece};
use crate::engine::{decode, encode};

/// The rows of a piece of this size.
fn piece_builder<K: Extension>(parameters: &Parameters<K>, size: Size) -> Builder<K> {
    let mut b = Builder::new(parameters.tables().clone());
    let (key, said) = piece(&mut b, size);
    Children::new(&mut b, parameters, key).publish(said);
    b
}

/// The kind of circuit of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A piece.
    Piece,
    /// A join of two pieces.
    Pieces,
    /// A join of two joins.
    Joins,
}

impl Kind {
    /// The kind's byte in files.
    pub(super) fn to_byte(self) -> u8 {
        match self {
            Self::Piece => 0,
            Self::Pieces => 1,
            Self::Joins => 2,
        }
    }
    /// The kind with this byte.
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Piece, Self::Pieces, Self::Joins].into_iter().find(|kind| kind.to_byte() == byte)
    }
    /// The kind of a join of two proofs: both are pieces, or both are joins.
    pub(super) fn of([first, second]: [Self; 2]) -> Option<Self> {
        match (first == Self::Piece, second == Self::Piece) {
            (true, true) => Some(Self::Pieces),
            (false, false) => Some(Self::Joins),
            _ => None,
        }
    }
}

/// How two proofs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join<'a> {
    /// The second proof shows what the first one leaves open. The join shows what the first proof shows, and leaves
    /// open what the second one leaves open.
    Below,
    /// Like [`Join::Below`], for two joins. The first proof leaves open only a part of what the second one shows.
    Sublist(&'a Sublist),
    /// Both proofs leave no edge open, and the join shows both lists.
    Beside,
    /// The join shows and leaves open what the first proof does. It turns a piece into a join.
    Alone,
}

impl Join<'_> {
    /// The lists that the join shows and leaves open.
    pub(super) fn lists(self, [first, second]: [[Digest; 2]; 2]) -> [Digest; 2] {
        match self {
            Self::Below | Self::Sublist(_) => [first[0], second[1]],
            Self::Beside => [list_of(&first[0], &second[0]), Digest::ZERO],
            Self::Alone => first,
        }
    }
}

/// A proof of a piece or a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProof {
    /// The kind of circuit.
    pub kind: Kind,
    /// The list of edges that the proof shows, and the list that it leaves open.
    pub lists: [Digest; 2],
    /// The encoded proof.
    pub bytes: Vec<u8>,
}

/// Verifies proofs of pieces of one size, and of their joins.
pub struct StateVerifier<K> {
    pieces: Key<K>,
    joins: Option<Key<K>>,
}

/// Makes proofs of pieces of one size, and of their joins.
pub struct StateProver<K> {
    size: Size,
    pieces: Circuits<K>,
    joins: Option<Circuits<K>>,
    verifier: StateVerifier<K>,
}

/// The circuits of a key: one for pieces, two for joins.
struct Circuits<K> {
    circuits: Vec<Circuit<K>>,
    provers: Vec<prover::Prover<K>>,
    /// The claim that a circuit without child proofs of this key passes on.
    claim: (Vec<K>, K),
}

/// A decoded proof, and the claim about the fixed columns of pieces that a join passes on.
type Read<K> = (Proof<K>, Option<Public<[Goldilocks; WORD], K>>);

/// Rounds whose first oracle has half the columns and twice the rows. The leaves of that oracle make up most of a
/// proof, so a proof becomes a quarter smaller, and takes a few per cent more time.
fn narrow(rounds: &[Round]) -> Vec<Round> {
    let mut rounds = rounds.to_vec();
    rounds[0].fold -= 1;
    rounds
}

/// The circuit of a piece, and a key that contains it twice; `None` if the size is not [possible](Size::is_possible) or
/// the circuit is too large.
fn pieces<K: Extension>(rounds: &[Round], size: Size) -> Option<(Circuit<K>, Key<K>)> {
    if !size.is_possible() {
        return None;
    }
    let mut near = [1; Table::ALL.len()];
    near[Table::Keccak as usize] = size.keccak_blocks().div_ceil(64);
    near[Table::Range as usize] = 0;
    let parameters = recursion::fixed_point_near::<K>(rounds, &modes(), near, |parameters| {
        piece_builder(parameters, size).blocks()
    })?;
    if parameters.layout().fixed().elements() > MAX_ELEMENTS {
        return None;
    }
    let piece = piece_builder(&parameters, size).finish_in(parameters.layout().blocks());
    let key = Key::new(parameters, [&piece, &piece]);
    Some((piece, key))
}

/// The circuits of joins of a key's pieces, and the key of these joins.
fn joins<K: Extension>(rounds: &[Round], pieces: &Key<K>) -> Option<([Circuit<K>; 2], Key<K>)> {
    let modes = Modes { other: Some(pieces.parameters().schedule().clone()), ..Modes::default() };
    let pieces = (pieces.parameters(), Digest(pieces.digest()));
    let parameters = recursion::fixed_point::<K>(&narrow(rounds), &modes, |parameters| {
        let of_pieces = || join_of_pieces(parameters, pieces).blocks();
        let (first, second) = rayon::join(of_pieces, || join_of_joins(parameters, pieces).blocks());
        core::array::from_fn(|table| first[table].max(second[table]))
    })?;
    let blocks = parameters.layout().blocks();
    let of_pieces = || join_of_pieces(&parameters, pieces).finish_in(blocks);
    let (first, second) = rayon::join(of_pieces, || join_of_joins(&parameters, pieces).finish_in(blocks));
    let circuits = [first, second];
    let key = Key::new(parameters, circuits.each_ref());
    Some((circuits, key))
}

/// The public words of a proof. The last word of a join is the digest of its claim about the fixed columns of pieces.
fn information(lists: [Digest; 2], claim: Option<[Goldilocks; WORD]>) -> Vec<[Goldilocks; WORD]> {
    lists.into_iter().map(|list| list.0).chain(claim).collect()
}

impl<K: Extension> StateVerifier<K> {
    /// Builds the key of pieces of this size, and with `joined` that of their joins; `None` if the circuits are too
    /// large, or the size is not [possible](Size::is_possible).
    pub fn new(rounds: &[Round], size: Size, joined: bool) -> Option<Self> {
        let (_, pieces) = pieces(rounds, size)?;
        let joins = if joined { Some(joins(rounds, &pieces)?.1) } else { None };
        Some(Self { pieces, joins })
    }
    /// The digest of the key of the proof that covers all claims: the key of joins if there is one.
    pub fn key(&self) -> Digest {
        Digest(self.joins.as_ref().unwrap_or(&self.pieces).digest())
    }
    /// The bits of soundness of the proofs: the minimum over all error terms.
    pub fn bits(&self) -> SoundnessBits {
        let of_pieces = bits(self.pieces.parameters());
        self.joins.as_ref().map_or(of_pieces, |joins| of_pieces.min(bits(joins.parameters())))
    }
    /// log2 of the elements that the proof of a piece commits to, and of those that the proof of a join commits to.
    pub fn variables(&self) -> (usize, Option<usize>) {
        let variables = |key: &Key<K>| key.parameters().schedule().variables;
        (variables(&self.pieces), self.joins.as_ref().map(variables))
    }
    fn key_of(&self, kind: Kind) -> Result<&Key<K>, String> {
        match kind {
            Kind::Piece => Ok(&self.pieces),
            Kind::Pieces | Kind::Joins => self.joins.as_ref().ok_or_else(|| "a join: the key has pieces alone".into()),
        }
    }
    /// The digest of a claim about the fixed columns of pieces.
    fn digest(&self, claim: &Public<[Goldilocks; WORD], K>) -> [Goldilocks; WORD] {
        claim.statement(self.pieces.digest(), false).public
    }
    fn read(&self, proof: &NodeProof) -> Result<Read<K>, String> {
        let key = self.key_of(proof.kind)?;
        let (mut bytes, mut claim) = (&proof.bytes[..], None);
        if proof.kind != Kind::Piece {
            let length = 8 * K::DEGREE * (self.pieces.variables() + 1);
            let (first, rest) =
                bytes.split_at_checked(length).ok_or_else(|| format!("a proof of {} bytes", bytes.len()))?;
            let (point, value, _) = decode(&self.pieces, first)?;
            claim = Some(Public { information: Vec::new(), point, value });
            bytes = rest;
        }
        let (point, value, elements) = decode(key, bytes)?;
        let information = information(proof.lists, claim.as_ref().map(|claim| self.digest(claim)));
        let public = Public { information, point, value };
        Ok((Proof { elements, circuit: proof.kind == Kind::Joins, public }, claim))
    }
    /// Accepts exactly proofs of this: the first list is true if the second one is.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn check(&self, proof: &NodeProof) -> Result<(), StateProofError> {
        self.holds(proof).map_err(StateProofError::Refused)
    }
    fn holds(&self, proof: &NodeProof) -> Result<(), String> {
        let (read, claim) = self.read(proof)?;
        let key = self.key_of(proof.kind)?;
        // The pieces below are of the key of pieces if the claim that the join passes on holds.
        let holds = |claim: Public<_, K>| self.pieces.holds(&Claim::At { point: claim.point, value: claim.value });
        let (own, pieces) = rayon::join(|| read.verify(key), || claim.is_none_or(holds));
        let handed = if pieces { Ok(()) } else { Err(VerifyError::Handed) };
        own.and(handed).map_err(|e| e.to_string())
    }
    /// Accepts exactly proofs that there are claims with these d, each of them true in every trie with its root.
    /// `roots` has, for each root, d of the claims about it, in the order of the tags.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn verify(&self, kind: Kind, proof: &[u8], roots: &[(Tag, Hash, Digest)]) -> Result<(), StateProofError> {
        if roots.is_empty() || !roots.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(StateProofError::Refused("the tags of the roots do not increase".into()));
        }
        let lists = [list_of_roots(roots), Digest::ZERO];
        self.check(&NodeProof { kind, lists, bytes: proof.to_vec() })
    }
}

impl<K: ProofField> Circuits<K> {
    fn new(circuits: Vec<Circuit<K>>, key: &Key<K>) -> Self {
        let mut provers = vec![prover::Prover::new(&circuits[0], key.parameters())];
        for circuit in &circuits[1..] {
            provers.push(provers[0].beside(circuit));
        }
        let claim = key.at(vec![K::ZERO; key.variables()]);
        Self { circuits, provers, claim }
    }
    fn prove(
        &self,
        key: &Key<K>,
        circuit: bool,
        free: &[Goldilocks],
        public: Public<[Goldilocks; WORD], K>,
    ) -> Result<Proof<K>, PieceError> {
        let which = usize::from(circuit);
        let columns = self.circuits[which].witness(free).map_err(|e| PieceError::Internal(e.to_string()))?;
        let elements = self.provers[which].prove(&public.statement(key.digest(), circuit), &columns);
        Ok(Proof { elements, circuit, public })
    }
}

impl<K: ProofField> StateProver<K> {
    /// Builds the circuits of pieces of this size, and with `joined` those of their joins; `None` if they are too
    /// large, or the size is not [possible](Size::is_possible).
    pub fn new(rounds: &[Round], size: Size, joined: bool) -> Option<Self> {
        let (piece, key) = pieces(rounds, size)?;
        let mut verifier = StateVerifier { pieces: key, joins: None };
        let pieces = Circuits::new(vec![piece], &verifier.pieces);
        let mut own_joins = None;
        if joined {
            let (circuits, key) = joins(rounds, &verifier.pieces)?;
            own_joins = Some(Circuits::new(circuits.into(), &key));
            verifier.joins = Some(key);
        }
        Some(Self { size, pieces, joins: own_joins, verifier })
    }
    /// The verifier of its proofs.
    pub fn verifier(&self) -> &StateVerifier<K> {
        &self.verifier
    }
    /// Proves a piece, and verifies the proof.
    ///
    /// # Errors
    /// If the circuit has no room for the piece.
    pub fn piece(&self, witness: &Witness) -> Result<NodeProof, PieceError> {
        let key = &self.verifier.pieces;
        let (point, value) = self.pieces.claim.clone();
        let public = Public { information: information(witness.lists(), None), point, value };
        let mut free = witness.data(self.size, key.digest())?;
        free.extend(claim_data(&public));
        let proof = self.pieces.prove(key, false, &free, public)?;
        self.checked(NodeProof { kind: Kind::Piece, lists: witness.lists(), bytes: encode(&proof) })
    }
    /// Joins the proofs of two pieces or of two joins, and verifies the result.
    ///
    /// # Errors
    /// If a proof is refused, or the two cannot be joined.
    pub fn join(&self, of: [&NodeProof; 2], join: Join<'_>) -> Result<NodeProof, PieceError> {
        let internal = PieceError::Internal;
        let kinds = of.map(|proof| proof.kind);
        let kind = Kind::of(kinds).ok_or_else(|| internal("a join of a piece with a join".into()))?;
        let key = self.verifier.key_of(kind).map_err(internal)?;
        let circuits = self.joins.as_ref().ok_or_else(|| internal("no circuits of joins".into()))?;
        let refused = |e: VerifyError| internal(e.to_string());
        let pieces = &self.verifier.pieces;
        let [first, second] = of.map(|proof| self.verifier.read(proof).map_err(internal));
        let [(first, first_claim), (second, second_claim)] = [first?, second?];

        let lists = join.lists(of.map(|proof| proof.lists));
        let words = [of[0].lists[0], of[1].lists[0], of[0].lists[1], of[1].lists[1], lists[0], lists[1]];
        let bit = |bit: bool| Goldilocks::new(bit.into());
        let mut free: Vec<Goldilocks> = words.iter().flat_map(|word| word.0).collect();
        free.extend([matches!(join, Join::Below | Join::Sublist(_)), join == Join::Alone].map(bit));
        match (kind, join) {
            (Kind::Joins, Join::Sublist(part)) if part.fits() => {
                free.push(Goldilocks::ONE);
                free.extend(part.data());
            }
            (_, Join::Sublist(_)) => return Err(internal("a part of a list that no join has room for".into())),
            (Kind::Joins, _) => {
                free.push(Goldilocks::ZERO);
                free.extend(Sublist::default().data());
            }
            _ => {}
        }
        free.extend(key.digest());
        free.extend([Goldilocks::ZERO; WORD]);
        let (claim, public);
        if kind == Kind::Pieces {
            let (data, Reduced { point, value }) = children_data(pieces, &[&first, &second]).map_err(refused)?;
            free.extend(data);
            claim = Public { information: Vec::new(), point, value };
            let (point, value) = circuits.claim.clone();
            public = Public { information: information(lists, Some(self.verifier.digest(&claim))), point, value };
            free.extend(claim_data(&public));
        } else {
            free.extend(kinds.map(|kind| bit(kind == Kind::Joins)));
            let claims: Vec<_> = [first_claim, second_claim].into_iter().flatten().collect();
            free.extend(claims.iter().flat_map(claim_data));
            let claims: Vec<_> =
                claims.into_iter().map(|Public { point, value, .. }| Claim::At { point, value }).collect();
            let (data, Reduced { point, value }) = prover::reduce(pieces, &claims);
            free.extend(data);
            claim = Public { information: Vec::new(), point, value };
            let (data, Reduced { point, value }) = children_data(key, &[&first, &second]).map_err(refused)?;
            free.extend(data);
            public = Public { information: information(lists, Some(self.verifier.digest(&claim))), point, value };
        }
        let proof = circuits.prove(key, kind == Kind::Joins, &free, public)?;
        let mut bytes = encode(&Proof { elements: Vec::new(), circuit: false, public: claim });
        bytes.extend(encode(&proof));
        self.checked(NodeProof { kind, lists, bytes })
    }
    /// Verifies a new proof.
    fn checked(&self, proof: NodeProof) -> Result<NodeProof, PieceError> {
        self.verifier.holds(&proof).map_err(PieceError::Internal)?;
        Ok(proof)
    }
}

/// The digest of the list of the edges above the roots.
fn list_of_roots(roots: &[(Tag, Hash, Digest)]) -> Digest {
    let edges: Vec<Edge> = roots.iter().map(|&(tag, root, digest)| Edge::of_root(tag, root, digest)).collect();
    List::of_edges(&edges).digest
}

/// The public values of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// The roots, in the order of their tags, each with d of the claims about it.
    Roots(Vec<(Tag, Hash, Digest)>),
    /// A block whose header has the roots.
    Block {
        /// The block's hash.
        hash: Hash,
        /// d of the claims about each root, in the order of the tags.
        digests: Vec<(Tag, Digest)>,
    },
}

impl Statement {
    /// The statement about these roots, or about the block with this header.
    pub(super) fn new(roots: Vec<(Tag, Hash, Digest)>, header: Option<&Header>) -> Self {
        let Some(header) = header else { return Self::Roots(roots) };
        Self::Block { hash: header.hash, digests: roots.iter().map(|&(tag, _, digest)| (tag, digest)).collect() }
    }
    /// What it names: `roots` or `block`.
    pub fn name(&self) -> &'static str {
        if matches!(self, Self::Roots(_)) { "roots" } else { "block" }
    }
    /// d of the claims about each root, in the order of the tags.
    pub fn digests(&self) -> Vec<(Tag, Digest)> {
        match self {
            Self::Roots(roots) => roots.iter().map(|&(tag, _, digest)| (tag, digest)).collect(),
            Self::Block { digests, .. } => digests.clone(),
        }
    }
    /// d of all claims: keys begin with the tag.
    pub fn digest(&self) -> Digest {
        let digests = self.digests();
        let tags: Vec<[u8; 1]> = digests.iter().map(|(tag, _)| [*tag as u8]).collect();
        let leaves: Vec<(&[u8], Digest)> = tags.iter().zip(digests).map(|(tag, (_, d))| (&tag[..], d)).collect();
        canonical_digest_of(Arity::Binary, &leaves)
    }
    /// The digest of the list that its proof shows.
    fn list(&self) -> Digest {
        match self {
            Self::Roots(roots) => list_of_roots(roots),
            Self::Block { hash, digests } => block_list(hash, digests).0,
        }
    }
    /// True with at least one root, and rising tags.
    fn is_ordered(&self) -> bool {
        let digests = self.digests();
        !digests.is_empty() && digests.is_sorted_by(|a, b| a.0 < b.0)
    }
}

/// What a verifier knows of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Roots.
    pub roots: Option<&'a Roots>,
    /// The block's hash.
    pub hash: Option<&'a Hash>,
}

impl<'a> From<&'a Roots> for Known<'a> {
    fn from(roots: &'a Roots) -> Self {
        Self { roots: Some(roots), hash: None }
    }
}

impl<'a> From<&'a Hash> for Known<'a> {
    fn from(hash: &'a Hash) -> Self {
        Self { roots: None, hash: Some(hash) }
    }
}

impl<'a> From<&'a Header> for Known<'a> {
    fn from(header: &'a Header) -> Self {
        Self { roots: Some(&header.roots), hash: Some(&header.hash) }
    }
}

/// A proof of claims about a block, as in a file. `docs/formats.md` specifies the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateProof {
    /// The size of the circuit of pieces. It has room for a header exactly if the statement is about a block's hash.
    pub size: Size,
    /// The kind of the proof.
    pub kind: Kind,
    /// The statement.
    pub statement: Statement,
    /// The proof.
    pub proof: Vec<u8>,
}

/// Reasons why a proof is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateProofError {
    /// The bytes are not a proof.
    #[error("not a proof about Ethereum's state: {0}")]
    Format(&'static str),
    /// The proof is about another root.
    #[error("the proof is about another {0} root: make one for the block that you check it against")]
    Root(Tag),
    /// The proof is about a root that the verifier does not have.
    #[error("the {0} root, which the proof is about, is not known: take the header of the block, or name the root")]
    Unknown(Tag),
    /// The proof is about another block.
    #[error("the proof is about the block with hash {}: make one for the block that you check it against", Hex(&.0[..]))]
    Block(Box<Hash>),
    /// The proof is about a block, and the verifier has roots only.
    #[error("the proof is about the block with hash {}, and not about roots: take its header, or name its hash", Hex(&.0[..]))]
    UnknownBlock(Box<Hash>),
    /// The proof is about other claims.
    #[error("the proof is about other claims than these: their canonical digest is {expected}, the proof's is {found}")]
    Claims {
        /// d of the claims.
        expected: Digest,
        /// d in the proof.
        found: Digest,
    },
    /// The proof does not verify.
    #[error("the proof is refused: {0}")]
    Refused(String),
}

/// The magic bytes and the version of a proof about roots.
const MAGIC: &[u8; 6] = b"EVGE\x04\0";
/// The magic bytes and the version of a proof about a block.
const MAGIC_OF_BLOCK: &[u8; 6] = b"EVGE\x05\0";
/// The approximate number of elements of the largest circuit.
const ELEMENTS: u64 = 1 << 25;

impl Size {
    /// The number of bytes of an encoded size.
    pub(super) const BYTES: usize = COUNTS * 4;
    /// The approximate number of elements of the rows for one of each count.
    const WEIGHTS: [u64; COUNTS] = [26_200, 6_000, 14_000, 34_000, 34_000, 4_000, 12_000, 9_000, 450];
    /// The approximate number of elements for a header.
    const HEADER: u64 = HEADER_BLOCKS as u64 * Self::WEIGHTS[0] + 15_000;

    pub(super) fn counts(&self) -> [usize; COUNTS] {
        let Self { blocks, branches, paths, accounts, slots, roots, opens, entries, steps, header: _ } = *self;
        [blocks, branches, paths, accounts, slots, roots, opens, entries, steps]
    }
    pub(super) fn from_counts(counts: [usize; COUNTS]) -> Self {
        let [blocks, branches, paths, accounts, slots, roots, opens, entries, steps] = counts;
        Self { blocks, branches, paths, accounts, slots, roots, opens, entries, steps, header: false }
    }
    /// The approximate number of elements that a circuit commits to.
    pub fn elements(&self) -> u64 {
        let counts = self.counts();
        let product = |(&count, weight): (&usize, u64)| (count as u64).saturating_mul(weight);
        let header = if self.header { Self::HEADER } else { 0 };
        counts.iter().zip(Self::WEIGHTS).map(product).fold(header, u64::saturating_add)
    }
    /// True if circuits of this size can be built: with at least one block, claim and root, and not too large.
    pub fn is_possible(&self) -> bool {
        // The order avoids overflow: the first comparison bounds the counts.
        self.elements() <= ELEMENTS && self.claims() > 0 && self.blocks > 0 && self.roots > 0
    }
    /// The counts: nine numbers of four bytes each, the least significant byte first.
    pub(super) fn to_bytes(self) -> impl Iterator<Item = u8> {
        self.counts().into_iter().flat_map(|count| (count as u32).to_le_bytes())
    }
    /// Decodes a size; `None` if circuits of this size cannot be built.
    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES], header: bool) -> Option<Self> {
        let mut counts = bytes.as_chunks::<4>().0.iter().map(|count| u32::from_le_bytes(*count) as usize);
        let size = Self { header, ..Self::from_counts(core::array::from_fn(|_| counts.next().expect("as many"))) };
        size.is_possible().then_some(size)
    }
}

/// Reads bytes of a file.
pub(super) fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], StateProofError> {
    let (own, behind) = rest.split_first_chunk().ok_or(StateProofError::Format("it is cut off"))?;
    *rest = behind;
    Ok(own)
}

/// Reads a digest of a file.
pub(super) fn digest(rest: &mut &[u8]) -> Result<Digest, StateProofError> {
    Digest::from_bytes(take(rest)?).map_err(|_| StateProofError::Format("an element is not below p"))
}

impl StateProof {
    /// True if one proof has room for the witness. Builds the circuit, which takes some tenths of a second.
    pub fn is_possible(witness: &Witness) -> bool {
        let size = witness.size();
        size.is_possible() && StateVerifier::<Quadratic>::new(&UNIQUE_100, size, false).is_some()
    }
    /// Proves the claims of a witness, in a circuit of exactly its size.
    ///
    /// # Errors
    /// If the witness is too large for one proof.
    pub fn new(witness: &Witness) -> Result<Self, PieceError> {
        let size = witness.size();
        let prover = size.is_possible().then(|| StateProver::<Quadratic>::new(&UNIQUE_100, size, false)).flatten();
        let prover = prover.ok_or(PieceError::TooLarge { blocks: size.blocks })?;
        let proof = prover.piece(witness)?;
        let tags = Tag::ALL.into_iter();
        let edge = |tag| witness.root_edges().iter().find(|edge| edge.trie == Trie::of(tag));
        let roots = tags.filter_map(|tag| edge(tag).map(|edge| (tag, edge.hash, edge.digest))).collect();
        let statement = Statement::new(roots, witness.header.as_ref().map(|slot| &slot.header));
        Ok(Self { size, kind: proof.kind, statement, proof: proof.bytes })
    }
    /// d of the claims.
    pub fn digest(&self) -> Digest {
        self.statement.digest()
    }
    /// d of the claims about the root of this tag; `None` if the proof is not about such a root.
    pub fn digest_under(&self, tag: Tag) -> Option<Digest> {
        self.statement.digests().into_iter().find(|of| of.0 == tag).map(|of| of.1)
    }
    /// The proof as bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { size, kind, statement, proof } = self;
        let magic = if matches!(statement, Statement::Roots(_)) { MAGIC } else { MAGIC_OF_BLOCK };
        let mut bytes = magic.to_vec();
        bytes.extend(size.to_bytes());
        bytes.push(kind.to_byte());
        match statement {
            Statement::Roots(roots) => {
                bytes.push(roots.len() as u8);
                for (tag, root, digest) in roots {
                    bytes.push(*tag as u8);
                    bytes.extend_from_slice(root);
                    bytes.extend(digest.to_bytes());
                }
            }
            Statement::Block { hash, digests } => {
                bytes.extend_from_slice(hash);
                bytes.push(digests.len() as u8);
                for (tag, digest) in digests {
                    bytes.push(*tag as u8);
                    bytes.extend(digest.to_bytes());
                }
            }
        }
        bytes.extend_from_slice(proof);
        bytes
    }
    /// Reads a proof from the bytes of a file, without verifying it.
    ///
    /// # Errors
    /// If the bytes are not a proof.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateProofError> {
        let format = StateProofError::Format;
        if matches!(bytes, [b'E', b'V', b'G', b'E', 1..=3, 0, ..]) {
            return Err(format("it has version 1, 2 or 3, of before proofs had several roots: prove again"));
        }
        let of_block = bytes.starts_with(MAGIC_OF_BLOCK);
        let magic = if of_block { MAGIC_OF_BLOCK } else { MAGIC };
        let mut rest = bytes.strip_prefix(magic).ok_or(format("it does not begin with the magic bytes"))?;
        let rest = &mut rest;
        let size = Size::from_bytes(take(rest)?, of_block).ok_or(format("no circuit has this size"))?;
        let [kind] = *take(rest)?;
        let kind = Kind::from_byte(kind).ok_or(format("no circuit is named so"))?;
        let block: Option<Hash> = if of_block { Some(*take(rest)?) } else { None };
        let [count] = *take(rest)?;
        let mut roots: Vec<(Tag, Hash, Digest)> = Vec::new();
        for _ in 0..count {
            let [tag] = *take(rest)?;
            let known = Tag::ALL.into_iter().find(|own| *own as u8 == tag);
            let rises = |tag: &Tag| roots.last().is_none_or(|&(last, ..)| last < *tag);
            let tag = known.filter(rises).ok_or(format("the tags of its roots do not increase"))?;
            let root = if of_block { [0; 32] } else { *take(rest)? };
            roots.push((tag, root, digest(rest)?));
        }
        if roots.is_empty() {
            return Err(format("it has no root"));
        }
        let statement = match block {
            None => Statement::Roots(roots),
            Some(hash) => {
                Statement::Block { hash, digests: roots.into_iter().map(|(tag, _, digest)| (tag, digest)).collect() }
            }
        };
        Ok(Self { size, kind, statement, proof: rest.to_vec() })
    }
    /// Verifies the proof against the known roots, or the known hash of a block, and against d of the claims if `digest`
    /// is given. The proof may be about some of the roots only. Builds the circuits, which takes some tenths of a second, or seconds for joined proofs.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn verify<'a>(
        &self,
        known: impl Into<Known<'a>>,
        digest: Option<Digest>,
    ) -> Result<SoundnessBits, StateProofError> {
        let known = known.into();
        if !self.statement.is_ordered() {
            return Err(StateProofError::Format("it has no root, or the tags of its roots do not increase"));
        }
        match &self.statement {
            Statement::Roots(roots) => {
                for (tag, root, _) in roots {
                    match known.roots.and_then(|roots| roots.get(*tag)) {
                        None => return Err(StateProofError::Unknown(*tag)),
                        Some(known) if known != root => return Err(StateProofError::Root(*tag)),
                        Some(_) => {}
                    }
                }
            }
            Statement::Block { hash, .. } => match known.hash {
                None => return Err(StateProofError::UnknownBlock(Box::new(*hash))),
                Some(known) if known != hash => return Err(StateProofError::Block(Box::new(*hash))),
                Some(_) => {}
            },
        }
        if self.size.header != matches!(self.statement, Statement::Block { .. }) {
            return Err(StateProofError::Format("its circuit is for another kind of statement"));
        }
        let found = self.digest();
        if let Some(expected) = digest.filter(|expected| *expected != found) {
            return Err(StateProofError::Claims { expected, found });
        }
        let possible = self.size.is_possible();
        let joined = self.kind != Kind::Piece;
        let verifier = possible.then(|| StateVerifier::<Quadratic>::new(&UNIQUE_100, self.size, joined)).flatten();
        let verifier = verifier.ok_or(StateProofError::Format("no circuit has this size"))?;
        let lists = [self.statement.list(), Digest::ZERO];
        let proof = NodeProof { kind: self.kind, lists, bytes: self.proof.clone() };
        verifier.check(&proof)?;
        Ok(verifier.bits())
    }
}

#[cfg(test)]
mod tests;
