//! Building blocks of the slots for nodes and claims: places in tries, bytes, and the lookups between slots.

use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Offers, Word};
use evergrove_multilinear::circuit::{Arithmetic, BLOCK_BYTES, Builder};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::WORD;

use super::entries::Steps;
use super::node::unary;
use crate::circuit::free;
use crate::translation::{Weights, packed};

pub(super) const ZERO: Goldilocks = Goldilocks::ZERO;
pub(super) const ONE: Goldilocks = Goldilocks::ONE;

/// Lanes of a place. A lane holds 15 nibbles; the first nibble is the most significant of its 60 bits.
pub(super) const LANES: usize = 5;
/// Nibbles of a lane.
pub(super) const LANE_NIBBLES: u64 = 15;
/// Nibbles of a hashed key.
pub(super) const NIBBLES: u64 = 64;

/// Codes of children. Each kind of slot looks up the codes that it handles.
pub(super) mod code {
    /// A hash.
    pub(in crate::mpt) const HASH: u64 = 0;
    /// An empty child.
    pub(in crate::mpt) const EMPTY: u64 = 1;
    /// An embedded node: this code plus four times the node's address.
    pub(in crate::mpt) const EMBEDDED: u64 = 2;
    /// The child does not exist.
    pub(in crate::mpt) const NONE: u64 = 3;
    /// The hash of a branch below an extension.
    pub(in crate::mpt) const BRANCH: u64 = 4;
}

/// The lane of the nibble at a depth, and the nibble's weight in it. Depth 64 is that of a nibble behind the last one.
pub(super) fn lane(depth: u64) -> (usize, u64) {
    let lane = (depth / LANE_NIBBLES).min(LANES as u64 - 1);
    (lane as usize, 1 << (4 * (LANE_NIBBLES - 1 - (depth - lane * LANE_NIBBLES))))
}

/// 1 for true, 0 for false.
pub(super) fn number(bit: bool) -> Goldilocks {
    Goldilocks::new(bit.into())
}

/// The place of a node: the nibbles on the path to it, in lanes.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) depth: Base,
    pub(super) trie: Base,
    /// The number of the root that the node is below.
    pub(super) root: Base,
    /// The lanes, packed two by two; the last one alone.
    pub(super) lanes: [Element; 3],
}

/// The lookup tables that slots share. A number is that of the slot that offers the entry.
pub(super) struct Spaces {
    /// (byte, high nibble, low nibble).
    bytes: Offers,
    /// (first byte of a list, form, length in that byte).
    lists: Offers,
    /// (first byte of a child, code, length).
    pub(super) children: Offers,
    /// (first byte of a value, number of length bytes that follow, length in the first byte).
    pub(super) values: Offers,
    /// (depth, i, two lanes of the weight of the nibble at that depth).
    weights: Offers,
    /// (depth, lane, weight in the lane).
    pub(super) positions: Offers,
    /// (number, nibble, code).
    pub(super) child: Offers,
    /// (number, nibble, half of the hash).
    pub(super) hash: [Offers; 2],
    /// The place of a node, or the end of an extension's path with a depth that is one nibble less: (number, depth,
    /// lanes), (number, trie, lanes), (number, root, lane).
    pub(super) place: [Offers; 3],
    /// (address of the first byte, number of the block behind the last one, half of the digest).
    message: [Offers; 2],
    /// The place of a node with a path: three entries like those of `place`.
    pub(super) own: [Offers; 3],
    /// (number, depth at the end of the path, address behind the path).
    pub(super) ends: Offers,
    /// Keys and values of leaves: (number, trie, lanes), (number, address of the value, lanes), (number, root, lane
    /// with the depth).
    pub(super) leaf: [Offers; 3],
    /// (number, status, first word of the address), (number, root, the rest of the address).
    pub(super) account: [Offers; 2],
    /// (number, position of the byte, byte) of keys.
    pub(super) key: Offers,
    /// Keys of claims in their order: (number, trie, lanes), (number, 0, lanes), (number, 0, lane).
    pub(super) order: [Offers; 3],
    /// Lookups between the steps of leaf digests and the entries: see [`Gadgets::values`].
    pub(super) steps: Steps,
}

