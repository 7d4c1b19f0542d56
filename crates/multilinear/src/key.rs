//! Keys: what a verifier must have of the two circuits whose proofs may be proven about, and the end of verification.
//!
//! **The two circuits** have one layout, hence one [`Parameters`]; proofs about proofs take either. Their stacks of fixed columns are one
//! polynomial P, whose highest variable says which.
//!
//! **The digest** of a key is BLAKE3 of its bytes, each eight of them reduced modulo p: format, parameters, both stacks. It is part of every
//! statement, so that a proof about proofs is about those of its own key.
//!
//! **Verified.** [`Key::verify`] is the only way to a [`Verified`]: it checks a proof, its own claim about P and the one among its public
//! inputs.

use std::io::{self, Read, Write};

use evergrove_kernels::mle::eq_table_vec;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};

use crate::circuit::Circuit;
use crate::tables::{BLOCK, BLOCK_LOG, Table, Tables, WORD, bits, query};
use crate::verifier::transcript::Word;
use crate::verifier::{
    Claim, FixedClaim, Machine, Parameters, ParametersError, Refusal, Round, Schedule, read_up_to_fixed, tags,
};
use crate::whir::{chunk_sums, chunk_weights, sum_chunks};

/// What a key's bytes begin with, before the version.
const NAME: u64 = u64::from_le_bytes(*b"evgrkey\0");
/// Tables in the header of a key of version 1. Each further version has one more, the last of which has rows.
const FIRST_TABLES: usize = 7;
/// The last version.
const VERSIONS: u64 = (Table::ALL.len() - FIRST_TABLES + 1) as u64;

/// A key.
#[derive(Clone, Debug)]
pub struct Key<K> {
    parameters: Parameters<K>,
    stacks: [Vec<Goldilocks>; 2],
    digest: Word,
}

/// What a proof says: words of the application's, and a claim about P that it hands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public<W, E> {
    /// The application's.
    pub information: Vec<W>,
    /// A point, with a coordinate for each variable of P. A proof that is about none may hand on any claim: it is checked like every other.
    pub point: Vec<E>,
    /// The value of P there.
    pub value: E,
}

impl<W: Copy, E: Copy> Public<W, E> {
    /// The digest that a statement has.
    pub(crate) fn digest<M: Machine<Word = W, Element = E>>(&self, m: &mut M, key: W) -> W {
        m.begin(tags::PUBLIC_INPUTS);
        let elements: Vec<E> = self.point.iter().copied().chain([self.value]).collect();
        m.observe_elements(&elements);
        observe_words(m, key, self.point.len(), &self.information)
    }
}

/// The end of the digest: key, numbers of words and coordinates, words.
pub(crate) fn observe_words<M: Machine>(
    m: &mut M,
    key: M::Word,
    coordinates: usize,
    information: &[M::Word],
) -> M::Word {
    let counts = m.word([information.len() as u64, coordinates as u64, 0, 0].map(Goldilocks::new));
    m.observe(&[&[key, counts], information].concat());
    m.digest()
}

/// What was verified: nothing else makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    key: Word,
    information: Vec<Word>,
    circuit: bool,
}

impl Verified {
    /// The digest of the key.
    pub fn key(&self) -> Word {
        self.key
    }
    /// The application's words.
    pub fn information(&self) -> &[Word] {
        &self.information
    }
    /// Which of the key's circuits the proof is of.
    pub fn circuit(&self) -> bool {
        self.circuit
    }
}

/// Why a proof is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The proof itself does not hold.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The claim has another number of coordinates.
    #[error("the claim among the public inputs has {given} coordinates: the key's polynomial has {needed} variables")]
    Point {
        /// Coordinates that it has.
        given: usize,
        /// Variables of P.
        needed: usize,
    },
    /// The fixed columns that the proof used are not those of the key.
    #[error("the proof is of another circuit than the key's")]
    Circuit,
    /// The claim among the public inputs is wrong: a proof below is of another circuit than the key's.
    #[error("a proof that this proof is about is of another circuit than the key's")]
    Handed,
}

