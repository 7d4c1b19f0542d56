//! Proofs about proofs: a circuit that verifies two proofs of a key and states it, and one that verifies none.

use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_multilinear::key::{Key, ReadError};
use evergrove_multilinear::prover::{self, ProofField, Prover};
use evergrove_multilinear::recursion::{Children, Modes, Proof, children_data, claim_data, fixed_point};
use evergrove_multilinear::reference;
use evergrove_primitives::Digest;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Field, Goldilocks, Quadratic};
use evergrove_verifier::argument::transcript::Word;
use evergrove_verifier::argument::{Claim, Parameters, Reader, Reduced, Round, UNIQUE_100, read_up_to_fixed, reduce};
use evergrove_verifier::key::{Check, KeyError, Public, VerifyError};
use evergrove_verifier::poseidon::digest;
use evergrove_verifier::tables::WORD;

use crate::common::Elements;

/// The beginning of the information of a proof: f(left, right; NODE) for the information of two others, or f(words;
/// LEAF).
const NODE: Goldilocks = Goldilocks::new(77);
const LEAF: Goldilocks = Goldilocks::new(78);

/// A circuit that verifies two proofs, and reduces their claims about fixed columns and those that they hand on.
fn merge<K: Extension>(parameters: &Parameters<K>) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let tag = builder.tag(NODE);
    let (information, children) = builder.hash_free(tag);
    let (_, [key, flags]) = builder.hash_free(tag);
    let circuits = [0, 1].map(|i| {
        let flag = builder.limb(flags, i);
        builder.boolean(flag)
    });
    let mut about = Children::new(&mut builder, parameters, key);
    for (circuit, child) in circuits.into_iter().zip(children) {
        about.child(circuit, &[child]);
    }
    about.publish(vec![information.digest()]);
    builder
}

/// A circuit that verifies no proofs.
fn leaf<K: Extension>(parameters: &Parameters<K>) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let tag = builder.tag(LEAF);
    let (information, [key, _]) = builder.hash_free(tag);
    Children::new(&mut builder, parameters, key).publish(vec![information.digest()]);
    builder
}

/// A circuit that verifies two proofs of its own key, and its parameters.
pub(crate) fn merges<K: Extension>(rounds: &[Round]) -> (Circuit<K>, Parameters<K>) {
    let parameters = fixed_point(rounds, &Modes::default(), |parameters| merge(parameters).blocks()).unwrap();
    (merge(&parameters).finish(), parameters)
}

/// A key and its circuits: leaves and merges.
struct Recursion<K> {
    circuits: [Circuit<K>; 2],
    key: Key<K>,
}

fn hash(tag: Goldilocks, words: [[Goldilocks; WORD]; 2]) -> [Goldilocks; WORD] {
    let mut state = [Goldilocks::ZERO; 12];
    state[..8].copy_from_slice(words.as_flattened());
    state[8] = tag;
    digest(state)
}

