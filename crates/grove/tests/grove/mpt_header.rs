//! Proofs about a block's hash: the header as a message of a piece.

use std::sync::LazyLock;

use evergrove_grove::mpt::{
    Batch, Block, Known, PieceError, Plan, Size, StateProof, StateProofError, Statement, Witness,
};
use evergrove_primitives::Digest;
use evergrove_primitives::field::Goldilocks;
use evergrove_primitives::hash::keccak::{self, keccak_256};
use evergrove_primitives::hash::poseidon::compress;
use evergrove_verifier::ethereum::{Claim, HEADER_FRAME, Hash, Header, Roots, Tag, canonical_digest, rlp};

use crate::common::{Judge, random};
use crate::mpt::{KEY, WORLD, circuit};
use crate::mpt_entries::{List, larger, values};
use crate::mpt_entries_attacks::{chain, halves, holds, padded};

const ONE: Goldilocks = Goldilocks::ONE;
/// Offsets in the free data of the slot: the bit, the hash, d of each root, the message, the bits of the roots.
const HASH: usize = 1;
const DIGESTS: usize = 9;
const MESSAGE: usize = 25;
const BITS: usize = 27;
const SLOT: usize = 31;

static LISTS: LazyLock<[List; 3]> = LazyLock::new(|| {
    let of = |tag: Tag| List::new(tag, values((0..6).map(|i| 33 + i + 3 * tag as usize)));
    [Tag::Transactions, Tag::Receipts, Tag::Withdrawals].map(of)
});

fn nodes(hash: &Hash) -> Option<&'static [u8]> {
    let known = LISTS.iter().map(|list| &list.nodes).chain([&WORLD.nodes]);
    known.into_iter().find_map(|nodes| nodes.get(hash)).map(Vec::as_slice)
}

/// One claim about each of these tries.
fn claims(tags: &[Tag]) -> Vec<Claim> {
    let list = |tag: Tag| LISTS.iter().find(|list| list.tag == tag);
    tags.iter().map(|&tag| list(tag).map_or_else(|| WORLD.account(2), |list| list.claim(3))).collect()
}

/// The fields of a header behind the bloom filter.
struct Fields {
    numbers: [Vec<u8>; 5],
    extra: Vec<u8>,
    /// The base fee, the root of withdrawals, and fields of later forks.
    later: Vec<Vec<u8>>,
}

impl Fields {
    /// The fields of a block since Shanghai.
    fn new() -> Self {
        let numbers = [vec![], vec![1, 2, 3], vec![4, 5, 6, 7], vec![9], vec![0x66, 1, 2, 3]];
        Self { numbers, extra: b"some client".to_vec(), later: vec![vec![0x81, 7], LISTS[2].root.to_vec()] }
    }
    /// Adds fields of later forks until the header has this length.
    fn fill(&mut self, length: usize) {
        while self.header().len() < length {
            // A string of 2 to 55 bytes takes one byte more, a longer one two.
            self.later.push(match length - self.header().len() {
                1 => vec![9],
                rest @ 2..=56 => vec![9; rest - 1],
                57 => vec![9; 20],
                rest => vec![9; rest.min(200) - 2],
            });
        }
    }
    fn header(&self) -> Vec<u8> {
        let mut items = Vec::new();
        let mut put = |bytes: &[u8]| rlp::write_string(&mut items, bytes);
        put(&[1; 32]);
        put(&[2; 32]);
        put(&[3; 20]);
        [WORLD.root, LISTS[0].root, LISTS[1].root].iter().for_each(|root| put(root));
        put(&[5; 256]);
        self.numbers.iter().for_each(|number| put(number));
        put(&self.extra);
        put(&[6; 32]);
        put(&[0; 8]);
        self.later.iter().for_each(|field| put(field));
        rlp::list(&items)
    }
}

fn roots(header: &Header, tags: &[Tag]) -> Roots {
    Roots::new(tags.iter().map(|&tag| (tag, *header.roots.get(tag).expect("a root"))).collect()).unwrap()
}

fn witness(header: &Header, tags: &[Tag]) -> Witness {
    let roots = roots(header, tags);
    Witness::new(Block { roots: &roots, header: Some(header) }, &nodes, &claims(tags)).unwrap()
}