/// Bytes that are no key.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// They could not be read.
    #[error("the key could not be read: {0}")]
    Io(#[from] io::Error),
    /// They begin otherwise.
    #[error("not a key of version 1 to {VERSIONS}")]
    Format,
    /// A number that no key has.
    #[error("the key is damaged: {0} is out of range")]
    Range(&'static str),
    /// Parameters that do not belong together.
    #[error("the key is damaged: {0}")]
    Parameters(#[from] ParametersError),
    /// Another key.
    #[error("the key has the digest {given}: {expected} is expected")]
    Digest {
        /// Its digest.
        given: Digest,
        /// The digest that was asked for.
        expected: Digest,
    },
}

impl<K: Extension> Key<K> {
    /// The key of two circuits.
    ///
    /// # Panics
    /// Unless both have the tables and the layout of the parameters, publish something, and verify proofs of these parameters, if any; and if a
    /// key is too large to be read.
    pub fn new(parameters: Parameters<K>, circuits: [&Circuit<K>; 2]) -> Self {
        for circuit in circuits {
            assert!(
                circuit.layout() == parameters.layout() && circuit.tables() == parameters.tables(),
                "circuits of the parameters"
            );
            assert!(circuit.publishes(), "a circuit with public inputs");
            assert!(
                circuit.verifies().is_none_or(|verified| *verified == parameters),
                "a verifier of these parameters"
            );
        }
        assert!(parameters.layout().fixed().elements() <= MAX_ELEMENTS, "at most {MAX_ELEMENTS} fixed elements");
        let mut key = Self { parameters, stacks: circuits.map(Circuit::fixed_stack), digest: Word::default() };
        key.digest = key.hash();
        key
    }
    /// The parameters.
    pub fn parameters(&self) -> &Parameters<K> {
        &self.parameters
    }
    /// The digest: see the module.
    pub fn digest(&self) -> Word {
        self.digest
    }
    /// Variables of P.
    pub fn variables(&self) -> usize {
        self.parameters.layout().fixed().variables() + 1
    }

    /// Verifies a proof of one of the two circuits, and with it all proofs that it is about.
    pub fn verify(
        &self,
        proof: &[Goldilocks],
        circuit: bool,
        public: &Public<Word, K>,
    ) -> Result<Verified, VerifyError> {
        let _both_hold = self.claims(proof, circuit, public)?;
        Ok(Verified { key: self.digest, information: public.information.clone(), circuit })
    }
    /// The two claims of a proof, both of which hold.
    pub(crate) fn claims(
        &self,
        proof: &[Goldilocks],
        circuit: bool,
        public: &Public<Word, K>,
    ) -> Result<[Claim<K>; 2], VerifyError> {
        let (given, needed) = (public.point.len(), self.variables());
        if given != needed {
            return Err(VerifyError::Point { given, needed });
        }
        let statement = public.statement(self, circuit);
        let own = || {
            let own = Claim::Fixed(read_up_to_fixed(proof, &self.parameters, &statement)?);
            if self.holds(&own) { Ok(own) } else { Err(VerifyError::Circuit) }
        };
        let handed = Claim::At { point: public.point.clone(), value: public.value };
        let (own, handed_holds) = rayon::join(own, || self.holds(&handed));
        let own = own?;
        if handed_holds { Ok([own, handed]) } else { Err(VerifyError::Handed) }
    }

    /// Whether a claim about P is true. One pass over the stacks, or over one if the claim says which.
    ///
    /// # Panics
    /// If its point has not a coordinate for each variable.
    pub fn holds(&self, claim: &Claim<K>) -> bool {
        let total =
            |sums: Vec<K>, weights: Vec<K>| sums.into_iter().zip(weights).map(|(sum, weight)| sum * weight).sum();
        let (value, claimed): (K, K) = match claim {
            Claim::Fixed(FixedClaim { circuit, point, eta, value }) if *circuit == K::ZERO || *circuit == K::ONE => {
                let stack = &self.stacks[usize::from(*circuit == K::ONE)];
                let sums = chunk_sums(Isa::detect(), stack, &within(&point.r));
                (total(sums, self.chunk_weights(&point.r, *eta)), *value)
            }
            Claim::Fixed(FixedClaim { value, .. }) | Claim::At { value, .. } => {
                let (sums, weights) = self.weighed(claim);
                (total(sums, weights), *value)
            }
        };
        value == claimed
    }

    /// A true claim: the value of P at a point.
    ///
    /// # Panics
    /// Unless the point has a coordinate for each variable.
    pub fn at(&self, point: Vec<K>) -> (Vec<K>, K) {
        let (sums, weights) = self.weighed(&Claim::At { point: point.clone(), value: K::ZERO });
        let value = sums.into_iter().zip(weights).map(|(sum, weight)| sum * weight).sum();
        (point, value)
    }

    /// The sums of P's chunks with the weights of a claim within chunks, and the weight of each chunk.
    pub(crate) fn weighed(&self, claim: &Claim<K>) -> (Vec<K>, Vec<K>) {
        let (point, weights) = match claim {
            Claim::At { point, .. } => {
                assert_eq!(point.len(), self.variables(), "a coordinate for each variable");
                (point, eq_table_vec(&point[BLOCK_LOG..]).expect("few coordinates"))
            }
            Claim::Fixed(FixedClaim { circuit, point, eta, .. }) => {
                let own = self.chunk_weights(&point.r, *eta);
                let weight = |which: K| own.iter().map(move |&weight| weight * which);
                (&point.r, weight(K::ONE - *circuit).chain(weight(*circuit)).collect())
            }
        };
        (self.sums(&within(point)), weights)
    }
    /// The weight of each chunk of a stack in a proof's own claim.
    fn chunk_weights(&self, point: &[K], eta: K) -> Vec<K> {
        let layout = self.parameters.layout();
        let chunks = 1 << (self.variables() - 1 - BLOCK_LOG);
        chunk_weights(chunks, layout.fixed(), |table| layout.shape(table), point, eta)
    }
    /// The sum of each chunk of P with these weights.
    fn sums(&self, within: &[K]) -> Vec<K> {
        let half = 1 << (self.variables() - 1 - BLOCK_LOG);
        let mut sums = Vec::with_capacity(2 * half);
        for stack in &self.stacks {
            let first = sums.len();
            sums.extend(chunk_sums(Isa::detect(), stack, within));
            sums.resize(first + half, K::ZERO);
        }
        sums
    }
    /// The sum of the chunks of P, each with a weight.
    pub(crate) fn sum_chunks(&self, weights: &[K]) -> Vec<K> {
        let (first, second) = weights.split_at(weights.len() / 2);
        let of = |stack: &[Goldilocks], weights| sum_chunks(Isa::detect(), stack, weights);
        let [first, second] = [of(&self.stacks[0], first), of(&self.stacks[1], second)];
        first.into_iter().zip(second).map(|(a, b)| a + b).collect()
    }

    /// The bytes.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let numbers = self.header();
        let version = (self.tables() - FIRST_TABLES + 1) as u64;
        for number in [&[NAME, version, numbers.len() as u64], &numbers[..]].concat() {
            out.write_all(&number.to_le_bytes())?;
        }
        for stack in &self.stacks {
            for part in stack.chunks(BLOCK) {
                let bytes: Vec<u8> = part.iter().flat_map(|x| x.as_u64().to_le_bytes()).collect();
                out.write_all(&bytes)?;
            }
        }
        Ok(())
    }
    /// A key whose digest must be `expected`, with nothing behind it.
    pub fn read(from: &mut impl Read, expected: Word) -> Result<Self, ReadError> {
        Self::read_as(from, |digest| digest, Digest(expected))
    }
    /// [`Self::read`] where `expected` is not the digest, but what `name` makes of it.
    pub fn read_as(
        from: &mut impl Read,
        name: impl FnOnce(Digest) -> Digest,
        expected: Digest,
    ) -> Result<Self, ReadError> {
        let [magic, version] = [take(from)?, take(from)?];
        if magic != NAME || !(1..=VERSIONS).contains(&version) {
            return Err(ReadError::Format);
        }
        let tables = FIRST_TABLES + (version - 1) as usize;
        let count = take(from)?;
        if count > MAX_NUMBERS {
            return Err(ReadError::Range("the number of parameters"));
        }
        let numbers = (0..count).map(|_| take(from)).collect::<io::Result<Vec<u64>>>()?;
        let parameters = decode::<K>(&numbers, tables)?;
        let elements = parameters.layout().fixed().elements();
        if elements > MAX_ELEMENTS {
            return Err(ReadError::Range("the number of fixed elements"));
        }
        let mut stack = || -> Result<Vec<Goldilocks>, ReadError> {
            let mut stack = Vec::new();
            let mut bytes = [0; 8 * BLOCK];
            while stack.len() < elements {
                from.read_exact(&mut bytes)?;
                for word in bytes.as_chunks::<8>().0 {
                    let word = u64::from_le_bytes(*word);
                    stack.push(Goldilocks::from_canonical(word).map_err(|_| ReadError::Range("a fixed column"))?);
                }
            }
            Ok(stack)
        };
        let stacks = [stack()?, stack()?];
        if io::copy(&mut from.take(1), &mut io::sink())? > 0 {
            return Err(ReadError::Range("the length"));
        }
        let mut key = Self { parameters, stacks, digest: Word::default() };
        if key.header() != numbers || key.tables() != tables {
            return Err(ReadError::Range("the order of parameters"));
        }
        key.digest = key.hash();
        let given = name(Digest(key.digest));
        if given != expected {
            return Err(ReadError::Digest { given, expected });
        }
        Ok(key)
    }
    fn hash(&self) -> Word {
        let mut hasher = blake3::Hasher::new();
        self.write(&mut hasher).expect("a hash takes all bytes");
        let digest = *hasher.finalize().as_bytes();
        let mut words = digest.as_chunks::<8>().0.iter();
        core::array::from_fn(|_| Goldilocks::reduce(u64::from_le_bytes(*words.next().expect("32 bytes"))))
    }

    /// Tables in the header: those of version 1, and later ones up to the last that has rows.
    fn tables(&self) -> usize {
        let blocks = self.parameters.layout().blocks();
        blocks.iter().rposition(|&blocks| blocks > 0).map_or(0, |last| last + 1).max(FIRST_TABLES)
    }
    /// The parameters as numbers.
    fn header(&self) -> Vec<u64> {
        let tables = self.parameters.tables();
        let query::Parameters { bits, variables } = *tables.query();
        let mut numbers = vec![K::DEGREE, bits, variables];
        let (widths, zeros) = tables.bits().modes();
        numbers.push(widths.len());
        numbers.extend(widths);
        numbers.push(zeros.len());
        numbers.extend(zeros.iter().flat_map(|range| [range.start, range.end]));
        numbers.extend(&self.parameters.layout().blocks()[..self.tables()]);
        let Schedule { variables, width, rounds } = self.parameters.schedule();
        numbers.extend([*variables, *width]);
        for &Round { fold, rate, queries, cap, grinding, samples } in rounds {
            numbers.extend([fold, rate, queries, cap, grinding, samples]);
        }
        numbers.into_iter().map(|x| x as u64).collect()
    }
}

/// Elements of a stack, at most.
const MAX_ELEMENTS: usize = 1 << 24;
/// Numbers that parameters have at most.
const MAX_NUMBERS: u64 = 256;

fn take(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The weights within a chunk: eq of the row's number within its block.
fn within<K: Extension>(point: &[K]) -> Vec<K> {
    eq_table_vec(&point[..BLOCK_LOG]).expect("few coordinates")
}

/// The parameters that [`Key::header`] wrote.
fn decode<K: Extension>(numbers: &[u64], tables: usize) -> Result<Parameters<K>, ReadError> {
    let mut rest = numbers.iter().map(|&x| x as usize);
    let mut next = |what: &'static str, most: usize| match rest.next() {
        Some(x) if x <= most => Ok(x),
        _ => Err(ReadError::Range(what)),
    };
    if next("the degree of the extension", usize::MAX)? != K::DEGREE {
        return Err(ReadError::Range("the degree of the extension"));
    }
    let query = query::Parameters { bits: next("bits of a query", 32)?, variables: next("variables of a query", 64)? };
    if query.bits == 0 || query.variables == 0 {
        return Err(ReadError::Range("bits or variables of a query"));
    }
    let widths = (0..next("widths of indices", 64)?)
        .map(|_| next("a width of indices", bits::CHUNK))
        .collect::<Result<Vec<_>, _>>()?;
    let zeros = (0..next("ranges of zeros", 64)?)
        .map(|_| {
            let end = next("a range of zeros", bits::COLUMNS - 1)?..next("a range of zeros", bits::COLUMNS)?;
            if end.is_empty() { Err(ReadError::Range("a range of zeros")) } else { Ok(end) }
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
        let mut number = || left.next().ok_or(ReadError::Range("a round"));
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
            return Err(ReadError::Range("a round"));
        }
        rounds.push(round);
    }
    let tables = Tables::new(query, bits::Parameters::new(widths, zeros));
    Ok(Parameters::new(tables, blocks, Schedule { variables, width, rounds })?)
}

const _: () = assert!(WORD * 8 == blake3::OUT_LEN);
