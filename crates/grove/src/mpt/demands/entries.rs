//! Lies about entries of transactions, receipts and withdrawals, each made for one line.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::ethereum::{Claim, Tag, rlp};
use evergrove_verifier::poseidon;
use evergrove_verifier::tables::WORD;

use super::super::claims::ENTRIES;
use super::super::entries::BEGIN;
use super::super::gadgets::{ONE, ZERO};
use super::super::node::tests::{branch_of, hash, leaf};
use super::super::witness::{halves, padded};
use super::super::{ADDRESS, Size, Trie, Witness};
use super::pieces::subject;
use super::state::{first_root, piece};
use super::{Lie, Report, Streamed, Subject, integer};

const NONE: Size = Size::NONE;

pub(super) fn each(report: &mut Report) {
    index(report);
    tag(report);
    one_step(report);
    two_steps(report);
    last_step(report);
    one_byte(report);
    no_byte(report);
}

/// The piece of an absent entry below an empty child of the root: 0 for the entry 1, 8 for the entry 0. These children
/// of the root are hashes.
fn absent(index: u64, hashes: &[u64]) -> Witness {
    let node = branch_of(|i| if hashes.contains(&(i as u64)) { hash(i) } else { vec![0x80] });
    piece((Trie::Entries(Tag::Receipts), &[]), &[Claim::AbsentEntry { trie: Tag::Receipts, index }], &[], &[node])
}

/// The piece of an entry that has the only leaf.
fn present(value: &[u8]) -> Witness {
    let claim = Claim::Entry { trie: Tag::Receipts, index: 0, value: value.to_vec() };
    piece((Trie::Entries(Tag::Receipts), &[]), &[claim], &[], &[leaf(&[8, 0], value)])
}

/// Indices with the key of another index.
fn index(report: &mut Report) {
    // The children below which the other indices are.
    let [zero, one] = &[(0, [0, 1, 5]), (1, [1, 5, 8])]
        .map(|(index, hashes)| (index, subject(report, &absent(index, &hashes), NONE).0));
    let entries = |text: &str| format!("entries.rs: {text}");
    // Forms: none, a byte below 80, a byte from 80 on, two bytes.
    let text = entries("Bit: let forms = hints.map(|hint| self.b.bit_of(&[index], hint));");
    other_index(one, 256, &[0, 1, -1, 1], &[]).refused_by(report, &text);
    other_index(one, 0x50, &[0; 4], &[]).refused_by(report, &entries("Equation: self.b.equal(all, expected);"));
    other_index(one, 0x50, &[], &[0, 1]).refused_by(report, &entries("Equation: self.b.equal(sum, index);"));
    other_index(zero, 5, &[1, 0, 0, 0], &[]).refused_by(report, &entries("Equation: self.vanishes(none, index);"));
    let text = entries("Equation: self.vanishes(not_two, high);");
    other_index(one, 257, &[0, 1, 0, 0], &[]).refused_by(report, &text);
    // These two keys begin like the key of 0, below whose first nibble is nothing.
    let below = other_index(zero, 0x85, &[0, 1, 0, 0], &[]).true_of_data();
    below.refused_by(report, &entries("LookUp: self.byte(below, yes);"));
    let low = other_index(zero, 257, &[0, 0, 1, 0], &[0, 257]).true_of_data();
    low.refused_by(report, &entries("LookUp: self.byte(low, yes);"));
}

/// The claim about an absent entry, with another index, the forms of its key and the halves of the index.
fn other_index<'a>((index, subject): &'a (u64, Subject), other: u64, forms: &[i64], halves: &[i64]) -> Lie<'a> {
    let [old, new] = [*index, other].map(|index| Claim::AbsentEntry { trie: Tag::Receipts, index }.elements().1);
    // The elements of an edge resemble those of an entry, so the entry's are at the last place.
    let at = *Lie::new(subject).find(&old).last().unwrap();
    let high = subject.row("entries.rs: LookUp: self.byte(high, yes);") - 4;
    let lie = Lie::new(subject).set(at, &new).choose_all(high, halves);
    lie.choose_all(subject.row("entries.rs: Bit: let forms = "), forms)
}

