//! The tries of a block: whether claims are true, and the state after changes.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::rlp::{self, Reader, RlpError};
use evergrove_verifier::ethereum::{Account, Address, Claim, EMPTY_CODE, EMPTY_ROOT, Hash, Hex, Roots, Tag, Word};

use crate::node::{Child, Keys};
use crate::nodes::Nodes;
use crate::trie::{Lookup, Trie, TrieError};

const ZERO: Word = [0; 32];

/// The changes of an account in a block. Later changes in a list take precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its address.
    pub address: Address,
    /// Its fields after the block.
    pub post: Post,
    /// Slots and their values after the block, 0 for a removed slot.
    pub slots: Vec<(Word, Word)>,
}

/// The fields of an account after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Post {
    /// The account and its storage are removed.
    Removed,
    /// These fields are new, and the others stay. An account that is left without nonce, balance and code is removed
    /// (EIP-161).
    Fields {
        /// The nonce.
        nonce: Option<u64>,
        /// The balance.
        balance: Option<Word>,
        /// The code hash.
        code_hash: Option<Hash>,
    },
}

/// The fault, and the account, slot or entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {fault}")]
pub struct TriesError {
    /// The account, slot or entry.
    pub subject: String,
    /// The fault.
    pub fault: Fault,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The trie cannot answer.
    #[error(transparent)]
    Trie(#[from] TrieError),
    /// A leaf is not an account, or not the value of a slot.
    #[error("invalid leaf: {0}")]
    Leaf(#[from] RlpError),
    /// A leaf with the value 0: a slot with the value 0 must have no leaf.
    #[error("invalid leaf: a slot with value 0 has no leaf")]
    ZeroLeaf,
    /// The root with this tag was not given.
    #[error("the {0} root is not known")]
    Tag(Tag),
    /// An entry of the state trie, whose keys are not indices.
    #[error("the state trie has no entries by index: name transactions, receipts or withdrawals")]
    StateEntry,
    /// The claim is false.
    #[error("the claim is false: the trie has {0}")]
    False(String),
    /// The root after changes is not the header's.
    #[error(
        "root {} after the changes, but the header has {}: changes are missing (transaction traces lack withdrawals and system calls)",
        Hex(.found),
        Hex(.expected)
    )]
    Root {
        /// The header's.
        expected: Hash,
        /// The root after the changes.
        found: Hash,
    },
}

/// The tries of a block, by their tags, with the storage tries below the state's accounts; they share one set of nodes.
#[derive(Clone, Debug)]
pub struct Tries {
    nodes: Arc<Nodes>,
    tries: BTreeMap<Tag, Trie>,
    /// Storage tries after changes.
    storage: HashMap<Address, Trie>,
}

impl Tries {
    /// The tries with these roots. Nothing is decoded before a request needs it.
    pub fn new(roots: &Roots, nodes: Nodes) -> Self {
        let nodes = Arc::new(nodes);
        let keys = |tag| if tag == Tag::State { Keys::Hashed } else { Keys::Index };
        let tries = roots.iter().map(|(tag, root)| (*tag, Trie::new(root, keys(*tag), nodes.clone()))).collect();
        Self { nodes, tries, storage: HashMap::new() }
    }