fn list(left: Digest, right: Digest) -> Digest {
    compress(&left, &right, Goldilocks::new(0x4c49_5354))
}

/// The list that a proof about a block shows, from its definition.
fn shown(hash: &Hash, digests: &[(Tag, Digest)]) -> Digest {
    let edge = |(tag, digest): &(Tag, Digest)| {
        let mut elements = vec![Goldilocks::ZERO; 12];
        elements[5] = Goldilocks::new(8 + *tag as u64);
        elements.extend(halves(hash));
        elements.extend(digest.0);
        Digest(chain(*b"ETHD", &elements))
    };
    match digests.iter().map(edge).collect::<Vec<_>>()[..] {
        [one] => one,
        [a, b] => list(a, b),
        [a, b, c] => list(list(a, b), c),
        [a, b, c, d] => list(list(a, b), list(c, d)),
        _ => unreachable!(),
    }
}

/// d of the claims about each of these tries.
fn digests(tags: &[Tag]) -> Vec<(Tag, Digest)> {
    tags.iter().map(|&tag| (tag, canonical_digest(&claims(&[tag])).unwrap())).collect()
}

/// Every subset of the tries, in one circuit.
fn subsets() -> Vec<Vec<Tag>> {
    (1..16)
        .map(|set| Tag::ALL.into_iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, t)| t).collect())
        .collect()
}

static CIRCUIT: LazyLock<(Size, Judge)> = LazyLock::new(|| {
    let header = Header::parse(&Fields::new().header()).unwrap();
    let witness = witness(&header, &Tag::ALL);
    let size = larger(witness.size(), 0);
    (size, Judge::new(circuit(size), &witness.data(size, KEY).unwrap()))
});

#[test]
fn headers_of_every_form_hold() {
    let (size, judge) = &*CIRCUIT;
    assert!(size.header);
    let mut next = random(3);
    let mut lengths = [0; 136];
    for case in 0..24 {
        let mut bytes = |most: u64| -> Vec<u8> { (0..next(most + 1)).map(|i| (i * 5 + 1) as u8).collect() };
        let numbers = [bytes(32), bytes(8), bytes(8), bytes(8), bytes(8)];
        let later = vec![vec![], bytes(8), bytes(8), bytes(32), bytes(32)];
        let mut fields = Fields { numbers, extra: bytes(32), later };
        fields.numbers[0] = [fields.numbers[0].clone(), vec![], vec![0x7f], vec![0x80]][case % 4].clone();
        fields.later[0] = [vec![7], bytes(31), vec![]][case % 3].clone();
        fields.later[1] = LISTS[2].root.to_vec();
        // Lengths around whole blocks, and the longest header.
        let length = fields.header().len();
        if case % 2 == 0 {
            let rest = [135, 136, 137][case / 2 % 3];
            fields.fill(if case == 0 { 1087 } else { length + (rest + 136 - length % 136) % 136 });
        }
        let header = Header::parse(&fields.header()).unwrap();
        lengths[header.bytes.len() % 136] += 1;
        let subsets = subsets();
        let tags = &subsets[next(15) as usize];
        let witness = witness(&header, tags);
        assert_eq!(witness.lists(), [shown(&header.hash, &digests(tags)), Digest::ZERO]);
        let free = witness.data(*size, KEY).unwrap();
        assert_eq!(judge.faults(&free).len(), 0, "case {case}: {tags:?} {header:?}");
    }
    assert!([135, 0, 1].iter().all(|&rest| lengths[rest] > 0), "{lengths:?}");
}

/// Blocks of before Shanghai have no root of withdrawals, and those of before London no base fee.
#[test]
fn headers_of_older_forks_hold() {
    let (size, judge) = &*CIRCUIT;
    for fields in [0, 1] {
        let later = Fields::new().later[..fields].to_vec();
        let header = Header::parse(&Fields { later, ..Fields::new() }.header()).unwrap();
        assert!(judge.holds(&witness(&header, &Tag::ALL[..3]).data(*size, KEY).unwrap()));
    }
    // A piece that shows its roots, in a circuit with room for a header.
    let roots = Roots::of_state(WORLD.root);
    let plain = Witness::new(&roots, &nodes, &claims(&[Tag::State])).unwrap();
    assert!(judge.holds(&plain.data(*size, KEY).unwrap()));
}

