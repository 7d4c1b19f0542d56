//! Lies about headers of blocks, each made for one line of the slot for headers. The report has this slot's lines alone.

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_verifier::ethereum::{Claim, Header, Roots, Tag, rlp};

use super::super::gadgets::{ONE, ZERO};
use super::super::node::tests::branch_of;
use super::super::witness::halves;
use super::*;

/// The address of the first field behind those of fixed length, and the number of strings before the root of
/// withdrawals.
const FIELDS_AT: usize = 448;
const STRINGS: usize = 9;
/// The address of the extra data, the sixth string.
const EXTRA_AT: usize = FIELDS_AT + 17;

/// The only node of a trie of withdrawals without the entry 0. Its hash ends with a byte 1.
fn node() -> Vec<u8> {
    let node = |k: u8| {
        branch_of(|i| match i {
            1 | 5 => [&[0xa0, i as u8, k][..], &[7; 30]].concat(),
            _ => vec![0x80],
        })
    };
    (0..=255).map(node).find(|node| keccak_256(node)[31] == 1).expect("one of 256 hashes")
}

/// A header with this root of withdrawals. A way in the filter leads to it too, as from a difficulty of -127 bytes.
fn header(root: Hash, extra: &[u8], later: &[u8]) -> Header {
    let mut filter = [0; 256];
    filter[322 - 192..][..8].fill(1);
    filter[330 - 192] = 0xa0;
    filter[331 - 192..][..32].copy_from_slice(&root);
    let mut items = Vec::new();
    let mut put = |bytes: &[u8]| rlp::write_string(&mut items, bytes);
    [&[1; 32][..], &[2; 32], &[3; 20], &[4; 32], &[4; 32], &[5; 32], &filter].into_iter().for_each(&mut put);
    [&[][..], &[7], &[8; 4], &[9; 4], &[10; 4], extra, &[12; 32], &[13; 8], &[14]].into_iter().for_each(&mut put);
    put(&root);
    items.extend(later);
    Header::parse(&rlp::list(&items)).unwrap()
}

/// The circuit for a header, whose trie of withdrawals has no entry 0, and the address of the header's message.
fn subject(report: &mut Report, header: &Header) -> (Subject, usize) {
    let node = node();
    let roots = Roots::new(vec![(Tag::Withdrawals, keccak_256(&node))]).unwrap();
    let claim = Claim::AbsentEntry { trie: Tag::Withdrawals, index: 0 };
    let block = Block { roots: &roots, header: Some(header) };
    let witness = Witness::new(block, &|_| Some(&node[..]), &[claim]).unwrap();
    let size = witness.size();
    let subject = Subject::new(piece_of(size), witness.data(size, [ONE; WORD]).unwrap(), other_lists);
    report.of_file(&subject, "mpt/header.rs");
    (subject, size.blocks * RATE_BYTES)
}

/// Lies that are made one by one.
fn each(report: &mut Report) {
    let root = keccak_256(&node());
    let way = [&[1; 3][..], &[0xa0], &root].concat();
    let header = header(root, &way, &[9]);
    let (subject, start) = subject(report, &header);
    // The address of the item with the root of withdrawals. A last field of one byte is behind it.
    let item = start + header.bytes.len() - 1 - 33;
    let lie = |at: usize, bytes: &[u8]| Lie::new(&subject).bytes(at, bytes);
    lie(start + 90, &[0xa1]).refused_by(report, "header.rs: Equation: self.same(active, byte, expected);");
    lie(item, &[0xa1]).refused_by(report, "header.rs: Equation: self.same(bit, first, expected);");
    // The hash of no message, in the slot that is not used.
    let hash = Lie::new(&subject).find(&halves(&header.hash).collect::<Vec<_>>())[0];
    let unused = Lie::new(&subject).set(hash - 1, &[ZERO]).set(hash, &[ONE; 2 * WORD]);
    unused.refused_by(report, "header.rs: Equation: self.implies(claimed, active);");
    // The header has another root of withdrawals. The way to this one leads through the extra data, or the filter.
    let singles = subject.rows("gadgets.rs: Bit: let single = ");
    assert_eq!(singles.len(), STRINGS);
    let other = || lie(item + 1, &[9; 32]);
    other().choose_all(singles[5], &[1, 1]).refused_by(report, "header.rs: LookUp: self.byte(below, single);");
    other()
        .bytes(start + FIELDS_AT, &[1])
        .choose_all(singles[0], &[0, 1 - 128])
        .refused_by(report, "header.rs: LookUp: self.byte(bytes, longer);");
    // Extra data of 56 bytes without a separate length, behind which a way leads to the root.
    lie(start + EXTRA_AT, &[0xb8])
        .bytes(start + EXTRA_AT + 57, &way)
        .refused_by(report, "header.rs: LookUp: self.byte(room, longer);");
    short(report);
}

/// The last byte of the root is the first one of the padding: bytes of a negative number refuse this.
fn short(report: &mut Report) {
    let root = keccak_256(&node());
    let header = header(root, &[], &[]);
    let (subject, start) = subject(report, &header);
    let length = header.bytes.len();
    let shorter = (length - 4) as u16;
    Lie::new(&subject)
        .bytes(start + 1, &shorter.to_be_bytes())
        .bytes(start + length, &[0])
        .refused_by(report, "claims.rs: Equation: self.b.equal(sum, x);");
}

#[test]
fn the_line_of_each_lie_about_a_header_alone_refuses_it() {
    let mut report = Report::new(&[]);
    each(&mut report);
    insta::assert_snapshot!("header", report.text());
    report.check();
}
