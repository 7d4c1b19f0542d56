//! Proofs about proofs.
//!
//! **In a circuit** [`Children`] checks proofs of the circuit's own key, reduces their claims to one ([`reduce`]) and
//! hands it on among the public inputs. [`About`] verifies proofs of another key. Their claim is handed on by its
//! digest, as one of the circuit's words.
//!
//! **For its witness** [`children_data`] is their free data. A circuit that verifies no proofs takes the claim that it
//! hands on ([`claim_data`]).
//!
//! **Parameters.** A circuit that verifies proofs of its own key depends on parameters that depend on its size: see
//! [`fixed_point`].

use core::ops::Range;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use rayon::prelude::*;

use crate::circuit::wires::{Bool, Element, Word};
use crate::circuit::{Builder, InCircuit};
use crate::key::Key;
use crate::prover;
use crate::writer::Writer;
use evergrove_verifier::argument::{
    Claim, Machine, Parameters, Reduced, Round, Schedule, Statement, reduce, tags, verify,
};
use evergrove_verifier::key::{Public, Verified, VerifyError, observe_words};
use evergrove_verifier::tables::{Layout, Table, Tables, bits, query};

/// A proof, and its circuit and public inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof<K> {
    /// Its elements.
    pub elements: Vec<Goldilocks>,
    /// Which circuit of the key.
    pub circuit: bool,
    /// Its public inputs.
    pub public: Public<[Goldilocks; 4], K>,
}

/// The free data of a claim: a point, and the value there.
pub fn claim_data<K: Extension>(public: &Public<[Goldilocks; 4], K>) -> Vec<Goldilocks> {
    let mut writer = Writer::new(tags::TRANSCRIPT);
    writer.send(&[&public.point[..], &[public.value]].concat());
    writer.finish()
}

impl<K: Extension> Proof<K> {
    /// The proof's own claim about the fixed columns, and the one that it hands on, if the proof and both claims hold:
    /// a proof about a proof that does not hold is worthless.
    pub fn claims(&self, key: &Key<K>) -> Result<[Claim<K>; 2], VerifyError> {
        key.claims(&self.elements, self.circuit, &self.public)
    }
    /// The free data that [`Children::child`] takes.
    pub fn data(&self) -> Vec<Goldilocks> {
        [&claim_data(&self.public)[..], &self.elements].concat()
    }
    /// Verifies the proof, and all proofs that it verifies.
    pub fn verify(&self, key: &Key<K>) -> Result<Verified, VerifyError> {
        key.verify(&self.elements, self.circuit, &self.public)
    }
}

/// The free data for [`Children`], and the claim that the circuit hands on, for children that hold. They are verified
/// in parallel.
pub fn children_data<K: Extension>(
    key: &Key<K>,
    children: &[&Proof<K>],
) -> Result<(Vec<Goldilocks>, Reduced<K>), VerifyError> {
    let claims = children.par_iter().map(|child| child.claims(key)).collect::<Result<Vec<_>, _>>()?;
    let (reduction, reduced) = prover::reduce(key, &claims.into_iter().flatten().collect::<Vec<_>>());
    let data = children.iter().flat_map(|child| child.data()).chain(reduction).collect();
    Ok((data, reduced))
}

/// Proofs of one key that a circuit verifies, and claims about the key's fixed columns that proofs of other keys hand
/// on.
#[derive(Debug)]
#[must_use = "nothing is shown before the claims are handed on"]
pub struct About<'a, K> {
    parameters: &'a Parameters<K>,
    key: Word,
    claims: Vec<Claim<Element>>,
}

