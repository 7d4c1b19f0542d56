//! Words of Solidity's ABI: the static types, each a word of 32 bytes.
//!
//! **What.** An [`AbiType`] says which words are values of a type ([`AbiType::is_canonical`]) and how a value is
//! written ([`AbiType::parse`], [`AbiType::format`]). [`word_elements`] gives a word as field elements.
//!
//! **When.** For rows whose bytes a contract must see: [`openzeppelin`](crate::openzeppelin) hashes them. Types of
//! dynamic length (`string`, `bytes`, arrays) are not supported.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::{Function, reference};

use crate::ethereum::Hex;

/// A word of the ABI, in the order of its bytes.
pub type AbiWord = [u8; WORD_BYTES];

/// Bytes of a word.
pub const WORD_BYTES: usize = 32;
/// Halves of 32 bits of a word.
pub const WORD_HALVES: usize = WORD_BYTES / 4;
/// Bytes of an address.
const ADDRESS_BYTES: usize = 20;
/// Characters of a text that an error repeats.
const EXCERPT: usize = 80;

/// A number of bytes from 1 to 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u8);

impl Width {
    /// The greatest width.
    pub const MAX: Self = Self(WORD_BYTES as u8);

    /// The width of this many bytes; `None` unless it is 1 to 32.
    pub const fn new(bytes: usize) -> Option<Self> {
        if bytes >= 1 && bytes <= WORD_BYTES { Some(Self(bytes as u8)) } else { None }
    }

    /// Its bytes.
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }

    /// Its bits.
    pub const fn bits(self) -> usize {
        8 * self.bytes()
    }
}

/// A static type of Solidity's ABI.
///
/// As text, Solidity's canonical names: `address`, `bool`, `uint8` to `uint256` and `int8` to `int256` in steps of 8,
/// `bytes1` to `bytes32`. The aliases `uint` and `int` are refused, so each list of types has one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AbiType {
    /// 12 bytes of zero, then the address.
    Address,
    /// A number below 2^bits, most significant byte first.
    Uint(Width),
    /// A number from -2^(bits - 1) to 2^(bits - 1) - 1, in two's complement of 256 bits.
    Int(Width),
    /// 0 or 1.
    Bool,
    /// Bytes, then zeros.
    Bytes(Width),
}

impl AbiType {
    /// True when the word is a value of this type, as contracts require of their arguments.
    pub fn is_canonical(self, word: &AbiWord) -> bool {
        let all = |bytes: &[u8], x: u8| bytes.iter().all(|&b| b == x);
        match self {
            Self::Address => all(&word[..WORD_BYTES - ADDRESS_BYTES], 0),
            Self::Uint(width) => all(&word[..WORD_BYTES - width.bytes()], 0),
            Self::Int(width) => {
                let (above, own) = word.split_at(WORD_BYTES - width.bytes());
                all(above, if own[0] & 0x80 == 0 { 0 } else { 0xff })
            }
            Self::Bool => all(&word[..WORD_BYTES - 1], 0) && word[WORD_BYTES - 1] <= 1,
            Self::Bytes(width) => all(&word[width.bytes()..], 0),
        }
    }

    /// The word of a text. Integers are decimal. An address or bytes are `0x` and two hexadecimal digits for every
    /// byte. A bool is `true` or `false`. An address with letters of both cases must have the checksum of EIP-55.
    ///
    /// # Errors
    /// [`AbiError`] if the text is not a value of this type.
    pub fn parse(self, text: &str) -> Result<AbiWord, AbiError> {
        let of = |fault| AbiError { kind: self, text: text.chars().take(EXCERPT).collect(), fault };
        let form = || of(AbiFault::Form);
        let mut word = [0; WORD_BYTES];
        match self {
            Self::Address => {
                decode(text, &mut word[WORD_BYTES - ADDRESS_BYTES..]).ok_or_else(form)?;
                if !text.get(2..).is_some_and(checksum_holds) {
                    return Err(of(AbiFault::Checksum));
                }
            }
            Self::Bytes(width) => decode(text, &mut word[..width.bytes()]).ok_or_else(form)?,
            Self::Bool => match text {
                "true" => word[WORD_BYTES - 1] = 1,
                "false" => {}
                _ => return Err(form()),
            },
            Self::Uint(_) | Self::Int(_) => {
                let (digits, negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
                if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
                    return Err(form());
                }
                for digit in digits.bytes() {
                    add_digit(&mut word, digit - b'0').ok_or_else(|| of(AbiFault::Range))?;
                }
                if negative {
                    negate(&mut word);
                }
                // The sign of the word is that of the number, if the number fits: -0 has no sign.
                let below_zero = matches!(self, Self::Int(_)) && word[0] & 0x80 != 0;
                let wraps = below_zero != negative && word != [0; WORD_BYTES];
                if wraps || !self.is_canonical(&word) {
                    return Err(of(AbiFault::Range));
                }
            }
        }
        Ok(word)
    }

