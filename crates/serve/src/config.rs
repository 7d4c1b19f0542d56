//! Configuration of a service.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use evergrove::commit::BackendSpec;

use crate::{AccessLog, Tls, lock};

/// Least number of bytes of a token: 16 random bytes have 32 hexadecimal digits.
const TOKEN_MIN: usize = 16;

/// Limits and rules of a service.
#[derive(Clone, Debug)]
pub struct Config {
    /// Tokens that callers must show; `None` admits callers without a token.
    pub tokens: Option<Tokens>,
    /// Certificates and key of the service's address; `None` means plain HTTP. The address for probes always has plain
    /// HTTP.
    pub tls: Option<Tls>,
    /// The log of requests, with a line for each request, except for probes at their own address.
    pub access: Option<AccessLog>,
    /// Lets callers without a token read commitments, proofs and their progress. Their answers have no rows and no
    /// positions. They get no proofs of the backend `native` or of applications, because these files contain cells.
    /// They do see which proofs a change makes again, and thus its bucket. A proof may disclose something about its
    /// rows, because proofs are not zero-knowledge.
    pub public_read: bool,
    /// Key files for verifiers of proofs; `None` if the service has none.
    pub key_files: Option<KeyFiles>,
    /// Greatest number of requests with changes that wait for the next epoch. Further requests get status 429.
    pub queue: usize,
    /// Greatest size of a request in bytes. Waiting requests take at most `queue` times as much memory. Requests of the
    /// epoch that is being committed take several times their size; they have at most 8 MiB and the size of two more
    /// requests.
    pub body_bytes: usize,
    /// Time in which a whole request must arrive. A caller may also read nothing of its answer for this long.
    pub body_time: Duration,
    /// How long an epoch waits for further requests after its first one.
    pub gather: Duration,
    /// Commits an epoch only when the proofs of the one before are made or have failed, so each epoch has its proofs.
    /// Answers to changes then wait for proofs. Otherwise epochs are committed while proofs are made, and the next
    /// proofs are those of the last epoch.
    pub prove_each_epoch: bool,
    /// How long a caller waits for the commit of its changes, unless each epoch is proven, or for its turn to read the
    /// store. Then it is told to try again.
    pub answer_time: Duration,
    /// Greatest height to which positions beyond the table double it; `None` refuses such positions.
    pub grow: Option<u8>,
    /// Number of epochs that are kept, with the proofs that batches can still use; `None` keeps all. The epoch of each
    /// last proof is kept too, if it is among the last 1,024 and the disk is not full.
    pub keep: Option<u64>,
    /// How long a leaving service reports that it leaves before it stops, so that a load balancer sends no more
    /// callers. It still answers all requests.
    pub drain: Duration,
    /// How long a stopping service continues with the proofs of its last epoch.
    pub grace: Duration,
    /// Greatest number of open streams of events.
    pub streams: usize,
    /// Greatest number of open connections, including streams of events. Further ones wait until one ends.
    pub connections: usize,
    /// Time for a TLS handshake, and again for the head of a request. A connection also stays open for this long
    /// between two requests.
    pub head_time: Duration,
    /// How long a refresh may run without a task that starts or finishes. The service then gives the refresh up for a
    /// while and reports that it is stalled. `None` waits for ever.
    pub stall: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tokens: None,
            tls: None,
            access: None,
            public_read: false,
            key_files: None,
            queue: 64,
            body_bytes: 1 << 20,
            body_time: Duration::from_secs(30),
            gather: Duration::ZERO,
            prove_each_epoch: false,
            answer_time: Duration::from_secs(60),
            grow: None,
            keep: None,
            drain: Duration::ZERO,
            grace: Duration::from_secs(30),
            streams: 64,
            connections: 256,
            head_time: Duration::from_secs(10),
            stall: None,
        }
    }
}

/// Builds the key file of a backend's proofs. `Ok(None)` if verifiers know no key for them. The error says why the
/// build failed.
type MakeKey = dyn Fn(&BackendSpec) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> + Send + Sync;

/// A key file or the reason why its build failed, and the time of the build.
type Made = (Result<Option<Bytes>, Arc<dyn Error + Send + Sync>>, Instant);

/// Time until a failed build is tried again.
const KEY_RETRY: Duration = Duration::from_secs(60);

/// The key files of backends. Each is built on first use and kept. Clones share the files.
#[derive(Clone)]
pub struct KeyFiles {
    make: Arc<MakeKey>,
    made: Arc<Mutex<Vec<(BackendSpec, Made)>>>,
}

impl KeyFiles {
    /// Key files that `make` builds.
    pub fn new<F>(make: F) -> Self
    where
        F: Fn(&BackendSpec) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    {
        Self { make: Arc::new(make), made: Arc::default() }
    }

