//! The circuit's slots for claims: about accounts, and about slots of their storage.

use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Set, Word};
use evergrove_multilinear::circuit::{Arithmetic, Hint};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::ethereum::EMPTY_ROOT;
use evergrove_verifier::tables::WORD;

use super::gadgets::{Gadgets, LANE_NIBBLES, LANES, NIBBLES, ONE, Place, Text, ZERO, code, lane, number};
use super::node::unary;
use crate::circuit::free;
use crate::translation::halves;

/// The bits that are 0 in a lane.
pub(super) const LANE_ZEROS: core::ops::Range<usize> = 4 * LANE_NIBBLES as usize..64;
/// The number that unused storage slots have as their trie: greater than the number of every account.
pub(super) const NO_TRIE: u64 = 1 << 31;
/// The trie of entries with a tag has this number plus the tag.
pub(super) const ENTRIES: u64 = 1 << 32;
/// Greater than the numbers of all tries.
pub(super) const NO_ENTRIES: u64 = 1 << 33;
/// Words of 32 bits in a hash or in a number of 256 bits.
const WORDS: usize = 8;

/// A key of a trie.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub(super) own: Base,
    pub(super) lanes: [Base; LANES],
    /// The number of its nibbles.
    pub(super) depth: Base,
}

/// A key at its place in the order of claims.
#[derive(Clone, Copy)]
pub(super) struct Ordered {
    pub(super) bit: Bool,
    /// The number of the trie, then the lanes.
    pub(super) key: [Base; 1 + LANES],
}

/// A number that is decoded from its bytes.
struct Integer {
    /// Words of 32 bits, the least significant first.
    words: Vec<Base>,
    /// The number of its bytes.
    bytes: Base,
    /// The number is not 0.
    positive: Bool,
    /// True for a number without a header: one byte below 0x80.
    single: Bool,
    /// The address behind its last byte.
    end: Base,
}

/// Byte i of a number.
fn byte(i: usize) -> Hint {
    let hints: [Hint; 4] = [
        |x| Goldilocks::new(x[0].as_u64() & 255),
        |x| Goldilocks::new(x[0].as_u64() >> 8 & 255),
        |x| Goldilocks::new(x[0].as_u64() >> 16 & 255),
        |x| Goldilocks::new(x[0].as_u64() >> 24 & 255),
    ];
    hints[i]
}