    /// The account with an address.
    ///
    /// # Errors
    /// When the state root is not known, a node on the way is missing or invalid, or the leaf is not an account.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, TriesError> {
        self.account_by(address, &mut |_, _| {}).map_err(|fault| about_account(address, fault))
    }

    /// The value of a slot: 0 if the slot or the account is absent.
    ///
    /// # Errors
    /// As for [`Tries::account`], in both tries.
    pub fn slot(&self, address: &Address, slot: &Word) -> Result<Word, TriesError> {
        self.slot_by(address, slot, &mut None, &mut |_, _| {}).map_err(|fault| about_slot(address, slot, fault))
    }

    /// [`Tries::slot`] for a known account, without a walk to it.
    pub(crate) fn slot_below(
        &self,
        address: &Address,
        account: Option<Account>,
        slot: &Word,
    ) -> Result<Word, TriesError> {
        let mut last = Some((*address, account));
        self.slot_by(address, slot, &mut last, &mut |_, _| {}).map_err(|fault| about_slot(address, slot, fault))
    }

    /// Checks that a claim is true.
    ///
    /// # Errors
    /// When it is not, or the tries cannot tell.
    pub fn check(&self, claim: &Claim) -> Result<(), TriesError> {
        self.check_by(claim, &mut None, &mut |_, _| {})
    }

    /// The true claim about the key of a claim.
    ///
    /// # Errors
    /// As for [`Tries::account`], for the claim's key.
    pub fn renewed(&self, claim: &Claim) -> Result<Claim, TriesError> {
        self.renewed_by(claim, &mut None, &mut |_, _| {})
    }

    /// Checks that claims are true, and returns the nodes that show it, each once: a proof of the claims hashes these
    /// nodes.
    ///
    /// Changes leave old nodes in the set. Tries that follow many blocks are built again from the returned nodes from
    /// time to time.
    ///
    /// # Errors
    /// As for [`Tries::check`].
    pub fn nodes_of<'a>(&'a self, claims: &[Claim]) -> Result<Vec<&'a [u8]>, TriesError> {
        let (mut seen, mut nodes) = (HashSet::new(), Vec::new());
        let mut visit = |hash: &Hash, bytes: &'a [u8]| {
            if seen.insert(*hash) {
                nodes.push(bytes);
            }
        };
        // In the order of their keys, the claims about an account's slots need one walk to the account.
        let mut last = None;
        claims.iter().try_for_each(|claim| self.check_by(claim, &mut last, &mut visit))?;
        Ok(nodes)
    }

    /// The root of a tag, if it is known.
    pub fn root(&mut self, tag: Tag) -> Option<Hash> {
        self.tries.get_mut(&tag).map(Trie::root)
    }

    /// Applies the changes of a block to the state, in place. Keys are put before others are deleted, which needs the fewest nodes.
    ///
    /// The cost depends only on the changes, not on the number of earlier blocks.
    ///
    /// # Errors
    /// As for [`Tries::account`], and when a branch would be left with one child whose node is missing. The tries are
    /// then unchanged.
    pub fn apply(&mut self, changes: &[Change]) -> Result<(), TriesError> {
        let Some(state) = self.tries.get(&Tag::State).map(Trie::mark) else {
            return Err(about(format_args!("changes"), Fault::Tag(Tag::State)));
        };
        let mut undo = Vec::new();
        let result = self.apply_merged(&merged(changes), &mut undo);
        if result.is_err() {
            if let Some(trie) = self.tries.get_mut(&Tag::State) {
                trie.go_back(state);
            }
            for (address, step) in undo.into_iter().rev() {
                match step {
                    Undo::Changed(mark) => drop(self.storage.entry(address).and_modify(|trie| trie.go_back(mark))),
                    Undo::Removed(trie) => drop(self.storage.insert(address, trie)),
                    Undo::Inserted => drop(self.storage.remove(&address)),
                }
            }
        }
        result
    }

    /// Applies changes in place. Appends to `undo` what undoes those of storage tries, last first.
    fn apply_merged(&mut self, changes: &Merged, undo: &mut Vec<(Address, Undo)>) -> Result<(), TriesError> {
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for (address, (post, renewed, values)) in changes {
            let before = if *renewed { None } else { self.account(address)? };
            let after = after(before, post);
            if (before.is_none() || after.is_none())
                && let Some(trie) = self.storage.remove(address)
            {
                undo.push((*address, Undo::Removed(trie)));
            }
            let Some(mut account) = after else {
                gone.push((address, None));
                continue;
            };
            if !values.is_empty() {
                account.storage_root = self.put_slots(address, &account.storage_root, values, undo)?;
            }
            changed.push((address, Some(account.rlp())));
        }
        let state = self.tries.get_mut(&Tag::State);
        let state = state.ok_or_else(|| about(format_args!("changes"), Fault::Tag(Tag::State)))?;
        for (address, leaf) in changed.into_iter().chain(gone) {
            state.put(&keccak_256(address), leaf.as_deref()).map_err(|e| about_account(address, e.into()))?;
        }
        state.root();
        Ok(())
    }

    /// Puts slots into an account's storage trie, which has this root, and returns the new root.
    fn put_slots(
        &mut self,
        address: &Address,
        root: &Hash,
        values: &BTreeMap<Word, Word>,
        undo: &mut Vec<(Address, Undo)>,
    ) -> Result<Hash, TriesError> {
        let trie = match self.storage.entry(*address) {
            Entry::Occupied(trie) => {
                undo.push((*address, Undo::Changed(trie.get().mark())));
                trie.into_mut()
            }
            Entry::Vacant(place) => {
                undo.push((*address, Undo::Inserted));
                place.insert(Trie::new(root, Keys::Hashed, self.nodes.clone()))
            }
        };
        let (zeros, others): (Vec<_>, Vec<_>) = values.iter().partition(|(_, value)| **value == ZERO);
        for (slot, value) in others.into_iter().chain(zeros) {
            let mut leaf = Vec::with_capacity(33);
            rlp::write_string(&mut leaf, rlp::trimmed(value));
            let put = trie.put(&keccak_256(slot), (*value != ZERO).then_some(&leaf[..]));
            put.map_err(|e| about_slot(address, slot, e.into()))?;
        }
        Ok(trie.root())
    }

    /// Compares the state root after changes with a header's.
    ///
    /// # Errors
    /// When they differ.
    pub fn expect_state_root(&mut self, expected: &Hash) -> Result<(), TriesError> {
        let error = |fault| TriesError { subject: "state".into(), fault };
        match self.root(Tag::State) {
            Some(found) if found == *expected => Ok(()),
            Some(found) => Err(error(Fault::Root { expected: *expected, found })),
            None => Err(error(Fault::Tag(Tag::State))),
        }
    }

    fn account_by<'a>(&'a self, address: &Address, visit: &mut Visit<'_, 'a>) -> Result<Option<Account>, Fault> {
        let state = self.tries.get(&Tag::State).ok_or(Fault::Tag(Tag::State))?;
        match state.walk(&keccak_256(address), visit)? {
            Lookup::Present(leaf) => Ok(Some(Account::from_rlp(&leaf)?)),
            Lookup::Absent(_) => Ok(None),
        }
    }

    /// The account with an address, without another walk if the last walk led there.
    fn account_after<'a>(
        &'a self,
        address: &Address,
        last: &mut Last,
        visit: &mut Visit<'_, 'a>,
    ) -> Result<Option<Account>, Fault> {
        match last {
            Some((there, account)) if there == address => Ok(*account),
            _ => Ok(last.insert((*address, self.account_by(address, visit)?)).1),
        }
    }

    fn slot_by<'a>(
        &'a self,
        address: &Address,
        slot: &Word,
        last: &mut Last,
        visit: &mut Visit<'_, 'a>,
    ) -> Result<Word, Fault> {
        let Some(account) = self.account_after(address, last, visit)? else { return Ok(ZERO) };
        let key = keccak_256(slot);
        let found = match self.storage.get(address) {
            Some(trie) => trie.walk(&key, visit)?,
            None => {
                // The nodes belong to this set, not to the short-lived trie.
                let trie = Trie::new(&account.storage_root, Keys::Hashed, self.nodes.clone());
                trie.walk(&key, |hash, _| self.nodes.get(hash).into_iter().for_each(|bytes| visit(hash, bytes)))?
            }
        };
        let Lookup::Present(leaf) = found else { return Ok(ZERO) };
        let mut reader = Reader::new(&leaf);
        let value = reader.integer()?;
        reader.end()?;
        if value == ZERO { Err(Fault::ZeroLeaf) } else { Ok(value) }
    }

    fn entry_by<'a>(&'a self, tag: Tag, index: u64, visit: &mut Visit<'_, 'a>) -> Result<Option<Vec<u8>>, Fault> {
        if tag == Tag::State {
            return Err(Fault::StateEntry);
        }
        let trie = self.tries.get(&tag).ok_or(Fault::Tag(tag))?;
        match trie.walk(&rlp::integer(index), visit)? {
            Lookup::Present(value) => Ok(Some(value)),
            Lookup::Absent(_) => Ok(None),
        }
    }

    fn check_by<'a>(&'a self, claim: &Claim, last: &mut Last, visit: &mut Visit<'_, 'a>) -> Result<(), TriesError> {
        let found = self.renewed_by(claim, last, visit)?;
        if found == *claim {
            return Ok(());
        }
        Err(match found {
            Claim::Account { address, account } => about_account(&address, Fault::False(format!("{account:?}"))),
            Claim::AbsentAccount { address } => about_account(&address, Fault::False("no account".into())),
            Claim::Slot { address, slot, value } => about_slot(&address, &slot, Fault::False(Hex(&value).to_string())),
            Claim::Entry { trie, index, value } => {
                about_entry(trie, index, Fault::False(format!("another value of {} bytes", value.len())))
            }
            Claim::AbsentEntry { trie, index } => about_entry(trie, index, Fault::False("no entry".into())),
        })
    }

    fn renewed_by<'a>(
        &'a self,
        claim: &Claim,
        last: &mut Last,
        visit: &mut Visit<'_, 'a>,
    ) -> Result<Claim, TriesError> {
        Ok(match *claim {
            Claim::Account { address, .. } | Claim::AbsentAccount { address } => {
                match self.account_after(&address, last, visit).map_err(|fault| about_account(&address, fault))? {
                    Some(account) => Claim::Account { address, account },
                    None => Claim::AbsentAccount { address },
                }
            }
            Claim::Slot { address, slot, .. } => {
                let found = self.slot_by(&address, &slot, last, visit);
                Claim::Slot { address, slot, value: found.map_err(|fault| about_slot(&address, &slot, fault))? }
            }
            Claim::Entry { trie, index, .. } | Claim::AbsentEntry { trie, index } => {
                match self.entry_by(trie, index, visit).map_err(|fault| about_entry(trie, index, fault))? {
                    Some(value) => Claim::Entry { trie, index, value },
                    None => Claim::AbsentEntry { trie, index },
                }
            }
        })
    }
}

