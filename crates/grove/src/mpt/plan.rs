//! Plans pieces and joins: which nodes and claims are in which piece, and which proofs are joined. The plan is a
//! function of nodes, claims, size and cut, and of what an earlier proof shows.

use std::collections::{HashMap, HashSet};

use evergrove_primitives::Digest;
use evergrove_verifier::ethereum::{Address, Claim, Hash, Key, canonical_digest};

use super::header::HeaderSlot;
use super::list::{List, Sublist, balanced};
use super::witness::{Child, Number, StorageSlot, Witness};
use super::{COUNTS, Edge, Join, Kind, PieceError, Size, Trie};

/// The contents of one piece.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// The roots: edges at which the piece begins.
    pub roots: Vec<Edge>,
    /// The header of the block that has the roots, if the piece shows the block in their place.
    pub(super) header: Option<HeaderSlot>,
    /// For each root, the key of the first claim below it.
    pub(super) firsts: Vec<Vec<u8>>,
    /// The claims of the piece itself, with their places in the input.
    pub claims: Vec<(usize, Claim)>,
    /// The pieces of the plan that show the open edges of this piece.
    pub below: Vec<usize>,
    /// The open edges, at which the piece ends.
    pub(super) open: Option<List>,
    /// For each open edge, from left to right, the key of the first claim below it.
    pub(super) open_firsts: Vec<Vec<u8>>,
}

impl Planned {
    /// The list of the edges at its roots, which a piece without a header shows.
    pub(super) fn shown(&self) -> List {
        List::of_edges(&self.roots)
    }
    /// The digests of the list that the piece shows, and of the list that it leaves open.
    pub(super) fn lists(&self) -> [Digest; 2] {
        let shown = self.header.as_ref().map_or_else(|| self.shown().digest, |header| header.list().0);
        [shown, self.open.as_ref().map_or(Digest::ZERO, |open| open.digest)]
    }
}

/// A division into pieces. A piece that shows open edges comes before the piece that leaves them open.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The size of the pieces.
    pub size: Size,
    /// The pieces.
    pub pieces: Vec<Planned>,
    /// An earlier proof that shows the open edges of the last piece.
    pub(super) base: Option<Base>,
}

/// An earlier proof that leaves no edge open.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// The list that it shows.
    pub(super) list: Digest,
    /// Its kind: not a piece.
    pub(super) kind: Kind,
    /// Shows that the open edges are a part of the list.
    pub(super) part: Sublist,
}

/// A step of a plan, with one proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Piece(usize),
    /// A join of two steps.
    Join {
        join: Join<'static>,
        of: [usize; 2],
    },
    /// The earlier proof itself.
    Base,
    /// A join with the earlier proof. The open edges are a part of the edges that it shows.
    Sublist([usize; 2]),
}

/// A node's place: its trie and the nibbles on the path to it; then its hash.
pub(super) type Place = (Trie<Address>, Vec<u8>, Hash);

/// Blocks, branches, paths, accounts, slots, roots, open edges, entries, steps.
type Load = [usize; COUNTS];

const ACCOUNTS: usize = 3;
const SLOTS: usize = 4;
const ROOTS: usize = 5;
const OPENS: usize = 6;
const ENTRIES: usize = 7;
const STEPS: usize = 8;

fn sum(a: Load, b: Load) -> Load {
    core::array::from_fn(|i| a[i] + b[i])
}

/// A node on the paths of the claims.
#[derive(Default)]
struct Vertex {
    own: Load,
    children: Vec<usize>,
    /// True if the edge above the node may be left open.
    open: bool,
    /// True if the edge above the node is left open wherever that is possible.
    wished: bool,
    /// True in the storage of an account.
    storage: bool,
    /// The claims whose paths end at the node, by their number in the order of keys.
    claims: Vec<usize>,
}

/// Nodes that stay together in one piece.
struct Part {
    /// The topmost node; `None` for the part above all nodes.
    node: Option<usize>,
    load: Load,
    below: Vec<usize>,
}

/// The load below an edge.
struct Branch {
    child: usize,
    load: Load,
    below: Vec<usize>,
}

struct Division<'a> {
    limit: Load,
    vertices: &'a [Vertex],
    parts: Vec<Part>,
}