/// The digest after these blocks, whatever padding they end with.
fn sponge(blocks: &[u8]) -> Hash {
    let mut state = [0; 25];
    for block in blocks.chunks(136) {
        for (word, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
            *word ^= u64::from_le_bytes(*bytes);
        }
        keccak::permute(&mut state);
    }
    let digest: Vec<u8> = state[..4].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    digest.try_into().unwrap()
}

/// Free data about a block. A lie may change all of the data.
#[derive(Clone)]
struct Lie {
    free: Vec<Goldilocks>,
    header: Vec<u8>,
    digests: Vec<(Tag, Digest)>,
}

impl Lie {
    fn new(header: Vec<u8>, tags: &[Tag]) -> Self {
        let witness = witness(&Header::parse(&header).unwrap(), tags);
        let free = witness.data(CIRCUIT.0, KEY).unwrap();
        let this = Self { free, header, digests: digests(tags) };
        assert_eq!(this.free[Self::slot() + HASH..][..8], halves(&keccak_256(&this.header)));
        assert_eq!(this.free[Self::slot() + MESSAGE], Goldilocks::new(136 * CIRCUIT.0.blocks as u64));
        this
    }
    /// The offset of the slot, behind the stream and the slots of roots.
    fn slot() -> usize {
        let Size { blocks, roots, .. } = CIRCUIT.0;
        let all = blocks + 8;
        16 + 4 * ((all * 136).div_ceil(16) + 1) + all - 1 + 27 * roots - 1
    }
    fn put(&mut self, at: usize, elements: &[Goldilocks]) {
        self.free[at..at + elements.len()].copy_from_slice(elements);
    }
    /// Replaces the message, with everything that follows from its hash. `behind` are bytes behind the message.
    fn message(&mut self, message: &[u8], behind: &[u8]) {
        let hash = sponge(message);
        let from = CIRCUIT.0.blocks;
        let mut stream = message.to_vec();
        stream.extend(behind);
        stream.resize(8 * 136, 0);
        self.put(16 + 34 * from, &halves(&stream));
        let bits = 16 + 4 * (((from + 8) * 136).div_ceil(16) + 1) + from - 1;
        let blocks = message.len() / 136;
        for block in 0..8 {
            self.free[bits + block] = Goldilocks::new((block > 0 && block < blocks).into());
        }
        self.put(Self::slot() + HASH, &halves(&hash));
        self.free[Self::slot() + MESSAGE + 1] = Goldilocks::new((from + blocks) as u64);
        self.seal(&hash);
    }
    /// Updates the list that is shown, and the operands of its hashes, which are the last free data.
    fn seal(&mut self, hash: &Hash) {
        let whole = shown(hash, &self.digests);
        self.put(0, &whole.0);
        let edges: Vec<Digest> = self.digests.iter().map(|own| shown(hash, &[*own])).collect();
        let operands: Vec<[Digest; 2]> = match edges[..] {
            [_] => vec![],
            [a, b] => vec![[a, b]],
            [a, b, c] => vec![[a, b], [list(a, b), c]],
            [a, b, c, d] => vec![[a, b], [c, d], [list(a, b), list(c, d)]],
            _ => unreachable!(),
        };
        let most = CIRCUIT.0.roots - 1;
        let pairs = self.free.len() - 9 * most;
        for i in 0..most {
            let pair = operands.get(i).copied().unwrap_or([Digest::ZERO; 2]);
            self.put(pairs + 9 * i, &pair.map(|digest| digest.0).concat());
            self.free[pairs + 9 * i + 8] = Goldilocks::new((i < operands.len()).into());
        }
    }
    fn holds(&self) -> bool {
        CIRCUIT.1.holds(&self.free)
    }
}