/// The builder, with what all slots share.
pub(super) struct Gadgets<'a, K> {
    pub(super) b: &'a mut Builder<K>,
    pub(super) zero: Base,
    pub(super) one: Base,
    pub(super) yes: Bool,
    /// Weights that pack two elements of F into one of K.
    pairs: Weights,
    pub(super) spaces: Spaces,
}

/// The header of a string of at most 55 bytes. A byte below 0x80 has no header.
#[derive(Clone, Copy)]
pub(super) struct Text {
    /// The string has no header.
    pub(super) single: Bool,
    /// The string has a header.
    pub(super) longer: Bool,
    /// The number of the string's bytes.
    pub(super) bytes: Base,
    /// `bytes` minus 1.
    pub(super) further: Base,
}

/// The start of a message, and the number of the block behind its last one.
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) start: Base,
    end: Base,
}

/// Demands, where the bit is 1, that two words be equal: `a` is given to a new set, and `c` is taken from it.
#[track_caller]
pub(crate) fn same_word<K: Extension>(b: &mut Builder<K>, bit: Bool, a: Word, c: Word) {
    let set = b.set();
    b.give(set, a, Some(bit));
    b.take(set, c, Some(bit));
}

impl<'a, K: Extension> Gadgets<'a, K> {
    pub(super) fn new(b: &'a mut Builder<K>) -> Self {
        let (zero, one) = (b.zero(), b.one());
        let yes = b.boolean(one);
        let pairs = Weights::new(b);
        let [bytes, lists, children, values, weights, positions, child, ends, key] = [(); 9].map(|()| b.offers());
        let [place, own, leaf, order] = [(); 4].map(|()| [(); 3].map(|()| b.offers()));
        let [hash, message, account] = [(); 3].map(|()| [(); 2].map(|()| b.offers()));
        let spaces = Spaces {
            bytes,
            lists,
            children,
            values,
            weights,
            positions,
            child,
            hash,
            place,
            message,
            own,
            ends,
            leaf,
            account,
            key,
            order,
            steps: Steps::new(b),
        };
        let mut this = Self { b, zero, one, yes, pairs, spaces };
        this.constants();
        this
    }

    /// Offers the constant tables.
    fn constants(&mut self) {
        let Spaces { bytes, lists, children, values, weights, positions, .. } = self.spaces;
        let mut say = |offers, key: i64, level: u64, value: u64| {
            let key = if key < 0 { -Goldilocks::new(key.unsigned_abs()) } else { Goldilocks::new(key as u64) };
            let [key, level, value] = [key, Goldilocks::new(level), Goldilocks::new(value)].map(|x| self.b.constant(x));
            self.b.offer(offers, key, level, Element::from(value).into());
        };
        for byte in 0..256 {
            say(bytes, byte, byte as u64 >> 4, byte as u64 & 15);
        }
        for byte in 0xc0..=0xf7 {
            say(lists, byte, 0, byte as u64 - 0xc0);
        }
        say(lists, 0xf8, 1, 0);
        say(lists, 0xf9, 2, 0);
        say(children, 0x80, code::EMPTY, 1);
        say(children, 0xa0, code::HASH, 33);
        for byte in 0xc1..=0xde {
            say(children, byte, code::EMBEDDED, byte as u64 - 0xbf);
        }
        for byte in (0..0x80).chain(0x81..=0xb9) {
            let (form, length) = match byte {
                0xb8 => (1, 2),
                0xb9 => (2, 3),
                0x81.. => (0, byte as u64 - 0x7f),
                _ => (0, 1),
            };
            say(values, byte, form, length);
        }
        for depth in 0..=NIBBLES {
            let (lane, weight) = lane(depth);
            say(positions, depth as i64, lane as u64, weight);
        }
        // Depths before the first nibble and behind the last one have weight 0.
        for depth in -1..=NIBBLES as i64 {
            let key = if depth < 0 { -ONE } else { Goldilocks::new(depth as u64) };
            let (own, weight) = if (0..NIBBLES as i64).contains(&depth) { lane(depth as u64) } else { (0, 0) };
            for pair in 0..3 {
                let mut lanes = [ZERO; 2];
                if own / 2 == pair {
                    lanes[own % 2] = Goldilocks::new(weight);
                }
                let lanes = self.b.element(packed(lanes));
                let [key, level] = [key, Goldilocks::new(pair as u64)].map(|x| self.b.constant(x));
                self.b.offer(weights, key, level, lanes.into());
            }
        }
    }