/// For each account its last fields, whether its earlier life has ended, and its slots since then.
type Merged = BTreeMap<Address, (Post, bool, BTreeMap<Word, Word>)>;

/// How to restore a storage trie.
enum Undo {
    /// It was changed since this mark.
    Changed(Child),
    /// It was removed.
    Removed(Trie),
    /// It was inserted.
    Inserted,
}

fn merged(changes: &[Change]) -> Merged {
    let mut merged = Merged::new();
    for Change { address, post, slots } in changes {
        let unchanged = Post::Fields { nonce: None, balance: None, code_hash: None };
        let (fields, renewed, values) = merged.entry(*address).or_insert((unchanged, false, BTreeMap::new()));
        match (fields, post) {
            (fields, Post::Removed) => {
                *fields = Post::Removed;
                *renewed = true;
                values.clear();
                // A removed account has no slots.
                continue;
            }
            (fields @ Post::Removed, _) => *fields = post.clone(),
            (Post::Fields { nonce, balance, code_hash }, Post::Fields { nonce: n, balance: b, code_hash: c }) => {
                *nonce = n.or(*nonce);
                *balance = b.or(*balance);
                *code_hash = c.or(*code_hash);
            }
        }
        values.extend(slots.iter().copied());
    }
    merged
}

/// An account after a change of its fields; `None` if it is removed.
fn after(before: Option<Account>, post: &Post) -> Option<Account> {
    let Post::Fields { nonce, balance, code_hash } = post else { return None };
    let new = Account { nonce: 0, balance: ZERO, storage_root: EMPTY_ROOT, code_hash: EMPTY_CODE };
    let old = before.unwrap_or(new);
    let account = Account {
        nonce: nonce.unwrap_or(old.nonce),
        balance: balance.unwrap_or(old.balance),
        code_hash: code_hash.unwrap_or(old.code_hash),
        ..old
    };
    let empty = account.nonce == 0 && account.balance == ZERO && account.code_hash == EMPTY_CODE;
    (!empty).then_some(account)
}

