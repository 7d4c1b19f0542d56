//! One body of Keccak for every instruction set: a state whose words hold the same word of `LANES` independent sponges.
//!
//! The bodies are `#[inline(always)]`, so that they are compiled with the features of the dispatch that calls them; closures
//! are not, hence no operation on words is in one.

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

/// Keccak-f\[1600\] of every lane.
#[inline(always)]
fn permute<W: Words>(isa: W, state: &mut [W::Word; STATE_WORDS]) {
    let mut a = *state;
    for &constant in &ROUND_CONSTANTS {
        a = round(isa, &a, constant);
    }
    *state = a;
}

/// Column x of the state, summed.
#[inline(always)]
fn column<W: Words>(isa: W, a: &[W::Word; STATE_WORDS], x: usize) -> W::Word {
    isa.xor5([a[x], a[x + 5], a[x + 10], a[x + 15], a[x + 20]])
}

/// Theta and rho on word i, where `d` is what theta adds to each column.
#[inline(always)]
fn moved<const N: i32, W: Words>(isa: W, a: &[W::Word; STATE_WORDS], d: &[W::Word; 5], i: usize) -> W::Word {
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

/// One round, a row of its result at a time.
///
/// Theta sums its two columns into `d` first, although one instruction could add both to each word: so 30 words are live
/// at once and not 35, which is more than AVX-512 has registers.
#[inline(always)]
fn round<W: Words>(isa: W, a: &[W::Word; STATE_WORDS], constant: u64) -> [W::Word; STATE_WORDS] {
    let c = [column(isa, a, 0), column(isa, a, 1), column(isa, a, 2), column(isa, a, 3), column(isa, a, 4)];
    let d = [
        isa.xor(c[4], isa.rotl::<1>(c[1])),
        isa.xor(c[0], isa.rotl::<1>(c[2])),
        isa.xor(c[1], isa.rotl::<1>(c[3])),
        isa.xor(c[2], isa.rotl::<1>(c[4])),
        isa.xor(c[3], isa.rotl::<1>(c[0])),
    ];
    let [s0, s1, s2, s3, s4] = chi(
        isa,
        [
            moved::<0, W>(isa, a, &d, 0),
            moved::<44, W>(isa, a, &d, 6),
            moved::<43, W>(isa, a, &d, 12),
            moved::<21, W>(isa, a, &d, 18),
            moved::<14, W>(isa, a, &d, 24),
        ],
    );
    let s0 = isa.xor(s0, isa.splat(constant));
    let [s5, s6, s7, s8, s9] = chi(
        isa,
        [
            moved::<28, W>(isa, a, &d, 3),
            moved::<20, W>(isa, a, &d, 9),
            moved::<3, W>(isa, a, &d, 10),
            moved::<45, W>(isa, a, &d, 16),
            moved::<61, W>(isa, a, &d, 22),
        ],
    );
    let [s10, s11, s12, s13, s14] = chi(
        isa,
        [
            moved::<1, W>(isa, a, &d, 1),
            moved::<6, W>(isa, a, &d, 7),
            moved::<25, W>(isa, a, &d, 13),
            moved::<8, W>(isa, a, &d, 19),
            moved::<18, W>(isa, a, &d, 20),
        ],
    );
    let [s15, s16, s17, s18, s19] = chi(
        isa,
        [
            moved::<27, W>(isa, a, &d, 4),
            moved::<36, W>(isa, a, &d, 5),
            moved::<10, W>(isa, a, &d, 11),
            moved::<15, W>(isa, a, &d, 17),
            moved::<56, W>(isa, a, &d, 23),
        ],
    );
    let [s20, s21, s22, s23, s24] = chi(
        isa,
        [
            moved::<62, W>(isa, a, &d, 2),
            moved::<55, W>(isa, a, &d, 8),
            moved::<39, W>(isa, a, &d, 14),
            moved::<41, W>(isa, a, &d, 15),
            moved::<2, W>(isa, a, &d, 21),
        ],
    );
    [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, s16, s17, s18, s19, s20, s21, s22, s23, s24]
}

/// The word that follows the message in its last block: what is left of the message, then the domain byte.
#[inline(always)]
fn last_word(rest: &[u8], domain: u8) -> u64 {
    let mut word = [0; WORD_BYTES];
    word[..rest.len()].copy_from_slice(rest);
    word[rest.len()] = domain;
    u64::from_le_bytes(word)
}

/// The sponges of the messages at `messages[i * bytes..]`, one per lane; lanes after `last` repeat the message `last`.
///
/// Returns the digests, one word of every lane after the other.
#[inline(always)]
fn sponge<W: Words>(isa: W, domain: u8, messages: &[u8], bytes: usize, last: usize) -> [W::Word; 4] {
    let mut state = [isa.splat(0); STATE_WORDS];
    let blocks = bytes / RATE_BYTES;
    for block in 0..=blocks {
        let rest = &messages[block * RATE_BYTES..];
        if block < blocks {
            absorb(isa, &mut state[..RATE_WORDS], rest, bytes, last);
        } else {
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
        permute(isa, &mut state);
    }
    [state[0], state[1], state[2], state[3]]
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

/// [`sponge`] for messages of [`NODE_BYTES`], which fill eight words of one block.
#[inline(always)]
fn node<W: Words>(isa: W, domain: u8, messages: &[u8], last: usize) -> [W::Word; 4] {
    let mut state = [isa.splat(0); STATE_WORDS];
    state[..8].copy_from_slice(&isa.load_eight(messages, NODE_BYTES, last));
    state[8] = isa.splat(u64::from(domain));
    state[RATE_WORDS - 1] = isa.splat(PADDING_END);
    permute(isa, &mut state);
    [state[0], state[1], state[2], state[3]]
}

impl WordsKernel for Many<'_> {
    #[inline(always)]
    fn run<W: Words>(self, isa: W) {
        let Many { function, messages, message_bytes, digests } = self;
        assert_eq!(Some(messages.len()), message_bytes.checked_mul(digests.len()), "one message per digest");
        let domain = function.domain();
        for (i, digests) in digests.chunks_mut(W::LANES).enumerate() {
            let messages = &messages[i * W::LANES * message_bytes..];
            let last = digests.len() - 1;
            let words = if message_bytes == NODE_BYTES {
                node(isa, domain, messages, last)
            } else {
                sponge(isa, domain, messages, message_bytes, last)
            };
            if digests.len() == W::LANES {
                isa.store_digests(words, digests);
            } else {
                let mut out = [[0; DIGEST_BYTES]; LANES];
                isa.store_digests(words, &mut out);
                digests.copy_from_slice(&out[..=last]);
            }
        }
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