    /// The key file of a backend's proofs. The first call takes a second or more. Failures are kept for a minute.
    pub(crate) fn of(&self, spec: &BackendSpec) -> Result<Option<Bytes>, Arc<dyn Error + Send + Sync>> {
        let mut made = lock(&self.made);
        made.retain(|(_, (file, at))| file.is_ok() || at.elapsed() < KEY_RETRY);
        if let Some((_, (file, _))) = made.iter().find(|(of, _)| of == spec) {
            return file.clone();
        }
        let file = (self.make)(spec).map(|file| file.map(Bytes::from)).map_err(Arc::from);
        made.push((spec.clone(), (file.clone(), Instant::now())));
        file
    }
}

impl fmt::Debug for KeyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyFiles(..)")
    }
}

/// The secret that callers send as `Authorization: Bearer ..`. Only its hash is kept, and hashes are compared in
/// constant time.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(blake3::Hash);

/// The text is not a valid token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text has this number of bytes, which is too short to be hard to guess.
    #[error("the token has {0} bytes, expected at least {TOKEN_MIN}")]
    Short(usize),
    /// The text cannot be part of a header.
    #[error("the token has a byte that is not a visible ASCII character")]
    Characters,
}

impl Token {
    /// A token of at least 16 visible ASCII characters. White space around it is ignored.
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

    /// The name in logs for the holder of a token without a name.
    fn short(&self) -> String {
        self.0.to_hex()[..8].to_owned()
    }

    /// The token that a caller shows, valid or not.
    pub(crate) fn shown(text: &[u8]) -> Self {
        Self(blake3::hash(text))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The rights of a token's holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Read.
    Read,
    /// Read, and back up the store.
    Backup,
    /// Read, back up the store, and make changes.
    Write,
}

/// The tokens of a service, which can be replaced while it runs. Clones share the tokens.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<RwLock<Vec<Known>>>);

/// A token of the list.
#[derive(Clone, Debug)]
struct Known {
    right: Right,
    token: Token,
    /// The name of the holder in logs.
    name: String,
}

/// Greatest length of a name. Every token is longer, so a token in place of a name is refused and does not get into
/// logs.
const NAME_MAX: usize = TOKEN_MIN - 1;

/// The text is not a list of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokensError {
    /// A line is not `read TOKEN`, `backup TOKEN` or `write TOKEN`, each with an optional name, or `TOKEN` alone.
    #[error("line {0}: expected read TOKEN [NAME], backup TOKEN [NAME], write TOKEN [NAME], or TOKEN alone")]
    Line(usize),
    /// A name is too long or has an invalid character.
    #[error("line {0}: a name has 1 to {NAME_MAX} letters, digits, or characters of . _ - @")]
    Name(usize),
    /// A token is invalid.
    #[error("line {line}: {source}")]
    Token {
        /// The line, from 1.
        line: usize,
        /// The reason.
        #[source]
        source: TokenError,
    },
    /// The list has no token, so nobody would be admitted.
    #[error("the file has no token")]
    Empty,
}

impl Tokens {
    /// A list of one token, which may write.
    pub fn one(token: Token) -> Self {
        Self(Arc::new(RwLock::new(vec![Known { right: Right::Write, name: token.short(), token }])))
    }

    /// Parses a list with one token per line: `read TOKEN`, `backup TOKEN`, `write TOKEN`, or a token alone, which may
    /// write. In the first three forms, a name for logs may follow the token. It is shorter than any token; by default
    /// it is the first 8 hexadecimal digits of the token's hash. Blank lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// [`TokensError`], which does not show the text.
    pub fn parse(text: &str) -> Result<Self, TokensError> {
        let mut tokens = Vec::new();
        for (line, words) in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).enumerate() {
            let line = line + 1;
            let (right, rest) = match words[..] {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [_] => (Right::Write, &words[..]),
                ["read", ref rest @ ..] => (Right::Read, rest),
                ["backup", ref rest @ ..] => (Right::Backup, rest),
                ["write", ref rest @ ..] => (Right::Write, rest),
                _ => return Err(TokensError::Line(line)),
            };
            let (token, name) = match *rest {
                [token] => (token, None),
                [token, name] => (token, Some(name)),
                _ => return Err(TokensError::Line(line)),
            };
            let token = Token::new(token).map_err(|source| TokensError::Token { line, source })?;
            if name.is_some_and(|name| !is_name(name)) {
                return Err(TokensError::Name(line));
            }
            tokens.push(Known { right, name: name.map_or_else(|| token.short(), str::to_owned), token });
        }
        if tokens.is_empty() { Err(TokensError::Empty) } else { Ok(Self(Arc::new(RwLock::new(tokens)))) }
    }

    /// Admits these tokens from now on, and no others.
    pub fn replace(&self, with: Self) {
        let new = with.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// The right and name of a token's holder. If the list has a token twice, the greater right counts. The time of the
    /// search depends only on the number of tokens.
    pub(crate) fn holder_of(&self, shown: &Token) -> Option<(Right, String)> {
        let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let best = tokens.iter().fold(None, |best: Option<&Known>, known| {
            let better = &known.token == shown && best.is_none_or(|best| best.right < known.right);
            if better { Some(known) } else { best }
        });
        best.map(|known| (known.right, known.name.clone()))
    }
}