impl<K: Extension> Gadgets<'_, K> {
    /// The number of bytes in little-endian order.
    fn little(&mut self, bytes: &[Base]) -> Base {
        let powers = (0..).map(|i| Goldilocks::new(1 << (8 * i)));
        bytes.iter().zip(powers).skip(1).fold(bytes[0], |sum, (&byte, power)| self.b.scale_add(power, byte, sum))
    }
    /// The bytes of a number below 2^32, the least significant first, and the nibbles of each byte.
    pub(super) fn bytes_of(&mut self, x: Base) -> ([Base; 4], [[Base; 2]; 4]) {
        let yes = self.yes;
        let bytes = core::array::from_fn(|i| self.b.any_of(&[x], byte(i)));
        let nibbles = bytes.map(|byte| self.nibbles(byte, yes));
        let sum = self.little(&bytes);
        self.b.equal(sum, x);
        (bytes, nibbles)
    }

    /// The lanes of a key that is this digest. Offers the key's bytes.
    fn key(&mut self, own: Base, digest: [Word; 2]) -> Key {
        let mut lanes = [self.zero; LANES];
        let key = self.spaces.key;
        for (i, word) in digest.into_iter().enumerate() {
            for limb in 0..WORD {
                let half = self.b.limb(word, limb);
                let (bytes, nibbles) = self.bytes_of(half);
                for (j, (byte, nibbles)) in bytes.into_iter().zip(nibbles).enumerate() {
                    let at = 4 * (WORD * i + limb) + j;
                    let level = self.constant(at as u64);
                    self.b.offer(key, own, level, Element::from(byte).into());
                    for (k, nibble) in nibbles.into_iter().enumerate() {
                        let (lane, weight) = lane((2 * at + k) as u64);
                        lanes[lane] = self.b.scale_add(Goldilocks::new(weight), nibble, lanes[lane]);
                    }
                }
            }
        }
        let depth = self.constant(NIBBLES);
        Key { own, lanes, depth }
    }
    /// Demands, where the bit is 1, that a leaf of the trie has this key. Returns the address of its value, and the
    /// root that it is below.
    pub(super) fn present(&mut self, key: Key, trie: Base, bit: Bool) -> [Base; 2] {
        let [from, value, root] = [(); 3].map(|()| self.b.any());
        let mut lanes = self.packed(key.lanes);
        lanes[2] = self.with_depth(lanes[2], key.depth);
        let levels = [trie, value, root];
        let leaf = self.spaces.leaf;
        for ((offers, level), lanes) in leaf.into_iter().zip(levels).zip(lanes) {
            self.b.look_up(offers, from, level, lanes.into(), bit);
        }
        [value, root]
    }
    /// Demands, where the bit is 1, that a trie does not contain a key: the path of the key ends at an empty child or
    /// at another path, or the trie is empty. Returns the root that it is below.
    pub(super) fn absent(&mut self, key: Key, trie: Base, bit: Bool) -> Base {
        let [other, without] = [self.b.bit(), self.b.bit()];
        // One of three cases; the third one is an empty child.
        let both = self.b.add(other.into(), without.into());
        let nothing = self.b.sub(bit.into(), both);
        let nothing = self.b.boolean(nothing);
        let child = self.b.add(nothing.into(), without.into());
        let child = self.b.boolean(child);
        let way = self.b.add(nothing.into(), other.into());
        let way = self.b.boolean(way);
        let (from, nibble) = (self.b.any(), self.b.any());
        let (place, lanes) = self.any_place();
        self.same(bit, place.trie, trie);
        let (places, own) = (self.spaces.place, self.spaces.own);
        self.look_up_place(places, from, place, child);
        self.look_up_place(own, from, place, other);
        let children = self.spaces.child;
        let said: Base = nothing.into();
        const { assert!(code::EMPTY == 1 && code::HASH == 0) };
        self.b.look_up(children, from, nibble, Element::from(said).into(), child);

        // An empty trie: its root's hash, before the first nibble.
        for (half, word) in halves(&EMPTY_ROOT).into_iter().enumerate() {
            let word = self.b.word(word);
            let hash = self.spaces.hash[half];
            self.b.look_up(hash, from, nibble, word, without);
        }
        let first = self.plus(place.depth, 1);
        self.vanishes(without, first);

        // The key begins with the place, followed by the nibble of an empty child.
        let weight = self.weight(place.depth, nothing);
        let nibble = self.b.mul(nothing.into(), nibble);
        let lanes: [Base; LANES] = core::array::from_fn(|i| self.b.mul_add(nibble, weight[i], lanes[i]));
        let depth = self.b.add(place.depth, nothing.into());
        self.begins(key, lanes, depth, way);
        // The place does not reach beyond the key's last nibble.
        let rest = self.b.sub(key.depth, depth);
        let rest = self.b.mul(way.into(), rest);
        self.byte(rest, way);

        // Another path: at one nibble within it, path and key differ.
        let [end, behind] = [self.b.any(), self.b.any()];
        let ends = self.spaces.ends;
        self.b.look_up(ends, from, end, Element::from(behind).into(), other);
        let (back, low) = (self.b.any(), self.b.bit());
        self.byte(back, other);
        // The nibble is 2 back + low + 1 before the end, in the byte back + 1 before the end: its low nibble if `low`
        // is 0.
        let nibbles = self.b.scale_add(Goldilocks::new(2), back, low.into());
        let nibbles = self.plus(nibbles, 1);
        let position = self.b.sub(end, nibbles);
        let within = self.b.sub(position, place.depth);
        let within = self.b.mul(other.into(), within);
        self.byte(within, other);
        let before = self.plus(back, 1);
        let address = self.b.sub(behind, before);
        let found = self.byte_at(address, other);
        let [high_nibble, low_nibble] = self.nibbles(found, other);
        let found = self.b.select(low, high_nibble, low_nibble);
        let (at, second) = (self.b.any(), self.b.bit());
        let expected = self.b.scale_add(Goldilocks::new(2), at, second.into());
        self.same(other, position, expected);
        let byte = self.b.any();
        let keys = self.spaces.key;
        self.b.look_up(keys, key.own, at, Element::from(byte).into(), other);
        let [high_nibble, low_nibble] = self.nibbles(byte, other);
        let own = self.b.select(second, low_nibble, high_nibble);
        let difference = self.b.sub(own, found);
        let inverse = self.b.any_of(&[difference], |x| x[0].inverse().unwrap_or_default());
        let product = self.b.mul(difference, inverse);
        let one = self.one;
        self.same(other, product, one);
        place.root
    }
    /// Demands, where the bit is 1, that a key begin with the first `depth` nibbles of a place.
    fn begins(&mut self, key: Key, lanes: [Base; LANES], depth: Base, bit: Bool) {
        let own = self.b.any_of(&[depth], |x| Goldilocks::new(lane(x[0].as_u64().min(64)).0 as u64));
        let weight = self.b.any_of(&[depth], |x| Goldilocks::new(lane(x[0].as_u64().min(64)).1));
        let positions = self.spaces.positions;
        self.b.look_up(positions, depth, own, Element::from(weight).into(), bit);
        let hints: [Hint; LANES] = [
            |x| number(x[0] == ZERO),
            |x| number(x[0] == ONE),
            |x| number(x[0] == Goldilocks::new(2)),
            |x| number(x[0] == Goldilocks::new(3)),
            |x| number(x[0] == Goldilocks::new(4)),
        ];
        let flags = hints.map(|hint| self.b.bit_of(&[own], hint));
        let (mut sum, mut which, mut rest) = (self.zero, self.zero, self.zero);
        // From the last lane to the first: lanes before the lane of the depth are equal.
        for i in (0..LANES).rev() {
            let difference = self.b.sub(key.lanes[i], lanes[i]);
            let earlier = self.b.mul(sum, difference);
            self.vanishes(bit, earlier);
            sum = self.b.add(sum, flags[i].into());
            which = self.b.scale_add(Goldilocks::new(i as u64), flags[i].into(), which);
            rest = self.b.mul_add(flags[i].into(), difference, rest);
        }
        let one = self.one;
        self.same(bit, sum, one);
        self.same(bit, which, own);
        // In the lane of the depth the key may have any nibbles behind those of the place: the difference is less than
        // the weight of the place's last nibble.
        let rest = self.b.mul(bit.into(), rest);
        self.b.zeros(rest, LANE_ZEROS);
        let above = self.b.scale_add(Goldilocks::new(16), weight, self.zero);
        let above = self.b.sub(above, one);
        let above = self.b.mul(bit.into(), above);
        let above = self.b.sub(above, rest);
        self.b.zeros(above, LANE_ZEROS);
    }
    /// Demands, where the bit is 1, that `low` be less than `high` in the order of claims. The elements must be from -1
    /// to 2^60, and the elements of both keys differ by at most 2^60.
    pub(super) fn rises(&mut self, [low, high]: [[Base; 1 + LANES]; 2], bit: Bool) {
        let hints: [Hint; 1 + LANES] = [first::<0>, first::<1>, first::<2>, first::<3>, first::<4>, first::<5>];
        let differences: [Base; 1 + LANES] = core::array::from_fn(|i| self.b.sub(high[i], low[i]));
        let flags = hints.map(|hint| self.b.bit_of(&differences, hint));
        let (mut sum, mut gap) = (self.zero, self.zero);
        for (difference, flag) in differences.into_iter().zip(flags) {
            gap = self.b.mul_add(flag.into(), difference, gap);
            sum = self.b.add(sum, flag.into());
            // Elements before the first difference are equal.
            let not = self.b.sub(self.one, sum);
            let equal = self.b.mul(not, difference);
            self.vanishes(bit, equal);
        }
        let one = self.one;
        self.same(bit, sum, one);
        let gap = self.b.sub(gap, one);
        let gap = self.b.mul(bit.into(), gap);
        self.b.zeros(gap, LANE_ZEROS);
    }
    /// Puts a key behind the previous one in the order, and offers it by its number. Used slots come first, and their
    /// keys rise.
    pub(super) fn in_order(&mut self, own: Base, before: Option<&Ordered>, key: Ordered) -> Ordered {
        if let Some(before) = before {
            self.implies(key.bit, before.bit);
            self.rises([before.key, key.key], key.bit);
        }
        self.order(own, key.key);
        key
    }
    /// Offers a key by its number in the order of claims.
    pub(super) fn order(&mut self, own: Base, [trie, lanes @ ..]: [Base; 1 + LANES]) {
        let (levels, lanes) = ([trie, self.zero, self.zero], self.packed(lanes));
        let order = self.spaces.order;
        for ((offers, level), lanes) in order.into_iter().zip(levels).zip(lanes) {
            self.b.offer(offers, own, level, lanes.into());
        }
    }
    /// Looks up the key with this number in the order of claims, where the bit is 1.
    pub(super) fn ordered(&mut self, own: Base, bit: Bool) -> [Base; 1 + LANES] {
        let key = [(); 1 + LANES].map(|()| self.b.any());
        let [trie, lanes @ ..] = key;
        let (levels, lanes) = ([trie, self.zero, self.zero], self.packed(lanes));
        let order = self.spaces.order;
        for ((offers, level), lanes) in order.into_iter().zip(levels).zip(lanes) {
            self.b.look_up(offers, own, level, lanes.into(), bit);
        }
        key
    }

    /// The number at an address, where the bit is 1, of at most `most` bytes: it must be in shortest RLP.
    fn integer(&mut self, address: Base, most: usize, bit: Bool) -> Integer {
        let first = self.byte_at(address, bit);
        let Text { single, longer, bytes, .. } = self.string(first, bit);
        let one = self.one;
        let end = self.b.add(address, longer.into());
        let end = self.b.add(end, bytes);
        // From the least significant byte up.
        let (mut before, mut count, mut at) = (self.yes, self.zero, end);
        let (mut little, mut flags) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut highest = self.zero;
        for i in 0..most {
            let there = self.b.bit_of(&[bytes], unary(i as u64));
            self.implies(there, before);
            count = self.b.add(count, there.into());
            at = self.b.sub(at, one);
            let both = self.b.mul(there.into(), bit.into());
            let both = self.b.boolean(both);
            let byte = self.byte_at(at, both);
            let byte = self.b.mul(both.into(), byte);
            // The highest byte so far.
            highest = self.b.select(both, byte, highest);
            little.push(byte);
            flags.push(there);
            before = there;
        }
        self.same(bit, count, bytes);
        // The highest byte is not zero, a single byte with a header is at least 0x80, and a byte without a header is
        // below 0x80.
        let positive = flags[0];
        let inverse = self.b.any_of(&[highest], |x| x[0].inverse().unwrap_or_default());
        let product = self.b.mul(highest, inverse);
        let both = self.b.and(positive, bit);
        self.same(both, product, one);
        let more = flags.get(1).map_or(self.zero, |&flag| flag.into());
        let only = self.b.sub(positive.into(), more);
        let least = self.constant(0x80);
        let above = self.b.sub(highest, least);
        let above = self.b.mul(only, above);
        let above = self.b.mul(longer.into(), above);
        let above = self.b.mul(bit.into(), above);
        self.byte(above, bit);
        let below = self.constant(0x7f);
        let below = self.b.sub(below, first);
        let below = self.b.mul(single.into(), below);
        let below = self.b.mul(bit.into(), below);
        self.byte(below, bit);
        let words = little.chunks(4).map(|bytes| self.little(bytes)).collect();
        Integer { words, bytes, positive, single, end }
    }

    /// A hash chain over words that the prover chooses.
    pub(super) fn chain(&mut self, tag: &[u8; 4], elements: usize) -> (Word, Vec<Word>) {
        let mut chain = self.b.tag(Goldilocks::new(u32::from_be_bytes(*tag).into()));
        let mut words = Vec::new();
        for _ in 0..elements.div_ceil(2 * WORD) {
            let (next, pair) = self.b.hash_free(chain);
            chain = next;
            words.extend(pair);
        }
        (chain.digest(), words)
    }
    pub(super) fn limbs(&mut self, words: &[Word], count: usize) -> Vec<Base> {
        (0..count).map(|i| self.b.limb(words[i / WORD], i % WORD)).collect()
    }
    /// The halves of a hash that is given as two words.
    fn halves(&mut self, words: [Word; 2]) -> Vec<Base> {
        self.limbs(&words, WORDS)
    }

    /// One slot for an account, used or not. The account is present with its fields, absent, or foreign: the leaf of a
    /// foreign account is above the roots. Keys rise from slot to slot.
    pub(super) fn account(&mut self, own: u64, before: Option<&Ordered>, set: Set) -> Ordered {
        let own = self.constant(own);
        let [active, present, claimed, foreign] = [(); 4].map(|()| self.b.bit());
        self.implies(claimed, active);
        let known = self.b.add(present.into(), foreign.into());
        let known = self.b.boolean(known);
        self.implies(known, active);
        let absent = self.b.sub(active.into(), known.into());
        let absent = self.b.boolean(absent);

        let (of_absent, words) = self.chain(b"ETHN", 5);
        let address = self.limbs(&words, 5);
        let yes = self.yes;
        self.same_words(yes, &words[1..], &address[4..]);
        let [last, _] = free(self.b);
        let rest = self.b.limb(last, 0);
        self.b.equal(rest, address[4]);
        let digest = self.b.keccak(&[words[0], last], 5);
        let key = self.key(own, digest);
        let (zero, one) = (self.zero, self.one);
        let mut lanes = key.lanes;
        let behind = self.constant(1 << LANE_ZEROS.start);
        lanes[0] = self.b.select(active, lanes[0], behind);
        let [a, b, c, d, e] = lanes;
        let ordered = self.in_order(own, before, Ordered { bit: active, key: [zero, a, b, c, d, e] });

        let [value, of_leaf] = self.present(key, zero, present);
        let of_way = self.absent(key, zero, absent);
        let root = self.b.select(present, of_leaf, of_way);

        // The bytes of an account: b8, length, f8, length, nonce, balance, storage root, code hash.
        let [long, outer, list, inner]: [Base; 4] = core::array::from_fn(|i| {
            let at = self.plus(value, i as u64);
            self.byte_at(at, present)
        });
        let (string, of_list) = (self.constant(0xb8), self.constant(0xf8));
        self.same(present, long, string);
        self.same(present, list, of_list);
        let expected = self.plus(inner, 2);
        self.same(present, outer, expected);
        let content = self.plus(value, 4);
        let nonce = self.integer(content, 8, present);
        let balance = self.integer(nonce.end, 32, present);
        let hash = self.constant(0xa0);
        let mut at = balance.end;
        let hashes = [(); 2].map(|()| {
            let first = self.byte_at(at, present);
            self.same(present, first, hash);
            let begin = self.plus(at, 1);
            at = self.plus(at, 33);
            self.windows::<2>(begin, present)
        });
        let end = self.b.add(content, inner);
        self.same(present, at, end);

        let mut fields = address.clone();
        fields.extend(nonce.words);
        fields.extend(balance.words);
        for words in hashes {
            fields.extend(self.halves(words));
        }
        let (of_present, said) = self.chain(b"ETHA", fields.len());
        let as_present = self.b.and(claimed, present);
        self.same_words(as_present, &said, &fields);
        let as_absent = self.b.and(claimed, absent);
        self.b.give_at(set, root, of_present, as_present);
        self.b.give_at(set, root, of_absent, as_absent);

        // Offered to storage slots. An unused account slot offers the status 2, which no storage slot looks up.
        let two = self.constant(2);
        let status = self.b.select(active, known.into(), two);
        let offers = self.spaces.account;
        self.b.offer(offers[0], own, status, words[0]);
        self.b.offer(offers[1], own, root, Element::from(address[4]).into());
        let [hash, none] = [code::HASH, code::NONE].map(|code| self.constant(code));
        let said = self.b.select(present, hash, none);
        let before = self.b.sub(zero, one);
        let lanes = self.packed([zero; LANES]);
        self.offer_root(own, Place { depth: before, trie: own, root, lanes }, said, hashes[0]);
        ordered
    }

    /// One slot for a claim about a storage slot, used or not: with a value, or a zero slot. Accounts and keys rise
    /// from slot to slot.
    pub(super) fn slot(&mut self, own: u64, before: Option<&Ordered>, set: Set) -> Ordered {
        let own = self.constant(own);
        let [active, present] = [(); 2].map(|()| self.b.bit());
        self.implies(present, active);
        let zero_slot = self.b.sub(active.into(), present.into());
        let zero_slot = self.b.boolean(zero_slot);

        let (of_zero, words) = self.chain(b"ETHZ", 5 + WORDS);
        let fields = self.limbs(&words, 5 + WORDS);
        let yes = self.yes;
        self.same_words(yes, &words[3..], &fields[3 * WORD..]);
        let (account, of_account, there) = (self.b.any(), self.b.any(), self.b.bit());
        let offers = self.spaces.account;
        let rest = Element::from(fields[4]).into();
        self.b.look_up(offers[0], account, there.into(), words[0], active);
        self.b.look_up(offers[1], account, of_account, rest, active);
        self.implies(present, there);

        // The slot as a Keccak message: its bytes in reverse order.
        let mut halves = Vec::with_capacity(WORDS);
        for &word in fields[5..].iter().rev() {
            let (mut bytes, _) = self.bytes_of(word);
            bytes.reverse();
            halves.push(self.little(&bytes));
        }
        let message = free(self.b);
        self.same_words(yes, &message, &halves);
        let digest = self.b.keccak(&message, WORDS);
        let key = self.key(own, digest);

        let behind = self.constant(NO_TRIE);
        let trie = self.b.select(active, account, behind);
        let [a, b, c, d, e] = key.lanes;
        let ordered = self.in_order(own, before, Ordered { bit: active, key: [trie, a, b, c, d, e] });

        let [value, of_leaf] = self.present(key, account, present);
        let in_trie = self.b.and(zero_slot, there);
        let of_way = self.absent(key, account, in_trie);
        let root = self.b.select(in_trie, of_way, of_account);
        let root = self.b.select(present, of_leaf, root);

        // The value is a string that holds the number's RLP: one byte alone, or a header and then the number's RLP.
        let first = self.byte_at(value, present);
        let alone = self.b.bit_of(&[first], |x| number(x[0].as_u64() < 0x80));
        let further = self.b.not(alone);
        let inner = self.b.add(value, further.into());
        let number = self.integer(inner, 32, present);
        let single: Base = number.single.into();
        self.same(present, alone.into(), single);
        let expected = self.plus(number.bytes, 0x81);
        let difference = self.b.sub(first, expected);
        let difference = self.b.mul(further.into(), difference);
        self.vanishes(present, difference);
        let one = self.one;
        self.same(present, number.positive.into(), one);

        let all = [&fields[..], &number.words].concat();
        let (of_value, said) = self.chain(b"ETHS", all.len());
        self.same_words(present, &said, &all);
        self.b.give_at(set, root, of_value, present);
        self.b.give_at(set, root, of_zero, zero_slot);
        ordered
    }
}

/// True if difference I is the first nonzero one.
fn first<const I: usize>(x: &[Goldilocks]) -> Goldilocks {
    number(x[..I].iter().all(|x| *x == ZERO) && x[I] != ZERO)
}
