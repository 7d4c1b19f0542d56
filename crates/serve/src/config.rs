//! What a service is told.

use std::fmt;
use std::time::Duration;

/// Fewest bytes of a token: 16 random ones in hexadecimal digits are 32.
const TOKEN_MIN: usize = 16;

/// Bounds and rules of a service.
#[derive(Clone, Debug)]
pub struct Config {
    /// What callers have to show; `None` lets everyone in.
    pub token: Option<Token>,
    /// Requests with changes that may wait for the next epoch. Further ones are told to come again.
    pub queue: usize,
    /// Greatest size of a request in bytes. Requests that wait take at most `queue` times as much, and those of the epoch that is
    /// committed, at most 8 MiB and one request, several times their size.
    pub body_bytes: usize,
    /// Time in which the whole of a request has to arrive, and for which a caller may take nothing of its answer.
    pub body_time: Duration,
    /// How long an epoch waits for further requests after the first one.
    pub gather: Duration,
    /// Lets positions beyond the vector double it, up to this height; `None` refuses them.
    pub grow: Option<u8>,
    /// How many epochs are kept, with the proofs that batches can still use; `None` keeps all.
    pub keep: Option<u64>,
    /// How long a service that stops goes on with the proofs of its last epoch.
    pub grace: Duration,
    /// Streams of events that may be open at once.
    pub streams: usize,
    /// Connections that may be open at once, streams of events among them. Further ones wait until one ends.
    pub connections: usize,
    /// Time in which the head of a request has to arrive, and for which a connection stays open between two requests.
    pub head_time: Duration,
    /// How long a refresh may go without any task begun or ended until it is given up for a while, so that epochs do not wait for
    /// workers that are not there; `None` waits for ever.
    pub stall: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            token: None,
            queue: 64,
            body_bytes: 1 << 20,
            body_time: Duration::from_secs(30),
            gather: Duration::ZERO,
            grow: None,
            keep: None,
            grace: Duration::from_secs(30),
            streams: 64,
            connections: 256,
            head_time: Duration::from_secs(10),
            stall: None,
        }
    }
}

/// The secret that callers show as `Authorization: Bearer ..`. Only its hash is kept, and hashes are compared in constant
/// time.
#[derive(Clone)]
pub struct Token(blake3::Hash);

/// A text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is too short to be hard to guess.
    #[error("the token has {0} bytes, expected at least {TOKEN_MIN}")]
    Short(usize),
    /// It can not stand in a header.
    #[error("the token has a byte that is not a visible ASCII character")]
    Characters,
}

impl Token {
    /// A token of at least 16 visible ASCII characters; white space around it does not count.
    ///
    /// # Errors
    /// [`TokenError`], which does not show the text.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(TokenError::Characters);
        }
        if text.len() < TOKEN_MIN {
            return Err(TokenError::Short(text.len()));
        }
        Ok(Self(blake3::hash(text.as_bytes())))
    }

    /// True when `text` is the token. The time depends on the length of `text` alone.
    pub(crate) fn is(&self, text: &[u8]) -> bool {
        self.0 == blake3::hash(text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_hidden_and_compared_whole() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for other in [&b""[..], b"0123456789abcde", b"0123456789abcdef0", b"0123456789abcdeF"] {
            assert!(!token.is(other));
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
        assert_eq!(Token::new("0123456789abcde").unwrap_err(), TokenError::Short(15));
        assert_eq!(Token::new("0123456789 abcdef").unwrap_err(), TokenError::Characters);
        assert_eq!(Token::new("0123456789abcdéf").unwrap_err(), TokenError::Characters);
    }
}
