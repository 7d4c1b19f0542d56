//! Claims about one contract's slots as rows of a table, and the free data of the circuit.

use evergrove_commit::schema::{Cell, Column, ColumnType, Row, RowError, Schema};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::abi::{AbiType, WORD_HALVES, Width, word_elements};
use evergrove_verifier::ethereum::{Address, Claim, ClaimsError, Hex, Key, Word, sorted};
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tree::{Value, canonical_split, leaf_digest, node_digest};

use super::{ACCOUNT_STEPS, DECIMALS_MAX, ROW_ELEMENTS, SLOTS_MAX, Size, VALUE_WORDS, ZERO};
use crate::mpt::merge;

/// The columns of the table, in order.
const COLUMNS: [&str; 3] = ["slot", "units", "rest"];
/// Elements per step of a leaf digest.
const STEP: usize = 2 * WORD;

/// The slots of one contract, in the order of their claims: row i of the table is slot i.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageTable {
    address: Address,
    size: Size,
    slots: Vec<Slot>,
    /// The claim about the account with its key, if there is one.
    account: Option<(Key, Claim)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Slot {
    key: Key,
    slot: Word,
    value: Word,
    units: u64,
    rest: u64,
}

/// Reasons why claims do not make a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The claims have no canonical digest.
    #[error("{0}")]
    Claims(#[from] ClaimsError),
    /// No claim is about a slot.
    #[error("no claim is about a slot: a table has at least one row")]
    Empty,
    /// A claim is about something else than slots of the contract.
    #[error("a table holds the slots of one contract: prove the slots of {of} alone ({claim})", of = Hex(address))]
    Other {
        /// The contract of the table.
        address: Address,
        /// The other claim.
        claim: Box<Claim>,
    },
    /// There are too many slots.
    #[error("{found} slots are more than the {SLOTS_MAX} that one proof relates to a table: list fewer")]
    TooMany {
        /// The number of slots.
        found: usize,
    },
    /// The unit has too many decimals.
    #[error("a unit has 0 to {DECIMALS_MAX} decimals, not {0}")]
    Decimals(u8),
    /// A row cannot hold the value of a slot.
    #[error(
        "slot {slot} has the value {value}: units of 10^{decimals} must be below 2^63; take more decimals, or leave the slot out",
        slot = Hex(slot), value = Hex(value)
    )]
    Value {
        /// The slot.
        slot: Word,
        /// Its value.
        value: Word,
        /// Decimals of a unit.
        decimals: u8,
    },
}

impl Slot {
    /// The claim about this slot.
    fn claim(&self, address: Address) -> Claim {
        Claim::Slot { address, slot: self.slot, value: self.value }
    }
    fn cells(&self) -> Row {
        Row::Cells(vec![Cell::Word(self.slot), Cell::Unsigned(self.units), Cell::Unsigned(self.rest)])
    }
    /// The elements of the row's leaf.
    fn elements(&self) -> [Goldilocks; ROW_ELEMENTS] {
        let mut elements = [ZERO; ROW_ELEMENTS];
        elements[..WORD_HALVES].copy_from_slice(&word_elements(&self.slot));
        elements[WORD_HALVES] = Goldilocks::new(self.units);
        elements[WORD_HALVES + 1] = Goldilocks::new(self.rest);
        elements
    }
}

/// Units and rest of a value; `None` if the units are 2^63 or more.
fn divide(value: &Word, unit: u64) -> Option<[u64; 2]> {
    let (high, low) = value.split_first_chunk::<16>()?;
    let low = u128::from_be_bytes(*low.first_chunk()?);
    let units = u64::try_from(low / u128::from(unit)).ok().filter(|units| units >> 63 == 0)?;
    let rest = (low % u128::from(unit)) as u64;
    (*high == [0; 16]).then_some([units, rest])
}

