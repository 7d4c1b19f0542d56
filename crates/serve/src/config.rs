//! What a service is told.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use evergrove::commit::BackendSpec;

use crate::{AccessLog, Tls};

/// Fewest bytes of a token: 16 random ones in hexadecimal digits are 32.
const TOKEN_MIN: usize = 16;

/// Bounds and rules of a service.
#[derive(Clone, Debug)]
pub struct Config {
    /// What callers have to show; `None` lets everyone in.
    pub tokens: Option<Tokens>,
    /// Certificates and key of the service's address; `None` speaks plain HTTP. The address for probes is always plain.
    pub tls: Option<Tls>,
    /// Where a line for each request goes, besides those of probes at their own address.
    pub access: Option<AccessLog>,
    /// Lets callers without a token read commitments and proofs, and how far these are. They are told neither rows nor positions. They see
    /// which proofs a change makes again, which is its bucket, and a proof may disclose something of its rows: proofs are not
    /// zero-knowledge.
    pub public_read: bool,
    /// The key files that verifiers of proofs need; `None` where there are none to hand out.
    pub key_files: Option<KeyFiles>,
    /// Requests with changes that may wait for the next epoch. Further ones are told to come again.
    pub queue: usize,
    /// Greatest size of a request in bytes. Requests that wait take at most `queue` times as much, and those of the epoch that is
    /// committed, at most 8 MiB and two requests, several times their size.
    pub body_bytes: usize,
    /// Time in which the whole of a request has to arrive, and for which a caller may take nothing of its answer.
    pub body_time: Duration,
    /// How long an epoch waits for further requests after the first one.
    pub gather: Duration,
    /// Lets positions beyond the vector double it, up to this height; `None` refuses them.
    pub grow: Option<u8>,
    /// How many epochs are kept, with the proofs that batches can still use; `None` keeps all.
    pub keep: Option<u64>,
    /// How long a service that is told to leave says so before it stops, so that a load balancer sends no more callers. It answers all
    /// requests meanwhile.
    pub drain: Duration,
    /// How long a service that stops goes on with the proofs of its last epoch.
    pub grace: Duration,
    /// Streams of events that may be open at once.
    pub streams: usize,
    /// Connections that may be open at once, streams of events among them. Further ones wait until one ends.
    pub connections: usize,
    /// Time in which a handshake of TLS and the head of a request have to arrive, each, and for which a connection stays open between two
    /// requests.
    pub head_time: Duration,
    /// How long a refresh may go without any task begun or ended until it is given up for a while, so that epochs do not wait for
    /// workers that are not there; `None` waits for ever.
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

/// Makes the key file of a backend's proofs, `None` of one whose proofs have no key that verifiers know. Says why it failed.
type MakeKey = dyn Fn(&BackendSpec) -> Result<Option<Vec<u8>>, String> + Send + Sync;

/// A key file that was made, or why it was not, and when.
type Made = (Result<Option<Bytes>, String>, Instant);

/// How long a key file that could not be made is not tried again.
const KEY_RETRY: Duration = Duration::from_secs(60);

/// The key files of backends. Each is made when it is first asked for, and kept. Clones share them.
#[derive(Clone)]
pub struct KeyFiles {
    make: Arc<MakeKey>,
    made: Arc<Mutex<Vec<(BackendSpec, Made)>>>,
}

impl KeyFiles {
    /// Those that `make` makes.
    pub fn new(make: impl Fn(&BackendSpec) -> Result<Option<Vec<u8>>, String> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), made: Arc::default() }
    }

    /// The key file of a backend's proofs. Takes a second or more the first time. A failure is kept for a minute.
    pub(crate) fn of(&self, spec: &BackendSpec) -> Result<Option<Bytes>, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|(_, (file, at))| file.is_ok() || at.elapsed() < KEY_RETRY);
        if let Some((_, (file, _))) = made.iter().find(|(of, _)| of == spec) {
            return file.clone();
        }
        let file = (self.make)(spec).map(|file| file.map(Bytes::from));
        made.push((spec.clone(), (file.clone(), Instant::now())));
        file
    }
}

impl fmt::Debug for KeyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyFiles(..)")
    }
}

/// The secret that callers show as `Authorization: Bearer ..`. Only its hash is kept, and hashes are compared in constant
/// time.
#[derive(Clone, PartialEq, Eq)]
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

    /// What logs call the holder of a token without a name.
    fn short(&self) -> String {
        self.0.to_hex()[..8].to_owned()
    }

    /// What a caller has shown, whatever it is.
    pub(crate) fn shown(text: &[u8]) -> Self {
        Self(blake3::hash(text))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// What the holder of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Ask.
    Read,
    /// Ask, and back up the store.
    Backup,
    /// Ask, back up, and make changes.
    Write,
}

/// The tokens of a service, which can be exchanged while it runs. Clones are the same tokens.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<RwLock<Vec<Known>>>);

/// A token of the list.
#[derive(Clone, Debug)]
struct Known {
    right: Right,
    token: Token,
    /// What logs call its holder.
    name: String,
}

/// Longest name of a token: shorter than every token, so that a token in the place of a name is refused and in no log.
const NAME_MAX: usize = TOKEN_MIN - 1;

/// A text is not a list of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokensError {
    /// A line is not `read TOKEN`, `backup TOKEN`, `write TOKEN`, each with a name behind it or without, or `TOKEN`.
    #[error("line {0}: expected read TOKEN [NAME], backup TOKEN [NAME], write TOKEN [NAME], or TOKEN alone")]
    Line(usize),
    /// A name will not do.
    #[error("line {0}: a name has 1 to {NAME_MAX} letters, digits, or characters of . _ - @")]
    Name(usize),
    /// A token will not do.
    #[error("line {line}: {source}")]
    Token {
        /// The line, from 1.
        line: usize,
        /// Why.
        #[source]
        source: TokenError,
    },
    /// Nobody could get in.
    #[error("the file has no token")]
    Empty,
}

impl Tokens {
    /// One token, which may write.
    pub fn one(token: Token) -> Self {
        Self(Arc::new(RwLock::new(vec![Known { right: Right::Write, name: token.short(), token }])))
    }

    /// Those of a text with one a line: `read TOKEN`, `backup TOKEN`, `write TOKEN`, or a token alone, which may write. A name for logs, shorter
    /// than any token, may follow the token of the first three; without one it is the first 8 hexadecimal digits of the token's hash. Blank
    /// lines and lines that begin with `#` are skipped.
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

    /// Lets these tokens in from now on, and no others.
    pub fn replace(&self, with: Self) {
        let new = with.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// What the holder of a token may do, and its name. The search takes a time that depends on the number of tokens alone.
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
    /// True while the token that a caller has shown has this right. Without tokens everybody may do everything.
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
                made.lock().unwrap().clone()
            })
        };
        let choice = BackendChoice::new("native", Profile::Paper);
        let spec = BackendSpec { choice, version: 1, class: HeightClass::ALL[0], capacity: 4, wraps: true };
        for _ in 0..2 {
            assert_eq!(files.of(&spec), Err("no memory".into()));
        }
        assert_eq!(*asked.lock().unwrap(), 1);
        *made.lock().unwrap() = Ok(Some(vec![7]));
        files.made.lock().unwrap()[0].1.1 -= KEY_RETRY;
        for _ in 0..2 {
            assert_eq!(files.of(&spec), Ok(Some(Bytes::from_static(&[7]))));
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
