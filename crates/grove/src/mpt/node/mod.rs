//! The circuit's slots for nodes: branches, and nodes with a path.

use evergrove_multilinear::circuit::wires::{Base, Bool, Element};
use evergrove_multilinear::circuit::{Arithmetic, Hint};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::gadgets::{Gadgets, NIBBLES, ONE, Place, Text, code, number};

/// Bytes of a hashed key.
const KEY_BYTES: u64 = NIBBLES / 2;

impl<K: Extension> Gadgets<'_, K> {
    /// One slot for a branch, used or not: 16 children, at least two of them not empty, and an empty value.
    pub(super) fn branch(&mut self, own: u64) {
        let own = self.constant(own);
        let active = self.b.bit();
        let (edge, place) = self.edge(active);
        let below = self.b.bit();
        let said = self.constant(code::BRANCH);
        let said = self.b.mul(below.into(), said);
        let child = self.spaces.child;
        self.b.look_up(child, edge[0], edge[1], Element::from(said).into(), active);
        let message = self.message(edge, active);
        let [content, length] = self.list(message.start, active);

        let (children, none) = (self.spaces.children, self.constant(code::NONE));
        let (mut at, mut there) = (content, self.zero);
        for nibble in 0..16 {
            let first = self.b.byte(at);
            let is_hash = self.b.bit_of(&[first], |x| number(x[0].as_u64() == 0xa0));
            let embedded = self.b.bit_of(&[first], |x| number((0xc0..0xf8).contains(&x[0].as_u64())));
            let size = self.b.any_of(&[first], |x| match x[0].as_u64() {
                0xa0 => Goldilocks::new(33),
                byte @ 0xc1..=0xde => Goldilocks::new(byte - 0xbf),
                _ => ONE,
            });
            // 1 for an empty child, 0 for a hash, 2 for an embedded node.
            let kind = self.b.sub(embedded.into(), is_hash.into());
            let kind = self.plus(kind, code::EMPTY);
            self.b.look_up(children, first, kind, Element::from(size).into(), active);
            let address = self.b.mul(embedded.into(), at);
            let said = self.b.scale_add(Goldilocks::new(4), address, kind);
            let said = self.b.select(active, said, none);
            let begin = self.plus(at, 1);
            let words = self.windows::<2>(begin, is_hash);
            let level = self.constant(nibble);
            self.b.offer(child, own, level, Element::from(said).into());
            for (half, word) in words.into_iter().enumerate() {
                let hash = self.spaces.hash[half];
                self.b.offer(hash, own, level, word);
            }
            // A child is a hash, or an embedded node, or empty.
            let full = self.b.add(is_hash.into(), embedded.into());
            self.b.boolean(full);
            there = self.b.add(there, full);
            at = self.b.mul_add(active.into(), size, at);
        }
        let two = self.b.constant(-Goldilocks::new(2));
        let more = self.b.add(there, two);
        let more = self.b.mul(active.into(), more);
        self.byte(more, active);
        let (value, empty) = (self.b.byte(at), self.constant(0x80));
        self.same(active, value, empty);
        let end = self.plus(at, 1);
        let expected = self.b.add(content, length);
        self.same(active, end, expected);
        self.ends(message, end, active);
        let offers = self.spaces.place;
        self.offer_place(offers, own, place);
    }

    /// The header of a value of at most 2^16 - 1 bytes that starts with the byte `first`. The caller demands that
    /// lengths have the shortest form.
    pub(super) fn header(&mut self, address: Base, first: Base, bit: Bool) -> Header {
        let hints: [Hint; 2] = [|x| number(x[0].as_u64() == 0xb8), |x| number(x[0].as_u64() == 0xb9)];
        let long = hints.map(|hint| self.b.bit_of(&[first], hint));
        let size = self.b.any_of(&[first], |x| match x[0].as_u64() {
            byte @ 0xb8..=0xb9 => Goldilocks::new(byte - 0xb6),
            byte @ 0x81..=0xb7 => Goldilocks::new(byte - 0x7f),
            _ => ONE,
        });
        let form = self.b.scale_add(Goldilocks::new(2), long[1].into(), long[0].into());
        let values = self.spaces.values;
        self.b.look_up(values, first, form, Element::from(size).into(), bit);
        let next = [1, 2].map(|i| {
            let at = self.plus(address, i);
            self.byte_at(at, bit)
        });
        let two = self.b.scale_add(Goldilocks::new(256), next[0], next[1]);
        let more = self.b.mul(long[0].into(), next[0]);
        let more = self.b.mul_add(long[1].into(), two, more);
        Header { size, long, next, more }
    }

    /// One slot for a leaf or an extension, used or not.
    pub(super) fn path(&mut self, own: u64) {
        let own = self.constant(own);
        let [active, leaf, embedded] = [(); 3].map(|()| self.b.bit());
        self.implies(leaf, active);
        self.implies(embedded, leaf);
        let extension = self.b.sub(active.into(), leaf.into());
        let extension = self.b.boolean(extension);
        let hashed = self.b.sub(active.into(), embedded.into());
        let hashed = self.b.boolean(hashed);
        let (edge, place) = self.edge(active);
        let message = self.message(edge, hashed);
        // An embedded node begins at the address that its parent names.
        let said = self.plus(self.zero, code::EMBEDDED);
        let said = self.b.scale_add(Goldilocks::new(4), message.start, said);
        let said = self.b.mul(embedded.into(), said);
        let child = self.spaces.child;
        self.b.look_up(child, edge[0], edge[1], Element::from(said).into(), active);
        let [content, length] = self.list(message.start, active);

        // The path is one byte below 0x80, or a header and at least two bytes.
        let first = self.b.byte(content);
        let Text { longer, bytes, further, .. } = self.string(first, active);
        let one_less = self.b.constant(-ONE);
        let more = self.b.add(further, one_less);
        let more = self.b.mul(longer.into(), more);
        let more = self.b.mul(active.into(), more);
        self.byte(more, active);
        let begin = self.b.add(content, longer.into());
        let flags = self.b.byte(begin);
        let [high, low] = self.nibbles(flags, active);
        let odd = self.b.bit_of(&[high], |x| Goldilocks::new(x[0].as_u64() & 1));
        let expected = self.b.scale_add(Goldilocks::new(2), leaf.into(), odd.into());
        self.same(active, high, expected);
        let even = self.b.not(odd);
        let padding = self.b.mul(even.into(), low);
        self.vanishes(active, padding);

        let start = place;
        let mut place = self.append(start, low, odd, active);
        let (mut before, mut count) = (self.yes, self.zero);
        let mut at = begin;
        for t in 1..=KEY_BYTES {
            let there = self.b.bit_of(&[bytes], unary(t));
            self.implies(there, before);
            before = there;
            count = self.b.add(count, there.into());
            at = self.plus(at, 1);
            let byte = self.byte_at(at, there);
            for nibble in self.nibbles(byte, self.yes) {
                place = self.append(place, nibble, there, active);
            }
        }
        self.same(active, count, further);
        let behind = self.b.add(begin, bytes);
        // An extension has at least one nibble.
        let nibbles = self.b.sub(place.depth, start.depth);
        let nibbles = self.b.add(nibbles, one_less);
        let nibbles = self.b.mul(extension.into(), nibbles);
        self.byte(nibbles, extension);

        // The value of a leaf, or the hash of an extension's child.
        let first = self.byte_at(behind, active);
        let Header { size, long, next, more } = self.header(behind, first, active);
        // The length has the shortest form.
        let [least, high] = [Goldilocks::new(56), ONE].map(|least| self.b.constant(-least));
        let above = self.b.add(next[0], least);
        let above = self.b.mul(long[0].into(), above);
        let above_two = self.b.add(next[0], high);
        let above = self.b.mul_add(long[1].into(), above_two, above);
        let above = self.b.mul(active.into(), above);
        self.byte(above, active);
        let end = self.b.add(behind, size);
        let end = self.b.add(end, more);
        let expected = self.b.add(content, length);
        self.same(active, end, expected);
        self.ends(message, end, hashed);
        let hash = self.constant(0xa0);
        self.same(extension, first, hash);

        let begin = self.plus(behind, 1);
        let words = self.windows::<2>(begin, extension);
        let none = self.constant(code::NONE);
        let said = self.constant(code::BRANCH);
        let said = self.b.select(extension, said, none);
        let zero = self.zero;
        self.b.offer(child, own, zero, Element::from(said).into());
        for (half, word) in words.into_iter().enumerate() {
            let hash = self.spaces.hash[half];
            self.b.offer(hash, own, zero, word);
        }
        let last = self.b.add(place.depth, one_less);
        let offers = self.spaces.place;
        self.offer_place(offers, own, Place { depth: last, ..place });

        // Offered to show absences. An unused slot offers the trie -1, which does not exist.
        let minus = self.b.constant(-ONE);
        let own_trie = self.b.select(active, start.trie, minus);
        let offers = self.spaces.own;
        self.offer_place(offers, own, Place { trie: own_trie, ..start });
        let ends = self.spaces.ends;
        self.b.offer(ends, own, place.depth, Element::from(behind).into());
        // Offered by leaves only: their keys and values.
        let trie: Base = self.b.select(leaf, start.trie, minus);
        let offers = self.spaces.leaf;
        let levels = [trie, behind, start.root];
        let [first, second, last] = place.lanes;
        let last = self.with_depth(last, place.depth);
        for ((offers, level), lanes) in offers.into_iter().zip(levels).zip([first, second, last]) {
            self.b.offer(offers, own, level, lanes.into());
        }
    }
}

/// The header of a value.
pub(super) struct Header {
    /// The bytes of the header, and of the value as far as the first byte gives its length.
    pub(super) size: Base,
    /// One byte of length follows; two bytes of length follow.
    pub(super) long: [Bool; 2],
    /// The two bytes behind the first one.
    pub(super) next: [Base; 2],
    /// The length that the bytes behind the first one give.
    pub(super) more: Base,
}

/// A hint for whether a count is greater than t, from 0 to 32.
pub(super) fn unary(t: u64) -> Hint {
    macro_rules! hints {
        ($($t:literal)*) => { [$(|x: &[Goldilocks]| number(x[0].as_u64() > $t)),*] };
    }
    let hints: [Hint; 33] =
        hints!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
    hints[t as usize]
}

#[cfg(test)]
pub(super) mod tests;
