//! Our verifier of plonky2's proofs, from their bytes.
//!
//! The same verdict as decoding the proof and calling plonky2's verifier, in another order of work: leaves and paths
//! are hashed while they are decoded, each node once and eight at a time; the openings of a query are combined eight
//! columns at a time; a coset is folded by two repeatedly, instead of interpolated. The identity at zeta uses plonky2's
//! gates.

use core::fmt;

use evergrove_primitives::hash::poseidon;
use evergrove_primitives::hash::tree::{self, On};
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::wire::{self, DecodeError, OpenedSnark, Snark, SnarkShape};
use plonky2::field::extension::FieldExtension;
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::types::Field;
use plonky2::fri::FriParams;
use plonky2::hash::hash_types::HashOut;

use super::constraints::{Challenges, Constraints};
use super::fri::{FriCheck, Queries};
use crate::circuit::{F, from_hash, from_plonky, to_hash};
use crate::convert::{shape_of, to_ext};
use crate::keys::{CommonData, VerifierKey};
use crate::prover::{Transcript, Unsupported};

pub(super) type E = QuadraticExtension<F>;

/// Why a proof is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SnarkError {
    /// The bytes are not a proof of this shape.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The circuit has another number of public inputs.
    #[error("{found} public inputs, the circuit has {expected}")]
    PublicInputs {
        /// The number found.
        found: usize,
        /// The number that the circuit has.
        expected: usize,
    },
    /// The constraints do not hold at zeta.
    #[error("the constraints do not hold: at zeta, the combination {challenge} of them is not Z_H times the quotient")]
    Constraints {
        /// Which combination, from 0.
        challenge: usize,
    },
    /// Too little work.
    #[error("the proof of work has {found} leading zero bits, {expected} are needed")]
    ProofOfWork {
        /// The bits found.
        found: u32,
        /// The bits needed.
        expected: u32,
    },
    /// The proof answers another query than the transcript asks.
    #[error("query {query} is answered at position {found}, the transcript asks for {expected}")]
    Index {
        /// Which query, from 0.
        query: usize,
        /// The position of the transcript.
        expected: usize,
        /// The position of the proof.
        found: usize,
    },
    /// The transcript opens the polynomials at a point that it queries: nobody finds such a proof.
    #[error("query {query} asks for a point at which the polynomials are opened")]
    Point {
        /// Which query, from 0.
        query: usize,
    },
    /// A committed layer does not follow from the one before.
    #[error("query {query}: layer {layer} of FRI does not hold what folds from the one before")]
    Fold {
        /// Which query, from 0.
        query: usize,
        /// Which layer, from 0.
        layer: usize,
    },
    /// The final polynomial does not follow from the last layer.
    #[error("query {query}: the final polynomial has another value than folds from the last layer")]
    FinalPolynomial {
        /// Which query, from 0.
        query: usize,
    },
}

/// A verifier's data about a circuit.
pub(crate) struct Check {
    isa: Isa,
    shape: SnarkShape,
    params: FriParams,
    digest: HashOut<F>,
    cap: Vec<Digest>,
    public_inputs: usize,
    constraints: Constraints,
    fri: FriCheck,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("isa", &self.isa).field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Check {
    /// The verifier of a circuit's proofs.
    ///
    /// # Errors
    /// For circuits with zero knowledge, lookups or selectors of another plonky2.
    pub(crate) fn new(isa: Isa, common: &CommonData, key: &VerifierKey) -> Result<Self, Unsupported> {
        if common.config.zero_knowledge || common.fri_params.hiding {
            return Err(Unsupported("zero knowledge".into()));
        }
        if !common.luts.is_empty() || common.num_lookup_polys > 0 {
            return Err(Unsupported("lookups".into()));
        }
        let shape = shape_of(common);
        Ok(Self {
            isa,
            params: common.fri_params.clone(),
            digest: key.circuit_digest,
            cap: key.constants_sigmas_cap.0.iter().map(from_hash).collect(),
            public_inputs: common.num_public_inputs,
            constraints: Constraints::new(common)?,
            fri: FriCheck::new(isa, &shape),
            shape,
        })
    }

    /// Accepts exactly the encodings of proofs of these public inputs, and returns the proof. Does not panic on any
    /// bytes.
    pub(crate) fn verify(&self, bytes: &[u8], public_inputs: &[F]) -> Result<OpenedSnark, SnarkError> {
        let (found, expected) = (public_inputs.len(), self.public_inputs);
        if found != expected {
            return Err(SnarkError::PublicInputs { found, expected });
        }
        let opened = wire::open(bytes, &self.shape, &self.cap, On(self.isa, tree::Poseidon))?;
        let snark = opened.snark();
        let public_inputs: Vec<Goldilocks> = public_inputs.iter().copied().map(from_plonky).collect();
        let public_inputs_hash = to_hash(&poseidon::hash_no_pad(&public_inputs));
        let mut transcript = Transcript::default();
        transcript.observe_params(&self.params);
        transcript.observe_base(&self.digest.elements);
        transcript.observe_base(&public_inputs_hash.elements);
        transcript.observe_cap(&snark.wires_cap);
        let n = self.shape.params().num_challenges;
        let [betas, gammas] = [0, 1].map(|_| transcript.challenges(n));
        transcript.observe_cap(&snark.zs_cap);
        let alphas = transcript.challenges(n);
        transcript.observe_cap(&snark.quotient_cap);
        let zeta = transcript.extension_challenge();
        let challenges = Challenges { betas: &betas, gammas: &gammas, alphas: &alphas, zeta };
        self.constraints.check(&snark.openings, &challenges, &public_inputs_hash)?;

        let o = &snark.openings;
        let at_zeta = [&o.constants, &o.sigmas, &o.wires, &o.zs, &o.partial_products, &o.quotient_polys];
        let elements = |transcript: &mut Transcript, x: &[wire::Ext]| {
            x.iter().flatten().for_each(|x| transcript.observe(*x));
        };
        for batch in at_zeta.into_iter().chain([&o.zs_next]) {
            elements(&mut transcript, batch);
        }
        let alpha = transcript.extension_challenge();
        let betas = (snark.commit_caps.iter())
            .map(|cap| {
                transcript.observe_cap(cap);
                transcript.extension_challenge()
            })
            .collect();
        elements(&mut transcript, &snark.final_poly);
        transcript.observe(snark.pow_witness);
        let (found, expected) =
            (transcript.challenge().as_u64().leading_zeros(), self.params.config.proof_of_work_bits);
        if found < expected {
            return Err(SnarkError::ProofOfWork { found, expected });
        }
        self.indices(snark, &mut transcript)?;
        let values: Vec<_> = at_zeta.into_iter().flatten().map(to_ext).collect();
        let next: Vec<_> = o.zs_next.iter().map(to_ext).collect();
        self.fri.check(snark, &Queries { zeta, alpha, betas, values: &values, next: &next })?;
        Ok(opened)
    }

    /// The proof's queries are the transcript's.
    fn indices(&self, snark: &Snark, transcript: &mut Transcript) -> Result<(), SnarkError> {
        let indices = transcript.queries(snark.queries.len(), self.shape.lde_bits());
        for (query, (expected, found)) in indices.into_iter().zip(&snark.queries).enumerate() {
            let found = found.index as usize;
            if found != expected {
                return Err(SnarkError::Index { query, expected, found });
            }
        }
        Ok(())
    }
}

/// k x.
pub(super) fn scale(x: E, k: F) -> E {
    <E as FieldExtension<2>>::scalar_mul(&x, k)
}

/// n as an element.
pub(super) fn number(n: usize) -> F {
    F::from_canonical_usize(n)
}