#[test]
fn what_is_not_a_header_is_refused() {
    let honest = Fields::new().header();
    let lie = Lie::new(honest.clone(), &Tag::ALL);
    let with = |header: &[u8]| {
        let mut lie = lie.clone();
        lie.message(&padded(header.to_vec()), &[]);
        lie.holds()
    };
    assert!(with(&honest));
    let changed = |at: usize, byte: u8| {
        let mut header = honest.clone();
        header[at] = byte;
        header
    };
    // The miner, the filter, a number and the extra data are not looked at, the frame and the roots are.
    for at in [75, 300, 452, honest.len() - 50] {
        assert!(with(&changed(at, honest[at] ^ 1)), "byte {at}");
    }
    for (at, byte) in HEADER_FRAME {
        assert!(!with(&changed(at, byte ^ 1)), "byte {at}");
    }
    for root in [91, 124, 157, honest.len() - 32] {
        assert!(!with(&changed(root, honest[root] ^ 1)) && !with(&changed(root + 31, honest[root + 31] ^ 1)));
    }
    // Lengths, and bytes behind the end.
    for (at, byte) in [(1, honest[1] + 1), (2, honest[2] ^ 1), (1, 0), (2, honest[2] + 1)] {
        assert!(!with(&changed(at, byte)), "byte {at}");
    }
    assert!(!with(&[&honest[..], &[0]].concat()));
    let mut short = honest[..honest.len() - 1].to_vec();
    short[2] -= 1;
    assert!(!with(&honest[..honest.len() - 1]) && !with(&short));
    // Padding of another kind.
    for at in [honest.len(), honest.len() + 1, padded(honest.clone()).len() - 1] {
        let mut message = padded(honest.clone());
        message[at] ^= 2;
        let mut lie = lie.clone();
        lie.message(&message, &[]);
        assert!(!lie.holds(), "byte {at}");
    }
}

/// The root of withdrawals is behind fields of variable length, which must have their lengths, and within the header.
#[test]
fn withdrawals_are_those_of_the_header() {
    let honest = Fields::new();
    let lie = Lie::new(honest.header(), &[Tag::Withdrawals]);
    assert!(lie.holds());
    let root = LISTS[2].root;
    let with = |fields: &Fields, behind: &[u8]| {
        let (mut lie, header) = (lie.clone(), fields.header());
        lie.message(&padded(header.clone()), behind);
        (lie.holds(), header.len() % 136)
    };
    assert!(with(&honest, &[]).0 && with(&honest, &[7; 100]).0);
    // The root is one field earlier or later, or in the extra data.
    for later in [vec![root.to_vec()], vec![vec![7], vec![8], root.to_vec()], vec![root.to_vec(), [4; 32].to_vec()]] {
        assert!(!with(&Fields { later, ..Fields::new() }, &[]).0);
    }
    let mut inside = b"\0\x88\0\0\0\0\0\0\0\0\x07\xa0".to_vec();
    inside.extend(root);
    assert!(!with(&Fields { extra: inside, later: vec![vec![7], vec![8; 32]], ..Fields::new() }, &[]).0);
    // A string of 56 bytes has its length in a byte of its own.
    assert!(!with(&Fields { extra: vec![9; 56], ..Fields::new() }, &[]).0);
    let header = Header::parse(&Fields { extra: vec![9; 56], ..Fields::new() }.header()).unwrap();
    let block = Block { roots: &roots(&header, &[Tag::Withdrawals]), header: Some(&header) };
    assert_eq!(Witness::new(block, &nodes, &claims(&[Tag::Withdrawals])).unwrap_err(), PieceError::LongField);
    let block = Block { roots: &roots(&header, &[Tag::State]), header: Some(&header) };
    assert!(Witness::new(block, &nodes, &claims(&[Tag::State])).is_ok());
    // A header without the field: the next message begins as the field would. Padding of one byte is read as a string.
    for rest in [134, 135, 136] {
        for count in [0, 1] {
            let mut fields = Fields { later: honest.later[..count].to_vec(), ..Fields::new() };
            // The numbers and the extra data grow until the header has this length.
            let mut more = (rest + 136 - fields.header().len() % 136) % 136;
            for field in fields.numbers[1..].iter_mut().chain([&mut fields.extra]) {
                let own = more.min(40);
                field.resize(field.len() + own, 1);
                more -= own;
            }
            for before in 0..4 {
                let behind = [&vec![7; before][..], &[0xa0], &root].concat();
                assert_eq!(with(&fields, &behind), (false, rest % 136), "{count} {before}");
            }
        }
    }
}

