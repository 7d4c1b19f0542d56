//! Batches: claims with the proofs of all their pieces and joins, of which those that a new state leaves as they are need not be made again.

use std::collections::{HashMap, HashSet};

use evergrove_primitives::Digest;
use evergrove_primitives::field::Quadratic;
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::ethereum::{Account, CLAIMS_MAX, Claim, Hash, canonical_digest};

use super::plan::Step;
use super::proof::StateProver;
use super::{Kind, NodeProof, PieceError, Plan, Size, StateProof, StateProofError, Witness};

/// Claims about one state, and their proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The circuit of pieces.
    pub size: Size,
    /// Edges of the state's trie at this depth are between pieces.
    pub cut: Option<u8>,
    /// The state root.
    pub root: Hash,
    /// The claims, in the order that they were given in.
    pub claims: Vec<Claim>,
    /// The nodes that show them.
    pub nodes: Vec<Vec<u8>>,
    /// The proofs; the last one is of all.
    pub proofs: Vec<NodeProof>,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Proofs made so far.
    pub made: usize,
    /// Proofs to make.
    pub all: usize,
}

/// Proofs of a batch, before any is made.
pub struct Prepared<'a> {
    plan: Plan,
    steps: Vec<(Step, Kind, [Digest; 2])>,
    earlier: HashMap<(Kind, [Digest; 2]), &'a NodeProof>,
    cut: Option<u8>,
    root: Hash,
    claims: Vec<Claim>,
    nodes: Vec<Vec<u8>>,
}

impl<'a> Prepared<'a> {
    /// Plans the proofs of claims. Those of `earlier`, about any state, are taken where they say the same; with it size and cut are those of the batch.
    ///
    /// # Errors
    /// When a node is missing or invalid, a claim is false, or more claims end at one node than a piece has room for.
    pub fn new<'n>(
        root: &Hash,
        nodes: &'n dyn Fn(&Hash) -> Option<&'n [u8]>,
        claims: &[Claim],
        (size, cut): (Size, Option<u8>),
        earlier: Option<&'a Batch>,
    ) -> Result<Self, PieceError> {
        let whole = Witness::new(root, nodes, claims)?;
        let plan = Plan::new(&whole, claims, size, cut)?;
        let mut steps: Vec<(Step, Kind, [Digest; 2])> = Vec::new();
        for (step, kind) in plan.steps() {
            let lists = match step {
                Step::Piece(piece) => plan.lists(piece),
                Step::Join { join, of } => join.lists(of.map(|step| steps[step].2)),
            };
            steps.push((step, kind, lists));
        }
        let same = |batch: &&Batch| batch.size == size;
        let earlier = earlier.filter(same).into_iter().flat_map(|batch| &batch.proofs);
        let earlier = earlier.map(|proof| ((proof.kind, proof.lists), proof)).collect();
        let mut seen = HashSet::new();
        let shown = whole.hashes().filter(|hash| seen.insert(*hash)).filter_map(|hash| nodes(&hash));
        let shown = shown.map(<[u8]>::to_vec).collect();
        Ok(Self { plan, steps, earlier, cut, root: *root, claims: claims.to_vec(), nodes: shown })
    }
    fn known(&self, (_, kind, lists): &(Step, Kind, [Digest; 2])) -> Option<&'a NodeProof> {
        self.earlier.get(&(*kind, *lists)).copied()
    }
    /// The claims.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }
    /// Which proofs are to be made: the last one and what new joins are of, but for those that are known and kept.
    fn new_steps(&self, keep: impl Fn(&NodeProof) -> bool) -> Vec<bool> {
        let mut new = vec![false; self.steps.len()];
        new.last_mut().into_iter().for_each(|last| *last = true);
        for i in (0..self.steps.len()).rev() {
            new[i] = new[i] && !self.known(&self.steps[i]).is_some_and(&keep);
            if let (true, Step::Join { of, .. }) = (new[i], self.steps[i].0) {
                of.into_iter().for_each(|below| new[below] = true);
            }
        }
        new
    }
    /// Pieces and joins that are to be proven.
    pub fn new_proofs(&self) -> [usize; 2] {
        let new = self.new_steps(|_| true);
        let new = self.steps.iter().zip(new).filter(|(_, new)| *new).map(|((_, kind, _), _)| *kind == Kind::Piece);
        let (pieces, joins): (Vec<bool>, Vec<bool>) = new.partition(|piece| *piece);
        [pieces.len(), joins.len()]
    }
    /// Pieces and joins of all.
    pub fn all_proofs(&self) -> [usize; 2] {
        [self.plan.pieces.len(), self.steps.len() - self.plan.pieces.len()]
    }
    /// Proves what is new.
    ///
    /// # Errors
    /// When no circuit has this size. Earlier proofs that are refused are made again.
    pub fn prove<'n>(
        &self,
        prover: &StateProver<Quadratic>,
        nodes: &'n dyn Fn(&Hash) -> Option<&'n [u8]>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Batch, PieceError> {
        // What a file says is not believed, but what is below a proof that holds is not asked for.
        let new = self.new_steps(|known| prover.verifier().check(known).is_ok());
        let all = new.iter().filter(|new| **new).count();
        let mut made = 0;
        let mut proofs: Vec<Option<NodeProof>> = Vec::with_capacity(self.steps.len());
        for (step, new) in self.steps.iter().zip(new) {
            if !new {
                proofs.push(self.known(step).cloned());
                continue;
            }
            progress(Progress { made, all });
            let proof = match step.0 {
                Step::Piece(piece) => prover.piece(&self.plan.witness(piece, nodes)?)?,
                Step::Join { join, of } => {
                    let of = of.map(|below| proofs[below].as_ref().expect("made, or kept"));
                    prover.join(of, join)?
                }
            };
            debug_assert_eq!((proof.kind, proof.lists), (step.1, step.2));
            proofs.push(Some(proof));
            made += 1;
        }
        progress(Progress { made, all });
        let proofs = proofs.into_iter().flatten().collect();
        let Self { cut, root, .. } = *self;
        let (claims, nodes) = (self.claims.clone(), self.nodes.clone());
        Ok(Batch { size: self.plan.size, cut, root, claims, nodes, proofs })
    }
    /// The circuits that it is proven with.
    ///
    /// # Errors
    /// When there are none of this size.
    pub fn prover(&self) -> Result<StateProver<Quadratic>, PieceError> {
        let size = self.plan.size;
        let prover = size.is_possible().then(|| StateProver::new(&UNIQUE_100, size, true)).flatten();
        prover.ok_or(PieceError::TooLarge { blocks: size.blocks })
    }
}

