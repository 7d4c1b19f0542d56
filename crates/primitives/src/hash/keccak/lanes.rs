//! One body of Keccak for every instruction set: a state whose words hold the same word of `LANES` independent sponges.
//!
//! The bodies are `#[inline(always)]`, so they are compiled with the features of the dispatch that calls them. Closures
//! are not inlined in this way, so no closure contains an operation on words.

use core::hint::black_box;
use core::sync::atomic::{Ordering, compiler_fence};

use super::{DIGEST_BYTES, Function, Many, NODE_BYTES, RATE_BYTES, STATE_WORDS};
use crate::lanes::arch::keccak::{SCALAR, Words, WordsKernel, run};
use crate::lanes::{Kernel, LANES, Lanes};

const WORD_BYTES: usize = 8;
const RATE_WORDS: usize = RATE_BYTES / WORD_BYTES;

/// The last bit of the padding, in the last word of the rate.
const PADDING_END: u64 = 1 << 63;

/// Round constants of the step iota (FIPS 202, section 3.2.5); the reference twin derives them.
const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// The words of a state, each for every lane.
type State<W> = [<W as Words>::Word; STATE_WORDS];

/// Keccak-f\[1600\] of every lane.
#[inline(always)]
fn permute<W: Words>(isa: W, state: &mut State<W>) {
    let mut a = *state;
    for &constant in &ROUND_CONSTANTS {
        a = round(isa, &a, constant);
    }
    *state = a;
}

/// Column x of the state, summed.
#[inline(always)]
fn column<W: Words>(isa: W, a: &State<W>, x: usize) -> W::Word {
    isa.xor5([a[x], a[x + 5], a[x + 10], a[x + 15], a[x + 20]])
}

/// Theta and rho on word i, where `d` is what theta adds to each column.
#[inline(always)]
fn moved<const N: i32, W: Words>(isa: W, a: &State<W>, d: &[W::Word; 5], i: usize) -> W::Word {
    isa.rotl::<N>(isa.xor(a[i], d[i % 5]))
}

/// Chi on one row.
#[inline(always)]
fn chi<W: Words>(isa: W, b: [W::Word; 5]) -> [W::Word; 5] {
    [
        isa.chi(b[0], b[1], b[2]),
        isa.chi(b[1], b[2], b[3]),
        isa.chi(b[2], b[3], b[4]),
        isa.chi(b[3], b[4], b[0]),
        isa.chi(b[4], b[0], b[1]),
    ]
}

/// An even number of rounds of every state. `other` is room for as many states; its contents do not matter.
///
/// Where a state does not fit the registers, rounds go from memory to memory, and the rounds of several states
/// alternate: one fills the gaps while another waits for its columns.
#[inline(always)]
fn rounds<W: Words>(isa: W, states: &mut [State<W>], other: &mut [State<W>], constants: &[[u64; 2]]) {
    if W::STATES == 1 {
        for state in states {
            let mut a = *state;
            for &constant in constants.as_flattened() {
                a = round(isa, &a, constant);
            }
            *state = a;
        }
        return;
    }
    for &[first, second] in constants {
        for (from, to) in states.iter().zip(&mut *other) {
            round_in_memory(isa, from, to, first);
        }
        for (from, to) in other.iter().zip(&mut *states) {
            round_in_memory(isa, from, to, second);
        }
    }
}

/// The rounds that end with a digest. Each state then begins with the digest: the last round computes one row.
#[inline(always)]
fn rounds_to_digests<W: Words>(isa: W, states: &mut [State<W>], other: &mut [State<W>], constants: &[u64]) {
    let (last, constants) = constants.split_last().expect("a round");
    let (pairs, odd) = constants.as_chunks();
    rounds(isa, states, other, pairs);
    for state in states {
        for &constant in odd {
            *state = round(isa, state, constant);
        }
        let row = first_row(isa, state, &theta(isa, state), *last);
        state[..4].copy_from_slice(&row[..4]);
    }
}

/// [`round`] that reads a word when it needs it: words that are kept from theta on would be written to memory a second
/// time.
#[inline(always)]
fn round_in_memory<W: Words>(isa: W, from: &State<W>, to: &mut State<W>, constant: u64) {
    let d = theta(isa, from);
    compiler_fence(Ordering::SeqCst);
    rows(isa, from, &d, constant, to);
}

/// One round.
///
/// Theta first sums its two columns into `d`, although one instruction could add both to each word. So 30 words are
/// live at once instead of 35, which is more than the registers of AVX-512.
#[inline(always)]
fn round<W: Words>(isa: W, a: &State<W>, constant: u64) -> State<W> {
    let mut out = *a;
    rows(isa, a, &theta(isa, a), constant, &mut out);
    out
}

