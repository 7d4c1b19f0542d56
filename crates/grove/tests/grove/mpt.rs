//! Claims about Ethereum's state as circuits: true ones over tries of every form, and attacks that set values.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use evergrove_ethereum::{Keys, Nodes, Trie};
use evergrove_grove::mpt::{self, PieceError, Size, Witness};
use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{Account, Address, Claim, Hash, Word, canonical_digest, rlp};
use evergrove_verifier::tables::{Table, Tables, bits, query};

/// A state: accounts with their slots, and all nodes.
struct World {
    root: Hash,
    nodes: HashMap<Hash, Vec<u8>>,
    accounts: HashMap<Address, (Account, Vec<(Word, Word)>)>,
}

fn address(i: u64) -> Address {
    let mut address = [7; 20];
    address[12..].copy_from_slice(&i.to_be_bytes());
    address
}

fn word(x: u64) -> Word {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&x.to_be_bytes());
    word
}

impl World {
    /// Accounts with so many slots each.
    fn new(slots: &[u64]) -> Self {
        let mut state = Trie::empty(Keys::Hashed);
        let (mut nodes, mut accounts) = (HashMap::new(), HashMap::new());
        let mut keep = |trie: &mut Trie, key: &[u8]| {
            for node in trie.proof(key).unwrap() {
                nodes.insert(keccak_256(node), node.to_vec());
            }
        };
        for (i, &count) in slots.iter().enumerate() {
            let mut storage = Trie::empty(Keys::Hashed);
            let values: Vec<(Word, Word)> = (0..count)
                .map(|slot| {
                    // Values of every length.
                    let mut value = [0xab; 32];
                    value[..31 - (slot as usize * 5) % 32].fill(0);
                    value[31] = [1, 0x7f, 0x80, 0xff][slot as usize % 4];
                    (word(slot), value)
                })
                .collect();
            for (slot, value) in &values {
                let mut item = Vec::new();
                rlp::write_string(&mut item, rlp::trimmed(value));
                storage.put(&keccak_256(slot), Some(&item)).unwrap();
            }
            let storage_root = storage.root();
            let nonce = [0, 1, 0x7f, 0x80, u64::MAX][i % 5];
            let mut balance = [0; 32];
            balance[31 - (i * 7) % 32..].fill(0x91);
            if i % 3 == 0 {
                balance = word([0, 5, 128][i / 3 % 3]);
            }
            let account = Account { nonce, balance, storage_root, code_hash: keccak_256(&[i as u8]) };
            let address = address(i as u64);
            let mut payload = Vec::new();
            rlp::write_string(&mut payload, rlp::trimmed(&nonce.to_be_bytes()));
            rlp::write_string(&mut payload, rlp::trimmed(&balance));
            rlp::write_string(&mut payload, &storage_root);
            rlp::write_string(&mut payload, &account.code_hash);
            state.put(&keccak_256(&address), Some(&rlp::list(&payload))).unwrap();
            for slot in 0..count + 40 {
                keep(&mut storage, &keccak_256(&word(slot)));
            }
            accounts.insert(address, (account, values));
        }
        let root = state.root();
        for i in 0..slots.len() as u64 + 60 {
            keep(&mut state, &keccak_256(&address(i)));
        }
        Self { root, nodes, accounts }
    }
    /// What is true of an account.
    fn account(&self, i: u64) -> Claim {
        let address = address(i);
        match self.accounts.get(&address) {
            Some((account, _)) => Claim::Account { address, account: *account },
            None => Claim::AbsentAccount { address },
        }
    }
    /// What is true of a slot.
    fn slot(&self, i: u64, slot: u64) -> Claim {
        let (address, slot) = (address(i), word(slot));
        let values = self.accounts.get(&address).map(|(_, values)| values);
        let value = values.and_then(|values| values.iter().find(|(own, _)| *own == slot)).map_or([0; 32], |own| own.1);
        Claim::Slot { address, slot, value }
    }
    fn witness(&self, claims: &[Claim]) -> Result<Witness, PieceError> {
        Witness::new(&self.root, &|hash| self.nodes.get(hash).map(Vec::as_slice), claims)
    }
    /// Claims of every kind.
    fn claims(&self) -> Vec<Claim> {
        let accounts = self.accounts.len() as u64;
        let mut claims: Vec<Claim> = (0..accounts + 8).step_by(2).map(|i| self.account(i)).collect();
        for i in 0..accounts + 1 {
            claims.extend((0..12).step_by(3).map(|slot| self.slot(i, slot)));
        }
        claims
    }
}

fn tables() -> Tables<Quadratic> {
    let modes = mpt::modes();
    Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros))
}

fn circuit(size: Size) -> Circuit<Quadratic> {
    let mut b = Builder::new(tables());
    mpt::piece(&mut b, size);
    b.finish()
}

static WORLD: LazyLock<World> = LazyLock::new(|| World::new(&[0, 1, 30, 2, 5, 0, 1]));

fn holds(world: &World, claims: &[Claim], more: usize) {
    let witness = world.witness(claims).unwrap();
    assert_eq!(witness.digest(), canonical_digest(claims).unwrap());
    let Size { blocks, branches, paths, accounts, slots } = witness.size();
    let size = Size {
        blocks: blocks + more,
        branches: branches + more,
        paths: paths + more,
        accounts: accounts + more,
        slots: slots + more,
    };
    let circuit = circuit(size);
    let columns = circuit.witness(&witness.data(size).unwrap()).unwrap();
    let faults = columns.faults(&circuit);
    assert_eq!(faults.len(), 0, "{size:?}: {:?}", &faults[..faults.len().min(8)]);
}

#[test]
fn true_claims_hold() {
    let world = &*WORLD;
    holds(world, &world.claims(), 0);
}

#[test]
fn rows() {
    let size = Size { blocks: 40, branches: 8, paths: 2, accounts: 1, slots: 1 };
    let circuit = circuit(size);
    let rows: Vec<(&str, usize)> =
        Table::ALL.into_iter().map(|table| (table.name(), circuit.rows(table))).filter(|(_, rows)| *rows > 0).collect();
    println!("{rows:?}");
    let _ = Arc::new(Nodes::default());
    let _ = Goldilocks::ONE;
}
