//! The bits of soundness of a proof, computed from its parameters.
//!
//! A number here is -log2 of the error of one layer per query to the random oracle: an adversary who makes Q queries wins
//! with probability at most about Q times the error. The bits of a layer are the minimum over all of its error terms
//! ([`Terms`]); the bits of a profile are the minimum over its layers. `docs/security.md` derives every formula and names the
//! theorems.

use alloc::vec;
use alloc::vec::Vec;

#[allow(unused_imports, reason = "where any crate uses `std`, its methods are found first")]
use evergrove_primitives::float::Float;

use crate::{FriParams, HeightClass, NodeKind, Profile};

mod formula;
mod grove;

pub use formula::terms;

/// log2 of the order of the field.
pub(crate) const LOG2_P: f64 = 63.999_999_999_664_1;
/// The least and greatest multiplicity tried in the Johnson regime.
const MULTIPLICITIES: core::ops::Range<u32> = 3..1000;

/// Counts of a circuit that soundness depends on. `evergrove-plonky2` compares them with its circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitShape {
    /// R: columns of routed wires.
    pub routed_wires: u32,
    /// W: columns of wires.
    pub wires: u32,
    /// K: columns of constants, selectors included.
    pub constants: u32,
    /// G: the most constraints that one gate has.
    pub gate_constraints: u32,
    /// Quotient polynomials per challenge; constraints have at most one more than this times the number of rows as degree.
    pub quotient_degree_factor: u32,
}

impl CircuitShape {
    /// Bucket and merge: Plonky2's standard widths, with the constants' columns and the largest gate (Poseidon) of ours.
    pub const NODE: Self =
        Self { routed_wires: 80, wires: 135, constants: 6, gate_constraints: 123, quotient_degree_factor: 8 };
    /// The wrap, which needs fewer selectors.
    pub const WRAP: Self = Self { constants: 5, ..Self::NODE };

    /// Z and partial products per challenge: one per group of `quotient_degree_factor` routed wires.
    pub const fn products(&self) -> u32 {
        self.routed_wires.div_ceil(self.quotient_degree_factor)
    }

    /// Polynomials combined by powers of alpha in the opening proof, each counted once per point.
    pub const fn openings(&self, challenges: u32) -> u32 {
        let at_zeta = self.constants
            + self.routed_wires
            + self.wires
            + challenges * (self.products() + self.quotient_degree_factor);
        at_zeta + challenges
    }

    /// Constraints combined by powers of the alphas: those of gates, and for each challenge Z(1) = 1 and the product checks.
    pub const fn constraints(&self, challenges: u32) -> u32 {
        self.gate_constraints + challenges * (1 + self.products())
    }
}

/// The values that the soundness of one layer depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The circuit of the proof.
    pub kind: NodeKind,
    /// Parameters of the argument.
    pub fri: FriParams,
    /// log2 of the folding factor of each FRI step.
    pub arity_bits: Vec<u32>,
    /// Counts of the circuit.
    pub shape: CircuitShape,
    /// m, for the multiset argument of a bucket's canonical digest; `None` if the circuit has no such argument.
    pub bucket_capacity: Option<usize>,
}

/// The belief about Reed-Solomon codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// Up to half the minimum distance: proven (ePrint 2020/654; 2025/2055).
    UniqueDecoding,
    /// Up to the Johnson bound with this multiplicity: ePrint 2025/2055, Theorem 4.2.
    Johnson {
        /// m, the multiplicity of the interpolation.
        multiplicity: u32,
    },
    /// Up to the radius at which random words begin to have close codewords: a conjecture (ePrint 2025/2010, section 1.5).
    RandomWords,
}

/// Bits of each error term of one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Copy constraints: the permutation argument.
    pub permutation: f64,
    /// Combining the constraints by powers of the alphas.
    pub alphas: f64,
    /// Checking the quotient at one random point.
    pub zeta: f64,
    /// Combining the openings into one FRI instance.
    pub batching: f64,
    /// FRI's commit phase: the worst fold.
    pub folds: f64,
    /// FRI's query phase, with grinding.
    pub queries: f64,
    /// The bucket's multiset argument for the canonical digest.
    pub multiset: Option<f64>,
    /// Collisions of a 256-bit digest.
    pub hash: f64,
}

impl Terms {
    /// The terms with their names, in the order in which the protocol runs.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let multiset = self.multiset.map(|bits| ("multiset", bits));
        [
            ("permutation", self.permutation),
            ("alphas", self.alphas),
            ("zeta", self.zeta),
            ("batching", self.batching),
            ("folds", self.folds),
            ("queries", self.queries),
        ]
        .into_iter()
        .chain(multiset)
        .chain([("hash", self.hash)])
    }

    /// The minimum, never below 0.
    pub fn bits(&self) -> f64 {
        self.named().map(|(_, bits)| bits).fold(f64::INFINITY, f64::min).max(0.0)
    }
}