    pub(super) fn constant(&mut self, x: u64) -> Base {
        self.b.constant(Goldilocks::new(x))
    }
    /// a + x.
    pub(super) fn plus(&mut self, a: Base, x: u64) -> Base {
        let x = self.constant(x);
        self.b.add(a, x)
    }
    /// Demands x = 0 where the bit is 1.
    #[track_caller]
    pub(super) fn vanishes(&mut self, bit: Bool, x: Base) {
        let zero = self.zero;
        self.b.check([ONE, ZERO, ZERO], Base::from(bit).into(), x.into(), zero.into(), zero.into());
    }
    /// Demands a = c where the bit is 1.
    #[track_caller]
    pub(super) fn same(&mut self, bit: Bool, a: Base, c: Base) {
        let difference = self.b.sub(a, c);
        self.vanishes(bit, difference);
    }
    /// Demands that a = 1 implies c = 1.
    #[track_caller]
    pub(super) fn implies(&mut self, a: Bool, c: Bool) {
        let not = self.b.not(c);
        self.vanishes(a, not.into());
    }
    /// Packs two elements of F into one of K.
    pub(super) fn pack(&mut self, [low, high]: [Base; 2]) -> Element {
        let x = self.pairs.x();
        self.b.combine([ONE, ZERO, ONE], x, high.into(), low.into())
    }
    /// Demands a = c in K where the bit is 1.
    #[track_caller]
    pub(super) fn same_pair(&mut self, bit: Bool, a: Element, c: Element) {
        let zero = self.zero.into();
        let difference = self.b.combine([ZERO, ONE, -ONE], a, zero, c);
        self.b.check([ONE, ZERO, ZERO], Base::from(bit).into(), difference, zero, zero);
    }
    /// Demands, where the bit is 1, that the words consist of these elements, then zeros.
    #[track_caller]
    pub(crate) fn same_words(&mut self, bit: Bool, words: &[Word], elements: &[Base]) {
        let zero = self.zero;
        for (i, &word) in words.iter().enumerate() {
            for half in [0, 2] {
                let at = |k: usize| elements.get(WORD * i + half + k).copied().unwrap_or(zero);
                let expected = self.pack([at(0), at(1)]);
                let found = self.pairs.pair(self.b, word, half);
                self.same_pair(bit, found, expected);
            }
        }
    }
    /// Demands, where the bit is 1, that x be a byte. Returns its nibbles, the high one first.
    #[track_caller]
    pub(super) fn nibbles(&mut self, x: Base, bit: Bool) -> [Base; 2] {
        let high = self.b.any_of(&[x], |x| Goldilocks::new(x[0].as_u64() >> 4 & 15));
        let low = self.b.any_of(&[x], |x| Goldilocks::new(x[0].as_u64() & 15));
        self.b.look_up(self.spaces.bytes, x, high, Element::from(low).into(), bit);
        [high, low]
    }
    /// Demands, where the bit is 1, that x be a byte.
    #[track_caller]
    pub(super) fn byte(&mut self, x: Base, bit: Bool) {
        self.nibbles(x, bit);
    }
    /// Words of sixteen bytes each from an address on, where the bit is 1.
    pub(super) fn windows<const N: usize>(&mut self, address: Base, bit: Bool) -> [Word; N] {
        core::array::from_fn(|i| {
            let at = self.plus(address, 16 * i as u64);
            let at = self.b.mul(bit.into(), at);
            self.b.window(at)
        })
    }
    /// The byte at an address where the bit is 1.
    pub(super) fn byte_at(&mut self, address: Base, bit: Bool) -> Base {
        let at = self.b.mul(bit.into(), address);
        self.b.byte(at)
    }

