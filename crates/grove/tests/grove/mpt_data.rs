//! Real data: pieces hold for all claims that follow from the files in the folder `EVERGROVE_TESTDATA`.

use evergrove_ethereum::input::{check_entries, check_proofs, read_claims, read_entries, read_header, read_proofs};
use evergrove_ethereum::{Keys, Nodes, Trie, Tries};
use evergrove_grove::mpt::{Batch, Plan, Witness};
use evergrove_primitives::Digest;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{
    Account, Address, Claim, EMPTY_CODE, EMPTY_ROOT, Hash, Roots, Tag, canonical_digest,
};
use serde_json::{Value, json};

use crate::mpt::{KEY, circuit};

/// A file of real data; `None` if the folder is not named.
fn file(name: &str) -> Option<Value> {
    let Some(dir) = std::env::var_os("EVERGROVE_TESTDATA") else {
        evergrove_testkit::not_tested("ETH", "EVERGROVE_TESTDATA is not set");
        return None;
    };
    let path = std::path::Path::new(&dir).join("ethereum-state").join(name);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(serde_json::from_slice(&text).unwrap())
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().trim_start_matches("0x");
    let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_string() };
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

/// Bytes, padded with zeros in front.
fn fixed<const N: usize>(value: &Value) -> [u8; N] {
    let (bytes, mut out) = (bytes(value), [0; N]);
    out[N - bytes.len()..].copy_from_slice(&bytes);
    out
}

fn list(value: &Value) -> Vec<Vec<u8>> {
    value.as_array().unwrap().iter().map(bytes).collect()
}

/// Checks that all pieces hold, and returns their number.
fn hold(known: &Roots, nodes: &Nodes, claims: &[Claim], cut: Option<u8>) -> usize {
    let roots = known.of_claims(claims).unwrap();
    let find = |hash: &Hash| nodes.get(hash);
    let whole = Witness::new(&roots, &find, claims).unwrap();
    let size = Batch::size_for(&whole, 4_000_000, cut);
    let plan = Plan::new(&whole, claims, size, cut).unwrap();
    let circuit = circuit(size);
    for piece in 0..plan.pieces.len() {
        let witness = plan.witness(piece, &find).unwrap();
        let columns = circuit.witness(&witness.data(size, KEY).unwrap()).unwrap();
        let faults = columns.faults(&circuit);
        assert!(faults.is_empty(), "piece {piece} of {}: {:?}", plan.pieces.len(), &faults[..faults.len().min(4)]);
    }
    let top = &plan.pieces[plan.pieces.len() - 1].roots;
    assert_eq!(top.len(), roots.iter().count());
    if let [only] = &top[..] {
        assert_eq!(only.digest, canonical_digest(claims).unwrap());
    }
    assert!(top.iter().all(|edge| edge.digest != Digest::ZERO));
    plan.pieces.len()
}

/// Claims about everything that a block touches, before and after the block.
fn touched(name: &str, cut: Option<u8>) -> Option<[usize; 2]> {
    let block = file(name)?;
    let nodes = Nodes::new([list(&block["preNodes"]), list(&block["newNodes"])].concat()).unwrap();
    let mut keys = Vec::new();
    for account in block["accounts"].as_array().unwrap() {
        keys.push(json!({ "address": account["address"], "absent": true }));
        for slot in account["slots"].as_array().unwrap() {
            keys.push(json!({ "address": account["address"], "slot": slot["slot"], "value": "0x0" }));
        }
    }
    let keys = read_claims(json!(keys).to_string().as_bytes()).unwrap();
    Some(["preStateRoot", "stateRoot"].map(|root| {
        let roots = Roots::of_state(fixed(&block[root]));
        let tries = Tries::new(&roots, nodes.clone());
        let claims: Vec<Claim> = keys.iter().map(|claim| tries.renewed(claim).unwrap()).collect();
        assert_eq!(claims.len(), keys.len());
        hold(&roots, &nodes, &claims, cut)
    }))
}

#[test]
#[ignore = "eth: minutes, everything that two blocks touch"]
fn all_that_blocks_touch_holds() {
    if let Some(pieces) = touched("mainnet-19807080.json", None) {
        assert!(pieces.iter().all(|&pieces| pieces > 8), "{pieces:?}");
        touched("mainnet-19840104.json", Some(3)).unwrap();
    }
}

