//! The codes of verdicts, the same in every language: the Rust library, the C header, WebAssembly and `vectors/verifier.py`.

use core::fmt;

/// The outcome, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Code {
    /// The proof shows what was asked for.
    Accepted = 0,
    /// The file ends early.
    Truncated = 1,
    /// Bytes or elements follow the end.
    Trailing = 2,
    /// The file is of another kind.
    Magic = 3,
    /// The version of the file is unknown.
    Version = 4,
    /// A record is unknown, missing, duplicate or out of order.
    Record = 5,
    /// A field has a value that no writer gives it.
    Malformed = 6,
    /// An integer that encodes an element is p or more.
    NonCanonical = 7,
    /// The policy does not accept the scheme.
    Scheme = 8,
    /// The backend is not accepted, or not verified by this program.
    UnsupportedBackend = 9,
    /// The policy does not accept the profile.
    Profile = 10,
    /// The height differs from the commitment's, or the circuits are for other heights.
    Height = 11,
    /// The proof is about another table, or about another state of this one.
    WrongRoot = 12,
    /// The rows are not those of the proof.
    WrongRows = 13,
    /// The proof is about another application, or other parameters, than requested.
    Application = 14,
    /// The key has tables that this program does not know.
    UnsupportedTables = 15,
    /// The key file is damaged, or for another key.
    WrongKey = 16,
    /// An equation of the proof does not hold.
    Refused = 17,
    /// The request itself is invalid.
    Usage = 18,
    /// A file cannot be read.
    Unreadable = 19,
    /// The rows do not fit the schema.
    BadRows = 20,
    /// There is no key file, hence no verdict.
    KeyMissing = 21,
}

impl Code {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 22] = [
        Self::Accepted,
        Self::Truncated,
        Self::Trailing,
        Self::Magic,
        Self::Version,
        Self::Record,
        Self::Malformed,
        Self::NonCanonical,
        Self::Scheme,
        Self::UnsupportedBackend,
        Self::Profile,
        Self::Height,
        Self::WrongRoot,
        Self::WrongRows,
        Self::Application,
        Self::UnsupportedTables,
        Self::WrongKey,
        Self::Refused,
        Self::Usage,
        Self::Unreadable,
        Self::BadRows,
        Self::KeyMissing,
    ];

    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Truncated => "truncated",
            Self::Trailing => "trailing",
            Self::Magic => "magic",
            Self::Version => "version",
            Self::Record => "record",
            Self::Malformed => "malformed",
            Self::NonCanonical => "non-canonical",
            Self::Scheme => "scheme",
            Self::UnsupportedBackend => "unsupported-backend",
            Self::Profile => "profile",
            Self::Height => "height",
            Self::WrongRoot => "wrong-root",
            Self::WrongRows => "wrong-rows",
            Self::Application => "application",
            Self::UnsupportedTables => "unsupported-tables",
            Self::WrongKey => "wrong-key",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::Unreadable => "unreadable",
            Self::BadRows => "bad-rows",
            Self::KeyMissing => "key-missing",
        }
    }

    /// The exit code of a command: 0 accepted, 1 refused, 2 wrong usage or unreadable input, 3 no verdict.
    pub const fn exit(self) -> u8 {
        match self {
            Self::Accepted => 0,
            Self::Usage | Self::Unreadable | Self::BadRows => 2,
            Self::KeyMissing => 3,
            _ => 1,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
