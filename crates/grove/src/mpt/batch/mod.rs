//! Batches: claims with the proofs of all their pieces and joins. After a change of state, proofs that remain true are
//! reused.

use std::collections::{HashMap, HashSet};

use evergrove_primitives::Digest;
use evergrove_primitives::field::Quadratic;
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::ethereum::{Account, CLAIMS_MAX, Claim, HEADER_MAX, Hash, Header, Roots, Tag};

use super::list::List;
use super::plan::Step;
use super::proof::{StateProver, digest, take};
use super::witness::digest_under;
use super::{
    Block, Edge, Join, Kind, NodeProof, PieceError, Plan, Size, StateProof, StateProofError, Statement, Trie, Witness,
};

/// Claims about one state, and their proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The circuit of pieces.
    pub size: Size,
    /// The depth at which the state's trie is cut: edges at this depth are between pieces.
    pub cut: Option<u8>,
    /// The roots.
    pub roots: Roots,
    /// The header that has these roots, if the proof is about the block's hash.
    pub header: Option<Header>,
    /// The claims, in the order of the input.
    pub claims: Vec<Claim>,
    /// The nodes that prove the claims.
    pub nodes: Vec<Vec<u8>>,
    /// The pieces below the topmost one, each as the roots that it shows, if one proof joins all of them; otherwise
    /// empty.
    pub shown_below: Vec<Vec<Edge>>,
    /// The proofs; the last one covers all claims.
    pub proofs: Vec<NodeProof>,
}

/// Progress of proving a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Proofs made so far.
    pub made: usize,
    /// Proofs to make.
    pub all: usize,
}

/// The plan of a batch's proofs, before any of them is made.
pub struct Prepared<'a> {
    plan: Plan,
    steps: Vec<(Step, Kind, [Digest; 2])>,
    earlier: HashMap<(Kind, [Digest; 2]), &'a NodeProof>,
    /// Earlier proofs that are kept for later plans.
    kept: Vec<&'a NodeProof>,
    shown_below: Vec<Vec<Edge>>,
    cut: Option<u8>,
    roots: Roots,
    header: Option<Header>,
    claims: Vec<Claim>,
    nodes: Vec<Vec<u8>>,
}