/// The account that the last walk led to.
type Last = Option<(Address, Option<Account>)>;

/// Is called for every node on a walk.
type Visit<'v, 'a> = dyn FnMut(&Hash, &'a [u8]) + 'v;

fn about(subject: fmt::Arguments<'_>, fault: Fault) -> TriesError {
    TriesError { subject: subject.to_string(), fault }
}

fn about_account(address: &Address, fault: Fault) -> TriesError {
    about(format_args!("account {}", Hex(address)), fault)
}

fn about_slot(address: &Address, slot: &Word, fault: Fault) -> TriesError {
    about(format_args!("slot {} of {}", Hex(slot), Hex(address)), fault)
}

fn about_entry(trie: Tag, index: u64, fault: Fault) -> TriesError {
    about(format_args!("{trie} {index}"), fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_a_known_account_need_no_walk_to_it() {
        let mut storage = Trie::empty(Keys::Hashed);
        storage.put(&keccak_256(&[1; 32]), Some(&[5])).expect("a key");
        let storage_root = storage.root();
        let nodes = storage.proof(&keccak_256(&[1; 32])).expect("known").into_iter().map(<[u8]>::to_vec);
        let nodes = Nodes::new(nodes).expect("few");
        // No node of the state is known.
        let tries = Tries::new(&Roots::new(vec![(Tag::State, [7; 32])]).expect("one"), nodes);
        let account = Account { nonce: 1, balance: ZERO, storage_root, code_hash: EMPTY_CODE };
        let mut value = ZERO;
        value[31] = 5;
        assert_eq!(tries.slot_below(&[2; 20], Some(account), &[1; 32]), Ok(value));
        assert_eq!(tries.slot_below(&[2; 20], Some(account), &[2; 32]), Ok(ZERO));
        assert_eq!(tries.slot_below(&[2; 20], None, &[1; 32]), Ok(ZERO));
        assert!(tries.slot(&[2; 20], &[1; 32]).is_err());
    }
}
