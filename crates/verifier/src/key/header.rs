//! The beginning of a key: its version and parameters.

use alloc::vec::Vec;
use core::fmt;

use evergrove_primitives::field::extension::Extension;

use crate::argument::{Parameters, ParametersError, Round, Schedule};
use crate::tables::{BLOCK, Table, Tables, bits, query};

/// The first bytes of a key, before the version.
const NAME: u64 = u64::from_le_bytes(*b"evgrkey\0");
/// Tables in the header of a key of version 1. Each further version has one more table, and its last table has rows.
const FIRST_TABLES: usize = 7;
/// The last supported version: without the feature `mpt` that of the tables up to Keccak's.
const VERSIONS: u64 = (LAST_TABLES - FIRST_TABLES + 1) as u64;
const LAST_TABLES: usize = if cfg!(feature = "mpt") { Table::ALL.len() } else { Table::KeccakGate as usize };
/// The greatest number of elements of a stack.
pub const MAX_ELEMENTS: usize = 1 << 23;
/// The greatest number of places and elements of all tables.
const MAX_PLACES: u64 = 1 << 30;
/// The greatest number of numbers in parameters.
const MAX_NUMBERS: u64 = 256;

/// The header of a key: words of eight bytes, least significant first. They are the name, the version, the number of
/// numbers, and the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<K>(pub Parameters<K>);

/// Words that are not the header of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The first words differ.
    Format,
    /// A number that no key has.
    Range(&'static str),
    /// Inconsistent parameters.
    Parameters(ParametersError),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => write!(f, "not a key of version 1 to {VERSIONS}"),
            Self::Range(what) => write!(f, "the key is damaged: {what} is out of range"),
            Self::Parameters(e) => write!(f, "the key is damaged: {e}"),
        }
    }
}

impl core::error::Error for HeaderError {}

impl From<ParametersError> for HeaderError {
    fn from(e: ParametersError) -> Self {
        Self::Parameters(e)
    }
}

impl<K: Extension> Header<K> {
    /// The number of words in a header that begins with these three.
    ///
    /// # Errors
    /// When no key begins with them.
    pub fn length([name, version, count]: [u64; 3]) -> Result<usize, HeaderError> {
        if name != NAME || !(1..=VERSIONS).contains(&version) {
            return Err(HeaderError::Format);
        }
        if count > MAX_NUMBERS {
            return Err(HeaderError::Range("the number of parameters"));
        }
        Ok(3 + count as usize)
    }

    /// The header in these words, all of them.
    ///
    /// # Errors
    /// [`HeaderError`].
    pub fn read(words: &[u64]) -> Result<Self, HeaderError> {
        let Some((&[name, version, count], numbers)) = words.split_first_chunk() else {
            return Err(HeaderError::Format);
        };
        if Self::length([name, version, count])? != words.len() {
            return Err(HeaderError::Range("the number of parameters"));
        }
        let tables = FIRST_TABLES + (version - 1) as usize;
        let header = Self(decode(numbers, tables)?);
        if header.0.layout().fixed().elements() > MAX_ELEMENTS {
            return Err(HeaderError::Range("the number of fixed elements"));
        }
        // Each header has one form.
        if header.words() != words {
            return Err(HeaderError::Range("the order of parameters"));
        }
        Ok(header)
    }

    /// The words.
    pub fn words(&self) -> Vec<u64> {
        let numbers = self.numbers();
        let version = (self.tables() - FIRST_TABLES + 1) as u64;
        [&[NAME, version, numbers.len() as u64], &numbers[..]].concat()
    }

    /// Tables in the header: those of version 1, and later ones up to the last that has rows.
    fn tables(&self) -> usize {
        let blocks = self.0.layout().blocks();
        blocks.iter().rposition(|&blocks| blocks > 0).map_or(0, |last| last + 1).max(FIRST_TABLES)
    }
    /// The parameters as numbers.
    fn numbers(&self) -> Vec<u64> {
        let tables = self.0.tables();
        let query::Parameters { bits, variables } = *tables.query();
        let mut numbers = [K::DEGREE, bits, variables].to_vec();
        let (widths, zeros) = tables.bits().modes();
        numbers.push(widths.len());
        numbers.extend(widths);
        numbers.push(zeros.len());
        numbers.extend(zeros.iter().flat_map(|range| [range.start, range.end]));
        numbers.extend(&self.0.layout().blocks()[..self.tables()]);
        let Schedule { variables, width, rounds } = self.0.schedule();
        numbers.extend([*variables, *width]);
        for &Round { fold, rate, queries, cap, grinding, samples } in rounds {
            numbers.extend([fold, rate, queries, cap, grinding, samples]);
        }
        numbers.into_iter().map(|x| x as u64).collect()
    }
}

/// The parameters that [`Header::numbers`] wrote.
fn decode<K: Extension>(numbers: &[u64], tables: usize) -> Result<Parameters<K>, HeaderError> {
    let mut rest = numbers.iter().map(|&x| usize::try_from(x).unwrap_or(usize::MAX));
    let mut next = |what: &'static str, most: usize| match rest.next() {
        Some(x) if x <= most => Ok(x),
        _ => Err(HeaderError::Range(what)),
    };
    if next("the degree of the extension", usize::MAX)? != K::DEGREE {
        return Err(HeaderError::Range("the degree of the extension"));
    }
    let query = query::Parameters { bits: next("bits of a query", 32)?, variables: next("variables of a query", 64)? };
    if query.bits == 0 || query.variables == 0 {
        return Err(HeaderError::Range("bits or variables of a query"));
    }
    let widths = (0..next("widths of indices", 64)?)
        .map(|_| next("a width of indices", bits::CHUNK))
        .collect::<Result<Vec<_>, _>>()?;
    let zeros = (0..next("ranges of zeros", 64)?)
        .map(|_| {
            let end = next("a range of zeros", bits::COLUMNS - 1)?..next("a range of zeros", bits::COLUMNS)?;
            if end.is_empty() { Err(HeaderError::Range("a range of zeros")) } else { Ok(end) }
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut blocks = [0; Table::ALL.len()];
    for blocks in &mut blocks[..tables] {
        *blocks = next("blocks of a table", 1 << 11)?;
    }
    let (variables, width) = (next("variables of the stack", 64)?, next("columns of the stack", 1 << 20)?);
    let mut rounds = Vec::new();
    let mut left = rest.collect::<Vec<_>>().into_iter();
    while let Some(fold) = left.next() {
        let mut number = || left.next().ok_or(HeaderError::Range("a round"));
        let round = Round {
            fold,
            rate: number()?,
            queries: number()?,
            cap: number()?,
            grinding: number()?,
            samples: number()?,
        };
        let fits = [round.fold, round.rate, round.cap, round.grinding, round.samples].iter().all(|&x| x <= 64);
        if !fits || round.queries > 1 << 16 {
            return Err(HeaderError::Range("a round"));
        }
        rounds.push(round);
    }
    let tables = Tables::new(query, bits::Parameters::new(widths, zeros));
    // Places on the bus and elements of the stacks, for all tables together: numbers derived from them must have 32
    // bits.
    let places = Table::ALL.into_iter().zip(blocks).map(|(table, blocks)| {
        let each = tables.columns(table) + tables.fixed(table) + tables.ports_of(table);
        each.next_power_of_two() as u64 * BLOCK as u64 * blocks.next_power_of_two() as u64
    });
    if places.sum::<u64>() > MAX_PLACES {
        return Err(HeaderError::Range("the size of the tables"));
    }
    Ok(Parameters::new(tables, blocks, Schedule { variables, width, rounds })?)
}