impl<'a> Prepared<'a> {
    /// Plans the proofs of claims. Proofs of `earlier` are reused wherever they show the same lists, whatever state
    /// they are about, if `earlier` has the same size. `size` and `cut` are those of the batch; there is room for a
    /// header exactly if the block has one.
    ///
    /// # Errors
    /// If a node is missing or invalid, a claim is false, or more claims end at one node than a piece has room for.
    pub fn new<'b, 'n>(
        block: impl Into<Block<'b>>,
        nodes: &'n dyn Fn(&Hash) -> Option<&'n [u8]>,
        claims: &[Claim],
        (size, cut): (Size, Option<u8>),
        earlier: Option<&'a Batch>,
    ) -> Result<Self, PieceError> {
        let block: Block<'_> = block.into();
        let size = Size { header: block.header.is_some(), ..size };
        let whole = Witness::new(block, nodes, claims)?;
        let mut seen = HashSet::new();
        let shown = whole.hashes().filter(|hash| seen.insert(*hash)).filter_map(|hash| nodes(&hash));
        let nodes = shown.map(<[u8]>::to_vec).collect();
        let earlier = earlier.filter(|batch| batch.size == size);
        let of = |plan: Plan, shown_below| {
            let mut steps: Vec<(Step, Kind, [Digest; 2])> = Vec::new();
            for (step, kind) in plan.steps() {
                let lists = match step {
                    Step::Piece(piece) => plan.pieces[piece].lists(),
                    Step::Base => [plan.base.as_ref().expect("a plan with one").list, Digest::ZERO],
                    Step::Join { join, of } => join.lists(of.map(|step| steps[step].2)),
                    Step::Sublist(of) => Join::Below.lists(of.map(|step| steps[step].2)),
                };
                steps.push((step, kind, lists));
            }
            let known = earlier.into_iter().flat_map(|batch| &batch.proofs);
            let known = known.map(|proof| ((proof.kind, proof.lists), proof)).collect();
            let kept = if plan.base.is_some() { earlier.map(Batch::closed).unwrap_or_default() } else { Vec::new() };
            (plan, steps, known, kept, shown_below)
        };
        let plan = Plan::new(&whole, claims, size, cut)?;
        let shown_below = plan.shown_below();
        let (plan, steps, known, kept, shown_below) = of(plan, shown_below);
        let (claims, roots, header) = (claims.to_vec(), block.roots.clone(), block.header.cloned());
        let all = Self { plan, steps, earlier: known, kept, shown_below, cut, roots, header, claims, nodes };
        // Proving above an earlier proof takes three proofs: the piece above what the earlier proof shows, and two
        // joins.
        let Some(earlier) = earlier.filter(|_| all.new_proofs().iter().sum::<usize>() > 3) else { return Ok(all) };
        let Some((list, kind)) = earlier.base() else { return Ok(all) };
        let Ok(Some(plan)) = Plan::above(&whole, &all.claims, size, (&list, kind)) else { return Ok(all) };
        let (plan, steps, known, kept, shown_below) = of(plan, earlier.shown_below.clone());
        Ok(Self { plan, steps, earlier: known, kept, shown_below, ..all })
    }
    fn known(&self, (_, kind, lists): &(Step, Kind, [Digest; 2])) -> Option<&'a NodeProof> {
        self.earlier.get(&(*kind, *lists)).copied()
    }
    /// The size of pieces.
    pub fn size(&self) -> Size {
        self.plan.size
    }
    /// The claims.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }
    /// Flags the steps to prove: the last one, and those that new joins are made of, except steps with an earlier proof
    /// that `keep` accepts.
    fn new_steps(&self, keep: impl Fn(&NodeProof) -> bool) -> Vec<bool> {
        let mut new = vec![false; self.steps.len()];
        new.last_mut().into_iter().for_each(|last| *last = true);
        for i in (0..self.steps.len()).rev() {
            new[i] = new[i] && !self.known(&self.steps[i]).is_some_and(&keep);
            if let (true, Step::Join { of, .. } | Step::Sublist(of)) = (new[i], self.steps[i].0) {
                of.into_iter().for_each(|below| new[below] = true);
            }
        }
        new
    }
    /// The numbers of pieces and joins to prove.
    pub fn new_proofs(&self) -> [usize; 2] {
        let new = self.new_steps(|_| true);
        let new = self.steps.iter().zip(new).filter(|(_, new)| *new).map(|((_, kind, _), _)| *kind == Kind::Piece);
        let (pieces, joins): (Vec<bool>, Vec<bool>) = new.partition(|piece| *piece);
        [pieces.len(), joins.len()]
    }
    /// The numbers of pieces and joins in the batch.
    pub fn all_proofs(&self) -> [usize; 2] {
        let steps = self.steps.iter().filter(|(step, ..)| !matches!(step, Step::Base)).map(|(_, kind, _)| *kind);
        let kinds = steps.chain(self.kept.iter().map(|proof| proof.kind));
        let (pieces, joins): (Vec<Kind>, Vec<Kind>) = kinds.partition(|kind| *kind == Kind::Piece);
        [pieces.len(), joins.len()]
    }
    /// Proves what is new. Proves an earlier proof again if the verifier refuses it.
    ///
    /// # Errors
    /// If no circuit has this size.
    pub fn prove<'n>(
        &self,
        prover: &StateProver<Quadratic>,
        nodes: &'n dyn Fn(&Hash) -> Option<&'n [u8]>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Batch, PieceError> {
        // Earlier proofs from a file are verified. What is below a proof that holds is not checked.
        let new = self.new_steps(|known| prover.verifier().check(known).is_ok());
        if self.steps.iter().zip(&new).any(|((step, ..), new)| *new && matches!(step, Step::Base)) {
            let Self { roots, header, claims, .. } = self;
            let block = Block { roots, header: header.as_ref() };
            let all = Prepared::new(block, nodes, claims, (self.plan.size, self.cut), None)?;
            return Prepared { earlier: self.earlier.clone(), ..all }.prove(prover, nodes, progress);
        }
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
                Step::Base => unreachable!("kept, or nothing is proven above it"),
                Step::Join { join, of } => prover.join(made_or_kept(&proofs, of), join)?,
                Step::Sublist(of) => {
                    let part = &self.plan.base.as_ref().expect("a plan with one").part;
                    let join = if part.is_all() { Join::Below } else { Join::Sublist(part) };
                    prover.join(made_or_kept(&proofs, of), join)?
                }
            };
            debug_assert_eq!((proof.kind, proof.lists), (step.1, step.2));
            proofs.push(Some(proof));
            made += 1;
        }
        progress(Progress { made, all });
        let steps = self.steps.iter().zip(proofs).filter(|((step, ..), _)| !matches!(step, Step::Base));
        let proofs = self.kept.iter().map(|&kept| kept.clone()).chain(steps.filter_map(|(_, proof)| proof)).collect();
        let shown_below = self.shown_below.clone();
        let (cut, roots, header) = (self.cut, self.roots.clone(), self.header.clone());
        let (claims, nodes) = (self.claims.clone(), self.nodes.clone());
        Ok(Batch { size: self.plan.size, cut, roots, header, claims, nodes, shown_below, proofs })
    }
    /// Builds the circuits for this batch.
    ///
    /// # Errors
    /// If no circuit has this size.
    pub fn prover(&self) -> Result<StateProver<Quadratic>, PieceError> {
        let size = self.plan.size;
        let prover = size.is_possible().then(|| StateProver::new(&UNIQUE_100, size, true)).flatten();
        prover.ok_or(PieceError::TooLarge { blocks: size.blocks })
    }
}

