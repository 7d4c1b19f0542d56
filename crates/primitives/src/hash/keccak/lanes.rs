//! One body of Keccak for every instruction set: a state whose words hold the same word of `LANES` independent sponges.
//!
//! The bodies are `#[inline(always)]`, so that they are compiled with the features of the dispatch that calls them.

use super::{DIGEST_BYTES, Function, Many, NODE_BYTES, RATE_BYTES, STATE_WORDS};
use crate::lanes::arch::keccak::{SCALAR, Words, WordsKernel, run};
use crate::lanes::{Kernel, Lanes};

const WORD_BYTES: usize = 8;

/// Round constants of the step iota (FIPS 202, section 3.2.5); a test derives them.
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
    for constant in ROUND_CONSTANTS {
        a = round(isa, &a, constant);
    }
    *state = a;
}

/// One round: theta folded into the reads of rho and pi, one row of chi at a time, so that few words are live at once.
#[inline(always)]
fn round<W: Words>(isa: W, a: &[W::Word; STATE_WORDS], constant: u64) -> [W::Word; STATE_WORDS] {
    let column = |x: usize| isa.xor5([a[x], a[x + 5], a[x + 10], a[x + 15], a[x + 20]]);
    let c = [column(0), column(1), column(2), column(3), column(4)];
    let parity = |x: usize| isa.xor(c[(x + 4) % 5], isa.rotl::<1>(c[(x + 1) % 5]));
    let d = [parity(0), parity(1), parity(2), parity(3), parity(4)];
    let t = |i: usize| isa.xor(a[i], d[i % 5]);
    let chi = |b: [W::Word; 5]| {
        let at = |x: usize| isa.chi(b[x], b[(x + 1) % 5], b[(x + 2) % 5]);
        [at(0), at(1), at(2), at(3), at(4)]
    };
    let [s0, s1, s2, s3, s4] =
        chi([t(0), isa.rotl::<44>(t(6)), isa.rotl::<43>(t(12)), isa.rotl::<21>(t(18)), isa.rotl::<14>(t(24))]);
    let s0 = isa.xor(s0, isa.splat(constant));
    let [s5, s6, s7, s8, s9] = chi([
        isa.rotl::<28>(t(3)),
        isa.rotl::<20>(t(9)),
        isa.rotl::<3>(t(10)),
        isa.rotl::<45>(t(16)),
        isa.rotl::<61>(t(22)),
    ]);
    let [s10, s11, s12, s13, s14] = chi([
        isa.rotl::<1>(t(1)),
        isa.rotl::<6>(t(7)),
        isa.rotl::<25>(t(13)),
        isa.rotl::<8>(t(19)),
        isa.rotl::<18>(t(20)),
    ]);
    let [s15, s16, s17, s18, s19] = chi([
        isa.rotl::<27>(t(4)),
        isa.rotl::<36>(t(5)),
        isa.rotl::<10>(t(11)),
        isa.rotl::<15>(t(17)),
        isa.rotl::<56>(t(23)),
    ]);
    let [s20, s21, s22, s23, s24] = chi([
        isa.rotl::<62>(t(2)),
        isa.rotl::<55>(t(8)),
        isa.rotl::<39>(t(14)),
        isa.rotl::<41>(t(15)),
        isa.rotl::<2>(t(21)),
    ]);
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
    for block in 0..blocks {
        absorb(isa, &mut state[..RATE_BYTES / WORD_BYTES], &messages[block * RATE_BYTES..], bytes, last);
        permute(isa, &mut state);
    }
    let tail = &messages[blocks * RATE_BYTES..];
    let words = bytes % RATE_BYTES / WORD_BYTES;
    absorb(isa, &mut state[..words], tail, bytes, last);
    let end = bytes % WORD_BYTES;
    let word = isa.from_lanes(|lane| {
        let at = lane.min(last) * bytes + words * WORD_BYTES;
        last_word(&tail[at..at + end], domain)
    });
    state[words] = isa.xor(state[words], word);
    finish(isa, state)
}

/// XORs the next words of each message into the front of the state.
#[inline(always)]
fn absorb<W: Words>(isa: W, front: &mut [W::Word], messages: &[u8], stride: usize, last: usize) {
    let mut at = 0;
    for chunk in front.chunks_mut(8) {
        if chunk.len() == 8 {
            let words = isa.load_eight(&messages[at * WORD_BYTES..], stride, last);
            for (word, new) in chunk.iter_mut().zip(words) {
                *word = isa.xor(*word, new);
            }
        } else {
            for (i, word) in chunk.iter_mut().enumerate() {
                let new = isa.from_lanes(|lane| {
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

/// Sets the last bit of the padding and permutes.
#[inline(always)]
fn finish<W: Words>(isa: W, mut state: [W::Word; STATE_WORDS]) -> [W::Word; 4] {
    let end = RATE_BYTES / WORD_BYTES - 1;
    state[end] = isa.xor(state[end], isa.splat(1 << 63));
    permute(isa, &mut state);
    [state[0], state[1], state[2], state[3]]
}

/// [`sponge`] for messages of [`NODE_BYTES`], which fill eight words of one block.
#[inline(always)]
fn node<W: Words>(isa: W, domain: u8, messages: &[u8], last: usize) -> [W::Word; 4] {
    let mut state = [isa.splat(0); STATE_WORDS];
    state[..8].copy_from_slice(&isa.load_eight(messages, NODE_BYTES, last));
    state[8] = isa.splat(u64::from(domain));
    finish(isa, state)
}

impl WordsKernel for Many<'_> {
    #[inline(always)]
    fn run<W: Words>(self, isa: W) {
        let Many { function, messages, message_bytes, digests } = self;
        assert_eq!(Some(messages.len()), message_bytes.checked_mul(digests.len()), "one message per digest");
        let domain = function.domain();
        let hash = |from: usize, last: usize| {
            let messages = &messages[from * message_bytes..];
            if message_bytes == NODE_BYTES {
                node(isa, domain, messages, last)
            } else {
                sponge(isa, domain, messages, message_bytes, last)
            }
        };
        let count = digests.len();
        let whole = count - count % W::LANES;
        for from in (0..whole).step_by(W::LANES) {
            isa.store_digests(hash(from, W::LANES - 1), &mut digests[from..from + W::LANES]);
        }
        if whole < count {
            let mut out = [[0; DIGEST_BYTES]; 8];
            isa.store_digests(hash(whole, count - whole - 1), &mut out[..W::LANES]);
            digests[whole..].copy_from_slice(&out[..count - whole]);
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