/// Answers of `eth_getProof`, in one proof with the lists of their block if there are any.
fn answers(roots: &Roots, proofs: &Value, lists: &[(Tag, &Value)]) -> [usize; 2] {
    let state = roots.get(Tag::State).unwrap();
    let checked = check_proofs(state, read_proofs(proofs.to_string().as_bytes()).unwrap()).unwrap();
    let mut claims = checked.claims.clone();
    let mut nodes: Vec<Vec<u8>> = checked.tries.nodes_of(&claims).unwrap().into_iter().map(<[u8]>::to_vec).collect();
    for &(tag, values) in lists {
        let values = read_entries(tag, values.to_string().as_bytes()).unwrap();
        claims.push(Claim::AbsentEntry { trie: tag, index: values.len() as u64 });
        let checked = check_entries(tag, roots.get(tag).unwrap(), values).unwrap();
        claims.extend(checked.claims);
        nodes.extend(checked.nodes);
    }
    [claims.len(), hold(roots, &Nodes::new(nodes).unwrap(), &claims, None)]
}

#[test]
#[ignore = "eth: minutes, answers and lists of seven blocks"]
fn answers_and_lists_of_blocks_hold() {
    let Some(block) = file("mainnet-21925176.json") else { return };
    let header = |block: &Value| read_header(block["header"].as_str().unwrap().as_bytes(), None).unwrap();
    let lists = [(Tag::Receipts, &block["receipts"]), (Tag::Withdrawals, &block["withdrawals"])];
    let [claims, pieces] = answers(&header(&block).roots, &block["proofs"], &lists);
    assert_eq!(claims, 3 + 203 + 17);
    assert!(pieces > 5, "{pieces}");

    let block = file("mainnet-17463226.json").unwrap();
    let lists = [(Tag::Transactions, &block["transactions"]), (Tag::Withdrawals, &block["withdrawals"])];
    assert_eq!(answers(&header(&block).roots, &block["proofs"], &lists)[0], 4 + 218 + 17);

    let headers = file("mainnet-24476000-headers.json").unwrap();
    let last = read_header(headers["headers"][4]["header"].as_str().unwrap().as_bytes(), None).unwrap();
    let mut claims = Vec::new();
    let mut nodes = Vec::new();
    for tag in [Tag::Transactions, Tag::Withdrawals] {
        let values = read_entries(tag, headers["last"][tag.name()].to_string().as_bytes()).unwrap();
        let checked = check_entries(tag, last.roots.get(tag).unwrap(), values).unwrap();
        claims.extend(checked.claims);
        nodes.extend(checked.nodes);
    }
    hold(&last.roots, &Nodes::new(nodes).unwrap(), &claims, None);

    for block in file("mainnet-19807079-19807080-getproof.json").unwrap()["blocks"].as_array().unwrap() {
        answers(&Roots::of_state(fixed(&block["stateRoot"])), &block["proofs"], &[]);
    }
    for proof in file("ropsten-proofs.json").unwrap()["proofs"].as_array().unwrap() {
        answers(&Roots::of_state(fixed(&proof["root"])), proof, &[]);
    }
}

#[test]
#[ignore = "eth: minutes, 1,024 accounts of the genesis and what five blocks make of them"]
fn accounts_of_the_genesis_hold() {
    let Some(genesis) = file("mainnet-genesis.json") else { return };
    let mut state = Trie::empty(Keys::Hashed);
    let account = |balance| Account { nonce: 0, balance, storage_root: EMPTY_ROOT, code_hash: EMPTY_CODE };
    let mut accounts: Vec<(Address, Account)> = Vec::new();
    for (address, balance) in genesis["balances"].as_object().unwrap() {
        let (address, account) = (fixed(&json!(address)), account(fixed(balance)));
        state.put(&keccak_256(&address), Some(&account.rlp())).unwrap();
        accounts.push((address, account));
    }
    accounts.truncate(1024);
    let check = |state: &mut Trie, accounts: &[(Address, Account)]| {
        let (root, mut nodes) = (state.root(), Vec::new());
        for (address, _) in accounts {
            nodes.extend(state.proof(&keccak_256(address)).unwrap().into_iter().map(<[u8]>::to_vec));
        }
        let claims: Vec<Claim> =
            accounts.iter().map(|&(address, account)| Claim::Account { address, account }).collect();
        hold(&Roots::of_state(root), &Nodes::new(nodes).unwrap(), &claims, Some(2));
        root
    };
    assert_eq!(check(&mut state, &accounts), fixed(&genesis["stateRoot"]));
    let blocks = genesis["blocks"].as_array().unwrap();
    for block in blocks {
        for change in block["changes"].as_array().unwrap() {
            let (address, account) = (fixed(&change["address"]), account(fixed(&change["post"])));
            state.put(&keccak_256(&address), Some(&account.rlp())).unwrap();
            accounts.iter_mut().filter(|own| own.0 == address).for_each(|own| own.1 = account);
        }
        assert_eq!(state.root(), fixed::<32>(&block["stateRoot"]), "block {}", block["number"]);
    }
    // The last of the five blocks. The benchmark measures updates from one block to the next.
    assert_eq!(blocks.len(), 5);
    check(&mut state, &accounts[..128]);
}