    /// The text of a word, which [`Self::parse`] reads: letters of hexadecimal digits are lower case. A word that is
    /// not a value of this type is written whole, as `bytes32`.
    pub fn format(self, word: &AbiWord) -> String {
        if !self.is_canonical(word) {
            return Hex(word).to_string();
        }
        match self {
            Self::Address => Hex(&word[WORD_BYTES - ADDRESS_BYTES..]).to_string(),
            Self::Bytes(width) => Hex(&word[..width.bytes()]).to_string(),
            Self::Bool => (word[WORD_BYTES - 1] == 1).to_string(),
            Self::Uint(_) => decimal(*word),
            Self::Int(_) if word[0] & 0x80 == 0 => decimal(*word),
            Self::Int(_) => {
                let mut magnitude = *word;
                negate(&mut magnitude);
                format!("-{}", decimal(magnitude))
            }
        }
    }
}

/// A word as field elements: halves of 32 bits, in order, with the first byte of each as the least significant. The
/// circuits of Keccak absorb these elements.
pub fn word_elements(word: &AbiWord) -> [Goldilocks; WORD_HALVES] {
    crate::keccak_tree::to_elements(word)
}

/// False when the hexadecimal digits of an address have letters of both cases that do not match its checksum (EIP-55).
pub fn checksum_holds(digits: &str) -> bool {
    let mixed = digits.bytes().any(|c| c.is_ascii_lowercase()) && digits.bytes().any(|c| c.is_ascii_uppercase());
    let hash = reference::hash(Function::Keccak256, digits.to_ascii_lowercase().as_bytes());
    let upper = |i: usize| hash.get(i / 2).is_some_and(|byte| byte >> (4 * (1 - i % 2)) & 8 != 0);
    let fits = |(i, c): (usize, u8)| !c.is_ascii_alphabetic() || c.is_ascii_uppercase() == upper(i);
    !mixed || digits.bytes().enumerate().all(fits)
}

/// `0x` and two hexadecimal digits for each byte.
fn decode(text: &str, bytes: &mut [u8]) -> Option<()> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16);
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = u8::try_from(16 * digit(pair[0])? + digit(pair[1])?).ok()?;
    }
    Some(())
}

/// word = 10 word + digit; `None` if that is 2^256 or more.
fn add_digit(word: &mut AbiWord, digit: u8) -> Option<()> {
    let mut carry = u16::from(digit);
    for byte in word.iter_mut().rev() {
        let sum = 10 * u16::from(*byte) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
    (carry == 0).then_some(())
}

/// 2^256 - word, modulo 2^256.
fn negate(word: &mut AbiWord) {
    let mut carry = true;
    for byte in word.iter_mut().rev() {
        (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
    }
}

/// A number of 256 bits in decimal digits.
fn decimal(mut word: AbiWord) -> String {
    let mut digits = String::new();
    while word != [0; WORD_BYTES] || digits.is_empty() {
        let mut rest = 0u16;
        for byte in &mut word {
            let x = 256 * rest + u16::from(*byte);
            // Below 2560 / 10.
            *byte = (x / 10) as u8;
            rest = x % 10;
        }
        digits.insert(0, char::from(b'0' + rest as u8));
    }
    digits
}

impl fmt::Display for AbiType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("address"),
            Self::Uint(width) => write!(f, "uint{}", width.bits()),
            Self::Int(width) => write!(f, "int{}", width.bits()),
            Self::Bool => f.write_str("bool"),
            Self::Bytes(width) => write!(f, "bytes{}", width.bytes()),
        }
    }
}

/// A text does not name a static type of the ABI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAbiType(pub String);

