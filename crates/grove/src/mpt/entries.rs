//! The circuit's slots for entries of transactions, receipts and withdrawals, and the steps that hash their values.

use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Offers, Set};
use evergrove_multilinear::circuit::{Arithmetic, Builder, Hint};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::WORD;

use super::claims::{ENTRIES, Key, NO_ENTRIES, Ordered};
use super::gadgets::{Gadgets, LANES, number};
use super::node::Header;
use crate::circuit::free;

/// Bytes of a value in one word of a step; a step has two words.
pub(super) const HALF_STEP: usize = 16;
pub(super) const STEP: usize = 2 * HALF_STEP;
/// The initial state of the leaf digests of entries: their tag.
pub(super) const BEGIN: [Goldilocks; WORD] =
    [Goldilocks::new(u32::from_be_bytes(*b"ETHE") as u64), Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO];
/// An address, step or position in a key that nothing looks up.
const NOWHERE: u64 = 1 << 40;
/// Indices of entries are below this: they have two bytes. A block has no room for more entries.
pub(super) const INDICES: u64 = 1 << 16;

/// Steps of the leaf digest of a value of this many bytes.
pub(super) fn steps_of(bytes: usize) -> usize {
    (HALF_STEP + bytes).div_ceil(STEP)
}

/// The lookups between entries and steps. The *address* of a step is the address of the first byte of its words. The
/// first word of a value's first step is not read from the value, so the address of that step is sixteen bytes before
/// the value.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// (number, address, first word) of each step.
    begins: Offers,
    /// (number of the first step of a value, address of the last step, digest).
    digests: Offers,
    /// (number of the first step, address of the last step, word): the last words of a value, padded with zeros.
    tails: [Offers; 2],
}

impl Steps {
    pub(super) fn new<K: Extension>(b: &mut Builder<K>) -> Self {
        Self { begins: b.offers(), digests: b.offers(), tails: [b.offers(), b.offers()] }
    }
}