    /// Offers the node below a root, or that there is none: its place, and the code and the hash of its edge.
    pub(super) fn offer_root(&mut self, own: Base, place: Place, said: Base, hash: [Word; 2]) {
        let zero = self.zero;
        let Spaces { place: places, child, hash: hashes, .. } = self.spaces;
        self.offer_place(places, own, place);
        self.b.offer(child, own, zero, Element::from(said).into());
        for (offers, word) in hashes.into_iter().zip(hash) {
            self.b.offer(offers, own, zero, word);
        }
    }
    /// Demands, where the bit is 1, that two words be equal.
    #[track_caller]
    pub(super) fn same_word(&mut self, bit: Bool, a: Word, c: Word) {
        same_word(self.b, bit, a, c);
    }
    /// Offers a place under a number.
    pub(super) fn offer_place(&mut self, offers: [Offers; 3], own: Base, place: Place) {
        for ((offers, level), lanes) in offers.into_iter().zip([place.depth, place.trie, place.root]).zip(place.lanes) {
            self.b.offer(offers, own, level, lanes.into());
        }
    }
    /// Demands, where the bit is 1, that a place be offered under a number.
    #[track_caller]
    pub(super) fn look_up_place(&mut self, offers: [Offers; 3], from: Base, place: Place, bit: Bool) {
        for ((offers, level), lanes) in offers.into_iter().zip([place.depth, place.trie, place.root]).zip(place.lanes) {
            self.b.look_up(offers, from, level, lanes.into(), bit);
        }
    }
    /// The weight of the nibble at a depth, as lanes.
    pub(super) fn weight(&mut self, depth: Base, bit: Bool) -> [Base; LANES] {
        fn of<const I: usize>(depth: &[Goldilocks]) -> Goldilocks {
            let depth = depth[0].as_u64();
            match lane(depth.min(NIBBLES)) {
                (own, weight) if own == I && depth < NIBBLES => Goldilocks::new(weight),
                _ => ZERO,
            }
        }
        let hints = [of::<0>, of::<1>, of::<2>, of::<3>, of::<4>];
        let lanes = hints.map(|hint| self.b.any_of(&[depth], hint));
        let weights = self.spaces.weights;
        for (i, pair) in self.packed(lanes).into_iter().enumerate() {
            let level = self.constant(i as u64);
            self.b.look_up(weights, depth, level, pair.into(), bit);
        }
        lanes
    }
    /// Lanes, packed two by two; the last one alone.
    pub(super) fn packed(&mut self, [a, b, c, d, e]: [Base; LANES]) -> [Element; 3] {
        [self.pack([a, b]), self.pack([c, d]), e.into()]
    }
    /// The last lane packed with the depth, which says how many nibbles the lanes hold.
    pub(super) fn with_depth(&mut self, lane: Element, depth: Base) -> Element {
        let x = self.pairs.x();
        self.b.combine([ONE, ZERO, ONE], x, depth.into(), lane)
    }
    /// Appends a nibble to a place if `there` is 1, and otherwise returns the same place. The bit is 1 if the place is
    /// used.
    pub(super) fn append(&mut self, place: Place, nibble: Base, there: Bool, bit: Bool) -> Place {
        let weight = self.weight(place.depth, bit);
        let weight = self.packed(weight);
        let nibble = self.b.mul(there.into(), nibble);
        let lanes =
            core::array::from_fn(|i| self.b.combine([ONE, ZERO, ONE], weight[i], nibble.into(), place.lanes[i]));
        Place { depth: self.b.add(place.depth, there.into()), lanes, ..place }
    }

