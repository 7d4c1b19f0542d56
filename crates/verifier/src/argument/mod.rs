//! The verifier of a proof of a circuit, written once for programs and for circuits.
//!
//! **What.** [`verify`], or [`read_up_to_fixed`] for a program, checks everything about a proof except one thing: that
//! the fixed columns are those of the circuit. That is a claim about the stack of fixed columns, [`FixedClaim`].
//! **Nothing is verified before this claim is checked**, by the verifier at the root. A circuit hands it on, together
//! with the claims that it received, as one claim ([`reduce`]).
//!
//! **Machines.** A verifier runs on a [`Machine`]: [`Reader`] for programs,
//! `InCircuit` of `evergrove-multilinear` for circuits.

mod bus;
mod claims;
mod machine;
mod paths;
pub mod points;
mod reader;
pub mod rows;
pub mod soundness;
pub mod transcript;
mod whir;

use core::fmt;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use crate::tables::permutation::RATE;
use crate::tables::{BLOCK_LOG, Layout, PUBLIC, Stack, TUPLE, Table, Tables, WORD, bits};

pub use claims::{Claim, FixedClaim, Reduced, reduce};
pub use claims::{counts, observe_claims};
pub use machine::Machine;
pub use reader::{Reader, Refusal};
pub use whir::{JOHNSON_128, Round, Schedule, UNIQUE_100};

/// The initial states of hashes. 0 is that of inner nodes. All are different, so no hash has two meanings.
pub mod tags {
    use evergrove_primitives::Goldilocks;

    /// A proof's transcript.
    pub const TRANSCRIPT: Goldilocks = Goldilocks::new(0x7472_616e);
    /// The transcript that reduces claims about fixed columns.
    pub const CLAIMS: Goldilocks = Goldilocks::new(0x636c_6169);
    /// Public inputs.
    pub const PUBLIC_INPUTS: Goldilocks = Goldilocks::new(0x7075_626c);
    /// A leaf of elements of F.
    pub const BASE_ORACLE: Goldilocks = Goldilocks::new(0x6261_7365);
    /// A leaf of elements of K.
    pub const EXTENSION_ORACLE: Goldilocks = Goldilocks::new(0x6578_7465);
}

/// The parameters of a circuit that a verifier must know, besides its fixed columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters<K> {
    tables: Tables<K>,
    layout: Layout,
    schedule: Schedule,
}

/// Parameters that are inconsistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParametersError {
    /// The first oracle does not hold the stack.
    Stack {
        /// Elements of the stack.
        elements: usize,
        /// Variables of the schedule.
        variables: usize,
        /// Columns of its first oracle.
        width: usize,
    },
    /// A leaf does not consist of whole blocks.
    Leaf {
        /// The oracle.
        oracle: usize,
        /// Elements of its leaves.
        elements: usize,
    },
    /// There are no rows of permutations.
    Permutations,
    /// An impossible oracle.
    Round {
        /// The oracle.
        oracle: usize,
        /// log2 of the domain's size over that of the table.
        rate: usize,
        /// log2 of its leaves.
        depth: usize,
        /// log2 of the digests of its cap.
        cap: usize,
        /// Leaves that are opened.
        queries: usize,
        /// Bits of the proof of work.
        grinding: usize,
    },
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack { elements, variables, width } => {
                write!(f, "a stack of {elements} elements and a first oracle of 2^{variables} in {width} columns")
            }
            Self::Leaf { oracle, elements } => {
                write!(f, "a leaf of oracle {oracle} has {elements} elements: a multiple of {RATE} is needed")
            }
            Self::Permutations => f.write_str("a circuit without permutations: its columns could not be committed to"),
            Self::Round { oracle, rate, depth, cap, queries, grinding } => write!(
                f,
                "oracle {oracle}: rate 2^-{rate}, {depth} bits of an index, {cap} of them in the cap, {queries} queries, a proof of work of {grinding} bits"
            ),
        }
    }
}

impl core::error::Error for ParametersError {}

