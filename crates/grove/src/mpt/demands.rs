//! Every demand of the circuits about Ethereum's tries is needed: for each line that demands something, there is a false
//! witness that only this line refuses.

use std::collections::{BTreeSet, HashMap};

use evergrove_ethereum::{Keys, Trie};
use evergrove_multilinear::circuit::{Asked, Builder, Circuit, Demand, Witness as Columns};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{Account, Address, Claim, Hash, Roots, Tag, Word, rlp};
use evergrove_verifier::tables::{Table, Tables, bits, query, tuple};
use rayon::prelude::*;

use super::gadgets::{ONE, ZERO};
use super::*;

/// What a prover chooses, by rows.
type Choices = HashMap<u32, Goldilocks>;

/// A circuit with columns without faults.
struct Subject {
    circuit: Circuit<Quadratic>,
    sound: Columns,
}

impl Subject {
    fn new(circuit: Circuit<Quadratic>, free: &[Goldilocks]) -> Self {
        let sound = circuit.witness(free).unwrap();
        let faults = sound.faults(&circuit);
        assert_eq!(faults.len(), 0, "{:?}", &faults[..faults.len().min(8)]);
        Self { circuit, sound }
    }
    /// The demands that alone refuse this free data with these choices.
    fn lie(&self, free: &[Goldilocks], chosen: &Choices) -> Vec<Demand> {
        self.circuit.witness_with(free, chosen).unwrap().refused_only_by(&self.circuit, &self.sound)
    }
    /// Changes one element of the free data, or one choice, in every way.
    fn sweep(&self, free: &[Goldilocks], skip: std::ops::Range<usize>, every: usize) -> BTreeSet<Demand> {
        let own = self.circuit.witness(free).unwrap();
        let others = |x: Goldilocks| {
            let all = [x + ONE, x - ONE, ZERO, ONE, ONE - x, Goldilocks::new(2)];
            all.into_iter().filter(move |other| *other != x).collect::<BTreeSet<_>>()
        };
        let elements = (0..free.len())
            .filter(|i| !skip.contains(i))
            .flat_map(|i| others(free[i]).into_iter().map(move |x| (Some((i, x)), Choices::new())));
        let choices = self.circuit.choices().flat_map(|row| {
            let choice = own.row(self.circuit.tables(), Table::Tuple, row as usize)[tuple::COUNT];
            others(choice).into_iter().map(move |x| (None, Choices::from([(row, x)])))
        });
        let lies: Vec<_> = elements.chain(choices).step_by(every).collect();
        println!("{} lies", lies.len());
        let found = lies.into_par_iter().map(|(element, chosen)| {
            let mut free = free.to_vec();
            if let Some((i, x)) = element {
                free[i] = x;
            }
            self.lie(&free, &chosen)
        });
        found.flatten_iter().collect()
    }
}

fn tables() -> Tables<Quadratic> {
    let modes = modes();
    Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros))
}

fn piece_of(size: Size) -> Circuit<Quadratic> {
    let mut b = Builder::new(tables());
    piece(&mut b, size);
    b.finish()
}

fn address(i: u8) -> Address {
    [i; 20]
}

fn word(x: u8) -> Word {
    let mut word = [0; 32];
    word[31] = x;
    word
}

/// A state of these accounts with this many slots, with all nodes on the way of some keys.
fn state(slots: &[u8]) -> (Hash, HashMap<Hash, Vec<u8>>) {
    let mut nodes = HashMap::new();
    let mut keep = |trie: &mut Trie, key: &[u8]| {
        nodes.extend(trie.proof(&keccak_256(key)).unwrap().into_iter().map(|node| (keccak_256(node), node.to_vec())));
    };
    let mut state = Trie::empty(Keys::Hashed);
    for (i, &count) in (0..).zip(slots) {
        let mut storage = Trie::empty(Keys::Hashed);
        for slot in 0..count {
            let mut item = Vec::new();
            rlp::write_string(&mut item, &[slot + 0x7d; 3][..1 + slot as usize % 3]);
            storage.put(&keccak_256(&word(slot)), Some(&item)).unwrap();
        }
        let account = Account { nonce: 1, balance: word(9), storage_root: storage.root(), code_hash: [1; 32] };
        state.put(&keccak_256(&address(i)), Some(&account.rlp())).unwrap();
        (0..count + 9).for_each(|slot| keep(&mut storage, &word(slot)));
    }
    let root = state.root();
    (0..slots.len() as u8 + 20).for_each(|i| keep(&mut state, &address(i)));
    (root, nodes)
}

fn print(what: &str, circuit: &Circuit<Quadratic>, needed: &BTreeSet<Demand>) {
    let all: BTreeSet<Demand> = circuit.demands().iter().map(|(.., demand)| *demand).collect();
    println!("{what}: {} of {} demands", needed.len(), all.len());
    let counts = circuit.bits_of_counts();
    for demand in all.difference(needed).filter(|demand| !counts.contains(demand)) {
        println!("  {:?} {}", demand.asked, demand.line);
    }
}

#[test]
fn trial() {
    let time = std::time::Instant::now();
    let (root, nodes) = state(&[3, 0]);
    let claims = vec![Claim::Account {
        address: address(0),
        account: Account { nonce: 1, balance: word(9), storage_root: [0; 32], code_hash: [1; 32] },
    }];
    let _ = claims;
    let claims = [Claim::AbsentAccount { address: address(7) }];
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let witness = Witness::new(&Roots::of_state(root), &find, &claims).unwrap();
    let size = witness.size();
    let free = witness.data(size, [ONE; 4]).unwrap();
    let subject = Subject::new(piece_of(size), &free);
    println!("{size:?} {} free {} choices {:?}", free.len(), subject.circuit.choices().count(), time.elapsed());
    let stream = 16..16 + 4 * ((size.blocks * 136).div_ceil(16) + 1);
    let needed = subject.sweep(&free, stream, 4);
    println!("{:?}", time.elapsed());
    print("absent", &subject.circuit, &needed);
    println!("sets {:?}", subject.sound.sets_without(&subject.circuit).len());
    let _ = (Asked::Set, Tag::State);
}