#[test]
fn every_element_of_the_slot_counts() {
    let lie = Lie::new(Fields::new().header(), &Tag::ALL);
    let hash = keccak_256(&lie.header);
    for at in 0..SLOT {
        for change in [ONE, -ONE] {
            let mut lie = lie.clone();
            lie.free[Lie::slot() + at] += change;
            assert!(!lie.holds(), "element {at}");
        }
    }
    // A trie without an edge of the block, though its root has claims, and with one, though it has none.
    for i in 0..4 {
        let mut lie = lie.clone();
        lie.free[Lie::slot() + BITS + i] = Goldilocks::ZERO;
        lie.digests.remove(i);
        lie.seal(&hash);
        assert!(!lie.holds());
    }
    for i in 1..4 {
        let mut more = Lie::new(Fields::new().header(), &Tag::ALL[..1]);
        more.free[Lie::slot() + BITS + i] = ONE;
        more.digests = digests(&[Tag::State, Tag::ALL[i]]);
        let d = more.digests[1].1.0;
        more.put(Lie::slot() + DIGESTS + 4 * i, &d);
        more.seal(&hash);
        assert!(!more.holds());
    }
    // Another d of a trie, and d of two tries exchanged, with the list that follows.
    let mut other = lie.clone();
    other.digests[1].1.0[0] += ONE;
    let second = other.digests[1].1.0;
    other.put(Lie::slot() + DIGESTS + 4, &second);
    other.seal(&hash);
    assert!(!other.holds());
    let mut other = lie.clone();
    (other.digests[0].1, other.digests[1].1) = (lie.digests[1].1, lie.digests[0].1);
    let [first, second] = [0, 1].map(|i| other.digests[i].1.0);
    other.put(Lie::slot() + DIGESTS, &first);
    other.put(Lie::slot() + DIGESTS + 4, &second);
    other.seal(&hash);
    assert!(!other.holds());
    // A list of another block.
    let mut other = lie.clone();
    other.seal(&[7; 32]);
    assert!(!other.holds());
    // No header, but its edges.
    let mut other = lie.clone();
    other.free[Lie::slot()] = Goldilocks::ZERO;
    assert!(!other.holds());
}

/// Only the slot of a header gives edges of a block: a root that says to be one is refused.
#[test]
fn a_root_is_not_a_block() {
    let (size, judge) = &*CIRCUIT;
    let roots = Roots::of_state(WORLD.root);
    let plain = Witness::new(&roots, &nodes, &claims(&[Tag::State])).unwrap();
    let honest = plain.data(*size, KEY).unwrap();
    let root = Lie::slot() - (27 * size.roots - 1);
    assert_eq!(honest[root + 12..root + 20], halves(&WORLD.root));
    assert!(judge.holds(&honest));
    let hash = Header::parse(&Fields::new().header()).unwrap().hash;
    for trie in 0..16 {
        let mut free = honest.clone();
        free[root + 5] = Goldilocks::new(trie);
        free[root + 12..root + 20].copy_from_slice(&halves(if trie == 0 { &WORLD.root } else { &hash }));
        let edge = chain(*b"ETHD", &free[root..root + 24]);
        free[..4].copy_from_slice(&edge);
        assert_eq!(judge.holds(&free), trie == 0, "trie {trie}");
    }
}

#[test]
fn a_header_with_other_roots_is_refused() {
    let header = Header::parse(&Fields::new().header()).unwrap();
    let roots = Roots::new(vec![(Tag::Receipts, LISTS[0].root)]).unwrap();
    let block = Block { roots: &roots, header: Some(&header) };
    assert_eq!(Witness::new(block, &nodes, &[]).unwrap_err().to_string(), "a batch needs at least one claim");
    let Claim::Entry { value, index, .. } = LISTS[0].claim(3) else { unreachable!() };
    let claim = Claim::Entry { trie: Tag::Receipts, index, value };
    assert_eq!(Witness::new(block, &nodes, &[claim]).unwrap_err(), PieceError::Header(Tag::Receipts));
}

