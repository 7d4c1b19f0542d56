//! Answers of Ethereum's clients: proofs, witnesses, changes, headers, receipts and other lists; and files of claims.
//!
//! Every function takes the bytes of a JSON text, bare or in the envelope of JSON-RPC. An error is one line: the place,
//! the value, and the remedy.

mod changes;
mod claims;
mod entries;
mod header;
mod json;
mod objects;
mod proofs;
mod witness;

pub use changes::read_changes;
pub use claims::{claim_value, read_claims};
pub use entries::{CheckedEntries, check_entries, read_entries};
pub use header::{check_transaction, read_header};
pub use json::{InputError, InputFault, TEXT_MAX};
pub use proofs::{AccountProof, Checked, SlotProof, check_proofs, read_proofs};
pub use witness::{Witness, read_witness, witness_value};
