//! Answers of `eth_getProof`.

use std::collections::BTreeMap;

use evergrove_verifier::ethereum::{Account, Address, Claim, EMPTY_CODE, EMPTY_ROOT, Hash, Hex, Key, Roots, Word, rlp};
use serde_json::Value;

use super::json::{
    At, InputError, InputFault, address, all_bytes, each, field, fixed, list, maybe, object, parse, small, word,
};
use crate::{Nodes, Tries};

/// An answer of `eth_getProof`. Values that it reports beside the nodes are compared, and never trusted.
#[derive(Clone, Debug)]
pub struct AccountProof {
    /// The address.
    pub address: Address,
    /// The nodes of the account.
    pub nodes: Vec<Vec<u8>>,
    /// The requested slots.
    pub slots: Vec<SlotProof>,
    nonce: Option<u64>,
    balance: Option<Word>,
    storage_root: Option<Hash>,
    code_hash: Option<Hash>,
}

/// A slot in an answer.
#[derive(Clone, Debug)]
pub struct SlotProof {
    /// Its number.
    pub slot: Word,
    /// Its nodes; empty if the client gave none, or only the empty node.
    pub nodes: Vec<Vec<u8>>,
    value: Option<Word>,
}

/// Answers that fit their root and each other.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The state that the nodes describe.
    pub tries: Tries,
    /// The claims about the accounts and slots of the answers that the nodes show, in the order of the keys.
    pub claims: Vec<Claim>,
    /// Nodes that no claim needs.
    pub strays: usize,
}

/// Reads one answer or a list of them.
///
/// # Errors
/// When the text is too large, is not JSON, or has another form.
pub fn read_proofs(text: &[u8]) -> Result<Vec<AccountProof>, InputError> {
    let answers = each(parse(text)?)?;
    let one = answers.len() == 1;
    let read = |(i, answer): (usize, &Value)| {
        account_proof(answer).map_err(|e| if one { e } else { e.inside(&format!("answer {i}")) })
    };
    answers.iter().enumerate().map(read).collect()
}

fn account_proof(answer: &Value) -> Result<AccountProof, InputError> {
    let answer = object(answer)?;
    let slots = maybe(answer, "storageProof", list)?.unwrap_or_default();
    Ok(AccountProof {
        address: field(answer, "address", address)?,
        nodes: all_bytes(field(answer, "accountProof", list)?, "accountProof")?,
        slots: slots
            .iter()
            .enumerate()
            .map(|(i, slot)| slot_proof(slot).map_err(|e| e.inside(&format!("storageProof {i}"))))
            .collect::<Result<_, _>>()?,
        nonce: maybe(answer, "nonce", small)?,
        balance: maybe(answer, "balance", word)?,
        storage_root: maybe(answer, "storageHash", fixed)?,
        code_hash: maybe(answer, "codeHash", fixed)?,
    })
}

fn slot_proof(slot: &Value) -> Result<SlotProof, InputError> {
    let slot = object(slot)?;
    let mut nodes = all_bytes(maybe(slot, "proof", list)?.unwrap_or_default(), "proof")?;
    // Clients represent an empty trie by no list, no nodes, or the empty node.
    if nodes == [[rlp::EMPTY_STRING]] {
        nodes.clear();
    }
    Ok(SlotProof { slot: field(slot, "key", word)?, nodes, value: maybe(slot, "value", word)? })
}

/// Checks answers against a state root: every account and slot follows from the nodes, and the reported values agree.
/// Nodes may come in any order, and there may be too many.
///
/// # Errors
/// When a proof begins elsewhere, a node is missing or invalid, or a reported field differs. The place is the account or slot.
pub fn check_proofs(root: &Hash, proofs: Vec<AccountProof>) -> Result<Checked, InputError> {
    let mut list = Vec::new();
    let mut answers = Vec::with_capacity(proofs.len());
    for mut proof in proofs {
        let taken = |nodes: &mut Vec<Vec<u8>>, list: &mut Vec<Vec<u8>>| {
            let first = list.len();
            list.append(nodes);
            first..list.len()
        };
        let account = taken(&mut proof.nodes, &mut list);
        let slots: Vec<_> = proof.slots.iter_mut().map(|slot| taken(&mut slot.nodes, &mut list)).collect();
        answers.push((proof, account, slots));
    }
    let (nodes, hashes) = Nodes::with_hashes(list).map_err(InputFault::from)?;
    let roots = Roots::of_state(*root);
    let all = nodes.len();
    let tries = Tries::new(&roots, nodes);
    let begins = |hashes: &[Hash], root: &Hash| match hashes.first() {
        _ if hashes.contains(root) || *root == EMPTY_ROOT => Ok(()),
        None => Err(InputFault::NoProof(*root)),
        Some(found) => Err(InputFault::Root { expected: *root, found: *found }),
    };
    let mut claims: BTreeMap<Key, Claim> = BTreeMap::new();
    for (proof, nodes, slots) in answers {
        let address = proof.address;
        let place = || format!("account {}", Hex(&address));
        begins(&hashes[nodes], root).at(place)?;
        let account = tries.account(&address).map_err(InputFault::from)?;
        reported(&proof, account.as_ref()).at(place)?;
        let claim = account.map_or(Claim::AbsentAccount { address }, |account| Claim::Account { address, account });
        claims.insert(claim.key(), claim);
        let storage_root = account.map_or(EMPTY_ROOT, |a| a.storage_root);
        for (slot, nodes) in proof.slots.iter().zip(slots) {
            let place = || format!("slot {} of {}", Hex(&slot.slot), Hex(&address));
            begins(&hashes[nodes], &storage_root).at(place)?;
            let value = tries.slot_below(&address, account, &slot.slot).map_err(InputFault::from)?;
            agrees("value", slot.value, value, |v| Hex(v).to_string()).at(place)?;
            let claim = Claim::Slot { address, slot: slot.slot, value };
            claims.insert(claim.key(), claim);
        }
    }
    let claims: Vec<Claim> = claims.into_values().collect();
    let used = tries.nodes_of(&claims).map_err(InputFault::from)?.len();
    Ok(Checked { claims, strays: all - used, tries })
}

fn agrees<T: PartialEq>(
    field: &'static str,
    reported: Option<T>,
    proven: T,
    text: impl Fn(&T) -> String,
) -> Result<(), InputFault> {
    match reported {
        Some(reported) if reported != proven => {
            Err(InputFault::Reported { field, reported: text(&reported), proven: text(&proven) })
        }
        _ => Ok(()),
    }
}

fn reported(proof: &AccountProof, account: Option<&Account>) -> Result<(), InputFault> {
    let hex = |b: &[u8; 32]| Hex(b).to_string();
    let Some(account) = account else {
        agrees("nonce", proof.nonce, 0, u64::to_string)?;
        agrees("balance", proof.balance, [0; 32], hex)?;
        // Clients report zeros or the hashes of empty data.
        let zero = |hash: &Hash| *hash != [0; 32];
        agrees("storageHash", proof.storage_root.filter(zero), EMPTY_ROOT, hex)?;
        return agrees("codeHash", proof.code_hash.filter(zero), EMPTY_CODE, hex);
    };
    agrees("nonce", proof.nonce, account.nonce, u64::to_string)?;
    agrees("balance", proof.balance, account.balance, hex)?;
    agrees("storageHash", proof.storage_root, account.storage_root, hex)?;
    agrees("codeHash", proof.code_hash, account.code_hash, hex)
}