impl Division<'_> {
    fn fits(&self, load: Load, storage: bool) -> bool {
        let mut load = load;
        load[ROOTS] += 1;
        load[ACCOUNTS] += usize::from(storage);
        load.iter().zip(self.limit).all(|(own, most)| *own <= most)
    }
    /// Divides the nodes below a node. Returns the load that stays with the node, and the parts below.
    fn divide(&mut self, node: usize) -> Result<(Load, Vec<usize>), PieceError> {
        let (own, children) = self.gather(node)?;
        // If leaving every wished edge open takes more edges than a piece has room for, the wishes are ignored.
        let chosen = self.chosen(node, own, &children, true).or_else(|| self.chosen(node, own, &children, false));
        let Some((load, chosen)) = chosen else {
            return Err(PieceError::Crowded { claims: own[ACCOUNTS] + own[SLOTS] + own[ENTRIES] });
        };
        let mut below = Vec::new();
        for (i, Branch { child, load, below: parts }) in children.into_iter().enumerate() {
            if chosen.contains(&i) {
                below.push(self.part(Some(child), load, parts));
            } else {
                below.extend(parts);
            }
        }
        Ok((load, below))
    }
    /// Returns the load that must stay in one piece with a node, and the edges below it that may be left open. All
    /// roots are in one piece, and a branch below an extension is not left open alone.
    fn gather(&mut self, node: usize) -> Result<(Load, Vec<Branch>), PieceError> {
        let mut own = self.vertices[node].own;
        let mut children = Vec::new();
        for &child in &self.vertices[node].children {
            if self.vertices[child].open {
                let (load, below) = self.divide(child)?;
                children.push(Branch { child, load, below });
            } else {
                let (more, further) = self.gather(child)?;
                own = sum(own, more);
                children.extend(further);
            }
        }
        Ok((own, children))
    }
    /// Chooses the edges to leave open, so that the rest fits: the wished ones, then those of the largest children.
    /// Returns the load of the rest, and the chosen edges.
    fn chosen(&self, node: usize, own: Load, children: &[Branch], wishes: bool) -> Option<(Load, Vec<usize>)> {
        let wished = |i: &usize| wishes && self.vertices[children[*i].child].wished;
        let (mut chosen, mut kept): (Vec<usize>, Vec<usize>) = (0..children.len()).partition(wished);
        let mut load = kept.iter().fold(own, |load, &i| sum(load, children[i].load));
        load[OPENS] += chosen.len();
        while !self.fits(load, self.vertices[node].storage) {
            let weight = |i: usize| {
                let parts = children[i].load.iter().zip(self.limit);
                parts.map(|(own, most)| *own as f64 / most.max(1) as f64).fold(0.0, f64::max)
            };
            let largest = kept.iter().copied().max_by(|&a, &b| weight(a).total_cmp(&weight(b)))?;
            kept.retain(|&i| i != largest);
            load = core::array::from_fn(|i| load[i] - children[largest].load[i]);
            load[OPENS] += 1;
            chosen.push(largest);
        }
        Some((load, chosen))
    }
    fn part(&mut self, node: Option<usize>, load: Load, below: Vec<usize>) -> usize {
        self.parts.push(Part { node, load, below });
        self.parts.len() - 1
    }
}

/// A claim with its key and its place in the input.
type Keyed<'a> = (Key, usize, &'a Claim);