impl<K: ProofField> Recursion<K> {
    fn new(rounds: &[Round]) -> Self {
        let (circuit, parameters) = merges::<K>(rounds);
        let circuits = [leaf(&parameters).finish_in(parameters.layout().blocks()), circuit];
        let key = Key::new(parameters, circuits.each_ref());
        Self { circuits, key }
    }
    fn prove(&self, circuit: bool, free: &[Goldilocks], public: Public<[Goldilocks; WORD], K>) -> Proof<K> {
        let which = &self.circuits[usize::from(circuit)];
        let witness = which.witness(free).unwrap();
        let statement = public.statement(self.key.digest(), circuit);
        let elements = Prover::new(which, self.key.parameters()).prove(&statement, &witness);
        Proof { elements, circuit, public }
    }
    /// A leaf that hands on a claim.
    fn leaf(&self, word: [Goldilocks; WORD], (point, value): (Vec<K>, K)) -> Proof<K> {
        let information = vec![hash(LEAF, [self.key.digest(), word])];
        let public = Public { information, point, value };
        let free = [&self.key.digest()[..], &word, &claim_data(&public)].concat();
        self.prove(false, &free, public)
    }
    fn merge(&self, children: [&Proof<K>; 2]) -> Proof<K> {
        self.merge_with(children, children_data(&self.key, &children).unwrap())
    }
    fn merge_with(&self, children: [&Proof<K>; 2], data: (Vec<Goldilocks>, Reduced<K>)) -> Proof<K> {
        let information = children.map(|child| child.public.information[0]);
        let (data, Reduced { point, value }) = data;
        let mut free = information.concat();
        free.extend(self.key.digest());
        free.extend([0, 1].map(|i| Goldilocks::new(children[i].circuit.into())));
        free.extend([Goldilocks::ZERO; 2]);
        free.extend(data);
        self.prove(true, &free, Public { information: vec![hash(NODE, information)], point, value })
    }
    /// A merge of children whose claims do not hold: the sums are those of true claims, and the last value satisfies
    /// the last equation.
    fn cheat(&self, children: [&Proof<K>; 2]) -> Proof<K> {
        let mut claims = Vec::new();
        for Proof { elements, circuit, public } in children {
            let statement = public.statement(self.key.digest(), *circuit);
            claims.push(Claim::Fixed(read_up_to_fixed(elements, self.key.parameters(), &statement).unwrap()));
            claims.push(Claim::At { point: public.point.clone(), value: public.value });
        }
        let (mut reduction, Reduced { point, value }) = prover::reduce(&self.key, &claims);
        let mut reader = Reader::<K>::new(&reduction);
        let _ = reduce(&mut reader, self.key.parameters(), self.key.digest(), &claims);
        let &(product, claim) = reader.equations().last().unwrap();
        assert_ne!(product, claim);
        let value = value * claim * product.inverse().unwrap();
        let last = claim_data(&Public { information: Vec::new(), point: Vec::new(), value });
        let end = reduction.len() - last.len();
        reduction[end..].copy_from_slice(&last);
        let data = children.iter().flat_map(|child| child.data()).chain(reduction).collect();
        self.merge_with(children, (data, Reduced { point, value }))
    }
    fn check(&self, proof: &Proof<K>) -> Result<Vec<[Goldilocks; WORD]>, VerifyError> {
        proof.verify(&self.key).map(|verified| verified.information().to_vec())
    }
    /// The proof holds, and both claims about fixed columns do, evaluated column by column and place by place.
    fn holds_by_the_definitions(&self, proof: &Proof<K>) {
        let statement = proof.public.statement(self.key.digest(), proof.circuit);
        let own = read_up_to_fixed(&proof.elements, self.key.parameters(), &statement).unwrap();
        assert!(reference::holds(self.circuits.each_ref(), &own));
        let half = 1 << (self.key.variables() - 1);
        let stacks = self.circuits.iter().flat_map(|circuit| {
            let mut stack = circuit.fixed_stack();
            stack.resize(half, Goldilocks::ZERO);
            stack
        });
        let bind = |table: Vec<K>, &r: &K| table.chunks_exact(2).map(|x| x[0] + r * (x[1] - x[0])).collect();
        let value = proof.public.point.iter().fold(stacks.map(K::from).collect(), bind);
        assert_eq!(value, [proof.public.value]);
    }
    fn true_claim(&self) -> (Vec<K>, K) {
        self.key.at(Elements::new(9).elements(self.key.variables()))
    }
}

#[test]
fn five_merges_one_above_another() {
    let recursion = Recursion::<Quadratic>::new(&UNIQUE_100);
    let leaf = recursion.leaf([1, 2, 3, 4].map(Goldilocks::new), recursion.true_claim());
    let mut proof = leaf.clone();
    let mut expected = leaf.public.information[0];
    assert_eq!(recursion.check(&leaf), Ok(vec![expected]));
    for _ in 0..5 {
        proof = recursion.merge([&proof, &leaf]);
        expected = hash(NODE, [expected, leaf.public.information[0]]);
        assert_eq!(recursion.check(&proof), Ok(vec![expected]));
    }
    recursion.holds_by_the_definitions(&proof);
    assert_eq!(8 * proof.elements.len(), 324_960, "bytes");
    // Statements of other circuits, words, claims.
    let mut other = proof.clone();
    other.circuit = false;
    assert!(matches!(recursion.check(&other), Err(VerifyError::Refused(_))));
    let mut other = proof.clone();
    other.public.information[0][0] += Goldilocks::ONE;
    assert!(matches!(recursion.check(&other), Err(VerifyError::Refused(_))));
    let mut other = proof.clone();
    other.public.value += Quadratic::ONE;
    assert!(matches!(recursion.check(&other), Err(VerifyError::Refused(_))));
    other.public.point.pop();
    assert_eq!(recursion.check(&other), Err(VerifyError::Point { given: 20, needed: 21 }));
}