/// An absent entry of a trie that does not exist, below the trie of accounts.
fn tag(report: &mut Report) {
    let (subject, size) = subject(report, &absent(0, &[1, 5]), NONE);
    let entries = Goldilocks::new(ENTRIES);
    let old = Claim::AbsentEntry { trie: Tag::Receipts, index: 0 }.elements().1;
    let at = *Lie::new(&subject).find(&old).last().unwrap();
    let flags = subject.row("entries.rs: Bit: let [above, more] = ");
    let lie = Lie::new(&subject).replace(&[entries + Goldilocks::new(Tag::Receipts as u64)], &[ZERO]);
    let lie = lie.set(first_root(size) + ADDRESS, &[ZERO]).set(at, &[-entries]);
    let lie = lie.choose(flags, -entries - Goldilocks::new(2)).choose(flags + 1, ZERO);
    lie.refused_by(report, "entries.rs: Bit: let [above, more] = ");
}

/// The words of a value's bytes.
fn words(value: &[u8]) -> Vec<Goldilocks> {
    let mut words: Vec<Goldilocks> = halves(value).collect();
    words.resize(words.len().next_multiple_of(WORD), ZERO);
    words
}

/// The first word of the steps of an entry with index 0.
fn head(length: u64) -> [Goldilocks; WORD] {
    [Tag::Receipts as u64, 0, 0, length].map(Goldilocks::new)
}

/// A value of twelve bytes, in one step.
fn one_step(report: &mut Report) {
    let value: [u8; 12] = core::array::from_fn(|i| 0x90 + i as u8);
    let (subject, _) = subject(report, &present(&value), NONE);
    let old = words(&value);
    let whole = subject.row("entries.rs: Bit: let whole = ") + 6;
    let part = subject.row("entries.rs: Bit: let part = ");
    // The last four bytes are left out, or are their first one four times.
    let [mut short, mut wrong] = [(); 2].map(|()| old.clone());
    short[2] = ZERO;
    wrong[2] = Goldilocks::new(4 * u64::from(value[8]));
    let lie = |new: &[Goldilocks]| Lie::new(&subject).replace(&old, new).choose(whole, ZERO);
    lie(&short).refused_by(report, "entries.rs: Equation: self.same(bit, count, bytes);");
    lie(&wrong).choose(part, integer(4)).refused_by(report, "entries.rs: Bit: let part = ");
    // Another index in the first word of the steps.
    let mut other = head(12);
    other[1] = ONE;
    let text = "entries.rs: Equation: self.same_words(present, &[head], &[tag, index, zero, length]);";
    Lie::new(&subject).replace(&head(12), &other).refused_by(report, text);
    // Another digest.
    let digest = Claim::Entry { trie: Tag::Receipts, index: 0, value: value.to_vec() }.leaf_digest().0;
    let at = *Lie::new(&subject).find(&digest).last().unwrap();
    let text = "entries.rs: LookUp: self.b.look_up(digests, start, address, digest, present);";
    Lie::new(&subject).set(at, &[digest[0] + ONE]).refused_by(report, text);
    // The header of the string taken for a value of one byte.
    let [begin, address] =
        [subject.row("entries.rs: Bit: let last = self.b.bit();") + 1, subject.row("entries.rs: Bit: let only = ") - 2];
    let single = subject.rows("entries.rs: Bit: let single = ")[0];
    let mut lie = Lie::new(&subject).replace(&old, &words(&[0x8c])).replace(&head(12), &head(1)).choose(single, ONE);
    for row in [begin, address] {
        lie = lie.choose(row, subject.count(&subject.sound, row) - ONE);
    }
    lie.refused_by(report, "entries.rs: Equation: self.same(single, size, one);");
}

