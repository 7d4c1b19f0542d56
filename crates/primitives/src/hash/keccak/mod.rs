//! SHA3-256 (FIPS 202) and Keccak-256 (the same sponge with Keccak's first padding, as Ethereum uses it).
//!
//! [`sha3_256`] and [`keccak_256`] hash one message. [`hash_many`] hashes any number of messages of one length, eight (AVX-512
//! and AVX2) or one at a time; messages of 64 bytes are the nodes of a binary Merkle tree. It chooses the instruction set
//! when it is called, so call it once per chunk of work, inside a thread's closure.
//!
//! One body serves every instruction set; tests compare it with the definition, [`mod@reference`].

mod lanes;
pub mod reference;

use core::fmt;

use crate::lanes::dispatch;

/// Words of 64 bits in the state of Keccak-f\[1600\].
pub const STATE_WORDS: usize = 25;
/// Bytes absorbed per permutation, at a capacity of 512 bits.
pub const RATE_BYTES: usize = 136;
/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 32;
/// Bytes of a node of a binary tree: two digests.
pub const NODE_BYTES: usize = 2 * DIGEST_BYTES;

/// The two hash functions, which differ in the bits that end a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// FIPS 202: the message is followed by the bits 01, then pad10*1.
    Sha3_256,
    /// Keccak as submitted to the competition: pad10*1 alone.
    Keccak256,
}

impl Function {
    /// The byte after the message: domain bits and the first bit of the padding.
    pub const fn domain(self) -> u8 {
        match self {
            Function::Sha3_256 => 0x06,
            Function::Keccak256 => 0x01,
        }
    }
}

/// Buffers whose lengths do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    /// Bytes of all messages together, as given.
    pub bytes: usize,
    /// Bytes of one message, as given.
    pub message_bytes: usize,
    /// Digests that fit in the buffer.
    pub digests: usize,
}

impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LengthMismatch { bytes, message_bytes, digests } = self;
        write!(
            f,
            "{digests} digests of messages of {message_bytes} bytes each need as many messages, but {bytes} bytes are given"
        )
    }
}

impl core::error::Error for LengthMismatch {}

/// SHA3-256 of `message`. One permutation per 136 bytes begun, and one more at a multiple of 136.
pub fn sha3_256(message: &[u8]) -> [u8; DIGEST_BYTES] {
    lanes::hash_one(Function::Sha3_256, message)
}

/// Keccak-256 of `message`, at the cost of [`sha3_256`].
pub fn keccak_256(message: &[u8]) -> [u8; DIGEST_BYTES] {
    lanes::hash_one(Function::Keccak256, message)
}

/// Keccak-f\[1600\] on the words A\[x, y\] = `state[x + 5 * y]`.
pub fn permute(state: &mut [u64; STATE_WORDS]) {
    lanes::permute_one(state);
}

/// Hashes `digests.len()` messages of `message_bytes` bytes each, which lie one after the other in `messages`.
///
/// Errors if `messages.len() != message_bytes * digests.len()`. Any count and any length are allowed. On AVX-512 a
/// count is as expensive as the next multiple of eight, on AVX2 as the next multiple of four.
pub fn hash_many(
    function: Function,
    messages: &[u8],
    message_bytes: usize,
    digests: &mut [[u8; DIGEST_BYTES]],
) -> Result<(), LengthMismatch> {
    if Some(messages.len()) != message_bytes.checked_mul(digests.len()) {
        return Err(LengthMismatch { bytes: messages.len(), message_bytes, digests: digests.len() });
    }
    dispatch(Many { function, messages, message_bytes, digests });
    Ok(())
}

/// The kernel behind [`hash_many`], for [`crate::lanes::dispatch_on`] in tests and for callers that dispatch themselves.
///
/// # Panics
/// When run, if `messages.len() != message_bytes * digests.len()`.
#[derive(Debug)]
pub struct Many<'a> {
    /// The hash function.
    pub function: Function,
    /// The messages, one after the other.
    pub messages: &'a [u8],
    /// Bytes of one message.
    pub message_bytes: usize,
    /// One digest per message.
    pub digests: &'a mut [[u8; DIGEST_BYTES]],
}