/// A proof that holds has no verdict if its key file is shorter or longer, and a wrong claim is found in the file.
#[test]
fn a_key_file_is_read_to_its_end() {
    let recursion = Recursion::<Quadratic>::new(&UNIQUE_100);
    let mut file = Vec::new();
    recursion.key.write(&mut file).unwrap();
    let check = |proof: &Proof<Quadratic>, file: &[u8]| {
        let claim = 2 * (recursion.key.variables() + 1);
        let body = [&claim_data(&proof.public)[..claim], &proof.elements].concat();
        let information = proof.public.information.clone();
        let mut check = Check::<Quadratic>::new(recursion.key.digest(), &UNIQUE_100, proof.circuit, information, body);
        check.key(file)?;
        check.finish().map(|(verified, _)| verified.map(|verified| verified.key()))
    };
    let (point, value) = recursion.true_claim();
    let proof = recursion.leaf([1; 4].map(Goldilocks::new), (point.clone(), value));
    assert_eq!(check(&proof, &file), Ok(Ok(recursion.key.digest())));
    let length = file.len() as u64;
    for less in [1, 8, 4096] {
        let truncated = KeyError::Truncated { found: length - less };
        assert_eq!(check(&proof, &file[..file.len() - less as usize]), Err(truncated));
    }
    let longer = |more: usize| [&file[..], &[0; 9][..more]].concat();
    assert_eq!(check(&proof, &longer(1)), Err(KeyError::Truncated { found: length + 1 }));
    for more in [8, 9] {
        assert_eq!(check(&proof, &longer(more)), Err(KeyError::Trailing { expected: length }));
    }
    let wrong = recursion.leaf([1; 4].map(Goldilocks::new), (point, value + Quadratic::ONE));
    assert_eq!(check(&wrong, &file), Ok(Err(VerifyError::Handed)));
}

/// A claim that is handed on is checked at the root, at any distance.
#[test]
fn a_wrong_claim_is_found_above() {
    let recursion = Recursion::<Quadratic>::new(&UNIQUE_100);
    let (point, value) = recursion.true_claim();
    let right = recursion.leaf([1; 4].map(Goldilocks::new), (point.clone(), value));
    let wrong = recursion.leaf([1; 4].map(Goldilocks::new), (point, value + Quadratic::ONE));
    assert_eq!(recursion.check(&wrong), Err(VerifyError::Handed));
    // A proof of a leaf's statement by another circuit: its own claim is wrong.
    let mut builder = leaf(recursion.key.parameters());
    let _ = builder.constant(Goldilocks::new(5));
    let other = builder.finish_in(recursion.key.parameters().layout().blocks());
    let word = [Goldilocks::ONE; WORD];
    let of = Recursion { circuits: [other, recursion.circuits[1].clone()], key: recursion.key.clone() };
    let forged = of.leaf(word, (right.public.point.clone(), right.public.value));
    assert_eq!(recursion.check(&forged), Err(VerifyError::Circuit));
    for wrong in [&wrong, &forged] {
        assert!(wrong.claims(&recursion.key).is_err());
        for children in [[&right, wrong], [wrong, &right]] {
            // The merge itself holds; the claim that it hands on does not.
            let merge = recursion.cheat(children);
            let statement = merge.public.statement(recursion.key.digest(), true);
            assert!(read_up_to_fixed(&merge.elements, recursion.key.parameters(), &statement).is_ok());
            assert_eq!(recursion.check(&merge), Err(VerifyError::Handed));
        }
    }
    let above = recursion.cheat([&right, &recursion.cheat([&forged, &right])]);
    assert_eq!(recursion.check(&above), Err(VerifyError::Handed));
    // Honest sums and a wrong claim: the merge does not hold.
    let (mut data, reduced) = children_data(&recursion.key, &[&right, &right]).unwrap();
    let from = right.data().len();
    data.splice(from..2 * from, forged.data());
    let above = recursion.merge_with([&right, &forged], (data, reduced));
    assert!(matches!(recursion.check(&above), Err(VerifyError::Refused(_))));
}

