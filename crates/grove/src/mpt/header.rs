//! The header of a block as a message: the circuit's slot that replaces the edges at the roots of a block's tries by
//! edges that name the block's hash.

use evergrove_multilinear::circuit::Arithmetic;
use evergrove_multilinear::circuit::wires::{Base, Bool, Set, Word};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::keccak::RATE_BYTES;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::ethereum::{HEADER_FRAME, HEADER_MAX, Hash, Header, Tag};
use evergrove_verifier::tables::WORD;

use super::edges::Trie;
use super::gadgets::{Gadgets, Text, ZERO};
use super::list::{balanced, list_of};
use super::{ADDRESS, EDGE_ELEMENTS, EDGE_TAG, Edge, PieceError};
use crate::circuit::free;
use crate::translation::halves;

/// Blocks of the longest header.
pub(super) const HEADER_BLOCKS: usize = HEADER_MAX.div_ceil(RATE_BYTES);
/// The edge of a block has this number plus the tag as its trie. No trie has such a number.
const BLOCK: u64 = 8;
/// The addresses of the roots of state, transactions and receipts in a header. Fields of fixed length are before them.
const ROOTS_AT: [u64; 3] = [91, 124, 157];
/// The address of the first field behind those of fixed length, the difficulty.
const FIELDS_AT: u64 = 448;
/// The strings from the difficulty to the base fee: the withdrawals root is behind them.
const FIELDS: usize = 9;
/// The longest string without a separate length.
pub(super) const STRING_MAX: u64 = 55;

/// The edge of a block: true if the edge at the root of this tag with the same d is true, for the root in the header with
/// this hash.
fn block_edge(tag: Tag, hash: &Hash, digest: &Digest) -> Digest {
    let mut elements = [ZERO; EDGE_ELEMENTS];
    elements[ADDRESS] = Goldilocks::new(BLOCK + tag as u64);
    elements[3 * WORD..5 * WORD].copy_from_slice(halves(hash).as_flattened());
    elements[5 * WORD..].copy_from_slice(&digest.0);
    Edge::list_of(&elements)
}

/// The list of a block's edges with these d, as a proof about a block shows it, and the operands of its hashes.
pub(super) fn block_list(hash: &Hash, digests: &[(Tag, Digest)]) -> (Digest, Vec<[Digest; 2]>) {
    let edges: Vec<Digest> = digests.iter().map(|(tag, digest)| block_edge(*tag, hash, digest)).collect();
    let mut pairs = Vec::new();
    let list = balanced(&edges, &mut |left, right| {
        pairs.push([*left, *right]);
        list_of(left, right)
    });
    (list, pairs)
}

/// The contents of the slot.
#[derive(Clone, Debug)]
pub(super) struct HeaderSlot {
    pub(super) header: Header,
    /// The tags of the roots that have claims, each with d of these claims.
    pub(super) digests: Vec<(Tag, Digest)>,
}

impl HeaderSlot {
    /// The slot of a header above these edges.
    ///
    /// # Errors
    /// If the header has another root than an edge, or the slot cannot read the root of withdrawals.
    pub(super) fn new(header: &Header, edges: &[Edge]) -> Result<Self, PieceError> {
        let mut digests = Vec::new();
        for tag in Tag::ALL {
            let Some(edge) = edges.iter().find(|edge| edge.trie == Trie::of(tag)) else { continue };
            if header.roots.get(tag) != Some(&edge.hash) {
                return Err(PieceError::Header(tag));
            }
            if tag == Tag::Withdrawals && !fields_are_short(&header.bytes) {
                return Err(PieceError::LongField);
            }
            digests.push((tag, edge.digest));
        }
        Ok(Self { header: header.clone(), digests })
    }
    /// The list that a piece with this header shows, and the operands of its hashes.
    pub(super) fn list(&self) -> (Digest, Vec<[Digest; 2]>) {
        block_list(&self.header.hash, &self.digests)
    }
}

/// True if the strings before the root of withdrawals have at most [`STRING_MAX`] bytes.
fn fields_are_short(header: &[u8]) -> bool {
    let mut at = FIELDS_AT as usize;
    (0..FIELDS).all(|_| {
        let first = header.get(at).copied().unwrap_or_default();
        at += 1 + usize::from(first.saturating_sub(0x80));
        u64::from(first) <= 0x80 + STRING_MAX
    })
}