/// Bits of soundness under three beliefs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoundnessBits {
    /// In the unique-decoding regime, without a conjecture about codes.
    pub unique_decoding: f64,
    /// In the Johnson regime, with the best multiplicity.
    pub johnson: f64,
    /// Conjectured: the random-words radius.
    pub conjectured: f64,
}

impl SoundnessBits {
    /// The least of both.
    pub fn min(self, other: Self) -> Self {
        Self {
            unique_decoding: self.unique_decoding.min(other.unique_decoding),
            johnson: self.johnson.min(other.johnson),
            conjectured: self.conjectured.min(other.conjectured),
        }
    }

    /// The bits that remain when an adversary may attack any of `proofs` proofs: the union bound subtracts log2 of
    /// their number.
    pub fn union(self, proofs: u64) -> Self {
        let cost = (proofs.max(1) as f64).log2();
        let less = |bits: f64| (bits - cost).max(0.0);
        Self {
            unique_decoding: less(self.unique_decoding),
            johnson: less(self.johnson),
            conjectured: less(self.conjectured),
        }
    }
}

/// The terms of one layer under the three beliefs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerTerms {
    /// The circuit.
    pub kind: NodeKind,
    /// In the unique-decoding regime.
    pub unique_decoding: Terms,
    /// In the Johnson regime.
    pub johnson: Terms,
    /// The multiplicity that gives the most bits in the Johnson regime.
    pub multiplicity: u32,
    /// With the random-words radius.
    pub conjectured: Terms,
}

impl LayerTerms {
    /// The minimum under each belief.
    pub fn bits(&self) -> SoundnessBits {
        SoundnessBits {
            unique_decoding: self.unique_decoding.bits(),
            johnson: self.johnson.bits(),
            conjectured: self.conjectured.bits(),
        }
    }
}

impl Layer {
    /// All terms of the layer. Tries about 1000 multiplicities; takes well below a millisecond.
    pub fn terms(&self) -> LayerTerms {
        let rows = 2f64.powi(self.fri.degree_bits.into());
        // The degree bounds the useful multiplicities.
        let bound = (0.5 / ((1.0 + 2.0 / rows).sqrt() - 1.0)) as u32;
        let mut best: Option<(u32, Terms)> = None;
        for multiplicity in MULTIPLICITIES.start..MULTIPLICITIES.end.min(bound).max(MULTIPLICITIES.start + 1) {
            let t = terms(self, Regime::Johnson { multiplicity });
            if best.is_none_or(|(_, b)| t.bits() > b.bits()) {
                best = Some((multiplicity, t));
            }
        }
        let first = MULTIPLICITIES.start;
        let (multiplicity, johnson) =
            best.unwrap_or_else(|| (first, terms(self, Regime::Johnson { multiplicity: first })));
        LayerTerms {
            kind: self.kind,
            unique_decoding: terms(self, Regime::UniqueDecoding),
            johnson,
            multiplicity,
            conjectured: terms(self, Regime::RandomWords),
        }
    }
}

/// The layers of a profile of Plonky2: bucket, merge, and the wrap if there is one. A profile of another backend has no
/// layers here.
pub fn layers(profile: Profile, class: HeightClass) -> Vec<Layer> {
    let Some(node) = profile.recursion() else { return Vec::new() };
    let layer = |kind, fri: FriParams, bucket_capacity| {
        let params = crate::wire::SnarkParams::standard(fri, 0, 0);
        let arity_bits = params.arity_bits.into_iter().map(|a| a as u32).collect();
        let shape = if kind == NodeKind::Wrap { CircuitShape::WRAP } else { CircuitShape::NODE };
        Layer { kind, fri, arity_bits, shape, bucket_capacity }
    };
    let mut out =
        vec![layer(NodeKind::Bucket, node, Some(profile.bucket_capacity(class))), layer(NodeKind::Merge, node, None)];
    out.extend(profile.wrap().map(|fri| layer(NodeKind::Wrap, fri, None)));
    out
}

/// The bits of a profile: the minimum over every layer and every error term, for one layer and one query. The bits of
/// grove's profiles are pinned: a test of `evergrove-grove` compares them with the program that computes them from the
/// parameters. [`SoundnessBits::union`] gives the bits over a whole tree of proofs.
pub fn bits(profile: Profile, class: HeightClass) -> SoundnessBits {
    match profile {
        Profile::Proven | Profile::Johnson | Profile::Paper => least(&layers(profile, class)),
        Profile::Grove100 => grove::BITS_100,
        Profile::Grove128 => grove::BITS_128,
    }
}

/// The minimum over layers and their error terms, for one layer and one query; no bits without layers.
pub fn least(layers: &[Layer]) -> SoundnessBits {
    let none = SoundnessBits { unique_decoding: 0.0, johnson: 0.0, conjectured: 0.0 };
    layers.iter().map(|l| l.terms().bits()).reduce(SoundnessBits::min).unwrap_or(none)
}