impl<'a, K: Extension> About<'a, K> {
    /// None so far.
    pub fn new(parameters: &'a Parameters<K>, key: Word) -> Self {
        Self { parameters, key, claims: Vec::new() }
    }
    /// Demands a proof of a circuit of the key: it states `information`, if the claims that are handed on hold.
    pub fn proof(&mut self, b: &mut Builder<K>, circuit: Bool, information: &[Word]) {
        let key = self.key;
        let public = self.receive(b, information);
        let mut m = InCircuit::new(b, tags::TRANSCRIPT);
        let own = verify(&mut m, self.parameters, &Statement { key, circuit, public });
        let handed = self.claims.pop().expect("the one that was received");
        self.claims.extend([Claim::Fixed(own), handed]);
    }
    /// Adds a claim that a proof of another key hands on, whose digest is among its words: that of public inputs
    /// without words.
    pub fn claim(&mut self, b: &mut Builder<K>) -> Word {
        self.receive(b, &[])
    }
    /// Public inputs with a claim that the prover sends: their digest.
    fn receive(&mut self, b: &mut Builder<K>, information: &[Word]) -> Word {
        let mut m = InCircuit::new(b, tags::PUBLIC_INPUTS);
        let (point, value) = receive_claim(&mut m, self.parameters);
        let digest = observe_words(&mut m, self.key, point.len(), information);
        self.claims.push(Claim::At { point, value });
        digest
    }
    /// The digest of one claim for all, as public inputs with these words. It must be among the words that a circuit of
    /// another key publishes.
    ///
    /// # Panics
    /// If there are no claims.
    pub fn hand_on(self, b: &mut Builder<K>, information: Vec<Word>) -> Word {
        let mut m = InCircuit::new(b, tags::CLAIMS);
        self.reduce(&mut m, information)
    }
    fn reduce(self, m: &mut InCircuit<'_, K>, information: Vec<Word>) -> Word {
        let Self { parameters, key, claims } = self;
        assert!(!claims.is_empty(), "claims to hand on");
        let Reduced { point, value } = reduce(m, parameters, key, &claims);
        Public { information, point, value }.digest(m, key)
    }
}

/// The statement of a circuit, and the proofs that it verifies: [`Children::publish`] hands on each of their claims.
#[derive(Debug)]
#[must_use = "a circuit says nothing before it publishes"]
pub struct Children<'a, K> {
    builder: &'a mut Builder<K>,
    own: About<'a, K>,
}

impl<'a, K: Extension> Children<'a, K> {
    /// No proofs so far. The prover chooses the key, which is a word: a verifier of the proof knows it.
    pub fn new(builder: &'a mut Builder<K>, parameters: &'a Parameters<K>, key: Word) -> Self {
        builder.verifies(parameters);
        Self { builder, own: About::new(parameters, key) }
    }
    /// Demands a proof of a circuit of the key: the proof states `information`, if the claims that are handed on hold.
    pub fn child(&mut self, circuit: Bool, information: &[Word]) {
        self.own.proof(self.builder, circuit, information);
    }
    /// Makes these words, and one claim for all claims of the children, the public inputs. Without children the prover
    /// chooses the claim.
    ///
    /// # Panics
    /// If the circuit already has public inputs.
    pub fn publish(self, information: Vec<Word>) {
        let Self { builder, own } = self;
        if own.claims.is_empty() {
            let mut m = InCircuit::new(builder, tags::PUBLIC_INPUTS);
            let (point, _) = receive_claim(&mut m, own.parameters);
            observe_words(&mut m, own.key, point.len(), &information);
            return m.publish_claims();
        }
        let mut m = InCircuit::new(builder, tags::CLAIMS);
        own.reduce(&mut m, information);
        m.publish_claims();
    }
}

/// A claim that the prover sends: its bytes are those at the beginning of the transcript of public inputs.
fn receive_claim<K: Extension>(m: &mut InCircuit<'_, K>, parameters: &Parameters<K>) -> (Vec<Element>, Element) {
    let mut point = m.receive(parameters.layout().fixed().variables() + 2);
    let value = point.pop().expect("a value behind the coordinates");
    (point, value)
}

/// The uses of rows of bits besides the verifier: see [`bits`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Widths of indices.
    pub widths: Vec<usize>,
    /// Ranges of zeros.
    pub zeros: Vec<Range<usize>>,
    /// Openings of proofs of another key, which circuits verify in addition to those of their own.
    pub other: Option<Schedule>,
}