fn made_or_kept(proofs: &[Option<NodeProof>], of: [usize; 2]) -> [&NodeProof; 2] {
    of.map(|step| proofs[step].as_ref().expect("made, or kept"))
}

/// The most edges at a cut that a piece has room for.
const CUT_EDGES: usize = 320;

/// The magic bytes and the version of a file without a header.
const MAGIC: &[u8; 6] = b"EVGB\x03\0";
/// The magic bytes and the version of a file with one.
const MAGIC_OF_BLOCK: &[u8; 6] = b"EVGB\x04\0";
/// The most nodes of an input. Each node is in one piece, and each piece but the last has a join.
const NODES_MAX: usize = 1 << 20;
/// Encodes that no depth is cut.
const NO_CUT: u8 = 255;

impl Batch {
    /// The size of pieces for a batch of claims. Pieces have about `elements` elements, and room for all edges at the
    /// depth of the cut if these are a few hundred.
    pub fn size_for(whole: &Witness, elements: u64, cut: Option<u8>) -> Size {
        let of = whole.size();
        let counts = of.counts();
        // The least room that a piece has, and its edges.
        let pieces = of.elements().div_ceil(elements) as usize;
        let edges = (2 * pieces).clamp(8, 32);
        let crowd = whole.crowd();
        let [above, at_cut] = whole.around(cut.unwrap_or(0));
        let cut = if at_cut + 8 <= CUT_EDGES { [above, at_cut + 8, (2 * at_cut).div_ceil(pieces)] } else { [0; 3] };
        let edges = [edges.max(cut[2]), edges.max(cut[1])];
        // Room for everything that must stay together, for an account whose storage begins in another piece, and for
        // one or two nodes more.
        let least = [24, 6 + cut[0], 4, 2, 1, edges[0], edges[1], 0, 0];
        let least = core::array::from_fn(|i| least[i].max(crowd[i] + usize::from(i == 3)));
        let size = |counts| Size { header: of.header, ..Size::from_counts(counts) };
        let elements = elements.max(size(least).elements() + elements / 2);
        let room = elements.saturating_sub(size(least).elements()) as f64;
        let part = (room / of.elements().max(1) as f64).min(1.0);
        size(core::array::from_fn(|i| match i {
            3 | 4 => least[i].max((counts[i] as f64 * part).ceil() as usize + if i == 3 { 2 } else { 1 }),
            5 | 6 => least[i],
            _ => least[i] + (counts[i] as f64 * part).ceil() as usize,
        }))
    }
    /// The joined proof of the pieces below the topmost one: the list that it shows, and its kind.
    fn base(&self) -> Option<(List, Kind)> {
        let lists: Vec<List> = self.shown_below.iter().map(|roots| List::of_edges(roots)).collect();
        let list = (!lists.is_empty()).then(|| List::of_lists(&lists))?;
        let shows = |proof: &&NodeProof| proof.kind != Kind::Piece && proof.lists == [list.digest, Digest::ZERO];
        let kind = self.proofs.iter().find(shows)?.kind;
        Some((list, kind))
    }
    /// Proofs that leave no edge open, except the last one.
    fn closed(&self) -> Vec<&NodeProof> {
        let (_, rest) = self.proofs.split_last().unzip();
        rest.unwrap_or_default().iter().filter(|proof| proof.lists[1] == Digest::ZERO).collect()
    }
    /// The proof of all claims.
    pub fn proof(&self) -> Result<StateProof, PieceError> {
        let last = self.proofs.last().ok_or_else(|| PieceError::Internal("a batch without proofs".into()))?;
        let mut roots = Vec::new();
        for &(tag, root) in self.roots.iter() {
            roots.push((tag, root, digest_under(tag, &self.claims)?));
        }
        let statement = Statement::new(roots, self.header.as_ref());
        Ok(StateProof { size: self.size, kind: last.kind, statement, proof: last.bytes.clone() })
    }
    /// The batch as bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = if self.header.is_some() { MAGIC_OF_BLOCK } else { MAGIC }.to_vec();
        bytes.extend(self.size.to_bytes());
        bytes.push(self.cut.unwrap_or(NO_CUT));
        bytes.push(self.roots.iter().count() as u8);
        for (tag, root) in self.roots.iter() {
            bytes.push(*tag as u8);
            bytes.extend(root);
        }
        if let Some(header) = &self.header {
            bytes.extend((header.bytes.len() as u32).to_le_bytes());
            bytes.extend(&header.bytes);
        }
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
                Claim::Entry { trie, index, value } => {
                    bytes.extend([3, *trie as u8]);
                    bytes.extend(index.to_le_bytes());
                    bytes.extend((value.len() as u32).to_le_bytes());
                    bytes.extend(value);
                }
                Claim::AbsentEntry { trie, index } => {
                    bytes.extend([4, *trie as u8]);
                    bytes.extend(index.to_le_bytes());
                }
            }
        }
        bytes.extend((self.nodes.len() as u32).to_le_bytes());
        for node in &self.nodes {
            bytes.extend((node.len() as u32).to_le_bytes());
            bytes.extend(node);
        }
        bytes.extend((self.shown_below.len() as u32).to_le_bytes());
        for roots in &self.shown_below {
            bytes.extend((roots.len() as u32).to_le_bytes());
            for Edge { trie, prefix, hash, digest } in roots {
                bytes.push(trie.number());
                bytes.extend(trie.account().unwrap_or_default());
                bytes.push(prefix.len() as u8);
                bytes.extend(prefix);
                bytes.extend(hash);
                bytes.extend(digest.to_bytes());
            }
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
    /// Reads a batch from the bytes of a file, without verifying its proofs.
    ///
    /// # Errors
    /// If the bytes are not a batch.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateProofError> {
        let format = |what| StateProofError::Format(what);
        if bytes.starts_with(b"EVGB\x01\0") || bytes.starts_with(b"EVGB\x02\0") {
            return Err(format("it has version 1 or 2, of before proofs had several roots: prove again"));
        }
        let of_block = bytes.starts_with(MAGIC_OF_BLOCK);
        let magic = if of_block { MAGIC_OF_BLOCK } else { MAGIC };
        let mut rest = bytes.strip_prefix(magic).ok_or(format("it does not begin as a batch does"))?;
        let rest = &mut rest;
        let size = Size::from_bytes(take(rest)?, of_block).ok_or(format("no circuit has this size"))?;
        let [cut] = *take(rest)?;
        let cut = (cut != NO_CUT).then_some(cut);
        let [count_of_roots] = *take(rest)?;
        let mut roots = Vec::new();
        for _ in 0..count_of_roots {
            roots.push((tag(*take(rest)?)?, *take(rest)?));
        }
        let roots = Roots::new(roots).ok_or(format("the tags of its roots do not increase"))?;
        let mut header = None;
        if of_block {
            let bytes = part(rest)?;
            let found = (bytes.len() <= HEADER_MAX).then(|| Header::parse(bytes).ok()).flatten();
            let found = found.ok_or(format("its header is not one"))?;
            if roots.iter().any(|(tag, root)| found.roots.get(*tag) != Some(root)) {
                return Err(format("its header has other roots"));
            }
            header = Some(found);
        }
        let mut claims = Vec::new();
        for _ in 0..count(rest, CLAIMS_MAX)? {
            claims.push(claim(rest)?);
        }
        let mut nodes = Vec::new();
        for _ in 0..count(rest, NODES_MAX)? {
            nodes.push(part(rest)?.to_vec());
        }
        let mut shown_below = Vec::new();
        for _ in 0..count(rest, NODES_MAX)? {
            let mut roots = Vec::new();
            for _ in 0..count(rest, NODES_MAX)? {
                roots.push(edge(rest)?);
            }
            if roots.is_empty() {
                return Err(format("a piece without roots"));
            }
            shown_below.push(roots);
        }
        let mut proofs = Vec::new();
        for _ in 0..count(rest, 2 * NODES_MAX)? {
            let [kind] = *take(rest)?;
            let kind = Kind::from_byte(kind).ok_or(format("no circuit is named so"))?;
            let lists = [digest(rest)?, digest(rest)?];
            proofs.push(NodeProof { kind, lists, bytes: part(rest)?.to_vec() });
        }
        if !rest.is_empty() {
            return Err(format("it has bytes behind its end"));
        }
        Ok(Self { size, cut, roots, header, claims, nodes, shown_below, proofs })
    }
}