impl<K: Extension> Parameters<K> {
    /// Tables with these numbers of blocks, in the order of [`Table::ALL`], opened by this schedule.
    pub fn new(
        tables: Tables<K>,
        blocks: [usize; Table::ALL.len()],
        schedule: Schedule,
    ) -> Result<Self, ParametersError> {
        let layout = Layout::new(&tables, blocks);
        if layout.shape(Table::Permutation).is_none() {
            return Err(ParametersError::Permutations);
        }
        let &Schedule { variables, width, ref rounds } = &schedule;
        let elements = layout.committed().elements();
        let stack = ParametersError::Stack { elements, variables, width };
        if rounds.is_empty() || variables > MAX_VARIABLES || rounds.iter().any(|round| round.fold > MAX_FOLD) {
            return Err(stack);
        }
        let folds: usize = rounds.iter().map(|round| round.fold).sum();
        let first = rounds[0].fold;
        // Openings work on chunks of 512 places.
        let fits = folds <= variables && first + BLOCK_LOG <= variables && width <= 1 << first;
        if !fits || elements as u64 > (width as u64) << (variables - first) {
            return Err(stack);
        }
        for (oracle, round) in rounds.iter().enumerate() {
            let elements = if oracle == 0 { width } else { K::DEGREE << round.fold };
            if !elements.is_multiple_of(RATE) || elements == 0 {
                return Err(ParametersError::Leaf { oracle, elements });
            }
            let depth = schedule.depth(oracle);
            let Round { cap, queries, grinding, rate, .. } = *round;
            let fits = (1..=depth).contains(&cap) && depth < MAX_DEPTH && queries > 0 && rate > 0;
            if !fits || !(1..=bits::COLUMNS / 2).contains(&grinding) {
                return Err(ParametersError::Round { oracle, rate, depth, cap, queries, grinding });
            }
        }
        Ok(Self { tables, layout, schedule })
    }
    /// The parameters of the tables.
    pub fn tables(&self) -> &Tables<K> {
        &self.tables
    }
    /// Heights and places.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// The opening of the committed stack.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn stack(&self, committed: bool) -> &Stack {
        if committed { self.layout.committed() } else { self.layout.fixed() }
    }
}

/// The greatest number of variables of a stack, and of a fold.
const MAX_VARIABLES: usize = 32;
const MAX_FOLD: usize = 12;
/// Trees are lower than this: an index is one of three in an element, and levels of different trees must not meet.
const MAX_DEPTH: usize = 20;

/// The statement of a proof.
#[derive(Clone, Copy, Debug)]
pub struct Statement<W, B> {
    /// The digest of the key: format, parameters, fixed columns of all circuits.
    pub key: W,
    /// The circuit of the key.
    pub circuit: B,
    /// The digest of the public inputs.
    pub public: W,
}

/// Checks a proof, except the claim about fixed columns: see [`FixedClaim`]. Nothing is verified before that claim is.
pub fn read_up_to_fixed<K: Extension>(
    proof: &[Goldilocks],
    parameters: &Parameters<K>,
    statement: &Statement<[Goldilocks; WORD], bool>,
) -> Result<FixedClaim<K>, Refusal> {
    // Leaves take most of a proof's memory, so they must be present.
    let taken = parameters.schedule.opened::<K>();
    if proof.len() < taken {
        return Err(Refusal::Length { given: proof.len(), taken });
    }
    let mut reader = Reader::new(proof);
    let claim = verify(&mut reader, parameters, statement);
    reader.finish()?;
    Ok(claim)
}

/// Checks a proof that the machine reads: the machine remembers equations that do not hold ([`Reader::finish`]), or
/// demands them of its circuit.
pub fn verify<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    statement: &Statement<M::Word, M::Bit>,
) -> FixedClaim<M::Element> {
    m.begin(tags::TRANSCRIPT);
    m.observe(&[statement.key, statement.public]);
    let circuit = m.bit(statement.circuit);
    m.observe_elements(&[circuit]);
    let schedule = &parameters.schedule;
    let tree = m.receive_cap(schedule.depth(0), schedule.rounds[0].cap);
    let samples = whir::sample(m, schedule.rounds[0].samples);

    let (alpha, beta) = (m.challenge(), m.challenge());
    let delta = {
        let zero = points::constant(m, 0);
        let mut tuple = [zero; TUPLE];
        tuple[0] = m.constant(M::Field::from(PUBLIC));
        tuple[TUPLE - WORD..].copy_from_slice(&m.elements(statement.public));
        bus::denominator(m, alpha, beta, &tuple)
    };
    let leaves = bus::verify(m, parameters.layout.bus_variables(), delta);
    let values = rows::verify(m, parameters, &leaves, alpha, beta);

    let eta = m.challenge();
    let claim = rows::combined(m, parameters, &values, true, eta);
    let end = whir::verify(m, schedule, tree, samples, claim);
    let weight = rows::weight(m, parameters, &values.point, true, eta, &end.point);
    whir::finish(m, &end, weight);

    let value = rows::combined(m, parameters, &values, false, eta);
    FixedClaim { circuit, point: values.point, eta, value }
}