    /// A place that the prover chooses, and its lanes one by one.
    pub(super) fn any_place(&mut self) -> (Place, [Base; LANES]) {
        let [depth, trie, root] = [(); 3].map(|()| self.b.any());
        let lanes = [(); LANES].map(|()| self.b.any());
        (Place { depth, trie, root, lanes: self.packed(lanes) }, lanes)
    }
    /// The place of a child, with the number of its parent and its nibble. The prover chooses all of them.
    pub(super) fn edge(&mut self, bit: Bool) -> ([Base; 2], Place) {
        let (from, nibble) = (self.b.any(), self.b.any());
        let (parent, _) = self.any_place();
        let offers = self.spaces.place;
        self.look_up_place(offers, from, parent, bit);
        let yes = self.yes;
        let place = self.append(parent, nibble, yes, bit);
        ([from, nibble], place)
    }
    /// A message, chosen by the prover, whose digest is the hash of a child, where the bit is 1.
    pub(super) fn message(&mut self, [from, nibble]: [Base; 2], bit: Bool) -> Message {
        let (start, end) = (self.b.any(), self.b.any());
        for (half, word) in free(self.b).into_iter().enumerate() {
            let (hash, message) = (self.spaces.hash[half], self.spaces.message[half]);
            self.b.look_up(hash, from, nibble, word, bit);
            self.b.look_up(message, start, end, word, bit);
        }
        Message { start, end }
    }
    /// A message, chosen by the prover, with this digest where the bit is 1.
    pub(super) fn message_of(&mut self, digest: [Word; 2], bit: Bool) -> Message {
        let (start, end) = (self.b.any(), self.b.any());
        for (offers, word) in self.spaces.message.into_iter().zip(digest) {
            self.b.look_up(offers, start, end, word, bit);
        }
        Message { start, end }
    }
    /// Demands, where the bit is 1, that a message end before an address: Keccak's padding fills the bytes from this
    /// address to the end of the last block.
    pub(super) fn ends(&mut self, message: Message, address: Base, bit: Bool) {
        let blocks = Goldilocks::new(BLOCK_BYTES as u64);
        let minus = self.b.constant(-ONE);
        let last = self.b.scale_add(blocks, message.end, minus);
        let rest = self.b.sub(last, address);
        let rest = self.b.mul(bit.into(), rest);
        let above = self.b.constant(Goldilocks::new(256 - BLOCK_BYTES as u64));
        let above = self.b.mul_add(bit.into(), above, rest);
        self.byte(rest, bit);
        self.byte(above, bit);
        // The first byte of the padding and the last one, which may be the same byte.
        let alone = self.b.bit_of(&[rest], |x| number(x[0] == ZERO));
        let inverse = self.b.any_of(&[rest], |x| x[0].inverse().unwrap_or_default());
        self.vanishes(alone, rest);
        let product = self.b.mul(rest, inverse);
        let more = self.b.not(alone);
        let one = self.one;
        self.same(more, product, one);
        let [first, end] = [address, last].map(|at| self.byte_at(at, bit));
        let (high, both) = (Goldilocks::new(0x80), self.b.scale_add(Goldilocks::new(0x80), alone.into(), one));
        self.same(bit, first, both);
        let expected = self.constant(high.as_u64());
        let expected = self.b.add(expected, alone.into());
        self.same(bit, end, expected);
        // Zeros between them: words of sixteen bytes, then single bytes.
        let zeros = self.b.sub(rest, one);
        let zeros = self.b.mul(more.into(), zeros);
        let [windows, bytes] = self.nibbles(zeros, bit);
        let mut sum = self.zero;
        let mut at = self.b.add(address, one);
        for (count, most) in [(windows, BLOCK_BYTES as u64 / 16), (bytes, 15)] {
            let (mut before, mut found) = (self.yes, self.zero);
            for i in 0..most {
                let there = self.b.bit_of(&[count], unary(i));
                self.implies(there, before);
                before = there;
                found = self.b.add(found, there.into());
                let here = if most == 15 {
                    self.byte_at(at, there)
                } else {
                    let [window] = self.windows(at, there);
                    self.b.weighed(window, [ONE; WORD])
                };
                sum = self.b.mul_add(there.into(), here, sum);
                let step = Goldilocks::new(if most == 15 { 1 } else { 16 });
                at = self.b.scale_add(step, there.into(), at);
            }
            self.same(bit, found, count);
        }
        // The sum has fewer than 2^5 terms below 2^34, so it is 0 only if every term is 0.
        self.vanishes(bit, sum);
    }
    /// Offers the messages of a stream.
    pub(super) fn messages(&mut self, blocks: usize) {
        let stream = self.b.stream(blocks);
        let mut start = self.zero;
        for (i, digest) in stream.digests.into_iter().enumerate() {
            if i > 0 {
                let own = self.constant((i * BLOCK_BYTES) as u64);
                start = self.b.select(stream.goes_on[i - 1], start, own);
            }
            let end = self.constant(i as u64 + 1);
            // A block that is not the last one of its message offers the end 0. No lookup succeeds with it, because no
            // message ends in block -1.
            let end = match stream.goes_on.get(i) {
                Some(&more) => {
                    let last = self.b.not(more);
                    self.b.mul(last.into(), end)
                }
                None => end,
            };
            self.offer_message(start, end, digest);
        }
    }
    /// Offers a message: the address of its first byte, the number of the block behind its last one, its digest.
    pub(super) fn offer_message(&mut self, start: Base, end: Base, digest: [Word; 2]) {
        for (offers, word) in self.spaces.message.into_iter().zip(digest) {
            self.b.offer(offers, start, end, word);
        }
    }