/// Reads a count, at most `most`.
fn count(rest: &mut &[u8], most: usize) -> Result<usize, StateProofError> {
    let count = u32::from_le_bytes(*take(rest)?) as usize;
    if count > most {
        Err(StateProofError::Format("it has more claims, nodes or proofs than a batch"))
    } else {
        Ok(count)
    }
}

/// Reads bytes that are preceded by their number.
fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], StateProofError> {
    let length = u32::from_le_bytes(*take(rest)?) as usize;
    let (own, behind) = rest.split_at_checked(length).ok_or(StateProofError::Format("it is cut off"))?;
    *rest = behind;
    Ok(own)
}

fn tag([byte]: [u8; 1]) -> Result<Tag, StateProofError> {
    let known = Tag::ALL.into_iter().find(|tag| *tag as u8 == byte);
    known.ok_or(StateProofError::Format("no trie has this tag"))
}

fn claim(rest: &mut &[u8]) -> Result<Claim, StateProofError> {
    let [kind] = *take(rest)?;
    if let 3 | 4 = kind {
        let (trie, index) = (tag(*take(rest)?)?, u64::from_le_bytes(*take(rest)?));
        return Ok(if kind == 3 {
            Claim::Entry { trie, index, value: part(rest)?.to_vec() }
        } else {
            Claim::AbsentEntry { trie, index }
        });
    }
    let address = *take(rest)?;
    Ok(match kind {
        0 => {
            let nonce = u64::from_le_bytes(*take(rest)?);
            let [balance, storage_root, code_hash] = [*take(rest)?, *take(rest)?, *take(rest)?];
            Claim::Account { address, account: Account { nonce, balance, storage_root, code_hash } }
        }
        1 => Claim::AbsentAccount { address },
        2 => Claim::Slot { address, slot: *take(rest)?, value: *take(rest)? },
        _ => return Err(StateProofError::Format("a claim of no kind")),
    })
}

fn edge(rest: &mut &[u8]) -> Result<Edge, StateProofError> {
    let [trie] = *take(rest)?;
    let address = *take(rest)?;
    let trie = match trie {
        0 => Trie::State,
        1 => Trie::Storage(address),
        own => Trie::Entries(tag([own])?),
    };
    let [length @ 0..=64] = *take(rest)? else { return Err(StateProofError::Format("an edge below all keys")) };
    let (prefix, behind) = rest.split_at_checked(length.into()).ok_or(StateProofError::Format("it is cut off"))?;
    *rest = behind;
    Ok(Edge { trie, prefix: prefix.to_vec(), hash: *take(rest)?, digest: digest(rest)? })
}

#[cfg(test)]
mod tests;