/// The parameters of circuits of these heights, whose committed stack has this many variables. Rows of bits have modes
/// for the verifier and these modes.
///
/// # Panics
/// If there are no such parameters.
pub fn parameters<K: Extension>(
    rounds: &[Round],
    modes: &Modes,
    blocks: [usize; Table::ALL.len()],
    variables: usize,
) -> Parameters<K> {
    try_parameters(rounds, modes, blocks, variables).unwrap_or_else(|e| panic!("no circuit that verifies: {e:?}"))
}

/// There are no parameters.
#[derive(Debug)]
enum Unfit {
    /// The stack has another number of variables: this one.
    Variables(usize),
    /// No circuit verifies proofs of its own key at this size.
    TooLarge,
}

/// The greatest number of variables of a stack of circuits that verify proofs of their own key: indices of its oracle
/// must have fewer bits than limbs of rows of bits.
const MAX_VARIABLES: usize = 25;

fn try_parameters<K: Extension>(
    rounds: &[Round],
    modes: &Modes,
    blocks: [usize; Table::ALL.len()],
    variables: usize,
) -> Result<Parameters<K>, Unfit> {
    if variables > MAX_VARIABLES {
        return Err(Unfit::TooLarge);
    }
    let shape = Schedule { variables, width: 0, rounds: rounds.to_vec() };
    let schedules: Vec<&Schedule> = [&shape].into_iter().chain(&modes.other).collect();
    let depths = schedules.iter().flat_map(|schedule| (0..schedule.rounds.len()).map(|i| schedule.depth(i)));
    let depths: Vec<usize> = depths.collect();
    let bits = depths.iter().copied().max().expect("a round");
    let ranges = schedules
        .iter()
        .flat_map(|schedule| &schedule.rounds)
        .map(|round| 0..round.grinding)
        .chain(modes.zeros.iter().cloned());
    let ranges = ranges.fold(Vec::new(), |mut all, range| {
        if !all.contains(&range) {
            all.push(range);
        }
        all
    });
    let folded = schedules.iter().map(|schedule| schedule.tables()[1]);
    let query = query::Parameters { bits, variables: folded.max().expect("a round") };
    let widths = [&depths[..], &modes.widths].concat();
    let tables = Tables::new(query, bits::Parameters::new(widths, ranges));
    let elements = Layout::new(&tables, blocks).committed().elements();
    let schedule = Schedule::new(rounds, elements);
    if schedule.variables != variables {
        return Err(Unfit::Variables(schedule.variables));
    }
    Parameters::new(tables, blocks, schedule).map_err(|_| Unfit::TooLarge)
}

/// Parameters for which the circuits, which depend on them, have the heights that the parameters state. `circuits`
/// returns the blocks that they need. `modes` as in [`parameters`]. If heights that depend on each other do not settle,
/// tables may have spare blocks; `None` if the circuits are too large.
pub fn fixed_point<K: Extension>(
    rounds: &[Round],
    modes: &Modes,
    circuits: impl Fn(&Parameters<K>) -> [usize; Table::ALL.len()],
) -> Option<Parameters<K>> {
    // Those of a circuit that verifies two proofs.
    fixed_point_near(rounds, modes, Table::blocks([27, 29, 29, 3, 1, 1]), circuits)
}

/// [`fixed_point`], starting from these blocks: the circuits are built once or twice if they need about as many.
pub fn fixed_point_near<K: Extension>(
    rounds: &[Round],
    modes: &Modes,
    mut blocks: [usize; Table::ALL.len()],
    circuits: impl Fn(&Parameters<K>) -> [usize; Table::ALL.len()],
) -> Option<Parameters<K>> {
    let mut variables = 22;
    for step in 0..20 {
        let parameters = match try_parameters::<K>(rounds, modes, blocks, variables) {
            Ok(parameters) => parameters,
            Err(Unfit::Variables(needed)) => {
                variables = needed;
                continue;
            }
            Err(Unfit::TooLarge) => return None,
        };
        let mut next = circuits(&parameters);
        if step >= 6 {
            // Heights repeat: from now on, no height decreases.
            next = core::array::from_fn(|table| next[table].max(blocks[table]));
        }
        let needed = Layout::new(parameters.tables(), next).committed().variables();
        if (next, needed) == (blocks, variables) {
            return Some(parameters);
        }
        (blocks, variables) = (next, needed);
    }
    None
}
