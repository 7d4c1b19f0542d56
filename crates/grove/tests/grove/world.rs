//! Children for merges of digest translation, with statements that the prover chooses.

use std::sync::{Mutex, PoisonError};

use evergrove_grove::circuit::CircuitSet;
use evergrove_grove::translation::Side;
use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::Prover;
use evergrove_multilinear::recursion::{Children, Proof, children_data, claim_data};
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Field, Goldilocks, Quadratic};
use evergrove_verifier::argument::Parameters;
use evergrove_verifier::key::Public;
use evergrove_verifier::{Statement, information};

/// The merge, and a circuit without child proofs that states any six words.
pub(crate) struct World {
    says: Circuit<Quadratic>,
    pub(crate) key: Key<Quadratic>,
    pub(crate) merge: Circuit<Quadratic>,
    made: Mutex<Vec<(Said, Proof<Quadratic>)>>,
}

/// C, height, base and K of a child.
pub(crate) type Said = (Statement, [Goldilocks; 8]);

impl World {
    pub(crate) fn new(parameters: Parameters<Quadratic>, circuit_set: &CircuitSet<'_>) -> Self {
        let mut b = Builder::new(parameters.tables().clone());
        let tag = b.tag(Goldilocks::new(5));
        let words: Vec<_> = (0..4).flat_map(|_| b.hash_free(tag).1).collect();
        Children::new(&mut b, &parameters, words[0]).publish(words[2..].to_vec());
        let says = b.finish_in(parameters.layout().blocks());
        let merge = circuit_set.merge(&parameters).finish();
        let key = Key::new(parameters, [&says; 2]);
        Self { says, key, merge, made: Mutex::default() }
    }

    /// The free data of the children's proofs and of the claim that theirs reduce to. Each child is proven once.
    pub(crate) fn children(&self, said: [&Said; 2]) -> Vec<Goldilocks> {
        let Self { says, key, made, .. } = self;
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        let proofs = said.map(|said| {
            if let Some((_, proof)) = made.iter().find(|(known, _)| known == said) {
                return proof.clone();
            }
            let (point, value) = key.at(vec![Quadratic::ONE; key.variables()]);
            let mut words = information(&said.0, None, &[]);
            words.extend(said.1.as_chunks::<4>().0);
            let public = Public { information: words, point, value };
            let nothing = [Goldilocks::ZERO; 4];
            let free = [&key.digest()[..], &nothing, &public.information.concat(), &claim_data(&public)].concat();
            let columns = says.witness(&free).unwrap();
            let elements = Prover::new(says, key.parameters()).prove(&public.statement(key.digest(), false), &columns);
            let proof = Proof { elements, circuit: false, public };
            made.push((*said, proof.clone()));
            proof
        });
        children_data(key, &proofs.each_ref()).unwrap().0
    }
}

pub(crate) fn child(x: u64, height: u8, base: u64) -> Said {
    let root = Digest(core::array::from_fn(|i| Goldilocks::new(100 * x + i as u64)));
    let half = |i: usize| Goldilocks::new((0x0123_4567 * (x + 3 * i as u64)) & 0xffff_ffff);
    (Statement { root, canonical: Digest::ZERO, height, base }, core::array::from_fn(half))
}

pub(crate) fn sides<'a>(said: [&'a Said; 2], empty: [bool; 2]) -> [Side<'a>; 2] {
    core::array::from_fn(|i| Side { stated: (&said[i].0, &said[i].1), merge: false, empty: empty[i] })
}

pub(crate) fn node(height: u8, base: u64) -> Statement {
    Statement { root: Digest::ZERO, canonical: Digest::ZERO, height, base }
}