/// The words that theta adds to each column.
#[inline(always)]
fn theta<W: Words>(isa: W, a: &State<W>) -> [W::Word; 5] {
    let c = [column(isa, a, 0), column(isa, a, 1), column(isa, a, 2), column(isa, a, 3), column(isa, a, 4)];
    [
        isa.xor(c[4], isa.rotl::<1>(c[1])),
        isa.xor(c[0], isa.rotl::<1>(c[2])),
        isa.xor(c[1], isa.rotl::<1>(c[3])),
        isa.xor(c[2], isa.rotl::<1>(c[4])),
        isa.xor(c[3], isa.rotl::<1>(c[0])),
    ]
}

/// The first row of a round's result, from which a digest is cut.
#[inline(always)]
fn first_row<W: Words>(isa: W, a: &State<W>, d: &[W::Word; 5], constant: u64) -> [W::Word; 5] {
    let mut row = chi(
        isa,
        [
            moved::<0, W>(isa, a, d, 0),
            moved::<44, W>(isa, a, d, 6),
            moved::<43, W>(isa, a, d, 12),
            moved::<21, W>(isa, a, d, 18),
            moved::<14, W>(isa, a, d, 24),
        ],
    );
    row[0] = isa.xor(row[0], isa.splat(constant));
    row
}

/// The rest of a round, a row of its result at a time.
#[inline(always)]
fn rows<W: Words>(isa: W, a: &State<W>, d: &[W::Word; 5], constant: u64, out: &mut State<W>) {
    out[..5].copy_from_slice(&first_row(isa, a, d, constant));
    let row = chi(
        isa,
        [
            moved::<28, W>(isa, a, d, 3),
            moved::<20, W>(isa, a, d, 9),
            moved::<3, W>(isa, a, d, 10),
            moved::<45, W>(isa, a, d, 16),
            moved::<61, W>(isa, a, d, 22),
        ],
    );
    out[5..10].copy_from_slice(&row);
    let row = chi(
        isa,
        [
            moved::<1, W>(isa, a, d, 1),
            moved::<6, W>(isa, a, d, 7),
            moved::<25, W>(isa, a, d, 13),
            moved::<8, W>(isa, a, d, 19),
            moved::<18, W>(isa, a, d, 20),
        ],
    );
    out[10..15].copy_from_slice(&row);
    let row = chi(
        isa,
        [
            moved::<27, W>(isa, a, d, 4),
            moved::<36, W>(isa, a, d, 5),
            moved::<10, W>(isa, a, d, 11),
            moved::<15, W>(isa, a, d, 17),
            moved::<56, W>(isa, a, d, 23),
        ],
    );
    out[15..20].copy_from_slice(&row);
    let row = chi(
        isa,
        [
            moved::<62, W>(isa, a, d, 2),
            moved::<55, W>(isa, a, d, 8),
            moved::<39, W>(isa, a, d, 14),
            moved::<41, W>(isa, a, d, 15),
            moved::<2, W>(isa, a, d, 21),
        ],
    );
    out[20..].copy_from_slice(&row);
}

/// The word that follows the message in its last block: the rest of the message, then the domain byte.
#[inline(always)]
fn last_word(rest: &[u8], domain: u8) -> u64 {
    let mut word = [0; WORD_BYTES];
    word[..rest.len()].copy_from_slice(rest);
    word[rest.len()] = domain;
    u64::from_le_bytes(word)
}

/// Messages, `bytes` bytes each, for `W::LANES` lanes of each state. Lanes after `last` repeat the message `last`.
#[derive(Clone, Copy)]
struct Batch<'a> {
    domain: u8,
    messages: &'a [u8],
    bytes: usize,
    last: usize,
}

impl Batch<'_> {
    /// The first byte of the messages of a state, and its last lane that is not a repetition.
    #[inline(always)]
    fn of<W: Words>(self, state: usize) -> (usize, usize) {
        let first = state * W::LANES;
        (first * self.bytes, self.last - first)
    }
}

/// The sponges of the messages of a batch. Each state begins with its digests, one word of every lane after the other.
#[inline(always)]
fn sponge<W: Words>(isa: W, batch: Batch<'_>, states: &mut [State<W>], other: &mut [State<W>]) {
    let Batch { domain, messages, bytes, .. } = batch;
    for state in &mut *states {
        *state = [isa.splat(0); STATE_WORDS];
    }
    let blocks = bytes / RATE_BYTES;
    for block in 0..=blocks {
        for (i, state) in states.iter_mut().enumerate() {
            let (start, last) = batch.of::<W>(i);
            let rest = &messages[start + block * RATE_BYTES..];
            if block < blocks {
                absorb(isa, &mut state[..RATE_WORDS], rest, bytes, last);
                continue;
            }
            let words = bytes % RATE_BYTES / WORD_BYTES;
            absorb(isa, &mut state[..words], rest, bytes, last);
            let end = bytes % WORD_BYTES;
            let word = isa.gather(|lane| {
                let at = lane.min(last) * bytes + words * WORD_BYTES;
                last_word(&rest[at..at + end], domain)
            });
            state[words] = isa.xor(state[words], word);
            state[RATE_WORDS - 1] = isa.xor(state[RATE_WORDS - 1], isa.splat(PADDING_END));
        }
        if block < blocks {
            rounds(isa, states, other, ROUND_CONSTANTS.as_chunks().0);
        } else {
            rounds_to_digests(isa, states, other, &ROUND_CONSTANTS);
        }
    }
}