/// What a file begins with: four letters, and its version.
const MAGIC: &[u8; 6] = b"EVGB\x02\0";
/// Nodes of an input, at most; each is in one piece, and each piece but the last has a join.
const NODES_MAX: usize = 1 << 20;
/// No edge is left open for its depth.
const NO_CUT: u8 = 255;

impl Batch {
    /// The size of pieces for a batch of claims, with room for so many elements.
    pub fn size_for(whole: &Witness, elements: u64) -> Size {
        let of = whole.size();
        let counts = of.counts();
        // The least that a piece has, and edges.
        let edges = (2 * of.elements().div_ceil(elements) as usize).clamp(8, 32);
        let [accounts, slots] = whole.crowd();
        let least = [24, 6, 4, 2.max(accounts), 1.max(slots), edges, edges];
        let room = elements.saturating_sub(Size::from_counts(least).elements()) as f64;
        let part = (room / of.elements().max(1) as f64).min(1.0);
        Size::from_counts(core::array::from_fn(|i| match i {
            3 | 4 => least[i].max((counts[i] as f64 * part).ceil() as usize + if i == 3 { 2 } else { 1 }),
            5.. => least[i],
            _ => least[i] + (counts[i] as f64 * part).ceil() as usize,
        }))
    }
    /// The proof of all claims.
    pub fn proof(&self) -> Result<StateProof, PieceError> {
        let last = self.proofs.last().ok_or_else(|| PieceError::Internal("a batch without proofs".into()))?;
        Ok(StateProof {
            size: self.size,
            kind: last.kind,
            root: self.root,
            digest: canonical_digest(&self.claims)?,
            proof: last.bytes.clone(),
        })
    }
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.size.to_bytes());
        bytes.push(self.cut.unwrap_or(NO_CUT));
        bytes.extend(self.root);
        bytes.extend((self.claims.len() as u32).to_le_bytes());
        for claim in &self.claims {
            match claim {
                Claim::Account { address, account } => {
                    bytes.push(0);
                    bytes.extend(address);
                    bytes.extend(account.nonce.to_le_bytes());
                    bytes.extend([account.balance, account.storage_root, account.code_hash].as_flattened());
                }
                Claim::AbsentAccount { address } => {
                    bytes.push(1);
                    bytes.extend(address);
                }
                Claim::Slot { address, slot, value } => {
                    bytes.push(2);
                    bytes.extend(address);
                    bytes.extend([*slot, *value].as_flattened());
                }
                Claim::Entry { .. } | Claim::AbsentEntry { .. } => unreachable!("no batch has entries"),
            }
        }
        bytes.extend((self.nodes.len() as u32).to_le_bytes());
        for node in &self.nodes {
            bytes.extend((node.len() as u32).to_le_bytes());
            bytes.extend(node);
        }
        bytes.extend((self.proofs.len() as u32).to_le_bytes());
        for proof in &self.proofs {
            bytes.push(proof.kind.to_byte());
            bytes.extend(proof.lists.iter().flat_map(|list| list.to_bytes()));
            bytes.extend((proof.bytes.len() as u32).to_le_bytes());
            bytes.extend(&proof.bytes);
        }
        bytes
    }
    /// The batch in a file. Its proofs are read, not verified.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateProofError> {
        let format = |what| StateProofError::Format(what);
        if bytes.starts_with(b"EVGB\x01\0") {
            return Err(format("it has version 1, of before joins had a key of their own: prove again"));
        }
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(format("it does not begin as a batch does"))?;
        let rest = &mut rest;
        let size = Size::from_bytes(take(rest)?).ok_or(format("no circuit has this size"))?;
        let [cut] = *take(rest)?;
        let cut = (cut != NO_CUT).then_some(cut);
        let root = *take(rest)?;
        let mut claims = Vec::new();
        for _ in 0..count(rest, CLAIMS_MAX)? {
            let [kind] = *take(rest)?;
            let address = *take(rest)?;
            claims.push(match kind {
                0 => {
                    let nonce = u64::from_le_bytes(*take(rest)?);
                    let [balance, storage_root, code_hash] = [*take(rest)?, *take(rest)?, *take(rest)?];
                    Claim::Account { address, account: Account { nonce, balance, storage_root, code_hash } }
                }
                1 => Claim::AbsentAccount { address },
                2 => Claim::Slot { address, slot: *take(rest)?, value: *take(rest)? },
                _ => return Err(format("a claim of no kind")),
            });
        }
        let mut nodes = Vec::new();
        for _ in 0..count(rest, NODES_MAX)? {
            nodes.push(part(rest)?.to_vec());
        }
        let mut proofs = Vec::new();
        for _ in 0..count(rest, 2 * NODES_MAX)? {
            let [kind] = *take(rest)?;
            let kind = Kind::from_byte(kind).ok_or(format("no circuit is named so"))?;
            let mut list = || Digest::from_bytes(take(rest)?).map_err(|_| format("an element is not below p"));
            let lists = [list()?, list()?];
            proofs.push(NodeProof { kind, lists, bytes: part(rest)?.to_vec() });
        }
        if !rest.is_empty() {
            return Err(format("it has bytes behind its end"));
        }
        Ok(Self { size, cut, root, claims, nodes, proofs })
    }
}

/// How many follow.
fn count(rest: &mut &[u8], most: usize) -> Result<usize, StateProofError> {
    let count = u32::from_le_bytes(*take(rest)?) as usize;
    if count > most {
        Err(StateProofError::Format("it has more claims, nodes or proofs than a batch"))
    } else {
        Ok(count)
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], StateProofError> {
    let (own, behind) = rest.split_first_chunk().ok_or(StateProofError::Format("it is cut off"))?;
    *rest = behind;
    Ok(own)
}

/// Bytes behind their number.
fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], StateProofError> {
    let length = u32::from_le_bytes(*take(rest)?) as usize;
    let (own, behind) = rest.split_at_checked(length).ok_or(StateProofError::Format("it is cut off"))?;
    *rest = behind;
    Ok(own)
}