impl fmt::Display for UnknownAbiType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown ABI type {:?}: choose address, bool, uint8 to uint256, int8 to int256 or bytes1 to bytes32",
            self.0
        )?;
        match self.0.as_str() {
            alias @ ("uint" | "int") => write!(f, " ({alias} is {alias}256)"),
            "string" | "bytes" => f.write_str(" (types of a dynamic length are not supported)"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for UnknownAbiType {}

impl FromStr for AbiType {
    type Err = UnknownAbiType;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let number = |prefix: &str| {
            let digits = s.strip_prefix(prefix)?;
            let plain = !digits.starts_with('0') && digits.bytes().all(|c| c.is_ascii_digit());
            digits.parse::<usize>().ok().filter(|_| plain)
        };
        let of_bits = |bits: usize| Width::new(bits / 8).filter(|_| bits.is_multiple_of(8));
        let fixed = || match s {
            "address" => Some(Self::Address),
            "bool" => Some(Self::Bool),
            _ => None,
        };
        fixed()
            .or_else(|| Some(Self::Uint(of_bits(number("uint")?)?)))
            .or_else(|| Some(Self::Int(of_bits(number("int")?)?)))
            .or_else(|| Some(Self::Bytes(Width::new(number("bytes")?)?)))
            .ok_or_else(|| UnknownAbiType(s.chars().take(EXCERPT).collect()))
    }
}

/// A text is not a value of an ABI type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbiError {
    /// The type.
    pub kind: AbiType,
    /// The text, shortened.
    pub text: String,
    /// The fault.
    pub fault: AbiFault,
}

/// The fault of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbiFault {
    /// It has another form.
    Form,
    /// Its number is outside the range of the type.
    Range,
    /// Its upper-case letters are not those of its checksum (EIP-55).
    Checksum,
}

impl fmt::Display for AbiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, text, fault } = self;
        match fault {
            AbiFault::Form => write!(f, "{text:?} is not of type {kind}: write ")?,
            AbiFault::Range => write!(f, "{text} is outside the range of {kind}: write ")?,
            AbiFault::Checksum => {
                return write!(f, "address {text} has a wrong checksum (EIP-55): check it, or write it in lower case");
            }
        }
        match kind {
            AbiType::Address => write!(f, "0x and {} hexadecimal digits", 2 * ADDRESS_BYTES),
            AbiType::Uint(width) => write!(f, "a decimal number from 0 to 2^{} - 1", width.bits()),
            AbiType::Int(width) => {
                let bits = width.bits() - 1;
                write!(f, "a decimal number from -2^{bits} to 2^{bits} - 1")
            }
            AbiType::Bool => f.write_str("true or false"),
            AbiType::Bytes(width) => write!(f, "0x and {} hexadecimal digits", 2 * width.bytes()),
        }
    }
}

