//! Keys of provers: both stacks of fixed columns in memory, in addition to [`evergrove_verifier::key`].

use std::io::{self, Read, Write};

use evergrove_kernels::multilinear::mle::eq_table_vec;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::transcript::Word;
use evergrove_verifier::argument::{Claim, FixedClaim, Parameters};
use evergrove_verifier::key::{
    self, FixedColumns, Header, HeaderError, MAX_ELEMENTS, Public, Verified, VerifyError, chunk_weights, within,
};
use evergrove_verifier::tables::{BLOCK, BLOCK_LOG, WORD};

use crate::circuit::Circuit;
use crate::whir::{chunk_sums, sum_chunks};

/// A key.
#[derive(Clone, Debug)]
pub struct Key<K> {
    parameters: Parameters<K>,
    stacks: [Vec<Goldilocks>; 2],
    digest: Word,
}

/// Bytes that are not a key.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// They could not be read.
    #[error("the key could not be read: {0}")]
    Io(#[from] io::Error),
    /// The first words differ, or have numbers that no key has.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The key has another digest.
    #[error("the key has the digest {given}: {expected} is expected")]
    Digest {
        /// Its digest.
        given: Digest,
        /// The expected digest.
        expected: Digest,
    },
}

impl<K: Extension> Key<K> {
    /// The key of two circuits.
    ///
    /// # Panics
    /// Unless both circuits have the tables and the layout of the parameters, publish something, and verify only proofs
    /// of these parameters; and if a key is too large to be read.
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
        key::variables(&self.parameters)
    }

    /// Verifies a proof of one of the two circuits, and with it all proofs that it verifies.
    pub fn verify(
        &self,
        proof: &[Goldilocks],
        circuit: bool,
        public: &Public<Word, K>,
    ) -> Result<Verified, VerifyError> {
        key::verify(self, proof, circuit, public).map(|(verified, _)| verified)
    }
    /// The two claims of a proof, both of which hold.
    pub(crate) fn claims(
        &self,
        proof: &[Goldilocks],
        circuit: bool,
        public: &Public<Word, K>,
    ) -> Result<[Claim<K>; 2], VerifyError> {
        key::verify(self, proof, circuit, public).map(|(_, claims)| claims)
    }

    /// Whether a claim about P is true. One pass over the stacks, or over one stack if the claim names it.
    ///
    /// # Panics
    /// If its point does not have a coordinate for each variable.
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
        for word in Header(self.parameters.clone()).words() {
            out.write_all(&word.to_le_bytes())?;
        }
        for stack in &self.stacks {
            for part in stack.chunks(BLOCK) {
                let bytes: Vec<u8> = part.iter().flat_map(|x| x.as_u64().to_le_bytes()).collect();
                out.write_all(&bytes)?;
            }
        }
        Ok(())
    }
    /// Reads a key without trailing bytes. The result of `name` for its digest must be `expected`.
    pub fn read(
        from: &mut impl Read,
        name: impl FnOnce(Digest) -> Digest,
        expected: Digest,
    ) -> Result<Self, ReadError> {
        let mut words = vec![take(from)?, take(from)?, take(from)?];
        for _ in 3..Header::<K>::length([words[0], words[1], words[2]])? {
            words.push(take(from)?);
        }
        let Header(parameters) = Header::<K>::read(&words)?;
        let elements = parameters.layout().fixed().elements();
        let mut stack = || -> Result<Vec<Goldilocks>, ReadError> {
            let mut stack = Vec::new();
            let mut bytes = [0; 8 * BLOCK];
            while stack.len() < elements {
                from.read_exact(&mut bytes)?;
                for word in bytes.as_chunks::<8>().0 {
                    let word = u64::from_le_bytes(*word);
                    stack.push(Goldilocks::from_canonical(word).map_err(|_| HeaderError::Range("a fixed column"))?);
                }
            }
            Ok(stack)
        };
        let stacks = [stack()?, stack()?];
        if io::copy(&mut from.take(1), &mut io::sink())? > 0 {
            return Err(HeaderError::Range("the length").into());
        }
        let mut key = Self { parameters, stacks, digest: Word::default() };
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
}

impl<K: Extension> FixedColumns<K> for Key<K> {
    fn parameters(&self) -> &Parameters<K> {
        &self.parameters
    }
    fn digest(&self) -> Word {
        self.digest
    }
    fn hold(&self, [own, handed]: [&Claim<K>; 2]) -> [bool; 2] {
        let (own, handed) = rayon::join(|| self.holds(own), || self.holds(handed));
        [own, handed]
    }
}

fn take(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

const _: () = assert!(WORD * 8 == blake3::OUT_LEN);
