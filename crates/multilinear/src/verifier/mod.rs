//! The verifier of a proof of a circuit, written once for programs and for circuits.
//!
//! **What.** [`verify`] checks all of a proof but one thing: that the fixed columns are those of the circuit. That is a claim about the stack
//! of fixed columns, [`FixedClaim`]. **Nothing is verified before it is checked**, by whoever stands at the root; a circuit hands it on, together
//! with those that it was handed, as one claim ([`reduce`]).
//!
//! **On what.** A [`Machine`]: [`Reader`] for programs, [`InCircuit`](crate::circuit::InCircuit) for circuits.

mod bus;
mod claims;
mod machine;
pub(crate) mod points;
mod reader;
pub(crate) mod rows;
pub(crate) mod transcript;
mod whir;

use crate::tables::{Layout, PUBLIC, Stack, TUPLE, Tables, WORD};

pub use claims::{Claim, FixedClaim, reduce};
pub use machine::Machine;
pub use reader::{Reader, Refusal};
pub use whir::{Round, Schedule};

/// What hashes begin with. 0 is that of inner nodes; all are different, so that no hash is two things.
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

/// What a verifier must know of a circuit, besides its fixed columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters<K> {
    /// The parameters of the tables.
    pub tables: Tables<K>,
    /// Heights and places.
    pub layout: Layout,
    /// The opening of the committed stack.
    pub schedule: Schedule,
}

impl<K> Parameters<K> {
    fn stack(&self, committed: bool) -> &Stack {
        if committed { self.layout.committed() } else { self.layout.fixed() }
    }
}

/// What a proof is about.
#[derive(Clone, Copy, Debug)]
pub struct Statement<W, E> {
    /// The digest of the key: format, parameters, fixed columns of all circuits.
    pub key: W,
    /// Which circuit of the key: 0 or 1.
    pub circuit: E,
    /// The digest of the public inputs.
    pub public: [E; WORD],
    /// The same digest as a word.
    pub public_word: W,
}

/// Checks a proof that the machine reads.
pub fn verify<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    statement: &Statement<M::Word, M::Element>,
) -> FixedClaim<M::Element> {
    m.begin(tags::TRANSCRIPT);
    m.observe(&[statement.key, statement.public_word]);
    m.observe_elements(&[statement.circuit]);
    let schedule = &parameters.schedule;
    let tree = m.receive_cap(schedule.depth(0), schedule.rounds[0].cap);

    let (alpha, beta) = (m.challenge(), m.challenge());
    let delta = {
        let zero = points::constant(m, 0);
        let mut tuple = [zero; TUPLE];
        tuple[0] = m.constant(M::Field::from(PUBLIC));
        tuple[TUPLE - WORD..].copy_from_slice(&statement.public);
        bus::denominator(m, alpha, beta, &tuple)
    };
    let leaves = bus::verify(m, parameters.layout.bus_variables(), delta);
    let values = rows::verify(m, parameters, &leaves, alpha, beta);

    let eta = m.challenge();
    let claim = rows::combined(m, parameters, &values, true, eta);
    let end = whir::verify(m, schedule, tree, claim);
    let weight = rows::weight(m, parameters, &values.point, true, eta, &end.point);
    whir::finish(m, &end, weight);

    let value = rows::combined(m, parameters, &values, false, eta);
    FixedClaim { circuit: statement.circuit, point: values.point, eta, value }
}