impl<K: Extension> Gadgets<'_, K> {
    /// The digest of an edge at a place without nibbles.
    fn edge_of(&mut self, trie: u64, hash: [Word; 2], d: Word) -> Word {
        const { assert!(ADDRESS == WORD + 1 && EDGE_ELEMENTS == 6 * WORD) };
        let [none, place] = [0, trie].map(|trie| self.b.word([ZERO, Goldilocks::new(trie), ZERO, ZERO]));
        let tag = self.b.tag(Goldilocks::new(u32::from_be_bytes(*EDGE_TAG).into()));
        let chain = self.b.hash(tag, [none, place]);
        let chain = self.b.hash(chain, [none, hash[0]]);
        self.b.hash(chain, [hash[1], d]).digest()
    }

    /// The one slot for the header of a block, used or not. It takes the edge at each root that has claims, and gives the
    /// block's edge with the same d.
    pub(super) fn block(&mut self, edges: Set) {
        let active = self.b.bit();
        let [hash, [first, second], [third, fourth]] = [(); 3].map(|()| free(self.b));
        let message = self.message_of(hash, active);
        let start = message.start;
        let [content, length] = self.list(start, active);
        for (at, expected) in HEADER_FRAME {
            let at = self.plus(start, at as u64);
            let byte = self.byte_at(at, active);
            let expected = self.constant(expected.into());
            self.same(active, byte, expected);
        }
        let end = self.b.add(content, length);
        self.ends(message, end, active);

        for (i, (tag, d)) in Tag::ALL.into_iter().zip([first, second, third, fourth]).enumerate() {
            let claimed = self.b.bit();
            self.implies(claimed, active);
            let at = match ROOTS_AT.get(i) {
                Some(&at) => self.plus(start, at),
                None => self.withdrawals(start, end, claimed),
            };
            let root = self.windows(at, claimed);
            let trie = Trie::<()>::of(tag).number();
            let of_root = self.edge_of(trie.into(), root, d);
            self.b.take(edges, of_root, Some(claimed));
            let of_block = self.edge_of(BLOCK + tag as u64, hash, d);
            self.b.give(edges, of_block, Some(claimed));
        }
    }

    /// Demands, where the bit is 1, that a string with this first byte have at most [`STRING_MAX`] bytes, and that a byte
    /// without a header be below 0x80.
    pub(super) fn short(&mut self, first: Base, text: &Text, bit: Bool) {
        let &Text { single, longer, bytes, .. } = text;
        let [single, longer] = [single, longer].map(|form| self.b.and(form, bit));
        let below = self.plus(first, 0x80);
        self.byte(below, single);
        let most = self.constant(STRING_MAX);
        let room = self.b.sub(most, bytes);
        self.byte(bytes, longer);
        self.byte(room, longer);
    }

    /// The address of the root of withdrawals in a header. Demands, where the bit is 1, that the fields before it be
    /// strings of at most 55 bytes, and that it be whole before the end.
    fn withdrawals(&mut self, start: Base, end: Base, bit: Bool) -> Base {
        let mut at = self.plus(start, FIELDS_AT);
        for _ in 0..FIELDS {
            let first = self.byte_at(at, bit);
            let text = self.string(first, bit);
            at = self.b.add(at, text.bytes);
            at = self.b.add(at, text.longer.into());
            self.short(first, &text, bit);
        }
        let first = self.byte_at(at, bit);
        let expected = self.constant(0xa0);
        self.same(bit, first, expected);
        let root = self.plus(at, 1);
        let behind = self.plus(root, 32);
        let rest = self.b.sub(end, behind);
        let rest = self.b.mul(bit.into(), rest);
        self.bytes_of(rest);
        root
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use evergrove_multilinear::circuit::{Builder, Circuit};
    use evergrove_primitives::field::Quadratic;
    use evergrove_verifier::tables::{Table, Tables, bits, query};

    use super::super::gadgets::ONE;
    use super::super::{modes, witness};
    use super::*;

    /// Bytes of the message: its list ends here.
    const END: u64 = 540;

    /// Demands that the root of withdrawals be at this address of a message from address 0 on. Returns the number of the
    /// first row of the strings.
    fn circuit(address: u64) -> (Circuit<Quadratic>, u32) {
        let modes = modes();
        let tables =
            Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros));
        let mut b = Builder::new(tables);
        let mut g = Gadgets::new(&mut b);
        g.messages(HEADER_BLOCKS);
        let (start, yes) = (g.zero, g.yes);
        let [end, expected] = [END, address].map(|x| g.constant(x));
        let first = g.b.rows(Table::Tuple) as u32;
        let found = g.withdrawals(start, end, yes);
        g.b.equal(found, expected);
        (b.finish(), first)
    }

    /// The least number of faults if the prover chooses the form of the first string and the number of its bytes.
    fn least_faults(fields: &[u8], at: usize, address: u64, (single, bytes): (Goldilocks, Goldilocks)) -> usize {
        let mut stream = vec![0; HEADER_BLOCKS * RATE_BYTES + 16];
        stream[at..at + fields.len()].copy_from_slice(fields);
        let mut free: Vec<Goldilocks> = witness::halves(&stream).collect();
        free.extend([ONE; HEADER_BLOCKS - 1]);
        let (circuit, first) = circuit(address);
        let lies = (first..first + 12).map(|row| HashMap::from([(row, single), (row + 1, bytes)]));
        let faults = |chosen: HashMap<_, _>| circuit.witness_with(&free, &chosen).unwrap().faults(&circuit).len();
        lies.map(faults).min().unwrap()
    }

    /// Strings that end at another root than that of the header: only the bounds of one string's form or length refuse
    /// them.
    #[test]
    fn strings_have_the_lengths_that_their_bytes_say() {
        let root = [&[0xa0][..], &[7; 32]].concat();
        // True: nine bytes, each a string.
        let fields = [&[1; 9][..], &root].concat();
        assert_eq!(least_faults(&fields, 448, 458, (ONE, ONE)), 0);
        // A byte below 0x80 as the header of a string of minus 127 bytes: the way continues in the filter.
        let fields = [&[0; 8][..], &root, &[0; 448 - 322 - 41], &[1; 9], &root].concat();
        assert!((1..4).contains(&least_faults(&fields, 322, 331, (ZERO, Goldilocks::new(1) - Goldilocks::new(128)))));
        // The header of a string as a string of its own.
        let fields = [&[0x83, 1, 2, 3, 4, 5, 6, 7, 8][..], &root].concat();
        assert!((1..4).contains(&least_faults(&fields, 448, 458, (ONE, ONE))));
        // A string of 56 bytes.
        let fields = [&[0xb8][..], &[1; 56 + 8], &root].concat();
        assert!((1..4).contains(&least_faults(&fields, 448, 514, (ZERO, Goldilocks::new(56)))));
    }
}