impl core::error::Error for AbiError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> AbiType {
        text.parse().unwrap()
    }

    fn word(text: &str) -> AbiWord {
        kind("bytes32").parse(&format!("0x{text:0>64}")).unwrap()
    }

    #[test]
    fn types_have_one_text() {
        let mut all = vec!["address".to_string(), "bool".into()];
        for bytes in 1..=WORD_BYTES {
            all.extend([format!("uint{}", 8 * bytes), format!("int{}", 8 * bytes), format!("bytes{bytes}")]);
        }
        for text in all {
            assert_eq!(kind(&text).to_string(), text);
        }
        for bad in [
            "",
            "uint",
            "int",
            "uint0",
            "uint7",
            "uint08",
            "uint+8",
            "uint264",
            "int12",
            "bytes",
            "bytes0",
            "bytes33",
            "bytes032",
            "string",
            "Address",
            " bool",
            "uint8[]",
            "uint99999999999999999999999",
        ] {
            assert_eq!(bad.parse::<AbiType>(), Err(UnknownAbiType(bad.into())));
        }
        let of = |text: &str| text.parse::<AbiType>().unwrap_err().to_string();
        assert!(of("uint").ends_with("(uint is uint256)"), "{}", of("uint"));
        assert!(of("string").ends_with("(types of a dynamic length are not supported)"), "{}", of("string"));
    }

    #[test]
    fn values_have_their_words_and_texts() {
        let ones = "f".repeat(64);
        for (of, text, expected) in [
            ("uint8", "255", "ff"),
            ("uint256", "0", ""),
            ("uint256", "115792089237316195423570985008687907853269984665640564039457584007913129639935", &ones),
            ("int8", "-128", &format!("{}80", &ones[2..])),
            ("int8", "127", "7f"),
            ("int128", "-3", &format!("{}d", &ones[1..])),
            (
                "int256",
                "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
                &format!("80{}", "0".repeat(62)),
            ),
            (
                "int256",
                "57896044618658097711785492504343953926634992332820282019728792003956564819967",
                &format!("7{}", &ones[1..]),
            ),
            ("bool", "true", "1"),
            ("bool", "false", ""),
            ("address", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
            ("bytes4", "0xa9059cbb", &format!("a9059cbb{}", "0".repeat(56))),
        ] {
            let expected = word(expected);
            assert_eq!(kind(of).parse(text), Ok(expected), "{of} {text}");
            assert!(kind(of).is_canonical(&expected));
            assert_eq!(kind(of).format(&expected), text);
        }
        assert_eq!(kind("uint16").parse("007"), Ok(word("7")));
        assert_eq!(kind("int16").parse("-0"), Ok(word("")));
        let checked = kind("address").parse("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
        assert_eq!(checked, kind("address").parse("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"));
        assert!(checked.is_ok());
    }

    #[test]
    fn other_texts_are_refused() {
        for (of, text, expected) in [
            ("uint8", "256", "256 is outside the range of uint8: write a decimal number from 0 to 2^8 - 1"),
            ("uint8", "-1", "-1 is outside the range of uint8: write a decimal number from 0 to 2^8 - 1"),
            ("int8", "128", "128 is outside the range of int8: write a decimal number from -2^7 to 2^7 - 1"),
            ("int8", "+1", "\"+1\" is not of type int8: write a decimal number from -2^7 to 2^7 - 1"),
            ("bool", "1", "\"1\" is not of type bool: write true or false"),
            ("bytes2", "0x123", "\"0x123\" is not of type bytes2: write 0x and 4 hexadecimal digits"),
            ("bytes2", "0x12+3", "\"0x12+3\" is not of type bytes2: write 0x and 4 hexadecimal digits"),
            (
                "address",
                "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
                "address 0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed has a wrong checksum (EIP-55): check it, or write it in lower case",
            ),
        ] {
            assert_eq!(kind(of).parse(text).unwrap_err().to_string(), expected);
        }
        for (of, texts) in [
            (
                "uint256",
                [
                    "",
                    "-",
                    "0x1",
                    "1e3",
                    "115792089237316195423570985008687907853269984665640564039457584007913129639936",
                ],
            ),
            (
                "int256",
                [
                    "57896044618658097711785492504343953926634992332820282019728792003956564819968",
                    "-57896044618658097711785492504343953926634992332820282019728792003956564819969",
                    "-115792089237316195423570985008687907853269984665640564039457584007913129639935",
                    "115792089237316195423570985008687907853269984665640564039457584007913129639935",
                    "--1",
                ],
            ),
        ] {
            for text in texts {
                assert!(kind(of).parse(text).is_err(), "{of} {text}");
            }
        }
    }

    /// A word with one bit too many is not a value, and is shown whole.
    #[test]
    fn words_that_are_no_values() {
        let ones = "f".repeat(64);
        for (of, bad) in [
            ("address", format!("1{}", "0".repeat(40))),
            ("uint8", "100".into()),
            ("uint248", format!("1{}", "0".repeat(62))),
            ("bool", "2".into()),
            ("bool", format!("1{}", "0".repeat(63))),
            ("int8", "80".into()),
            ("int8", format!("0{}", &ones[1..])),
            ("int8", format!("{}7f", &ones[2..])),
            ("bytes4", "a9059cbb".into()),
            ("bytes31", "1".into()),
        ] {
            let bad = word(&bad);
            assert!(!kind(of).is_canonical(&bad), "{of}");
            assert_eq!(kind(of).format(&bad), Hex(&bad).to_string());
        }
    }

    #[test]
    fn halves_have_their_first_byte_least() {
        let halves = word_elements(&word("0102030400000000000000000000000000000000000000000000000000000005"));
        let expected = [0x0403_0201, 0, 0, 0, 0, 0, 0, 0x0500_0000];
        assert_eq!(halves, expected.map(Goldilocks::new));
    }
}