impl StorageTable {
    /// The table of claims about slots of one contract. The claims may include one about the account itself, which has
    /// no row. A unit is 10^`decimals`.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn new(claims: &[Claim], decimals: u8) -> Result<Self, TableError> {
        let keys = sorted(claims)?;
        let address = claims.iter().find_map(|claim| match claim {
            Claim::Slot { address, .. } => Some(*address),
            _ => None,
        });
        let address = address.ok_or(TableError::Empty)?;
        let (mut slots, mut account) = (Vec::new(), None);
        if decimals > DECIMALS_MAX {
            return Err(TableError::Decimals(decimals));
        }
        for (key, place) in keys {
            match &claims[place] {
                &Claim::Slot { address: of, slot, value } if of == address => {
                    let [units, rest] = divide(&value, 10_u64.pow(decimals.into())).ok_or(TableError::Value {
                        slot,
                        value,
                        decimals,
                    })?;
                    slots.push(Slot { key, slot, value, units, rest });
                }
                claim @ Claim::Account { address: of, .. } if *of == address => account = Some((key, claim.clone())),
                claim => return Err(TableError::Other { address, claim: Box::new(claim.clone()) }),
            }
        }
        let size = Size::of(slots.len(), decimals).ok_or(TableError::TooMany { found: slots.len() })?;
        Ok(Self { address, size, slots, account })
    }
    /// The contract.
    pub fn address(&self) -> &Address {
        &self.address
    }
    /// The size of the circuit that relates claims and rows.
    pub fn size(&self) -> Size {
        self.size
    }
    /// n, the number of rows.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
    /// The columns of every such table: `slot` of type `bytes32`, `units` and `rest` of type `unsigned`.
    ///
    /// # Panics
    /// Never: the column names differ.
    pub fn schema() -> Schema {
        let [slot, units, rest] = COLUMNS;
        let column = |name: &str, kind| Column { name: name.into(), kind, nullable: false };
        let columns = vec![
            column(slot, ColumnType::Abi(AbiType::Bytes(Width::MAX))),
            column(units, ColumnType::Unsigned),
            column(rest, ColumnType::Unsigned),
        ];
        Schema::new(columns).expect("names that differ")
    }
    /// The rows at the positions 0 to n - 1, in the order of the claims' keys.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        self.slots.iter().map(Slot::cells)
    }
    /// d of the claims.
    pub fn claims_digest(&self) -> Digest {
        merge(&self.claim_leaves(), &mut Vec::new())
    }
    /// d of the rows, equal to that of a batch of the positions 0 to n - 1.
    pub fn rows_digest(&self) -> Digest {
        merge_rows(&self.row_leaves(), &mut Vec::new())
    }
    fn claim_leaves(&self) -> Vec<(Vec<u8>, Digest)> {
        let own = self.account.iter().map(|(key, claim)| (key.bytes().to_vec(), claim.leaf_digest()));
        let slots = self.slots.iter().map(|slot| (slot.key.bytes().to_vec(), slot.claim(self.address).leaf_digest()));
        own.chain(slots).collect()
    }
    fn row_leaves(&self) -> Vec<(u64, Digest)> {
        let leaf = |(i, slot): (u64, &Slot)| (i, leaf_digest(i, &value(slot)));
        (0..).zip(&self.slots).map(leaf).collect()
    }

    /// The free data of [`reshape`](super::reshape) in a circuit of this size, for this key.
    ///
    /// # Panics
    /// If the circuit has room for fewer slots than the table has.
    pub fn data(&self, size: Size, key: [Goldilocks; WORD]) -> Vec<Goldilocks> {
        let room = size.room();
        assert!(self.slots.len() <= room, "{} slots in a circuit of {room}", self.slots.len());
        let (mut of_claims, mut of_rows) = (Vec::new(), Vec::new());
        let claims = merge(&self.claim_leaves(), &mut of_claims);
        let rows = merge_rows(&self.row_leaves(), &mut of_rows);
        let nothing = Slot { key: self.slots[0].key.clone(), slot: [0; 32], value: [0; 32], units: 0, rest: 0 };
        let (_, account) = nothing.claim(self.address).elements();
        let mut free = Vec::new();
        free.extend(claims.0);
        free.extend(rows.0);
        free.extend(key);
        free.extend(&account[..=WORD]);
        for position in 0..room {
            let slot = self.slots.get(position);
            if position > 0 {
                free.push(Goldilocks::new(slot.is_some().into()));
            }
            let slot = slot.unwrap_or(&nothing);
            free.extend(slot.elements());
            free.push(Goldilocks::new(position as u64));
            free.extend(value(slot));
            free.extend([ZERO; WORD - 1]);
            let is_zero = slot.value == [0; 32];
            free.push(Goldilocks::new(is_zero.into()));
            // The words that the circuit does not compute: all but the value's fourth one.
            let (_, mut elements) = slot.claim(self.address).elements();
            elements.resize(2 * STEP + VALUE_WORDS, ZERO);
            free.extend(&elements[..2 * STEP]);
        }
        free.push(Goldilocks::new(self.account.is_some().into()));
        let mut elements = match &self.account {
            Some((_, claim)) => claim.elements().1,
            None => account[..=WORD].to_vec(),
        };
        elements.resize(ACCOUNT_STEPS * STEP, ZERO);
        free.extend(elements);
        for (merges, room) in [(of_claims, room), (of_rows, room - 1)] {
            for i in 0..room {
                let pair: Option<&[Digest; 2]> = merges.get(i);
                free.extend(pair.map_or([ZERO; 2 * WORD], |pair| {
                    let mut words = [ZERO; 2 * WORD];
                    words[..WORD].copy_from_slice(&pair[0].0);
                    words[WORD..].copy_from_slice(&pair[1].0);
                    words
                }));
                free.push(Goldilocks::new(pair.is_some().into()));
            }
        }
        free
    }
}

/// The value of a slot's row.
fn value(slot: &Slot) -> Value {
    StorageTable::schema().value(&slot.cells()).unwrap_or_else(|e: RowError| unreachable!("a row of the schema: {e}"))
}

/// d of leaves at their positions. Appends the operands of its hashes to `merges`.
fn merge_rows(leaves: &[(u64, Digest)], merges: &mut Vec<[Digest; 2]>) -> Digest {
    if let [(_, leaf)] = leaves {
        return *leaf;
    }
    let (left, right) = leaves.split_at(canonical_split(leaves));
    let pair = [left, right].map(|half| merge_rows(half, merges));
    merges.push(pair);
    node_digest(&pair[0], &pair[1])
}