impl<K: Extension> Gadgets<'_, K> {
    /// The steps of leaf digests, one value after the other: h := f(m; h), where m is the next 32 bytes.
    ///
    /// The first step of a value begins with a word that the prover chooses. The step offers this word, and the entry
    /// demands that it be its own trie, index and length. The last step takes both words from the entry, which pads the
    /// value with zeros.
    pub(super) fn values(&mut self, steps: usize) {
        let tag = self.b.tag(BEGIN[0]);
        let nowhere = self.constant(NOWHERE);
        let mut before = None;
        for i in 0..steps {
            let own = self.constant(i as u64);
            let last = self.b.bit();
            let begin = self.b.any();
            let (first, chain, start, address) = match before {
                None => (self.yes, tag, own, begin),
                Some((chain, start, address)) => {
                    let first = self.b.bit();
                    let [word, _] = free(self.b);
                    let next = self.plus(address, STEP as u64);
                    let chain = self.b.either(word, first, tag, chain);
                    (first, chain, self.b.select(first, own, start), self.b.select(first, begin, next))
                }
            };
            let (chain, [left, right]) = self.b.hash_free(chain);
            let [not_first, not_last] = [first, last].map(|bit| self.b.not(bit));
            let middle = self.b.and(not_first, not_last);
            let [expected] = self.windows(address, middle);
            self.same_word(middle, left, expected);
            let second = self.plus(address, HALF_STEP as u64);
            let [expected] = self.windows(second, not_last);
            self.same_word(not_last, right, expected);
            let alone = self.b.and(not_first, last);
            let Steps { begins, digests, tails } = self.spaces.steps;
            self.b.look_up(tails[0], start, address, left, alone);
            self.b.look_up(tails[1], start, address, right, last);
            self.b.offer(begins, own, address, left);
            let end = self.b.select(last, address, nowhere);
            self.b.offer(digests, start, end, chain.digest());
            before = Some((chain, start, address));
        }
    }

    /// The key of an index below 2^16: the RLP of the index. Offers the key's bytes.
    fn index(&mut self, own: Base, index: Base) -> Key {
        let yes = self.yes;
        let high = self.b.any_of(&[index], |x| Goldilocks::new(x[0].as_u64() >> 8 & 255));
        let low = self.b.any_of(&[index], |x| Goldilocks::new(x[0].as_u64() & 255));
        self.byte(high, yes);
        self.byte(low, yes);
        let sum = self.b.scale_add(Goldilocks::new(256), high, low);
        self.b.equal(sum, index);
        // The forms: `80`; the byte; `81` and the byte; `82` and both bytes.
        let hints: [Hint; 4] = [
            |x| number(x[0].as_u64() == 0),
            |x| number((1..0x80).contains(&x[0].as_u64())),
            |x| number((0x80..0x100).contains(&x[0].as_u64())),
            |x| number(x[0].as_u64() >= 0x100),
        ];
        let forms = hints.map(|hint| self.b.bit_of(&[index], hint));
        let [none, single, one, two] = forms;
        let all = forms[1..].iter().fold(Base::from(none), |sum, &form| self.b.add(sum, form.into()));
        let expected = self.one;
        self.b.equal(all, expected);
        self.vanishes(none, index);
        let not_two = self.b.not(two);
        self.vanishes(not_two, high);
        let most = self.constant(0x7f);
        let below = self.b.sub(most, low);
        let below = self.b.mul(single.into(), below);
        self.byte(below, yes);
        let mut above = self.zero;
        for (form, byte, least) in [(single, low, 1), (one, low, 0x80), (two, high, 1)] {
            let least = self.constant(least);
            let more = self.b.sub(byte, least);
            above = self.b.mul_add(form.into(), more, above);
        }
        self.byte(above, yes);

        let mut first = self.b.mul(single.into(), low);
        for (form, byte) in [(none, 0x80), (one, 0x81), (two, 0x82)] {
            first = self.b.scale_add(Goldilocks::new(byte), form.into(), first);
        }
        let second = self.b.mul(one.into(), low);
        let second = self.b.mul_add(two.into(), high, second);
        let third = self.b.mul(two.into(), low);
        let mut lanes = [self.zero; LANES];
        // The nibble at depth i has weight 16^(14 - i).
        for (byte, shift) in [(first, 52), (second, 44), (third, 36)] {
            lanes[0] = self.b.scale_add(Goldilocks::new(1 << shift), byte, lanes[0]);
        }
        let longer = self.b.or(one, two);
        let keys = self.spaces.key;
        let nowhere = self.constant(NOWHERE);
        for (place, there, byte) in [(0, yes, first), (1, longer, second), (2, two, third)] {
            let place = self.constant(place);
            let place = self.b.select(there, place, nowhere);
            self.b.offer(keys, own, place, Element::from(byte).into());
        }
        let bytes = self.b.scale_add(Goldilocks::new(2), two.into(), one.into());
        let bytes = self.plus(bytes, 1);
        let zero = self.zero;
        Key { own, lanes, depth: self.b.scale_add(Goldilocks::new(2), bytes, zero) }
    }

    /// One slot for a claim about an entry, used or not: present with a value, or absent. Tries and indices rise from
    /// slot to slot.
    pub(super) fn entry(&mut self, own: u64, before: Option<&Ordered>, set: Set) -> Ordered {
        let own = self.constant(own);
        let [active, present] = [(); 2].map(|()| self.b.bit());
        self.implies(present, active);
        let absent = self.b.sub(active.into(), present.into());
        let absent = self.b.boolean(absent);

        let (of_absent, words) = self.chain(b"ETHM", 3);
        let fields = self.limbs(&words, 2);
        let [tag, index] = fields[..] else { unreachable!("two limbs") };
        let yes = self.yes;
        self.same_words(yes, &words, &fields);
        // The tag is from 2 to 4.
        let hints: [Hint; 2] = [|x| number(x[0].as_u64() > 2), |x| number(x[0].as_u64() > 3)];
        let [above, more] = hints.map(|hint| self.b.bit_of(&[tag], hint));
        let sum = self.b.add(above.into(), more.into());
        let sum = self.plus(sum, 2);
        self.b.equal(sum, tag);

        let key = self.index(own, index);
        let number_of = self.plus(tag, ENTRIES);
        let behind = self.constant(NO_ENTRIES);
        let trie = self.b.select(active, number_of, behind);
        let [a, b, c, d, e] = key.lanes;
        let ordered = self.in_order(own, before, Ordered { bit: active, key: [trie, a, b, c, d, e] });

        let [item, of_leaf] = self.present(key, number_of, present);
        let of_way = self.absent(key, number_of, absent);
        let root = self.b.select(present, of_leaf, of_way);
        let [content, length] = self.value(item, present);

        // The bytes of the last step, padded with zeros.
        let (address, start) = (self.b.any(), self.b.any());
        let end = self.b.add(content, length);
        let rest = self.b.sub(end, address);
        let before_value = self.plus(address, HALF_STEP as u64);
        let only = self.b.bit_of(&[before_value, content], |x| number(x[0] == x[1]));
        let difference = self.b.sub(before_value, content);
        self.vanishes(only, difference);
        let tail = self.tail(address, rest, only, present);
        let ([head, digest], last) = (free(self.b), free(self.b));
        // If the first step is also the last one, its first word is the trie, the index and the length.
        let not_only = self.b.not(only);
        let both = self.b.and(present, not_only);
        self.same_words(both, &last[..1], &tail[..WORD]);
        self.same_words(present, &last[1..], &tail[WORD..]);
        let zero = self.zero;
        self.same_words(present, &[head], &[tag, index, zero, length]);
        let nowhere = self.constant(NOWHERE);
        let named = self.b.select(present, start, nowhere);
        let Steps { begins, digests, tails } = self.spaces.steps;
        for (offers, word) in tails.into_iter().zip(last) {
            self.b.offer(offers, named, address, word);
        }
        let sixteen = self.constant(HALF_STEP as u64);
        let begin = self.b.sub(content, sixteen);
        self.b.look_up(begins, start, begin, head, present);
        self.b.look_up(digests, start, address, digest, present);

        self.b.give_at(set, root, digest, present);
        self.b.give_at(set, root, of_absent, absent);
        ordered
    }
    /// The address and the number of bytes of the value in an item, where the bit is 1.
    fn value(&mut self, item: Base, bit: Bool) -> [Base; 2] {
        let first = self.byte_at(item, bit);
        let Header { size, long, next, more } = self.header(item, first, bit);
        let single = self.b.bit_of(&[first], |x| number(x[0].as_u64() < 0x80));
        let one = self.one;
        self.same(single, size, one);
        // A header of one byte announces at least one byte. A single byte with a header is at least 0x80.
        let rest = long.iter().fold(Base::from(single), |sum, &form| self.b.add(sum, form.into()));
        let plain = self.b.sub(bit.into(), rest);
        let plain = self.b.mul(bit.into(), plain);
        let plain = self.b.boolean(plain);
        let alone = self.b.bit_of(&[size], |x| number(x[0] == Goldilocks::new(2)));
        let three = self.constant(3);
        let above = self.b.sub(size, three);
        let above = self.b.add(above, alone.into());
        let above = self.b.mul(plain.into(), above);
        self.byte(above, bit);
        let least = self.constant(0x80);
        let above = self.b.sub(next[0], least);
        let above = self.b.mul(alone.into(), above);
        let above = self.b.mul(plain.into(), above);
        self.byte(above, bit);
        let said = self.b.sub(size, one);
        let said = self.b.mul(plain.into(), said);
        let length = self.b.add(said, more);
        let length = self.b.add(length, single.into());
        let mut content = item;
        for (form, bytes) in [(plain, 1), (long[0], 2), (long[1], 3)] {
            content = self.b.scale_add(Goldilocks::new(bytes), form.into(), content);
        }
        [content, length]
    }
    /// Two words from an address on: the first `bytes` bytes, 1 to 32, then zeros. With `only`, the first word is not
    /// read.
    fn tail(&mut self, address: Base, bytes: Base, only: Bool, bit: Bool) -> Vec<Base> {
        // Flags for the elements of four bytes that lie wholly within the bytes, and for the bytes in the element
        // behind these.
        let whole: [Hint; 2 * WORD] = [
            |x| number(x[0].as_u64() >= 4),
            |x| number(x[0].as_u64() >= 8),
            |x| number(x[0].as_u64() >= 12),
            |x| number(x[0].as_u64() >= 16),
            |x| number(x[0].as_u64() >= 20),
            |x| number(x[0].as_u64() >= 24),
            |x| number(x[0].as_u64() >= 28),
            |x| number(x[0].as_u64() >= 32),
        ];
        let part: [Hint; 3] = [
            |x| number(x[0].as_u64() % 4 >= 1),
            |x| number(x[0].as_u64() % 4 >= 2),
            |x| number(x[0].as_u64() % 4 >= 3),
        ];
        let whole = whole.map(|hint| self.b.bit_of(&[bytes], hint));
        let part = part.map(|hint| self.b.bit_of(&[bytes], hint));
        for flags in [&whole[..], &part] {
            flags.windows(2).for_each(|pair| self.implies(pair[1], pair[0]));
        }
        let nothing = self.b.not(part[0]);
        self.implies(whole[2 * WORD - 1], nothing);
        let mut count = self.zero;
        for (flags, size) in [(&whole[..], 4), (&part, 1)] {
            for &flag in flags {
                count = self.b.scale_add(Goldilocks::new(size), flag.into(), count);
            }
        }
        self.same(bit, count, bytes);
        let some = self.b.or(whole[0], part[0]);
        self.implies(bit, some);
        let more = self.b.or(whole[WORD], part[0]);
        let second = self.b.and(whole[WORD - 1], more);
        let second = self.b.and(second, bit);
        let not_only = self.b.not(only);
        let first = self.b.and(not_only, bit);
        let behind = self.plus(address, HALF_STEP as u64);
        let [[left], [right]] = [(address, first), (behind, second)].map(|(at, bit)| self.windows::<1>(at, bit));
        let elements = self.limbs(&[left, right], 2 * WORD);

        // The end of the whole elements.
        let mut before: Base = self.one;
        let mut ends = Vec::new();
        let mut partial = self.zero;
        for (&flag, &element) in whole.iter().zip(&elements) {
            let end = self.b.sub(before, flag.into());
            partial = self.b.mul_add(end, element, partial);
            ends.push(end);
            before = flag.into();
        }
        let (split, _) = self.bytes_of(partial);
        let mut low = self.zero;
        for (i, (byte, flag)) in split.into_iter().zip(part).enumerate() {
            let there = self.b.mul(flag.into(), byte);
            low = self.b.scale_add(Goldilocks::new(1 << (8 * i)), there, low);
        }
        let kept = whole.iter().zip(elements).zip(ends);
        kept.map(|((&flag, element), end)| {
            let whole = self.b.mul(flag.into(), element);
            self.b.mul_add(end, low, whole)
        })
        .collect()
    }
}