impl Config {
    /// True while the token that a caller has shown has this right. Without a list of tokens every caller may do
    /// everything.
    pub(crate) fn allows(&self, shown: Option<&Token>, right: Right) -> bool {
        let has = |(held, _): (Right, String)| held >= right;
        let tokens = self.tokens.as_ref();
        tokens.is_none_or(|tokens| shown.and_then(|shown| tokens.holder_of(shown)).is_some_and(has))
    }
}

fn is_name(text: &str) -> bool {
    text.len() <= NAME_MAX && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_hidden_and_compared_whole() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token == Token::shown(b"0123456789abcdef"));
        for other in [&b""[..], b"0123456789abcde", b"0123456789abcdef0", b"0123456789abcdeF"] {
            assert!(token != Token::shown(other));
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
        assert_eq!(Token::new("0123456789abcde").unwrap_err(), TokenError::Short(15));
        assert_eq!(Token::new("0123456789 abcdef").unwrap_err(), TokenError::Characters);
        assert_eq!(Token::new("0123456789abcdéf").unwrap_err(), TokenError::Characters);
    }

    #[test]
    fn key_files_are_made_once_and_failures_are_kept() {
        use evergrove::commit::BackendChoice;
        use evergrove::proof::{HeightClass, Profile};

        let (asked, made) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(Err("no memory".to_owned()))));
        let files = {
            let (asked, made) = (asked.clone(), made.clone());
            KeyFiles::new(move |_| {
                *asked.lock().unwrap() += 1;
                Ok(made.lock().unwrap().clone()?)
            })
        };
        let choice = BackendChoice::new("native", Profile::Paper);
        let spec = BackendSpec { choice, version: 1, class: HeightClass::ALL[0], capacity: 4, wraps: true };
        for _ in 0..2 {
            assert_eq!(files.of(&spec).unwrap_err().to_string(), "no memory");
        }
        assert_eq!(*asked.lock().unwrap(), 1);
        *made.lock().unwrap() = Ok(Some(vec![7]));
        files.made.lock().unwrap()[0].1.1 -= KEY_RETRY;
        for _ in 0..2 {
            assert_eq!(files.of(&spec).unwrap(), Some(Bytes::from_static(&[7])));
        }
        assert_eq!(*asked.lock().unwrap(), 2);
    }

    #[test]
    fn lists_of_tokens_have_rights_and_are_exchanged() {
        let [reader, writer, old] = ["reader-0123456789", "writer-0123456789", "old-token-0123456789"];
        let text = format!("# ours\n\nread {reader} auditor@example\n  write {writer}\r\n{old}\nread {old} weaker\n");
        let tokens = Tokens::parse(&text).unwrap();
        let holder = |text: &str| tokens.holder_of(&Token::shown(text.as_bytes()));
        let right = |text: &str| holder(text).map(|(right, _)| right);
        assert_eq!([reader, writer, old].map(right), [Some(Right::Read), Some(Right::Write), Some(Right::Write)]);
        assert_eq!(["", "read", "reader-0123456788"].map(right), [None; 3]);
        let name = |text: &str| holder(text).unwrap().1;
        let hash = blake3::hash(writer.as_bytes()).to_hex();
        assert_eq!((name(reader).as_str(), name(writer).as_str()), ("auditor@example", &hash[..8]));
        assert_ne!(name(old), "weaker", "the line with the greater right counts");
        tokens.clone().replace(Tokens::parse(reader).unwrap());
        assert_eq!([reader, writer, old].map(right), [Some(Right::Write), None, None]);
        assert!(!format!("{tokens:?}").contains(reader));
        let error = |text: &str| Tokens::parse(text).unwrap_err().to_string();
        assert_eq!(error("# none\n"), "the file has no token");
        assert_eq!(
            error(&format!("{writer}\nadmin {writer}")),
            "line 2: expected read TOKEN [NAME], backup TOKEN [NAME], write TOKEN [NAME], or TOKEN alone"
        );
        for name in ["a/b", "naïve", &"x".repeat(16), writer] {
            let says = error(&format!("read {reader} {name}"));
            assert_eq!(says, "line 1: a name has 1 to 15 letters, digits, or characters of . _ - @");
            assert!(!says.contains(writer));
        }
        // The words of a line in the wrong order.
        assert_eq!(error(&format!("read auditor {reader}")), "line 1: the token has 7 bytes, expected at least 16");
        assert!(error(&format!("write auditor-of-the-town {writer}")).starts_with("line 1: a name has"));
        for line in ["read", &format!("read {reader} a b"), &format!("{reader} name")] {
            assert!(error(line).starts_with("line 1: "), "{line}");
        }
        assert_eq!(error("read short"), "line 1: the token has 5 bytes, expected at least 16");
    }
}