/// Claims of other proofs, or no claims, instead of the children's.
#[test]
fn claims_are_those_of_the_children_in_their_order() {
    let recursion = Recursion::<Quadratic>::new(&UNIQUE_100);
    let word = |x| [x; WORD].map(Goldilocks::new);
    let leaves = [1, 2].map(|x| recursion.leaf(word(x), recursion.true_claim()));
    let [left, right] = leaves.each_ref();
    let data = |children: [&Proof<Quadratic>; 2]| children_data(&recursion.key, &children).unwrap();
    let (honest, reduced) = data([left, right]);
    let proofs = left.data().len() + right.data().len();
    assert!(recursion.check(&recursion.merge_with([left, right], (honest.clone(), reduced))).is_ok());
    for others in [[right, left], [left, left], [right, right]] {
        let (other, reduced) = data(others);
        let theirs = others.iter().map(|proof| proof.data().len()).sum::<usize>();
        let mixed = [&honest[..proofs], &other[theirs..]].concat();
        let merge = recursion.merge_with([left, right], (mixed, reduced));
        assert!(matches!(recursion.check(&merge), Err(VerifyError::Refused(_))));
    }
    // A true claim to which the children's claims were not reduced: one that a leaf hands on.
    let (point, value) = recursion.true_claim();
    let other = recursion.merge_with([left, right], (honest.clone(), Reduced { point, value }));
    assert!(matches!(recursion.check(&other), Err(VerifyError::Refused(_))));
    // A proof of another key's: the circuits in the other order.
    let [first, second] = recursion.circuits.each_ref();
    let swapped = Key::new(recursion.key.parameters().clone(), [second, first]);
    assert_ne!(swapped.digest(), recursion.key.digest());
    for circuit in [false, true] {
        let proof = Proof { circuit, ..left.clone() };
        assert!(matches!(proof.verify(&swapped), Err(VerifyError::Refused(_))));
    }
}

#[test]
fn keys_are_read_as_they_were_written() {
    let Recursion { key, .. } = Recursion::<Quadratic>::new(&UNIQUE_100);
    let mut bytes = Vec::new();
    key.write(&mut bytes).unwrap();
    assert!(bytes.len() < 40 << 20, "{} bytes", bytes.len());
    let read = |mut bytes: &[u8], digest: Word| Key::<Quadratic>::read(&mut bytes, |digest| digest, Digest(digest));
    let same = read(&bytes, key.digest()).unwrap();
    assert_eq!((same.digest(), same.parameters()), (key.digest(), key.parameters()));
    assert!(matches!(read(&bytes, Default::default()), Err(ReadError::Digest { .. })));
    assert!(matches!(read(&bytes[..bytes.len() - 1], key.digest()), Err(ReadError::Io(_))));
    // An element of a stack.
    for at in [bytes.len() / 2, bytes.len() - 8] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(matches!(read(&changed, key.digest()), Err(ReadError::Digest { .. })));
    }
    // Every number of the head, changed: nothing panics and nothing is accepted.
    for at in 0..56 {
        for value in [0, 13, u64::MAX] {
            let mut changed = bytes[..1 << 12].to_vec();
            if changed[8 * at..8 * at + 8] != value.to_le_bytes() {
                changed[8 * at..8 * at + 8].copy_from_slice(&value.to_le_bytes());
                read(&changed, key.digest()).unwrap_err();
            }
        }
    }
}