    /// Decodes the first byte of a string. The caller demands that a byte without a header be below 0x80.
    pub(super) fn string(&mut self, first: Base, bit: Bool) -> Text {
        let single = self.b.bit_of(&[first], |x| number(x[0].as_u64() < 0x80));
        let bytes = self.b.any_of(&[first], |x| match x[0].as_u64() {
            byte @ 0x80..=0xff => Goldilocks::new(byte - 0x80),
            _ => ONE,
        });
        let longer = self.b.not(single);
        let header = self.plus(bytes, 0x80);
        let difference = self.b.sub(first, header);
        let difference = self.b.mul(longer.into(), difference);
        self.vanishes(bit, difference);
        let one = self.one;
        let further = self.b.sub(bytes, one);
        let difference = self.b.mul(single.into(), further);
        self.vanishes(bit, difference);
        Text { single, longer, bytes, further }
    }
    /// The header of a list at an address: returns the address and the length of the content.
    pub(super) fn list(&mut self, address: Base, bit: Bool) -> [Base; 2] {
        let first = self.b.byte(address);
        let one_byte = self.b.bit_of(&[first], |x| number(x[0].as_u64() == 0xf8));
        let two_bytes = self.b.bit_of(&[first], |x| number(x[0].as_u64() == 0xf9));
        let short = self.b.any_of(&[first], |x| match x[0].as_u64() {
            byte @ 0xc0..=0xf7 => Goldilocks::new(byte - 0xc0),
            _ => ZERO,
        });
        let form = self.b.scale_add(Goldilocks::new(2), two_bytes.into(), one_byte.into());
        let lists = self.spaces.lists;
        self.b.look_up(lists, first, form, Element::from(short).into(), bit);
        let next = self.plus(address, 1);
        let high = self.b.byte(next);
        let next = self.plus(address, 2);
        let low = self.b.byte(next);
        let both = self.b.scale_add(Goldilocks::new(256), high, low);
        // The length has the shortest form.
        let minus = self.b.constant(-Goldilocks::new(56));
        let above = self.b.add(high, minus);
        let above = self.b.mul(one_byte.into(), above);
        let minus = self.b.constant(-ONE);
        let above_two = self.b.add(high, minus);
        let above = self.b.mul_add(two_bytes.into(), above_two, above);
        self.byte(above, bit);
        let length = self.b.mul_add(one_byte.into(), high, short);
        let length = self.b.mul_add(two_bytes.into(), both, length);
        let content = self.plus(address, 1);
        let content = self.b.add(content, form);
        [content, length]
    }
}