/// The nodes of a witness, with the claims that end at each. Vertex 0 is above the roots.
fn vertices(whole: &Witness, order: &[Keyed<'_>], wish: &dyn Fn(&Place) -> bool) -> Vec<Vertex> {
    let branches = whole.branches.len();
    let of_node = |number: Number| match number {
        Number::Branch(i) => 1 + i,
        Number::Path(i) => 1 + branches + i,
        Number::Root(_) | Number::Account(_) => 0,
    };
    let vertex = |number: Number| match number {
        Number::Account(i) => of_node(whole.accounts[i].end.as_ref().expect("of a whole").at()),
        other => of_node(other),
    };
    let mut vertices: Vec<Vertex> = (0..=branches + whole.paths.len()).map(|_| Vertex::default()).collect();
    vertices[0].own[ROOTS] = whole.root_edges().len() - 1;
    for (i, node) in whole.branches.iter().chain(&whole.paths).enumerate() {
        let (link, own) = (&node.link, 1 + i);
        let trie = link.trie.map(|account| whole.accounts[account].address);
        let place = match link.child {
            Child::Hash(hash) if link.may_be_open() => Some((trie, link.place(), hash)),
            _ => None,
        };
        vertices[vertex(link.from)].children.push(own);
        let of = &mut vertices[own];
        of.own[..3].copy_from_slice(&[node.blocks(), usize::from(i < branches), usize::from(i >= branches)]);
        of.open = place.is_some();
        of.wished = place.as_ref().is_some_and(wish);
        of.storage = link.trie.account().is_some();
    }
    let mut accounts = HashMap::new();
    for (i, account) in whole.accounts.iter().enumerate() {
        let at = vertex(Number::Account(i));
        vertices[at].own[ACCOUNTS] += 1;
        accounts.insert(account.address, at);
    }
    let of_slot =
        |slot: &StorageSlot| slot.end.as_ref().map_or(vertex(Number::Account(slot.account)), |end| vertex(end.at()));
    let slots: Vec<usize> = whole.slots.iter().map(of_slot).collect();
    let entries: Vec<usize> = whole.entries.iter().map(|entry| vertex(entry.end.at())).collect();
    slots.iter().for_each(|&at| vertices[at].own[SLOTS] += 1);
    for (entry, &at) in whole.entries.iter().zip(&entries) {
        vertices[at].own[ENTRIES] += 1;
        vertices[at].own[STEPS] += entry.steps();
    }
    let (mut slots, mut entries) = (slots.into_iter(), entries.into_iter());
    for (i, (.., claim)) in order.iter().enumerate() {
        let at = match claim {
            Claim::Slot { .. } => slots.next().expect("as many slots"),
            Claim::Account { address, .. } | Claim::AbsentAccount { address } => accounts[address],
            Claim::Entry { .. } | Claim::AbsentEntry { .. } => entries.next().expect("as many entries"),
        };
        vertices[at].claims.push(i);
    }
    vertices
}

/// The claims of each part without those of the parts below its edges.
fn claims_of_parts(parts: &[Part], vertices: &[Vertex], top: usize) -> Vec<Vec<usize>> {
    let mut own: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    let heads: HashMap<usize, usize> = parts.iter().enumerate().map(|(i, part)| (part.node.unwrap_or(0), i)).collect();
    let mut rest = vec![(0, top)];
    while let Some((node, part)) = rest.pop() {
        let part = if node == 0 { part } else { heads.get(&node).copied().unwrap_or(part) };
        own[part].extend(&vertices[node].claims);
        rest.extend(vertices[node].children.iter().map(|&child| (child, part)));
    }
    own
}

/// The edge above each part but the topmost, which is about roots, with the key of the first claim below it.
fn edges_of_parts(
    whole: &Witness,
    order: &[Keyed<'_>],
    parts: &[Part],
    own: &[Vec<usize>],
) -> Result<Vec<(Edge, Vec<u8>)>, PieceError> {
    let branches = whole.branches.len();
    // The claims of each part with those of all parts below it, which come before it.
    let mut all = own.to_vec();
    let mut edges: Vec<(Edge, Vec<u8>)> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        for &below in &part.below {
            let more = all[below].clone();
            all[i].extend(more);
        }
        all[i].sort_unstable();
        let Some(node) = part.node else { continue };
        let below: Vec<Claim> = all[i].iter().map(|&claim| order[claim].2.clone()).collect();
        let digest = canonical_digest(&below)?;
        let link = &whole.branches.get(node - 1).unwrap_or_else(|| &whole.paths[node - 1 - branches]).link;
        let Child::Hash(hash) = link.child else { unreachable!("only hashes are left open") };
        let trie = link.trie.map(|account| whole.accounts[account].address);
        let edge = Edge { trie, prefix: link.place(), hash, digest };
        edges.push((edge, order[all[i][0]].0.bytes().to_vec()));
    }
    Ok(edges)
}

/// The open edges as a part of the list of an earlier proof, if it shows all of them and the part fits one join.
fn shown_by(earlier: &List, open: &HashMap<&Edge, &Vec<u8>>) -> Option<(List, Sublist)> {
    let shown: HashSet<&Edge> = earlier.edges().into_iter().collect();
    // A proof that is joined to itself shows its edges twice, but a piece leaves an edge open only once.
    let known = open.keys().all(|edge| shown.contains(edge)) && shown.len() == earlier.edges().len();
    earlier.part(&|edge| known && open.contains_key(edge)).filter(|(_, part)| part.fits())
}

impl Plan {
    /// Divides the claims of a witness that leaves no edge open. Edges of the state's trie at depth `cut` are left open
    /// in any case.
    ///
    /// # Errors
    /// If more claims end at one node than a piece has room for.
    pub fn new(whole: &Witness, claims: &[Claim], size: Size, cut: Option<u8>) -> Result<Self, PieceError> {
        let wish = |edge: &Place| edge.0 == Trie::State && cut.is_some_and(|cut| edge.1.len() == usize::from(cut));
        Self::divided(whole, claims, size, &wish, None)
            .map(|plan| plan.expect("without an earlier proof there is a plan"))
    }
    /// Plans one piece, which leaves open the edges that an earlier proof shows; `None` if the piece has no room for
    /// the rest.
    ///
    /// # Errors
    /// The errors of [`Plan::new`].
    pub(super) fn above(
        whole: &Witness,
        claims: &[Claim],
        size: Size,
        (earlier, kind): (&List, Kind),
    ) -> Result<Option<Self>, PieceError> {
        let shown: HashSet<Place> = earlier.edges().into_iter().map(Edge::place).collect();
        Self::divided(whole, claims, size, &|place| shown.contains(place), Some((earlier, kind)))
    }
    fn divided(
        whole: &Witness,
        claims: &[Claim],
        size: Size,
        wish: &dyn Fn(&Place) -> bool,
        earlier: Option<(&List, Kind)>,
    ) -> Result<Option<Self>, PieceError> {
        let mut order: Vec<_> = claims.iter().enumerate().map(|(place, claim)| (claim.key(), place, claim)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let vertices = vertices(whole, &order, wish);
        let mut division = Division { limit: size.counts(), vertices: &vertices, parts: Vec::new() };
        let (load, below) = division.divide(0)?;
        let top = division.part(None, load, below);
        let Division { parts, .. } = division;
        let own = claims_of_parts(&parts, &vertices, top);
        let edges = edges_of_parts(whole, &order, &parts, &own)?;
        // The topmost part is the last one. Its edges are those of the roots, each with the key of the first claim
        // below it.
        let tops: Vec<(Edge, Vec<u8>)> = whole
            .root_edges()
            .iter()
            .map(|edge| {
                let own = |claim: &Claim| Trie::of(claim.tag()) == edge.trie;
                let first = order.iter().find(|(.., claim)| own(claim)).expect("each root has a claim");
                (edge.clone(), first.0.bytes().to_vec())
            })
            .collect();
        let claims_of = |part: usize| own[part].iter().map(|&claim| (order[claim].1, order[claim].2.clone()));

        if let Some((earlier, kind)) = earlier {
            let members = parts[top].below.iter().map(|&part| (&edges[part].0, &edges[part].1));
            let open: HashMap<&Edge, &Vec<u8>> = members.collect();
            let Some((list, part)) = shown_by(earlier, &open) else { return Ok(None) };
            let (roots, firsts) = tops.into_iter().unzip();
            let piece = Planned {
                roots,
                header: whole.header.clone(),
                firsts,
                claims: claims_of(top).collect(),
                below: Vec::new(),
                open_firsts: list.edges().into_iter().map(|edge| open[edge].clone()).collect(),
                open: Some(list),
            };
            let base = Some(Base { list: earlier.digest, kind, part });
            return Ok(Some(Self { size, pieces: vec![piece], base }));
        }
        let mut plan = Self { size, pieces: Vec::new(), base: None };
        let mut piece = |plan: &mut Self, members: &[usize], below: Vec<usize>| {
            let of = || below.iter().map(|&below| &plan.pieces[below]);
            let lists: Vec<List> = of().map(Planned::shown).collect();
            let open = (!lists.is_empty()).then(|| List::of_lists(&lists));
            let open_firsts = of().flat_map(|piece| piece.firsts.clone()).collect();
            let shown: Vec<(Edge, Vec<u8>)> =
                if members == [top] { tops.clone() } else { members.iter().map(|&part| edges[part].clone()).collect() };
            let (roots, firsts) = shown.into_iter().unzip();
            plan.pieces.push(Planned {
                roots,
                header: whole.header.clone().filter(|_| members == [top]),
                firsts,
                claims: members.iter().flat_map(|&part| claims_of(part)).collect(),
                below,
                open,
                open_firsts,
            });
            plan.pieces.len() - 1
        };
        assemble(&mut plan, &parts, &vertices, &edges, &[top], &mut piece);
        Ok(Some(plan))
    }

    /// The witness of a piece.
    ///
    /// # Errors
    /// The errors of [`Witness::new`].
    pub fn witness<'a>(
        &self,
        piece: usize,
        nodes: &'a dyn Fn(&Hash) -> Option<&'a [u8]>,
    ) -> Result<Witness, PieceError> {
        Witness::of_piece(&self.pieces[piece], nodes)
    }
    /// The steps with their kinds. Each step comes after the steps that it joins; the last one covers all claims.
    pub(super) fn steps(&self) -> Vec<(Step, Kind)> {
        let mut steps = Vec::new();
        if let Some(base) = &self.base {
            let base = push(&mut steps, Step::Base, base.kind);
            let piece = push(&mut steps, Step::Piece(0), Kind::Piece);
            let alone = push(&mut steps, Step::Join { join: Join::Alone, of: [piece; 2] }, Kind::Pieces);
            push(&mut steps, Step::Sublist([alone, base]), Kind::Joins);
            return steps;
        }
        let mut closed: Vec<usize> = Vec::new();
        for (i, piece) in self.pieces.iter().enumerate() {
            let mut own = push(&mut steps, Step::Piece(i), Kind::Piece);
            if !piece.below.is_empty() {
                let below: Vec<usize> = piece.below.iter().map(|&below| closed[below]).collect();
                let all = balanced(&below, &mut |&left, &right| join(&mut steps, Join::Beside, [left, right]));
                own = join(&mut steps, Join::Below, [own, all]);
            }
            closed.push(own);
        }
        steps
    }
    /// The roots of the pieces below the last one, if one proof joins these pieces. A later plan may be
    /// [above](Self::above) them.
    pub(super) fn shown_below(&self) -> Vec<Vec<Edge>> {
        let Some(last) = self.pieces.last() else { return Vec::new() };
        let roots = |&below: &usize| self.pieces[below].roots.clone();
        match last.below[..] {
            [only] if self.pieces[only].below.is_empty() => Vec::new(),
            _ => last.below.iter().map(roots).collect(),
        }
    }
}

fn push(steps: &mut Vec<(Step, Kind)>, step: Step, kind: Kind) -> usize {
    steps.push((step, kind));
    steps.len() - 1
}

/// Joins two steps. A piece that is joined to a join is first turned into a join by itself.
fn join(steps: &mut Vec<(Step, Kind)>, join: Join<'static>, mut of: [usize; 2]) -> usize {
    let kinds = of.map(|step| steps[step].1);
    let kind = Kind::of(kinds).unwrap_or(Kind::Joins);
    if kind == Kind::Joins {
        for (step, _) in of.iter_mut().zip(kinds).filter(|(_, kind)| *kind == Kind::Piece) {
            *step = push(steps, Step::Join { join: Join::Alone, of: [*step; 2] }, Kind::Pieces);
        }
    }
    push(steps, Step::Join { join, of }, kind)
}

/// Adds the piece of these parts, after the pieces that show its open edges. Packs parts into pieces by first fit, in
/// the order of keys.
fn assemble(
    plan: &mut Plan,
    parts: &[Part],
    vertices: &[Vertex],
    edges: &[(Edge, Vec<u8>)],
    members: &[usize],
    piece: &mut impl FnMut(&mut Plan, &[usize], Vec<usize>) -> usize,
) -> usize {
    let limit = plan.size.counts();
    let mut below: Vec<usize> = members.iter().flat_map(|&part| parts[part].below.iter().copied()).collect();
    below.sort_by(|&a, &b| edges[a].1.cmp(&edges[b].1));
    let mut bins: Vec<(bool, Load, Vec<usize>)> = Vec::new();
    for part in below {
        // A piece has either parts of storage or parts of the state: see the rule for open edges.
        let storage = parts[part].node.is_some_and(|node| vertices[node].storage);
        let mut load = parts[part].load;
        load[ROOTS] += 1;
        load[ACCOUNTS] += usize::from(storage);
        let fits = |bin: &&mut (bool, Load, Vec<usize>)| {
            bin.0 == storage && sum(bin.1, load).iter().zip(limit).all(|(own, most)| *own <= most)
        };
        match bins.iter_mut().find(fits) {
            Some(bin) => {
                bin.1 = sum(bin.1, load);
                bin.2.push(part);
            }
            None => bins.push((storage, load, vec![part])),
        }
    }
    let below = bins.iter().map(|bin| assemble(plan, parts, vertices, edges, &bin.2, piece)).collect();
    piece(plan, members, below)
}
