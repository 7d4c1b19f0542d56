//! Proofs about proofs.
//!
//! **In a circuit** [`verify_child`] checks a proof of the circuit's own key and returns the two claims that come with it; the circuit reduces the claims
//! of all children to one ([`reduce`](crate::verifier::reduce)) and hands it on among its public inputs ([`publish`]).
//!
//! **For its witness** [`Proof::data`] is what a child takes, and [`Proof::claims`] are its claims, whose reduction
//! [`prover::reduce`](crate::prover::reduce) proves.
//!
//! **Parameters.** A circuit that verifies proofs of its own key depends on parameters that depend on its size: [`fixed_point`].

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use crate::circuit::wires::{Bool, Element, Word};
use crate::circuit::{Builder, InCircuit};
use crate::key::{Key, Public, Verified, VerifyError};
use crate::tables::{Layout, Table, Tables, bits, query};
use crate::verifier::{
    Claim, Machine, Parameters, Reader, Refusal, Round, Schedule, Statement, Writer, read_up_to_fixed, tags, verify,
};

/// A proof, and what it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof<K> {
    /// Its elements.
    pub elements: Vec<Goldilocks>,
    /// Which circuit of the key.
    pub circuit: bool,
    /// Its public inputs.
    pub public: Public<[Goldilocks; 4], K>,
}

impl<K: Extension> Public<[Goldilocks; 4], K> {
    /// The statement of a proof of a key's circuit with these public inputs.
    pub fn statement(&self, key: &Key<K>, circuit: bool) -> Statement<[Goldilocks; 4], bool> {
        let public = self.digest(&mut Reader::<K>::new(&[]), key.digest());
        Statement { key: key.digest(), circuit, public }
    }
    /// What [`receive_claim`] takes.
    pub fn claim_data(&self) -> Vec<Goldilocks> {
        let mut writer = Writer::new(tags::TRANSCRIPT);
        writer.send(&[&self.point[..], &[self.value]].concat());
        writer.finish()
    }
}

impl<K: Extension> Proof<K> {
    /// The proof's own claim about the fixed columns, and the one that it hands on, if it holds but for them.
    pub fn claims(&self, key: &Key<K>) -> Result<[Claim<K>; 2], Refusal> {
        let statement = self.public.statement(key, self.circuit);
        let own = read_up_to_fixed(&self.elements, key.parameters(), &statement)?;
        let Public { point, value, .. } = self.public.clone();
        Ok([Claim::Fixed(own), Claim::At { point, value }])
    }
    /// The free data that [`verify_child`] takes.
    pub fn data(&self) -> Vec<Goldilocks> {
        [&self.public.claim_data()[..], &self.elements].concat()
    }
    /// Verifies the proof, and all that it is about.
    pub fn verify(&self, key: &Key<K>) -> Result<Verified, VerifyError> {
        key.verify(&self.elements, self.circuit, &self.public)
    }
}

/// A claim of the prover's choice: to be handed on, or a child's.
pub fn receive_claim<K: Extension>(m: &mut InCircuit<'_, K>, parameters: &Parameters<K>) -> (Vec<Element>, Element) {
    let mut point = m.receive(parameters.layout().fixed().variables() + 2);
    let value = point.pop().expect("a value behind the coordinates");
    (point, value)
}

/// Demands a proof of a circuit of the key about this information. What the proof says holds if both claims do.
pub fn verify_child<K: Extension>(
    m: &mut InCircuit<'_, K>,
    parameters: &Parameters<K>,
    key: Word,
    circuit: Bool,
    information: Vec<Word>,
) -> [Claim<Element>; 2] {
    let (point, value) = receive_claim(m, parameters);
    let public = Public { information, point, value };
    let digest = public.digest(m, key);
    let own = verify(m, parameters, &Statement { key, circuit, public: digest });
    [Claim::Fixed(own), Claim::At { point: public.point, value }]
}

/// Makes these the public inputs of the circuit.
///
/// # Panics
/// If it has some already.
pub fn publish<K: Extension>(m: &mut InCircuit<'_, K>, key: Word, public: &Public<Word, Element>) {
    public.digest(m, key);
    m.publish();
}

/// The parameters of circuits of these heights, whose committed stack has so many variables.
///
/// # Panics
/// If there are none.
pub fn parameters<K: Extension>(
    rounds: &[Round],
    blocks: [usize; Table::ALL.len()],
    variables: usize,
) -> Parameters<K> {
    let shape = Schedule { variables, width: 0, rounds: rounds.to_vec() };
    let depths: Vec<usize> = (0..rounds.len()).map(|i| shape.depth(i)).collect();
    let bits = depths.iter().copied().max().expect("a round");
    let work = rounds.iter().map(|round| 0..round.grinding).fold(Vec::new(), |mut all, range| {
        if !all.contains(&range) {
            all.push(range);
        }
        all
    });
    let query = query::Parameters { bits, variables: variables - rounds[0].fold };
    let tables = Tables::new(query, bits::Parameters::new(depths, work));
    let elements = Layout::new(&tables, blocks).committed().elements();
    Parameters::new(tables, blocks, Schedule::new(rounds, elements)).expect("parameters of a circuit that verifies")
}

/// Parameters for which a circuit that depends on them has the heights that they say.
///
/// # Panics
/// If none are found in ten steps.
pub fn fixed_point<K: Extension>(rounds: &[Round], circuit: impl Fn(&Parameters<K>) -> Builder<K>) -> Parameters<K> {
    // Those of a circuit that verifies two proofs.
    let (mut blocks, mut variables) = ([27, 29, 29, 3, 1, 1], 22);
    for _ in 0..10 {
        let parameters = parameters::<K>(rounds, blocks, variables);
        let next = circuit(&parameters).blocks();
        let needed = Layout::new(parameters.tables(), next).committed().variables();
        if (next, needed) == (blocks, variables) {
            return parameters;
        }
        (blocks, variables) = (next, needed);
    }
    panic!("a circuit whose size does not settle");
}