#[test]
fn a_proof_about_a_block_is_accepted_by_its_hash() {
    let header = Header::parse(&Fields::new().header()).unwrap();
    let tags = [Tag::State, Tag::Withdrawals];
    let proof = StateProof::new(&witness(&header, &tags)).unwrap();
    let digest = canonical_digest(&claims(&tags)).unwrap();
    assert_eq!((proof.digest(), StateProof::from_bytes(&proof.to_bytes())), (digest, Ok(proof.clone())));
    assert!(proof.verify(&header.hash, Some(digest)).unwrap().unique_decoding >= 100.0);
    assert!(proof.verify(&header, None).is_ok());
    let hash = Box::new(header.hash);
    assert_eq!(proof.verify(&roots(&header, &tags), None), Err(StateProofError::UnknownBlock(hash.clone())));
    assert_eq!(proof.verify(Known::default(), None), Err(StateProofError::UnknownBlock(hash.clone())));
    assert_eq!(proof.verify(&[7; 32], None), Err(StateProofError::Block(hash)));
    let other = canonical_digest(&claims(&tags[..1])).unwrap();
    assert!(matches!(proof.verify(&header, Some(other)), Err(StateProofError::Claims { .. })));
    // Another statement, with the same circuit or with that of roots.
    let Statement::Block { hash, digests } = &proof.statement else { unreachable!() };
    let said =
        |hash: Hash, digests: Vec<_>| StateProof { statement: Statement::Block { hash, digests }, ..proof.clone() };
    assert!(matches!(said([7; 32], digests.clone()).verify(&[7; 32], None), Err(StateProofError::Refused(_))));
    // d of the claims about the state and about withdrawals in one, or under other tags.
    let all = proof.digest();
    for tag in Tag::ALL {
        assert!(matches!(said(*hash, vec![(tag, all)]).verify(&header, None), Err(StateProofError::Refused(_))));
    }
    let renamed = vec![(Tag::State, digests[0].1), (Tag::Receipts, digests[1].1)];
    assert_eq!(said(*hash, renamed.clone()).digest(), all);
    assert!(matches!(said(*hash, renamed).verify(&header, None), Err(StateProofError::Refused(_))));
    let mut fewer = digests.clone();
    fewer.pop();
    assert!(matches!(said(*hash, fewer).verify(&header, None), Err(StateProofError::Refused(_))));
    assert!(matches!(said(*hash, Vec::new()).verify(&header, None), Err(StateProofError::Format(_))));
    let of_roots = digests.iter().map(|&(tag, digest)| (tag, *header.roots.get(tag).unwrap(), digest)).collect();
    let of_roots = StateProof { statement: Statement::Roots(of_roots), ..proof.clone() };
    assert!(matches!(of_roots.verify(&header, None), Err(StateProofError::Format(_))));
    let plain = StateProof { size: Size { header: false, ..proof.size }, ..of_roots };
    assert!(matches!(plain.verify(&header, None), Err(StateProofError::Refused(_))));
    assert_eq!(plain.verify(&header.hash, None), Err(StateProofError::Unknown(Tag::State)));
    let bytes = proof.to_bytes();
    for length in 0..120 {
        assert!(StateProof::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
}

/// Only the topmost piece has the header.
#[test]
fn pieces_below_the_top_show_roots() {
    let header = Header::parse(&Fields::new().header()).unwrap();
    let claims = WORLD.claims();
    let roots = Roots::of_state(WORLD.root);
    let whole = Witness::new(Block { roots: &roots, header: Some(&header) }, &nodes, &claims).unwrap();
    let size = Batch::size_for(&whole, 1_500_000, Some(1));
    assert!(size.header);
    let plan = Plan::new(&whole, &claims, size, Some(1)).unwrap();
    assert!(plan.pieces.len() > 2);
    let circuit = circuit(size);
    let of_block = shown(&header.hash, &[(Tag::State, canonical_digest(&claims).unwrap())]);
    let top = plan.pieces.len() - 1;
    for piece in 0..=top {
        let witness = plan.witness(piece, &nodes).unwrap();
        assert_eq!(witness.size().header, piece == top);
        assert_eq!(witness.lists()[0] == of_block, piece == top);
        assert!(holds(&circuit, &witness.data(size, KEY).unwrap()));
    }
}