/// XORs the next words of each message into the front of the state.
#[inline(always)]
fn absorb<W: Words>(isa: W, front: &mut [W::Word], messages: &[u8], stride: usize, last: usize) {
    let mut at = 0;
    for chunk in front.chunks_mut(8) {
        if chunk.len() == 8 {
            let words = isa.load_eight(&messages[at * WORD_BYTES..], stride, last);
            for i in 0..8 {
                chunk[i] = isa.xor(chunk[i], words[i]);
            }
        } else {
            for (i, word) in chunk.iter_mut().enumerate() {
                let new = isa.gather(|lane| {
                    let from = lane.min(last) * stride + (at + i) * WORD_BYTES;
                    let bytes = messages[from..from + WORD_BYTES].try_into().expect("eight bytes");
                    u64::from_le_bytes(bytes)
                });
                *word = isa.xor(*word, new);
            }
        }
        at += 8;
    }
}

/// [`sponge`] for messages of [`NODE_BYTES`], which fill eight words of one block. The first round skips the words that
/// are zero.
#[inline(always)]
fn node<W: Words>(isa: W, batch: Batch<'_>, states: &mut [State<W>], other: &mut [State<W>]) {
    let (first, constants) = ROUND_CONSTANTS.split_first().expect("24 rounds");
    for (i, state) in states.iter_mut().enumerate() {
        let (start, last) = batch.of::<W>(i);
        let mut block = [isa.splat(0); STATE_WORDS];
        block[..8].copy_from_slice(&isa.load_eight(&batch.messages[start..], NODE_BYTES, last));
        block[8] = isa.splat(u64::from(batch.domain));
        block[RATE_WORDS - 1] = isa.splat(PADDING_END);
        *state = round(isa, &block, *first);
    }
    rounds_to_digests(isa, states, other, constants);
}

impl WordsKernel for Many<'_> {
    #[inline(always)]
    fn run<W: Words>(self, isa: W) {
        const { assert!(W::STATES == 1 || W::STATES == 2) };
        let Many { function, messages, message_bytes, digests } = self;
        assert_eq!(Some(messages.len()), message_bytes.checked_mul(digests.len()), "one message per digest");
        let many = W::STATES * W::LANES;
        let mut room = [[[isa.splat(0); STATE_WORDS]; 2]; 2];
        for (i, digests) in digests.chunks_mut(many).enumerate() {
            let messages = &messages[i * many * message_bytes..];
            let batch = Batch { domain: function.domain(), messages, bytes: message_bytes, last: digests.len() - 1 };
            if W::STATES == 1 && message_bytes == NODE_BYTES {
                // A state of its own, which keeps it in registers.
                let mut state = [[isa.splat(0); STATE_WORDS]];
                node(isa, batch, &mut state, &mut []);
                store(isa, &state[0], digests);
            } else if W::STATES == 1 {
                let mut state = [[isa.splat(0); STATE_WORDS]];
                sponge(isa, batch, &mut state, &mut []);
                store(isa, &state[0], digests);
            } else {
                let [states, other] = &mut room;
                let used = digests.len().div_ceil(W::LANES);
                // The compiler must assume that other code has these pointers, so a fence keeps the states in memory.
                let (used, other) = (black_box(&mut states[..used]), black_box(&mut other[..used]));
                if message_bytes == NODE_BYTES {
                    node(isa, batch, used, other)
                } else {
                    sponge(isa, batch, used, other)
                }
                for (state, digests) in states.iter().zip(digests.chunks_mut(W::LANES)) {
                    store(isa, state, digests);
                }
            }
        }
    }
}

/// The digests that a state begins with: at most one of each lane.
#[inline(always)]
fn store<W: Words>(isa: W, state: &State<W>, digests: &mut [[u8; DIGEST_BYTES]]) {
    let words = [state[0], state[1], state[2], state[3]];
    if digests.len() == W::LANES {
        isa.store_digests(words, digests);
    } else {
        let mut out = [[0; DIGEST_BYTES]; LANES];
        isa.store_digests(words, &mut out);
        digests.copy_from_slice(&out[..digests.len()]);
    }
}

impl Kernel for Many<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        run(lanes, self);
    }
}

pub(super) fn permute_one(state: &mut [u64; STATE_WORDS]) {
    permute(SCALAR, state);
}

pub(super) fn hash_one(function: Function, message: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut out = [[0; DIGEST_BYTES]];
    let many = Many { function, messages: message, message_bytes: message.len(), digests: &mut out };
    WordsKernel::run(many, SCALAR);
    out[0]
}