/// A value of sixteen bytes with a second step, of zeros.
fn two_steps(report: &mut Report) {
    let value: [u8; 16] = core::array::from_fn(|i| 0x90 + i as u8);
    let (subject, _) = subject(report, &present(&value), Size { steps: 1, ..NONE });
    let last = subject.rows("entries.rs: Bit: let last = self.b.bit();");
    let first = subject.row("entries.rs: Bit: let first = self.b.bit();");
    let address = subject.row("entries.rs: Bit: let only = ") - 2;
    let half: [Goldilocks; WORD] = words(&value).try_into().unwrap();
    let state = poseidon::digest(poseidon::join([head(16), half], BEGIN));
    let digest = poseidon::digest(poseidon::join([[ZERO; WORD]; 2], state));
    // The second step: its state and a free word, then its words. The entry: first word, digest, last words.
    let (step, entry) = (subject.place(first) + 1, subject.place(address) + 2);
    let lie = Lie::new(&subject).choose(last[0], ZERO).choose(last[1], ONE).choose(first, ZERO);
    let lie = lie.set(step, &state).set(step + 2 * WORD, &[ZERO; 2 * WORD]);
    let lie = lie.set(entry + WORD, &digest).set(entry + 2 * WORD, &[ZERO; 2 * WORD]);
    let lie = lie.choose(address, subject.count(&subject.sound, address) + Goldilocks::new(32));
    lie.refused_by(report, "entries.rs: Equation: self.implies(bit, some);");
}

/// A value of 70 bytes, whose last step is not its first one.
fn last_step(report: &mut Report) {
    let value: [u8; 70] = core::array::from_fn(|i| 0x90 + i as u8);
    let (subject, _) = subject(report, &present(&value), NONE);
    // Two steps have the first 48 bytes.
    let old = words(&value[48..64]);
    let mut new = old.clone();
    new[0] += ONE;
    let at = Lie::new(&subject).find(&old)[0];
    let text = "entries.rs: LookUp: self.b.look_up(tails[0], start, address, left, alone);";
    Lie::new(&subject).set(at, &new).refused_by(report, text);
    let only = subject.row("entries.rs: Bit: let only = ");
    let text = "entries.rs: Equation: self.vanishes(only, difference);";
    Lie::new(&subject).replace(&old, &new).choose(only, ONE).refused_by(report, text);
}

/// A value of one byte with a header.
fn one_byte(report: &mut Report) {
    let (subject, _) = subject(report, &present(&[0x90]), NONE);
    let text = "entries.rs: LookUp: self.byte(above, bit);";
    let item = rlp::list(&[0x82, 0x20, 0x80, 0x81, 5]);
    let lie = || Lie::new(&subject).replace(&words(&[0x90]), &words(&[5])).bytes(0, &padded(&item));
    lie().refused_by(report, text);
    let alone = subject.row("entries.rs: Bit: let alone = ");
    lie().choose(alone, ZERO).refused_by(report, text);
}

/// A value of one byte below 80, taken for the header of a value without bytes. The item behind it is an empty child.
fn no_byte(report: &mut Report) {
    let root = branch_of(|i| match i {
        1 => hash(1),
        8 => leaf(&[0], &[5]),
        _ => vec![0x80],
    });
    let claim = Claim::Entry { trie: Tag::Receipts, index: 0, value: vec![5] };
    let witness = piece((Trie::Entries(Tag::Receipts), &[]), &[claim], &[], &[root]);
    let (subject, _) = subject(report, &witness, NONE);
    let text = "entries.rs: Bit: let alone = ";
    let single = subject.rows("entries.rs: Bit: let single = ")[0];
    let lie = Lie::new(&subject).replace(&words(&[5]), &[ZERO; WORD]).replace(&head(1), &head(0));
    let mut lie = lie.choose(single, ZERO).choose(subject.row(text), integer(2));
    let begin = subject.row("entries.rs: Bit: let last = self.b.bit();") + 1;
    for row in [begin, subject.row("entries.rs: Bit: let only = ") - 2] {
        lie = lie.choose(row, subject.count(&subject.sound, row) + ONE);
    }
    lie.refused_by(report, text);
}
